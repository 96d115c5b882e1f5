// Eigen's dense matrices, read as a header of the system: g++ warns of Eigen's own vector types thousandfold.
#pragma once
#pragma GCC system_header

#include <Eigen/Dense>

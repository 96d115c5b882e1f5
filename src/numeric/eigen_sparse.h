// Eigen's sparse matrices, as numeric/eigen.h.
#pragma once
#pragma GCC system_header

#include <Eigen/SparseCore>

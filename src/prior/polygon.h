// Polygons in the plane: which points are inside, and integrals of a mesh's hat functions over one.
#pragma once

#include <vector>

#include "numeric/types.h"

namespace galvi {

/// Closed curves, V x 2 each, without crossings; the last vertex may repeat the first. A point is inside
/// where it is inside of an odd number of them.
using Rings = std::vector<Matrix>;

/// Whether each of n x 2 points is inside, or no further than `slack` from a curve.   n
std::vector<bool> inside(const ConstMatrixRef& points, const Rings& rings, double slack);

/// The integrals over the polygon of the functions that are one at a node, zero at all others and linear in
/// every triangle; they add up to the area that the mesh covers. nodes: L x 2, triangles: T x 3, from 0.   L
Vector hat_integrals(const ConstMatrixRef& nodes, const Eigen::MatrixXi& triangles, const Rings& rings);

}  // namespace galvi

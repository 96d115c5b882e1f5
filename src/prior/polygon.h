// Polygons in the plane: which points are inside, and integrals of a mesh's hat functions over a polygon.
#pragma once

#include <vector>

#include "numeric/types.h"

namespace galvi {

/// Closed curves, V x 2 each, that do not cross; the last vertex may repeat the first. A point is inside the
/// polygon if it is inside an odd number of curves.
using Rings = std::vector<Matrix>;

/// Whether each of n x 2 points is inside, or at most `slack` away from a curve.   n
std::vector<bool> inside(const ConstMatrixRef& points, const Rings& rings, double slack);

/// Integrals over the polygon of the functions that are one at a node, zero at all others and linear in every
/// triangle. They add up to the part of the polygon's area that the mesh covers. nodes: L x 2, triangles: T x
/// 3, from 0 to L - 1.   L
Vector hat_integrals(const ConstMatrixRef& nodes, const Eigen::MatrixXi& triangles, const Rings& rings);

}  // namespace galvi

#include "prior/polygon.h"

#include <algorithm>
#include <cmath>

namespace galvi {

namespace {

using Point = Eigen::RowVector2d;
using Barycentric = Eigen::RowVector3d;

bool contains(const Matrix& ring, const Point& p) {
  bool in = false;
  for (Index a = ring.rows() - 1, b = 0; b < ring.rows(); a = b++)
    if ((ring(a, 1) > p[1]) != (ring(b, 1) > p[1]) &&
        p[0] < ring(a, 0) + (p[1] - ring(a, 1)) / (ring(b, 1) - ring(a, 1)) * (ring(b, 0) - ring(a, 0)))
      in = !in;
  return in;
}

double squared_distance(const Point& p, const Point& a, const Point& b) {
  const Point along = b - a;
  const double length = along.squaredNorm();
  const double at = length > 0 ? std::clamp((p - a).dot(along) / length, 0.0, 1.0) : 0.0;
  return (p - a - at * along).squaredNorm();
}

bool near(const Matrix& ring, const Point& p, double slack) {
  for (Index a = ring.rows() - 1, b = 0; b < ring.rows(); a = b++)
    if (squared_distance(p, ring.row(a), ring.row(b)) <= slack * slack) return true;
  return false;
}

double signed_area(const Matrix& ring) {
  double twice = 0;  // relative to the first vertex, as coordinates may be large
  for (Index b = 1; b + 1 < ring.rows(); ++b) {
    const Point u = ring.row(b) - ring.row(0), v = ring.row(b + 1) - ring.row(0);
    twice += u[0] * v[1] - u[1] * v[0];
  }
  return twice / 2;
}

// Whether the bounding box of some edge of the ring meets this one.
bool may_cross(const Matrix& ring, const Point& low, const Point& high) {
  for (Index a = ring.rows() - 1, b = 0; b < ring.rows(); a = b++)
    if (std::max(ring(a, 0), ring(b, 0)) >= low[0] && std::min(ring(a, 0), ring(b, 0)) <= high[0] &&
        std::max(ring(a, 1), ring(b, 1)) >= low[1] && std::min(ring(a, 1), ring(b, 1)) <= high[1])
      return true;
  return false;
}

// The part where coordinate k is not negative (Sutherland and Hodgman 1974). The parts of a polygon that is
// not convex stay connected by edges that are traversed both ways and do not change integrals.
void clip(std::vector<Barycentric>& polygon, int k) {
  std::vector<Barycentric> out;
  for (std::size_t b = 0; b < polygon.size(); ++b) {
    const Barycentric &from = polygon[(b + polygon.size() - 1) % polygon.size()], &to = polygon[b];
    if ((from[k] < 0) != (to[k] < 0)) {
      out.push_back(from + from[k] / (from[k] - to[k]) * (to - from));
      out.back()[k] = 0;
    }
    if (to[k] >= 0) out.push_back(to);
  }
  polygon.swap(out);
}

// Integrals of the three barycentric coordinates over the part of a triangle inside the ring; the triangle's
// area is `area`. Their sign is the ring's orientation.
Barycentric integrals(const Matrix& ring, const Point& p0, const Point& p1, const Point& p2, double area) {
  const Point u = p1 - p0, v = p2 - p0;
  const double twice = u[0] * v[1] - u[1] * v[0];
  std::vector<Barycentric> polygon;
  for (Index i = 0; i < ring.rows(); ++i) {
    const Point d = ring.row(i) - p0;
    const double second = (d[0] * v[1] - d[1] * v[0]) / twice, third = (u[0] * d[1] - u[1] * d[0]) / twice;
    polygon.emplace_back(1 - second - third, second, third);
  }
  for (int k = 0; k < 3 && !polygon.empty(); ++k) clip(polygon, k);
  Barycentric out = Barycentric::Zero();
  for (std::size_t i = 1; i + 1 < polygon.size(); ++i) {
    const Barycentric a = polygon[i] - polygon[0], b = polygon[i + 1] - polygon[0];
    out += area * (a[1] * b[2] - a[2] * b[1]) / 3 * (polygon[0] + polygon[i] + polygon[i + 1]);
  }
  return twice < 0 ? Barycentric(-out) : out;
}

}  // namespace

std::vector<bool> inside(const ConstMatrixRef& points, const Rings& rings, double slack) {
  std::vector<bool> out(points.rows());
  for (Index n = 0; n < points.rows(); ++n) {
    const Point p = points.row(n);
    bool in = false, at_edge = false;
    for (const Matrix& ring : rings) {
      in = in != contains(ring, p);
      at_edge = at_edge || near(ring, p, slack);
    }
    out[n] = in || at_edge;
  }
  return out;
}

Vector hat_integrals(const ConstMatrixRef& nodes, const Eigen::MatrixXi& triangles, const Rings& rings) {
  Vector out = Vector::Zero(nodes.rows());
  for (const Matrix& ring : rings) {
    // a ring inside an odd number of others bounds a hole
    double sign = signed_area(ring) < 0 ? -1 : 1;
    const Point start = 0.5 * (ring.row(0) + ring.row(1));
    for (const Matrix& other : rings)
      if (&other != &ring && contains(other, start)) sign = -sign;
    for (Index t = 0; t < triangles.rows(); ++t) {
      const Point p0 = nodes.row(triangles(t, 0)), p1 = nodes.row(triangles(t, 1)),
                  p2 = nodes.row(triangles(t, 2));
      const Point low = p0.cwiseMin(p1).cwiseMin(p2), high = p0.cwiseMax(p1).cwiseMax(p2);
      const double area = 0.5 * std::abs((p1 - p0)[0] * (p2 - p0)[1] - (p1 - p0)[1] * (p2 - p0)[0]);
      Barycentric part = Barycentric::Zero();
      if (may_cross(ring, low, high))
        part = integrals(ring, p0, p1, p2, area);
      else if (contains(ring, (p0 + p1 + p2) / 3))
        part.setConstant((signed_area(ring) < 0 ? -1 : 1) * area / 3);
      for (int k = 0; k < 3; ++k) out[triangles(t, k)] += sign * part[k];
    }
  }
  return out;
}

}  // namespace galvi

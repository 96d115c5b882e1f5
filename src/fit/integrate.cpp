#include "fit/integrate.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace galvi {

namespace {

using Visit = std::function<std::optional<double>(const Vector& z)>;

// Of a composite design, in units of the corners' sqrt(m).
constexpr double sphere = 1.1;

Points points_of(const std::vector<Vector>& z, const std::vector<double>& fall, Index m) {
  Points out{Matrix(z.size(), m), Vector(z.size())};
  for (std::size_t i = 0; i < z.size(); ++i) {
    out.z.row(i) = z[i].transpose();
    out.fall[i] = fall[i];
  }
  return out;
}

Index bits(Index x) {
  Index out = 0;
  for (; x > 0; x >>= 1) out += x & 1;
  return out;
}

/// Corners of the cube [-1, 1]^m, all or a fraction in which no four factors are confounded (resolution V):
/// factor j is the Walsh function number index_j, and no sum modulo 2 of up to four of these is zero (Sanchez
/// and Sanchez 2005): the least such numbers.
Matrix corners(Index m) {
  std::vector<Index> index;
  std::set<Index> pairs{0};
  for (Index candidate = 1; static_cast<Index>(index.size()) < m; ++candidate) {
    std::vector<Index> sums{candidate};
    for (const Index i : index) sums.push_back(candidate ^ i);
    if (std::any_of(sums.begin(), sums.end(), [&](Index sum) { return pairs.count(sum) > 0; })) continue;
    pairs.insert(sums.begin(), sums.end());
    index.push_back(candidate);
  }
  Index runs = 1;
  while (runs <= index.back()) runs *= 2;
  Matrix out(runs, m);
  for (Index j = 0; j < m; ++j)
    for (Index run = 0; run < runs; ++run) out(run, j) = bits(run & index[j]) % 2 == 0 ? 1 : -1;
  return out;
}

/// The rows of a design that have a density.
Points design_points(const Matrix& design, const Visit& visit) {
  std::vector<Vector> z;
  std::vector<double> falls;
  for (Index i = 0; i < design.rows(); ++i) {
    const Vector at = design.row(i);
    const std::optional<double> fall = visit(at);
    if (!fall) continue;
    z.push_back(at);
    falls.push_back(*fall);
  }
  return points_of(z, falls, design.cols());
}

/// How the log density falls from the mode to sqrt(2) along both sides of the axes.
struct SideFalls {
  std::vector<std::optional<double>> below, above;  // m
};
SideFalls side_falls(Index m, const Fall& fall) {
  SideFalls out;
  for (Index k = 0; k < m; ++k) {
    out.below.push_back(fall(-M_SQRT2 * Vector::Unit(m, k), false));
    out.above.push_back(fall(M_SQRT2 * Vector::Unit(m, k), false));
  }
  return out;
}

/// The length at which it would have fallen by one, if it fell as the normal's.
Vector side_lengths(const std::vector<std::optional<double>>& falls) {
  Vector out = Vector::Ones(falls.size());
  for (std::size_t k = 0; k < falls.size(); ++k)
    if (falls[k]) out[k] = std::clamp(1 / std::sqrt(std::max(*falls[k], 0.0)), 0.3, 3.0);
  return out;
}

/// Against the centre: the weights that get the integral of the density and E z'z = m right for a normal.
double sphere_weight(Index m, Index count) {
  return std::exp(0.5 * static_cast<double>(m) * sphere * sphere) /
         (static_cast<double>(count) * (sphere * sphere - 1));
}

/// What the density is interpolated from: the points and the ends of the sides.
void remember(HyperPosterior& posterior, const Points& points, const SideFalls& sides) {
  constexpr double far = 20;  // such points would distort the interpolant elsewhere
  const Index m = posterior.size();
  std::vector<Vector> z;
  std::vector<double> falls;
  std::set<std::vector<double>> seen;
  const auto add = [&](const Vector& at, std::optional<double> fall) {
    std::vector<double> rounded(m);
    for (Index k = 0; k < m; ++k) rounded[k] = std::round(at[k] * 1e6);
    if (!seen.insert(rounded).second || !fall || !(*fall < far)) return;
    z.push_back(at);
    falls.push_back(*fall);
  };
  const Matrix at = posterior.stretch(points.z);
  for (Index i = 0; i < at.rows(); ++i) add(at.row(i).transpose(), points.fall[i]);
  for (Index k = 0; k < m; ++k) add(-M_SQRT2 * Vector::Unit(m, k), sides.below[k]);
  for (Index k = 0; k < m; ++k) add(M_SQRT2 * Vector::Unit(m, k), sides.above[k]);
  Points known = points_of(z, falls, m);
  posterior.known_z = std::move(known.z);
  posterior.known_fall = std::move(known.fall);
}

/// What is kept of points with these weights, up to a factor.
void keep(HyperPosterior& posterior, const Points& points, const Vector& weight, const SideFalls& sides, double top) {
  posterior.z = points.z;
  posterior.log_density = top - points.fall.array();
  posterior.weight = weight / weight.sum();
  remember(posterior, points, sides);
  posterior.log_evidence = top + log_volume(posterior);
}

}  // namespace

Matrix composite_design(Index m) {
  const Matrix cube = corners(m);
  Matrix out = Matrix::Zero(1 + cube.rows() + 2 * m, m);
  out.middleRows(1, cube.rows()) = sphere * cube;
  const double reach = sphere * std::sqrt(static_cast<double>(m));
  for (Index k = 0; k < m; ++k) {
    out(1 + cube.rows() + k, k) = reach;
    out(1 + cube.rows() + m + k, k) = -reach;
  }
  return out;
}

Points grid_points(Index m, const Visit& visit) {
  // points whose log density is expected that much below the mode's are left out; few dimensions can afford tails
  const double deepest = m == 1 ? 14 : m == 2 ? 9 : 7;
  constexpr std::size_t most = 400;
  std::vector<Vector> steps;
  for (Index corner = 0; corner < Index(1) << m; ++corner) {
    Vector step(m);
    for (Index k = 0; k < m; ++k) step[k] = corner >> k & 1 ? 1 : -1;
    steps.push_back(step);
  }
  for (const double two : {2.0, -2.0})
    for (Index k = 0; k < m; ++k) steps.push_back(two * Vector::Unit(m, k));

  const auto key = [](const Vector& z) { return std::vector<double>(z.data(), z.data() + z.size()); };
  std::vector<Vector> z{Vector::Zero(m)};
  std::vector<double> falls{visit(z[0]).value_or(0.0)};
  std::set<std::vector<double>> seen{key(z[0])};
  for (std::size_t at = 0; at < z.size() && z.size() < most; ++at) {
    for (const Vector& step : steps) {
      const Vector there = z[at] + step;
      // seen from here it falls as the normal's
      const double expected = falls[at] + 0.5 * (there.squaredNorm() - z[at].squaredNorm());
      if (expected > deepest || !seen.insert(key(there)).second) continue;
      if (const std::optional<double> fall = visit(there)) {
        z.push_back(there);
        falls.push_back(*fall);
      }
    }
  }
  return points_of(z, falls, m);
}

void integrate(HyperPosterior& posterior, const std::string& design, double top, const Fall& fall) {
  const Index m = posterior.size();
  posterior.design = design == "auto" ? m <= most_on_grid ? "grid" : "ccd" : design;
  const bool grid = posterior.design == "grid";
  const SideFalls sides = side_falls(m, fall);
  posterior.below = side_lengths(sides.below);
  posterior.above = side_lengths(sides.above);
  // a grid of one step is exact to more digits than one whose steps differ on both sides
  if (m == 1) posterior.below = posterior.above = 0.5 * (posterior.below + posterior.above);
  const Visit visit = [&](const Vector& z) {
    return fall(posterior.stretch(z.transpose()).row(0).transpose(), true);
  };
  const Points points = grid ? grid_points(m, visit) : design_points(composite_design(m), visit);

  Vector weight = (-points.fall.array()).exp() * posterior.sides(points.z).rowwise().prod().array();
  if (!grid)
    for (Index i = 0; i < points.z.rows(); ++i)
      if (points.z.row(i).squaredNorm() > 0) weight[i] *= sphere_weight(m, points.z.rows() - 1);
  keep(posterior, points, weight, sides, top);
}

void integrate_at(HyperPosterior& posterior, const Matrix& z, const Vector& weight, double top, const Fall& fall) {
  posterior.design = "points";
  const SideFalls sides = side_falls(posterior.size(), fall);
  posterior.below = posterior.above = Vector::Ones(posterior.size());
  Vector found(weight.size());  // of the points with a density
  Index row = 0, count = 0;
  const Points points = design_points(z, [&](const Vector& at) {
    const std::optional<double> own = fall(at, true);
    if (own) found[count++] = weight[row];
    ++row;
    return own;
  });
  keep(posterior, points, found.head(count), sides, top);
}

}  // namespace galvi

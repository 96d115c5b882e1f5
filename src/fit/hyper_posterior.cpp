#include "fit/hyper_posterior.h"

#include <algorithm>
#include <cmath>

#include "function/normal.h"
#include "numeric/even_points.h"

namespace galvi {

namespace {

/// |x_i - y_j|^3.   n x m of rows of X and Y
Matrix cubed_distances(const Matrix& X, const Matrix& Y) {
  Matrix out = -2 * X * Y.transpose();
  out.colwise() += X.rowwise().squaredNorm();
  out.rowwise() += Y.rowwise().squaredNorm().transpose();
  return out.array().max(0.0) * out.array().max(0.0).sqrt();
}

// The proposal has the lengths of the sides, but is wider: tails may be heavier than a normal's.
double proposal_width(Index m) { return std::min(1.5, 1 + 1.5 / static_cast<double>(m)); }

bool on_grid(const HyperPosterior& posterior) { return posterior.design == "grid"; }

/// Points in units of the sides, and how far the log density over these units is above the proposal's.
struct Proposed {
  Matrix u;           // S x m
  Vector log_weight;  // S
};

/// From the normal distribution.
Proposed from_normal(const HyperPosterior& posterior, const Matrix& v) {
  const Index m = v.cols();
  const double width = proposal_width(m);
  Proposed out{v * width, Vector()};
  out.log_weight = log_density(posterior, posterior.stretch(out.u)) + 0.5 * v.rowwise().squaredNorm();
  out.log_weight.array() += static_cast<double>(m) * (log_sqrt_2pi + std::log(width));
  return out;
}

/// max_k |u_sk - at_k|.   S
Vector steps_from(const Matrix& u, const Matrix& at) {
  return (u.rowwise() - Eigen::RowVectorXd(at)).cwiseAbs().rowwise().maxCoeff();
}

// Of a cube around a point of a grid: one would be half way to the next point, and cut tails short.
constexpr double half_cube = 1.25;

/// The log density within such cubes. A grid ends where it takes the density to be negligible, or where there is none. The
/// interpolant of a density with a plateau or a ridge may rise again, by e^20 and more, so it is capped at that of the
/// normal with the lengths of the sides and little more than what it is above that at the points around.   u: S x m, in
/// units of the sides; S
Vector log_density_on_grid(const HyperPosterior& posterior, const Matrix& u) {
  constexpr double around = 2;  // as far as the next point along an axis
  constexpr double more = 0.5;  // by which it is still growing in tails that are heavier than the normal's
  const Matrix known = posterior.known_z.cwiseQuotient(posterior.sides(posterior.known_z));
  const Vector above_normal = 0.5 * known.rowwise().squaredNorm() - posterior.known_fall;
  Vector most = Vector::Constant(u.rows(), -infinity);
  for (Index i = 0; i < known.rows(); ++i) {
    const Vector steps = steps_from(u, known.row(i));
    for (Index s = 0; s < u.rows(); ++s)
      if (steps[s] <= around) most[s] = std::max(most[s], above_normal[i]);
  }
  most.array() += more;
  const Vector normal = -0.5 * u.rowwise().squaredNorm();
  return log_density(posterior, posterior.stretch(u)).cwiseMin(normal + most);
}

/// From those cubes, by the weights of their points: of those from a normal the few beyond would have all the weight.
Proposed from_grid(const HyperPosterior& posterior, const Matrix& U) {
  const Index S = U.rows(), m = U.cols(), points = posterior.z.rows();
  const Vector share = posterior.weight / posterior.weight.sum();
  Proposed out{half_cube * (2 * U.array() - 1).matrix(), Vector()};
  double up_to = share[0];
  for (Index s = 0, i = 0; s < S; ++s) {
    // as many in a row to each point as it weighs
    const double place = (static_cast<double>(s) + 0.5) / static_cast<double>(S);
    while (up_to <= place && i + 1 < points) up_to += share[++i];
    out.u.row(s) += posterior.z.row(i);
  }
  Vector proposal = Vector::Zero(S);
  for (Index i = 0; i < points; ++i)
    proposal.array() +=
        share[i] * (steps_from(out.u, posterior.z.row(i)).array() <= half_cube).cast<double>();
  out.log_weight = log_density_on_grid(posterior, out.u);
  out.log_weight.array() += static_cast<double>(m) * std::log(2 * half_cube) - proposal.array().log();
  return out;
}

/// Evenly from the first to the last of those cubes, which are intervals here.   U: S x 1
Proposed along_line(const HyperPosterior& posterior, const Vector& U) {
  const double low = posterior.z.minCoeff() - half_cube, length = posterior.z.maxCoeff() + half_cube - low;
  Proposed out{(low + length * U.array()).matrix(), Vector()};
  out.log_weight = log_density_on_grid(posterior, out.u);
  out.log_weight.array() += std::log(length);
  return out;
}

}  // namespace

Vector HyperPosterior::place(const Vector& z) const {
  Vector x = value;
  const Vector move = axes * z;
  for (Index k = 0; k < size(); ++k) x[free[k]] += move[k];
  return x;
}

bool HyperPosterior::in_range(const Vector& x) const {
  return (x.array() >= lower.array()).all() && (x.array() <= upper.array()).all();
}

Matrix HyperPosterior::sides(const Matrix& z) const {
  Matrix out(z.rows(), z.cols());
  for (Index k = 0; k < z.cols(); ++k)
    for (Index i = 0; i < z.rows(); ++i)
      out(i, k) = z(i, k) < 0 ? below[k] : z(i, k) > 0 ? above[k] : 0.5 * (below[k] + above[k]);
  return out;
}

std::optional<HyperPosterior> normal_posterior(const Curvature& curvature,
                                               const std::vector<bool>& at_bound) {
  constexpr double least = 0.01;  // an sd of ten on the log scale is a factor of e^40 between the limits
  if (!curvature.hessian) return std::nullopt;
  std::vector<Index> kept;
  HyperPosterior out;
  for (std::size_t i = 0; i < curvature.which.size(); ++i) {
    if (at_bound[curvature.at[curvature.which[i]]]) continue;
    kept.push_back(static_cast<Index>(i));
    out.free.push_back(curvature.which[i]);
  }
  if (kept.empty()) return std::nullopt;
  out.at = curvature.at;
  out.value = curvature.value;
  out.lower = curvature.lower;
  out.upper = curvature.upper;
  const Index m = out.size();
  Matrix precision(m, m);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < m; ++j) precision(i, j) = -(*curvature.hessian)(kept[i], kept[j]);
  const Eigen::SelfAdjointEigenSolver<Matrix> system(precision);
  out.axes.resize(m, m);
  Vector undetermined = Vector::Zero(m);
  for (Index k = 0; k < m; ++k) {
    const Index from = m - 1 - k;  // the most precise first
    Vector axis = system.eigenvectors().col(from);
    const double value = system.eigenvalues()[from];
    if (value < least) undetermined += axis.cwiseAbs2();
    // the largest element is positive, so that points do not depend on the signs of eigenvectors
    Index largest;
    axis.cwiseAbs().maxCoeff(&largest);
    if (axis[largest] < 0) axis = -axis;
    out.axes.col(k) = axis / std::sqrt(std::max(value, least));
  }
  for (Index k = 0; k < m; ++k)
    if (undetermined[k] > 0.01) out.flat.push_back(k);
  return out;
}

Vector log_density(const HyperPosterior& posterior, const Matrix& z) {
  const Matrix& at = posterior.known_z;
  const Index n = at.rows(), m = posterior.size(), q = m + 1;
  const Vector normal = -0.5 * z.rowwise().squaredNorm();
  Matrix linear(n, q);  // 1, z
  linear << Vector::Ones(n), at;
  Eigen::ColPivHouseholderQR<Matrix> independent(linear);
  independent.setThreshold(1e-7);
  if (independent.rank() < q) return normal;
  Matrix system = Matrix::Zero(n + q, n + q);
  system.topLeftCorner(n, n) = cubed_distances(at, at);
  system.topRightCorner(n, q) = linear;
  system.bottomLeftCorner(q, n) = linear.transpose();
  Vector missed = Vector::Zero(n + q);  // of the normal density
  missed.head(n) = 0.5 * at.rowwise().squaredNorm() - posterior.known_fall;
  const Vector coefficients = system.partialPivLu().solve(missed);
  return normal + cubed_distances(z, at) * coefficients.head(n) +
         Vector((z * coefficients.tail(m)).array() + coefficients[n]);
}

HyperPoints hyper_points(const HyperPosterior& posterior, const Matrix& U) {
  const Index S = U.rows();
  const bool interpolated = !posterior.design.empty();
  const auto normal = [&U]() -> Matrix { return U.unaryExpr([](double u) { return normal_quantile(u); }); };
  HyperPoints out;
  Vector log_weight = Vector::Zero(S);
  if (interpolated) {
    const Proposed proposed = !on_grid(posterior)     ? from_normal(posterior, normal())
                              : posterior.size() == 1 ? along_line(posterior, U.col(0))
                                                      : from_grid(posterior, U);
    const Matrix sides = posterior.sides(proposed.u);
    out.z = proposed.u.cwiseProduct(sides);
    log_weight = proposed.log_weight + Vector(sides.array().log().rowwise().sum());
  } else
    out.z = normal();
  out.x.resize(S, posterior.value.size());
  for (Index s = 0; s < S; ++s) {
    Vector x = posterior.place(out.z.row(s).transpose());
    // hyperparameters that data and priors do not determine stay at the mode
    for (const Index k : posterior.flat) x[posterior.free[k]] = posterior.value[posterior.free[k]];
    if (interpolated && !posterior.in_range(x)) log_weight[s] = -infinity;
    out.x.row(s) = x.transpose();
  }
  out.scale = log_weight.maxCoeff();
  out.weight = (log_weight.array() - out.scale).exp();
  return out;
}

HyperPoints hyper_points(const HyperPosterior& posterior) {
  // a line needs fewer, and the middles of equal parts are better there
  constexpr Index of_one = 1024, of_several = 8192;
  if (posterior.size() > 1) return hyper_points(posterior, even_points(of_several, posterior.size()));
  return hyper_points(posterior, Vector::LinSpaced(of_one, 0.5 / of_one, 1 - 0.5 / of_one));
}

double log_volume(const HyperPosterior& posterior) {
  const HyperPoints points = hyper_points(posterior);
  return points.scale + std::log(points.weight.mean()) + std::log(std::abs(posterior.axes.determinant()));
}

}  // namespace galvi

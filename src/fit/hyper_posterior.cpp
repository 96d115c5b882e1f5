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
  const Matrix v = U.unaryExpr([](double u) { return normal_quantile(u); });
  HyperPoints out;
  Vector log_weight = Vector::Zero(S);
  out.z = v;
  if (interpolated) {
    const Matrix wide = v * proposal_width(v.cols());
    const Matrix sides = posterior.sides(wide);
    out.z = wide.cwiseProduct(sides);
    log_weight = log_density(posterior, out.z) + 0.5 * v.rowwise().squaredNorm() +
                 Vector(sides.array().log().rowwise().sum());
  }
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
  constexpr Index of_one = 2048, of_several = 8192;
  if (posterior.size() > 1) return hyper_points(posterior, even_points(of_several, posterior.size()));
  return hyper_points(posterior, Vector::LinSpaced(of_one, 0.5 / of_one, 1 - 0.5 / of_one));
}

double log_volume(const HyperPosterior& posterior) {
  const Index m = posterior.size();
  const HyperPoints points = hyper_points(posterior);
  return points.scale + std::log(points.weight.mean()) +
         static_cast<double>(m) * (log_sqrt_2pi + std::log(proposal_width(m))) +
         std::log(std::abs(posterior.axes.determinant()));
}

}  // namespace galvi

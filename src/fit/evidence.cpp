#include "fit/evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "likelihood/custom.h"

namespace galvi {

namespace {

constexpr Index most_summed = 300;

/// What rows have in their own log densities f beyond quadratic functions, by values of f at even distances.
class Rests {
 public:
  /// mean, variance: of the rows under q
  Rests(const Likelihood& likelihood, const PreparedRows& rows, const Vector& mean, const Vector& variance)
      : z_(Vector::LinSpaced(points, -farthest, farthest)) {
    mass_ = (-0.5 * z_.array().square()).exp() * (z_[1] - z_[0]) / std::sqrt(2 * M_PI);
    Matrix eta(rows.size(), points);
    for (Index i = 0; i < points; ++i) eta.col(i) = mean + z_[i] * variance.cwiseSqrt();
    Matrix f = Matrix::Zero(rows.size(), points);  // where rows have no weight, too
    if (const Custom* custom = likelihood.custom()) {  // one call of R
      const Vector all = custom->log_densities(rows.data.y.replicate(points, 1), eta.reshaped());
      f = all.reshaped(rows.size(), points);
    } else {
      for (Index i = 0; i < points; ++i) likelihood.careful_log_densities(rows, eta.col(i), f.col(i).array());
    }
    f.array().colwise() *= rows.data.weight.array();
    const auto seen = f.array().isFinite();  // a density may be zero far away
    Matrix hermite(points, 3);
    hermite << Vector::Ones(points), z_, z_.array().square() - 1;
    const Matrix parts = Matrix(seen.select(f, 0)) * mass_.asDiagonal() * hermite;
    square_ = parts.col(2);
    hermite.col(2) *= 0.5;
    known_ = parts.cwiseAbs().rowwise().maxCoeff().array() < most_digits;
    rest_ = seen.select(f - parts * hermite.transpose(), -infinity);
  }

  /// log E exp(J rest(z)), z ~ N(0, 1), of row n: by how much the log evidence of J such rows is above their bound, if
  /// nothing else is. Of fewer rows where so many would leave no prior. Not a number where f is so steep that its rest has
  /// no digits.
  double gap(Index n, double& J) const {
    if (!known_[n]) return std::numeric_limits<double>::quiet_NaN();
    constexpr double most = 0.98;  // of the precision of q
    if (J * square_[n] < -most) J = -most / square_[n];
    return std::log((J * rest_.row(n)).array().exp().matrix().dot(mass_));
  }

 private:
  static constexpr Index points = 121;
  static constexpr double farthest = 12;  // sds of q, as exp(J rest) may be about as wide as the prior
  static constexpr double most_digits = 1e9;

  Vector z_, mass_;
  Matrix rest_;    // rows x points
  Vector square_;  // variance times E f''
  Eigen::Array<bool, Eigen::Dynamic, 1> known_;
};

// E f_n'''
Vector third_derivatives(LatentGaussianModel& model, const Posterior& q) {
  Expectations e;
  model.expectation().evaluate(model.context(), model.likelihood(), model.data(), q->mean, q->variance, 2, e);
  Vector out = 2 * e.d_mv.col(0);
  out.tail(model.prior_rows()).setZero();  // heavy-tailed priors of coefficients are not concave, and each stands alone
  return out;
}

}  // namespace

EvidenceAboveBound::EvidenceAboveBound(LatentGaussianModel& model, const Posterior& q) {
  const Index N = model.rows();
  if (model.latents() != 1 || model.likelihood().conjugate() || !model.expectation().exact() ||
      !model.has_all_rows() || N > most_rows_of_states)
    return;
  rows_.resize(N);
  std::iota(rows_.begin(), rows_.end(), Index{0});
  stands_for_ = Vector::Ones(N);
  if (N > most_summed) choose(model, q);
  constexpr Index in_cache = 65536, least = 8, most = 100;
  const auto number = static_cast<Index>(rows_.size()), width = std::clamp(in_cache / N, least, most);
  const Index blocks = (number + width - 1) / width;
  for (Index first = 0; first < blocks; ++first) {
    // rows of all sizes in each, as a few blocks may be all that are visited
    std::vector<Index> at, own;
    for (Index i = first; i < number; i += blocks) {
      at.push_back(i);
      own.push_back(rows_[i]);
    }
    PreparedRows rows = model.likelihood().prepare(model.data().at(own));
    blocks_.push_back({std::move(at), std::move(rows)});
  }
}

void EvidenceAboveBound::choose(LatentGaussianModel& model, const Posterior& q) {
  // With probabilities in proportion to a row's own part, at even distances among rows in the order of these, so that
  // the order of the data makes no difference but among equals.
  const Vector size =
      third_derivatives(model, q).cwiseAbs().cwiseProduct(Vector(q->variance.col(0).array().pow(1.5)));
  const double total = size.sum();
  if (!(total > 0) || !std::isfinite(total)) return rows_.clear();
  std::stable_sort(rows_.begin(), rows_.end(), [&](Index a, Index b) { return size[a] > size[b]; });
  std::vector<Index> chosen;
  std::vector<double> weight;
  double passed = 0.5;
  for (const Index row : rows_) {
    const double probability = std::min(1.0, static_cast<double>(most_summed) * size[row] / total);
    const double before = std::floor(passed);
    passed += probability;
    if (!(std::floor(passed) > before)) continue;
    chosen.push_back(row);
    weight.push_back(1 / probability);
  }
  rows_ = std::move(chosen);
  stands_for_ = Eigen::Map<const Vector>(weight.data(), static_cast<Index>(weight.size()));
}

double EvidenceAboveBound::operator()(LatentGaussianModel& model, const Posterior& q) const {
  constexpr double most_part = 2;
  constexpr double most_term = 1e6;  // of terms that are below one where the series holds: q reaches beyond the points
  constexpr double enough = 0.003;   // nats
  constexpr double least = 64;       // rows, before the sum's error is known
  const auto all = static_cast<double>(rows_.size());
  const bool sampled = rows_.size() < static_cast<std::size_t>(model.rows());
  if (rows_.empty()) return 0;
  const Vector third = third_derivatives(model, q);
  model.restore(q);
  double sum = 0, squares = 0, visited = 0;
  for (const Block& block : blocks_) {
    std::vector<Index> own;
    for (const Index i : block.at) own.push_back(rows_[i]);
    model.context().monitor.poll();
    const Matrix V = model.solver(0).covariance(own);
    const Vector mean = q->mean(own, 0), variance = V(own, Eigen::all).diagonal();
    const Rests rests(model.likelihood(), block.rows, mean, variance);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Index m = own[i], column = static_cast<Index>(i);
      const double c = third[m] * (V.col(column).array().cube() * third.array()).sum() / 12;
      const double alone = third[m] * third[m] * std::pow(V(m, column), 3) / 12;
      if (!(alone > 0 && alone < most_term && std::abs(c) < most_term) || c == 0) continue;
      double like_it = std::abs(c) / alone;
      const double gap = rests.gap(column, like_it);
      if (!std::isfinite(gap)) continue;  // q is too wide for the points
      const double part = gap / (like_it * like_it * alone);
      const double share = stands_for_[block.at[i]] * c * std::clamp(part, 0.0, most_part);
      sum += share;
      squares += share * share;
    }
    visited += static_cast<double>(own.size());
    // the sum of all, if its terms are like those so far
    if (sampled && squares > 0 && visited >= least && all * std::sqrt(squares) / visited <= enough) {
      sum *= all / visited;
      break;
    }
  }
  return std::isfinite(sum) ? sum : 0;
}

}  // namespace galvi

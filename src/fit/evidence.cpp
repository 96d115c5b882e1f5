#include "fit/evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace galvi {

namespace {

constexpr Index most_rows = 20000, most_summed = 300;

/// What a row has in its own log density f beyond a quadratic function, by values of f at even distances.
class Rest {
 public:
  Rest(const Likelihood& likelihood, const Datum& datum, double weight, double mean, double variance) {
    const double sd = std::sqrt(variance);
    double constant = 0, linear = 0;
    for (Index i = 0; i < points; ++i) {
      const double z = place(i), eta = mean + sd * z;
      rest_[i] = weight * likelihood.log_density(datum, &eta);
      constant += mass(z) * rest_[i];
      linear += mass(z) * rest_[i] * z;
      square_ += mass(z) * rest_[i] * (z * z - 1);
    }
    for (Index i = 0; i < points; ++i) {
      const double z = place(i);
      rest_[i] -= constant + linear * z + 0.5 * square_ * (z * z - 1);
    }
  }

  /// log E exp(J rest(z)), z ~ N(0, 1): by how much the log evidence of J such rows is above their bound, if nothing else
  /// is. Fewer rows where so many would leave no prior.
  double gap(double& J) const {
    constexpr double most = 0.98;  // of the precision of q
    if (J * square_ < -most) J = -most / square_;
    double sum = 0;
    for (Index i = 0; i < points; ++i) sum += mass(place(i)) * std::exp(J * rest_[i]);
    return std::log(sum);
  }

 private:
  static constexpr Index points = 121;
  static constexpr double farthest = 12, distance = 2 * farthest / (points - 1);  // sds of q
  static double place(Index i) { return -farthest + distance * static_cast<double>(i); }
  static double mass(double z) { return distance * std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI); }

  double square_ = 0;  // variance times E f''
  std::array<double, points> rest_;
};

// E f_n'''
Vector third_derivatives(LatentGaussianModel& model, const Posterior& q) {
  Expectations e;
  model.expectation().evaluate(model.context(), model.likelihood(), model.data(), q->mean, q->variance, 2, e);
  return 2 * e.d_mv.col(0);
}

}  // namespace

EvidenceAboveBound::EvidenceAboveBound(LatentGaussianModel& model, const Posterior& q) {
  const Index N = model.rows();
  if (model.latents() != 1 || model.likelihood().conjugate() || !model.expectation().exact() ||
      !model.has_all_rows() || N > most_rows)
    return;
  rows_.resize(N);
  std::iota(rows_.begin(), rows_.end(), Index{0});
  stands_for_ = Vector::Ones(N);
  if (N <= most_summed) return;
  // With probabilities in proportion to a row's own part, at even distances among rows in the order of these, so that
  // the order of the data makes no difference but among equals.
  const Vector size =
      third_derivatives(model, q).cwiseAbs().cwiseProduct(Vector(q->variance.col(0).array().pow(1.5)));
  const double total = size.sum();
  if (!(total > 0) || !std::isfinite(total)) return;
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
  constexpr std::size_t width = 100;
  constexpr double most_part = 2;
  if (rows_.empty()) return 0;
  const Vector third = third_derivatives(model, q);
  model.restore(q);
  double sum = 0;
  for (std::size_t begin = 0; begin < rows_.size(); begin += width) {
    const std::vector<Index> own(rows_.begin() + begin,
                                 rows_.begin() + std::min(rows_.size(), begin + width));
    const Matrix V = model.solver(0).covariance(own);
    const Vector with_others = V.array().cube().matrix().transpose() * third;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Index m = own[i], column = static_cast<Index>(i);
      const double c = third[m] * with_others[column] / 12;
      const double alone = third[m] * third[m] * std::pow(V(m, column), 3) / 12;
      if (!(alone > 0)) continue;
      double like_it = std::abs(c) / alone;
      const Rest rest(model.likelihood(), model.data()[m], model.data().weight[m], q->mean(m, 0), q->variance(m, 0));
      const double gap = rest.gap(like_it);
      const double part = gap / (like_it * like_it * alone);
      sum += stands_for_[static_cast<Index>(begin + i)] * c * std::clamp(part, 0.0, most_part);
    }
  }
  return std::isfinite(sum) ? sum : 0;
}

}  // namespace galvi

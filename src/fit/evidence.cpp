#include "fit/evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace galvi {

namespace {

constexpr Index most_rows = 3000, most_summed = 300;

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
  constexpr double k = 3;  // bench/hyper-bias.R
  constexpr std::size_t width = 100;
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
      const double together = alone > 0 ? c * c / alone : 0;
      const double part = together > 0 ? (std::sqrt(1 + 2 * k * together) - 1) / (k * together) : 1;
      sum += stands_for_[static_cast<Index>(begin + i)] * c * part;
    }
  }
  return std::isfinite(sum) ? sum : 0;
}

}  // namespace galvi

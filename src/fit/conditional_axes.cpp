#include "fit/conditional_axes.h"

#include <cmath>
#include <utility>
#include <vector>

namespace galvi {

ConditionalAxes::ConditionalAxes(const Unknowns& unknowns, Vector mean, Matrix root)
    : unknowns_(unknowns),
      mean_(std::move(mean)),
      prior_mean_(unknowns.prior_mean()),
      root_(std::move(root)),
      precision_(unknowns.prior_precision()) {}

std::optional<ConditionalPlace> ConditionalAxes::place() const {
  // With R R' = H^-1 at the mode, and P in place of P0 as the prior's precision: R' (H + P - P0) R = I + R' (P - P0) R.
  const Matrix P = unknowns_.prior_precision();
  const Vector prior_mean = unknowns_.prior_mean();
  const Matrix change = P - precision_;
  std::vector<Index> changed;
  for (Index j = 0; j < change.cols(); ++j)
    if (!change.col(j).isZero(0)) changed.push_back(j);
  if (changed.empty() && prior_mean == prior_mean_) return ConditionalPlace{mean_, &root_, std::nullopt, 0};
  const Matrix from = root_(changed, Eigen::all), to = change(changed, changed) * from;
  Matrix precision = Matrix::Identity(root_.cols(), root_.cols());
  precision.triangularView<Eigen::Lower>() += from.transpose() * to;
  if (!precision.allFinite()) return std::nullopt;
  Eigen::LLT<Matrix> factor(precision);
  if (factor.info() != Eigen::Success) return std::nullopt;
  const Vector pull = P * (prior_mean - mean_) - precision_ * (prior_mean_ - mean_);
  Vector centre = mean_ + root_ * factor.solve(root_.transpose() * pull);
  const double log_scale = -factor.matrixLLT().diagonal().array().log().sum();
  if (!centre.allFinite() || !std::isfinite(log_scale)) return std::nullopt;
  return ConditionalPlace{std::move(centre), &root_, std::move(factor), log_scale};
}

}  // namespace galvi

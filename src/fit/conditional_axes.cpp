#include "fit/conditional_axes.h"

#include <utility>

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
  if (change.isZero(0) && prior_mean == prior_mean_) return ConditionalPlace{mean_, root_, 0};
  Matrix precision = root_.transpose() * change * root_;
  precision.diagonal().array() += 1;
  if (!precision.allFinite()) return std::nullopt;
  const Eigen::LLT<Matrix> factor(precision);
  if (factor.info() != Eigen::Success) return std::nullopt;
  const Vector pull = P * (prior_mean - mean_) - precision_ * (prior_mean_ - mean_);
  const Vector moved = factor.solve(root_.transpose() * pull);
  const Matrix lower = factor.matrixL();
  ConditionalPlace out{mean_ + root_ * moved, lower.triangularView<Eigen::Lower>().solve(root_.transpose()),
                       -lower.diagonal().array().log().sum()};
  out.root.transposeInPlace();  // R L'^-1
  if (!out.centre.allFinite() || !out.root.allFinite()) return std::nullopt;
  return out;
}

}  // namespace galvi

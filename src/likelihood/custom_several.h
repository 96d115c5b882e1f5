// A likelihood of several linear predictors whose density is a user's function.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "likelihood/custom.h"
#include "likelihood/distributional.h"

namespace galvi {

/// log p(y | eta_1, .., eta_K) = f(y, eta, parameters), known by its values alone.
class CustomSeveral final : public Distributional {
 public:
  explicit CustomSeveral(CustomDensity own) : own_(std::move(own)) {}
  Index latents() const override { return own_.functions->latents(); }
  const CustomSeveral* custom_several() const override { return this; }
  void update(const ConstVectorRef& hyper) override;
  bool has_hyper() const override { return !own_.positions.empty(); }
  const CustomDensity& density() const { return own_; }
  /// Over these distances from eta log p changes by a few hundredths of a nat along each predictor. All rows are asked
  /// for at once.   y: n; eta, result: n x K
  Matrix units(const Vector& y, const Matrix& eta) const;

  double log_density(const Datum& datum, const double* eta) const override;
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    out = own_.log_densities(rows.data.y, eta).array();
  }
  bool log_concave() const override { return false; }

  double last_of(const Datum&, double, double) const override { return own_.functions->starts()[last() - 1]; }
  std::shared_ptr<const Likelihood> others_given(double last) const override;

  double conditional_mean(const Datum& row, const double* eta) const override;
  double conditional_variance(const Datum& row, const double* eta) const override;
  double conditional_cdf(const Datum& datum, const double* eta) const override;
  bool discrete() const override { return own_.discrete; }
  Support support(const Datum& /*row*/) const override { return own_.support; }

  // Of a response under eta ~ N(mean, variance), K each.
  const NumericDistribution& distribution(const double* mean, const double* variance) const;
  /// Var E[y | eta]
  double mean_variance(const double* mean, const double* variance) const;
  double integrated_log_density(double y, const double* mean, const double* variance) const;

 private:
  struct Nodes {
    Matrix eta;  // J x K
    Vector share;
  };
  Nodes nodes(const double* mean, const double* variance) const;
  Vector density_average(const Nodes& nodes, const Vector& y) const;

  CustomDensity own_;
  SerialLoops serial_;
  // Loops are serial, so what was computed may be kept.
  mutable std::map<std::vector<double>, NumericDistribution> distributions_;
  mutable std::map<double, std::shared_ptr<const Likelihood>> given_;
};

}  // namespace galvi

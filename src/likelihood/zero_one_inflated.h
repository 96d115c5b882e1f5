// Proportions with zeros and ones of their own: linear predictors for the probability of either, and for that
// of a one among them.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "function/elementwise.h"
#include "likelihood/binomial_logit.h"
#include "likelihood/distributional.h"

namespace galvi {

/// With P = 1 / (1 + exp(-zoi)) and C = 1 / (1 + exp(-coi)), of two linear predictors after those of the
/// base, y is 1 with probability P C, 0 with probability P (1 - C), and otherwise follows the base on (0, 1).
class ZeroOneInflated final : public Distributional {
 public:
  explicit ZeroOneInflated(std::shared_ptr<Likelihood> base, std::optional<double> known_coi = std::nullopt)
      : base_(std::move(base)), known_coi_(known_coi) {}
  Index latents() const override { return base_->latents() + (known_coi_ ? 1 : 2); }
  void update(const ConstVectorRef& hyper) override { base_->update(hyper); }
  bool has_hyper() const override { return base_->has_hyper(); }

  double log_density(const Datum& datum, const double* eta) const override {
    const double zoi = eta[zoi_at()];
    if (is_inside(datum)) return log_sigmoid().value(-zoi) + base_->log_density(datum, eta);
    return log_sigmoid().value(zoi) + log_sigmoid().value(datum.y > 0.5 ? coi(eta) : -coi(eta));
  }
  // Rows at an end are also asked for their log density inside. It is that of 1/2 there, not to be used.
  PreparedRows prepare(Data data) const override {
    PreparedRows out{data};
    for (double& y : data.y)
      if (!(y > 0.0 && y < 1.0)) y = 0.5;
    out.parts.push_back(base_->prepare(std::move(data)));
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    base_->log_densities(rows.parts[0], eta.leftCols(zoi_at()), out);
    RowArray gate = -eta.col(zoi_at()).array(), which = RowArray::Zero(rows.size());
    for (Index n = 0; n < rows.size(); ++n) {
      if (is_inside(rows.data[n])) continue;
      const double c = known_coi_ ? *known_coi_ : eta(n, last());
      gate[n] = -gate[n];
      which[n] = rows.data.y[n] > 0.5 ? c : -c;
    }
    log_sigmoid_each(gate);
    log_sigmoid_each(which);
    for (Index n = 0; n < rows.size(); ++n) out[n] = gate[n] + (is_inside(rows.data[n]) ? out[n] : which[n]);
  }
  std::optional<Split> split(const Datum& datum) const override {
    if (is_inside(datum)) return Split{{Split::Part{base_.get(), datum, 0}, Split::Part{&gate(), {0.0, 1.0}, zoi_at()}}};
    return Split{{Split::Part{&gate(), {1.0, 1.0}, zoi_at()},
                  Split::Part{&gate(), {datum.y > 0.5 ? 1.0 : 0.0, 1.0}, last()}}};
  }
  std::optional<ZeroMixture> zero_mixture() const override { return ZeroMixture{base_.get(), false, true}; }
  bool separable() const override { return base_->latents() == 1; }
  bool log_concave() const override { return base_->log_concave(); }

  double last_of(const Datum& datum, double, double) const override {
    if (known_coi_) return is_inside(datum) ? -1.0 : 0.0;
    if (is_inside(datum)) return std::numeric_limits<double>::quiet_NaN();
    return datum.y > 0.5 ? 1.0 : -1.0;
  }
  std::shared_ptr<const Likelihood> others_given(double last) const override {
    if (known_coi_) return base_;
    return std::make_shared<ZeroOneInflated>(base_, last);
  }

  double conditional_mean(const Datum& row, const double* eta) const override {
    return inside(eta) * base_->conditional_mean(row, eta) + one(eta);
  }
  // The variance inside, and that of the means of the three kinds.
  double conditional_variance(const Datum& row, const double* eta) const override {
    const double share = inside(eta), mu = base_->conditional_mean(row, eta), mean = conditional_mean(row, eta);
    return share * (base_->conditional_variance(row, eta) + (mu - mean) * (mu - mean)) + zero(eta) * mean * mean +
           one(eta) * (1.0 - mean) * (1.0 - mean);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    if (datum.y < 0.0) return 0.0;
    if (datum.y >= 1.0) return 1.0;
    return zero(eta) + inside(eta) * base_->conditional_cdf(datum, eta);
  }
  bool discrete() const override { return false; }
  Support support(const Datum& /*row*/) const override { return {0.0, 1.0}; }

 private:
  static bool is_inside(const Datum& datum) { return datum.y > 0.0 && datum.y < 1.0; }
  static const Likelihood& gate() {
    static const BinomialLogit likelihood;
    return likelihood;
  }
  static void log_sigmoid_each(RowArray& x) {
    const RowArray low = x.min(0.0);
    log1p_exp_each(x);
    x = low - x;
  }
  Index zoi_at() const { return base_->latents(); }
  double coi(const double* eta) const { return known_coi_ ? *known_coi_ : eta[last()]; }
  double inside(const double* eta) const { return std::exp(log_sigmoid().value(-eta[zoi_at()])); }
  double zero(const double* eta) const {
    return std::exp(log_sigmoid().value(eta[zoi_at()]) + log_sigmoid().value(-coi(eta)));
  }
  double one(const double* eta) const {
    return std::exp(log_sigmoid().value(eta[zoi_at()]) + log_sigmoid().value(coi(eta)));
  }

  std::shared_ptr<Likelihood> base_;
  std::optional<double> known_coi_;
};

}  // namespace galvi

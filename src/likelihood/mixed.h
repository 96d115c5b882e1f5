// Several likelihoods side by side: each row has one of them, as columns of different kinds do.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "likelihood/likelihood.h"

namespace galvi {

/// A row has parts()[datum.part], K = 1. What is asked without a row, as predictions are, is to be asked of a part.
class Mixed final : public Likelihood {
 public:
  explicit Mixed(std::vector<std::unique_ptr<Likelihood>> parts) : parts_(std::move(parts)) {
    for (const auto& part : parts_)
      if (part->latents() != 1)
        throw std::invalid_argument("a list of families takes those with one linear predictor and no classes");
  }
  const Mixed* mixed() const override { return this; }
  const std::vector<std::unique_ptr<Likelihood>>& parts() const { return parts_; }
  const Likelihood& part(const Datum& datum) const { return *parts_.at(datum.part); }

  void update(const ConstVectorRef& hyper) override {
    for (const auto& part : parts_) part->update(hyper);
  }
  double log_density(const Datum& datum, const double* eta) const override {
    return part(datum).log_density(datum, eta);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    part(datum).derivatives(datum, eta, out);
  }
  /// In every respect that of the roughest part.
  Smoothness smoothness() const override {
    Smoothness out = parts_.front()->smoothness();
    for (const auto& part : parts_) {
      const Smoothness own = part->smoothness();
      out.width = std::min(out.width, own.width);
      out.growth = std::max(out.growth, own.growth);
      out.oscillation = std::max(out.oscillation, own.oscillation);
    }
    return out;
  }
  Smoothness smoothness(const Datum& datum) const override { return part(datum).smoothness(datum); }
  std::optional<TiltedMoments> tilted(const Datum& datum, double weight, double mean, double variance) const override {
    return part(datum).tilted(datum, weight, mean, variance);
  }
  bool log_concave() const override { return all(&Likelihood::log_concave); }
  bool concave_in_each() const override { return all(&Likelihood::concave_in_each); }
  double starting_eta(const Datum& datum) const override { return part(datum).starting_eta(datum); }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return part(datum).conditional_cdf(datum, eta);
  }
  double conditional_mean(const Datum&, const double*) const override { refuse(); }
  double conditional_variance(const Datum&, const double*) const override { refuse(); }
  bool discrete() const override { return all(&Likelihood::discrete); }
  Support support(const Datum&) const override { return {-infinity, infinity}; }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    part(datum).add_gradient(datum, eta, weight, gradient);
  }
  bool has_hyper() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->has_hyper(); });
  }

 private:
  [[noreturn]] static void refuse() { throw std::logic_error("a mixed likelihood is asked without a row"); }
  bool all(bool (Likelihood::*property)() const) const {
    return std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) { return (*part.*property)(); });
  }

  std::vector<std::unique_ptr<Likelihood>> parts_;
};

}  // namespace galvi

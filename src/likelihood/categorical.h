// One of several unordered classes: multinomial logit.
#pragma once

#include <algorithm>

#include "likelihood/classes.h"
#include "likelihood/standard_function.h"

namespace galvi {

/// log p(y | eta) = eta_y - log sum_c exp(eta_c).   y = 0, .., classes - 1
/// Every class has a latent value (K = classes), or that of the `reference` class is 0 (K = classes - 1).
class Categorical final : public ClassResponse<Likelihood> {
 public:
  explicit Categorical(const LikelihoodSpec& spec) : ClassResponse<Likelihood>(spec) {
    const auto entry = spec.constants.find("reference");
    const double reference = entry == spec.constants.end() ? -1.0 : entry->second;
    if (!(reference >= -1.0 && reference < classes()) || reference != std::floor(reference))
      throw std::invalid_argument("categorical: `reference` must be a class, counted from 0, or -1 for none");
    softmax_ = {classes(), static_cast<Index>(reference)};
  }

  Index latents() const override { return softmax_.latents(); }
  std::optional<Softmax> softmax() const override { return softmax_; }

  double log_density(const Datum& datum, const double* eta) const override {
    const Index y = class_of(datum);
    const double own = value(eta, y);
    // log p = -log(1 + sum_{c != y} exp(eta_c - eta_y)), taken relative to the largest term
    double gap = 0.0, others = 0.0;
    for (Index c = 0; c < classes(); ++c) gap = std::max(gap, value(eta, c) - own);
    for (Index c = 0; c < classes(); ++c) {
      if (c != y) others += std::exp(value(eta, c) - own - gap);
    }
    return -gap - (gap == 0.0 ? std::log1p(others) : std::log(std::exp(-gap) + others));
  }
  // Two classes with a reference: log p = f(eta) or, of the reference, f(-eta), f = log sigmoid.
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    require_one_latent();
    const double sign = sign_of(datum);
    log_sigmoid().derivatives(sign * eta, out);
    out[1] *= sign;
    out[3] *= sign;
  }
  Smoothness smoothness() const override { return log_sigmoid().smoothness(); }
  bool log_concave() const override { return true; }
  // The logit of the class's share with half a response added to each class.   K = 1
  double starting_eta(const Datum& datum) const override { return sign_of(datum) * std::log(3.0); }

 private:
  double value(const double* eta, Index c) const {
    const Index k = softmax_.latent_of(c);
    return k < 0 ? 0.0 : eta[k];
  }
  double sign_of(const Datum& datum) const { return class_of(datum) == softmax_.reference ? -1.0 : 1.0; }

  Softmax softmax_;
};

}  // namespace galvi

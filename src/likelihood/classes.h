// What likelihoods with unordered classes have in common.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "likelihood/likelihood.h"

namespace galvi {

/// The number of classes, as R states it.
inline Index classes_of(const LikelihoodSpec& spec) {
  const auto entry = spec.constants.find("classes");
  if (entry == spec.constants.end() || !(entry->second >= 2.0) || entry->second != std::floor(entry->second))
    throw std::invalid_argument(spec.type + ": constants must name `classes`, a whole number >= 2");
  return static_cast<Index>(entry->second);
}

/// The number of trials of a datum: one, or the sum of its counts.
inline double trials_of(const Datum& datum) { return datum.counts ? datum.size : 1.0; }

/// Calls body(class, trials) for every class of the datum.
template <class Body>
void for_classes(const Datum& datum, Index classes, Body body) {
  if (!datum.counts) return body(static_cast<Index>(datum.y), 1.0);
  for (Index c = 0; c < classes; ++c)
    if (datum.counts[c] > 0.0) body(c, datum.counts[c]);
}

/// Base for a response that is a class: y = 0, .., classes - 1, which has no mean.
template <class Base>
class ClassResponse : public Base {
 public:
  template <class... Arguments>
  explicit ClassResponse(const LikelihoodSpec& spec, Arguments&&... arguments)
      : Base(arguments...), type_(spec.type), classes_(classes_of(spec)) {}

  Index classes() const override { return classes_; }
  bool discrete() const override { return true; }
  Support support(const Datum& /*row*/) const override { return {0.0, static_cast<double>(classes_ - 1)}; }
  double conditional_mean(const Datum& /*row*/, const double* /*eta*/) const override { return refuse("mean"); }
  double conditional_variance(const Datum& /*row*/, const double* /*eta*/) const override {
    return refuse("variance");
  }
  // In the order of the levels, for randomised quantile residuals.
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    double sum = 0.0;
    for (Index c = 0; c <= static_cast<Index>(datum.y); ++c)
      sum += std::exp(this->log_density({static_cast<double>(c), 1.0}, eta));
    return std::min(sum, 1.0);
  }

 protected:
  void require_one_latent() const {
    if (this->latents() != 1)
      throw std::domain_error(type_ + ": derivatives in eta are for two classes with one latent value");
  }
  Index class_of(const Datum& datum) const { return static_cast<Index>(datum.y); }

 private:
  double refuse(const char* what) const {
    throw std::domain_error(type_ + ": a class has no " + what + "; ask for the probabilities");
  }

  std::string type_;
  Index classes_;
};

}  // namespace galvi

// Quantile regression: a response whose log density is the check function, identity link.
#pragma once

#include <stdexcept>

#include "likelihood/double_exponential.h"

namespace galvi {

/// With r = (y - eta) / scale and the quantile q, log p(y | eta) = log(q (1 - q) / scale) - r (q - [r < 0]):
/// P(y < eta) = q.
class AsymmetricLaplace final : public DoubleExponential {
 public:
  explicit AsymmetricLaplace(const LikelihoodSpec& spec)
      : DoubleExponential(PositiveParameter(spec, "scale"), quantile_of(spec), 1.0 - quantile_of(spec)) {}

 private:
  static double quantile_of(const LikelihoodSpec& spec) {
    const auto entry = spec.constants.find("quantile");
    if (entry == spec.constants.end() || !(entry->second > 0.0 && entry->second < 1.0))
      throw std::invalid_argument("asymmetric_laplace: constants must name `quantile`, between 0 and 1");
    return entry->second;
  }
};

}  // namespace galvi

// Densities that users may put on a hyperparameter.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace galvi {

/// What R says: a type and its numbers; `quantity` tells a variance (the default) from a standard deviation.
struct PriorDensitySpec {
  std::string type;
  std::map<std::string, double> numbers;
  bool is_sd = false;
};

/// log p(theta) of the hyperparameter itself, normalised, and its derivative. theta > 0, but for correlations and places
class PriorDensity {
 public:
  virtual ~PriorDensity() = default;
  virtual double log_density(double theta) const = 0;
  virtual double derivative(double theta) const = 0;
  /// Where a search starts that knows nothing else.
  virtual double centre() const = 0;
};

/// Throws std::invalid_argument for an unknown type or a missing number.
std::unique_ptr<PriorDensity> make_prior_density(const PriorDensitySpec& spec);

/// One row of the registry, which R reads as hyper_prior_facts().
struct PriorDensityFacts {
  std::string type;
  // "positive": any positive number; "variance": a variance or its root; "range": a range or lengthscale;
  // "correlation"; "any"
  std::string of;
};
std::vector<PriorDensityFacts> prior_density_facts();

}  // namespace galvi

// Prior densities of hyperparameters.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace galvi {

/// R's description: a type and its numbers; `quantity` distinguishes a variance (the default) from a standard
/// deviation. `of_root`: the density is that of the square root of the hyperparameter, a variance.
struct PriorDensitySpec {
  std::string type;
  std::map<std::string, double> numbers;
  bool is_sd = false;
  bool of_root = false;
};

/// Normalised log p(theta) and its derivative, for the hyperparameter itself. theta > 0, except correlations
/// and places
class PriorDensity {
 public:
  virtual ~PriorDensity() = default;
  virtual double log_density(double theta) const = 0;
  virtual double derivative(double theta) const = 0;
  /// Starting value of a search if no other is known.
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

#include <functional>
#include <stdexcept>

#include "expectation/batched_quadrature.h"
#include "expectation/bouchard.h"
#include "expectation/closed_form.h"
#include "expectation/composed.h"
#include "expectation/expectation.h"
#include "expectation/jaakkola.h"
#include "expectation/jensen.h"
#include "expectation/mixed.h"
#include "expectation/nested.h"
#include "expectation/piecewise.h"
#include "expectation/product_quadrature.h"
#include "expectation/quadrature.h"
#include "expectation/softmax_log.h"
#include "expectation/super_gaussian.h"
#include "expectation/taylor.h"
#include "likelihood/distributional.h"

namespace galvi {
namespace {

using Maker = std::function<std::unique_ptr<Expectation>(const Likelihood&, const ExpectationControl&)>;

struct Entry {
  std::string name;
  Maker make;
};

template <class T>
std::unique_ptr<Expectation> plain(const Likelihood&, const ExpectationControl&) {
  return std::make_unique<T>();
}

template <class Mean>
std::unique_ptr<Expectation> composed(const Likelihood&, const ExpectationControl&) {
  return std::make_unique<ComposedExpectation>(std::make_unique<Mean>());
}

std::unique_ptr<Expectation> log_bound(const Likelihood& likelihood, const ExpectationControl&) {
  if (likelihood.softmax()) return std::make_unique<SoftmaxLog>();
  return std::make_unique<ComposedExpectation>(std::make_unique<LogBound>());
}

std::unique_ptr<Expectation> bouchard(const Likelihood&, const ExpectationControl&) {
  return std::make_unique<Bouchard>(std::make_unique<SampledMean>(log_sigmoid()));
}

std::unique_ptr<Expectation> bouchard_jaakkola(const Likelihood&, const ExpectationControl&) {
  return std::make_unique<Bouchard>(std::make_unique<Jaakkola>());
}

std::unique_ptr<Expectation> piecewise(const Likelihood&, const ExpectationControl& control) {
  return std::make_unique<ComposedExpectation>(std::make_unique<Piecewise>(control.pieces));
}

std::unique_ptr<Expectation> bouchard_piecewise(const Likelihood&, const ExpectationControl& control) {
  return std::make_unique<Bouchard>(std::make_unique<Piecewise>(control.pieces));
}

std::unique_ptr<Expectation> quadrature(const Likelihood& likelihood, const ExpectationControl&) {
  if (likelihood.custom()) return std::make_unique<BatchedQuadrature>();
  if (likelihood.softmax()) return std::make_unique<SoftmaxExpectation>();
  if (const StandardFunction* f = likelihood.standard_function())
    return std::make_unique<ComposedExpectation>(std::make_unique<SampledMean>(*f));
  if (const Distributional* form = likelihood.distributional()) {
    if (form->custom_several()) return std::make_unique<ProductQuadrature>();
    return std::make_unique<Nested>();
  }
  return std::make_unique<Quadrature>();
}

// The exact ones in the order in which "auto" tries them, then bounds and approximations.
const std::vector<Entry>& registry() {
  static const std::vector<Entry> table = {
      {"closed_form", plain<ClosedForm>},
      {"quadrature", quadrature},
      {"piecewise", piecewise},                  // 000, section 4
      {"log", log_bound},                        // 001, table 2
      {"jaakkola", composed<Jaakkola>},          // 003, section 2.3
      {"bouchard", bouchard},                    // a product of sigmoids (000, reference 4)
      {"bouchard_jaakkola", bouchard_jaakkola},  // its sigmoids bounded in turn
      {"bouchard_piecewise", bouchard_piecewise},
      {"taylor", plain<Taylor>},                 // 003, section 2.3
      {"two_stage", composed<TwoStage>},         // 002, eq. 14
      {"super_gaussian", plain<SuperGaussian>},  // 001, section 3.1: super-Gaussian potentials
  };
  return table;
}

}  // namespace

std::unique_ptr<Expectation> make_expectation(const std::string& name, const Likelihood& likelihood,
                                              const ExpectationControl& control) {
  if (const Mixed* mixed = likelihood.mixed()) {
    std::vector<std::unique_ptr<Expectation>> parts;
    for (const auto& part : mixed->parts()) {
      // priors are exact beside any bound of the data's; an expansion expands them too
      const bool exact = mixed->has_priors() && !parts.empty() && name != "taylor";
      parts.push_back(make_expectation(exact ? "auto" : name, *part, control));
    }
    return std::make_unique<MixedExpectation>(std::move(parts), mixed->has_priors());
  }
  std::string known = "auto";
  for (const Entry& entry : registry()) {
    known += ", " + entry.name;
    if (name != "auto" && name != entry.name) continue;
    auto expectation = entry.make(likelihood, control);
    const std::string reason = expectation->refuses(likelihood);
    if (reason.empty()) return expectation;
    if (name != "auto") throw std::invalid_argument(reason);
  }
  if (name == "auto") throw std::invalid_argument("no exact expectation serves this likelihood");
  throw std::invalid_argument("unknown expectation \"" + name + "\"; known are " + known);
}

std::string expectation_with_conjugate(const Likelihood& likelihood) {
  if (likelihood.mixed()) return "";
  for (const Entry& entry : registry()) {
    const auto expectation = entry.make(likelihood, {});
    if (expectation->refuses(likelihood).empty() && expectation->has_conjugate(likelihood)) return entry.name;
  }
  return "";
}

// The facts of each entry, made for a likelihood that it serves.
std::vector<ExpectationFacts> expectation_facts() {
  std::vector<std::unique_ptr<Likelihood>> likelihoods;
  for (const LikelihoodFacts& facts : likelihood_facts())
    likelihoods.push_back(make_likelihood(facts.example));
  std::vector<ExpectationFacts> out;
  for (const Entry& entry : registry())
    for (const auto& likelihood : likelihoods) {
      const auto expectation = entry.make(*likelihood, {});
      if (!expectation->refuses(*likelihood).empty()) continue;
      out.push_back({entry.name, expectation->exact(), expectation->is_bound()});
      break;
    }
  return out;
}

}  // namespace galvi

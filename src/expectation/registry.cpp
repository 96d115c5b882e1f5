#include <functional>
#include <stdexcept>

#include "expectation/closed_form.h"
#include "expectation/expectation.h"
#include "expectation/quadrature.h"

namespace galvi {
namespace {

struct Entry {
  std::string name;
  std::function<std::unique_ptr<Expectation>(const Likelihood&)> make;
};

// The exact ones in the order in which "auto" tries them, then bounds and approximations.
const std::vector<Entry>& registry() {
  static const std::vector<Entry> table = {
      {"closed_form", [](const Likelihood&) { return std::make_unique<ClosedForm>(); }},
      {"quadrature", [](const Likelihood& likelihood) { return std::make_unique<Quadrature>(likelihood); }},
  };
  return table;
}

}  // namespace

std::unique_ptr<Expectation> make_expectation(const std::string& name, const Likelihood& likelihood) {
  std::string known = "auto";
  for (const Entry& entry : registry()) {
    known += ", " + entry.name;
    if (name != "auto" && name != entry.name) continue;
    auto expectation = entry.make(likelihood);
    const std::string reason = expectation->refuses(likelihood);
    if (reason.empty()) return expectation;
    if (name != "auto") throw std::invalid_argument(reason);
  }
  if (name == "auto") throw std::invalid_argument("no exact expectation serves this likelihood");
  throw std::invalid_argument("unknown expectation \"" + name + "\"; known are " + known);
}

std::vector<std::string> expectation_types() {
  std::vector<std::string> names;
  for (const Entry& entry : registry()) names.push_back(entry.name);
  return names;
}

}  // namespace galvi

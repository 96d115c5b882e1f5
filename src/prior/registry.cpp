// Every prior term, one line each.
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "prior/columns_term.h"
#include "prior/field_term.h"
#include "prior/inducing_term.h"
#include "prior/kernel_term.h"

namespace galvi {

namespace {

template <class T>
std::unique_ptr<Term> make(const TermSpec& spec, const Backend& backend) {
  if constexpr (std::is_constructible_v<T, const TermSpec&, const Backend&>) {
    return std::make_unique<T>(spec, backend);
  } else {
    return std::make_unique<T>(spec);
  }
}

using Maker = std::unique_ptr<Term> (*)(const TermSpec&, const Backend&);

const std::map<std::string, Maker>& registry() {
  static const std::map<std::string, Maker> terms = {
      {"kernel", make<KernelTerm>},
      {"columns", make<ColumnsTerm>},
      {"field", make<FieldTerm>},
      {"inducing", make<InducingTerm>},
  };
  return terms;
}

}  // namespace

std::unique_ptr<Term> make_term(const TermSpec& spec, const Backend& backend) {
  const auto found = registry().find(spec.type);
  if (found == registry().end()) throw std::invalid_argument("unknown prior term \"" + spec.type + "\"");
  return found->second(spec, backend);
}

void Term::check_width(const char* part, Index found, Index wanted) const {
  if (found != wanted)
    throw std::invalid_argument("term " + label() + ": rows have " + std::to_string(found) + " columns of " +
                                part + ", not " + std::to_string(wanted));
}

}  // namespace galvi

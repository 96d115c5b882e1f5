// Every prior term, one line each.
#include <algorithm>
#include <map>
#include <stdexcept>

#include "prior/columns_term.h"
#include "prior/kernel_term.h"

namespace galvi {

namespace {

template <class T>
std::unique_ptr<Term> make(const TermSpec& spec) {
  return std::make_unique<T>(spec);
}

using Maker = std::unique_ptr<Term> (*)(const TermSpec&);

const std::map<std::string, Maker>& registry() {
  static const std::map<std::string, Maker> terms = {
      {"kernel", make<KernelTerm>},
      {"columns", make<ColumnsTerm>},
  };
  return terms;
}

}  // namespace

std::unique_ptr<Term> make_term(const TermSpec& spec) {
  const auto found = registry().find(spec.type);
  if (found == registry().end()) throw std::invalid_argument("unknown prior term \"" + spec.type + "\"");
  return found->second(spec);
}

Vector prior_mean(const Terms& terms, Index rows) {
  Vector mean = Vector::Zero(rows);
  for (const auto& term : terms) term->add_prior_mean(mean);
  return mean;
}

Index rows_of(const TermRows& rows) {
  return std::max({rows.kernel.inputs.rows(), rows.W.rows(), rows.node.rows()});
}

}  // namespace galvi

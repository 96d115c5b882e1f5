// Every prior term, one line each.
#include <map>
#include <stdexcept>

#include "numeric/dense.h"
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
  for (const auto& term : terms)
    if (term->columns() > 0) mean += term->design() * term->coefficient_mean();
  return mean;
}

Vector prior_mean(const Term& term, const TermRows& others) {
  if (term.columns() == 0) return Vector::Zero(others.kernel.inputs.rows());
  return others.W * term.coefficient_mean();
}

void ColumnsTerm::add_product(Context& context, const Matrix& A, MatrixRef K) {
  add_crossproduct(context, 1.0, A.transpose(), 1.0, K);
}

void ColumnsTerm::add_cross(Context& context, const TermRows& others, MatrixRef K) const {
  multiply(context, false, true, 1.0, W_ * variance_.asDiagonal(), others.W, 1.0, K);
}

}  // namespace galvi

// Every prior term, one line each.
#include <stdexcept>
#include <string>
#include <type_traits>

#include "prior/chain_term.h"
#include "prior/columns_term.h"
#include "prior/factors_term.h"
#include "prior/field_term.h"
#include "prior/harmonics_term.h"
#include "prior/inducing_term.h"
#include "prior/kernel_term.h"
#include "prior/knot_term.h"
#include "prior/neighbour_term.h"
#include "prior/penalised_term.h"
#include "prior/shared_inducing_term.h"
#include "prior/shared_term.h"

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

struct Entry {
  TermFacts facts;
  Maker make;
};

const std::vector<Entry>& registry() {
  static const std::vector<Entry> terms = {
      {{"kernel", true, false, false, false, false}, make<KernelTerm>},
      {{"chain", true, true, false, false, false}, make<KernelChain>},
      {{"shared", true, false, false, false, false}, make<SharedTerm>},
      {{"shared_chain", true, true, false, false, false}, make<SharedChain>},
      {{"columns", false, false, false, true, false}, make<ColumnsTerm>},
      {{"penalised", false, false, false, true, false}, make<PenalisedTerm>},
      {{"harmonics", false, false, false, true, false}, make<HarmonicsTerm>},
      {{"field", false, false, true, false, false}, make<FieldTerm>},
      {{"inducing", false, false, false, false, false}, make<InducingTerm>},
      {{"shared_inducing", false, false, false, false, false}, make<SharedInducingTerm>},
      {{"neighbours", false, false, true, false, false}, make<NeighbourTerm>},
      {{"knots", false, false, true, false, false}, make<KnotTerm>},
      {{"factors", false, false, true, false, true}, make<FactorsTerm>},
  };
  return terms;
}

}  // namespace

std::unique_ptr<Term> make_term(const TermSpec& spec, const Backend& backend) {
  for (const Entry& entry : registry())
    if (entry.facts.type == spec.type) return entry.make(spec, backend);
  throw std::invalid_argument("unknown prior term \"" + spec.type + "\"");
}

std::vector<TermFacts> term_facts() {
  std::vector<TermFacts> out;
  for (const Entry& entry : registry()) out.push_back(entry.facts);
  return out;
}

SparseRows Term::field_design(const TermRows& rows) const { return SparseRows(rows.size(), 0); }

LowRank Term::root(Context& context, const TermRows& rows, Index most) const {
  const Index n = rows.size(), q = columns();
  LowRank out;
  if (q > 0 && !field() && !has_extra_variances()) {
    if (q > most) return out;
    out.root.resize(n, q);
    fill(rows, 0, out.root);
    return out;
  }
  Matrix K = Matrix::Zero(n, n);
  add_covariance(context, rows, K);
  fill_upper(K);
  out = low_rank_root(context, K, most);
  out.pivots.clear();
  return out;
}

void Term::check_unscaled(const TermRows& rows) const {
  if ((rows.kernel.by.array() != 0 && rows.kernel.by.array() != 1).any())
    throw std::invalid_argument("term " + label() + ": a process that a number scales is not centred");
}

void Term::check_width(const char* part, Index found, Index wanted) const {
  if (found != wanted)
    throw std::invalid_argument("term " + label() + ": rows have " + std::to_string(found) + " columns of " +
                                part + ", not " + std::to_string(wanted));
}

void Term::check_groups(const TermRows& rows, Index count) const {
  const Eigen::VectorXi& group = rows.kernel.group;
  if (group.size() != rows.kernel.inputs.rows() || (group.array() < 1).any() || (group.array() > count).any())
    throw std::invalid_argument("term " + label() + ": every row needs a group");
}

}  // namespace galvi

// Every solver, one line each.
#include <algorithm>
#include <stdexcept>

#include "solver/dense_kernel.h"
#include "solver/markov.h"
#include "solver/projected.h"
#include "solver/sparse.h"
#include "solver/units.h"

namespace galvi {

namespace {

template <class T>
std::unique_ptr<Solver> make(Context& context, std::shared_ptr<Prior> prior,
                             std::shared_ptr<const DesignRows> design) {
  return std::make_unique<T>(context, std::move(prior), std::move(design));
}

using Maker = std::unique_ptr<Solver> (*)(Context&, std::shared_ptr<Prior>,
                                          std::shared_ptr<const DesignRows>);

/// Whether some terms are infinite-dimensional, whether all of these are Markov and only columns and fields are
/// beside them, whether there are fields, whether a term of units is all there is.
struct Terms {
  bool full = false, chains = false, fields = false, units = false;
};

struct Entry {
  SolverFacts facts;
  Maker make;
  bool (*serves)(const Terms& terms);
};

// The first that can serve is chosen: processes of one input take their states one after the other; with a full
// covariance the sum of all terms is full; units that no row joins are solved one by one; otherwise Markov fields
// keep the system sparse.
const std::vector<Entry>& registry() {
  static const std::vector<Entry> solvers = {
      {{"markov", false, false}, make<MarkovSolver>, [](const Terms& terms) { return terms.chains; }},
      {{"dense_kernel", true, false}, make<DenseKernelSolver>, [](const Terms& terms) { return terms.full; }},
      {{"units", false, false}, make<UnitsSolver>, [](const Terms& terms) { return terms.units; }},
      {{"sparse", false, false}, make<SparseSolver>, [](const Terms& terms) { return terms.fields; }},
      {{"projected", false, true}, make<ProjectedSolver>, [](const Terms&) { return true; }},
  };
  return solvers;
}

}  // namespace

std::unique_ptr<Solver> make_solver(const std::string& kind, Context& context, std::shared_ptr<Prior> prior,
                                    std::shared_ptr<const DesignRows> design) {
  for (const Entry& entry : registry())
    if (entry.facts.name == kind) return entry.make(context, std::move(prior), std::move(design));
  throw std::invalid_argument("unknown solver \"" + kind + "\"");
}

std::string choose_solver(const std::vector<std::string>& term_types) {
  Terms terms;
  bool others = false;
  for (const TermFacts& facts : term_facts()) {
    if (std::find(term_types.begin(), term_types.end(), facts.type) == term_types.end()) continue;
    terms.full = terms.full || facts.full;
    terms.chains = terms.chains || facts.chain;
    others = others || !(facts.chain || facts.columns || (facts.fields && !facts.units));
    terms.fields = terms.fields || facts.fields;
    terms.units = facts.units && term_types.size() == 1;
  }
  terms.chains = terms.chains && !others;
  for (const Entry& entry : registry())
    if (entry.serves(terms)) return entry.facts.name;
  throw std::logic_error("no solver serves these terms");
}

std::vector<SolverFacts> solver_facts() {
  std::vector<SolverFacts> out;
  for (const Entry& entry : registry()) out.push_back(entry.facts);
  return out;
}

}  // namespace galvi

// Every solver, one line each.
#include <algorithm>
#include <stdexcept>

#include "solver/dense_kernel.h"
#include "solver/projected.h"
#include "solver/sparse.h"

namespace galvi {

namespace {

template <class T>
std::unique_ptr<Solver> make(Context& context, std::shared_ptr<Prior> prior,
                             std::shared_ptr<const DesignRows> design) {
  return std::make_unique<T>(context, std::move(prior), std::move(design));
}

using Maker = std::unique_ptr<Solver> (*)(Context&, std::shared_ptr<Prior>,
                                          std::shared_ptr<const DesignRows>);

struct Entry {
  SolverFacts facts;
  Maker make;
  bool (*serves)(bool full, bool fields);  // terms of which some are infinite-dimensional, or have fields
};

// The first that serves is chosen: a full covariance makes the sum of all terms one; else Markov fields keep
// it sparse.
const std::vector<Entry>& registry() {
  static const std::vector<Entry> solvers = {
      {{"dense_kernel", true, false}, make<DenseKernelSolver>, [](bool full, bool) { return full; }},
      {{"sparse", false, false}, make<SparseSolver>, [](bool, bool fields) { return fields; }},
      {{"projected", false, true}, make<ProjectedSolver>, [](bool, bool) { return true; }},
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
  bool full = false, fields = false;
  for (const TermFacts& facts : term_facts()) {
    if (std::find(term_types.begin(), term_types.end(), facts.type) == term_types.end()) continue;
    full = full || facts.full;
    fields = fields || facts.fields;
  }
  for (const Entry& entry : registry())
    if (entry.serves(full, fields)) return entry.facts.name;
  throw std::logic_error("no solver serves these terms");
}

std::vector<SolverFacts> solver_facts() {
  std::vector<SolverFacts> out;
  for (const Entry& entry : registry()) out.push_back(entry.facts);
  return out;
}

}  // namespace galvi

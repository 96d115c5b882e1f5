// Every solver, one line each.
#include <map>
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

const std::map<std::string, Maker>& registry() {
  static const std::map<std::string, Maker> solvers = {
      {"dense_kernel", make<DenseKernelSolver>},
      {"projected", make<ProjectedSolver>},
      {"sparse", make<SparseSolver>},
  };
  return solvers;
}

}  // namespace

std::unique_ptr<Solver> make_solver(const std::string& kind, Context& context, std::shared_ptr<Prior> prior,
                                    std::shared_ptr<const DesignRows> design) {
  const auto found = registry().find(kind);
  if (found == registry().end()) throw std::invalid_argument("unknown solver \"" + kind + "\"");
  return found->second(context, std::move(prior), std::move(design));
}

}  // namespace galvi

// Every solver, one line each.
#include <cmath>
#include <map>
#include <stdexcept>

#include "solver/dense_kernel.h"
#include "solver/projected.h"
#include "solver/sparse.h"

namespace galvi {

namespace {

template <class T>
std::unique_ptr<Solver> make(Context& context, Terms terms, Index rows) {
  return std::make_unique<T>(context, std::move(terms), rows);
}

using Maker = std::unique_ptr<Solver> (*)(Context&, Terms, Index);

const std::map<std::string, Maker>& registry() {
  static const std::map<std::string, Maker> solvers = {
      {"dense_kernel", make<DenseKernelSolver>},
      {"projected", make<ProjectedSolver>},
      {"sparse", make<SparseSolver>},
  };
  return solvers;
}

}  // namespace

std::unique_ptr<Solver> make_solver(const std::string& kind, Context& context, Terms terms, Index rows) {
  const auto found = registry().find(kind);
  if (found == registry().end()) throw std::invalid_argument("unknown solver \"" + kind + "\"");
  return found->second(context, std::move(terms), rows);
}

// KL = [ log|Sigma A| - sum lambda (v - c) + alpha' C alpha ] / 2, since tr(Sigma^-1 A^-1) - L = -tr(Lambda
// V); a flat direction has the density 1 and not (2 pi)^(-1/2).
double Solver::prior_kl(const SiteMean& site_mean) const {
  Vector v = marginal_variances();
  if (extra_variances().size() > 0) v -= extra_variances();
  return 0.5 * (log_det() - lambda_.dot(v) + site_mean.alpha.dot(site_mean.mean) -
                null_dimension() * std::log(2 * M_PI));
}

}  // namespace galvi

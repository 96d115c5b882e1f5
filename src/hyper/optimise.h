// Hyperparameters: the outer loop around an inference algorithm.
#pragma once

#include "hyper/table.h"
#include "inference/algorithm.h"
#include "numeric/lbfgs.h"

namespace galvi {

/// How the bound is maximised in the hyperparameters.
struct HyperMethod {
  std::string name;
  LbfgsResult (*minimise)(const Objective& objective, const Vector& start, const Vector& lower,
                          const Vector& upper, const LbfgsControl& control);
  bool differences;  // needs one gradient per hyperparameter in each step, to more digits
};
const std::vector<HyperMethod>& hyper_methods();
/// Throws std::invalid_argument for an unknown name.
const HyperMethod& find_hyper_method(const std::string& name);

struct HyperControl {
  double tol = 1e-6;  // nats of the objective
  int max_iterations = 200;
  int freeze = 10;     // joint: steps of q before the hyperparameters move (002, section 5)
  bool joint = false;  // optimise q and hyperparameters together
  const HyperMethod* method = &hyper_methods().front();
  /// A guess of the Hessian of minus the objective on the unconstrained scale, where the search starts.
  std::optional<Matrix> hessian;
};

/// A fit from one starting point.
struct Fit {
  InferenceResult inference;
  Vector hyper;          // natural scale, whole table
  double objective = 0;  // bound + log prior of the hyperparameters
  bool hyper_converged = true;
  std::string hyper_message;
};

/// Inference at the table's values; if any is learned and `optimise`, a search on the unconstrained scale
/// with the envelope gradient, each inference starting from the sites (lambda, b) of the last. The table ends
/// at the result, with the model's solvers factorised at its posterior.
Fit fit_hyper(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, bool optimise,
              const std::optional<Start>& start, const InferenceControl& inference,
              const HyperControl& control, Trace& trace);

}  // namespace galvi

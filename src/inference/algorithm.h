// The inference axis: the algorithms that optimise q. All have one signature and end in the same posterior.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "global/global_model.h"
#include "model/trace.h"

namespace galvi {

/// The step rule of stochastic inference (inference/stochastic.h).
enum class StepRule { natural, adadelta, adam, sag, svrg };
/// Throws std::invalid_argument for an unknown name.
StepRule step_rule_from(const std::string& name);
std::vector<std::string> step_rules();

struct StochasticControl {
  StepRule rule = StepRule::natural;
  Index batch_rows = 0;   // 0: chosen from the data
  double passes = 0;      // passes over the rows; 0: until the bound rises no more than its noise
  double step_size = 0;   // of the hyperparameters, and of q with adam and adadelta; 0: chosen from the data
};

struct InferenceControl {
  double tol = 1e-7;  // nats: stop when the bound can rise by no more than this (Stationarity::measure)
  int max_iterations = 500;
  bool certified = true;  // by bounds on what the bound can rise; else estimates will do, while hyperparameters move
  StochasticControl stochastic;
  bool one_start = false;  // for bounds with several optima: others were already tried on part of the rows
  bool cold = false;  // opper_archambeau, cholesky_gradient, dual: without galvi's start and scaling
};

struct Outcome {
  Stationarity stationarity;
  bool converged = false;
  int iterations = 0;
  std::string stop = "where no step raised the bound";  // unless it converged or ran out of iterations
  std::string message;  // a reason to reject the result, though a search may pass through here
  std::string note;     // a message to users about a valid result
};

/// P: the kind of posterior that an algorithm ends in.
template <class P>
struct ResultOf : Outcome {
  P posterior;

  ResultOf() = default;
  template <class Q>
  ResultOf(ResultOf<Q> other)
      : Outcome(static_cast<Outcome&&>(other)), posterior(std::move(other.posterior)) {}
};
using SiteResult = ResultOf<SitePosterior>;
using SumsResult = ResultOf<SumsPosterior>;
using InferenceResult = ResultOf<Posterior>;

// Three kinds of algorithms, by what they need of the rows:
/// all rows at once, in memory;
using RowsAlgorithm = SiteResult (*)(LatentGaussianModel& model, const std::optional<Sites>& start,
                                     const InferenceControl& control, Trace& trace);
/// sums over rows, wherever they are;
using SumsAlgorithm = SumsResult (*)(GlobalModel model, const std::optional<Start>& start,
                                     const InferenceControl& control, Trace& trace);
/// block after block of rows, with two numbers kept for each row.
using BlocksAlgorithm = SumsResult (*)(BlockModel model, const std::optional<Start>& start,
                                       const InferenceControl& control, Trace& trace);

struct Kinds {
  RowsAlgorithm rows = nullptr;
  SumsAlgorithm sums = nullptr;
  BlocksAlgorithm blocks = nullptr;
};

/// Hyperparameters that move beside q with every minibatch (hyper/minibatches.h).
class HyperMover {
 public:
  virtual ~HyperMover() = default;
  /// On the natural scale.
  virtual const Vector& values() const = 0;
  /// How many of them are coordinates of inducing points.
  virtual Index places() const = 0;
  /// Moves along the gradient (natural scale); share: falls from 1 to 0 as steps become small. False where the
  /// gradient is not finite and nothing moved.
  virtual bool step(const Vector& gradient, double share) = 0;
  /// Takes the last step back.
  virtual void undo() = 0;
};

/// How the objective relates to the log evidence, if the expectation leaves it a bound.
enum class Evidence { bound, exact, approximation };

/// Who averages a row's likelihood over the variance that inducing points leave (generalised FITC): nobody,
/// the algorithm itself, or the likelihood (likelihood/averaged.h).
enum class Averaging { none, itself, likelihood };

/// What R asks of an algorithm, instead of its name.
struct AlgorithmFacts {
  Evidence evidence = Evidence::bound;
  Averaging averaging = Averaging::none;
  bool dual_value = false;  // the gap in its trace is that of its own dual value
  int squares = 0;          // N x N matrices per latent value that it stores beside the solver's
};

/// One row of the registry.
struct Algorithm {
  std::string name;
  /// Its implementations; where sums suffice, `blocks` or else `sums` runs.
  Kinds kinds;
  /// Empty if it can serve the model; else one sentence that says why not and names the nearest algorithm
  /// that can.
  std::string (*refuses)(const LatentGaussianModel& model);
  /// A description in one sentence, for galvi_methods().
  std::string description;
  /// objective_gradient() where the objective is not the bound of q.
  Vector (*gradient)(LatentGaussianModel& model, const SitePosterior& posterior, Index hypers) = nullptr;
  /// The expectation that "auto" chooses.
  std::string expectation = "auto";
  AlgorithmFacts facts = {};
  /// Moves the learned hyperparameters beside q, if the algorithm has its own way of doing so, and returns q.
  GlobalPosterior (*learn)(BlockModel& model, HyperMover& hyper, const InferenceControl& control,
                           Trace& trace) = nullptr;

  InferenceResult run(LatentGaussianModel& model, const std::optional<Start>& start,
                      const InferenceControl& control, Trace& trace) const;
  /// d objective / d hyper (natural scale) at the result of run().
  Vector objective_gradient(LatentGaussianModel& model, const Posterior& posterior, Index hypers) const;
};

const std::vector<Algorithm>& algorithms();
/// The expectation that "auto" chooses with this method.
std::string automatic_expectation(const std::string& method);
/// Throws std::invalid_argument for an unknown name.
const Algorithm& find_algorithm(const std::string& name);

}  // namespace galvi

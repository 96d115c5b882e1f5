// The inference axis: who moves the sites. Every algorithm has one signature and ends in the same posterior.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "global/global_model.h"
#include "model/trace.h"

namespace galvi {

/// What moves q from minibatch to minibatch (inference/stochastic.h).
enum class StepRule { natural, adadelta, adam, sag, svrg };
/// Throws std::invalid_argument for an unknown name.
StepRule step_rule_from(const std::string& name);
std::vector<std::string> step_rules();

struct StochasticControl {
  StepRule rule = StepRule::natural;
  Index batch_rows = 0;   // 0: a rule of thumb
  double passes = 0;      // over the rows; 0: until the bound rises no more than by its noise
  double step_size = 0;   // of the hyperparameters, and of q by adam and adadelta; 0: a rule of thumb
};

struct InferenceControl {
  double tol = 1e-7;  // nats: stop when the bound can rise by no more (Stationarity::measure)
  int max_iterations = 500;
  StochasticControl stochastic;
  bool one_start = false;  // of a bound that may have several optima: others were tried on part of the rows
  bool cold = false;  // opper_archambeau, cholesky_gradient and dual: as the papers ran them
};

struct InferenceResult {
  Posterior posterior;
  Stationarity stationarity;
  bool converged = false;
  int iterations = 0;
  std::string stop = "where no step raised the bound";  // where it ended if it neither converged nor ran out
  std::string message;  // what makes the result useless, though a search may pass through here
  std::string note;     // what users should know about a result that is fine
};

// Three kinds of algorithms, by what they need of the rows:
/// all at once, in memory;
using RowsAlgorithm = InferenceResult (*)(LatentGaussianModel& model, const std::optional<Sites>& start,
                                          const InferenceControl& control, Trace& trace);
/// sums over them, wherever they are;
using SumsAlgorithm = InferenceResult (*)(GlobalModel model, const std::optional<Sites>& start,
                                          const InferenceControl& control, Trace& trace);
/// block after block, with two numbers kept for each row.
using BlocksAlgorithm = InferenceResult (*)(BlockModel model, const std::optional<Sites>& start,
                                            const InferenceControl& control, Trace& trace);

struct Kinds {
  RowsAlgorithm rows = nullptr;
  SumsAlgorithm sums = nullptr;
  BlocksAlgorithm blocks = nullptr;
};

class HyperTable;

/// What the objective is to the log evidence, where the expectation leaves it a bound.
enum class Evidence { bound, exact, approximation };

/// Who averages a row's likelihood over what inducing points leave open there (generalised FITC): nobody, the
/// algorithm itself, or the likelihood (expectation/averaged.h).
enum class Averaging { none, itself, likelihood };

/// What R asks of an algorithm, never by its name.
struct AlgorithmFacts {
  Evidence evidence = Evidence::bound;
  Averaging averaging = Averaging::none;
  bool dual_value = false;  // the gap in its trace is that of its own dual value
  int squares = 0;          // N x N matrices per latent value that it holds beside the solver's
};

/// One row of the registry.
struct Algorithm {
  std::string name;
  /// What there is of it; where sums suffice, blocks or else sums run.
  Kinds kinds;
  /// Empty if it can serve the model; else one sentence: why not, and the nearest that can.
  std::string (*refuses)(const LatentGaussianModel& model);
  /// In a sentence, for galvi_methods().
  std::string description;
  /// d objective / d hyper (natural scale) at what run() returned, where that is not
  /// LatentGaussianModel::gradient().
  Vector (*gradient)(LatentGaussianModel& model, const Posterior& posterior, Index hypers) = nullptr;
  /// What expectation = "auto" stands for.
  std::string expectation = "auto";
  AlgorithmFacts facts = {};
  /// Moves the learned hyperparameters, where the algorithm has a way of its own to; the last inference starts
  /// from the sites that it returns.
  Sites (*learn)(BlockModel model, HyperTable& table, const InferenceControl& control, Trace& trace) = nullptr;

  InferenceResult run(LatentGaussianModel& model, const std::optional<Sites>& start,
                      const InferenceControl& control, Trace& trace) const;
};

const std::vector<Algorithm>& algorithms();
/// What expectation = "auto" stands for with this method.
std::string automatic_expectation(const std::string& method);
/// Resolves "auto" to the fastest safe choice. Throws std::invalid_argument for an unknown name,
/// std::domain_error with the reason if the algorithm cannot serve the model.
const Algorithm& choose_algorithm(const std::string& name, const LatentGaussianModel& model);

}  // namespace galvi

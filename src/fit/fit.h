// How a fit goes, from a model and a table of hyperparameters to what is kept of it. The phases, in order:
//
//   choose     which algorithm                                               fit/choose.h
//   pilot      where to start, from part of the rows                         fit/pilot.h
//   scan       where to start: lengthscales that are guesses                 fit/scan.h
//   search     hyperparameters and q, from one start or several              hyper/optimise.h
//   settle     the best of the searches, or where they were stopped          fit/stop.h
//   couple     the best Gaussian that joins the classes                      fit/couple.h
//   mode       hyperparameters with weak priors where they have none         fit/mode.h
//   curvature  the Hessian there                                             fit/curvature.h
//              which of the next three ways to a joint posterior             fit/uncertainty.h
//   points     weighted points of the joint posterior                        fit/weighted_points.h
//   response   the best joint Gaussian and linear response                   fit/coupled_response.h
//   integrate  weighted states at other hyperparameters                      fit/weighted_states.h
//              where these are, by a design                                  fit/integrate.h
//              by the marginal likelihood                                    fit/marginal_points.h
#pragma once

#include <limits>
#include <vector>

#include "fit/choose.h"
#include "fit/gaussian_points.h"
#include "fit/hyper_posterior.h"
#include "fit/state.h"
#include "fit/stop.h"
#include "fit/weighted_points.h"

namespace galvi {

/// Where coefficients and hyperparameters are uncertain together, without being asked to integrate.
enum class Joint {
  nowhere,
  coupled,  // where latent values of a row depend on each other
  states,   // by states, or by points where the likelihood is skew
  ordered,  // anywhere, but with many thresholds of ordered classes not by states, as most lie where distances vanish
  anywhere
};

/// What is asked of a fit.
struct Plan {
  const Algorithm* algorithm = nullptr;  // from choose() or choose_to_learn()
  Method method;                         // what it was chosen by
  bool learn = false;                    // move the hyperparameters that are to be learned
  int starts = 1;                        // searches for hyperparameters
  InferenceControl inference;
  HyperControl hyper;
  std::optional<Start> start;            // where inference starts
  std::vector<LatentGaussianModel*> pilots;  // parts of the rows, each larger than the one before
  std::vector<Index> curvature;          // positions in the table where the Hessian is wanted
  std::string integrate;                 // the design of points to integrate over; empty for none
  Joint joint = Joint::nowhere;
  HyperTable* proper = nullptr;          // the table with weak priors where it has none, for the posterior
  std::function<std::unique_ptr<Likelihood>()> another_likelihood;  // for threads; null where R is called
  bool keep_factor = false;              // of dense solvers, for quicker predictions
  std::optional<CheckedRows> checked;
};

/// Searches for hyperparameters from several starts, a row each.
struct Starts {
  Matrix hyper;                 // S x hyperparameters; NaN where the time was too short
  Vector objective;             // S
  std::vector<bool> converged;  // S

  void add(Index hypers);
  void keep(int s, const Fit& found);
};

/// One of a mixture.
struct WeightedState {
  double weight;
  Fit fit;
  State state;
  double above = 0;  // the log evidence less the bound, as far as it is known (fit/evidence.h)
};

/// What standard deviations and intervals are, beside those of the factorised q.
struct Uncertainty {
  enum Method { factorised, points, states, response } method = factorised;
  std::optional<WeightedPoints> points_found;  // also where they are not believed
  std::optional<GaussianPoints> response_found;
  double radius = std::numeric_limits<double>::quiet_NaN();  // of linear response
  std::string refused;  // why standard deviations are not to be trusted; empty where they are
  bool unfinished = false;  // the time was over before it was found
};

struct FitResult {
  Fit fit;
  State state;
  std::vector<WeightedState> states;  // of an integration, the mode first
  Stop stop;
  std::string message;  // for users; empty if there is nothing to say
  Starts starts;
  std::vector<bool> at_bound;  // of the table
  std::optional<HyperPosterior> hyper_posterior;
  Uncertainty uncertainty;
  std::optional<double> prediction_error;  // of the checked rows
  double jitter = 0;                       // the largest that a solver needed
  Cost cost;                               // of the searches
  bool converged = false;
};

/// The model ends at other hyperparameters, the table at the best ones. `trace` has the way, and where it
/// stands if an exception ends it. Throws std::domain_error where there is no posterior.
FitResult fit(LatentGaussianModel& model, HyperTable& table, Plan plan, Trace& trace);

}  // namespace galvi

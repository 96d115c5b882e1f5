#include "fit/stop.h"

#include <cmath>
#include <cstdio>

#include "global/global_model.h"

namespace galvi {

namespace {

std::string digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", x);
  return text;
}

}  // namespace

Stop until_stopped(LatentGaussianModel& model, const std::function<void()>& phases) {
  try {
    const TimeLimit limit(model.context().monitor);
    phases();
  } catch (const SourceFailure& failure) {
    if (!model.source()->reached) throw;
    return {Stop::rows, failure.what()};
  } catch (const OutOfTime&) {
    return {Stop::time, ""};
  }
  return {};
}

Fit fit_of_rows_so_far(LatentGaussianModel& model, HyperTable& table) {
  const RowSource::Reached& reached = *model.source()->reached;
  table.set_values(reached.hyper);
  model.update(reached.hyper);
  GlobalModel sums(model);
  Fit out;
  out.inference.posterior = sums.as_posterior(*reached.point);
  out.inference.stationarity = sums.step_from(*reached.point).stationarity;
  out.hyper = table.values();
  out.objective = reached.point->elbo + table.log_prior();
  return out;
}

Fit fit_of_best_so_far(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                       const std::optional<Start>& start, InferenceControl control, Trace& trace) {
  const std::optional<BestSoFar> best = trace.best_so_far();
  if (best) table.set_values(best->hyper);
  model.update(table.values());
  control.max_iterations = 1;
  control.one_start = true;
  Fit out;
  out.inference = algorithm.run(model, best ? std::optional(best->start) : start, control, trace);
  out.hyper = table.values();
  out.objective = out.inference.posterior->elbo + table.log_prior();
  return out;
}

std::string message_of(const Fit& fit, const InferenceControl& control, const Stop& stop) {
  if (stop.reason == Stop::time)
    return std::string("it stopped after `max_seconds`") +
           (stop.settled ? ", before the hyperparameters were integrated over" : "");
  if (stop.reason == Stop::rows) return "the rows could not be read to the end";
  std::string out;
  if (!fit.inference.converged) {
    const double reached = fit.inference.stationarity.measure();
    out = "inference stopped " +
          (fit.inference.iterations >= control.max_iterations ? "at max_iterations" : fit.inference.stop) +
          (std::isnan(fit.inference.stationarity.certificate)
               ? " with a stationarity measure of " + digits(reached)
               : ", up to " + digits(reached) + " below the maximum of the bound") +
          "; raise max_iterations or tol, or try another method";
  }
  if (!fit.inference.note.empty()) out += (out.empty() ? "" : "; ") + fit.inference.note;
  if (!fit.hyper_message.empty()) out += (out.empty() ? "" : "; ") + fit.hyper_message;
  return out;
}

}  // namespace galvi

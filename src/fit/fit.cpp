#include "fit/fit.h"

#include <algorithm>
#include <limits>

#include "fit/pilot.h"
#include "fit/scan.h"
#include "global/row_source.h"

namespace galvi {

namespace {

/// Moves the table and the plan's start to where the search begins, by part of the rows.
void pilot(LatentGaussianModel& model, HyperTable& table, Plan& plan) {
  if (plan.learn && !plan.algorithm->learn) {
    Trace aside(model.context());
    scan_lengthscales(*plan.pilot, choose_algorithm(plan.method, *plan.pilot), table, std::nullopt, plan.inference,
                      aside);
    if (table.is_place().any()) learn_from_part(*plan.pilot, plan.method, plan.inference, table);
    model.update(table.values());
  }
  if (!plan.start) plan.start = start_from_part(model, *plan.pilot, *plan.algorithm, plan.inference);
  plan.inference.one_start = plan.inference.one_start || plan.start.has_value();
}

/// The same by all rows.
void scan(LatentGaussianModel& model, HyperTable& table, Plan& plan, Trace& trace) {
  if (plan.learn && !plan.algorithm->learn)
    plan.start = scan_lengthscales(model, *plan.algorithm, table, plan.start, plan.inference, trace);
}

/// Another start: one unit of standard deviation on the log scale, from R's generator.
void move_start(Context& context, const Vector& first, HyperTable& table) {
  Vector x = first;
  for (Index i = 0; i < x.size(); ++i) x[i] += table.transform(i).unit * context.monitor.normal();
  table.set_unconstrained(x.cwiseMax(table.lower()).cwiseMin(table.upper()));
}

/// Searches from all starts; `best` is the fit of the best so far and `which` its number.
void search(LatentGaussianModel& model, HyperTable& table, const Plan& plan, Starts& starts, Fit& best, int& which,
            Trace& trace) {
  const Vector first = table.unconstrained();
  for (int s = 0; s < plan.starts; ++s) {
    if (s > 0) move_start(model.context(), first, table);
    trace.search(s + 1);
    Fit found = fit_hyper(model, *plan.algorithm, table, plan.learn, s == 0 ? plan.start : std::nullopt,
                          plan.inference, plan.hyper, trace);
    starts.hyper.row(s) = found.hyper.transpose();
    starts.objective[s] = found.objective;
    starts.converged[s] = found.inference.converged && found.hyper_converged;
    if (s > 0 && !(found.objective > best.objective)) continue;
    best = std::move(found);
    which = s;
  }
}

/// Model and table return to the best of the searches, or to where these were stopped.
void settle(LatentGaussianModel& model, HyperTable& table, const Plan& plan, const Stop& stop, int which, Fit& best,
            Trace& trace) {
  if (stop.reason == Stop::rows) {
    best = fit_of_rows_so_far(model, table);
  } else if (stop.reason == Stop::time) {
    best = fit_of_standing(model, *plan.algorithm, table, plan.start, plan.inference, trace);
  } else if (which != plan.starts - 1) {  // they stand at the last start
    table.set_values(best.hyper);
    model.update(best.hyper);
    trace.search(which + 1);
    best.inference = plan.algorithm->run(model, best.inference.posterior.sites, plan.inference, trace);
  }
  if (!best.inference.message.empty()) throw std::domain_error(best.inference.message);
}

/// Empty where the time is over first.
std::optional<Curvature> curvature(LatentGaussianModel& model, HyperTable& table, const Plan& plan, const Sites& mode) {
  try {
    const TimeLimit limit(model.context().monitor);
    return curvature_at(model, *plan.algorithm, table, plan.curvature, mode, plan.inference);
  } catch (const OutOfTime&) {
    return std::nullopt;
  }
}

}  // namespace

FitResult fit(LatentGaussianModel& model, HyperTable& table, Plan plan, Trace& trace) {
  Context& context = model.context();
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  FitResult out;
  out.starts = {Matrix::Constant(plan.starts, table.size(), none), Vector::Constant(plan.starts, none),
                std::vector<bool>(plan.starts, false)};
  int which = 0;
  try {
    const TimeLimit limit(context.monitor);
    if (plan.pilot)
      pilot(model, table, plan);
    else
      scan(model, table, plan, trace);
    search(model, table, plan, out.starts, out.fit, which, trace);
  } catch (const SourceFailure& failure) {
    if (!model.source()->reached) throw;
    out.stop = {Stop::rows, failure.what()};
  } catch (const OutOfTime&) {
    out.stop = {Stop::time, ""};
  }
  // From here on the result is made from what was found, however late it is.
  settle(model, table, plan, out.stop, which, out.fit, trace);
  const Posterior& q = out.fit.inference.posterior;
  out.state = state_of(model, q, plan.keep_factor);
  if (plan.checked) out.prediction_error = prediction_error(model, q, out.state.states, *plan.checked);
  for (Index k = 0; k < model.latents(); ++k) out.jitter = std::max(out.jitter, model.solver(k).jitter());
  out.cost = context.cost;
  out.at_bound = table.at_bound();
  out.message = message_of(out.fit, plan.inference, out.stop);
  if (plan.learn && out.stop.reason == Stop::none) out.curvature = curvature(model, table, plan, q.sites);
  return out;
}

}  // namespace galvi

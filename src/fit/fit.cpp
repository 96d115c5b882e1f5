#include "fit/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fit/pilot.h"
#include "fit/scan.h"
#include "fit/uncertainty.h"

namespace galvi {

namespace {

/// Moves the table and the plan's start to where the search begins, by parts of the rows.
void pilot(LatentGaussianModel& model, HyperTable& table, Plan& plan) {
  LatentGaussianModel& smallest = *plan.pilots.front();
  if (plan.learn && !plan.algorithm->learn) {
    Trace aside(model.context());
    scan_lengthscales(smallest, choose(plan.method, smallest), table, std::nullopt, plan.inference, aside);
    if (table.is_place().any() || !model.sums_suffice())
      for (LatentGaussianModel* part : plan.pilots) {
        plan.hyper.hessian = learn_from_part(*part, plan.method, plan.inference, table);
        // what is known of hyperparameters grows with the rows
        if (plan.hyper.hessian)
          *plan.hyper.hessian *=
              static_cast<double>(model.observations()) / static_cast<double>(part->observations());
      }
    model.update(table.values());
  }
  if (!plan.start) plan.start = start_from_part(model, smallest, *plan.algorithm, plan.inference);
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

/// Searches from all starts, and from some more where the best of them has missed fast changes; `best` is the fit of the
/// best so far, `which` its number and `last` that of the last search.
void search(LatentGaussianModel& model, HyperTable& table, const Plan& plan, Starts& starts, Fit& best,
            int& which, int& last, Trace& trace) {
  const Vector first = table.unconstrained();
  for (int s = 0; s < plan.starts; ++s) {
    if (s > 0) move_start(model.context(), first, table);
    last = s;
    trace.search(s + 1);
    HyperControl hyper = plan.hyper;
    if (s > 0) hyper.hessian.reset();
    Fit found = fit_hyper(model, *plan.algorithm, table, plan.learn, s == 0 ? plan.start : std::nullopt,
                          plan.inference, hyper, trace);
    starts.keep(s, found);
    if (s > 0 && !(found.objective > best.objective)) continue;
    best = std::move(found);
    which = s;
  }
  if (!plan.learn || plan.algorithm->learn || !plan.pilots.empty() || !model.has_all_rows()) return;
  const auto search_from = [&](const std::vector<Vector>& more) {
    for (const Vector& x : more) {
      starts.add(table.size());
      table.set_unconstrained(x);
      trace.search(++last + 1);
      HyperControl hyper = plan.hyper;
      hyper.hessian.reset();
      try {
        Fit found =
            fit_hyper(model, *plan.algorithm, table, true, std::nullopt, plan.inference, hyper, trace);
        starts.keep(last, found);
        if (!(found.objective > best.objective)) continue;
        best = std::move(found);
        which = last;
      } catch (const std::domain_error&) {  // no posterior there
      }
    }
  };
  if (plan.starts == 1) search_from(starts_of_few_rows(model, table, first));
  table.set_values(best.hyper);
  search_from(starts_of_faster_process(model, table, best.inference.posterior, first));
}

/// Model and table return to the best of the searches, or to where these were stopped.
void settle(LatentGaussianModel& model, HyperTable& table, const Plan& plan, const Stop& stop, int which,
            int last, Fit& best, Trace& trace) {
  if (stop.reason == Stop::rows) {
    best = fit_of_rows_so_far(model, table);
  } else if (stop.reason == Stop::time) {
    best = fit_of_best_so_far(model, *plan.algorithm, table, plan.start, plan.inference, trace);
  } else if (which != last) {  // they stand where the last search ended
    table.set_values(best.hyper);
    model.update(best.hyper);
    trace.search(which + 1);
    best.inference = plan.algorithm->run(model, best.inference.posterior.start(), plan.inference, trace);
  }
  if (!best.inference.message.empty()) throw std::domain_error(best.inference.message);
}

}  // namespace

void Starts::add(Index hypers) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const Index count = objective.size();
  hyper.conservativeResize(count + 1, hypers);
  hyper.row(count).setConstant(none);
  objective.conservativeResize(count + 1);
  objective[count] = none;
  converged.push_back(false);
}

void Starts::keep(int s, const Fit& found) {
  hyper.row(s) = found.hyper.transpose();
  objective[s] = found.objective;
  converged[s] = has_converged(found);
}

FitResult fit(LatentGaussianModel& model, HyperTable& table, Plan plan, Trace& trace) {
  FitResult out;
  for (int s = 0; s < plan.starts; ++s) out.starts.add(table.size());
  int which = 0, last = 0;
  out.stop = until_stopped(model, [&] {
    if (!plan.pilots.empty())
      pilot(model, table, plan);
    else
      scan(model, table, plan, trace);
    search(model, table, plan, out.starts, out.fit, which, last, trace);
  });
  // The result is made from what was found, however late it is.
  settle(model, table, plan, out.stop, which, last, out.fit, trace);
  const Posterior& q = out.fit.inference.posterior;
  out.state = state_of(model, q, plan.keep_factor);
  if (plan.checked) out.prediction_error = prediction_error(model, q, out.state.states, *plan.checked);
  for (Index k = 0; k < model.latents(); ++k) out.jitter = std::max(out.jitter, model.solver(k).jitter());
  out.cost = model.context().cost;
  out.at_bound = table.at_bound();
  out.converged = has_converged(out.fit);
  if ((plan.learn || plan.joint != Joint::nowhere) && !out.stop) {
    trace.settle({out.fit.hyper, q.start(), q->elbo});
    const Stop late = until_stopped(model, [&] { find_uncertainty(model, table, plan, out); });
    // what was not finished is not kept
    if (late) {
      out.states.clear();
      out.uncertainty = {};
      out.uncertainty.unfinished = true;
    }
    // a fit is complete as q at the estimates, not so without the integration that it was asked for
    if (late.reason != Stop::time || !plan.integrate.empty()) out.stop = {late.reason, late.failure, true};
  }
  out.converged = out.converged && !out.stop;
  out.message = message_of(out.fit, plan.inference, out.stop);
  return out;
}

}  // namespace galvi

#include "numeric/lbfgs.h"

#include <optimization/LBFGS.h>
#include <optimization/LBFGSB.h>
#include <cmath>
#include <exception>
#include <limits>
#include <stdexcept>

namespace galvi {

namespace {

struct Stalled {};

/// What LBFGS++ calls: keeps the best point, and carries our exceptions past its own.
class Recorder {
 public:
  Recorder(const Objective& objective, const Vector& start, int patience)
      : patience_(patience), objective_(objective) {
    result.x = start;
    result.value = std::numeric_limits<double>::infinity();
    result.evaluations = 0;
    result.converged = false;
  }

  double operator()(const Vector& x, Vector& gradient) {
    ++result.evaluations;
    double value;
    try {
      gradient.resize(x.size());
      value = objective_(x, gradient);
    } catch (const Enough&) {
      result.x = x;
      result.converged = true;
      throw;
    } catch (...) {
      failure = std::current_exception();
      throw;
    }
    const double worth = 1e-10 * (1 + std::abs(result.value));
    idle_ = !std::isfinite(result.value) || value < result.value - worth ? 0 : idle_ + 1;
    if (std::isfinite(value) && value < result.value) {
      result.value = value;
      result.x = x;
    }
    // At rounding level line searches do not end: the best point is accepted.
    if (idle_ > patience_) throw Stalled{};
    return value;
  }

  LbfgsResult result;
  std::exception_ptr failure;

 private:
  int patience_;
  int idle_ = 0;
  const Objective& objective_;
};

template <class Param>
Param parameters(const LbfgsControl& control) {
  Param p;
  p.m = control.memory;
  p.epsilon = control.gradient_tolerance;
  p.epsilon_rel = 0;
  p.past = control.value_tolerance > 0 ? 3 : 0;
  p.delta = control.value_tolerance;
  p.max_iterations = control.max_iterations;
  p.max_linesearch = 30;
  p.max_step = control.max_step;
  return p;
}

}  // namespace

LbfgsResult minimise(const Objective& objective, const Vector& start, const Vector& lower,
                     const Vector& upper, const LbfgsControl& control) {
  Recorder recorder(objective, start, control.patience);
  Vector x = start;
  double value;
  int iterations = 0;
  try {
    if (lower.size() > 0) {
      const auto param = parameters<LBFGSpp::LBFGSBParam<double>>(control);
      LBFGSpp::LBFGSBSolver<double> solver(param);
      iterations = solver.minimize(recorder, x, value, lower, upper);
    } else {
      const auto param = parameters<LBFGSpp::LBFGSParam<double>>(control);
      LBFGSpp::LBFGSSolver<double, LBFGSpp::LineSearchBracketing> solver(param);
      iterations = solver.minimize(recorder, x, value);
    }
    recorder.result.converged = iterations < control.max_iterations;
  } catch (const Enough&) {
  } catch (const Stalled&) {
  } catch (const std::runtime_error&) {
    // a line search that found nothing lower: the best point stays, and the caller judges it by its gradient
    if (recorder.failure) std::rethrow_exception(recorder.failure);
  } catch (const std::logic_error&) {
    if (recorder.failure) std::rethrow_exception(recorder.failure);
  }
  return recorder.result;
}

}  // namespace galvi

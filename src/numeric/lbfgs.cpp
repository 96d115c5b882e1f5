#include "numeric/lbfgs.h"

#include <optimization/LBFGS.h>
#include <optimization/LBFGSB.h>
#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <new>
#include <stdexcept>

namespace galvi {

namespace {

struct Ended {};
/// A step is longer than the longest, or the best point is at the end of the box that such a step has left.
struct FarAway {};

/// What LBFGS++ calls: keeps the best point, and carries our exceptions past its own.
class Recorder {
 public:
  Recorder(const Objective& objective, const Vector& start, const Vector& lower, const Vector& upper,
           const LbfgsControl& control)
      : objective_(objective), lower_(lower), upper_(upper), control_(control) {
    result.x = start;
  }

  /// Bounds of a search from the best point, no farther than the longest steps if it is `near`.
  void surround(bool near) {
    near_lower = near ? Vector(lower_.cwiseMax(result.x - control_.longest)) : lower_;
    near_upper = near ? Vector(upper_.cwiseMin(result.x + control_.longest)) : upper_;
  }
  Vector near_lower, near_upper;
  /// Is x at one of these that is not a bound itself?
  bool is_far(const Vector& x) const {
    for (Index i = 0; i < control_.longest.size(); ++i)
      if ((near_lower[i] > lower_[i] && x[i] <= near_lower[i] + rounding) ||
          (near_upper[i] < upper_[i] && x[i] >= near_upper[i] - rounding))
        return true;
    return false;
  }

  double operator()(const Vector& x, Vector& gradient) {
    if (std::isfinite(result.value) && control_.longest.size() > 0 &&
        ((x - result.x).cwiseAbs().array() > control_.longest.array() + rounding).any())
      throw FarAway{};
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
    const bool as_good = value <= result.value + worth(result.value);
    idle_ = !std::isfinite(result.value) || value < result.value - worth(result.value) ? 0 : idle_ + 1;
    // At rounding level line searches do not end, as they compare values. Gradients have more digits there, and decide
    // between points of about the same value; if none is flat, the best point is accepted.
    result.converged = std::isfinite(value) && as_good && steepest(x, gradient) <= control_.gradient_tolerance;
    const bool best = std::isfinite(value) && (value < result.value || result.converged);
    if (best) {
      result.value = value;
      result.x = x;
      steepest_ = steepest(x, gradient);
    }
    constexpr int few = 2;
    const double least = gradient_of_rounding(result.value, control_.curvature);
    result.converged = result.converged || (idle_ > few && steepest_ <= least);
    if (result.converged || idle_ > control_.patience) throw Ended{};
    if (best && is_far(x)) throw FarAway{};
    return value;
  }

  /// Less than this is rounding, beside a value.
  static double worth(double value) { return std::isfinite(value) ? 1e-10 * (1 + std::abs(value)) : 0; }

  LbfgsResult result;
  std::exception_ptr failure;

 private:
  static constexpr double rounding = 1e-9;
  /// The largest entry of the projected gradient.
  double steepest(const Vector& x, const Vector& gradient) const {
    if (lower_.size() == 0) return gradient.lpNorm<Eigen::Infinity>();
    return ((x - gradient).cwiseMax(lower_).cwiseMin(upper_) - x).lpNorm<Eigen::Infinity>();
  }

  int idle_ = 0;
  double steepest_ = 0;  // at the best point
  const Objective& objective_;
  const Vector& lower_;
  const Vector& upper_;
  const LbfgsControl& control_;
};

template <class Param>
Param parameters(const LbfgsControl& control, int max_iterations) {
  Param p;
  p.m = control.memory;
  p.epsilon = control.gradient_tolerance;
  p.epsilon_rel = 0;
  p.past = control.value_tolerance > 0 ? 3 : 0;
  p.delta = control.value_tolerance;
  p.max_iterations = max_iterations;
  p.max_linesearch = 30;
  p.max_step = control.max_step;
  return p;
}

}  // namespace

double gradient_of_rounding(double value, double curvature) {
  const double rounding = 10 * std::numeric_limits<double>::epsilon() * std::abs(value);
  return std::sqrt(8 * rounding * curvature);
}

LbfgsResult minimise(const Objective& objective, const Vector& start, const Vector& lower,
                     const Vector& upper, const LbfgsControl& control) {
  Recorder recorder(objective, start, lower, upper, control);
  int left = control.max_iterations;
  bool near = false;
  for (bool again = true; again && left > 0;) {
    again = false;
    const double before = recorder.result.value;
    const int evaluations = recorder.result.evaluations;
    Vector x = recorder.result.x;
    double value;
    try {
      int iterations;
      if (lower.size() > 0) {
        const auto param = parameters<LBFGSpp::LBFGSBParam<double>>(control, left);
        LBFGSpp::LBFGSBSolver<double> solver(param);
        // A long step, by a curvature that changes on the way, may end where the value is flat, as near a variance of zero.
        recorder.surround(near);
        iterations = solver.minimize(recorder, x, value, recorder.near_lower, recorder.near_upper);
      } else {
        const auto param = parameters<LBFGSpp::LBFGSParam<double>>(control, left);
        LBFGSpp::LBFGSSolver<double, LBFGSpp::LineSearchBracketing> solver(param);
        iterations = solver.minimize(recorder, x, value);
      }
      recorder.result.converged = iterations < left && !recorder.is_far(x);
      left -= iterations;
    } catch (const Enough&) {
    } catch (const Ended&) {
    } catch (const FarAway&) {
      again = near = true;
      left -= std::max(1, recorder.result.evaluations - evaluations);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {
      // A line search that found nothing lower. The memory may be to blame: once more from the best point
      // without it, for as long as that finds a lower one. Then the best point stays, and the caller judges
      // it by its gradient.
      if (recorder.failure) std::rethrow_exception(recorder.failure);
      again = recorder.result.value < before - recorder.worth(before);
      left -= recorder.result.evaluations - evaluations;
    }
  }
  recorder.result.ended_early = !recorder.result.converged && left <= 0;
  return recorder.result;
}

}  // namespace galvi

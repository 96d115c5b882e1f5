// How much of a datum's log density is missing to the largest that any value of its first predictor gives.
#include <algorithm>
#include <cmath>
#include <vector>

#include "predictive/predictive.h"

namespace galvi {
namespace {

// The logarithm of no density of numbers is this large.
constexpr double unbounded = 1e4;

/// log p as a function of eta_1; NaN, as where exp(eta) overflows twice, counts as impossible.
class AlongFirst {
 public:
  AlongFirst(const Likelihood& likelihood, const Datum& datum, const double* eta)
      : likelihood_(likelihood), datum_(datum), eta_(eta, eta + likelihood.latents()) {}
  double operator()(double first) {
    eta_[0] = first;
    const double value = likelihood_.log_density(datum_, eta_.data());
    return std::isnan(value) ? -infinity : value;
  }

 private:
  const Likelihood& likelihood_;
  Datum datum_;
  std::vector<double> eta_;
};

/// The largest value of a function with one local maximum: steps that double from `start` until it falls, then
/// golden sections. A function that only rises ends at its limit, infinite if there is none.
template <class Function>
double largest(Function& f, double start) {
  constexpr double golden = 0.38196601125010515;
  constexpr int sections = 120;  // from the widest bracket to neighbouring doubles
  constexpr double rounding = 1e-16;
  double best = f(start), low = start, high = start;
  for (const double side : {-1.0, 1.0}) {
    double step = side, at = start, value = best;
    for (double next; std::isfinite(at + step); step *= 2.0) {
      next = f(at + step);
      (side < 0.0 ? low : high) = at + step;
      if (!(next > value)) break;
      if (next > unbounded) return infinity;
      (side < 0.0 ? high : low) = at;
      at += step;
      value = next;
    }
    best = std::max(best, value);
    if (at != start) break;  // it rises to this side
  }
  double a = low + golden * (high - low), b = high - golden * (high - low), f_a = f(a), f_b = f(b);
  for (int i = 0; i < sections && low < a && b < high; ++i) {
    best = std::max({best, f_a, f_b});
    if (best - std::min(f_a, f_b) <= rounding * (1.0 + std::fabs(best))) break;
    if (f_a >= f_b) {
      high = b;
      b = a;
      f_b = f_a;
      f_a = f(a = low + golden * (high - low));
    } else {
      low = a;
      a = b;
      f_a = f_b;
      f_b = f(b = high - golden * (high - low));
    }
  }
  return best;
}

}  // namespace

double unit_deviance(const Likelihood& likelihood, const Datum& datum, const double* eta) {
  AlongFirst log_density(likelihood, datum, eta);
  const double own = log_density(eta[0]);
  const auto mode = likelihood.mode(datum);
  const double most = mode ? log_density(*mode) : largest(log_density, eta[0]);
  return 2.0 * std::max(0.0, most - own);
}

}  // namespace galvi

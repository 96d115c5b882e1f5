// Integrals of exp(h) over the real line, whatever the scale of h and wherever its peak.
#pragma once

#include <limits>
#include <vector>

#include "numeric/types.h"

namespace galvi {

/// The function h, whose values may be -infinity but not NaN.
class LogIntegrand {
 public:
  virtual ~LogIntegrand() = default;
  virtual double value(double x) const = 0;
  /// Values at several x.
  virtual void values(const double* x, int count, double* out) const {
    for (int i = 0; i < count; ++i) out[i] = value(x[i]);
  }
  /// h'(x) and -h''(x).
  virtual double slope(double x, double& curvature) const = 0;
  /// The absolute rounding error of values near x.
  virtual double rounding(double /*x*/) const { return 0.0; }
};

struct Peak {
  double at, height;
  double scale;  // sd by the curvature there, at most the stride of the search
};

/// The maximum of a concave h. `stride`: initial step of the search, which doubles to make a bracket.
Peak concave_peak(const LogIntegrand& h, double start, double stride);
/// The local maximum uphill from `start`, by Newton's method, with the curvature of a Gaussian with sd
/// `stride` where h is convex.
Peak local_peak(const LogIntegrand& h, double start, double stride);

/// Nodes and weights for the density proportional to exp(h), accurate to 1e-10 relative in mass, mean and
/// variance: panels with 21 Kronrod nodes from the peaks outwards to where exp(h) is negligible, each halved
/// until the 10 Gauss nodes among them agree. The scale of h is found by search and determines the panels, so
/// that `most_nodes` suffice, and are never exceeded, however narrow h is relative to its range.
class LogIntegral {
 public:
  static constexpr std::size_t most_nodes = 1u << 14;

  /// `kink`: where h is not smooth, NaN if nowhere.
  void concave(const LogIntegrand& h, double start, double stride,
               double kink = std::numeric_limits<double>::quiet_NaN());
  /// The same from the peak on, where concave_peak() has found it.
  void concave(const LogIntegrand& h, const Peak& peak, double kink = std::numeric_limits<double>::quiet_NaN());
  /// Two local maxima, which may be the same.
  void two_peaks(const LogIntegrand& h, double one, double other, double stride);
  /// The first panels lie between `breaks`, in any order; the outermost two are the limits of the integral.
  void over(const LogIntegrand& h, std::vector<double> breaks);
  /// By nine Gauss-Hermite nodes, where exp(h) is known to be nearly a Gaussian about its peak.
  void nearly_gaussian(const LogIntegrand& h, const Peak& peak);

  double log_mass() const { return log_mass_; }  // log int exp(h); -infinity where h is everywhere
  double mean() const { return mean_; }          // NaN where there is no mass
  double variance() const { return variance_; }
  const std::vector<double>& nodes() const { return nodes_; }
  const std::vector<double>& weights() const { return weights_; }  // they add up to 1

 private:
  void add_breaks(const LogIntegrand& h, const Peak& peak, double top);
  void integrate(const LogIntegrand& h, const Peak& peak);
  void no_mass();
  /// A Gaussian peak, so narrow that nothing else changes along it.
  void narrow(const Peak& peak);

  double log_mass_, mean_, variance_;
  std::vector<double> nodes_, weights_;
  std::vector<double> breaks_;  // ends of the first panels, as distances from the highest peak
};

}  // namespace galvi

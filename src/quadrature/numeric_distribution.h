// A distribution given by its log density alone, a function of many values at once.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "numeric/types.h"

namespace galvi {

using VectorFunction = std::function<Vector(const Vector&)>;

/// A maximum of a function on the real line, searched on a grid of all scales around `centre` and then
/// refined; `distance`: at this distance from it the function is still near its height.
struct GridPeak {
  double at, height, distance;
};
GridPeak find_peak(const VectorFunction& function, double centre);
/// The same, and at the point `also`; empty where the function is -infinity on the whole grid.
std::optional<GridPeak> find_peak_if_any(const VectorFunction& function, double centre,
                                         std::optional<double> also = {});

/// For integers: their probabilities, outwards from the mode to where they are negligible. For real numbers:
/// Chebyshev series of the density on panels of a coordinate that is y itself, log(y - low), -log(high - y)
/// or the logit between low and high; panels are halved until their last coefficients are negligible. Both
/// are scaled to total mass one. Throws std::domain_error if no mass is found.
class NumericDistribution {
 public:
  /// `centre`: where the search starts if the support is the whole line.
  NumericDistribution(const VectorFunction& log_density, double low, double high, bool discrete, double centre);

  double mass() const { return mass_; }  // before scaling
  double mean() const { return mean_; }
  double variance() const { return variance_; }
  struct Pair {
    double lower, upper;
  };
  /// P(Y <= y) and P(Y > y).
  Pair tails(double y) const;
  /// The smallest y with P(Y <= y) >= probability, which lies between 0 and 1.
  double quantile(double probability) const;

 private:
  static constexpr int degree = 16;
  /// One number (discrete) or a stretch of the coordinate.
  struct Piece {
    double begin, length;
    double mass;
    double series[degree + 1];  // of the density in units of the panel
  };
  void take_whole_numbers(const VectorFunction& log_density, double centre);
  void take_panels(const VectorFunction& log_density, double centre);
  void add_up(const std::vector<double>& first, const std::vector<double>& second, double centre);
  double coordinate(double y) const;
  double response(double t) const;
  double log_slope(double t) const;  // of response()
  double part_below(const Piece& piece, double share) const;

  double low_, high_;
  bool discrete_;
  std::vector<Piece> pieces_;          // in order
  std::vector<double> below_, above_;  // masses before and from each piece on
  double mass_ = 0.0, mean_ = 0.0, variance_ = 0.0;
};

}  // namespace galvi

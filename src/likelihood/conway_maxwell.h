// The Conway-Maxwell-Poisson distribution by its mean, for one dispersion.
#pragma once

#include <atomic>
#include <memory>

#include "numeric/types.h"

namespace galvi {

/// p(y) = lambda^y / (y!^nu Z), y = 0, 1, .., with the lambda for which the mean is exp(eta) (Huang, 2017). With V the
/// variance, d log lambda / d eta = mean / V, and d log Z / d log lambda is the mean itself.
///
/// log lambda, log Z and what derivatives need of them are functions of eta that are tabulated where they are first
/// asked for, as polynomials in cells that are short relative to the distance of their singularities, where V = 0.
/// Beyond a mean of max(100 / nu, 2 nu) they are series in 1 / (nu mean). With nu above `most_tabulated`, where cells
/// would be many and few terms have a probability, they are computed each time.
class ConwayMaxwell {
 public:
  explicit ConwayMaxwell(double nu);
  ~ConwayMaxwell();
  ConwayMaxwell(const ConwayMaxwell&) = delete;
  ConwayMaxwell& operator=(const ConwayMaxwell&) = delete;

  struct Point {
    double log_rate, log_total;  // log lambda, log Z
    double slope[4];             // d^k log lambda / d eta^k, k = 1..4
    double factorial_slope;      // Cov(Y, log Y!) / V = d log lambda / d nu at this mean
    double mean_factorial;       // E log Y!
  };
  /// eta: at most 700
  Point at(double eta) const;
  double log_density(double y, double eta) const;
  /// P(Y <= y)
  double cdf(double y, double eta) const;
  double nu() const { return nu_; }
  /// How near to the real line functions of eta are singular.
  double width() const;

 private:
  static constexpr int degree = 14, terms = 7;
  static constexpr double most_tabulated = 8.0, lowest = -37.0;
  struct Cell {
    double coefficient[degree + 1][8];  // Chebyshev's, of the numbers of a Point
  };

  Point at_low(double eta) const;
  Point by_series(double eta) const;
  Point by_sums(double eta, double& guess) const;
  double first_guess(double eta) const;
  const Cell& cell(Index k) const;
  /// log p(x) in the region of the series, where terms of log lambda and log Z cancel.   x: any positive number
  struct Density {
    double nu, M, excess, b, rest;  // M: nu times the mean, b = M + excess, rest = log Z - b
    double operator()(double x) const;
  };
  Density density_by_series(double eta) const;
  /// log of b = nu lambda^(1 / nu) over nu times the mean.
  double log_b_share(double eta) const;

  double nu_, end_;         // of the table, where the series begins
  double cell_width_ = 0.0;
  Index cells_ = 0;
  double log_b_[terms + 2] = {}, log_b_slope_[terms + 2] = {};  // l_k, d l_k / d nu
  mutable std::unique_ptr<std::atomic<Cell*>[]> table_;
};

}  // namespace galvi

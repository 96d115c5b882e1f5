// Factorials and the distribution functions of counts.
#pragma once

#include <cmath>

namespace galvi {

/// r log r - r + 1 at r = 1 + d: how far a count is from its mean, relative to the mean, in log probability.
inline double count_divergence(double d) { return (1.0 + d) * std::log1p(d) - d; }

/// log y! = log Gamma(y + 1), y > -1.
double log_factorial(double y);
/// log of size! / (y! (size - y)!)
double log_choose(double size, double y);

/// log of size! / prod_c counts_c!, the sum of the counts being size
double log_arrangements(const double* counts, int classes, double size);

/// P(Y <= y) for Y ~ Poisson(rate).
double poisson_cdf(double y, double rate);
/// P(Y <= y) for Y ~ Binomial(size, p); `q` = 1 - p is an argument because p may be within rounding of 1.
double binomial_cdf(double y, double size, double p, double q);
/// P(Y <= y) for the number Y of failures before `size` successes, each of probability p; q = 1 - p.
double negbinomial_cdf(double y, double size, double p, double q);

}  // namespace galvi

// A standard function and its derivatives, tabulated once: Gaussian means then need no evaluation of it.
#pragma once

#include <vector>

#include "function/standard_function.h"

namespace galvi {

/// E f^(k)(x) under x ~ N(mean, variance) by the trapezium sum over nodes j * step that do not depend on mean
/// and variance: only the Gaussian's weights are computed, each from the last by a multiplication. Steps
/// shrink by sqrt(2) from table to table; the variance decides which one is fine enough. Beyond the largest
/// variance of these tables the nodes are a sinh(j step), dense only where f bends.
class SampledFunction {
 public:
  explicit SampledFunction(const StandardFunction& function);

  /// out[k] = E f^(k), k = 0..2 (order 1) or 0..4 (order 2). False where the tables do not reach.
  bool means(double mean, double variance, int order, double out[5]) const;

 private:
  struct Table {
    double step;
    double least_variance;           // for which this step is fine enough
    Index first;                     // the first node is first * step
    std::vector<double> samples[5];  // f^(k) at the nodes
  };
  Table sample(const StandardFunction& function, double step, double least_variance, double low, double end) const;

  struct WideNode {
    double x, slope;  // x and dx / du at u = j step
    double f[3];      // f^(k)
  };
  void sample_widely(const StandardFunction& function);
  bool wide_means(double mean, double variance, double out[5]) const;

  bool both_sides_;            // f is not negligible on the right either
  std::vector<Table> tables_;  // the coarsest first

  double wide_scale_ = 1.0;     // a
  std::vector<WideNode> wide_;  // in the order of x, which is 0 in the middle
};

}  // namespace galvi

// A standard function and its derivatives, sampled once, so that its Gaussian means cost no evaluation.
#pragma once

#include <vector>

#include "likelihood/standard_function.h"

namespace galvi {

/// E f^(k)(x) under x ~ N(mean, variance) by the trapezium sum over nodes j * step that do not depend on mean
/// and variance: only the Gaussian's weights have to be found, and those follow from one another by
/// multiplication. Steps shrink by sqrt(2) from table to table; the variance says which one is fine enough.
class SampledFunction {
 public:
  explicit SampledFunction(const StandardFunction& function);

  /// out[k] = E f^(k), k = 0..2 (order 1) or 0..4 (order 2). False where the tables do not reach.
  bool means(double mean, double variance, int order, double out[5]) const;

 private:
  struct Table {
    double step;
    double least_variance;           // that this step is fine enough for
    Index first;                     // the first node is first * step
    std::vector<double> samples[5];  // f^(k) at the nodes
  };
  Table sample(const StandardFunction& function, double step, double least_variance, double low) const;

  std::vector<Table> tables_;  // the coarsest first
};

}  // namespace galvi

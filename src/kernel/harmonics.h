// Kernels of one input that are sums of cosines: a finite set of columns, sines and cosines of the input.
#pragma once

#include <vector>

#include "numeric/types.h"

namespace galvi {

/// sum_i variance_i cos(2 pi j (x - z) / period), j = first + i. The variances are those of the coefficients of the
/// columns cos(2 pi j x / period) and sin(2 pi j x / period).
struct Harmonics {
  Index first;
  double period;
  Vector variance;

  /// Columns: the sine of j = 0 is none.
  Index columns() const { return 2 * variance.size() - (first == 0 ? 1 : 0); }
};

/// At the present hyperparameters of a kernel, of which it is a view.
class Spectrum {
 public:
  virtual ~Spectrum() = default;
  virtual std::vector<Harmonics> harmonics() const = 0;
  /// hyper[h] += the derivative, where `by` has those in the period and the variances of each.
  virtual void add_harmonics_gradient(const std::vector<Harmonics>& by, VectorRef hyper) const = 0;
};

/// The coefficients of exp(z (cos a - 1)) = sum_j c_j cos(j a), z > 0, which add up to one: c_0 = exp(-z) I_0(z),
/// c_j = 2 exp(-z) I_j(z) with the modified Bessel functions I_j; and their derivatives in z.   `count` each
struct CircleSeries {
  Vector value, slope;
  CircleSeries(double z, Index count);
};

}  // namespace galvi

// The expectation axis: how E_N(m, v)[log p(y | eta)] is computed or bounded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "likelihood/likelihood.h"
#include "numeric/context.h"

namespace galvi {

/// Expectations of all N rows. The second derivatives are a K x K block per row, column-major, filled for
/// order = 2 only.
struct Expectations {
  Vector value;             // N
  Matrix d_mean;            // N x K
  Matrix d_variance;        // N x K
  Matrix d_mm, d_mv, d_vv;  // N x K^2
};

/// Fenchel conjugate of one row's -E and its derivatives in x (DualLine).
struct RowConjugate {
  double value;
  double *slope, *curvature;  // K; the Hessian is diag(curvature) + 1 1' / rest
  /// 1 less the sum of x over the classes of a softmax: x > 0 is inside the domain if this is positive. 0
  /// where that sum is fixed, infinite where no sum ties the latents.
  double rest;
};

class Expectation {
 public:
  virtual ~Expectation() = default;
  virtual std::string name() const = 0;
  /// Empty if it can serve this likelihood, else one sentence that says why not and what to use instead.
  virtual std::string refuses(const Likelihood& likelihood) const = 0;
  /// order 1: value and gradient; order 2: second derivatives too. mean, variance: N x K, variance >= 0.
  /// Weights multiply everything. Threads over rows; counts one sweep. A row with a mean or variance that is
  /// not finite, as after too long a step, gives NaN, and so does the sum: reject such a step.
  virtual void evaluate(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                        const Matrix& variance, int order, Expectations& out) const = 0;
  /// Adds one row, without its weight; mean and variance: K. Second derivatives for order = 2 only. Called
  /// from threads.
  virtual void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                            const double* variance, int order, RowExpectation& out) const = 0;
  /// gradient[h] += d sum_n value_n / d hyper_h of the likelihood, natural scale.
  virtual void add_gradient(Context& context, const Likelihood& likelihood, const Data& data,
                            const Matrix& mean, const Matrix& variance, VectorRef gradient) const = 0;
  /// -E is jointly convex in (m, v), so that strong duality holds (001), and its Fenchel conjugate has a
  /// formula.
  virtual bool has_conjugate(const Likelihood& /*likelihood*/) const { return false; }
  /// The lines on which the conjugate of one row is finite, without its weight.   K
  virtual void dual_lines(const Likelihood&, const Datum&, DualLine* /*lines*/) const {}
  /// The conjugate on these lines.   x: K
  virtual void conjugate_row(const Likelihood&, const Datum&, const double* /*x*/,
                             RowConjugate& /*out*/) const {}
  /// d_v = d_mm / 2 holds: Newton's matrix for the mean is the posterior precision.
  virtual bool exact() const = 0;
  /// Whether d_mean and d_variance are the derivatives of value. Otherwise they are those of value at
  /// variance 0 and its curvature there, and fixed points are maxima of the log joint density.
  virtual bool consistent() const { return true; }
  /// value <= E log p, so that the ELBO is a bound on the evidence.
  virtual bool is_bound() const = 0;
  /// The bound has one optimum in (m, chol V) with this likelihood.
  virtual bool one_optimum(const Likelihood& likelihood) const = 0;
};

struct ExpectationControl {
  int pieces = 20;  // of the piecewise bound, 3 to 20
};

/// "auto" picks the exact one: closed form where it exists, else quadrature. Throws std::invalid_argument,
/// with the reason, where the expectation does not serve the likelihood.
std::unique_ptr<Expectation> make_expectation(const std::string& name, const Likelihood& likelihood,
                                              const ExpectationControl& control = {});

/// The first that serves the likelihood and has a conjugate; empty if none does.
std::string expectation_with_conjugate(const Likelihood& likelihood);

/// One row of the registry, which R reads as expectation_facts().
struct ExpectationFacts {
  std::string name;
  bool exact, is_bound;
};
std::vector<ExpectationFacts> expectation_facts();

}  // namespace galvi

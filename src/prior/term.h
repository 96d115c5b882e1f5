// The prior axis: eta is a sum of independent Gaussian terms, each with a covariance over rows and, where the
// term is finite-dimensional, columns W with independent coefficients.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernel/gram.h"
#include "numeric/context.h"

namespace galvi {

/// What a term sees of some rows: a kernel term its inputs, a columns term its design.
struct TermRows {
  KernelRows kernel;
  Matrix W;  // n x q
};

/// What R says about a term. Column j of a columns term has a N(mean_j, variance_j) coefficient, where
/// variance_j is the product of hyper[factors(j, .)] (-1: no factor); an infinite variance means a flat
/// prior.
struct TermSpec {
  std::string type;
  std::string label;
  TermRows rows;
  KernelSpec kernel;
  Vector mean;
  Eigen::MatrixXi factors;
};

/// A symmetric n x n weight matrix G that is never held whole: its tiles and its products.
struct Weights {
  TileSource tile;
  std::function<Matrix(const Matrix&)> multiply;  // G X
};

class Term {
 public:
  virtual ~Term() = default;
  const std::string& label() const { return label_; }
  /// Reads its hyperparameters from the model's table (natural scale).
  virtual void update(const ConstVectorRef& hyper) = 0;

  // The covariance view, which every term has.
  /// K (n x n, lower triangle) += cov(training rows).
  virtual void add_covariance(Context& context, MatrixRef K) const = 0;
  virtual void add_variances(Context& context, VectorRef d) const = 0;
  /// K (n x b) += cov(training rows, others).
  virtual void add_cross(Context& context, const TermRows& others, MatrixRef K) const = 0;
  virtual void add_variances(Context& context, const TermRows& others, VectorRef d) const = 0;
  /// K (b x b, lower triangle) += cov(others).
  virtual void add_covariance(Context& context, const TermRows& others, MatrixRef K) const = 0;
  /// hyper[h] += sum_ij G_ij d cov_ij / dh.
  virtual void add_covariance_gradient(Context& context, const Weights& G, VectorRef hyper) const = 0;

  // The finite view.
  /// How many columns the term has; 0 for an infinite-dimensional one.
  virtual Index columns() const { return 0; }
  virtual const Matrix& design() const { return empty_; }               // n x q
  virtual const Vector& coefficient_mean() const { return none_; }      // q
  virtual const Vector& coefficient_variance() const { return none_; }  // q, may be infinite
  /// hyper[h] += sum_j d_variance_j d variance_j / dh.
  virtual void add_variance_gradient(const ConstVectorRef& /*d_variance*/, VectorRef /*hyper*/) const {}

 protected:
  explicit Term(std::string label) : label_(std::move(label)) {}

 private:
  std::string label_;
  Matrix empty_;
  Vector none_;
};

using Terms = std::vector<std::unique_ptr<Term>>;

/// Throws std::invalid_argument for an unknown type.
std::unique_ptr<Term> make_term(const TermSpec& spec);

/// sum over terms of W mean, the prior mean of eta (n).
Vector prior_mean(const Terms& terms, Index rows);
/// The same for other rows, of term t alone.
Vector prior_mean(const Term& term, const TermRows& others);

}  // namespace galvi

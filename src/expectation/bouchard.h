// Bouchard's product of sigmoids: the multinomial logit bounded class by class.
#pragma once

#include <memory>

#include "expectation/by_row.h"
#include "expectation/function_mean.h"

namespace galvi {

/// sum_c exp(eta_c) <= exp(a) prod_c (1 + exp(eta_c - a)) for any a, hence
///   E log p >= G(m, v, a) = E f(eta_y - a) + sum_{c != y} E f(a - eta_c),   f = log sigmoid,
/// where each mean of f is exact or bounded in turn. For each datum a maximises G, so that the first
/// derivatives in m and v are those of G at fixed a, and the second ones F_xy = G_xy - G_xa G_ya / G_aa.
/// (Bouchard 2007, "Efficient bounds for the softmax function, applications to inference in hybrid models".)
class Bouchard final : public ByRow {
 public:
  explicit Bouchard(std::unique_ptr<FunctionMean> mean) : mean_(std::move(mean)) {}

  std::string name() const override { return mean_->exact() ? "bouchard" : "bouchard_" + mean_->name(); }
  std::string refuses(const Likelihood& likelihood) const override;
  bool exact() const override { return false; }
  bool is_bound() const override { return true; }
  // G is concave in (m, a, chol V) together where each mean of f is concave.
  bool one_optimum(const Likelihood& /*likelihood*/) const override { return mean_->concave(); }

 protected:
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                    const double* variance, int order, RowExpectation& out) const override;
  void add_row_gradient(const Likelihood&, const Datum&, const double*, const double*, double,
                        VectorRef) const override {}

 private:
  void evaluate_class(const Softmax& classes, Index y, const double* mean, const double* variance, int order,
                      RowExpectation& out) const;
  std::unique_ptr<FunctionMean> mean_;
};

}  // namespace galvi

// A known density as a sum of standard functions, whose means are quicker than quadrature by nodes.
#pragma once

#include <utility>

#include "likelihood/composed.h"

namespace galvi {

/// Base, K = 1, for expectations within those of a predicted parameter. It has compose(), add_composition_gradient().
template <class Base>
class ComposedView final : public Composed {
 public:
  ComposedView(Base base, const StandardFunction& f) : Composed(f), base_(std::move(base)) {}
  void compose(const Datum& datum, Composition& sum) const override { base_.compose(datum, sum); }
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    base_.add_composition_gradient(datum, adjoint, gradient);
  }
  bool has_hyper() const override { return base_.has_hyper(); }
  bool log_concave() const override { return base_.log_concave(); }
  double starting_eta(const Datum& datum) const override { return base_.starting_eta(datum); }
  double conditional_mean(const Datum& row, const double* eta) const override { return base_.conditional_mean(row, eta); }
  double conditional_variance(const Datum& row, const double* eta) const override {
    return base_.conditional_variance(row, eta);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return base_.conditional_cdf(datum, eta);
  }
  bool discrete() const override { return base_.discrete(); }
  Support support(const Datum& row) const override { return base_.support(row); }

 private:
  Base base_;
};

}  // namespace galvi

// A Gaussian Markov random field over nodes. Each row touches one or several nodes with weights: in bym2 one
// of each half, with random slopes those of its group.
#pragma once

#include "prior/coefficients.h"
#include "prior/field.h"

namespace galvi {

/// Directions that a field leaves out and that have a prior of their own (the slope of an rw2, the constant
/// of an unconstrained field) are the term's columns.
class FieldTerm final : public CoefficientsTerm {
 public:
  explicit FieldTerm(const TermSpec& spec);

  void update(const ConstVectorRef& hyper) override;
  void check(const TermRows& rows) const override;

  void add_prior_mean(const TermRows& rows, Index begin, VectorRef mean) const override {
    if ((coefficients_.mean().array() == 0.0).all()) return;
    mean += field_design(rows).middleRows(begin, mean.size()) * (basis_ * coefficients_.mean());
  }

  void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const override;
  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override;
  void add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const override;
  void add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                               VectorRef hyper) const override;

  void fill(const TermRows& rows, Index begin, MatrixRef W) const override;

  const Field* field() const override { return &field_; }
  SparseRows field_design(const TermRows& rows) const override { return node_design(rows, field_.size()); }

  bool has_plain_design() const override { return field_.constraints().cols() == 0 && columns() == 0; }
  Matrix plain_design(const TermRows& rows) const override { return field_design(rows); }

 private:
  MarkovField field_;
  Matrix basis_;  // L x r
  Matrix whitened_basis_;  // of unit scale where the prior is flat
};

}  // namespace galvi

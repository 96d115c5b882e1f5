// Latent factors of an item by unit array (001, section 2: probabilistic principal components and
// exponential-family factor analysis). Each row is one item of one unit.
#pragma once

#include "prior/field.h"

namespace galvi {

/// eta = x_n' c_item + w_item' z_unit with z_unit ~ N(0, I_d), d values for each unit. The loadings w and the
/// effects c of the items are hyperparameters, learned as points, which leaves units independent. z is a
/// field without hyperparameters whose weights in the rows are the loadings; node d u + k is value k of unit
/// u. A row gives its unit as `node`, its item as `item` and x as `W`. A unit that is not among the term's
/// units has its prior; a new row without a unit (-1) has z = 0.
class FactorsTerm final : public Term {
 public:
  explicit FactorsTerm(const TermSpec& spec);

  Index dimension() const { return loadings_.rows(); }  // d
  Index items() const { return loadings_.cols(); }      // p
  Index units() const { return units_; }
  Index effect_count() const { return effects_.rows(); }   // q
  const Matrix& loadings() const { return loadings_; }  // d x p
  const Matrix& effects() const { return effects_; }    // q x p
  /// Their positions in the table of hyperparameters.   d x p, q x p
  const Eigen::MatrixXi& loading_positions() const { return loading_at_; }
  const Eigen::MatrixXi& effect_positions() const { return effect_at_; }

  void update(const ConstVectorRef& hyper) override;
  void check(const TermRows& rows) const override;

  void add_prior_mean(const TermRows& rows, Index begin, VectorRef mean) const override;
  void add_prior_mean_gradient(const TermRows& rows, const ConstVectorRef& g, VectorRef hyper) const override;
  void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const override;
  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override;
  void add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const override;
  void add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                               VectorRef hyper) const override;

  const Field* field() const override { return &field_; }
  SparseRows field_design(const TermRows& rows) const override;
  bool moves_field_design() const override { return true; }
  void add_field_design_gradient(const TermRows& rows, const ConstMatrixRef& G, const ConstVectorRef& g,
                                 VectorRef hyper) const override;
  const FactorsTerm* factors() const override { return this; }

 private:
  auto loading(const TermRows& rows, Index n) const { return loadings_.col(rows.item(n)); }

  Eigen::MatrixXi loading_at_, effect_at_;
  Matrix loadings_, effects_;
  Index units_;
  MarkovField field_;
};

}  // namespace galvi

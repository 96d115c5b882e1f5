// A Gaussian process of one input whose kernel is a sum of cosines: sines and cosines of the input, whose coefficients
// have variances that the kernel's hyperparameters determine.
#pragma once

#include "kernel/harmonics.h"
#include "prior/term.h"

namespace galvi {

/// Columns are computed where they are asked for and not stored. A number `by` multiplies them; with a factor `by` every
/// group has coefficients of its own, and may have a kernel of its own. Where the term has a centre, the mean of each
/// column over its rows is subtracted, for each group apart: the process less its mean.
class HarmonicsTerm final : public Term {
 public:
  explicit HarmonicsTerm(const TermSpec& spec);

  void update(const ConstVectorRef& hyper) override;
  Index kernels() const override { return static_cast<Index>(kernels_.size()); }
  const CentreSpec* centre() const override { return &centre_; }
  Matrix centre_columns() const override;
  void check(const TermRows& rows) const override;

  void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const override;
  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override;
  void add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const override;
  void add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                               VectorRef hyper) const override;

  Index columns() const override { return coefficient_mean_.size(); }
  const Vector& coefficient_mean() const override { return coefficient_mean_; }
  const Vector& coefficient_variance() const override { return coefficient_variance_; }
  void fill(const TermRows& rows, Index begin, MatrixRef W) const override;
  Index gradient_size() const override;
  void add_gradient(const TermRows& rows, Index begin, const ConstMatrixRef& W, const ConstMatrixRef& G,
                    const ConstVectorRef& g, VectorRef sums) const override;
  void finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const override;
  bool recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const override;

 private:
  /// The columns under one kernel.
  struct Basis {
    std::vector<Harmonics> series;
    Vector sd;  // of each column's coefficient
  };

  const Basis& basis(Index group) const { return bases_[bases_.size() > 1 ? static_cast<std::size_t>(group) : 0]; }
  Index group_of_row(const KernelRows& rows, Index n) const { return groups_ > 1 ? rows.group[n] - 1 : 0; }
  /// The columns at an input, not scaled; and their derivatives in the period of the series.   w each
  void waves(const Basis& basis, double x, VectorRef out) const;
  void waves_by_period(const Basis& basis, double x, VectorRef out) const;
  Matrix columns_of(const TermRows& rows) const;

  std::vector<std::unique_ptr<Kernel>> kernels_;  // one, or one for each group
  std::vector<Basis> bases_;                      // one for each kernel
  CentreSpec centre_;
  double origin_;    // where the phase is zero: it changes no covariance, but digits and the paths of learning
  Index groups_, width_ = 0;   // columns of a group
  Vector coefficient_mean_, coefficient_variance_;
  std::vector<double> periods_;       // for which the means are known
  Matrix means_, means_by_period_;    // of the waves over the centre.   w x groups
};

}  // namespace galvi

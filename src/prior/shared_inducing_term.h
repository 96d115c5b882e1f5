// Shared processes (prior/loadings.h), each by its whitened values at the same inducing points.
#pragma once

#include "prior/inducing_term.h"
#include "prior/loadings.h"

namespace galvi {

/// With w_nr and c_nr those of process r (prior/inducing_term.h), the row of group j is sum_r a_jr w_nr'u_r + noise of
/// variance sum_r a_jr^2 c_nr. Columns: those of the first process, of the second, ..
class SharedInducingTerm final : public LowRankTerm {
 public:
  /// spec.kernels: one that all processes have, or one for each.
  SharedInducingTerm(const TermSpec& spec, const Backend& backend);

  void update(const ConstVectorRef& hyper) override;
  void hold_basis(bool held) override {
    for (const auto& process : processes_) process->hold_basis(held);
  }
  void check(const TermRows& rows) const override;
  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override;

  Index columns() const override { return coefficient_mean_.size(); }
  const Vector& coefficient_mean() const override { return coefficient_mean_; }
  const Vector& coefficient_variance() const override { return coefficient_variance_; }
  void fill(const TermRows& rows, Index begin, MatrixRef W) const override;
  bool has_extra_variances() const override { return true; }
  void add_extra_variances(const TermRows& rows, Index begin, const ConstMatrixRef& W, VectorRef c) const override;
  Index gradient_size() const override;
  void add_gradient(const TermRows& rows, Index begin, const ConstMatrixRef& W, const ConstMatrixRef& G,
                    const ConstVectorRef& g, VectorRef sums) const override;
  void finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const override;
  bool recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const override;

 private:
  Index points() const { return columns() / loadings_.processes(); }
  /// visit(r, rows as process r sees them).
  template <class F>
  void for_processes(const TermRows& rows, Index begin, Index n, const F& visit) const;

  Loadings loadings_;
  std::vector<std::unique_ptr<InducingTerm>> processes_;
  Index inputs_;       // p
  Index hypers_ = 0;   // length of the table
  Vector coefficient_mean_, coefficient_variance_;
};

}  // namespace galvi

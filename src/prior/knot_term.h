// Gaussian processes in space and time, or in time alone, as states at knots.
#pragma once

#include "prior/inducing_term.h"
#include "prior/knot_field.h"
#include "prior/noisy_field_term.h"
#include "prior/separable_rows.h"

namespace galvi {

/// f has the covariance k(x, x') k(t, t'). In space it is represented by inducing points, f(x) = u(x)'z + rest with u =
/// L^-1 k_z(x) and independent z_m (prior/inducing_term.h); in time each z_m is a Markov process, given its states at
/// knots (prior/knot_field.h). So a row has the weights u (x) a, and what both leave of its variance is independent noise:
///   c = c_space k_time + |u|^2 c_time,
/// and the evidence is a bound. Without inputs in space there is one process and u = 1. Levels of a factor `by` have
/// processes of their own at the same points and knots; a number `by` multiplies the function.
class KnotTerm final : public NoisyFieldTerm {
 public:
  KnotTerm(const TermSpec& spec, const Backend& backend);

  void update(const ConstVectorRef& hyper) override;
  void hold_basis(bool held) override;
  void check(const TermRows& rows) const override;

  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override;

  bool has_extra_variances() const override { return true; }
  void add_extra_variances(const TermRows& rows, Index begin, const ConstMatrixRef& W, VectorRef c) const override;

  const Field* field() const override { return &field_; }
  SparseRows field_design(const TermRows& rows) const override;
  bool moves_field_design() const override { return true; }

  bool separable() const override { return true; }
  SeparableRows separable_rows(const TermRows& rows) const override;
  void weigh(SeparableRows& rows) const override;
  void add_separable_gradient(const SeparableRows& rows, SeparableGradient sums, const ConstVectorRef& g,
                              VectorRef hyper) const override;
  std::vector<std::vector<Index>> run_sets() const override;

 private:
  void add_rows_gradient(const TermRows& rows, const Matrix& GS, const Vector& g, VectorRef hyper) const override;
  bool in_space() const { return !space_.empty(); }
  const InducingTerm& space(Index level) const { return *space_[space_.size() == 1 ? 0 : static_cast<std::size_t>(level)]; }
  /// Of each place, and c_time of each moment.
  struct Left {
    Vector space, explained, time;  // c_space, |u|^2, c_time
  };
  Left left_at(const SeparableRows& rows) const;
  /// The places of a level, as rows of that level's inducing term.
  TermRows places_of(const SeparableRows& rows, Index level, std::vector<Index>& at) const;
  SeparableRows weighed(const KernelRows& rows) const;

  std::vector<std::unique_ptr<InducingTerm>> space_;  // one, or one for each level; none without space
  std::vector<std::unique_ptr<Kernel>> time_;         // one, or one for each level
  Index inputs_;                                      // in space
  KnotField field_;
};

}  // namespace galvi

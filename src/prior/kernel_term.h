// A Gaussian process over inputs, scaled by `by` and independent between groups, which may each have a kernel.
#pragma once

#include "prior/term.h"

namespace galvi {

/// Where it has a centre, with rows r of weight a_r, the process is f - sum_r a_r f(x_r) within each group and has the
/// covariance
///   k(x, z) - m(x) - m(z) + s,   m(x) = sum_r a_r k(x, x_r),   s = sum_r a_r m(x_r).
/// Over the rows of the centre themselves m = K a, so that the kernel is evaluated as often as without a centre; with
/// equal weights the covariance is H K H, H = I - 11'/N.
class KernelTerm : public Term {
 public:
  explicit KernelTerm(const TermSpec& spec);

  void update(const ConstVectorRef& hyper) override {
    for (const auto& kernel : kernels_) kernel->update(hyper);
    mean_.resize(0);
  }
  void check(const TermRows& rows) const override {
    check_width("inputs", rows.kernel.inputs.cols(), inputs_);
    if (kernels_.size() > 1) check_groups(rows, static_cast<Index>(kernels_.size()));
    if (centred()) check_unscaled(rows);
  }
  Index kernels() const override { return static_cast<Index>(kernels_.size()); }
  const CentreSpec* centre() const override { return &centre_; }
  void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const override;
  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override;
  void add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const override;
  void add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                               VectorRef hyper) const override;
  LowRank root(Context& context, const TermRows& rows, Index most) const override;
  void add_root_gradient(Context& context, const TermRows& rows, const LowRank& R, const RootWeights& G,
                         VectorRef hyper) const override;

 protected:
  bool is_centre(const KernelRows& rows) const;

  std::vector<std::unique_ptr<Kernel>> kernels_;  // one, or one for each group
  Index inputs_;  // p

 private:
  GroupKernels of_groups() const { return GroupKernels(kernels_, centred()); }
  void set_means(Vector mean) const;
  /// m(x) of each row, after which levels() are known.
  Vector means(Context& context, const KernelRows& rows) const;
  Vector cross_means(Context& context, const KernelRows& rows) const;
  Vector levels(const KernelRows& rows) const;  // s of each row's group

  CentreSpec centre_;
  mutable Vector mean_;   // m(x_r); empty until it is asked for
  mutable Vector level_;  // s of each group
};

}  // namespace galvi

// A Gaussian process over inputs, scaled by `by` and independent between groups, which may each have a kernel.
#pragma once

#include "prior/term.h"

namespace galvi {

class KernelTerm final : public Term {
 public:
  explicit KernelTerm(const TermSpec& spec)
      : Term(spec.label), kernels_(make_kernels(spec.kernels)), inputs_(spec.inputs) {}

  void update(const ConstVectorRef& hyper) override {
    for (const auto& kernel : kernels_) kernel->update(hyper);
  }
  void check(const TermRows& rows) const override {
    check_width("inputs", rows.kernel.inputs.cols(), inputs_);
    if (kernels_.size() > 1) check_groups(rows, static_cast<Index>(kernels_.size()));
  }
  void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const override {
    add_gram(context, of_groups(), rows.kernel, K);
  }
  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override {
    add_diagonal(context, of_groups(), rows.kernel, d);
  }
  void add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const override {
    galvi::add_cross(context, of_groups(), rows.kernel, others.kernel, K);
  }
  void add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                               VectorRef hyper) const override {
    add_gram_gradient(context, of_groups(), rows.kernel, G.tile, hyper);
  }

 private:
  GroupKernels of_groups() const { return GroupKernels(kernels_); }

  std::vector<std::unique_ptr<Kernel>> kernels_;  // one, or one for each group
  Index inputs_;  // p
};

}  // namespace galvi

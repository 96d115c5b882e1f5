// A Gaussian process over inputs, scaled by `by` and independent between groups.
#pragma once

#include "prior/term.h"

namespace galvi {

class KernelTerm final : public Term {
 public:
  explicit KernelTerm(const TermSpec& spec)
      : Term(spec.label), kernel_(make_kernel(spec.kernel)), inputs_(spec.inputs) {}

  void update(const ConstVectorRef& hyper) override { kernel_->update(hyper); }
  void check(const TermRows& rows) const override {
    check_width("inputs", rows.kernel.inputs.cols(), inputs_);
  }
  void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const override {
    add_gram(context, *kernel_, rows.kernel, K);
  }
  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override {
    add_diagonal(context, *kernel_, rows.kernel, d);
  }
  void add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const override {
    galvi::add_cross(context, *kernel_, rows.kernel, others.kernel, K);
  }
  void add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                               VectorRef hyper) const override {
    add_gram_gradient(context, *kernel_, rows.kernel, G.tile, hyper);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  Index inputs_;  // p
};

}  // namespace galvi

// A Gaussian process over inputs, scaled by `by` and independent between groups.
#pragma once

#include "prior/term.h"

namespace galvi {

class KernelTerm final : public Term {
 public:
  explicit KernelTerm(const TermSpec& spec)
      : Term(spec.label), rows_(spec.rows.kernel), kernel_(make_kernel(spec.kernel)) {}

  void update(const ConstVectorRef& hyper) override { kernel_->update(hyper); }
  void add_covariance(Context& context, MatrixRef K) const override { add_gram(context, *kernel_, rows_, K); }
  void add_variances(Context& context, VectorRef d) const override {
    add_diagonal(context, *kernel_, rows_, d);
  }
  void add_cross(Context& context, const TermRows& others, MatrixRef K) const override {
    galvi::add_cross(context, *kernel_, rows_, others.kernel, K);
  }
  void add_variances(Context& context, const TermRows& others, VectorRef d) const override {
    add_diagonal(context, *kernel_, others.kernel, d);
  }
  void add_covariance(Context& context, const TermRows& others, MatrixRef K) const override {
    add_gram(context, *kernel_, others.kernel, K);
  }
  void add_covariance_gradient(Context& context, const Weights& G, VectorRef hyper) const override {
    add_gram_gradient(context, *kernel_, rows_, G.tile, hyper);
  }

 private:
  KernelRows rows_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace galvi

// Processes that groups of rows share, with loadings that are learned (prior/loadings.h): as a full covariance
//   cov(f_j(x), f_k(z)) = sum_r a_jr a_kr k_r(x, z).
#pragma once

#include "prior/loadings.h"
#include "prior/term.h"

namespace galvi {

class SharedTerm : public Term {
 public:
  /// spec.kernels: one that all processes have, or one for each.
  explicit SharedTerm(const TermSpec& spec);

  Index kernels() const override { return static_cast<Index>(kernels_.size()); }
  void update(const ConstVectorRef& hyper) override;
  void check(const TermRows& rows) const override;
  void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const override;
  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override;
  void add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const override;
  void add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                               VectorRef hyper) const override;

 protected:
  const Kernel& kernel(Index process) const {
    return *kernels_[kernels_.size() == 1 ? 0 : static_cast<std::size_t>(process)];
  }

  std::vector<std::unique_ptr<Kernel>> kernels_;
  Loadings loadings_;
  Index inputs_;  // p
};

/// Throws std::invalid_argument unless there is a kernel for all processes, or one for each.
void check_shared(const TermSpec& spec);

}  // namespace galvi

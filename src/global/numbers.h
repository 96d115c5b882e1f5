// Gaussians of short latent vectors as unconstrained numbers, for general optimisers.
#pragma once

#include "global/global_model.h"

namespace galvi {

/// Around a base (m_0, A_0^-1 = U_0' U_0), in whose units the bound's curvature is of order one:
/// m = m_0 + U_0' t and U = R U_0. The numbers of each predictor are t and the lower triangular R, by columns
/// and its diagonal by logarithms; zeros are the base.
class LatentNumbers {
 public:
  explicit LatentNumbers(GlobalPosterior base) : base_(std::move(base)) {}
  Index size() const;
  /// Empty where a number is not finite.
  std::optional<GlobalPosterior> read(Context& context, const ConstVectorRef& x) const;
  /// d bound / d numbers at the point that x stands for.
  void gradient(const GlobalModel& model, const GlobalPoint& point, const ConstVectorRef& x,
                VectorRef out) const;

 private:
  GlobalPosterior base_;
};

}  // namespace galvi

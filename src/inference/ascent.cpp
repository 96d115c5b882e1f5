#include "inference/ascent.h"

namespace galvi {

bool natural_step(LatentGaussianModel& model, const Sites& target, double& step, int order,
                  Posterior& current) {
  constexpr double smallest = 1e-6;
  for (; step >= smallest; step *= 0.5) {
    const Sites sites{(1 - step) * current.sites.lambda + step * target.lambda,
                      (1 - step) * current.sites.b + step * target.b};
    auto next = model.at_sites(sites, order);
    if (next && next->merit >= current.merit - rounding(current)) {
      current = std::move(*next);
      return true;
    }
  }
  model.restore(current);
  return false;
}

}  // namespace galvi

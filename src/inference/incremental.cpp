#include "inference/incremental.h"

#include <cmath>

#include "global/site_visit.h"
#include "inference/ascent.h"
#include "inference/global_climb.h"
#include "numeric/dense.h"

namespace galvi {

namespace {

/// The sums of the sites that stand, and the posterior that follows from them.
class Standing {
 public:
  explicit Standing(BlockModel& model) : model_(model) {
    const Index N = model.model().observations(), K = model.model().latents();
    sites_ = {Matrix::Zero(N, K), Matrix::Zero(N, K)};
    sums_ = model.no_sites();
    q_ = *model.posterior_of(sums_, 1);
  }

  /// The block's sites give way to those that it asks for, as far as the posterior lets them. False if the
  /// step had to be shortened.
  bool visit(const RowBlock& rows, Index begin, Index count, bool first) {
    constexpr int most = 8;
    const SiteVisit visit(model_.model(), rows, begin, count, q_, first);
    const Index at = rows.first + begin;
    auto lambda = sites_.lambda.middleRows(at, count), b = sites_.b.middleRows(at, count);
    const Contribution change = visit.change({lambda, b});
    double step = 1;
    for (int i = 0; i < most; ++i) {
      Contribution sums = sums_;
      add(step, change, sums);
      auto next = model_.posterior_of(sums, 1);
      const double move = next ? visit.furthest_move(*next) : infinity;
      if (move <= 1) {
        lambda += step * (visit.sites().lambda - lambda);
        b += step * (visit.sites().b - b);
        sums_ = std::move(sums);
        q_ = std::move(*next);
        return step == 1;
      }
      step *= next ? std::clamp(0.8 / move, 0.1, 0.9) : 0.5;
    }
    return false;
  }

  const GlobalPosterior& posterior() const { return q_; }
  const Sites& sites() const { return sites_; }

 private:
  static void add(double step, const Contribution& change, Contribution& sums) {
    for (std::size_t k = 0; k < sums.slope.size(); ++k) {
      sums.slope[k] += step * change.slope[k];
      sums.curvature[k] += step * change.curvature[k];
    }
  }

  BlockModel& model_;
  Sites sites_;
  Contribution sums_;
  GlobalPosterior q_;
};

// Blocks of less lose time to factorisations, of more digits in each sweep.
Index block_rows(const BlockModel& model) {
  Index L = 0;
  for (Index k = 0; k < model.model().latents(); ++k) L = std::max(L, model.prior(k).columns());
  return std::max<Index>(1, std::min(std::max<Index>(1000, 5 * L), model.model().observations() / 20));
}

}  // namespace

InferenceResult incremental(BlockModel model, const std::optional<Sites>& start,
                            const InferenceControl& control, Trace& trace) {
  constexpr int least = 2, most = 20;
  const LatentGaussianModel& core = model.model();
  const bool joint = moves_means_together(core);
  if (start) return global_climb(model, model.start(start, joint), control, trace, joint);
  Standing standing(model);
  int sweeps = 0;
  bool shortened = true;
  for (; sweeps < std::min(control.max_iterations, shortened ? most : least); ++sweeps) {
    shortened = false;
    model.for_blocks(block_rows(model), [&](const RowBlock& rows, Index begin, Index count) {
      core.context().monitor.poll();
      if (!standing.visit(rows, begin, count, sweeps == 0)) shortened = true;
    });
    ++core.context().cost.sweeps;
  }
  InferenceControl rest = control;
  rest.max_iterations -= sweeps;
  std::optional<GlobalPoint> point;
  if (!shortened) point = model.at(standing.posterior(), joint);
  if (!point) point = model.start(std::nullopt, joint);
  InferenceResult out = global_climb(model, std::move(*point), rest, trace, joint);
  out.iterations += sweeps;
  return out;
}

}  // namespace galvi

#include "inference/incremental.h"

#include <numeric>

#include "global/site_visit.h"
#include "inference/ascent.h"
#include "inference/global_climb.h"

namespace galvi {

namespace {

// Smaller blocks lose time to factorisations; larger ones gain less accuracy per sweep.
Index block_rows(const BlockModel& model) {
  Index L = 0;
  for (Index k = 0; k < model.model().latents(); ++k) L = std::max(L, model.prior(k).columns());
  return std::max<Index>(1, std::min(std::max<Index>(1000, 5 * L), model.model().observations() / 20));
}

}  // namespace

SumsResult incremental(BlockModel model, const std::optional<Start>& start, const InferenceControl& control,
                       Trace& trace) {
  constexpr int least = 2, most = 20;
  const LatentGaussianModel& core = model.model();
  const bool joint = moves_means_together(core);
  const Sites* sites = start ? std::get_if<Sites>(&*start) : nullptr;
  if (start && !(sites && sites->b.size() == 0))  // sites of no rows say nothing
    return global_climb(model, model.start(start, joint), control, trace, joint);
  KeptSites kept(model);
  int sweeps = 0;
  bool shortened = true;
  for (; sweeps < std::min(control.max_iterations, shortened ? most : least); ++sweeps) {
    shortened = false;
    model.for_blocks(block_rows(model), [&](const RowBlock& rows, Index begin, Index count) {
      core.context().monitor.poll();
      std::vector<Index> at(count);
      std::iota(at.begin(), at.end(), rows.first + begin);
      if (kept.visit(rows, begin, at, sweeps == 0) < 1) shortened = true;
    });
    ++core.context().cost.sweeps;
  }
  InferenceControl rest = control;
  rest.max_iterations -= sweeps;
  std::optional<GlobalPoint> point;
  if (!shortened) point = model.at(kept.posterior(), joint);
  if (!point) point = model.start(std::nullopt, joint);
  SumsResult out = global_climb(model, std::move(*point), rest, trace, joint);
  out.iterations += sweeps;
  return out;
}

}  // namespace galvi

// A model as seen by algorithms that need only sums over rows.
#pragma once

#include "global/row_source.h"

namespace galvi {

/// q, the sums over all rows at q, and the bound.
struct GlobalPoint {
  GlobalPosterior q;
  Contribution sums;
  RowValues rows;  // empty where rows are not in memory
  double kl = 0, kl_of_mean = 0;
  double elbo = 0;
  double rounding = 0;  // rounding error of the bound
};

/// How far q is from a stationary point, and the natural-gradient step from it.
struct GlobalStep {
  std::vector<Vector> slope;   // r = W' dE/dm - P m.   K
  std::vector<Matrix> change;  // D = W' diag(-2 dE/dv) W - (A - P), both triangles.   K
  Stationarity stationarity;
};

class GlobalModel {
 public:
  explicit GlobalModel(LatentGaussianModel& model)
      : model_(model), memory_(model.block()), source_(model.source()) {}
  LatentGaussianModel& model() const { return model_; }
  const Prior& prior(Index k) const { return *model_.predictor(k).prior; }

  /// The bound at q. Empty where it is not finite. joint: with Newton's matrix for the means.
  std::optional<GlobalPoint> at(std::optional<GlobalPosterior> q, bool joint = false);
  /// The starting point: that of `start` if there is one, else the posterior of default sites.
  GlobalPoint start(const std::optional<Start>& start, bool joint = false);
  GlobalStep step_from(const GlobalPoint& point) const;
  /// The posterior of means m and precisions A = P + G.
  std::optional<GlobalPosterior> posterior(const std::vector<Vector>& mean,
                                           const std::vector<Matrix>& precision);
  /// d bound / d hyper (natural scale), for fixed q.
  Vector gradient(const GlobalPosterior& q);
  /// The same together with the bound and the sums.
  std::optional<GlobalPoint> with_gradient(GlobalPosterior q, Vector& hyper);
  /// The sites after a natural-gradient step from the point (for rows in memory), and q.
  GivenSites sites_of(const GlobalPoint& point) const;
  /// The point in terms of these sites; the model's solvers are factorised there.
  SumsPosterior as_posterior(const GlobalPoint& point);
  /// Empty sums of sites, or what is remembered of earlier rows.
  Contribution no_sites() const;
  /// The posterior of `factor` copies of each row with these sites.
  std::optional<GlobalPosterior> posterior_of(const Sites& sites, double factor);
  std::optional<GlobalPosterior> posterior_of(const GivenSites& sites);
  /// The posterior of sites with these sums W' b and W' Lambda W, times `factor`.
  std::optional<GlobalPosterior> posterior_of(const Contribution& sums, double factor) const;

 protected:
  RowSource& rows() { return source_ ? *source_ : memory_; }

 private:
  std::optional<GlobalPoint> ask(GlobalPosterior q, Wanted wanted);
  /// Empty where the start cannot be used: sites row by row of rows that are not in memory, or no finite sites.
  std::optional<GlobalPosterior> posterior_at(const Start& start);
  /// The sums of sites of the rows and of what is remembered of earlier ones.
  Contribution sum_of_sites(const Question& question);

  LatentGaussianModel& model_;
  MemoryRows memory_;
  RowSource* source_;  // null where rows are in memory
};

/// The same for algorithms that visit blocks of rows.
class BlockModel : public GlobalModel {
 public:
  using GlobalModel::GlobalModel;
  /// Visits all rows in order, in blocks of about `size` rows that are the same wherever the rows are.
  void for_blocks(Index size, const RowSource::Body& body) { rows().for_blocks(model(), size, body); }
  /// The same in random order.
  void for_batches(Index size, const RowSource::BatchBody& body) { rows().for_batches(model(), size, body); }
  /// The contribution of a minibatch.
  Contribution batch_sum(const GlobalPosterior& q, const RowBlock& batch, const Wanted& wanted) const;
};

}  // namespace galvi

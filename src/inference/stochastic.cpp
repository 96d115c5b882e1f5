#include "inference/stochastic.h"

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "global/numbers.h"
#include "global/site_visit.h"
#include "inference/incremental.h"
#include "model/held_basis.h"
#include "numeric/adaptive_steps.h"
#include "numeric/dense.h"

namespace galvi {

namespace {

const std::map<std::string, StepRule>& rules() {
  static const std::map<std::string, StepRule> table = {{"natural", StepRule::natural},
                                                        {"adadelta", StepRule::adadelta},
                                                        {"adam", StepRule::adam},
                                                        {"sag", StepRule::sag},
                                                        {"svrg", StepRule::svrg}};
  return table;
}

void scale(double factor, Contribution& sums) {
  sums.value *= factor;
  sums.rounding *= factor;
  for (Vector& x : sums.slope) x *= factor;
  for (Matrix& x : sums.curvature) x *= factor;
  sums.hyper *= factor;
  for (Vector& x : sums.columns) x *= factor;
}

/// A minibatch, and the ratio of all rows to its rows.
struct Batch {
  const RowBlock& rows;
  const std::vector<Index>& at;
  double scale;
};

/// q in the form that a step rule uses.
class Mover {
 public:
  virtual ~Mover() = default;
  virtual const GlobalPosterior& posterior() const = 0;
  /// sums: of the batch at posterior(), scaled to all rows. t: number of the step, from 1; share: falls from
  /// 1 to 0 as steps become small.
  virtual void step(const Batch& batch, const Contribution& sums, int t, double share) = 0;
  virtual void begin_pass() {}
};

/// h = A m and G of the sums, which the natural gradient moves.
class NaturalMover : public Mover {
 public:
  /// learns: hyperparameters move too and q has to follow; otherwise steps decrease as in Robbins and Monro
  /// (1951).
  NaturalMover(BlockModel& model, bool learns) : model_(model), learns_(learns), sums_(model.no_sites()) {
    q_ = *model.posterior_of(sums_, 1);
  }
  const GlobalPosterior& posterior() const override { return q_; }
  void step(const Batch& batch, const Contribution& sums, int t, double share) override {
    constexpr double least = 0.1, power = -0.7;
    if (t == 1) {  // E log p at the prior may be uninformative
      Contribution first = starting_sums(model_.model(), batch.rows, 0, batch.rows.size());
      scale(batch.scale, first);
      move(1, first);
    } else {
      move(learns_ ? share * std::max(least, 1.0 / t) : std::pow(t, power), target(sums));
    }
  }

 protected:
  /// W'(b - lambda f + ..): the sums of the rows' new sites.
  Contribution target(Contribution sums) const {
    for (std::size_t k = 0; k < q_.size(); ++k) {
      fill_upper(sums.curvature[k]);
      sums.slope[k] += sums.curvature[k] * q_[k].mean;
    }
    return sums;
  }
  void move(double step, const Contribution& to) {
    for (int i = 0; i < 20; ++i, step *= 0.5) {
      Contribution next = sums_;
      for (std::size_t k = 0; k < q_.size(); ++k) {
        next.slope[k] += step * (to.slope[k] - sums_.slope[k]);
        next.curvature[k] += step * (to.curvature[k] - sums_.curvature[k]);
      }
      if (auto q = model_.posterior_of(next, 1)) {
        q_ = std::move(*q);
        sums_ = std::move(next);
        return;
      }
    }
  }

  BlockModel& model_;
  bool learns_;
  Contribution sums_;
  GlobalPosterior q_;
};

/// Johnson and Zhang (2013): the sums of all rows at an anchor, and from the minibatch only the change since.
class AnchoredMover final : public NaturalMover {
 public:
  using NaturalMover::NaturalMover;
  void begin_pass() override {
    if (++passes_ == 1) return;  // the first is a plain step
    anchor_ = q_;
    if (auto point = model_.at(q_)) at_anchor_ = target(std::move(point->sums));
  }
  void step(const Batch& batch, const Contribution& sums, int t, double share) override {
    constexpr double length = 0.1;
    if (at_anchor_.slope.empty()) return NaturalMover::step(batch, sums, t, share);
    Contribution to = target(sums);
    Contribution before = contribution(model_.model(), anchor_, batch.rows, 0, batch.rows.size());
    scale(batch.scale, before);
    for (std::size_t k = 0; k < q_.size(); ++k) {
      fill_upper(before.curvature[k]);
      to.slope[k] += at_anchor_.slope[k] - before.slope[k] - before.curvature[k] * anchor_[k].mean;
      to.curvature[k] += at_anchor_.curvature[k] - before.curvature[k];
    }
    move(share * length, to);
  }

 private:
  int passes_ = 0;
  GlobalPosterior anchor_;
  Contribution at_anchor_;
};

/// Every row's site is stored, and replaced when the row is visited.
class RememberingMover final : public Mover {
 public:
  RememberingMover(BlockModel& model, bool learns)
      : kept_(model), seen_(model.model().observations(), false), learns_(learns) {}
  void begin_pass() override {
    if (learns_ && passes_++ > 0) kept_.refresh();
  }
  const GlobalPosterior& posterior() const override { return kept_.posterior(); }
  void step(const Batch& batch, const Contribution&, int, double) override {
    if (kept_.visit(batch.rows, 0, batch.at, !seen_[batch.at[0]]) == 0) return;
    for (const Index n : batch.at) seen_[n] = true;
  }

 private:
  KeptSites kept_;
  std::vector<bool> seen_;
  bool learns_;
  int passes_ = 0;
};

/// Mean and log Cholesky factor in the prior's units, by their gradient.
template <class Rule>
class GradientMover final : public Mover {
 public:
  GradientMover(BlockModel& model, double size)
      : model_(model), numbers_(*model.posterior_of(model.no_sites(), 1)), size_(size) {
    x_ = Vector::Zero(numbers_.size());
    q_ = *numbers_.read(model.model().context(), x_);
  }
  const GlobalPosterior& posterior() const override { return q_; }
  void step(const Batch&, const Contribution& sums, int, double share) override {
    Vector gradient(x_.size()), next = x_;
    GlobalPoint point;
    point.q = q_;
    point.sums = sums;
    numbers_.gradient(model_, point, x_, gradient);
    if (!gradient.allFinite()) return;
    move(gradient, share * size_, next);
    if (auto q = numbers_.read(model_.model().context(), next)) {
      x_ = std::move(next);
      q_ = std::move(*q);
    }
  }

 private:
  void move(const Vector& gradient, double size, Vector& x) {
    if constexpr (std::is_same_v<Rule, Adam>)
      rule_.step(gradient, Vector::Constant(x.size(), size), x);
    else
      rule_.step(gradient, size, x);
  }

  BlockModel& model_;
  LatentNumbers numbers_;
  double size_;
  Rule rule_;
  Vector x_;
  GlobalPosterior q_;
};

std::unique_ptr<Mover> make_mover(BlockModel& model, const StochasticControl& control, bool learns) {
  const double given = control.step_size;
  switch (control.rule) {
    case StepRule::adam: return std::make_unique<GradientMover<Adam>>(model, given > 0 ? given : 0.03);
    case StepRule::adadelta: return std::make_unique<GradientMover<Adadelta>>(model, given > 0 ? given : 0.1);
    case StepRule::sag: return std::make_unique<RememberingMover>(model, learns);
    case StepRule::svrg: return std::make_unique<AnchoredMover>(model, learns);
    default: return std::make_unique<NaturalMover>(model, learns);
  }
}

/// Detects when the sampled bound has stopped rising: its mean over windows of steps, with a standard error.
class Windows {
 public:
  Windows(Index steps, double rows) : steps_(steps), rows_(rows) {}
  /// True at the end of a window.
  bool add(double value) {
    sum_ += value;
    squares_ += value * value;
    if (++count_ < steps_) return false;
    const double mean = sum_ / count_;
    const double error = std::sqrt(std::max(0.0, squares_ / count_ - mean * mean) / count_);
    means_.push_back(mean);
    // each row once, so that differences between rows do not count as noise between passes
    const double noise = std::max(2 * error / std::sqrt(10.0), 1e-3 * rows_);
    const std::size_t n = means_.size();
    settled_ = n > 2 && means_[n - 1] - means_[n - 3] < noise;
    sum_ = squares_ = 0;
    count_ = 0;
    return true;
  }
  bool settled() const { return settled_; }
  double mean() const { return means_.back(); }

 private:
  Index steps_, count_ = 0;
  double rows_, sum_ = 0, squares_ = 0;
  std::vector<double> means_;
  bool settled_ = false;
};

/// Step sizes: constant first, then decreasing to a hundredth.
class Schedule {
 public:
  Schedule(double steps) : total_(steps) {}
  /// The remaining steps are the decay: three for every seven so far.
  void decay_from(int t) {
    if (total_ > 0) return;
    total_ = std::max(t + 60.0, t / 0.7);
    begin_ = t;
  }
  double share(int t) const {
    if (total_ <= 0) return 1;
    const double begin = begin_ > 0 ? begin_ : 0.7 * total_;
    return t <= begin ? 1 : std::max(0.01, 1 - 0.99 * (t - begin) / (total_ - begin));
  }
  bool known() const { return total_ > 0; }
  bool over(int t) const { return known() && t >= total_; }

 private:
  double total_, begin_ = 0;
};

// places: learned coordinates of inducing points.
Index batch_rows(const BlockModel& model, const StochasticControl& control, Index places) {
  const Index N = model.model().observations();
  if (control.batch_rows > 0) return std::min(control.batch_rows, N);
  // The factorisations of a step, about 10 L^3, should cost less than its rows, L^2 + L p each with p inputs.
  Index L = 1;
  for (Index k = 0; k < model.model().latents(); ++k) L = std::max(L, model.prior(k).columns());
  const Index even = 10 * L * L / (L + places / L);
  return std::min(N, std::max<Index>(50, std::min(std::max<Index>(1000, even), N / 10)));
}

struct Stop {};

/// Minibatches until the schedule ends. hyper: null if hyperparameters are fixed.
GlobalPosterior run(BlockModel& model, HyperMover* hyper, const InferenceControl& control, Trace& trace) {
  constexpr int most = 200000;
  constexpr Index shortest = 100, longest = 200;  // windows, in steps
  LatentGaussianModel& core = model.model();
  const StochasticControl& how = control.stochastic;
  const Index N = core.observations(), B = batch_rows(model, how, hyper ? hyper->places() : 0),
              steps = std::max<Index>(1, N / B);
  std::optional<HeldBasis> basis(core);
  auto mover = make_mover(model, how, hyper != nullptr);
  Schedule schedule(how.passes > 0 ? how.passes * static_cast<double>(steps) : 0);
  // whole passes where they are short, so that every row is in a window equally often
  const Index window = steps < shortest ? (shortest + steps - 1) / steps * steps : std::min(steps, longest);
  Windows windows(window, static_cast<double>(N));
  int t = 0, began = 0;  // steps in all, and steps of earlier q
  try {
    while (true) {
      mover->begin_pass();
      model.for_batches(B, [&](const RowBlock& rows, const std::vector<Index>& at) {
        core.context().monitor.poll();
        if (schedule.over(t) || t >= most) throw Stop{};
        ++t;
        const Batch batch{rows, at, static_cast<double>(N) / static_cast<double>(rows.size())};
        const double share = schedule.share(t);
        Wanted wanted;
        wanted.gradient = hyper != nullptr;
        const GlobalPosterior& q = mover->posterior();
        Contribution sums = model.batch_sum(q, rows, wanted);
        scale(batch.scale, sums);
        double bound = sums.value;
        for (Index k = 0; k < core.latents(); ++k)
          bound -= q[k].kl_of_mean(model.prior(k)) + q[k].kl_of_covariance(model.prior(k));
        mover->step(batch, sums, t - began, share);
        // the first minibatches move q alone
        if (hyper && t - began > 10 && hyper->step(hyper_gradient(core, sums, core.hypers()), share)) {
          try {
            core.update(hyper->values());
          } catch (const std::domain_error&) {  // no prior here, or none with the points in this order
            hyper->undo();
            basis.reset();
            core.update(hyper->values());
            basis.emplace(core);
            mover = make_mover(model, how, true);
            began = t;
          }
        }
        core.context().cost.rows += static_cast<double>(rows.size());
        if (std::isfinite(bound) && windows.add(bound)) {
          trace.attempt();  // windows differ by chance: the last one represents all
          trace.at(core.hyper(), start_at(mover->posterior()), windows.mean());
          trace.add(windows.mean(), std::numeric_limits<double>::quiet_NaN());
          if (!schedule.known() && windows.settled()) schedule.decay_from(t);
        }
      });
    }
  } catch (const Stop&) {
  }
  return mover->posterior();
}

}  // namespace

StepRule step_rule_from(const std::string& name) {
  const auto found = rules().find(name);
  if (found == rules().end()) throw std::invalid_argument("unknown step rule \"" + name + "\"");
  return found->second;
}

std::vector<std::string> step_rules() {
  std::vector<std::string> out;
  for (const auto& rule : rules()) out.push_back(rule.first);
  return out;
}

SumsResult stochastic(BlockModel model, const std::optional<Start>& start, const InferenceControl& control,
                      Trace& trace) {
  if (start) return incremental(model, start, control, trace);
  const Start near = start_at(run(model, nullptr, control, trace));
  return incremental(model, near, control, trace);
}

GlobalPosterior learn_stochastically(BlockModel& model, HyperMover& hyper, const InferenceControl& control,
                                     Trace& trace) {
  return run(model, &hyper, control, trace);
}

}  // namespace galvi

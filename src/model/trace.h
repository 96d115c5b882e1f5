// The record of a fit's progress: bound against iterations, seconds and flops.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "model/posterior.h"
#include "numeric/context.h"

namespace galvi {

struct TraceRow {
  static constexpr int no_step = -1;
  int iteration;
  int start;  // number of the search for hyperparameters, from 1
  int step;   // number of that search's step, from 0; no_step where it is no improvement
  double seconds;
  double elbo;
  double gap;  // NaN where there is no certificate
  Cost cost;
};

/// `silent`: whoever runs the inference reports progress itself.
enum class Stage { inference, learning, silent };

/// How far a search has come: from here a stopped fit is made.
struct BestSoFar {
  Vector hyper;
  Start start;
  double elbo;
};

class Trace {
 public:
  explicit Trace(Context& context) : context_(context), start_(Clock::now()) {}

  /// The stage of the following rows, for the progress line. While hyperparameters move, the gap of each
  /// inference does not tell how far the search has come.
  void stage(Stage stage) { stage_ = stage; }
  /// The following rows belong to this search for hyperparameters, which may have begun before.
  void search(int number) {
    search_ = number;
    step_ = TraceRow::no_step;
    best_ = -std::numeric_limits<double>::infinity();
    for (const TraceRow& row : rows_)
      if (row.start == number) step_ = std::max(step_, row.step);
  }
  /// The following rows, until judge(), are at hyperparameters that the search tries.
  void attempt() {
    attempted_ = rows_.size();
    trial_.reset();
  }
  /// The objective at these hyperparameters, which become the search's next step if it is the best so far.
  void judge(double objective) {
    const bool better = objective > best_;
    if (better) {
      best_ = objective;
      ++step_;
    }
    if (trial_ && objective > best_of_all_) {
      best_of_all_ = objective;
      best_trial_ = std::move(trial_);
    }
    for (std::size_t i = attempted_; i < rows_.size(); ++i)
      rows_[i].step = better ? step_ : TraceRow::no_step;
  }
  /// The q that the next call of add() records, at these hyperparameters.
  void at(const Vector& hyper, const Start& start, double elbo) {
    if (!trial_ || !(elbo < trial_->elbo)) trial_ = BestSoFar{hyper, start, elbo};
  }
  /// The search is over and ended here.
  void settle(BestSoFar best) {
    best_trial_ = std::move(best);
    best_of_all_ = std::numeric_limits<double>::infinity();
  }
  /// The best of the hyperparameters tried; where none has been judged, the highest bound so far.
  const std::optional<BestSoFar>& best_so_far() const { return best_trial_ ? best_trial_ : trial_; }
  /// Records an iteration of inference, reports progress and checks for interrupts.
  void add(const Vector& hyper, const SitePosterior& q, double gap) {
    at(hyper, q.sites, q.elbo);
    add(q.elbo, gap);
  }
  void add(double elbo, double gap) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const int number = static_cast<int>(rows_.size());
    rows_.push_back({number, search_, std::max(step_, 0), seconds, elbo, gap, context_.cost});
    context_.monitor.poll();
    if (stage_ == Stage::silent) return;
    const bool learning = stage_ == Stage::learning;
    context_.monitor.report({learning ? "Learning hyperparameters" : "Computing the posterior",
                             rows_.back().iteration, elbo,
                             learning ? std::numeric_limits<double>::quiet_NaN() : gap});
  }
  const std::vector<TraceRow>& rows() const { return rows_; }

 private:
  using Clock = std::chrono::steady_clock;
  Context& context_;
  Clock::time_point start_;
  Stage stage_ = Stage::inference;
  int search_ = 1, step_ = TraceRow::no_step;
  double best_ = -std::numeric_limits<double>::infinity(), best_of_all_ = best_;
  std::optional<BestSoFar> trial_, best_trial_;
  std::size_t attempted_ = 0;
  std::vector<TraceRow> rows_;
};

}  // namespace galvi

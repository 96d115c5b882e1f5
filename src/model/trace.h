// The record of a fit's progress: bound against iterations, seconds and flops.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "numeric/context.h"

namespace galvi {

struct TraceRow {
  static constexpr int no_step = -1;
  int iteration;
  int start;  // of which search for hyperparameters, from 1
  int step;   // of that search, from 0; no_step where it tried hyperparameters that are not better
  double seconds;
  double elbo;
  double gap;  // NaN where there is no certificate
  Cost cost;
};

class Trace {
 public:
  explicit Trace(Context& context) : context_(context), start_(Clock::now()) {}

  /// What the next rows belong to, for the progress line.
  void stage(std::string name) { stage_ = std::move(name); }
  /// The next rows belong to this search for hyperparameters; it may have begun before.
  void search(int number) {
    search_ = number;
    step_ = TraceRow::no_step;
    best_ = -std::numeric_limits<double>::infinity();
    for (const TraceRow& row : rows_)
      if (row.start == number) step_ = std::max(step_, row.step);
  }
  /// The next rows, until judge(), are at hyperparameters that the search tries.
  void attempt() { attempted_ = rows_.size(); }
  /// Their objective: they are the next step of the search if it is the best so far.
  void judge(double objective) {
    const bool better = objective > best_;
    if (better) {
      best_ = objective;
      ++step_;
    }
    for (std::size_t i = attempted_; i < rows_.size(); ++i)
      rows_[i].step = better ? step_ : TraceRow::no_step;
  }
  /// Records an iteration of inference and lets the monitor speak and interrupt.
  void add(double elbo, double gap) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const int number = static_cast<int>(rows_.size());
    rows_.push_back({number, search_, std::max(step_, 0), seconds, elbo, gap, context_.cost});
    context_.monitor.poll();
    context_.monitor.report({stage_, rows_.back().iteration, elbo, gap});
  }
  const std::vector<TraceRow>& rows() const { return rows_; }

 private:
  using Clock = std::chrono::steady_clock;
  Context& context_;
  Clock::time_point start_;
  std::string stage_ = "inference";
  int search_ = 1, step_ = TraceRow::no_step;
  double best_ = -std::numeric_limits<double>::infinity();
  std::size_t attempted_ = 0;
  std::vector<TraceRow> rows_;
};

}  // namespace galvi

// The record of a fit's progress: bound against iterations, seconds and flops.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "numeric/context.h"

namespace galvi {

struct TraceRow {
  int iteration;
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
  /// Records a step and lets the monitor speak and interrupt.
  void add(double elbo, double gap) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    rows_.push_back({static_cast<int>(rows_.size()), seconds, elbo, gap, context_.cost});
    context_.monitor.poll();
    context_.monitor.report({stage_, rows_.back().iteration, elbo, gap});
  }
  const std::vector<TraceRow>& rows() const { return rows_; }

 private:
  using Clock = std::chrono::steady_clock;
  Context& context_;
  Clock::time_point start_;
  std::string stage_ = "inference";
  std::vector<TraceRow> rows_;
};

}  // namespace galvi

// The border's Monitor: R's interrupts come in, progress goes out to an R function.
#pragma once

#include <Rcpp/Lightest>

#include <chrono>
#include <limits>
#include <optional>

#include "numeric/blas_threads.h"
#include "numeric/context.h"

namespace galvi {

/// Listens to the user (Ctrl-C becomes an exception that unwinds the core, then an R interrupt) and reports
/// progress. Both are rate limited by a steady clock, so calling them in inner loops is cheap. The core calls
/// it on the main thread only: R is not thread-safe.
class RMonitor : public Monitor {
 public:
  /// `report` is NULL (silent) or an R function(stage, iteration, elbo, gap, of). After `seconds` poll() throws
  /// OutOfTime, but only from with_limit() to without_limit().
  explicit RMonitor(SEXP report, double seconds = std::numeric_limits<double>::infinity());
  void with_limit() override {
    limited_ = true;
    next_poll_ = Clock::now();
  }
  void without_limit() override { limited_ = false; }

  void poll() override;
  void report(const Progress& progress) override;
  double uniform() override {
    use_generator();
    return R::unif_rand();
  }
  double normal() override {
    use_generator();
    return R::norm_rand();
  }

 private:
  using Clock = std::chrono::steady_clock;

  // R's generator is read at the first draw and written back at the end: what draws nothing leaves .Random.seed as
  // it was, also where there is none.
  void use_generator() {
    if (!generator_) generator_.emplace();
  }

  std::optional<Rcpp::RNGScope> generator_;
  SEXP report_;  // kept alive by the caller's argument for the length of the call
  Clock::time_point next_poll_, end_;
  Clock::time_point next_report_;
  bool limited_ = false;
  std::string last_stage_;
};

/// The monitor of one call from R. Meanwhile computations within a row listen to it, and BLAS has one thread. Objects
/// that outlive the call end in any order: they keep an RMonitor.
class CallMonitor final : public RMonitor {
 public:
  using RMonitor::RMonitor;

 private:
  const Listening listening_{*this};
  const OneBlasThread one_;
};

}  // namespace galvi

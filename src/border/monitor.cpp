#include "border/monitor.h"

namespace galvi {
namespace {

constexpr std::chrono::milliseconds kPollEvery{100};
constexpr std::chrono::milliseconds kReportEvery{100};

}  // namespace

RMonitor::RMonitor(SEXP report, double seconds)
    : report_(report), next_poll_(Clock::now()), end_(Clock::time_point::max()), next_report_(Clock::now()) {
  constexpr double longest = 1e9;  // beyond it a clock's count overflows
  if (seconds < longest)
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  if (!Rf_isNull(report) && !Rf_isFunction(report)) {
    throw std::invalid_argument("`report` must be NULL or a function.");
  }
}

void RMonitor::poll() {
  const Clock::time_point now = Clock::now();
  if (now < next_poll_) return;
  next_poll_ = now + kPollEvery;
  // An interrupt, and the error of a time limit (setTimeLimit()), unwind as an exception, so that destructors run, and
  // then go on as what they are.
  Rcpp::unwindProtect([]() -> SEXP {
    R_CheckUserInterrupt();
    return R_NilValue;
  });
  if (limited_ && now >= end_) throw OutOfTime();
}

void RMonitor::report(const Progress& progress) {
  if (Rf_isNull(report_)) return;
  // A new stage is always shown; within one, ten lines a second are enough.
  const Clock::time_point now = Clock::now();
  if (now < next_report_ && progress.stage == last_stage_) return;
  next_report_ = now + kReportEvery;
  last_stage_ = progress.stage;
  Rcpp::Function report(report_);
  report(progress.stage, progress.iteration, progress.elbo, progress.gap, progress.of);
}

}  // namespace galvi

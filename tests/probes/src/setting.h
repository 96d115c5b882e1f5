// What the probes share: the numeric layer's context, made for one call.
#pragma once

#include <stdexcept>
#include <string>

#include "border/list_access.h"
#include "numeric/backend.h"

/// Counts polls and throws at the `stop_at`-th.
class CountingMonitor final : public galvi::Monitor {
 public:
  explicit CountingMonitor(int stop_at = -1) : stop_at_(stop_at) {}
  void poll() override {
    if (++polls == stop_at_) throw std::runtime_error("stopped by the monitor");
  }
  void report(const galvi::Progress&) override {}
  double uniform() override { return 0.5; }
  double normal() override { return 0; }
  int polls = 0;

 private:
  int stop_at_;
};

struct Setting {
  explicit Setting(galvi::Backend& backend, int threads = 1, int stop_at = -1)
      : monitor(stop_at), context{backend, monitor, threads} {}
  explicit Setting(const std::string& backend, int threads = 1, int stop_at = -1)
      : Setting(galvi::backend(backend), threads, stop_at) {}
  CountingMonitor monitor;
  galvi::Context context;
};

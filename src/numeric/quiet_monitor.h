// The monitor of work inside a block of parallel_for(), which polls between blocks.
#pragma once

#include <stdexcept>

#include "numeric/context.h"

namespace galvi {

class QuietMonitor final : public Monitor {
 public:
  void poll() override {}
  void report(const Progress&) override {}
  double uniform() override { throw std::logic_error("a block of a loop draws random numbers"); }
  double normal() override { return uniform(); }
};

}  // namespace galvi

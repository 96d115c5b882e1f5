// A Gaussian process of one input whose kernels have a state space: alone or beside columns no N x N matrix is needed.
#pragma once

#include "kernel/state_space.h"
#include "prior/kernel_term.h"

namespace galvi {

class ChainTerm final : public KernelTerm {
 public:
  explicit ChainTerm(const TermSpec& spec) : KernelTerm(spec) {
    for (const auto& kernel : kernels_)
      if (inputs_ != 1 || !kernel->state_space())
        throw std::invalid_argument("term " + label() + " is not a Markov process of one input");
  }
  const ChainTerm* chain() const override { return this; }
  /// Of a group, from 0.
  const StateSpace& space(Index group) const {
    return *kernels_[kernels_.size() == 1 ? 0 : static_cast<std::size_t>(group)]->state_space();
  }
  /// Whether these are the rows over which the process has mean zero.
  using KernelTerm::is_centre;
};

}  // namespace galvi

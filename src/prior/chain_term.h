// Terms that are Markov processes of one input: alone or beside columns no N x N matrix is needed.
#pragma once

#include <stdexcept>

#include "kernel/state_space.h"
#include "prior/kernel_term.h"
#include "prior/shared_term.h"

namespace galvi {

/// The processes of a term, as a solver of their states takes them.
class ChainTerm {
 public:
  virtual ~ChainTerm() = default;
  /// Of a process, from 0.
  virtual const StateSpace& space(Index process) const = 0;
  /// How many processes all rows share; zero where each group of rows has a process of its own.
  virtual Index shared() const { return 0; }
  /// The factors of a shared process in these rows, which hyperparameters move.   n
  virtual Vector factor(const KernelRows& rows, Index /*process*/) const { return Vector::Ones(rows.inputs.rows()); }
  /// hyper[h] += sum_n g_n d factor_n / dh.
  virtual void add_factor_gradient(const KernelRows& /*rows*/, Index /*process*/, const ConstVectorRef& /*g*/,
                                   VectorRef /*hyper*/) const {}
  /// Whether these are the rows over which the process has mean zero.
  virtual bool is_centre(const KernelRows& /*rows*/) const { return false; }

 protected:
  /// Throws std::invalid_argument if a kernel has no state space over one input.
  static void check_markov(const std::string& label, Index inputs,
                           const std::vector<std::unique_ptr<Kernel>>& kernels) {
    for (const auto& kernel : kernels)
      if (inputs != 1 || !kernel->state_space())
        throw std::invalid_argument("term " + label + " is not a Markov process of one input");
  }
};

/// A process, or one for each group of rows.
class KernelChain final : public KernelTerm, public ChainTerm {
 public:
  explicit KernelChain(const TermSpec& spec) : KernelTerm(spec) { check_markov(label(), inputs_, kernels_); }
  const ChainTerm* chain() const override { return this; }
  const StateSpace& space(Index group) const override {
    return *kernels_[kernels_.size() == 1 ? 0 : static_cast<std::size_t>(group)]->state_space();
  }
  bool is_centre(const KernelRows& rows) const override { return KernelTerm::is_centre(rows); }
};

/// Processes that groups share.
class SharedChain final : public SharedTerm, public ChainTerm {
 public:
  explicit SharedChain(const TermSpec& spec) : SharedTerm(spec) { check_markov(label(), inputs_, kernels_); }
  const ChainTerm* chain() const override { return this; }
  const StateSpace& space(Index process) const override { return *kernel(process).state_space(); }
  Index shared() const override { return loadings_.processes(); }
  Vector factor(const KernelRows& rows, Index process) const override { return loadings_.factor(rows, process); }
  void add_factor_gradient(const KernelRows& rows, Index process, const ConstVectorRef& g,
                           VectorRef hyper) const override {
    loadings_.add_gradient(rows, process, g, hyper);
  }
};

}  // namespace galvi

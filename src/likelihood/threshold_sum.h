// Ordered classes as a sum of one function at thresholds.
#pragma once

#include "likelihood/datum_sum.h"
#include "likelihood/thresholds.h"

namespace galvi {

/// sum_j f(x - threshold_j) over thresholds from `from` to `to` below the class, f(threshold_j - x) over those above it,
/// x = scale eta. The log density of one datum, for expectations of it.
class ThresholdSum final : public DatumSum {
 public:
  ThresholdSum(const Thresholds& thresholds, const StandardFunction& f, const Datum& datum, Index from,
               Index to)
      : DatumSum(f), thresholds_(thresholds), class_(thresholds.class_of(datum)), from_(from), to_(to) {}

  void compose(const Datum&, Composition& sum) const override {
    for (Index j = from_; j <= to_; ++j) {
      const double sign = j < class_ ? 1.0 : -1.0;
      sum.add(0, 1.0, sign * thresholds_.scale(), -sign * thresholds_.values()[static_cast<std::size_t>(j)]);
    }
  }
  void add_composition_gradient(const Datum&, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    for (Index j = from_; j <= to_; ++j) {
      const double slope = adjoint.shift[static_cast<std::size_t>(j - from_)];
      thresholds_.add(j, j < class_ ? -slope : slope, gradient);
    }
  }
  bool has_hyper() const override { return true; }

 private:
  const Thresholds thresholds_;
  Index class_, from_, to_;
};

}  // namespace galvi

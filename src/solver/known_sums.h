// Sums over rows that are linear in the sites: W' diag(lambda) W and W' b. Sites that an algorithm tries are
// as a rule combinations of sites and steps whose sums have been taken, and then another pass is not needed.
#pragma once

#include <deque>
#include <optional>

#include "numeric/types.h"

namespace galvi {

struct SiteSums {
  Matrix cross;      // W' diag(lambda) W, both triangles
  Vector projected;  // W' b
};

class KnownSums {
 public:
  void forget() { known_.clear(); }
  /// Sites, or a step between sites.
  void add(const Vector& lambda, const Vector& b, const SiteSums& sums);
  /// The sums of these sites if they are a combination of known ones, but for rounding.
  std::optional<SiteSums> find(const Vector& lambda, const Vector& b) const;

 private:
  struct Entry {
    Vector lambda, b;
    SiteSums sums;
  };
  std::deque<Entry> known_;
};

}  // namespace galvi

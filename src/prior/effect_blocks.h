// The precision of the effects of a group, an entry for each part of a field.
#pragma once

#include <vector>

#include "prior/effect_structure.h"
#include "prior/term.h"

namespace galvi {

/// Effects with standard deviations s and correlations R have Sigma_ab = s_a s_b R_ab; their precision is
/// Omega = (Sigma - noise I)^-1. Parts: entries a <= b of Omega, column after column of its upper triangle: all of
/// them, or where R^-1 has no others those of its main diagonal, or of that and the next.
class EffectBlock {
 public:
  /// sd: positions in the table, of q standard deviations or of one for all effects. cor: those of the numbers of R.
  /// Throws std::invalid_argument if counts disagree.
  EffectBlock(const EffectStructure& structure, Index q, Index parts, std::vector<Index> sd, std::vector<Index> cor,
              double noise);

  Index count() const { return static_cast<Index>(pairs_.size()); }
  /// values: one per part. Throws std::domain_error where Sigma - noise I is not positive definite.
  void update(const ConstVectorRef& hyper, VectorRef values);
  /// hyper[h] += sum_p d_values_p d value_p / dh.
  void chain(const ConstVectorRef& d_values, VectorRef hyper) const;

 private:
  struct Pair {
    Index a, b;
  };
  const EffectStructure* structure_;
  Index q_;
  std::vector<Pair> pairs_;
  std::vector<Index> sd_, cor_;
  double noise_;
  Vector s_, numbers_;
  Matrix R_, omega_;
};

}  // namespace galvi

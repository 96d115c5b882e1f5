// The rows over which a term has mean zero.
#pragma once

#include <stdexcept>

#include "prior/term.h"

namespace galvi {

/// From 0.
inline Index group_of(const KernelRows& rows, Index n) { return rows.group.size() > 0 ? rows.group[n] - 1 : 0; }

inline Index groups_of(const CentreSpec& centre) {
  return centre.rows.group.size() > 0 ? centre.rows.group.maxCoeff() : 1;
}

/// With weights that add up to one within groups, equal ones where all are zero. Throws std::invalid_argument where
/// inputs, groups and weights differ in length.
inline CentreSpec normalised(CentreSpec centre, const std::string& label, Index inputs) {
  const Index R = centre.weight.size();
  const KernelRows& rows = centre.rows;
  const bool fits = rows.inputs.rows() == R && (R == 0 || rows.inputs.cols() == inputs) && rows.by.size() == 0 &&
                    (rows.group.size() == 0 || (rows.group.size() == R && rows.group.minCoeff() >= 1));
  if (!fits) throw std::invalid_argument("term " + label + ": the rows of its mean do not fit together");
  Vector total = Vector::Zero(groups_of(centre));
  Vector count = Vector::Zero(total.size());
  for (Index r = 0; r < R; ++r) {
    total[group_of(rows, r)] += centre.weight[r];
    count[group_of(rows, r)] += 1;
  }
  for (Index r = 0; r < R; ++r) {
    const Index group = group_of(rows, r);
    centre.weight[r] = total[group] > 0 ? centre.weight[r] / total[group] : 1 / count[group];
  }
  return centre;
}

inline std::vector<Index> rows_of_group(const KernelRows& rows, Index group) {
  std::vector<Index> out;
  for (Index n = 0; n < rows.inputs.rows(); ++n)
    if (group_of(rows, n) == group) out.push_back(n);
  return out;
}

inline Vector weights_at(const CentreSpec& centre, const std::vector<Index>& at) {
  Vector out(static_cast<Index>(at.size()));
  for (Index i = 0; i < out.size(); ++i) out[i] = centre.weight[at[i]];
  return out;
}

}  // namespace galvi

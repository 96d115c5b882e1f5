// Shared processes: the function of group j is f_j = sum_r a_jr u_r with independent processes u_r, the linear model
// of coregionalisation (Journel and Huijbregts 1978; Alvarez, Rosasco and Lawrence 2012). The loadings a_jr are
// hyperparameters, so that process r enters row n with the factor a_jr of the row's group j.
#pragma once

#include "kernel/gram.h"

namespace galvi {

class Loadings {
 public:
  /// at: positions in the table of hyperparameters.   J x R
  explicit Loadings(Eigen::MatrixXi at) : at_(std::move(at)), value_(Matrix::Zero(at_.rows(), at_.cols())) {}

  Index groups() const { return at_.rows(); }     // J
  Index processes() const { return at_.cols(); }  // R
  void update(const ConstVectorRef& hyper) {
    value_ = at_.unaryExpr([&](int at) { return hyper[at]; });
  }
  /// Factors of process r in these rows, times their `by`.   n
  Vector factor(const KernelRows& rows, Index r) const {
    Vector out(rows.group.size());
    for (Index n = 0; n < out.size(); ++n) out[n] = value_(rows.group[n] - 1, r) * scale(rows, n);
    return out;
  }
  /// hyper[h] += sum_n g_n d factor_n / dh.
  void add_gradient(const KernelRows& rows, Index r, const ConstVectorRef& g, VectorRef hyper) const {
    for (Index n = 0; n < g.size(); ++n) hyper[at_(rows.group[n] - 1, r)] += g[n] * scale(rows, n);
  }
  /// Rows begin .. begin + n - 1 as process r sees them: without groups, scaled by its factor.
  KernelRows seen_by(const KernelRows& rows, Index r, Index begin, Index n) const {
    KernelRows own{rows.inputs.middleRows(begin, n), {}, rows.group.segment(begin, n)};
    if (rows.by.size() > 0) own.by = rows.by.segment(begin, n);
    own.by = factor(own, r);
    own.group.resize(0);
    return own;
  }
  KernelRows seen_by(const KernelRows& rows, Index r) const { return seen_by(rows, r, 0, rows.inputs.rows()); }

 private:
  static double scale(const KernelRows& rows, Index n) { return rows.by.size() > 0 ? rows.by[n] : 1.0; }

  Eigen::MatrixXi at_;
  Matrix value_;  // a
};

}  // namespace galvi

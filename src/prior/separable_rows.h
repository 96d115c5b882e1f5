// Rows over nodes that come in runs of one length, where weights are products: of a place and of a moment.
#pragma once

#include <vector>

#include "numeric/eigen_sparse.h"
#include "prior/term.h"

namespace galvi {

/// Row n has the weight scale_n a_(t,j) u_(s,m) at the m-th node of the j-th run of its moment t, where s is its place.
/// So no row needs weights of its own, and rows of one moment are a product of matrices.
struct SeparableRows {
  // What hyperparameters do not change. Moments are in the order of their runs, so that equal runs follow each other.
  Index width = 0;          // M, the nodes of a run
  Matrix places;            // S x p: of distinct rows
  Vector times;             // T
  Eigen::VectorXi place_level, time_level;  // of each place and moment, from 0: S, T
  Eigen::VectorXi place, moment;            // of each row: N
  Vector scale;             // N, or empty for ones
  Eigen::MatrixXi run;      // J x T: first nodes, ascending; -1: none
  std::vector<Index> rows;  // ordered by moment
  std::vector<Index> first_row;  // of each moment among these, and the end

  // At the present hyperparameters: see Term::weigh().
  Matrix space;  // u: M x S
  Matrix time;   // a: J x T

  Index size() const { return place.size(); }  // N
  double scale_of(Index n) const { return scale.size() > 0 ? scale[n] : 1; }
  /// How many runs a moment has.
  Index runs(Index t) const;
};

/// The gradient of the bound through the weights, as sums over rows.
struct SeparableGradient {
  Matrix space, time;  // like those of the rows
  explicit SeparableGradient(const SeparableRows& rows)
      : space(Matrix::Zero(rows.space.rows(), rows.space.cols())),
        time(Matrix::Zero(rows.time.rows(), rows.time.cols())) {}
  /// Adds that of row n, of moment t, with d bound / dW in the order of its nodes.
  void add_row(const SeparableRows& rows, Index n, Index t, const ConstVectorRef& d_weight);
};

/// Places, moments and which row has which, of rows whose last input is time; without `runs`, which the field knows.
SeparableRows separable_rows_of(const KernelRows& rows);
/// Puts the rows in the order of their moments.
void order_by_moment(SeparableRows& rows);
/// All weights, of L nodes.   N x L
SparseRows expanded(const SeparableRows& rows, Index L);

}  // namespace galvi

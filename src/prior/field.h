// Gaussian Markov random fields: a sparse precision, its null space, and the moments that follow.
#pragma once

#include <optional>
#include <utility>

#include "numeric/sparse_cholesky.h"
#include "prior/field_coefficients.h"
#include "prior/term.h"

namespace galvi {

/// W of a field with L nodes: row n has its weights in its nodes.   n x L
SparseRows node_design(const TermRows& rows, Index L);

/// Position of (i, j) or (j, i) among the values of a lower triangle; -1 if it is not there.
Index position(const SparseMatrix& lower, Index i, Index j);

/// z ~ N(0, Q^-) with a sparse precision Q of L nodes. Of an intrinsic field Q has a null space, as many
/// directions as there are constraints, and z is N(0, Q^-) under B' z = 0. With one pin per constraint
/// R = Q + diag(pin weights at the pins) is positive definite; without constraints R is Q. A field says where the
/// values of Q come from, and what follows for its moments and the gradient.
class Field {
 public:
  virtual ~Field() = default;

  virtual void update(const ConstVectorRef& hyper) = 0;

  Index size() const { return precision_.rows(); }            // L
  const Matrix& constraints() const { return constraints_; }  // B, L x c
  const std::vector<Index>& pins() const { return pins_; }
  const Vector& pin_weights() const { return pin_weights_; }
  /// The lower triangle of R.
  const SparseMatrix& pinned_precision() const { return precision_; }
  /// What was added to variances so that Q can be computed, as a part of the largest.
  virtual double jitter() const { return 0; }

  Vector precision_times(const Vector& z) const;                                          // Q z
  virtual Matrix covariance_times(Context& context, const ConstMatrixRef& X) const = 0;  // Q^- X
  /// H with H'H = Q^-, applied to X: |H x|^2 = x' Q^- x.   L x k
  virtual Matrix whitened(Context& context, const ConstMatrixRef& X) const = 0;
  /// log|R| + 2 log|B'N|, the log determinant of R with constraints and pins as SparseSolver borders them (N: see
  /// MarkovField).
  virtual double log_det(Context& context) const = 0;
  /// Q^- on the pattern of R, one entry per value, and on the diagonal.
  virtual Vector covariances(Context& context) const = 0;
  Vector variances(Context& context) const;
  /// diag(W Q^- W') for rows W over the nodes.
  Vector row_variances(Context& context, const SparseRows& W) const;

  /// hyper[h] += sum over Q's full pattern of G_ij dQ_ij / dh + share d log|Q| / dh, the latter on the complement of
  /// the null space. G is symmetric, with one entry per value of R.
  virtual void add_gradient(Context& context, const Vector& G, double share, VectorRef hyper) const = 0;

 protected:
  /// `pattern`: of the lower triangle, with all of the diagonal.
  Field(SparseMatrix pattern, std::vector<Index> pins);

  std::vector<Index> pins_;
  Matrix constraints_;
  Vector pin_weights_;
  IndexVector diagonal_;          // positions of the diagonal among the values
  std::vector<Index> component_;  // of each node: nodes that no chain of entries of Q connects are independent
  SparseMatrix precision_;
};

/// A field may be several of one model side by side, with parts and hyperparameters of their own and no entry of
/// Q between them: the levels of a factor `by`, the independent slopes of (x || g).
///
/// Q = sum_p coefficient_p(hyper) part_p. N = R^-1 E diag(pin weights), E the pins' unit vectors, is the basis of the
/// null space that is one at its own pin and zero at the others', and x ~ N(0, R^-1) becomes z by moving along it until
/// the constraints hold:
///   z = P x,  P = I - N (B'N)^-1 B',  Q^- = P R^-1 P'.
/// Nothing is asked of B but that B'N is regular: in a field that reaches beyond its constraints (a forecast)
/// P is no orthogonal projection.
class MarkovField final : public Field {
 public:
  /// Throws std::invalid_argument if sizes disagree or the model is unknown.
  explicit MarkovField(const FieldSpec& spec);

  void update(const ConstVectorRef& hyper) override;

  Matrix covariance_times(Context& context, const ConstMatrixRef& X) const override;
  Matrix whitened(Context& context, const ConstMatrixRef& X) const override;
  double log_det(Context& context) const override;
  Vector covariances(Context& context) const override;
  void add_gradient(Context& context, const Vector& G, double share, VectorRef hyper) const override;

  /// Whether every node has one part, so that Q is that part times its coefficient. The sum of G_ij Q_ij is
  /// then all that is needed, and loses no digits in differences of large covariances.
  bool scaled() const { return !part_of_.empty(); }
  /// add_gradient() of a scaled field without its log determinant, from the diagonal of G Q.   L
  void add_gradient_of_scales(const Vector& with_Q, VectorRef hyper) const;

 private:
  void find_scales(const FieldSpec& spec);
  void factorise(Context& context) const;
  Matrix gauge_transposed(const ConstMatrixRef& X) const;  // P' X
  void add_parts_gradient(const Vector& G, VectorRef hyper) const;

  const std::string model_;
  FieldCoefficients coefficients_;
  SparseMatrix parts_;     // one row per value of R, one column per part
  std::vector<Index> part_of_;  // in a scaled field: each node's part
  Vector rank_;                 // and the number of each part's nodes less its constraints
  Vector multiplicity_;    // 1 on the diagonal, 2 off it
  Vector scale_;             // of each node: its part's coefficient in a scaled field, else 1
  Vector unit_, unit_pins_;  // R = scale * unit, and the weights of the pins

  // The results of factorising `unit`, computed when first asked for; a scaled field keeps them.
  mutable std::optional<SparseCholesky> factor_;
  mutable bool factorised_ = false, covariances_known_ = false;
  mutable Matrix shift_;  // N (B'N)^-1
  mutable double log_det_ = 0;
  mutable Vector covariances_;
};

}  // namespace galvi

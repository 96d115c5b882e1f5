// The factorised posterior precision of fields, dense columns and constraints together.
#pragma once

#include "solver/dense_columns.h"
#include "solver/field_stack.h"

namespace galvi {

/// With sites lambda the unknowns are z (fields), beta (columns), mu (multipliers of the constraints B'z = 0)
/// and s, which takes the pins out again (its elimination leaves Q where R was):
///   M = [A  E]   A = R + W_s' Lambda W_s                     G = [P + W_d' Lambda W_d        ]
///       [E' G]   E = [W_s' Lambda W_d, B, -e diag(kappa)]        [                     0     ]
///                                                                [                      kappa]
/// A is sparse; T = A^-1 E and the Schur complement S = G - E'T are as narrow as the border. The posterior
/// is proper exactly if M has one negative eigenvalue for each constraint, which is read off the pivots of S
/// in the order beta, mu, s. Negative sites may leave A without a factor though the constraints make the
/// posterior proper: then each of them becomes one more unknown, coupled by sqrt|lambda| w, whose elimination
/// subtracts |lambda| w w'.
class BorderedFactor {
 public:
  /// Reuses the analysis of `symbolic`. Not ok() if the posterior is improper.
  BorderedFactor(Context& context, const FieldStack& fields, const DenseColumns& columns,
                 const SparseCholesky& symbolic, const Vector& lambda);
  bool ok() const { return ok_; }
  /// log|det M|.
  double log_det() const { return log_det_; }

  /// M^-1 (X; Y; 0; 0): X (L x k) becomes z and Y (q x k) beta.
  void solve(Context& context, Matrix& X, Matrix& Y) const;
  /// For rows with W_s in `W` and W_d in `dense`, cov(eta, beta).   q x n
  /// and, if `quadratic` is given, the part of var(eta) that is not w_s' A^-1 w_s.
  Matrix cross_covariance(const Backend& backend, const SparseRows& W, Index begin,
                          const ConstMatrixRef& dense, Vector* quadratic = nullptr) const;
  /// Whether no row was moved to the border; otherwise the posterior is proper only because of the
  /// constraints.
  bool can_draw() const { return by_node_.rows() == columns_ + 2 * constraints_; }
  /// Draws of z (L x count) and beta (q x count) with the covariance M^-1.
  void draw(Context& context, const FieldStack& fields, Index count, Matrix& z, Matrix& beta) const;
  /// The border's contribution to cov(eta, z) at some nodes, for row n of W with these dense columns.
  Vector border_cross(const SparseRows& W, Index n, const Vector& dense, const std::vector<Index>& nodes) const;
  /// Flops of cross_covariance() per row.
  double row_flops() const { return 2.0 * border_inverse_.size(); }
  /// cov(beta).   q x q
  Matrix coefficient_covariance() const { return border_inverse_.topLeftCorner(columns_, columns_); }
  /// The diagonal of A.   L
  const Vector& diagonal() const { return diagonal_; }
  /// A^-1 on the pattern of A, computed when first asked for.
  const Vector& selected_inverse(Context& context) const;
  /// w' A^-1 w for each column of X.
  Vector quadratic_forms(Context& context, Matrix X) const;
  /// The border's contribution to (A^-1)_ij of cov(z).
  double border_covariance(Index i, Index j) const { return by_node_.col(i).dot(weighted_.col(j)); }

 private:
  struct Border;
  bool factorise(Context& context, const FieldStack& fields, const DenseColumns& columns,
                 const Vector& lambda, const std::vector<Index>& bordered);
  bool eliminate(Context& context, const Border& border, const DenseColumns& columns, bool negative_sites);

  SparseCholesky factor_;
  Index columns_, constraints_;
  bool ok_ = false;
  double log_det_ = 0;
  Vector diagonal_;
  Matrix by_node_;         // T', p x L
  Matrix border_inverse_;  // S^-1, p x p
  Matrix weighted_;        // S^-1 T'
  mutable Vector selected_inverse_;
};

}  // namespace galvi

// The prior axis: eta is a sum of independent Gaussian terms, each with a covariance over rows and, where the
// term is finite-dimensional, columns W with independent coefficients.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "numeric/eigen_sparse.h"
#include "prior/rows.h"

namespace galvi {

/// A sparse matrix as R hands it over; of a symmetric one the lower triangle.
struct Triplets {
  Index rows = 0, columns = 0;
  std::vector<Eigen::Triplet<double>> entries;
};

/// A Gaussian Markov random field over L nodes: precision Q = sum_p coefficient_p(hyper) precision_p, where
/// `model` says what the coefficients are. An intrinsic field has a null space: the field is orthogonal to
/// the columns of `constraints` (a basis of it), and with its node pinned for every constraint Q is positive
/// definite. Directions of the null space that get a prior of their own come back as `basis`, the term's
/// columns.
struct FieldSpec {
  std::string model;
  std::vector<Triplets> precision;                  // L x L each
  Triplets constraints;                             // L x c
  std::vector<Index> pins;                          // c
  Matrix basis;                                     // L x r
  std::map<std::string, std::vector<Index>> hyper;  // "variance", "mixing", "dependence", "correlation"
};

/// A sparse Gaussian process: z are the process's values at `groups` copies of M inducing points, whitened.
/// The points are centre_j + scale_j * hyper[coordinates(m, j)], so that they can move with the
/// hyperparameters.
struct InducingSpec {
  Eigen::MatrixXi coordinates;  // M x p
  Vector centre, scale;         // p
  Index groups = 1;             // levels of a factor `by`
  double jitter = 0;            // added to the diagonal of the points' covariance
};

/// Factors of an item by unit array: eta = x' c_item + w_item' z_unit, z_unit ~ N(0, I_d). The loadings w and
/// the effects c are hyperparameters: positions in their table.
struct FactorsSpec {
  Eigen::MatrixXi loadings;  // p x d
  Eigen::MatrixXi effects;   // p x q
  Index units = 0;
};

/// What R says about a term. mean and factors are the prior of a columns term's coefficients or of a field's
/// basis': see IndependentCoefficients.
struct TermSpec {
  std::string type;
  std::string label;
  KernelSpec kernel;
  Index inputs = 0;  // p, of a kernel
  Vector mean;
  Eigen::MatrixXi factors;
  FieldSpec field;
  InducingSpec inducing;
  FactorsSpec factor;
};

/// A symmetric n x n weight matrix G that is never held whole: its tiles and its products.
struct Weights {
  TileSource tile;
  std::function<Matrix(const Matrix&)> multiply;  // G X
};

class Field;
class FactorsTerm;

/// Rows by nodes, a few entries each.
using SparseRows = Eigen::SparseMatrix<double, Eigen::RowMajor>;

/// A term holds no rows: it is told which ones it is asked about, fitted or new.
class Term {
 public:
  virtual ~Term() = default;
  const std::string& label() const { return label_; }
  /// Reads its hyperparameters from the model's table (natural scale).
  virtual void update(const ConstVectorRef& hyper) = 0;
  /// While held, whitened columns keep their meaning from one update() to the next as far as they can.
  virtual void hold_basis(bool /*held*/) {}
  /// Throws std::invalid_argument if these rows are not what this term reads.
  virtual void check(const TermRows& rows) const = 0;

  /// mean (n) += the prior mean of the term at rows begin, begin + 1, ..; zero for all but columns and factors.
  virtual void add_prior_mean(const TermRows& /*rows*/, Index /*begin*/, VectorRef /*mean*/) const {}
  /// hyper[h] += sum_n g_n d mean_n / dh.
  virtual void add_prior_mean_gradient(const TermRows& /*rows*/, const ConstVectorRef& /*g*/,
                                       VectorRef /*hyper*/) const {}

  // The covariance view, which every term has.
  /// K (n x n, lower triangle) += cov(rows).
  virtual void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const = 0;
  virtual void add_variances(Context& context, const TermRows& rows, VectorRef d) const = 0;
  /// K (n x b) += cov(rows, others).
  virtual void add_cross(Context& context, const TermRows& rows, const TermRows& others,
                         MatrixRef K) const = 0;
  /// hyper[h] += sum_ij G_ij d cov(rows)_ij / dh.
  virtual void add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                                       VectorRef hyper) const = 0;

  // The finite view: f's part of this term is W u plus, in a sparse Gaussian process, independent noise of
  // variance c. u is whitened, N(0, I), of unit scale where the prior is flat; the coefficients themselves
  // are coefficient_mean + sd u.
  /// How many columns the term has; 0 for an infinite-dimensional one.
  virtual Index columns() const { return 0; }
  virtual const Vector& coefficient_mean() const { return none_; }      // q
  virtual const Vector& coefficient_variance() const { return none_; }  // q, may be infinite
  /// W (n x q) = the whitened columns of rows begin, begin + 1, .. May run on several threads.
  virtual void fill(const TermRows& /*rows*/, Index /*begin*/, MatrixRef /*W*/) const {}
  /// Whether c is not zero, and c (n) += that of the rows whose whitened columns are W.
  virtual bool has_extra_variances() const { return false; }
  virtual void add_extra_variances(const TermRows& /*rows*/, Index /*begin*/, const ConstMatrixRef& /*W*/,
                                   VectorRef /*c*/) const {}
  // The gradient of the bound through W and c: sums over rows, plain numbers that are added in any parts.
  virtual Index gradient_size() const { return 0; }
  /// sums += what these rows say. W as fill() gives it, G = d bound / dW, g = d bound / dc.   n x q, n x q, n
  virtual void add_gradient(const TermRows& /*rows*/, Index /*begin*/, const ConstMatrixRef& /*W*/,
                            const ConstMatrixRef& /*G*/, const ConstVectorRef& /*g*/,
                            VectorRef /*sums*/) const {}
  /// hyper[h] += d bound / dh (natural scale), linear in the sums.
  virtual void finish_gradient(const ConstVectorRef& /*sums*/, VectorRef /*hyper*/) const {}

  /// The whitened coefficients of this term as it was, u_old, given those that it has now: u_old | u ~ N(B u + shift,
  /// left). B: q_old x q, shift: q_old, left: q_old x q_old, both triangles. False where the terms are not of one kind.
  virtual bool recall(const Term& /*old*/, Matrix& /*B*/, Vector& /*shift*/, Matrix& /*left*/) const {
    return false;
  }

  // The sparse view.
  /// The field that the term has beside its columns; null for none.
  virtual const Field* field() const { return nullptr; }
  /// The weights of its nodes in these rows, and whether they move with the hyperparameters; which are zero or
  /// not does not.   n x L
  virtual SparseRows field_design(const TermRows& rows) const;
  virtual bool moves_field_design() const { return false; }
  /// hyper[h] += d bound / dh through those weights, where row n has d bound / d weight in G, in the order of
  /// its nodes.   n x h
  virtual void add_field_design_gradient(const TermRows& /*rows*/, const ConstMatrixRef& /*G*/,
                                         VectorRef /*hyper*/) const {}
  /// Null for all other terms.
  virtual const FactorsTerm* factors() const { return nullptr; }

 protected:
  explicit Term(std::string label) : label_(std::move(label)) {}
  /// check() with one part's number of columns.
  void check_width(const char* part, Index found, Index wanted) const;

 private:
  std::string label_;
  Vector none_;
};

/// Throws std::invalid_argument for an unknown type.
std::unique_ptr<Term> make_term(const TermSpec& spec, const Backend& backend);

/// What kind of prior a type of term has, which decides which solver serves it.
struct TermFacts {
  std::string type;
  bool full;    // infinite-dimensional: a covariance of all rows with each other
  bool fields;  // has nodes with a sparse precision
  bool units;   // no row joins two of its units: where it is alone their posteriors are independent
};
std::vector<TermFacts> term_facts();

}  // namespace galvi

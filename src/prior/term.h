// The prior axis: eta is a sum of independent Gaussian terms. Each has a covariance over rows and, if it is
// finite-dimensional, columns W with independent coefficients.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "numeric/dense.h"
#include "numeric/eigen_sparse.h"
#include "prior/rows.h"

namespace galvi {

/// A sparse matrix as R passes it; if symmetric, its lower triangle.
struct Triplets {
  Index rows = 0, columns = 0;
  std::vector<Eigen::Triplet<double>> entries;
};

/// A Gaussian Markov random field over L nodes with precision Q = sum_p coefficient_p(hyper) precision_p,
/// where `model` determines the coefficients. An intrinsic field has a null space: the field is orthogonal to
/// the columns of `constraints` (a basis of it), and Q with one node pinned per constraint is positive
/// definite. Directions of the null space that get a prior of their own come back as `basis`, the term's
/// columns. Effects of groups (prior/effect_blocks.h): `effects` of each of `copies` independent sets in a group, and the
/// variance that the noise of a row takes over from them.
struct FieldSpec {
  std::string model;
  std::vector<Triplets> precision;                  // L x L each
  Triplets constraints;                             // L x c
  std::vector<Index> pins;                          // c
  Matrix basis;                                     // L x r
  std::map<std::string, std::vector<Index>> hyper;  // "variance", "mixing", "dependence", "correlation"
  Index effects = 0, copies = 1;
  double noise = 0;
  std::vector<FieldSpec> factors;                   // of a product, see form_product()
};

/// A sparse Gaussian process: z are the whitened values of the process at `groups` copies of M inducing
/// points. The points are centre_j + scale_j * hyper[coordinates(m, j)], so that they can be learned like
/// hyperparameters.
struct InducingSpec {
  Eigen::MatrixXi coordinates;  // M x p
  Vector centre, scale;         // p
  Index groups = 1;             // levels of a factor `by`
  double jitter = 0;            // added to the diagonal of the points' covariance
};

/// A Gaussian process at L nodes, each given its neighbours, which are among the nodes before it.
struct NeighbourSpec {
  Matrix places;               // L x p
  Eigen::VectorXi group;       // L, from 1, or empty
  Eigen::MatrixXi neighbours;  // L x m, from 0; -1: none
  bool between = false;        // are fitted rows at other places than nodes?
};

/// A process that is Markov in time: its states at knots, which all levels of a factor `by` share. Beside inducing points,
/// which are in space, `kernels` are those in time, of one input; without them those of the term are.
struct KnotSpec {
  Vector times;                     // K, ascending
  std::vector<KernelSpec> kernels;  // one, or one for each level
  Index levels = 1;
};

/// The rows over which a Gaussian process has mean zero, those of each group apart: f less sum_r weight_r f(x_r).
/// Without rows the process is not centred. Another term of the prior, of columns C, may have the process's means: `level`
/// v_g with C v_g = 1 in the rows of group g.
struct CentreSpec {
  KernelRows rows;      // R, without `by`
  Vector weight;        // R; only their ratios within a group count
  Matrix level;         // q x groups, or empty
  Index level_in = -1;  // the number of the term with these columns
};

/// A process as sines and cosines of its input, one set for each of `groups` levels of a factor `by`.
struct WavesSpec {
  Index groups = 1;
  double origin = 0;  // the input where sines are zero
};

/// Penalties on the coefficients of some of a term's columns, whose prior precision is P = sum_k S_k / v_k with v_k the
/// hyperparameters. P has full rank. Either all S_k are diagonal or each is root_k' root_k.
struct PenaltySpec {
  std::vector<Index> hyper;   // K positions in the table
  Matrix diagonal;            // q x K, the diagonals of the S_k; empty with roots
  std::vector<Matrix> roots;  // K, each r_k x q
};

/// Factors of an item by unit array: eta = x' c_item + w_item' z_unit, z_unit ~ N(0, I_d). The loadings w and
/// the effects c are hyperparameters, given by their positions in the table.
struct FactorsSpec {
  Eigen::MatrixXi loadings;  // p x d
  Eigen::MatrixXi effects;   // p x q
  Index units = 0;
};

/// R's description of a term. `kernels` has one kernel, or one for each group of rows. mean and factors are the
/// prior of a columns term's coefficients or of a field's basis: see IndependentCoefficients.
struct TermSpec {
  std::string type;
  std::string label;
  std::vector<KernelSpec> kernels;
  Index inputs = 0;  // p, of a kernel
  CentreSpec centre;
  Vector mean;
  Eigen::MatrixXi factors;
  FieldSpec field;
  InducingSpec inducing;
  NeighbourSpec neighbours;
  WavesSpec waves;
  KnotSpec knots;
  FactorsSpec factor;
  std::vector<PenaltySpec> penalties;
  Eigen::MatrixXi loadings;  // J x R, positions in the table: of shared processes, see prior/loadings.h
};

/// A symmetric n x n weight matrix G that is never stored whole: its tiles and its products.
struct Weights {
  TileSource tile;
  std::function<Matrix(const Matrix&)> multiply;  // G X
};

/// The same beside a root R of a covariance.
struct RootWeights {
  const Weights& all;  // G
  Matrix product;      // G R.   n x rank
  Matrix form;         // R' G R
};

class ChainTerm;
class Field;
class FactorsTerm;
struct SeparableGradient;
struct SeparableRows;

/// Rows by nodes, a few entries per row.
using SparseRows = Eigen::SparseMatrix<double, Eigen::RowMajor>;

/// A term stores no rows: every function is told which rows, fitted or new, it is about.
class Term {
 public:
  virtual ~Term() = default;
  const std::string& label() const { return label_; }
  /// Reads its hyperparameters from the model's table (natural scale).
  virtual void update(const ConstVectorRef& hyper) = 0;
  /// After hold_basis(true), whitened columns keep their meaning from one update() to the next as far as
  /// possible.
  virtual void hold_basis(bool /*held*/) {}
  /// Throws std::invalid_argument if the term cannot read these rows.
  virtual void check(const TermRows& rows) const = 0;

  /// mean (n) += the prior mean of the term at rows begin, begin + 1, ..; zero except for columns and
  /// factors.
  virtual void add_prior_mean(const TermRows& /*rows*/, Index /*begin*/, VectorRef /*mean*/) const {}
  /// hyper[h] += sum_n g_n d mean_n / dh.
  virtual void add_prior_mean_gradient(const TermRows& /*rows*/, const ConstVectorRef& /*g*/,
                                       VectorRef /*hyper*/) const {}

  /// How many kernels, each with hyperparameters of its own, the term has for its groups of rows; 0 without any.
  virtual Index kernels() const { return 0; }
  /// The rows over which the term has mean zero; null or without rows where it is not centred.
  virtual const CentreSpec* centre() const { return nullptr; }
  bool centred() const { return centre() && centre()->weight.size() > 0; }
  /// The mean over these rows that is subtracted from the process, in whitened coefficients u: column g'u in group g.   q
  /// x groups
  virtual Matrix centre_columns() const { return Matrix(); }

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

  // The low-rank view.
  /// R of at most `most` columns with R R' = cov(rows); of none if it takes more. Pivots are for add_root_gradient().
  virtual LowRank root(Context& context, const TermRows& rows, Index most) const;
  /// As add_covariance_gradient() for R R' where that came from root().
  virtual void add_root_gradient(Context& context, const TermRows& rows, const LowRank& /*R*/, const RootWeights& G,
                                 VectorRef hyper) const {
    add_covariance_gradient(context, rows, G.all, hyper);
  }

  // The finite view: the term's part of f is W u plus, in a sparse Gaussian process, independent noise of
  // variance c. u is whitened, N(0, I), of unit scale where the prior is flat; the coefficients themselves
  // are coefficient_mean + sd u.
  /// The number of the term's columns; 0 for an infinite-dimensional one.
  virtual Index columns() const { return 0; }
  virtual const Vector& coefficient_mean() const { return none_; }      // q
  virtual const Vector& coefficient_variance() const { return none_; }  // q, may be infinite
  /// W (n x q) = the whitened columns of rows begin, begin + 1, .. May run on several threads.
  virtual void fill(const TermRows& /*rows*/, Index /*begin*/, MatrixRef /*W*/) const {}
  /// Whether c may be non-zero in fitted rows, and c (n) += that of any rows whose whitened columns are W.
  virtual bool has_extra_variances() const { return false; }
  virtual void add_extra_variances(const TermRows& /*rows*/, Index /*begin*/, const ConstMatrixRef& /*W*/,
                                   VectorRef /*c*/) const {}
  /// Whether W = X T, with X the `W` of the rows and T (q x q) a function of hyperparameters. add_gradient() then reads
  /// nothing but W'G.
  virtual bool fixed_columns() const { return false; }
  /// X <- X T.   n x q
  virtual void whiten(MatrixRef /*X*/) const {}
  // The gradient of the bound through W and c: sums over rows, plain numbers that can be added in any
  // grouping.
  virtual Index gradient_size() const { return 0; }
  /// sums += the contribution of these rows. W as fill() gives it, G = d bound / dW, g = d bound / dc.   n x
  /// q, n x q, n
  virtual void add_gradient(const TermRows& /*rows*/, Index /*begin*/, const ConstMatrixRef& /*W*/,
                            const ConstMatrixRef& /*G*/, const ConstVectorRef& /*g*/,
                            VectorRef /*sums*/) const {}
  /// hyper[h] += d bound / dh (natural scale), a linear function of the sums.
  virtual void finish_gradient(const ConstVectorRef& /*sums*/, VectorRef /*hyper*/) const {}

  /// The whitened coefficients of an earlier version of this term given the present ones: u_old | u ~ N(B u +
  /// shift, left). B: q_old x q, shift: q_old, left: q_old x q_old, both triangles. False if the terms are of
  /// different kinds.
  virtual bool recall(const Term& /*old*/, Matrix& /*B*/, Vector& /*shift*/, Matrix& /*left*/) const {
    return false;
  }

  // The sparse view.
  /// The field that the term has besides its columns; null if none.
  virtual const Field* field() const { return nullptr; }
  /// The weights of its nodes in these rows, and whether they depend on hyperparameters. Which weights are
  /// zero does not.   n x L
  virtual SparseRows field_design(const TermRows& rows) const;
  virtual bool moves_field_design() const { return false; }
  /// hyper[h] += d bound / dh through those weights and through c, where G has d bound / d weight of row n in the order
  /// of its nodes and g is d bound / dc.   n x h, n
  virtual void add_field_design_gradient(const TermRows& /*rows*/, const ConstMatrixRef& /*G*/,
                                         const ConstVectorRef& /*g*/, VectorRef /*hyper*/) const {}
  // The same for rows whose weights are products over runs of nodes (prior/separable_rows.h), which are too many to be
  // taken one by one.
  virtual bool separable() const { return false; }
  /// What hyperparameters do not change, and the weights at the present ones.
  virtual SeparableRows separable_rows(const TermRows& rows) const;
  virtual void weigh(SeparableRows& /*rows*/) const {}
  /// hyper[h] += d bound / dh through the weights and through c.
  virtual void add_separable_gradient(const SeparableRows& rows, SeparableGradient sums, const ConstVectorRef& g,
                                      VectorRef hyper) const;
  /// Sets of runs, by their first nodes in order: the runs of any row are in one of them.
  virtual std::vector<std::vector<Index>> run_sets() const { return {}; }
  /// Null for all other terms.
  virtual const FactorsTerm* factors() const { return nullptr; }

  // The view along one input.
  /// Null for all terms but Markov processes.
  virtual const ChainTerm* chain() const { return nullptr; }

  // The dense view, of terms with few coefficients.
  /// The rows as linear functions of the columns' coefficients and then of the field's nodes, neither whitened.
  /// There are none where these functions depend on hyperparameters, or a field is known only up to constraints.   n x
  /// (q + L)
  virtual bool has_plain_design() const { return false; }
  virtual Matrix plain_design(const TermRows& rows) const { return Matrix(rows.size(), 0); }

 protected:
  explicit Term(std::string label) : label_(std::move(label)) {}
  /// Are these rows that predictions leave a centred term out of? Their `by` is zero.
  bool left_out(const TermRows& rows) const {
    return centred() && rows.kernel.by.size() > 0 && (rows.kernel.by.array() == 0).all();
  }
  /// Throws std::invalid_argument where a number `by` other than zero and one scales the rows of a centred term.
  void check_unscaled(const TermRows& rows) const;
  /// check() with one part's number of columns.
  void check_width(const char* part, Index found, Index wanted) const;
  /// check() where every row is in one of `count` groups.
  void check_groups(const TermRows& rows, Index count) const;

 private:
  std::string label_;
  Vector none_;
};

/// Throws std::invalid_argument for an unknown type.
std::unique_ptr<Term> make_term(const TermSpec& spec, const Backend& backend);

/// What kind of prior a type of term is, which determines the solver.
struct TermFacts {
  std::string type;
  bool full;    // infinite-dimensional: a full covariance over rows
  bool chain;   // full, but for a Markov process of one input, whose states are enough
  bool fields;  // has nodes with a sparse precision
  bool columns; // finitely many columns, of the data or of waves
  bool units;   // no row joins two of its units: alone, their posteriors are independent
};
std::vector<TermFacts> term_facts();

}  // namespace galvi

#include "prior/neighbour_term.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <Eigen/Cholesky>

#include "numeric/parallel.h"

namespace galvi {

namespace {

// Below this part of a variance, what its neighbours leave of it is mostly rounding error.
constexpr double least_left = 1e-10, relative_jitter = 1e-8;

constexpr Index node_blocks = 64;  // sums are taken within these and then in their order

std::vector<Index> present(const Eigen::MatrixXi& nodes, Index row) {
  std::vector<Index> out;
  for (Index k = 0; k < nodes.cols(); ++k)
    if (nodes(row, k) >= 0) out.push_back(nodes(row, k));
  std::sort(out.begin(), out.end());
  return out;
}

// All pairs of each node and its neighbours, and the diagonal.
SparseMatrix pairs_of_neighbours(const Eigen::MatrixXi& neighbours) {
  const Index L = neighbours.rows();
  std::vector<std::vector<int>> column(L);
  for (Index i = 0; i < L; ++i) {
    std::vector<Index> all = present(neighbours, i);
    if (!all.empty() && all.back() >= i) throw std::invalid_argument("a node has a neighbour that is not before it");
    all.push_back(i);
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b) column[all[b]].push_back(static_cast<int>(all[a]));
  }
  Eigen::VectorXi count(L);
  for (Index j = 0; j < L; ++j) {
    std::sort(column[j].begin(), column[j].end());
    column[j].erase(std::unique(column[j].begin(), column[j].end()), column[j].end());
    count[j] = static_cast<int>(column[j].size());
  }
  SparseMatrix out(L, L);
  out.reserve(count);
  for (Index j = 0; j < L; ++j)
    for (const int i : column[j]) out.insert(i, j) = 0;
  out.makeCompressed();
  return out;
}

// The places of nodes, then the place itself.
Matrix stacked(const Matrix& places, const std::vector<Index>& nodes, const ConstVectorRef& place) {
  const auto count = static_cast<Index>(nodes.size());
  Matrix out(count + 1, places.cols());
  for (Index k = 0; k < count; ++k) out.row(k) = places.row(nodes[k]);
  out.row(count) = place.transpose();
  return out;
}

// A place given the others before it in `places`, of whose covariance K = L L'.
class PlaceFactor {
 public:
  PlaceFactor(const Kernel& kernel, const Matrix& places, double jitter)
      : jitter_(jitter), covariance_(places.rows(), places.rows()) {
    kernel.value(places, places, covariance_);
    covariance_.diagonal() *= 1 + jitter;
    const Index m = neighbours();
    Eigen::Ref<Matrix> K = covariance_.topLeftCorner(m, m);
    regular_ = Eigen::LLT<Eigen::Ref<Matrix>>(K).info() == Eigen::Success;
    half_weight_ = K.triangularView<Eigen::Lower>().solve(covariance_.row(m).head(m).transpose());
  }
  bool regular() const { return regular_; }  // is K positive definite to working precision?
  double jitter() const { return jitter_; }
  Index neighbours() const { return covariance_.rows() - 1; }
  double prior_variance() const { return covariance_(neighbours(), neighbours()); }
  double variance() const { return prior_variance() - half_weight_.squaredNorm(); }
  Vector weight() const { return of_transposed(half_weight_); }
  /// K^-1 x
  Vector solve(const Vector& x) const {
    const Index m = neighbours();
    return of_transposed(covariance_.topLeftCorner(m, m).triangularView<Eigen::Lower>().solve(x));
  }

 private:
  Vector of_transposed(const Vector& x) const {
    const Index m = neighbours();
    return covariance_.topLeftCorner(m, m).transpose().triangularView<Eigen::Upper>().solve(x);
  }

  double jitter_;
  Matrix covariance_;  // L in place of K's lower triangle
  bool regular_;
  Vector half_weight_;  // L^-1 k
};

// The nearest nodes of a row may be nearer to each other than any node's neighbours are.
PlaceFactor factor_of_row(const Kernel& kernel, const Matrix& places, double jitter) {
  PlaceFactor out(kernel, places, jitter);
  return out.regular() ? out : PlaceFactor(kernel, places, std::max(jitter, relative_jitter));
}

}  // namespace

NeighbourField::NeighbourField(const std::vector<std::unique_ptr<Kernel>>& kernels, NeighbourSpec spec)
    : Field(pairs_of_neighbours(spec.neighbours), {}), kernels_(kernels), spec_(std::move(spec)) {
  const Index L = size();
  if (spec_.places.rows() != L || (spec_.group.size() > 0 && spec_.group.size() != L))
    throw std::invalid_argument("nodes, their groups and their neighbours differ in number");
  weight_ = Matrix::Zero(spec_.neighbours.cols(), L);
  variance_ = Vector::Zero(L);
  for (Index i = 0; i < L; ++i) {
    neighbours_.push_back(present(spec_.neighbours, i));
    first_pair_.push_back(positions_.size());
    std::vector<Index> all = neighbours_[i];
    all.push_back(i);
    for (const Index a : all)
      for (const Index b : all)
        if (b <= a) positions_.push_back(static_cast<int>(position(precision_, a, b)));
  }
  first_pair_.push_back(positions_.size());
}

GivenNodes NeighbourField::given(const ConstVectorRef& place, const std::vector<Index>& nodes, int group) const {
  for (std::size_t k = 0; k < nodes.size(); ++k)
    if (spec_.places.row(nodes[k]) == place.transpose()) return {Vector::Unit(static_cast<Index>(nodes.size()), k), 0};
  const PlaceFactor factor = factor_of_row(kernel_of(group), stacked(spec_.places, nodes, place), jitter_);
  return {factor.weight(), std::max(factor.variance(), 0.0)};
}

// dw = K^-1 (dk - dK w) and dD = dk_ii - 2 w'dk + w'dK w: with a = K^-1 d_weight, one weight for each covariance.
void NeighbourField::add_given_gradient(const ConstVectorRef& place, const std::vector<Index>& nodes, int group,
                                        const ConstVectorRef& d_weight, double d_variance, VectorRef hyper) const {
  for (const Index node : nodes)
    if (spec_.places.row(node) == place.transpose()) return;
  const Matrix places = stacked(spec_.places, nodes, place);
  const Kernel& kernel = kernel_of(group);
  const PlaceFactor factor = factor_of_row(kernel, places, jitter_);
  const Index m = factor.neighbours();
  const Vector w = factor.weight();
  const Vector a = factor.solve(d_weight);
  Matrix H = Matrix::Zero(m + 1, m + 1);
  H.topLeftCorner(m, m) = (d_variance * w - a) * w.transpose();
  H.col(m).head(m) = a - 2 * d_variance * w;
  H(m, m) = d_variance;
  H.diagonal() *= 1 + factor.jitter();
  kernel.gradient(places, places, H, hyper, nullptr);
}

// False where what is left of a variance is mostly rounding error.
bool NeighbourField::find_weights() {
  for (Index i = 0; i < size(); ++i) {
    const std::vector<Index>& own = neighbours_[i];
    const Matrix places = stacked(spec_.places, own, spec_.places.row(i).transpose());
    const PlaceFactor factor(kernel_of(group_of(i)), places, jitter_);
    variance_[i] = factor.variance();
    // what a jitter adds is no rounding error
    if (!factor.regular() || !(variance_[i] > (jitter_ > 0 ? 0 : least_left) * factor.prior_variance())) return false;
    weight_.col(i).head(factor.neighbours()) = factor.weight();
  }
  return true;
}

void NeighbourField::update(const ConstVectorRef&) {
  jitter_ = 0;
  if (!find_weights()) {
    jitter_ = relative_jitter;
    if (!find_weights())
      throw std::domain_error("a place has no variance given its neighbours, at these hyperparameters");
  }
  std::fill(precision_.valuePtr(), precision_.valuePtr() + precision_.nonZeros(), 0.0);
  for (Index i = 0; i < size(); ++i)
    for_pairs(i, [&](Index, Index, double u_a, double u_b, int position) {
      precision_.valuePtr()[position] += u_a * u_b / variance_[i];
    });
  covariances_.resize(0);
}

// f(a, b, u_a, u_b, position) for all pairs b <= a of a node and its neighbours, numbered as these are with the node
// last; u = (-w, 1) is the node's row of B.
template <class F>
void NeighbourField::for_pairs(Index node, const F& f) const {
  std::size_t pair = first_pair_[node];
  const std::size_t pairs = first_pair_[node + 1] - pair;
  const auto u = [&](Index k, Index count) { return k == count ? 1.0 : -weight_(k, node); };
  Index count = 0;
  while (static_cast<std::size_t>((count + 1) * (count + 2) / 2) < pairs) ++count;
  for (Index a = 0; a <= count; ++a)
    for (Index b = 0; b <= a; ++b) f(a, b, u(a, count), u(b, count), positions_[pair++]);
}

// B' X = Y from the last node to the first, B X = Y from the first to the last.
void NeighbourField::solve_transposed(Matrix& X) const {
  for (Index i = size() - 1; i >= 0; --i) {
    if (X.row(i).isZero(0)) continue;
    const std::vector<Index>& own = neighbours_[i];
    for (std::size_t k = 0; k < own.size(); ++k) X.row(own[k]) += weight_(k, i) * X.row(i);
  }
}

Matrix NeighbourField::covariance_times(Context&, const ConstMatrixRef& X) const {
  Matrix out = X;
  solve_transposed(out);
  out = variance_.asDiagonal() * out;
  for (Index i = 0; i < size(); ++i) {
    const std::vector<Index>& own = neighbours_[i];
    for (std::size_t k = 0; k < own.size(); ++k) out.row(i) += weight_(k, i) * out.row(own[k]);
  }
  return out;
}

Matrix NeighbourField::whitened(Context&, const ConstMatrixRef& X) const {
  Matrix out = X;
  solve_transposed(out);
  return variance_.cwiseSqrt().asDiagonal() * out;
}

double NeighbourField::log_det(Context&) const { return -variance_.array().log().sum(); }

Vector NeighbourField::covariances(Context& context) const {
  if (covariances_.size() == 0) {
    if (!factor_) factor_.emplace(precision_);
    if (!factor_->factorise(context, Eigen::Map<const Vector>(precision_.valuePtr(), precision_.nonZeros())))
      throw std::domain_error("the precision of a process given its neighbours is not positive definite to working "
                              "precision at its hyperparameters");
    const SparseMatrix inverse = factor_->selected_inverse(context);
    covariances_ = Eigen::Map<const Vector>(inverse.valuePtr(), inverse.nonZeros());
  }
  return covariances_;
}

// sum G_ij Q_ij = sum over nodes of u'Gu / D, and log|Q| = -sum log D.
void NeighbourField::add_gradient(Context& context, const Vector& G, double share, VectorRef hyper) const {
  const Index L = size(), m = weight_.rows();
  const double work = static_cast<double>(L) * (m + 1) * (m + 1) * (m + 50.0);
  Matrix sums = Matrix::Zero(hyper.size(), node_blocks);
  parallel_for(context, node_blocks, work, [&](Index block) {
    for (Index i = block * L / node_blocks; i < (block + 1) * L / node_blocks; ++i) {
      const std::vector<Index>& own = neighbours_[i];
      const auto count = static_cast<Index>(own.size());
      Vector Gu = Vector::Zero(count + 1);
      double form = 0;
      for_pairs(i, [&](Index a, Index b, double u_a, double u_b, int position) {
        Gu[a] += G[position] * u_b;
        if (a != b) Gu[b] += G[position] * u_a;
        form += (a == b ? 1 : 2) * G[position] * u_a * u_b;
      });
      const double D = variance_[i];
      add_given_gradient(spec_.places.row(i).transpose(), own, group_of(i), -2 / D * Gu.head(count),
                         -form / (D * D) - share / D, sums.col(block));
    }
  });
  hyper += sums.rowwise().sum();
}

// ---- the term ----

NeighbourTerm::NeighbourTerm(const TermSpec& spec)
    : NoisyFieldTerm(spec.label),
      kernels_(make_kernels(spec.kernels)),
      between_(spec.neighbours.between),
      field_(kernels_, spec.neighbours) {}

void NeighbourTerm::update(const ConstVectorRef& hyper) {
  for (const auto& kernel : kernels_) kernel->update(hyper);
  field_.update(hyper);
}

void NeighbourTerm::check(const TermRows& rows) const {
  check_width("inputs", rows.kernel.inputs.cols(), field_.places().cols());
  if (kernels_.size() > 1) check_groups(rows, static_cast<Index>(kernels_.size()));
  if (rows.node.rows() != rows.kernel.inputs.rows() || (rows.node.size() > 0 && rows.node.maxCoeff() >= field_.size()))
    throw std::invalid_argument("term " + label() + ": every row needs its nearest nodes");
}

std::vector<Index> NeighbourTerm::nodes_of(const TermRows& rows, Index n) const { return present(rows.node, n); }

GivenNodes NeighbourTerm::given(const TermRows& rows, Index n, const std::vector<Index>& nodes) const {
  const KernelRows& own = rows.kernel;
  GivenNodes out = field_.given(own.inputs.row(n).transpose(), nodes, own.group.size() > 0 ? own.group[n] : 0);
  if (own.by.size() == 0) return out;
  return {own.by[n] * out.weight, own.by[n] * own.by[n] * out.variance};
}

SparseRows NeighbourTerm::field_design(const TermRows& rows) const {
  const Index n = rows.node.rows();
  SparseRows out(n, field_.size());
  out.reserve(Eigen::VectorXi::Constant(n, static_cast<int>(rows.node.cols())));
  for (Index i = 0; i < n; ++i) {
    const std::vector<Index> nodes = nodes_of(rows, i);
    const GivenNodes own = given(rows, i, nodes);
    for (std::size_t k = 0; k < nodes.size(); ++k) out.insert(i, nodes[k]) = own.weight[k];
  }
  out.makeCompressed();
  return out;
}

void NeighbourTerm::add_extra_variances(const TermRows& rows, Index begin, const ConstMatrixRef&, VectorRef c) const {
  for (Index i = 0; i < c.size(); ++i) c[i] += given(rows, begin + i, nodes_of(rows, begin + i)).variance;
}

void NeighbourTerm::add_field_design_gradient(const TermRows& rows, const ConstMatrixRef& G, const ConstVectorRef& g,
                                              VectorRef hyper) const {
  const KernelRows& own = rows.kernel;
  for (Index n = 0; n < G.rows(); ++n) {
    const std::vector<Index> nodes = nodes_of(rows, n);
    const double by = own.by.size() > 0 ? own.by[n] : 1;
    field_.add_given_gradient(own.inputs.row(n).transpose(), nodes, own.group.size() > 0 ? own.group[n] : 0,
                              by * G.row(n).head(static_cast<Index>(nodes.size())).transpose(), by * by * g[n], hyper);
  }
}

// ---- as a covariance, W Q^-1 W' + diag(c) ----

void NeighbourTerm::add_variances(Context& context, const TermRows& rows, VectorRef d) const {
  d += field_.row_variances(context, field_design(rows));
  add_extra_variances(rows, 0, Matrix(), d);
}

void NeighbourTerm::add_rows_gradient(const TermRows& rows, const Matrix& GS, const Vector& g,
                                      VectorRef hyper) const {
  Matrix d_weight = Matrix::Zero(GS.rows(), rows.node.cols());
  for (Index n = 0; n < GS.rows(); ++n) {
    const std::vector<Index> nodes = nodes_of(rows, n);
    for (std::size_t k = 0; k < nodes.size(); ++k) d_weight(n, k) = 2 * GS(n, nodes[k]);
  }
  add_field_design_gradient(rows, d_weight, g, hyper);
}

}  // namespace galvi

#include "solver/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "numeric/dense.h"

namespace galvi {

Chain::Chain(Vector at, std::vector<ChainBlock> blocks) : at_(std::move(at)), blocks_(std::move(blocks)) {
  for (const ChainBlock& block : blocks_) {
    first_.push_back(dimension_);
    dimension_ += block.space->dimension();
  }
}

namespace {

/// The covariance of a state given its site too. P h is divided by s, not subtracted from: at precise sites the
/// difference has no digits.
template <class Mat, class Vec>
Mat after_site(const Mat& P, const Vec& h, const Vec& Ph, double lambda, double s) {
  Mat out = P - (lambda / s) * Ph * Ph.transpose();
  const double length = h.squaredNorm();
  if (length == 0) return out;
  const Vec missing = Ph / s - out * h;
  out += (missing * h.transpose() + h * missing.transpose()) / length;
  out -= h.dot(missing) / (length * length) * h * h.transpose();
  return out;
}

Matrix symmetric_part(const Matrix& X) { return 0.5 * (X + X.transpose()); }

}  // namespace

// Backwards in information form, M of later sites and m of what they say of Y and the linear functions, which earlier
// sites do not enter; then forwards with the new sites.
void Chain::sweep(const Matrix& Y, const std::vector<BlockWeights>& functions, const Change& change) {
  const Index N = rows(), d = dimension_, q = Y.cols(), p = q + static_cast<Index>(functions.size());
  const Matrix none = Matrix::Zero(d, p), I = Matrix::Identity(d, d);
  std::vector<Matrix> M(N, Matrix::Zero(d, d)), m(N, none);
  Matrix A, Q;
  // what row i says by itself, at this lambda
  const auto own_information = [&](Index i, double lambda) {
    Matrix z = none;
    if (q > 0) z.leftCols(q) = (lambda * observation(i, all)) * Y.row(i);
    for (Index k = q; k < p; ++k) z.col(k) = observation(i, functions[k - q].block) * functions[k - q].weight[i];
    return z;
  };
  for (Index i = N - 1; i > 0; --i) {
    const Vector h = observation(i, all);
    step(i, A, Q);
    const Matrix W = M[i] + lambda_[i] * h * h.transpose();
    const Eigen::PartialPivLU<Matrix> system(I + W * Q);
    M[i - 1] = symmetric_part(A.transpose() * system.solve(W) * A);
    m[i - 1] = A.transpose() * system.solve(m[i] + own_information(i, lambda_[i]));
  }
  Matrix P = start(), x = none;
  Vector t(p);
  for (Index i = 0; i < N; ++i) {
    const Vector h = observation(i, all);
    const Eigen::PartialPivLU<Matrix> system(I + P * M[i]);
    const Matrix S = system.solve(P);  // without the site of i
    const Matrix mean = system.solve(x + P * m[i]);
    const double w = h.dot(S * h), shrink = 1 / (1 + lambda_[i] * w);
    const Matrix z = own_information(i, 0);
    for (Index k = 0; k < p; ++k)
      t[k] = shrink * (k < q ? Y(i, k) - h.dot(mean.col(k)) : h.dot(mean.col(k) + S * z.col(k)));
    lambda_[i] += change(i, w * shrink, t);
    if (i + 1 == N) break;
    const Vector Ph = P * h;
    const double s = 1 + lambda_[i] * h.dot(Ph);
    const Matrix F = after_site<Matrix, Vector>(P, h, Ph, lambda_[i], s);
    step(i + 1, A, Q);
    x = A * (x - Ph * (lambda_[i] / s) * (h.transpose() * x) + F * own_information(i, lambda_[i]));
    P = symmetric_part(A * F * A.transpose() + Q);
  }
}

// Backwards: x_i given x_(i+1) and the sites up to i. The regression on x_(i+1) uses a pseudo-inverse, as that
// state may be known exactly (ties, kernels without noise).
std::vector<Matrix> Chain::draw(Context& context, Index count) const {
  constexpr double nothing = 1e-14;
  const Index N = rows(), d = dimension_;
  std::vector<Matrix> out(blocks(), Matrix(N, count));
  Matrix x = Matrix::Zero(d, count), A, Q;
  for (Index i = N - 1; i >= 0; --i) {
    const Matrix F = known(i);
    Matrix left = F;
    if (i + 1 < N) {
      step(i + 1, A, Q);
      const Eigen::SelfAdjointEigenSolver<Matrix> system(symmetric_part(A * F * A.transpose() + Q));
      const Vector& values = system.eigenvalues();
      Vector inverse = Vector::Zero(d);
      for (Index k = 0; k < d; ++k)
        if (values[k] > nothing * values[d - 1]) inverse[k] = 1 / values[k];
      const Matrix G =
          F * A.transpose() * system.eigenvectors() * inverse.asDiagonal() * system.eigenvectors().transpose();
      const Matrix rest = Matrix::Identity(d, d) - G * A;
      left = rest * F * rest.transpose() + G * Q * G.transpose();
      x = (G * x).eval();
    }
    const Eigen::SelfAdjointEigenSolver<Matrix> root(symmetric_part(left));
    x += root.eigenvectors() * root.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal() *
         white_noise(context, d, count);
    for (Index b = 0; b < blocks(); ++b) out[b].row(i) = observation(i, b).transpose() * x;
  }
  return out;
}

namespace {

template <int D>
class ChainOf final : public Chain {
 public:
  ChainOf(Vector rows_at, std::vector<ChainBlock> parts) : Chain(std::move(rows_at), std::move(parts)) {
    double regular_from = -std::numeric_limits<double>::infinity();
    for (const ChainBlock& block : blocks_) {
      scaled_ = scaled_ || block.scale.size() > 0;
      stationary_ = stationary_ && block.space->stationary();
      regular_from = std::max(regular_from, block.space->regular_from());
    }
    // a regular series has few gaps that differ, all of them in the last digit
    std::unordered_map<double, int> found;
    step_.assign(rows(), 0);
    for (Index i = 1; i < rows(); ++i) {
      const Gap gap{at_[i - 1], at_[i] - at_[i - 1]};
      step_[i] = static_cast<int>(gaps_.size());
      if (gap.from >= regular_from) step_[i] = found.try_emplace(gap.length, step_[i]).first->second;
      if (step_[i] == static_cast<int>(gaps_.size())) gaps_.push_back(gap);
    }
  }
  std::unique_ptr<Chain> clone() const override { return std::make_unique<ChainOf>(*this); }

  void refresh() override;
  bool factorise(const Vector& lambda) override;
  Vector prior_variances(Index block) const override;
  Vector variances(Index first, Index count) const override;
  Solution solve_for(const BlockWeights& b, bool parts) const override;
  Vector residual(const Vector& y) const override;
  Vector prior_product(const BlockWeights& x) const override;
  Vector squared_covariance(const Vector& x) const override;
  Vector prior_by_covariance(const Vector& x) const override;
  void start_gradient() const override;
  void add_log_det_gradient(double weight) const override;
  void add_quadratic_gradient(double weight, const BlockWeights& x) const override;
  void finish_gradient(VectorRef hyper) const override;

 protected:
  Matrix start() const override { return start_; }
  Vector observation(Index i, Index block) const override { return h(i, block); }
  void step(Index i, Matrix& A_i, Matrix& Q_i) const override {
    A_i = A(i);
    Q_i = Q(i);
  }
  Matrix known(Index i) const override { return filtered(i); }

 private:
  using Mat = Eigen::Matrix<double, D, D>;
  using Vec = Eigen::Matrix<double, D, 1>;
  using Mats = std::vector<Mat, Eigen::aligned_allocator<Mat>>;
  using Vecs = std::vector<Vec, Eigen::aligned_allocator<Vec>>;

  Mat zeros() const { return Mat::Zero(dimension_, dimension_); }
  Mat identity() const { return Mat::Identity(dimension_, dimension_); }
  Vec zero() const { return Vec::Zero(dimension_); }
  Vec h(Index i) const { return scaled_ ? block_h(i, 0, blocks()) : observe_; }
  Vec h(Index i, Index block, Index count = 1) const { return block == all ? h(i) : block_h(i, block, count); }
  Vec block_h(Index i, Index first, Index count) const {
    Vec out = zero();
    for (Index b = first; b < first + count; ++b) {
      const Index size = blocks_[b].space->dimension();
      out.segment(first_[b], size) = blocks_[b].at(i) * observe_.segment(first_[b], size);
    }
    return out;
  }
  /// The prior covariance of the state.
  const Mat& prior(Index i) const { return stationary_ ? start_ : prior_[i]; }
  /// The step to row i > 0.
  const Mat& A(Index i) const { return A_[step_[i]]; }
  const Mat& Q(Index i) const { return Q_[step_[i]]; }
  static Mat symmetric(const Mat& X) { return 0.5 * (X + X.transpose()); }
  /// L_i'y and L_i'X L_i.
  Vec past(Index i, const Vec& h, const Vec& y) const { return y - h * (gain_[i] * Ph_[i].dot(y)); }
  Mat past_both(Index i, const Vec& h, const Mat& X) const {
    const Vec Xp = X * Ph_[i], pX = X.transpose() * Ph_[i];
    const double k = gain_[i];
    return X - k * (Xp * h.transpose() + h * pX.transpose()) + k * k * Ph_[i].dot(Xp) * h * h.transpose();
  }
  Mat filtered(Index i) const { return after_site<Mat, Vec>(P_[i], h(i), Ph_[i], lambda_[i], s_[i]); }
  /// Calls visit(i, N_i after the site of i) for every row, the last first.
  template <class Visit>
  void for_adjoints(const Visit& visit) const;
  /// N_i before its site, from that after it.
  Mat adjoint(Index i, const Mat& after) const {
    const Vec own = h(i);
    return symmetric(past_both(i, own, after) + gain_[i] * own * own.transpose());
  }
  /// r_i = h_i x_i + A_(i+1)'r_(i+1), of one block or all.
  Vecs prior_adjoints(const BlockWeights& x) const;
  /// A gradient gains weight x'dh_i through the factors of row i.
  void add_scale_gradient(Index i, double weight, const Vec& x) const {
    for (Index b = 0; b < by_scale_.cols(); ++b) {
      const Index size = blocks_[b].space->dimension();
      by_scale_(i, b) += weight * observe_.segment(first_[b], size).dot(x.segment(first_[b], size));
    }
  }

  struct Gap {
    double from, length;
  };
  bool scaled_ = false, stationary_ = true;
  std::vector<int> step_;  // which of the distinct gaps is before row i
  std::vector<Gap> gaps_;  // these
  Vec observe_;
  Mat start_;   // prior covariance of x_0
  Mats prior_;  // of all x_i; empty if it is the same
  Mats A_, Q_;  // of each gap
  Mats P_;
  Vecs Ph_;       // P_i h_i
  Vecs decided_;  // (I - N_i P_i) h_i, with N_i before the site
  Vector s_, gain_, variances_;  // gain: lambda / s
  mutable Mat by_start_;         // sums of a gradient
  mutable Mats by_A_, by_Q_;     // of each gap
};

template <int D>
void ChainOf<D>::refresh() {
  observe_ = zero();
  start_ = zeros();
  prior_.assign(stationary_ ? 0 : rows(), zeros());
  A_.assign(gaps_.size(), zeros());
  Q_.assign(gaps_.size(), zeros());
  Matrix A, Q, P;
  Vector own;
  for (Index b = 0; b < blocks(); ++b) {
    const StateSpace& space = *blocks_[b].space;
    const Index size = space.dimension(), at = first_[b];
    A.resize(size, size);
    Q.resize(size, size);
    P.resize(size, size);
    own.resize(size);
    space.observe(own);
    observe_.segment(at, size) = own;
    if (rows() > 0) space.covariance(at_[0], P);
    start_.block(at, at, size, size) = P;
    for (Index i = 0; !stationary_ && i < rows(); ++i) {
      space.covariance(at_[i], P);
      prior_[i].block(at, at, size, size) = P;
    }
    for (std::size_t k = 0; k < gaps_.size(); ++k) {
      space.step(gaps_[k].from, gaps_[k].length, A, Q);
      A_[k].block(at, at, size, size) = A;
      Q_[k].block(at, at, size, size) = Q;
    }
  }
}

template <int D>
bool ChainOf<D>::factorise(const Vector& lambda) {
  const Index N = rows();
  lambda_ = lambda;
  P_.resize(N, zeros());
  Ph_.resize(N, zero());
  decided_.resize(N, zero());
  s_.resize(N);
  gain_.resize(N);
  variances_.resize(N);
  log_det_ = 0;
  Mat P = start_;
  // Earlier rows alone may have no posterior where lambda is negative, and later rows give them one: then some s are
  // negative. By inertia all is well if as many are at positive sites as at negative ones.
  Index lost = 0;
  for (Index i = 0; i < N; ++i) {
    if (i > 0) P = symmetric(A(i) * P * A(i).transpose() + Q(i));
    P_[i] = P;
    const Vec own = h(i);
    Ph_[i] = P * own;
    s_[i] = 1 + lambda[i] * own.dot(Ph_[i]);
    if (!(std::abs(s_[i]) > 0)) return false;
    if (s_[i] < 0) lost += lambda[i] < 0 ? 1 : -1;
    gain_[i] = lambda[i] / s_[i];
    log_det_ += std::log(std::abs(s_[i]));
    P = after_site<Mat, Vec>(P, own, Ph_[i], lambda[i], s_[i]);
  }
  if (lost != 0) return false;
  for_adjoints([&](Index i, const Mat& after) {
    const Vec own = h(i), known = Ph_[i] / s_[i], carried = after * known;
    variances_[i] = own.dot(known) - known.dot(carried);
    decided_[i] = own / s_[i] - past(i, own, carried);
  });
  return true;
}

template <int D>
template <class Visit>
void ChainOf<D>::for_adjoints(const Visit& visit) const {
  Mat after = zeros();
  for (Index i = rows() - 1; i >= 0; --i) {
    visit(i, after);
    if (i > 0) after = A(i).transpose() * adjoint(i, after) * A(i);
  }
}

template <int D>
Vector ChainOf<D>::prior_variances(Index block) const {
  Vector out(rows());
  for (Index i = 0; i < rows(); ++i) {
    const Vec own = h(i, block);
    out[i] = own.dot(prior(i) * own);
  }
  return out;
}

template <int D>
Vector ChainOf<D>::variances(Index first, Index count) const {
  if (first == all) return variances_;
  Vector out(rows());
  for_adjoints([&](Index i, const Mat& after) {
    const Vec own = h(i, first, count), Ph = P_[i] * own;
    out[i] = own.dot(Ph) - Ph.dot(adjoint(i, after) * Ph);
  });
  return out;
}

template <int D>
Chain::Solution ChainOf<D>::solve_for(const BlockWeights& b, bool parts) const {
  const Index N = rows();
  Solution out{Vector(N), Vector(N), Matrix(parts ? N : 0, blocks())};
  Vecs x(N, zero());
  for (Index i = 1; i < N; ++i) {
    const Vec& Ph = Ph_[i - 1];
    Vec known = x[i - 1] - Ph * (gain_[i - 1] * h(i - 1).dot(x[i - 1]));
    if (b.block == all) {
      known += Ph * (b.weight[i - 1] / s_[i - 1]);
    } else {
      const Vec z = h(i - 1, b.block) * b.weight[i - 1];
      known += P_[i - 1] * z - Ph * (gain_[i - 1] * Ph.dot(z));
    }
    x[i] = A(i) * known;
  }
  Vec r = zero();  // after the site
  for (Index i = N - 1; i >= 0; --i) {
    const Vec own = h(i);
    const Vec& Ph = Ph_[i];
    const double predicted = own.dot(x[i]);
    const bool whole = b.block == all;
    // b / s - (lambda / s)(h'x + (P h)'r), where b is of the whole
    out.alpha[i] = (whole ? b.weight[i] / s_[i] : 0.0) - gain_[i] * (predicted + Ph.dot(r));
    const Vec z = whole ? zero() : Vec(h(i, b.block) * b.weight[i]);
    if (!whole) out.alpha[i] -= gain_[i] * Ph.dot(z);
    Vec total = past(i, own, r + z) - own * (gain_[i] * predicted);
    if (whole) total += own * (b.weight[i] / s_[i]);  // L'h b = h b / s
    out.mean[i] = predicted + Ph.dot(total);
    for (Index k = 0; k < (parts ? blocks() : 0); ++k) out.parts(i, k) = h(i, k).dot(x[i] + P_[i] * total);
    if (i > 0) r = A(i).transpose() * total;
  }
  return out;
}

template <int D>
Vector ChainOf<D>::residual(const Vector& y) const {
  const Index N = rows();
  Vector e(N), out(N);
  Vec x = zero();
  for (Index i = 0; i < N; ++i) {
    const Vec own = h(i);
    e[i] = (y[i] - own.dot(x)) / s_[i];
    if (i + 1 < N) x = A(i + 1) * (x + Ph_[i] * (lambda_[i] * e[i])).eval();
  }
  Vec r = zero();
  for (Index i = N - 1; i >= 0; --i) {
    const Vec own = h(i);
    out[i] = e[i] - Ph_[i].dot(r) / s_[i];
    if (i > 0) r = A(i).transpose() * (past(i, own, r) + own * (lambda_[i] * e[i])).eval();
  }
  return out;
}

template <int D>
typename ChainOf<D>::Vecs ChainOf<D>::prior_adjoints(const BlockWeights& x) const {
  Vecs r(rows(), zero());
  Vec after = zero();
  for (Index i = rows() - 1; i >= 0; --i) {
    r[i] = after + h(i, x.block) * x.weight[i];
    if (i > 0) after = A(i).transpose() * r[i];
  }
  return r;
}

template <int D>
Vector ChainOf<D>::prior_product(const BlockWeights& x) const {
  const Vecs r = prior_adjoints(x);
  Vector out(rows());
  Vec m = zero();
  for (Index i = 0; i < rows(); ++i) {
    m = i == 0 ? Vec(start_ * r[0]) : Vec(A(i) * m + Q(i) * r[i]);
    out[i] = h(i, x.block).dot(m);
  }
  return out;
}

template <int D>
Vector ChainOf<D>::squared_covariance(const Vector& x) const {
  const Index N = rows();
  Vector out(N);
  Mat S = zeros();  // of later rows
  for (Index i = N - 1; i >= 0; --i) {
    const Vec own = h(i);
    const Vec &Ph = Ph_[i], &p = decided_[i];
    Mat through = past_both(i, own, S);
    out[i] = Ph.dot(p) * Ph.dot(p) * x[i] + Ph.dot(through * Ph);
    through += x[i] * p * p.transpose();
    if (i > 0) S = A(i).transpose() * through * A(i);
  }
  S = zeros();  // of earlier rows
  for (Index i = 0; i < N; ++i) {
    const Vec own = h(i);
    const Vec &Ph = Ph_[i], &p = decided_[i];
    out[i] += p.dot(S * p);
    if (i + 1 == N) break;
    const Mat AL = A(i + 1) * (identity() - gain_[i] * Ph * own.transpose());
    S = AL * (S + x[i] * Ph * Ph.transpose()).eval() * AL.transpose();
  }
  return out;
}

template <int D>
Vector ChainOf<D>::prior_by_covariance(const Vector& x) const {
  const Index N = rows();
  Vector out(N);
  Mat X = zeros();
  for (Index i = N - 1; i >= 0; --i) {
    const Vec own = h(i), c = prior(i) * own;
    const Vec &Ph = Ph_[i], &p = decided_[i];
    Mat through = X - own * (gain_[i] * (Ph.transpose() * X));  // L'X
    out[i] = own.dot(c) * Ph.dot(p) * x[i] + Ph.dot(through * c);
    through += x[i] * p * own.transpose();
    if (i > 0) X = A(i).transpose() * through * A(i);
  }
  Mat Z = zeros();
  for (Index i = 0; i < N; ++i) {
    const Vec own = h(i), c = prior(i) * own;
    const Vec &Ph = Ph_[i], &p = decided_[i];
    out[i] += p.dot(Z * own);
    if (i + 1 == N) break;
    const Mat sum = Z + x[i] * Ph * c.transpose();
    Z = A(i + 1) * (sum - gain_[i] * Ph * (own.transpose() * sum)).eval() * A(i + 1).transpose();
  }
  return out;
}

template <int D>
void ChainOf<D>::start_gradient() const {
  by_start_ = zeros();
  by_A_.assign(gaps_.size(), zeros());
  by_Q_.assign(gaps_.size(), zeros());
  const bool moves =
      std::any_of(blocks_.begin(), blocks_.end(), [](const ChainBlock& block) { return block.moves; });
  by_scale_ = Matrix::Zero(rows(), moves ? blocks() : 0);
}

// Of the factors: Lambda - Lambda V Lambda times the derivative of C, where h_i enters the covariance of f_i with x_i
// given all sites, P_i (I - N_i P_i) h_i.
template <int D>
void ChainOf<D>::add_log_det_gradient(double weight) const {
  for_adjoints([&](Index i, const Mat& after) {
    const Mat before = weight * adjoint(i, after);
    if (by_scale_.cols() > 0) add_scale_gradient(i, 2 * weight * lambda_[i], P_[i] * decided_[i]);
    if (i == 0) {
      by_start_ += before;
    } else {
      by_Q_[step_[i]] += before;
      by_A_[step_[i]] += 2 * before * A(i) * filtered(i - 1);
    }
  });
}

template <int D>
void ChainOf<D>::add_quadratic_gradient(double weight, const BlockWeights& x) const {
  const Vecs r = prior_adjoints(x);
  Vec m = start_ * r[0];
  by_start_ += weight * r[0] * r[0].transpose();
  for (Index i = 0; i < rows(); ++i) {
    if (i > 0) {
      by_Q_[step_[i]] += weight * r[i] * r[i].transpose();
      by_A_[step_[i]] += 2 * weight * r[i] * m.transpose();
      m = (A(i) * m + Q(i) * r[i]).eval();
    }
    add_scale_gradient(i, 2 * weight * x.weight[i], m);
  }
}

template <int D>
void ChainOf<D>::finish_gradient(VectorRef hyper) const {
  for (Index b = 0; b < blocks(); ++b) {
    const StateSpace& space = *blocks_[b].space;
    const Index at = first_[b], size = space.dimension();
    space.add_covariance_gradient(at_[0], Matrix(by_start_.block(at, at, size, size)), hyper);
    for (std::size_t k = 0; k < gaps_.size(); ++k)
      space.add_step_gradient(gaps_[k].from, gaps_[k].length, Matrix(by_A_[k].block(at, at, size, size)),
                              Matrix(by_Q_[k].block(at, at, size, size)), hyper);
  }
}

}  // namespace

std::unique_ptr<Chain> make_chain(Vector at, std::vector<ChainBlock> blocks) {
  Index d = 0;
  for (const ChainBlock& block : blocks) d += block.space->dimension();
  switch (d) {
    case 1: return std::make_unique<ChainOf<1>>(std::move(at), std::move(blocks));
    case 2: return std::make_unique<ChainOf<2>>(std::move(at), std::move(blocks));
    case 3: return std::make_unique<ChainOf<3>>(std::move(at), std::move(blocks));
    default: return std::make_unique<ChainOf<Eigen::Dynamic>>(std::move(at), std::move(blocks));
  }
}

}  // namespace galvi

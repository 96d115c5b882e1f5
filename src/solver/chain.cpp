#include "solver/chain.h"

#include <cmath>

#include "numeric/dense.h"

namespace galvi {

Chain::Chain(Vector at, std::vector<ChainBlock> blocks) : at_(std::move(at)), blocks_(std::move(blocks)) {
  for (const ChainBlock& block : blocks_) {
    first_.push_back(dimension_);
    dimension_ += block.space->dimension();
  }
}

namespace {

template <int D>
class ChainOf final : public Chain {
 public:
  ChainOf(Vector at, std::vector<ChainBlock> blocks) : Chain(std::move(at), std::move(blocks)) {
    for (const ChainBlock& block : blocks_) scaled_ = scaled_ || block.scale.size() > 0;
  }
  std::unique_ptr<Chain> clone() const override { return std::make_unique<ChainOf>(*this); }

  void refresh() override;
  bool factorise(const Vector& lambda) override;
  Vector prior_variances(Index block) const override;
  Vector variances(Index block) const override;
  Solution solve_for(const BlockWeights& b, bool parts) const override;
  Vector residual(const Vector& y) const override;
  Vector prior_product(const BlockWeights& x) const override;
  Vector squared_covariance(const Vector& x) const override;
  Vector prior_by_covariance(const Vector& x) const override;
  void sweep(const Matrix& Y, const std::vector<BlockWeights>& functions, const Change& change) override;
  void start_gradient() const override;
  void add_log_det_gradient(double weight) const override;
  void add_quadratic_gradient(double weight, const BlockWeights& x) const override;
  void finish_gradient(VectorRef hyper) const override;
  std::vector<Matrix> draw(Context& context, Index count) const override;

 private:
  using Mat = Eigen::Matrix<double, D, D>;
  using Vec = Eigen::Matrix<double, D, 1>;
  using Mats = std::vector<Mat, Eigen::aligned_allocator<Mat>>;
  using Vecs = std::vector<Vec, Eigen::aligned_allocator<Vec>>;

  Mat zeros() const { return Mat::Zero(dimension_, dimension_); }
  Mat identity() const { return Mat::Identity(dimension_, dimension_); }
  Vec zero() const { return Vec::Zero(dimension_); }
  Vec h(Index i, Index block = all) const {
    if (block == all && !scaled_) return observe_;
    Vec out = zero();
    for (Index b = 0; b < blocks(); ++b) {
      if (block != all && b != block) continue;
      const Index size = blocks_[b].space->dimension();
      out.segment(first_[b], size) = blocks_[b].at(i) * observe_.segment(first_[b], size);
    }
    return out;
  }
  double gap(Index i) const { return at_[i] - at_[i - 1]; }
  double gain(Index i) const { return lambda_[i] / s_[i]; }
  static Mat symmetric(const Mat& X) { return 0.5 * (X + X.transpose()); }
  /// L_i'y and L_i'X L_i.
  Vec past(Index i, const Vec& h, const Vec& Ph, const Vec& y) const { return y - h * (gain(i) * Ph.dot(y)); }
  Mat past_both(Index i, const Vec& h, const Vec& Ph, const Mat& X) const {
    const Vec Xp = X * Ph, pX = X.transpose() * Ph;
    const double k = gain(i);
    return X - k * (Xp * h.transpose() + h * pX.transpose()) + k * k * Ph.dot(Xp) * h * h.transpose();
  }
  /// The covariance of x_i given the sites up to i. P h is divided by s, not subtracted from: at precise sites the
  /// difference has no digits.
  Mat filtered(const Mat& P, const Vec& h, double lambda, double s) const {
    const Vec Ph = P * h;
    Mat out = P - (lambda / s) * Ph * Ph.transpose();
    const double length = h.squaredNorm();
    if (length == 0) return out;
    const Vec missing = Ph / s - out * h;
    out += (missing * h.transpose() + h * missing.transpose()) / length;
    out -= h.dot(missing) / (length * length) * h * h.transpose();
    return out;
  }
  Mat filtered(Index i) const { return filtered(P_[i], h(i), lambda_[i], s_[i]); }
  /// N_i before its site, from that after it.
  Mat adjoint(Index i, const Mat& after) const {
    const Vec own = h(i), Ph = P_[i] * own;
    return symmetric(past_both(i, own, Ph, after) + gain(i) * own * own.transpose());
  }
  const Mats& adjoints() const;  // after the sites
  /// p_i = (I - N_i P_i) h_i, with N_i before the site.
  Vec decided(Index i, const Vec& h, const Vec& Ph) const {
    const Vec carried = adjoints()[i] * (Ph / s_[i]);
    return h / s_[i] - past(i, h, Ph, carried);
  }
  /// r_i = h_i x_i + A_(i+1)'r_(i+1), of one block or all.
  Vecs prior_adjoints(const BlockWeights& x) const;

  bool scaled_ = false;
  Vec observe_;
  Mat stationary_;
  Mats A_, Q_;  // the step to row i
  Mats P_;
  Vector s_;
  mutable Mats N_;  // empty until they are asked for
  mutable Mat by_stationary_;  // sums of a gradient
  mutable Mats by_A_, by_Q_;
};

template <int D>
void ChainOf<D>::refresh() {
  observe_ = zero();
  stationary_ = zeros();
  const Index N = rows();
  A_.assign(N, zeros());
  Q_.assign(N, zeros());
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
    space.stationary(P);
    stationary_.block(at, at, size, size) = P;
    for (Index i = 1; i < N; ++i) {
      if (i == 1 || gap(i) != gap(i - 1)) space.step(gap(i), A, Q);
      A_[i].block(at, at, size, size) = A;
      Q_[i].block(at, at, size, size) = Q;
    }
  }
  P_.clear();
  N_.clear();
}

template <int D>
bool ChainOf<D>::factorise(const Vector& lambda) {
  const Index N = rows();
  lambda_ = lambda;
  P_.resize(N, zeros());
  s_.resize(N);
  N_.clear();
  log_det_ = 0;
  Mat P = stationary_;
  for (Index i = 0; i < N; ++i) {
    if (i > 0) P = symmetric(A_[i] * P * A_[i].transpose() + Q_[i]);
    P_[i] = P;
    const Vec own = h(i);
    s_[i] = 1 + lambda[i] * own.dot(P * own);
    if (!(s_[i] > 0)) return false;
    log_det_ += std::log(s_[i]);
    P = filtered(P, own, lambda[i], s_[i]);
  }
  return true;
}

template <int D>
const typename ChainOf<D>::Mats& ChainOf<D>::adjoints() const {
  const Index N = rows();
  if (static_cast<Index>(N_.size()) == N) return N_;
  Mats found(N, zeros());
  Mat after = zeros();
  for (Index i = N - 1; i >= 0; --i) {
    found[i] = after;
    if (i > 0) after = A_[i].transpose() * adjoint(i, after) * A_[i];
  }
  N_ = std::move(found);
  return N_;
}

template <int D>
Vector ChainOf<D>::prior_variances(Index block) const {
  Vector out(rows());
  for (Index i = 0; i < rows(); ++i) {
    const Vec own = h(i, block);
    out[i] = own.dot(stationary_ * own);
  }
  return out;
}

template <int D>
Vector ChainOf<D>::variances(Index block) const {
  const Mats& N = adjoints();
  Vector out(rows());
  for (Index i = 0; i < rows(); ++i) {
    if (block == all) {
      const Vec own = h(i), decided = P_[i] * own / s_[i];
      out[i] = own.dot(decided) - decided.dot(N[i] * decided);
    } else {
      const Vec own = h(i, block), Ph = P_[i] * own;
      out[i] = own.dot(Ph) - Ph.dot(adjoint(i, N[i]) * Ph);
    }
  }
  return out;
}

template <int D>
Chain::Solution ChainOf<D>::solve_for(const BlockWeights& b, bool parts) const {
  const Index N = rows();
  Solution out{Vector(N), Vector(N), Matrix(parts ? N : 0, blocks())};
  Vecs x(N, zero());
  for (Index i = 1; i < N; ++i) {
    const Vec before = h(i - 1), Pb = P_[i - 1] * before;
    Vec known = x[i - 1] - Pb * (gain(i - 1) * before.dot(x[i - 1]));
    if (b.block == all) {
      known += Pb * (b.weight[i - 1] / s_[i - 1]);
    } else {
      const Vec z = h(i - 1, b.block) * b.weight[i - 1];
      known += P_[i - 1] * z - Pb * (gain(i - 1) * Pb.dot(z));
    }
    x[i] = A_[i] * known;
  }
  Vec r = zero();  // after the site
  for (Index i = N - 1; i >= 0; --i) {
    const Vec own = h(i), Ph = P_[i] * own;
    const double predicted = own.dot(x[i]);
    const bool whole = b.block == all;
    // b / s - (lambda / s)(h'x + (P h)'r), where b is of the whole
    out.alpha[i] = (whole ? b.weight[i] / s_[i] : 0.0) - gain(i) * (predicted + Ph.dot(r));
    const Vec z = whole ? zero() : Vec(h(i, b.block) * b.weight[i]);
    if (!whole) out.alpha[i] -= gain(i) * Ph.dot(z);
    Vec total = past(i, own, Ph, r + z) - own * (gain(i) * predicted);
    if (whole) total += own * (b.weight[i] / s_[i]);  // L'h b = h b / s
    out.mean[i] = predicted + Ph.dot(total);
    for (Index k = 0; k < (parts ? blocks() : 0); ++k) out.parts(i, k) = h(i, k).dot(x[i] + P_[i] * total);
    if (i > 0) r = A_[i].transpose() * total;
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
    if (i + 1 < N) x = A_[i + 1] * (x + P_[i] * own * (lambda_[i] * e[i])).eval();
  }
  Vec r = zero();
  for (Index i = N - 1; i >= 0; --i) {
    const Vec own = h(i), Ph = P_[i] * own;
    out[i] = e[i] - Ph.dot(r) / s_[i];
    if (i > 0) r = A_[i].transpose() * (past(i, own, Ph, r) + own * (lambda_[i] * e[i])).eval();
  }
  return out;
}

template <int D>
typename ChainOf<D>::Vecs ChainOf<D>::prior_adjoints(const BlockWeights& x) const {
  Vecs r(rows(), zero());
  Vec after = zero();
  for (Index i = rows() - 1; i >= 0; --i) {
    r[i] = after + h(i, x.block) * x.weight[i];
    if (i > 0) after = A_[i].transpose() * r[i];
  }
  return r;
}

template <int D>
Vector ChainOf<D>::prior_product(const BlockWeights& x) const {
  const Vecs r = prior_adjoints(x);
  Vector out(rows());
  Vec m = zero();
  for (Index i = 0; i < rows(); ++i) {
    m = i == 0 ? Vec(stationary_ * r[0]) : Vec(A_[i] * m + Q_[i] * r[i]);
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
    const Vec own = h(i), Ph = P_[i] * own, p = decided(i, own, Ph);
    Mat through = past_both(i, own, Ph, S);
    out[i] = Ph.dot(p) * Ph.dot(p) * x[i] + Ph.dot(through * Ph);
    through += x[i] * p * p.transpose();
    if (i > 0) S = A_[i].transpose() * through * A_[i];
  }
  S = zeros();  // of earlier rows
  for (Index i = 0; i < N; ++i) {
    const Vec own = h(i), Ph = P_[i] * own, p = decided(i, own, Ph);
    out[i] += p.dot(S * p);
    if (i + 1 == N) break;
    const Mat AL = A_[i + 1] * (identity() - gain(i) * Ph * own.transpose());
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
    const Vec own = h(i), Ph = P_[i] * own, p = decided(i, own, Ph), c = stationary_ * own;
    Mat through = X - own * (gain(i) * (Ph.transpose() * X));  // L'X
    out[i] = own.dot(c) * Ph.dot(p) * x[i] + Ph.dot(through * c);
    through += x[i] * p * own.transpose();
    if (i > 0) X = A_[i].transpose() * through * A_[i];
  }
  Mat Z = zeros();
  for (Index i = 0; i < N; ++i) {
    const Vec own = h(i), Ph = P_[i] * own, p = decided(i, own, Ph), c = stationary_ * own;
    out[i] += p.dot(Z * own);
    if (i + 1 == N) break;
    const Mat sum = Z + x[i] * Ph * c.transpose();
    Z = A_[i + 1] * (sum - gain(i) * Ph * (own.transpose() * sum)).eval() * A_[i + 1].transpose();
  }
  return out;
}

// Backwards in information form, M of later sites and m of what they say of Y and the linear functions, which earlier
// sites do not enter; then forwards with the new sites.
template <int D>
void ChainOf<D>::sweep(const Matrix& Y, const std::vector<BlockWeights>& functions, const Change& change) {
  const Index N = rows(), q = Y.cols(), p = q + static_cast<Index>(functions.size());
  using Columns = Eigen::Matrix<double, D, Eigen::Dynamic>;
  const Columns none = Columns::Zero(dimension_, p);
  Mats M(N, zeros());
  std::vector<Columns> m(N, none);
  // what row i says by itself, at this lambda
  const auto own_information = [&](Index i, double lambda) {
    Columns z = none;
    if (q > 0) z.leftCols(q) = (lambda * h(i)) * Y.row(i);
    for (Index k = q; k < p; ++k) z.col(k) = h(i, functions[k - q].block) * functions[k - q].weight[i];
    return z;
  };
  for (Index i = N - 1; i > 0; --i) {
    const Vec own = h(i);
    const Mat W = M[i] + lambda_[i] * own * own.transpose();
    const Columns w = m[i] + own_information(i, lambda_[i]);
    const auto system = (identity() + W * Q_[i]).eval().partialPivLu();
    M[i - 1] = symmetric(A_[i].transpose() * system.solve(W) * A_[i]);
    m[i - 1] = A_[i].transpose() * system.solve(w);
  }
  Mat P = stationary_;
  Columns x = none;
  Vector t(p);
  for (Index i = 0; i < N; ++i) {
    const Vec own = h(i);
    const auto system = (identity() + P * M[i]).eval().partialPivLu();
    const Mat S = system.solve(P);  // without the site of i
    const Columns mean = system.solve((x + P * m[i]).eval());
    const double w = own.dot(S * own), shrink = 1 / (1 + lambda_[i] * w);
    const Columns z = own_information(i, 0);
    for (Index k = 0; k < p; ++k)
      t[k] = shrink * (k < q ? Y(i, k) - own.dot(mean.col(k)) : own.dot(mean.col(k) + S * z.col(k)));
    lambda_[i] += change(i, w * shrink, t);
    if (i + 1 == N) break;
    const double s = 1 + lambda_[i] * own.dot(P * own);
    const Vec Ph = P * own;
    const Mat F = filtered(P, own, lambda_[i], s);
    x = A_[i + 1] * (x - Ph * (lambda_[i] / s) * (own.transpose() * x) + F * own_information(i, lambda_[i])).eval();
    P = symmetric(A_[i + 1] * F * A_[i + 1].transpose() + Q_[i + 1]);
  }
}

template <int D>
void ChainOf<D>::start_gradient() const {
  by_stationary_ = zeros();
  by_A_.assign(rows(), zeros());
  by_Q_.assign(rows(), zeros());
}

template <int D>
void ChainOf<D>::add_log_det_gradient(double weight) const {
  const Mats& N = adjoints();
  for (Index i = 0; i < rows(); ++i) {
    const Mat before = adjoint(i, N[i]);
    if (i == 0) {
      by_stationary_ += weight * before;
    } else {
      by_Q_[i] += weight * before;
      by_A_[i] += 2 * weight * before * A_[i] * filtered(i - 1);
    }
  }
}

template <int D>
void ChainOf<D>::add_quadratic_gradient(double weight, const BlockWeights& x) const {
  const Vecs r = prior_adjoints(x);
  Vec m = stationary_ * r[0];
  by_stationary_ += weight * r[0] * r[0].transpose();
  for (Index i = 1; i < rows(); ++i) {
    by_Q_[i] += weight * r[i] * r[i].transpose();
    by_A_[i] += 2 * weight * r[i] * m.transpose();
    m = (A_[i] * m + Q_[i] * r[i]).eval();
  }
}

// Rows at equal gaps one after the other share a call.
template <int D>
void ChainOf<D>::finish_gradient(VectorRef hyper) const {
  Mat by_A = zeros(), by_Q = zeros();
  for (Index b = 0; b < blocks(); ++b) {
    const StateSpace& space = *blocks_[b].space;
    const Index at = first_[b], size = space.dimension();
    space.add_stationary_gradient(Matrix(by_stationary_.block(at, at, size, size)), hyper);
  }
  for (Index i = 1; i < rows(); ++i) {
    by_A += by_A_[i];
    by_Q += by_Q_[i];
    if (i + 1 < rows() && gap(i + 1) == gap(i)) continue;
    for (Index b = 0; b < blocks(); ++b) {
      const StateSpace& space = *blocks_[b].space;
      const Index at = first_[b], size = space.dimension();
      space.add_step_gradient(gap(i), Matrix(by_A.block(at, at, size, size)), Matrix(by_Q.block(at, at, size, size)),
                              hyper);
    }
    by_A = by_Q = zeros();
  }
}

// Backwards: x_i given x_(i+1) and the sites up to i. The regression on x_(i+1) uses a pseudo-inverse, as that state may
// be known exactly (ties, kernels without noise).
template <int D>
std::vector<Matrix> ChainOf<D>::draw(Context& context, Index count) const {
  constexpr double nothing = 1e-14;
  const Index N = rows();
  std::vector<Matrix> out(blocks(), Matrix(N, count));
  using Columns = Eigen::Matrix<double, D, Eigen::Dynamic>;
  Columns x = Columns::Zero(dimension_, count);
  const auto root = [](const Mat& X) {
    const Eigen::SelfAdjointEigenSolver<Mat> system(X);
    return Mat(system.eigenvectors() * system.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal());
  };
  for (Index i = N - 1; i >= 0; --i) {
    const Mat F = filtered(i);
    Mat left = F;
    if (i + 1 < N) {
      const Mat& A = A_[i + 1];
      const Eigen::SelfAdjointEigenSolver<Mat> system(symmetric(A * F * A.transpose() + Q_[i + 1]));
      const Vec values = system.eigenvalues();
      Vec inverse = zero();
      for (Index k = 0; k < dimension_; ++k)
        if (values[k] > nothing * values[dimension_ - 1]) inverse[k] = 1 / values[k];
      const Mat G =
          F * A.transpose() * system.eigenvectors() * inverse.asDiagonal() * system.eigenvectors().transpose();
      const Mat rest = identity() - G * A;
      left = rest * F * rest.transpose() + G * Q_[i + 1] * G.transpose();
      x = (G * x).eval();
    }
    x += root(symmetric(left)) * white_noise(context, dimension_, count);
    for (Index b = 0; b < blocks(); ++b) out[b].row(i) = h(i, b).transpose() * x;
  }
  return out;
}

}  // namespace

std::unique_ptr<Chain> make_chain(Vector at, std::vector<ChainBlock> blocks) {
  Index d = 0;
  for (const ChainBlock& block : blocks) d += block.space->dimension();
  switch (d) {
    case 1: return std::make_unique<ChainOf<1>>(std::move(at), std::move(blocks));
    case 2: return std::make_unique<ChainOf<2>>(std::move(at), std::move(blocks));
    case 3: return std::make_unique<ChainOf<3>>(std::move(at), std::move(blocks));
    case 4: return std::make_unique<ChainOf<4>>(std::move(at), std::move(blocks));
    default: return std::make_unique<ChainOf<Eigen::Dynamic>>(std::move(at), std::move(blocks));
  }
}

}  // namespace galvi

#include "solver/chain.h"

#include "numeric/dense.h"
#include "solver/chain_verbs.h"

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
Matrix after_site(const Matrix& P, const Vector& h, const Vector& Ph, double lambda, double s) {
  Matrix out = P - (lambda / s) * Ph * Ph.transpose();
  const double length = h.squaredNorm();
  if (length == 0) return out;
  const Vector missing = Ph / s - out * h;
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
    const Matrix F = after_site(P, h, Ph, lambda_[i], s);
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
  const auto known = filter();
  for (Index i = N - 1; i >= 0; --i) {
    if (i % 64 == 0) context.monitor.poll();
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

std::unique_ptr<Chain> make_chain(Vector at, std::vector<ChainBlock> blocks) {
  Index d = 0;
  for (const ChainBlock& block : blocks) d += block.space->dimension();
  switch (d) {
    case 1: return std::make_unique<ChainOf<FixedStates<1>>>(std::move(at), std::move(blocks));
    case 2: return std::make_unique<ChainOf<FixedStates<2>>>(std::move(at), std::move(blocks));
    case 3: return std::make_unique<ChainOf<FixedStates<3>>>(std::move(at), std::move(blocks));
    default: return std::make_unique<ChainOf<BlockStates>>(std::move(at), std::move(blocks));
  }
}

}  // namespace galvi

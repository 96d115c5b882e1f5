#include "global/linear_response.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "numeric/dense.h"
#include "numeric/krylov.h"
#include "numeric/parallel.h"

namespace galvi {

namespace {

// A root of a covariance that may be singular.
Matrix root_of(const Matrix& V) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(V);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
}

// Probabilities of the K classes.
void softmax(const Vector& eta, bool reference, Vector& p) {
  const double top = reference ? std::max(0.0, eta.maxCoeff()) : eta.maxCoeff();
  p = (eta.array() - top).exp();
  p /= p.sum() + (reference ? std::exp(-top) : 0.0);
}

// Joint cumulants of the indicators of classes a <= b <= c (<= d).
double cumulant(const Vector& p, Index a, Index b, Index c) {
  if (a == c) return p[a] * (1 - p[a]) * (1 - 2 * p[a]);
  if (a == b) return -p[a] * p[c] * (1 - 2 * p[a]);
  if (b == c) return -p[a] * p[b] * (1 - 2 * p[b]);
  return 2 * p[a] * p[b] * p[c];
}

double cumulant(const Vector& p, Index a, Index b, Index c, Index d) {
  // the derivative of the one of a, b, c by eta_d; dp_x / deta_d = p_x (1(x = d) - p_d)
  const auto slope = [&](Index x) { return p[x] * ((x == d) - p[d]); };
  if (a == c) return slope(a) * (1 - 6 * p[a] + 6 * p[a] * p[a]);
  if (a == b)
    return -slope(a) * p[c] * (1 - 4 * p[a]) - p[a] * (1 - 2 * p[a]) * slope(c);
  if (b == c)
    return -slope(b) * p[a] * (1 - 4 * p[b]) - p[b] * (1 - 2 * p[b]) * slope(a);
  return 2 * (slope(a) * p[b] * p[c] + p[a] * slope(b) * p[c] + p[a] * p[b] * slope(c));
}

// The bound's Hessian in (m, V), where q is N(0, I): x = (u, S / sqrt(2)) with dm = R u and dV = R S R'.
class Response {
 public:
  Response(const Matrix& W, const HigherDerivatives& derivatives, const Matrix& root)
      : W_(W), derivatives_(derivatives), root_(root), q_(W.cols()), K_(root.rows() / W.cols()) {}

  Vector operator()(const Vector& x) const {
    const Index D = root_.rows(), N = W_.rows();
    const Vector dm = root_ * x.head(D);
    const Matrix eta = W_ * Eigen::Map<const Matrix>(dm.data(), q_, K_);
    const Matrix S = M_SQRT2 * Eigen::Map<const Matrix>(x.data() + D, D, D);
    const Matrix dV = root_ * S * root_.transpose();
    Matrix H = Matrix::Zero(N, K_ * K_), G = Matrix::Zero(N, K_);
    for (Index c = 0; c < K_; ++c)
      H.array() += derivatives_.third.middleCols(c * K_ * K_, K_ * K_).array().colwise() * eta.col(c).array();
    for (Index d = 0; d < K_; ++d) {
      for (Index c = 0; c < K_; ++c) {
        const Vector between = 0.5 * (W_ * dV.block(c * q_, d * q_, q_, q_)).cwiseProduct(W_).rowwise().sum();
        const Index pair = c + K_ * d;
        H.array() += derivatives_.fourth.middleCols(pair * K_ * K_, K_ * K_).array().colwise() * between.array();
        G.array() += derivatives_.third.middleCols(pair * K_, K_).array().colwise() * between.array();
      }
    }
    Matrix sums(D, D);
    for (Index b = 0; b < K_; ++b) {
      for (Index a = 0; a <= b; ++a) {
        const auto block = sums.block(a * q_, b * q_, q_, q_);
        sums.block(a * q_, b * q_, q_, q_).noalias() = W_.transpose() * H.col(a + K_ * b).asDiagonal() * W_;
        if (a < b) sums.block(b * q_, a * q_, q_, q_) = block.transpose();
      }
    }
    const Matrix slope = W_.transpose() * G;
    Vector out(x.size());
    out.head(D) = x.head(D) - root_.transpose() * Eigen::Map<const Vector>(slope.data(), D);
    Eigen::Map<Matrix>(out.data() + D, D, D) =
        Eigen::Map<const Matrix>(x.data() + D, D, D) - M_SQRT1_2 * (root_.transpose() * sums * root_);
    return out;
  }

 private:
  const Matrix& W_;
  const HigherDerivatives& derivatives_;
  const Matrix& root_;
  Index q_, K_;
};

}  // namespace

HigherDerivatives softmax_derivatives(Context& context, const Matrix& mean, const Matrix& between,
                                      const Vector& copies, bool reference, const Matrix& points) {
  const Index N = mean.rows(), K = mean.cols(), square = K * K;
  HigherDerivatives out{Matrix::Zero(N, K * square), Matrix::Zero(N, square * square)};
  constexpr Index block_rows = 64;
  const Index blocks = (N + block_rows - 1) / block_rows;
  const double work = static_cast<double>(N * points.rows() * square * square);
  parallel_for(context, blocks, work, [&](Index block) {
    Vector p(K), third(K * square), fourth(square * square);
    for (Index n = block * block_rows; n < std::min(N, (block + 1) * block_rows); ++n) {
      const Vector covariance = between.row(n);
      const Matrix root = root_of(Eigen::Map<const Matrix>(covariance.data(), K, K));
      third.setZero();
      fourth.setZero();
      for (Index s = 0; s < points.rows(); ++s) {
        softmax(mean.row(n).transpose() + root * points.row(s).transpose(), reference, p);
        for (Index a = 0; a < K; ++a)
          for (Index b = a; b < K; ++b)
            for (Index c = b; c < K; ++c) {
              third[a + K * (b + K * c)] += cumulant(p, a, b, c);
              for (Index d = c; d < K; ++d) fourth[a + K * (b + K * (c + K * d))] += cumulant(p, a, b, c, d);
            }
      }
      // of any order of the classes
      const double share = -copies[n] / static_cast<double>(points.rows());
      for (Index c = 0; c < K; ++c)
        for (Index b = 0; b < K; ++b)
          for (Index a = 0; a < K; ++a) {
            std::array<Index, 3> in{a, b, c};
            std::sort(in.begin(), in.end());
            out.third(n, a + K * (b + K * c)) = share * third[in[0] + K * (in[1] + K * in[2])];
            for (Index d = 0; d < K; ++d) {
              std::array<Index, 4> all{a, b, c, d};
              std::sort(all.begin(), all.end());
              out.fourth(n, a + K * (b + K * (c + K * d))) =
                  share * fourth[all[0] + K * (all[1] + K * (all[2] + K * all[3]))];
            }
          }
    }
  });
  return out;
}

std::optional<Matrix> linear_response(Context& context, const Matrix& W, const HigherDerivatives& derivatives,
                                      const Matrix& covariance) {
  constexpr double tolerance = 1e-4;
  constexpr int most = 100;
  Matrix root = covariance;
  if (!cholesky(context, root)) return std::nullopt;
  root.triangularView<Eigen::StrictlyUpper>().setZero();
  const Index D = root.rows();
  const Response hessian(W, derivatives, root);
  const LinearMap product = [&](const Vector& x) { return hessian(x); };
  const LinearMap none = [](const Vector& x) { return x; };
  Matrix U(D, D);
  std::vector<char> solved(static_cast<std::size_t>(D));
  parallel_for(context, D, static_cast<double>(10 * D * D * D * (W.rows() + D)), [&](Index j) {
    const Vector rhs = Vector::Unit(D * (D + 1), j);
    const Vector x = conjugate_gradients(product, none, rhs, tolerance, most);
    U.col(j) = x.head(D);
    solved[static_cast<std::size_t>(j)] = x.allFinite() && (hessian(x) - rhs).norm() <= 10 * tolerance;
  });
  if (std::find(solved.begin(), solved.end(), 0) != solved.end()) return std::nullopt;
  const Matrix response = root * U * root.transpose();
  return Matrix(0.5 * (response + response.transpose()));
}

}  // namespace galvi

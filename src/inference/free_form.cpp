#include "inference/free_form.h"

#include <cmath>
#include <limits>

#include "numeric/dense.h"

namespace galvi {

namespace {

constexpr Index panel = 128;  // columns of a triangular product at a time

template <class Body>
void for_panels(Index columns, Body body) {
  for (Index begin = 0; begin < columns; begin += panel) body(begin, std::min(panel, columns - begin));
}

// out = A B for lower triangular B; with `lower` only the lower triangle of the product, for A that is lower
// triangular too or if the rest is not needed.
void times_lower(Context& context, const Matrix& A, bool lower, const Matrix& B, Matrix& out) {
  const Index N = A.rows(), L = A.cols();
  out.setZero(N, L);
  for_panels(L, [&](Index j, Index width) {
    const Index top = lower ? j : 0;
    multiply(context, false, false, 1.0, A.block(top, j, N - top, L - j), B.block(j, j, L - j, width), 0.0,
             out.block(top, j, N - top, width));
  });
  if (lower) out.triangularView<Eigen::StrictlyUpper>().setZero();
}

// out = the lower triangle of A' diag(d) B; `lower`: A and B have nothing above their diagonals.
void crossed_lower(Context& context, const Matrix& A, bool lower, const Vector& d, const Matrix& B,
                   Matrix& out) {
  const Index N = A.rows(), L = A.cols();
  out.setZero(L, L);
  for_panels(L, [&](Index j, Index width) {
    const Index top = lower ? j : 0;
    const Matrix scaled = d.tail(N - top).asDiagonal() * B.block(top, j, N - top, width);
    multiply(context, true, false, 1.0, A.block(top, j, N - top, L - j), scaled, 0.0,
             out.block(j, j, L - j, width));
  });
  out.triangularView<Eigen::StrictlyUpper>().setZero();
}

}  // namespace

// A~ = I + W~' Lambda W~ = U U' with U upper triangular: S = U^-T, u = S S' W~' b.
FreeForm::FreeForm(Context& context, const Solver& solver, const Vector& lambda, const Vector& b)
    : context_(context), extra_(solver.extra_variances()), design_(solver.whitened_design()) {
  const Index L = design_.cols();
  triangular_ = design_.rows() == L && design_.isLowerTriangular(std::numeric_limits<double>::min());
  Matrix A;
  crossed_lower(context_, design_, triangular_, lambda, design_, A);
  A.diagonal().array() += 1;
  fill_upper(A);
  // Reversing rows and columns turns a lower triangular factor into an upper one.
  Matrix flipped = A.reverse();
  if (cholesky(context_, flipped)) {
    flipped.triangularView<Eigen::StrictlyUpper>().setZero();
    invert_lower(context_, flipped);
    R_ = flipped.reverse().transpose();
    base_ = R_ * (R_.transpose() * (design_.transpose() * b));
  } else {  // by rounding: the prior is as good a start
    R_.setIdentity(L, L);
    base_.setZero(L);
  }
  t_.setZero(L);
  base_mean_ = design_ * base_;
  times_lower(context_, design_, triangular_, R_, root_);
}

void FreeForm::write(double* x) const {
  const Index L = R_.rows();
  std::copy_n(t_.data(), L, x);
  for (Index j = 0; j < L; ++j) {
    std::copy_n(R_.col(j).data() + j, L - j, x + diagonal(j));
    x[diagonal(j)] = std::log(R_(j, j));
  }
}

void FreeForm::read(const double* x) {
  const Index L = R_.rows();
  t_ = Eigen::Map<const Vector>(x, L);
  for (Index j = 0; j < L; ++j) {
    std::copy_n(x + diagonal(j), L - j, R_.col(j).data() + j);
    R_(j, j) = std::exp(R_(j, j));
  }
  times_lower(context_, design_, triangular_, R_, root_);
}

void FreeForm::rebase() {
  const Index L = R_.rows();
  base_mean_ += design_ * t_;
  design_ = root_;
  if (scale_.size() == 0) {
    base_ += t_;
    scale_ = R_;
  } else {
    base_ += scale_ * t_;
    Matrix S;
    times_lower(context_, scale_, true, R_, S);
    scale_ = std::move(S);
  }
  crossed_lower(context_, scale_, true, Vector::Ones(L), scale_, metric_);
  fill_upper(metric_);
  t_.setZero();
  R_.setIdentity();
}

Vector FreeForm::variance() const {
  Vector out = root_.rowwise().squaredNorm();
  if (extra_.size() > 0) out += extra_;
  return out;
}

// [|u|^2 + tr(R' P' P R) - L] / 2 - log|P R|
double FreeForm::kl() {
  double log_det = R_.diagonal().array().log().sum();
  if (scale_.size() == 0) {
    u_ = base_ + t_;
    metric_R_ = R_;
  } else {
    u_ = base_ + scale_ * t_;
    times_lower(context_, metric_, true, R_, metric_R_);
    log_det += scale_.diagonal().array().log().sum();
  }
  const double trace = metric_R_.cwiseProduct(R_).sum();
  return 0.5 * (u_.squaredNorm() + trace - static_cast<double>(R_.rows())) - log_det;
}

double FreeForm::write_gradient(const Vector& d_mean, const Vector& d_variance, double* gradient) {
  const Index L = R_.rows();
  const bool scaled = scale_.size() > 0;
  const Vector in_t = design_.transpose() * d_mean - (scaled ? Vector(scale_.transpose() * u_) : u_);
  Matrix in_R;
  crossed_lower(context_, design_, triangular_, 2 * d_variance, root_, in_R);
  in_R -= metric_R_;
  in_R.diagonal() += R_.diagonal().cwiseInverse();
  std::copy_n(in_t.data(), L, gradient);
  for (Index j = 0; j < L; ++j) {
    std::copy_n(in_R.col(j).data() + j, L - j, gradient + diagonal(j));
    gradient[diagonal(j)] *= R_(j, j);
  }
  if (!scaled) return in_t.squaredNorm() + in_R.squaredNorm();
  // From u = u_0 + P t and S = P R: P^-T d/dt, and the lower triangle of P^-T d/dR.
  const double by_mean = scale_.transpose().triangularView<Eigen::Upper>().solve(in_t).squaredNorm();
  double by_factor = 0;
  for_panels(L, [&](Index j, Index width) {
    auto block = in_R.block(j, j, L - j, width);
    solve_lower_transposed(context_, scale_.block(j, j, L - j, L - j), block);
    for (Index i = 0; i < width; ++i) by_factor += block.col(i).tail(L - j - i).squaredNorm();
  });
  return by_mean + by_factor;
}

}  // namespace galvi

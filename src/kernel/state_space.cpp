#include "kernel/state_space.h"

namespace galvi {

namespace {

// out = X (x) Y, element by element.
Matrix kronecker(const ConstMatrixRef& X, const ConstMatrixRef& Y) {
  Matrix out(X.rows() * Y.rows(), X.cols() * Y.cols());
  for (Index j = 0; j < X.cols(); ++j)
    for (Index i = 0; i < X.rows(); ++i)
      out.block(i * Y.rows(), j * Y.cols(), Y.rows(), Y.cols()) = X(i, j) * Y;
  return out;
}

// X += d (G : X (x) Y) / dX, and the same for Y.
void add_left_factor(const ConstMatrixRef& G, const ConstMatrixRef& Y, MatrixRef X) {
  for (Index j = 0; j < X.cols(); ++j)
    for (Index i = 0; i < X.rows(); ++i)
      X(i, j) += G.block(i * Y.rows(), j * Y.cols(), Y.rows(), Y.cols()).cwiseProduct(Y).sum();
}
void add_right_factor(const ConstMatrixRef& G, const ConstMatrixRef& X, MatrixRef Y) {
  for (Index j = 0; j < X.cols(); ++j)
    for (Index i = 0; i < X.rows(); ++i) Y += X(i, j) * G.block(i * Y.rows(), j * Y.cols(), Y.rows(), Y.cols());
}

Matrix zeros(const StateSpace& space) { return Matrix::Zero(space.dimension(), space.dimension()); }

Matrix covariance_of(const StateSpace& space, double at) {
  Matrix P = zeros(space);
  space.covariance(at, P);
  return P;
}

struct Step {
  Matrix A, Q;
  Step(const StateSpace& space, double at, double gap) : A(zeros(space)), Q(zeros(space)) { space.step(at, gap, A, Q); }
};

}  // namespace

std::vector<Index> SumSpace::blocks() const {
  std::vector<Index> out = first_.blocks();
  const std::vector<Index> more = second_.blocks();
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

void SumSpace::observe(VectorRef h) const {
  first_.observe(h.head(first_.dimension()));
  second_.observe(h.tail(second_.dimension()));
}

void SumSpace::covariance(double at, MatrixRef P) const {
  const Index a = first_.dimension(), b = second_.dimension();
  P.setZero();
  first_.covariance(at, P.topLeftCorner(a, a));
  second_.covariance(at, P.bottomRightCorner(b, b));
}

void SumSpace::step(double at, double gap, MatrixRef A, MatrixRef Q) const {
  const Index a = first_.dimension(), b = second_.dimension();
  A.setZero();
  Q.setZero();
  first_.step(at, gap, A.topLeftCorner(a, a), Q.topLeftCorner(a, a));
  second_.step(at, gap, A.bottomRightCorner(b, b), Q.bottomRightCorner(b, b));
}

void SumSpace::add_covariance_gradient(double at, const ConstMatrixRef& G, VectorRef hyper) const {
  const Index a = first_.dimension(), b = second_.dimension();
  first_.add_covariance_gradient(at, G.topLeftCorner(a, a), hyper);
  second_.add_covariance_gradient(at, G.bottomRightCorner(b, b), hyper);
}

void SumSpace::add_step_gradient(double at, double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                                 VectorRef hyper) const {
  const Index a = first_.dimension(), b = second_.dimension();
  first_.add_step_gradient(at, gap, G_A.topLeftCorner(a, a), G_Q.topLeftCorner(a, a), hyper);
  second_.add_step_gradient(at, gap, G_A.bottomRightCorner(b, b), G_Q.bottomRightCorner(b, b), hyper);
}

std::vector<Index> ProductSpace::blocks() const {
  std::vector<Index> out;
  for (const Index a : first_.blocks())
    for (const Index b : second_.blocks()) out.push_back(a * b);
  return out;
}

/// visit(at, i, a, j, b): the states from `at` on are the products of a states of the first process from i on and b of
/// the second from j on.
template <class Visit>
void ProductSpace::for_pairs(const Visit& visit) const {
  const std::vector<Index> second = second_.blocks();
  Index at = 0, i = 0;
  for (const Index a : first_.blocks()) {
    Index j = 0;
    for (const Index b : second) {
      visit(at, i, a, j, b);
      at += a * b;
      j += b;
    }
    i += a;
  }
}

void ProductSpace::observe(VectorRef h) const {
  Vector x(first_.dimension()), y(second_.dimension());
  first_.observe(x);
  second_.observe(y);
  for_pairs([&](Index at, Index i, Index a, Index j, Index b) {
    h.segment(at, a * b) = kronecker(x.segment(i, a), y.segment(j, b));
  });
}

void ProductSpace::covariance(double at, MatrixRef P) const {
  const Matrix X = covariance_of(first_, at), Y = covariance_of(second_, at);
  P.setZero();
  for_pairs([&](Index k, Index i, Index a, Index j, Index b) {
    P.block(k, k, a * b, a * b) = kronecker(X.block(i, i, a, a), Y.block(j, j, b, b));
  });
}

void ProductSpace::step(double at, double gap, MatrixRef A, MatrixRef Q) const {
  const Step x(first_, at, gap), y(second_, at, gap);
  const Matrix P = covariance_of(first_, at), after = covariance_of(second_, at + gap);
  A.setZero();
  Q.setZero();
  for_pairs([&](Index k, Index i, Index a, Index j, Index b) {
    const auto own = x.A.block(i, i, a, a);
    const Matrix carried = own * P.block(i, i, a, a) * own.transpose();
    A.block(k, k, a * b, a * b) = kronecker(own, y.A.block(j, j, b, b));
    Q.block(k, k, a * b, a * b) = kronecker(x.Q.block(i, i, a, a), after.block(j, j, b, b)) +
                                  kronecker(carried, y.Q.block(j, j, b, b));
  });
}

void ProductSpace::add_covariance_gradient(double at, const ConstMatrixRef& G, VectorRef hyper) const {
  const Matrix X = covariance_of(first_, at), Y = covariance_of(second_, at);
  Matrix by_X = zeros(first_), by_Y = zeros(second_);
  for_pairs([&](Index k, Index i, Index a, Index j, Index b) {
    const Matrix own = G.block(k, k, a * b, a * b);
    add_left_factor(own, Y.block(j, j, b, b), by_X.block(i, i, a, a));
    add_right_factor(own, X.block(i, i, a, a), by_Y.block(j, j, b, b));
  });
  first_.add_covariance_gradient(at, by_X, hyper);
  second_.add_covariance_gradient(at, by_Y, hyper);
}

void ProductSpace::add_step_gradient(double at, double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                                     VectorRef hyper) const {
  const Step x(first_, at, gap), y(second_, at, gap);
  const Matrix P = covariance_of(first_, at), after = covariance_of(second_, at + gap);
  Matrix by_A = zeros(first_), by_Q = by_A, by_P = by_A;
  Matrix by_A2 = zeros(second_), by_Q2 = by_A2, by_after = by_A2;
  for_pairs([&](Index k, Index i, Index a, Index j, Index b) {
    const Matrix own_A = G_A.block(k, k, a * b, a * b), own_Q = G_Q.block(k, k, a * b, a * b);
    const Matrix A = x.A.block(i, i, a, a), before = P.block(i, i, a, a);
    Matrix by_carried = Matrix::Zero(a, a);
    add_left_factor(own_Q, y.Q.block(j, j, b, b), by_carried);
    add_left_factor(own_A, y.A.block(j, j, b, b), by_A.block(i, i, a, a));
    by_A.block(i, i, a, a) += 2 * by_carried * A * before;
    by_P.block(i, i, a, a) += A.transpose() * by_carried * A;
    add_left_factor(own_Q, after.block(j, j, b, b), by_Q.block(i, i, a, a));
    add_right_factor(own_A, A, by_A2.block(j, j, b, b));
    add_right_factor(own_Q, A * before * A.transpose(), by_Q2.block(j, j, b, b));
    add_right_factor(own_Q, x.Q.block(i, i, a, a), by_after.block(j, j, b, b));
  });
  first_.add_step_gradient(at, gap, by_A, by_Q, hyper);
  first_.add_covariance_gradient(at, by_P, hyper);
  second_.add_step_gradient(at, gap, by_A2, by_Q2, hyper);
  second_.add_covariance_gradient(at + gap, by_after, hyper);
}

}  // namespace galvi

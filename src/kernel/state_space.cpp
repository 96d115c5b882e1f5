#include "kernel/state_space.h"

namespace galvi {

namespace {

// out = X (x) Y, element by element.
void kronecker(const StateMatrix& X, const StateMatrix& Y, MatrixRef out) {
  for (Index j = 0; j < X.cols(); ++j)
    for (Index i = 0; i < X.rows(); ++i)
      out.block(i * Y.rows(), j * Y.cols(), Y.rows(), Y.cols()) = X(i, j) * Y;
}

// d (G : X (x) Y) / dX and / dY.
StateMatrix left_factor(const ConstMatrixRef& G, const StateMatrix& Y) {
  StateMatrix out(G.rows() / Y.rows(), G.cols() / Y.cols());
  for (Index j = 0; j < out.cols(); ++j)
    for (Index i = 0; i < out.rows(); ++i)
      out(i, j) = G.block(i * Y.rows(), j * Y.cols(), Y.rows(), Y.cols()).cwiseProduct(Y).sum();
  return out;
}
StateMatrix right_factor(const ConstMatrixRef& G, const StateMatrix& X) {
  const Index rows = G.rows() / X.rows(), columns = G.cols() / X.cols();
  StateMatrix out = StateMatrix::Zero(rows, columns);
  for (Index j = 0; j < X.cols(); ++j)
    for (Index i = 0; i < X.rows(); ++i) out += X(i, j) * G.block(i * rows, j * columns, rows, columns);
  return out;
}

StateMatrix stationary_of(const StateSpace& space) {
  StateMatrix P(space.dimension(), space.dimension());
  space.stationary(P);
  return P;
}

struct Step {
  StateMatrix A, Q;
  Step(const StateSpace& space, double gap)
      : A(space.dimension(), space.dimension()), Q(space.dimension(), space.dimension()) {
    space.step(gap, A, Q);
  }
};

}  // namespace

void SumSpace::observe(VectorRef h) const {
  first_.observe(h.head(first_.dimension()));
  second_.observe(h.tail(second_.dimension()));
}

void SumSpace::stationary(MatrixRef P) const {
  const Index a = first_.dimension(), b = second_.dimension();
  P.setZero();
  first_.stationary(P.topLeftCorner(a, a));
  second_.stationary(P.bottomRightCorner(b, b));
}

void SumSpace::step(double gap, MatrixRef A, MatrixRef Q) const {
  const Index a = first_.dimension(), b = second_.dimension();
  A.setZero();
  Q.setZero();
  first_.step(gap, A.topLeftCorner(a, a), Q.topLeftCorner(a, a));
  second_.step(gap, A.bottomRightCorner(b, b), Q.bottomRightCorner(b, b));
}

void SumSpace::add_stationary_gradient(const ConstMatrixRef& G, VectorRef hyper) const {
  const Index a = first_.dimension(), b = second_.dimension();
  first_.add_stationary_gradient(G.topLeftCorner(a, a), hyper);
  second_.add_stationary_gradient(G.bottomRightCorner(b, b), hyper);
}

void SumSpace::add_step_gradient(double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                                 VectorRef hyper) const {
  const Index a = first_.dimension(), b = second_.dimension();
  first_.add_step_gradient(gap, G_A.topLeftCorner(a, a), G_Q.topLeftCorner(a, a), hyper);
  second_.add_step_gradient(gap, G_A.bottomRightCorner(b, b), G_Q.bottomRightCorner(b, b), hyper);
}

// A block of the first for each element of the second's state.
void ProductSpace::add_blocks(std::vector<Index>& sizes) const {
  std::vector<Index> own;
  first_.add_blocks(own);
  for (const Index size : own) sizes.push_back(size * second_.dimension());
}

void ProductSpace::observe(VectorRef h) const {
  StateVector x(first_.dimension()), y(second_.dimension());
  first_.observe(x);
  second_.observe(y);
  for (Index i = 0; i < x.size(); ++i) h.segment(i * y.size(), y.size()) = x[i] * y;
}

void ProductSpace::stationary(MatrixRef P) const { kronecker(stationary_of(first_), stationary_of(second_), P); }

void ProductSpace::step(double gap, MatrixRef A, MatrixRef Q) const {
  const Step x(first_, gap), y(second_, gap);
  const StateMatrix carried = x.A * stationary_of(first_) * x.A.transpose();
  StateMatrix more(Q.rows(), Q.cols());
  kronecker(x.A, y.A, A);
  kronecker(x.Q, stationary_of(second_), Q);
  kronecker(carried, y.Q, more);
  Q += more;
}

void ProductSpace::add_stationary_gradient(const ConstMatrixRef& G, VectorRef hyper) const {
  first_.add_stationary_gradient(left_factor(G, stationary_of(second_)), hyper);
  second_.add_stationary_gradient(right_factor(G, stationary_of(first_)), hyper);
}

void ProductSpace::add_step_gradient(double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                                     VectorRef hyper) const {
  const Step x(first_, gap), y(second_, gap);
  const StateMatrix P = stationary_of(first_);
  const StateMatrix carried = x.A * P * x.A.transpose();
  const StateMatrix by_carried = left_factor(G_Q, y.Q);
  const StateMatrix by_A = left_factor(G_A, y.A) + 2 * by_carried * x.A * P;
  first_.add_step_gradient(gap, by_A, left_factor(G_Q, stationary_of(second_)), hyper);
  first_.add_stationary_gradient(x.A.transpose() * by_carried * x.A, hyper);
  second_.add_step_gradient(gap, right_factor(G_A, x.A), right_factor(G_Q, carried), hyper);
  second_.add_stationary_gradient(right_factor(G_Q, x.Q), hyper);
}

}  // namespace galvi

#include "prior/knot_field.h"

#include <algorithm>
#include <stdexcept>

#include <Eigen/Cholesky>

namespace galvi {

namespace {

// Of P's diagonal, where innovations have no full rank.
constexpr double innovation_jitter = 1e-8;

using StateFactor = Eigen::LLT<StateMatrix>;

Index dimension_of(const std::vector<std::unique_ptr<Kernel>>& kernels) {
  for (const auto& kernel : kernels)
    if (!kernel->state_space() || !kernel->state_space()->stationary() ||
        kernel->state_space()->dimension() > most_knot_states)
      throw std::invalid_argument("a process at knots needs a stationary kernel with a state space of a few dimensions");
  return kernels.at(0)->state_space()->dimension();
}

// The lower triangle of Q_t (x) I, for each level.
SparseMatrix chain_pattern(Index levels, Index K, Index d, Index M) {
  const Index L = levels * K * d * M;
  if (L > std::numeric_limits<int>::max() / (2 * d + 1)) throw std::length_error("a process has too many knots");
  SparseMatrix out(L, L);
  Eigen::VectorXi count(L);
  for (Index j = 0; j < L; ++j) {
    const Index state = j / M % d, knot = j / (M * d) % K;
    count[j] = static_cast<int>(d - state + (knot + 1 < K ? d : 0));
  }
  out.reserve(count);
  for (Index j = 0; j < L; ++j)
    for (Index k = 0; k < count[j]; ++k) out.insert(j + k * M, j) = 0;
  out.makeCompressed();
  return out;
}

}  // namespace

KnotField::KnotField(const std::vector<std::unique_ptr<Kernel>>& kernels, Vector knots, Index levels, Index width)
    : Field(chain_pattern(levels, knots.size(), dimension_of(kernels), width), {}),
      kernels_(kernels),
      knots_(std::move(knots)),
      levels_(levels),
      M_(width),
      d_(dimension_of(kernels)),
      h_(d_),
      of_(levels) {
  if (knots_.size() == 0) throw std::invalid_argument("a process at knots has none");
  for (Index k = 1; k < knots_.size(); ++k)
    if (!(knots_[k] > knots_[k - 1])) throw std::invalid_argument("knots must be in order");
  kernels_[0]->state_space()->observe(h_);
}

const StateSpace& KnotField::space(Index level) const {
  return *kernels_[kernels_.size() == 1 ? 0 : static_cast<std::size_t>(level)]->state_space();
}

StateMatrix KnotField::innovation(const StateMatrix& Q, const Matrix& P) const {
  StateMatrix out = Q;
  out.diagonal() += jitter_ * P.diagonal();
  return out;
}

// False where an innovation has no full rank to working precision.
bool KnotField::find_steps() {
  for (Index level = 0; level < levels_; ++level) {
    Level& own = of_[level];
    own.P.resize(d_, d_);
    space(level).covariance(0, own.P);
    own.A = own.D = Matrix::Zero(d_, knots() * d_);
    own.D.leftCols(d_) = own.P;
    for (Index k = 0; k < knots(); ++k) {
      if (k > 0) {
        StateMatrix A(d_, d_), Q(d_, d_);
        space(level).step(0, knots_[k] - knots_[k - 1], A, Q);
        own.A.middleCols(k * d_, d_) = A;
        own.D.middleCols(k * d_, d_) = innovation(Q, own.P);
      }
      if (StateFactor(block(own.D, k)).info() != Eigen::Success) return false;
    }
  }
  return true;
}

void KnotField::update(const ConstVectorRef&) {
  jitter_ = 0;
  if (!find_steps()) {
    jitter_ = innovation_jitter;
    if (!find_steps())
      throw std::domain_error("a process at knots has no variance given the knot before, at these hyperparameters");
  }
  double* value = precision_.valuePtr();
  for (Index level = 0; level < levels_; ++level) {
    const Level& own = of_[level];
    const StateMatrix I = StateMatrix::Identity(d_, d_);
    StateMatrix inverse = StateFactor(block(own.D, 0)).solve(I);
    for (Index k = 0; k < knots(); ++k) {
      StateMatrix diagonal = inverse, below(d_, d_);
      if (k + 1 < knots()) {
        inverse = StateFactor(block(own.D, k + 1)).solve(I);
        const StateMatrix A = block(own.A, k + 1);
        below = -inverse * A;
        diagonal -= A.transpose() * below;
      }
      for (Index i = 0; i < d_; ++i)
        for (Index m = 0; m < M_; ++m) {
          for (Index l = i; l < d_; ++l) *value++ = 0.5 * (diagonal(l, i) + diagonal(i, l));
          if (k + 1 < knots())
            for (Index l = 0; l < d_; ++l) *value++ = below(l, i);
        }
    }
  }
}

// f(level, knot, first node of the knot) for all, in order.
template <class F>
void KnotField::for_columns(const F& f) const {
  for (Index level = 0; level < levels_; ++level)
    for (Index k = 0; k < knots(); ++k) f(level, k, run(level, k, 0));
}

namespace {

// X <- X + B Y for states in rows of M each: rows `to` and `from` on.
void add_states(const StateMatrix& B, Index M, Index from, Index to, Matrix& X) {
  for (Index i = 0; i < B.rows(); ++i)
    for (Index j = 0; j < B.cols(); ++j)
      X.middleRows(to + i * M, M).noalias() += B(i, j) * X.middleRows(from + j * M, M);
}

// X <- B X for the states of one knot.
void multiply_states(const StateMatrix& B, Index M, Index at, Matrix& X) {
  const Matrix old = X.middleRows(at, B.cols() * M);
  for (Index i = 0; i < B.rows(); ++i) {
    X.middleRows(at + i * M, M).setZero();
    for (Index j = 0; j < B.cols(); ++j) X.middleRows(at + i * M, M) += B(i, j) * old.middleRows(j * M, M);
  }
}

}  // namespace

// B' X = Y with B x = e: from the last knot to the first.
void KnotField::solve_transposed(Matrix& X) const {
  for (Index level = 0; level < levels_; ++level)
    for (Index k = knots() - 1; k > 0; --k)
      add_states(block(of_[level].A, k).transpose(), M_, run(level, k, 0), run(level, k - 1, 0), X);
}

Matrix KnotField::covariance_times(Context&, const ConstMatrixRef& X) const {
  Matrix out = X;
  solve_transposed(out);
  for_columns([&](Index level, Index k, Index at) {
    multiply_states(block(of_[level].D, k), M_, at, out);
    if (k > 0) add_states(block(of_[level].A, k), M_, run(level, k - 1, 0), at, out);
  });
  return out;
}

Matrix KnotField::whitened(Context&, const ConstMatrixRef& X) const {
  Matrix out = X;
  solve_transposed(out);
  for_columns([&](Index level, Index k, Index at) {
    const StateMatrix root = StateFactor(block(of_[level].D, k)).matrixL();
    multiply_states(root.transpose(), M_, at, out);
  });
  return out;
}

double KnotField::log_det(Context&) const {
  double out = 0;
  for_columns([&](Index level, Index k, Index) {
    const StateMatrix root = StateFactor(block(of_[level].D, k)).matrixL();
    out -= 2 * static_cast<double>(M_) * root.diagonal().array().log().sum();
  });
  return out;
}

Vector KnotField::covariances(Context&) const {
  Vector out(precision_.nonZeros());
  Index e = 0;
  for (Index level = 0; level < levels_; ++level) {
    const Level& own = of_[level];
    StateMatrix P = own.P;
    for (Index k = 0; k < knots(); ++k) {
      StateMatrix below(d_, d_), next(d_, d_);
      if (k + 1 < knots()) {
        below = block(own.A, k + 1) * P;
        next = below * block(own.A, k + 1).transpose() + block(own.D, k + 1);
      }
      for (Index i = 0; i < d_; ++i)
        for (Index m = 0; m < M_; ++m) {
          for (Index l = i; l < d_; ++l) out[e++] = P(l, i);
          if (k + 1 < knots())
            for (Index l = 0; l < d_; ++l) out[e++] = below(l, i);
        }
      P = next;
    }
  }
  return out;
}

// With G summed over the processes, sum G_ij dQ_ij is for each step the derivative of <D^-1, E>,
//   E = A G_(k-1,k-1) A' + G_kk - G_(k,k-1) A' - A G_(k,k-1)',
// and log|Q| = -M sum log|D_k|.
void KnotField::add_gradient(Context&, const Vector& G, double share, VectorRef hyper) const {
  const double of_log = share * static_cast<double>(M_);
  Index e = 0;
  for (Index level = 0; level < levels_; ++level) {
    const Level& own = of_[level];
    StateMatrix before = StateMatrix::Zero(d_, d_), cross = StateMatrix::Zero(d_, d_);
    Matrix d_stationary = Matrix::Zero(d_, d_);
    for (Index k = 0; k < knots(); ++k) {
      StateMatrix here = StateMatrix::Zero(d_, d_), next = StateMatrix::Zero(d_, d_);
      for (Index i = 0; i < d_; ++i)
        for (Index m = 0; m < M_; ++m) {
          for (Index l = i; l < d_; ++l) here(l, i) += G[e++];
          if (k + 1 < knots())
            for (Index l = 0; l < d_; ++l) next(l, i) += G[e++];
        }
      for (Index i = 0; i < d_; ++i)
        for (Index l = 0; l < i; ++l) here(l, i) = here(i, l);
      const StateMatrix inverse = StateFactor(block(own.D, k)).solve(StateMatrix::Identity(d_, d_));
      StateMatrix E = here;
      if (k > 0) {
        const StateMatrix A = block(own.A, k);
        E += A * before * A.transpose() - cross * A.transpose() - A * cross.transpose();
        const StateMatrix d_A = 2 * inverse * (A * before - cross);
        const StateMatrix d_Q = -inverse * E * inverse - of_log * inverse;
        space(level).add_step_gradient(0, knots_[k] - knots_[k - 1], d_A, d_Q, hyper);
        d_stationary.diagonal() += jitter_ * d_Q.diagonal();
      } else {
        d_stationary += -inverse * E * inverse - of_log * inverse;
      }
      before = here;
      cross = next;
    }
    space(level).add_covariance_gradient(0, d_stationary, hyper);
  }
}

// ---- f(t) given the states around it ----

KnotField::Place KnotField::place_of(double t) const {
  const Index K = knots();
  if (t < knots_[0]) return {Place::before, 0};
  if (t > knots_[K - 1]) return {Place::after, K - 1};
  const Index k = std::upper_bound(knots_.data(), knots_.data() + K, t) - knots_.data() - 1;
  return {knots_[k] == t ? Place::at : Place::between, k};
}

Eigen::VectorXi KnotField::runs_at(double t, Index level) const {
  const Place place = place_of(t);
  Eigen::VectorXi out = Eigen::VectorXi::Constant(most_runs(), -1);
  Index count = 0;
  for (Index knot = place.knot; knot <= place.knot + (place.where == Place::between); ++knot)
    for (Index i = 0; i < d_; ++i)
      if (place.where != Place::at || h_[i] != 0) out[count++] = static_cast<int>(run(level, knot, i));
  return out;
}

// b = S^-1 A q and left = h'V h - (A q)'b, where x has the covariance V (q = V h) and S = A V A' + noise is that of the
// state that is known.
struct KnotField::Bridge {
  StateMatrix A, V, S;
  StateVector q, v, b;
  double left;

  Bridge(const Vector& h, StateMatrix A_in, StateMatrix V_in, StateMatrix S_in)
      : A(std::move(A_in)), V(std::move(V_in)), S(std::move(S_in)), q(V * h), v(A * q) {
    b = StateFactor(S).solve(v);
    left = std::max(h.dot(q) - v.dot(b), 0.0);
  }
  // From d bound / db and d bound / d left those through A, V and S.
  void pull(const Vector& h, const StateVector& d_b, double d_left, StateMatrix& d_A, StateMatrix& d_V,
            StateMatrix& d_S) const {
    const StateVector y = StateFactor(S).solve(d_b);
    const StateVector d_v = y - 2 * d_left * b;
    d_S = d_left * b * b.transpose() - 0.5 * (y * b.transpose() + b * y.transpose());
    d_A = d_v * q.transpose();
    const StateVector d_q = A.transpose() * d_v;
    d_V = d_left * h * h.transpose() + 0.5 * (d_q * h.transpose() + h * d_q.transpose());
  }
};

// Between knots the noise since the knot before is x; before all, x itself.
KnotField::Bridge KnotField::bridge(double t, Index level, const Place& place) const {
  const Level& own = of_[level];
  const Index next = place.where == Place::between ? place.knot + 1 : 0;
  StateMatrix A(d_, d_), V(d_, d_), unused(d_, d_);
  space(level).step(0, knots_[next] - t, A, unused);
  if (place.where == Place::before) return Bridge(h_, A, own.P, own.P);
  space(level).step(0, t - knots_[place.knot], unused, V);
  return Bridge(h_, A, V, block(own.D, next));
}

double KnotField::weights_at(double t, Index level, VectorRef a) const {
  const Place place = place_of(t);
  a.setZero();
  if (place.where == Place::at) {
    Index count = 0;
    for (Index i = 0; i < d_; ++i)
      if (h_[i] != 0) a[count++] = h_[i];
    return 0;
  }
  StateMatrix A(d_, d_), Q(d_, d_);
  if (place.where == Place::after) {
    space(level).step(0, t - knots_[place.knot], A, Q);
    a.head(d_) = A.transpose() * h_;
    return h_.dot(Q * h_);
  }
  const Bridge bridge = this->bridge(t, level, place);
  if (place.where == Place::before) {
    a.head(d_) = bridge.b;
    return bridge.left;
  }
  space(level).step(0, t - knots_[place.knot], A, Q);
  a.head(d_) = A.transpose() * h_ - block(of_[level].A, place.knot + 1).transpose() * bridge.b;
  a.tail(d_) = bridge.b;
  return bridge.left;
}

void KnotField::add_weights_gradient(double t, Index level, const ConstVectorRef& d_a, double d_left,
                                     VectorRef hyper) const {
  const Place place = place_of(t);
  const StateSpace& own = space(level);
  if (place.where == Place::at) return;
  const StateMatrix none = StateMatrix::Zero(d_, d_);
  if (place.where == Place::after) {
    own.add_step_gradient(0, t - knots_[place.knot], h_ * d_a.head(d_).transpose(), d_left * h_ * h_.transpose(), hyper);
    return;
  }
  const Bridge bridge = this->bridge(t, level, place);
  StateMatrix d_A, d_V, d_S;
  if (place.where == Place::before) {
    bridge.pull(h_, d_a.head(d_), d_left, d_A, d_V, d_S);
    own.add_step_gradient(0, knots_[0] - t, d_A, none, hyper);
    own.add_covariance_gradient(0, d_V + d_S, hyper);
    return;
  }
  const Index next = place.knot + 1;
  const StateVector d_first = d_a.head(d_);
  const StateVector d_b = d_a.tail(d_) - block(of_[level].A, next) * d_first;
  bridge.pull(h_, d_b, d_left, d_A, d_V, d_S);
  own.add_step_gradient(0, t - knots_[place.knot], h_ * d_first.transpose(), d_V, hyper);
  own.add_step_gradient(0, knots_[next] - t, d_A, none, hyper);
  own.add_step_gradient(0, knots_[next] - knots_[place.knot], -bridge.b * d_first.transpose(), d_S, hyper);
  if (jitter_ > 0) {
    StateMatrix d_P = none;
    d_P.diagonal() = jitter_ * d_S.diagonal();
    own.add_covariance_gradient(0, d_P, hyper);
  }
}

void KnotField::add_variance_gradient(Index level, double d_variance, VectorRef hyper) const {
  space(level).add_covariance_gradient(0, d_variance * h_ * h_.transpose(), hyper);
}

}  // namespace galvi

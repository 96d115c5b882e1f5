// The recursions of solver/chain.h, for states as solver/state_algebra.h has them.
//
// A row keeps P_i h_i, s_i, its variance, and p_i = (I - N_i P_i) h_i with N_i before its site: the covariance of rows
// i < j is (P_i h_i)' L_i'A_(i+1)' ... L_(j-1)'A_j' p_j. P_i itself is kept for the first row of every stretch, and
// computed again from there where it is needed.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "solver/chain.h"
#include "solver/state_algebra.h"

namespace galvi {

template <class States>
class ChainOf final : public Chain {
 public:
  ChainOf(Vector rows_at, std::vector<ChainBlock> parts);
  std::unique_ptr<Chain> clone() const override { return std::make_unique<ChainOf>(*this); }

  void refresh() override;
  bool factorise(const Vector& lambda) override;
  Vector prior_variances(Index block) const override;
  Vector variances(Index first, Index count) const override;
  Solution solve_for(const BlockWeights& b, bool parts) const override;
  Vector residual(const Vector& y) const override;
  Vector prior_product(const BlockWeights& x) const override;
  Vector squared_covariance(const Vector& x) const override;
  double prior_form(const BlockWeights& x) const override;
  double covariance_form(const Vector& x) const override;
  SquaredForms squared_forms(const Vector& x) const override;
  void start_gradient() const override;
  void add_log_det_gradient(double weight) const override;
  void add_quadratic_gradient(double weight, const BlockWeights& x) const override;
  void finish_gradient(VectorRef hyper) const override;

 protected:
  Matrix start() const override { return matrix(start_); }
  Vector observation(Index i, Index block) const override;
  void step(Index i, Matrix& A_i, Matrix& Q_i) const override;
  std::function<Matrix(Index)> filter() const override;

 private:
  using Vec = typename States::Vec;
  using Mat = typename States::Mat;
  static constexpr Index stretch = 64;

  /// P_i and F_i, before and after the site of i, for the rows of the stretch that was last asked for.
  class Covariances;

  Matrix matrix(const Mat& X) const {
    Matrix out(dimension_, dimension_);
    std::copy(X.begin(), X.end(), out.data());
    return out;
  }
  Matrix unpacked(const double* packed) const;
  /// h_i of all or of some blocks, and P h_i with the prior P of x_i: where it is stored, or in `own`.
  const double* h(Index i, Vec& own, Index first = all, Index count = 1) const {
    return first == all && !scaled_ ? observe_.data() : scaled_h(i, own, first, count);
  }
  const double* scaled_h(Index i, Vec& own, Index first, Index count) const;
  const double* prior(States& states, Index i, const double* h, Vec& own) const;
  /// A gradient gains weight x'dh_i through the factors of row i.
  void add_scale_gradient(Index i, double weight, const double* x) const;
  /// The step to row i > 0.
  const double* A(Index i) const { return &A_[step_[i] * packed_]; }
  const double* Q(Index i) const { return &Q_[step_[i] * packed_]; }
  const double* Ph(Index i) const { return &Ph_[i * dimension_]; }
  const double* decided(Index i) const { return &decided_[i * dimension_]; }

  /// P_i -> F_i. P h is divided by s, not subtracted from: at precise sites the difference has no digits.
  void add_site(States& states, Index i, const double* h, Vec& scratch, Mat& P) const;
  /// F_(i-1) -> P_i
  void predict(States& states, Index i, Mat& F) const {
    states.carry(A(i), F);
    states.add_packed(Q(i), F);
  }
  /// X -> L_i'X L_i + more h h', from Xp = X P_i h, which changes.
  void pass_back(States& states, Index i, double k, const double* h, double more, Vec& Xp, Mat& X) const {
    const double q = states.dot(Ph(i), Xp.data());
    states.combine(-k, Xp.data(), 0.5 * (k * k * q + more), h, Xp.data());
    states.add_cross(Xp.data(), h, X);
  }
  /// X -> L_i X L_i' + more P_i h h'P_i, from Xh = X h, which changes.
  void pass_on(States& states, Index i, double k, const double* h, double more, Vec& Xh, Mat& X) const {
    const double q = states.dot(h, Xh.data());
    states.combine(-k, Xh.data(), 0.5 * (k * k * q + more), Ph(i), Xh.data());
    states.add_cross(Xh.data(), Ph(i), X);
  }
  /// Calls visit(i, N_i before the site of i) for every row, the last first.
  template <class Visit>
  void for_adjoints(const Visit& visit) const;

  struct Gap {
    double from, length;
  };
  bool scaled_ = false, stationary_ = true;
  std::vector<Index> sizes_;  // of the blocks of A and Q
  Index packed_ = 0;          // numbers in these
  std::vector<int> step_;     // which of the distinct gaps is before row i
  std::vector<Gap> gaps_;     // these
  Vec observe_, prior_;       // h and P h, without factors of rows
  Mat start_;                 // prior covariance of x_0
  std::vector<Mat> priors_;   // of all x_i; empty if it is the same
  std::vector<double> A_, Q_;    // of each gap
  std::vector<Mat> starts_;      // P of each stretch
  std::vector<double> Ph_;       // d x N
  std::vector<double> decided_;  // d x N
  Vector s_, variances_;
  mutable std::vector<double> by_start_, by_A_, by_Q_;  // sums of a gradient, as A_ and Q_
};

template <class States>
ChainOf<States>::ChainOf(Vector rows_at, std::vector<ChainBlock> parts) : Chain(std::move(rows_at), std::move(parts)) {
  double regular_from = -std::numeric_limits<double>::infinity();
  for (const ChainBlock& block : blocks_) {
    scaled_ = scaled_ || block.scale.size() > 0;
    stationary_ = stationary_ && block.space->stationary();
    regular_from = std::max(regular_from, block.space->regular_from());
    for (const Index size : block.space->blocks()) sizes_.push_back(size);
  }
  packed_ = States(sizes_).packed();
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

template <class States>
class ChainOf<States>::Covariances {
 public:
  explicit Covariances(const ChainOf& chain) : chain_(chain), states_(chain.sizes_), own_(states_.vector()) {}
  const Mat& before(Index i) { return of(i).P; }
  const Mat& after(Index i) { return of(i).F; }

 private:
  struct Row {
    Mat P, F;
  };
  const Row& of(Index i) {
    if (i / stretch != current_) {
      current_ = i / stretch;
      const Index first = current_ * stretch;
      Vec scratch = states_.vector();
      rows_.resize(std::min(stretch, chain_.rows() - first));
      Mat P = chain_.starts_[current_];
      for (Index k = 0; k < static_cast<Index>(rows_.size()); ++k) {
        if (k > 0) chain_.predict(states_, first + k, P);
        rows_[k].P = P;
        chain_.add_site(states_, first + k, chain_.h(first + k, own_), scratch, P);
        rows_[k].F = P;
      }
    }
    return rows_[i % stretch];
  }

  const ChainOf& chain_;
  States states_;
  Vec own_;
  Index current_ = -1;
  std::vector<Row> rows_;
};

template <class States>
const double* ChainOf<States>::scaled_h(Index i, Vec& own, Index first, Index count) const {
  for (Index b = 0; b < blocks(); ++b) {
    const double scale = first == all || (first <= b && b < first + count) ? blocks_[b].at(i) : 0;
    const Index size = blocks_[b].space->dimension();
    for (Index k = first_[b]; k < first_[b] + size; ++k) own[k] = scale * observe_[k];
  }
  return own.data();
}

template <class States>
const double* ChainOf<States>::prior(States& states, Index i, const double* h, Vec& own) const {
  if (stationary_ && h == observe_.data()) return prior_.data();
  states.multiply(stationary_ ? start_ : priors_[i], h, own.data());
  return own.data();
}

template <class States>
void ChainOf<States>::add_scale_gradient(Index i, double weight, const double* x) const {
  for (Index b = 0; b < by_scale_.cols(); ++b)
    for (Index k = first_[b]; k < first_[b] + blocks_[b].space->dimension(); ++k)
      by_scale_(i, b) += weight * observe_[k] * x[k];
}

template <class States>
Vector ChainOf<States>::observation(Index i, Index block) const {
  Vec own = States(sizes_).vector();
  const double* from = h(i, own, block);
  Vector out(dimension_);
  std::copy(from, from + dimension_, out.data());
  return out;
}

template <class States>
Matrix ChainOf<States>::unpacked(const double* packed) const {
  Mat out = States(sizes_).matrix();
  States(sizes_).add_packed(packed, out);
  return matrix(out);
}

template <class States>
void ChainOf<States>::step(Index i, Matrix& A_i, Matrix& Q_i) const {
  A_i = unpacked(A(i));
  Q_i = unpacked(Q(i));
}

template <class States>
std::function<Matrix(Index)> ChainOf<States>::filter() const {
  auto covariances = std::make_shared<Covariances>(*this);
  return [this, covariances](Index i) { return matrix(covariances->after(i)); };
}

template <class States>
void ChainOf<States>::refresh() {
  States states(sizes_);
  observe_ = prior_ = states.vector();
  start_ = states.matrix();
  A_.assign(gaps_.size() * packed_, 0.0);
  Q_.assign(gaps_.size() * packed_, 0.0);
  Matrix A = Matrix::Zero(dimension_, dimension_), Q = A, P = A;
  for (Index b = 0; b < blocks(); ++b) {
    const StateSpace& space = *blocks_[b].space;
    const Index at = first_[b], size = space.dimension();
    space.observe(Eigen::Map<Vector>(observe_.data() + at, size));
  }
  const auto covariance = [&](double at, Mat& out) {
    for (Index b = 0; b < blocks(); ++b) {
      const Index size = blocks_[b].space->dimension();
      blocks_[b].space->covariance(at, P.block(first_[b], first_[b], size, size));
    }
    std::copy(P.data(), P.data() + P.size(), out.begin());
  };
  if (rows() > 0) covariance(at_[0], start_);
  priors_.assign(stationary_ ? 0 : rows(), states.matrix());
  for (Index i = 0; i < static_cast<Index>(priors_.size()); ++i) covariance(at_[i], priors_[i]);
  for (std::size_t k = 0; k < gaps_.size(); ++k) {
    for (Index b = 0; b < blocks(); ++b) {
      const Index at = first_[b], size = blocks_[b].space->dimension();
      blocks_[b].space->step(gaps_[k].from, gaps_[k].length, A.block(at, at, size, size), Q.block(at, at, size, size));
    }
    states.pack(A.data(), &A_[k * packed_]);
    states.pack(Q.data(), &Q_[k * packed_]);
  }
  states.multiply(start_, observe_.data(), prior_.data());
}

template <class States>
void ChainOf<States>::add_site(States& states, Index i, const double* h, Vec& scratch, Mat& P) const {
  const double s = s_[i], length = states.dot(h, h);
  states.add_outer(-lambda_[i] / s, Ph(i), Ph(i), P);
  if ((s > 0.5 && s < 2) || length == 0) return;
  states.multiply(P, h, scratch.data());
  states.combine(1 / s, Ph(i), -1, scratch.data(), scratch.data());  // what the difference lacks
  states.combine(1 / length, scratch.data(), -0.5 * states.dot(h, scratch.data()) / (length * length), h,
                 scratch.data());
  states.add_cross(scratch.data(), h, P);
}

template <class States>
bool ChainOf<States>::factorise(const Vector& lambda) {
  const Index N = rows(), d = dimension_;
  lambda_ = lambda;
  Ph_.resize(N * d);
  decided_.resize(N * d);
  s_.resize(N);
  variances_.resize(N);
  starts_.resize((N + stretch - 1) / stretch);
  log_det_ = 0;
  States states(sizes_);
  Vec own = states.vector(), scratch = states.vector();
  Mat P = start_;
  // Earlier rows alone may have no posterior where lambda is negative, and later rows give them one: then some s are
  // negative. By inertia all is well if as many are at positive sites as at negative ones.
  Index lost = 0;
  for (Index i = 0; i < N; ++i) {
    if (i > 0) predict(states, i, P);
    if (i % stretch == 0) starts_[i / stretch] = P;
    const double* observed = h(i, own);
    states.multiply(P, observed, &Ph_[i * d]);
    s_[i] = 1 + lambda[i] * states.dot(observed, Ph(i));
    if (!(std::abs(s_[i]) > 0)) return false;
    if (s_[i] < 0) lost += lambda[i] < 0 ? 1 : -1;
    add_site(states, i, observed, scratch, P);
  }
  if (lost != 0) return false;
  log_det_ = s_.array().abs().log().sum();
  Mat after = states.matrix();  // N after the site
  for (Index i = N - 1; i >= 0; --i) {
    const double* observed = h(i, own);
    const double s = s_[i], k = lambda[i] / s;
    states.multiply(after, Ph(i), scratch.data());
    const double q = states.dot(Ph(i), scratch.data());
    variances_[i] = states.dot(observed, Ph(i)) / s - q / (s * s);
    states.combine(1 / s + k * q / s, observed, -1 / s, scratch.data(), &decided_[i * d]);
    if (i == 0) break;
    pass_back(states, i, k, observed, k, scratch, after);
    states.carry_back(A(i), after);
  }
  return true;
}

template <class States>
template <class Visit>
void ChainOf<States>::for_adjoints(const Visit& visit) const {
  States states(sizes_);
  Vec own = states.vector(), scratch = states.vector();
  Mat N = states.matrix();
  for (Index i = rows() - 1; i >= 0; --i) {
    const double k = lambda_[i] / s_[i];
    states.multiply(N, Ph(i), scratch.data());
    pass_back(states, i, k, h(i, own), k, scratch, N);
    visit(i, N);
    if (i > 0) states.carry_back(A(i), N);
  }
}

}  // namespace galvi

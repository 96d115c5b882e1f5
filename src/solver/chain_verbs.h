// What a factorised chain answers: variances, solutions, products, forms and the sums of gradients.
#pragma once

#include "solver/chain_of.h"

namespace galvi {

template <class States>
Vector ChainOf<States>::prior_variances(Index block) const {
  States states(sizes_);
  Vec own = states.vector(), carried = states.vector();
  Vector out(rows());
  for (Index i = 0; i < rows(); ++i) {
    const double* observed = h(i, own, block);
    out[i] = states.dot(observed, prior(states, i, observed, carried));
  }
  return out;
}

template <class States>
Vector ChainOf<States>::variances(Index first, Index count) const {
  if (first == all) return variances_;
  States states(sizes_);
  Vec own = states.vector(), Ph = states.vector(), carried = states.vector();
  Covariances covariances(*this);
  Vector out(rows());
  for_adjoints([&](Index i, const Mat& N) {
    const double* observed = h(i, own, first, count);
    states.multiply(covariances.before(i), observed, Ph.data());
    states.multiply(N, Ph.data(), carried.data());
    out[i] = states.dot(observed, Ph.data()) - states.dot(Ph.data(), carried.data());
  });
  return out;
}

// Forwards the mean x_i given earlier sites; backwards r, what later ones say, with r + h alpha after the site of i.
template <class States>
Chain::Solution ChainOf<States>::solve_for(const BlockWeights& b, bool parts) const {
  const Index N = rows(), d = dimension_;
  const bool whole = b.block == all;
  Solution out{Vector(N), Vector(N), Matrix(parts ? N : 0, blocks())};
  States states(sizes_);
  Vec own = states.vector(), part = states.vector(), z = states.vector(), carried = states.vector(),
      x = states.vector(), r = states.vector();
  Covariances covariances(*this);
  std::vector<double> kept(parts ? N * d : 0);  // x_i
  for (Index i = 0; i < N; ++i) {
    if (i > 0) states.carry_state(A(i), x);
    if (parts) std::copy(x.data(), x.data() + d, &kept[i * d]);
    const double* observed = h(i, own);
    double more = -lambda_[i] * (out.mean[i] = states.dot(observed, x.data()));
    if (whole) {
      more += b.weight[i];
    } else if (b.weight[i] != 0) {
      states.combine(b.weight[i], h(i, part, b.block), 0, observed, z.data());
      states.multiply(covariances.before(i), z.data(), carried.data());
      states.add(1, carried.data(), x.data());
      more -= lambda_[i] * states.dot(Ph(i), z.data());
    }
    states.add(more / s_[i], Ph(i), x.data());
  }
  for (Index i = N - 1; i >= 0; --i) {
    const double* observed = h(i, own);
    if (!whole) states.add(b.weight[i], h(i, part, b.block), r.data());
    const double seen = states.dot(Ph(i), r.data());
    const double alpha = ((whole ? b.weight[i] : 0.0) - lambda_[i] * (out.mean[i] + seen)) / s_[i];
    out.alpha[i] = alpha;
    states.add(alpha, observed, r.data());
    out.mean[i] += states.dot(Ph(i), r.data());
    if (parts) {
      states.multiply(covariances.before(i), r.data(), carried.data());
      states.add(1, &kept[i * d], carried.data());
      for (Index k = 0; k < blocks(); ++k) out.parts(i, k) = states.dot(h(i, part, k), carried.data());
    }
    if (i > 0) states.carry_state_back(A(i), r);
  }
  return out;
}

template <class States>
Vector ChainOf<States>::residual(const Vector& y) const {
  const Index N = rows();
  States states(sizes_);
  Vec own = states.vector(), x = states.vector(), r = states.vector();
  Vector out(N);
  for (Index i = 0; i < N; ++i) {
    if (i > 0) states.carry_state(A(i), x);
    out[i] = (y[i] - states.dot(h(i, own), x.data())) / s_[i];
    states.add(lambda_[i] * out[i], Ph(i), x.data());
  }
  for (Index i = N - 1; i >= 0; --i) {
    out[i] -= states.dot(Ph(i), r.data()) / s_[i];
    states.add(lambda_[i] * out[i], h(i, own), r.data());
    if (i > 0) states.carry_state_back(A(i), r);
  }
  return out;
}

template <class States>
Vector ChainOf<States>::prior_product(const BlockWeights& x) const {
  const Index N = rows();
  States states(sizes_);
  Vec own = states.vector(), carried = states.vector(), earlier = states.vector(), later = states.vector();
  Vector out(N);
  for (Index i = 0; i < N; ++i) {
    const double* observed = h(i, own, x.block);
    if (i > 0) states.carry_state(A(i), earlier);
    out[i] = states.dot(observed, earlier.data());
    states.add(x.weight[i], prior(states, i, observed, carried), earlier.data());
  }
  for (Index i = N - 1; i >= 0; --i) {
    const double* observed = h(i, own, x.block);
    states.add(x.weight[i], observed, later.data());
    out[i] += states.dot(prior(states, i, observed, carried), later.data());
    if (i > 0) states.carry_state_back(A(i), later);
  }
  return out;
}

template <class States>
Vector ChainOf<States>::squared_covariance(const Vector& x) const {
  const Index N = rows();
  States states(sizes_);
  Vec own = states.vector(), scratch = states.vector();
  Vector out(N);
  Mat later = states.matrix(), earlier = states.matrix();
  for (Index i = N - 1; i >= 0; --i) {
    const double s = s_[i], v = variances_[i];
    states.multiply(later, Ph(i), scratch.data());
    out[i] = v * v * x[i] + states.dot(Ph(i), scratch.data()) / (s * s);
    if (i == 0) break;
    pass_back(states, i, lambda_[i] / s, h(i, own), 0, scratch, later);
    states.add_outer(x[i], decided(i), decided(i), later);
    states.carry_back(A(i), later);
  }
  for (Index i = 0; i < N; ++i) {
    const double s = s_[i];
    states.multiply(earlier, decided(i), scratch.data());
    out[i] += states.dot(decided(i), scratch.data());
    if (i + 1 == N) break;
    const double* observed = h(i, own);
    states.multiply(earlier, observed, scratch.data());
    pass_on(states, i, lambda_[i] / s, observed, x[i] / (s * s), scratch, earlier);
    states.carry(A(i + 1), earlier);
  }
  return out;
}

// A form needs the pairs with earlier rows alone.
template <class States>
double ChainOf<States>::prior_form(const BlockWeights& x) const {
  States states(sizes_);
  Vec own = states.vector(), carried = states.vector(), earlier = states.vector();
  double out = 0;
  for (Index i = 0; i < rows(); ++i) {
    const double* observed = h(i, own, x.block);
    const double w = x.weight[i];
    const double* c = prior(states, i, observed, carried);
    if (i > 0) states.carry_state(A(i), earlier);
    out += w * (2 * states.dot(observed, earlier.data()) + w * states.dot(observed, c));
    states.add(w, c, earlier.data());
  }
  return out;
}

// What each row adds to 2 log of the integral of exp(x'f - f'Lambda f / 2).
template <class States>
double ChainOf<States>::covariance_form(const Vector& x) const {
  States states(sizes_);
  Vec own = states.vector(), mean = states.vector();
  double out = 0;
  for (Index i = 0; i < rows(); ++i) {
    const double* observed = h(i, own);
    if (i > 0) states.carry_state(A(i), mean);
    const double m = states.dot(observed, mean.data()), w = x[i];
    out += (w * (w * states.dot(observed, Ph(i)) + 2 * m) - lambda_[i] * m * m) / s_[i];
    states.add((w - lambda_[i] * m) / s_[i], Ph(i), mean.data());
  }
  return out;
}

template <class States>
Chain::SquaredForms ChainOf<States>::squared_forms(const Vector& x) const {
  const Index N = rows();
  States states(sizes_);
  Vec own = states.vector(), carried = states.vector(), scratch = states.vector();
  Mat both = states.matrix(), mixed = states.matrix();  // V o V and C o V
  SquaredForms out{0, 0};
  for (Index i = 0; i < N; ++i) {
    const double s = s_[i], k = lambda_[i] / s, v = variances_[i], w = x[i];
    const double* observed = h(i, own);
    const double* c = prior(states, i, observed, carried);
    states.multiply(both, decided(i), scratch.data());
    out.covariance += w * (w * v * v + 2 * states.dot(decided(i), scratch.data()));
    states.multiply_transposed(mixed, decided(i), scratch.data());
    out.prior += w * (w * v * states.dot(observed, c) + 2 * states.dot(observed, scratch.data()));
    if (i + 1 == N) break;
    states.multiply(both, observed, scratch.data());
    pass_on(states, i, k, observed, w / (s * s), scratch, both);
    states.carry(A(i + 1), both);
    // L (X + w P h c') = X + P h (w c / s - k X'h)'
    states.multiply_transposed(mixed, observed, scratch.data());
    states.combine(w / s, c, -k, scratch.data(), scratch.data());
    states.add_outer(1, Ph(i), scratch.data(), mixed);
    states.carry_any(A(i + 1), mixed);
  }
  return out;
}

template <class States>
void ChainOf<States>::start_gradient() const {
  by_start_.assign(packed_, 0.0);
  by_A_.assign(A_.size(), 0.0);
  by_Q_.assign(Q_.size(), 0.0);
  const bool moves =
      std::any_of(blocks_.begin(), blocks_.end(), [](const ChainBlock& block) { return block.moves; });
  by_scale_ = Matrix::Zero(rows(), moves ? blocks() : 0);
}

// Of the factors: Lambda - Lambda V Lambda times the derivative of C, where h_i enters the covariance of f_i with x_i
// given all sites, P_i (I - N_i P_i) h_i.
template <class States>
void ChainOf<States>::add_log_det_gradient(double weight) const {
  States states(sizes_);
  Vec given = states.vector();
  Covariances covariances(*this);
  for_adjoints([&](Index i, const Mat& N) {
    if (by_scale_.cols() > 0) {
      states.multiply(covariances.before(i), decided(i), given.data());
      add_scale_gradient(i, 2 * weight * lambda_[i], given.data());
    }
    if (i == 0) {
      states.add_blocks(weight, N, by_start_.data());
    } else {
      const Index at = step_[i] * packed_;
      states.add_blocks(weight, N, &by_Q_[at]);
      states.add_blocks(2 * weight, N, A(i), covariances.after(i - 1), &by_A_[at]);
    }
  });
}

// With r_i = h x_i + A_(i+1)'r_(i+1) and m_i = A_i m_(i-1) + Q_i r_i = E x_i.
template <class States>
void ChainOf<States>::add_quadratic_gradient(double weight, const BlockWeights& x) const {
  const Index N = rows(), d = dimension_;
  States states(sizes_);
  Vec own = states.vector(), later = states.vector(), m = states.vector(), c = states.vector();
  std::vector<double> r(N * d);
  for (Index i = N - 1; i >= 0; --i) {
    states.add(x.weight[i], h(i, own, x.block), later.data());
    std::copy(later.data(), later.data() + d, &r[i * d]);
    if (i > 0) states.carry_state_back(A(i), later);
  }
  states.add_blocks(weight, &r[0], &r[0], by_start_.data());
  states.multiply(start_, &r[0], m.data());
  add_scale_gradient(0, 2 * weight * x.weight[0], m.data());
  for (Index i = 1; i < N; ++i) {
    const Index at = step_[i] * packed_;
    states.add_blocks(weight, &r[i * d], &r[i * d], &by_Q_[at]);
    states.add_blocks(2 * weight, &r[i * d], m.data(), &by_A_[at]);
    states.carry_state(A(i), m);
    states.multiply_packed(Q(i), &r[i * d], c.data());
    states.add(1, c.data(), m.data());
    add_scale_gradient(i, 2 * weight * x.weight[i], m.data());
  }
}

template <class States>
void ChainOf<States>::finish_gradient(VectorRef hyper) const {
  const Matrix by_start = unpacked(by_start_.data());
  for (Index b = 0; b < blocks(); ++b)
    blocks_[b].space->add_covariance_gradient(
        at_[0], by_start.block(first_[b], first_[b], blocks_[b].space->dimension(), blocks_[b].space->dimension()),
        hyper);
  for (std::size_t k = 0; k < gaps_.size(); ++k) {
    const Matrix by_A = unpacked(&by_A_[k * packed_]), by_Q = unpacked(&by_Q_[k * packed_]);
    for (Index b = 0; b < blocks(); ++b) {
      const Index at = first_[b], size = blocks_[b].space->dimension();
      blocks_[b].space->add_step_gradient(gaps_[k].from, gaps_[k].length, by_A.block(at, at, size, size),
                                          by_Q.block(at, at, size, size), hyper);
    }
  }
}

}  // namespace galvi

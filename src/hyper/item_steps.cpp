#include "hyper/item_steps.h"

#include <algorithm>
#include <cmath>

#include "numeric/parallel.h"

namespace galvi {

namespace {

constexpr double slack = 1e-12;  // relative rounding error of a sum

Index learned_number(const HyperTable& table, Index position) {
  const auto& at = table.learned_positions();
  return std::lower_bound(at.begin(), at.end(), position) - at.begin();
}

const TermRows& rows_of(const LatentGaussianModel& model, Index term) {
  return (*model.block().designs[model.predictor(0).design])[term];
}

}  // namespace

ItemSteps::ItemSteps(LatentGaussianModel& model, const HyperTable& table, Index term)
    : model_(model),
      term_(*(*model.predictor(0).prior)[term].factors()),
      rows_(rows_of(model, term)),
      q_(term_.effect_count()),
      d_(term_.dimension()),
      rows_of_(term_.items()),
      learned_(q_ + d_, term_.items()) {
  for (Index n = 0; n < model.rows(); ++n)
    if (model.data().weight[n] > 0) rows_of_[rows_.item(n)].push_back(n);
  for (Index j = 0; j < term_.items(); ++j) {
    for (Index k = 0; k < q_; ++k)
      learned_(k, j) = static_cast<int>(learned_number(table, term_.effect_positions()(k, j)));
    for (Index k = 0; k < d_; ++k)
      learned_(q_ + k, j) = static_cast<int>(learned_number(table, term_.loading_positions()(k, j)));
  }
}

double ItemSteps::direction(Index j, const UnitMoments& units, const RowMoments& at, const HyperTable& table,
                            VectorRef step, VectorRef bend) const {
  const Index size = q_ + d_;
  const std::vector<Index>& rows = rows_of_[j];
  const Index n = static_cast<Index>(rows.size());
  step.setZero();
  if (n == 0) return 0;
  Matrix X(size, n), Z = Matrix::Zero(size, n);
  Vector m(n), v(n), mm(n), mv(n), vv(n);
  Vector spread = Vector::Zero(d_ * d_), scatter = Vector::Zero(d_ * d_);
  for (Index i = 0; i < n; ++i) {
    const Index r = rows[i], unit = rows_.node(r);
    if (q_ > 0) X.col(i).head(q_) = rows_.W.row(r).transpose();
    X.col(i).tail(d_) = units.mean.col(unit);
    Z.col(i).tail(d_) = 2 * units.cross.col(r);
    m[i] = at.e.d_mean(r);
    v[i] = at.e.d_variance(r);
    mm[i] = at.e.d_mm(r);
    mv[i] = at.e.d_mv(r);
    vv[i] = at.e.d_vv(r);
    spread.noalias() += 2 * v[i] * units.covariance.col(unit);
    scatter.noalias() += std::max(-2 * v[i], 1e-10) * units.covariance.col(unit);
  }
  Vector gradient = X * m + Z * v;
  Vector of_prior = Vector::Zero(size);
  for (Index k = 0; k < size; ++k) {
    const auto [slope, curvature] = table.prior_slopes(learned_(k, j));
    gradient[k] += slope;
    of_prior[k] = -curvature;
  }
  const Matrix XmvZ = X * mv.asDiagonal() * Z.transpose();
  Matrix H = X * mm.asDiagonal() * X.transpose() + XmvZ + XmvZ.transpose() + Z * vv.asDiagonal() * Z.transpose();
  H.bottomRightCorner(d_, d_) += Eigen::Map<const Matrix>(spread.data(), d_, d_);
  H = (-H).eval();
  H.diagonal() += of_prior;
  Eigen::LLT<Matrix> factor(H);
  if (factor.info() != Eigen::Success || factor.matrixLLT().diagonal().minCoeff() <
                                             1e-8 * factor.matrixLLT().diagonal().maxCoeff()) {
    // Where the bound is not concave, or nearly linear: the curvature of the sites.
    H = X * (-2 * v).cwiseMax(1e-10).asDiagonal() * X.transpose();
    H.bottomRightCorner(d_, d_) += Eigen::Map<const Matrix>(scatter.data(), d_, d_);
    H.diagonal() += of_prior;
    H.diagonal().array() += 1e-10 * (1 + H.diagonal().maxCoeff());
    factor.compute(H);
    if (factor.info() != Eigen::Success) return 0;
  }
  step = factor.solve(gradient);
  bend = H.diagonal();
  if (!step.allFinite()) {
    step.setZero();
    return 0;
  }
  return 0.5 * std::max(0.0, gradient.dot(step));
}

double ItemSteps::take(const UnitMoments& units, HyperTable& table, RowMoments& at) const {
  constexpr double longest = 5;  // of a row's mean: beyond it the quadratic model is not to be trusted
  constexpr Index block_items = 8;
  const Index N = model_.rows(), p = term_.items();
  Matrix steps(q_ + d_, p), bends = Matrix::Zero(q_ + d_, p);
  Vector promise(p);
  parallel_for(model_.context(), (p + block_items - 1) / block_items, 8.0 * (q_ + d_) * (q_ + d_) * N,
               [&](Index block) {
                 for (Index j = block * block_items; j < std::min(p, (block + 1) * block_items); ++j)
                   promise[j] = direction(j, units, at, table, steps.col(j), bends.col(j));
               });

  // For fixed q the bound is a sum over items: each has its own step length.
  Vector length = Vector::Ones(p), before = Vector::Zero(p);
  const auto log_prior = [&](Index j, double t) {
    double out = 0;
    for (Index k = 0; k < q_ + d_; ++k) {
      const auto [slope, curvature] = table.prior_slopes(learned_(k, j));
      const double by = t * steps(k, j);
      out += by * (slope + 0.5 * curvature * by);
    }
    return out;
  };
  Vector d_mean(N), d_cross(N), d_square(N);
  for (Index j = 0; j < p; ++j) {
    double furthest = 0;
    for (const Index n : rows_of_[j]) {
      const auto w = steps.col(j).tail(d_);
      const Index unit = rows_.node(n);
      d_mean[n] = units.mean.col(unit).dot(w);
      if (q_ > 0) d_mean[n] += rows_.W.row(n).dot(steps.col(j).head(q_));
      d_cross[n] = 2 * units.cross.col(n).dot(w);
      d_square[n] = w.dot(Eigen::Map<const Matrix>(units.covariance.col(unit).data(), d_, d_) * w);
      furthest = std::max(furthest, std::abs(d_mean[n]));
      before[j] += at.e.value[n];
    }
    const double scale = 1 + std::sqrt(rows_of_[j].empty() ? 0.0 : at.variance(rows_of_[j][0]));
    length[j] = std::min(1.0, longest * scale / std::max(furthest, 1e-300));
  }
  const bool conjugate = model_.likelihood().conjugate();
  if (conjugate) length.setOnes();
  std::vector<Index> open(p);
  for (Index j = 0; j < p; ++j) open[j] = j;
  RowMoments next{at.mean, at.variance, {}, std::move(at.bend)};
  for (int halvings = 0; !open.empty(); ++halvings) {
    if (halvings == 40)
      for (const Index j : open) length[j] = 0;
    for (const Index j : open)
      for (const Index n : rows_of_[j]) {
        next.mean(n) = at.mean(n) + length[j] * d_mean[n];
        next.variance(n) = std::max(0.0, at.variance(n) + length[j] * (d_cross[n] + length[j] * d_square[n]));
      }
    model_.expect(next.mean, next.variance, 1, next.e);
    if (halvings == 40) break;
    std::vector<Index> still;
    for (const Index j : open) {
      double after = log_prior(j, length[j]), size = 0;
      for (const Index n : rows_of_[j]) {
        after += next.e.value[n];
        size += std::abs(next.e.value[n]);
      }
      if (after >= before[j] - slack * (1 + size)) continue;
      length[j] *= 0.5;
      still.push_back(j);
    }
    open = std::move(still);
  }
  at = std::move(next);
  Vector x = table.unconstrained();
  for (Index j = 0; j < p; ++j)
    for (Index k = 0; k < q_ + d_; ++k) {
      x[learned_(k, j)] += length[j] * steps(k, j);
      at.bend[table.learned_positions()[learned_(k, j)]] = bends(k, j);
    }
  table.set_unconstrained(x);
  return promise.sum();
}

double step_of_likelihood(LatentGaussianModel& model, HyperTable& table, RowMoments& at) {
  constexpr double h = 1e-4, longest = 2;
  std::vector<Index> own;
  std::vector<std::vector<Index>> parts;  // of own, by likelihood
  for (Index i = 0; i < table.learned(); ++i) {
    const Index likelihood = table.likelihood(i);
    if (likelihood < 0) continue;
    parts.resize(std::max<std::size_t>(parts.size(), likelihood + 1));
    parts[likelihood].push_back(static_cast<Index>(own.size()));
    own.push_back(i);
  }
  if (own.empty()) return 0;
  const Index number = static_cast<Index>(own.size());
  const Vector from = table.unconstrained(), lower = table.lower(), upper = table.upper();
  const auto set = [&](const Vector& by) {
    Vector x = from;
    for (Index i = 0; i < number; ++i) x[own[i]] = std::clamp(from[own[i]] + by[i], lower[own[i]], upper[own[i]]);
    table.set_unconstrained(x);
    model.update_likelihood(table.values());
  };
  const auto slope = [&](const Vector& by) {
    set(by);
    Vector natural = Vector::Zero(table.size());
    model.expectation().add_gradient(model.context(), model.likelihood(), model.data(), at.mean, at.variance, natural);
    const Vector all = table.chain(natural);
    Vector out(number);
    for (Index i = 0; i < number; ++i) out[i] = all[own[i]];
    return out;
  };
  const Vector gradient = slope(Vector::Zero(number));
  std::size_t widest = 0;
  for (const auto& part : parts) widest = std::max(widest, part.size());
  Matrix H = Matrix::Zero(number, number);
  for (std::size_t s = 0; s < widest; ++s) {
    Vector by = Vector::Zero(number);
    for (const auto& part : parts)
      if (s < part.size()) by[part[s]] = h;
    const Vector change = (slope(by) - slope(-by)) / (2 * h);
    for (const auto& part : parts)
      if (s < part.size())
        for (const Index i : part) H(i, part[s]) = change[i];
  }
  Vector step = Vector::Zero(number);
  double promise = 0;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    const Index size = static_cast<Index>(part.size());
    Matrix B(size, size);
    Vector g(size);
    for (Index a = 0; a < size; ++a) {
      g[a] = gradient[part[a]];
      const double slope = table.slope(own[part[a]]);
      at.bend[table.learned_positions()[own[part[a]]]] = std::abs(H(part[a], part[a])) / (slope * slope);
      for (Index b = 0; b < size; ++b) B(a, b) = -0.5 * (H(part[a], part[b]) + H(part[b], part[a]));
    }
    const Eigen::LLT<Matrix> factor(B);
    Vector own_step = factor.info() == Eigen::Success
                          ? Vector(factor.solve(g))
                          : Vector(g.cwiseQuotient(B.diagonal().cwiseAbs().array().max(1e-8).matrix()));
    if (!own_step.allFinite()) continue;
    own_step *= std::min(1.0, longest / std::max(own_step.cwiseAbs().maxCoeff(), 1e-300));
    // the predicted gain counts only what the range allows
    for (Index a = 0; a < size; ++a) {
      const Index i = own[part[a]];
      own_step[a] = std::clamp(from[i] + own_step[a], lower[i], upper[i]) - from[i];
    }
    promise += 0.5 * std::max(0.0, g.dot(own_step));
    for (Index a = 0; a < size; ++a) step[part[a]] = own_step[a];
  }
  set(Vector::Zero(number));
  const double before = at.e.value.sum() + table.log_prior(), size = at.e.value.cwiseAbs().sum();
  for (double length = 1; length > 1e-6; length *= 0.5) {
    set(length * step);
    model.expect(at.mean, at.variance, 1, at.e);
    if (at.e.value.sum() + table.log_prior() >= before - slack * (1 + size)) return promise;
  }
  set(Vector::Zero(number));
  model.expect(at.mean, at.variance, 1, at.e);
  return promise;
}

double expand_parameters(const LatentGaussianModel& model, Index t, const UnitMoments& units, HyperTable& table) {
  const FactorsTerm& term = *(*model.predictor(0).prior)[t].factors();
  const TermRows& rows = rows_of(model, t);
  const Index q = term.effect_count(), d = term.dimension(), U = term.units(), p = term.items();
  // x of each unit, if it is the same in all of its rows
  std::vector<Index> first(U, -1);
  bool shared = q > 0;
  Index seen = 0;
  for (Index n = 0; n < model.rows(); ++n) {
    Index& at = first[rows.node(n)];
    if (at < 0) {
      at = n;
      ++seen;
    } else if (shared) {
      shared = rows.W.row(at) == rows.W.row(n);
    }
  }
  Matrix G = Matrix::Zero(q, d);
  if (shared) {
    Matrix gram = Matrix::Zero(q, q), cross = Matrix::Zero(q, d);
    for (Index u = 0; u < U; ++u)
      if (first[u] >= 0) {
        const Vector x = rows.W.row(first[u]);
        gram += x * x.transpose();
        cross += x * units.mean.col(u).transpose();
      }
    G = gram.colPivHouseholderQr().solve(cross);
    if (!G.allFinite()) G.setZero();
  }
  // T = mean of S + (m - G'x)(m - G'x)' over the units that were observed; the others keep their prior
  Matrix T = Matrix::Zero(d, d);
  double before = 0;
  for (Index u = 0; u < U; ++u) {
    if (first[u] < 0) continue;
    Vector m = units.mean.col(u);
    before += m.squaredNorm();
    if (shared) m -= G.transpose() * rows.W.row(first[u]).transpose();
    T += Eigen::Map<const Matrix>(units.covariance.col(u).data(), d, d);
    before += Eigen::Map<const Matrix>(units.covariance.col(u).data(), d, d).trace();
    T.noalias() += m * m.transpose();
  }
  const double number = static_cast<double>(seen);
  T /= number;
  const Eigen::LLT<Matrix> factor(T);
  if (factor.info() != Eigen::Success) return 0;
  const Matrix C = factor.matrixL();
  const double gain = 0.5 * (before - number * (d + 2 * C.diagonal().array().log().sum()));
  const Vector old = table.values();
  const double old_prior = table.log_prior();
  Vector values = old;
  for (Index j = 0; j < p; ++j) {
    Vector w(d);
    for (Index k = 0; k < d; ++k) w[k] = old[term.loading_positions()(k, j)];
    const Vector effect = G * w, turned = C.transpose() * w;
    for (Index k = 0; k < q; ++k) values[term.effect_positions()(k, j)] += effect[k];
    for (Index k = 0; k < d; ++k) values[term.loading_positions()(k, j)] = turned[k];
  }
  table.set_values(values);
  const double all = gain + table.log_prior() - old_prior;
  if (std::isfinite(all) && all >= 0) return all;
  table.set_values(old);
  return 0;
}

}  // namespace galvi

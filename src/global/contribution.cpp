#include "global/contribution.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "global/chunk.h"
#include "model/start.h"
#include "numeric/backend.h"
#include "numeric/dense.h"

namespace galvi {

namespace {

template <class T>
void add(T& to, const T& from) {
  if (from.size() == 0) return;
  if (to.size() == 0)
    to = from;
  else
    to += from;
}

template <class T>
void add(std::vector<T>& to, const std::vector<T>& from) {
  to.resize(std::max(to.size(), from.size()));
  for (std::size_t i = 0; i < from.size(); ++i) add(to[i], from[i]);
}

/// Calls body for every chunk of rows begin, .., begin + count - 1.
template <class Body>
void for_chunks(const LatentGaussianModel& model, const RowBlock& rows, Index begin, Index count, Body body) {
  Index columns = 0;
  for (const auto& part : model.priors()) columns += part.prior->columns();
  const Index size = rows_in_cache(columns);
  for (Index at = 0; at < count; at += size)
    body(Chunk(model, rows, begin + at, std::min(size, count - at)));
}

void check_posterior(const LatentGaussianModel& model, const GlobalPosterior& q) {
  bool fits = static_cast<Index>(q.size()) == model.latents();
  for (std::size_t k = 0; fits && k < q.size(); ++k)
    fits = q[k].mean.size() == model.predictor(k).prior->columns() && q[k].root.rows() == q[k].mean.size();
  if (!fits) throw std::invalid_argument("q has other latent vectors than the model");
}

// d bound / dW = d_mean u' + 2 diag(d_variance) W A^-1 with q fixed in whitened coordinates; X = W U'.
void add_column_gradients(const Backend& backend, const LatentGaussianModel& model, const GlobalPosterior& q,
                          const RowBlock& rows, const Chunk& chunk, const Expectations& e,
                          std::vector<Matrix>& X, Contribution& out) {
  const auto& priors = model.priors();
  std::vector<Matrix> G(priors.size());
  std::vector<Vector> g(priors.size());
  for (Index k = 0; k < model.latents(); ++k) {
    const Index i = model.prior_index(k);
    backend.triangular_multiply(false, false, 1.0, q[k].root, X[k]);
    X[k] = (2 * e.d_variance.col(k)).asDiagonal() * X[k];
    X[k].noalias() += e.d_mean.col(k) * q[k].mean.transpose();
    add(G[i], X[k]);
    add(g[i], Vector(e.d_variance.col(k)));
  }
  out.columns.resize(priors.size());
  for (std::size_t i = 0; i < priors.size(); ++i) {
    const Prior& prior = *priors[i].prior;
    if (out.columns[i].size() == 0) out.columns[i] = Vector::Zero(prior.gradient_size());
    prior.add_gradient(*rows.designs[priors[i].design], chunk.begin, chunk.W[i], G[i], g[i], out.columns[i]);
  }
}

void add_joint(const Backend& backend, const LatentGaussianModel& model, const Chunk& chunk,
               const Expectations& e, Matrix& joint) {
  const Index K = model.latents();
  for (Index k = 0, row = 0; k < K; ++k) {
    const Matrix& Wk = chunk.W[model.prior_index(k)];
    for (Index l = 0, column = 0; l <= k; ++l) {
      const Matrix& Wl = chunk.W[model.prior_index(l)];
      auto block = joint.block(row, column, Wk.cols(), Wl.cols());
      const Vector d = -e.d_mm.col(k + K * l);
      if (k == l)
        add_weighted_crossproduct(backend, Wk, d, block);
      else
        backend.multiply(true, false, 1.0, Wk, d.asDiagonal() * Wl, 1.0, block);
      column += Wl.cols();
    }
    row += Wk.cols();
  }
}

}  // namespace

Contribution& Contribution::operator+=(const Contribution& other) {
  rows += other.rows;
  value += other.value;
  rounding += other.rounding;
  add(slope, other.slope);
  add(curvature, other.curvature);
  add(joint, other.joint);
  add(hyper, other.hyper);
  add(columns, other.columns);
  return *this;
}

void Remembered::add(const GlobalPosterior& q, Contribution& sums) const {
  sums.value += constant;
  sums.rounding += rounding_of_sums(std::abs(constant), 0);
  Index at = 0;
  for (std::size_t k = 0; k < G.size(); ++k) {
    const Vector Gm = G[k] * q[k].mean;
    const double quadratic = q[k].mean.dot(Gm), linear = h[k].dot(q[k].mean);
    const double trace = (q[k].root * G[k]).cwiseProduct(q[k].root).sum();  // of G A^-1
    sums.value += linear - 0.5 * (quadratic + trace);
    sums.rounding += rounding_of_sums(0, std::abs(linear) + quadratic + std::abs(trace));
    sums.slope[k] += h[k] - Gm;
    sums.curvature[k] += G[k];
    const Index L = h[k].size();
    if (sums.joint.size() > 0) sums.joint.block(at, at, L, L) += G[k];
    at += L;
  }
}

void Remembered::add_sites(Contribution& sums) const {
  for (std::size_t k = 0; k < G.size(); ++k) {
    sums.slope[k] += h[k];
    sums.curvature[k] += G[k];
  }
}

Remembered remember(const LatentGaussianModel& model, const std::vector<std::shared_ptr<Prior>>& old,
                    const GlobalPosterior& q, double elbo) {
  Remembered out;
  out.constant = elbo;
  for (Index k = 0; k < model.latents(); ++k) {
    const Prior& before = *old[k];
    Matrix B, left;  // u_old given u ~ N(B u + shift, left)
    Vector shift;
    model.predictor(k).prior->recall(before, B, shift, left);
    const Matrix G = q[k].curvature(before);
    const Vector h = q[k].precision * q[k].mean;
    // E log p of the old rows at the old q, less the quadratic form's value there
    out.constant += q[k].kl_of_mean(before) + q[k].kl_of_covariance(before) - h.dot(q[k].mean) +
                    0.5 * (q[k].mean.dot(G * q[k].mean) + (q[k].root * G).cwiseProduct(q[k].root).sum());
    out.constant += h.dot(shift) - 0.5 * shift.dot(G * shift);
    out.penalty -= 0.5 * G.cwiseProduct(left).sum();
    out.G.push_back(B.transpose() * G * B);
    out.h.push_back(B.transpose() * (h - G * shift));
  }
  out.constant += out.penalty;
  return out;
}

void RowValues::resize(Index rows, Index latents) {
  for (Matrix* part : {&mean, &variance, &expectations.d_mean, &expectations.d_variance})
    part->resize(rows, latents);
  expectations.value.resize(rows);
}

Contribution contribution(const LatentGaussianModel& model, const GlobalPosterior& q, const RowBlock& rows,
                          Index begin, Index count, const Wanted& wanted) {
  check_posterior(model, q);
  Context own{model.context().backend, model.context().monitor, 1};  // costs are the calling thread's
  const Backend& backend = own.backend;
  Contribution out = empty_sums(model, count);
  if (wanted.joint) {
    Index size = 0;
    for (const LatentPosterior& part : q) size += part.mean.size();
    out.joint = Matrix::Zero(size, size);
  }
  if (wanted.gradient) out.hyper = Vector::Zero(model.hypers());
  Expectations e;
  std::vector<Matrix> X;
  for_chunks(model, rows, begin, count, [&](const Chunk& chunk) {
    Matrix mean, variance;
    chunk.marginals(model, q, mean, variance, X);
    model.expectation().evaluate(own, model.likelihood(), chunk.data, mean, variance, wanted.joint ? 2 : 1,
                                 e);
    out.value += e.value.sum();
    const double others = e.d_mean.cwiseProduct(mean).cwiseAbs().sum() +
                          e.d_mean.cwiseProduct(chunk.offset).cwiseAbs().sum() +
                          e.d_variance.cwiseProduct(variance).cwiseAbs().sum();
    out.rounding += rounding_of_sums(e.value.cwiseAbs().sum(), others);
    chunk.add_sites(model, {-2 * e.d_variance, e.d_mean}, out);
    if (wanted.joint) add_joint(backend, model, chunk, e, out.joint);
    if (RowValues* values = wanted.values) {
      const Index at = rows.first + chunk.begin, n = chunk.count;
      values->mean.middleRows(at, n) = mean;
      values->variance.middleRows(at, n) = variance;
      values->expectations.value.segment(at, n) = e.value;
      values->expectations.d_mean.middleRows(at, n) = e.d_mean;
      values->expectations.d_variance.middleRows(at, n) = e.d_variance;
    }
    if (!wanted.gradient) return;
    add_column_gradients(backend, model, q, rows, chunk, e, X, out);
    model.expectation().add_gradient(own, model.likelihood(), chunk.data, mean, variance, out.hyper);
  });
  return out;
}

Contribution site_sums(const LatentGaussianModel& model, const Sites& sites, Index sites_first,
                       const RowBlock& rows, Index begin, Index count) {
  Contribution out = empty_sums(model, count);
  for_chunks(model, rows, begin, count, [&](const Chunk& chunk) {
    const Index at = rows.first + chunk.begin - sites_first;
    chunk.add_sites(model, {sites.lambda.middleRows(at, chunk.count), sites.b.middleRows(at, chunk.count)},
                    out);
  });
  return out;
}

void write_given_sites(const LatentGaussianModel& model, const GivenSites& given, const RowBlock& rows,
                       Index begin, Index count, Sites& sites) {
  Context own{model.context().backend, model.context().monitor, 1};
  for_chunks(model, rows, begin, count, [&](const Chunk& chunk) {
    Matrix mean, variance;
    const Sites own_sites = chunk.sites(own, model, *given.q, given.order, mean, variance);
    sites.lambda.middleRows(chunk.begin, chunk.count) = own_sites.lambda;
    sites.b.middleRows(chunk.begin, chunk.count) = own_sites.b;
  });
}

Contribution starting_sums(const LatentGaussianModel& model, const RowBlock& rows, Index begin, Index count) {
  Context own{model.context().backend, model.context().monitor, 1};
  Contribution out = empty_sums(model, count);
  for_chunks(model, rows, begin, count, [&](const Chunk& chunk) {
    Matrix variance(chunk.count, model.latents());
    for (Index k = 0; k < model.latents(); ++k) {
      const Index i = model.prior_index(k);
      Vector v = chunk.extra[i];
      model.predictor(k).prior->add_column_variances(chunk.W[i], v);
      variance.col(k) = v;
    }
    chunk.add_sites(model, starting_sites(own, model, chunk.data, chunk.offset, variance), out);
  });
  return out;
}

Vector hyper_gradient(const LatentGaussianModel& model, const Contribution& sums, Index hypers) {
  Vector out = sums.hyper.size() > 0 ? sums.hyper : Vector::Zero(hypers);
  for (std::size_t i = 0; i < sums.columns.size(); ++i)
    model.priors()[i].prior->finish_gradient(sums.columns[i], out);
  return out;
}

}  // namespace galvi

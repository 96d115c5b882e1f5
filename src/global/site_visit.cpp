#include "global/site_visit.h"

#include "model/start.h"
#include "numeric/parallel.h"

namespace galvi {

namespace {

// Pieces are smaller than in a pass, so that threads can share one block.
Index rows_of_piece(const LatentGaussianModel& model) {
  constexpr Index pieces = 8;
  Index columns = 0;
  for (const auto& part : model.priors()) columns = std::max(columns, part.prior->columns());
  return std::max<Index>(64, std::min<Index>(rows_in_cache(columns), 2 * columns / pieces));
}

// Where E log p is dominated by values of eta that no row supports, a natural-gradient step is useless.
void begin_where_vague(const LatentGaussianModel& model, Context& context, const Chunk& chunk,
                       const Matrix& variance, Sites& sites) {
  constexpr double vague = 1;  // of a variance
  if (variance.maxCoeff() <= vague) return;
  const Sites own = starting_sites(context, model, chunk.data, chunk.offset, variance);
  for (Index n = 0; n < chunk.count; ++n) {
    if (variance.row(n).maxCoeff() <= vague) continue;
    sites.lambda.row(n) = own.lambda.row(n);
    sites.b.row(n) = own.b.row(n);
  }
}

Sites middle_rows(const Sites& sites, const Chunk& chunk, Index from) {
  return {sites.lambda.middleRows(chunk.begin - from, chunk.count),
          sites.b.middleRows(chunk.begin - from, chunk.count)};
}

}  // namespace

SiteVisit::SiteVisit(const LatentGaussianModel& model, const RowBlock& rows, Index begin, Index count,
                     const GlobalPosterior& q, bool first)
    : model_(model),
      centred_(count, model.latents()),
      sd_(count, model.latents()),
      sites_{Matrix(count, model.latents()), Matrix(count, model.latents())} {
  const Index size = rows_of_piece(model), pieces = (count + size - 1) / size;
  std::vector<std::unique_ptr<Chunk>> chunks(pieces);
  double flops = 0;
  for (const LatentPosterior& part : q) flops += static_cast<double>(part.mean.size() * part.mean.size());
  parallel_for(model.context(), pieces, 2 * flops * count, [&](Index i) {
    Context own{model.context().backend, model.context().monitor, 1};
    const Index at = i * size, n = std::min(size, count - at);
    chunks[i] = std::make_unique<Chunk>(model, rows, begin + at, n);
    const Chunk& chunk = *chunks[i];
    Matrix mean, variance;
    Sites sites = chunk.sites(own, model, q, 1, mean, variance);
    if (first) begin_where_vague(model, own, chunk, variance, sites);
    centred_.middleRows(at, n) = mean - chunk.offset;
    sd_.middleRows(at, n) = variance.cwiseSqrt();
    sites_.lambda.middleRows(at, n) = sites.lambda;
    sites_.b.middleRows(at, n) = sites.b;
  });
  for (auto& chunk : chunks) chunks_.push_back(std::move(*chunk));
}

Contribution SiteVisit::change(const Sites& old) const {
  const Index pieces = static_cast<Index>(chunks_.size()), from = chunks_[0].begin;
  const Sites by{sites_.lambda - old.lambda, sites_.b - old.b};
  std::vector<Contribution> parts(pieces);
  double flops = 0;
  for (const Matrix& W : chunks_[0].W) flops += static_cast<double>(W.cols() * W.cols());
  parallel_for(model_.context(), pieces, flops * by.b.rows(), [&](Index i) {
    parts[i] = empty_sums(model_, chunks_[i].count);
    chunks_[i].add_sites(model_, middle_rows(by, chunks_[i], from), parts[i]);
  });
  TreeSum<Contribution> sum;
  for (Index i = 0; i < pieces; ++i) sum.add(i, std::move(parts[i]));
  return std::move(sum).total();
}

double SiteVisit::furthest_move(const GlobalPosterior& to) const {
  double out = 0;
  for (const Chunk& chunk : chunks_) {
    const Index at = chunk.begin - chunks_[0].begin;
    for (Index k = 0; k < centred_.cols(); ++k) {
      const Vector move = chunk.W[model_.prior_index(k)] * to[k].mean - centred_.col(k).segment(at, chunk.count);
      const Vector unit = (1 + 2 * sd_.col(k).segment(at, chunk.count).array()).matrix();
      out = std::max(out, move.cwiseAbs().cwiseQuotient(unit).maxCoeff());
    }
  }
  return out;
}

constexpr Index refreshed_rows = 4096;  // at a time

KeptSites::KeptSites(BlockModel& model) : model_(model), sums_(model.no_sites()) {
  const Index N = model.model().observations(), K = model.model().latents();
  sites_ = {Matrix::Zero(N, K), Matrix::Zero(N, K)};
  q_ = *model.posterior_of(sums_, 1);
}

double KeptSites::visit(const RowBlock& rows, Index begin, const std::vector<Index>& at, bool first) {
  constexpr int most = 8;
  const Index n = static_cast<Index>(at.size()), K = sites_.b.cols();
  const SiteVisit visit(model_.model(), rows, begin, n, q_, first);
  Sites old{Matrix(n, K), Matrix(n, K)};
  for (Index i = 0; i < n; ++i) {
    old.lambda.row(i) = sites_.lambda.row(at[i]);
    old.b.row(i) = sites_.b.row(at[i]);
  }
  const Contribution change = visit.change(old);
  double step = 1;
  for (int tried = 0; tried < most; ++tried) {
    Contribution sums = sums_;
    for (Index k = 0; k < K; ++k) {
      sums.slope[k] += step * change.slope[k];
      sums.curvature[k] += step * change.curvature[k];
    }
    auto next = model_.posterior_of(sums, 1);
    const double move = next ? visit.furthest_move(*next) : infinity;
    if (move <= 1) {
      for (Index i = 0; i < n; ++i) {
        sites_.lambda.row(at[i]) += step * (visit.sites().lambda.row(i) - old.lambda.row(i));
        sites_.b.row(at[i]) += step * (visit.sites().b.row(i) - old.b.row(i));
      }
      sums_ = std::move(sums);
      q_ = std::move(*next);
      return step;
    }
    step *= next ? std::clamp(0.8 / move, 0.1, 0.9) : 0.5;
  }
  return 0;
}

void KeptSites::refresh() {
  Contribution sums = model_.no_sites();
  model_.for_blocks(refreshed_rows, [&](const RowBlock& rows, Index begin, Index count) {
    sums += site_sums(model_.model(), sites_, 0, rows, begin, count);
  });
  auto next = model_.posterior_of(sums, 1);
  if (!next) return;
  sums_ = std::move(sums);
  q_ = std::move(*next);
}

}  // namespace galvi

#include "global/row_source.h"

#include <numeric>

#include "numeric/parallel.h"

namespace galvi {

namespace {

Contribution answer(const LatentGaussianModel& model, const Question& question, const RowBlock& rows,
                    Index begin, Index count) {
  switch (question.kind) {
    case Question::sites: return site_sums(model, *question.at, question.at_first, rows, begin, count);
    case Question::start: return starting_sums(model, rows, begin, count);
    default: return contribution(model, *question.q, rows, begin, count, question.wanted);
  }
}

// Flops of a row: its columns, its variance and its part of the curvature, of each predictor.
double row_flops(const LatentGaussianModel& model, const Question& question) {
  double out = 0;
  for (Index k = 0; k < model.latents(); ++k) {
    const double L = static_cast<double>(model.predictor(k).prior->columns());
    out += L * L * (2 + (question.wanted.joint ? model.latents() : 0) + (question.wanted.gradient ? 2 : 0));
  }
  return out;
}

}  // namespace

Partition partition_of(const LatentGaussianModel& model, Index rows) {
  Index columns = 0;
  for (Index k = 0; k < model.latents(); ++k)
    columns = std::max(columns, model.predictor(k).prior->columns());
  return {rows, columns};
}

Index part_at_end(const Partition& partition, Index first, Index end) {
  while (first < partition.parts() && partition.begin(first) < end) ++first;
  if (partition.begin(first) != end) throw std::invalid_argument("a block does not end where a part does");
  return first;
}

void add_parts(const LatentGaussianModel& model, const Question& question, const Partition& partition,
               const RowBlock& rows, Index first, TreeSum<Contribution>& sum) {
  Context& context = model.context();
  const double flops = row_flops(model, question);
  const Index end = rows.first + rows.size();
  // As many parts at a time as there are threads, so that no more sums are in memory than these and the
  // tree's.
  std::vector<Contribution> wave(std::max(1, context.threads));
  for (Index part = first; part < partition.parts() && partition.begin(part) < end;) {
    Index count = 0;
    while (count < static_cast<Index>(wave.size()) && part + count < partition.parts() &&
           partition.begin(part + count) < end)
      ++count;
    const double work = flops * (partition.begin(part + count) - partition.begin(part));
    parallel_for(context, count, work, [&](Index i) {
      const Index begin = partition.begin(part + i);
      wave[i] = answer(model, question, rows, begin - rows.first, partition.begin(part + i + 1) - begin);
    });
    for (Index i = 0; i < count; ++i) sum.add(part + i, std::move(wave[i]));
    context.cost.flops += work;
    part += count;
  }
}

void add_read_parts(LatentGaussianModel& model, const Question& question, const Partition& partition,
                    const RowBlock& rows, Index first, TreeSum<Contribution>& sum) {
  if (question.kind != Question::sites) return add_parts(model, question, partition, rows, first, sum);
  Sites sites{Matrix(rows.size(), model.latents()), Matrix(rows.size(), model.latents())};
  const GivenSites& given = *question.given;
  const Vector now = model.hyper();
  model.update(given.hyper);
  Index end = first;
  while (end < partition.parts() && partition.begin(end) < rows.first + rows.size()) ++end;
  parallel_for(model.context(), end - first, row_flops(model, question) * rows.size(), [&](Index i) {
    const Index begin = partition.begin(first + i), count = partition.begin(first + i + 1) - begin;
    write_given_sites(model, given, rows, begin - rows.first, count, sites);
  });
  model.update(now);
  Question of_sites = question;
  of_sites.at = &sites;
  of_sites.at_first = rows.first;
  add_parts(model, of_sites, partition, rows, first, sum);
}

void for_blocks_of(const Partition& partition, const RowBlock& rows, Index first, Index size,
                   const RowSource::Body& body) {
  const Index end = rows.first + rows.size();
  for (Index part = first; part < partition.parts() && partition.begin(part) < end; ++part) {
    const Index begin = partition.begin(part), n = partition.begin(part + 1) - begin;
    const Index blocks = std::max<Index>(1, (n + size / 2) / size);
    for (Index i = 0; i < blocks; ++i) {
      const Index from = i * n / blocks, to = (i + 1) * n / blocks;
      if (to > from) body(rows, begin - rows.first + from, to - from);
    }
  }
}

void for_batches_of(const LatentGaussianModel& model, const RowBlock& rows, Index size,
                    const RowSource::BatchBody& body) {
  const Index N = rows.size(), batches = std::max<Index>(1, (N + size / 2) / size);
  std::vector<Index> order(N);
  std::iota(order.begin(), order.end(), 0);
  for (Index n = N - 1; n > 0; --n)
    std::swap(order[n], order[static_cast<Index>(model.context().monitor.uniform() * static_cast<double>(n + 1))]);
  for (Index i = 0; i < batches; ++i) {
    std::vector<Index> at(order.begin() + i * N / batches, order.begin() + (i + 1) * N / batches);
    const RowBlock batch = rows.at(at);
    for (Index& n : at) n += rows.first;
    body(batch, at);
  }
}

void MemoryRows::for_blocks(const LatentGaussianModel& model, Index size, const Body& body) {
  for_blocks_of(partition_of(model, rows()), rows_, 0, size, body);
}

Contribution MemoryRows::sum(LatentGaussianModel& model, const Question& question) {
  TreeSum<Contribution> sum;
  add_parts(model, question, partition_of(model, rows()), rows_, 0, sum);
  if (question.kind != Question::sites) ++model.context().cost.sweeps;
  return std::move(sum).total();
}

}  // namespace galvi

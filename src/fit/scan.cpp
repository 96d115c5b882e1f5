#include "fit/scan.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace galvi {

std::optional<Start> scan_lengthscales(LatentGaussianModel& model, const Algorithm& algorithm,
                                       HyperTable& table, std::optional<Start> start,
                                       InferenceControl inference, Trace& trace) {
  constexpr double rough = 1;  // nats; starts that matter differ by more, and the true gap is less
  constexpr double factor = 3;
  constexpr int tries = 3;         // the shortest is a 27th of the start
  constexpr double cube = 3;       // a variance per cubed unit of the input is the inverse of a cubed length
  constexpr double hopeless = 10;  // nats: where the bound falls by more, it has not been seen to rise again
  std::vector<std::string> terms;
  for (Index i = 0; i < table.learned(); ++i) {
    const std::string& term = table.term(i);
    if (table.guessed(i) && std::find(terms.begin(), terms.end(), term) == terms.end()) terms.push_back(term);
  }
  if (terms.empty()) return start;

  inference.tol = std::max(inference.tol, rough);
  inference.one_start = true;
  inference.certified = false;
  const Vector lower = table.lower(), upper = table.upper();
  trace.stage(Stage::learning);
  double highest = -infinity;
  Vector best = table.unconstrained();
  // -> the objective there
  const auto look = [&](const Vector& x) {
    table.set_unconstrained(x);
    model.update(table.values());
    trace.attempt();
    try {
      InferenceResult found = algorithm.run(model, start, inference, trace);
      const double objective = found.posterior->elbo + table.log_prior();
      trace.judge(objective);
      if (objective > highest) {
        highest = objective;
        best = x;
        start = found.posterior.start();
      }
      return objective;
    } catch (const std::domain_error&) {  // no posterior here
      trace.judge(-infinity);
      return -infinity;
    }
  };
  look(best);
  for (const std::string& term : terms) {
    const Vector from = best;
    for (int k = 1; k <= tries; ++k) {
      Vector x = from;
      for (Index i = 0; i < x.size(); ++i)
        if (table.guessed(i) && table.term(i) == term)
          x[i] = table.limited(i) ? std::min(x[i] + cube * k * std::log(factor), upper[i])
                                  : std::max(x[i] - k * std::log(factor), lower[i]);
      if (look(x) < highest - hopeless) break;
    }
  }
  table.set_unconstrained(best);
  model.update(table.values());
  return start;
}

std::vector<Vector> starts_of_few_rows(const LatentGaussianModel& model, const HyperTable& table,
                                       const Vector& first) {
  constexpr Index few = 60;  // beyond these no better maximum was found in random designs
  constexpr double longer = 3, little = 1e-3;
  if (!model.likelihood().conjugate() || model.rows() > few) return {};
  Vector at_long = first, at_little = first;
  for (Index i = 0; i < first.size(); ++i) {
    if (table.guessed(i) && !table.limited(i)) at_long[i] += std::log(longer);
    if (table.likelihood(i) >= 0) at_little[i] += std::log(little);
  }
  if (at_long == first) return {};
  std::vector<Vector> out;
  for (const Vector& start : {at_long, at_little})
    if (start != first) out.push_back(start.cwiseMax(table.lower()).cwiseMin(table.upper()));
  return out;
}

namespace {

/// The rows that count, in the order of their one input, group after group.
std::vector<Index> along(const KernelRows& rows, const Vector& weight) {
  std::vector<Index> order;
  for (Index n = 0; n < weight.size(); ++n)
    if (weight[n] > 0 && (rows.by.size() == 0 || rows.by[n] != 0)) order.push_back(n);
  const auto group = [&](Index n) { return rows.group.size() > 0 ? rows.group[n] : 1; };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::make_pair(group(a), rows.inputs(a, 0)) < std::make_pair(group(b), rows.inputs(b, 0));
  });
  return order;
}

/// Of neighbours along the input: the correlation of their scores, and how far apart they are, at the median.
struct Neighbours {
  double correlation, gap;
};
std::optional<Neighbours> neighbours(const KernelRows& rows, const Vector& weight, Vector score) {
  constexpr std::size_t fewest = 20;
  if (rows.by.size() > 0) score.array() *= rows.by.array();
  double products = 0, squares = 0;
  std::vector<double> gaps;
  const std::vector<Index> order = along(rows, weight);
  for (const Index n : order) squares += score[n] * score[n];
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Index a = order[i - 1], b = order[i];
    if (rows.group.size() > 0 && rows.group[a] != rows.group[b]) continue;
    products += score[a] * score[b];
    const double gap = rows.inputs(b, 0) - rows.inputs(a, 0);
    if (gap > 0) gaps.push_back(gap);
  }
  if (gaps.size() < fewest || !(squares > 0)) return std::nullopt;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return Neighbours{products / squares, *middle};
}

/// How many kernels a term has, those of levels and classes: hyperparameters of one follow those of the other.
Index kernels_of(const LatentGaussianModel& model, const std::string& term) {
  Index out = 0;
  for (const auto& part : model.priors())
    for (const auto& own : *part.prior)
      if (own->label() == term) out += std::max<Index>(own->kernels(), 1);
  return out;
}

}  // namespace

std::vector<Vector> starts_of_faster_process(const LatentGaussianModel& model, const HyperTable& table,
                                             const Posterior& q, const Vector& first) {
  constexpr double far = 0.5;  // a process that follows the data leaves correlations of zero or less
  constexpr double gaps = 1.5;  // that a lengthscale spans
  double most = far;
  std::vector<Vector> out;
  Vector weight = model.data().weight;
  weight.tail(model.prior_rows()).setZero();
  for (Index p = 0; p < static_cast<Index>(model.priors().size()); ++p) {
    std::vector<Index> latents;
    for (Index k = 0; k < model.latents(); ++k)
      if (model.prior_index(k) == p) latents.push_back(k);
    if (latents.size() != 1) continue;
    const auto& part = model.priors()[p];
    for (Index t = 0; t < part.prior->size(); ++t) {
      const std::string& term = (*part.prior)[t].label();
      const KernelRows& rows = (*model.block().designs[part.design])[t].kernel;
      if (rows.inputs.rows() != model.rows() || rows.inputs.cols() != 1) continue;
      const std::optional<Neighbours> found = neighbours(rows, weight, q->alpha.col(latents[0]));
      if (!found || !(found->correlation > most)) continue;
      Vector x = table.unconstrained();
      const double length = gaps * found->gap;
      std::vector<Index> lengths;
      for (Index i = 0; i < x.size(); ++i) {
        if (table.term(i) != term) {
          // what neighbours share is not noise
          if (model.likelihood().conjugate() && table.likelihood(i) >= 0) x[i] += std::log1p(-found->correlation);
        } else if (!table.guessed(i) || table.limited(i)) {
          x[i] = first[i];
        } else {
          lengths.push_back(i);
        }
      }
      const auto count = static_cast<Index>(lengths.size()), copies = kernels_of(model, term);
      const Index parts = count % copies == 0 ? count / copies : 1;
      std::vector<Vector> starts;
      for (Index k = 0; k < parts; ++k) {
        Vector start = x;
        for (Index j = k; j < count; j += parts) {
          const Index i = lengths[j];
          start[i] += std::min(0.0, std::log(length / table.values()[table.learned_positions()[i]]));
        }
        if (start != x) starts.push_back(start.cwiseMax(table.lower()).cwiseMin(table.upper()));
      }
      if (starts.empty()) continue;
      most = found->correlation;
      out = std::move(starts);
    }
  }
  return out;
}

}  // namespace galvi

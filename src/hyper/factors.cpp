#include "hyper/factors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "hyper/item_steps.h"
#include "inference/anderson.h"
#include "inference/several_starts.h"

namespace galvi {

namespace {

const FactorsTerm* learned_factors(const Term& term, const HyperTable& table) {
  const FactorsTerm* factors = term.factors();
  if (!factors) return nullptr;
  const auto& learned = table.learned_positions();
  for (const auto* positions : {&factors->loading_positions(), &factors->effect_positions()})
    for (Index i = 0; i < positions->size(); ++i)
      if (!std::binary_search(learned.begin(), learned.end(), static_cast<Index>(positions->data()[i])))
        return nullptr;
  return factors;
}

/// The numbers that alternate() moves, among the learned ones.
std::vector<bool> moved_numbers(const FactorsTerm& term, const HyperTable& table) {
  std::vector<bool> out(table.learned());
  for (Index i = 0; i < table.learned(); ++i) out[i] = table.likelihood(i) >= 0;
  for (const auto* positions : {&term.loading_positions(), &term.effect_positions()})
    for (Index i = 0; i < positions->size(); ++i) {
      const auto& learned = table.learned_positions();
      const Index at = positions->data()[i];
      out[std::lower_bound(learned.begin(), learned.end(), at) - learned.begin()] = true;
    }
  return out;
}

/// Sites as functions of eta, not of its distance from a prior mean, which moves.
struct EtaSites {
  Matrix lambda, g, mean;  // exp(g eta - lambda (eta - mean)^2 / 2)
  Sites about(const Matrix& prior_mean) const { return {lambda, g + lambda.cwiseProduct(mean - prior_mean)}; }
};

/// One search of alternate().
class Passes {
 public:
  Passes(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, Index term,
         const InferenceControl& inference, const HyperControl& control, Trace& trace)
      : model_(model),
        algorithm_(algorithm),
        table_(table),
        term_(term),
        factors_(*(*model.predictor(0).prior)[term].factors()),
        inference_(inference),
        control_(control),
        trace_(trace),
        steps_(model, table, term) {
    const std::vector<bool> moved = moved_numbers(factors_, table);
    for (Index i = 0; i < table.learned(); ++i)
      if (moved[i]) moved_.push_back(table.learned_positions()[i]);
  }

  Alternation run(const std::optional<Start>& start);

 private:
  /// One step of q at the table's values; false if there is no posterior.
  bool infer(const EtaSites& sites);
  /// A natural-gradient step of q from its present place; false if there is no posterior.
  bool step();
  /// The optimum of q at the table's values, from its last sites.
  void settle();
  double objective() const { return current_.elbo + table_.log_prior(); }
  /// The approximate optimality gap of q.
  double gain_of_q() const;

  LatentGaussianModel& model_;
  const Algorithm& algorithm_;
  HyperTable& table_;
  Index term_;
  const FactorsTerm& factors_;
  const InferenceControl& inference_;
  const HyperControl& control_;
  Trace& trace_;
  const ItemSteps steps_;
  std::vector<Index> moved_;  // positions in the table
  SitePosterior current_;
};

bool Passes::infer(const EtaSites& sites) {
  model_.update(table_.values());
  current_ = SitePosterior();
  try {
    auto next = model_.at_sites(sites.about(model_.prior_mean()), 2);
    if (!next) return false;
    current_ = std::move(*next);
    return true;
  } catch (const std::domain_error&) {
    return false;
  }
}

bool Passes::step() {
  auto next = model_.at_sites(model_.natural_target(current_), 2);
  if (next) current_ = std::move(*next);
  return next.has_value();
}

void Passes::settle() {
  constexpr double rough = 1e-4;  // nats
  const EtaSites kept{current_.sites.lambda, current_.alpha, current_.mean};
  model_.update(table_.values());
  InferenceControl control = inference_;
  control.tol = std::max(control.tol, rough);
  control.one_start = true;
  Trace aside(model_.context());
  current_ = algorithm_.run(model_, kept.about(model_.prior_mean()), control, aside).posterior.of_sites();
  model_.expect(current_.mean, current_.variance, 2, current_.expectations);
}

double Passes::gain_of_q() const {
  const Expectations& e = current_.expectations;
  const Matrix r = e.d_mean - current_.alpha, d = current_.sites.lambda + 2 * e.d_variance;
  return 0.5 * (r.cwiseAbs2().cwiseProduct(current_.variance).sum() +
                0.5 * d.cwiseProduct(current_.variance).squaredNorm());
}

Alternation Passes::run(const std::optional<Start>& start) {
  constexpr std::size_t memory = 7;
  constexpr int passes_per_iteration = 10, patience = 20;
  Anderson anderson(memory);
  model_.update(table_.values());
  {
    InferenceControl control = inference_;
    control.tol = 1e-3;
    Trace aside(model_.context());
    current_ = algorithm_.run(model_, start, control, aside).posterior.of_sites();
    model_.expect(current_.mean, current_.variance, 2, current_.expectations);
  }
  std::vector<double> reached{objective()};
  bool converged = false;
  int settled = 0;
  for (int pass = 0; pass < passes_per_iteration * control_.max_iterations; ++pass) {
    trace_.attempt();
    trace_.at(table_.values(), current_.sites, current_.elbo);
    trace_.add(current_.elbo, std::numeric_limits<double>::quiet_NaN());
    trace_.judge(reached.back());
    const double before = reached.back();
    const Vector from = table_.values();
    double promise = gain_of_q();
    const UnitMoments units = model_.solver(0).unit_moments(term_, current_.sites.b.col(0));
    RowMoments at{current_.mean, current_.variance, std::move(current_.expectations),
                  Vector::Zero(table_.size())};
    promise += steps_.take(units, table_, at);
    promise += step_of_likelihood(model_, table_, at);
    promise += expand_parameters(model_, term_, units, table_);
    const Vector plain = table_.values();
    const EtaSites sites{-2 * at.e.d_variance, at.e.d_mean, at.mean};

    const SitePosterior kept = current_;
    // on the natural scale, where variances that go to zero do so at a steady rate; units are those of the
    // bound's curvature
    const Index number = static_cast<Index>(moved_.size());
    Vector x(number), residual(number), scale(number);
    for (Index i = 0; i < number; ++i) {
      x[i] = from[moved_[i]];
      residual[i] = plain[moved_[i]] - from[moved_[i]];
      scale[i] = 1 / std::sqrt(std::max(at.bend[moved_[i]], 1e-12));
    }
    const Vector guess = anderson.next(x, residual, scale, 1);
    Vector accelerated = plain;
    for (Index i = 0; i < number; ++i) accelerated[moved_[i]] = guess[i];
    const bool inside = accelerated.allFinite() && table_.admits(accelerated);
    const double allowed = allowed_fall(kept.rounding, before);
    bool better = false;
    if (pass > 0 && inside) {
      table_.set_values(accelerated);
      better = infer(sites) && objective() >= before - allowed;
      // the sites belong to the plain pass's numbers, which may differ from these
      if (!better && current_.mean.size() > 0) better = step() && objective() >= before - allowed;
    }
    if (!better) {
      table_.set_values(plain);
      better = infer(sites) && objective() >= before - allowed;
    }
    if (!better) {
      current_ = kept;
      settle();
      if (objective() < before - allowed) {  // worse even there: discard the pass
        table_.set_values(from);
        current_ = kept;
        settle();
        break;
      }
    }
    reached.push_back(objective());
    const double enough =
        std::max(1e-5 * control_.tol, 1e-14 * std::abs(before));
    settled = promise <= enough ? settled + 1 : 0;
    const bool still = static_cast<int>(reached.size()) > patience &&
                       reached.back() - reached[reached.size() - 1 - patience] <= 0.1 * control_.tol;
    converged = settled >= 2 || (still && promise <= control_.tol);
    if (converged || still) break;
  }
  return {std::move(current_), reached.back(), converged};
}

// With W' = V D U' for the rows of `loadings`, replaces them by D U', the largest entry of each positive.
Matrix principal_axes(const Matrix& loadings) {
  const Eigen::JacobiSVD<Matrix> svd(loadings.transpose(), Eigen::ComputeThinU | Eigen::ComputeThinV);
  Matrix out = svd.matrixV().transpose() * loadings;
  for (Index k = 0; k < out.rows(); ++k) {
    Index at;
    out.row(k).cwiseAbs().maxCoeff(&at);
    if (out(k, at) < 0) out.row(k) *= -1;
  }
  return out;
}

}  // namespace

void turn_to_principal_axes(const LatentGaussianModel& model, HyperTable& table) {
  Vector values = table.values();
  for (const auto& part : model.priors())
    for (const auto& term : *part.prior)
      if (const FactorsTerm* factors = learned_factors(*term, table)) {
        const Eigen::MatrixXi& at = factors->loading_positions();
        Matrix loadings = at.unaryExpr([&](int i) { return table.values()[i]; });
        loadings = principal_axes(loadings);
        for (Index i = 0; i < at.size(); ++i) values[at.data()[i]] = loadings.data()[i];
      }
  table.set_values(values);
}

Index factors_to_alternate(LatentGaussianModel& model, const Algorithm& algorithm, const HyperTable& table) {
  if (model.latents() != 1 || algorithm.gradient || !model.expectation().consistent() || !model.has_all_rows())
    return -1;
  const Prior& prior = *model.predictor(0).prior;
  for (Index t = 0; t < prior.size(); ++t)
    if (learned_factors(prior[t], table)) return t;
  return -1;
}

Alternation alternate(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, Index term,
                      const std::optional<Start>& start, const InferenceControl& inference,
                      const HyperControl& control, Trace& trace) {
  Alternation out = Passes(model, algorithm, table, term, inference, control, trace).run(start);
  turn_to_principal_axes(model, table);
  return out;
}

namespace {

/// Other starting points: random loadings of the same size as the table's. The generator is fixed, so that a
/// fit can be repeated.
std::vector<Vector> random_starts(const FactorsTerm& term, const HyperTable& table, int number) {
  std::mt19937 generator(2);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto normal = [&]() {
    const double u = 1 - uniform(generator), v = uniform(generator);
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
  };
  const Eigen::MatrixXi& at = term.loading_positions();
  double square = 0;
  for (Index i = 0; i < at.size(); ++i) square += std::pow(table.values()[at.data()[i]], 2);
  const double size = std::sqrt(square / static_cast<double>(at.size()));
  std::vector<Vector> out(number, table.values());
  for (Vector& values : out)
    for (Index i = 0; i < at.size(); ++i) values[at.data()[i]] = size * normal();
  return out;
}

}  // namespace

FactorSearch search_factors(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                            Index term, const std::optional<Start>& start, const InferenceControl& inference,
                            const HyperControl& control, Trace& trace) {
  constexpr double cheap = 2e6;  // approximate flops of a pass
  const FactorsTerm& factors = *(*model.predictor(0).prior)[term].factors();
  const std::vector<bool> moved = moved_numbers(factors, table);
  const Vector first = table.values();
  Alternation best = alternate(model, algorithm, table, term, start, inference, control, trace);
  Vector values = table.values();
  FactorSearch out;
  const double width = static_cast<double>(factors.dimension() + factors.effect_count());
  const bool alone = model.solver(0).name() == "units";
  if (!start && !inference.one_start && static_cast<double>(model.rows()) * width * width * (alone ? 1 : 10) < cheap) {
    std::vector<double> bounds{best.objective};
    table.set_values(first);
    for (const Vector& other : random_starts(factors, table, 2)) {
      table.set_values(other);
      Trace aside(model.context());
      try {
        Alternation found = alternate(model, algorithm, table, term, std::nullopt, inference, control, aside);
        if (found.converged) bounds.push_back(found.objective);
        if (found.objective > best.objective + 1e-6) {
          best = std::move(found);
          values = table.values();
        }
      } catch (const std::domain_error&) {
        continue;  // no posterior here
      }
    }
    out.note = several_optima(bounds);
  }
  table.set_values(values);
  out.start = best.posterior.sites;
  out.converged = best.converged;

  std::vector<Index> rest;
  for (Index i = 0; i < table.learned(); ++i)
    if (!moved[i]) rest.push_back(i);
  if (rest.empty()) return out;
  // At the optimum over all others, the bound's gradient in the rest is that of its profile.
  const Index number = static_cast<Index>(rest.size());
  const auto among = [&](const Vector& all) {
    Vector some(number);
    for (Index i = 0; i < number; ++i) some[i] = all[rest[i]];
    return some;
  };
  double highest = -std::numeric_limits<double>::infinity();
  const Objective objective = [&](const Vector& x, Vector& gradient) {
    table.set_values(values);
    Vector all = table.unconstrained();
    for (Index i = 0; i < number; ++i) all[rest[i]] = x[i];
    table.set_unconstrained(all);
    try {
      Alternation found = alternate(model, algorithm, table, term, out.start, inference, control, trace);
      model.update(table.values());
      InferenceControl exact = inference;
      exact.one_start = true;
      Trace aside(model.context());
      const Posterior q = algorithm.run(model, found.posterior.sites, exact, aside).posterior;
      gradient = -among(table.chain(algorithm.objective_gradient(model, q, table.size())));
      const double value = q->elbo + table.log_prior();
      if (value > highest) {
        highest = value;
        values = table.values();
        out.start = q.start();
        out.converged = found.converged;
      }
      return -value;
    } catch (const std::domain_error&) {
      gradient.setZero(number);
      return std::numeric_limits<double>::infinity();
    }
  };
  LbfgsControl search;
  search.max_iterations = control.max_iterations;
  search.gradient_tolerance = 0.5 * std::sqrt(control.tol);
  search.max_step = 4;
  search.patience = 20;
  const LbfgsResult result = control.method->minimise(objective, among(table.unconstrained()), among(table.lower()),
                                                      among(table.upper()), search);
  table.set_values(values);
  out.converged = out.converged && result.converged;
  return out;
}

}  // namespace galvi

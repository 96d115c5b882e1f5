// Probabilities of classes, averaged over eta.
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

#include "likelihood/composed.h"
#include "likelihood/counts.h"
#include "likelihood/distributional.h"
#include "likelihood/tilted.h"
#include "numeric/special_functions.h"
#include "predictive/predictive.h"
#include "quadrature/gaussian_rule.h"
#include "quadrature/log_integral.h"
#include "quadrature/log_mean_exp.h"
#include "quadrature/softmax_lattice.h"

namespace galvi {
namespace {

/// A class's E p and E p^2 as logarithms, which are accurate for improbable classes too.
struct LogMoments {
  double first = 0.0, second = 0.0;
};

/// Of p = exp(L); the second if requested.
template <class Function>
LogMoments log_moments(double mean, double variance, bool second, Function L) {
  LogMoments moments;
  moments.first = log_mean_exp(L, mean, variance);
  if (second) {
    const auto twice = [&](double eta, double out[5]) {
      L(eta, out);
      for (int k = 0; k < 5; ++k) out[k] *= 2.0;
    };
    moments.second = log_mean_exp(twice, mean, variance);
  }
  return moments;
}

/// How smooth the probabilities of all classes are as functions of eta, K = 1. Unlike their logarithms they are bounded.
Smoothness smoothness_of_probabilities(const Likelihood& likelihood) {
  // away from singularities, near which products of several probabilities are large
  constexpr double inside = 0.75;
  Smoothness out = likelihood.smoothness();
  if (likelihood.standard_function()) {
    // exp(-exp(x + iy)) is bounded for |y| < pi / 2
    constexpr double width_of_exponential = 1.57;
    double steepest = 0.0, low = infinity, high = -infinity;
    Composition sum;
    for (Index c = 0; c < likelihood.classes(); ++c) {
      sum.clear();
      likelihood.compose({static_cast<double>(c), 1.0}, sum);
      for (const Composition::Part& part : sum.parts) {
        if (part.exponential) out.width = std::min(out.width, width_of_exponential);
        if (part.coefficient == 0.0) continue;
        steepest = std::max(steepest, std::fabs(part.coefficient));
        low = std::min(low, -part.shift / part.coefficient);
        high = std::max(high, -part.shift / part.coefficient);
      }
    }
    if (steepest > 0.0) out = {out.width / steepest, 0.0, 0.5 * (low + high), 0.5 * (high - low)};
  }
  out.width *= inside;
  return out;
}

/// The means of all classes' probabilities and of their squares over the same nodes, to 1e-13; false where that takes too
/// many nodes.   second: may be null
bool at_shared_nodes(const Likelihood& likelihood, double mean, double variance, Vector& first, Vector* second) {
  constexpr std::size_t most_nodes = 200;
  const Smoothness smoothness = smoothness_of_probabilities(likelihood);
  if (!(smoothness.width > 0.0) || !std::isfinite(smoothness.centre) || !std::isfinite(smoothness.spread)) return false;
  GaussianRule rule;
  rule.place(mean, variance, smoothness);
  if (rule.nodes().size() > most_nodes) return false;
  const Index C = likelihood.classes();
  first.setZero(C);
  if (second) second->setZero(C);
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    const double eta = rule.nodes()[j];
    for (Index c = 0; c < C; ++c) {
      const double p = std::exp(likelihood.log_density({static_cast<double>(c), 1.0}, &eta));
      first[c] += rule.weights()[j] * p;
      if (second) (*second)[c] += rule.weights()[j] * p * p;
    }
  }
  return first.allFinite();
}

// K = 1. Improbable classes are integrated on the log scale, for their relative accuracy.
void one_latent(const Likelihood& likelihood, double mean, double variance, std::vector<LogMoments>& classes,
                bool second) {
  constexpr double improbable = 1e-4;
  Vector p, square;
  const bool closed = likelihood.predictive_log_density({0.0, 1.0}, mean, variance).has_value();
  const bool shared = variance > 0.0 && !(closed && !second) &&
                      at_shared_nodes(likelihood, mean, variance, p, second ? &square : nullptr);
  TiltedRule rule;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const auto at = static_cast<Index>(c);
    const Datum datum{static_cast<double>(c), 1.0};
    classes[c].first = shared && !closed && p[at] > improbable
                           ? std::log(p[at])
                           : predictive_log_density(likelihood, datum, mean, variance);
    if (!second) continue;
    classes[c].second = 2.0 * classes[c].first;
    if (variance == 0.0) continue;
    if (shared && square[at] > improbable) {
      classes[c].second = std::log(square[at]);
      continue;
    }
    rule.place(likelihood, datum, 2.0, mean, variance);
    classes[c].second = rule.log_mass();
  }
}

// eta_K is a parameter of the distribution of classes given the others.
void over_last(const PredictedParameter& likelihood, const double* mean, const double* variance, double* probability,
               double* second_moment) {
  const Index C = likelihood.classes(), last = likelihood.last();
  GaussianRule rule;
  rule.place(mean[last], variance[last], {likelihood.width(mean), 0.0});
  Vector first(C), second(C);
  std::fill_n(probability, C, 0.0);
  if (second_moment) std::fill_n(second_moment, C, 0.0);
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    const auto given = likelihood.given(rule.nodes()[j]);
    predictive_classes(*given, mean, variance, first.data(), second_moment ? second.data() : nullptr);
    for (Index c = 0; c < C; ++c) {
      probability[c] += rule.weights()[j] * first[c];
      if (second_moment) second_moment[c] += rule.weights()[j] * second[c];
    }
  }
}

// The latents are independent: parts of different latents multiply. What classes share is computed once.
void composed_classes(const Likelihood& likelihood, const double* mean, const double* variance,
                      std::vector<LogMoments>& classes, bool second) {
  const StandardFunction& f = *likelihood.standard_function();
  std::map<std::vector<double>, LogMoments> known;
  Composition sum;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    sum.clear();
    likelihood.compose({static_cast<double>(c), 1.0}, sum);
    classes[c] = {sum.constant, 2.0 * sum.constant};
    for (Index k = 0; k < likelihood.latents(); ++k) {
      std::vector<double> parts{static_cast<double>(k)};
      for (const Composition::Part& part : sum.parts) {
        if (part.latent == k) parts.insert(parts.end(), {part.weight, part.coefficient, part.shift});
      }
      if (parts.size() == 1) continue;
      const auto [entry, fresh] = known.try_emplace(parts);
      if (fresh) {
        entry->second =
            log_moments(mean[k], variance[k], second, [&](double eta, double out[5]) {
              std::fill(out, out + 5, 0.0);
              for (std::size_t j = 1; j < parts.size(); j += 3) {
                double at[5];
                f.derivatives(parts[j + 1] * eta + parts[j + 2], at);
                for (int i = 0; i < 5; ++i) out[i] += parts[j] * (i % 2 == 0 ? at[i] : parts[j + 1] * at[i]);
              }
            });
      }
      classes[c].first += entry->second.first;
      classes[c].second += entry->second.second;
    }
  }
}

/// log of E[x^q exp(-x)] prod_{j != c} E exp(-exp(u + eta_j)), x = exp(u + eta_c), as a function of u. It is
/// concave: the first factor is a log-concave function of u + eta_c averaged over a Gaussian, the others are
/// survival functions of variables with log-concave densities.
class ChosenClass final : public LogIntegrand {
 public:
  ChosenClass(const Softmax& classes, const double* mean, const double* variance, Index chosen, int power)
      : classes_(classes), mean_(mean), variance_(variance), chosen_(chosen), power_(power) {}
  double value(double u) const override {
    double rise, fall;
    logs(u, rise, fall);
    return rise + fall;
  }
  // Both factors vary over lengths of 1 or more, so that differences over a short step are accurate.
  double slope(double u, double& curvature) const override {
    constexpr double step = 1e-2;
    double rise, fall;
    logs(u, rise, fall);
    curvature = 1.0;
    const Index k = classes_.latent_of(chosen_);
    const bool left = u + (k < 0 ? 0.0 : mean_[k]) < 0.0;
    if (rise == -infinity && left) return fall == -infinity ? 0.0 : 1.0;  // both underflow: no mass
    if (rise == -infinity || fall == -infinity) return -1.0;
    return (value(u + step) - value(u - step)) / (2.0 * step);
  }

 private:
  void logs(double u, double& rise, double& fall) const {
    fall = 0.0;
    for (Index c = 0; c < classes_.classes; ++c) {
      const Index k = classes_.latent_of(c);
      double f[3], *const at[3] = {f, f + 1, f + 2};
      LogNormalTransform transform;
      transform.place(u + (k < 0 ? 0.0 : mean_[k]), one_node, k < 0 ? 0.0 : std::fabs(variance_[k]), true);
      transform.evaluate(0, 1, 3, at);
      const double l = std::log(std::max(0.0, f[c == chosen_ ? power_ : 0]));
      c == chosen_ ? rise = l : fall += l;
    }
  }
  static constexpr double one_node = 1e18;  // a lattice with a single node
  const Softmax& classes_;
  const double *mean_, *variance_;
  Index chosen_;
  int power_;
};

/// E p_c and E p_c^2 = int E[x^2 exp(-x)] prod_{j != c} phi_j du, as 1 / S^2 = int x exp(-xS) dx.
class SoftmaxMoments {
 public:
  void take(const Softmax& classes, const double* mean, const double* variance, bool second) {
    lattice_.place(classes, mean, variance, true);
    if (lattice_.nodes > longest) return integrate(classes, mean, variance, second);
    // All terms are positive and unimodal in u; those of an improbable class may begin further left.
    for (double extra = 0.0; extra < 2000.0; extra = 2.0 * extra + 32.0) {
      lattice_.place(classes, mean, variance, true, extra);
      first.setZero(classes.classes);
      this->second.setZero(classes.classes);
      Vector start;
      do {
        lattice_.next(second ? 3 : 2);
        add(second);
        if (start.size() == 0) start = (lattice_.weight[0] * lattice_.rate.row(0)).matrix().transpose();
      } while (!finished());
      bool covered = true;
      for (Index c = 0; c < classes.classes; ++c) {
        first[c] += lattice_.tail[c];
        covered = covered && (lattice_.tail[c] > 0.0 || start[c] <= 1e-13 * first[c]);
      }
      if (covered) return;
    }
  }
  Vector first, second;

 private:
  static constexpr double longest = 1 << 14;  // nodes, beyond which integrals are cheaper

  void integrate(const Softmax& classes, const double* mean, const double* variance, bool with_second) {
    double start = classes.reference < 0 ? infinity : 0.0, stride = 1.0;
    for (Index k = 0; k < classes.latents(); ++k) {
      start = std::min(start, -mean[k]);
      stride = std::max(stride, std::sqrt(variance[k]));
    }
    LogIntegral integral;
    auto moment = [&](Index c, int power) {
      integral.concave(ChosenClass(classes, mean, variance, c, power), start, stride);
      return std::exp(integral.log_mass());
    };
    first.setZero(classes.classes);
    second.setZero(classes.classes);
    for (Index c = 0; c < classes.classes; ++c) {
      first[c] = moment(c, 1);
      if (with_second) second[c] = moment(c, 2);
    }
  }
  void add(bool with_second) {
    for (Index c = 0; c < first.size(); ++c) first[c] += (lattice_.weight * lattice_.rate.col(c)).sum();
    if (!with_second) return;
    const SoftmaxLattice::Columns bend = (lattice_.rate > 0.0).select(lattice_.f[2] / lattice_.f[0], 0.0);
    for (Index c = 0; c < first.size(); ++c) second[c] += (lattice_.weight * bend.col(c)).sum();
  }
  bool finished() const {
    const Index last = SoftmaxLattice::block - 1;
    for (Index c = 0; c < first.size(); ++c) {
      if (lattice_.weight[last] * lattice_.rate(last, c) > 1e-17 * first[c]) return false;
    }
    return true;
  }
  SoftmaxLattice lattice_;
};

/// log of the integrand below, in u.
class CountsDensity final : public LogIntegrand {
 public:
  CountsDensity(const Softmax& classes, const Datum& datum, const double* mean, const double* variance)
      : classes_(classes), datum_(datum), mean_(mean), variance_(variance), step_(0.1 / std::sqrt(1.0 + datum.size)) {}
  double value(double u) const override {
    const auto decay = [](double x, double out[5]) {
      out[0] = out[1] = out[2] = out[3] = out[4] = -std::exp(x);
    };
    double sum = datum_.size * u;
    for (Index c = 0; c < classes_.classes; ++c) {
      const Index k = classes_.latent_of(c);
      const double y = datum_.counts[c], m = k < 0 ? 0.0 : mean_[k], v = k < 0 ? 0.0 : variance_[k];
      sum += y * m + 0.5 * y * y * v + log_mean_exp(decay, u + m + y * v, v);
    }
    return std::isnan(sum) ? -infinity : sum;
  }
  // Its scale is about 1 / sqrt(size).
  double slope(double u, double& curvature) const override {
    const double below = value(u - step_), at = value(u), above = value(u + step_);
    curvature = -(above - 2.0 * at + below) / (step_ * step_);
    return (above - below) / (2.0 * step_);
  }

 private:
  const Softmax& classes_;
  const Datum& datum_;
  const double *mean_, *variance_;
  double step_;
};

}  // namespace

// As Gamma(n) S^-n = int x^(n - 1) exp(-x S) dx, with x = exp(u) and s_c = exp(u + eta_c) the mean of
// prod_c exp(y_c eta_c) / S^n is int prod_c E[s_c^y_c exp(-s_c)] du / Gamma(n). Tilting a Gaussian by exp(y eta) moves
// its mean by y times its variance. The integrand is log-concave.
double predictive_counts_log_density(const Softmax& classes, const Datum& datum, const double* mean,
                                     const double* variance) {
  if (datum.size == 0.0) return 0.0;
  // where every class has its counts as its mean
  double start = 0.0;
  for (Index c = 0; c < classes.classes; ++c) {
    const Index k = classes.latent_of(c);
    start += std::log((datum.counts[c] + 0.5)) - (k < 0 ? 0.0 : mean[k]);
  }
  LogIntegral integral;
  integral.concave(CountsDensity(classes, datum, mean, variance), start / static_cast<double>(classes.classes), 1.0);
  return log_arrangements(datum.counts, static_cast<int>(classes.classes), datum.size) + integral.log_mass() -
         log_gamma(datum.size);
}

void CertainClasses::prepare(Index rows) {
  if (rows == rows_) return;
  rows_ = rows;
  classes_.clear();
  for (Index c = 0; c < likelihood_.classes(); ++c)
    classes_.push_back(likelihood_.prepare(
        {Vector::Constant(rows, static_cast<double>(c)), Vector::Ones(rows), Vector::Ones(rows)}));
}

Matrix CertainClasses::operator()(const Matrix& eta) {
  Matrix out(eta.rows(), likelihood_.classes());
  const Index N = eta.rows(), blocks = (N + PreparedRows::most - 1) / PreparedRows::most;
  for (Index block = 0, begin = 0, count = 0; block < blocks; ++block, begin += count) {
    count = N * (block + 1) / blocks - begin;
    prepare(count);
    for (Index c = 0; c < out.cols(); ++c)
      likelihood_.careful_log_densities(classes_[c], eta.middleRows(begin, count),
                                        out.col(c).segment(begin, count).array());
  }
  out = out.unaryExpr([](double x) { return std::exp(x); });  // Eigen's is never zero
  return out.array().colwise() / out.rowwise().sum().array();
}

void predictive_classes(const Likelihood& likelihood, const double* mean, const double* variance,
                        double* probability, double* second_moment) {
  const Index C = likelihood.classes();
  const bool second = second_moment != nullptr;
  if (const auto softmax = likelihood.softmax()) {
    SoftmaxMoments moments;
    moments.take(*softmax, mean, variance, second);
    std::copy_n(moments.first.data(), C, probability);
    if (second) std::copy_n(moments.second.data(), C, second_moment);
  } else if (const Distributional* form = likelihood.distributional(); form && C > 0) {
    over_last(*form->predicted_parameter(), mean, variance, probability, second_moment);
  } else {
    if (C == 0) throw std::invalid_argument("this likelihood has no classes");
    std::vector<LogMoments> classes(C);
    if (likelihood.latents() == 1) {
      one_latent(likelihood, *mean, *variance, classes, second);
    } else if (likelihood.standard_function()) {
      composed_classes(likelihood, mean, variance, classes, second);
    } else {
      throw std::invalid_argument(
          "probabilities of classes need a softmax, a composed density or one latent value");
    }
    for (Index c = 0; c < C; ++c) {
      probability[c] = std::exp(classes[c].first);
      if (second) second_moment[c] = std::exp(classes[c].second);
    }
  }
  double total = 0.0;
  for (Index c = 0; c < C; ++c) total += probability[c];
  for (Index c = 0; c < C; ++c) {
    probability[c] /= total;
    // E p^2 >= (E p)^2, also where both are rounded.
    if (second)
      second_moment[c] = std::max(second_moment[c] / (total * total), probability[c] * probability[c]);
  }
}

}  // namespace galvi

// Predictions of a response with several linear predictors: predictions given the last, averaged over it.
#include "likelihood/distributional.h"

#include <algorithm>
#include <cmath>

#include "function/normal.h"
#include "likelihood/binomial_logit.h"
#include "likelihood/custom_several.h"
#include "numeric/context.h"
#include "predictive/predictive.h"
#include "quadrature/gaussian_rule.h"
#include "quadrature/log_integral.h"

namespace galvi {
namespace {

/// L(eta_K) - (eta_K - mean)^2 / (2 variance), L = log_quantity(likelihood given eta_K).
template <class LogQuantity>
class OverLast final : public LogIntegrand {
 public:
  OverLast(const PredictedParameter& likelihood, double mean, double variance, LogQuantity log_quantity)
      : likelihood_(likelihood), mean_(mean), variance_(variance), log_quantity_(log_quantity) {}
  double value(double last) const override {
    const double value = L(last) - 0.5 * (last - mean_) * (last - mean_) / variance_;
    return value < infinity ? value : -infinity;  // an overflow is not a peak
  }
  // The scale of L is about 1, as eta_K is the logarithm or the logit of a parameter. Where L is -infinity
  // only the Gaussian has a slope.
  double slope(double last, double& curvature) const override {
    constexpr double step = 1e-2;
    const double below = L(last - step), at = L(last), above = L(last + step);
    const double change = above - below, bend = above - 2.0 * at + below,
                 towards_mean = (mean_ - last) / variance_;
    const bool known = std::isfinite(change) && std::isfinite(bend);
    curvature = 1.0 / variance_ - (known ? bend / (step * step) : 0.0);
    return towards_mean + (known ? change / (2.0 * step) : 0.0);
  }

 private:
  double L(double last) const { return log_quantity_(*likelihood_.given(last)); }

  const PredictedParameter& likelihood_;
  double mean_, variance_;
  LogQuantity log_quantity_;
};

constexpr double negligible_log = 37.0;
constexpr double smallest_plain = 0.01;  // largest tail that needs its own integral for relative accuracy
constexpr double usual_distance = 3.0;   // of the eta_K that fits a datum from the Gaussian's mean, in sds

// The steeper the Gaussian is where the integrand is highest, the larger is the curvature of the log
// integrand: as that of exp(slope eta_K) exp(-exp(eta_K)).
double step_over_last(double variance, double other_from_mean, double width) {
  const double beyond = std::fabs(other_from_mean) - usual_distance * std::sqrt(variance);
  const double slope = std::max(0.0, beyond) / variance;
  return trapezium_step(1.0 / (1.0 / variance + 2.0 * slope), width);
}

/// log int exp(h) by the trapezium sum over mean + i step, from where both maxima lie outwards until terms
/// are negligible; nothing if that takes more nodes than panels adapted to h.
template <class Integrand>
std::optional<double> log_sum_over_last(const Integrand& h, double mean, double variance, double other,
                                        double width) {
  constexpr double most_nodes = 200;
  const double step = step_over_last(variance, other - mean, width), away = std::round((other - mean) / step);
  if (!(std::fabs(away) < most_nodes)) return std::nullopt;
  const int low = static_cast<int>(std::min(0.0, away)), high = static_cast<int>(std::max(0.0, away));
  double top = -infinity, sum = 0.0;
  int nodes = 0;
  const auto add = [&](int i) {
    const double height = h.value(mean + i * step);
    ++nodes;
    if (height > top) {
      sum = sum * std::exp(top - height) + 1.0;
      top = height;
    } else if (height > -infinity) {
      sum += std::exp(height - top);
    }
    return height > top - negligible_log;
  };
  for (int i = low; i <= high; ++i) add(i);
  for (const int side : {-1, 1})
    for (int i = side < 0 ? low - 1 : high + 1; add(i); i += side)
      if (nodes > most_nodes) return std::nullopt;
  if (top == -infinity) return std::nullopt;
  return top + std::log(sum * step);
}

/// log E exp(log_quantity) over eta_K. The integrand may have two maxima: one near the Gaussian's mean, one
/// where eta_K fits the datum.
template <class LogQuantity>
double log_mean_over_last(const PredictedParameter& likelihood, const Datum& datum, const double* mean,
                          const double* variance, LogQuantity log_quantity) {
  poll_within_row();
  const double m = mean[likelihood.last()], v = variance[likelihood.last()];
  if (v == 0.0) return log_quantity(*likelihood.given(m));
  const double sd = std::sqrt(v), best = likelihood.last_of(datum, mean[0], variance[0]);
  const double other = std::isfinite(best) ? best : m, scale = std::log(sd) + log_sqrt_2pi;
  const OverLast<LogQuantity> h(likelihood, m, v, log_quantity);
  if (const auto log_mass = log_sum_over_last(h, m, v, other, likelihood.width(mean)))
    return *log_mass - scale;
  LogIntegral integral;
  integral.two_peaks(h, m, other, sd);
  return integral.log_mass() - scale;
}

/// Both tails as means over eta_K, accurate to about 1e-11, on a lattice that ends where the Gaussian is
/// negligible. Nothing if one of them is so small that it needs its own integral, or if there would be many
/// nodes.
std::optional<Tails> plain_tails(const PredictedParameter& likelihood, const Datum& datum, const double* mean,
                                 const double* variance) {
  poll_within_row();
  constexpr double reach = 6.8, most_nodes = 200;
  const double m = mean[likelihood.last()], v = variance[likelihood.last()], sd = std::sqrt(v);
  const double step = trapezium_step(v, likelihood.width(mean));
  if (!(2.0 * reach * sd < most_nodes * step)) return std::nullopt;
  const int last = static_cast<int>(std::ceil(reach * sd / step));
  double lower = 0.0, weights = 0.0;
  for (int j = -last; j <= last; ++j) {
    const double z = j * step / sd, weight = std::exp(-0.5 * z * z);
    lower += weight * predictive_tails(*likelihood.given(m + j * step), datum, mean, variance).lower;
    weights += weight;
  }
  lower /= weights;
  if (!(lower >= smallest_plain && lower <= 1.0 - smallest_plain)) return std::nullopt;
  return Tails{lower, 1.0 - lower};
}

/// The mean over eta_K of quantity(likelihood given eta_K), which grows no faster than exp(|eta_K|).
template <class Quantity>
double mean_over_last(const PredictedParameter& likelihood, const double* mean, const double* variance,
                      Quantity quantity) {
  GaussianRule rule;
  rule.place(mean[likelihood.last()], variance[likelihood.last()], {likelihood.width(mean), 1.0});
  return rule.mean_of([&](double last) { return quantity(*likelihood.given(last)); });
}

/// The eta_K at which Var[y | eta] is its mean over eta_K, where E[y | eta] does not depend on eta_K.
double last_of_variance(const PredictedParameter& form, double mean, double variance) {
  using NoiseForm = PredictedParameter::NoiseForm;
  switch (form.noise_form()) {
    case NoiseForm::square:
      return mean + variance;
    case NoiseForm::direct:
      return mean + 0.5 * variance;
    case NoiseForm::inverse:
      return mean - 0.5 * variance;
    case NoiseForm::share:
    case NoiseForm::no_mean:
    case NoiseForm::general:
      break;
  }
  const BinomialLogit share;
  return predictive_log_mean(share, mean, variance, 1.0) - predictive_log_mean(share, mean, variance, -1.0);
}

/// The distribution of a response with zeros, and perhaps ones, of their own. As the posterior factorises it
/// is a mixture of these, with the means of their probabilities as shares, and the prediction of the rest.
/// mean, variance: K, which must outlive it
class ZeroPrediction {
 public:
  ZeroPrediction(const ZeroMixture& mixture, const double* mean, const double* variance)
      : rest_(*mixture.rest),
        truncated_(mixture.truncated),
        mean_(mean),
        variance_(variance),
        log_own_(log_mean_of_gate(gate_at(), 1.0)),
        log_share_(log_mean_of_gate(gate_at(), -1.0)),
        share_variance_(variance_of_gate(gate_at())) {
    if (!mixture.ones) return;
    log_ones_ = log_mean_of_gate(gate_at() + 1, 1.0);
    log_zeros_ = log_mean_of_gate(gate_at() + 1, -1.0);
    ones_variance_ = variance_of_gate(gate_at() + 1);
  }

  double mean(const Datum& row) const { return share() * rest_mean(row) + one(); }
  // Of Q M + P C with P = 1 - Q, for independent Q, M and C, the mean of the variance given Q and the
  // variance of the mean given Q:   E Q^2 Var M + E P^2 Var C + Var Q (E M - E C)^2
  double mean_variance(const Datum& row) const {
    const double centre = rest_mean(row), spread = predictive_mean_variance(rest_, row, mean_, variance_);
    const double apart = centre - std::exp(log_ones_), own = std::exp(log_own_);
    return (share() * share() + share_variance_) * spread + (own * own + share_variance_) * ones_variance_ +
           share_variance_ * apart * apart;
  }
  // The variance of the rest, and that of the means of the three kinds.
  double variance(const Datum& row) const {
    const double centre = rest_mean(row), own = predictive_variance(rest_, row, mean_, variance_);
    if (!has_ones()) return share() * (own + zero() * centre * centre);
    const double all = mean(row), off = centre - all;
    return share() * (own + off * off) + zero() * all * all + one() * (1.0 - all) * (1.0 - all);
  }
  double log_mean(double sign) const {
    if (has_ones()) {
      const double own = log_share_ + predictive_log_mean(rest_, mean_, variance_, sign);
      return log_sum(own, log_own_ + (sign > 0.0 ? log_ones_ : log_zeros_));
    }
    const double own =
        truncated_ ? std::log(rest_mean(Datum{})) : predictive_log_mean(rest_, mean_, variance_, 1.0);
    return sign > 0.0 ? log_share_ + own : std::log1p(-std::exp(log_share_ + own));
  }
  double log_density(const Datum& datum) const {
    if (has_ones() && datum.y >= 1.0) return log_own_ + log_ones_;
    if (datum.y > 0.0) return log_share_ + rest_log_density(datum);
    if (has_ones()) return log_zero();
    if (rest_.support(datum).low > 0.0 || !rest_.discrete()) return log_own_;
    return log_sum(log_own_, log_share_ + rest_log_density(datum));
  }
  Tails tails(const Datum& datum) const {
    if (datum.y < 0.0) return {0.0, 1.0};
    if (has_ones() && datum.y >= 1.0) return {1.0, 0.0};
    const Tails rest = predictive_tails(rest_, datum, mean_, variance_);
    return {std::min(1.0, zero() + share() * rest.lower), std::min(1.0, one() + share() * rest.upper)};
  }
  double quantile(const Datum& row, double probability) const {
    const Tails at_zero = tails(row.at(0.0));
    if (probability <= at_zero.lower) return 0.0;
    if (has_ones() && 1.0 - probability < one()) return 1.0;
    const double above = std::max(0.0, (1.0 - probability - one()) / share());
    return predictive_quantile(rest_, row, mean_, variance_, std::max(0.0, 1.0 - above));
  }

 private:
  static const BinomialLogit& gate() {
    static const BinomialLogit likelihood;
    return likelihood;
  }
  Index gate_at() const { return rest_.latents(); }
  double log_mean_of_gate(Index k, double sign) const {
    return predictive_log_mean(gate(), mean_[k], variance_[k], sign);
  }
  double variance_of_gate(Index k) const {
    return predictive_mean_variance(gate(), Datum{}, mean_[k], variance_[k]);
  }
  static double log_sum(double a, double b) {
    return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
  }
  bool has_ones() const { return log_ones_ > -infinity; }
  double log_zero() const { return log_own_ + log_zeros_; }
  double zero() const { return std::exp(log_zero()); }
  double one() const { return std::exp(log_own_ + log_ones_); }
  double share() const { return std::exp(log_share_); }
  double rest_mean(const Datum& row) const { return predictive_mean(rest_, row, mean_, variance_); }
  double rest_log_density(const Datum& datum) const {
    return predictive_log_density(rest_, datum, mean_, variance_);
  }

  const Likelihood& rest_;
  bool truncated_;
  const double *mean_, *variance_;
  double log_own_, log_share_, share_variance_;  // of zeros and ones of their own, and of the rest
  double log_ones_ = -infinity, log_zeros_ = 0.0, ones_variance_ = 0.0;  // of ones and zeros among these
};

std::optional<ZeroPrediction> zero_prediction(const Likelihood& likelihood, const double* mean,
                                              const double* variance) {
  const Distributional* form = likelihood.distributional();
  const auto mixture = form ? form->zero_mixture() : std::nullopt;
  if (!mixture) return std::nullopt;
  return std::optional<ZeroPrediction>(std::in_place, *mixture, mean, variance);
}

const CustomSeveral* custom_several(const Likelihood& likelihood) {
  const Distributional* form = likelihood.distributional();
  return form ? form->custom_several() : nullptr;
}

/// Is nothing left to be averaged over, of a likelihood whose moments are not integrals themselves?
bool is_known(const Likelihood& likelihood, const double* variance) {
  return !likelihood.custom() && !custom_several(likelihood) &&
         std::all_of(variance, variance + likelihood.latents(), [](double v) { return v == 0.0; });
}

/// Has each class, or all but one, a latent value?
bool is_one_of_classes(const Likelihood& likelihood) {
  return likelihood.classes() > 0 && likelihood.latents() > 1 && !likelihood.distributional();
}

const PredictedParameter* predicted_parameter(const Likelihood& likelihood) {
  const Distributional* form = likelihood.distributional();
  return form ? form->predicted_parameter() : nullptr;
}

using NoiseForm = PredictedParameter::NoiseForm;

// E[y | eta] grows too fast in eta_K to have a mean.
bool has_no_mean(const PredictedParameter& form, const double* variance) {
  return form.noise_form() == NoiseForm::no_mean && variance[form.last()] > 0.0;
}

// Var E[y | eta] over eta_K: the variance, given it, of what `mean_given` is the mean.
template <class MeanGiven>
double variance_over_last(const PredictedParameter& form, const double* mean, const double* variance,
                          MeanGiven mean_given) {
  const double centre = mean_over_last(form, mean, variance, mean_given);
  return mean_over_last(form, mean, variance, [&](const Likelihood& given) {
    const double off = mean_given(given) - centre;
    return off * off;
  });
}

}  // namespace

double predictive_mean(const Likelihood& likelihood, const Datum& row, const double* mean,
                       const double* variance) {
  if (is_known(likelihood, variance)) return likelihood.conditional_mean(row, mean);
  if (const auto zeros = zero_prediction(likelihood, mean, variance)) return zeros->mean(row);
  if (const CustomSeveral* custom = custom_several(likelihood))
    return custom->distribution(mean, variance).mean();
  const PredictedParameter* form = predicted_parameter(likelihood);
  if (!form) return predictive_mean(likelihood, row, *mean, *variance);
  if (has_no_mean(*form, variance)) return infinity;
  if (form->noise_form() != NoiseForm::general)
    return predictive_mean(*form->given(mean[form->last()]), row, mean, variance);
  return mean_over_last(*form, mean, variance,
                        [&](const Likelihood& given) { return predictive_mean(given, row, mean, variance); });
}

double predictive_log_mean(const Likelihood& likelihood, const double* mean, const double* variance,
                           double sign) {
  if (const auto zeros = zero_prediction(likelihood, mean, variance)) return zeros->log_mean(sign);
  if (const CustomSeveral* custom = custom_several(likelihood))
    return std::log(custom->distribution(mean, variance).mean());
  const PredictedParameter* form = predicted_parameter(likelihood);
  if (!form) return predictive_log_mean(likelihood, *mean, *variance, sign);
  if (has_no_mean(*form, variance)) return infinity;
  if (form->noise_form() == NoiseForm::general)
    return std::log(predictive_mean(likelihood, Datum{}, mean, variance));
  return predictive_log_mean(*form->given(mean[form->last()]), mean, variance, sign);
}

double predictive_mean_variance(const Likelihood& likelihood, const Datum& row, const double* mean,
                                const double* variance) {
  if (is_known(likelihood, variance)) return 0.0;
  if (const auto zeros = zero_prediction(likelihood, mean, variance)) return zeros->mean_variance(row);
  if (const CustomSeveral* custom = custom_several(likelihood)) return custom->mean_variance(mean, variance);
  const PredictedParameter* form = predicted_parameter(likelihood);
  if (!form) return predictive_mean_variance(likelihood, row, *mean, *variance);
  if (has_no_mean(*form, variance)) return infinity;
  if (form->noise_form() != NoiseForm::general)
    return predictive_mean_variance(*form->given(mean[form->last()]), row, mean, variance);
  const auto inside = [&](const Likelihood& given) {
    return predictive_mean_variance(given, row, mean, variance);
  };
  const auto centre = [&](const Likelihood& given) { return predictive_mean(given, row, mean, variance); };
  return mean_over_last(*form, mean, variance, inside) + variance_over_last(*form, mean, variance, centre);
}

double predictive_variance(const Likelihood& likelihood, const Datum& row, const double* mean,
                           const double* variance) {
  if (is_known(likelihood, variance)) return likelihood.conditional_variance(row, mean);
  if (const auto zeros = zero_prediction(likelihood, mean, variance)) return zeros->variance(row);
  if (const CustomSeveral* custom = custom_several(likelihood))
    return custom->distribution(mean, variance).variance();
  const PredictedParameter* form = predicted_parameter(likelihood);
  if (!form) return predictive_variance(likelihood, row, *mean, *variance);
  if (has_no_mean(*form, variance)) return infinity;
  if (form->noise_form() != NoiseForm::general) {
    const double last = last_of_variance(*form, mean[form->last()], variance[form->last()]);
    return predictive_variance(*form->given(last), row, mean, variance);
  }
  const auto inside = [&](const Likelihood& given) {
    return predictive_variance(given, row, mean, variance);
  };
  const auto centre = [&](const Likelihood& given) { return predictive_mean(given, row, mean, variance); };
  return mean_over_last(*form, mean, variance, inside) + variance_over_last(*form, mean, variance, centre);
}

double predictive_log_density(const Likelihood& likelihood, const Datum& datum, const double* mean,
                              const double* variance) {
  if (datum.counts) return predictive_counts_log_density(*likelihood.softmax(), datum, mean, variance);
  if (is_one_of_classes(likelihood)) {
    if (is_known(likelihood, variance)) return likelihood.log_density(datum, mean);
    Vector probability(likelihood.classes());
    predictive_classes(likelihood, mean, variance, probability.data(), nullptr);
    return std::log(probability[static_cast<Index>(datum.y)]);
  }
  if (const auto zeros = zero_prediction(likelihood, mean, variance)) return zeros->log_density(datum);
  if (const CustomSeveral* custom = custom_several(likelihood))
    return custom->integrated_log_density(datum.y, mean, variance);
  const PredictedParameter* form = predicted_parameter(likelihood);
  if (!form) return predictive_log_density(likelihood, datum, *mean, *variance);
  return log_mean_over_last(*form, datum, mean, variance, [&](const Likelihood& given) {
    return predictive_log_density(given, datum, mean, variance);
  });
}

// Of two probabilities that add up to one, the smaller (or one not much larger) is integrated, for its
// relative accuracy. Beyond the support there is nothing to integrate.
Tails predictive_tails(const Likelihood& likelihood, const Datum& datum, const double* mean,
                       const double* variance) {
  if (const auto zeros = zero_prediction(likelihood, mean, variance)) return zeros->tails(datum);
  if (const CustomSeveral* custom = custom_several(likelihood)) {
    const auto tails = custom->distribution(mean, variance).tails(datum.y);
    return {tails.lower, tails.upper};
  }
  const PredictedParameter* form = predicted_parameter(likelihood);
  if (!form) return predictive_tails(likelihood, datum, *mean, *variance);
  const Tails middle = predictive_tails(*form->given(mean[form->last()]), datum, mean, variance);
  const Support support = likelihood.support(datum);
  if (variance[form->last()] == 0.0 || datum.y >= support.high || datum.y < support.low) return middle;
  if (std::min(middle.lower, middle.upper) > smallest_plain) {
    if (const auto tails = plain_tails(*form, datum, mean, variance)) return *tails;
  }
  const bool left = middle.lower < middle.upper;
  const double log_part = log_mean_over_last(*form, datum, mean, variance, [&](const Likelihood& given) {
    const Tails tails = predictive_tails(given, datum, mean, variance);
    return std::log(left ? tails.lower : tails.upper);
  });
  const double part = std::min(1.0, std::exp(log_part));
  return left ? Tails{part, 1.0 - part} : Tails{1.0 - part, part};
}

FewNodes::FewNodes(const PredictedParameter& likelihood, const double* mean, const double* variance)
    : mean_(mean), variance_(variance) {
  GaussianRule rule;
  rule.place(mean[likelihood.last()], variance[likelihood.last()], {infinity, 0.0});
  weights_.assign(rule.weights().begin(), rule.weights().end());
  for (const double last : rule.nodes()) given_.push_back(likelihood.given(last));
}

Tails FewNodes::tails(const Datum& datum) const {
  Tails sum{0.0, 0.0};
  for (std::size_t j = 0; j < given_.size(); ++j) {
    const Tails at_node = predictive_tails(*given_[j], datum, mean_, variance_);
    sum.lower += weights_[j] * at_node.lower;
    sum.upper += weights_[j] * at_node.upper;
  }
  return sum;
}

std::optional<double> zero_mixture_quantile(const Likelihood& likelihood, const Datum& row,
                                            const double* mean, const double* variance, double probability) {
  const auto zeros = zero_prediction(likelihood, mean, variance);
  if (!zeros) return std::nullopt;
  return zeros->quantile(row, probability);
}

}  // namespace galvi

#include "likelihood/truncated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "likelihood/interval.h"
#include "likelihood/log_mixture.h"
#include "numeric/context.h"
#include "quadrature/gaussian_rule.h"
#include "quadrature/integer_blocks.h"
#include "quadrature/log_integral.h"

namespace galvi {
namespace {

constexpr double negligible_log = 37.0;
constexpr double least_plain = 1e-3;  // a difference of distribution functions that keeps its digits

/// log p(y | eta) dy / dt along a coordinate t of the response that is the whole line: y itself, its logarithm or
/// logit. As a function of t it has one maximum. weigh(): that density times (1 + z^2)^(power / 2), z = (y - centre) /
/// scale, of which integrals know the first moments of y.
class AlongResponse final : public LogIntegrand {
 public:
  AlongResponse(const Likelihood& base, const Datum& row, double eta)
      : base_(base), row_(row), eta_(eta), support_(base.support(row)) {}
  double coordinate(double y) const {
    if (support_.low == -infinity) return y;
    if (support_.high == infinity) return std::log(y);
    return std::log(y) - std::log1p(-y);
  }
  double response(double t) const {
    if (support_.low == -infinity) return t;
    return support_.high == infinity ? std::exp(t) : 1.0 / (1.0 + std::exp(-t));
  }
  double value(double t) const override {
    const double y = response(t);
    if (y <= support_.low || y >= support_.high) return -infinity;
    double log_slope = 0.0;
    if (support_.low > -infinity) log_slope = std::log(y);
    if (support_.high < infinity) log_slope += std::log1p(-y);
    const double value = base_.log_density(row_.at_any(y), &eta_) + log_slope + log_weight(y);
    return std::isnan(value) ? -infinity : std::min(value, top_);
  }
  /// No value is above this: where a density has 1e19 nats, rounding may put some far above the highest.
  void cap(double top) { top_ = top; }
  void weigh(double power, double centre, double scale) {
    power_ = power;
    centre_ = centre;
    scale_ = scale;
  }
  double log_weight(double y) const {
    if (power_ == 0.0) return 0.0;
    const double z = std::fabs(y - centre_) / scale_;
    return power_ * (z < 1e100 ? 0.5 * std::log1p(z * z) : std::log(z));
  }
  double slope(double, double& curvature) const override { return curvature = 0.0; }
  // that of a logarithm's argument
  double rounding(double t) const override { return 2e-16 * (1.0 + std::fabs(t)); }

 private:
  const Likelihood& base_;
  Datum row_;
  double eta_;
  Support support_;
  double power_ = 0.0, centre_ = 0.0, scale_ = 1.0, top_ = infinity;
};

// How far beyond `start` a function that rises and then falls has fallen by `fall` from `top`, at most to `end`.
double reach(const AlongResponse& h, double start, double end, double top, double fall, double step) {
  const double side = end < start ? -1.0 : 1.0, most = std::fabs(end - start);
  const auto beyond = [&](double d) { return !(h.value(start + side * d) > top - fall); };
  double inside = 0.0, d = step;
  while (d < most && !beyond(d)) {
    inside = d;
    d *= 2.0;
  }
  if (d >= most) return most;
  for (int i = 0; i < 60 && d > 2.0 * inside; ++i) {
    const double middle = inside > 0.0 ? 0.5 * (inside + d) : 0.25 * d;
    (beyond(middle) ? d : inside) = middle;
  }
  return d;
}

double highest(const AlongResponse& h, double start, double low, double high, double step) {
  constexpr double golden = 0.38196601125010515;
  double best = h.value(start), left = start, right = start;
  for (const double side : {-1.0, 1.0}) {
    const double end = side < 0.0 ? low : high;
    double at = start, value = best;
    for (double d = step; at != end; d *= 2.0) {
      double next = at + side * d;
      if (side < 0.0 ? next <= end : next >= end) next = end;
      const double found = h.value(next);
      (side < 0.0 ? left : right) = next;
      if (!(found > value) && !(found == -infinity && value == -infinity)) break;
      (side < 0.0 ? right : left) = at;
      at = next;
      value = found;
    }
    if (at != start) break;
  }
  double a = left + golden * (right - left), b = right - golden * (right - left), at_a = h.value(a), at_b = h.value(b);
  for (int i = 0; i < 15; ++i) {  // panels need not begin at the very top
    if (at_a >= at_b) {
      right = b;
      b = a;
      at_b = at_a;
      at_a = h.value(a = left + golden * (right - left));
    } else {
      left = a;
      a = b;
      at_a = at_b;
      at_b = h.value(b = right - golden * (right - left));
    }
  }
  // the highest may be an end
  double out = 0.5 * (left + right);
  for (const double end : {left, right})
    if (h.value(end) > h.value(out)) out = end;
  return out;
}

/// Responses between the ends of a row, or outside of them, with their shares of the probability of all of these.
class Responses {
 public:
  /// `moments`: the shares are right for so many moments of y, not only for functions that grow slowly.
  void place(const Likelihood& base, const Datum& row, double eta, int moments = 0) {
    y_.clear();
    share_.clear();
    outside_ = false;
    base.discrete() ? place_numbers(base, row, eta) : place_integrals(base, row, eta, moments);
  }
  double log_mass() const { return log_mass_; }
  bool outside() const { return outside_; }
  template <class Function>
  double mean_of(Function function) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < y_.size(); ++j) sum += share_[j] * function(y_[j]);
    return sum;
  }
  const std::vector<double>& y() const { return y_; }
  const std::vector<double>& shares() const { return share_; }

 private:
  // Of the two sides of a single end the less probable one: a density that is large at an end of the support, nearer to
  // it than any number, is so on the other side.
  void place_integrals(const Likelihood& base, const Datum& row, double eta, int moments) {
    const Support support = base.support(row);
    const bool from = row.entry > support.low, to = row.exit < support.high;
    Datum part = row;
    if (from != to && (moments == 0 || !to || std::isfinite(base.conditional_variance(row, &eta)))) {
      const double below = base.conditional_cdf(row.at_any(from ? row.entry : row.exit), &eta);
      outside_ = (from ? 1.0 - below : below) > 0.5;
      log_mass_ = -infinity;
      if ((from ? below : 1.0 - below) == 0.0) return;  // nothing is outside
      if (outside_) {
        part.entry = from ? -infinity : row.exit;
        part.exit = from ? row.entry : infinity;
      }
    }
    place_integral(base, part, eta, moments);
  }

  void place_integral(const Likelihood& base, const Datum& row, double eta, int moments) {
    const Support support = base.support(row);
    AlongResponse h(base, row, eta);
    const double low = row.entry > support.low ? h.coordinate(row.entry) : -infinity;
    const double high = row.exit < support.high ? h.coordinate(row.exit) : infinity;
    const double own = h.coordinate(base.conditional_mean(row, &eta));
    constexpr double slack = 10.0;  // of the height that was found
    double start = std::min(std::max(own, low), high);
    if (!std::isfinite(start)) start = std::isfinite(low) ? low : std::isfinite(high) ? high : 0.0;
    const double step = 1e-3 * (1.0 + std::fabs(start));
    double peak = highest(h, start, low, high, step), top = h.value(peak);
    if (moments > 0) {
      const double centre = h.response(peak);
      double scale = 0.0;
      for (const double end : {low, high}) {
        const double side = end < peak ? -1.0 : 1.0, away = reach(h, peak, end, top, 1.0, step);
        scale = std::max(scale, std::fabs(h.response(peak + side * away) - centre));
      }
      if (scale > 0.0) h.weigh(moments, centre, scale);
      peak = highest(h, peak, low, high, step);
      top = h.value(peak);
    }
    h.cap(top + slack);
    const double least = 16.0 * std::numeric_limits<double>::epsilon() * (1.0 + std::fabs(peak));
    std::vector<double> breaks = {peak};
    for (const double end : {low, high}) {
      const double side = end < peak ? -1.0 : 1.0;
      if (end == peak) continue;
      const double last = std::max(least, reach(h, peak, end, top, negligible_log, step));
      for (double d = reach(h, peak, end, top, 1.0, step); d > 0.0 && d < 0.5 * last; d *= 8.0)
        breaks.push_back(peak + side * d);
      breaks.push_back(peak + side * last);
    }
    integral_.over(h, std::move(breaks));
    double sum = 0.0;
    for (std::size_t j = 0; j < integral_.nodes().size(); ++j) {
      const double y = h.response(integral_.nodes()[j]);
      if (!(integral_.weights()[j] > 0.0 && y > support.low && y < support.high)) continue;
      y_.push_back(y);
      share_.push_back(integral_.weights()[j] * std::exp(-h.log_weight(y)));
      sum += share_.back();
    }
    for (double& share : share_) share /= sum;
    log_mass_ = integral_.log_mass() + std::log(sum);
  }

  // Those that are few are added up, inside or outside.
  void place_numbers(const Likelihood& base, const Datum& row, double eta) {
    constexpr double most_outside = 0.9999;  // what that leaves keeps its digits
    const Support support = base.support(row);
    const double low = std::max(row.entry + 1.0, support.low), high = std::min(row.exit, support.high);
    const double left = low - support.low, right = high < support.high ? support.high - high : 0.0;
    if (left + right < high - low + 1.0) {
      outside_ = true;
      double top = -infinity;
      if (left > 0.0) top = add_numbers(base, row, eta, support.low, low - 1.0, top);
      if (right > 0.0) top = add_numbers(base, row, eta, high + 1.0, support.high, top);
      finish(top);
      if (y_.empty() || log_mass_ <= std::log(most_outside)) return;
      y_.clear();
      share_.clear();
      outside_ = false;
    }
    finish(add_numbers(base, row, eta, low, high, -infinity));
  }

  // The numbers that are not negligible, on both sides of the one nearest to the mean: those that are many in blocks.
  // Shares are logarithms until finish().
  double add_numbers(const Likelihood& base, const Datum& row, double eta, double low, double high, double top) {
    constexpr double most = 1e7, block_sds = 2.0, block_nats = 8.0, first_block = 128.0;
    poll_within_row();
    const auto log_density = [&](double k) { return base.log_density(row.at_any(k), &eta); };
    const double mean = base.conditional_mean(row, &eta);
    const double start = std::min(std::max(std::floor(mean), low), high);
    const auto end_towards = [&](double end) {
      double inside = start, next = start;
      for (double d = 1.0; next != end; d *= 2.0) {
        next = std::fabs(end - start) <= d ? end : start + std::copysign(d, end - start);
        const double value = log_density(next);
        top = std::max(value, top);
        if (!(value >= top - negligible_log)) break;
        inside = next;
      }
      while (std::fabs(next - inside) > 1.0 + 0.25 * std::fabs(inside - start)) {
        const double middle = std::floor(0.5 * (inside + next));
        if (middle == next || middle == inside) break;
        (log_density(middle) >= top - negligible_log ? inside : next) = middle;
      }
      return next;
    };
    top = std::max(log_density(start), top);
    const double from = end_towards(low), to = end_towards(high);
    // in a tail log p falls on a scale of its own
    const double at = std::min(std::max(start, first_block), to);
    const double slope = std::fabs(log_density(at) - log_density(std::max(at - 1.0, from)));
    const double sd = std::sqrt(base.conditional_variance(row, &eta));
    const double smooth = std::min(block_sds * sd, block_nats / slope);
    double visited = 0.0;
    const auto add = [&](double k, double weight) {
      const double value = log_density(k);
      if (value > top - negligible_log) {
        y_.push_back(k);
        share_.push_back(value + std::log(weight));
      }
      return ++visited < most;
    };
    // smooth on the scale of the distances from both ends of the support
    const double last = base.support(row).high;
    const double half = last < infinity ? std::floor(0.5 * last) : to;
    for_integers(from, std::min(half, to) + 1.0, smooth, add);
    if (to > half)
      for_integers(last - to, last - std::max(half + 1.0, from) + 1.0, smooth,
                   [&](double back, double weight) { return add(last - back, weight); });
    return top;
  }
  void finish(double top) {
    double sum = 0.0;
    for (double& share : share_) sum += share = std::exp(share - top);
    for (double& share : share_) share /= sum;
    log_mass_ = y_.empty() ? -infinity : std::min(0.0, top + std::log(sum));
  }

  std::vector<double> y_, share_;
  double log_mass_ = 0.0;
  bool outside_ = false;
  LogIntegral integral_;
};

Responses responses_of(const Likelihood& base, const Datum& row, double eta, int moments = 0) {
  Responses responses;
  responses.place(base, row, eta, moments);
  return responses;
}

}  // namespace

Truncated::Truncated(std::unique_ptr<Likelihood> base) : base_(std::move(base)) {
  if (base_->latents() != 1 || base_->truncation() == Truncation::refused)
    throw std::invalid_argument("this likelihood cannot be truncated");
}

bool Truncated::cut(const Datum& row) const {
  if (!row.truncated()) return false;
  const Support own = base_->support(row);
  return row.entry + (discrete() ? 1.0 : 0.0) > own.low || row.exit < own.high;
}

double Truncated::plain_share(const Datum& row, double eta) const {
  const auto below = [&](double y) { return base_->conditional_cdf(row.at_any(y), &eta); };
  return (row.exit < infinity ? below(row.exit) : 1.0) - (row.entry > -infinity ? below(row.entry) : 0.0);
}

double Truncated::log_share(const Datum& row, double eta) const {
  if (const double share = plain_share(row, eta); share > least_plain) return std::log(share);
  if (double out[5]; base_->interval(row, eta, out)) return out[0];
  const Responses in = responses_of(*base_, row, eta);
  return in.outside() ? log_complement(in.log_mass()) : in.log_mass();
}

void Truncated::share(const Datum& row, double eta, double out[5]) const {
  if (base_->interval(row, eta, out)) return;
  const Responses in = responses_of(*base_, row, eta);
  std::vector<std::array<double, 5>> l(in.y().size());
  for (std::size_t j = 0; j < l.size(); ++j) base_->derivatives(row.at_any(in.y()[j]), eta, l[j].data());
  double f[5] = {in.log_mass()};
  log_mixture_derivatives(in.shares(), l, f);
  if (in.outside() && in.y().empty()) std::fill(out, out + 5, 0.0);
  else if (in.outside()) log_complement_derivatives(f, out);
  else std::copy(f, f + 5, out);
}

double Truncated::log_density(const Datum& datum, const double* eta) const {
  const bool in = discrete() ? datum.y > datum.entry : datum.y >= datum.entry;
  if (!in || datum.y > datum.exit) return -infinity;
  const double own = base_->log_density(datum.at_any(datum.y), eta);
  return cut(datum) ? own - log_share(datum, *eta) : own;
}

void Truncated::derivatives(const Datum& datum, double eta, double out[5]) const {
  base_->derivatives(datum.at_any(datum.y), eta, out);
  if (!cut(datum)) return;
  double all[5];
  share(datum, eta, all);
  for (int k = 0; k < 5; ++k) out[k] -= all[k];
  if (log_concave()) out[2] = std::min(out[2], 0.0);  // rounding may be all that is left
}

void Truncated::add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const {
  base_->add_gradient(datum.at_any(datum.y), eta, weight, gradient);
  if (!cut(datum) || !has_hyper() || base_->add_interval_gradient(datum, *eta, -weight, gradient)) return;
  const Responses in = responses_of(*base_, datum, *eta);
  // d log(1 - Q) = -Q / (1 - Q) d log Q
  const double factor = in.outside() ? 1.0 / std::expm1(-in.log_mass()) : -1.0;
  for (std::size_t j = 0; j < in.y().size(); ++j)
    base_->add_gradient(datum.at_any(in.y()[j]), eta, weight * factor * in.shares()[j], gradient);
}

Smoothness Truncated::share_smoothness(const Datum& row) const {
  constexpr double step = 1e-4, zeros = 2.0, periodic = 1.5, singularities = 0.45;
  const Smoothness whole = base_->smoothness();
  const Support support = base_->support(row);
  Smoothness out{support.low == -infinity ? infinity : periodic, whole.growth, 0.0, infinity};
  for (const double end : {row.entry, row.exit}) {
    if (!(end > support.low && end < support.high)) continue;
    const double eta = base_->starting_eta(row.at_any(end));
    if (!std::isfinite(eta)) continue;
    const double near[] = {eta - step, eta + step};
    const double slope = (base_->conditional_mean(row, near + 1) - base_->conditional_mean(row, near)) / (2.0 * step);
    const double spread = std::sqrt(base_->conditional_variance(row, &eta)) / std::fabs(slope);
    if (std::isfinite(spread)) out.width = std::min(out.width, zeros * spread);
  }
  if (std::isfinite(whole.width)) out.width = std::min(out.width, singularities * whole.width);
  return out;
}

Smoothness Truncated::smoothness() const {
  constexpr double usual = 0.5;
  const Smoothness whole = base_->smoothness();
  return {std::min(usual, whole.width), whole.growth, 0.0, infinity};
}

Smoothness Truncated::smoothness(const Datum& datum) const {
  const Smoothness own = base_->smoothness(datum.at_any(datum.y));
  if (!cut(datum)) return own;
  Smoothness out = share_smoothness(datum);
  out.width = std::min(out.width, own.width);
  return out;
}

Truncated::Moments Truncated::moments(const Datum& row, double eta) const {
  const double mean = base_->conditional_mean(row, &eta), variance = base_->conditional_variance(row, &eta);
  if (!cut(row)) return {mean, variance};
  const Support own = base_->support(row);
  const bool open = (own.low == -infinity && row.entry == -infinity) || (own.high == infinity && row.exit == infinity);
  if (open && !std::isfinite(mean)) return {mean, infinity};
  // Normal noise: the moments are derivatives of the share, as long as they leave digits.
  constexpr double least_left = 1e-6;
  if (double f[5]; base_->conjugate() && base_->interval(row, eta, f) && 1.0 + variance * f[2] > least_left) {
    const double low = std::max(own.low, row.entry), high = std::min(own.high, row.exit);
    return {std::clamp(mean + variance * f[1], low, high), variance * (1.0 + variance * f[2])};
  }
  const bool finite = !open || std::isfinite(variance);
  const Responses in = responses_of(*base_, row, eta, finite ? 2 : 1);
  if (in.outside()) {
    if (in.y().empty()) return {mean, variance};
    const double ratio = 1.0 / std::expm1(-in.log_mass());
    const double first = in.mean_of([&](double y) { return y - mean; });
    const double second = in.mean_of([&](double y) { return (y - mean) * (y - mean); });
    const double shift = -ratio * first;
    if (!finite) return {mean + shift, infinity};
    return {mean + shift, std::max(0.0, variance + ratio * (variance - second) - shift * shift)};
  }
  const double centre = in.mean_of([](double y) { return y; });
  return {centre, finite ? in.mean_of([&](double y) { return (y - centre) * (y - centre); }) : infinity};
}

double Truncated::conditional_cdf(const Datum& datum, const double* eta) const {
  if (!cut(datum)) return base_->conditional_cdf(datum, eta);
  if (datum.y <= datum.entry) return 0.0;
  if (datum.y >= datum.exit) return 1.0;
  Datum part = datum;
  part.exit = base_->discrete() ? std::floor(datum.y) : datum.y;
  if (!(part.exit > part.entry)) return 0.0;
  if (const double all = plain_share(datum, *eta); all > least_plain)
    return std::min(1.0, std::max(0.0, plain_share(part, *eta) / all));
  return std::min(1.0, std::exp(log_share(part, *eta) - log_share(datum, *eta)));
}

Support Truncated::support(const Datum& row) const {
  const Support own = base_->support(row);
  return {std::max(own.low, row.entry + (base_->discrete() ? 1.0 : 0.0)), std::min(own.high, row.exit)};
}

template <class Function>
double Truncated::mean_over_eta(const Datum& row, double mean, double variance, Function function) const {
  // a variance of the response grows twice as fast as its mean
  constexpr double growth = 2.0;
  if (variance == 0.0) return function(mean);
  Smoothness smoothness = cut(row) ? share_smoothness(row) : base_->smoothness();
  if (base_->support(row).high == infinity && base_->support(row).low > -infinity)
    smoothness.growth = std::max(smoothness.growth, growth);
  GaussianRule rule;
  rule.place(mean, variance, smoothness);
  return rule.mean_of(function);
}

std::optional<double> Truncated::predictive_mean(const Datum& row, double mean, double variance) const {
  return mean_over_eta(row, mean, variance, [&](double eta) { return moments(row, eta).mean; });
}

std::optional<double> Truncated::predictive_mean_variance(const Datum& row, double mean, double variance) const {
  const double centre = *predictive_mean(row, mean, variance);
  return mean_over_eta(row, mean, variance, [&](double eta) {
    const double away = moments(row, eta).mean - centre;
    return away * away;
  });
}

std::optional<double> Truncated::predictive_noise(const Datum& row, double mean, double variance) const {
  return mean_over_eta(row, mean, variance, [&](double eta) { return moments(row, eta).variance; });
}

}  // namespace galvi

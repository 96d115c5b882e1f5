#include "likelihood/horseshoe.h"

#include <algorithm>
#include <cmath>

#include "function/normal.h"
#include "numeric/special_functions.h"

namespace galvi {

namespace {

// Of u: the integrand is analytic for |Im u| < pi / 4, which makes the error exp(-39).
constexpr double u_step = 0.125;
constexpr double left_out = 38.0;   // terms below exp(-38) of the largest
constexpr double log_near = -18.0;  // log z, from where z^2 is less than rounding
constexpr double log_tail = 18.0;   // from where 1 / z^2 is

// The rule in log |eta| has nodes enough for |mean| up to this many sds; from there on eta = 0 has a density
// below 1e-21 of that at the mean.
constexpr double singular_sds = 10.0;
constexpr double coarse_sds = 5.0;   // up to here every other node is enough
constexpr double rule_reach = 10.0;  // sds, of the rules' last nodes
constexpr double eta_step = 0.375;   // sds
constexpr double least_z = 1e-70;    // in place of 0, so that its fourth power is a number

// The half t density, in two parts.
double log_half_t_constant(double df) {
  return std::log(2.0) + log_gamma_ratio(0.5 * df, 0.5) - 0.5 * std::log(pi * df);
}
double log_half_t_kernel(double df, double log_x) {
  const double z = 2 * log_x - std::log(df);
  const double spread = z < 30 ? std::log1p(std::exp(z)) : z;
  return -0.5 * (df + 1) * spread;
}

/// Calls f(t, weight, i) at the nodes of the rule in log |eta| for both signs of eta = mean + sd t, whose
/// log |eta / tau| is i spacing.
template <class F>
void log_rule(double mean, double sd, double tau, const F& f) {
  const double distance = std::fabs(mean) / sd;
  const long stride = distance < coarse_sds ? 2 : 1;
  const double h = stride * HorseshoeMixture::spacing;
  const long low = static_cast<long>(std::floor((std::log(sd / tau) - left_out) / h)),
             high = static_cast<long>(std::ceil(std::log((std::fabs(mean) + rule_reach * sd) / tau) / h));
  const double growth = std::exp(h);
  double x = tau / sd * std::exp(h * static_cast<double>(low));
  for (long i = low; i <= high; ++i, x *= growth) {
    for (const double t : {x - mean / sd, -x - mean / sd})
      if (std::fabs(t) < rule_reach) f(t, h * x * normal_density(t), i * stride);
  }
}

/// The same by nodes of eta: f(t, weight).
template <class F>
void plain_rule(const F& f) {
  const int most = static_cast<int>(rule_reach / eta_step);
  for (int i = -most; i <= most; ++i) f(eta_step * i, eta_step * normal_density(eta_step * i));
}

}  // namespace

// ---- the mixture ----

// Weighted points have a tau and a c each, and ask for the density at one value: what depends on u and df alone is kept,
// and the lattice is made for whoever asks for it.
void HorseshoeMixture::set(double df, double global, double slab) {
  const double ratio = global / slab;  // 0 without a slab
  tau_ = global;
  if (df == df_ && ratio == ratio_) return;
  if (df != df_) mass_.clear();
  df_ = df;
  ratio_ = ratio;
  const double log_ratio = ratio > 0 ? std::log(ratio) : 0.0;
  const double from = log_near - std::max(0.0, log_ratio),
               to = log_tail + std::log1p(df) + std::max(0.0, -log_ratio);
  const double last = to + std::max(3.0, left_out / (ratio > 0 ? df : df + 1));
  const long begin = static_cast<long>(std::floor((from - 0.5 * std::log(2 * left_out)) / u_step)),
             end = static_cast<long>(std::ceil(last / u_step)) + 1;
  extend_mass(begin, end);
  lowest_ = u_step * static_cast<double>(begin);
  nodes_.clear();
  for (long j = begin; j < end; ++j) {
    const Mass& mass = mass_[j - mass_begin_];
    const double both = mass.precision + ratio * ratio;
    nodes_.push_back({mass.log_mass + 0.5 * std::log(both) - log_sqrt_2pi, mass.precision, ratio * ratio / both,
                      mass.log_mass});
  }
  low_ = static_cast<long>(std::floor(from / spacing));
  high_ = static_cast<long>(std::ceil(to / spacing));
  lowest_value_ = sum_at(static_cast<double>(low_) * spacing);
  lattice_ = std::make_shared<Lattice>();
}

// At u = j u_step, begin <= j < end at least.
void HorseshoeMixture::extend_mass(long begin, long end) {
  const long known = mass_begin_ + static_cast<long>(mass_.size());
  if (!mass_.empty() && mass_begin_ <= begin && end <= known) return;
  if (!mass_.empty()) {
    begin = std::min(begin, mass_begin_);
    end = std::max(end, known);
  }
  mass_.clear();
  mass_begin_ = begin;
  const double constant = std::log(u_step) + log_half_t_constant(df_);
  for (long j = begin; j < end; ++j) {
    const double u = u_step * static_cast<double>(j);
    mass_.push_back({constant + log_half_t_kernel(df_, u) + u, std::exp(-2 * u)});
  }
}

const std::vector<HorseshoeMixture::Value>& HorseshoeMixture::lattice() const {
  std::call_once(lattice_->made, [this] {
    for (long i = low_; i <= high_; ++i) lattice_->values.push_back(sum_at(static_cast<double>(i) * spacing));
  });
  return lattice_->values;
}

// Nodes before it have terms below exp(-left_out) of others.
std::size_t HorseshoeMixture::first(double log_z) const {
  const double u = log_z - 0.5 * std::log(2 * left_out) - 1;
  return u > lowest_ ? std::min(nodes_.size() - 1, static_cast<std::size_t>((u - lowest_) / u_step)) : 0;
}

// Near 0 exp G = a - b log z, with b its slope, and a slope in log c that does not change.
HorseshoeMixture::Value HorseshoeMixture::near_zero(double log_z) const {
  const Value& at = lowest_value_;
  const double more = 1 - at.fall * (log_z - spacing * static_cast<double>(low_));
  return {at.log_sum + std::log(more), at.fall / more, at.slab / more};
}

HorseshoeMixture::Value HorseshoeMixture::at(double log_z) const {
  if (log_z < spacing * static_cast<double>(low_)) return near_zero(log_z);
  return sum_at(log_z);
}

HorseshoeMixture::Value HorseshoeMixture::sum_at(double log_z) const {
  const double z2 = std::exp(2 * log_z);
  double top = -infinity, sum = 0, fall = 0, slab = 0;
  for (std::size_t j = first(log_z); j < nodes_.size(); ++j) {
    const Node& node = nodes_[j];
    const double square = z2 * node.precision, log_term = node.log_weight - 0.5 * square;
    if (log_term > top) {
      const double factor = std::exp(top - log_term);
      sum *= factor;
      fall *= factor;
      slab *= factor;
      top = log_term;
    }
    if (log_term < top - left_out) {
      if (square < 1) break;  // the terms fall from here on
      continue;
    }
    const double term = std::exp(log_term - top);
    sum += term;
    fall += term * square;
    slab += term * node.share;
  }
  return {top + std::log(sum), fall / sum, slab / sum};
}

HorseshoeMixture::Value HorseshoeMixture::at_lattice(const std::vector<Value>& lattice, long i) const {
  const long k = i - low_, n = static_cast<long>(lattice.size());
  if (k >= 0 && k < n) return lattice[k];
  if (k < 0) return near_zero(spacing * static_cast<double>(i));
  const Value& last = lattice.back();
  return {last.log_sum - last.fall * spacing * static_cast<double>(k - n + 1), last.fall, last.slab};
}

void HorseshoeMixture::derivatives(double z, double out[5]) const {
  const double log_z = std::log(z);
  double s[5];  // derivatives of the sum over the sum, times z^k
  if (log_z < spacing * static_cast<double>(low_)) {
    const Value value = near_zero(log_z);
    s[0] = value.log_sum;
    s[1] = -value.fall;
    s[2] = value.fall;
    s[3] = -2 * value.fall;
    s[4] = 6 * value.fall;
  } else {
    // by moments of x = z^2 exp(-2 u_j)
    double top = -infinity, m[5] = {0, 0, 0, 0, 0};
    const std::size_t begin = first(log_z);
    for (std::size_t j = begin; j < nodes_.size(); ++j)
      top = std::max(top, nodes_[j].log_weight - 0.5 * z * z * nodes_[j].precision);
    for (std::size_t j = begin; j < nodes_.size(); ++j) {
      const double x = z * z * nodes_[j].precision, log_term = nodes_[j].log_weight - 0.5 * x;
      if (log_term < top - left_out) continue;
      double term = std::exp(log_term - top);
      for (double& one : m) {
        one += term;
        term *= x;
      }
    }
    for (int k = 1; k < 5; ++k) m[k] /= m[0];
    s[0] = top + std::log(m[0]);
    s[1] = -m[1];
    s[2] = m[2] - m[1];
    s[3] = 3 * m[2] - m[3];
    s[4] = 3 * m[2] - 6 * m[3] + m[4];
  }
  const double a = s[1], b = s[2];
  out[0] = s[0];
  out[1] = a / z;
  out[2] = (b - a * a) / z / z;
  out[3] = (s[3] - 3 * a * b + 2 * a * a * a) / z / z / z;
  out[4] = (s[4] - 4 * a * s[3] - 3 * b * b + 12 * a * a * b - 6 * a * a * a * a) / z / z / z / z;
}

double HorseshoeMixture::cdf(double x) const {
  double sum = 0;
  for (const Node& node : nodes_)
    sum += std::exp(node.log_mass) * normal_cdf(x / tau_ * std::sqrt(node.precision + ratio_ * ratio_));
  return sum;
}

double HorseshoeMixture::variance() const {
  if (ratio_ == 0) return infinity;
  double sum = 0;
  for (const Node& node : nodes_) sum += std::exp(node.log_mass) / (node.precision + ratio_ * ratio_);
  return tau_ * tau_ * sum;
}

// ---- the prior ----

HorseshoePrior::HorseshoePrior(double df, const LikelihoodSpec& parameters)
    : df_(df), global_(parameters, "global") {
  if (parameters.hyper.count("slab")) slab_.emplace(parameters, "slab");
}

void HorseshoePrior::update(const ConstVectorRef& hyper) {
  mixture_.set(df_, global_.read(hyper), slab_ ? slab_->read(hyper) : infinity);
}

double HorseshoePrior::log_density(const Datum& datum, const double* eta) const {
  const double z = std::max(std::fabs(*eta - datum.y) / mixture_.global(), least_z),
               scaled = mixture_.ratio() * z;
  return mixture_.at(std::log(z)).log_sum - 0.5 * scaled * scaled - std::log(mixture_.global());
}

void HorseshoePrior::derivatives(const Datum& datum, double eta, double out[5]) const {
  const double x = eta - datum.y, tau = mixture_.global(), scaled = mixture_.ratio() / tau;
  out[0] = log_density(datum, &eta);
  out[1] = out[3] = out[4] = 0;
  out[2] = -1 / (tau * tau);
  if (x == 0) return;
  double g[5];
  mixture_.derivatives(std::fabs(x) / tau, g);
  const double sign = x < 0 ? -1 : 1;
  out[1] = sign * g[1] / tau - scaled * scaled * x;
  out[2] = g[2] / (tau * tau) - scaled * scaled;
  out[3] = sign * g[3] / (tau * tau * tau);
  out[4] = g[4] / (tau * tau * tau * tau);
}

std::optional<PointExpectation> HorseshoePrior::closed_form(const Datum& datum, double mean,
                                                            double variance) const {
  const double m = mean - datum.y, sd = std::sqrt(variance), tau = mixture_.global();
  const double slab = mixture_.ratio() / tau, precision = slab * slab;
  double e[5] = {0, 0, 0, 0, 0};
  if (std::fabs(m) >= singular_sds * sd) {
    // G is smooth where the probability is
    const auto add = [&](double t, double weight) {
      const double x = m + sd * t, sign = x < 0 ? -1 : 1;
      double g[5], scale = weight;
      mixture_.derivatives(std::max(std::fabs(x) / tau, least_z), g);
      for (int k = 0; k < 5; ++k, scale *= sign / tau) e[k] += scale * g[k];
    };
    if (sd > 0)
      plain_rule(add);
    else
      add(0.0, 1.0);
  } else {
    // By Stein's identity all are means of G times polynomials, whose own means are 0: less a constant.
    const double level = mixture_.at(std::log((std::fabs(m) + sd) / tau)).log_sum;
    const auto& lattice = mixture_.lattice();
    log_rule(m, sd, tau, [&](double t, double weight, long i) {
      const double value = weight * (mixture_.at_lattice(lattice, i).log_sum - level), t2 = t * t;
      e[0] += value;
      e[1] += value * t;
      e[2] += value * (t2 - 1);
      e[3] += value * t * (t2 - 3);
      e[4] += value * ((t2 - 6) * t2 + 3);
    });
    e[0] += level;
    for (int k = 1; k < 5; ++k)
      for (int i = k; i < 5; ++i) e[i] /= sd;
  }
  const double curvature = e[2] - precision;
  return PointExpectation{e[0] - std::log(tau) - 0.5 * precision * (m * m + variance),
                          e[1] - precision * m,
                          0.5 * curvature,
                          curvature,
                          0.5 * e[3],
                          0.25 * e[4]};
}

void HorseshoePrior::add_gradient(const Datum& datum, const double* eta, double weight,
                                  VectorRef gradient) const {
  const double z = std::max(std::fabs(*eta - datum.y) / mixture_.global(), least_z),
               scaled = mixture_.ratio() * z;
  const HorseshoeMixture::Value value = mixture_.at(std::log(z));
  add_slopes(value.fall, value.slab, scaled * scaled, weight, gradient);
}

bool HorseshoePrior::add_expected_gradient(const Datum& datum, const double* mean, const double* variance,
                                           double weight, VectorRef gradient) const {
  const double m = *mean - datum.y, sd = std::sqrt(*variance), tau = mixture_.global();
  const double scaled = mixture_.ratio() / tau, square = scaled * scaled * (m * m + *variance);
  double fall = 0, slab = 0;
  const auto add = [&](const HorseshoeMixture::Value& value, double share) {
    fall += share * value.fall;
    slab += share * value.slab;
  };
  if (std::fabs(m) < singular_sds * sd) {
    const auto& lattice = mixture_.lattice();
    log_rule(m, sd, tau, [&](double, double share, long i) { add(mixture_.at_lattice(lattice, i), share); });
  } else if (sd > 0) {
    plain_rule([&](double t, double share) {
      add(mixture_.at(std::log(std::max(std::fabs(m + sd * t) / tau, least_z))), share);
    });
  } else {
    add(mixture_.at(std::log(std::max(std::fabs(m) / tau, least_z))), 1.0);
  }
  add_slopes(fall, slab, square, weight, gradient);
  return true;
}

// d log p / d log c = (eps z)^2 - slab and d log p / d log b = -fall - (eps z)^2; in other units of b, tau and
// c log p changes as 1 / tau does, so that the derivatives in their logarithms add up to -1.
void HorseshoePrior::add_slopes(double fall, double slab, double square, double weight,
                                VectorRef gradient) const {
  const double in_slab = square - slab, in_global = fall + square - 1 - in_slab;
  gradient[global_.position()] += weight * in_global / mixture_.global();
  if (slab_) gradient[slab_->position()] += weight * in_slab * mixture_.ratio() / mixture_.global();
}

}  // namespace galvi

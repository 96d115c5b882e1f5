#include "quadrature/log_integral.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "function/normal.h"
#include "numeric/context.h"
#include "quadrature/gaussian_rule.h"

namespace galvi {
namespace {

constexpr double negligible_log = 37;    // logs below the peak: exp(-37) is rounding
constexpr double allowed_change = 1e-9;  // between the sums of 10 and 21 nodes: an error of 1e-13
constexpr double first_panel = 4;        // sds of the peak ..
constexpr double first_share = 0.47;     // .. or of the reach: a Gaussian takes two panels on each side
constexpr double growth = 8;             // of each first panel relative to the one before
constexpr double rounding_unit = 4e-16;
constexpr double unresolved =
    1e-12;  // scales of a peak relative to where it is whose nodes rounding would move

// Kronrod's 21 nodes on (-1, 1): those of one side from the end inwards, then the centre. Every second one is
// among Gauss's 10.
constexpr int half_points = 10;
constexpr double node[half_points] = {
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452,
    0.930157491355708226001207180059508, 0.865063366688984510732096688423493,
    0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784,
    0.294392862701460198131126603103866, 0.148874338981631210884826001129720};
constexpr double kronrod[half_points + 1] = {
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390,
    0.054755896574351996031381300244580, 0.075039674810919952767043140916190,
    0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707,
    0.142775938577060080797094273138717, 0.147739104901338491374841515972068,
    0.149445554002916905664936468389821};
constexpr double gauss[half_points / 2] = {
    0.066671344308688137593568809893332, 0.149451349150580593145863396957658,
    0.219086362515982043995534934228163, 0.269266719309996355091226921569469,
    0.295524224714752870173815619188769};
constexpr int points = 2 * half_points + 1;

/// Mass and its first two moments around the highest peak.
struct Moments {
  double mass = 0, first = 0, second = 0;
  void add(double share, double distance) {
    mass += share;
    first += share * distance;
    second += share * distance * distance;
  }
  Moments& operator+=(const Moments& other) {
    mass += other.mass;
    first += other.first;
    second += other.second;
    return *this;
  }
};

/// Part of the range, from `begin` relative to the highest peak, with exp(h - top) times the weight at its
/// nodes.
struct Panel {
  double begin, length;
  Moments fine, rough;
  std::array<double, points> at, share;
};

Panel make_panel(const LogIntegrand& h, const Peak& peak, double begin, double length) {
  Panel out{begin, length, {}, {}, {}, {}};
  const double half = 0.5 * length;
  std::array<double, points> x, height;
  for (int i = 0; i < points; ++i) {
    const int k = i <= half_points ? i : points - 1 - i;  // k = half_points is the centre
    const double u = k == half_points ? 0.0 : i < half_points ? -node[k] : node[k];
    out.at[i] = begin + half * (1 + u);
    x[i] = peak.at + out.at[i];
  }
  h.values(x.data(), points, height.data());
  for (int i = 0; i < points; ++i) {
    const int k = i <= half_points ? i : points - 1 - i;
    const double share = half * std::exp(height[i] - peak.height);
    out.share[i] = kronrod[k] * share;
    out.fine.add(out.share[i], out.at[i]);
    if (k % 2 == 1) out.rough.add(gauss[k / 2] * share, out.at[i]);
  }
  return out;
}

// The distance from the peak, in this direction, at which h has fallen by negligible_log.
double reach_of(const LogIntegrand& h, const Peak& peak, double top, double direction) {
  const auto beyond = [&](double distance) {
    return !(h.value(peak.at + direction * distance) > top - negligible_log);
  };
  double distance = peak.scale;
  if (beyond(distance)) {
    while (distance > rounding_unit * (peak.scale + std::fabs(peak.at)) && beyond(0.5 * distance))
      distance *= 0.5;
    return distance;
  }
  while (!beyond(distance)) distance *= 2;
  double inside = 0.5 * distance;
  for (int i = 0; i < 4; ++i) {
    const double middle = 0.5 * (inside + distance);
    (beyond(middle) ? distance : inside) = middle;
  }
  return distance;
}

Peak peak_at(const LogIntegrand& h, double x, double curvature, double stride) {
  const double scale = 1 / std::sqrt(curvature);  // 0 where the curvature overflows
  return {x, h.value(x), scale > 0 && scale < stride ? scale : stride};
}

}  // namespace

// The zero of the slope, which decreases: doubling steps make a bracket, Newton's method closes it, with
// bisection where Newton leaves the bracket or is slow (on an exponential it moves one unit a step).
Peak concave_peak(const LogIntegrand& h, double start, double stride) {
  double curvature, slope = h.slope(start, curvature);
  double low = start, high = start, x = start;
  if (slope != 0) {
    double unused, reach = std::copysign(stride, slope);
    while (h.slope(start + reach, unused) * slope > 0 && std::isfinite(reach)) reach *= 2;
    (slope > 0 ? high : low) = start + reach;
  }
  double last = high - low;
  while (high > low) {
    const double newton = slope / curvature;
    if (std::fabs(newton) * std::sqrt(curvature) < 1e-3) break;
    double next = x + newton;
    if (!(next > low && next < high && std::fabs(newton) < 0.5 * last)) next = low + 0.5 * (high - low);
    if (!(next > low && next < high)) break;
    last = std::fabs(next - x);
    x = next;
    slope = h.slope(x, curvature);
    (slope > 0 ? low : high) = x;
  }
  return peak_at(h, x, curvature, stride);
}

Peak local_peak(const LogIntegrand& h, double start, double stride) {
  const double least = 1 / (stride * stride);
  double x = start, best = h.value(x), curvature, slope = h.slope(x, curvature);
  for (int i = 0; i < 200; ++i) {
    const double bend = std::max(curvature, least);
    double step = slope / bend;
    if (!std::isfinite(step) || std::fabs(step) * std::sqrt(bend) < 1e-3) break;
    double next = h.value(x + step);
    while (!(next >= best) && std::fabs(step) > 1e-10 * (1 + std::fabs(x))) next = h.value(x + (step *= 0.5));
    if (!(next >= best)) break;
    x += step;
    best = next;
    slope = h.slope(x, curvature);
  }
  return peak_at(h, x, std::max(curvature, least), stride);
}

void LogIntegral::concave(const LogIntegrand& h, double start, double stride, double kink) {
  concave(h, concave_peak(h, start, stride), kink);
}

void LogIntegral::concave(const LogIntegrand& h, const Peak& peak, double kink) {
  if (!std::isfinite(peak.height)) return no_mass();
  if (peak.scale < unresolved * std::fabs(peak.at)) return narrow(peak);
  breaks_ = {0};
  add_breaks(h, peak, peak.height);
  const auto [low, high] = std::minmax_element(breaks_.begin(), breaks_.end());
  // Nodes would miss a kink that is nearer to the end of its panel than they are.
  if (kink - peak.at > *low && kink - peak.at < *high) breaks_.push_back(kink - peak.at);
  integrate(h, peak);
}

void LogIntegral::two_peaks(const LogIntegrand& h, double one, double other, double stride) {
  Peak peak = local_peak(h, one, stride), second = local_peak(h, other, stride);
  if (!(second.height <= peak.height)) std::swap(peak, second);
  if (!std::isfinite(peak.height)) return no_mass();
  if (peak.scale < unresolved * std::fabs(peak.at)) return narrow(peak);
  breaks_ = {0};
  add_breaks(h, peak, peak.height);
  if (second.height > peak.height - negligible_log) {
    const std::size_t own = breaks_.size();
    breaks_.push_back(0);
    add_breaks(h, second, peak.height);
    for (std::size_t i = own; i < breaks_.size(); ++i) breaks_[i] += second.at - peak.at;
  }
  integrate(h, peak);
}

void LogIntegral::over(const LogIntegrand& h, std::vector<double> breaks) {
  Peak highest{breaks.front(), h.value(breaks.front()), 0};
  for (const double x : breaks) {
    const double height = h.value(x);
    if (height > highest.height) highest = {x, height, 0};
  }
  if (!std::isfinite(highest.height)) return no_mass();
  breaks_ = std::move(breaks);
  for (double& x : breaks_) x -= highest.at;
  integrate(h, highest);
}

void LogIntegral::nearly_gaussian(const LogIntegrand& h, const Peak& peak) {
  GaussianRule rule;
  rule.place_few(0.0, 1.0);
  const auto count = rule.nodes().size();
  nodes_.resize(count);
  weights_.resize(count);
  double sum = 0.0, first = 0.0, second = 0.0;
  for (std::size_t j = 0; j < count; ++j) {
    const double z = rule.nodes()[j];
    nodes_[j] = peak.at + peak.scale * z;
    const double share = rule.weights()[j] * std::exp(h.value(nodes_[j]) - peak.height + 0.5 * z * z);
    weights_[j] = share;
    sum += share;
    first += share * z;
    second += share * z * z;
  }
  for (double& weight : weights_) weight /= sum;
  first /= sum;
  log_mass_ = peak.height + std::log(peak.scale * sum) + log_sqrt_2pi;
  mean_ = peak.at + peak.scale * first;
  variance_ = peak.scale * peak.scale * (second / sum - first * first);
}

// The first panels on both sides of a peak grow with the distance from it.
void LogIntegral::add_breaks(const LogIntegrand& h, const Peak& peak, double top) {
  for (const double direction : {-1.0, 1.0}) {
    const double reach = reach_of(h, peak, top, direction);
    for (double d = std::min(first_panel * peak.scale, first_share * reach); d > 0 && d < 0.5 * reach;
         d *= growth)
      breaks_.push_back(direction * d);
    breaks_.push_back(direction * reach);
  }
}

void LogIntegral::no_mass() {
  nodes_.clear();
  weights_.clear();
  log_mass_ = -infinity;
  mean_ = variance_ = std::numeric_limits<double>::quiet_NaN();
}

void LogIntegral::narrow(const Peak& peak) {
  nodes_ = {peak.at};
  weights_ = {1.0};
  log_mass_ = peak.height + std::log(peak.scale) + log_sqrt_2pi;
  mean_ = peak.at;
  variance_ = peak.scale * peak.scale;
}

void LogIntegral::integrate(const LogIntegrand& h, const Peak& peak) {
  nodes_.clear();
  weights_.clear();
  std::sort(breaks_.begin(), breaks_.end());
  std::vector<Panel> open;  // not shared with integrals inside h
  open.reserve(breaks_.size());
  Moments rough, sum;
  for (std::size_t i = 0; i + 1 < breaks_.size(); ++i) {
    if (!(breaks_[i + 1] > breaks_[i])) continue;
    poll_within_row();
    open.push_back(make_panel(h, peak, breaks_[i], breaks_[i + 1] - breaks_[i]));
    rough += open.back().fine;
  }
  const double rounding = h.rounding(peak.at) + rounding_unit * std::fabs(peak.height);
  const double allowed = (allowed_change + rounding) * rough.mass;
  const double unit = std::sqrt(rough.second / rough.mass);
  while (!open.empty()) {
    poll_within_row();
    const Panel panel = open.back();
    open.pop_back();
    const Moments &fine = panel.fine, &coarse = panel.rough;
    const bool apart = std::fabs(fine.mass - coarse.mass) > allowed ||
                       std::fabs(fine.first - coarse.first) > allowed * unit ||
                       std::fabs(fine.second - coarse.second) > allowed * unit * unit;
    const double half = 0.5 * panel.length;
    const bool divisible = half > rounding_unit * (std::fabs(panel.begin) + std::fabs(peak.at));
    if (apart && divisible && nodes_.size() + points * open.size() < most_nodes) {
      open.push_back(make_panel(h, peak, panel.begin, half));
      open.push_back(make_panel(h, peak, panel.begin + half, half));
      continue;
    }
    sum += fine;
    for (int i = 0; i < points; ++i) {
      nodes_.push_back(peak.at + panel.at[i]);
      weights_.push_back(panel.share[i]);
    }
  }
  for (double& w : weights_) w /= sum.mass;
  const double shift = sum.first / sum.mass;
  log_mass_ = peak.height + std::log(sum.mass);
  mean_ = peak.at + shift;
  variance_ = sum.second / sum.mass - shift * shift;
}

}  // namespace galvi

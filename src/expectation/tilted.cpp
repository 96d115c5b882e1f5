#include "expectation/tilted.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "likelihood/normal.h"

namespace galvi {
namespace {

constexpr int points = 16;         // per panel
constexpr double negligible = 50;  // logs below the peak
constexpr double halving_change =
    1e-12;  // the halves are by far more accurate than they differ from the whole
constexpr std::size_t most_nodes = 1u << 15;  // where log p is too rough to reach that

struct Legendre {
  std::array<double, points> node, weight;
};

// Gauss-Legendre on (-1, 1), the polynomial's roots by Newton's method.
Legendre make_legendre() {
  Legendre out;
  for (int i = 0; i < points; ++i) {
    double x = std::cos(M_PI * (i + 0.75) / (points + 0.5)), slope = 0;
    for (int iteration = 0; iteration < 20; ++iteration) {
      double before = 1, value = x;
      for (int k = 2; k <= points; ++k) {
        const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
        before = value;
        value = next;
      }
      slope = points * (x * value - before) / (x * x - 1);
      x -= value / slope;
    }
    out.node[i] = x;
    out.weight[i] = 2 / ((1 - x * x) * slope * slope);
  }
  return out;
}

/// w log p(y | eta) - (eta - mean)^2 / (2 variance), concave.
class LogIntegrand {
 public:
  LogIntegrand(const Likelihood& likelihood, const Datum& datum, double weight, double mean, double variance)
      : likelihood_(likelihood), datum_(datum), weight_(weight), mean_(mean), variance_(variance) {}

  // Closed forms at variance 0 keep digits where large counts cancel.
  double operator()(double eta) const {
    const double log_density = likelihood_.has_closed_form() ? likelihood_.closed_form(datum_, eta, 0)->value
                                                             : likelihood_.log_density(datum_, &eta);
    const double value = weight_ * log_density - 0.5 * (eta - mean_) * (eta - mean_) / variance_;
    return std::isnan(value) ? -infinity : value;
  }
  double slope(double eta, double& curvature) const {
    double l[5];
    likelihood_.derivatives(datum_, eta, l);
    curvature = 1 / variance_ - weight_ * l[2];
    return weight_ * l[1] - (eta - mean_) / variance_;
  }
  // |log p| is a sum of terms about as large as this, whose rounding its values share.
  double rounding(double eta) const {
    return 2e-16 * weight_ * (std::fabs(datum_.y) + datum_.size) * (1 + std::fabs(eta));
  }

 private:
  const Likelihood& likelihood_;
  const Datum& datum_;
  double weight_, mean_, variance_;
};

struct Peak {
  double at, scale;  // sd by the curvature there
};

// Where the slope, which falls, changes its sign: steps that double make a bracket, Newton's method closes
// it, with bisection where that leaves the bracket or is slow (an exponential is climbed down one unit a
// step).
Peak find_peak(const LogIntegrand& f, double mean, double variance) {
  const double sd = std::sqrt(variance);
  double curvature, slope = f.slope(mean, curvature);
  double low = mean, high = mean, x = mean;
  if (slope != 0) {
    double unused, reach = std::copysign(sd, slope);
    while (f.slope(mean + reach, unused) * slope > 0) reach *= 2;
    (slope > 0 ? high : low) = mean + reach;
  }
  double last = high - low;
  for (int i = 0; i < 500 && high > low; ++i) {
    const double newton = slope / curvature;
    if (std::fabs(newton) * std::sqrt(curvature) < 1e-3) break;
    double next = x + newton;
    if (!(next > low && next < high && std::fabs(newton) < 0.5 * last)) next = low + 0.5 * (high - low);
    if (!(next > low && next < high)) break;
    last = std::fabs(next - x);
    x = next;
    slope = f.slope(x, curvature);
    (slope > 0 ? low : high) = x;
  }
  return {x, std::isfinite(curvature) ? 1 / std::sqrt(curvature) : sd};
}

// How far from the peak, in this direction, the integrand becomes negligible.
double reach_of(const LogIntegrand& f, const Peak& peak, double top, double direction) {
  const auto beyond = [&](double distance) {
    return !(f(peak.at + direction * distance) > top - negligible);
  };
  double distance = peak.scale;
  if (beyond(distance)) {
    while (distance > 1e-15 * (peak.scale + std::fabs(peak.at)) && beyond(0.5 * distance)) distance *= 0.5;
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

/// Mass and its first two moments around the peak.
struct Moments {
  double mass = 0, first = 0, second = 0;
  Moments& operator+=(const Moments& other) {
    mass += other.mass;
    first += other.first;
    second += other.second;
    return *this;
  }
};

/// Part of the range, from `begin` of this length relative to the peak, with the integrand times the weight
/// at its nodes.
struct Panel {
  double begin, length;
  Moments moments;
  std::array<double, points> node, share;
};

Panel make_panel(const LogIntegrand& f, double peak, double top, double begin, double length) {
  static const Legendre legendre = make_legendre();
  Panel out{begin, length, {}, {}, {}};
  for (int i = 0; i < points; ++i) {
    const double t = begin + 0.5 * length * (1 + legendre.node[i]);
    const double share = 0.5 * length * legendre.weight[i] * std::exp(f(peak + t) - top);
    out.node[i] = t;
    out.share[i] = share;
    out.moments += {share, share * t, share * t * t};
  }
  return out;
}

}  // namespace

void TiltedRule::place(const Likelihood& likelihood, const Datum& datum, double weight, double mean,
                       double variance) {
  nodes_.clear();
  weights_.clear();
  const LogIntegrand f(likelihood, datum, weight, mean, variance);
  const Peak peak = find_peak(f, mean, variance);
  const double top = f(peak.at);
  if (!std::isfinite(top)) {  // log p overflows wherever the Gaussian is
    log_mass_ = mean_ = variance_ = std::numeric_limits<double>::quiet_NaN();
    return;
  }

  // Cut at the peak, and at a kink (where concave log p is largest): nodes do not see one that is nearer to
  // the end of its panel than they are.
  const double low = -reach_of(f, peak, top, -1.0), high = reach_of(f, peak, top, 1.0);
  const double kink = likelihood.smoothness(datum).width > 0 ? 0 : likelihood.starting_eta(datum) - peak.at;
  std::array<double, 4> breaks{low, 0, std::clamp(kink, low, high), high};
  std::sort(breaks.begin(), breaks.end());
  thread_local std::vector<Panel> open;
  open.clear();
  Moments rough;
  for (std::size_t i = 0; i + 1 < breaks.size(); ++i) {
    const double length = 0.5 * (breaks[i + 1] - breaks[i]);
    for (int half = 0; half < 2 && length > 0; ++half) {
      open.push_back(make_panel(f, peak.at, top, breaks[i] + half * length, length));
      rough += open.back().moments;
    }
  }
  const double allowed = (halving_change + f.rounding(peak.at)) * rough.mass,
               unit = std::sqrt(rough.second / rough.mass);
  Moments sum;
  while (!open.empty()) {
    const Panel panel = open.back();
    open.pop_back();
    const double half = 0.5 * panel.length;
    const Panel halves[] = {make_panel(f, peak.at, top, panel.begin, half),
                            make_panel(f, peak.at, top, panel.begin + half, half)};
    Moments together = halves[0].moments;
    together += halves[1].moments;
    const Moments& whole = panel.moments;
    const bool moved = std::fabs(together.mass - whole.mass) > allowed ||
                       std::fabs(together.first - whole.first) > allowed * unit ||
                       std::fabs(together.second - whole.second) > allowed * unit * unit;
    if (moved && nodes_.size() < most_nodes) {
      open.insert(open.end(), std::begin(halves), std::end(halves));
      continue;
    }
    sum += together;
    for (const Panel& part : halves) {
      for (int i = 0; i < points; ++i) {
        nodes_.push_back(peak.at + part.node[i]);
        weights_.push_back(part.share[i]);
      }
    }
  }
  for (double& w : weights_) w /= sum.mass;
  const double shift = sum.first / sum.mass;
  log_mass_ = top + std::log(sum.mass) - 0.5 * std::log(variance) - log_sqrt_2pi;
  mean_ = peak.at + shift;
  variance_ = sum.second / sum.mass - shift * shift;
}

}  // namespace galvi

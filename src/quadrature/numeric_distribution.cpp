#include "quadrature/numeric_distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "numeric/special_functions.h"

namespace galvi {
namespace {

constexpr double least_log = -40.0;  // of a density relative to its largest value: smaller values are left out
constexpr double near_peak = 0.3;        // change of the logarithm at which the search for a peak ends
constexpr int most_rounds = 60;

Index best_of(const Vector& values) {
  Index best = -1;
  for (Index i = 0; i < values.size(); ++i)
    if (values[i] > -infinity && (best < 0 || values[i] > values[best])) best = i;
  return best;
}

[[noreturn]] void no_mass(double low, double high) {
  std::ostringstream words;
  words << "it is -Inf at all responses that were tried between " << low << " and " << high
        << ": `support =` of custom_family() says where responses lie";
  throw std::domain_error(words.str());
}

[[noreturn]] void no_integral(bool discrete, double low, double high, const char* why) {
  std::ostringstream words;
  words << "it " << (discrete ? "does not add up" : "has no integral") << " between " << low << " and " << high << ", where it " << why
        << ": a log density must contain its constant, and `support =` of custom_family() says where responses lie";
  throw std::domain_error(words.str());
}

/// cos(pi j k / degree) for the points and coefficients of Chebyshev series.
template <int degree>
const Matrix& cosines() {
  static const Matrix table = [] {
    Matrix out(degree + 1, degree + 1);
    for (int j = 0; j <= degree; ++j)
      for (int k = 0; k <= degree; ++k) out(j, k) = std::cos(pi * j * k / degree);
    return out;
  }();
  return table;
}

/// From values at cos(pi j / degree).
template <int degree>
void chebyshev_series(const double* values, double* out) {
  const Matrix& c = cosines<degree>();
  for (int k = 0; k <= degree; ++k) {
    double sum = 0.5 * (values[0] + values[degree] * c(degree, k));
    for (int j = 1; j < degree; ++j) sum += values[j] * c(j, k);
    out[k] = sum * (k == 0 || k == degree ? 1.0 : 2.0) / degree;
  }
}

/// The integral of a series over (-1, x).
double series_integral(const double* series, int degree, double x) {
  // int T_k = (T_(k + 1) / (k + 1) - T_(k - 1) / (k - 1)) / 2, T_k(x) = cos(k arccos x)
  const double angle = std::acos(std::clamp(x, -1.0, 1.0));
  double sum = series[0] * (x + 1.0);
  if (degree > 0) sum += 0.5 * series[1] * (x * x - 1.0);
  for (int k = 2; k <= degree; ++k) {
    const double sign = k % 2 == 0 ? -1.0 : 1.0;  // T_(k + 1)(-1) = T_(k - 1)(-1) = (-1)^(k + 1)
    const double up = (std::cos((k + 1) * angle) - sign) / (k + 1), down = (std::cos((k - 1) * angle) - sign) / (k - 1);
    sum += 0.5 * series[k] * (up - down);
  }
  return sum;
}

}  // namespace

GridPeak find_peak(const VectorFunction& function, double centre) {
  const std::optional<GridPeak> found = find_peak_if_any(function, centre);
  if (!found) throw std::domain_error("it is -Inf at all values that were tried");
  return *found;
}

std::optional<GridPeak> find_peak_if_any(const VectorFunction& function, double centre, std::optional<double> also) {
  std::vector<double> grid{0.0};
  if (also) grid.push_back(*also - centre);
  for (double power = -3.0; power <= 8.0; power += 0.125) {
    grid.push_back(std::pow(10.0, power));
    grid.push_back(-grid.back());
  }
  std::sort(grid.begin(), grid.end());
  Vector at = Eigen::Map<const Vector>(grid.data(), grid.size()).array() + centre;
  for (int round = 0;; ++round) {
    const Vector values = function(at);
    const Index best = best_of(values);
    if (best < 0) return std::nullopt;
    const Index left = std::max<Index>(best - 1, 0), right = std::min<Index>(best + 1, at.size() - 1);
    const double fall = values[best] - std::min(values[left], values[right]), width = at[right] - at[left];
    const bool narrow = width <= 1e-14 * std::fabs(at[best]);
    if (fall <= near_peak || narrow || round == most_rounds) return GridPeak{at[best], values[best], 0.5 * width};
    // on both sides of the best point and with it: the function may be -infinity all around
    constexpr Index half = 16;
    Vector finer(2 * half + 1);
    finer.head(half) = Vector::LinSpaced(half + 1, at[left], at[best]).head(half);
    finer.tail(half + 1) = Vector::LinSpaced(half + 1, at[best], at[right]);
    at = finer;
  }
}

NumericDistribution::NumericDistribution(const VectorFunction& log_density, double low, double high,
                                         bool discrete, double centre)
    : low_(low), high_(high), discrete_(discrete) {
  if (discrete)
    take_whole_numbers(log_density, centre);
  else
    take_panels(log_density, centre);
}

double NumericDistribution::coordinate(double y) const {
  if (low_ > -infinity && high_ < infinity) return std::log(y - low_) - std::log(high_ - y);
  if (low_ > -infinity) return std::log(y - low_);
  return high_ < infinity ? -std::log(high_ - y) : y;
}
double NumericDistribution::response(double t) const {
  if (low_ > -infinity && high_ < infinity) {
    const double e = std::exp(-std::fabs(t)), share = (high_ - low_) * e / (1.0 + e);
    return t < 0.0 ? low_ + share : high_ - share;
  }
  if (low_ > -infinity) return low_ + std::exp(t);
  return high_ < infinity ? high_ - std::exp(-t) : t;
}
double NumericDistribution::log_slope(double t) const {
  if (low_ > -infinity && high_ < infinity)
    return std::log(high_ - low_) - std::fabs(t) - 2.0 * std::log1p(std::exp(-std::fabs(t)));
  if (low_ > -infinity) return t;
  return high_ < infinity ? -t : 0.0;
}

// first, second: the pieces' integrals of (y - centre) and its square.
void NumericDistribution::add_up(const std::vector<double>& first, const std::vector<double>& second,
                                 double centre) {
  const std::size_t n = pieces_.size();
  below_.assign(n + 1, 0.0);
  above_.assign(n + 1, 0.0);
  for (std::size_t i = 0; i < n; ++i) below_[i + 1] = below_[i] + pieces_[i].mass;
  for (std::size_t i = n; i-- > 0;) above_[i] = above_[i + 1] + pieces_[i].mass;
  const double total = below_[n];
  double m = 0.0, s = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    m += first[i] / total;
    s += second[i] / total;
  }
  for (auto* sums : {&below_, &above_})
    for (double& x : *sums) x /= total;
  for (Piece& piece : pieces_) {
    piece.mass /= total;
    for (double& x : piece.series) x /= total;
  }
  mean_ = centre + m;
  variance_ = s - m * m;
}

void NumericDistribution::take_whole_numbers(const VectorFunction& log_density, double centre) {
  constexpr Index first_stretch = 64, most_numbers = 1 << 22;
  // around the centre, or from the ends of the support if it has any
  const double from = low_ > -infinity ? low_ : high_ < infinity ? high_ : std::round(centre);
  const auto whole = [&](const Vector& y) {
    Vector at = y.array().round().max(std::max(low_, -1e15)).min(std::min(high_, 1e15));
    return log_density(at);
  };
  const std::optional<GridPeak> found = find_peak_if_any(whole, from);
  if (!found) no_mass(low_, high_);
  const GridPeak peak = *found;
  const double mode = std::clamp(std::round(peak.at), low_, high_);
  std::vector<double> left, right;  // logs, outwards
  for (const int side : {-1, 1}) {
    std::vector<double>& logs = side < 0 ? left : right;
    double next = side < 0 ? mode - 1.0 : mode;
    for (Index stretch = first_stretch;; stretch *= 2) {
      const double room = side < 0 ? next - low_ : high_ - next;
      const Index count = room < static_cast<double>(stretch) ? static_cast<Index>(room) + 1 : stretch;
      if (count <= 0) break;
      const Vector at = Vector::LinSpaced(count, next, next + side * static_cast<double>(count - 1));
      const Vector l = log_density(at);
      logs.insert(logs.end(), l.data(), l.data() + count);
      next += side * static_cast<double>(count);
      if (!(l[count - 1] > peak.height + least_log)) break;
      if (static_cast<Index>(logs.size()) > most_numbers) no_integral(discrete_, low_, high_, "does not fall off");
    }
  }
  std::vector<double> first, second;
  const auto take = [&](double y, double log_mass) {
    const double mass = std::exp(log_mass);
    pieces_.push_back({y, 0.0, mass, {}});
    mass_ += mass;
    first.push_back(mass * (y - mode));
    second.push_back(mass * (y - mode) * (y - mode));
  };
  for (std::size_t i = left.size(); i-- > 0;) take(mode - 1.0 - static_cast<double>(i), left[i]);
  for (std::size_t i = 0; i < right.size(); ++i) take(mode + static_cast<double>(i), right[i]);
  if (!(mass_ > 0.0)) no_mass(low_, high_);
  add_up(first, second, mode);
}

void NumericDistribution::take_panels(const VectorFunction& log_density, double centre) {
  constexpr int doublings = 60, most_halvings = 40;
  constexpr std::size_t most_panels = 20000;
  constexpr double negligible = 1e-12;
  const auto height = [&](const Vector& t) {
    Vector y(t.size());
    for (Index i = 0; i < t.size(); ++i) y[i] = response(t[i]);
    Vector out = Vector::Constant(t.size(), -infinity);
    // beyond the last double between the ends there is nothing
    std::vector<Index> inside;
    for (Index i = 0; i < t.size(); ++i)
      if (y[i] > low_ && y[i] < high_ && std::isfinite(y[i])) inside.push_back(i);
    Vector at(inside.size());
    for (std::size_t i = 0; i < inside.size(); ++i) at[i] = y[inside[i]];
    if (at.size() == 0) return out;
    const Vector l = log_density(at);
    for (std::size_t i = 0; i < inside.size(); ++i) out[inside[i]] = l[i] + log_slope(t[inside[i]]);
    return out;
  };
  const bool line = low_ == -infinity && high_ == infinity;
  const std::optional<GridPeak> found = find_peak_if_any(height, line ? centre : 0.0);
  if (!found) no_mass(low_, high_);
  const GridPeak peak = *found;

  // the first panels double in length outwards from the peak
  Vector outwards(2 * doublings);
  for (int k = 0; k < doublings; ++k) {
    outwards[k] = peak.at - std::ldexp(peak.distance, k);
    outwards[doublings + k] = peak.at + std::ldexp(peak.distance, k);
  }
  const Vector l = height(outwards);
  std::vector<double> breaks{peak.at};
  for (const int side : {0, doublings}) {
    int last = 0;
    for (int k = 0; k < doublings; ++k)
      if (l[side + k] > peak.height + least_log) last = k + 1;
    if (last == doublings) no_integral(discrete_, low_, high_, "does not fall off");
    for (int k = 0; k <= last; ++k) breaks.push_back(outwards[side + k]);
  }
  std::sort(breaks.begin(), breaks.end());

  std::vector<Piece> open;
  for (std::size_t i = 0; i + 1 < breaks.size(); ++i)
    open.push_back({breaks[i], breaks[i + 1] - breaks[i], 0.0, {}});
  std::vector<std::pair<Piece, std::pair<double, double>>> done;
  const Matrix& cosine = cosines<degree>();
  double scale = peak.distance;  // of the mass, from below
  for (int round = 0; !open.empty(); ++round) {
    Vector t(open.size() * (degree + 1));
    for (std::size_t i = 0; i < open.size(); ++i)
      for (int j = 0; j <= degree; ++j)
        t[i * (degree + 1) + j] = open[i].begin + 0.5 * open[i].length * (1.0 + cosine(j, 1));
    const Vector f = (height(t).array() - peak.height).exp();
    std::vector<Piece> halves;
    for (std::size_t i = 0; i < open.size(); ++i) {
      Piece piece = open[i];
      const double half = 0.5 * piece.length;
      double moments[2][degree + 1], series[degree + 1], values[degree + 1];
      for (int j = 0; j <= degree; ++j) {
        const Index at = i * (degree + 1) + j;
        const double distance = f[at] > 0.0 ? response(t[at]) - response(peak.at) : 0.0;
        values[j] = half * f[at];
        moments[0][j] = values[j] * distance;
        moments[1][j] = moments[0][j] * distance;
      }
      chebyshev_series<degree>(values, piece.series);
      double rest = 0.0;
      for (int k = degree - 2; k <= degree; ++k) rest += std::fabs(piece.series[k]);
      piece.mass = series_integral(piece.series, degree, 1.0);
      scale = std::max(scale, piece.mass);
      if (rest > negligible * scale && round < most_halvings) {
        halves.push_back({piece.begin, half, 0.0, {}});
        halves.push_back({piece.begin + half, half, 0.0, {}});
        continue;
      }
      std::pair<double, double> sums;
      chebyshev_series<degree>(moments[0], series);
      sums.first = series_integral(series, degree, 1.0);
      chebyshev_series<degree>(moments[1], series);
      sums.second = series_integral(series, degree, 1.0);
      done.emplace_back(piece, sums);
    }
    open = std::move(halves);
    if (open.size() + done.size() > most_panels) no_integral(discrete_, low_, high_, "jumps too often to be integrated");
  }
  std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  std::vector<double> first, second;
  for (const auto& [piece, sums] : done) {
    pieces_.push_back(piece);
    mass_ += piece.mass;
    first.push_back(sums.first);
    second.push_back(sums.second);
  }
  if (!(mass_ > 0.0)) no_mass(low_, high_);
  mass_ *= std::exp(peak.height);
  add_up(first, second, response(peak.at));
}

double NumericDistribution::part_below(const Piece& piece, double share) const {
  return std::clamp(series_integral(piece.series, degree, 2.0 * share - 1.0), 0.0, piece.mass);
}

NumericDistribution::Pair NumericDistribution::tails(double y) const {
  if (!(y >= low_)) return {0.0, 1.0};
  if (y >= high_) return {1.0, 0.0};
  const double t = discrete_ ? std::floor(y) : y > low_ ? coordinate(y) : -infinity;
  const auto next = std::upper_bound(pieces_.begin(), pieces_.end(), t,
                                     [](double x, const Piece& piece) { return x < piece.begin; });
  const std::size_t after = next - pieces_.begin();  // pieces that begin at t or before
  if (after == 0) return {0.0, 1.0};
  if (discrete_) return {below_[after], above_[after]};
  const Piece& piece = pieces_[after - 1];
  const double share = std::min(1.0, (t - piece.begin) / piece.length), part = part_below(piece, share);
  return {below_[after - 1] + part, above_[after] + (piece.mass - part)};
}

double NumericDistribution::quantile(double probability) const {
  // from the nearer end, so that small tails are accurate
  const bool left = probability <= 0.5;
  const double rest = 1.0 - probability, slack = 1e-14;
  std::size_t i = 0;
  const auto reached = [&](std::size_t k) {
    return left ? below_[k + 1] >= probability * (1.0 - slack) : above_[k + 1] <= rest * (1.0 + slack);
  };
  while (i + 1 < pieces_.size() && !reached(i)) ++i;
  const Piece& piece = pieces_[i];
  if (discrete_) return piece.begin;
  double low = 0.0, high = 1.0;
  for (int k = 0; k < 60; ++k) {
    const double middle = 0.5 * (low + high), part = part_below(piece, middle);
    const bool enough = left ? below_[i] + part >= probability : above_[i + 1] + (piece.mass - part) <= rest;
    (enough ? high : low) = middle;
  }
  return response(piece.begin + 0.5 * (low + high) * piece.length);
}

}  // namespace galvi

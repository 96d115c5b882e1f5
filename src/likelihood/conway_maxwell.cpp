#include "likelihood/conway_maxwell.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "function/normal.h"
#include "likelihood/counts.h"
#include "numeric/special_functions.h"
#include "quadrature/integer_blocks.h"

namespace galvi {
namespace {

constexpr double negligible = -46.0;  // log of a probability, relative to the largest
constexpr double no_number = -745.0;  // log of what underflows
constexpr double block_sds = 2.0;     // standard deviations in a block of integers

double log_factorial_table(double x) {
  constexpr int count = 2048;
  static const std::vector<double> table = [] {
    std::vector<double> values(count);
    for (int k = 0; k < count; ++k) values[k] = log_factorial(k);
    return values;
  }();
  return x < count && x == std::floor(x) ? table[static_cast<std::size_t>(x)] : log_gamma(x + 1.0);
}

// With b = nu lambda^(1 / nu): log Z = b - (nu - 1) / 2 log b + constant + sum_k g_k b^-k, g_k even polynomials in nu,
// the first coefficient that of nu^0 (Laplace's method with Stirling's series; Gaunt et al., 2019).
constexpr double total_series[7][5] = {
    {-1.0 / 24, 1.0 / 24},
    {-1.0 / 48, 1.0 / 48},
    {-161.0 / 5760, 17.0 / 576, -1.0 / 640},
    {-367.0 / 5760, 41.0 / 576, -43.0 / 5760},
    {-120257.0 / 580608, 33667.0 / 138240, -5107.0 / 138240, 305.0 / 580608},
    {-39793.0 / 45360, 37303.0 / 34560, -3611.0 / 17280, 4987.0 / 725760},
    {-6389072441.0 / 1393459200, 81830645.0 / 13934592, -45075959.0 / 33177600, 998141.0 / 13934592,
     -87983.0 / 199065600}};

// With M = nu mean, b = M + (nu - 1) / 2 + sum_k k g_k b^-k, so that b = M B(1 / M) with a power series B that repeated
// substitution finds term by term.   out: the coefficients l_k of log B, from k = 1
template <class Number>
void log_b_series(Number nu, Number* out, int terms) {
  using Series = std::vector<Number>;
  const int n = terms + 2;  // with the powers 0 .. terms + 1
  const auto product = [n](const Series& a, const Series& b) {
    Series c(n, Number(0.0));
    for (int i = 0; i < n; ++i)
      for (int j = 0; i + j < n; ++j) c[i + j] += a[i] * b[j];
    return c;
  };
  const auto inverse = [n](const Series& a) {  // a_0 = 1
    Series c(n, Number(0.0));
    c[0] = Number(1.0);
    for (int k = 1; k < n; ++k)
      for (int j = 1; j <= k; ++j) c[k] -= a[j] * c[k - j];
    return c;
  };
  Number g[7];
  for (int k = 0; k < 7; ++k) {
    g[k] = Number(0.0);
    for (int p = 4; p >= 0; --p) g[k] = g[k] * nu * nu + total_series[k][p];
  }
  Series B(n, Number(0.0));
  B[0] = Number(1.0);
  for (int pass = 0; pass < n; ++pass) {
    const Series down = inverse(B);
    Series power = down, next(n, Number(0.0));
    next[0] = Number(1.0);
    next[1] = 0.5 * (nu - 1.0);
    for (int k = 1; k <= 7; ++k) {
      for (int i = 0; i + k + 1 < n; ++i) next[i + k + 1] += static_cast<double>(k) * g[k - 1] * power[i];
      power = product(power, down);
    }
    B = next;
  }
  // k l_k = k B_k - sum_{j < k} j l_j B_{k - j}
  for (int k = 1; k < n; ++k) {
    Number sum = static_cast<double>(k) * B[k];
    for (int j = 1; j < k; ++j) sum -= static_cast<double>(j) * out[j - 1] * B[k - j];
    out[k - 1] = sum / static_cast<double>(k);
  }
}

/// Sums at one log lambda.
struct Moments {
  double log_total, mean, variance, third, fourth, fifth, factorial, covariance;
};

// Probabilities fall on both sides of the mode, lambda^(1 / nu), and change on the scale of the standard deviation.
Moments moments(double nu, double log_rate) {
  const double log_mode = log_rate / nu, mode = log_mode < 0.0 ? 0.0 : std::floor(std::exp(std::min(log_mode, 40.0)));
  const double sd = std::sqrt((mode + 1.0) / nu), reach = 14.0 * sd + 20.0;
  const double centre_factorial = log_factorial_table(mode), top = mode * log_rate - nu * centre_factorial;
  double sum[6] = {}, factorial = 0.0, product = 0.0;
  for_integers(std::max(0.0, std::floor(mode - reach)), infinity, block_sds * sd, [&](double x, double weight) {
    const double own = log_factorial_table(x), exponent = x * log_rate - nu * own - top;
    // with a rate that is not a number, too
    if (!(exponent >= negligible || x <= mode)) return false;
    double share = weight * std::exp(exponent);
    const double d = x - mode, f = own - centre_factorial;
    factorial += share * f;
    product += share * f * d;
    for (int k = 0; k < 6; ++k, share *= d) sum[k] += share;
    return true;
  });
  double m[6];
  for (int k = 1; k < 6; ++k) m[k] = sum[k] / sum[0];
  const double a = m[1], a2 = a * a, f = factorial / sum[0];
  Moments out;
  out.log_total = top + std::log(sum[0]);
  out.mean = mode + a;
  out.variance = m[2] - a2;
  out.third = m[3] - 3.0 * a * m[2] + 2.0 * a * a2;
  const double fourth = m[4] - 4.0 * a * m[3] + 6.0 * a2 * m[2] - 3.0 * a2 * a2;
  out.fourth = fourth - 3.0 * out.variance * out.variance;
  out.fifth = m[5] - 5.0 * a * m[4] + 10.0 * a2 * m[3] - 10.0 * a * a2 * m[2] + 4.0 * a2 * a2 * a -
              10.0 * out.third * out.variance;
  out.factorial = centre_factorial + f;
  out.covariance = product / sum[0] - a * f;
  return out;
}

// d^k log lambda / d eta^k, k = 1..4: p = mean / V as a function of log lambda, with its derivatives, and
// d / d eta = p d / d log lambda.
void rate_slopes(const Moments& m, double slope[4]) {
  const double V = m.variance, k3 = m.third / V, k4 = m.fourth / V, k5 = m.fifth / V, p = m.mean / V;
  const double p1 = 1.0 - p * k3, p2 = -k3 - p * k4 + 2.0 * p * k3 * k3;
  const double p3 = -2.0 * k4 + 3.0 * k3 * k3 - p * k5 + 6.0 * p * k3 * (k4 - k3 * k3);
  slope[0] = p;
  slope[1] = p * p1;
  slope[2] = p * (p1 * p1 + p * p2);
  slope[3] = p * (p1 * p1 * p1 + 4.0 * p * p1 * p2 + p * p * p3);
}

}  // namespace

ConwayMaxwell::ConwayMaxwell(double nu)
    : nu_(nu), end_(std::log(std::max(100.0 / nu, 2.0 * nu))) {
  constexpr double imaginary = 1e-100;  // derivatives in nu to rounding
  std::complex<double> l[terms + 1];
  log_b_series(std::complex<double>(nu, imaginary), l, terms);
  for (int k = 0; k <= terms; ++k) {
    log_b_[k + 1] = l[k].real();
    log_b_slope_[k + 1] = l[k].imag() / imaginary;
  }
  if (nu > most_tabulated) return;
  constexpr double shares = 2.25;  // of the width in a cell: the coefficients fall by nine from each to the next
  cell_width_ = width() / shares;
  cells_ = static_cast<Index>(std::ceil((end_ - lowest) / cell_width_));
  table_ = std::make_unique<std::atomic<Cell*>[]>(static_cast<std::size_t>(cells_));
  for (Index k = 0; k < cells_; ++k) table_[k].store(nullptr, std::memory_order_relaxed);
}

ConwayMaxwell::~ConwayMaxwell() {
  for (Index k = 0; k < cells_; ++k) delete table_[k].load();
}

// The nearest zeros of V lie beside the mean 1, where P(Y = 0) = P(Y = 2) = 2^(-nu / 2) P(Y = 1); with nu <= 1 there are
// none within a distance of pi.
double ConwayMaxwell::width() const {
  return nu_ <= 1.0 ? 2.6 : 1.9 * std::exp2(-0.5 * nu_);
}

ConwayMaxwell::Point ConwayMaxwell::at(double eta) const {
  if (eta < lowest) return at_low(eta);
  if (!(eta < end_)) return by_series(eta);  // NaN as well: it has no cell
  if (cells_ == 0) {
    double guess = first_guess(eta);
    return by_sums(eta, guess);
  }
  const double place = (eta - lowest) / cell_width_;
  const Index k = std::min(static_cast<Index>(place), cells_ - 1);
  const double x = 2.0 * (2.0 * (place - static_cast<double>(k)) - 1.0);
  // Clenshaw's sum of all eight
  const auto& c = cell(k).coefficient;
  double high[8] = {}, now[8] = {};
  for (int n = degree; n >= 1; --n)
    for (int i = 0; i < 8; ++i) {
      const double next = c[n][i] + x * now[i] - high[i];
      high[i] = now[i];
      now[i] = next;
    }
  for (int i = 0; i < 8; ++i) now[i] = c[0][i] + 0.5 * x * now[i] - high[i];
  return {now[0], now[1], {now[2], now[3], now[4], now[5]}, now[6], now[7]};
}

// lambda is the mean to rounding, and Y is 0 or 1.
ConwayMaxwell::Point ConwayMaxwell::at_low(double eta) const {
  return {eta, std::exp(eta), {1.0, 0.0, 0.0, 0.0}, 0.0, 0.0};
}

// With t = 1 / (nu mean): log lambda = nu (eta + sum_k l_k t^k), and log Z is the integral of the mean times its slope.
ConwayMaxwell::Point ConwayMaxwell::by_series(double eta) const {
  constexpr double log_2pi = 1.83787706640934548356;
  const double mean = std::exp(eta), t = 1.0 / (nu_ * mean), half = 0.5 * (nu_ - 1.0);
  double power = 1.0, rate = 0.0, rate_slope = 0.0, total = 0.0, total_slope = 0.0, s[4] = {1.0, 0.0, 0.0, 0.0};
  for (int k = 1; k <= terms + 1; ++k) {
    const double l = log_b_[k], in_nu = log_b_slope_[k];
    if (k > 1) {
      total += k / (k - 1.0) * l * power;  // power: t^(k - 1)
      total_slope += power * (k / (k - 1.0) * in_nu - k * l / nu_);
    }
    power *= t;
    rate += l * power;
    rate_slope += power * ((1.0 - k) * l + nu_ * in_nu);
    double term = l * power;
    for (double& slope : s) slope += term *= -k;
  }
  Point out;
  out.log_rate = nu_ * (eta + rate);
  out.log_total = nu_ * mean - half * (eta - 1.0 + log_2pi) - 0.5 * std::log(nu_) + total;
  for (int k = 0; k < 4; ++k) out.slope[k] = nu_ * s[k];
  out.factorial_slope = eta + rate_slope;
  out.mean_factorial =
      mean * out.factorial_slope - (mean - 0.5 * (eta - 1.0 + log_2pi) - 0.5 / nu_ + total_slope);
  return out;
}

// Exact for Poisson's and the geometric distribution, and for large means.
double ConwayMaxwell::first_guess(double eta) const {
  if (nu_ <= 1.0) return eta - (1.0 - nu_) * std::log1p(std::exp(eta));
  const double shifted = std::exp(eta) + 0.5 * (nu_ - 1.0) / nu_;
  return shifted > 0.5 ? nu_ * std::log(shifted) : eta;
}

// Newton's method for the log lambda of this mean, between values that are known to be too small and too large:
// lambda = E Y^nu is at most mean^nu for nu <= 1, and at least that for nu >= 1.
ConwayMaxwell::Point ConwayMaxwell::by_sums(double eta, double& guess) const {
  constexpr double slack = 1e-6, near = 0.1;
  double low = nu_ > 1.0 ? nu_ * eta - slack : -infinity, high = nu_ > 1.0 ? infinity : nu_ * eta + slack;
  guess = std::clamp(guess, low, high);
  Moments m;
  double slope[4];
  for (int i = 0; i < 100; ++i) {
    m = moments(nu_, guess);
    rate_slopes(m, slope);
    const double off = eta - std::log(m.mean);
    (off > 0.0 ? low : high) = guess;
    // near the end Taylor's series of log lambda in eta, of which four terms are known
    double step = off * slope[0];
    if (std::fabs(off) < near * width())
      step = off * (slope[0] + off / 2.0 * (slope[1] + off / 3.0 * (slope[2] + off / 4.0 * slope[3])));
    double next = guess + std::clamp(step, -5.0, 5.0);
    if (next <= low) next = 0.5 * (low + guess);
    if (next >= high) next = 0.5 * (high + guess);
    const double moved = next - guess;
    guess = next;
    if (std::fabs(moved) <= 1e-15 * (1.0 + std::fabs(guess))) break;
    if (std::fabs(off) < 2e-13) {
      // the values follow to first order
      m.log_total += m.mean * moved;
      m.factorial += m.covariance * moved;
      break;
    }
  }
  return {guess, m.log_total, {slope[0], slope[1], slope[2], slope[3]}, m.covariance / m.variance, m.factorial};
}

// Threads that need the same cell at once each make it, and one is kept.
const ConwayMaxwell::Cell& ConwayMaxwell::cell(Index k) const {
  Cell* known = table_[k].load(std::memory_order_acquire);
  if (known) return *known;
  constexpr int count = degree + 1;
  auto made = std::make_unique<Cell>();
  double values[count][8];
  const double middle = lowest + (static_cast<double>(k) + 0.5) * cell_width_;
  double guess = 0.0, before = 0.0;
  Point last{};
  for (int i = 0; i < count; ++i) {
    const double eta = middle - 0.5 * cell_width_ * std::cos(pi * (i + 0.5) / count), d = eta - before;
    guess = first_guess(eta);
    if (i > 0) guess = last.log_rate + d * (last.slope[0] + 0.5 * d * (last.slope[1] + d / 3.0 * last.slope[2]));
    last = by_sums(eta, guess);
    before = eta;
    const double all[8] = {last.log_rate, last.log_total, last.slope[0], last.slope[1],
                           last.slope[2], last.slope[3], last.factorial_slope, last.mean_factorial};
    std::copy(all, all + 8, values[i]);
  }
  for (int n = 0; n < count; ++n)
    for (int j = 0; j < 8; ++j) {
      double sum = 0.0;
      for (int i = 0; i < count; ++i) sum += values[i][j] * std::cos(n * pi * (count - i - 0.5) / count);
      made->coefficient[n][j] = (n == 0 ? 1.0 : 2.0) / count * sum;
    }
  if (table_[k].compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *known;
}

double ConwayMaxwell::log_b_share(double eta) const {
  const double t = std::exp(-eta) / nu_;
  double sum = 0.0;
  for (int k = terms + 1; k >= 1; --k) sum = t * (log_b_[k] + sum);
  return sum;
}

// x log lambda - nu log x! - log Z with lambda = (b / nu)^nu: with u = x nu / b - 1 it is
//   -b [(1 + u) log(1 + u) - u] - nu / 2 log(2 pi x) - nu S(x) - (log Z - b), S the remainder of Stirling's formula.
ConwayMaxwell::Density ConwayMaxwell::density_by_series(double eta) const {
  const double M = nu_ * std::exp(eta), excess = M * std::expm1(log_b_share(eta));
  return {nu_, M, excess, M + excess, by_series(eta).log_total - M - excess};
}

double ConwayMaxwell::Density::operator()(double x) const {
  const double ratio = x * nu / b;
  const double away = ratio < 0.5 ? ratio * std::log(ratio) - ratio + 1.0 : count_divergence((x * nu - M - excess) / b);
  return -b * away - nu * (0.5 * std::log(2.0 * pi * x) + stirling_error(x)) - rest;
}

double ConwayMaxwell::log_density(double y, double eta) const {
  if (y > 0.0 && eta >= end_) return eta > 700.0 ? -infinity : density_by_series(eta)(y);
  const Point point = at(eta);
  return (y > 0.0 ? y * point.log_rate - nu_ * log_factorial(y) : 0.0) - point.log_total;
}

double ConwayMaxwell::cdf(double y, double eta) const {
  if (y < 0.0) return 0.0;
  if (std::isnan(eta)) return eta;  // no term of the sum would be the last
  if (eta > 700.0) return 0.0;
  const double mean = std::exp(eta), last = std::floor(y);
  const Point point = at(std::max(eta, lowest));
  const double sd = std::sqrt(mean / point.slope[0]);
  if (last == infinity || last > mean + 1e3 * (sd + 1.0 / nu_ + 1.0)) return 1.0;
  // Edgeworth's series, of skewness 1 / (nu sd), to a share of 1 / sd^2: sums have lost these digits, since log
  // probabilities are differences of numbers of the size of the mean.
  constexpr double nearly_normal = 1e5;
  if (sd > nearly_normal) {
    const double z = (last + 0.5 - mean) / sd;
    return std::min(1.0, std::max(0.0, normal_cdf(z) - (z * z - 1.0) * normal_density(z) / (6.0 * nu_ * sd)));
  }
  const bool left = last < mean;
  // of responses above 0 in the region of the series
  const Density density = eta >= end_ ? density_by_series(eta) : Density{};
  const auto log_density_at = [&](double x) {
    if (eta >= end_ && x > 0.0) return density(x);
    return x * point.log_rate - nu_ * log_factorial_table(x) - point.log_total;
  };
  if (left && log_density_at(last) < no_number) return 0.0;
  double sum = 0.0, top = -infinity;
  const auto add = [&](double x, double weight) {
    const double l = log_density_at(x);
    top = std::max(top, l);
    sum += weight * std::exp(l);
    return l >= top + negligible || x <= mean;
  };
  if (!left) {
    for_integers(last + 1.0, infinity, block_sds * sd, add);
    return std::max(0.0, 1.0 - sum);
  }
  const double begin = std::max(0.0, std::floor(last - 14.0 * sd - 20.0));
  for_integers(begin, last + 1.0, block_sds * sd, add);
  return std::min(1.0, sum);
}

}  // namespace galvi

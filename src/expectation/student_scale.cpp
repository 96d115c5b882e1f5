// Student's t with a predicted scale, and with predicted degrees of freedom: all latent values under one integral.
#include <algorithm>
#include <cmath>

#include "expectation/plane_forms.h"
#include "numeric/special_functions.h"
#include "quadrature/log_normal_transform.h"
#include "quadrature/shifted_means.h"

namespace galvi {
namespace {

constexpr double log_step = 0.25;    // errors of exp(-39) times a power of 25
constexpr double most_nodes = 1 << 19;  // limits the time for marginals of no practical use
constexpr Index block = LogNormalTransform::block;

/// With X = y - eta_1 ~ N(r, v_1), s = eta_2 and F_q(t) = E S^q exp(-S), log S ~ N(t, 4 v_2):
///   E log(1 + X^2 exp(-2 s) / df) = int [1 - phi(u)] F_0(u - gap) du,   phi(u) = E exp(-exp(u) X^2 / Lambda),
/// as log(1 + x) = int [1 - exp(-x z)] exp(-z) dz / z, z = exp(u - gap). Lambda = E X^2 + df exp(2 m_2) is the unit
/// of X^2, and gap = log Lambda - log df - 2 m_2 >= 0.
/// With Q = exp(u), rho = r / sqrt(Lambda), w = v_1 / Lambda, d = 1 + 2 w Q and K = Q / d
///   phi = exp(-K rho^2) / sqrt(d).
class StudentLattice {
 public:
  StudentLattice(const StudentScale& form, const double* mean, const double* variance) : variance_(4.0 * variance[1]) {
    const double r = form.y - mean[0], root = std::hypot(r, std::sqrt(variance[0]));
    const double own = 2.0 * std::log(root), noise = std::log(form.df) + 2.0 * mean[1];
    const double top = std::max(own, noise), log_unit = top + std::log1p(std::exp(-std::fabs(own - noise)));
    gap_ = log_unit - noise;
    const double share = root > 0.0 ? std::exp(0.5 * (own - log_unit)) : 0.0;
    rho_ = root > 0.0 ? r / root * share : 0.0;
    width_ = root > 0.0 ? share * share * (variance[0] / root / root) : 0.0;
    unit_ = std::exp(-0.5 * log_unit);
  }

  /// out: derivatives of that integral in m_1 (p) and m_2 (q), p + q <= 2 or, for order 2, 4.
  /// tilted: it is accurate relative to itself, as something large multiplies it.
  void integrate(int order, bool tilted, MeanDerivatives& out) const {
    constexpr double negligible = 16.0;
    LogNormalTransform transform;
    const double first = std::min(-negligible, gap_ - LogNormalTransform::left(variance_));
    const double last = gap_ + LogNormalTransform::right(variance_) + (tilted ? variance_ : 0.0);
    double step = log_step;
    while (last - first >= most_nodes * step) step *= 2.0;
    transform.place(first - gap_, step, variance_, tilted);
    sum_tail(std::exp(first) * step / std::expm1(step), out);
    double F[3][block];
    double* const at[3] = {F[0], F[1], F[2]};
    const double growth = std::exp(step);
    double u = first;
    for (Index from = 0; u <= last; from += block) {
      transform.evaluate(from, block, order > 1 ? 3 : 2, at);
      double Q = std::exp(u);
      for (Index i = 0; i < block; ++i, Q *= growth) {
        const double f[3] = {step * F[0][i], step * F[1][i], order > 1 ? step * F[2][i] : 0.0};
        if (f[0] > 0.0 || f[1] > 0.0) add(Q, f, order, out);
      }
      u += static_cast<double>(block) * step;
    }
    double scale = 1.0;
    for (int p = 0; p < 5; ++p, scale *= unit_)
      for (int q = 0; q < 5; ++q) out.f[p][q] *= scale * static_cast<double>(1 << q);
  }

 private:
  // Left of the first node F_0 is 1, and 1 - phi is Q (rho^2 + w).   Q: its sum over these nodes, times the step
  void sum_tail(double Q, MeanDerivatives& out) const {
    out.f[0][0] = Q * (rho_ * rho_ + width_);
    out.f[1][0] = -2.0 * Q * rho_;
    out.f[2][0] = 2.0 * Q;
  }
  // Derivatives in m_1 are those of phi, d/dm_1 = -d/dr. Those in m_2 are twice the ones in t, moved by
  // integration by parts: F_0' = -F_1 and F_0'' = F_2 - F_1, the rest acts on 1 - phi as derivatives in u.
  void add(double Q, const double f[3], int order, MeanDerivatives& out) const {
    Q = std::min(Q, 1e60);  // where phi is negligible
    const double d = 1.0 + 2.0 * width_ * Q, K = Q / d, a = K * rho_, square = a * rho_;
    const double log_phi = -0.5 * std::log1p(2.0 * width_ * Q) - square, phi = std::exp(log_phi);
    // d log phi / du, with dK/du = K / d
    const double slope = -K * (width_ + rho_ * rho_ / d), phi_u = phi * slope;
    const double one = 2.0 * a * phi, two = (4.0 * a * a - 2.0 * K) * phi;
    out.f[0][0] -= std::expm1(log_phi) * f[0];
    out.f[1][0] -= one * f[0];
    out.f[2][0] -= two * f[0];
    out.f[0][1] += std::expm1(log_phi) * f[1];
    out.f[0][2] -= phi_u * f[1];
    if (order < 2) return;
    const double bend = slope / d + 2.0 * width_ * K * square / d;
    const double phi_uu = phi * (slope * slope + bend), second = f[2] - f[1];
    out.f[3][0] -= (8.0 * a * a * a - 12.0 * a * K) * phi * f[0];
    out.f[4][0] -= (16.0 * a * a * (a * a - 3.0 * K) + 12.0 * K * K) * phi * f[0];
    out.f[1][1] += one * f[1];
    out.f[2][1] += two * f[1];
    out.f[1][2] -= one * second;
    out.f[2][2] -= two * second;
    out.f[0][3] += phi_uu * f[1];
    out.f[0][4] -= phi_uu * second;
  }

  double variance_, gap_, rho_, width_, unit_;
};

/// The constant of log p as a function of x = log(df / 2): with a = exp(x), log Gamma(a + 1 / 2) - log Gamma(a) -
/// log(2 pi a) / 2, by what Stirling's formula leaves of both.
struct TailConstant {
  static constexpr double line_end = LogGammaPart::line_end;
  double slope() const { return 0.5; }  // of the line
  double intercept() const { return -0.5 * std::log(2.0); }
  double operator()(double x) const {
    const double a = std::exp(x), next = a + 0.5;
    return stirling_error(next, std::log(next)) - stirling_error(a, x) + a * std::log1p(0.5 / a) - 0.5 - log_sqrt_2pi;
  }
};

}  // namespace

MeanDerivatives expect(const StudentScale& form, const double* mean, const double* variance, int order) {
  MeanDerivatives out;
  StudentLattice(form, mean, variance).integrate(order, false, out);
  for (auto& row : out.f)
    for (double& value : row) value *= -0.5 * (form.df + 1.0);
  out.f[0][0] += form.constant - mean[1];
  out.f[0][1] -= 1.0;
  return out;
}

// The integral depends on df as it does on exp(-2 m_2).
double slope_in_df(const StudentScale& form, const double* mean, const double* variance) {
  MeanDerivatives integral;
  StudentLattice(form, mean, variance).integrate(1, false, integral);
  return form.constant_slope - 0.5 * integral.f[0][0] - 0.25 * (form.df + 1.0) / form.df * integral.f[0][1];
}

// With G(s) = E log(1 + X^2 exp(-2 s)), log(1 + x^2 / df) is that at s = eta_2 + eta_3 / 2, of mean m_2 + m_3 / 2 and
// variance v_2 + v_3 / 4; and df = exp(eta_3) times it is A = exp(m_3 + v_3 / 2) times that under a Gaussian whose mean
// of eta_3 has moved by v_3. So that derivatives in m_3 are (1 / 2 d/ds)^r of the first and (1 + 1 / 2 d/ds)^r of the
// second.
bool add_expectation(const StudentTails& form, const double* mean, const double* variance, int order,
                     RowExpectation& out) {
  constexpr double most = 500.0, widest = 25.0;
  const double log_df = mean[2] + 0.5 * variance[2];
  if (!(std::fabs(mean[2]) < most && log_df < most && variance[1] + 0.25 * variance[2] < widest)) return false;
  const StudentScale unit{form.y, 1.0, 0.0, 0.0, -1};
  const double at[] = {mean[0], mean[1] + 0.5 * mean[2]}, moved[] = {mean[0], at[1] + 0.5 * variance[2]};
  const double spread[] = {variance[0], variance[1] + 0.25 * variance[2]};
  MeanDerivatives one, other;
  StudentLattice(unit, at, spread).integrate(order, false, one);
  StudentLattice(unit, moved, spread).integrate(order, true, other);
  const double df = std::exp(log_df);
  double constant[5];
  ShiftedMeans means;
  const double log_a = mean[2] - std::log(2.0);
  means.place(variance[2], log_a, log_a, 2, TailConstant{});  // the same nodes for either order
  means.means(log_a, constant);
  // E d^(p + q + r) log p / d eta_1^p d eta_2^q d eta_3^r, the powers being i of eta_k and j of eta_l
  const auto derivative = [&](int k, int i, int l, int j) {
    int power[3] = {};
    power[k] += i;
    power[l] += j;
    const auto [p, q, r] = power;
    double tilted = 0.0, weight = 1.0;
    for (int m = 0; m <= r; ++m) {
      tilted += weight * other.f[p][q + m];
      weight *= 0.5 * (r - m) / (m + 1);
    }
    const double value = -0.5 * (std::ldexp(one.f[p][q + r], -r) + df * tilted);
    return p == 0 && q == 0 ? value + constant[r] : value;
  };
  out.value += derivative(0, 0, 0, 0) - mean[1];
  out.d_m[1] -= 1.0;
  for (int k = 0; k < 3; ++k) {
    out.d_m[k] += derivative(k, 1, k, 0);
    out.d_v[k] += 0.5 * derivative(k, 2, k, 0);
    if (order < 2) continue;
    for (int l = 0; l < 3; ++l) {
      const int place = k + 3 * l;
      out.d_mm[place] += derivative(k, 1, l, 1);
      out.d_mv[place] += 0.5 * derivative(k, 1, l, 2);
      out.d_vv[place] += 0.25 * derivative(k, 2, l, 2);
    }
  }
  return true;
}

}  // namespace galvi

// Student's t with a predicted scale: both latent values under one integral.
#include <algorithm>
#include <cmath>

#include "expectation/plane_forms.h"
#include "quadrature/log_normal_transform.h"

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
  void integrate(int order, MeanDerivatives& out) const {
    constexpr double negligible = 16.0;
    LogNormalTransform transform;
    const double first = std::min(-negligible, gap_ - LogNormalTransform::left(variance_));
    const double last = gap_ + LogNormalTransform::right(variance_);
    double step = log_step;
    while (last - first >= most_nodes * step) step *= 2.0;
    transform.place(first - gap_, step, variance_, false);
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
    const double log_phi = -0.5 * std::log(d) - square, phi = std::exp(log_phi);
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

}  // namespace

MeanDerivatives expect(const StudentScale& form, const double* mean, const double* variance, int order) {
  MeanDerivatives out;
  StudentLattice(form, mean, variance).integrate(order, out);
  for (auto& row : out.f)
    for (double& value : row) value *= -0.5 * (form.df + 1.0);
  out.f[0][0] += form.constant - mean[1];
  out.f[0][1] -= 1.0;
  return out;
}

// The integral depends on df as it does on exp(-2 m_2).
double slope_in_df(const StudentScale& form, const double* mean, const double* variance) {
  MeanDerivatives integral;
  StudentLattice(form, mean, variance).integrate(1, integral);
  return form.constant_slope - 0.5 * integral.f[0][0] - 0.25 * (form.df + 1.0) / form.df * integral.f[0][1];
}

}  // namespace galvi

#include "quadrature/shifted_means.h"

#include "numeric/special_functions.h"

namespace galvi {
namespace {

constexpr double narrowest = 0.08;
constexpr double strip = 2.6;
// Errors are exp(-38) times powers of 2 pi / step; those of polynomials of degree 12 need a denser lattice.
constexpr double wide_exponent = 38.0, narrow_exponent = 50.0;
constexpr double wide_reach = 8.5, narrow_reach = 9.5;

double lattice_step(double variance, double exponent) {
  const double d = std::min(strip, std::sqrt(2.0 * exponent * variance));
  return 2.0 * pi * d / (exponent + 0.5 * d * d / variance);
}

}  // namespace

void ShiftedMeans::set(double variance, int order, double line_end, double slope, double intercept) {
  const bool is_narrow = variance < narrowest * narrowest;
  const double squared = is_narrow ? narrowest * narrowest : variance, excess = variance / squared - 1.0;
  sd_ = std::sqrt(squared);
  step_ = lattice_step(squared, is_narrow ? narrow_exponent : wide_exponent);
  reach_ = is_narrow ? narrow_reach : wide_reach;
  orders_ = order > 1 ? 5 : 3;
  last_ = is_narrow ? (order > 1 ? 12 : 8) : orders_ - 1;
  std::fill(share_, share_ + last_degree + 1, 0.0);
  share_[0] = 1.0;
  if (is_narrow)
    for (int n = 2; n <= last_degree; n += 2) share_[n] = share_[n - 2] * excess / n;
  line_end_ = line_end;
  slope_ = slope;
  intercept_ = intercept;
}

void ShiftedMeans::means(double c, double out[5]) const {
  if (c + reach_ * sd_ < line_end_) {
    out[0] = intercept_ + slope_ * c;
    out[1] = slope_;
    out[2] = out[3] = out[4] = 0.0;
    return;
  }
  switch (last_) {
    case 2:
      return sum<2>(c, out);
    case 4:
      return sum<4>(c, out);
    case 8:
      return sum<8>(c, out);
    default:
      return sum<last_degree>(c, out);
  }
}

// From the node next to c outwards, where each weight is the last one times a ratio that shrinks by a
// constant factor. The sample at that node is subtracted from all, as rounding errors of derivatives are
// relative to them.
template <int Last>
void ShiftedMeans::sum(double c, double out[5]) const {
  const double unit = step_ / sd_;
  const auto count = static_cast<Index>(samples_.size());
  const Index centre = std::clamp<Index>(static_cast<Index>(std::lround((c - first_) / step_)), 0, count - 1);
  const auto taps = static_cast<Index>(std::ceil(reach_ / unit));
  const double z0 = (first_ + static_cast<double>(centre) * step_ - c) / sd_, base = samples_[centre];
  const double shrink = std::exp(-unit * unit), peak = std::exp(-0.5 * z0 * z0);
  double sums[Last + 1] = {};
  const auto add = [&](double z, double share) {
    double below = 0.0, at = 1.0;  // He_{k - 1}, He_k
    for (int k = 0; k <= Last; ++k) {
      sums[k] += share * at;
      const double next = z * at - k * below;
      below = at;
      at = next;
    }
  };
  for (const int side : {1, -1}) {
    double weight = peak, ratio = std::exp(-unit * (side * z0 + 0.5 * unit)), z = z0;
    const Index last = side > 0 ? std::min(taps, count - 1 - centre) : std::min(taps, centre);
    for (Index j = 1; j <= last; ++j) {
      weight *= ratio;
      ratio *= shrink;
      z += side * unit;
      add(z, weight * (samples_[centre + side * j] - base));
    }
  }
  double scale = unit / std::sqrt(2.0 * pi);
  for (int q = 0; q < orders_; ++q, scale /= sd_) {
    double total = 0.0;
    for (int k = q; k <= Last; k += 2) total += sums[k] * share_[k - q];
    out[q] = scale * total;
  }
  for (int q = orders_; q < 5; ++q) out[q] = 0.0;
  out[0] += base;
}

}  // namespace galvi

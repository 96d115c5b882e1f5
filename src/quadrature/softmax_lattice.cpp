#include "quadrature/softmax_lattice.h"

#include <algorithm>
#include <cmath>

#include "numeric/special_functions.h"

namespace galvi {
namespace {

constexpr double least_step = 0.25;
// Limits the time for variances beyond 1e8, at the cost of accuracy.
constexpr double most_nodes = 1 << 19;
constexpr double negligible_factor = 1e-280;

// The largest power of 2 at which the sums, fourth derivatives included, are accurate to about 1e-12.
double step_for(double shared_variance, double width) {
  double step = least_step;
  for (;;) {
    const double w = pi / step;  // of twice the step
    const double exponent = 0.5 * w * (pi + shared_variance * w);
    if (!(exponent >= 28.0 + 2.5 * std::log1p(w)) && !(width >= most_nodes * step)) return step;
    step *= 2.0;
  }
}

}  // namespace

void SoftmaxLattice::place(const Softmax& classes, const double* mean, const double* variance, bool relative,
                           double extra) {
  const Index C = classes.classes;
  auto mean_of = [&](Index c) { return c == classes.reference ? 0.0 : mean[classes.latent_of(c)]; };
  // A variance of zero may be -0.
  auto variance_of = [&](Index c) {
    return c == classes.reference ? 0.0 : std::fabs(variance[classes.latent_of(c)]);
  };
  transforms_.resize(C);
  tail.resize(C);
  shift = -infinity;
  for (Index c = 0; c < C; ++c) shift = std::max(shift, mean_of(c));
  first = infinity;
  double precision = 0.0, width = 0.0;
  for (Index c = 0; c < C; ++c) {
    const double reach = LogNormalTransform::left(variance_of(c));
    first = std::min(first, shift - mean_of(c) - reach);
    precision += 1.0 / variance_of(c);
    width = std::max(width, 2.0 * reach);
  }
  first -= extra;
  step = step_for(1.0 / precision, width);
  nodes = width / step;
  const double geometric = step / std::expm1(step);
  for (Index c = 0; c < C; ++c) {
    const double t = first + (mean_of(c) - shift);
    tail[c] = geometric * LogNormalTransform::tail(t, variance_of(c));
    transforms_[c].place(t, step, variance_of(c), relative);
  }
  for (Columns* part : {&f[0], &f[1], &f[2], &rate}) part->resize(block, C);
  done_ = 0;
}

void SoftmaxLattice::next(int orders) {
  weight.setConstant(step);
  for (Index c = 0; c < classes(); ++c) {
    double* const at[3] = {f[0].col(c).data(), f[1].col(c).data(), f[2].col(c).data()};
    transforms_[c].evaluate(done_, block, orders, at);
    weight *= f[0].col(c);
  }
  // Where F_0 is negligible, so is the weight.
  rate = (f[0] > negligible_factor).select(f[1] / f[0], 0.0);
  done_ += block;
}

}  // namespace galvi

#include "solver/known_sums.h"

#include <algorithm>

#include <Eigen/QR>

namespace galvi {

namespace {

// N numbers twice for each, so not too many; the first are the oldest.
constexpr std::size_t most = 8;

// Rows that are looked at to find a combination, which all rows must then confirm.
constexpr Index looked_at = 200;

constexpr double rounding = 2e-15;  // of the largest number

Vector part(const Vector& lambda, const Vector& b, Index stride) {
  const Index n = (lambda.size() + stride - 1) / stride;
  Vector out(2 * n);
  for (Index i = 0; i < n; ++i) {
    out[i] = lambda[i * stride];
    out[n + i] = b[i * stride];
  }
  return out;
}

}  // namespace

void KnownSums::add(const Vector& lambda, const Vector& b, const SiteSums& sums) {
  if (known_.size() == most) known_.pop_front();
  known_.push_back({lambda, b, sums});
}

std::optional<SiteSums> KnownSums::find(const Vector& lambda, const Vector& b) const {
  const Index m = static_cast<Index>(known_.size());
  if (m == 0) return std::nullopt;
  const Index stride = std::max<Index>(1, lambda.size() / looked_at);
  const Vector wanted = part(lambda, b, stride);
  Matrix columns(wanted.size(), m);
  Vector size(m);
  for (Index i = 0; i < m; ++i) {
    columns.col(i) = part(known_[i].lambda, known_[i].b, stride);
    size[i] = std::max(columns.col(i).norm(), 1e-300);
    columns.col(i) /= size[i];
  }
  const Vector share = columns.colPivHouseholderQr().solve(wanted).cwiseQuotient(size);
  Vector lambda_left = lambda, b_left = b;
  for (Index i = 0; i < m; ++i) {
    lambda_left -= share[i] * known_[i].lambda;
    b_left -= share[i] * known_[i].b;
  }
  const auto largest = [](const Vector& x) { return x.cwiseAbs().maxCoeff(); };
  if (!(largest(lambda_left) <= rounding * largest(lambda) && largest(b_left) <= rounding * largest(b)))
    return std::nullopt;
  SiteSums out{share[0] * known_[0].sums.cross, share[0] * known_[0].sums.projected};
  for (Index i = 1; i < m; ++i) {
    out.cross += share[i] * known_[i].sums.cross;
    out.projected += share[i] * known_[i].sums.projected;
  }
  return out;
}

}  // namespace galvi

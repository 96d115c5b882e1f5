#include "quadrature/class_points.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "function/elementwise.h"
#include "function/normal.h"
#include "numeric/even_points.h"
#include "numeric/special_functions.h"
#include "quadrature/class_nodes.h"

namespace galvi {

namespace {

/// The distance of nodes along a direction of this sd. With frequencies k the spectrum of a softmax falls as
/// exp(-2 pi^2 k / s), that of the density as exp(-2 pi^2 k^2), and that of their product as the largest product of the
/// two at frequencies that add up to k.
double distance_of(double sd, double exponent) {
  constexpr double least = 2.2;  // three nodes
  const double e = std::max(0.5 * exponent + 2 * std::log(std::min(sd, 1.0)), least);
  const double of_density = std::sqrt(0.5 * e) / pi;
  return 1 / (2 * sd * of_density <= 1 ? of_density : 0.5 * e * sd / (pi * pi) + 0.25 / sd);
}

/// Nodes within a ball, one after the other.
class LatticeNodes {
 public:
  LatticeNodes(const Vector& distance, double radius) : distance_(distance), z_(distance.size()) {
    for (const double shift : {0.0, 0.5}) add(distance.size() - 1, shift, radius * radius);
  }
  /// r x nodes
  Eigen::Map<const Matrix> all() const {
    return {nodes_.data(), z_.size(), static_cast<Index>(nodes_.size()) / z_.size()};
  }

 private:
  // With coordinates from i down to 0 whose squares add up to at most `left`.
  void add(Index i, double shift, double left) {
    const double last = std::sqrt(left) / distance_[i];
    for (double j = std::ceil(-last - shift) + shift; j <= last; ++j) {
      z_[i] = j * distance_[i];
      if (i > 0)
        add(i - 1, shift, std::max(left - z_[i] * z_[i], 0.0));
      else
        nodes_.insert(nodes_.end(), z_.data(), z_.data() + z_.size());
    }
  }

  const Vector& distance_;
  Vector z_;
  std::vector<double> nodes_;
};

/// Mirrored points whose second moments are those of the normal distribution.
Matrix even_normals(Index points, Index r) {
  const Index half = points / 2;
  Matrix out(2 * half, r);
  out.topRows(half) = even_points(half, r).unaryExpr([](double u) { return normal_quantile(u); });
  out.bottomRows(half) = -out.topRows(half);
  const Eigen::LLT<Matrix> moments(out.transpose() * out / static_cast<double>(out.rows()));
  moments.matrixU().solveInPlace<Eigen::OnTheRight>(out);
  return out;
}

/// eta of all classes becomes their probabilities, row after row.
void softmax_each(Matrix& eta) {
  Vector row = eta.col(0);  // the largest, then one over the sum
  for (Index c = 1; c < eta.cols(); ++c) row = row.cwiseMax(eta.col(c));
  eta.colwise() -= row;
  exp_each(Eigen::Map<Eigen::ArrayXd>(eta.data(), eta.size()));
  row = eta.col(0);
  for (Index c = 1; c < eta.cols(); ++c) row += eta.col(c);
  row = row.cwiseInverse().eval();
  for (Index c = 0; c < eta.cols(); ++c) eta.col(c) = eta.col(c).cwiseProduct(row);
}

}  // namespace

ClassRule::ClassRule(const Softmax& classes)
    : classes_(classes),
      contrasts_(class_contrasts(classes.classes)),
      of_latents_(classes.latents(), contrasts_.cols()),
      even_(even_normals(most, contrasts_.cols())) {
  for (Index c = 0; c < classes.classes; ++c)
    if (const Index k = classes.latent_of(c); k >= 0) of_latents_.row(k) = contrasts_.row(c);
  const double half = 0.5 * static_cast<double>(contrasts_.cols());
  log_ball_ = half * std::log(pi) - log_gamma(half + 1);
}

void ClassRule::place(const Vector& mean, const Matrix& V, double exponent, ClassPoints& out) const {
  const Index r = contrasts_.cols();
  Matrix& eta = out.probability;
  const Eigen::SelfAdjointEigenSolver<Matrix> own(of_latents_.transpose() * V * of_latents_);
  const Vector sd = own.eigenvalues().cwiseMax(0.0).cwiseSqrt();
  Matrix root = contrasts_ * own.eigenvectors() * sd.asDiagonal();
  const double radius = std::sqrt(1.6 * exponent);
  const Vector distance = sd.unaryExpr([&](double s) { return distance_of(s, exponent); });
  const double log_volume = log_ball_ + static_cast<double>(r) * std::log(radius);
  if (log_volume + std::log(2.0) - distance.array().log().sum() > std::log(static_cast<double>(most))) {
    eta.noalias() = even_ * root.transpose();
    out.weight.setConstant(most, 1 / static_cast<double>(most));
  } else {
    const LatticeNodes nodes(distance, radius);
    const auto z = nodes.all();
    out.weight = (-0.5 * z.colwise().squaredNorm().transpose().array()).exp();
    out.weight /= out.weight.sum();
    root *= (z.cwiseAbs2() * out.weight).cwiseSqrt().cwiseInverse().asDiagonal();  // variances of one
    eta.noalias() = z.transpose() * root.transpose();
  }
  for (Index c = 0; c < classes_.classes; ++c)
    if (const Index k = classes_.latent_of(c); k >= 0) eta.col(c).array() += mean[k];
  softmax_each(eta);
}

}  // namespace galvi

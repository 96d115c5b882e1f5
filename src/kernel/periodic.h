// Periodic: variance exp(-2 sum_d sin^2(pi (x_d - z_d) / period_d) / lengthscale_d^2).
#pragma once

#include "kernel/arrays.h"
#include "kernel/spec.h"

namespace galvi {

/// `se` on the circle: with the angle a = 2 pi x / period, 4 sin^2((a - b) / 2) is the squared distance
/// between (cos a, sin a) and (cos b, sin b). Sines are taken once per row and not per pair.
class Periodic final : public Kernel {
 public:
  explicit Periodic(const KernelSpec& spec)
      : columns_(spec.columns),
        variance_at_(position(spec, "variance")),
        lengthscale_at_(positions(spec, "lengthscale", true)),
        period_at_(positions(spec, "period", true)),
        lengthscale_(Vector::Ones(static_cast<Index>(spec.columns.size()))),
        period_(lengthscale_) {}
  static KernelFacts facts() {
    return {{KernelParameter::variance(), KernelParameter::lengthscale(), KernelParameter::period()}};
  }

  void update(const ConstVectorRef& hyper) override {
    variance_ = non_negative(hyper, variance_at_, "variance");
    for (Index d = 0; d < period_.size(); ++d) {
      lengthscale_[d] = positive(hyper, at(lengthscale_at_, d), "lengthscale");
      period_[d] = positive(hyper, at(period_at_, d), "period");
    }
  }

  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    const Matrix x = on_circles(X);
    const Matrix z = on_circles(Z).transpose();
    for (Index j = 0; j < z.cols(); ++j) {
      auto column = out.col(j).array();
      correlate(x, z.col(j), column);
      column *= variance_;
    }
  }

  void diagonal(const ConstMatrixRef&, VectorRef out) const override { out.setConstant(variance_); }

  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override {
    const Matrix x = on_circles(X);
    const Matrix z = on_circles(Z).transpose();
    Eigen::ArrayXd w(x.rows()), slope(x.rows());
    for (Index j = 0; j < z.cols(); ++j) {
      correlate(x, z.col(j), w);
      w *= G.col(j).array();
      hyper[variance_at_] += w.sum();
      w *= variance_;
      for (Index d = 0; d < period_.size(); ++d) {
        const auto cosine = x.col(2 * d).array();
        const auto sine = x.col(2 * d + 1).array();
        const double cosine_z = z(2 * d, j), sine_z = z(2 * d + 1, j);
        // The points are divided by the lengthscale: log k = -distance^2 / 2.
        const double squares = (w * ((cosine - cosine_z).square() + (sine - sine_z).square())).sum();
        hyper[at(lengthscale_at_, d)] += squares / lengthscale_[d];
        // dlog k / d(x - z) = -(2 pi / period) sin(a - b) / lengthscale^2
        slope = w * (sine * cosine_z - cosine * sine_z) * (2 * pi / period_[d]);
        const double z_d = Z(j, columns_[d]);
        hyper[at(period_at_, d)] += (slope * (X.col(columns_[d]).array() - z_d)).sum() / period_[d];
        if (inputs != nullptr) (*inputs)(j, columns_[d]) += slope.sum();
      }
    }
  }

  void diagonal_gradient(const ConstMatrixRef&, const ConstVectorRef& g, VectorRef hyper) const override {
    hyper[variance_at_] += g.sum();
  }

 private:
  static constexpr double pi = 3.141592653589793238462643383279502884;

  static Index at(const std::vector<Index>& positions, Index d) {
    return positions.size() == 1 ? positions[0] : positions[d];
  }

  // a x 2p: cosine and sine of each column's angle, over its lengthscale.
  Matrix on_circles(const ConstMatrixRef& X) const {
    Matrix out(X.rows(), 2 * period_.size());
    for (Index d = 0; d < period_.size(); ++d) {
      for (Index i = 0; i < X.rows(); ++i) {
        const double turns = X(i, columns_[d]) / period_[d];
        const double angle = std::isfinite(turns) ? 2 * pi * (turns - std::floor(turns)) : 0;
        out(i, 2 * d) = std::cos(angle) / lengthscale_[d];
        out(i, 2 * d + 1) = std::sin(angle) / lengthscale_[d];
      }
    }
    return out;
  }

  void correlate(const Matrix& x, const ConstVectorRef& z, ArrayRef out) const {
    squared_distances(x, z, out);
    out *= 0.5;
    exp_minus(out);
  }

  std::vector<Index> columns_;
  Index variance_at_;
  std::vector<Index> lengthscale_at_, period_at_;
  double variance_ = 1;
  Vector lengthscale_, period_;  // one per column
};

}  // namespace galvi

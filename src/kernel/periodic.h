// Periodic: variance exp(-2 sum_d sin^2(pi (x_d - z_d) / period_d) / lengthscale_d^2).
#pragma once

#include "kernel/arrays.h"
#include "kernel/harmonics.h"
#include "kernel/spec.h"
#include "kernel/state_space.h"

namespace galvi {

/// `se` on the circle: with the angle a = 2 pi x / period, 4 sin^2((a - b) / 2) is the squared distance
/// between (cos a, sin a) and (cos b, sin b). Sines are taken once per row and not per pair.
///
/// Of one input it is a series of harmonics (kernel/harmonics.h), z = 1 / lengthscale^2, whose variances fall faster
/// than any power. The constant `harmonics` says where it may end; then it is a set of columns and a Markov
/// process, whose states turn (Solin and Sarkka 2014).
class Periodic final : public Kernel, private StateSpace, private Spectrum {
 public:
  explicit Periodic(const KernelSpec& spec)
      : columns_(spec.columns),
        variance_at_(position(spec, "variance")),
        lengthscale_at_(positions(spec, "lengthscale", true)),
        period_at_(positions(spec, "period", true)),
        lengthscale_(Vector::Ones(static_cast<Index>(spec.columns.size()))),
        period_(lengthscale_) {
    const auto harmonics = spec.constants.find("harmonics");
    if (harmonics == spec.constants.end()) return;
    if (!(harmonics->second >= 0 && harmonics->second <= most_harmonics) || columns_.size() != 1)
      throw std::invalid_argument("kernel 'periodic' has a number of harmonics where it acts on one column");
    last_ = static_cast<Index>(harmonics->second);
    series_ = CircleSeries(1, last_ + 1);
  }
  static KernelFacts facts() {
    KernelFacts facts{{KernelParameter::variance(), KernelParameter::lengthscale(), KernelParameter::period()}};
    facts.lines = KernelFacts::Lines::series;
    return facts;
  }

  void update(const ConstVectorRef& hyper) override {
    variance_ = non_negative(hyper, variance_at_, "variance");
    for (Index d = 0; d < period_.size(); ++d) {
      lengthscale_[d] = positive(hyper, at(lengthscale_at_, d), "lengthscale");
      period_[d] = positive(hyper, at(period_at_, d), "period");
    }
    if (last_ < 0) return;
    const double z = 1 / (lengthscale_[0] * lengthscale_[0]);
    series_ = CircleSeries(std::min(z, largest_z), last_ + 1);
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
  const StateSpace* state_space() const override { return last_ < 0 ? nullptr : this; }
  const Spectrum* spectrum() const override { return last_ < 0 ? nullptr : this; }

 private:
  static constexpr double pi = 3.141592653589793238462643383279502884;
  static constexpr double most_harmonics = 1e6;
  static constexpr double largest_z = 1e12;

  std::vector<Harmonics> harmonics() const override { return {{0, period_[0], variance_ * series_.value}}; }
  void add_harmonics_gradient(const std::vector<Harmonics>& by, VectorRef hyper) const override {
    hyper[variance_at_] += by[0].variance.dot(series_.value);
    // dz / d lengthscale = -2 / lengthscale^3
    hyper[lengthscale_at_[0]] -=
        2 * variance_ * by[0].variance.dot(series_.slope) / (lengthscale_[0] * lengthscale_[0] * lengthscale_[0]);
    hyper[period_at_[0]] += by[0].period;
  }

  // The states: the level, then two for each harmonic. Nothing is added as they turn.
  Index dimension() const override { return 2 * last_ + 1; }
  std::vector<Index> blocks() const override {
    std::vector<Index> out(last_ + 1, 2);
    out[0] = 1;
    return out;
  }
  void observe(VectorRef h) const override {
    for (Index i = 0; i < h.size(); ++i) h[i] = i == 0 || i % 2 == 1 ? 1 : 0;
  }
  void covariance(double, MatrixRef P) const override {
    P.setZero();
    for (Index i = 0; i < P.rows(); ++i) P(i, i) = variance_ * series_.value[(i + 1) / 2];
  }
  void step(double, double gap, MatrixRef A, MatrixRef Q) const override {
    A.setZero();
    Q.setZero();
    A(0, 0) = 1;
    for (Index j = 1; j <= last_; ++j) {
      const auto [cosine, sine] = turned(static_cast<double>(j) * gap);
      A.block<2, 2>(2 * j - 1, 2 * j - 1) << cosine, -sine, sine, cosine;
    }
  }
  void add_covariance_gradient(double, const ConstMatrixRef& G, VectorRef hyper) const override {
    std::vector<Harmonics> by = {{0, 0.0, Vector::Zero(last_ + 1)}};
    for (Index i = 0; i < G.rows(); ++i) by[0].variance[(i + 1) / 2] += G(i, i);
    add_harmonics_gradient(by, hyper);
  }
  void add_step_gradient(double, double gap, const ConstMatrixRef& G_A, const ConstMatrixRef&,
                         VectorRef hyper) const override {
    for (Index j = 1; j <= last_; ++j) {
      const auto G = G_A.block<2, 2>(2 * j - 1, 2 * j - 1);
      const auto [cosine, sine] = turned(static_cast<double>(j) * gap);
      const double by_angle = -sine * (G(0, 0) + G(1, 1)) + cosine * (G(1, 0) - G(0, 1));
      hyper[period_at_[0]] -= by_angle * 2 * pi * static_cast<double>(j) * gap / (period_[0] * period_[0]);
    }
  }
  /// Cosine and sine after this distance.
  std::pair<double, double> turned(double x) const {
    const double turns = x / period_[0];
    const double angle = std::isfinite(turns) ? 2 * pi * (turns - std::floor(turns)) : 0;
    return {std::cos(angle), std::sin(angle)};
  }

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
  Index last_ = -1;              // harmonic; -1: no series is asked for
  CircleSeries series_{1, 0};
};

}  // namespace galvi

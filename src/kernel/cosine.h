// Cosine: variance cos(2 pi (x - z) / period), a single harmonic of one input.
#pragma once

#include "kernel/harmonics.h"
#include "kernel/spec.h"
#include "kernel/state_space.h"

namespace galvi {

/// With the angle a = 2 pi x / period it is the process u cos a + w sin a, u and w independent, each of this
/// variance: cos(a - b) = cos a cos b + sin a sin b. Whole turns are taken off before the angle is computed.
/// As a Markov process it turns, and nothing is added: Q = 0.
class Cosine final : public Kernel, private StateSpace, private Spectrum {
 public:
  explicit Cosine(const KernelSpec& spec)
      : columns_(spec.columns), variance_at_(position(spec, "variance")), period_at_(position(spec, "period")) {
    if (columns_.size() != 1) throw std::invalid_argument("kernel 'cosine' acts on one column");
  }
  static KernelFacts facts() {
    KernelParameter period = KernelParameter::period();
    period.per_column = false;
    KernelFacts facts{{KernelParameter::variance(), period}};
    facts.one_input = true;
    facts.states = 2;
    facts.lines = KernelFacts::Lines::one;
    return facts;
  }

  void update(const ConstVectorRef& hyper) override {
    variance_ = non_negative(hyper, variance_at_, "variance");
    period_ = positive(hyper, period_at_, "period");
  }

  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    out.noalias() = variance_ * on_circle(X) * on_circle(Z).transpose();
  }

  void diagonal(const ConstMatrixRef&, VectorRef out) const override { out.setConstant(variance_); }

  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override {
    const Matrix x = on_circle(X), z = on_circle(Z);
    const Matrix Gx = G.transpose() * x;  // b x 2: sum_i G_ij (cos a_i, sin a_i)
    hyper[variance_at_] += Gx.cwiseProduct(z).sum();
    // dk / d(x - z) = -variance (2 pi / period) sin(a - b), sin(a - b) = sin a cos b - cos a sin b
    const double rate = variance_ * 2 * pi / period_;
    const Vector slope = rate * (Gx.col(1).cwiseProduct(z.col(0)) - Gx.col(0).cwiseProduct(z.col(1)));
    if (inputs != nullptr) inputs->col(columns_[0]) += slope;
    // dk / d period = -(x - z) / period dk / d(x - z)
    const auto t = X.col(columns_[0]);
    const Matrix Gtx = G.transpose() * t.asDiagonal() * x;  // b x 2: sum_i G_ij x_i (cos a_i, sin a_i)
    const double moved = (Gtx.col(1).cwiseProduct(z.col(0)) - Gtx.col(0).cwiseProduct(z.col(1))).sum();
    hyper[period_at_] += (rate * moved - slope.dot(Z.col(columns_[0]))) / period_;
  }

  void diagonal_gradient(const ConstMatrixRef&, const ConstVectorRef& g, VectorRef hyper) const override {
    hyper[variance_at_] += g.sum();
  }
  const StateSpace* state_space() const override { return this; }
  const Spectrum* spectrum() const override { return this; }

 private:
  std::vector<Harmonics> harmonics() const override { return {{1, period_, Vector::Constant(1, variance_)}}; }
  void add_harmonics_gradient(const std::vector<Harmonics>& by, VectorRef hyper) const override {
    hyper[variance_at_] += by[0].variance[0];
    hyper[period_at_] += by[0].period;
  }
  Index dimension() const override { return 2; }
  void observe(VectorRef h) const override { h << 1, 0; }
  void covariance(double, MatrixRef P) const override { P = variance_ * Matrix::Identity(2, 2); }
  void step(double, double gap, MatrixRef A, MatrixRef Q) const override {
    const Eigen::Vector2d at = circle(gap);
    A << at[0], -at[1], at[1], at[0];
    Q.setZero();
  }
  void add_covariance_gradient(double, const ConstMatrixRef& G, VectorRef hyper) const override {
    hyper[variance_at_] += G.trace();
  }
  void add_step_gradient(double, double gap, const ConstMatrixRef& G_A, const ConstMatrixRef&,
                         VectorRef hyper) const override {
    const Eigen::Vector2d at = circle(gap);
    const double by_angle = -at[1] * (G_A(0, 0) + G_A(1, 1)) + at[0] * (G_A(1, 0) - G_A(0, 1));
    hyper[period_at_] -= by_angle * 2 * pi * gap / (period_ * period_);
  }

  static constexpr double pi = 3.141592653589793238462643383279502884;

  // a x 2: cosine and sine of the angle.
  Matrix on_circle(const ConstMatrixRef& X) const {
    Matrix out(X.rows(), 2);
    for (Index i = 0; i < X.rows(); ++i) out.row(i) = circle(X(i, columns_[0])).transpose();
    return out;
  }
  Eigen::Vector2d circle(double x) const {
    const double turns = x / period_;
    const double angle = std::isfinite(turns) ? 2 * pi * (turns - std::floor(turns)) : 0;
    return {std::cos(angle), std::sin(angle)};
  }

  std::vector<Index> columns_;
  Index variance_at_, period_at_;
  double variance_ = 1, period_ = 1;
};

}  // namespace galvi

// Kernels of the scaled distance: variance * correlation(s), s = sum_d ((x_d - z_d) / lengthscale_d)^2.
#pragma once

#include "kernel/arrays.h"
#include "kernel/spec.h"

namespace galvi {

/// Everything but the formula. A kernel states its correlation and the derivative of that in s.
class Stationary : public Kernel {
 public:
  explicit Stationary(const KernelSpec& spec);
  static KernelFacts facts() { return {{KernelParameter::variance(), KernelParameter::lengthscale()}}; }

  void update(const ConstVectorRef& hyper) override;
  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override;
  void diagonal(const ConstMatrixRef& X, VectorRef out) const override;
  double constant() const override { return variance_; }
  void value_less_constant(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override;
  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override;
  void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const override;

 protected:
  /// s <- correlation(s), which is 1 at s = 0.
  virtual void correlate(ArrayRef s) const = 0;
  /// s <- correlation(s) - 1, for small s to the last digit if a kernel can.
  virtual void correlate_less_one(ArrayRef s) const {
    correlate(s);
    s -= 1;
  }
  /// out = d correlation / ds, given s and c = correlation(s). At s = 0 it must be finite.
  virtual void slope(const ConstArrayRef& s, const ConstArrayRef& c, ArrayRef out) const = 0;

  /// Parameters beyond variance and lengthscale, if a kernel has any.
  virtual void update_shape(const ConstVectorRef&) {}
  /// hyper[h] += variance * sum_i g_i d correlation(s_i) / dh for those.
  virtual void add_shape_gradient(const ConstArrayRef& /*s*/, const ConstArrayRef& /*c*/,
                                  const ConstArrayRef& /*g*/, VectorRef /*hyper*/) const {}

  double variance_ = 1;
  std::vector<Index> columns_;
  Index variance_at_;
  std::vector<Index> lengthscale_at_;
  Vector lengthscale_;  // one per column

 private:
  template <class F>
  void fill(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out, const F& correlation) const;
  Matrix scaled(const ConstMatrixRef& X) const;
};

}  // namespace galvi

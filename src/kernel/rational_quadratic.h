// Rational quadratic: variance (1 + x)^-alpha, x = s / (2 alpha), s the squared scaled distance.
#pragma once

#include "kernel/stationary.h"

namespace galvi {

class RationalQuadratic final : public Stationary {
 public:
  explicit RationalQuadratic(const KernelSpec& spec) : Stationary(spec), alpha_at_(position(spec, "alpha")) {}
  static KernelFacts facts() {
    KernelFacts facts = Stationary::facts();
    facts.parameters.push_back(KernelParameter::shape("alpha", 1e-2, 1e4));
    return facts;
  }

 protected:
  void update_shape(const ConstVectorRef& hyper) override { alpha_ = positive(hyper, alpha_at_, "alpha"); }

  // log1p keeps every digit for a large alpha, where x is small and the kernel tends to `se`.
  void correlate(ArrayRef s) const override {
    s = alpha_ * (s / (2 * alpha_)).log1p();
    exp_minus(s);
  }
  void correlate_less_one(ArrayRef s) const override {
    s = alpha_ * (s / (2 * alpha_)).log1p();
    exp_minus_less_one(s);
  }
  void slope(const ConstArrayRef& s, const ConstArrayRef& c, ArrayRef out) const override {
    out = -0.5 * c / (1 + s / (2 * alpha_));
  }
  // d log c / dalpha = x / (1 + x) - log(1 + x) = -x^2/2 + 2 x^3/3 - 3 x^4/4 + ...
  void add_shape_gradient(const ConstArrayRef& s, const ConstArrayRef& c, const ConstArrayRef& g,
                          VectorRef hyper) const override {
    double sum = 0;
    for (Index i = 0; i < s.size(); ++i) {
      const double x = s[i] / (2 * alpha_);
      const double derivative =
          x < 1e-4 ? -x * x * (0.5 - x * (2.0 / 3 - 0.75 * x)) : x / (1 + x) - std::log1p(x);
      sum += g[i] * c[i] * derivative;
    }
    hyper[alpha_at_] += variance_ * sum;
  }

 private:
  Index alpha_at_;
  double alpha_ = 1;
};

}  // namespace galvi

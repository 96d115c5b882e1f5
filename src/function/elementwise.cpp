#include "function/elementwise.h"

#include <cmath>

#include "function/elementwise_avx2.h"
#include "function/normal.h"
#include "numeric/product_avx2.h"
#include "numeric/special_functions.h"

namespace galvi {

void exp_each(ArrayRef x) { has_avx2() ? avx2::exp_each(x.size(), x.data()) : portable::exp_each(x); }

void log_each(ArrayRef x) { has_avx2() ? avx2::log_each(x.size(), x.data()) : portable::log_each(x); }

void log1p_each(ArrayRef x) { has_avx2() ? avx2::log1p_each(x.size(), x.data()) : portable::log1p_each(x); }

void log1p_exp_each(ArrayRef x) {
  has_avx2() ? avx2::log1p_exp_each(x.size(), x.data()) : portable::log1p_exp_each(x);
}

void log_one_minus_exp_each(ArrayRef x) {
  constexpr double small = 0.01;  // log((1 - exp(-x)) / x) by its series, whose next term is x^6 / 181440
  Eigen::ArrayXd probability = -x;
  exp_each(probability);
  probability = (x < small).select(x, 1.0 - probability);
  log_each(probability);
  x = (x < small).select(probability + x * (x * (1.0 / 24.0 - x * x / 2880.0) - 0.5), probability);
}

void log_normal_cdf_each(ArrayRef x) {
  has_avx2() ? avx2::log_normal_cdf_each(x.size(), x.data()) : portable::log_normal_cdf_each(x);
}

void log_rising_each(const ConstArrayRef& y, const ConstArrayRef& log_a, ArrayRef out) {
  if (has_avx2()) {
    avx2::log_rising_each(y.size(), y.data(), log_a.data(), out.data());
  } else {
    portable::log_rising_each(y, log_a, out);
  }
}

void stirling_error_each(const ConstArrayRef& log_x, ArrayRef out) {
  if (has_avx2()) {
    avx2::stirling_error_each(log_x.size(), log_x.data(), out.data());
  } else {
    portable::stirling_error_each(log_x, out);
  }
}

namespace portable {

void exp_each(ArrayRef x) {
  for (double& value : x) value = std::exp(value);
}

void log_each(ArrayRef x) {
  for (double& value : x) value = std::log(value);
}

void log1p_each(ArrayRef x) {
  for (double& value : x) value = std::log1p(value);
}

void log1p_exp_each(ArrayRef x) {
  for (double& value : x) value = std::log1p(std::exp(-std::fabs(value)));
}

void log_normal_cdf_each(ArrayRef x) {
  for (double& value : x) value = log_normal_cdf(value);
}

void log_rising_each(const ConstArrayRef& y, const ConstArrayRef& log_a, ArrayRef out) {
  for (Index n = 0; n < y.size(); ++n) out[n] = log_rising(y[n], log_a[n]);
}

void stirling_error_each(const ConstArrayRef& log_x, ArrayRef out) {
  for (Index n = 0; n < log_x.size(); ++n) out[n] = stirling_error(std::exp(log_x[n]), log_x[n]);
}

}  // namespace portable

}  // namespace galvi

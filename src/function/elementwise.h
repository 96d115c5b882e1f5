// Functions of every element of an array: four at a time on processors with AVX2.
#pragma once

#include "numeric/types.h"

namespace galvi {

/// x <- exp(x)
void exp_each(ArrayRef x);
/// x <- log(x)
void log_each(ArrayRef x);
/// x <- log(1 + x)
void log1p_each(ArrayRef x);
/// x <- log(1 + exp(-|x|)): log sigmoid(x) = min(x, 0) - this.
void log1p_exp_each(ArrayRef x);
/// x <- log(1 - exp(-x)), x >= 0
void log_one_minus_exp_each(ArrayRef x);
/// x <- log Phi(x)
void log_normal_cdf_each(ArrayRef x);
/// out <- log Gamma(y + a) / Gamma(a), a = exp(log_a), for whole numbers y >= 0. Not a number where a overflows.
void log_rising_each(const ConstArrayRef& y, const ConstArrayRef& log_a, ArrayRef out);
/// out <- the remainder of Stirling's formula (numeric/special_functions.h) for log Gamma(exp(log_x)). Not a number
/// where exp(log_x) overflows.
void stirling_error_each(const ConstArrayRef& log_x, ArrayRef out);

/// The same for any processor; the functions above use wider registers where there are some.
namespace portable {
void exp_each(ArrayRef x);
void log_each(ArrayRef x);
void log1p_each(ArrayRef x);
void log1p_exp_each(ArrayRef x);
void log_normal_cdf_each(ArrayRef x);
void log_rising_each(const ConstArrayRef& y, const ConstArrayRef& log_a, ArrayRef out);
void stirling_error_each(const ConstArrayRef& log_x, ArrayRef out);
}  // namespace portable

}  // namespace galvi

// Functions of every element of an array for x86 processors with AVX2 and FMA, see function/elementwise.h. Call only if
// has_avx2().
#pragma once

#include "numeric/types.h"

namespace galvi {
namespace avx2 {

void exp_each(Index n, double* x);
void log_each(Index n, double* x);
void log1p_each(Index n, double* x);
void log1p_exp_each(Index n, double* x);
void log_normal_cdf_each(Index n, double* x);
void log_rising_each(Index n, const double* y, const double* log_a, double* out);
void stirling_error_each(Index n, const double* log_x, double* out);

}  // namespace avx2
}  // namespace galvi

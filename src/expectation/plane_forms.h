// Exact expectations of the forms in likelihood/plane_forms.h. mean, variance: of eta_1, eta_2 and, of StudentTails,
// eta_3; second derivatives for order = 2 only.
#pragma once

#include "expectation/mean_derivatives.h"
#include "likelihood/plane_forms.h"

namespace galvi {

MeanDerivatives expect(const Shares& form, const double* mean, const double* variance, int order);
MeanDerivatives expect(const StudentScale& form, const double* mean, const double* variance, int order);
/// Added to `out`, whose latent values are three. False, and nothing added, where the mean of exp(eta_3) or a variance is
/// too large.
bool add_expectation(const StudentTails& form, const double* mean, const double* variance, int order,
                     RowExpectation& out);
MeanDerivatives expect(const MeanOverSize& form, const double* mean, const double* variance, int order);
MeanDerivatives expect(const MeanOverDispersion& form, const double* mean, const double* variance, int order);

/// d E log p / d df
double slope_in_df(const StudentScale& form, const double* mean, const double* variance);

}  // namespace galvi

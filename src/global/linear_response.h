// Covariances of coupled classes by linear response.
#pragma once

#include <optional>

#include "numeric/context.h"
#include "numeric/types.h"

namespace galvi {

/// Expectations under q of the third and fourth derivatives of sum_n log p(y_n | eta_n) by the K latent values of
/// each row, first index fastest.
struct HigherDerivatives {
  Matrix third;   // N x K^3
  Matrix fourth;  // N x K^4
};

/// Those of softmax probabilities: minus the joint cumulants of the indicators of the classes.
/// @param mean N x K. between: covariances of each row's latent values, N x K^2. copies: trials times weight, N.
/// @param reference Is there one more class, whose latent value is zero?
/// @param points Standard normal points to average over, S x K.
HigherDerivatives softmax_derivatives(Context& context, const Matrix& mean, const Matrix& between,
                                      const Vector& copies, bool reference, const Matrix& points);

/// The covariance of coefficients as the change of their posterior mean if a linear function is added to the log
/// posterior. For the exact posterior this is the covariance; for a Gaussian q at the maximum of the bound it has the
/// skewness that q itself leaves out (Giordano, Broderick and Jordan 2018, Journal of Machine Learning Research
/// 19(51)). A solve with the Hessian of the bound in (m, V), by conjugate gradients for each coefficient.
/// @param W Columns, N x q. covariance: V of the K q coefficients of all latent values, one after the other.
/// @return K q x K q; empty where q is not at a maximum to the accuracy of `derivatives`
std::optional<Matrix> linear_response(Context& context, const Matrix& W, const HigherDerivatives& derivatives,
                                      const Matrix& covariance);

}  // namespace galvi

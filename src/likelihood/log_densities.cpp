#include <cmath>

#include "likelihood/likelihood.h"

namespace galvi {

void Likelihood::log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const {
  Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 16, 1> few;
  Vector many;
  const Index K = eta.cols();
  double* at = nullptr;
  if (K <= 16) {
    few.resize(K);
    at = few.data();
  } else {
    many.resize(K);
    at = many.data();
  }
  for (Index n = 0; n < rows.size(); ++n) {
    for (Index k = 0; k < K; ++k) at[k] = eta(n, k);
    out[n] = log_density(rows.data[n], at);
  }
}

namespace {

double careful_log_density(const Likelihood& likelihood, const PreparedRows& rows, const ConstMatrixRef& eta, Index n) {
  const Vector own = eta.row(n).transpose();
  return likelihood.log_density(rows.data[n], own.data());
}

}  // namespace

void Likelihood::careful_log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const {
  log_densities(rows, eta, out);
  if (std::isfinite(out.sum())) return;
  for (Index n = 0; n < rows.size(); ++n)
    if (rows.data.weight[n] != 0 && !std::isfinite(out[n])) out[n] = careful_log_density(*this, rows, eta, n);
}

double Likelihood::sum_log_density(const PreparedRows& rows, const ConstMatrixRef& eta) const {
  const Vector& weight = rows.data.weight;
  RowArray each(rows.size());
  log_densities(rows, eta, each);
  const double sum = weight.dot(each.matrix());
  if (std::isfinite(sum)) return sum;
  double careful = 0;
  for (Index n = 0; n < rows.size(); ++n) {
    if (weight[n] == 0) continue;
    if (!std::isfinite(each[n])) each[n] = careful_log_density(*this, rows, eta, n);
    careful += weight[n] * each[n];
    if (careful == -infinity) break;
  }
  return careful;
}

}  // namespace galvi

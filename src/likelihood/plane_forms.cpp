#include "likelihood/plane_forms.h"

#include "function/standard_function.h"

namespace galvi {
namespace {

// mu log(mu / y) - mu + y >= 0, u = mu / y - 1
double excess(double mu, double log_mu, double y, double u) {
  if (std::fabs(u) > 0.5) return mu * (log_mu - std::log(y)) - (mu - y);
  if (std::fabs(u) > 0.05) return y * ((1.0 + u) * std::log1p(u) - u);
  // sum of (-u)^k / (k (k - 1)) from k = 2 on
  double sum = 0.0;
  for (int k = 12; k >= 2; --k) sum = sum * -u + 1.0 / (k * (k - 1.0));
  return y * u * u * sum;
}

}  // namespace

// mu - y = mu (1 - y) (1 - exp(logit(y) - eta)), and the same of nu where that is larger.
double binary_divergence(double eta, double y) {
  const double rest = 1.0 - y, distance = eta - (std::log(y) - std::log1p(-y));
  const double log_mu = log_sigmoid().value(eta), log_nu = log_sigmoid().value(-eta);
  const double mu = std::exp(log_mu), nu = std::exp(log_nu);
  const double difference = distance > 0.0 ? -mu * rest * std::expm1(-distance) : nu * y * std::expm1(distance);
  return excess(mu, log_mu, y, difference / y) + excess(nu, log_nu, rest, -difference / rest);
}

}  // namespace galvi

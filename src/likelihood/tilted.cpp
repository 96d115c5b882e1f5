#include "likelihood/tilted.h"

#include <cmath>

#include "function/normal.h"
#include "likelihood/custom.h"

namespace galvi {
namespace {

/// w log p(y | eta) - (eta - mean)^2 / (2 variance).
class Tilted final : public LogIntegrand {
 public:
  Tilted(const Likelihood& likelihood, const Datum& datum, double weight, double mean, double variance)
      : likelihood_(likelihood), datum_(datum), weight_(weight), mean_(mean), variance_(variance) {}

  // Closed forms at variance 0 are accurate where large counts cancel.
  double value(double eta) const override {
    const auto closed = likelihood_.closed_form(datum_, eta, 0);
    const double log_density = closed ? closed->value : likelihood_.log_density(datum_, &eta);
    const double value = weight_ * log_density - 0.5 * (eta - mean_) * (eta - mean_) / variance_;
    return std::isnan(value) ? -infinity : value;
  }
  void values(const double* eta, int count, double* out) const override {
    const Custom* custom = likelihood_.custom();
    if (!custom) return LogIntegrand::values(eta, count, out);
    const Eigen::Map<const Vector> at(eta, count);
    Eigen::Map<Vector>(out, count) = weight_ * custom->log_densities(Vector::Constant(count, datum_.y), at) -
                                     0.5 * (at.array() - mean_).square().matrix() / variance_;
  }
  double slope(double eta, double& curvature) const override {
    double l[5];
    likelihood_.derivatives(datum_, eta, l);
    curvature = 1 / variance_ - weight_ * l[2];
    return weight_ * l[1] - (eta - mean_) / variance_;
  }
  // log p is a sum of terms about as large as this, with their rounding errors.
  double rounding(double eta) const override {
    return 2e-16 * weight_ * (std::fabs(datum_.y) + datum_.size) * (1 + std::fabs(eta));
  }

 private:
  const Likelihood& likelihood_;
  const Datum& datum_;
  double weight_, mean_, variance_;
};

// Derivatives of the log of the product beyond the second, in its peak's sds, and how near a singularity of log p may be:
// with these nine nodes err by 1e-11 of the variance, less elsewhere.
constexpr double most_third = 0.02, most_fourth = 0.004, most_of_distance = 0.08, most_growth = 0.3;
constexpr double resolved =
    1e-4;  // sds relative to where the peak is from which rounding does not move nodes

bool nearly_gaussian(const Likelihood& likelihood, const Datum& datum, double weight, const Peak& peak) {
  const Smoothness smoothness = likelihood.smoothness(datum);
  const double sd = peak.scale;
  const bool smooth = sd <= most_of_distance * smoothness.distance() && sd * smoothness.growth <= most_growth;
  if (!std::isfinite(peak.height) || !(sd > resolved * std::fabs(peak.at)) || !smooth) return false;
  double l[5];
  likelihood.derivatives(datum, peak.at, l);
  return std::fabs(weight * l[3]) * sd * sd * sd <= most_third &&
         std::fabs(weight * l[4]) * sd * sd * sd * sd <= most_fourth;
}

void integrate(LogIntegral& integral, const Tilted& h, const Likelihood& likelihood, const Datum& datum,
               double weight, double mean, double sd) {
  // One local maximum is near the Gaussian's, one near that of log p.
  if (!likelihood.log_concave()) return integral.two_peaks(h, mean, likelihood.starting_eta(datum), sd);
  const Peak peak = concave_peak(h, mean, sd);
  if (!likelihood.custom() && nearly_gaussian(likelihood, datum, weight, peak))
    return integral.nearly_gaussian(h, peak);
  if (likelihood.smoothness(datum).width > 0) return integral.concave(h, peak);
  integral.concave(h, peak, likelihood.starting_eta(datum));  // log p is largest at its kink
}

}  // namespace

void TiltedRule::place(const Likelihood& likelihood, const Datum& datum, double weight, double mean,
                       double variance) {
  const double sd = std::sqrt(variance);
  integrate(integral_, Tilted(likelihood, datum, weight, mean, variance), likelihood, datum, weight, mean,
            sd);
  if (const auto closed = likelihood.tilted(datum, weight, mean, variance)) {
    log_mass_ = closed->log_mass;
    mean_ = closed->mean;
    variance_ = closed->variance;
  } else {
    log_mass_ = integral_.log_mass() - std::log(sd) - log_sqrt_2pi;
    mean_ = integral_.mean();
    variance_ = integral_.variance();
  }
}

}  // namespace galvi

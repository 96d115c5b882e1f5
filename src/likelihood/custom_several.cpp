#include "likelihood/custom_several.h"

#include <algorithm>
#include <cmath>

#include "likelihood/last_known.h"

namespace galvi {
namespace {

constexpr double bend_of_unit = 0.05;  // change of log p over one unit, in nats
constexpr Index distances = 25;        // of which a unit is one, from 1e-6 to 1e6
double distance(Index j) { return std::pow(10.0, -6.0 + 0.5 * static_cast<double>(j)); }
constexpr std::size_t most_kept = 256, most_given = 64;

// Predictions are sums over nodes of the Gaussians of eta: to rounding of two predictors, to 1e-7 of three.
constexpr double node_reach = 7.0;  // sds
constexpr double step_units = 3.0;
struct NodeRule {
  double longest_step, shortest_step;  // sds
  double least_share;
};
constexpr NodeRule nodes_of_two{0.75, 0.05, 1e-13}, nodes_of_three{1.0, 0.25, 1e-8};
constexpr double most_pairs = 2e5;  // of responses and nodes in one call
// Variances of conditional means by few nodes of Gauss and Hermite, each of which takes a distribution.
constexpr double hermite_three = 1.7320508075688772;

using Row = Eigen::Map<const Eigen::RowVectorXd>;

}  // namespace

void CustomSeveral::update(const ConstVectorRef& hyper) {
  if (!own_.read(hyper)) return;
  distributions_.clear();
  given_.clear();
}

double CustomSeveral::log_density(const Datum& datum, const double* eta) const {
  const Matrix at = Row(eta, latents());
  return own_.log_densities(Vector::Constant(1, datum.y), at)[0];
}

Matrix CustomSeveral::units(const Vector& y, const Matrix& eta) const {
  const Index n = y.size(), K = latents(), each = 2 * distances * K + 1;
  const auto place = [&](Index i, Index k, Index j) { return i * each + 1 + 2 * (k * distances + j); };
  Matrix at(n * each, K);
  Vector all_y(n * each);
  for (Index i = 0; i < n; ++i) {
    all_y.segment(i * each, each).setConstant(y[i]);
    at.middleRows(i * each, each).rowwise() = eta.row(i);
    for (Index k = 0; k < K; ++k)
      for (Index j = 0; j < distances; ++j) {
        at(place(i, k, j), k) -= distance(j);
        at(place(i, k, j) + 1, k) += distance(j);
      }
  }
  const Vector l = own_.log_densities(all_y, at);
  Matrix out(n, K);
  for (Index i = 0; i < n; ++i)
    for (Index k = 0; k < K; ++k) {
      Index j = 0;
      const auto bend = [&] {
        return std::fabs(l[place(i, k, j)] + l[place(i, k, j) + 1] - 2.0 * l[i * each]);
      };
      while (j < distances - 1 && bend() < bend_of_unit) ++j;
      out(i, k) = distance(j);
    }
  return out;
}

std::shared_ptr<const Likelihood> CustomSeveral::others_given(double last) const {
  const auto known = given_.find(last);
  if (known != given_.end()) return known->second;
  if (given_.size() >= most_given) given_.clear();
  CustomDensity inner = own_;
  inner.functions = std::make_shared<LastKnown>(own_.functions, last);
  std::shared_ptr<const Likelihood> made;
  if (latents() == 2)
    made = std::make_shared<Custom>(std::move(inner), false);
  else
    made = std::make_shared<CustomSeveral>(std::move(inner));
  return given_[last] = made;
}

// The trapezium sum on each axis, with a step that is small relative to the Gaussian and to the scale of log p at
// typical responses; nodes of next to no share are left out.
CustomSeveral::Nodes CustomSeveral::nodes(const double* mean, const double* variance) const {
  const Index K = latents();
  const NodeRule& rule = K == 2 ? nodes_of_two : nodes_of_three;
  const Vector& y = own_.functions->reference();
  const Matrix all = units(y, Row(mean, K).replicate(y.size(), 1));
  Nodes out{Matrix::Zero(1, K), Vector::Ones(1)};
  for (Index k = 0; k < K; ++k) {
    const double sd = std::sqrt(variance[k]);
    std::vector<double> unit(all.col(k).data(), all.col(k).data() + all.rows());
    std::sort(unit.begin(), unit.end());
    const double step =
        sd > 0.0 ? std::clamp(step_units * unit[unit.size() / 4] / sd, rule.shortest_step, rule.longest_step)
                 : 1.0;
    const Index half = sd > 0.0 ? static_cast<Index>(std::ceil(node_reach / step)) : 0, J = out.eta.rows();
    Nodes wider{Matrix(J * (2 * half + 1), K), Vector(J * (2 * half + 1))};
    Index count = 0;
    for (Index i = -half; i <= half; ++i) {
      const double t = step * static_cast<double>(i), w = std::exp(-0.5 * t * t);
      for (Index j = 0; j < J; ++j) {
        if (w * out.share[j] < rule.least_share) continue;
        wider.eta.row(count) = out.eta.row(j);
        wider.eta(count, k) = mean[k] + sd * t;
        wider.share[count++] = w * out.share[j];
      }
    }
    out = {wider.eta.topRows(count), wider.share.head(count)};
  }
  out.share /= out.share.sum();
  return out;
}

// log E p(y | eta)
Vector CustomSeveral::density_average(const Nodes& nodes, const Vector& y) const {
  const Index J = nodes.share.size(), at_once = std::max<Index>(1, static_cast<Index>(most_pairs) / J);
  Vector out(y.size());
  for (Index begin = 0; begin < y.size(); begin += at_once) {
    const Index count = std::min(at_once, y.size() - begin);
    Vector all_y(count * J);
    for (Index i = 0; i < count; ++i) all_y.segment(i * J, J).setConstant(y[begin + i]);
    const Vector l = own_.log_densities(all_y, nodes.eta.replicate(count, 1));
    for (Index i = 0; i < count; ++i) {
      const auto part = l.segment(i * J, J);
      const double top = part.maxCoeff();
      out[begin + i] =
          std::isfinite(top) ? top + std::log(nodes.share.dot((part.array() - top).exp().matrix())) : top;
    }
  }
  return out;
}

const NumericDistribution& CustomSeveral::distribution(const double* mean, const double* variance) const {
  std::vector<double> key(mean, mean + latents());
  key.insert(key.end(), variance, variance + latents());
  const auto known = distributions_.find(key);
  if (known != distributions_.end()) return known->second;
  if (distributions_.size() >= most_kept) distributions_.clear();
  const Nodes at = nodes(mean, variance);
  const auto log_of = [&](const Vector& y) { return density_average(at, y); };
  return distributions_.emplace(std::move(key), own_.integrated(log_of, mean[0])).first->second;
}

double CustomSeveral::conditional_mean(const Datum&, const double* eta) const {
  return distribution(eta, Vector::Zero(latents()).eval().data()).mean();
}
double CustomSeveral::conditional_variance(const Datum&, const double* eta) const {
  return distribution(eta, Vector::Zero(latents()).eval().data()).variance();
}
double CustomSeveral::conditional_cdf(const Datum& datum, const double* eta) const {
  return distribution(eta, Vector::Zero(latents()).eval().data()).tails(datum.y).lower;
}
double CustomSeveral::integrated_log_density(double y, const double* mean, const double* variance) const {
  return density_average(nodes(mean, variance), Vector::Constant(1, y))[0];
}

double CustomSeveral::mean_variance(const double* mean, const double* variance) const {
  const Index K = latents();
  double first = 0.0, second = 0.0;
  const double centre = conditional_mean({}, mean);
  Index count = 1;
  for (Index k = 0; k < K; ++k) count *= 3;
  Vector eta(K);
  for (Index j = 0; j < count; ++j) {
    double share = 1.0;
    for (Index k = 0, rest = j; k < K; ++k, rest /= 3) {
      const Index side = rest % 3 - 1;
      eta[k] = mean[k] + static_cast<double>(side) * hermite_three * std::sqrt(variance[k]);
      share *= side == 0 ? 2.0 / 3.0 : 1.0 / 6.0;
    }
    const double off = conditional_mean({}, eta.data()) - centre;
    first += share * off;
    second += share * off * off;
  }
  return second - first * first;
}

}  // namespace galvi

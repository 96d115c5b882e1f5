#include "hyper/table.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace galvi {

namespace {

double forward(Transform transform, double theta) {
  switch (transform) {
    case Transform::log:
      return std::log(theta);
    case Transform::logit:
      return std::log(theta) - std::log1p(-theta);
    case Transform::atanh:
      return std::atanh(theta);
    case Transform::identity:
      break;
  }
  return theta;
}

double backward(Transform transform, double x) {
  switch (transform) {
    case Transform::log:
      return std::exp(x);
    case Transform::logit:
      return 1 / (1 + std::exp(-x));
    case Transform::atanh:
      return std::tanh(x);
    case Transform::identity:
      break;
  }
  return x;
}

/// d theta / d x and d log|d theta / d x| / d x.
struct Jacobian {
  double slope, log_slope_derivative;
};

Jacobian jacobian(Transform transform, double theta) {
  switch (transform) {
    case Transform::log:
      return {theta, 1};
    case Transform::logit:
      return {theta * (1 - theta), 1 - 2 * theta};
    case Transform::atanh:
      return {1 - theta * theta, -2 * theta};
    case Transform::identity:
      break;
  }
  return {1, 0};
}

}  // namespace

Transform transform_from(const std::string& name) {
  if (name == "log") return Transform::log;
  if (name == "identity") return Transform::identity;
  if (name == "logit") return Transform::logit;
  if (name == "atanh") return Transform::atanh;
  throw std::invalid_argument("unknown transform \"" + name + "\"");
}

HyperTable::HyperTable(std::vector<Hyperparameter> rows) : rows_(std::move(rows)), values_(rows_.size()) {
  for (Index h = 0; h < size(); ++h) {
    values_[h] = rows_[h].value;
    if (!rows_[h].learned) continue;
    learned_.push_back(h);
    values_[h] = std::clamp(values_[h], rows_[h].lower, rows_[h].upper);
  }
}

Vector HyperTable::bounds(double Hyperparameter::*bound) const {
  Vector out(learned());
  for (Index i = 0; i < learned(); ++i) {
    const Hyperparameter& row = rows_[learned_[i]];
    out[i] = forward(row.transform, row.*bound);
  }
  return out;
}

Vector HyperTable::unconstrained() const {
  Vector out(learned());
  for (Index i = 0; i < learned(); ++i) out[i] = forward(rows_[learned_[i]].transform, values_[learned_[i]]);
  return out;
}

void HyperTable::set_unconstrained(const Vector& x) {
  for (Index i = 0; i < learned(); ++i) values_[learned_[i]] = backward(rows_[learned_[i]].transform, x[i]);
}

std::vector<bool> HyperTable::at_bound() const {
  const Vector x = unconstrained(), low = lower(), high = upper();
  std::vector<bool> out(size(), false);
  for (Index i = 0; i < learned(); ++i) out[learned_[i]] = x[i] <= low[i] + 1e-6 || x[i] >= high[i] - 1e-6;
  return out;
}

double HyperTable::log_prior() const {
  double sum = 0;
  for (Index h : learned_)
    if (rows_[h].prior)
      sum +=
          rows_[h].prior->log_density(values_[h]) + std::log(jacobian(rows_[h].transform, values_[h]).slope);
  return sum;
}

Vector HyperTable::chain(const Vector& natural_gradient) const {
  Vector out(learned());
  for (Index i = 0; i < learned(); ++i) {
    const Index h = learned_[i];
    const Jacobian j = jacobian(rows_[h].transform, values_[h]);
    out[i] = natural_gradient[h] * j.slope;
    if (rows_[h].prior) out[i] += rows_[h].prior->derivative(values_[h]) * j.slope + j.log_slope_derivative;
  }
  return out;
}

}  // namespace galvi

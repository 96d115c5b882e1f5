#include "hyper/table.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace galvi {

namespace {

double forward(Transform transform, double theta) {
  switch (transform) {
    case Transform::log:
    case Transform::above:
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
    case Transform::above:
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
    case Transform::above:
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
  if (name == "above") return Transform::above;
  throw std::invalid_argument("unknown transform \"" + name + "\"");
}

HyperTable::HyperTable(std::vector<Hyperparameter> rows) : rows_(std::move(rows)), values_(rows_.size()) {
  for (Index h = 0; h < size(); ++h) {
    values_[h] = rows_[h].value;
    const bool above = rows_[h].transform == Transform::above;
    if (above && (h == 0 || rows_[h].learned != rows_[h - 1].learned))
      throw std::invalid_argument("numbers in order must follow one another and be learned or held together");
    if (!rows_[h].learned) continue;
    learned_.push_back(h);
    const double base = above ? values_[h - 1] : 0;
    values_[h] =
        base + std::clamp(rows_[h].value - (above ? rows_[h - 1].value : 0), rows_[h].lower, rows_[h].upper);
  }
}

double HyperTable::argument(Index h) const {
  return rows_[h].transform == Transform::above ? values_[h] - values_[h - 1] : values_[h];
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
  for (Index i = 0; i < learned(); ++i) out[i] = forward(rows_[learned_[i]].transform, argument(learned_[i]));
  return out;
}

void HyperTable::set_unconstrained(const Vector& x) {
  for (Index i = 0; i < learned(); ++i) {
    const Index h = learned_[i];
    values_[h] = backward(rows_[h].transform, x[i]);
    if (rows_[h].transform == Transform::above) values_[h] += values_[h - 1];
  }
}

Eigen::Array<bool, Eigen::Dynamic, 1> HyperTable::is_place() const {
  Eigen::Array<bool, Eigen::Dynamic, 1> out(learned());
  for (Index i = 0; i < learned(); ++i) out[i] = rows_[learned_[i]].transform == Transform::identity;
  return out;
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
  // A value carries those above it along.
  Vector carried = natural_gradient;
  for (Index h = size() - 1; h > 0; --h)
    if (rows_[h].transform == Transform::above) carried[h - 1] += carried[h];
  Vector out(learned());
  for (Index i = 0; i < learned(); ++i) {
    const Index h = learned_[i];
    const Jacobian j = jacobian(rows_[h].transform, argument(h));
    out[i] = carried[h] * j.slope;
    if (rows_[h].prior) out[i] += rows_[h].prior->derivative(values_[h]) * j.slope + j.log_slope_derivative;
  }
  return out;
}

}  // namespace galvi

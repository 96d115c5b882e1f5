#include "hyper/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace galvi {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

double always_one(double) { return 1; }
double always_zero(double) { return 0; }
double itself(double x) { return x; }

}  // namespace

const std::vector<Transform>& transforms() {
  static const std::vector<Transform> table = {
      {"identity", -unbounded, unbounded, itself, itself, always_one, always_zero},
      {"log", 0, unbounded, std::log, std::exp, itself, always_one},
      {"logit", 0, 1, [](double theta) { return std::log(theta) - std::log1p(-theta); },
       [](double x) { return 1 / (1 + std::exp(-x)); }, [](double theta) { return theta * (1 - theta); },
       [](double theta) { return 1 - 2 * theta; }},
      {"atanh", -1, 1, std::atanh, std::tanh, [](double theta) { return 1 - theta * theta; },
       [](double theta) { return -2 * theta; }},
      {"above", 0, unbounded, std::log, std::exp, itself, always_one, true},
  };
  return table;
}

const Transform& find_transform(const std::string& name) {
  for (const Transform& transform : transforms())
    if (transform.name == name) return transform;
  throw std::invalid_argument("unknown transform \"" + name + "\"");
}

HyperTable::HyperTable(std::vector<Hyperparameter> rows) : rows_(std::move(rows)), values_(rows_.size()) {
  for (Index h = 0; h < size(); ++h) {
    values_[h] = rows_[h].value;
    const bool above = rows_[h].transform->of_distance;
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
  return rows_[h].transform->of_distance ? values_[h] - values_[h - 1] : values_[h];
}

Vector HyperTable::bounds(double Hyperparameter::*bound) const {
  Vector out(learned());
  for (Index i = 0; i < learned(); ++i) {
    const Hyperparameter& row = rows_[learned_[i]];
    out[i] = row.transform->forward(row.*bound);
  }
  return out;
}

Vector HyperTable::unconstrained() const {
  Vector out(learned());
  for (Index i = 0; i < learned(); ++i)
    out[i] = rows_[learned_[i]].transform->forward(argument(learned_[i]));
  return out;
}

void HyperTable::set_unconstrained(const Vector& x) {
  for (Index i = 0; i < learned(); ++i) {
    const Index h = learned_[i];
    values_[h] = rows_[h].transform->backward(x[i]);
    if (rows_[h].transform->of_distance) values_[h] += values_[h - 1];
  }
}

Eigen::Array<bool, Eigen::Dynamic, 1> HyperTable::is_place() const {
  Eigen::Array<bool, Eigen::Dynamic, 1> out(learned());
  for (Index i = 0; i < learned(); ++i) out[i] = rows_[learned_[i]].transform->lower == -unbounded;
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
      sum += rows_[h].prior->log_density(values_[h]) + std::log(rows_[h].transform->slope(argument(h)));
  return sum;
}

Vector HyperTable::chain(const Vector& natural_gradient) const {
  // A value carries those above it along.
  Vector carried = natural_gradient;
  for (Index h = size() - 1; h > 0; --h)
    if (rows_[h].transform->of_distance) carried[h - 1] += carried[h];
  Vector out(learned());
  for (Index i = 0; i < learned(); ++i) {
    const Index h = learned_[i];
    const Transform& transform = *rows_[h].transform;
    const double slope = transform.slope(argument(h));
    out[i] = carried[h] * slope;
    if (rows_[h].prior)
      out[i] += rows_[h].prior->derivative(values_[h]) * slope + transform.log_slope_derivative(argument(h));
  }
  return out;
}

}  // namespace galvi

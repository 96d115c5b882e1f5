#include "hyper/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "numeric/correlations.h"

namespace galvi {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

constexpr double fine = 30;

double always_one(double) { return 1; }
double always_zero(double) { return 0; }
double itself(double x) { return x; }

// The skewness of a skew normal distribution grows with alpha^3 near 0, where in alpha itself a likelihood is flat: x =
// alpha^3 / (1 + alpha^2), and a little of alpha so that there is a slope at 0.
constexpr double least_slope = 1e-4;
double cubed(double alpha) { return alpha * (alpha * alpha / (1 + alpha * alpha) + least_slope); }
double cubed_slope(double alpha) {
  const double square = alpha * alpha, whole = 1 + square;
  return least_slope + square / whole * ((3 + square) / whole);
}
double cubed_bend(double alpha) {
  const double whole = 1 + alpha * alpha;
  return alpha * (6 - 2 * alpha * alpha) / (whole * whole * whole);
}
double cube_root(double x) {
  double low = std::min(0.0, x / least_slope), high = std::max(0.0, x / least_slope);
  double alpha = x < 0 ? -std::fmax(std::cbrt(-x), -x) : std::fmax(std::cbrt(x), x);
  for (int i = 0; i < 100; ++i) {
    const double miss = cubed(alpha) - x;
    (miss < 0 ? low : high) = alpha;
    double next = alpha - miss / cubed_slope(alpha);
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::fabs(next - alpha) <= 1e-15 * std::fabs(alpha)) break;
    alpha = next;
  }
  return alpha;
}

/// visit(begin, count) for the rows of every correlation matrix: partial ones follow the first.
template <class F>
void for_matrices(const std::vector<const Transform*>& transforms, const F& visit) {
  const Index rows = static_cast<Index>(transforms.size());
  const auto partial = [&](Index h) {
    return h < rows && transforms[h]->argument == Transform::Argument::partial_correlation;
  };
  for (Index h = 1; h < rows; ++h)
    if (partial(h) && !partial(h - 1)) {
      Index end = h;
      while (partial(end)) ++end;
      visit(h - 1, end - h + 1);
    }
}

}  // namespace

const std::vector<Transform>& transforms() {
  static const std::vector<Transform> table = {
      {"identity", -unbounded, unbounded, itself, itself, always_one, always_zero},
      {"cubed", -unbounded, unbounded, cubed, cube_root, [](double alpha) { return 1 / cubed_slope(alpha); },
       [](double alpha) { return -cubed_bend(alpha) / (cubed_slope(alpha) * cubed_slope(alpha)); }},
      {"log", 0, unbounded, std::log, std::exp, itself, always_one},
      // Data may know a period to a thousandth and more: smaller steps, or a search leaves its peak.
      {"fine_log", 0, unbounded, [](double theta) { return fine * std::log(theta); },
       [](double x) { return std::exp(x / fine); }, [](double theta) { return theta / fine; },
       [](double) { return 1 / fine; }, Transform::Argument::value, fine},
      {"logit", 0, 1, [](double theta) { return std::log(theta) - std::log1p(-theta); },
       [](double x) { return 1 / (1 + std::exp(-x)); }, [](double theta) { return theta * (1 - theta); },
       [](double theta) { return 1 - 2 * theta; }},
      {"one_to_two", 1, 2, [](double theta) { return std::log(theta - 1) - std::log(2 - theta); },
       [](double x) { return 1 + 1 / (1 + std::exp(-x)); }, [](double theta) { return (theta - 1) * (2 - theta); },
       [](double theta) { return 3 - 2 * theta; }},
      {"atanh", -1, 1, std::atanh, std::tanh, [](double theta) { return 1 - theta * theta; },
       [](double theta) { return -2 * theta; }},
      {"above", 0, unbounded, std::log, std::exp, itself, always_one, Transform::Argument::distance},
      {"partial", -1, 1, std::atanh, std::tanh, [](double theta) { return 1 - theta * theta; },
       [](double theta) { return -2 * theta; }, Transform::Argument::partial_correlation},
  };
  return table;
}

const Transform& find_transform(const std::string& name) {
  for (const Transform& transform : transforms())
    if (transform.name == name) return transform;
  throw std::invalid_argument("unknown transform \"" + name + "\"");
}

Vector transform_arguments(const std::vector<const Transform*>& transforms, const Vector& values) {
  Vector out = values;
  for (Index h = 1; h < values.size(); ++h)
    if (transforms[h]->argument == Transform::Argument::distance) out[h] -= values[h - 1];
  for_matrices(transforms, [&](Index begin, Index count) {
    out.segment(begin, count) = partial_correlations(values.segment(begin, count));
  });
  return out;
}

HyperTable::HyperTable(std::vector<Hyperparameter> rows) : rows_(std::move(rows)), values_(rows_.size()) {
  for (Index h = 0; h < size(); ++h) {
    values_[h] = rows_[h].value;
    transforms_.push_back(rows_[h].transform);
    if (rows_[h].transform->relative() && (h == 0 || rows_[h].learned != rows_[h - 1].learned))
      throw std::invalid_argument(
          "numbers in order or of one matrix must follow one another and be learned or held together");
    if (!rows_[h].learned) continue;
    if (!(rows_[h].lower <= rows_[h].upper))
      throw std::invalid_argument("the upper bound of a hyperparameter is below its lower one");
    learned_.push_back(h);
  }
  for_matrices(transforms_, [&](Index, Index count) {
    const Index q = matrix_order(count) + 1;
    if (q * (q - 1) != 2 * count) throw std::invalid_argument("correlations are not those of one matrix");
  });
  Vector arguments = arguments_ = transform_arguments(transforms_, values_);
  if (arguments.array().isNaN().any())
    throw std::invalid_argument("correlations are not those of a positive definite matrix");
  for (const Index h : learned_) arguments[h] = std::clamp(arguments[h], rows_[h].lower, rows_[h].upper);
  if (arguments != arguments_) set_arguments(arguments);
}

void HyperTable::set_values(const Vector& values) {
  values_ = values;
  arguments_ = transform_arguments(transforms_, values_);
}

void HyperTable::set_arguments(const Vector& arguments) {
  arguments_ = arguments;
  for (const Index h : learned_)
    values_[h] = arguments[h] + (transforms_[h]->argument == Transform::Argument::distance ? values_[h - 1] : 0);
  for_matrices(transforms_, [&](Index begin, Index count) {
    if (rows_[begin].learned) values_.segment(begin, count) = correlations_of(arguments.segment(begin, count));
  });
}

double HyperTable::with_prior(Index h) const {
  return rows_[h].transform->relative() ? arguments_[h] : values_[h];
}

Vector HyperTable::bounds(double Hyperparameter::*bound) const {
  Vector out(learned());
  for (Index i = 0; i < learned(); ++i) {
    const Hyperparameter& row = rows_[learned_[i]];
    out[i] = row.transform->forward(row.*bound);
  }
  return out;
}

bool HyperTable::admits(const Vector& values) const {
  const Vector arguments = transform_arguments(transforms_, values);
  return std::all_of(learned_.begin(), learned_.end(), [&](Index h) {
    return arguments[h] >= rows_[h].lower && arguments[h] <= rows_[h].upper;
  });
}

Vector HyperTable::unconstrained() const {
  Vector out(learned());
  for (Index i = 0; i < learned(); ++i)
    out[i] = rows_[learned_[i]].transform->forward(arguments_[learned_[i]]);
  return out;
}

void HyperTable::set_unconstrained(const Vector& x) {
  Vector arguments = arguments_;
  for (Index i = 0; i < learned(); ++i) arguments[learned_[i]] = rows_[learned_[i]].transform->backward(x[i]);
  set_arguments(arguments);
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

Vector HyperTable::away_from_bounds(const Vector& values) const {
  HyperTable at = *this;
  at.set_values(values);
  Vector x = at.unconstrained();
  const Vector own = unconstrained(), low = lower(), high = upper();
  for (Index i = 0; i < x.size(); ++i)
    if (x[i] <= low[i] + 1e-6 || x[i] >= high[i] - 1e-6) x[i] = own[i];
  at.set_unconstrained(x);
  return at.values();
}

double HyperTable::log_prior() const {
  double sum = 0;
  for (Index h : learned_)
    if (rows_[h].prior)
      sum += rows_[h].prior->log_density(with_prior(h)) + std::log(rows_[h].transform->slope(arguments_[h]));
  return sum;
}

std::pair<double, double> HyperTable::prior_slopes(Index i) const {
  const auto& prior = rows_[learned_[i]].prior;
  if (!prior) return {0, 0};
  const double x = values_[learned_[i]], slope = prior->derivative(x);
  return {slope, prior->derivative(x + 1) - slope};  // places have normal densities only, whose slope is linear
}

Vector HyperTable::chain(const Vector& natural_gradient) const {
  // A value moves those above it as well.
  Vector carried = natural_gradient;
  for (Index h = size() - 1; h > 0; --h)
    if (rows_[h].transform->argument == Transform::Argument::distance) carried[h - 1] += carried[h];
  for_matrices(transforms_, [&](Index begin, Index count) {
    carried.segment(begin, count) =
        chain_correlations(arguments_.segment(begin, count), carried.segment(begin, count).eval());
  });
  Vector out(learned());
  for (Index i = 0; i < learned(); ++i) {
    const Index h = learned_[i];
    const Transform& transform = *rows_[h].transform;
    const double slope = transform.slope(arguments_[h]);
    out[i] = carried[h] * slope;
    if (rows_[h].prior)
      out[i] +=
          rows_[h].prior->derivative(with_prior(h)) * slope + transform.log_slope_derivative(arguments_[h]);
  }
  return out;
}

}  // namespace galvi

#include "likelihood/custom.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace galvi {
namespace {

constexpr double unit_bend = 0.05;  // change of log p over one unit, in nats
constexpr double stencil_step = 0.25;  // units
constexpr std::size_t most_distributions = 256, most_on_lattice = 6000;
constexpr double lattice_sd = 150.0;    // units, from which predictions average over a lattice
constexpr double lattice_reach = 7.5;   // sds
constexpr double lattice_nodes = 32.0;  // a sd at most; where log p changes faster it is averaged more coarsely
constexpr double negligible_weight = 1e-9;

double number_of(const LikelihoodSpec& spec, const char* name) {
  const auto found = spec.constants.find(name);
  if (found == spec.constants.end())
    throw std::invalid_argument(std::string("a custom likelihood needs the constant `") + name + "`");
  return found->second;
}

// Central differences of order 8 (6 for the third and fourth derivative) on nine points.
constexpr double stencils[4][9] = {
    {1.0 / 280, -4.0 / 105, 1.0 / 5, -4.0 / 5, 0.0, 4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280},
    {-1.0 / 560, 8.0 / 315, -1.0 / 5, 8.0 / 5, -205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560},
    {-7.0 / 240, 3.0 / 10, -169.0 / 120, 61.0 / 30, 0.0, -61.0 / 30, 169.0 / 120, -3.0 / 10, 7.0 / 240},
    {7.0 / 240, -2.0 / 5, 169.0 / 60, -122.0 / 15, 91.0 / 8, -122.0 / 15, 169.0 / 60, -2.0 / 5, 7.0 / 240}};

double difference(int order, const ConstVectorRef& values, double step) {
  double sum = 0.0;
  for (int j = 0; j < 9; ++j) sum += stencils[order - 1][j] * (values[j] - values[4]);
  return sum / std::pow(step, order);
}

}  // namespace

CustomDensity::CustomDensity(const LikelihoodSpec& spec)
    : functions(spec.functions),
      parameters(functions->parameters().size()),
      support{number_of(spec, "low"), number_of(spec, "high")},
      discrete(number_of(spec, "discrete") != 0.0) {
  for (const std::string& name : functions->parameters()) {
    const auto entry = spec.hyper.find(name);
    if (entry == spec.hyper.end() || entry->second.size() != 1)
      throw std::invalid_argument("custom: `" + name + "` must be named once among the hyperparameters");
    positions.push_back(entry->second[0]);
  }
}

bool CustomDensity::read(const ConstVectorRef& hyper) {
  for (std::size_t p = 0; p < positions.size(); ++p) {
    if (positions[p] < 0 || positions[p] >= hyper.size())
      throw std::invalid_argument("custom: a parameter points outside the table of hyperparameters");
    parameters[p] = hyper[positions[p]];
  }
  return !positions.empty();
}

double CustomDensity::step(Index p) const {
  constexpr double share = 2e-3;
  return share * (parameters[p] != 0.0 ? std::min(1.0, std::fabs(parameters[p])) : 1.0);
}

void CustomDensity::add_gradient(const Vector& y, const ConstMatrixRef& eta, const Vector& share,
                                 VectorRef gradient) const {
  for (std::size_t at = 0; at < positions.size(); ++at) {
    const Index p = static_cast<Index>(at);
    const double h = step(p);
    const auto moved = [&](double by) {
      Vector there = parameters;
      there[p] += by;
      return functions->log_density(y, eta, there);
    };
    const Vector near = moved(h) - moved(-h), far = moved(2 * h) - moved(-2 * h);
    gradient[positions[at]] += share.dot(8.0 * near - far) / (12.0 * h);
  }
}

NumericDistribution CustomDensity::integrated(const VectorFunction& log_density, double centre) const {
  try {
    return NumericDistribution(log_density, support.low, support.high, discrete, centre);
  } catch (const std::domain_error& error) {
    throw std::domain_error("`log_density` of the " + functions->owner() + " cannot be integrated: " + error.what());
  }
}

Custom::Custom(const LikelihoodSpec& spec)
    : own_(spec), log_concave_(number_of(spec, "log_concave") != 0.0) {
  if (!has_hyper()) unit();  // errors of the user's function come early
}

void Custom::update(const ConstVectorRef& hyper) {
  if (!own_.read(hyper)) return;
  starts_.clear();
  distributions_.clear();
  lattice_.clear();
  unit_.reset();
}

// The lower quartile, over reference responses at the eta that fits each best, of the distance at which the
// second difference of log p reaches `unit_bend`.
double Custom::measure_unit() const {
  constexpr Index steps = 65;  // from 1e-8 to 1e8
  const Vector& y = own_.functions->reference();
  std::vector<double> found;
  Vector at(2 * steps + 1);
  for (Index i = 0; i < y.size(); ++i) {
    const double centre = starting_eta({y[i], 1.0});
    at[2 * steps] = centre;
    for (Index j = 0; j < steps; ++j) {
      const double distance = std::pow(10.0, -8.0 + 0.25 * j);
      at[2 * j] = centre - distance;
      at[2 * j + 1] = centre + distance;
    }
    const Vector l = log_densities(Vector::Constant(at.size(), y[i]), at);
    for (Index j = 0; j < steps; ++j) {
      const double bend = std::fabs(l[2 * j] + l[2 * j + 1] - 2.0 * l[2 * steps]);
      if (bend < unit_bend) continue;
      found.push_back(at[2 * j + 1] - centre);
      break;
    }
  }
  if (found.empty()) return 1.0;
  std::sort(found.begin(), found.end());
  return found[found.size() / 4];
}

double Custom::log_density(const Datum& datum, const double* eta) const {
  return log_densities(Vector::Constant(1, datum.y), Vector::Constant(1, *eta))[0];
}

void Custom::derivatives(const Datum& datum, double eta, double out[5]) const {
  const double step = stencil_step * unit();
  const Vector y = Vector::Constant(9, datum.y), at = Vector::LinSpaced(9, eta - 4 * step, eta + 4 * step);
  const Vector l = log_densities(y, at);
  out[0] = l[4];
  if (has_derivatives()) {
    const Matrix given = two_derivatives(y, at);
    out[1] = given(4, 0);
    out[2] = given(4, 1);
    out[3] = difference(1, given.col(1), step);
    out[4] = difference(2, given.col(1), step);
    return;
  }
  for (int k = 1; k < 5; ++k) out[k] = difference(k, l, step);
}

// The peak of log p, with so weak a pull towards zero that it matters only where there is no peak.
double Custom::starting_eta(const Datum& datum) const {
  const auto known = starts_.find(datum.y);
  if (known != starts_.end()) return known->second;
  const auto found = find_peak_if_any(
      [&](const Vector& eta) {
        const Vector l = log_densities(Vector::Constant(eta.size(), datum.y), eta);
        return Vector(l.array() - 0.5 * (1.0 + eta.array().square()).log());
      },
      0.0, datum.y);  // a location far from zero is between the grid's points
  if (!found) {
    std::ostringstream words;
    words << "`log_density` of the " << own_.functions->owner() << " is -Inf at y = " << datum.y
          << " for every eta that was tried: `support =` of custom_family() says where responses lie";
    throw std::domain_error(words.str());
  }
  return starts_[datum.y] = found->at;
}

const NumericDistribution& Custom::distribution(double mean, double variance) const {
  const std::pair<double, double> key(mean, variance);
  const auto known = distributions_.find(key);
  if (known != distributions_.end()) return known->second;
  if (distributions_.size() >= most_distributions) distributions_.clear();
  // the trapezium sum over eta, with a step that is small relative to the Gaussian and to the scale of log p
  constexpr double reach = 8.0, most_nodes = 4e4, most_pairs = 1e6;
  const double sd = std::sqrt(variance);
  const Index half =
      sd > 0.0 ? static_cast<Index>(std::ceil(reach / std::max(std::min(0.5, 3.0 * unit() / sd),
                                                              2.0 * reach / most_nodes)))
               : 0;
  const Vector t = half > 0 ? Vector(Vector::LinSpaced(2 * half + 1, -reach, reach)) : Vector(Vector::Zero(1));
  const Vector eta = (mean + sd * t.array()).matrix();
  Vector weight = (-0.5 * t.array().square()).exp();
  weight /= weight.sum();
  const Index J = eta.size(), at_once = std::max<Index>(1, static_cast<Index>(most_pairs) / J);
  const auto log_of = [&](const Vector& y) {
    Vector out(y.size());
    for (Index begin = 0; begin < y.size(); begin += at_once) {
      const Index count = std::min(at_once, y.size() - begin);
      Vector all_y(count * J);
      for (Index i = 0; i < count; ++i) all_y.segment(i * J, J).setConstant(y[begin + i]);
      const Vector l = log_densities(all_y, eta.replicate(count, 1));
      for (Index i = 0; i < count; ++i) {
        const auto part = l.segment(i * J, J);
        const double top = part.maxCoeff();
        out[begin + i] =
            std::isfinite(top) ? top + std::log(weight.dot((part.array() - top).exp().matrix())) : top;
      }
    }
    return out;
  };
  return distributions_.emplace(key, own_.integrated(log_of, mean)).first->second;
}

bool Custom::by_lattice(double variance) const { return std::sqrt(variance) > lattice_sd * unit(); }

const NumericDistribution& Custom::at_lattice(int level, double multiple) const {
  const std::pair<int, double> key(level, multiple);
  const auto known = lattice_.find(key);
  if (known != lattice_.end()) return known->second;
  const double eta = std::ldexp(multiple, level);
  const auto log_of = [&](const Vector& y) { return log_densities(y, Vector::Constant(y.size(), eta)); };
  return lattice_.emplace(key, own_.integrated(log_of, eta)).first->second;
}

template <class Function>
double Custom::mean_over_lattice(double mean, double variance, Function function) const {
  const double sd = std::sqrt(variance);
  const int level = static_cast<int>(std::floor(std::log2(std::max(std::min(0.5 * sd, 3.0 * unit()),
                                                                   sd / lattice_nodes))));
  const double step = std::ldexp(1.0, level), first = std::ceil((mean - lattice_reach * sd) / step),
               last = std::floor((mean + lattice_reach * sd) / step);
  if (lattice_.size() > most_on_lattice) lattice_.clear();
  double sum = 0.0, mass = 0.0;
  // counted, because neighbours far from zero are one number
  for (double i = 0.0; i <= last - first; i += 1.0) {
    const double multiple = first + i;
    const double t = (std::ldexp(multiple, level) - mean) / sd, weight = std::exp(-0.5 * t * t);
    const NumericDistribution* given = nullptr;
    try {
      given = &at_lattice(level, multiple);
    } catch (const std::domain_error&) {
      if (weight > negligible_weight) throw;
    }
    if (!given) continue;  // far out, where a user's function may overflow
    sum += weight * function(*given);
    mass += weight;
  }
  return sum / mass;
}

double Custom::conditional_mean(const Datum&, const double* eta) const { return distribution(*eta, 0.0).mean(); }
double Custom::conditional_variance(const Datum&, const double* eta) const {
  return distribution(*eta, 0.0).variance();
}
double Custom::conditional_cdf(const Datum& datum, const double* eta) const {
  return distribution(*eta, 0.0).tails(datum.y).lower;
}
std::optional<double> Custom::predictive_mean(const Datum&, double mean, double variance) const {
  if (by_lattice(variance))
    return mean_over_lattice(mean, variance, [](const NumericDistribution& d) { return d.mean(); });
  return distribution(mean, variance).mean();
}
std::optional<double> Custom::predictive_mean_variance(const Datum& row, double mean, double variance) const {
  if (variance == 0.0) return 0.0;
  if (by_lattice(variance)) {
    const double centre = *predictive_mean(row, mean, variance);
    return mean_over_lattice(mean, variance, [&](const NumericDistribution& d) {
      return (d.mean() - centre) * (d.mean() - centre);
    });
  }
  constexpr double reach = 7.5, step = 0.75;
  const double sd = std::sqrt(variance);
  double mass = 0.0, first = 0.0, second = 0.0, centre = conditional_mean(row, &mean);
  for (double t = -reach; t <= reach; t += step) {
    const double eta = mean + sd * t, weight = std::exp(-0.5 * t * t), m = conditional_mean(row, &eta) - centre;
    mass += weight;
    first += weight * m;
    second += weight * m * m;
  }
  first /= mass;
  return second / mass - first * first;
}
std::optional<double> Custom::predictive_noise(const Datum& row, double mean, double variance) const {
  if (by_lattice(variance))
    return mean_over_lattice(mean, variance, [](const NumericDistribution& d) { return d.variance(); });
  return distribution(mean, variance).variance() - *predictive_mean_variance(row, mean, variance);
}
std::optional<Tails> Custom::predictive_tails(const Datum& datum, double mean, double variance) const {
  const auto tails = distribution(mean, variance).tails(datum.y);
  return Tails{tails.lower, tails.upper};
}
std::optional<double> Custom::predictive_quantile(const Datum&, double mean, double variance,
                                                  double probability) const {
  if (probability <= 0.0) return own_.support.low;
  if (probability >= 1.0) return own_.support.high;
  return distribution(mean, variance).quantile(probability);
}

void Custom::add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const {
  own_.add_gradient(Vector::Constant(1, datum.y), Vector::Constant(1, *eta), Vector::Constant(1, weight), gradient);
}

}  // namespace galvi

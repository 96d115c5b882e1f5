// The likelihood axis: p(y | eta), mathematics only.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "function/smoothness.h"
#include "function/softmax.h"
#include "numeric/types.h"

namespace galvi {

/// One response. `size` is how many trials y counts in a binomial likelihood; how many measurements it is the
/// mean of (any positive number) where a likelihood divides its dispersion by that, see divides_dispersion();
/// and 1 elsewhere. For a response with classes y is the class, 0, 1, .. A censored response is known to lie
/// in (y, upper], and a truncated one was observed only because it lies in (entry, exit]. `noise` is a known variance,
/// beside that of the likelihood.
struct Datum {
  double y = 0.0;
  double size = 1.0;
  double upper = y;
  double entry = -infinity, exit = infinity;
  double noise = 0.0;
  const double* counts = nullptr;  // trials of each class, `size` in all; null if the response is one class
  Index part = 0;  // which of the parts that a likelihood consists of is its own (likelihood/mixed.h, averaged.h)
  bool censored() const { return upper > y; }
  /// Another response of the same row.
  Datum at(double response) const {
    Datum out = *this;
    out.y = out.upper = response;
    return out;
  }
  bool truncated() const { return entry > -infinity || exit < infinity; }
  /// The same response, observed wherever it lies.
  Datum at_any(double response) const {
    Datum out = at(response);
    out.entry = -infinity;
    out.exit = infinity;
    return out;
  }
};

/// All responses; `weight` multiplies the log likelihood of its row.
struct Data {
  Vector y;
  Vector size;
  Vector weight;
  Matrix censoring = {};  // y, upper and entry, N x 3; empty where no response is censored or truncated
  Matrix known = {};      // noise, entry and exit, N x 3; empty where these are 0 and infinite
  /// N x classes; empty unless responses are counts of classes.
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> counts = {};
  Eigen::VectorXi part = {};  // empty for a likelihood of one part

  /// Calls f(name, field, ..) for every field of these data. Only here the fields are listed, by their names in R.
  template <class F, class... Rows>
  static void for_fields(const F& f, Rows&... data) {
    f("y", data.y...);
    f("size", data.size...);
    f("weights", data.weight...);
    f("censoring", data.censoring...);
    f("known", data.known...);
    f("counts", data.counts...);
    f("part", data.part...);
  }
  /// Calls f(x) for all numbers of row n.
  template <class F>
  void for_numbers(Index n, const F& f) const {
    for_fields([&](const char*, const auto& field) {
      if (field.rows() == 0) return;
      for (Index j = 0; j < field.cols(); ++j) f(static_cast<double>(field(n, j)));
    }, *this);
  }
  Datum operator[](Index n) const {
    Datum out{y[n], size[n]};
    if (censoring.rows() > 0) out = {censoring(n, 0), size[n], censoring(n, 1), censoring(n, 2)};
    if (known.rows() > 0) {
      out.noise = known(n, 0);
      out.entry = std::max(out.entry, known(n, 1));
      out.exit = known(n, 2);
    }
    if (counts.rows() > 0) out.counts = counts.data() + n * counts.cols();
    if (part.size() > 0) out.part = part[n];
    return out;
  }
  /// Some of the rows, given by their positions.
  Data at(const std::vector<Index>& places) const;
  /// Rows begin, begin + 1, .., begin + count - 1.
  Data slice(Index begin, Index count) const;
};

/// Rows whose log densities are computed at many values of eta, and what the likelihood computes of them once.
struct PreparedRows {
  static constexpr Index most = 256;  // so that a few arrays of them fit the first-level cache
  Data data;
  Matrix constants = {};                 // rows x as many as the likelihood needs
  std::vector<PreparedRows> parts = {};  // of the likelihoods that it is made of
  Vector distinct = {};                  // the distinct responses, where a function of them alone is needed
  bool binary = false;                   // all sizes are 1
  Index size() const { return data.y.size(); }
};
/// Numbers of at most that many rows, without allocation.
using RowArray = Eigen::Array<double, Eigen::Dynamic, 1, 0, PreparedRows::most, 1>;

class DensityFunctions;

/// R's description of a likelihood; hyper and constants as in KernelSpec. `functions`: of a custom one.
struct LikelihoodSpec {
  std::string type;
  std::map<std::string, std::vector<Index>> hyper;
  std::map<std::string, double> constants;
  std::shared_ptr<const DensityFunctions> functions = nullptr;
  std::vector<LikelihoodSpec> parts = {};  // of a mixed one
  bool truncated = false;                  // likelihood/truncated.h
};

/// E_q[log p(y | eta)] under eta ~ N(mean, variance) and its derivatives in mean (m) and variance (v).
struct PointExpectation {
  double value;
  double d_m, d_v;
  double d_mm, d_mv, d_vv;
};

/// The same for one row with K latent values, independent under q. Blocks of second derivatives are K x K,
/// column-major: entry k + K l of d_mv is d^2 E / dm_k dv_l. Functions that fill one add to zeros. Without
/// variance they are log p and its derivatives: d_m the gradient, d_mm the Hessian, 2 d_v its diagonal h, and
/// in (k, l) 2 d_mv is dh_l / d eta_k, 4 d_vv is d^2 h_l / d eta_k^2.
struct RowExpectation {
  double value;
  double *d_m, *d_v;           // K
  double *d_mm, *d_mv, *d_vv;  // K x K

  /// K = 1
  void add(const PointExpectation& point) {
    value += point.value;
    *d_m += point.d_m;
    *d_v += point.d_v;
    *d_mm += point.d_mm;
    *d_mv += point.d_mv;
    *d_vv += point.d_vv;
  }
};

/// Where the Fenchel conjugate of f = -E log p, a convex function of mean and variance, is finite:
///   f*(alpha, lambda) = sup over (m, v) of E log p - alpha m + lambda v / 2
/// on a line alpha = alpha0 + alpha1 x, lambda = lambda0 + lambda1 x, lower < x < upper, for each latent; a
/// point if lower = upper. alpha and lambda are those of sites: at the optimum alpha = dE/dm and
/// lambda = -2 dE/dv (001 has -alpha).
struct DualLine {
  double alpha0 = 0.0, alpha1 = 0.0, lambda0 = 0.0, lambda1 = 0.0;
  double lower = 0.0, upper = 0.0;

  /// alpha = intercept + slope lambda with lambda itself as x: the case of all but the gaussian.
  static DualLine in_lambda(double intercept, double slope, double upper) {
    return {intercept, upper > 0.0 ? slope : 0.0, 0.0, upper > 0.0 ? 1.0 : 0.0, 0.0, upper};
  }
};

/// f* along that line and its derivatives in x; both 0 where nothing is free.
struct PointConjugate {
  double value, slope, curvature;
};

class Averaged;
class Custom;
class Distributional;
class Mixed;
class StandardFunction;
struct Composition;
struct CompositionAdjoint;

/// The smallest and the largest response there can be.
struct Support {
  double low, high;
};

/// P(Y <= y) and P(Y > y), each accurate relative to itself where it is small.
struct Tails {
  double lower, upper;
};

/// For the density proportional to p(y | eta)^weight N(eta | mean, variance): log of its integral, mean,
/// variance.
struct TiltedMoments {
  double log_mass, mean, variance;
};

/// How P(Y <= y | eta) depends on eta: with a random threshold T of log-concave density
///   P(Y <= y | eta) = left P(T > eta) + right P(T <= eta).
struct Crossing {
  double left = 1.0, right = 0.0;
};

/// Whether there is a likelihood of responses that are observed in an interval only (likelihood/truncated.h), and
/// whether it is log-concave, as where eta is the natural parameter of an exponential family.
enum class Truncation { refused, possible, concave };

/// eta is the centre of a response that is normal given a random precision: y | eta, tau ~ N(eta,
/// squared_scale / tau), tau ~ Gamma(shape, rate = shape).
struct NormalMixture {
  double shape, squared_scale;
};

/// p(y | eta) of one row. The first part is what a likelihood owes: the functions without a body. Each of the
/// others says what it enables; its default is right for a likelihood that does not have it. With K > 1
/// latent values derive from Distributional or ClassResponse instead, which answer for the functions of one.
class Likelihood {
 public:
  virtual ~Likelihood() = default;

  // Owed.
  /// log p(y | eta) with its constant. eta: K values.
  virtual double log_density(const Datum& datum, const double* eta) const = 0;
  /// d^k log p / d eta^k, k = 0..4, for K = 1.
  virtual void derivatives(const Datum& datum, double eta, double out[5]) const = 0;
  /// Of log p as a function of eta; too favourable a declaration makes expectations wrong without an error.
  virtual Smoothness smoothness() const = 0;
  /// log p is concave in eta: the bound has one optimum.
  virtual bool log_concave() const = 0;
  /// A finite value of eta that fits this datum alone, to start inference from. K = 1.
  virtual double starting_eta(const Datum& datum) const = 0;
  /// E[y | eta] and Var[y | eta] of a new response of this row, of which all but y is used, where y is a number.
  virtual double conditional_mean(const Datum& row, const double* eta) const = 0;
  virtual double conditional_variance(const Datum& row, const double* eta) const = 0;
  /// P(Y <= y | eta). Predictive probabilities are means of it by quadrature that expects it to be monotone
  /// in eta; a likelihood of which it is not (as of an angle) offers predictive_tails() too.
  virtual double conditional_cdf(const Datum& datum, const double* eta) const = 0;
  virtual bool discrete() const = 0;
  virtual Support support(const Datum& row) const = 0;

  // The same of many rows, as sums over rows at many points of eta and the parameters need it.
  /// Some rows, at most PreparedRows::most, for the functions below. Valid for any hyperparameters.
  virtual PreparedRows prepare(Data data) const { return {std::move(data)}; }
  /// out_n <- log p(y_n | eta_n), to rounding; anything that is not finite where that is not finite or where it needs
  /// the care of log_density().   eta: rows x K
  virtual void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const;
  /// The same, from log_density() where that is needed, but for rows of weight zero.
  void careful_log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const;
  /// sum_n weight_n log p(y_n | eta_n), without the rows of weight zero.
  double sum_log_density(const PreparedRows& rows, const ConstMatrixRef& eta) const;

  // With parameters: values, and their gradient. Positions come to the constructor in its LikelihoodSpec.
  virtual bool has_hyper() const { return false; }
  virtual void update(const ConstVectorRef& /*hyper*/) {}
  /// gradient[h] += weight d log p(y | eta) / d hyper_h, natural scale. Learning the parameters needs it.
  virtual void add_gradient(const Datum&, const double* /*eta*/, double /*weight*/,
                            VectorRef /*gradient*/) const {}
  /// The same under eta ~ N(mean, variance) in closed form, which goes with a closed form of the expectation;
  /// false where quadrature must be used. mean, variance: K values.
  virtual bool add_expected_gradient(const Datum&, const double* /*mean*/, const double* /*variance*/,
                                     double /*weight*/, VectorRef /*gradient*/) const {
    return false;
  }

  // What is known of log p, which decides what algorithms and expectations combine with it.
  /// Latent values per observation (K).
  virtual Index latents() const { return 1; }
  /// The smoothness of this datum's log p, where it is known better: fewer nodes.
  virtual Smoothness smoothness(const Datum&) const { return smoothness(); }
  /// The eta at which log p of this datum is largest, where it has a formula: the saturated model of deviances, which is
  /// searched elsewhere. K = 1
  virtual std::optional<double> mode(const Datum&) const { return std::nullopt; }
  /// log p is concave in each latent value with the others fixed, so that no site has a negative precision.
  /// The bound is then concave in the posterior of each latent, but may have several optima.
  virtual bool concave_in_each() const { return log_concave(); }
  /// log p is a sum of functions of one latent value each, so latents that are independent in the prior are
  /// independent in the posterior.
  virtual bool separable() const { return latents() == 1 || standard_function() != nullptr; }
  /// log p is quadratic in eta: inference is exact in one step.
  virtual bool conjugate() const { return false; }
  /// log p is a convex function of (y - eta)^2: bounds by normal densities of a random variance.
  virtual bool super_gaussian() const { return false; }
  /// That of an exponential dispersion model, where the dispersion of a row is divided by its `size`.
  virtual bool divides_dispersion() const { return false; }
  /// A change of one latent value can be compensated by a change of the others, as among classes.
  virtual bool compete() const { return latents() > 1; }

  // Forms of log p that expectations ask for: each enables what is said, without which E log p is
  // quadrature's.
  /// The one function of which log p is a weighted sum (function/composition.h): all bounds of that function,
  /// and samples of it that are taken once; null if log p does not have this form.
  virtual const StandardFunction* standard_function() const { return nullptr; }
  virtual void compose(const Datum&, Composition&) const {}
  virtual void add_composition_gradient(const Datum&, const CompositionAdjoint&,
                                        VectorRef /*gradient*/) const {}
  /// Some weights of that sum are negative, so that bounds on the function's mean do not bound the sum.
  virtual bool signed_weights() const { return false; }
  /// Its own quadrature and the bounds for classes.
  virtual std::optional<Softmax> softmax() const { return std::nullopt; }
  /// The expectation in closed form, where there is one, which "auto" then uses; for a row with K > 1
  /// latents, the second function. has_closed_form(): for all rows that the likelihood was made for.
  virtual bool has_closed_form() const { return false; }
  virtual std::optional<PointExpectation> closed_form(const Datum&, double /*mean*/,
                                                      double /*variance*/) const {
    return std::nullopt;
  }
  virtual void add_closed_form(const Datum& datum, const double* mean, const double* variance,
                               RowExpectation& out) const {
    const auto closed = closed_form(datum, *mean, *variance);
    if (!closed)
      throw std::invalid_argument("the fit's expectation has no closed form for a row that is censored so");
    out.add(*closed);
  }
  /// The conjugate of the closed form, where -E log p is jointly convex in mean and variance (001, table 2):
  /// dual coordinate ascent and its certificate. K = 1
  virtual bool has_fenchel_conjugate() const { return false; }
  virtual DualLine dual_line(const Datum&) const { return {}; }
  virtual PointConjugate fenchel_conjugate(const Datum&, double /*x*/) const { return {}; }
  /// The tilted moments in closed form, for variance > 0, where integration would lose digits: expectation
  /// propagation and predictive densities.
  virtual std::optional<TiltedMoments> tilted(const Datum&, double /*weight*/, double /*mean*/,
                                              double /*variance*/) const {
    return std::nullopt;
  }

  // Responses that are observed only if they lie in (entry, exit] of their row.   K = 1
  virtual Truncation truncation() const { return Truncation::refused; }
  /// d^k log P(entry < Y <= exit | eta) / d eta^k, k = 0..4, where that is quicker than adding up densities; false
  /// where it is not, or would lose digits.
  virtual bool interval(const Datum& /*row*/, double /*eta*/, double /*out*/[5]) const { return false; }
  /// gradient[h] += weight d log P(entry < Y <= exit | eta) / d hyper_h, likewise.
  virtual bool add_interval_gradient(const Datum& /*row*/, double /*eta*/, double /*weight*/,
                                     VectorRef /*gradient*/) const {
    return false;
  }

  // What kind of response it is.
  /// Several latents are linear predictors of as many parameters (likelihood/distributional.h); null elsewhere,
  /// where several are those of classes.
  virtual const Distributional* distributional() const { return nullptr; }
  /// The density is a function that takes many rows at once (likelihood/custom.h); else null.
  virtual const Custom* custom() const { return nullptr; }
  /// Another likelihood, averaged over a part of eta's variance (likelihood/averaged.h); null elsewhere.
  virtual Averaged* averaged() { return nullptr; }
  /// Rows have likelihoods of their own (likelihood/mixed.h); null where they share one.
  virtual const Mixed* mixed() const { return nullptr; }
  /// Number of classes where the response is one of several, 0 where it is a number.
  virtual Index classes() const { return 0; }
  /// Whether a discrete response may lie between two integers, as points shared among nodes do. log_density()
  /// is then that of a point process, up to a constant.
  virtual bool takes_shares() const { return false; }
  /// Whether the lowest response, or the highest, has a probability, while others have a density.
  virtual bool mass_at_lowest() const { return false; }
  virtual bool mass_at_highest() const { return false; }

  // Predictions: forms and closed forms under eta ~ N(mean, variance), K = 1. What has none is integrated
  // over eta.
  /// conditional_cdf() as a function of eta, for a y inside the support, where it has one of these forms; the
  /// log density of T at t and its first two derivatives. Tail probabilities are then accurate relative to
  /// themselves.
  virtual std::optional<Crossing> crossing(const Datum&) const { return std::nullopt; }
  virtual void crossing_density(const Datum&, double /*t*/, double /*out*/[3]) const {}
  virtual std::optional<NormalMixture> normal_mixture(const Datum&) const { return std::nullopt; }
  /// f where E[y | eta] = size exp(f(eta)) and size - E[y | eta] = size exp(f(-eta)): small means keep their
  /// digits.
  virtual const StandardFunction* log_inverse_link() const { return nullptr; }
  /// The f of size - E[y | eta], if it is a different one.
  virtual const StandardFunction* log_complement_link() const { return log_inverse_link(); }
  virtual std::optional<double> predictive_log_mean(double /*mean*/, double /*variance*/) const {
    return std::nullopt;
  }
  virtual std::optional<double> predictive_mean(const Datum& /*row*/, double /*mean*/, double /*variance*/) const {
    return std::nullopt;
  }
  /// Var(E[y | eta]).
  virtual std::optional<double> predictive_mean_variance(const Datum&, double, double) const {
    return std::nullopt;
  }
  /// E[Var[y | eta]].
  virtual std::optional<double> predictive_noise(const Datum&, double, double) const { return std::nullopt; }
  virtual std::optional<double> predictive_log_density(const Datum&, double, double) const {
    return std::nullopt;
  }
  virtual std::optional<Tails> predictive_tails(const Datum&, double, double) const { return std::nullopt; }
  virtual std::optional<double> predictive_quantile(const Datum&, double, double, double) const {
    return std::nullopt;
  }
};

std::unique_ptr<Likelihood> make_likelihood(const LikelihoodSpec& spec);

/// One row of the registry, which R reads as likelihood_facts().
struct LikelihoodFacts {
  std::string type;
  LikelihoodSpec example;
  bool log_concave;
  bool conjugate;
  bool closed_form;
  bool discrete;
  bool separable;
  bool divides_dispersion;
  Index latents, classes;  // of the example; classes are 0 where the response is a number
  Truncation truncation;
};
std::vector<LikelihoodFacts> likelihood_facts();

}  // namespace galvi

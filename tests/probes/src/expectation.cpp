// The likelihood and expectation axes, row by row.
#include <Rcpp/Lightest>

#include <cmath>
#include <ctime>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/prior_rows.h"
#include "border/monitor.h"
#include "expectation/expectation.h"
#include "likelihood/coefficient_priors.h"
#include "likelihood/tilted.h"
#include "numeric/backend.h"
#include "quadrature/gaussian_rule.h"

namespace {

// N x K from K columns below one another.
galvi::Matrix rows_of(const Rcpp::NumericVector& x, R_xlen_t rows) {
  const R_xlen_t latents = rows > 0 ? x.size() / rows : 1;
  if (rows * latents != x.size()) Rcpp::stop("mean and variance must have a row for each response");
  return Eigen::Map<const galvi::Matrix>(x.begin(), rows, latents);
}

Rcpp::NumericVector column(const galvi::Matrix& X) {
  return Rcpp::NumericVector(X.data(), X.data() + X.size());
}

// One response: its bounds and its entry where `censoring` (N x 3, or nothing) has them, and its noise and ends where
// `known` (likewise) has them.
galvi::Datum datum_of(const Rcpp::NumericVector& y, const Rcpp::NumericVector& size,
                      const Rcpp::Nullable<Rcpp::NumericMatrix>& censoring,
                      const Rcpp::Nullable<Rcpp::NumericMatrix>& known, int n) {
  galvi::Datum out{y[n], size[n]};
  if (censoring.isNotNull()) {
    const Rcpp::NumericMatrix range(censoring.get());
    out = {range(n, 0), size[n], range(n, 1), range(n, 2)};
  }
  if (known.isNotNull()) {
    const Rcpp::NumericMatrix facts(known.get());
    out.noise = facts(n, 0);
    out.entry = facts(n, 1);
    out.exit = facts(n, 2);
  }
  return out;
}

}  // namespace

// Why this expectation cannot serve this likelihood; "" if it can.
// [[Rcpp::export(rng = false)]]
std::string probe_expectation_refuses(std::string expectation, Rcpp::List likelihood) {
  const auto made = galvi::make_likelihood(galvi::likelihood_from_list(likelihood));
  try {
    return galvi::make_expectation(expectation, *made)->refuses(*made);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

// Nodes and weights for the mean under N(mean, variance) of a function of this Smoothness.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_gaussian_rule(double mean, double variance, double width, double growth = 0,
                                        double centre = 0, double spread = 0, double oscillation = 0) {
  galvi::GaussianRule rule;
  rule.place(mean, variance, {width, growth, centre, spread, oscillation});
  const auto& nodes = rule.nodes();
  Rcpp::NumericMatrix out(nodes.size(), 2);
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    out(j, 0) = nodes[j];
    out(j, 1) = rule.weights()[j];
  }
  return out;
}

// Row n: log p(y_n | eta_n), its four derivatives in eta, then d log p / d hyper.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_likelihood(Rcpp::List likelihood, Rcpp::NumericVector hyper, Rcpp::NumericVector y,
                                     Rcpp::NumericVector size, Rcpp::NumericVector eta,
                                     Rcpp::Nullable<Rcpp::NumericMatrix> censoring = R_NilValue,
                                     Rcpp::Nullable<Rcpp::NumericMatrix> known = R_NilValue) {
  const auto made = galvi::likelihood_at(likelihood, galvi::from_r(hyper));
  Rcpp::NumericMatrix out(y.size(), 6 + hyper.size());
  for (int n = 0; n < y.size(); ++n) {
    const galvi::Datum datum = datum_of(y, size, censoring, known, n);
    double l[5];
    made->derivatives(datum, eta[n], l);
    out(n, 0) = made->log_density(datum, &eta[n]);
    for (int k = 0; k < 5; ++k) out(n, k + 1) = l[k];
    galvi::Vector gradient = galvi::Vector::Zero(hyper.size());
    made->add_gradient(datum, &eta[n], 1.0, gradient);
    for (int h = 0; h < hyper.size(); ++h) out(n, 6 + h) = gradient[h];
  }
  return out;
}

// What is known of a response given eta, N x K, and where inference starts with K = 1.
// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame probe_conditional(Rcpp::List likelihood, Rcpp::NumericVector hyper, Rcpp::NumericVector y,
                                  Rcpp::NumericVector size, Rcpp::NumericVector eta,
                                  Rcpp::Nullable<Rcpp::NumericMatrix> known = R_NilValue) {
  const auto made = galvi::likelihood_at(likelihood, galvi::from_r(hyper));
  const galvi::Matrix rows = rows_of(eta, y.size()).transpose();
  const auto N = y.size();
  Rcpp::NumericVector log_density(N), mean(N), variance(N), cdf(N), start(N);
  for (int n = 0; n < N; ++n) {
    const double* at = rows.col(n).data();
    const galvi::Datum datum = datum_of(y, size, R_NilValue, known, n);
    log_density[n] = made->log_density(datum, at);
    mean[n] = made->conditional_mean(datum, at);
    variance[n] = made->conditional_variance(datum, at);
    cdf[n] = made->conditional_cdf(datum, at);
    start[n] = made->latents() == 1 ? made->starting_eta(datum) : NA_REAL;
  }
  return Rcpp::DataFrame::create(Rcpp::_["log_density"] = log_density, Rcpp::_["mean"] = mean,
                                 Rcpp::_["variance"] = variance, Rcpp::_["cdf"] = cdf,
                                 Rcpp::_["start"] = start);
}

// One sweep: value, d_m, d_v, d_mm, d_mv, d_vv per row, the gradient in hyper, and the seconds that it took.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_expectation(Rcpp::List likelihood, std::string expectation, Rcpp::NumericVector hyper,
                             Rcpp::NumericVector y, Rcpp::NumericVector size, Rcpp::NumericVector weight,
                             Rcpp::NumericVector mean, Rcpp::NumericVector variance, int order, int threads,
                             int pieces = 20, Rcpp::Nullable<Rcpp::NumericMatrix> censoring = R_NilValue,
                             Rcpp::Nullable<Rcpp::NumericMatrix> known = R_NilValue) {
  const auto made = galvi::likelihood_at(likelihood, galvi::from_r(hyper));
  const auto expected = galvi::make_expectation(expectation, *made, {pieces});
  galvi::RMonitor monitor(R_NilValue);
  galvi::Context context{galvi::backend("eigen"), monitor, threads};
  galvi::Data data{galvi::from_r(y), galvi::from_r(size), galvi::from_r(weight)};
  if (censoring.isNotNull()) {
    data.censoring = galvi::from_r(Rcpp::NumericMatrix(censoring.get()));
    data.y = data.censoring.col(0);
  }
  if (known.isNotNull()) data.known = galvi::from_r(Rcpp::NumericMatrix(known.get()));
  const galvi::Matrix m = rows_of(mean, y.size()), v = rows_of(variance, y.size());
  galvi::Expectations out;
  expected->evaluate(context, *made, data, m, v, order, out);
  galvi::Vector gradient = galvi::Vector::Zero(hyper.size());
  expected->add_gradient(context, *made, data, m, v, gradient);
  return Rcpp::List::create(Rcpp::_["name"] = expected->name(), Rcpp::_["value"] = galvi::to_r(out.value),
                            Rcpp::_["d_m"] = column(out.d_mean), Rcpp::_["d_v"] = column(out.d_variance),
                            Rcpp::_["d_mm"] = column(out.d_mm), Rcpp::_["d_mv"] = column(out.d_mv),
                            Rcpp::_["d_vv"] = column(out.d_vv), Rcpp::_["gradient"] = galvi::to_r(gradient),
                            Rcpp::_["sweeps"] = context.cost.sweeps, Rcpp::_["exact"] = expected->exact(),
                            Rcpp::_["is_bound"] = expected->is_bound(),
                            Rcpp::_["one_optimum"] = expected->one_optimum(*made));
}

// Row n: log mass, mean and variance of p(y_n | eta)^weight_n N(eta | mean_n, variance_n), then the mean of
// d log p / d hyper under it.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_tilted(Rcpp::List likelihood, Rcpp::NumericVector hyper, Rcpp::NumericVector y,
                                 Rcpp::NumericVector size, Rcpp::NumericVector weight,
                                 Rcpp::NumericVector mean, Rcpp::NumericVector variance) {
  const auto made = galvi::likelihood_at(likelihood, galvi::from_r(hyper));
  Rcpp::NumericMatrix out(y.size(), 3 + hyper.size());
  galvi::TiltedRule rule;
  for (int n = 0; n < y.size(); ++n) {
    const galvi::Datum datum{y[n], size[n]};
    rule.place(*made, datum, weight[n], mean[n], variance[n]);
    out(n, 0) = rule.log_mass();
    out(n, 1) = rule.mean();
    out(n, 2) = rule.variance();
    galvi::Vector gradient = galvi::Vector::Zero(hyper.size());
    for (std::size_t j = 0; j < rule.nodes().size(); ++j)
      made->add_gradient(datum, &rule.nodes()[j], rule.weights()[j], gradient);
    for (int h = 0; h < hyper.size(); ++h) out(n, 3 + h) = gradient[h];
  }
  return out;
}

// Log densities of rows of eta, N x K: column 1 by log_densities(), with NaN where that is not finite, column 2 by
// log_density(). Attributes: the sum by sum_log_density(), nanoseconds a row by `repeats` calls of that, and of
// log_density().
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_log_densities(Rcpp::List likelihood, Rcpp::NumericVector hyper, Rcpp::NumericVector y,
                                        Rcpp::NumericVector size, Rcpp::NumericVector weight, Rcpp::NumericVector eta,
                                        Rcpp::Nullable<Rcpp::NumericMatrix> censoring = R_NilValue, int repeats = 0) {
  if (y.size() > galvi::PreparedRows::most)
    Rcpp::stop("%d rows at most, as many as are prepared together", static_cast<int>(galvi::PreparedRows::most));
  const auto made = galvi::likelihood_at(likelihood, galvi::from_r(hyper));
  const galvi::Matrix rows = rows_of(eta, y.size()), columns = rows.transpose();
  galvi::Data data{galvi::from_r(y), galvi::from_r(size), galvi::from_r(weight)};
  if (censoring.isNotNull()) {
    data.censoring = galvi::from_r(Rcpp::NumericMatrix(censoring.get()));
    data.y = data.censoring.col(0);
  }
  const galvi::PreparedRows prepared = made->prepare(data);
  galvi::RowArray each(y.size());
  made->log_densities(prepared, rows, each);
  Rcpp::NumericMatrix out(y.size(), 2);
  for (int n = 0; n < y.size(); ++n) {
    out(n, 0) = std::isfinite(each[n]) ? each[n] : R_NaN;
    out(n, 1) = made->log_density(data[n], columns.col(n).data());
  }
  out.attr("sum") = made->sum_log_density(prepared, rows);
  if (repeats == 0) return out;
  const auto nanoseconds = [&](const auto& f) {
    double sum = 0;
    const std::clock_t begin = std::clock();
    for (int r = 0; r < repeats; ++r) sum += f();
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    return sum == 0 ? 0 : 1e9 * seconds / (static_cast<double>(repeats) * static_cast<double>(y.size()));
  };
  out.attr("ns") = nanoseconds([&] { return made->sum_log_density(prepared, rows); });
  out.attr("ns_one") = nanoseconds([&] {
    double sum = 0;
    for (int n = 0; n < y.size(); ++n) sum += made->log_density(data[n], columns.col(n).data());
    return sum;
  });
  return out;
}

// The expectation of the log density of a coefficient's prior: value, d_m, d_v, d_mm, d_mv, d_vv for each mean and
// variance, log p at the mean, and the derivatives of the first in each number of `hyper`.   n x 7 or more
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_coefficient_prior(Rcpp::List prior, Rcpp::NumericVector mean, Rcpp::NumericVector variance,
                                            Rcpp::NumericVector hyper = Rcpp::NumericVector::create()) {
  const auto made = galvi::make_coefficient_prior(galvi::coefficient_prior_from_list(prior));
  const galvi::Vector table = galvi::from_r(hyper);
  made->update(table);
  const auto expected = galvi::make_expectation("auto", *made);
  const galvi::Datum datum{galvi::get<double>(prior, "location"), 1.0};
  Rcpp::NumericMatrix out(mean.size(), 7 + hyper.size());
  for (int n = 0; n < mean.size(); ++n) {
    double d[5] = {0, 0, 0, 0, 0};
    galvi::RowExpectation row{0.0, d, d + 1, d + 2, d + 3, d + 4};
    expected->evaluate_row(*made, datum, &mean[n], &variance[n], 2, row);
    out(n, 0) = row.value;
    for (int i = 0; i < 5; ++i) out(n, i + 1) = d[i];
    out(n, 6) = made->log_density(datum, &mean[n]);
    galvi::Vector gradient = galvi::Vector::Zero(hyper.size());
    if (made->has_hyper()) made->add_expected_gradient(datum, &mean[n], &variance[n], 1.0, gradient);
    for (int i = 0; i < hyper.size(); ++i) out(n, 7 + i) = gradient[i];
  }
  return out;
}

// Log density of a hyperparameter's prior, and its derivative.   n x 2
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_prior_density(Rcpp::List prior, Rcpp::NumericVector theta) {
  const auto density = galvi::prior_density_from_list(prior);
  Rcpp::NumericMatrix out(theta.size(), 2);
  for (int n = 0; n < theta.size(); ++n) {
    out(n, 0) = density->log_density(theta[n]);
    out(n, 1) = density->derivative(theta[n]);
  }
  return out;
}

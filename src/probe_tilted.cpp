// Tilted moments, opened for tests.
#include <Rcpp/Lightest>

#include "border/model_from_list.h"
#include "quadrature/tilted.h"

// Row n: log mass, mean and variance of p(y_n | eta)^weight_n N(eta | mean_n, variance_n), then the mean of
// d log p / d hyper under it.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_tilted(Rcpp::List likelihood, Rcpp::NumericVector hyper, Rcpp::NumericVector y,
                                 Rcpp::NumericVector size, Rcpp::NumericVector weight,
                                 Rcpp::NumericVector mean, Rcpp::NumericVector variance) {
  const auto made = galvi::make_likelihood(galvi::likelihood_from_list(likelihood));
  made->update(Eigen::Map<const galvi::Vector>(hyper.begin(), hyper.size()));
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

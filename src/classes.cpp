// Predicted probabilities of classes, row by row, from the marginal means and variances of the latent values.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "predictive/predictive.h"

// mean, variance: N x K. N x C probabilities or, with `second`, list(probability, second) with E p^2 beside
// them. NA in a row gives NA.
// [[Rcpp::export(rng = false)]]
SEXP predict_classes(Rcpp::List likelihood, Rcpp::NumericVector hyper, Rcpp::NumericMatrix mean,
                     Rcpp::NumericMatrix variance, bool second = false) {
  const auto l = galvi::make_likelihood(galvi::likelihood_from_list(likelihood));
  l->update(Eigen::Map<const galvi::Vector>(hyper.begin(), hyper.size()));
  const galvi::Index K = l->latents(), C = l->classes();
  if (C == 0) throw std::invalid_argument("this likelihood's response is no class");
  const int rows = mean.nrow();
  if (mean.ncol() != K || variance.ncol() != K || variance.nrow() != rows)
    throw std::invalid_argument("mean and variance must be N x K");
  Rcpp::NumericMatrix probability(rows, static_cast<int>(C)), moment(second ? rows : 0, static_cast<int>(C));
  galvi::Vector m(K), v(K), p(C), s(C);
  galvi::RMonitor monitor(R_NilValue);
  for (int n = 0; n < rows; ++n) {
    monitor.poll();
    bool missing = false;
    for (galvi::Index k = 0; k < K; ++k) {
      m[k] = mean(n, k);
      v[k] = variance(n, k);
      missing = missing || !std::isfinite(m[k]) || !(v[k] >= 0.0 && std::isfinite(v[k]));
    }
    if (missing) {
      p.setConstant(NA_REAL);
      s.setConstant(NA_REAL);
    } else {
      galvi::predictive_classes(*l, m.data(), v.data(), p.data(), second ? s.data() : nullptr);
    }
    for (galvi::Index c = 0; c < C; ++c) {
      probability(n, c) = p[c];
      if (second) moment(n, c) = s[c];
    }
  }
  if (!second) return probability;
  return Rcpp::List::create(Rcpp::_["probability"] = probability, Rcpp::_["second"] = moment);
}

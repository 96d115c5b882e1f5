// Classes whose latent values depend on each other.
#include <Rcpp/Lightest>

#include "global/linear_response.h"
#include "quadrature/class_points.h"
#include "setting.h"

using namespace galvi;

// mean: K, V: K x K. Reference: -1, or counted from 0.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_class_points(Rcpp::NumericVector mean, Rcpp::NumericMatrix V, int classes, int reference,
                              double exponent) {
  ClassPoints points;
  ClassRule({classes, reference}).place(from_r(mean), from_r(V), exponent, points);
  return Rcpp::List::create(Rcpp::Named("probability") = to_r(points.probability),
                            Rcpp::Named("weight") = to_r(points.weight));
}

// mean: N x K, between: N x K^2.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_softmax_derivatives(Rcpp::NumericMatrix mean, Rcpp::NumericMatrix between,
                                     Rcpp::NumericVector copies, int classes, int reference,
                                     double exponent) {
  Setting setting("auto");
  const HigherDerivatives out = softmax_derivatives(setting.context, ClassRule({classes, reference}),
                                                    from_r(mean), from_r(between), from_r(copies), exponent);
  return Rcpp::List::create(Rcpp::Named("third") = to_r(out.third), Rcpp::Named("fourth") = to_r(out.fourth));
}

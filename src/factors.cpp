// The border: where the learning of factors and of loadings starts.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "hyper/factors.h"
#include "likelihood/mixed.h"
#include "numeric/backend.h"
#include "prior/factors_term.h"

namespace galvi {

namespace {

Vector starting_values(const Likelihood& likelihood, const Data& data, const Matrix& offset) {
  Vector eta(data.y.size());
  for (Index n = 0; n < eta.size(); ++n) eta[n] = likelihood.starting_eta(data[n]) - offset(n, 0);
  return eta;
}

}  // namespace

}  // namespace galvi

//' The linear predictor of each row, less its offset, from the response alone; of models with one
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector starting_predictor(Rcpp::List model) {
  using namespace galvi;
  const auto likelihood =
      likelihood_at(get<Rcpp::List>(model, "likelihood"), get_vector(get<Rcpp::List>(model, "hyper"), "value"));
  const Data data = data_from_list(model);
  return to_r(starting_values(*likelihood, data, get_matrix(model, "offset")));
}

//' Loadings (p x d) and effects (p x q) of term `t` of the first predictor, from the response alone
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List start_factors(Rcpp::List model, int t) {
  using namespace galvi;
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, 1};
  const auto likelihood =
      likelihood_at(get<Rcpp::List>(model, "likelihood"), get_vector(get<Rcpp::List>(model, "hyper"), "value"));
  const Data data = data_from_list(model);
  const Matrix offset = get_matrix(model, "offset");
  const auto predictors = predictors_from_list(context, model);
  const Prior& prior = *predictors.at(0).prior;
  if (t < 1 || t > prior.size() || !prior[t - 1].factors()) throw std::invalid_argument("no term of factors");
  const FactorsTerm& term = *prior[t - 1].factors();
  const auto designs = designs_from_list(model);
  const TermRows& rows = (*designs.at(predictors[0].design))[t - 1];
  term.check(rows);
  const Vector eta = starting_values(*likelihood, data, offset);
  const FactorStart start = factor_start(context, rows, eta, data.weight, term.units(), term.items(),
                                         term.dimension(), term.effect_count());
  return Rcpp::List::create(Rcpp::_["loadings"] = to_r(Matrix(start.loadings.transpose())),
                            Rcpp::_["effects"] = to_r(Matrix(start.effects.transpose())));
}

// The border: latent predictions at new rows, and gradients of the bound for checks.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "numeric/backend.h"

using namespace galvi;

namespace {

SolverState state_from_list(const Rcpp::List& posterior, Index k) {
  SolverState state;
  state.alpha = get_matrix(posterior, "alpha").col(k);
  state.lambda = get_matrix(posterior, "lambda").col(k);
  state.b = get_matrix(posterior, "b").col(k);
  if (has(posterior, "latent")) {
    const Rcpp::List latent = Rcpp::List(posterior["latent"])[k];
    state.latent_mean = get_vector(latent, "mean");
    state.latent_chol = get_matrix(latent, "chol");
  }
  if (has(posterior, "factor")) {
    const Rcpp::NumericMatrix factor(Rcpp::List(posterior["factor"])[k]);
    state.factor = Eigen::Map<const Matrix>(factor.begin(), factor.nrow(), factor.ncol());
  }
  return state;
}

// New rows are taken in blocks, so that the N x block cross covariance stays small beside the N x N factor
// and an interrupt is soon heard: a row may cost N^2.
constexpr Index block_rows = 1024, least_rows = 64;
constexpr double block_work = 2e9;
Index rows_at_a_time(Index N) {
  const double rows = block_work / (static_cast<double>(N) * static_cast<double>(N));
  return rows < block_rows ? std::max(least_rows, static_cast<Index>(rows)) : block_rows;
}

TermRows slice(const TermRows& rows, Index begin, Index count) {
  TermRows out;
  if (rows.W.size() > 0) out.W = rows.W.middleRows(begin, count);
  if (rows.kernel.inputs.rows() > 0) out.kernel.inputs = rows.kernel.inputs.middleRows(begin, count);
  if (rows.kernel.by.size() > 0) out.kernel.by = rows.kernel.by.segment(begin, count);
  if (rows.kernel.group.size() > 0) out.kernel.group = rows.kernel.group.segment(begin, count);
  if (rows.node.rows() > 0) out.node = rows.node.middleRows(begin, count);
  if (rows.weight.size() > 0) out.weight = rows.weight.segment(begin, count);
  return out;
}

int columns_of(const Rcpp::List& term, const char* name) {
  return has(term, name) ? Rf_ncols(term[name]) : 0;
}

void check_widths(const Rcpp::List& model, const std::vector<TermRows>& others) {
  const Rcpp::List prior = get<Rcpp::List>(model, "priors")[0];
  const Rcpp::List terms = get<Rcpp::List>(prior, "terms");
  if (terms.size() != static_cast<R_xlen_t>(others.size()))
    throw std::invalid_argument("newdata has another number of terms than the model");
  for (R_xlen_t t = 0; t < terms.size(); ++t) {
    const Rcpp::List term = terms[t];
    if (columns_of(term, "W") != others[t].W.cols() ||
        columns_of(term, "inputs") != others[t].kernel.inputs.cols() ||
        columns_of(term, "node") != others[t].node.cols() ||
        rows_of(others[t]) != rows_of(others[0]))
      throw std::invalid_argument("newdata has another number of columns or rows than the model's terms");
  }
}

Rcpp::NumericVector array(Index rows, Index columns, Index slices) {
  Rcpp::NumericVector out(rows * columns * slices);
  out.attr("dim") = Rcpp::IntegerVector::create(static_cast<int>(rows), static_cast<int>(columns),
                                                static_cast<int>(slices));
  return out;
}

}  // namespace

//' Latent predictions at new rows, without the offset (internal)
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List predict_latent(Rcpp::List model, Rcpp::List posterior, Rcpp::List rows, Rcpp::List want) {
  RMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, has(want, "threads") ? get<int>(want, "threads") : 1};
  const Index K = get_matrix(model, "offset").cols(), N = get_vector(model, "y").size();
  const Vector hyper = get_vector(posterior, "hyper");
  const ConditionalRequest request{!has(want, "variance") || get<bool>(want, "variance"),
                                   has(want, "terms") && get<bool>(want, "terms"),
                                   has(want, "covariance") && get<bool>(want, "covariance")};
  std::vector<TermRows> others;
  for (const auto& entry : Rcpp::List(field(rows, "terms"))) others.push_back(rows_from_list(entry));

  const Index T = static_cast<Index>(others.size());
  check_widths(model, others);
  const Index number = T == 0 ? 0 : rows_of(others[0]);
  const Index block = request.covariance ? std::max<Index>(number, 1) : rows_at_a_time(N);
  Matrix mean(number, K), variance(number, K);
  Rcpp::NumericVector term_mean = array(request.terms ? number : 0, T, K),
                      term_variance = Rcpp::clone(term_mean);
  Rcpp::List covariance(K);
  for (Index k = 0; k < K; ++k) {
    Terms terms = terms_from_list(context, model, k);
    auto solver = make_solver(get<std::string>(model, "solver"), context, std::move(terms), N);
    solver->update(hyper);
    const SolverState state = state_from_list(posterior, k);
    if (state.alpha.size() != N || state.lambda.size() != N || state.b.size() != N)
      throw std::invalid_argument("the posterior has another number of rows than the model");
    for (Index begin = 0; begin < number; begin += block) {
      monitor.poll();
      const Index count = std::min(block, number - begin);
      std::vector<TermRows> part;
      for (const TermRows& rows : others) part.push_back(slice(rows, begin, count));
      const Conditional out = solver->conditional(state, part, request);
      mean.col(k).segment(begin, count) = out.mean;
      variance.col(k).segment(begin, count) = out.variance;
      if (request.terms) {
        Eigen::Map<Matrix>(term_mean.begin() + k * number * T, number, T).middleRows(begin, count) =
            out.term_mean;
        Eigen::Map<Matrix>(term_variance.begin() + k * number * T, number, T).middleRows(begin, count) =
            out.term_variance;
      }
      if (request.covariance) covariance[k] = to_r(out.covariance);
    }
  }
  Rcpp::List out = Rcpp::List::create(Rcpp::_["mean"] = to_r(mean), Rcpp::_["variance"] = to_r(variance));
  if (request.terms)
    out["terms"] = Rcpp::List::create(Rcpp::_["mean"] = term_mean, Rcpp::_["variance"] = term_variance);
  if (request.covariance) out["covariance"] = covariance;
  return out;
}

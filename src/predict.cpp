// The border: latent predictions at new rows.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "border/prior_rows.h"
#include "numeric/backend.h"

using namespace galvi;

namespace {

// What a fit keeps of latent k's solver under this name; NULL where it has none.
SEXP kept(const Rcpp::List& posterior, const char* name, Index k) {
  return has(posterior, name) ? SEXP(Rcpp::List(posterior[name]).at(k)) : R_NilValue;
}

// Empty where the posterior is one of sums over rows, which has no sites.
Vector sites_of(const Rcpp::List& posterior, const char* name, Index k) {
  const Matrix all = site_numbers(posterior, name);
  return all.cols() > 0 ? Vector(all.col(k)) : Vector();
}

SolverState state_from_list(const Rcpp::List& posterior, Index k) {
  SolverState state;
  state.alpha = sites_of(posterior, "alpha", k);
  state.lambda = sites_of(posterior, "lambda", k);
  state.b = sites_of(posterior, "b", k);
  if (const SEXP latent = kept(posterior, "latent", k); !Rf_isNull(latent)) {
    state.latent_mean = get_vector(latent, "mean");
    state.latent_chol = get_matrix(latent, "chol");
  }
  if (const SEXP factor = kept(posterior, "factor", k); !Rf_isNull(factor))
    state.factor = from_r(Rcpp::NumericMatrix(factor));
  return state;
}

// A posterior of another model would be read beyond its end.
void check_state(const SolverState& state, const Prior& prior, const Solver& solver) {
  const Index latent = state.latent_mean.size(), N = solver.rows();
  const auto of_rows = [N](const Vector& x) { return N == 0 || x.size() == 0 || x.size() == N; };
  if ((latent > 0 && prior.finite() && latent != prior.columns()) ||
      (state.latent_chol.size() > 0 && (state.latent_chol.rows() != latent || state.latent_chol.cols() != latent)) ||
      !of_rows(state.alpha) || !of_rows(state.lambda) || !of_rows(state.b))
    throw std::invalid_argument("the posterior is not one of this model: their sizes differ");
}

// New rows are taken in blocks, so that the N x block cross covariance stays small beside the N x N factor
// and an interrupt is soon heard: a row may cost N^2. Where it costs next to nothing, calls do.
constexpr Index block_rows = 1024, least_rows = 64, most_rows = 65536;
constexpr double block_work = 2e9, little_work = 1e4;
Index rows_at_a_time(const Solver& solver) {
  if (solver.rows() > block_rows && solver.row_work() < little_work) return most_rows;
  const double rows = block_work / solver.row_work();
  return rows < block_rows ? std::max(least_rows, static_cast<Index>(rows)) : block_rows;
}

void check_rows(const Prior& prior, const DesignRows& rows, Index number) {
  if (static_cast<Index>(rows.terms.size()) != prior.size())
    throw std::invalid_argument("newdata has another number of terms than the model");
  for (Index t = 0; t < prior.size(); ++t) {
    if (rows[t].size() != number) throw std::invalid_argument("terms differ in their number of new rows");
    prior[t].check(rows[t]);
  }
}

Rcpp::NumericVector array(Index rows, Index columns, Index slices) {
  Rcpp::NumericVector out(rows * columns * slices);
  out.attr("dim") = Rcpp::IntegerVector::create(static_cast<int>(rows), static_cast<int>(columns),
                                                static_cast<int>(slices));
  return out;
}

/// What is predicted at new rows: of every latent value k its solver, and where its posterior stands.
class KeptPosterior {
 public:
  KeptPosterior(Context& context, const Rcpp::List& model, const Rcpp::List& posterior, const Rcpp::List& rows)
      : context_(context), posterior_(posterior), predictors_(predictors_from_list(context, model)),
        hypers_(Rf_xlength(field(get<Rcpp::List>(model, "hyper"), "value"))) {
    for (const auto& design : rows) others_.push_back(design_from_list(design));
    const bool all_short = std::all_of(predictors_.begin(), predictors_.end(),
                                       [&](const PredictorSpec& spec) { return is_short(spec); });
    if (!all_short) designs_ = designs_from_list(model);
    for (const PredictorSpec& spec : predictors_) {
      latents += static_cast<Index>(spec.latents.size());
      terms = std::max(terms, spec.prior->size());
      number = others_.at(spec.design).size();
    }
  }

  Index latents = 0, terms = 0;  // K, and the most terms that a predictor has
  Index number = 0;  // new rows

  /// Calls body(k, prior, solver, state, new rows) for each latent value.
  template <class Body>
  void for_latents(const Body& body) {
    const Vector hyper = get_vector(posterior_, "hyper");
    if (hyper.size() != hypers_) throw std::invalid_argument("the posterior has other hyperparameters than the model");
    for (const PredictorSpec& spec : predictors_) {
      const DesignRows& own = others_[spec.design];
      check_rows(*spec.prior, own, number);
      spec.prior->update(hyper);
      // A short latent vector determines the predictions: no training rows are needed.
      const auto rows = is_short(spec) ? std::make_shared<const DesignRows>(own.slice(0, 0))
                                       : designs_.at(spec.design);
      for (const Index k : spec.latents) {
        auto solver = make_solver(spec.solver, context_, spec.prior, rows);
        solver->refresh();
        const SolverState state = state_from_list(posterior_, k);
        check_state(state, *spec.prior, *solver);
        body(k, *spec.prior, *solver, state, own);
      }
    }
  }

 private:
  bool is_short(const PredictorSpec& spec) const {
    return !Rf_isNull(kept(posterior_, "latent", spec.latents.at(0)));
  }

  Context& context_;
  const Rcpp::List posterior_;
  const std::vector<PredictorSpec> predictors_;
  const Index hypers_;
  std::vector<DesignRows> others_;
  std::vector<std::shared_ptr<const DesignRows>> designs_;
};

}  // namespace

//' Latent predictions at new rows, without the offset (internal)
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List predict_latent(Rcpp::List model, Rcpp::List posterior, Rcpp::List rows, Rcpp::List want) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, has(want, "threads") ? get<int>(want, "threads") : 1};
  const ConditionalRequest request{!has(want, "variance") || get<bool>(want, "variance"),
                                   has(want, "terms") && get<bool>(want, "terms"),
                                   has(want, "covariance") && get<bool>(want, "covariance")};
  KeptPosterior q(context, model, posterior, rows);
  const Index K = q.latents, T = q.terms, number = q.number;
  Matrix mean(number, K), variance(number, K);
  Rcpp::NumericVector term_mean = array(request.terms ? number : 0, T, K),
                      term_variance = Rcpp::clone(term_mean);
  Rcpp::List covariance(K);
  const auto part = [&](Rcpp::NumericVector& all, Index k) {
    return Eigen::Map<Matrix>(all.begin() + k * number * T, number, T);
  };
  q.for_latents([&](Index k, const Prior& prior, Solver& solver, const SolverState& state,
                    const DesignRows& own) {
    const Index block = request.covariance ? std::max<Index>(number, 1) : rows_at_a_time(solver);
    for (Index begin = 0; begin < number; begin += block) {
      monitor.poll();
      const Index count = std::min(block, number - begin);
      const Conditional out = solver.conditional(state, own.slice(begin, count), request);
      mean.col(k).segment(begin, count) = out.mean;
      variance.col(k).segment(begin, count) = out.variance;
      if (request.terms) {
        const Index terms = prior.size();  // predictors may differ in their number
        part(term_mean, k).block(begin, 0, count, terms) = out.term_mean;
        part(term_variance, k).block(begin, 0, count, terms) = out.term_variance;
      }
      if (request.covariance) covariance[k] = to_r(out.covariance);
    }
  });
  Rcpp::List out = Rcpp::List::create(Rcpp::_["mean"] = to_r(mean), Rcpp::_["variance"] = to_r(variance));
  if (request.terms)
    out["terms"] = Rcpp::List::create(Rcpp::_["mean"] = term_mean, Rcpp::_["variance"] = term_variance);
  if (request.covariance) out["covariance"] = covariance;
  return out;
}

//' Joint draws of the latent values at new rows, without the offset: a list of K matrices, rows x count (internal)
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List draw_latent(Rcpp::List model, Rcpp::List posterior, Rcpp::List rows, int count, int threads) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, threads};
  KeptPosterior q(context, model, posterior, rows);
  Rcpp::List out(q.latents);
  q.for_latents([&](Index k, const Prior&, Solver& solver, const SolverState& state, const DesignRows& own) {
    out[k] = to_r(solver.draw(state, own, count));
  });
  return out;
}

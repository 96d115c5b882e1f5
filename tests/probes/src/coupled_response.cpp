// The best joint Gaussian of all coefficients and linear response at it.
#include <Rcpp/Lightest>

#include <chrono>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "fit/choose.h"
#include "fit/coupled_response.h"
#include "numeric/backend.h"

using namespace galvi;

// At the factorised posterior by `method`, whose moments of the coefficients are returned too
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_coupled_response(Rcpp::List model, Rcpp::List control, double optimum = 1e-4, double response = 1e-4,
                                  bool responds = true, double evaluations = 2e7,
                                  std::string method = "auto") {
  constexpr Index most = 300;
  RMonitor monitor(R_NilValue);
  Context context{backend(get<std::string>(control, "backend")), monitor, get<int>(control, "threads")};
  LatentGaussianModel core = model_from_list(context, model, automatic_expectation(method));
  core.update(hyper_from_list(model).values());
  Trace trace(context);
  const Posterior q =
      choose({method}, core).run(core, std::nullopt, inference_control(control), trace).posterior;
  const std::optional<Unknowns> unknowns = Unknowns::of(core, most);
  if (!unknowns) return Rcpp::List::create();
  const auto start = std::chrono::steady_clock::now();
  const CoupledResponse found = coupled_response(*unknowns, q, {optimum, response, responds, evaluations});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  Matrix blocks = unknowns->prior_precision();  // of the factorised posterior
  for (Index k = 0; k < unknowns->latents(); ++k)
    blocks.block(unknowns->first(k), unknowns->first(k), unknowns->count(k), unknowns->count(k)) +=
        unknowns->W(k).transpose() * q.sites().lambda.col(k).asDiagonal() * unknowns->W(k);
  return Rcpp::List::create(
      Rcpp::_["mean"] = to_r(found.gaussian.mean), Rcpp::_["covariance"] = to_r(found.gaussian.covariance),
      Rcpp::_["radius"] = found.radius, Rcpp::_["refused"] = found.refused,
      Rcpp::_["worst"] = static_cast<int>(found.worst + 1), Rcpp::_["best"] = found.best,
      Rcpp::_["seconds"] = seconds.count(), Rcpp::_["factorised_mean"] = to_r(unknowns->mean(q)),
      Rcpp::_["factorised_precision"] = to_r(blocks));
}

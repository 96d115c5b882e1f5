#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "likelihood/adjacent_category.h"
#include "likelihood/asymmetric_laplace.h"
#include "likelihood/beta.h"
#include "likelihood/beta_binomial.h"
#include "likelihood/beta_log_precision.h"
#include "likelihood/binomial_cauchit.h"
#include "likelihood/binomial_gumbel.h"
#include "likelihood/binomial_logit.h"
#include "likelihood/binomial_probit.h"
#include "likelihood/categorical.h"
#include "likelihood/censored_gaussian.h"
#include "likelihood/censored_normal_log_sd.h"
#include "likelihood/cumulative_cauchit.h"
#include "likelihood/cumulative_gumbel.h"
#include "likelihood/cumulative_logit.h"
#include "likelihood/cumulative_probit.h"
#include "likelihood/compois.h"
#include "likelihood/custom.h"
#include "likelihood/custom_several.h"
#include "likelihood/exgaussian.h"
#include "likelihood/exgaussian_log_sigma.h"
#include "likelihood/gamma.h"
#include "likelihood/gamma_log_shape.h"
#include "likelihood/gaussian.h"
#include "likelihood/gaussian_log.h"
#include "likelihood/gaussian_log_sd.h"
#include "likelihood/inverse_gaussian.h"
#include "likelihood/inverse_gaussian_log_shape.h"
#include "likelihood/laplace.h"
#include "likelihood/laplace_log_scale.h"
#include "likelihood/likelihood.h"
#include "likelihood/loglogistic.h"
#include "likelihood/loglogistic_log_shape.h"
#include "likelihood/mixed.h"
#include "likelihood/lognormal.h"
#include "likelihood/nbinom1.h"
#include "likelihood/negbinomial.h"
#include "likelihood/negbinomial_log_size.h"
#include "likelihood/ordbeta.h"
#include "likelihood/ordinal_log_disc.h"
#include "likelihood/poisson.h"
#include "likelihood/sequential.h"
#include "likelihood/skew_normal.h"
#include "likelihood/skew_normal_log_sigma.h"
#include "likelihood/softplus_link.h"
#include "likelihood/stick_breaking.h"
#include "likelihood/stochastic_volatility.h"
#include "likelihood/student.h"
#include "likelihood/student_log_scale.h"
#include "likelihood/zero_one_inflated.h"
#include "likelihood/zeros.h"
#include "likelihood/truncated.h"
#include "likelihood/tweedie.h"
#include "likelihood/tweedie_log_dispersion.h"
#include "likelihood/von_mises.h"
#include "likelihood/weibull.h"
#include "likelihood/weibull_log_shape.h"

namespace galvi {
namespace {

using Maker = std::function<std::unique_ptr<Likelihood>(const LikelihoodSpec&)>;

struct Entry {
  std::string type;
  LikelihoodSpec example;  // with the hyperparameters that the constructor asks for
  Maker make;
};

template <class T>
std::unique_ptr<Likelihood> plain(const LikelihoodSpec&) {
  return std::make_unique<T>();
}
template <class T>
std::unique_ptr<Likelihood> from_spec(const LikelihoodSpec& spec) {
  return std::make_unique<T>(spec);
}
template <Distribution F()>
std::unique_ptr<Likelihood> sequential(const LikelihoodSpec& spec) {
  return std::make_unique<Sequential>(spec, F());
}
// Three ordered classes.
Entry ordinal(const std::string& type, Maker make) {
  return {type, {type, {{"thresholds", {0, 1}}}, {}}, std::move(make)};
}
template <class Zeros, class Base>
std::unique_ptr<Likelihood> with_zeros(const LikelihoodSpec& spec) {
  if constexpr (std::is_default_constructible_v<Base>)
    return std::make_unique<Zeros>(std::make_unique<Base>());
  else
    return std::make_unique<Zeros>(std::make_unique<Base>(spec));
}

const std::vector<Entry>& registry() {
  static const std::vector<Entry> table = {
      {"gaussian", {"gaussian", {{"variance", {0}}}, {}}, from_spec<Gaussian>},
      {"gaussian_log_sd", {"gaussian_log_sd", {}, {}}, from_spec<GaussianLogSd>},
      {"gaussian_log_log_sd", {"gaussian_log_log_sd", {}, {}}, plain<GaussianLogLogSd>},
      {"student_log_scale", {"student_log_scale", {{"df", {0}}}, {}}, from_spec<StudentLogScale>},
      {"student_log_scale_log_df", {"student_log_scale_log_df", {}, {}}, plain<StudentLogScaleLogDf>},
      {"exgaussian_log_sigma", {"exgaussian_log_sigma", {{"beta", {0}}}, {}}, from_spec<ExGaussianLogSigma>},
      {"exgaussian_log_sigma_log_beta", {"exgaussian_log_sigma_log_beta", {}, {}}, plain<ExGaussianLogSigmaLogBeta>},
      {"skew_normal_log_sigma", {"skew_normal_log_sigma", {{"alpha", {0}}}, {}}, from_spec<SkewNormalLogSigma>},
      {"skew_normal_log_sigma_alpha", {"skew_normal_log_sigma_alpha", {}, {}}, plain<SkewNormalLogSigmaAlpha>},
      {"laplace_log_scale", {"laplace_log_scale", {}, {}}, from_spec<LaplaceLogScale>},
      {"gamma_log_shape", {"gamma_log_shape", {}, {}}, plain<GammaLogShape>},
      {"inverse_gaussian_log_shape", {"inverse_gaussian_log_shape", {}, {}}, from_spec<InverseGaussianLogShape>},
      {"tweedie_log_dispersion", {"tweedie_log_dispersion", {{"power", {0}}}, {}}, from_spec<TweedieLogDispersion>},
      {"censored_gaussian_log_sd", {"censored_gaussian_log_sd", {}, {}}, from_spec<CensoredGaussianLogSd>},
      {"lognormal_log_sigma", {"lognormal_log_sigma", {}, {}}, from_spec<LognormalLogSigma>},
      {"loglogistic_log_shape", {"loglogistic_log_shape", {}, {}}, from_spec<LoglogisticLogShape>},
      {"weibull_ph_log_shape", {"weibull_ph_log_shape", {}, {{"reference", 50}}}, from_spec<WeibullLogShape>},
      {"negbinomial_log_size", {"negbinomial_log_size", {}, {}}, plain<NegativeBinomialLogSize>},
      {"nbinom1_log_phi", {"nbinom1_log_phi", {}, {}}, plain<NegativeBinomial1LogPhi>},
      {"negbinomial_softplus_log_size", {"negbinomial_softplus_log_size", {}, {}},
       plain<NegativeBinomialSoftplusLogSize>},
      {"gamma_softplus_log_shape", {"gamma_softplus_log_shape", {}, {}}, plain<GammaSoftplusLogShape>},
      {"beta_log_precision", {"beta_log_precision", {}, {}}, plain<BetaLogPrecision>},
      {"ordbeta_log_phi", {"ordbeta_log_phi", {{"cuts", {0, 1}}}, {}}, from_spec<OrdBetaLogPhi>},
      {"zero_one_inflated_beta", {"zero_one_inflated_beta", {{"phi", {0}}}, {}},
       [](const LikelihoodSpec& spec) {
         return std::make_unique<ZeroOneInflated>(std::make_unique<Beta>(spec, "phi"));
       }},
      {"zero_one_inflated_beta_log_phi", {"zero_one_inflated_beta_log_phi", {}, {}},
       with_zeros<ZeroOneInflated, BetaLogPrecision>},
      {"beta_binomial", {"beta_binomial", {{"precision", {0}}}, {}}, from_spec<BetaBinomial>},
      {"beta_binomial_log_precision", {"beta_binomial_log_precision", {}, {}}, plain<BetaBinomialLogPrecision>},
      {"zero_inflated_poisson", {"zero_inflated_poisson", {}, {}}, with_zeros<ZeroInflated, Poisson>},
      {"zero_inflated_binomial", {"zero_inflated_binomial", {}, {}}, with_zeros<ZeroInflated, BinomialLogit>},
      {"zero_inflated_negbinomial", {"zero_inflated_negbinomial", {{"size", {0}}}, {}},
       with_zeros<ZeroInflated, NegativeBinomial>},
      {"zero_inflated_negbinomial_log_size", {"zero_inflated_negbinomial_log_size", {}, {}},
       with_zeros<ZeroInflated, NegativeBinomialLogSize>},
      {"zero_inflated_nbinom1", {"zero_inflated_nbinom1", {{"phi", {0}}}, {}},
       with_zeros<ZeroInflated, NegativeBinomial1>},
      {"zero_inflated_nbinom1_log_phi", {"zero_inflated_nbinom1_log_phi", {}, {}},
       with_zeros<ZeroInflated, NegativeBinomial1LogPhi>},
      {"hurdle_poisson", {"hurdle_poisson", {}, {}}, with_zeros<Hurdle, Poisson>},
      {"hurdle_binomial", {"hurdle_binomial", {}, {}}, with_zeros<Hurdle, BinomialLogit>},
      {"hurdle_negbinomial", {"hurdle_negbinomial", {{"size", {0}}}, {}}, with_zeros<Hurdle, NegativeBinomial>},
      {"hurdle_nbinom1", {"hurdle_nbinom1", {{"phi", {0}}}, {}}, with_zeros<Hurdle, NegativeBinomial1>},
      {"hurdle_nbinom1_log_phi", {"hurdle_nbinom1_log_phi", {}, {}}, with_zeros<Hurdle, NegativeBinomial1LogPhi>},
      {"hurdle_gamma", {"hurdle_gamma", {{"shape", {0}}}, {}}, with_zeros<Hurdle, Gamma>},
      {"hurdle_lognormal", {"hurdle_lognormal", {{"sigma", {0}}}, {}}, with_zeros<Hurdle, Lognormal>},
      {"hurdle_negbinomial_log_size", {"hurdle_negbinomial_log_size", {}, {}},
       with_zeros<Hurdle, NegativeBinomialLogSize>},
      {"hurdle_gamma_log_shape", {"hurdle_gamma_log_shape", {}, {}}, with_zeros<Hurdle, GammaLogShape>},
      {"hurdle_lognormal_log_sigma", {"hurdle_lognormal_log_sigma", {}, {}}, with_zeros<Hurdle, LognormalLogSigma>},
      {"binomial_logit", {"binomial_logit", {}, {}}, plain<BinomialLogit>},
      {"binomial_probit", {"binomial_probit", {}, {}}, plain<BinomialProbit>},
      {"binomial_cloglog", {"binomial_cloglog", {}, {}}, plain<BinomialGumbel<1>>},
      {"binomial_loglog", {"binomial_loglog", {}, {}}, plain<BinomialGumbel<-1>>},
      {"binomial_cauchit", {"binomial_cauchit", {}, {}}, plain<BinomialCauchit>},
      {"poisson", {"poisson", {}, {}}, plain<Poisson>},
      {"gamma", {"gamma", {{"shape", {0}}}, {}}, from_spec<Gamma>},
      {"inverse_gaussian", {"inverse_gaussian", {{"dispersion", {0}}}, {}}, from_spec<InverseGaussian>},
      {"tweedie", {"tweedie", {{"dispersion", {0}}, {"power", {1}}}, {}}, from_spec<Tweedie>},
      {"exponential", {"exponential", {}, {}}, from_spec<Weibull>},
      {"weibull", {"weibull", {{"shape", {0}}}, {}}, from_spec<Weibull>},
      {"weibull_ph", {"weibull_ph", {{"shape", {0}}}, {{"reference", 50}}}, from_spec<Weibull>},
      {"loglogistic", {"loglogistic", {{"shape", {0}}}, {}}, from_spec<Loglogistic>},
      {"lognormal", {"lognormal", {{"sigma", {0}}}, {}}, from_spec<Lognormal>},
      {"censored_gaussian", {"censored_gaussian", {{"variance", {0}}}, {}}, from_spec<CensoredGaussian>},
      {"negbinomial", {"negbinomial", {{"size", {0}}}, {}}, from_spec<NegativeBinomial>},
      {"compois", {"compois", {{"nu", {0}}}, {}}, from_spec<Compois>},
      {"nbinom1", {"nbinom1", {{"phi", {0}}}, {}}, from_spec<NegativeBinomial1>},
      {"poisson_softplus", {"poisson_softplus", {}, {}}, plain<PoissonSoftplus>},
      {"negbinomial_softplus", {"negbinomial_softplus", {{"size", {0}}}, {}},
       from_spec<NegativeBinomialSoftplus<NegativeBinomial>>},
      {"gamma_softplus", {"gamma_softplus", {{"shape", {0}}}, {}}, from_spec<GammaSoftplus<Gamma>>},
      {"gaussian_log", {"gaussian_log", {{"variance", {0}}}, {}}, from_spec<GaussianLog>},
      {"stochastic_volatility", {"stochastic_volatility", {}, {}}, plain<StochasticVolatility>},
      {"laplace", {"laplace", {{"scale", {0}}}, {}}, from_spec<Laplace>},
      {"asymmetric_laplace",
       {"asymmetric_laplace", {{"scale", {0}}}, {{"quantile", 0.3}}},
       from_spec<AsymmetricLaplace>},
      {"student", {"student", {{"df", {0}}, {"scale", {1}}}, {}}, from_spec<Student>},
      {"exgaussian", {"exgaussian", {{"sigma", {0}}, {"beta", {1}}}, {}}, from_spec<ExGaussian>},
      {"skew_normal", {"skew_normal", {{"sigma", {0}}, {"alpha", {1}}}, {}}, from_spec<SkewNormal>},
      {"von_mises", {"von_mises", {{"kappa", {0}}}, {}}, from_spec<VonMises>},
      {"beta", {"beta", {{"precision", {0}}}, {}}, from_spec<Beta>},
      ordinal("cumulative_logit", from_spec<CumulativeLogit>),
      ordinal("cumulative_probit", from_spec<CumulativeProbit>),
      ordinal("cumulative_cloglog", from_spec<CumulativeGumbel<1>>),
      ordinal("cumulative_loglog", from_spec<CumulativeGumbel<-1>>),
      ordinal("cumulative_cauchit", from_spec<CumulativeCauchit>),
      ordinal("sequential_logit", sequential<logistic>),
      ordinal("sequential_probit", sequential<normal>),
      ordinal("sequential_cloglog", sequential<smallest_value>),
      ordinal("sequential_loglog", sequential<largest_value>),
      ordinal("sequential_cauchit", sequential<cauchy>),
      ordinal("adjacent_category", from_spec<AdjacentCategory>),
      ordinal("cumulative_logit_log_disc", from_spec<CumulativeLogitLogDisc>),
      ordinal("cumulative_probit_log_disc", from_spec<CumulativeProbitLogDisc>),
      ordinal("sequential_logit_log_disc", from_spec<SequentialLogitLogDisc>),
      ordinal("sequential_probit_log_disc", from_spec<SequentialProbitLogDisc>),
      ordinal("adjacent_category_log_disc", from_spec<AdjacentCategoryLogDisc>),
      {"ordbeta", {"ordbeta", {{"cuts", {0, 1}}, {"phi", {2}}}, {}}, from_spec<OrdBeta>},
      {"categorical", {"categorical", {}, {{"classes", 3}, {"reference", -1}}}, from_spec<Categorical>},
      {"stick_breaking", {"stick_breaking", {}, {{"classes", 3}}}, from_spec<StickBreaking>},
  };
  return table;
}

}  // namespace

std::unique_ptr<Likelihood> make_likelihood(const LikelihoodSpec& spec) {
  if (spec.functions && spec.functions->latents() > 1)
    return std::make_unique<CustomSeveral>(CustomDensity(spec));
  if (spec.functions) return std::make_unique<Custom>(spec);
  if (!spec.parts.empty()) {
    std::vector<std::unique_ptr<Likelihood>> parts;
    for (const LikelihoodSpec& part : spec.parts) parts.push_back(make_likelihood(part));
    return std::make_unique<Mixed>(std::move(parts));
  }
  std::string known;
  for (const Entry& entry : registry()) {
    if (entry.type == spec.type) {
      auto made = entry.make(spec);
      return spec.truncated ? std::make_unique<Truncated>(std::move(made)) : std::move(made);
    }
    known += (known.empty() ? "" : ", ") + entry.type;
  }
  throw std::invalid_argument("unknown likelihood \"" + spec.type + "\"; known are " + known);
}

std::vector<LikelihoodFacts> likelihood_facts() {
  std::vector<LikelihoodFacts> facts;
  for (const Entry& entry : registry()) {
    const auto likelihood = entry.make(entry.example);
    facts.push_back({entry.type, entry.example, likelihood->log_concave(), likelihood->conjugate(),
                     likelihood->has_closed_form(), likelihood->discrete(), likelihood->separable(),
                     likelihood->divides_dispersion(), likelihood->latents(), likelihood->classes(),
                     likelihood->latents() == 1 ? likelihood->truncation() : Truncation::refused});
  }
  return facts;
}

}  // namespace galvi

# Generics of other packages that have no answer for a fit of galvi: what to use in their place.

# lme4's isSingular() and bootMer() ask by getME().
instead_of <- c(
  "refit()" = "use update(fit, data = ) with the new response in the data",
  "getME()" = paste(
    "use ranef(fit), fixef(fit), VarCorr(fit) or model.matrix(fit); in place of isSingular() fit$hyper has the status",
    "\"at bound\" of variances at zero, and in place of bootMer() as.matrix(fit) has draws of the posterior"
  ),
  "concordance()" = paste(
    "use survival::concordance(formula, data), whose formula has the survival object on its left and predictions,",
    "as predict(fit, type = \"link\"), on its right; for cox() with reverse = TRUE"
  ),
  "survfit()" = paste(
    "use predict(fit, newdata, type = \"survival\", times =), which has P(Y > t) for each row; with",
    "interval = \"credible\" its limits"
  ),
  "conditional_smooths()" = paste(
    "use plot(fit), which draws every smooth with its limits, and predict(fit, newdata, type = \"terms\", se.fit = TRUE)",
    "for its values"
  ),
  "profile()" = paste(
    "use confint(fit), and hyper = \"integrate\" in galvi() where limits should include the uncertainty of",
    "hyperparameters"
  ),
  "influence()" =
    "use hatvalues(fit), cooks.distance(fit) or loo(fit), and for groups that are left out kfold(fit, group = \"g\")",
  "dummy.coef()" = "use coef(fit), or emmeans::emmeans(fit, \"f\") for the means of the levels of a factor f",
  "alias()" = paste(
    "no column is left out: where columns depend on each other, priors decide how an effect is divided among them;",
    "qr(model.matrix(fit))$rank is the number of independent columns"
  ),
  "rope()" = paste(
    "use hypothesis(fit, \"x < 0.1\") with the limits of the range, or bayestestR::rope(as.data.frame(fit), range = c(-0.1,",
    "0.1)) of draws of the posterior"
  ),
  "describe_posterior()" = paste(
    "use the same function of draws of the posterior, as.data.frame(fit), as in",
    "bayestestR::describe_posterior(as.data.frame(fit))"
  ),
  "bayesfactor_parameters()" = paste(
    "use hypothesis(fit, \"x = 0\"), whose evidence ratio is the Bayes factor for the value; it depends on the prior of",
    "x, so type this"
  ),
  "describe_prior()" = "use prior_summary(fit), and update(fit, sample_prior = \"only\") for draws of the prior",
  "effective_sample()" = "the draws of as.data.frame(fit) are independent, so each of them counts",
  "equivalence_test()" = paste(
    "use bayestestR::equivalence_test(as.data.frame(fit), range = c(-0.1, 0.1)), of draws of the posterior"
  ),
  "TukeyHSD()" = paste(
    "use pairs(emmeans::emmeans(fit, \"f\")), which has the differences of the levels of a factor f, adjusted by Tukey's",
    "method; confint() and plot() of it have their limits"
  ),
  "cld()" = "use multcomp::cld(emmeans::emmeans(fit, \"f\")) with the name of a factor f",
  "effects()" = paste(
    "use coef(fit), emmeans::emmeans(fit, \"f\") for the means of the levels of a factor f, and predict(fit, type =",
    "\"terms\") for what each term adds to each row"
  ),
  "qqnorm()" = "use plot(fit, \"residuals\"), a normal QQ plot with a band, or qqnorm(residuals(fit, \"quantile\"))",
  "boxcox()" = paste(
    "use a family for responses of this kind, such as lognormal() or Gamma(\"log\"), and compare fits by",
    "loo::loo_compare(loo(fit1), loo(fit2))"
  ),
  "dotplot()" = "use plot(fit), which draws the effects of groups with their limits",
  "standardize()" = paste(
    "use effectsize::standardize_parameters(fit, method = \"posthoc\"), or scale(x) in the formula, whose coefficients",
    "are in standard deviations of x"
  ),
  "crPlots()" = "use plot(fit), which draws each effect with partial residuals",
  "residualPlots()" = "use plot(fit, \"residuals\"), and plot(fit) for the partial residuals of each effect",
  "outlierTest()" = paste(
    "use residuals(fit, \"quantile\"), which are standard normal without outliers, and loo(fit) for rows that are",
    "predicted badly"
  ),
  "ncvTest()" = paste(
    "use anova(fit, galvi(list(y ~ x, sigma ~ x), d)), which compares it with a model of unequal variances, and",
    "plot(fit, \"residuals\")"
  ),
  "durbinWatsonTest()" = "use acf(residuals(fit)) of rows in the order of time",
  "Boot()" = "use as.matrix(fit), which has draws of the posterior, and confint(fit)",
  "bayes_factor()" = paste(
    "use anova(fit1, fit2), whose exp(evidence_diff) is the Bayes factor; it depends on the priors of what the models",
    "do not share, so type these"
  ),
  "rhat()" = "there are no chains, whose convergence it measures; check_fit(fit) says how the fit was found",
  "intervals()" = paste(
    "use confint(fit) for fixed effects, and fit$hyper, which has the limits of variances and of all other parameters"
  ),
  "getVarCov()" = "use VarCorr(fit), whose elements are covariance matrices",
  "augPred()" = "use predict(fit, newdata) at values of the covariate, or plot(fit)",
  "add_criterion()" = "use loo::loo_compare(loo::loo(fit1), loo::loo(fit2)), or anova(fit1, fit2)",
  "sandwich()" = paste(
    "vcov(fit) is the covariance of the posterior; for clusters add a random intercept, (1 | g), and for unequal",
    "variances a formula of sigma, list(y ~ x, sigma ~ x)"
  )
)

refuse_generic <- function(what, asked = what) {
  stop_galvi("argument", sprintf("%s is not available for fits of galvi: %s.", asked, instead_of[[what]]))
}

#' @exportS3Method lme4::refit
refit.galvi <- function(object, newresp, ...) refuse_generic("refit()")
#' @exportS3Method lme4::getME
getME.galvi <- function(object, name, ...) refuse_generic("getME()")
#' @exportS3Method survival::concordance
concordance.galvi <- function(object, ...) refuse_generic("concordance()")
#' @exportS3Method survival::survfit
survfit.galvi <- function(formula, ...) refuse_generic("survfit()")
# brms' own default method returns NULL.
#' @exportS3Method brms::conditional_smooths
conditional_smooths.galvi <- function(x, ...) refuse_generic("conditional_smooths()")
#' @exportS3Method bridgesampling::bayes_factor
bayes_factor.galvi <- function(x1, x2, log = FALSE, ...) refuse_generic("bayes_factor()")
#' @exportS3Method bridgesampling::bridge_sampler
bridge_sampler.galvi <- function(samples, ...) refuse_generic("bayes_factor()")
#' @exportS3Method lattice::dotplot
dotplot.galvi_ranef <- function(x, data, ...) refuse_generic("dotplot()")
#' @exportS3Method lattice::qqmath
qqmath.galvi_ranef <- function(x, data, ...) refuse_generic("dotplot()")
#' @exportS3Method datawizard::standardize
standardize.galvi <- function(x, ...) refuse_generic("standardize()")
# Each function of car for all terms asks that for one.
#' @exportS3Method car::crPlot
crPlot.galvi <- function(model, ...) refuse_generic("crPlots()")
#' @exportS3Method car::avPlots
avPlots.galvi <- function(model, ...) refuse_generic("crPlots()")
#' @exportS3Method car::avPlot
avPlot.galvi <- function(model, ...) refuse_generic("crPlots()")
#' @exportS3Method car::ceresPlots
ceresPlots.galvi <- function(model, ...) refuse_generic("crPlots()")
#' @exportS3Method car::residualPlots
residualPlots.galvi <- function(model, ...) refuse_generic("residualPlots()")
#' @exportS3Method car::residualPlot
residualPlot.galvi <- function(model, ...) refuse_generic("residualPlots()")
#' @exportS3Method car::spreadLevelPlot
spreadLevelPlot.galvi <- function(x, ...) refuse_generic("residualPlots()")
#' @exportS3Method car::influencePlot
influencePlot.galvi <- function(model, ...) refuse_generic("influence()")
#' @exportS3Method car::infIndexPlot
infIndexPlot.galvi <- function(model, ...) refuse_generic("influence()")
#' @exportS3Method car::dfbetaPlots
dfbetaPlots.galvi <- function(model, ...) refuse_generic("influence()")
#' @exportS3Method car::dfbetasPlots
dfbetasPlots.galvi <- function(model, ...) refuse_generic("influence()")
#' @exportS3Method car::outlierTest
outlierTest.galvi <- function(model, ...) refuse_generic("outlierTest()")
#' @exportS3Method car::ncvTest
ncvTest.galvi <- function(model, ...) refuse_generic("ncvTest()")
#' @exportS3Method car::durbinWatsonTest
durbinWatsonTest.galvi <- function(model, ...) refuse_generic("durbinWatsonTest()")
#' @exportS3Method car::Boot
Boot.galvi <- function(object, ...) refuse_generic("Boot()")
#' @exportS3Method car::qqPlot
qqPlot.galvi <- function(x, ...) refuse_generic("qqnorm()", "qqPlot()")
#' @exportS3Method car::hccm
hccm.galvi <- function(model, ...) refuse_generic("sandwich()", "hccm()")
#' @exportS3Method car::boxCox
boxCox.galvi <- function(object, ...) refuse_generic("boxcox()", "boxCox()")
#' @exportS3Method MASS::boxcox
boxcox.galvi <- function(object, ...) refuse_generic("boxcox()")
#' @exportS3Method multcomp::cld
cld.galvi <- function(object, ...) refuse_generic("cld()")
#' @importFrom stats qqnorm
#' @export
qqnorm.galvi <- function(y, ...) refuse_generic("qqnorm()")
#' @importFrom stats TukeyHSD
#' @export
TukeyHSD.galvi <- function(x, which, ordered = FALSE, conf.level = 0.95, ...) refuse_generic("TukeyHSD()")
#' @importFrom stats model.tables
#' @export
model.tables.galvi <- function(x, ...) refuse_generic("effects()", "model.tables()")
#' @importFrom stats effects
#' @export
effects.galvi <- function(object, ...) refuse_generic("effects()")
#' @importFrom stats proj
#' @export
proj.galvi <- function(object, ...) refuse_generic("effects()", "proj()")
#' @importFrom stats dfbeta
#' @export
dfbeta.galvi <- function(model, ...) refuse_generic("influence()")
#' @importFrom stats dfbetas
#' @export
dfbetas.galvi <- function(model, ...) refuse_generic("influence()")
#' @importFrom stats profile
#' @export
profile.galvi <- function(fitted, ...) refuse_generic("profile()")
#' @importFrom stats influence
#' @export
influence.galvi <- function(model, ...) refuse_generic("influence()")
#' @importFrom stats dummy.coef
#' @export
dummy.coef.galvi <- function(object, ...) refuse_generic("dummy.coef()")
#' @importFrom stats alias
#' @export
alias.galvi <- function(object, ...) refuse_generic("alias()")
# Of chains, also those of the size of a sample.
#' @exportS3Method posterior::rhat
rhat.galvi <- function(x, ...) refuse_generic("rhat()")
#' @exportS3Method posterior::ess_bulk
ess_bulk.galvi <- function(x, ...) refuse_generic("rhat()", "ess_bulk()")
#' @exportS3Method posterior::ess_tail
ess_tail.galvi <- function(x, ...) refuse_generic("rhat()", "ess_tail()")
#' @exportS3Method nlme::intervals
intervals.galvi <- function(object, ...) refuse_generic("intervals()")
#' @exportS3Method nlme::getVarCov
getVarCov.galvi <- function(obj, ...) refuse_generic("getVarCov()")
#' @exportS3Method nlme::augPred
augPred.galvi <- function(object, ...) refuse_generic("augPred()")
#' @exportS3Method brms::add_criterion
add_criterion.galvi <- function(x, ...) refuse_generic("add_criterion()")
# sandwich() and the vcov functions of its package ask by estfun() and bread().
#' @exportS3Method sandwich::estfun
estfun.galvi <- function(x, ...) refuse_generic("sandwich()")
#' @exportS3Method sandwich::bread
bread.galvi <- function(x, ...) refuse_generic("sandwich()")
#' @exportS3Method bayestestR::rope
rope.galvi <- function(x, ...) refuse_generic("rope()")
#' @exportS3Method bayestestR::equivalence_test
equivalence_test.galvi <- function(x, ...) refuse_generic("equivalence_test()")
#' @exportS3Method bayestestR::describe_posterior
describe_posterior.galvi <- function(posterior, ...) refuse_generic("describe_posterior()")
#' @exportS3Method bayestestR::p_direction
p_direction.galvi <- function(x, ...) refuse_generic("describe_posterior()", "p_direction()")
#' @exportS3Method bayestestR::p_map
p_map.galvi <- function(x, ...) refuse_generic("describe_posterior()", "p_map()")
#' @exportS3Method bayestestR::p_significance
p_significance.galvi <- function(x, ...) refuse_generic("describe_posterior()", "p_significance()")
#' @exportS3Method bayestestR::hdi
hdi.galvi <- function(x, ...) refuse_generic("describe_posterior()", "hdi()")
#' @exportS3Method bayestestR::eti
eti.galvi <- function(x, ...) refuse_generic("describe_posterior()", "eti()")
#' @exportS3Method bayestestR::spi
spi.galvi <- function(x, ...) refuse_generic("describe_posterior()", "spi()")
#' @exportS3Method bayestestR::bci
bci.galvi <- function(x, ...) refuse_generic("describe_posterior()", "bci()")
#' @exportS3Method bayestestR::point_estimate
point_estimate.galvi <- function(x, ...) refuse_generic("describe_posterior()", "point_estimate()")
#' @exportS3Method bayestestR::map_estimate
map_estimate.galvi <- function(x, ...) refuse_generic("describe_posterior()", "map_estimate()")
#' @exportS3Method bayestestR::estimate_density
estimate_density.galvi <- function(x, ...) refuse_generic("describe_posterior()", "estimate_density()")
#' @exportS3Method bayestestR::bayesfactor_parameters
bayesfactor_parameters.galvi <- function(posterior, ...) refuse_generic("bayesfactor_parameters()")
#' @exportS3Method bayestestR::si
si.galvi <- function(posterior, ...) refuse_generic("bayesfactor_parameters()", "si()")
#' @exportS3Method bayestestR::describe_prior
describe_prior.galvi <- function(model, ...) refuse_generic("describe_prior()")
#' @exportS3Method bayestestR::check_prior
check_prior.galvi <- function(model, ...) refuse_generic("describe_prior()", "check_prior()")
#' @exportS3Method bayestestR::simulate_prior
simulate_prior.galvi <- function(model, ...) refuse_generic("describe_prior()", "simulate_prior()")
#' @exportS3Method bayestestR::effective_sample
effective_sample.galvi <- function(model, ...) refuse_generic("effective_sample()")
#' @exportS3Method bayestestR::mcse
mcse.galvi <- function(model, ...) refuse_generic("effective_sample()", "mcse()")

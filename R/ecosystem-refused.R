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
  "equivalence_test()" = paste(
    "use bayestestR::equivalence_test(as.data.frame(fit), range = c(-0.1, 0.1)), of draws of the posterior"
  ),
  "sandwich()" = paste(
    "vcov(fit) is the covariance of the posterior; for clusters add a random intercept, (1 | g), and for unequal",
    "variances a formula of sigma, list(y ~ x, sigma ~ x)"
  )
)

refuse_generic <- function(what) {
  stop_galvi("argument", sprintf("%s is not available for fits of galvi: %s.", what, instead_of[[what]]))
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
# sandwich() and the vcov functions of its package ask by estfun() and bread().
#' @exportS3Method sandwich::estfun
estfun.galvi <- function(x, ...) refuse_generic("sandwich()")
#' @exportS3Method sandwich::bread
bread.galvi <- function(x, ...) refuse_generic("sandwich()")
#' @exportS3Method bayestestR::rope
rope.galvi <- function(x, ...) refuse_generic("rope()")
#' @exportS3Method bayestestR::equivalence_test
equivalence_test.galvi <- function(x, ...) refuse_generic("equivalence_test()")

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
    "it is for survival times; fits of these have predict(fit, newdata, type = \"survival\", times =)"
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

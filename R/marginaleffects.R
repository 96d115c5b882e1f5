# Package marginaleffects: predictions, comparisons and slopes from joint posterior draws of E[y | eta], so that all
# terms are as uncertain as they are. hypotheses() is about coefficients and uses their Gaussian posterior.

# Rows that are compared have to be drawn together, since eta is drawn anew in each call. The package stacks them for
# models of class `bart`, whose draws are made by predict() too; without that class there are no intervals.
#' @exportS3Method marginaleffects::sanitize_model_specific
sanitize_model_specific.galvi <- function(model, calling_function = "", ...) {
  if (!identical(calling_function, "hypotheses")) return(structure(model, class = c("galvi", "bart")))
  # a class that the package does not know is let in by its option
  options(marginaleffects_model_classes = union(getOption("marginaleffects_model_classes"), "galvi"))
  model
}

#' @exportS3Method marginaleffects::get_predict
get_predict.galvi <- function(model, newdata = model.frame.galvi(model), type = "response", ndraws = 2000,
                              re_formula = NULL, ...) {
  type <- check_choice(type, c("response", "link"), "type")
  kept <- kept_effects(model$design, re_formula)
  newdata <- as.data.frame(newdata)
  # rows with missing values are NA
  target <- new_target(model, newdata, kept = kept)
  draws <- expected_draws(model, target, type, check_whole(ndraws, "ndraws"))
  n <- nrow(newdata)
  rowid <- if ("rowid" %in% names(newdata)) newdata$rowid else seq_len(n)
  groups <- colnames(draws[[1L]])
  values <- vapply(draws, as.vector, numeric(length(draws[[1L]])))
  values <- matrix(values, ncol = length(draws))
  # the package's own word for a single group
  if (!length(groups)) groups <- "main_marginaleffect"
  out <- data.frame(
    rowid = rep(rowid, times = length(groups)), group = factor(rep(groups, each = n), groups),
    estimate = rowMeans(values)
  )
  out <- getExportedValue("data.table", "as.data.table")(out)
  attr(out, "posterior_draws") <- values
  out
}

#' Joint draws of eta, or of E[y | eta] or P(class | eta): a list of N* x K or N* x classes matrices, without
#' column names where there is one
#' @noRd
expected_draws <- function(fit, target, type, ndraws) {
  first <- is_distributional(fit)
  names <- if (type != "link") {
    if (has_classes(fit)) response_levels(fit)
  } else if (!first) {
    latent_names(fit)
  }
  draws <- over_draws(fit, target, ndraws, function(fit, target, eta) {
    if (type == "link") return(if (first) eta[, 1L] else eta)
    given <- list(mean = eta, variance = 0 * eta)
    if (has_classes(fit)) class_probabilities(fit, given) else response_mean(fit, given)
  }, names)
  lapply(seq_len(ndraws), function(i) {
    if (!length(names)) return(cbind(unname(draws[i, ])))
    matrix(draws[i, , ], ncol = length(names), dimnames = list(NULL, names))
  })
}

#' @exportS3Method marginaleffects::get_coef
get_coef.galvi <- function(model, ...) {
  or_else(attr(model, "changed_coefficients"),
    stats::setNames(coefficient_means(model), rownames(vcov.galvi(model))))
}

#' @exportS3Method marginaleffects::set_coef
set_coef.galvi <- function(model, coefs, ...) structure(model, changed_coefficients = coefs)

#' @exportS3Method marginaleffects::get_vcov
get_vcov.galvi <- function(model, vcov = NULL, ...) {
  if (inherits(model, "bart")) {
    if (is.null(vcov) || is.logical(vcov)) return(NULL)
    stop_galvi("argument", paste(
      "`vcov` must be TRUE or FALSE for fits of galvi(): intervals are those of posterior draws. hypotheses() takes a",
      "matrix."
    ))
  }
  if (is.matrix(vcov)) vcov else vcov.galvi(model)
}

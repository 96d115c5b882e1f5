# Package projpred: a fit as the reference model whose predictions smaller models are to keep.

# Families of submodels that projpred can fit, with their links.
projected_families <- list(
  gaussian = "identity", poisson = "log", binomial = c("logit", "probit", "cloglog")
)

#' Variable selection by projection
#'
#' Makes a fit the reference model of package projpred: `projpred::varsel()`, `cv_varsel()` and `project()` then find
#' smaller models that predict as the fit does.
#'
#' @details
#' `projpred::varsel(fit)` and the other functions of projpred take fits of [galvi()] as they are, because they call
#' `get_refmodel()`.
#'
#' By default the search is among the fixed effects and the groups, `(x | g)`, of the fit. Other terms, such as [gp()],
#' have no counterpart in projpred: give the `formula` of the largest submodel. So a Gaussian process may be the
#' reference for linear models.
#'
#' @param object A fit of [galvi()] with a single linear predictor: `gaussian()`, `poisson()`, or `binomial()` with link
#'   logit, probit or cloglog.
#' @param formula The largest submodel, as in `~ x + z + (1 | g)`; NULL, the default, for the fixed effects and groups of
#'   the fit. Variables are columns of the data.
#' @param ndraws Number of posterior draws, a positive whole number; 1000 by default. Use [set.seed()] for reproducible
#'   draws.
#' @param ... Passed on to `projpred::init_refmodel()`.
#' @return An object of class `refmodel`, see `projpred::init_refmodel()`.
#' @section Errors:
#' `galvi_error_argument` for fits with other families, several linear predictors or no intercept, and if `formula` must
#' be given; `galvi_error_data` if the rows or variables of the data are not to be found.
#' @references
#' Piironen, J., Paasiniemi, M. and Vehtari, A. (2020). Projective inference in high-dimensional problems: prediction
#' and feature selection. *Electronic Journal of Statistics* 14, 2155-2197.
#' @seealso [loo_model_weights()] to average models.
#' @family checks and comparisons
#' @examplesIf requireNamespace("projpred", quietly = TRUE) && interactive()
#' fit <- galvi(mpg ~ ., data = mtcars, prior = normal(0, learn(1)))
#' selected <- projpred::varsel(fit)
#' summary(selected)
#' @name get_refmodel
#' @exportS3Method projpred::get_refmodel
get_refmodel.galvi <- function(object, formula = NULL, ndraws = 1000, ...) {
  check_projected(object)
  ndraws <- check_whole(ndraws, "ndraws")
  right <- submodel_terms(object, formula)
  read <- projected_data(object, all.vars(right))
  formula <- stats::as.formula(call("~", as.name(read$response), right), globalenv())
  # the same draws in every call: projpred pairs linear predictors with `dis`
  seed <- sample.int(.Machine$integer.max, 1L)
  drawn <- function(fit, newdata) with_seed(seed, over_draws(
    fit, draws_target(fit, newdata), ndraws, function(fit, target, eta) cbind(eta[, 1L], or_else(unit_sigma(fit), NA)),
    c("eta", "sigma")
  ))
  projpred::init_refmodel(
    object, data = read$data, formula = formula, family = projected_family(object),
    ref_predfun = function(fit, newdata = NULL) {
      t(matrix(drawn(fit, newdata)[, , "eta"], ndraws))
    },
    extract_model_data = function(object, newdata = NULL, wrhs = NULL, orhs = NULL, extract_y = TRUE, ...) {
      rows <- if (is.null(newdata)) read$data else newdata
      list(
        y = if (extract_y) rows[[read$response]],
        weights = or_else(rows_of_formula(wrhs, rows), or_else(rows[[read$weights]], rep(1, nrow(rows)))),
        offset = or_else(rows_of_formula(orhs, rows), drop(draws_target(object, newdata)$offset))
      )
    },
    dis = if (identical(object$family$family, "gaussian")) drawn(object, NULL)[, 1L, "sigma"],
    cvfun = function(folds) kfold.galvi(object, folds = folds, save_fits = TRUE)$fits[, "fit"],
    cvrefbuilder = function(cvfit) get_refmodel.galvi(cvfit, stats::as.formula(call("~", right)), ndraws, ...), ...
  )
}

#' @noRd
check_projected <- function(fit) {
  check_has_rows(fit, "there are no predictions to be kept")
  family <- fit$family
  if (n_latents(fit) > 1L || !family$link %in% projected_families[[family$family]] || is_counts(fit)) {
    stop_galvi("argument", sprintf(paste(
      "projpred projects models with one linear predictor whose family is gaussian(), poisson(), or binomial() with",
      "link logit, probit or cloglog; this fit's is %s%s."
    ), family_label(fit), if (n_latents(fit) > 1L) sprintf(" with %d predictors", n_latents(fit)) else ""))
  }
  if (!is.null(fit$model$censoring)) {
    stop_galvi("argument", "projpred has no submodels for censored responses: compare fits by loo(fit).")
  }
  if (family$family == "binomial" && any(fit$model$weights != 1)) {
    stop_galvi("argument", "projpred takes `weights` of binomial responses as numbers of trials only, written trials(n) left of the formula.")
  }
  invisible()
}

# The family as projpred knows it.
projected_family <- function(fit) {
  switch(fit$family$family,
    gaussian = stats::gaussian(), poisson = stats::poisson(), binomial = stats::binomial(fit$family$link)
  )
}

#' Right-hand side of the largest submodel
#' @noRd
submodel_terms <- function(fit, formula) {
  if (!is.null(formula)) {
    if (!inherits(formula, "formula")) {
      stop_galvi("argument", sprintf("`formula` must be a formula such as ~ x + z, not %s.", describe(formula)))
    }
    return(formula[[length(formula)]])
  }
  view <- predictors(fit)[[1L]]
  other <- Filter(function(spec) spec$type != fixed_label && !term_can(spec, "grouped"), view$design$specs)
  if (length(other)) {
    stop_galvi("argument", sprintf(paste(
      "projpred has no counterpart of %s: give the largest of the smaller models, as in",
      "projpred::get_refmodel(fit, formula = ~ x + z)."
    ), quote_names(vapply(other, `[[`, "", "label"))))
  }
  groups <- random_formulas(view)
  if (inherits(groups, "formula")) groups <- list(groups)
  bars <- lapply(groups, function(group) call("(", group[[2L]]))
  Reduce(function(a, b) call("+", a, b), bars, stats::formula(view$design$terms)[[2L]])
}

#' The fitted rows with all variables of the fit and the submodels, the response as numbers of successes or as it is, and the trials or weights
#' @return list(data, response, weights: names of columns)
#' @noRd
projected_data <- function(fit, variables) {
  needed <- all.vars(stats::delete.response(fit$design$frame_terms))
  variables <- union(variables, intersect(needed, fit$design$columns))
  data <- original_data(fit, variables)
  typed <- fit$design$formula[[2L]]
  unused <- function(name) utils::tail(make.unique(c(variables, name), "_"), 1L)
  response <- if (is.symbol(typed)) as.character(typed) else unused("response")
  counts <- fit$family$family == "binomial"
  weights <- unused("trials")
  data[[response]] <- fit$model$y
  data[[weights]] <- if (counts) fit$model$size else fit$model$weights * divisors_of(fit, fit$model)
  list(data = data, response = response, weights = weights)
}

#' The variable of ~ v in these rows; NULL for no formula
#' @noRd
rows_of_formula <- function(formula, rows) {
  if (is.null(formula)) return(NULL)
  as.numeric(eval(formula[[length(formula)]], rows, environment(formula)))
}

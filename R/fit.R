#' The fitted model: class `galvi`
#'
#' [galvi()] returns a list of plain R data: no pointers and no environments but the formula's, so it survives
#' [saveRDS()] and predicts the same after [readRDS()]. Below, N is the number of observations used, K the
#' number of latent values per observation (1, but for multi-class families).
#'
#' @section Fields for users:
#' \describe{
#'   \item{`call`, `formula`, `family`}{what was asked for; the family with its link and parameters.}
#'   \item{`method`, `expectation`}{what ran, where `"auto"` was asked for.}
#'   \item{`prior`}{the priors of the fixed effects and hyperparameters, defaults filled in.}
#'   \item{`hyper`}{data frame with one row per hyperparameter: `name` (such as `gp(x1, x2).lengthscale`),
#'     `term`, `parameter`, `estimate`, `lwr` and `upr` (limits of a 95 % interval of those that were learned),
#'     `lower` and `upper` (the range that was searched; for an ordinal
#'     family's thresholds after the first and for correlations after the first NA), `status` (`"learned"`,
#'     `"fixed"` or `"at bound"`). Natural scale; variances are variances. The limits are those of a normal
#'     distribution on the scale of the search (the logarithm of what is positive), from the Hessian at the
#'     estimate; with `hyper = "integrate"` quantiles of the hyperparameters' posterior, and the estimate is its
#'     median. They are NA where a hyperparameter is at the end of its range or the data do not determine it, and
#'     where more than 30 are learned.}
#'   \item{`mesh`}{for [spde()] terms, named by term: their meshes, as [galvi_mesh()] makes them.}
#'   \item{`inducing`}{for sparse [gp()] terms, named by term: the inducing points in the inputs' units, a
#'     matrix with a column per input, or a data frame where inputs are factors. NULL without such terms.}
#'   \item{`factors`, `loadings`}{of a term [rr()], else NULL: a list of `loadings` (items x d), `effects` (items x
#'     q), `mean` (units x d) and `covariance` (d x d x units) of the scores; the loadings again, as
#'     [stats::loadings()] finds them.}
#'   \item{`elbo`}{the bound on the log evidence, in nats. Log densities of hyperparameter priors are not in
#'     it, they are in `log_prior`.}
#'   \item{`trace`}{data frame of the path, a row per iteration of inference: `iteration`, `seconds`, `flops`,
#'     `elbo`, and `gap` where there is a bound from above; `start`, the number of the search for
#'     hyperparameters (from 1) and `step`, which of its hyperparameters the row belongs to: 0 for those it
#'     starts at (and all fixed ones), then counting those that were better than all before, NA for trials
#'     that were not. The last row of a step has its bound.}
#'   \item{`convergence`}{list: `converged`; `message` (empty if all is well); `gradient_norm`; `gap`, the
#'     most, in nats, by which the bound can be below its maximum at these hyperparameters (NA where nothing
#'     proves it); `rounding`, the part of it that is an estimate of the rounding of `elbo` itself; `jitter`,
#'     what was added to a diagonal (0 if nothing was).}
#'   \item{`nobs`, `omitted`}{N; of rows from a source also how many were left out for missing values.}
#'   \item{`backend`, `cost`}{ the linear algebra used, and its cost: flops, factorisations,
#'     products.}
#'   \item{`starts`}{NULL, or a data frame of all starts tried.}
#'   \item{`stopped`}{TRUE where the fit was stopped before its end, see [galvi_last()]; else NULL.}
#'   \item{`seen`, `penalty`}{from [add_data()] only: the number of observations before the N of this fit, which
#'     the posterior and `elbo` know too; the nats that changes of inducing points have cost `elbo`.}
#' }
#' @section Fields for methods:
#' \describe{
#'   \item{`posterior`}{list: `mean` and `variance` of the linear predictor at the observations, offset
#'     included (N x K); `extra`, the part of the variance that inducing points leave to each observation
#'     alone (N x K, or NULL); `alpha`, `lambda`, `b`, the sites (N x K); `hyper`, the values of all
#'     hyperparameters; `coefficients`, per term that is a set of columns a list of `label`, `latents` (which
#'     linear predictors have it), `mean` (columns x those) and `covariance` (a matrix for each); `latent` and
#'     `factor`, what predictions need of the latent vector, or NULL; `coupled`, for classes, the joint covariance
#'     of all coefficients, with which `coefficients` and `latent` agree, and `factorised`, the `latent` that `elbo`
#'     belongs to. Any term's posterior, at the
#'     observations or elsewhere, is [predict()][predict.galvi] with `type = "terms"`.}
#'   \item{`states`}{NULL, or with `hyper = "integrate"` a list of list(`weight`, `posterior`), the posterior at each
#'     point of the hyperparameters, as above; the first is the mode. Then `mean`, `variance` and `coefficients`
#'     in `posterior` are moments of the mixture and the rest of it is the mode's.}
#'   \item{`hyper_posterior`}{the hyperparameters' posterior on the unconstrained scale: `at`, which of the model's
#'     table were learned, their mode `value` and range `lower`, `upper`; `free`, which of these it is about;
#'     `axes` A and `flat`, with x = mode + A z, z standard normal, but for directions that nothing determines.
#'     With `hyper = "integrate"` also `design`, the points `z`, their `weight` and `log_density`, the lengths
#'     `below` and `above` of the sides of the axes, and `log_evidence`: the bound on the log evidence with the
#'     hyperparameters integrated over. NULL where no Hessian is known.}
#'   \item{`design`, `model`, `data`}{how new data become rows of the model, the model as it was fitted, and
#'     the model frame. Of rows from a source ([row_source()]) `model`, `data` and the posterior's `mean`,
#'     `variance` are those of a sample, and there are no sites.}
#'   \item{`na.action`, `control`}{what was left out for missing values; the settings used.}
#' }
#' @name galvi-fit
#' @keywords internal
NULL

#' Assemble a fit from what was asked for and what came back
#'
#' @param model From `galvi_model()`. core: the part of it that went to `fit_model()`; result: what that
#'   returned.
#' @return A list of class `galvi`; see [galvi-fit]. Warns (`galvi_warning_convergence`) if the fit did not
#'   converge, and (`galvi_warning_numeric`) if rounding may have changed more than last digits.
#' @noRd
new_fit <- function(call, model, core, result) {
  lost <- lost_digits(result)
  factors <- fitted_factors(model$design, core, result)
  result$message <- paste(c(result$message[nzchar(result$message)], lost), collapse = "; ")
  # Fields that do not apply are left out: package insight silently drops an object with a NULL element.
  fit <- structure(
    Filter(Negate(is.null), list(
      call = call, formula = model$formula, family = model$family,
      method = result$method, expectation = result$expectation,
      prior = model$prior,
      hyper = hyper_table(core, result), inducing = fitted_points(model$design, core, result$hyper),
      mesh = fitted_meshes(model$design),
      factors = factors,
      loadings = if (!is.null(factors)) structure(factors$loadings, class = c("galvi_loadings", "loadings")),
      elbo = result$elbo, log_prior = result$log_prior,
      trace = result$trace,
      convergence = result[c("converged", "message", "gradient_norm", "gap", "rounding", "jitter")],
      stopped = was_stopped(result), nobs = all_rows(model), omitted = model$stream$omitted, backend = result$backend, cost = result$cost,
      starts = starts_table(result$starts, core$hyper),
      posterior = result[c(
        "mean", "variance", "extra", "alpha", "lambda", "b", "hyper", "coefficients", "latent", "factor", "coupled",
        "factorised"
      )],
      states = result$states, hyper_posterior = hyper_posterior(result),
      design = model$design, model = core, data = model$data,
      na.action = if (!is_streamed(model)) attr(model$data, "na.action"),
      control = without_cluster(model$control)
    )),
    class = c(if (!is.null(model$design$wide)) "galvi_wide", "galvi")
  )
  fit <- as_mixture(with_coupled_optimum(fit))
  validate_fit(fit)
  if (!fit$convergence$converged) warn_not_converged(fit)
  if (length(lost)) warn_lost_digits(lost, fit$call)
  if (!is.null(factors)) warn_large_loadings(fit)
  for (spec in unlist(predictor_specs(fit$design), recursive = FALSE)) {
    told <- term_type(spec)$told
    if (!is.null(told)) told(fit, spec)
  }
  fit
}

#' What rounding may have done to a fit, in words; NULL if it is less than anyone reads
#'
#' The bound in nats, where that is not a last digit of a large bound; and predictions at the observations,
#' which must be the fitted values, in posterior sds.
#' @noRd
lost_digits <- function(result) {
  visible_nats <- 1e-3 + 1e-9 * abs(result$elbo)
  visible_sds <- 0.01
  of_bound <- if (isTRUE(result$rounding > visible_nats)) {
    sprintf("rounding may have changed the bound by %s", in_nats(result$rounding))
  }
  of_predictions <- if (isTRUE(result$prediction_error > visible_sds)) {
    sprintf(
      "predictions at the observations differ from the fitted values by up to %s posterior standard deviations",
      format(result$prediction_error, digits = 2L)
    )
  }
  said <- c(of_bound, of_predictions)
  if (length(said)) paste(said, collapse = "; ")
}

#' The meshes of terms, named by term; NULL without
#' @noRd
fitted_meshes <- function(design) {
  specs <- Filter(function(spec) !is.null(spec$mesh), unlist(predictor_specs(design), recursive = FALSE))
  if (!length(specs)) return(NULL)
  stats::setNames(lapply(specs, `[[`, "mesh"), vapply(specs, `[[`, "", "label"))
}

warn_lost_digits <- function(lost, call) {
  warn_galvi("numeric", paste0(
    "Numbers of this fit have lost their digits: ", lost, ". Prior variances and what the data say differ by ",
    "too many orders of magnitude: give narrower priors, fixed variances closer together, or the variables in ",
    "other units."
  ), call = call)
}

#' Stop if a fit is not what its readers rely on: an error here is ours, not the user's
#' @noRd
validate_fit <- function(fit) {
  n <- nrow(fit$data)
  k <- n_latents(fit)
  shaped <- function(x) is.matrix(x) && nrow(x) == n && ncol(x) == k
  stopifnot(
    "the posterior's mean and variance must be N x K" =
      shaped(fit$posterior$mean) && shaped(fit$posterior$variance),
    "the sites must be N x K" = !has_rows(fit) || shaped(fit$posterior$alpha) && shaped(fit$posterior$lambda),
    "the posterior must be finite" = all(is.finite(fit$posterior$mean), is.finite(fit$posterior$variance)),
    "one value per hyperparameter is needed" = length(fit$posterior$hyper) == length(fit$model$hyper$name),
    "the bound must be a number" = is.numeric(fit$elbo) && length(fit$elbo) == 1L && !is.nan(fit$elbo),
    "the fit must say whether it converged" = is.logical(fit$convergence$converged),
    "the model frame must have one row per observation" = nrow(fit$data) == length(fit$model$y)
  )
  invisible(fit)
}

#' The hyperparameters as users see them; the fields are described in `galvi-fit`
#'
#' Prior sds of fixed effects belong to their column, `x1.sd` to x1: the model counts them to one term. The
#' range of a threshold after the first is that of its distance to the one before, and of a correlation after the
#' first that of a partial one, which say nothing here.
#' @noRd
hyper_table <- function(core, result) {
  # arrays are elsewhere, as inducing points are in fit$inducing
  shown <- which(!in_array(core$hyper))
  columns <- c("name", "term", "parameter", "transform", "learned", "lower", "upper")
  hyper <- lapply(core$hyper[columns], `[`, shown)
  own <- hyper$term == fixed_label
  term <- ifelse(own, substr(hyper$name, 1L, nchar(hyper$name) - nchar(hyper$parameter) - 1L), hyper$term)
  status <- ifelse(hyper$learned, "learned", "fixed")
  status[hyper$learned & result$at_bound[shown]] <- "at bound"
  range <- function(x) ifelse(is_relative(hyper), NA_real_, as.numeric(x))
  posterior <- hyper_posterior(result)
  quantiles <- hyper_quantiles(posterior, core, result$hyper, c(0.025, 0.5, 0.975))[shown, , drop = FALSE]
  estimate <- as.numeric(result$hyper[shown])
  if (!is.null(result$states)) estimate <- ifelse(is.na(quantiles[, 2L]), estimate, quantiles[, 2L])
  data.frame(
    name = as.character(hyper$name), term = as.character(term), parameter = as.character(hyper$parameter),
    estimate = estimate, lwr = quantiles[, 1L], upr = quantiles[, 3L], lower = range(hyper$lower),
    upper = range(hyper$upper), status = as.character(status)
  )
}

#' The posterior of the hyperparameters: that of the points, or that of the Hessian; NULL where none is known
#' @noRd
hyper_posterior <- function(result) {
  if (!is.null(result$hyper_posterior)) return(result$hyper_posterior)
  hyper_shape(result$internal, result$at_bound)
}

#' All starts tried: start, elbo, converged and a column per hyperparameter; NULL if there was one
#' @noRd
starts_table <- function(starts, hyper) {
  if (is.null(starts) || is.data.frame(starts)) return(starts)
  shown <- !in_array(hyper)
  values <- starts$hyper[, shown, drop = FALSE]
  colnames(values) <- hyper$name[shown]
  data.frame(start = seq_along(starts$elbo), elbo = starts$elbo, converged = starts$converged, values,
    check.names = FALSE)
}

was_stopped <- function(result) {
  if (isTRUE(result$out_of_time) || isTRUE(result$interrupted) || !is.null(result$failure)) TRUE
}

warn_not_converged <- function(fit) {
  reason <- fit$convergence$message
  if (!length(reason) || !nzchar(reason)) reason <- "the maximum number of steps was reached"
  warn_galvi(
    "convergence",
    paste0(
      "galvi has not converged: ", sub("[.[:space:]]+$", "", reason), ". The bound may still rise. ",
      if (isTRUE(fit$stopped)) "update() of this fit goes on from here." else paste(
        "Try a larger max_iterations or hyper_iterations in galvi_control(), another `method`, or `start = ` this",
        "fit to go on; plot(fit, which = \"trace\") shows the path."
      )
    ),
    call = fit$call
  )
}

# ---- what other files ask of a fit ----

n_latents <- function(fit) ncol(fit$model$offset)

#' Has it the rows that it was made from? If they were not in memory its data and model are a sample of them.
#' @noRd
has_rows <- function(fit) nrow(fit$data) == fit$nobs

#' @param cure What to do, after "The fit does not keep them".
#' @noRd
check_has_rows <- function(fit, cure = "give `newdata`, a data frame or the source again") {
  if (has_rows(fit)) return(invisible())
  stop_galvi("data", sprintf(
    "The rows of this fit were read from a source, and the fit does not keep them: %s.", cure
  ))
}

#' A row of likelihood_facts() for the fit's likelihood
#' @noRd
facts_of <- function(fit) {
  if (is_custom(fit$family)) return(custom_facts(fit$family))
  if (is_mixed(fit$family)) return(mixed_facts(fit))
  facts <- likelihood_facts()
  facts[match(fit$model$likelihood$type, facts$type), ]
}

#' Are several latents of a row, independent under q, dependent in the posterior? Then q's variances are too
#' small: they are those of each latent given the others.
#' @noRd
ignores_dependence <- function(fit) n_latents(fit) > 1L && !facts_of(fit)$separable && !is_coupled(fit)

#' Levels of a factor response, of "0" and "1" for a numeric binary one; NULL where the response has no
#' classes
#' @noRd
response_levels <- function(fit) fit$design$response$levels

#' Is the response one of several classes, by a likelihood of classes? Not so binomial ones, which count
#' successes, of a single trial too.
#' @noRd
has_classes <- function(fit) facts_of(fit)$classes > 0L

#' Have the classes an order?
#' @noRd
is_ordinal <- function(fit) !is.null(fit$model$likelihood$hyper$thresholds)

#' Is the response a noise of mean zero whose size is modelled?
#' @noRd
is_volatility <- function(fit) family_type(fit$family)$volatility

#' Estimates of a likelihood's parameter, such as the size of negbinomial or the thresholds of cumulative
#' @noRd
family_parameter <- function(fit, name) fit$posterior$hyper[fit$model$likelihood$hyper[[name]]]

#' Thresholds between the levels of an ordinal response, named like `low|medium`; NULL for other families
#' @noRd
thresholds <- function(fit) {
  if (!is_ordinal(fit)) return(NULL)
  stats::setNames(family_parameter(fit, "thresholds"), threshold_names(response_levels(fit)))
}

threshold_names <- function(levels) paste(levels[-length(levels)], levels[-1L], sep = "|")

#' Names of the K latents: the classes for multi-class families, NULL for K = 1
#' @noRd
latent_names <- function(fit) {
  if (is_distributional(fit)) return(predictor_names(fit))
  k <- n_latents(fit)
  if (k == 1L) return(NULL)
  names <- fit$design$response$latents
  if (length(names) == k) names else paste0("latent", seq_len(k))
}

#' One line for headings, such as `binomial (logit link)`
#' @noRd
family_label <- function(fit) {
  if (is_mixed(fit$family)) return(mixed_label(fit$family))
  second <- fit$design$second
  links <- if (is.null(second)) paste(fit$family$link, "link") else {
    sprintf("%s link, %s: %s link", fit$family$link, second$name, second$link)
  }
  sprintf("%s (%s)", fit$family$family, links)
}

#' Is `fit$elbo` the log evidence itself, a bound on it from below, or neither?
#' @noRd
evidence_kind <- function(fit) {
  if (!fact(expectation_facts(), fit$expectation, "is_bound")) return("approximation")
  evidence <- fact(inference_facts(), fit$method, "evidence")
  # with inducing points that of another process, a bound on that of the full one
  if (evidence == "exact" && !is.null(fit$inducing)) "bound" else evidence
}

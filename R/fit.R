#' Fitted models: objects of class galvi
#'
#' The value of [galvi()]: a list of plain R data without pointers, so that it can be saved by [saveRDS()] and used in
#' another session. This page describes its elements. Use the methods where there is one, such as [coef()][coef.galvi],
#' [predict()][predict.galvi] or [VarCorr()][VarCorr.galvi].
#'
#' N is the number of observations used and K the number of linear predictors: 1, except for multi-class families and
#' models with several linear predictors.
#'
#' @section Elements for users:
#' \describe{
#'   \item{`call`, `formula`, `family`}{the call, the formula and the family with its link and parameters.}
#'   \item{`method`, `expectation`}{the inference algorithm and the expectation that were used.}
#'   \item{`prior`}{the priors of fixed effects and random effects, including defaults.}
#'   \item{`hyper`}{a data frame with one row per hyperparameter: `name` (such as `gp(x1, x2).lengthscale`), `term`,
#'     `parameter`, `estimate`, `lwr` and `upr` (95 % interval of estimated ones), `lower` and `upper` (the range of the
#'     search), `status` (`"learned"`, `"fixed"` or `"at bound"`). All are on the natural scale, and variances are
#'     variances. Intervals are quantiles of the joint posterior of coefficients and hyperparameters where the fit has
#'     it, with weak priors for what has none: half_normal(10 s) for standard deviations of groups and of noise beside
#'     known standard errors, s being that of the predictor (see [priors]), and log-normal for other positive numbers. Elsewhere they are normal on the scale of the
#'     search (the logarithm of positive parameters), from the Hessian at the estimate, and NA for hyperparameters at the
#'     end of their range. They are also NA for those that the data do not determine, and where more than 30 are learned;
#'     ranges are NA for thresholds and correlations after the first.}
#'   \item{`elbo`}{the evidence bound in nats: a lower bound on the log marginal likelihood. It does not include
#'     `log_prior`, the log prior density of the hyperparameters.}
#'   \item{`trace`}{a data frame with one row per iteration of inference: `iteration`, `seconds`, `elbo`, `gap` (NA
#'     where no certificate is known) and cumulative counts of work, such as `flops` and `factorisations`. `start`
#'     numbers the searches for hyperparameters. `step` numbers the hyperparameter values of a search that improved on
#'     all before, from 0 for the starting values; it is NA for values that did not. The lengthscales that are tried at
#'     the start (see [kernels]) are among these values. The last row of a step has its bound.}
#'   \item{`convergence`}{a list: `converged`; `message`, empty if there is nothing to report; `gradient_norm`; `gap`,
#'     an upper bound on the distance of `elbo` to its maximum at these hyperparameters, in nats (NA where there is no
#'     certificate); `rounding`, the part of `gap` that is an estimate of rounding error; `jitter`, a number added to a
#'     diagonal to factorise it (0 if none was needed); `uncertainty`, where standard deviations and intervals come from:
#'     a list of `method` (`"points"`, weighted points; `"states"`, a mixture over hyperparameters; `"response"`, linear
#'     response; `"factorised"`), and of points the `rounds`, the `efficiency` and the shape of the weights' `tail`, of
#'     linear response the radius `rho`.}
#'   \item{`solver`}{the solver of each predictor's posterior: `"markov"` (states of processes of one input, see [gp()]),
#'     `"dense_kernel"` (N x N matrices), `"sparse"` (fields), `"projected"` (few coefficients) or `"units"`
#'     ([responses()]).}
#'   \item{`nobs`, `omitted`}{N; for rows from a source also the number of rows with missing values.}
#'   \item{`inducing`}{the inducing points of sparse [gp()] terms, named by term: matrices with a column per input, in
#'     the units of the inputs, or data frames if inputs are factors. NULL without such terms.}
#'   \item{`mesh`}{the meshes of [spde()] terms, named by term, as [galvi_mesh()] makes them.}
#'   \item{`factors`, `loadings`}{for [rr()] and [responses()]: a list with `loadings` (items x d), `effects` (items x
#'     q), `mean` (units x d) and `covariance` (d x d x units) of the factor scores; and the loadings as
#'     [stats::loadings()] finds them, also those of `gp(share = )`, see [galvi-factors].}
#'   \item{`notes`}{what the data do not determine: a list of list(`what`, `coefficients`, `text`, `said`), or NULL. See
#'     the section on notes.}
#'   \item{`starts`}{a data frame of all starts, if there were several.}
#'   \item{`integrated`}{TRUE for a fit with `hyper = "integrate"`; otherwise NULL.}
#'   \item{`fits`}{for imputed data sets the list of their fits, of which this one is the equal mixture, see
#'     [multiple-imputation]; otherwise NULL.}
#'   \item{`stopped`}{TRUE if the fit was stopped before it converged, see [galvi_last()]; otherwise NULL.}
#'   \item{`seen`, `penalty`}{for the result of [add_data()]: the number of earlier observations; the loss of `elbo` by
#'     changes of inducing points, in nats.}
#'   \item{`backend`, `cost`}{the linear algebra used; numbers of floating-point operations, factorisations and
#'     products.}
#' }
#' @section Elements for methods:
#' \describe{
#'   \item{`posterior`}{a list: `mean` and `variance` of the linear predictors at the observations, offset included
#'     (N x K); `extra`, the part of the variance that inducing points leave to each observation (N x K or NULL);
#'     `alpha`, `lambda` and `b`, the sites (N x K); `hyper`, the values of the hyperparameters; `coefficients`, for
#'     each term with coefficients a list of `label`, `latents` (the linear predictors that have it), `mean` (a matrix
#'     with a column per linear predictor) and `covariance` (a matrix for each); `latent` and `factor`, what predictions
#'     need of the latent vector, or NULL. Fits with several classes also have `coupled`, the joint covariance of all
#'     coefficients, with which `coefficients` and `latent` agree, and `factorised`, the `latent` that belongs to
#'     `elbo`. [predict()][predict.galvi] with `type = "terms"` gives the posterior of each term.}
#'   \item{`points`}{where the posterior is weighted points: a list of `coefficients` (for each linear predictor points x
#'     coefficients of its terms), `hyper` (points x learned hyperparameters), `at` (their positions) and `weight`;
#'     `factorised` of the fit has `mean`, `variance` and `coefficients` of the Gaussian that belongs to `elbo`.}
#'   \item{`states`}{with `hyper = "integrate"`, and for gaussian and many other models with learned hyperparameters, a
#'     list of list(`weight`, `posterior`), the posterior at each value of the hyperparameters. `mean`, `variance` and
#'     `coefficients` of `posterior` are then moments of the mixture, and its other elements those of q at the estimates.
#'     The others lie around the first state: the mode with weak priors, which differs from the estimates, or where the
#'     log evidence is higher, if that is far away. Each state has five numbers for each row and linear predictor, and
#'     there may be 100 of them: `galvi_control(uncertainty = "factorised")` keeps none.}
#'   \item{`hyper_posterior`}{the posterior of the hyperparameters on the unconstrained scale: `at`, the positions of
#'     those that were learned; `value`, `lower` and `upper`, their mode and range; `estimate`, where they were learned;
#'     `free`, those of them to which the following elements refer; `axes` A and `flat`, with x = mode + A z for
#'     standard normal z, except in directions that the data do not determine. With `hyper = "integrate"` also `design`
#'     (`"grid"`, `"ccd"`, or `"points"` by the marginal likelihood), the points `z`, their `weight` and `log_density`,
#'     the lengths `below` and `above` of the two sides of each axis, and `log_evidence`, the bound after integrating
#'     over the hyperparameters. NULL where no Hessian is known.}
#'   \item{`design`, `model`, `data`}{how new data become rows of the model, the model as it was fitted, and the model
#'     frame. For rows from a source ([row_source()]) `model`, `data`, and `mean` and `variance` in `posterior` belong
#'     to a sample, and there are no sites.}
#'   \item{`y`}{the response as a number, as in [glm()]: successes divided by trials, 0 and 1 for a binary response. Not
#'     there for several classes, censored responses, [responses()] and rows from a source.}
#'   \item{`na.action`, `control`}{the rows dropped for missing values; the settings.}
#'   \item{`format`}{the number of the format of fits. A fit that was saved by a version of galvi with another format
#'     is refused, with an error of class `galvi_error_data`; `update(fit)` fits it again.}
#' }
#'
#' @section Notes:
#' A fit says what its data do not determine. Each note is a message of class `galvi_message_<what>` when the fit is made
#' (if `said` is TRUE), a letter beside the coefficients that it is about, and a line of `print()`, `summary()` and
#' [check_fit()]. The values of `what` are
#' * `dependent`: columns depend on each other (those for which [lm()] gives NA), or there are more columns than rows;
#' * `separation`: classes are separated, or all rows of a level have the same response;
#' * `prior`: the default prior moves an estimate by more than a tenth of its posterior standard deviation, or that
#'   standard deviation is more than half of the prior's (a warning where the Gaussian of the bound is narrower, of the
#'   response's predictor); or no observation was used (`sample_prior = "only"`);
#' * `typed_prior`: the priors that were given move estimates by more than a tenth (in `summary()` and `check_fit()` only);
#' * `groups`: the covariance of a term's effects contains noise, as where each level has one row of a gaussian or binary
#'   response or of a class, and as many effects as rows; or a grouping factor has one or two levels;
#' * `singular`: a variance of effects is estimated as zero, or correlations at their limit;
#' * `knots`: a process is represented at knots, with what this costs the bound;
#' * `interval`: the estimate of a hyperparameter lies outside its interval;
#' * `classes`: each class has coefficients, of which the data determine the differences (not said, printed only);
#' * `noise`: there are as many fixed effects as rows, so that the prior of the noise decides standard deviations;
#' * `uncertainty`: the standard deviation of a coefficient may be wrong by more than a tenth, as the joint posterior of
#'   all that is uncertain is too far from every Gaussian (in `print()`, `summary()` and `check_fit()` only).
#'
#' @section Sites:
#' Inference represents the posterior by a Gaussian factor for each observation, exp(b f - lambda f^2 / 2) with
#' f = eta - prior mean: the posterior is the prior times these factors. At the maximum of the bound alpha and lambda
#' are the derivative of E_q\[log p(y | eta)\] with respect to the mean of eta and minus twice that with respect to its
#' variance.
#' @family fitting
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' names(fit)
#' fit$hyper
#' tail(fit$trace, 3)
#' @name galvi-fit
NULL

#' The fit with its response in `y`, where boot::cv.glm() and others look for it as in glm()
#' @noRd
with_y <- function(fit) {
  several <- in_long_form(fit) || is_counts(fit) || has_classes(fit)
  if (several || !has_rows(fit) || is_censored(fit)) return(fit)
  model <- fit$model
  fit$y <- stats::setNames(model$y / trials_of(fit, model), row.names(fit$data))
  fit
}

# What a fit keeps of a posterior.
posterior_parts <- c(
  "mean", "variance", "extra", "alpha", "lambda", "b", "hyper", "coefficients", "latent", "factor", "coupled",
  "factorised", "prior_rows"
)

#' Assemble a fit from the model and the result of inference
#'
#' @param model From `galvi_model()`. core: the part of it that was passed to `fit_model()`; result: its value.
#' @return A list of class `galvi`; see [galvi-fit]. Warns (`galvi_warning_convergence`) if the fit did not
#'   converge, and (`galvi_warning_numeric`) if rounding may have changed more than last digits.
#' @noRd
new_fit <- function(call, model, core, result) {
  lost <- lost_digits(result)
  factors <- fitted_factors(model$design, core, result)
  result$message <- paste(c(result$message[nzchar(result$message)], lost), collapse = "; ")
  # Elements that do not apply are left out: package insight silently drops an object with a NULL element.
  fit <- structure(
    not_null(list(
      call = call, formula = model$formula, family = model$family,
      method = result$method, expectation = result$expectation,
      solver = vapply(core$predictors, `[[`, "", "solver"),
      prior = model$prior,
      hyper = hyper_table(core, result), inducing = fitted_points(model$design, core, result$hyper),
      mesh = fitted_meshes(model$design),
      factors = factors,
      loadings = fitted_loadings(factors, shared_loadings(model$design, core, result$hyper)),
      elbo = result$elbo, log_prior = result$log_prior,
      trace = result$trace,
      convergence = c(
        result[c("converged", "message", "gradient_norm", "gap", "rounding", "jitter")],
        list(uncertainty = result$uncertainty[c("method", "rounds", "efficiency", "tail", "rho")])
      ),
      integrated = if (isTRUE(model$integrate)) TRUE, stopped = was_stopped(result),
      nobs = all_rows(model), omitted = model$stream$omitted,
      backend = result$backend, cost = result$cost,
      starts = starts_table(reported_starts(result$starts, core), core$hyper),
      posterior = result[intersect(posterior_parts, names(result))], states = result$states,
      hyper_posterior = result$hyper_posterior,
      design = model$design, model = core, data = model$data,
      na.action = if (!is_streamed(model)) attr(model$data, "na.action"),
      control = without_cluster(model$control), format = fit_format
    )),
    class = c(
      if (!is.null(model$design$wide)) "galvi_wide", if (!is.null(model$design$intervals)) "galvi_cox",
      if (!is.null(model$design$stages)) "galvi_stages", "galvi"
    ),
    # readRDS() loads the package that this names, and with it the methods of print()
    namespace = topenv()
  )
  fit <- with_uncertainty(as_mixture(with_y(fit)), result$uncertainty)
  fit$hyper <- hyper_at_level(fit, 0.95)
  validate_fit(fit)
  notes <- if (is.null(result$prior_only)) c(find_notes(fit), uncertainty_notes(fit, result$uncertainty)) else {
    prior_only_notes(result$prior_only)
  }
  if (length(notes)) {
    fit$notes <- notes
    say_notes(fit)
  }
  if (!fit$convergence$converged) warn_not_converged(fit)
  if (length(lost)) warn_lost_digits(lost, fit)
  if (!is.null(factors)) warn_large_loadings(fit)
  warn_of_density(fit)
  warn_uncertainty(fit, result$uncertainty)
  warn_notes(fit)
  for (spec in all_specs(fit$design)) say_of_term(spec, fit)
  fit
}

#' The fit with what the core found of its joint posterior: weighted points, or states unless these are refused
#' @noRd
with_uncertainty <- function(fit, found) {
  points <- switch(or_else(found$method, ""), points = found$points, response = found$response)
  if (!is.null(points)) fit <- with_points(fit, points)
  without_refused_states(with_thresholds_at_zero(fit), found)
}

#' How rounding has affected a fit, in words; NULL if no printed digit is affected
#'
#' The error of the bound in nats, where it is more than the last digits of a large bound; and that of predictions at
#' the observations, which must be the fitted values, in posterior standard deviations.
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

#' The meshes of terms, named by term; NULL if there are none
#' @noRd
fitted_meshes <- function(design) {
  specs <- Filter(function(spec) !is.null(spec$mesh), single_specs(all_specs(design)))
  if (!length(specs)) return(NULL)
  stats::setNames(lapply(specs, `[[`, "mesh"), vapply(specs, `[[`, "", "label"))
}

warn_lost_digits <- function(lost, fit) {
  plates <- Filter(function(spec) {
    term_can(spec, "columns") && any(or_else(spec$bases, "tp") %in% c("tp", "ts"))
  }, all_specs(fit$design))
  warn_galvi("numeric", paste0(
    "Numbers of this fit have lost their digits: ", lost, ". The scales of priors and data differ by too many ",
    "orders of magnitude: use narrower priors, fixed variances of more similar size, or variables in other units.",
    if (length(plates)) sprintf(paste(
      " Thin plates lose digits where an input has values far from the others: transform the inputs of %s or, of one",
      "input, use bs = \"cr\"."
    ), quote_names(vapply(plates, `[[`, "", "label")))
  ), call = fit$call)
}

#' Stop if a fit is not what its methods rely on: an error here is a bug in galvi
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

#' The hyperparameters as users see them; the columns are described in `galvi-fit`
#'
#' Prior sds of fixed effects belong to their column, `x1.sd` to x1: the model counts them to one term. The
#' range of a threshold after the first is that of its distance to the one before, and the range of a correlation after
#' the first that of a partial correlation: these are shown as NA, as are those of effects on other axes
#' (R/term-slopes-covariance.R).
#' @noRd
hyper_table <- function(core, result) {
  # arrays have their own elements, such as fit$inducing
  shown <- which(!in_array(core$hyper))
  columns <- c("name", "term", "parameter", "transform", "learned", "lower", "upper")
  hyper <- lapply(core$hyper[columns], `[`, shown)
  own <- hyper$term == fixed_label
  term <- ifelse(own, substr(hyper$name, 1L, nchar(hyper$name) - nchar(hyper$parameter) - 1L), hyper$term)
  status <- ifelse(hyper$learned, "learned", "fixed")
  status[hyper$learned & reported_bounds(core, result$hyper, result$at_bound)[shown]] <- "at bound"
  changed <- shown %in% reported_positions(core)
  range <- function(x) ifelse(is_relative(hyper) | changed, NA_real_, as.numeric(x))
  none <- rep(NA_real_, length(shown))  # hyper_at_level() has the limits of the fit
  list2DF(list(
    name = as.character(hyper$name), term = as.character(term), parameter = as.character(hyper$parameter),
    estimate = as.numeric(reported_hyper(core, result$hyper)[shown]), lwr = none, upr = none,
    lower = range(hyper$lower), upper = range(hyper$upper), status = as.character(status)
  ))
}

# Their values as users see them.
reported_starts <- function(starts, core) {
  if (is.list(starts) && !is.data.frame(starts)) starts$hyper <- reported_hyper(core, starts$hyper)
  starts
}

#' All starts: start, elbo, converged and a column per hyperparameter; NULL if there was only one
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
  if (!length(reason) || !nzchar(reason)) {
    reason <- "the maximum number of steps was reached; raise max_iterations in galvi_control()"
  }
  warn_galvi(
    "convergence",
    paste0("galvi has not converged: ", sub("[.[:space:]]+$", "", reason), ". ", if (has_several_optima(reason)) {
      several_optima_advice(fit)
    } else {
      paste0(
        "The bound may still rise. ", if (isTRUE(fit$stopped)) "update(fit)" else "update(fit, start = fit)",
        " continues from this fit; plot(fit, which = \"trace\") shows the path."
      )
    }),
    call = fit$call
  )
}

has_several_optima <- function(reason) grepl("several optima", reason, fixed = TRUE)

# The same starts end where they did.
several_optima_advice <- function(fit) {
  about <- function(what) unlist(lapply(Filter(function(note) note$what == what, fit$notes), `[[`, "coefficients"))
  weak <- unique(c(about("uncertainty"), about("prior")))
  paste("update(fit, start = fit) would end here again.", if (length(weak)) sprintf(
    "The data say little about %s. %s", quote_names(weak[1L]), prior_advice(fit, weak)
  ) else "The others may be as plausible: compare fits with other priors.")
}

# Unless the link is the identity, a linear predictor with a larger standard deviation predicts nearly perfectly.
largest_loading <- 10

#' Warns of loadings that grow without limit, as those of a binary column that others predict perfectly
#' @noRd
warn_large_loadings <- function(fit) {
  spec <- factor_specs(fit$design$specs)[[1L]]
  families <- if (is_mixed(fit$family)) fit$family$parts else list(fit$family)
  bound <- rep_len(!vapply(families, link_has, NA, "same_units"), length(spec$items))
  size <- sqrt(rowSums(fit$factors$loadings^2))
  large <- which(bound & size > largest_loading)
  if (!length(large)) return(invisible())
  warn_galvi("data", sprintf(paste(
    "The loadings of %s may grow without limit (length %s): other items predict it without error (separation), or it",
    "was seen too rarely. Give loadings a prior: loadings = normal(0, 3)."
  ), quote_names(spec$items[large], "\"", 5L), format(max(size), digits = 3L)), call = fit$call)
}

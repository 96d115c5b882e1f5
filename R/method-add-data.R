# New rows for an existing fit. Its old rows are not needed: their information is in the posterior.

#' Add new observations to a fit
#'
#' Updates a fit with new rows, without the rows it was made from (online or streaming inference).
#'
#' The contribution of the old rows to the bound is replaced by a quadratic function of the coefficients, taken from the
#' posterior of the fit. For gaussian responses this is exact: the result is the fit to all rows. For other families it
#' is an approximation, because the contribution of the old rows was evaluated at an earlier posterior; the loss is
#' smaller with large batches.
#'
#' Hyperparameters and inducing points do not change, so estimate them from a first batch that is large enough. New
#' inducing points can be given in `inducing`. If the old ones are among them, nothing is lost. Otherwise the fit
#' reports by how many nats the bound falls (`penalty`), because the new points do not determine the function at the old
#' ones.
#'
#' The model must consist of fixed effects and sparse [gp()] terms.
#'
#' @param fit A fit of [galvi()] or `add_data()`.
#' @param newdata A data frame with the new rows: the response and all variables of the formula, `weights` and
#'   `offset`. Rows with missing values are dropped.
#' @param inducing NULL for the inducing points of the fit, or new ones: a matrix or data frame with a point in each
#'   row, in the units of the inputs, or a list of these named like `fit$inducing`.
#' @param method,verbose As in [galvi()].
#' @param control Numerical settings, from [galvi_control()]; by default those of the fit.
#' @param ... Must be empty.
#' @return A fit of class `galvi`, see [galvi-fit]. Its posterior, coefficients, predictions and `elbo` belong to all
#'   rows so far. Its data are the new rows: `fitted()`, `residuals()`, `loo()` and `plot()` use these alone.
#'   Its hyperparameters stay at the values of the first fit, and its standard deviations take them as known, even where
#'   those of the first fit do not.
#'   [nobs()][nobs.galvi] counts all rows, and `seen` those before the new ones. `penalty` is the loss of the bound by
#'   changes of inducing points, in nats.
#' @section Errors:
#' `galvi_error_newdata` for invalid `newdata`, such as new levels of a factor; `galvi_error_method` for models that
#' need all rows at once; `galvi_error_argument` for invalid `inducing`, and for fits with `hyper = "integrate"`. The
#' warning `galvi_warning_projection` is given where a change of inducing points loses more than one nat.
#' @references
#' Bui, T. D., Nguyen, C. V. and Turner, R. E. (2017). Streaming sparse Gaussian process approximations.
#' *Advances in Neural Information Processing Systems* 30.
#' @family large data
#' @examples
#' first <- galvi(am ~ wt, data = mtcars[1:20, ], family = binomial())
#' fit <- add_data(first, mtcars[21:32, ])
#' nobs(fit)
#'
#' # close to the fit to all rows
#' coef(fit)
#' coef(galvi(am ~ wt, data = mtcars, family = binomial()))
#' @export
add_data <- function(fit, newdata, inducing = NULL, method = "auto", control = fit$control,
                     verbose = getOption("galvi.progress", interactive()), ...) {
  refuse_dots(list(...), add_data, "add_data()")
  if (missing(fit) || !inherits(fit, "galvi")) {
    stop_galvi("argument", "`fit` must be a fit of galvi(), as in add_data(fit, newdata).")
  }
  fit <- with_format(fit)
  if (missing(newdata)) stop_galvi("newdata", "`newdata` is missing: a data frame with the new rows.")
  method <- check_method(method)
  verbose <- check_flag(verbose, "verbose")
  control <- without_cluster(as_control(check_evaluates(control, "control")))
  pieces <- if (!is.null(fit$design$stages)) "cs()" else if (!is.null(fit$design$intervals)) "cox()"
  if (!is.null(pieces)) {
    stop_galvi("argument", sprintf(
      "add_data() is not available with %s: fit all rows together by update(fit, data = ).", pieces
    ))
  }
  check_remembers(fit)
  check_one_set(fit, "add_data()")
  fit <- factorised_view(at_estimates(fit))
  new <- observed_rows(fit, newdata)
  model <- with_more_in_centres(at_points(with_rows(fit$model, new), fit, inducing))
  given <- c(model, list(
    checked = checked_rows(model),
    remembered = list(
      model = fit$model[c("hyper", "predictors")], hyper = fit$posterior$hyper, latent = fit$posterior$latent,
      elbo = fit$elbo
    )
  ))
  result <- with_progress(verbose, function(report) with_memory(
    fit_size(model, method, control), fit_model(given, method, "fixed", factorised(control), NULL, report),
    threads = control$threads
  ))
  step <- c(fit[c("formula", "family", "prior", "design")], model["y"], list(data = new$frame, control = control))
  out <- new_fit(match.call(), step, model, result)
  out$hyper <- fit$hyper
  out$hyper_posterior <- fit$hyper_posterior
  out$seen <- nobs.galvi(fit)
  lost <- if (is.null(inducing)) 0 else -result$penalty
  out$penalty <- sum(fit$penalty, lost)
  warn_penalty(lost, out$call)
  out
}

# Is all information of the fit's rows in the posterior of a short latent vector?
check_remembers <- function(fit) {
  if (isTRUE(fit$integrated)) {
    stop_galvi("argument", paste(
      "add_data() needs one value of the hyperparameters, and this fit has integrated over them: use hyper =",
      "\"optimise\"."
    ))
  }
  check_sums(fit$model, "add_data()")
  if (length(fit$model$prior_rows)) {
    stop_galvi("prior", sprintf(
      "add_data() does not know priors of coefficients with heavy tails, such as %s(): use normal().",
      fit$model$prior_rows[[1L]]$type
    ))
  }
  if (isTRUE(fit$model$averaged) || !fact("expectation", fit$expectation, "is_bound") ||
    fact("inference", fit$method, "evidence") == "approximation") {
    stop_galvi("method", sprintf(paste(
      "add_data() needs a bound on the evidence, which method = \"%s\" with expectation = \"%s\" does not have:",
      "use method = \"auto\" and expectation = \"auto\"."
    ), fit$method, fit$expectation))
  }
}

# The rows of the model for new data without missing values; frame: with na.action, as model_frame() returns it.
observed_rows <- function(fit, newdata) {
  new <- design_rows(fit$design, newdata, check_na_action(default_na_action()), response = TRUE)
  check_rows_alone(fit$design, newdata, "the new rows are not all of them")
  if (!nrow(new$frame)) {
    stop_galvi("newdata", sprintf(
      "`newdata` has no rows%s.", if (new$n) " without missing values" else ""
    ))
  }
  if (!is.null(fit$design$weights) && is.null(stats::model.weights(new$frame))) {
    stop_galvi("newdata", sprintf(
      "The fit has `weights = %s`, which gives no value per row of `newdata`.",
      deparse_one(fit$design$weights)
    ))
  }
  if (length(fit$design$known) && is.null(new$known)) {
    stop_galvi("newdata", sprintf(
      "The fit has `%s`, which gives no value per row of `newdata`.", typed_words(fit$design$known)
    ))
  }
  if (length(new$omitted)) {
    attr(new$frame, "na.action") <- structure(
      stats::setNames(new$omitted, row.names(newdata)[new$omitted]), class = "omit"
    )
  }
  new
}

# The model with these rows instead of its own.
with_rows <- function(model, new) {
  own <- intersect(row_numbers, names(model))
  model[own] <- new[own]
  model$designs <- new$rows
  check_model(model)
}

# A function has mean zero over all rows so far, where the fixed effects can take up what this changes.
with_more_in_centres <- function(model) {
  model$predictors <- lapply(model$predictors, function(predictor) {
    rows <- model$designs[[predictor$design]]
    predictor$terms <- Map(function(term, rows) {
      centre <- term$centre
      if (is.null(centre$level)) return(term)
      all <- list(inputs = rbind(centre$inputs, rows$inputs), group = c(centre$group, rows$group))
      own <- distinct_centre(term, all, c(centre$weight, row_counts(model$weights)))
      term$centre[names(own)] <- own
      term
    }, predictor$terms, rows)
    predictor
  })
  model
}

# ---- inducing points ----

# The model at the fit's hyperparameters, with these inducing points where they are given.
at_points <- function(model, fit, inducing) {
  model$hyper$value <- fit$posterior$hyper
  if (is.null(inducing)) return(model)
  labels <- names(fit$inducing)
  if (!length(labels)) {
    stop_galvi("argument", "`inducing`: the fit has no gp() with inducing points.")
  }
  if (!is.list(inducing) || is.data.frame(inducing)) {
    if (length(labels) > 1L) {
      stop_galvi("argument", sprintf(
        "`inducing` must be a list named like fit$inducing, as several terms have points: %s.",
        quote_names(labels)
      ))
    }
    inducing <- stats::setNames(list(inducing), labels)
  }
  unknown <- setdiff(c(names(inducing), if (is.null(names(inducing))) ""), labels)
  if (length(unknown)) {
    stop_galvi("argument", sprintf(
      "`inducing` must be named like fit$inducing, %s, not `%s`.", quote_names(labels), unknown[1L]
    ))
  }
  for (label in names(inducing)) {
    if (any(vapply(prior_terms(model), function(term) term$label == label && !is.null(term$knots), NA))) {
      stop_galvi("argument", sprintf("`inducing`: the points of `%s`, a process in space and time, stay.", label))
    }
    spec <- fit$design$specs[[match(label, fit$design$labels)]]
    model <- replace_points(model, label, given_points(spec, checked_points(inducing[[label]])))
  }
  model
}

checked_points <- function(points) {
  if (length(dim(points)) == 2L) return(check_inducing(points))
  stop_galvi("argument", sprintf(
    "`inducing` must be a matrix or data frame with a point in each row, not %s.", describe(points)
  ))
}

# The term's points are replaced by these rows of the input matrix. Their block of the hyperparameter table, which may
# have another size, is moved to its end.
replace_points <- function(model, label, points) {
  term <- Find(function(term) term$label == label, prior_terms(model))$inducing
  old <- as.vector(term$coordinates)
  table <- model$hyper
  columns <- setdiff(names(table), "shape")
  kept <- setdiff(seq_along(table$value), old)
  value <- (points - rep(term$centre, each = nrow(points))) / rep(term$scale, each = nrow(points))
  like <- old[(seq_along(value) - 1L) %/% nrow(value) * nrow(term$coordinates) + 1L]  # first of the column
  table[columns] <- lapply(table[columns], `[`, c(kept, like))
  at <- length(kept) + seq_along(value)
  table$value[at] <- value
  table$shape[[table$name[at[1L]]]] <- dim(value)
  to <- replace(integer(length(model$hyper$value)), kept, seq_along(kept))
  model$hyper <- widen_ranges(table)
  model$likelihood <- move_positions(model$likelihood, to)
  model$predictors <- move_positions(model$predictors, to)
  change_terms(model, function(term, t) {
    if (term$label == label) term$inducing$coordinates <- array(at, dim(value))
    term
  })
}

# Positions in the hyperparameter table: in `hyper`, `factors` and `coordinates`, at any depth.   to: by old ones
move_positions <- function(x, to) {
  moved <- function(at) replace(at, at > 0L, to[at])
  if (!is.list(x)) return(x)
  for (i in seq_along(x)) {
    if (is.null(x[[i]])) next
    x[[i]] <- switch(c(names(x)[i], "")[1L],
      hyper = lapply(x[[i]], moved), factors = , coordinates = moved(x[[i]]), move_positions(x[[i]], to)
    )
  }
  x
}

# ---- the loss by a change of points ----

warn_penalty <- function(nats, call) {
  if (nats <= visible_penalty) return(invisible())
  warn_galvi("projection", sprintf(paste(
    "The new inducing points lose %s of the bound: they do not determine the function at the old ones. Keep the old",
    "points among the new: inducing = rbind(fit$inducing[[1]], new)."
  ), in_nats(nats)), call = call)
}

# nats: a factor of e of the evidence; smaller losses are not reported
visible_penalty <- 1

print_penalty <- function(penalty) {
  if (sum(penalty) <= visible_penalty) return(invisible())
  print_wrapped(sprintf("Changes of inducing points have lowered the bound by %s.", in_nats(penalty)))
}

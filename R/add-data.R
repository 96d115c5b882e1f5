# New rows for an existing fit, whose own are not asked for again: what they said is in its posterior.

#' Add new observations to a fit
#'
#' Goes on from a fit with new rows, without the ones it was made from: their part of the bound is replaced by
#' the quadratic form that the fit's posterior has of them. For gaussian responses that is exact: the result
#' is the fit to all data together. For others it is close to it, as each row's part is taken at the posterior
#' of its time; batches of several hundred rows lose less than a nat.
#'
#' Hyperparameters and inducing points stay, so learn them from a first batch that is large enough: what a
#' poor start lost does not come back. Other inducing points may be given in `inducing`. New points among
#' which the old ones are lose nothing; what the new ones cannot tell of the function at the old ones is lost,
#' and the fit says how many nats of the bound that is (`penalty`).
#'
#' The model must be of fixed effects and sparse [gp()] terms: others need all rows at once.
#'
#' @param fit A fit of [galvi()], or what `add_data()` returned.
#' @param newdata A data frame with the new rows: all variables of the formula, the response too, and those of
#'   `weights` and `offset`. Rows with missing values are left out.
#' @param inducing The inducing points from now on: a matrix or data frame as in [gp()], in the inputs' units;
#'   where several terms have points, a list of such named like `fit$inducing`. NULL keeps the fit's.
#' @param method,verbose As in [galvi()].
#' @param control [galvi_control()]; the fit's by default.
#' @param ... Must be empty.
#' @return A fit of class `galvi`, see [galvi-fit], whose posterior, coefficients and predictions are those of
#'   all data so far and whose rows are the new ones: `fitted()`, `residuals()`, `loo()` and `plot()` have
#'   these alone. `elbo` bounds the log evidence of all data. [nobs()][nobs.galvi] counts all observations,
#'   `seen` those before these rows. `penalty`: the nats that the bound has lost to changes of inducing
#'   points.
#' @section Errors:
#' `galvi_error_newdata` for what is wrong with `newdata`, such as a level of a factor that the fit has not
#' seen; `galvi_error_method` for models that need all rows at once; `galvi_error_argument` for `inducing`.
#' Points that cost more than one nat warn (`galvi_warning_projection`).
#' @references
#' Bui, T. D., Nguyen, C. V. and Turner, R. E. (2017). Streaming sparse Gaussian process approximations.
#' *Advances in Neural Information Processing Systems* 30.
#' @seealso [galvi()], [update()][update.galvi]
#' @examples
#' first <- galvi(am ~ wt, data = mtcars[1:20, ], family = binomial())
#' fit <- add_data(first, mtcars[21:32, ])
#' nobs(fit)
#' coef(fit)
#' @export
add_data <- function(fit, newdata, inducing = NULL, method = "auto", control = fit$control,
                     verbose = getOption("galvi.progress", interactive()), ...) {
  refuse_dots(list(...), add_data, "add_data()")
  if (missing(fit) || !inherits(fit, "galvi")) {
    stop_galvi("argument", "`fit` must be a fit of galvi(), as in add_data(fit, newdata).")
  }
  if (missing(newdata)) stop_galvi("newdata", "`newdata` is missing: a data frame with the new rows.")
  method <- check_method(method)
  verbose <- check_flag(verbose, "verbose")
  control <- without_cluster(as_control(check_evaluates(control, "control")))
  check_remembers(fit)
  fit <- factorised_view(fit)
  new <- observed_rows(fit, newdata)
  model <- at_points(with_rows(fit$model, new), fit, inducing)
  given <- c(model, list(
    checked = checked_rows(model),
    remembered = list(
      model = fit$model[c("hyper", "predictors")], hyper = fit$posterior$hyper, latent = fit$posterior$latent,
      elbo = fit$elbo
    )
  ))
  result <- with_progress(verbose, function(report) with_memory(
    fit_size(model, method, control), fit_model(given, method, "fixed", control, NULL, report),
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

# Is all that the fit knows of its rows in the posterior of a short latent vector?
check_remembers <- function(fit) {
  if (!is.null(fit$states)) {
    stop_galvi("argument", paste(
      "add_data() goes on from one value of the hyperparameters, and this fit has integrated over them: fit with",
      "hyper = \"optimise\"."
    ))
  }
  check_sums(fit$model, "add_data()")
  if (isTRUE(fit$model$averaged) || !fact(expectation_facts(), fit$expectation, "is_bound") ||
    fact(inference_facts(), fit$method, "evidence") == "approximation") {
    stop_galvi("method", sprintf(paste(
      "add_data() goes on from a bound on the evidence, and method = \"%s\" with expectation = \"%s\" has none:",
      "fit with method = \"auto\" and expectation = \"auto\"."
    ), fit$method, fit$expectation))
  }
}

# The rows of the model for new data that have everything; frame: with na.action, as model_frame() leaves it.
observed_rows <- function(fit, newdata) {
  new <- design_rows(fit$design, newdata, check_na_action(default_na_action()), response = TRUE)
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

# ---- inducing points ----

# The model at the fit's hyperparameters, with these inducing points where they are given.
at_points <- function(model, fit, inducing) {
  model$hyper$value <- fit$posterior$hyper
  if (is.null(inducing)) return(model)
  labels <- names(fit$inducing)
  if (!length(labels)) {
    stop_galvi("argument", "`inducing`: the fit has no sparse gp(), so there are no points to change.")
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

# The term's points give way to these rows of the input matrix. Their block of the hyperparameter table, which
# may have another size, is its last from now on.
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

# Positions in the hyperparameter table: in `hyper`, `factors` and `coordinates`, at any depth.   to: by old
# ones
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

# ---- what a change of points has cost ----

warn_penalty <- function(nats, call) {
  if (nats <= visible_penalty) return(invisible())
  warn_galvi("projection", sprintf(paste(
    "The new inducing points lose %s of the bound: they cannot tell all that was known of the function at the old",
    "ones. Keep the old points among the new: inducing = rbind(fit$inducing[[1]], new)."
  ), in_nats(nats)), call = call)
}

# nats; less than that is a factor of e of the evidence, which nobody needs to know
visible_penalty <- 1

print_penalty <- function(penalty) {
  if (sum(penalty) <= visible_penalty) return(invisible())
  print_wrapped(sprintf("Changes of inducing points have cost the bound %s.", in_nats(penalty)))
}

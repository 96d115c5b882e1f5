# Methods of fits in the wide form (R/model-wide.R): the long form's numbers in the shape of the response.

#' Predictions for multivariate responses
#'
#' Fits of [`responses(Y) ~ x + factors(d)`][responses()] and `responses(Y) ~ x + rescor()` predict every entry of Y,
#' missing ones included, as a matrix of the shape of Y. New units can be predicted from their covariates alone or
#' also from some of their responses (conditional prediction).
#'
#' @details
#' Without `responses`, the scores of new units have their prior, N(0, I). With `responses`, they have their posterior
#' given these, at the estimated loadings and other hyperparameters. The same holds for the residuals of `rescor()`.
#'
#' Residuals of gaussian columns with `rescor()` are noise: `fitted()` and `predict()` have means without them,
#' prediction intervals and `simulate()` draw new ones, correlated between the columns of a unit. With `responses` they
#' are part of what is predicted, so that standard errors and both kinds of intervals are those of the response.
#' Residuals of other columns are part of the linear predictor of the observed units.
#'
#' With a list of families, each column is predicted by its own family. The levels of an ordinal column among others are
#' the numbers 1, 2, ..., so that it is predicted by its expected level.
#'
#' @param object A fit of [galvi()] whose formula has [responses()].
#' @param newdata A data frame with the variables of the formula, a row per new unit. Without it, predictions are for
#'   the observed units, or, if `responses` is given, for new ones without covariates.
#' @param type `"response"` (the default), `"link"`, `"terms"`, `"quantile"` or `"cdf"`; for a single family with
#'   classes also `"class"` and `"prob"`. See [predict.galvi()]. For `residuals()` and `fitted()`, types as in
#'   [residuals.galvi()].
#' @param responses Known responses of the new units: a matrix or data frame with the columns of Y, or a vector for one
#'   unit; NA where unknown.
#' @param entries A matrix of two columns, the row and column (numbers or names) of single entries. Only these are then
#'   predicted, as a vector.
#' @param se.fit,interval,level,probs,q,re_formula As in [predict.galvi()].
#' @param nsim,seed As in [simulate.galvi()].
#' @param ... Must be empty, except for names that lme4 and brms have for arguments of predictions (`re.form`,
#'   `allow.new.levels`, `allow_new_levels`).
#' @return
#' * `predict()`, `fitted()`: a matrix, units x columns of Y; with intervals, quantiles, terms or classes an array whose
#'   third dimension has these; with `se.fit` a list of `fit` and `se.fit`. NA for units that lack a covariate or offset.
#' * `residuals()`: a matrix of the shape of Y, NA where Y is missing.
#' * `deviance()`: the sum of the squared deviance residuals of all entries.
#' * `simulate()`: a list of matrices of the shape of Y, with the classes as numbers where there are any.
#' * `coef()`: a matrix of intercepts and slopes, columns of Y x effects.
#' @section Errors:
#' `galvi_error_newdata` if `newdata` or `responses` lacks a column, or `responses` has the wrong shape;
#' `galvi_error_argument` if another argument is not as described.
#' @family predictions and draws
#' @examples
#' Y <- scale(log(USArrests))
#' Y[1, 2] <- NA
#' fit <- galvi(responses(Y) ~ factors(1))
#' # the missing entry
#' predict(fit, entries = cbind("Alabama", "Assault"), interval = "prediction")
#' # a new state of which two columns are known
#' predict(fit, responses = rbind(new = c(1, NA, 0.5, NA)))
#' @export
predict.galvi_wide <- function(object, newdata,
                               type = c("response", "link", "terms", "quantile", "cdf", "class", "prob"),
                               responses = NULL, entries = NULL, se.fit = FALSE,
                               interval = c("none", "credible", "prediction"), level = 0.95,
                               probs = c(0.05, 0.5, 0.95), q = NULL, re_formula = NULL, ...) {
  refuse_dots(list(...), predict.galvi_wide, "predict()", foreign_prediction_words)
  re_formula <- one_re_formula(re_formula, list(...))
  wide <- object$design$wide
  type <- first_choice(type, c("response", "link", "terms", "quantile", "cdf", "class", "prob"), "type")
  if (missing(newdata)) newdata <- NULL
  grid <- wide_grid(object, newdata, responses)
  cells <- entry_numbers(entries, grid$units, wide$items)
  fit <- grid$fit
  frame <- entry_frame(grid, cells, wide$items)
  interval <- check_interval(interval)
  predicted <- by_part(fit, fit$model_part[(cells - 1L) %/% grid$n + 1L], function(view, rows) {
    some <- frame[rows, , drop = FALSE]
    attributes(some)[c("row_names_are", "shown_units")] <- attributes(frame)[c("row_names_are", "shown_units")]
    levels <- is_mixed(fit$family) && has_classes(view)
    if (levels) return(predict_levels(view, some, type, se.fit, interval, level, probs, q, re_formula))
    predict.galvi(view, some, type = type, se.fit = se.fit, interval = interval, level = level, probs = probs, q = q,
      re_formula = re_formula)
  })
  shape <- if (is.null(entries)) list(grid$units, wide$items)
  if (is.list(predicted)) lapply(predicted, in_shape, shape) else in_shape(predicted, shape)
}

#' A vector or matrix with a row for each entry -> with a matrix or array of entries; shape: NULL for entries alone
#' @noRd
in_shape <- function(x, shape) {
  if (is.null(shape)) {
    if (is.null(dim(x))) unname(x) else `rownames<-`(x, NULL)
  } else if (is.null(dim(x))) {
    structure(if (is.factor(x)) as.character(x) else as.vector(x), dim = lengths(shape), dimnames = shape)
  } else {
    constant <- attr(x, "constant")
    out <- array(x, c(lengths(shape), ncol(x)), c(shape, list(colnames(x))))
    attr(out, "constant") <- constant
    out
  }
}

#' f(view, rows) for the rows of each part of a family with several, put together; part: that of each row
#' @noRd
by_part <- function(fit, part, f) {
  if (!has_parts(fit)) return(f(fit, seq_along(part)))
  pieces <- lapply(sort(unique(part)), function(i) {
    rows <- which(part == i)
    list(rows = rows, value = in_column(fit$design$wide$items[i], f(part_view(fit, i), rows)))
  })
  combine <- function(pick) {
    values <- lapply(pieces, pick)
    order <- order(unlist(lapply(pieces, `[[`, "rows")))
    if (is.matrix(values[[1L]])) do.call(rbind, values)[order, , drop = FALSE] else {
      unlist(lapply(values, as.vector), use.names = FALSE)[order]
    }
  }
  first <- pieces[[1L]]$value
  if (!is.list(first)) return(combine(function(piece) piece$value))
  lapply(stats::setNames(nm = names(first)), function(name) combine(function(piece) piece$value[[name]]))
}

# Errors about one column's family name the column.
in_column <- function(name, expr) {
  tryCatch(expr, galvi_error_argument = function(e) {
    e$message <- sprintf("Column `%s`: %s", name, e$message)
    stop(e)
  })
}

#' @rdname predict.galvi_wide
#' @export
fitted.galvi_wide <- function(object, type = c("response", "link"), ...) {
  refuse_dots(list(...), fitted.galvi_wide, "fitted()")
  predict.galvi_wide(object, type = first_choice(type, c("response", "link"), "type"))
}

#' @rdname predict.galvi_wide
#' @export
residuals.galvi_wide <- function(object, type = c("response", "pearson", "deviance", "quantile"), ...) {
  refuse_dots(list(...), residuals.galvi_wide, "residuals()")
  type <- first_choice(type, c("response", "pearson", "deviance", "quantile"), "type")
  fit <- answering_view(object)
  in_entries(object, by_part(fit, entry_parts(fit), function(view, rows) {
    own <- fit_of_rows(view, rows)
    levels <- is_mixed(object$family) && has_classes(view)
    if (levels) level_residuals(own, type) else as.vector(residuals.galvi(own, type))
  }))
}

#' @rdname predict.galvi_wide
#' @export
deviance.galvi_wide <- function(object, ...) {
  refuse_dots(list(...), deviance.galvi_wide, "deviance()")
  sum(residuals.galvi_wide(object, "deviance")^2, na.rm = TRUE)
}

#' @rdname predict.galvi_wide
#' @export
simulate.galvi_wide <- function(object, nsim = 1, seed = NULL, ...) {
  refuse_dots(list(...), simulate.galvi_wide, "simulate()")
  nsim <- check_whole(nsim, "nsim")
  simulation(seed, stats::setNames(simulated_entries(object, nsim), paste0("sim_", seq_len(nsim))))
}

# New responses: a matrix, units x columns, for each simulation.
simulated_entries <- function(object, nsim) {
  if (!is.null(pure_noise(object))) {
    new <- drawn_residuals(object, NULL, NULL)
    y <- over_draws(new$fit, new$target, nsim, draw_response)
    return(lapply(seq_len(nsim), function(i) in_entries(object, y[i, ] / trials_of(new$fit, new$target))))
  }
  fit <- long_view(object)
  all <- over_draws(fit, training_target(fit), nsim, function(view, target, eta) eta, seq_len(n_latents(fit)))
  lapply(seq_len(nsim), function(i) {
    eta <- matrix(all[i, , ], fit$nobs)
    in_entries(object, by_part(fit, entry_parts(fit), function(view, rows) {
      view <- fit_of_rows(view, rows)
      target <- training_target(view)
      y <- draw_response(view, target, eta[rows, , drop = FALSE])
      if (has_classes(view)) y + 1 else y / trials_of(view, target)
    }))
  })
}

#' @rdname predict.galvi_wide
#' @export
coef.galvi_wide <- function(object, ...) {
  refuse_dots(list(...), coef.galvi_wide, "coef()")
  wide <- object$design$wide
  if (wide$parts$columns == "points") return(object$factors$effects)
  beta <- coef.galvi(object)
  # of `0 + .item + .item:x` the items' numbers of each effect follow one another
  effects <- unique(sub("^:", "", sub(paste0("^", wide_names[["item"]], ".*?(:|$)"), "", names(beta))))
  effects[effects == ""] <- "(Intercept)"
  p <- length(wide$items)
  matrix(beta, p, dimnames = list(wide$items, if (length(effects) * p == length(beta)) effects))
}

entry_parts <- function(fit) {
  part <- fit$model[["part"]]
  if (is.null(part)) rep(1L, fit$nobs) else part
}

#' Numbers of the entries that were fitted -> a matrix like the response, NA elsewhere
#' @noRd
in_entries <- function(object, x) {
  wide <- object$design$wide
  out <- matrix(NA_real_, length(wide$units), length(wide$items), dimnames = list(wide$units, wide$items))
  out[wide$entries] <- x
  out
}

#' The fit of some of its rows, as it says of them
#' @noRd
fit_of_rows <- function(fit, rows) {
  if (length(rows) == fit$nobs) return(fit)
  fit$model <- model_of_rows(fit$model, rows)
  fit$data <- fit$data[rows, , drop = FALSE]
  moments <- c("mean", "variance")
  own <- function(posterior) {
    posterior[moments] <- lapply(posterior[moments], function(x) x[rows, , drop = FALSE])
    posterior
  }
  fit$posterior <- own(fit$posterior)
  if (!is.null(fit$states)) {
    fit$states <- lapply(fit$states, function(state) replace(state, "posterior", list(own(state$posterior))))
  }
  fit$nobs <- length(rows)
  fit["na.action"] <- list(NULL)
  fit
}

# Ordinal columns among columns of other kinds: their levels are the numbers 1, 2, .., and what is predicted is in these.

#' predict.galvi() of a column of levels, with the results that a column of numbers has
#' @param view From part_view(). The other arguments as in predict.galvi_wide().
#' @noRd
predict_levels <- function(view, newdata, type, se.fit, interval, level, probs, q, re_formula) {
  of_eta <- type %in% c("link", "terms")
  if (of_eta || !type %in% c("response", "quantile", "cdf")) {
    return(predict.galvi(view, newdata, type = type, se.fit = se.fit, interval = interval, level = level,
      re_formula = re_formula))
  }
  if (type == "response" && (se.fit || interval == "credible")) {
    eta <- predict.galvi(view, newdata, type = "link", se.fit = TRUE, re_formula = re_formula)
    moments <- level_moments(view, eta$fit, eta$se.fit)
  }
  prob <- predict.galvi(view, newdata, type = "prob", re_formula = re_formula)
  size <- ncol(prob)
  below <- matrix(t(apply(prob, 1L, cumsum)), ncol = size)
  quantiles <- function(p) vapply(p, function(p) pmin(1 + rowSums(below < p - 1e-12), size), numeric(nrow(prob)))
  as_rows <- function(x, names) matrix(x, nrow(prob), dimnames = list(NULL, names))
  mean <- unname(drop(prob %*% seq_len(size)))
  if (type == "quantile") return(as_rows(quantiles(probs), paste0(format(100 * probs, trim = TRUE, digits = 7), "%")))
  if (type == "cdf") {
    q <- check_values_at(list(q = q), "cdf")
    at <- vapply(q, function(q) if (q < 1) 0 * mean else below[, min(floor(q), size)], mean)
    return(as_rows(at, format(q, trim = TRUE, digits = 7)))
  }
  fit <- switch(interval, none = mean,
    credible = as_rows(cbind(mean, vapply(tails(level), function(p) {
      level_at(view, eta$fit + stats::qnorm(p) * eta$se.fit)
    }, mean)), c("fit", "lwr", "upr")),
    prediction = as_rows(cbind(mean, quantiles(tails(level))), c("fit", "lwr", "upr"))
  )
  if (se.fit) list(fit = fit, se.fit = moments$sd) else fit
}

#' The expected level given eta
#' @noRd
level_at <- function(view, eta) {
  prob <- class_probabilities(view, certain(eta))
  drop(prob %*% seq_len(ncol(prob)))
}

#' Mean and sd of the expected level where eta ~ N(mean, sd^2), by a Gauss-Hermite rule
#' @noRd
level_moments <- function(view, mean, sd) {
  rule <- hermite_rule(24L)
  value <- vapply(rule$node, function(z) level_at(view, mean + z * sd), as.numeric(mean))
  value <- matrix(value, ncol = length(rule$node))
  centre <- drop(value %*% rule$weight)
  list(mean = centre, sd = sqrt(drop((value - centre)^2 %*% rule$weight)))
}

#' Residuals of a column of levels: as of a column of numbers, where they are those of its levels
#' @param fit One part, from part_view(), and its rows alone.
#' @noRd
level_residuals <- function(fit, type) {
  if (!type %in% c("response", "pearson")) return(as.vector(residuals.galvi(fit, type)))
  target <- training_target(fit)
  prob <- class_probabilities(fit, latent_marginals(fit, target))
  number <- seq_len(ncol(prob))
  mean <- drop(prob %*% number)
  residual <- target$y + 1 - mean
  if (type == "response") return(unname(residual))
  unname(sqrt(target$weights) * residual / sqrt(drop(prob %*% number^2) - mean^2))
}

#' E[y | eta], of levels their expected number
#' @noRd
number_given <- function(fit, eta) {
  if (has_classes(fit)) level_at(fit, eta) else response_mean(fit, list(mean = eta, variance = 0 * eta))
}

#' E[y | eta] and Var[y | eta] of levels as numbers
#' @noRd
level_moments_given <- function(fit, eta) {
  prob <- class_probabilities(fit, certain(eta))
  number <- seq_len(ncol(prob))
  mean <- drop(prob %*% number)
  cbind(mean, drop(prob %*% number^2) - mean^2)
}

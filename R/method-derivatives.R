# Questions about the shape of a gp() or a smooth of one input, with the columns of gratia: its derivatives, and
# differences between the levels of a factor.

#' Derivatives of smooth functions
#'
#' The posterior of the first or second derivative of a [gp()] or a smooth of mgcv ([smooths]) of one input, along it:
#' where does the function rise, and where does it turn? The derivative of a Gaussian process is one, whose covariances
#' are derivatives of the kernel; that of a smooth has the derivatives of its basis functions, by central differences
#' that are accurate to eight digits.
#'
#' @details
#' Derivatives of processes are those of a full `gp()` (also where its states are a chain) with the kernels [se()],
#' [rational_quadratic()], [matern52()], [periodic()] and [cosine()], of first order also [matern32()], and their sums
#' and products. Functions with the kernel [matern12()] have none. They are on the scale of the linear predictor, per
#' unit of the input. With a factor `by`, and in `s(x, g, bs = "fs")`, there are those of each level; a number `by` is
#' taken as 1. A function and its centred version have the same.
#'
#' @param object A fit of [galvi()].
#' @param select Names of terms, such as `"gp(x)"` or `"s(x)"`; NULL (the default) for all `gp()` and smooths of one
#'   input.
#' @param data A data frame with values of the input (and of the factor `by`) at which derivatives are wanted; NULL for
#'   `n` values between the ends of the data, at each level.
#' @param order 1 (the default) or 2.
#' @param n Number of values.
#' @param interval `"confidence"` for intervals at each value, or `"simultaneous"` for a band that contains the whole
#'   derivative with the probability `level`.
#' @param level Probability, between 0 and 1.
#' @param ... Must be empty.
#' @return A data frame with columns `.smooth`, the term; `.by`, the name of the factor or NA; `.fs`, the level of a
#'   smooth with `bs = "fs"` or NA; `.derivative`, `.se`, its posterior mean and standard deviation; `.crit`, the number
#'   of standard deviations to the limits; `.lower_ci`, `.upper_ci`; and the variables. The critical value of a band is
#'   found from 10,000 draws, the same at every call.
#' @section Errors:
#' `galvi_error_argument` if a term is not there, has several inputs, no derivative, or is an approximation with
#' inducing points or neighbours; or if another argument is not as described.
#' @seealso [difference_smooths()]; [predict.galvi()] with `type = "terms"` for the functions. If gratia is loaded too,
#'   its function of this name finds this method.
#' @family questions
#' @examplesIf requireNamespace("MASS", quietly = TRUE)
#' fit <- galvi(accel ~ gp(times), data = MASS::mcycle)
#' slope <- derivatives(fit, n = 50, interval = "simultaneous")
#' plot(.derivative ~ times, slope, type = "l", ylim = range(.lower_ci, .upper_ci))
#' lines(.lower_ci ~ times, slope, lty = 2)
#' lines(.upper_ci ~ times, slope, lty = 2)
#' # the head is being thrown back
#' subset(slope, .upper_ci < 0)$times
#' @export
derivatives <- function(object, ...) UseMethod("derivatives")

#' @export
derivatives.default <- function(object, ...) generic_elsewhere("derivatives", "gratia", object, ...)

#' @rdname derivatives
#' @method derivatives galvi
#' @export
#' @rawNamespace S3method(gratia::derivatives,galvi)
derivatives.galvi <- function(object, select = NULL, data = NULL, order = 1, n = 100,
                              interval = c("confidence", "simultaneous"), level = 0.95, ...) {
  refuse_dots(list(...), derivatives.galvi, "derivatives()")
  order <- check_whole(order, "order", 1, 2)
  n <- check_whole(n, "n", 2)
  interval <- first_choice(interval, c("confidence", "simultaneous"), "interval")
  level <- check_level(level)
  view <- curves_view(object, "derivatives()")
  specs <- selected_curves(view, select, function(spec) TRUE, "a gp() or smooth of one input")
  processes <- !vapply(specs, is_smooth, NA)
  inverse <- NULL
  if (any(processes)) {
    check_has_rows(object, "derivatives() of a gp() need them all; give a data frame to galvi()")
    for (spec in specs[processes]) check_has_derivative(view, spec, order)
    inverse <- noisy_precisions(view)
  }
  tables <- lapply(specs, function(spec) derivatives_of(view, spec, inverse, data, order, n, interval, level))
  bind_tables(tables)
}

# Terms have variables of their own.
bind_tables <- function(tables) {
  all <- unique(unlist(lapply(tables, names)))
  do.call(rbind, lapply(tables, function(table) {
    table[setdiff(all, names(table))] <- NA
    table[all]
  }))
}

# ---- which terms ----

curves_view <- function(fit, what) {
  check_one_latent(fit, what)
  if (!inherits(fit, "galvi_wide")) return(predictor_view(fit, 1L))
  stop_galvi("argument", sprintf("%s is not for fits of responses().", what))
}

#' The terms of one input that `select` names
#' @param can function(spec): may it be selected? what: what it then is, in words.
#' @noRd
selected_curves <- function(view, select, can, what) {
  specs <- Filter(function(spec) is_curve(spec, view) && can(spec), view$design$specs)
  labels <- vapply(specs, `[[`, "", "label")
  if (!length(specs)) stop_galvi("argument", sprintf("`select`: the model has no term that is %s.", what))
  if (is.null(select)) return(specs)
  if (!is.character(select) || !length(select) || anyNA(select)) {
    stop_galvi("argument", sprintf("`select` must be names of terms, not %s.", describe(select)))
  }
  plain <- plain_labels(vapply(select, without_options, ""))
  # "s(x)" also names s(x, by = f), as in gratia
  bare <- plain_labels(vapply(labels, without_by, ""))
  at <- lapply(plain, function(name) which((if (name %in% plain_labels(labels)) plain_labels(labels) else bare) == name))
  unknown <- select[lengths(at) == 0L]
  if (length(unknown)) {
    stop_galvi("argument", sprintf("`select` names %s, which is not %s of this model; there %s %s.",
      quote_names(unknown[1L], "\""), what, if (length(labels) == 1L) "is" else "are", quote_names(labels, "\"")))
  }
  specs[unique(unlist(at))]
}

without_by <- function(label) {
  call <- str2lang(label)
  if ("by" %in% names(call)) call[["by"]] <- NULL
  deparse_one(call)
}

#' Is a term a function of one number?
#' @noRd
is_curve <- function(spec, view) {
  if (inherits(spec, "gp_term")) {
    return(length(spec$inputs) == 1L && length(spec$variable) == 1L && spec$facts[[1L]]$kind != "factor")
  }
  is_smooth(spec) && !spec$functional && length(number_inputs(spec, view)) == 1L &&
    length(spec$inputs) == 1L + !is.null(spec$sparse$levels)
}

# Names of a smooth's inputs that are no factors.
number_inputs <- function(spec, view) {
  names <- vapply(spec$inputs, variable_name, "")
  names[vapply(names, function(name) is_continuous(view$data[[name]]), NA)]
}

#' The variables of a curve: list(x, by: a factor with a function for each level, or NULL; levels; fs: are these levels
#' of a smooth with bs = "fs"?)
#' @noRd
curve_variables <- function(spec, view) {
  if (!is_smooth(spec) || is.null(spec$sparse$levels)) {
    x <- if (is_smooth(spec)) number_inputs(spec, view) else variable_name(spec$inputs[[1L]])
    return(list(x = x, by = if (length(spec$by_levels)) variable_name(spec$by), levels = spec$by_levels, fs = FALSE))
  }
  x <- number_inputs(spec, view)
  list(x = x, by = setdiff(vapply(spec$inputs, variable_name, ""), x), levels = spec$sparse$levels, fs = TRUE)
}

check_has_derivative <- function(view, spec, order) {
  term <- term_of_spec(view, spec)
  if (!is.null(spec$inducing) || !is.null(spec$neighbours)) {
    stop_galvi("argument", sprintf(
      "`%s` is an approximation with %s; derivatives() are of a full gp().", spec$label,
      if (is.null(spec$neighbours)) "inducing points" else "neighbours"
    ))
  }
  if (!is.null(spec$finite)) {
    stop_galvi("argument", sprintf("`%s` is linear in its input: its coefficients say how it changes.", spec$label))
  }
  for (kernel in kernels_of(term)) check_differentiable(kernel, order, spec$label)
  if (all(is.finite(unlist(view$posterior[c("alpha", "lambda")])))) return(invisible())
  stop_galvi("argument", "derivatives() need observations with noise: this fit has none.")
}

# One for each level of `by`, or one for all.
kernels_of <- function(term) if (is.null(term$kernels)) list(term$kernel) else term$kernels

# ---- the posterior ----

#' (K + Lambda^-1)^-1 = Lambda - Lambda V Lambda over the rows, from the posterior covariance V of eta
#' @noRd
noisy_precision <- function(view) {
  n <- nrow(view$posterior$alpha)
  lambda <- view$posterior$lambda[, 1L]
  V <- latent_at(view, view$model$designs, n, covariance = TRUE)$covariance[[1L]]
  diag(lambda, n) - lambda * V * rep(lambda, each = n)
}

# At each state; of each part of a fit to imputed data sets.
noisy_precisions <- function(view) {
  if (is_imputed(view)) lapply(view$fits, noisy_precisions) else by_state(view, noisy_precision)
}

#' Mean and covariance of a derivative at places
#' @param inverse noisy_precisions(), for processes.
#' @noRd
derivative_moments <- function(view, spec, inverse, places, order) {
  if (is_imputed(view)) {
    return(joint_of_parts(Map(function(part, inverse) {
      derivative_moments(part, own_term(part, spec), inverse, places, order)
    }, view$fits, or_else(inverse, list(NULL)))))
  }
  if (is_smooth(spec)) {
    rows <- smooth_derivative_rows(view, spec, places, order)
    eta <- latent_at(view, list(rows), nrow(places$shown), covariance = TRUE)
    return(list(mean = eta$mean[, 1L], covariance = eta$covariance[[1L]]))
  }
  parts <- Map(function(state, inverse) {
    curve_derivative(state, spec, scaled_places(spec, places), places$group, inverse, order)
  }, by_state(view, identity), inverse)
  joint_moments(parts, state_weights(view))
}

#' @param inverse noisy_precisions(), for processes.
#' @noRd
derivatives_of <- function(view, spec, inverse, data, order, n, interval, level) {
  places <- curve_places(view, spec, data, n)
  found <- derivative_moments(view, spec, inverse, places, order)
  mean <- found$mean
  V <- found$covariance
  se <- sqrt(pmax(diag(V), 0))
  crit <- if (interval == "confidence") rep(stats::qnorm(tails(level)[2L]), length(mean)) else {
    groups <- split(seq_along(mean), or_else(places$group, rep(1L, length(mean))))
    found <- vapply(groups, function(at) simultaneous_crit(V[at, at, drop = FALSE], level), 0)
    unsplit(lapply(seq_along(groups), function(g) rep(found[[g]], length(groups[[g]]))),
      or_else(places$group, rep(1L, length(mean))))
  }
  fs <- places$variables$fs
  data.frame(
    .smooth = spec$label, .by = if (fs) NA_character_ else or_else(places$variables$by, NA_character_),
    .fs = if (fs) as.character(places$shown[[places$variables$by]]) else NA_character_, .derivative = mean, .se = se,
    .crit = crit, .lower_ci = mean - crit * se, .upper_ci = mean + crit * se, places$shown, check.names = FALSE
  )
}

#' Rows of the model at which a smooth has the differences of its columns, central ones, in place of the columns
#'
#' With steps of 1e-6 of the range first differences have nine digits, with 1e-4 second ones seven.
#' @noRd
smooth_derivative_rows <- function(view, spec, places, order) {
  x <- as.numeric(places$shown[[places$variables$x]])
  own <- as.numeric(view$data[[places$variables$x]])
  step <- diff(range(own)) * if (order == 1L) 1e-6 else 1e-4
  at <- function(x) {
    frame <- curve_frame(view, spec, places)
    frame[[places$variables$x]] <- alike(x, view$data[[places$variables$x]])
    spec_rows(spec, frame)
  }
  difference <- function(name) {
    up <- at(x + step)[[name]]
    down <- at(x - step)[[name]]
    if (order == 1L) (up - down) / (2 * step) else (up - 2 * at(x)[[name]] + down) / step^2
  }
  rows <- lapply(subset_rows(view$model$designs[[1L]], rep(1L, length(x))), blank)
  rows[[match(spec$label, view$design$labels)]] <- if (is.null(spec$sparse)) list(W = difference("W")) else {
    list(node = at(x)$node, weight = difference("weight"))
  }
  rows
}

#' A frame of the places; a number `by` is one
#' @noRd
curve_frame <- function(view, spec, places) {
  variables <- places$variables
  frame <- view$data[rep(1L, nrow(places$shown)), , drop = FALSE]
  frame[[variables$x]] <- places$shown[[variables$x]]
  if (!is.null(variables$by)) {
    classes <- attr(view$design$frame_terms, "dataClasses")
    frame[[variables$by]] <- match_classes(places$shown[variables$by], classes, view$design$xlevels)[[1L]]
  } else if (!is.null(spec$by)) {
    frame[[variable_name(spec$by)]] <- rep(1, nrow(frame))
  }
  frame
}

#' The largest of the standardised deviations that has this probability
#' @noRd
simultaneous_crit <- function(V, level, draws = 10000L) {
  se <- sqrt(pmax(diag(V), 0))
  used <- se > 0
  if (!any(used)) return(stats::qnorm(tails(level)[2L]))
  root <- covariance_root(V[used, used, drop = FALSE]) / se[used]
  largest <- with_seed(1, apply(abs(root %*% matrix(stats::rnorm(ncol(root) * draws), ncol(root), draws)), 2L, max))
  stats::quantile(largest, level, names = FALSE)
}

#' Where a curve is asked about
#' @return list(variables: from curve_variables(); group: the level of each, or NULL; shown: a data frame).
#' @noRd
curve_places <- function(view, spec, data, n) {
  variables <- curve_variables(spec, view)
  name <- variables$x
  by <- variables$by
  levels <- variables$levels
  if (is.null(data)) {
    x <- view$data[[name]]
    grid <- alike(seq(min(as.numeric(x)), max(as.numeric(x)), length.out = n), range(x))
    shown <- data.frame(rep(grid, max(1L, length(levels))))
    names(shown) <- name
    if (!is.null(by)) shown <- cbind(stats::setNames(data.frame(factor(rep(levels, each = n), levels)), by), shown)
  } else {
    if (!is.data.frame(data) || !nrow(data) || !all(c(by, name) %in% names(data))) {
      stop_galvi("argument", sprintf("`data` must be a data frame with %s, not %s.", quote_names(c(by, name)),
        describe(data)))
    }
    shown <- data[c(by, name)]
    x <- shown[[name]]
    if (!is_continuous(x) || anyNA(x)) stop_galvi("argument", sprintf("`data$%s` must be numbers without NA.", name))
    if (!is.null(by) && any(bad <- !as.character(shown[[by]]) %in% levels)) {
      stop_galvi("argument", sprintf("`data$%s` has %s; its levels are %s.", by,
        quote_names(as.character(shown[[by]])[bad][1L], "\""), quote_names(levels, "\"")))
    }
  }
  row.names(shown) <- NULL
  list(variables = variables, group = if (!is.null(by)) match(as.character(shown[[by]]), levels), shown = shown)
}

# The places as inputs of a process.
scaled_places <- function(spec, places) {
  apply_moments(matrix(as.numeric(places$shown[[places$variables$x]])), spec$moments)[, 1L]
}

#' Mean and covariance of a derivative at a state
#'
#' With D = Cov(f^(order)(x), f(rows)), in which f has mean zero over the rows where the term is centred, they are
#' D alpha and Cov(f^(order)) - D (K + Lambda^-1)^-1 D'.
#' @noRd
curve_derivative <- function(view, spec, x, group, inverse, order) {
  term <- term_of_spec(view, spec)
  hyper <- view$posterior$hyper
  rows <- view$model$designs[[1L]][[match(spec$label, view$design$labels)]]
  kernels <- kernels_of(term)
  n <- length(x)
  N <- nrow(rows$inputs)
  D <- matrix(0, n, N)
  prior <- matrix(0, n, n)
  for (g in unique(or_else(group, 1L))) {
    kernel <- kernels[[min(g, length(kernels))]]
    own <- if (is.null(group)) seq_len(n) else which(group == g)
    among <- if (is.null(group)) seq_len(N) else which(rows$group == g)
    to <- function(z, b) kernel_derivatives(kernel, hyper, x[own], z, order)(order, b)
    D[own, among] <- to(rows$inputs[among, 1L], 0L)
    centre <- term$centre
    if (!is.null(centre)) {
      at <- if (is.null(group)) seq_along(centre$weight) else which(centre$group == g)
      level <- to(centre$inputs[at, 1L], 0L) %*% (centre$weight[at] / sum(centre$weight[at]))
      D[own, among] <- D[own, among] - drop(level)
    }
    if (!is.null(rows$by)) D[own, among] <- D[own, among] * rep(rows$by[among], each = length(own))
    prior[own, own] <- to(x[own], order)
  }
  # per unit of the variable as it was typed
  scale <- unit_of_input(spec)^-order
  covariance <- prior - D %*% inverse %*% t(D)
  list(
    mean = scale * drop(D %*% view$posterior$alpha[, 1L]), covariance = scale^2 * (covariance + t(covariance)) / 2
  )
}

# What one unit of the term's input is in those of the variable.
unit_of_input <- function(spec) 1 / diff(apply_moments(matrix(0:1), spec$moments)[, 1L])

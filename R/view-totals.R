# Totals over groups of rows, sum_i a_i E[y_i], with the uncertainty that the rows share.

# Rows of a group whose covariance matrix is formed.
most_in_covariance <- 5000L

# Draws where there is no closed form, with a seed of their own so that a prediction is always the same.
total_draws <- 1000L

#' Weights and groups of the rows of a prediction
#'
#' @param aggregate A formula, weight ~ group or ~ group.
#' @param data Where its variables are, a row for each row of the prediction.
#' @return list(weight, index: the group of each row; table: a row for each group).
#' @noRd
read_aggregate <- function(aggregate, data, env) {
  if (!inherits(aggregate, "formula")) {
    stop_galvi("argument", sprintf("`aggregate` must be a formula such as area ~ year or ~ year, not %s.",
      describe(aggregate)))
  }
  found <- function(expr) check_evaluates(eval(expr, data, env), "aggregate", hint = function(name) {
    sprintf("`%s` must be a column of `newdata`.", name)
  })
  groups <- all.vars(aggregate[[length(aggregate)]])
  weight <- if (length(aggregate) == 3L) found(aggregate[[2L]]) else 1
  weight <- rep_len(weight, if (length(weight) == 1L) nrow(data) else length(weight))
  if (!is.numeric(weight) || length(weight) != nrow(data) || any(!is.finite(weight))) {
    stop_galvi("argument", sprintf("`aggregate`: `%s` must be a number for each row.", deparse_one(aggregate[[2L]])))
  }
  table <- lapply(stats::setNames(nm = groups), function(name) found(as.name(name)))
  bad <- groups[lengths(table) != nrow(data) | vapply(table, anyNA, NA)]
  if (length(bad)) {
    stop_galvi("argument", sprintf("`aggregate`: `%s` must have a value for each row, without NA.", bad[1L]))
  }
  if (!length(groups)) {
    return(list(weight = weight, index = rep(1L, nrow(data)), table = data.frame(row.names = "total")))
  }
  table <- structure(table, class = "data.frame", row.names = .set_row_names(nrow(data)))
  order <- do.call(order, unname(as.list(table)))
  key <- do.call(paste, c(unname(lapply(table, function(x) match(x, unique(x)))), sep = "."))
  first <- order[!duplicated(key[order])]
  list(weight = weight, index = match(key, key[first]), table = `row.names<-`(table[first, , drop = FALSE], NULL))
}

#' Where the variables of `aggregate` are for the observations
#' @noRd
observed_variables <- function(fit) {
  structure(c(unclass(fit$data), attr(fit$data, "inner")), class = "data.frame", row.names = row.names(fit$data),
    terms = NULL)
}

#' Totals by group
#'
#' @param groups From read_aggregate(), for the rows of the target.
#' @param options list(se.fit, interval, level).
#' @return A data frame.
#' @noRd
predict_totals <- function(fit, target, groups, options) {
  check_no_classes(fit, "`aggregate`")
  own <- split(seq_len(target$n), factor(groups$index, seq_len(nrow(groups$table))))
  marginals <- latent_marginals(fit, target)
  mean <- response_mean(fit, marginals)
  warn_overflow(fit, target, mean)
  out <- groups$table
  out$fit <- vapply(own, function(at) sum(groups$weight[at] * mean[at]), 0, USE.NAMES = FALSE)
  if (!options$se.fit && options$interval == "none") return(out)
  found <- lapply(own, function(at) {
    total_of(fit, target_rows(target, at), marginal_rows(marginals, at), groups$weight[at], tails(options$level))
  })
  if (options$se.fit) out$se.fit <- vapply(found, `[[`, 0, "sd", USE.NAMES = FALSE)
  if (options$interval != "none") {
    out$lwr <- vapply(found, function(one) one$limits[1L], 0, USE.NAMES = FALSE)
    out$upr <- vapply(found, function(one) one$limits[2L], 0, USE.NAMES = FALSE)
  }
  out
}

#' The posterior of a group's total given eta: list(sd, limits)
#' @noRd
total_of <- function(fit, target, marginals, weight, probs) {
  if (!target$n) return(list(sd = 0, limits = c(0, 0)))
  points <- marginals$points
  drawn <- function() {
    total <- drawn_totals(fit, target, weight)
    list(sd = stats::sd(total), limits = stats::quantile(total, probs, names = FALSE))
  }
  if (!is.null(points)) {
    # groups that were not observed are drawn at each point, each for itself
    if (length(unlist(points$new))) return(drawn())
    total <- matrix(totals_at_points(fit, target, points, weight), 1L)
    sd <- sqrt(weighted_moments(t(total), points$weight)$covariance[1L])
    return(list(sd = sd, limits = drop(weighted_quantiles(total, points$weight, probs))))
  }
  form <- if (n_latents(fit) == 1L && target$n <= most_in_covariance) mean_form(fit)
  if (is.null(form)) return(drawn())
  parts <- total_parts(fit, target, weight, form)
  each <- function(what) vapply(parts, `[[`, 0, what)
  weights <- each("weight")
  mean <- sum(weights * each("mean"))
  sd <- sqrt(sum(weights * (each("variance") + (each("mean") - mean)^2)))
  quantiles <- function(mean, sd) {
    one <- function(x) matrix(x, 1L)
    vapply(probs, function(p) normal_mixture_quantile(one(mean), one(sd), weights, p), 0)
  }
  if (form == "identity") return(list(sd = sd, limits = quantiles(each("mean"), sqrt(each("variance")))))
  # at each state a sum of log-normal variables with positive weights is nearly one
  if (any(weight < 0) || any(each("mean") <= 0)) return(c(list(sd = sd), drawn()["limits"]))
  spread <- sqrt(log1p(each("variance") / each("mean")^2))
  list(sd = sd, limits = exp(quantiles(log(each("mean")) - spread^2 / 2, spread)))
}

#' Is the mean response given eta eta itself, or proportional to its exponential? NULL for neither
#' @noRd
mean_form <- function(fit) {
  if (n_predictors(fit) > 1L || is_volatility(fit) || isTRUE(fit$model$likelihood$truncated)) return(NULL)
  at <- response_given(at_mode(fit), c(-1, 0, 1, 2))
  if (isTRUE(all.equal(at, c(-1, 0, 1, 2), tolerance = 1e-12))) return("identity")
  if (all(is.finite(at)) && isTRUE(all.equal(at / at[2L], exp(c(-1, 0, 1, 2)), tolerance = 1e-12))) "log"
}

#' Weight of each state, with mean and variance of a total there: a list; the states of all parts of an imputed fit
#'
#' Cov(exp(eta_i), exp(eta_j)) = E exp(eta_i) E exp(eta_j) (exp(V_ij) - 1).
#' @noRd
total_parts <- function(fit, target, weight, form) {
  if (!is.null(target$sets)) {
    parts <- Map(total_parts, fit$fits, target$sets, MoreArgs = list(weight, form))
    return(lapply(unlist(parts, recursive = FALSE), function(part) {
      replace(part, "weight", part$weight / length(fit$fits))
    }))
  }
  base <- without_average(target)
  lapply(fit_states(fit), function(state) {
    view <- at_state(fit, state)
    V <- latent_at(view, target$rows, target$n, covariance = TRUE)$covariance[[1L]]
    own <- without_points(view)
    mean <- if (form == "log") response_mean(own, latent_marginals(own, target)) else {
      own_marginals(own, base)$mean[, 1L]
    }
    share <- weight * mean
    variance <- if (form == "log") sum(share * (expm1(V) %*% share)) else sum(weight * (V %*% weight))
    list(weight = state$weight, mean = sum(share), variance = max(0, variance))
  })
}

#' The total at each point
#' @noRd
totals_at_points <- function(fit, target, points, weight) {
  n <- nrow(points$offset)
  total <- numeric(length(points$weight))
  for (at in split(seq_len(n), (seq_len(n) - 1L) %/% max(1L, rows_by_points %/% length(points$weight)))) {
    state <- points_state(point_rows(points, at), at)
    given <- with_known(state[c("mean", "variance")], target$known, state$rows)
    mean <- response_mean(at_hyper(fit, state$hyper), given)
    total <- total + colSums(weight[at] * matrix(mean, length(at)))
  }
  total
}

drawn_totals <- function(fit, target, weight) {
  if (is_full(fit$model) && target$n > most_in_covariance) {
    stop_galvi("argument", sprintf(paste(
      "`aggregate`: a group has %s rows, and with a full gp() joint draws need their covariance matrix, which is",
      "formed for at most %s. Leave `se.fit` and `interval` out, or fit gp(inducing = )."
    ), whole_words(target$n), whole_words(most_in_covariance)))
  }
  with_seed(1, drop(over_draws(fit, target, total_draws, function(view, target, eta) {
    response_mean(view, given_latent(view, target, eta))
  }) %*% weight))
}

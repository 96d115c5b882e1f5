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
  # nodes are eigenvalues of the Jacobi matrix (Golub and Welsch 1969)
  size <- 24L
  i <- seq_len(size - 1L)
  jacobi <- matrix(0, size, size)
  jacobi[cbind(i, i + 1L)] <- jacobi[cbind(i + 1L, i)] <- sqrt(i)
  rule <- eigen(jacobi, symmetric = TRUE)
  weight <- rule$vectors[1L, ]^2
  value <- vapply(rule$values, function(z) level_at(view, mean + z * sd), as.numeric(mean))
  value <- matrix(value, ncol = size)
  centre <- drop(value %*% weight)
  list(mean = centre, sd = sqrt(drop((value - centre)^2 %*% weight)))
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

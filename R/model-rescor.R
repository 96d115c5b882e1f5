# Residuals of responses(Y) ~ x + rescor(): which families have them, and of gaussian responses what stands for their
# noise. For these y_i = X_i beta + .. + z_i, exactly: z_i is the noise. The core is told of independent noise as well,
# so small that no digit of the estimates depends on it (`nugget` times the residual variance of a least-squares fit).

nugget <- 1e-7

#' The design with the families and the spec of residuals as the core needs them
#' @param design From design_of_wide(), of the long form. item: the column of each row.
#' @noRd
with_residuals <- function(design, item) {
  items <- design$wide$items
  families <- if (is_mixed(design$family)) design$family$parts else {
    stats::setNames(rep(list(design$family), length(items)), items)
  }
  for (j in seq_along(items)) {
    check_residual_family(families[[j]], items[j], is_single(design, item == j, families[[j]]))
  }
  noise <- vapply(families, is_pure_noise, NA, USE.NAMES = FALSE)
  weighted <- design$wide$weighted && any(noise)
  t <- which(which_can(design$parts$specs, "residual"))
  spec <- design$parts$specs[[t]]
  spec$pure_noise <- noise
  spec[c("scale", "correlation")] <- residual_starts(design, item, noise)
  design$parts$specs[[t]] <- spec
  if (!any(noise)) return(design)
  held <- galvi_family("gaussian", variance = fixed(nugget))
  if (is_mixed(design$family)) design$family$parts[noise] <- rep(list(held), sum(noise)) else design$family <- held
  own <- which(noise[item])
  design$size[own] <- 1 / spec$scale[item[own]]^2
  design
}

# Is a response of single trials?
is_single <- function(design, rows, family) {
  counts_trials <- !is.null(link_types[[family$link]]$threshold_variance) && !has_parameters(family)
  counts_trials && all(design$size[rows] == 1)
}

has_parameters <- function(family) length(family_type(family)$parameters) > 0L

check_residual_family <- function(family, item, single) {
  refuse <- function(why) {
    stop_galvi("family", sprintf("rescor() does not go with %s (column `%s`): %s.", the_family(family), item, why))
  }
  if (length(always_predicted(family))) refuse("it has several linear predictors; negbinomial() has one")
  if (is_pure_noise(family)) {
    if (is.null(family$parameters$variance)) return(invisible())
    refuse(paste(
      "its variance is that of rescor(): leave `variance` out, and give a prior as list(\"rescor()\" = list(sd = ))"
    ))
  }
  if (single || is_of_levels(family)) {
    refuse(paste(
      "beside single trials or levels the standard deviation of a residual is not determined. Correlations between",
      "such responses are those of factors: responses(Y) ~ x + factors(2)"
    ))
  }
  noisy <- vapply(family_type(family)$parameters, function(parameter) {
    isTRUE(parameter$sd) || isTRUE(parameter$variance)
  }, NA)
  if (link_has(family, "same_units") || any(noisy)) {
    refuse(paste(
      "its own noise and that of rescor() are not told apart. Use gaussian(), of the logarithm for log-normal",
      "responses, or factors(d)"
    ))
  }
}

# Families whose responses are ordered levels.
is_of_levels <- function(family) "thresholds" %in% names(family_type(family)$parameters)

#' Where learning starts: standard deviations of least-squares residuals of gaussian columns, NA for others, and
#' correlations of those rows that have both
#' @return list(scale: p numbers, correlation: p x p)
#' @noRd
residual_starts <- function(design, item, noise) {
  p <- length(noise)
  units <- as.integer(design$data[[wide_names[["unit"]]]])
  E <- matrix(NA_real_, max(units), p)
  scale <- rep(NA_real_, p)
  for (j in which(noise)) {
    rows <- which(item == j & design$weights > 0)
    y <- design$y[rows] - design$offset[rows, 1L]
    X <- fixed_matrix(design$wide$parts$fixed, design$data[rows, , drop = FALSE])$W
    root <- if (design$wide$weighted) sqrt(design$size[rows]) else rep(1, length(rows))
    found <- qr(root * X)
    residual <- qr.resid(found, root * y)
    free <- length(rows) - found$rank
    whole <- sum((y - mean(y))^2) / max(length(rows) - 1L, 1L)
    own <- if (free > 0L) sum(residual^2) / free else whole
    # a column that its predictors give exactly has no residual
    if (!(own > 1e-20 * (whole + mean(y)^2))) {
      response_error(design$wide$name, sprintf(
        "has the column %s, whose residuals are zero: it is a linear function of the fixed effects, or constant",
        quote_names(design$wide$items[j])
      ))
    }
    scale[j] <- sqrt(own)
    E[units[rows], j] <- residual
  }
  R <- suppressWarnings(stats::cor(E, use = "pairwise.complete.obs"))
  R[is.na(R)] <- 0
  same <- which(abs(R) > 1 - 1e-12 & upper.tri(R), arr.ind = TRUE)
  if (nrow(same)) {
    response_error(design$wide$name, sprintf(
      "has the columns %s, whose residuals are proportional to each other: leave one of them out",
      quote_names(design$wide$items[same[1L, ]])
    ))
  }
  diag(R) <- 1
  list(scale = scale, correlation = completed_correlation(E / rep(scale, each = nrow(E)), R))
}

#' The correlations of residuals some of which are missing: a few steps of EM from those of pairs
#' @param E Units x responses, of variance one; NA where missing, or for responses that have none.
#' @noRd
completed_correlation <- function(E, R) {
  known <- colSums(!is.na(E)) > 0
  if (sum(known) < 2L) return(R)
  own <- R[known, known]
  # pairs of different rows need not fit together
  least <- min(eigen(own, symmetric = TRUE, only.values = TRUE)$values)
  if (least < 1e-6) own <- diag(1 - 0.98 / (1 - least), nrow(own)) + 0.98 / (1 - least) * own
  E <- E[rowSums(!is.na(E)) > 0, known, drop = FALSE]
  if (anyNA(E)) {
    patterns <- split(seq_len(nrow(E)), apply(is.na(E), 1L, paste, collapse = ""))
    for (step in seq_len(20L)) own <- stats::cov2cor(completed_squares(E, own, patterns))
  }
  R[known, known] <- own
  R
}

#' E[sum of e e'] given the known residuals e ~ N(0, S)
#' @param patterns Rows that lack the same.
#' @noRd
completed_squares <- function(E, S, patterns) {
  out <- 0 * S
  for (rows in patterns) {
    gone <- is.na(E[rows[1L], ])
    e <- E[rows, , drop = FALSE]
    if (any(gone)) {
      slope <- S[gone, !gone, drop = FALSE] %*% chol2inv(chol(S[!gone, !gone, drop = FALSE]))
      e[, gone] <- tcrossprod(e[, !gone, drop = FALSE], slope)
      rest <- S[gone, gone] - slope %*% S[!gone, gone, drop = FALSE]
      out[gone, gone] <- out[gone, gone] + length(rows) * rest
    }
    out <- out + crossprod(e)
  }
  out
}

#' Weights that divide the covariance of a unit's residuals
#' @noRd
divisors_of_residuals <- function(weights, expr) {
  if (counts_rows(expr)) {
    stop_galvi("argument", paste(
      "`weights` that count rows, frequency(), do not go with rescor() of gaussian responses: repeat the rows of Y, or",
      "give weights that divide the covariance of the residuals."
    ))
  }
  ifelse(weights > 0, weights, 1)
}

#' Rows and scale of each response whose fixed effects have priors of their own; NULL where all are of one
#' @return A list by response of list(rows, centre, spread), see predictor_scale().
#' @noRd
scales_of_responses <- function(design, weights) {
  if (is.null(design$wide) || design$wide$parts$kind == "factors") return(NULL)
  item <- as.integer(design$data[[wide_names[["item"]]]])
  lapply(seq_along(design$wide$items), function(j) {
    rows <- which(item == j)
    own <- take_row_numbers(design[c("size", "offset")], rows)
    own$family <- if (is_mixed(design$family)) design$family$parts[[j]] else design$family
    own$y <- design$y[rows]
    same_units <- link_has(own$family, "same_units")
    own$modelled <- if (same_units) own$y - own$offset[, 1L] else own$y / trials_of(own, own)
    c(list(rows = rows), predictor_scale(own, weights[rows]))
  })
}

#' The argument `prior`, where `sigma` is that of the residuals: a gaussian family has no other
#' @noRd
prior_of_residuals <- function(prior, specs) {
  spec <- residual_spec(specs)
  if (!any(spec$pure_noise)) return(prior)
  variances <- grep("(^|[.])variance$", names(prior), value = TRUE)
  variances <- variances[!grepl("(", variances, fixed = TRUE)]
  twice <- "sigma" %in% names(prior) && "sd" %in% names(prior[[spec$label]])
  if (length(variances) || twice) {
    stop_galvi("prior", sprintf(paste(
      "`prior$%s`: the residual standard deviations are those of rescor(): write prior = list(\"rescor()\" = list(sd =",
      "half_normal(1)))."
    ), c(variances, "sigma")[1L]))
  }
  if ("sigma" %in% names(prior)) {
    prior[[spec$label]] <- c(prior[[spec$label]], list(sd = prior$sigma))
    prior$sigma <- NULL
  }
  prior
}

# ---- brms' words ----

# Multivariate responses of brms: mvbind(y1, y2) ~ x, with set_rescor() in the formula.

#' Does set_rescor(TRUE) or set_rescor(FALSE) say so? NULL for another call
#' @noRd
said_rescor <- function(call, env) {
  if (any_head(call) != "set_rescor") return(NULL)
  value <- if (length(call) == 2L) call[[2L]] else TRUE
  check_flag(check_evaluates(eval(value, env), "rescor"), "rescor")
}

#' Terms of mvbind() are those of each response in brms: here a term belongs to all responses together
#' @noRd
check_terms_of_each <- function(specs, formula) {
  for (spec in specs) {
    if (wide_names[["item"]] %in% unlist(lapply(c(spec$variables, spec$by), all.vars))) next
    own <- if (term_can(spec, "grouped")) {
      group <- effect_group(spec)
      sprintf(paste(
        "write (0 + .item || %s) for effects of each response, (0 + .item | %s) for correlated ones, as brms'",
        "(1 | p | %s)"
      ), group, group, group)
    } else "with by = .item it is one for each response"
    stop_galvi("formula", sprintf(paste(
      "`%s`: `%s` would be one term that all responses share, and in brms each response has its own: %s. A shared one",
      "is written with responses(cbind(y1, y2)) in place of mvbind(y1, y2)."
    ), deparse_one(formula), written_term(spec), own))
  }
}

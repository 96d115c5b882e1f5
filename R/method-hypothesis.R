# hypothesis(): questions about parameters, with the columns of brms.

#' Hypotheses about parameters
#'
#' The posterior of a function of parameters, such as `"x - 2 * z > 0"`: its mean, standard deviation and interval, the
#' probability that it is on one side of zero, or the ratio of its posterior and prior densities at zero, with the
#' columns that brms has.
#'
#' @details
#' **What is computed.** A sum of coefficients is a normal variable, or a mixture of these, or one of weighted points,
#' as [`vcov()`][coef.galvi] and `confint()` describe their posterior (`summary()` says which): nothing is drawn at
#' random. Where the posterior is weighted points, so is that of every function of coefficients and hyperparameters.
#' Other functions, and other fits' hyperparameters, take 10,000 draws (as [`as_draws()`][draws] makes them).
#'
#' **One side.** For `>` and `<`, `Post.Prob` is the posterior probability of the hypothesis and `Evid.Ratio` that over
#' the probability of its opposite. The interval has `alpha` on either side (90 % by default).
#'
#' **Equality.** For `=`, `Evid.Ratio` is the Savage-Dickey ratio: the posterior density at zero over that of the prior
#' (Dickey 1971). It is the Bayes factor of the hypothesis and depends on the width of the prior: under the weak
#' default priors it favours zero, so type priors that you believe. `Post.Prob` is the probability of the hypothesis if
#' it was one half before. Both are NA under a flat prior, and where the prior density of the function is not that of a
#' normal variable: learned prior widths, functions that are not linear, other parameters than coefficients. At
#' weighted points the posterior density is an estimate, within a few per cent. The interval has `alpha / 2` on either
#' side.
#'
#' **Names.** Coefficients are named as in [coef()], or as brms has them: `Intercept` is `(Intercept)`; `factor(cyl)6`
#' is also `factorcyl6`; `z:x` is also `x:z`; of other linear predictors `sigma_x`. `Intercept[1]` is the first threshold
#' of ordered classes. Backticks are understood. With
#' `class = "sd"` and `group = "g"`, names are those of effects, such as `Intercept`: `sd_g__Intercept` in full. Full
#' names are understood in any class: `b_x`, `sd_g__x`, `cor_g__Intercept__x`, `sigma` (the standard deviation of a
#' gaussian response), and the names in `fit$hyper`. Functions may be `exp`, `log`, `sqrt`, `abs`, `plogis` and others
#' of one number.
#'
#' @param x A fit of [galvi()]; for `print()` and `plot()` the value of `hypothesis()`.
#' @param hypothesis Text, one or more hypotheses, each with one of the signs `>`, `<` and `=`. Names of the vector
#'   become the labels of the result.
#' @param class The class of the parameters: `"b"` (the default) for coefficients, `"sd"` and `"cor"` for standard
#'   deviations and correlations of groups; `""` or NULL for full names.
#' @param group The grouping factor for `class = "sd"` and `"cor"`, and for other scopes than `"standard"`.
#' @param scope `"standard"` (the default); `"ranef"`, in which names are effects of each level of `group`, as
#'   [`ranef()`][ranef.galvi] has them; or `"coef"`, in which the fixed effect is added. Hypotheses about levels must
#'   be linear.
#' @param alpha Probability beyond the limits of an interval, between 0 and 1, see Details.
#' @param robust If TRUE, `Estimate` and `Est.Error` are the median and the median absolute deviation (times 1.4826),
#'   otherwise, which is the default, mean and standard deviation.
#' @param seed NULL, or a whole number of at least 0 for [set.seed()] where draws are needed; the state of the random
#'   number generator is restored.
#' @param digits,... For `print()`: number of decimals; `...` must be empty.
#' @param ask,main,xlab,ylab,xlim,ylim,col As in [plot()][plot.galvi].
#' @return A list of class `galvi_hypothesis`: `hypothesis`, a data frame with columns `Hypothesis`, `Estimate`,
#'   `Est.Error`, `CI.Lower`, `CI.Upper`, `Evid.Ratio`, `Post.Prob` and `Star` (`"*"` if a one-sided hypothesis has a
#'   probability above 1 - `alpha`, or if zero is outside the interval of a two-sided one), before them `Group`, the
#'   level, for other scopes; `class`; `alpha`; `posteriors`, what `plot()` draws: the posterior density of each
#'   hypothesis' left side less its right one, in a panel each. `plot()` returns these densities, invisibly.
#' @section Errors:
#' `galvi_error_argument` if a hypothesis cannot be read or names what is not there (the message lists what is), or
#' another argument is not as described.
#' @references
#' Dickey, J. M. (1971). The weighted likelihood ratio, linear hypotheses on normal location parameters. *Annals of
#' Mathematical Statistics* 42, 204-223.
#' @seealso [coef.galvi()] for coefficients and intervals, [draws] for functions of predictions. If brms is loaded too,
#'   its function of this name finds this method.
#' @family questions
#' @examples
#' fit <- galvi(mpg ~ wt + qsec + factor(am), data = mtcars, prior = list(default = normal(0, 5)))
#' asked <- hypothesis(fit, c("wt < -2", transmission = "factor(am)1 = 0", "qsec + wt / 4 > 0"))
#' asked
#' plot(asked)
#'
#' # standard deviations and effects of groups
#' growth <- galvi(weight ~ Time + (1 + Time | Chick), data = ChickWeight)
#' hypothesis(growth, "Intercept > 2 * Time", class = "sd", group = "Chick", seed = 1)
#' head(hypothesis(growth, "Time > 8", group = "Chick", scope = "coef")$hypothesis)
#' @export
hypothesis <- function(x, ...) UseMethod("hypothesis")

#' @export
hypothesis.default <- function(x, ...) generic_elsewhere("hypothesis", "brms", x, ...)

#' @rdname hypothesis
#' @method hypothesis galvi
#' @export
#' @rawNamespace S3method(brms::hypothesis,galvi)
hypothesis.galvi <- function(x, hypothesis, class = "b", group = "", scope = c("standard", "ranef", "coef"),
                             alpha = 0.05, robust = FALSE, seed = NULL, ...) {
  refuse_dots(list(...), hypothesis.galvi, "hypothesis()")
  if (!is.character(hypothesis) || !length(hypothesis) || anyNA(hypothesis)) {
    stop_galvi("argument", sprintf("`hypothesis` must be text such as \"x > 0\", not %s.", describe(hypothesis)))
  }
  class <- check_word(or_else(class, ""), "class")
  group <- check_word(or_else(group, ""), "group")
  scope <- first_choice(scope, c("standard", "ranef", "coef"), "scope")
  alpha <- check_level(alpha, "alpha")
  robust <- check_flag(robust, "robust")
  check_seed(seed)
  asked <- if (scope == "standard") {
    about_parameters(x, hypothesis, class, group, seed)
  } else {
    about_levels(x, hypothesis, group, scope)
  }
  table <- do.call(rbind, unname(lapply(asked, hypothesis_row, alpha, robust)))
  row.names(table) <- NULL
  structure(list(
    hypothesis = table, class = paste0(class, if (nzchar(group)) paste0("_", group)), alpha = alpha,
    posteriors = unname(lapply(asked, `[[`, "posterior"))
  ), class = "galvi_hypothesis")
}

check_word <- function(x, arg) {
  if (is.character(x) && length(x) == 1L && !is.na(x)) return(x)
  stop_galvi("argument", sprintf("`%s` must be one word, not %s.", arg, describe(x)))
}

# ---- posteriors of functions of parameters ----

# A posterior is list(mean, sd, weight), a mixture of normals, or list(values, weight).

#' @return For each hypothesis list(label, group, sign, posterior, prior: density of the prior at zero).
#' @noRd
about_parameters <- function(fit, texts, class, group, seed) {
  parameters <- known_parameters_of(fit)
  known <- names_in_class(parameters, class, group)
  read <- lapply(texts, read_hypothesis, known)
  drawn <- NULL
  Map(function(one, name) {
    own <- parameters[one$at]
    fixed <- all(vapply(own, `[[`, "", "kind") == "fixed")
    linear <- if (fixed) as_linear(one$expr, length(own))
    contrast <- if (!is.null(linear)) contrast_of(fit, own, linear)
    posterior <- if (has_points(fit)) {
      function_of_values(one$expr, values_at_points(fit, own), fit$points$weight)
    } else if (!is.null(linear)) {
      contrast_posterior(fit, contrast)
    } else {
      if (is.null(drawn)) drawn <<- with_seed(seed, drawn_parameters(fit, hypothesis_draws))
      values <- lapply(own, value_of, drawn$coefficients, drawn$hyper)
      function_of_values(one$expr, values, rep(1 / hypothesis_draws, hypothesis_draws))
    }
    list(
      label = if (nzchar(name)) name else one$label, sign = one$sign, posterior = posterior,
      prior = if (is.null(linear) || one$sign != "=") NA_real_ else prior_density(fit, contrast)
    )
  }, read, or_else(names(texts), rep("", length(texts))))
}

hypothesis_draws <- 10000L

# One parameter's values from those of all coefficients and hyperparameters, a column each.
value_of <- function(parameter, coefficients, hyper) {
  if (parameter$kind == "fixed") return(coefficients[, parameter$at])
  x <- hyper[, parameter$at]
  if (parameter$root) sqrt(pmax(x, 0)) else x
}

values_at_points <- function(fit, parameters) {
  coefficients <- fixed_at_points(fit)
  hyper <- hyper_at_points(fit)
  lapply(parameters, value_of, coefficients, hyper)
}

function_of_values <- function(expr, values, weight) {
  names(values) <- paste0(".p", seq_along(values))
  x <- suppressWarnings(eval(expr, values, hypothesis_functions()))
  if (anyNA(x)) {
    stop_galvi("argument", sprintf(
      "`hypothesis`: \"%s\" is not a number at %.2g of the posterior, as the logarithm of a negative number is not.",
      deparse_one(expr), sum(weight[is.na(x)])
    ))
  }
  list(values = x, weight = weight)
}

contrast_of <- function(fit, parameters, linear) {
  slopes <- numeric(nrow(vcov.galvi(fit)))
  slopes[vapply(parameters, `[[`, 0L, "at")] <- linear$slopes
  list(slopes = slopes, constant = linear$constant)
}

contrast_posterior <- function(fit, contrast) {
  L <- contrast$slopes
  list(
    mean = unlist(by_state(fit, function(view) sum(L * coefficient_means(view)) + contrast$constant)),
    sd = sqrt(pmax(0, unlist(by_state(fit, function(view) sum(L * (vcov.galvi(view) %*% L)))))),
    weight = state_weights(fit)
  )
}

#' The prior density of a linear function at zero; NA where it is flat or has a learned width
#' @noRd
prior_density <- function(fit, contrast) {
  one <- which(contrast$slopes != 0)
  own <- if (length(one) == 1L && length(contrast$slopes) == length(coefficient_names(fit))) {
    fit$prior[[coefficient_names(fit)[one]]]
  }
  # a learned width, and a density that is infinite at 0
  if (is_horseshoe(own)) return(NA_real_)
  if (is_heavy(own)) {
    slope <- contrast$slopes[one]
    return(exp(log_prior_density(own, -contrast$constant / slope)) / abs(slope))
  }
  parts <- lapply(predictors(fit), coded_prior)
  predictor <- rep(seq_along(parts), vapply(parts, function(part) nrow(part$A), 0L))
  own <- unlist(lapply(seq_along(parts), function(k) crossprod(parts[[k]]$A, contrast$slopes[predictor == k])))
  each <- function(what) unlist(lapply(parts, `[[`, what))
  at <- which(abs(own) > 1e-12 * max(abs(own)))
  mean <- contrast$constant + sum((own * each("mean"))[at])
  variance <- sum((own * each("sd"))[at]^2)
  if (is.finite(variance) && variance > 0) stats::dnorm(0, mean, sqrt(variance)) else NA_real_
}

#' The prior of the coefficients as the core has it: they are A u with independent u
#' @return list(A: for all latent values; mean, sd: of u; sd is NA where it is learned).
#' @noRd
coded_prior <- function(view) {
  spec <- fixed_spec(view$design$specs)
  if (is.null(spec) || !length(spec$columns)) return(list(A = matrix(0, 0L, 0L), mean = numeric(), sd = numeric()))
  term <- Find(function(term) term$label == fixed_label, prior_terms(view$model))
  typed <- term$factors[, 1L]
  sd <- rep(1, length(typed))
  sd[typed > 0L] <- view$posterior$hyper[typed[typed > 0L]]
  sd[typed > 0L][view$model$hyper$learned[typed[typed > 0L]]] <- NA_real_
  A <- or_else(spec$coding, as_they_are(length(typed)))$A
  K <- n_latents(view)
  list(A = kronecker(diag(K), A), mean = rep(term$mean, K), sd = rep(sd, K))
}

# ---- levels of groups ----

#' The same about the effects of each level of a group, linear functions of which are rows of the model
#' @noRd
about_levels <- function(fit, texts, group, scope) {
  found <- level_effects(fit, group)
  known <- stats::setNames(rep(seq_along(found$names), lengths(found$names)), unlist(found$names))
  known <- known[!duplicated(names(known))]
  unlist(Map(function(text, name) {
    one <- read_hypothesis(text, known)
    linear <- as_linear(one$expr, length(one$at))
    if (is.null(linear)) {
      stop_galvi("argument", sprintf("`hypothesis`: \"%s\" must be linear for `scope = \"%s\"`.", text, scope))
    }
    slopes <- numeric(length(found$names))
    slopes[one$at] <- linear$slopes
    target <- level_rows(found, slopes, scope)
    marginals <- latent_marginals(found$view, target)
    marginals$states <- or_else(marginals$states, list(c(marginals[c("mean", "variance")], list(weight = 1))))
    eta <- if (!is.null(marginals$points)) eta_at_points(marginals$points, 1L)
    lapply(seq_along(found$levels), function(j) {
      posterior <- if (!is.null(eta)) {
        list(values = eta[j, ] + linear$constant, weight = marginals$points$weight)
      } else {
        each <- function(what) vapply(marginals$states, function(state) state[[what]][j, 1L], 0)
        list(mean = each("mean") + linear$constant, sd = sqrt(pmax(0, each("variance"))),
          weight = vapply(marginals$states, function(state) state$weight[1L], 0))
      }
      list(label = if (nzchar(name)) name else one$label, group = found$levels[j], sign = one$sign,
        posterior = posterior, prior = NA_real_)
    })
  }, texts, or_else(names(texts), rep("", length(texts)))), recursive = FALSE)
}

#' The effects of a group's levels in the predictor that has them, and the fixed effects of these names
#'
#' @return list(view, levels, specs: the terms; names: of each effect, its aliases; of: for each effect list(spec,
#'   effect) for each term that has it; fixed: the column of its fixed effect, or NA).
#' @noRd
level_effects <- function(fit, group) {
  views <- predictors(fit)
  own <- terms_of_group(fit, group)
  has <- which(lengths(own) > 0L)
  view <- views[[has[1L]]]
  check_one_latent(view, "`scope`")
  specs <- own[[has[1L]]]
  columns <- function(spec) if (spec$type %in% bars) spec$columns else iid_effects(spec)
  effects <- unique(unlist(lapply(specs, columns)))
  list(
    view = view, levels = specs[[1L]]$levels, specs = specs,
    names = lapply(effects, function(effect) coefficient_aliases(effect)),
    at = lapply(specs, function(spec) match(effects, columns(spec))),
    fixed = match(effects, fixed_spec(view$design$specs)$columns)
  )
}

#' A target with a row for each level: the sum of its effects with these slopes, and of fixed effects for "coef"
#' @noRd
level_rows <- function(found, slopes, scope) {
  view <- found$view
  specs <- view$design$specs
  n <- length(found$levels)
  rows <- lapply(subset_rows(term_rows(view$model), rep(1L, n)), blank)
  fixed <- fixed_spec(specs)
  if (scope == "coef" && !is.null(fixed)) {
    L <- numeric(length(fixed$columns))
    known <- !is.na(found$fixed)
    L[found$fixed[known]] <- slopes[known]
    coding <- or_else(fixed$coding, as_they_are(length(L)))
    rows[[match(fixed_label, view$design$labels)]]$W <- matrix(drop(L %*% coding$A), n, length(L), byrow = TRUE)
  }
  for (i in seq_along(found$specs)) {
    spec <- found$specs[[i]]
    own <- found$at[[i]]
    t <- match(spec$label, view$design$labels)
    used <- slopes[!is.na(own)]
    at <- own[!is.na(own)]
    if (spec$type %in% bars) {
      L <- numeric(length(spec$columns))
      L[at] <- used
      rows[[t]] <- list(node = group_nodes(spec, seq_len(n)),
        weight = on_axes(matrix(L, n, length(L), byrow = TRUE), spec))
    } else {
      rows[[t]] <- list(
        node = do.call(cbind, lapply(at, function(copy) node_matrix(spec, list(at = seq_len(n)), rep(copy, n)))),
        weight = matrix(used, n, length(used), byrow = TRUE)
      )
    }
    storage.mode(rows[[t]]$node) <- "integer"
  }
  list(rows = list(rows), n = n, names = found$levels, offset = matrix(0, n, 1L))
}

# ---- what is said of them ----

hypothesis_row <- function(one, alpha, robust) {
  q <- one$posterior
  two <- one$sign == "="
  limits <- posterior_quantiles(q, if (two) c(alpha / 2, 1 - alpha / 2) else c(alpha, 1 - alpha))
  centre <- if (robust) posterior_middle(q) else posterior_moments(q)
  if (two) {
    ratio <- if (is.na(one$prior)) NA_real_ else posterior_density(q) / one$prior
    probability <- if (is.na(ratio)) NA_real_ else if (is.infinite(ratio)) 1 else ratio / (1 + ratio)
    star <- limits[1L] > 0 || limits[2L] < 0
  } else {
    sides <- c(posterior_below(q), posterior_below(negated(q)))
    if (one$sign == ">") sides <- rev(sides)
    probability <- sides[1L] / sum(sides)
    ratio <- sides[1L] / sides[2L]
    star <- probability > 1 - alpha
  }
  row <- data.frame(
    Hypothesis = one$label, Estimate = centre[1L], Est.Error = centre[2L], CI.Lower = limits[1L],
    CI.Upper = limits[2L], Evid.Ratio = ratio, Post.Prob = probability, Star = if (star) "*" else "",
    row.names = NULL
  )
  if (is.null(one$group)) row else cbind(Group = one$group, row)
}

posterior_moments <- function(q) {
  if (is.null(q$values)) {
    mean <- sum(q$weight * q$mean)
    return(c(mean, sqrt(sum(q$weight * (q$sd^2 + (q$mean - mean)^2)))))
  }
  mean <- sum(q$weight * q$values)
  c(mean, sqrt(sum(q$weight * (q$values - mean)^2)))
}

# The median and the median absolute deviation.
posterior_middle <- function(q) {
  median <- posterior_quantiles(q, 0.5)
  deviation <- if (is.null(q$values)) {
    mad_of_quantiles(matrix(posterior_quantiles(q, stats::pnorm(summary_nodes)), 1L))
  } else {
    posterior_quantiles(list(values = abs(q$values - median), weight = q$weight), 0.5)
  }
  c(median, mad_constant * deviation)
}

posterior_quantiles <- function(q, probs) {
  if (!is.null(q$values)) return(drop(weighted_quantiles(matrix(q$values, 1L), q$weight, probs)))
  one <- function(x) matrix(x, 1L)
  vapply(probs, function(p) normal_mixture_quantile(one(q$mean), one(q$sd), q$weight, p), 0)
}

moved_posterior <- function(q, by) {
  q[intersect(c("mean", "values"), names(q))] <- lapply(q[intersect(c("mean", "values"), names(q))], `+`, by)
  q
}

negated <- function(q) {
  q[intersect(c("mean", "values"), names(q))] <- lapply(q[intersect(c("mean", "values"), names(q))], `-`)
  q
}

# The probability of numbers below zero.
posterior_below <- function(q) {
  if (!is.null(q$values)) return(sum(q$weight[q$values < 0]))
  sum(q$weight * stats::pnorm(0, q$mean, q$sd))
}

# The density at zero.
posterior_density <- function(q) {
  if (is.null(q$values)) return(sum(q$weight * stats::dnorm(0, q$mean, q$sd)))
  local_density(q$values, q$weight)
}

#' @rdname hypothesis
#' @export
print.galvi_hypothesis <- function(x, digits = 2, ...) {
  refuse_print_dots(list(...), print.galvi_hypothesis)
  table <- x$hypothesis
  numbers <- vapply(table, is.numeric, NA)
  table[numbers] <- lapply(table[numbers], round, digits)
  cat(sprintf("Hypothesis tests%s\n", if (nzchar(x$class)) paste(" for class", x$class) else ""))
  print(table, quote = FALSE)
  percent <- function(p) paste0(format(100 * p), "%")
  cat(sprintf("CI: %s for one-sided and %s for two-sided hypotheses.\n", percent(1 - 2 * x$alpha),
    percent(1 - x$alpha)))
  cat(sprintf("*: the probability of a one-sided hypothesis exceeds %s; 0 is outside the CI of a two-sided one.\n",
    percent(1 - x$alpha)))
  if (any(grepl("= 0$", table$Hypothesis)) || anyNA(table$Evid.Ratio)) {
    cat("Post.Prob of a two-sided hypothesis takes it to be as probable as its opposite beforehand.\n")
  }
  invisible(x)
}

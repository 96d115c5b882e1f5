#' Fixed and random effects
#'
#' Posterior means, covariances and credible intervals of the fixed effects, and the posterior of the random effects.
#'
#' @details
#' `coef()` and `fixef()` return the posterior means of the fixed effects, `vcov()` their posterior covariance, and
#' `confint()` credible intervals with equal tails, all on the scale of the linear predictor. They belong to one joint
#' posterior of the coefficients of all linear predictors, the family's parameters and the standard deviations of groups,
#' which predictions and draws have too; `summary()` says in a line how it was found, and `vignette("uncertainty")` how
#' that is done. In a linear model the intervals are those of [lm()], and the standard deviations its standard errors times
#' sqrt(df / (df - 2)), the standard deviation of the t distribution. `galvi_control(uncertainty = "factorised")` takes
#' hyperparameters as known and linear predictors as independent instead, as do models with factors, and without groups those
#' with [cox()], with [gp()] or [spde()] of more than 200 rows, and with processes, fields or the smooths of classes in several
#' predictors that depend on each other; and always rows from a source or a cluster. So do, where neither weighted points
#' nor linear response serve, models of more than 20,000 rows (100,000 with more than 300 coefficients, 500 with a full
#' [gp()] and groups) or more than 8 hyperparameters (12 up to 1,000 rows). With processes, fields, tensor products or more
#' than 300 coefficients hyperparameters are averaged over only where this changes standard deviations by more than a few
#' per cent. `summary()` tells.
#'
#' `ranef()` returns the posterior mean and sd of the effects of [iid()], [random-slopes], [gmrf()], [rw1()], [rw2()],
#' [ar1()] and other terms that consist of coefficients. Their sd includes the uncertainty of the fixed effects.
#'
#' @section Two linear predictors:
#' The coefficients of other linear predictors have their names as prefix, as in `sigma_(Intercept)`.
#'
#' @section Several classes:
#' The bound for [categorical()] responses uses a posterior in which classes are independent, whose standard deviations
#' are too small. For models of fixed effects and kernels with finitely many coefficients (such as [linear()]), the
#' coefficients, covariances, class probabilities and simulations therefore come from a Gaussian posterior with
#' dependent classes. Its covariance matrix is the change of the means if the log posterior is tilted (linear response,
#' Giordano, Broderick and Jordan 2018), which allows for the skewness of the exact posterior. With groups, such as
#' `(1 | g)`, and up to 1,000 coefficients in all, they come from the joint posterior of coefficients and hyperparameters,
#' as with several predictors. With other terms they come from the independent one, and `print()` says so. For
#' [stick_breaking()] the linear predictors are independent in the exact posterior too.
#'
#' @param object A fit of [galvi()].
#' @param condVar For `ranef()`: if TRUE, the effects of [iid()] and [random-slopes] are returned by grouping factor,
#'   with posterior covariances, as in lme4. FALSE by default.
#' @param group For `coef()`: the name of a grouping factor, as in `coef(fit, group = "g")`, for the coefficients of each
#'   of its levels: the fixed effects, to which the effects of the level are added. It is what `coef(fit)$g` has in lme4.
#'   NULL, the default, for the fixed effects.
#' @param complete Accepted for compatibility with [stats::coef()] and [stats::vcov()]; no coefficient is ever missing.
#' @param full For `vcov()`: if TRUE, learned hyperparameters are included, on the scale of their search (such as the
#'   logarithm of a variance), after the coefficients; NA where their uncertainty is not known.
#' @param parm Names or positions of coefficients, all by default; names of learned thresholds too, such as `low|medium`.
#'   `"beta_"`, lme4's word, means all fixed effects.
#' @param level Probability of the credible interval, between 0 and 1.
#' @param ... Must be empty.
#' @return
#' * `coef()`, `fixef()`: a named vector with an element per column of the fixed effects, of length 0 if there are none;
#'   for several classes a matrix, classes x columns.
#' * `coef(group = )`: a data frame of posterior means, levels x coefficients. As in lme4, an effect that varies by group
#'   but is not among the fixed effects is there with the mean zero. For several classes the columns are `class:column`.
#' * `vcov()`: a square matrix; for several classes its names are `class:column`.
#' * `confint()`: a matrix with a row per coefficient, or element of `parm`, and two columns of limits.
#' * `ranef()`: a list with a data frame per term, named by the grouping factor for [iid()] and [random-slopes] and by
#'   the term otherwise. If several terms have the same grouping factor, or the term belongs to another linear
#'   predictor, its name is the term too. Columns are `mean` and `sd` (for several effects or classes, a pair of columns
#'   for each), rows the levels, regions, times or coefficients, those without observations included; with a factor `by`
#'   rows are named `level:by`. For [gp()] terms use [predict.galvi()] with `type = "terms"`.
#' * `ranef(condVar = TRUE)`: a list named by grouping factors, with data frames of posterior means, levels x effects.
#'   Their attribute `postVar` is an array of posterior covariance matrices, effects x effects x levels.
#' * `as.data.frame()` of what `ranef()` returns: a row per level and effect, with the columns `grpvar`, `term`, `grp`,
#'   `condval` (posterior mean) and `condsd` (posterior sd), as in lme4.
#' @section Errors:
#' `galvi_error_argument` if `parm` is not a coefficient or another argument is not as described; of `ranef()`, if the
#' terms of groups are [rr()] and `ou(t | g)` alone, whose effects it does not have.
#' @references
#' Giordano, R., Broderick, T. and Jordan, M. I. (2018). Covariances, robustness, and variational Bayes. *Journal of
#' Machine Learning Research* 19(51), 1-49.
#' @seealso [VarCorr.galvi()] for standard deviations and correlations of random effects, [draws] for posterior draws.
#' @family predictions and draws
#' @examples
#' fit <- galvi(am ~ wt + qsec, data = mtcars, family = binomial())
#' coef(fit)
#' confint(fit)
#' sqrt(diag(vcov(fit)))
#'
#' # random intercepts, with partial pooling
#' fit <- galvi(count ~ (1 | spray), data = InsectSprays, family = poisson())
#' ranef(fit)$spray
#' coef(fit, group = "spray")
#' @export
coef.galvi <- function(object, complete = TRUE, group = NULL, ...) {
  refuse_dots(list(...), coef.galvi, "coef()")
  check_flag(complete, "complete")
  if (!is.null(group)) return(group_coefficients(object, group))
  if (n_predictors(object) > 1L) return(unlist(by_predictor(object, coef.galvi)))
  mean <- fixed_coefficients(object)$mean
  if (ncol(mean) == 1L) mean[, 1L] else t(mean)
}

#' @rdname coef.galvi
#' @importFrom nlme fixef
#' @export fixef
#' @export
fixef.galvi <- function(object, ...) {
  refuse_dots(list(...), fixef.galvi, "fixef()")
  coef.galvi(object)
}

#' @rdname coef.galvi
#' @importFrom nlme ranef
#' @export ranef
#' @export
ranef.galvi <- function(object, condVar = FALSE, ...) {
  refuse_dots(list(...), ranef.galvi, "ranef()")
  condVar <- check_flag(condVar, "condVar")
  effects <- random_effects(object)
  if (!length(effects) && any(vary_by_group(all_specs(object$design)))) stop_no_random(object, "ranef()")
  if (condVar) return(group_effects(object))
  names(effects) <- effect_names(names(effects), object$design$specs)
  new_ranef(lapply(effects, effects_frame))
}

#' @param frames Data frames, one for each grouping, with the same effects as rows in the attribute `effects`.
#' @noRd
new_ranef <- function(frames) {
  long <- lapply(frames, attr, "effects")
  structure(lapply(frames, `attr<-`, "effects", NULL), effects = long, class = c("galvi_ranef", "list"))
}

#' Says where effects of groups are that have no covariance matrix, if there are any
#' @noRd
stop_no_random <- function(fit, what) {
  specs <- all_specs(fit$design)
  specs <- specs[vary_by_group(specs)]
  labels <- vapply(specs, `[[`, "", "label")
  units <- which_can(specs, "units")
  stop_galvi("argument", paste0(
    sprintf("The fit has no random effects: %s is about terms such as (1 + x | g).", what),
    if (any(units)) sprintf(" Of %s use loadings(fit) and scores(fit).", quote_names(labels[units])),
    if (!all(units)) sprintf(" Of %s, fit$hyper has the variance and predict(fit, type = \"terms\") the effects.",
      quote_names(labels[!units]))
  ))
}

# Names of the elements of ranef(): the grouping factor if only one term has it, else the term's label.
# specs: the terms of the response's predictor.
effect_names <- function(labels, specs) {
  specs <- specs[which_can(specs, "grouped")]
  groups <- vapply(specs, effect_group, "")
  alone <- !groups %in% groups[duplicated(groups)]
  at <- match(labels, vapply(specs[alone], `[[`, "", "label"))
  ifelse(is.na(at), labels, groups[alone][at])
}

#' Random effects as lme4 has them: a data frame for each grouping, a row per level and a column per effect, with
#' the posterior covariances of every level
#' @noRd
group_effects <- function(fit) {
  if (is_imputed(fit)) stop_galvi("argument", paste(
    "ranef(condVar = TRUE) is for a fit of one data set: lapply(fit$fits, ranef, condVar = TRUE) has those of each."
  ))
  out <- unlist(lapply(predictors(fit), function(view) {
    check_one_latent(view, "ranef(condVar = TRUE)")
    specs <- Filter(function(spec) term_can(spec, "grouped"), view$design$specs)
    lapply(stats::setNames(specs, vapply(specs, effect_group, "")), group_frame, fit = view,
      prefix = effect_prefix(view$parameter))
  }), recursive = FALSE)
  names(out) <- make.unique(as.character(names(out)))
  new_ranef(out)
}

#' @export
print.galvi_ranef <- function(x, digits = NULL, ...) {
  refuse_print_dots(list(...), print.galvi_ranef)
  print(unclass(`attr<-`(x, "effects", NULL)), digits = digits)
  invisible(x)
}

# As lme4 has it: a row per level and effect, levels in the order of their first effects.
#' @export
as.data.frame.galvi_ranef <- function(x, row.names = NULL, optional = FALSE, ...) {
  refuse_dots(list(...), as.data.frame.galvi_ranef, "as.data.frame()")
  none <- data.frame(
    grpvar = character(), term = factor(), grp = factor(), condval = numeric(), condsd = numeric()
  )
  parts <- lapply(names(x), function(group) {
    effects <- attr(x, "effects")[[group]]
    terms <- unique(effects$term)
    effects <- effects[order(match(effects$term, terms)), ]
    first <- effects[effects$term == terms[1L], ]
    levels <- unique(c(first$grp[order(first$condval)], effects$grp))
    effects$term <- factor(effects$term, terms)
    effects$grp <- factor(effects$grp, levels)
    cbind(grpvar = rep(group, nrow(effects)), effects)
  })
  data <- do.call(rbind, c(list(none), parts))
  row.names(data) <- row.names
  data
}

# Numbers of levels, as lme4 has them: of each grouping once, whatever terms and predictors have it.
#' @exportS3Method lme4::ngrps
ngrps.galvi <- function(object, ...) {
  specs <- all_specs(object$design)
  specs <- specs[which_can(specs, "grouped")]
  names(specs) <- vapply(specs, effect_group, "")
  lengths(lapply(specs[!duplicated(names(specs))], `[[`, "levels"))
}

group_frame <- function(spec, fit, prefix) {
  S <- group_covariances(spec, reported_hyper(fit$model, fit$posterior$hyper))[[1L]]
  q <- ncol(S)
  J <- length(spec$levels)
  node <- effect_nodes(spec, q)
  effects <- term_posterior(spec, fit)
  columns <- paste0(prefix, colnames(S))
  covariance <- effect_covariances(fit, spec, node, attr(S, "stddev"))
  dimnames(covariance) <- list(columns, columns, spec$levels)
  mean <- effects$mean[node, 1L]
  data <- data.frame(matrix(mean, J, q), row.names = spec$levels)
  names(data) <- columns
  structure(data, postVar = covariance, effects = data.frame(
    term = rep(columns, each = J), grp = rep(spec$levels, q), condval = mean,
    condsd = sqrt(as.vector(t(matrix(apply(covariance, 3L, diag), q))))
  ))
}

# Of slopes group after group, of copies level after level of `by`.   levels x effects
effect_nodes <- function(spec, q) {
  J <- length(spec$levels)
  matrix(seq_len(J * q), J, q, byrow = spec$type %in% bars)
}

#' Coefficients of each level of a group: fixed effects, to which the level's effects are added, as lme4 has them; of
#' classes those of each class after the other's
#' @noRd
group_coefficients <- function(fit, group) {
  if (is_imputed(fit)) return(mean_of_parts(fit, group_coefficients, group))
  specs <- terms_of_group(fit, group)
  for (spec in unlist(specs, recursive = FALSE)) if (!is.null(spec$by)) stop_galvi("argument", sprintf(
    "coef(group = ) adds effects to fixed effects: those of %s belong to levels of `%s` too; ranef() has them.",
    spec$label, deparse_one(spec$by)
  ))
  levels <- unique(unlist(lapply(unlist(specs, recursive = FALSE), `[[`, "levels")))
  parts <- lapply(which(lengths(specs) > 0L), function(k) {
    view <- predictors(fit)[[k]]
    fixed <- fixed_coefficients(view)$mean
    effects <- lapply(specs[[k]], function(spec) {
      S <- group_covariances(spec, reported_hyper(view$model, view$posterior$hyper))[[1L]]
      list(mean = term_posterior(spec, view)$mean, node = effect_nodes(spec, ncol(S)), names = colnames(S),
        at = match(spec$levels, levels))
    })
    # an effect that is no fixed one has mean zero
    names <- union(rownames(fixed), unlist(lapply(effects, `[[`, "names")))
    of_latents <- lapply(seq_len(ncol(fixed)), function(j) {
      of_names <- fixed[match(names, rownames(fixed)), j]
      sums <- matrix(of_names, length(levels), length(names), TRUE, list(levels, names))
      sums[, !names %in% rownames(fixed)] <- 0
      for (own in effects) sums[own$at, own$names] <- sums[own$at, own$names] + own$mean[own$node, j]
      `colnames<-`(sums, paste0(
        effect_prefix(view$parameter), if (ncol(fixed) > 1L) paste0(latent_names(view)[j], ":"), names
      ))
    })
    do.call(cbind, of_latents)
  })
  data.frame(do.call(cbind, parts), check.names = FALSE)
}

#' The terms of a grouping factor, by linear predictor; an error if there are none
#' @noRd
terms_of_group <- function(fit, group) {
  own <- lapply(predictors(fit), function(view) Filter(function(spec) {
    term_can(spec, "grouped") && identical(plain_text(effect_group(spec)), plain_text(group))
  }, view$design$specs))
  if (any(lengths(own))) return(own)
  specs <- Filter(function(spec) term_can(spec, "grouped"), all_specs(fit$design))
  groups <- unique(vapply(specs, effect_group, ""))
  stop_galvi("argument", sprintf("`group` must be a grouping factor, not %s; %s.", describe(group),
    if (length(groups)) paste("this fit has", quote_names(groups, "\"")) else "this fit has none"))
}

#' Effects by term, named by its label: list(spec, mean, sd: effects x K, names)
#' @noRd
random_effects <- function(fit) {
  if (is_imputed(fit)) return(mixed_effects(lapply(fit$fits, random_effects)))
  if (n_predictors(fit) > 1L) return(unlist(lapply(predictors(fit), random_effects), recursive = FALSE))
  specs <- fit$design$specs
  effects <- lapply(specs, function(spec) {
    if (is_field(spec)) return(c(term_posterior(spec, fit), list(spec = spec)))
    # coefficients of inducing points are not effects
    block <- if (!is.null(spec$finite)) coefficient_block(fit, spec$label)
    if (is.null(block)) return(NULL)
    block <- named_coefficients(fit, block)
    sd <- sqrt(vapply(block$covariance, diag, numeric(nrow(block$mean))))
    list(mean = block$mean, sd = matrix(sd, nrow(block$mean)), names = rownames(block$mean), spec = spec)
  })
  names(effects) <- vapply(specs, `[[`, "", "label")
  not_null(effects)
}

# A row per effect, or per level where these have several; a pair of columns per latent, or effect, or both.
effects_frame <- function(effects) {
  several <- !is.null(effects$effect)
  columns <- colnames(effects$mean)
  mean <- effects$mean
  sd <- effects$sd
  if (several) {
    names <- unique(effects$effect)
    columns <- if (is.null(columns)) names else paste(rep(columns, each = length(names)), names, sep = ":")
    wide <- function(x) do.call(cbind, lapply(seq_len(ncol(x)), function(k) {
      matrix(x[, k], ncol = length(names), byrow = TRUE)
    }))
    mean <- wide(mean)
    sd <- wide(sd)
  }
  data <- if (is.null(columns)) {
    data.frame(mean = mean[, 1L], sd = sd[, 1L])
  } else {
    values <- cbind(mean, sd)
    colnames(values) <- paste0(rep(c("mean.", "sd."), each = length(columns)), columns)
    data.frame(values, check.names = FALSE)
  }
  row.names(data) <- make.unique(if (several) unique(effects$level) else effects$names)
  words <- level_words(effects)
  classes <- colnames(effects$mean)
  term <- rep(words$term, max(1L, length(classes)))
  if (!is.null(classes)) term <- paste(rep(classes, each = length(words$term)), term, sep = ":")
  structure(data, effects = data.frame(
    term = term, grp = rep_len(words$level, length(term)), condval = as.vector(effects$mean),
    condsd = as.vector(effects$sd)
  ))
}

#' What each of random_effects() is: list(term: its name, level: of what, NA of a coefficient of columns)
#' @noRd
level_words <- function(effects) {
  spec <- effects$spec
  n <- length(effects$names)
  if (!is.null(effects$effect)) return(list(term = effects$effect, level = effects$level))
  if (!is_field(spec)) return(list(term = effects$names, level = rep(NA_character_, n)))
  # of levels of a factor: intercepts, or slopes of a number `by`
  slope <- !is.null(spec$by) && is.null(spec$by_levels)
  list(term = rep(if (slope) variable_name(spec$by) else "(Intercept)", n), level = effects$names)
}

#' Posterior means in the order of vcov()
#' @noRd
coefficient_means <- function(fit) {
  if (n_predictors(fit) > 1L) return(unname(coef.galvi(fit)))
  as.vector(fixed_coefficients(fit)$mean)
}

#' @rdname coef.galvi
#' @export
confint.galvi <- function(object, parm, level = 0.95, ...) {
  refuse_dots(list(...), confint.galvi, "confint()")
  level <- check_level(level)
  own <- rownames(vcov.galvi(object))
  thresholds <- threshold_limits(object, level)
  known <- c(own, rownames(thresholds))
  # lme4's words for all fixed effects, and for the parameters of the random ones
  if (missing(parm) || identical(parm, "beta_")) parm <- own
  if (identical(parm, "theta_")) {
    stop_galvi("argument", paste(
      "confint() is for fixed effects: as.data.frame(VarCorr(fit, level = 0.95)) has the limits of the random effects'",
      "standard deviations and correlations, which lme4 has for `parm = \"theta_\"`."
    ))
  }
  chosen <- parm
  if (is.numeric(parm)) parm <- own[parm]
  at <- match(without_backticks(parm), without_backticks(known))
  unknown <- as.character(chosen)[is.na(at)]
  if (length(unknown)) {
    stop_galvi("argument", paste0(
      "`parm` must name fixed effects", if (length(thresholds)) " or thresholds", ", not ",
      quote_names(unknown, "\""), "; this fit has ", if (length(known)) quote_names(known, "\"", 30L) else "none", "."
    ))
  }
  limits <- rbind(coefficient_limits(object, level), thresholds)[at, , drop = FALSE]
  dimnames(limits) <- list(known[at], limit_names(level))
  limits
}

#' Limits of the learned thresholds of an ordinal response, named like `low|medium`; NULL for other fits
#' @noRd
threshold_limits <- function(fit, level) {
  at <- learned_thresholds(fit)
  if (length(at)) `rownames<-`(hyper_limits(fit, tails(level))[at, , drop = FALSE], names(thresholds(fit)))
}

# 2.5 %
limit_names <- function(level) paste(format(100 * tails(level), trim = TRUE, digits = 3), "%")

#' Quantiles of the coefficients' mixture of normals, in the order of vcov(): q x 2
#' @noRd
coefficient_limits <- function(fit, level) {
  if (has_points(fit)) {
    beta <- fixed_at_points(fit)
    return(weighted_quantiles(t(beta), fit$points$weight, tails(level)))
  }
  each <- function(f) matrix(unlist(by_state(fit, f)), ncol = length(fit_states(fit)))
  mean <- each(coefficient_means)
  sd <- each(function(view) root_or_na(diag(vcov.galvi(view))))
  limits <- lapply(tails(level), function(p) normal_mixture_quantile(mean, sd, state_weights(fit), p))
  matrix(unlist(limits), ncol = 2L)
}

# Of a coefficient of each column and, where there are several, latent value: columns x latents.
names_over_latents <- function(mean) {
  if (ncol(mean) == 1L) return(rownames(mean))
  paste(rep(colnames(mean), each = nrow(mean)), rep(rownames(mean), ncol(mean)), sep = ":")
}

#' @rdname coef.galvi
#' @export
vcov.galvi <- function(object, complete = TRUE, full = FALSE, ...) {
  refuse_dots(list(...), vcov.galvi, "vcov()")
  check_flag(complete, "complete")
  if (check_flag(full, "full")) return(full_covariance(object))
  if (has_points(object)) {
    V <- weighted_moments(fixed_at_points(object), object$points$weight)$covariance
    names <- if (n_predictors(object) > 1L) names(coef.galvi(object)) else {
      names_over_latents(fixed_coefficients(object)$mean)
    }
    return(structure(V, dimnames = list(names, names)))
  }
  if (!is.null(object$states)) {
    # what is linear in a state is taken once
    if (n_predictors(object) == 1L && n_latents(object) == 1L) return(vcov.galvi(at_mixture_of_fixed(object)))
    return(mixture_covariance(by_state(object, coefficient_means), by_state(object, vcov.galvi), state_weights(object)))
  }
  if (n_predictors(object) > 1L) return(block_diagonal(by_predictor(object, vcov.galvi)))
  coefficients <- fixed_coefficients(object)
  if (ncol(coefficients$mean) == 1L) return(coefficients$covariance[[1L]])
  q <- nrow(coefficients$mean)
  k <- ncol(coefficients$mean)
  names <- names_over_latents(coefficients$mean)
  V <- matrix(0, q * k, q * k, dimnames = list(names, names))
  if (is_coupled(object)) {
    V[] <- decoded_jointly(object$posterior$coupled[fixed_positions(object), fixed_positions(object)], object)
    return(V)
  }
  # q(z) factorises over the latents: one block for each
  for (latent in seq_len(k)) {
    block <- (latent - 1L) * q + seq_len(q)
    V[block, block] <- coefficients$covariance[[latent]]
  }
  V
}

#' q(z) factorises over the predictors
#' @noRd
block_diagonal <- function(blocks) {
  names <- unlist(lapply(blocks, rownames))
  V <- matrix(0, length(names), length(names), dimnames = list(names, names))
  for (block in blocks) V[rownames(block), rownames(block)] <- block
  V
}

#' The covariance of coefficients and, after them, of the learned hyperparameters on the scale of their search
#' @noRd
full_covariance <- function(fit) {
  hyper <- fit$model$hyper
  learned <- which(hyper$learned & !in_array(hyper))
  names <- c(rownames(vcov.galvi(fit)), searched_names(hyper, learned))
  if (has_points(fit)) {
    known <- match(learned, fit$points$at)
    theta <- unconstrained_hyper(hyper, hyper_at_points(fit))[, fit$points$at[known], drop = FALSE]
    V <- weighted_moments(cbind(fixed_at_points(fit), theta), fit$points$weight)$covariance
    return(structure(V, dimnames = list(names, names)))
  }
  states <- fit_states(fit)
  V <- matrix(0, length(names), length(names), dimnames = list(names, names))
  q <- length(names) - length(learned)
  posterior <- fit$hyper_posterior
  if (length(states) > 1L) {
    theta <- unconstrained_hyper(hyper, reported_hyper(fit$model, hyper_of_states(fit)))[, learned, drop = FALSE]
    means <- Map(function(beta, s) c(beta, theta[s, ]), by_state(fit, coefficient_means), seq_along(states))
    V[] <- mixture_covariance(means, by_state(fit, function(view) {
      own <- V
      own[seq_len(q), seq_len(q)] <- vcov.galvi(view)
      own
    }), state_weights(fit))
    if (!shifts_thresholds(fit)) return(V)
    # at x = 0 they move with the coefficients
    centre <- fixed_spec(fit$design$specs)$coding$centre
    moved <- diag(nrow(V))
    moved[q + match(learned_thresholds(fit), learned), seq_along(centre)] <- rep(centre, each = length(thresholds(fit)))
    V[] <- moved %*% V %*% t(moved)
    return(V)
  }
  V[seq_len(q), seq_len(q)] <- vcov.galvi(fit)
  V[q + seq_along(learned), q + seq_along(learned)] <- NA_real_
  if (!is.null(posterior)) {
    free <- match(posterior$at[posterior$free], learned)
    V[q + free, q + free] <- tcrossprod(posterior$axes)
  }
  V[seq_len(q), q + seq_along(learned)] <- V[q + seq_along(learned), seq_len(q)] <- 0
  V
}

# The scale on which each hyperparameter by itself is any number.
search_scales <- function(transform) {
  ends <- transform_ends(transform)
  bounded <- ifelse(ends$low < 0, "atanh", "logit")
  ifelse(!is.finite(ends$low) | transform == "above", "identity", ifelse(is.finite(ends$high), bounded, "log"))
}

# Names on that scale: log(gaussian.variance), atanh((x | g).cor.x).
searched_names <- function(hyper, at) {
  scale <- search_scales(hyper$transform[at])
  ifelse(scale == "identity", hyper$name[at], sprintf("%s(%s)", scale, hyper$name[at]))
}

# S x H on that scale.
unconstrained_hyper <- function(hyper, values) {
  ends <- transform_ends(hyper$transform)
  scale <- search_scales(hyper$transform)
  for (h in seq_along(hyper$value)) {
    above <- values[, h] - ends$low[h]
    share <- above / (ends$high[h] - ends$low[h])
    values[, h] <- switch(scale[h],
      identity = values[, h], log = log(above), logit = stats::qlogis(share), atanh = stats::qlogis(share) / 2
    )
  }
  values
}

# A variance that has lost its digits, of which the fit warns, may be negative.
root_or_na <- function(v) sqrt(replace(v, !is.na(v) & v < 0, NA))

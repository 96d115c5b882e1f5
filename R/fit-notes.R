# What the data of a fit do not determine, or what its priors decide: said when the fit is made, beside the coefficients
# and by check_fit(). A note is list(what, coefficients, text); `said` tells whether the fit's messages have it too.

#' The notes of a fit; an empty list where there is nothing to say
#' @noRd
find_notes <- function(fit) {
  dependent <- unlist(lapply(predictors(fit), dependent_columns), recursive = FALSE)
  weight <- with_real_widths(prior_weight(without_points(fit)), fit)
  # one note for each coefficient
  told <- weight$coefficient %in% unlist(lapply(dependent, `[[`, "coefficients"))
  weight <- lapply(weight, `[`, !told)
  specs <- all_specs(fit$design)
  groups <- lapply(specs, group_notes, fit = fit)
  unknown <- vapply(groups, function(notes) any(vapply(notes, `[[`, "", "what") == "groups"), NA)
  unknown <- fit$hyper$name[fit$hyper$term %in% vapply(specs[unknown], `[[`, "", "label")]
  # and what effects of rows are not told from
  if (length(unknown)) {
    unknown <- c(unknown, fit$model$hyper$name[c(noise_at(fit), fit$model$likelihood$hyper$thresholds)])
  }
  c(
    dependent, prior_notes(fit, weight), class_notes(fit), knot_notes(fit), noise_notes(fit),
    interval_notes(fit, unknown), unlist(groups, recursive = FALSE)
  )
}

new_note <- function(what, text, coefficients = character(), said = TRUE) {
  list(list(what = what, coefficients = coefficients, text = text, said = said))
}

# `said` may be "warning", which warn_notes() says.
say_notes <- function(fit) {
  for (note in fit$notes) if (isTRUE(note$said)) inform_galvi(note$what, note$text)
}

warn_notes <- function(fit) {
  for (note in fit$notes) if (identical(note$said, "warning")) warn_galvi("prior", note$text, call = fit$call)
}

# ---- columns that depend on each other ----

#' @param view A fit with one predictor.
#' @noRd
dependent_columns <- function(view) {
  spec <- fixed_spec(view$design$specs)
  tied <- spec$coding$tied
  if (!any(tied)) return(NULL)
  W <- used_columns(view)
  prefix <- effect_prefix(view$parameter)
  if (ncol(W) > nrow(W)) {
    return(new_note("dependent", sprintf(paste(
      "There are %d columns of fixed effects and %d rows, which do not determine them: the default prior decides how",
      "an effect is divided among columns. A prior that shrinks, prior = normal(0, 1) or normal(0, learn(1)), is what",
      "such data need."
    ), ncol(W), nrow(W)), coefficient_rows(view, paste0(prefix, spec$columns))))
  }
  aliased <- spec$columns[dependence(W)$aliased]
  if (!length(aliased)) aliased <- spec$columns[tied]
  # columns of strata were not typed, and strata without events depend on others
  aliased <- intersect(aliased, spec$columns[shown_columns(spec)])
  if (!length(aliased)) return(NULL)
  new_note("dependent", sprintf(paste(
    "%s %s on other columns (lm() gives NA for %s): the data determine sums of effects only, and the default prior how",
    "they are divided. Leave %s out, or type priors."
  ), quote_names(aliased), if (length(aliased) > 1L) "depend" else "depends",
  if (length(aliased) > 1L) "them" else "it", if (length(aliased) > 1L) "them" else "it"),
  coefficient_rows(view, paste0(prefix, spec$columns[tied])))
}

#' The columns of fixed effects as users see them, in rows that count, but for what thresholds take up
#' @noRd
used_columns <- function(view) {
  spec <- fixed_spec(view$design$specs)
  W <- printed_columns(spec, view$data)[view$model$weights > 0, , drop = FALSE]
  if (!centres_thresholds(spec$coding)) return(W)
  X <- W - rep(spec$coding$centre, each = nrow(W))
  # a constant column leaves rounding
  X[abs(X) <= 1e-12 * abs(W)] <- 0
  X
}

#' Columns that depend on others, as lm() finds them
#'
#' @return list(aliased: those that lm() leaves out, directions: b with W b = 0, each with a one for its aliased column
#'   and zeros for the others).
#' @noRd
dependence <- function(W) {
  decomposed <- qr(W, tol = 1e-7)
  kept <- seq_len(ncol(W)) <= decomposed$rank
  aliased <- decomposed$pivot[!kept]
  R <- qr.R(decomposed)[seq_len(decomposed$rank), , drop = FALSE]
  directions <- matrix(0, ncol(W), length(aliased))
  directions[cbind(aliased, seq_along(aliased))] <- 1
  if (any(kept)) directions[decomposed$pivot[kept], ] <- -backsolve(R[, kept, drop = FALSE], R[, !kept, drop = FALSE])
  list(aliased = aliased, directions = directions)
}

#' Directions of coefficients that neither the data nor typed priors determine
#'
#' @param view A fit with one predictor.
#' @return As dependence(), of the columns that are shown; NULL if there are none, or rows that the fit does not keep
#'   might tell.
#' @noRd
undetermined_effects <- function(view) {
  spec <- fixed_spec(view$design$specs)
  if (!any(spec$coding$tied) || !has_rows(view)) return(NULL)
  W <- used_columns(view)
  # the intercept has its prior at the means of the columns, and is free to move with them
  free <- which(open_columns(view) | spec$assign == 0L & identical(spec$coding$at, "means"))
  # those that are not shown come first, and are left out for each other alone
  shown <- shown_columns(spec)
  free <- free[order(shown[free])]
  found <- dependence(W[, free, drop = FALSE])
  own <- shown[free[found$aliased]]
  if (!any(own)) return(NULL)
  directions <- matrix(0, ncol(W), sum(own))
  directions[free, ] <- found$directions[, own]
  list(aliased = match(free[found$aliased[own]], which(shown)), directions = directions[shown, , drop = FALSE])
}

#' Which columns have the default prior?
#' @noRd
open_columns <- function(view) {
  Find(function(term) term$label == fixed_label, prior_terms(view$model))$factors[, 1L] == 0L
}

#' Names in the order of vcov(), for columns of every latent value
#' @noRd
coefficient_rows <- function(view, columns) {
  latents <- latent_names(view)
  if (is.null(latents)) columns else paste(rep(latents, each = length(columns)), columns, sep = ":")
}

# ---- how much the priors matter ----

#' What each coefficient would be without its prior
#'
#' With the posterior N(m, V) of coefficients u and independent priors of means mu and precisions P, those without the
#' prior have the precision V^-1 - P and the mean m + (I - V P)^-1 V P (m - mu), in directions that the data determine.
#' @return A list of vectors with an element per coefficient: `coefficient`, its name; `open`, has it the default prior?;
#'   `moved`, how far open priors have moved it, and `typed`, how far typed ones have, in posterior sds; `narrow`, its sd
#'   over that of its prior.
#' @noRd
prior_weight <- function(fit) {
  if (n_predictors(fit) > 1L) return(do.call(Map, c(list(c), lapply(predictors(fit), prior_weight))))
  spec <- fixed_spec(fit$design$specs)
  none <- list(
    coefficient = character(), open = logical(), moved = numeric(), typed = numeric(), narrow = numeric()
  )
  block <- coefficient_block(fit, fixed_label)
  if (is.null(spec) || is.null(block)) return(none)
  term <- Find(function(term) term$label == fixed_label, prior_terms(fit$model))
  K <- n_latents(fit)
  q <- length(spec$columns)
  coding <- or_else(spec$coding, as_they_are(q))
  open <- open_columns(fit)
  sd <- rep(1, q)
  sd[!open] <- fit$posterior$hyper[term$factors[!open, 1L]]
  V <- if (is_coupled(fit)) {
    fit$posterior$coupled[fixed_positions(fit), fixed_positions(fit)]
  } else {
    block_of(block$covariance)
  }
  # only differences from their mean are known
  compared <- diag(K) - if (compares_classes(fit)) 1 / K else 0
  A <- kronecker(compared, coding$A)
  moved_by <- function(own) {
    precision <- rep(ifelse(own & sd > 0, 1 / sd^2, 0), K)
    gap <- as.vector(block$mean) - rep(term$mean, K)
    drop(A %*% without_prior(V, precision, gap))
  }
  posterior <- sqrt(pmax(rowSums((A %*% V) * A), 0))
  flat <- is.infinite(sd)
  prior <- sqrt(drop(coding$A^2 %*% ifelse(flat, 0, sd^2)))
  prior[rowSums(coding$A[, flat, drop = FALSE] != 0) > 0] <- Inf
  prior <- as.vector(prior %o% sqrt(diag(compared)))
  out <- list(
    coefficient = coefficient_rows(fit, paste0(effect_prefix(fit$parameter), spec$columns)), open = rep(open, K),
    moved = abs(moved_by(open)) / posterior, typed = abs(moved_by(!open)) / posterior, narrow = posterior / prior
  )
  lapply(out, `[`, posterior > 0 & rep(sd > 0 & shown_columns(spec), K))
}

#' Standard deviations over those of priors where the posterior is not the Gaussian of the bound
#'
#' @return `weight` with `wide` too: by how much `narrow` is larger than the Gaussian's.
#' @noRd
with_real_widths <- function(weight, fit) {
  weight$wide <- rep(1, length(weight$coefficient))
  if (!has_points(fit) || !length(weight$coefficient)) return(weight)
  real <- sqrt(diag(stats::vcov(fit)) / diag(stats::vcov(without_points(fit))))[weight$coefficient]
  weight$wide <- unname(ifelse(is.finite(real), pmax(real, 1), 1))
  weight$narrow <- weight$narrow * weight$wide
  weight
}

# Has each class a latent value, of which the data determine the differences only?
compares_classes <- function(fit) {
  n_latents(fit) > 1L && n_predictors(fit) == 1L && n_latents(fit) == length(response_levels(fit))
}

class_notes <- function(fit) {
  if (!compares_classes(fit)) return(NULL)
  specs <- fit$design$specs
  learned <- fit$model$hyper$term[fit$model$hyper$learned]
  c(
    if (!is.null(fixed_spec(specs))) new_note("classes", paste(
      "The data determine only differences between the coefficients of two classes. categorical(refcat = NULL) has those",
      "to the first class."
    ), said = FALSE),
    unseen_direction_notes(fit, Filter(function(spec) spec$label %in% learned, specs))
  )
}

#' Variances of terms are learned from a bound that counts the distance of all classes' posteriors from their priors,
#' also in the direction of their sum, of which the data say nothing.
#' @noRd
unseen_direction_notes <- function(fit, learned) {
  if (!length(learned)) return(NULL)
  how_much <- if (n_latents(fit) == 2L) {
    "by half in variance, and predictions are shrunk. For two classes use binomial()"
  } else {
    paste(
      "by some 20 % in standard deviation with three classes and less with more, and predictions are shrunk.",
      "categorical(refcat = NULL) has the first level as reference and less of this"
    )
  }
  new_note("classes", sprintf(
    "Without a reference level the differences between classes in %s are estimated too small, %s.",
    and_words(vapply(learned, written_term, "")), how_much
  ), said = any(vary_by_group(learned)))
}

block_of <- function(blocks) {
  q <- nrow(blocks[[1L]])
  out <- matrix(0, q * length(blocks), q * length(blocks))
  for (k in seq_along(blocks)) out[(k - 1L) * q + seq_len(q), (k - 1L) * q + seq_len(q)] <- blocks[[k]]
  out
}

#' How means change without priors of these precisions; gap: posterior means less those of the priors
#' @noRd
without_prior <- function(V, precision, gap, most = 500L) {
  change <- numeric(length(gap))
  own <- which(precision > 0)
  if (!length(own) || length(own) > most || !all(is.finite(V))) return(change)
  root <- sqrt(precision[own])
  e <- eigen(V[own, own, drop = FALSE] * outer(root, root), symmetric = TRUE)
  # the prior is most of what is known in the others
  known <- e$values < 0.99
  Q <- e$vectors[, known, drop = FALSE]
  pull <- Q %*% (crossprod(Q, root * gap[own]) / (1 - e$values[known]))
  drop(V[, own, drop = FALSE] %*% (root * pull))
}

# An estimate may move by this many posterior sds, and a posterior sd be this much of the prior's.
visible_move <- 0.1
visible_width <- 0.5

prior_notes <- function(fit, weight) {
  narrow <- weight$open & weight$narrow > visible_width
  moved <- weight$open & !narrow & weight$moved > visible_move
  typed <- weight$typed > visible_move
  c(
    if (any(narrow | moved)) default_notes(fit, weight, narrow, moved),
    if (any(typed)) {
      new_note("typed_prior", sprintf(
        "The priors that you gave move %s by up to %s posterior standard deviations.",
        quote_names(weight$coefficient[typed]), format(max(weight$typed[typed]), digits = 2L)
      ), said = FALSE)
    }
  )
}

default_notes <- function(fit, weight, narrow, moved) {
  separated <- separation(fit)
  if (!is.null(separated)) {
    return(new_note("separation", paste(
      separated, "so the likelihood has no maximum (glm() would give estimates without end): the default prior",
      "decides how large these coefficients are. Give a prior that says how large effects may be, such as",
      "prior = normal(0, 1)."
    ), weight$coefficient[narrow | moved]))
  }
  decided <- has_open_tail(fit, weight, narrow)
  # of classes without a reference only differences are known, whatever the prior
  narrow <- narrow & !decided & !compares_classes(fit)
  moved <- moved & !decided
  c(
    if (any(decided)) {
      new_note("prior", sprintf(paste(
        "The default prior decides what is found about %s: the data do not exclude values far from it, and the posterior",
        "standard deviation is %.0f %% of the prior's. Predictions depend on this prior too. Give a prior that says how",
        "large effects may be, such as prior = %s."
      ), quote_names(weight$coefficient[decided]), 100 * max(weight$narrow[decided]),
      prior_to_type(fit, weight$coefficient[decided])), weight$coefficient[decided], said = "warning")
    },
    if (any(narrow)) {
      new_note("prior", sprintf(paste(
        "The data say little about %s: the posterior standard deviation is more than half that of the default prior.",
        "Give a prior that says how large effects may be, such as prior = %s."
      ), quote_names(weight$coefficient[narrow]), narrower_prior(fit, weight$coefficient[narrow])),
      weight$coefficient[narrow])
    },
    if (any(moved)) {
      new_note("prior", sprintf(paste(
        "The data say so little about %s that the default prior moves the estimate by up to %s posterior standard",
        "deviations. Give a prior that says how large effects may be, such as prior = %s."
      ), quote_names(weight$coefficient[moved]), format(max(weight$moved[moved]), digits = 2L),
      narrower_prior(fit, weight$coefficient[moved])), weight$coefficient[moved],
      # a weakly determined zero part or scale is easily overlooked
      said = n_predictors(fit) > 1L || max(weight$moved[moved]) > 1)
    }
  )
}

# Of the coefficients that are asked for: where a Gaussian is narrow and the posterior is not, has the mean of the response
# no bound on the side of the tail?
has_open_tail <- function(fit, weight, asked) {
  out <- logical(length(weight$coefficient))
  at <- which(asked & weight$narrow / weight$wide <= visible_width & predictor_of_name(fit, weight$coefficient) == 1L)
  open <- n_latents(predictors(fit)[[1L]]) == 1L && link_has(fit$family, "positive")
  if (!length(at) || !open) return(out)
  coefficients <- weight$coefficient[at]
  # the priors of some are no normal ones, and have no mean
  centre <- vapply(fit$prior[coefficients], function(prior) or_else(prior$mean, 0), 0)
  out[at] <- coefficients != "(Intercept)" | stats::coef(fit)[coefficients] > centre
  out
}

# normal(0, 1), in the list of the predictor that the coefficients belong to. An intercept needs a prior of its own.
narrower_prior <- function(fit, coefficients) {
  owner <- unique(predictor_of_name(fit, coefficients))
  if (any(vapply(owner, function(k) "(Intercept)" %in% columns_of_names(fit, coefficients, k)$column, NA))) {
    return(prior_to_type(fit, coefficients))
  }
  if (n_predictors(fit) == 1L) return("normal(0, 1)")
  if (length(owner) > 1L || owner == 1L) return("list(default = normal(0, 1))")
  sprintf("list(%s = list(default = normal(0, 1)))", predictor_names(fit)[owner])
}

#' Which classes are separated by the fixed effects, in words; NULL if none are
#' @noRd
separation <- function(fit) {
  spec <- fixed_spec(fit$design$specs)
  if (is.null(spec) || n_predictors(fit) > 1L || !has_rows(fit) || !is_discrete(fit)) return(NULL)
  model <- fit$model
  # other terms have priors, under which effects that reproduce all rows are finite
  eta <- fixed_predictor(fit)
  used <- model$weights > 0
  counts <- link_has(fit$family, "rates")
  ordered <- has_classes(fit) && length(learned_thresholds(fit)) > 0L
  right <- if (counts) rep(FALSE, length(used)) else if (ordered) {
    # thresholds go wherever there is room between the classes
    ends <- vapply(split(eta[used, 1L], model$y[used]), range, c(0, 0))
    rep(all(ends[2L, -ncol(ends)] < ends[1L, -1L]), length(used))
  } else if (has_classes(fit)) {
    # counts of classes are separated where all of a row are in one
    prob <- independent_classes(model$likelihood, fit, eta, 0 * eta, FALSE)$probability
    guess <- max.col(prob, "first") - 1
    guess == model$y & (if (is.null(model$counts)) TRUE else rowSums(model$counts > 0) == 1)
  } else {
    (eta[, 1L] > 0) == (model$y > model$size / 2) & (model$y == 0 | model$y == model$size)
  }
  if (all(right[used])) return("The fitted classes are those of all rows,")
  if (has_classes(fit) && !ordered) return(NULL)
  # indicators whose rows are at an end of what the response may be
  most <- if (ordered) length(response_levels(fit)) - 1 else model$size
  W <- printed_columns(spec, fit$data)
  at_end <- vapply(seq_len(ncol(W)), function(j) {
    on <- used & W[, j] != 0
    length(unique(W[on, j])) == 1L && any(used & W[, j] == 0) &&
      (all(model$y[on] == 0) || !counts && all((model$y == most)[on]))
  }, NA)
  if (!any(at_end)) return(NULL)
  sprintf("All rows with %s = 1 have the same response,", quote_names(spec$columns[at_end]))
}

# The linear predictors of the rows by their fixed effects and offsets alone.
fixed_predictor <- function(fit) {
  at <- match(fixed_label, vapply(prior_terms(fit$model), `[[`, "", "label"))
  fit$model$offset + term_rows(fit$model)[[at]]$W %*% as.matrix(coefficient_block(fit, fixed_label)$mean)
}

# ---- groups ----

group_notes <- function(spec, fit) {
  if (is.null(spec$levels) || !term_can(spec, "grouped")) return(NULL)
  group <- effect_group(spec)
  count <- length(spec$levels)
  learned <- all(fit$model$hyper$learned[unlist(spec$hyper)])
  noise <- has_free_scale(fit) && facts_of(fit)$conjugate
  if (learned && (noise || has_one_outcome(fit)) && contains_noise(spec, fit)) {
    return(new_note("groups", contained_noise(spec, fit, group)))
  }
  limits <- c(limit_notes(spec, fit), class_sd_notes(spec, fit))
  sd <- sds_of_effects(spec, fit)
  values <- count * if (is_time_series(spec)) length(spec$own_columns) else 1L
  if (values > few_levels || !length(sd)) return(limits)
  rests <- if (count > 2L) resting_on_prior(sd, fit)
  if (count > 2L && !length(rests)) return(limits)
  c(limits, new_note("groups", sprintf(paste0(
    "`%s` has %d level%s, which say%s little about the standard deviation of effects%s: use it as a fixed effect, or ",
    "give the standard deviation a prior, such as prior = list(sd = half_normal(%s))."
  ), group, count, if (count > 1L) "s" else "", if (count > 1L) "" else "s", if (length(rests)) sprintf(
    ", so that the posterior standard deviation%s of %s rest%s on its weak prior", if (length(rests) > 1L) "s" else "",
    quote_names(rests), if (length(rests) > 1L) "" else "s"
  ) else "", code_number(signif(fit$model$hyper$weak[[sd[1L]]]$sd / 10, 2L))), rests))
}

#' Do classes share a standard deviation although their effects tell them apart?
#' @noRd
class_sd_notes <- function(spec, fit) {
  if (!is_several(fit) || facts_of(fit)$separable || !has_points(fit) || effects_of_level(spec) > 1L) return(NULL)
  classes <- latent_names(fit)
  reference <- setdiff(response_levels(fit), classes)
  if (length(reference) != 1L) return(NULL)
  nodes <- positions_of_term(fit$model, 1L, spec$label)
  weight <- fit$points$weight
  # effects given what they share, with which they are independent
  common <- cbind(1, fixed_at_points(fit), log(fit$points$hyper))
  effects <- lapply(fit$points$coefficients, function(all) {
    own <- all[, nodes, drop = FALSE]
    list(mean = drop(weight %*% own), sd = sqrt(drop(weight %*% stats::lm.wfit(common, own, weight)$residuals^2)))
  })
  hyper <- unlist(spec$hyper)[1L]
  shared <- if (hyper %in% fit$points$at) {
    exp(sum(weight * log(fit$points$hyper[, match(hyper, fit$points$at)])))
  } else fit$posterior$hyper[hyper]
  if (!spec$type %in% bars) shared <- sqrt(shared)
  column <- function(what) vapply(effects, `[[`, numeric(length(nodes)), what)
  own <- sds_of_classes(column("mean"), column("sd"), shared)
  if (is.null(own)) return(NULL)
  response <- fit$formula[[2L]]
  new_note("classes", paste0(sprintf(paste(
    "%s has one standard deviation for all classes, whose effects differ in it: it would be about %s. Coefficients and",
    "probabilities lie between. Binomial fits of pairs of classes have their own"
  ), written_term(spec), and_words(sprintf("%s for %s", code_number(signif(own, 2L)), classes))),
  if (is.symbol(response) && is.null(fit$model$counts)) sprintf(
    ", as in galvi(%1$s == \"%2$s\" ~ ..., family = binomial(), subset = %1$s %%in%% c(\"%3$s\", \"%2$s\"))",
    as.character(response), classes[1L], reference
  ), "."))
}

#' The standard deviations of the effects of each class, as far as their posterior tells, or NULL where one does for all
#'
#' What the data say of an effect is its posterior without the prior, N(d, 1 / p).
#' @param mean,sd Of effects given what they share, a column for each class; shared: the prior's standard deviation.
#' @noRd
sds_of_classes <- function(mean, sd, shared) {
  precision <- 1 / sd^2 - 1 / shared^2
  if (!all(is.finite(precision)) || shared <= 0) return(NULL)
  # less is lost in the posterior's own errors
  known <- precision > 0.05 / shared^2
  d <- mean / (sd^2 * precision)
  log_density <- function(log_sd, classes) {
    sum(vapply(classes, function(k) {
      at <- known[, k]
      sum(stats::dnorm(d[at, k], 0, sqrt(exp(2 * log_sd) + 1 / precision[at, k]), log = TRUE))
    }, 0))
  }
  best <- function(classes) stats::optimize(log_density, log(shared) + c(-5, 3), classes, maximum = TRUE)
  all <- seq_len(ncol(mean))
  own <- lapply(all, best)
  above <- sum(vapply(own, `[[`, 0, "objective")) - best(all)$objective
  if (2 * above > stats::qchisq(0.99, length(all) - 1)) exp(vapply(own, `[[`, 0, "maximum"))
}

# The density of a standard deviation tau falls like tau^(1 - J) with J levels, so up to here tau^2 has no mean but for its
# prior.
few_levels <- 4L

#' Positions of a term's learned standard deviations, or variances, that have no prior but the weak one
#' @noRd
sds_of_effects <- function(spec, fit) {
  own <- unlist(spec$hyper)
  own[vapply(fit$model$hyper$weak[own], function(prior) identical(prior$type, "half_normal"), NA)]
}

#' Coefficients whose standard deviations would be visibly smaller if these weak priors were half as wide
#' @noRd
resting_on_prior <- function(sd, fit) {
  if (is_imputed(fit) || is.null(fit$states) && !has_points(fit) || !has_fixed(fit)) return(NULL)
  # coefficients of these points do not spread with the hyperparameters
  if (uncertainty_method(fit) == "response") return(NULL)
  at_halves <- function(hyper, weight) {
    for (h in sd) {
      prior <- fit$model$hyper$weak[[h]]
      square <- if (prior$quantity == "root") hyper[, h] else hyper[, h]^2
      weight <- weight * exp(-1.5 * square / prior$sd^2)
    }
    weight / sum(weight)
  }
  narrow <- fit
  if (has_points(fit)) {
    narrow$points$weight <- at_halves(point_hyper(fit), fit$points$weight)
  } else {
    hyper <- do.call(rbind, lapply(fit$states, function(state) state$posterior$hyper))
    narrow$states <- Map(function(state, weight) replace(state, "weight", weight), fit$states,
      at_halves(hyper, state_weights(fit)))
  }
  ratio <- sqrt(diag(stats::vcov(narrow)) / diag(stats::vcov(fit)))
  names(ratio)[which(ratio < 1 - visible_difference)]
}

# Is the response of a row a single outcome: binary, or one of several classes?
has_one_outcome <- function(fit) {
  n_predictors(fit) == 1L && (has_two_classes(fit) || has_classes(fit) && is.null(fit$model$counts))
}

#' What is not known where the covariance of a term's effects contains that of noise
#' @noRd
contained_noise <- function(spec, fit, group) {
  several <- fit$nobs > length(spec$levels)
  rows <- if (several) sprintf(
    "%s has as many effects in each level of `%s` as there are rows, or more", written_term(spec), group
  ) else sprintf("`%s` has one row in each level", group)
  if (!has_free_scale(fit)) {
    return(sprintf(paste(
      "%s. Single outcomes, binary or of several classes, do not determine the standard deviation%s of its effects, with",
      "which all coefficients grow. %s"
    ), rows, if (several) "s" else "", if (several) "Use fewer effects." else {
      sprintf("Leave %s out.", written_term(spec))
    }))
  }
  if (several) {
    return(paste0(rows, paste(
      ", so the data do not tell their variances from that of the noise: only sums of the two are known. The interval",
      "of each says little, and may leave its estimate out. Use fewer effects, or no noise (see ?`random-slopes`,",
      "Repeated measures without residual noise)."
    )))
  }
  sprintf(paste(
    "%s, so the data do not tell the standard deviation of its effects from that of the noise: only the sum of the two",
    "variances is known. The interval of each says little, and may leave its estimate out. Leave %s out."
  ), rows, written_term(spec))
}

#' Is a part of the covariance of a term's effects independent noise of the rows?
#'
#' In a group with the columns W, effects of covariance S have the covariance W S W' in rows. Noise is a part of it if
#' there is a matrix D with W D W' = I in all groups, such that S + D has the structure of S.
#' @noRd
contains_noise <- function(spec, fit) {
  model <- fit$model
  used <- model$weights > 0
  # covariances between levels tell effects from noise, and so do rows that stand for several
  known <- spec$known
  related <- any(known$precision$i != known$precision$j) || length(unique(known$variance)) > 1L
  if (related || !has_rows(fit) || any(model$weights[used] != 1) || !takes_diagonal(spec)) return(FALSE)
  if (sum(used) > length(spec$levels) * effects_of_level(spec)) return(FALSE)
  columns <- columns_of_levels(spec, fit)
  if (is.null(columns)) return(FALSE)
  q <- ncol(columns$W)
  own <- split(which(used), columns$level[used])
  if (any(lengths(own) > q)) return(FALSE)
  noise <- if (facts_of(fit)$divides_dispersion) 1 / model$size else rep(1, length(used))
  if (q == 1L) {
    variance <- columns$W[used, 1L]^2 / noise[used]
    return(min(variance) > 0 && diff(range(variance)) < 1e-7 * max(variance))
  }
  # rows of the same columns give the same equations
  kind <- do.call(paste, as.data.frame(cbind(columns$W, noise)))
  kind <- match(kind, kind)
  pairs <- unique(do.call(rbind, lapply(own, function(rows) {
    at <- which(outer(rows, rows, `<=`), arr.ind = TRUE)
    cbind(kind[rows[at[, 1L]]], kind[rows[at[, 2L]]], at[, 1L] == at[, 2L])
  })))
  free <- cbind(seq_len(q), seq_len(q))
  if (spec$type %in% bars && spec$structure == "us") free <- rbind(free, correlation_pairs(q))
  if (nrow(pairs) * nrow(free)^2 > 1e9) return(FALSE)
  a <- columns$W[pairs[, 1L], , drop = FALSE]
  b <- columns$W[pairs[, 2L], , drop = FALSE]
  i <- free[, 1L]
  j <- free[, 2L]
  equations <- a[, i, drop = FALSE] * b[, j, drop = FALSE]
  mixed <- i != j
  equations[, mixed] <- equations[, mixed] + a[, j[mixed], drop = FALSE] * b[, i[mixed], drop = FALSE]
  if (shares_variance(spec)) equations <- cbind(rowSums(equations))
  wanted <- pairs[, 3L] * noise[pairs[, 1L]]
  max(abs(qr.resid(qr(equations), wanted))) < 1e-7 * max(wanted)
}

effects_of_level <- function(spec) if (spec$type %in% bars) length(spec$columns) else copies_of(spec)

shares_variance <- function(spec) {
  if (spec$type %in% bars) spec$hom else copies_of(spec) > length(spec$hyper$variance)
}

# Does a covariance matrix keep its structure when variances are added?
takes_diagonal <- function(spec) {
  !spec$type %in% bars || isTRUE(effect_structures[[spec$structure]]$diagonal[[if (spec$hom) "hom" else "het"]])
}

#' The level of each row and the columns of its effects: list(level, W); NULL if a row has none or several
#' @noRd
columns_of_levels <- function(spec, fit) {
  at <- match(spec$label, vapply(prior_terms(fit$model), `[[`, "", "label"))
  row <- term_rows(fit$model)[[at]]
  part <- group_part(spec, row)
  part$level[as.matrix(row$node) == 0L | part$weight == 0] <- NA
  level <- do.call(pmax, c(as.data.frame(part$level), na.rm = TRUE))
  if (anyNA(level) || any(part$level != level, na.rm = TRUE)) return(NULL)
  W <- matrix(0, length(level), effects_of_level(spec))
  for (h in seq_len(ncol(part$weight))) {
    at <- cbind(seq_along(level), part$effect[, h])[!is.na(part$level[, h]), , drop = FALSE]
    W[at] <- W[at] + part$weight[!is.na(part$level[, h]), h]
  }
  list(level = level, W = W)
}

# ---- noise ----

# Rows that the fixed effects alone fit exactly.
noise_notes <- function(fit) {
  spec <- fixed_spec(fit$design$specs)
  if (is.null(spec) || is_streamed(fit$model) || !has_free_scale(fit)) return(NULL)
  rows <- which(fit$model$weights > 0)
  if (length(rows) > length(spec$columns)) return(NULL)
  if (qr(printed_columns(spec, fit$data)[rows, , drop = FALSE])$rank < length(rows)) return(NULL)
  new_note("noise", paste(
    "There is a fixed effect for each row, so the data do not determine the noise: its prior decides all standard",
    "deviations and intervals. lm() gives none."
  ))
}

# Is the noise added to eta, with a learned standard deviation that all rows share?
has_free_scale <- function(fit) {
  link_has(fit$family, "same_units") && n_predictors(fit) == 1L && any(fit$model$hyper$learned[noise_at(fit)])
}

noise_at <- function(fit) unlist(fit$model$likelihood$hyper[c("variance", "scale", "sigma")])

# ---- estimates and intervals ----

#' @param unknown Names of hyperparameters of which other notes say that the data do not tell them.
#' @noRd
interval_notes <- function(fit, unknown) {
  hyper <- fit$hyper[!is.na(fit$hyper$lwr) & !fit$hyper$name %in% unknown, ]
  specs <- all_specs(fit$design)
  groups <- hyper$term %in% vapply(specs[which_can(specs, "grouped")], `[[`, "", "label")
  sds <- grepl("^(sd|variance)", hyper$parameter)
  at_bound <- hyper$status == "at bound"
  outside <- hyper$estimate < hyper$lwr | hyper$estimate > hyper$upr
  # modes at the end of the range, with intervals that leave it out; limit_notes() has those of groups
  low <- is_discrete(fit) & groups & sds & !at_bound & hyper$estimate < hyper$lwr
  of_family <- hyper$name %in% fit$model$hyper$name[unlist(fit$model$likelihood$hyper)]
  zero <- at_bound & sds & !groups & !of_family & hyper$estimate < sqrt(pmax(hyper$lower * hyper$upper, 0))
  none <- hyper$name[which(zero)]
  outside <- outside & !low & !hyper$name %in% none & !(at_bound & groups)
  note <- function(at, why) {
    if (!any(at)) return(NULL)
    several <- sum(at) > 1L
    new_note("interval", sprintf("%s: the estimate%s outside %s interval%s. %s", quote_names(hyper$name[at]),
      if (several) "s lie" else " lies", if (several) "their" else "its", if (several) "s" else "", why))
  }
  c(
    note(low, paste(
      "Estimates are where the bound is largest, which few counts or binary rows in each group put too low; intervals",
      "are those of the posterior, over which fixed effects and predictions average, too."
    )),
    note(outside, paste(
      "An estimate is the mode; intervals and standard deviations are those of the posterior, most of which lies",
      "elsewhere: the data say little about this."
    )),
    if (length(none)) {
      new_note("interval", sprintf(paste(
        "%s: estimated as zero, where a smooth is what its penalty leaves, such as a straight line, and a process or random",
        "walk is constant. Intervals and standard deviations are those of the posterior, most of which has larger values."
      ), quote_names(none)))
    }
  )
}

# ---- printing ----

#' A table of coefficients with a letter beside those that a note is about
#' @noRd
print_coefficients <- function(table, notes, digits) {
  marks <- note_marks(rownames(table), notes)
  if (!any(nzchar(marks))) return(print(table, digits = digits))
  shown <- apply(table, 2L, format, digits = digits)
  shown <- matrix(shown, nrow(table), dimnames = dimnames(table))
  print(cbind(shown, " " = marks), quote = FALSE, right = TRUE)
}

# Notes about coefficients are a, b, ...
note_letters <- function(notes) {
  about <- vapply(notes, function(note) length(note$coefficients) > 0L, NA)
  ifelse(about, letters[cumsum(about)], "")
}

note_marks <- function(names, notes) {
  letter <- note_letters(notes)
  vapply(names, function(name) {
    paste(letter[vapply(notes, function(note) name %in% note$coefficients, NA)], collapse = ",")
  }, "")
}

#' @param all Also those that only check_fit() and summary() have.
#' @noRd
print_fit_notes <- function(notes, all = FALSE) {
  letter <- note_letters(notes)
  for (i in seq_along(notes)) {
    if (notes[[i]]$what == "typed_prior" && !all) next
    print_wrapped(sprintf("%s: %s", if (nzchar(letter[i])) letter[i] else "Note", notes[[i]]$text))
  }
}

#' Notes of the variances and correlations of a term that are at the end of their range
#' @noRd
limit_notes <- function(spec, fit) {
  own <- fit$hyper[fit$hyper$term == spec$label & fit$hyper$status == "at bound", ]
  if (!nrow(own)) return(NULL)
  slopes <- spec$type %in% bars
  correlation <- grepl("^cor(\\.|$)", own$parameter) & slopes
  vanished <- own$parameter %in% c("variance", "sd") | slopes & !correlation
  low <- own$estimate < sqrt(pmax(own$lower * own$upper, 0))
  vanished <- vanished & (is.na(low) | low)
  owner <- which(vapply(predictor_specs(fit$design), function(specs) {
    spec$label %in% vapply(specs, `[[`, "", "label")
  }, NA))[1L]
  of <- if (owner > 1L) predictor_names(fit)[owner]
  name <- paste0(written_term(spec), if (length(of)) sprintf(" of `%s`", of))
  advised <- function(prior) paste("prior =", if (length(of)) sprintf("list(%s = %s)", of, prior) else prior)
  notes <- NULL
  if (any(vanished)) {
    what <- if (slopes) {
      if (spec$hom) "the standard deviation is" else {
        sprintf("the standard deviation of %s is", quote_names(sub("^sd\\.", "", own$parameter[vanished])))
      }
    } else if (spec$by_hyper == "each") {
      sprintf("%s is", quote_names(own$name[vanished]))
    } else "the variance is"
    notes <- new_note("singular", sprintf(paste(
      "%s: %s estimated as zero, a singular fit: these effects do not vary by more than chance. Leave them out, or give",
      "a prior, as in %s."
    ), name, what, advised("list(sd = half_normal(1))")))
  }
  if (any(correlation) && spec$structure != "us") {
    notes <- c(notes, new_note("singular", sprintf(paste(
      "%s: the correlation%s estimated at the limit of the structure (%s), a singular fit: the groups do not tell these",
      "effects apart. A simpler structure has fewer parameters."
    ), name, if (sum(correlation) > 1L) "s are" else " is",
    paste(formatC(own$estimate[correlation], digits = 3L, format = "f"), collapse = ", "))))
  } else if (any(correlation)) {
    q <- length(spec$own_columns)
    pairs <- correlation_pairs(q)
    names <- names_in_sets(paste0("cor.", correlation_names(spec$own_columns)), spec)
    at <- match(own$parameter[correlation], names) - 1L
    pair <- q * (at %/% nrow(pairs)) + pairs[at %% nrow(pairs) + 1L, , drop = FALSE]
    estimate <- own$estimate[correlation]
    # what is at its end is a partial correlation; that of the pair rounds to one or is that of a singular matrix
    pairwise <- abs(estimate) > 0.995
    shown <- paste(c(sprintf(
      "the correlation of %s and %s is estimated as %s", quoted(spec$columns[pair[, 1L]]),
      quoted(spec$columns[pair[, 2L]]), ifelse(estimate < 0, "-1", "1")
    )[pairwise], if (!all(pairwise)) sprintf(
      "the covariance matrix of %s is estimated as singular%s", quote_names(spec$own_columns),
      if (any(pairwise)) "" else ", though no two of them have the correlation 1 or -1"
    )), collapse = ", and ")
    notes <- c(notes, new_note("singular", sprintf(
      "%s: %s%s: the %s. %s give a prior, as in %s.", name, shown, if (all(pairwise)) ", a singular fit" else "",
      if (term_can(spec, "residual")) "responses do not tell these residuals apart" else {
        "groups do not tell these effects apart"
      }, if (term_can(spec, "residual")) "Leave a response out, or" else sprintf(
        "Write (%s) for uncorrelated effects, or", deparse_one(call("||", spec$left, spec$right))
      ), advised("list(cor = lkj(2))")
    )))
  }
  notes
}

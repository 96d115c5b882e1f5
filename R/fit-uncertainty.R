# What the standard deviations and intervals of a fit are, in words, and what is said where they are not to be trusted.

#' A sentence about them; NULL where q is the posterior of everything that is uncertain, and near enough to it
#' @noRd
uncertainty_line <- function(fit) {
  if (!has_fixed(fit)) return(NULL)
  if (is_imputed(fit)) {
    return(sprintf(paste(
      "Standard deviations and intervals: of the equal mixture of %d fits, within and between data sets. Rubin's rules,",
      "which add (1 + 1 / m) instead of (1 - 1 / m) times the variance between them, are mice::pool(fit$fits)."
    ), length(fit$fits)))
  }
  learned <- uncertain_names(fit)
  method <- uncertainty_method(fit)
  if (method == "points") {
    return(sprintf(
      "Standard deviations and intervals: from weighted points of the joint posterior of %s (efficiency %s).",
      and_words(c(if (n_predictors(fit) > 1L) "all predictors" else "coefficients", learned)),
      format(fit$convergence$uncertainty$efficiency, digits = 2L)
    ))
  }
  if (method == "states") {
    line <- sprintf(
      "Standard deviations and intervals: averaged over %d values of %s.", length(fit$states), and_words(learned)
    )
    return(if (is_linear_model(fit)) paste(line, paste(
      "Intervals agree with those of lm(); the standard deviations are its standard errors times sqrt(df / (df - 2))."
    )) else line)
  }
  if (method == "response") {
    together <- and_words(c(if (n_predictors(fit) > 1L) "all predictors" else "coefficients", learned))
    # with many coefficients linear response costs more than it adds
    return(sprintf(if (is.na(fit$convergence$uncertainty$rho)) {
      "Standard deviations and intervals: from a joint Gaussian of %s."
    } else "Standard deviations and intervals: by linear response, for %s together.", together))
  }
  apart <- ignores_dependence(fit) && n_predictors(fit) > 1L
  if (!length(learned) && !apart) {
    known <- fit$design$intervals
    events <- sum(known$times$event * known$weights)
    if (is.null(known) || events >= few_events) return(NULL)
    return(sprintf(paste(
      "Standard deviations and intervals are those of a Gaussian, and too narrow where events are few, here %s:",
      "check_fit() says by how much."
    ), whole_words(events)))
  }
  paste0("Standard deviations and intervals take ", paste(c(
    if (length(learned)) sprintf("%s as known", and_words(learned)),
    if (apart) "the predictors as independent"
  ), collapse = " and "), ": they may be too small.")
}

# With fewer of them the posterior of Cox's model is visibly skew: with twelve, sds are eight per cent too small.
few_events <- 20

uncertainty_method <- function(fit) {
  if (!is.null(fit$states)) "states" else if (has_points(fit)) fit$convergence$uncertainty$method else "factorised"
}

#' Do they leave out what is learned, although the user did not ask for that?
#' @noRd
falls_short <- function(fit) {
  !is_imputed(fit) && uncertainty_method(fit) == "factorised" && fit$control$uncertainty != "factorised" &&
    !is.null(uncertainty_line(fit))
}

has_fixed <- function(fit) length(stats::coef(fit)) > 0L

# Are there coefficients that a prior could tell more about? An intercept beside thresholds is zero.
has_uncertain <- function(fit) has_fixed(fit) && any(diag(stats::vcov(fit)) > 0)

# Learned hyperparameters, at most three by name; thresholds together are one.
uncertain_names <- function(fit) {
  own <- fit$hyper$name[fit$hyper$status != "fixed"]
  if (is_ordinal(fit)) {
    at <- own %in% fit$model$hyper$name[unlist(fit$model$likelihood$hyper$thresholds)]
    own <- c(own[!at], if (any(at)) "thresholds")
  }
  if (!length(own)) return(NULL)
  if (length(own) > 3L) return(sprintf("%d hyperparameters", length(own)))
  own
}

# lm()'s: gaussian, with fixed effects alone.
is_linear_model <- function(fit) {
  facts_of(fit)$conjugate && is.null(fit$model$prior_rows) && n_latents(fit) == 1L && identical(fit$design$labels, fixed_label) &&
    sum(fit$model$hyper$learned) == 1L
}

# ---- where it cannot be trusted ----

# Standard deviations that differ by more than this share are worth a note.
visible_difference <- 0.1

# Linear response of a smaller radius is nearly exact.
visible_radius <- 0.35

#' Notes and warnings of points that were tried and not believed
#' @param tried What the core found, or NULL.
#' @noRd
uncertainty_notes <- function(fit, tried) {
  if (is.null(tried) || tried$method %in% c("points", "factorised")) return(NULL)
  far <- is.finite(tried$rho) && tried$rho >= visible_radius
  if (is.null(tried$points) && !far || !has_uncertain(fit)) return(NULL)
  ratio <- if (!is.null(tried$points)) points_ratio(fit, tried) else {
    # linear response, whose covariance may miss a share of up to its radius
    changed <- sqrt(diag(stats::vcov(fit)) / diag(stats::vcov(at_estimates(fit))))
    ifelse(changed == max(changed), 1 / sqrt(1 - tried$rho), 1)
  }
  worst <- which.max(abs(log(ratio)))
  if (abs(ratio[worst] - 1) < visible_difference) return(NULL)
  names <- names(stats::coef(fit))
  name <- names[worst]
  new_note("uncertainty", sprintf(
    "The data say little about %s: its standard deviation may be %s. %s", quote_names(name),
    if (ratio[worst] > 1) sprintf("too small by %.0f %%", min(100 * (1 - 1 / ratio[worst]), 99)) else {
      sprintf("off by %.0f %%", 100 * (1 / ratio[worst] - 1))
    },
    prior_advice(fit, names[order(-abs(log(ratio)))][seq_len(sum(abs(ratio - 1) >= visible_difference))])
  ), name, said = FALSE)
}

#' Standard deviations of coefficients by points that were not believed, over those of the fit
#' @noRd
points_ratio <- function(fit, tried) {
  view <- fit
  view["states"] <- NULL
  own <- sqrt(diag(stats::vcov(fit)))
  weighed <- sqrt(diag(stats::vcov(with_points(view, tried$points))))
  ifelse(own > 0 & weighed > 0, weighed / own, 1)
}

# The standard deviation of a column, in a view of its predictor; 1 for one of two values and for contrasts of factors.
column_scale <- function(view, column) {
  spec <- fixed_spec(view$design$specs)
  part <- spec$assign[match(column, spec$columns)]
  factors <- attr(spec$terms, "factors")
  used <- if (part %in% seq_len(NCOL(factors))) rownames(factors)[factors[, part] > 0]
  if (length(used) && !any(vapply(unclass(view$data)[used], is_number_like, NA))) return(1)
  x <- printed_columns(spec, view$data)[, match(column, spec$columns)]
  if (length(unique(x)) > 2L) stats::sd(x) else 1
}

# The coefficients of all predictors, in units of what a standard deviation of their columns does.
scaled_sds <- function(fit) {
  unlist(by_predictor(fit, function(view) {
    sd <- sqrt(diag(stats::vcov(view)))
    sd * vapply(names(sd), function(column) column_scale(view, column), 0)
  }))
}

# ---- priors to type ----

#' What helps where the data say little about coefficients: priors of those of them that have none of the user's
#' @param names Coefficients, the one that the message is about first. Those of its predictor count.
#' @noRd
prior_advice <- function(fit, names) {
  names <- names[predictor_of_name(fit, names) == predictor_of_name(fit, names[1L])]
  open <- names[open_priors(fit, names)]
  if (!length(open)) {
    return(paste(
      "It has a prior that you gave: a narrower one, fewer predictors or another family would help, if your problem",
      "allows it."
    ))
  }
  given <- !all(open_priors(fit, names(stats::coef(fit))))
  sprintf(
    "%s that says how large effects may be, such as prior = %s.",
    if (given) "To the priors that you gave, add one" else "Give a prior", prior_to_type(fit, open)
  )
}

#' The columns of the fixed effects that coefficients of predictor k belong to: list(view, column), column NA for
#' those of other predictors
#' @noRd
columns_of_names <- function(fit, names, k) {
  view <- predictors(fit)[[k]]
  columns <- fixed_spec(view$design$specs)$columns
  all <- coefficient_rows(view, paste0(if (k > 1L) coefficient_prefix(predictor_names(fit)[k]), columns))
  list(view = view, column = rep_len(columns, length(all))[match(names, all)])
}

#' Which coefficients have a default or a flat prior?
#' @noRd
open_priors <- function(fit, names) {
  owner <- predictor_of_name(fit, names)
  open <- logical(length(names))
  for (k in unique(owner)) {
    own <- owner == k
    column <- columns_of_names(fit, names[own], k)$column
    key <- paste0(if (k > 1L) coefficient_prefix(predictor_names(fit)[k]), column)
    open[own] <- vapply(fit$prior[key], function(prior) {
      is.null(prior) || isTRUE(attr(prior, "open")) || is_flat(prior)
    }, NA)
  }
  open
}

#' Priors of these coefficients as the user types them, list(at_means = normal(4.8, 1.5), zi = list(x = normal(0, 0.3)))
#'
#' An intercept has the prior of the predictor at the means of the columns, around the mean of the default prior; slopes
#' are in units of their columns.
#' @noRd
prior_to_type <- function(fit, names) {
  owner <- predictor_of_name(fit, names)
  parts <- lapply(sort(unique(owner)), function(k) {
    at <- columns_of_names(fit, names[owner == k], k)
    typed <- typed_of_columns(fit, at$view, unique(at$column), k)
    typed <- paste(names(typed), typed, sep = " = ", collapse = ", ")
    if (k == 1L) typed else sprintf("%s = list(%s)", predictor_names(fit)[k], typed)
  })
  sprintf("list(%s)", paste(parts, collapse = ", "))
}

# normal(), named by what it is the prior of.
typed_of_columns <- function(fit, view, columns, k) {
  spec <- fixed_spec(view$design$specs)
  level <- predictor_level(fit, view, k)
  as_text <- function(mean, sd) {
    sprintf("normal(%s, %s)", code_number(mean), vapply(signif(sd, 2L), code_number, "", USE.NAMES = FALSE))
  }
  slopes <- setdiff(columns, "(Intercept)")
  sd <- vapply(slopes, function(column) level$unit / column_scale(view, column), 0)
  of_slopes <- stats::setNames(as_text(0, sd), list_names(slopes))
  # what several have is the default where no other slope would get it
  all <- spec$columns[spec$columns != "(Intercept)" & !are_thresholds(spec) & shown_columns(spec)]
  prefix <- if (k > 1L) coefficient_prefix(predictor_names(fit)[k])
  all <- all[open_priors(fit, paste0(prefix, all))]
  common <- names(which.max(table(of_slopes)))
  if (length(slopes) > 1L && setequal(all, slopes) && sum(of_slopes == common) > 1L) {
    of_slopes <- c(of_slopes[of_slopes != common], default = common)
  }
  if (!"(Intercept)" %in% columns) return(of_slopes)
  of_level <- as_text(round(level$mean, 1L - floor(log10(level$unit))) + 0, level$unit)
  c(stats::setNames(of_level, if (length(spec$columns) > 1L) "at_means" else "intercept"), of_slopes)
}

#' Where a predictor lies at the means of its columns, and how far from there a prior may reach
#' @return list(mean: of the default prior where the intercept has that, else of the posterior; unit)
#' @noRd
predictor_level <- function(fit, view, k) {
  spec <- fixed_spec(view$design$specs)
  same_units <- k == 1L && link_has(fit$family, "same_units")
  s <- if (same_units) stats::sd(fit$model$y) else 1
  j <- match("(Intercept)", spec$columns)
  mean <- 0
  prefix <- if (k > 1L) coefficient_prefix(predictor_names(fit)[k])
  prior <- if (!is.na(j)) fit$prior[[paste0(prefix, spec$columns[j])]]
  if (isTRUE(attr(prior, "open"))) {
    mean <- spec$coding$mean[j] * spec$coding$A[j, j]
    s <- if (same_units) spec$coding$A[j, j] / 10 else max(1, spec$coding$A[j, j] / 10)
  } else if (!is.na(j) && n_latents(view) == 1L) {
    beta <- fixed_coefficients(view, hidden = TRUE)$mean[, 1L]
    mean <- beta[j] + if (is.null(spec$coding)) 0 else sum(spec$coding$centre * beta)
  }
  list(mean = unname(mean), unit = (if (same_units) 2.5 else 1.5) * s)
}

# Where points far from a Gaussian and a mixture of states differ by less than this factor, the states are believed.
large_difference <- 2

#' The fit at its estimated hyperparameters where states around them are not to be trusted either
#' @noRd
without_refused_states <- function(fit, tried) {
  if (is.null(fit$states) || isTRUE(fit$integrated) || is.null(tried$refused) || !nzchar(tried$refused)) return(fit)
  # of classes without covariates the thresholds are all that is uncertain, and there is nothing that points could move
  if (!has_uncertain(fit) || !is.null(tried$points) && max(points_ratio(fit, tried)) < large_difference) return(fit)
  fit$convergence$uncertainty$method <- "factorised"
  at_estimates(fit)
}

#' Warns where standard deviations are not to be trusted: the time was over, or the posterior is too far from every Gaussian
#' @noRd
warn_uncertainty <- function(fit, tried) {
  if (isTRUE(tried$unfinished) && !isTRUE(fit$stopped)) {
    warn_galvi("uncertainty", paste(
      "The time limit `max_seconds` was reached before the uncertainty was found: standard deviations and intervals are",
      "those at the estimated hyperparameters, which have no intervals. Allow more seconds in galvi_control()."
    ), call = fit$call)
    return(invisible())
  }
  if (warn_separation(fit)) return(invisible())
  if (is.null(tried$refused) || !nzchar(tried$refused) || uncertainty_method(fit) != "factorised") return(invisible())
  if (!has_uncertain(fit)) return(invisible())
  ratio <- if (!is.null(tried$points)) points_ratio(fit, tried) else Inf
  names <- names(stats::coef(fit))
  weak <- if (all(is.finite(ratio))) {
    names[order(-abs(log(ratio)))][seq_len(max(1L, sum(abs(ratio - 1) >= visible_difference)))]
  } else {
    sd <- scaled_sds(fit)
    names[order(-sd)][seq_len(sum(sd > max(sd) / 2))]
  }
  warn_galvi("uncertainty", sprintf(
    "Standard deviations and intervals may be much too small: %s. The data say little about `%s`. %s", tried$refused,
    weak[1L], prior_advice(fit, weak)
  ), call = fit$call)
}

#' Warns where classes are separated and a flat prior of a slope leaves estimates without end; was it said?
#' @noRd
warn_separation <- function(fit) {
  spec <- fixed_spec(fit$design$specs)
  slopes <- if (!is.null(spec)) spec$columns[spec$assign > 0L & !are_thresholds(spec)]
  flat <- Filter(function(name) is_flat(fit$prior[[name]]), slopes)
  separated <- if (length(flat)) separation(fit)
  if (is.null(separated)) return(FALSE)
  warn_galvi("uncertainty", sprintf(paste(
    "%s so under a flat prior estimates have no end, and these numbers mean nothing. The data say little about %s: give",
    "it a prior that says how large effects may be, such as prior = %s."
  ), separated, quote_names(flat[1L]), prior_to_type(fit, flat[1L])), call = fit$call)
  TRUE
}

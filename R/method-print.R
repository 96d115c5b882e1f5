#' Print and summarise fits
#'
#' `print()` shows the call, the family, fixed effects, standard deviations of random effects, smooths, other
#' hyperparameters, and the log marginal likelihood or its bound. `summary()` adds how the fit was computed, where
#' standard deviations come from, and whether it converged; `print()` says so of standard deviations that take learned
#' hyperparameters as known although `galvi_control(uncertainty = "factorised")` was not asked for. Warnings come last.
#'
#' @details
#' Fixed effects are shown with their posterior mean, standard deviation and credible interval, and standard deviations of
#' random effects with an interval: the estimate is where the bound is largest. For other hyperparameters,
#' `sqrt(variance)` is the square root of the estimate where it is a variance, `lwr` and `upr` are the limits of an
#' interval, which are empty where a line below says why there is none, and `status` is `learned`, `fixed`, or `at
#' bound` for an estimate at the end of its range. Correlations of so many random effects that their table would be
#' wider than `getOption("width")` are in [VarCorr()][VarCorr.galvi] only.
#'
#' @param object,x A fit of [galvi()], or its summary.
#' @param level Probability of the credible intervals, between 0 and 1.
#' @param digits Number of significant digits.
#' @param ... Must be empty, except for the layout arguments of [print.default()] in `print()`.
#' @return `print()` returns its argument invisibly. `summary()` returns a list of class `summary.galvi` with, among
#'   others,
#' * `call`, `family`, `nobs`;
#' * `coefficients`: a matrix of the fixed effects with columns `mean`, `sd` (posterior standard deviation) and the
#'   limits of a credible interval, or NULL;
#' * `thresholds`: those of an ordinal response, a data frame with `between` (their names), `estimate` and `status` (as
#'   in `hyper`), and `mean`, `sd` (of the posterior) and the limits `lwr` and `upr`, which are NA where the posterior is
#'   that at their estimates; or NULL;
#' * `level`: as given;
#' * `hyper`: the data frame `fit$hyper` with limits `lwr`, `upr` at `level` and a column `sqrt_variance`: the square
#'   root of variance parameters, that is the standard deviation of the effects or of the noise, not the uncertainty of
#'   the estimate;
#' * `varcorr`: standard deviations and correlations of random effects, see [VarCorr.galvi()], or NULL;
#' * `smooths`: a data frame of [smooths] with a row for each of their variances: `name`, `term`, `sd` (its square
#'   root), limits `lwr`, `upr`, `status`, and for each term `edf`, its effective degrees of freedom, and `most`, the
#'   number of its coefficients; or NULL;
#' * `shared`: the loadings of each `gp(share = )`, see [gp()];
#' * `joint`: TRUE if the coefficients come from a joint posterior of all classes (see [coef.galvi()]);
#' * `note`: a sentence if posterior sds are too small (see [coef.galvi()]), or NULL;
#' * `notes`: what the data do not determine, or what priors decide, see the section on notes in [galvi-fit]; or NULL;
#' * `logLik`, `convergence`, and `certificate`, a sentence on how close the bound is to its maximum;
#' * `method`, `expectation`, `cost`, `seconds`: how the fit was computed;
#' * `inducing`: the number of inducing points of each sparse [gp()];
#' * `neighbours`: a line about each `gp(neighbours = )`;
#' * `starts` and `starts_agree`: the bounds of several starts, if there were some, and whether they are the same.
#' @section Errors:
#' `galvi_error_argument` if an argument is not as described.
#' @seealso [galvi-fit] for the components of a fit, [check_fit()] for more diagnostics, [tidy.galvi()] for data frames.
#' @family predictions and draws
#' @examples
#' fit <- galvi(mpg ~ wt + (1 | cyl), data = mtcars)
#' fit
#' summary(fit)
#' summary(fit, level = 0.9)$coefficients
#' @name print.galvi
NULL

#' @rdname print.galvi
#' @export
print.galvi <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.galvi)
  summary <- summary.galvi(x)
  print_model(summary, digits)
  if (falls_short(x)) print_wrapped(uncertainty_line(x))
  for (line in summary$missing_limits) print_wrapped(line)
  print_warnings(x)
  invisible(x)
}

#' What print() of a fit and of its summary share
#' @param x A summary.
#' @noRd
print_model <- function(x, digits) {
  check_whole(digits, "digits", upper = 22)
  print_call(x$call, x$formulas)
  cat("Family: ", x$family, "\n", sep = "")
  what <- if (is.null(x$coefficients)) ": none" else sprintf(" (%sposterior mean, sd and interval):",
    if (is.null(x$events)) "" else "log hazard ratios; ")
  cat("\nFixed effects", what, "\n", sep = "")
  if (!is.null(x$coefficients)) print_coefficients(x$coefficients, x$notes, digits)
  print_factors(x$factors, digits)
  print_thresholds(x$thresholds, x$level, digits)
  print_random(x$varcorr, x$level, digits)
  print_smooths(x$smooths, digits)
  print_shared(x$shared, digits)
  print_hyper(x$hyper[!x$random & !x$smooth, ], x$thresholds, digits)
  left <- if (x$left_out) sprintf(" (%s left out for missing values)", whole_words(x$left_out))
  cat("\n", whole_words(x$nobs), if (x$nobs == 1L) " observation" else " observations",
    if (!is.null(x$events)) sprintf(", %s events", whole_words(x$events)), left, "; ",
    evidence_line(x$logLik, digits), "\n", sep = "")
  if (x$sets) print_wrapped(sprintf("Mean of %d data sets: an equal mixture of their fits, fit$fits.", x$sets))
}

#' The call as it was written; data that do.call() put into it are named, not shown. The formula too, where the
#' call has only its name.
#' @noRd
print_call <- function(call, formulas) {
  written <- call
  described <- character()
  for (i in seq_along(call)[-1L]) {
    value <- call[[i]]
    if (!missing(value) && !is.null(value) && !is.language(value) && length(deparse(value, nlines = 3L)) > 2L) {
      words <- describe(value)
      described <- c(described, words)
      written[[i]] <- as.name(words)
    }
  }
  text <- deparse(written, width.cutoff = 0.8 * getOption("width"))
  for (words in described) text <- gsub(sprintf("`%s`", words), words, text, fixed = TRUE)
  cat("Call:  ", paste(text, collapse = "\n  "), "\n", sep = "")
  if (is.call(call$formula)) return(invisible())
  for (f in formulas) print_wrapped(paste("Formula:", deparse_one(f)), 4L)
}

#' Notes and warnings, printed last
#' @noRd
print_warnings <- function(fit, note = if (length(coef.galvi(fit))) narrow_note(fit)) {
  print_fit_notes(fit$notes, inherits(fit, "summary.galvi"))
  print_note(note)
  said <- length(fit$convergence$message) && nzchar(fit$convergence$message)
  if (said || !fit$convergence$converged) print_message(fit$convergence)
  print_penalty(fit$penalty)
}

# How many rows were left out for missing values.
left_out <- function(x) if (is.null(x$omitted)) length(x$na.action) else x$omitted

#' A sentence if the posterior sds of coefficients are too small, else NULL
#' @noRd
narrow_note <- function(fit) {
  if (!ignores_dependence(fit) || n_predictors(fit) > 1L) return(NULL)
  paste(
    "The posterior standard deviations and intervals of these coefficients are too small, and their",
    "covariances between classes are zero, because the approximation treats the classes as independent."
  )
}

print_note <- function(note) if (!is.null(note)) print_wrapped(paste("Note:", note))

print_message <- function(convergence) {
  said <- Filter(nzchar, convergence$message)
  print_wrapped(paste0(paste(c(if (convergence$converged) "Note" else "NOT CONVERGED", said), collapse = ": "), "."))
}

evidence_line <- function(value, digits) {
  number <- format(c(value), digits = max(digits, 6L))
  switch(attr(value, "kind"),
    exact = paste("log evidence:", number),
    bound = paste("log evidence bound (ELBO):", number),
    approximation = paste("log evidence: about", number)
  )
}

#' In words: the gap between the bound and its maximum over all Gaussians, at these hyperparameters
#' @noRd
certificate <- function(fit) {
  if (fact("inference", fit$method, "evidence") == "exact") {
    return(if (leaves_variance(fit)) "the bound is at its maximum" else "the posterior is exact")
  }
  gap <- fit$convergence$gap
  if (length(gap) != 1L || is.na(gap)) return(why_no_certificate(fit))
  paste0("bound within ", in_nats(gap), " of its maximum", duality_gap(fit))
}

why_no_certificate <- function(fit) {
  if (evidence_kind(fit) == "approximation") return("no certificate for an approximation of the evidence")
  concave <- vapply(fit$model$prior_rows, function(row) row$type %in% c("double_exponential", "logistic"), NA)
  one_optimum <- facts_of(fit)$log_concave && all(concave)
  if (!one_optimum) return("no certificate, as the bound may have several maxima")
  if (length(concave)) "one maximum, but no certificate, which needs normal priors" else "no certificate under a flat prior"
}

#' The duality gap, if the dual was minimised
#' @noRd
duality_gap <- function(fit) {
  if (!fact("inference", fit$method, "dual_value")) return("")
  paste0(" (duality gap ", in_nats(fit$trace$gap[nrow(fit$trace)]), ")")
}

#' Square roots of variances, in the units of the effects; not called sd, which is a posterior standard deviation
#' @noRd
with_roots <- function(hyper) {
  is_variance <- grepl("(^|[._])variance([._]|$)", hyper$parameter)
  root <- rep(NA_real_, nrow(hyper))
  root[is_variance] <- sqrt(hyper$estimate[is_variance])
  hyper$sqrt_variance <- root
  hyper
}

#' Rows of the hyperparameters without the fixed prior sds of fixed effects, which are one for each, in
#' `fit$prior`, and no estimates
#' @noRd
without_prior_sds <- function(hyper) hyper[!(hyper$parameter == "sd" & hyper$status == "fixed"), ]

#' The thresholds of an ordinal response: a data frame with columns between, estimate, status, mean, sd, lwr, upr; else
#' NULL
#' @noRd
threshold_table <- function(fit, level) {
  value <- thresholds(fit)
  if (is.null(value)) return(NULL)
  at <- fit$model$likelihood$hyper$thresholds
  status <- fit$hyper$status[match(fit$model$hyper$name[at], fit$hyper$name)]
  moments <- threshold_moments(fit)
  limits <- if (!is.null(moments)) threshold_limits(fit, level)
  column <- function(x) unname(or_else(x, rep(NA_real_, length(at))))
  data.frame(
    between = names(value), estimate = family_parameter(fit, "thresholds"), status = status,
    mean = column(moments$mean), sd = column(moments$sd), lwr = column(limits[, 1L]), upr = column(limits[, 2L])
  )
}

print_thresholds <- function(table, level, digits) {
  if (is.null(table)) return(invisible())
  known <- !anyNA(table$sd)
  cat("\nThresholds", if (known) " (posterior mean, sd and interval)" else if (all(table$status == "fixed")) " (fixed)",
    ":\n", sep = "")
  if (!known) return(print(stats::setNames(table$estimate, table$between), digits = digits))
  print(matrix(unlist(table[c("mean", "sd", "lwr", "upr")]), nrow(table),
    dimnames = list(table$between, c("mean", "sd", limit_names(level)))), digits = digits)
}

#' Which hyperparameters are those of random effects?
#' @noRd
of_random_effects <- function(fit) {
  specs <- all_specs(fit$design)
  fit$hyper$term %in% vapply(specs[which_can(specs, "grouped") | which_can(specs, "residual")], `[[`, "", "label") |
    fit$hyper$name %in% fit$model$hyper$name[rest_of_noise(fit)]
}

#' Which hyperparameters are loadings of shared processes? Tables of the functions' covariances stand for them.
#' @noRd
is_loading <- function(hyper) startsWith(hyper$parameter, "loading[")

#' As lme4 has them, with intervals: standard deviations and correlations
#' @noRd
print_random <- function(covariances, level, digits) {
  if (is.null(covariances)) return(invisible())
  residual <- names(covariances) == "Residual"
  known <- !all(is.na(as.data.frame(covariances)$lwr))
  cat(if (all(residual)) "\nResiduals" else "\nRandom effects",
    if (known) " (SD with interval, correlation):\n" else " (SD, correlation):\n", sep = "")
  limits <- if (known) limit_names(level)
  hidden <- logical(length(covariances))
  table <- format_covariances(covariances, digits, limits)
  # a wider table would be printed in blocks, all but the first without the names of effects
  for (i in order(-vapply(covariances, nrow, 1L))) {
    if (printed_width(table) <= getOption("width")) break
    without <- format_covariances(covariances, digits, limits, replace(hidden, i, TRUE))
    hidden[i] <- !identical(without, table)
    table <- without
  }
  print(table, quote = FALSE, right = FALSE)
  for (i in which(hidden)) {
    print_wrapped(sprintf("%s: VarCorr() has the correlations of its %d effects.", names(covariances)[i],
      nrow(covariances[[i]])))
  }
}

# Of a character matrix without row names.
printed_width <- function(table) sum(1L + apply(rbind(colnames(table), table), 2L, function(x) max(nchar(x))))

#' @param thresholds From threshold_table(): they have been printed.
#' @noRd
print_hyper <- function(hyper, thresholds, digits) {
  shown <- without_prior_sds(hyper)
  shown <- shown[!shown$parameter %in% thresholds$between, ]
  if (!nrow(shown)) return(invisible())
  cat("\nHyperparameters:\n")
  root <- shown$sqrt_variance
  table <- data.frame(
    name = format(shown$name), estimate = vapply(shown$estimate, format, "", digits = digits),
    root = ifelse(is.na(root), "", vapply(root, format, "", digits = digits)), lwr = format_limits(shown$lwr, digits),
    upr = format_limits(shown$upr, digits), status = shown$status
  )
  if (all(is.na(shown$lwr))) table[c("lwr", "upr")] <- NULL
  names(table)[c(1L, 3L)] <- c("", "sqrt(variance)")
  if (all(is.na(root))) table <- table[-3L]
  print(table, row.names = FALSE)
}

# Limits of hyperparameters, empty where there are none.
format_limits <- function(x, digits) ifelse(is.na(x), "", vapply(x, format, "", digits = digits))

#' @rdname print.galvi
#' @export
summary.galvi <- function(object, level = 0.95, ...) {
  refuse_dots(list(...), summary.galvi, "summary()")
  level <- check_level(level)
  coefficients <- NULL
  V <- vcov.galvi(object)
  if (nrow(V)) {
    mean <- coefficient_means(object)
    coefficients <- cbind(mean = mean, sd = root_or_na(diag(V)), confint.galvi(object, level = level))
  }
  hyper <- hyper_at_level(object, level)
  smooth <- of_smooths(object)
  structure(
    list(
      call = object$call, formulas = all_formulas(object),
      family = family_label(object),
      nobs = nobs.galvi(object), events = count_events(object), left_out = left_out(object),
      method = object$method, expectation = object$expectation, backend = object$backend,
      coefficients = coefficients, thresholds = threshold_table(object, level), level = level,
      hyper = with_roots(hyper), missing_limits = missing_limits(object),
      random = of_random_effects(object) | is_loading(object$hyper),
      varcorr = if (any(of_random_effects(object))) VarCorr.galvi(object, level = level),
      smooth = smooth, smooths = smooth_table(object, hyper),
      shared = shared_loadings(object$design, object$model, object$posterior$hyper),
      factors = if (!is.null(object$factors)) list(text = factor_lines(object), effects = object$factors$effects),
      notes = object$notes, note = if (!is.null(coefficients)) narrow_note(object), joint = is_coupled(object),
      uncertainty = uncertainty_line(object),
      sets = length(object$fits), logLik = logLik.galvi(object), certificate = certificate(object), convergence = object$convergence,
      iterations = nrow(object$trace), seconds = max(object$trace$seconds, 0), cost = object$cost,
      inducing = vapply(object$inducing, nrow, 1L), neighbours = neighbour_lines(object), knots = knot_lines(object),
      starts = object$starts,
      starts_agree = starts_agree(object$starts), penalty = object$penalty
    ),
    class = "summary.galvi"
  )
}

#' @rdname print.galvi
#' @export
print.summary.galvi <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.summary.galvi)
  print_model(x, digits)
  print_wrapped(sprintf(
    "Method: %s; expectations: %s; %s.", x$method, gsub("_", " ", x$expectation), cost_words(x)
  ))
  if (x$joint) print_wrapped("Coefficients: from a joint posterior of all classes.")
  if (!is.null(x$uncertainty)) print_wrapped(x$uncertainty)
  for (line in x$missing_limits) print_wrapped(line)
  for (term in tight_smooths(x$smooths)) {
    print_wrapped(sprintf("%s uses nearly all degrees of freedom that its k allows: try a larger k.", term))
  }
  if (length(x$inducing)) {
    print_wrapped(sprintf("%s: %d inducing points, in $inducing of the fit.", names(x$inducing), x$inducing))
  }
  for (line in c(x$neighbours, x$knots)) print_wrapped(line)
  if (!is.null(x$starts)) print_wrapped(starts_words(x$starts, x$starts_agree))
  if (x$convergence$converged) print_wrapped(paste0("Converged: ", x$certificate, "."))
  print_warnings(x, x$note)
  invisible(x)
}

# A line for each gp(neighbours = ): how many places it has, and how many neighbours each.
neighbour_lines <- function(fit) {
  jitter <- fit$convergence$jitter
  lines <- lapply(all_specs(fit$design), function(spec) {
    if (is.null(spec$neighbours)) return(NULL)
    sprintf(
      "%s: %s %s, each given %d neighbours before it%s.", spec$label, whole_words(nrow(spec$nodes$places)),
      if (spec$nodes$between) "nodes" else "places", ncol(spec$nodes$neighbours),
      if (any(jitter > 0)) sprintf(", with white noise of %s of the variance", format(max(jitter))) else ""
    )
  })
  unlist(lines)
}

cost_words <- function(x) {
  count <- function(n, what) {
    if (length(n)) paste(whole_words(n), if (n == 1) what else paste0(what, "s"))
  }
  parts <- c(
    count(x$iterations, "step"), count(x$cost$factorisations, "factorisation"),
    paste(format(x$seconds, digits = 2L), "seconds")
  )
  paste(parts, collapse = ", ")
}

#' Do several starts reach the same bound? NA if there was one
#' @noRd
starts_agree <- function(starts) {
  if (is.null(starts) || nrow(starts) < 2L) return(NA)
  # in nats: less than a factor of 1.001 in the evidence
  diff(range(starts$elbo)) < 1e-3
}

starts_words <- function(starts, agree) {
  if (isTRUE(agree)) return(sprintf("%d starts, which reach the same bound.", nrow(starts)))
  bounds <- paste(format(starts$elbo, digits = 6L), collapse = ", ")
  if (is.na(agree)) return(sprintf("1 start; its bound: %s.", bounds))
  sprintf("%d starts, which do not agree; the best is kept. Their bounds: %s.", nrow(starts), bounds)
}

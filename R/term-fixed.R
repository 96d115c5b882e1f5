# Fixed effects: the columns of a model matrix. Typed priors are independent; open ones are one joint prior
# (R/term-fixed-coding.R).

# W: N x q with its column names; assign as model.matrix() has it.
fixed_matrix <- function(terms, frame, contrasts = NULL) {
  if (!is.null(attr(terms, "specific"))) return(stage_columns(terms, frame, contrasts))
  W <- plain_matrix(terms, frame)
  if (is.null(W)) W <- stats::model.matrix(terms, frame, contrasts.arg = contrasts)
  list(W = W, assign = attr(W, "assign"), contrasts = attr(W, "contrasts"))
}

# Main effects of plain numbers need no model.matrix(), which costs more than the rest of the front end
# together.
plain_matrix <- function(terms, frame) {
  labels <- attr(terms, "term.labels")
  if (!length(labels) || any(attr(terms, "order") > 1L)) return(NULL)
  names <- vapply(as.list(attr(terms, "variables"))[-1L], variable_name, "")
  if (length(names) != length(labels)) return(NULL)
  columns <- unclass(frame)[names]
  plain <- vapply(columns, function(x) is.numeric(x) && is.null(dim(x)) && !is.factor(x), NA)
  if (!all(plain)) return(NULL)
  intercept <- attr(terms, "intercept") == 1L
  # filled in place: no second copy of the table
  W <- matrix(1, nrow(frame), intercept + length(labels))
  for (j in seq_along(labels)) W[, intercept + j] <- columns[[j]]
  colnames(W) <- c(if (intercept) "(Intercept)", labels)
  attr(W, "assign") <- c(if (intercept) 0L, seq_along(labels))
  W
}

# A family without an intercept (its thresholds stand for it) has the columns that go with one, `0 +` or not.
without_intercept <- function(built) {
  kept <- built$assign != 0L
  built$W <- built$W[, kept, drop = FALSE]
  built$assign <- built$assign[kept]
  built
}

#' Contrasts of a fit that hold for any levels of a factor; a matrix belongs to the factor, which has it
#' @noRd
named_contrasts <- function(contrasts) Filter(is.character, contrasts)

# A part of a model, or a term, with those of the fit.
keep_contrasts <- function(own, fitted) replace(own, "contrasts", list(named_contrasts(fitted$contrasts)))

# contrasts: those of a fit that is fitted again, else NULL. -> list(spec, rows, term, priors), as design_term(), and
# what else a prior may name
design_fixed <- function(terms, frame, context, contrasts = NULL) {
  check_fixed_variables(terms, frame)
  check_fixed_size(terms, frame)
  if (!context$intercept) attr(terms, "intercept") <- 1L
  built <- fixed_matrix(terms, frame, contrasts)
  # where nothing else is in the formula the intercept stays, fixed at 0
  intercept <- context$intercept || context$alone && ncol(built$W) == 1L
  if (!intercept) built <- without_intercept(built)
  W <- built$W
  check_finite_columns(W)
  spec <- structure(list(
    type = fixed_label, label = fixed_label, terms = terms, assign = built$assign, contrasts = built$contrasts,
    columns = colnames(W), intercept = intercept, parameter = context$parameter,
    hidden = c("(Intercept)", attr(terms, "term.labels"))[built$assign + 1L] %in% attr(terms, "hidden")
  ), class = c("fixed_term", "term"))
  known <- c(spec$columns, attr(terms, "term.labels"))
  if (!ncol(W)) return(list(spec = spec, known = known))
  priors <- typed_priors(spec, context)
  spec$at_means <- at_means_typed(context$prior)
  spec$coding <- fixed_coding(W, priors, spec, context)
  term <- c(
    list(type = "columns", label = fixed_label), fixed_prior_columns(priors, spec, context$registry, context$proper)
  )
  list(
    spec = spec, rows = list(W = coded(W, spec$coding, context$threads)), term = term,
    priors = shown_priors(priors, spec), known = known,
    prior_rows = heavy_rows(priors, spec, at_means_typed(context$prior), context$proper, context$registry)
  )
}

#' @export
spec_rows.fixed_term <- function(spec, frame) list(W = coded(printed_columns(spec, frame), spec$coding))

#' The columns as users see them, for any frame: n x q
#' @noRd
printed_columns <- function(spec, frame) {
  built <- fixed_matrix(spec$terms, frame, spec$contrasts)
  W <- if (spec$intercept) built$W else without_intercept(built)$W
  if (!identical(colnames(W), spec$columns)) {
    stop_galvi("newdata", sprintf(
      "The variables of `newdata` must be what they were in the fit: they give the columns %s, not %s.",
      quote_names(colnames(W)), quote_names(spec$columns)
    ))
  }
  check_finite_columns(W)
  strip_matrix(W)
}

# Variables that model.matrix() cannot use.
check_fixed_variables <- function(terms, frame) {
  for (name in vapply(as.list(attr(terms, "variables"))[-1L], variable_name, "")) {
    x <- frame[[name]]
    class <- is.character(x) || is.factor(x)
    if (!is_number_like(x) && !(class && is.null(dim(x)))) {
      stop_galvi("data", sprintf(
        "`%s` must be numbers, a factor, text or logical to be a fixed effect, not %s.", name, describe(x)
      ))
    }
    if (class && length(unique(x)) < 2L) {
      stop_galvi("data", sprintf(
        "`%s` has one level only (%s), which cannot be a fixed effect: leave it out.", name,
        dQuote(as.character(x[1L]), FALSE)
      ))
    }
  }
}

# Only the column names stay: row names of 100,000 rows cost more than the numbers.
strip_matrix <- function(W) {
  attributes(W) <- list(dim = dim(W), dimnames = list(NULL, colnames(W)))
  W
}

check_finite_columns <- function(W) {
  total <- colSums(W)
  if (all(is.finite(total))) return(invisible())
  check_finite_inputs(W, colnames(W))
}

# ---- priors ----

# The prior that is typed for each column, or NULL. From the most to the least specific: the column's own name, its
# term's label, `intercept` or `default`. `at_means` is a prior of the predictor at the means of the columns.
typed_priors <- function(spec, context) {
  labels <- c("intercept", attr(spec$terms, "term.labels"))[spec$assign + 1L]
  lapply(seq_along(spec$columns), function(j) {
    slope <- spec$assign[j] > 0L
    if (labels[j] == stage_names[["stage"]]) return(threshold_prior(spec$columns[j], context$prior))
    if (!is.null(context$responses) && labels[j] == wide_names[["item"]]) {
      prior <- chosen_prior(context$prior, c(spec$columns[j], labels[j], "intercept", "at_means"))
      return(if (!isTRUE(attr(prior, "open"))) prior)
    }
    if (!slope && !context$intercept) return(new_value("normal", mean = 0, sd = 0))
    prior <- chosen_prior(context$prior, c(spec$columns[j], labels[j], if (slope) "default" else "at_means"))
    if (!slope && is_horseshoe(prior)) {
      stop_galvi("prior", paste(
        "horseshoe() is a prior of slopes, which it shrinks to zero: give the intercept normal() or student_t()."
      ))
    }
    # that of a fit is open again
    if (!isTRUE(attr(prior, "open"))) prior
  })
}

#' How the columns enter the core (column_coding())
#' @noRd
fixed_coding <- function(W, typed, spec, context) {
  if (!is.null(context$responses)) return(coding_of_responses(W, typed, spec, context))
  if (any(are_thresholds(spec))) return(coding_of_stages(W, typed, spec, context))
  intercept <- spec$assign == 0L
  open <- !intercept & vapply(typed, is.null, NA)
  of_intercept <- typed[which(intercept)]
  at <- if (!context$intercept) {
    # thresholds stand for the intercept of the response's predictor alone
    own <- !any(intercept) && is.null(context$parameter)
    if (own && may_centre_thresholds(W, context)) "thresholds" else "none"
  } else if (!any(intercept)) {
    "none"
  } else if (is.null(of_intercept[[1L]]) || is_flat(of_intercept[[1L]]) || at_means_typed(context$prior) ||
    is_heavy(of_intercept[[1L]]) && !isTRUE(context$proper)) {
    "means"
  } else {
    "zero"
  }
  check_scales(W, spec, context)
  coding <- column_coding(
    W, open, intercept, at, context$centre, context$spread, context$weights, context$threads
  )
  # thresholds of a fit stay what they are there
  if (context$held && centres_thresholds(coding)) coding$carried <- start_level(context$start, coding)
  # an open intercept is a column of 10 s with a standard normal coefficient
  if (any(intercept) && is.null(typed[[which(intercept)]])) {
    if (is.null(coding)) coding <- as_they_are(ncol(W))
    width <- 10 * context$spread
    coding$B[intercept, intercept] <- coding$A[intercept, intercept] <- width
    coding$mean[intercept] <- context$centre / width
  }
  coding
}

#' The coding of several responses: each has columns that are zero elsewhere, with the default priors that it would have
#' alone
#' @noRd
coding_of_responses <- function(W, typed, spec, context) {
  check_scales(W, spec, context)
  q <- ncol(W)
  own_intercept <- c("", attr(spec$terms, "term.labels"))[spec$assign + 1L] == wide_names[["item"]]
  out <- as_they_are(q)
  out$at <- "none"
  out$tied <- logical(q)
  left <- rep(TRUE, q)
  for (response in context$responses) {
    X <- W[response$rows, , drop = FALSE]
    # a column of zeros is that of any response
    at <- which(left & (colSums(X != 0) > 0 | colSums(W != 0) == 0))
    left[at] <- FALSE
    if (!length(at)) next
    part <- list(assign = ifelse(own_intercept[at], 0L, spec$assign[at]), columns = spec$columns[at])
    own <- replace(context, c("responses", "centre", "spread", "weights"), list(
      NULL, response$centre, response$spread, context$weights[response$rows]
    ))
    coding <- fixed_coding(X[, at, drop = FALSE], typed[at], part, own)
    if (is.null(coding)) next
    # of columns of one response X A is what the core takes, and it is zero in the others' rows
    out$A[at, at] <- out$B[at, at] <- if (is_through_origin(coding)) coding$A else coding$B
    out$mean[at] <- coding$mean
    if (!is.null(coding$tied)) out$tied[at] <- coding$tied
  }
  out
}

# Is a constant among the columns, which takes up their centres?
is_through_origin <- function(coding) any(coding$centre != 0) || any(coding$level != 0)

# Thresholds that are typed belong to columns as they are printed; those of a fit to its means.
may_centre_thresholds <- function(W, context) {
  if (!context$held) return(TRUE)
  known <- if (inherits(context$start, "galvi")) fixed_spec(context$start$design$specs)$coding
  centres_thresholds(known) && isTRUE(all.equal(known$centre, column_means(W, context$weights), tolerance = 1e-8))
}

is_flat <- function(prior) identical(prior$sd, Inf)

at_means_typed <- function(prior) {
  "at_means" %in% names(prior) && !any(c("intercept", "(Intercept)") %in% names(prior))
}

check_scales <- function(W, spec, context) {
  sd <- slope_scale(W, context$weights)
  small <- sd < 1 & !is.finite((context$spread / sd)^2) & is.finite(context$spread^2)
  bad <- which(!is.finite(sd) | small)[1L]
  if (is.na(bad)) return(invisible())
  stop_galvi("data", sprintf(
    "`%s` has values so %s overflows: use other units.", spec$columns[bad],
    if (small[bad]) "small that the variance of its default prior" else "large that their variance"
  ))
}

#' The priors of the coefficients that users see: typed ones, and of open ones the normal margins of their joint prior
#' @noRd
shown_priors <- function(typed, spec) {
  coding <- spec$coding
  open <- vapply(typed, is.null, NA)
  if (any(open)) {
    # a typed width belongs to the coefficient alone; other columns of A carry open ones
    A <- coding$A[, open, drop = FALSE]
    mean <- drop(A %*% coding$mean[open])
    sd <- sqrt(rowSums(A^2))
    typed[open] <- lapply(which(open), function(j) structure(normal(mean[j], sd[j]), open = TRUE))
  }
  stats::setNames(typed, paste0(if (!is.null(spec$parameter)) coefficient_prefix(spec$parameter), spec$columns))
}

# The first of `keys` that the user's list has, with or without the backticks of names with spaces.
chosen_prior <- function(prior, keys, default = NULL) {
  at <- match(without_backticks(keys), without_backticks(names(prior)))
  at <- at[!is.na(at)]
  if (length(at)) prior[[at[1L]]] else default
}

# sd(x_j); of a constant column its absolute value.
slope_scale <- function(W, weights) {
  sd <- column_sds(W, weights)
  size <- abs(column_means(W, weights))
  ifelse(sd > 0, sd, ifelse(size > 0, size, 1))
}

# -> list(mean: q, factors: q x 2); a standard deviation counts twice in a variance, and coefficients of open columns
# have a variance of one. Columns of one factor share a learned sd, as they share an entry of `prior`.
fixed_prior_columns <- function(priors, spec, registry, proper = FALSE) {
  q <- length(priors)
  heavy <- vapply(priors, is_heavy, NA)
  labels <- attr(spec$terms, "term.labels")
  position <- integer(q)
  seen <- list()
  position[heavy] <- heavy_bases(priors[heavy], spec, registry, proper)
  for (j in which(!heavy & !vapply(priors, is.null, NA))) {
    sd <- priors[[j]]$sd
    learned <- is_value(sd) && !is_fixed(sd)
    owner <- if (learned && spec$assign[j] > 0L) labels[spec$assign[j]] else spec$columns[j]
    owner <- sub("^\\(Intercept\\)$", "intercept", owner)
    if (!is.null(spec$parameter)) owner <- paste0(parameter_prefix(spec$parameter), owner)
    if (!is.null(seen[[owner]])) {
      position[j] <- seen[[owner]]
      next
    }
    position[j] <- seen[[owner]] <- prior_sd(sd, owner, registry, term = fixed_label)
  }
  mean <- vapply(seq_len(q), function(j) {
    own <- priors[[j]]
    if (is.null(own)) spec$coding$mean[j] else if (heavy[j]) heavy_prior(own)$location else own$mean
  }, 0)
  list(mean = mean, factors = cbind(position, position, deparse.level = 0))
}

# Registers the standard deviation of a normal() -> its position.
prior_sd <- function(sd, owner, registry, term) {
  start <- if (identical(sd, 0)) {
    list(value = 0, learned = FALSE, prior = NULL)
  } else {
    as_parameter(sd, paste0(owner, ".sd"), number = "hold", sd = TRUE, infinite = TRUE)
  }
  registry$add(owner, "sd", start, lower = 1e-4 * start$value, upper = 1e4 * start$value, term = term)
}

#' @export
print.galvi_priors <- function(x, digits = NULL, ...) {
  refuse_print_dots(list(...), print.galvi_priors)
  if (!length(x)) {
    cat("no fixed effects\n")
    return(invisible(x))
  }
  width <- max(nchar(names(x)))
  cat(sprintf("%-*s ~ %s\n", width, names(x), vapply(x, format, "", digits)), sep = "")
  invisible(x)
}

# Models with many columns of fixed effects are refused, or the user is told how long they take, before these are made.

#' Stops if the model matrix does not fit into memory
#' @noRd
check_fixed_size <- function(terms, frame) {
  widths <- term_widths(terms, frame)
  columns <- sum(widths)
  n <- nrow(frame)
  if (columns < 100) return(invisible())
  label <- names(widths)[which.max(widths)]
  groups <- grouped_instead(label, frame)
  advice <- sprintf("`%s` has %s columns%s.", label, whole_words(max(widths)), groups)
  # the matrix as model.matrix() makes it, as the core has it, and one copy
  size <- new_size(8 * 3 * n * columns + column_bytes(columns), n, "a model with these fixed effects", advice)
  with_memory(size, NULL)
  if (n * columns^2 < slow_flops) return(invisible())
  inform_galvi("size", sprintf(
    "`%s` has %s columns of fixed effects, and every pass over the rows takes minutes%s.", label,
    whole_words(max(widths)), groups
  ))
}

# n L^2 of a pass, which takes some minutes on a core
slow_flops <- 1e12

# Number of columns of each term, at most.
term_widths <- function(terms, frame) {
  factors <- attr(terms, "factors")
  if (!length(factors)) return(c(`(Intercept)` = 1))
  width <- vapply(rownames(factors), function(name) {
    x <- frame[[name]]
    if (is.factor(x)) nlevels(x) else if (is.character(x)) length(unique(x)) else NCOL(x)
  }, 1)
  apply(factors > 0, 2L, function(used) prod(width[used]))
}

# What may replace a factor of many levels.
grouped_instead <- function(label, frame) {
  x <- frame[[label]]
  text <- if (is.factor(x)) levels(x) else if (is.character(x)) unique(x)
  if (is.null(text)) return("")
  numbers <- !anyNA(suppressWarnings(as.numeric(text)))
  sprintf(", one for each level%s: %suse random effects, (1 | %s)", if (numbers) ", and they are numbers" else "",
    if (numbers) sprintf("as.numeric(as.character(%s)) is one column; else ", label) else "", label)
}

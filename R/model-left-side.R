# y | trials(n) + weights(w) ~ x: the response stands left of the bar, and how it was observed right of it, in the words
# of brms. A word becomes what it means elsewhere: a matrix of counts, a survival object, weights, an offset.

# Their arguments.
left_words <- list(
  trials = function(n) NULL, weights = function(w) NULL, rate = function(t) NULL, cens = function(c, y2) NULL,
  se = function(s, sigma = FALSE) NULL, trunc = function(lb = -Inf, ub = Inf) NULL
)

#' Formulas whose first has a bar on its left side, as formulas without one
#'
#' @param family A family. @param args The user's expressions for weights, offset and subset.
#' @return list(formulas, family, args)
#' @noRd
without_bar <- function(formulas, family, args) {
  first <- formulas[[1L]]
  if (length(first) != 3L || head_name(first[[2L]]) != "|") {
    return(list(formulas = formulas, family = family, args = args))
  }
  words <- left_calls(first[[2L]])
  env <- environment(first)
  response <- first[[2L]][[2L]]
  right <- first[[3L]]
  if (!is.null(words$trials)) response <- counts_of(response, words$trials[[2L]])
  if (!is.null(words$cens)) {
    response <- as.call(c(quote(censored), response, as.list(words$cens)[-1L]))
    env <- list2env(list(censored = censored_response), parent = env)
  }
  if (!is.null(words$rate)) right <- call("+", right, rate_offset(words$rate, family))
  if (!is.null(words$trunc)) {
    check_truncates(words, family, length(formulas))
    args[names(words$trunc)[-1L]] <- as.list(words$trunc)[-1L]
  }
  added <- !is.null(words$se) && with_sigma(words$se)
  # of a student() response s is the scale itself
  scale <- !is.null(words$se) && !added && family$family == "student" && is.null(family$parameters$scale)
  if (added) {
    check_normal(family, words$se)
    args$se <- words$se$s
  }
  weights <- c(
    if (!is.null(args$weights)) "the argument `weights`", if (!is.null(words$weights)) deparse_one(words$weights),
    if (!is.null(words$se) && !added && !scale) deparse_one(words$se)
  )
  if (length(weights) > 1L) {
    stop_galvi("argument", sprintf("%s are both weights of the rows: give one of them.",
      paste(weights, collapse = " and ")))
  }
  if (!is.null(words$weights)) args$weights <- call("frequency", words$weights[[2L]])
  if (scale) {
    args$scale <- words$se$s
    family <- set_parameters(family, list(scale = fixed(1)))
  } else if (!is.null(words$se) && !added) {
    args$weights <- call("standard_error", words$se$s)
    family <- with_unit_variance(family, words$se)
  }
  formulas[[1L]] <- stats::as.formula(call("~", response, right), env)
  list(formulas = formulas, family = family, args = args)
}

# The calls right of the bar, by their words.
left_calls <- function(left) {
  calls <- lapply(summands(left[[3L]]), `[[`, "expr")
  names(calls) <- vapply(calls, head_name, "")
  twice <- anyDuplicated(names(calls))
  if (twice) stop_galvi("formula", sprintf("`%s` has %s() twice.", deparse_one(left), names(calls)[twice]))
  Map(function(call, word) {
    why <- not_left(call, word)
    if (!is.null(why)) stop_galvi("formula", sprintf("`%s`: %s.", deparse_one(left), why))
    arguments <- left_words[[word]]
    matched <- if (!is.null(arguments)) tryCatch(match.call(arguments, call), error = function(e) NULL)
    whole <- length(matched) > 1L && (word != "se" || !is.null(matched$s))
    if (whole && (word == "cens" || !is.character(matched[[2L]]))) return(matched)
    can <- vapply(names(left_words), function(w) {
      sprintf("%s(%s)", w, paste(names(formals(left_words[[w]])), collapse = ", "))
    }, "")
    stop_galvi("formula", sprintf(
      "`%s`: right of the bar may be %s, joined by +, not `%s`.", deparse_one(left),
      paste(can, collapse = ", "), deparse_one(call)
    ))
  }, calls, names(calls))
}

# What brms has and galvi writes in another way.
not_left <- function(call, word) {
  switch(word,
    mi = "rows without a response are left out, so that mi() has nothing to do",
    subset = "give the rows as the argument `subset`",
    cat = , thres = "the classes are those of the response, a factor"
  )
}

# Single trials are 0 and 1.
counts_of <- function(response, n) {
  if (identical(n, 1) || identical(n, 1L)) response else call("cbind", response, call("-", n, response))
}

rate_offset <- function(call, family) {
  if (family$link != "log") {
    stop_galvi("formula", sprintf(
      "`%s` divides the mean, which needs a log link: %s has link \"%s\".", deparse_one(call), the_family(family),
      family$link
    ))
  }
  call("offset", call("log", call[[2L]]))
}

# ---- known standard errors ----

# Is sigma learned beside s?
with_sigma <- function(call) {
  sigma <- call$sigma
  if (is.null(sigma)) return(FALSE)
  if (identical(sigma, TRUE) || identical(sigma, quote(T))) return(TRUE)
  if (identical(sigma, FALSE) || identical(sigma, quote(F))) return(FALSE)
  stop_galvi("formula", sprintf("`%s`: `sigma` must be TRUE or FALSE, not %s.", deparse_one(call), deparse_one(sigma)))
}

check_normal <- function(family, call) {
  if (family$family == "gaussian" && family$link == "identity") return(invisible())
  stop_galvi("family", sprintf(
    "`%s` are standard deviations of a gaussian() response, to which sigma^2 is added; this is %s.", deparse_one(call),
    the_family(family)
  ))
}

# The weight of s is 1 / s^2 (see row_weights()).
with_unit_variance <- function(family, call) {
  if (family$family == "gaussian" && family$link == "identity" && is.null(family$parameters$variance$value)) {
    return(galvi_family("gaussian", variance = fixed(1)))
  }
  stop_galvi("family", sprintf(paste(
    "`%s` are the standard deviations of a gaussian() response, or the scales of a student() one, without a parameter:",
    "leave out `family`, or write se(s, sigma = TRUE) for the variance s^2 + sigma^2 of a gaussian() response."
  ), deparse_one(call)))
}

# ---- what is known of rows beside the response ----

# The arguments of model_frame() for it, and what was typed: known standard deviations beside sigma, scales of a
# student() response, and the ends of what is observed.
known_words <- c(se = "se(%s, sigma = TRUE)", scale = "se(%s)", lb = "trunc(lb = %s)", ub = "trunc(ub = %s)")

check_truncates <- function(words, family, formulas) {
  typed <- deparse_one(words$trunc)
  if (!is.null(words$cens)) {
    stop_galvi("formula", sprintf(paste(
      "`%s` and `%s` cannot be combined: times that were observed only after their entry are",
      "survival::Surv(entry, time, event)."
    ), typed, deparse_one(words$cens)))
  }
  if (formulas > 1L || length(always_predicted(family))) {
    stop_galvi("formula", sprintf(
      "`%s` is for responses with one linear predictor: the probability of the interval would depend on all.", typed
    ))
  }
  if (can_truncate(family)) return(invisible())
  able <- Filter(function(name) can_truncate(list(family = name, link = names(family_types[[name]]$links)[1L])),
    setdiff(family_words, c("zero_inflated", "hurdle")))
  stop_galvi("family", sprintf(
    "`%s` is for %s, not for %s.", typed, paste(sub("_family$", "", able), collapse = ", "), the_family(family)
  ))
}

# Predicted means of successes are those of one trial, and of a truncated count they depend on how many there are.
can_truncate <- function(family) {
  if (is_custom(family) || identical(family_type(family)$response, binomial_response)) return(FALSE)
  isTRUE(unname(fact("likelihood", family_type(family)$links[family$link], "truncated")))
}

#' The expressions of `args` that model_frame() evaluates for each row, with one number repeated
#' @param n How many rows there are: a number or an expression.
#' @noRd
known_for_rows <- function(args, n) {
  own <- intersect(names(args), names(known_words))
  each_row <- function(x, n) if (length(x) == 1L) rep(x, n) else x
  args[own] <- lapply(args[own], function(expr) as.call(list(each_row, expr, n)))
  args
}

#' Checks the columns of a model frame that known_words name; a missing one leaves no row out
#' @param typed What was typed, by these words.
#' @noRd
check_known <- function(frame, typed) {
  for (word in names(typed)) {
    x <- frame[[sprintf("(%s)", word)]]
    name <- sprintf(known_words[[word]], deparse_one(typed[[word]]))
    if (!is.numeric(x) || NCOL(x) != 1L) {
      stop_galvi("argument", sprintf("`%s` must be numbers, not %s.", name, describe(x)))
    }
    must <- switch(word,
      se = "finite and not negative", scale = "positive and finite", "infinite if there is none"
    )
    bad <- which(switch(word, se = !(is.finite(x) & x >= 0), scale = !(is.finite(x) & x > 0), is.na(x)))
    if (length(bad)) {
      stop_galvi("argument", sprintf("`%s` must be numbers, %s; %s.", name, must, found_in_rows(x, bad)))
    }
  }
}

#' What is known of a model frame's rows beside the response: its variance and the interval (entry, exit] in which it was
#' observed
#'
#' @param typed As in check_known(). @param y The response in the units of the likelihood, NULL if it is not known.
#' @return N x 3; NULL if nothing is known, or the frame does not have it.
#' @noRd
known_of_rows <- function(frame, typed, family, y = NULL) {
  columns <- frame[sprintf("(%s)", names(typed))[sprintf("(%s)", names(typed)) %in% names(frame)]]
  if (!length(typed) || length(columns) < length(typed)) return(NULL)
  check_known(frame, typed)
  column <- function(word, default) if (word %in% names(typed)) as.numeric(frame[[sprintf("(%s)", word)]]) else {
    rep(default, nrow(frame))
  }
  low <- column("lb", -Inf)
  high <- column("ub", Inf)
  whole <- fact("likelihood", family_type(family)$links[family$link], "discrete")
  out <- cbind(
    variance = column("se", 0)^2 + column("scale", 0)^2, entry = if (whole) ceiling(low) - 1 else low,
    exit = if (whole) floor(high) else high
  )
  bounds <- function(n) sprintf("trunc(%s, %s)", format(low[n]), format(high[n]))
  bad <- which(!(low < high) | !(out[, "entry"] < out[, "exit"]))
  if (length(bad)) {
    stop_galvi("argument", sprintf(
      "trunc(lb, ub) must have lb below ub; row %s has %s.", row_label(bad[1L]), bounds(bad[1L])
    ))
  }
  bad <- if (!is.null(y)) which(y < low | y > high)
  if (length(bad)) {
    stop_galvi("response", sprintf(
      "The response must lie within its bounds; row %s has %s outside of %s%s.", row_label(bad[1L]), format(y[bad[1L]]),
      bounds(bad[1L]), if (length(bad) > 1L) sprintf(", and %d more rows are outside", length(bad) - 1L) else ""
    ))
  }
  out
}

#' The words of known_words as they were typed, for messages
#' @noRd
typed_words <- function(typed) {
  ends <- typed[intersect(names(typed), c("lb", "ub"))]
  others <- typed[setdiff(names(typed), names(ends))]
  paste(c(
    vapply(names(others), function(word) sprintf(known_words[[word]], deparse_one(others[[word]])), ""),
    if (length(ends)) sprintf("trunc(%s)", paste(names(ends), "=", vapply(ends, deparse_one, ""), collapse = ", "))
  ), collapse = " + ")
}

# ---- censored responses ----

#' A survival object from responses and what is known of them
#'
#' @param y Numbers: the response, or the lower end of an interval. @param c "none", "left", "right" or "interval", or 0,
#'   -1, 1 and 2; TRUE: right. @param y2 Upper ends of intervals.
#' @noRd
censored_response <- function(y, c, y2 = NULL) {
  known <- c(none = 0, right = 1, left = -1, interval = 2)
  what <- if (is.numeric(c) || is.logical(c)) as.numeric(c) else unname(known[as.character(c)])
  bad <- which(!is.na(c) & !what %in% known)
  if (length(bad)) {
    stop_galvi("response", sprintf(
      "cens() takes \"none\", \"left\", \"right\" and \"interval\", or 0, -1, 1 and 2; row %s has %s.", row_label(bad[1L]),
      describe(c[bad[1L]])
    ))
  }
  bad <- which(what == 2 & (if (is.null(y2)) TRUE else is.na(y2)))
  if (length(bad)) {
    stop_galvi("response", sprintf(
      "cens(c, y2) needs the upper end of each interval as its second argument; row %s is an interval without one.",
      row_label(bad[1L])
    ))
  }
  what <- rep_len(what, length(y))
  upper <- if (is.null(y2)) y else ifelse(what == 2, y2, y)
  survival::Surv(y, upper, unname(c(`-1` = 2, `0` = 1, `1` = 0, `2` = 3)[as.character(what)]), type = "interval")
}

# y | trials(n) + weights(w) ~ x: the response stands left of the bar, and how it was observed right of it, in the words
# of brms. A word becomes what it means elsewhere: a matrix of counts, a survival object, weights, an offset.

# Their arguments.
left_words <- list(
  trials = function(n) NULL, weights = function(w) NULL, rate = function(t) NULL, cens = function(c, y2) NULL,
  se = function(s) NULL
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
  weights <- c(
    if (!is.null(args$weights)) "the argument `weights`", if (!is.null(words$weights)) deparse_one(words$weights),
    if (!is.null(words$se)) deparse_one(words$se)
  )
  if (length(weights) > 1L) {
    stop_galvi("argument", sprintf("%s are both weights of the rows: give one of them.",
      paste(weights, collapse = " and ")))
  }
  if (!is.null(words$weights)) args$weights <- call("frequency", words$weights[[2L]])
  if (!is.null(words$se)) {
    args$weights <- call("standard_error", words$se[[2L]])
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
    if (length(matched) > 1L && (word == "cens" || !is.character(matched[[2L]]))) return(matched)
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
    se = if (any(c("sigma", "TRUE") %in% c(names(call), all.vars(call), vapply(as.list(call), deparse_one, ""))) &&
      !identical(call$sigma, FALSE)) paste(
      "errors of known and of learned variance together are se() and an effect of each row, whose standard deviation is",
      "sigma: y | se(s) ~ x + (1 | row), with row = seq_along(y)"
    ),
    trunc = paste(
      "truncated responses are survival::Surv(lb, y, event), observed only above lb, of gaussian() or a family of",
      "survival times"
    ),
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

# The weight of s is 1 / s^2 (see row_weights()).
with_unit_variance <- function(family, call) {
  if (family$family == "gaussian" && family$link == "identity" && is.null(family$parameters$variance$value)) {
    return(galvi_family("gaussian", variance = fixed(1)))
  }
  stop_galvi("family", sprintf(
    "`%s` are the standard deviations of a gaussian() response, without a parameter: leave out `family`.",
    deparse_one(call)
  ))
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

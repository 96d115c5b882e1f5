# y | trials(n) + weights(w) ~ x: the response stands left of the bar, and how it was observed right of it, in the words
# of brms. A word becomes what it means elsewhere: a matrix of counts, a survival object, weights, an offset. What it
# says of each row is checked before (R/model-left-rows.R).

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
  left <- if (length(first) == 3L) left_with_bar(first[[2L]])
  if (is.null(left)) return(list(formulas = formulas, family = family, args = args))
  words <- left_calls(left)
  env <- environment(first)
  response <- left[[2L]]
  right <- first[[3L]]
  said <- list(response = response, words = words, typed = deparse_one(left))
  if (!is.null(words$trials)) response <- counts_of(response, words$trials[[2L]])
  if (!is.null(words$cens)) {
    response <- as.call(c(quote(censored), response, as.list(words$cens)[-1L]))
    env <- list2env(list(censored = censored_response), parent = env)
  }
  if (!is.null(words$rate)) {
    right <- call("+", right, rate_offset(words$rate, family))
    check_rate_of_sums(words, left[[2L]], right, formulas, family)
  }
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
    if (!is.null(args$weights)) "the argument `weights`", if (!is.null(words$weights)) as_typed(words$weights),
    if (!is.null(words$se) && !added && !scale) as_typed(words$se)
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
  formulas[[1L]] <- structure(stats::as.formula(call("~", response, right), env), said = said)
  list(formulas = formulas, family = family, args = args)
}

# A left side that has a bar, NULL for others. In parentheses a bar is R's own "or", unless a word follows it.
left_with_bar <- function(left) {
  has_words <- function(x) {
    any(vapply(summands(x[[3L]]), function(one) head_name(without_resp(one$expr)), "") %in% names(left_words))
  }
  inner <- if (head_name(left) == "(") left[[2L]] else left
  bar <- head_name(inner) %in% bars && length(inner) == 3L
  if (!bar || !identical(inner, left) && !has_words(inner)) return(NULL)
  if (head_name(inner) == "|" && head_name(inner[[2L]]) != "|") return(inner)
  stop_galvi("formula", sprintf(
    "`%s`: one bar follows the response, and the words right of it are joined by +, as in y | trials(n) + weights(w).",
    deparse_one(left)
  ))
}

#' The calls right of the bar, by their words
#' @return Calls with all of their arguments named; as_typed() has their text.
#' @noRd
left_calls <- function(left) {
  pieces <- summands(left[[3L]])
  calls <- lapply(pieces, function(piece) without_resp(piece$expr))
  names(calls) <- vapply(calls, head_name, "")
  twice <- anyDuplicated(names(calls))
  if (twice) stop_galvi("formula", sprintf("`%s` has %s() twice.", deparse_one(left), names(calls)[twice]))
  Map(function(call, word, sign) {
    why <- not_left(call, word, left)
    if (!is.null(why)) stop_galvi("formula", sprintf("`%s`: %s.", deparse_one(left), why))
    arguments <- left_words[[word]]
    matched <- if (!is.null(arguments) && sign > 0) tryCatch(match.call(arguments, call), error = function(e) NULL)
    whole <- length(matched) > 1L && (word != "se" || !is.null(matched$s))
    if (whole && (word == "cens" || !is.character(matched[[2L]]))) return(structure(matched, typed = deparse_one(call)))
    can <- vapply(names(left_words), function(w) {
      sprintf("%s(%s)", w, paste(names(formals(left_words[[w]])), collapse = ", "))
    }, "")
    stop_galvi("formula", sprintf(
      "`%s`: right of the bar may be %s, joined by +, not `%s%s`.", deparse_one(left),
      paste(can, collapse = ", "), if (sign < 0) "- " else "", deparse_one(call)
    ))
  }, calls, names(calls), vapply(pieces, `[[`, 0, "sign"))
}

# resp_trials(n), as brms has it too
without_resp <- function(call) {
  word <- sub("^resp_", "", head_name(call))
  if (head_name(call) != word && word %in% names(left_words)) call[[1L]] <- as.name(word)
  call
}

as_typed <- function(word) attr(word, "typed")

# What brms has and galvi writes in another way.
not_left <- function(call, word, left) {
  switch(word,
    mi = if (length(call) > 1L) {
      sprintf("a response that was measured with the standard error %s is %s | se(%s, sigma = TRUE)",
        deparse_one(call[[2L]]), deparse_one(left[[2L]]), deparse_one(call[[2L]]))
    } else "rows without a response are left out, so that mi() has nothing to do",
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
      "`%s` divides the mean, which needs a log link: %s has link \"%s\".", as_typed(call), the_family(family),
      family$link
    ))
  }
  call("offset", call("log", call[[2L]]))
}

# A sum of t counts has t times their mean, and in some families t times another parameter: so it is in brms.
check_rate_of_sums <- function(words, response, right, formulas, family) {
  type <- family_type(family)
  name <- type$summed
  if (is.null(name)) return(invisible())
  others <- vapply(words[names(words) != "rate"], as_typed, "")
  if (length(others)) response <- call("|", response, str2lang(paste(others, collapse = " + ")))
  offset <- right[[3L]]
  own <- formulas[-1L]
  named <- vapply(own, function(f) {
    length(f) == 3L && is.symbol(f[[2L]]) && predicted_name(type, as.character(f[[2L]])) == name
  }, NA)
  own[named] <- lapply(own[named], function(f) call("~", f[[2L]], call("+", f[[3L]], offset)))
  if (!any(named)) own <- c(own, list(call("~", as.name(name), offset)))
  given <- family$parameters[[type$dpars[[name]]$replaces]]
  stop_whole(
    sprintf(paste(
      "`%s` multiplies `%s` as well as the mean in brms: a sum of counts is less dispersed than one count. Here both have",
      "a formula; with %s in the first alone, `%s` would be the same in all rows."
    ), as_typed(words$rate), name, deparse_one(offset), name),
    c(list(call("~", response, right)), own),
    if (length(given)) family_as_call(family, list()),
    if (is_fixed(given)) stats::setNames(list(pinned_prior(type, name, given$value)), name)
  )
}

# ---- known standard errors ----

# Is sigma learned beside s?
with_sigma <- function(call) {
  sigma <- call$sigma
  if (is.null(sigma)) return(FALSE)
  if (identical(sigma, TRUE) || identical(sigma, quote(T))) return(TRUE)
  if (identical(sigma, FALSE) || identical(sigma, quote(F))) return(FALSE)
  stop_galvi("formula", sprintf("`%s`: `sigma` must be TRUE or FALSE, not %s.", as_typed(call), deparse_one(sigma)))
}

check_normal <- function(family, call) {
  if (family$family == "gaussian" && family$link == "identity") return(invisible())
  stop_galvi("family", sprintf(
    "`%s` are standard deviations of a gaussian() response, to which sigma^2 is added; this is %s.", as_typed(call),
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
  ), as_typed(call)))
}

# ---- bounds ----

check_truncates <- function(words, family, formulas) {
  typed <- as_typed(words$trunc)
  if (!is.null(words$cens)) {
    stop_galvi("formula", sprintf(paste(
      "`%s` and `%s` cannot be combined: times that were observed only after their entry are",
      "survival::Surv(entry, time, event)."
    ), typed, as_typed(words$cens)))
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

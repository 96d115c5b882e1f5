# What the words right of the bar say of each row: checked before anything is computed of it, because the logarithm of a
# negative exposure or a survival object of an empty interval would only be a missing value.

# ---- the words as they were typed ----

#' Checks what left words say of the rows of data, by the attribute `said` of a formula
#'
#' @param said list(response, words, typed) from without_bar(); NULL if there was no bar.
#' @param subset The user's expression: rows that it leaves out may have anything.
#' @noRd
check_said <- function(said, data, env, subset = NULL) {
  y <- if (!is.null(said)) tryCatch(eval(said$response, data, env), error = function(e) NULL)
  # model.frame() says why there is no response
  if (is.null(y)) return(invisible())
  n <- NROW(y)
  used <- if (is.null(subset)) seq_len(n) else rows_of_subset(eval(subset, data, env), data, n)
  for (word in said$words) check_word_rows(word, said, word_values(word, data, env, n), y, used)
}

#' The same for new rows: what a prediction does not need may be missing, the response among it
#' @noRd
check_said_of_new <- function(said, newdata, env, response) {
  y <- if (response) tryCatch(eval(said$response, newdata, env), error = function(e) NULL)
  needed <- Filter(function(word) head_name(word) == "rate" || !is.null(y), said$words)
  for (word in needed) {
    known <- all(vapply(looked_up(word), function(name) name %in% names(newdata) || exists(name, envir = env), NA))
    if (!known) next
    values <- word_values(word, newdata, env, nrow(newdata))
    check_word_rows(word, said, values, y, seq_len(nrow(newdata)))
  }
}

rows_of_subset <- function(chosen, data, n) {
  rows <- if (is.character(chosen)) match(chosen, row.names(data)) else seq_len(n)[chosen]
  rows[!is.na(rows)]
}

#' The values of a word's arguments, each with one for every row or one for all
#' @noRd
word_values <- function(word, data, env, n) {
  typed <- as_typed(word)
  arguments <- as.list(word)[-1L]
  lapply(arguments[names(arguments) != "sigma"], function(expr) {
    x <- check_evaluates(eval(expr, data, env), typed)
    if (!is.null(x) && !is.atomic(x)) {
      stop_galvi("argument", sprintf("`%s` must have a value for each row, not %s.", typed, describe(x)))
    }
    one_for_all <- !head_name(word) %in% c("rate", "weights")
    if (NROW(x) == n || one_for_all && length(x) == 1L) return(x)
    stop_galvi("argument", sprintf(
      "`%s` must have one value per row, which are %d%s; it has %d.", typed, n,
      if (one_for_all) ", or one number for all" else "", NROW(x)
    ))
  })
}

# The numbers of weights(), se() and trunc() are checked as columns of the model frame.
check_word_rows <- function(word, said, x, y, used) {
  force(x)
  switch(head_name(word),
    trials = check_trials(x$n, y, used, as_typed(word), said$typed),
    rate = check_column(x$t, used, as_typed(word), "positive, finite numbers", function(x) is.finite(x) & x > 0),
    cens = check_censoring(x$c, x$y2, y, used, as_typed(word), said$typed)
  )
}

#' Checks a column of numbers; missing ones leave their rows out, as missing predictors do
#' @param right A function: which values are as `must` says?
#' @noRd
check_column <- function(x, used, name, must, right) {
  if (!is.numeric(x) || NCOL(x) != 1L) {
    stop_galvi("argument", sprintf("`%s` must be %s, not %s.", name, must, describe(x)))
  }
  x <- rep_len(as.vector(x), max(length(x), used))
  bad <- used[!is.na(x[used]) & !right(x[used])]
  if (length(bad)) stop_galvi("argument", sprintf("`%s` must be %s; %s.", name, must, found_in_rows(x, bad)))
}

check_trials <- function(n, y, used, typed, left) {
  check_column(n, used, typed, "whole numbers from 0", function(x) is.finite(x) & x >= 0 & x == round(x))
  # single trials: the response is as it is without trials()
  if (identical(as.numeric(n), 1)) return(invisible())
  if (NCOL(y) > 1L) {
    stop_galvi("response", sprintf(
      "`%s`: the columns of the response are counts, whose sums are the trials: leave trials() out.", left
    ))
  }
  if (!is.numeric(y) && !is.logical(y)) {
    stop_galvi("response", sprintf("`%s`: the response must be numbers of successes, not %s.", left, describe(y)))
  }
  n <- rep_len(n, length(y))
  bad <- used[which(y[used] != round(y[used]) | y[used] < 0 | y[used] > n[used])]
  if (length(bad)) {
    stop_galvi("response", sprintf(
      "`%s`: the response must be whole numbers from 0 to the trials; row %s has %s of %s%s.", left,
      row_label(bad[1L]), format(y[bad[1L]]), format(n[bad[1L]]), more_rows(bad)
    ))
  }
}

more_rows <- function(bad) {
  more <- length(bad) - 1L
  if (more) sprintf(", and %d more row%s", more, if (more > 1L) "s" else "") else ""
}

check_censoring <- function(c, y2, y, used, typed, left) {
  if (!is.numeric(y) || NCOL(y) != 1L) {
    stop_galvi("response", sprintf("`%s`: the response must be numbers, not %s.", left, describe(y)))
  }
  accepted <- "\"none\", \"left\", \"right\" and \"interval\", or 0, -1, 1 and 2"
  if (!is.atomic(c) || NCOL(c) != 1L) {
    stop_galvi("response", sprintf("`%s`: cens() takes %s, not %s.", typed, accepted, describe(c)))
  }
  code <- rep_len(censoring_codes(c), length(y))
  shown <- if (is.factor(c)) as.character(c) else c
  bad <- used[is.na(code[used]) & !rep_len(is.na(c), length(y))[used]]
  if (length(bad)) {
    stop_galvi("response", sprintf("`%s`: cens() takes %s; row %s has %s%s.", typed, accepted, row_label(bad[1L]),
      describe(rep_len(shown, length(y))[bad[1L]]), more_rows(bad)))
  }
  intervals <- used[which(code[used] == 2)]
  if (!length(intervals)) return(invisible())
  upper <- rep_len(or_else(y2, NA_real_), length(y))
  bad <- intervals[is.na(upper[intervals])]
  if (length(bad)) {
    stop_galvi("response", sprintf(paste(
      "`%s`: cens(c, y2) needs the upper end of each interval as its second argument; row %s is an interval",
      "without one."
    ), typed, row_label(bad[1L])))
  }
  if (!is.numeric(y2)) {
    stop_galvi("response", sprintf("`%s`: the upper ends of intervals must be numbers, not %s.", typed, describe(y2)))
  }
  bad <- intervals[which(upper[intervals] < y[intervals])]
  if (length(bad)) {
    stop_galvi("response", sprintf(
      "`%s`: the upper end of an interval must not be below the response; row %s has %s to %s%s.", typed,
      row_label(bad[1L]), format(y[bad[1L]]), format(upper[bad[1L]]), more_rows(bad)
    ))
  }
}

#' 0, 1, -1 and 2 for what brms calls "none", "right", "left" and "interval"; NA for what is none of these
#' @noRd
censoring_codes <- function(c) {
  known <- c(none = 0, right = 1, left = -1, interval = 2)
  code <- if (is.numeric(c) || is.logical(c)) as.numeric(c) else unname(known[as.character(c)])
  ifelse(code %in% known, code, NA_real_)
}

#' A survival object from responses and what is known of them
#'
#' @param y Numbers: the response, or the lower end of an interval. @param c As of censoring_codes(). @param y2 Upper
#'   ends of intervals.
#' @noRd
censored_response <- function(y, c, y2 = NULL) {
  code <- rep_len(censoring_codes(c), length(y))
  # rows that a subset leaves out may have ends in any order
  upper <- if (is.null(y2)) y else ifelse(code == 2, pmax(y, y2), y)
  survival::Surv(y, upper, unname(c(`-1` = 2, `0` = 1, `1` = 0, `2` = 3)[as.character(code)]), type = "interval")
}

# ---- columns of the model frame ----

# The arguments of model_frame() for it, and what was typed: known standard deviations beside sigma, scales of a
# student() response, and the ends of what is observed.
known_words <- c(se = "se(%s, sigma = TRUE)", scale = "se(%s)", lb = "trunc(lb = %s)", ub = "trunc(ub = %s)")

#' The expressions of `args` that are evaluated for each row: one number is repeated where a left word has it, and
#' `weights` are what their numbers are read from
#' @param n How many rows there are: a number or an expression.
#' @noRd
known_for_rows <- function(args, n) {
  own <- c(intersect(names(args), c("trials", names(known_words))), if (is_standard_error(args$weights)) "weights")
  args$weights <- weight_numbers(args$weights)
  each_row <- function(x, n) if (length(x) == 1L) rep(x, n) else x
  args[own] <- lapply(args[own], function(expr) as.call(list(each_row, expr, n)))
  args
}

#' Checks the columns of a model frame that known_words name; missing ones leave their rows out
#' @param typed What was typed, by these words.
#' @noRd
check_known <- function(frame, typed) {
  for (word in names(typed)) {
    x <- frame[[sprintf("(%s)", word)]]
    name <- sprintf(known_words[[word]], deparse_one(typed[[word]]))
    if (!is.numeric(x) || NCOL(x) != 1L) {
      stop_galvi("argument", sprintf("`%s` must be numbers, not %s.", name, describe(x)))
    }
    must <- switch(word, se = "finite and not negative", scale = "positive and finite")
    bad <- which(!is.na(x) & switch(word, se = !(is.finite(x) & x >= 0), scale = !(is.finite(x) & x > 0), FALSE))
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

#' Stops where new responses need what a word says of their rows
#' @param typed The word as it was typed. @param variables What it is computed from.
#' @noRd
stop_without_word <- function(typed, variables) {
  stop_galvi("newdata", sprintf(
    "The fit has `%s`, without which responses cannot be predicted: the rows need %s.", typed, quote_names(variables)
  ))
}

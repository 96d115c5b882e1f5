# Cox's model as rows of counts. A row of the data, with its time at risk, becomes a row for each interval that it
# reaches; rows that are alike are added up. These are rows of a Poisson model with a term for the baseline
# (R/term-intervals.R); `design$intervals` has the way back to the rows of the data.
#
# With delta_ik the time that row i is at risk in interval k, d_ik whether its event is there and w_i its weight, the
# log likelihood is sum_ik w_i (d_ik eta_ik - delta_ik exp(eta_ik)), of which rows with the same eta share a term. With
# an interval for each event time, and delta_ik = 1 where row i is at risk at this time, the integral over independent
# flat log hazards is Breslow's partial likelihood: int h^d exp(-h R) dlog h = Gamma(d) / R^d.

#' What galvi_design() returns, of the rows of counts, with `intervals`: how to come back
#' @noRd
design_of_cox <- function(formulas, data, family, args, na.action) {
  if (length(formulas) > 1L) {
    stop_galvi("formula", paste(
      "cox() has one linear predictor and no second formula: strata(g) gives groups baselines of their own, tve(x) an",
      "effect that changes in time."
    ))
  }
  parts <- cox_parts(formulas[[1L]], data, unlist(lapply(args, all.vars)))
  say_times_on_both_sides(formulas[[1L]], data)
  clash <- intersect(cox_names, names(data))
  if (length(clash)) {
    stop_galvi("data", sprintf("`%s` is a name that galvi uses itself: rename the column of `data`.", clash[1L]))
  }
  frame <- model_frame(frame_terms(parts_of_rows(parts)), data, args, na.action)
  attr(frame, "mesh") <- attr(data, "mesh")
  attr(frame, "inner") <- inner_variables(frame, data)
  naming_rows(frame_labels(frame), design_of_times(parts, family, frame, args))
}

# ---- the formula ----

# What parse_formula() would return of .event ~ x + strata + terms, without the baseline, with `strata`: the variable of
# strata, or NULL.
cox_parts <- function(formula, data, elsewhere = character()) {
  env <- environment(formula)
  if (length(formula) != 3L) {
    stop_galvi("formula", sprintf(
      "`formula` must have a response, as in survival::Surv(time, status) ~ %s.", deparse_one(formula[[2L]])
    ))
  }
  check_foreign_formula(formula, cox_foreign_terms(), data)
  pieces <- summands(formula[[3L]])
  own <- vapply(pieces, function(piece) any_head(piece$expr) == "strata" && piece$sign > 0, NA)
  strata <- strata_variable(lapply(pieces[own], `[[`, "expr"))
  for (piece in pieces[!own]) check_strata_alone(piece$expr)
  parts <- sort_summands(pieces[!own], env)
  times <- parts$specs[which_can(parts$specs, "intervals")]
  parts$fixed <- c(parts$fixed, lapply(times, `[[`, "by"), strata)
  out <- sorted_formula(formula, parts, data, c(elsewhere, unlist(lapply(strata, all.vars))))
  # the level belongs to the baseline
  attr(out$fixed, "intercept") <- 1L
  attr(out$fixed, "hidden") <- c("(Intercept)", vapply(strata, variable_name, ""))
  out$strata <- if (length(strata)) strata[[1L]]
  out
}

# As coxph() warns: a time that says when a row ends also says whether it has its event by then.
say_times_on_both_sides <- function(formula, data) {
  times <- as.list(formula[[2L]])[-1L]
  # when a row begins is known by then
  left <- unique(unlist(lapply(if (length(times) > 2L) times[-1L] else times, looked_up)))
  left <- intersect(left, names(data))
  both <- intersect(left, looked_up(formula[[3L]]))
  if (!length(both)) return(invisible())
  used <- Filter(function(x) any(both %in% x), lapply(summands(formula[[3L]]), function(piece) looked_up(piece$expr)))
  other <- setdiff(unlist(used), left)
  inform_galvi("times", sprintf(
    "%s is on both sides of the formula: its value at the end of a row cannot explain when that row ends.%s", quote_names(both),
    if (length(other)) sprintf(" For an effect of %s that changes in time write tve(%s).", other[1L], other[1L]) else ""
  ))
}

# strata(g) -> factor(g); strata(a, b) and strata(a) + strata(b) -> the combinations: a list of one call, or none.
strata_variable <- function(calls) {
  arguments <- unlist(lapply(calls, function(call) {
    arguments <- as.list(call)[-1L]
    named <- intersect(names(arguments), c("na.group", "shortlabel", "sep"))
    if (length(named)) {
      stop_galvi("formula", sprintf(
        "`%s`: strata() takes variables alone here, not `%s`. Rows with missing strata are left out.",
        deparse_one(call), named[1L]
      ))
    }
    if (!length(arguments)) {
      stop_galvi("formula", sprintf("`%s` needs a variable: write strata(g).", deparse_one(call)))
    }
    unname(arguments)
  }))
  if (!length(arguments)) return(list())
  if (length(arguments) == 1L) return(list(call("factor", arguments[[1L]])))
  list(as.call(c(quote(interaction), arguments, list(sep = ", ", drop = TRUE))))
}

# other: what strata are multiplied with.
check_strata_alone <- function(expr, other = quote(x)) {
  if (!is.call(expr)) return(invisible())
  if (any_head(expr) == "strata") {
    effects <- call(":", other, strata_variable(list(expr))[[1L]])
    stop_galvi("formula", sprintf(
      "`%s` can only be added: for effects of %s that differ between strata write %s + %s.",
      deparse_one(expr), deparse_one(other), deparse_one(expr), deparse_one(effects)
    ))
  }
  parts <- as.list(expr)[-1L]
  crossed <- head_name(expr) %in% c("*", ":") && length(parts) == 2L
  for (i in seq_along(parts)) {
    part <- parts[[i]]
    if (!missing(part)) check_strata_alone(part, if (crossed) parts[[3L - i]] else other)
  }
}

# Other packages' terms that are not those of cox(), with what is written instead.
cox_foreign_terms <- function() {
  table <- foreign_terms
  table$strata <- NULL
  table$tt$to <- function(v, a) sprintf("tve(%s)", first_of(v, "x"))
  table$tt$say <- "The effect of %s then changes in time as a random walk, not as a given function."
  table
}

#' The parts that are read for each row of the data: without intervals, with strata
#' @noRd
parts_of_rows <- function(parts) {
  parts$specs <- lapply(parts$specs, function(spec) {
    spec$variables <- Filter(function(v) !identical(v, as.name(cox_names[["interval"]])), spec$variables)
    spec
  })
  parts
}

# ---- rows of counts ----

#' @param parts From cox_parts(). frame: the model frame of the data's rows, from their formula.
#' @param known Intervals of another fit, which these rows are cut by.
#' @noRd
design_of_times <- function(parts, family, frame, args, known = NULL) {
  response <- variable_name(parts$response)
  typed <- row_weights(frame, args$weights)
  times <- cox_times(stats::model.response(frame), response, typed, args$weights)
  weights <- check_weights(typed, nrow(frame))
  if (!any(times$event[weights > 0] == 1)) response_error(response, "has no event: all rows are censored")
  stratum <- if (is.null(parts$strata)) rep(1L, nrow(frame)) else as.integer(frame[[variable_name(parts$strata)]])
  intervals <- or_else(known, new_intervals(times, family$options$breaks, stratum, weights, response))
  intervals$times <- times
  intervals$weights <- weights
  pieces <- cut_follow_up(times, intervals, stratum, which(weights > 0), response)
  count <- length(intervals$labels)
  pattern <- row_patterns(frame[setdiff(names(frame), c(names(frame)[1L], "(weights)"))])
  key <- (pattern[pieces$row] - 1) * count + pieces$interval
  pieces$at <- match(key, unique(key))
  sums <- function(x) unname(rowsum(x, pieces$at, reorder = TRUE)[, 1L])
  weight <- weights[pieces$row]
  y <- sums(weight * pieces$event)
  exposure <- sums(weight * pieces$exposure)
  first <- match(seq_along(y), pieces$at)
  long <- frame_of_counts(frame, pieces$row[first], y, factor(intervals$labels[pieces$interval[first]],
    intervals$labels), log(exposure))
  if (count > 1L) {
    parts$specs <- c(list(baseline_spec(family$options$baseline, family$options$variance, parts$strata)), parts$specs)
  } else if (any(which_can(parts$specs, "intervals"))) {
    stop_galvi("formula", "tve() needs two intervals or more: `breaks` of cox() gives one.")
  }
  if (count < 3L && count > 1L && family$options$baseline == "rw2") {
    stop_galvi("family", sprintf("`baseline = \"rw2\"` needs 3 intervals or more; `breaks` gives %d.", count))
  }
  whole <- all(is_whole(y))
  intervals$pieces <- pieces
  intervals$frame <- frame
  intervals$strata <- parts$strata
  # what the log probabilities of the counts have beside those of the times
  intervals$constant <- sum(y * log(exposure) - lgamma(y + 1))
  new_step("galvi_design", list(
    formula = parts$formula, family = family, data = long, y = if (whole) round(y) else y, size = rep(1, length(y)),
    weights = rep(1, length(y)), offset = frame_offset(long), parts = parts, args = args,
    shares = if (!whole) TRUE, counted = sums(weight / tabulate(pieces$row, nrow(frame))[pieces$row]),
    intervals = intervals
  ))
}

#' The intervals: list(low, high: where they begin and end; events: is each an event time?; own: K x strata, has the
#' stratum an event then? NULL but for these; labels)
#' @noRd
new_intervals <- function(times, breaks, stratum, weights, name) {
  event <- times$event == 1 & weights > 0
  if (identical(breaks, "events")) {
    at <- sort(unique(times$stop[event]))
    own <- matrix(FALSE, length(at), max(stratum))
    own[cbind(match(times$stop[event], at), stratum[event])] <- TRUE
    return(list(low = c(first_time(times), at[-length(at)]), high = at, events = TRUE, own = own,
      labels = make.unique(shown_times(at))))
  }
  origin <- first_time(times)
  cuts <- if (length(breaks) > 1L || !is_whole(breaks)) breaks else {
    equal_events(times$stop[event], weights[event], breaks)
  }
  cuts <- cuts[cuts > origin]
  low <- c(origin, cuts)
  high <- c(cuts, Inf)
  list(low = low, high = high, events = FALSE, own = NULL,
    labels = make.unique(sprintf("(%s, %s%s", shown_times(low), shown_times(high), c(rep("]", length(cuts)), ")"))))
}

# Time begins at 0, or at an entry before it.
first_time <- function(times) min(0, times$start[is.finite(times$start)])

shown_times <- function(x) vapply(x, code_number, "", digits = 7L)

#' Times that divide events into K intervals with about equal numbers: quantiles of type 1, of rows that count as often
#' as their weight says
#' @noRd
equal_events <- function(time, weight, K) {
  order <- order(time)
  reached <- cumsum(weight[order]) / sum(weight)
  shares <- seq_len(K - 1L) / K
  at <- vapply(shares, function(share) which(reached >= share - 1e-12)[1L], 1L)
  unique(time[order][at])
}

#' Follow-up cut by intervals: list(row, interval, exposure, event: 0 or 1)
#' @param rows The rows that are used.
#' @noRd
cut_follow_up <- function(times, intervals, stratum, rows, name) {
  if (intervals$events) return(risk_sets(times, intervals, stratum, rows))
  start <- pmax(times$start[rows], intervals$low[1L])
  cuts <- intervals$low[-1L]
  check_pieces(sum(findInterval(times$stop[rows], cuts) - findInterval(start, cuts) + 1), length(rows))
  split <- split_times(start, times$stop[rows], cuts)
  out <- list(row = rows[split$at], interval = split$interval, exposure = split$exposure)
  out$event <- as.numeric(times$event[out$row] == 1 & split$last)
  none <- out$exposure <= 0
  bad <- out$row[none & out$event == 1]
  if (length(bad)) {
    # each event time is an interval, in which all who are at risk have a piece
    few <- length(unique(times$stop[times$event == 1])) <= 100L
    response_error(name, sprintf(paste(
      "has an event without time at risk, at %s in row %s: use a positive time, %s%s"
    ), format(times$stop[bad[1L]]), row_label(bad[1L]), positive_time(name, times$stop), if (few) {
      ", or cox(breaks = \"events\")"
    } else ""))
  }
  lapply(out, `[`, !none)
}

# Surv(time, status) -> "such as pmax(time, 0.5) for time", where 1 is the first positive time.
positive_time <- function(name, stop) {
  typed <- str2lang(name)
  if (any_head(typed) != "Surv" || !any(stop > 0)) return("such as half a day")
  typed <- match.call(function(time, time2, event, type, origin) NULL, typed)
  entered <- !is.null(typed$time2) && !is.null(typed$event)
  if (entered || !is.null(typed$origin)) return("such as half a day")
  time <- deparse_one(typed$time)
  sprintf("such as pmax(%s, %s) for %s", time, code_number(signif(min(stop[stop > 0]) / 2, 2L)), time)
}

#' Stops if there is no memory for so many pieces: some twenty numbers for each
#' @noRd
check_pieces <- function(count, rows) {
  what <- sprintf("Cox's model of %s pieces of follow-up", whole_words(count))
  with_memory(new_size(160 * as.numeric(count), rows, what, "Fewer `breaks` of cox() make fewer pieces."), NULL)
}

#' The same where each row that is at risk at an event time of its stratum counts once
#' @noRd
risk_sets <- function(times, intervals, stratum, rows) {
  at <- intervals$high
  check_pieces(sum(findInterval(times$stop[rows], at) - findInterval(times$start[rows], at)), length(rows))
  parts <- lapply(split(rows, stratum[rows]), function(rows) {
    own <- which(intervals$own[, stratum[rows[1L]]])
    at <- intervals$high[own]
    first <- findInterval(times$start[rows], at) + 1L
    count <- pmax(findInterval(times$stop[rows], at) - first + 1L, 0L)
    row <- rep(rows, count)
    interval <- own[sequence(count, first)]
    list(row = row, interval = interval, exposure = rep(1, length(row)),
      event = as.numeric(times$event[row] == 1 & times$stop[row] == intervals$high[interval]))
  })
  lapply(stats::setNames(nm = c("row", "interval", "exposure", "event")), function(what) {
    unlist(lapply(unname(parts), `[[`, what))
  })
}

#' A number for each row, the same for rows that are equal
#' @noRd
row_patterns <- function(frame) {
  code <- rep(1, NROW(frame))
  for (x in unclass(frame)) {
    columns <- if (is.matrix(x)) lapply(seq_len(ncol(x)), function(j) x[, j]) else list(x)
    for (column in columns) {
      own <- match(column, unique(column))
      code <- (code - 1) * max(own) + own
      code <- match(code, unique(code))
    }
  }
  code
}

#' The model frame of rows of counts: that of the rows of the data, with the counts in place of the response
#' @noRd
frame_of_counts <- function(frame, rows, y, interval, log_exposure) {
  own <- unname(cox_names)
  frame_of_pieces(frame, rows, stats::setNames(list(y), own[1L]),
    stats::setNames(list(interval, log_exposure), own[-1L]), offset = own[3L])
}

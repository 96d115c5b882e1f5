# The terms rw1(), rw2(), ar1() and ar2(): effects of times, alike among neighbouring times.

#' Random walks and autoregressive effects in time
#'
#' `rw1(t)`, `rw2(t)`, `ar1(t)` and `ar2(t)` in a formula of [galvi()] add a random effect for each step of time: a random
#' walk or a stationary autoregressive process, each of first or second order. Use them for trends, smoothing and
#' forecasts, and `ar2` for quasi-periodic series: with a negative `partial` it can swing around its mean in cycles whose
#' phase drifts.
#'
#' @details
#' | term | prior |
#' |:--|:--|
#' | `rw1` | first differences z_(t+1) - z_t are independent N(0, variance) |
#' | `rw2` | second differences z_(t+1) - 2 z_t + z_(t-1) are independent N(0, variance) |
#' | `ar1` | z_(t+1) given z_t is N(correlation z_t, variance (1 - correlation^2)); marginally z_t ~ N(0, variance) |
#' | `ar2` | z_(t+1) given the past is N(a z_t + b z_(t-1), ..); marginally z_t ~ N(0, variance), `correlation` is that of neighbouring steps, `partial` = b the partial autocorrelation of lag two, and a = correlation (1 - partial) |
#'
#' **Steps.** `t` contains whole numbers or dates, or is a factor whose levels are the steps in their order. Steps
#' without observations between the first and the last are included, and a step can have several observations. Steps of
#' dates are days, unless `unit` says otherwise (calendar weeks begin on Mondays): every date then stands for the period
#' that contains it, in new data too. Variances are per step.
#'
#' **Identifiability.** Random walks are intrinsic: they do not determine a constant, so their effects sum to zero over
#' the steps and the intercept is the overall level. `rw2` does not determine its linear trend either; the slope of that
#' trend has the prior of a fixed effect, which `prior = list("rw2(t).slope" = normal(0, 2))` in [galvi()] changes.
#'
#' **Forecasts.** `newdata` may contain times before the first and after the last observation: `rw1` continues the last
#' value, `rw2` the last slope, and `ar1` and `ar2` return to zero, with intervals that widen accordingly. A factor has no steps
#' beyond its levels, and a cyclic walk none outside its cycle.
#'
#' **Fields that change in time.** In `ar1`, `ar2`, `rw1` and [iid()], `by` may be another term, [iid()], [gmrf()] or
#' [spde()]: each step then has a field of its own, and the fields of the steps are related as the effects of the plain
#' term are. `ar1(t, by = spde(x, y))` is the separable spatiotemporal model: the covariance of places s, s' at times t,
#' t' is `correlation^|t - t'|` times that of the field, and the precision is the Kronecker product of both.
#'
#' | term | model |
#' |:--|:--|
#' | `ar1(t, by = spde(x, y))` | spatial fields that are autoregressive in time; each is marginally `spde(x, y)` |
#' | `rw1(t, by = spde(x, y))` | a spatial random walk: the first field and each change are independent `spde(x, y)` |
#' | `iid(t, by = spde(x, y))` | independent fields with a common range and sd, as in `spde(x, y, by = factor(t))` |
#' | `ar1(t, by = gmrf(g, graph))` | autoregressive effects of regions, which sum to zero at every step |
#' | `ar1(t, by = iid(g))` | a series of its own for each group, as `ar1(t, by = g)`; `g` may be new in `newdata` |
#'
#' The first three are `spatiotemporal = "ar1"`, `"rw"` and `"iid"` of package sdmTMB.
#'
#' Hyperparameters are named by the whole term, such as `ar1(t, by = spde(x, y)).correlation`, `.range` and `.sd`. The
#' scale is that of the field, so that the outer term has no `variance`. A field that stays (`spde(x, y)`), a common
#' trend (`ar1(t)`) and deviations from both can be added; give their `spde()` the same `mesh`. Steps without
#' observations are filled, and `newdata` may contain steps before and after. The number of nodes is that of steps times
#' that of the field. Groups of `ar1(t, by = iid(g))` are part of every prediction, unless `exclude` names the term.
#'
#' @inheritParams iid
#' @param t The time of each row: whole numbers, dates (with `unit` also date-times) or a factor.
#' @param variance The variance in the table under Details, in squared units of the linear predictor. Accepts the same
#'   as `variance` in [iid()].
#' @param scale If TRUE, the precision is scaled so that the geometric mean of the marginal variances is `variance`,
#'   whatever the number of steps. FALSE by default.
#' @param cyclic If TRUE, the last step is a neighbour of the first, as for months of the year. FALSE by default.
#' @param unit For dates: `"day"` (the default), `"week"`, `"month"`, `"quarter"` or `"year"`.
#' @param by A numeric variable that multiplies the effects; a factor: each level then has effects of its own,
#'   independent of those of the other levels (those of `ar1` and `ar2` are effects of groups, which predictions for the
#'   population leave out, see `re_formula` in [predict()][predict.galvi]); or, but for `rw2`, a field: `iid(g)`, `gmrf(g, graph)` or `spde(x, y)`,
#'   with arguments of their own (see Details).
#' @param correlation For `ar1` and `ar2`: the correlation of neighbouring steps, between -1 and 1. A number is the
#'   starting value (0.5 by default), [fixed()] fixes it.
#' @param partial For `ar2`: the partial autocorrelation of lag two, between -1 and 1; 0 gives `ar1`. A number is the
#'   starting value (0 by default), [fixed()] fixes it.
#' @return No value. The terms are only valid inside a formula.
#' @section Errors:
#' `galvi_error_formula` if a term is called outside a formula or without `t`, or if `by` is a term that cannot be
#' repeated or the outer one is `rw2`, which leaves two directions of every node undetermined; `galvi_error_argument`
#' if an argument is not as described or belongs to the field in `by`; `galvi_error_size` if steps times nodes are more
#' than ten million; `galvi_error_data` if `t` is neither whole numbers nor dates nor a factor, has too few steps (`rw1`
#' needs 2, `rw2`, `ar2` and cyclic walks 3) or more than a million; `galvi_error_newdata` if `newdata` has a time that
#' cannot be predicted.
#'
#' `galvi_message_steps` suggests a longer `unit` if fewer than half of the days have observations.
#' @references
#' Cameletti, M., Lindgren, F., Simpson, D. and Rue, H. (2013). Spatio-temporal modeling of particulate matter
#' concentration through the SPDE approach. *AStA Advances in Statistical Analysis* 97, 109-131.
#'
#' Rue, H. and Held, L. (2005). *Gaussian Markov Random Fields: Theory and Applications*. Chapman and Hall/CRC.
#' @seealso [gp()] with kernel [matern12()], which is an `ar1` in continuous time.
#' @family terms
#' @examples
#' # the annual flow of the Nile and a forecast
#' d <- data.frame(year = as.numeric(time(Nile)), flow = as.numeric(Nile))
#' fit <- galvi(flow ~ rw1(year), data = d)
#' plot(fit)
#' predict(fit, data.frame(year = 1971:1975), interval = "prediction")
#'
#' # counts with autocorrelation
#' counts <- data.frame(year = 1860:1959, n = as.numeric(discoveries))
#' galvi(n ~ ar1(year), data = counts, family = poisson())
#'
#' # cycles without a fixed phase: the numbers of sunspots
#' spots <- data.frame(year = 1749:1983, n = rowMeans(matrix(sunspots, ncol = 12, byrow = TRUE)))
#' galvi(sqrt(n) ~ ar2(year), data = spots)
#'
#' # a field in space that changes in time, and its forecast
#' set.seed(1)
#' d <- data.frame(year = rep(1:6, each = 30), x = runif(180), y = runif(180))
#' d$z <- rnorm(180, sin(4 * d$x + d$year / 2), 0.3)
#' mesh <- galvi_mesh(d[c("x", "y")], max_edge = 0.25, extend = 0.3)
#' fit <- galvi(z ~ ar1(year, by = spde(x, y, mesh = mesh)), data = d)
#' fit
#' predict(fit, data.frame(year = 6:8, x = 0.5, y = 0.5), interval = "credible")
#'
#' # monthly steps of dates: a trend and a season
#' months <- data.frame(
#'   date = seq(as.Date("1974-01-15"), by = "month", length.out = 72), month = rep(1:12, 6)
#' )
#' months$deaths <- as.numeric(ldeaths)
#' fit <- galvi(deaths ~ rw1(date, unit = "month") + rw2(month, cyclic = TRUE), data = months)
#' predict(fit, data.frame(date = as.Date("1980-01-01"), month = 1), interval = "prediction")
#' @name walks
NULL

#' @rdname walks
#' @export
rw1 <- function(t, variance = 1, scale = FALSE, cyclic = FALSE, by = NULL, unit = NULL,
                by_hyper = c("shared", "each")) {
  stop_term("rw1", "y ~ rw1(t)")
}

#' @rdname walks
#' @export
rw2 <- function(t, variance = 1, scale = FALSE, cyclic = FALSE, by = NULL, unit = NULL,
                by_hyper = c("shared", "each")) {
  stop_term("rw2", "y ~ rw2(t)")
}

#' @rdname walks
#' @export
ar1 <- function(t, variance = 1, correlation = 0.5, by = NULL, unit = NULL, by_hyper = c("shared", "each")) {
  stop_term("ar1", "y ~ ar1(t)")
}

#' @rdname walks
#' @export
ar2 <- function(t, variance = 1, correlation = 0.5, partial = 0, by = NULL, unit = NULL,
                by_hyper = c("shared", "each")) {
  stop_term("ar2", "y ~ ar2(t)")
}

# The order of the independent differences.
walk_order <- function(spec) if (spec$type == "rw1") 1L else 2L

#' @export
field_structure.walk_term <- function(spec, more = c(0L, 0L)) {
  walk_structure(walk_order(spec), count_times(spec), more[1L], more[2L], spec$cyclic, spec$scaling)
}

#' @export
unit_variance.walk_term <- function(spec) if (spec$scale) 1 else count_times(spec)^(2 * walk_order(spec) - 1)

# Second differences do not determine a linear trend.
#' @export
field_basis.walk_term <- function(spec) if (walk_order(spec) == 2L && !spec$cyclic) list(name = "slope", slope = TRUE)

#' @export
field_structure.ar1_term <- function(spec, more = c(0L, 0L)) ar1_structure(count_times(spec), more[1L], more[2L])

#' @export
field_structure.ar2_term <- function(spec, more = c(0L, 0L)) ar2_structure(count_times(spec), more[1L], more[2L])

# The fewest steps.
least_steps <- function(spec) UseMethod("least_steps")
#' @export
least_steps.time_term <- function(spec) 1L
#' @export
least_steps.ar2_term <- function(spec) 3L
#' @export
least_steps.walk_term <- function(spec) if (spec$cyclic) 3L else walk_order(spec) + 1L

#' @export
count_nodes.time_term <- function(spec) count_times(spec)
#' @export
node_names.time_term <- function(spec) {
  if (is.null(spec$levels)) time_name(spec, spec$first + seq_len(spec$count) - 1) else spec$levels
}

#' @export
finish_field.time_term <- function(spec, env) {
  unit <- check_evaluates(eval(spec$arguments$unit, env), "unit")
  if (!is.null(unit)) spec$unit <- check_choice(unit, names(date_units), "unit")
  spec
}

# ---- steps of dates ----

#' One entry per unit: the step that a date is in, as a whole number, and the name of a step
#' @noRd
date_units <- list(
  day = list(step = function(date) floor(as.numeric(date)), name = function(step) days_named(step)),
  # named by their Mondays; 1970 began on a Thursday
  week = list(
    step = function(date) floor((as.numeric(date) + 3) / 7), name = function(step) days_named(7 * step - 3)
  ),
  month = list(
    step = function(date) month_of(date), name = function(step) sprintf("%04d-%02d", step %/% 12, step %% 12 + 1)
  ),
  quarter = list(
    step = function(date) month_of(date) %/% 3,
    name = function(step) sprintf("%04d-Q%d", step %/% 4, step %% 4 + 1)
  ),
  year = list(step = function(date) month_of(date) %/% 12, name = function(step) sprintf("%04d", step))
)

month_of <- function(date) 12 * (1900 + as.POSIXlt(date)$year) + as.POSIXlt(date)$mon
days_named <- function(step) format(as.Date(step, origin = "1970-01-01"))

is_date <- function(x) inherits(x, c("Date", "POSIXct"))

# If dates are monthly, say, most days have no observation: the walk is longer than needed, and its variance is per
# day.
tell_empty_steps <- function(spec, date, name) {
  seen <- unique(as.numeric(date))
  if (length(seen) < 2L || 2 * length(seen) >= spec$count) return(invisible())
  # the longest unit that keeps all dates apart
  apart <- vapply(date_units, function(unit) !anyDuplicated(unit$step(unique(date))), NA)
  unit <- utils::tail(names(apart)[apart], 1L)
  inform_galvi("steps", sprintf(
    "`%s` has %s daily steps from %s to %s, of which %s have observations. %s", name, whole_words(spec$count),
    min(date), max(date), whole_words(length(seen)),
    if (unit == "day") {
      sprintf("For longer ones write %s(%s, unit = \"week\") or another unit.", spec$type, name)
    } else {
      sprintf("For steps of a %s write %s(%s, unit = \"%s\").", unit, spec$type, name, unit)
    }
  ))
}

# More steps are a mistake, such as date-times in seconds.
most_steps <- 1e6

#' @export
learn_field.time_term <- function(spec, x, name) {
  if (is.factor(x)) {
    if (!is.null(spec$unit)) whole_times(x, spec, name)
    spec$levels <- levels(x)
  } else {
    without <- is.null(spec$unit)
    if (without && inherits(x, "Date")) spec$unit <- "day"
    span <- range(whole_times(x, spec, name))
    if (diff(span) >= most_steps) {
      stop_galvi("data", sprintf(
        "`%s` has %s steps from %s to %s, which is too many for %s(): give it %s.", name,
        whole_words(diff(span) + 1), time_name(spec, span[1L]), time_name(spec, span[2L]), spec$type,
        if (is_date(x)) "a longer `unit`, such as \"month\"" else "in larger units"
      ))
    }
    spec$first <- span[1L]
    spec$count <- as.integer(diff(span) + 1)
    if (without && !is.null(spec$unit)) tell_empty_steps(spec, x, name)
  }
  least <- least_steps(spec)
  if (count_times(spec) < least) {
    stop_galvi("data", sprintf(
      "`%s` must have at least %d steps for %s, not %d.", name, least, spec$label, count_times(spec)
    ))
  }
  spec
}

count_times <- function(spec) if (is.null(spec$levels)) spec$count else length(spec$levels)

# The steps of times, as whole numbers.
whole_times <- function(x, spec, name) {
  if (!is.null(spec$unit)) return(dated_times(x, spec, name))
  if (inherits(x, "Date")) {
    stop_galvi("data", sprintf("`%s` must be numbers, as it was in the fit, not dates.", name))
  }
  text <- is.character(x) || is.factor(x)
  bad <- if (!text) which(!is.finite(x) | as.numeric(x) != round(as.numeric(x)))
  if (!text && !length(bad)) return(as.numeric(x))
  stop_galvi("data", sprintf(
    "`%s` must be whole numbers, dates or a factor to be a time in %s()%s.", name, spec$type,
    if (text) ", not text, which has no order" else paste(";", found_in_rows(x, bad))
  ))
}

dated_times <- function(x, spec, name) {
  if (!is_date(x)) {
    stop_galvi("data", sprintf(
      "`%s` must be dates, as the steps of %s are %ss, not %s.", name, spec$label, spec$unit, describe(x)
    ))
  }
  bad <- which(!is.finite(x))
  if (length(bad)) stop_galvi("data", sprintf("`%s` must be dates; %s.", name, found_in_rows(x, bad)))
  # a date-time counts as the day in its own time zone
  date_units[[spec$unit]]$step(if (inherits(x, "Date")) x else as.Date(format(x, "%Y-%m-%d")))
}

# Nodes are 1 .. size for the observations' times, then the times after, then those before from the last on.
#' @export
find_nodes.time_term <- function(spec, x, name) {
  size <- count_times(spec)
  if (!is.null(spec$levels)) return(list(at = match(as.character(x), spec$levels)))
  at <- whole_times(x, spec, name) - spec$first + 1
  before <- max(0, 1 - at)
  after <- max(0, at - size)
  if (before + after == 0) return(list(at = as.integer(at)))
  ends <- time_name(spec, spec$first + c(0, size - 1))
  if (isTRUE(spec$cyclic)) {
    stop_galvi("data", sprintf(
      "`%s` must be a time of the cycle in %s, from %s to %s; %s.", name, spec$label, ends[1L], ends[2L],
      found_in_rows(x, which(at < 1 | at > size))
    ))
  }
  if (before + after > most_steps) {
    stop_galvi("data", sprintf(
      "`%s` is too far from the times that %s has seen, %s to %s.", name, spec$label, ends[1L], ends[2L]
    ))
  }
  list(at = as.integer(ifelse(at < 1, size + after + 1 - at, at)), more = as.integer(c(before, after)))
}

time_name <- function(spec, step) {
  if (is.null(spec$unit)) return(format(step, trim = TRUE, scientific = FALSE))
  date_units[[spec$unit]]$name(step)
}

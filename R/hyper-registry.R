# The hyperparameter table while terms are built, and `start =`.

# Collects the hyperparameter table while the terms are built. A closure, because kernels register by
# callback; only its table leaves.
new_registry <- function() {
  rows <- list()
  # owner: whose parameter it is in its name, such as `x1` in x1.sd; term: the label of the term it belongs to
  add <- function(owner, parameter, value, lower, upper, transform = "log", term = owner) {
    rows[[length(rows) + 1L]] <<- list(
      name = paste0(owner, ".", parameter), term = term, parameter = parameter, value = value$value,
      transform = transform, learned = value$learned, lower = lower, upper = upper, prior = value$prior
    )
    length(rows)
  }
  # what kernel_spec() calls; see R/kernel.R. owner: the term, and the class where each has its own
  for_term <- function(label, owner = label) {
    function(parameter, value, default, lower, upper, learned = TRUE, transform = "log") {
      shown <- paste0(owner, ".", parameter)
      entry <- if (is.null(value) && !learned) {
        list(value = default, learned = FALSE, prior = NULL)
      } else {
        as_parameter(
          value, shown, default, variance = grepl("variance", parameter), zero_ok = TRUE, what = "kernel"
        )
      }
      add(owner, parameter, entry, lower, upper, transform, term = label)
    }
  }
  table <- function() {
    column <- function(field, type) vapply(rows, `[[`, type, field)
    widen_ranges(list(
      name = column("name", ""), term = column("term", ""), parameter = column("parameter", ""),
      value = column("value", 0), transform = column("transform", ""),
      learned = column("learned", NA), lower = column("lower", 0), upper = column("upper", 0),
      prior = lapply(rows, `[[`, "prior")
    ))
  }
  list(add = add, for_term = for_term, table = table)
}

# Ranges have the starts well inside. Numbers in order (transform "above") are ranged by their distances.
widen_ranges <- function(hyper) {
  above <- which(hyper$transform == "above")
  size <- replace(hyper$value, above, hyper$value[above] - hyper$value[above - 1L])
  free <- hyper$transform == "identity"
  low <- ifelse(free, size - 10, size / 10)
  high <- ifelse(free, size + 10, size * 10)
  # between 0 or -1 and 1: half way to the ends
  share <- hyper$transform %in% c("logit", "atanh")
  high[share] <- (size[share] + 1) / 2
  low[share] <- (size[share] + ifelse(hyper$transform[share] == "logit", 0, -1)) / 2
  hyper$lower <- ifelse(hyper$learned, pmin(hyper$lower, low), hyper$lower)
  hyper$upper <- ifelse(hyper$learned, pmax(hyper$upper, high), hyper$upper)
  hyper
}

# `start =`: a fit or named numbers. Held values stay held.
apply_start <- function(hyper, start) {
  if (is.null(start)) return(hyper)
  from_fit <- inherits(start, "galvi")
  values <- if (from_fit) stats::setNames(start$hyper$estimate, start$hyper$name) else check_start(start)
  # the points of a fit have been taken over as they were made (R/inducing.R)
  shown <- hyper$name[!is_point(hyper)]
  known <- names(values) %in% shown
  if (!all(known) && !from_fit) {
    name <- names(values)[!known][1L]
    stop_galvi("argument", sprintf(
      "`start` names `%s`, which is no hyperparameter of this model.%s The names are %s.", name,
      did_you_mean(name, shown), quote_names(shown)
    ))
  }
  if (from_fit && length(shown) && !any(known)) {
    stop_galvi("argument", sprintf(
      "`start`: the fit has no hyperparameter of this model. It has %s; the model has %s.",
      quote_names(names(values)), quote_names(shown)
    ))
  }
  at <- match(hyper$name, names(values))
  in_order <- hyper$transform %in% c("identity", "above") & !is_point(hyper)
  # thresholds between other classes than the fit's are of no use
  if (from_fit && anyNA(at[in_order])) at[in_order] <- NA
  set <- which(!is.na(at) & hyper$learned)
  given <- as.numeric(values[at[set]])
  legal <- start_limits(hyper$transform[set])
  bad <- which(!is.finite(given) | given <= legal$lower | given >= legal$upper)[1L]
  if (!is.na(bad)) {
    stop_galvi("argument", sprintf(
      "`start` must be %s, not %s (`%s`).", legal$words[bad], format(given[bad]), hyper$name[set[bad]]
    ))
  }
  hyper$value[set] <- given
  check_order(hyper)
  widen_ranges(hyper)
}

# What values of a transform's parameters may be, both ends excluded.
start_limits <- function(transform) {
  lower <- c(log = 0, logit = 0, atanh = -1, identity = -Inf, above = -Inf)
  upper <- c(log = Inf, logit = 1, atanh = 1, identity = Inf, above = Inf)
  words <- c(
    log = "positive and finite", logit = "between 0 and 1", atanh = "between -1 and 1", identity = "finite",
    above = "finite"
  )
  list(lower = lower[transform], upper = upper[transform], words = words[transform])
}

check_order <- function(hyper) {
  above <- which(hyper$transform == "above")
  bad <- above[hyper$value[above] <= hyper$value[above - 1L]]
  if (!length(bad)) return(invisible())
  stop_galvi("argument", sprintf(
    "`start` must leave `%s` (%s) below `%s` (%s).", hyper$name[bad[1L] - 1L],
    format(hyper$value[bad[1L] - 1L]), hyper$name[bad[1L]], format(hyper$value[bad[1L]])
  ))
}

check_start <- function(start) {
  if (is.list(start) && length(start) && all(lengths(start) == 1L)) start <- unlist(start)
  if (!is.numeric(start) || is.null(names(start)) || !all(nzchar(names(start)))) {
    stop_galvi("argument", sprintf(
      "`start` must be a fit or numbers named like hyperparameters, as c(\"gp(x).variance\" = 2), not %s.",
      describe(start)
    ))
  }
  start
}

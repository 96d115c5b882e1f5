# The argument `prior`: one list for coefficients and hyperparameters, read and sorted by what each entry is a prior of.
# Entries of hyperparameters go to the table while it is built (R/base-hyper.R).

# NULL, normal(), a list or a table of another package -> a named list whose entries are priors, numbers, NULL or lists
# of these. others: the parameters with predictors of their own, whose priors are such lists under their names.
as_prior_list <- function(prior, others = NULL) {
  prior <- own_prior(prior)
  rows <- attr(prior, "table")
  given <- if (is.list(prior) && !is_value(prior)) intersect(others, names(prior))
  if (length(given)) {
    own <- Map(as_parameter_list, prior[given], given)
    rest <- prior[!names(prior) %in% given]
    return(structure(c(if (length(rest)) as_prior_list(rest), own), table = rows))
  }
  if (is.null(prior)) return(list())
  if (is_coefficient_prior(prior)) return(list(default = prior))
  plain <- is.list(prior) && !is_value(prior) && !is.data.frame(prior)
  if (!plain || is.null(names(prior)) || any(!nzchar(names(prior)))) {
    stop_galvi("prior", sprintf(
      "`prior` must be the prior of all slopes, such as normal(0, 1), or a list with names such as %s, not %s.%s",
      prior_example(),
      if (is_value(prior)) format(prior) else describe(prior),
      if (is_value(prior) && !is_fixed(prior) && !is_learned(prior)) sprintf(
        " For the standard deviations of groups write prior = list(sd = %s).", format(prior)
      ) else ""
    ))
  }
  prior <- unclass(prior)
  for (name in names(prior)) {
    entry <- prior[[name]]
    if (!is.null(entry)) prior[[name]] <- own_entry(entry, sprintf("prior$%s", name))
  }
  structure(prior, table = rows)
}

prior_example <- function() {
  "list(intercept = normal(0, 10), x = normal(0, 1), default = normal(0, 2), sd = half_normal(1))"
}

as_parameter_list <- function(prior, name) {
  prior <- own_prior(prior, name)
  if (is_value(prior) && !is_coefficient_prior(prior) || is.numeric(prior)) {
    stop_galvi("prior", sprintf(paste(
      "`prior$%s` is %s, but `%s` has a formula in this model: give priors of its coefficients, as in",
      "prior = list(%s = list(intercept = normal(0, 2), default = normal(0, 1)))."
    ), name, if (is_value(prior)) format(prior) else describe(prior), name, name))
  }
  as_prior_list(prior)
}

# One entry: a prior of ours, a number, or a list of these by the names of `fit$hyper`.
own_entry <- function(entry, shown) {
  entry <- own_prior(entry, shown)
  if (is_value(entry) || is.numeric(entry) && length(entry)) return(entry)
  if (is.list(entry) && !is.data.frame(entry)) {
    for (name in names(entry)) {
      if (!is.null(entry[[name]])) entry[[name]] <- own_entry(entry[[name]], sprintf("%s$%s", shown, name))
    }
    return(entry)
  }
  stop_galvi("prior", sprintf(paste(
    "`%s` must be normal() or student_t() for a coefficient, a prior such as half_normal(1) for a hyperparameter, or a number,",
    "not %s."
  ), shown, describe(entry)))
}

# ---- sorting ----

#' Sorts the entries for one predictor
#'
#' @param specs The parsed terms, with their labels. prefix: that of another parameter's labels; labels_of_columns: of the
#'   fixed effects in the formula.
#' @return list(coefficients: of these and of the predictor's constant; groups: sd and cor as the terms (x | g) read
#'   them; hyper: a list of list(labels: of the terms, NULL for the family; owner: the copy of a term, NULL for all;
#' key:
#'   the hyperparameter's name or a short form; value; general: is it for all groups?; shown)).
#' @noRd
sort_priors <- function(prior, specs, prefix = "", labels_of_columns = character()) {
  out <- list(coefficients = list(), groups = list(), hyper = list())
  add <- function(labels, key, value, shown, general = FALSE, owner = NULL) {
    out$hyper[[length(out$hyper) + 1L]] <<- list(
      labels = labels, key = key, value = value, shown = shown, general = general, owner = owner
    )
  }
  labels <- vapply(specs, `[[`, "", "label")
  slopes <- vapply(specs, function(spec) spec$type %in% bars, NA)
  grouped <- which_can(specs, "grouped")
  for (name in names(prior)) {
    entry <- prior[[name]]
    if (is_coefficient_prior(entry) && (name %in% labels_of_columns || !is_positive_name(name))) {
      key <- read_prior_name(name)
      # the coefficient of a term, such as s(x).slope, which has the prefix in its own name
      of_term <- !is.null(key$parameter) && !name %in% labels_of_columns &&
        !startsWith(name, prefix) && any(matches_term(key$term, specs, labels, prefix))
      out$coefficients[[if (of_term) paste0(prefix, name) else name]] <- entry
      next
    }
    if (name %in% c("sd", "cor")) {
      out$groups[name] <- list(entry)
      # the slopes' own entry finds it there
      if (any(grouped & !slopes) || !any(slopes)) add(labels[grouped & !slopes], name, entry, name, general = TRUE)
      next
    }
    # as brms calls those of smooths
    if (name == "sds") {
      add(labels[vapply(specs, inherits, NA, "smooth_term")], "sd", entry, name, general = TRUE)
      next
    }
    key <- read_prior_name(name)
    at <- which(matches_term(key$term, specs, labels, prefix))
    if (!length(at) || is.null(key$term)) {
      if (is.list(entry) && !is_value(entry)) stop_unknown_list(name, specs, prefix)
      add(NULL, name, entry, name)
      next
    }
    if (!is.null(key$parameter)) entry <- nested_entry(key$parameter, entry)
    if (!is.list(entry) || is_value(entry) || is.null(names(entry))) {
      stop_galvi("prior", sprintf(
        "`prior$%s` must be a list by hyperparameter, as in \"%s\" = list(%s = %s), not %s.", name, name,
        if (all(grouped[at])) "sd" else "variance", if (is_value(entry)) format(entry) else "half_normal(1)",
        if (is_value(entry)) format(entry) else describe(entry)
      ))
    }
    for (i in at) {
      if (slopes[i]) {
        known <- intersect(c(names(out$groups[[labels[i]]]), names(entry)), names(entry))
        out$groups[[labels[i]]][known] <- entry[known]
        next
      }
      # an independent effect has no correlation; the group of a brms table may name one
      own <- if (isTRUE(key$group) && any(slopes[at])) setdiff(names(entry), "cor") else names(entry)
      # a copy with hyperparameters of its own: iid(g, by = f)[a]
      copy <- if (plain_term(key$term) != plain_term(labels[i])) regmatches(key$term, regexpr("\\[[^]]*\\]$", key$term))
      for (part in own) {
        add(labels[i], if (part == "sds") "sd" else part, entry[[part]], sprintf("%s$%s", name, part),
          owner = if (length(copy)) paste0(labels[i], copy))
      }
    }
  }
  out
}

# Is it the name of a positive number, not of a coefficient? A prior of the whole line is then cut at 0.
is_positive_name <- function(name) {
  key <- read_prior_name(name)
  if (!is.null(key$term)) return(!is.null(key$parameter) && !key$parameter %in% c("slope", "constant", "origin"))
  sub(".*\\.", "", name) %in% c(
    "sd", "sds", "sigma", "scale", "variance", "shape", "phi", "nu", "df", "size", "precision", "dispersion", "lengthscale",
    "range", "kappa", "alpha", "beta"
  )
}

# "(1 | g)" and "gp(x)" are terms; "gp(x).lengthscale" is a term and its hyperparameter; "| g" are all effects of g.
read_prior_name <- function(name) {
  parts <- regmatches(name, regexec("^(.*[])])\\.([A-Za-z(].*)$", name))[[1L]]
  term <- if (length(parts)) parts[2L] else name
  list(
    term = if (grepl("[(|]|^@", term)) term, parameter = if (length(parts)) parts[3L],
    group = startsWith(name, "|")
  )
}

# sd.x -> list(sd = list(x = value)) for slopes; else the name as it is
nested_entry <- function(parameter, value) {
  parts <- regmatches(parameter, regexec("^(sd)\\.(.*)$", parameter))[[1L]]
  if (length(parts)) return(list(sd = stats::setNames(list(value), parts[3L])))
  stats::setNames(list(value), parameter)
}

# Which terms does the user's name stand for?
matches_term <- function(term, specs, labels, prefix) {
  if (is.null(term) || !length(specs)) return(logical(length(specs)))
  if (startsWith(term, "@")) return(matches_class(term, specs))
  if (startsWith(term, "|")) {
    group <- plain_text(sub("^\\|", "", term))
    groups <- vapply(specs, function(spec) {
      if (!term_can(spec, "grouped")) return("")
      plain_text(if (spec$type %in% bars) spec$group else spec_group(spec))
    }, "")
    return(groups == group)
  }
  own <- substring(labels, nchar(prefix) + 1L)
  wanted <- plain_term(term)
  vapply(own, function(label) plain_term(label) == wanted || plain_term(label) == plain_term(sub("\\[.*\\]$", "",
    term)), NA,
    USE.NAMES = FALSE)
}

# "@lscale:gpx": terms of that class of brms, all or those with that coefficient, which is gpx, s(x) or a group.
matches_class <- function(term, specs) {
  class <- sub("^@([a-z]+):.*", "\\1", term)
  coef <- plain_text(sub("^@[a-z]+:", "", term))
  word <- switch(class, sds = "s", sdgp = , lscale = "gp", sdcar = "gmrf", sderr = "ar1")
  vapply(specs, function(spec) {
    written <- plain_text(written_term(spec))
    if (!startsWith(written, paste0(word, "(")) && !(word == "s" && grepl("^(te|ti|t2)\\(", written))) return(FALSE)
    arguments <- as.list(str2lang(written_term(spec)))[-1L]
    inputs <- arguments[if (is.null(names(arguments))) TRUE else !nzchar(names(arguments))]
    plain <- paste0(vapply(inputs, deparse_one, ""), collapse = "")
    coef %in% c("", written, plain, paste0(word, plain), sprintf("%s(%s)", word, plain))
  }, NA)
}

plain_text <- function(x) gsub("[[:space:]]", "", x)

# One text for each way to write a term: (1|g), (1 | g) and iid(g); (x | g) and (1 + x | g).
plain_term <- function(text) {
  expr <- tryCatch(str2lang(text), error = function(e) NULL)
  # a structure has the name of its bar
  bar <- if (head_name(expr) == "(") expr[[2L]] else if (has_bar_word(expr) &&
    head_name(expr) %in% names(structure_words)) bar_argument(expr)
  if (!head_name(bar) %in% bars) return(plain_text(if (is.null(expr)) text else deparse_one(expr)))
  own <- if (is_intercept(bar[[2L]])) iid_call(bar[[3L]])
  if (!is.null(own)) return(plain_text(deparse_one(own)))
  effects <- tryCatch(term_effects(stats::terms(stats::as.formula(call("~", bar[[2L]])))), error = function(e) {
    deparse_one(bar[[2L]])
  })
  plain_text(paste(paste(sort(effects), collapse = "+"), head_name(bar), deparse_one(bar[[3L]])))
}

# ---- unknown names ----

# A list whose name is neither a term nor a parameter with a formula.
stop_unknown_list <- function(name, specs, prefix) {
  written <- vapply(specs, written_term, "")
  if (startsWith(name, "@")) {
    stop_galvi("prior", sprintf("`prior` has a row of class \"%s\"%s that matches no term.%s", sub("^@([a-z]+):.*", "\\1",
      name), if (endsWith(name, ":")) "" else sprintf(" and coef \"%s\"", sub("^@[a-z]+:", "", name)),
      if (length(written)) sprintf(" The terms are %s.", quote_names(written)) else " The model has fixed effects only."))
  }
  stop_galvi("prior", if (grepl("[(|]", name)) {
    sprintf("`prior` names the term `%s`, which this model does not have.%s", name, if (length(written)) {
      sprintf("%s Its terms are %s.", did_you_mean(name, written), quote_names(written))
    } else " It has fixed effects only.")
  } else {
    sprintf(paste(
      "`prior$%s` is a list, as the priors of another linear predictor are, and `%s` has none in this model: give it",
      "one by a list of formulas, as in list(y ~ x, %s ~ x), or write one prior without list().%s"
    ), name, name, name, if (length(written)) sprintf(" Its terms are %s.", quote_names(written)) else "")
  })
}

#' Stops at the first entry that is of no coefficient and of no hyperparameter of the model
#'
#' @param coefficients Names of normal() entries; known: of coefficients; unused: entries from sort_priors(); hyper:
#'   the names by which hyperparameters can be given, see new_registry().
#' @noRd
check_prior_names <- function(coefficients, known, unused = list(), hyper = character()) {
  known <- c("intercept", "at_means", "default", unique(known))
  unknown <- names(coefficients)[!without_backticks(names(coefficients)) %in% without_backticks(known)]
  if (!length(unknown) && !length(unused)) return(invisible())
  names <- paste0(
    "The coefficients are ", quote_names(known), if (length(hyper)) {
      sprintf("; the hyperparameters are %s", paste(hyper, collapse = ", "))
    }, "."
  )
  plain <- sub(" = .*", "", gsub("[\"`]", "", hyper))
  if (length(unknown)) {
    name <- unknown[1L]
    if (name %in% c(plain, "sd")) {
      sd <- coefficients[[name]]$sd
      stop_galvi("prior", sprintf(
        "`prior$%s` is %s, but `%s` is positive and no coefficient: write prior = list(%s = %s).", name,
        format(coefficients[[name]]), name, list_names(name),
        if (is.numeric(sd)) sprintf("half_normal(%s)", code_number(sd)) else "half_normal(1)"
      ))
    }
    stop_galvi("prior", sprintf(
      "`prior` names `%s`, which is not a coefficient of this model.%s %s", name,
      did_you_mean(name, c(known, plain)), names
    ))
  }
  entry <- unused[[1L]]
  given <- if (is_value(entry$value)) format(entry$value) else describe(entry$value)
  if (entry$key %in% known && is.null(entry$labels)) {
    sd <- entry$value
    stop_galvi("prior", sprintf(
      "`prior$%s` must be normal(), student_t(), cauchy() or double_exponential(), not %s, as `%s` is a coefficient%s.",
      entry$shown, given, entry$shown,
      if (is.numeric(sd) && length(sd) == 1L) {
        sprintf(": write %s = normal(0, %s)", if (entry$shown == entry$key) list_names(entry$key) else entry$shown,
          code_number(sd))
      } else ""
    ))
  }
  stop_galvi("prior", if (entry$general) {
    sprintf(
      "`prior$%s` is for %s, and this model has %s. %s", entry$shown, if (entry$shown == "sds") "smooths" else "groups",
      switch(entry$shown, cor = "no term such as (1 + x | g)", sds = "none, as s(x) is",
        "none, as in (1 | g) or (1 + x | g)"), names
    )
  } else {
    sprintf(
      "`prior` names `%s`, which this model does not have.%s %s", entry$shown,
      did_you_mean(entry$key, c(plain, known)), names
    )
  })
}

# The argument `start`: a fit or named numbers, as users see them. Fixed values stay fixed. level: what is subtracted
# from each value; changes: from term_axes().
apply_start <- function(hyper, start, level = numeric(length(hyper$value)), changes = list()) {
  if (is.null(start)) return(hyper)
  from_fit <- inherits(start, "galvi")
  values <- if (from_fit) stats::setNames(start$hyper$estimate, start$hyper$name) else check_start(start)
  # arrays start at those of the fit already (R/term-gp-inducing.R)
  shown <- hyper$name[!in_array(hyper)]
  known <- names(values) %in% shown
  if (!all(known) && !from_fit) {
    name <- names(values)[!known][1L]
    stop_galvi("argument", sprintf(
      "`start` names `%s`, which is not a hyperparameter of this model.%s The names are %s.", name,
      did_you_mean(name, shown), quote_names(shown)
    ))
  }
  if (from_fit && length(shown) && !any(known)) {
    stop_galvi("argument", sprintf(
      "`start`: the fit and this model have no hyperparameter in common. The fit has %s; the model has %s.",
      quote_names(names(values)), quote_names(shown)
    ))
  }
  at <- match(hyper$name, names(values))
  # thresholds and correlations of the fit are used only if it has all of them
  relative <- which(is_relative(hyper))
  together <- union(relative, relative - 1L)
  if (from_fit && anyNA(at[together])) at[together] <- NA
  set <- which(!is.na(at) & hyper$learned)
  shown <- hyper
  shown$value <- reported_values(hyper$value, changes)
  shown$value[set] <- as.numeric(values[at[set]]) - level[set]
  check_values(shown, set, "start")
  moved <- Filter(function(change) any(c(change$sd, change$cor) %in% set), changes)
  of_axes <- unlist(lapply(moved, `[`, c("sd", "cor")))
  hyper$value[set] <- shown$value[set]
  hyper$value[of_axes] <- internal_hyper(shown$value, moved)[of_axes]
  hyper$guessed[set] <- NA
  check_values(hyper, union(set, of_axes), "start")
  widen_ranges(hyper)
}

#' Weak priors of learned hyperparameters that have none: without one a posterior need not be proper
#'
#' Estimates do not have them, but the posterior of what is learned does: standard deviations, intervals, draws and
#' `hyper = "integrate"`. Standard deviations of groups are half_normal(10 s), with s that of the predictor's values
#' over the standard deviation of the column (the terms' own `weak`), and other positive numbers are where learning
#' starts by default times a log-normal factor, between 1/50 and 50 with probability 0.95 unless their own `weak` is
#' wider; shares and correlations are uniform, and so are thresholds, by their distances.
#' @return The table with the column `weak`, NULL where there is a typed prior or nothing is learned.
#' @noRd
weak_priors <- function(hyper) {
  facts <- core_facts$transform
  low <- fact(facts, hyper$transform, "lower")
  high <- fact(facts, hyper$transform, "upper")
  bare <- hyper$learned & !in_array(hyper) & vapply(hyper$prior, is.null, NA)
  hyper$weak <- lapply(seq_along(hyper$value), function(h) {
    if (!bare[h]) return(NULL)
    if (!is.null(hyper$weak[[h]])) return(hyper$weak[[h]])
    if (hyper$transform[h] == "above") return(list(type = "uniform", width = hyper$upper[h]))
    if (!is.finite(low[h]) || is_relative(hyper)[h]) return(NULL)
    if (is.finite(high[h])) return(list(type = "uniform", width = high[h] - low[h]))
    unclass(log_normal(log(hyper$value[h]), 2))
  })
  hyper
}

# What these priors are called in `prior`: one of the root of a variance by its standard deviation.
weak_names <- function(hyper) {
  of_root <- vapply(hyper$weak, function(prior) identical(prior$quantity, "root"), NA)
  ifelse(!of_root, hyper$name, ifelse(hyper$term == "gaussian", "sigma", sub("variance$", "sd", hyper$name)))
}

#' The priors of a fit with those that weak_priors() has added, by the hyperparameters' names
#' @noRd
with_hyper_priors <- function(priors, hyper, added) {
  own <- lapply(hyper$weak[added], function(prior) {
    prior$quantity <- NULL
    if (prior$type == "uniform") return(new_value("uniform", width = prior$width))
    do.call(new_value, prior)
  })
  structure(c(unclass(priors), stats::setNames(own, weak_names(hyper)[added])), class = "galvi_priors")
}

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
#'   fixed effects in the formula. within: the name of the list that the entries stand in, if they are those of another
#'   predictor; absent: from new_absent(); design: where the terms' data are.
#' @return list(coefficients: of these and of the predictor's constant; paths: where they stand, by the same names;
#'   groups: sd and cor as the terms (x | g) read them, with where they stand as the attribute `path`; hyper: a list of
#'   list(labels: of the terms, NULL for the family; owner: the copy of a term, NULL for all; key: the hyperparameter's
#'   name or a short form; value; general: is it for all groups?; shown; path)).
#' @noRd
sort_priors <- function(prior, specs, prefix = "", labels_of_columns = character(), within = character(),
                        absent = new_absent(), design = NULL) {
  out <- list(coefficients = list(), paths = list(), groups = list(), hyper = list())
  add <- function(labels, key, value, shown, path, general = FALSE, owner = NULL) {
    out$hyper[[length(out$hyper) + 1L]] <<- list(
      labels = labels, key = key, value = value, shown = shown, general = general, owner = owner, path = path
    )
  }
  placed <- function(value, path) {
    several <- is.list(value) && !is_value(value) || length(given_numbers(value))
    if (several) structure(value, path = path) else value
  }
  labels <- vapply(specs, `[[`, "", "label")
  slopes <- vapply(specs, function(spec) spec$type %in% bars, NA)
  grouped <- which_can(specs, "grouped")
  for (name in names(prior)) {
    entry <- prior[[name]]
    path <- c(within, name)
    if (is_coefficient_prior(entry) && (name %in% labels_of_columns || !is_positive_name(name))) {
      key <- read_prior_name(name)
      # the coefficient of a term, such as s(x).slope, which has the prefix in its own name
      of_term <- !is.null(key$parameter) && !name %in% labels_of_columns &&
        !startsWith(name, prefix) && any(matches_term(key$term, specs, labels, prefix))
      own <- if (of_term) paste0(prefix, name) else name
      out$coefficients[[own]] <- entry
      out$paths[[own]] <- path
      next
    }
    if (name %in% c("sd", "cor")) {
      out$groups[name] <- list(placed(entry, path))
      # the slopes' own entry finds it there
      if (any(grouped & !slopes) || !any(slopes)) {
        add(labels[grouped & !slopes], name, entry, name, path, general = TRUE)
      }
      next
    }
    # as brms calls those of smooths
    if (name == "sds") {
      add(labels[vapply(specs, inherits, NA, "smooth_term")], "sd", entry, name, path, general = TRUE)
      next
    }
    key <- read_prior_name(name)
    at <- which(matches_term(key$term, specs, labels, prefix))
    if (!length(at) || is.null(key$term)) {
      if (is.list(entry) && !is_value(entry)) {
        absent$found(path, unknown_list_message(name, specs))
      } else add(NULL, name, entry, name, path)
      next
    }
    path_of <- if (is.null(key$parameter)) function(part) c(path, part) else function(part) path
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
        out$groups[[labels[i]]][known] <- lapply(known, function(part) placed(entry[[part]], path_of(part)))
        next
      }
      # an independent effect has no correlation; the group of a brms table may name one
      own <- if (isTRUE(key$group) && any(slopes[at])) setdiff(names(entry), "cor") else names(entry)
      # a copy with hyperparameters of its own: iid(g, by = f)[a]
      copy <- if (plain_term(key$term) != plain_term(labels[i])) regmatches(key$term, regexpr("\\[[^]]*\\]$", key$term))
      for (part in own) {
        value <- prior_in_units(entry[[part]], specs[[i]], design)
        add(labels[i], if (part == "sds") "sd" else part, value, sprintf("%s$%s", name, part), path_of(part),
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

#' The prior of a lengthscale in the units of its inputs: brms divides these by their largest distance before it has a
#' prior of it, unless gp(scale = FALSE) says otherwise
#' @noRd
prior_in_units <- function(value, spec, design) {
  written <- attr(value, "of_distance")
  if (is.null(written)) return(value)
  attr(value, "of_distance") <- NULL
  if (isTRUE(spec$typed_scale) && !spec$scale) return(value)
  inputs <- lapply(spec$inputs, function(input) design$data[[variable_name(input)]])
  groups <- if (!is.null(spec$by)) design$data[[variable_name(spec$by)]]
  # a process of each level has a unit of its own
  levels <- if (is.factor(groups) || is.character(groups)) groups else rep(1, nrow(design$data))
  same_inputs <- all(vapply(inputs, is.numeric, NA)) && (length(inputs) == 1L || !spec$scale)
  units <- if (is.null(design$stream) && same_inputs) {
    vapply(split(data.frame(unname(inputs)), levels, drop = TRUE), function(x) largest_distance(as.matrix(x)), 0)
  }
  if (length(units) && min(units) > 0 && diff(range(units)) <= 1e-8 * max(units)) return(scaled_prior(value, units[[1L]]))
  stop_galvi("prior", sprintf(paste(
    "`prior`: %s is in units of the largest distance between rows, as brms has it, %s: write prior = list(\"%s\" =",
    "list(lengthscale = \"%s\")) with numbers in units of %s."
  ), written, if (length(units)) "and this is not one positive number here" else "which is not known here",
    written_term(spec), prior_text(value), and_words(vapply(spec$inputs, variable_name, ""))))
}

# Between two rows of x.
largest_distance <- function(x) {
  if (ncol(x) == 1L) return(diff(range(x)))
  x <- t(unique(x))
  sqrt(max(vapply(seq_len(ncol(x)), function(i) max(colSums((x - x[, i])^2)), 0)))
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
unknown_list_message <- function(name, specs) {
  written <- vapply(specs, written_term, "")
  if (startsWith(name, "@")) {
    return(sprintf("`prior` has a row of class \"%s\"%s that matches no term.%s", sub("^@([a-z]+):.*", "\\1",
      name), if (endsWith(name, ":")) "" else sprintf(" and coef \"%s\"", sub("^@[a-z]+:", "", name)),
      if (length(written)) sprintf(" The terms are %s.", quote_names(written)) else " The model has fixed effects only."))
  }
  if (grepl("[(|]", name)) {
    sprintf("`prior` names the term `%s`, which this model does not have.%s", name, if (length(written)) {
      sprintf("%s Its terms are %s.", did_you_mean(name, written), quote_names(written))
    } else " It has fixed effects only.")
  } else {
    sprintf(paste(
      "`prior$%s` is a list, as the priors of another linear predictor are, and `%s` has none in this model: give it",
      "one by a list of formulas, as in list(y ~ x, %s ~ x), or write one prior without list().%s"
    ), name, name, name, if (length(written)) sprintf(" Its terms are %s.", quote_names(written)) else "")
  }
}

#' Finds the entries that are of no coefficient and of no hyperparameter of the model
#'
#' @param sorted From sort_priors(), of each predictor; known: the names of the coefficients of each; typed: from
#'   new_typed(); variables: the columns of the model frame.
#' @noRd
find_absent_priors <- function(sorted, known, typed, variables, absent) {
  known <- lapply(known, function(names) c("intercept", "at_means", "default", unique(names)))
  for (k in seq_along(sorted)) {
    names <- names(sorted[[k]]$coefficients)
    for (name in names[!without_backticks(names) %in% without_backticks(known[[k]])]) {
      absent$found(sorted[[k]]$paths[[name]],
        unknown_coefficient_message(name, sorted[[k]]$coefficients[[name]], known[[k]], typed$names()))
    }
  }
  for (entry in typed$unused()) {
    absent$found(entry$path, unused_entry_message(entry, unique(unlist(known)), typed$names(), variables))
  }
}

known_names_text <- function(known, hyper) {
  paste0(
    "The coefficients are ", quote_names(known), if (length(hyper)) {
      sprintf("; the hyperparameters are %s", paste(hyper, collapse = ", "))
    }, "."
  )
}

# hyper: the names by which hyperparameters can be given, see new_typed().
plain_hyper_names <- function(hyper) sub(" = .*", "", gsub("[\"`]", "", hyper))

unknown_coefficient_message <- function(name, value, known, hyper) {
  plain <- plain_hyper_names(hyper)
  if (name %in% c(plain, "sd")) {
    return(sprintf(
      "`prior$%s` is %s, but `%s` is positive and no coefficient: write prior = list(%s = %s).", name,
      format(value), name, list_names(name),
      if (is.numeric(value$sd)) sprintf("half_normal(%s)", code_number(value$sd)) else "half_normal(1)"
    ))
  }
  sprintf(
    "`prior` names `%s`, which is not a coefficient of this model.%s %s", name,
    did_you_mean(name, c(known, plain)), known_names_text(known, hyper)
  )
}

unused_entry_message <- function(entry, known, hyper, variables) {
  if (entry$key %in% known && is.null(entry$labels)) {
    sd <- entry$value
    return(sprintf(
      "`prior$%s` must be normal(), student_t(), cauchy() or double_exponential(), not %s, as `%s` is a coefficient%s.",
      entry$shown, if (is_value(sd)) format(sd) else describe(sd), entry$shown,
      if (is_fixed(sd)) {
        if (entry$key %in% variables) paste0(". ", sub("[.]$", "", known_slope(sd, entry$key))) else ""
      } else if (is.numeric(sd) && length(sd) == 1L) {
        sprintf(": write %s = normal(0, %s)", if (entry$shown == entry$key) list_names(entry$key) else entry$shown,
          code_number(sd))
      } else ""
    ))
  }
  if (entry$general) {
    return(sprintf(
      "`prior$%s` is for %s, and this model has %s. %s", entry$shown, if (entry$shown == "sds") "smooths" else "groups",
      switch(entry$shown, cor = "no term such as (1 + x | g)", sds = "none, as s(x) is",
        "none, as in (1 | g) or (1 + x | g)"), known_names_text(known, hyper)
    ))
  }
  sprintf(
    "`prior` names `%s`, which this model does not have.%s %s", entry$shown,
    did_you_mean(entry$key, c(plain_hyper_names(hyper), known)), known_names_text(known, hyper)
  )
}

# ---- priors of an earlier fit ----

#' The prior of a fit as that of another one, in which it need not apply to all that it names: an argument `prior`
#'
#' @param asked The expression that the call of the new fit keeps.
#' @noRd
kept_prior <- function(value, asked) structure(list(value = value, asked = asked), class = "galvi_kept_prior")
is_kept_prior <- function(x) inherits(x, "galvi_kept_prior")

#' A list of priors without the entries at these paths, and a message that names them
#' @noRd
without_absent <- function(prior, paths) {
  rows <- attr(prior, "table")
  gone <- rep(FALSE, length(rows))
  shown <- lapply(paths, function(path) {
    here <- vapply(rows, function(row) identical(utils::head(row$name, length(path)), path), NA)
    gone <<- gone | here
    if (any(here)) vapply(rows[here], `[[`, "", "written") else paste0("prior$", paste(path, collapse = "$"))
  })
  inform_galvi("absent", sprintf(
    "`prior` of the earlier fit is kept, except for %s: this model has no such parameters.", quote_names(unlist(shown))
  ))
  for (path in paths) prior <- without_path(prior, path)
  structure(prior, table = rows[!gone])
}

# A nested list, or its call, without one entry, and without lists that it leaves empty.
without_path <- function(x, path) {
  rest <- if (length(path) > 1L) without_path(x[[path[1L]]], path[-1L])
  x[[path[1L]]] <- if (length(rest) > is.call(rest)) rest
  x
}

#' The expression of a prior without the entries at these paths, where it is the call of a list that shows them; else
#' what is left of its value
#' @noRd
prior_expression <- function(expr, paths, value) {
  shows <- function(x, path) {
    head_name(x) == "list" && path[1L] %in% names(x) && (length(path) == 1L || shows(x[[path[1L]]], path[-1L]))
  }
  if (!length(value) || !all(vapply(paths, shows, NA, x = expr))) return(if (length(value)) value)
  Reduce(without_path, paths, expr)
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

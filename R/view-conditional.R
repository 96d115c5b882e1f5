# Conditional effects: what is predicted along one to three variables of the data while all others keep one value each.
# plot() draws them (R/plot-conditional.R).

# ---- the variables of the data ----

#' What the model frame is computed from
#'
#' @param as_brms As brms has it: are offsets those of the values that variables keep, not zero, and numbers of two
#'   values numbers?
#' @return list(values: the variables of the data, or of the frame where one cannot be computed again, at the
#'   observations; made: for each variable of the frame on the right side the names of the values that it is made of
#'   and, where it is a call of them, `expression`; together: is it a call that needs all rows at once?).
#' @noRd
data_inputs <- function(fit, as_brms = FALSE) {
  terms <- fit$design$frame_terms
  variables <- as.list(attr(terms, "variables"))[-1L]
  computed <- as.list(or_else(attr(terms, "predvars"), attr(terms, "variables")))[-1L]
  offsets <- unlist(attributes(terms)[c("offset", "other_offsets")])
  left_out <- c(attr(terms, "response"), if (!as_brms) offsets)
  names(variables) <- vapply(variables, variable_name, "")
  known <- c(unclass(fit$data)[intersect(names(variables)[-left_out], names(fit$data))], attr(fit$data, "inner"))
  rows <- some_rows(nrow(fit$data))
  values <- list()
  made <- list()
  inner <- c(cox_names[c("interval", "exposure")], stage_names[["stage"]])
  left_out <- c(left_out, match(inner, names(variables), 0L))
  for (j in setdiff(seq_along(variables), left_out)) {
    name <- names(variables)[j]
    used <- intersect(all.vars(computed[[j]]), names(known))
    # others are taken as they are in the frame
    value <- if (is.call(variables[[j]]) && length(used) > 0L) {
      tryCatch(
        variable_value(name, computed[[j]], lapply(known[used], take_variable, rows), terms), error = function(e) NULL
      )
    }
    again <- !is.null(value) && same_values(value, take_variable(fit$data[[name]], rows))
    x <- fit$data[[name]]
    made[[name]] <- list(
      from = if (again) used else name, expression = if (again) computed[[j]],
      together = !is.null(value) && !again,
      levels = if (again && !is_continuous(x) && !is.matrix(x)) length(unique(x))
    )
    values[made[[name]]$from] <- known[made[[name]]$from]
  }
  list(values = values, made = made, terms = terms, as_brms = as_brms, offsets = if (as_brms) setdiff(names(variables)[offsets], inner))
}

# Variables of the frame that are others where they are computed from other rows.
computed_together <- function(fit) {
  if (!any(vapply(as.list(attr(fit$design$frame_terms, "variables"))[-1L], is.call, NA))) return(character())
  made <- data_inputs(fit)$made
  names(Filter(function(one) one$together, made))
}

#' Does a variable of the data stand for levels: a factor, text, a logical, a number of two values, or one that the
#' formula turns into a factor of as many levels?
#' @noRd
has_few_values <- function(inputs, name, column = NULL) {
  x <- inputs$values[[name]]
  if (!is.null(column)) x <- x[, column]
  if (if (inputs$as_brms) !is_continuous(x) else is_grouping(x)) return(TRUE)
  makes_levels(inputs, name)
}

makes_levels <- function(inputs, name) {
  any(vapply(inputs$made, function(made) {
    if (is.null(made$expression) || !identical(made$from, name) || is.null(made$levels)) return(FALSE)
    made$levels == length(unique(inputs$values[[name]]))
  }, NA))
}

#' Variables along which effects are drawn, by name: list(name, column) as in frame_variables()
#' @noRd
input_variables <- function(inputs) {
  pieces <- lapply(names(inputs$values), function(name) {
    x <- inputs$values[[name]]
    if (!is.matrix(x)) return(stats::setNames(list(list(name = name, column = NULL)), name))
    columns <- if (is.null(colnames(x))) seq_len(ncol(x)) else colnames(x)
    stats::setNames(lapply(seq_len(ncol(x)), function(j) list(name = name, column = j)), paste0(name, columns))
  })
  unlist(pieces, recursive = FALSE)
}

# ---- values that are kept ----

#' The value at which a variable stays while others change: the mean of a number, the first level of a factor, of text,
#' of a logical and of a number that the formula turns into a factor; a place of a field, or inside a boundary, that
#' there is
#' @noRd
kept_value <- function(fit, inputs, name) {
  x <- inputs$values[[name]]
  if (is.matrix(x)) return(t(colMeans(x)))
  if (is.factor(x)) return(factor(levels(x)[1L], levels(x), ordered = is.ordered(x)))
  fields <- input_names(Filter(has_levels, single_specs(all_specs(fit$design))))
  if (name %in% fields) return(if (is_continuous(x)) sort(x)[ceiling(length(x) / 2)] else x[1L])
  if (!is_continuous(x) || makes_levels(inputs, name)) return(sort(x)[1L])
  inside <- middle_row(fit, inputs, name)
  if (!is.null(inside)) return(x[inside])
  alike(mean(as.numeric(x)), range(x))
}

#' The observation nearest to the means of the places of a smooth with a boundary, outside of which these may be; NULL
#' for other variables
#' @noRd
middle_row <- function(fit, inputs, name) {
  specs <- Filter(function(spec) inherits(spec, "smooth_term") && has_boundary(spec), all_specs(fit$design))
  names <- Find(function(names) name %in% names, lapply(specs, function(spec) input_names(list(spec))))
  if (is.null(names) || !all(names %in% names(inputs$values))) return(NULL)
  places <- vapply(inputs$values[names], as.numeric, numeric(length(inputs$values[[name]])))
  which.min(rowSums(scale(places)^2))
}

#' n rows of all variables at the values that they keep, but for those in `at`, a list of values by name
#' @noRd
typical_rows <- function(fit, inputs, n, at = list()) {
  rows <- lapply(stats::setNames(nm = names(inputs$values)), function(name) {
    if (!is.null(at[[name]])) at[[name]] else take_variable(kept_value(fit, inputs, name), rep(1L, n))
  })
  structure(rows, class = "data.frame", row.names = .set_row_names(n))
}

#' Values of the other variables on which a predictor depends, a list by name
#' @noRd
kept_others <- function(fit, inputs, names) {
  specs <- fit$design$specs[!is_left_out(fit$design$specs)]
  used <- c(
    setdiff(vapply(as.list(attr(fit$design$terms, "variables"))[-1L], variable_name, ""),
      attr(fit$design$terms, "hidden")),
    unlist(lapply(specs, function(spec) vapply(spec$variables, variable_name, ""))),
    unlist(lapply(fit$design$specs, function(spec) vapply(item_variables(spec), variable_name, ""))),
    if (of_response(fit)) inputs$offsets
  )
  from <- unique(unlist(lapply(inputs$made[used], `[[`, "from")))
  known <- input_variables(inputs)
  shown <- vapply(known[names], `[[`, "", "name")
  stats::setNames(lapply(setdiff(from, shown), function(name) kept_value(fit, inputs, name)), setdiff(from, shown))
}

# ---- effects ----

#' The effects that fixed effects have: variables one by one, then interactions
#'
#' @return A list of vectors of names of input_variables(), the first that along the axis. Its names are theirs, joined
#'   by colons.
#' @noRd
effects_of_terms <- function(fit, inputs) {
  terms <- fit$design$terms
  if (!length(attr(terms, "term.labels"))) return(list())
  known <- input_variables(inputs)
  of_input <- split(names(known), factor(vapply(known, `[[`, "", "name"), names(inputs$values)))
  made_of <- lapply(as.list(attr(terms, "variables"))[-1L], function(variable) {
    unlist(lapply(inputs$made[[variable_name(variable)]]$from, function(from) of_input[from]), use.names = FALSE)
  })
  varies <- vapply(known, function(variable) varies(get_variable(inputs$values, variable)), NA)
  factors <- attr(terms, "factors") > 0
  own <- lapply(which(!colnames(factors) %in% attr(terms, "hidden")), function(t) {
    # a matrix is one variable, whose columns have a panel each
    intersect(unique(unlist(made_of[factors[, t]])), names(known)[varies])
  })
  wide <- vapply(own, function(names) anyDuplicated(vapply(known[names], `[[`, "", "name")) > 0L, NA)
  together <- unique(lapply(Filter(function(names) length(names) %in% 2:3, own[!wide]), in_drawn_order, inputs, known))
  effects <- c(as.list(unique(unlist(own))), together)
  stats::setNames(effects, vapply(effects, paste, "", collapse = ":"))
}

#' A number goes along the axis before a factor
#' @noRd
in_drawn_order <- function(names, inputs, known) {
  few <- vapply(known[names], function(v) has_few_values(inputs, v$name, v$column), NA)
  names[order(few)]
}

#' What one element of `terms` asks of a predictor: a list of effects, as of effects_of_terms(); NULL if it has none
#' @noRd
named_effects <- function(label, inputs, effects) {
  if (label %in% names(effects)) return(effects[label])
  known <- input_variables(inputs)
  call <- tryCatch(str2lang(label), error = function(e) NULL)
  parts <- if (is.null(call)) label else colon_parts(call)
  found <- lapply(parts, function(part) {
    if (part %in% names(known)) return(part)
    from <- inputs$made[[part]]$from
    names(known)[vapply(known, `[[`, "", "name") %in% from]
  })
  if (!all(lengths(found))) return(NULL)
  found <- unique(unlist(found))
  # poly(x, 2), and a matrix alone
  if (length(parts) == 1L && length(found) > 1L) return(stats::setNames(as.list(found), found))
  stats::setNames(list(found), paste(found, collapse = ":"))
}

# a:b:c -> their labels
colon_parts <- function(call) {
  if (head_name(call) != ":") return(variable_name(call))
  c(colon_parts(call[[2L]]), colon_parts(call[[3L]]))
}

#' Rows with one value for each of these variables
#' @noRd
with_values <- function(rows, inputs, given) {
  known <- input_variables(inputs)
  for (name in names(given)) rows <- set_variable(rows, known[[name]], rep(given[[name]], nrow(rows)))
  rows
}

# ---- predictions ----

#' A model frame computed from variables of the data
#' @param values A data frame as of typical_rows().
#' @noRd
conditional_frame <- function(fit, inputs, values) {
  n <- nrow(values)
  frame <- lapply(unclass(fit$data), take_variable, rep(1L, n))
  for (name in names(inputs$made)) {
    made <- inputs$made[[name]]
    frame[[name]] <- if (is.null(made$expression)) values[[name]] else {
      variable_value(name, made$expression, values, inputs$terms)
    }
  }
  structure(
    frame[names(fit$data)], class = "data.frame", row.names = .set_row_names(n), terms = attr(fit$data, "terms"),
    mesh = attr(fit$data, "mesh")
  )
}

#' Effects of groups, and of regions of a graph, are left out: what is predicted is that of a group or region whose
#' effect is zero
#' @noRd
without_levels <- function(rows, specs, n) {
  for (t in which(is_left_out(specs))) rows[[t]] <- without_effects(rows[[t]], FALSE, n)
  rows
}

is_left_out <- function(specs) {
  vapply(specs, function(spec) {
    own <- single_specs(list(spec))
    any(vary_by_group(own) | which_can(own, "residual") | which_can(own, "intervals") | which_can(own, "graph"))
  }, NA)
}

#' Posterior of eta, without offset, groups and regions, at values of the variables of the data
#' @noRd
conditional_marginals <- function(fit, inputs, values, variance = TRUE) {
  if (is_imputed(fit)) {
    return(marginals_of_parts(fit, function(part) {
      conditional_marginals(part, own_inputs(part, inputs), values, variance)
    }))
  }
  rows <- frame_rows(fit$design, conditional_frame(fit, inputs, values))
  rows$terms <- against_reference(fit, without_levels(rows$terms, fit$design$specs, nrow(values)))
  marginals <- with_level(fit, latent_at(fit, rows, nrow(values), variance = variance))
  if (variance) marginals <- with_between(fit, marginals, rows)
  c(marginals, rows["outside"])
}

#' Numbers of rows, which may be repeated, without those outside of the boundary of a smooth
#' @param outside A logical for each row.
#' @noRd
without_outside <- function(data, outside) {
  if (!any(outside)) return(data)
  numbers <- vapply(data, is.numeric, NA)
  data[numbers] <- lapply(data[numbers], function(x) replace(x, rep_len(outside, length(x)), NA))
  data
}

#' The grid of an effect: all combinations of the values of its variables, the first one's changing fastest
#'
#' @param shown A list of list(variable, values), by name.
#' @param given Values of other variables, by name, where they are not those that are kept.
#' @return A data frame as of typical_rows(), with a row per combination.
#' @noRd
grid_rows <- function(fit, inputs, shown, given = list()) {
  sizes <- vapply(shown, function(one) length(one$values), 1L)
  n <- prod(sizes)
  rows <- with_values(typical_rows(fit, inputs, n), inputs, given)
  each <- 1L
  for (one in shown) {
    index <- rep(rep(seq_along(one$values), each = each), length.out = n)
    rows <- set_variable(rows, one$variable, one$values[index])
    each <- each * length(one$values)
  }
  rows
}

#' Values of a variable along the axis: its levels, or n numbers between its ends or those of the user
#' @noRd
axis_values <- function(fit, inputs, variable, n, limits = NULL) {
  x <- get_variable(inputs$values, variable)
  if (has_few_values(inputs, variable$name, variable$column)) return(level_values(x))
  effect_grid(fit, variable$name, x, n, limits)
}

# Levels of a factor in their order, without those that no observation has.
level_values <- function(x) {
  if (is.factor(x)) factor(levels(x), levels(x), ordered = is.ordered(x))[levels(x) %in% x] else sort(unique(x))
}

#' Values of a variable that has a curve each: those that are given, its levels, or the mean and one standard deviation
#' to either side
#' @return list(variable, values, labels, named: did the user name the values?)
#' @noRd
group_values <- function(inputs, variable, given = NULL) {
  x <- get_variable(inputs$values, variable)
  few <- has_few_values(inputs, variable$name, variable$column)
  if (few || !is.null(given)) {
    values <- if (is.null(given)) level_values(x) else unname(given)
    labels <- or_else(names(given), format(values, trim = TRUE, justify = "none"))
    return(list(variable = variable, values = values, labels = labels, named = !is.null(names(given))))
  }
  values <- mean(as.numeric(x)) + c(-1, 0, 1) * stats::sd(as.numeric(x))
  values <- alike(values, range(x))
  labels <- if (is.numeric(x)) vapply(signif(values, 3L), format, "") else format(values)
  list(variable = variable, values = values, labels = paste0(labels, c(" (mean - sd)", " (mean)", " (mean + sd)")),
    named = FALSE)
}

#' Numbers, dates and times make curves; the rest is drawn level by level
#' @noRd
is_continuous <- function(x) is.numeric(x) || inherits(x, c("Date", "POSIXct"))

#' Where a curve is drawn: n points; the steps of a variable that is also the time of a walk; of one that does
#' not vary its value
#'
#' @param limits Where the curve begins and ends, as the user wants it; NULL for the range of the data.
#' @noRd
effect_grid <- function(fit, name, x, n, limits = NULL) {
  if (!is_continuous(x)) return(sort(unique(x)))
  fields <- Filter(function(spec) has_levels(spec) && name %in% input_names(list(spec)), single_specs(fit$design$specs))
  if (!all(which_can(fields, "steps"))) return(sort(unique(x)))
  ends <- range(as.numeric(or_else(limits, x)))
  if (is.null(limits) && !varies(x)) return(alike(ends[1L], range(x)))
  if (!length(fields)) return(alike(seq(ends[1L], ends[2L], length.out = n), range(x)))
  steps <- alike(seq(ceiling(ends[1L]), floor(ends[2L]), by = 1), range(x))
  steps[unique(round(seq(1, length(steps), length.out = min(length(steps), 10 * n))))]
}

#' Does a variable tell groups, rather than measure something?
#' @noRd
is_grouping <- function(x) !is_continuous(x) || length(unique(x)) == 2L

#' Rows of the model for a model frame made from that of the fit
#' @noRd
frame_rows <- function(design, frame) {
  frame <- matched_frame(design, frame)
  list(terms = lapply(design$specs, spec_rows, frame), outside = outside_rows(design$specs, frame))
}

matched_frame <- function(design, frame) {
  # Text of one value has to stay a factor of all its levels.
  classes <- attr(with_text_groups(design, design$frame_terms, frame), "dataClasses")
  frame <- match_classes(frame, classes, design$xlevels)
  # values are put together that no observation has: a field is zero where its mesh does not reach
  structure(frame, anywhere = TRUE)
}

#' Offsets at values of the variables of the data, n x K; zero, but as brms has it
#' @noRd
conditional_offset <- function(fit, inputs, values) {
  if (!length(inputs$offsets)) return(matrix(0, nrow(values), n_latents(fit)))
  frame <- conditional_frame(fit, inputs, values)
  frame[["(offset)"]] <- NULL
  frame_offset(frame, latent_names(fit))
}

# What a part of a fit to imputed data sets makes of its variables: bases and scales are those of its data.
own_inputs <- function(part, inputs) data_inputs(part, inputs$as_brms)

#' A target at values of the variables of the data, with all linear predictors
#' @param kept As of kept_effects().
#' @noRd
conditional_target <- function(fit, inputs, values, kept) {
  frame <- matched_frame(fit$design, conditional_frame(fit, inputs, values))
  n <- nrow(values)
  if (is_stages_view(fit)) frame <- frame_at_stages(fit, frame)
  rows <- Map(function(specs, kept) Map(function(spec, kept) {
    without_effects(spec_rows(spec, frame), kept, nrow(frame), spec)
  }, specs, kept), predictor_specs(fit$design), kept)
  rows[[1L]] <- against_reference(fit, rows[[1L]])
  c(list(
    rows = rows, n = n, each = fit$stages$count, names = as.character(seq_len(n)), size = rep(1, n),
    outside = outside_rows(
      unlist(Map(function(specs, kept) specs[vapply(kept, any, NA)], predictor_specs(fit$design), kept), FALSE), frame
    ),
    offset = offset_moved(fit$design, n) + conditional_offset(fit, inputs, values), known = typical_known(fit, n)
  ), if (is_imputed(fit)) list(sets = lapply(fit$fits, function(part) {
    conditional_target(part, own_inputs(part, inputs), values, kept)
  })))
}

#' What is known of responses at typical values: the medians of what is known of the rows
#' @noRd
typical_known <- function(fit, n) {
  known <- fit$model$known
  if (is.null(known)) return(NULL)
  matrix(apply(known, 2L, stats::median), n, ncol(known), byrow = TRUE, dimnames = list(NULL, colnames(known)))
}

#' Which effects conditional predictions include: of groups and regions those that `re_formula` keeps and whose values
#' are given
#' @param given Names of variables of the data.
#' @noRd
conditional_kept <- function(fit, inputs, re_formula, given) {
  specs <- predictor_specs(fit$design)
  kept <- or_else(kept_effects(fit, re_formula), lapply(specs, lapply, function(spec) TRUE))
  Map(function(specs, kept) Map(function(spec, kept) {
    if (!is_left_out(list(spec))) return(kept)
    names <- if (term_can(spec, "by_group")) variable_name(spec$by) else input_names(list(spec))
    from <- unlist(lapply(names, function(name) inputs$made[[name]]$from))
    if (all(from %in% given)) kept else FALSE
  }, specs, kept), specs, kept)
}

#' Marginals of eta as thresholds at x = 0 have it, where the core's belong to the means of the columns
#' @noRd
with_level <- function(fit, marginals) {
  level <- or_else(fit$design$level, 0)
  if (level == 0) return(marginals)
  marginals$mean <- marginals$mean + level
  if (!is.null(marginals$points)) marginals$points$offset <- marginals$points$offset + level
  if (length(marginals$states)) marginals$states <- lapply(marginals$states, function(state) {
    state$mean <- state$mean + level
    state
  })
  marginals
}

#' Has it values that a panel can tell apart?
#' @noRd
varies <- function(x) {
  if (!is_continuous(x)) return(length(unique(x)) > 1L)
  ends <- range(as.numeric(x))
  diff(ends) > 1e-12 * max(abs(ends))
}

# New data -> rows of the model.

#' Rows of the model for new data
#'
#' @param na.action Rows with missing predictors are left out and listed in `omitted`; with na.fail they are an error.
#'   The caller decides what is predicted for them.
#' @param response Read the response too (for log densities); "size": only what size_expression() has.
#' @param kept From kept_effects(): variables that only excluded effects need may be missing.
#' @param labels What messages call the rows of newdata.
#' @return list(rows: designs, as the model list has them; offset: N* x K; frame; known: known_of_rows(); y, size,
#'   weights, censoring, counts: NULL without `response`; omitted: positions in `newdata`, integer(0) if none; n: rows of
#'   `newdata`).
#' @noRd
design_rows <- function(design, newdata, na.action = stats::na.pass, response = FALSE, kept = NULL,
                        labels = frame_labels(newdata)) {
  newdata <- as_new_data(newdata)
  sized <- identical(response, "size")
  response <- isTRUE(response)
  terms <- if (response) design$frame_terms else without_response(design$frame_terms)
  terms <- with_text_groups(design, without_unread(design, terms, kept), newdata)
  attr(terms, "of_groups") <- population_columns(design, variable_name)
  if (length(design$times)) {
    variables <- as.list(attr(terms, "variables"))[-1L]
    used <- setdiff(unlist(lapply(variables, looked_up)), group_columns(design))
    newdata <- with_fitted_times(newdata, design$times, used, vapply(Filter(is.symbol, variables), as.character, ""))
  }
  args <- new_data_args(design, newdata, response, sized)
  check_new_columns(design, terms, newdata)
  naming_rows(labels, as_newdata_error(
    check_said_of_new(attr(design$frame_terms, "said"), newdata, environment(terms), response)
  ))
  frame <- naming_rows(labels, new_frame(terms, newdata, args, design$xlevels))
  missing <- missing_rows(frame)
  outside <- as_newdata_error(outside_boundary(design, frame, missing, kept))
  if (length(c(missing, outside)) && identical(na.action, stats::na.fail)) {
    stop_galvi("newdata", if (length(missing)) sprintf(
      "`newdata` has missing values in %s (row %s).", quote_names(names(frame)[has_missing(frame)]),
      labels(missing[1L])
    ) else sprintf("`newdata` has a row outside of the boundary of a smooth, row %s.", labels(outside[1L])))
  }
  missing <- sort(c(missing, outside))
  complete <- setdiff(seq_len(nrow(frame)), missing)
  naming_rows(if (length(missing)) function(i) labels(complete[i]) else labels, {
    rows_of_frame(design, newdata, frame, missing, response, kept, sized)
  })
}

rows_of_frame <- function(design, newdata, frame, missing, response, kept, sized) {
  if (length(missing)) {
    complete <- frame[-missing, , drop = FALSE]
    attr(complete, "terms") <- attr(frame, "terms")
    frame <- complete
  }
  specs <- predictor_specs(design)
  all_kept <- if (is.null(kept)) lapply(specs, function(specs) rep(list(TRUE), length(specs))) else kept
  known <- or_else(attr(kept, "rows"), lapply(specs, function(specs) vector("list", length(specs))))
  whole <- with_unread(frame, kept)
  anew <- or_else(attr(kept, "anew"), lapply(specs, function(specs) rep(FALSE, length(specs))))
  rows <- Map(function(specs, kept, known, anew) Map(function(spec, kept, known, anew) {
    n <- nrow(frame)
    if (anew) whole <- with_new_groups(spec, whole)
    # a term without effects reads nothing
    if (!any(kept) && !term_can(spec, "units")) {
      some <- if (!is.null(known)) subset_rows(list(known), rep(1L, n))[[1L]]
      return(without_effects(some, kept, n, spec))
    }
    without_effects(as_newdata_error(spec_rows(spec, whole)), kept, n, spec)
  }, specs, kept, known, anew), specs, all_kept, known, anew)
  part_of <- function(spec) group_part(spec, as_newdata_error(spec_rows(spec, whole)))
  averaged <- if (!is.null(attr(kept, "averaged"))) {
    Map(function(specs, averaged) lapply(specs[averaged], part_of), specs, attr(kept, "averaged"))
  }
  out <- list(
    rows = rows, averaged = averaged, offset = offset_moved(design, nrow(frame)) + as_newdata_error(
      frame_offset(frame, design$response$latents)
    ),
    frame = frame,
    omitted = missing, n = nrow(newdata)
  )
  if (response && !nrow(frame) && !is.null(design$response$survival)) {
    # Surv() of nothing is not a survival object
    none <- matrix(0, 0L, 3L, dimnames = list(NULL, c("lower", "upper", "entry")))
    out[c("y", "size", "weights", "censoring")] <- list(numeric(), numeric(), numeric(), none)
  } else if (response) {
    r <- as_newdata_error(family_response(
      design$family, stats::model.response(frame), row_weights(frame, design$weights), design$response$name,
      levels = if (is.null(design$response$levels)) character() else design$response$levels,
      counted = counts_rows(design$weights)
    ))
    check_survival(r$survival, design$response)
    own <- intersect(row_numbers, names(r))
    out[own] <- r[own]
  }
  known <- as_newdata_error(known_of_rows(frame, design$known, design$family, if (response) out$y))
  if (!is.null(known)) out$known <- known
  if (sized) out$size <- unit_if_zero(as_newdata_error(new_sizes(design, frame)))
  out
}

#' The frame with groups of a term that the data do not have
#' @noRd
with_new_groups <- function(spec, frame) {
  for (input in spec$inputs) {
    name <- variable_name(input)
    group <- level_text(frame[[name]])
    # longer than any level that is known
    frame[[name]] <- ifelse(is.na(group), NA, paste0(group, strrep("'", max(nchar(spec$levels)))))
  }
  frame
}

#' What the size of a row is read from, but for the response itself: n of y | trials(n), else the weights
#' @noRd
size_expression <- function(design) or_else(typed_trials(design), weight_numbers(design$weights))

typed_trials <- function(design) attr(design$frame_terms, "said")$words$trials$n

#' The word right of the bar that says the size of each row, trials(n) or se(s); NULL if there is none, or if it is the
#' same for all
#' @noRd
size_word <- function(design) {
  words <- attr(design$frame_terms, "said")$words
  word <- or_else(words$trials, if (is_standard_error(design$weights)) words$se)
  if (length(looked_up(word))) word
}

#' Sizes of the rows of new data without a response
#' @param frame With the columns of new_data_args().
#' @noRd
new_sizes <- function(design, frame) {
  if (weights_divide(design$family)) {
    return(check_weights(row_weights(frame, design$weights), nrow(frame), all = FALSE))
  }
  trials <- or_else(frame[["(trials)"]], stats::model.weights(frame))
  check_column(trials, seq_len(nrow(frame)), deparse_one(size_expression(design)), "whole numbers from 0", function(x) {
    is.finite(x) & x >= 0 & is_whole(x)
  })
  as.numeric(trials)
}

as_new_data <- function(newdata) {
  if (is.list(newdata) && !is.object(newdata) && length(newdata) && !is.null(names(newdata))) {
    newdata <- tryCatch(frame_of_list(newdata), error = function(e) stop_galvi("newdata", sprintf(
      "`newdata` is a list, whose elements must be columns of one length: %s.", sub("[.]$", "", conditionMessage(e))
    )))
  }
  # a matrix of text is what as.matrix() makes of numbers beside text
  if (is.matrix(newdata) && !is.character(newdata)) newdata <- as.data.frame(newdata)
  if (!is.data.frame(newdata)) {
    stop_galvi("newdata", sprintf("`newdata` must be a data frame, not %s.", describe(newdata)))
  }
  without_integer64(newdata)
}

# The likelihood was built for a survival object of one type, or for none.
check_survival <- function(type, response) {
  if (identical(type, response$survival)) return(invisible())
  words <- function(type) {
    if (is.null(type)) "no survival object" else sprintf("a survival object of type \"%s\"", type)
  }
  stop_galvi("newdata", sprintf("The response `%s` is %s in `newdata`; in the fit it was %s.", response$name,
    words(type), words(response$survival)))
}

# Errors about data or the response become errors about newdata.
as_newdata_error <- function(expr) {
  tryCatch(expr, galvi_error = function(e) {
    if (inherits(e, c("galvi_error_data", "galvi_error_response", "galvi_error_argument"))) {
      stop_galvi("newdata", paste0("In `newdata`: ", conditionMessage(e)))
    }
    stop(e)
  })
}

# A variable that was a column of `data` must be in `newdata`; others are looked up in the formula's environment, as in
# the fit.
check_new_columns <- function(design, terms, newdata) {
  needed <- intersect(looked_up(attr(terms, "variables")), design$columns)
  missing <- setdiff(needed, names(newdata))
  if (!length(missing)) return(invisible())
  stop_galvi("newdata", sprintf(
    "`newdata` has no column `%s`, which the fit uses.%s%s", missing[1L], did_you_mean(missing[1L], names(newdata)),
    if (missing[1L] %in% group_columns(design)) sprintf(
      " It is a group: re_formula = NA leaves group effects out, and %s = %s in `newdata` is a new group.",
      missing[1L], new_level_text(design, missing[1L])
    ) else if (missing[1L] %in% population_columns(design)) {
      " Only effects of groups use it: re_formula = NA leaves them out."
    } else ""
  ))
}

# A value that is not among those of a group, of its type: a number of numbers.
new_level_text <- function(design, name) {
  if (!attr(design$frame_terms, "dataClasses")[name] %in% "numeric") return("\"new\"")
  numbers <- suppressWarnings(as.numeric(unlist(lapply(all_specs(design), `[[`, "levels"))))
  code_number(floor(max(0, numbers, na.rm = TRUE)) + 1)
}

# Columns of the data, or by `read` = variable_name variables of the frame, that only random effects of groups use.
group_columns <- function(design, read = all.vars) columns_of(design, which_can(all_specs(design), "grouped"), read)

# The same of all effects that predictions for the population leave out.
population_columns <- function(design, read = all.vars) columns_of(design, vary_by_group(all_specs(design)), read)

# What only these terms use.
columns_of <- function(design, chosen, read) {
  specs <- all_specs(design)
  used <- function(specs) unlist(lapply(specs, function(spec) lapply(c(spec$inputs, spec$by), read)))
  always <- c(
    lapply(predictor_parts(design), function(part) as.list(attr(part$terms, "variables"))[-1L]),
    lapply(specs, item_variables)
  )
  setdiff(used(specs[chosen]), c(used(specs[!chosen]), unlist(lapply(unlist(always, FALSE), read))))
}

# Numbers that only name groups are found by their labels, so that newdata may have text or a factor in their place.
with_text_groups <- function(design, terms, newdata) {
  text <- names(Filter(function(x) is.factor(x) || is.character(x), unclass(newdata)))
  classes <- attr(terms, "dataClasses")
  text <- intersect(text, names(classes)[classes == "numeric"])
  text <- if (length(text)) intersect(text, names_of_groups(design))
  attr(terms, "dataClasses")[text] <- "character"
  terms
}

# Columns that are groupings of random effects, and nothing else.
names_of_groups <- function(design) {
  specs <- all_specs(design)
  grouped <- which_can(specs, "grouped")
  groups <- unlist(lapply(specs[grouped], `[[`, "inputs"))
  others <- c(
    lapply(specs[grouped], function(spec) spec$variables[-match(spec$inputs, spec$variables)]),
    lapply(specs[!grouped], `[[`, "variables"),
    lapply(predictor_parts(design), function(part) attr(part$terms, "variables")),
    setdiff(Filter(is.call, as.list(attr(design$frame_terms, "variables"))[-1L]), groups),
    list(design$offset, design$weights), design$known
  )
  used <- function(x) unlist(lapply(x, function(x) if (is.list(x)) used(x) else all.vars(x)))
  setdiff(vapply(Filter(is.symbol, groups), as.character, ""), used(others))
}

# The arguments offset and, if they are asked for, weights or trials, as expressions that newdata has. sized: those that
# tell the size of a new response, 1 where weights are missing.
new_data_args <- function(design, newdata, weighted, sized = FALSE) {
  trials <- if (sized) typed_trials(design)
  weights <- if (weighted || sized && is.null(trials)) design$weights
  args <- c(list(offset = design$offset, weights = weights, trials = trials), design$known)
  args <- known_for_rows(args[!vapply(args, is.null, NA)], nrow(newdata))
  if (sized && is.null(size_word(design))) {
    own <- intersect(names(args), "weights")
    one_if_missing <- function(x) replace(x, is.na(x), 1)
    args[own] <- lapply(args[own], function(expr) as.call(list(one_if_missing, expr)))
  }
  for (arg in names(args)) {
    value <- tryCatch(eval(args[[arg]], newdata, environment(design$formula)), error = function(e) NULL)
    if (NROW(value) == nrow(newdata)) next
    # what needs them says so
    if (arg %in% c("weights", "trials", names(known_words))) {
      args[[arg]] <- NULL
      next
    }
    if (!length(all.vars(args[[arg]]))) {
      stop_galvi("newdata", sprintf(paste(
        "The fit has an `offset` of %d values, which belong to its own rows and not to those of `newdata`: fit it with",
        "offset(v) in the formula, where v is a column of the data, and give `newdata` that column too."
      ), NROW(value)))
    }
    stop_galvi("newdata", sprintf(
      "The fit has `offset = %s`, which cannot be evaluated for the rows of `newdata`: it needs the columns %s.",
      deparse_one(args[[arg]]), quote_names(all.vars(args[[arg]]))
    ))
  }
  args
}

# Some rows from the middle and the end, on which a variable that is computed from all rows at once has other values. In
# sorted data the first rows might not tell: they have the smallest value.
some_rows <- function(n) {
  first <- seq_len(max(1L, min(4L, n %/% 4L)))
  sort(unique(c(n %/% 2L + first, n + 1L - first)))
}

# Is a variable the same where it is computed from some of the rows? cut(x, 3) is not.
same_values <- function(a, b) {
  if (NROW(a) != NROW(b) || NCOL(a) != NCOL(b)) return(FALSE)
  if (is.numeric(b)) return(isTRUE(all.equal(as.numeric(a), as.numeric(b), tolerance = 1e-6)))
  identical(as.character(a), as.character(b))
}

#' Stops where a variable is computed from all rows at once, as I(x - mean(x)) is
#'
#' @param others Why `data` are not all rows.
#' @noRd
check_rows_alone <- function(design, data, others) {
  data <- as_new_data(data)
  some <- if (nrow(data) > 1L) some_rows(nrow(data))
  frame <- function(data) new_frame(design$frame_terms, data, new_data_args(design, data, TRUE), design$xlevels)
  alone <- if (length(some)) tryCatch(suppressWarnings(frame(data[some, , drop = FALSE])), error = function(e) NULL)
  if (is.null(alone)) return(invisible())
  whole <- frame(data)
  at <- setdiff(seq_along(alone), attr(design$frame_terms, "response"))
  same <- vapply(at, function(j) same_values(alone[[j]], take_variable(whole[[j]], some)), NA)
  if (all(same)) return(invisible())
  stop_galvi("formula", sprintf("`%s` is computed from all rows at once, but %s. %s", names(alone)[at[!same]][1L], others,
                                use_scale))
}

use_scale <- paste(
  "Make it a column of the data, or use scale(x), or scale(x, scale = FALSE) for x - mean(x): their means and standard",
  "deviations are kept."
)

new_frame <- function(terms, newdata, args, xlevels) {
  # model.frame() cannot count rows if the formula has no variable
  if (length(attr(terms, "variables")) == 1L) {
    frame <- newdata[, 0L, drop = FALSE]
    for (arg in names(args)) {
      frame[[sprintf("(%s)", arg)]] <- eval(args[[arg]], newdata, environment(terms))
    }
    attr(frame, "terms") <- terms
    return(frame)
  }
  call <- as.call(c(quote(stats::model.frame), list(
    formula = with_labels_of_factors(terms), data = newdata, na.action = quote(stats::na.pass)
  ), args))
  failed <- function(e) stop_galvi("newdata", unreadable(conditionMessage(e), "newdata"))
  frame <- tryCatch(with_point(eval(call, environment(terms))), error = function(e) {
    # bases of splines cannot be computed without a value
    used <- intersect(looked_up(attr(terms, "variables")), names(newdata))
    complete <- which(stats::complete.cases(newdata[used]))
    if (length(complete) == nrow(newdata) && length(complete)) failed(e)
    if (!length(complete)) return(unknown_frame(terms, nrow(newdata), xlevels))
    call$data <- newdata[complete, , drop = FALSE]
    part <- tryCatch(with_point(eval(call, environment(terms))), error = failed)
    whole <- part[match(seq_len(nrow(newdata)), complete), , drop = FALSE]
    structure(whole, row.names = attr(newdata, "row.names"), terms = attr(part, "terms"))
  })
  attr(frame, "terms") <- terms
  if (nrow(frame) != nrow(newdata)) {
    stop_galvi("newdata", unreadable(sprintf("found for '%s'", names(frame)[1L]), "newdata"))
  }
  for (name in intersect(names(frame), attr(terms, "na_levels"))) {
    frame[[name]] <- na_named(frame[[name]])
  }
  miss_with_groups(match_classes(frame, attr(terms, "dataClasses"), xlevels, attr(terms, "of_groups")))
}

#' Terms in which factors of new data are their labels, where C(), relevel() and droplevels() would want a factor with
#' the levels of the fit, which match_classes() gives: newdata may have text, as it may for other factors
#' @noRd
with_labels_of_factors <- function(terms) {
  env <- environment(terms)
  is_of_factors <- function(expr) {
    if (!head_name(expr, c("stats", "base")) %in% c("C", "relevel", "droplevels")) return(FALSE)
    f <- tryCatch(eval(expr[[1L]], env), error = function(e) NULL)
    identical(f, stats::C) || identical(f, stats::relevel) || identical(f, base::droplevels)
  }
  labels <- function(expr) {
    if (!is_of_factors(expr)) return(expr)
    arguments <- as.list(match.call(eval(expr[[1L]], env), expr))
    as.call(list(as.factor, labels(or_else(arguments$object, arguments$x))))
  }
  computed <- as.list(or_else(attr(terms, "predvars"), attr(terms, "variables")))
  attr(terms, "predvars") <- as.call(c(computed[1L], lapply(computed[-1L], labels)))
  terms
}

#' A model frame of n rows of which nothing is known
#' @noRd
unknown_frame <- function(terms, n, xlevels) {
  classes <- attr(terms, "dataClasses")
  names <- vapply(as.list(attr(terms, "variables"))[-1L], variable_name, "")
  columns <- lapply(stats::setNames(nm = names), function(v) {
    if (v %in% names(xlevels)) return(factor(rep(NA_character_, n), xlevels[[v]]))
    class <- classes[[v]]
    if (grepl("^nmatrix[.]", class)) return(matrix(NA_real_, n, as.integer(sub("^nmatrix[.]", "", class))))
    switch(class, logical = rep(NA, n), character = rep(NA_character_, n), rep(NA_real_, n))
  })
  structure(columns, row.names = seq_len(n), class = "data.frame", terms = terms)
}

# Variables must be what they were in training, factors with the same levels. of_groups: those that only effects of groups
# use.
match_classes <- function(frame, classes, xlevels, of_groups = NULL) {
  for (v in intersect(names(frame), names(classes))) {
    x <- frame[[v]]
    check_width(x, v, classes[[v]])
    is_class <- is.factor(x) || is.character(x)
    if (v %in% names(xlevels)) {
      known <- xlevels[[v]]
      unknown <- setdiff(as.character(x), c(known, NA))
      if (length(unknown)) {
        stop_galvi("newdata", sprintf(
          "`%s` has the level %s in `newdata` (row %s), which was not in the data; its levels are %s.%s", v,
          quote_names(unknown[1L], "\""), row_label(match(unknown[1L], as.character(x))), quote_names(known, "\""),
          if (v %in% of_groups) " For the population, without effects of groups, give re_formula = NA." else ""
        ))
      }
      frame[[v]] <- factor(as.character(x), known, ordered = classes[[v]] == "ordered")
    } else if ((is_class || is_time(x)) && classes[[v]] %in% c("numeric", "logical")) {
      stop_galvi("newdata", sprintf(
        "`%s` must be numbers in `newdata`, as it was in the fit, not %s.", sub("^\\((.*)\\)$", "\\1", v),
        describe(x)
      ))
    } else if (is.numeric(x) && classes[[v]] == "logical") {
      stop_galvi("newdata", sprintf("`%s` must be TRUE or FALSE in `newdata`, as it was in the fit.", v))
    } else if (is.logical(x) && classes[[v]] == "numeric") {
      # all values are NA
      frame[[v]][] <- as.numeric(x)
    }
  }
  frame
}

# The data class "nmatrix.2" means two columns of numbers.
check_width <- function(x, name, class) {
  width <- if (grepl("^nmatrix[.]", class)) as.integer(sub("^nmatrix[.]", "", class)) else 1L
  if (class == "other" || NCOL(x) == width) return(invisible())
  stop_galvi("newdata", sprintf(
    "`%s` must have %d column%s in `newdata`, as it had in the fit, not %d.", name, width,
    if (width > 1L) "s" else "", NCOL(x)
  ))
}

#' Complete rows at which a smooth has no value: what is predicted for them is missing, too
#' @noRd
outside_boundary <- function(design, frame, missing, kept) {
  specs <- predictor_specs(design)
  used <- if (is.null(kept)) specs else {
    Map(function(specs, kept) specs[vapply(kept, any, NA)], specs, kept)
  }
  complete <- setdiff(seq_len(nrow(frame)), missing)
  complete[outside_rows(unlist(used, FALSE), with_unread(frame[complete, , drop = FALSE], kept))]
}

missing_rows <- function(frame) {
  if (!any(has_missing(frame))) return(integer())
  gone <- lapply(unclass(frame)[has_missing(frame)], function(x) {
    x <- if (inherits(x, "Surv")) unclass(x) else x
    if (is.matrix(x)) rowSums(is.na(x)) > 0 else is.na(x)
  })
  which(Reduce(`|`, gone))
}

# Rows of the model without effects that a prediction leaves out.

#' Rows of a term without the effects that are left out
#' @param kept An element of kept_effects().
#' @noRd
without_effects <- function(rows, kept, n, spec = NULL) {
  if (all(kept)) return(rows)
  if (identical(spec$type, fixed_label)) {
    rows$W <- without_columns(rows$W, rep_len(kept, ncol(rows$W)), spec$coding)
    return(rows)
  }
  if (!is.null(rows$item)) { # the effects of items stay
    rows$node[] <- 0L
    rows$extension <- NULL
    return(rows)
  }
  if (!any(kept)) return(if (is.null(rows$inputs) && is.null(rows$W)) list(node = matrix(0L, n, 1L)) else blank(rows))
  axes <- if (is.null(spec)) attr(kept, "axes") else spec$axes
  if (!is.null(axes)) {
    rows$weight <- weights_without(rows$weight, axes, kept)
    return(rows)
  }
  rows$node[, !rep_len(kept, ncol(rows$node))] <- 0L
  rows
}

#' Rows to which a term adds nothing, of the shape of these
#' @noRd
blank <- function(rows) {
  if (!is.null(rows$W)) rows$W[] <- 0
  if (!is.null(rows$node)) rows$node[] <- 0L
  if (!is.null(rows$inputs)) rows$by <- numeric(nrow(rows$inputs))
  rows$extension <- NULL
  rows
}

#' Coded columns of fixed effects at rows where some of the printed ones are 0: X A, for eta = X beta = X A u
#' @noRd
without_columns <- function(W, kept, coding) {
  X <- uncoded(W, coding)
  X[, !kept] <- 0
  if (is.null(coding)) return(X)
  # the offset of thresholds belongs to the means of the columns
  if (centres_thresholds(coding)) return(coded(X, coding))
  C <- X %*% coding$A
  dimnames(C) <- dimnames(W)
  C
}

#' The terms object of a frame without the variables that only excluded terms use
#' @noRd
without_unread <- function(design, terms, kept) {
  if (is.null(kept)) return(terms)
  averaged <- or_else(attr(kept, "averaged"), lapply(kept, function(kept) rep(FALSE, length(kept))))
  used <- function(all) unlist(Map(function(specs, kept, averaged) Map(variables_read, specs, kept, all, averaged),
    predictor_specs(design), kept, averaged))
  drop_variables(terms, setdiff(used(TRUE), used(FALSE)))
}

#' Names of the variables that a term reads for the effects that are kept, or for all; where it is averaged over groups,
#' those besides the grouping
#' @noRd
variables_read <- function(spec, kept, all, averaged = FALSE) {
  if (averaged && !all) {
    return(setdiff(vapply(spec$variables, variable_name, ""), variable_name(spec$inputs[[1L]])))
  }
  if (identical(spec$type, fixed_label)) {
    factors <- attr(spec$terms, "factors")
    if (!length(factors)) return(NULL)
    labels <- if (all) seq_len(ncol(factors)) else unique(spec$assign[rep_len(kept, length(spec$assign))])
    variables <- vapply(as.list(attr(spec$terms, "variables"))[-1L], variable_name, "")
    return(variables[rowSums(factors[, labels[labels > 0L], drop = FALSE]) > 0])
  }
  vapply(if (all || any(kept)) spec$variables else item_variables(spec), variable_name, "")
}

#' The frame of new data with the variables that only excluded terms use, which have any value
#' @noRd
with_unread <- function(frame, kept) {
  any_row <- attr(kept, "frame")
  for (name in setdiff(names(any_row), names(frame))) {
    x <- any_row[[name]]
    frame[[name]] <- if (is.null(dim(x))) rep(x, nrow(frame)) else x[rep(1L, nrow(frame)), , drop = FALSE]
  }
  frame
}

drop_variables <- function(terms, names) {
  variables <- vapply(as.list(attr(terms, "variables"))[-1L], variable_name, "")
  offsets <- unlist(attributes(terms)[c("offset", "other_offsets")])
  keep <- which(!variables %in% names | seq_along(variables) %in% offsets)
  if (length(keep) == length(variables)) return(terms)
  for (of in c("variables", "predvars")) {
    if (!is.null(attr(terms, of))) attr(terms, of) <- attr(terms, of)[c(1L, keep + 1L)]
  }
  if (length(attr(terms, "offset"))) attr(terms, "offset") <- match(attr(terms, "offset"), keep)
  attr(terms, "other_offsets") <- lapply(attr(terms, "other_offsets"), match, keep)
  attr(terms, "dataClasses") <- attr(terms, "dataClasses")[intersect(names(attr(terms, "dataClasses")),
    c(variables[keep], sprintf("(%s)", c("weights", "offset", names(known_words)))))]
  terms
}

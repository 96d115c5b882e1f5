# Formula parts + data -> the model frame: all variables, rows with missing values left out, the offset.

# One frame with all variables: response, fixed effects, terms and offsets, and the arguments weights and offset as in
# model.frame(). Variables are added unchanged, because terms() would read x^2 or x1:x2 in a gp() as formula algebra.
frame_terms <- function(parsed) {
  parts <- predictor_parts(parsed)
  fixed <- unlist(lapply(parts, function(part) as.list(attr(part$fixed, "variables"))[-1L]))
  inputs <- unlist(lapply(all_specs(parsed), `[[`, "variables"), recursive = FALSE)
  variables <- c(list(parsed$response), fixed, inputs)
  names <- vapply(variables, variable_name, "")
  if (names[1L] %in% names[-1L]) {
    stop_galvi("formula", sprintf("The response `%s` is also on the right side of the formula.", names[1L]))
  }
  variables <- variables[!duplicated(names)]
  offsets <- lapply(parts, `[[`, "offsets")
  owner <- rep(seq_along(parts), lengths(offsets))
  at <- lapply(seq_along(parts), function(k) length(variables) + which(owner == k))
  structure(
    parsed$formula, variables = as.call(c(quote(list), variables, unlist(offsets, recursive = FALSE))),
    offset = if (length(at[[1L]])) at[[1L]], other_offsets = at[-1L],
    all_levels = step_factors(parsed), memberships = memberships(parsed), response = 1L, .Environment = parsed$env,
    class = c("terms", "formula")
  )
}

# Variables that keep levels without observations: times of random walks and of ordered effects with one standard
# deviation, because each level is a step.
step_factors <- function(parsed) {
  specs <- single_specs(all_specs(parsed))
  walks <- which_can(specs, "steps")
  effects <- unlist(lapply(specs, function(spec) if (has_steps(spec)) setdiff(spec$variables, spec$inputs)))
  steps <- c(input_names(specs[walks]), vapply(effects, variable_name, ""))
  setdiff(steps, c(input_names(specs[!walks]), fixed_names(parsed)))
}

# Groups of mm(weights = ), of which NA means none where the weight is zero: list(groups, weights), the frame's names.
memberships <- function(parsed) {
  weighted <- Filter(function(spec) isTRUE(spec$members) && !is.null(spec$weights), all_specs(parsed))
  lapply(weighted, function(spec) list(groups = input_names(list(spec)), weights = variable_name(spec$weights)))
}

#' Missing weights where a group is missing that has one, which leave their rows out
#' @noRd
miss_with_groups <- function(frame) {
  for (own in attr(attr(frame, "terms"), "memberships")) {
    if (!all(own$groups %in% names(frame))) next  # what is predicted leaves these effects out
    given <- frame[[own$weights]]
    missing <- vapply(unclass(frame)[own$groups], function(x) is.na(as.character(x)), logical(nrow(frame)))
    if (length(given) == length(missing)) frame[[own$weights]] <- replace(given, missing & given != 0, NA)
  }
  frame
}

#' What belongs to each predictor, of parsed formulas or of a fit's design; the first is the response's
#' @noRd
predictor_parts <- function(x) c(list(x), x$others)

# The terms of all predictors.
all_specs <- function(x) unlist(lapply(unname(predictor_parts(x)), `[[`, "specs"), recursive = FALSE)

# The terms of each linear predictor.
predictor_specs <- function(x) lapply(unname(predictor_parts(x)), `[[`, "specs")

input_names <- function(specs) {
  vapply(unlist(lapply(specs, `[[`, "inputs")), variable_name, "")
}

fixed_names <- function(parsed) {
  variables <- lapply(predictor_parts(parsed), function(part) attr(part$fixed, "variables"))
  vapply(unlist(lapply(variables, function(v) as.list(v)[-1L])), variable_name, "")
}

# args: the user's expressions for weights, offset and subset. na.action is called only if there are missing values,
# because na.omit() copies every column.
model_frame <- function(terms, data, args, na.action) {
  errors <- if (is_standard_error(args$weights)) deparse_one(args$weights[[2L]])
  typed <- args
  typed$weights <- weight_numbers(args$weights)
  check_variables(terms, data, typed)
  naming_rows(frame_labels(data), check_said(attr(terms, "said"), data, environment(terms), args$subset))
  known <- args[intersect(names(known_words), names(args))]
  args <- known_for_rows(args, call("NROW", attr(terms, "variables")[[2L]]))
  call <- as.call(c(
    quote(stats::model.frame), list(formula = terms, data = data, na.action = quote(stats::na.pass)), args
  ))
  failed <- function(e) {
    if (inherits(e, "galvi_error")) stop(e)
    message <- conditionMessage(e)
    what <- if (length(unknown_function(message))) "formula" else "data"
    if (what == "data") check_expressions(terms, data, message)
    stop_galvi(what, unreadable(message, "data", data))
  }
  # arithmetic with factors warns, and is NA in all rows
  evaluate <- function() withCallingHandlers(
    tryCatch(with_point(eval(call, environment(terms))), error = failed),
    warning = function(w) if (head_name(conditionCall(w)) == "Ops.factor") failed(w)
  )
  frame <- evaluate()
  if (!is.null(attr(data, "all_rows"))) {
    call$formula <- polynomials_over(attr(frame, "terms"), attr(data, "all_rows"))
    if (!identical(call$formula, attr(frame, "terms"))) frame <- evaluate()
  }
  check_shapes(frame)
  check_magnitudes(frame)
  if (!is.null(errors)) check_standard_errors(frame[["(weights)"]], errors)
  check_known(frame, known)
  frame <- miss_with_groups(frame)
  frame <- drop_unused_levels(handle_missing(frame, na.action, data), keep = attr(terms, "all_levels"))
  of_members <- unlist(lapply(attr(terms, "memberships"), `[[`, "groups"))
  frame <- name_na_levels(frame, setdiff(names(frame)[-1L], of_members))
  if (!nrow(frame)) {
    stop_galvi("data", sprintf(
      "`data` has no rows left%s.",
      if (length(attr(frame, "na.action"))) " without missing values" else ""
    ))
  }
  attr(frame, "row_names_are") <- row_name_kind(data)
  frame
}

#' The terms of a sample's frame, with the columns of poly() in the units that they have over all rows, where each has
#' length one
#' @noRd
polynomials_over <- function(terms, rows) {
  over_rows <- function(coefs) {
    if (is.null(coefs$norm2)) return(lapply(coefs, over_rows)) # of several variables
    # the second is the number of rows
    coefs$norm2[-1L] <- coefs$norm2[-1L] * (rows / coefs$norm2[2L])
    coefs
  }
  computed <- attr(terms, "predvars")
  for (at in which(vapply(as.list(computed), head_name, "") == "poly")) {
    if (!is.null(computed[[at]]$coefs)) computed[[at]]$coefs <- over_rows(computed[[at]]$coefs)
  }
  attr(terms, "predvars") <- computed
  terms
}

# Functions of the formula that stop at values that are not finite or missing, as ns() and poly() do.
check_expressions <- function(terms, data, message) {
  used <- Filter(function(name) {
    is.numeric(data[[name]]) && is.null(dim(data[[name]]))
  }, looked_up(attr(terms, "variables")))
  for (name in used) naming_rows(frame_labels(data), {
    x <- data[[name]]
    bad <- which(is.infinite(x))
    if (length(bad)) stop_galvi("data", sprintf("`%s` must be finite; %s.", name, found_in_rows(x, bad)))
  })
  if (!grepl("missing values", message, ignore.case = TRUE)) return(invisible())
  fails <- function(call) inherits(try(eval(call, data, environment(terms)), silent = TRUE), "try-error")
  failing <- Filter(fails, Filter(is.call, as.list(attr(terms, "variables"))[-1L]))
  used <- intersect(used, unlist(lapply(failing, all.vars)))
  name <- Find(function(name) anyNA(data[[name]]), used)
  if (is.null(name)) return(invisible())
  stop_galvi("data", sprintf(
    "%s, and `%s` has some, in row %s: leave these rows out of the data, data = subset(d, !is.na(%s)).",
    sub("^m", "M", message), name, naming_rows(frame_labels(data), row_label(which(is.na(data[[name]]))[1L])), name
  ))
}

# A variable is a vector or a matrix with columns.
check_shapes <- function(frame) {
  for (name in names(frame)) {
    size <- dim(frame[[name]])
    if (length(size) > 2L) {
      stop_galvi("data", sprintf(
        "`%s` is an array of %d dimensions: a variable of the formula must be a vector, a factor or a matrix.",
        name, length(size)
      ))
    }
    if (length(size) == 2L && !size[2L]) {
      stop_galvi("data", sprintf("`%s` is a matrix without columns.", name))
    }
  }
}

# Squares and products of covariates and offsets must be numbers, as variances are made of them; the response is its
# family's matter, and check_weights() knows about weights.
check_magnitudes <- function(frame) {
  for (name in setdiff(names(frame)[-1L], c("(weights)", sprintf("(%s)", names(known_words))))) {
    wrong <- magnitude_error(frame[[name]])
    if (length(wrong)) stop_galvi("data", sprintf("`%s` has %s.", gsub("^\\((.*)\\)$", "\\1", name), wrong))
  }
}

# An error of model.frame() in our words for the common cases, else in its own.
unreadable <- function(message, where, data = NULL) {
  unknown <- unknown_function(message)
  if (length(unknown) && unknown %in% term_words) {
    return(sprintf("`%s()` is a term: it can only be added on the right side of the formula.", unknown))
  }
  if (length(unknown) && unknown %in% c("ns", "bs")) {
    return(sprintf(
      "`%s()` in the formula is a function of the package splines: write library(splines) first, or splines::%s(x, 3).",
      unknown, unknown
    ))
  }
  if (length(unknown)) {
    return(sprintf(
      "`%s()` in the formula is neither a term nor a known function.%s", unknown,
      did_you_mean(unknown, c(term_words, galvi_words(), "offset"))
    ))
  }
  kind <- matched("invalid type \\((.*)\\) for variable '.*'", message)
  if (length(kind)) return(wrong_kind(kind, sub(".*for variable '(.*)'", "\\1", message), where, data))
  variable <- sub(".*found for '(.*)'.*", "\\1", message)
  if (identical(variable, message)) {
    return(sprintf("The formula's variables cannot be read from `%s`: %s.", where, message))
  }
  paste0(
    sprintf("`%s` must have one value per row of `%s`.", gsub("^\\((.*)\\)$", "\\1", variable), where),
    column_hint(tryCatch(str2lang(variable), error = function(e) NULL))
  )
}

# d$x in a formula is the same in all data.
column_hint <- function(expr) {
  taken <- find_call(expr, function(e) head_name(e) %in% c("$", "[[") && is.symbol(e[[2L]]))
  name <- if (!is.null(taken)) taken[[3L]]
  if (!is.character(name) && !(is.symbol(name) && head_name(taken) == "$")) return("")
  sprintf(" In the formula write %s, not %s, and give galvi() the argument data = %s.", as.character(name),
    deparse_one(taken), as.character(taken[[2L]]))
}

# The first call inside an expression that a condition holds of, NULL without any.
find_call <- function(expr, holds) {
  if (!is.call(expr)) return(NULL)
  if (holds(expr)) return(expr)
  for (part in as.list(expr)[-1L]) {
    found <- if (!missing(part)) find_call(part, holds)
    if (!is.null(found)) return(found)
  }
  NULL
}

# kind: R's type of a variable that is not a vector. Geometries of package sf are lists.
wrong_kind <- function(kind, name, where, data) {
  if (inherits(data[[name]], "sfc")) {
    return(sprintf(paste(
      "`%s` has geometries, which are not numbers. For a Gaussian process over places take their coordinates,",
      "d <- cbind(sf::st_drop_geometry(d), sf::st_coordinates(sf::st_centroid(d$%s))) with d your `%s`, and",
      "write gp(X, Y); for regions and their neighbours write gmrf(g, graph = d)."
    ), name, name, where))
  }
  if (inherits(data[[name]], "POSIXlt")) {
    return(sprintf("`%s` has times of class \"POSIXlt\", which are lists: write d$%s <- as.POSIXct(d$%s) with d your `%s`.",
      name, name, name, where))
  }
  what <- switch(kind, closure = , builtin = , special = "a function", list = "a list",
    symbol = , language = , expression = "an expression", paste("of type", kind))
  lost <- !is.null(data) && !name %in% names(data) && what == "a function"
  sprintf(
    "`%s` is %s%s: a variable of the formula must be a vector, a factor or a matrix.%s", name, what,
    if (lost) ", and `data` has no such column" else "", if (lost) did_you_mean(name, names(data)) else ""
  )
}

# The response keeps unused levels: a single row of a two-level factor is still a valid response.
drop_unused_levels <- function(frame, keep = character()) {
  for (j in setdiff(which(vapply(unclass(frame), is.factor, NA) & !names(frame) %in% keep), 1L)) {
    x <- frame[[j]]
    if (all(tabulate(x, nlevels(x)))) next
    frame[[j]] <- x[, drop = TRUE]
    if (is.null(attr(x, "contrasts"))) next
    warn_galvi("data", sprintf(
      "`%s` has levels without rows. They are dropped, and so are the contrasts of the factor.",
      names(frame)[j]
    ))
  }
  frame
}

# NA as a level, which addNA() adds, is the level "NA", as it is in names of coefficients: effects of levels are found
# and named by text. `na_levels` of the frame's terms are the variables that have it, for predictions.
name_na_levels <- function(frame, names) {
  has_it <- Filter(function(name) is.factor(frame[[name]]) && anyNA(levels(frame[[name]])), names)
  for (name in has_it) {
    if ("NA" %in% levels(frame[[name]])) {
      stop_galvi("data", sprintf(
        "`%s` has the level \"NA\" and NA as another level: give one of them another name.", name
      ))
    }
    frame[[name]] <- name_na_level(frame[[name]])
  }
  attr(attr(frame, "terms"), "na_levels") <- has_it
  frame
}

name_na_level <- function(x) {
  levels(x)[is.na(levels(x))] <- "NA"
  x
}

na_named <- function(x) name_na_level(addNA(x))

#' The value that a variable of the frame has elsewhere
#' @param expr The variable, or how predictions compute it.
#' @noRd
variable_value <- function(name, expr, values, terms) {
  x <- with_point(eval(expr, values, environment(terms)))
  if (name %in% attr(terms, "na_levels")) na_named(x) else x
}

has_missing <- function(frame) vapply(unclass(frame), anyNA, NA)

handle_missing <- function(frame, na.action, data) {
  missing <- has_missing(frame)
  if (!any(missing)) return(frame)
  if (identical(na.action, stats::na.fail)) {
    stop_galvi("data", sprintf(
      "Missing values in %s, and `na.action` is na.fail; na.omit drops their rows.",
      quote_names(names(frame)[missing])
    ))
  }
  check_some_complete(frame, data)
  frame <- na.action(frame)
  missing <- has_missing(frame)
  if (any(missing)) {
    stop_galvi("data", sprintf(
      "Missing values in %s; na.action = na.omit drops their rows.",
      quote_names(names(frame)[missing])
    ))
  }
  frame
}

# A variable that is missing in every row, such as scale(x) where one value of x is infinite.
check_some_complete <- function(frame, data) {
  empty <- names(frame)[vapply(unclass(frame), function(x) all(is.na(x)), NA)]
  if (!length(empty) || !nrow(frame)) return(invisible())
  name <- gsub("^\\((.*)\\)$", "\\1", empty[1L])
  used <- tryCatch(all.vars(str2lang(name)), error = function(e) NULL)
  cause <- Find(function(v) is.numeric(data[[v]]) && any(is.infinite(data[[v]])), setdiff(used, name))
  stop_galvi("data", sprintf(
    "`data` has no rows left without missing values: `%s` is NA or NaN in all of them%s.", name,
    if (is.null(cause)) "" else {
      bad <- naming_rows(frame_labels(data), found_in_rows(data[[cause]], which(is.infinite(data[[cause]]))))
      sprintf(", as `%s` must be finite: %s", cause, bad)
    }
  ))
}

check_variables <- function(terms, data, args) {
  env <- environment(terms)
  known <- names(data)
  uses <- function(expr, arg) {
    for (v in setdiff(looked_up(expr), known)) {
      if (exists(v, envir = env)) next
      stop_galvi("data", sprintf(
        "`%s`, used in %s, is neither a column of `data` nor a variable in the formula's environment.%s", v, arg,
        did_you_mean(v, known)
      ))
    }
  }
  uses(attr(terms, "variables"), "the formula")
  for (arg in names(args)) {
    check_not_text(args[[arg]], arg)
    uses(args[[arg]], sprintf("`%s`", arg))
  }
}

# Catches weights = "n" and subset = "x > 2", which are text instead of names and expressions.
check_not_text <- function(expr, arg) {
  if (head_name(expr) == "~") {
    right <- deparse_one(expr[[length(expr)]])
    stop_galvi("argument", sprintf("`%s` is not a formula: write %s = %s, without `~`.", arg, arg, right))
  }
  if (!is.character(expr)) return(invisible())
  example <- if (arg == "subset") "subset = x > 2" else sprintf("%s = n", arg)
  stop_galvi("argument", sprintf(
    "`%s` must be a column or an expression of columns, without quotes, as in %s; not %s.", arg, example,
    describe(expr)
  ))
}

# A model frame, or its terms, with the offsets of predictor k alone.
with_own_offsets <- function(frame, k) {
  terms <- if (is.data.frame(frame)) attr(frame, "terms") else frame
  if (k > 1L) attr(terms, "offset") <- attr(terms, "other_offsets")[[k - 1L]]
  attr(terms, "other_offsets") <- list()
  if (!is.data.frame(frame)) return(terms)
  if (k > 1L) frame[["(offset)"]] <- NULL
  attr(frame, "terms") <- terms
  frame
}

# The sum of all offsets, N x K. An offset of one column is added to every latent value. latents: their names, NULL for
# one. With predictors of other parameters each has its own offsets, and the argument `offset` belongs to that of the
# response.
frame_offset <- function(frame, latents = NULL) {
  others <- length(attr(attr(frame, "terms"), "other_offsets"))
  if (others) return(do.call(cbind, lapply(seq_len(1L + others), function(k) frame_offset(with_own_offsets(frame, k)))))
  k <- max(1L, length(latents))
  total <- matrix(0, nrow(frame), k)
  at <- c(attr(attr(frame, "terms"), "offset"), match("(offset)", names(frame), 0L))
  for (j in at[at > 0L]) total <- total + offset_columns(frame[[j]], latents, k)
  total
}

offset_columns <- function(offset, latents, k) {
  if (!is.numeric(offset)) stop_galvi("data", sprintf("`offset` must be numbers, not %s.", describe(offset)))
  if (!NCOL(offset) %in% c(1L, k)) {
    stop_galvi("data", sprintf(
      "`offset` must be one column of numbers%s, not %s.",
      if (k > 1L) sprintf(" or a matrix of %d, for %s", k, quote_names(latents, max = 6L)) else "",
      describe(offset)
    ))
  }
  bad <- which(!is.finite(offset))
  if (length(bad)) {
    stop_galvi("data", sprintf(
      "`offset` must be finite; row %s has %s.", row_label((bad[1L] - 1L) %% NROW(offset) + 1L), format(offset[bad[1L]])
    ))
  }
  # columns that are named like the latent values are matched by name
  if (NCOL(offset) > 1L && setequal(colnames(offset), latents)) offset <- offset[, latents, drop = FALSE]
  matrix(as.numeric(offset), NROW(offset), k)
}

# Conditions and argument checks. Every message names the argument, what was found and what is accepted.

# what: argument, data, response, formula, family, method, kernel, prior, newdata, size, numeric,
# callback (functions of users).
new_galvi_condition <- function(kind, what, message, call) {
  structure(
    class = c(paste0("galvi_", kind, "_", what), paste0("galvi_", kind), kind, "condition"),
    list(message = message, call = call)
  )
}

stop_galvi <- function(what, message, call = NULL) {
  stop(new_galvi_condition("error", what, message, call))
}

warn_galvi <- function(what, message, call = NULL) {
  warning(new_galvi_condition("warning", what, message, call))
}

inform_galvi <- function(what, message) {
  condition <- new_galvi_condition("message", what, paste0(message, "\n"), NULL)
  message(condition)
}

# ---- words ----

quote_names <- function(x, mark = "`", max = 12L) {
  more <- length(x) > max
  words <- quoted(utils::head(x, max), mark)
  paste0(paste(words, collapse = ", "), if (more) sprintf(" and %d more", length(x) - max))
}

# my x for `my x`, as coefficients are called of columns whose names R cannot read.
without_backticks <- function(x) gsub("`", "", x, fixed = TRUE)

#' Each name in quotes, unless it has them, as the coefficient of a column `my x` has
#' @noRd
quoted <- function(x, mark = "`") ifelse(mark == "`" & grepl("^`.*`$", x), x, paste0(mark, x, mark))

# A value in words, for messages: `-3`, `"a"`, `a data frame of 3 x 2`.
describe <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function")
  if (is.data.frame(x)) return(sprintf("a data frame of %d x %d", nrow(x), ncol(x)))
  if (is.matrix(x)) return(sprintf("a %s matrix of %d x %d", typeof(x), nrow(x), ncol(x)))
  if (is.language(x)) return(paste0("`", deparse_one(x), "`"))
  if (is.atomic(x) && is.null(attr(x, "class")) && length(x) == 1L) {
    return(if (is.character(x)) dQuote(x, FALSE) else format(unname(x)))
  }
  type <- if (is.null(attr(x, "class"))) typeof(x) else class(x)[1L]
  article <- if (grepl("^[aeiou]", type)) "an object of type" else "a vector of type"
  if (!is.null(attr(x, "class"))) return(sprintf("an object of class %s", dQuote(type, FALSE)))
  sprintf("%s %s, length %d", article, type, length(x))
}

# `row 3 has -1, and 2 more rows`
found_in_rows <- function(x, bad) {
  rows <- row_label(bad)
  # a row of a wide response may be several here
  more <- length(unique(rows)) - 1L
  paste0(
    sprintf("row %s has %s", rows[1L], format(x[bad[1L]])),
    if (more) sprintf(", and %d more row%s", more, if (more > 1L) "s" else "")
  )
}

deparse_one <- function(x) {
  paste(trimws(deparse(x, width.cutoff = 500L)), collapse = " ")
}

# The accepted name closest to `name`, NULL if none is similar.
nearest_name <- function(name, known) {
  plain <- function(x) gsub("[._]", "", tolower(x))
  known <- known[nzchar(plain(known))]
  if (!length(known) || !nzchar(plain(name))) return(NULL)
  distance <- utils::adist(name, known, ignore.case = TRUE)[1L, ]
  # one name may be the start of the other: "iter" for "iterations", "tolerance" for "tol", "re.form" for "re_formula"
  starts <- startsWith(plain(known), plain(name)) | startsWith(plain(name), plain(known))
  best <- if (any(starts)) which(starts)[which.min(distance[starts])] else which.min(distance)
  # two fifths of the longer name may differ, but not all of it
  allowed <- min(nchar(name) - 1, max(1, floor(0.4 * max(nchar(name), nchar(known[best])))))
  near <- any(starts) || distance[best] <= allowed
  if (near) known[best] else NULL
}

did_you_mean <- function(name, known) {
  near <- nearest_name(name, known)
  if (is.null(near)) "" else sprintf(" Did you mean `%s`?", near)
}

# The accepted name that may have been meant, in a sentence; else all of them.
names_hint <- function(name, known, what) {
  near <- trimws(did_you_mean(name, known))
  if (nzchar(near)) near else sprintf("%s are %s.", what, quote_names(known, max = 60L))
}

# ---- checks; each returns its (tidied) value ----

# An argument's value. R's errors while it is evaluated (a misspelt function, a missing object) become errors about
# the argument; `words` are the functions that the user may have meant, hint(name) says what else to do about an unknown
# function or object.
check_evaluates <- function(expr, arg, what = "argument", words = character(), hint = function(name) NULL,
                            of_error = function(message) "") {
  tryCatch(expr, error = function(e) {
    if (inherits(e, "galvi_error")) stop(e)
    message <- conditionMessage(e)
    unknown <- unknown_function(message)
    unused <- matched("unused arguments? \\(([^ =]+) = .*", message)
    object <- named_by_r("object '%s' not found", message)
    if (length(unknown)) {
      said <- paste0(" ", hint(unknown), recycle0 = TRUE)
      if (!length(said)) said <- did_you_mean(unknown, words)
      stop_galvi(what, paste0(sprintf("`%s`: could not find the function `%s()`.", arg, unknown), said))
    }
    if (length(object)) {
      said <- hint(object)
      if (is.null(said)) said <- trimws(did_you_mean(object, words))
      if (!length(said) || !nzchar(said)) said <- sprintf("Define `%s` first, or check its spelling.", object)
      stop_galvi(what, sprintf("`%s` cannot be evaluated: `%s` is not found. %s", arg, object, said))
    }
    if (length(unused)) {
      called <- Filter(function(word) identical(own_function(word), conditionCall(e)[[1L]]), words)
      known <- unlist(lapply(if (length(called)) called else words, function(word) names(formals(word))))
      said <- did_you_mean(unused, setdiff(known, unused))
      if (!nzchar(said) && length(called)) said <- sprintf(" Its arguments are %s.", quote_names(known))
      stop_galvi(what, paste0(
        sprintf("`%s`: ", arg), if (length(called)) sprintf("%s() has", called) else "there is",
        sprintf(" no argument `%s`.", unused), said
      ))
    }
    stop_galvi(what, sprintf("`%s` cannot be evaluated: %s.%s", arg, message, of_error(message)))
  })
}

# The part of x that the pattern's group matches; character(0) without a match.
matched <- function(pattern, x) if (grepl(pattern, x)) sub(pattern, "\\1", x) else character()

unknown_function <- function(message) named_by_r("could not find function \"%s\"", message)

# What a message of R names by %s, in the language of the session; character(0) for another message.
named_by_r <- function(template, message) {
  around <- strsplit(gettext(template, domain = "R"), "%s", fixed = TRUE)[[1L]]
  if (length(around) == 1L) around[2L] <- ""
  start <- regexpr(around[1L], message, fixed = TRUE)
  if (start < 0L) return(character())
  rest <- substring(message, start + nchar(around[1L]))
  end <- if (nzchar(around[2L])) regexpr(around[2L], rest, fixed = TRUE) else nchar(rest) + 1L
  if (end < 0L) character() else substr(rest, 1L, end - 1L)
}

# `na.action` as a function of a data frame. Accepts na.omit, "na.omit", and NULL for no action.
check_na_action <- function(x) {
  if (is.null(x)) return(stats::na.pass)
  if (is.function(x)) return(x)
  if (is.character(x) && length(x) == 1L && exists(x, mode = "function")) return(get(x, mode = "function"))
  stop_galvi("argument", sprintf(
    "`na.action` must be na.omit, na.exclude, na.fail or na.pass, not %s.", describe(x)
  ))
}

check_choice <- function(x, choices, arg, what = "argument") {
  if (is.character(x) && length(x) == 1L && x %in% choices) return(x)
  found <- if (is.character(x) && length(x) == 1L) dQuote(x, FALSE) else describe(x)
  hint <- if (is.character(x) && length(x) == 1L) nearest_name(x, choices)
  stop_galvi(what, sprintf(
    "`%s` must be one of %s, not %s.%s", arg, quote_names(choices, "\"", 30L), found,
    if (is.null(hint)) "" else sprintf(" Did you mean \"%s\"?", hint)
  ))
}

check_number <- function(x, arg, lower = -Inf, upper = Inf, open_lower = FALSE, infinite = FALSE,
                         what = "argument") {
  ok <- is.numeric(x) && is.null(dim(x)) && length(x) == 1L && !is.na(x) && (infinite || is.finite(x)) &&
    x <= upper && (if (open_lower) x > lower else x >= lower)
  if (ok) return(as.numeric(x))
  range <- if (lower == 0 && upper == Inf) {
    if (open_lower) "a positive number" else "a number that is not negative"
  } else if (lower == -Inf && upper == Inf) {
    "a number"
  } else if (upper == Inf) {
    sprintf("a number %s %s", if (open_lower) "above" else "of at least", format(lower))
  } else {
    sprintf("a number from %s to %s", format(lower), format(upper))
  }
  stop_galvi(what, sprintf("`%s` must be %s, not %s.", arg, range, describe(x)))
}

# A whole number that fits into an int of C++, and is at most `upper`.
check_whole <- function(x, arg, lower = 1, upper = Inf, what = "argument") {
  ok <- is.numeric(x) && length(x) == 1L && is.finite(x) && x == round(x) && x >= lower &&
    x <= min(upper, .Machine$integer.max)
  if (ok) return(as.numeric(x))
  too_large <- is.numeric(x) && length(x) == 1L && !is.na(x) && x > .Machine$integer.max
  if (too_large && upper == Inf) upper <- .Machine$integer.max
  range <- if (upper < Inf) {
    sprintf("a whole number from %g to %s", lower, format(upper, digits = 10L))
  } else if (lower == 1) "a positive whole number" else sprintf("a whole number of at least %g", lower)
  stop_galvi(what, sprintf("`%s` must be %s, not %s.", arg, range, describe(x)))
}

check_flag <- function(x, arg, what = "argument") {
  if (is.logical(x) && length(x) == 1L && !is.na(x)) return(unname(x))
  stop_galvi(what, sprintf("`%s` must be TRUE or FALSE, not %s.", arg, describe(x)))
}

# Arguments that methods of other packages have: what to write in their place, by our method.
foreign_method_arguments <- local({
  draws <- paste(
    "rstantools::posterior_epred(fit, newdata, ndraws = ) has draws of means, posterior_linpred() of linear predictors and",
    "posterior_predict() of responses."
  )
  of_draws <- c(summary = draws, ndraws = draws, nsamples = draws, draw_ids = draws)
  coefficients <- c(summary = "as.matrix(fit) has draws of coefficients and hyperparameters.")
  limits <- "Limits are always drawn as a band, with probability `level`."
  of_target <- c(
    offset = "Offsets are read from `newdata`, by the offset() of the formula or the argument `offset` of the fit.",
    draw_ids = "Draws are new in each call: `ndraws` is their number, and `seed` makes them the same again.",
    summary = "It returns the draws: predict(fit, newdata, interval = \"credible\") has means and intervals.",
    resp = "Responses have a linear predictor each: `newdata` has the rows of interest.",
    nlpar = "There are no non-linear parameters: `dpar` names those of the family."
  )
  of_rows <- c(
    newdata = paste(
      "It is that of the rows of the fit: rstantools::log_lik(fit, newdata) and predict(fit, newdata, type =",
      "\"density\") have log densities of others."
    ),
    re_formula = "It is that of the fit, with all effects: loo(fit, group = ) leaves groups out.",
    resp = "It is that of all responses; the element `pointwise` has a row for each observation."
  )
  of_rows <- c(of_rows, re.form = unname(of_rows["re_formula"]))
  of_r_squared <- c(
    newdata = "It is that of the rows of the fit.", summary = "It returns the draws: quantile() summarises them.",
    resp = "Of responses() of several families bayes_R2() has a column for each.", of_target["draw_ids"]
  )
  applied <- "Apply the function to the draws."
  list(
    "posterior_linpred()" = c(of_target, fun = applied), "posterior_epred()" = c(of_target, fun = applied),
    "posterior_predict()" = c(of_target, transform = "`fun` is applied to the draws."),
    "log_lik()" = of_target, "predictive_error()" = c(fun = "Errors are those of the response as it is."),
    "bayes_R2()" = of_r_squared, "loo_R2()" = of_r_squared,
    "loo()" = of_rows, "waic()" = of_rows,
    "kfold()" = c(of_rows, Ksub = "All folds are fitted: `folds` says which rows are left out together."),
    "predict()" = c(of_draws, at = paste(
      "type = \"density\" has the logarithm of the probability of a count, the response y in `newdata`:",
      "exp(sapply(0:3, function(k) predict(fit, transform(newdata, y = k), type = \"density\")))."
    )),
    "fitted()" = c(of_draws, scale = "Linear predictors are type = \"link\"."),
    "fixef()" = coefficients, "coef()" = coefficients,
    "plot()" = c(
      select = "Terms are chosen by their names, as in terms = \"s(x)\".",
      pages = "Panels are drawn together where they fit; terms = \"s(x)\" chooses some.", shade = limits, se = limits
    )
  )
})

# The names in `dots` (a list or a call's arguments) that `where` does not know.
check_no_dots <- function(dots, known, where) {
  if (!length(dots)) return(invisible())
  known <- setdiff(known, "...")
  given <- names(dots)
  if (is.null(given)) given <- rep("", length(dots))
  bad <- given[nzchar(given)][1L]
  if (is.na(bad)) {
    stop_galvi("argument", sprintf(
      "%s has %d unnamed argument%s too many. Its arguments are %s.",
      where, length(dots), if (length(dots) > 1L) "s" else "", quote_names(known, max = 30L)
    ))
  }
  hint <- foreign_method_arguments[[where]][bad]
  stop_galvi("argument", sprintf(
    "%s has no argument `%s`.%s", where, bad,
    if (!is.null(hint) && !is.na(hint)) paste0(" ", hint) else if (is.null(nearest_name(bad, known))) paste0(" Its arguments are ", quote_names(known, max = 30L), ".") else {
      did_you_mean(bad, known)
    }
  ))
}

# Stops if a method of our own generics, or of R's, was given arguments in `...` that it does not have; methods of other
# packages' generics pass over them. method: the function itself; callers: arguments that usual callers of the generic
# pass, and that have no effect here.
refuse_dots <- function(dots, method, where, callers = character()) {
  if (!is.null(names(dots))) dots <- dots[!names(dots) %in% callers]
  check_no_dots(dots, c(setdiff(names(formals(method)), "..."), callers), where)
}

# Methods of other packages' generics pass over arguments that they do not know, but for those that the methods of other
# models have and that would change the result. NULL and FALSE ask for nothing, and of offsets TRUE.
refuse_foreign <- function(dots, where) {
  asked <- dots[names(dots) %in% names(foreign_method_arguments[[where]])]
  asked <- asked[!vapply(names(asked), function(name) {
    is.null(asked[[name]]) || identical(asked[[name]], name == "offset")
  }, NA)]
  check_no_dots(asked, character(), where)
}

# print() of a list passes the layout arguments of print.default() to the methods of its elements.
refuse_print_dots <- function(dots, method) {
  refuse_dots(dots, method, "print()", setdiff(names(formals(print.default)), c("x", "...")))
}

# Between thousands, where it is not the decimal mark.
big_mark <- function() if (getOption("OutDec") == ",") "." else ","

whole_words <- function(n) format(n, big.mark = big_mark(), scientific = FALSE)

gib <- function(bytes) {
  size <- bytes / 2^30
  digits <- if (size < 1) 2L else if (size < 8) 1L else 0L
  format(if (size < 1) signif(size, 2L) else round(size, digits), big.mark = big_mark(), scientific = FALSE)
}

# An error of the user's function names the function. Warnings come from searches that go far out, and are dropped.
call_user <- function(f, arguments, what, owner) {
  tryCatch(suppressWarnings(do.call(f, arguments)), error = function(e) {
    message <- conditionMessage(e)
    gone <- length(c(unknown_function(message), named_by_r("object '%s' not found", message))) > 0L
    stop_galvi("callback", sprintf(
      "`%s` of the %s fails: %s.%s", what, owner, sub("\\.$", "", message),
      if (gone) " It may use its arguments, `parameters` and packages by `::`, which every session has." else ""
    ))
  })
}

# first: the first arguments, which may have any names; the parameters follow by name.
check_callback <- function(f, what, first, parameters) {
  signature <- sprintf("function(%s)", paste(c(first, names(parameters)), collapse = ", "))
  if (!is.function(f)) stop_galvi("callback", sprintf("`%s` must be a %s, not %s.", what, signature, describe(f)))
  known <- names(formals(args(f)))
  if (length(parameters) && (is.null(names(parameters)) || !all(nzchar(names(parameters))))) {
    stop_galvi("callback", "`parameters` must have names, as list(scale = 1).")
  }
  missing <- setdiff(names(parameters), known)
  if (length(missing) && !"..." %in% known) {
    stop_galvi("callback", sprintf("`%s` must be a %s: it has no argument `%s`.", what, signature, missing[1L]))
  }
  needed <- setdiff(known[seq_along(known) > length(first)], c("...", names(parameters)))
  without <- Filter(function(name) identical(formals(args(f))[[name]], quote(expr = )), needed)
  if (length(known) < length(first) && !"..." %in% known || length(without)) {
    stop_galvi("callback", sprintf(
      "`%s` must be a %s%s.", what, signature,
      if (length(without)) sprintf(": `parameters` must say where `%s` starts", without[1L]) else ""
    ))
  }
}

#' Errors of the core, and of memory that runs out, with our classes
#'
#' @param size The memory that the computation was expected to need, see new_size(); NULL if it is small.
#' @noRd
as_galvi_error <- function(expr, size = NULL) {
  tryCatch(expr, error = function(e) {
    if (is_out_of_memory(e)) stop_out_of_memory(size)
    if (!inherits(e, "C++Error")) stop(e)
    message <- core_letter(label_rows_of_core(conditionMessage(e)), class(e))
    refused <- inherits(e, "std::invalid_argument") || startsWith(message, "method \"")
    what <- if (inherits(e, "std::range_error")) {
      "response"
    } else if (inherits(e, "std::length_error")) {
      "size"
    } else if (refused) "method" else "numeric"
    stop_galvi(what, message)
  })
}

#' A message of the core with what to do, where it says none
#'
#' @param class The classes of the condition, which have the type of the C++ exception.
#' @noRd
core_letter <- function(message, class) {
  message <- sub("[.]$", "", message)
  advises <-
    "`|: (give|use|rescale|add|check|make|change|choose|leave)|[;,] (use|give|rescale|check|add) |\\bneeds? all rows"
  if (grepl(advises, message)) return(paste0(message, "."))
  paste0(message, if ("std::domain_error" %in% class) {
    paste(
      ". Rescale the inputs or the response, give hyperparameters other starting values, or hold one by fixed();",
      "summary() and ?galvi_control say more."
    )
  } else if ("std::invalid_argument" %in% class) {
    ". The model is not as galvi_model() makes it: if it was changed by hand or read from a file, make it again."
  } else {
    ". This is an error of galvi: please report it with the call and, if you can, the data."
  })
}

print_wrapped <- function(text, indent = 2L) {
  cat(strwrap(text, width = 0.95 * getOption("width"), exdent = indent), sep = "\n")
}

in_nats <- function(gap) paste(format(max(gap, 0), digits = 1L), "nats")

# The effects of the first predictor have the names of its variables, as coefficients do.
effect_prefix <- function(parameter) {
  if (is.null(parameter) || parameter == "mu") "" else coefficient_prefix(parameter)
}

#' A data frame with numbers in place of 64-bit integers, as databases return
#' @noRd
without_integer64 <- function(frame) {
  for (j in which(vapply(frame, inherits, NA, "integer64"))) frame[[j]] <- integer64_numbers(frame[[j]])
  frame
}

# Class integer64 has the integers' bits in place of those of doubles. They are read here because as.double() knows this
# only with package bit64. NA has the sign bit alone, which is NA as a 32-bit integer.
integer64_numbers <- function(x) {
  bits <- writeBin(as.vector(unclass(x)), raw(), endian = "little")
  halves <- matrix(readBin(bits, "integer", 2L * length(x), endian = "little"), 2L)
  low <- halves[1L, ]
  low[is.na(low)] <- -2^31
  halves[2L, ] * 2^32 + low %% 2^32
}

# What is wrong with the size of numbers; character() if nothing is.
magnitude_error <- function(x, least = 1e-100, most = 1e100) {
  if (!is.double(x) || inherits(x, "integer64")) return(character())
  size <- abs(as.vector(unclass(x)))
  size <- max(0, size[is.finite(size)])
  if (size == 0 || size >= least && size <= most) return(character())
  words <- if (size < least) c("small", "underflow") else c("large", "overflow")
  sprintf("values so %s that their squares %s (the largest is %s): use other units", words[1L], words[2L],
    format(size, digits = 3L))
}

#' Prefixes of the names of a parameter's terms and hyperparameters, and of its coefficients
#' @noRd
parameter_prefix <- function(name) paste0(name, ".")

coefficient_prefix <- function(name) paste0(name, "_")

#' The names of a vector, or of both sides of a matrix, with a prefix
#' @noRd
prefix_names <- function(x, prefix) {
  if (is.matrix(x)) dimnames(x) <- lapply(dimnames(x), function(n) if (length(n)) paste0(prefix, n))
  else if (length(x)) names(x) <- paste0(prefix, names(x))
  x
}

# "mu, shape and zi"
and_words <- function(x) {
  last <- length(x)
  paste(c(if (last > 1L) paste(x[-last], collapse = ", "), x[last]), collapse = " and ")
}

or_else <- function(x, default) if (is.null(x)) default else x

# The elements that are there.
not_null <- function(x) x[!vapply(x, is.null, NA)]

#' Numbers as dates or times, if `x` is of these
#' @noRd
alike <- function(numbers, x) `attributes<-`(numbers, attributes(range(x)))

#' Text of numbers in labels and in code, which has a point whatever options(OutDec = ) is
#' @noRd
with_point <- function(expr) {
  before <- options(OutDec = ".")
  on.exit(options(before))
  expr
}

code_number <- function(x, ...) with_point(format(x, ...))

# Names as they are typed in list(): backticks where R needs them.
list_names <- function(x) vapply(x, function(name) deparse(as.name(name), backtick = TRUE), "", USE.NAMES = FALSE)

# Levels as text. The number 100000 is the level "100000" whether it came as a whole number or not:
# as.character() would write "1e+05".
level_text <- function(x) {
  text <- with_point(as.character(x))
  whole <- if (is.double(x) && is.null(attr(x, "class"))) which(abs(x) < 1e15 & x == round(x))
  text[whole] <- sprintf("%.0f", x[whole])
  text
}

#' A default that lists all choices means the first one
#' @noRd
first_choice <- function(x, choices, arg) {
  if (identical(x, choices)) choices[1L] else check_choice(x, choices, arg)
}

#' What a generic of ours does with objects of other packages, whose generic of the same name it hides where it is
#' attached later: it hands them over
#' @noRd
generic_elsewhere <- function(name, package, x, ...) {
  if (isNamespaceLoaded(package)) {
    # called from here, it would find our method again
    return(do.call(getExportedValue(package, name), list(x, ...), quote = TRUE, envir = globalenv()))
  }
  stop_galvi("argument", sprintf("%s() is for fits of galvi(), not for %s.", name, describe(x)))
}

check_seed <- function(seed) if (!is.null(seed)) check_whole(seed, "seed", 0)

#' The value of an expression with a seed of its own; the state of the random numbers stays what it was. NULL: no seed.
#' @noRd
with_seed <- function(seed, expr) {
  if (is.null(seed)) return(expr)
  check_seed(seed)
  old <- get0(".Random.seed", globalenv(), inherits = FALSE)
  on.exit(if (is.null(old)) rm(".Random.seed", envir = globalenv()) else {
    assign(".Random.seed", old, envir = globalenv())
  })
  set.seed(seed)
  expr
}

#' The value of an expression with the attribute `seed` that stats::simulate() describes
#' @noRd
simulation <- function(seed, expr) {
  check_seed(seed)
  if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) stats::runif(1)
  state <- if (is.null(seed)) get(".Random.seed", envir = globalenv()) else structure(seed, kind = as.list(RNGkind()))
  structure(with_seed(seed, expr), seed = state)
}

# Expressions: names of calls and variables, columns of a frame by their names.

# Functions of brms that do not evaluate what is in them.
quoting_words <- c("prior", "prior_", "set_prior", "prior_string", "quote", "bquote", "substitute")

# Is it a call of one of them, with or without brms:: before it?
is_quoting <- function(expr) head_name(expr, c("galvi", "brms", "base")) %in% quoting_words

#' An expression in which calls of `words` are calls of our functions. The bare name means ours too, unless the user has
#' another object of this name.
#' @noRd
with_own_words <- function(expr, words, env) {
  swap <- function(e) {
    if (is.symbol(e) && as.character(e) %in% words) {
      found <- get0(as.character(e), envir = env)
      return(if (is.null(found) || is.function(found)) own_function(as.character(e)) else e)
    }
    head <- head_name(e)
    if (!is.call(e) || head %in% c("function", "::", ":::") || is_quoting(e)) return(e)
    parts <- as.list(e)[-1L]
    # the se of kernels$se is not galvi's se()
    swapped <- if (head %in% c("$", "@")) 1L else seq_along(parts)
    parts[swapped] <- lapply(parts[swapped], function(part) if (missing(part)) part else swap(part))
    # `+` and `*` between kernels find their methods through the class.
    first <- if (head %in% words) own_function(head) else e[[1L]]
    as.call(c(list(first), parts))
  }
  swap(expr)
}

# Ours, or R's own families.
own_function <- function(name) {
  ours <- topenv(environment(own_function))
  if (exists(name, envir = ours, inherits = FALSE)) get(name, envir = ours) else {
    getExportedValue("stats", name)
  }
}

# The name that model.frame() gives a variable.
variable_name <- function(expr) {
  if (is.symbol(expr)) return(as.character(expr))
  paste(deparse(expr, width.cutoff = 500L, backtick = is.language(expr)), collapse = " ")
}

# The name of a call's function, "gp" for gp() and galvi::gp(); "" if it has none. packages: whose names may be before it.
head_name <- function(expr, packages = "galvi") {
  if (!is.call(expr)) return("")
  head <- expr[[1L]]
  if (is.call(head) && length(head) == 3L && is.symbol(head[[1L]]) &&
    as.character(head[[1L]]) %in% c("::", ":::") && as.character(head[[2L]]) %in% packages) {
    head <- head[[3L]]
  }
  if (is.symbol(head)) as.character(head) else ""
}

# The variables that are needed to evaluate `expr`. all.vars() would also give the w of d$w and the arguments of
# functions in it. The operands of a long sum are collected in a loop, because their calls are nested to the left.
looked_up <- function(expr) {
  out <- character()
  while (is.call(expr)) {
    head <- head_name(expr)
    parts <- if (head_name(expr, "stats") == "C") coding_arguments(expr) else as.list(expr)[-1L]
    if (head %in% c("function", "::", ":::", "~") || !length(parts)) return(unique(out))
    if (head %in% c("$", "@")) parts <- parts[1L]
    for (part in parts[-1L]) if (!missing(part)) out <- c(out, looked_up(part))
    expr <- parts[[1L]]
  }
  unique(c(if (is.symbol(expr) && nzchar(as.character(expr))) as.character(expr), out))
}

# C(f, treatment): the word is not looked up, it stands for contr.treatment.
coding_arguments <- function(expr) {
  parts <- as.list(match.call(stats::C, expr))[-1L]
  quoted <- is.symbol(parts$contr) && as.character(parts$contr) %in% c("poly", "helmert", "sum", "treatment", "SAS")
  if (quoted) parts[names(parts) != "contr"] else parts
}

is_dot <- function(expr) identical(expr, quote(.))

formula_operators <- c("+", "-", "*", "/", ":", "^", "%in%", "(", "|", "||")

# The number of arguments without a default.
count_required <- function(f) sum(vapply(formals(f), identical, NA, quote(expr = )))

get_variable <- function(frame, variable) {
  x <- frame[[variable$name]]
  if (is.null(variable$column)) x else x[, variable$column]
}

set_variable <- function(frame, variable, value) {
  if (is.null(variable$column)) {
    frame[[variable$name]] <- value
  } else {
    frame[[variable$name]][, variable$column] <- value
  }
  frame
}

take_variable <- function(x, i) if (is.matrix(x)) x[i, , drop = FALSE] else x[i]

fixed_label <- "fixed"

#' Variables that the formula has only inside of calls, such as x of log(x), at the rows of the frame
#' @return A list by name, NULL if there are none or their rows are not known.
#' @noRd
inner_variables <- function(frame, data) {
  terms <- attr(frame, "terms")
  expressions <- as.list(attr(terms, "variables"))[-(1:2)]
  names <- setdiff(unlist(lapply(Filter(is.call, expressions), all.vars)), names(frame))
  if (!length(names)) return(NULL)
  env <- environment(terms)
  values <- lapply(stats::setNames(nm = names), function(name) {
    if (name %in% names(data)) data[[name]] else get0(name, env)
  })
  total <- if (length(data)) nrow(data) else max(vapply(values, NROW, 1L))
  values <- Filter(function(x) (is.atomic(x) || is.factor(x)) && !is.null(x) && NROW(x) == total, values)
  if (!length(values)) return(NULL)
  if (nrow(frame) == total) return(values)
  rows <- match(row.names(frame), if (length(data)) row.names(data) else as.character(seq_len(total)))
  if (anyNA(rows)) NULL else lapply(values, take_variable, rows)
}

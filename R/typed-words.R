# Functions of galvi that are typed inside an argument are those of galvi, whichever packages are attached, and also
# when
# galvi is not.

#' The value of an argument of a function that users call
#'
#' Where its expression calls none of `words` this is the argument as R evaluates it. Else calls of these words are
#' calls of ours, evaluated where the argument was typed.
#'
#' @param name The argument; frame: the function's environment.
#' @noRd
typed_argument <- function(name, words, frame) {
  expr <- eval(call("substitute", as.name(name)), frame)
  n <- frame_number(frame)
  env <- if (n && any(all.names(expr) %in% c(words, foreign_priors))) typed_in(name, n)
  if (name == "prior" && !is.null(env)) check_prior_calls(expr, env)
  if (is.null(env)) return(get(name, envir = frame))
  eval(with_own_words(expr, words, env), env)
}

frame_number <- function(env) {
  at <- which(vapply(sys.frames(), identical, NA, env))
  if (length(at)) at[length(at)] else 0L
}

# Where the argument of frame n was typed: the frame of the call, or further out if `...` has passed it on. NULL where
# it
# was not typed but left to its default, or passed on in a way that leaves no trace.
typed_in <- function(name, n) {
  parent <- sys.parents()[n]
  written <- match.call(sys.function(n), sys.call(n), envir = frame_at(parent))[[name]]
  while (is_passed_on(written) && parent > 0L) {
    n <- parent
    parent <- sys.parents()[n]
    dots <- match.call(sys.function(n), sys.call(n), expand.dots = FALSE, envir = frame_at(parent))$...
    k <- as.integer(substring(as.character(written), 3L))
    written <- if (k <= length(dots)) dots[[k]]
  }
  if (is.null(written) || is_passed_on(written)) NULL else frame_at(parent)
}

frame_at <- function(n) if (n > 0L) sys.frame(n) else globalenv()

is_passed_on <- function(expr) is.symbol(expr) && grepl("^[.][.][0-9]+$", as.character(expr))

# Functions of brms that do not evaluate what is in them.
quoting_words <- c("prior", "prior_", "set_prior", "prior_string", "quote", "bquote", "substitute")

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
    if (!is.call(e) || head %in% c("function", "::", ":::", quoting_words)) return(e)
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

# The words of each argument.
typed_family_words <- function() {
  c(family_words(), "galvi_family", "custom_family", "geometric", "fixed", "learn", prior_names())
}

typed_prior_words <- function() c(prior_names(), "fixed", "learn")

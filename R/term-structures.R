# Covariances of the effects of a group by their structure, as in cs(0 + f | g): the table of structures, and the words
# that have a bar in their arguments.

#' One entry per structure
#'
#' * model: the core's (src/prior/field_models.cpp);
#' * hom: the default of the argument, NULL where there is no choice: have all effects one standard deviation?
#' * ordered: are the effects the levels of one factor in their order?
#' * cor(columns): the names of the correlations; between(cor, i, j): that of effects i < j, from S x m correlations;
#' * diagonal: does S keep the structure when variances are added that are free (het) or all the same (hom)?
#' * shown(numbers, q), numbers(cor, q): the correlations that users see of the numbers in the table of hyperparameters,
#'   and back (NaN for no correlation matrix), S x m; absent where these are the same.
#' @noRd
effect_structures <- list(
  us = list(
    model = "unstructured", cor = function(columns) paste0("cor.", correlation_names(columns)),
    between = function(cor, i, j) cor[, (j - 1L) * (j - 2L) / 2L + i], diagonal = list(het = TRUE)
  ),
  diag = list(
    model = "diagonal", hom = FALSE, cor = function(columns) character(), between = function(cor, i, j) 0,
    diagonal = list(het = TRUE, hom = TRUE)
  ),
  cs = list(
    model = "compound", hom = FALSE, cor = function(columns) "cor", between = function(cor, i, j) cor[, 1L],
    shown = function(numbers, q) lowest_compound(q) + (1 - lowest_compound(q)) * (numbers + 1) / 2,
    numbers = function(cor, q) 2 * (cor - lowest_compound(q)) / (1 - lowest_compound(q)) - 1,
    diagonal = list(hom = TRUE)
  ),
  ar1 = list(
    model = "ar1_effects", hom = TRUE, ordered = TRUE, cor = function(columns) "cor",
    between = function(cor, i, j) cor[, 1L]^(j - i)
  ),
  toep = list(
    model = "toeplitz", hom = FALSE, ordered = TRUE, cor = function(columns) paste0("cor.", seq_along(columns[-1L])),
    between = function(cor, i, j) cor[, j - i], shown = function(numbers, q) autocorrelations(numbers),
    numbers = function(cor, q) partial_autocorrelations(cor), diagonal = list(hom = TRUE)
  )
)

# How structures are written: list(structure, hom: NULL for the argument `hom`).
structure_words <- list(
  us = list("us"), diag = list("diag"), cs = list("cs"), ar1 = list("ar1"), toep = list("toep"),
  homdiag = list("diag", TRUE), homcs = list("cs", TRUE), hetar1 = list("ar1", FALSE), homtoep = list("toep", TRUE)
)

# The correlation at which q effects that are all equally correlated add up to a constant.
lowest_compound <- function(q) -1 / (q - 1)

#' Autocorrelations at lags 1, 2, .. from partial ones, and back: S x m (Durbin-Levinson)
#' @noRd
autocorrelations <- function(partial) levinson(partial, FALSE)
partial_autocorrelations <- function(cor) levinson(cor, TRUE)

levinson <- function(x, to_partial) {
  out <- x
  phi <- matrix(0, nrow(x), 0L)
  v <- rep(1, nrow(x))
  for (k in seq_len(ncol(x))) {
    before <- seq_len(k - 1L)
    r <- if (to_partial) x else out
    known <- rowSums(phi * r[, rev(before), drop = FALSE])
    p <- if (to_partial) (x[, k] - known) / v else x[, k]
    out[, k] <- if (to_partial) ifelse(abs(p) < 1, p, NaN) else known + p * v
    phi <- cbind(phi - p * phi[, rev(before), drop = FALSE], p)
    v <- v * (1 - p^2)
  }
  out
}

#' Correlations of the effects of a term, as users see them: function(e, f) -> S numbers
#' @param hyper S x H, reported.
#' @noRd
effect_correlation <- function(spec, hyper) {
  size <- length(spec$columns) / effect_sets(spec)
  m <- length(spec$hyper$cor) / effect_sets(spec)
  none <- numeric(nrow(hyper))
  function(e, f) {
    if (e == f) return(none + 1)
    set <- (e - 1L) %/% size
    # effects of different levels of `by` are of different groups
    if (m == 0 || set != (f - 1L) %/% size) return(none)
    cor <- hyper[, spec$hyper$cor[set * m + seq_len(m)], drop = FALSE]
    own <- c(e, f) - set * size
    none + effect_structures[[spec$structure]]$between(cor, min(own), max(own))
  }
}

#' Standard deviations of the effects: S x q
#' @noRd
effect_sds <- function(spec, hyper) {
  hyper[, rep_len(spec$hyper$sd, length(spec$columns)), drop = FALSE]
}

# Are the effects of a term equally spaced steps, also those without observations?
has_steps <- function(spec) {
  !is.null(spec$structure) && isTRUE(effect_structures[[spec$structure]]$ordered) && spec$hom
}

# Are they a process in time, of which one group is enough to learn from?
is_time_series <- function(spec) {
  has_steps(spec) && length(spec$own_columns) > 2L && length(effect_structures[[spec$structure]]$cor(spec$own_columns)) == 1L
}

# How many independent sets of effects a term has, with structures of their own: one for each level of gr(by = ).
effect_sets <- function(spec) max(1L, length(spec$split_levels))

#' The changes that a field's table of hyperparameters needs to become what users see (R/term-slopes-covariance.R)
#' @noRd
field_changes <- function(field) {
  if (is.null(field)) return(NULL)
  if (!is.null(field$axes)) return(list(list(sd = field$hyper$sd, cor = field$hyper$cor, axes = field$axes)))
  structure <- effect_structures[[or_else(field$structure, "us")]]
  if (is.null(structure$shown) || !length(field$hyper$cor)) return(NULL)
  lapply(split(field$hyper$cor, rep(seq_len(field$copies), each = length(field$hyper$cor) / field$copies)),
    function(cor) list(cor = cor, structure = field$structure, effects = field$effects))
}

# ---- words with a bar ----

# The bar among the arguments of a call, or in a list of them; NULL for none.
bar_argument <- function(call) if (is.call(call)) bar_among(as.list(call)[-1L])
bar_among <- function(arguments) Find(function(x) !missing(x) && head_name(x) %in% bars, arguments)

#' Is this a call such as cs(0 + f | g)? cs(x) and diag(x) are not.
#' @noRd
has_bar_word <- function(expr) head_name(expr) %in% names(bar_words) && !is.null(bar_argument(expr))

#' Calls of terms for a summand of random effects, such as (x | g), (1 | a/b), cs(0 + f | g); NULL if it is none
#' @noRd
bar_terms <- function(expr, env) {
  head <- head_name(expr)
  if (head == "(" && head_name(expr[[2L]]) %in% bars) return(random_terms(expr[[2L]]))
  if (!has_bar_word(expr)) return(NULL)
  if (head_name(bar_argument(expr)) != "|") {
    stop_galvi("formula", sprintf("`%s`: write one bar, as in %s(0 + f | g).", deparse_one(expr), head))
  }
  bar_words[[head]](expr, env)
}

# One call for each grouping of nested ones; an intercept alone is iid().
structure_terms <- function(expr, env) {
  call_without <- as.list(expr)[-1L]
  given <- or_else(names(call_without), rep("", length(call_without)))
  word <- structure_words[[head_name(expr)]]
  own <- effect_structures[[word[[1L]]]]
  known <- if (length(word) == 1L && !is.null(own$hom)) "hom" else character()
  rest <- call_without[!vapply(call_without, function(x) head_name(x) %in% bars, NA)]
  check_no_dots(rest[!names(rest) %in% known], known, paste0(head_name(expr), "()"))
  bar <- bar_argument(expr)
  lapply(random_terms(bar), function(call) {
    if (head_name(call) == "iid" && !isTRUE(own$ordered)) return(call)
    if (head_name(call) == "iid") call <- bar
    as.call(c(list(expr[[1L]], call), rest))
  })
}

# list(structure, hom, bar) of a call of structure_terms(), or of a bar
read_structure <- function(call, env) {
  head <- head_name(call)
  if (head %in% bars) return(list(structure = if (head == "|") "us" else "diag", hom = FALSE, bar = call))
  word <- structure_words[[head]]
  own <- effect_structures[[word[[1L]]]]
  hom <- if (length(word) > 1L) word[[2L]] else if (!is.null(call[["hom"]])) {
    check_flag(check_evaluates(eval(call[["hom"]], env), "hom"), "hom")
  } else isTRUE(own$hom)
  list(structure = word[[1L]], hom = hom, bar = bar_argument(call))
}

# The operands of a sum.
sum_operands <- function(expr) {
  if (head_name(expr) != "+" || length(expr) != 3L) return(list(expr))
  c(sum_operands(expr[[2L]]), list(expr[[3L]]))
}

# An Ornstein-Uhlenbeck process for each group is a Markov gp() of its own.
ou_terms <- function(expr, env) {
  bar <- bar_argument(expr)
  time <- Filter(function(x) !identical(x, 0), sum_operands(bar[[2L]]))
  if (length(time) != 1L || head_name(time[[1L]]) %in% c("numFactor", "factor", "as.factor")) {
    stop_galvi("formula", sprintf("`%s`: left of the bar must be one numeric time, as in ou(t | g).",
      deparse_one(expr)))
  }
  list(as.call(list(quote(gp), time[[1L]], by = call("factor", bar[[3L]]), by_hyper = "shared", center = FALSE,
    kernel = quote(matern12()))))
}

# ou(t | g) has numbers as times, not the levels of a factor: numFactor() of glmmTMB is one.
check_numeric_time <- function(spec, frame) {
  x <- if (!is.null(spec$written)) frame[[variable_name(spec$inputs[[1L]])]]
  if (is.null(x) || is_number_like(x) && !is.factor(x)) return(invisible())
  stop_galvi("data", sprintf(
    "`%s` must be numbers in `%s`, not %s: write ou(t | g) with the times themselves.",
    variable_name(spec$inputs[[1L]]), spec$written, describe(x)
  ))
}

# propto(0 + g | 1, A): effects with the covariance A times a variance; equalto(0 + g | 1, V) with the covariance V.
known_matrix_terms <- function(expr, env) {
  bar <- bar_argument(expr)
  word <- head_name(expr)
  refuse <- function(what) {
    stop_galvi("formula", sprintf("`%s`: %s, as in %s(0 + g | 1, A).", deparse_one(expr), what, word))
  }
  matrix <- Filter(function(x) !head_name(x) %in% bars, as.list(expr)[-1L])
  if (length(matrix) != 1L) refuse("after the bar comes one matrix")
  group <- sum_operands(bar[[2L]])
  zero <- vapply(group, identical, NA, 0)
  if (length(group) != 2L || sum(zero) != 1L) refuse("left of the bar must be `0 +` and the grouping factor")
  list(as.call(c(list(quote(iid), group[[which(!zero)]], cov = matrix[[1L]]),
    if (word == "equalto") list(variance = quote(fixed(1))))))
}

# Functions that have a bar among their arguments -> calls of terms.
bar_words <- c(
  lapply(structure_words, function(word) structure_terms),
  list(ou = ou_terms, propto = known_matrix_terms, equalto = known_matrix_terms)
)

# Models with many columns of fixed effects are refused, or the user is told how long they take, before these are made.

#' Stops if the model matrix does not fit into memory
#' @noRd
check_fixed_size <- function(terms, frame) {
  widths <- term_widths(terms, frame)
  columns <- sum(widths)
  n <- nrow(frame)
  if (columns < 100) return(invisible())
  label <- names(widths)[which.max(widths)]
  groups <- grouped_instead(label, frame)
  advice <- sprintf("`%s` has %s columns%s.", label, whole_words(max(widths)), groups)
  # the matrix as model.matrix() makes it, as the core has it, and one copy
  size <- new_size(8 * 3 * n * columns + column_bytes(columns), n, "a model with these fixed effects", advice)
  with_memory(size, NULL)
  if (n * columns^2 < slow_flops) return(invisible())
  inform_galvi("size", sprintf(
    "`%s` has %s columns of fixed effects, and every pass over the rows takes minutes%s.", label,
    whole_words(max(widths)), groups
  ))
}

# n L^2 of a pass, which takes some minutes on a core
slow_flops <- 1e12

# Number of columns of each term, at most.
term_widths <- function(terms, frame) {
  factors <- attr(terms, "factors")
  if (!length(factors)) return(c(`(Intercept)` = 1))
  width <- vapply(rownames(factors), function(name) {
    x <- frame[[name]]
    if (is.factor(x)) nlevels(x) else if (is.character(x)) length(unique(x)) else NCOL(x)
  }, 1)
  apply(factors > 0, 2L, function(used) prod(width[used]))
}

# What may replace a factor of many levels.
grouped_instead <- function(label, frame) {
  x <- frame[[label]]
  text <- if (is.factor(x)) levels(x) else if (is.character(x)) unique(x)
  if (is.null(text)) return("")
  numbers <- !anyNA(suppressWarnings(as.numeric(text)))
  sprintf(", one for each level%s: %suse random effects, (1 | %s)", if (numbers) ", and they are numbers" else "",
    if (numbers) sprintf("as.numeric(as.character(%s)) is one column; else ", label) else "", label)
}

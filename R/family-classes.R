# Responses that are classes: two, several, ordered.

# ---- two classes, or successes of trials ----

binomial_response <- function(y, weights, name, levels, family) {
  if (is.matrix(y) && ncol(y) == 2L) return(successes_failures(y, weights, name))
  if (is.character(y)) y <- factor(y)
  if (is.factor(y)) return(two_classes(y, name, levels))
  logical <- is.logical(y) || identical(levels, c("FALSE", "TRUE"))
  y <- check_numbers(y, name, family)
  if (all(y == 0 | y == 1)) {
    check_both_classes(y, name, levels)
    return(list(y = y, levels = if (logical) c("FALSE", "TRUE") else c("0", "1")))
  }
  proportion_of_trials(y, weights, name)
}

two_classes <- function(y, name, levels) {
  if (!is.null(levels)) {
    check_known_classes(y, name, levels)
    return(list(y = as.numeric(match(as.character(y), levels) - 1L), levels = levels))
  }
  if (nlevels(y) > 2L) y <- droplevels(y)
  all_levels <- levels(y)
  # with a single level the other class is unknown
  if (length(all_levels) < 2L) one_class_error(name, all_levels)
  if (length(all_levels) > 2L) {
    response_error(name, sprintf(
      "must have two levels for the binomial family, not %d (%s): use two, such as I(%s == \"%s\")",
      length(all_levels), quote_names(all_levels, "\"", 6L), name, all_levels[1L]
    ))
  }
  code <- as.numeric(y) - 1
  check_both_classes(code, name, NULL, all_levels)
  list(y = code, levels = all_levels)
}

check_known_classes <- function(y, name, levels) {
  # 100000L and 1e5 are the same class
  if (is.numeric(y)) y <- ifelse(is_whole(y), round(as.numeric(y)), y)
  unknown <- setdiff(as.character(y), c(levels, NA))
  if (length(unknown)) {
    stop_galvi("newdata", sprintf(
      "The response `%s` in `newdata` has the level %s; in the fit its levels were %s.", name,
      quote_names(unknown[1L], "\""), quote_names(levels, "\"")
    ))
  }
}

# Both classes must occur, unless there is a single row.
check_both_classes <- function(y, name, levels, names = c("0", "1")) {
  if (!is.null(levels) || length(y) < 2L || length(unique(y)) > 1L) return(invisible())
  one_class_error(name, names[y[1L] + 1L])
}

one_class_error <- function(name, class) {
  response_error(name, sprintf("has only one class (%s): two are needed", dQuote(class, FALSE)))
}

successes_failures <- function(y, weights, name) {
  counts <- as.numeric(y)
  rows <- rep(seq_len(nrow(y)), 2L)
  bad <- which(!is.finite(counts) | counts < 0 | !is_whole(counts))
  if (length(bad)) {
    response_error(name, sprintf(
      "must be cbind(successes, failures), whole numbers from 0; row %s has %s", row_label(rows[bad[1L]]),
      format(counts[bad[1L]])
    ))
  }
  # as numbers: the sum of two large integers is NA
  counts <- matrix(round(counts), ncol = 2L)
  with_trials(counts[, 1L], rowSums(counts), weights)
}

# As in glm(), the weights of proportions are numbers of trials.
proportion_of_trials <- function(y, weights, name) {
  must <- "must be 0 and 1, a factor of two levels, cbind(successes, failures) or proportions from 0 to 1"
  check_response(y, y >= 0 & y <= 1, name, must)
  if (isTRUE(attr(weights, "counted"))) {
    response_error(name, paste(
      "is a proportion, and `weights = frequency()` counts rows, so nothing says of how many trials: write",
      "cbind(successes, failures) for the response, or give the trials as `weights`"
    ))
  }
  count <- y * weights
  bad <- which(abs(count - round(count)) > 1e-6 * pmax(1, count) | !is_whole(weights))
  if (length(bad)) {
    response_error(name, sprintf(
      "is a proportion, so `weights` must be numbers of trials and %s x trials whole: row %s has %s of %s", name,
      row_label(bad[1L]), format(y[bad[1L]], digits = 4), format(weights[bad[1L]])
    ))
  }
  with_trials(round(count), weights, rep(1, length(y)))
}

# A row without trials has no information: it is kept with weight zero.
with_trials <- function(y, size, weights) {
  none <- size == 0
  weights[none] <- 0
  size[none] <- 1
  list(y = as.numeric(y), size = as.numeric(size), weights = weights, levels = c("0", "1"))
}

# ---- several classes ----
# y is the class in the order of the levels, 0, 1, ...

class_response <- function(y, weights, name, levels, family) {
  if (!is.null(levels)) return(known_classes(y, name, levels))
  check_one_class_per_row(y, name, family)
  if (is.logical(y)) y <- factor(y, c(FALSE, TRUE))
  if (is.character(y)) y <- factor(y)
  if (!is.factor(y)) y <- factor(check_codes(y, name, family))
  check_classes_have_rows(y, weights, name, family)
  list(y = as.numeric(y) - 1, levels = levels(y))
}

# A matrix has a column of counts for each class; the number of trials of a row is its sum.
class_or_counts_response <- function(y, weights, name, levels, family) {
  if (!is.matrix(y) || ncol(y) == 1L) return(class_response(y, weights, name, levels, family))
  if (!is.numeric(y)) {
    response_error(name, sprintf("must be a matrix of counts, a column for each class, not %s", describe(y)))
  }
  if (ncol(y) < 2L) response_error(name, "must have a column of counts for each of two classes or more")
  known <- colnames(y)
  if (is.null(known)) known <- as.character(seq_len(ncol(y)))
  if (anyDuplicated(known)) response_error(name, sprintf("has two columns named %s", known[anyDuplicated(known)]))
  if (length(levels) && !identical(known, levels)) {
    stop_galvi("newdata", sprintf(
      "The response `%s` in `newdata` has the columns %s; in the fit it had %s.", name, quote_names(known, "\""),
      quote_names(levels, "\"")
    ))
  }
  storage.mode(y) <- "double"
  bad <- which(!is.finite(y) | y < 0 | !is_whole(y), arr.ind = TRUE)
  if (length(bad)) {
    response_error(name, sprintf(
      "must be counts, whole numbers from 0; row %s has %s", row_label(bad[1L, 1L]), format(y[bad[1L, 1L], bad[1L, 2L]])
    ))
  }
  counts <- matrix(round(y), nrow(y), dimnames = list(NULL, known))
  if (is.null(levels)) {
    empty <- known[colSums(weights * counts) == 0]
    if (length(empty)) {
      response_error(name, sprintf(
        "has no counts of the class%s %s, but %s needs counts of each class: drop the column",
        if (length(empty) > 1L) "es" else "", quote_names(empty, "\"", 6L), the_family(family)
      ))
    }
  }
  own <- with_trials(max.col(counts, "first") - 1, rowSums(counts), weights)
  own[c("levels", "counts")] <- list(known, counts)
  own
}

# Numbers are ordered, and so are FALSE and TRUE. If thresholds are fixed, classes need no observations.
ordered_response <- function(y, weights, name, levels, family) {
  if (!is.null(levels)) return(known_classes(y, name, levels))
  check_one_class_per_row(y, name, family)
  if (is.character(y) || is.factor(y) && !is.ordered(y)) {
    words <- if (is.factor(y)) levels(y) else sort(unique(y))
    response_error(name, sprintf(
      paste(
        "must be an ordered factor for %s, not %s:",
        "write factor(%s, levels = c(%s), ordered = TRUE) with the levels in increasing order"
      ), the_family(family), if (is.factor(y)) sprintf("a factor of %d levels", nlevels(y)) else "text", name,
      paste(c(dQuote(utils::head(words, 4L), FALSE), if (length(words) > 4L) "..."), collapse = ", ")
    ))
  }
  if (is.logical(y)) y <- factor(y, c(FALSE, TRUE))
  if (!is.factor(y)) y <- factor(check_codes(y, name, family))
  check_classes_have_rows(y, weights, name, family, all = !has_held_thresholds(family))
  list(y = as.numeric(y) - 1, levels = levels(y))
}

# Names of thresholds, by the levels that they separate.
threshold_names <- function(levels) paste(levels[-length(levels)], levels[-1L], sep = "|")

known_classes <- function(y, name, levels) {
  # 100000L and 1e5 are the same class
  if (is.numeric(y)) y <- ifelse(is_whole(y), round(as.numeric(y)), y)
  check_known_classes(y, name, levels)
  list(y = match(as.character(y), levels) - 1, levels = levels)
}

check_one_class_per_row <- function(y, name, family) {
  if (NCOL(y) == 1L) return(invisible())
  response_error(name, sprintf(
    "must be a class per row for %s, not %d columns: write a row per class with its count in `weights`",
    the_family(family), NCOL(y)
  ))
}

check_codes <- function(y, name, family) {
  if (!is.numeric(y)) {
    response_error(name, sprintf("must be classes for %s, not %s", the_family(family), describe(y)))
  }
  y <- as.numeric(y)
  check_response(y, is.finite(y), name, "must be finite")
  must <- sprintf("must be classes for %s: a factor or whole numbers", the_family(family))
  check_response(y, is_whole(y), name, must)
  round(y)
}

# Total weight of each class. y: codes from 0
class_weights <- function(y, levels, weights) {
  as.numeric(tapply(weights, factor(y, seq_along(levels) - 1), sum, default = 0))
}

check_classes_have_rows <- function(y, weights, name, family, all = TRUE) {
  total <- class_weights(as.numeric(y) - 1, levels(y), weights)
  if (all && sum(total > 0) < 2L || nlevels(y) < 2L) {
    one_class_error(name, levels(y)[total > 0][1L])
  }
  empty <- levels(y)[total == 0]
  if (all && length(empty)) {
    response_error(name, sprintf(
      "has no rows of the level%s %s, but %s needs rows of each level: droplevels(), after any subset, removes %s",
      if (length(empty) > 1L) "s" else "", quote_names(empty, "\"", 6L), the_family(family),
      if (length(empty) > 1L) "them" else "it"
    ))
  }
}

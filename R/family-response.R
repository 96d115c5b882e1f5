# Responses: checks the response of the model frame and converts it for the core.

# response(y, weights, name, levels, family) -> list(y, size, weights, levels). For new data `levels` are those of the
# fit, character() if it has none; then a single class is not an error. counted: is `weights` written as frequency()?

family_response <- function(family, y, weights, name, levels = NULL, counted = FALSE) {
  n <- NROW(y)
  weights <- check_weights(weights, n, all = is.null(levels))
  if (is.list(y) && !is.data.frame(y)) response_error(name, "must be a vector, not a list")
  type <- family_type(family)
  survival <- inherits(y, "Surv")
  if (survival && !takes_survival(family)) survival_error(name, family)
  read <- if (survival) survival_response else type$response
  if (counted) attr(weights, "counted") <- TRUE
  response <- read(y, weights, name, levels, family)
  place_weights(response, weights, family, survival, counted)
}

response_error <- function(name, text) {
  stop_galvi("response", sprintf("The response `%s` %s.", name, text))
}

the_family <- function(family) paste("the", sub("_family$", "", family$family), "family")

# The same, with a link that is not the first of its family.
family_and_link <- function(family) {
  default <- names(family_type(family)$links)[1L]
  paste0(the_family(family), if (!identical(family$link, default)) sprintf(" with the %s link", family$link))
}

# Which families have no other noise than rescor()?
is_pure_noise <- function(family) {
  if (is_mixed(family)) return(vapply(family$parts, is_pure_noise, NA))
  likelihood <- family_type(family)$links[family$link]
  isTRUE(unname(fact("likelihood", likelihood, "conjugate")))
}

# Finite numbers in one column.
check_numbers <- function(y, name, family) {
  if (is.factor(y) || is.character(y)) {
    response_error(name, sprintf(
      "must be numbers for %s, not %s. For two classes use family = binomial()%s", the_family(family),
      if (is.factor(y)) sprintf("a factor of %d levels", nlevels(y)) else "text",
      if (length(unique(y)) > 2L) ", for more classes categorical() or cumulative()" else ""
    ))
  }
  if (!is.numeric(y) && !is.logical(y)) {
    response_error(name, sprintf("must be numbers for %s, not %s", the_family(family), describe(y)))
  }
  if (NCOL(y) != 1L) {
    response_error(name, sprintf(
      "must be one column for %s, not %d: for %s %s", the_family(family), NCOL(y), if (NCOL(y) == 2L) {
        "counts of successes and failures give family = binomial(), for two responses write responses(Y) ~ x +"
      } else {
        "counts of classes give family = categorical(), for several responses write responses(Y) ~ x +"
      }, if (is_pure_noise(family)) "rescor()" else "factors(1)"
    ))
  }
  y <- as.numeric(unname(y))  # the names of a million rows take longer to copy than the numbers
  check_response(y, is.finite(y), name, "must be finite")
  y
}

check_response <- function(y, ok, name, must) {
  if (all(ok)) return(invisible())
  bad <- which(!ok)
  response_error(name, paste0(must, "; ", found_in_rows(y, bad)))
}

# ---- numbers ----

number_response <- function(y, weights, name, levels, family) {
  y <- check_numbers(y, name, family)
  wrong <- magnitude_error(y)
  if (length(wrong)) response_error(name, paste("has", wrong))
  list(y = y)
}

# Points of a quadrature_scheme() that were divided among nodes need not be whole.
count_response <- function(y, weights, name, levels, family) {
  shares <- inherits(y, "galvi_point_count")
  y <- check_numbers(y, name, family)
  check_response(y, y >= 0 & (shares | is_whole(y)), name, "must be counts, whole numbers from 0")
  list(y = if (shares) y else round(y), shares = if (shares) TRUE)
}

is_whole <- function(x) abs(x - round(x)) <= 1e-7 * pmax(1, abs(x))

positive_response <- function(y, weights, name, levels, family) {
  y <- check_numbers(y, name, family)
  check_response(y, y > 0, name, paste("must be positive for", the_family(family)))
  list(y = y)
}

non_negative_response <- function(y, weights, name, levels, family) {
  y <- check_numbers(y, name, family)
  check_response(y, y >= 0, name, paste("must not be negative for", the_family(family)))
  list(y = y)
}

fraction_response <- function(y, weights, name, levels, family) {
  y <- check_numbers(y, name, family)
  range <- paste("must be between 0 and 1, both excluded, for", the_family(family))
  check_response(y, y >= 0 & y <= 1, name, range)
  bad <- which(y == 0 | y == 1)
  if (length(bad)) {
    response_error(name, sprintf(
      "%s; %s. With zeros and ones use ordbeta(), or move them inside, as in (%s * (n - 1) + 0.5) / n with n = %d", range,
      found_in_rows(y, bad), name, length(y)
    ))
  }
  list(y = y)
}

unit_response <- function(y, weights, name, levels, family) {
  y <- check_numbers(y, name, family)
  check_response(y, y >= 0 & y <= 1, name, paste("must be between 0 and 1 for", the_family(family)))
  list(y = y)
}

# Between -pi and pi: degrees would otherwise be taken for radians.
angle_response <- function(y, weights, name, levels, family) {
  y <- check_numbers(y, name, family)
  check_response(y, abs(y) <= pi, name, paste(
    "must be angles in radians, between -pi and pi (of degrees y: atan2(sin(y * pi / 180), cos(y * pi / 180)))"
  ))
  list(y = y)
}

# A value of 0 is allowed: its likelihood increases as the variance decreases, but the prior limits that. If all values
# are zero, the variance cannot be estimated.
volatility_response <- function(y, weights, name, levels, family) {
  y <- check_numbers(y, name, family)
  if (is.null(levels) && all(y[weights > 0] == 0)) {
    response_error(name, sprintf("is 0 in every row, so the variance of %s cannot be estimated", the_family(family)))
  }
  list(y = y)
}

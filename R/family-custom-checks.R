# Checks of families from R functions, when they are made.

check_custom_name <- function(name) {
  if (!is.character(name) || length(name) != 1L || is.na(name) || !nzchar(name)) {
    stop_galvi("family", sprintf("`name` must be one word, not %s.", describe(name)))
  }
  if (name %in% names(family_types)) {
    stop_galvi("family", sprintf("`name` must not be that of a family of galvi, as \"%s\" is.", name))
  }
  name
}

check_custom_dpars <- function(dpars, derivatives) {
  if (is.null(dpars)) return(NULL)
  if (!is.character(dpars) || anyNA(dpars) || !length(dpars) || length(dpars) > 3L || anyDuplicated(dpars) ||
        !all(nzchar(dpars)) || dpars[1L] != "mu") {
    stop_galvi("family", sprintf(
      "`dpars` must be one to three names of parameters, the first of which is \"mu\", as %s, not %s.",
      "c(\"mu\", \"sigma\")", if (is.character(dpars)) quote_names(dpars, "\"") else describe(dpars)
    ))
  }
  if (!is.null(derivatives)) {
    stop_galvi("family", "`derivatives` are those in eta: with `dpars` leave them out, and differences are used.")
  }
  dpars
}

# The numbers that are no predictors' starts, and functions that take them.
check_custom_parameters <- function(parameters, dpars, functions) {
  if ("mu" %in% dpars && "mu" %in% names(parameters)) {
    stop_galvi("family", "`parameters` must not have `mu`, which has a linear predictor.")
  }
  own <- if (is.null(names(parameters))) parameters else parameters[!names(parameters) %in% dpars]
  named <- stats::setNames(as.list(dpars), dpars)
  for (what in names(functions)) {
    if (is.null(functions[[what]])) next
    first <- c(if (what != "simulate") "y", if (is.null(dpars)) "eta")
    check_callback(functions[[what]], what, first, c(named, own))
  }
  own
}

check_custom_links <- function(links, parameters, dpars) {
  if (!is.character(links) || anyNA(links) || !length(links)) {
    stop_galvi("family", sprintf("`links` must be names of links, such as \"log\", not %s.", describe(links)))
  }
  main <- if (is.null(dpars)) "eta" else dpars
  if (is.null(names(links)) && (length(links) == 1L || length(links) == length(main))) {
    names(links) <- main[seq_along(links)]
  }
  names <- union(main, parameters)
  unknown <- setdiff(names(links), names)
  if (is.null(names(links)) || length(unknown)) {
    stop_galvi("family", sprintf("`links` must be named by %s%s.", quote_names(names),
      if (length(unknown)) sprintf(", not `%s`", unknown[1L]) else ""))
  }
  out <- stats::setNames(c("identity", rep("log", length(names) - 1L)), names)
  out[names(links)] <- links
  for (name in names) {
    known <- if (name == main[1L]) names(link_types) else c("log", "identity", "logit")
    check_choice(out[[name]], known, sprintf("links` of `%s", name), what = "family")
  }
  out
}

check_support <- function(support) {
  words <- list(real = c(-Inf, Inf), positive = c(0, Inf), unit = c(0, 1), count = c(0, Inf))
  if (is.character(support)) {
    word <- check_choice(support, names(words), "support", what = "family")
    return(list(low = words[[word]][1L], high = words[[word]][2L], discrete = word == "count"))
  }
  if (is.integer(support) && length(support) > 1L && !anyNA(support) && all(diff(support) == 1L)) {
    return(list(low = min(support), high = max(support), discrete = TRUE))
  }
  if (!is.numeric(support) || length(support) != 2L || anyNA(support) || support[1L] >= support[2L]) {
    stop_galvi("family", sprintf(paste(
      "`support` must be %s, two increasing numbers c(low, high), or whole numbers in a row such as 0:10,",
      "not %s."
    ), quote_names(names(words), "\""), describe(support)))
  }
  list(low = support[1L], high = support[2L], discrete = FALSE)
}

check_custom_density <- function(family) {
  y <- example_responses(family$custom$support)
  family$custom$guessed <- character()  # from these responses nothing can be guessed
  registry <- new_registry()
  likelihood <- family_likelihood(family, list(y = y), registry)
  p <- registry$table()$value
  callbacks <- density_callbacks(likelihood$functions)
  owner <- sprintf("custom family \"%s\"", family$family)
  grid <- expand.grid(y = y, eta = c(-1.5, -0.4, 0, 0.7, 1.6))
  l <- callbacks$check(grid$y, grid$eta, p)
  alone <- mapply(function(y, eta) callbacks$log_density(y, eta, p), grid$y, grid$eta)
  apart <- which(l != alone & !(abs(l - alone) <= 1e-8 * pmax(1, abs(l))))[1L]
  if (!is.na(apart)) {
    stop_galvi("callback", sprintf(paste(
      "`log_density` of the %s is not vectorised: at y = %s, eta = %s it is %s among other rows and %s alone."
    ), owner, format(grid$y[apart]), format(grid$eta[apart]), format(l[apart]), format(alone[apart])))
  }
  if (!is.null(callbacks$derivatives)) check_given_derivatives(callbacks, grid, p, owner)
  check_mass(family, likelihood, p, owner)
}

# Some responses inside the support.
example_responses <- function(support) {
  if (support$discrete) {
    from <- if (is.finite(support$low)) support$low else if (is.finite(support$high)) support$high - 5 else 0
    return(seq(from, min(from + 5, support$high)))
  }
  if (is.finite(support$low) && is.finite(support$high)) {
    return(support$low + (support$high - support$low) * c(0.1, 0.35, 0.5, 0.7, 0.9))
  }
  if (is.finite(support$low)) return(support$low + c(0.1, 0.6, 1, 2.5, 6))
  if (is.finite(support$high)) return(support$high - c(0.1, 0.6, 1, 2.5, 6))
  c(-2, -0.6, 0.1, 0.9, 3)
}

check_given_derivatives <- function(callbacks, grid, p, owner) {
  given <- callbacks$derivatives(grid$y, grid$eta, p)
  l <- function(by) callbacks$log_density(grid$y, grid$eta + by, p)
  first <- function(h) (8 * (l(h) - l(-h)) - (l(2 * h) - l(-2 * h))) / (12 * h)
  second <- function(h) (16 * (l(h) + l(-h)) - (l(2 * h) + l(-2 * h)) - 30 * l(0)) / (12 * h^2)
  for (k in 1:2) {
    # differences by two steps show how accurate they are
    rough <- list(first, second)[[k]](0.02)
    fine <- list(first, second)[[k]](0.01)
    allowed <- 1e-4 * pmax(1, abs(fine)) + 10 * abs(fine - rough)
    off <- which(is.finite(fine) & !(abs(given[, k] - fine) <= allowed))[1L]
    if (is.na(off)) next
    stop_galvi("callback", sprintf(
      "`derivatives` of the %s: at y = %s, eta = %s the %s is %s, and differences of `log_density` give %s.",
      owner, format(grid$y[off]), format(grid$eta[off]), c("first", "second")[k], format(given[off, k]),
      format(fine[off], digits = 5L)
    ))
  }
}

check_mass <- function(family, likelihood, p, owner) {
  for (eta in c(0, -0.7, 1.2)) {
    mass <- tryCatch(as_galvi_error(density_mass(likelihood, p, eta)), galvi_error_numeric = function(e) {
      stop_galvi("callback", conditionMessage(e))
    })
    if (abs(mass - 1) <= 1e-5) next
    stop_galvi("callback", sprintf(
      "`log_density` of the %s does not %s to one over its `support` but to %s at eta = %s: is its constant missing?",
      owner, if (family$custom$support$discrete) "add up" else "integrate", format(mass, digits = 5L), format(eta)
    ))
  }
}

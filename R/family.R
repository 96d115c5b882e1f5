# Families: what the user names -> which likelihood runs, with which parameters, on which responses.

# ---- the table ----

# One entry per family. links: R's link -> the core's likelihood, the first is the default; parameters: name
# -> function(y) giving start and bounds; response: see below; example: three legal responses.
family_types <- function() {
  list(
    gaussian = list(
      links = c(identity = "gaussian"), parameters = list(variance = noise_variance),
      response = number_response, example = c(0, 1, 1)
    ),
    binomial = list(
      links = c(logit = "binomial_logit", probit = "binomial_probit"), parameters = list(),
      response = binomial_response, example = c(0, 1, 1)
    ),
    poisson = list(
      links = c(log = "poisson"), parameters = list(), response = count_response, example = c(0, 1, 1)
    )
  )
}

# Families of other packages, by a pattern for their `$family`, and their name here.
family_translations <- function() {
  data.frame(
    pattern = c(
      "^bernoulli$", "^negative binomial|^negbinomial2?$", "^ordered categorical|^cumulative$",
      "^scaled t|^student$", "^beta regression|^beta$", "^categorical$|^multinom", "^gamma$", "^exponential$"
    ),
    family = c(
      "binomial", "negbinomial", "cumulative", "student", "beta_family", "categorical", "Gamma", "exponential"
    )
  )
}

# Families that galvi's interface names and this version does not have.
unavailable_families <- function() {
  c(
    "categorical", "stick_breaking", "cumulative", "student", "laplace", "exponential", "negbinomial",
    "beta_family", "stochastic_volatility", "Gamma"
  )
}

# Refused for good, with the reason.
refused_families <- function() {
  c(
    quasi = "a quasi family has no likelihood, and the bound is on one",
    quasibinomial = "a quasi family has no likelihood, and the bound is on one: use binomial()",
    quasipoisson = "a quasi family has no likelihood, and the bound is on one: use poisson()",
    inverse.gaussian = "its likelihood is not among galvi's"
  )
}

# ---- constructors ----

#' Families
#'
#' `family` in [galvi()] is a name, a function or an object: base R's [stats::gaussian()], [stats::binomial()]
#' with links `"logit"` and `"probit"`, [stats::poisson()]. `galvi_family()` builds any of them with
#' parameters, and no other package can mask it.
#'
#' | family | links | response | parameters |
#' |:--|:--|:--|:--|
#' | `gaussian` | identity | numbers | `variance`: of the noise |
#' | `binomial` | logit, probit | two classes or counts of successes, see below | |
#' | `poisson` | log | counts | |
#'
#' A binomial response is 0 and 1, logical, a factor or text of two levels (the second is the success),
#' `cbind(successes, failures)`, or a proportion with the trials as `weights`.
#'
#' Family parameters are hyperparameters: a number is where learning starts, [fixed()] holds it, a prior such
#' as [log_normal()] makes the estimate a posterior mode. They are learned from a start read off the data if
#' they are not given. `variance = fixed(0)` is noise-free interpolation.
#'
#' Objects of class `brmsfamily`, mgcv's and MASS's families are translated by name and link, or refused with
#' a message that names the call to use.
#'
#' @param family A name, a family function or a family object.
#' @param ... Parameters by name, such as `variance = fixed(0.25)`.
#' @param link Link; NULL for the one of `family`.
#' @return An object of class `galvi_family` and `family`: a list with `family`, `link`, `linkfun`, `linkinv`,
#'   `mu.eta` and `parameters`.
#' @examples
#' galvi_family("gaussian", variance = fixed(0.25))
#' galvi_family(binomial("probit"))
#' @export
galvi_family <- function(family, ..., link = NULL) {
  if (missing(family)) stop_galvi("family", "galvi_family() needs `family`: a name, a function or an object.")
  family <- as_galvi_family(family, link = link)
  parameters <- list(...)
  known <- names(family_types()[[family$family]]$parameters)
  given <- names(parameters)
  if (length(parameters) && (is.null(given) || !all(nzchar(given)))) {
    stop_galvi("family", sprintf(
      "Parameters of a family need names%s.",
      if (length(known)) sprintf(", as in galvi_family(\"%s\", %s = 1)", family$family, known[1L]) else ""
    ))
  }
  for (name in given) {
    if (!name %in% known) {
      stop_galvi("family", sprintf(
        "The %s family has no parameter `%s`.%s", family$family, name,
        if (length(known)) sprintf(" It has %s.", quote_names(known)) else " It has none."
      ))
    }
    as_parameter(parameters[[name]], name, zero_ok = TRUE, variance = name == "variance", what = "family")
  }
  family$parameters[given] <- parameters
  family
}

new_family <- function(family, link, parameters = list()) {
  structure(
    c(
      list(family = family, link = link),
      stats::make.link(link)[c("linkfun", "linkinv", "mu.eta")],
      list(parameters = parameters)
    ),
    class = c("galvi_family", "family")
  )
}

#' @export
print.galvi_family <- function(x, ...) {
  cat("Family:", x$family, "\nLink function:", x$link, "\n")
  for (name in names(x$parameters)) {
    value <- x$parameters[[name]]
    cat(sprintf("%s: %s\n", name, format(value)))
  }
  invisible(x)
}

#' Anything a user may call a family -> galvi_family; errors name what to use
#' @noRd
as_galvi_family <- function(x, link = NULL, arg = "family") {
  if (is.function(x)) {
    x <- tryCatch(x(), error = function(e) {
      stop_galvi("family", sprintf(
        "`%s` must be a family; the function that was given fails: %s", arg, conditionMessage(e)
      ))
    })
  }
  if (inherits(x, "galvi_family") && is.null(link)) return(x)
  if (is.character(x) && length(x) == 1L) return(family_by_name(x, link, arg))
  if (is.list(x) && is.character(x$family)) {
    given <- if (is.null(link)) x$link else link
    family <- family_by_name(x$family[1L], given[1L], arg, found = x$family[1L])
    if (inherits(x, "galvi_family")) family$parameters <- x$parameters
    return(family)
  }
  stop_galvi("family", sprintf(
    "`%s` must be a family such as binomial(), its name or its function, not %s.", arg, describe(x)
  ))
}

family_by_name <- function(name, link, arg, found = NULL) {
  types <- family_types()
  if (!name %in% names(types)) {
    translated <- translate_family(name)
    if (is.null(translated)) refuse_family(name, link, arg)
    if (!translated %in% names(types)) refuse_family(translated, link, arg, found = found)
    name <- translated
  }
  links <- names(types[[name]]$links)
  if (is.null(link)) link <- links[1L]
  if (!link %in% links) {
    stop_galvi("family", sprintf(
      "The %s family has link%s %s here, not \"%s\". Use %s(%s).", name, if (length(links) > 1L) "s" else "",
      quote_names(links, "\""), link, name, paste0("\"", links[1L], "\"")
    ))
  }
  new_family(name, link)
}

translate_family <- function(name) {
  table <- family_translations()
  hit <- which(vapply(table$pattern, grepl, NA, x = name, ignore.case = TRUE))
  if (length(hit)) table$family[hit[1L]] else NULL
}

refuse_family <- function(name, link, arg, found = NULL) {
  available <- names(family_types())
  refused <- refused_families()
  if (name %in% names(refused)) {
    stop_galvi("family", sprintf(
      "The %s family is not for galvi: %s. Families are %s.", name, refused[[name]], quote_names(available)
    ))
  }
  if (name == "Gamma" && !is.null(link) && link != "log") {
    stop_galvi("family", sprintf(
      "Gamma() with the %s link is refused, as its mean could turn negative: Gamma has \"log\" here.",
      link
    ))
  }
  if (name %in% unavailable_families()) {
    was <- if (!is.null(found) && found != name) sprintf(" (here `%s`)", name) else ""
    stop_galvi("family", sprintf(
      "The %s family%s is not available in this version: families are %s.",
      if (is.null(found)) name else found, was, quote_names(available)
    ))
  }
  stop_galvi("family", sprintf(
    "`%s` must be one of %s, not \"%s\".%s", arg, quote_names(available), name, did_you_mean(name, available)
  ))
}

# ---- parameters ----

# Half of var(y) for the noise, half for the function; and room to move both ways.
noise_variance <- function(y) {
  total <- response_variance(y)
  list(start = total / 2, lower = 1e-8 * total, upper = 1e2 * total)
}

# var(y), 1 where y does not vary.
response_variance <- function(y) {
  v <- if (length(y) > 1L) stats::var(as.numeric(y)) else 0
  if (is.finite(v) && v > 1e-24 * mean(y)^2 && v > 0) v else 1
}

#' The family's part of the model: the border's likelihood, its parameters put into the registry
#' @noRd
family_likelihood <- function(family, y, registry) {
  type <- family_types()[[family$family]]
  hyper <- list()
  for (name in names(type$parameters)) {
    default <- type$parameters[[name]](y)
    value <- as_parameter(family$parameters[[name]], name, default$start,
      zero_ok = TRUE, variance = name == "variance", what = "family"
    )
    hyper[[name]] <- registry$add(family$family, name, value, default$lower, default$upper)
  }
  list(type = type$links[[family$link]], hyper = hyper, constants = list())
}

# ---- responses ----
# response(y, weights, name, levels): the model frame's response -> list(y, size, weights, levels). `levels`
# is given for new data, where one class alone is no error.

family_response <- function(family, y, weights, name, levels = NULL) {
  n <- NROW(y)
  weights <- check_weights(weights, n)
  if (is.list(y) && !is.data.frame(y)) response_error(name, "must be a vector, not a list")
  response <- family_types()[[family$family]]$response(y, weights, name, levels)
  if (is.null(response$size)) response$size <- rep(1, n)
  if (is.null(response$weights)) response$weights <- weights
  response
}

response_error <- function(name, text) {
  stop_galvi("response", sprintf("The response `%s` %s.", name, text))
}

check_weights <- function(weights, n) {
  if (is.null(weights)) return(rep(1, n))
  if (!is.numeric(weights) || !is.null(dim(weights)) && ncol(weights) != 1L) {
    stop_galvi("argument", sprintf("`weights` must be numbers, not %s.", describe(weights)))
  }
  weights <- as.numeric(weights)
  bad <- which(!is.finite(weights) | weights < 0)
  if (length(bad)) {
    stop_galvi("argument", sprintf(
      "`weights` must be finite and not negative; %s.", found_in_rows(weights, bad)
    ))
  }
  if (n && !any(weights > 0)) stop_galvi("argument", "`weights` are all zero: no row is left to learn from.")
  weights
}

# Finite numbers in one column.
check_numbers <- function(y, name, family) {
  if (is.factor(y) || is.character(y)) {
    response_error(name, sprintf(
      "must be numbers for the %s family, not %s. For two classes use family = binomial()", family,
      if (is.factor(y)) sprintf("a factor of %d levels", nlevels(y)) else "text"
    ))
  }
  if (!is.numeric(y) && !is.logical(y)) {
    response_error(name, sprintf("must be numbers for the %s family, not %s", family, describe(y)))
  }
  if (NCOL(y) != 1L) {
    response_error(name, sprintf("must be one column for the %s family, not %d", family, NCOL(y)))
  }
  y <- as.numeric(y)
  check_response(y, is.finite(y), name, "must be finite")
  y
}

check_response <- function(y, ok, name, must) {
  if (all(ok)) return(invisible())
  bad <- which(!ok)
  response_error(name, paste0(must, "; ", found_in_rows(y, bad)))
}

number_response <- function(y, weights, name, levels = NULL) {
  list(y = check_numbers(y, name, "gaussian"))
}

count_response <- function(y, weights, name, levels = NULL) {
  y <- check_numbers(y, name, "poisson")
  check_response(y, y >= 0 & is_whole(y), name, "must be counts, whole numbers from 0")
  list(y = round(y))
}

is_whole <- function(x) abs(x - round(x)) <= 1e-7 * pmax(1, abs(x))

binomial_response <- function(y, weights, name, levels = NULL) {
  if (is.matrix(y) && ncol(y) == 2L) return(successes_failures(y, weights, name))
  if (is.character(y)) y <- factor(y)
  if (is.factor(y)) return(two_classes(y, name, levels))
  logical <- is.logical(y) || identical(levels, c("FALSE", "TRUE"))
  y <- check_numbers(y, name, "binomial")
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
  if (length(all_levels) > 2L) {
    response_error(name, sprintf(
      "must have two levels for the binomial family, not %d (%s): use two, such as I(%s == \"%s\")",
      length(all_levels), quote_names(all_levels, "\"", 6L), name, all_levels[1L]
    ))
  }
  code <- as.numeric(y) - 1
  if (length(all_levels) == 1L) code[] <- 0
  check_both_classes(code, name, NULL, all_levels)
  list(y = code, levels = all_levels)
}

check_known_classes <- function(y, name, levels) {
  unknown <- setdiff(as.character(y), c(levels, NA))
  if (length(unknown)) {
    stop_galvi("newdata", sprintf(
      "The response `%s` in `newdata` has the level %s; the fit knows %s.", name,
      quote_names(unknown[1L], "\""), quote_names(levels, "\"")
    ))
  }
}

# A single row can only have one class.
check_both_classes <- function(y, name, levels, names = c("0", "1")) {
  if (!is.null(levels) || length(y) < 2L || length(unique(y)) > 1L) return(invisible())
  response_error(name, sprintf("has one class only (%s): two are needed", dQuote(names[y[1L] + 1L], FALSE)))
}

successes_failures <- function(y, weights, name) {
  counts <- as.numeric(y)
  rows <- rep(seq_len(nrow(y)), 2L)
  bad <- which(!is.finite(counts) | counts < 0 | !is_whole(counts))
  if (length(bad)) {
    response_error(name, sprintf(
      "must be cbind(successes, failures), whole numbers from 0; row %d has %s", rows[bad[1L]],
      format(counts[bad[1L]])
    ))
  }
  with_trials(round(y[, 1L]), round(y[, 1L] + y[, 2L]), weights)
}

# As in glm: a proportion's weights are its trials.
proportion_of_trials <- function(y, weights, name) {
  must <- "must be 0 and 1, a factor of two levels, cbind(successes, failures) or proportions from 0 to 1"
  check_response(y, y >= 0 & y <= 1, name, must)
  count <- y * weights
  bad <- which(abs(count - round(count)) > 1e-6 * pmax(1, count) | !is_whole(weights))
  if (length(bad)) {
    response_error(name, sprintf(
      "is a proportion, so `weights` must be the trials and %s x trials whole: row %d has %s of %s", name,
      bad[1L], format(y[bad[1L]], digits = 4), format(weights[bad[1L]])
    ))
  }
  with_trials(round(count), weights, rep(1, length(y)))
}

# A row without trials says nothing: it stays with weight zero.
with_trials <- function(y, size, weights) {
  none <- size == 0
  weights[none] <- 0
  size[none] <- 1
  list(y = as.numeric(y), size = as.numeric(size), weights = weights, levels = c("0", "1"))
}

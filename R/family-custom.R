# Families whose log density is an R function, which the core calls for many rows at once through
# density_callbacks(); src/likelihood/custom.h says what else is made of it.

#' Families from R functions
#'
#' Makes a family for [galvi()] from an R function that returns the log density of a response given the linear predictor
#' eta, or given parameters that may have linear predictors. Such a family works with every prior; its parameters are
#' estimated, and predictions and plots are available.
#'
#' The functions are called with vectors of equal length, sometimes of thousands of elements, and with each parameter as
#' one number. They must be vectorised, smooth in eta and finite for every eta: with a wide prior eta may be far from
#' 0, so write `plogis(eta, log.p = TRUE)`, not `log(plogis(eta))`. They are called from the main thread only.
#'
#' `custom_family()` tests them first. Results must have the right length and no NaN, be the same for one element as for
#' many, `derivatives` must agree with finite differences of `log_density`, and the density must integrate (or sum) to
#' one over `support`.
#'
#' Expectations are computed by quadrature, and predictions by integrals or sums over `support`. `deviance()` and the
#' expectations that are bounds are not available. The fit keeps the functions, so it can be saved by [saveRDS()] and
#' used in a new session, provided that they do not refer to other objects of your workspace: pass numbers as
#' `parameters`, with [fixed()] if they are not to be estimated.
#'
#' With `dpars = c("mu", "sigma")` the arguments of `log_density` are y and these parameters on their own scales, such
#' as a mean and a standard deviation: `function(y, mu, sigma)`. `mu` has the linear predictor of the response; each of
#' the others may have a formula, as in `list(y ~ x, sigma ~ z)`, and is one learned number without it. Up to three
#' parameters may be listed. Expectations are then sums over products of nodes: for each row 25 to some hundred with two
#' formulas, and with three about a thousand, more where the data say little about a parameter. A fit of a hundred rows
#' takes about a second with two formulas and some seconds with three; give the third a prior, as in
#' `prior = list(nu = list(intercept = normal(2, 0.5)))`, where the data hardly determine it. Predictions integrate over
#' the response of each row at 50 to 150 points of the posterior.
#'
#' @param name Name of the family for printing, which must differ from the families of galvi.
#' @param log_density `function(y, eta, <parameters>)`, or with `dpars` `function(y, <dpars>, <parameters>)`, that
#'   returns the log density (for whole numbers the log probability), including its constant; `-Inf` where y is
#'   impossible.
#' @param derivatives NULL for finite differences, or `function(y, eta, <parameters>)` that returns a list of two
#'   vectors, the first and second derivative of `log_density` with respect to eta. They make fits faster and more
#'   accurate. Not with `dpars`.
#' @param links Link of eta: `"identity"`, `"log"`, `"logit"`, `"probit"` or `"cloglog"`. It describes how eta
#'   relates to the mean of the response, for default priors, offsets and partial residuals; it does not change
#'   `log_density`. A named vector also gives the ranges of parameters, as in `c(eta = "log", skew = "identity")`:
#'   `"log"` (positive, the default), `"identity"` (any number) or `"logit"` (between 0 and 1). With `dpars` a vector
#'   with one link for each of them, or a named one, as in `c(mu = "log", skew = "identity")`.
#' @param parameters Named list or vector with the other arguments of `log_density`: numbers as starting values,
#'   [fixed()], or, for positive parameters, priors such as [log_normal()]. `dpars` after the first
#'   start where the responses are most likely, unless they are named here.
#' @param support Possible responses: `"real"`, `"positive"`, `"unit"` (between 0 and 1), `"count"` (whole numbers from
#'   0), two numbers `c(low, high)` for all numbers between them, or consecutive integers such as `0:10`.
#' @param simulate NULL to draw by inverting the distribution function, or `function(eta, <parameters>)`, with `dpars`
#'   `function(<dpars>, <parameters>)`, that returns a random response for each eta.
#' @param log_concave TRUE if `log_density` is concave in eta, with `dpars` in the predictor of mu, for every y.
#'   Inference relies on this, for instance when it certifies that the bound is at its maximum. With several formulas it
#'   is not used.
#' @param dpars NULL, or the names of one to three parameters that may have linear predictors, the first of which is
#'   `"mu"`.
#' @return An object of class `galvi_family`, see [galvi_family()].
#' @section Errors:
#' `galvi_error_callback` where a function fails, returns something else than described, or does not pass the tests;
#' `galvi_error_family` for other invalid arguments.
#' @seealso `vignette("extending", package = "galvi")`.
#' @family extending
#' @examples
#' # errors that are skewed to the right: the Gumbel distribution
#' gumbel <- custom_family("gumbel",
#'   log_density = function(y, eta, scale) {
#'     z <- (y - eta) / scale
#'     -z - exp(-z) - log(scale)
#'   },
#'   parameters = list(scale = 10), log_concave = TRUE
#' )
#' fit <- galvi(dist ~ speed, data = cars, family = gumbel)
#' fit
#' predict(fit, data.frame(speed = 15), interval = "prediction")
#'
#' # the same with a mean and a scale that both depend on the speed
#' gumbel <- custom_family("gumbel",
#'   log_density = function(y, mu, scale) {
#'     z <- (y - mu) / scale - digamma(1)
#'     -z - exp(-z) - log(scale)
#'   },
#'   dpars = c("mu", "scale"), links = c("identity", "log"), parameters = list(scale = 10)
#' )
#' coef(galvi(list(dist ~ speed, scale ~ speed), data = cars, family = gumbel))
#' @export
custom_family <- function(name, log_density, derivatives = NULL, links = "identity", parameters = list(),
                          support = "real", simulate = NULL, log_concave = FALSE, dpars = NULL) {
  name <- check_custom_name(name)
  parameters <- as.list(parameters)
  dpars <- check_custom_dpars(dpars, derivatives)
  main <- if (is.null(dpars)) "eta" else dpars
  others <- dpars[-1L]
  own <- check_custom_parameters(
    parameters, dpars, list(log_density = log_density, derivatives = derivatives, simulate = simulate)
  )
  links <- check_custom_links(links, names(parameters), dpars)
  missing <- setdiff(others, names(parameters))
  parameters[missing] <- lapply(links[missing], function(link) link_functions(link)$linkinv(0))
  parameters <- parameters[c(others, names(own))]
  family <- new_family(name, links[[main[1L]]], dpars = c("mu", others), class = "galvi_custom_family")
  family$custom <- list(
    log_density = log_density, derivatives = derivatives, simulate = simulate, dpars = dpars, links = links[dpars],
    guessed = missing, transforms = links[names(parameters)], support = check_support(support),
    log_concave = check_flag(log_concave, "log_concave", what = "family")
  )
  family <- set_parameters(family, parameters)
  check_custom_density(family)
  family
}

is_custom <- function(family) inherits(family, "galvi_custom_family")

#' @export
own_family_type.galvi_custom_family <- function(family) {
  custom <- family$custom
  others <- custom$dpars[-1L]
  sets <- unlist(lapply(seq_along(others), function(size) utils::combn(others, size, paste, collapse = " ")))
  list(
    dpars = lapply(stats::setNames(nm = others), function(name) parameter(custom$links[[name]], name)),
    with_predictors = stats::setNames(rep("custom", length(sets)), sets),
    links = stats::setNames("custom", family$link), response = custom_response,
    parameters = lapply(custom$transforms, custom_parameter), location = "location",
    constants = function(levels, family) {
      list(
        low = custom$support$low, high = custom$support$high, discrete = as.numeric(custom$support$discrete),
        log_concave = as.numeric(custom$log_concave)
      )
    },
    functions = function(y, predicted) {
      c(
        list(
          name = family$family, parameters = setdiff(names(custom$transforms), predicted),
          reference = spread_values(unique(y), 12L), predicted = predicted, starts = custom_starts(family, y)[predicted]
        ),
        custom[c("log_density", "derivatives", "dpars", "links")]
      )
    }
  )
}

# As those of core_facts$likelihood.
#' @export
facts_of_family.galvi_custom_family <- function(family, model) {
  predicted <- model$likelihood$functions$predicted
  several <- length(predicted) > 0L
  list(
    type = "custom", log_concave = family$custom$log_concave && !several, conjugate = FALSE, closed_form = FALSE,
    discrete = family$custom$support$discrete, separable = !several,
    divides_dispersion = FALSE, latents = 1L + length(predicted), classes = 0L
  )
}

# At most so many of the observed values, from the lowest to the highest.
spread_values <- function(y, most) {
  values <- sort(y)
  values[unique(round(seq(1, length(values), length.out = min(most, length(values)))))]
}

custom_response <- function(y, weights, name, levels, family) {
  y <- check_numbers(y, name, family)
  support <- family$custom$support
  check_response(y, y >= support$low & y <= support$high, name, sprintf(
    "must lie between %s and %s for %s", format(support$low), format(support$high), the_family(family)
  ))
  if (!support$discrete) return(list(y = y))
  check_response(y, is_whole(y), name, sprintf("must be whole numbers for %s", the_family(family)))
  list(y = round(y))
}

# ---- parameters ----

custom_parameter <- function(transform) {
  list(transform = transform, default = NULL, check = check_custom_parameter, add = add_custom_parameter)
}

check_custom_parameter <- function(parameter, value, name) {
  ends <- transform_ends(parameter$transform)
  if (is_value(value) && !is_fixed(value) && !is_learned(value) && parameter$transform != "log") {
    stop_galvi("family", sprintf("`%s` has link \"%s\" and takes a number or fixed(), not a prior.", name,
      parameter$transform))
  }
  start <- as_parameter(value, name, lower = ends$low, what = "family")
  if (start$value < ends$high) return(start)
  stop_galvi("family", sprintf(
    "`%s` must lie between %g and %g, not %s.", name, ends$low, ends$high, format(start$value)
  ))
}

add_custom_parameter <- function(parameter, name, family, response, registry, held) {
  value <- check_custom_parameter(parameter, family$parameters[[name]], name)
  if (name %in% family$custom$guessed) {
    value$value <- link_functions(parameter$transform)$linkinv(custom_starts(family, response$y)[[name]])
  }
  range <- switch(parameter$transform,
    log = value$value * c(1e-3, 1e3), logit = c(1e-6, 1 - 1e-6),
    identity = value$value + c(-100, 100) * max(1, abs(value$value))
  )
  registry$add(
    family$family, name, value, range[1L], range[2L], parameter$transform, family = character()
  )
}

# Where the search for the parameters after mu starts, on the scale of their links: at the numbers that were given, and
# elsewhere where some of the responses are most likely if all have the same parameters.
custom_starts <- function(family, y) {
  custom <- family$custom
  others <- custom$dpars[-1L]
  start <- vapply(stats::setNames(nm = others), function(name) {
    value <- check_custom_parameter(custom_parameter(custom$links[[name]]), family$parameters[[name]], name)$value
    link_functions(custom$links[[name]])$linkfun(value)
  }, 0)
  guessed <- custom$guessed
  if (!length(guessed)) return(start)
  y <- spread_values(y, 40L)
  own <- setdiff(names(custom$transforms), others)
  functions <- list(dpars = custom$dpars, links = custom$links, predicted = others, parameters = own)
  p <- vapply(own, function(name) {
    check_custom_parameter(custom_parameter(custom$transforms[[name]]), family$parameters[[name]], name)$value
  }, 0)
  # a row for each set of mu and those that are guessed; the pull keeps what the responses do not determine near 0
  log_likelihood <- function(at) {
    eta <- matrix(rep(c(0, start), each = nrow(at)), nrow(at), dimnames = list(NULL, c("mu", others)))
    eta[, colnames(at)] <- at
    rows <- rep(seq_len(nrow(at)), each = length(y))
    l <- density_callbacks(c(functions, custom["log_density"], name = family$family))$log_density(
      rep(y, nrow(at)), eta[rows, , drop = FALSE], p
    )
    l <- colSums(matrix(l, length(y))) - rowSums(eta[, guessed, drop = FALSE]^2) / 200
    replace(l, !is.finite(l), -.Machine$double.xmax^0.5)
  }
  grids <- list(log = seq(-14, 14, by = 2), logit = seq(-6, 6, by = 2), identity = c(0, -5, 5, -1, 1))
  suppressWarnings({
    # mu may be a location, or that of a logarithm
    mu <- stats::quantile(y, 1:3 / 4, names = FALSE)
    mu <- c(0, mu, family$linkfun(mu), log(mu))
    grid <- as.matrix(expand.grid(c(list(mu = unique(mu[is.finite(mu)])), grids[custom$links[guessed]])))
    colnames(grid) <- c("mu", guessed)
    best <- grid[which.max(log_likelihood(grid)), ]
    found <- stats::optim(best, function(x) -log_likelihood(t(x)), control = list(maxit = 300L))$par
  })
  replace(start, guessed, found[guessed])
}

# ---- calls ----

# What the core calls: function(y, eta, parameters) with checked results.   eta: n x K
density_callbacks <- function(functions) {
  owner <- sprintf("custom family \"%s\"", functions$name)
  arguments <- arguments_of_density(functions)
  call <- function(what, y, eta, p) call_user(functions[[what]], c(list(y), arguments(eta, p)), what, owner)
  log_density <- function(y, eta, p) check_length(call("log_density", y, eta, p), y, owner)
  c(
    list(
      log_density = log_density,
      check = function(y, eta, p) {
        l <- check_log_density(log_density(y, eta, p), y, eta, p, functions, owner)
        if (!is.null(functions$derivatives)) {
          check_finite(call("derivatives", y, eta, p), y, eta, p, functions, owner)
        }
        l
      },
      owner = owner, parameters = functions$parameters, starts = as.numeric(functions$starts),
      reference = as.numeric(functions$reference)
    ),
    if (!is.null(functions$derivatives)) {
      list(derivatives = function(y, eta, p) check_derivatives(call("derivatives", y, eta, p), y, owner))
    }
  )
}

# The arguments of the user's functions after y: eta, or parameters on their own scales; then the others.   eta: n x K
density_arguments <- function(eta, p, functions) arguments_of_density(functions)(eta, p)

# The same as a function(eta, p), for many calls.
arguments_of_density <- function(functions) {
  if (is.null(functions$dpars)) {
    return(function(eta, p) c(list(as.vector(eta)), stats::setNames(as.list(p), functions$parameters)))
  }
  with_predictor <- c(functions$dpars[1L], functions$predicted)
  inverse <- lapply(functions$links[with_predictor], function(link) link_functions(link)$linkinv)
  given <- c(with_predictor, functions$parameters)
  ordered <- c(functions$dpars, setdiff(given, functions$dpars))
  place <- match(ordered, given)
  function(eta, p) {
    eta <- as.matrix(eta)
    own <- lapply(seq_along(inverse), function(k) inverse[[k]](eta[, k]))
    stats::setNames(c(own, as.list(p))[place], ordered)
  }
}

# In words, with the response.
density_point <- function(y, eta, p, functions, at) {
  arguments <- density_arguments(as.matrix(eta)[at, , drop = FALSE], p, functions)
  if (is.null(functions$dpars)) names(arguments)[1L] <- "eta"
  values <- c(y = y[at], vapply(arguments, as.numeric, 0))
  paste(names(values), "=", vapply(values, format, "", digits = 5L), collapse = ", ")
}

check_length <- function(l, y, owner) {
  if (is.numeric(l) && length(l) == length(y)) return(as.numeric(l))
  stop_galvi("callback", sprintf(
    "`log_density` of the %s must return a number for each y and eta (%d here), not %s.", owner, length(y),
    describe(l)
  ))
}

check_log_density <- function(l, y, eta, p, functions, owner) {
  if (anyNA(l) || any(l == Inf)) {
    bad <- which(is.na(l) | l == Inf)[1L]
    stop_galvi("callback", sprintf(
      "`log_density` of the %s is %s at %s: it must be a number, or -Inf where the response is impossible.",
      owner, format(l[bad]), density_point(y, eta, p, functions, bad)
    ))
  }
  l
}

check_derivatives <- function(d, y, owner) {
  right <- is.list(d) && length(d) == 2L && all(vapply(d, is.numeric, NA)) && all(lengths(d) == length(y))
  if (!right) {
    stop_galvi("callback", sprintf(
      "`derivatives` of the %s must return a list of two vectors with a number for each y and eta (%d here), not %s.",
      owner, length(y), if (is.list(d)) sprintf("a list of %s", paste(lengths(d), collapse = ", ")) else describe(d)
    ))
  }
  cbind(as.numeric(d[[1L]]), as.numeric(d[[2L]]))
}

# Where log_density() is a number its derivatives must be.
check_finite <- function(d, y, eta, p, functions, owner) {
  check_derivatives(d, y, owner)
  for (k in 1:2) {
    bad <- which(!is.finite(d[[k]]))[1L]
    if (is.na(bad)) next
    stop_galvi("callback", sprintf(
      "`derivatives` of the %s: the %s is %s at %s, where `log_density` is a number. It must be one, too.",
      owner, c("first", "second")[k], format(d[[k]][bad]), density_point(y, eta, p, functions, bad)
    ))
  }
}

# Warnings of the user's log_density at the fitted values. Those of searches, which go further out, are dropped.
warn_of_density <- function(fit) {
  functions <- fit$model$likelihood$functions
  if (is.null(functions)) return()
  p <- lapply(stats::setNames(nm = functions$parameters), family_parameter, fit = fit)
  told <- character()
  withCallingHandlers(
    try(do.call(
      functions$log_density, c(list(fit$model$y), density_arguments(fit$posterior$mean, p, functions))
    ), silent = TRUE),
    warning = function(w) {
      told <<- union(told, conditionMessage(w))
      invokeRestart("muffleWarning")
    }
  )
  if (!length(told)) return()
  warn_galvi("callback", sprintf(
    "`log_density` of the custom family \"%s\" warns at the fitted values: %s", functions$name,
    paste(told, collapse = "; ")
  ), fit$call)
}

# Responses drawn by the user's function; NULL without one.   eta: n x K
custom_draws <- function(fit, eta) {
  simulate <- fit$family$custom$simulate
  if (is.null(simulate)) return(NULL)
  functions <- fit$model$likelihood$functions
  p <- lapply(functions$parameters, family_parameter, fit = fit)
  owner <- sprintf("custom family \"%s\"", fit$family$family)
  y <- call_user(simulate, density_arguments(eta, p, functions), "simulate", owner)
  if (!is.numeric(y) || length(y) != nrow(eta) || anyNA(y)) {
    stop_galvi("callback", sprintf(
      "`simulate` of the %s must return a number for each eta (%d here), not %s.", owner, nrow(eta),
      if (anyNA(y)) "NA" else describe(y)
    ))
  }
  as.numeric(y)
}

#' Log densities of responses at points by the user's function, -Inf where they are not numbers: rows x points
#' @param state As points_state(). y: of its rows, at each point.
#' @noRd
custom_densities <- function(fit, y, state) {
  functions <- fit$model$likelihood$functions
  log_density <- density_callbacks(functions)$log_density
  parameters <- state$hyper[, unlist(fit$model$likelihood$hyper[functions$parameters]), drop = FALSE]
  own <- function(y, rows, s) log_density(y, state$mean[rows, , drop = FALSE], parameters[s, ])
  # a parameter is one number in a call
  out <- if (all(parameters == rep(parameters[1L, ], each = nrow(parameters)))) {
    own(rep_len(y, nrow(state$mean)), TRUE, 1L)
  } else {
    unlist(lapply(seq_len(nrow(parameters)), function(s) own(y, (s - 1L) * length(y) + seq_along(y), s)))
  }
  matrix(replace(out, is.nan(out), -Inf), length(y))
}

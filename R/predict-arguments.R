# The arguments of predict() and what may be asked of a type.

check_prediction_request <- function(type, entry, options) {
  can <- function(what) {
    types <- predict_types()
    paste0("\"", names(types)[vapply(types, what, NA)], "\"", collapse = ", ")
  }
  refuse <- function(argument, types) {
    stop_galvi("argument", sprintf(
      "%s is not available with type = \"%s\", only with %s.", argument, type, types
    ))
  }
  if (options$se.fit && !entry$se.fit) refuse("`se.fit = TRUE`", can(function(x) x$se.fit))
  if (options$covariance && !entry$covariance) refuse("`covariance = TRUE`", can(function(x) x$covariance))
  if (!options$interval %in% entry$interval) {
    allowed <- can(function(x) options$interval %in% x$interval)
    refuse(sprintf("`interval = \"%s\"`", options$interval), allowed)
  }
}

check_one_latent <- function(fit, what) {
  k <- n_latents(fit)
  if (k == 1L || is_distributional(fit)) return(invisible())
  stop_galvi("argument", sprintf(paste(
    "%s is for one linear predictor; this fit has %d per observation. Use predict(type = \"link\", se.fit =",
    "TRUE): their posteriors are Gaussian."
  ), what, k))
}

#' A default that lists all choices means the first one
#' @noRd
first_choice <- function(x, choices, arg) {
  if (identical(x, choices)) choices[1L] else check_choice(x, choices, arg)
}

#' `interval`: lm()'s word "confidence" means a credible interval
#' @noRd
check_interval <- function(interval) {
  if (identical(interval, "confidence")) return("credible")
  first_choice(interval, c("none", "credible", "prediction"), "interval")
}

check_level <- function(level, arg = "level") {
  if (is.numeric(level) && length(level) == 1L && !is.na(level) && level > 0 && level < 1) return(level)
  stop_galvi("argument", sprintf(
    "`%s` must be a number between 0 and 1, not %s.", arg, describe(level)
  ))
}

# Values of the response, for the types that need them.
check_values_at <- function(at, type) {
  wanted <- c(survival = "times", cdf = "q")
  for (name in names(Filter(Negate(is.null), at))) {
    if (!identical(unname(wanted[type]), name)) {
      stop_galvi("argument", sprintf(
        "`%s` is for type = \"%s\", not \"%s\".", name, names(wanted)[wanted == name], type
      ))
    }
  }
  if (!type %in% names(wanted)) return(NULL)
  x <- at[[wanted[[type]]]]
  if (is.numeric(x) && length(x) && !anyNA(x)) return(as.numeric(x))
  stop_galvi("argument", sprintf(
    "type = \"%s\" needs `%s`, values of the response without NA, not %s.", type, wanted[[type]], describe(x)
  ))
}

check_probs <- function(probs) {
  usable <- is.numeric(probs) && length(probs)
  bad <- if (usable) is.na(probs) | probs <= 0 | probs >= 1
  if (usable && !any(bad)) return(probs)
  found <- describe(if (usable) probs[bad][1L] else probs)
  stop_galvi("argument", sprintf("`probs` must be probabilities between 0 and 1, not %s.", found))
}

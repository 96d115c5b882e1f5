# Unit deviances: function(y, mu, w) giving w times 2 (l_saturated - l), without the dispersion.

#' NULL where the family has none
#' @noRd
unit_deviance <- function(fit) {
  own <- unit_deviances()[[fit$family$family]]
  if (!is.null(own)) return(own(fit))
  if (!is.null(fit$family$dev.resids)) return(fit$family$dev.resids)
  # of the name's family in base R
  base <- get0(fit$family$family, envir = asNamespace("stats"), mode = "function", inherits = FALSE)
  if (!is.null(base)) base()$dev.resids
}

# Families that base R does not have: function(fit) giving the function.
unit_deviances <- function() {
  list(
    exponential = function(fit) stats::Gamma()$dev.resids,
    negbinomial = function(fit) {
      size <- family_parameter(fit, "size")
      function(y, mu, w) 2 * w * (y * log(pmax(1, y) / mu) - (y + size) * log((y + size) / (mu + size)))
    },
    laplace = function(fit) {
      scale <- family_parameter(fit, "scale")
      function(y, mu, w) 2 * w * abs(y - mu) / scale
    },
    student = function(fit) {
      df <- family_parameter(fit, "df")
      scale <- family_parameter(fit, "scale")
      function(y, mu, w) w * (df + 1) * log1p(((y - mu) / scale)^2 / df)
    },
    beta_family = function(fit) {
      precision <- family_parameter(fit, "precision")
      function(y, mu, w) {
        log_density <- function(mu) stats::dbeta(y, mu * precision, (1 - mu) * precision, log = TRUE)
        2 * w * (log_density(beta_mode(y, precision)) - log_density(mu))
      }
    }
  )
}

#' The mean that makes y most probable: logit(y) = digamma(mu precision) - digamma((1 - mu) precision), whose
#' right side rises with mu
#' @noRd
beta_mode <- function(y, precision) {
  low <- high <- stats::qlogis(y)
  excess <- function(eta) {
    digamma(stats::plogis(eta) * precision) - digamma(stats::plogis(-eta) * precision) - stats::qlogis(y)
  }
  step <- 1
  while (any(bad <- excess(low) > 0)) low[bad] <- low[bad] - (step <- 2 * step)
  step <- 1
  while (any(bad <- excess(high) < 0)) high[bad] <- high[bad] + (step <- 2 * step)
  for (i in 1:60) {
    middle <- (low + high) / 2
    above <- excess(middle) > 0
    high[above] <- middle[above]
    low[!above] <- middle[!above]
  }
  stats::plogis((low + high) / 2)
}

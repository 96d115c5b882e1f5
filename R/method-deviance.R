# Unit deviances: w times 2 (l_saturated - l), without the dispersion.

#' The unit deviance of a family, NULL if it has none
#' @return list(logs; deviance: function(y, mean, w)). `mean` is a list of `mu` and, if `logs` names them, `log_mean` =
#'   log(mu) and `log_rest` = log(1 - mu), which are accurate if mu overflows or is close to 0 or 1; and, where a second
#'   parameter has a linear predictor, `second`, its value in each row.
#' @noRd
unit_deviance <- function(fit) {
  if (is_custom(fit$family)) return(NULL)
  own <- unit_deviances()[[fit$family$family]]
  if (!is.null(own)) return(list(logs = own$logs, deviance = own$deviance(fit)))
  theirs <- fit$family$dev.resids
  # that of the family of the same name in base R
  base <- get0(fit$family$family, envir = asNamespace("stats"), mode = "function", inherits = FALSE)
  if (is.null(theirs) && !is.null(base)) theirs <- base()$dev.resids
  if (!is.null(theirs)) list(deviance = function(y, mean, w) theirs(y, mean$mu, w))
}

#' An entry per family, with a function(fit) that returns the deviance function
#' @noRd
unit_deviances <- function() {
  entry <- function(deviance, logs = character()) list(logs = logs, deviance = deviance)
  # y log(y / mu)
  part <- function(y, log_mu) ifelse(y > 0, y * (log(y) - log_mu), 0)
  gamma <- entry(logs = "log_mean", function(fit) {
    function(y, mean, w) {
      d <- log(y) - mean$log_mean
      2 * w * (expm1(d) - d)
    }
  })
  list(
    binomial = entry(logs = c("log_mean", "log_rest"), function(fit) {
      function(y, mean, w) 2 * w * (part(y, mean$log_mean) + part(1 - y, mean$log_rest))
    }),
    poisson = entry(logs = "log_mean", function(fit) {
      function(y, mean, w) {
        d <- log(y) - mean$log_mean
        2 * w * ifelse(y > 0, y * (d + expm1(-d)), mean$mu)
      }
    }),
    Gamma = gamma,
    exponential = gamma,
    inverse.gaussian = entry(logs = "log_mean", function(fit) {
      function(y, mean, w) w * expm1(log(y) - mean$log_mean)^2 / y
    }),
    tweedie = entry(logs = "log_mean", function(fit) {
      down <- fit$family$options$power - 1
      up <- 1 - down
      function(y, mean, w) {
        d <- mean$log_mean - log(y)
        2 * w * ifelse(y > 0, y^up * (expm1(-down * d) / down + expm1(up * d) / up), exp(up * mean$log_mean) / up)
      }
    }),
    negbinomial = entry(logs = "log_mean", function(fit) {
      function(y, mean, w) {
        size <- deviance_parameter(fit, "size", mean)
        # log(mu + size)
        log_sum <- pmax(mean$log_mean, log(size)) + log1p(exp(-abs(mean$log_mean - log(size))))
        2 * w * (part(y, mean$log_mean) - (y + size) * (log(y + size) - log_sum))
      }
    }),
    laplace = entry(function(fit) {
      function(y, mean, w) 2 * w * abs(y - mean$mu) / deviance_parameter(fit, "scale", mean)
    }),
    student = entry(function(fit) {
      function(y, mean, w) {
        df <- deviance_parameter(fit, "df", mean)
        w * (df + 1) * log1p(((y - mean$mu) / deviance_parameter(fit, "scale", mean))^2 / df)
      }
    }),
    beta_family = entry(logs = c("log_mean", "log_rest"), function(fit) {
      function(y, mean, w) {
        precision <- deviance_parameter(fit, "precision", mean)
        log_gamma <- function(log_a) ifelse(log_a < -30, -log_a, lgamma(exp(log_a)))
        log_density <- function(log_mu, log_rest) {
          a <- log(precision) + log_mu
          b <- log(precision) + log_rest
          exp(a) * log(y) + exp(b) * log1p(-y) - log_gamma(a) - log_gamma(b)
        }
        best <- beta_mode(y, precision)
        2 * w * (log_density(stats::plogis(best, log.p = TRUE), stats::plogis(-best, log.p = TRUE)) -
          log_density(mean$log_mean, mean$log_rest))
      }
    })
  )
}

#' A parameter of the family: its estimate, or its posterior mean in each row if it has a linear predictor
#' @noRd
deviance_parameter <- function(fit, name, mean) {
  predicted <- family_type(fit$family)$dpars[names(fit$design$others)]
  replaced <- vapply(predicted, function(dpar) name %in% dpar$replaces, NA)
  if (any(replaced)) mean$others[, which(replaced)] else family_parameter(fit, name)
}

#' The logit of the mean mu that maximises the density of y. It solves logit(y) = digamma(mu precision) -
#' digamma((1 - mu) precision), whose right side increases with mu.
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
  (low + high) / 2
}

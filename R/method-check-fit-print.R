# What check_fit() found, in words.

check_words <- function(x) {
  if (x$k == -Inf) return("The posterior is Gaussian, so the fit is exact.")
  c(k_words(x), mean_words(x), own_words(x))
}

k_words <- function(x) {
  if (is.na(x$k)) return("k cannot be estimated from these draws: take more.")
  if (x$k < 0.5) {
    return("k is below 0.5: the estimates by importance sampling are reliable.")
  }
  if (x$k < x$threshold) {
    return("k is usable: the Gaussian differs from the posterior, and the corrected moments show where.")
  }
  # as with a student likelihood: the posterior has heavier tails than q, with little mass in them
  if (x$ess > 0.95 * x$draws) {
    return(paste(
      "k is large although the weights hardly differ: their tail is heavy but has little mass. The Gaussian is",
      "accurate where the posterior has its mass."
    ))
  }
  paste0(
    if (x$k < 1) "k is too large: the corrected moments are rough. " else {
      "k is above 1: the corrected moments are not reliable. "
    },
    if (x$dimension > 20) {
      sprintf(
        "It refers to %s latent values jointly, so small errors add up; marginals may still be accurate.",
        format(x$dimension, big.mark = ",")
      )
    } else {
      "Try more draws."
    }
  )
}

#' The largest shift of a mean, in posterior sds of the fit, where it is, and the range of the ratios of sds
#' @param kind "corrected" or "own": the columns of `latent` to compare with the fit's.
#' @noRd
against_fit <- function(latent, kind) {
  shift <- abs(latent[[paste0(kind, "_mean")]] - latent$mean) / latent$sd
  at <- which.max(shift)
  list(at = at, shift = shift[at], ratio = range(latent$sd / latent[[paste0(kind, "_sd")]]))
}

mean_words <- function(x) {
  if (is.na(x$k) || x$k >= 1 && x$ess <= 0.95 * x$draws) return(NULL)
  found <- against_fit(x$latent, "corrected")
  sprintf(
    paste(
      "The correction changes posterior means of eta %s posterior sd (%s; Monte Carlo error %s). The posterior sds",
      "of the fit are %.2f to %.2f times the corrected ones."
    ),
    up_to(found$shift), where_words(x$latent, found$at),
    two_digits(x$latent$noise[found$at] / x$latent$sd[found$at]), found$ratio[1L], found$ratio[2L]
  )
}

own_words <- function(x) {
  if (all(is.na(x$latent$own_mean))) return(NULL)
  found <- against_fit(x$latent, "own")
  sprintf(
    paste(
      "The exact likelihood of one observation at a time changes its posterior mean %s posterior sd (%s); the",
      "posterior sds of the fit are %.2f to %.2f times those with it."
    ),
    up_to(found$shift), where_words(x$latent, found$at), found$ratio[1L], found$ratio[2L]
  )
}

up_to <- function(x) if (x < 0.001) "by less than 0.001" else paste("by up to", two_digits(x))

where_words <- function(latent, at) {
  paste0("row ", quote_row_names(latent$row)[at], if (!is.na(latent$latent[at])) paste0(", ", latent$latent[at]))
}

two_digits <- function(x) format(x, digits = 2L)

#' @export
print.check_fit <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.check_fit)
  values <- if (x$dimension > 1) " latent values" else " latent value"
  cat("Accuracy of the Gaussian posterior: ", x$family, ", ", x$dimension, values, "\n", sep = "")
  print_wrapped(deparse_one(x$formula), 4L)
  cat("\n")
  if (x$k > -Inf || is.na(x$k)) {
    print_wrapped(sprintf(
      "Pareto k: %s (usable below %s), from %s draws; effective number of draws: %s.", two_digits(x$k),
      two_digits(x$threshold), format(x$draws, big.mark = ","), format(round(x$ess), big.mark = ",")
    ))
    print_wrapped(sprintf(
      "Log evidence: %s (se %s); bound: %s; divergence: %s.",
      format(x$log_evidence, digits = max(digits, 6L)), two_digits(x$se),
      format(x$elbo, digits = max(digits, 6L)), two_digits(x$divergence)
    ))
    cat("\n")
  }
  for (sentence in x$reading) print_wrapped(sentence)
  invisible(x)
}

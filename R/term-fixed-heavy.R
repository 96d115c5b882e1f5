# Heavy-tailed priors of fixed effects. The core takes each as a row after those of data, whose eta is the coefficient
# and whose likelihood is the prior (src/likelihood/coefficient_priors.h), on a flat prior. A full process has N x N
# matrices, which flat priors do not have: there the coefficient is normal with 30 times the scale, and the row's density
# is divided by that of this normal. Both are the same model.

heavy_base <- 30

#' Registers the standard deviations of the normal priors beneath -> their positions
#'
#' They are an array, so that users do not see them among hyperparameters.
#' @noRd
heavy_bases <- function(priors, spec, registry, proper) {
  if (!length(priors)) return(integer())
  sd <- if (isTRUE(proper)) heavy_base * vapply(priors, `[[`, 0, "scale") else rep(Inf, length(priors))
  owner <- if (is.null(spec$parameter)) "fixed" else paste0(parameter_prefix(spec$parameter), "fixed")
  as.vector(registry$add(
    owner, "base", list(value = array(sd, length(sd)), learned = FALSE, prior = NULL), 0, Inf, term = fixed_label
  ))
}

#' The rows of these priors
#'
#' @param at_means Is the intercept's prior that of the predictor at the means of the columns?
#' @return A list of list(W: the coefficient as a function of the coded columns' coefficients; type, location, scale, df;
#'   base_sd), NULL without any.
#' @noRd
heavy_rows <- function(priors, spec, at_means, proper) {
  heavy <- which(vapply(priors, is_heavy, NA))
  if (!length(heavy)) return(NULL)
  coding <- or_else(spec$coding, as_they_are(length(priors)))
  lapply(heavy, function(j) {
    own <- heavy_prior(priors[[j]])
    W <- if (spec$assign[j] == 0L && at_means) coding$B[j, ] else coding$A[j, ]
    c(list(W = as.numeric(W), base_sd = if (isTRUE(proper)) heavy_base * own$scale else 0), own)
  })
}

#' The model list's `prior_rows`
#' @noRd
rows_of_priors <- function(built, design, control, likelihood, table) {
  rows <- unlist(lapply(seq_along(built), function(k) {
    lapply(built[[k]]$fixed$prior_rows, c, list(latent = k, design = k, term = 1L))
  }), recursive = FALSE)
  if (!length(rows)) return(NULL)
  noise <- table$value[likelihood$hyper$variance]
  several <- is.null(design$parts$others) || !length(design$parts$others)
  why <- if (!is.null(design$wide)) {
    "responses() of several columns"
  } else if (ncol(design$offset) > 1L && several) {
    "families with a linear predictor for each class"
  } else if (!is.null(design$stream)) {
    "rows that are not in memory"
  } else if (!is.null(control$cluster)) {
    "rows on a cluster"
  } else if (is_fitc(design$parts$specs)) {
    "approximation = \"fitc\""
  } else if (length(noise) == 1L && noise == 0 && likelihood$type == "gaussian") {
    "a gaussian response without noise"
  }
  if (is.null(why)) return(rows)
  stop_galvi("prior", sprintf(
    "Priors of coefficients with heavy tails, such as %s(), do not combine with %s: use normal().", rows[[1L]]$type, why
  ))
}

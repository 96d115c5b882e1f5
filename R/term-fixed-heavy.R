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
  sd <- if (isTRUE(proper)) {
    heavy_base * vapply(priors, function(prior) heavy_prior(prior)$scale, 0)
  } else rep(Inf, length(priors))
  owner <- if (is.null(spec$parameter)) "fixed" else paste0(parameter_prefix(spec$parameter), "fixed")
  as.vector(registry$add(
    owner, "base", list(value = array(sd, length(sd)), learned = FALSE, prior = NULL), 0, Inf, term = fixed_label
  ))
}

#' Registers the numbers that coefficients of one horseshoe() share: tau, the scale of all, and c, the slab's sd
#'
#' @return For each prior NULL or list(global, slab: positions), without `slab` where there is none.
#' @noRd
horseshoe_hyper <- function(priors, spec, registry) {
  known <- unique(Filter(is_horseshoe, priors))
  hyper <- lapply(seq_along(known), function(i) {
    own <- known[[i]]
    owner <- paste0("horseshoe", if (i > 1L) i)
    if (!is.null(spec$parameter)) owner <- paste0(parameter_prefix(spec$parameter), owner)
    add <- function(parameter, scale, prior) {
      start <- if (is_fixed(scale)) {
        list(value = scale$value, learned = FALSE, prior = NULL)
      } else list(value = scale, learned = TRUE, prior = c(prior(scale), list(quantity = "sd")))
      value <- start$value
      registry$add(owner, parameter, start, lower = 1e-4 * value, upper = 1e4 * value, term = fixed_label, sd = TRUE)
    }
    c(
      list(global = add("global", own$scale_global, function(scale) {
        list(type = "half_student_t", df = own$df_global, scale = scale)
      })),
      # 1 / c^2 is gamma
      if (!identical(own$scale_slab, Inf)) {
        list(slab = add("slab", own$scale_slab, function(scale) {
          list(type = "gamma_prior", shape = own$df_slab / 2, rate = own$df_slab / 2 * scale^2)
        }))
      }
    )
  })
  lapply(priors, function(prior) if (is_horseshoe(prior)) hyper[[match(list(prior), known)]])
}

#' The rows of these priors
#'
#' @param at_means Is the intercept's prior that of the predictor at the means of the columns?
#' @return A list of list(W: the coefficient as a function of the coded columns' coefficients; type, location, scale, df;
#'   base_sd; hyper: of a horseshoe()), NULL without any.
#' @noRd
heavy_rows <- function(priors, spec, at_means, proper, registry) {
  heavy <- which(vapply(priors, is_heavy, NA))
  if (!length(heavy)) return(NULL)
  coding <- or_else(spec$coding, as_they_are(length(priors)))
  hyper <- horseshoe_hyper(priors, spec, registry)
  lapply(heavy, function(j) {
    own <- heavy_prior(priors[[j]])
    W <- if (spec$assign[j] == 0L && at_means) coding$B[j, ] else coding$A[j, ]
    c(list(W = as.numeric(W), base_sd = if (isTRUE(proper)) heavy_base * own$scale else 0, hyper = hyper[[j]]), own)
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

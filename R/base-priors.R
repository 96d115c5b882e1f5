# Priors by the names that Stan, brms and rstanarm have for them, also as text.

#' @rdname priors
#' @export
student_t <- function(df = 3, location = 0, scale = 1) {
  new_value(
    "student_t", df = prior_number(df, "df"), location = prior_location(location), scale = prior_number(scale, "scale")
  )
}

#' @rdname priors
#' @export
cauchy <- function(location = 0, scale = 1) {
  new_value("cauchy", location = prior_location(location), scale = prior_number(scale, "scale"))
}

#' @rdname priors
#' @export
double_exponential <- function(location = 0, scale = 1) {
  new_value("double_exponential", location = prior_location(location), scale = prior_number(scale, "scale"))
}

#' @rdname priors
#' @export
horseshoe <- function(df = 1, scale_global = 1, df_global = 1, scale_slab = 2, df_slab = 4) {
  df <- prior_number(df, "df")
  if (df < 0.1 || df > 1e6) {
    stop_galvi("prior", sprintf("`df` of horseshoe() must lie between 0.1 and 1e6, not %s.", format(df)))
  }
  # without a slab
  slab <- if (identical(scale_slab, Inf)) Inf else scale_or_fixed(scale_slab, "scale_slab")
  new_value(
    "horseshoe", df = df, scale_global = scale_or_fixed(scale_global, "scale_global"),
    df_global = prior_number(df_global, "df_global"), scale_slab = slab, df_slab = prior_number(df_slab, "df_slab")
  )
}

# The scale of a learned number's prior, or fixed() of the number itself.
scale_or_fixed <- function(x, arg) {
  if (!is_value(x)) return(prior_number(x, arg))
  if (is_fixed(x) && length(x$value) == 1L) return(fixed(prior_number(x$value, arg)))
  stop_galvi("prior", sprintf("`%s` must be a positive number, or fixed() of one, not %s.", arg, format(x)))
}

#' @rdname priors
#' @export
half_student_t <- function(df = 3, scale = 1) {
  new_value("half_student_t", df = prior_number(df, "df"), scale = prior_number(scale, "scale"))
}

#' @rdname priors
#' @export
half_cauchy <- function(scale = 1) new_value("half_cauchy", scale = prior_number(scale, "scale"))

# A positive number between 1e-100 and 1e100, whose square is a number too.
prior_number <- function(x, arg) {
  x <- check_number(x, arg, 0, open_lower = TRUE, what = "prior")
  if (x > 1e100 || x < 1e-100) {
    stop_galvi("prior", sprintf("`%s` must lie between 1e-100 and 1e100, not %s.", arg, format(x)))
  }
  x
}

prior_location <- function(x) {
  x <- check_number(x, "location", what = "prior")
  if (abs(x) > 1e100) stop_galvi("prior", sprintf("`location` must lie between -1e100 and 1e100, not %s.", format(x)))
  x
}

# ---- of coefficients ----

# Priors on the whole line, which are for coefficients; cut at 0, for standard deviations and other positive numbers.
coefficient_priors <- c("normal", "student_t", "cauchy", "double_exponential", "logistic", "horseshoe")

#' Is it a prior of coefficients?
#' @noRd
is_coefficient_prior <- function(x) is_value(x) && x$type %in% coefficient_priors

#' Is it a prior of coefficients with heavier tails than a normal?
#' @noRd
is_heavy <- function(x) is_coefficient_prior(x) && !is_normal(x)

is_horseshoe <- function(x) inherits(x, "galvi_horseshoe")

#' A heavy-tailed prior as the core knows it: list(type, location, scale, df)
#'
#' The core has tau and c of a horseshoe() in its table; here its scale is one that few coefficients exceed.
#' @noRd
heavy_prior <- function(x) {
  if (is_horseshoe(x)) {
    widest <- if (identical(x$scale_slab, Inf)) x$scale_global else x$scale_slab
    return(list(type = "horseshoe", location = 0, scale = if (is_fixed(widest)) widest$value else widest, df = x$df))
  }
  if (x$type == "cauchy") x <- student_t(1, x$location, x$scale)
  c(list(type = x$type, location = x$location, scale = x$scale), if (!is.null(x$df)) list(df = x$df))
}

#' The log density of a coefficient's prior, which has no learned numbers
#' @noRd
log_prior_density <- function(x, at) {
  z <- if (is_normal(x)) (at - x$mean) / x$sd else (at - x$location) / x$scale
  switch(x$type,
    normal = stats::dnorm(z, log = TRUE) - log(x$sd),
    student_t = stats::dt(z, x$df, log = TRUE) - log(x$scale),
    cauchy = stats::dcauchy(z, log = TRUE) - log(x$scale),
    double_exponential = -abs(z) - log(2 * x$scale),
    logistic = stats::dlogis(z, log = TRUE) - log(x$scale)
  )
}

#' Draws of standard deviations, given which a coefficient's prior is normal around its location
#'
#' @param global,slab The n values of those numbers of a horseshoe().
#' @noRd
mixing_sds <- function(x, n, global = NULL, slab = Inf) {
  switch(x$type,
    normal = rep(x$sd, n),
    student_t = x$scale * sqrt(x$df / stats::rchisq(n, x$df)),
    cauchy = x$scale / sqrt(stats::rchisq(n, 1)),
    horseshoe = 1 / sqrt(1 / (global * stats::rt(n, x$df))^2 + 1 / slab^2),
    double_exponential = x$scale * sqrt(2 * stats::rexp(n)),
    # the sum of double exponentials of scales 1, 1/2, 1/3, ..
    logistic = x$scale * sqrt(2 * rowSums(matrix(stats::rexp(200 * n), n) %*% diag(1 / seq_len(200)^2)))
  )
}

#' The prior of a positive number: one of the whole line is cut at 0
#'
#' @return x itself where it is none of these.
#' @noRd
cut_at_zero <- function(x) {
  if (!is_coefficient_prior(x)) return(x)
  if (is_normal(x)) {
    if (!is.numeric(x$sd) || !is.finite(x$sd)) return(x)
    return(if (x$mean == 0) half_normal(x$sd) else new_value("truncated_normal", mean = x$mean, sd = x$sd))
  }
  if (is_horseshoe(x)) {
    stop_galvi("prior", paste(
      "horseshoe() is a prior of coefficients, not of a positive number: use half_normal(), half_student_t() or",
      "half_cauchy()."
    ))
  }
  if (x$location == 0) {
    own <- switch(x$type,
      student_t = half_student_t(x$df, x$scale), cauchy = half_cauchy(x$scale),
      double_exponential = new_value("exponential", rate = 1 / x$scale)
    )
    if (!is.null(own)) return(own)
  }
  df <- switch(x$type, student_t = x$df, cauchy = 1)
  if (is.null(df)) {
    stop_galvi("prior", sprintf(
      "%s cannot be the prior of a positive number: use half_normal(), half_student_t() or \"exponential(1)\".",
      format(x)
    ))
  }
  new_value("truncated_student_t", df = df, location = x$location, scale = x$scale)
}

#' The prior of `factor` times a number that has this one
#' @noRd
scaled_prior <- function(x, factor) {
  grows <- intersect(c("mean", "sd", "location", "scale", "upper", "lower", "value"), names(x))
  x[grows] <- lapply(x[grows], `*`, factor)
  if (!is.null(x$rate)) x$rate <- x$rate / factor
  if (!is.null(x$meanlog)) x$meanlog <- x$meanlog + log(factor)
  x
}

# ---- text ----

# The distributions that text may name, by the names of Stan and by ours: the prior from its numbers.
text_priors <- local({
  of_positive <- function(type, ...) {
    names <- c(...)
    function(...) {
      numbers <- stats::setNames(list(...), names)
      do.call(new_value, c(type, Map(prior_number, numbers, names)))
    }
  }
  lkj_of <- function(eta) lkj(eta)
  list(
    normal = function(mean, sd) normal(mean, sd), std_normal = function() normal(0, 1),
    student_t = function(df, location, scale) student_t(df, location, scale),
    cauchy = function(location, scale) cauchy(location, scale),
    double_exponential = function(location, scale) double_exponential(location, scale),
    laplace = function(location, scale) double_exponential(location, scale),
    horseshoe = function(df = 1, scale_global = 1, df_global = 1, scale_slab = 2, df_slab = 4, par_ratio = NULL,
                         autoscale = FALSE) {
      horseshoe_of_brms(df, scale_global, df_global, scale_slab, df_slab, par_ratio, autoscale)
    },
    hs = function(df = 1, global_df = 1, global_scale = 0.01, slab_df = 4, slab_scale = 2.5) {
      horseshoe(df, global_scale, global_df, slab_scale, slab_df)
    },
    logistic = function(location, scale) {
      new_value("logistic", location = prior_location(location), scale = prior_number(scale, "scale"))
    },
    half_normal = function(sd) half_normal(sd),
    half_student_t = function(df, scale) half_student_t(df, scale),
    half_t = function(df, scale) half_student_t(df, scale),
    half_cauchy = function(scale) half_cauchy(scale),
    exponential = function(rate) of_positive("exponential", "rate")(rate),
    gamma = function(shape, rate) of_positive("gamma", "shape", "rate")(shape, rate),
    inv_gamma = function(shape, scale) of_positive("inv_gamma", "shape", "scale")(shape, scale),
    lognormal = function(meanlog, sdlog) log_normal(meanlog, sdlog),
    log_normal = function(meanlog, sdlog) log_normal(meanlog, sdlog),
    pc = function(upper, prob) pc(upper, prob), pc_range = function(lower, prob) pc_range(lower, prob),
    gamma_prior = function(shape, rate) gamma_prior(shape, rate),
    lkj = lkj_of, lkj_corr = lkj_of, lkj_corr_cholesky = lkj_of,
    constant = function(value) fixed(value)
  )
})

# Priors that shrink many slopes at once, and others that galvi does not have.
shrinking_priors <- c("R2D2", "lasso", "hs_plus", "product_normal", "R2")

#' The horseshoe() that brms' call means, or an error where it means one in units of the response
#' @noRd
horseshoe_of_brms <- function(df, scale_global, df_global, scale_slab, df_slab, par_ratio, autoscale) {
  if (!is.null(par_ratio)) {
    stop_galvi("prior", sprintf(paste(
      "horseshoe(par_ratio = %s) depends on the number of rows: write scale_global = %s / sqrt(n), in a gaussian model",
      "times the residual sd."
    ), code_number(par_ratio), code_number(par_ratio)))
  }
  if (!identical(autoscale, FALSE)) {
    stop_galvi("prior", paste(
      "horseshoe(autoscale = TRUE) multiplies `scale_global` by the residual sd: galvi takes priors as typed, so write",
      "this product."
    ))
  }
  horseshoe(df, scale_global, df_global, scale_slab, df_slab)
}

#' A prior from its text, "student_t(3, 0, 2.5)", or from such a call
#' @noRd
prior_of_text <- function(text, shown) {
  call <- if (is.call(text)) text else tryCatch(str2lang(text), error = function(e) NULL)
  written <- if (is.call(text)) deparse_one(text) else text
  name <- head_name(call)
  make <- text_priors[[name]]
  if (is.null(make)) stop_unknown_prior(name, written, shown)
  wanted <- formals(make)
  needed <- names(wanted)[vapply(wanted, function(default) identical(default, quote(expr = )), NA)]
  x <- tryCatch(as.list(match.call(make, call))[-1L], error = function(e) NULL)
  x <- lapply(x, function(part) tryCatch(eval(part, list(fixed = fixed), baseenv()), error = function(e) NULL))
  fine <- vapply(x, function(one) {
    is_fixed(one) || (is.numeric(one) || is.logical(one)) && length(one) == 1L && !is.na(one)
  }, NA)
  if (length(x) != length(call) - 1L || !all(fine) || !all(needed %in% names(x))) {
    stop_galvi("prior", sprintf(
      "`%s` is %s, but %s() takes %s: write \"%s(%s)\".", shown, dQuote(written, FALSE), name,
      if (length(needed) < length(wanted)) {
        "numbers"
      } else switch(length(wanted) + 1L, "no numbers", "one number", "two numbers", "three numbers"), name,
      paste(names(wanted), collapse = ", ")
    ))
  }
  do.call(make, x)
}

stop_unknown_prior <- function(name, written, shown) {
  aliases <- c("std_normal", "laplace", "hs", "half_t", "log_normal", "lkj_corr", "lkj_corr_cholesky")
  known <- setdiff(names(text_priors), aliases)
  stop_galvi("prior", if (name %in% shrinking_priors) {
    sprintf(paste(
      "`%s`: galvi does not have %s(). For slopes of which most are near zero use \"horseshoe(1)\" or",
      "\"double_exponential(0, 0.5)\", or learn their sd, normal(0, learn(1))."
    ), shown, name)
  } else {
    sprintf("`%s` is %s, which is not a prior of galvi.%s The priors are %s.", shown, dQuote(written, FALSE),
      if (nzchar(name)) did_you_mean(name, known) else " Write text as in \"normal(0, 1)\".", quote_names(known))
  })
}

#' The prior as text in Stan's words, as prior_of_text() reads it
#' @noRd
prior_text <- function(x) {
  if (is_normal(x) && identical(x$sd, Inf)) return("(flat)")
  name <- switch(x$type, log_normal = "lognormal", x$type)
  numbers <- Filter(is.numeric, unclass(x)[-1L])
  if (length(numbers) < length(unclass(x)) - 1L) return(format(x))
  sprintf("%s(%s)", name, paste(vapply(numbers, code_number, "", digits = 4L), collapse = ", "))
}

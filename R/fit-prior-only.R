# Fits without data: galvi(sample_prior = "only"). A state is the prior of the latent vector at hyperparameters that are
# drawn from theirs; heavy-tailed priors of coefficients are normal there, with a standard deviation that is drawn too.

#' The posterior of a model without its data, as galvi_infer() returns it, with `prior_only`, what was left as it was
#' @param model From galvi_model() of a design with `proper`.
#' @noRd
prior_posterior <- function(model) {
  check_proper_coefficients(model)
  control <- factorised(as_control(model$control))
  core <- core_model(model, "auto")
  heavy <- core$prior_rows
  hyper <- core$hyper
  drawn <- hyper$learned & !vapply(hyper$prior, is.null, NA)
  left <- unique(hyper$name[hyper$learned & !drawn & !in_array(hyper)])
  random <- any(drawn) || length(heavy) > 0L
  n <- if (!random) 1L else if (length(core$y) > 1000L) 50L else 200L
  values <- drawn_hyper(core, drawn, n)
  if (length(heavy)) {
    base <- grep("(^|_)fixed\\.base$", hyper$name)
    values[, base] <- vapply(heavy, function(row) {
      prior <- do.call(new_value, row[intersect(c("type", "df", "location", "scale"), names(row))])
      if (is.null(row$hyper)) return(mixing_sds(prior, n))
      mixing_sds(prior, n, values[, row$hyper$global], if (is.null(row$hyper$slab)) Inf else values[, row$hyper$slab])
    }, numeric(n))
    core["prior_rows"] <- list(NULL)
    core <- not_null(core)
  }
  core$weights[] <- 0
  core$hyper$learned[] <- FALSE
  states <- lapply(seq_len(n), function(s) {
    core$hyper$value <- values[s, ]
    result <- as_galvi_error(fit_model(core, "auto", "fixed", control))
    if (length(heavy)) {
      result$prior_rows <- lapply(stats::setNames(nm = c("alpha", "b", "lambda")), function(name) {
        matrix(0, length(heavy), ncol(core$offset))
      })
    }
    result
  })
  out <- states[[1L]]
  if (n > 1L) {
    out$hyper <- apply(values, 2L, stats::median)
    out$states <- lapply(states, function(state) {
      list(weight = 1 / n, posterior = not_null(state[posterior_parts]))
    })
  }
  out[c("converged", "message", "gap", "prior_only")] <- list(TRUE, "", NA_real_, list(left = left))
  new_step("galvi_infer", out)
}

#' Draws of hyperparameters from their priors: n x all
#' @noRd
drawn_hyper <- function(core, drawn, n) {
  hyper <- core$hyper
  out <- matrix(hyper$value, n, length(hyper$value), byrow = TRUE)
  learned <- which(hyper$learned)
  if (!any(drawn)) return(out)
  x <- matrix(unconstrained_values(hyper)[learned], n, length(learned), byrow = TRUE)
  for (h in which(drawn)) {
    own <- drawn_from_prior(hyper$prior[[h]], n)
    x[, match(h, learned)] <- switch(hyper$transform[h], log = log(own), atanh = , partial = atanh(own), own)
  }
  natural_hyper(core, hyper$value, x)
}

# The argument of each number's transform, on the line.
unconstrained_values <- function(hyper) {
  x <- transform_arguments(hyper$transform, hyper$value)
  low <- transform_ends(hyper$transform)$low
  vapply(seq_along(x), function(h) {
    switch(hyper$transform[h], log = , above = log(x[h]), atanh = , partial = atanh(x[h]),
      logit = , one_to_two = stats::qlogis(x[h] - low[h]), x[h])
  }, 0)
}

#' n draws of a hyperparameter, from its prior as the table has it
#' @noRd
drawn_from_prior <- function(prior, n) {
  half <- function(lowest, quantile) quantile(lowest + (1 - lowest) * stats::runif(n))
  sd <- identical(prior$quantity, "sd")
  out <- switch(prior$type,
    log_normal = exp(stats::rnorm(n, prior$meanlog, prior$sdlog)), half_normal = abs(stats::rnorm(n, 0, prior$sd)),
    half_student_t = prior$scale * abs(stats::rt(n, prior$df)), half_cauchy = prior$scale * abs(stats::rcauchy(n)),
    truncated_normal = half(stats::pnorm(0, prior$mean, prior$sd), function(u) stats::qnorm(u, prior$mean, prior$sd)),
    truncated_student_t = half(stats::pt(-prior$location / prior$scale, prior$df), function(u) {
      prior$location + prior$scale * stats::qt(u, prior$df)
    }),
    exponential = stats::rexp(n, prior$rate), gamma = stats::rgamma(n, prior$shape, prior$rate),
    inv_gamma = 1 / stats::rgamma(n, prior$shape, prior$scale),
    pc = stats::rexp(n, -log(prior$prob) / prior$upper)^(if (sd) 1 else 2),
    pc_range = 1 / stats::rexp(n, -log(prior$prob) * prior$lower),
    gamma_prior = stats::rgamma(n, prior$shape, prior$rate)^(if (sd) -1 / 2 else -1),
    lkj = 2 * stats::rbeta(n, prior$shape, prior$shape) - 1, normal = stats::rnorm(n, prior$mean, prior$sd)
  )
  if (identical(prior$quantity, "root")) out^2 else out
}

check_proper_coefficients <- function(model) {
  flat <- vapply(model$prior, function(p) identical(p$sd, Inf), NA)
  if (!any(flat)) return(invisible())
  stop_galvi("prior", sprintf(
    "`sample_prior = \"only\"`: the prior of %s is flat, and nothing can be drawn from it: give it a finite sd.",
    quote_names(names(model$prior)[flat])
  ))
}

prior_only_notes <- function(found) {
  several <- length(found$left) > 1L
  new_note("prior", paste0(
    "No observation was used: estimates, predictions and draws are those of the prior.",
    if (length(found$left)) sprintf(" %s %s no prior and %s at the starting value%s.", quote_names(found$left),
      if (several) "have" else "has", if (several) "stay" else "stays", if (several) "s" else "")
  ))
}

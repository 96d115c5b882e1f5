# Design -> model: the terms' priors, the hyperparameters and the likelihood.

#' What galvi_model() returns
#' @param held Are the hyperparameters held?
#' @noRd
build_model <- function(design, prior, start, expectation, held, control) {
  parts <- design$parts
  same_units <- link_has(design$family, "same_units")
  design$modelled <- if (same_units) design$y - design$offset[, 1L] else design$y / design$size
  registry <- new_registry()
  context <- c(
    model_context(design, registry),
    list(alone = !length(parts$specs), start = start, held = held, prior = prior),
    control[c("move_inducing", "inducing_jitter")]
  )
  context$has_intercept <- context$intercept && attr(parts$fixed, "intercept") == 1L
  fixed <- design_fixed(parts$fixed, design$data, context)
  check_prior_names(prior, c(fixed$known, unlist(lapply(parts$specs, basis_name))))
  built <- c(if (!is.null(fixed$term)) list(fixed), lapply(parts$specs, function(spec) {
    term_type(spec)$design(spec, design$data, context)
  }))
  if (!length(built)) {
    stop_galvi("formula", sprintf(
      "`%s` has no term: add an intercept, a column or gp().", deparse_one(design$formula)
    ))
  }
  likelihood <- family_likelihood(design$family, design, registry, held)
  model <- new_model_list(
    design, design$offset, designs = list(lapply(built, `[[`, "rows")),
    predictors = class_predictors(built, ncol(design$offset)), likelihood = likelihood,
    hyper = apply_start(registry$table(), start), expectation = expectation, pieces = control$pieces
  )
  priors <- structure(do.call(c, c(list(list()), lapply(built, `[[`, "priors"))), class = "galvi_priors")
  check_proper(priors, model, design)
  rows <- row_design(design, fixed, lapply(built, `[[`, "spec"))
  new_step("galvi_model", c(model, list(
    formula = design$formula, family = design$family, prior = priors, data = design$data, design = rows,
    control = control
  )))
}

# One prior that all K latent values share, or one for each where a kernel is per_class().
class_predictors <- function(built, K) {
  solver <- prior_solver(lapply(built, `[[`, "term"))
  count <- max(lengths(lapply(built, `[[`, "per_class")), 1L)
  lapply(seq_len(count), function(k) {
    list(
      terms = lapply(built, function(b) if (length(b$per_class)) b$per_class[[k]] else b$term),
      solver = solver, design = 1L, latents = if (count == 1L) seq_len(K) else k
    )
  })
}

# Terms without a common solver are refused.
prior_solver <- function(terms) {
  full <- Find(is_full_term, terms)
  sparse <- Find(function(term) !is.null(term$inducing), terms)
  if (!is.null(full) && !is.null(sparse)) {
    stop_galvi("formula", sprintf(
      "`%s` has `inducing` and `%s` has not: a full Gaussian process is N x N whatever stands beside it. %s",
      sparse$label, full$label, "Give `inducing` to all of them or to none."
    ))
  }
  choose_solver(vapply(terms, `[[`, "", "type"))
}

# What terms may know of the response: location and spread for default priors, default variance for kernels,
# how many rows each row counts as, the names of several latent values.
model_context <- function(design, registry) {
  type <- family_type(design$family)
  same_units <- link_has(design$family, "same_units")
  weights <- row_counts(design$weights)
  spread <- if (!same_units) {
    1
  } else if (type$robust) {
    robust_spread(design$modelled, weights)
  } else {
    sqrt(response_variance(design$modelled, weights))
  }
  list(
    registry = registry, weights = weights, default_variance = spread^2,
    centre = if (same_units) weighted_median(design$modelled, weights) else 0, spread = spread,
    latents = if (length(design$latents) > 1L) design$latents, intercept = type$intercept(design$family)
  )
}

check_proper <- function(priors, model, design) {
  flat <- vapply(priors, function(p) identical(p$sd, Inf), NA)
  if (!any(flat)) return(invisible())
  what <- if (is_full(model)) {
    "does not go with a full gp()"
  } else if (length(design$latents) && length(design$latents) == length(design$levels)) {
    "does not go with one latent value per class, of which only differences count: name a `refcat`"
  }
  if (is.null(what)) return(invisible())
  stop_galvi("prior", sprintf(
    "%s: a flat prior (sd = Inf) %s. Give a large sd instead.", quote_names(names(priors)[flat]), what
  ))
}

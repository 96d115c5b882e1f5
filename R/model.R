# Design -> model: the terms' priors, the hyperparameters and the likelihood.

#' What galvi_model() returns
#' @param proper Do heavy-tailed priors of coefficients stand on normal ones, which full processes need, and not on flat ones?
#' @param treatment How to treat the hyperparameters: the argument `hyper` of galvi().
#' @param absent From new_absent(): told of entries of `prior` that the model has nothing for.
#' @noRd
build_model <- function(design, prior, start, expectation, treatment, control, absent = new_absent(),
                        proper = isTRUE(design$proper)) {
  held <- treatment == "fixed"
  parts <- design$parts
  same_units <- link_has(design$family, "same_units")
  design$modelled <- if (same_units) design$y - design$offset[, 1L] else design$y / trials_of(design, design)
  design$exposure <- exposures(design$family, design$offset[, 1L], design$weights)
  others <- names(parts$others)
  columns_of <- function(part) attr(part$fixed, "term.labels")
  prior <- prior_of_residuals(prior, parts$specs)
  sorted <- c(
    list(sort_priors(
      prior[setdiff(names(prior), others)], parts$specs, labels_of_columns = columns_of(parts), absent = absent,
      design = design
    )),
    lapply(others, function(name) {
      own <- parts$others[[name]]
      sort_priors(prior[[name]], own$specs, parameter_prefix(name), columns_of(own), name, absent, design)
    })
  )
  specs <- all_specs(parts)
  typed <- new_typed(
    unlist(lapply(sorted, `[[`, "hyper"), recursive = FALSE),
    stats::setNames(vapply(specs, written_term, ""), vapply(specs, `[[`, "", "label")), absent
  )
  registry <- new_registry(typed)
  shared <- c(
    list(start = start, held = held, proper = proper, absent = absent),
    control[c("move_inducing", "inducing_jitter", "threads")]
  )
  factors <- factor_specs(specs)
  if (length(others) && length(factors)) {
    stop_galvi("formula", sprintf(
      "`%s` is for families with one linear predictor; this model has another one, of %s.", factors[[1L]]$label,
      others[1L]
    ))
  }
  contexts <- c(list(model_context(design, registry)), lapply(others, parameter_context, design, registry))
  built <- Map(function(part, context, sorted) {
    build_terms(part, design, c(context, shared, sorted_context(sorted)))
  }, unname(predictor_parts(parts)), contexts, sorted)
  likelihood <- family_likelihood(design$family, design, registry, held, others)
  table <- registry$table()
  noise <- contexts[[1L]]$noise
  if (isTRUE(noise$taken)) table$value[likelihood$hyper$variance] <- noise$variance
  find_absent_priors(sorted, lapply(built, `[[`, "known"), typed, names(design$data), absent)
  find_absent_rows(attr(prior, "table"), built, others, length(likelihood$hyper$thresholds) > 0L, absent)
  prior_rows <- rows_of_priors(built, design, control, likelihood, table)
  level <- numeric(length(table$value))
  level[likelihood$hyper$thresholds] <- start_level(start, built[[1L]]$fixed$spec$coding)
  terms <- lapply(built, `[[`, "terms")
  axes <- term_axes(lapply(unlist(terms, recursive = FALSE), `[[`, "term"))
  table <- weak_priors(table)
  model <- new_model_list(
    design, design$offset, designs = lapply(built, `[[`, "rows"),
    predictors = if (length(others)) {
      unlist(lapply(seq_along(terms), function(k) {
        lapply(class_predictors(terms[[k]], 1L), replace, c("design", "latents"), list(k, k))
      }), recursive = FALSE)
    } else {
      class_predictors(terms[[1L]], ncol(design$offset))
    },
    likelihood = likelihood, hyper = apply_start(table, start, level, axes), expectation = expectation,
    pieces = control$pieces, prior_rows = prior_rows
  )
  full <- any(vapply(seq_len(ncol(design$offset)), function(k) is_full(model, k), NA))
  if (length(prior_rows) && full && !proper) {
    return(build_model(design, prior, start, expectation, treatment, control, absent, proper = TRUE))
  }
  model <- start_unknown_factors(model, built[[1L]]$specs)
  model <- start_unknown_loadings(model, built[[1L]]$specs)
  priors <- structure(unlist(lapply(built, `[[`, "priors"), recursive = FALSE), class = "galvi_priors")
  check_proper(priors, model, design)
  # those of effects on other axes are no priors of what is printed
  added <- if (treatment == "integrate") {
    setdiff(which(!vapply(table$weak, is.null, NA)), unlist(lapply(axes, `[`, c("sd", "cor"))))
  }
  if (length(added)) priors <- with_hyper_priors(priors, table, added)
  priors <- structure(c(unclass(priors), typed$record()), class = "galvi_priors")
  new_step("galvi_model", c(model, list(
    formula = design$formula, family = design$family, prior = priors, data = design$data,
    design = row_design(design, built), control = control
  )))
}

#' The terms of one predictor
#' @return list(fixed: from design_fixed(); specs of all terms, completed from the data; terms: their designs; rows and
#'   priors of all terms).
#' @noRd
build_terms <- function(parts, design, context) {
  context$alone <- !length(parts$specs)
  context$has_intercept <- context$intercept && attr(parts$fixed, "intercept") == 1L
  fixed <- design_fixed(parts$fixed, design$data, context, parts$contrasts)
  if (length(factor_specs(parts$specs)) > 1L) {
    stop_galvi("formula", sprintf(
      "`%s` has two rr() terms: use one, with more factors (`d`).", deparse_one(parts$formula)
    ))
  }
  context$even_rows <- even_rows(design)
  context$share <- design$stream$share
  context$fixed_space <- fixed_space(fixed, nrow(design$data), context)
  context$default_variance <- variance_of_terms(fixed, design, context)
  context$smooths <- smooths_of(parts$specs, design$data, fixed, context)
  built <- c(if (!is.null(fixed$term)) list(fixed), lapply(parts$specs, function(spec) {
    design_term(spec, design$data, context)
  }))
  if (!length(built)) {
    stop_galvi("formula", sprintf(
      "`%s` has no terms: add an intercept, a variable or gp().", deparse_one(parts$formula)
    ))
  }
  built <- settle_chains(built, context)
  list(
    fixed = fixed, specs = lapply(built, `[[`, "spec"), terms = built, rows = lapply(built, `[[`, "rows"),
    known = c(fixed$known, unlist(lapply(parts$specs, basis_name))),
    priors = do.call(c, c(list(list()), lapply(built, `[[`, "priors")))
  )
}

#' The variance of the predictor that terms beside the fixed effects begin with, and that bounds what they may have
#'
#' Ten times what the columns leave of the response where that is less than the whole: a search from far above it ends at
#' the wrong variances of several terms, and a share of the whole may be more than there is.
#' @noRd
variance_of_terms <- function(fixed, design, context) {
  most_rows <- 2000
  whole <- context$default_variance
  nothing <- context$alone || is.null(fixed$term) || !is.null(context$parameter)
  if (nothing || !link_has(design$family, "same_units")) return(whole)
  y <- as.numeric(design$modelled)
  at <- spread_rows(length(y), most_rows)
  root <- sqrt(context$weights[at])
  fit <- stats::.lm.fit(root * cbind(1, fixed$rows$W[at, , drop = FALSE]), root * y[at])
  left <- sum(fit$residuals^2) / sum(context$weights[at]) * length(at) / max(1, length(at) - fit$rank)
  if (2 * fit$rank > length(at) || !is.finite(left) || left <= 0) whole else min(whole, 10 * left)
}

# Of sort_priors(): what terms read.
sorted_context <- function(sorted) list(prior = sorted$coefficients, group_prior = sorted$groups)

# One prior that all K latent values share, or one for each if a kernel is per_class().
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

# The solver for these terms; an error if they have none in common.
prior_solver <- function(terms) {
  full <- Find(is_full_term, terms)
  for (saving in c("inducing", "neighbours")) {
    sparse <- Find(function(term) !is.null(term[[saving]]), terms)
    if (is.null(full) || is.null(sparse)) next
    stop_galvi("formula", sprintf(paste(
      "`%s` has `%s` and `%s` does not: a full Gaussian process needs N x N matrices, so `%s` saves nothing beside it.",
      "Give `%s` to all of them or to none."
    ), sparse$label, saving, full$label, saving, saving))
  }
  choose_solver(vapply(terms, `[[`, "", "type"))
}

# What terms may know about the response: location and scale for default priors, the default variance for kernels, the
# weights of rows, and the names of several latent values.
model_context <- function(design, registry) {
  weights <- rows_counted(design)
  scale <- predictor_scale(design, weights)
  list(
    registry = registry, weights = weights, default_variance = scale$spread^2, centre = scale$centre,
    spread = scale$spread,
    latents = if (length(design$latents) > 1L && !length(design$parts$others)) design$latents,
    intercept = family_type(design$family)$intercept(design$family), dispersion = known_dispersion(design),
    noise = noise_to_take(design, scale$spread), responses = scales_of_responses(design, weights)
  )
}

# Of a response without noise, each row may have an effect of its own: noise of this part of the variance is then taken
# out of the effects' structure and left to the rows, which gives the same model. Less costs digits (1e-7: a log
# likelihood to 1e-7, and learning that does not settle at a tolerance of 1e-9); more could exceed the smallest eigenvalue
# of a covariance.
noise_share <- 1e-5

#' @return NULL where the response has noise or rows have weights, or an environment with the variance and whether a term
#'   has `taken` it
#' @noRd
noise_to_take <- function(design, spread) {
  held <- design$family$parameters$variance
  if (!identical(design$family$family, "gaussian") || !is_fixed(held) || held$value != 0) return(NULL)
  if (any(design$weights != 1)) return(NULL)
  list2env(list(variance = noise_share * spread^2, taken = FALSE), parent = emptyenv())
}

#' The scale of the predictor, of which default priors and kernels are made, as its family states it, else its link
#' @return list(centre: a typical value; spread: of its values. A constant has the prior sd 10 spread)
#' @noRd
predictor_scale <- function(design, weights) {
  own <- family_type(design$family)$scale
  scale <- if (is.null(own)) link_types[[design$family$link]]$scale else own
  if (is.null(scale) || length(design$levels)) return(list(centre = 0, spread = 1))
  scale(design$modelled, design$offset[, 1L], weights)
}

#' How many rows each row counts for in moments: trials count as rows of one trial
#' @noRd
rows_counted <- function(design) {
  if (!is.null(design$counted)) return(design$counted)
  trials <- if (weights_divide(design$family, !is.null(design$survival))) 1 else design$size
  row_counts(design$weights * trials)
}

# The same for another parameter. Its link is never the identity, so its scale is 1; the logarithm of a standard
# deviation of y is centred at that of y's scale.
parameter_context <- function(name, design, registry) {
  weights <- rows_counted(design)
  in_units <- name == "sigma" && (link_has(design$family, "same_units") || is_noise_of_mean(design$family))
  own <- family_type(design$family)$dpars[[name]]
  list(
    registry = registry, weights = weights, default_variance = 1,
    centre = (if (in_units) log(response_spread(design, weights)) else 0) +
      own$per_weight * log(common_weight(design$family, design)), spread = 1,
    latents = NULL, intercept = own$intercept(design$family), parameter = name, dispersion = 1
  )
}

# The scale of the response, in which a standard deviation of it is measured.
response_spread <- function(design, weights) {
  if (link_has(design$family, "same_units")) return(predictor_scale(design, weights)$spread)
  sqrt(variance_about(design$modelled, weights, relative(design$exposure, weights)))
}

# Is the noise a variance of the response, whatever the link of the mean?
is_noise_of_mean <- function(family) isTRUE(family_type(family)$parameters$variance$variance)

#' What divides the smoothing parameters of mgcv: 1 in families whose weights multiply the log likelihood; NULL where it
#' is learned or predicted
#' @noRd
known_dispersion <- function(design) {
  if (!weights_divide(design$family, !is.null(design$survival))) return(1)
  parameters <- family_type(design$family)$parameters
  power <- vapply(parameters, function(parameter) or_else(parameter$per_weight, 0), 0)
  name <- names(parameters)[power != 0][1L]
  given <- if (!is.na(name)) design$family$parameters[[name]]
  if (length(design$parts$others) || !is_fixed(given)) return(NULL)
  given$value^power[[name]]
}

check_proper <- function(priors, model, design) {
  flat <- vapply(priors, function(p) identical(p$sd, Inf), NA)
  if (!any(flat)) return(invisible())
  what <- if (is_full(model)) {
    "cannot be combined with a full gp()"
  } else if (length(design$latents) && length(design$latents) == length(design$levels)) {
    "is improper with one latent value per class and no `refcat`, because only their differences are identified"
  }
  if (is.null(what)) return(invisible())
  stop_galvi("prior", sprintf(
    "%s: a flat prior (sd = Inf) %s. Use a large sd instead.", quote_names(names(priors)[flat]), what
  ))
}

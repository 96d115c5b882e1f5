# Formula parts + data -> design (how rows of data become rows of the model) and the border's `model` list.

#' Formula parts, frame and family -> list(design, model, prior)
#'
#' The design holds what new rows need: the frame's terms, factor levels, each term's facts. Nothing in it
#' grows with N.
#' @param settings list(expectation, control, start, held: are the hyperparameters held?), each with a
#'   default.
#' @noRd
build_model <- function(parsed, frame, family, prior = NULL, args = list(), settings = list()) {
  control <- if (is.null(settings$control)) galvi_control() else settings$control
  name <- variable_name(parsed$response)
  response <- family_response(family, stats::model.response(frame), stats::model.weights(frame), name)
  response$latents <- family_type(family)$latents(response$levels, family)
  offset <- frame_offset(frame, response$latents)
  identity <- family$link == "identity"
  response$modelled <- if (identity) response$y - offset[, 1L] else response$y / response$size
  registry <- new_registry()
  context <- c(
    model_context(family, response, registry),
    list(
      alone = !length(parsed$specs), start = settings$start, held = isTRUE(settings$held),
      prior = as_prior_list(prior)
    ),
    control[c("move_inducing", "inducing_jitter")]
  )
  context$has_intercept <- context$intercept && attr(parsed$fixed, "intercept") == 1L
  fixed <- design_fixed(parsed$fixed, frame, context)
  check_prior_names(context$prior, c(fixed$known, unlist(lapply(parsed$specs, basis_name))))
  built <- c(if (!is.null(fixed$term)) list(fixed), lapply(parsed$specs, function(spec) {
    term_types()[[spec$type]]$design(spec, frame, context)
  }))
  if (!length(built)) {
    stop_galvi("formula", sprintf(
      "`%s` has no term: add an intercept, a column or gp().", deparse_one(parsed$formula)
    ))
  }
  likelihood <- family_likelihood(family, response, registry, isTRUE(settings$held))
  solver <- choose_solver(built)
  design <- new_design(parsed, frame, family, args, fixed, lapply(built, `[[`, "spec"), response)
  model <- new_model_list(
    response, offset,
    designs = list(lapply(built, `[[`, "rows")), predictors = class_predictors(built, solver, ncol(offset)),
    likelihood = likelihood, hyper = apply_start(registry$table(), settings$start),
    expectation = if (is.null(settings$expectation)) "auto" else settings$expectation, pieces = control$pieces
  )
  priors <- structure(do.call(c, c(list(list()), lapply(built, `[[`, "priors"))), class = "galvi_priors")
  check_proper(priors, solver == "dense_kernel", likelihood$constants)
  list(design = design, model = model, prior = priors)
}

# A full covariance makes the sum of all terms one; else Markov fields keep it sparse.
choose_solver <- function(built) {
  types <- vapply(built, function(b) b$term$type, "")
  if (all(c("kernel", "inducing") %in% types)) {
    label <- function(type) built[[match(type, types)]]$term$label
    stop_galvi("formula", sprintf(
      "`%s` has `inducing` and `%s` has not: a full Gaussian process is N x N whatever stands beside it. %s",
      label("inducing"), label("kernel"), "Give `inducing` to all of them or to none."
    ))
  }
  if ("kernel" %in% types) "dense_kernel" else if ("field" %in% types) "sparse" else "projected"
}

# One prior that all K latent values share, or one for each where a kernel is per_class().
class_predictors <- function(built, solver, K) {
  count <- max(lengths(lapply(built, `[[`, "per_class")), 1L)
  lapply(seq_len(count), function(k) {
    list(
      terms = lapply(built, function(b) if (length(b$per_class)) b$per_class[[k]] else b$term),
      solver = solver, design = 1L, latents = if (count == 1L) seq_len(K) else k
    )
  })
}

# What terms may know of the response: location and spread for default priors, default variance for kernels,
# how many rows each row counts as, the names of several latent values.
model_context <- function(family, response, registry) {
  identity <- family$link == "identity"
  weights <- row_counts(response$weights)
  spread <- if (!identity) {
    1
  } else if (family_type(family)$robust) {
    robust_spread(response$modelled, weights)
  } else {
    sqrt(response_variance(response$modelled, weights))
  }
  list(
    registry = registry, weights = weights, default_variance = spread^2,
    centre = if (identity) weighted_median(response$modelled, weights) else 0, spread = spread,
    latents = if (length(response$latents) > 1L) response$latents,
    intercept = family_type(family)$intercept(family)
  )
}

new_design <- function(parsed, frame, family, args, fixed, specs, response) {
  terms <- attr(frame, "terms")
  structure(list(
    formula = parsed$formula, columns = parsed$columns,
    frame_terms = terms, xlevels = known_levels(frame, parsed),
    terms = parsed$fixed, assign = fixed$spec$assign, contrasts = fixed$spec$contrasts,
    specs = specs, labels = vapply(specs, `[[`, "", "label"), offset = args$offset, weights = args$weights,
    family = family, K = max(1L, length(response$latents)),
    response = list(
      name = variable_name(parsed$response), levels = response$levels, latents = response$latents
    )
  ), class = "galvi_design")
}

# Levels that new data must keep to, by variable. What iid() and gmrf() alone read may have others.
known_levels <- function(frame, parsed) {
  levels <- stats::.getXlevels(without_response(attr(frame, "terms")), frame)
  open <- vapply(parsed$specs, function(spec) spec$type %in% c("iid", "gmrf"), NA)
  by <- lapply(parsed$specs, function(spec) if (!is.null(spec$by)) variable_name(spec$by))
  closed <- c(input_names(parsed$specs[!open]), unlist(by), fixed_names(parsed))
  levels[setdiff(names(levels), setdiff(input_names(parsed$specs[open]), closed))]
}

# delete.response() wants the `factors` that our frame's terms do not have.
without_response <- function(terms) {
  drop_first <- function(x) if (is.null(x)) NULL else x[-2L]
  attr(terms, "variables") <- drop_first(attr(terms, "variables"))
  attr(terms, "predvars") <- drop_first(attr(terms, "predvars"))
  attr(terms, "offset") <- if (length(attr(terms, "offset"))) attr(terms, "offset") - 1L
  attr(terms, "dataClasses") <- attr(terms, "dataClasses")[-1L]
  attr(terms, "response") <- 0L
  terms[[2L]] <- NULL
  terms
}

check_proper <- function(priors, full, constants) {
  flat <- vapply(priors, function(p) identical(p$sd, Inf), NA)
  if (!any(flat)) return(invisible())
  what <- if (full) {
    "does not go with a full gp()"
  } else if (identical(constants$reference, -1)) {
    "does not go with one latent value per class, of which only differences count: name a `refcat`"
  }
  if (is.null(what)) return(invisible())
  stop_galvi("prior", sprintf(
    "%s: a flat prior (sd = Inf) %s. Give a large sd instead.", quote_names(names(priors)[flat]), what
  ))
}

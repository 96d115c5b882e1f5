# The model list, which R passes to the core. It is made and checked here, and R reads it through the functions below;
# src/border/model_from_list.cpp reads the same fields.

#' The model list
#'
#' With N rows and K latent values per row:
#' * `y`, `size` (trials of a count, or what divides the dispersion of a row; 1 elsewhere), `weights` (which multiply
#'   the log likelihood): N numbers each; `offset`: N x K.
#' * `part`: NULL, or which of the likelihood's `parts` each row has (N, from 1).
#' * `censoring`: NULL, or N x 3 for a survival object (R/family-survival.R); then `y` is used in plots only.
#' * `known`: NULL, or N x 3: a known variance, added to that of the likelihood, and the interval (entry, exit] in which
#'   the response was observed.
#' * `shares`: TRUE where counts are points shared out among nodes (R/model-scheme.R), else absent.
#' * `counts`: NULL, or N x classes if responses count trials in classes; then `size` is their sum and `y` the most
#'   frequent class.
#' * `designs`: the rows as the terms of a prior read them. A design is a list with one entry per term, each a
#'   list of what that term uses: `inputs` (N x p), `by` (N), `group` (N, from 1); `W` (N x q); `node`
#'   (N x h, from 1, 0 for none), `weight` (N, or N x h); `item` (N x 1, from 1), whose unit is `node`.
#' * `predictors`: a list with one entry per prior. `terms`: a list per term with `type`, `label` and the parts of its
#'   prior (`kernel` and `input_count`; `mean` and `factors`; `field`; `inducing`; `factor`). `solver`: a name.
#'   `design`: the position of its design. `latents`: the columns of eta with this prior, each with its own posterior.
#' * `likelihood`: `type`, `hyper` (positions by name), `constants`; `truncated`: are responses observed in an interval
#'   only? `expectation`: a name. `pieces`: their number in
#'   the piecewise bound. `fitc`: is the likelihood averaged over the extra variance of inducing points, `averaged`: by
#'   itself?
#' * `hyper`: the table of hyperparameters (R/base-hyper.R).
#' * `prior_rows`: NULL, or the heavy-tailed priors of coefficients (R/term-fixed-heavy.R), which the core takes as rows after
#'   those of data. No other element has these rows.
#' * Only for `fit_model()`: `pilots`, model lists of parts of the rows; `checked` (checked_rows()); `source`, the
#'   source of the rows if the model has none (src/border/r_sources.h).
#' @noRd
new_model_list <- function(response, offset, designs, predictors, likelihood, hyper, expectation = "auto",
                           pieces = 20L, prior_rows = NULL) {
  check_model(c(list(
    y = response$y, size = response$size, weights = response$weights, offset = offset, designs = designs,
    predictors = predictors, likelihood = likelihood, expectation = expectation, pieces = pieces, hyper = hyper
  ), not_null(c(
    response[c("censoring", "known", "counts", "part", "shares")], list(prior_rows = prior_rows)
  ))))
}

#' Stops if the list is not as described above; users may have changed it (?modular)
#' @noRd
check_model <- function(model) {
  n <- length(model$y)
  numbers <- model[c("y", "size", "weights", "offset")]
  finite <- vapply(numbers, function(x) is.numeric(x) && all(is.finite(x)), NA)
  rows <- unlist(lapply(model$designs, lapply, lapply, NROW))
  at <- vapply(model$predictors, `[[`, 1L, "design")
  own <- vapply(model$predictors, function(p) length(p$terms) == length(model$designs[[p$design]]), NA)
  latents <- sort(unlist(lapply(model$predictors, `[[`, "latents")))
  hyper <- model$hyper
  columns <- lengths(hyper[c("value", "learned", "lower", "upper", "transform", "prior")])
  right <- c(
    "y, size, weights and offset must be finite numbers" = all(finite),
    "y, size and weights must have N numbers" = all(lengths(model[c("size", "weights")]) == n),
    "censoring must be an N x 3 matrix" =
      is.null(model$censoring) || identical(dim(model$censoring), c(n, 3L)),
    "known must be an N x 3 matrix" = is.null(model$known) || identical(dim(model$known), c(n, 3L)),
    "counts must be a matrix of N rows" = is.null(model$counts) || is.matrix(model$counts) && nrow(model$counts) == n,
    "part must have N entries" = is.null(model[["part"]]) || length(model[["part"]]) == n,
    "size must be positive" = all(finite) && all(model$size > 0),
    "weights must not be negative" = all(finite) && all(model$weights >= 0),
    "offset must be an N x K matrix" = is.matrix(model$offset) && nrow(model$offset) == n,
    "designs must have N rows" = all(rows == n),
    "a predictor must name a design" = all(at %in% seq_along(model$designs)),
    "a predictor must have the terms of its design" = all(own),
    "predictors must share the latents" = identical(as.integer(latents), seq_len(NCOL(model$offset))),
    "the columns of hyper must have the same length" = length(unique(columns)) == 1L,
    "hyper's value, lower and upper must be numbers" =
      all(vapply(hyper[c("value", "lower", "upper")], is.numeric, NA)),
    "hyper's learned must be TRUE or FALSE" = is.logical(hyper$learned) && !anyNA(hyper$learned)
  )
  if (all(right)) return(model)
  stop_galvi("argument", sprintf("`model` is invalid: %s.", names(right)[!right][1L]))
}

#' The predictor that latent value k belongs to
#' @noRd
predictor_of <- function(model, k = 1L) Find(function(predictor) k %in% predictor$latents, model$predictors)

#' Does the posterior of latent value k need N x N matrices?
#' @noRd
is_full <- function(model, k = 1L) fact("solver", predictor_of(model, k)$solver, "full")

#' Does a term need the covariance between all rows?
#' @noRd
is_full_term <- function(term) fact("term", term$type, "full")

# Is its latent vector as long as the data, or its precision sparse?
needs_all_rows <- function(term) is_full_term(term) || fact("term", term$type, "fields")

#' The terms of latent value k's prior: a list per term
#' @noRd
prior_terms <- function(model, k = 1L) predictor_of(model, k)$terms

#' The rows as these terms read them: a list per term
#' @noRd
term_rows <- function(model, k = 1L) model$designs[[predictor_of(model, k)$design]]

#' The model with every term changed by `change(term, t)`, for term t of each predictor; all have the same number of
#' terms
#' @noRd
change_terms <- function(model, change) {
  model$predictors <- lapply(model$predictors, function(predictor) {
    predictor$terms <- Map(change, predictor$terms, seq_along(predictor$terms))
    predictor
  })
  model
}

# The elements of the model list and of a target with an entry for each row, apart from the designs: those of Data
# (src/likelihood/likelihood.h) and the offset.
row_numbers <- c("y", "size", "weights", "offset", "censoring", "known", "counts", "part")

#' These elements for some rows
#' @noRd
take_row_numbers <- function(x, at) {
  own <- intersect(row_numbers, names(x))
  x[own] <- lapply(x[own], take_rows_of, at)
  x
}

#' The model of some of its rows
#' @noRd
model_of_rows <- function(model, at) {
  model <- take_row_numbers(model, at)
  model$designs <- lapply(model$designs, subset_rows, at)
  model
}

#' The model without rows, for when these are read from a source or are in the workers of a cluster
#' @noRd
without_rows <- function(model) model_of_rows(model, integer())

#' Some rows of a design
#' @noRd
subset_rows <- function(design, at) {
  lapply(design, function(term) lapply(not_null(term), take_rows_of, at))
}

#' Concatenates blocks of rows, or their designs
#' @noRd
bind_blocks <- function(blocks) {
  first <- blocks[[1L]]
  if (length(blocks) == 1L) return(first)
  if (is.list(first)) return(do.call(Map, c(list(function(...) bind_blocks(list(...))), blocks)))
  do.call(if (is.matrix(first)) rbind else c, blocks)
}

take_rows_of <- function(x, at) if (is.null(x)) NULL else if (is.matrix(x)) x[at, , drop = FALSE] else x[at]

#' The models of parts of the rows, each larger than the one before, on which learning starts, and with several
#' predictors inference too, because their bound may have several optima. NULL if neither is needed, or if there are few
#' rows.
#' @param learn Will hyperparameters be learned?
#' @param all Number of rows of the data; the model may have only a sample of them.
#' @noRd
pilot_models <- function(model, learn, all = length(model$y)) {
  points <- sum(vapply(prior_terms(model), function(term) NROW(term$inducing$coordinates), 1L))
  columns <- vapply(model$designs, function(design) sum(vapply(design, function(term) NCOL(term$W), 1L)), 1L)
  facts <- core_facts$solver
  sums <- all(vapply(model$predictors, function(predictor) fact(facts, predictor$solver, "sums"), NA))
  # times need rows enough to tell of their order
  knots <- max(0L, vapply(prior_terms(model), function(term) length(term$knots$times), 1L))
  rows <- max(2000L, 20L * points, 20L * columns, 20L * knots)
  if (learn && has_nodes_at_rows(model)) return(if (all >= 3L * rows) list(model_of_nodes(model)))
  if (!((points || knots) && learn || sums && length(model$predictors) > 1L) || all < 3L * rows) return(NULL)
  # few hyperparameters are learned from all rows as soon
  places <- unlist(lapply(prior_terms(model), function(term) term$inducing$coordinates))
  sizes <- rows * 10^(if (learn && (any(model$hyper$learned[places]) || !sums)) 0:6 else 0)
  sizes <- sizes[sizes == rows | 3 * sizes <= all & sizes <= length(model$y)]
  lapply(sizes, function(rows) with_thin_centres(model_of_rows(model, sort(spread_over(length(model$y), rows, 2L)))))
}

# Is there a process given its neighbours whose nodes are the places of the rows?
has_nodes_at_rows <- function(model) any(vapply(prior_terms(model), is_at_nodes, NA))

is_at_nodes <- function(term) !is.null(term$neighbours) && !term$neighbours$between

#' The model of the rows in clusters of the nodes of such a process, with the nodes that these rows have
#' @noRd
model_of_nodes <- function(model) {
  terms <- prior_terms(model)
  t <- which(vapply(terms, is_at_nodes, NA))[1L]
  kept <- clustered_nodes(terms[[t]]$neighbours)
  part <- model_of_rows(model, which(model$designs[[1L]][[t]]$node %in% kept))
  for (p in seq_along(part$predictors)) {
    design <- part$predictors[[p]]$design
    part$predictors[[p]]$terms <- Map(function(term, rows) {
      if (is_at_nodes(term)) term$neighbours <- only_nodes(term$neighbours, sort(unique(c(rows$node))))
      term
    }, part$predictors[[p]]$terms, part$designs[[design]])
  }
  part$designs <- Map(function(rows, design) {
    terms <- Find(function(predictor) predictor$design == design, part$predictors)$terms
    Map(function(rows, term) {
      if (is_at_nodes(term)) rows$node[] <- match(rows$node, sort(unique(c(rows$node))))
      rows
    }, rows, terms)
  }, part$designs, seq_along(part$designs))
  part
}

#' The model with nodes by these hyperparameters, where learning starts too; NULL where those that it has will do
#' @noRd
renewed_nodes <- function(model, hyper) {
  changed <- FALSE
  nodes <- lapply(seq_along(predictor_specs(model$design)), function(k) {
    Map(function(spec, term, rows) {
      if (is.null(spec$neighbours)) return(NULL)
      kernel <- or_else(term[["kernel"]], term$kernels[[1L]])
      scale <- distance_scale(kernel, ncol(rows$inputs), hyper)
      if (alike_scales(scale, spec$nodes$scale)) return(spec$nodes)
      changed <<- TRUE
      renew_nodes(spec, scale)
    }, predictor_specs(model$design)[[k]], prior_terms(model, k), term_rows(model, k))
  })
  if (!changed) return(NULL)
  model$hyper$value <- hyper
  with_nodes(model, nodes)
}

# Of each term of each predictor's formula; NULL for terms without.
kept_nodes <- function(model) lapply(predictor_specs(model$design), lapply, `[[`, "nodes")

#' The model with these nodes
#' @param nodes From kept_nodes().
#' @noRd
with_nodes <- function(model, nodes) {
  for (k in seq_along(nodes)) {
    for (t in which(!vapply(nodes[[k]], is.null, NA))) {
      spec <- predictor_specs(model$design)[[k]][[t]]
      spec$nodes <- nodes[[k]][[t]]
      if (k == 1L) model$design$specs[[t]] <- spec else model$design$others[[k - 1L]]$specs[[t]] <- spec
      rows <- model$designs[[k]][[t]]
      model$designs[[k]][[t]]$node <- nodes_of_rows(spec, rows, fitted = TRUE)
    }
  }
  for (p in seq_along(model$predictors)) {
    terms <- model$predictors[[p]]$terms
    design <- model$predictors[[p]]$design
    for (t in seq_along(terms)) if (!is.null(terms[[t]]$neighbours)) {
      model$predictors[[p]]$terms[[t]]$neighbours <- nodes[[design]][[t]]
    }
  }
  model
}

n_latents <- function(fit) ncol(with_format(fit)$model$offset)

# What is kept in a fit, as a number: one more whenever methods cannot read what earlier versions saved.
fit_format <- 2L

#' The fit, if this version can read it. Nearly every method asks for n_latents(), n_predictors() or training_target(),
#' and so comes here.
#' @noRd
with_format <- function(fit) {
  if (identical(fit$format, fit_format)) return(fit)
  stop_galvi("data", if (isTRUE(fit$format > fit_format)) {
    "This fit was made by a later version of galvi: install that version to use it."
  } else {
    "This fit was made by an earlier version of galvi: refit it with update(fit)."
  })
}

#' A core model whose inducing terms have a few rows in their centres, evenly spaced in their order within each group,
#' which stand for all
#' @noRd
with_thin_centres <- function(core) {
  change_terms(core, function(term, t) {
    if (!is.null(term$inducing) && NROW(term$centre$inputs) > thin_centre_rows) term$centre <- thin_centre(term$centre)
    term
  })
}

# Where hyperparameters move with every minibatch, each move would need the covariances of all points with all rows of
# the centre. With that many coordinates of points "auto" may choose such a method.
needs_thin_centres <- function(core, method) {
  places <- sum(vapply(prior_terms(core), function(term) length(term$inducing$coordinates), 1L))
  isTRUE(fact("inference", method, "learns")) || places > 1000L
}

thin_centre_rows <- 500L

thin_centre <- function(centre) {
  groups <- if (is.null(centre$group)) rep(1L, nrow(centre$inputs)) else centre$group
  whole <- sum(centre$weight)
  kept <- lapply(split(seq_along(groups), groups), function(own) {
    reached <- cumsum(centre$weight[own])
    total <- reached[length(reached)]
    number <- min(length(own), max(50, round(thin_centre_rows * total / whole)))
    at <- findInterval((seq_len(number) - 0.5) / number * total, reached) + 1L
    counts <- tabulate(at, length(own))
    list(at = own[counts > 0L], weight = counts[counts > 0L] * total / number)
  })
  at <- unlist(lapply(kept, `[[`, "at"), use.names = FALSE)
  centre$inputs <- centre$inputs[at, , drop = FALSE]
  centre$group <- centre$group[at]
  centre$weight <- unlist(lapply(kept, `[[`, "weight"), use.names = FALSE)
  centre
}

# The rows of a design that stand for all: a source's sample has the extremes of its columns besides.
even_rows <- function(design) {
  if (is.null(design$stream)) return(rows_in_sample(nrow(design$data)))
  which(sample_place(as.numeric(row.names(design$data))) < design$stream$share)
}

# Named by term: the points in the data's units, a matrix with a column per input, or a data frame where
# inputs are factors. NULL without any.
fitted_points <- function(design, model, values) {
  all <- unlist(lapply(seq_along(predictor_parts(design)), function(k) prior_terms(model, k)), recursive = FALSE)
  terms <- Filter(function(term) !is.null(term$inducing), all)
  if (!length(terms)) return(NULL)
  labels <- vapply(terms, `[[`, "", "label")
  specs <- all_specs(design)
  specs <- specs[match(labels, vapply(specs, `[[`, "", "label"))]
  stats::setNames(Map(function(spec, term) {
    at <- term$inducing
    points <- matrix(values[at$coordinates], nrow(at$coordinates))
    in_data_units(spec_in_space(spec), points * rep(at$scale, each = nrow(points)) + rep(at$centre, each = nrow(points)))
  }, specs, terms), labels)
}

# Rows of the input matrix -> the data's units.
in_data_units <- function(spec, x) {
  x <- x / rep(spec$moments$factor, each = nrow(x)) + rep(spec$moments$centre, each = nrow(x))
  kinds <- vapply(spec$facts, `[[`, "", "kind")
  if (!any(kinds == "factor")) return(matrix(x, nrow(x), dimnames = list(NULL, spec$input_names)))
  out <- lapply(seq_along(spec$input_names), function(v) {
    columns <- x[, spec$variable == v, drop = FALSE]
    if (!is_indicator(spec)[match(v, spec$variable)]) return(columns[, 1L])
    fact <- spec$facts[[match(spec$input_names[v], vapply(spec$inputs, variable_name, ""))]]
    factor(fact$levels[max.col(columns, "first")], fact$levels)
  })
  as.data.frame(stats::setNames(out, spec$input_names), optional = TRUE)
}

#' Loadings and effects that were not given start from estimates from the response alone
#' @noRd
start_unknown_factors <- function(model, specs) {
  for (t in which(which_can(specs, "units"))) {
    if (specs[[t]]$started) next
    at <- prior_terms(model)[[t]]$factor
    start <- start_factors(model, t)
    free <- model$hyper$learned[at$loadings]
    model$hyper$value[at$loadings[free]] <- start$loadings[free]
    model$hyper$value[at$effects] <- start$effects
  }
  model
}

#' What a fit keeps of its factors: list(loadings: items x d, effects: items x q, mean: units x d, covariance:
#' d x d x units), or NULL without any
#' @noRd
fitted_factors <- function(design, model, result) {
  t <- which(which_can(design$specs, "units"))
  if (!length(t)) return(NULL)
  spec <- design$specs[[t]]
  at <- prior_terms(model)[[t]]$factor
  axes <- paste0("factor", seq_len(spec$d))
  array_of <- function(positions, columns) {
    matrix(result$hyper[positions], length(spec$items), dimnames = list(spec$items, columns))
  }
  units <- result$units[[spec$label]]
  list(
    loadings = array_of(at$loadings, axes), effects = array_of(at$effects, spec$effects),
    mean = if (!is.null(units)) `dimnames<-`(units$mean, list(spec$units, axes)),
    covariance = if (!is.null(units)) `dimnames<-`(units$covariance, list(axes, axes, spec$units))
  )
}

#' Are responses counts of trials of several classes?
#' @noRd
is_counts <- function(fit) isTRUE(fit$design$response$counts)

#' Rows at which the core predicts after fitting, as a check: these predictions must equal the fitted values
#'
#' @param specs Of each predictor, with the `frame` of the model's rows: bases of mgcv, whose columns of new rows come
#'   from other sums than those of the fit, are made as for new rows.
#' @noRd
checked_rows <- function(model, specs = NULL, frame = NULL) {
  anew <- any(which_can(unlist(specs, recursive = FALSE), "columns")) && nrow(frame) == length(model$y)
  # a row of thin plates takes as long as one of their fit
  at <- spread_rows(length(model$y), if (anew) 100L else 1000L)
  rows <- lapply(model$designs, subset_rows, at)
  if (anew) {
    rows <- Map(function(rows, specs) {
      made <- which_can(specs, "columns")
      rows[made] <- lapply(specs[made], spec_rows, frame[at, , drop = FALSE])
      rows
    }, rows, specs)
  }
  list(at = as.integer(at), rows = rows)
}

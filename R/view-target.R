# A target is where predictions are wanted: rows of the model in the shape that predict_latent() takes (`each` of them
# for a row of the target, R/view-stages.R; NULL: one), with the offset and, where they are known, the response, its size
# and its weights. The training rows and new rows give the same shape, so no predict type asks which it has.

#' The observations themselves. Their marginals are stored in the fit.
#' @noRd
training_target <- function(fit) {
  check_has_rows(with_format(fit))
  if (is_imputed(fit)) check_same_rows(fit)
  model <- fit$model
  c(model[intersect(row_numbers, names(model))], list(
    rows = or_else(fit$asked_rows, model$designs), n = fit$nobs, names = row.names(fit$data), omitted = NULL,
    marginals = fitted_marginals(fit), each = fit$stages$count
  ), if (is_imputed(fit)) list(sets = lapply(fit$fits, training_target)))
}

#' Rows for `newdata`; those with missing values are left out here and return as NA in finish_rows()
#' @noRd
new_target <- function(fit, newdata, na.action = stats::na.pass, response = FALSE, kept = NULL) {
  if (is_stages_view(fit)) return(new_stage_target(fit, newdata, na.action, response, kept))
  new <- design_rows(fit$design, newdata, na.action = na.action, response = response, kept = kept)
  warn_computed_together(fit, newdata, new$frame)
  omitted <- new$omitted
  names <- row.names(newdata)
  if (is.null(names)) names <- as.character(seq_len(new$n))
  n <- nrow(new$offset)
  new$part <- part_of_rows(fit, new$frame)
  if (is.null(new$size)) new$size <- rep(1, n)
  c(new[intersect(row_numbers, names(new))], list(
    rows = new$rows, n = n, names = names, omitted = if (length(omitted)) omitted, marginals = NULL,
    averaged = new$averaged
  ), if (is_imputed(fit)) list(sets = lapply(fit$fits, new_target, newdata, na.action, response, kept)))
}

#' Warns of variables that depend on which rows there are, as I(x - mean(x)) does, where these are not those of the fit
#' @noRd
warn_computed_together <- function(fit, newdata, frame) {
  together <- setdiff(computed_together(fit), names(newdata))
  together <- Filter(function(name) !same_values(frame[[name]], fit$data[[name]]), intersect(together, names(frame)))
  if (!length(together)) return(invisible())
  warn_galvi("newdata", sprintf(
    "`%s` is computed from all rows of `newdata` at once, which are not those of the fit, so it has other values there. %s",
    together[1L], use_scale
  ))
}

#' Which part each row has, of those with likelihoods of their own: that of its column; NULL without parts
#' @noRd
part_of_rows <- function(fit, frame) {
  if (has_parts(fit)) match(frame[[wide_names[["item"]]]], fit$design$wide$items)
}

#' Does `newdata` have what `size` of a new response is read from? It must where the formula has a word for it. The
#' argument `response` of new_target(): FALSE, TRUE for trials that only the response tells, or "size".
#' @noRd
tells_size <- function(fit, newdata) {
  word <- size_word(fit$design)
  if (is.null(newdata) || is.null(word) && all(fit$model$size == 1)) return(FALSE)
  newdata <- as_new_data(newdata)
  if (has_size_apart(fit)) {
    if (can_read_size(fit$design, newdata)) return("size")
    if (is.null(word)) return(FALSE)
    stop_without_word(as_typed(word), all.vars(size_expression(fit$design)))
  }
  needed <- c(all.vars(fit$formula[[2L]]), all.vars(fit$design$weights))
  all(needed %in% names(newdata)) && !anyNA(newdata[needed])
}

#' Is the size of a row known without its response? Not that of cbind(successes, failures).
#' @noRd
has_size_apart <- function(fit) {
  if (weights_divide(fit$family) || !is.null(typed_trials(fit$design))) return(TRUE)
  # of proportions the weights are trials
  is.null(fit$design$wide) && !is.matrix(stats::model.response(fit$data))
}

#' Is all there that size_expression() needs?
#' @noRd
can_read_size <- function(design, newdata) {
  newdata <- as_new_data(newdata)
  expr <- size_expression(design)
  env <- environment(design$formula)
  absent <- setdiff(looked_up(expr), names(newdata))
  # a vector where the formula was written is that of the observations
  constant <- vapply(absent, function(name) !name %in% design$columns && length(get0(name, env)) == 1L, NA)
  if (!all(constant)) return(FALSE)
  value <- tryCatch(eval(expr, newdata, env), error = function(e) NULL)
  !is.null(value) && NROW(value) %in% c(1L, nrow(newdata))
}

#' The posterior of eta, without the offset, at rows of the model; the core takes them in blocks
#'
#' @param rows,n As in a target.
#' @param variance,terms,covariance What is wanted beside the means.
#' @return Marginals (R/view-states.R), N* x K; terms = list(mean, variance), N* x T x K; covariance: a list of K
#'   matrices.
#' @noRd
latent_at <- function(fit, rows, n, variance = TRUE, terms = FALSE, covariance = FALSE) {
  if (n == 0L) {
    none <- matrix(0, n, n_latents(fit))
    no_terms <- array(0, c(n, length(prior_terms(fit$model)), n_latents(fit)))
    return(list(mean = none, variance = none, terms = list(mean = no_terms, variance = no_terms),
      covariance = rep(list(matrix(0, n, n)), n_latents(fit))))
  }
  if (has_points(fit)) return(points_latent(fit, rows, n, terms, covariance))
  at <- model_and_rows(fit, rows)
  want <- list(variance = variance, terms = terms, covariance = covariance, threads = fit$control$threads)
  parts <- with_memory(prediction_size(fit, n, covariance), threads = want$threads, {
    lapply(fit_states(fit), function(state) predict_latent(at$model, state$posterior, at$rows, want))
  })
  weights <- state_weights(fit)
  out <- mixture_marginals(fit, parts)
  if (terms) out$terms <- mixture_moments(lapply(parts, `[[`, "terms"), weights)
  if (covariance) {
    out$covariance <- lapply(seq_len(n_latents(fit)), function(k) {
      mixture_covariance(lapply(parts, function(p) p$mean[, k]), lapply(parts, function(p) p$covariance[[k]]), weights)
    })
  }
  out
}

#' The same for a posterior of points; its marginals have them
#' @noRd
points_latent <- function(fit, rows, n, terms, covariance) {
  points <- points_at(fit, rows, n)
  out <- c(point_moments(points), list(points = points))
  if (terms) {
    count <- length(prior_terms(fit$model))
    each <- lapply(seq_len(count), function(t) point_moments(points_at(fit, rows, n, term = t)))
    shape <- function(what) aperm(array(unlist(lapply(each, `[[`, what)), c(n, n_latents(fit), count)), c(1L, 3L, 2L))
    out$terms <- list(mean = shape("mean"), variance = shape("variance"))
  }
  if (covariance) out$covariance <- lapply(seq_len(n_latents(fit)), function(k) point_covariance(points, k))
  out
}

#' Model and rows for the core; new rows may need nodes that the fitted model does not have
#' @noRd
model_and_rows <- function(fit, rows) {
  list(
    model = extended_model(fit$model, rows),
    rows = lapply(rows, lapply, function(term) term[names(term) != "extension"])
  )
}

#' The model with the nodes that only new rows need (R/term-field.R)
#' @noRd
extended_model <- function(model, rows) {
  model$predictors <- lapply(model$predictors, function(predictor) {
    predictor$terms <- Map(function(term, rows) {
      term[names(rows$extension)] <- rows$extension
      term
    }, predictor$terms, rows[[predictor$design]])
    predictor
  })
  model
}

#' Marginal means and variances of eta at a target, N* x K, offset included
#' @noRd
latent_marginals <- function(fit, target) {
  with_known(with_average(fit, own_marginals(fit, target), target), target$known)
}

#' The same without what is averaged over
#' @noRd
own_marginals <- function(fit, target) {
  if (!is.null(target$sets)) {
    if (!is.null(target$marginals)) return(target$marginals)
    return(mixed_marginals(fit, Map(own_marginals, fit$fits, target$sets)))
  }
  if (is_stages_view(fit)) return(or_else(target$marginals, stage_marginals(fit, target)))
  if (!is.null(target$marginals)) return(with_between(fit, target$marginals, target$rows))
  latent <- latent_at(fit, target$rows, target$n)
  marginals <- latent[intersect(c("mean", "variance", "states", "points"), names(latent))]
  marginals$mean <- marginals$mean + target$offset
  if (!is.null(marginals$points)) marginals$points$offset <- marginals$points$offset + target$offset
  marginals$states <- lapply(marginals$states, function(state) {
    state$mean <- state$mean + target$offset
    state
  })
  if (!length(marginals$states)) marginals$states <- NULL
  lost <- which(!is.finite(rowSums(marginals$mean) + rowSums(marginals$variance)))
  if (length(lost)) {
    kept <- setdiff(seq_along(target$names), target$omitted)
    stop_galvi("newdata", sprintf(
      "`newdata` has values in row %s that are too large: its prediction is not a finite number.",
      quote_row_names(target$names)[kept[lost[1L]]]
    ))
  }
  with_between(fit, marginals, target$rows)
}

#' Marginals with the covariances between a row's latent values, if the posterior has these; without them if the rows
#' are not known, as in leave-one-out
#' @noRd
with_between <- function(fit, marginals, rows) {
  if (!is_coupled(fit) || is.null(rows)) return(marginals)
  if (is.null(marginals$states)) return(c(marginals, list(between = row_covariances(fit, rows))))
  marginals$states <- Map(function(part, state) {
    c(part, list(between = row_covariances(at_state(fit, state), rows)))
  }, marginals$states, fit_states(fit))
  marginals
}

#' Put back the rows that were left out, as `na.action` wants them, and the names
#'
#' @param x A vector, a factor, or a matrix or array whose first index is the row.
#' @noRd
finish_rows <- function(x, target, na.action, fit) {
  if (is.null(target$marginals)) {
    if (is.null(target$omitted)) return(name_rows(x, target$names))
    if (is_omitting(na.action)) return(name_rows(x, target$names[-target$omitted]))
    return(name_rows(take_rows(x, kept_rows(target)), target$names))
  }
  stats::napredict(fit$na.action, name_rows(x, target$names))
}

#' Which of the target's rows every row of the data is, NA for those that were left out
#' @noRd
kept_rows <- function(target) {
  if (is.null(target$omitted)) return(seq_along(target$names))
  index <- rep(NA_integer_, length(target$names))
  index[-target$omitted] <- seq_len(target$n)
  index
}

#' Some rows of a target, of those that are complete
#' @noRd
target_rows <- function(target, at) {
  target <- take_row_numbers(target, at)
  target$names <- (if (is.null(target$omitted)) target$names else target$names[-target$omitted])[at]
  target$rows <- some_model_rows(target$rows, blocks_of_rows(at, target$each))
  if (!is.null(target$averaged)) target$averaged <- lapply(target$averaged, lapply, part_rows, at)
  if (!is.null(target$sets)) target$sets <- lapply(target$sets, target_rows, at)
  target["marginals"] <- list(NULL)
  target["omitted"] <- list(NULL)
  target$n <- length(at)
  target
}

#' Some rows of the model, as targets have them; nodes that only new rows need stay together
#' @noRd
some_model_rows <- function(rows, at) {
  lapply(rows, lapply, function(term) {
    extension <- term$extension
    term <- subset_rows(list(term[names(term) != "extension"]), at)[[1L]]
    if (is.null(extension)) term else c(term, list(extension = extension))
  })
}

#' Numbers of the model's rows, of which a row of a target has `each`, one block after the other
#' @noRd
blocks_of_rows <- function(at, each = NULL) {
  if (is.null(each)) at else as.vector(outer(seq_len(each), (at - 1L) * each, `+`))
}

take_rows <- function(x, i) {
  shape <- dim(x)
  if (is.null(shape)) return(x[i])
  taken <- if (length(shape) == 2L) x[i, , drop = FALSE] else x[i, , , drop = FALSE]
  attr(taken, "constant") <- attr(x, "constant")
  taken
}

name_rows <- function(x, names) {
  if (is.null(dim(x))) {
    names(x) <- names
  } else if (length(dim(x)) == 2L) {
    dimnames(x) <- list(names, colnames(x))
  } else {
    dimnames(x) <- c(list(names), dimnames(x)[-1L])
  }
  x
}

#' na.omit drops incomplete rows; na.pass and na.exclude keep their places
#' @noRd
is_omitting <- function(na.action) {
  probe <- if (is.function(na.action)) na.action(data.frame(x = c(1, NA))) else NULL
  is.data.frame(probe) && nrow(probe) == 1L && !inherits(attr(probe, "na.action"), "exclude")
}

# The arguments of predict() and what may be asked of a type.

check_one_latent <- function(fit, what) {
  k <- n_latents(fit)
  if (!is_several(fit)) return(invisible())
  stop_galvi("argument", sprintf(paste(
    "%s is for one linear predictor; this fit has %d per observation. Use predict(type = \"link\", se.fit =",
    "TRUE)."
  ), what, k))
}

#' `interval`: lm()'s word "confidence" means a credible interval
#' @noRd
check_interval <- function(interval) {
  if (identical(interval, "confidence")) return("credible")
  first_choice(interval, c("none", "credible", "prediction"), "interval")
}

check_level <- function(level, arg = "level") {
  if (is.numeric(level) && length(level) == 1L && !is.na(level) && level > 0 && level < 1) return(level)
  stop_galvi("argument", sprintf(
    "`%s` must be a number between 0 and 1, not %s.", arg, describe(level)
  ))
}

# Values of the response, for the types that need them.
check_values_at <- function(at, type) {
  curves <- c("hazard", "cumhaz", "rmst")
  wanted <- c(survival = "times", stats::setNames(rep("times", 3L), curves), cdf = "q")
  for (name in names(not_null(at))) {
    if (!identical(unname(wanted[type]), name)) {
      able <- paste0("\"", names(wanted)[wanted == name], "\"", collapse = ", ")
      stop_galvi("argument", sprintf("`%s` is for type = %s, not \"%s\".", name, able, type))
    }
  }
  if (!type %in% names(wanted)) return(NULL)
  x <- at[[wanted[[type]]]]
  if (is.numeric(x) && length(x) && !anyNA(x)) {
    if (!type %in% curves || all(x >= 0 & x < Inf)) return(as.numeric(x))
    stop_galvi("argument", sprintf("`times` must be finite and not negative for type = \"%s\"; it has %s.", type,
      format(x[x < 0 | x == Inf][1L])))
  }
  stop_galvi("argument", sprintf(
    "type = \"%s\" needs `%s`, values of the response without NA, not %s.", type, wanted[[type]], describe(x)
  ))
}

check_probs <- function(probs) {
  usable <- is.numeric(probs) && length(probs)
  bad <- if (usable) is.na(probs) | probs <= 0 | probs >= 1
  if (usable && !any(bad)) return(probs)
  found <- describe(if (usable) probs[bad][1L] else probs)
  stop_galvi("argument", sprintf("`probs` must be probabilities between 0 and 1, not %s.", found))
}

# Predictions and residuals for rows that are not in memory, computed chunk by chunk.

#' @param into NULL, or a function that is called with the result of each chunk.
#' @param of function(data frame) -> a vector, matrix or array with an entry per row, or a list of these.
#' @return The combined results of all chunks; nothing with `into`.
#' @noRd
by_chunks <- function(fit, source, into, of) {
  if (!is.null(into) && !is.function(into)) {
    stop_galvi("argument", sprintf("`into` must be a function or NULL, not %s.", describe(into)))
  }
  source <- row_source(source)
  design <- fit$design
  used <- lapply(c(attr(design$frame_terms, "variables"), design$weights, design$offset, design$known), looked_up)
  reader <- read_rows(source, columns_among(source, unlist(used)), rows_at_a_time(fit$control$chunk_rows))
  on.exit(reader$close())
  parts <- list()
  while (!is.null(chunk <- reader$read())) {
    row.names(chunk) <- attr(chunk, "before") + seq_len(nrow(chunk))
    attr(chunk, "row_names_are") <- "source"
    part <- of(chunk)
    if (is.null(into)) parts[[length(parts) + 1L]] <- part else into(part)
  }
  if (!is.null(into)) return(invisible())
  if (!length(parts)) stop_no_rows(source$label)
  bind_predictions(parts)
}

# Vectors, factors, matrices and arrays whose first index is the row, or lists of these.
bind_predictions <- function(parts) {
  first <- parts[[1L]]
  if (is.list(first)) return(do.call(Map, c(list(function(...) bind_predictions(list(...))), parts)))
  shape <- dim(first)
  if (is.null(shape)) return(do.call(c, parts))
  if (length(shape) == 2L) {
    out <- do.call(rbind, parts)
  } else {
    # transposed, so that rows are the last index and arrays can be concatenated
    names <- unlist(lapply(parts, function(x) dimnames(x)[[1L]]))
    out <- aperm(array(
      unlist(lapply(parts, aperm)), c(rev(shape[-1L]), length(names)),
      c(rev(dimnames(first)[-1L]), list(names))
    ))
  }
  attr(out, "constant") <- attr(first, "constant")
  out
}

check_no_into <- function(into) {
  if (is.null(into)) return(invisible())
  stop_galvi("argument", "`into` is only for `newdata` from a row source.")
}

#' The target of predictions, for predictor k alone
#' @noRd
target_view <- function(target, k) {
  if (!is.null(target$rows)) target$rows <- target$rows[k]
  target$offset <- target$offset[, k, drop = FALSE]
  if (!is.null(target$averaged)) target$averaged <- target$averaged[k]
  if (!is.null(target$marginals)) target$marginals <- marginal_latent(target$marginals, k)
  target$sets <- if (!is.null(target$sets)) lapply(target$sets, target_view, k)
  target
}

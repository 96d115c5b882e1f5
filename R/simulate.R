#' Simulate responses from a fit
#'
#' Draws eta for all rows jointly from the posterior (the latents of a multi-class family one by one,
#' as they are independent there) and then a response for each, at the hyperparameters of the fit. Package
#' DHARMa can use these: `createDHARMa(as.matrix(simulate(fit, 250)), fit$model$y, fitted(fit))`.
#'
#' @param object A fit of [galvi()].
#' @param nsim Number of responses to draw.
#' @param seed NULL, or a number for [set.seed()]. The generator is left where the draws end.
#' @param newdata A data frame to simulate the responses of, instead of those of the observations. Successes
#'   in trials have as many trials as the response in `newdata` tells, one if it has none. A row with missing
#'   predictors gets NA.
#' @param re_formula As in [predict()][predict.galvi].
#' @param ... Must be empty.
#' @return A data frame with columns `sim_1`, ..., `sim_<nsim>` and a row per observation (or row of
#'   `newdata`), in the shape of the response: numbers, whole numbers, factors (ordered ones too), text,
#'   proportions, two-column matrices. Attribute `seed` as for [stats::simulate()]. A response that is too
#'   large for a number is `Inf`, with a warning (`galvi_warning_numeric`). Of a `survival::Surv()` the times
#'   are drawn without censoring, beyond the entry where it has one.
#' @examples
#' fit <- galvi(count ~ spray, data = InsectSprays, family = poisson())
#' head(simulate(fit, 3, seed = 1))
#' @importFrom stats simulate
#' @export
simulate.galvi <- function(object, nsim = 1, seed = NULL, newdata = NULL, re_formula = NULL, ...) {
  refuse_dots(list(...), simulate.galvi, "simulate()")
  nsim <- check_whole(nsim, "nsim")
  if (is.null(seed)) {
    if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) stats::runif(1)
    state <- get(".Random.seed", envir = globalenv())
  } else {
    set.seed(seed)
    state <- structure(seed, kind = as.list(RNGkind()))
  }
  kept_terms <- kept_effects(object$design, re_formula)
  target <- if (is.null(newdata)) without_target_effects(object, training_target(object), kept_terms) else {
    new_target(object, newdata, response = tells_trials(object, newdata), kept = kept_terms)
  }
  draw <- latent_sampler(object, target)
  kept <- kept_rows(target)
  drawn <- lapply(seq_len(nsim), function(i) draw_response(object, target, draw()))
  warn_too_large("Simulated responses are", do.call(cbind, drawn), target, "they are Inf (or -Inf) there",
    "Use predict(type = \"link\"), which does not overflow, or narrower priors.")
  draws <- lapply(drawn, function(y) take_rows(as_response(object, target, y), kept))
  names(draws) <- paste0("sim_", seq_len(nsim))
  structure(draws, class = "data.frame", row.names = target$names, seed = state)
}

#' A function that draws eta jointly at a target: N* x K. Nothing is N* x N* if the latent vector is shorter.
#' @noRd
latent_sampler <- function(fit, target) {
  if (is_distributional(fit)) {
    draws <- lapply(1:2, function(k) latent_sampler(predictor_view(fit, k), target_view(target, k)))
    return(function() do.call(cbind, lapply(draws, function(draw) draw())))
  }
  if (!is.null(fit$posterior$latent)) return(vector_sampler(fit, target))
  effects <- target_effects(target$rows)
  if (!is.null(effects) && effects$n < target$n) {
    draw <- joint_sampler(latent_at(fit, effects$rows, effects$n)$mean, joint_covariance(fit, effects))
    return(function() target$offset + effects$add(draw()))
  }
  joint_sampler(latent_marginals(fit, target)$mean, joint_covariance(fit, target))
}

#' @param mean N x K.
#' @param covariance One N x N matrix, or a list of K.
#' @noRd
joint_sampler <- function(mean, covariance) {
  if (!is.list(covariance)) covariance <- list(covariance)
  roots <- lapply(covariance, covariance_root)
  function() mean + do.call(cbind, lapply(roots, function(root) root %*% stats::rnorm(ncol(root))))
}

#' eta_k = offset_k + W z_k, z_k = mean + chol e, and noise of variance c where inducing points leave it
#' @noRd
vector_sampler <- function(fit, target) {
  if (is_coupled(fit)) return(coupled_sampler(fit, target))
  latent <- fit$posterior$latent
  draw_one <- function(z) z$mean + drop(z$chol %*% stats::rnorm(length(z$mean)))
  W <- lapply(target$rows[[1L]], `[[`, "W")
  if (!any(vapply(W, is.null, NA))) {
    W <- do.call(cbind, W)
    return(function() target$offset + W %*% do.call(cbind, lapply(latent, draw_one)))
  }
  # the columns of inducing points are made in the core: a posterior that is the draw has W z as its mean
  known <- function(z) list(mean = z, chol = matrix(0, length(z), length(z)))
  at <- function(z, variance) {
    fit$posterior$latent <- lapply(z, known)
    latent_at(fit, target$rows, target$n, variance = variance)
  }
  left <- sqrt(at(lapply(latent, `[[`, "mean"), variance = TRUE)$variance)
  function() {
    target$offset + at(lapply(latent, draw_one), variance = FALSE)$mean + left * stats::rnorm(length(left))
  }
}

#' The effects that the rows of a target touch, as rows of the model themselves: one for each column and one
#' for each node of a field. NULL where a term is a process over inputs.
#' @return list(rows, n: as in a target; add(x): values of the effects, n x K -> their sums in the target's
#'   rows).
#' @noRd
target_effects <- function(rows) {
  terms <- rows[[1L]]
  if (any(vapply(terms, function(term) is.null(term$W) && is.null(term$node), NA))) return(NULL)
  own <- lapply(terms, function(term) {
    if (!is.null(term$W)) return(list(count = ncol(term$W)))
    if (NCOL(term$weight) > 1L) {  # each node has its own weights
      nodes <- sort(unique(term$node[term$node > 0L]))
      return(list(count = length(nodes), nodes = nodes))
    }
    key <- do.call(paste, as.data.frame(term$node))
    first <- which(!duplicated(key))
    list(count = length(first), first = first, at = match(key, key[first]))
  })
  counts <- vapply(own, `[[`, 1L, "count")
  n <- sum(counts)
  place <- Map(function(count, before) before + seq_len(count), counts, cumsum(counts) - counts)
  rows <- list(Map(function(term, mine, at) {
    if (!is.null(term$W)) {
      term$W <- replace(matrix(0, n, ncol(term$W)), cbind(at, seq_along(at)), 1)
    } else {
      node <- term$node
      term$node <- matrix(0L, n, ncol(node))
      if (!is.null(mine$nodes)) {
        term$node[at, 1L] <- mine$nodes
        term$weight <- matrix(1, n, ncol(node))
        return(term)
      }
      term$node[at, ] <- node[mine$first, ]
      if (!is.null(term$weight)) term$weight <- rep(1, n)
    }
    term
  }, terms, own, place))
  add <- function(x) {
    Reduce(`+`, Map(function(term, mine, at) {
      value <- x[at, , drop = FALSE]
      if (!is.null(term$W)) return(term$W %*% value)
      if (!is.null(mine$nodes)) return(weighted_nodes(term, match(term$node, mine$nodes), value))
      value <- value[mine$at, , drop = FALSE]
      if (is.null(term$weight)) value else term$weight * value
    }, terms, own, place))
  }
  list(rows = rows, n = n, add = add)
}

#' Sums over the nodes of each row, weight times the node's value: n x K
#' @param at Which of the values each entry of term$node has, NA for none.
#' @noRd
weighted_nodes <- function(term, at, value) {
  do.call(cbind, lapply(seq_len(ncol(value)), function(k) {
    found <- ifelse(is.na(at), 0, value[at, k])
    rowSums(term$weight * matrix(found, nrow(term$node)))
  }))
}

#' R with R R' = V for a covariance that may be singular (duplicated rows): pivoted Cholesky
#' @noRd
covariance_root <- function(V) {
  if (!nrow(V)) return(V)
  # chol() warns of rank deficiency, which is legal here.
  R <- suppressWarnings(chol(V, pivot = TRUE))
  rank <- attr(R, "rank")
  t(R[seq_len(rank), order(attr(R, "pivot")), drop = FALSE])
}

#' One response per row, given eta: the quantile function at a uniform draw, or a custom family's own draws
#' @noRd
draw_response <- function(fit, target, eta) {
  if (!is.null(own <- custom_draws(fit, eta[, 1L]))) return(own)
  given <- list(mean = eta, variance = matrix(0, nrow(eta), ncol(eta)))
  if (is_counts(fit)) return(draw_counts(class_probabilities(fit, given),
    if (is.null(target$counts)) target$size else rowSums(target$counts)))
  u <- stats::runif(target$n)
  if (has_classes(fit)) return(as.numeric(rowSums(u > cumulated(class_probabilities(fit, given)))))
  entry <- target$censoring[, "entry"]
  if (any(late <- is_truncated(fit, entry))) {
    before <- response_moment(fit, given, "cdf", y = entry)
    u <- ifelse(late, before + (1 - before) * u, u)
  }
  response_moment(fit, given, "quantile", size = target$size, probability = u)
}

#' Multinomial counts of so many trials: N x classes
#' @noRd
draw_counts <- function(prob, size) {
  counts <- vapply(seq_len(nrow(prob)), function(n) stats::rmultinom(1L, size[n], prob[n, ])[, 1L], integer(ncol(prob)))
  `colnames<-`(t(counts), colnames(prob))
}

#' Numbers of the likelihood as the response was given
#' @noRd
as_response <- function(fit, target, y) {
  given <- stats::model.response(fit$data)
  if (is_censored(fit) || is_counts(fit)) return(y)
  if (is.matrix(given) && ncol(given) == 2L) {
    return(`colnames<-`(cbind(y, target$size - y), colnames(given)))
  }
  labels <- response_levels(fit)[y + 1]
  if (is.factor(given)) return(factor(labels, levels(given), ordered = is.ordered(given)))
  if (is.character(given)) return(labels)
  # of counts and other numbers without levels it has been taken for 0 and 1
  if (is.logical(given) && !is.null(labels)) return(labels == "TRUE")
  if (has_classes(fit)) return(utils::type.convert(labels, as.is = TRUE))
  y <- y / target$size
  whole <- is.integer(given) && is_discrete(fit) && all(y <= .Machine$integer.max)
  if (whole) as.integer(y) else y
}

# Rows of a fit to imputed data sets: each part reads them by its own design. A target has a target for each part in
# `sets`; marginals are mixtures of the parts'.

#' Marginals of eta at a target for each part, as one mixture (R/view-states.R)
#' @param parts The parts' marginals.
#' @noRd
mixed_marginals <- function(fit, parts) {
  share <- 1 / length(parts)
  moments <- mixture_moments(parts, rep(share, length(parts)))
  if (all(vapply(parts, function(part) !is.null(part$points), NA))) {
    return(c(moments, list(points = joined_points(lapply(parts, `[[`, "points")))))
  }
  states <- unlist(Map(function(fit, part) {
    lapply(marginal_states(fit, part[names(part) != "points"]), function(state) {
      state$weight <- state$weight * share
      state
    })
  }, fit$fits, parts), recursive = FALSE)
  c(moments, list(states = states))
}

# Of each part's points, whose means then have an error of a hundredth of a standard deviation at most.
most_points_of_set <- 1000L

#' Points of several parts as one list of points: coefficients of the parts are different columns
#' @noRd
joined_points <- function(parts) {
  parts <- lapply(parts, thinned_points, most_points_of_set)
  first <- parts[[1L]]
  counts <- vapply(parts, function(part) length(part$weight), 1L)
  out <- first
  for (k in seq_along(first$W)) {
    # what a part's offset has beyond the first one's is a column, too
    W <- lapply(parts, function(part) cbind(part$W[[k]], part$offset[, k] - first$offset[, k]))
    widths <- vapply(W, ncol, 1L)
    coefficients <- matrix(0, sum(counts), sum(widths))
    for (i in seq_along(parts)) {
      rows <- sum(counts[seq_len(i - 1L)]) + seq_len(counts[i])
      columns <- sum(widths[seq_len(i - 1L)]) + seq_len(widths[i])
      coefficients[rows, columns] <- cbind(parts[[i]]$coefficients[[k]], 1)
    }
    out$W[[k]] <- do.call(cbind, W)
    out$coefficients[[k]] <- coefficients
  }
  out$hyper <- do.call(rbind, lapply(parts, `[[`, "hyper"))
  out$weight <- unlist(lapply(parts, `[[`, "weight")) / length(parts)
  out
}

#' Marginals that f(part, ...) has at the same places, which each part reads by its own design
#' @noRd
marginals_of_parts <- function(fit, f, ...) {
  parts <- lapply(fit$fits, f, ...)
  out <- mixed_marginals(fit, parts)
  outside <- lapply(parts, `[[`, "outside")
  if (length(not_null(outside))) out$outside <- Reduce(`|`, outside)
  out
}

#' list(mean, variance) of what f(part, ...) has
#' @noRd
moments_of_parts <- function(fit, f, ...) mixture_moments(lapply(fit$fits, f, ...), equal_shares(fit$fits))

# The equal weights of parts.
equal_shares <- function(parts) rep(1 / length(parts), length(parts))

#' Means of numbers that f(part, ...) has
#' @noRd
mean_of_parts <- function(fit, f, ...) Reduce(`+`, lapply(fit$fits, f, ...)) / length(fit$fits)

# list(mean, covariance) of their equal mixture.
joint_of_parts <- function(parts) joint_moments(parts, equal_shares(parts))

#' The term of a part that another part's is called by the label of
#' @noRd
own_term <- function(part, spec) part$design$specs[[match(spec$label, part$design$labels)]]

#' list(mean, variance) of arrays, and means of what else there is
#' @noRd
mixed_terms <- function(parts) {
  out <- parts[[1L]]
  out[c("mean", "variance")] <- mixture_moments(parts, equal_shares(parts))
  if (!is.null(out$constant)) out$constant <- Reduce(`+`, lapply(parts, `[[`, "constant")) / length(parts)
  out
}

#' Joint covariances, K matrices, of the parts' at the same rows
#' @noRd
mixed_covariance <- function(fit, sets) {
  parts <- Map(function(part, target) {
    out <- latent_at(part, target$rows, target$n, covariance = TRUE)
    out$mean <- out$mean + target$offset
    out
  }, fit$fits, sets)
  lapply(seq_len(n_latents(fit)), function(k) {
    mixture_covariance(lapply(parts, function(p) p$mean[, k]), lapply(parts, function(p) p$covariance[[k]]),
      equal_shares(parts))
  })
}

#' f(part, how many) for each part, as many draws from each as from the others, bound by rows in random order
#' @noRd
drawn_from_parts <- function(fit, ndraws, f) {
  counts <- tabulate(sample.int(length(fit$fits))[rep_len(seq_along(fit$fits), ndraws)], length(fit$fits))
  used <- which(counts > 0)
  parts <- lapply(used, function(i) f(i, counts[i]))
  order <- sample.int(ndraws)
  if (length(dim(parts[[1L]])) < 3L) return(do.call(rbind, parts)[order, , drop = FALSE])
  names <- dimnames(parts[[1L]])
  out <- array(0, c(ndraws, dim(parts[[1L]])[-1L]), names)
  at <- split(order, rep(seq_along(used), counts[used]))
  for (i in seq_along(used)) out[at[[i]], , ] <- parts[[i]]
  out
}

#' Effects of groups and terms, as random_effects() returns them: moments over the parts
#' @noRd
mixed_effects <- function(parts) {
  out <- parts[[1L]]
  for (name in names(out)) {
    own <- lapply(parts, function(part) list(mean = part[[name]]$mean, variance = part[[name]]$sd^2))
    moments <- mixture_moments(own, equal_shares(parts))
    out[[name]]$mean[] <- moments$mean
    out[[name]]$sd[] <- sqrt(moments$variance)
  }
  out
}

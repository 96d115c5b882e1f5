# The observations beside a curve or in a picture.

#' @param splits Splits (see plot-effects.R) whose values the observations keep; the panel has those of them
#'   that have one of the values. The first one's are told apart by colour if it has several.
#' @return NULL, or list(kind, x, ..): `"classes"` with `class` (0, 1, ..) and `in_cells` (draw them between
#'   thresholds?), `"numbers"` with `y` on the panel's scale, `outlying` (logical) and `series` (which curve
#'   is theirs). `note`: what to say of them, or NULL.
#' @noRd
data_points <- function(fit, variable, splits, settings) {
  # responses of several families do not belong beside one curve
  if (is_counts(fit) || is_mixed(fit$family) || !is.null(fit$parameter) || !is.null(fit$reference)) return(NULL)
  x <- get_variable(fit$data, variable)
  own <- lapply(splits, function(split) get_variable(fit$data, split$variable))
  places <- Map(function(split, x) match(as.character(x), as.character(split$values)), splits, own)
  shown <- which(!Reduce(`|`, lapply(places, is.na), rep(FALSE, nrow(fit$data))))
  if (has_classes(fit) || has_two_classes(fit)) {
    held <- others_held(fit, c(variable$name, vapply(splits, `[[`, "", "name")))
    in_cells <- is_ordinal(fit) && settings$scale == "link" && !held && !length(splits)
    return(list(kind = "classes", x = x[shown], class = fit$model$y[shown], in_cells = in_cells,
      note = if (in_cells) "points: observations, at any height in the cell of their level"))
  }
  if (n_latents(fit) > 1L) return(NULL)
  frame <- set_variable(typical_frame(fit, nrow(fit$data)), variable, x)
  for (i in seq_along(splits)) frame <- set_variable(frame, splits[[i]]$variable, own[[i]])
  y <- partial_residuals(fit, frame_marginals(fit, frame, variance = FALSE)$mean[, 1L], settings$scale)
  outlying <- outlying(fit)
  series <- if (length(splits) && length(splits[[1L]]$values) > 1L) places[[1L]][shown]
  list(kind = "numbers", x = x[shown], y = y[shown], outlying = outlying[shown], series = series, note = c(
    if (is_volatility(fit) && settings$scale == "response") "points: |y|",
    if (is_censored(fit)) "points of censored rows: what is known of their response",
    if (any(outlying[shown])) "ringed: outside the 99% interval that the others predict"
  ))
}

#' What observations say of eta, or of the mean, at places with the posterior mean f of eta
#'
#' On the link scale f + (y - mu) d eta / d mu; on the response scale the observation less what other
#' variables and the offset do to it: times linkinv(f) / mu for log links, plus linkinv(f) - mu for others, within 0
#' and 1 where the mean is. Of
#' a volatility it is about y^2, whose mean is exp(eta), and on the response scale its root.
#' @param f An element per observation: of variables that are shown, at the observation's values.
#' @param rows Which of the observations.
#' @noRd
partial_residuals <- function(fit, f, scale, rows = seq_along(fit$model$y)) {
  family <- fit$family
  eta <- fit$posterior$mean[rows, 1L]
  y <- (fit$model$y / trials_of(fit, fit$model))[rows]
  if (is_volatility(fit)) y <- y^2
  reference <- fit$model$likelihood$constants$reference
  if (!is.null(reference)) {
    # of proportional hazards: where the cumulative hazard at y is 1
    at <- f - family_parameter(fit, "shape") * log(y / reference) - eta
    return(if (scale == "link") at else exp(at))
  }
  if (family_type(family)$times && scale == "link") return(f + log(y) - eta)
  mu <- family$linkinv(eta)
  if (scale == "link") return(f + (y - mu) / family$mu.eta(eta))
  if (!link_has(family, "rates")) {
    kept <- family$linkinv(f) + y - mu
    # shares stay shares
    return(if (is.null(link_types[[family$link]]$threshold_variance)) kept else pmin(pmax(kept, 0), 1))
  }
  scaled <- y * exp(f - eta)
  if (is_volatility(fit)) sqrt(scaled) else scaled
}

#' Observations that a robust family takes for outliers: outside the 99% interval that the others predict
#' @noRd
outlying <- function(fit) {
  outside <- stats::setNames(rep(FALSE, nrow(fit$data)), row.names(fit$data))
  if (!family_type(fit$family)$robust || !is.null(fit$parameter)) return(unname(outside))
  target <- loo_target(fit)
  below <- pit_limits(fit, target)$upper
  outside[target$names] <- below < 0.005 | below > 0.995
  unname(outside)
}

#' Marks of the observations beside a curve
#' @param series Names of the curves.
#' @param x_window,window What the axes show.
#' @noRd
point_marks <- function(fit, draft, series, x_window, window) {
  points <- draft$points
  if (identical(points$kind, "numbers")) return(number_marks(points, series, window))
  if (identical(points$kind, "classes")) {
    if (has_classes(fit)) return(list(class_points(fit, points, window)))
    # curves have the colours of the classes
    return(two_class_marks(fit, points, length(series) > 1L, x_window, window))
  }
  list(if (length(draft$rug)) mark("rug", data.frame(x = draft$rug), "grey20", 0.4, side = 1L, ticksize = 0.02))
}

#' The range of the points too, but for those far out, as working residuals of small counts can be, that would
#' take half the panel for themselves: the curve has to stay readable
#' @noRd
reach_of_points <- function(reach, y) {
  y <- y[can_draw(y)]
  if (!length(y)) return(reach)
  quartiles <- stats::quantile(y, c(0.25, 0.75), names = FALSE)
  far <- 3 * diff(quartiles)
  near <- range(reach, y[y >= quartiles[1L] - far & y <= quartiles[2L] + far])
  all <- range(reach, y)
  if (diff(all) <= 2 * diff(near)) all else near
}

#' Points; those beyond the panel are triangles at its edge, outliers are ringed
#' @noRd
number_marks <- function(points, series, window) {
  at <- data.frame(x = points$x, y = points$y, outlying = points$outlying)
  if (!is.null(points$series)) at$series <- factor(series[points$series], series)
  # infinity less infinity is no place
  at <- at[!is.na(at$y), ]
  many <- nrow(at) > 500
  edges <- sort(window) + c(1, -1) * 0.012 * abs(diff(window))
  side <- (at$y > edges[2L]) - (at$y < edges[1L])
  triangles <- function(of, pch) {
    beyond <- at[side == of, ]
    beyond$y <- pmin(pmax(beyond$y, edges[1L]), edges[2L])
    mark("points", beyond, fade("grey20", 0.3), pch = pch, cex = 0.6, filled = TRUE, border = fade("grey20", 0.6))
  }
  list(
    mark("points", at[side == 0, ], if (is.null(points$series)) "grey20", if (many) 0.3 else 0.45,
      cex = if (many) 0.4 else 0.7),
    triangles(-1, 25), triangles(1, 24),
    mark("points", at[side == 0 & at$outlying, ], plot_colours[2L], pch = 1, cex = 1.3)
  )
}

#' Classes of a binary response along the lower and the upper edge
#' @noRd
two_class_marks <- function(fit, points, several, x_window, window) {
  marks <- lapply(0:1, function(class) {
    colour <- if (several) "grey30" else plot_colours[class + 1L]
    inside <- window[class + 1L] + c(1, -1)[class + 1L] * 0.06 * diff(window)
    label <- data.frame(x = x_window[2L], y = inside, text = response_levels(fit)[class + 1L])
    list(
      mark("rug", data.frame(x = points$x[points$class == class]), colour, 0.6, side = c(1L, 3L)[class + 1L],
        ticksize = 0.03),
      mark("text", label, colour, adj = c(1, 0.5))
    )
  })
  unlist(marks, recursive = FALSE)
}

#' Inducing points of a term, a column for each of these inputs; NULL where it has none
#' @noRd
inducing_at <- function(fit, spec, names) {
  points <- fit$inducing[[spec$label]]
  if (is.null(points) || !all(names %in% colnames(points))) return(NULL)
  as.data.frame(points)[names]
}

inducing_note <- function(points) if (!is.null(points)) "crosses: inducing points"

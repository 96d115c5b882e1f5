# Are the predictive distributions right? Observed frequencies beside predicted probabilities, or the histogram of the
# probability integral transform.

calibration_panels <- function(fit, settings) {
  if (is_mixed(fit$family)) {
    stop_galvi("argument", paste(
      "`which = \"calibration\"` is for one family, and the columns of this fit have their own: use \"residuals\" or",
      "\"predictive\"."
    ))
  }
  plotted <- plotted_rows(fit, settings$newdata, "calibration")
  fit <- plotted$fit
  target <- plotted$target
  panel <- calibration_heads(fit, settings$newdata, target$n)
  panel$fit <- fit
  if (has_two_classes(fit)) {
    p <- response_moment(fit, latent_marginals(fit, target), "mean")
    panel$data <- reliability_table(p, target$y, settings$bins)
  } else if (has_classes(fit) && !is_ordinal(fit)) {
    panel$data <- class_reliability(fit, target, settings$bins)
  } else {
    panel$data <- pit_table(fit, target, settings$bins)
  }
  pit <- !is.null(panel$data$share)
  if (!pit) {
    event <- if (is.null(panel$data$series)) response_levels(fit)[2L] else "the class"
    panel$labels <- c(paste("predicted probability of", event), "observed frequency")
  }
  list(data = panel$data, panels = list(list(
    name = panel$name, draw = function(look) (if (pit) draw_pit else draw_reliability)(panel, look),
    gg = function() (if (pit) gg_pit else gg_reliability)(panel)
  )))
}

#' Rows with their responses that predictions are compared with: new ones, or those of the fit
#'
#' @param left_out Is each row of the fit predicted from the others?
#' @return list(fit: whose posterior predicts them, target)
#' @noRd
plotted_rows <- function(fit, newdata, which, left_out = TRUE) {
  if (is.null(newdata)) {
    check_has_rows(fit, "give `newdata`, a data frame with the response")
    # cavities are those of the factorised posterior, as in loo()
    if (left_out) fit <- factorised_view(fit)
  }
  target <- if (!is.null(newdata)) {
    new_target(fit, newdata, response = TRUE)
  } else if (left_out) loo_target(fit) else training_target(fit)
  if (is.null(target$y)) stop_galvi("newdata", sprintf("`which = \"%s\"` needs the response in `newdata`.", which))
  if (target$n == 0L) stop_galvi("newdata", no_rows_words(newdata))
  list(fit = fit, target = target)
}

no_rows_words <- function(newdata) {
  if (!is.null(newdata)) return("`newdata` has no complete rows.")
  "No row has a leave-one-out prediction: nothing but itself determines it. Give `newdata` with the response."
}

#' @param n Rows that are drawn.
#' @noRd
calibration_heads <- function(fit, newdata, n) {
  if (!is.null(newdata)) return(list(name = "Calibration on new data"))
  list(name = "Leave-one-out calibration", note = left_rows_note(fit, n))
}

left_rows_note <- function(fit, n) {
  left <- fit$nobs - n
  if (left > 0L) sprintf("without %d row%s that nothing else determines", left, if (left > 1L) "s" else "")
}

#' Observed frequencies in bins with equally many predictions, with Wilson intervals
#'
#' @param p,y Predicted probabilities; 1 where the event happened, else 0.
#' @noRd
reliability_table <- function(p, y, bins) {
  breaks <- unique(stats::quantile(p, seq(0, 1, length.out = bins + 1L), names = FALSE))
  bin <- rep(1L, length(p))
  if (length(breaks) > 1L) bin <- cut(p, breaks, include.lowest = TRUE, labels = FALSE)
  n <- as.vector(table(bin))
  observed <- as.vector(tapply(y, bin, mean))
  z <- stats::qnorm(0.975)
  centre <- (observed + z^2 / (2 * n)) / (1 + z^2 / n)
  half <- z * sqrt(observed * (1 - observed) / n + z^2 / (4 * n^2)) / (1 + z^2 / n)
  data.frame(
    predicted = as.vector(tapply(p, bin, mean)), observed = observed,
    lower = pmax(centre - half, 0), upper = pmin(centre + half, 1), n = n
  )
}

class_reliability <- function(fit, target, bins) {
  prob <- class_probabilities(fit, latent_marginals(fit, target))
  levels <- response_levels(fit)
  tables <- lapply(seq_along(levels), function(k) {
    p <- prob[, k]
    y <- as.numeric(target$y == k - 1)
    if (!is.null(target$counts)) {
      own <- target$counts[, k]
      rest <- rowSums(target$counts) - own
      p <- c(rep(p, own), rep(p, rest))
      y <- rep(1:0, c(sum(own), sum(rest)))
    }
    data <- reliability_table(p, y, bins)
    cbind(series = factor(rep(levels[k], nrow(data)), levels), data)
  })
  do.call(rbind, tables)
}

draw_reliability <- function(panel, look) {
  data <- panel$data
  classes <- if (!is.null(data$series)) response_levels(panel$fit)
  open_panel(c(0, 1), c(0, 1), panel$labels[1L], panel$labels[2L], panel$name, panel$note, look,
    right = key_room(classes))
  graphics::abline(0, 1, col = "grey50", lty = 2)
  if (is.null(classes)) return(draw_bins(data, look_colours(look, plot_colours[1L]), 0.6))
  colours <- class_colours(panel$fit, look)
  strength <- min(0.5, 1.5 / length(colours))
  for (k in seq_along(colours)) draw_bins(data[as.integer(data$series) == k, ], colours[k], strength)
  class_key(panel$fit, look, lwd = 1, pch = 19)
}

gg_reliability <- function(panel) {
  data <- panel$data
  if (is.null(data$series)) data$series <- factor("")
  gg(data, "predicted", "observed", colour = "series") +
    ggplot2::geom_abline(slope = 1, intercept = 0, linetype = 2, colour = "grey50") +
    ggplot2::geom_pointrange(columns(ymin = "lower", ymax = "upper"), size = 0.3) + ggplot2::geom_line() +
    gg_series(nlevels(data$series)) + ggplot2::coord_cartesian(xlim = 0:1, ylim = 0:1) +
    gg_labels(panel, x = panel$labels[1L], y = panel$labels[2L])
}

draw_bins <- function(data, colour, strength) {
  graphics::segments(data$predicted, data$lower, data$predicted, data$upper, col = fade(colour, strength),
    lwd = 2)
  graphics::lines(data$predicted, data$observed, col = colour)
  graphics::points(data$predicted, data$observed, pch = 19, col = colour)
}

#' Share of the probability integral transform in equal bins, 1 / bins each if the model is right
#'
#' A discrete observation spreads evenly over (P(Y < y), P(Y <= y)).
#' @noRd
pit_table <- function(fit, target, bins) {
  limits <- pit_limits(fit, target)
  breaks <- seq(0, 1, length.out = bins + 1L)
  reached <- vapply(breaks, function(u) {
    # Share of each observation's interval below u; a step where the interval is a point.
    mean(ifelse(limits$upper > limits$lower,
      pmin(pmax((u - limits$lower) / (limits$upper - limits$lower), 0), 1), as.numeric(limits$upper <= u)))
  }, 1)
  expected <- 1 / bins
  band <- stats::qbinom(c(0.025, 0.975), target$n, expected) / target$n
  data.frame(
    from = breaks[-length(breaks)], to = breaks[-1L], share = diff(replace(reached, 1L, 0)),
    lower = band[1L], upper = band[2L]
  )
}

draw_pit <- function(panel, look) {
  data <- panel$data
  open_panel(c(0, 1), c(0, 1.1 * max(data$share, data$upper)), "probability integral transform",
    "share of observations", panel$name, panel$note, look)
  usr <- graphics::par("usr")
  graphics::rect(usr[1L], data$lower[1L], usr[2L], data$upper[1L], col = fade("grey40", 0.2), border = NA)
  colour <- look_colours(look, plot_colours[1L])
  graphics::rect(data$from, 0, data$to, data$share, col = fade(colour, 0.5), border = "white")
  graphics::abline(h = 1 / nrow(data), lty = 2, col = "grey40")
}

gg_pit <- function(panel) {
  data <- panel$data
  ggplot2::ggplot(data) +
    ggplot2::annotate("rect", xmin = 0, xmax = 1, ymin = data$lower[1L], ymax = data$upper[1L], alpha = 0.2) +
    ggplot2::geom_rect(columns(xmin = "from", xmax = "to", ymax = "share"), ymin = 0, fill = plot_colours[1L],
      alpha = 0.5, colour = "white") +
    ggplot2::geom_hline(yintercept = 1 / nrow(data), linetype = 2, colour = "grey40") +
    ggplot2::expand_limits(y = 0) + gg_labels(panel, x = "probability integral transform", y = "share of observations")
}

calibration_panels <- function(fit, newdata, bins) {
  # cavities are those of the factorised posterior, as in loo()
  if (is.null(newdata)) fit <- factorised_view(fit)
  target <- if (is.null(newdata)) loo_target(fit) else new_target(fit, newdata, response = TRUE)
  if (is.null(target$y)) stop_galvi("newdata", "`which = \"calibration\"` needs the response in `newdata`.")
  if (target$n == 0L) stop_galvi("newdata", no_rows_words(newdata))
  heads <- calibration_heads(fit, newdata, target$n)
  if (has_two_classes(fit)) {
    p <- response_moment(fit, latent_marginals(fit, target), "mean")
    data <- reliability_table(p, target$y, bins)
    draw <- function(look) draw_reliability(fit, data, heads, look)
  } else if (has_classes(fit) && !is_ordinal(fit)) {
    data <- class_reliability(fit, target, bins)
    draw <- function(look) draw_class_reliability(fit, data, heads, look)
  } else {
    data <- pit_table(fit, target, bins)
    draw <- function(look) draw_pit(data, heads, look)
  }
  list(data = data, draw = list(draw))
}

no_rows_words <- function(newdata) {
  if (!is.null(newdata)) return("`newdata` has no complete rows.")
  "No row has a leave-one-out prediction: nothing but itself determines it. Give `newdata` with the response."
}

#' @param n Rows that are drawn.
#' @noRd
calibration_heads <- function(fit, newdata, n) {
  if (!is.null(newdata)) return(list(main = "Calibration on new data"))
  left <- fit$nobs - n
  list(main = "Leave-one-out calibration", note = if (left > 0L) {
    sprintf("without %d row%s that nothing else determines", left, if (left > 1L) "s" else "")
  })
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

draw_class_reliability <- function(fit, data, heads, look) {
  colours <- class_colours(fit, look)
  open_reliability("predicted probability of the class", heads, look, key_room(response_levels(fit)))
  strength <- min(0.5, 1.5 / length(colours))
  for (k in seq_along(colours)) {
    draw_bins(data[as.integer(data$series) == k, ], colours[k], strength)
  }
  class_key(fit, look, lwd = 1, pch = 19)
}

draw_reliability <- function(fit, data, heads, look) {
  event <- response_levels(fit)[2L]
  open_reliability(paste0("predicted probability of ", event), heads, look)
  draw_bins(data, look_colours(look, plot_colours[1L]), 0.6)
}

open_reliability <- function(xlab, heads, look, right = 0.15) {
  open_panel(c(0, 1), c(0, 1), xlab, "observed frequency", heads$main, heads$note, look, right)
  graphics::abline(0, 1, col = "grey50", lty = 2)
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

draw_pit <- function(data, heads, look) {
  open_panel(c(0, 1), c(0, 1.1 * max(data$share, data$upper)), "probability integral transform",
    "share of observations", heads$main, heads$note, look)
  usr <- graphics::par("usr")
  graphics::rect(usr[1L], data$lower[1L], usr[2L], data$upper[1L], col = fade("grey40", 0.2), border = NA)
  colour <- look_colours(look, plot_colours[1L])
  graphics::rect(data$from, 0, data$to, data$share, col = fade(colour, 0.5), border = "white")
  graphics::abline(h = 1 / nrow(data), lty = 2, col = "grey40")
}

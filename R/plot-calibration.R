# Are the predictive distributions right? Observed frequencies beside predicted probabilities, or the histogram of the
# probability integral transform.

calibration_panels <- function(fit, settings) {
  if (is_mixed(fit$family) || !is.null(pure_noise(fit))) {
    stop_galvi("argument", paste(
      "`which = \"calibration\"` is for one family, and the columns of this fit have their own: use \"residuals\" or",
      "\"predictive\"."
    ))
  }
  plotted <- plotted_rows(fit, settings$newdata, "calibration")
  fit <- plotted$fit
  target <- plotted$target
  heads <- calibration_heads(fit, settings$newdata, target$n)
  panel <- if (has_two_classes(fit)) {
    p <- response_moment(fit, latent_marginals(fit, target), "mean")
    reliability_panel(fit, reliability_table(p, target$y, settings$bins), heads)
  } else if (has_classes(fit) && !is_ordinal(fit)) {
    reliability_panel(fit, class_reliability(fit, target, settings$bins), heads)
  } else {
    pit_panel(pit_table(fit, target, settings$bins), heads)
  }
  list(data = panel$data, panels = list(panel))
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

reliability_panel <- function(fit, data, heads) {
  classes <- !is.null(data$series)
  event <- if (classes) "the class" else response_levels(fit)[2L]
  series <- if (classes) class_series(fit) else series_of("")
  of <- or_else(data$series, factor(rep("", nrow(data))))
  at <- data.frame(x = data$predicted, y = data$observed, series = of)
  new_panel(heads$name, data, list(
    mark("rule", data.frame(slope = 1), "grey50", lty = 2),
    mark("segments", data.frame(x = at$x, y = data$lower, xend = at$x, yend = data$upper, series = of),
      alpha = if (classes) min(0.5, 1.5 / length(series$names)) else 0.6, lwd = 2),
    mark("line", at), mark("points", at)
  ), c(paste("predicted probability of", event), "observed frequency"), heads$note, c(0, 1), c(0, 1), series = series,
    key = if (classes) class_key(fit, lwd = 1, pch = 19))
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

pit_panel <- function(data, heads) {
  # the band goes to the edges of the panel
  ends <- window_of(0:1)
  new_panel(heads$name, data, list(
    mark("bars", data.frame(from = ends[1L], to = ends[2L], low = data$lower, high = data$upper)[1L, ], "grey40", 0.2),
    mark("bars", data.frame(from = data$from, to = data$to, low = 0, high = data$share), own_colours(plot_colours[1L]),
      0.5, border = "white"),
    mark("rule", data.frame(horizontal = 1 / nrow(data)), "grey40", lty = 2)
  ), c("probability integral transform", "share of observations"), heads$note, c(0, 1),
    c(0, 1.1 * max(data$share, data$upper)))
}

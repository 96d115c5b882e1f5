# Quantile residuals against the quantiles of the standard normal distribution: as they are (QQ), or their distance from
# the line (the worm plot).

# More points than these hide each other.
most_points <- 5000L

qq_panels <- function(fit, settings) residual_panels(fit, settings, "residuals", qq_panel)

worm_panels <- function(fit, settings) residual_panels(fit, settings, "worm", worm_panel)

#' A panel for all residuals, or for each group of a variable
#' @noRd
residual_panels <- function(fit, settings, which, make) {
  residuals <- plotted_residuals(fit, settings$newdata, which)
  groups <- residual_groups(fit, residuals, settings)
  data <- do.call(rbind, lapply(levels(groups), function(group) {
    one <- which(groups == group)
    if (length(one)) cbind(group = rep(group, length(one)), qq_table(residuals$value[one], settings$level))
  }))
  data$group <- factor(data$group, levels(groups))
  title <- paste(if (which == "worm") "Worm plot of" else "QQ plot of", residuals$name)
  kept <- Filter(function(group) any(data$group == group), levels(groups))
  panels <- lapply(kept, function(group) {
    own <- data[data$group == group, -1L]
    make(own, normal_band(nrow(own), settings$level), if (length(kept) > 1L) group else title, join_notes(
      if (length(kept) > 1L) sprintf("%d rows", nrow(own)), residuals$note,
      sprintf("band: pointwise %s%%", format(100 * settings$level)),
      if (which == "worm") "curve: cubic fit", if (nrow(own) > most_points) {
        sprintf("%s of %s points", whole_words(most_points), whole_words(nrow(own)))
      }
    ))
  })
  if (nlevels(groups) == 1L) data$group <- NULL
  list(data = data, panels = panels)
}

#' Residuals of the rows from predictions that have not used them
#'
#' Rows of weight zero are left out, and one that stands for several like it (a whole weight) is there as often.
#' @return list(value, names: of their rows, name, note)
#' @noRd
plotted_residuals <- function(fit, newdata, which) {
  what <- sprintf("`which = \"%s\"`", which)
  if (is_counts(fit)) {
    stop_galvi("argument", sprintf(paste(
      "%s is for responses that are numbers or one of several classes, not for counts of classes: use",
      "\"calibration\" or \"predictive\"."
    ), what))
  }
  plotted <- plotted_rows(as_long(fit), newdata, which)
  fit <- plotted$fit
  target <- plotted$target
  names <- if (is.null(target$omitted)) target$names else target$names[-target$omitted]
  target$marginals <- latent_marginals(fit, target)
  weights <- if (is.null(newdata)) fit$model$weights[match(names, row.names(fit$data))] else target$weights
  row <- repeated_rows(or_else(weights, rep(1, target$n)))
  if (!length(row)) stop_galvi("argument", sprintf("%s needs a row whose weight is not zero.", what))
  list(
    value = by_part(fit, parts_of(fit, target)[row], function(view, rows) {
      quantile_residuals(view, target_at(target, row[rows]))
    }),
    names = names[row],
    name = if (is.null(newdata)) "leave-one-out quantile residuals" else "quantile residuals of new data",
    note = if (is.null(newdata)) left_rows_note(fit, target$n)
  )
}

#' Rows, those of weight zero left out and those of other whole weights as often as they count
#' @noRd
repeated_rows <- function(weights, most = 1e5) {
  used <- which(weights > 0)
  whole <- all(weights == round(weights)) && sum(weights) <= most
  if (whole) rep(used, weights[used]) else used
}

as_long <- function(fit) if (inherits(fit, "galvi_wide")) long_view(fit) else fit

#' Which part of a family with several each row has; 1 of others
#' @noRd
parts_of <- function(fit, target) {
  if (!has_parts(fit)) return(rep(1L, target$n))
  part_of_rows(fit, fit$data)[match(target$names, row.names(fit$data))]
}

#' Some rows of a target whose marginals are known
#' @noRd
target_at <- function(target, at) {
  target <- take_row_numbers(target, at)
  target$names <- target$names[at]
  between <- function(part) {
    if (!is.null(part$between)) part$between <- part$between[at, , , drop = FALSE]
    part
  }
  target$marginals <- between(marginal_rows(target$marginals, at))
  target$marginals$states <- lapply(target$marginals$states, between)
  if (!length(target$marginals$states)) target$marginals$states <- NULL
  target[c("rows", "offset")] <- NULL
  target$n <- length(at)
  target
}

# Groups of a number: as many rows in each.
residual_intervals <- 4L

#' The group of each residual: levels of `by`, quarters of a number
#' @noRd
residual_groups <- function(fit, residuals, settings) {
  by <- settings$by
  if (is.null(by)) return(factor(rep(1L, length(residuals$value))))
  data <- if (is.null(settings$newdata)) fit$data else as_new_data(settings$newdata)
  known <- names(data)[vapply(data, function(x) is.null(dim(x)), NA)]
  if (is.null(settings$newdata)) known <- setdiff(known, names(data)[1L])
  by <- check_choice(by, known, "by")
  x <- data[[by]][match(residuals$names, row.names(data))]
  if (is_grouping(x)) return(factor(paste(by, "=", x), paste(by, "=", sort(unique(x)))))
  shares <- seq(0, 1, length.out = residual_intervals + 1L)
  breaks <- unique(stats::quantile(x, shares, names = FALSE, type = 1, na.rm = TRUE))
  if (length(breaks) < 3L) return(factor(rep(by, length(x))))
  groups <- cut(as.numeric(x), as.numeric(breaks), include.lowest = TRUE, labels = FALSE)
  # a group is called after the values that are in it
  ends <- vapply(sort(unique(groups)), function(group) {
    paste(format(range(x[which(groups == group)]), digits = 3L, trim = TRUE), collapse = " to ")
  }, "")
  factor(groups, labels = make.unique(paste0(by, ": ", ends)))
}

# ---- numbers ----

#' Residuals in their order beside the normal quantiles of (i - 1/2) / n, with the limits of the i-th of n
#' @noRd
qq_table <- function(residuals, level) {
  n <- length(residuals)
  band <- normal_band(n, level, (seq_len(n) - 0.5) / n)
  data.frame(theoretical = band$at, residual = sort(residuals), lwr = band$lower, upr = band$upper)
}

#' Where a share `level` of the order statistics of n standard normal numbers lie: they are the quantiles of Beta(i, n +
#' 1 - i) numbers, i = n p + 1/2 between the ranks too
#' @noRd
normal_band <- function(n, level, p = stats::pnorm(seq(-1, 1, length.out = 101L) * stats::qnorm(1 - 0.5 / n))) {
  if (n == 1L) p <- 0.5
  rank <- n * p + 0.5
  limit <- function(q) {
    # from the nearer end, where nothing is rounded to one
    low <- stats::qnorm(stats::qbeta(q, rank, n + 1 - rank))
    high <- -stats::qnorm(stats::qbeta(1 - q, n + 1 - rank, rank))
    ifelse(p < 0.5, low, high)
  }
  data.frame(at = stats::qnorm(p), lower = limit(tails(level)[1L]), upper = limit(tails(level)[2L]))
}

#' Few enough points: those at both ends, others evenly
#' @noRd
thinned <- function(data) {
  n <- nrow(data)
  if (n <= most_points) return(data)
  ends <- most_points %/% 10L
  middle <- seq(ends + 1, n - ends, length.out = most_points - 2L * ends)
  data[c(seq_len(ends), round(middle), n - ends + seq_len(ends)), ]
}

# ---- panels ----

qq_panel <- function(data, band, name, note) {
  new_panel(name, data, list(
    mark("band", data.frame(x = band$at, lower = band$lower, upper = band$upper), "grey40", 0.2),
    mark("rule", data.frame(slope = 1), "grey40", lty = 2),
    residual_mark(data, data$residual)
  ), c("standard normal quantile", "quantile residual"), note, range(data$theoretical),
    range(data$residual, data$theoretical))
}

# Distances from the line, y less x of the QQ plot.
worm_panel <- function(data, band, name, note) {
  shown <- data
  data$deviation <- data$residual - data$theoretical
  band[c("lower", "upper")] <- band[c("lower", "upper")] - band$at
  new_panel(name, shown, list(
    mark("band", data.frame(x = band$at, lower = band$lower, upper = band$upper), "grey40", 0.2),
    mark("rule", data.frame(horizontal = 0), "grey40", lty = 2),
    residual_mark(data, data$deviation),
    mark("line", worm_curve(data), plot_colours[3L], lwd = 2)
  ), c("standard normal quantile", "deviation"), note, range(data$theoretical), worm_reach(data, band))
}

# All points, and the band but for its widest ends.
worm_reach <- function(data, band) {
  inner <- abs(band$at) <= 0.9 * max(abs(band$at), 1e-9)
  range(data$deviation, band$lower[inner], band$upper[inner])
}

#' A cubic polynomial through the points, as van Buuren and Fredriks draw it; NULL of few
#' @noRd
worm_curve <- function(data) {
  if (nrow(data) < 10L) return(NULL)
  x <- seq(min(data$theoretical), max(data$theoretical), length.out = 101L)
  powers <- function(x) outer(x, 0:3, `^`)
  beta <- stats::lm.fit(powers(data$theoretical), data$deviation)$coefficients
  data.frame(x = x, y = drop(powers(x) %*% beta))
}

#' Points outside the band in another colour, and open
#' @noRd
residual_mark <- function(data, y) {
  many <- nrow(data) > 500
  at <- data.frame(x = data$theoretical, y = y, outside = data$residual < data$lwr | data$residual > data$upr)
  at <- thinned(at)
  # the colour of those outside is not the user's
  colours <- own_colours(plot_colours[1L], 1L + at$outside, function(own) c(own, plot_colours[2L]))
  mark("points", at, colours, if (many) 0.5 else 0.8,
    pch = ifelse(at$outside, 1, 19), cex = if (many) 0.4 else 0.7)
}

# Posterior predictive checks: the response beside responses that the fit draws for the same rows.

# Bars of whole numbers; where these are more, a bar has several.
most_bars <- 40L

predictive_panels <- function(fit, settings) {
  own <- as_long(fit)
  target <- plotted_rows(own, settings$newdata, "predictive", left_out = FALSE)$target
  if (!is.null(pure_noise(fit))) {
    new <- drawn_residuals(fit, NULL, NULL)
    own <- new$fit
    target["marginals"] <- list(NULL)
    target[c("rows", "part", "size")] <- new$target[c("rows", "part", "size")]
  }
  check_right_censored(target)
  rows <- predictive_rows(target)
  if (!length(rows$row)) stop_galvi("argument", "`which = \"predictive\"` needs a row whose weight is not zero.")
  columns <- predictive_columns(fit, own, target, rows$row)
  bars <- vapply(columns, function(column) has_bars(column$view), NA)
  drawn <- replicates(own, target, rows$row, or_else(settings$ndraws, if (any(bars)) 200L else 20L))
  panels <- lapply(columns, predictive_panel, target, rows, drawn, settings)
  data <- lapply(panels, `[[`, "data")
  list(
    data = if (length(panels) == 1L) data[[1L]] else stats::setNames(data, vapply(panels, `[[`, "", "name")),
    panels = panels
  )
}

# ---- numbers ----

has_bars <- function(view) is_counts(view) || has_classes(view) || is_discrete(view)

predictive_panel <- function(column, target, rows, drawn, settings) {
  view <- column$view
  at <- column$at
  row <- rows$row[at]
  # more lines hide each other
  if (is.null(settings$ndraws) && !has_bars(view)) drawn <- utils::head(drawn, 20L)
  own <- list(
    y = target$y[row], size = target$size[row], weights = rows$weights[at], name = column$name,
    censoring = take_rows_of(target$censoring, row), counts = take_rows_of(target$counts, row),
    drawn = lapply(drawn, take_rows_of, at), level = settings$level
  )
  numbers <- if (is_counts(view)) {
    class_count_bars(view, own)
  } else if (has_classes(view) || !is.null(response_levels(view)) && all(own$size == 1)) {
    level_bars(view, own)
  } else if (is_discrete(view)) {
    count_bars(own)
  } else if (!is.null(own$censoring)) {
    survival_lines(own)
  } else {
    density_lines(view, own)
  }
  draws <- sprintf("%d posterior predictive draws", length(drawn))
  bars <- has_bars(view)
  note <- join_notes(
    if (bars) sprintf("intervals: %s%% of %s", format(100 * settings$level), draws) else paste("grey:", draws),
    numbers$note, rows$note
  )
  (if (bars) bars_panel else draws_panel)(numbers, column$title, note)
}

#' Bars of the observed with intervals of the replicated: data frame (name, observed, fit, lwr, upr)
#' @param observed A number for each bar. @param drawn A matrix, bars x draws.
#' @noRd
bar_table <- function(name, observed, drawn, level) {
  limits <- apply(drawn, 1L, stats::quantile, c(0.5, tails(level)), names = FALSE)
  data.frame(value = name, observed = as.vector(observed), fit = limits[1L, ], lwr = limits[2L, ], upr = limits[3L, ])
}

#' Numbers of the bars from `bin`, a function of a response that gives each row's bar
#' @noRd
binned <- function(own, names, bin) {
  count <- function(y) {
    bar <- bin(y)
    vapply(seq_along(names), function(i) sum(own$weights[bar == i]), 0)
  }
  bar_table(names, count(own$y), vapply(own$drawn, count, numeric(length(names))), own$level)
}

height_words <- function(own) if (all(own$weights == 1)) "number of observations" else "sum of weights"

level_bars <- function(view, own) {
  levels <- response_levels(view)
  data <- binned(own, factor(levels, levels), function(y) y + 1)
  list(data = data, columns = levels, labels = c(own$name, height_words(own)))
}

#' Counts of classes: their totals
#' @noRd
class_count_bars <- function(view, own) {
  levels <- response_levels(view)
  total <- function(counts) colSums(own$weights * counts)
  drawn <- vapply(own$drawn, total, numeric(length(levels)))
  list(data = bar_table(factor(levels, levels), total(own$counts), drawn, own$level), columns = levels,
    labels = c("", "total of the counts"))
}

#' Whole numbers, or shares where trials differ
#' @noRd
count_bars <- function(own) {
  share <- length(unique(own$size)) > 1L
  if (share) {
    own$y <- own$y / own$size
    own$drawn <- lapply(own$drawn, `/`, own$size)
    width <- 0.05
    low <- 0
    bars <- 20L
  } else {
    all <- unlist(own$drawn)
    low <- min(own$y, all)
    # a few draws far out do not set the scale
    high <- max(own$y, stats::quantile(all, 0.999, names = FALSE, type = 1))
    # nor do the largest of many
    if (high - low >= most_bars) high <- stats::quantile(c(own$y, all), 0.98, names = FALSE, type = 1)
    width <- max(1, ceiling((high - low + 1) / most_bars))
    bars <- floor((high - low) / width) + 1
  }
  bin <- function(y) pmin(floor((y - low) / width + 1e-9) + 1, bars)
  data <- binned(own, low + width * (seq_len(bars) - 1), bin)
  data <- cbind(data[1L], to = data$value + width, data[-1L])
  top <- data$value[bars]
  list(
    data = data, width = width, labels = c(if (share) "share of successes" else own$name, height_words(own)),
    note = if (any(c(own$y, unlist(own$drawn)) >= top + width) && !share) {
      sprintf("the last bar is %s or more", format(top))
    }
  )
}

#' Kernel densities of y and of each draw, with one bandwidth; what can be no less than zero, or no more than one, is
#' reflected there
#' @noRd
density_lines <- function(view, own) {
  points <- family_type(view$family)$point
  note <- if (length(points)) point_note(own, points)
  away <- function(y) is.finite(y) & !y %in% points
  all <- unlist(own$drawn)
  y <- own$y[away(own$y)]
  ends <- range(y, stats::quantile(all[away(all)], c(0.005, 0.995), names = FALSE))
  width <- stats::bw.nrd0(if (length(y) > 1L) y else all[away(all)])
  free <- link_has(view$family, "same_units") || is_volatility(view)
  edges <- c(if (!free && min(ends) >= 0) 0, if (link_has(view$family, "odds") && max(ends) <= 1) 1)
  reach <- ends + c(-1, 1) * width
  if (0 %in% edges) reach[1L] <- max(reach[1L], 0)
  if (1 %in% edges) reach[2L] <- min(reach[2L], 1)
  at <- seq(reach[1L], reach[2L], length.out = 201L)
  line <- function(y, draw) {
    kept <- away(y)
    if (!any(kept)) return(NULL)
    share <- own$weights[kept] / sum(own$weights[kept])
    data.frame(draw = draw, value = at, density = kernel_density(y[kept], share, width, at, edges))
  }
  lines <- c(list(line(own$y, 0L)), Map(line, own$drawn, seq_along(own$drawn)))
  list(
    data = do.call(rbind, lines), labels = c(own$name, "density"), step = FALSE,
    note = join_notes(note, if (any(is.infinite(all))) "infinite draws are left out")
  )
}

# sum_i share_i dnorm((at - y_i) / width) / width on a fine grid, plus what an edge reflects.
kernel_density <- function(y, share, width, at, edges) {
  mirrored <- c(list(y), lapply(edges, function(edge) 2 * edge - y))
  Reduce(`+`, lapply(mirrored, function(y) {
    # of weights that add up to something else than one it would warn
    fine <- stats::density(y, width, weights = share, n = 1024L, from = min(at) - width, to = max(at) + width)
    stats::approx(fine$x, fine$y, at)$y
  }))
}

#' How often the response is at a point that has a probability of its own
#' @noRd
point_note <- function(own, points) {
  share <- function(y) 100 * stats::weighted.mean(y %in% points, own$weights)
  limits <- stats::quantile(vapply(own$drawn, share, 0), tails(own$level), names = FALSE)
  sprintf("without zeros%s: %.0f%% of the observations, %.0f%% to %.0f%% of the draws",
    if (1 %in% points) " and ones" else "", share(own$y), limits[1L], limits[2L])
}

#' Kaplan-Meier curves of the observed times and of each draw, all of whose times are observed
#' @noRd
survival_lines <- function(own) {
  entry <- own$censoring[, "entry"]
  event <- own$censoring[, "upper"] == own$censoring[, "lower"]
  last <- max(own$y)
  line <- function(y, event, draw) {
    curve <- kaplan_meier(y, event, entry, own$weights)
    kept <- curve$time <= last
    data.frame(
      draw = draw, value = c(min(0, own$y), curve$time[kept], last),
      density = c(1, curve$survival[kept], utils::tail(c(1, curve$survival[kept]), 1L))
    )
  }
  lines <- c(list(line(own$y, event, 0L)), Map(function(y, draw) line(y, rep(TRUE, length(y)), draw),
    own$drawn, seq_along(own$drawn)))
  data <- do.call(rbind, lines)
  names(data)[3L] <- "survival"
  list(data = data, labels = c("time", "probability of a longer time"), step = TRUE, note = "Kaplan-Meier estimates")
}

#' @return list(time: of the events, survival: just after them); rows are at risk after their entry
#' @noRd
kaplan_meier <- function(y, event, entry, weights) {
  time <- sort(unique(y[event]))
  left <- function(at, weights) {
    order <- order(at)
    c(0, cumsum(weights[order]))[findInterval(time, at[order], left.open = TRUE) + 1L]
  }
  # came before the time, and have not left before it
  risk <- left(entry, weights) - left(y, weights)
  died <- vapply(split(weights[event], factor(match(y[event], time), seq_along(time))), sum, 0)
  list(time = time, survival = cumprod(1 - pmin(unname(died) / risk, 1)))
}

# ---- panels ----

#' A line of the observations in front of those of the draws
#' @param numbers From density_lines() or survival_lines().
#' @noRd
draws_panel <- function(numbers, name, note) {
  data <- numbers$data
  series <- series_of(c("observed", "predicted"), c(plot_colours[1L], fade("grey40", 0.4)), own = 1L)
  at <- data.frame(x = data$value, y = data[[3L]], group = data$draw,
    series = factor(series$names[1L + (data$draw > 0)], series$names))
  at <- at[order(-at$group), ]
  at$group <- factor(at$group, unique(at$group))
  line <- function(own, lwd) mark("line", at[own, ], lwd = lwd, step = numbers$step)
  lines <- list(line(at$series == "predicted", 1), line(at$series == "observed", 2.5))
  new_panel(name, data, lines, numbers$labels, note, range(at$x), c(0, max(at$y)), series = series,
    key = list(lwd = c(2.5, 1), colours = c(NA, "grey60")))
}

#' Bars of the observations with intervals of the draws
#' @param numbers From level_bars(), class_count_bars() or count_bars().
#' @noRd
bars_panel <- function(numbers, name, note) {
  data <- numbers$data
  places <- bar_places(numbers)
  series <- series_of(c("observed", "predicted"), c(plot_colours[1L], "grey20"), own = 1L)
  one <- function(k) factor(rep(series$names[k], nrow(data)), series$names)
  new_panel(name, data, list(
    mark("bars", data.frame(from = places$from, to = places$to, low = 0, high = data$observed, series = one(1L)),
      alpha = 0.45),
    mark("segments", data.frame(x = places$at, y = data$lwr, xend = places$at, yend = data$upr, series = one(2L)),
      lwd = 2, lend = 1),
    mark("points", data.frame(x = places$at, y = data$fit, series = one(2L)), cex = if (nrow(data) > 20L) 0.6 else 0.9)
  ), numbers$labels, note, range(places$from, places$to), c(0, max(data$observed, data$upr)), columns = numbers$columns,
    series = series, key = list(alpha = c(0.45, 1), pch = c(15, 19), pt.cex = c(1.6, 0.9), lwd = c(NA, 2)))
}

#' Where bars stand: levels one after the other, numbers at their place
#' @noRd
bar_places <- function(numbers) {
  data <- numbers$data
  if (!is.null(numbers$columns)) {
    at <- seq_len(nrow(data))
    return(list(at = at, from = at - 0.35, to = at + 0.35))
  }
  # a bar of one whole number has it in its middle
  shift <- if (numbers$width == 1) 0.5 else 0
  gap <- 0.06 * numbers$width
  list(
    at = (data$value + data$to) / 2 - shift, from = data$value - shift + gap, to = data$to - shift - gap
  )
}

# Factors: the loadings of one, units and loadings along the first two.

rr_panels <- function(fit, spec, settings) {
  W <- fit$factors$loadings
  name <- if (is.null(fit$design$wide)) spec$label else sprintf("factors(%d)", ncol(W))
  if (ncol(W) > 1L) {
    panel <- list(
      data = data.frame(item = rownames(W), unname(W)), name = name, note = "arrows: loadings",
      units = scores.galvi(fit)[, 1:2], items = W[, 1:2, drop = FALSE], labels = c("factor 1", "factor 2")
    )
    panel$names <- if (nrow(panel$units) <= most_names) rownames(panel$units)
    return(list(panel_of(fit, panel, draw_factors, gg_factors)))
  }
  panel <- list(data = data.frame(item = rownames(W), loading = unname(W[, 1L])), name = name,
    labels = c("loading", ""))
  list(panel_of(fit, panel, draw_loadings, gg_loadings))
}

#' Arrows as long as the units are far out, and the reach of both
#' @param panel Its `names` are those of the units, NULL for points alone.
#' @noRd
factor_places <- function(panel) {
  z <- panel$units
  items <- 0.9 * max(abs(z)) / max(abs(panel$items), 1e-300) * panel$items
  list(units = z, items = items, reach = c(-1.15, 1.15) * max(abs(z), abs(items)))
}

draw_factors <- function(fit, panel, look) {
  at <- factor_places(panel)
  colours <- rep_len(or_else(look$col, c("grey40", plot_colours[2L])), 2L)
  open_panel(at$reach, at$reach, panel$labels[1L], panel$labels[2L], panel$name, panel$note, look, asp = 1)
  graphics::abline(h = 0, v = 0, col = "grey85")
  named <- !is.null(panel$names)
  graphics::points(at$units, pch = 19, col = fade(colours[1L], 0.6),
    cex = if (named) 0.5 else point_size(nrow(at$units)))
  graphics::arrows(0, 0, at$items[, 1L], at$items[, 2L], length = 0.06, col = colours[2L])
  texts <- factor_texts(at, panel$names)
  graphics::text(texts$x, texts$y, texts$text, cex = texts$cex, col = colours[ifelse(texts$item, 2L, 1L)])
}

#' Names beside the heads of the arrows and beside the units, each where it hides nothing: those of units without such
#' a place are left out
#' @return A data frame: text, x, y (of its middle), item, cex.
#' @noRd
factor_texts <- function(at, names) {
  if (!is.null(names)) names <- rep_len(names, nrow(at$units))
  items <- data.frame(text = rownames(at$items), at$items, item = rep(TRUE, nrow(at$items)), cex = 0.8)
  units <- data.frame(text = as.character(names), at$units[seq_along(names), , drop = FALSE],
    item = rep(FALSE, length(names)), cex = 0.75)
  base::names(items)[2:3] <- base::names(units)[2:3] <- c("x", "y")
  # the longest arrows first, then the units that are farthest out
  far_first <- function(d) d[order(-d$x^2 - d$y^2), ]
  texts <- rbind(far_first(items), far_first(units))
  inch <- graphics::par("pin") / diff(graphics::par("usr"))[c(1L, 3L)]
  wide <- text_width(texts$text, texts$cex) + 0.04
  high <- graphics::strheight(texts$text, units = "inches", cex = texts$cex) + 0.04
  ends <- matrix(graphics::par("usr"), 2L) * rep(inch, each = 2L)
  taken <- matrix(0, 0L, 4L)
  placed <- rep(FALSE, nrow(texts))
  for (i in seq_len(nrow(texts))) {
    anchor <- c(texts$x[i], texts$y[i]) * inch
    boxes <- text_boxes(anchor, wide[i], high[i], texts$item[i])
    inside <- boxes[, 1L] >= ends[1L, 1L] & boxes[, 2L] <= ends[2L, 1L] & boxes[, 3L] >= ends[1L, 2L] &
      boxes[, 4L] <= ends[2L, 2L]
    free <- inside & vapply(seq_len(nrow(boxes)), function(k) !overlaps(boxes[k, ], taken), NA)
    # an item always has its name
    if (!any(free) && !texts$item[i]) next
    box <- boxes[if (any(free)) which(free)[1L] else 1L, ]
    taken <- rbind(taken, box)
    texts[i, c("x", "y")] <- c(mean(box[1:2]), mean(box[3:4])) / inch
    placed[i] <- TRUE
  }
  texts[placed, ]
}

#' Places for a text about a point, in inches, the best first: left, right, lower and upper edge
#' @noRd
text_boxes <- function(anchor, wide, high, item) {
  outward <- anchor / max(sqrt(sum(anchor^2)), 1e-9)
  around <- rbind(c(1, 0), c(-1, 0), c(0, 1), c(0, -1), c(1, 1), c(-1, 1), c(1, -1), c(-1, -1))
  directions <- if (item) rbind(outward, around[order(-around %*% outward), ]) else around
  far <- if (item) c(1, 1.8, 2.8, 4) else c(1, 1.8)
  middles <- do.call(rbind, lapply(far, function(times) {
    step <- cbind(wide / 2 + 0.04, high / 2 + 0.03)
    # farther up or down by lines, sideways by a little
    cbind(directions[, 1L] * (step[1L] + (times - 1) * 0.1), directions[, 2L] * step[2L] * times)
  }))
  middles <- sweep(middles, 2L, anchor, `+`)
  cbind(middles[, 1L] - wide / 2, middles[, 1L] + wide / 2, middles[, 2L] - high / 2, middles[, 2L] + high / 2)
}

#' @param boxes A matrix with a row for each box: left, right, lower and upper edge.
#' @noRd
overlaps <- function(box, boxes) {
  any(box[1L] < boxes[, 2L] & box[2L] > boxes[, 1L] & box[3L] < boxes[, 4L] & box[4L] > boxes[, 3L])
}

gg_factors <- function(fit, panel) {
  at <- factor_places(panel)
  units <- data.frame(x = at$units[, 1L], y = at$units[, 2L], name = or_else(panel$names, ""))
  items <- data.frame(x = at$items[, 1L], y = at$items[, 2L], name = rownames(at$items))
  gg(units, "x", "y") + ggplot2::geom_hline(yintercept = 0, colour = "grey85") +
    ggplot2::geom_vline(xintercept = 0, colour = "grey85") +
    ggplot2::geom_point(colour = "grey40", alpha = 0.6, size = 0.8) +
    (if (!is.null(panel$names)) {
      ggplot2::geom_text(columns(label = "name"), colour = "grey40", size = 2.8, vjust = -0.5, check_overlap = TRUE)
    }) +
    ggplot2::geom_segment(columns(xend = "x", yend = "y"), items, x = 0, y = 0, colour = plot_colours[2L],
      arrow = ggplot2::arrow(length = ggplot2::unit(0.06, "inches"))) +
    ggplot2::geom_text(columns(label = "name"), data.frame(1.06 * items[1:2], name = items$name),
      colour = plot_colours[2L], size = 3.2) +
    ggplot2::coord_fixed(xlim = at$reach, ylim = at$reach, clip = "off") +
    gg_labels(panel, x = panel$labels[1L], y = panel$labels[2L])
}

draw_loadings <- function(fit, panel, look) {
  data <- panel$data[order(panel$data$loading), ]
  all <- nrow(data)
  if (all > most_rows()) data <- data[unique(round(seq(1, all, length.out = most_rows()))), ]
  open_panel(drawn_range(0, data$loading), c(0.5, nrow(data) + 0.5), panel$labels[1L], "", panel$name,
    if (nrow(data) < all) sprintf("%d of %d items, evenly through their order", nrow(data), all), look,
    rows = as.character(data$item))
  at <- seq_len(nrow(data))
  colour <- look_colours(look, plot_colours[1L])
  graphics::abline(v = 0, col = "grey60", lty = 3)
  graphics::segments(0, at, data$loading, at, col = fade(colour, 0.6), lwd = 2)
  graphics::points(data$loading, at, pch = 19, col = colour)
}

gg_loadings <- function(fit, panel) {
  data <- panel$data
  data$item <- factor(data$item, data$item[order(data$loading)])
  gg(data, "loading", "item") + ggplot2::geom_vline(xintercept = 0, linetype = 3, colour = "grey60") +
    ggplot2::geom_segment(columns(xend = "loading", yend = "item"), x = 0, colour = plot_colours[1L]) +
    ggplot2::geom_point(colour = plot_colours[1L]) + gg_labels(panel, x = panel$labels[1L], y = NULL)
}

#' @rdname galvi-factors
#' @importFrom stats biplot
#' @export
biplot.galvi <- function(x, choices = 1:2, labels = NULL, col = c("grey40", "firebrick"), main = "", xlab = NULL,
                         ylab = NULL, ...) {
  refuse_dots(list(...), biplot.galvi, "biplot()")
  check_has_factors(x, "biplot()")
  z <- scores(x)
  W <- x$factors$loadings
  if (ncol(W) < 2L) stop_galvi("argument", "biplot() needs two factors; this fit has one: plot its loadings(fit).")
  if (!is.numeric(choices) || length(choices) != 2L || !all(choices %in% seq_len(ncol(W)))) {
    stop_galvi("argument", sprintf("`choices` must be two of the %d factors.", ncol(W)))
  }
  z <- z[, choices]
  W <- W[, choices]
  if (is.null(labels)) labels <- nrow(z) <= most_names
  named <- if (is.character(labels)) labels else if (check_flag(labels, "labels")) rownames(z)
  panel <- list(
    units = z, items = W, names = named, name = main, note = "arrows: loadings", labels = sprintf("factor %d", choices)
  )
  look <- check_look(list(main = main, xlab = xlab, ylab = ylab, col = col))
  draw_panels(list(function(look) draw_factors(x, panel, look)), look, FALSE)
  invisible(list(units = z, items = W))
}

#' @rdname galvi-factors
#' @importFrom stats screeplot
#' @export
screeplot.galvi <- function(x, d = NULL, main = "", ...) {
  check_has_factors(x, "screeplot()")
  own <- ncol(x$factors$loadings)
  most <- min(nrow(x$factors$loadings) - 1L, nrow(x$factors$mean))
  if (is.null(d)) d <- seq_len(min(most, max(5L, own + 1L)))
  bad <- !is.numeric(d) || !length(d) || !all(d %in% seq_len(most))
  if (bad) stop_galvi("argument", sprintf("`d` must be whole numbers between 1 and %d, not %s.", most, describe(d)))
  frame <- parent.frame()
  fits <- lapply(d, function(k) {
    if (k == own && !...length()) return(x)
    changed <- with_rank(x$formula, k)
    eval(update.galvi(x, formula. = changed, ..., evaluate = FALSE), frame)
  })
  table <- data.frame(
    d = d, elbo = vapply(fits, `[[`, 0, "elbo"), df = vapply(fits, function(fit) attr(logLik.galvi(fit), "df"), 0)
  )
  table$penalised <- table$elbo - table$df / 2 * log(nrow(x$factors$mean))
  draw_panels(list(function(look) draw_scree(table, look)), check_look(list(main = main)), FALSE)
  invisible(table)
}

draw_scree <- function(table, look) {
  names <- c("bound", "penalised bound")
  open_panel(range(table$d), drawn_range(table$elbo, table$penalised), "number of factors", "log evidence bound", "",
    "penalised: less df / 2 log(units)", look, right = key_room(names), whole = TRUE)
  for (k in 1:2) {
    graphics::lines(table$d, table[[c("elbo", "penalised")[k]]], type = "b", pch = c(19, 17)[k], col = plot_colours[k])
  }
  margin_key(names, plot_colours[1:2], pch = c(19, 17), lwd = 1)
}

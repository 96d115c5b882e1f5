# Any panel in base graphics: a page with margins as wide as what stands in them, axes and titles, then the marks, then
# the key.

#' @param panels A list of panels.
#' @noRd
draw_panels <- function(panels, look, ask = FALSE) {
  looks <- lapply(seq_along(panels), function(i) panel_look(look, i, length(panels)))
  if (is.null(ask)) ask <- length(panels) > prod(graphics::par("mfrow")) && grDevices::dev.interactive()
  if (check_flag(ask, "ask")) {
    old_ask <- grDevices::devAskNewPage(TRUE)
    on.exit(grDevices::devAskNewPage(old_ask))
  }
  for (i in seq_along(panels)) draw_panel(panels[[i]], looks[[i]])
}

draw_panel <- function(panel, look) {
  # No margins yet: open_panel() sets them when the size of the figure is known.
  old <- graphics::par(mar = rep(0, 4), mgp = c(2.6, 0.5, 0), tcl = -0.3, las = 1, bty = "l")
  on.exit(graphics::par(old))
  graphics::plot.new()
  panel <- fewer_rows(coloured(panel, look$col), most_rows())
  open_panel(panel, look)
  for (mark in panel$marks) base_marks[[mark$kind]](mark$data, fade_some(mark_colours(mark, panel), mark$alpha), mark)
  if (panel$tight) graphics::box()
  if (!is.null(panel$key)) margin_key(panel$series, panel$key)
  if (!is.null(panel$scale)) colour_key(panel$scale)
}

fade_some <- function(colour, alpha) if (all(alpha == 1)) colour else fade(colour, alpha)

#' Margins, axes, titles and faint lines of a panel
#' @noRd
open_panel <- function(panel, look) {
  limits <- panel_limits(panel)
  xlim <- or_else(look$xlim, or_else(limits$x, c(0, 1)))
  ylim <- or_else(look$ylim, or_else(limits$y, c(0, 1)))
  bare <- panel$bare
  line <- line_inches()
  figure <- graphics::par("fin")
  right <- right_room(panel)
  rows <- row_labels(panel$rows$names)
  xlab <- or_else(look$xlab, if (bare) "" else panel$labels[1L])
  ylab <- or_else(look$ylab, if (bare) "" else panel$labels[2L])
  log <- c(x = grepl("x", panel$log), y = grepl("y", panel$log))
  numbers <- if (bare) "" else if (is.null(rows)) tick_text(ylim, log[["y"]]) else rows$text
  numbers_wide <- max(text_width(numbers, if (is.null(rows)) 1 else rows$cex))
  left <- numbers_wide + line * (if (bare) 0.3 else 0.9) + if (has_text(ylab)) 1.5 * line else 0
  # A narrow figure still has a panel.
  squeeze <- min(1, 0.7 * figure[1L] / (left + right))
  columns <- column_labels(panel$columns, figure[1L] - squeeze * (left + right))
  heads <- panel_heads(or_else(look$main, panel$name), join_notes(panel$note, columns$note))
  top <- min(line * (0.6 + heads$lines), 0.4 * figure[2L])
  below <- if (bare) 0.3 * line else if (is.null(columns)) 1.5 * line else columns$high + 0.7 * line
  bottom <- min(below + if (has_text(xlab)) 1.5 * line else 0.2 * line, 0.5 * figure[2L])
  graphics::par(mai = c(bottom, squeeze * left, top, squeeze * right), bty = if (panel$tight) "o" else "l")
  style <- if (panel$tight) "i" else "r"
  graphics::plot.window(as.numeric(xlim), as.numeric(ylim), panel$log, panel$asp, xaxs = style, yaxs = style)
  if (!bare) {
    ticks <- list(
      if (is.null(columns)) number_axis(1L, xlim, log[["x"]], panel$whole) else draw_columns(columns),
      if (is.null(rows)) number_axis(2L, ylim, log[["y"]]) else draw_rows(rows)
    )
    if (!is.null(rows)) graphics::abline(v = ticks[[1L]], col = "grey90")
    if (is.null(rows) && !panel$tight) graphics::abline(h = ticks[[2L]], col = "grey90")
    graphics::box()
  }
  axis_title(1L, xlab, is.null(look$xlab), bottom / line - 1.4)
  axis_title(2L, ylab, is.null(look$ylab), squeeze * left / line - 1.3)
  draw_heads(heads)
}

# ---- marks ----

#' Rows of each line of a mark, in the order of their first ones
#' @noRd
line_rows <- function(data) {
  of <- or_else(data$group, or_else(data$series, rep(1L, nrow(data))))
  split(seq_len(nrow(data)), factor(of, unique(of)))
}

#' At the edge of the panel or a little beyond it: what is far off need not be a number that devices take
#' @noRd
near_panel <- function(y) {
  ends <- range(graphics::par("usr")[3:4])
  if (graphics::par("ylog")) return(y)
  pmin(pmax(y, ends[1L] - diff(ends)), ends[2L] + diff(ends))
}

draw_bands <- function(data, colour, mark) {
  for (rows in line_rows(data)) {
    rows <- rows[!is.na(data$lower[rows]) & !is.na(data$upper[rows])]
    y <- near_panel(c(data$lower[rows], rev(data$upper[rows])))
    graphics::polygon(c(data$x[rows], rev(data$x[rows])), y, col = rep_len(colour, nrow(data))[rows[1L]],
      border = or_else(mark$border, NA))
  }
}

draw_lines <- function(data, colour, mark) {
  of_row <- function(x, row) rep_len(x, nrow(data))[row]
  for (rows in line_rows(data)) {
    graphics::lines(data$x[rows], data$y[rows], type = if (isTRUE(mark$step)) "s" else "l",
      col = of_row(colour, rows[1L]), lwd = of_row(or_else(mark$lwd, 1), rows[1L]),
      lty = of_row(or_else(mark$lty, 1), rows[1L]))
  }
}

draw_points <- function(data, colour, mark) {
  cex <- or_else(mark$cex, 1)
  if (isTRUE(mark$shrinks)) cex <- cex * min(1, max(0.5, mean(graphics::par("pin")) / 2.5))
  filled <- isTRUE(mark$filled)
  usr <- graphics::par("usr")
  shown <- if (!isTRUE(mark$beyond)) rep(TRUE, nrow(data)) else {
    data$x >= usr[1L] & data$x <= usr[2L] & data$y >= usr[3L] & data$y <= usr[4L]
  }
  own <- function(x) if (length(x) > 1L) x[shown] else x
  graphics::points(data$x[shown], data$y[shown], pch = own(or_else(mark$pch, 19)), cex = own(cex),
    col = if (filled) mark$border else own(colour), bg = own(colour), lwd = or_else(mark$lwd, 1),
    xpd = if (isTRUE(mark$beyond)) NA else graphics::par("xpd"))
}

draw_segments <- function(data, colour, mark) {
  if (isTRUE(mark$arrow)) {
    # arrows() warns of those shorter than a thousandth of an inch, as loadings of zero are
    long <- sqrt(((data$xend - data$x) / graphics::xinch())^2 + ((data$yend - data$y) / graphics::yinch())^2)
    data$xend[long <= 1e-3] <- NA
    return(graphics::arrows(data$x, data$y, data$xend, data$yend, length = 0.06, col = colour))
  }
  upright <- is.na(data$x) | data$x == data$xend
  for (end in c("y", "yend")) data[[end]][upright] <- near_panel(data[[end]][upright])
  graphics::segments(data$x, data$y, data$xend, data$yend, col = colour, lwd = or_else(mark$lwd, 1),
    lend = or_else(mark$lend, 0))
}

draw_rules <- function(data, colour, mark) {
  given <- stats::setNames(as.list(data), c(horizontal = "h", vertical = "v", slope = "b")[names(data)])
  if (!is.null(given$b)) given$a <- 0
  do.call(graphics::abline, c(given, list(col = colour, lty = or_else(mark$lty, 1), lwd = or_else(mark$lwd, 1))))
}

#' Thresholds across the panel, the levels between them in the right margin
#' @noRd
draw_cells <- function(data, colour, mark) {
  usr <- graphics::par("usr")
  graphics::abline(h = data$high[-nrow(data)], col = "grey35", lty = 2)
  bounds <- pmin(pmax(c(usr[3L], data$high[-nrow(data)], usr[4L]), usr[3L]), usr[4L])
  height <- graphics::strheight("Mg", cex = 0.85)
  middle <- spread_out((bounds[-1L] + bounds[-length(bounds)]) / 2, 1.2 * height, usr[3:4])
  graphics::text(usr[2L] + 0.015 * (usr[2L] - usr[1L]), middle,
    fit_text(data$text, graphics::par("mai")[4L] - 0.1, 0.85), adj = c(0, 0.5), cex = 0.85, col = colour, xpd = NA)
}

#' Ascending positions moved apart until none are nearer than `gap`, inside `range` if that has the room
#' @noRd
spread_out <- function(at, gap, range) {
  for (round in 1:50) {
    near <- which(diff(at) < 0.999 * gap)
    if (!length(near)) break
    for (i in near) {
      push <- (gap - (at[i + 1L] - at[i])) / 2
      if (push > 0) at[i + 0:1] <- at[i + 0:1] + c(-push, push)
    }
  }
  at + max(0, range[1L] - at[1L]) - max(0, at[length(at)] - range[2L])
}

#' An image: each colour is the middle of its cell, NA is blank
#' @noRd
draw_raster <- function(data, colour, mark) {
  sides <- list(unique(as.numeric(data$x)), unique(as.numeric(data$y)))
  # From white where all series are alike to the full colour where one is certain.
  if (!is.null(data$strength)) {
    mixed <- 255 + data$strength * (t(grDevices::col2rgb(colour)) - 255)
    near <- !is.na(data$strength)
    colour[near] <- grDevices::rgb(mixed[near, , drop = FALSE], maxColorValue = 255)
    colour[!near] <- NA
  }
  half <- vapply(sides, function(side) (side[2L] - side[1L]) / 2, 0)
  ends <- vapply(1:2, function(j) range(sides[[j]]) + half[j] * c(-1, 1), c(0, 0))
  # A picture has its first row on top.
  picture <- matrix(colour, length(sides[[1L]]))
  picture <- t(picture[, rev(seq_len(ncol(picture)))])
  graphics::rasterImage(picture, ends[1L, 1L], ends[1L, 2L], ends[2L, 1L], ends[2L, 2L], interpolate = TRUE)
}

#' contour() warns where a level is not reached, which is no news
#' @noRd
draw_contours <- function(data, colour, mark) {
  x <- unique(as.numeric(data$x))
  z <- matrix(data$value, length(x))
  if (all(is.na(z))) return(invisible())
  reached <- mark$at[mark$at > min(z, na.rm = TRUE) & mark$at < max(z, na.rm = TRUE)]
  if (!length(reached)) return(invisible())
  labels <- or_else(names(reached), format(reached))
  graphics::contour(x, unique(as.numeric(data$y)), z, levels = reached, labels = labels, add = TRUE, col = colour,
    lwd = mark$lwd, labcex = or_else(mark$labcex, 0.6), drawlabels = !is.null(mark$labcex))
}

draw_polygons <- function(data, colour, mark) {
  colour <- rep_len(or_else(colour, NA), nrow(data))
  for (rows in split(seq_len(nrow(data)), data$region)) {
    # NA between the parts of a region
    parts <- split(rows, data$part[rows])
    rows <- unlist(lapply(parts, c, NA), use.names = FALSE)
    rows <- rows[-length(rows)]
    graphics::polypath(data$x[rows], data$y[rows], col = colour[rows[1L]], border = mark$border, lwd = mark$lwd,
      rule = "evenodd")
  }
}

#' Names beside the heads of arrows and beside the points, each where it hides nothing: those of points without such a
#' place are left out
#' @noRd
draw_names <- function(data, colour, mark) {
  texts <- place_names(data)
  graphics::text(texts$x, texts$y, texts$text, cex = texts$cex, col = rep_len(colour, nrow(data))[texts$row])
}

#' @param data A data frame: x, y, text, item (is it of an arrow?).
#' @return A data frame: text, x, y (of its middle), item, cex, row (of `data`).
#' @noRd
place_names <- function(data) {
  texts <- data.frame(data[c("text", "x", "y", "item")], cex = ifelse(data$item, 0.8, 0.75), row = seq_len(nrow(data)))
  # the longest arrows first, then the points that are farthest out
  texts <- texts[order(!texts$item, -texts$x^2 - texts$y^2), ]
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

# Each is a function of the data, the colours of their rows (or one) and the mark.
base_marks <- list(
  band = draw_bands, line = draw_lines, points = draw_points, segments = draw_segments, rule = draw_rules,
  cells = draw_cells, raster = draw_raster, contours = draw_contours, polygons = draw_polygons, names = draw_names,
  bars = function(data, colour, mark) {
    graphics::rect(data$from, data$low, data$to, data$high, col = colour, border = or_else(mark$border, NA))
  },
  rug = function(data, colour, mark) {
    # rug() warns of ticks clipped at the edge, which is where they belong
    suppressWarnings(graphics::rug(as.numeric(data$x), mark$ticksize, mark$side, col = colour))
  },
  text = function(data, colour, mark) {
    graphics::text(data$x, data$y, data$text, adj = mark$adj, cex = 0.85, col = colour)
  }
)

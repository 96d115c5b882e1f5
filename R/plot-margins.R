# What stands in the margins of a panel in base graphics: titles, axes, keys. Margins are as wide as that, in inches.

#' Inches of a line of a margin
#' @noRd
line_inches <- function() graphics::par("cin")[2L] * graphics::par("cex") * graphics::par("mex")

text_width <- function(text, cex = 1) graphics::strwidth(text, units = "inches", cex = cex)

has_text <- function(x) is.language(x) || length(x) > 0L && any(nzchar(x))

# ---- titles ----

#' The title and the note below it, in as many lines as the width of the figure asks for
#' @noRd
panel_heads <- function(main, note) {
  main_cex <- 1.05
  # in figures of many panels R makes all text smaller
  note_cex <- min(1, max(0.8, 0.66 / graphics::par("cex")))
  main <- if (has_text(main)) wrap_text(main, main_cex)
  note <- if (has_text(note)) wrap_text(note, note_cex)
  sizes <- rep(c(main_cex, note_cex), c(length(main), length(note)))
  list(
    text = c(as.list(main), as.list(note)), size = sizes,
    colour = rep(c("black", "grey30"), c(length(main), length(note))), lines = sum(sizes) * 1.15
  )
}

wrap_text <- function(text, cex) {
  if (is.language(text)) return(if (is.expression(text)) text else list(text))
  room <- graphics::par("fin")[1L] - 0.15
  text <- unlist(strsplit(as.character(text), "\n", fixed = TRUE))
  unlist(lapply(text, function(one) {
    wide <- text_width(one, cex)
    if (wide <= room) return(one)
    # Words are of unlike widths.
    fit_text(strwrap(one, 0.95 * nchar(one) * room / wide), room, cex)
  }))
}

#' Lines above the panel and over its middle, as far as they stay in the figure
#' @noRd
draw_heads <- function(heads) {
  figure <- graphics::par("fin")[1L]
  middle <- figure * mean(graphics::par("plt")[1:2])
  heights <- rev(cumsum(rev(c(heads$size * 1.15, 0))))[-1L]
  for (i in seq_along(heads$text)) {
    text <- heads$text[[i]]
    half <- text_width(text, heads$size[i]) / 2 + 0.03
    at <- min(max(middle, half), max(figure - half, half)) / figure
    graphics::mtext(text, side = 3, line = heights[i] + 0.3, at = graphics::grconvertX(at, "nfc", "user"),
      cex = heads$size[i] * graphics::par("cex"), las = 0, col = heads$colour[i])
  }
}

# ---- axes ----

#' A title along an axis: ours is made smaller, then cut, to fit; the user's is left as it is
#' @noRd
axis_title <- function(side, text, ours, line) {
  size <- 1
  if (ours && has_text(text)) {
    room <- graphics::par("pin")[side]
    size <- min(1, max(0.75, room / text_width(text)))
    text <- fit_text(text, room, size)
  }
  graphics::mtext(text, side = side, line = line, cex = size * graphics::par("cex"), las = 0)
}

#' Texts in so many inches
#' @noRd
fit_text <- function(text, room, cex = 1) {
  wide <- text_width(text, cex)
  ifelse(wide > room, cut_text(text, pmax(6, floor(nchar(text) * room / pmax(wide, 1e-6)))), text)
}

tick_text <- function(range, log) {
  if (log) return(format_ticks(log_ticks(range)))
  ticks <- pretty(range)
  # a zero that is not quite one would be long
  or_else(attr(ticks, "labels"), format(if (is.numeric(ticks)) zapsmall(ticks, 12L) else ticks))
}

#' An axis of numbers or dates, on a log scale with ticks at powers of ten where there are three or more
#' @return Where the ticks are.
#' @noRd
number_axis <- function(side, range, log, whole = FALSE) {
  if (whole) return(graphics::axis(side, unique(round(pretty(range)))))
  if (!log) return(graphics::Axis(range, side = side))
  ticks <- log_ticks(range)
  graphics::axis(side, ticks, format_ticks(ticks))
}

log_ticks <- function(range) {
  range <- sort(log10(as.numeric(range)))
  powers <- seq(ceiling(range[1L] - 0.05), floor(range[2L] + 0.05))
  if (length(powers) < 3L) return(grDevices::axisTicks(range, log = TRUE, nint = 4))
  10^powers[(powers - powers[1L]) %% ceiling(length(powers) / 6) == 0]
}

# Powers of ten where numbers are long.
format_ticks <- function(ticks) {
  power <- floor(log10(ticks) + 1e-9)
  first <- signif(ticks / 10^power, 2L)
  if (max(abs(power)) < if (all(first == 1)) 4 else 6) {
    return(vapply(signif(ticks, 2L), format, "", scientific = 5L))
  }
  as.expression(Map(function(first, power) {
    if (first == 1) bquote(10^.(power)) else bquote(.(first) %.% 10^.(power))
  }, first, power))
}

#' The size of the smallest names of levels: 8 points, also where R makes text smaller as there are many panels
#' @noRd
smallest_text <- function() min(0.9, 8 / (graphics::par("ps") * graphics::par("cex")))

#' Names side by side: turned, smaller and cut where they need it; where even that is too much some are left
#' out, evenly
#' @return list(text, at, turned, cex, high: in inches, note), NULL without names
#' @noRd
column_labels <- function(names, room) {
  if (is.null(names)) return(NULL)
  slot <- room / (length(names) + 0.2)
  for (size in c(0.9, 0.75)) {
    if (any(text_width(names, size) + 0.7 * text_width("M", size) > slot)) next
    return(list(text = names, at = seq_along(names), turned = FALSE, cex = size, high = line_inches()))
  }
  high <- 1.35 * graphics::strheight("M", units = "inches")
  size <- min(0.9, max(smallest_text(), slot / high))
  each <- ceiling(0.99 * size * high / slot)
  at <- seq(1, length(names), by = each)
  text <- fit_text(names[at], 0.3 * graphics::par("fin")[2L], size)
  list(
    text = text, at = at, turned = TRUE, cex = size, high = max(text_width(text, size)),
    note = if (each > 1) sprintf("one name in %d is written", each)
  )
}

draw_columns <- function(columns) {
  graphics::axis(1, columns$at, FALSE)
  # mtext() leaves no name out, which axis() does.
  graphics::mtext(columns$text, side = 1, at = columns$at, line = 0.5, las = if (columns$turned) 2 else 0,
    adj = if (columns$turned) 1 else 0.5, cex = columns$cex * graphics::par("cex"))
}

#' How many names fit one above the other
#' @noRd
most_rows <- function() {
  room <- graphics::par("fin")[2L] - 5 * line_inches()
  max(3, floor(room / (smallest_text() * 1.5 * graphics::strheight("M", units = "inches"))))
}

row_labels <- function(names) {
  if (is.null(names)) return(NULL)
  size <- min(0.9, max(smallest_text(), smallest_text() * most_rows() / length(names)))
  text <- fit_text(names, 0.42 * graphics::par("fin")[1L], size)
  list(text = text, cex = size)
}

draw_rows <- function(rows) {
  at <- seq_along(rows$text)
  graphics::mtext(rows$text, side = 2, at = at, line = 0.4, las = 1,
    cex = rows$cex * graphics::par("cex"))
  at
}

# ---- keys ----

#' Inches that stand right of a panel: its key, or levels beside it
#' @noRd
right_room <- function(panel) {
  if (!is.null(panel$scale)) return(strip_room(panel$scale))
  cells <- Find(function(mark) mark$kind == "cells", panel$marks)
  key_room(c(cells$data$text, if (!is.null(panel$key)) c(panel$series$names, panel$key$title)))
}

#' Inches that a key of these names wants
#' @noRd
key_room <- function(names, mark = 0.35) {
  if (is.null(names)) return(0.15)
  min(max(text_width(names, 0.85)) + mark, 0.35 * graphics::par("fin")[1L])
}

#' The names of series with their marks, smaller where there are many; at last some are left out
#' @noRd
margin_key <- function(series, key) {
  order <- seq_along(series$names)
  if (isTRUE(key$reverse)) order <- rev(order)
  names <- series$names[order]
  title <- key$title
  colours <- unlist(Map(fade_some, key_colours(series, key), or_else(key$alpha, 1)), use.names = FALSE)[order]
  marks <- c(key[intersect(names(key), c("lwd", "pch", "pt.cex"))], series[intersect(names(series), c("lty", "pch"))])
  if (isTRUE(key$filled)) marks$pt.bg <- colours
  rows <- length(names) + 0.5 + length(title)
  room <- graphics::par("mai")[4L]
  fits <- c((room - 0.3) / max(text_width(names)), graphics::par("pin")[2L] / (1.05 * rows * line_inches()))
  cex <- min(0.85, max(smallest_text(), min(fits)))
  most <- max(2, floor(graphics::par("pin")[2L] / (cex * line_inches()) - 0.5 - length(title)))
  if (length(names) > most) {
    shown <- unique(round(seq(1, length(names), length.out = most)))
    names <- names[shown]
    colours <- colours[shown]
    marks <- lapply(marks, function(mark) if (length(mark) > 1L) mark[shown] else mark)
  }
  names <- fit_text(names, room - 0.3, cex)
  corner <- panel_corner()
  if (!is.null(title)) title <- fit_text(title, room - 0.1, cex)
  do.call(graphics::legend, c(list(
    corner$right, corner$top, names, col = if (isTRUE(key$filled)) "grey30" else colours, bty = "n", cex = cex,
    xpd = NA, xjust = 0, yjust = 1, x.intersp = 0.7, seg.len = 1, title = title, title.adj = 0.1
  ), marks))
}

#' The colours of series in their key, where it has none of its own
#' @noRd
key_colours <- function(series, key) {
  if (is.null(key$colours)) return(series$colours)
  ifelse(is.na(key$colours), series$colours, key$colours)
}

#' The upper right corner of the panel in the axes' units
#' @noRd
panel_corner <- function() {
  usr <- graphics::par("usr")
  list(
    right = if (graphics::par("xlog")) 10^usr[2L] else usr[2L],
    top = if (graphics::par("ylog")) 10^usr[4L] else usr[4L]
  )
}

# A strip of colours, its numbers and its title, in inches from the panel.
key_strip <- list(gap = 0.1, wide = 0.14, numbers = 0.06, title = 0.08)

strip_ticks <- function(scale) {
  if (isTRUE(scale$log)) {
    ticks <- log_ticks(10^scale$reach)
    return(list(at = log10(ticks), text = format_ticks(ticks)))
  }
  ticks <- pretty(scale$reach, 5)
  ticks <- ticks[ticks >= scale$reach[1L] & ticks <= scale$reach[2L]]
  list(at = ticks, text = format(ticks))
}

strip_room <- function(scale) {
  numbers <- max(text_width(strip_ticks(scale)$text, 0.8))
  key_strip$gap + key_strip$wide + key_strip$numbers + numbers + key_strip$title + 1.4 * line_inches()
}

#' A strip of colours with its numbers, right of the panel; `breaks` are drawn across it
#' @noRd
colour_key <- function(scale) {
  usr <- graphics::par("usr")
  inch <- (usr[2L] - usr[1L]) / graphics::par("pin")[1L]
  left <- usr[2L] + key_strip$gap * inch
  right <- left + key_strip$wide * inch
  graphics::rasterImage(
    as.matrix(rev(scale$palette)), left, usr[3L], right, usr[4L], interpolate = TRUE, xpd = NA
  )
  graphics::rect(left, usr[3L], right, usr[4L], border = "grey30", xpd = NA)
  height_of <- function(value) {
    usr[3L] + (value - scale$reach[1L]) / diff(scale$reach) * (usr[4L] - usr[3L])
  }
  if (!is.null(scale$breaks)) {
    graphics::segments(left, height_of(scale$breaks), right, height_of(scale$breaks), col = "white",
      lwd = 1.4, xpd = NA)
  }
  ticks <- strip_ticks(scale)
  beside <- right + key_strip$numbers * inch
  graphics::text(beside, height_of(ticks$at), ticks$text, adj = c(0, 0.5), cex = 0.8, xpd = NA)
  wide <- max(text_width(ticks$text, 0.8)) + key_strip$title + 0.5 * line_inches()
  graphics::text(beside + wide * inch, mean(usr[3:4]), fit_text(scale$title, graphics::par("fin")[2L] - 0.2, 0.9),
    srt = 90, cex = 0.9, xpd = NA)
}

# Keys right of a panel: names with their marks, or a strip of colours.

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

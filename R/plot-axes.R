# Axes: ticks, and names side by side or one above the other, as many as there is room for.

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

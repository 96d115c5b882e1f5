# Panels: margins as wide as what stands in them, axes, titles. A panel is a function of `look`, the graphical
# arguments that were given for it (R/plot-look.R).

fade <- function(colour, alpha) grDevices::adjustcolor(colour, alpha)

# ---- what can be drawn ----

# The steps of an axis and its margins have to be numbers too.
most_drawn <- 1e300

can_draw <- function(x) is.finite(x) & abs(as.numeric(x)) <= most_drawn

#' The range of all that can be drawn; NULL if nothing can
#' @noRd
drawn_range <- function(...) {
  x <- c(...)
  x <- x[can_draw(x)]
  if (length(x)) range(x)
}

#' @return What is said of a panel without some of its values, or NULL.
#' @noRd
left_out_note <- function(...) {
  drawn <- can_draw(c(...))
  if (all(drawn)) return(NULL)
  if (!any(drawn)) return(sprintf("nothing is drawn: no value is a number below %g", most_drawn))
  sprintf("not drawn: values beyond %g", most_drawn)
}

#' At the edge of the panel or a little beyond it: what is far off need not be a number that devices take
#' @noRd
near_panel <- function(y) {
  ends <- graphics::par("usr")[3:4]
  pmin(pmax(y, ends[1L] - diff(ends)), ends[2L] + diff(ends))
}

# ---- drawing panels ----

#' @param panels Functions of `look` that draw one panel each.
#' @noRd
draw_panels <- function(panels, look, ask) {
  looks <- lapply(seq_along(panels), function(i) panel_look(look, i, length(panels)))
  if (is.null(ask)) ask <- length(panels) > prod(graphics::par("mfrow")) && grDevices::dev.interactive()
  if (check_flag(ask, "ask")) {
    old_ask <- grDevices::devAskNewPage(TRUE)
    on.exit(grDevices::devAskNewPage(old_ask))
  }
  for (i in seq_along(panels)) draw_panel(panels[[i]], looks[[i]])
}

draw_panel <- function(draw, look) {
  # No margins yet: open_panel() sets them when the size of the figure is known.
  old <- graphics::par(mar = rep(0, 4), mgp = c(2.6, 0.5, 0), tcl = -0.3, las = 1, bty = "l")
  on.exit(graphics::par(old))
  graphics::plot.new()
  draw(look)
}

#' Margins, axes, titles and faint lines of a panel
#'
#' @param xlim,ylim What the panel has to show; NULL if that is nothing.
#' @param right Inches that a key wants right of the panel.
#' @param columns,rows Names along the horizontal and the vertical axis, at 1, 2, ...; NULL for numbers.
#' @param tight Does the panel end where the axes do?
#' @param whole Does the horizontal axis count?
#' @param bare No axes, as on a map.
#' @noRd
open_panel <- function(xlim, ylim, xlab, ylab, main, note, look, right = 0.15, columns = NULL, rows = NULL,
                       log = "", tight = FALSE, bare = FALSE, whole = FALSE, asp = NA) {
  xlim <- or_else(look$xlim, or_else(xlim, c(0, 1)))
  ylim <- or_else(look$ylim, or_else(ylim, c(0, 1)))
  line <- line_inches()
  figure <- graphics::par("fin")
  rows <- row_labels(rows)
  xlab <- or_else(look$xlab, if (bare) "" else xlab)
  ylab <- or_else(look$ylab, if (bare) "" else ylab)
  numbers <- if (bare) "" else if (is.null(rows)) tick_text(ylim, grepl("y", log)) else rows$text
  numbers_wide <- max(text_width(numbers, if (is.null(rows)) 1 else rows$cex))
  left <- numbers_wide + line * (if (bare) 0.3 else 0.9) + if (has_text(ylab)) 1.5 * line else 0
  # A narrow figure still has a panel.
  squeeze <- min(1, 0.7 * figure[1L] / (left + right))
  columns <- column_labels(columns, figure[1L] - squeeze * (left + right))
  heads <- panel_heads(or_else(look$main, main), join_notes(note, columns$note))
  top <- min(line * (0.6 + heads$lines), 0.4 * figure[2L])
  below <- if (bare) 0.3 * line else if (is.null(columns)) 1.5 * line else columns$high + 0.7 * line
  bottom <- min(below + if (has_text(xlab)) 1.5 * line else 0.2 * line, 0.5 * figure[2L])
  graphics::par(mai = c(bottom, squeeze * left, top, squeeze * right), bty = if (tight) "o" else "l")
  style <- if (tight) "i" else "r"
  graphics::plot.window(as.numeric(xlim), as.numeric(ylim), log, asp, xaxs = style, yaxs = style)
  if (!bare) {
    ticks <- list(
      if (is.null(columns)) number_axis(1L, xlim, grepl("x", log), whole) else draw_columns(columns),
      if (is.null(rows)) number_axis(2L, ylim, grepl("y", log)) else draw_rows(rows)
    )
    if (!is.null(rows)) graphics::abline(v = ticks[[1L]], col = "grey90")
    if (is.null(rows) && !tight) graphics::abline(h = ticks[[2L]], col = "grey90")
    graphics::box()
  }
  axis_title(1L, xlab, is.null(look$xlab), bottom / line - 1.4)
  axis_title(2L, ylab, is.null(look$ylab), squeeze * left / line - 1.3)
  draw_heads(heads)
}

#' Inches of a line of a margin
#' @noRd
line_inches <- function() graphics::par("cin")[2L] * graphics::par("cex") * graphics::par("mex")

text_width <- function(text, cex = 1) graphics::strwidth(text, units = "inches", cex = cex)

has_text <- function(x) is.language(x) || length(x) > 0L && any(nzchar(x))

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

#' Texts in so many inches: what is too long loses its middle, as names of levels often differ at their ends
#' @noRd
fit_text <- function(text, room, cex = 1) {
  wide <- text_width(text, cex)
  kept <- pmax(6, floor(nchar(text) * room / pmax(wide, 1e-6))) - 3
  tail <- kept %/% 2
  cut <- paste0(substr(text, 1L, kept - tail), "...", substr(text, nchar(text) - tail + 1, nchar(text)))
  ifelse(wide > room & nchar(cut) < nchar(text), cut, text)
}

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

# ---- marks ----

draw_band <- function(x, lower, upper, colour, strength = 0.2) {
  known <- !is.na(lower) & !is.na(upper)
  x <- x[known]
  y <- near_panel(c(lower[known], rev(upper[known])))
  graphics::polygon(c(x, rev(x)), y, col = fade(colour, strength), border = NA)
}

# What all panels are made of: the user's graphical arguments, margins as wide as what stands in them, axes,
# titles and keys. A panel is a function of `look`, the graphical arguments that were given for it.

#' Colours that stay apart for colour-blind readers (Okabe and Ito)
#' @noRd
plot_colours <- c("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")

fade <- function(colour, alpha) grDevices::adjustcolor(colour, alpha)

or_else <- function(x, default) if (is.null(x)) default else x

#' Numbers as dates or times, if `x` is of these
#' @noRd
alike <- function(numbers, x) `attributes<-`(numbers, attributes(range(x)))

# ---- the user's graphical arguments ----

#' @param look list(main, xlab, ylab, xlim, ylim, col), each NULL if it was not given
#' @noRd
check_look <- function(look) {
  for (name in c("main", "xlab", "ylab")) {
    text <- look[[name]]
    if (!is.null(text) && !is.atomic(text) && !is.language(text) || is.atomic(text) && anyNA(text)) {
      stop_galvi("argument", sprintf("`%s` must be text, not %s.", name, describe(text)))
    }
  }
  for (name in c("xlim", "ylim")) check_limits(look[[name]], name)
  colours <- tryCatch(grDevices::col2rgb(look$col), error = function(e) NULL)
  if (!is.null(look$col) && is.null(colours)) {
    stop_galvi("argument", sprintf("`col` must be colours, not %s.", describe(look$col)))
  }
  look
}

check_limits <- function(x, arg) {
  if (is.null(x) || is_continuous(x) && length(x) == 2L && all(is.finite(x)) && x[1L] != x[2L]) return(x)
  stop_galvi("argument", sprintf("`%s` must be two different numbers, not %s.", arg, describe(x)))
}

#' What of it is for panel i: titles are one for all panels or one for each
#' @noRd
panel_look <- function(look, i, count) {
  for (name in c("main", "xlab", "ylab")) {
    text <- look[[name]]
    several <- is.expression(text) || is.atomic(text)
    if (is.null(text) || !several || length(text) == 1L) next
    if (length(text) != count) {
      stop_galvi("argument", sprintf(
        "`%s` must be one title or one for each of the %d panels, not %d.", name, count, length(text)
      ))
    }
    look[[name]] <- text[i]
  }
  look
}

#' n colours: those of the user over and over, or the default ones
#' @noRd
look_colours <- function(look, default) {
  if (is.null(look$col)) default else rep_len(look$col, length(default))
}

#' A sequence of 101 colours through those of the user; one alone starts from white
#' @noRd
look_palette <- function(look, default) {
  if (is.null(look$col)) return(grDevices::hcl.colors(101, default))
  ends <- if (length(look$col) == 1L) c("white", look$col) else look$col
  grDevices::colorRampPalette(ends)(101)
}

#' At most eight are told apart by the fixed colours
#' @noRd
series_colours <- function(n, look) {
  default <- if (n <= length(plot_colours)) plot_colours[seq_len(n)] else grDevices::hcl.colors(n, "Dark 3")
  look_colours(look, default)
}

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
  note_cex <- 0.8
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

format_ticks <- function(ticks) {
  power <- log10(ticks)
  far <- max(abs(power)) >= 4 && all(abs(power - round(power)) < 1e-9)
  if (far) as.expression(lapply(round(power), function(p) bquote(10^.(p)))) else {
    vapply(signif(ticks, 2L), format, "", scientific = 5L)
  }
}

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
  size <- min(0.9, max(0.55, slot / high))
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
  max(3, floor(room / (0.6 * 1.5 * graphics::strheight("M", units = "inches"))))
}

row_labels <- function(names) {
  if (is.null(names)) return(NULL)
  size <- min(0.9, max(0.6, 0.6 * most_rows() / length(names)))
  text <- fit_text(names, 0.42 * graphics::par("fin")[1L], size)
  list(text = text, cex = size)
}

draw_rows <- function(rows) {
  at <- seq_along(rows$text)
  graphics::mtext(rows$text, side = 2, at = at, line = 0.4, las = 1,
    cex = rows$cex * graphics::par("cex"))
  at
}

# ---- keys right of a panel ----

#' Inches that a key of these names wants
#' @noRd
key_room <- function(names, mark = 0.35) {
  if (is.null(names)) return(0.15)
  min(max(text_width(names, 0.85)) + mark, 0.35 * graphics::par("fin")[1L])
}

#' Names with their marks, smaller where there are many; at last some are left out
#' @noRd
margin_key <- function(names, colours, title = NULL, ...) {
  marks <- list(...)
  rows <- length(names) + 0.5 + length(title)
  room <- graphics::par("mai")[4L]
  fits <- c((room - 0.3) / max(text_width(names)), graphics::par("pin")[2L] / (1.05 * rows * line_inches()))
  cex <- min(0.85, max(0.55, min(fits)))
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
    corner$right, corner$top, names, col = colours, bty = "n", cex = cex, xpd = NA, xjust = 0, yjust = 1,
    x.intersp = 0.7, seg.len = 1, title = title, title.adj = 0.1
  ), marks))
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

strip_ticks <- function(colours) {
  ticks <- pretty(colours$reach, 5)
  ticks <- ticks[ticks >= colours$reach[1L] & ticks <= colours$reach[2L]]
  list(at = ticks, text = format(ticks))
}

strip_room <- function(colours) {
  numbers <- max(text_width(strip_ticks(colours)$text, 0.8))
  key_strip$gap + key_strip$wide + key_strip$numbers + numbers + key_strip$title + 1.4 * line_inches()
}

#' A strip of colours with its scale, right of the panel; `breaks` are drawn across it
#' @noRd
colour_key <- function(colours, title) {
  usr <- graphics::par("usr")
  inch <- (usr[2L] - usr[1L]) / graphics::par("pin")[1L]
  left <- usr[2L] + key_strip$gap * inch
  right <- left + key_strip$wide * inch
  graphics::rasterImage(
    as.matrix(rev(colours$palette)), left, usr[3L], right, usr[4L], interpolate = TRUE, xpd = NA
  )
  graphics::rect(left, usr[3L], right, usr[4L], border = "grey30", xpd = NA)
  height_of <- function(value) {
    usr[3L] + (value - colours$reach[1L]) / diff(colours$reach) * (usr[4L] - usr[3L])
  }
  if (!is.null(colours$breaks)) {
    graphics::segments(left, height_of(colours$breaks), right, height_of(colours$breaks), col = "white",
      lwd = 1.4, xpd = NA)
  }
  ticks <- strip_ticks(colours)
  beside <- right + key_strip$numbers * inch
  graphics::text(beside, height_of(ticks$at), ticks$text, adj = c(0, 0.5), cex = 0.8, xpd = NA)
  wide <- max(text_width(ticks$text, 0.8)) + key_strip$title + 0.5 * line_inches()
  graphics::text(beside + wide * inch, mean(usr[3:4]), fit_text(title, graphics::par("fin")[2L] - 0.2, 0.9),
    srt = 90, cex = 0.9, xpd = NA)
}

colour_of <- function(value, colours) {
  share <- pmin(pmax((value - colours$reach[1L]) / diff(colours$reach), 0), 1)
  colours$palette[1L + round(100 * share)]
}

# ---- marks ----

draw_band <- function(x, lower, upper, colour, strength = 0.2) {
  known <- !is.na(lower) & !is.na(upper)
  x <- x[known]
  y <- near_panel(c(lower[known], rev(upper[known])))
  graphics::polygon(c(x, rev(x)), y, col = fade(colour, strength), border = NA)
}

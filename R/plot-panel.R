# A picture is data and marks. A panel is a value, what one picture shows: R/plot-base.R draws any panel in base
# graphics, R/plot-ggplot.R in ggplot2. A kind of plot (R/plot-<kind>.R) makes panels and draws nothing.

fade <- function(colour, alpha) grDevices::adjustcolor(colour, alpha)

#' A panel
#'
#' @param name Its title.
#' @param data What plot() returns of it.
#' @param marks A list of marks, those behind first; NULL among them is none.
#' @param labels Titles of the two axes.
#' @param note Words below the title, or NULL.
#' @param xlim,ylim What the axes cover; NULL for all that the marks do.
#' @param what "mean" or "sd", the argument `what` of plot().
#' @param series From series_of(), the groups that colours tell apart.
#' @param key How these are shown in the margin: list(title, lwd, pch, pt.cex, colours, alpha, filled, reverse), where
#'   each may be missing; NULL for no key.
#' @param scale The colours of values: list(reach, palette: its name, log: is the reach that of log10(value)?, title,
#'   breaks: drawn across its key, blank: the colour of no value).
#' @param columns Names along the horizontal axis at 1, 2, ...; rows: those along the vertical one, from rows_of().
#' @param log `"x"`, `"y"`, `"xy"` or `""`.
#' @param tight Does the panel end where the axes do, as an image does?
#' @param bare No axes, as on a map.
#' @param whole Does the horizontal axis count?
#' @param asp Units of y for one of x, or NA.
#' @noRd
new_panel <- function(name, data, marks, labels = c("", ""), note = NULL, xlim = NULL, ylim = NULL, what = "mean",
                      series = NULL, key = NULL, scale = NULL, columns = NULL, rows = NULL, log = "", tight = FALSE,
                      bare = FALSE, whole = FALSE, asp = NA) {
  panel <- as.list(environment())
  panel$marks <- not_null(marks)
  panel
}

#' A mark: a kind, the data that are drawn, and how
#'
#' | kind | data |
#' |:--|:--|
#' | band | x, lower, upper |
#' | line | x, y; group |
#' | points | x, y; value, a number for the panel's colours of values |
#' | segments | x, y, xend, yend |
#' | bars | from, to, low, high |
#' | rug | x |
#' | text | x, y, text |
#' | names | x, y, text, item: names beside points and heads of arrows, as many as there is room for |
#' | rule | horizontal, vertical or slope: one of them |
#' | cells | low, high, text: levels on a continuous scale, beside the panel; thresholds between them |
#' | raster | x, y, value, or series and strength |
#' | contours | x, y, value; `at`: their heights |
#' | polygons | x, y, region, part; value |
#'
#' `series` in the data is a factor of the panel's series. Images and contours have each x with each y, the x of a row
#' after each other.
#' @param colour Instead of those of series: one, or one for each row, or from own_colours().
#' @param alpha How opaque it is.
#' @param ... What else a back end has to know: lwd, lty, pch, cex, lend, step (a line), filled and border (points),
#'   shrinks (points are smaller in a small panel), beyond (points at the edge are drawn whole, those beyond it not at
#'   all), side and ticksize (a rug), adj (a text), arrow (segments), labcex (contours: the size of their labels, none
#'   without it).
#' @noRd
mark <- function(kind, data, colour = NULL, alpha = 1, ...) {
  if (!NROW(data)) return(NULL)
  list(kind = kind, data = data, colour = colour, alpha = alpha, ...)
}

# ---- colours ----

#' Colours that stay apart for colour-blind readers (Okabe and Ito)
#' @noRd
plot_colours <- c("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")

#' At most eight are told apart by the fixed colours
#' @noRd
series_colours <- function(n) {
  if (n <= length(plot_colours)) plot_colours[seq_len(n)] else grDevices::hcl.colors(n, "Dark 3")
}

#' @param names Of the series. @param own How many of the colours give way to the user's.
#' @param ... pch, lty, lwd: one for each series.
#' @noRd
series_of <- function(names, colours = series_colours(length(names)), own = length(names), ...) {
  list(names = names, colours = colours, own = own, ...)
}

#' Colours that give way to those of the user, taken over and over
#' @param at Which of them each row has. @param change What becomes of them then.
#' @noRd
own_colours <- function(colours, at = seq_along(colours), change = identity) {
  list(colours = colours, at = at, change = change)
}

#' @param col The user's colours or NULL.
#' @noRd
user_colours <- function(default, col) if (is.null(col)) default else rep_len(col, length(default))

#' A panel whose colours are those of the user: of its series, marks and values
#' @noRd
coloured <- function(panel, col) {
  if (!is.null(panel$series)) {
    own <- seq_len(panel$series$own)
    panel$series$colours[own] <- user_colours(panel$series$colours[own], col)
  }
  if (!is.null(panel$scale)) panel$scale$palette <- scale_palette(panel$scale$palette, col)
  panel$marks <- lapply(panel$marks, function(mark) {
    colour <- mark$colour
    if (is.list(colour)) mark$colour <- colour$change(user_colours(colour$colours, col))[colour$at]
    mark
  })
  panel
}

#' The colours of a mark's rows in a panel that is coloured()
#' @noRd
mark_colours <- function(mark, panel) {
  if (!is.null(mark$colour)) return(mark$colour)
  if (!is.null(mark$data$value)) return(colour_of(mark$data$value, panel$scale))
  panel$series$colours[as.integer(mark$data$series)]
}

#' A sequence of 101 colours through those of the user; one alone starts from white
#' @noRd
scale_palette <- function(palette, col) {
  if (is.null(col)) return(grDevices::hcl.colors(101, palette))
  ends <- if (length(col) == 1L) c("white", col) else col
  grDevices::colorRampPalette(ends)(101)
}

#' @param scale That of a panel that is coloured().
#' @noRd
colour_of <- function(value, scale) {
  if (isTRUE(scale$log)) value <- log10(value)
  share <- pmin(pmax((value - scale$reach[1L]) / diff(scale$reach), 0), 1)
  colour <- scale$palette[1L + round(100 * share)]
  if (!is.null(scale$blank)) colour[is.na(colour)] <- scale$blank
  colour
}

#' Colours along the values
#' @noRd
sequence_of <- function(values, palette) {
  # All of an image may be blank.
  if (all(is.na(values))) values <- 0
  reach <- range(values, na.rm = TRUE)
  # A flat surface still needs a range.
  list(reach = reach + c(-1, 1) * 1e-9 * (1 + max(abs(reach))), palette = palette)
}

#' The same on a logarithmic scale, where positive values differ by factors: of intensities, which are near zero
#' between clusters. Values below a thousandth of the largest have the first colour.
#' @noRd
log_sequence_of <- function(values, palette) {
  top <- suppressWarnings(max(values, na.rm = TRUE))
  low <- suppressWarnings(max(min(values, na.rm = TRUE), top / 1000))
  if (!is.finite(top) || low <= 0 || top < 10 * low) return(sequence_of(values, palette))
  list(reach = log10(c(low, top)), palette = palette, log = TRUE)
}

#' Colours that are white at zero, the same distance from it in the same strength
#' @noRd
around_zero <- function(values) {
  list(reach = c(-1, 1) * max(abs(drawn_range(values, 1e-9))), palette = "Blue-Red 3")
}

# Standard deviations have a palette of their own, as they are easily taken for the effect.
sd_palette <- "Purple-Yellow"

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

join_notes <- function(...) {
  notes <- c(...)
  if (length(notes)) paste(notes, collapse = "; ")
}

#' What a panel that covers these limits shows: a little more at both ends
#' @noRd
window_of <- function(limits) {
  limits <- or_else(limits, c(0, 1))
  limits + c(-0.04, 0.04) * as.numeric(diff(limits))
}

#' What the axes of a panel cover, list(x, y); NULL where nothing can be drawn
#' @noRd
panel_limits <- function(panel) {
  list(
    x = or_else(panel$xlim, if (is.null(panel$columns)) marks_range(panel, "x") else slots(panel$columns)),
    y = or_else(panel$ylim, if (is.null(panel$rows)) marks_range(panel, "y") else slots(panel$rows$names))
  )
}

slots <- function(names) c(0.5, length(names) + 0.5)

# The columns of a mark along an axis; rules by their name.
along_axis <- list(
  x = c("x", "xend", "from", "to", "vertical"), y = c("y", "yend", "lower", "upper", "low", "high", "horizontal")
)

marks_range <- function(panel, axis) {
  all <- lapply(panel$marks, function(mark) unclass(mark$data[intersect(names(mark$data), along_axis[[axis]])]))
  all <- unlist(all, use.names = FALSE)
  # a ratio of separated classes can be 0 to the computer
  if (grepl(axis, panel$log)) all <- all[all > 0]
  drawn_range(all)
}

# ---- rows ----

#' Names along the vertical axis, from below
#'
#' @param most At most so many. Of more, `evenly` some throughout their order are drawn, else those on top, and `note`
#'   says so: a format of how many and of how many in all.
#' @noRd
rows_of <- function(names, note, evenly = FALSE, most = Inf) {
  list(names = as.character(names), note = note, evenly = evenly, most = most)
}

#' A panel that is coloured(), with as many rows as there is room for
#' @noRd
fewer_rows <- function(panel, room = Inf) {
  rows <- panel$rows
  all <- length(rows$names)
  most <- min(room, rows$most)
  if (is.null(rows) || all <= most) return(panel)
  kept <- if (rows$evenly) unique(round(seq(1, all, length.out = most))) else seq(all - most + 1, all)
  panel$rows$names <- rows$names[kept]
  panel$note <- join_notes(panel$note, sprintf(rows$note, length(kept), whole_words(all)))
  panel$marks <- lapply(panel$marks, function(mark) {
    if (is.null(mark$data$y)) return(mark)
    row <- round(mark$data$y)
    own <- row %in% kept
    if (length(mark$colour) > 1L) mark$colour <- mark$colour[own]
    mark$data <- mark$data[own, ]
    shift <- match(row[own], kept) - row[own]
    for (name in intersect(c("y", "yend"), names(mark$data))) mark$data[[name]] <- mark$data[[name]] + shift
    mark
  })
  panel
}

#' A point in each row, with its interval
#' @param data A data frame with x, low, high and y; series where there are several.
#' @param ... Of the marks.
#' @noRd
row_marks <- function(data, colour = NULL, alpha = 0.6, cex = if (max(data$y) > 15.5) 0.6 else 0.9) {
  series <- data[intersect("series", names(data))]
  list(
    mark("segments", data.frame(x = data$low, y = data$y, xend = data$high, yend = data$y, series), colour, alpha,
      lwd = 2),
    mark("points", data[c("x", "y", names(series))], colour, cex = cex)
  )
}

# ---- the user's look ----

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

in_units <- function(what, fit) {
  if (link_has(fit$family, "same_units")) what else paste0(what, " (", link_words(fit), ")")
}

#' What a unit of eta is, where it is not the response's
#' @noRd
link_words <- function(fit) {
  if (is_volatility(fit)) return("log variance")
  if (link_has(fit$family, "odds") && !has_classes(fit)) return("log odds")
  paste(fit$family$link, "scale")
}

#' Texts of at most so many characters: what is too long loses its middle, as names of levels often differ at their ends
#' @noRd
cut_text <- function(text, most) {
  kept <- most - 3
  tail <- kept %/% 2
  cut <- paste0(substr(text, 1L, kept - tail), "...", substr(text, nchar(text) - tail + 1, nchar(text)))
  ifelse(nchar(cut) < nchar(text), cut, text)
}

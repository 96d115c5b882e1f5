# The user's graphical arguments: titles, limits and colours of panels.

#' Colours that stay apart for colour-blind readers (Okabe and Ito)
#' @noRd
plot_colours <- c("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")

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

# The user's graphical arguments: titles and limits of panels, and whether the colours are some (R/plot-panel.R).

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

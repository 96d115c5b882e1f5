# Factors: the loadings of one, units and loadings along the first two.

rr_panels <- function(fit, spec, settings) {
  W <- fit$factors$loadings
  name <- if (is.null(fit$design$wide)) spec$label else sprintf("factors(%d)", ncol(W))
  if (ncol(W) == 1L) return(list(loadings_panel(data.frame(item = rownames(W), loading = unname(W[, 1L])), name)))
  units <- scores.galvi(fit)[, 1:2]
  list(biplot_panel(units, W[, 1:2, drop = FALSE], if (nrow(units) <= most_names) rownames(units), name,
    data = data.frame(item = rownames(W), unname(W))))
}

#' Units as points and items as arrows, as long as the units are far out
#' @param units,items Matrices of two columns.
#' @param names Those of units, NULL for points alone.
#' @param choices Which factors they are.
#' @noRd
biplot_panel <- function(units, items, names, title, data = NULL, choices = 1:2) {
  colours <- c("grey40", plot_colours[2L])
  items <- 0.9 * max(abs(units)) / max(abs(items), 1e-300) * items
  reach <- c(-1.15, 1.15) * max(abs(units), abs(items))
  places <- function(at, text, item) {
    data.frame(x = at[, 1L], y = at[, 2L], text = rep_len(text, nrow(at)), item = rep(item, nrow(at)))
  }
  points <- places(units, or_else(names, ""), FALSE)
  heads <- places(items, rownames(items), TRUE)
  texts <- rbind(heads, if (!is.null(names)) points)
  new_panel(title, data, list(
    mark("rule", data.frame(horizontal = 0), "grey85"), mark("rule", data.frame(vertical = 0), "grey85"),
    mark("points", points, own_colours(colours, 1L), 0.6, shrinks = is.null(names),
      cex = if (is.null(names)) point_size(nrow(points)) else 0.5),
    mark("segments", data.frame(x = 0, y = 0, xend = heads$x, yend = heads$y), own_colours(colours, 2L), arrow = TRUE),
    mark("names", texts, own_colours(colours, ifelse(texts$item, 2L, 1L)))
  ), sprintf("factor %d", choices), "arrows: loadings", reach, reach, asp = 1)
}

loadings_panel <- function(data, name) {
  at <- data[order(data$loading), ]
  rows <- data.frame(x = at$loading, y = seq_len(nrow(at)), low = 0, high = at$loading)
  new_panel(name, data, c(
    list(mark("rule", data.frame(vertical = 0), "grey60", lty = 3)),
    row_marks(rows, own_colours(plot_colours[1L]), cex = 1)
  ), c("loading", ""), rows = rows_of(at$item, "%d of %s items, evenly through their order", evenly = TRUE))
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
  panel <- biplot_panel(z, W, named, main, choices = choices)
  draw_panels(list(panel), check_look(list(main = main, xlab = xlab, ylab = ylab, col = col)))
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
  draw_panels(list(scree_panel(table)), check_look(list(main = main)))
  invisible(table)
}

scree_panel <- function(table) {
  series <- series_of(c("bound", "penalised bound"), pch = c(19, 17))
  of <- function(k) factor(rep(series$names[k], nrow(table)), series$names)
  at <- data.frame(x = table$d, y = c(table$elbo, table$penalised), series = c(of(1L), of(2L)))
  new_panel("", table, list(mark("line", at), mark("points", at, pch = series$pch[as.integer(at$series)])),
    c("number of factors", "log evidence bound"), "penalised: less df / 2 log(units)", series = series, whole = TRUE,
    key = list(lwd = 1))
}

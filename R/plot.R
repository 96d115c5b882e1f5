#' Plots of a fit
#'
#' Base graphics, one panel at a time: on a screen you are asked before the next one, [par()] with `mfrow`
#' puts several on a page. What is drawn is also returned.
#'
#' @details
#' * `"effects"`: the linear predictor or, on the response scale, the mean response along the inputs of each
#'   term, with credible bands; variables that are not shown are at typical values (medians, the most frequent
#'   level), offsets are left out. A `gp()` of one input is a curve with partial residuals (for binary
#'   responses the classes, along the edges); of two inputs an image with contours and the observations,
#'   filled in their partial residuals' colour; of more, a curve for each of the most relevant inputs.
#'   Inducing points are crosses, along a curve or in an image. Random walks are curves like those of a
#'   `gp()` of one input. Fixed effects are intervals, and so are the effects of `iid()` and `gmrf()`,
#'   without the rest of the predictor, in their order (50 of more levels); if the graph of `gmrf()` was
#'   polygons, a map of the posterior means. On the response scale numbers have a second, lighter band: the
#'   prediction interval of a new observation. Observations that a student or laplace family finds outside
#'   their 99% prediction interval are ringed; those beyond the panel are triangles at its edge.
#'
#'   Responses of several classes are shown by their probabilities: curves along one input (stacked areas if
#'   the classes are ordered) over the observations, a row of ticks per class; over two inputs the regions of
#'   the most probable class, in stronger colour where it is surer, with contours of its probability. Bands
#'   of probabilities are the quantiles of the beta distribution with their posterior mean and sd. On the link
#'   scale there is a curve or an image per latent; an ordinal response has one, with its thresholds across
#'   it, the levels beside it and, if no other variable matters, the observations in the cells of their levels
#'   (at a height that means nothing). A volatility is sd(y) with its band over |y|.
#' * `"trace"`: the bound against the steps, and the gap to its optimum on a log axis where it is known.
#' * `"relevance"`: how much the linear predictor depends on a variable. The relevance of variable j is
#'   sqrt(mean((eta(x) - eta(x'))^2) / 2), with eta the posterior mean and x' an observation x whose value of
#'   j is exchanged for another observation's: the square root of the total-effect variance, which is
#'   the standard deviation over the data of what j contributes if it only adds. It asks nothing of the
#'   kernel, so isotropic and ARD kernels compare. Terms, if there are several, and the parts of sums of
#'   kernels are measured by the standard deviation of their posterior means over the data.
#' * `"calibration"`: for binary and multi-class responses the observed frequency (of each class) in bins of
#'   the predicted probability, with 95% (Wilson) intervals; for others the histogram of the probability
#'   integral transform, which is flat if the predictive distributions are right (for counts and ordered
#'   classes the nonrandomised one of Czado, Gneiting and Held 2009), with the range that 95% of right models
#'   would give a bar. `newdata` with the response checks held-out data; without it the observations are used,
#'   which flatters.
#'
#' @param x A fit of [galvi()].
#' @param which What to draw.
#' @param terms Labels of the terms to draw the effects of; all of them if NULL.
#' @param newdata Data with the response, for `"calibration"`.
#' @param scale Scale of the effects: `"link"`, `"response"`, or `"auto"`: the response scale for multi-class
#'   families and volatilities, and for counts and other numbers with a link where a panel shows all
#'   variables; else the link scale.
#' @param level Probability of credible bands.
#' @param n Points along a curve (and half as many along the sides of an image).
#' @param max_inputs Inputs shown of a `gp()` of three or more.
#' @param bins Number of bins for `"calibration"`.
#' @param ask Ask before each panel; by default if there are several and the device is a screen.
#' @param ... Must be empty.
#' @return The data drawn, invisibly: for `"effects"` a named list with a data frame per panel (columns named
#'   like the variables; `fit`, `lwr`, `upr`, but `fit` alone for class regions; `y_lwr` and `y_upr` where
#'   there is a prediction band; `series` where there are several curves); else a data frame, for
#'   `"relevance"` with columns `kind` (`"input"`, `"term"`, `"part"`), `name` and `relevance`.
#' @references Czado, C., Gneiting, T. and Held, L. (2009). Predictive model assessment for count data.
#'   Biometrics 65, 1254-1261.
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' plot(fit)
#' plot(fit, "calibration")
#' @export
plot.galvi <- function(x, which = c("effects", "trace", "relevance", "calibration"), terms = NULL,
                       newdata = NULL, scale = c("auto", "link", "response"), level = 0.95, n = 101,
                       max_inputs = 6, bins = 10, ask = NULL, ...) {
  check_no_dots(list(...), setdiff(names(formals(plot.galvi)), "..."), "plot()")
  which <- first_choice(which, c("effects", "trace", "relevance", "calibration"), "which")
  if (!is.null(newdata) && which != "calibration") {
    stop_galvi("argument", sprintf(
      "`newdata` is for which = \"calibration\"; %s are drawn from the fit.",
      if (which == "trace") "traces" else which
    ))
  }
  settings <- list(
    scale = first_choice(scale, c("auto", "link", "response"), "scale"), level = check_level(level),
    n = check_whole(n, "n", 3), max_inputs = check_whole(max_inputs, "max_inputs")
  )
  panels <- switch(which,
    effects = effect_panels(x, terms, settings),
    trace = trace_panels(x),
    relevance = relevance_panels(x),
    calibration = calibration_panels(x, newdata, check_whole(bins, "bins", 2))
  )
  if (is.null(ask)) ask <- length(panels$draw) > prod(graphics::par("mfrow")) && grDevices::dev.interactive()
  if (check_flag(ask, "ask")) {
    old_ask <- grDevices::devAskNewPage(TRUE)
    on.exit(grDevices::devAskNewPage(old_ask))
  }
  for (draw in panels$draw) draw_panel(draw)
  invisible(panels$data)
}

# ---- shared by the panels: each is a function without arguments that draws one plot ----

#' Colours that stay apart for colour-blind readers (Okabe and Ito)
#' @noRd
plot_colours <- c("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")

fade <- function(colour, alpha) grDevices::adjustcolor(colour, alpha)

draw_panel <- function(draw) {
  old <- graphics::par(mar = c(4.1, 4.4, 3, 1.2), mgp = c(2.6, 0.6, 0), tcl = -0.3, las = 1, bty = "l",
    cex.main = 1.05, font.main = 1)
  on.exit(graphics::par(old))
  draw()
}

#' An empty panel with faint horizontal lines, its left margin as wide as its numbers need
#' @noRd
open_panel <- function(xlim, ylim, xlab, ylab, main, note = NULL, ...) {
  numbers <- if (isTRUE(grepl("y", list(...)$log))) "1e-00" else format(pretty(ylim))
  wide <- max(graphics::strwidth(numbers, units = "inches", cex = graphics::par("cex.axis")))
  line <- graphics::par("csi")
  # No restoring: draw_panel() does.
  graphics::par(mai = replace(graphics::par("mai"), 2L, wide + 2.6 * line))
  graphics::plot(xlim, ylim, type = "n", xlab = fitting(xlab, "width"), ylab = "", ...)
  graphics::title(ylab = fitting(ylab, "height"), line = wide / line + 1.2)
  panel_title(main, note)
  graphics::grid(nx = NA, ny = NULL, col = "grey90", lty = 1)
}

panel_title <- function(main, note = NULL) {
  graphics::title(main = shorten(main, 70L), line = if (is.null(note)) 1 else 1.6)
  if (!is.null(note)) {
    graphics::mtext(note, side = 3, line = 0.4, cex = 0.8 * graphics::par("cex"), col = "grey30")
  }
}

draw_band <- function(x, lower, upper, colour, strength = 0.2) {
  graphics::polygon(c(x, rev(x)), c(lower, rev(upper)), col = fade(colour, strength), border = NA)
}

#' An axis' title cut to the length of the axis
#' @noRd
fitting <- function(text, side) {
  room <- graphics::par("pin")[if (side == "width") 1L else 2L]
  long <- graphics::strwidth(text, units = "inches", cex = graphics::par("cex.lab"))
  if (length(text) && long > room) shorten(text, max(8L, floor(nchar(text) * room / long))) else text
}

shorten <- function(text, width = 50L) {
  long <- nchar(text) > width
  ifelse(long, paste0(substr(text, 1L, width - 3L), "..."), text)
}

in_units <- function(what, fit) {
  if (fit$family$link == "identity") what else paste0(what, " (", link_words(fit), ")")
}

#' What a unit of eta is, where it is not the response's
#' @noRd
link_words <- function(fit) {
  if (is_volatility(fit)) return("log variance")
  if (fit$family$link == "logit" && !has_classes(fit)) return("log odds")
  paste(fit$family$link, "scale")
}

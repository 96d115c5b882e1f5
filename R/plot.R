#' Plots of a fit
#'
#' Base graphics, one panel at a time: on a screen you are asked before the next one, [par()] with `mfrow`
#' puts several on a page. What is drawn is also returned.
#'
#' @details
#' * `"effects"`: the linear predictor (or, with `scale = "response"`, the mean response) along the inputs of
#'   each term, with credible bands; variables that are not shown are at typical values (medians, the most
#'   frequent level), offsets are left out. A `gp()` of one input is a curve with partial residuals (for
#'   binary responses the classes, along the edges); of two inputs an image with contours and the
#'   observations, filled in their partial residuals' colour; of more, a curve for each of the most relevant
#'   inputs. Fixed effects are intervals.
#' * `"trace"`: the bound against the steps, and the gap to its optimum on a log axis where it is known.
#' * `"relevance"`: how much the linear predictor depends on a variable. The relevance of variable j is
#'   sqrt(mean((eta(x) - eta(x'))^2) / 2), with eta the posterior mean and x' an observation x whose value of
#'   j is exchanged for another observation's: the square root of the total-effect variance, which is
#'   the standard deviation over the data of what j contributes if it only adds. It asks nothing of the
#'   kernel, so isotropic and ARD kernels compare. Terms, if there are several, and the parts of sums of
#'   kernels are measured by the standard deviation of their posterior means over the data.
#' * `"calibration"`: for binary responses the observed frequency in bins of the predicted probability, with
#'   95% (Wilson) intervals; for others the histogram of the probability integral transform, which is flat if
#'   the predictive distributions are right (for discrete responses the nonrandomised one of Czado, Gneiting
#'   and Held 2009), with the range that 95% of right models would give a bar. `newdata` with the response
#'   checks held-out data; without it the observations are used, which flatters.
#'
#' @param x A fit of [galvi()].
#' @param which What to draw.
#' @param terms Labels of the terms to draw the effects of; all of them if NULL.
#' @param newdata Data with the response, for `"calibration"`.
#' @param scale Scale of the effects: `"link"` or `"response"` (one latent value per observation only).
#' @param level Probability of credible bands.
#' @param n Points along a curve (and half as many along the sides of an image).
#' @param max_inputs Inputs shown of a `gp()` of three or more.
#' @param bins Number of bins for `"calibration"`.
#' @param ask Ask before each panel; by default if there are several and the device is a screen.
#' @param ... Must be empty.
#' @return The data drawn, invisibly: for `"effects"` a named list with a data frame per panel (columns named
#'   like the variables; `fit`, `lwr`, `upr`; `series` where there are several curves); else a data frame, for
#'   `"relevance"` with columns `kind` (`"input"`, `"term"`, `"part"`), `name` and `relevance`.
#' @references Czado, C., Gneiting, T. and Held, L. (2009). Predictive model assessment for count data.
#'   Biometrics 65, 1254-1261.
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' plot(fit)
#' plot(fit, "calibration")
#' @export
plot.galvi <- function(x, which = c("effects", "trace", "relevance", "calibration"), terms = NULL,
                       newdata = NULL, scale = c("link", "response"), level = 0.95, n = 101, max_inputs = 6,
                       bins = 10, ask = NULL, ...) {
  check_no_dots(list(...), setdiff(names(formals(plot.galvi)), "..."), "plot()")
  which <- first_choice(which, c("effects", "trace", "relevance", "calibration"), "which")
  settings <- list(
    scale = first_choice(scale, c("link", "response"), "scale"), level = check_level(level),
    n = check_whole(n, "n", 3), max_inputs = check_whole(max_inputs, "max_inputs")
  )
  if (settings$scale == "response") check_no_classes(x, "`scale = \"response\"`")
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
  numbers <- if (identical(list(...)$log, "y")) "1e-00" else format(pretty(ylim))
  wide <- max(graphics::strwidth(numbers, units = "inches", cex = graphics::par("cex.axis")))
  line <- graphics::par("csi")
  # No restoring: draw_panel() does.
  graphics::par(mai = replace(graphics::par("mai"), 2L, wide + 2.6 * line))
  graphics::plot(xlim, ylim, type = "n", xlab = shorten(xlab), ylab = "", ...)
  graphics::title(ylab = shorten(ylab), line = wide / line + 1.2)
  panel_title(main, note)
  graphics::grid(nx = NA, ny = NULL, col = "grey90", lty = 1)
}

panel_title <- function(main, note = NULL) {
  graphics::title(main = shorten(main, 70L), line = if (is.null(note)) 1 else 1.6)
  if (!is.null(note)) {
    graphics::mtext(note, side = 3, line = 0.4, cex = 0.8 * graphics::par("cex"), col = "grey30")
  }
}

draw_band <- function(x, lower, upper, colour) {
  graphics::polygon(c(x, rev(x)), c(lower, rev(upper)), col = fade(colour, 0.2), border = NA)
}

shorten <- function(text, width = 50L) {
  long <- nchar(text) > width
  ifelse(long, paste0(substr(text, 1L, width - 3L), "..."), text)
}

#' What a unit of eta is
#' @noRd
link_words <- function(fit) {
  switch(fit$family$link,
    identity = "response scale",
    logit = "log odds",
    paste(fit$family$link, "scale")
  )
}

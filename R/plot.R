#' Plots of a fit
#'
#' Base graphics, one panel at a time: on a screen you are asked before the next one, [par()] with `mfrow`
#' puts several on a page. What is drawn is also returned.
#'
#' @details
#' * `"effects"`: the linear predictor or, on the response scale, the mean response along the inputs of each
#'   term, with credible bands; variables that are not shown are at typical values (medians, the most frequent
#'   level). A `gp()` of one input is a curve with partial residuals (for binary responses the classes, along
#'   the edges); of a number and a factor (or text, a logical, a number of two values) a curve for each
#'   level; of two numbers an image with contours and the observations, filled in their partial residuals'
#'   colour; of more inputs, a curve for each of the most relevant ones. Inducing points are crosses, along a
#'   curve or in an image. Random walks are curves like those of a `gp()` of one input. Fixed effects are
#'   intervals, and so are the effects of `iid()` and `gmrf()`, without the rest of the predictor, in their
#'   order (of many levels as many as can be read); with a `map`, or if the graph of `gmrf()` was polygons, a
#'   map of the posterior means. On the response scale numbers have a second, lighter band: the prediction
#'   interval of a new observation. Observations that a student or laplace family finds outside the 99%
#'   interval that the others predict are ringed; those beyond the panel are triangles at its edge.
#'
#'   Offsets are left out. On the response scale of a log link that makes rates per unit of exposure, for the
#'   observations too; there is no band of new observations, which would depend on their exposure.
#'
#'   An image is blank where the data are far, as in mgcv's `plot.gam()`: with both sides of the panel scaled
#'   to length one, where the nearest observation is further away than `too_far`.
#'
#'   Responses of several classes are shown by their probabilities: curves along one input (stacked areas if
#'   the classes are ordered) over the observations, a row of ticks per class; over two inputs the regions of
#'   the most probable class, in stronger colour where it is surer, with contours of its probability. Bands
#'   of probabilities are the quantiles of the beta distribution with their posterior mean and sd. On the link
#'   scale there is a curve or an image per latent; an ordinal response has one, with its thresholds across
#'   it, the levels beside it and, if no other variable matters, the observations in the cells of their levels
#'   (at a height that means nothing). A volatility is sd(y) with its band over |y|.
#' * `"trace"`: the bound at the end of each hyperparameter step, and apart from it the iterations of
#'   inference within these steps, by their upper bound on the optimality gap where it is known. With fixed
#'   hyperparameters, the bound at each iteration.
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
#'   would give a bar. Every observation is predicted from the others, by the leave-one-out cavities of
#'   [loo()][loo.galvi] at the fitted hyperparameters; those that nothing else determines are left out.
#'   `newdata` with the response checks held-out data instead.
#' * `"survival"`: P(Y > t) of a new response along t, with credible bands, a curve for each row of `newdata` or
#'   one where all variables are at typical values.
#'
#' @section Maps:
#' `map` is the outline of each region: polygons of class `sf` or `sfc` (or what `sf::st_as_sf()` takes), or a
#' list of two-column matrices as [polygon()] draws them, such as [germany_map]. Regions are found by a column
#' of the `sf` table that is called as the term's variable, by the map's names (row names of the table), or in
#' the order of the graph's nodes. A `gmrf()` needs an outline for each of its nodes; an `iid()` term is drawn
#' on the map if all its levels are there. Other regions are left blank.
#'
#' @param x A fit of [galvi()].
#' @param which What to draw.
#' @param terms Labels of the terms to draw the effects of; all of them if NULL.
#' @param newdata Data with the response, for `"calibration"`; predictors, for `"survival"`.
#' @param scale Scale of the effects: `"link"`, `"response"`, or `"auto"`: the response scale for multi-class
#'   families and volatilities, and for counts and other numbers with a link where a panel shows all
#'   variables; else the link scale.
#' @param level Probability of credible bands.
#' @param n Points along a curve (and half as many along the sides of an image).
#' @param max_inputs Inputs shown of a `gp()` of three or more.
#' @param too_far How far from the data an image ends, as a share of its sides; `Inf` fills the panel.
#' @param map Outlines of regions, see below.
#' @param bins Number of bins for `"calibration"`.
#' @param ask Ask before each panel; by default if there are several and the device is a screen.
#' @param main,xlab,ylab Titles: one for all panels, or one for each.
#' @param xlim,ylim Limits of the axes. Curves and images are computed between them, beyond the data too.
#' @param col Colours, of series or classes in their order; of an image or a map those that its scale runs
#'   through (one alone from white).
#' @param ... Must be empty.
#' @return The data drawn, invisibly: for `"effects"` a named list with a data frame per panel (columns named
#'   like the variables; `fit`, `lwr`, `upr`, but `fit` alone for class regions; `y_lwr` and `y_upr` where
#'   there is a prediction band; `series` where there are several curves; `far` of images, TRUE where they are
#'   blank); else a data frame, for `"relevance"` with columns `kind` (`"input"`, `"term"`, `"part"`), `name`
#'   and `relevance`, for `"trace"` that of the fit (see [galvi-fit]).
#' @references Czado, C., Gneiting, T. and Held, L. (2009). Predictive model assessment for count data.
#'   Biometrics 65, 1254-1261.
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' plot(fit)
#' plot(fit, xlim = c(0, 40), xlab = "speed (mph)", col = "darkgreen")
#' plot(fit, "calibration")
#' @export
plot.galvi <- function(x, which = c("effects", "coefficients", "residuals", "worm", "predictive", "calibration",
                         "survival", "relevance", "trace"),
                       terms = NULL, newdata = NULL, scale = c("auto", "link", "response"), what = NULL,
                       level = 0.95, n = 101, max_inputs = 6, too_far = 0.1, map = NULL, bins = 10,
                       exponentiate = FALSE, by = NULL, ndraws = NULL, ask = NULL, main = NULL, xlab = NULL,
                       ylab = NULL, xlim = NULL, ylim = NULL, col = NULL, ...) {
  check_no_dots(list(...), setdiff(names(formals(plot.galvi)), "..."), "plot()")
  which <- first_choice(which, names(plot_kinds()), "which")
  check_plot_arguments(which, setdiff(names(match.call()), ""))
  look <- check_look(list(main = main, xlab = xlab, ylab = ylab, xlim = xlim, ylim = ylim, col = col))
  panels <- fit_panels(x, which, c(mget(plot_arguments(), environment()), look[c("xlim", "ylim")]))
  draw_panels(lapply(panels$panels, `[[`, "draw"), look, ask)
  invisible(panels$data)
}

# A kind of plot is its line here and its file. panels(fit, settings) gives list(data: what plot() returns, panels);
# a panel is list(name, draw: a function of `look`, gg: a function without arguments that gives a ggplot), two
# drawings of the same numbers. arguments: those of plot() that the kind takes; others given with it are an error.
plot_kinds <- function() {
  list(
    effects = list(
      panels = effect_panels,
      arguments = c("terms", "scale", "what", "level", "n", "max_inputs", "too_far", "map")
    ),
    coefficients = list(panels = forest_panels, arguments = c("level", "exponentiate")),
    residuals = list(panels = qq_panels, arguments = c("newdata", "by", "level")),
    worm = list(panels = worm_panels, arguments = c("newdata", "by", "level")),
    predictive = list(panels = predictive_panels, arguments = c("newdata", "ndraws", "level")),
    calibration = list(panels = calibration_panels, arguments = c("newdata", "bins")),
    survival = list(panels = survival_panels, arguments = c("newdata", "level", "n")),
    relevance = list(panels = relevance_panels, arguments = NULL),
    trace = list(panels = trace_panels, arguments = NULL)
  )
}

plot_arguments <- function() unique(unlist(lapply(plot_kinds(), `[[`, "arguments")))

#' @param settings Values of plot_arguments(); and xlim and ylim, where curves and images are computed between them.
#' @noRd
fit_panels <- function(fit, which, settings) {
  settings$scale <- first_choice(settings$scale, c("auto", "link", "response"), "scale")
  check_level(settings$level)
  settings$n <- check_whole(settings$n, "n", 3)
  settings$max_inputs <- check_whole(settings$max_inputs, "max_inputs")
  settings$too_far <- check_number(settings$too_far, "too_far", 0, infinite = TRUE)
  settings$bins <- check_whole(settings$bins, "bins", 2)
  settings$exponentiate <- check_flag(settings$exponentiate, "exponentiate")
  settings["map"] <- list(as_map(settings$map))
  if (!is.null(settings$what)) settings$what <- check_each(settings$what, c("mean", "sd"), "what")
  if (!is.null(settings$ndraws)) settings$ndraws <- check_whole(settings$ndraws, "ndraws", 2)
  if (!is.null(settings$newdata) && !is.null(fit$design$wide)) {
    stop_galvi("argument", "`newdata` has no columns of responses(): plots of such fits are about the observations alone.")
  }
  plot_kinds()[[which]]$panels(fit, settings)
}

# What a kind does not use is not ignored.
check_plot_arguments <- function(which, given) {
  kinds <- plot_kinds()
  misplaced <- setdiff(intersect(given, plot_arguments()), kinds[[which]]$arguments)
  if (!length(misplaced)) return(invisible())
  takers <- names(Filter(function(kind) misplaced[1L] %in% kind$arguments, kinds))
  stop_galvi("argument", sprintf(
    "`%s` is for which = %s, not \"%s\".", misplaced[1L], paste0("\"", takers, "\"", collapse = " or "), which
  ))
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

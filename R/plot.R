#' Plots of a fit
#'
#' Base graphics, one panel at a time: on a screen you are asked before the next one, [par()] with `mfrow`
#' puts several on a page. What is drawn is also returned. [autoplot()][autoplot.galvi] draws the same with ggplot2.
#'
#' | `which` | what is drawn | arguments |
#' |:--|:--|:--|
#' | `"effects"` | each term along its inputs | `terms`, `scale`, `what`, `level`, `n`, `max_inputs`, `too_far`, `map` |
#' | `"coefficients"` | a forest plot of the fixed effects; odds ratios and rate ratios | `level`, `exponentiate` |
#' | `"residuals"` | a QQ plot of the quantile residuals | `newdata`, `by`, `level` |
#' | `"worm"` | the same detrended: a worm plot | `newdata`, `by`, `level` |
#' | `"predictive"` | a posterior predictive check: observed beside predicted responses | `newdata`, `ndraws`, `level` |
#' | `"calibration"` | observed frequencies against predicted probabilities, or the PIT histogram | `newdata`, `bins` |
#' | `"survival"` | P(Y > t) along t | `newdata`, `level`, `n` |
#' | `"relevance"` | how much the linear predictor depends on each variable | |
#' | `"trace"` | the bound along the fit | |
#'
#' All kinds take `ask`, `main`, `xlab`, `ylab`, `xlim`, `ylim` and `col`. An argument of another kind is an error.
#'
#' @section Effects:
#' The linear predictor or, on the response scale, the mean response along the inputs of each term, with credible
#' bands; variables that are not shown are at typical values (medians, the most frequent level). A `gp()` of one
#' input is a curve with partial residuals (for binary responses the classes, along the edges); of a number and a
#' factor (or text, a logical, a number of two values) a curve for each level; of two numbers an image with contours
#' and the observations, filled in their partial residuals' colour; of more inputs, a curve for each of the most
#' relevant ones. Inducing points are crosses, along a curve or in an image. Random walks are curves like those of a
#' `gp()` of one input. Fixed effects are intervals, and so are the effects of `iid()`, `gmrf()` and of groups,
#' without the rest of the predictor, in their order (of many levels as many as can be read); with a `map`, or if
#' the graph of `gmrf()` was polygons, a map of the posterior means. Factors of [responses()] are drawn by their
#' loadings, two or more with the scores of the units. On the response scale numbers have a second, lighter band:
#' the prediction interval of a new observation. Observations that a student or laplace family finds outside the 99%
#' interval that the others predict are ringed; those beyond the panel are triangles at its edge.
#'
#' Offsets are left out. On the response scale of a log link that makes rates per unit of exposure, for the
#' observations too; there is no band of new observations, which would depend on their exposure.
#'
#' An image is blank where the data are far, as in mgcv's `plot.gam()`: with both sides of the panel scaled to length
#' one, where the nearest observation is further away than `too_far`.
#'
#' `what = "sd"` draws the posterior standard deviations instead of the means, in images and maps: of the linear
#' predictor, on the response scale of the mean response or of each class's probability, on a map of the effect.
#' Points show where the observations are. `what = c("mean", "sd")` draws both, which is the default of `spde()`.
#'
#' Responses of several classes are shown by their probabilities: curves along one input (stacked areas if the classes
#' are ordered) over the observations, a row of ticks per class; over two inputs the regions of the most probable
#' class, in stronger colour where it is surer, with contours of its probability. Bands of probabilities are the
#' quantiles of the beta distribution with their posterior mean and sd. On the link scale there is a curve or an
#' image per latent; an ordinal response has one, with its thresholds across it, the levels beside it and, if no
#' other variable matters, the observations in the cells of their levels (at a height that means nothing). A
#' volatility is sd(y) with its band over
#' |y|.
#'
#' @section Coefficients:
#' Posterior means of the fixed effects but the intercept with their credible intervals; classes have a colour each, a
#' second linear predictor a panel of its own. With `exponentiate = TRUE` posterior medians and intervals of
#' exp(coefficient), on a logarithmic axis: odds ratios of logit links, rate ratios of counts, ratios of means of
#' other log links, ratios of survival times (accelerated failure times) or hazard ratios (proportional hazards,
#' cloglog links). An interval that crosses the dashed line is compatible with no effect.
#'
#' @section Residuals:
#' Quantile residuals (see [residuals()][residuals.galvi]) are standard normal for every family if the model is right.
#' Those of the observations are leave-one-out: each is predicted from the others, by the cavities of
#' [loo()][loo.galvi]. `"residuals"` draws them against the standard normal quantiles, `"worm"` their distances from
#' the line, which makes departures easier to see (van Buuren and Fredriks 2001). The grey band has each point with
#' probability `level`, if the model is right; points outside it are orange. So one in twenty may lie outside by
#' chance, and neighbours do so together.
#'
#' The green curve of a worm plot is a cubic fit: above or below zero as a whole, the predicted location is too low
#' or too high; with a positive or negative slope, the predicted spread is too small or too large; a U or an
#' inverted U, the residuals are skewed to the right or to the left; an S with its left end below and its right end
#' above zero, or the other way round, their tails are heavier or lighter than predicted. `by` draws a panel for
#' each level of a variable, or for each quarter of the rows in its order: a worm that is flat over all rows may
#' bend in a part of them.
#'
#' Residuals of discrete and censored responses are randomised, so [set.seed()] applies. Rows with a whole weight
#' count that many times; rows of weight zero are left out.
#'
#' @section Predictive checks:
#' Responses that the posterior predicts for the rows of the fit, or of `newdata`, beside the observed ones. Numbers
#' are drawn as kernel densities, a grey line for each draw, all with the bandwidth of the observed values; the
#' density of a positive response is reflected at zero, and the share of zeros of hurdle and Tweedie families is
#' given in the note. Counts, successes and classes are bars with the medians and intervals of the draws; counts
#' over a wide range have several values to a bar. Times that are right-censored are Kaplan-Meier curves, those of
#' the draws without censoring. Counts of classes are their totals. Each column of [responses()] has a panel. Where
#' the observed line or bars are unlike most draws, the model does not reproduce that feature of the data.
#'
#' Draws need [set.seed()] to be repeated. Of more than 10,000 rows as many are taken, evenly. Whole weights repeat
#' a row; others weigh it. The fit has used these rows, so the check is a little optimistic; with `newdata` it is
#' not.
#'
#' @section Calibration:
#' For binary and multi-class responses the observed frequency (of each class) in bins of the predicted probability,
#' with 95% (Wilson) intervals; for others the histogram of the probability integral transform, which is flat if the
#' predictive distributions are right (for counts and ordered classes the nonrandomised one of Czado, Gneiting and
#' Held 2009), with the range that 95% of right models would give a bar. Every observation is predicted from the
#' others, by the leave-one-out cavities of [loo()][loo.galvi] at the fitted hyperparameters; those that nothing
#' else determines are left out. `newdata` with the response checks held-out data instead.
#'
#' @section Survival, relevance and trace:
#' * `"survival"`: P(Y > t) of a new response along t, with credible bands, a curve for each row of `newdata` or
#'   one where all variables are at typical values.
#' * `"relevance"`: how much the linear predictor depends on a variable. The relevance of variable j is
#'   sqrt(mean((eta(x) - eta(x'))^2) / 2), with eta the posterior mean and x' an observation x whose value of
#'   j is exchanged for another observation's: the square root of the total-effect variance, which is
#'   the standard deviation over the data of what j contributes if it only adds. It asks nothing of the
#'   kernel, so isotropic and ARD kernels compare. Terms, if there are several, and the parts of sums of
#'   kernels are measured by the standard deviation of their posterior means over the data.
#' * `"trace"`: the bound at the end of each hyperparameter step, and apart from it the iterations of
#'   inference within these steps, by their upper bound on the optimality gap where it is known. With fixed
#'   hyperparameters, the bound at each iteration.
#'
#' @section Maps:
#' `map` is the outline of each region: polygons of class `sf` or `sfc` (or what `sf::st_as_sf()` takes), or a
#' list of two-column matrices as [polygon()] draws them, such as [germany_map]. Regions are found by a column
#' of the `sf` table that is called as the term's variable, by the map's names (row names of the table), or in
#' the order of the graph's nodes. A `gmrf()` needs an outline for each of its nodes; an `iid()` term is drawn
#' on the map if all its levels are there. Regions without an effect are grey.
#'
#' @param x A fit of [galvi()].
#' @param which What to draw.
#' @param terms Labels of the terms to draw the effects of; all of them if NULL.
#' @param newdata Data with the response, for `"residuals"`, `"worm"`, `"predictive"` and `"calibration"`; predictors,
#'   for `"survival"`.
#' @param scale Scale of the effects: `"link"`, `"response"`, or `"auto"`: the response scale for multi-class
#'   families and volatilities, and for counts and other numbers with a link where a panel shows all
#'   variables; else the link scale.
#' @param what `"mean"`, `"sd"` or both: posterior means or standard deviations of images and maps. NULL is the mean,
#'   and for `spde()` both.
#' @param level Probability of credible bands and intervals, of the band of residuals and of the intervals of draws.
#' @param n Points along a curve (and half as many along the sides of an image).
#' @param max_inputs Inputs shown of a `gp()` of three or more.
#' @param too_far How far from the data an image ends, as a share of its sides; `Inf` fills the panel.
#' @param map Outlines of regions, see below.
#' @param bins Number of bins for `"calibration"`.
#' @param exponentiate Draw exp(coefficient): odds ratios, rate ratios?
#' @param by Name of a variable of the model (or of `newdata`): a panel for each of its levels, or for each quarter
#'   of the rows in the order of a number.
#' @param ndraws Number of draws for `"predictive"`; NULL is 20 for densities and survival curves, 200 for bars.
#' @param ask Ask before each panel; by default if there are several and the device is a screen.
#' @param main,xlab,ylab Titles: one for all panels, or one for each.
#' @param xlim,ylim Limits of the axes. Curves and images are computed between them, beyond the data too.
#' @param col Colours, of series or classes in their order; of an image or a map those that its scale runs
#'   through (one alone from white); of the points or of the observed line or bars of a check.
#' @param ... Must be empty.
#' @return The data drawn, invisibly: for `"effects"` a named list with a data frame per panel (columns named
#'   like the variables; `fit`, `lwr`, `upr`, but `fit` alone for class regions and for standard deviations; `y_lwr`
#'   and `y_upr` where there is a prediction band; `series` where there are several curves; `far` of images, TRUE
#'   where they are blank); else a data frame: for `"coefficients"` with columns `coefficient`, `fit`, `lwr`, `upr`
#'   and where they are needed `series` and `parameter`; for `"residuals"` and `"worm"` `theoretical`, `residual`,
#'   the band's `lwr` and `upr`, and `group`; for `"predictive"` either `draw` (0 for the observed), `value` and
#'   `density` or `survival`, or for each bar `value`, `observed`, and the draws' `fit`, `lwr` and `upr` (a list of
#'   these for the columns of `responses()`); for `"relevance"` `kind` (`"input"`, `"term"`, `"part"`), `name` and
#'   `relevance`; for `"trace"` that of the fit (see [galvi-fit]).
#' @references Czado, C., Gneiting, T. and Held, L. (2009). Predictive model assessment for count data.
#'   Biometrics 65, 1254-1261.
#'
#'   Dunn, P. K. and Smyth, G. K. (1996). Randomized quantile residuals. Journal of Computational and Graphical
#'   Statistics 5, 236-244.
#'
#'   Gelman, A., Meng, X.-L. and Stern, H. (1996). Posterior predictive assessment of model fitness via realized
#'   discrepancies. Statistica Sinica 6, 733-760.
#'
#'   van Buuren, S. and Fredriks, M. (2001). Worm plot: a simple diagnostic device for modelling growth reference
#'   curves. Statistics in Medicine 20, 1259-1277.
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' plot(fit)
#' plot(fit, xlim = c(0, 40), xlab = "speed (mph)", col = "darkgreen")
#' plot(fit, "calibration")
#' plot(fit, "worm")
#' plot(fit, "predictive")
#'
#' # odds ratios
#' logit <- galvi(am ~ wt + factor(vs), data = mtcars, family = binomial(), prior = normal(0, 2.5))
#' plot(logit, "coefficients", exponentiate = TRUE)
#'
#' # where is a surface known?
#' surface <- galvi(mpg ~ gp(wt, hp, scale = TRUE), data = mtcars, hyper = "fixed")
#' plot(surface, what = "sd")
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
    stop_galvi("argument", "Plots of fits of responses() are about the observations: they take no `newdata`.")
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

#' Plots of a fit
#'
#' Draws the effects of the terms, coefficients, residuals, predictive checks and other aspects of a fit, in base
#' graphics. [autoplot()][autoplot.galvi] draws the same with ggplot2.
#'
#' @details
#' | `which` | what is drawn | arguments |
#' |:--|:--|:--|
#' | `"effects"` | each variable and term | `terms`, `scale`, `what`, `level`, `n`, `max_inputs`, `too_far`, `map` |
#' | `"coefficients"` | a forest plot of the fixed effects; odds ratios and rate ratios | `level`, `exponentiate` |
#' | `"residuals"` | a QQ plot of the quantile residuals | `newdata`, `by`, `level` |
#' | `"worm"` | the detrended QQ plot (worm plot) | `newdata`, `by`, `level` |
#' | `"predictive"` | a posterior predictive check: observed and predicted responses | `newdata`, `ndraws`, `level` |
#' | `"calibration"` | observed frequencies against predicted probabilities, or the PIT histogram | `newdata`, `bins` |
#' | `"survival"` | P(Y > t) along t | `newdata`, `level`, `n` |
#' | `"relevance"` | how much the linear predictor depends on each variable | |
#' | `"trace"` | the bound during the fit | |
#'
#' `ask`, `main`, `xlab`, `ylab`, `xlim`, `ylim` and `col` are for all of these. An argument that does not belong to
#' `which` is an error. `par(mfrow = )` puts several panels on a page.
#'
#' @section Effects:
#' **Variables of the fixed effects** are shown by conditional effects: the mean response (or the probability of each
#' class) with credible bands, along one variable of the data while the others keep one value each: numbers their mean,
#' factors, text and logicals their first level. A number that the formula turns into a factor, as in `factor(cyl)`, is
#' a factor here. Random effects and `gmrf()` are left out, so that the curve is that of a group or region whose effect
#' is zero, as with `predict(re_formula = NA)`. What is kept and left out stands above each panel.
#' * Numbers are curves; factors, and numbers of two values, are points with intervals. Variables inside of calls such
#'   as `log(x)`, `poly(x, 2)` and `splines::ns(x, 4)` are drawn along `x`.
#' * Interactions of two variables have a curve for each level of a factor or, of two numbers, for the mean of the
#'   second one and one standard deviation to either side. Those of three have a panel for each value of the third. If
#'   the response has several classes, there is a panel for each value of the second variable.
#' * Points are observations or, if other variables matter, partial residuals: each observation as it would be with the
#'   other variables at the values that they keep.
#' * With several linear predictors, each parameter has panels of its own.
#'
#' `terms = c("wt", "am")` draws these variables, `terms = "wt:am"` both together, whether the formula has their
#' interaction or not, the first one along the axis; the variables may also be inputs of `gp()`. `"fixed"` stands for
#' all effects of the fixed effects. Without `terms` at most 20 variables are drawn, those with the largest effects.
#'
#' **Other terms** have a panel each, of the linear predictor or, on the response scale, of the mean response. The
#' other variables are at typical values: medians of numbers, the most frequent level of factors.
#' * A `gp()` of one input and random walks are curves with partial residuals. For binary responses the observations
#'   are ticks at the edges.
#' * A `gp()` of a number and a factor has a curve for each level; one of two numbers is an image with contours; one of
#'   three or more inputs has a curve for each of the `max_inputs` most relevant ones. Crosses are inducing points.
#' * The effects of `iid()`, `gmrf()` and [`(1 + x | g)`][random-slopes] are points with credible
#'   intervals. With a `map` the effects of regions are a map of posterior means.
#' * Factors of [responses()] are shown by their loadings, and two or more factors also by the scores of the units.
#'
#' On the response scale of a number the wider, lighter band is the prediction interval of a new observation. With
#' [student()], [laplace()] and [asymmetric_laplace()] observations outside the 99% interval that the other observations
#' predict are ringed. Triangles are observations beyond the edge of the panel. Offsets are left out: with a log link,
#' means and observations are rates per unit of exposure.
#'
#' Images are blank far from the data, as in mgcv's `plot.gam()`: where the nearest observation is further away than
#' `too_far`, with both sides of the panel scaled to length one. `what = "sd"` draws posterior standard deviations in
#' place of means: of the linear predictor, on the response scale of the mean response or of a class probability, and
#' on a map of the effect.
#'
#' Responses of several classes are shown by their probabilities: curves along one input (stacked areas for ordered
#' classes), with a row of ticks for the observations of each class; over two inputs, the regions of the most probable
#' class. Their bands are quantiles of the beta distribution with the posterior mean and sd of the probability. On the
#' link scale there is a curve or an image for each linear predictor; that of an ordinal response is drawn with its
#' thresholds. For [stochastic_volatility()] the curve is sd(y), over the observed |y|.
#'
#' @section Coefficients:
#' Posterior means of the fixed effects, without the intercept, and their credible intervals. `exponentiate = TRUE`
#' draws posterior medians and intervals of exp(coefficient) on a logarithmic axis: odds ratios for logit links, rate
#' ratios for counts, ratios of means for other log links, ratios of survival times for accelerated failure times, and
#' hazard ratios for proportional hazards and cloglog links.
#'
#' @section Residuals:
#' Quantile residuals (see [residuals()][residuals.galvi]) are approximately standard normal for every family if the
#' model is right. Here those of the observations are leave-one-out residuals: the predictive distribution of each
#' observation is computed without it, as in [loo()][loo.galvi]. `"residuals"` draws them against normal quantiles,
#' `"worm"` their differences from the diagonal, in which departures are easier to see (van Buuren and Fredriks 2001).
#' If the model is right, each point lies in the grey band with probability `level`; points outside are orange. A few
#' points outside, often next to each other, are expected by chance.
#'
#' The green curve in a worm plot is a cubic fit:
#' * above zero, the predicted location is too low; below zero, too high;
#' * a positive slope: the predicted spread is too small; a negative slope: too large;
#' * a U: the residuals are skewed to the right; an inverted U: to the left;
#' * an S with the left end below and the right end above zero: the tails are heavier than predicted; the other way
#'   round: lighter.
#'
#' With `by` there is a panel for each level of a variable, or for each quarter of the rows in the order of a number. It
#' shows misfit that cancels out over all rows.
#'
#' Residuals of discrete and censored responses are randomised, so call [set.seed()] first. A row that stands for
#' two, by `weights = frequency(2)`, counts as two residuals.
#'
#' @section Predictive checks:
#' Responses drawn from the posterior predictive distribution, next to those observed in the rows of the fit or of
#' `newdata`. If the observed line or bars are unlike most draws, the model does not reproduce that feature of the data.
#' * Numbers: kernel densities, a grey line for each draw. The proportion of zeros of hurdle and Tweedie families is
#'   given in the note.
#' * Counts, successes and classes: bars of the observed frequencies with medians and intervals of the draws.
#' * Right-censored times: Kaplan-Meier curves; the draws are without censoring.
#' * [responses()]: a panel for each column.
#'
#' Call [set.seed()] first to reproduce the draws. Of more than 10,000 rows, 10,000 are used. The model was fitted to
#' these rows, so the check is slightly optimistic, except with `newdata`.
#'
#' @section Calibration:
#' For binary and multi-class responses: the observed frequency in bins of the predicted probability, with 95% (Wilson)
#' intervals. For other responses: the histogram of the probability integral transform (PIT), which is flat if the
#' predictive distributions are right, with the range that contains 95% of the heights of a bar in that case. For counts
#' and ordered classes it is the nonrandomised PIT of Czado, Gneiting and Held (2009). Each observation is predicted
#' from the others, as in [loo()][loo.galvi]; those that cannot be predicted from the others are left out. With
#' `newdata`, which must contain the response, it is calibration on held-out data.
#'
#' @section Survival, relevance and trace:
#' * `"survival"`: the probability P(Y > t) that a new response exceeds t, with credible bands: a curve for each row of
#'   `newdata`, or one curve with all variables at typical values.
#' * `"relevance"`: the relevance of variable j is sqrt(mean((eta(x) - eta(x'))^2) / 2), where eta is the posterior mean
#'   of the linear predictor, x is an observation and x' the same with the value of j taken from another observation.
#'   This is the square root of the total-effect variance; for an additive effect it is the standard deviation of the
#'   effect over the data. Isotropic and ARD kernels can be compared by it. For terms and for parts of sums of kernels
#'   the relevance is the standard deviation of their posterior mean over the data. At most 200 rows are used.
#' * `"trace"`: the bound at each step of the hyperparameters and, where it is known, the upper bound on the optimality
#'   gap at the iterations of inference within the steps. With fixed hyperparameters, the bound at each iteration.
#'
#' @section Maps:
#' `map` has the outlines of regions: polygons of class `sf` or `sfc` (or what `sf::st_as_sf()` converts), or a list of
#' two-column matrices for [polygon()], such as [germany_map]. Regions are matched by the column of the `sf` table with
#' the name of the term's variable, by the names of `map` (row names of the table), or by their order. A `gmrf()` needs
#' an outline for each of its nodes; if its graph was given as polygons, the map is drawn without `map`. An `iid()` term
#' is drawn as a map if all its levels are there. Regions without an effect are grey.
#'
#' @param x A fit of [galvi()].
#' @param which What to draw, see Details. `"effects"` if not given, but `"coefficients"` for fits with `cs()`.
#' @param terms What effects are drawn, one or more of: names of variables, such as `"wt"`, or several joined by
#'   colons, such as `"wt:am"`; labels of other terms, such as `"gp(x)"`; `"fixed"` for all variables of the fixed
#'   effects. NULL for all.
#' @param newdata A data frame. For `"residuals"`, `"worm"`, `"predictive"` and `"calibration"` it replaces the
#'   observations and needs the response; for `"survival"` it has the predictors.
#' @param scale Scale of the effects: `"link"`, `"response"`, or `"auto"` (the default): the response scale for
#'   conditional effects (unless the response has no finite mean); of other terms for multi-class families and
#'   [stochastic_volatility()], and for counts and other numbers with a link where the panel shows all variables of the
#'   model; otherwise the link scale. The axis says which.
#' @param what What images and maps show: `"mean"`, `"sd"` or `c("mean", "sd")`. NULL, the default, is the posterior
#'   mean, and for `spde()` both.
#' @param level Probability of credible intervals and bands, of the band of residuals and of the intervals of draws.
#' @param n Number of points along a curve; images have half as many along each side.
#' @param max_inputs Number of inputs that are shown for a `gp()` of three or more.
#' @param too_far Distance from the data at which images end, as a proportion of the sides of the panel; `Inf` fills
#'   the panel.
#' @param map Outlines of regions, see Maps.
#' @param bins Number of bins for `"calibration"`.
#' @param exponentiate If TRUE, draw exp(coefficient).
#' @param by Name of a variable in the model or in `newdata`, see Residuals.
#' @param ndraws Number of draws for `"predictive"`. NULL is 20 for densities and survival curves, 200 for bars.
#' @param ask If TRUE, ask before each panel. NULL: only if there are several panels on an interactive device.
#' @param main,xlab,ylab Titles: one for all panels, or one for each.
#' @param xlim,ylim Limits of the axes. Curves and images are computed between them, also beyond the data.
#' @param col Colours: of curves or classes, in their order; for images and maps, of the colour scale; otherwise of the
#'   points, or of the observed line or bars.
#' @param ... Must be empty.
#' @return The data that are drawn, invisibly.
#'   * `"effects"`: a named list with a data frame for each panel. Columns are the inputs, `fit`, `lwr` and `upr`; the
#'     attribute `conditions` of conditional effects is a list of the values that the other variables keep;
#'     `y_lwr` and `y_upr` for prediction intervals; `series` if there are several curves; and `far` for images, TRUE
#'     where they are blank. Class regions and standard deviations have `fit` only.
#'   * `"coefficients"`: a data frame with `coefficient`, `fit`, `lwr`, `upr` and, for several classes or linear
#'     predictors, `series` or `parameter`.
#'   * `"residuals"`, `"worm"`: a data frame with `theoretical`, `residual`, the band `lwr` and `upr`, and `group` if
#'     `by` is given.
#'   * `"predictive"`: a data frame with `draw` (0 for the observations), `value` and `density` or `survival`; for bars
#'     with `value`, `observed`, `fit`, `lwr` and `upr`. For `responses()` a list of these.
#'   * `"calibration"`: a data frame with a row for each bin: `predicted`, `observed`, `lower`, `upper` and `n`, and
#'     `series` for several classes; for the PIT `from`, `to`, `share`, `lower` and `upper`.
#'   * `"survival"`: a data frame with `time`, `fit`, `lwr` and `upr`, and `series` if there are several curves.
#'   * `"relevance"`: a data frame with `kind` (`"input"`, `"term"` or `"part"`), `name` and `relevance`.
#'   * `"trace"`: the data frame `fit$trace`, see [galvi-fit].
#' @references
#' Czado, C., Gneiting, T. and Held, L. (2009). Predictive model assessment for count data. *Biometrics* 65, 1254-1261.
#'
#' Dunn, P. K. and Smyth, G. K. (1996). Randomized quantile residuals. *Journal of Computational and Graphical
#' Statistics* 5, 236-244.
#'
#' Gelman, A., Meng, X.-L. and Stern, H. (1996). Posterior predictive assessment of model fitness via realized
#' discrepancies. *Statistica Sinica* 6, 733-760.
#'
#' van Buuren, S. and Fredriks, M. (2001). Worm plot: a simple diagnostic device for modelling growth reference curves.
#' *Statistics in Medicine* 20, 1259-1277.
#' @seealso [residuals.galvi()], [predict.galvi()], [check_fit()], `vignette("checking", package = "galvi")`.
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' plot(fit)
#' plot(fit, xlim = c(0, 40), xlab = "speed (mph)", col = "darkgreen")
#' plot(fit, "calibration")
#' plot(fit, "worm")
#' plot(fit, "predictive")
#'
#' # conditional effects of fixed effects and of an interaction
#' cars2 <- galvi(mpg ~ wt * factor(am) + log(hp), data = mtcars)
#' plot(cars2, terms = c("wt", "hp"))
#' plot(cars2, terms = "wt:am")
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
  which <- if (missing(which)) usual_plot(x) else first_choice(which, names(plot_kinds), "which")
  check_plot_arguments(which, setdiff(names(match.call()), ""))
  look <- check_look(list(main = main, xlab = xlab, ylab = ylab, xlim = xlim, ylim = ylim, col = col))
  panels <- fit_panels(x, which, c(mget(plot_arguments(), environment()), look[c("xlim", "ylim")]))
  draw_panels(panels$panels, look, ask)
  invisible(panels$data)
}

# A kind of plot is its line here and its file. panels(fit, settings) gives list(data: what plot() returns, panels: from
# new_panel()); arguments: those of plot() that the kind takes; others given with it are an error.
plot_kinds <- list(
  effects = list(
    panels = effect_panels, arguments = c("terms", "scale", "what", "level", "n", "max_inputs", "too_far", "map")
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

# Category-specific effects are several curves each, which conditional_effects() draws.
usual_plot <- function(fit) if (inherits(fit, "galvi_stages")) "coefficients" else "effects"

plot_arguments <- function() unique(unlist(lapply(plot_kinds, `[[`, "arguments")))

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
  if (!is.null(fit$design$intervals)) fit <- plotted_cox(fit, which)
  if (inherits(fit, "galvi_stages")) fit <- plotted_stages(fit, which)
  plot_kinds[[which]]$panels(fit, settings)
}

# What a kind does not use is not ignored.
check_plot_arguments <- function(which, given) {
  misplaced <- setdiff(intersect(given, plot_arguments()), plot_kinds[[which]]$arguments)
  if (!length(misplaced)) return(invisible())
  takers <- names(Filter(function(kind) misplaced[1L] %in% kind$arguments, plot_kinds))
  stop_galvi("argument", sprintf(
    "`%s` is for which = %s, not \"%s\".", misplaced[1L], paste0("\"", takers, "\"", collapse = " or "), which
  ))
}

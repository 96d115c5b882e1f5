#' Ionosphere radar returns
#'
#' A phased array of 16 antennas in Goose Bay, Labrador, was directed at free electrons in the ionosphere. "Good"
#' returns show evidence of some structure in the ionosphere; "bad" ones pass through it. Each return is described by
#' the complex values of its autocorrelation function at 17 pulse numbers.
#'
#' The constant second attribute of the original data is left out.
#'
#' @format A data frame with 351 rows and 34 columns:
#' \describe{
#'   \item{V1, V3, V4, V5, V6, V7, V8, V9, V10, V11, V12, V13, V14, V15, V16, V17, V18, V19, V20, V21, V22,
#'     V23, V24, V25, V26, V27, V28, V29, V30, V31, V32, V33, V34}{the inputs, in \[-1, 1\]; `V1` is 0 or 1.}
#'   \item{Class}{the response, a factor with levels `bad` (126 rows) and `good` (225 rows).}
#' }
#' @source Sigillito, V., Wing, S., Hutton, L. and Baker, K. (1989). Ionosphere. UCI Machine Learning Repository,
#'   \doi{10.24432/C5W01B}, licensed under CC BY 4.0. Taken from the R package mlbench.
#' @examples
#' fit <- galvi(Class ~ gp(.), data = ionosphere, family = binomial())
#' table(predicted = predict(fit, type = "class"), observed = ionosphere$Class)
"ionosphere"

#' Oral cancer deaths in Germany
#'
#' Deaths of men from oral cavity cancer in the 544 districts of Germany, 1986 to 1990, and the expected numbers given
#' the age structure of each district: a standard example of disease mapping.
#'
#' @format
#' `oral`: a data frame with 544 rows and 3 columns:
#' \describe{
#'   \item{region}{number of the district, 1 to 544.}
#'   \item{Y}{number of deaths.}
#'   \item{E}{expected number of deaths; `sum(E)` equals `sum(Y)`.}
#' }
#' `germany_graph`: a list of 544 integer vectors with the neighbours of each district, for the argument `graph` of
#' [gmrf()].
#'
#' `germany_map`: a list of 544 matrices with columns `x` and `y`, the outlines of the districts, for
#' [graphics::polygon()] and the argument `map` of [plot()][plot.galvi].
#' @source The R package spam (`Oral`, `germany`, `germany.adjacency`), after Knorr-Held, L. and Rasser, G. (2000).
#'   Bayesian detection of clusters and discontinuities in disease maps. *Biometrics* 56, 13-21.
#' @examples
#' # the model of Besag, York and Mollie: an intrinsic CAR (ICAR) field and independent random effects
#' fit <- galvi(
#'   Y ~ offset(log(E)) + iid(region) + gmrf(region, graph = germany_graph),
#'   data = oral, family = poisson()
#' )
#' fit
#' plot(fit, terms = "gmrf(region)", map = germany_map)
#' @name oral
#' @aliases germany_graph germany_map
"oral"

#' @rdname oral
#' @format NULL
"germany_graph"

#' @rdname oral
#' @format NULL
"germany_map"

#' Banana data: two overlapping classes in the plane
#'
#' Artificial data of two overlapping classes with a curved boundary. Papers on sparse Gaussian processes use them to
#' show where inducing points are placed.
#'
#' These are the 400 rows of the first training set of the banana data in the benchmark collection of Raetsch, Onoda and
#' Mueller.
#'
#' @format A data frame with 400 rows and 3 columns: the inputs `x1` and `x2`, standardised in the full data set, and
#'   the class `y`, 0 (183 rows) or 1 (217 rows).
#' @source The repository GPflow/GPflow (Apache 2.0), after Raetsch, G., Onoda, T. and Mueller, K.-R. (2001). Soft
#'   margins for AdaBoost. *Machine Learning* 42, 287-320.
#' @examples
#' plot(x2 ~ x1, banana, col = c("#4477AA", "#EE6677")[y + 1], pch = 16, asp = 1)
#' fit <- galvi(y ~ gp(x1, x2, inducing = 10), data = banana, family = binomial())
#' points(fit$inducing[[1]], pch = 3, cex = 2, lwd = 2)
"banana"

#' Reaction times in a sleep deprivation study
#'
#' Average reaction times of 18 subjects on each of ten days. From the third day on they were restricted to three hours
#' in bed per night; days 0 and 1 were adaptation and training, and day 2 is the baseline.
#'
#' @format A data frame with 180 rows and 3 columns:
#' \describe{
#'   \item{Reaction}{average reaction time in milliseconds.}
#'   \item{Days}{day of the study, 0 to 9.}
#'   \item{Subject}{the subject, a factor.}
#' }
#' @source The R package lme4 (GPL 2 or later), after Belenky, G., Wesensten, N. J., Thorne, D. R., Thomas, M. L., Sing,
#'   H. C., Redmond, D. P., Russo, M. B. and Balkin, T. J. (2003). Patterns of performance degradation and restoration
#'   during sleep restriction and subsequent recovery: a sleep dose-response study. *Journal of Sleep Research* 12,
#'   1-12.
#' @examples
#' fit <- galvi(Reaction ~ Days + (1 + Days | Subject), data = sleepstudy)
#' fit
#' VarCorr(fit)
"sleepstudy"

#' Radar returns from the ionosphere
#'
#' A phased array of 16 antennas in Goose Bay, Labrador, looked for free electrons in the ionosphere. "Good"
#' returns show some structure; "bad" ones pass through. Each return is described by the complex values of its
#' autocorrelation function at 17 pulse numbers.
#'
#' The constant second attribute of the original data is left out.
#'
#' @format A data frame of 351 rows and 34 columns:
#' \describe{
#'   \item{V1, V3, V4, V5, V6, V7, V8, V9, V10, V11, V12, V13, V14, V15, V16, V17, V18, V19, V20, V21, V22,
#'     V23, V24, V25, V26, V27, V28, V29, V30, V31, V32, V33, V34}{the inputs, in \[-1, 1\]; `V1` is 0 or 1.}
#'   \item{Class}{the response, a factor with levels `bad` (126 rows) and `good` (225 rows).}
#' }
#' @source Sigillito, V., Wing, S., Hutton, L. and Baker, K. (1989), "Ionosphere", UCI Machine Learning
#'   Repository, \doi{10.24432/C5W01B}, licensed under CC BY 4.0; taken from the R package mlbench.
#' @examples
#' table(ionosphere$Class)
"ionosphere"

#' Oral cancer in Germany
#'
#' Deaths of men from cancer of the oral cavity in the 544 districts of Germany, 1986 to 1990, with what their
#' populations' ages would lead one to expect: the standard example of disease mapping.
#'
#' @format
#' `oral`: a data frame of 544 rows and 3 columns:
#' \describe{
#'   \item{region}{number of the district, 1 to 544.}
#'   \item{Y}{deaths.}
#'   \item{E}{expected deaths; `sum(E)` is `sum(Y)`.}
#' }
#' `germany_graph`: a list of 544 integer vectors, the districts that border on each, as the `graph` of a
#' [gmrf()] term.
#'
#' `germany_map`: a list of 544 matrices with columns `x` and `y`, the outlines of the districts as
#' [graphics::polygon()] draws them and `plot(fit, map = )` takes them.
#' @source The R package spam (`Oral`, `germany`, `germany.adjacency`), after Knorr-Held, L. and Rasser, G.
#'   (2000), "Bayesian detection of clusters and discontinuities in disease maps", *Biometrics* 56, 13-21.
#' @examples
#' fit <- galvi(
#'   Y ~ offset(log(E)) + iid(region) + gmrf(region, graph = germany_graph),
#'   data = oral, family = poisson()
#' )
#' fit$hyper
#' plot(fit, terms = "gmrf(region)", map = germany_map)
#' @name oral
#' @aliases germany_graph germany_map
"oral"

#' @rdname oral
"germany_graph"

#' @rdname oral
"germany_map"

#' Two classes in the plane, of which one is bent
#'
#' Artificial: two classes that overlap, with a curved boundary between them. Papers on sparse Gaussian
#' processes use it to show where inducing points go.
#'
#' These are the 400 rows of the first training set of the banana data in the benchmark collection of Raetsch,
#' Onoda and Mueller.
#'
#' @format A data frame of 400 rows and 3 columns: the inputs `x1` and `x2`, standardised in the full set, and
#'   the class `y`, 0 (183 rows) or 1 (217 rows).
#' @source The repository GPflow/GPflow (Apache 2.0), after Raetsch, G., Onoda, T. and Mueller, K.-R. (2001),
#'   "Soft margins for AdaBoost", *Machine Learning* 42, 287-320.
#' @examples
#' plot(x2 ~ x1, banana, col = c("#4477AA", "#EE6677")[y + 1], pch = 16, asp = 1)
"banana"

#' Reaction times of people who sleep too little
#'
#' Average reaction times of 18 subjects on each of ten days. From the third day on they were allowed three hours in
#' bed; day 0 and 1 were adaptation and training, the baseline is day 2.
#'
#' @format A data frame of 180 rows and 3 columns: `Reaction`, the average reaction time in milliseconds, `Days`, 0 to
#'   9, and the factor `Subject`.
#' @source Package lme4 (GPL 2 or later), after Belenky, G., Wesensten, N. J., Thorne, D. R., Thomas, M. L., Sing,
#'   H. C., Redmond, D. P., Russo, M. B. and Balkin, T. J. (2003), "Patterns of performance degradation and restoration
#'   during sleep restriction and subsequent recovery: a sleep dose-response study", *Journal of Sleep Research* 12,
#'   1-12.
#' @examples
#' fit <- galvi(Reaction ~ Days + (1 + Days | Subject), data = sleepstudy)
#' VarCorr(fit)
"sleepstudy"

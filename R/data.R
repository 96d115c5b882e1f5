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

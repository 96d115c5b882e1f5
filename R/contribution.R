# Contributions of rows to the bound, as values that can be added.

#' @rdname modular
#' @order 6
#' @param q A posterior of coefficients: the value of `galvi_infer()`, `fit$posterior`, or a list with `hyper`, the
#'   values of the hyperparameters, and `latent`, a list with one element per linear predictor that has the `mean` of
#'   the coefficients and `chol`, the lower Cholesky factor of their covariance.
#' @param rows The rows: their positions or a logical vector of length N; NULL for all.
#' @param gradient If TRUE, also return derivatives with respect to the hyperparameters.
#' @return `contribution()` returns an object of class `galvi_contribution`: the sums over `rows`, in coordinates u with
#' coefficients = prior mean + prior sd * u,
#' \describe{
#'   \item{`rows`}{the number of rows.}
#'   \item{`value`}{the sum of E_q\[log p(y | eta)\].}
#'   \item{`slope`, `curvature`}{for each linear predictor the derivative of `value` with respect to the mean of u, and
#'     minus twice that with respect to the covariance of u.}
#'   \item{`gradient`}{the derivative with respect to the hyperparameters on their natural scale, for constant q in
#'     u.}
#' }
#' Contributions of different rows can be added by `+`; the bound is the `value` of all rows minus KL(q, prior). They
#' exist for models of fixed effects and sparse [gp()] terms.
#' @export
contribution <- function(model, q, rows = NULL, gradient = FALSE) {
  check_flag(gradient, "gradient")
  list_of <- if (is.list(model) && is.list(model$model)) model$model else model
  if (!is.list(list_of) || !all(c("y", "designs", "predictors") %in% names(list_of))) {
    stop_galvi("model", "`model` must be what galvi_model() returns, or a fit.")
  }
  if (!is.list(q) || !all(c("hyper", "latent") %in% names(q)) || is.null(q$latent)) {
    stop_galvi("q", paste(
      "`q` must be a posterior with `hyper` and `latent`, such as fit$posterior of a model of fixed effects",
      "and inducing points."
    ))
  }
  if (!is.null(q$factorised)) q$latent <- q$factorised  # the bound's own
  n <- length(list_of$y)
  if (!is.null(rows)) {
    if (is.logical(rows) && length(rows) == n && !anyNA(rows)) rows <- which(rows)
    if (!is.numeric(rows) || anyNA(rows) || any(rows != round(rows)) || any(rows < 1 | rows > n)) {
      stop_galvi("rows", sprintf("`rows` must be positions from 1 to %d, or %d logical values.", n, n))
    }
    list_of <- model_of_rows(list_of, as.integer(rows))
  }
  structure(
    as_galvi_error(contribution_of_rows(list_of, q, gradient)),
    class = "galvi_contribution"
  )
}

#' @export
`+.galvi_contribution` <- function(e1, e2) {
  if (!inherits(e1, "galvi_contribution") || !inherits(e2, "galvi_contribution")) {
    stop_galvi("contribution", "`+` adds the values of contribution() to each other alone.")
  }
  add <- function(a, b) if (is.list(a)) Map(add, a, b) else a + b
  structure(add(unclass(e1), unclass(e2)), class = "galvi_contribution")
}

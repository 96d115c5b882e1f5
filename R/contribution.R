# What rows give to the bound, as values that add up.

#' @rdname modular
#' @order 6
#' @param q A posterior of coefficients: that of a fit, `fit$posterior`, or a list with `hyper`, the values of
#'   the model's hyperparameters, and `latent`, for each latent value a list of the coefficients' `mean` and
#'   `chol`, the lower Cholesky factor of their covariance.
#' @param rows Which observations: positions or a logical vector; all by default.
#' @param gradient Also the derivatives in the hyperparameters?
#' @return `contribution()`: the sums over these rows that inference asks for, in coordinates u with
#'   coefficients = prior mean + prior sd * u: `rows`, how many; `value`, of E_q\[log p(y | eta)\]; for each
#'   latent value `slope`, its derivative in the mean of u, and `curvature`, minus twice that in the
#'   covariance of u; `gradient`, that in the hyperparameters on their natural scale, q held in u. Only models of
#'   fixed effects and sparse [gp()] terms have them. Contributions of disjoint rows add up by `+`; the bound is
#'   `value` of all rows less KL(q, prior).
#' @export
contribution <- function(model, q, rows = NULL, gradient = FALSE) {
  check_flag(gradient, "gradient")
  list_of <- if (is.list(model) && is.list(model$model)) model$model else model
  if (!is.list(list_of) || !all(c("y", "designs", "predictors") %in% names(list_of))) {
    stop_galvi("model", "`model` must be what galvi_model() returns, or a fit.")
  }
  if (!is.list(q) || !all(c("hyper", "latent") %in% names(q)) || is.null(q$latent)) {
    stop_galvi("q", paste(
      "`q` must be a posterior of coefficients with `hyper` and `latent`, as fit$posterior of models of columns",
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
    stop_galvi("contribution", "A contribution can be added to a contribution only.")
  }
  add <- function(a, b) if (is.list(a)) Map(add, a, b) else a + b
  structure(add(unclass(e1), unclass(e2)), class = "galvi_contribution")
}

#' @rdname coef.galvi
#' @export
confint.galvi <- function(object, parm, level = 0.95, ...) {
  refuse_dots(list(...), confint.galvi, "confint()")
  level <- check_level(level)
  V <- vcov.galvi(object)
  mean <- coefficient_means(object)
  names(mean) <- rownames(V)
  if (missing(parm)) parm <- names(mean)
  chosen <- parm
  if (is.numeric(parm)) parm <- names(mean)[parm]
  unknown <- as.character(chosen)[!parm %in% names(mean)]
  if (length(unknown)) {
    stop_galvi("argument", paste0(
      "`parm` must name fixed effects, not ", quote_names(unknown, "\""), "; this fit has ",
      if (length(mean)) quote_names(names(mean), "\"", 30L) else "none", "."
    ))
  }
  at <- match(parm, names(mean))
  limits <- coefficient_limits(object, level)[at, , drop = FALSE]
  dimnames(limits) <- list(parm, paste(format(100 * tails(level), trim = TRUE, digits = 3), "%"))
  limits
}

#' Quantiles of the coefficients' mixture of normals, in the order of vcov(): q x 2
#' @noRd
coefficient_limits <- function(fit, level) {
  each <- function(f) matrix(unlist(by_state(fit, f)), ncol = length(fit_states(fit)))
  mean <- each(coefficient_means)
  sd <- each(function(view) sqrt(diag(vcov.galvi(view))))
  limits <- lapply(tails(level), function(p) normal_mixture_quantile(mean, sd, state_weights(fit), p))
  matrix(unlist(limits), ncol = 2L)
}

# Panels of smooths: along their inputs as other terms, of functional terms the function itself.

#' @export
term_panels.smooth_term <- function(spec, fit, settings) {
  if (isTRUE(spec$functional)) functional_panels(fit, spec, settings) else input_panels(fit, spec, settings)
}

#' The function f of a sum over l of L_il f(X_il): a curve along the values in X, an image for two matrices; of more
#' there is no panel
#' @noRd
functional_panels <- function(fit, spec, settings) {
  names <- vapply(spec$inputs, variable_name, "")
  X <- lapply(names, function(name) as.numeric(fit$data[[name]]))
  settings$scale <- "link"
  n <- if (length(X) == 1L) settings$n else ceiling(settings$n / 2)
  sides <- Map(function(x, limits) {
    ends <- or_else(limits, range(x))
    seq(ends[1L], ends[2L], length.out = n)
  }, X, list(settings$xlim, settings$ylim)[seq_along(X)])
  if (length(X) > 2L) return(list())
  values <- stats::setNames(expand.grid(sides, KEEP.OUT.ATTRS = FALSE), names)
  marginals <- function_marginals(fit, spec, values)
  if (length(X) == 1L) {
    data <- cbind(values, effect_of(fit, marginals, settings, predicted = FALSE))
    draft <- list(
      data = data, rug = X[[1L]], labels = c(names, "function"), name = spec$label, scale = "link",
      settings = settings[c("xlim", "ylim")], as = curve_panel,
      note = sprintf("the function that is added up%s", if (is.null(spec$by)) "" else {
        paste(" with the weights", variable_name(spec$by))
      })
    )
    return(list(effect_panel(draft, fit)))
  }
  data <- cbind(values, effect_of(fit, marginals, settings, predicted = FALSE), far = FALSE)
  distance <- data_distance(unname(sides), X)
  grid <- list(sides = unname(sides), distance = distance, too_far = settings$too_far)
  picture <- fine_picture(grid, list(data$fit))
  colours <- sequence_of(picture$z[[1L]], "Viridis")
  list(image_panel(data, picture, contour_mark(picture, colours), NULL, NULL, spec$label, NULL, names, colours,
    "function"))
}

#' Posterior of the function at values of its inputs: list(mean, variance) as latent_at() has them
#' @noRd
function_marginals <- function(fit, spec, values) {
  if (is_imputed(fit)) {
    return(marginals_of_parts(fit, function(part) function_marginals(part, own_term(part, spec), values)))
  }
  n <- nrow(values)
  rows <- lapply(subset_rows(term_rows(fit$model), rep(1L, n)), blank)
  rows[[match(spec$label, fit$design$labels)]] <- list(W = function_columns(spec, values))
  latent_at(fit, list(rows), n)
}

# The columns of a smooth without its `by`.
function_columns <- function(spec, values) {
  smooth_columns(spec, lapply(spec$parts, function(part) {
    own <- part$smooth
    own$by <- "NA"
    predicted_columns(own, stats::setNames(as.list(values), own$term), nrow(values), spec$label)
  }))
}

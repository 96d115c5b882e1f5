# The term rescor() of responses(Y): residuals of a unit's responses, correlated: z_i ~ N(0, S), independent between
# units, of which row (i, j) has z_ij. It is (0 + .item | .unit) with one node a row. Of gaussian responses the
# residuals are all the noise there is (R/model-rescor.R); those of other families are beside the noise of the family.

#' The spec of rescor() in the long form
#' @param items Names of the responses. weighted: has each row a weight that divides the covariance?
#' @noRd
rescor_spec <- function(items, weighted, env) {
  bar <- call("|", call("+", 0, as.name(wide_names[["item"]])), as.name(wide_names[["unit"]]))
  spec <- parse_term(new_spec("|"), bar, env)
  class(spec) <- c("rescor_term", class(spec))
  spec$can <- c("open", "residual")
  spec[c("shown", "written")] <- "rescor()"
  spec$group <- "Residual"
  spec$columns <- spec$own_columns <- items
  if (weighted) spec$variables <- c(spec$variables, list(as.name(wide_names[["weights"]])))
  spec
}

#' The term of residuals among these; NULL without
#' @noRd
residual_spec <- function(specs) {
  at <- which(which_can(specs, "residual"))
  if (length(at)) specs[[at]]
}

# Adds levels: the units; hyper. Its fields `scale` and `correlation` are where learning starts, see residual_starts().
#' @export
design_term.rescor_term <- function(spec, frame, context) {
  name <- wide_names[["unit"]]
  spec <- learn_groups(spec, frame[[name]], name)
  check_groups_differ(spec, "Y")
  # noise that is fixed is that of least squares, as for other families
  unit <- ifelse(is.na(spec$scale), if (context$held) 1 else sqrt(context$default_variance), spec$scale)
  context$held <- FALSE
  pairs <- correlation_pairs(length(unit))
  spec$hyper <- slopes_hyper(spec, unit, context, spec$correlation[pairs])
  term <- list(
    type = "field", label = spec$label, field = slopes_field(spec)
  )
  list(spec = spec, rows = spec_rows(spec, frame), term = term, priors = NULL)
}

# Node (i - 1) p + j is response j of unit i. In views of the signal rows of gaussian responses have none.
#' @export
spec_rows.rescor_term <- function(spec, frame) {
  found <- find_groups(spec, frame[[wide_names[["unit"]]]])
  item <- match(level_text(frame[[wide_names[["item"]]]]), spec$columns)
  node <- (found$at - 1L) * length(spec$columns) + item
  if (isTRUE(spec$signal)) node[spec$pure_noise[item]] <- 0L
  out <- list(node = matrix(as.integer(node)))
  weight <- frame[[wide_names[["weights"]]]]
  if (!is.null(weight)) out$weight <- matrix(1 / sqrt(weight))
  if (found$more) out$extension <- list(field = slopes_field(spec, found$more))
  out
}

#' Covariance matrix of the residuals
#' @noRd
residual_covariance <- function(spec, hyper) {
  p <- length(spec$columns)
  R <- diag(p)
  pairs <- correlation_pairs(p)
  R[pairs] <- R[pairs[, 2:1, drop = FALSE]] <- hyper[spec$hyper$cor]
  sd <- hyper[spec$hyper$sd]
  outer(sd, sd) * R
}

# Rows of the model without effects that a prediction leaves out.

#' Rows of a term without the effects that are left out
#' @param kept An element of kept_effects().
#' @noRd
without_effects <- function(rows, kept, n, spec = NULL) {
  if (all(kept)) return(rows)
  if (identical(spec$type, fixed_label)) {
    rows$W <- without_columns(rows$W, rep_len(kept, ncol(rows$W)), spec$coding)
    return(rows)
  }
  if (!is.null(rows$item)) { # the effects of items stay
    rows$node[] <- 0L
    rows$extension <- NULL
    return(rows)
  }
  if (!any(kept)) return(if (is.null(rows$inputs) && is.null(rows$W)) list(node = matrix(0L, n, 1L)) else blank(rows))
  axes <- if (is.null(spec)) attr(kept, "axes") else spec$axes
  if (!is.null(axes)) {
    rows$weight <- weights_without(rows$weight, axes, kept)
    return(rows)
  }
  rows$node[, !kept] <- 0L
  rows
}

#' Rows to which a term adds nothing, of the shape of these
#' @noRd
blank <- function(rows) {
  if (!is.null(rows$W)) rows$W[] <- 0
  if (!is.null(rows$node)) rows$node[] <- 0L
  if (!is.null(rows$inputs)) rows$by <- numeric(nrow(rows$inputs))
  rows$extension <- NULL
  rows
}

#' Coded columns of fixed effects at rows where some of the printed ones are 0: X A, for eta = X beta = X A u
#' @noRd
without_columns <- function(W, kept, coding) {
  X <- uncoded(W, coding)
  X[, !kept] <- 0
  if (is.null(coding)) return(X)
  # the offset of thresholds belongs to the means of the columns
  if (centres_thresholds(coding)) return(coded(X, coding))
  C <- X %*% coding$A
  dimnames(C) <- dimnames(W)
  C
}

#' The terms object of a frame without the variables that only excluded terms use
#' @noRd
without_unread <- function(design, terms, kept) {
  if (is.null(kept)) return(terms)
  used <- function(all) unlist(Map(function(specs, kept) Map(variables_read, specs, kept, all), predictor_specs(design),
    kept))
  drop_variables(terms, setdiff(used(TRUE), used(FALSE)))
}

#' Names of the variables that a term reads for the effects that are kept, or for all
#' @noRd
variables_read <- function(spec, kept, all) {
  if (identical(spec$type, fixed_label)) {
    factors <- attr(spec$terms, "factors")
    if (!length(factors)) return(NULL)
    labels <- if (all) seq_len(ncol(factors)) else unique(spec$assign[rep_len(kept, length(spec$assign))])
    variables <- vapply(as.list(attr(spec$terms, "variables"))[-1L], variable_name, "")
    return(variables[rowSums(factors[, labels[labels > 0L], drop = FALSE]) > 0])
  }
  if (!all && !any(kept) && !term_can(spec, "units")) return(NULL)
  vapply(spec$variables, variable_name, "")
}

#' The frame of new data with the variables that only excluded terms use, which have any value
#' @noRd
with_unread <- function(frame, kept) {
  any_row <- attr(kept, "frame")
  for (name in setdiff(names(any_row), names(frame))) {
    x <- any_row[[name]]
    frame[[name]] <- if (is.null(dim(x))) rep(x, nrow(frame)) else x[rep(1L, nrow(frame)), , drop = FALSE]
  }
  frame
}

drop_variables <- function(terms, names) {
  variables <- vapply(as.list(attr(terms, "variables"))[-1L], variable_name, "")
  offsets <- unlist(attributes(terms)[c("offset", "other_offsets")])
  keep <- which(!variables %in% names | seq_along(variables) %in% offsets)
  if (length(keep) == length(variables)) return(terms)
  for (of in c("variables", "predvars")) {
    if (!is.null(attr(terms, of))) attr(terms, of) <- attr(terms, of)[c(1L, keep + 1L)]
  }
  if (length(attr(terms, "offset"))) attr(terms, "offset") <- match(attr(terms, "offset"), keep)
  attr(terms, "other_offsets") <- lapply(attr(terms, "other_offsets"), match, keep)
  attr(terms, "dataClasses") <- attr(terms, "dataClasses")[intersect(names(attr(terms, "dataClasses")),
    c(variables[keep], "(weights)", "(offset)"))]
  terms
}

# Families of sequences, sratio() and cratio(), where effects differ between thresholds, cs(x): the model is one of the
# decisions to go on or to stop at each threshold that a row reaches (R/model-stages.R). Its family is the user's, with
# the likelihood of a binary response that is 1 where the sequence goes on.

#' The family of the decisions; NULL for families that are not sequences of independent decisions
#'
#' P(on) = F(eta - threshold) in cratio(), and 1 - F(threshold - eta) in sratio(). The latter is G(eta - threshold),
#' with G the distribution function of a variable that has the opposite sign.
#' @noRd
stages_family <- function(family) {
  opposite <- c(cloglog = "loglog", loglog = "cloglog")
  on <- switch(family$family, cratio = family$link, sratio = opposite[family$link])
  if (is.null(on)) return(NULL)
  if (is.na(on)) on <- family$link # symmetric
  structure(c(unclass(family), list(on = unname(on))), class = c("galvi_stages_family", class(family)))
}

is_of_stages <- function(family) inherits(family, "galvi_stages_family")

#' The family as the user gave it
#' @noRd
without_stages <- function(family) {
  if (!is_of_stages(family)) return(family)
  family$on <- NULL
  structure(family, class = setdiff(class(family), "galvi_stages_family"))
}

#' @export
own_family_type.galvi_stages_family <- function(family) {
  binomial <- family_types$binomial
  list(links = stats::setNames(binomial$links[[family$on]], family$link), response = binomial$response)
}

# The argument `prior`: what users may give, checked and sorted by what it is a prior of.

# NULL, normal() or a list of normal() -> a named list. second: the parameter with a predictor of its own,
# whose priors are such a list under its name.
as_prior_list <- function(prior, second = NULL) {
  if (!is.null(second) && is.list(prior) && !is_value(prior) && second %in% names(prior)) {
    own <- as_prior_list(prior[[second]])
    rest <- prior[names(prior) != second]
    return(c(if (length(rest)) as_prior_list(rest), stats::setNames(list(own), second)))
  }
  if (is.null(prior)) return(list())
  if (is_normal(prior)) return(list(default = prior))
  # brms' priors are a data frame
  is_plain_list <- is.list(prior) && !is_value(prior) && !is.data.frame(prior)
  if (!is_plain_list || is.null(names(prior)) || any(!nzchar(names(prior)))) {
    stop_galvi("prior", sprintf(
      "`prior` must be normal(), or a list of normal() named by coefficients, `intercept` and `default`, not %s.",
      if (is_value(prior)) format(prior) else describe(prior)
    ))
  }
  for (name in names(prior)[!is_group_prior(prior)]) {
    if (is.list(prior[[name]]) && !is_value(prior[[name]])) {
      stop_galvi("prior", sprintf(
        "`prior$%s` is a list, as the priors of a second linear predictor are, and `%s` has none in this model.",
        name, name
      ))
    }
    if (!is_normal(prior[[name]])) {
      stop_galvi("prior", sprintf(
        "`prior$%s` must be normal(), not %s.", name,
        if (is_value(prior[[name]])) format(prior[[name]]) else describe(prior[[name]])
      ))
    }
  }
  unclass(prior)
}

#' Which entries are priors of random effects (R/term-slopes-hyper.R)? A coefficient may be called `sd` too.
#' @noRd
is_group_prior <- function(prior) {
  coefficient <- vapply(prior, is_normal, NA)
  as.logical((names(prior) %in% c("sd", "cor") | grepl("|", names(prior), fixed = TRUE)) & !coefficient)
}

check_prior_names <- function(prior, known) {
  known <- c("intercept", "default", unique(known))
  unknown <- setdiff(names(prior), known)
  if (!length(unknown)) return(invisible())
  stop_galvi("prior", sprintf(
    "`prior` names `%s`, which is not a coefficient of this model.%s The names are %s.", unknown[1L],
    did_you_mean(unknown[1L], known), quote_names(known)
  ))
}

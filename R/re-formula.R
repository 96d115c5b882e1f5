# The argument `re_formula`, as in brms: the random effects that a prediction includes.

#' @param re_formula NULL for all, NA for none, or a one-sided formula of random effects.
#' @return NULL if all effects are included; else a list like predictor_specs(): for each term TRUE, or which of its
#'   effects are included.
#' @noRd
kept_effects <- function(design, re_formula) {
  if (is.null(re_formula)) return(NULL)
  if (length(re_formula) == 1L && !inherits(re_formula, "formula") && is.na(re_formula)) {
    wanted <- list()
  } else if (inherits(re_formula, "formula") && length(re_formula) == 2L) {
    wanted <- wanted_effects(re_formula)
  } else {
    stop_galvi("argument", sprintf(
      "`re_formula` must be NULL, NA or a formula such as ~ (1 | g), not %s.", describe(re_formula)
    ))
  }
  specs <- predictor_specs(design)
  for (term in wanted) check_has_effects(term, unlist(specs, recursive = FALSE))
  lapply(specs, lapply, function(spec) {
    if (isTRUE(term_type(spec)$units)) return(FALSE) # scores are never included
    if (!isTRUE(term_type(spec)$grouped)) return(TRUE)
    own <- spec_effects(spec)
    named <- lapply(wanted, function(term) if (identical(term$group, effect_group(spec))) term$effects)
    own %in% unlist(named)
  })
}

# The groups and effects that a formula names.
wanted_effects <- function(formula) {
  parts <- sort_summands(summands(formula[[2L]]), environment(formula))
  fixed <- parts$fixed[!vapply(parts$fixed, function(x) identical(x, 0) || identical(x, 1), NA)]
  other <- Filter(function(spec) !isTRUE(term_type(spec)$grouped), parts$specs)
  if (length(fixed) || length(other) || length(parts$offsets)) {
    stop_galvi("argument", sprintf(
      "`re_formula` must have only random effects, as in ~ (1 | g), not %s.", deparse_one(formula)
    ))
  }
  lapply(parts$specs, function(spec) {
    effects <- if (spec$type %in% bars) term_effects(spec$effects) else spec_effects(spec)
    list(group = effect_group(spec), effects = effects)
  })
}

term_effects <- function(terms) {
  c(if (attr(terms, "intercept")) "(Intercept)", attr(terms, "term.labels"))
}

#' The effects of a grouped term, an element for each column: the labels of their terms in (x + z | g)
#' @noRd
spec_effects <- function(spec) {
  if (spec$type %in% bars) return(c("(Intercept)", attr(spec$effects, "term.labels"))[spec$assign + 1L])
  if (is.null(spec$by)) "(Intercept)" else variable_name(spec$by)
}

check_has_effects <- function(term, specs) {
  specs <- Filter(function(spec) isTRUE(term_type(spec)$grouped), specs)
  groups <- vapply(specs, effect_group, "")
  of_group <- specs[groups == term$group]
  missing <- setdiff(term$effects, unlist(lapply(of_group, spec_effects)))
  if (!length(missing)) return(invisible())
  stop_galvi("argument", sprintf(
    "`re_formula` has %s by %s, which is not in the model. %s.", quote_names(missing[1L]), quote_names(term$group),
    if (!length(specs)) "It has no random effects" else {
      paste("Its random effects are", quote_names(vapply(specs, `[[`, "", "label")))
    }
  ))
}

#' Rows of a term without the effects that are left out
#' @param kept An element of kept_effects().
#' @noRd
without_effects <- function(rows, kept, n) {
  if (all(kept)) return(rows)
  if (!is.null(rows$item)) { # the effects of items stay
    rows$node[] <- 0L
    rows$extension <- NULL
    return(rows)
  }
  if (!any(kept)) return(list(node = matrix(0L, n, 1L)))
  rows$node[, !kept] <- 0L
  rows
}

#' The terms object of a frame without the variables that only excluded terms use
#' @noRd
without_unread <- function(design, terms, kept) {
  if (is.null(kept)) return(terms)
  read <- function(specs, kept) vapply(kept, any, NA) | term_can(specs, "units")
  gone <- Map(function(specs, kept) specs[!read(specs, kept)], predictor_specs(design), kept)
  stays <- Map(function(specs, kept) specs[read(specs, kept)], predictor_specs(design), kept)
  names_of <- function(specs) {
    unlist(lapply(unlist(specs, recursive = FALSE), function(spec) vapply(spec$variables, variable_name, "")))
  }
  fixed <- lapply(list(design$terms, design$second$terms), function(t) {
    vapply(as.list(attr(t, "variables"))[-1L], variable_name, "")
  })
  drop_variables(terms, setdiff(names_of(gone), c(names_of(stays), unlist(fixed))))
}

drop_variables <- function(terms, names) {
  variables <- vapply(as.list(attr(terms, "variables"))[-1L], variable_name, "")
  offsets <- unlist(attributes(terms)[c("offset", "second_offset")])
  keep <- which(!variables %in% names | seq_along(variables) %in% offsets)
  if (length(keep) == length(variables)) return(terms)
  for (of in c("variables", "predvars")) {
    if (!is.null(attr(terms, of))) attr(terms, of) <- attr(terms, of)[c(1L, keep + 1L)]
  }
  for (of in c("offset", "second_offset")) {
    if (length(attr(terms, of))) attr(terms, of) <- match(attr(terms, of), keep)
  }
  attr(terms, "dataClasses") <- attr(terms, "dataClasses")[intersect(names(attr(terms, "dataClasses")),
    c(variables[keep], "(weights)", "(offset)"))]
  terms
}

#' The observations, or new rows, without the effects that `re_formula` leaves out
#' @noRd
without_target_effects <- function(fit, target, kept) {
  if (is.null(kept)) return(target)
  target$rows <- Map(function(rows, kept) Map(without_effects, rows, kept, target$n), target$rows, kept)
  observations <- !is.null(target$marginals)
  target["marginals"] <- list(NULL)
  if (observations) target$marginals <- latent_marginals(fit, target)
  target
}

# What a prediction includes: random effects by `re_formula`, as in brms (`re.form` in lme4), and terms by `terms` and
# `exclude`, as in mgcv.

# Names that lme4, rstanarm, brms and mgcv have for arguments of predictions, which methods take in `...`. That of mgcv
# allows data without the columns of excluded terms, which need none here.
foreign_prediction_words <- c(
  "re.form", "allow.new.levels", "allow_new_levels", "sample_new_levels", "newdata.guaranteed"
)

#' May groups of `newdata` be new? By lme4's argument, or by brms' in `dots`
#' @noRd
allows_new_levels <- function(allow.new.levels, dots) {
  check_flag(allow.new.levels, "allow.new.levels")
  check_sampled_levels(dots)
  given <- dots[["allow_new_levels"]]
  if (is.null(given)) allow.new.levels else allow.new.levels && check_flag(given, "allow_new_levels")
}

# The same where lme4's argument may be in `dots`, too.
dots_allow_new_levels <- function(dots) allows_new_levels(or_else(dots[["allow.new.levels"]], TRUE), dots)

#' Stops at brms' ways to draw effects of new groups that are not ours
#' @noRd
check_sampled_levels <- function(dots) {
  given <- dots[["sample_new_levels"]]
  if (is.null(given) || identical(given, "gaussian")) return(invisible())
  stop_galvi("argument", sprintf(paste(
    "`sample_new_levels = %s` is not available: effects of new groups have their normal distribution, which brms calls",
    "\"gaussian\". Leave the argument out."
  ), deparse_one(given)))
}

#' @param dots Where `re.form` may be.
#' @noRd
one_re_formula <- function(re_formula, dots) {
  given <- dots[["re.form"]]
  if (is.null(given) || identical(given, re_formula)) return(re_formula)
  if (is.null(re_formula)) return(given)
  stop_galvi("argument", "`re_formula` and `re.form` are two names of one argument: give one of them.")
}

#' @param re_formula NULL for all, NA for none, or a one-sided formula of random effects.
#' @return NULL if all effects are included; else a list like predictor_specs(): for each term TRUE, or which of its
#'   effects are included; with the attributes of any_rows().
#' @noRd
kept_effects <- function(fit, re_formula) {
  if (is.null(re_formula)) return(NULL)
  if (length(re_formula) == 1L && !inherits(re_formula, "formula") && is.na(re_formula)) {
    wanted <- list()
  } else if (inherits(re_formula, "formula") && length(re_formula) == 2L) {
    wanted <- wanted_effects(re_formula)
  } else {
    stop_galvi("argument", sprintf(
      "`re_formula` must be NULL, NA or a formula such as ~ (1 | g)%s, not %s.",
      if (averages_groups(re_formula)) " here" else " (in predict() also \"integrate\")", describe(re_formula)
    ))
  }
  specs <- predictor_specs(fit$design)
  for (term in wanted) check_has_effects(term, unlist(specs, recursive = FALSE))
  with_any_rows(fit, lapply(specs, lapply, function(spec) {
    if (!vary_by_group(list(spec))) return(TRUE)
    if (!term_can(spec, "grouped")) return(plain_term(spec_label(spec)) %in% unlist(lapply(wanted, `[[`, "label")))
    own <- spec_effects(spec)
    named <- lapply(wanted, function(term) if (identical(term$group, effect_group(spec))) term$effects)
    structure(own %in% unlist(named), axes = spec$axes)
  }))
}

#' What simulations condition on, as lme4's `re.form` says it: all other groups are new ones
#'
#' @param re.form As `re_formula` of kept_effects().
#' @return As kept_effects(): every effect is kept, and the attribute `anew` says whether a term's groups are new.
#' @noRd
given_effects <- function(fit, re.form) {
  kept <- kept_effects(fit, re.form)
  if (is.null(kept)) return(NULL)
  anew <- Map(function(specs, kept) unlist(Map(groups_are_new, specs, kept)), predictor_specs(fit$design), kept)
  kept[] <- lapply(kept, lapply, function(kept) TRUE)
  structure(kept, anew = anew)
}

groups_are_new <- function(spec, kept) {
  if (all(kept)) return(FALSE)
  why <- if (!term_can(spec, "grouped")) {
    "it draws new effects of groups such as (1 | g)"
  } else if (!is.null(spec$known)) {
    "new groups are not in its known matrix"
  } else if (any(kept)) {
    "`re.form` must have all effects of a term, or none"
  }
  if (is.null(why)) return(TRUE)
  stop_galvi("argument", sprintf(
    "`re.form` of simulate() is not available for `%s`: %s. `re_formula = NA` leaves effects out.", spec$label, why
  ))
}

#' What is kept, with attributes that stand for variables which `newdata` need not have: `rows` and `frame`, a row of each
#' term and of the model frame
#' @noRd
with_any_rows <- function(fit, kept) {
  structure(kept, rows = lapply(fit$model$designs, subset_rows, 1L), frame = fit$data[1L, , drop = FALSE])
}

#' The groups and effects that a formula names, or the labels of terms whose effects go together, as those of ou(t | g)
#' @noRd
wanted_effects <- function(formula) {
  parts <- sort_summands(summands(formula[[2L]]), environment(formula))
  fixed <- parts$fixed[!vapply(parts$fixed, function(x) identical(x, 0) || identical(x, 1), NA)]
  # of the levels of `by` nothing is known yet
  has_groups <- function(spec) vary_by_group(list(spec)) || term_can(spec, "by_group") && !is.null(spec[["by"]])
  other <- Filter(Negate(has_groups), parts$specs)
  if (length(fixed) || length(other) || length(parts$offsets)) {
    stop_galvi("argument", sprintf(
      "`re_formula` must have only random effects, as in ~ (1 | g), not %s.", deparse_one(formula)
    ))
  }
  lapply(parts$specs, function(spec) {
    if (!term_can(spec, "grouped")) return(list(label = plain_term(spec_label(spec))))
    effects <- if (spec$type %in% bars) term_effects(spec$effects) else spec_effects(spec)
    list(group = effect_group(spec), effects = effects)
  })
}

#' The effects of a grouped term, an element for each column: the labels of their terms in (x + z | g)
#' @noRd
spec_effects <- function(spec) {
  if (spec$type %in% bars) {
    return(rep(c("(Intercept)", attr(spec$effects, "term.labels"))[spec$assign + 1L], effect_sets(spec)))
  }
  if (is.null(spec$by)) "(Intercept)" else variable_name(spec$by)
}

check_has_effects <- function(term, specs) {
  specs <- specs[vary_by_group(specs)]
  grouped <- which_can(specs, "grouped")
  if (is.null(term$label)) {
    of_group <- Filter(function(spec) identical(effect_group(spec), term$group), specs[grouped])
    missing <- setdiff(term$effects, unlist(lapply(of_group, spec_effects)))
    missing <- sprintf("%s by %s", quote_names(missing[1L]), quote_names(term$group))[length(missing) > 0L]
  } else {
    missing <- quote_names(setdiff(term$label, vapply(vapply(specs[!grouped], spec_label, ""), plain_term, "")))
  }
  if (!any(nzchar(missing))) return(invisible())
  stop_galvi("argument", sprintf("`re_formula` has %s, which is not in the model. %s.", missing,
    if (!length(specs)) "It has no random effects" else {
      paste("Its random effects are", quote_names(vapply(specs, `[[`, "", "label")))
    }
  ))
}

# ---- terms and exclude ----

#' Which terms a prediction includes
#'
#' @param terms,exclude Names of terms as predict(type = "terms") has them, with "(Intercept)"; NULL for all, or for
#'   none.
#' @param predictor Which predictor names without a prefix belong to: NULL or 1 for the first.
#' @param centred For columns of type = "terms", which are centred where there is an intercept: it stays.
#' @return NULL for all; else as kept_effects(), for fixed effects a value for each column.
#' @noRd
kept_terms <- function(fit, terms, exclude, predictor = NULL, centred = FALSE) {
  if (is.null(terms) && is.null(exclude)) return(NULL)
  specs <- predictor_specs(fit$design)
  own <- or_else(predictor, 1L)
  # sigma_x is x of the predictor of sigma
  known <- lapply(seq_along(specs), function(k) {
    names <- lapply(specs[[k]], names_of_term)
    if (k == own) return(names)
    prefix <- if (k == 1L) "mu_" else coefficient_prefix(predictor_names(fit)[k])
    # labels of other terms have the parameter already
    prefixed <- k == 1L | is_fixed_label(specs[[k]])
    Map(function(x, prefixed) if (prefixed) paste0(prefix, x) else x, names, prefixed)
  })
  # with `dpar`, x of its predictor may be written sigma_x too
  bare <- function(x) {
    if (own == 1L || !is.character(x)) return(x)
    prefix <- coefficient_prefix(predictor_names(fit)[own])
    ifelse(startsWith(x, prefix) & !x %in% unlist(known), substring(x, nchar(prefix) + 1L), x)
  }
  terms <- check_term_names(bare(terms), unlist(known), "terms")
  exclude <- check_term_names(bare(exclude), unlist(known), "exclude")
  kept <- Map(function(specs, known) Map(function(spec, names) {
    names <- plain_labels(names)
    keep <- (is.null(terms) | names %in% terms) & !names %in% exclude
    if (centred && spec$type == fixed_label) keep <- keep | spec$assign == 0L
    if (term_can(spec, "units") && !all(keep)) {
      stop_galvi("argument", sprintf(
        "`%s` cannot be excluded; `re_formula = NA` leaves out the scores of its units.", spec$label
      ))
    }
    keep
  }, specs, known), specs, known)
  structure(with_any_rows(fit, kept),
    labels = unique(plain_labels(unlist(Map(function(names, keep) names[keep], unlist(known[own], FALSE),
      unlist(kept[own], FALSE)))))
  )
}

is_fixed_label <- function(specs) vapply(specs, function(spec) spec$type == fixed_label, NA)

# Of fixed effects a name for each column, of other terms one.
names_of_term <- function(spec) {
  if (!identical(spec$type, fixed_label)) return(spec$label)
  c("(Intercept)", attr(spec$terms, "term.labels"))[spec$assign + 1L]
}

# One text for each way to write a term.
plain_labels <- function(x) vapply(as.character(x), plain_term, "", USE.NAMES = FALSE)

check_term_names <- function(x, known, arg) {
  if (is.null(x)) return(NULL)
  if (!is.character(x) || anyNA(x)) {
    stop_galvi("argument", sprintf("`%s` must be names of terms, not %s.", arg, describe(x)))
  }
  plain <- plain_labels(x)
  # gp(x, inducing = 10) is called gp(x)
  bare <- plain_labels(vapply(x, without_options, ""))
  found <- ifelse(plain %in% plain_labels(known), plain, bare)
  unknown <- x[!found %in% plain_labels(known)]
  if (!length(unknown)) return(found)
  stop_galvi("argument", sprintf(
    "`%s` names %s, which is not a term of this model.%s Its terms are %s.", arg, quote_names(unknown[1L], "\""),
    # mgcv's name of the smooth of one level
    if (grepl("^(s|te|ti|t2)\\(.*\\):", unknown[1L])) " The smooths of all levels of `by` are one term." else "",
    quote_names(unique(known), "\"", 30L)
  ))
}

# A term's call without the arguments that its label does not show.
without_options <- function(label) {
  call <- tryCatch(str2lang(label), error = function(e) NULL)
  if (!head_name(call) %in% term_words) return(label)
  given <- or_else(names(call), rep("", length(call)))
  call <- call[!nzchar(given) | given == "by"]
  if (is_term_call(call[["by"]])) call[["by"]] <- str2lang(without_options(deparse_one(call[["by"]])))
  deparse_one(call)
}

#' Both conditions; NULL is no condition
#' @noRd
both_kept <- function(effects, terms) {
  if (is.null(effects)) return(terms)
  if (is.null(terms)) return(effects)
  kept <- Map(function(a, b) Map(`&`, a, b), effects, terms)
  attributes(kept) <- attributes(terms)
  kept
}

#' Stops if a group of `newdata` was not observed
#' @noRd
check_known_levels <- function(design, rows) {
  Map(function(specs, rows) Map(function(spec, rows) {
    if (!term_can(spec, "grouped") || is.null(rows$extension)) return()
    stop_galvi("newdata", sprintf(paste(
      "`newdata` has levels of `%s` that the data do not have, and `allow.new.levels` is FALSE. With TRUE, the",
      "default, their effects are predicted from the prior."
    ), effect_group(spec)))
  }, specs, rows), predictor_specs(design), rows)
  invisible()
}

#' The observations, or new rows, without the effects that `re_formula` leaves out
#' @noRd
without_target_effects <- function(fit, target, kept) {
  if (is.null(kept)) return(target)
  if (!is.null(target$sets)) target$sets <- Map(without_target_effects, fit$fits, target$sets, list(kept))
  if (!is.null(anew <- attr(kept, "anew"))) {
    frame <- if (is_stages_view(fit)) frame_at_stages(fit, fit$data) else fit$data
    target$rows <- Map(function(specs, rows, anew) Map(function(spec, rows, anew) {
      if (anew) spec_rows(spec, with_new_groups(spec, frame)) else rows
    }, specs, rows, anew), predictor_specs(fit$design), target$rows, anew)
  }
  target$rows <- Map(function(rows, kept, specs) Map(without_effects, rows, kept, target$n * rows_each(fit), specs),
    target$rows, kept, predictor_specs(fit$design))
  observations <- !is.null(target$marginals)
  target["marginals"] <- list(NULL)
  if (observations) target$marginals <- own_marginals(fit, target)
  target["averaged"] <- list(observed_parts(fit, kept))
  target
}

# Linear predictors of a response: "mu", that of its mean or location, and those of other parameters of its
# distribution, each with its own formula. Methods see each as a fit that has no other.

# ---- formulas ----

#' The argument `formula` -> a list of formulas, the first that of the response
#' @noRd
as_formulas <- function(formula) {
  if (inherits(formula, "formula")) return(list(formula))
  if (inherits(formula, "brmsformula")) return(brms_formulas(formula))
  if (inherits(formula, "mvbrmsformula")) return(list(brms_responses(formula)))
  listed <- is.list(formula) && !is.object(formula)
  if (!listed) {
    stop_galvi("formula", sprintf("`formula` must be a formula such as y ~ gp(x), not %s.", describe(formula)))
  }
  if (!length(formula) || !all(vapply(formula, inherits, NA, "formula"))) {
    stop_galvi("formula", sprintf(
      "`formula` must be a formula or a list of formulas such as list(y ~ x, sigma ~ x), not %s.",
      describe(formula)
    ))
  }
  unname(formula)
}

# brms::bf(y ~ x, sigma ~ z)
brms_formulas <- function(x) {
  if (isTRUE(attr(x$formula, "nl"))) {
    stop_galvi("formula", paste("`formula` is a non-linear formula of brms.", non_linear_formula))
  }
  lapply(c(list(x$formula), unname(x$pforms)), formula_of_brms)
}

# Terms of `autocor` and acformula(), which are an attribute, stand in the formula.
formula_of_brms <- function(f) {
  autocor <- attr(f, "autocor")
  out <- as.call(as.list(f))
  if (!is.null(autocor)) out[[3L]] <- call("+", out[[3L]], autocor[[length(autocor)]])
  stats::as.formula(out, env = environment(f))
}

has_autocor <- function(formula) inherits(formula, "brmsformula") && !is.null(attr(formula$formula, "autocor"))

#' Stops at what a formula of brms says beside its formulas, and galvi says elsewhere
#' @param formulas From brms_formulas().
#' @noRd
check_brms_formula <- function(x, formulas, family, data) {
  if (!inherits(x, "brmsformula")) return(invisible())
  check_contrasts(x, formulas, data)
  if (length(x$pfix)) stop_fixed(x$pfix, formulas, family)
}

# cmc = FALSE: factors have contrasts where there is no intercept, too.
check_contrasts <- function(x, formulas, data) {
  written <- c(list(x$formula), x$pforms)
  changed <- lapply(seq_along(written), function(i) {
    if (isFALSE(attr(written[[i]], "cmc"))) factor_without_intercept(formulas[[i]], data)
  })
  at <- which(lengths(changed) > 0L)
  if (!length(at)) return(invisible())
  formulas[at] <- lapply(changed[at], `[[`, "formula")
  stop_whole(sprintf(
    "`cmc = FALSE` of `formula` gives `%s` contrasts although there is no intercept, so that its first level is zero.",
    changed[[at[1L]]]$name
  ), formulas)
}

#' The first factor of a formula without an intercept, which has a column for each level
#' @return list(name, formula: with columns for the other levels in its place), or NULL.
#' @noRd
factor_without_intercept <- function(formula, data) {
  pieces <- summands(formula[[length(formula)]])
  is_zero <- function(piece) identical(piece$expr, if (piece$sign > 0) 0 else 1)
  if (!any(vapply(pieces, is_zero, NA)) || any(vapply(pieces, function(p) identical(p$expr, quote(Intercept)), NA))) {
    return(NULL)
  }
  is_factor <- function(piece) {
    # interactions have a column for each level in brms, too
    if (piece$sign < 0 || is_term(piece$expr) || head_name(piece$expr) %in% c("(", ":", "*", "^", "/", "%in%")) return(FALSE)
    is_levels(tryCatch(eval(piece$expr, data, environment(formula)), error = function(e) NULL))
  }
  at <- which(vapply(pieces, is_factor, NA))[1L]
  if (is.na(at)) return(NULL)
  name <- pieces[[at]]$expr
  pieces[[at]]$expr <- bquote(model.matrix(~.(name))[, -1])
  formula[[length(formula)]] <- sum_of(pieces)
  list(name = deparse_one(name), formula = formula)
}

is_levels <- function(x) is.factor(x) || is.character(x) || is.logical(x)

# bf(y ~ x, shape = 2): a number of the family or, of a parameter that has none, a predictor that its prior pins.
stop_fixed <- function(held, formulas, family) {
  type <- family_type(family)
  parameters <- parameter_calls(family)
  prior <- list()
  for (name in names(held)) {
    value <- held[[name]]
    dpar <- type$dpars[[name]]
    number <- if (length(dpar$replaces)) dpar$replaces else {
      Find(function(p) name == p || name %in% type$parameters[[p]]$also, names(type$parameters))
    }
    if (name %in% names(type$options)) {
      parameters[[name]] <- value
    } else if (!is.null(number)) {
      parameters[[number]] <- call("fixed", if (is.null(dpar)) value else dpar$replaced(value))
    } else if (is.null(dpar)) {
      stop_galvi("formula", sprintf("`formula` fixes `%s`, which %s does not have.", name, the_family(family)))
    } else if (!isTRUE(dpar$always) && identical(as.numeric(value), link_functions(dpar$link)$linkinv(0))) {
      stop_galvi("formula", sprintf("`formula` fixes `%s`, which is %g without a formula: leave it out.", name, value))
    } else {
      prior[[name]] <- pinned_prior(type, name, value)
    }
  }
  new <- lapply(names(prior), function(name) call("~", as.name(name), 1))
  stop_whole(sprintf("`formula` fixes %s: %s.", quote_names(names(held)), if (length(prior)) {
    "a parameter of the family that is not a number has a formula, whose narrow prior fixes it"
  } else "fix it in the family"), c(formulas, new), if (length(held) > length(prior)) family_as_call(family, parameters), prior)
}

# A prior that leaves the intercept of a parameter's predictor no choice.
pinned_prior <- function(type, name, value) {
  at <- signif(link_functions(type$dpars[[name]]$link)$linkfun(value), 6L)
  if (!is.finite(at)) {
    stop_galvi("formula", sprintf(
      "`formula` fixes `%s` at %g, the end of its range: take the family without it.", name, value
    ))
  }
  call("list", "(Intercept)" = call("normal", at, 0.001))
}

# brms::bf(mvbind(y1, y2) ~ x) + set_rescor(TRUE)
brms_responses <- function(x) {
  forms <- lapply(x$forms, brms_formulas)
  right <- lapply(forms, function(f) f[[1L]][[3L]])
  alone <- !any(lengths(forms) > 1L) && !any(lengths(lapply(x$forms, `[[`, "pfix")))
  if (!alone || length(unique(lapply(right, deparse_one))) > 1L) {
    stop_galvi("formula", paste(
      "`formula` has several responses with formulas of their own: here all responses of a fit have one right side, as",
      "in mvbind(y1, y2) ~ x, with coefficients of their own."
    ))
  }
  left <- as.call(c(quote(mvbind), unname(lapply(forms, function(f) f[[1L]][[2L]]))))
  right <- right[[1L]]
  if (!is.null(x$rescor)) right <- call("+", right, call("set_rescor", x$rescor))
  stats::as.formula(call("~", left, right), env = environment(forms[[1L]][[1L]]))
}

#' The family, or list of families, that a formula of brms brings along; NULL for other formulas
#' @noRd
family_of_formula <- function(formula) {
  if (inherits(formula, "brmsformula")) return(formula$family)
  if (!inherits(formula, "mvbrmsformula")) return(NULL)
  families <- unname(lapply(formula$forms, `[[`, "family"))
  if (!length(not_null(families))) return(NULL)
  families <- lapply(families, function(family) if (is.null(family)) as_galvi_family("gaussian") else as_galvi_family(family))
  if (length(unique(families)) == 1L) families[[1L]] else families
}

check_formula <- function(formula) {
  as_formulas(formula)
  formula
}

is_formulas <- function(x) inherits(x, c("formula", "brmsformula", "mvbrmsformula")) || is.list(x) && !is.data.frame(x)

#' The formulas of other parameters, by name: the user's, and intercepts where the family needs more predictors
#' @noRd
parameter_formulas <- function(formulas, family) {
  type <- family_type(family)
  given <- lapply(formulas[-1L], function(f) {
    if (length(f) == 3L && is.symbol(f[[2L]])) f[[2L]] <- as.name(predicted_name(type, as.character(f[[2L]])))
    check_left_side(f, family)
    f
  })
  names(given) <- vapply(given, function(f) as.character(f[[2L]]), "")
  if (anyDuplicated(names(given))) {
    stop_galvi("formula", sprintf(
      "`formula` has `%s` twice: give one formula for each parameter.", names(given)[anyDuplicated(names(given))]
    ))
  }
  predicted <- predicted_parameters(family, names(given))
  for (name in predicted) {
    replaced <- intersect(type$dpars[[name]]$replaces, names(family$parameters))
    # the numbers of a custom family are starts of predictors, too
    if (is_custom(family)) replaced <- Filter(function(p) is_fixed(family$parameters[[p]]), replaced)
    if (length(replaced)) {
      stop_galvi("family", sprintf(
        "`%s` of the %s family is given as a number and `%s` by a formula: give only one of them.", replaced,
        family$family, name
      ))
    }
  }
  lapply(stats::setNames(nm = predicted), function(name) {
    if (name %in% names(given)) return(given[[name]])
    stats::as.formula(call("~", as.name(name), 1), env = environment(formulas[[1L]]))
  })
}

# A parameter as it is called where it has a linear predictor, by the name of the number in its place: `shape` for the
# `size` of negbinomial(). A number on another scale, as a variance, is no such name.
predicted_name <- function(type, name) {
  same <- vapply(type$dpars, function(p) name %in% p$replaces && identical(p$replaced, identity), NA)
  if (name %in% names(type$dpars) || !any(same)) name else names(type$dpars)[same]
}

# The smallest set of parameters, in their order, that includes these and with which the core has a likelihood.
predicted_parameters <- function(family, names) {
  wanted <- union(names, always_predicted(family))
  if (!length(wanted)) return(character())
  sets <- strsplit(names(predicted_likelihoods(family)), " ", fixed = TRUE)
  enough <- Filter(function(set) all(wanted %in% set), sets)
  enough[[which.min(lengths(enough))]]
}

check_left_side <- function(formula, family) {
  type <- family_type(family)
  if (length(formula) != 3L || !is.symbol(formula[[2L]])) {
    stop_galvi("formula", sprintf(
      "`formula`: in a list every formula after the first must name a parameter on its left side%s, not %s.%s",
      if (length(type$dpars)) sprintf(", as in %s ~ x", names(type$dpars)[1L]) else "", deparse_one(formula),
      if (length(formula) == 3L) paste0(" ", responses_apart) else ""
    ))
  }
  name <- as.character(formula[[2L]])
  why <- c(type$no_predictor, type$no_predictor_of[[or_else(family$link, "")]])[name]
  if (name %in% names(type$dpars) && !length(Filter(Negate(is.na), why))) return(invisible())
  if (length(why) && !is.na(why)) {
    stop_galvi("formula", sprintf("`formula`: %s has no linear predictor of `%s`: %s.", the_family(family), name, why))
  }
  stop_galvi("formula", sprintf(
    "`formula`: %s has no linear predictor of `%s`; %s.%s", the_family(family), name, known_parameters(type),
    if (name %in% c("zi", "hu")) {
      sprintf(" Use %s for that.", c(zi = "zero_inflated()", hu = "hurdle()")[[name]])
    } else paste0(" ", responses_apart)
  ))
}

# The parameters of a family that a formula, or a number, can set, in words.
known_parameters <- function(type) {
  numbers <- setdiff(names(type$parameters), unlist(lapply(type$dpars, `[[`, "replaces")))
  held <- if (length(numbers)) sprintf("; %s %s given to the family as a number", quote_names(numbers),
    if (length(numbers) > 1L) "are" else "is")
  paste0(if (length(type$dpars)) {
    sprintf("it has one of %s", and_words(sprintf("`%s`", names(type$dpars))))
  } else "it has only that of the response", held)
}

# ---- the fit ----

n_predictors <- function(fit) 1L + length(with_format(fit)$design$others)

#' What thresholds at zero have moved into the offsets of n rows
#' @noRd
offset_moved <- function(design, n) {
  if (is.null(design$level)) 0 else rep(c(design$level, numeric(length(design$others))), each = n)
}

# Classes with a linear predictor each.
is_several <- function(fit) n_latents(fit) > 1L && n_predictors(fit) == 1L

#' Names of the predictors that `dpar` may take: "mu" is that of the response
#' @noRd
predictor_names <- function(fit) c("mu", names(fit$design$others))

all_formulas <- function(fit) c(list(fit$formula), lapply(unname(fit$design$others), `[[`, "formula"))

#' Which predictor coefficients, or terms with `prefix = parameter_prefix`, belong to by their names
#' @noRd
predictor_of_name <- function(fit, names, prefix = coefficient_prefix) {
  at <- rep(1L, length(names))
  for (k in seq_along(fit$design$others)) {
    at[startsWith(as.character(names), prefix(names(fit$design$others)[k]))] <- k + 1L
  }
  at
}

# Does a view show the predictor of the response?
of_response <- function(view) is.null(view$parameter) || view$parameter == "mu"

# glmmTMB's words for linear predictors, and the parameters that have them here.
tmb_components <- list(cond = "mu", zi = c("zi", "hu"), disp = c("sigma", "shape", "phi"))

#' The position of the predictor that `dpar` names; NULL if it is not given, which means the response
#' @noRd
check_dpar <- function(fit, dpar) {
  if (is.null(dpar)) return(NULL)
  names <- predictor_names(fit)
  if (length(names) > 1L) {
    if (is.character(dpar) && length(dpar) == 1L) dpar <- predicted_name(family_type(fit$family), dpar)
    return(match(check_choice(dpar, names, "dpar"), names))
  }
  if (identical(dpar, "mu")) return(1L)
  stop_galvi("argument", sprintf(
    "`dpar` must be a parameter with a linear predictor, not %s: this fit has only that of the response.",
    describe(dpar)
  ))
}

#' The predictors of a fit, each as predictor_view() shows it
#' @noRd
predictors <- function(fit) lapply(seq_len(n_predictors(fit)), predictor_view, fit = fit)

#' One linear predictor of a fit as a fit with K = 1, with its own terms, coefficients and rows. Its parameter takes the
#' place of the response: `family` has the parameter's link, and moments are those of the inverse link.
#' @noRd
predictor_view <- function(fit, k) {
  if (n_predictors(fit) == 1L) return(fit)
  view <- fit
  if (!is.null(fit$fits)) view$fits <- lapply(fit$fits, predictor_view, k)
  predictor <- predictor_of(fit$model, k)
  view$model$designs <- fit$model$designs[predictor$design]
  predictor[c("design", "latents")] <- list(1L, 1L)
  view$model$predictors <- list(predictor)
  view$model$offset <- fit$model$offset[, k, drop = FALSE]
  # its parameter has no dispersion
  view$model$size <- trials_of(fit, fit$model)
  view$model["likelihood"] <- list(NULL)
  # priors of coefficients of other predictors have no sites in this one
  heavy <- which(vapply(fit$model$prior_rows, function(row) row$latent == k, NA))
  view$model$prior_rows <- if (length(heavy)) {
    lapply(fit$model$prior_rows[heavy], replace, c("latent", "design"), list(1L, 1L))
  }
  view$posterior <- posterior_view(fit$posterior, k, heavy)
  if (!is.null(fit$points)) view$points$coefficients <- fit$points$coefficients[k]
  if (!is.null(fit$factorised)) view$factorised <- posterior_view(fit$factorised, k, heavy)
  if (!is.null(fit$states)) view$states <- lapply(fit$states, function(state) {
    state$posterior <- posterior_view(state$posterior, k, heavy)
    state
  })
  view$parameter <- predictor_names(fit)[k]
  view$number <- k
  if (k > 1L) {
    own <- c("terms", "assign", "contrasts", "specs", "labels")
    view$design[own] <- fit$design$others[[k - 1L]][own]
    view$family <- new_family(view$parameter, fit$design$others[[k - 1L]]$link)
    # thresholds belong to the predictor of the response
    view$design["level"] <- list(NULL)
  }
  view$design$others <- list()
  view$design$response["latents"] <- list(NULL)
  view
}

#' The view whose moments are those of the parameter, also where it is the only one: E[y] differs from `mu` with excess
#' zeros, in truncated responses and in some families of times
#' @noRd
parameter_view <- function(fit, k) {
  if (k == 1L && is_several(fit)) {
    stop_galvi("argument", sprintf(paste(
      "`dpar = \"mu\"` is for one linear predictor; this fit has %d per observation. Leave `dpar` out for",
      "probabilities of the classes, or use type = \"link\"."
    ), n_latents(fit)))
  }
  view <- predictor_view(fit, k)
  view$parameter <- or_else(view$parameter, "mu")
  if (!is.null(view$fits)) view$fits <- lapply(view$fits, parameter_view, k)
  view
}

posterior_view <- function(posterior, k, heavy) {
  if (!is.null(posterior$prior_rows)) {
    posterior$prior_rows <- if (length(heavy)) lapply(posterior$prior_rows, function(x) x[heavy, k, drop = FALSE])
  }
  for (name in c("mean", "variance", "extra", "alpha", "lambda", "b")) {
    x <- posterior[[name]]
    # rows that are not in memory have no sites
    if (length(x)) posterior[[name]] <- x[, k, drop = FALSE]
  }
  for (name in c("latent", "factor")) {
    own <- posterior[[name]][k]
    posterior[[name]] <- if (length(own) && !is.null(own[[1L]])) own
  }
  blocks <- Filter(function(block) k %in% block$latents, posterior$coefficients)
  posterior$coefficients <- lapply(blocks, function(block) {
    block$latents <- 1L
    block
  })
  posterior
}

#' f() of each predictor; names in those of other parameters have their prefix
#' @noRd
by_predictor <- function(fit, f) {
  prefix <- c("", vapply(names(fit$design$others), coefficient_prefix, ""))
  Map(function(view, prefix) prefix_names(f(view), prefix), predictors(fit), unname(prefix))
}

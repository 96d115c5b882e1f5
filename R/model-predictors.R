# Two linear predictors: one of the response, and one of a second parameter of its distribution. The second parameter
# has its own formula, and methods see its predictor as a fit with one predictor.

# ---- formulas ----

#' The argument `formula` -> a list of formulas, the first that of the response
#' @noRd
as_formulas <- function(formula) {
  if (inherits(formula, "formula")) return(list(formula))
  if (inherits(formula, "brmsformula")) return(brms_formulas(formula))
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
    stop_galvi("formula", "`formula` is a non-linear formula of brms, which galvi does not fit.")
  }
  if (length(x$pfix)) {
    stop_galvi("formula", sprintf(
      "`formula` fixes `%s`: fix it in the family instead, as in galvi_family(\"gaussian\", variance = fixed(1)).",
      names(x$pfix)[1L]
    ))
  }
  strip <- function(f) stats::as.formula(as.call(as.list(f)), env = environment(f))
  c(list(strip(x$formula)), lapply(unname(x$pforms), strip))
}

check_formula <- function(formula) {
  as_formulas(formula)
  formula
}

is_formulas <- function(x) inherits(x, c("formula", "brmsformula")) || is.list(x) && !is.data.frame(x)

#' The formula of the second parameter: the user's, or an intercept if the family needs one; NULL for a single predictor
#' @noRd
second_formula <- function(formulas, family) {
  second <- family_type(family)$second
  rest <- formulas[-1L]
  for (f in rest) check_left_side(f, second, family)
  if (length(rest) > 1L) {
    stop_galvi("formula", sprintf("`formula` has `%s` twice: give one formula for each parameter.", deparse_one(rest[[1L]][[2L]])))
  }
  if (length(rest)) {
    replaced <- intersect(second$replaces, names(family$parameters))
    if (length(replaced)) {
      stop_galvi("family", sprintf(
        "`%s` of the %s family is given as a number and `%s` by a formula: give only one of them.", replaced,
        family$family, second$name
      ))
    }
    return(rest[[1L]])
  }
  if (!isTRUE(second$always)) return(NULL)
  stats::as.formula(call("~", as.name(second$name), 1), env = environment(formulas[[1L]]))
}

check_left_side <- function(formula, second, family) {
  if (length(formula) != 3L || !is.symbol(formula[[2L]])) {
    stop_galvi("formula", sprintf(
      "`formula`: in a list every formula after the first must name a parameter on its left side%s, not %s.",
      if (is.null(second)) "" else sprintf(", as in %s ~ x", second$name), deparse_one(formula)
    ))
  }
  name <- as.character(formula[[2L]])
  if (identical(name, second$name)) return(invisible())
  why <- family_type(family)$no_second[name]
  if (length(why) && !is.na(why)) {
    stop_galvi("formula", sprintf("`formula`: %s has no linear predictor of `%s`: %s.", the_family(family), name, why))
  }
  stop_galvi("formula", sprintf(
    "`formula`: %s has no linear predictor of `%s`; %s.%s", the_family(family), name,
    known_parameters(second, family), if (name %in% c("zi", "hu")) {
      sprintf(" Use %s for that.", c(zi = "zero_inflated()", hu = "hurdle()")[[name]])
    } else ""
  ))
}

# The parameters of a family that a formula, or a number, can set, in words.
known_parameters <- function(second, family) {
  numbers <- setdiff(names(family_type(family)$parameters), second$replaces)
  held <- if (length(numbers)) sprintf("; %s %s given to the family as a number", quote_names(numbers),
    if (length(numbers) > 1L) "are" else "is")
  paste0(if (is.null(second)) "it has only that of the response" else sprintf("it has one of `%s`", second$name), held)
}

# ---- the fit ----

is_distributional <- function(fit) !is.null(fit$design$second)

#' Names of the predictors that `dpar` may take: "mu" is that of the response
#' @noRd
predictor_names <- function(fit) c("mu", fit$design$second$name)

#' The position of the predictor that `dpar` names; NULL for a single predictor
#' @noRd
check_dpar <- function(fit, dpar) {
  if (is.null(dpar)) return(NULL)
  names <- predictor_names(fit)
  if (is_distributional(fit)) return(match(check_choice(dpar, names, "dpar"), names))
  if (identical(dpar, "mu")) return(NULL)
  stop_galvi("argument", sprintf(
    "`dpar` must be a parameter with a linear predictor, not %s: this fit has only that of the response.",
    describe(dpar)
  ))
}

#' One linear predictor of a fit as a fit with K = 1, with its own terms, coefficients and rows. Its parameter takes the
#' place of the response: moments of a positive parameter are computed like those of the mean of a count, moments of a
#' probability like those of a binary response.
#' @noRd
predictor_view <- function(fit, k) {
  if (!is_distributional(fit)) return(fit)
  second <- fit$design$second
  view <- fit
  predictor <- predictor_of(fit$model, k)
  predictor[c("design", "latents")] <- list(1L, 1L)
  view$model$designs <- fit$model$designs[predictor_of(fit$model, k)$design]
  view$model$predictors <- list(predictor)
  view$model$offset <- fit$model$offset[, k, drop = FALSE]
  # its parameter has no dispersion
  view$model$size <- trials_of(fit, fit$model)
  view$posterior <- posterior_view(fit$posterior, k)
  if (!is.null(fit$states)) view$states <- lapply(fit$states, function(state) {
    state$posterior <- posterior_view(state$posterior, k)
    state
  })
  if (k == 2L) {
    own <- c("terms", "assign", "contrasts", "specs", "labels")
    view$design[own] <- second[own]
    view$family <- new_family(second$name, second$link)
  }
  view$parameter <- predictor_names(fit)[k]
  view$model$likelihood <- list(
    type = c(identity = "", log = "poisson", logit = "binomial_logit")[[view$family$link]], hyper = list(),
    constants = list()
  )
  view$design["second"] <- list(NULL)
  view$design$response["latents"] <- list(NULL)
  view
}

posterior_view <- function(posterior, k) {
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

#' f() of each predictor; the names of the second have its prefix
#' @noRd
by_predictor <- function(fit, f, rename) {
  if (!is_distributional(fit)) return(list(f(fit)))
  prefix <- coefficient_prefix(fit$design$second$name)
  list(f(predictor_view(fit, 1L)), rename(f(predictor_view(fit, 2L)), prefix))
}

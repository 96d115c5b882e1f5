# Packages emmeans and effects: means of the linear predictor over a grid of predictors. Groups are left out, which
# makes these means those of the population; other terms, gp() and fields, are at the values of the grid.

#' Posterior of a predictor at rows where groups have no effect
#'
#' With beta the fixed effects and g_u what other terms add at each of the U different places among the rows, eta =
#' X (beta, g). The posterior of beta and g follows from that of eta at rows that are made for it: e_k beta + g_1
#' and 0 beta + g_u.
#' @param view A fit with one predictor.
#' @param frame A model frame.
#' @return list(X: n x (q + U), mean, V), U = 0 if there are no such terms.
#' @noRd
population_posterior <- function(view, frame) {
  if (is_imputed(view)) {
    parts <- lapply(view$fits, population_posterior, frame)
    joint <- joint_of_parts(lapply(parts, function(part) list(mean = part$mean, covariance = part$V)))
    return(list(X = parts[[1L]]$X, mean = joint$mean, V = joint$covariance))
  }
  specs <- view$design$specs
  fixed <- vapply(specs, function(spec) spec$type == fixed_label, NA)
  smooth <- !fixed & which_of_population(specs)
  rows <- population_rows(view, frame)
  shown <- if (any(fixed)) which(shown_columns(specs[[which(fixed)]]))
  W <- if (any(fixed)) printed_columns(specs[[which(fixed)]], frame)[, shown, drop = FALSE] else {
    matrix(0, nrow(frame), 0L)
  }
  colnames(W) <- rownames(vcov.galvi(view))
  beta <- fixed_coefficients(view)
  if (!any(smooth)) return(list(X = W, mean = beta$mean[, 1L], V = vcov.galvi(view)))
  read <- vapply(unlist(lapply(specs[smooth], population_inputs), recursive = FALSE), variable_name, "")
  place <- do.call(paste, unname(lapply(frame[read], as_key)))
  first <- which(!duplicated(place))
  q <- ncol(W)
  u <- length(first)
  made <- subset_rows(rows, c(rep(first[1L], q), first))
  if (q > 0L) {
    coding <- or_else(specs[[which(fixed)]]$coding, as_they_are(length(specs[[which(fixed)]]$columns)))
    made[[which(fixed)]]$W <- rbind(coding$A[shown, , drop = FALSE], matrix(0, u, ncol(coding$A)))
  }
  eta <- latent_at(view, list(made), q + u, covariance = TRUE)
  T <- diag(q + u)
  T[seq_len(q), q + 1L] <- -1
  names <- c(colnames(W), sprintf("other terms at %d", seq_len(u)))
  V <- T %*% eta$covariance[[1L]] %*% t(T)
  at <- outer(match(place, place[first]), seq_len(u), `==`) + 0
  list(
    X = `colnames<-`(cbind(W, at), names), mean = stats::setNames(drop(T %*% eta$mean[, 1L]), names),
    V = `dimnames<-`((V + t(V)) / 2, list(names, names))
  )
}

# What a term other than fixed effects is read from for the population.
population_inputs <- function(spec) if (term_can(spec, "units")) item_variables(spec) else c(spec$inputs, spec$by)

as_key <- function(x) if (is.matrix(x)) do.call(paste, as.data.frame(x)) else format(x, digits = 15L)

#' Rows of all terms, of which those of groups and residuals read nothing and have no effect
#' @noRd
population_rows <- function(view, frame) {
  specs <- view$design$specs
  n <- nrow(frame)
  frame <- matched_frame(view$design, frame)
  Map(function(spec, fitted, left_out) {
    if (!left_out) return(spec_rows(spec, frame))
    rows <- if (length(item_variables(spec))) spec_rows(spec, frame) else subset_rows(list(fitted), rep(1L, n))[[1L]]
    without_effects(rows, FALSE, n)
  }, specs, view$model$designs[[1L]], vary_by_group(specs) | which_can(specs, "residual"))
}

#' A model frame whose variables are computed from a grid where that has what they are made of, else typical
#'
#' Factors have the levels of the fit in their order, of which a grid may have a few in any order. Groups stay typical, as
#' their effects are left out.
#' @noRd
grid_frame <- function(view, grid) {
  frame <- typical_frame(view, nrow(grid))
  terms <- view$design$frame_terms
  variables <- as.list(attr(terms, "variables"))[-1L]
  computed <- or_else(as.list(attr(terms, "predvars"))[-1L], variables)
  names <- vapply(variables, variable_name, "")
  groups <- population_columns(view$design, variable_name)
  fields <- single_specs(view$design$specs[which_of_population(view$design$specs)])
  steps <- input_names(fields[which_can(fields, "steps")])
  # a number in this predictor may be a factor in another
  own <- setdiff(unlist(lapply(view$design$specs, variables_read, kept = TRUE, all = TRUE)), groups)
  for (j in seq_along(variables)[-1L]) {
    used <- all.vars(computed[[j]])
    # others are constants, such as knots, unless they were columns of the data
    constants <- setdiff(used, names(grid))
    found <- !constants %in% view$design$columns & vapply(constants, exists, NA, envir = environment(terms))
    if (!names[j] %in% own || !any(used %in% names(grid)) || !all(found)) next
    frame[[names[j]]] <- variable_value(names[j], computed[[j]], grid, terms)
    if (names[j] %in% steps) frame[[names[j]]] <- nearest_step(frame[[names[j]]], view$data[[names[j]]])
  }
  matched_frame(view$design, frame)
}

# A grid has the mean of the times, where there need not be a step: of those beside it that of an observation.
nearest_step <- function(x, times) {
  if (!is_continuous(x)) return(x)
  if (is.numeric(x) && is.numeric(unclass(times))) class(x) <- oldClass(times)  # emmeans() drops that of dates
  between <- which(as.numeric(x) != round(as.numeric(x)))
  seen <- sort(unique(times))
  x[between] <- seen[vapply(as.numeric(x[between]), function(at) which.min(abs(as.numeric(seen) - at)), 1L)]
  x
}

# Which predictor; what has several classes is not for these packages.
predictor_for <- function(fit, dpar, what) {
  predictor <- or_else(check_dpar(fit, dpar), 1L)
  if (!is_several(fit)) return(predictor_view(fit, predictor))
  stop_galvi("argument", sprintf(paste(
    "%s is for one linear predictor; this fit has %d per observation. Use predict(type = \"prob\") or",
    "marginaleffects::avg_predictions()."
  ), what, n_latents(fit)))
}

# ---- emmeans ----

# A message in place of data stops emmeans() with it.
#' @exportS3Method emmeans::recover_data
recover_data.galvi <- function(object, dpar = NULL, component = NULL, data = NULL, params = "pi", epred = FALSE, ...) {
  tryCatch({
    if (isTRUE(epred)) stop_response_means("epred = TRUE")
    grid_data(object, component_dpar(object, component, dpar), data, params, ...)
  }, galvi_error = conditionMessage)
}

# brms' and glmmTMB's words for means of the response, which several predictors determine together.
stop_response_means <- function(asked) {
  stop_galvi("argument", sprintf(paste(
    "emmeans() of a fit of galvi() is about one linear predictor, that of `dpar`, and has no `%s`. For means of the",
    "response use predict(fit, newdata, interval = \"credible\") or marginaleffects::avg_predictions()."
  ), asked))
}

#' The parameter that `component`, as glmmTMB has it, stands for; without it `dpar`
#' @noRd
component_dpar <- function(fit, component, dpar) {
  if (is.null(component)) return(dpar)
  if (!is.null(dpar)) stop_galvi("argument", "Give `dpar` or `component`, not both: they name the same predictor.")
  if (identical(component, "response") || identical(component, "cmean")) {
    stop_response_means(sprintf("component = \"%s\"", component))
  }
  known <- Filter(length, lapply(tmb_components, intersect, predictor_names(fit)))
  known[[check_choice(component, names(known), "component")]][1L]
}

# The words that emmeans and ggeffects have, for models of any kind, for the scale of the linear predictor.
linear_modes <- c("link", "linear.predictor", "latent", "auto", "asymptotic")

grid_data <- function(fit, dpar, data, params, mode = "link", ...) {
  if (!identical(mode[1L] %in% linear_modes, TRUE)) {
    stop_galvi("argument", paste(
      "emmeans() of a fit of galvi() is on the scale of the linear predictor and has no other `mode`. For probabilities",
      "of classes use marginaleffects::avg_predictions()."
    ))
  }
  call <- call("galvi", response_alone(fit, dpar))
  if (inherits(fit, "galvi_cox")) fit <- rows_view(fit)
  if (inherits(fit, "galvi_stages")) fit <- stages_view(fit)
  view <- predictor_for(fit, dpar, "emmeans()")
  terms <- grid_terms(view)
  if (is.null(data)) data <- original_data(fit, setdiff(all.vars(terms), params))
  recovered <- function(...) {
    emmeans::recover_data(call, terms, fit$na.action, data = data, params = params, ...)
  }
  frame <- with_own_offsets(fit$data, or_else(view$number, 1L))
  # offsets of the formula are those of the grid; the argument, and what is no column, has the mean over the rows
  columns <- lapply(offset_calls(view), all.vars)
  of_grid <- is.null(frame[["(offset)"]]) && all(lengths(columns) > 0L, unlist(columns) %in% names(data))
  if (of_grid) recovered(...) else recovered(frame = frame, ...)
}

#' The formula as emmeans() reads it, which takes each function left of `~` for a transformation: log(y) is one,
#' but not y | trials(n), Surv(time, status), factor(y) or what makes columns of several responses
#' @noRd
response_alone <- function(fit, dpar) {
  formula <- fit$formula
  left <- formula[[2L]]
  words <- left_with_bar(left)
  if (!is.null(words)) left <- words[[2L]]
  other <- inherits(fit, c("galvi_cox", "galvi_wide")) || !is.null(dpar) && dpar != "mu"
  plain <- other || has_classes(fit) || is_discrete(fit) || is_censored(fit)
  formula[[2L]] <- if (plain) quote(.response) else left
  formula
}

#' The terms of a predictor's fixed effects, of the inputs of its other terms (but for groups) and of its offsets, from
#' which emmeans() reads what is a factor and what interacts
#' @noRd
grid_terms <- function(view) {
  specs <- Filter(function(spec) spec$type != fixed_label, view$design$specs)
  inputs <- lapply(specs[which_of_population(specs)], function(spec) {
    Reduce(function(a, b) call("*", a, b), population_inputs(spec))
  })
  # each response has its own effects, which nests nothing
  own <- if (!is.null(view$design$wide)) lapply(all.vars(shown_formula(view)), as.name)
  parts <- c(shown_formula(view), own, inputs, offset_calls(view))
  right <- Reduce(function(a, b) call("+", a, b), parts)
  terms <- stats::terms(stats::as.formula(call("~", right), environment(view$formula)))
  # bases of splines and polynomials are those of the fit
  known <- view$design$frame_terms
  used <- as.list(attr(terms, "variables"))[-1L]
  at <- match(vapply(used, variable_name, ""), vapply(as.list(attr(known, "variables"))[-1L], variable_name, ""))
  computed <- as.list(or_else(attr(known, "predvars"), attr(known, "variables")))[-1L]
  structure(terms, predvars = as.call(c(quote(list), computed[at])))
}

#' The rows of the data that the fit used, with these columns: of the model frame if it has them, else of the data
#' where the call finds them
#' @noRd
original_data <- function(fit, variables) {
  if (all(variables %in% names(fit$data))) return(fit$data[variables])
  data <- tryCatch(eval(fit$call$data, environment(fit$formula)), error = function(e) NULL)
  rows <- match(row.names(fit$data), row.names(data))
  if (is.data.frame(data) && all(variables %in% names(data)) && !anyNA(rows)) {
    return(data[rows, variables, drop = FALSE])
  }
  stop_galvi("data", sprintf(
    "The data of the fit, with %s, are not found where its formula was written: give them as `data`.",
    quote_names(setdiff(variables, names(fit$data)))
  ))
}

#' @exportS3Method emmeans::emm_basis
emm_basis.galvi <- function(object, trms, xlev, grid, dpar = NULL, component = NULL, vcov. = NULL, ...) {
  view <- predictor_for(object, component_dpar(object, component, dpar), "emmeans()")
  basis <- population_posterior(view, grid_frame(view, grid))
  V <- basis$V
  if (!is.null(vcov.)) {
    V <- if (is.function(vcov.)) vcov.(object) else vcov.
    if (!identical(dim(V), dim(basis$V))) {
      stop_galvi("argument", sprintf(
        "`vcov.` must be a %d x %d matrix here, not %s.", nrow(basis$V), ncol(basis$V), describe(V)
      ))
    }
  }
  basis$V <- V
  basis <- from_centre(basis, view)
  undetermined <- undetermined_effects(view)$directions
  # what other terms add is determined by their priors
  nonest <- if (is.null(undetermined)) matrix(NA) else {
    rbind(qr.Q(qr(undetermined)), matrix(0, ncol(basis$X) - nrow(undetermined), ncol(undetermined)))
  }
  link <- view$family$link
  misc <- if (link == "identity" || is_volatility(object)) list() else {
    kind <- if (link == "log") "rate" else "prob"
    label <- if (inherits(object, "galvi_cox")) "hazard.ratio" else if (of_response(view) && is_discrete(object)) {
      kind
    } else {
      "response"
    }
    list(tran = link, inv.lbl = label)
  }
  list(
    X = basis$X, bhat = unname(basis$mean), nbasis = nonest, V = basis$V, dffun = function(k, dfargs) Inf,
    dfargs = list(), misc = misc
  )
}

#' As predict() has it, eta beside thresholds is as uncertain as its distance from that at the means of the columns
#' @param basis From population_posterior().
#' @noRd
from_centre <- function(basis, view) {
  if (!shifts_thresholds(view)) return(basis)
  centre <- fixed_spec(view$design$specs)$coding$centre
  own <- seq_along(centre)
  basis$X[, own] <- basis$X[, own] - rep(centre, each = nrow(basis$X))
  list(X = cbind(basis$X, 1), mean = c(basis$mean, view$design$level), V = rbind(cbind(basis$V, 0), 0))
}

# ---- effects ----

# effects::Effect() fits a glm() of the fixed effects and puts our posterior in: a family that takes any response
# of ours, and the mean of all other terms in the intercept, as effects of other predictors are averaged too.
#' @exportS3Method effects::effSources
effSources.galvi <- function(mod) {
  view <- predictor_for(mod, NULL, "Effect()")
  y <- mod$model$y
  twin <- switch(
    view$family$link,
    identity = stats::gaussian(), log = stats::poisson(), stats::binomial(view$family$link)
  )
  if (has_classes(mod) || is_censored(mod) || is_volatility(mod) || inherits(mod, "galvi_cox")) {
    stop_galvi("argument", sprintf(
      "Effect() needs a response that glm() can read; this fit's family is %s. Use plot(fit, \"effects\").",
      family_label(mod)
    ))
  }
  if (view$family$link == "log" && any(y != round(y))) twin <- stats::quasi(link = "log", variance = "mu")
  if (twin$family == "binomial" && any(y != round(y))) twin <- stats::quasibinomial(view$family$link)
  posterior <- averaged_effects(view)
  # of the argument `offset` too, all offsets are one column
  formula <- stats::as.formula(
    call("~", mod$design$formula[[2L]], stats::formula(mod$design$terms)[[2L]]), environment(mod$design$terms)
  )
  data <- original_data(mod, all.vars(formula))
  data$.offset. <- view$model$offset[, 1L]
  list(
    type = "glm", call = call("galvi", formula = formula, data = data, offset = quote(.offset.)), formula = formula,
    family = twin, coefficients = posterior$mean, vcov = posterior$V
  )
}

#' Fixed effects with the intercept at the mean of the other terms over the observations
#' @noRd
averaged_effects <- function(view) {
  rows <- spread_rows(nrow(view$data), relevance_rows)
  all <- population_posterior(view, view$data[rows, , drop = FALSE])
  q <- nrow(vcov.galvi(view))
  own <- seq_len(q)
  others <- setdiff(seq_along(all$mean), own)
  if (!length(others)) return(all)
  intercept <- match("(Intercept)", names(all$mean))
  if (is.na(intercept)) {
    stop_galvi("argument", "Effect() of a fit with gp() or fields needs an intercept in the formula.")
  }
  T <- diag(length(all$mean))[own, , drop = FALSE]
  T[intercept, others] <- colMeans(all$X[, others, drop = FALSE])
  names <- names(all$mean)[own]
  list(
    mean = stats::setNames(drop(T %*% all$mean), names),
    V = `dimnames<-`(T %*% all$V %*% t(T), list(names, names))
  )
}

# Package marginaleffects: predictions, comparisons and slopes from joint posterior draws of E[y | eta], so that all
# terms are as uncertain as they are. hypotheses() is about coefficients and uses their mean and covariance.

# The package's extension for other classes (an option and get_predict(), get_coef(), set_coef(), get_vcov()) knows a
# model as a function of a few coefficients: comparisons() and slopes() then predict the rows of either side in calls of
# their own, and only coefficients tie them together. A process has none, and two calls draw it twice, so that of
# f(x + h) - f(x) the variance would grow as 1 / h^2; by the delta method it would be that of the fixed effects alone.
# Rows are stacked into one call for models of class `bart`, whose draws are made by predict() too.
#' @exportS3Method marginaleffects::sanitize_model_specific
sanitize_model_specific.galvi <- function(model, calling_function = "", ...) {
  if (!identical(calling_function, "hypotheses")) {
    if (inherits(model, "galvi_stages")) model <- stages_view(model)
    return(structure(model, class = c(class(model), "bart")))
  }
  # coefficients are what the extension is for, and its option is the user's to set
  if ("galvi" %in% getOption("marginaleffects_model_classes")) return(model)
  stop_galvi("argument", paste(
    "marginaleffects::hypotheses() takes fits of galvi() after `options(marginaleffects_model_classes = \"galvi\")`.",
    "hypothesis() needs no option."
  ))
}

#' @exportS3Method marginaleffects::get_predict
get_predict.galvi <- function(model, newdata = model.frame.galvi(model), type = "response", ndraws = 2000,
                              re_formula = NULL, dpar = NULL, ...) {
  type <- check_choice(type, c("response", "link"), "type")
  predictor <- check_dpar(model, dpar)
  kept <- kept_in_prediction(model, re_formula)
  newdata <- as.data.frame(newdata)
  # rows with missing values are NA
  target <- new_target(model, newdata, kept = kept)
  as_predicted(expected_draws(model, target, type, check_whole(ndraws, "ndraws"), predictor), newdata)
}

# Hazard ratios.
#' @exportS3Method marginaleffects::get_predict
get_predict.galvi_cox <- function(model, newdata = model.frame.galvi_cox(model), type = "response", ndraws = 2000,
                                  re_formula = NULL, ...) {
  type <- check_choice(type, c("response", "link"), "type")
  newdata <- as.data.frame(newdata)
  target <- ratio_target(model, newdata, kept_in_ratios(model, re_formula))
  as_predicted(expected_draws(counts_view(model), target, type, check_whole(ndraws, "ndraws")), newdata)
}

#' Draws as get_predict() returns them
#' @param draws From expected_draws(), at these rows.
#' @noRd
as_predicted <- function(draws, newdata) {
  n <- nrow(newdata)
  rowid <- if ("rowid" %in% names(newdata)) newdata$rowid else seq_len(n)
  groups <- colnames(draws[[1L]])
  values <- vapply(draws, as.vector, numeric(length(draws[[1L]])))
  values <- matrix(values, ncol = length(draws))
  # the package's own word for a single group
  if (!length(groups)) groups <- "main_marginaleffect"
  out <- data.frame(
    rowid = rep(rowid, times = length(groups)), group = factor(rep(groups, each = n), groups),
    estimate = rowMeans(values)
  )
  out <- getExportedValue("data.table", "as.data.table")(out)
  attr(out, "posterior_draws") <- values
  out
}

#' Joint draws of eta, or of E[y | eta] or P(class | eta): a list of N* x K or N* x classes matrices, without
#' column names where there is one
#' @param predictor As check_dpar() returns it: of another than NULL the parameter, as predict() has it.
#' @noRd
expected_draws <- function(fit, target, type, ndraws, predictor = NULL) {
  one <- if (n_predictors(fit) > 1L) or_else(predictor, 1L)
  view <- if (!is.null(predictor) && type != "link" && !is_volatility(fit)) parameter_view(fit, predictor)
  names <- if (!is.null(view)) NULL else if (type != "link") {
    if (has_classes(fit)) response_levels(fit)
  } else if (is.null(one)) {
    latent_names(fit)
  }
  draws <- over_draws(fit, target, ndraws, function(fit, target, eta) {
    if (!is.null(view)) return(view$family$linkinv(eta[, or_else(one, 1L)]))
    if (type == "link") return(if (is.null(one)) eta else eta[, one])
    given <- given_latent(fit, target, eta)
    if (has_classes(fit)) class_probabilities(fit, given) else response_mean(fit, given)
  }, names)
  lapply(seq_len(ndraws), function(i) {
    if (!length(names)) return(cbind(unname(draws[i, ])))
    matrix(draws[i, , ], ncol = length(names), dimnames = list(NULL, names))
  })
}

#' @exportS3Method marginaleffects::get_coef
get_coef.galvi <- function(model, ...) {
  # those of rows of the data have none of their own
  if (is_stages_view(model)) model <- model$stages$fit
  or_else(attr(model, "changed_coefficients"),
    stats::setNames(coefficient_means(model), rownames(vcov.galvi(model))))
}

#' @exportS3Method marginaleffects::set_coef
set_coef.galvi <- function(model, coefs, ...) structure(model, changed_coefficients = coefs)

#' @exportS3Method marginaleffects::get_vcov
get_vcov.galvi <- function(model, vcov = NULL, ...) {
  if (inherits(model, "bart")) {
    if (is.null(vcov) || is.logical(vcov)) return(NULL)
    stop_galvi("argument", paste(
      "`vcov` must be TRUE or FALSE for fits of galvi(): intervals are those of posterior draws. hypotheses() takes a",
      "matrix."
    ))
  }
  if (is.matrix(vcov)) vcov else vcov.galvi(model)
}

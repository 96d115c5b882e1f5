# Effects: which variables and terms have panels, and what these are of.

#' @return list(data: a named list with a data frame per panel, panels)
#' @noRd
effect_panels <- function(fit, settings) {
  views <- predictors(fit)
  inputs <- data_inputs(fit)
  wanted <- wanted_panels(views, inputs, settings$terms)
  if (is_mixed(fit$family)) {
    if (settings$scale == "response") {
      stop_galvi("argument", "Responses of several families have no common scale: use scale = \"link\", or predict().")
    }
    settings$scale <- "link"
  }
  panels <- Map(function(view, wanted) {
    if (length(views) > 1L && link_has(view$family, "same_units")) settings$scale <- "link"
    own <- settings
    if (length(views) > 1L && settings$scale == "auto") own$scale <- "link"
    terms <- lapply(view$design$specs[wanted$specs], function(spec) term_panels(spec, view, own))
    c(conditional_panels(view, inputs, wanted$effects, settings), unlist(terms, recursive = FALSE))
  }, views, wanted)
  panels <- unlist(panels, recursive = FALSE)
  if (!length(panels)) stop_galvi("argument", "`which = \"effects\"` needs a term besides the intercept.")
  list_panels(panels_of(panels, settings$what))
}

#' What is drawn of each predictor: list(effects: conditional effects; specs: positions of its other terms)
#' @param labels The argument `terms`.
#' @noRd
wanted_panels <- function(views, inputs, labels) {
  all <- lapply(views, function(view) {
    labels <- view$design$labels
    list(effects = effects_of_terms(view, inputs), specs = which(!is_fixed_label(view$design$specs)), labels = labels)
  })
  if (is.null(labels)) return(all)
  if (!is.character(labels) || !length(labels) || anyNA(labels)) {
    stop_galvi("argument", sprintf(
      "`terms` must be text, such as %s, not %s.", dQuote(known_terms(inputs, all)[1L], FALSE), describe(labels)
    ))
  }
  found <- lapply(labels, function(label) {
    by_view <- Map(function(view, own) wanted_of(view, inputs, own, label), views, all)
    if (!any(lengths(lapply(by_view, unlist)))) stop_unknown_term(label, inputs, all)
    by_view
  })
  lapply(seq_along(views), function(k) {
    own <- lapply(found, `[[`, k)
    effects <- unlist(lapply(own, `[[`, "effects"), recursive = FALSE)
    list(effects = effects[!duplicated(effects)], specs = unique(unlist(lapply(own, `[[`, "specs"))))
  })
}

wanted_of <- function(view, inputs, own, label) {
  if (label == fixed_label) return(list(effects = own$effects))
  specs <- which(own$labels == label & seq_along(own$labels) %in% own$specs)
  if (length(specs)) return(list(specs = specs))
  if (!of_response(view)) label <- sub(paste0("^", parameter_prefix(view$parameter)), "", label)
  effects <- named_effects(label, inputs, own$effects)
  mine <- names(kept_others(view, inputs, character()))
  known <- input_variables(inputs)
  list(effects = Filter(function(names) all(vapply(known[names], `[[`, "", "name") %in% mine), effects))
}

stop_unknown_term <- function(label, inputs, all) check_choice(label, known_terms(inputs, all), "terms")

# What `terms` may name.
known_terms <- function(inputs, all) {
  known <- unlist(lapply(all, function(own) c(names(own$effects), own$labels[own$specs])))
  fixed <- if (length(unlist(lapply(all, `[[`, "effects")))) fixed_label
  unique(c(known, fixed, names(input_variables(inputs))))
}

#' The panels of means or sds alone, where these were asked for
#' @noRd
panels_of <- function(panels, what) {
  if (is.null(what)) return(panels)
  panels <- Filter(function(panel) panel$what %in% what, panels)
  if (length(panels)) return(panels)
  stop_galvi("argument", paste(
    "`what = \"sd\"` is for images and maps: terms of two numbers, spde(), and regions with a `map`. Of other effects",
    "draw the \"mean\", with its credible band or interval."
  ))
}

list_panels <- function(panels) {
  names <- make.unique(vapply(panels, `[[`, "", "name"))
  list(data = stats::setNames(lapply(panels, `[[`, "data"), names), panels = panels)
}

#' Panels of a term
#' @noRd
term_panels <- function(spec, fit, settings) UseMethod("term_panels")

#' @export
term_panels.gp_term <- function(spec, fit, settings) {
  if (length(spec$inputs) == 1L && is_on_sphere(spec$inputs[[1L]])) return(sphere_panels(fit, spec, settings))
  input_panels(fit, spec, settings)
}
#' @export
term_panels.field_term <- function(spec, fit, settings) input_panels(fit, spec, settings)
#' @export
term_panels.iid_term <- function(spec, fit, settings) group_panels(fit, spec, settings)
#' @export
term_panels.gmrf_term <- function(spec, fit, settings) group_panels(fit, spec, settings)
#' @export
term_panels.slopes_term <- function(spec, fit, settings) slope_panels(fit, spec, settings)
#' @export
term_panels.spde_term <- function(spec, fit, settings) spde_panels(fit, spec, settings)
#' @export
term_panels.product_term <- function(spec, fit, settings) product_panels(fit, spec, settings)
#' @export
term_panels.factors_term <- function(spec, fit, settings) rr_panels(fit, spec, settings)

#' A term along its inputs: curves, a surface for two of them, a panel for each of the most relevant of more
#' @noRd
input_panels <- function(fit, spec, settings) {
  names <- vapply(spec$inputs, variable_name, "")
  variables <- Filter(function(v) v$name %in% names, frame_variables(fit))
  varies <- vapply(variables, function(v) varies(get_variable(fit$data, v)), NA)
  # without any, one stands for the single point that is known
  variables <- if (any(varies)) variables[varies] else variables[1L]
  if (length(variables) == 1L) return(curve_panels(fit, spec, variables, settings))
  groups <- vapply(variables, function(v) is_grouping(get_variable(fit$data, v)), NA)
  if (length(variables) == 2L && any(groups)) {
    # Along the number, or of two groupings along the one with more levels.
    levels <- vapply(variables, function(v) length(unique(get_variable(fit$data, v))), 1L)
    along <- which.max(ifelse(groups, levels, Inf))
    return(curve_panels(fit, spec, variables[along], settings, input_split(fit, variables[-along])))
  }
  if (length(variables) == 2L && is.null(spec$by)) return(surface_panels(fit, spec, variables, settings))
  best <- utils::head(order(-input_relevance(fit, variables)), settings$max_inputs)
  drafts <- unlist(lapply(best, function(j) curve_drafts(fit, spec, variables[j], settings)), recursive = FALSE)
  # One scale for all, so that the eye sees what matters.
  reach <- drawn_range(unlist(lapply(drafts, function(draft) c(draft$data$lwr, draft$data$upr))))
  lapply(drafts, effect_panel, fit = fit, reach = reach)
}

#' Is there anything besides these variables that is fixed at typical values?
#' @noRd
others_held <- function(fit, shown) length(setdiff(names(frame_variables(fit)), shown)) > 0L

others_note <- function(fit, shown) if (others_held(fit, shown)) "other variables at typical values"

#' The scale that was asked for. Else probabilities of several classes and the size of a volatility, which the
#' latent values do not show; the linear predictor of ordinal and binary responses; the response itself where
#' the panel shows all variables, so that its observations belong there
#' @noRd
panel_scale <- function(fit, settings, shown) {
  if (settings$scale != "auto") return(settings$scale)
  if (n_latents(fit) > 1L || is_volatility(fit)) return("response")
  if (!is.null(response_levels(fit)) || link_has(fit$family, "same_units")) return("link")
  if (others_held(fit, shown)) "link" else "response"
}

#' Posterior of eta, or of E[y | eta], at a model frame: columns series, fit, lwr, upr
#'
#' On the response scale with y_lwr and y_upr, the limits of a prediction interval, where a new response is a
#' number.
#' @param series NULL, or a factor with an element per row of the frame: curves of one panel. With K > 1 the
#'   series are the latents, of probabilities the classes.
#' @noRd
effect_data <- function(fit, frame, settings, series = NULL) {
  effect_of(fit, frame_marginals(fit, frame), settings, series)
}

#' @param predicted Are limits of a prediction interval wanted?
#' @noRd
effect_of <- function(fit, marginals, settings, series = NULL, predicted = TRUE) {
  outside <- marginals$outside
  marginals$outside <- NULL
  without_outside(effect_numbers(fit, marginals, settings, series, predicted), outside)
}

effect_numbers <- function(fit, marginals, settings, series, predicted) {
  if (settings$scale == "response" && has_classes(fit)) return(class_data(fit, marginals, settings$level))
  pieces <- lapply(seq_len(n_latents(fit)), function(k) {
    one <- marginal_latent(marginals, k)
    if (settings$scale == "response") return(response_data(fit, one, settings$level, predicted))
    limits <- credible_limits(one, settings$level)
    data.frame(fit = one$mean[, 1L], lwr = limits[, 1L], upr = limits[, 2L])
  })
  if (length(pieces) > 1L) return(stack_series(pieces, latent_names(fit)))
  if (is.null(series)) pieces[[1L]] else cbind(series = series, pieces[[1L]])
}

response_data <- function(fit, marginals, level, predicted) {
  limits <- response_limits(fit, marginals, level)
  data <- data.frame(fit = response_mean(fit, marginals), lwr = limits[, 1L], upr = limits[, 2L])
  # How far the rate of a new observation is from its mean depends on its exposure.
  parameter <- !is.null(fit$parameter) || !is.null(fit$reference)
  if (!predicted || parameter || !is.null(response_levels(fit)) || is_volatility(fit) || has_offset(fit)) return(data)
  quantile <- function(p) response_moment(fit, marginals, "quantile", probability = p)
  data$y_lwr <- quantile(tails(level)[1L])
  data$y_upr <- quantile(tails(level)[2L])
  data
}

stack_series <- function(pieces, names) {
  rows <- nrow(pieces[[1L]])
  cbind(series = factor(rep(names, each = rows), names), do.call(rbind, pieces))
}

effect_axis <- function(fit, scale, offset = has_offset(fit)) {
  if (!is.null(fit$reference)) return(if (scale == "link") "log hazard ratio" else "hazard ratio")
  if (!is.null(fit$parameter)) {
    on_link <- scale == "link" && fit$family$link != "identity"
    return(paste0(fit$parameter, if (on_link) sprintf(" (%s scale)", fit$family$link)))
  }
  if (link_has(fit$family, "same_units")) {
    return(paste0(location_words(fit), if (offset) " without the offset"))
  }
  if (scale == "link") {
    return(paste0("linear predictor (", link_words(fit), if (offset) ", without the offset", ")"))
  }
  if (has_classes(fit)) return("probability")
  if (is_volatility(fit)) return("sd of the response")
  event <- if (any(trials_of(fit, fit$model) != 1)) "success" else response_levels(fit)[2L]
  # 1 and TRUE are of something
  bare <- event %in% c("1", "TRUE")
  if (!is.null(event)) return(paste("probability of", if (bare) paste(fit$design$response$name, "=", event) else event))
  exposed <- offset && link_has(fit$family, "rates")
  paste0("mean of ", fit$design$response$name, if (exposed) " per unit of exposure")
}

has_offset <- function(fit) {
  is.null(fit$reference) && any(fit$model$offset != offset_moved(fit$design, nrow(fit$model$offset)))
}

#' What becomes of the offset where the response is drawn
#' @noRd
offset_note <- function(fit, scale) {
  if (!has_offset(fit) || scale == "link" || link_has(fit$family, "same_units")) return(NULL)
  if (link_has(fit$family, "rates")) "rates per unit of exposure (offset 0)" else "at offset 0"
}

#' On the identity link the linear predictor is what the response scatters around
#' @noRd
location_words <- function(fit) paste(family_type(fit$family)$location, "of", fit$design$response$name)

# ---- variables that change ----

# Plots ask what happens when variables change. They do so on the model frame, whose variables are what the formula
# names (`log(x)`, not x), so that factors, `by` and shared variables need no code of their own.

#' Posterior of eta without the offset at a model frame: list(mean, variance), n x K
#' @noRd
frame_marginals <- function(fit, frame, variance = TRUE) {
  if (is_imputed(fit)) return(marginals_of_parts(fit, frame_marginals, frame, variance))
  rows <- frame_rows(fit$design, frame)
  rows$terms <- against_reference(fit, rows$terms)
  marginals <- with_level(fit, latent_at(fit, rows, nrow(frame), variance = variance))
  if (variance) marginals <- with_between(fit, marginals, rows)
  c(marginals, rows["outside"])
}

#' Variables of the model frame that eta depends on, as a named list of list(name, column)
#'
#' A matrix that is an input of gp() is one variable per column; elsewhere, as poly(x, 2) or in s(X, by = L), it is one.
#' @noRd
frame_variables <- function(fit) {
  fixed <- vapply(as.list(attr(fit$design$terms, "variables"))[-1L], variable_name, "")
  inputs <- unlist(lapply(fit$design$specs, function(spec) vapply(spec$inputs, variable_name, "")))
  other <- unlist(lapply(fit$design$specs, function(spec) if (!is.null(spec$by)) variable_name(spec$by)))
  whole <- function(name) list(list(name = name, column = NULL))
  # functional terms and places on a sphere are of the whole matrix
  whole_ones <- Filter(function(spec) isTRUE(spec$functional) || any(vapply(spec$inputs, is_on_sphere, NA)),
    fit$design$specs)
  split <- setdiff(inputs, unlist(lapply(whole_ones, function(spec) vapply(spec$inputs, variable_name, ""))))
  pieces <- lapply(unique(c(inputs, other, fixed)), function(name) {
    x <- fit$data[[name]]
    if (!is.matrix(x) || !name %in% split) return(stats::setNames(whole(name), name))
    columns <- if (is.null(colnames(x))) seq_len(ncol(x)) else colnames(x)
    parts <- lapply(seq_len(ncol(x)), function(j) list(name = name, column = j))
    stats::setNames(parts, paste0(name, columns))
  })
  unlist(pieces, recursive = FALSE)
}

#' n equal rows of typical values: medians of numbers, the most frequent level of the rest; numbers that name
#' groups, regions or steps are levels
#' @noRd
typical_frame <- function(fit, n) {
  frame <- fit$data[rep(1L, n), , drop = FALSE]
  by <- unlist(lapply(fit$design$specs, function(spec) if (!is.null(spec$by)) variable_name(spec$by)))
  nodes <- input_names(Filter(has_levels, single_specs(fit$design$specs)))
  for (name in setdiff(names(frame), names(fit$data)[1L])) {
    x <- fit$data[[name]]
    if (is.matrix(x)) {
      frame[[name]][] <- rep(apply(x, 2L, stats::median), each = n)
    } else if (is.numeric(x) && is.null(attr(x, "class")) && !name %in% nodes) {
      value <- stats::median(x)
      # A function multiplied by 0 would not be seen.
      frame[[name]] <- rep(if (name %in% by && value == 0) 1 else value, n)
    } else if (is.factor(x) || is.character(x) || is.logical(x) || name %in% nodes) {
      frame[[name]] <- rep(x[match(names(which.max(table(x))), as.character(x))], n)
    } else {
      frame[[name]] <- rep(sort(x)[ceiling(length(x) / 2)], n)
    }
  }
  frame
}

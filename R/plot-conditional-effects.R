# conditional_effects(): what plot() draws of variables, as data frames with the columns of brms.

#' Conditional effects of variables
#'
#' What is predicted along one or two variables of the data while all others keep one value each, as data frames with
#' the columns that brms has. They come from the posterior itself, by quantiles: nothing is drawn at random.
#'
#' @details
#' **Values.** Numbers are kept at their means; factors, text and logicals at their first level, and so is a number
#' that the formula turns into a factor, as in `factor(cyl)`. Along a number there are `resolution` values between its
#' ends, along a factor its levels. Of two variables, `"x:z"`, the first is along the axis, and the second has its levels
#' or, if it is a number, its mean and one standard deviation to either side. For more variables give `conditions`.
#'
#' Variables of offsets in the formula keep their means, too, while [plot.galvi()] has offsets of zero, which with a log
#' link are rates per unit of exposure: `conditions = data.frame(E = 1)` gives these for `offset(log(E))`. The argument
#' `offset` of galvi() counts as zero.
#'
#' **Groups.** By default random effects are those of an average group, zero. `re_formula = NULL`, or a formula,
#' includes the effects of the groups that `conditions` names; groups that it does not name keep zero. So do regions of
#' [gmrf()], units of [rr()], and groups of `ou(t | g)` and `ar1(t, by = g)`.
#'
#' **Estimates.** `method = "posterior_epred"` is about the mean response given the linear predictors (of one trial, if
#' the response counts successes), `"posterior_linpred"` about the linear predictor, `"posterior_predict"` about a new
#' response. `estimate__` and `se__` are the posterior median and the median absolute deviation (times 1.4826, so that
#' for a normal distribution it is the standard deviation); with `robust = FALSE` the mean and the standard deviation.
#' `lower__` and `upper__` are quantiles.
#'
#' Responses of several classes have a row for each class, which is named in `cats__` and `effect2__`. Medians,
#' deviations and limits of their probabilities are from 1,000 draws, the same at every call.
#'
#' @param x A fit of [galvi()]; for `print()` and `plot()` the value of `conditional_effects()`.
#' @param effects Names of variables, such as `"x"`, or of two of them joined by a colon, `"x:z"`. NULL, the default,
#'   for all variables of the fixed effects and of other terms but groups and regions, and their interactions of two.
#' @param conditions NULL, or a data frame of values of other variables: a row for each set of conditions, which
#'   `cond__` names by its row name (or by a column `cond__` that the data frame has).
#' @param int_conditions NULL, or a list of values at which the second variable of an effect has a curve, by the names
#'   of variables: numbers, levels of a factor, or a function that makes them of the data, such as `quantile`. Names
#'   that they have are the levels of `effect2__`.
#' @param re_formula Which group effects to include: NA (the default) for none, NULL for all, or a formula with some of
#'   them, see Details.
#' @param prob Probability of the intervals, between 0 and 1.
#' @param robust If TRUE, the default, medians and median absolute deviations, otherwise means and standard deviations.
#' @param method `"posterior_epred"` (the default), `"posterior_linpred"` or `"posterior_predict"`.
#' @param resolution Number of values along a number, a whole number of at least 3.
#' @param dpar The parameter that is predicted, such as `"sigma"` or `"mu"`, see [predict.galvi()]. NULL, the default,
#'   is the response (with `"posterior_linpred"` the predictor of its mean).
#' @param ask,main,xlab,ylab,xlim,ylim,col As in [plot.galvi()].
#' @param digits Number of significant digits.
#' @param ... Must be empty.
#' @return `conditional_effects()`: a list of class `galvi_conditional_effects` with a data frame for each effect,
#'   named by it. Columns are the variables of the effect, the values of the others, `cond__`, `effect1__` and (for two
#'   variables) `effect2__`, where numbers are rounded to two digits and factors; `cats__` for classes; `estimate__`,
#'   `se__`, `lower__`, `upper__`. Their attribute `effects` has the names of the variables.
#'
#'   `plot()` draws them as [plot.galvi()] does, with the observations, and returns `x` invisibly;
#'   `ggplot2::autoplot()` does it in ggplot2. `print()` shows the first rows of each effect.
#' @section Errors:
#' `galvi_error_argument` if an effect or a condition is not a variable of the model (the message lists what there is),
#' or another argument is not as described. Warning `galvi_warning_numeric`: estimates or limits are infinite
#' because they exceed the largest number or because the distribution has no finite mean.
#' @seealso [plot.galvi()], whose `terms` are these effects; [predict.galvi()] for predictions at any data;
#'   [hypothesis()] for questions about coefficients. If brms is loaded too, its function of this name finds this
#'   method.
#' @family questions
#' @examples
#' fit <- galvi(mpg ~ wt * factor(am) + log(hp), data = mtcars)
#' ce <- conditional_effects(fit)
#' ce
#' plot(ce)
#' # at two values of another variable
#' engines <- data.frame(hp = c(100, 200), row.names = c("weak", "strong"))
#' conditional_effects(fit, "wt", conditions = engines)
#' @export
conditional_effects <- function(x, ...) UseMethod("conditional_effects")

#' @export
conditional_effects.default <- function(x, ...) generic_elsewhere("conditional_effects", "brms", x, ...)

#' @rdname conditional_effects
#' @method conditional_effects galvi
#' @export
#' @rawNamespace S3method(brms::conditional_effects,galvi)
conditional_effects.galvi <- function(x, effects = NULL, conditions = NULL, int_conditions = NULL, re_formula = NA,
                                      prob = 0.95, robust = TRUE,
                                      method = c("posterior_epred", "posterior_linpred", "posterior_predict"),
                                      resolution = 100, dpar = NULL, ...) {
  if ("categorical" %in% ...names()) {
    stop_galvi("argument", paste(
      "conditional_effects() has no argument `categorical`, leave it out: of a response with classes it has the",
      "probability of each, as brms has with categorical = TRUE."
    ))
  }
  refuse_dots(list(...), conditional_effects.galvi, "conditional_effects()")
  if (inherits(x, "galvi_wide")) {
    stop_galvi("argument", "conditional_effects() is not for fits of responses(): use predict() at new units.")
  }
  settings <- list(
    prob = check_level(prob, "prob"), robust = check_flag(robust, "robust"),
    method = first_choice(method, names(conditional_methods), "method"), n = check_whole(resolution, "resolution", 3),
    k = check_dpar(x, dpar)
  )
  if (settings$method == "posterior_linpred") settings$k <- or_else(settings$k, 1L)
  check_conditional_method(x, settings)
  inputs <- data_inputs(x, as_brms = TRUE)
  views <- predictors(x)
  if (!is.null(settings$k)) views <- views[settings$k]
  conditions <- check_conditions(conditions, x, inputs)
  settings$kept <- conditional_kept(x, inputs, re_formula, names(conditions$values))
  settings$curves <- check_int_conditions(int_conditions, inputs)
  wanted <- wanted_conditional(effects, x, views, inputs)
  found <- lapply(wanted, conditional_effect, fit = x, views = views, inputs = inputs, conditions = conditions,
    settings = settings)
  warn_infinite_effects(found, conditional_methods[[settings$method]]$scale)
  structure(lapply(found, `[[`, "data"), panels = unlist(lapply(unname(found), `[[`, "panels"), FALSE),
    settings = settings[c("prob", "robust", "method")], class = "galvi_conditional_effects")
}

# ---- arguments ----

# What each method is about: its scale, and what it says of a target.
conditional_methods <- list(
  posterior_epred = list(scale = "response", of = function(fit, target, prob, robust) {
    marginals <- latent_marginals(fit, target)
    if (isTRUE(has_classes(fit))) return(class_summaries(fit, target, marginals, prob, robust))
    list(mean_summary(fit, marginals, prob, robust))
  }),
  posterior_linpred = list(scale = "link", of = function(fit, target, prob, robust) {
    marginals <- latent_marginals(fit, target)
    lapply(seq_len(n_latents(fit)), function(k) latent_summary(marginal_latent(marginals, k), prob, robust))
  }),
  posterior_predict = list(scale = "response", of = function(fit, target, prob, robust) {
    list(response_summary(fit, target, latent_marginals(fit, target), prob, robust))
  })
)

check_conditional_method <- function(fit, settings) {
  if (settings$method != "posterior_predict") return(invisible())
  check_no_classes(fit, "`method = \"posterior_predict\"`")
  # a row at typical values has no standard error
  if (is_standard_error(fit$design$weights) && !is.null(word <- size_word(fit$design))) {
    stop_without_word(as_typed(word), all.vars(size_expression(fit$design)))
  }
  if (length(unique(fit$model$known[, "variance"])) > 1L) check_nothing_known(fit, settings$method)
  if (is.null(settings$k)) return(invisible())
  stop_galvi("argument", paste(
    "`method = \"posterior_predict\"` is for a new response, not for a parameter: leave `dpar` out, or use",
    "\"posterior_epred\"."
  ))
}

#' @return list(values: a list of vectors by name, labels: of the rows).
#' @noRd
check_conditions <- function(conditions, fit, inputs) {
  if (is.null(conditions)) return(list(values = list(), labels = "1"))
  if (!is.data.frame(conditions) || !nrow(conditions)) {
    stop_galvi("argument", sprintf(
      "`conditions` must be a data frame with a row for each set of conditions, not %s.", describe(conditions)
    ))
  }
  conditions <- without_integer64(conditions)
  labels <- as.character(or_else(conditions$cond__, row.names(conditions)))
  if (anyDuplicated(labels)) stop_galvi("argument", "`conditions`: the labels in its column `cond__` must differ.")
  known <- input_variables(inputs)
  # a row of the data has the response too
  own <- setdiff(names(conditions), c("cond__", all.vars(fit$formula[[2L]])))
  unknown <- setdiff(own, names(known))
  if (length(unknown)) {
    stop_galvi("argument", sprintf("`conditions` has %s, which is not a variable of the model; these are %s.",
      quote_names(unknown[1L]), quote_names(names(known), max = 30L)))
  }
  groups <- unlist(lapply(input_names(Filter(function(spec) term_can(spec, "grouped"), all_specs(fit$design))),
    function(name) inputs$made[[name]]$from))
  values <- lapply(stats::setNames(nm = own), function(name) {
    # groups that numbers name are found by their labels, as in predict()
    text <- is.character(conditions[[name]]) || is.factor(conditions[[name]])
    if (text && name %in% group_columns(fit$design) && !anyNA(conditions[[name]])) {
      return(as.character(conditions[[name]]))
    }
    as_value_of(conditions[[name]], get_variable(inputs$values, known[[name]]), name, open = name %in% groups)
  })
  list(values = values, labels = labels)
}

#' Values of second variables by their names, as these have them
#' @noRd
check_int_conditions <- function(given, inputs) {
  if (is.null(given)) return(NULL)
  known <- Filter(function(variable) is.null(variable$column), input_variables(inputs))
  if (!is.list(given) || is.null(names(given)) || !all(lengths(given))) {
    stop_galvi("argument", sprintf(
      "`int_conditions` must be a list of values by the names of variables, as in list(%s = c(1, 2)), not %s.",
      or_else(names(known)[1L], "x"), describe(given)
    ))
  }
  unknown <- setdiff(names(given), names(known))
  if (length(unknown)) {
    stop_galvi("argument", sprintf("`int_conditions` has %s, which is not a variable of the model; these are %s.",
      quote_names(unknown[1L]), quote_names(names(known), max = 30L)))
  }
  lapply(stats::setNames(nm = names(given)), function(name) {
    x <- inputs$values[[name]]
    values <- if (is.function(given[[name]])) given[[name]](x) else given[[name]]
    stats::setNames(as_value_of(values, x, name, open = FALSE, arg = "int_conditions"), names(values))
  })
}

#' Values of a condition as the variable of the data has them
#' @param open May there be other levels?
#' @noRd
as_value_of <- function(value, x, name, open, arg = "conditions") {
  if (anyNA(value)) stop_galvi("argument", sprintf("`%s` has missing values of `%s`.", arg, name))
  if (is_continuous(x)) {
    if (is_continuous(value) || is.logical(value)) return(if (inherits(value, class(x)[1L])) value else alike(value, x))
    stop_galvi("argument", sprintf("`%s$%s` must be numbers, as in the data, not %s.", arg, name, describe(value)))
  }
  levels <- if (is.factor(x)) levels(x) else as.character(sort(unique(x)))
  unknown <- setdiff(as.character(value), levels)
  if (length(unknown) && !open) {
    stop_galvi("argument", sprintf("`%s$%s` has the level %s; its levels are %s.", arg, name,
      quote_names(unknown[1L], "\""), quote_names(levels, "\"")))
  }
  if (is.factor(x)) return(factor(as.character(value), union(levels, unknown), ordered = is.ordered(x)))
  if (is.logical(x)) as.logical(value) else as.character(value)
}

#' The effects that were asked for: vectors of one or two names of input_variables(), by their label
#' @noRd
wanted_conditional <- function(effects, fit, views, inputs) {
  known <- input_variables(inputs)
  own <- unlist(lapply(views, function(view) {
    c(effects_of_terms(view, inputs), effects_of_others(view, inputs, known))
  }), recursive = FALSE)
  own <- own[!duplicated(names(own)) & lengths(own) <= 2L]
  own <- own[order(lengths(own) > 1L)]
  used <- unique(unlist(lapply(views, function(view) names(kept_others(view, inputs, character())))))
  used <- names(known)[vapply(known, `[[`, "", "name") %in% used]
  if (!length(used)) {
    stop_galvi("argument", "conditional_effects() needs a term besides the intercept and the groups.")
  }
  if (is.null(effects)) {
    # several classes are curves of one panel already
    several <- has_classes(fit) || is_several(fit)
    return(if (several) own[lengths(own) == 1L] else own)
  }
  if (!is.character(effects) || !length(effects) || anyNA(effects)) {
    stop_galvi("argument", sprintf("`effects` must be names of variables, such as %s, not %s.", dQuote(used[1L], FALSE),
      describe(effects)))
  }
  found <- unlist(lapply(effects, function(label) {
    found <- named_effects(label, inputs, own)
    if (!length(found) || !all(unlist(found) %in% used)) {
      check_choice(label, unique(c(names(own), used)), "effects")
    }
    found
  }), recursive = FALSE)
  found <- found[!duplicated(names(found))]
  wide <- which(lengths(found) > if (has_classes(fit) || is_several(fit)) 1L else 2L)
  if (length(wide)) {
    stop_galvi("argument", sprintf(paste(
      "`effects` has \"%s\", and %s: give values of the others by `conditions`."
    ), names(found)[wide[1L]], if (length(found[[wide[1L]]]) > 2L) "an effect has one or two variables" else {
      "of a response with classes an effect has one variable"
    }))
  }
  found
}

#' Effects of the variables of terms other than fixed effects, groups and regions
#' @noRd
effects_of_others <- function(view, inputs, known) {
  specs <- view$design$specs
  functional <- vapply(specs, function(spec) isTRUE(spec$functional), NA)
  specs <- specs[!is_left_out(specs) & !is_fixed_label(specs) & !functional]
  effects <- unlist(lapply(specs, function(spec) {
    from <- unlist(lapply(spec$variables, function(v) inputs$made[[variable_name(v)]]$from))
    own <- names(known)[vapply(known, `[[`, "", "name") %in% from]
    own <- own[vapply(known[own], function(variable) varies(get_variable(inputs$values, variable)), NA)]
    c(as.list(own), if (length(own) == 2L) list(in_drawn_order(own, inputs, known)))
  }), recursive = FALSE)
  stats::setNames(as.list(effects), vapply(effects, paste, "", collapse = ":"))
}

# ---- data ----

#' Warns of what overflows; a linear predictor does not
#' @param scale Of one of conditional_methods.
#' @noRd
warn_infinite_effects <- function(found, scale) {
  numbers <- lapply(found, function(one) one$data[c("estimate__", "lower__", "upper__")])
  if (scale == "link" || !any(is.infinite(unlist(numbers)))) return(invisible())
  warn_galvi("numeric", paste(
    "Estimates or limits are infinite, or too large for a number: Inf. `method = \"posterior_linpred\"` does not",
    "overflow."
  ))
}

#' An effect's data frame, and a panel for each set of conditions
#' @param names Of one or two variables.
#' @noRd
conditional_effect <- function(names, fit, views, inputs, conditions, settings) {
  known <- input_variables(inputs)
  along <- list(variable = known[[names[1L]]], values = axis_values(fit, inputs, known[[names[1L]]], settings$n))
  within <- lapply(known[names[-1L]], function(variable) {
    group_values(inputs, variable, settings$curves[[variable$name]])
  })
  shown <- c(stats::setNames(list(along), names[1L]), within)
  others <- unlist(lapply(views, kept_others, inputs, names), recursive = FALSE)
  others <- others[!duplicated(base::names(others))]
  parts <- lapply(seq_along(conditions$labels), function(i) {
    given <- lapply(conditions$values, function(x) x[i])
    given <- given[setdiff(base::names(given), names)]
    data <- conditional_data(fit, inputs, shown, given, others, settings)
    data$cond__ <- factor(conditions$labels[i], conditions$labels)
    list(data = data, panel = conditional_effect_panel(fit, inputs, data, names, along, within, given, others,
      conditions$labels, settings))
  })
  data <- do.call(rbind, lapply(parts, `[[`, "data"))
  list(data = structure(data, effects = c(names, if (!is.null(data$cats__)) "cats__"),
    response = fit$design$response$name), panels = lapply(parts, `[[`, "panel"))
}

# The first variable changes slowest, as in brms; classes change slowest of all.
conditional_data <- function(fit, inputs, shown, given, others, settings) {
  rows <- grid_rows(fit, inputs, shown, given)
  size <- length(shown[[1L]]$values)
  order <- as.vector(t(matrix(seq_len(nrow(rows)), size)))
  rows <- lapply(rows, take_variable, order)
  rows <- structure(rows, class = "data.frame", row.names = .set_row_names(length(order)))
  method <- conditional_methods[[settings$method]]
  target <- conditional_target(fit, inputs, rows, settings$kept)
  k <- settings$k
  found <- method$of(conditional_view(fit, settings),
    if (is.null(k) || n_predictors(fit) == 1L) target else target_view(target, k), settings$prob, settings$robust)
  found <- lapply(found, without_outside, target$outside)
  n <- nrow(rows)
  values <- lapply(shown, function(one) get_variable(rows, one$variable))
  plain <- Filter(function(x) is.null(dim(x)), others)
  plain <- plain[setdiff(names(plain), names(given))]
  data <- as.data.frame(c(values, lapply(c(plain, given), rep, n)), optional = TRUE, stringsAsFactors = FALSE)
  data$cond__ <- factor(rep("", n))
  again <- rep(seq_len(n), length(found))
  data <- data[again, , drop = FALSE]
  row.names(data) <- NULL
  cats <- if (length(found) > 1L) {
    levels <- if (settings$method == "posterior_linpred") latent_names(fit) else response_levels(fit)
    factor(rep(levels, each = n), levels)
  }
  data$cats__ <- cats
  data$effect1__ <- values[[1L]][again]
  data$effect2__ <- if (!is.null(cats)) cats else if (length(values) > 1L) {
    second <- shown[[2L]]
    if (second$named) factor(second$labels[match(values[[2L]], second$values)], second$labels) else {
      in_two_digits(values[[2L]])
    }
  }
  for (what in c("estimate", "se", "lower", "upper")) {
    data[[paste0(what, "__")]] <- unlist(lapply(found, `[[`, what))
  }
  data
}

# Levels of numbers from high to low, as curves of them mostly are.
in_two_digits <- function(x) {
  if (!is_continuous(x)) return(if (is.factor(x)) x else factor(x, sort(unique(x))))
  if (!is.numeric(x)) return(factor(format(x), rev(format(sort(unique(x))))))
  rounded <- round(x, 2L)
  factor(rounded, sort(unique(rounded), decreasing = TRUE))
}

#' What is asked: the fit, one of its linear predictors or, on its own scale, a parameter
#' @noRd
conditional_view <- function(fit, settings) {
  if (is.null(settings$k)) return(fit)
  parameter <- conditional_methods[[settings$method]]$scale == "response" && !is_volatility(fit)
  if (parameter) parameter_view(fit, settings$k) else predictor_view(fit, settings$k)
}

#' @param data Of one set of conditions.
#' @noRd
conditional_effect_panel <- function(fit, inputs, data, names, along, within, given, others, labels, settings) {
  scale <- conditional_methods[[settings$method]]$scale
  shown <- conditional_view(fit, settings)
  predicted <- settings$method == "posterior_predict"
  series <- if (!is.null(data$cats__)) data$cats__ else if (length(within)) {
    size <- length(within[[1L]]$values)
    factor(rep(within[[1L]]$labels, length(along$values)), within[[1L]]$labels[seq_len(size)])
  }
  drawn <- data[names[1L]]
  if (!is.null(series)) drawn$series <- series
  drawn[c("fit", "lwr", "upr")] <- data[c("estimate__", "lower__", "upper__")]
  drawn <- drawn[order(or_else(series, rep(1L, nrow(drawn)))), , drop = FALSE]
  label <- paste(names, collapse = ":")
  if (length(labels) > 1L) label <- paste0(label, ", ", data$cond__[1L])
  if (!of_response(shown)) label <- paste0(parameter_prefix(shown$parameter), label)
  settings$level <- settings$prob
  settings$scale <- scale
  if (predicted) settings$label <- fit$design$response$name
  settings["left_out"] <- list(left_out_words(shown))
  values <- c(others[setdiff(base::names(others), base::names(given))], given)
  drawn_panel(shown, inputs, drawn, label, along, if (length(within)) within, NULL, values, settings, given)
}

# ---- methods ----

#' @rdname conditional_effects
#' @export
print.galvi_conditional_effects <- function(x, digits = 4, ...) {
  refuse_print_dots(list(...), print.galvi_conditional_effects)
  settings <- attr(x, "settings")
  what <- c(posterior_epred = "mean response", posterior_linpred = "linear predictor",
    posterior_predict = "new responses")[[settings$method]]
  cat(sprintf("Conditional effects: %s of the %s with %s%% intervals\n", if (settings$robust) "medians" else "means",
    or_else(settings$what, what), format(100 * settings$prob)))
  for (name in names(x)) {
    data <- as.data.frame(x[[name]])
    cat("\n", name, "\n", sep = "")
    print(utils::head(data, 6L), digits = digits, row.names = FALSE)
    if (nrow(data) > 6L) cat(sprintf("... %d more rows\n", nrow(data) - 6L))
  }
  invisible(x)
}

#' @rdname conditional_effects
#' @export
plot.galvi_conditional_effects <- function(x, ask = NULL, main = NULL, xlab = NULL, ylab = NULL, xlim = NULL,
                                           ylim = NULL, col = NULL, ...) {
  refuse_dots(list(...), plot.galvi_conditional_effects, "plot()")
  look <- check_look(list(main = main, xlab = xlab, ylab = ylab, xlim = xlim, ylim = ylim, col = col))
  draw_panels(attr(x, "panels"), look, ask)
  invisible(x)
}

#' @rdname conditional_effects
#' @param object The value of `conditional_effects()`.
#' @method autoplot galvi_conditional_effects
#' @rawNamespace S3method(ggplot2::autoplot,galvi_conditional_effects)
autoplot.galvi_conditional_effects <- function(object, ...) {
  refuse_dots(list(...), autoplot.galvi_conditional_effects, "autoplot()")
  panels <- attr(object, "panels")
  names <- make.unique(vapply(panels, `[[`, "", "name"))
  one_or_several(stats::setNames(lapply(panels, gg_panel), names))
}

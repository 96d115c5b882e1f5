# Panels of conditional effects (R/view-conditional.R): of the variables of the fixed effects and of their interactions,
# and of other variables that `terms` names.

# So many panels can be looked at; of more variables those with the largest effects are drawn.
most_conditional <- 20L

#' Panels of effects; of very many variables those that have most of it
#' @noRd
conditional_panels <- function(fit, inputs, effects, settings) {
  panels <- unlist(lapply(effects, function(names) conditional_panels_of(fit, inputs, names, settings)),
    recursive = FALSE)
  if (length(effects) <= most_conditional || !is.null(settings$terms)) return(unname(panels))
  size <- vapply(panels, function(panel) diff(range(0, drawn_range(panel$data$fit) - panel$data$fit[1L])), 0)
  unname(panels[sort(utils::head(order(-size), most_conditional))])
}

#' Scale of a conditional effect: the response, but where that has the units of the linear predictor or no mean
#' @noRd
conditional_scale <- function(fit, settings) {
  if (settings$scale != "auto") return(settings$scale)
  linear <- link_has(fit$family, "same_units") && !isTRUE(has_classes(fit)) && !is_volatility(fit)
  if (linear || is.null(fit$parameter) && has_infinite_mean(fit)) "link" else "response"
}

#' Panels of one effect: one, or where curves are classes already, and of a third variable, one for each of its values
#' @param names Of one to three variables: along the axis, with a curve each, with a panel each.
#' @noRd
conditional_panels_of <- function(fit, inputs, names, settings) {
  known <- input_variables(inputs)
  if (length(names) > 3L) {
    stop_galvi("argument", sprintf(
      "`terms` has %d variables in \"%s\": a panel shows up to three, such as \"%s\".", length(names),
      paste(names, collapse = ":"), paste(names[1:2], collapse = ":")
    ))
  }
  settings$scale <- conditional_scale(fit, settings)
  along <- list(variable = known[[names[1L]]], values = axis_values(fit, inputs, known[[names[1L]]], settings$n,
    settings$xlim))
  groups <- lapply(known[names[-1L]], function(variable) group_values(inputs, variable))
  many <- n_latents(fit) > 1L || isTRUE(has_classes(fit)) && settings$scale == "response" || is_ordinal(fit)
  within <- if (!many && length(groups)) groups[1L]
  apart <- groups[setdiff(names(groups), names(within))]
  each_held(apart, function(held) conditional_panel(fit, inputs, names, along, within, held, settings))
}

conditional_panel <- function(fit, inputs, names, along, within, held, settings) {
  shown <- c(stats::setNames(list(along), names[1L]), within, held)
  rows <- grid_rows(fit, inputs, shown)
  size <- length(along$values)
  series <- if (length(within)) factor(rep(within[[1L]]$labels, each = size), within[[1L]]$labels)
  others <- kept_others(fit, inputs, names)
  data <- effect_of(fit, conditional_marginals(fit, inputs, rows), settings, series,
    predicted = !length(others) && !length(within))
  # of classes the rows repeat
  at <- lapply(shown, function(one) {
    take_variable(get_variable(rows, one$variable), rep_len(seq_len(nrow(rows)), nrow(data)))
  })
  data <- cbind(as.data.frame(at, optional = TRUE, stringsAsFactors = FALSE), data)
  attr(data, "conditions") <- others
  # what is left out of the panel's name stands in a second panel's
  name <- paste(names, collapse = ":")
  values <- vapply(seq_along(held), function(i) paste(names(held)[i], "=", held[[i]]$labels), "")
  name <- paste(c(paste0(if (!of_response(fit)) parameter_prefix(fit$parameter), name), values), collapse = ", ")
  drawn_panel(fit, inputs, data, name, along, within, held, others, settings)
}

#' The panel of an effect's data
#'
#' @param data The variable along the axis, what effect_of() returns, and anything.
#' @param others Values of the other variables, by name. given: those of them that the user chose.
#' @param settings list(scale, level, xlim, ylim), and `left_out`, words for what is left out, where it is not what a
#'   plot leaves out; `label` of the vertical axis, where it is not that of the scale.
#' @noRd
drawn_panel <- function(fit, inputs, data, name, along, within, held, others, settings, given = list()) {
  few <- has_few_values(inputs, along$variable$name, along$variable$column)
  curve <- !few && is_continuous(along$values) && length(along$values) > 1L
  of_classes <- isTRUE(has_classes(fit)) && settings$scale == "response"
  points <- if (!few || !of_classes) conditional_points(fit, inputs, along, within, held, settings, others, given)
  apart <- has_offset(fit) && !length(inputs$offsets)
  as <- if (!curve) levels_panel else if (of_classes) class_panel else curve_panel
  draft <- list(
    data = data, points = points, rug = get_variable(inputs$values, along$variable), key = names(within), as = as,
    labels = c(names(data)[1L], or_else(settings$label, effect_axis(fit, settings$scale, apart))), name = name,
    scale = settings$scale, absolute = TRUE, lines = TRUE, settings = settings[c("xlim", "ylim")],
    note = join_notes(
      others_words(others), or_else(settings$left_out, left_out_words(fit)),
      if (apart) offset_note(fit, settings$scale),
      band_note(data, settings), points$note, left_out_note(data$fit, data$lwr, data$upr, data$y_lwr, data$y_upr)
    )
  )
  effect_panel(draft, fit)
}


# At most so many values are written out above a panel.
most_values <- 4L

others_words <- function(others) {
  if (!length(others)) return(NULL)
  one <- function(x) {
    if (is.numeric(x) && is.null(attr(x, "class"))) format(signif(as.vector(x), 3L)) else format(x)
  }
  if (length(others) > most_values || any(lengths(others) > 1L)) {
    return("other variables at their means and first levels")
  }
  paste("at", paste(names(others), "=", vapply(others, function(x) trimws(one(x)), ""), collapse = ", "))
}

left_out_words <- function(fit) {
  specs <- fit$design$specs
  left_out <- unique(vapply(specs[is_left_out(specs)], `[[`, "", "label"))
  if (length(left_out)) paste("without", paste(left_out, collapse = ", "))
}

# ---- observations ----

#' The observations beside a conditional effect, as data_points() has them
#' @param others From kept_others(). given: values of other variables that are not those that are kept.
#' @noRd
conditional_points <- function(fit, inputs, along, within, held, settings, others, given = list()) {
  if (is_counts(fit) || is_mixed(fit$family) || !has_rows(fit) || !has_mean_of_one(fit)) return(NULL)
  x <- get_variable(inputs$values, along$variable)
  groups <- c(within, held)
  places <- lapply(groups, function(group) {
    nearest_value(get_variable(inputs$values, group$variable), group$values)
  })
  own <- Reduce(`&`, Map(function(place, group) {
    !is.na(place) & (if (length(group$values) > 1L) TRUE else in_cell(inputs, group))
  }, places, groups), rep(TRUE, length(x)))
  shown <- which(own)
  drawn <- if (length(shown) > most_points) shown[spread_rows(length(shown), most_points)] else shown
  some <- if (length(drawn) < length(shown)) {
    sprintf("%s of %s observations", whole_words(length(drawn)), whole_words(length(shown)))
  }
  if (!length(drawn)) return(NULL)
  if (is.null(fit$parameter) && (has_classes(fit) || has_two_classes(fit))) {
    in_cells <- is_ordinal(fit) && settings$scale == "link" && !length(others) && !length(groups)
    return(list(kind = "classes", x = x[drawn], class = fit$model$y[drawn], in_cells = in_cells, note = c(some,
      if (in_cells) "points: observations, at any height in the cell of their level")))
  }
  if (n_latents(fit) > 1L) return(NULL)
  rows <- with_values(typical_rows(fit, inputs, length(drawn)), inputs, given)
  rows <- set_variable(rows, along$variable, x[drawn])
  for (i in seq_along(groups)) rows <- set_variable(rows, groups[[i]]$variable, groups[[i]]$values[places[[i]][drawn]])
  f <- conditional_marginals(fit, inputs, rows, variance = FALSE)$mean[, 1L] +
    if (of_response(fit)) conditional_offset(fit, inputs, rows)[, 1L] else 0
  y <- partial_residuals(fit, f, settings$scale, drawn)
  outlying <- outlying(fit)[drawn]
  adjusted <- length(others) || any(is_left_out(fit$design$specs)) || has_offset(fit)
  list(kind = "numbers", x = x[drawn], y = y, outlying = outlying, series = if (length(within)) places[[1L]][drawn],
    note = c(
      some, if (adjusted && !is_volatility(fit)) "points: partial residuals",
      if (is_volatility(fit) && settings$scale == "response") "points: |y|",
      if (is_censored(fit)) "points of censored rows: what is known of their response",
      if (any(outlying)) "ringed: outside the 99% interval that the others predict"
    ))
}

#' Is the mean of the response that of this predictor alone, so that residuals belong beside it?
#' @noRd
has_mean_of_one <- function(fit) {
  if (is.null(fit$parameter)) return(TRUE)
  kind <- family_type(fit$family)
  of_response(fit) && !length(always_predicted(fit$family)) && !kind$times && !is_volatility(fit)
}

#' Which of some values is nearest; of levels, which is equal
#' @noRd
nearest_value <- function(x, values) {
  if (!is_continuous(x)) return(match(as.character(x), as.character(values)))
  middles <- (as.numeric(values)[-1L] + as.numeric(values)[-length(values)]) / 2
  findInterval(as.numeric(x), middles) + 1L
}

#' Are observations those of the value of a panel: of the level, or nearest to that of mean - sd, mean and mean + sd?
#' @noRd
in_cell <- function(inputs, group) {
  x <- get_variable(inputs$values, group$variable)
  all <- group_values(inputs, group$variable)$values
  nearest_value(x, all) == match(as.character(group$values), as.character(all))
}

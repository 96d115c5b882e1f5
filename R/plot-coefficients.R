# A forest plot: fixed effects with their credible intervals, or the ratios that they stand for.

# A page of more has names that nobody can read.
most_coefficients <- 40L

#' Panels of each linear predictor's coefficients but the intercepts
#' @noRd
forest_panels <- function(fit, settings) {
  views <- if (is_distributional(fit)) lapply(1:2, function(k) predictor_view(fit, k)) else list(fit)
  panels <- unlist(lapply(views, forest_of_view, settings), recursive = FALSE)
  if (!length(panels)) {
    stop_galvi("argument", paste(
      "`which = \"coefficients\"` needs fixed effects besides the intercept, and this fit has none.",
      "`which = \"effects\"` draws its other terms."
    ))
  }
  list(data = do.call(rbind, lapply(panels, `[[`, "data")), panels = panels)
}

forest_of_view <- function(view, settings) {
  data <- forest_table(view, settings$level)
  if (!nrow(data)) return(NULL)
  ratio <- if (settings$exponentiate) ratio_words(view)
  if (settings$exponentiate) data[c("fit", "lwr", "upr")] <- exp(data[c("fit", "lwr", "upr")])
  name <- paste0("Coefficients", if (!is.null(view$parameter)) paste(" of", view$parameter))
  if (!is.null(view$parameter)) data <- cbind(parameter = view$parameter, data)
  page <- (match(data$coefficient, unique(data$coefficient)) - 1L) %/% most_coefficients
  pages <- split(data, page)
  lapply(seq_along(pages), function(i) {
    panel <- list(
      data = pages[[i]], ratio = settings$exponentiate, labels = c(or_else(ratio, in_units("coefficient", view)), ""),
      name = paste0(name, if (length(pages) > 1L) sprintf(" (%d of %d)", i, length(pages))),
      note = join_notes(
        sprintf("%s%% credible intervals", format(100 * settings$level)), left_out_note(pages[[i]]$lwr, pages[[i]]$upr)
      )
    )
    panel_of(view, panel, draw_forest, gg_forest)
  })
}

#' coefficient, series (which class or latent) where there are several, fit, lwr, upr; without intercepts
#' @noRd
forest_table <- function(view, level) {
  mean <- fixed_coefficients(view)$mean
  limits <- if (nrow(mean)) coefficient_limits(view, level) else matrix(0, 0L, 2L)
  data <- data.frame(
    coefficient = rep(rownames(mean), ncol(mean)), fit = as.vector(mean), lwr = limits[, 1L], upr = limits[, 2L]
  )
  if (ncol(mean) > 1L) {
    data <- cbind(data[1L], series = factor(rep(colnames(mean), each = nrow(mean)), colnames(mean)), data[-1L])
  }
  data <- data[!grepl("^(.*:)?\\(Intercept\\)$", data$coefficient), ]
  rownames(data) <- NULL
  data
}

#' What exp(coefficient) is a ratio of
#' @noRd
ratio_words <- function(view) {
  family <- view$family
  if (!is_mixed(family)) {
    odds <- link_has(family, "odds")
    if (odds && has_classes(view) && !is_ordinal(view)) return("exp(coefficient)")
    if (odds) return("odds ratio")
    of <- if (!is.null(view$parameter)) paste("ratio of", view$parameter)
    if (is_volatility(view)) return("ratio of variances")
    if (link_has(family, "hazards") || has_hazards(view)) return("hazard ratio")
    if (link_has(family, "rates")) {
      if (family_type(family)$times) of <- or_else(of, "ratio of times")
      return(or_else(of, if (is_discrete(view)) "rate ratio" else "ratio of means"))
    }
  }
  own <- if (is_mixed(family)) "a family for each column" else sprintf("the %s link", family$link)
  stop_galvi("argument", sprintf(paste(
    "`exponentiate = TRUE` is for log, logit and cloglog links, where exp(coefficient) is a ratio of means, odds or",
    "hazards; this fit has %s."
  ), own))
}

# Families of proportional hazards have a time at which these are compared.
has_hazards <- function(fit) !is.null(fit$model$likelihood$constants$reference)

# Rows from the top, series of a row below each other.
forest_places <- function(data) {
  names <- unique(data$coefficient)
  k <- max(1L, nlevels(data$series))
  series <- if (is.null(data$series)) rep(1L, nrow(data)) else as.integer(data$series)
  list(
    names = names, series = series, count = k,
    at = length(names) + 1 - match(data$coefficient, names) - (series - (k + 1) / 2) * 0.6 / k
  )
}

draw_forest <- function(fit, panel, look) {
  data <- panel$data
  names <- unique(data$coefficient)
  if (length(names) > most_rows()) {
    panel$note <- join_notes(panel$note, sprintf("the first %d of %d", floor(most_rows()), length(names)))
    data <- data[data$coefficient %in% utils::head(names, most_rows()), ]
  }
  rows <- forest_places(data)
  none <- if (panel$ratio) 1 else 0
  keys <- if (rows$count > 1L) levels(data$series)
  open_panel(drawn_range(none, ratio_range(panel, data)), c(0.5, length(rows$names) + 0.5), panel$labels[1L], "",
    panel$name, panel$note, look, right = key_room(keys), rows = rev(rows$names), log = if (panel$ratio) "x" else "")
  colours <- series_colours(rows$count, look)[rows$series]
  graphics::abline(v = none, col = "grey40", lty = 2)
  graphics::segments(data$lwr, rows$at, data$upr, rows$at, col = fade(colours, 0.6), lwd = 2)
  graphics::points(data$fit, rows$at, pch = 19, col = colours, cex = if (length(rows$names) > 15L) 0.7 else 0.9)
  if (rows$count > 1L) margin_key(keys, series_colours(rows$count, look), pch = 19, lwd = 2)
}

# Ratios of separated classes can be 0 or infinite to the computer.
ratio_range <- function(panel, data) {
  x <- c(data$lwr, data$upr, data$fit)
  if (panel$ratio) x[x > 0] else x
}

gg_forest <- function(fit, panel) {
  data <- panel$data
  data$coefficient <- factor(data$coefficient, rev(unique(data$coefficient)))
  several <- nlevels(data$series) > 1L
  if (!several) data$series <- factor("")
  aside <- if (several) ggplot2::position_dodge2(width = 0.6, reverse = TRUE) else "identity"
  plot <- gg(data, "fit", "coefficient", colour = "series") +
    ggplot2::geom_vline(xintercept = if (panel$ratio) 1 else 0, linetype = 2, colour = "grey40") +
    ggplot2::geom_pointrange(columns(xmin = "lwr", xmax = "upr"), size = 0.35, position = aside) +
    gg_series(nlevels(data$series)) + gg_labels(panel, x = panel$labels[1L], y = NULL)
  if (panel$ratio) plot + ggplot2::scale_x_log10(breaks = log_ticks) else plot
}

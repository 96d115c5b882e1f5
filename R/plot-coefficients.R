# A forest plot: fixed effects with their credible intervals, or the ratios that they stand for.

# A page of more has names that nobody can read.
most_coefficients <- 40L

#' Panels of each linear predictor's coefficients but the intercepts
#' @noRd
forest_panels <- function(fit, settings) {
  views <- predictors(fit)
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
    forest_panel(
      pages[[i]], settings$exponentiate, or_else(ratio, in_units("coefficient", view)),
      paste0(name, if (length(pages) > 1L) sprintf(" (%d of %d)", i, length(pages))),
      join_notes(
        sprintf("%s%% credible intervals", format(100 * settings$level)), left_out_note(pages[[i]]$lwr, pages[[i]]$upr)
      )
    )
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
    if (link_has(family, "hazards") && !is_ordinal(view) || has_hazards(view)) return("hazard ratio")
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

#' Rows from the top, series of a row below each other
#' @noRd
forest_panel <- function(data, ratio, label, name, note) {
  names <- unique(data$coefficient)
  of <- or_else(data$series, factor(rep("", nrow(data))))
  k <- nlevels(of)
  none <- if (ratio) 1 else 0
  at <- data.frame(x = data$fit, low = data$lwr, high = data$upr, series = of,
    y = length(names) + 1 - match(data$coefficient, names) - (as.integer(of) - (k + 1) / 2) * 0.6 / k)
  new_panel(name, data, c(
    list(mark("rule", data.frame(vertical = none), "grey40", lty = 2)),
    row_marks(at, cex = if (length(names) > 15L) 0.7 else 0.9)
  ), c(label, ""), note, rows = rows_of(rev(names), "the first %d of %s"), log = if (ratio) "x" else "",
    series = series_of(levels(of)), key = if (k > 1L) list(pch = 19, lwd = 2))
}

# augment() of broom: the data with what is predicted for each row (documented at ?tidy.galvi).

#' @rdname tidy.galvi
#' @method augment galvi
#' @rawNamespace S3method(generics::augment,galvi)
augment.galvi <- function(x, data = NULL, newdata = NULL, type.predict = c("response", "link", "prob"),
                          interval = c("none", "credible", "prediction"), conf.level = 0.95, ...) {
  if (inherits(x, "galvi_stages")) x <- stages_view(x)
  type <- first_choice(type.predict, c("response", "link", "prob"), "type.predict")
  interval <- check_interval(interval)
  level <- check_level(conf.level, "conf.level")
  if (is.null(newdata) && is.null(data)) data <- augmented_data(x)
  out <- if (is.null(newdata)) augmented_rows(x, data) else as_new_data(newdata)
  # the rows that the fit used, without places for those that it left out
  if (is.null(newdata) && nrow(out) == used_rows(x)) x$na.action <- NULL
  columns <- if (inherits(x, "galvi_cox")) {
    augment_cox(x, newdata, type, interval, level)
  } else if (inherits(x, "galvi_wide")) {
    augment_wide(x, newdata, type, interval, level)
  } else if (has_classes(x) && type != "link") {
    if (interval != "none") check_no_classes(x, sprintf("`interval = \"%s\"`", interval))
    augment_classes(x, newdata, type == "prob")
  } else {
    if (type == "prob") {
      stop_galvi("argument", "`type.predict = \"prob\"` is for responses with several classes.")
    }
    check_one_latent(x, "augment(type.predict = \"link\")")
    augment_numbers(x, newdata, type, interval, level)
  }
  if (is.null(newdata) || !in_long_form(x) && has_response(x, newdata)) {
    columns$.resid <- augment_residuals(x, newdata)
  }
  named <- !identical(row.names(out), as.character(seq_len(nrow(out))))
  if (named && !".rownames" %in% names(out)) out <- cbind(.rownames = row.names(out), out)
  out[names(columns)] <- columns
  as_table(out)
}

#' What the rows of the fit are by default: the model frame, in the wide form the variables beside the responses
#' @noRd
augmented_data <- function(fit) {
  if (!inherits(fit, "galvi_wide")) return(stats::model.frame(fit))
  wide <- fit$design$wide
  data <- wide$data
  row.names(data) <- wide$units
  data[[wide$name]] <- in_entries(fit, as.numeric(fit$data[[wide_names[["response"]]]]))
  data
}

#' `data` of augment(): the rows of the fit, or also those that it left out where na.exclude keeps their
#' places
#' @noRd
augmented_rows <- function(fit, data) {
  if (!is.data.frame(data)) {
    stop_galvi("argument", sprintf("`data` must be a data frame, not %s.", describe(data)))
  }
  n <- if (inherits(fit, "galvi_wide")) length(fit$design$wide$units) else used_rows(fit)
  rows <- c(n, length(stats::naresid(fit$na.action, numeric(n))))
  if (nrow(data) %in% rows) return(data)
  stop_galvi("argument", sprintf(
    "`data` must have a row per observation of the fit, %s, not %d; other data are `newdata`.",
    paste(unique(rows), collapse = " or "), nrow(data)
  ))
}

#' Is all that the response is made of in `newdata`?
#' @noRd
has_response <- function(fit, newdata) all(all.vars(fit$formula[[2L]]) %in% names(newdata))

#' Has the response, or each column of it, classes?
#' @noRd
all_classes <- function(fit) !is_mixed(fit$family) && has_classes(fit)

augment_residuals <- function(fit, newdata) {
  if (inherits(fit, "galvi_cox")) return(unname(residuals.galvi_cox(fit)))
  if (is_censored(fit)) {
    # in the middle of what is known of a censored response: nothing is drawn
    target <- draws_target(fit, newdata, response = TRUE)
    return(unname(finish_rows(quantile_residuals(fit, target, 0.5), target, stats::na.pass, fit)))
  }
  kind <- if (all_classes(fit)) "deviance" else "response"
  residual <- if (is.null(newdata)) stats::residuals(fit, kind) else residuals.galvi(fit, kind, newdata = newdata)
  if (is.matrix(residual)) `rownames<-`(residual, NULL) else unname(residual)
}

augment_numbers <- function(fit, newdata, type, interval, level) {
  predicted <- predict.galvi(fit, newdata, type = type, se.fit = TRUE, interval = interval, level = level)
  limits <- if (interval != "none") list(.lower = "lwr", .upper = "upr")
  value <- as.matrix(predicted$fit)
  c(
    list(.fitted = unname(value[, 1L]), .se.fit = unname(predicted$se.fit)),
    lapply(limits, function(column) unname(value[, column]))
  )
}

augment_classes <- function(fit, newdata, each) {
  prob <- predict.galvi(fit, newdata, type = "prob")
  class <- unname(predict.galvi(fit, newdata, type = "class"))
  columns <- if (each) lapply(stats::setNames(seq_len(ncol(prob)), paste0(".prob_", colnames(prob))), function(j) {
    unname(prob[, j])
  })
  c(list(.fitted = class, .probability = unname(prob[cbind(seq_len(nrow(prob)), as.integer(class))])), columns)
}

#' Matrices with a column for each response
#' @noRd
# Hazard ratios or their logarithms, and martingale residuals.
augment_cox <- function(fit, newdata, type, interval, level) {
  if (type == "prob") stop_galvi("argument", "`type.predict = \"prob\"` is not available for cox().")
  if (interval == "prediction") stop_galvi("argument", "`interval = \"prediction\"` is not available for cox().")
  predicted <- predict.galvi_cox(fit, newdata, type = type, se.fit = TRUE, interval = interval, level = level)
  value <- as.matrix(predicted$fit)
  limits <- if (interval != "none") list(.lower = "lwr", .upper = "upr")
  c(
    list(.fitted = unname(value[, 1L]), .se.fit = unname(predicted$se.fit)),
    lapply(limits, function(column) unname(value[, column]))
  )
}

augment_wide <- function(fit, newdata, type, interval, level) {
  if (type == "prob") stop_galvi("argument", "`type.predict = \"prob\"` is not available for responses().")
  plain <- function(x) `rownames<-`(x, NULL)
  classes <- all_classes(fit) && type == "response"
  if (classes) {
    if (interval != "none") check_no_classes(fit, sprintf("`interval = \"%s\"`", interval))
    return(list(.fitted = plain(predict.galvi_wide(fit, newdata, "class"))))
  }
  predicted <- predict.galvi_wide(fit, newdata, type, se.fit = TRUE, interval = interval, level = level)
  value <- predicted$fit
  if (interval == "none") return(list(.fitted = plain(value), .se.fit = plain(predicted$se.fit)))
  of <- function(column) plain(matrix(value[, , column], nrow(value), dimnames = dimnames(value)[1:2]))
  list(.fitted = of("fit"), .se.fit = plain(predicted$se.fit), .lower = of("lwr"), .upper = of("upr"))
}

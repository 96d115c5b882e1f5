# Survival curves: P(Y > t) of new responses, one curve for each row of `newdata` or one at typical values.

survival_panels <- function(fit, settings) {
  newdata <- settings$newdata
  if (has_classes(fit) || is_mixed(fit$family)) {
    numbers <- "`which = \"survival\"` is for responses that are numbers: use \"effects\" or \"predictive\"."
    stop_galvi("argument", numbers)
  }
  if (!is.null(fit$design$intervals)) return(cox_survival_panels(fit, settings))
  target <- if (is.null(newdata)) typical_target(fit) else new_target(fit, newdata)
  if (target$n == 0L) stop_galvi("newdata", no_rows_words(newdata))
  reach <- settings$xlim
  if (is.null(reach)) reach <- range(fit$model$y, if (is_positive(fit)) 0)
  times <- seq(reach[1L], reach[2L], length.out = settings$n)
  options <- list(at = times, interval = "credible", level = settings$level)
  curves <- predict_tail("upper", fit, target, options)
  survival_panel(curves$fit, times, curve_names(newdata, target), if (is_censored(fit)) "time" else {
    fit$design$response$name
  }, join_notes(
    sprintf("bands: %g%% credible intervals", 100 * settings$level),
    if (is.null(newdata)) "variables at typical values", if (is.null(newdata) && has_offset(fit)) "offset 0"
  ))
}

#' @param curves n x T x 3. names: of the n curves.
#' @noRd
survival_panel <- function(curves, times, names, along, note) {
  n <- length(names)
  data <- do.call(rbind, lapply(seq_len(n), function(i) {
    one <- matrix(curves[i, , ], ncol = 3L, dimnames = list(NULL, c("fit", "lwr", "upr")))
    data.frame(series = factor(rep(names[i], length(times)), names), time = times, one)
  }))
  if (n == 1L) data$series <- NULL
  at <- curve_data(data[c("time", "fit", "lwr", "upr", intersect("series", names(data)))])
  series <- series_of(levels(at$series))
  panel <- new_panel("Survival", data, list(mark("band", at, alpha = 0.2), mark("line", at, lwd = 2)),
    c(along, "probability of a longer time"), note,
    range(data$time), c(0, 1), series = series, key = if (n > 1L) list(lwd = 2))
  list(data = data, panels = list(panel))
}

is_positive <- function(fit) !link_has(fit$family, "same_units")

#' One row whose variables are typical
#' @noRd
typical_target <- function(fit) {
  frames <- lapply(predictors(fit), typical_frame, 1L)
  list(n = 1L, size = 1, names = "1", marginals = marginals_of_frames(fit, frames))
}

# The same where each linear predictor has a frame of its own, of a row.
marginals_of_frames <- function(fit, frames) {
  if (is_imputed(fit)) return(marginals_of_parts(fit, marginals_of_frames, frames))
  latent_at(fit, Map(function(view, frame) frame_rows(view$design, frame)$terms, predictors(fit), frames), 1L)
}

#' What rows of new data differ in, such as `sex = 1, age = 60`; their names where that tells them not apart
#' @noRd
curve_names <- function(newdata, target) {
  rows <- setdiff(seq_along(target$names), target$omitted)
  differs <- function(x) is.atomic(x) && is.null(dim(x)) && length(unique(x)) > 1L
  shown <- Filter(differs, as.list(as.data.frame(newdata)))
  parts <- Map(function(x, name) {
    paste(name, "=", format(x[rows], trim = TRUE, digits = 4))
  }, shown, names(shown))
  words <- if (length(parts)) do.call(paste, c(unname(parts), sep = ", "))
  if (is.null(words) || anyDuplicated(words)) target$names[rows] else words
}

# The entries that predictions in the wide form are for: of the units that were fitted, or of new ones, whose posterior
# may take some of their responses into account.

#' The units to predict for: list(fit: of the long form, with their posterior; n, units: shown names, labels: names in
#' the long form, rows: their variables, offset)
#' @param signal As in residual_view(); of units with known responses the residuals are in eta.
#' @noRd
wide_grid <- function(object, newdata, responses, signal = is.null(responses)) {
  wide <- object$design$wide
  p <- length(wide$items)
  fit <- long_view(object)
  if (is.null(responses)) fit <- residual_view(fit, signal)
  if (is.null(newdata) && is.null(responses)) {
    return(list(fit = fit, n = length(wide$units), units = wide$units, labels = wide$units, rows = wide$data,
      offset = wide$offsets))
  }
  Y <- if (!is.null(responses)) new_responses(responses, wide$items, wide$name)
  if (is.null(newdata)) newdata <- data.frame(row.names = unit_labels(Y$rows, NULL, nrow(Y$columns)))
  newdata <- as_new_data(newdata)
  n <- nrow(newdata)
  if (!is.null(Y) && nrow(Y$columns) != n) {
    stop_galvi("newdata", sprintf("`responses` must have a row for each of the %d rows of `newdata`, not %d.", n,
      nrow(Y$columns)))
  }
  env <- environment(wide$formula)
  rows <- wide_rows(wide$parts, newdata, env, n)
  lacking <- setdiff(names(wide$data), names(rows))
  if (length(lacking)) {
    stop_galvi("newdata", sprintf("`newdata` lacks the column %s.", quote_names(lacking[1L])))
  }
  offset <- wide_offset(wide$parts$offsets, wide$offset, newdata, env, c(n, p))
  labels <- sprintf("<new unit %d>", seq_len(n))
  grid <- list(fit = fit, n = n, units = row.names(newdata), labels = labels, rows = rows, offset = offset)
  if (!is.null(Y)) grid$fit <- residual_view(given_responses(fit, grid, Y), signal)
  grid
}

#' The long form of some entries of a grid, by their numbers
#' @noRd
entry_frame <- function(grid, cells, items) {
  at <- list(unit = (cells - 1L) %% grid$n + 1L, item = (cells - 1L) %/% grid$n + 1L)
  frame <- long_frame(grid$rows, at, grid$units, items)
  levels(frame[[wide_names[["unit"]]]]) <- grid$labels
  attr(frame, "shown_units") <- grid$units
  if (!is.null(grid$offset)) frame[[wide_names[["offset"]]]] <- grid$offset[cells]
  if (isTRUE(grid$fit$design$wide$weighted)) frame[[wide_names[["weights"]]]] <- rep(1, length(cells))
  frame
}

#' The long form of all entries of new units
#' @noRd
new_entries <- function(object, newdata) {
  grid <- wide_grid(object, newdata, NULL)
  items <- object$design$wide$items
  entry_frame(grid, seq_len(grid$n * length(items)), items)
}

new_responses <- function(responses, items, name) {
  if (is.vector(responses) && is.numeric(responses)) responses <- t(responses)
  Y <- if (is.matrix(responses) || is.data.frame(responses)) responses else {
    stop_galvi("newdata", sprintf("`responses` must be a matrix or data frame like %s, not %s.", name,
      describe(responses)))
  }
  if (!is.null(colnames(Y)) && setequal(colnames(Y), items)) Y <- Y[, items, drop = FALSE]
  if (ncol(Y) != length(items) || !is.null(colnames(Y)) && !identical(colnames(Y), items)) {
    stop_galvi("newdata", sprintf(
      "`responses` must have the columns of %s: %s.", name, quote_names(items, max = 8L)
    ))
  }
  colnames(Y) <- items
  rows <- if (is.matrix(Y)) rownames(Y) else if (is.character(attr(Y, "row.names"))) row.names(Y)
  columns <- if (is.matrix(Y)) lapply(seq_along(items), function(j) as.vector(Y[, j])) else as.list(Y)
  list(columns = structure(columns, names = items, row.names = seq_len(nrow(Y)), class = "data.frame"),
    rows = rows, name = "responses")
}

#' The fit with the posterior of new units given some of their responses, at the fit's hyperparameters
#'
#' Where factors are alone units are independent and the new ones are enough; else all rows are taken together.
#' @noRd
given_responses <- function(fit, grid, Y) {
  wide <- fit$design$wide
  cells <- which(!vapply(Y$columns, is.na, logical(grid$n)))
  if (!length(cells)) return(fit)
  at <- list(unit = (cells - 1L) %% grid$n + 1L, item = (cells - 1L) %/% grid$n + 1L)
  families <- list(family = fit$family, part = if (is_mixed(fit$family)) seq_along(wide$items))
  read <- read_columns(Y, families, at, cells, NULL, grid$units, fit$design$response$levels)
  frame <- entry_frame(grid, cells, wide$items)
  residual <- residual_spec(fit$design$specs)
  t <- which(which_can(fit$design$specs, if (is.null(residual)) "units" else "residual"))
  if (!length(t)) {
    stop_galvi("argument", "`responses` tell nothing of each other without factors() or rescor().")
  }
  alone <- length(fit$design$specs) == 1L
  field <- if (is.null(residual)) "units" else "levels"
  fit$design$specs[[t]][[field]] <- c(if (!alone) fit$design$specs[[t]][[field]], grid$labels)
  new <- design_rows(fit$design, frame)
  if (length(new$omitted)) stop_galvi("newdata", "`newdata` has missing values in rows whose `responses` are known.")
  if (any(vapply(new$rows[[1L]], function(rows) !is.null(rows$extension), NA))) {
    stop_galvi("newdata", "`responses` of new units need levels of the other terms that the fit has seen.")
  }
  model <- fit$model
  spec <- fit$design$specs[[t]]
  if (is.null(residual)) model$predictors[[1L]]$terms[[t]]$units <- length(spec$units) else {
    model$predictors[[1L]]$terms[[t]]$field <- slopes_field(spec)
    own <- which(spec$pure_noise[at$item])
    read$size[own] <- 1 / spec$scale[at$item[own]]^2
  }
  rows <- list(
    y = read$y, size = read$size, weights = read$weights, offset = new$offset,
    part = if (is_mixed(fit$family)) families$part[at$item], designs = new$rows
  )
  join <- function(old, new) if (alone) new else bind_blocks(list(old, new))
  for (name in names(not_null(rows[names(rows) != "designs"]))) {
    model[[name]] <- join(model[[name]], rows[[name]])
  }
  model$designs <- Map(function(old, new) Map(function(o, n) join(not_null(o), n[names(o)]), old, new),
    model$designs, rows$designs)
  model$hyper$value <- fit$posterior$hyper
  model$hyper$learned[] <- FALSE
  posterior <- as_galvi_error(fit_model(model, "auto", "fixed", factorised(as_control(fit$control))))
  fit[c("states", "points", "factorised")] <- NULL
  fit$model <- model
  fit$posterior[names(fit$posterior)] <- posterior[names(fit$posterior)]
  fit
}

#' Places in a matrix of units x items, all of them for NULL
#' @noRd
entry_numbers <- function(entries, units, items) {
  size <- c(length(units), length(items))
  if (is.null(entries)) return(seq_len(prod(size)))
  if (is.data.frame(entries)) entries <- as.matrix(entries)
  if (!is.matrix(entries) || ncol(entries) != 2L || !is.numeric(entries) && !is.character(entries)) {
    stop_galvi("argument", sprintf(
      "`entries` must be a matrix of two columns, row and column of each entry, not %s.", describe(entries)
    ))
  }
  place <- if (is.character(entries)) cbind(match(entries[, 1L], units), match(entries[, 2L], items)) else entries
  bad <- which(is.na(rowSums(place)) | place[, 1L] < 1 | place[, 1L] > size[1L] | place[, 2L] < 1 |
    place[, 2L] > size[2L] | place[, 1L] %% 1 != 0 | place[, 2L] %% 1 != 0)
  if (length(bad)) {
    stop_galvi("argument", sprintf(
      "`entries`: there is no entry (%s, %s) among %d rows and %d columns.", format(entries[bad[1L], 1L]),
      format(entries[bad[1L], 2L]), size[1L], size[2L]
    ))
  }
  as.integer(place[, 1L] + (place[, 2L] - 1) * size[1L])
}

#' The long form of a wide fit, whose methods know nothing of matrices
#' @noRd
long_view <- function(object) {
  object$formula <- object$design$formula
  # entries have places of their own
  object["na.action"] <- list(NULL)
  items <- seq_along(object$design$wide$items)
  object$model_part <- if (is_mixed(object$family) || !is.null(pure_noise(object))) items else rep(1L, length(items))
  class(object) <- "galvi"
  object
}

#' f(view, target, eta) of each part of a family with several, for its own rows of the target: a vector or a matrix
#' @noRd
by_target_part <- function(fit, target, eta, f) {
  if (!has_parts(fit)) return(f(fit, target, eta))
  out <- NULL
  for (i in unique(target$part)) {
    at <- which(target$part == i)
    some <- take_row_numbers(target, at)
    some$n <- length(at)
    value <- as.matrix(f(part_view(fit, i), some, eta[at, , drop = FALSE]))
    if (is.null(out)) out <- matrix(NA_real_, target$n, ncol(value))
    out[at, ] <- value
  }
  if (ncol(out) == 1L) as.vector(out) else out
}

# Responses that the posterior predicts for the rows of a fit, or of new data, for the plots that compare them.

# Rows that stand for all where they are more.
most_predictive_rows <- 10000L

#' A row for each that is drawn, those of whole weights as often as they count: list(row: which of the target's,
#' weights, note)
#' @noRd
predictive_rows <- function(target) {
  weights <- or_else(target$weights, rep(1, target$n))
  used <- which(weights > 0)
  ends <- cumsum(weights[used])
  whole <- all(weights == round(weights)) && length(used)
  all <- if (whole) max(ends) else length(used)
  shown <- if (all > 0) spread_rows(all, most_predictive_rows)
  row <- if (whole) used[findInterval(shown - 0.5, c(0, ends))] else used[shown]
  list(
    row = row, weights = if (whole) rep(1, length(row)) else weights[row],
    note = if (length(row) < all) {
      sprintf("%s of %s observations", whole_words(length(row)), whole_words(all))
    }
  )
}

check_right_censored <- function(target) {
  range <- target$censoring
  if (is.null(range)) return(invisible())
  known <- is.infinite(range[, "upper"]) | range[, "lower"] == range[, "upper"]
  if (all(known)) return(invisible())
  stop_galvi("argument", paste(
    "`which = \"predictive\"` is for responses that are observed or right-censored, and some are left- or",
    "interval-censored: use \"residuals\" or \"calibration\"."
  ))
}

#' What has a panel of its own: list(name, title, view, at: which of the drawn rows), one for each column of responses()
#' @noRd
predictive_columns <- function(fit, own, target, row) {
  wide <- fit$design$wide
  if (is.null(wide)) {
    return(list(list(
      name = fit$design$response$name, title = "Posterior predictive check", view = own, at = seq_along(row)
    )))
  }
  item <- as.integer(own$data[[wide_names[["item"]]]])[match(target$names, row.names(own$data))][row]
  present <- intersect(seq_along(wide$items), item)
  lapply(present, function(j) {
    view <- if (has_parts(own)) part_view(own, own$model_part[j]) else own
    list(name = wide$items[j], title = wide$items[j], view = view, at = which(item == j))
  })
}

#' Responses that the posterior predicts for rows of the target: a list of vectors, of counts of classes matrices
#'
#' Draws are joint: rows that share an effect share its draw.
#' @noRd
replicates <- function(fit, target, row, ndraws) {
  if (!is.null(target$sets)) {
    counts <- tabulate(rep_len(seq_along(fit$fits), ndraws), length(fit$fits))
    return(unlist(Map(replicates, fit$fits, target$sets, list(row), counts), recursive = FALSE))
  }
  used <- sort(unique(row))
  part <- parts_of(fit, target)
  target$names <- as.character(seq_len(target$n))
  target["omitted"] <- list(NULL)
  few <- target_rows(target, used)
  again <- match(row, used)
  respond <- function(view, eta) {
    by_part(view, part[row], function(view, rows) {
      draw_response(view, target_rows(few, again[rows]), eta[again[rows], , drop = FALSE])
    })
  }
  if (has_points(fit)) {
    points <- points_at(fit, few$rows, few$n)
    return(lapply(drawn_points(points$weight, ndraws), function(s) {
      eta <- matrix(unlist(drawn_eta(one_point(points, s), 1L)), few$n) + few$offset
      respond(at_hyper(fit, points$hyper[s, ]), eta)
    }))
  }
  count <- as.vector(stats::rmultinom(1L, ndraws, state_weights(fit)))
  draws <- Map(function(state, count) {
    if (!count) return(NULL)
    view <- at_state(fit, state)
    eta <- over_draws(view, few, count, function(view, target, eta) eta, seq_len(n_latents(fit)))
    lapply(seq_len(count), function(i) respond(view, matrix(eta[i, , ], few$n)))
  }, fit_states(fit), count)
  unlist(draws, recursive = FALSE)
}

# Families of responses(Y): one for all columns, or a list with one for each.

#' One family, or one for each column: list(family, part: NULL, or which of the family's parts each column has)
#' @noRd
wide_families <- function(family, items) {
  listed <- is.list(family) && !is.object(family)
  if (!listed) return(list(family = as_galvi_family(family)))
  p <- length(items)
  if (length(family) != p || !is.null(names(family)) && !setequal(names(family), items)) {
    stop_galvi("family", sprintf(
      "`family` must be one family or a list of %d, one for each column%s, not %s.", p,
      if (is.null(names(family))) "" else sprintf(" (%s)", quote_names(items, max = 6L)), describe(family)
    ))
  }
  if (!is.null(names(family))) family <- family[items]
  parts <- lapply(seq_len(p), function(j) as_galvi_family(family[[j]], arg = sprintf("family[[%d]]", j)))
  list(family = mixed_family(stats::setNames(parts, items)), part = seq_len(p))
}

#' A family for each of several columns: `parts` is the list of them, named like the columns
#' @noRd
mixed_family <- function(parts) {
  links <- unique(vapply(parts, `[[`, "", "link"))
  structure(
    list(family = "mixed", link = if (length(links) == 1L) links else "mixed", parts = parts),
    class = c("galvi_mixed_family", "galvi_family", "family")
  )
}

is_mixed <- function(family) inherits(family, "galvi_mixed_family")

#' @export
own_family_type.galvi_mixed_family <- function(family) list(links = c(mixed = "mixed"))

#' The likelihood of a family with parts: each has its own hyperparameters, named after its column
#' @noRd
mixed_likelihood <- function(family, design, registry, held) {
  parts <- lapply(seq_along(family$parts), function(i) {
    own <- family$parts[[i]]
    at <- which(design[["part"]] == i)
    same_units <- link_has(own, "same_units")
    response <- list(
      y = design$y[at], size = design$size[at], weights = design$weights[at],
      modelled = if (same_units) design$y[at] - design$offset[at, 1L] else design$y[at] / trials_of(design, design)[at],
      exposure = exposures(own, design$offset[at, 1L], design$weights[at]), levels = design$levels[[i]]
    )
    item <- names(family$parts)[i]
    renamed <- list(add = function(owner, parameter, value, lower, upper, ...) {
      # the noise of a column vanishes if a factor equals that column (Heywood case): its variance is bounded below
      if (parameter == "variance" && same_units) lower <- max(lower, 1e-8 * upper)
      registry$add(paste(item, owner, sep = "."), parameter, value, lower, upper, ...)
    })
    family_likelihood(own, response, renamed, held)
  })
  list(type = "mixed", parts = parts)
}

#' Every column as its family reads it, new data with the fit's `levels`: list(y, size, weights: of the entries in
#' order; levels: for a family with parts a list of them)
#' @param units Names of the rows of Y. @param counted Are the weights written as frequency()?
#' @noRd
read_columns <- function(Y, families, at, cells, weights, units, levels = NULL, counted = FALSE) {
  own_weights <- if (is.null(weights)) NULL else weights[cells]
  units <- quote_row_names(units)
  if (is.null(families$part)) {
    y <- unlist(lapply(unname(Y$columns), as_plain), use.names = FALSE)[cells]
    own <- column_levels(Y$columns)
    if (!is.null(own)) y <- factor(y, own$levels, ordered = own$ordered)
    entry <- function(i) sprintf("%s, column `%s`,", units[at$unit[i]], names(Y$columns)[at$item[i]])
    return(naming_rows(entry, family_response(families$family, y, own_weights, Y$name, levels, counted)))
  }
  read <- lapply(seq_along(Y$columns), function(j) {
    mine <- which(at$item == j)
    family <- families$family$parts[[j]]
    name <- names(Y$columns)[j]
    known <- if (!is.null(levels)) c(character(), levels[[j]])
    out <- naming_rows(
      function(i) units[at$unit[mine[i]]],
      family_response(family, Y$columns[[j]][at$unit[mine]], own_weights[mine], name, known, counted)
    )
    if (length(family_type(family)$latents(out$levels, family)) > 1L) stop_several_predictors(family, name)
    out
  })
  together <- function(what) unlist(lapply(read, `[[`, what), use.names = FALSE)
  list(y = together("y"), size = together("size"), weights = together("weights"), levels = lapply(read, `[[`, "levels"))
}

# Factor columns with the same levels stay factors.
column_levels <- function(columns) {
  if (!is.factor(columns[[1L]])) return(NULL)
  levels <- levels(columns[[1L]])
  if (!all(vapply(columns, function(x) identical(levels(x), levels), NA))) {
    stop_galvi("response", paste(
      "Columns of responses() that are factors must have the same levels, or families of their own: give a list of",
      "families."
    ))
  }
  list(levels = levels, ordered = is.ordered(columns[[1L]]))
}

as_plain <- function(x) if (is.factor(x)) as.character(x) else x

# Of all parts together.
#' @export
facts_of_family.galvi_mixed_family <- function(family, model) {
  parts <- Map(function(part, likelihood) {
    facts_of_family(part, list(likelihood = likelihood))
  }, family$parts, model$likelihood$parts)
  all_are <- function(what) all(vapply(parts, `[[`, NA, what))
  list(
    type = "mixed", log_concave = all_are("log_concave"), conjugate = FALSE, closed_form = all_are("closed_form"),
    discrete = all_are("discrete"), separable = TRUE, divides_dispersion = FALSE, latents = 1L, classes = 0L
  )
}

# mixed: 3 gaussian, 2 poisson columns
mixed_label <- function(family) {
  kinds <- vapply(family$parts, function(part) sprintf("%s (%s link)", part$family, part$link), "")
  counts <- table(factor(kinds, unique(kinds)))
  if (length(counts) == 1L) return(sprintf("%s, with parameters for each column", names(counts)))
  paste0("mixed: ", paste(counts, names(counts), collapse = ", "))
}

#' Are there rows with likelihoods of their own: of several families, or with noise of their own (R/view-residuals.R)?
#' @noRd
has_parts <- function(fit) is_mixed(fit$family) || !is.null(fit$noise_of)

#' The fit as if all of it were of the i-th part's family: for predictions of its rows
#' @noRd
part_view <- function(fit, i) {
  own <- fit$noise_of
  fit["noise_of"] <- list(NULL)
  if (is_mixed(fit$family)) {
    fit$family <- fit$family$parts[[i]]
    fit$design$family <- fit$family
    fit$model$likelihood <- fit$model$likelihood$parts[[i]]
    fit$design$response$levels <- fit$design$response$levels[[i]]
  }
  if (!is.null(own) && own$noise[i]) with_noise(fit, own, i) else fit
}

#' The fit whose noise is the i-th residual, or what is left of noise where residuals are in eta
#' @param own list(sd: positions of the residuals' standard deviations; rest: variances, or NULL).
#' @noRd
with_noise <- function(fit, own, i) {
  at <- fit$model$likelihood$hyper$variance
  change <- function(posterior) {
    posterior$hyper[at] <- if (is.null(own$rest)) posterior$hyper[own$sd[i]]^2 else own$rest[i]
    posterior
  }
  fit$posterior <- change(fit$posterior)
  fit$states <- lapply(fit$states, function(state) {
    state$posterior <- change(state$posterior)
    state
  })
  if (!length(fit$states)) fit["states"] <- NULL
  fit
}

stop_several_predictors <- function(family, column = NULL) {
  stop_galvi("family", sprintf(
    "responses() needs families with one linear predictor: %s%s has several%s.", the_family(family),
    if (is.null(column)) "" else sprintf(" of the column `%s`", column),
    if (length(always_predicted(family))) {
      "; for counts with many zeros use negbinomial()"
    } else " (one for each class)"
  ))
}

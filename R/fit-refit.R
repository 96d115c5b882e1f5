# A fit's model, fitted again to some of its rows, from what the fit keeps: nothing is looked up in the user's workspace
# but what the formula's environment has.

#' What galvi_design() returned for a fit
#' @noRd
kept_design <- function(fit) {
  kept <- fit$design
  args <- c(not_null(kept[c("weights", "offset")]), kept$known)
  # parsing reads no more of the data than the names of columns, for a `.`
  columns <- stats::setNames(data.frame(matrix(0, 0L, length(kept$columns))), kept$columns)
  elsewhere <- unlist(lapply(args, all.vars))
  parts <- if (is.null(kept$stages)) parse_formulas(all_formulas(fit), columns, fit$family, elsewhere) else {
    parts_of_decisions(stage_parts(fit$formula, columns, elsewhere))
  }
  model <- fit$model
  new_step("galvi_design", c(
    list(formula = fit$formula, family = fit$family, data = fit$data),
    model[c("y", "size", "weights")], list(
      # thresholds at zero have moved the level into the offset
      offset = model$offset - or_else(kept$level, 0), levels = kept$response$levels, latents = kept$response$latents,
      parts = with_kept_terms(parts, kept), args = args, censoring = model$censoring, counts = model$counts,
      shares = model$shares,
      known = model$known, truncated = isTRUE(model$likelihood$truncated),
      survival = kept$response$survival
    )
  ))
}

# Parsed formulas whose terms keep what all rows that may be predicted need of the fit, and the contrasts of its
# factors, whatever options(contrasts = ) are now.
with_kept_terms <- function(parts, kept) {
  of_specs <- function(specs, fitted) {
    labels <- vapply(fitted, `[[`, "", "label")
    lapply(specs, function(spec) keep_of_fit(spec, fitted[[match(spec$label, labels)]]))
  }
  of_part <- function(own, fitted) {
    own$specs <- of_specs(own$specs, fitted$specs)
    keep_contrasts(own, fitted)
  }
  parts <- of_part(parts, kept)
  parts$others <- Map(of_part, parts$others, kept$others[names(parts$others)])
  parts
}

#' Some rows of a design. Levels that these rows do not have are dropped, but for those of the response and of variables
#' in `xlevels`, which are the same for all rows that may be predicted; text becomes a factor for it.
#' @noRd
design_of_rows <- function(design, rows, xlevels) {
  frame <- frame_of_rows(design$data, rows)
  attr(frame, "na.action") <- NULL
  for (name in names(Filter(is.character, unclass(frame)[names(xlevels)]))) {
    frame[[name]] <- factor(frame[[name]], xlevels[[name]])
  }
  design$data <- drop_unused_levels(frame, union(names(xlevels), attr(attr(frame, "terms"), "all_levels")))
  take_row_numbers(design, rows)
}

#' Rows of a model frame, which keeps its attributes
#' @noRd
frame_of_rows <- function(frame, rows) {
  kept <- attributes(frame)
  out <- frame[rows, , drop = FALSE]
  own <- setdiff(names(kept), names(attributes(out)))
  attributes(out)[own] <- kept[own]
  if (!is.null(kept$inner)) attr(out, "inner") <- lapply(kept$inner, take_variable, rows)
  out
}

#' The model of a fit, fitted to some of its rows
#'
#' Learning starts at the hyperparameters of the fit.
#' @param design From kept_design(). hyper: "refit" learns those again that the fit learned, "fixed" leaves them; loose:
#'   coefficients that these rows do not inform, for which a flat prior gives way to the default.
#' @noRd
fit_to_rows <- function(fit, design, rows, hyper, loose = character()) {
  learned <- hyper == "refit" && any(fit$model$hyper$learned)
  flat <- vapply(fit$prior, function(prior) identical(prior$sd, Inf), NA)
  fit$prior <- fit$prior[!(flat & names(fit$prior) %in% loose)]
  model <- galvi_model(
    design_of_rows(design, rows, fit$design$xlevels), typed_priors_of(fit),
    start = fit, expectation = fit$expectation,
    hyper = if (!learned) "fixed" else if (isTRUE(fit$integrated)) "integrate" else "optimise", control = fit$control
  )
  galvi_fit(model, galvi_infer(model, fit$method, fit, verbose = FALSE), fit$call)
}

#' The priors that were typed, as galvi(prior = ) takes them
#'
#' With hyper = "integrate" `fit$prior` also shows the weak ones of hyperparameters, and it has those of all linear
#' predictors in one list.
#' @noRd
typed_priors_of <- function(fit) {
  priors <- unclass(fit$prior)
  if (isTRUE(fit$integrated)) {
    hyper <- fit$model$hyper
    weak <- !vapply(hyper$weak, is.null, NA) & vapply(hyper$prior, is.null, NA)
    priors <- priors[!names(priors) %in% weak_names(hyper)[weak]]
  }
  # a prior has the name of a variance with "sd" in its place, or that of a smooth's slope without its "sd"
  hyper <- fit$model$hyper$name
  hyper <- c(hyper, sub("variance$", "sd", hyper), sub("\\.slope\\.sd$", ".slope", hyper))
  for (name in names(fit$design$others)) {
    prefix <- coefficient_prefix(name)
    columns <- paste0(prefix, fixed_spec(fit$design$others[[name]]$specs)$columns)
    own <- names(priors) %in% columns |
      startsWith(names(priors), parameter_prefix(name)) & names(priors) %in% hyper
    nested <- stats::setNames(priors[own], substring(names(priors)[own], nchar(prefix) + 1L))
    priors <- priors[!own]
    if (any(own)) priors[[name]] <- nested
  }
  if (length(priors)) priors
}

#' Rows of another fit's model frame as the target of predictions from this fit, with their responses
#'
#' @param frame Of a fit to the same data: its variables have been evaluated already.
#' @noRd
target_of_frame <- function(fit, frame) {
  design <- fit$design
  attr(frame, "terms") <- design$frame_terms
  labels <- frame_labels(frame)
  new <- naming_rows(labels, {
    matched <- match_classes(frame, attr(design$frame_terms, "dataClasses"), design$xlevels)
    rows_of_frame(design, frame, matched, integer(), TRUE, NULL, FALSE)
  })
  c(new[intersect(row_numbers, names(new))], list(
    rows = new$rows, n = nrow(frame), names = row.names(frame), omitted = NULL, marginals = NULL
  ))
}

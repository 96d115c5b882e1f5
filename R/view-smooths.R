# What summaries say of smooths: standard deviations and effective degrees of freedom.

is_smooth <- function(spec) inherits(spec, "smooth_term")

# The core's term of a spec.
term_of_spec <- function(view, spec) {
  terms <- prior_terms(view$model)
  terms[[match(spec$label, vapply(terms, `[[`, "", "label"))]]
}

#' Which hyperparameters are variances of smooths?
#' @noRd
of_smooths <- function(fit) {
  labels <- vapply(Filter(is_smooth, all_specs(fit$design)), `[[`, "", "label")
  fit$hyper$term %in% labels & startsWith(fit$hyper$parameter, "variance")
}

#' The smooths of all predictors: a data frame with a row for each variance: name, term, sd (its square root), lwr, upr,
#' status, and, in the first row of a term, edf, its effective degrees of freedom, and most, the number of its
#' coefficients; NULL without smooths
#' @param hyper fit$hyper with limits.
#' @noRd
smooth_table <- function(fit, hyper) {
  views <- predictors(fit)
  parts <- lapply(views, function(view) {
    lapply(Filter(is_smooth, view$design$specs), function(spec) {
      # terms with the same `id` share them
      own <- hyper[match(fit$model$hyper$name[smooth_positions(spec)], hyper$name), ]
      rows <- max(1L, nrow(own))
      first <- function(x) c(x, rep(NA_real_, rows - 1L))
      # one with fx = TRUE has no variance
      column <- function(x) if (nrow(own)) x else NA_real_
      data.frame(
        name = if (nrow(own)) own$name else spec$label, term = spec$label, sd = sqrt(column(own$estimate)),
        lwr = sqrt(column(own$lwr)), upr = sqrt(column(own$upr)), status = if (nrow(own)) own$status else "unpenalised",
        edf = first(smooth_edf(view, spec)), most = first(smooth_size(spec, view))
      )
    })
  })
  do.call(rbind, unlist(parts, recursive = FALSE))
}

# Of its variances, in the table of hyperparameters.
smooth_positions <- function(spec) {
  if (!is.null(spec$sparse)) spec$hyper else as.integer(unlist(lapply(spec$parts, `[[`, "hyper")))
}

smooth_size <- function(spec, view) {
  if (is.null(spec$sparse)) return(ncol(term_rows(view$model)[[match(spec$label, view$design$labels)]]$W))
  if (is.null(spec$sparse$regions)) length(spec$sparse$levels) * spec$sparse$width else length(spec$sparse$regions) - 1
}

#' Effective degrees of freedom at the estimates: each coefficient's share of its prior variance that the data have
#' removed. In gaussian models they are those of mgcv. NA for several classes, and where they would be slow.
#' @noRd
smooth_edf <- function(view, spec) {
  if (n_latents(view) > 1L || is_imputed(view)) return(NA_real_)
  view <- at_sites(view)
  hyper <- view$posterior$hyper
  term <- term_of_spec(view, spec)
  if (!is.null(spec$sparse)) return(sparse_edf(view, spec, hyper))
  block <- coefficient_block(view, spec$label)
  if (is.null(block)) return(NA_real_)
  removed <- 1 - diag(block$covariance[[1L]]) / core_variances(term, hyper)
  sum(pmin(1, pmax(0, removed)))
}

# Of a term's coefficients as the core has them.
core_variances <- function(term, hyper) {
  values <- c(1, hyper)
  own <- values[term$factors[, 1L] + 1L] * values[term$factors[, 2L] + 1L]
  c(own, unlist(lapply(term$penalties, function(penalty) {
    if (!is.null(penalty$roots)) return(rep(1, ncol(penalty$roots[[1L]])))
    1 / drop(penalty$diagonal %*% (1 / hyper[penalty$hyper]))
  })))
}

# More nodes or edges than this are slow.
most_edf_nodes <- 5000L

sparse_edf <- function(view, spec, hyper) {
  v <- hyper[spec$hyper]
  if (is.null(spec$sparse$regions)) {
    node <- unlist(lapply(spec$penalties, `[[`, "i"))
    if (length(node) > most_edf_nodes) return(NA_real_)
    precision <- unlist(Map(function(part, v) part$x / v, spec$penalties, v))
    variance <- node_moments(view, spec, matrix(node))$variance[, 1L]
    return(sum(1 - precision * variance))
  }
  # D - A is a sum of squared differences over edges, and tr(Q V) of their variances
  part <- spec$penalties[[1L]]
  edge <- part$i != part$j
  if (sum(edge) > most_edf_nodes) return(NA_real_)
  pairs <- cbind(part$i, part$j)[edge, , drop = FALSE]
  weight <- matrix(c(1, -1), nrow(pairs), 2L, byrow = TRUE)
  variance <- node_moments(view, spec, pairs, weight)$variance[, 1L]
  length(spec$sparse$regions) - 1 - sum(-part$x[edge] * variance) / v
}

#' Terms whose effective degrees of freedom are nearly as many as their coefficients: a larger k may show more
#' @noRd
tight_smooths <- function(table) {
  known <- !is.na(table$edf) & table$status == "learned" & table$most < 300
  table$term[known & table$edf > 0.93 * table$most]
}

#' @noRd
print_smooths <- function(table, digits) {
  if (is.null(table)) return(invisible())
  cat("\nSmooth terms (SD: square root of the variance; effective degrees of freedom):\n")
  number <- function(x, digits) ifelse(is.na(x), "", vapply(x, format, "", digits = digits))
  shown <- data.frame(
    name = format(ifelse(startsWith(table$name, table$term), sub("[.]variance", "", table$name), table$term)),
    SD = number(table$sd, digits), lwr = number(table$lwr, digits),
    upr = number(table$upr, digits), edf = number(table$edf, max(3L, digits - 1L)), max = number(table$most, digits),
    status = table$status
  )
  names(shown)[1L] <- ""
  if (all(is.na(table$lwr))) shown[c("lwr", "upr")] <- NULL
  print(shown, row.names = FALSE)
}

relevance_panels <- function(fit, settings) {
  # of several linear predictors that of the response
  fit <- predictor_view(fit, 1L)
  data <- relevance_table(fit)
  if (!nrow(data)) stop_galvi("argument", "`which = \"relevance\"` needs a term besides the intercept.")
  list(data = data, panels = list(relevance_panel(data, in_units("SD of the contribution", fit))))
}

# More names than these are not read.
most_relevant <- 30L

#' The most relevant on top
#' @noRd
relevance_panel <- function(data, label) {
  at <- data[order(data$relevance, -seq_len(nrow(data))), ]
  rows <- data.frame(x = at$relevance, y = seq_len(nrow(at)), low = 0, high = at$relevance)
  colours <- own_colours(plot_colours[match(at$kind, c("input", "term", "part"))])
  new_panel("Relative importance", data, row_marks(rows, colours, alpha = 1, cex = 1), c(label, ""),
    rows = rows_of(ifelse(at$kind == "input", at$name, paste(at$kind, at$name)), "the %d most relevant of %s",
      most = most_relevant))
}

#' Relevance of every variable, term (if there are several) and kernel part; defined in ?plot.galvi
#' @noRd
relevance_table <- function(fit) {
  variables <- frame_variables(fit)
  inputs <- if (length(variables)) stats::setNames(input_relevance(fit, variables), names(variables))
  terms <- term_relevance(fit)
  parts <- unlist(lapply(seq_along(fit$design$specs), function(t) part_relevance(fit, t)))
  table <- function(kind, x) {
    data.frame(kind = rep(kind, length(x)), name = as.character(names(x)), relevance = as.numeric(x))
  }
  rbind(table("input", inputs), table("term", if (length(terms) > 1L) terms), table("part", parts))
}

# At most this many observations stand for all: the cost is their number times the number of variables.
relevance_rows <- 200L

#' @return One number per variable: sqrt(mean((eta(x) - eta(x'))^2) / 2)
#' @noRd
input_relevance <- function(fit, variables) {
  if (is_imputed(fit)) return(mean_of_parts(fit, input_relevance, variables))
  i <- spread_rows(nrow(fit$data), relevance_rows)
  frame <- fit$data[i, , drop = FALSE]
  # Two low-discrepancy permutations: no random numbers, so that a plot leaves the generator alone.
  partners <- lapply(c(0.6180339887, 0.4142135624), function(step) order((seq_along(i) * step) %% 1))
  swapped <- unlist(lapply(variables, function(variable) {
    x <- get_variable(frame, variable)
    lapply(partners, function(partner) set_variable(frame, variable, take_variable(x, partner)))
  }), recursive = FALSE)
  # All frames in one prediction: each costs a factorisation.
  rows <- bind_blocks(lapply(c(list(frame), swapped), frame_rows, design = fit$design))
  mean <- latent_at(fit, rows, length(i) * (1L + length(swapped)), variance = FALSE)$mean
  eta <- array(mean, c(length(i), 1L + length(swapped), n_latents(fit)))
  squares <- vapply(seq_along(swapped), function(s) mean((eta[, 1L, ] - eta[, 1L + s, ])^2), 1)
  sqrt(colMeans(matrix(squares, length(partners))) / 2)
}

#' @return One number per term: the sd over the data of its posterior mean
#' @noRd
term_relevance <- function(fit) {
  if (is_imputed(fit)) return(mean_of_parts(fit, term_relevance))
  rows <- lapply(fit$model$designs, subset_rows, spread_rows(nrow(fit$data), relevance_rows))
  means <- term_means(fit, rows)
  relevance <- vapply(seq_len(dim(means)[2L]), function(t) spread(means[, t, ]), 1)
  labels <- fit$design$labels
  # An intercept alone is no term.
  alone <- labels == fixed_label & !length(attr(fit$design$terms, "term.labels"))
  stats::setNames(relevance, ifelse(labels == fixed_label, "fixed effects", labels))[!alone]
}

#' @return For a term that is a sum of kernels: the sd over the data of each part's posterior mean, K_part
#'   alpha. Each class has its own kernel where they differ in their hyperparameters.
#' @noRd
part_relevance <- function(fit, t) {
  if (is_imputed(fit)) return(mean_of_parts(fit, part_relevance, t))
  term <- prior_terms(fit$model)[[t]]
  kernel <- term_kernels(term)[[1L]]
  if (is.null(kernel) || !is_sum(kernel) || !is_full_term(term)) return(NULL)
  if (!is_full(fit$model)) {
    if (nrow(fit$data) > slow_rows) return(NULL)
    fit$model <- with_full_terms(fit$model)
  }
  rows <- lapply(fit$model$designs, subset_rows, spread_rows(nrow(fit$data), relevance_rows))
  relevance <- vapply(seq_along(kernel$parts), function(part) {
    only <- fit
    only$model <- change_terms(fit$model, function(term, at) {
      if (at != t) return(term)
      parts <- lapply(term_kernels(term), function(kernel) kernel$parts[[part]])
      term[c("kernel", "kernels")] <- NULL
      c(term, list(kernels = parts))
    })
    spread(term_means(only, rows)[, t, ])
  }, 1)
  names <- vapply(kernel$parts, kernel_phrase, "")
  if (length(fit$design$specs) > 1L) names <- paste0(term$label, ": ", names)
  stats::setNames(relevance, make.unique(names))
}

# With covariances of all rows in place of states, by which the posterior's alpha gives the means of parts.
with_full_terms <- function(model) {
  model <- change_terms(model, function(term, t) if (is_full_term(term)) as_full_term(term) else term)
  model$predictors <- lapply(model$predictors, function(predictor) {
    predictor$solver <- choose_solver(vapply(predictor$terms, `[[`, "", "type"))
    predictor
  })
  model
}

kernel_phrase <- function(kernel) {
  if (!length(kernel$parts)) return(kernel$type)
  mark <- sprintf(" %s ", facts_of_kernel(kernel)$operation)
  paste(vapply(kernel$parts, kernel_phrase, ""), collapse = mark)
}

term_means <- function(fit, rows) {
  n <- NROW(rows[[1L]][[1L]][[1L]])
  latent_at(fit, rows, n, variance = FALSE, terms = TRUE)$terms$mean
}

#' Root of the mean variance over the latents
#' @noRd
spread <- function(x) {
  x <- matrix(x, NROW(x))
  sqrt(mean(colMeans(sweep(x, 2L, colMeans(x))^2)))
}

relevance_panels <- function(fit) {
  data <- relevance_table(fit)
  if (!nrow(data)) stop_galvi("argument", "`which = \"relevance\"` needs a term with inputs; this fit has none.")
  list(data = data, draw = list(function() draw_relevance(fit, data)))
}

#' Relevance of every input of every term, and of the parts of kernel sums; defined in ?plot.galvi
#' @noRd
relevance_table <- function(fit) {
  terms <- fit$model$priors[[1L]]$terms
  i <- spread_rows(fit$nobs, 200L)
  tables <- lapply(seq_along(terms), function(t) {
    if (terms[[t]]$type == "kernel") {
      rbind(
        relevance_rows(terms[[t]]$label, "input", input_relevance(fit, t, i)),
        relevance_rows(terms[[t]]$label, "part", part_relevance(fit, t, i))
      )
    } else {
      relevance_rows(terms[[t]]$label, "input", column_relevance(fit, t))
    }
  })
  do.call(rbind, c(list(relevance_rows(character(), character(), numeric())), tables))
}

relevance_rows <- function(term, kind, relevance) {
  n <- length(relevance)
  data.frame(
    term = rep(term, length.out = n), kind = rep(kind, length.out = n),
    name = as.character(names(relevance)), relevance = as.numeric(relevance)
  )
}

spread_rows <- function(n, most) unique(round(seq(1, n, length.out = min(n, most))))

#' @return One number per variable of term t: sqrt(mean((f(x) - f(x'))^2) / 2)
#' @noRd
input_relevance <- function(fit, t, i) {
  rows <- subset_rows(training_rows(fit), i)
  inputs <- rows$terms[[t]]$inputs
  m <- length(i)
  f <- function(inputs) term_means(fit, rows, t, inputs)
  here <- f(inputs)
  # Two low-discrepancy permutations: no random numbers, so that a plot leaves the generator alone.
  partners <- lapply(c(0.6180339887, 0.4142135624), function(step) order((seq_len(m) * step) %% 1))
  vapply(term_variables(fit, t), function(columns) {
    squares <- vapply(partners, function(partner) {
      swapped <- inputs
      swapped[, columns] <- inputs[partner, columns]
      mean((here - f(swapped))^2)
    }, 1)
    sqrt(mean(squares) / 2)
  }, 1)
}

#' @return For a sum of kernels: sd over the data of each part's posterior mean, K_part alpha
#' @noRd
part_relevance <- function(fit, t, i) {
  kernel <- fit$model$priors[[1L]]$terms[[t]]$kernel
  if (kernel$type != "sum" || fit$model$solver != "dense_kernel") return(numeric())
  rows <- subset_rows(training_rows(fit), i)
  relevance <- vapply(kernel$parts, function(part) {
    only <- fit
    for (k in seq_along(only$model$priors)) only$model$priors[[k]]$terms[[t]]$kernel <- part
    spread(term_means(only, rows, t, rows$terms[[t]]$inputs))
  }, 1)
  stats::setNames(relevance, make.unique(vapply(kernel$parts, kernel_words, "")))
}

kernel_words <- function(kernel) {
  if (!length(kernel$parts)) return(kernel$type)
  mark <- if (kernel$type == "sum") " + " else " * "
  paste(vapply(kernel$parts, kernel_words, ""), collapse = mark)
}

#' For columns: sd over the data of what a term of the formula (or a single column) contributes
#' @noRd
column_relevance <- function(fit, t) {
  term <- fit$model$priors[[1L]]$terms[[t]]
  if (term$label == "fixed") {
    part <- fixed_contributions(fit, term$W, t)
    return(stats::setNames(apply(part$mean, 2L, spread), part$labels))
  }
  at <- match(term$label, vapply(fit$posterior$coefficients, `[[`, "", "label"))
  mean <- as.matrix(fit$posterior$coefficients[[at]]$mean)
  vapply(seq_len(ncol(term$W)), function(j) spread(outer(term$W[, j], mean[j, ])), 1) |>
    stats::setNames(colnames(term$W))
}

#' Root of the mean variance over the latents
#' @noRd
spread <- function(x) {
  x <- matrix(x, NROW(x))
  sqrt(mean(colMeans(sweep(x, 2L, colMeans(x))^2)))
}

#' Posterior mean of term t at other values of its inputs, n x K
#' @noRd
term_means <- function(fit, rows, t, inputs) {
  rows$terms[[t]]$inputs <- inputs
  latent <- latent_in_blocks(fit, rows, nrow(inputs), list(variance = FALSE, terms = TRUE, covariance = FALSE))
  matrix(latent$terms$mean[, t, ], nrow(inputs))
}

#' Columns of a term's inputs by variable: the indicators of a factor belong together
#' @noRd
term_variables <- function(fit, t) {
  columns <- colnames(fit$model$priors[[1L]]$terms[[t]]$inputs)
  split(seq_along(columns), factor(columns, columns))
}

draw_relevance <- function(fit, data) {
  labels <- if (length(unique(data$term)) > 1L) paste0(data$term, ": ", data$name) else data$name
  labels <- ifelse(data$kind == "part", paste0("[", labels, "]"), labels)
  keep <- utils::head(order(-data$relevance), 30L)
  keep <- rev(keep)
  labels <- shorten(labels, 28L)
  wide <- max(graphics::strwidth(labels[keep], units = "inches"), 0.5) + 0.35
  old <- graphics::par(mai = replace(graphics::par("mai"), 2L, min(wide, 0.5 * graphics::par("din")[1L])))
  on.exit(graphics::par(old))
  at <- seq_along(keep)
  graphics::plot(NA, xlim = c(0, max(data$relevance)), ylim = c(0.5, length(keep) + 0.5), yaxt = "n", ylab = "",
    xlab = paste0("sd of the linear predictor (", link_words(fit), ") due to it"), main = "What matters")
  graphics::abline(v = graphics::axTicks(1), col = "grey90")
  colour <- plot_colours[ifelse(data$kind[keep] == "part", 2L, 1L)]
  graphics::segments(0, at, data$relevance[keep], at, col = colour, lwd = 2)
  graphics::points(data$relevance[keep], at, pch = 19, col = colour)
  graphics::axis(2, at, labels[keep], tick = FALSE, cex.axis = if (length(keep) > 15L) 0.75 else 0.9)
  if (length(keep) < nrow(data)) {
    graphics::mtext(paste("the", length(keep), "most relevant of", nrow(data)), side = 3, line = 0.1, cex = 0.75)
  }
}

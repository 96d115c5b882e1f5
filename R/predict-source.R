# Predictions and residuals for rows that are not in memory, computed chunk by chunk.

#' @param into NULL, or a function that is called with the result of each chunk.
#' @param of function(data frame) -> a vector, matrix or array with an entry per row, or a list of these.
#' @return The combined results of all chunks; nothing with `into`.
#' @noRd
by_chunks <- function(fit, source, into, of) {
  if (!is.null(into) && !is.function(into)) {
    stop_galvi("argument", sprintf("`into` must be a function or NULL, not %s.", describe(into)))
  }
  source <- row_source(source)
  design <- fit$design
  used <- lapply(c(attr(design$frame_terms, "variables"), design$weights, design$offset), looked_up)
  reader <- read_rows(source, columns_among(source, unlist(used)), rows_at_a_time(fit$control$chunk_rows))
  on.exit(reader$close())
  parts <- list()
  while (!is.null(chunk <- reader$read())) {
    row.names(chunk) <- attr(chunk, "before") + seq_len(nrow(chunk))
    attr(chunk, "row_names_are") <- "source"
    part <- of(chunk)
    if (is.null(into)) parts[[length(parts) + 1L]] <- part else into(part)
  }
  if (!is.null(into)) return(invisible())
  if (!length(parts)) stop_no_rows(source$label)
  bind_predictions(parts)
}

# Vectors, factors, matrices and arrays whose first index is the row, or lists of these.
bind_predictions <- function(parts) {
  first <- parts[[1L]]
  if (is.list(first)) return(do.call(Map, c(list(function(...) bind_predictions(list(...))), parts)))
  shape <- dim(first)
  if (is.null(shape)) return(do.call(c, parts))
  if (length(shape) == 2L) {
    out <- do.call(rbind, parts)
  } else {
    # transposed, so that rows are the last index and arrays can be concatenated
    names <- unlist(lapply(parts, function(x) dimnames(x)[[1L]]))
    out <- aperm(array(
      unlist(lapply(parts, aperm)), c(rev(shape[-1L]), length(names)),
      c(rev(dimnames(first)[-1L]), list(names))
    ))
  }
  attr(out, "constant") <- attr(first, "constant")
  out
}

check_no_into <- function(into) {
  if (is.null(into)) return(invisible())
  stop_galvi("argument", "`into` is only for `newdata` from a row source.")
}

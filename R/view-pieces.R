# Fits whose rows are pieces of the rows of the data (R/model-pieces.R): their targets, and what belongs to the
# rows of the data.

#' A target of pieces
#' @param frame Theirs, as frame_of_pieces() makes it.
#' @noRd
target_of_pieces <- function(fit, frame, kept = NULL) {
  design <- fit$design
  matched <- match_classes(frame, attr(design$frame_terms, "dataClasses"), design$xlevels)
  attr(matched, "terms") <- design$frame_terms
  n <- nrow(frame)
  new <- naming_rows(frame_labels(frame), rows_of_frame(design, frame, matched, integer(), FALSE, kept, FALSE))
  list(rows = new$rows, offset = new$offset, size = rep(1, n), n = n, names = as.character(seq_len(n)))
}

#' Sums over the pieces of each row of the data: a number for each row
#' @noRd
over_pieces <- function(fit, x) {
  known <- pieces_of(fit$design)
  out <- numeric(length(known$weights))
  sums <- rowsum(as.vector(x), known$pieces$row, reorder = TRUE)
  out[as.integer(rownames(sums))] <- sums
  out
}

#' A number for each row that was used -> with the rows' names, and places for those that na.exclude keeps
#' @noRd
rows_of_data <- function(fit, x) {
  stats::naresid(fit$na.action, stats::setNames(x, row.names(pieces_of(fit$design)$frame)))
}

#' Groups of one row of the data each, by their names
#' @noRd
each_row <- function(fit) {
  names <- row.names(pieces_of(fit$design)$frame)
  structure(as.list(seq_along(names)), names = names)
}

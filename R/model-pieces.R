# Models whose rows are pieces of the rows of the data: those of Cox's model (R/model-cox.R), of follow-up in intervals,
# and those of sequences of decisions (R/model-stages.R). What the model is fitted to is a frame of pieces; the design
# has `frame`, that of the rows of the data, `weights` of these, and `pieces$row`, whose piece each is.

#' The way back from pieces to the rows of the data; NULL where rows are those of the data
#' @noRd
pieces_of <- function(design) if (!is.null(design$intervals)) design$intervals else design$stages

#' The model frame of pieces: that of the rows of the data, with what is known of each piece
#'
#' @param rows Whose pieces they are.
#' @param response,added Named lists of columns, in place of the response and after the variables of the data.
#' @param offset Names of those that are offsets.
#' @noRd
frame_of_pieces <- function(frame, rows, response, added, offset = character()) {
  own <- setdiff(names(frame), c(names(frame)[1L], "(weights)"))
  arguments <- own[own == "(offset)"]
  columns <- lapply(unclass(frame)[own], take_variable, rows)
  columns <- c(response, columns[setdiff(own, arguments)], added, columns[arguments])
  inner <- attr(frame, "inner")
  structure(columns,
    row.names = .set_row_names(length(rows)), class = "data.frame",
    terms = terms_of_pieces(attr(frame, "terms"), response, added, offset),
    na.action = attr(frame, "na.action"), mesh = attr(frame, "mesh"),
    inner = if (!is.null(inner)) lapply(inner, take_variable, rows),
    row_names_are = "pieces", piece_labels = frame_labels(frame)(rows)
  )
}

terms_of_pieces <- function(terms, response, added, offset) {
  count <- length(attr(terms, "variables")) - 1L
  for (what in c("variables", "predvars")) {
    x <- attr(terms, what)
    x[[2L]] <- as.name(names(response))
    x[count + 1L + seq_along(added)] <- lapply(names(added), as.name)
    attr(terms, what) <- x
  }
  attr(terms, "offset") <- c(attr(terms, "offset"), count + match(offset, names(added)))
  classes <- attr(terms, "dataClasses")
  attr(terms, "dataClasses") <- c(
    vapply(c(response, added), function(x) if (is.factor(x)) "factor" else "numeric", ""),
    classes[-1L][names(classes[-1L]) != "(weights)"]
  )
  terms[[2L]] <- as.name(names(response))
  terms
}

#' Rows of new data as `count` pieces each, all of the first row's before the second's
#' @param added A named list of columns, of all pieces.
#' @noRd
new_pieces <- function(newdata, count, added) {
  row <- rep(seq_len(nrow(newdata)), each = count)
  labels <- frame_labels(newdata)(row)
  pieces <- newdata[row, , drop = FALSE]
  pieces[names(added)] <- added
  structure(pieces, row_names_are = "pieces", piece_labels = labels)
}

# How messages name rows: as the user's data do, wherever in R or in the core an error comes up. Code that finds
# something in row i of the rows that it was given writes row_label(i); whoever knows whose rows they are says so by
# naming_rows().

rows_now <- new.env(parent = emptyenv())

#' Evaluates expr, in whose messages the i-th row is called labels(i)
#' @param labels From frame_labels(); NULL for 1, 2, ...
#' @noRd
naming_rows <- function(labels, expr) {
  before <- rows_now$labels
  on.exit(rows_now$labels <- before)
  rows_now$labels <- labels
  expr
}

#' Rows in words, after "row": numbers, or names in quotes
#' @noRd
row_label <- function(i) {
  if (is.null(rows_now$labels)) as.character(i) else rows_now$labels(i)
}

#' Labels of the rows of a data frame, or of a model frame from model_frame(), which has those of the user's data
#'
#' Names that the user's data frame has of its own are quoted: d["12", ] may be another row than d[12, ].
#' The long form of a wide response names the rows of that: its `.unit`.
#' @param at Which rows of the frame are meant, if not all.
#' @noRd
frame_labels <- function(frame, at = NULL) {
  kind <- row_name_kind(frame)
  function(i) {
    if (!is.null(at)) i <- at[i]
    if (kind == "units") return(unit_labels_of(frame, i))
    if (kind == "pieces") return(attr(frame, "piece_labels")[i])
    names <- row.names(frame)[i]
    switch(kind, own = dQuote(names, FALSE), source = row_number(as.numeric(names)), names)
  }
}

unit_labels_of <- function(frame, i) {
  unit <- frame[[wide_names[["unit"]]]]
  shown <- attr(frame, "shown_units")
  if (is.null(shown)) shown <- levels(unit)
  quote_row_names(shown)[unclass(unit)[i]]
}

# own: the user's; automatic: numbers of rows; source: numbers of the rows of a row source; units: see above; pieces:
# each is part of one or more of the user's, and has the label of the first.
row_name_kind <- function(data) {
  kind <- attr(data, "row_names_are")
  if (!is.null(kind)) return(kind)
  if (is.data.frame(data) && .row_names_info(data) > 0L) "own" else "automatic"
}

#' The rows of which the core writes `row 3`, by their labels
#' @noRd
label_rows_of_core <- function(message) {
  at <- gregexpr("\\brow [0-9]+\\b", message)
  regmatches(message, at) <- lapply(regmatches(message, at), function(found) {
    if (length(found)) paste("row", row_label(as.integer(sub("row ", "", found)))) else found
  })
  message
}

#' Row names in a sentence; those that are not numbers are quoted
#' @noRd
quote_row_names <- function(names) if (all(grepl("^[0-9]+$", names))) names else dQuote(names, FALSE)

#' Names of the observations: of the rows, in the wide form of rows and columns
#' @noRd
observation_names <- function(fit) {
  piece <- or_else(fit$data[[cox_names[["interval"]]]], fit$data[[stage_names[["stage"]]]])
  if (!is.null(piece) && row_name_kind(fit$data) == "pieces") {
    return(make.unique(paste(gsub("\"", "", attr(fit$data, "piece_labels")), piece)))
  }
  if (is.null(fit$design$wide)) return(row.names(fit$data))
  paste(fit$data[[wide_names[["unit"]]]], fit$data[[wide_names[["item"]]]], sep = ":")
}

#' About `count` of n rows, spread evenly but following no period of the data: they are at multiples of an irrational
#' number (mod 1), which `turn` selects. There are no random numbers, so that fits can be reproduced.
#' @noRd
spread_over <- function(n, count, turn = 1L) {
  step <- c(0.6180339887, 0.4142135624, 0.7320508076)[turn]
  unique(1L + as.integer(n * ((seq_len(count) * step) %% 1)))
}

# Names of the columns that the long form adds.
wide_names <- c(response = ".response", item = ".item", unit = ".unit", weights = ".weights", offset = ".offset")

# Those of the rows of Cox's model (R/model-cox.R).
cox_names <- c(response = ".event", interval = ".interval", exposure = ".log_exposure")

# Those of the rows of sequences of decisions (R/model-stages.R).
stage_names <- c(response = ".goes_on", stage = ".stage")

# Maximum size of the sample; also the number of rows read at a time, unless galvi_control(chunk_rows = ) is given.
sample_rows <- 50000L

sample_place <- function(number) (number * 0.6180339887498949) %% 1

# Which of `n` rows are in the sample.
rows_in_sample <- function(n, most = sample_rows) {
  kept <- seq_len(n)
  share <- 1
  while (length(kept) > most) {
    share <- share / 2
    kept <- kept[sample_place(kept) < share]
  }
  kept
}

row_number <- function(n) format(n, big.mark = big_mark(), scientific = FALSE, trim = TRUE)

#' Up to `most` rows that stand for all n
#' @noRd
spread_rows <- function(n, most) unique(round(seq(1, n, length.out = min(n, most))))

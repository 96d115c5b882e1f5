# The first pass over a row source: levels, types and a sample of its rows.

#' The design of a source's sample. `stream` describes how to read all rows, if the sample does not contain them.
#' @noRd
design_of_source <- function(formulas, source, family, args, na.action, chunk_rows) {
  read <- scan_source(source, formulas, args, na.action, chunk_rows)
  design <- design_of_data(formulas, read$sample, family, args, na.action)
  ordered <- Find(follows_rows, all_specs(design$parts))
  if (!is.null(read$stream) && !is.null(ordered)) {
    n <- read$stream$signature[1L]
    size <- new_size(
      (8 * length(read$sample) + 600) * n, n, sprintf("`%s` over %s", ordered$label, source$label),
      sprintf("Use inducing points, %s: rows are then read in chunks.", with_inducing(ordered$label))
    )
    rows <- with_memory(size, whole_source(source, formulas, args))
    inform_galvi("size", sprintf(
      "`%s` goes through all rows in an order of its own, so the %s rows of %s were read into memory.",
      ordered$label, whole_words(n), source$label
    ))
    return(design_of_data(formulas, rows, family, args, na.action))
  }
  design$stream <- read$stream
  design
}

#' Is a term a process along one input, or of places given their neighbours? It is fitted to all rows at once, at a cost
#' that grows as their number.
#' @noRd
follows_rows <- function(spec) {
  if (is.null(spec$kernel) || !is.null(spec$inducing) || is_finite_kernel(spec$kernel)) return(FALSE)
  !is.null(spec$neighbours) || length(spec$inputs) == 1L && has_states(spec$kernel) && !is_harmonic(spec$kernel)
}

#' Reads all rows once
#'
#' @param args The user's expressions for weights, offset and subset.
#' @return list(sample: a data frame, whose row names are the numbers of its rows in the source, and whose attribute
#'   `all_rows` is the number of all rows where it has some of them; stream: how to read all
#'   rows again, NULL if the sample contains them all).
#' @noRd
scan_source <- function(source, formulas, args, na.action, chunk_rows) {
  stream <- list(
    source = source, columns = needed_columns(source, formulas, args), args = args,
    environment = environment(formulas[[1L]]), na.action = na.action
  )
  reader <- read_rows(source, stream$columns, rows_at_a_time(chunk_rows))
  on.exit(reader$close())
  kinds <- new_column_kinds(source$label)
  sample <- new_sample()
  ends <- NULL
  signature <- 0
  while (!is.null(chunk <- reader$read())) {
    signature <- signature + signature_of_rows(chunk, attr(chunk, "before"))
    kinds$add(chunk)
    chunk$.galvi_used <- is_used(chunk, stream)
    chunk$.galvi_row <- attr(chunk, "before") + seq_len(nrow(chunk))
    sample$add(chunk)
    ends <- landmarks(rbind(ends, landmarks(chunk[chunk$.galvi_used, ], stream$columns)), stream$columns)
  }
  rows <- sample$rows()
  if (!NROW(rows)) stop_no_rows(source$label)
  whole <- sample$whole()
  if (!whole) rows <- with_landmarks(rows, ends)
  # a column of text may have a level for each row
  whole <- whole || nrow(rows) == signature[1L]
  row.names(rows) <- if (whole) NULL else rows$.galvi_row
  list(
    sample = structure(kinds$apply(rows[stream$columns]), row_names_are = "source", all_rows = if (!whole) signature[1L]),
    stream = if (!whole) c(stream, list(signature = signature, share = sample$share()))
  )
}

#' All rows of a source as a data frame
#' @noRd
whole_source <- function(source, formulas, args) {
  reader <- read_rows(source, needed_columns(source, formulas, args), sample_rows)
  on.exit(reader$close())
  kinds <- new_column_kinds(source$label)
  read <- list()
  while (!is.null(chunk <- reader$read())) {
    kinds$add(chunk)
    read[[length(read) + 1L]] <- chunk
  }
  if (!length(read)) stop_no_rows(source$label)
  structure(kinds$apply(`row.names<-`(stack_frames(read), NULL)), row_names_are = "source")
}

rows_at_a_time <- function(chunk_rows) if (identical(chunk_rows, "auto")) sample_rows else chunk_rows

# The columns that the formula and the arguments name; all columns if the formula has a dot.
needed_columns <- function(source, formulas, args) {
  named <- unlist(lapply(c(formulas, args), all.vars))
  if ("." %in% named) source$columns else columns_among(source, named)
}

# At least one column is read, to count the rows.
columns_among <- function(source, names) {
  used <- intersect(source$columns, names)
  if (length(used)) used else source$columns[1L]
}

#' Which rows are in `subset` and complete?
#' @noRd
is_used <- function(chunk, stream) in_subset(chunk, stream) & stats::complete.cases(chunk[stream$columns])

in_subset <- function(chunk, stream) {
  if (is.null(stream$args$subset)) return(rep(TRUE, nrow(chunk)))
  chosen <- tryCatch(eval(stream$args$subset, chunk, stream$environment), error = function(e) {
    stop_galvi("data", sprintf("`subset` cannot be evaluated: %s.", conditionMessage(e)))
  })
  if (is.logical(chosen) && length(chosen) == nrow(chunk)) return(chosen & !is.na(chosen))
  stop_galvi("argument", sprintf(
    "`subset` must be TRUE or FALSE for each row of a row source, not %s.", describe(chosen)
  ))
}

#' Rows that together contain all levels of factors, and the minimum and maximum of all numbers
#' @noRd
landmarks <- function(frame, columns) {
  at <- lapply(frame[columns], function(x) {
    if (!is.null(dim(x))) return(NULL)
    if (is_number_like(x)) c(which.min(x), which.max(x)) else which(!duplicated(x))
  })
  frame[sort(unique(unlist(at))), , drop = FALSE]
}

with_landmarks <- function(rows, landmarks) {
  all <- rbind(rows, landmarks[!landmarks$.galvi_row %in% rows$.galvi_row, , drop = FALSE])
  all[order(all$.galvi_row), , drop = FALSE]
}

#' A sample that is spread evenly over rows whose number is not known beforehand
#'
#' Row n has the place n phi (mod 1), where phi is the golden ratio, so the sample follows no period of the data. Rows
#' whose place is below a threshold are kept; the threshold is halved when there are too many. The sample depends
#' neither on random numbers nor on the size of chunks.
#' @noRd
new_sample <- function(most = sample_rows) {
  share <- 1
  kept <- list()
  count <- 0L
  take <- function(rows) rows[sample_place(rows$.galvi_row) < share, , drop = FALSE]
  list(
    add = function(rows) {
      rows <- take(rows)
      kept[[length(kept) + 1L]] <<- rows
      count <<- count + nrow(rows)
      while (count > most) {
        share <<- share / 2
        kept <<- list(take(stack_frames(kept)))
        count <<- nrow(kept[[1L]])
      }
    },
    rows = function() stack_frames(kept),
    share = function() share,
    whole = function() share == 1
  )
}

stack_frames <- function(frames) if (length(frames) == 1L) frames[[1L]] else do.call(rbind, frames)

#' The kind of each column, which must be the same in all chunks, and the levels of factors
#'
#' @return list(add: records the kinds and levels of a chunk; apply: sets the levels of a data frame's factors to all
#'   recorded ones).
#' @noRd
new_column_kinds <- function(label) {
  kinds <- list()
  levels <- list()
  text <- list()  # values where it is text, which are levels if it is a factor in another chunk
  one_order <- list()  # were the levels the same in all chunks?
  list(
    add = function(chunk) {
      for (name in names(chunk)) {
        x <- chunk[[name]]
        kind <- column_kind(x)
        if (is.null(kind)) next
        known <- kinds[[name]]
        if (!is.null(known) && known != kind) {
          stop_galvi("data", sprintf(
            "`%s` of %s is %s after row %s and %s before%s.", name, label, kind,
            row_number(attr(chunk, "before")), known,
            if (label == "the CSV files") sprintf(": give row_source() `colClasses = c(%s = \"character\")`", name) else ""
          ))
        }
        kinds[[name]] <<- kind
        if (is.character(x)) text[[name]] <<- unique(c(text[[name]], x))
        if (!is.factor(x)) next
        before <- levels[[name]]
        levels[[name]] <<- union(before, base::levels(x))
        one_order[[name]] <<- is.null(before) || one_order[[name]] && identical(before, base::levels(x))
      }
    },
    apply = function(frame) {
      for (name in names(levels)) {
        all <- levels[[name]]
        ordered <- kinds[[name]] == "an ordered factor"
        if (!one_order[[name]]) {
          if (ordered) {
            stop_galvi("data", sprintf(
              "The ordered factor `%s` of %s has different levels in different chunks.", name, label
            ))
          }
          all <- sort(all, na.last = TRUE)
        }
        all <- union(all, sort(text[[name]]))
        contrasts <- attr(frame[[name]], "contrasts")
        # NA may be a level
        frame[[name]] <- factor(as.character(frame[[name]]), all, exclude = NULL, ordered = ordered)
        attr(frame[[name]], "contrasts") <- contrasts
      }
      frame
    }
  )
}

# The kind of a column in words; NULL if all its values are NA.
column_kind <- function(x) {
  if (is.ordered(x)) return("an ordered factor")
  if (is.factor(x) || is.character(x)) return("text")
  if (is.logical(x)) return(if (!all(is.na(x))) "TRUE or FALSE")
  if (is.numeric(x) && is.null(attr(x, "class"))) return("numbers")
  paste("of class", class(x)[1L])
}

# The passes over a row source that the core requests: chunks of data become blocks of the model's rows.

# Approximate number of rows of a block, which consists of whole parts of the core's partition. It does not depend on
# how many rows are read at a time, so neither do results.
block_rows <- 65536

# Most memory for blocks that are kept between passes, in bytes.
kept_bytes <- 2^28

#' Rows of the model, block by block, as src/border/r_sources.h expects them
#'
#' @param stream From scan_source(), with `rows`, their number, from count_rows().
#' @param design How new data become rows of the model, from row_design().
#' @return list(rows, open; close: ends a pass that an error or an interrupt has stopped; failure: the error that ended
#'   a pass, or NULL).
#' @noRd
source_passes <- function(stream, design, chunk_rows) {
  reader <- NULL
  block_of <- if (any(which_can(all_specs(design), "costly"))) kept_blocks() else checked_block
  first_sums <- list()  # of each block in the first pass
  failure <- NULL
  close <- function() {
    if (!is.null(reader)) reader$close()
    reader <<- NULL
  }
  # Errors are passed to the core as values, so that it can finish properly.
  open <- function(bounds) {
    following <- as_condition(open_pass(bounds))
    if (inherits(following, "condition")) following else function() as_condition(following())
  }
  as_condition <- function(expr) tryCatch(expr, error = function(e) failure <<- e)
  open_pass <- function(bounds) {
    close()
    reader <<- read_blocks(stream, design, chunk_rows, block_of = block_of)
    sizes <- diff(bounds[block_bounds(bounds)])
    at <- 0L
    waiting <- NULL  # rows that were read, but not yet returned
    function() {
      if (at == length(sizes)) {
        while (!block_size(waiting) && !is.null(waiting <<- reader$read())) NULL
        if (block_size(waiting)) stop_other_rows(stream)
        close()
        return(NULL)
      }
      at <<- at + 1L
      read <- list(waiting)
      count <- block_size(waiting)
      while (count < sizes[at]) {
        following <- reader$read()
        if (is.null(following)) stop_other_rows(stream)
        read[[length(read) + 1L]] <- following
        count <- count + block_size(following)
      }
      all <- bind_blocks(Filter(block_size, read))
      out <- model_of_rows(all, seq_len(sizes[at]))
      waiting <<- model_of_rows(all, sizes[at] + seq_len(count - sizes[at]))
      sums <- block_sums(out)
      if (length(first_sums) < at) first_sums[[at]] <<- sums
      if (!identical(first_sums[[at]], sums)) stop_other_rows(stream)
      out
    }
  }
  list(rows = stream$rows, open = open, close = close, failure = function() failure)
}

stop_other_rows <- function(stream) {
  stop_galvi("data", sprintf(paste(
    "The rows of `data` (%s) differ from those of the first pass: every pass must give the same rows in the same order.",
    "For a query, add ORDER BY."
  ), stream$source$label))
}

# Positions of the bounds of blocks. A block has as many whole parts as fit in block_rows, at least one.
block_bounds <- function(bounds) {
  out <- 1L
  while (out[length(out)] < length(bounds)) {
    from <- out[length(out)]
    out <- c(out, max(from + 1L, findInterval(bounds[from] + block_rows, bounds)))
  }
  out
}

block_size <- function(block) length(block$y)

# Sums that differ if a block has other rows, or the same rows in another order.
block_sums <- function(block) {
  terms <- unlist(block$designs, recursive = FALSE)
  place <- seq_along(block$y)
  numbers <- c(block[c("y", "size", "weights", "offset")], unlist(terms, recursive = FALSE))
  vapply(numbers, function(x) sum(place * x), 0)
}

# ---- in the steps of ?modular ----

is_streamed <- function(model) !is.null(model$stream)

# Number of rows of the model that galvi_model() returns.
all_rows <- function(model) {
  if (!is_streamed(model)) return(length(model$y))
  rows <- model$stream$rows
  if (rows <= .Machine$integer.max) as.integer(rows) else rows
}

#' The stream with the number of its rows, `rows`, and of those left out, `omitted`. Stops if the model needs
#' its rows in memory.
#' @noRd
counted_stream <- function(stream, model, control) {
  needing <- Find(needs_all_rows, prior_terms(model))
  if (!is.null(needing)) {
    stop_galvi("data", sprintf(
      "`%s` needs all rows in memory, and %s has more than %s: %s.", needing$label, stream$source$label,
      row_number(sample_rows), if (!is.null(needing$input_count)) {
        sprintf("use inducing points, %s, or give a data frame", with_inducing(needing$label))
      } else if (!is.null(needing[["factor"]])) {
        "read them into a data frame"
      } else {
        "give a data frame, or use fixed effects or gp() with `inducing =`"
      }
    ))
  }
  c(stream, as_galvi_error(count_rows(stream, model$design, control$chunk_rows)))
}

#' The core's input: the model without rows, and the functions that read them
#' @noRd
streamed_model <- function(core, passes) {
  c(without_rows(core), list(source = passes[c("rows", "open")]))
}

#' The posterior of eta at the sample's rows, N x K
#' @noRd
sample_marginals <- function(core, posterior, control) {
  want <- list(variance = TRUE, terms = FALSE, covariance = FALSE, threads = control$threads)
  latent <- predict_latent(core, posterior, core$designs, want)
  list(mean = latent$mean + core$offset, variance = latent$variance)
}

#' Reads, checks and counts all rows
#' @return list(rows, omitted): how many are used, and how many are left out because of missing values. places: for some
#'   of the chunks, how many rows of the source come before it and how many of these are used.
#' @noRd
count_rows <- function(stream, design, chunk_rows) {
  apart <- 10000
  reader <- read_blocks(stream, design, chunk_rows, counting = TRUE)
  on.exit(reader$close())
  rows <- omitted <- signature <- 0
  places <- list(c(read = 0, used = 0))
  while (!is.null(block <- reader$read())) {
    if (rows >= places[[length(places)]][["used"]] + apart) {
      places[[length(places) + 1L]] <- c(read = attr(block, "before"), used = rows)
    }
    rows <- rows + block_size(block)
    omitted <- omitted + attr(block, "omitted")
    signature <- signature + attr(block, "signature")
  }
  if (!same_signature(signature, stream$signature)) stop_other_rows(stream)
  list(rows = rows, omitted = omitted, places = do.call(rbind, places))
}

#' Reads the block that `unread` describes: the used rows from, .., to
#' @noRd
read_share <- function(unread) {
  stream <- unread$stream
  place <- stream$places[findInterval(unread$from - 1, stream$places[, "used"]), ]
  reader <- read_blocks(stream, unread$design, unread$chunk_rows, skip = place[["read"]])
  on.exit(reader$close())
  at <- place[["used"]]
  parts <- list()
  while (at < unread$to) {
    block <- reader$read()
    if (is.null(block)) stop_other_rows(stream)
    number <- at + seq_len(block_size(block))
    parts[[length(parts) + 1L]] <- model_of_rows(block, which(number >= unread$from & number <= unread$to))
    at <- at + block_size(block)
  }
  bind_blocks(Filter(block_size, parts))
}

#' Chunks of a source as blocks of the model's rows: list(y, size, weights, offset, designs)
#' @param skip Number of rows before the first chunk to return.
#' @param counting Is this the pass that counts the rows? The formula is then checked on the first chunk, and each block
#'   has the signature of its chunk as an attribute.
#' @param block_of Makes a block of a chunk.
#' @noRd
read_blocks <- function(stream, design, chunk_rows, skip = 0, counting = FALSE, block_of = checked_block) {
  reader <- read_rows(stream$source, stream$columns, rows_at_a_time(chunk_rows))
  list(
    read = function() {
      repeat {
        chunk <- reader$read()
        if (is.null(chunk)) return(NULL)
        before <- attr(chunk, "before")
        if (before < skip) next
        block <- block_of(chunk, stream, design)
        if (counting) {
          if (before == 0) check_rows_alone(design, chunk, "only some rows are read at a time")
          attr(block, "signature") <- signature_of_rows(chunk, before)
        }
        return(block)
      }
    },
    close = reader$close
  )
}

#' checked_block() for several passes: while there is room, blocks are kept with their chunks, which are still read, and
#' computed anew only for chunks that have changed.
#' @param most Bytes of all that is kept.
#' @noRd
kept_blocks <- function(most = kept_bytes) {
  kept <- list()
  bytes <- 0
  function(chunk, stream, design) {
    name <- row_number(attr(chunk, "before"))
    known <- kept[[name]]
    if (identical(known$chunk, chunk)) return(known$block)
    block <- checked_block(chunk, stream, design)
    size <- as.numeric(utils::object.size(chunk) + utils::object.size(block))
    if (is.null(known) && bytes + size <= most) {
      kept[[name]] <<- list(chunk = chunk, block = block)
      bytes <<- bytes + size
    }
    block
  }
}

#' A chunk as a block. An error names the row that caused it.
#' @noRd
checked_block <- function(chunk, stream, design) {
  tryCatch(as_block(chunk, stream, design), galvi_error = function(e) {
    at <- first_bad_row(chunk, stream, design)
    before <- attr(chunk, "before") + at - 1
    row <- structure(chunk[at, , drop = FALSE], before = before)
    message <- tryCatch(as_block(row, stream, design), galvi_error = conditionMessage)
    stop_galvi("data", in_source_row(message, row_number(before + 1)))
  })
}

# The first row that cannot be converted, found by bisection.
first_bad_row <- function(chunk, stream, design) {
  good <- 0L
  bad <- nrow(chunk)
  while (bad - good > 1L) {
    middle <- (good + bad) %/% 2L
    fails <- tryCatch({
      as_block(chunk[good + seq_len(middle - good), , drop = FALSE], stream, design)
      FALSE
    }, galvi_error = function(e) TRUE)
    if (fails) bad <- middle else good <- middle
  }
  bad
}

# The message of an error about a single row of new data, reworded for that row of the source.
in_source_row <- function(message, number) {
  message <- gsub("`newdata`", "`data`", sub("^In `newdata`: ", "", message))
  if (grepl(paste("row", number), message, fixed = TRUE)) message else {
    sprintf("Row %s of `data`: %s", number, message)
  }
}

as_block <- function(chunk, stream, design) {
  before <- attr(chunk, "before")
  number <- before + seq_len(nrow(chunk))
  if (!is.null(stream$args$subset)) {
    used <- in_subset(chunk, stream)
    chunk <- chunk[used, , drop = FALSE]
    number <- number[used]
  }
  rows <- design_rows(design, chunk, response = TRUE, labels = function(i) row_number(number[i]))
  if (length(rows$omitted) && !omits_rows(stream$na.action)) {
    stop_galvi("data", sprintf(
      "Missing values in row %s; na.action = na.omit drops such rows.", row_number(number[rows$omitted[1L]])
    ))
  }
  if (!is.null(design$weights) && is.null(rows$frame[["(weights)"]])) {
    stop_galvi("data", "`weights` must have one value per row of `data`.")
  }
  if (length(design$known) && is.null(rows$known)) {
    stop_galvi("data", sprintf("`%s` must have one value per row of `data`.", typed_words(design$known)))
  }
  structure(
    c(rows[intersect(row_numbers, names(rows))], list(designs = rows$rows)),
    omitted = length(rows$omitted), before = before
  )
}

# TRUE for na.omit and na.exclude
omits_rows <- function(na.action) {
  probe <- tryCatch(na.action(data.frame(x = c(1, NA))), error = function(e) NULL)
  identical(nrow(probe), 1L)
}

# Contributions of rows to the bound, as values that can be added.

#' @rdname modular
#' @order 6
#' @param q A posterior of coefficients: the value of `galvi_infer()`, `fit$posterior`, or a list with `hyper`, the
#'   values of the hyperparameters, and `latent`, a list with one element per linear predictor that has the `mean` of
#'   the coefficients and `chol`, the lower Cholesky factor of their covariance.
#' @param rows The rows: their positions or a logical vector of length N; NULL for all.
#' @param gradient If TRUE, also return derivatives with respect to the hyperparameters.
#' @return `contribution()` returns an object of class `galvi_contribution`: the sums over `rows`, in coordinates u with
#' coefficients = prior mean + prior sd * u,
#' \describe{
#'   \item{`rows`}{the number of rows.}
#'   \item{`value`}{the sum of E_q\[log p(y | eta)\].}
#'   \item{`slope`, `curvature`}{for each linear predictor the derivative of `value` with respect to the mean of u, and
#'     minus twice that with respect to the covariance of u.}
#'   \item{`gradient`}{the derivative with respect to the hyperparameters on their natural scale, for constant q in
#'     u.}
#' }
#' Contributions of different rows can be added by `+`; the bound is the `value` of all rows minus KL(q, prior). They
#' exist for models of fixed effects and sparse [gp()] terms.
#' @export
contribution <- function(model, q, rows = NULL, gradient = FALSE) {
  check_flag(gradient, "gradient")
  list_of <- if (is.list(model) && is.list(model$model)) model$model else model
  if (!is.list(list_of) || !all(c("y", "designs", "predictors") %in% names(list_of))) {
    stop_galvi("model", "`model` must be what galvi_model() returns, or a fit.")
  }
  check_model(list_of)
  if (!is.list(q) || !all(c("hyper", "latent") %in% names(q)) || is.null(q$latent)) {
    stop_galvi("q", paste(
      "`q` must be a posterior with `hyper` and `latent`, such as fit$posterior of a model of fixed effects",
      "and inducing points."
    ))
  }
  if (!is.null(q$factorised)) q$latent <- q$factorised  # the bound's own
  n <- length(list_of$y)
  if (!is.null(rows)) {
    if (is.logical(rows) && length(rows) == n && !anyNA(rows)) rows <- which(rows)
    if (!is.numeric(rows) || anyNA(rows) || any(rows != round(rows)) || any(rows < 1 | rows > n)) {
      stop_galvi("rows", sprintf("`rows` must be positions from 1 to %d, or %d logical values.", n, n))
    }
    list_of <- model_of_rows(list_of, as.integer(rows))
  }
  # those are no rows of data
  list_of$prior_rows <- NULL
  structure(
    as_galvi_error(contribution_of_rows(list_of, q, gradient)),
    class = "galvi_contribution"
  )
}

#' @export
`+.galvi_contribution` <- function(e1, e2) {
  if (!inherits(e1, "galvi_contribution") || !inherits(e2, "galvi_contribution")) {
    stop_galvi("contribution", "`+` adds the values of contribution() to each other alone.")
  }
  add <- function(a, b) if (is.list(a)) Map(add, a, b) else a + b
  structure(add(unclass(e1), unclass(e2)), class = "galvi_contribution")
}

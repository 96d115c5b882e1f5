# Memory. The memory that a computation needs is compared with the free memory before it begins. If memory runs out
# during the computation, the error is of the same class instead of a bare std::bad_alloc. bench/memory.R measures the
# figures.

# ---- memory that is needed ----

#' The memory that a computation needs
#'
#' @param bytes Approximate number of bytes, beyond those in use.
#' @param rows,what For the message "12,000 rows are too many for ...": the number of rows, and the computation.
#' @param advice A sentence: what to do instead.
#' @noRd
new_size <- function(bytes, rows, what, advice) {
  list(bytes = bytes, rows = rows, what = what, advice = advice)
}

#' A fit. With a full GP two N x N matrices per latent value and one more; else what the rows, their columns
#' and the nodes of fields take, the latter with a sparse factor and its inverse.
#' @noRd
fit_size <- function(model, method = "auto", control = galvi_control()) {
  n <- length(model$y)
  k <- ncol(model$offset)
  terms <- prior_terms(model)
  if (is_full(model)) {
    squares <- 1 + 2 * k + 2 * k * control$keep_factor
    if (method != "auto") squares <- squares + k * fact(inference_facts(), method, "squares")
    label <- Find(is_full_term, terms)$label
    advice <- sprintf("Use inducing points, %s, or fewer rows (`subset`).", with_inducing(label))
    what <- sprintf("the full Gaussian process %s", label)
    return(new_size(small_size + 8 * n^2 * squares, n, what, advice))
  }
  columns <- sum(vapply(term_rows(model), function(rows) max(0, ncol(rows$W)), 0))
  points <- vapply(terms, inducing_count, 0)
  fields <- sum(vapply(terms, field_bytes, 0)) + sum(vapply(terms, factor_bytes, 0, n, predictor_of(model)$solver))
  new_size(
    small_size + k * (600 * n + fields + column_bytes(columns + sum(points))) + 8 * n * columns * (1 + k), n,
    "this model", if (column_bytes(sum(points)) > 600 * n) {
      sprintf("`%s` has %s inducing points in all: use fewer.", terms[[which.max(points)]]$label,
        whole_words(max(points)))
    } else {
      paste0(
        "Use fewer rows (`subset`)", if (fields > 600 * n) ", coarser groups or times,",
        " or a machine with more memory."
      )
    }
  )
}

# Of a short latent vector: precision, covariance, factors, sums and their changes.
column_bytes <- function(length) 16 * 8 * length^2

# Of a sparse process, those of all levels of `by`.
inducing_count <- function(term) {
  if (is.null(term$inducing)) return(0)
  as.numeric(nrow(term$inducing$coordinates)) * max(1, term$inducing$groups)
}

#' Informs the user before a full Gaussian process that takes minutes or hours.
#' @noRd
slow_rows <- 2000

inform_slow_fit <- function(model) {
  n <- length(model$y)
  if (n <= slow_rows || !is_full(model)) return(invisible())
  label <- Find(is_full_term, prior_terms(model))$label
  inform_galvi("size", sprintf(paste(
    "%s is a full Gaussian process over %s rows: every step factorises a matrix of %.2g GiB, and the fit takes about",
    "%s or more, eight times as long for twice the rows. %s is much faster."
  ), label, format(n, big.mark = ","), 8 * n^2 / 2^30, duration_words(1.2e-9 * n^3), with_inducing(label)))
}

# 1.2e-9 n^3 seconds: a gaussian fit of one input at 1,000 to 5,000 rows, on two cores
duration_words <- function(seconds) {
  if (seconds < 90) return(sprintf("%.0f seconds", signif(seconds, 1L)))
  if (seconds < 5400) return(sprintf("%.0f minutes", signif(seconds / 60, 1L)))
  sprintf("%.0f hours", signif(seconds / 3600, 1L))
}

# Moments of units and rows; beside other terms also all pairs of a row's nodes.
factor_bytes <- function(term, n, solver) {
  factor <- term[["factor"]] # beside `factors` of columns
  if (is.null(factor)) return(0)
  d <- ncol(factor$loadings)
  8 * (3 * n * d + 4 * term$units * d^2) + if (solver == choose_solver("factors")) 0 else 80 * n * d^2
}

field_bytes <- function(term) {
  if (is.null(term$field)) return(0)
  nodes <- term$field$precision[[1L]]$rows
  edges <- sum(vapply(term$field$precision, function(t) sum(t$i != t$j), 0))
  # the fill of a minimum degree order, as it is on a lattice
  600 * nodes + 16 * min(edges * log2(nodes + 1), nodes^2 / 2)
}

# gp(x) -> gp(x, inducing = 200); labels that are shared have a number behind them
with_inducing <- function(label) sub("\\)( #[0-9]+)?$", ", inducing = 200)", label)

#' Predictions at n rows, block by block; a joint covariance in one, and then named, in two more copies
#' @noRd
prediction_size <- function(fit, n, covariance = FALSE) {
  seen <- length(fit$model$y)
  k <- n_latents(fit)
  full <- is_full(fit$model)
  bytes <- 48 * n * k + if (full) 16 * seen * (seen + if (covariance) n else 1024) else 200 * seen
  if (covariance) {
    advice <- "Take fewer rows at a time (`newdata`)."
    return(new_size(bytes + 8 * n^2 * (1 + 2 * k), n, "a joint covariance", advice))
  }
  if (n > seen) {
    new_size(bytes, n, "a prediction", "Take fewer rows at a time.")
  } else {
    new_size(bytes, seen, "predictions from this fit", if (full) {
      "A fit with inducing points would need less; so does this one where more memory is free."
    } else "Predict where more memory is free.")
  }
}

#' The states that hyper = "integrate" keeps: some numbers of each row, and of L x L where the latent vector is short
#' @noRd
states_size <- function(model) {
  m <- sum(model$hyper$learned & !in_array(model$hyper))
  points <- if (m <= 3L) c(7, 21, 65)[max(m, 1L)] else nrow(corners(m)) + 2 * m
  n <- length(model$y)
  columns <- sum(vapply(term_rows(model), function(rows) max(0, ncol(rows$W)), 0))
  bytes <- 8 * points * ncol(model$offset) * (8 * n + 2 * columns^2)
  new_size(bytes, n, "hyper = \"integrate\", which keeps a posterior at each point", "Use hyper = \"optimise\".")
}

#' Offset, mean, variance and sites of k linear predictors, before anything of this size is made
#' @noRd
latents_size <- function(n, k, family) {
  new_size(600 * n * k, n, sprintf("%s linear predictors", whole_words(k)), sprintf(
    "A response of so many classes may be a number or text by mistake: %s has a linear predictor for each.",
    the_family(family)
  ))
}

#' Draws of functions at n rows; if the latent vector is as long as the data, from their joint covariance
#' @noRd
draws_size <- function(fit, n, draws, width = 1) {
  k <- n_latents(fit)
  bytes <- 8 * n * (2 * k + width) * draws + if (is_full(fit$model)) 24 * n^2 + 16 * length(fit$model$y) * n else 0
  new_size(bytes, n, sprintf("%s draws", whole_words(draws)), "Take fewer draws (`ndraws`) or fewer rows (`newdata`).")
}

# ---- memory that is free ----

# Assumed if the system does not tell: three matrices of 20,000 x 20,000.
assumed_memory <- 9.6e9

# Address space that threads reserve: OpenBLAS takes 128 MiB for every thread that calls it, and waits for ever if there
# is none; every thread but the first takes 8 MiB for its stack and 64 MiB for its heap.
reserved_space <- function(threads) (128 * threads + 72 * (threads - 1)) * 2^20

#' Bytes that are free without swapping, NA where the system does not tell: the least of what the system,
#' the limits of the process and those of its control groups leave
#'
#' @param threads Number of threads that will be used.
#' @param root The folder of /proc and /sys.
#' @noRd
available_memory <- function(threads = 1L, root = "") {
  free <- c(system_memory(root), process_memory(root, threads), group_memory(root))
  if (all(is.na(free))) NA_real_ else max(0, min(free, na.rm = TRUE))
}

system_memory <- function(root) {
  1024 * named_number(read_system_file(file.path(root, "proc/meminfo")), "MemAvailable:")
}

# `ulimit -v` and `ulimit -d`.
process_memory <- function(root, threads) {
  limits <- read_system_file(file.path(root, "proc/self/limits"))
  limit <- c(named_number(limits, "Max address space"), named_number(limits, "Max data size"))
  if (all(is.na(limit))) return(NA_real_)
  status <- read_system_file(file.path(root, "proc/self/status"))
  used <- 1024 * c(named_number(status, "VmSize:"), named_number(status, "VmData:"))
  limit - used - reserved_space(threads)
}

# Control groups, of either version, where containers and schedulers set their limits: that of every level
# up to the root, less what is in use there and cannot be dropped. In a container the path may be the host's,
# and the root is the container's own.
group_memory <- function(root) {
  lines <- strsplit(read_system_file(file.path(root, "proc/self/cgroup")), ":", fixed = TRUE)
  unlist(lapply(lines, function(line) {
    if (line[2L] == "") {
      mount <- "sys/fs/cgroup"
      files <- c("memory.max", "memory.current")
      kind <- ""
    } else if ("memory" %in% strsplit(line[2L], ",", fixed = TRUE)[[1L]]) {
      mount <- "sys/fs/cgroup/memory"
      files <- c("memory.limit_in_bytes", "memory.usage_in_bytes")
      kind <- "total_"
    } else {
      return(NULL)
    }
    vapply(levels_above(line[3L]), function(path) {
      folder <- paste0(file.path(root, mount), path)
      value <- vapply(file.path(folder, files), first_number, 0, USE.NAMES = FALSE)
      if (is.na(value[1L])) return(NA_real_)
      stat <- read_system_file(file.path(folder, "memory.stat"))
      cache <- vapply(paste0(kind, c("inactive_file", "active_file")), named_number, 0, lines = stat)
      value[1L] - value[2L] + sum(cache, na.rm = TRUE)
    }, 0)
  }))
}

# "/a/b" -> "/a/b", "/a", ""
levels_above <- function(path) {
  out <- sub("/$", "", path)
  while (nzchar(out[length(out)])) out <- c(out, sub("/[^/]*$", "", out[length(out)]))
  out
}

read_system_file <- function(file) {
  if (!file.exists(file)) return(character())
  tryCatch(suppressWarnings(readLines(file)), error = function(e) character())
}

first_number <- function(file) suppressWarnings(as.numeric(read_system_file(file)[1L]))

# The number that follows `name` at the start of a line, NA without one ("unlimited").
named_number <- function(lines, name) {
  line <- lines[startsWith(lines, name)]
  if (!length(line)) return(NA_real_)
  words <- strsplit(trimws(substring(line[1L], nchar(name) + 1L)), "[[:space:]]+")[[1L]]
  suppressWarnings(as.numeric(words[1L]))
}

# ---- refusals ----

# Below this size the free memory is not looked up, which takes a millisecond or two.
small_size <- 2^24

#' Evaluates a computation of the core if there is enough memory
#' @noRd
with_memory <- function(size, expr, threads = 1L) {
  if (size$bytes >= small_size && !fits_memory(size, available <- available_memory(threads))) {
    if (threads > 1 && fits_memory(size, available_memory(1L))) {
      size$advice <- "Compute on one thread: galvi_control(threads = 1)."
    }
    check_size(size, available)
  }
  as_galvi_error(expr, size)
}

fits_memory <- function(size, available) size$bytes <= if (is.na(available)) assumed_memory else available

check_size <- function(size, available) {
  if (fits_memory(size, available)) return(invisible())
  stop_galvi("size", trimws(sprintf(
    "%s rows are too many for %s: it needs %s GiB%s. %s", whole_words(size$rows), size$what, gib(size$bytes),
    if (is.na(available)) "" else sprintf(" and %s GiB are free", gib(available)), size$advice
  )))
}

#' Memory ran out although it seemed sufficient, or without a check (size = NULL)
#' @noRd
stop_out_of_memory <- function(size) {
  if (is.null(size)) {
    stop_galvi("size", "Memory ran out. Use fewer rows, or a machine with more memory.")
  }
  stop_galvi("size", trimws(sprintf(
    "Memory ran out: %s rows are too many for %s, although %s GiB seemed to be enough and free. %s",
    whole_words(size$rows), size$what, gib(size$bytes), size$advice
  )))
}

#' Did memory run out, in C++ or in R?
#' @noRd
is_out_of_memory <- function(error) {
  if (inherits(error, "std::bad_alloc")) return(TRUE)
  # in the language of the session
  texts <- c("cannot allocate vector of size %0.1f %s", "cannot allocate memory block of size %0.1f Tb")
  starts <- sub("%.*", "", c(texts, vapply(texts, gettext, "", domain = "R"), "vector memory exhausted"))
  inherits(error, "simpleError") && any(startsWith(conditionMessage(error), starts))
}

whole_words <- function(n) format(n, big.mark = ",", scientific = FALSE)

gib <- function(bytes) {
  size <- bytes / 2^30
  digits <- if (size < 1) 2L else if (size < 8) 1L else 0L
  format(if (size < 1) signif(size, 2L) else round(size, digits), big.mark = ",", scientific = FALSE)
}

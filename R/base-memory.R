# Memory. The memory that a computation needs is compared with the free memory before it begins. If memory runs out
# during the computation, the error is of the same class instead of a bare std::bad_alloc. bench/memory.R measures the
# figures.

# ---- memory that is needed ----

#' The memory that a computation needs
#'
#' @param bytes Approximate number of bytes, beyond those in use.
#' @param rows,what For the message "12,000 rows are too many for ...": the number of rows, and the computation.
#' @param advice A sentence: what to do instead.
#' @return An environment, whose words are made when an error needs them.
#' @noRd
new_size <- function(bytes, rows, what, advice) environment()

# Of a short latent vector: precision, covariance, factors, sums and their changes.
column_bytes <- function(length) 16 * 8 * length^2

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

# R and the core themselves, whatever is computed.
base_size <- 2^24

# Below this size the free memory is not looked up, which takes a millisecond or two.
small_size <- 2 * base_size

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

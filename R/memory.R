# What is N x N is refused before it is begun where memory does not suffice.

gib <- function(bytes) format(round(bytes / 2^30, if (bytes < 2^33) 1L else 0L), nsmall = 0, big.mark = ",")

# Three N x N matrices of doubles is what a full GP needs at least, and two more for each further latent.
check_dense_size <- function(n, built, available = available_memory(), k = 1L) {
  need <- (1 + 2 * k) * 8 * n^2
  if (fits_memory(n, need, available)) return(invisible())
  label <- built[[which(vapply(built, function(b) b$term$type == "kernel", NA))[1L]]]$term$label
  call <- sub("\\)$", ", inducing = 200)", label)
  stop_galvi("size", sprintf(paste(
    "%s rows are too many for the full Gaussian process %s: it needs %s GiB%s.",
    "Use inducing points, %s, or fewer rows (`subset`)."
  ), format(n, big.mark = ",", scientific = FALSE), label, gib(need), free_words(available), call))
}

# The joint covariance of n rows, its cross covariances and its factor.
check_joint_size <- function(n, k, available = available_memory()) {
  need <- (2 + 2 * k) * 8 * n^2
  if (fits_memory(n, need, available)) return(invisible())
  stop_galvi("size", sprintf(
    "%s rows are too many for a joint covariance: it needs %s GiB%s. Take fewer rows at a time.",
    format(n, big.mark = ",", scientific = FALSE), gib(need), free_words(available)
  ))
}

fits_memory <- function(n, need, available) if (is.na(available)) n <= 20000 else need <= available

free_words <- function(available) {
  if (is.na(available)) "" else sprintf(" and %s GiB are free", gib(available))
}

# Bytes that can be had without swapping, NA where the system does not tell.
available_memory <- function(file = "/proc/meminfo") {
  if (!file.exists(file)) return(NA_real_)
  line <- grep("^MemAvailable:", readLines(file, warn = FALSE), value = TRUE)
  if (!length(line)) return(NA_real_)
  1024 * as.numeric(gsub("[^0-9]", "", line[1L]))
}

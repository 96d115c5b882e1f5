# What happens where memory is short: does galvi say so before it begins, and is the session whole after it?
#
#   Rscript bench/limits.R [GiB = 1] [cases ...]     (half an hour, Linux)
#
# Each case is a computation of growing size, in a process that may have so many GiB of address space (`ulimit -v`)
# beyond what R has after loading galvi. Sizes double until one is refused, or for a minute, and then come closer to
# the border in four steps. For each case: the largest size that was computed, the least that was refused, and how.
# "before" is an error of class galvi_error_size that names sizes, before the computation; "during" is one from a
# computation that ran out of memory. Anything else (another error, an end of the process, silence) is a defect, as is
# a small fit after it with other bits.
suppressPackageStartupMessages(library(galvi))

rows <- function(n) {
  set.seed(1)
  d <- data.frame(x = runif(n), z = runif(n), g = sample(max(2, n %/% 10), n, TRUE))
  d$y <- sin(6 * d$x) + d$z + rnorm(n)
  d$b <- rbinom(n, 1, plogis(d$y))
  d
}
control <- galvi_control(threads = 1, max_iterations = 3)
quiet <- function(...) {
  suppressWarnings(suppressMessages(galvi(..., hyper = "fixed", control = control, verbose = FALSE)))
}
lattice <- function(side) {
  id <- matrix(seq_len(side^2), side)
  rbind(cbind(c(id[-1L, ]), c(id[-side, ])), cbind(c(id[, -1L]), c(id[, -side])))
}
chunks <- function(n) {
  at <- 0
  function(reset = FALSE) {
    if (reset) return(at <<- 0)
    if (at >= n) return(NULL)
    at <<- at + 1e5
    rows(1e5)
  }
}
fits <- new.env()
kept_fits <- c("columns", "process", "points")
once <- function(name, expr) {
  if (is.null(fits[[name]])) fits[[name]] <- expr
  fits[[name]]
}
columns_fit <- function() once("columns", quiet(b ~ x + z + (1 | g), rows(2000), binomial()))
process_fit <- function() once("process", quiet(y ~ gp(x, z), rows(500)))

# First size and what is done with a size.
cases <- list(
  `full process, gaussian` = list(1000, function(n) quiet(y ~ gp(x, z), rows(n))),
  `full process, binomial` = list(1000, function(n) quiet(b ~ gp(x, z), rows(n), binomial())),
  `inducing points` = list(300, function(n) quiet(b ~ gp(x, z, inducing = n), rows(5000), binomial())),
  neighbours = list(5000, function(n) quiet(b ~ gp(x, z, neighbours = 10), rows(n), binomial())),
  chain = list(1e5, function(n) quiet(b ~ gp(x, kernel = matern52()), rows(n), binomial())),
  rows = list(2e5, function(n) quiet(y ~ x + z, rows(n))),
  groups = list(1e5, function(n) quiet(b ~ x + (1 | g), rows(n), binomial())),
  mesh = list(30, function(n) {
    quiet(b ~ spde(x, z, mesh = galvi_mesh(rows(500)[c("x", "z")], 1 / n)), rows(500), binomial())
  }),
  besag = list(100, function(n) {
    quiet(b ~ gmrf(g, lattice(n), model = "besag"), transform(rows(n^2), g = seq_len(n^2)), binomial())
  }),
  classes = list(20, function(n) {
    quiet(k ~ x, transform(rows(20000), k = factor(rep_len(seq_len(n), 20000))), categorical())
  }),
  source = list(4e5, function(n) quiet(b ~ x + gp(z, inducing = 20), chunks(n), binomial())),
  draws = list(1000, function(n) rstantools::posterior_epred(columns_fit(), ndraws = n)),
  predictive = list(1000, function(n) rstantools::posterior_predict(columns_fit(), ndraws = n)),
  simulate = list(1000, function(n) simulate(columns_fit(), nsim = n)),
  `draws, process` = list(1000, function(n) rstantools::posterior_epred(process_fit(), rows(n), ndraws = 10)),
  `log densities` = list(1000, function(n) rstantools::log_lik(columns_fit(), ndraws = n)),
  predict = list(1e5, function(n) {
    predict(columns_fit(), rows(n), se.fit = TRUE, interval = "prediction", allow.new.levels = TRUE)
  }),
  covariance = list(1000, function(n) {
    predict(columns_fit(), rows(n), type = "link", covariance = TRUE, allow.new.levels = TRUE)
  }),
  `covariance, process` = list(1000, function(n) predict(process_fit(), rows(n), type = "link", covariance = TRUE)),
  `covariance, points` = list(1000, function(n) {
    fit <- once("points", galvi(b ~ x + z, rows(500), binomial()))
    predict(fit, rows(n), type = "link", covariance = TRUE)
  }),
  loo = list(1e5, function(n) loo::loo(quiet(b ~ x + z, rows(n), binomial())))
)

# ---- the process with the limit ----

# Virtual memory in KiB
used <- function() as.numeric(gsub("[^0-9]", "", grep("^VmSize", readLines("/proc/self/status"), value = TRUE)))

# NULL where a size was computed, else list(how, message)
attempt <- function(compute, n) {
  failed <- tryCatch({ compute(n); NULL }, error = identity)
  rm(list = setdiff(ls(fits), kept_fits), envir = fits)
  gc()
  if (is.null(failed)) return(NULL)
  message <- gsub("\n", " ", conditionMessage(failed))
  how <- if (!inherits(failed, "galvi_error_size")) {
    paste("DEFECT:", class(failed)[1L])
  } else if (grepl("ran out", message)) "during" else "before"
  list(how = how, message = message)
}

work <- function(name) {
  small <- function() quiet(y ~ x + gp(x), rows(50))$elbo
  before <- small()
  case <- cases[[name]]
  n <- case[[1L]]
  computed <- 0
  refused <- Inf
  closer <- 0L
  said <- list()
  begun <- proc.time()[[3L]]
  for (step in 1:30) {
    failed <- attempt(case[[2L]], n)
    if (is.null(failed)) computed <- n else {
      refused <- n
      said[[failed$how]] <- failed$message
    }
    closer <- closer + is.finite(refused)
    if (closer > 4L || proc.time()[[3L]] - begun > 60) break
    n <- round(if (is.finite(refused)) sqrt(max(computed, refused / 4) * refused) else 2 * n)
  }
  if (small() != before) said[["DEFECT: other bits"]] <- ""
  cat(sprintf("%-24s %9.0f %9.0f  %s\n", name, computed, refused, paste(names(said), collapse = ", ")))
  for (message in said) cat("   ", substr(message, 1, 200), "\n")
}

given <- commandArgs(TRUE)
if (identical(given[1L], "--used")) {
  cat(used())
} else if (identical(given[1L], "--work")) {
  work(given[2L])
} else {
  gib <- if (length(given)) as.numeric(given[1L]) else 1
  script <- function(limit, ...) {
    call <- paste(shQuote(c(file.path(R.home("bin"), "Rscript"), "bench/limits.R", ...)), collapse = " ")
    system(sprintf("%s timeout 200 %s 2>&1", limit, call), intern = TRUE)
  }
  own <- as.numeric(script("", "--used"))
  cat(sprintf("R and galvi: %.0f MiB; %g GiB more\n%-24s %9s %9s\n", own / 1024, gib, "", "computed", "refused"))
  for (name in if (length(given) > 1L) given[-1L] else names(cases)) {
    said <- suppressWarnings(script(sprintf("ulimit -v %.0f;", own + gib * 2^20), "--work", name))
    if (!is.null(attr(said, "status"))) cat(name, "DEFECT: exit status", attr(said, "status"), "\n")
    cat(said, sep = "\n")
  }
}

# Measured: no defect with 1 GiB and with 2 GiB in 21 cases. All that was refused was refused before it began. With 1 GiB
# a full process of 5,657 rows was fitted and one of 5,907 refused, with 2 GiB 8,724 and 9,110; on a chain 870,000 and
# 1,740,000 rows were fitted, in groups 870,000 and 2,070,000.

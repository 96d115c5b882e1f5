# What is refused for lack of memory, and what is free.

skip_on_cran()

# A model list with the fields that a size is read from.
sized_model <- function(n, k = 1L, terms, solver, rows = list(list())) {
  list(
    y = numeric(n), offset = matrix(0, n, k), designs = list(rows),
    predictors = list(list(terms = terms, solver = solver, design = 1L, latents = seq_len(k)))
  )
}

full_gp <- function(n, k = 1L, label = "gp(x)") {
  sized_model(n, k, list(list(type = "kernel", label = label)), "dense_kernel")
}

test_that("a full Gaussian process is sized by its N x N matrices", {
  bytes <- function(...) fit_size(...)$bytes - base_size
  expect_equal(bytes(full_gp(1000)), 3 * 8e6)
  expect_equal(bytes(full_gp(1000, 3L)), 7 * 8e6)
  expect_gt(bytes(full_gp(1000), "cholesky_gradient"), 30 * 8e6)
  expect_gt(bytes(full_gp(1000), control = galvi_control(keep_factor = TRUE)), bytes(full_gp(1000)))
  expect_error(
    check_size(fit_size(full_gp(2e5, label = "gp(x, z)")), 8 * 2^30),
    "894 GiB and 8 GiB are free.*gp\\(x, z, inducing = 200\\)", class = "galvi_error_size"
  )
  expect_error(check_size(fit_size(full_gp(30000)), NA), class = "galvi_error_size")
  expect_silent(check_size(fit_size(full_gp(5000)), 8 * 2^30))
})

test_that("what is advised can be written", {
  expect_equal(with_inducing("gp(x)"), "gp(x, inducing = 200)")
  expect_equal(with_inducing("gp(x, by = f) #2"), "gp(x, by = f, inducing = 200)")
  expect_error(check_size(fit_size(full_gp(1e5, label = "gp(x) #2")), 0), "gp\\(x, inducing = 200\\), or")
})

test_that("rows, columns, nodes and latent values are counted where nothing is N x N", {
  columns <- function(n, p, k = 1L) {
    model <- sized_model(n, k, list(list(type = "columns")), "projected", list(list(W = matrix(0, n, p))))
    fit_size(model)$bytes - base_size
  }
  expect_gt(columns(1000, 100), columns(1000, 1) + 8e5)
  expect_gt(columns(1000, 2, 3L), 2 * columns(1000, 2))
  few <- fit_size(prepare_model(y ~ iid(g), data.frame(y = 1:3000, g = rep(1:3, 1000)))$model)
  many <- fit_size(prepare_model(y ~ iid(g), data.frame(y = 1:3000, g = 1:3000))$model)
  expect_gt(many$bytes, few$bytes + 3000 * 500)
})

test_that("draws of parameters are sized before they are begun", {
  fit <- small_fit("gaussian")
  expect_error(check_size(parameter_draws_size(1e9, 3), 2^33), "1,000,000,000 draws are too many for the posterior",
    class = "galvi_error_size")
  skip_if_not_installed("posterior")
  expect_error(posterior::as_draws(fit, ndraws = 2e9), "draws are too many", class = "galvi_error_size")
})

test_that("a process given 20 neighbours is known to need what it was measured to take", {
  set.seed(1)
  n <- 3000
  d <- data.frame(x = runif(n), z = runif(n), y = rnorm(n))
  model <- prepare_model(y ~ gp(x, z, neighbours = 20), d)$model
  measured <- 85 * 2^20  # peak address space less what was there before the core was called
  expect_gt(fit_size(model)$bytes, 0.75 * measured)
})

test_that("joint covariances are sized before they are begun", {
  fit <- small_fit("gaussian")
  size <- prediction_size(fit, 1e5, TRUE)
  expect_error(check_size(size, 2^33), "joint covariance: it needs 224 GiB", class = "galvi_error_size")
  expect_silent(check_size(prediction_size(fit, 1e3, TRUE), 2^33))
  expect_silent(check_size(prediction_size(fit, 1e6), 2^33))
})

# ---- what is free, by a machine made of files ----

local_machine <- function(files, env = parent.frame()) {
  root <- local_file(env)
  for (name in names(files)) {
    dir.create(dirname(file.path(root, name)), recursive = TRUE, showWarnings = FALSE)
    writeLines(format(files[[name]], trim = TRUE, scientific = FALSE), file.path(root, name))
  }
  root
}

test_that("the least of system, process and control groups is what is free", {
  gib <- 2^30
  meminfo <- c("MemTotal:       16777216 kB", "MemAvailable:   8388608 kB")
  limits <- c(
    "Limit                     Soft Limit           Hard Limit           Units     ",
    "Max data size             unlimited            unlimited            bytes     ",
    "Max address space         4294967296           4294967296           bytes     "
  )
  status <- c("VmPeak:\t 2097152 kB", "VmSize:\t 1048576 kB", "VmData:\t  524288 kB")
  system <- list("proc/meminfo" = meminfo)
  expect_equal(available_memory(root = local_machine(system)), 8 * gib)
  limited <- c(system, list("proc/self/limits" = limits, "proc/self/status" = status))
  expect_equal(available_memory(1L, local_machine(limited)), 3 * gib - reserved_space(1))
  expect_equal(available_memory(100L, local_machine(limited)), 0)
  data <- replace(limited, "proc/self/limits", sub("size   .*", "size   1073741824 1 bytes", limits[2L]))
  expect_equal(available_memory(1L, local_machine(data)), gib / 2 - reserved_space(1))

  second <- c(system, list(
    "proc/self/cgroup" = "0::/slice/job", "sys/fs/cgroup/slice/job/memory.max" = "max",
    "sys/fs/cgroup/slice/memory.max" = 2 * gib, "sys/fs/cgroup/slice/memory.current" = gib,
    "sys/fs/cgroup/slice/memory.stat" = c("anon 5", "inactive_file 1024", "active_file 1000")
  ))
  expect_equal(available_memory(root = local_machine(second)), gib + 2024)
  first <- c(system, list(
    "proc/self/cgroup" = c("9:name=systemd:/", "4:memory,cpu:/docker/0af", "0::/"),
    # the path is the host's: the container sees its own group as the root
    "sys/fs/cgroup/memory/memory.limit_in_bytes" = gib,
    "sys/fs/cgroup/memory/memory.usage_in_bytes" = gib / 4,
    "sys/fs/cgroup/memory/memory.stat" = "total_inactive_file 4096"
  ))
  expect_equal(available_memory(root = local_machine(first)), 0.75 * gib + 4096)
})

test_that("a system that does not tell is taken to have some memory", {
  expect_identical(available_memory(root = local_machine(list("proc/other" = ""))), NA_real_)
  expect_silent(check_size(fit_size(full_gp(15000)), NA))
})

# ---- memory that runs out ----

test_that("an allocation that fails is an error of size, in C++ and in R", {
  bad <- structure(class = c("std::bad_alloc", "C++Error", "error", "condition"),
    list(message = "std::bad_alloc", call = NULL))
  expect_error(as_galvi_error(stop(bad)), "Memory ran out", class = "galvi_error_size")
  expect_error(as_galvi_error(stop(bad), fit_size(full_gp(2000))), "2,000 rows", class = "galvi_error_size")
  own <- tryCatch(numeric(1e15), error = identity)
  expect_error(as_galvi_error(stop(own)), "Memory ran out", class = "galvi_error_size")
  expect_error(as_galvi_error(stop("something else")), "something else", class = "simpleError")
})

# The last line that `code` prints in a process whose address space ends `more` MiB above what it has with
# galvi loaded, or the word "late" after two minutes.
with_limit <- function(more, code) {
  skip_on_cran()
  skip_if_not(Sys.info()[["sysname"]] == "Linux")
  skip_if_not_installed("processx")
  run <- function(limit, code) {
    file <- tempfile(fileext = ".R")
    on.exit(unlink(file))
    writeLines(c(sprintf(".libPaths(%s)", deparse1(.libPaths())), "library(galvi)", code), file)
    words <- c("-c", paste("ulimit -v", limit, "&& exec \"$0\" --vanilla \"$1\""))
    out <- processx::run("sh", c(words, file.path(R.home("bin"), "Rscript"), file), timeout = 120,
      error_on_status = FALSE, env = c("current", OPENBLAS_NUM_THREADS = "1"))
    if (out$timeout) "late" else utils::tail(strsplit(trimws(out$stdout), "\n")[[1L]], 1L)
  }
  size <- run("unlimited", "cat(grep('^VmPeak', readLines('/proc/self/status'), value = TRUE))")
  kib <- as.numeric(gsub("[^0-9]", "", size))
  run(format(kib + 1024 * more, scientific = FALSE), c(
    "data <- function(n) { x <- rnorm(n); data.frame(x, y = sin(x) + rnorm(n), g = seq_len(n)) }",
    "control <- galvi_control(threads = 1)",
    "text <- function(e) paste(class(e)[1], conditionMessage(e))",
    "said <- function(e) tryCatch({ e; 'ok' }, error = text)", code
  ))
}

test_that("under a limit of address space a full Gaussian process is refused in words", {
  text <- with_limit(400, "cat(said(galvi(y ~ gp(x), data(12000), control = control)))")
  expect_match(text, "^galvi_error_size 12,000 rows are too many for the full Gaussian process gp\\(x\\)")
  expect_match(text, "needs 3.2 GiB and 0[.0-9]* GiB are free[.] Use inducing points, gp\\(x, inducing = 200")
})

test_that("under a limit of address space random effects are refused in words", {
  text <- with_limit(320, "cat(said(galvi(y ~ (1 | g), data(3e5), control = control)))")
  expect_match(text, "^galvi_error_size .*fewer rows")
})

test_that("under a limit of address space a joint covariance is refused in words, and the rest works", {
  text <- with_limit(400, c(
    "fit <- galvi(y ~ x, data(100), control = control)",
    "said(predict(fit, data(12000)))",
    "cat(said(predict(fit, data(12000), type = 'link', covariance = TRUE)))"
  ))
  expect_match(text, "^galvi_error_size 12,000 rows are too many for a joint covariance: it needs 3.2 GiB")
})

test_that("memory that runs out on the way, the guard deaf, is no bare C++ error", {
  deaf <- "assignInNamespace('available_memory', function(...) NA_real_, 'galvi')"
  text <- with_limit(240, c(deaf, "cat(said(galvi(y ~ gp(x, kernel = se() + white()), data(4000), control = control)))"))
  expect_match(text, "^galvi_error_size Memory ran out: 4,000 rows .*inducing = 200")
  text <- with_limit(500, c(
    deaf, "fit <- galvi(y ~ gp(x), data(200), control = control)",
    "cat(said(predict(fit, data(6000), type = 'link', covariance = TRUE)))"
  ))
  expect_match(text, "^galvi_error_size Memory ran out: 6,000 rows are too many for a joint cov")
})

test_that("a full process over many rows is announced before it begins", {
  told <- tryCatch(inform_slow_fit(full_gp(slow_rows + 1)), message = identity)
  expect_s3_class(told, "galvi_message_size")
  expect_match(conditionMessage(told), "gp(x, inducing = 200)", fixed = TRUE)
  expect_silent(inform_slow_fit(full_gp(slow_rows)))
  expect_silent(inform_slow_fit(core_model(galvi_model(galvi_design(dist ~ gp(speed, inducing = 5), cars)), "auto")))
})

test_that("what is too large is refused before it is made, and named", {
  # more than any machine has: without the checks this ends in an error of R, or does not end
  n <- 120000
  d <- data.frame(y = sin(1:n), x = cos(1:n), g = factor(rep(1:60000, 2)), h = rep(paste0("k", 1:60000), 2))
  refused <- function(expr, what) expect_error(expr, what, class = "galvi_error_size")
  refused(galvi(y ~ g, d), "`g` has 60,000 columns, .* they are numbers")
  refused(galvi(y ~ x * h, d), "`h` has 60,000 columns, .* \\(1 [|] h\\)")
  refused(galvi(y ~ gp(x, by = g, by_hyper = "shared", inducing = 5), d), "300,000 inducing points")
  refused(galvi(h ~ x, d, family = categorical()), "60,000 linear predictors")
  fit <- galvi(dist ~ speed, cars)
  refused(posterior_predict.galvi(fit, data.frame(speed = 1:2e5), ndraws = 1e6), "1,000,000 draws")
})

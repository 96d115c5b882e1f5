# Fits whose rows are with the workers of a cluster: the same numbers, to the last bit, as without.

skip_on_cran()

cluster_data <- function(n = 3000) {
  set.seed(5)
  d <- data.frame(x = runif(n, -3, 3), z = runif(n, -3, 3), g = factor(sample(c("a", "b", "c"), n, TRUE)))
  d$y <- rbinom(n, 1, plogis(2 * sin(1.5 * d$x) + d$z))
  d$count <- rpois(n, exp(1 + 0.5 * sin(d$x)))
  d
}

grid_points <- as.matrix(expand.grid(x = seq(-3, 3, length.out = 4), z = seq(-3, 3, length.out = 3)))

test_that("a fit on a cluster is that of its method without one, to the last bit", {
  cluster <- local_cluster()
  d <- cluster_data()
  both <- function(formula, family, method, ...) {
    control <- galvi_control(backend = "blas")
    there <- galvi(formula, d, family, method = method,
      control = galvi_control(backend = "blas", cluster = cluster), ...)
    here <- galvi(formula, d, family, method = there$method, control = control, ...)
    expect_identical(bits_of(there), bits_of(here))
    expect_identical(predict(there, d[1:5, ], se.fit = TRUE), predict(here, d[1:5, ], se.fit = TRUE))
    there
  }
  fit <- both(y ~ x + g + gp(x, z, inducing = grid_points), "binomial", "auto", hyper = "fixed")
  expect_identical(fit$method, "fixed_point")
  expect_true(fit$convergence$converged)
  both(y ~ x + gp(x, z, inducing = grid_points), "binomial", "natural_gradient", hyper = "fixed")
  both(count ~ x + g, "poisson", "auto", prior = normal(0, learn(1)), hyper = "fixed")
  both(g ~ x + z, "categorical", "auto")
  both(x ~ z + gp(z, inducing = 5), "gaussian", "auto", hyper = "fixed")
  # no rows stay with the workers
  left <- parallel::clusterEvalQ(cluster, length(ls(get("held_shares", asNamespace("galvi")))))
  expect_identical(left, list(0L, 0L))
})

test_that("learning gives the same bits on any number of workers, and what one process learns", {
  cluster <- local_cluster()
  d <- cluster_data(2000)
  learn <- function(...) {
    galvi(y ~ 1 + gp(x, z, inducing = 8), d, "binomial", method = "fixed_point",
      control = galvi_control(hyper_iterations = 5, backend = "blas", ...))
  }
  there <- suppressWarnings(learn(cluster = cluster))
  expect_identical(bits_of(there), bits_of(suppressWarnings(learn(cluster = cluster[1]))))
  expect_identical(bits_of(there), bits_of(suppressWarnings(learn())))
})

test_that("a worker that dies costs a pass, not the fit", {
  d <- cluster_data()
  formula <- y ~ x + g + gp(x, z, inducing = grid_points)
  core <- core_model(galvi_model(galvi_design(formula, d, "binomial"), hyper = "fixed"), "fixed_point")
  control <- galvi_control(backend = "blas")
  fields <- c("elbo", "latent", "coefficients", "hyper", "gap", "converged")
  expected <- fit_model(core, "fixed_point", "fixed", control)[fields]
  # deaths: by pass, the workers that die before it
  with_deaths <- function(cluster, deaths, pids) {
    rows <- list(number = length(core$y), of = function(from, to) model_of_rows(core, from:to))
    team <- new_team(cluster, core, rows, "blas")
    passes <- 0
    away <- without_rows(core)
    away$source <- list(rows = length(core$y), ask = function(question) {
      passes <<- passes + 1
      if (passes <= length(deaths)) tools::pskill(pids[deaths[[passes]]], tools::SIGKILL)
      team$ask(question)
    })
    found <- fit_model(away, "fixed_point", "fixed", control)
    team$dismiss()
    found[fields]
  }
  cluster <- local_cluster(3)
  pids <- unlist(parallel::clusterCall(cluster, Sys.getpid))
  expect_warning(one <- with_deaths(cluster, list(NULL, 2), pids), "Worker 2 .* no longer answers")
  expect_identical(one, expected)
  # the others serve the next fit
  expect_warning(
    fit <- galvi(formula, d, "binomial", hyper = "fixed", control = galvi_control(cluster = cluster)),
    class = "galvi_warning_cluster"
  )
  expect_equal(fit$elbo, expected$elbo, tolerance = 1e-12)
  # this process takes over what nobody else can
  found <- capture_warnings(two <- with_deaths(cluster[c(1, 3)], list(1, NULL, 2), pids[c(1, 3)]))
  expect_match(found, "no longer answers")
  expect_identical(two, expected)
})

test_that("a reply that was left in a connection is not taken for that to the next call", {
  cluster <- local_cluster(3)
  same <- function(x) x
  environment(same) <- baseenv()
  tools::pskill(parallel::clusterCall(cluster[2], Sys.getpid)[[1L]], tools::SIGKILL)
  # the reply of the third is lost with the second
  expect_error(parallel::clusterCall(cluster, same, "late"))
  for (round in 1:3) {
    found <- call_workers(cluster, 1:3, same, function(i) list(10 * round + i))
    expect_identical(found, list(list(10 * round + 1), NULL, list(10 * round + 3)))
  }
})

test_that("what stops a fit half way leaves the cluster as it was", {
  cluster <- local_cluster()
  slow_or_bad <- function(bad) if (bad) stop("not here") else { Sys.sleep(0.3); "late" }
  environment(slow_or_bad) <- baseenv()
  expect_error(
    call_workers(cluster, 1:2, slow_or_bad, function(i) list(i == 1)), "Worker 1 of `cluster`: not here",
    class = "galvi_error_cluster"
  )
  d <- cluster_data(1000)
  core <- core_model(galvi_model(galvi_design(y ~ x + z, d, "binomial")), "fixed_point")
  stopping <- function(...) stop("enough")
  control <- galvi_control(cluster = cluster)
  expect_error(fit_on_cluster(core, NULL, NULL, "fixed_point", "fixed", control, NULL, stopping), "enough")
  left <- parallel::clusterEvalQ(cluster, length(ls(get("held_shares", asNamespace("galvi")))))
  expect_identical(left, list(0L, 0L))
  expect_length(ls(held_shares), 0)
})

test_that("clusters of mirai serve too", {
  skip_on_cran()
  skip_if_not_installed("mirai")
  cluster <- mirai::make_cluster(2)
  on.exit(parallel::stopCluster(cluster))
  parallel::clusterCall(cluster, function(paths) .libPaths(paths), .libPaths())
  d <- cluster_data(1000)
  fit <- function(...) {
    galvi(y ~ x + gp(x, inducing = 5), d, "binomial", method = "fixed_point", hyper = "fixed",
      control = galvi_control(backend = "blas", ...))
  }
  alone <- fit()
  expect_identical(bits_of(fit(cluster = cluster)), bits_of(alone))
  tools::pskill(parallel::clusterCall(cluster, Sys.getpid)[[1]], tools::SIGKILL)
  expect_identical(bits_of(suppressWarnings(fit(cluster = cluster))), bits_of(alone))
})

test_that("a worker may die at any time", {
  skip_on_os("windows")
  d <- cluster_data()
  cluster <- local_cluster()
  learn <- function(...) {
    galvi(y ~ x + gp(x, z, inducing = 6), d, "binomial", method = "fixed_point",
      control = galvi_control(hyper_iterations = 10, backend = "blas", ...))
  }
  whole <- suppressWarnings(learn(cluster = cluster))
  pid <- parallel::clusterCall(cluster[1], Sys.getpid)[[1]]
  system(sprintf("(sleep 0.5; kill -9 %d) &", pid))
  expect_identical(bits_of(suppressWarnings(learn(cluster = cluster))), bits_of(whole))
})

test_that("workers read their rows from a source themselves, and get the same bits", {
  cluster <- local_cluster()
  d <- cluster_data(60000)
  d$x[c(7, 30000, 59999)] <- NA
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file), add = TRUE)
  utils::write.csv(d, file, row.names = FALSE)
  learn <- function(data, method, ...) {
    galvi(y ~ g + gp(x, z, inducing = 4), data, "binomial", method = method, subset = z < 2.9,
      control = galvi_control(hyper_iterations = 2, backend = "blas", chunk_rows = 17000, ...))
  }
  expected <- suppressWarnings(learn(file, "fixed_point"))
  expect_gt(expected$nobs, 55000)
  expect_identical(bits_of(suppressWarnings(learn(file, "auto", cluster = cluster))), bits_of(expected))
  # of rows in memory it is the same posterior
  held <- function(data, ...) {
    galvi(y ~ 0 + gp(x, z, kernel = se(4, 1), inducing = grid_points), data, "binomial", method = "fixed_point",
      hyper = "fixed", control = galvi_control(backend = "blas", ...))
  }
  from_file <- held(file, cluster = cluster)
  expect_identical(from_file$elbo, held(utils::read.csv(file, stringsAsFactors = TRUE))$elbo)
  # a worker that dies leaves its rows to be read again
  pid <- parallel::clusterCall(cluster[1], Sys.getpid)[[1]]
  tools::pskill(pid, tools::SIGKILL)
  expect_identical(bits_of(suppressWarnings(held(file, cluster = cluster))), bits_of(from_file))
})

test_that("workers connect to a database by a function", {
  skip_if_not_installed("RSQLite")
  cluster <- local_cluster()
  file <- tempfile(fileext = ".sqlite")
  on.exit(unlink(file), add = TRUE)
  con <- DBI::dbConnect(RSQLite::SQLite(), file)
  DBI::dbWriteTable(con, "rows", transform(cluster_data(60000), g = as.character(g)))
  held <- function(data, ...) {
    galvi(y ~ g + x, data, "binomial", control = galvi_control(backend = "blas", ...), method = "fixed_point")
  }
  expect_error(
    held(row_source(con, "rows"), cluster = cluster), "a function\nthat makes the connection|a function that",
    class = "galvi_error_data"
  )
  expected <- held(row_source(con, "rows"))
  DBI::dbDisconnect(con)
  connect <- eval(bquote(function() DBI::dbConnect(RSQLite::SQLite(), .(file))), globalenv())
  expect_identical(held(row_source(connect, "rows"))$elbo, expected$elbo)
  expect_identical(bits_of(held(row_source(connect, "rows"), cluster = cluster)), bits_of(expected))
  expect_error(row_source(function() 1, "rows"), "must make a connection", class = "galvi_error_data")
})

test_that("a fit is where a fit on a cluster may start", {
  cluster <- local_cluster()
  d <- cluster_data(2000)
  fit <- function(...) {
    galvi(y ~ g + gp(x, inducing = 5), d, "binomial", method = "fixed_point",
      control = galvi_control(backend = "blas", ...))
  }
  first <- suppressWarnings(fit(hyper_iterations = 2))
  again <- function(...) update(first, start = first, control = galvi_control(backend = "blas", ...))
  expect_identical(bits_of(again(cluster = cluster)), bits_of(again()))
})

test_that("what is no cluster, or cannot use one, is refused with what to do", {
  wrong <- function(expr, message, class = "galvi_error") expect_error(expr, message, class = class)
  wrong(galvi_control(cluster = 2), "parallel::makeCluster")
  wrong(galvi_control(cluster = list()), "parallel::makeCluster")
  cluster <- local_cluster()
  d <- cluster_data(300)
  control <- galvi_control(cluster = cluster)
  wrong(galvi(y ~ gp(x), d, "binomial", control = control), "inducing points: gp\\(x, inducing")
  wrong(galvi(y ~ x + iid(g), d, "binomial", control = control), "`iid\\(g\\)` needs all rows at once")
  wrong(galvi(y ~ x, d, "binomial", method = "dual", control = control), "\"fixed_point\"")
  wrong(galvi(y ~ x, d, "binomial", expectation = "taylor", control = control), "another expectation")
  parallel::stopCluster(cluster)
  wrong(galvi(y ~ x, d, "binomial", control = control), "stopped", "galvi_error_cluster")
})

test_that("sums of workers are compared with those of this process", {
  sums <- list(list(level = 0L, place = 0, sum = c(1, 2)))
  off <- function(by) list(list(level = 0L, place = 0, sum = c(1, 2 + by)))
  expect_silent(compare_sums(sums, sums, 1))
  expect_warning(compare_sums(sums, off(1e-12), 1), "last digits", class = "galvi_warning_cluster")
  expect_error(compare_sums(sums, off(1e-3), 1), "more than rounding errors", class = "galvi_error_cluster")
})

test_that("a fit keeps no connection", {
  cluster <- local_cluster(1)
  d <- cluster_data(300)
  control <- galvi_control(cluster = cluster)
  expect_output(print(control), "1 workers")
  fit <- galvi(y ~ x, d, "binomial", control = control)
  expect_null(fit$control$cluster)
  file <- tempfile()
  on.exit(unlink(file), add = TRUE)
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), d[1:3, ]), predict(fit, d[1:3, ]))
})

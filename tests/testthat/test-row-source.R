# Row sources: tables that are read some rows at a time give the fit of the data frame.

skip_on_cran()

# More rows than the sample has.
source_table <- function(n = 60000) {
  set.seed(4)
  d <- data.frame(
    x = runif(n, -3, 3), z = rnorm(n), g = sample(c("u", "v", "w"), n, TRUE), o = rnorm(n) / 10,
    w = sample(1:2, n, TRUE)
  )
  d$y <- rbinom(n, 1, plogis(sin(d$x) + d$z / 2 + (d$g == "v")))
  d
}

# biglm's convention; `rows` of each chunk, over and over again.
as_function <- function(d, rows = 17000) {
  at <- 0
  function(reset = FALSE) {
    if (reset) return(at <<- 0)
    if (at >= nrow(d)) return(NULL)
    out <- d[seq(at + 1, min(nrow(d), at + rows)), , drop = FALSE]
    at <<- at + rows
    out
  }
}

# Nothing here is read off the sample but levels.
held_fit <- function(data, formula = y ~ z * g + x, ..., family = binomial()) {
  prior <- list(intercept = normal(0, 3), default = normal(0, 2))
  galvi(formula, data, family, ..., hyper = "fixed", prior = prior, verbose = FALSE)
}

expect_same_fit <- function(fit, reference) {
  expect_identical(fit$elbo, reference$elbo)
  expect_identical(coef(fit), coef(reference))
  expect_identical(vcov(fit), vcov(reference))
  expect_identical(fit$posterior$latent, reference$posterior$latent)
  expect_identical(nobs(fit), nobs(reference))
}

test_that("the sample has the least and the largest value of every column, and every level", {
  d <- source_table()
  # one row each, of which a share of a half would lose some
  d$x[seq(5, by = 9001, length.out = 2)] <- c(-70, 70)
  d$z[seq(77, by = 9001, length.out = 2)] <- c(60, -60)
  d$g[30001] <- "rare"
  sample <- galvi_design(y ~ x + z + g, row_source(as_function(d)), binomial())$data
  expect_lt(nrow(sample), nrow(d))
  for (name in c("x", "z")) expect_identical(range(sample[[name]]), range(d[[name]]))
  expect_setequal(as.character(sample$g), unique(d$g))
})

test_that("a subset that is NA leaves rows out, though their columns are complete", {
  d <- source_table()
  read <- held_fit(as_function(d), y ~ x, subset = match(g, "u") > 0)
  expect_identical(nobs(read), sum(d$g == "u"))
  expect_same_fit(read, held_fit(d, y ~ x, subset = match(g, "u") > 0))
})

test_that("a table of more rows than the sample gives the data frame's fit, to the last bit", {
  d <- source_table()
  for (method in c("fixed_point", "incremental")) {
    reference <- held_fit(d, method = method, weights = w, offset = o)
    expect_true(reference$convergence$converged)
    chunk_rows <- if (method == "incremental") 3333 else "auto"
    control <- galvi_control(chunk_rows = chunk_rows)
    fit <- held_fit(as_function(d), method = method, weights = w, offset = o, control = control)
    expect_same_fit(fit, reference)
  }
})

test_that("a process that goes through its rows in order has all of them in memory, and says so", {
  d <- source_table()
  formula <- y ~ z + gp(x, kernel = matern32(1, 1))
  expect_message(fit <- held_fit(as_function(d), formula), "60,000 rows of .* read into memory",
    class = "galvi_message_size")
  reference <- held_fit(d, formula)
  expect_equal(fit$solver, "markov")
  expect_same_fit(fit, reference)
  expect_identical(fitted(fit), fitted(reference))
  expect_silent(held_fit(as_function(d[1:2000, ]), formula))
})

test_that("inducing points differ in rounding alone, as their units are the sample's sds", {
  d <- source_table()
  points <- cbind(x = seq(-3, 3, length.out = 7))
  formula <- y ~ z + g + gp(x, kernel = se(1, 1), inducing = points)
  reference <- held_fit(d, formula)
  fit <- held_fit(as_function(d), formula)
  expect_equal(fit$elbo, reference$elbo, tolerance = tol$identity)
  new <- data.frame(x = c(-2, 0, 2), z = 0, g = "u")
  expect_equal(predict(fit, new), predict(reference, new), tolerance = tol$identity)
})

test_that("minibatches do not depend on how rows are read", {
  d <- source_table()
  fits <- lapply(list("auto", 777), function(chunk_rows) {
    set.seed(1)
    control <- galvi_control(chunk_rows = chunk_rows, passes = 1, tol = 1e-3)
    held_fit(as_function(d), y ~ z, method = "stochastic", control = control)
  })
  expect_same_fit(fits[[1]], fits[[2]])
})

test_that("a table that fits into the sample is a data frame, full processes and fields included", {
  d <- source_table(300)
  for (formula in list(y ~ z * g, y ~ gp(x), y ~ z + iid(g), y ~ .)) {
    fit <- galvi(formula, as_function(d, 70), binomial(), verbose = FALSE)
    reference <- galvi(formula, d, binomial(), verbose = FALSE)
    expect_same_fit(fit, reference)
    expect_identical(fitted(fit), fitted(reference))
    expect_identical(fit$data, reference$data, ignore_attr = TRUE)
  }
})

test_that("databases: tables, queries, names that need quotes", {
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  on.exit(DBI::dbDisconnect(con))
  d <- source_table()
  names(d)[2] <- "the \"z\""
  formula <- y ~ `the "z"` + g
  DBI::dbWriteTable(con, "a 'table'; --", d)
  expect_same_fit(held_fit(row_source(con, "a 'table'; --"), formula), held_fit(d, formula))
  query <- "SELECT * FROM \"a 'table'; --\" WHERE g <> 'w' ORDER BY x;"
  expect_same_fit(
    held_fit(row_source(con, query), formula), held_fit(subset(d[order(d$x), ], g != "w"), formula)
  )
  expect_error(row_source(con), "name of a table", class = "galvi_error_data")
  expect_error(row_source(con, "nowhere"), "nowhere", class = "galvi_error_data")
  DBI::dbWriteTable(con, "none", d[0, ])
  expect_error(held_fit(row_source(con, "none"), formula), "no rows", class = "galvi_error_data")
})

test_that("integers of 64 bits are numbers", {
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  on.exit(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "d", data.frame(y = c(1, 2, 4, 3, 7), x = 1:5))
  fit <- held_fit(row_source(con, "SELECT y, x * 1099511627776 AS x FROM d"), y ~ x, family = gaussian())
  expect_identical(fit$data$x, 2^40 * 1:5)
})

test_that("a lazy table of dbplyr is a query", {
  skip_if_not_installed("dbplyr")
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  on.exit(DBI::dbDisconnect(con))
  d <- source_table(500)
  DBI::dbWriteTable(con, "d", d)
  expect_same_fit(held_fit(dplyr::tbl(con, "d"), y ~ z), held_fit(d, y ~ z))
})

test_that("results are cleared, whatever happens, and a connection that drops is an error about data", {
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  DBI::dbWriteTable(con, "d", transform(source_table(), y = replace(y, 55555, 2)))
  rows <- row_source(con, "d")
  expect_error(held_fit(rows, y ~ z), class = "galvi_error")
  # a result that is still open would be named in a warning
  expect_silent(DBI::dbClearResult(DBI::dbSendQuery(con, "SELECT 1")))
  DBI::dbDisconnect(con)
  expect_error(held_fit(rows, y ~ z), "`data`: reading the table `d` failed", class = "galvi_error_data")
})

test_that("a source that fails half way leaves the fit so far", {
  d <- source_table()
  passes <- 0
  failing <- function(last) {
    rows <- as_function(d)
    function(reset) {
      if (reset) passes <<- passes + 1
      if (!reset && passes > last) stop("the line is dead")
      rows(reset = reset)
    }
  }
  fit_it <- function(last, ...) {
    passes <<- 0
    galvi(y ~ x + gp(z, inducing = 5), failing(last), "binomial", control = galvi_control(tol = 1e-9), ...)
  }
  error <- tryCatch(fit_it(6, hyper = "fixed", method = "natural_gradient"), error = identity)
  expect_s3_class(error, c("galvi_error_unfinished", "galvi_error_data"), exact = FALSE)
  expect_match(conditionMessage(error), "`data`: reading the function failed: the line is dead. The fit so far is galvi_last()",
    fixed = TRUE)
  fit <- galvi_last()
  expect_identical(error$fit, fit)
  expect_false(fit$convergence$converged)
  whole <- fit_it(Inf, hyper = "fixed")
  expect_lt(fit$elbo, whole$elbo + 1e-9)
  expect_equal(fit$elbo, whole$elbo, tolerance = 0.05)
  expect_true(all(is.finite(predict(fit, d[1:50, ], se.fit = TRUE)$fit)))
  expect_output(print(fit), "NOT CONVERGED: the rows could not be read")
  # while hyperparameters are learned, and before anything is found
  expect_error(fit_it(15), class = "galvi_error_unfinished")
  expect_true(is.finite(galvi_last()$elbo))
  error <- tryCatch(fit_it(2), error = identity)
  expect_s3_class(error, "galvi_error_data")
  expect_false(inherits(error, "galvi_error_unfinished"))
})

test_that("files: CSV and Parquet", {
  d <- source_table()
  reference <- held_fit(d)
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  parts <- split(d, rep(1:2, c(25000, 35000)))
  csv <- file.path(folder, c("a.csv", "b.csv"))
  for (i in 1:2) {
    # all digits of a double
    digits <- parts[[i]]
    for (v in c("x", "z", "o")) digits[[v]] <- sprintf("%.17g", digits[[v]])
    write.csv(digits, csv[i], row.names = FALSE, quote = FALSE)
  }
  expect_same_fit(held_fit(csv), reference)
  expect_error(held_fit(file.path(folder, "c.csv")), "not a file", class = "galvi_error_data")
  skip_if_not_installed("nanoparquet")
  parquet <- file.path(folder, c("a.parquet", "b.parquet"))
  for (i in 1:2) nanoparquet::write_parquet(parts[[i]], parquet[i], row_groups = c(1L, 9001L))
  expect_same_fit(held_fit(parquet), reference)
  expect_error(row_source(c(csv, parquet)), "end in .parquet", class = "galvi_error_data")
})

test_that("subset and missing values are dealt with in each chunk", {
  d <- source_table()
  d$z[c(5, 40000:52000)] <- NA
  reference <- held_fit(d, weights = w, subset = x > -2 & g != "w")
  fit <- held_fit(as_function(d), weights = w, subset = x > -2 & g != "w")
  expect_same_fit(fit, reference)
  expect_equal(fit$omitted, length(reference$na.action))
  expect_error(held_fit(as_function(d), na.action = na.fail), "Missing values", class = "galvi_error_data")
  expect_error(held_fit(as_function(d), subset = 1:10), "TRUE or FALSE", class = "galvi_error_argument")
})

test_that("levels that come late, and rare classes, are known before the fit", {
  d <- source_table()
  d$g[59999] <- "late"
  d$y <- 0
  d$y[54321] <- 1
  fit <- held_fit(as_function(d), y ~ g)
  expect_identical(fit$design$xlevels$g, c("late", "u", "v", "w"))
  expect_same_fit(fit, held_fit(d, y ~ g))
  d$g <- factor(d$g, c("w", "late", "v", "u"))
  expect_same_fit(held_fit(as_function(d), y ~ g), held_fit(d, y ~ g))
  classes <- transform(d, y = ifelse(y == 1, "rare", as.character(g)))
  # the same steps of either: a few seconds each, of which the optimum would take twice as many
  in_steps <- function(data) held_fit(data, y ~ z, family = categorical("w"), control = galvi_control(tol = 1))
  fit <- in_steps(as_function(classes))
  expect_true(fit$convergence$converged)
  expect_same_fit(fit, in_steps(classes))
})

test_that("values of text are levels of a column that is a factor in another chunk", {
  d <- source_table(70000)
  d$g[d$g == "w" & seq_len(70000) > 40000] <- "u"
  text <- d[1:40000, ]
  known <- transform(d[40001:70000, ], g = factor(g, c("v", "u")))
  # the factor's levels keep their order
  all <- transform(d, g = factor(g, c("v", "u", "w")))
  chunks_of <- function(...) {
    at <- 0L
    function(reset = FALSE) {
      at <<- if (reset) 0L else at + 1L
      if (at > 0L && at <= ...length()) ...elt(at)
    }
  }
  expect_same_fit(held_fit(chunks_of(text, known), y ~ g), held_fit(all, y ~ g))
  expect_equal(coef(held_fit(chunks_of(known, text), y ~ g)), coef(held_fit(all, y ~ g)), tolerance = 1e-6)
  few <- list(text[1:300, ], known[1:300, ])
  fit <- held_fit(chunks_of(few[[1L]], few[[2L]]), y ~ z + (1 | g))
  expect_identical(ranef(fit), ranef(held_fit(all[c(1:300, 40001:40300), ], y ~ z + (1 | g))))
  expect_identical(nobs(fit), 600L)
  # NA that is a level stays one
  few[[2L]]$g <- addNA(replace(few[[2L]]$g, 1:20, NA))
  expect_identical(names(coef(held_fit(chunks_of(few[[2L]]), y ~ g))), c("(Intercept)", "gu", "gNA"))
  d$g <- addNA(replace(d$g, d$g == "w", NA))
  expect_same_fit(held_fit(as_function(d), y ~ g), held_fit(d, y ~ g))
})

test_that("default priors, starts and points come from the sample", {
  d <- transform(source_table(), y = 3 + 2 * z + sin(x) + rnorm(60000))
  learned <- function(data) {
    galvi(y ~ z + gp(x, inducing = 8), data, verbose = FALSE, control = galvi_control(move_inducing = FALSE))
  }
  fit <- learned(as_function(d))
  reference <- learned(d)
  expect_true(fit$convergence$converged)
  expect_equal(coef(fit)[["z"]], coef(reference)[["z"]], tolerance = 1e-3)
  expect_equal(sigma(fit), sigma(reference), tolerance = 1e-3)
  new <- data.frame(x = seq(-2, 2), z = 0)
  expect_equal(predict(fit, new), predict(reference, new), tolerance = 1e-3)
})

test_that("a bad value is named by its row in the source", {
  count <- transform(source_table(), y = rpois(60000, 2))
  bad <- transform(count, y = replace(y, 54321, -1))
  counted <- function(...) held_fit(as_function(bad), y ~ z, family = poisson(), ...)
  expect_error(counted(), "row 54,321 has -1", class = "galvi_error")
  bad <- transform(count, w = replace(w, 54321, -1))
  expect_error(counted(weights = w), "row 54,321 has -1", class = "galvi_error")
  bad <- transform(count, z = replace(z, 2, Inf))
  expect_error(counted(), "row 2 has Inf", class = "galvi_error")
})

test_that("a source that changes says so", {
  d <- source_table()
  changing <- function(change, from) {
    pass <- 0
    inner <- as_function(d)
    function(reset = FALSE) {
      if (reset) {
        pass <<- pass + 1
        inner <<- as_function(if (pass >= from) change(d) else d)
        return(inner(reset = TRUE))
      }
      inner(reset = FALSE)
    }
  }
  other_rows <- list(
    shuffled = function(d) d[rev(seq_len(nrow(d))), ], shorter = function(d) d[-1, ],
    longer = function(d) rbind(d, d[1, ])
  )
  for (change in other_rows) {
    expect_error(
      held_fit(changing(change, 5), y ~ z), "differ from those of the first pass", class = "galvi_error_data"
    )
  }
  # where blocks are kept
  expect_error(
    held_fit(changing(other_rows$shuffled, 5), y ~ s(z, k = 5, bs = "cr")), "differ from those of the first pass",
    class = "galvi_error_data"
  )
  # in the second pass, where the rows are counted
  for (change in other_rows) {
    expect_error(held_fit(changing(change, 3), y ~ z), "differ from those of the first pass", class = "galvi_error_data")
  }
  level <- function(d) transform(d, g = replace(g, 50001, "new"))
  expect_error(held_fit(changing(level, 3), y ~ g), "\"new\" .*row 50,001", class = "galvi_error_data")
  column <- function(d) d["y"]
  expect_error(held_fit(changing(column, 3), y ~ z), "no column `z`", class = "galvi_error_data")
  gone <- function(d) stop("the line is dead")
  expect_error(held_fit(changing(gone, 5), y ~ z), "the line is dead", class = "galvi_error_data")
})

test_that("a function that does not start again says so, before its rows are fitted", {
  d <- source_table(36)
  chunks <- split(d, rep(1:12, each = 3))
  at <- 0
  unwound <- function(reset) if (!reset && at < 12) chunks[[at <<- at + 1]]
  expect_error(held_fit(unwound, y ~ z), "`data(reset = TRUE)` must start again", fixed = TRUE, class = "galvi_error_data")
  pass <- 0
  noisy <- function(reset) if (reset) pass <<- pass + 1 else if (pass %% 1 == 0) {
    pass <<- pass + 0.5
    transform(d, z = z + pass)
  }
  expect_error(held_fit(noisy, y ~ z), "first pass", class = "galvi_error_data")
})

test_that("columns that are missing, empty sources and what is no source are errors about data", {
  d <- source_table(200)
  expect_error(held_fit(as_function(d), y ~ nowhere), "`nowhere`", class = "galvi_error_data")
  expect_error(held_fit(function(reset) NULL, y ~ z), "no rows", class = "galvi_error_data")
  expect_error(held_fit(as_function(d[0, ]), y ~ z), "no rows", class = "galvi_error_data")
  expect_error(held_fit(sum, y ~ z), "function base::sum()", fixed = TRUE, class = "galvi_error_data")
  expect_error(held_fit(function(x) x, y ~ z), "`reset`", class = "galvi_error_data")
  expect_error(held_fit(function(reset) 7, y ~ z), "data frame or NULL", class = "galvi_error_data")
  mixed <- list(d, transform(d, z = "text"))
  at <- 0
  chunks <- function(reset) if (reset) at <<- 0 else if (at < 2) mixed[[at <<- at + 1]]
  expect_error(held_fit(chunks, y ~ z), "`z` .* text after row 200", class = "galvi_error_data")
  mixed[[2L]] <- as.list(d)
  expect_error(held_fit(chunks, y ~ z), "`data`: .* data frames, not a vector of type list", class = "galvi_error_data")
})

test_that("models that need all rows say what to do", {
  d <- source_table()
  expect_error(held_fit(as_function(d), y ~ gp(x)), "inducing", class = "galvi_error_data")
  expect_error(held_fit(as_function(d), y ~ z + iid(g)), "data frame", class = "galvi_error_data")
  expect_error(held_fit(as_function(d), y ~ z, method = "coordinate_ascent"), class = "galvi_error")
  expect_error(held_fit(as_function(d), y ~ z, expectation = "taylor"), class = "galvi_error")
})

test_that("a fit without rows keeps no connection, and predicts chunk by chunk", {
  d <- source_table()
  reference <- held_fit(d)
  fit <- held_fit(as_function(d), control = galvi_control(chunk_rows = 20000))
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(fit, file)
  again <- readRDS(file)
  expect_equal(again$posterior, fit$posterior)
  expect_output(print(fit), "60,000 observations")
  expect_output(print(summary(fit)), "Fixed effects")
  expect_equal(confint(fit), confint(reference))
  for (question in expression(
    fitted(fit), residuals(fit), predict(fit), simulate(fit), deviance(fit), weights(fit), model.matrix(fit),
    model.frame(fit), plot(fit, "calibration")
  )) {
    expect_error(eval(question), "does not keep them", class = "galvi_error_data")
  }
  expect_equal(fitted(fit, newdata = as_function(d)), fitted(reference))
  expect_equal(residuals(again, "pearson", newdata = as_function(d)), residuals(reference, "pearson"))
  with_sd <- predict(fit, as_function(d), se.fit = TRUE)
  expect_equal(with_sd, predict(reference, se.fit = TRUE))
  expect_equal(predict(fit, as_function(d), type = "terms"), predict(fit, d, type = "terms"))
  seen <- list()
  expect_null(predict(fit, as_function(d), into = function(chunk) seen[[length(seen) + 1]] <<- chunk))
  expect_lte(max(lengths(seen)), 20000)
  expect_equal(unlist(seen), fitted(reference))
  expect_error(predict(fit, d, into = print), "`into`", class = "galvi_error_argument")
  expect_error(predict(fit, as_function(d), into = 3), "`into`", class = "galvi_error_argument")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off(), add = TRUE)
  expect_named(plot(fit), names(plot(reference)))
  expect_equal(plot(fit, "relevance")$relevance, plot(reference, "relevance")$relevance, tolerance = 0.1)
})

test_that("predictions of several classes are joined too", {
  d <- source_table(500)
  fit <- held_fit(d, g ~ z, family = categorical())
  for (type in c("prob", "class", "link", "terms")) {
    expect_equal(predict(fit, as_function(d, 99), type = type), predict(fit, d, type = type))
  }
})

test_that("the steps take a source, and a fit to start from", {
  d <- source_table()
  design <- galvi_design(y ~ z, as_function(d), binomial())
  model <- galvi_model(design, prior = list(intercept = normal(0, 3), default = normal(0, 2)), hyper = "fixed")
  posterior <- galvi_infer(model, verbose = FALSE)
  fit <- galvi_fit(model, posterior)
  expect_same_fit(fit, held_fit(d, y ~ z))
  expect_true(galvi_infer(model, start = fit, verbose = FALSE)$converged)
})

test_that("a sample has any period of the table, whatever the chunks", {
  sampled <- function(n, rows) {
    sample <- new_sample(100)
    for (from in seq(1, n, rows)) sample$add(data.frame(.galvi_row = from:min(n, from + rows - 1)))
    sample$rows()$.galvi_row
  }
  for (n in c(99, 100, 101, 1000, 12345)) {
    at <- sampled(n, 7)
    expect_identical(at, sampled(n, 1000))
    expect_lte(length(at), 100)
    if (n <= 100) expect_length(at, n) else expect_gte(length(at), 45)
    for (period in 2:5) expect_gt(min(tabulate(at %% period + 1, period)), 0.7 * length(at) / period)
  }
})

test_that("a variable that is computed from all rows at once is refused where chunks are read", {
  d <- data.frame(x = seq(-3, 3, length.out = 52000), y = rep(c(0, 1, 1, 3), 13000))
  expect_error(galvi(y ~ I(x - mean(x)), row_source(as_function(d))),
    "`I(x - mean(x))` is computed from all rows at once, but only some", fixed = TRUE, class = "galvi_error_formula")
})

test_that("the rows of a smooth are computed once for a chunk, not in every pass", {
  computed <- passes <- 0
  counted <- function(x) {
    computed <<- computed + 1
    x
  }
  d <- source_table()
  inner <- as_function(d, 30000)
  rows <- function(reset = FALSE) {
    passes <<- passes + reset
    inner(reset)
  }
  fit <- galvi(y ~ s(counted(x), k = 5, bs = "cr"), rows, binomial(), verbose = FALSE)
  # of the sample, in the pass that counts and in the first of inference; some variables are computed twice
  expect_lt(computed, 12)
  expect_gt(passes, 12)
  # with room and without
  design <- fit$design
  stream <- list(source = row_source(rows), columns = c("x", "y"), na.action = na.omit)
  chunk <- read_rows(stream$source, stream$columns, 30000)$read()
  blocks <- lapply(c(2^28, 0), function(most) {
    block_of <- kept_blocks(most)
    computed <<- 0
    blocks <- list(block_of(chunk, stream, design), block_of(chunk, stream, design))
    list(blocks = blocks, computed = computed)
  })
  expect_identical(blocks[[2L]]$computed, 2 * blocks[[1L]]$computed)
  expect_identical(blocks[[1L]]$blocks, blocks[[2L]]$blocks)
  # a chunk that has changed
  block_of <- kept_blocks()
  block_of(chunk, stream, design)
  chunk$x[7] <- 0
  expect_identical(block_of(chunk, stream, design), checked_block(chunk, stream, design))
})

test_that("coefficients of poly() are in the units that they have over all rows", {
  d <- source_table()
  # flat priors and many rows: the sample's moments differ from those of all rows by less than a hundredth
  flat <- list(default = normal(0, Inf), intercept = normal(0, Inf))
  formulas <- list(y ~ poly(x, 2), y ~ poly(x, z, degree = 2), y ~ poly(x, 2, raw = TRUE))
  for (formula in formulas) {
    fit <- galvi(formula, as_function(d), binomial(), prior = flat, subset = w == 1, verbose = FALSE)
    reference <- glm(formula, binomial(), d, subset = w == 1)
    expect_identical(names(coef(fit)), names(coef(reference)))
    expect_lt(max(abs(coef(fit) - coef(reference)) / sqrt(diag(vcov(reference)))), 0.5)
    sd <- sqrt(diag(vcov(fit)) / diag(vcov(reference)))
    expect_lt(max(abs(sd - 1)), 0.02)
    at <- d[1:50, ]
    expect_lt(max(abs(predict(fit, at, type = "link") - predict(reference, at))), 1e-3)
  }
})

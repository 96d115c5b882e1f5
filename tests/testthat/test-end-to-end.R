# Whole fits through the front door, against other people's results.

test_that("a gaussian gp() is the textbook's", {
  set.seed(1)
  d <- data.frame(x = runif(40, 0, 10))
  d$y <- sin(d$x) + rnorm(40, sd = 0.2)
  new <- data.frame(x = seq(-1, 11, length.out = 25))
  fit <- galvi(y ~ 0 + gp(x, kernel = se(variance = 1.3, lengthscale = 1.7)), d,
               family = galvi_family("gaussian", variance = 0.05), hyper = "fixed")
  S <- reference_se(d$x, lengthscale = 1.7, variance = 1.3) + diag(0.05, 40)
  cross <- reference_se(new$x, d$x, 1.7, 1.3)
  expect_close(fit$elbo, log_dmvnorm(rbind(d$y), numeric(40), S), 1e-8)
  p <- predict(fit, new, type = "link", se.fit = TRUE)
  expect_close(p$fit, cross %*% solve(S, d$y), 1e-7)
  expect_close(p$se.fit^2, 1.3 - rowSums(cross * t(solve(S, t(cross)))), 1e-7)
})

test_that("linear models with wide priors are lm's and glm's", {
  set.seed(2)
  n <- 300
  d <- data.frame(x1 = rnorm(n), x2 = runif(n), g = factor(sample(letters[1:3], n, TRUE)))
  eta <- 0.3 + 0.8 * d$x1 - d$x2 + 0.5 * (d$g == "b")
  d$count <- rpois(n, exp(eta))
  d$class <- rbinom(n, 1, plogis(eta))
  d$value <- rnorm(n, eta, 0.7)
  d$n <- sample(1:6, n, TRUE)
  d$yes <- rbinom(n, d$n, pnorm(eta))
  check <- function(fit, reference, shift) {
    se <- sqrt(diag(vcov(reference)))
    expect_lt(max(abs(coef(fit) - coef(reference)) / se), shift)
    expect_lt(max(abs(sqrt(diag(vcov(fit))) / se - 1)), 0.05)
    expect_identical(names(coef(fit)), names(coef(reference)))
  }
  wide <- normal(0, 1e3)
  linear <- lm(value ~ x1 + x2 + g, d)
  check(galvi(value ~ x1 + x2 + g, d, prior = wide), linear, 0.02)
  # the posterior mean is not its mode: they differ by O(1 / n) standard errors squared
  check(galvi(count ~ x1 + x2 + g, d, family = poisson(), prior = wide),
        glm(count ~ x1 + x2 + g, poisson, d), 0.15)
  check(galvi(class ~ x1 + x2 + g, d, family = binomial(), prior = wide),
        glm(class ~ x1 + x2 + g, binomial, d), 0.2)
  check(galvi(cbind(yes, n - yes) ~ x1 + x2 + g, d, family = binomial("probit"), prior = wide),
        glm(cbind(yes, n - yes) ~ x1 + x2 + g, binomial("probit"), d), 0.15)
})

class_data <- function(n = 50) {
  set.seed(3)
  d <- data.frame(x1 = rnorm(n), x2 = rnorm(n))
  d$y <- rbinom(n, 1, plogis(2 * sin(2 * d$x1) + d$x2))
  d
}

test_that("the order of rows does not matter", {
  d <- class_data()
  new <- data.frame(x1 = c(-1, 0, 1), x2 = c(0, 0.5, -1))
  order <- sample(nrow(d))
  for (formula in list(y ~ gp(x1, x2), y ~ x1 + gp(x2), y ~ x1 + x2)) {
    one <- galvi(formula, d, family = binomial())
    two <- galvi(formula, d[order, ], family = binomial())
    expect_close(two$elbo, one$elbo, 1e-6)
    expect_close(predict(two, new), predict(one, new), 1e-3)
    expect_close(fitted(two), fitted(one)[order], 1e-3)
  }
})

test_that("rescaled inputs rescale lengthscales and change nothing else", {
  d <- class_data()
  scaled <- transform(d, x1 = 1e3 * x1, x2 = x2 / 50 + 7)
  held <- function(d, l) {
    galvi(y ~ 0 + gp(x1, x2, kernel = matern52(2, l, ard = TRUE)), d, family = binomial(),
          hyper = "fixed", control = galvi_control(tol = 1e-10))
  }
  one <- held(d, c(0.7, 1.5))
  two <- held(scaled, c(700, 0.03))
  expect_close(two$elbo, one$elbo, 1e-8)
  expect_close(two$posterior$mean, one$posterior$mean, 1e-5)

  one <- galvi(y ~ gp(x1), d, family = binomial())
  two <- galvi(y ~ gp(x1), scaled, family = binomial())
  expect_close(two$elbo, one$elbo, 1e-6)
  lengthscale <- function(fit) fit$hyper$estimate[fit$hyper$parameter == "lengthscale"]
  expect_close(lengthscale(two) / lengthscale(one), 1e3, 1e-2)
})

test_that("a weight of two is two rows, and a row of weight zero is none", {
  d <- class_data()
  d$w <- rep(c(1, 2, 0, 1, 1), 10)
  doubled <- d[rep(seq_len(nrow(d)), d$w), ]
  new <- data.frame(x1 = c(-1, 0, 1), x2 = 0)
  # nothing that defaults could take from the rows
  for (formula in list(y ~ gp(x1, x2, kernel = se(2, 1)), y ~ x1 + x2)) {
    run <- function(...) {
      galvi(formula, family = binomial(), hyper = "fixed", prior = normal(0, 2),
            control = galvi_control(tol = 1e-10), ...)
    }
    weighted <- run(data = d, weights = d$w)
    plain <- run(data = doubled)
    expect_close(plain$elbo, weighted$elbo, 1e-7)
    expect_close(predict(plain, new, type = "link"), predict(weighted, new, type = "link"), 1e-4)
  }
})

test_that("a saved fit predicts as before", {
  d <- class_data()
  new <- data.frame(x1 = c(-1, 0, 1), x2 = c(0, 0.5, -1))
  for (keep in c(FALSE, TRUE)) {
    for (formula in list(y ~ gp(x1, x2), y ~ x1 + gp(x2), y ~ x1 + x2)) {
      fit <- galvi(formula, d, family = binomial(), control = galvi_control(keep_factor = keep))
      file <- local_file(ext = ".rds")
      saveRDS(fit, file)
      again <- readRDS(file)
      expect_identical(
        predict(again, new, type = "link", se.fit = TRUE), predict(fit, new, type = "link", se.fit = TRUE)
      )
      expect_identical(logLik(again), logLik(fit))
      expect_close(predict(fit, d), fitted(fit), 1e-8)
    }
  }
})

test_that("a kept factor changes no prediction", {
  d <- class_data()
  new <- data.frame(x1 = c(-1, 0, 1), x2 = c(0, 0.5, -1))
  fits <- lapply(c(FALSE, TRUE), function(keep) {
    galvi(y ~ x1 + gp(x2), d, family = binomial(), control = galvi_control(keep_factor = keep))
  })
  p <- lapply(fits, predict, newdata = new, type = "link", se.fit = TRUE)
  expect_close(p[[2]]$fit, p[[1]]$fit, 1e-12)
  expect_close(p[[2]]$se.fit, p[[1]]$se.fit, 1e-9)
})

test_that("a fit without random starts leaves the generator alone", {
  d <- class_data()
  set.seed(5)
  before <- .Random.seed
  fit <- galvi(y ~ x1 + gp(x2), d, family = binomial())
  predict(fit, d, type = "link", se.fit = TRUE)
  expect_identical(.Random.seed, before)
})

test_that("an interrupt ends a long fit and R goes on", {
  skip_if_not_installed("processx")
  skip_on_os("windows")
  script <- local_file(ext = ".R")
  paths <- deparse1(.libPaths())
  writeLines(c(
    sprintf(".libPaths(%s)", paths),
    "library(galvi)",
    "set.seed(1)",
    "d <- data.frame(matrix(rnorm(1500 * 4), 1500))",
    "d$y <- rbinom(1500, 1, plogis(2 * sin(2 * d$X1)))",
    "cat('ready\\n')",
    "out <- tryCatch(",
    "  galvi(y ~ gp(X1, X2, X3, X4), d, family = binomial(), verbose = FALSE,",
    "        control = galvi_control(tol = 1e-13, hyper_tol = 1e-14, starts = 50, threads = 1)),",
    "  interrupt = function(e) 'stopped'",
    ")",
    "fit <- galvi(dist ~ speed, cars, verbose = FALSE)",
    "cat(if (identical(out, 'stopped')) 'stopped and well' else 'not stopped', '\\n')"
  ), script)
  child <- processx::process$new(file.path(R.home("bin"), "Rscript"), c("--vanilla", script),
                                 stdout = "|", stderr = "|")
  on.exit(child$kill(), add = TRUE)
  output <- character()
  deadline <- Sys.time() + 30
  while (!any(grepl("ready", output)) && child$is_alive() && Sys.time() < deadline) {
    child$poll_io(200)
    output <- c(output, child$read_output_lines())
  }
  expect_true(any(grepl("ready", output)))
  Sys.sleep(1.5)
  expect_true(child$is_alive())
  child$interrupt()
  child$wait(20000)
  expect_match(paste(child$read_all_output_lines(), collapse = " "), "stopped and well")
})

test_that("the size of row chunks changes nothing beyond rounding", {
  set.seed(8)
  d <- data.frame(x = rnorm(300), z = rnorm(300))
  d$y <- rbinom(300, 1, plogis(d$x - 0.5))
  fit <- function(rows) galvi(y ~ x + z, d, family = binomial(), control = galvi_control(chunk_rows = rows))
  expect_equal(fit(7)$elbo, fit("auto")$elbo, tolerance = 1e-12)
  expect_equal(coef(fit(7)), coef(fit("auto")), tolerance = 1e-9)
})

test_that("an offset on an identity link is the same as a response without it", {
  d <- data.frame(x = seq(-1, 1, length.out = 40), o = 1000 + 50 * sin(1:40), g = rep(1:8, 5))
  d$y <- d$x + 0.3 * cos(3 * (1:40)) + rep(c(-0.5, 0.5), 4)[d$g]
  one <- galvi(y ~ x + iid(g), d, control = galvi_control(threads = 1))
  other <- galvi(I(y + o) ~ x + iid(g) + offset(o), d, control = galvi_control(threads = 1))
  expect_equal(other$elbo, one$elbo, tolerance = 1e-6)
  expect_equal(other$hyper$estimate, one$hyper$estimate, tolerance = 1e-4)
})

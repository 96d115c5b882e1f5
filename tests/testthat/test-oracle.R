# Optima that independent code found (fixtures/README.md), through the front door.

oracle_file <- function(name) read.csv(test_path("fixtures", name))

oracle_case <- function(id) {
  job <- subset(oracle_file("jobs.csv"), job == id)
  coded <- function(data) {
    if (job$lik %in% c("logistic", "erf")) data$y <- as.numeric(data$y > 0)
    data
  }
  list(
    id = id, gold = subset(oracle_file("gold.csv"), job == id),
    posterior = subset(oracle_file("posteriors.csv.gz"), job == id),
    train = coded(oracle_file(paste0(job$dataset, ".csv.gz"))),
    new = coded(oracle_file(paste0(job$dataset, "_new.csv"))),
    inducing = if (job$M > 0) oracle_file(paste0(job$dataset, "_points.csv")),
    jitter = if (job$M > 0) 1e-6 else 0,
    lengthscale = exp(job$log_s / 2), variance = exp(2 * job$log_sigma),
    family = switch(job$lik, logistic = binomial(), erf = binomial("probit"), poisson = poisson(),
      # h1 = log(df - 1), h2 = log(scale)
      t = student(df = fixed(1 + exp(job$h1)), scale = fixed(exp(job$h2))))
  )
}

oracle_fit <- function(case, lengthscale = case$lengthscale, variance = case$variance, tol = 1e-9, ...) {
  control <- galvi_control(tol = tol, inducing_jitter = case$jitter)
  inducing <- case$inducing
  kernel <- se(lengthscale = fixed(lengthscale), variance = fixed(variance))
  galvi(y ~ 0 + gp(., kernel = kernel, inducing = inducing),
        data = case$train, family = case$family, hyper = "fixed", control = control, ...)
}

gold_values <- function(case, prefix) unlist(case$gold[paste0(prefix, 1:5)], use.names = FALSE)

for (id in oracle_file("jobs.csv")$job) {
  test_that(paste0("the optimum of job ", id, " is met"), {
    case <- oracle_case(id)
    fit <- oracle_fit(case)
    gold <- case$gold
    expect_true(fit$convergence$converged)
    # Promised to `tol` nats; the certificate must not be below the true gap beyond rounding.
    expect_lt(abs(fit$elbo - gold$elbo), tol$elbo)
    if (case$id == 90) expect_true(is.na(fit$convergence$gap)) else {
      expect_gte(fit$convergence$gap, gold$elbo - fit$elbo - 1e-9)
    }

    close <- posterior_tolerance(tol$elbo, case$variance, case$posterior$v)
    expect_close((drop(fit$posterior$mean) - case$posterior$m) / close$mean, 0, tolerance = 1)
    expect_close((drop(fit$posterior$variance) - case$posterior$v) / close$variance, 0, tolerance = 1)

    new <- predict(fit, case$new, type = "link", se.fit = TRUE)
    close <- posterior_tolerance(tol$elbo, case$variance, gold_values(case, "fs2_new"))
    expect_close((new$fit - gold_values(case, "fmu_new")) / close$mean, 0, tolerance = 1)
    expect_close((new$se.fit^2 - gold_values(case, "fs2_new")) / close$variance, 0, tolerance = 1)
    # The log density moves at most as fast as the mean here: |d lp / d m| < 1 at these points.
    expect_close(predict(fit, case$new, type = "density"), gold_values(case, "lp_new"),
                 tolerance = max(close$mean, close$variance))
  })
}

test_that("sparse bounds without jitter are the oracle's", {
  optima <- c("109" = -247.309672, "113" = -296.036071)
  for (id in names(optima)) {
    case <- oracle_case(as.integer(id))
    case$jitter <- 0
    # they are printed to six digits
    expect_lt(abs(oracle_fit(case)$elbo - optima[[id]]), 1e-6)
  }
})

test_that("the bound's slopes in the kernel's parameters are those of the oracle", {
  for (id in c(20, 59)) {
    case <- oracle_case(id)
    bound <- function(theta) {
      oracle_fit(case, lengthscale = exp(theta[1] / 2), variance = exp(2 * theta[2]), tol = 1e-11)$elbo
    }
    at <- c(2 * log(case$lengthscale), log(case$variance) / 2)
    h <- 1e-3
    # Central differences of order four: error ~ h^4, and 1e-10 / h from the optimum.
    slope <- vapply(1:2, function(j) {
      step <- h * (1:2 == j)
      (8 * (bound(at + step) - bound(at - step)) - (bound(at + 2 * step) - bound(at - 2 * step))) / (12 * h)
    }, 0)
    expect_close(slope, c(case$gold$d_log_s, case$gold$d_log_sigma), tolerance = tol$gradient)
  }
})

test_that("so are the student's, in df and scale too, by every method", {
  case <- oracle_case(90)
  model <- oracle_fit(case)$model
  for (method in applicable_methods(model)) {
    expect_lt(abs(fit_at(model, method)$elbo - case$gold$elbo), tol$elbo, label = method)
  }
  gradient <- bound_at(model, model$hyper$value)$gradient
  names(gradient) <- model$hyper$name
  variance <- model$hyper$value[match("gp(x1).variance", model$hyper$name)]
  lengthscale <- model$hyper$value[match("gp(x1).lengthscale", model$hyper$name)]
  # s = lengthscale^2, sigma^2 = variance
  expect_close(gradient[["gp(x1).lengthscale"]] * lengthscale / 2, case$gold$d_log_s, tol$gradient)
  expect_close(gradient[["gp(x1).variance"]] * variance * 2, case$gold$d_log_sigma, tol$gradient)
  expect_close(gradient[["student.df"]] * 2, case$gold$d_lik1, tol$gradient)
  expect_close(gradient[["student.scale"]] * sqrt(1 / 3), case$gold$d_lik2, tol$gradient)
})

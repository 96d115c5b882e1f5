# Rows that are read block by block, or that workers hold: the same numbers, to the last bit, as in memory.

skip_on_cran()

source_case <- function(n = 6000, formula = y ~ x + gp(x, z, inducing = points), family = binomial()) {
  set.seed(11)
  d <- data.frame(x = runif(n, -3, 3), z = runif(n, -3, 3))
  d$y <- rbinom(n, 1, plogis(2 * sin(1.5 * d$x) + d$z))
  d$class <- factor(sample(c("a", "b", "c"), n, TRUE))
  points <- as.matrix(expand.grid(x = seq(-3, 3, length.out = 5), z = seq(-3, 3, length.out = 4)))
  environment(formula) <- environment()
  control <- galvi_control(tol = 1e-4)
  model <- galvi_model(galvi_design(formula, d, family), control = control)
  list(model = core_model(model, "fixed_point"), control = unclass(control), n = n)
}

block_of <- function(model, at) model_of_rows(model, at)[c("y", "size", "weights", "offset", "designs")]

# The model without rows, which are read by as many parts at a time.
read_model <- function(case, parts = 3) {
  out <- model_of_rows(case$model, integer())
  out$source <- list(rows = case$n, open = function(bounds) {
    part <- 1
    last <- length(bounds)
    function() {
      if (part >= last) return(NULL)
      to <- min(last, part + parts)
      block <- block_of(case$model, seq.int(bounds[part] + 1, bounds[to]))
      part <<- to
      block
    }
  })
  out
}

# The model whose rows are with workers, of which each has these parts.
worker_model <- function(case, shares) {
  out <- model_of_rows(case$model, integer())
  bounds <- partition_bounds(case$model, case$n)
  cuts <- round(cumsum(c(0, shares)) / sum(shares) * (length(bounds) - 1))
  workers <- lapply(seq_along(shares), function(j) {
    rows <- seq.int(bounds[cuts[j] + 1] + 1, bounds[cuts[j + 1] + 1])
    new_worker(out, block_of(case$model, rows), case$n, cuts[j], 1L)
  })
  out$source <- list(rows = case$n, ask = function(question) {
    do.call(c, lapply(workers, ask_worker, question))
  })
  out
}

# With the q of the bound: rows in memory know more of how classes are coupled (src/fit/couple.h).
run_model <- function(model, method, hyper, control) {
  out <- fit_model(model, method, hyper, control)
  if (!is.null(out$factorised)) out$latent <- out$factorised
  out[c("elbo", "latent", "hyper", "gap", "converged")]
}

test_that("blocks that are read give what rows in memory give, to the last bit", {
  case <- source_case()
  for (method in c(methods_by_sums(), "incremental")) {
    memory <- run_model(case$model, method, "fixed", case$control)
    expect_true(memory$converged)
    for (parts in c(1, 7)) {
      expect_identical(run_model(read_model(case, parts), method, "fixed", case$control), memory)
    }
  }
})

test_that("workers give what rows in memory give, to the last bit", {
  case <- source_case()
  for (method in methods_by_sums()) {
    memory <- run_model(case$model, method, "fixed", case$control)
    for (shares in list(1, c(1, 1), c(1, 3, 2))) {
      expect_identical(run_model(worker_model(case, shares), method, "fixed", case$control), memory)
    }
  }
  expect_error(run_model(worker_model(case, 1), "incremental", "fixed", case$control), "workers")
})

test_that("learning passes through sources, and classes too", {
  case <- source_case()
  read <- run_model(read_model(case), "fixed_point", "optimise", case$control)
  held <- run_model(case$model, "fixed_point", "fixed", case$control)
  expect_gt(read$elbo, held$elbo + 1)
  expect_identical(run_model(worker_model(case, c(2, 3)), "fixed_point", "optimise", case$control), read)
  # inferences of rows in memory start from sites, which follow the kernel
  memory <- run_model(case$model, "fixed_point", "optimise", case$control)
  expect_equal(read$elbo, memory$elbo, tolerance = 1e-4)
  classes <- source_case(1500, class ~ x + z, categorical())
  memory <- run_model(classes$model, "fixed_point", "fixed", classes$control)
  expect_identical(run_model(read_model(classes), "fixed_point", "fixed", classes$control), memory)
  expect_identical(run_model(worker_model(classes, c(1, 1)), "fixed_point", "fixed", classes$control), memory)
})

test_that("a source that changes, or a method that needs all rows, stops with the reason", {
  case <- source_case(3000)
  short <- read_model(case)
  open <- short$source$open
  short$source$open <- function(bounds) {
    following <- open(bounds)
    blocks <- 0
    function() if ((blocks <<- blocks + 1) < 3) following()
  }
  expect_error(run_model(short, "fixed_point", "fixed", case$control), "fewer rows")
  torn <- read_model(case)
  torn$source$open <- function(bounds) {
    given <- FALSE
    function() if (!given) { given <<- TRUE; block_of(case$model, 1:7) }
  }
  expect_error(run_model(torn, "fixed_point", "fixed", case$control), "does not end where a part does")
  expect_error(run_model(read_model(case), "coordinate_ascent", "fixed", case$control), "all rows in memory")
})

test_that("every step rule of minibatches ends at the optimum", {
  case <- source_case(3000)
  optimum <- run_model(case$model, "fixed_point", "fixed", case$control)$elbo
  for (rule in c("natural", "adadelta", "adam", "sag", "svrg")) {
    set.seed(1)
    control <- utils::modifyList(case$control, list(step_rule = rule, passes = 3, batch_rows = 100))
    fit <- run_model(case$model, "stochastic", "fixed", control)
    expect_true(fit$converged, label = rule)
    expect_equal(fit$elbo, optimum, tolerance = 1e-7, label = rule)
  }
  set.seed(1)
  control <- utils::modifyList(case$control, list(passes = 3, batch_rows = 100))
  fit <- run_model(read_model(case), "stochastic", "fixed", control)
  expect_equal(fit$elbo, optimum, tolerance = 1e-7)
})

test_that("minibatches come near to the hyperparameters that full passes learn", {
  case <- source_case(3000)
  learned <- run_model(case$model, "fixed_point", "optimise", case$control)
  held <- run_model(case$model, "fixed_point", "fixed", case$control)
  set.seed(1)
  control <- utils::modifyList(case$control, list(passes = 40, batch_rows = 100))
  fit <- run_model(case$model, "stochastic", "optimise", control)
  expect_gt(fit$elbo, learned$elbo - 0.2 * (learned$elbo - held$elbo))
})

test_that("a source with two linear predictors has the coefficients, intervals and predictions of its data frame", {
  n <- 51000
  d <- data.frame(x = sin(seq_len(n)), z = cos(7 * seq_len(n)))
  set.seed(1)
  d$y <- 1 + d$x + exp(0.3 * d$z) * rnorm(n)
  chunks <- split(d, rep(1:3, each = 17000))
  at <- 0
  rows <- function(reset) if (reset) at <<- 0 else if (at < 3) chunks[[at <<- at + 1]]
  fit <- galvi(list(y ~ x, sigma ~ z), rows)
  memory <- galvi(list(y ~ x, sigma ~ z), d)
  # both stop within tol = 1e-7 nats of the optimum: 5e-4 posterior sds
  in_sds <- function(a, b) max(abs(a - b) / sqrt(diag(vcov(memory))))
  expect_lt(in_sds(coef(fit), coef(memory)), 2e-3)
  expect_equal(vcov(fit), vcov(memory), tolerance = 1e-3)
  expect_equal(confint(fit), confint(memory), tolerance = 1e-3)
  new <- d[1:5, ]
  expect_equal(predict(fit, new, dpar = "sigma"), predict(memory, new, dpar = "sigma"), tolerance = 1e-3)
  expect_output(print(fit), "sigma_z")
  expect_output(print(summary(fit)), "sigma_z")
})

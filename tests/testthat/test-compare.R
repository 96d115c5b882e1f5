# Methods side by side.

compared_data <- function() {
  set.seed(9)
  d <- data.frame(x = runif(40, -2, 2), z = rnorm(40))
  d$y <- rbinom(40, 1, plogis(2 * d$x))
  d$w <- rep(1:2, 20)
  d
}

test_that("every method is there, fitted or with its reason", {
  found <- galvi_compare(y ~ gp(x), compared_data(), binomial())
  expect_s3_class(found, "galvi_compare")
  expect_setequal(c(found$ends$method, found$refused$method), inference_facts()$name)
  expect_true("exact" %in% found$refused$method)
  reasons <- inference_refusals(found$fits[[1L]]$model)
  expect_identical(found$refused$reason, unname(reasons[found$refused$method]))
  expect_identical(names(found$fits), found$ends$method)
  expect_named(found$trace, c("method", "iteration", "seconds", "flops", "elbo", "gap"))

  bounds <- found$ends[found$ends$kind == "bound", ]
  expect_identical(found$best, max(bounds$elbo))
  expect_true(all(bounds$below >= 0))
  expect_true(all(bounds$below[bounds$converged] < 1e-6))
  # one optimum, and its certificate
  expect_true(all(bounds$below <= bounds$gap + 1e-8))
  for (method in found$ends$method) {
    fit <- galvi(y ~ gp(x), compared_data(), binomial(), method = method, hyper = "fixed")
    end <- found$ends[found$ends$method == method, ]
    expect_identical(c(end$elbo, end$flops), c(fit$elbo, fit$cost$flops), label = method)
    expect_identical(end$factorisations, fit$cost$factorisations)
    expect_identical(found$trace$elbo[found$trace$method == method], fit$trace$elbo)
  }
})

test_that("values that are no bounds are never the best", {
  others <- intersect(c("ep", "laplace"), inference_facts()$name)
  skip_if(!length(others))
  found <- galvi_compare(y ~ gp(x), compared_data(), binomial(), c("newton", others))
  skip_if(all(others %in% found$refused$method))
  approximate <- found$ends$kind == "approximation"
  expect_identical(found$ends$method[approximate], setdiff(others, found$refused$method))
  expect_true(all(is.na(found$ends$below[approximate])))
  expect_identical(found$best_method, "newton")
  expect_false(any(others %in% plot_away(found)$method))
})

test_that("steps to a distance are those of the trace", {
  found <- galvi_compare(y ~ gp(x), compared_data(), binomial(), c("newton", "natural_gradient"))
  reached <- summary(found, within = c(0.1, 1e-6))$reached
  for (method in reached$method) {
    trace <- found$trace[found$trace$method == method, ]
    first <- trace[which(trace$elbo >= found$best - 0.1)[1L], ]
    row <- reached[reached$method == method, ]
    expect_identical(c(row$iterations_0.1, row$flops_0.1, row$seconds_0.1),
                     c(as.numeric(first$iteration), first$flops, first$seconds))
    expect_gte(row$`flops_1e-06`, row$flops_0.1)
  }
  expect_error(summary(found, within = -1), class = "galvi_error_argument")
})

test_that("arguments go on to galvi(), expressions too, and the data are looked at once", {
  d <- compared_data()
  looks <- 0
  look <- function() {
    looks <<- looks + 1
    d
  }
  found <- galvi_compare(y ~ x, look(), binomial(), c("newton", "fixed_point"), weights = w, offset = z / 2,
    subset = x > -1, expectation = "jaakkola", prior = normal(0, 2))
  expect_identical(looks, 1)
  fit <- galvi(y ~ x, d, binomial(), method = "newton", hyper = "fixed", weights = w, offset = z / 2,
    subset = x > -1, expectation = "jaakkola", prior = normal(0, 2))
  expect_identical(found$fits$newton$elbo, fit$elbo)
  expect_identical(found$expectation, "jaakkola")
  expect_identical(found$fits$newton$call$data, quote(look()))
  # and from other functions
  inner <- function(...) galvi_compare(y ~ x, d, binomial(), "newton", prior = normal(0, 2), ...)
  expect_identical(inner(weights = w)$fits$newton$model$weights, as.numeric(d$w))
})

test_that("held-out measures are those of predict(), along the path those of fits that stop there", {
  d <- compared_data()
  found <- galvi_compare(y ~ gp(x), d[1:25, ], binomial(), c("newton", "natural_gradient"),
    newdata = d[26:40, ])
  fit <- found$fits$newton
  density <- mean(predict(fit, d[26:40, ], type = "density"))
  error <- mean(predict(fit, d[26:40, ], type = "class") != d$y[26:40])
  expect_close(found$ends$density, density, 1e-5)
  expect_close(found$ends$error, error)
  measured <- found$trace[found$trace$method == "natural_gradient" & !is.na(found$trace$density), ]
  expect_gt(nrow(measured), 3L)
  expect_equal(measured[nrow(measured), "density"], found$ends$density[2L])
  at <- measured[2L, ]
  short <- suppressWarnings(galvi(y ~ gp(x), d[1:25, ], binomial(), method = "natural_gradient",
    hyper = "fixed", control = galvi_control(max_iterations = at$iteration)))
  expect_equal(short$elbo, at$elbo)
  expect_equal(mean(predict(short, d[26:40, ], type = "density")), at$density)

  numbers <- galvi_compare(dist ~ gp(speed), cars[1:30, ], student(), "fixed_point", newdata = cars[31:50, ],
    path = 0)
  new <- cars[31:50, ]
  expect_close(numbers$ends$error, sqrt(mean((new$dist - predict(numbers$fits[[1L]], new))^2)))
  expect_identical(sum(!is.na(numbers$trace$density)), 1L)
  setosa <- iris[1:9, ]
  classes <- galvi_compare(Species ~ Petal.Length, iris[-(1:9), ], categorical(), "fixed_point",
    newdata = setosa)
  expect_close(classes$ends$density, mean(predict(classes$fits[[1L]], setosa, type = "density")))
  expect_identical(classes$ends$error, 0)
})

test_that("what cannot run is an error only where nothing can", {
  d <- compared_data()
  expect_error(galvi_compare(y ~ gp(x), d, binomial(), "exact"), "\"exact\" cannot fit this model",
               class = "galvi_error_method")
  found <- galvi_compare(y ~ gp(x), d, binomial(), c("exact", "newton"))
  expect_identical(found$refused$method, "exact")
  expect_error(galvi_compare(y ~ gp(x), d, binomial(), "newtn"), "Did you mean \"newton\"",
               class = "galvi_error_method")
  expect_error(galvi_compare(y ~ gp(x), d, binomial(), 3), class = "galvi_error_method")
  expect_error(galvi_compare(y ~ gp(x), d, binomial(), wieghts = w), "`weights`",
               class = "galvi_error_argument")
  expect_error(galvi_compare(3), class = "galvi_error_formula")
  expect_error(galvi_compare(y ~ gp(x), d, binomial(), "newton", "fixed", NULL, 2, 3), "1 unnamed argument",
               class = "galvi_error_argument")
  expect_error(galvi_compare(y ~ gp(q), d, binomial()), class = "galvi_error_data")
})

test_that("fits that have not converged are marked and do not warn", {
  methods <- c("newton", "natural_gradient")
  expect_silent(found <- galvi_compare(y ~ gp(x), compared_data(), binomial(), methods,
    control = list(max_iterations = 2)))
  expect_false(found$ends$converged[2L])
  expect_output(print(found), "natural_gradient\\*.*has not converged")
  expect_output(print(summary(found)), "natural_gradient\\* +-")
})

test_that("auto is named, learned hyperparameters are welcome", {
  found <- galvi_compare(y ~ gp(x), compared_data(), binomial(), c("auto", "fixed_point"), hyper = "optimise",
    newdata = compared_data()[1:5, ])
  expect_output(print(found), "auto is newton here")
  expect_identical(found$fits$auto$hyper$status[2L], "learned")
  expect_lt(max(found$ends$below), 1e-4)
})

test_that("print and summary name what they show", {
  found <- galvi_compare(y ~ gp(x), compared_data(), binomial(), c("newton", "exact"))
  expect_output(print(found), "40 observations.*newton +-[0-9.]+ +0.*Best bound.*Flops are counted.*exact:")
  expect_output(print(summary(found)), "To within 0.001 nats.*To within 1e-06 nats.*factorisations")
})

test_that("plots draw what they return", {
  d <- compared_data()
  methods <- c("newton", "fixed_point", "natural_gradient")
  found <- galvi_compare(y ~ gp(x), d, binomial(), methods, newdata = d[1:10, ])
  data <- plot_away(found)
  expect_setequal(data$measure, c("bound", "density", "error"))
  bound <- data[data$measure == "bound", ]
  expect_identical(nrow(bound), nrow(found$trace))
  expect_true(all(bound$value >= 1e-10))
  newton <- found$trace[found$trace$method == "newton", ]
  expect_close(bound$value[bound$method == "newton"], pmax(found$best - newton$elbo, 1e-10))
  expect_setequal(plot_away(found, "density", "flops")$measure, "density")
  short <- galvi_compare(y ~ gp(x), d, binomial(), c("newton", "natural_gradient"),
    control = galvi_control(max_iterations = 1))
  expect_true(all(is.finite(plot_away(short)$value)))
  one <- galvi_compare(dist ~ gp(speed), cars, methods = "exact")
  expect_identical(nrow(plot_away(one, main = "One method")), 1L)
  expect_error(plot(one, "density"), "newdata", class = "galvi_error_argument")
  expect_error(plot(one, "bounds"), class = "galvi_error_argument")
  expect_error(plot(one, against = "time"), class = "galvi_error_argument")
  expect_error(plot(one, color = 2), class = "galvi_error_argument")
})

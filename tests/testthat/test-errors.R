# The messages of errors, by snapshot: each names the argument, what was found and what is accepted.

d <- function() {
  data.frame(
    y = c(1.5, 2, 4, 3, 5, 6), n = c(0, 1, 3, 2, 5, 4), b = c(0, 1, 1, 0, 1, 0), x = c(1, 2, 3, 5, 4, 6),
    g = factor(c("u", "v", "u", "v", "u", "v")), h = factor(c("p", "q", "r", "p", "q", "r"))
  )
}

test_that("calls that galvi() cannot read", {
  expect_error_snapshot({
    galvi()
    galvi(3)
    galvi(y ~ gp(x), d(), famly = gaussian())
    galvi(y ~ gp(x), d(), gaussian(), "auto", "auto", "fixed", NULL, NULL, NULL, NULL, NULL, NULL, NULL, F, "no", 3)
    galvi(d()["x"], d()$y, kernal = se())
    galvi(d()["x"])
    galvi(d()["x"], 1:3)
    galvi(matrix("a", 2, 1), 1:2)
    galvi(d(), y ~ gp(x), kernel = se())
    galvi(formula = "y ~ gp(x)", data = d())
    galvi(y ~ gp(x), data = 3)
  })
})

test_that("misspelt choices", {
  expect_error_snapshot({
    galvi(y ~ gp(x), d(), method = "newtn")
    galvi(y ~ gp(x), d(), method = "stochastic")
    galvi(y ~ gp(x), d(), method = 1)
    galvi(y ~ gp(x), d(), expectation = "quadratur")
    galvi(y ~ gp(x), d(), expectation = "jaakkola")
    galvi(y ~ gp(x), d(), student(), expectation = "bouchard")
    galvi(y ~ gp(x), d(), hyper = "optimize")
    galvi(y ~ gp(x), d(), verbose = "yes")
    galvi(y ~ gp(x), d(), control = list(tol = -1))
    galvi(y ~ gp(x), d(), control = list(itertions = 3))
    galvi(y ~ gp(x), d(), control = 3)
  })
})

test_that("families", {
  expect_error_snapshot({
    galvi(b ~ gp(x), d(), family = "binomal")
    galvi(b ~ gp(x), d(), family = binomial("log"))
    galvi(b ~ gp(x), d(), family = quasibinomial())
    galvi(y ~ gp(x), d(), family = Gamma())
    galvi(y ~ gp(x), d(), family = inverse.gaussian())
    galvi(y ~ gp(x), d(), family = studnt())
    galvi(y ~ gp(x), d(), family = student(dof = 3))
    galvi(y ~ gp(x), d(), family = 3)
    galvi_family("gaussian", varance = 1)
    galvi_family("gaussian", variance = -1)
    galvi_family("categorical", reference = "a")
  })
})

test_that("parameters of families", {
  expect_error_snapshot({
    student(df = 0)
    student(df = fixed(-2))
    laplace(0)
    laplace(normal(0, 1))
    negbinomial("many")
    beta_family(pc(1))
    cumulative("log")
    cumulative(thresholds = fixed(c(1, 0)))
    cumulative(thresholds = learn(2))
    galvi(h ~ gp(x), d(), family = categorical("s"))
    categorical(c("p", "q"))
    galvi(ordered(h) ~ gp(x), d(), family = cumulative(thresholds = fixed(0)))
    galvi(ordered(h) ~ gp(x), d(), family = cumulative(), start = c("cumulative.p|q" = 5))
    galvi(h ~ x, d(), family = categorical(), prior = normal(0, Inf))
  })
})

test_that("responses", {
  expect_error_snapshot({
    galvi(g ~ gp(x), d())
    galvi(y ~ gp(x), d(), family = binomial())
    galvi(I(b + 0.5) ~ gp(x), d(), family = binomial())
    galvi(factor(n) ~ gp(x), d(), family = binomial())
    galvi(I(0 * b) ~ gp(x), d(), family = binomial())
    galvi(cbind(b, -b) ~ gp(x), d(), family = binomial())
    galvi(cbind(b, y) ~ gp(x), d(), family = binomial())
    galvi(I(n - 1) ~ gp(x), d(), family = poisson())
    galvi(y ~ gp(x), d(), family = poisson())
    galvi(y ~ gp(x), d(), family = negbinomial())
    galvi(log(n) ~ gp(x), d())
    galvi(b / 2 ~ gp(x), d(), family = binomial(), weights = n)
    galvi(h ~ gp(x), d(), family = laplace())
    galvi(n ~ gp(x), d(), family = Gamma("log"))
    galvi(I(y - 4) ~ gp(x), d(), family = exponential())
    galvi(b ~ gp(x), d(), family = beta_family())
    galvi(y ~ gp(x), d(), family = beta_family())
    galvi(I(0 * y) ~ gp(x), d(), family = stochastic_volatility())
  })
})

test_that("classes", {
  expect_error_snapshot({
    galvi(h ~ gp(x), d(), family = cumulative())
    galvi(as.character(h) ~ gp(x), d(), family = cumulative())
    galvi(y ~ gp(x), d(), family = cumulative())
    galvi(factor(h, c("p", "q", "r", "s"), ordered = TRUE) ~ gp(x), d(), family = cumulative())
    galvi(I(0 * n) ~ gp(x), d(), family = cumulative())
    galvi(h ~ gp(x), d(), family = categorical(), subset = h != "q")
    galvi(h ~ gp(x), d(), family = stick_breaking(), subset = h == "q")
    galvi(y ~ gp(x), d(), family = categorical())
    galvi(cbind(b, n) ~ gp(x), d(), family = stick_breaking())
    galvi(h ~ gp(x), d(), family = binomial())
    galvi(h ~ gp(x), d(), family = categorical(), offset = cbind(x, n))
    galvi(h ~ gp(x, kernel = per_class(se()) + linear()), d(), family = categorical())
  })
})

test_that("data", {
  expect_error_snapshot({
    galvi(y ~ gp(xx), d())
    galvi(y ~ gp(x), d()[0, ])
    galvi(y ~ gp(x), transform(d(), x = NA_real_))
    galvi(y ~ gp(x), transform(d(), x = c(NA, x[-1])), na.action = na.fail)
    galvi(y ~ gp(x), transform(d(), x = c(NA, x[-1])), na.action = na.pass)
    galvi(y ~ gp(x), transform(d(), x = c(Inf, x[-1])))
    galvi(y ~ x, transform(d(), x = c(1, -Inf, x[-(1:2)])))
    galvi(y ~ gp(z), within(d(), z <- as.list(x)))
    galvi(y ~ gp(z), within(d(), z <- complex(6)))
    galvi(y ~ gp(x), d(), weights = -x)
    galvi(y ~ gp(x), d(), weights = g)
    galvi(y ~ gp(x), d(), weights = 1:2)
    galvi(y ~ gp(x), d(), offset = log(n))
    galvi(y ~ gp(x), d(), offset = w)
    galvi(y ~ gp(x), d(), start = c("gp(x).lengthscal" = 1))
    galvi(y ~ gp(x), d(), start = "best")
  })
})

test_that("formulas", {
  expect_error_snapshot({
    galvi(~ gp(x), d())
    galvi(y ~ s(.), d())
    galvi(y ~ s(g), d())
    galvi(y ~ te(x, n, k = 100), d())
    galvi(y ~ f(x), d())
    galvi(y ~ car(g), d())
    galvi(y ~ (0 | g), d())
    galvi(y ~ (1 | g) + iid(g), d())
    galvi(y ~ (x + I(2 * x) | g), d())
    galvi(y ~ (x | one), transform(d(), one = 1))
    galvi(y ~ rw1(n, by_hyper = "each"), d())
    galvi(y ~ 1 | g, d())
    galvi(y ~ gp(x) * n, d())
    galvi(y ~ gp(x):g, d())
    galvi(y ~ exp(gp(x)), d())
    galvi(y ~ n - gp(x), d())
    galvi(y ~ se(x), d())
    galvi(y ~ gp(), d())
    galvi(y ~ gp(x + n), d())
    galvi(y ~ gp(x, 3), d())
    galvi(y ~ gp(x, se()), d())
    galvi(y ~ gp(x, kernl = se()), d())
    galvi(y ~ gp(x, k = 10), d())
    galvi(y ~ gp(x, bs = "gp"), d())
    galvi(y ~ gp(x, lengthscale = 2), d())
    galvi(y ~ gp(x, scale = "yes"), d())
    galvi(y ~ gp(x, inducing = "many"), d())
    galvi(y ~ gp(x, approximation = "fitc"), d())
    galvi(y ~ gp(.), d()["y"])
    galvi(y ~ gp(.))
    galvi(y ~ 0, d())
    gp(x)
  })
})

test_that("kernels", {
  expect_error_snapshot({
    galvi(y ~ gp(x, kernel = 3), d())
    galvi(y ~ gp(x, kernel = "se"), d())
    galvi(y ~ gp(x, kernel = periodic()), d())
    galvi(y ~ gp(x, kernel = se(-1)), d())
    galvi(y ~ gp(x, kernel = se(variance = fixed(0))), d())
    galvi(y ~ gp(x, kernel = se(columns = "z")), d())
    galvi(y ~ gp(x, kernel = se(lengthscale = pc(1))), d())
  })
})

test_that("priors", {
  expect_error_snapshot({
    galvi(y ~ x, d(), prior = 3)
    galvi(y ~ x, d(), prior = fixed(2))
    galvi(y ~ x, d(), prior = list(normal(0, 1)))
    galvi(y ~ x, d(), prior = list(xx = normal(0, 1)))
    galvi(y ~ x, d(), prior = list(x = 3))
    galvi(y ~ x + gp(n), d(), prior = normal(0, Inf))
    normal(0, -1)
    fixed()
    pc()
  })
})

test_that("new data", {
  design <- prepare_model(y ~ g + gp(x, g) + offset(n), d())$design
  classes <- prepare_model(g ~ x, d(), binomial())$design
  expect_error_snapshot({
    design_rows(design, 3)
    design_rows(design, d()["x"])
    design_rows(design, transform(d(), g = "w"))
    design_rows(design, transform(d(), x = "1"))
    design_rows(design, transform(d(), x = c(1, 2, -Inf, 4, 5, 6)))
    design_rows(design, transform(d(), x = c(1, NA, 3, 4, 5, 6)), na.action = na.fail)
    design_rows(design, d()[-1], response = TRUE)
    design_rows(classes, transform(d(), g = "w"), response = TRUE)
  })
})

test_that("sizes and controls", {
  model <- list(y = numeric(1e5), offset = matrix(0, 1e5, 1L), predictors = list(list(
    terms = list(list(type = "kernel", label = "gp(.)")), solver = "dense_kernel", design = 1L, latents = 1L
  )))
  expect_error_snapshot({
    check_size(fit_size(model), 8 * 2^30)
    check_size(fit_size(model), NA)
    stop_out_of_memory(fit_size(model))
    galvi_control(tol = 0)
    galvi_control(max_iterations = 1.5)
    galvi_control(pieces = 50)
    galvi_control(chunk_rows = "some")
    galvi_control(threads = "two")
    galvi_control(backend = "mkl")
    galvi_control(keep_factor = NA)
    galvi_control(tolerance = 1)
  })
})

test_that("data that are not found are said so once, without a warning of R about evaluating them again", {
  expect_no_warning(expect_error(galvi(y ~ x, no_such_data), "`no_such_data` is not found", class = "galvi_error_data"))
})

test_that("an unknown argument of a family, kernel or prior names the function and what it takes", {
  expect_error(galvi(Species ~ Sepal.Width, iris, categorical(reference = "setosa")),
    "`family`: categorical() has no argument `reference`. Its arguments are `refcat`.", fixed = TRUE)
  expect_error(galvi(mpg ~ wt, mtcars, student(dff = 4)), "student() has no argument `dff`. Did you mean `df`?", fixed = TRUE)
  expect_error(galvi(mpg ~ wt, mtcars, prior = normal(0, sdd = 1)), "`prior`: normal() has no argument `sdd`. Did you",
    fixed = TRUE)
})

test_that("splines without their package name it", {
  expect_error(galvi(mpg ~ ns(wt, 3), mtcars), "ns()` in the formula is a function of the package splines",
    fixed = TRUE, class = "galvi_error_formula")
  expect_error(galvi(mpg ~ bs(wt), mtcars), "or splines::bs(x, 3)", fixed = TRUE)
})

test_that("what R does not find is read in the language of the session", {
  script <- "x <- tryCatch(galvi::galvi(dist ~ speed, cars, weibul()), error = conditionMessage); cat(x)"
  said <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), c("-e", shQuote(script)), stdout = TRUE, stderr = FALSE,
    env = c("LANG=C.UTF-8", "LC_ALL=C.UTF-8", "LANGUAGE=de")
  ))
  expect_match(paste(said, collapse = " "), "could not find the function `weibul()`. Did you mean `weibull`?", fixed = TRUE)
})

test_that("a new group is of the type of the others", {
  d <- data.frame(y = rnorm(20), a = rep(c(1, 7, 3, 2), 5), b = rep(letters[1:4], 5))
  new_group <- function(fit, name) {
    said <- message_of_error(predict(fit, data.frame(row = 1)))
    str2lang(sub(".* = (\\S+) in `newdata` is a new group.*", "\\1", said))
  }
  by_number <- galvi(y ~ 1 + (1 | a), d)
  expect_identical(new_group(by_number), 8)
  expect_no_error(predict(by_number, data.frame(a = new_group(by_number))))
  by_text <- galvi(y ~ 1 + (1 | b), d)
  expect_identical(new_group(by_text), "new")
  expect_no_error(predict(by_text, data.frame(b = "new")))
  of_both <- galvi(y ~ 1 + (1 | a:b), d)
  expect_no_error(predict(of_both, data.frame(a = new_group(of_both), b = "a")))
})

test_that("variables that are taken out of a data frame are named with what to write", {
  d <- data.frame(y = rnorm(9), x = 1:9)
  for (formula in list(d$y ~ d$x, d$y ~ log(d[["x"]]))) {
    said <- message_of_error(predict(galvi(formula), data.frame(x = 1)))
    expect_match(said, "In the formula write x, not d", fixed = TRUE)
    expect_match(said, "data = d.", fixed = TRUE)
  }
  x <- 1:9
  expect_no_match(message_of_error(predict(galvi(d$y ~ x), data.frame(z = 1))), "write")
})

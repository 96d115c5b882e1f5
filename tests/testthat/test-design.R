model_of <- function(...) prepare_model(...)$model
term_of <- function(model, i = length(terms_of(model))) terms_of(model)[[i]]

# What newdata gives for the training rows must be what training gave.
expect_same_rows <- function(formula, data, ..., at = seq_len(nrow(data))) {
  built <- prepare_model(formula, data, ...)
  new <- design_rows(built$design, data[at, , drop = FALSE])
  for (i in seq_along(new$rows[[1]])) {
    term <- terms_of(built$model)[[i]]
    for (part in names(new$rows[[1]][[i]])) {
      old <- if (is.matrix(term[[part]])) term[[part]][at, , drop = FALSE] else term[[part]][at]
      expect_equal(new$rows[[1]][[i]][[part]], old, info = paste(deparse(formula), part))
    }
  }
  expect_equal(new$offset, built$model$offset[at, , drop = FALSE])
}

test_that("the model list has what the core needs", {
  m <- model_of(mpg ~ wt + gp(hp, disp), mtcars)
  expect_equal(solver_of(m), "dense_kernel")
  expect_equal(m$y, mtcars$mpg)
  expect_equal(m$weights, rep(1, 32))
  expect_equal(dim(m$offset), c(32L, 1L))
  terms <- terms_of(m)
  expect_equal(vapply(terms, `[[`, "", "type"), c("columns", "kernel"))
  expect_equal(vapply(terms, `[[`, "", "label"), c("fixed", "gp(hp, disp)"))
  # columns with open priors are orthonormal, and as wide as their priors
  expect_equal(crossprod(terms[[1L]]$W) / 32, diag((10 * sd(mtcars$mpg))^2, 2), ignore_attr = TRUE)
  typed <- model_of(mpg ~ wt, mtcars, prior = list(intercept = normal(0, 1), wt = normal(0, 1)))
  expect_equal(term_of(typed)$W, unname(model.matrix(mpg ~ wt, mtcars)), ignore_attr = TRUE)
  expect_equal(terms[[2L]]$inputs, unname(as.matrix(mtcars[c("hp", "disp")])))
  expect_equal(
    m$hyper$name,
    c("gp(hp, disp).variance", "gp(hp, disp).lengthscale", "gaussian.variance")
  )
  expect_true(all(lengths(m$hyper[names(m$hyper) != "shape"]) == 3L))
  expect_length(m$hyper$shape, 0L)
  expect_equal(m$hyper$term, c("gp(hp, disp)", "gp(hp, disp)", "gaussian"))
  expect_true(all(m$hyper$value > m$hyper$lower & m$hyper$value < m$hyper$upper))
})

test_that("without fixed effects there is no such term, and columns alone need no dense kernel", {
  expect_length(prior_terms(model_of(mpg ~ 0 + gp(hp), mtcars)), 1L)
  m <- model_of(mpg ~ wt + gp(hp, disp, kernel = linear(ard = TRUE) + constant()), mtcars)
  expect_equal(solver_of(m), "projected")
  expect_equal(term_of(m)$type, "columns")
  expect_equal(dim(term_of(m)$W), c(32L, 3L))
  expect_equal(solver_of(model_of(mpg ~ wt, mtcars)), "projected")
})

test_that("factors are indicators over sqrt(2): levels at distance 1, one variable", {
  d <- data.frame(y = 1:6, g = factor(c("a", "b", "c", "a", "b", "c")), x = 1:6)
  built <- prepare_model(y ~ gp(g, x, kernel = se(ard = TRUE)), d)
  inputs <- term_of(built$model)$inputs
  expect_equal(dim(inputs), c(6L, 4L))
  expect_equal(as.matrix(dist(inputs[1:3, 1:3]))[2, 1], 1)
  spec <- built$design$specs[[2L]]
  expect_equal(spec$variable, c(1L, 1L, 1L, 2L))
  expect_equal(spec$input_names, c("g", "x"))
  h <- built$model$hyper$name
  expect_equal(h[grepl("lengthscale", h)], c("gp(g, x).lengthscale[g]", "gp(g, x).lengthscale[x]"))
  text <- prepare_model(y ~ gp(g, x), transform(d, g = as.character(g)))
  expect_equal(term_of(text$model)$inputs, inputs)
})

test_that("a matrix is a variable per column", {
  d <- data.frame(y = 1:6, x = 1:6)
  d$X <- cbind(a = 6:1, b = (1:6)^2)
  spec <- prepare_model(y ~ gp(X, x), d)$design$specs[[2L]]
  expect_equal(spec$variable, 1:3)
  expect_equal(spec$input_names, c("Xa", "Xb", "x"))
})

test_that("expressions predict with what they learned in training", {
  d <- data.frame(y = sqrt(1:9), x = (1:9)^2, z = c(3, 1, 4, 1, 5, 9, 2, 6, 5))
  d$g <- factor(rep(c("a", "b", "c"), 3))
  d$t <- as.Date("2020-01-01") + 1:9
  for (f in list(
    y ~ gp(log(x), scale(z)), y ~ poly(z, 2) + gp(x), y ~ gp(poly(z, 2)), y ~ gp(x^2), y ~ g + gp(x, g),
    y ~ scale(x) + gp(z), y ~ gp(x, by = g), y ~ gp(x, by = z), y ~ gp(x, kernel = linear(), by = g),
    y ~ gp(x, z, scale = TRUE), y ~ gp(t), y ~ g * x + offset(log(x)), y ~ 0 + g, y ~ gp(.), y ~ gp(z > 2),
    y ~ gp(x, kernel = linear() * constant(), by = z), y ~ I(z^2) + offset(z) + offset(2 * z) + gp(x)
  )) {
    expect_same_rows(f, d)
    expect_same_rows(f, d, at = c(7L, 2L))
    expect_same_rows(f, d, at = 3L)
  }
})

test_that("offsets add up, formula and argument, also in new data", {
  d <- data.frame(y = 1:4, x = 1:4, a = c(1, 2, 3, 4))
  built <- prepare_model(y ~ x + offset(a) + offset(a), d, args = list(offset = quote(10 * a)))
  expect_equal(built$model$offset[, 1L], 12 * d$a)
  expect_equal(design_rows(built$design, d[3L, ])$offset, matrix(36))
  # of a formula without variables too
  constant <- prepare_model(y ~ 1, d, args = list(offset = quote(10 * a)))
  expect_equal(design_rows(constant$design, d[3:2, ])$offset, cbind(10 * d$a[3:2]))
  expect_error(prepare_model(y ~ x + offset(cbind(a, a)), d), "one column", class = "galvi_error_data")
  alone <- prepare_model(y ~ x, d, args = list(offset = quote(c(1, 1, 2, 2))))
  expect_error(design_rows(alone$design, d[1:3, ]), "offset\\(v\\) in the formula", class = "galvi_error_newdata")
  fit <- do.call(galvi, list(y ~ x, d, offset = d$a, verbose = FALSE))
  expect_error(predict(fit, d[1:3, ]), "`offset` of 4 values.*offset\\(v\\)", class = "galvi_error_newdata")
})

test_that("weights, offset and subset come from data, then from where the formula was written", {
  outside <- c(5, 6, 7, 8)
  d <- data.frame(y = 1:4, x = 1:4, w = 4:1, outside2 = 1)
  args <- list(weights = quote(w), offset = quote(outside), subset = quote(w > 1))
  b <- prepare_model(y ~ x, d, args = args)
  expect_equal(b$model$size, c(4, 3, 2))
  expect_equal(b$model$offset[, 1L], c(5, 6, 7))
})

test_that("missing values follow na.action", {
  d <- data.frame(y = c(1, NA, 3, 4), x = c(1, 2, NA, 4), z = 1:4)
  built <- prepare_model(y ~ x + gp(z), d)
  expect_equal(built$model$y, c(1, 4))
  expect_s3_class(attr(built$frame, "na.action"), "omit")
  excluded <- prepare_model(y ~ x, d, na.action = stats::na.exclude)
  expect_s3_class(attr(excluded$frame, "na.action"), "exclude")
  expect_error(prepare_model(y ~ x, d, na.action = stats::na.fail), "`y`, `x`", class = "galvi_error_data")
  expect_error(prepare_model(y ~ x, d, na.action = stats::na.pass), class = "galvi_error_data")
  new <- design_rows(built$design, d)
  expect_equal(new$omitted, 3L)
  expect_equal(nrow(new$offset), 3L)
  expect_error(design_rows(built$design, d, na.action = stats::na.fail), class = "galvi_error_newdata")
})

test_that("odd data work: one row, duplicate rows, constant columns", {
  expect_equal(length(model_of(y ~ x + gp(z), data.frame(y = 1, x = 2, z = 3))$y), 1L)
  m <- model_of(y ~ x + gp(x, z), data.frame(y = c(1, 2, 3), x = 1, z = c(1, 1, 2)))
  expect_true(all(is.finite(m$hyper$value)) && all(m$hyper$value > 0))
  m <- model_of(y ~ 1 + gp(x, z, scale = TRUE), data.frame(y = c(1, 1), x = 2, z = 1:2))
  expect_equal(terms_of(m)[[2L]]$inputs[, 1L], c(0, 0))
})

test_that("scale = TRUE gives columns one spread and leaves one input in its units", {
  d <- data.frame(y = c(1, 3, 2, 5), a = c(1, 2, 3, 4), b = c(1000, 3000, 2000, 6000))
  one <- term_of(model_of(y ~ gp(a, scale = TRUE), d))$inputs
  expect_equal(one[, 1L], d$a - mean(d$a))
  two <- term_of(model_of(y ~ gp(a, b, scale = TRUE), d))$inputs
  expect_equal(apply(two, 2, sd), rep(sqrt(sd(d$a) * sd(d$b)), 2))
  ard <- term_of(model_of(y ~ gp(a, b, kernel = se(ard = TRUE), scale = TRUE), d))$inputs
  expect_equal(apply(ard, 2, sd), c(sd(d$a), sd(d$b)))
})

test_that("one lengthscale over columns of very different spread gives a message", {
  d <- data.frame(y = c(1, 3, 2, 5), a = c(1, 2, 3, 4), b = c(1000, 3000, 2000, 6000))
  expect_message(prepare_model(y ~ gp(a, b), d), "scale = TRUE", class = "galvi_message")
  expect_silent(prepare_model(y ~ gp(a, b, scale = TRUE), d))
  expect_silent(prepare_model(y ~ gp(a, b, kernel = se(ard = TRUE)), d))
  expect_silent(prepare_model(y ~ gp(a) + gp(b), d))
  expect_silent(prepare_model(y ~ gp(a, b, kernel = se(columns = "a") + matern32(columns = "b")), d))
})

test_that("start overrides starts, by name or from a fit, and leaves held values", {
  d <- data.frame(y = c(1, 3, 2, 5), x = 1:4)
  hyper <- function(start, f = y ~ gp(x)) prepare_model(f, d, start = start)$model$hyper
  got <- hyper(c("gp(x).lengthscale" = 1e6))
  at <- match("gp(x).lengthscale", got$name)
  expect_equal(got$value[at], 1e6)
  expect_gt(got$upper[at], 1e6)
  fit <- structure(list(hyper = data.frame(
    name = c("gp(x).variance", "gp(x).lengthscale", "other"), estimate = c(3, 4, 5)
  )), class = "galvi")
  got <- hyper(fit, y ~ gp(x, kernel = se(variance = fixed(2))))
  expect_equal(got$value[match(c("gp(x).variance", "gp(x).lengthscale"), got$name)], c(2, 4))
  expect_error(
    hyper(c("gp(x).lenghtscale" = 1)), "Did you mean `gp\\(x\\).lengthscale`", class = "galvi_error_argument"
  )
  expect_error(hyper(c(1, 2)), class = "galvi_error_argument")
  expect_error(hyper(c("gp(x).variance" = -1)), class = "galvi_error_argument")
  stranger <- structure(list(hyper = fit$hyper[3L, ]), class = "galvi")
  expect_error(hyper(stranger), class = "galvi_error_argument")
})

test_that("new data that do not fit are errors of class newdata", {
  d <- data.frame(y = 1:6, x = 1:6, g = factor(rep(c("a", "b"), 3)))
  design <- prepare_model(y ~ g + gp(x, g), d)$design
  expect_error(design_rows(design, data.frame(x = 1)), "`g`", class = "galvi_error_newdata")
  expect_error(design_rows(design, data.frame(x = 1, g = "c")), "\"c\"", class = "galvi_error_newdata")
  expect_error(design_rows(design, data.frame(x = "1", g = "a")), "numbers", class = "galvi_error_newdata")
  expect_error(design_rows(design, data.frame(x = Inf, g = "a")), "finite", class = "galvi_error_newdata")
  expect_error(design_rows(design, 1:3), class = "galvi_error_newdata")
  expect_equal(nrow(design_rows(design, data.frame(x = 1, g = "b"))$offset), 1L)
  none <- design_rows(design, d[0L, ])
  expect_equal(nrow(none$rows[[1L]][[2L]]$inputs), 0L)
})

test_that("what came from outside the data is looked up there again", {
  knots <- c(2, 4)
  power <- 2
  d <- data.frame(y = 1:6, x = 1:6)
  design <- prepare_model(y ~ I(x^power) + gp(findInterval(x, knots)), d)$design
  new <- design_rows(design, data.frame(x = 3))
  fixed <- design$specs[[1L]]$coding
  expect_equal(uncoded(new$rows[[1L]][[1L]]$W, fixed)[, 2L], 9, ignore_attr = TRUE)
  expect_equal(new$rows[[1L]][[2L]]$inputs, matrix(1))
  z <- 6:1
  outside <- prepare_model(y ~ gp(z), d)$design
  expect_error(
    design_rows(outside, d[1:2, ]), "`z` must have one value per row", class = "galvi_error_newdata"
  )
})

test_that("64-bit integers are the numbers that they mean, without package bit64", {
  # as bit64::as.integer64() makes them
  as_long <- function(x) {
    bits <- as.raw(outer(256^(0:7), x, function(unit, x) x %/% unit %% 256))
    structure(readBin(bits, "double", length(x), endian = "little"), class = "integer64")
  }
  x <- c(0, 1, -1, 2^31 - 1, 2^31, -2^31, -2^31 - 1, 2^32, -2^32, 2^53, -2^53, 123456789012)
  expect_identical(integer64_numbers(as_long(x)), x)
  expect_identical(integer64_numbers(as_long(1)[0L]), numeric())
  expect_identical(integer64_numbers(as_long(-2^63)), NA_real_)
  set.seed(6)
  d <- data.frame(x = rep(-5:4, 3), g = rep(c(3, 4, 8e9), each = 10))
  d$y <- d$x / 3 + d$g / 2e9 + rnorm(30)
  long <- transform(d, x = as_long(x), g = as_long(g))
  fit <- galvi(y ~ x + (1 | g), d)
  other <- galvi(y ~ x + (1 | g), long)
  expect_identical(coef(other), coef(fit))
  expect_identical(ranef(other), ranef(fit))
  expect_identical(predict(fit, long), predict(fit, d))
  new <- data.frame(g = 8e9)
  expect_equal(
    conditional_effects(fit, "x", conditions = transform(new, g = as_long(g)), re_formula = NULL)$x$estimate__,
    conditional_effects(fit, "x", conditions = new, re_formula = NULL)$x$estimate__
  )
})

test_that("unused levels are dropped, and unknown to predictions", {
  d <- data.frame(y = 1:4, g = factor(c("a", "b", "a", "b"), c("a", "b", "c")))
  built <- prepare_model(y ~ g, d)
  expect_equal(ncol(term_of(built$model)$W), 2L)
  expect_error(design_rows(built$design, data.frame(g = "c")), class = "galvi_error_newdata")
})

test_that("NA that is a level is a level of its own in predictions and in effects of groups", {
  set.seed(3)
  d <- data.frame(x = rnorm(60), g = factor(rep(c("b", "a", "none"), 20), c("b", "a", "none")))
  d$y <- d$x + 2 * (d$g == "none") + (d$g == "a") + rnorm(60) / 2
  na <- transform(d, g = addNA(replace(g, g == "none", NA)))
  fit_all <- function(data) {
    lapply(list(y ~ g * x, y ~ x + (1 + x | g), y ~ g + s(x, by = g, k = 4)), galvi, data = data, hyper = "fixed")
  }
  fits <- fit_all(na)
  others <- fit_all(d)
  expect_identical(names(coef(fits[[1L]])), sub("none", "NA", names(coef(others[[1L]]))))
  for (i in seq_along(fits)) {
    expect_identical(predict(fits[[i]]), predict(others[[i]]))
    # as in lm(), it need not be a level there
    for (new in list(na, na[3:4, ], transform(na, g = as.character(g)))) {
      expect_equal(predict(fits[[i]], new), predict(others[[i]], d[row.names(new), ]), tolerance = 1e-12)
    }
  }
  expect_identical(row.names(ranef(fits[[2L]])$g), c("b", "a", "NA"))
  expect_equal(unname(ranef(fits[[2L]])$g), unname(ranef(others[[2L]])$g), ignore_attr = TRUE)
  held_out <- function(fit) {
    set.seed(1)
    kfold(fit, K = 3)$estimates
  }
  expect_equal(held_out(fits[[1L]]), held_out(others[[1L]]))
  inside <- galvi(y ~ addNA(g) * x, transform(na, g = as.character(g)), hyper = "fixed")
  expect_identical(levels(inside$data[["addNA(g)"]]), c("a", "b", "NA"))
  expect_no_warning(alone <- predict(inside, na[3:4, ]))
  expect_equal(alone, predict(inside)[3:4])
  # a level without rows is dropped, and rows with another value have no prediction
  without <- galvi(y ~ g, na[d$g != "none", ], hyper = "fixed")
  expect_identical(names(coef(without)), c("(Intercept)", "ga"))
  expect_identical(is.na(unname(predict(without, na[1:3, ]))), c(FALSE, FALSE, TRUE))
  both <- transform(d, g = factor(g, exclude = NULL, labels = c("NA", "a", NA)))
  expect_error(galvi(y ~ g, both), "`g` has the level \"NA\" and NA", class = "galvi_error_data")
})

test_that("labels that are made of numbers do not depend on the decimal mark", {
  set.seed(8)
  d <- data.frame(x = rnorm(60), a = rep(c(0.5, 1.25, 3), 20), b = rep(c(1, 2.5), each = 30))
  d$y <- d$a + d$b + d$x + rnorm(60)
  formulas <- list(y ~ x + (1 | a), y ~ x + (1 | a:b), y ~ factor(a) * x + iid(b))
  fits <- lapply(formulas, galvi, data = d, hyper = "fixed")
  before <- options(OutDec = ",")
  on.exit(options(before))
  for (i in seq_along(fits)) {
    again <- galvi(formulas[[i]], d, hyper = "fixed")
    expect_no_warning(there <- predict(fits[[i]], d[1:5, ], se.fit = TRUE))
    expect_identical(there, predict(again, d[1:5, ], se.fit = TRUE))
    expect_equal(there$fit, predict(fits[[i]])[1:5])
    expect_identical(lapply(ranef(again), row.names), lapply(ranef(fits[[i]]), row.names))
    expect_identical(names(coef(again)), names(coef(fits[[i]])))
  }
  expect_identical(format(se(variance = fixed(1.5))), "se(variance = fixed(1.5))")
})

test_that("new data bring their response where it is asked for", {
  d <- data.frame(s = c(1, 2, 0), n = c(2, 2, 3), x = 1:3)
  design <- prepare_model(cbind(s, n - s) ~ x, d, binomial())$design
  new <- design_rows(design, d[2L, ], response = TRUE)
  expect_equal(new[c("y", "size")], list(y = 2, size = 2))
  expect_error(design_rows(design, d["x"], response = TRUE), class = "galvi_error_newdata")
  expect_null(design_rows(design, d["x"])$y)
  e <- data.frame(y = factor(c("n", "p", "n")), x = 1:3)
  one <- design_rows(prepare_model(y ~ x, e, binomial())$design, e[2L, ], response = TRUE)
  expect_equal(one$y, 1)
})

test_that("tables of 100,000 rows and 50 columns cost little before the numbers begin", {
  skip_on_cran()
  n <- 1e5
  d <- as.data.frame(matrix(rnorm(n * 50), n))
  d$y <- rbinom(n, 1, 0.5)
  seconds <- min(replicate(3, system.time(prepare_model(y ~ ., d, binomial()))[["elapsed"]]))
  # measured 0.2 s on two shared cores; the limit is for what grows faster than the rows, on busy machines too
  expect_lt(seconds, within_seconds(10))
})

# ---- several latent values ----

class_data <- function() {
  data.frame(
    y = factor(c("a", "b", "c", "a", "b", "c")), x = c(1, 2, 3, 5, 4, 6), z = c(2, 1, 4, 3, 6, 5),
    g = rep(c("u", "v"), 3)
  )
}

test_that("latent values share their terms, and a kernel per class has its own hyperparameters", {
  d <- class_data()
  shared <- model_of(y ~ x + gp(z), d, categorical())
  expect_length(shared$predictors, 1L)
  expect_equal(dim(shared$offset), c(6L, 3L))
  expect_equal(shared$y, c(0, 1, 2, 0, 1, 2))
  own <- model_of(y ~ x + gp(z, kernel = per_class(se())), d, categorical("b"))
  expect_length(own$predictors, 2L)
  expect_equal(own$hyper$name, c(
    "gp(z)[a].variance", "gp(z)[a].lengthscale", "gp(z)[c].variance", "gp(z)[c].lengthscale"
  ))
  expect_equal(own$hyper$term, rep("gp(z)", 4L))
  kernel <- function(k) terms_of(own, k)[[2L]]$kernel$hyper
  expect_equal(kernel(1), list(variance = 1L, lengthscale = 2L))
  expect_equal(kernel(2), list(variance = 3L, lengthscale = 4L))
  for (part in c("inputs", "label")) {
    expect_identical(terms_of(own, 1)[[2L]][[part]], terms_of(own, 2)[[2L]][[part]])
  }
  expect_identical(terms_of(own, 1)[[1L]], terms_of(own, 2)[[1L]])
})

test_that("per_class() reaches columns, several kernels and by, and is nothing to one latent value", {
  d <- class_data()
  columns <- model_of(y ~ 0 + gp(x, z, kernel = per_class(linear(ard = TRUE))), d, stick_breaking())
  expect_equal(solver_of(columns), "projected")
  expect_equal(terms_of(columns, 1)[[1L]]$factors[, 1L], c(1L, 2L))
  expect_equal(terms_of(columns, 2)[[1L]]$factors[, 1L], c(3L, 4L))
  expect_match(columns$hyper$name[3L], "gp(x, z)[b].variance[x]", fixed = TRUE)
  both <- model_of(y ~ gp(x, by = g, kernel = per_class(se() + linear())) + gp(z), d, stick_breaking())
  expect_length(both$predictors, 2L)
  expect_true("gp(x, by = g)[b][u].linear.variance" %in% both$hyper$name)
  one <- model_of(y ~ gp(x, kernel = per_class(se())), transform(d, y = ordered(y)), cumulative())
  expect_length(one$predictors, 1L)
  expect_equal(one$hyper$name[1:2], c("gp(x).variance", "gp(x).lengthscale"))
  binary <- model_of(g ~ gp(x, kernel = per_class(se())), d, categorical("u"))
  expect_equal(binary$hyper$name[1:2], c("gp(x).variance", "gp(x).lengthscale"))
})

test_that("an offset is added to all latent values, or has a column for each", {
  d <- class_data()
  one <- prepare_model(y ~ x + offset(z), d, categorical())
  expect_equal(one$model$offset, matrix(d$z, 6L, 3L))
  d$o <- cbind(d$z, 0, -d$z)
  own <- prepare_model(y ~ x + offset(o) + offset(x), d, categorical())
  expect_equal(own$model$offset, unname(d$o + d$x), ignore_attr = TRUE)
  expect_equal(design_rows(own$design, d[4:3, ])$offset, own$model$offset[4:3, ])
  by_argument <- prepare_model(y ~ x, d, categorical(), args = list(offset = quote(o)))
  expect_equal(by_argument$model$offset, unname(d$o), ignore_attr = TRUE)
  expect_equal(design_rows(by_argument$design, d[2L, ])$offset, by_argument$model$offset[2L, , drop = FALSE])
  # columns named like the latent values go where they belong
  d$named <- cbind(c = 3, a = 1, b = 2 * rep(1, 6))
  named <- prepare_model(y ~ x + offset(named), d, categorical())$model
  expect_equal(named$offset[1L, ], c(1, 2, 3))
  expect_error(
    prepare_model(y ~ x + offset(o), d, categorical("a")), "a matrix of 2, for `b`, `c`",
    class = "galvi_error_data"
  )
  expect_error(prepare_model(x ~ z + offset(o), d), "one column", class = "galvi_error_data")
  d$o[2L, 3L] <- Inf
  expect_error(prepare_model(y ~ x + offset(o), d, categorical()), "row 2 has Inf")
})

test_that("missing values in a matrix of offsets leave the row out", {
  d <- class_data()
  d$o <- cbind(c(NA, rep(0, 5L)), 1, 2)
  d <- rbind(d, d[2:4, ])
  expect_equal(nrow(prepare_model(y ~ x + offset(o), d, categorical())$model$offset), 8L)
})

test_that("fixed effects of all latent values have the same prior", {
  d <- class_data()
  built <- prepare_model(y ~ x, d, categorical(), prior = list(x = normal(0, learn(2))))
  expect_length(built$model$predictors, 1L)
  expect_equal(built$model$hyper$name, "x.sd")
  # the intercept is at x = 0, and x has the sd 2 where its own is learned
  expect_equal(built$prior[["x"]], normal(0, learn(2)))
  default <- prepare_model(y ~ x, d, categorical())$prior
  expect_equal(default$x, normal(0, 10 / sqrt(mean((d$x - mean(d$x))^2))), ignore_attr = TRUE)
})

test_that("flat priors need a reference class", {
  d <- class_data()
  flat <- normal(0, Inf)
  expect_error(prepare_model(y ~ x, d, categorical(), prior = flat), "`refcat`", class = "galvi_error_prior")
  expect_silent(prepare_model(y ~ x, d, categorical("a"), prior = flat))
  expect_silent(prepare_model(y ~ x, d, stick_breaking(), prior = flat))
})

test_that("classes of new data are read by the levels of the fit", {
  d <- class_data()
  design <- prepare_model(y ~ x, d, categorical())$design
  expect_equal(design_rows(design, d[3L, ], response = TRUE)$y, 2)
  expect_equal(design_rows(design, transform(d, y = as.character(y))[2L, ], response = TRUE)$y, 1)
  expect_error(
    design_rows(design, data.frame(y = "q", x = 1), response = TRUE), "\"q\"", class = "galvi_error_newdata"
  )
  ordinal <- prepare_model(ordered(y) ~ x, d, cumulative())$design
  expect_equal(design_rows(ordinal, d[3L, ], response = TRUE)$y, 2)
})

test_that("held hyperparameters of a family are told apart from starts", {
  d <- class_data()
  held <- galvi_family("laplace", scale = 3)
  expect_equal(model_of(x ~ z, d, held, held = TRUE)$hyper$value, 3)
  expect_equal(model_of(x ~ z, d, laplace(), held = TRUE)$hyper$value, 1)
  expect_equal(model_of(x ~ z, d, laplace())$pieces, 20)
  expect_equal(model_of(x ~ z, d, laplace(), control = galvi_control(pieces = 5))$pieces, 5)
})

test_that("C() takes the words of lm(), and text or other levels in new data, as relevel() does", {
  d <- warpbreaks
  new <- list(data.frame(tension = c("H", "M")), data.frame(tension = factor(c("H", "M", NA))))
  variables <- list(
    quote(C(tension, treatment)), quote(C(tension, helmert)), quote(C(tension, sum)), quote(C(tension, poly)),
    quote(C(tension, SAS)), quote(stats::C(contr = sum, tension)), quote(C(tension, contr.sum, 1)),
    quote(relevel(tension, "M")), quote(droplevels(tension)), quote(C(relevel(tension, "M"), sum))
  )
  for (variable in variables) {
    formula <- as.formula(call("~", quote(breaks), variable))
    fit <- galvi(formula, d, prior = list(intercept = normal(0, Inf), default = normal(0, Inf)), hyper = "fixed")
    theirs <- lm(formula, d)
    expect_close(coef(fit), coef(theirs), tol$solve)
    # lm() says of its own C() that contrasts are dropped
    whole <- suppressWarnings(unname(predict(theirs, data.frame(tension = factor(c("H", "M"), levels(d$tension))))))
    for (rows in new) expect_close(unname(predict(fit, rows))[1:2], whole, tol$solve)
    expect_error(predict(fit, data.frame(tension = "Q")), "has the level", class = "galvi_error_newdata")
  }
  expect_error(galvi(breaks ~ C(tension, foo), d), "`foo`", class = "galvi_error_data")
  expect_error(galvi(breaks ~ C(tensoin, sum), d), "Did you mean `tension`", class = "galvi_error_data")
})

test_that("contrasts of a factor that loses levels are not lost without a word", {
  d <- transform(cars, g = factor(rep(c("a", "b", "c"), length.out = 50), c("a", "b", "c", "d")))
  contrasts(d$g) <- contr.sum(4)
  expect_warning(
    frame <- prepare_model(dist ~ g, d)$frame, "`g` has levels without rows", class = "galvi_warning_data"
  )
  expect_identical(levels(frame$g), c("a", "b", "c"))
  d$g <- droplevels(d$g)
  contrasts(d$g) <- contr.sum(3)
  fit <- expect_no_warning(galvi(dist ~ g, d, hyper = "fixed"))
  expect_equal(model.matrix(fit), model.matrix(lm(dist ~ g, d)))
  expect_equal(predict(fit, data.frame(g = "c")), unname(predict(fit)[3]), ignore_attr = TRUE)
})

test_that("a process of a constant is an error, and constants that change nothing are none", {
  d <- transform(head(iris, 60), one = 1, level = factor("a"), y = Sepal.Length)
  fit <- function(formula, data = d) galvi(formula, data, hyper = "fixed")
  for (formula in list(
    y ~ gp(one), y ~ gp(level), y ~ gp(one, level), y ~ gp(one, by = Species), y ~ gp(one, kernel = linear()),
    y ~ gp(one, inducing = 3)
  )) expect_error(fit(formula), "has one value in these data, so that the process is a constant", class = "galvi_error_data")
  for (formula in list(
    y ~ gp(Sepal.Width, time = one, inducing = 3),
    y ~ gp(Sepal.Width, one, kernel = se(columns = "Sepal.Width") + se(columns = "one"))
  )) expect_error(fit(formula), "`one` has one value .* its part of the kernel", class = "galvi_error_data")
  expect_error(fit(y ~ gp(one, by = Sepal.Width)), "a slope of .*: leave the term out, or write Sepal.Width[.]")
  # distances do not see one constant among others
  expect_equal(logLik(fit(y ~ gp(Sepal.Width, one))), logLik(fit(y ~ gp(Sepal.Width))))
  expect_equal(logLik(fit(y ~ gp(Sepal.Width, one, kernel = se(ard = TRUE)))), logLik(fit(y ~ gp(Sepal.Width))))
  # a constant within each group, one row, a kernel that has no inputs, and new data
  expect_s3_class(fit(y ~ gp(as.numeric(Species), by = Species, center = FALSE)), "galvi")
  expect_s3_class(fit(y ~ gp(Sepal.Width), d[1L, ]), "galvi")
  expect_s3_class(fit(y ~ gp(one, kernel = constant())), "galvi")
  expect_length(predict(fit(y ~ gp(Sepal.Width)), transform(d[1:3, ], Sepal.Width = 3)), 3L)
})

test_that("a bar in gp() is no logical or of its inputs", {
  expect_error(galvi(Sepal.Length ~ gp(Sepal.Width | Species), iris), "gp(Sepal.Width, by = Species)", fixed = TRUE,
    class = "galvi_error_formula")
  expect_error(galvi(Sepal.Length ~ gp(Sepal.Width || Species), iris), "gp(Sepal.Width, by = Species)", fixed = TRUE)
  d <- transform(iris, a = Sepal.Width, b = Petal.Width, g = Species)
  advised <- function(term) {
    said <- tryCatch(eval(bquote(galvi(Sepal.Length ~ .(term), d))), galvi_error_formula = conditionMessage)
    # it runs
    own <- str2lang(sub(".* for each group is ((gp|[(]).*[)])(, with|;) .*", "\\1", said))
    expect_s3_class(eval(bquote(galvi(Sepal.Length ~ .(own), d, hyper = "fixed", verbose = FALSE))), "galvi")
    deparse1(own)
  }
  expect_identical(advised(quote(gp(a, b | g))), "gp(a, b, by = g)")
  expect_identical(advised(quote(gp(0 + a | g, kernel = se()))), "gp(a, by = g, kernel = se())")
  expect_identical(advised(quote(gp(a + b | g))), "gp(a, b, by = g)")
  expect_identical(advised(quote(gp(1 | g))), "(1 | g)")
  fit <- galvi(Sepal.Length ~ gp(I(Sepal.Width > 3 | Petal.Width > 1)), iris, hyper = "fixed")
  expect_s3_class(fit, "galvi")
})

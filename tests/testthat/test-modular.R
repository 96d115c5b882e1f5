# The steps of galvi(), called one at a time.

stepwise <- function(formula, data, family = gaussian(), ..., in_design = identity, in_model = identity,
                     method = "auto", start = NULL) {
  design <- in_design(galvi_design(formula, data, family))
  model <- in_model(galvi_model(design, start = start, ...))
  galvi_fit(model, galvi_infer(model, method, start, verbose = FALSE))
}

# All but the call and what says how long it took.
expect_same_fit <- function(found, wanted, leave = character()) {
  leave <- c(leave, "call")
  found$trace$seconds <- wanted$trace$seconds <- NULL
  expect_identical(names(found), names(wanted))
  kept <- setdiff(names(wanted), leave)
  expect_identical(unclass(found)[kept], unclass(wanted)[kept])
}

steps_data <- function() {
  set.seed(4)
  d <- data.frame(x = seq(-2, 2, length.out = 40), g = rep(letters[1:4], 10), w = rep(c(1, 2), 20))
  d$z <- rnorm(40)
  d$y <- rpois(40, exp(sin(d$x) + 0.3))
  d$class <- factor(ifelse(d$z > 0.5, "up", ifelse(d$x > 0, "right", "left")))
  d$real <- d$x + rnorm(40)
  d
}

test_that("a fit in steps is that of galvi(), whatever the model", {
  d <- steps_data()
  cases <- list(
    list(y ~ z + gp(x), poisson()), list(y ~ z + iid(g), poisson()),
    list(real ~ gp(x, inducing = 6), gaussian()), list(class ~ x, categorical(refcat = "left")),
    list(class ~ gp(x, kernel = per_class(se())), categorical()),
    list(real ~ x + rw2(round(10 * x)), student())
  )
  for (case in cases) {
    set.seed(1)
    whole <- galvi(case[[1]], d, case[[2]], verbose = FALSE)
    expect_same_fit(stepwise(case[[1]], d, case[[2]]), whole)
  }
  held <- stepwise(y ~ z + gp(x), d, poisson(), hyper = "fixed", prior = normal(0, 2), method = "dual")
  expect_same_fit(
    held, galvi(y ~ z + gp(x), d, poisson(), "dual", hyper = "fixed", prior = normal(0, 2), verbose = FALSE)
  )
  fitc <- y > 1 ~ gp(x, inducing = 5, approximation = "fitc")
  for (method in c("auto", "laplace")) {
    whole <- galvi(fitc, d, binomial(), method, hyper = "fixed", verbose = FALSE)
    expect_same_fit(stepwise(fitc, d, binomial(), hyper = "fixed", method = method), whole)
  }
})

test_that("weights, offset and subset are read as galvi() reads them", {
  d <- steps_data()
  design <- galvi_design(y ~ z + gp(x), d, poisson(), weights = w, offset = log(w), subset = x > -1)
  whole <- galvi(y ~ z + gp(x), d, poisson(), weights = w, offset = log(w), subset = x > -1, verbose = FALSE)
  model <- galvi_model(design)
  expect_same_fit(galvi_fit(model, galvi_infer(model, verbose = FALSE)), whole)
  through <- function(...) galvi_design(y ~ z, d, poisson(), ...)
  expect_identical(through(weights = w)$weights, d$w)
})

test_that("what is changed in the design is as if it had been asked for", {
  d <- steps_data()
  # the model frame and the expressions stay what they were
  leave <- c("data", "design")
  formulas <- list(real ~ z + gp(x), real ~ z + iid(g), real ~ gp(x, z, scale = TRUE, inducing = 5))
  for (f in formulas) {
    whole <- galvi(f, d, weights = frequency(w), verbose = FALSE)
    expect_same_fit(stepwise(f, d, in_design = function(s) replace(s, "weights", list(d$w))), whole, leave)
    whole <- galvi(f, d, offset = z, verbose = FALSE)
    expect_same_fit(stepwise(f, d, in_design = function(s) replace(s, "offset", list(d$z))), whole, leave)
  }
  whole <- galvi(y ~ gp(x), transform(d, y = y + 1), poisson(), verbose = FALSE)
  found <- stepwise(y ~ gp(x), d, poisson(), in_design = function(s) replace(s, "y", list(s$y + 1)))
  expect_same_fit(found, whole, leave)
  whole <- galvi(y ~ z, transform(d, z = z^2), poisson(), verbose = FALSE)
  changed <- function(design) {
    design$data$z <- design$data$z^2
    design
  }
  expect_same_fit(stepwise(y ~ z, d, poisson(), in_design = changed), whole)
})

test_that("a hyperparameter that is changed in the model is a start, or held", {
  d <- steps_data()
  change <- function(name, value, learned = TRUE) {
    function(model) {
      at <- model$hyper$name == name
      model$hyper$value[at] <- value
      model$hyper$learned[at] <- learned
      # what differs from the guess is not one; `start` says so too
      if (learned) model$hyper$guessed[at] <- NA
      model
    }
  }
  # far outside of the range around the default start too
  for (value in c(0.5, 1e5)) {
    whole <- galvi(y ~ gp(x), d, poisson(), start = c("gp(x).lengthscale" = value), verbose = FALSE)
    expect_same_fit(stepwise(y ~ gp(x), d, poisson(), in_model = change("gp(x).lengthscale", value)), whole)
  }
  whole <- galvi(y ~ gp(x, kernel = se(lengthscale = fixed(0.5))), d, poisson(), verbose = FALSE)
  found <- stepwise(y ~ gp(x), d, poisson(), in_model = change("gp(x).lengthscale", 0.5, FALSE))
  expect_identical(found$hyper$status, whole$hyper$status)
  expect_identical(found$elbo, whole$elbo)
  # an array by its name: points that stay where they are
  still <- function(model) {
    model$hyper$learned[model$hyper$name == "gp(x).inducing"] <- FALSE
    model
  }
  whole <- galvi(real ~ gp(x, inducing = 5), d, control = list(move_inducing = FALSE), verbose = FALSE)
  found <- stepwise(real ~ gp(x, inducing = 5), d, in_model = still)
  expect_same_fit(found, whole, c("control", "model"))
})

test_that("a fit is where inference may start", {
  d <- steps_data()
  first <- galvi(y ~ gp(x), d, poisson(), verbose = FALSE)
  again <- galvi(y ~ gp(x), d, poisson(), start = first, verbose = FALSE)
  expect_same_fit(stepwise(y ~ gp(x), d, poisson(), start = first), again)
})

test_that("contributions are of what the steps return", {
  d <- steps_data()
  model <- galvi_model(galvi_design(y ~ z + x, d, poisson()))
  posterior <- galvi_infer(model, verbose = FALSE)
  all <- contribution(model, posterior)
  expect_equal(contribution(model, posterior, 1:10) + contribution(model, posterior, 11:40), all)
  expect_identical(contribution(galvi_fit(model, posterior), posterior), all)
})

test_that("steps refuse what is not theirs", {
  d <- steps_data()
  design <- galvi_design(y ~ z + gp(x), d, poisson())
  model <- galvi_model(design)
  posterior <- galvi_infer(model, verbose = FALSE)
  wrong <- function(expr, pattern, what = "argument") {
    expect_error(expr, pattern, class = paste0("galvi_error_", what))
  }
  wrong(galvi_model(d), "`design` must be what galvi_design\\(\\) returns, not a data frame")
  wrong(galvi_infer(design), "`model` must be what galvi_model\\(\\) returns")
  wrong(galvi_fit(model, design), "`posterior` must be what galvi_infer\\(\\) returns")
  wrong(galvi_fit(posterior, posterior), "`model` must be what galvi_model")
  wrong(galvi_model(replace(design, "weights", list(1:3))), "`design\\$weights` must be 40 numbers")
  wrong(galvi_model(replace(design, "weights", list(-d$w))), "`weights` must be finite and not negative")
  wrong(galvi_model(replace(design, "weights", list(NULL))), "`design\\$weights` must be 40 numbers")
  wrong(galvi_model(replace(design, "offset", list(c(1, 2)))), "`design\\$offset` must have 40 rows, not 2")
  wrong(galvi_model(replace(design, "offset", list(replace(d$z, 3, NA)))), "`offset` must be finite", "data")
  wrong(galvi_model(replace(design, "y", list(d$y / 0))), "`design\\$y` must be 40 finite numbers")
  wrong(galvi_model(design, hyper = "none"), "`hyper` must be one of")
  wrong(galvi_model(design, prior = list(q = normal())), "`prior` names `q`", "prior")
  wrong(galvi_model(design, expectation = "exact"), "`expectation` must be one of", "method")
  wrong(galvi_infer(model, "newtn"), "Did you mean \"newton\"", "method")
  wrong(galvi_infer(replace(model, "weights", list(d$w[-1]))), "y, size and weights must have N numbers")
  wrong(galvi_infer(replace(model, "weights", list(-d$w))), "must not be negative")
  wrong(galvi_infer(replace(model, "offset", list(d$z))), "must be an N x K matrix")
  wrong(galvi_infer(replace(model, "y", list(d$y + 0.5))), "row 1 is 2.5.*impossible in this family", "response")
  wrong(galvi_infer(replace(model, "y", list(-1 - d$y))), "which is impossible in this family", "response")
  changed <- model
  changed$hyper$value[2] <- -1
  wrong(galvi_infer(changed), "`model\\$hyper\\$value` must be positive and finite, not -1 \\(`gp\\(x\\).lengthscale`")
  changed <- model
  changed$hyper$value <- changed$hyper$value[-1]
  wrong(galvi_infer(changed), "columns of hyper must have the same length")
  changed <- model
  changed$hyper$learned <- rep("no", length(model$hyper$learned))
  wrong(galvi_infer(changed), "learned must be TRUE or FALSE")
  # positions that would be read from anywhere
  for (part in list(list(variance = 99L, lengthscale = 3L), list(variance = 0L, lengthscale = 3L))) {
    changed <- model
    changed$predictors[[1]]$terms[[2]]$kernel$hyper <- part
    wrong(galvi_infer(changed), "points outside", "method")
  }
  changed <- model
  changed$predictors[[1]]$terms[[2]]$kernel$columns <- 2L
  wrong(galvi_infer(changed), "points outside", "method")
  changed <- model
  changed$predictors[[1]]$terms[[1]]$factors[1] <- 99L
  wrong(galvi_infer(changed), "points outside", "method")
  fewer <- galvi_model(galvi_design(y ~ z + gp(x), d[1:20, ], poisson()))
  wrong(galvi_fit(fewer, posterior), "`posterior` is not that of `model`")
  wrong(galvi_fit(galvi_model(galvi_design(y ~ z, d, poisson())), posterior), "is not that of `model`")
  wrong(update(galvi_fit(model, posterior), . ~ z), "step by step")
})

test_that("every family knows its responses", {
  for (name in names(family_types)) {
    type <- family_types[[name]]
    d <- data.frame(x = c(0, 1, 3), y = type$example)
    model <- galvi_model(galvi_design(y ~ x, d, galvi_family(name)))
    expect_true(all(inference_refusals(model)["fixed_point"] == ""), info = name)
    if (fact(likelihood_facts(), model$likelihood$type, "discrete")) {
      model$y[2] <- 0.5
      expect_error(galvi_infer(model, verbose = FALSE), class = "galvi_error_response", info = name)
    }
  }
})

test_that("steps print what they have", {
  design <- galvi_design(dist ~ speed, cars)
  expect_output(print(design), "From galvi_design\\(\\):.*weights *: num \\[1:50\\]")
  expect_output(print(galvi_model(design)), "From galvi_model\\(\\):.*hyper")
})

test_that("models and posteriors whose parts do not fit together are errors, not reads beyond their ends", {
  d <- steps_data()
  d$time <- rep(1:10, 4)
  d$who <- gl(4, 10)
  d$counts <- cbind(a = 1, b = d$y, c = 2)
  made <- function(formula, ...) galvi_model(galvi_design(formula, d, ...))
  refused <- function(code, words) expect_error(code, words, fixed = TRUE, class = "galvi_error")
  line <- made(real ~ z)
  expect_no_error(contribution(line, galvi_infer(line)))
  refused(contribution(replace(line, "size", list(NULL)), galvi_infer(line)), "size")
  longer <- line
  longer$hyper$term <- c(longer$hyper$term, "more")
  refused(galvi_infer(longer), "columns of hyper must have the same length")
  smooth <- function(k) made(as.formula(sprintf("real ~ s(x, k = %d)", k)))
  refused(predict(galvi_fit(smooth(12), galvi_infer(smooth(8))), d), "not one of this model")
  chain <- made(real ~ who + gp(time, by = who, kernel = matern32()))
  of_groups <- which(vapply(chain$designs[[1L]], function(rows) length(rows$group) > 0L, NA))
  chain$designs[[1L]][[of_groups]]$group[1L] <- 0L
  refused(galvi_infer(chain), "needs a group")
  classes <- made(counts ~ z, "multinomial")
  classes$counts <- classes$counts[, -1L]
  refused(galvi_infer(classes), "counts must be N x classes")
  walk <- made(real ~ iid(g, by = iid(time)))
  of_fields <- which(vapply(walk$predictors[[1L]]$terms, function(term) length(term$field$factors) > 0L, NA))
  far <- walk
  far$predictors[[1L]]$terms[[of_fields]]$field$factors[[1L]]$hyper <- list(variance = 999L)
  expect_no_error(galvi_infer(walk))
  refused(galvi_infer(far), "a position points outside")
  learned <- galvi(real ~ gp(x), d, hyper = "integrate", verbose = FALSE)$hyper_posterior
  expect_no_error(hyper_points(learned))
  expect_error(hyper_points(replace(learned, "free", list(c(1L, 99L)))), "damaged")
  expect_error(hyper_points(replace(learned, "weight", list(1))), "damaged")
  mesh <- galvi_mesh(cbind(runif(30), runif(30)))
  square <- list(cbind(c(0, 1, 1, 0), c(0, 0, 1, 1)))
  expect_no_error(hat_integrals(mesh$nodes, mesh$triangles, square))
  expect_error(hat_integrals(mesh$nodes[1:9, ], mesh$triangles, square), "corner that is no node")
  expect_error(finite_elements(mesh$nodes, replace(mesh$triangles, 1L, NA)), "triangle 1 has a corner that is no node")
})

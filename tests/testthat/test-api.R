# What a user types and what comes back, from outside: promises of the interface that no other file holds.

api_data <- function() {
  data.frame(
    y = c(1.5, 2, 4, 3, 5, 6, 4.5, 3.2), b = c(0, 1, 1, 0, 1, 0, 1, 0), x = c(1, 2, 3, 5, 4, 6, 7, 8.5),
    z = c(2, 1, 0, 3, 1, 2, 2, 0), g = factor(c("u", "v", "u", "v", "u", "v", "v", "u")), k = c(8:1)
  )
}

held <- function(...) galvi(..., hyper = "fixed", verbose = FALSE)

# A response of eight rows for every family: that of the likelihood of its default link.
api_response <- function(name) {
  response <- default_twin(name)$response
  if (is.null(response)) stop("give the twin of ", name, " in helper-likelihoods.R a `response`")
  response
}

test_that("a misspelt kernel, or an argument of one, is named in both front ends", {
  d <- api_data()
  expect_error(held(y ~ gp(x, kernel = see()), d), "Did you mean `se`", class = "galvi_error_kernel")
  expect_error(held(d["x"], d$y, kernel = see()), "Did you mean `se`", class = "galvi_error_kernel")
  for (call in expression(
    held(y ~ gp(x, kernel = se(lenghtscale = 2)), d), held(d["x"], d$y, kernel = se(lenghtscale = 2))
  )) {
    expect_error(eval(call), "`lenghtscale`.*Did you mean `lengthscale`", class = "galvi_error_kernel")
  }
  expect_error(held(y ~ gp(x, kernel = nowhere), d), "`nowhere` is not found", class = "galvi_error_kernel")
  # columns of the data are not looked at
  expect_error(held(y ~ gp(x, kernel = k), d), "`kernel`", class = "galvi_error_kernel")
})

test_that("arguments that cannot be evaluated are errors about them", {
  d <- api_data()
  expect_error(held(y ~ gp(x), nowhere), "`data`", class = "galvi_error_data")
  expect_error(held(y ~ gp(x), d, binomal()), "`binomial`", class = "galvi_error_family")
  expect_error(held(b ~ gp(x), d, binomial(lnk = "probit")), "`lnk`.*`link`", class = "galvi_error_family")
  expect_error(held(y ~ x, d, prior = normall(0, 1)), "`normal`", class = "galvi_error_prior")
  expect_error(held(y ~ x, d, prior = normal(0, sdd = 1)), "`sdd`.*`sd`", class = "galvi_error_prior")
  expect_error(held(y ~ gp(x), d, start = nowhere), "`start`", class = "galvi_error_argument")
  expect_error(held(y ~ gp(x, scale = nowhere), d), "`scale`", class = "galvi_error_argument")
  expect_error(galvi_family(), "`family`", class = "galvi_error_family")
  expect_error(held(y ~ gpp(x), d), "Did you mean `gp`", class = "galvi_error_formula")
})

test_that("na.action is a function or its name, when fitting and when predicting", {
  d <- transform(api_data(), x = replace(x, 2, NA))
  fit <- held(y ~ gp(x), d, na.action = "na.exclude")
  expect_length(fitted(fit), 8L)
  expect_length(predict(fit, d, na.action = "na.omit"), 7L)
  expect_length(predict(fit, d, na.action = NULL), 8L)
  expect_error(predict(fit, d, na.action = "na.fail"), "row 2", class = "galvi_error_newdata")
  expect_error(predict(fit, d, na.action = 7), "`na.action`", class = "galvi_error_argument")
  expect_error(held(y ~ gp(x), d, na.action = "nowhere"), "`na.action`", class = "galvi_error_argument")
  # also where nothing is missing
  expect_error(held(y ~ gp(z), d, na.action = 3), "`na.action`", class = "galvi_error_argument")
})

test_that("variables without columns in a model matrix are named", {
  d <- api_data()
  d$words <- matrix(letters[1:2], 8L, 2L)
  d$complex <- 1i * d$x
  expect_error(held(y ~ words, d), "`words`", class = "galvi_error_data")
  expect_error(held(y ~ gp(words), d), "`words`", class = "galvi_error_data")
  expect_error(held(y ~ complex, d), "`complex`", class = "galvi_error_data")
  expect_error(held(y ~ g, d[1L, ]), "`g` has one level only", class = "galvi_error_data")
  expect_error(held(y ~ x, d, offset = g), "`offset`", class = "galvi_error_data")
  expect_error(held(y ~ x, transform(d, x = 1e200 * x)), "`x`", class = "galvi_error_data")
})

test_that("a dot does not stand for columns that names cannot tell apart", {
  d <- api_data()[c("y", "x", "z")]
  twice <- stats::setNames(d, c("y", "x", "x"))
  nameless <- stats::setNames(d, c("y", "x", ""))
  for (f in c(y ~ gp(.), y ~ .)) {
    expect_error(held(f, twice), "several columns named `x`", class = "galvi_error_data")
    expect_error(held(f, nameless), "without a name", class = "galvi_error_data")
  }
  inputs <- matrix(1:16 + 0, 8L, dimnames = list(NULL, c("a", "a")))
  expect_error(held(inputs, d$y), "several columns named `a`", class = "galvi_error_data")
  # no dot, no trouble
  expect_s3_class(held(y ~ gp(x), nameless), "galvi")
})

test_that("new data that give no finite prediction are an error, never NaN", {
  d <- api_data()
  fit <- held(y ~ z + gp(x), d)
  expect_error(predict(fit, data.frame(x = 1, z = -Inf)), "`z` must be finite", class = "galvi_error_newdata")
  # positions are those of newdata, missing rows counted
  newdata <- data.frame(x = c(NA, 1, 1), z = c(1, 1, 1e308))
  expect_error(predict(fit, newdata), "row 3", class = "galvi_error_newdata")
})

test_that("confint() names what it was asked for", {
  fit <- held(y ~ z, api_data())
  expect_error(confint(fit, 7), "\"7\"", class = "galvi_error_argument")
  expect_error(confint(fit, c("z", "q")), "\"q\"", class = "galvi_error_argument")
})

test_that("no steps of learning leave the hyperparameters at their starts", {
  d <- api_data()
  none <- galvi(b ~ gp(x), d, binomial(), control = galvi_control(hyper_iterations = 0), verbose = FALSE)
  expect_identical(none$hyper$estimate, held(b ~ gp(x), d, binomial())$hyper$estimate)
  expect_true(none$convergence$converged)
})

test_that("update() does not look the package up", {
  d <- api_data()
  fit <- held(y ~ gp(x), d)
  # an environment in which no galvi() is found
  local({
    galvi <- function(...) stop("not this one")
    expect_equal(formula(update(fit, . ~ . + z)), y ~ gp(x) + z, ignore_formula_env = TRUE)
    expect_identical(update(fit, . ~ . + z)$call[[1L]], quote(galvi))
    expect_identical(update(fit, family = poisson(), evaluate = FALSE)[[1L]], quote(galvi))
  })
})

test_that("frequency(2) is two rows, in every family and with both kinds of prior", {
  d <- api_data()
  weight <- rep(1:2, 4L)
  twice <- d[rep(seq_len(8L), weight), ]
  prior <- list(intercept = normal(0, 3), default = normal(0, 2))
  parameters <- list(
    gaussian = list(variance = fixed(0.5)), student = list(scale = 1), Gamma = list(shape = 2), inverse.gaussian = list(dispersion = 0.3),
    negbinomial = list(size = 3), beta_family = list(precision = 5), categorical = list(refcat = "b")
  )
  for (name in names(family_types)) {
    for (link in names(family_types[[name]]$links)) {
      family <- do.call(galvi_family, c(list(name, link = link), parameters[[name]]))
      d$r <- api_response(name)
      twice$r <- d$r[rep(seq_len(8L), weight)]
      for (f in c(r ~ z, r ~ z + gp(x, kernel = se(fixed(2), fixed(1))))) {
        # predictions are met to the square root of the bound's tolerance, weighted points where these have moments
        control <- galvi_control(tol = 1e-10, uncertainty = "factorised")
        weighted <- held(f, d, family, prior = prior, weights = frequency(weight), control = control)
        repeated <- held(f, twice, family, prior = prior, control = control)
        expect_equal(weighted$elbo, repeated$elbo, tolerance = 1e-7, info = paste(name, link))
        expect_equal(
          predict(weighted, d), predict(repeated, d), tolerance = tol$optimum, info = paste(name, link)
        )
      }
    }
  }
})

test_that("every family fits by formula and by columns, survives saveRDS and goes on from its own fit", {
  d <- api_data()
  for (name in names(family_types)) {
    d$r <- api_response(name)
    family <- galvi_family(name)
    by_formula <- held(r ~ gp(x, z), d, family)
    expect_true(by_formula$convergence$converged, info = name)
    by_columns <- held(d[c("x", "z")], d$r, family = family)
    expect_equal(by_formula$elbo, by_columns$elbo, tolerance = 1e-8, info = name)
    file <- local_file()
    saveRDS(by_formula, file)
    expect_identical(predict(readRDS(file), d), predict(by_formula, d), info = name)
    again <- update(by_formula, start = by_formula, hyper = "fixed")
    expect_equal(again$elbo, by_formula$elbo, tolerance = 1e-6, info = name)
    expect_output(print(by_formula), name)
    expect_output(print(summary(by_formula)), name)
    drawn <- simulate(by_formula, 2, seed = 1)
    expect_equal(dim(drawn), c(8L, 2L), info = name)
    expect_identical(class(drawn[[1L]]), class(d$r), info = name)
    expect_true(all(is.finite(residuals(by_formula, type = "quantile"))), info = name)
  }
})

test_that("an offset that is part of eta is the same as its intercept, in every family", {
  d <- api_data()
  for (name in setdiff(names(family_types), ordinal_families)) {
    d$r <- api_response(name)
    none <- held(r ~ z, d, galvi_family(name), prior = list(intercept = normal(1.3, 2), z = normal(0, 1)))
    moved <- held(r ~ z + offset(rep(1, 8)), d, galvi_family(name),
      prior = list(intercept = normal(0.3, 2), z = normal(0, 1)))
    expect_equal(moved$elbo, none$elbo, tolerance = 1e-8, info = name)
    # offsets that are symmetric in the classes cancel there, and the intercepts keep their priors' means
    expect_equal(moved$posterior$mean, none$posterior$mean, tolerance = 1e-4, info = name)
  }
})

test_that("learned parameters climb and are carried by start = fit", {
  d <- api_data()
  for (name in c("student", "laplace", "asymmetric_laplace", "negbinomial", "Gamma", "inverse.gaussian", "tweedie", "beta_family", ordinal_families)) {
    d$r <- api_response(name)
    family <- galvi_family(name)
    start <- galvi(r ~ z, d, family, control = galvi_control(hyper_iterations = 0), verbose = FALSE)
    # eight rows may send a parameter to the end of its range
    fit <- suppressWarnings(galvi(r ~ z, d, family, verbose = FALSE))
    expect_gte(fit$elbo, start$elbo - 1e-8)
    carried <- held(r ~ z, d, family, start = fit)
    expect_equal(carried$hyper$estimate, fit$hyper$estimate, tolerance = 1e-10, info = name)
    expect_equal(carried$elbo, fit$elbo, tolerance = 1e-6, info = name)
  }
})

test_that("thresholds are learned in order, and those of two levels are an intercept", {
  d <- api_data()
  d$r <- api_response("cumulative")
  fit <- galvi(r ~ z, d, cumulative(), verbose = FALSE)
  at <- grepl("^cumulative", fit$hyper$name)
  expect_equal(fit$hyper$name[at], c("cumulative.a|b", "cumulative.b|c"))
  expect_true(all(diff(fit$hyper$estimate[at]) > 0))
  # y <= "0" at threshold - eta: binomial with a flat intercept of minus the threshold
  ordinal <- held(factor(b, ordered = TRUE) ~ z, d, cumulative(thresholds = fixed(-0.4)),
    prior = list(intercept = normal(0, 1), z = normal(0, 1)))
  binary <- held(b ~ z, d, binomial(), prior = list(intercept = normal(0.4, 1), z = normal(0, 1)))
  expect_equal(ordinal$elbo, binary$elbo, tolerance = 1e-8)
  alone <- galvi(r ~ 1, d, cumulative(), verbose = FALSE)
  expect_equal(alone$elbo, sum(table(d$r) * log(table(d$r) / 8)), tolerance = 1e-6)
  expect_equal(unname(coef(alone)), 0)
})

test_that("two classes are one model by every family that has them", {
  d <- api_data()
  prior <- list(intercept = normal(0, 2), z = normal(0, 1))
  binary <- held(b ~ z + gp(x), d, binomial(), prior = prior)
  unordered <- held(b ~ z + gp(x), d, categorical(refcat = "0"), prior = prior)
  expect_equal(unordered$elbo, binary$elbo, tolerance = 1e-7)
  # the stick's first class is 0
  sticks <- held(b ~ z + gp(x), d, stick_breaking(), prior = prior)
  expect_equal(sticks$elbo, binary$elbo, tolerance = 1e-7)
  expect_equal(sticks$posterior$mean, -binary$posterior$mean, tolerance = 1e-4)
})

test_that("counts that are all zero fit: the intercept's prior decides how small their mean is", {
  d <- transform(api_data(), r = 0)
  for (family in list(poisson(), negbinomial())) {
    fit <- held(r ~ 1, d, family)
    expect_true(fit$convergence$converged)
    expect_lt(coef(fit), -3)
    narrow <- held(r ~ 1, d, family, prior = list(intercept = normal(0, 1)))
    expect_gt(coef(narrow), coef(fit))
  }
})

test_that("a latent value per class does not depend on the order of the levels, a stick does", {
  d <- api_data()
  d$r <- api_response("categorical")
  turned <- transform(d, r = factor(r, c("c", "a", "b")))
  expect_equal(
    held(r ~ z + gp(x), d, categorical())$elbo, held(r ~ z + gp(x), turned, categorical())$elbo,
    tolerance = 1e-7
  )
  a <- held(r ~ z + gp(x), d, stick_breaking())$elbo
  b <- held(r ~ z + gp(x), turned, stick_breaking())$elbo
  expect_gt(abs(a - b), 1e-4)
})

test_that("a kernel per class with equal values is the shared kernel", {
  d <- api_data()
  d$r <- api_response("categorical")
  for (family in list(categorical(), categorical("b"), stick_breaking())) {
    shared <- held(r ~ gp(x, kernel = se(2, 1.5)), d, family)
    own <- held(r ~ gp(x, kernel = per_class(se(2, 1.5))), d, family)
    expect_equal(own$elbo, shared$elbo, tolerance = 1e-8)
    expect_gt(nrow(own$hyper), nrow(shared$hyper))
    other <- held(r ~ gp(x, kernel = per_class(se(2, 1.5))), d, family,
      start = c("gp(x)[a].variance" = 9))
    expect_gt(abs(other$elbo - shared$elbo), 1e-4)
  }
})

test_that("every type of prediction has the same shape for the observations and for new rows", {
  d <- api_data()
  for (name in names(family_types)) {
    d$r <- api_response(name)
    missing <- transform(d[1:2, ], x = NA_real_)
    fit <- held(r ~ z + gp(x), d, galvi_family(name))
    numbers <- !name %in% class_families
    classes <- c(if (!numbers || name == "binomial") c("prob", "class"), if (numbers) "quantile")
    for (type in c("response", "link", "terms", "density", classes)) {
      old <- predict(fit, type = type)
      new <- predict(fit, d, type = type)
      expect_equal(old, new, tolerance = 1e-6, info = paste(name, type))
      expect_identical(NROW(predict(fit, d[0L, ], type = type)), 0L, info = paste(name, type))
      none <- predict(fit, missing, type = type)
      expect_true(NROW(none) == 2L && all(is.na(none)), info = paste(name, type))
    }
    sums <- predict(fit, d, type = "terms")
    eta <- predict(fit, d, type = "link")
    total <- if (length(dim(sums)) == 3L) apply(sums, c(1L, 3L), sum) else rowSums(sums)
    constant <- rep(attr(sums, "constant"), each = if (is.matrix(eta)) nrow(eta) else 1L)
    expect_equal(total + constant, eta, tolerance = 1e-8, info = name)
    if (name %in% class_families) {
      expect_equal(unname(rowSums(predict(fit, d, type = "prob"))), rep(1, 8L), info = name)
      expect_identical(colnames(predict(fit, d, type = "prob")), levels(d$r), info = name)
    }
  }
})

test_that("settings are checked however they came", {
  d <- api_data()
  control <- galvi_control()
  control$threads <- "a"
  expect_error(held(y ~ z, d, control = control), "`threads`", class = "galvi_error_argument")
  control <- galvi_control()
  control$bogus <- 1
  expect_error(held(y ~ z, d, control = control), "`bogus`", class = "galvi_error_argument")
  expect_error(galvi_control(max_iterations = 1e10), "2147483647", class = "galvi_error_argument")
  expect_error(held(y ~ gp(x, kernel = polynomial(1e6)), d), "`degree`", class = "galvi_error_kernel")
})

test_that("a column of newdata with nothing but NA predicts NA", {
  d <- api_data()
  fit <- held(y ~ x, d, offset = z)
  expect_identical(unname(predict(fit, transform(d[1:2, ], z = NA))), c(NA_real_, NA_real_))
  expect_identical(unname(predict(fit, transform(d[1:2, ], x = NA))), c(NA_real_, NA_real_))
  expect_length(predict(fit, d[0L, ]), 0L)
  expect_error(predict(fit, transform(d, z = "a")), "`offset` must be numbers", class = "galvi_error_newdata")
})

test_that("new rows of another width than the fit's are refused before they reach the core", {
  d <- api_data()
  d$m <- cbind(d$x, d$z)
  for (fit in list(held(y ~ m, d), held(y ~ gp(m), d))) {
    expect_length(predict(fit, d), 8L)
    expect_error(predict(fit, data.frame(m = 1:2)), "`m` must have 2 columns", class = "galvi_error_newdata")
    wide <- data.frame(row = 1:2)
    wide$m <- matrix(1, 2L, 3L)
    expect_error(predict(fit, wide), "`m` must have 2 columns", class = "galvi_error_newdata")
  }
  flags <- held(y ~ flag, transform(d, flag = x > 4))
  expect_error(predict(flags, data.frame(flag = 1)), "`flag` must be TRUE", class = "galvi_error_newdata")
})

test_that("no rows, and none without missing values, work for every kind of term", {
  d <- api_data()
  for (f in c(y ~ z + gp(x), y ~ gp(x, kernel = linear()), y ~ g + gp(x, by = g), y ~ 1)) {
    fit <- held(f, d)
    missing <- transform(d[1:2, ], x = NA_real_, z = NA_real_)
    for (type in c("response", "link", "terms", "quantile", "density")) {
      expect_identical(NROW(predict(fit, d[0L, ], type = type)), 0L)
      expect_identical(NROW(predict(fit, missing, type = type)), 2L)
    }
  }
})

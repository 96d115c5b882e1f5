skip_if_not_installed("mgcv")

# Gaussian models with flat slopes are gam()'s restricted maximum likelihood: the tolerances are those at which the two
# optimisers stop, in the scale of what users see.

test_that("smooths of one and two variables are those of gam()", {
  expect_as_gam(accel ~ s(times, k = 20), MASS::mcycle)
  expect_as_gam(accel ~ s(times, bs = "cc"), MASS::mcycle)
  expect_as_gam(accel ~ s(times, bs = "ps", k = 15, m = c(2, 1)), MASS::mcycle)
  d <- simulated()
  expect_as_gam(y ~ s(x, bs = "cr") + s(z), d)
  expect_as_gam(y ~ s(x, z, k = 20), d)
  expect_as_gam(y ~ te(x, z, k = 4), d)
  both <- expect_as_gam(y ~ t2(x, z, k = 4), d)
  # the level of gam(), too, not that of the constraint with which t2() is fitted
  intercept <- c(coef(both$gam)[[1]], vcov(both$gam)[1, 1])
  expect_equal(c(coef(both$galvi)[[1]], vcov(both$galvi)[1, 1]), intercept, tolerance = 1e-4)
  expect_as_gam(y ~ ti(x, k = 5) + ti(z, k = 5) + ti(x, z, k = 4), d)
  expect_as_gam(y ~ s(x) + s(z) + te(x, z, k = 4), d)
  expect_as_gam(y ~ s(x, pc = 0.5), d)
})

test_that("Gu and Wahba's additive model is that of gam()", {
  d <- with_seed(1, mgcv::gamSim(1, 200, verbose = FALSE, scale = 2))
  expect_as_gam(y ~ s(x0) + s(x1) + s(x2) + s(x3), d)
})

test_that("`by` is a factor, an ordered factor or numbers", {
  d <- simulated()
  both <- expect_as_gam(y ~ f + s(x, by = f) + s(z), d)
  expect_setequal(both$galvi$hyper$name[of_smooths(both$galvi)],
    c(sprintf("s(x, by = f)[%s].variance", c("a", "b", "c")), "s(z).variance"))
  d$o <- factor(d$f, ordered = TRUE)
  expect_as_gam(y ~ o + s(x) + s(x, by = o), d)
  expect_as_gam(y ~ s(x, by = w) + s(z), d)
  expect_as_gam(y ~ f + te(x, z, by = f, k = 3), d)
})

test_that("functional terms add up a function over the columns of a matrix", {
  d <- simulated(100)
  d$X <- matrix(seq(0, 1, length.out = 15), 100, 15, byrow = TRUE)
  d$L <- with_seed(2, matrix(stats::rnorm(1500), 100) / 15)
  d$y <- rowSums(d$L * sin(2 * pi * d$X)) * 10 + with_seed(3, stats::rnorm(100)) * 0.3
  fit <- expect_as_gam(y ~ s(X, by = L), d)$galvi
  panel <- panel_data(fit)[["s(X, by = L)"]]
  expect_lt(max(abs(panel$fit - 10 * sin(2 * pi * panel$X))), 2)
  expect_length(conditional_effects(fit), 0L)
})

test_that("effective degrees of freedom are those at the estimates, however uncertain these are", {
  d <- simulated()
  fit <- galvi(y ~ s(x), d)
  known <- galvi(y ~ s(x), d, control = galvi_control(uncertainty = "factorised"))
  expect_gt(length(fit$states), 1L)
  expect_equal(summary(fit)$smooths$edf, summary(known)$smooths$edf, tolerance = 1e-6)
})

test_that("sparse forms are those of gam(): regions, levels, random effects", {
  data(columb, columb.polys, package = "mgcv", envir = environment())
  xt <- list(polys = columb.polys)
  fit <- expect_as_gam(crime ~ s(district, bs = "mrf", xt = xt), columb)$galvi
  expect_identical(fit$solver, "sparse")
  # as gam()'s own, which counts the intercept apart
  expect_equal(summary(fit)$smooths$edf, 25.9455218285, tolerance = 1e-4)
  expect_as_gam(crime ~ s(district, bs = "mrf", k = 12, xt = xt) + s(income), columb)
  d <- simulated()
  fit <- expect_as_gam(y ~ s(x, g, bs = "fs", k = 5), d)$galvi
  expect_identical(fit$solver, "sparse")
  expect_as_gam(y ~ s(x) + s(g, bs = "re"), d)
  sphere <- with_seed(2, data.frame(la = asin(runif(150, -1, 1)) * 180 / pi, lo = runif(150, -180, 180)))
  sphere$y <- sin(sphere$lo * pi / 180) * cos(sphere$la * pi / 180) + with_seed(3, stats::rnorm(150)) * 0.3
  expect_as_gam(y ~ s(la, lo, bs = "sos", k = 30), sphere)
})

test_that("penalties that are not jointly diagonal are dense", {
  d <- simulated()
  fit <- expect_as_gam(y ~ te(x, z, w, bs = "cs", k = 3), d)$galvi
  expect_false(is.null(prior_terms(fit$model)[[2L]]$penalties[[1L]]$roots))
  expect_as_gam(y ~ te(x, z, bs = "cs", k = 4), d)
  # the smoothing parameters of adaptive smooths are not identified
  both <- fit_both(accel ~ s(times, bs = "ad", k = 20), MASS::mcycle)
  expect_lt(distances(both, MASS::mcycle$accel)$fit, 1e-3)
  # three margins, without the columns that two of them have
  air <- stats::na.omit(datasets::airquality)
  air$y <- air$Ozone^(1 / 3)
  expect_as_gam(y ~ te(Solar.R, Wind, Temp, k = 3), air)
})

test_that("counts and binary responses are near gam()'s modes", {
  d <- simulated(400)
  for (family in list(poisson(), binomial())) {
    formula <- if (family$family == "poisson") count ~ s(x) + s(z) else two ~ s(x) + s(z)
    far <- distances(fit_both(formula, d, family), 1)
    expect_lt(mean(far$sds), 0.12)
    expect_lt(max(far$sds), 0.25)
    expect_lt(far$sd, 0.05)
  }
})

test_that("q is the optimum of the bound", {
  # computed by other code, which converged to 1e-8: fixtures/README.md
  coal <- utils::read.csv(test_path("fixtures", "coal112.csv.gz"))
  known <- utils::read.csv(test_path("fixtures", "smooth_coal.csv"))
  fit <- galvi(y ~ s(x1), data = coal, family = poisson(), prior = flat_prior, control = known_hyper())
  expect_equal(1 / fit$hyper$estimate[fit$hyper$name == "s(x1).variance"], 0.062420194533, tolerance = 1e-3)
  own <- predict(fit, type = "link", se.fit = TRUE)
  expect_lt(max(abs(own$fit[known$row] - known$mean) / known$sd), 1e-3)
  expect_lt(max(abs(own$se.fit[known$row] / known$sd - 1)), 1e-3)
})

test_that("smooths are in other predictors and beside other terms", {
  fit <- galvi(list(accel ~ s(times, k = 20), sigma ~ s(times)), data = MASS::mcycle)
  expect_true(all(c("s(times).variance", "sigma.s(times).variance") %in% fit$hyper$name))
  gam <- mgcv::gam(list(accel ~ s(times, k = 20), ~ s(times)), data = MASS::mcycle, family = mgcv::gaulss(),
    method = "REML")
  # modes again, of a likelihood whose sigma is learned
  expect_gt(cor(predict(gam)[, 1L], predict(fit, type = "link")), 0.999)
  expect_no_error(predict(fit, data.frame(times = 10), exclude = "sigma.s(times)"))
  d <- simulated(80)
  full <- galvi(y ~ te(x, z, k = 3) + gp(w), data = d)
  expect_identical(full$solver, "dense_kernel")
  chain <- galvi(y ~ s(x, k = 5) + gp(z, kernel = matern32()), data = d)
  expect_identical(chain$solver, "markov")
  expect_no_error(galvi(f ~ s(x, k = 5), data = d, family = categorical()))
})

# ---- the basis and the core's term ----

test_that("a basis keeps the penalties and their null space", {
  d <- simulated(60)
  specs <- list(mgcv::s(x), mgcv::te(x, z, k = 4), mgcv::te(x, z, w, bs = "cs", k = 3), mgcv::s(x, bs = "ad", k = 12))
  for (spec in specs) {
    smooth <- mgcv::smoothCon(spec, d, absorb.cons = TRUE)[[1L]]
    basis <- penalised_basis(smooth, spec$label)
    expect_identical(ncol(basis$null) + ncol(basis$range), ncol(smooth$X))
    for (k in seq_along(smooth$S)) {
      S <- crossprod(basis$range, smooth$S[[k]] %*% basis$range)
      own <- if (is.null(basis$diagonal)) crossprod(basis$roots[[k]]) else diag(basis$diagonal[, k])
      expect_equal(S, own, tolerance = 1e-8, ignore_attr = TRUE)
      expect_lt(max(0, abs(smooth$S[[k]] %*% basis$null)), 1e-8 * max(abs(smooth$S[[k]])))
    }
  }
})

test_that("the evidence is that of the dense formula, and its gradient is zero where learning stops", {
  d <- simulated(60)
  # of diagonal and of dense penalties; the basis is found in the environment of the formula
  for (bs in c("cr", "cs")) {
    formula <- if (bs == "cr") y ~ te(x, z, bs = bs, k = 4) else y ~ te(x, z, w, bs = bs, k = 3)
    fit <- galvi(formula, data = d, control = known_hyper())
    evidence <- function(hyper) {
      terms <- prior_terms(fit$model)
      rows <- term_rows(fit$model)
      S <- rows[[1L]]$W %*% t(rows[[1L]]$W)
      term <- terms[[2L]]
      q <- length(term$mean)
      null <- rows[[2L]]$W[, seq_len(q), drop = FALSE]
      if (q) S <- S + tcrossprod(null) * hyper[term$factors[1L, 1L]]^2
      part <- term$penalties[[1L]]
      P <- if (is.null(part$roots)) diag(drop(part$diagonal %*% (1 / hyper[part$hyper]))) else {
        Reduce(`+`, Map(function(root, v) crossprod(root) / v, part$roots, hyper[part$hyper]))
      }
      range <- rows[[2L]]$W[, q + seq_len(nrow(P)), drop = FALSE]
      S <- S + range %*% solve(P, t(range)) + diag(hyper[length(hyper)], nrow(d))
      # the intercept's coded column carries its prior mean
      away <- d$y - rows[[1L]]$W %*% terms[[1L]]$mean
      R <- chol(S)
      -sum(log(diag(R))) - sum(backsolve(R, away, transpose = TRUE)^2) / 2 - nrow(d) * log(2 * pi) / 2
    }
    hyper <- fit$posterior$hyper
    expect_equal(evidence(hyper), c(logLik(fit)), tolerance = 1e-9)
    learned <- which(fit$model$hyper$learned)
    inside <- learned[fit$hyper$status[match(fit$model$hyper$name[learned], fit$hyper$name)] == "learned"]
    slope <- vapply(inside, function(h) {
      step <- function(by) evidence(replace(hyper, h, hyper[h] * exp(by)))
      (step(1e-3) - step(-1e-3)) / 2e-3
    }, 0)
    # hyper_tol is 1e-6 nats
    expect_lt(max(abs(slope)), 2e-3)
  }
})

test_that("rows and predictions are computed by the same basis", {
  d <- simulated()
  fit <- galvi(y ~ f + s(x, by = f) + te(x, z, k = 3) + s(w, g, bs = "fs", k = 4), data = d)
  for (t in seq_along(fit$design$specs)[-1L]) {
    rows <- spec_rows(fit$design$specs[[t]], fit$data)
    known <- term_rows(fit$model)[[t]]
    for (part in names(rows)) expect_equal(rows[[part]], known[[part]], tolerance = 1e-9, ignore_attr = TRUE)
  }
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), d[1:3, ]), predict(fit, d[1:3, ]))
})

# ---- use ----

test_that("predictions at new values, with missing ones, and without terms", {
  d <- simulated()
  d$x[3] <- NA
  fit <- galvi(y ~ s(x) + s(z) + f, data = d, subset = w > 0.1)
  expect_identical(nobs(fit), sum(d$w > 0.1 & !is.na(d$x)))
  new <- data.frame(x = c(0.2, NA), z = 0.5, f = "a")
  expect_identical(is.na(unname(predict(fit, new))), c(FALSE, TRUE))
  expect_error(predict(fit, new[c("x", "f")]), "no column `z`", class = "galvi_error_newdata")
  parts <- predict(fit, new[1L, ], type = "terms")
  expect_identical(colnames(parts), c("f", "s(x)", "s(z)"))
  whole <- predict(fit, new[1L, ])
  expect_equal(unname(predict(fit, new[1L, c("x", "f")], exclude = "s(z)")), unname(whole - parts[, "s(z)"]))
  expect_equal(unname(predict(fit, new[1L, ], exclude = "s(z, k = 5)")), unname(whole - parts[, "s(z)"]))
  expect_error(predict(fit, transform(new, f = "q")), "level \"q\"", class = "galvi_error_newdata")
  gp <- fit_both(y ~ s(x) + te(z, w, k = 3), simulated())
  new <- simulated(20, 9)
  expect_equal(unname(predict(gp$galvi, new)), c(unname(predict(gp$gam, new))), tolerance = 1e-3)
})

test_that("random effects and regions take new levels", {
  d <- simulated()
  fit <- galvi(y ~ s(x) + s(g, bs = "re") + s(g, z, bs = "re"), data = d)
  expect_setequal(fit$hyper$name[of_random_effects(fit)], c("s(g).variance", "s(g, z).variance"))
  one <- data.frame(x = 0.5, z = 0.2, g = "new")
  known <- predict(fit, one, se.fit = TRUE)
  expect_equal(known$fit, predict(fit, one, re_formula = NA), ignore_attr = TRUE)
  same <- galvi(y ~ s(x) + iid(g) + iid(g, by = z), data = d)
  expect_equal(c(logLik(fit)), c(logLik(same)), tolerance = 1e-8)
  data(columb, columb.polys, package = "mgcv", envir = environment())
  xt <- list(polys = columb.polys)
  part <- galvi(crime ~ s(district, bs = "mrf", xt = xt), data = columb[-5L, ])
  expect_true(is.finite(predict(part, columb[5L, ])))
  expect_error(predict(part, data.frame(district = "nowhere")), "no region", class = "galvi_error_newdata")
})

test_that("priors, fixed variances and shared ones", {
  d <- simulated(80)
  fit <- galvi(y ~ s(x) + s(z), data = d, prior = list(sds = half_normal(1), "s(z).slope" = normal(0, 3)))
  expect_identical(format(fit$prior[["s(x).sd"]]), format(half_normal(1)))
  expect_identical(format(fit$prior[["s(z).slope"]]), format(normal(0, 3)))
  prior <- list("s(x)" = list(variance = 2), "s(z)" = list(sds = half_normal(2)))
  fit <- galvi(y ~ s(x) + s(z), data = d, prior = prior)
  expect_identical(fit$hyper$estimate[fit$hyper$name == "s(x).variance"], 2)
  expect_identical(fit$hyper$status[fit$hyper$name == "s(x).variance"], "fixed")
  fit <- galvi(count ~ s(x, sp = 0.5), data = d, family = poisson())
  expect_identical(fit$hyper$estimate[fit$hyper$name == "s(x).variance"], 2)
  noise <- galvi_family(gaussian(), variance = fixed(0.5))
  fit <- galvi(y ~ s(x, sp = 2), data = d, family = noise)
  expect_identical(fit$hyper$estimate[fit$hyper$name == "s(x).variance"], 0.25)
  both <- expect_as_gam(y ~ s(x, id = 1) + s(z, id = 1), d)
  # whatever the units of x and z, of which the default prior of the intercept knows nothing
  both <- expect_as_gam(y ~ s(x, id = 1) + s(z, id = 1), transform(d, z = 20 + 5 * z))
  expect_equal(coef(both$galvi)[["(Intercept)"]], mean(d$y), tolerance = 0.01)
  expect_null(both$galvi$notes)
  expect_lt(max(abs(colMeans(predict(both$galvi, type = "terms")))), 1e-6)
  expect_identical(sum(of_smooths(both$galvi)), 1L)
  expect_identical(summary(both$galvi)$smooths$name, rep("s(x).variance", 2L))
  line <- galvi(y ~ s(x, fx = TRUE, k = 3), data = d, prior = flat_prior)
  expect_equal(unname(fitted(line)), unname(fitted(mgcv::gam(y ~ s(x, fx = TRUE, k = 3), data = d))), tolerance = 1e-6,
    ignore_attr = TRUE)
})

test_that("the default prior of what is not penalised does not depend on units", {
  d <- simulated(80)
  fit <- galvi(y ~ s(x), data = d)
  far <- galvi(y ~ s(x), data = transform(d, x = 1e3 * x + 500))
  expect_equal(fitted(fit), fitted(far), tolerance = 1e-4)
  # a variance of nearly zero leaves the straight line, whose prior is that of the slope
  held <- galvi(y ~ s(x), data = d, prior = list("s(x)" = list(variance = 1e-9)))
  expect_equal(c(logLik(held)), c(logLik(galvi(y ~ x, data = d))), tolerance = 1e-5)
})

test_that("derivatives and differences are those of the functions", {
  d <- simulated()
  fit <- galvi(y ~ f + s(x, by = f) + s(z) + s(w, g, bs = "fs", k = 4), data = d)
  at <- data.frame(f = "b", x = 0.4)
  slope <- derivatives(fit, "s(x, by = f)", data = at)
  expect_identical(names(slope)[1:8],
    c(".smooth", ".by", ".fs", ".derivative", ".se", ".crit", ".lower_ci", ".upper_ci"))
  new <- data.frame(f = "b", x = 0.4 + c(-1, 0, 1) * 1e-3, z = 0.5, w = 0.5, g = "a")
  values <- predict(fit, new, type = "terms")[, "s(x, by = f)"]
  # the error of a central difference with this step
  expect_equal(slope$.derivative, unname(values[3L] - values[1L]) / 2e-3, tolerance = 1e-3)
  V <- predict(fit, new, type = "link", covariance = TRUE, terms = "s(x, by = f)")$covariance
  expect_equal(slope$.se, sqrt(V[1, 1] + V[3, 3] - 2 * V[1, 3]) / 2e-3, tolerance = 1e-2)
  second <- derivatives(fit, "s(x, by = f)", data = at, order = 2)
  expect_equal(second$.derivative, unname(values[3L] - 2 * values[2L] + values[1L]) / 1e-6, tolerance = 1e-2)
  all <- derivatives(fit, n = 5, interval = "simultaneous")
  expect_identical(nrow(all), 15L + 5L + 30L)
  expect_setequal(all$.fs[all$.smooth == "s(w, g)"], levels(d$g))
  expect_true(all(all$.crit > 1.96))
  differences <- difference_smooths(fit, n = 3)
  of_pair <- differences$.level_1 == "a" & differences$.level_2 == "b"
  own <- differences[differences$.smooth == "s(x, by = f)" & of_pair, ]
  ends <- predict(fit, data.frame(f = c("a", "b"), x = own$x[2L], z = 0.5, w = 0.5, g = "a"), type = "terms")
  expect_equal(own$.diff[2L], unname(ends[1L, "s(x, by = f)"] - ends[2L, "s(x, by = f)"]), tolerance = 1e-6)
  expect_identical(sum(differences$.smooth == "s(w, g)"), 45L)
})

test_that("panels, effects and summaries know smooths", {
  d <- simulated()
  fit <- galvi(y ~ f + s(x, by = f) + te(z, w, k = 3) + s(x, g, bs = "fs", k = 4), data = d)
  expect_identical(names(panel_data(fit)), c("f", "s(x, by = f)", "te(z, w)", "s(x, g)"))
  expect_identical(levels(panel_data(fit, terms = "s(x, by = f)")[[1L]]$series), levels(d$f))
  expect_true(all(c("x", "z", "w", "z:w") %in% names(conditional_effects(fit, resolution = 5))))
  table <- summary(fit)$smooths
  expect_setequal(table$term, c("s(x, by = f)", "te(z, w)", "s(x, g)"))
  expect_output(print(fit), "Smooth terms")
  expect_identical(names(coef(fit)), c("(Intercept)", "fb", "fc"))
  plain <- fit_both(y ~ s(x) + te(z, w, k = 4), d)
  edf <- vapply(plain$gam$smooth, function(s) sum(plain$gam$edf[s$first.para:s$last.para]), 0)
  table <- summary(plain$galvi)$smooths
  expect_equal(table$edf[!is.na(table$edf)], edf, tolerance = 1e-3)
  # one whose columns are all penalised, as another has the rest
  nested <- summary(galvi(y ~ x + ti(x, z, k = 4) + ti(x, z, k = 3), data = d, hyper = "fixed"))$smooths
  expect_true(all(nested$edf[!duplicated(nested$term)] > 0))
  tight <- galvi(y ~ s(x, k = 6), data = transform(d, y = sin(12 * x)))
  expect_output(print(summary(tight)), "try a larger k")
})

test_that("rows may come from a source, be added, left out or imputed", {
  d <- simulated(3000)
  formula <- y ~ f + s(x, by = f, k = 6) + te(z, w, k = 3)
  fit <- galvi(formula, data = d)
  chunk <- 0
  read <- function(reset) {
    if (reset) return(chunk <<- 0)
    if (chunk == 30) return(NULL)
    chunk <<- chunk + 1
    d[(chunk - 1) * 100 + 1:100, ]
  }
  from <- galvi(formula, data = read)
  expect_equal(fitted(fit)[1:5], predict(from, d[1:5, ]), tolerance = 1e-2, ignore_attr = TRUE)
  first <- galvi(formula, data = d[1:200, ], hyper = "fixed")
  whole <- add_data(first, d[201:300, ])
  expect_lt(max(abs(predict(whole, d[1:5, ]) - d$y[1:5])), 2)
  folds <- kfold(galvi(y ~ s(x, k = 5), data = d[1:100, ]), K = 2)
  expect_true(is.finite(folds$estimates[1L, 1L]))
  parts <- lapply(1:2, function(i) transform(d[1:100, ], z = z + i / 50))
  expect_length(galvi(y ~ s(x, k = 5) + s(z, k = 5), data = parts)$fits, 2L)
})

test_that("what cannot be is an error that says what can", {
  d <- simulated(60)
  d$few <- rep(1:4, 15)
  d$text <- rep(c("u", "v"), 30)
  refused <- function(formula, class, pattern, ...) {
    expect_error(galvi(formula, data = d, ...), pattern, class = paste0("galvi_error_", class))
  }
  refused(y ~ s(few), "argument", "4 distinct values of `few`")
  refused(y ~ s(x, k = 100), "argument", "k = 100 is more than the 60 distinct")
  refused(y ~ te(x, few), "argument", "Distinct values: `x` 60, `few` 4")
  d$two <- rep(0:1, 30)
  refused(y ~ s(two), "argument", "at least three distinct values, and `two` has 2: use two or factor\\(two\\)")
  suppressMessages(refused(y ~ s(two, k = 2), "argument", "at least three distinct values"))
  refused(y ~ s(x, bs = c("cr", "tp")), "argument", "`bs` of s\\(\\) must be one name, not 2")
  refused(y ~ s(x, , k = 5), "formula", "argument 2 is empty")
  refused(y ~ s(x, k = ), "formula", "`k` is empty")
  refused(y ~ gp(x, ), "formula", "argument 2 is empty")
  refused(y ~ s(x, k = 2.5), "argument", "whole numbers")
  refused(y ~ s(x, by = nope), "data", "`nope`")
  refused(y ~ s(nope), "data", "`nope`")
  refused(y ~ s(x, bs = "xx"), "argument", "there is no basis `bs = \"xx\"`.*\"sz\"")
  refused(y ~ te(x, z, bs = c("cr", "zz")), "argument", "no basis `bs = \"zz\"`")
  refused(y ~ s(.), "formula", "cannot be in a smooth")
  refused(y ~ s(x, by = .), "formula", "not a dot")
  refused(y ~ s(), "formula", "no variable")
  refused(y ~ s(x, 20), "formula", "k = 20")
  refused(y ~ s(x + z), "formula", "separate variables by commas")
  refused(y ~ s(x, x), "formula", "twice")
  refused(y ~ s(x, kk = 20), "argument", "no argument `kk`")
  refused(y ~ s(x, k = unknown_size), "argument", "is not found")
  refused(y ~ s(text), "data", "is a factor")
  refused(y ~ s(x, f), "data", "bs = \"fs\"")
  refused(y ~ s(x, bs = "re"), "data", "random effects need a factor")
  refused(y ~ s(f, x, z, bs = "re"), "formula", "their product")
  refused(y ~ s(x, sp = 1), "argument", "learns the dispersion")
  refused(y ~ s(x, sp = 0), "argument", "fx = TRUE")
  refused(y ~ s(x, sp = 1:2), "argument", "1 number")
  refused(y ~ s(x, id = 1) + te(x, z, id = 1), "argument", "same `id`")
  refused(y ~ s(x) + s(x), "formula", "adds nothing")
  refused(y ~ mgcv::s(x), "formula", "write s\\(x\\)")
  refused(y ~ x * s(z), "formula", "s\\(z, by = x\\)")
  refused(s(y) ~ x, "formula", "right side")
  refused(y ~ s(x), "prior", "mean 0", prior = list("s(x).slope" = normal(1, 1)))
  refused(y ~ x, "prior", "for smooths", prior = list(sds = half_normal(1)))
  refused(y ~ s(x), "argument", "xt = list\\(knots", knots = list(x = 1:3))
  d$level <- factor(seq_len(60))
  refused(y ~ s(x, by = level, k = 100), "size", "6,000 columns")
})

test_that("a soap film ends at its boundary: beyond it predictions are missing and pictures blank", {
  set.seed(3)
  edge <- list(stats::setNames(mgcv::fs.boundary(), c("v", "w")))
  d <- data.frame(v = runif(500, -1, 4), w = runif(500, -1, 1), u = rnorm(500))
  # it knows variables by the names of its arguments
  inside <- function(v, w) mgcv::inSide(edge, v, w)
  d <- d[inside(d$v, d$w), ]
  d$y <- mgcv::fs.test(d$v, d$w, b = 1) + rnorm(nrow(d), 0, 0.3)
  knots <- data.frame(v = rep(seq(-0.5, 3, by = 0.5), 4), w = rep(c(-0.6, -0.3, 0.3, 0.6), each = 8))
  film <- y ~ u + s(v, w, k = 15, bs = "so", xt = list(bnd = edge, nmax = 60, knots = knots))
  fit <- galvi(film, data = d, prior = list(default = normal(0, Inf), intercept = normal(0, Inf)),
    control = galvi_control(uncertainty = "factorised"))
  gam <- mgcv::gam(y ~ u + s(v, w, k = 15, bs = "so", xt = list(bnd = edge, nmax = 60)), data = d, knots = knots,
    method = "REML")
  new <- data.frame(u = 1, v = c(0, 1, NA, 2), w = c(0, 0.5, 0, -0.5))
  expect_equal(predict(fit, new), predict(gam, new), tolerance = 1e-4, ignore_attr = TRUE) # two optimisers
  expect_identical(unname(is.na(predict(fit, new, interval = "credible")[, "upr"])), c(TRUE, FALSE, TRUE, FALSE))
  expect_identical(unname(is.na(predict(fit, new[-3, ], exclude = "s(v, w)"))), c(FALSE, FALSE, FALSE))
  expect_error(predict(fit, new[1:2, ], na.action = na.fail), "outside of the boundary of a smooth, row",
    class = "galvi_error_newdata")
  expect_error(galvi(film, data = rbind(d, data.frame(v = 0, w = 0, u = 0, y = 1))), "outside soap boundary",
    class = "galvi_error_argument")

  ce <- conditional_effects(fit, resolution = 20)
  there <- inside(ce$v$v, ce$v$w)
  expect_identical(is.na(ce$v$estimate__), !there)
  expect_true(any(there) && !all(there))
  # another variable is seen from inside
  expect_false(anyNA(ce$u$estimate__))
  pdf(NULL)
  on.exit(dev.off())
  drawn <- plot(fit, terms = "s(v, w)", n = 30)[[1L]]
  expect_identical(is.na(drawn$fit), !inside(drawn$v, drawn$w))
  expect_silent(plot(fit, terms = "s(v, w)", what = "sd", n = 30, too_far = Inf))
})

test_that("knots and smoothing parameters of gam() are put into the smooths of the call", {
  d <- simulated(60)
  said <- function(expr) gsub("\n", "", message_of_error(expr))
  expect_match(said(galvi(y ~ s(x, bs = "cc") + s(z), data = d, knots = list(x = c(0, 1)))),
    "s(x, bs = \"cc\", xt = list(knots = list(x = c(0, 1)))) + s(z)", fixed = TRUE)
  expect_match(said(galvi(y ~ x + s(x, z, xt = list(bnd = b)), data = d, knots = places)),
    "y ~ x + s(x, z, xt = list(bnd = b, knots = places))", fixed = TRUE)
  expect_match(said(galvi(y ~ s(x) + s(z), data = d, sp = c(1, 0.1))), "s(x, sp = 1) + s(z, sp = 0.1)", fixed = TRUE)
  for (knots in list(c(0, 1), list(z = c(0, 1)), list(c(0, 1)))) {
    expect_error(galvi(y ~ s(x, bs = "cc", xt = list(knots = knots)), data = d), "must be a list by the names",
      class = "galvi_error_argument")
  }
  expect_error(galvi(y ~ s(x, k = c(3, 4)), data = d), "must be one number, not 2", class = "galvi_error_argument")
})

test_that("matrices in a list of variables are the data's own", {
  set.seed(1)
  X <- matrix(runif(400), 100)
  L <- matrix(1, 100, 4)
  y <- rowSums(sin(6 * X)) + rnorm(100, 0, 0.3)
  fit <- galvi(y ~ s(X, by = L, k = 6), data = list(y = y, X = X, L = L))
  # not those of the same names where galvi() is called
  reversed <- galvi(y ~ s(X, by = L, k = 6), data = list(y = y, X = X[100:1, ], L = L))
  expect_lt(reversed$elbo, fit$elbo - 10)
  expect_error(galvi(y ~ s(X, by = L, k = 6), data = list(y = y, X = X[1:50, ], L = L)), "`X` has 50 rows",
    class = "galvi_error_data")
})

test_that("mgcv's warnings are messages", {
  expect_message(galvi(y ~ s(x, k = 1), data = simulated(60)), "mgcv says", class = "galvi_message_smooth")
})

# ---- sphere() ----

test_that("places on a sphere are where they are", {
  at <- sphere(c(0, 90, 45), c(0, 0, 90), radius = 2)
  expect_equal(at, rbind(c(2, 0, 0), c(0, 2, 0), c(0, 0, 2)), ignore_attr = TRUE)
  back <- degrees_of(sphere(c(-170, 30), c(-50, 80)))
  expect_equal(back$lon, c(-170, 30))
  expect_equal(back$lat, c(-50, 80))
  # no seam
  expect_lt(sqrt(sum(diff(sphere(c(-179.99, 179.99), c(10, 10)))^2)), 3)
  expect_error(sphere(10, 100), "between -90 and 90", class = "galvi_error_data")
  expect_error(sphere("a", 1), "must be numbers", class = "galvi_error_data")
  expect_error(sphere(1:2, 1), "same length", class = "galvi_error_data")
  expect_error(sphere(1, 1, radius = -1), "positive", class = "galvi_error_argument")
})

test_that("gp() takes them", {
  d <- with_seed(4, data.frame(lon = runif(60, -180, 180), lat = asin(runif(60, -1, 1)) * 180 / pi))
  d$y <- sin(d$lat * pi / 180) + with_seed(5, stats::rnorm(60)) * 0.1
  fit <- galvi(y ~ gp(sphere(lon, lat), kernel = matern52()), data = d)
  by_hand <- cbind(d["y"], sphere(d$lon, d$lat))
  same <- galvi(y ~ gp(x, y1, z, kernel = matern52()), data = stats::setNames(by_hand, c("y", "x", "y1", "z")))
  expect_equal(c(logLik(fit)), c(logLik(same)), tolerance = 1e-6)
  # the same place twice
  pole <- predict(fit, data.frame(lon = c(0, 120), lat = 90))
  expect_equal(pole[[1L]], pole[[2L]], tolerance = 1e-8)
  expect_error(galvi(y ~ gp(sphere(lat, lon)), data = d), "Longitude comes first", class = "galvi_error_data")
  expect_named(panel_data(fit)[[1L]], c("lon", "lat", "fit", "lwr", "upr", "far"), ignore.order = TRUE)
})

test_that("smooths that mgcv cannot tell apart are an error that says what to write", {
  d <- data.frame(x = (1:40) / 7, z = cos(1:40), y = sin(1:40))
  expect_error(galvi(y ~ t2(x, z, k = 4) + s(x, z, k = 4), d), "te\\(\\) and ti\\(\\)", class = "galvi_error_formula")
})

# Draws are compared with the posterior they come from: moments of S draws, in standard errors, and of all pairs of
# rows. Limits in standard errors: 4.8 is exceeded once in 600,000 normal numbers, and some have 5,000 to check.
draw_limit <- 5

field_data <- function(n = 40) {
  set.seed(2)
  d <- data.frame(x = rnorm(n), w = runif(n), g = sample(letters[1:4], n, TRUE), t = sample(1:6, n, TRUE),
    r = sample(1:9, n, TRUE), f = factor(sample(c("a", "b"), n, TRUE)))
  d$y <- rpois(n, exp(0.4 * d$x + 1))
  d$k <- factor(sample(letters[1:3], n, TRUE))
  d
}

lattice <- function() {
  A <- as.matrix(dist(expand.grid(1:3, 1:3))) < 1.1
  diag(A) <- FALSE
  A
}

expect_moments <- function(draws, mean, covariance) {
  S <- nrow(draws)
  sd <- sqrt(diag(covariance))
  expect_lt(max(abs(colMeans(draws) - mean) / sd) * sqrt(S), draw_limit)
  # of S products of standard normals with correlation r the mean has the variance (1 + r^2) / S
  r <- covariance / outer(sd, sd)
  expect_lt(max(abs(stats::cov(draws) - covariance) / outer(sd, sd) / sqrt(1 + r^2)) * sqrt(S), draw_limit)
}

test_that("draws have the joint posterior of the rows, in all solvers, at new levels and nodes too", {
  d <- field_data()
  graph <- lattice()
  new <- transform(d[1:15, ], t = t + 2L)
  new$g[1:3] <- "new"
  formulas <- list(
    y ~ x, y ~ gp(x, inducing = 6), y ~ x + iid(g), y ~ iid(g, by = w) + rw1(t), y ~ rw2(t, by = f) + x,
    y ~ x + gmrf(r, graph, model = "bym2"), y ~ ar1(t) + gp(x, inducing = 4), y ~ gp(x), y ~ gp(x) + iid(g)
  )
  for (formula in formulas) {
    fit <- galvi(formula, d, poisson(), hyper = "fixed")
    set.seed(4)
    for (newdata in list(NULL, new)) {
      joint <- predict(fit, if (is.null(newdata)) d else newdata, type = "link", covariance = TRUE)
      draws <- posterior_linpred.galvi(fit, newdata = newdata, ndraws = 6000)
      expect_moments(draws, joint$fit, joint$covariance)
    }
  }
})

test_that("rows left to the border have draws too: negative sites under constraints", {
  set.seed(3)
  d <- data.frame(t = 1:30, y = c(sin(1:29 / 4), 30))
  fit <- galvi(y ~ rw1(t), d, galvi_family("student", df = fixed(3), scale = fixed(0.2)), hyper = "fixed")
  joint <- predict(fit, d, type = "link", covariance = TRUE)
  expect_moments(posterior_linpred.galvi(fit, ndraws = 4000), joint$fit, joint$covariance)
})

test_that("1,000 draws of a smooth function at 1,000 close points are finite", {
  d <- data.frame(x = seq(0, 1, length.out = 20))
  d$y <- sin(6 * d$x)
  fit <- suppressWarnings(
    galvi(y ~ gp(x, kernel = se(fixed(1), fixed(0.5))), d, galvi_family("gaussian", variance = fixed(1e-10))),
    classes = "galvi_warning_numeric"
  )
  new <- data.frame(x = c(seq(0, 1, length.out = 500), seq(0.4, 0.4 + 1e-9, length.out = 500)))
  f <- posterior_linpred.galvi(fit, newdata = new, ndraws = 1000)
  expect_true(all(is.finite(f)))
  # exact at the points up to the noise, and one function: close points have the same values
  expect_lt(max(abs(f[, 501:1000] - f[, 501])), 1e-5)
})

test_that("one row, no rows, one draw and duplicated rows have draws, in all kinds of fits", {
  d <- field_data()
  d$u <- runif(40)
  d$v <- runif(40)
  mesh <- galvi_mesh(d[c("u", "v")], 0.2)
  fits <- list(
    galvi(y ~ gp(x) + iid(g), rbind(d, d), poisson(), hyper = "fixed"),
    galvi(w ~ gp(x, inducing = 40), rbind(d, d), hyper = "fixed"),
    galvi(y ~ rw2(t) + x, d, poisson(), hyper = "fixed"),
    suppressWarnings(galvi(y ~ spde(u, v, mesh = mesh), d, poisson(), hyper = "fixed")),
    galvi(k ~ gp(x), d, categorical(), hyper = "fixed"), galvi(k ~ x, d, categorical()),
    galvi(list(w ~ gp(x), sigma ~ x), d, hyper = "fixed")
  )
  for (fit in fits) {
    for (f in list(posterior_linpred.galvi, posterior_epred.galvi, posterior_predict.galvi)) {
      expect_identical(dim(f(fit, newdata = d[7, ], ndraws = 2))[1:2], c(2L, 1L))
      expect_identical(dim(f(fit, newdata = d[0, ], ndraws = 2))[1:2], c(2L, 0L))
      again <- f(fit, newdata = d[rep(1:9, 30), ], ndraws = 1)
      expect_identical(dim(again)[1:2], c(1L, 270L))
      expect_false(anyNA(again))
    }
  }
})

test_that("new units of a table of responses have draws of their entries", {
  set.seed(3)
  d <- data.frame(x = rnorm(30))
  d$Y <- matrix(rpois(90, 3), 30)
  fit <- galvi(responses(Y) ~ x + factors(1), d, poisson())
  new <- data.frame(x = c(-1, 1))
  draws <- posterior_epred.galvi(fit, newdata = new, ndraws = 4000)
  expect_identical(dim(draws), c(4000L, 6L))
  off <- (colMeans(draws) - as.vector(predict(fit, new))) / apply(draws, 2, sd) * sqrt(4000)
  expect_lt(max(abs(off)), draw_limit)
})

test_that("`seed` reproduces draws and leaves the state alone, and `draws` is another name of their number", {
  fit <- small_fit("counts")
  for (draw in list(posterior_linpred.galvi, posterior_epred.galvi, posterior_predict.galvi, log_lik.galvi)) {
    set.seed(1)
    state <- .Random.seed
    first <- draw(fit, draws = 4, seed = 7)
    expect_identical(.Random.seed, state)
    expect_identical(nrow(first), 4L)
    expect_identical(draw(fit, nsamples = 4, seed = 7), first)
    expect_false(identical(draw(fit, ndraws = 4, seed = 8), first))
    expect_error(draw(fit, seed = "a"), "`seed` must be a whole number", class = "galvi_error_argument")
  }
  for (draw in list(simulate, bayes_R2.galvi, as.matrix, function(fit, seed) hypothesis(fit, "x > 0", seed = seed))) {
    expect_error(draw(fit, seed = 1.5), "`seed` must be a whole number", class = "galvi_error_argument")
  }
})

test_that("set.seed() reproduces draws, and rows with missing values keep their places", {
  d <- field_data()
  fit <- galvi(y ~ x + iid(g), d, poisson())
  once <- function() {
    set.seed(9)
    posterior_predict.galvi(fit, ndraws = 5)
  }
  expect_identical(once(), once())
  new <- d[1:4, ]
  new$x[2] <- NA
  f <- posterior_epred.galvi(fit, newdata = new, ndraws = 7)
  expect_identical(dim(f), c(7L, 4L))
  expect_true(all(is.na(f[, 2])) && !anyNA(f[, -2]))
  expect_identical(colnames(f), row.names(new))
  expect_identical(dim(posterior_epred.galvi(fit, newdata = d[0, ], ndraws = 3)), c(3L, 0L))
})

test_that("means of draws are predictions, of responses, classes and log densities", {
  d <- field_data()
  S <- 4000
  expect_near <- function(draws, value) {
    se <- apply(draws, 2, sd) / sqrt(S)
    expect_lt(max(abs(colMeans(draws) - value) / se), draw_limit)
  }
  fit <- galvi(y ~ x + iid(g), d, poisson())
  set.seed(1)
  expect_near(posterior_epred.galvi(fit, ndraws = S), fitted(fit))
  expect_near(posterior_predict.galvi(fit, ndraws = S), fitted(fit))
  expect_near(exp(log_lik.galvi(fit, ndraws = S)), exp(predict(fit, d, type = "density")))
  classes <- galvi(k ~ x, d, categorical(refcat = "a"))
  p <- posterior_epred.galvi(classes, ndraws = S)
  expect_identical(dimnames(p)[[3]], c("a", "b", "c"))
  expect_near(p[, , "b"], predict(classes, type = "prob")[, "b"])
  k <- posterior_predict.galvi(classes, ndraws = S)
  expect_identical(attr(k, "levels"), c("a", "b", "c"))
  expect_near(matrix(k == 2, S), predict(classes, type = "prob")[, "b"])
  both <- galvi(list(dist ~ speed, sigma ~ speed), cars)
  expect_near(posterior_epred.galvi(both, dpar = "sigma", ndraws = S), predict(both, dpar = "sigma"))
  expect_identical(dim(posterior_linpred.galvi(both, ndraws = 3)), c(3L, 50L))
})

test_that("as_draws has coefficients and hyperparameters under their names, posterior_interval their limits", {
  skip_if_not_installed("posterior")
  d <- field_data()
  for (hyper in c("optimise", "integrate")) {
    fit <- galvi(y ~ x + iid(g, variance = pc(1)), d, poisson(), hyper = hyper)
    set.seed(1)
    draws <- posterior::as_draws(fit, ndraws = 4000)
    expect_identical(posterior::variables(draws), c(names(coef(fit)), fit$hyper$name))
    draws <- unclass(draws)
    expect_moments(draws[, names(coef(fit))], coef(fit), vcov(fit))
    limits <- posterior_interval.galvi(fit, prob = 0.8)
    expect_identical(rownames(limits), c(names(coef(fit)), fit$hyper$name[fit$hyper$status != "fixed"]))
    below <- colMeans(draws[, rownames(limits)] < rep(limits[, 1], each = 4000))
    expect_lt(max(abs(below - 0.1)), 0.025)
    expect_equal(posterior_interval.galvi(fit, 0.95)["iid(g).variance", ],
      unlist(fit$hyper[fit$hyper$name == "iid(g).variance", c("lwr", "upr")]), ignore_attr = TRUE)
    expect_identical(rownames(posterior_interval.galvi(fit, pars = "x")), "x")
  }
  expect_error(posterior_interval.galvi(fit, pars = "z"), class = "galvi_error_argument")
})

test_that("packages that take draws take these", {
  fit <- galvi(y ~ x + iid(g), field_data(), poisson())
  set.seed(1)
  if (requireNamespace("rstantools", quietly = TRUE)) {
    expect_identical(dim(rstantools::posterior_predict(fit, ndraws = 20)), c(20L, 40L))
    expect_identical(dim(rstantools::log_lik(fit, ndraws = 20)), c(20L, 40L))
  }
  if (requireNamespace("posterior", quietly = TRUE)) {
    expect_s3_class(posterior::as_draws_df(fit), "draws_df")
    expect_s3_class(posterior::summarise_draws(posterior::as_draws(fit), "mean", "sd"), "data.frame")
  }
  skip_if_not_installed("bayesplot")
  expect_s3_class(bayesplot::ppc_dens_overlay(field_data()$y, posterior_predict.galvi(fit, ndraws = 20)), "ggplot")
})

test_that("what cannot be drawn is said", {
  fit <- galvi(y ~ x, field_data(), poisson())
  expect_error(posterior_epred.galvi(fit, ndraws = 0), class = "galvi_error_argument")
  expect_error(posterior_epred.galvi(fit, newdata = data.frame(z = 1)), class = "galvi_error_newdata")
  expect_error(log_lik.galvi(fit, newdata = data.frame(x = 1)), class = "galvi_error_newdata")
})

test_that("the log likelihood of new units of responses() is refused by name", {
  skip_if_not_installed("rstantools")
  fit <- galvi(responses(as.matrix(iris[1:40, 1:4])) ~ factors(1))
  new <- data.frame(row.names = 1:2)
  expect_error(rstantools::log_lik(fit, newdata = new), "newdata", class = "galvi_error_argument")
})

test_that("draws have the offset of their row, that of newdata too", {
  d <- data.frame(y = rpois(20, 3), e = 1:20)
  fit <- galvi(y ~ 1 + offset(log(e)), d, poisson(), prior = list(intercept = normal(0, 1e-6)))
  expect_close(colMeans(posterior_linpred.galvi(fit, ndraws = 5)), log(d$e), 1e-5)
  expect_close(colMeans(posterior_linpred.galvi(fit, newdata = data.frame(e = c(7, 300)), ndraws = 5)), log(c(7, 300)), 1e-5)
})

test_that("points are drawn as often as their weights say, to one draw", {
  set.seed(3)
  weight <- c(0.5, 0, 0.001, 0.3, 0.199)
  for (n in c(10, 1000)) expect_lte(max(abs(tabulate(drawn_points(weight, n), 5) - n * weight)), 1)
})

test_that("coefficients that are known are drawn as such", {
  skip_if_not_installed("posterior")
  # the level of two classes is that of their threshold
  fit <- galvi(y ~ 1, data.frame(y = rep(0:1, c(4, 6))), "sratio")
  expect_identical(c(coef(fit), vcov(fit)), c("(Intercept)" = 0, 0))
  draws <- posterior::as_draws_matrix(posterior::as_draws(fit, ndraws = 3))
  expect_identical(as.vector(draws[, "(Intercept)"]), c(0, 0, 0))
})

test_that("as.matrix() and as.data.frame() have the draws of as_draws()", {
  fit <- small_fit("counts")
  draws <- as.matrix(fit, ndraws = 6, seed = 2)
  expect_identical(dim(draws), c(6L, length(coef(fit)) + sum(fit$hyper$status == "learned")))
  expect_identical(unname(draws), unname(as.matrix(as.data.frame(fit, ndraws = 6, seed = 2))))
  expect_identical(names(as.data.frame(fit, ndraws = 6)), colnames(draws))
  expect_error(as.matrix(fit, count = 6), class = "galvi_error_argument")
  skip_if_not_installed("posterior")
  expect_equal(unclass(posterior::as_draws(fit, ndraws = 6, seed = 2)), draws, ignore_attr = TRUE)
})

test_that("every form of draws has as many as were asked for, of the same seed", {
  skip_if_not_installed("posterior")
  fit <- small_fit("counts")
  draws <- posterior::as_draws(fit, ndraws = 7, seed = 2)
  for (form in c("matrix", "df", "list", "array", "rvars")) {
    of <- getExportedValue("posterior", paste0("as_draws_", form))
    own <- of(fit, ndraws = 7, seed = 2)
    expect_s3_class(own, paste0("draws_", form))
    expect_identical(own, of(draws), info = form)
    expect_identical(posterior::ndraws(of(fit, draws = 3)), 3L)
  }
})

test_that("families' own draws have the distribution that the core computes, at all of a parameter's values", {
  drawing <- names(Filter(function(entry) !is.null(entry$draw), family_types))
  expect_gte(length(drawing), 12)
  set.seed(11)
  n <- 4000
  # of uniform numbers: the largest distance of the distribution function is exceeded once in 10,000
  expect_uniform <- function(u, label) {
    expect_lt(max(abs(sort(u) - (seq_len(n) - 0.5) / n)), 2.23 / sqrt(n), label = label)
  }
  others <- c(0.4, -0.6, 0.3)
  for (name in drawing) {
    sets <- c(list(character()), strsplit(as.character(names(family_types[[name]]$with_predictors)), " "))
    for (predicted in unique(sets)) {
      formulas <- c(list(y ~ x), lapply(predicted, function(dpar) stats::reformulate("1", dpar)))
      fit <- suppressMessages(suppressWarnings(galvi(formulas,
        data.frame(y = family_types[[name]]$example, x = c(0, 1, 3)), name, hyper = "fixed",
        control = galvi_control(max_iterations = 1, uncertainty = "factorised"))))
      learned <- fit$model$likelihood$hyper
      for (factor in c(0.5, 1, 3, if (name == "skew_normal") -2)) {
        at <- list(power = 1 + factor / 4, sigma = abs(factor), cuts = c(-factor, factor))
        for (role in names(learned)) fit$posterior$hyper[learned[[role]]] <- or_else(at[[role]], factor)
        for (first in c(-2, 0.5)) {
          size <- if (grepl("binomial", name)) 7 else 1
          target <- list(n = n, size = rep(size, n))
          eta <- matrix(c(first, others)[seq_len(n_predictors(fit))], n, n_predictors(fit), byrow = TRUE)
          y <- family_draws(fit, target, eta)
          known <- list(mean = eta, variance = 0 * eta)
          cdf <- function(y) response_moment(fit, known, "cdf", size = target$size, y = y)
          # a value of positive probability stands for its share of the unit interval
          point <- y %in% family_types[[name]]$point
          before <- if (is_discrete(fit)) cdf(y - 1) else ifelse(point, ifelse(y == 1, cdf(1 - 1e-12), 0), cdf(y))
          label <- paste(c(name, predicted, factor, first), collapse = " ")
          expect_uniform(before + stats::runif(n) * (cdf(y) - before), label)
        }
        if (!length(learned)) break
      }
    }
  }
})

test_that("rows of which a family's own draws do not tell are drawn by quantiles", {
  set.seed(12)
  d <- data.frame(x = rnorm(60), w = rep(c(0.1, 10), 30))
  d$y <- rgamma(60, 5, 5)
  fits <- list(
    galvi(y | trunc(lb = 0.5) ~ x, d[d$y > 0.5, ], Gamma("log")), galvi(y ~ x, d, Gamma("log"), weights = w)
  )
  for (fit in fits) {
    target <- training_target(fit)
    expect_null(family_draws(fit, target, matrix(0, target$n, n_latents(fit))))
  }
  # no generator of R's has such means
  large <- suppressWarnings(galvi(y ~ 1, data.frame(y = c(1, 2, 1)), "poisson", hyper = "fixed"))
  expect_null(family_draws(large, list(n = 1L, size = 1), matrix(800)))
})

test_that("intervals and errors of rstantools are those of drawn responses", {
  skip_if_not_installed("rstantools")
  fit <- galvi(dist ~ speed, cars, verbose = FALSE)
  drawn <- rstantools::posterior_predict(fit, ndraws = 40, seed = 1)
  limits <- rstantools::predictive_interval(fit, prob = 0.8, ndraws = 40, seed = 1)
  expect_equal(limits, t(apply(drawn, 2L, quantile, c(0.1, 0.9))), ignore_attr = TRUE)
  expect_equal(rstantools::predictive_error(fit, ndraws = 40, seed = 1), rep(cars$dist, each = 40) - drawn,
    ignore_attr = TRUE)
  new <- data.frame(speed = c(5, NA, 10), dist = c(1, 2, 3))
  error <- rstantools::predictive_error(fit, new, ndraws = 5, seed = 1)
  expect_equal(error, rep(new$dist, each = 5) - rstantools::posterior_predict(fit, new, ndraws = 5, seed = 1),
    ignore_attr = TRUE)
  expect_error(rstantools::predictive_error(fit, data.frame(speed = 1)), class = "galvi_error_newdata")
  expect_error(
    rstantools::predictive_error(galvi(factor(am) ~ wt, mtcars, binomial(), verbose = FALSE)), NA
  )
  expect_error(
    rstantools::predictive_error(galvi(factor(gear) ~ wt, mtcars, categorical(), verbose = FALSE)), "numbers",
    class = "galvi_error_argument"
  )
})

test_that("simulate(re.form = ) draws the effects of new groups that it leaves out, as lme4 does", {
  skip_if_not_installed("lme4")
  d <- as.data.frame(nlme::Orthodont)
  of_sims <- function(fit, what, ...) apply(as.matrix(simulate(fit, 400, seed = 1, ...)), 2L, what)
  slopes <- function(y) {
    var(vapply(split(seq_along(y), d$Subject), function(i) stats::cov(y[i], d$age[i]) / var(d$age[i]), 0))
  }
  levels <- function(y) var(tapply(y, d$Subject, mean))
  sexes <- function(y) diff(tapply(y, d$Sex, mean))^2
  # means of 400 simulations each, that differ by their Monte Carlo errors; the same estimates, known, as those of lmer()
  expect_alike <- function(a, b) expect_lt(abs(mean(a) - mean(b)), 4 * sqrt((var(a) + var(b)) / 400))
  control <- galvi_control(uncertainty = "factorised")
  d$half <- factor(as.integer(d$Subject) %% 2)
  d$id <- (as.integer(d$Subject) + 1) %/% 2
  for (formula in list(distance ~ age + (age | Subject), distance ~ age + (1 | id / half))) {
    ours <- galvi(formula, d, control = control, verbose = FALSE)
    theirs <- suppressMessages(suppressWarnings(lme4::lmer(formula, d)))
    for (what in list(slopes, levels)) {
      expect_alike(of_sims(ours, what, re.form = NA), of_sims(theirs, what, re.form = NA))
      expect_alike(of_sims(ours, what, re.form = ~0, newdata = d), of_sims(theirs, what, re.form = NA))
    }
  }
  # one of two groupings is kept
  ours <- galvi(distance ~ 1 + iid(Subject) + (1 | Sex), d, control = control, verbose = FALSE)
  theirs <- lme4::lmer(distance ~ 1 + (1 | Subject) + (1 | Sex), d)
  expect_alike(of_sims(ours, sexes, re.form = ~ (1 | Sex)), of_sims(theirs, sexes, re.form = ~ (1 | Sex)))
  expect_alike(of_sims(ours, levels, re.form = ~ (1 | Sex)), of_sims(theirs, levels, re.form = ~ (1 | Sex)))
  # DHARMa's simulations
  drawn <- with_seed(1, getSimulations.galvi(ours, 3, "unconditional"))
  expect_equal(drawn, unname(as.matrix(with_seed(1, simulate(ours, 3, re.form = NA)))))
  # NULL conditions, and re_formula leaves out, as in brms
  expect_identical(simulate(ours, 2, seed = 1, re.form = NULL), simulate(ours, 2, seed = 1))
  expect_lt(mean(of_sims(ours, levels, re_formula = NA)), 0.5 * mean(of_sims(ours, levels)))
})

test_that("simulate(re.form = ) takes groups of several predictors, of stages and of some levels, or says why not", {
  d <- field_data()
  # new groups differ, old ones have effects that are known
  between <- function(fit, ...) {
    sims <- as.matrix(simulate(fit, 200, seed = 1, ...))
    mean(apply(sims, 2L, function(y) var(tapply(as.numeric(y), d$g, mean))))
  }
  known <- fixed(2)
  for (fit in list(
    galvi(y ~ x + (1 | g), d, family = poisson(), prior = list(sd = known)),
    galvi(list(y ~ 1, zi ~ 1 + (1 | g)), d, family = zero_inflated(poisson()), prior = list(zi = list(sd = known))),
    galvi(list(w ~ 1 + (1 | g), sigma ~ 1), d, prior = list(sd = known)),
    galvi(y ~ x + iid(g, by = f, variance = fixed(4)), d, family = poisson())
  )) expect_gt(between(fit, re.form = NA), 1.5 * between(fit, re_formula = NA))
  ordered <- galvi(k ~ cs(x) + (1 | g), transform(d, k = factor(k, ordered = TRUE)), family = sratio())
  expect_named(table(simulate(ordered, seed = 1, re.form = NA)[[1L]]), c("a", "b", "c"))
  # a level that looks like a new one
  d$h <- ifelse(d$g == "a", "b'", d$g)
  fit <- galvi(w ~ 1 + (1 | h), d, prior = list(sd = known, sigma = fixed(0.01)))
  moved <- as.matrix(simulate(fit, 100, seed = 1, re.form = NA))
  expect_gt(min(apply(moved, 1L, sd)), 1)
  two <- galvi(w ~ x + (x | g), d, prior = list(sd = known, cor = fixed(0)))
  refused <- function(fit, ...) expect_error(simulate(fit, ...), "re.form", class = "galvi_error_argument")
  refused(two, re.form = ~ (1 | g))
  refused(two, re.form = NA, re_formula = NA)
  refused(two, re.form = "integrate")
  refused(galvi(w ~ ou(t | g), d), re.form = NA)
  A <- diag(4) + 0.1
  dimnames(A) <- list(letters[1:4], letters[1:4])
  refused(galvi(w ~ (1 | gr(g, cov = A)), d), re.form = NA)
})

test_that("words of brms and rstanarm are understood, or errors that say what there is", {
  skip_if_not_installed("rstantools")
  skip_if_not_installed("posterior")
  fit <- galvi(Reaction ~ Days + (1 | Subject), sleepstudy)
  new <- data.frame(Days = 1, Subject = c("308", "zz"))
  functions <- list(rstantools::posterior_epred, rstantools::posterior_linpred, rstantools::posterior_predict)
  for (f in functions) {
    for (word in c("allow_new_levels", "allow.new.levels")) {
      draw <- function(rows, value) {
        do.call(f, c(list(fit, newdata = new[rows, ], ndraws = 3), stats::setNames(list(value), word)))
      }
      expect_error(draw(1:2, FALSE), "`Subject`", class = "galvi_error_newdata")
      expect_identical(dim(draw(1, FALSE)), c(3L, 1L))
      expect_identical(dim(draw(1:2, TRUE)), c(3L, 2L))
    }
    for (word in c("offset", "draw_ids", "resp", "nlpar")) {
      refused <- stats::setNames(list(1:2), word)
      expect_error(do.call(f, c(list(fit), refused)), paste0("`", word, "`"), class = "galvi_error_argument")
    }
    expect_identical(f(fit, ndraws = 3, seed = 1, draw_ids = NULL, other = 1), f(fit, ndraws = 3, seed = 1))
  }
  expect_error(simulate(fit, newdata = new, allow_new_levels = FALSE), class = "galvi_error_newdata")
  expect_identical(rstantools::posterior_predict(fit, ndraws = 3, seed = 1, fun = "log"),
    log(rstantools::posterior_predict(fit, ndraws = 3, seed = 1)))
  expect_error(rstantools::posterior_epred(fit, fun = log), "to the draws", class = "galvi_error_argument")
  expect_error(rstantools::predictive_error(fit, fun = log), "`fun`", class = "galvi_error_argument")
  # parameters
  all <- rstantools::posterior_interval(fit)
  expect_identical(rstantools::posterior_interval(fit, variable = "Days"), all["Days", , drop = FALSE])
  expect_identical(rownames(rstantools::posterior_interval(fit, regex_pars = "^Day", pars = "(Intercept)")),
    c("(Intercept)", "Days"))
  expect_identical(posterior::variables(posterior::as_draws_df(fit, ndraws = 2, variable = "^Da", regex = TRUE)), "Days")
  expect_error(posterior::as_draws(fit, variable = "b_Days"), "`variable` .*\"b_Days\".*\"Days\"",
    class = "galvi_error_argument")
  # criteria of the rows of the fit
  r_squared <- function(...) rstantools::bayes_R2(fit, ndraws = 5, seed = 1, ...)
  expect_identical(r_squared(re.form = NA), r_squared(re_formula = NA))
  expect_false(identical(r_squared(re.form = NA), r_squared()))
  expect_identical(rstantools::loo_R2(fit, ndraws = 5, seed = 1), rstantools::loo_R2(fit, ndraws = 5, seed = 1))
  expect_error(r_squared(newdata = new), "`newdata`", class = "galvi_error_argument")
  skip_if_not_installed("loo")
  for (f in list(loo::loo, loo::waic, loo::kfold)) {
    expect_error(f(fit, newdata = sleepstudy[1:20, ]), "`newdata`", class = "galvi_error_argument")
    expect_error(f(fit, re_formula = NA), "`re_formula`", class = "galvi_error_argument")
  }
  expect_error(loo::kfold(fit, K = 3, Ksub = 1), "`folds`", class = "galvi_error_argument")
})

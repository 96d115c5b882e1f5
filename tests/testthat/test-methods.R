test_that("coef, vcov and confint describe one Gaussian posterior", {
  fit <- without_points(small_fit("flat"))
  beta <- coef(fit)
  V <- vcov(fit)
  expect_named(beta, c("(Intercept)", "wt", "factor(gear)4", "factor(gear)5"))
  expect_identical(rownames(V), names(beta))
  expect_equal(V, t(V))
  expect_true(all(eigen(V)$values > 0))
  limits <- confint(fit, level = 0.9)
  expect_identical(dimnames(limits), list(names(beta), c("5 %", "95 %")))
  expect_equal(limits[, 2], beta + qnorm(0.95) * sqrt(diag(V)))
  expect_equal(confint(fit, "wt"), confint(fit)["wt", , drop = FALSE])
  expect_equal(confint(fit, 2), confint(fit, "wt"))
  expect_error(confint(fit, "weight"), "wt", class = "galvi_error_argument")
  expect_identical(confint(fit, "beta_"), confint(fit))
  expect_error(confint(fit, "theta_"), "as.data.frame(VarCorr(fit, level = 0.95))", fixed = TRUE, class = "galvi_error_argument")
  expect_equal(nlme::fixef(fit), beta)
  X <- model.matrix(am ~ wt + factor(gear), mtcars)
  expect_equal(predict(fit, type = "link"), drop(X %*% beta), tolerance = 1e-7)
  se <- predict(fit, type = "link", se.fit = TRUE)$se.fit
  expect_equal(se, sqrt(rowSums((X %*% V) * X)), tolerance = 1e-6)
})

test_that("a flat prior and a gaussian response give lm()", {
  fit <- galvi(weight ~ group, data = PlantGrowth, family = galvi_family("gaussian", variance = fixed(0.4)),
    prior = list(intercept = normal(0, 1e4), default = normal(0, 1e4)))
  reference <- lm(weight ~ group, data = PlantGrowth)
  expect_equal(coef(fit), coef(reference), tolerance = 1e-5)
  expect_equal(vcov(fit), vcov(reference) * 0.4 / sigma(reference)^2, tolerance = 1e-5)
})

test_that("a fit without fixed effects has none", {
  fit <- galvi(dist ~ 0 + gp(speed), data = cars, hyper = "fixed")
  expect_length(coef(fit), 0L)
  expect_identical(dim(vcov(fit)), c(0L, 0L))
  expect_identical(nrow(confint(fit)), 0L)
  expect_output(print(summary(fit)), "Fixed effects: none")
})

test_that("ranef gives the coefficients of terms that are columns", {
  fit <- galvi(mpg ~ 1 + gp(wt, hp, kernel = linear(ard = TRUE)), data = mtcars, hyper = "fixed")
  random <- nlme::ranef(fit)
  expect_named(random, "gp(wt, hp)")
  expect_named(random[[1]], c("mean", "sd"))
  expect_identical(nrow(random[[1]]), 2L)
  expect_length(nlme::ranef(small_fit("gaussian")), 0L)
})

test_that("logLik is the bound, says so, and feeds AIC and BIC", {
  fit <- small_fit("binary")
  l <- logLik(fit)
  expect_s3_class(l, "logLik")
  expect_equal(as.numeric(l), fit$elbo)
  expect_identical(attr(l, "nobs"), 32L)
  expect_identical(attr(l, "df"), sum(fit$hyper$status != "fixed"))
  expect_output(print(l), "lower bound")
  expect_output(print(logLik(small_fit("gaussian"))), "exact")
})

test_that("AIC and BIC of the bound warn, name loo() and give what their formulas say", {
  fit <- small_fit("binary")
  other <- small_fit("flat")
  l <- logLik(fit)
  aic <- -2 * fit$elbo + 2 * attr(l, "df")
  bic <- -2 * fit$elbo + log(32) * attr(l, "df")
  warns <- function(x) {
    expect_warning(value <- x, "loo\\(\\)", class = "galvi_warning_evidence")
    value
  }
  expect_equal(warns(AIC(fit)), aic)
  expect_equal(warns(AIC(l)), aic)
  expect_equal(warns(BIC(fit)), bic)
  expect_equal(warns(BIC(l)), bic)
  expect_equal(warns(AIC(fit, k = 5)), -2 * fit$elbo + 5 * attr(l, "df"))
  both <- warns(AIC(fit, other))
  expect_identical(rownames(both), c("fit", "other"))
  expect_equal(both$AIC[1], aic)
  expect_equal(warns(BIC(fit, other))$BIC[1], bic)
})

test_that("accessors answer as users of glm expect", {
  fit <- small_fit("counts")
  expect_identical(nobs(fit), 72L)
  expect_identical(formula(fit), fit$formula)
  expect_s3_class(terms(fit), "terms")
  expect_s3_class(family(fit), "family")
  expect_identical(family(fit)$family, "poisson")
  expect_identical(nrow(model.frame(fit)), 72L)
  expect_equal(weights(fit), rep(1, 72), ignore_attr = TRUE)
  expect_equal(fitted(fit), predict(fit))
  expect_identical(sigma(fit), 1)
  expect_equal(sigma(small_fit("gaussian")), sqrt(230))
})

test_that("update changes the formula and the arguments", {
  fit <- small_fit("flat")
  fewer <- update(fit, . ~ . - factor(gear))
  expect_identical(deparse(formula(fewer)), "am ~ wt")
  expect_named(coef(fewer), c("(Intercept)", "wt"))
  logged <- update(small_fit("gaussian"), sqrt(dist) ~ .)
  expect_identical(formula(logged)[[2]], quote(sqrt(dist)))
  probit <- update(fit, family = binomial("probit"), evaluate = FALSE)
  expect_identical(probit$family, quote(binomial("probit")))
  more <- update(fit, . ~ . + gp(hp), evaluate = FALSE)
  expect_true("gp(hp)" %in% attr(terms(more$formula), "term.labels"))
})

test_that("update keeps a dot inside a term and finds data given first", {
  fit <- mtcars[c("am", "wt", "hp")] |> galvi(am ~ 0 + gp(.), family = binomial(), hyper = "fixed")
  wider <- update(fit, family = binomial("probit"))
  expect_identical(wider$family$link, "probit")
  expect_identical(nobs(wider), 32L)
})

test_that("residuals are what their names say", {
  for (name in c("gaussian", "binary", "trials", "counts")) {
    fit <- small_fit(name)
    y <- fit$model$y / fit$model$size
    expect_equal(residuals(fit), y - fitted(fit), ignore_attr = TRUE)
    expect_identical(sign(residuals(fit, "deviance")), sign(residuals(fit)))
    expect_equal(sum(residuals(fit, "deviance")^2), deviance(fit))
    set.seed(1)
    q <- residuals(fit, "quantile")
    expect_true(all(is.finite(q)))
    expect_named(q, row.names(small_data(name)))
  }
  gaussian <- small_fit("gaussian")
  expect_equal(residuals(gaussian, "quantile"), residuals(gaussian, "pearson"), tolerance = 1e-6)
  link <- predict(gaussian, type = "link", se.fit = TRUE)
  expect_equal(residuals(gaussian, "pearson"), (cars$dist - link$fit) / sqrt(link$se.fit^2 + 230),
    tolerance = 1e-6, ignore_attr = TRUE)
})

test_that("deviance is glm()'s where the posterior is narrow", {
  big <- data.frame(y = c(4000, 9000), n = 10000, x = 0:1)
  fit <- galvi(cbind(y, n - y) ~ x, data = big, family = binomial(), hyper = "fixed", prior = normal(0, 100))
  expect_lt(deviance(fit), 0.01)
  counts <- small_fit("counts")
  reference <- glm(count ~ spray + offset(log(size)), data = spray_table(), family = poisson())
  expect_equal(deviance(counts), deviance(reference), tolerance = 0.02)
})

test_that("quantile residuals are standard normal under the model and repeat with the seed", {
  d <- data.frame(x = seq(0, 1, length.out = 400))
  set.seed(3)
  d$y <- rpois(400, exp(1 + d$x))
  fit <- galvi(y ~ x, data = d, family = poisson(), hyper = "fixed")
  set.seed(4)
  q <- residuals(fit, "quantile")
  expect_gt(ks.test(q, "pnorm")$p.value, 0.001)
  set.seed(4)
  expect_identical(residuals(fit, "quantile"), q)
})

test_that("simulate draws from the posterior predictive, repeats, and says with which seed", {
  fit <- small_fit("counts")
  s <- simulate(fit, nsim = 300, seed = 11)
  expect_s3_class(s, "data.frame")
  expect_identical(dim(s), c(72L, 300L))
  expect_identical(names(s)[c(1, 300)], c("sim_1", "sim_300"))
  expect_identical(s, simulate(fit, nsim = 300, seed = 11))
  expect_identical(as.numeric(attr(s, "seed")), 11)
  # as methods of stats: the generator goes on as if nothing had been drawn, and the attribute repeats a call
  twin <- lm(mpg ~ wt, mtcars)
  expect_identical(attr(s, "seed"), attr(simulate(twin, seed = 11), "seed"))
  after <- function(draw) {
    set.seed(3)
    draw()
    runif(1)
  }
  expect_identical(after(function() simulate(fit, seed = 11)), after(function() NULL))
  unseeded <- simulate(fit)
  assign(".Random.seed", attr(unseeded, "seed"), envir = globalenv())
  expect_identical(simulate(fit), unseeded)
  m <- as.matrix(s)
  expect_true(all(m >= 0 & m == round(m)))
  standard_error <- apply(m, 1, sd) / sqrt(300)
  expect_lt(max(abs(rowMeans(m) - predict(fit)) / standard_error), 4.5)
  set.seed(5)
  first <- simulate(fit)
  expect_identical(attr(first, "seed"), {
    set.seed(5)
    .Random.seed
  })
})

test_that("simulated gaussian responses have the joint covariance of the prediction", {
  fit <- small_fit("gaussian")
  m <- as.matrix(simulate(fit, nsim = 4000, seed = 2))
  V <- predict(fit, type = "link", covariance = TRUE)$covariance + diag(230, 50)
  expect_equal(cov(t(m))[c(1, 25, 50), c(1, 25, 50)], V[c(1, 25, 50), c(1, 25, 50)], tolerance = 0.1)
})

test_that("simulate and residuals take new data", {
  fit <- small_fit("gaussian")
  new <- data.frame(speed = c(8, NA, 30), dist = c(20, 1, 150), row.names = c("u", "v", "w"))
  s <- simulate(fit, 2000, seed = 1, newdata = new["speed"])
  expect_identical(dim(s), c(3L, 2000L))
  expect_identical(row.names(s), row.names(new))
  m <- as.matrix(s)
  expect_true(all(is.na(m["v", ])))
  wanted <- predict(fit, new, type = "link", covariance = TRUE)
  V <- wanted$covariance[-2, -2] + diag(230, 2)
  expect_lt(max(abs(rowMeans(m)[-2] - wanted$fit[-2]) / sqrt(diag(V) / 2000)), 4.5)
  expect_equal(cov(t(m[-2, ])), V, tolerance = 0.1, ignore_attr = TRUE)
  r <- residuals(fit, newdata = new)
  expect_equal(r, setNames(new$dist, row.names(new)) - predict(fit, new) + c(0, NA, 0))
  for (type in c("response", "pearson", "deviance", "quantile")) {
    expect_equal(residuals(fit, type, newdata = cars), residuals(fit, type), tolerance = 1e-8, label = type)
  }
  expect_error(residuals(fit, newdata = cars["speed"]), "`dist`", class = "galvi_error_newdata")
  expect_identical(nrow(simulate(fit, newdata = cars[0, ])), 0L)
})

test_that("new data keep weights and trials in residuals and simulations", {
  trials <- small_fit("trials")
  d <- small_data("trials")
  for (type in c("response", "pearson", "deviance")) {
    expect_equal(residuals(trials, type, newdata = d[5:9, ]), residuals(trials, type)[5:9],
      tolerance = 1e-8, label = type)
  }
  one <- simulate(trials, 1, seed = 1, newdata = d[5:9, ])$sim_1
  expect_equal(unname(rowSums(one)), with(d[5:9, ], ncases + ncontrols))
  # nothing tells the trials: one each
  expect_equal(unname(rowSums(simulate(trials, 1, newdata = d["agegp"])$sim_1)), rep(1, nrow(d)))
  d <- transform(cars, w = rep(1:2, 25))
  weighted <- galvi(dist ~ speed, d, weights = w, hyper = "fixed")
  expect_equal(residuals(weighted, "pearson", newdata = d[4:7, ]), residuals(weighted, "pearson")[4:7])
})

test_that("fitted values are on either scale, and of new data", {
  fit <- small_fit("counts")
  expect_equal(fitted(fit, "link"), predict(fit, type = "link"))
  d <- spray_table()[3:5, ]
  expect_equal(fitted(fit, newdata = d), predict(fit, d))
  expect_error(fitted(fit, type = "prob"), "`type`", class = "galvi_error_argument")
})

test_that("simulated responses look like the observed ones", {
  d <- transform(mtcars, type = factor(ifelse(am == 1, "manual", "automatic")), flag = am == 1)
  s <- simulate(galvi(type ~ wt, data = d, family = binomial(), hyper = "fixed"), 2, seed = 1)
  expect_identical(levels(s$sim_1), c("automatic", "manual"))
  flags <- galvi(flag ~ wt, data = d, family = binomial(), hyper = "fixed")
  expect_type(simulate(flags, seed = 1)$sim_1, "logical")
  trials <- simulate(small_fit("trials"), 1, seed = 1)$sim_1
  expect_identical(colnames(trials), c("ncases", "ncontrols"))
  expect_equal(rowSums(trials), with(esoph_table(), ncases + ncontrols), ignore_attr = TRUE)
})

test_that("a singular covariance has a root", {
  A <- matrix(c(1, 1, 0, 1, 1, 0, 0, 0, 2), 3)
  R <- covariance_root(A)
  expect_equal(R %*% t(R), A)
})

test_that("print shows what glm and lmer users look for, and nothing about nats", {
  fit <- small_fit("binary")
  printed <- paste(capture.output(print(fit)), collapse = "\n")
  expect_match(printed, "^Call:  galvi\\(.*\nFamily: binomial \\(logit link\\)\n")
  expect_match(printed, "Fixed effects .*mean +sd +2.5 % +97.5 %")
  expect_match(printed, "Hyperparameters:.*gp\\(hp, qsec\\).lengthscale")
  expect_match(printed, "32 observations; log evidence bound \\(ELBO\\): -[0-9.]+(\n|$)")
  expect_no_match(printed, "nats|certificate|Converged")
  mixed <- galvi(mpg ~ wt + (1 | gear), mtcars)
  expect_output(print(mixed), "Random effects .*Groups +Name +Std.Dev.*gear +\\(Intercept\\) +1[.]")
  # standard deviations and the residual one have the intervals of as.data.frame(VarCorr()), at the level of summary()
  intervals <- as.data.frame(VarCorr(mixed, level = 0.5))
  expect_output(print(summary(mixed, level = 0.5), digits = 3), paste0(
    "Std.Dev. +25 % +75 %.*gear.*", format(intervals$lwr[1], digits = 3), " +", format(intervals$upr[1], digits = 3),
    ".*Residual.*", format(intervals$lwr[2], digits = 3), " +", format(intervals$upr[2], digits = 3)
  ))
  expect_output(print(mixed), "32 observations; log evidence: -")
  # correlations that do not fit into a line
  growth <- transform(as.data.frame(nlme::Orthodont), f = factor(age))
  several <- suppressMessages(galvi(distance ~ age + (0 + f | Subject) + (1 | Sex), growth))
  narrow <- function() {
    kept <- options(width = 55)
    on.exit(options(kept))
    gsub(" +", " ", paste(capture.output(print(several)), collapse = " "))
  }
  expect_match(narrow(), "Subject: VarCorr\\(\\) has the correlations of its 4 effects")
  expect_no_match(narrow(), "Corr ", fixed = TRUE)
  expect_output(print(several), "Corr  ")
  # data and formulas that were not written into the call
  formula <- mpg ~ wt
  inlined <- do.call(galvi, list(formula, mtcars))
  expect_output(print(inlined), "a data frame of 32 x 11")
  expect_output(print(galvi(formula, mtcars)), "Call:  galvi\\(formula = formula.*\nFormula: mpg ~ wt\n")
  expect_output(print(galvi(mpg ~ wt, transform(mtcars, wt = replace(wt, 3, NA)))), "31 observations \\(1 left out")
})

test_that("print and summary say which hyperparameters have no interval", {
  # one row a region: the unstructured part of the field is the noise, so the posterior has a flat ridge
  set.seed(4)
  W <- outer(1:16, 1:16, function(i, j) abs(i - j) == 1) + 0
  d <- data.frame(t = 1:16, y = sin(1:16 / 3) + rnorm(16, sd = 0.5))
  fit <- galvi(y ~ gmrf(t, graph = W, model = "bym2"), d, control = galvi_control(uncertainty = "factorised"))
  none <- fit$hyper$name[is.na(fit$hyper$lwr)]
  expect_true("gaussian.variance" %in% none)
  for (shown in list(fit, summary(fit))) {
    said <- paste(trimws(utils::capture.output(print(shown))), collapse = " ")
    for (name in none) expect_match(said, sprintf("No interval for [^:]*\\Q%s\\E", name), perl = TRUE)
  }
})

test_that("numbers of thousands have a mark that is not the decimal mark", {
  set.seed(2)
  d <- data.frame(x = rnorm(1200))
  d$y <- d$x + rnorm(1200)
  fit <- galvi(y ~ x, d)
  expect_output(print(fit), "1,200 observations; log evidence: -[0-9]+[.]")
  before <- options(OutDec = ",")
  on.exit(options(before))
  expect_no_warning(expect_output(print(fit), "1[.]200 observations; log evidence: -[0-9]+,"))
  expect_no_warning(expect_output(print(summary(fit)), "1[.]200 observations"))
})

test_that("summary adds convergence in plain words, warnings last", {
  fit <- small_fit("binary")
  s <- summary(fit)
  expect_s3_class(s, "summary.galvi")
  expect_identical(colnames(s$coefficients)[1:2], c("mean", "sd"))
  printed <- capture.output(print(s))
  expect_match(printed[length(printed)], "^Converged: bound within .* nats of its maximum[.]$")
  variance <- s$hyper$parameter == "variance"
  expect_equal(s$hyper$sqrt_variance[variance], sqrt(s$hyper$estimate[variance]))
  expect_true(all(is.na(s$hyper$sqrt_variance[!variance])))
  # what is printed as sd is a posterior standard deviation
  for (printed in list(capture.output(print(fit)), printed)) {
    table <- printed[grep("^Hyperparameters", printed) + 1L]
    expect_match(table, "estimate +sqrt\\(variance\\) +status")
    expect_no_match(table, "sd")
  }
  expect_null(s$hyper$sd)
  expect_output(print(summary(small_fit("gaussian"))), "Converged: the posterior is exact")
  two <- capture.output(print(summary(galvi(list(mpg ~ wt, sigma ~ 1), mtcars, hyper = "fixed"))))
  expect_lt(grep("^Standard deviations and intervals: from weighted points", two), grep("^Converged", two))
})

test_that("summary says what certifies a fit, or why nothing does", {
  words <- function(name, ...) {
    fit <- galvi(y ~ gp(x), data = family_data(name, 20), family = true_family(name), hyper = "fixed", ...)
    summary(fit)$certificate
  }
  expect_match(words("binomial"), "^bound within .* nats of its maximum$")
  expect_match(words("poisson", method = "dual"), "^bound within .* nats of .* [(]duality gap .* nats[)]$")
  for (name in c("student", "beta_family", "inverse.gaussian")) expect_match(words(name), "no certificate.*several maxima")
  for (method in c("laplace", "ep")) {
    expect_match(words("binomial", method = method), "no certificate for an approximation")
  }
  expect_match(words("binomial", expectation = "taylor"), "no certificate for an approximation")
  flat <- galvi(y ~ x, family_data("binomial"), binomial(), prior = normal(0, Inf), hyper = "fixed")
  expect_match(summary(flat)$certificate, "no certificate under a flat prior")
})

test_that("with several latents coefficients are class x column and vcov has a block per class", {
  W <- cbind(`(Intercept)` = 1, x = c(-1, 0, 2))
  V <- list(diag(2), matrix(c(2, 1, 1, 3), 2))
  fit <- structure(list(
    model = list(
      offset = matrix(0, 3, 2), designs = list(list(list(W = W))),
      predictors = list(list(terms = list(list(label = "fixed")), design = 1L, latents = 1:2))
    ),
    posterior = list(coefficients = list(list(label = "fixed", mean = matrix(1:4, 2), covariance = V))),
    design = list(
      response = list(latents = c("cat", "dog")), specs = list(list(type = "fixed", label = "fixed", columns = colnames(W)))
    ),
    format = galvi:::fit_format
  ), class = "galvi")
  beta <- coef(fit)
  expect_identical(dimnames(beta), list(c("cat", "dog"), c("(Intercept)", "x")))
  expect_identical(beta["dog", "x"], 4L)
  expect_identical(rownames(vcov(fit)), c("cat:(Intercept)", "cat:x", "dog:(Intercept)", "dog:x"))
  expect_equal(unname(vcov(fit)["dog:(Intercept)", "dog:x"]), 1)
  expect_equal(unname(vcov(fit)["cat:x", "dog:x"]), 0)
  expect_equal(confint(fit, "dog:x")[1, 2], 4 + qnorm(0.975) * sqrt(3), ignore_attr = TRUE)
})

test_that("standard deviations of classes that meet in one likelihood come with a note, others without", {
  note <- "standard deviations and intervals of these coefficients are too small"
  flat <- function(x) gsub("[[:space:]]+", " ", paste(x, collapse = " "))
  says <- function(fit) {
    c(grepl(note, flat(capture.output(print(fit)))), grepl(note, flat(capture.output(print(summary(fit))))))
  }
  # columns alone have a coupled posterior
  expect_identical(says(family_fit("categorical")), c(FALSE, FALSE))
  expect_identical(says(family_fit("categorical", formula = y ~ gp(x))), c(TRUE, TRUE))
  # no coefficients, no note
  expect_identical(says(family_fit("categorical", formula = y ~ 0 + gp(x))), c(FALSE, FALSE))
  expect_identical(says(family_fit("stick_breaking")), c(FALSE, FALSE))
  expect_identical(says(family_fit("cumulative")), c(FALSE, FALSE))
  d <- subset(family_data("categorical"), y != "eel")
  one <- galvi(y ~ x, transform(d, y = factor(y)), categorical(refcat = "cat"), hyper = "fixed")
  expect_identical(says(one), c(FALSE, FALSE))
})

test_that("the latents of stick_breaking() are independent in the posterior: those of separate logits", {
  d <- family_data("stick_breaking", 200)
  prior <- list(intercept = normal(0, 3), x = normal(0, 2))
  fit <- galvi(y ~ x, d, stick_breaking(), prior = prior)
  for (k in 1:2) {
    at <- d[as.integer(d$y) >= k, ]
    alone <- galvi(I(as.integer(y) == k) ~ x, at, binomial(), prior = prior)
    block <- 2 * (k - 1) + 1:2
    expect_equal(vcov(fit)[block, block], vcov(alone), tolerance = tol$optimum, ignore_attr = TRUE)
    expect_equal(coef(fit)[k, ], coef(alone), tolerance = tol$optimum)
  }
})

test_that("the prior's held standard deviations are not printed among the hyperparameters", {
  fit <- small_fit("flat")
  expect_true(all(fit$hyper$parameter == "sd"))
  expect_false(any(grepl("Hyperparameters", capture.output(print(fit)))))
})

test_that("50,000 rows are simulated where the latent vector is short", {
  set.seed(1)
  d <- data.frame(x = rnorm(5e4), g = sample(200, 5e4, TRUE))
  d$y <- d$x + rnorm(200)[d$g] + rnorm(5e4)
  for (formula in list(y ~ x + (1 | g), y ~ gp(x, inducing = 10))) {
    fit <- galvi(formula, d, hyper = "fixed")
    expect_equal(dim(simulate(fit, 2)), c(5e4, 2))
  }
})

test_that("limits of no coefficients are no rows, in silence, where the posterior is points", {
  d <- data.frame(f = gl(3, 10), y = rep(0:2, 10))
  fit <- galvi(y ~ 0 + iid(f), d, poisson(), hyper = "fixed")
  expect_false(is.null(fit$points))
  expect_silent(limits <- confint(fit))
  expect_identical(dim(limits), c(0L, 2L))
})

# Cox's model. Exact posteriors of Breslow's partial likelihood with flat priors are from importance sampling
# (bench/cox.R, Monte Carlo errors of 0.005 posterior sds or less).

skip_if_not_installed("survival")
Surv <- survival::Surv
# what coxph() knows by these names only
strata <- survival::strata
frailty <- survival::frailty

flat <- list(default = normal(0, Inf))
at_events <- function() cox(breaks = "events", baseline = "iid", variance = fixed(1e6))
lung <- na.omit(survival::lung[c("time", "status", "age", "sex", "ph.karno")])
veteran <- transform(survival::veteran, trt = trt - 1, karno = (karno - 60) / 20)
heart <- transform(survival::heart, transplant = as.numeric(transplant) - 1, age = age / 10)

sds <- function(fit) sqrt(diag(vcov(fit)))

# Means within so many of the yardstick's sds, sds within a share of them.
expect_posterior <- function(fit, mean, sd, moved, narrower) {
  expect_lt(max(abs(coef(fit) - mean) / sd), moved)
  expect_lt(max(abs(sds(fit) / sd - 1)), narrower)
}

# ---- estimates ----

test_that("the bound with one interval for each event is that of the dense computation", {
  fit <- galvi(Surv(time, status) ~ trt + karno + celltype, veteran, at_events(), prior = flat)
  # q that maximises the bound, by own fixed points; 0.01 sd is what flat priors of sd 1e5 there may differ by
  expect_posterior(fit, c(0.2584833701, -0.6226416610, 0.8303505528, 1.1495251829, 0.3942536092),
    c(0.2003597198, 0.1030471076, 0.2684349835, 0.2946959104, 0.2820413769), 0.01, 0.01)
  fit <- galvi(Surv(start, stop, event) ~ age + year + surgery + transplant, heart, at_events(), prior = flat)
  expect_posterior(fit, c(0.2822092039, -0.1471366775, -0.6701801962, -0.0031471246),
    c(0.1360304534, 0.0703297754, 0.3671152701, 0.3120694048), 0.01, 0.01)
})

test_that("with one interval for each event it is coxph() where the partial likelihood is nearly normal", {
  fits <- list(
    galvi(Surv(time, status) ~ age + sex + ph.karno, lung, at_events(), prior = flat),
    galvi(Surv(time, status) ~ trt + karno + celltype, veteran, at_events(), prior = flat)
  )
  peers <- list(
    survival::coxph(Surv(time, status) ~ age + sex + ph.karno, lung, ties = "breslow"),
    survival::coxph(Surv(time, status) ~ trt + karno + celltype, veteran, ties = "breslow")
  )
  for (i in 1:2) expect_posterior(fits[[i]], coef(peers[[i]]), sqrt(diag(vcov(peers[[i]]))), 0.05, 0.02)
})

test_that("with one interval for each event it is the exact posterior of the partial likelihood", {
  kidney <- galvi(Surv(time, status) ~ age + sex + disease, survival::kidney, at_events(), prior = flat)
  expect_posterior(kidney, c(0.003927, -1.472050, 0.064575, 0.348237, -1.508117),
    c(0.011212, 0.362807, 0.412192, 0.404013, 0.648307), 0.02, 0.05)
  fit <- galvi(Surv(start, stop, event) ~ age + year + surgery + transplant, heart, at_events(), prior = flat)
  expect_posterior(fit, c(0.282192, -0.147170, -0.671061, -0.003007), c(0.137810, 0.070751, 0.375508, 0.314827),
    0.02, 0.05)
  ovarian <- galvi(Surv(futime, fustat) ~ age + rx + ecog.ps, survival::ovarian, at_events(), prior = flat)
  expect_posterior(ovarian, c(0.159804, -0.791626, 0.141409), c(0.049800, 0.671868, 0.639513), 0.02, 0.10)
})

test_that("by default estimates are near those of coxph()", {
  near <- function(formula, data) {
    fit <- galvi(formula, data, cox())
    peer <- survival::coxph(formula, data, ties = "breslow")
    expect_lt(max(abs(coef(fit) - coef(peer)) / sqrt(diag(vcov(peer)))), 0.15)
  }
  near(Surv(time, status) ~ age + sex + ph.ecog, survival::lung)
  near(Surv(time, status) ~ trt + karno + celltype, veteran)
  near(Surv(start, stop, event) ~ age + year + surgery + transplant, heart)
  fit <- galvi(Surv(time, status) ~ trt + karno + celltype, veteran, cox(), prior = flat)
  # the bound's own optimum at this prior of the baseline
  expect_posterior(fit, c(0.2399858103, -0.6152220204, 0.8259073782, 1.1290203837, 0.3754373863),
    c(0.1995313676, 0.1024261723, 0.2670563839, 0.2933149215, 0.2798072681), 0.01, 0.01)
})

test_that("it is the Poisson model of survival_pieces()", {
  pieces <- survival_pieces(Surv(start, stop, event) ~ age + surgery, heart, cuts = 8)
  other <- galvi(event ~ age + surgery + rw1(interval, variance = fixed(1)) + offset(log_exposure), pieces, poisson(),
    prior = c(flat, list(intercept = normal(0, Inf))))
  fit <- galvi(Surv(start, stop, event) ~ age + surgery, heart, cox(8),
    prior = c(flat, list(intercept = normal(0, Inf))))
  # converged to 1e-7 nats, which are 4e-4 sds
  expect_lt(max(abs(coef(fit) - coef(other)[-1]) / sds(other)[-1]), 1e-3)
  expect_equal(sds(fit), sds(other)[-1], tolerance = 1e-3)
  # not in flat directions, which neither counts, but in the constants of the counts
  expect_equal(fit$elbo, other$elbo - sum(pieces$event * pieces$log_exposure), tolerance = 1e-6)
})

test_that("rows that are equal are added up, and weights count rows", {
  d <- transform(survival::lung, old = age > 60, w = rep(1:3, length.out = 228))
  fit <- galvi(Surv(time, status) ~ old + sex, d, cox(5), weights = w)
  # four kinds of rows in five intervals
  expect_lte(nrow(fit$data), 20)
  other <- galvi(Surv(time, status) ~ old + sex, d[rep(1:228, d$w), ], cox(5))
  expect_equal(coef(fit), coef(other), tolerance = 1e-6)
  expect_equal(vcov(fit), vcov(other), tolerance = 1e-6)
  expect_equal(fit$elbo, other$elbo, tolerance = 1e-8)
  expect_equal(nobs(fit), 228)
  expect_equal(unname(weights(fit)), d$w)
  half <- galvi(Surv(time, status) ~ old + sex, d, cox(5), weights = w / 2)
  expect_gt(min(sds(half) / sds(fit)), 1.3)
})

test_that("strata have baselines and levels of their own, which coef() does not show", {
  fit <- galvi(Surv(time, status) ~ trt + karno + strata(celltype), veteran, at_events(), prior = flat)
  peer <- survival::coxph(Surv(time, status) ~ trt + karno + strata(celltype), veteran, ties = "breslow")
  expect_posterior(fit, coef(peer), sqrt(diag(vcov(peer))), 0.05, 0.025)
  expect_identical(names(coef(fit)), c("trt", "karno"))
  expect_identical(rownames(confint(fit)), c("trt", "karno"))
  expect_identical(colnames(model.matrix(fit)), c("trt", "karno"))
  expect_output(print(fit), "log hazard ratios")
  expect_output(print(fit), "137 observations, 128 events")
  # strata of two variables are their combinations
  two <- galvi(Surv(time, status) ~ karno + strata(celltype, prior), veteran, cox(4))
  apart <- galvi(Surv(time, status) ~ karno + strata(celltype) + strata(prior), veteran, cox(4))
  expect_equal(coef(two), coef(apart))
  expect_length(unique(two$design$specs[[2]]$by_levels), 8)
})

test_that("tve() has an effect that changes as residuals of coxph() say", {
  fit <- galvi(Surv(time, status) ~ trt + celltype + tve(karno), veteran, cox())
  walk <- ranef(fit)[["tve(karno)"]]$mean
  # the effect of karno is strong at first and fades: cox.zph(), whose smooth of scaled residuals rises
  expect_lt(walk[1], -0.2)
  expect_gt(walk[length(walk)], 0.2)
  zph <- survival::cox.zph(survival::coxph(Surv(time, status) ~ trt + celltype + karno, veteran))
  rises <- stats::lowess(zph$x, zph$y[, "karno"])$y
  expect_gt(cor(approx(seq(0, 1, length.out = length(rises)), rises, seq(0, 1, length.out = 20))$y, walk), 0.9)
  expect_identical(fit$hyper$status, c("fixed", "learned"))
  expect_equal(sum(walk), 0, tolerance = 1e-8)
})

test_that("a frailty is a random effect", {
  fit <- galvi(Surv(time, status) ~ age + sex + (1 | id), survival::kidney, cox())
  peer <- survival::coxph(Surv(time, status) ~ age + sex + frailty(id, distribution = "gaussian"), survival::kidney)
  # another estimator of the variance, and a baseline that is smooth
  expect_lt(max(abs(coef(fit) - coef(peer)) / sqrt(diag(vcov(peer)))), 0.25)
  expect_equal(attr(VarCorr(fit)$id, "stddev")[[1]], sqrt(peer$history[[1]]$theta), tolerance = 0.25)
  expect_identical(dim(ranef(fit)$id), c(38L, 2L))
})

# ---- predictions ----

test_that("curves are those of survfit(), hazards add up to them and areas are those below them", {
  fit <- galvi(Surv(time, status) ~ age + ph.karno + strata(sex), lung, cox())
  peer <- survival::coxph(Surv(time, status) ~ age + ph.karno + strata(sex), lung, ties = "breslow")
  new <- data.frame(age = c(50, 60), ph.karno = 80, sex = 1:2)
  times <- c(90, 180, 365, 600)
  survival <- predict(fit, new, type = "survival", times = times)
  known <- summary(survival::survfit(peer, newdata = new), times = times)$surv
  # the baseline is smoothed: two percent points, a third of a standard error
  expect_lt(max(abs(survival - matrix(known, 2, byrow = TRUE))), 0.03)
  hazard <- predict(fit, new, type = "cumhaz", times = times)
  # E exp(-H) > exp(-E H), by little
  expect_true(all(survival > exp(-hazard) & survival < exp(-hazard) + 0.02))
  grid <- seq(1, 365, by = 1)
  expect_equal(rowSums(predict(fit, new, type = "hazard", times = grid)), hazard[, "365"], tolerance = 1e-6)
  fine <- predict(fit, new, type = "survival", times = seq(0, 365, length.out = 366))
  area <- rowSums((fine[, -1] + fine[, -366]) / 2)
  expect_equal(predict(fit, new, type = "rmst", times = 365)[, 1], area, tolerance = 1e-4)
  limits <- predict(fit, new, type = "survival", times = times, interval = "credible")
  expect_true(all(limits[, , "lwr"] < limits[, , "fit"] & limits[, , "fit"] < limits[, , "upr"]))
  # draws have their own seed
  expect_identical(predict(fit, new, type = "survival", times = times), survival)
  # before the beginning, and beyond the last time
  expect_equal(unname(predict(fit, new, type = "survival", times = 0)[, 1]), c(1, 1))
  expect_true(all(diff(t(predict(fit, new, type = "survival", times = c(1000, 1200, 2000)))) < 0))
})

test_that("with an interval for each event curves are steps, as Breslow's", {
  fit <- galvi(Surv(time, status) ~ age + sex, lung, at_events(), prior = flat)
  peer <- survival::coxph(Surv(time, status) ~ age + sex, lung, ties = "breslow")
  new <- data.frame(age = 60, sex = 2)
  times <- c(4.5, 100, 365, 800)
  known <- summary(survival::survfit(peer, newdata = new, stype = 2, ctype = 1), times = times)
  # the mean of the hazard at an event is its estimate: d / R
  expect_equal(predict(fit, new, type = "cumhaz", times = times)[1, ], known$cumhaz, tolerance = 0.03,
    ignore_attr = TRUE)
  expect_equal(predict(fit, new, type = "survival", times = times)[1, ], known$surv, tolerance = 0.03,
    ignore_attr = TRUE)
  at <- sort(unique(lung$time[lung$status == 2]))
  expect_identical(predict(fit, new, type = "cumhaz", times = at[3]), {
    x <- predict(fit, new, type = "cumhaz", times = at[4] - 1e-6)
    `colnames<-`(x, format(at[3]))
  })
  expect_true(is.na(predict(fit, new, type = "hazard", times = max(at) + 1)))
  # E of the area below steps
  steps <- c(0, at[at < 365], 365)
  survival <- predict(fit, new, type = "survival", times = steps[-length(steps)])
  expect_equal(predict(fit, new, type = "rmst", times = 365)[[1]], sum(survival * diff(steps)), tolerance = 1e-6)
})

test_that("hazard ratios are against covariates at their means", {
  fit <- galvi(Surv(time, status) ~ age + factor(ph.karno > 80) + strata(sex), lung, cox())
  X <- model.matrix(fit)
  known <- drop(sweep(X, 2, colMeans(X)) %*% coef(fit))
  expect_equal(predict(fit, type = "link"), known)
  se <- predict(fit, type = "link", se.fit = TRUE)$se.fit
  centred <- sweep(X, 2, colMeans(X))
  expect_equal(se, sqrt(rowSums((centred %*% vcov(fit)) * centred)))
  expect_equal(predict(fit), exp(known + se^2 / 2))
  terms <- predict(fit, type = "terms")
  expect_equal(rowSums(terms), known)
  expect_equal(colnames(terms), c("age", "factor(ph.karno > 80)"))
  expect_equal(predict(fit, lung[1:3, ], type = "link"), known[1:3])
  # the stratum does not matter, and need not be known
  expect_equal(predict(fit, lung[1:3, c("age", "ph.karno")], type = "link"), known[1:3])
  expect_equal(predict(fit, lung[1:3, "age", drop = FALSE], type = "link", exclude = "factor(ph.karno > 80)"),
    terms[1:3, "age"])
  expect_identical(dim(predict(fit, lung[1:3, ], type = "link", covariance = TRUE)$covariance), c(3L, 3L))
  missing <- predict(fit, data.frame(age = c(60, NA), ph.karno = 90, sex = 1), type = "survival", times = 1:2)
  expect_identical(is.na(missing[, 1]), c(`1` = FALSE, `2` = TRUE))
})

test_that("smooths sum to zero over the intervals in which rows are at risk", {
  d <- na.omit(survival::lung[c("time", "status", "age")])
  fit <- galvi(survival::Surv(time, status) ~ s(age), d, cox())
  at_risk <- predict(fit, counts_view(fit)$data["age"], type = "terms")
  expect_gt(nrow(at_risk), nrow(d))
  expect_equal(mean(at_risk), 0)
})

test_that("frailties are in predictions, or not", {
  fit <- galvi(Surv(time, status) ~ age + sex + (1 | id), survival::kidney, cox(8))
  own <- predict(fit, type = "link")
  without <- predict(fit, type = "link", re_formula = NA)
  effect <- ranef(fit)$id$mean[match(survival::kidney$id, rownames(ranef(fit)$id))]
  expect_equal(unname(own - without), effect, tolerance = 1e-6)
  # a new group has its effect from the prior, which flattens the curve
  new <- data.frame(age = 40, sex = 1, id = 999)
  population <- predict(fit, new, type = "survival", times = c(5, 400))
  typical <- predict(fit, new, type = "survival", times = c(5, 400), re_formula = NA)
  expect_lt(population[1], typical[1])
  expect_gt(population[2], typical[2])
  expect_error(predict(fit, new, allow.new.levels = FALSE), class = "galvi_error_newdata")
})

# ---- rows of the data ----

test_that("types of coxph() are understood, and expected events are over the follow-up of each row", {
  fit <- galvi(Surv(time, status) ~ age + sex, lung, at_events(), prior = flat)
  peer <- survival::coxph(Surv(time, status) ~ age + sex, lung, ties = "breslow")
  expect_identical(predict(fit, type = "lp"), predict(fit, type = "link"))
  expect_identical(predict(fit, lung[1:3, ], type = "risk", se.fit = TRUE), predict(fit, lung[1:3, ], se.fit = TRUE))
  expect_equal(predict(fit, type = "lp"), predict(peer, type = "lp"), tolerance = 0.02, ignore_attr = TRUE)
  expected <- predict(fit, type = "expected")
  expect_equal(expected, (lung$status == 2) - residuals(fit), tolerance = 1e-6)
  expect_equal(unname(expected), unname(predict(peer, type = "expected")), tolerance = 0.03)
  new <- transform(lung[1:4, ], age = replace(age, 2, NA), time = replace(time, 3, NA))
  expect_equal(predict(fit, new, type = "expected"), replace(expected[1:4], 2:3, NA))
  expect_error(predict(fit, lung[c("age", "sex")], type = "expected"), "`time`, `status`",
    class = "galvi_error_newdata")
  expect_error(predict(fit, type = "expected", times = 10), "`times`", class = "galvi_error_argument")
  expect_error(predict(fit, type = "expected", se.fit = TRUE), "se.fit", class = "galvi_error_argument")
  # with late entry, strata and effects that change in time
  late <- galvi(Surv(start, stop, event) ~ tve(age) + strata(surgery), heart, cox(6))
  expect_equal(unname(predict(late, heart, type = "expected")), unname(heart$event - residuals(late)), tolerance = 1e-6)
})

test_that("residuals are those of coxph()", {
  fit <- galvi(Surv(time, status) ~ age + sex, lung, at_events(), prior = flat)
  peer <- survival::coxph(Surv(time, status) ~ age + sex, lung, ties = "breslow")
  # posterior means of cumulative hazards are larger than those at the estimates by half of their log's variance
  expect_equal(residuals(fit), residuals(peer), tolerance = 0.03)
  expect_equal(residuals(fit, "deviance"), residuals(peer, "deviance"), tolerance = 0.03)
  expect_equal(deviance(fit), sum(residuals(fit, "deviance")^2))
  expect_equal(sum(residuals(galvi(Surv(time, status) ~ age + sex, lung, cox()))), 0, tolerance = 1e-3)
})

test_that("loo() leaves out rows, with densities of times", {
  # a constant hazard is an exponential model
  constant <- loo::loo(galvi(Surv(time, status) ~ age + sex, lung, cox(1)))
  exponential <- loo::loo(galvi(Surv(time, status) ~ age + sex, lung, exponential()))
  expect_equal(constant$pointwise, exponential$pointwise, tolerance = 0.01)
  expect_equal(constant$estimates, exponential$estimates, tolerance = 0.01)
  expect_s3_class(loo::loo_compare(constant, exponential), "compare.loo")
  # leaving out by refits
  fit <- galvi(Surv(futime, fustat) ~ age + rx, survival::ovarian, cox(3))
  left <- loo::loo(fit)
  refitted <- loo::kfold(fit, folds = "loo")
  expect_equal(left$pointwise[, "elpd_loo"], refitted$pointwise[, "elpd_kfold"], tolerance = 0.03)
  expect_equal(rownames(left$pointwise), rownames(survival::ovarian))
  expect_output(print(left), "26 observations")
  grouped <- loo::loo(galvi(Surv(time, status) ~ age + sex + (1 | id), survival::kidney, cox(6)), group = "id",
    joint = TRUE)
  expect_identical(nrow(grouped$pointwise), 38L)
  expect_error(loo::loo(galvi(Surv(time, status) ~ sex, lung, at_events())), "baseline", class = "galvi_error_argument")
})

test_that("conditional_effects() shows no variable that cox() makes", {
  fit <- galvi(survival::Surv(time, status) ~ age + offset(ph.ecog / 5), survival::lung, cox(breaks = 4), hyper = "fixed")
  found <- conditional_effects(fit)$age
  expect_setequal(grep("__$", names(found), invert = TRUE, value = TRUE), c("age", "ph.ecog"))
})

test_that("kfold() divides rows or subjects", {
  fit <- galvi(Surv(time, status) ~ age + sex + (1 | id), survival::kidney, cox(6))
  set.seed(1)
  by_subject <- loo::kfold(fit, K = 3, group = "id", folds = "grouped", hyper = "fixed")
  expect_identical(nrow(by_subject$pointwise), 76L)
  subjects <- survival::kidney$id
  folds <- attr(by_subject, "folds")
  expect_true(all(tapply(folds, subjects, function(x) length(unique(x))) == 1))
  # the groups' densities by cavities are about the same
  expect_equal(by_subject$estimates["elpd_kfold", "Estimate"],
    loo::loo(fit, group = "id", joint = TRUE)$estimates["elpd_loo", "Estimate"], tolerance = 0.03)
  saved <- loo::kfold(fit, K = 2, hyper = "fixed", save_fits = TRUE)
  expect_s3_class(saved$fits[[1]], "galvi_cox")
})

test_that("log_lik() is of the rows", {
  skip_if_not_installed("rstantools")
  fit <- galvi(Surv(time, status) ~ age + sex, lung, cox(1))
  set.seed(1)
  draws <- rstantools::log_lik(fit, ndraws = 2000)
  known <- rstantools::log_lik(galvi(Surv(time, status) ~ age + sex, lung, exponential()), ndraws = 2000)
  expect_identical(colnames(draws), rownames(lung))
  expect_equal(colMeans(draws), colMeans(known), tolerance = 0.005)
  ratios <- rstantools::posterior_linpred(fit, ndraws = 2000)
  expect_equal(colMeans(ratios), predict(fit, type = "link"), tolerance = 0.1)
})

test_that("offset, subset, na.action, row names and update() mean what they do elsewhere", {
  d <- survival::lung
  rownames(d) <- paste0("p", 1:228)
  fit <- galvi(Surv(time, status) ~ sex + ph.ecog, d, cox(5), subset = age > 50, na.action = na.exclude)
  same <- galvi(Surv(time, status) ~ sex + ph.ecog, d[d$age > 50, ], cox(5))
  expect_equal(coef(fit), coef(same))
  expect_identical(names(residuals(fit)), rownames(d)[d$age > 50])
  expect_identical(sum(is.na(predict(fit))), 1L)
  expect_identical(nobs(fit), nobs(same))
  typed <- galvi(Surv(time, status) ~ sex + offset(age / 50), d, cox(5))
  expect_equal(coef(typed), coef(galvi(Surv(time, status) ~ sex, d, cox(5), offset = age / 50)))
  expect_equal(diff(predict(typed, data.frame(sex = 1, age = c(50, 100)), type = "link")), 1, ignore_attr = TRUE)
  more <- update(typed, . ~ . + ph.karno)
  expect_identical(names(coef(more)), c("sex", "ph.karno"))
  expect_length(update(typed, family = cox(2))$design$intervals$labels, 2)
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), type = "rmst", times = 365), predict(fit, type = "rmst", times = 365))
  expect_s3_class(model.frame(fit)[[1]], "Surv")
  # the matrix and the data frame of conditional effects
  effects <- conditional_effects(fit)
  expect_identical(names(effects), c("sex", "ph.ecog"))
  expect_equal(unname(AIC(fit) < Inf) |> suppressWarnings(), TRUE)
})

test_that("breaks are times, and censored rows before the first event tell nothing", {
  d <- data.frame(time = c(0, 1, 2, 3, 4, 5), status = c(0, 0, 1, 1, 0, 1), x = c(1, 0, 1, 0, 1, 0))
  fit <- galvi(Surv(time, status) ~ x, d, cox(c(2.5, 4)))
  expect_equal(fit$design$intervals$high, c(2.5, 4, Inf))
  expect_equal(fit$design$intervals$pieces$exposure, c(1, 2, 2.5, 0.5, 2.5, 1.5, 2.5, 1.5, 1))
  events <- galvi(Surv(time, status) ~ x, d, cox("events"))
  expect_equal(events$design$intervals$high, c(2, 3, 5))
  expect_equal(residuals(events)[1:2], c(`1` = 0, `2` = 0))
  expect_equal(unname(loo::loo(events)$pointwise[1:2, "elpd_loo"]), c(0, 0))
  expect_error(galvi(Surv(time, c(1, 0, 1, 1, 0, 1)) ~ x, d, cox(2)), "time at risk", class = "galvi_error_response")
})

test_that("hyperparameters of the baseline are learned where asked for", {
  fit <- galvi(Surv(time, status) ~ karno, veteran, cox(variance = 1))
  expect_identical(fit$hyper[fit$hyper$name == "baseline.variance", "status"] %in% c("learned", "at bound"), TRUE)
  fit <- galvi(Surv(time, status) ~ karno, veteran, cox(10, "rw2", log_normal(-2, 1)))
  expect_identical(fit$hyper$status[fit$hyper$name == "baseline.variance"], "learned")
  expect_equal(coef(fit)[["karno"]], -0.6, tolerance = 0.2)
  fit <- galvi(Surv(time, status) ~ karno, veteran, "cox", hyper = "integrate")
  expect_true(fit$convergence$converged)
})

# ---- parametric families ----

test_that("hazards, cumulative hazards and restricted means of parametric families are means over the posterior", {
  families <- list(
    exponential = list(family = exponential(), hazard = function(t, m) exp(-m),
      above = function(t, m) exp(-t * exp(-m))),
    weibull = list(family = weibull(fixed(1.3)), hazard = function(t, m) 1.3 / t * exp(1.3 * (log(t) - m)),
      above = function(t, m) pweibull(t, 1.3, exp(m), FALSE)),
    weibull_ph = list(family = weibull(fixed(1.3), "ph", reference = 1200),
      hazard = function(t, m) exp(m) * 1.3 / 1200 * (t / 1200)^0.3,
      above = function(t, m) exp(-exp(m) * (t / 1200)^1.3)),
    lognormal = list(family = lognormal(fixed(1.1)), hazard = function(t, m) {
      dlnorm(t, m, 1.1) / plnorm(t, m, 1.1, FALSE)
    }, above = function(t, m) plnorm(t, m, 1.1, FALSE)),
    loglogistic = list(family = loglogistic(fixed(1.5)), hazard = function(t, m) 1.5 / t * plogis(1.5 * (log(t) - m)),
      above = function(t, m) plogis(-1.5 * (log(t) - m)))
  )
  new <- data.frame(sex = 1:2, age = 60)
  for (name in names(families)) {
    own <- families[[name]]
    fit <- galvi(Surv(time, status) ~ sex + age, lung, own$family)
    eta <- predict(fit, new, type = "link", se.fit = TRUE)
    mean_of <- function(f, i) {
      integrate(function(z) dnorm(z) * f(eta$fit[i] + eta$se.fit[i] * z), -8, 8, rel.tol = 1e-10)$value
    }
    limits <- function(f, i) sort(f(eta$fit[i] + eta$se.fit[i] * qnorm(c(0.025, 0.975))))
    area <- function(m) vapply(m, function(m) integrate(own$above, 0, 300, m = m, rel.tol = 1e-10)$value, 0)
    known <- list(hazard = function(m) own$hazard(300, m), cumhaz = function(m) -log(own$above(300, m)), rmst = area)
    for (type in names(known)) {
      found <- predict(fit, new, type = type, times = 300, interval = "credible")
      for (i in 1:2) {
        expect_equal(found[i, 1, "fit"], mean_of(known[[type]], i), tolerance = 1e-6, label = paste(name, type))
        expect_equal(unname(found[i, 1, c("lwr", "upr")]), limits(known[[type]], i), tolerance = 1e-6)
      }
    }
  }
  # a learned shape, without censoring, and a family without survival objects
  fit <- galvi(time ~ sex, lung, weibull())
  expect_equal(predict(fit, new, type = "cumhaz", times = c(0, 300))[, 1], c(`1` = 0, `2` = 0))
  expect_equal(-log(predict(fit, new, type = "survival", times = 300)),
    predict(fit, new, type = "cumhaz", times = 300), tolerance = 0.01)
  gamma <- galvi(time ~ sex, lung, Gamma("log"))
  expect_equal(-log(predict(gamma, new, type = "survival", times = 300)),
    predict(gamma, new, type = "cumhaz", times = 300), tolerance = 0.01)
  # where survival is so improbable that doubles have no room for it
  far <- c(300, 3e4, 3e5)
  by_eta <- function(fit, f) {
    eta <- predict(fit, new[1, ], type = "link", se.fit = TRUE)
    vapply(far, function(t) {
      integrate(function(z) dnorm(z) * f(t, exp(eta$fit + eta$se.fit * z)), -8, 8, rel.tol = 1e-10)$value
    }, 0)
  }
  fit <- galvi(time ~ sex, lung, galvi_family("Gamma", shape = fixed(1.5)))
  above <- function(t, m) pgamma(t, 1.5, scale = m / 1.5, lower.tail = FALSE, log.p = TRUE)
  expect_equal(predict(fit, new[1, ], type = "cumhaz", times = far)[1, ], by_eta(fit, function(t, m) -above(t, m)),
    tolerance = 1e-6, ignore_attr = TRUE)
  expect_equal(predict(fit, new[1, ], type = "hazard", times = far)[1, ], by_eta(fit, function(t, m) {
    exp(dgamma(t, 1.5, scale = m / 1.5, log = TRUE) - above(t, m))
  }), tolerance = 1e-6, ignore_attr = TRUE)
  # by the priors the posterior is Gaussian
  fit <- galvi(time ~ sex, lung, galvi_family("inverse.gaussian", dispersion = fixed(0.02)),
    prior = list(intercept = normal(6, 0.02), default = normal(0, 0.01)))
  log_density <- function(y, m) -log(2 * pi * 0.02 * y^3) / 2 - (y / m - 1)^2 / (2 * 0.02 * y)
  # 1 / h(t), the mean of the density after t relative to that at t
  hazard <- Vectorize(function(t, m) {
    1 / integrate(function(u) exp(log_density(t + u, m) - log_density(t, m)), 0, Inf, rel.tol = 1e-10)$value
  })
  expect_equal(predict(fit, new[1, ], type = "hazard", times = far)[1, ], by_eta(fit, hazard), tolerance = 1e-6,
    ignore_attr = TRUE)
  expect_equal(predict(fit, new[1, ], type = "cumhaz", times = far)[1, ], by_eta(fit, function(t, m) {
    log(hazard(t, m)) - log_density(t, m)
  }), tolerance = 1e-6, ignore_attr = TRUE)
  # as far as the tail reaches, the restricted mean is the mean
  expect_equal(predict(gamma, new, type = "rmst", times = 1e4)[, 1], predict(gamma, new), tolerance = 1e-5)
  expect_error(predict(galvi(dist ~ speed, cars), type = "hazard", times = 1), "positive times",
    class = "galvi_error_argument")
  expect_error(predict(fit, type = "rmst", times = -1), "not negative", class = "galvi_error_argument")
  expect_error(predict(fit, type = "hazard"), "`times`", class = "galvi_error_argument")
})

# ---- errors ----

test_that("errors say what is written instead", {
  kidney <- survival::kidney
  refuse <- function(formula, words, class, family = cox(), ...) {
    expect_error(galvi(formula, kidney, family, ...), words, class = class)
  }
  refuse(Surv(time, status) ~ age + frailty(id), "(1 | id)", "galvi_error_formula")
  refuse(Surv(time, status) ~ age + cluster(id), "(1 | id)", "galvi_error_formula")
  refuse(Surv(time, status) ~ age + tt(age), "tve\\(age\\)", "galvi_error_formula")
  refuse(Surv(time, status) ~ age * strata(sex), "strata\\(sex\\) \\+ age:factor\\(sex\\)", "galvi_error_formula")
  refuse(Surv(time, status) ~ strata(sex, na.group = TRUE), "na.group", "galvi_error_formula")
  refuse(Surv(time, status) ~ tve(age), "intervals", "galvi_error_formula", cox(1))
  refuse(Surv(time, status) ~ strata(sex > 1):age, "age:factor\\(sex > 1\\)", "galvi_error_formula")
  for (family in list(cox(3), weibull())) {
    refuse(Surv(time, factor(status, 0:1, c("censored", "infection"))) ~ age, "status == \"infection\"",
      "galvi_error_response", family)
    refuse(Surv(time, factor(status + (time > 50), 0:2)) ~ age, "cause-specific", "galvi_error_response", family)
  }
  refuse(Surv(time, time + 1, type = "interval2") ~ age, "at risk at its time", "galvi_error_response")
  refuse(time ~ age, "survival object", "galvi_error_response")
  fit <- galvi(Surv(time, status) ~ age, kidney, cox(3), hyper = "fixed")
  expect_error(survival::survfit(fit), "type = \"survival\"", class = "galvi_error_argument")
  expect_error(predict(fit, type = "survival", times = 1, se.fit = TRUE), "credible", class = "galvi_error_argument")
  refuse(Surv(time, 0 * status) ~ age, "no event", "galvi_error_response")
  refuse(list(Surv(time, status) ~ age, shape ~ age), "one linear predictor", "galvi_error_formula")
  refuse(time ~ tve(age), "cox\\(\\)", "galvi_error_formula", gaussian())
  refuse(Surv(time, status) ~ strata(sex), "cox\\(\\)", "galvi_error_formula", weibull())
  refuse(Surv(time, status) ~ age, "cox\\(\\)", "galvi_error_response", poisson())
  expect_error(tve(age), class = "galvi_error_formula")
  expect_error(cox(-1), "`breaks`", class = "galvi_error_family")
  expect_error(cox("all"), "events", class = "galvi_error_family")
  expect_error(cox(variance = 0), "`variance`", class = "galvi_error_family")
  expect_error(cox(baseline = "gp"), "rw1", class = "galvi_error_argument")
  expect_output(print(cox()), "breaks: 20")
  fit <- galvi(Surv(time, status) ~ age, kidney, cox(4))
  expect_error(predict(fit, type = "survival"), "`times`", class = "galvi_error_argument")
  expect_error(predict(fit, type = "survival", times = 1, se.fit = TRUE), "link", class = "galvi_error_argument")
  expect_error(predict(fit, type = "quantile", probs = 0.5), "median", class = "galvi_error_argument")
  expect_error(predict(fit, interval = "prediction"), "survival", class = "galvi_error_argument")
  expect_error(predict(fit, data.frame(x = 1)), "age", class = "galvi_error_newdata")
  expect_error(simulate(fit), "survival", class = "galvi_error_argument")
  expect_error(hatvalues(fit), "leverage", class = "galvi_error_argument")
  expect_error(plot(fit, "predictive"), "survival", class = "galvi_error_argument")
  expect_error(loo::waic(fit), "loo", class = "galvi_error_argument")
  expect_error(conditional_effects(fit, method = "posterior_predict"), class = "galvi_error_argument")
})

test_that("plots have hazard ratios, the baseline and changing effects over time", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fit <- galvi(Surv(time, status) ~ trt + strata(prior) + tve(karno), veteran, cox(6))
  panels <- plot(fit, ask = FALSE)
  expect_identical(names(panels), c("trt", "karno", "baseline", "tve(karno)"))
  expect_equal(panels$baseline$from[1:6], fit$design$intervals$low)
  expect_identical(levels(panels$baseline$series), c("prior = 0", "prior = 10"))
  effect <- coef(fit)[["karno"]] + ranef(fit)[["tve(karno)"]]$mean
  expect_equal(panels[["tve(karno)"]]$fit, effect, tolerance = 1e-6)
  curves <- plot(fit, "survival", n = 5)
  expect_identical(nrow(curves), 10L)
  expect_equal(curves$fit[1], 1)
  curve <- plot(fit, "survival", newdata = veteran[1:2, ], n = 4)
  expect_equal(curve$fit[1:4], unname(predict(fit, veteran[1, ], type = "survival", times = curve$time[1:4])[1, ]))
})

test_that("the evidence does not depend on whether pieces of equal rows are added up", {
  d <- transform(lung_data(), o = 1e-9 * sin(seq_along(time)))
  one <- galvi(survival::Surv(time, event) ~ sex, d, cox(5))
  # no two rows are alike
  each <- galvi(survival::Surv(time, event) ~ sex + offset(o), d, cox(5))
  expect_lt(length(one$model$y), 15)
  expect_gt(length(each$model$y), 200)
  expect_equal(one$elbo, each$elbo, tolerance = 1e-7)
})

test_that("strata without events are no columns that users could leave out", {
  d <- survival::rats[survival::rats$sex == "f", ]
  expect_no_message(fit <- galvi(survival::Surv(time, status) ~ rx + strata(litter), d, cox("events")))
  expect_length(Filter(function(note) note$what == "dependent", fit$notes), 0L)
  d$twice <- 2 * d$rx
  expect_message(galvi(survival::Surv(time, status) ~ rx + twice + strata(litter), d, cox("events")), "`twice` depends on")
})

test_that("the status that mgcv has as weights belongs into the survival object", {
  said <- message_of_error(galvi(time ~ karno, veteran, mgcv::cox.ph(), weights = status))
  expect_match(said, "survival::Surv(time, status)", fixed = TRUE)
  expect_match(said, "in place of `weights = status`", fixed = TRUE)
  for (w in list(veteran$age, rep(1, nrow(veteran)), 1 + veteran$status)) {
    expect_no_match(message_of_error(galvi(time ~ karno, veteran, cox(), weights = w)), "in place of")
  }
})

test_that("an event at time zero gets advice that suits the number of event times", {
  d <- data.frame(time = c(0, seq_len(150) / 2), status = 1, x = rep(c(-1, 0, 1), length.out = 151))
  many <- message_of_error(galvi(Surv(time, status) ~ x, d, cox()))
  expect_match(many, "such as pmax(time, 0.25) for time.", fixed = TRUE)
  expect_no_error(galvi(Surv(pmax(time, 0.25), status) ~ x, d, cox()))
  for (response in c("Surv(time, status, type = \"right\")", "survival::Surv(event = status, time = time)")) {
    said <- message_of_error(galvi(reformulate("x", str2lang(response)), d, cox()))
    expect_match(said, "such as pmax(time, 0.25) for time.", fixed = TRUE)
  }
  few <- message_of_error(galvi(Surv(time, status) ~ x, d[1:40, ], cox()))
  expect_match(few, "or cox(breaks = \"events\")", fixed = TRUE)
  expect_no_error(galvi(Surv(time, status) ~ x, d[1:40, ], cox(breaks = "events")))
})

test_that("effects within strata have a coefficient for each, as the advice says", {
  fit <- galvi(Surv(time, status) ~ strata(sex) + age:factor(sex), survival::kidney, cox(8), prior = flat)
  theirs <- survival::coxph(Surv(time, status) ~ age * strata(sex), survival::kidney)
  # intervals instead of event times
  expect_equal(unname(coef(fit)), unname(cumsum(coef(theirs))), tolerance = 0.2)
})

test_that("densities are of the same response as those of parametric families", {
  ours <- galvi(Surv(time, status) ~ age, survival::kidney, cox(5))
  theirs <- galvi(Surv(time, status) ~ age, survival::kidney, weibull())
  expect_no_warning(loo::loo_compare(loo(ours), loo(theirs)))
  expect_error(anova(ours, theirs), "loo_compare", class = "galvi_error_argument")
})

test_that("a time that explains itself is said", {
  expect_message(galvi(Surv(time, status) ~ age:log(time), survival::kidney, cox(3)), "tve\\(age\\)", class = "galvi_message_times")
  expect_message(galvi(Surv(time, status) ~ age + log(time), survival::kidney, cox(3)), "both sides", class = "galvi_message_times")
  expect_no_message(galvi(Surv(time, status) ~ age, survival::kidney, cox(3)), class = "galvi_message_times")
})

test_that("few events say that standard deviations may be too small", {
  skip_if_not_installed("survival")
  few <- galvi(Surv(futime, fustat) ~ age + rx, survival::ovarian, cox())
  expect_output(print(few), "events are few, here 12")
  expect_output(print(summary(few)), "check_fit")
  expect_false(any(grepl("check_fit", capture.output(summary(galvi(Surv(time, status) ~ age, survival::lung, cox()))))))
})

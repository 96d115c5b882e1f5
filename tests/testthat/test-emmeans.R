# Packages emmeans, effects and multcomp: means over the population and their contrasts.

table_of <- function(x) as.data.frame(x)

test_that("emmeans() of a linear model are those of lm(), transformed variables and interactions too", {
  skip_if_not_installed("emmeans")
  twin <- lm_twin(mpg ~ poly(wt, 2) + cyl * hp)
  ours <- suppressMessages(table_of(emmeans::emmeans(twin$ours, ~cyl, data = twin$data)))
  theirs <- suppressMessages(table_of(emmeans::emmeans(twin$theirs, ~cyl, data = twin$data)))
  expect_equal(ours[c("emmean", "SE")], theirs[c("emmean", "SE")], tolerance = tol$solve)
  expect_identical(unique(ours$df), Inf)
  slopes <- function(fit) table_of(emmeans::emtrends(fit, ~cyl, var = "hp", data = twin$data))
  expect_equal(slopes(twin$ours)[2:3], slopes(twin$theirs)[2:3], tolerance = tol$solve)
})

test_that("factors of `at` are coded with the levels of the fit, also a few of them in another order", {
  skip_if_not_installed("emmeans")
  d <- transform(warpbreaks, dose = ordered(tension), text = as.character(tension), both = wool == "A")
  means <- function(fit, of, at) {
    suppressMessages(table_of(emmeans::emmeans(fit, of, at = at, data = d)))[c("emmean", "SE")]
  }
  same <- function(formula, of, at) {
    twin <- lm_twin(formula, d)
    expect_equal(means(twin$ours, of, at), means(twin$theirs, of, at), tolerance = tol$solve)
  }
  same(breaks ~ wool + dose, ~dose, list(dose = c("H", "M", "L")))
  same(breaks ~ wool * tension, ~wool, list(tension = "M"))
  same(breaks ~ wool * tension, ~ wool + tension, list(tension = c("H", "L"), wool = "B"))
  same(breaks ~ both + text, ~ both + text, list(text = c("M", "H"), both = TRUE))
  op <- options(contrasts = c("contr.sum", "contr.poly"))
  on.exit(options(op))
  same(breaks ~ wool + tension, ~tension, list(tension = c("H", "L")))
})

test_that("those of generalised linear models are near glm()'s, on the response scale too", {
  skip_if_not_installed("emmeans")
  for (twin in glm_twins()) {
    means <- function(fit) table_of(emmeans::emmeans(fit, twin$factor, type = "response"))
    ours <- means(twin$ours)
    theirs <- means(twin$theirs)
    expect_identical(names(ours)[1:3], names(theirs)[1:3])
    # posterior means instead of modes, and Gamma's shape
    expect_equal(ours[[2]], theirs[[2]], tolerance = 0.02)
    expect_equal(ours$SE, theirs$SE, tolerance = 0.05)
  }
})

test_that("those of survival times are near survreg()'s, and Surv() is no transformation", {
  skip_if_not_installed("emmeans")
  skip_if_not_installed("survival")
  d <- na.omit(survival::lung[c("time", "status", "age", "sex")])
  d$sex <- factor(d$sex)
  formula <- survival::Surv(time, status) ~ sex + age
  for (name in c("weibull", "gaussian")) {
    # survreg() has the curvature at the mode: the joint posterior, which is skew in the scale, is wider by 2.5 %
    ours <- galvi(formula, d, family = name, control = galvi_control(uncertainty = "factorised"))
    theirs <- survival::survreg(formula, d, dist = name)
    means <- function(fit) table_of(emmeans::emmeans(fit, ~sex, data = d, type = "response"))
    expect_message(means(ours), NA)
    # posterior means instead of modes
    expect_equal(means(ours)[2:3], means(theirs)[2:3], tolerance = 0.02)
  }
})

test_that("groups are left out, as of lmer()", {
  skip_if_not_installed("emmeans")
  fit <- galvi(mpg ~ cyl + (1 | gear), car_data(), prior = flat_prior)
  X <- cbind(1, c(0, 1, 0), c(0, 0, 1))
  found <- table_of(emmeans::emmeans(fit, ~cyl))
  expect_equal(found$emmean, drop(X %*% coef(fit)))
  expect_equal(found$SE, sqrt(diag(X %*% vcov(fit) %*% t(X))))
  slopes <- galvi(Reaction ~ Days + (Days | Subject), sleepstudy)
  found <- table_of(emmeans::emmeans(slopes, ~Days, at = list(Days = c(0, 9))))
  wanted <- predict(slopes, data.frame(Days = c(0, 9)), re_formula = NA, type = "link", se.fit = TRUE)
  expect_equal(found$emmean, unname(wanted$fit), tolerance = tol$solve)
  expect_equal(found$SE, unname(wanted$se.fit), tolerance = tol$solve)
  both <- galvi(mpg ~ cyl + gp(wt) + (1 | gear), car_data(), start = c("iid(gear).variance" = 1), hyper = "fixed")
  expect_true(all(is.finite(table_of(emmeans::emmeans(both, ~cyl))$SE)))
})

test_that("groups are not looked up where the formula was written", {
  skip_if_not_installed("emmeans")
  skip_if_not_installed("lme4")
  # replicate is a function of base R
  formula <- angle ~ recipe + temp + (1 | recipe:replicate)
  ours <- table_of(emmeans::emmeans(galvi(formula, lme4::cake), ~recipe, data = lme4::cake))
  theirs <- table_of(emmeans::emmeans(lme4::lmer(formula, lme4::cake), ~recipe, data = lme4::cake, lmer.df = "asymptotic"))
  expect_equal(ours$emmean, theirs$emmean, tolerance = 1e-3)
  oats <- transform(as.data.frame(nlme::Oats), farm = Block)
  fit <- galvi(yield ~ nitro + Variety + (1 | farm / Variety), oats)
  slopes <- galvi(yield ~ nitro * Variety + (1 | farm:Variety), oats)
  both <- function() {
    list(
      table_of(emmeans::emmeans(fit, ~Variety, data = oats)),
      table_of(emmeans::emtrends(slopes, ~Variety, var = "nitro", data = oats))
    )
  }
  without <- both()
  farm <- factor(rep("VI", 100))
  expect_identical(both(), without)
  # nor are columns of the data that only another predictor has
  height <- c(3, 4)
  d <- transform(trees, height = Height / 10)
  spread <- galvi(list(Volume ~ Girth, sigma ~ I(Girth * height)), d)
  expect_equal(table_of(emmeans::emmeans(spread, ~Girth, at = list(Girth = 10:11), data = d))$emmean,
    predict(spread, data.frame(Girth = 10:11, height = 7)), ignore_attr = TRUE, tolerance = tol$solve
  )
})

test_that("gp() is at the values of the grid, with the posterior that predict() has there", {
  skip_if_not_installed("emmeans")
  d <- car_data()
  fit <- galvi(mpg ~ cyl + gp(wt), d)
  grid <- data.frame(cyl = levels(d$cyl), wt = mean(d$wt))
  wanted <- predict(fit, grid, type = "link", se.fit = TRUE, covariance = TRUE)
  found <- table_of(emmeans::emmeans(fit, ~cyl))
  expect_equal(found$emmean, unname(wanted$fit), tolerance = tol$solve)
  expect_equal(found$SE, unname(wanted$se.fit), tolerance = tol$solve)
  contrast <- table_of(emmeans::contrast(emmeans::emmeans(fit, ~cyl), "trt.vs.ctrl"))
  V <- wanted$covariance
  expect_equal(contrast$SE, sqrt(diag(V)[-1] + V[1, 1] - 2 * V[1, -1]), tolerance = tol$solve, ignore_attr = TRUE)
  # slopes are differences of joint predictions
  h <- 1e-3 * diff(range(d$wt))
  ends <- data.frame(cyl = "4", wt = mean(d$wt) + c(0, h))
  ahead <- predict(fit, ends, type = "link", covariance = TRUE)
  slope <- table_of(emmeans::emtrends(fit, ~1, var = "wt", delta.var = h))
  expect_equal(slope$wt.trend, unname(diff(ahead$fit)) / h, tolerance = 1e-3)
  expect_equal(slope$SE, sqrt(sum(c(1, -1, -1, 1) * ahead$covariance)) / h, tolerance = 1e-3)
})

test_that("`dpar` chooses the predictor, and several classes are refused", {
  skip_if_not_installed("emmeans")
  fits <- other_fits()
  at <- list(wt = c(2, 4))
  found <- table_of(emmeans::emmeans(fits$two, ~wt, dpar = "sigma", at = at, type = "response"))
  wanted <- predict(fits$two, data.frame(wt = at$wt), dpar = "sigma", type = "link")
  expect_equal(found$response, exp(unname(wanted)))
  expect_error(emmeans::emmeans(fits$classes, ~wt), "avg_predictions")
  expect_error(emmeans::emmeans(fits$two, ~wt, dpar = "phi"), "`dpar`")
  expect_error(emmeans::emmeans(fits$ordered, ~wt, mode = "prob"), "avg_predictions")
  expect_error(emm_basis.galvi(fits$gaussian, NULL, NULL, car_data(), vcov. = diag(2)), "4 x 4",
    class = "galvi_error_argument")
})

test_that("`component` has glmmTMB's words for predictors", {
  skip_if_not_installed("emmeans")
  fit <- galvi(list(count ~ spray, zi ~ 1), InsectSprays, zero_inflated("negbinomial"), hyper = "fixed")
  means <- function(...) table_of(emmeans::emmeans(fit, ~1, ...))
  expect_equal(means(component = "zi"), means(dpar = "zi"))
  expect_equal(means(component = "cond"), means())
  expect_error(means(component = "conditional"), "`component` must be .*\"cond\".*\"zi\".*not \"conditional\"")
  for (asked in list(list(component = "response"), list(component = "cmean"), list(epred = TRUE))) {
    expect_error(do.call(means, asked), "one linear predictor.*marginaleffects::avg_predictions")
  }
  expect_error(means(component = "disp"), "`component` must be")
  expect_error(means(component = "zi", dpar = "zi"), "not both")
  two <- other_fits()$two
  expect_equal(emmeans::emmeans(two, ~wt, component = "disp")@bhat, emmeans::emmeans(two, ~wt, dpar = "sigma")@bhat)
})

test_that("a variable may be a number in one predictor and a factor in another", {
  skip_if_not_installed("emmeans")
  fit <- galvi(list(mpg ~ factor(cyl), sigma ~ cyl), mtcars)
  at <- list(cyl = c(4, 5, 8))
  found <- emmeans::emmeans(fit, ~cyl, dpar = "sigma", at = at)@bhat
  expect_equal(found, coef(fit)[c("sigma_(Intercept)", "sigma_cyl")], ignore_attr = TRUE)
  means <- table_of(emmeans::emmeans(fit, ~cyl, dpar = "sigma", at = at))
  expect_equal(means$emmean, predict(fit, data.frame(cyl = 4), dpar = "sigma", type = "link") +
    coef(fit)[["sigma_cyl"]] * c(0, 1, 4), ignore_attr = TRUE)
  expect_equal(table_of(emmeans::emmeans(fit, ~cyl, dpar = "sigma"))$cyl, mean(mtcars$cyl))
  expect_equal(table_of(emmeans::emmeans(fit, ~cyl))$cyl, c(4, 6, 8))
})

test_that("means of the parts of a model with zeros are glmmTMB's, by its words", {
  skip_if_not_installed("emmeans")
  skip_if_not_installed("glmmTMB")
  set.seed(6)
  d <- data.frame(f = gl(3, 200, labels = c("a", "b", "c")))
  d$y <- rpois(600, exp(c(0.6, 1, 1.4)[d$f])) * rbinom(600, 1, 0.7)
  kinds <- list(
    list(family = zero_inflated(poisson()), part = "zi", theirs = stats::poisson()),
    list(family = hurdle(poisson()), part = "hu", theirs = glmmTMB::truncated_poisson())
  )
  for (kind in kinds) {
    ours <- galvi(stats::setNames(list(y ~ f, stats::as.formula(paste(kind$part, "~ f"))), NULL), d, kind$family)
    theirs <- glmmTMB::glmmTMB(y ~ f, d, kind$theirs, ziformula = ~f)
    for (component in c("cond", "zi")) {
      means <- function(fit) table_of(emmeans::emmeans(fit, ~f, component = component, type = "response"))
      # posterior means of eta instead of modes
      expect_equal(means(ours)[[2]], means(theirs)[[2]], tolerance = 0.03, info = component)
      expect_equal(means(ours)$SE, means(theirs)$SE, tolerance = 0.1, info = component)
    }
  }
})

test_that("emmeans() takes what its functions take, and passes over what is for other models", {
  skip_if_not_installed("emmeans")
  fit <- other_fits()$gaussian
  given <- emmeans::emmeans(fit, pairwise ~ cyl, adjust = "none", level = 0.9, weights = "proportional", infer = TRUE)
  expect_s4_class(given$contrasts, "emmGrid")
  expect_equal(emmeans::emmeans(fit, ~cyl, lmer.df = "asymptotic"), emmeans::emmeans(fit, ~cyl))
  expect_equal(table_of(emmeans::emmeans(fit, ~cyl, mode = "link")), table_of(emmeans::emmeans(fit, ~cyl)))  # ggeffects
})

test_that("offsets and weights enter as in glm()", {
  skip_if_not_installed("emmeans")
  d <- transform(InsectSprays, exposure = rep(1:3, 24))
  means <- function(fit, ...) table_of(emmeans::emmeans(fit, ~spray, type = "response", ...))
  by_argument <- galvi(count ~ spray, d, poisson(), prior = flat_prior, offset = log(exposure))
  theirs <- means(glm(count ~ spray, poisson(), d, offset = log(exposure)))
  expect_equal(means(by_argument)$rate, theirs$rate, tolerance = 0.02)
  # of the formula they are those of the grid, as for glmmTMB()
  fit <- galvi(count ~ spray + offset(log(exposure)), d, poisson(), prior = flat_prior)
  at_mean <- means(fit)$rate
  expect_equal(at_mean, means(fit, offset = log(2))$rate, tolerance = tol$solve)
  expect_equal(means(fit, at = list(exposure = 6))$rate, 3 * at_mean, tolerance = tol$solve)
  expect_equal(means(fit, offset = 0)$rate, at_mean / 2, tolerance = tol$solve)
  trend <- function(formula) {
    table_of(emmeans::emtrends(galvi(formula, d, poisson(), hyper = "fixed"), ~1, var = "x"))$x.trend
  }
  d$x <- sin(seq_along(d$count))
  d$one <- 1
  expect_equal(trend(count ~ x + offset(log(one))), trend(count ~ x), tolerance = tol$solve)
  # with what is no column of the data it has the mean over the rows
  many <- 2
  static <- galvi(count ~ spray + offset(log(exposure / many)), d, poisson(), prior = flat_prior)
  found <- table_of(emmeans::emmeans(static, ~spray, data = d, params = "many", type = "response"))
  expect_equal(found$rate, means(by_argument)$rate, tolerance = tol$solve)
})

test_that("interactions, factors made in the formula, and constants are read as of lm()", {
  skip_if_not_installed("emmeans")
  tests <- function(fit) {
    table <- as.data.frame(suppressMessages(emmeans::joint_tests(fit)))
    rownames(table) <- table[["model term"]]
    table[c("df1", "F.ratio")]
  }
  twin <- lm_twin(log(breaks) ~ wool * tension, warpbreaks)
  expect_equal(tests(twin$ours), tests(twin$theirs), tolerance = tol$solve)
  # the interaction of gp() with its factor
  smooth <- galvi(mpg ~ am + gp(wt, by = am), transform(mtcars, am = factor(am)), hyper = "fixed")
  expect_setequal(setdiff(rownames(tests(smooth)), "(confounded)"), c("am", "wt", "am:wt"))
  k <- c(2.5, 3.5)
  many <- 2
  twin <- lm_twin(mpg ~ splines::ns(wt, knots = k) + factor(gear) + (carb > many))
  for (of in list(~gear, ~carb)) {
    means <- function(fit) table_of(suppressMessages(emmeans::emmeans(fit, of, params = c("k", "many"))))
    expect_equal(means(twin$ours)[2:3], means(twin$theirs)[2:3], tolerance = tol$solve)
  }
})

test_that("effects::Effect() adds the argument `offset` as glm() does", {
  skip_if_not_installed("effects")
  d <- transform(InsectSprays, exposure = rep(1:3, 24))
  effect <- function(fit) as.data.frame(effects::Effect("spray", fit))
  ours <- effect(eval(bquote(galvi(count ~ spray, .(d), poisson(), prior = flat_prior, offset = log(exposure)))))
  theirs <- effect(eval(bquote(glm(count ~ spray, poisson(), .(d), offset = log(exposure)))))
  # posterior means, not modes
  expect_equal(ours$fit, theirs$fit, tolerance = 0.02)
})

test_that("effects::Effect() gives the effects of lm() and glm()", {
  skip_if_not_installed("effects")
  twin <- lm_twin(mpg ~ wt + cyl)
  effect <- function(fit, of) as.data.frame(effects::Effect(of, fit))
  ours <- effect(twin$ours, "cyl")
  theirs <- effect(twin$theirs, "cyl")
  expect_equal(ours$fit, theirs$fit, tolerance = tol$solve)
  expect_equal(ours$se, theirs$se, tolerance = tol$solve)
  for (twin in glm_twins()) {
    ours <- effect(twin$ours, twin$factor)
    theirs <- effect(twin$theirs, twin$factor)
    expect_equal(ours$fit, theirs$fit, tolerance = 0.02)
    expect_equal(ours$se, theirs$se, tolerance = 0.05)
  }
})

test_that("effects::Effect() averages over gp(), and refuses what glm() cannot read", {
  skip_if_not_installed("effects")
  d <- car_data()
  fit <- galvi(mpg ~ cyl + gp(wt), d)
  found <- as.data.frame(effects::Effect("cyl", fit))
  all <- expand.grid(wt = d$wt, cyl = levels(d$cyl))
  mean <- tapply(predict(fit, all, type = "link"), all$cyl, mean)
  expect_equal(found$fit, as.vector(mean), tolerance = tol$solve)
  fits <- other_fits()
  expect_error(effects::Effect("wt", fits$classes), class = "galvi_error_argument")
  expect_error(effects::Effect("wt", fits$ordered), "plot\\(fit", class = "galvi_error_argument")
})

test_that("multcomp::glht() makes the contrasts of lm(), and of all classes", {
  skip_if_not_installed("multcomp")
  twin <- lm_twin(mpg ~ wt + cyl)
  contrasts <- function(fit) summary(multcomp::glht(fit, multcomp::mcp(cyl = "Tukey")), multcomp::univariate())$test
  ours <- contrasts(twin$ours)
  theirs <- contrasts(twin$theirs)
  expect_equal(ours$coefficients, theirs$coefficients, tolerance = tol$solve)
  expect_equal(ours$sigma, theirs$sigma, tolerance = tol$solve)
  fits <- other_fits()
  classes <- multcomp::glht(fits$classes)
  expect_identical(names(coef(classes)), rownames(vcov(fits$classes)))
  expect_error(multcomp::glht(fits$process), "none", class = "galvi_error_argument")
})

test_that("means of several responses are those of each, without residuals", {
  skip_if_not_installed("emmeans")
  set.seed(1)
  d <- data.frame(a = gl(3, 20), x = rnorm(60))
  d$y1 <- rnorm(60)
  d$y2 <- 10 * d$y1 + rnorm(60)
  for (fit in list(galvi(mvbind(y1, y2) ~ a + x, d), galvi(mvbind(y1, y2) ~ a + x + set_rescor(FALSE), d))) {
    expect_message(found <- emmeans::emmeans(fit, ~ a | .item), NA)
    theirs <- table_of(emmeans::emmeans(stats::lm(cbind(y1, y2) ~ a + x, d), ~ a | rep.meas))
    expect_equal(table_of(found)$emmean, theirs$emmean, tolerance = 1e-3)
    # those of a t distribution
    expect_equal(table_of(found)$SE, theirs$SE, tolerance = 0.05)
    expect_no_match(capture.output(print(found)), "mvbind|unit")
  }
})

test_that("words right of the bar, and makers of classes, are no transformations; those of the response are", {
  skip_if_not_installed("emmeans")
  d <- transform(mtcars, cyl = factor(cyl))
  ratios <- function(formula, family) {
    table_of(pairs(emmeans::emmeans(galvi(formula, d, family), ~cyl, data = d), type = "response"))
  }
  expect_equal(ratios(am | trials(1) ~ cyl, binomial()), ratios(am ~ cyl, binomial()), tolerance = tol$solve)
  expect_equal(ratios(factor(am) ~ cyl, binomial()), ratios(am ~ cyl, binomial()), tolerance = tol$solve)
  expect_equal(ratios(carb | rate(wt) ~ cyl, poisson()), ratios(carb ~ cyl + offset(log(wt)), poisson()),
    tolerance = tol$solve)
  points <- emmeans::emmip(galvi(am | trials(1) ~ cyl, d, binomial()), ~cyl, type = "response", plotit = FALSE, data = d)
  expect_true(all(points$yvar > 0 & points$yvar < 1))
  means <- function(formula, ...) {
    table_of(emmeans::emmeans(galvi(formula, d), ~cyl, type = "response", data = d, ...))
  }
  expect_named(means(sqrt(mpg) | weights(wt) ~ cyl)[2L], "response")
  expect_named(means(list(sqrt(mpg) ~ cyl, sigma ~ cyl))[2L], "response")
  expect_named(means(mpg | se(wt) ~ cyl)[2L], "emmean")
})

test_that("means are those of the population where ou(), rr() and ar1(by = ) are groups", {
  skip_if_not_installed("emmeans")
  d <- subset(sleepstudy, as.integer(Subject) <= 8)
  d <- transform(droplevels(d), h = factor(as.integer(Subject) %% 2), f = factor(Days))
  for (term in c("ou(Days | Subject)", "rr(f | Subject, d = 1)", "ar1(Days, by = Subject)")) {
    fit <- suppressMessages(galvi(stats::reformulate(c("h", "Days", term), "Reaction"), d, hyper = "fixed"))
    means <- table_of(emmeans::emmeans(fit, ~h, at = list(Days = 4.5)))
    ours <- predict(fit, data.frame(h = c("0", "1"), Days = 4.5), re_formula = NA, se.fit = TRUE)
    expect_close(means$emmean, ours$fit, 1e-8)
    expect_close(means$SE, ours$se.fit, 1e-8)
  }
  skip_if_not_installed("effects")
  expect_close(drop(effects::Effect("h", fit)$fit), ours$fit, 1e-6)
})

test_that("a walk is at the nearest time of the data where the grid is between two steps", {
  skip_if_not_installed("emmeans")
  d <- data.frame(t = c(1:10, 13:16), x = gl(2, 7), y = cos(1:14))
  for (term in c("rw1(t)", "ar1(t)")) {
    fit <- galvi(stats::reformulate(c("x", term), "y"), d, hyper = "fixed")
    at <- function(t) table_of(emmeans::emmeans(fit, ~x, at = list(t = t)))[c("emmean", "SE")]
    near <- function(t) predict(fit, data.frame(x = c("1", "2"), t = t), se.fit = TRUE)
    # the mean, 7.9
    expect_close(table_of(emmeans::emmeans(fit, ~x))$emmean, near(8)$fit, 1e-8)
    expect_equal(at(11.6), at(13))
    expect_close(at(12)$SE, near(12)$se.fit, 1e-8)
  }
  days <- transform(d, t = as.Date("2020-01-01") + t)
  fit <- galvi(y ~ x + rw1(t), days, hyper = "fixed")
  near <- predict(fit, data.frame(x = c("1", "2"), t = as.Date("2020-01-01") + 8))
  expect_close(table_of(emmeans::emmeans(fit, ~x))$emmean, near, 1e-8)
})

test_that("each predictor has its own offsets, by formula and by argument", {
  skip_if_not_installed("emmeans")
  at <- list(am = 0:1)
  rows <- transform(mtcars[rep(1L, 2L), ], am = 0:1)
  spread <- function(fit) table_of(emmeans::emmeans(fit, ~am, dpar = "sigma", at = at))$emmean
  wanted <- function(fit) unname(predict(fit, rows, dpar = "sigma", type = "link"))
  of_mean <- galvi(list(mpg ~ wt + offset(hp / 10), sigma ~ am), mtcars, hyper = "fixed")
  expect_equal(spread(of_mean), wanted(of_mean), tolerance = tol$solve)
  by_argument <- galvi(list(mpg ~ wt, sigma ~ am), mtcars, offset = hp / 10, hyper = "fixed")
  expect_equal(spread(by_argument), wanted(by_argument), tolerance = tol$solve)
  # at the mean of wt
  of_spread <- galvi(list(mpg ~ wt, sigma ~ am + offset(log(wt))), mtcars, hyper = "fixed")
  expect_equal(spread(of_spread), wanted(of_spread) - log(rows$wt) + log(mean(mtcars$wt)), tolerance = tol$solve)
})

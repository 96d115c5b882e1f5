# What the data do not determine, or what priors decide, is said.

noted <- function(expr, what) {
  said <- character()
  fit <- withCallingHandlers(expr, galvi_message = function(m) {
    said <<- c(said, setdiff(class(m), c("galvi_message", "message", "condition")))
    invokeRestart("muffleMessage")
  })
  expect_true(paste0("galvi_message_", what) %in% said)
  note <- Find(function(note) note$what == what, fit$notes)
  # print() says it, whatever the width
  printed <- gsub("[[:space:]]+", " ", paste(capture.output(print(fit)), collapse = " "))
  expect_match(printed, note$text, fixed = TRUE)
  list(fit = fit, note = note)
}

test_that("columns that depend on each other are named, as lm() names them", {
  set.seed(1)
  d <- data.frame(y = rnorm(20), a = gl(4, 5), x = rnorm(20))
  d$b <- d$a
  got <- noted(galvi(y ~ a + b + x, d), "dependent")
  expect_setequal(got$note$coefficients, c("a2", "a3", "a4", "b2", "b3", "b4"))
  for (name in names(which(is.na(coef(lm(y ~ a + b + x, d)))))) expect_match(got$note$text, paste0("`", name, "`"))
  expect_match(paste(capture.output(print(got$fit)), collapse = "\n"), "b4 .* a\n")
  got <- noted(galvi(yield ~ block + N * P * K, npk), "dependent")
  expect_match(got$note$text, "`N1:P1:K1` depends")
  got <- noted(galvi(y ~ ., data.frame(y = rnorm(5), matrix(rnorm(40), 5))), "dependent")
  expect_match(got$note$text, "9 columns of fixed effects and 5 rows")
  got <- noted(galvi(list(y ~ x, sigma ~ x + I(2 * x)), d), "dependent")
  expect_setequal(got$note$coefficients, c("sigma_x", "sigma_I(2 * x)"))
  # an intercept in other words is none
  expect_silent(fit <- galvi(y ~ 0 + a + x, d))
  expect_null(fit$notes)
})

test_that("a constant column is seen beside the intercept, whatever its rounding", {
  for_seeds(1:30, function(seed) {
    d <- data.frame(y = rnorm(sample(3:300, 1)))
    d$k <- sample(c(1, 2, 0.1, 1e6, -7), 1)
    expect_message(fit <- galvi(y ~ k, d), "`k` depends on other columns")
    expect_lt(abs(coef(fit)[["k"]] * d$k[1]), 1e-6)
    expect_equal(coef(fit)[["(Intercept)"]], coef(suppressMessages(galvi(y ~ 1, d)))[["(Intercept)"]], tolerance = 0.05)
  })
  d <- data.frame(x = seq(-1, 1, length.out = 60), k = 1)
  for (far in c(1e6, 1e9, 1e11)) {
    expect_message(fit <- galvi(y ~ x + I(x + far), transform(d, y = x + sin(1:60))), "depend")
    expect_lt(max(abs(coef(fit)[c("x", "I(x + far)")])), 10)
  }
  d$y <- d$x + sin(1:60)
  of_sigma <- suppressMessages(galvi(list(y ~ x, sigma ~ k), d))
  expect_lt(max(abs(coef(of_sigma))), 10)
})

test_that("separated classes are", {
  got <- noted(galvi(I(Species == "setosa") ~ Petal.Length, iris, binomial()), "separation")
  expect_match(got$note$text, "those of all rows")
  got <- noted(galvi(Species ~ Petal.Length, droplevels(iris[1:100, ]), categorical()), "separation")
  set.seed(1)
  d <- data.frame(g = gl(3, 10, labels = c("a", "b", "c")), x = rnorm(30))
  d$y <- ifelse(d$g == "b", 1, rep(0:1, 15))
  got <- noted(galvi(y ~ g + x, d, binomial()), "separation")
  expect_match(got$note$text, "`gb` = 1 have the same response", fixed = TRUE)
  expect_true("gb" %in% got$note$coefficients)
  expect_silent(galvi(y ~ x, d, binomial()))
  # only differences between classes are known, which is no news
  expect_silent(galvi(factor(cyl) ~ x, transform(mtcars, x = rep(1:4, 8)), categorical()))
})

test_that("ordered classes that are separated have a note, whatever their thresholds", {
  d <- data.frame(x = 1:15, level = factor(rep(c("a", "b"), c(12, 3))), middle = factor(rep(c("a", "b", "a"), c(6, 3, 6))))
  d$o <- factor(rep(c("l", "m", "h"), each = 5), c("l", "m", "h"), ordered = TRUE)
  d$near <- replace(d$x, 5:6, 6:5)
  for (family in list(cumulative(), cumulative("probit"), sratio(), cratio(), acat())) {
    got <- noted(galvi(o ~ x, d, family), "separation")
    expect_match(got$note$text, "fitted classes are those of all rows")
    expect_identical(got$note$coefficients, "x")
    # of a highest class the coefficient has no end; of one in the middle it has
    expect_match(noted(galvi(o ~ level, d, family), "separation")$note$text, "`levelb` = 1 have the same response")
    for (formula in list(o ~ near, o ~ middle)) {
      fit <- suppressMessages(galvi(formula, d, family))
      expect_false("separation" %in% vapply(fit$notes, `[[`, "", "what"))
    }
  }
})

test_that("what the default prior decides is, and what a typed one does is in summary() and check_fit()", {
  # an event that never happens in one group
  d <- data.frame(y = c(3, 5, 2, 4, 0, 0, 0), g = rep(c("a", "b"), c(4, 3)))
  got <- noted(galvi(y ~ g, d, poisson()), "separation")
  expect_equal(got$note$coefficients, "gb")
  # whatever the weight of the first row
  seen <- transform(d, w = c(0, 1, 1, 1, 1, 1, 1))
  expect_equal(noted(galvi(y ~ g, seen, poisson(), weights = w), "separation")$note$coefficients, "gb")
  typed <- galvi(mpg ~ wt, mtcars, prior = normal(0, 1))
  expect_equal(typed$notes[[1L]]$what, "typed_prior")
  expect_output(print(summary(typed)), "priors that you gave move")
  expect_no_match(paste(capture.output(print(typed)), collapse = " "), "priors that you gave")
  skip_if_not_installed("loo")
  expect_match(check_fit(typed)$reading, "priors that you gave", all = FALSE)
})

notes_of <- function(fit, what) Filter(function(note) note$what == what, fit$notes)

# What galvi() says, and the list of priors that a text names.
told <- function(expr) {
  said <- list()
  fit <- withCallingHandlers(expr, galvi_warning = function(w) {
    said <<- c(said, list(w))
    invokeRestart("muffleWarning")
  }, galvi_message = function(m) invokeRestart("muffleMessage"))
  list(fit = fit, classes = vapply(said, function(w) class(w)[1L], ""), said = vapply(said, conditionMessage, ""))
}

advised_prior <- function(text) eval(str2lang(sub(".*such as prior = (list\\(.*\\))[.].*", "\\1", text)))

test_that("typing the priors that a warning names ends it", {
  skip_on_cran()
  cases <- list(
    list(time ~ karno + celltype, survival::veteran, inverse.gaussian("log")),
    list(Claims + 1 ~ Group, MASS::Insurance, inverse.gaussian("log"))
  )
  for (case in cases) {
    first <- told(do.call(galvi, case))
    expect_true("galvi_warning_uncertainty" %in% first$classes)
    # each of them, also of several optima, names the same
    for (text in first$said) expect_equal(advised_prior(text), advised_prior(first$said[1L]))
    second <- told(do.call(galvi, c(case, list(prior = advised_prior(first$said[1L])))))
    expect_identical(second$said, character())
    expect_length(notes_of(second$fit, "uncertainty"), 0L)
  }
})

test_that("priors to type are centred where the default ones are, and leave out what has one", {
  v <- survival::veteran
  fit <- suppressWarnings(galvi(time ~ karno + celltype, v, inverse.gaussian("log")))
  advice <- advised_prior(notes_of(fit, "uncertainty")[[1L]]$text)
  expect_equal(advice$at_means, normal(round(log(mean(v$time)), 1), 1.5))
  expect_equal(advice$karno, normal(0, signif(1.5 / sd(v$karno), 2)))
  expect_equal(advice$default, normal(0, 1.5))
  some <- suppressWarnings(update(fit, prior = list(karno = normal(0, 0.1))))
  text <- notes_of(some, "uncertainty")[[1L]]$text
  expect_match(text, "To the priors that you gave, add one that says")
  expect_named(advised_prior(text), c("at_means", "default"))
  all <- galvi(time ~ karno + celltype, v, inverse.gaussian("log"),
    prior = list(at_means = normal(4.8, 5), default = normal(0, 5)))
  expect_match(notes_of(all, "uncertainty")[[1L]]$text, "has a prior that you gave: a narrower one")
  # contrasts of factors are in units of their own
  ordered <- galvi(log(Claims + 1) ~ Group, MASS::Insurance)
  expect_match(prior_to_type(ordered, names(coef(ordered))), "default = normal")
  # flat priors are no priors, and units are those of the response where the link is the identity
  flat <- galvi(mpg ~ wt, mtcars, prior = list(intercept = normal(0, Inf), default = normal(0, Inf)))
  expect_equal(
    eval(str2lang(prior_to_type(flat, c("(Intercept)", "wt")))), list(at_means = normal(20, 15), wt = normal(0, 15))
  )
  # coefficients of classes have one prior
  classes <- galvi(factor(cyl) ~ qsec, mtcars, categorical())
  expect_equal(
    prior_to_type(classes, rownames(vcov(classes))), sprintf("list(at_means = normal(0, 1.5), qsec = normal(0, %s))",
      signif(1.5 / sd(mtcars$qsec), 2))
  )
})

test_that("an intercept of which the default prior decides is warned of", {
  d <- data.frame(y = as.numeric(islands))
  got <- told(galvi(y ~ 1, d, inverse.gaussian("log")))
  expect_identical(got$classes, "galvi_warning_prior")
  expect_match(got$said, "decides what is found about `(Intercept)`", fixed = TRUE)
  expect_equal(advised_prior(got$said), list(intercept = normal(7.1, 1.5)))
  typed <- told(galvi(y ~ 1, d, inverse.gaussian("log"), prior = advised_prior(got$said)))
  expect_identical(typed$said, character())
  expect_lt(abs(coef(typed$fit) - log(mean(d$y))), 1)
  # counts that are all zero have a mean near zero, whatever the prior
  expect_identical(told(galvi(y ~ 1, data.frame(y = numeric(20)), poisson()))$said, character())
  # normal(0, 1) would be a prior of slopes
  zi <- told(galvi(list(Days ~ Age + Sex, zi ~ 1), MASS::quine, zero_inflated(negbinomial())))$fit
  expect_match(notes_of(zi, "prior")[[1L]]$text, "prior = list(zi = list(intercept = normal(0, 1.5)))", fixed = TRUE)
})

test_that("an estimate without its prior is that of a flat prior", {
  prior <- list(intercept = normal(0, Inf), wt = normal(1, 0.5), hp = normal(0, Inf))
  variance <- galvi_family("gaussian", variance = fixed(6))
  fit <- galvi(mpg ~ wt + hp, mtcars, variance, prior = prior)
  flat <- galvi(mpg ~ wt + hp, mtcars, variance, prior = list(intercept = normal(0, Inf), default = normal(0, Inf)))
  expect_equal(
    prior_weight(fit)$typed, unname(abs(coef(fit) - coef(flat)) / sqrt(diag(vcov(fit)))), tolerance = 1e-8
  )
  default <- galvi(mpg ~ wt + hp, mtcars[1:6, ], variance)
  flat <- update(default, prior = list(intercept = normal(0, Inf), default = normal(0, Inf)))
  expect_equal(
    prior_weight(default)$moved[-1L], unname(abs(coef(default) - coef(flat)) / sqrt(diag(vcov(default))))[-1L],
    tolerance = 0.02  # the default prior of the predictor at the means is not taken off
  )
})

test_that("groups of one row, and of one or two levels, are", {
  noted(galvi(mpg ~ wt + (1 | id), transform(mtcars, id = 1:32)), "groups")
  got <- noted(galvi(mpg ~ wt + (1 | am), mtcars), "groups")
  expect_match(got$note$text, "`am` has 2 levels")
  # a prior is what the note asks for
  expect_length(notes_of(galvi(mpg ~ wt + (1 | am), mtcars, prior = list(sd = half_normal(6)), verbose = FALSE), "groups"), 0L)
  # counts are overdispersed by an effect for each row
  expect_silent(galvi(count ~ (1 | id), transform(InsectSprays, id = 1:72), poisson()))
})

test_that("groups of three and four levels are where a weak prior decides a standard deviation", {
  got <- noted(galvi(breaks ~ wool + (1 | tension), warpbreaks), "groups")
  expect_match(got$note$text, "`tension` has 3 levels.*of `[(]Intercept[)]` rests on its weak prior.*half_normal[(]13[)]")
  expect_identical(got$note$coefficients, "(Intercept)")
  # it does: half as wide the sd is 18.2 no more
  sd <- function(...) sqrt(vcov(galvi(breaks ~ wool + (1 | tension), warpbreaks, verbose = FALSE, ...))[1L, 1L])
  expect_lt(sd(prior = list(sd = half_normal(66))) / sd(), 0.9)
  none <- function(...) expect_length(notes_of(galvi(..., verbose = FALSE), "groups"), 0L)
  none(breaks ~ wool + (1 | tension), warpbreaks, prior = list(sd = half_normal(13)))
  none(breaks ~ wool + (1 | tension), warpbreaks, prior = list(sd = fixed(5)))
  # four levels that hardly differ
  alike <- data.frame(g = gl(4, 30), y = rep(qnorm(ppoints(30)), 4) + rep(c(0, 0.1, 0.2, 0.1), each = 30))
  none(y ~ 1 + (1 | g), alike)
  none(y ~ 1 + (1 | g), data.frame(g = gl(6, 10), y = rep(qnorm(ppoints(10)), 6) + rep(1:6, each = 10)))
})

test_that("groups of one outcome each are said not to tell their standard deviation", {
  b <- transform(MASS::birthwt[1:80, ], row = seq_len(80), size = factor(cut(bwt, 3), ordered = TRUE))
  b$low <- rep(0:1, 40)
  got <- noted(galvi(low ~ smoke + (1 | row), b, binomial()), "groups")
  expect_match(got$note$text, "do not determine the standard deviation of its effects", fixed = TRUE)
  # effects of rows reproduce them, which fixed effects do not, and the interval is no news
  for (what in c("separation", "interval")) expect_length(notes_of(got$fit, what), 0L)
  noted(galvi(size ~ smoke + (1 | row), b, cumulative()), "groups")
  noted(galvi(factor(race) ~ 1 + (1 | row), b[1:30, ], categorical()), "groups")
  none <- function(...) expect_length(notes_of(galvi(..., verbose = FALSE), "groups"), 0L)
  none(cbind(low, 3 - low) ~ smoke + (1 | row), b, binomial())
  none(low ~ smoke + (1 | row), rbind(b, b), binomial())
  none(low ~ smoke + (1 | row), b, binomial(), prior = list(sd = fixed(1)))
})

test_that("effects that contain the noise are", {
  growth <- transform(as.data.frame(nlme::Orthodont), f = factor(age), Subject = as.character(Subject))
  sums <- "only sums of the two are known"
  for (formula in list(
    distance ~ age + (0 + f | Subject), distance ~ age + (f | Subject), distance ~ age + diag(0 + f | Subject),
    distance ~ age + homcs(0 + f | Subject)
  )) expect_match(noted(galvi(formula, growth), "groups")$note$text, sums, fixed = TRUE)
  expect_match(noted(galvi(extra ~ 1 + (group | ID), sleep), "groups")$note$text, sums, fixed = TRUE)
  # those of missing rows too
  expect_length(notes_of(galvi(distance ~ age + (0 + f | Subject), growth[-(1:5), ], verbose = FALSE), "groups"), 1L)
  none <- function(...) expect_length(notes_of(galvi(..., verbose = FALSE), "groups"), 0L)
  none(distance ~ age + ar1(0 + f | Subject), growth)
  none(distance ~ age + cs(0 + f | Subject), growth)
  none(distance ~ age + (age | Subject), growth)
  none(distance ~ age + (0 + f | Subject), rbind(growth, growth[1, ]))
  none(distance ~ age + (0 + f | Subject), growth, galvi_family("gaussian", variance = fixed(0)))
  # the variance of a slope is that of noise only where its variable is the same up to its sign
  none(mpg ~ wt + (0 + wt | id), transform(mtcars, id = 1:32))
  noted(galvi(mpg ~ wt + (0 + side | id), transform(mtcars, id = 1:32, side = 2 * am - 1)), "groups")
  noted(galvi(mpg ~ wt + (wt | id), transform(mtcars, id = 1:32)), "groups")
  got <- noted(galvi(mpg ~ wt + (1 | gr(id, by = am)), transform(mtcars, id = 1:32, am = factor(am))), "groups")
  expect_match(got$note$text, "`id` has one row in each level", fixed = TRUE)
  expect_match(got$note$text, "may leave its estimate out", fixed = TRUE)
  # noise with heavy tails is told from normal effects
  none(mpg ~ wt + (1 | id), transform(mtcars, id = 1:32), student())
  # weights divide the noise only
  none(mpg ~ wt + (1 | id), transform(mtcars, id = 1:32), weights = carb)
})

test_that("differences between classes are what is known", {
  fit <- galvi(factor(cyl) ~ I(rep(1:4, 8)), mtcars, categorical())
  expect_output(print(fit), "only differences between the coefficients")
  expect_output(print(summary(fit)), "refcat")
  expect_null(galvi(factor(cyl) ~ I(rep(1:4, 8)), mtcars, categorical(refcat = NULL))$notes)
})

test_that("weak zero parts are", {
  set.seed(2)
  d <- data.frame(x = rnorm(80))
  d$y <- rpois(80, exp(1 + 0.3 * d$x))
  fit <- suppressMessages(galvi(list(y ~ x, zi ~ x), d, zero_inflated(poisson())))
  expect_true(any(grepl("zi_", unlist(lapply(fit$notes, `[[`, "coefficients")))))
})

test_that("a fixed effect for each row is said to leave the noise to its prior", {
  noise <- function(fit) Filter(function(note) note$what == "noise", fit$notes)
  d <- data.frame(y = c(3, 7, 2), g = factor(1:3), x = c(1, 2, 4))
  expect_message(fit <- galvi(y ~ g, d), "fixed effect for each row")
  expect_length(noise(fit), 1L)
  expect_length(noise(galvi(y ~ x, d, verbose = FALSE)), 0L)
  expect_length(noise(galvi(y ~ x, d[1:2, ], verbose = FALSE)), 1L)
  expect_length(noise(galvi(y ~ x, d, weights = c(1, 1, 0), verbose = FALSE)), 1L)
  known <- galvi_family("gaussian", variance = fixed(1))
  expect_length(noise(galvi(y ~ g, d, known, verbose = FALSE)), 0L)
})

test_that("an estimate outside its own interval is said", {
  set.seed(1)
  d <- data.frame(g = gl(1000, 2))
  d$y <- rpois(2000, exp(rnorm(1000, -3.5, 3)[d$g]))
  got <- noted(galvi(y ~ 1 + (1 | g), d, poisson()), "interval")
  with(got$fit$hyper, expect_lt(estimate, lwr))
  expect_match(got$note$text, "few counts or binary rows")
  # only there
  fit <- got$fit
  fit$hyper$lwr <- 0
  fit$hyper$upr <- fit$hyper$estimate / 2
  expect_match(interval_notes(fit, character())[[1L]]$text, "An estimate is the mode")
  expect_null(interval_notes(fit, fit$hyper$name))
  # nor where another note says that the noise is unknown
  set.seed(3)
  fit <- noted(galvi(y ~ x + (1 | id), data.frame(y = rnorm(500), x = rnorm(500), id = 1:500)), "groups")$fit
  expect_length(notes_of(fit, "interval"), 0L)
  fit$hyper$upr <- fit$hyper$estimate / 2
  expect_length(notes_of(list(notes = find_notes(fit)), "interval"), 0L)
  expect_null(galvi(y ~ 1 + (1 | g), transform(d, y = y + rep(0:1, 1000)), poisson())$notes)
})

test_that("so is one at the end of its range", {
  # tails of a power of y, which are those of no size
  set.seed(2)
  d <- data.frame(y = c(rep(0, 20), sample(300, 120, TRUE, (1:300)^-1.8)))
  got <- noted(galvi(y ~ 1, d, hurdle(negbinomial())), "interval")
  expect_identical(got$fit$hyper$status, "at bound")
  expect_lt(got$fit$hyper$estimate, got$fit$hyper$lwr)
  expect_match(got$note$text, "`hurdle_negbinomial.size`: the estimate lies outside its interval", fixed = TRUE)
})

test_that("a smooth whose variance is estimated as zero is said where it has an interval that leaves zero out", {
  set.seed(4)
  d <- data.frame(x = runif(100), z = runif(100), g = gl(4, 25))
  d$y <- d$x + rnorm(100)
  expect_message(
    fit <- galvi(list(y ~ x, sigma ~ s(z)), d), "`sigma.s(z).variance`: estimated as zero", fixed = TRUE,
    class = "galvi_message_interval"
  )
  zero <- fit$hyper[fit$hyper$name == "sigma.s(z).variance", ]
  expect_identical(zero$status, "at bound")
  expect_gt(zero$lwr, zero$estimate)
  # without an interval the table says it
  expect_length(galvi(y ~ s(x), d, control = galvi_control(uncertainty = "factorised"))$notes, 0L)
})

test_that("priors without a mean do not stop the notes", {
  d <- data.frame(
    z = c(1.1, 0.6, 0.5, 3.2, 0.1, 0.4, 0.8, 1.3, 0.2, 2.4, 0.6), g = gl(2, 6)[-1],
    x = c(-0.9, 0.2, 1.6, -1.1, -0.1, 0.4, 2.1, -1.2, 1.6, 2, 0)
  )
  for (prior in list(horseshoe(), double_exponential(0, 1), student_t(3, 0, 1))) {
    fit <- suppressWarnings(galvi(z ~ x + g, d, inverse.gaussian("log"), prior = list(x = prior), verbose = FALSE))
    expect_true(all(is.finite(coef(fit))))
  }
})

test_that("singular fits of another predictor are said with its name, and the prior that is named can be typed", {
  set.seed(1)
  d <- data.frame(y = rpois(60, 1) * rbinom(60, 1, 0.7), g = gl(10, 6))
  fit <- suppressWarnings(galvi(list(y ~ 1 + (1 | g), zi ~ 1 + (1 | g)), d, zero_inflated(poisson()), verbose = FALSE))
  said <- vapply(notes_of(fit, "singular"), `[[`, "", "text")
  expect_match(said[1L], "^\\(1 \\| g\\): .* prior = list\\(sd = half_normal\\(1\\)\\)\\.$")
  expect_match(said[2L], "^\\(1 \\| g\\) of `zi`: .* prior = list\\(zi = list\\(sd = half_normal\\(1\\)\\)\\)\\.$")
  prior <- list(sd = half_normal(1), zi = list(sd = half_normal(1)))
  fit <- suppressWarnings(update(fit, prior = prior))
  expect_length(notes_of(fit, "singular"), 0L)
})

test_that("names that have backticks of their own have no others in notes", {
  d <- data.frame(y = sin(1:12), z = c(1:6, 6:1), g = gl(3, 4), check.names = FALSE)
  d[["my x"]] <- 2 * d$z
  tied <- suppressMessages(galvi(y ~ z + `my x`, d))
  expect_match(tied$notes[[1]]$text, "^`my x` depends")
  slopes <- suppressMessages(galvi(y ~ (1 + `my x` | g), d))
  text <- vapply(slopes$notes, `[[`, "", "text")
  expect_match(text, "of `my x`|and `my x`", all = FALSE)
  expect_false(any(grepl("``", text, fixed = TRUE)))
})

# Ordered classes: densities at other packages' optima, models that are the same, exact posteriors, and what users see.

# The ratings of bitterness of `ordinal::wine`, as counts.
wine <- local({
  d <- expand.grid(temp = c("cold", "warm"), contact = c("no", "yes"), rating = 1:5)
  d$n <- c(4, 0, 1, 0, 9, 5, 7, 1, 5, 8, 8, 5, 0, 3, 2, 7, 0, 2, 0, 5)
  d$rating <- factor(d$rating, ordered = TRUE)
  d[d$n > 0, ]
})

# clm(rating ~ temp + contact, link = ) of ordinal 2022.11-16, the last two with scale = ~temp: thresholds, slopes,
# -zeta, log-likelihood. clm() takes 1e5 for infinity, beyond which a Cauchy variable has a probability of 3e-6: its
# -92.5158 with the link cauchit is here what R's pcauchy() gives at the same place.
clm_optima <- list(
  cumulative_logit = c(-1.34438341126502, 1.25080879841678, 3.46688692647490, 5.00640420427088, 2.50310200789956,
    1.52779765809535, -86.4919233656490),
  cumulative_probit = c(-0.773262728758367, 0.736021489839440, 2.044680463850121, 2.941344982257154, 1.499374578398644,
    0.867743538882857, -85.7611483647766),
  cumulative_cloglog = c(-1.740082382312607, 0.296329097849798, 1.728855343377174, 2.596797049142194, 1.605760091138502,
    0.859713656727842, -86.6340792088098),
  cumulative_loglog = c(-0.302441463179916, 1.178604775421468, 2.606232887824419, 3.814822873346096, 1.533018182012540,
    0.905644427669442, -87.7178551429594),
  cumulative_cauchit = c(-2.511029899092666, 0.880234799753713, 2.865755577083332, 4.541159720076154, 1.962908389950529,
    1.218288716909671, -92.515554034303),
  cumulative_logit_log_disc = c(-1.3520417699465588, 1.2730017573575216, 3.6170230550445028, 5.2982362874273194,
    2.6294184311347006, 1.5878437552511038, -0.0953591671522823, -86.4394628794047861),
  cumulative_probit_log_disc = c(-0.778782623685318, 0.745251225977365, 2.143401396129005, 3.142019893133033,
    1.586686042467398, 0.911389293168341, -0.111082663241007, -85.673111972863921)
)

# Sums over rows of what is good to 1e-10, and optima of inference to its own tolerance.
same <- 1e-8

test_that("log densities at clm's optimum add up to its log-likelihood", {
  warm <- wine$temp == "warm"
  for (type in names(clm_optima)) {
    at <- clm_optima[[type]]
    eta <- cbind(at[5] * warm + at[6] * (wine$contact == "yes"))
    if (length(at) > 7) eta <- cbind(eta, at[7] * warm)
    spec <- list(type = type, hyper = list(thresholds = 1:4), constants = list())
    log_p <- vapply(seq_len(nrow(wine)), function(i) {
      probe_expectation(
        spec, "quadrature", at[1:4], as.integer(wine$rating[i]) - 1, 1, 1, eta[i, ], 0 * eta[i, ], 1, 1
      )$value
    }, 0)
    expect_close(sum(wine$n * log_p), at[length(at)], same)
  }
})

# ---- models that are the same ----

ordinal_elbo <- function(formula, family, data = wine, prior = list(default = normal(0, 2)), ...) {
  galvi(formula, data, family, weights = n, prior = prior, hyper = "fixed", verbose = FALSE, ...)$elbo
}

test_that("two classes are a binomial response, in every family and with every link", {
  d <- transform(wine, high = as.integer(rating) > 2)
  prior <- list(intercept = normal(-0.4, 1), default = normal(0, 2))
  for (link in c("logit", "probit", "cloglog", "loglog", "cauchit")) {
    # P(high) = 1 - F(0.3 - eta), which is F(eta - 0.3) of the link of the opposite sign
    opposite <- switch(link, cloglog = "loglog", loglog = "cloglog", link)
    success <- galvi_family("binomial", link = opposite)
    moved <- list(intercept = normal(-0.7, 1), default = normal(0, 2))
    binary <- ordinal_elbo(high ~ temp + contact, success, d, moved)
    for (name in c("cumulative", "sratio", "cratio", if (link == "logit") "acat")) {
      own <- if (name == "cratio") opposite else link
      family <- galvi_family(name, link = own, thresholds = fixed(0.3))
      two <- ordinal_elbo(factor(high, ordered = TRUE) ~ temp + contact, family, d, prior)
      expect_close(two, binary, same)
    }
  }
})

test_that("symmetric links make both ratios one model, and a cloglog one is cumulative", {
  for (link in c("logit", "probit", "cauchit")) {
    by_stop <- ordinal_elbo(rating ~ temp + contact, sratio(link, fixed(c(-1, 0.5, 0.2, 2))))
    by_step <- ordinal_elbo(rating ~ temp + contact, cratio(link, fixed(c(-1, 0.5, 0.2, 2))))
    expect_equal(by_stop, by_step)
  }
  # exp(-exp(t_k - eta)) is a product over classes: exp(t_k) is a sum
  steps <- c(-1, 0.5, 0.2, 2)
  expect_close(
    ordinal_elbo(rating ~ temp + contact, sratio("cloglog", fixed(steps))),
    ordinal_elbo(rating ~ temp + contact, cumulative("cloglog", fixed(log(cumsum(exp(steps)))))), same
  )
  # a stick with the opposite sign, whose classes have intercepts of their own
  held <- galvi(rating ~ 1, wine, sratio(), weights = n, verbose = FALSE)
  sticks <- galvi(factor(rating, ordered = FALSE) ~ 1, wine, stick_breaking(), weights = n, verbose = FALSE,
    prior = normal(0, Inf))
  from <- held$hyper$estimate[held$hyper$term == "sratio"]
  expect_equal(unname(c(coef(sticks))), from, tolerance = 0.15)
})

test_that("the log-log link is the complementary one of failures and minus eta", {
  d <- data.frame(y = c(0, 3, 5, 8), x = c(-1, 0, 0.5, 1))
  elbo <- function(formula, link, data = d) {
    galvi(formula, data, galvi_family("binomial", link = link), prior = normal(0, 2), verbose = FALSE)$elbo
  }
  expect_close(elbo(cbind(y, 8 - y) ~ x, "loglog"), elbo(cbind(8 - y, y) ~ x, "cloglog"), same)
  family <- galvi_family("binomial", link = "loglog")
  expect_equal(family$linkfun(family$linkinv(c(-1, 0, 2))), c(-1, 0, 2))
  expect_error(galvi(y > 3 ~ x, d, family = binomial("loglog")), "galvi_family(\"binomial\", link = \"loglog\")",
    fixed = TRUE, class = "galvi_error_family")
})

# ---- posteriors ----

# Exact posterior means and sds of the slopes under normal(0, 5), of `disc` under normal(0, 1), flat thresholds: by
# importance sampling of 200000 draws from a multivariate t, with errors of 0.005 sd at most.
exact_slopes <- list(
  "cumulative logit" = list(c(2.5953, 1.5856), c(0.5387, 0.4851)),
  "cumulative probit" = list(c(1.5388, 0.8904), c(0.2933, 0.2679)),
  "cumulative cloglog" = list(c(1.6711, 0.8850), c(0.3300, 0.2852)),
  "cumulative loglog" = list(c(1.5869, 0.9265), c(0.3313, 0.2840)),
  "cumulative logit disc" = list(c(3.0855, 1.7459, -0.3189), c(0.8068, 0.5759, 0.2845)),
  "cumulative probit disc" = list(c(1.8189, 0.9923, -0.3013), c(0.4408, 0.3181, 0.2596)),
  "sratio logit" = list(c(2.3116, 1.2859), c(0.4847, 0.4159)),
  "sratio cloglog" = list(c(1.6410, 0.8739), c(0.3282, 0.2847)),
  "cratio cloglog" = list(c(1.3967, 0.7644), c(0.2936, 0.2392)),
  "acat logit" = list(c(1.8003, 1.0233), c(0.4224, 0.3326))
)
# Reasons: sds of weighted points have an error of 1 to 1.5 %, means one of a hundredth of an sd.
slope_errors <- list(mean = 0.05, sd = 0.03)

test_that("slopes have the means and standard deviations of the exact posterior", {
  for (case in names(exact_slopes)) {
    words <- strsplit(case, " ")[[1]]
    disc <- length(words) > 2
    formula <- if (disc) list(rating ~ temp + contact, disc ~ temp) else rating ~ temp + contact
    prior <- c(list(default = normal(0, 5)), if (disc) list(disc = normal(0, 1)))
    fit <- galvi(formula, wine, galvi_family(words[1], link = words[2]), weights = n, prior = prior, verbose = FALSE)
    exact <- exact_slopes[[case]]
    expect_lt(max(abs(coef(fit) - exact[[1]]) / exact[[2]]), slope_errors$mean)
    expect_close(sds(fit) / exact[[2]], 1, slope_errors$sd)
  }
})

# The same for the thresholds of the first of them, with limits; and for rating ~ temp + contact + (1 | judge) of the 72
# rows of `ordinal::wine`, with the default priors, by 400000 steps of Metropolis, with errors of 0.02 sd.
exact_thresholds <- list(
  points = cbind(
    mean = c(-1.4455, 1.2919, 3.5940, 5.2416), sd = c(0.5422, 0.4456, 0.6115, 0.7518),
    lwr = c(-2.5802, 0.4468, 2.4542, 3.8454), upr = c(-0.4584, 2.1960, 4.8541, 6.7891)
  ),
  states = cbind(
    mean = c(-1.827, 1.618, 4.551, 6.598), sd = c(0.878, 0.793, 0.972, 1.124),
    lwr = c(-3.688, 0.085, 2.757, 4.535), upr = c(-0.202, 3.200, 6.557, 8.920)
  )
)

points_fit <- function() {
  galvi(rating ~ temp + contact, wine, cumulative(), weights = n, prior = list(default = normal(0, 5)), verbose = FALSE)
}

states_fit <- function() {
  skip_if_not_installed("ordinal")
  galvi(rating ~ temp + contact + (1 | judge), ordinal::wine, cumulative(), verbose = FALSE)
}

test_that("thresholds have the posterior means, sds and limits of the exact posterior, in all that shows them", {
  # `unit` of an error: exact sds. States take less than all of the posterior's width.
  for (case in list(
    list(fit = points_fit(), exact = exact_thresholds$points, mean = 0.05, sd = 0.03, limit = 0.1),
    list(fit = states_fit(), exact = exact_thresholds$states, mean = 0.1, sd = 0.16, limit = 0.5)
  )) {
    fit <- case$fit
    exact <- case$exact
    table <- summary(fit)$thresholds
    expect_lt(max(abs(table$mean - exact[, "mean"]) / exact[, "sd"]), case$mean)
    expect_close(table$sd / exact[, "sd"], 1, case$sd)
    expect_lt(max(abs(as.matrix(table[c("lwr", "upr")]) - exact[, c("lwr", "upr")]) / exact[, "sd"]), case$limit)
    # the slopes' means, the thresholds' and probabilities belong together
    expect_equal(unname(thresholds(fit)), table$mean)
    limits <- confint(fit, c("tempwarm", "1|2", "4|5"))
    expect_equal(unname(limits[2:3, ]), unname(as.matrix(table[c(1, 4), c("lwr", "upr")])))
    expect_equal(limits[1, ], confint(fit)[1, ])
    expect_identical(rownames(confint(fit)), names(coef(fit)))
    at <- fit$hyper$term == "cumulative"
    expect_equal(fit$hyper$lwr[at], table$lwr)
    expect_equal(fit$hyper$estimate[at], table$estimate)
    expect_equal(unname(sqrt(diag(vcov(fit, full = TRUE)))[fit$hyper$name[at]]), table$sd)
    shown <- capture.output(print(fit))
    expect_match(shown, "Thresholds (posterior mean, sd and interval):", fixed = TRUE, all = FALSE)
    skip_if_not_installed("generics")
    rows <- generics::tidy(fit, conf.int = TRUE)
    rows <- rows[rows$term %in% table$between, ]
    expect_equal(rows[c("estimate", "std.error", "conf.low", "conf.high")], table[4:7], ignore_attr = TRUE)
  }
  draws <- as.matrix(fit, 4000, seed = 1)[, fit$hyper$name[at]]
  expect_close(apply(draws, 2, sd) / table$sd, 1, 0.1)
  expect_error(confint(fit, "5|6"), "fixed effects or thresholds, not \"5|6\"", fixed = TRUE,
    class = "galvi_error_argument")
})

test_that("of every family, limits and draws of thresholds are those of their means and sds, wherever x is zero", {
  skip_if_not_installed("ordinal")
  d <- transform(ordinal::wine, z = sin(seq_along(rating)) + as.numeric(rating) / 4)
  grouped <- rating ~ z + temp + contact + (1 | judge)
  cases <- list(
    list(grouped, sratio()), list(grouped, cratio()), list(grouped, acat()), list(grouped, cumulative()),
    list(rating ~ z + temp, acat(), hyper = "integrate"),
    list(grouped, sratio(), control = galvi_control(uncertainty = "factorised"))
  )
  for (case in cases) {
    of <- function(data) do.call(galvi, c(case[1L], list(data), case[-1L], verbose = FALSE))
    fit <- of(d)
    moved <- of(transform(d, z = z + 50))
    at <- fit$hyper$term == fit$family$family
    # a slope times 50, which they move by, is as uncertain as they are then
    for (own in list(fit, moved)) {
      table <- summary(own)$thresholds
      known <- !anyNA(table$sd)
      estimate <- if (known) table$mean else table$estimate
      width <- if (known) table$sd else (own$hyper$upr - own$hyper$lwr)[at] / (2 * 1.96)
      expect_lt(max(abs((estimate - own$hyper$lwr[at]) / width - 1.96)), 0.25)
      expect_lt(max(abs((own$hyper$upr[at] - estimate) / width - 1.96)), 0.25)
      draws <- as.matrix(own, 4000, seed = 1)[, own$hyper$name[at]]
      expect_lt(max(abs(colMeans(draws) - estimate) / width), 0.1)
      expect_close(apply(draws, 2, sd) / width, 1, 0.25)
      expect_lt(abs(hypothesis(own, "Intercept[2] > 0")$hypothesis$Estimate - estimate[2]) / width[2], 0.1)
    }
    expect_equal(moved$hyper$estimate[at] - fit$hyper$estimate[at], rep(50 * coef(moved)[["z"]], sum(at)),
      tolerance = 1e-3)
  }
})

test_that("slopes are as uncertain as those of polr() where there are many classes", {
  skip_if_not_installed("MASS")
  for (levels in c(14, 21)) {
    set.seed(levels)
    d <- data.frame(x = rnorm(300), z = rnorm(300))
    y <- 2 * d$x + d$z + rlogis(300)
    d$y <- factor(cut(y, quantile(y, 0:levels / levels), labels = FALSE, include.lowest = TRUE), ordered = TRUE)
    fit <- galvi(y ~ x + z, d, cumulative())
    theirs <- MASS::polr(y ~ x + z, d, Hess = TRUE)
    # thresholds as known: 0.66 to 0.76
    expect_lt(max(abs(sqrt(diag(vcov(fit)) / diag(vcov(theirs))[c("x", "z")]) - 1)), 0.05)
  }
})

test_that("slopes are as uncertain beside smooths and processes as without, where these do nothing", {
  set.seed(1)
  d <- data.frame(x = rnorm(300), z = rnorm(300))
  d$y <- factor(cut(4 * d$x + rlogis(300), c(-Inf, -2, 0, 2, 4, Inf), labels = FALSE), ordered = TRUE)
  sd_of_x <- function(formula) sqrt(vcov(galvi(formula, d, cumulative()))["x", "x"])
  alone <- sd_of_x(y ~ x + z)
  # thresholds as known: 0.68
  for (formula in list(y ~ x + s(z), y ~ x + s(z, bs = "ad"), y ~ x + gp(z))) {
    expect_lt(abs(sd_of_x(formula) / alone - 1), 0.06, label = deparse1(formula))
  }
})

test_that("where the posterior is that at their estimates, thresholds are these", {
  fit <- update(points_fit(), control = galvi_control(uncertainty = "factorised"))
  table <- summary(fit)$thresholds
  expect_true(all(is.na(table[c("mean", "sd", "lwr", "upr")])))
  expect_identical(unname(thresholds(fit)), table$estimate)
  expect_match(capture.output(print(fit)), "^Thresholds:$", all = FALSE)
  held <- galvi(rating ~ temp, wine, cumulative(thresholds = fixed(c(-1, 1, 3, 5))), weights = n, verbose = FALSE)
  expect_match(capture.output(print(held)), "Thresholds (fixed):", fixed = TRUE, all = FALSE)
  expect_error(confint(held, "1|2"), "must name fixed effects, not", class = "galvi_error_argument")
})

# ---- the linear predictor ----

test_that("the link is as uncertain as its distance from the average row, whatever is the reference or the origin", {
  skip_if_not_installed("ordinal")
  one_of_each <- function(d) d[!duplicated(d[c("temp", "contact")]), ]
  d <- transform(ordinal::wine, temp = factor(temp, ordered = FALSE), z = seq_along(temp) / 10)
  for (formula in list(rating ~ temp + contact + z, rating ~ temp + contact + z + (1 | judge))) {
    of <- function(d, full = FALSE) {
      fit <- galvi(formula, d, cumulative(), verbose = FALSE)
      list(fit = fit, link = predict(fit, one_of_each(d), type = "link", se.fit = TRUE, re_formula = NA),
        prob = predict(fit, one_of_each(d), type = "prob", se.fit = TRUE, re_formula = NA))
    }
    first <- of(d)
    fit <- first$fit
    expect_true(has_points(fit))
    X <- model.matrix(~ temp + contact + z, one_of_each(d))[, -1]
    away <- X - rep(colMeans(model.matrix(~ temp + contact + z, d)[, -1]), each = nrow(X))
    expect_equal(unname(first$link$fit), drop(unname(X %*% coef(fit))), tolerance = 1e-10)
    expect_equal(unname(first$link$se.fit), unname(sqrt(rowSums((away %*% vcov(fit)) * away))), tolerance = 1e-8)
    moved <- of(transform(d, temp = relevel(temp, "warm"), z = z + 2000))
    expect_equal(moved$link$se.fit, first$link$se.fit, tolerance = 1e-5)
    expect_equal(moved$prob, first$prob, tolerance = 1e-5)
    # probabilities belong to these thresholds
    draws <- as.matrix(fit, 4000, seed = 1)
    at <- cbind(X %*% t(draws[, names(coef(fit))]))
    below <- plogis(rep(draws[, "cumulative.1|2"], each = nrow(X)) - at)
    expect_lt(max(abs(rowMeans(below) - first$prob$fit[, 1]) / first$prob$se.fit[, 1]), 0.1)
    expect_equal(unname(apply(below, 1, sd)), unname(first$prob$se.fit[, 1]), tolerance = 0.1)
    skip_if_not_installed("rstantools")
    eta <- rstantools::posterior_linpred(fit, newdata = one_of_each(d), re_formula = NA, ndraws = 4000, seed = 1)
    expect_equal(unname(apply(eta, 2, sd)), unname(first$link$se.fit), tolerance = 0.05)
    skip_if_not_installed("emmeans")
    means <- as.data.frame(emmeans::emmeans(fit, ~ temp + contact, data = d, at = list(z = 3)))
    asked <- predict(fit, transform(means, z = 3), type = "link", se.fit = TRUE, re_formula = NA)
    expect_equal(means$emmean, unname(asked$fit), tolerance = 1e-8)
    expect_equal(means$SE, unname(asked$se.fit), tolerance = 1e-8)
    contrast <- as.data.frame(pairs(emmeans::emmeans(fit, ~temp, data = d)))
    expect_equal(contrast$SE, sqrt(vcov(fit)["tempwarm", "tempwarm"]), tolerance = 1e-8)
    own <- emmeans::emmeans(fit, ~temp, data = d, vcov. = 4 * vcov(fit))
    expect_equal(as.data.frame(pairs(own))$SE, 2 * contrast$SE, tolerance = 1e-8)
  }
})

# ---- what users see ----

test_that("the discrimination has no intercept, and links without a bound refuse it", {
  fit <- galvi(list(rating ~ temp, disc ~ contact), wine, cumulative("probit"), weights = n, verbose = FALSE)
  expect_named(coef(fit), c("tempwarm", "disc_contactyes"))
  p <- predict(fit, wine[1:4, ], type = "prob")
  expect_equal(unname(rowSums(p)), rep(1, 4))
  # without contact it is 1 for certain
  expect_equal(predict(fit, wine[1, ], dpar = "disc", type = "response")[[1]], 1)
  refused <- function(family, pattern) {
    expect_error(galvi(list(rating ~ temp, disc ~ contact), wine, family), pattern, class = "galvi_error_formula")
  }
  refused(cumulative("cloglog"), "bound would not exist")
  refused(cratio("loglog"), "bound would not exist")
  refused(sratio("cauchit"), "not available")
})

test_that("thresholds without an order may have any", {
  expect_error(cumulative(thresholds = fixed(c(1, 0))), "must increase", class = "galvi_error_family")
  for (make in list(sratio, cratio, acat)) {
    fit <- galvi(rating ~ temp, wine, make(thresholds = fixed(c(1, 0, 3, 2))), weights = n, hyper = "fixed")
    expect_identical(fit$hyper$estimate[fit$hyper$term == fit$family$family], c(1, 0, 3, 2))
    expect_true("(Intercept)" %in% names(coef(fit)))
  }
})

test_that("without slopes every family has the observed proportions", {
  shares <- tapply(wine$n, wine$rating, sum) / sum(wine$n)
  for (name in ordinal_families) {
    for (link in names(family_types[[name]]$links)) {
      fit <- galvi(rating ~ 1, wine, galvi_family(name, link = link), weights = n, hyper = "fixed", verbose = FALSE)
      expect_close(predict(fit, wine[1, ], type = "prob")[1, ], shares, same)
    }
  }
})

test_that("credible intervals of class probabilities are quantiles of their draws, of two classes those of the mean", {
  skip_if_not_installed("rstantools")
  fit <- update(points_fit(), family = acat())
  new <- wine[c(1, 2, 4), ]
  new$temp[2] <- NA
  band <- predict(fit, new, type = "prob", interval = "credible", level = 0.8)
  expect_identical(dimnames(band), list(rownames(new), levels(wine$rating), c("fit", "lwr", "upr")))
  expect_identical(band[, , "fit"], predict(fit, new, type = "prob"))
  expect_identical(predict(fit, new, type = "prob", interval = "credible", level = 0.8), band)
  expect_true(all(is.na(band[2, , ])))
  draws <- rstantools::posterior_epred(fit, new[-2, ], ndraws = 4000, seed = 2)
  inside <- function(k) colMeans(draws[, k, ] > rep(band[c(1, 3)[k], , "lwr"], each = 4000) &
    draws[, k, ] < rep(band[c(1, 3)[k], , "upr"], each = 4000))
  expect_close(c(inside(1), inside(2)), 0.8, 0.05)
  both <- predict(fit, new, type = "prob", interval = "credible", se.fit = TRUE)
  expect_identical(both$se.fit, predict(fit, new, type = "prob", se.fit = TRUE)$se.fit)
  binary <- galvi(factor(am) ~ wt, mtcars, binomial(), verbose = FALSE)
  two <- predict(binary, type = "prob", interval = "credible")
  success <- predict(binary, interval = "credible")
  expect_equal(two[, 2, ], success, ignore_attr = TRUE)
  expect_equal(two[, 1, ], 1 - success[, c(1, 3, 2)], ignore_attr = TRUE)
})

test_that("classes that are impossible have the probability zero", {
  d <- data.frame(y = factor(rep(1:3, 10), ordered = TRUE), x = rep(c(-1, 1, 2, 1, 3), 6))
  for (family in list(cumulative(), acat(), sratio())) {
    fit <- galvi(y ~ x, d, family, verbose = FALSE)
    far <- posterior_epred.galvi(fit, newdata = data.frame(x = c(-1e6, 0, 1e6)), ndraws = 20, seed = 1)
    expect_identical(range(far), c(0, 1))
    expect_close(apply(far, 1:2, sum), matrix(1, 20, 3), 1e-12)
  }
})

test_that("probabilities of classes are averages over the linear predictor, of any family, variance and discrimination", {
  set.seed(1)
  d <- data.frame(x = rnorm(60), y = ordered(sample(1:4, 60, TRUE)))
  families <- list(cumulative(), cumulative("probit"), cumulative("cloglog"), cumulative("loglog"), cumulative("cauchit"),
    sratio(), sratio("probit"), cratio("cloglog"), acat())
  z <- seq(-9, 9, length.out = 4001)
  weight <- dnorm(z) / sum(dnorm(z))
  at <- expand.grid(mean = c(-6, -1.3, 0, 0.4, 3), variance = c(0, 1e-5, 0.003, 0.1, 0.9, 8, 60))
  for (family in families) {
    fit <- galvi(y ~ x, d, family, hyper = "fixed")
    found <- independent_classes(fit$model$likelihood, fit, cbind(at$mean), cbind(at$variance), TRUE)
    for (i in seq_len(nrow(at))) {
      eta <- at$mean[i] + sqrt(at$variance[i]) * z
      p <- independent_classes(fit$model$likelihood, fit, cbind(eta), cbind(0 * eta), FALSE)$probability
      expect_equal(found$probability[i, ], drop(weight %*% p), tolerance = 1e-9, label = family_label(fit))
      expect_equal(found$second[i, ], drop(weight %*% p^2), tolerance = 1e-9, label = family_label(fit))
    }
  }
  # what is shared by rows and by threads does not matter
  scaled <- galvi(list(y ~ x, disc ~ x), d, cumulative(), hyper = "fixed")
  mean <- cbind(rnorm(40), rnorm(40))
  variance <- cbind(rexp(40), rexp(40) / 5)
  of <- function(rows, threads) {
    scaled$control$threads <- threads
    independent_classes(scaled$model$likelihood, scaled, mean[rows, , drop = FALSE], variance[rows, , drop = FALSE], TRUE)
  }
  all <- of(1:40, 2L)
  expect_identical(all, of(1:40, 1L))
  for (i in c(1L, 17L)) expect_identical(of(i, 1L), lapply(all, function(x) x[i, , drop = FALSE]))
  log_disc <- mean[1L, 2L] + sqrt(variance[1L, 2L]) * z
  p <- vapply(log_disc, function(own) {
    drop(independent_classes(scaled$model$likelihood, scaled, cbind(mean[1L, 1L], own), cbind(variance[1L, 1L], 0),
      FALSE)$probability)
  }, numeric(4))
  expect_equal(all$probability[1L, ], drop(p %*% weight), tolerance = 1e-8)
})

test_that("probabilities of classes without covariates are as uncertain as proportions", {
  set.seed(2)
  for (classes in c(5, 12)) {  # by states, and by a joint Gaussian of more thresholds
    d <- data.frame(o = ordered(sample(classes, 400, TRUE)))
    p <- as.vector(table(d$o)) / 400
    for (family in c("cumulative", "sratio", "cratio", "acat")) {
      found <- predict(galvi(o ~ 1, d, family), d[1, , drop = FALSE], type = "prob", se.fit = TRUE)
      expect_close(as.vector(found$se.fit) / sqrt(p * (1 - p) / 400), 1, 0.1)
      expect_close(as.vector(found$fit), p, 0.02)  # the prior of the thresholds
    }
  }
})

test_that("thresholds keep their sds beside a variance that is known badly", {
  skip_if_not_installed("ordinal")
  set.seed(3)
  d <- data.frame(g = gl(20, 15), x = rnorm(300), k = gl(10, 1, 300))
  z <- d$x + rnorm(20)[d$g] + rlogis(300)
  d$o <- cut(z, c(-Inf, -2.5, -1.2, -0.4, 0.4, 1.2, 2.5, Inf), labels = 1:7, ordered_result = TRUE)
  ours <- galvi(o ~ x + (1 | g) + (1 | k), d, cumulative())
  expect_identical(ours$convergence$uncertainty$method, "response")
  reference <- suppressWarnings(ordinal::clmm(o ~ x + (1 | g) + (1 | k), d))
  at <- ours$hyper[ours$hyper$term == "cumulative", ]
  # the Wald standard errors leave out that variances are estimated
  ratio <- (at$upr - at$lwr) / (2 * qnorm(0.975)) / sqrt(diag(vcov(reference)))[1:6]
  expect_true(all(ratio > 1 & ratio < 1.2))
})

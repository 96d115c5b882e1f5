test_that("bars count the observations, and draws have the frequencies that the family gives", {
  fit <- small_fit("counts")
  set.seed(1)
  data <- plot_away(fit, "predictive", ndraws = 400)
  expect_identical(sum(data$observed), 72)
  expect_equal(data$observed[1:20], as.vector(table(factor(InsectSprays$count, 0:19))))
  # a Poisson response with the posterior of its mean, row by row
  eta <- predict(fit, type = "link", se.fit = TRUE)
  expected <- vapply(0:19, function(k) {
    sum(mapply(function(m, s) {
      integrate(function(f) dpois(k, exp(f)) * dnorm(f, m, s), m - 8 * s, m + 8 * s, rel.tol = 1e-8)$value
    }, eta$fit, eta$se.fit))
  }, 1)
  # medians of whole numbers, and 400 draws
  expect_lt(max(abs(data$fit[1:20] - expected)), 1)
  expect_lt(mean(abs(data$fit[1:20] - expected)), 0.5)
})

test_that("weights count: a table of frequencies is drawn as the rows that it stands for", {
  d <- as.data.frame(Titanic)
  fit <- galvi(Survived ~ Class + Sex, d, binomial(), weights = Freq, hyper = "fixed")
  set.seed(1)
  data <- plot_away(fit, "predictive", ndraws = 200)
  expect_identical(as.character(data$value), c("No", "Yes"))
  expect_equal(data$observed, as.vector(tapply(d$Freq, d$Survived, sum)))
  # 2201 passengers and four coefficients, not 32 rows with a draw each
  sd <- sqrt(sum(d$Freq * fitted(fit) * (1 - fitted(fit))))
  expect_lt(data$upr[2] - data$lwr[2], 2 * 2 * 1.96 * sd)
  halves <- galvi(mpg ~ wt, mtcars, weights = rep(c(0, 0.5), 16), hyper = "fixed")
  lines <- plot_away(halves, "predictive", ndraws = 2)
  own <- mtcars$mpg[c(FALSE, TRUE)]
  expect_equal(lines$density[lines$draw == 0], density_at(own, lines$value[lines$draw == 0]), tolerance = 1e-3)
})

test_that("densities are those of density(), and what is positive stays so", {
  fit <- small_fit("gaussian")
  data <- plot_away(fit, "predictive", ndraws = 3)
  expect_identical(unique(data$draw), 0:3)
  own <- data[data$draw == 0, ]
  expect_equal(own$density, density_at(cars$dist, own$value), tolerance = 1e-3)
  positive <- plot_away(family_fit("Gamma"), "predictive", ndraws = 2)
  own <- positive[positive$draw == 0, ]
  expect_gte(min(own$value), 0)
  area <- sum(own$density) * diff(own$value[1:2])
  expect_equal(area, 1, tolerance = 0.03)
  hurdle <- drawn_text(drawn(family_fit("hurdle_gamma"), "predictive"))
  zeros <- sprintf("without zeros: %.0f%% of the observations", 100 * mean(family_data("hurdle_gamma")$y == 0))
  expect_true(any(grepl(zeros, gsub("\n", " ", paste(hurdle, collapse = " ")), fixed = TRUE)))
})

test_that("survival curves are Kaplan and Meier's, with entries and weights", {
  skip_if_not_installed("survival")
  set.seed(3)
  d <- data.frame(y = 1 + round(10 * rexp(60)), entry = 0, event = rbinom(60, 1, 0.7) == 1, w = rep(1:3, 20))
  late <- d$y > 5
  d$entry[late] <- round(runif(sum(late), 0, 4))
  curve <- kaplan_meier(d$y, d$event, d$entry, d$w)
  theirs <- summary(survival::survfit(survival::Surv(entry, y, event) ~ 1, d, weights = w))
  expect_equal(curve$time, theirs$time)
  expect_equal(curve$survival, theirs$surv)
  lung <- survival::lung
  fit <- galvi(survival::Surv(time, status) ~ sex, lung, weibull(), hyper = "fixed")
  data <- plot_away(fit, "predictive", ndraws = 2)
  expect_identical(unique(data$draw), 0:2)
  left <- galvi(survival::Surv(pmax(time, 100), time > 100, type = "left") ~ sex, lung, weibull(), hyper = "fixed")
  expect_error(plot(left, "predictive"), "right-censored", class = "galvi_error_argument")
})

test_that("counts of classes are drawn by their totals, columns of responses() each for itself", {
  counts <- cbind(a = c(1, 4, 2), b = c(3, 1, 2), c = c(0, 2, 2))
  fit <- galvi(counts ~ 1, data.frame(x = 1:3), categorical(), hyper = "fixed")
  data <- plot_away(fit, "predictive")
  expect_equal(data$observed, unname(colSums(counts)))
  set.seed(1)
  Z <- data.frame(a = rnorm(30), b = rpois(30, 3), c = factor(rbinom(30, 1, 0.5)))
  Z$b[4] <- NA
  families <- list("gaussian", "poisson", "binomial")
  wide <- galvi(responses(Z) ~ factors(1), data.frame(x = 1:30), families, hyper = "fixed")
  data <- plot_away(wide, "predictive", ndraws = 5)
  expect_named(data, c("a", "b", "c"))
  expect_identical(sum(data$b$observed), 29)
  expect_equal(data$c$observed, as.vector(table(Z$c)))
  set.seed(1)
  expect_identical(nrow(plot_away(wide, "residuals")), 89L)
  expect_error(plot(wide, "calibration"), "residuals", class = "galvi_error_argument")
  expect_error(plot(wide, "predictive", newdata = data.frame(x = 1)), "newdata", class = "galvi_error_argument")
})

test_that("many rows and wide counts are drawn in part, and say so", {
  d <- data.frame(x = seq(0, 1, length.out = 20001))
  set.seed(1)
  d$y <- rpois(nrow(d), exp(6 * d$x))
  fit <- galvi(y ~ x, d, poisson(), hyper = "fixed")
  text <- paste(drawn_text(drawn(fit, "predictive", ndraws = 5)), collapse = " ")
  expect_match(text, "10,000 of 20,001 observations", fixed = TRUE)
  expect_match(text, "the last bar is [0-9]+ or more")
  data <- plot_away(fit, "predictive", ndraws = 2)
  expect_identical(sum(data$observed), 10000)
  expect_lte(nrow(data), 41L)
})

test_that("every family has its checks, in ggplot2 too, and they leave new rows to newdata", {
  for (name in family_names()) {
    fit <- family_fit(name)
    for (which in c("coefficients", "residuals", "worm", "predictive")) {
      set.seed(1)
      # as many draws as there are for densities
      arguments <- c(list(fit, which), if (which == "predictive") list(ndraws = 20))
      data <- do.call(plot_away, arguments)
      expect_true(nrow(data) > 0L && all(is.finite(data[[ncol(data)]])), label = paste(name, which))
      if (which == "predictive" && requireNamespace("ggplot2", quietly = TRUE)) {
        plot <- do.call(ggplot2::autoplot, arguments)
        for (one in if (inherits(plot, "galvi_plots")) unclass(plot) else list(plot)) {
          expect_no_error(ggplot2::ggplot_build(one))
        }
      }
    }
  }
  held_out <- plot_away(family_fit("poisson"), "predictive", newdata = data.frame(x = c(0, NA, 1), y = c(1, 2, 3)))
  expect_identical(sum(held_out$observed), 2)
})

test_that("draws from several states have as many from each as it weighs", {
  fit <- galvi(dist ~ gp(speed), cars, hyper = "integrate")
  set.seed(1)
  data <- plot_away(fit, "predictive", ndraws = 12)
  expect_identical(unique(data$draw), 0:12)
})

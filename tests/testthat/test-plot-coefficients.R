test_that("a forest plot has the limits of confint() and the ratios of tidy()", {
  fit <- small_fit("flat")
  data <- plot_away(fit, "coefficients", level = 0.8)
  expect_identical(data$coefficient, names(coef(fit))[-1])
  expect_equal(as.matrix(data[c("lwr", "upr")]), confint(fit, level = 0.8)[-1, ], ignore_attr = TRUE)
  skip_if_not_installed("generics")
  ratios <- plot_away(fit, "coefficients", exponentiate = TRUE)
  tidied <- generics::tidy(fit, effects = "fixed", conf.int = TRUE, exponentiate = TRUE)[-1, ]
  expect_equal(ratios$fit, tidied$estimate)
  expect_equal(ratios$lwr, tidied$conf.low)
  expect_equal(ratios$upr, tidied$conf.high)
})

test_that("ratios are called what they are, and other links have none", {
  words <- function(fit) ratio_words(predictor_view(fit, 1L))
  expected <- c(
    binomial = "odds ratio", cumulative = "odds ratio", poisson = "rate ratio", negbinomial = "rate ratio",
    Gamma = "ratio of means", weibull = "ratio of times", weibull_ph = "hazard ratio",
    stochastic_volatility = "ratio of variances", categorical = "exp(coefficient)", beta_family = "odds ratio"
  )
  for (name in names(expected)) expect_identical(words(family_fit(name)), expected[[name]], label = name)
  expect_true("odds ratio" %in% drawn_text(drawn(small_fit("flat"), "coefficients", exponentiate = TRUE)))
  cloglog <- galvi(am ~ wt, mtcars, binomial("cloglog"), hyper = "fixed")
  expect_identical(words(cloglog), "hazard ratio")
  expect_error_snapshot({
    plot(small_fit("gaussian"), "coefficients")
    plot(galvi(mpg ~ wt, mtcars, hyper = "fixed"), "coefficients", exponentiate = TRUE)
    plot(galvi(am ~ wt, mtcars, binomial("probit"), hyper = "fixed"), "coefficients", exponentiate = TRUE)
    plot(small_fit("flat"), exponentiate = TRUE)
  })
})

test_that("classes and second predictors have series and panels of their own", {
  classes <- plot_away(family_fit("categorical"), "coefficients")
  expect_identical(as.character(classes$series), c("cat", "dog", "eel"))
  expect_equal(classes$fit, unname(coef(family_fit("categorical"))[, "x"]))
  two <- galvi(list(mpg ~ wt, sigma ~ hp), mtcars, hyper = "fixed")
  data <- plot_away(two, "coefficients")
  expect_identical(data$parameter, c("mu", "sigma"))
  expect_identical(data$coefficient, c("wt", "hp"))
  expect_equal(as.matrix(data[c("lwr", "upr")]), confint(two)[c("wt", "sigma_hp"), ], ignore_attr = TRUE)
})

test_that("many coefficients are drawn page after page", {
  d <- data.frame(g = factor(rep(1:100, 2)), y = sin(1:200))
  fit <- galvi(y ~ g, d, hyper = "fixed")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(nrow(plot(fit, "coefficients")), 99L)
  expect_length(fit_panels(fit, "coefficients", formals_of_plots())$panels, 3L)
})

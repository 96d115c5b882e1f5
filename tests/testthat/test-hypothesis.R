# hypothesis(): functions of parameters, with the columns of brms.

test_that("a linear function of normal coefficients has exact numbers", {
  fit <- galvi(am ~ wt + hp, mtcars, family = binomial(), prior = list(default = normal(0, 3)),
    control = galvi_control(uncertainty = "factorised"))
  h <- hypothesis(fit, c("wt < 0", "wt - 2 * hp > -4", a = "hp = 0"))
  expect_s3_class(h, "galvi_hypothesis")
  expect_named(h$hypothesis, c("Hypothesis", "Estimate", "Est.Error", "CI.Lower", "CI.Upper", "Evid.Ratio",
    "Post.Prob", "Star"))
  expect_identical(h$hypothesis$Hypothesis, c("(wt) < 0", "(wt-2*hp)-(-4) > 0", "a"))
  V <- vcov(fit)
  L <- rbind(c(0, 1, 0), c(0, 1, -2), c(0, 0, 1))
  mean <- drop(L %*% coef(fit)) + c(0, 4, 0)
  sd <- sqrt(diag(L %*% V %*% t(L)))
  expect_equal(h$hypothesis$Estimate, mean, tolerance = 1e-12)
  expect_equal(h$hypothesis$Est.Error, sd, tolerance = 1e-10)
  # 90 % for one-sided ones
  z <- qnorm(c(0.95, 0.95, 0.975))
  expect_equal(h$hypothesis$CI.Lower, mean - z * sd, tolerance = 1e-10)
  expect_equal(h$hypothesis$CI.Upper, mean + z * sd, tolerance = 1e-10)
  below <- pnorm(0, mean, sd)
  expect_equal(h$hypothesis$Post.Prob[1:2], c(below[1], 1 - below[2]), tolerance = 1e-10)
  expect_equal(h$hypothesis$Evid.Ratio[1:2], c(below[1] / (1 - below[1]), 1 / below[2] - 1), tolerance = 1e-10)
  # the Savage-Dickey ratio
  ratio <- dnorm(0, mean[3], sd[3]) / dnorm(0, 0, 3)
  expect_equal(h$hypothesis$Evid.Ratio[3], ratio, tolerance = 1e-10)
  expect_equal(h$hypothesis$Post.Prob[3], ratio / (1 + ratio), tolerance = 1e-10)
  expect_identical(h$hypothesis$Star, c("*", if (1 - below[2] > 0.95) "*" else "", "*"))
  wide <- hypothesis(fit, c("wt < 0", "wt = 0"), alpha = 0.2)$hypothesis
  expect_equal(wide$CI.Upper, mean[1] + qnorm(c(0.8, 0.9)) * sd[1], tolerance = 1e-10)
  expect_output(print(h), "90% for one-sided")
})

test_that("a linear model has the t distribution of lm()", {
  fit <- galvi(mpg ~ wt + qsec, mtcars)
  m <- lm(mpg ~ wt + qsec, mtcars)
  s <- summary(m)$coefficients
  h <- hypothesis(fit, c("wt = 0", "qsec > 0.5"))$hypothesis
  # the default prior is weak, and the mixture a quadrature
  expect_equal(h$CI.Lower[1], confint(m)["wt", 1], tolerance = 2e-3)
  expect_equal(h$Post.Prob[2], pt((s["qsec", 1] - 0.5) / s["qsec", 2], m$df.residual), tolerance = 2e-3)
  sides <- confint(fit, "wt", 0.95)
  expect_equal(c(h$CI.Lower[1], h$CI.Upper[1]), as.vector(sides), tolerance = 1e-10)
})

test_that("the Savage-Dickey ratio is that of the prior of the function, whatever the coding", {
  prior <- list(default = normal(1, 2), intercept = normal(0, 5))
  fit <- galvi(mpg ~ wt + qsec, mtcars, prior = prior, control = galvi_control(uncertainty = "factorised"))
  h <- hypothesis(fit, c("wt = qsec", "2 * wt = 1", "Intercept + wt = 3"))$hypothesis
  L <- rbind(c(0, 1, -1), c(0, 2, 0), c(1, 1, 0))
  constant <- c(0, -1, -3)
  posterior <- dnorm(0, L %*% coef(fit) + constant, sqrt(diag(L %*% vcov(fit) %*% t(L))))
  S <- diag(c(25, 4, 4))
  expect_equal(h$Evid.Ratio, as.vector(posterior / dnorm(0, L %*% c(0, 1, 1) + constant, sqrt(diag(L %*% S %*% t(L))))),
    tolerance = 1e-8)
  # default priors are normal too
  fit <- galvi(mpg ~ wt + qsec, mtcars, control = galvi_control(uncertainty = "factorised"))
  ratio <- hypothesis(fit, "wt = 0")$hypothesis$Evid.Ratio
  expect_equal(ratio, dnorm(0, coef(fit)[["wt"]], sqrt(vcov(fit)["wt", "wt"])) / dnorm(0, 0, fit$prior$wt$sd),
    tolerance = 1e-8)
})

test_that("a flat prior has no ratio", {
  fit <- galvi(mpg ~ wt + qsec, mtcars, prior = list(wt = normal(0, Inf)))
  h <- hypothesis(fit, c("wt = 0", "wt = qsec", "qsec = 0"))$hypothesis
  expect_identical(is.na(h$Evid.Ratio), c(TRUE, TRUE, FALSE))
  expect_identical(is.na(h$Post.Prob), c(TRUE, TRUE, FALSE))
  learned <- galvi(mpg ~ wt + qsec, mtcars, prior = list(default = normal(0, learn(1))))
  expect_true(is.na(hypothesis(learned, "wt = 0")$hypothesis$Evid.Ratio))
})

test_that("coefficients have the names of coef() and of brms", {
  fit <- galvi(mpg ~ factor(cyl) * wt + I(hp^2) + log(disp), mtcars)
  value <- function(text) hypothesis(fit, paste(text, "> 0"))$hypothesis$Estimate
  for (pair in list(c("Intercept", "(Intercept)"), c("factorcyl6", "factor(cyl)6"), c("Ihp^2", "I(hp^2)")[c(2, 2)],
                    c("IhpE2", "I(hp^2)"), c("logdisp", "log(disp)"), c("factor(cyl)6:wt", "factor(cyl)6:wt"),
                    c("wt:factor(cyl)6", "factor(cyl)6:wt"), c("`factor(cyl)8`", "factor(cyl)8"), c("b_wt", "wt"))) {
    expect_equal(value(pair[1]), coef(fit)[[pair[2]]], info = pair[1])
  }
  # log(disp) is a coefficient here, log(10) a number
  expect_equal(value("log(disp) + log(10)"), coef(fit)[["log(disp)"]] + log(10))
  expect_equal(value("wt*2-1e-1*wt+.5"), 1.9 * coef(fit)[["wt"]] + 0.5)
})

test_that("coefficients of columns with spaces are named with backticks or as brms names them", {
  set.seed(1)
  d <- data.frame(`my x` = rnorm(40), g = gl(2, 20), y = rnorm(40), check.names = FALSE)
  fit <- galvi(y ~ `my x` * g, d)
  for (name in c("`my x`", "myx")) {
    expect_equal(hypothesis(fit, paste(name, "= 0"))$hypothesis$Estimate, coef(fit)[["`my x`"]])
    expect_equal(hypothesis(fit, paste0(name, ":g2 - ", name, " > 1"))$hypothesis$Estimate,
                 coef(fit)[["`my x`:g2"]] - coef(fit)[["`my x`"]] - 1)
  }
  expect_output(print(fit), "y ~ `my x` * g", fixed = TRUE)
})

test_that("other predictors and classes have prefixes", {
  fit <- galvi(list(mpg ~ wt, sigma ~ wt), mtcars)
  h <- hypothesis(fit, c("sigma_wt > 0", "sigma_Intercept > wt"))$hypothesis
  b <- coef(fit)
  expect_equal(h$Estimate, c(b[["sigma_wt"]], b[["sigma_(Intercept)"]] - b[["wt"]]), tolerance = 1e-8)
  fit <- galvi(factor(gear) ~ wt, mtcars, family = categorical(), prior = normal(0, 3))
  h <- hypothesis(fit, c("4:wt = 5:wt", "mu4_wt > mu5_wt"))$hypothesis
  expect_equal(h$Estimate[1], coef(fit)["4", "wt"] - coef(fit)["5", "wt"])
  expect_equal(h$Estimate[2], h$Estimate[1])
})

test_that("functions that are not linear come from points, or from draws with a seed", {
  fit <- galvi(am ~ wt, mtcars, family = binomial(), prior = normal(0, 2),
    control = galvi_control(uncertainty = "factorised"))
  set.seed(3)
  before <- .Random.seed
  h <- hypothesis(fit, "exp(wt) < 0.2", seed = 1)
  expect_identical(.Random.seed, before)
  expect_identical(hypothesis(fit, "exp(wt) < 0.2", seed = 1), h)
  m <- coef(fit)[["wt"]]
  v <- vcov(fit)["wt", "wt"]
  # 10,000 draws: three standard errors
  expect_lt(abs(h$hypothesis$Estimate + 0.2 - exp(m + v / 2)), 3 * h$hypothesis$Est.Error / 100)
  p <- pnorm(log(0.2), m, sqrt(v))
  expect_lt(abs(h$hypothesis$Post.Prob - p), 3 * sqrt(p * (1 - p) / 1e4))
  expect_equal(h$hypothesis$Evid.Ratio, h$hypothesis$Post.Prob / (1 - h$hypothesis$Post.Prob))
  # points: no draws at all
  d <- transform(InsectSprays, id = rep(1:12, 6))
  fit <- galvi(count ~ spray + (1 | id), d, family = poisson())
  skip_if(is.null(fit$points))
  h <- hypothesis(fit, c("exp(sprayC) < 0.2", "sprayC < 0", "sd_id__Intercept > 0.1"))$hypothesis
  expect_identical(hypothesis(fit, "exp(sprayC) < 0.2")$hypothesis$Estimate, h$Estimate[1])
  expect_equal(h$Estimate[2], coef(fit)[["sprayC"]], tolerance = 1e-10)
  expect_equal(h$Est.Error[2], sqrt(vcov(fit)["sprayC", "sprayC"]), tolerance = 1e-10)
  expect_equal(c(h$CI.Lower[2], h$CI.Upper[2]), as.vector(confint(fit, "sprayC", 0.9)), tolerance = 1e-10)
})

test_that("groups: standard deviations, correlations and effects of levels", {
  fit <- galvi(Reaction ~ Days + (1 + Days | Subject), sleepstudy)
  sd <- hypothesis(fit, c("Intercept > Days", "Days > 3"), class = "sd", group = "Subject", seed = 1)$hypothesis
  full <- hypothesis(fit, c("sd_Subject__Intercept > sd_Subject__Days", "sd_Subject__Days > 3"), class = NULL, seed = 1)
  expect_equal(sd$Estimate, full$hypothesis$Estimate)
  limits <- as.data.frame(VarCorr(fit, level = 0.9))
  # the posterior's limits, within the error of 10,000 draws
  expect_equal(sd$CI.Lower[2] + 3, limits$lwr[2], tolerance = 0.05)
  cor <- hypothesis(fit, "Intercept__Days > 0", class = "cor", group = "Subject", seed = 1)$hypothesis
  expect_gt(cor$CI.Upper, cor$Estimate)
  sigma <- hypothesis(fit, "sigma > 20", seed = 1)$hypothesis
  expect_equal(sigma$Estimate + 20, sigma(fit), tolerance = 0.05)
  own <- hypothesis(fit, c("Days > 0", "Intercept - 2 * Days = 0"), group = "Subject", scope = "ranef")$hypothesis
  expect_identical(nrow(own), 36L)
  r <- ranef(fit)$Subject
  expect_identical(own$Group[1:18], row.names(r))
  expect_equal(own$Estimate[1:18], r$mean.Days, tolerance = 1e-8)
  expect_equal(own$Est.Error[1:18], r$sd.Days, tolerance = 1e-8)
  expect_equal(own$Estimate[19:36], r$`mean.(Intercept)` - 2 * r$mean.Days, tolerance = 1e-7)
  both <- hypothesis(fit, "Intercept + 5 * Days > 0", group = "Subject", scope = "coef")$hypothesis
  p <- predict(fit, data.frame(Days = 5, Subject = both$Group), type = "link", se.fit = TRUE)
  expect_equal(both$Estimate, unname(p$fit), tolerance = 1e-8)
  expect_equal(both$Est.Error, unname(p$se.fit), tolerance = 1e-8)
})

test_that("groups with covariances by level have names for each", {
  fit <- galvi(Reaction ~ Days + (Days | gr(Subject, by = h)),
    transform(sleepstudy, h = factor(as.integer(Subject) %% 2)), hyper = "fixed")
  fit$model$hyper$learned[] <- TRUE
  names <- unlist(lapply(spread_parameters(fit), `[[`, "names"))
  expect_true(all(c("cor_Subject__Intercept:h0__Days:h0", "cor_Subject__Intercept:h1__Days:h1") %in% names))
  expect_identical(sum(startsWith(names, "cor_")), 2L)
})

test_that("what cannot be read is an error that says what there is", {
  fit <- galvi(mpg ~ wt + qsec, mtcars)
  refused <- function(text, message) {
    expect_error(hypothesis(fit, text), message, class = "galvi_error_argument", info = text)
  }
  refused("wtt > 0", "`\\(Intercept\\)`, `wt`, `qsec`.*Did you mean `wt`")
  refused("wt:qsec > 0", "wt:qsec")
  refused("wt", "one of the signs")
  refused("wt > 0 > 1", "one of the signs")
  refused("wt >= 0", "one of the signs")
  refused("wt > ", "not an expression")
  refused("wt + > 1", "not an expression")
  refused("1 > 0", "no parameter")
  refused("max(wt, 2) > 0", "not a function")
  refused("`x y` > 0", "xy")
  refused(3, "must be text")
  refused(character(), "must be text")
  expect_error(hypothesis(fit, "log(wt) > 0", seed = 1), "not a number", class = "galvi_error_argument")
  expect_error(hypothesis(fit, "wt > 0", alpha = 0), class = "galvi_error_argument")
  expect_error(hypothesis(fit, "wt > 0", class = 1), class = "galvi_error_argument")
  expect_error(hypothesis(fit, "wt > 0", robust = 2), "robust", class = "galvi_error_argument")
  expect_error(hypothesis(fit, "wt > 0", scope = "ranef", group = "g"), "has none", class = "galvi_error_argument")
  growth <- galvi(weight ~ Time + (1 | Chick), ChickWeight)
  expect_error(hypothesis(growth, "Intercept > 0", scope = "coef", group = "chick"), "\"Chick\"",
    class = "galvi_error_argument")
  expect_error(hypothesis(growth, "r_Chick[1,Intercept] > 0", class = ""), "scope = \"ranef\", group = \"Chick\"",
    class = "galvi_error_argument")
  expect_error(hypothesis(growth, "Intercept^2 > 0", scope = "coef", group = "Chick"), "linear",
    class = "galvi_error_argument")
})

test_that("robust answers are medians and median absolute deviations", {
  prior <- list(default = normal(0, 3))
  # a normal posterior
  normal <- galvi(am ~ wt, mtcars, binomial(), prior = prior, control = galvi_control(uncertainty = "factorised"))
  plain <- hypothesis(normal, "wt > -3")$hypothesis
  robust <- hypothesis(normal, "wt > -3", robust = TRUE)$hypothesis
  expect_equal(robust[2:3], plain[2:3], tolerance = 1e-9)
  expect_identical(robust[-(2:3)], plain[-(2:3)])
  # a mixture, and draws of a function: symmetric or not, against numbers that say the same
  mixture <- galvi(mpg ~ wt, mtcars[1:8, ])
  h <- hypothesis(mixture, "wt = 0", robust = TRUE)$hypothesis
  q <- about_parameters(mixture, "wt = 0", "b", "", NULL)[[1]]$posterior
  below <- function(x) sum(q$weight * pnorm(x, q$mean, q$sd))
  expect_equal(below(h$Estimate), 0.5, tolerance = 1e-8)
  mad <- h$Est.Error / 1.482602
  expect_equal(below(h$Estimate + mad) - below(h$Estimate - mad), 0.5, tolerance = 1e-5) # a spline through quantiles
  drawn <- hypothesis(normal, "exp(wt) > 0", robust = TRUE, seed = 1)$hypothesis
  p <- list(coef(normal)[["wt"]], sqrt(vcov(normal)["wt", "wt"]))
  # within the error of 10,000 draws
  expect_equal(drawn$Estimate, qlnorm(0.5, p[[1]], p[[2]]), tolerance = 0.05)
})

test_that("the density at zero of weighted values is that of their distribution", {
  u <- ppoints(2e4)
  one <- rep(1, 2e4)
  expect_equal(local_density(qnorm(u, 2), one), dnorm(2), tolerance = 1e-3)
  expect_equal(local_density(qt(u, 8) - 3, one), dt(3, 8), tolerance = 0.02)
  expect_equal(local_density(qgamma(u, 5) - 9, one), dgamma(9, 5), tolerance = 0.01)
  # weights that turn one normal distribution into another
  x <- qnorm(u, 0, 2)
  expect_equal(local_density(x, dnorm(x, 1) / dnorm(x, 0, 2)), dnorm(1), tolerance = 1e-3)
  expect_identical(local_density(c(1, 1), c(1, 1)), 0)
  expect_gt(local_density(qnorm(u, 60), one), -1e-300)
})

test_that("a plot has the posterior density of each hypothesis, a panel each", {
  fit <- galvi(mpg ~ wt + qsec, mtcars, prior = normal(0, 5), hyper = "fixed")
  h <- hypothesis(fit, c("wt < -2", slope = "qsec = 0"))
  data <- plot_away(h)
  expect_named(data, h$hypothesis$Hypothesis)
  expect_equal(data$slope$density, dnorm(data$slope$value, coef(fit)[["qsec"]], sqrt(vcov(fit)["qsec", "qsec"])))
  # at points, and of functions
  h <- hypothesis(galvi(am ~ wt, mtcars, binomial()), c("wt < 0", "exp(wt / 4) < 1"), seed = 1)
  data <- plot_away(h, col = "red", main = c("a", "b"))
  share <- vapply(data, function(d) sum(diff(d$value) * (head(d$density, -1L) + d$density[-1L]) / 2), 0)
  expect_true(all(share > 0.95 & share < 1.05))
  growth <- galvi(weight ~ Time + (1 + Time | Chick), ChickWeight[1:100, ], hyper = "fixed")
  levels <- hypothesis(growth, "Time > 8", group = "Chick", scope = "coef")
  expect_named(plot_away(levels), paste0(levels$hypothesis$Hypothesis, ", ", levels$hypothesis$Group))
  expect_error(plot(h, colour = 1), "`col`", class = "galvi_error_argument")
  skip_if_not_installed("ggplot2")
  expect_length(ggplot2::autoplot(h), 2L)
})

# Reference models of projpred.

quick <- function(...) suppressWarnings(suppressMessages(utils::capture.output(...)))

test_that("a projection on all terms is the fit, draw by draw", {
  skip_if_not_installed("projpred")
  fit <- galvi(mpg ~ wt + hp + qsec, data = mtcars, prior = normal(0, 10))
  set.seed(1)
  reference <- projpred::get_refmodel(fit)
  full <- projpred::project(reference, solution_terms = c("wt", "hp", "qsec"), ndraws = 500, seed = 1)
  B <- as.matrix(full)
  # means of 500 draws: four standard errors
  names <- c("(Intercept)", "wt", "hp", "qsec")
  expect_lt(max(abs(colMeans(B[, names]) - coef(fit)) / sqrt(diag(vcov(fit)) / 500)), 4)
  expect_equal(apply(B[, names], 2, sd), sqrt(diag(vcov(fit))), tolerance = 0.15)
  # linear predictors of all draws are those of the fit, in one order
  expect_equal(reference$dis, reference$dis[seq_len(1000)])
  expect_equal(reference$ref_predfun(fit), reference$ref_predfun(fit, mtcars), tolerance = 1e-10)
})

test_that("selection by refits, groups, trials and offsets", {
  skip_if_not_installed("projpred")
  set.seed(2)
  d <- transform(mtcars, u = rnorm(32))
  fit <- galvi(mpg ~ wt + hp + u, data = d)
  quick(found <- projpred::cv_varsel(fit, cv_method = "kfold", K = 3, nclusters_pred = 5, verbose = FALSE, seed = 1))
  expect_setequal(projpred::solution_terms(found)[1:2], c("wt", "hp"))
  d <- transform(InsectSprays, u = rnorm(72), e = rep(c(1, 2), 36))
  fit <- galvi(count ~ spray + u + offset(log(e)), data = d, family = poisson())
  reference <- projpred::get_refmodel(fit)
  expect_equal(reference$offset, log(d$e))
  # projpred takes the offset off
  expect_equal(rowMeans(reference$eta), unname(predict(fit, type = "link") - log(d$e)), tolerance = 0.1)
  d <- data.frame(s = rbinom(40, 5, 0.4), n = 5, x = rnorm(40), g = gl(8, 5))
  fit <- galvi(s | trials(n) ~ x + (1 | g), data = d, family = binomial())
  reference <- projpred::get_refmodel(fit)
  expect_equal(reference$wobs, rep(5, 40))
  expect_equal(reference$y, d$s)
  expect_match(deparse(reference$formula), "(1 | g)", fixed = TRUE)
})

test_that("a process can be the reference of linear models", {
  skip_if_not_installed("projpred")
  fit <- galvi(mpg ~ gp(wt, hp), data = mtcars)
  expect_error(projpred::get_refmodel(fit), "formula = ~ x", class = "galvi_error_argument")
  quick(found <- projpred::varsel(projpred::get_refmodel(fit, formula = ~ wt + hp), nclusters_pred = 5))
  expect_setequal(projpred::solution_terms(found), c("wt", "hp"))
})

test_that("what projpred cannot fit is refused", {
  skip_if_not_installed("projpred")
  refmodel <- function(...) projpred::get_refmodel(galvi(data = mtcars, ...))
  expect_error(refmodel(mpg ~ wt, family = student()), "student", class = "galvi_error_argument")
  expect_error(refmodel(list(mpg ~ wt, sigma ~ wt)), "2 predictors", class = "galvi_error_argument")
  expect_error(refmodel(am ~ 1, family = binomial(), weights = rep(c(1, 2), 16)), "weights", class = "galvi_error_argument")
  fit <- galvi(mpg ~ wt, data = mtcars)
  expect_error(projpred::get_refmodel(fit, formula = "wt"), "`formula`", class = "galvi_error_argument")
  expect_error(projpred::get_refmodel(fit, ndraws = 0), "`ndraws`", class = "galvi_error_argument")
})

# A row of weight 2 is two rows, in the likelihood and in what is read off the data: default priors, starts,
# inducing points.

weighted_data <- function(name, n = 24) {
  set.seed(7)
  d <- family_data(name, n)
  d$z <- runif(n)
  d$g <- factor(rep(letters[1:4], length.out = n))
  d$t <- rep(1:6, length.out = n)
  d$w <- rep(c(2, 1, 3, 0, 1, 2), length.out = n)
  d
}

family_for <- function(name) if (name == "Gamma") Gamma("log") else name

test_that("a row of weight 2 is two rows under default priors and starts", {
  formulas <- list(
    y ~ x + z, y ~ z + gp(x), y ~ gp(x, z, kernel = matern32(ard = TRUE), scale = TRUE),
    y ~ z + (1 | g), y ~ x + rw2(t), y ~ gp(x, inducing = 4), y ~ gp(x, kernel = linear() + constant())
  )
  control <- galvi_control(tol = 1e-10, threads = 1)
  for (name in names(family_types())) {
    d <- weighted_data(name)
    rows <- rep(seq_len(nrow(d)), d$w)
    twice <- d[sample(rows), ]
    for (formula in formulas) {
      fit <- function(data, ...) {
        suppressMessages(galvi(formula, data, family_for(name), hyper = "fixed", control = control, ...))
      }
      one <- fit(d, weights = w)
      two <- fit(twice)
      expect_close(one$hyper$estimate, two$hyper$estimate, 1e-12)
      expect_close(one$elbo, two$elbo, tol$elbo)
      # in posterior sds, where these are large
      scale <- if (is.matrix(coef(one))) 1 else pmax(1, sqrt(diag(vcov(one))))
      expect_close(coef(one) / scale, coef(two) / scale, tol$optimum)
      if (!is.null(one$inducing)) expect_close(one$inducing[[1]], two$inducing[[1]], 1e-12)
    }
  }
})

test_that("learning goes the same way with a weight as with repeated rows", {
  for (name in c("gaussian", "student", "negbinomial")) {
    d <- weighted_data(name)
    two <- galvi(y ~ x + (1 | g), d[rep(seq_len(nrow(d)), d$w), ], name)
    one <- galvi(y ~ x + (1 | g), d, name, weights = w)
    expect_close(one$elbo, two$elbo, 1e-6)
    expect_identical(one$hyper$lower, two$hyper$lower)
  }
})

test_that("weights that sum to 1 or less count every row as one", {
  d <- weighted_data("gaussian")
  share <- galvi(y ~ x, d, weights = rep(1 / 30, 24), hyper = "fixed")
  expect_close(share$hyper$estimate, galvi(y ~ x, d, hyper = "fixed")$hyper$estimate, 1e-14)
})

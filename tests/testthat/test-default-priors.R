# The default prior of fixed effects depends on the space of the columns alone.

# Inference stops at a gap of `exact` nats here, learning where its gradient is small: far below what anyone reads.
exact <- 1e-11
same_slopes <- 1e-6
same_evidence <- 1e-5
# Steps to the coupled Gaussian of classes stop at 0.005 standard deviations, from where the bound stopped.
coupled_steps <- 1e-4

spaces <- function() {
  set.seed(1)
  n <- 60
  d <- data.frame(x = runif(n, 1949, 1960), z = rexp(n), g = gl(3, 1, n, labels = c("a", "b", "c")))
  d$eta <- 0.2 * (d$x - 1955) - 0.5 * d$z + c(0, 0.5, -0.5)[d$g]
  d$day <- as.Date("2020-01-01") + round(30 * (d$x - 1949))
  d
}

# Formulas of one space, and how to bring their coefficients to those of the first.
recoded <- list(
  shifted = list(y ~ x + z + g, y ~ I(x - 1955) + z + g, slopes = c("x", "z", "gb", "gc")),
  scaled = list(y ~ x + z, y ~ I(x / 1e4) + z, scale = c(1, 1e4, 1)),
  levels = list(y ~ g + z, y ~ relevel(g, "c") + z),
  contrasts = list(y ~ g + z, y ~ C(g, contr.sum) + z),
  cells = list(y ~ g + z, y ~ 0 + g + z),
  polynomial = list(y ~ poly(x, 2), y ~ x + I(x^2)),
  product = list(y ~ x * z, y ~ I(x - 1955) * z),
  nested = list(y ~ g * x, y ~ 0 + g + g:I(x - 1955))
)

responses_of <- function(d) {
  set.seed(2)
  n <- nrow(d)
  list(
    gaussian = list(y = d$eta + rnorm(n), family = gaussian()),
    binomial = list(y = rbinom(n, 1, plogis(d$eta)), family = binomial()),
    poisson = list(y = rpois(n, exp(d$eta / 2)), family = poisson()),
    Gamma = list(y = rgamma(n, 3, 3 / exp(d$eta)), family = Gamma("log")),
    negbinomial = list(y = rnbinom(n, 2, mu = exp(d$eta)), family = negbinomial()),
    student = list(y = d$eta + rt(n, 4), family = student()),
    cumulative = list(y = cut(d$eta + rlogis(n), c(-Inf, -1, 1, Inf), ordered_result = TRUE), family = cumulative()),
    categorical = list(y = factor(sample(c("u", "v", "w"), n, TRUE)), family = categorical("u"))
  )
}

test_that("coding, units and origin of columns change nothing but the coefficients", {
  d <- spaces()
  # weighted points in other columns are other points, of the same posterior
  control <- galvi_control(tol = exact, uncertainty = "factorised")
  for (name in names(responses_of(d))) {
    response <- responses_of(d)[[name]]
    d$y <- response$y
    for (case in names(recoded)) {
      # thresholds have no intercept, and cells would have one
      if (name == "cumulative" && case == "nested") next
      pair <- recoded[[case]]
      fits <- lapply(pair[1:2], galvi, data = d, family = response$family, control = control)
      expect_equal(fits[[1L]]$elbo, fits[[2L]]$elbo, tolerance = same_evidence, info = paste(name, case))
      close <- if (name == "categorical") coupled_steps else same_slopes
      eta <- lapply(fits, predict, newdata = d[1:5, ], type = "link")
      sd <- lapply(fits, function(fit) predict(fit, d[1:5, ], type = "link", se.fit = TRUE)$se.fit)
      if (name != "cumulative") {
        expect_equal(eta[[1L]], eta[[2L]], tolerance = close, info = paste(name, case))
      } else {
        prob <- lapply(fits, predict, newdata = d[1:5, ], type = "prob")
        expect_equal(prob[[1L]], prob[[2L]], tolerance = close, info = paste(name, case))
      }
      expect_equal(sd[[1L]], sd[[2L]], tolerance = 10 * close, info = paste(name, case))
      if (case == "shifted" && name != "categorical") {
        slopes <- function(fit) unname(coef(fit)[setdiff(names(coef(fit)), "(Intercept)")])
        expect_equal(slopes(fits[[1L]]), slopes(fits[[2L]]), tolerance = same_slopes, info = name)
      }
    }
  }
})

test_that("it holds with every kind of solver, in second predictors, from sources and in the x, y front end", {
  d <- spaces()
  set.seed(3)
  d$y <- d$eta + rnorm(60)
  d$u <- runif(60)
  d$k <- gl(12, 5)
  d$t <- rep(1:20, 3)
  right <- list(
    gp = "+ gp(u)", sparse = "+ gp(u, inducing = 5)", groups = "+ (1 | k)", walk = "+ rw1(t)", ar = "+ ar1(t)"
  )
  for (name in names(right)) {
    fits <- lapply(c("y ~ x + g", "y ~ I(x - 1955) + g"), function(left) {
      galvi(stats::as.formula(paste(left, right[[name]])), d)
    })
    expect_equal(fits[[1L]]$elbo, fits[[2L]]$elbo, tolerance = same_evidence, info = name)
    # hyperparameters stop where the bound is flat to its tolerance
    expect_equal(unname(coef(fits[[1L]])[-1L]), unname(coef(fits[[2L]])[-1L]), tolerance = 1e-3, info = name)
  }
  two <- lapply(list(sigma ~ x, sigma ~ I(x - 1955)), function(second) galvi(list(y ~ z, second), d))
  expect_equal(two[[1L]]$elbo, two[[2L]]$elbo, tolerance = same_evidence)
  expect_equal(unname(coef(two[[1L]])[4L]), unname(coef(two[[2L]])[4L]), tolerance = 1e-4)
  rows <- split(d, rep(1:3, 20))
  reader <- function() {
    at <- 0L
    function(reset = FALSE) {
      if (reset) at <<- 0L else if ((at <<- at + 1L) <= 3L) rows[[at]]
    }
  }
  streamed <- lapply(list(y ~ x + g, y ~ I(x - 1955) + g), galvi, data = row_source(reader()))
  expect_equal(streamed[[1L]]$elbo, streamed[[2L]]$elbo, tolerance = same_evidence)
  expect_equal(streamed[[1L]]$elbo, galvi(y ~ x + g, d)$elbo, tolerance = same_evidence)
})

test_that("with open priors estimates are those of lm() and glm(), wherever zero is", {
  # g = 100 n moves an estimate by t / (100 n) standard errors or so
  moved <- 0.02
  close <- function(fit, twin) {
    se <- sqrt(diag(stats::vcov(twin)))
    expect_lt(max(abs(coef(fit)[names(se)] - stats::coef(twin)) / se), moved)
  }
  close(galvi(Employed ~ ., longley), stats::lm(Employed ~ ., longley))
  nile <- data.frame(flow = as.numeric(Nile), year = 1871:1970)
  close(galvi(flow ~ year, nile), stats::lm(flow ~ year, nile))
  air <- data.frame(y = log(as.numeric(AirPassengers)), t = as.numeric(time(AirPassengers)))
  close(galvi(y ~ t + I(t^2), air), stats::lm(y ~ t + I(t^2), air))
  warp <- transform(warpbreaks, breaks = breaks + 0)
  close(galvi(breaks ~ wool * tension, warp), stats::lm(breaks ~ wool * tension, warp))
  # beside a process that could take the trend
  trend <- galvi(y ~ t + gp(t), air)
  expect_equal(coef(trend)[["t"]], 0.12, tolerance = 0.1)
})

test_that("columns that depend on each other share what they have in common", {
  set.seed(4)
  d <- data.frame(y = rnorm(20), a = gl(4, 5), x = rnorm(20))
  d$b <- d$a
  one <- galvi(y ~ a + x, d)
  twice <- galvi(y ~ a + b + x, d)
  expect_equal(twice$elbo, one$elbo, tolerance = same_evidence)
  expect_equal(coef(twice)[["a2"]] + coef(twice)[["b2"]], coef(one)[["a2"]], tolerance = same_slopes)
  # neither is known alone: its sd is that of its prior, over sqrt(2)
  independent <- 10 * sd(d$y) / sd(d$a == 2) * sqrt(20 / 19)
  expect_equal(sqrt(vcov(twice)["a2", "a2"]), independent / sqrt(2), tolerance = 0.05)
  wide <- data.frame(y = rnorm(10), matrix(rnorm(150), 10))
  expect_true(all(is.finite(coef(galvi(y ~ ., wide)))))
})

test_that("a typed intercept is the printed one, at_means the predictor at the means", {
  d <- spaces()
  set.seed(5)
  d$y <- 3 + d$eta + rnorm(60)
  # so narrow that the data do not matter
  at_zero <- galvi(y ~ x, d, prior = list(intercept = normal(-7, 1e-6)))
  expect_equal(coef(at_zero)[["(Intercept)"]], -7, tolerance = 1e-6)
  at_means <- galvi(y ~ x, d, prior = list(at_means = normal(-7, 1e-6)))
  expect_equal(coef(at_means)[["(Intercept)"]] + mean(d$x) * coef(at_means)[["x"]], -7, tolerance = 1e-6)
  # what is typed for a slope leaves the predictor at the means as it was
  typed <- galvi(y ~ x, d, prior = list(x = normal(0, 1e-9)))
  expect_equal(coef(typed)[["(Intercept)"]], mean(d$y), tolerance = 1e-3)
  # the recorded prior gives the same fit
  default <- galvi(y ~ x + g, d)
  expect_equal(galvi(y ~ x + g, d, prior = default$prior)$elbo, default$elbo)
})

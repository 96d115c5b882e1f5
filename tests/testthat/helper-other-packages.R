# Fits that must give the numbers of lm() and glm(): flat priors and, of gaussian responses, lm()'s residual variance.
flat_prior <- list(intercept = normal(0, 1e4), default = normal(0, 1e4))

car_data <- function() transform(mtcars, cyl = factor(cyl))

lm_twin <- function(formula, data = car_data()) {
  # the data in the call, where other packages look for them
  reference <- eval(bquote(lm(.(formula), .(data))))
  noise <- galvi_family("gaussian", variance = fixed(sigma(reference)^2))
  ours <- eval(bquote(galvi(.(formula), .(data), noise, prior = flat_prior)))
  list(ours = ours, theirs = reference, data = data)
}

# A posterior mean is not a mode: of a glm() with n rows for each coefficient they differ by order 1 / n.
glm_twins <- function() {
  d <- car_data()
  gamma <- eval(bquote(glm(mpg ~ wt + cyl, Gamma("log"), .(d))))
  gamma_shape <- 1 / summary(gamma)$dispersion
  esoph <- transform(datasets::esoph, agegp = factor(agegp, ordered = FALSE))
  esoph <- droplevels(subset(esoph, agegp != "25-34"))
  list(
    binomial = list(
      ours = eval(bquote(galvi(cbind(ncases, ncontrols) ~ agegp, .(esoph), binomial(), prior = flat_prior))),
      theirs = eval(bquote(glm(cbind(ncases, ncontrols) ~ agegp, binomial(), .(esoph)))), factor = "agegp"
    ),
    poisson = list(
      ours = galvi(count ~ spray, InsectSprays, poisson(), prior = flat_prior),
      theirs = glm(count ~ spray, poisson(), InsectSprays), factor = "spray"
    ),
    Gamma = list(
      ours = galvi(mpg ~ wt + cyl, d, galvi_family("Gamma", shape = fixed(gamma_shape)), prior = flat_prior),
      theirs = gamma, factor = "cyl"
    )
  )
}

# One fit of each kind that other packages meet.
other_fits <- function() {
  d <- car_data()
  list(
    gaussian = galvi(mpg ~ wt + cyl, d), binary = galvi(am ~ wt, d, binomial()),
    mixed = galvi(mpg ~ wt + (1 | gear), d), smooth = galvi(mpg ~ cyl + gp(wt), d),
    two = galvi(list(mpg ~ wt, sigma ~ wt), d), classes = galvi(factor(gear) ~ wt, d, categorical()),
    ordered = galvi(factor(gear, ordered = TRUE) ~ wt, d, cumulative()), process = galvi(mpg ~ 0 + gp(wt), d)
  )
}

# Weights, offsets, a polynomial, factors and interactions, with enough rows that a mean is close to a mode.
rich_twins <- function() {
  set.seed(1)
  n <- 800
  d <- data.frame(
    x = rnorm(n), z = runif(n), f = factor(sample(c("a", "b", "c"), n, TRUE)), g = factor(sample(20, n, TRUE)),
    e = runif(n, 1, 3), w = sample(3, n, TRUE), size = sample(5:15, n, TRUE)
  )
  eta <- with(d, 0.3 + 0.4 * x - 0.3 * (f == "b") + 0.5 * (f == "c") * x + z^2 + rnorm(20, 0, 0.5)[g])
  d$y <- eta + rnorm(20, 0, 0.4)[d$g] * d$x + rnorm(n)
  d$count <- rpois(n, d$e * exp(eta))
  d$success <- rbinom(n, d$size, plogis(eta))
  linear <- lm(y ~ poly(z, 2) + x * f + offset(e), d, weights = w)
  noise <- galvi_family("gaussian", variance = fixed(sigma(linear)^2))
  # `tolerance`: in standard errors, and of them
  twins <- list(
    gaussian = list(
      ours = galvi(y ~ poly(z, 2) + x * f + offset(e), d, noise, prior = flat_prior, weights = w),
      theirs = linear, tolerance = 1e-6
    ),
    # posterior means, not modes
    poisson = list(
      ours = galvi(count ~ poly(z, 2) + x * f + offset(log(e)), d, poisson(), prior = flat_prior),
      theirs = glm(count ~ poly(z, 2) + x * f + offset(log(e)), poisson(), d), tolerance = 0.06
    ),
    binomial = list(
      ours = galvi(cbind(success, size - success) ~ poly(z, 2) + x * f, d, binomial(), prior = flat_prior, weights = w),
      theirs = glm(cbind(success, size - success) ~ poly(z, 2) + x * f, binomial(), d, weights = w), tolerance = 0.06
    )
  )
  if (requireNamespace("lme4", quietly = TRUE)) {
    mixed <- eval(bquote(lme4::lmer(y ~ x * f + (1 + x | g), .(d))))
    groups <- lme4::VarCorr(mixed)$g
    start <- c(attr(groups, "stddev"), attr(groups, "correlation")[2, 1], sigma(mixed)^2)
    names(start) <- c(
      "(1 + x | g).sd.(Intercept)", "(1 + x | g).sd.x", "(1 + x | g).cor.(Intercept).x", "gaussian.variance"
    )
    ours <- galvi(y ~ x * f + (1 + x | g), d, prior = flat_prior, start = start, hyper = "fixed")
    twins$mixed <- list(ours = ours, theirs = mixed, tolerance = 1e-6)
  }
  twins
}

# Those of Debian 12, with insight 0.19.0.
parameters_needed <- "0.20.2"
has_version <- function(package, version) {
  requireNamespace(package, quietly = TRUE) && utils::packageVersion(package) >= version
}
skip_without_parameters <- function() skip_if_not_installed("parameters", parameters_needed)

# Models are the rows of loo_compare()'s table; later versions of loo name them in a column.
named_by_model <- function(table) {
  if (is.data.frame(table)) rownames(table) <- table$model
  table
}

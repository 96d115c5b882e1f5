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

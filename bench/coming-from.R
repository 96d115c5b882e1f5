# The numbers of rstanarm in vignette("coming-from"), by MCMC: vignettes/coming-from-mcmc.csv.
#   make bench FILES=coming-from.R

stan <- function(f, ...) f(..., refresh = 0, seed = 1, cores = 1, chains = 4, iter = 4000)
epil <- transform(MASS::epil, lbase = log(base / 4), lage = log(age))
fits <- list(
  mtcars = stan(rstanarm::stan_glm, mpg ~ wt + hp + am, data = mtcars, prior = rstanarm::student_t(3, 0, 2.5),
    prior_intercept = rstanarm::normal(20, 10), prior_aux = rstanarm::exponential(1)),
  infert = stan(rstanarm::stan_glm, case ~ spontaneous + induced, data = infert, family = binomial(),
    prior = rstanarm::normal(0, 2.5), prior_intercept = rstanarm::normal(0, 5)),
  epil = stan(rstanarm::stan_glmer, y ~ lbase * trt + lage + V4 + (1 | subject), data = epil, family = poisson(),
    prior = rstanarm::normal(0, 2.5), prior_intercept = rstanarm::normal(0, 5), prior_covariance = rstanarm::decov())
)
found <- lapply(names(fits), function(model) {
  fit <- fits[[model]]
  names <- if (inherits(fit, "lmerMod")) names(rstanarm::fixef(fit)) else names(coef(fit))
  draws <- as.matrix(fit)[, names]
  data.frame(model = model, name = names, mean = signif(colMeans(draws), 5), sd = signif(apply(draws, 2, sd), 4))
})
utils::write.csv(do.call(rbind, found), file.path("..", "vignettes", "coming-from-mcmc.csv"), row.names = FALSE, quote = FALSE)

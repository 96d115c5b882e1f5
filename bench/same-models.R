# The table at the top of README: the same models with the same priors in galvi and in the packages that people come
# from.   make bench FILES=same-models.R
#
# Seconds are of one call in one thread; rstanarm's models are compiled beforehand, its four chains run one after the
# other. A difference is the largest |galvi - peer| of a coefficient in the peer's standard deviations, a ratio the range
# of galvi's standard deviations over the peer's. Where peers have no priors, galvi's are flat, and take variances as
# known if theirs do (lme4, mgcv); for smooths they are of fitted values.

source("bench/_helper.R")
flat <- list(intercept = normal(0, Inf), default = normal(0, Inf))
as_known <- galvi_control(uncertainty = "factorised")
stan <- function(f, ...) f(..., refresh = 0, seed = 1, cores = 1)

# package of the peer, what it is, rows, galvi's call, the peer's call
models <- list(
  list("rstanarm", "linear model, `mtcars`", quote(galvi(
    mpg ~ wt + hp + qsec, data = mtcars, prior = list(default = normal(0, 5), at_means = normal(20, 10),
      sigma = pc(1, exp(-1)))
  )), quote(stan(
    rstanarm::stan_glm, mpg ~ wt + hp + qsec, data = mtcars, prior = rstanarm::normal(0, 5),
    prior_intercept = rstanarm::normal(20, 10), prior_aux = rstanarm::exponential(1)
  ))),
  list("rstanarm", "logistic regression, `infert`", quote(galvi(
    case ~ age + parity + spontaneous + induced, data = infert, family = binomial(),
    prior = list(default = normal(0, 2.5), at_means = normal(0, 5))
  )), quote(stan(
    rstanarm::stan_glm, case ~ age + parity + spontaneous + induced, data = infert, family = binomial(),
    prior = rstanarm::normal(0, 2.5), prior_intercept = rstanarm::normal(0, 5)
  ))),
  list("rstanarm", "counts in groups, `epil`", quote(galvi(
    y ~ lbase * trt + lage + V4 + (1 | subject), data = epil, family = poisson(),
    prior = list(default = normal(0, 2.5), at_means = normal(0, 5), sd = pc(1, exp(-1)))
  )), quote(stan(
    rstanarm::stan_glmer, y ~ lbase * trt + lage + V4 + (1 | subject), data = epil, family = poisson(),
    prior = rstanarm::normal(0, 2.5), prior_intercept = rstanarm::normal(0, 5), prior_covariance = rstanarm::decov()
  ))),
  list("rstanarm", "successes of trials in groups, `cbpp`", quote(galvi(
    cbind(incidence, size - incidence) ~ period + (1 | herd), data = cbpp, family = binomial(),
    prior = list(default = normal(0, 2.5), at_means = normal(0, 5), sd = pc(1, exp(-1)))
  )), quote(stan(
    rstanarm::stan_glmer, cbind(incidence, size - incidence) ~ period + (1 | herd), data = cbpp, family = binomial(),
    prior = rstanarm::normal(0, 2.5), prior_intercept = rstanarm::normal(0, 5), prior_covariance = rstanarm::decov()
  ))),
  list("lme4", "slopes by group, `sleepstudy`", quote(galvi(
    Reaction ~ Days + (Days | Subject), data = sleepstudy, prior = flat, control = as_known
  )), quote(lme4::lmer(Reaction ~ Days + (Days | Subject), data = sleepstudy))),
  list("glmmTMB", "counts, `Salamanders`", quote(galvi(
    count ~ mined + spp + (1 | site), data = Salamanders, family = negbinomial(), prior = flat
  )), quote(glmmTMB::glmmTMB(count ~ mined + spp + (1 | site), data = Salamanders, family = glmmTMB::nbinom2()))),
  list("glmmTMB", "extra zeros, `Salamanders`", quote(galvi(
    list(count ~ mined + spp + (1 | site), zi ~ mined), data = Salamanders, family = zero_inflated(poisson()),
    prior = c(flat, list(zi = flat))
  )), quote(glmmTMB::glmmTMB(count ~ mined + spp + (1 | site), ziformula = ~mined, data = Salamanders,
    family = poisson()))),
  list("mgcv", "smooth of time, `mcycle`", quote(galvi(
    accel ~ s(times, k = 20), data = mcycle, prior = flat, control = as_known
  )), quote(mgcv::gam(accel ~ s(times, k = 20), data = mcycle, method = "REML"))),
  list("mgcv", "four smooths of 400 rows", quote(galvi(
    y ~ s(x0) + s(x1) + s(x2) + s(x3), data = four, prior = flat, control = as_known
  )), quote(mgcv::gam(y ~ s(x0) + s(x1) + s(x2) + s(x3), data = four, method = "REML"))),
  list("mgcv", "smooth rate of counts, coal mining", quote(galvi(
    n ~ s(year, k = 20), data = coal, family = poisson(), prior = flat, control = as_known
  )), quote(mgcv::gam(n ~ s(year, k = 20), data = coal, family = poisson(), method = "REML")))
)

# ---- data ----

get_data <- function(name, package) {
  env <- new.env()
  utils::data(list = name, package = package, envir = env)
  env[[name]]
}
epil <- transform(get_data("epil", "MASS"), lbase = log(base / 4), lage = log(age))
mcycle <- get_data("mcycle", "MASS")
cbpp <- get_data("cbpp", "lme4")
Salamanders <- get_data("Salamanders", "glmmTMB")
set.seed(1)
utils::capture.output(four <- mgcv::gamSim(1, n = 400, verbose = FALSE))
dates <- floor(get_data("coal", "boot")$date)
coal <- data.frame(year = 1851:1962, n = tabulate(dates - 1850, 112))

# ---- estimates and their standard deviations, in one order ----

estimates <- function(fit) {
  if (inherits(fit, "stanreg")) {
    # medians and MADs are rstanarm's own; means and sds are what galvi has
    draws <- as.matrix(fit)
    names <- if (inherits(fit, "lmerMod")) names(rstanarm::fixef(fit)) else names(coef(fit))
    return(cbind(colMeans(draws[, names]), apply(draws[, names], 2, sd)))
  }
  if (inherits(fit, "merMod")) return(cbind(lme4::fixef(fit), sqrt(diag(as.matrix(vcov(fit))))))
  if (inherits(fit, "gam") || any(grepl("^s\\(", fit$hyper$name))) {
    p <- predict(fit, type = "link", se.fit = TRUE)
    return(cbind(as.vector(p$fit), as.vector(p$se.fit)))
  }
  if (inherits(fit, "glmmTMB")) {
    parts <- Filter(length, glmmTMB::fixef(fit)[c("cond", "zi")])
    V <- vcov(fit)
    return(cbind(unlist(parts), unlist(lapply(names(parts), function(part) sqrt(diag(V[[part]]))))))
  }
  cbind(coef(fit), sqrt(diag(vcov(fit))))
}

compare <- function(entry) {
  if (!requireNamespace(entry[[1L]], quietly = TRUE)) return(NULL)
  timed <- function(call) {
    time <- system.time(fit <- suppressMessages(suppressWarnings(eval(call, globalenv()))))[["elapsed"]]
    list(fit = fit, seconds = time)
  }
  timed(entry[[3L]])  # what is loaded at the first call is not of the model
  own <- timed(entry[[3L]])
  peer <- timed(entry[[4L]])
  ours <- estimates(own$fit)
  theirs <- estimates(peer$fit)
  ratio <- range(ours[, 2L] / theirs[, 2L])
  data.frame(
    model = entry[[2L]], rows = own$fit$nobs, peer = entry[[1L]], galvi = own$seconds, seconds = peer$seconds,
    difference = max(abs(ours[, 1L] - theirs[, 1L]) / theirs[, 2L]), low = ratio[1L], high = ratio[2L]
  )
}

found <- do.call(rbind, lapply(models, compare))

# ---- the table ----

cat("| model | rows | galvi | peer | difference / sd | ratio of sds |\n|:--|--:|--:|--:|--:|--:|\n")
for (i in seq_len(nrow(found))) {
  with(found[i, ], cat(sprintf("| %s | %d | %.2f s | %s %.2f s | %.2f | %.2f to %.2f |\n", model, rows, galvi, peer, seconds,
    difference, low, high)))
}

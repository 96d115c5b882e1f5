# Do 95 % intervals cover in 95 of a hundred cases?
#
#   Rscript bench/coverage.R                       (200 data sets of each kind; CPU minutes: see below)
#   Rscript bench/coverage.R 50                    (fewer)
#   Rscript bench/coverage.R 1000 2                (more, by another seed)
#   Rscript bench/coverage.R zip ordinal 400       (some kinds: process, mixed, surface, and those of the table `small`)
#   Rscript bench/coverage.R small 2000 cores=2    (all of that table, by two processes)
#   Rscript bench/coverage.R zip 400 factorised    (with galvi_control(uncertainty = "factorised"))
#
# Data are simulated from the model: hyperparameters and coefficients from their priors, then functions or effects, then
# responses; the fit has the same priors, so that a posterior covers exactly. Data sets that a fit refuses (one class
# alone, a missing class) are drawn anew: a condition on the data alone leaves exact posteriors calibrated.
#
# ---- processes, surfaces, groups ----
#
# Counted are credible intervals of eta (at the observations and at new rows), of fixed effects, of random effects (mean
# -+ 1.96 sd) and of hyperparameters; of `hyper = "integrate"` and of plug-in (uncertainty = "factorised"). `se` is that
# of a coverage of hyperparameters.
#
# Answer (200 data sets each; `seconds` on a shared virtual machine of 2026, CPU of one fit and its predictions). In per
# cent, eta / new rows / fixed effects / random effects / hyperparameters (se):
#   process  gaussian   plug-in 93.4 93.0 93.0    - 91.7 (1.2)   0.03 s   integrated 95.2 95.0 94.5    - 92.8 (1.1)   0.23 s
#   process  binomial   plug-in 91.9 92.2 94.0    - 93.8 (1.2)   0.04 s   integrated 94.0 94.5 96.0    - 95.8 (1.0)   0.17 s
#   process  poisson    plug-in 92.9 92.2 93.5    - 91.2 (1.4)   0.03 s   integrated 94.7 94.4 94.5    - 94.0 (1.2)   0.13 s
#   mixed    gaussian   plug-in 94.2 94.0 94.2 94.9 95.2 (1.1)   0.03 s   integrated 94.6 94.2 94.5 95.6 94.0 (1.2)   0.13 s
#   mixed    binomial   plug-in 94.4 94.6 93.8 93.9 92.5 (1.9)   0.04 s   integrated 95.2 95.3 94.2 94.7 95.0 (1.5)   0.11 s
#   mixed    poisson    plug-in 93.9 94.1 93.5 93.8 94.0 (1.7)   0.04 s   integrated 94.5 94.6 93.8 94.4 96.0 (1.4)   0.10 s
#   surface  gaussian   plug-in 93.5 93.0 89.0    - 93.2 (0.9)   0.03 s   integrated 95.3 95.2 92.0    - 93.9 (0.9)   0.16 s
# Of 1,000 other data sets (seed 2), integrated:
#   process  gaussian   95.3 95.2 94.9 - 94.3 (0.4)
#   surface  gaussian   94.8 94.8 94.5 - 94.2 (0.4)
# With "integrate" eta, new rows and random effects are within 1.1 points of nominal; what is further off in 200 data sets
# (hyperparameters by 2.2, fixed effects by 3.0) is within 0.8 in 1,000.
#
# ---- small: fixed effects of a few rows ----
#
# Counted are confint() of each coefficient and `lwr`, `upr` of each learned parameter in fit$hyper, and ranef() -+ 1.96
# sd; `width` is the mean width of the intervals (of positive parameters: of their logarithms), `se` the standard error of
# the coverage, `missing` the number of intervals that are NA. `seconds`: CPU, of a fit and these questions.
#
# Answer (2,000 data sets each, seed 1, one process; per cent, +- se; mean width; seconds on a shared virtual machine of
# 2026). "before": uncertainty = "factorised", parameters as points, intervals from the bound's curvature at its mode;
# "auto" is the default. "integrate", by 400 data sets and `hyper = "integrate"` where it exists.
#                                before  width  seconds        auto  width  seconds   integrate
#   gaussian  intercept        92.1 (0.6)   1.28    0.010  94.8 (0.5)   1.40    0.024  93.8 (1.2)
#             slope            93.3 (0.4)   1.35           95.3 (0.3)   1.48           94.9 (0.8)
#             variance         95.1 (0.5)   1.70           95.3 (0.5)   1.73           94.2 (1.2)
#   logistic  intercept        94.5 (0.5)   1.60    0.011  94.5 (0.5)   1.60    0.010
#             slope            94.2 (0.3)   1.73           94.2 (0.3)   1.73
#   zip       intercept        92.8 (0.6)   0.35    0.023  95.0 (0.5)   0.40    0.045
#             slope            94.6 (0.5)   0.31           95.0 (0.5)   0.32
#             zi intercept     93.0 (0.6)   1.00           95.0 (0.5)   1.15
#             zi slope         94.2 (0.5)   1.18           95.2 (0.5)   1.24
#   ordinal   slope            91.3 (0.5)   1.08    0.030  95.8 (0.3)   1.29    0.043  96.8 (0.6)
#             threshold        95.1 (0.3)   2.03           95.3 (0.3)   1.97           97.0 (0.6)
#   weibull   intercept        94.3 (0.5)   0.65    0.014  95.6 (0.5)   0.69    0.026  96.2 (1.0)
#             slope            93.8 (0.4)   0.69           95.2 (0.3)   0.73           96.1 (0.7)
#             shape            94.0 (0.5)   0.57           94.2 (0.5)   0.57           96.2 (1.0)
#   spread    intercept        94.8 (0.5)   0.85    0.016  95.7 (0.5)   0.88    0.027
#             slope            92.6 (0.6)   0.68           94.9 (0.5)   0.73
#             sigma intercept  94.3 (0.5)   0.39           95.1 (0.5)   0.41
#             sigma slope      92.7 (0.6)   0.40           94.7 (0.5)   0.44
#   groups    intercept        95.3 (0.5)   2.00    0.022  95.4 (0.5)   2.00    0.050  95.8 (1.0)
#             slope            95.0 (0.5)   1.84           95.3 (0.5)   1.86           96.0 (1.0)
#             group variance   80.3 (0.9)   4.43           93.4 (0.6)   6.44           93.8 (1.2)
#             group effect     94.0 (0.3)   2.81           93.8 (0.3)   2.83           93.9 (0.6)
# Of the 2,000 posteriors each, weighted points were believed for all of weibull and spread, 1,989 of zip, 1,884 of
# ordinal and 53 of groups; the others are mixtures over hyperparameters, but for 7 by linear response and 4 factorised
# (zip).
# Before, the interval of a group variance was a mode and a curvature of its logarithm, which has a long tail below.
source("bench/_helper.R")

asked <- commandArgs(TRUE)
numbers <- as.integer(grep("^[0-9]+$", asked, value = TRUE))
sets <- if (length(numbers)) numbers[1L] else 200L
seed <- if (length(numbers) > 1L) numbers[2L] else 1L
cores <- as.integer(sub("cores=", "", grep("^cores=", asked, value = TRUE)))
cores <- if (length(cores)) cores else 1L
uncertainty <- if ("factorised" %in% asked) "factorised" else "auto"
kinds <- grep("^([0-9]+|cores=.*|auto|factorised)$", asked, value = TRUE, invert = TRUE)

# Builds without this argument have factorised posteriors alone.
knows_uncertainty <- "uncertainty" %in% names(formals(galvi_control))
control_of <- function(uncertainty) {
  do.call(galvi_control, c(list(threads = 1), if (knows_uncertainty) list(uncertainty = uncertainty)))
}
control <- control_of(uncertainty)

respond <- function(eta, family, sd) {
  switch(family, gaussian = rnorm(length(eta), eta, sd), binomial = rbinom(length(eta), 1, plogis(eta)),
    poisson = rpois(length(eta), exp(eta)))
}

# A process over 60 points of [0, 10] and 20 new ones.
process_case <- function(family) {
  n <- if (family == "binomial") 120 else 60
  x <- sort(runif(n, 0, 10))
  new <- seq(0, 10, length.out = 20)
  at <- c(x, new)
  theta <- c(variance = exp(rnorm(1, 0, 0.8)), lengthscale = exp(rnorm(1, 0.5, 0.5)), noise = exp(rnorm(1, -1.5, 0.8)))
  K <- theta[["variance"]] * exp(-outer(at, at, "-")^2 / (2 * theta[["lengthscale"]]^2)) + diag(1e-8, length(at))
  b <- rnorm(1, 0.5, 1)
  eta <- b + drop(t(chol(K)) %*% rnorm(length(at)))
  old <- seq_len(n)
  list(
    formula = y ~ gp(x, kernel = se(log_normal(0, 0.8), log_normal(0.5, 0.5))),
    data = data.frame(x = x, y = respond(eta[old], family, sqrt(theta[["noise"]]))), new = data.frame(x = new),
    prior = list(intercept = normal(0.5, 1)), eta = eta[old], eta_new = eta[-old], beta = b,
    theta = c(theta[1:2], if (family == "gaussian") theta[3])
  )
}

# A process over 80 places with a lengthscale for each of two inputs: four hyperparameters.
surface_case <- function(family) {
  at <- matrix(runif(200, 0, 5), 100, dimnames = list(NULL, c("x1", "x2")))
  theta <- c(
    variance = exp(rnorm(1, 0, 0.8)), lengthscale = exp(rnorm(2, 0.5, 0.5)), noise = exp(rnorm(1, -1.5, 0.8))
  )
  K <- theta[[1]] * exp(-as.matrix(dist(at %*% diag(1 / theta[2:3])))^2 / 2) + diag(1e-8, 100)
  b <- rnorm(1, 0.5, 1)
  eta <- b + drop(t(chol(K)) %*% rnorm(100))
  old <- 1:80
  list(
    formula = y ~ gp(x1, x2, kernel = se(log_normal(0, 0.8), log_normal(0.5, 0.5), ard = TRUE)),
    data = data.frame(at[old, ], y = respond(eta[old], family, sqrt(theta[["noise"]]))),
    new = data.frame(at[-old, ]), prior = list(intercept = normal(0.5, 1)), eta = eta[old], eta_new = eta[-old],
    beta = b, theta = theta
  )
}

# Twenty groups of six (binomial: ten) with a slope.
mixed_case <- function(family) {
  size <- if (family == "binomial") 10 else 6
  g <- rep(1:20, each = size)
  theta <- c(variance = exp(rnorm(1, -1, 0.8)), noise = exp(rnorm(1, -1.5, 0.8)))
  beta <- c(rnorm(1, 0, 1), rnorm(1, 0, 1))
  x <- rnorm(length(g))
  u <- rnorm(20, 0, sqrt(theta[["variance"]]))
  eta <- beta[1] + beta[2] * x + u[g]
  list(
    formula = y ~ x + iid(g, variance = log_normal(-1, 0.8)),
    data = data.frame(x = x, g = g, y = respond(eta, family, sqrt(theta[["noise"]]))),
    new = data.frame(x = seq(-2, 2, length.out = 20), g = 1:20), prior = list(intercept = normal(0, 1), x = normal(0, 1)),
    eta = eta, eta_new = beta[1] + beta[2] * seq(-2, 2, length.out = 20) + u, beta = beta,
    effects = u, theta = c(theta[1], if (family == "gaussian") theta[2])
  )
}

inside <- function(value, limits) value >= limits[, 1] & value <= limits[, 2]

covered <- function(case, family, hyper) {
  given <- if (family == "gaussian") galvi_family("gaussian", variance = log_normal(-1.5, 0.8)) else family
  fit <- suppressWarnings(galvi(case$formula, case$data, given, hyper = hyper, prior = case$prior,
    control = if (hyper == "optimise") control_of("factorised") else control, verbose = FALSE))
  at <- function(newdata) predict(fit, newdata, type = "link", interval = "credible")[, c("lwr", "upr")]
  limits <- fit$hyper[fit$hyper$status != "fixed", c("lwr", "upr")]
  link <- at(case$data)
  c(
    eta = mean(inside(case$eta, link)), new = mean(inside(case$eta_new, at(case$new))),
    fixed = mean(inside(case$beta, confint(fit))),
    effects = if (is.null(case$effects)) NA else {
      u <- ranef(fit)[[1]]
      mean(abs(case$effects - u$mean) <= qnorm(0.975) * u$sd)
    },
    theta = mean(inside(case$theta, limits)),
    width = mean(link[, 2] - link[, 1])
  )
}

results <- found <- NULL
models <- list(process = process_case, mixed = mixed_case, surface = surface_case)
for (kind in if (length(kinds)) intersect(names(models), kinds) else names(models)) {
  for (family in if (kind == "surface") "gaussian" else c("gaussian", "binomial", "poisson")) {
    set.seed(seed)
    # a binary response of one class alone is refused
    draw <- function() {
      repeat {
        case <- models[[kind]](family)
        if (length(unique(case$data$y)) > 1) return(case)
      }
    }
    cases <- replicate(sets, draw(), simplify = FALSE)
    for (hyper in c("optimise", "integrate")) {
      seconds <- cpu_seconds(function() found <<- vapply(cases, covered, numeric(6), family, hyper))
      se <- apply(found, 1, sd, na.rm = TRUE) / sqrt(sets)
      results <- rbind(results, data.frame(
        model = kind, family = family, hyper = hyper, round(100 * t(rowMeans(found[-6, ], na.rm = TRUE)), 1),
        se = round(100 * se[["theta"]], 1), width = round(mean(found["width", ]), 3), seconds = round(seconds / sets, 3)
      ))
      print(results[nrow(results), ], row.names = FALSE)
    }
  }
}
if (length(results)) {
  cat("\nCoverage in per cent\n")
  print(results, row.names = FALSE)
}

# ---- small ----

# The cases: each draws a truth and data, and says with which priors they are fitted. truth: coefficients in the order of
# coef(), then learned parameters in that of fit$hyper; `effects`: those of groups. `scale`: parameters whose intervals
# are compared on the log scale.
columns <- function(n, p) matrix(rnorm(n * p), n, dimnames = list(NULL, paste0("x", seq_len(p))))
slopes <- function(p, sd = 1.5) rnorm(p, 0, sd)
given <- list(intercept = normal(0, 1.5), default = normal(0, 1.5))
small <- list(
  # 12 rows, two slopes
  gaussian = function() {
    X <- columns(12, 2)
    beta <- slopes(3)
    variance <- exp(rnorm(1, 0, 1))
    list(
      formula = y ~ x1 + x2, family = galvi_family("gaussian", variance = log_normal(0, 1)), prior = given,
      data = data.frame(X, y = rnorm(12, drop(cbind(1, X) %*% beta), sqrt(variance))), beta = beta,
      psi = c(variance = variance)
    )
  },
  # 60 rows, three slopes
  logistic = function() {
    X <- columns(60, 3)
    beta <- slopes(4)
    y <- rbinom(60, 1, plogis(drop(cbind(1, X) %*% beta)))
    list(
      formula = y ~ x1 + x2 + x3, family = binomial(), prior = given, data = data.frame(X, y = y), beta = beta,
      usable = length(unique(y)) > 1
    )
  },
  # 200 counts with excess zeros
  zip = function() {
    x <- rnorm(200)
    z <- rnorm(200)
    beta <- c(rnorm(1, 1, 1), rnorm(1, 0, 0.7), slopes(2))
    zero <- rbinom(200, 1, plogis(beta[3] + beta[4] * z))
    y <- (1 - zero) * rpois(200, exp(beta[1] + beta[2] * x))
    list(
      formula = list(y ~ x, zi ~ z), family = zero_inflated(poisson()),
      prior = list(intercept = normal(1, 1), x = normal(0, 0.7), zi = given), data = data.frame(x = x, z = z, y = y),
      beta = beta, usable = any(y > 0)
    )
  },
  # 80 rows of four classes; thresholds take no prior but are flat in their order: uniform on a long interval
  ordinal = function() {
    X <- columns(80, 2)
    beta <- slopes(2)
    thresholds <- sort(runif(3, -5, 5))
    y <- findInterval(drop(X %*% beta) + rlogis(80), thresholds)
    list(
      formula = y ~ x1 + x2, family = cumulative(), prior = list(default = normal(0, 1.5)),
      data = data.frame(X, y = factor(y, 0:3, ordered = TRUE)), beta = beta, usable = all(0:3 %in% y),
      psi = c(threshold = thresholds[1], threshold = thresholds[2], threshold = thresholds[3])
    )
  },
  # 40 times; observation ends with the 30th event
  weibull = function() {
    X <- columns(40, 2)
    beta <- slopes(3)
    shape <- exp(rnorm(1, 0.3, 0.5))
    time <- rweibull(40, shape, exp(drop(cbind(1, X) %*% beta)))
    end <- sort(time)[30]
    list(
      formula = survival::Surv(time, event) ~ x1 + x2, family = weibull(shape = log_normal(0.3, 0.5)), prior = given,
      data = data.frame(X, time = pmin(time, end), event = as.integer(time <= end)), beta = beta, psi = c(shape = shape)
    )
  },
  # 50 rows whose sd has a slope
  spread = function() {
    x <- rnorm(50)
    beta <- c(slopes(2), rnorm(1), rnorm(1, 0, 0.7))
    list(
      formula = list(y ~ x, sigma ~ x), family = gaussian(),
      prior = c(given, list(sigma = list(intercept = normal(0, 1), x = normal(0, 0.7)))),
      data = data.frame(x = x, y = rnorm(50, beta[1] + beta[2] * x, exp(beta[3] + beta[4] * x))), beta = beta
    )
  },
  # 8 groups of 6 binary rows
  groups = function() {
    g <- rep(1:8, each = 6)
    x <- rnorm(48)
    beta <- slopes(2)
    sd <- abs(rnorm(1))
    u <- rnorm(8, 0, sd)
    y <- rbinom(48, 1, plogis(beta[1] + beta[2] * x + u[g]))
    list(
      formula = y ~ x + (1 | g), family = binomial(), prior = c(given, list(sd = half_normal(1))),
      data = data.frame(x = x, g = g, y = y), beta = beta, effects = u, usable = length(unique(y)) > 1,
      psi = c(`group variance` = sd^2)
    )
  }
)

# zi_(Intercept) -> zi intercept, x2 -> slope
kind_of <- function(name) {
  prefix <- regmatches(name, regexpr("^(zi|sigma)_", name))
  prefix <- if (length(prefix)) sub("_", " ", prefix) else ""
  paste0(prefix, if (grepl("(Intercept)", name, fixed = TRUE)) "intercept" else "slope")
}

# -> list(kinds: kind, covered, width; seconds, method, warned)
small_covered <- function(case) {
  warned <- character()
  started <- proc.time()
  fit <- withCallingHandlers(
    galvi(case$formula, case$data, case$family, prior = case$prior, control = control, verbose = FALSE),
    warning = function(w) {
      warned <<- c(warned, class(w)[1L])
      invokeRestart("muffleWarning")
    }
  )
  limits <- confint(fit)
  kinds <- data.frame(kind = vapply(rownames(limits), kind_of, ""), covered = inside(case$beta, limits),
    width = limits[, 2] - limits[, 1])
  learned <- fit$hyper[fit$hyper$status != "fixed", c("lwr", "upr")]
  if (length(case$psi)) {
    stopifnot(nrow(learned) == length(case$psi))
    of_logs <- names(case$psi) != "threshold"
    width <- ifelse(of_logs, log(learned$upr) - log(learned$lwr), learned$upr - learned$lwr)
    kinds <- rbind(kinds, data.frame(kind = names(case$psi), covered = inside(case$psi, learned), width = width))
  }
  if (length(case$effects)) {
    u <- ranef(fit)[[1]]
    kinds <- rbind(kinds, data.frame(kind = "group effect", covered = abs(case$effects - u$mean) <= qnorm(0.975) * u$sd,
      width = 2 * qnorm(0.975) * u$sd))
  }
  method <- fit$convergence$uncertainty$method
  list(kinds = kinds, seconds = sum((proc.time() - started)[1:2]), warned = unique(warned),
    method = if (is.null(method)) "factorised" else method)
}

draw_usable <- function(name) {
  repeat {
    case <- small[[name]]()
    if (!isFALSE(case$usable)) return(case)
  }
}

small_table <- function(name) {
  set.seed(seed)
  cases <- replicate(sets, draw_usable(name), simplify = FALSE)
  found <- parallel::mclapply(cases, small_covered, mc.cores = cores)
  failed <- vapply(found, inherits, NA, "try-error")
  if (any(failed)) print(found[[which(failed)[1L]]])
  found <- found[!failed]
  rows <- do.call(rbind, lapply(seq_along(found), function(i) cbind(found[[i]]$kinds, set = i)))
  table <- do.call(rbind, lapply(split(rows, factor(rows$kind, unique(rows$kind))), function(of_kind) {
    # intervals of one data set are dependent: the standard error is that of means over data sets
    each <- tapply(of_kind$covered, of_kind$set, mean, na.rm = TRUE)
    data.frame(model = name, uncertainty = uncertainty, kind = of_kind$kind[1L],
      coverage = round(100 * mean(of_kind$covered, na.rm = TRUE), 1),
      se = round(100 * sd(each, na.rm = TRUE) / sqrt(sum(!is.na(each))), 1), missing = sum(is.na(of_kind$covered)),
      width = round(mean(of_kind$width, na.rm = TRUE), 2))
  }))
  table$seconds <- round(mean(vapply(found, `[[`, 0, "seconds")), 3)
  print(table, row.names = FALSE)
  methods <- table(vapply(found, `[[`, "", "method"))
  cat("methods:", paste(names(methods), methods, collapse = ", "))
  warned <- table(unlist(lapply(found, `[[`, "warned")))
  cat("; warnings:", if (length(warned)) paste(names(warned), warned, collapse = ", ") else "none")
  cat("; failed:", sum(failed), "\n\n")
}

chosen <- if (!length(kinds) || "small" %in% kinds) names(small) else intersect(names(small), kinds)
stopifnot("unknown kind of model" = all(kinds %in% c("small", names(models), names(small))))
if (length(chosen) && !knows_uncertainty) cat("This build has factorised posteriors alone.\n")
for (name in chosen) small_table(name)

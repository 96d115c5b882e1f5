# What do honest standard deviations cost, and by how much do they change those of textbook models?
#
#   Rscript bench/uncertainty.R             (a few minutes)
#   Rscript bench/uncertainty.R cost        (the first table alone; also `models`)
#
# auto, factorised: galvi_control(uncertainty = ). Cost: CPU milliseconds of one fit on one thread, medians of 5 rounds in
# which both are timed in turn. Models: data sets and formulas of the help pages of MASS, survival, lme4, glmmTMB, ordinal
# and pscl, and of R's own, default priors; the range of sd(auto) / sd(factorised) over the coefficients, and what
# fit$convergence$uncertainty says of the joint posterior. "note": classes of warnings. Builds without the argument fill
# the columns of "factorised" alone.
#
# Answer (shared virtual machine of 2026, one thread, CPU ms, factorised -> auto): negbinomial, 100 rows and 5 unknowns
# 13 -> 22; 1,000 rows and 12 unknowns with shape ~ 28 -> 104 to 158; gaussian with sigma ~ 12 -> 16; zip of 200 rows 20
# -> 39; negbinomial with 40 columns 56 -> 126 (states) and with 100 148 -> 346; 52 coefficients in two predictors 61 ->
# 229 (linear response); zip with 60 groups 64 -> 286; 50,000 rows the same. Of 28 models of help pages 16 are by points, 9
# by states, 1 by linear response (Salamanders with sites: ratios 1.33 to 1.58), 2 need nothing; other ratios are 1.00 to
# 1.45.
source("bench/_helper.R")
options(width = 200)
asked <- commandArgs(TRUE)
wanted <- function(table) !length(asked) || table %in% asked

knows_uncertainty <- "uncertainty" %in% names(formals(galvi_control))
choices <- c(if (knows_uncertainty) "auto", "factorised")
control_of <- function(choice) {
  do.call(galvi_control, c(list(threads = 1), if (knows_uncertainty) list(uncertainty = choice)))
}

# A case is a function that fits with "auto" or "factorised".
case <- function(formula, data, family = gaussian(), ...) {
  more <- as.list(substitute(list(...)))[-1]
  data <- as.data.frame(data)
  function(choice) {
    eval(as.call(c(list(quote(galvi), formula, data, family, control = control_of(choice), verbose = FALSE), more)))
  }
}
# A fit without its messages, and the classes of its warnings.
quietly <- function(expr) {
  classes <- character()
  value <- withCallingHandlers(tryCatch(expr, error = identity),
    warning = function(w) {
      classes <<- c(classes, sub("galvi_warning_", "", class(w)[1L]))
      invokeRestart("muffleWarning")
    }, message = function(m) invokeRestart("muffleMessage"))
  list(fit = value, note = paste(unique(classes), collapse = ", "))
}
said <- function(fit, what) {
  value <- fit$convergence$uncertainty[[what]]
  if (is.null(value)) NA else value
}
milliseconds <- function(fit_with, rounds = 5) {
  seconds <- replicate(rounds, vapply(choices, function(choice) cpu_seconds(function() quietly(fit_with(choice))), 0))
  1e3 * apply(matrix(seconds, length(choices), dimnames = list(choices, NULL)), 1, median)
}

# One line of a table.
compared <- function(name, fit_with, rounds) {
  fits <- lapply(stats::setNames(choices, choices), function(choice) quietly(fit_with(choice)))
  failed <- vapply(fits, function(x) inherits(x$fit, "error"), NA)
  if (any(failed)) {
    cat(name, ": ", conditionMessage(fits[[which(failed)[1L]]]$fit), "\n", sep = "")
    return(NULL)
  }
  ms <- milliseconds(fit_with, rounds)
  plain <- fits$factorised$fit
  fit <- fits[[choices[1L]]]$fit
  ratio <- if (knows_uncertainty) range(sqrt(diag(vcov(fit)) / diag(vcov(plain)))) else c(NA, NA)
  data.frame(
    model = name, rows = nobs(fit), coefficients = nrow(vcov(fit)), parameters = sum(fit$hyper$status == "learned"),
    factorised = round(ms[["factorised"]], 1), auto = if (knows_uncertainty) round(ms[["auto"]], 1) else NA,
    least = round(ratio[1], 3), most = round(ratio[2], 3), method = said(fit, "method"), rounds = said(fit, "rounds"),
    efficiency = round(said(fit, "efficiency"), 2), tail = round(said(fit, "tail"), 2), rho = round(said(fit, "rho"), 2),
    note = fits[[choices[1L]]]$note
  )
}
compared_all <- function(cases, rounds) {
  do.call(rbind, lapply(names(cases), function(name) compared(name, cases[[name]], rounds)))
}

# ---- cost ----

columns <- function(n, p, name = "x") matrix(rnorm(n * p), n, dimnames = list(NULL, paste0(name, seq_len(p))))
sum_of <- function(left, names) stats::reformulate(names, left)

cost_cases <- function() {
  set.seed(1)
  # counts: log mean and log size linear in p and q columns
  counts <- function(n, p, q = 0) {
    X <- columns(n, p)
    eta <- 1 + drop(X %*% rep(0.3 / sqrt(p), p))
    size <- exp(0.5 + if (q) drop(X[, seq_len(q), drop = FALSE] %*% rep(0.2, q)) else 0)
    d <- data.frame(X, y = rnbinom(n, size = size, mu = exp(eta)))
    formula <- sum_of("y", colnames(X))
    if (q) formula <- list(formula, sum_of("shape", colnames(X)[seq_len(q)]))
    case(formula, d, negbinomial())
  }
  spread <- function(n, p, q) {
    X <- columns(n, p)
    log_sd <- -0.5 + drop(X[, seq_len(q), drop = FALSE] %*% rep(0.2, q))
    d <- data.frame(X, y = rnorm(n, drop(X %*% rep(0.3, p)), exp(log_sd)))
    case(list(sum_of("y", colnames(X)), sum_of("sigma", colnames(X)[seq_len(q)])), d)
  }
  zeros <- function(n, p, groups = 0) {
    X <- columns(n, p)
    g <- rep_len(seq_len(max(groups, 1)), n)
    eta <- 0.7 + drop(X %*% rep(0.3 / sqrt(p), p)) + rnorm(max(groups, 1), 0, 0.5 * (groups > 0))[g]
    d <- data.frame(X, g = g, y = rbinom(n, 1, 0.7) * rpois(n, exp(eta)))
    case(list(sum_of("y", c(colnames(X), if (groups) "(1 | g)")), zi ~ x1), d, zero_inflated(poisson()))
  }
  list(
    "negbinomial, 3 columns" = counts(100, 3),
    "negbinomial, 6 columns, shape ~ 4" = counts(1000, 6, 4),
    "gaussian, 2 columns, sigma ~ 2" = spread(100, 2, 2),
    "zip, 3 columns" = zeros(200, 3),
    "negbinomial, 40 columns" = counts(1000, 40),
    "negbinomial, 100 columns" = counts(1000, 100),
    "gaussian, 40 columns, sigma ~ 10" = spread(1000, 40, 10),
    "zip, 2 columns and 60 groups" = zeros(600, 2, 60),
    "negbinomial, 3 columns, many rows" = counts(50000, 3)
  )
}
if (wanted("cost")) {
  cat("Cost: CPU ms of a fit\n")
  show_table(compared_all(cost_cases(), 5)[c("model", "rows", "coefficients", "parameters", "factorised", "auto", "least",
    "most", "method", "rounds", "efficiency")])
}

# ---- models ----

model_cases <- function() {
  cases <- list(
    cars = case(list(dist ~ speed, sigma ~ speed), cars),
    "mtcars, 10 rows" = case(mpg ~ wt, mtcars[1:10, ]),
    trees10 = case(Volume ~ Girth, trees[seq(1, 31, 3), ][1:10, ]),
    stackloss = case(stack.loss ~ Air.Flow + Water.Temp, stackloss, student()),
    infert = case(case ~ spontaneous + induced, infert, binomial()),
    esoph = case(factor(cut(ncases, c(-1, 0, 2, 20)), ordered = TRUE) ~ unclass(alcgp) + unclass(tobgp), esoph,
      cumulative()),
    warpbreaks = case(list(breaks ~ wool + tension, shape ~ tension), warpbreaks, negbinomial()),
    InsectSprays = case(count ~ spray, InsectSprays, negbinomial())
  )
  more <- list(
    MASS = function() list(
      quine = case(Days ~ Sex + Age + Eth + Lrn, MASS::quine, negbinomial()),
      "quine, shape ~ Eth" = case(list(Days ~ Eth + Age, shape ~ Eth), MASS::quine, negbinomial()),
      housing = case(Sat ~ Infl + Type + Cont, MASS::housing, cumulative(), weights = Freq),
      "petrol, phi ~ EP" = case(list(I(Y / 100) ~ EP + V10, phi ~ EP), MASS::petrol, beta_family()),
      "epil, (1 | subject)" = case(y ~ lbase + trt + lage + (1 | subject), MASS::epil, negbinomial()),
      leuk = case(survival::Surv(time) ~ ag + log(wbc), MASS::leuk, weibull())
    ),
    survival = function() list(
      "lung, weibull" = case(survival::Surv(time, status) ~ sex + age + ph.ecog, survival::lung, weibull()),
      ovarian = case(survival::Surv(futime, fustat) ~ age + rx, survival::ovarian, weibull()),
      "ovarian, lognormal" = case(survival::Surv(futime, fustat) ~ age + rx, survival::ovarian, lognormal())
    ),
    lme4 = function() list(
      cbpp = case(cbind(incidence, size - incidence) ~ period + (1 | herd), lme4::cbpp, binomial()),
      "cbpp, phi" = case(cbind(incidence, size - incidence) ~ period, lme4::cbpp, beta_binomial()),
      sleepstudy = case(Reaction ~ Days + (Days | Subject), lme4::sleepstudy),
      Dyestuff = case(Yield ~ 1 + (1 | Batch), lme4::Dyestuff),
      Penicillin = case(diameter ~ 1 + (1 | plate) + (1 | sample), lme4::Penicillin)
    ),
    glmmTMB = function() list(
      Salamanders = case(list(count ~ cover + mined, zi ~ mined), glmmTMB::Salamanders, zero_inflated(poisson())),
      "Salamanders, (1 | site)" = case(list(count ~ mined + (1 | site), zi ~ mined), glmmTMB::Salamanders,
        zero_inflated(poisson()))
    ),
    ordinal = function() list(wine = case(rating ~ temp + contact, ordinal::wine, cumulative())),
    pscl = function() list(
      "bioChemists, zip" = case(list(art ~ fem + ment, zi ~ ment), pscl::bioChemists, zero_inflated(poisson())),
      "bioChemists, zinb" = case(list(art ~ fem + mar + kid5 + phd + ment, zi ~ ment), pscl::bioChemists,
        zero_inflated(negbinomial())),
      "bioChemists, hurdle" = case(list(art ~ fem + ment, hu ~ ment), pscl::bioChemists, hurdle(poisson()))
    )
  )
  installed <- vapply(names(more), requireNamespace, NA, quietly = TRUE)
  c(cases, unlist(unname(lapply(more[installed], function(f) f())), recursive = FALSE))
}
if (wanted("models")) {
  cat("\nModels: ratios of sds, CPU ms\n")
  show_table(compared_all(model_cases(), 3))
}

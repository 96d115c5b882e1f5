# Fits for the tests of standard deviations: controls, and the problems of fixtures/response with their priors.

# A control with the joint posterior of coefficients and parameters ("auto") or without it ("factorised"). Builds that
# lack the argument have the latter alone.
has_uncertainty <- function() "uncertainty" %in% names(formals(galvi_control))
uncertainty_control <- function(uncertainty = "auto", threads = 1, ...) {
  choice <- if (has_uncertainty()) list(uncertainty = uncertainty)
  do.call(galvi_control, c(list(threads = threads, ...), choice))
}
skip_without_uncertainty <- function() {
  if (!has_uncertainty()) testthat::skip("this build has no galvi_control(uncertainty = )")
}

sds <- function(fit) sqrt(diag(vcov(fit)))

# The learned parameters of a fit that are not prior sds of coefficients, by their names in fit$hyper.
learned_parameters <- function(fit) fit$hyper$name[fit$hyper$status == "learned"]

# Rows of vcov(fit, full = TRUE) that belong to parameters: by name, else after the coefficients in the table's order.
parameter_rows <- function(fit, names, full) {
  at <- match(names, rownames(full))
  ifelse(is.na(at), nrow(vcov(fit)) + match(names, learned_parameters(fit)), at)
}

# Each problem of fixtures/response: the formula, the family and the priors of the README there. `factors`: levels in
# order; `psi`: the gold's names of parameters without a linear predictor, which are logarithms (thresholds are as they
# are), and those in fit$hyper; `response(fit, rows)`: list(fit, se.fit) of the gold's quantity.
response_problems <- function() {
  wide <- list(intercept = normal(0, 5), default = normal(0, 5))
  narrow <- list(intercept = normal(0, 2), default = normal(0, 2))
  mean_of_y <- function(fit, rows) predict(fit, rows, type = "response", se.fit = TRUE)
  list(
    cars = list(
      formula = list(y ~ x, sigma ~ x), family = gaussian(), prior = c(wide, list(sigma = wide)), response = mean_of_y
    ),
    quine = list(
      formula = list(y ~ Eth + Age, shape ~ Eth), family = negbinomial(), prior = c(wide, list(shape = wide)),
      factors = list(Eth = c("A", "N"), Age = c("F0", "F1", "F2", "F3")), response = mean_of_y
    ),
    petrol = list(
      formula = list(y ~ ep + v, phi ~ ep), family = beta_family(), prior = c(wide, list(phi = wide)),
      response = mean_of_y
    ),
    biochemists_zip = list(
      formula = list(y ~ fem + ment, zi ~ ment), family = zero_inflated(poisson()), prior = c(wide, list(zi = narrow)),
      factors = list(fem = c("Men", "Women")), response = mean_of_y
    ),
    # thresholds take no prior: theirs is flat in their order
    housing = list(
      formula = factor(y, ordered = TRUE) ~ Infl + Cont, family = cumulative(), prior = list(default = normal(0, 5)),
      factors = list(Infl = c("Low", "Medium", "High"), Cont = c("Low", "High")), weights = "copies",
      psi = c(threshold1 = "cumulative.1|2", threshold2 = "cumulative.2|3"),
      response = function(fit, rows) lapply(predict(fit, rows, type = "prob", se.fit = TRUE), function(x) x[, "1"])
    ),
    ozone = list(
      formula = list(y ~ temp + wind, beta ~ temp), family = exgaussian(),
      prior = c(wide, list(sigma = wide, beta = wide)), response = mean_of_y
    ),
    boston = list(
      formula = list(y ~ lstat + rm, sigma ~ lstat, alpha ~ 1), family = skew_normal(),
      prior = c(wide, list(sigma = wide, alpha = wide)), response = mean_of_y
    ),
    esoph = list(
      formula = list(y ~ age + alc, phi ~ 1), family = ordbeta(), prior = c(wide, list(phi = wide)),
      psi = c(cutzero = "ordbeta.cutzero", cutone = "ordbeta.cutone"), response = mean_of_y
    ),
    # P(T > 1) has no se.fit: its moments are those of draws of coefficients and shape
    ovarian = list(
      formula = survival::Surv(t, event) ~ age + rx, family = weibull(shape = log_normal(0, 1)), prior = wide,
      psi = c(`log shape` = "weibull.shape"), packages = c("survival", "posterior"),
      response = function(fit, rows) {
        set.seed(1)
        draws <- unclass(posterior::as_draws_matrix(posterior::as_draws(fit, ndraws = 20000)))
        eta <- draws[, names(coef(fit))] %*% t(cbind(1, rows$age, rows$rx))
        above <- exp(-exp(-eta * as.vector(draws[, "weibull.shape"])))
        list(fit = predict(fit, rows, type = "survival", times = 1)[, 1], se.fit = apply(above, 2, sd))
      }
    ),
    dyestuff = list(
      formula = y ~ 1 + (1 | g), family = galvi_family("gaussian", variance = log_normal(-1, 2)),
      # log variance_g ~ N(0, 2^2), so that of the sd is N(0, 1)
      prior = list(intercept = normal(0, 5), sd = log_normal(0, 1)), sd_tolerance = 0.05
    )
  )
}

response_fixture <- function(file) utils::read.csv(test_path("fixtures", "response", paste0(file, ".csv")))

# A problem's data, its fit, and what is known of its posterior.
response_data <- function(name) {
  problem <- response_problems()[[name]]
  d <- response_fixture(name)
  for (f in names(problem$factors)) d[[f]] <- factor(d[[f]], problem$factors[[f]])
  d
}
response_fit <- function(name, control = uncertainty_control()) {
  problem <- response_problems()[[name]]
  args <- list(problem$formula, response_data(name), problem$family, prior = problem$prior, control = control,
    verbose = FALSE)
  if (!is.null(problem$weights)) args$weights <- as.name(problem$weights)
  do.call(galvi, args)
}
response_gold <- function(name) {
  of_problem <- function(file) {
    table <- response_fixture(file)
    table[table$problem == name, -1L]
  }
  parameters <- of_problem("parameters")
  entries <- of_problem("covariances")
  covariance <- if (nrow(entries)) {
    a <- match(entries$name, parameters$name)
    b <- match(entries$with, parameters$name)
    C <- matrix(0, nrow(parameters), nrow(parameters))
    C[cbind(c(a, b), c(b, a))] <- entries$covariance
    C
  }
  list(parameters = parameters, covariance = covariance, response = of_problem("responses"))
}

# ---- families by random designs ----

# Responses that count successes of eight trials: of one trial some parameters are not determined.
of_trials <- list(
  zero_inflated_binomial = function(eta) rbinom(nrow(eta), 1, plogis(-eta[, 2])) * rbinom(nrow(eta), 8, plogis(eta[, 1])),
  hurdle_binomial = function(eta) {
    p <- plogis(eta[, 1])
    some <- qbinom(runif(nrow(eta), dbinom(0, 8, p), 1), 8, p)
    rbinom(nrow(eta), 1, plogis(-eta[, 2])) * some
  },
  beta_binomial = function(eta) {
    phi <- if (NCOL(eta) > 1) exp(1 + eta[, 2]) else 5
    p <- plogis(as.matrix(eta)[, 1])
    rbinom(length(p), 8, rbeta(length(p), phi * p, phi * (1 - p)))
  }
)

# The names of the cases: each family alone and with each set of further predictors, as "gaussian sigma".
uncertainty_cases <- function() {
  unlist(lapply(family_names(), function(name) {
    sets <- names(galvi:::family_types[[name]]$with_predictors)
    alone <- !length(galvi:::always_predicted(galvi_family(name)))
    c(if (alone) name, if (length(sets)) paste(name, sets))
  }))
}

# Data and arguments of galvi() for a case: n rows, `y ~ x1 + x2`, and `~ x1` for each further predictor. Priors of the
# first predictor are the default ones; those of the others say how large effects may be.
uncertainty_case <- function(case, n = 50, seed = 1) {
  set.seed(seed)
  words <- strsplit(case, " ")[[1]]
  name <- words[1]
  others <- words[-1]
  type <- galvi:::family_types[[name]]
  d <- data.frame(x1 = rnorm(n), x2 = rnorm(n))
  eta <- with(d, cbind(0.5 + 0.6 * x1 - 0.4 * x2))
  for (other in others) {
    eta <- cbind(eta, if (other %in% c("zi", "hu", "zoi", "coi")) -0.7 + 0.5 * d$x1 else 0.3 + 0.4 * d$x1)
  }
  set <- paste(others, collapse = " ")
  twin <- if (length(others)) likelihood_twins[[type$with_predictors[[set]][[1]]]] else default_twin(name)
  if (name %in% c("categorical", "stick_breaking")) eta <- cbind(eta, -eta, 0)[, seq_len(twin$latents)]
  y <- if (!is.null(of_trials[[name]])) of_trials[[name]](eta) else
    twin$draw(if (ncol(eta) > 1) eta else eta[, 1], twin$drawn_with)
  if (name %in% ordinal_families) y <- factor(y, ordered = TRUE)
  if (name %in% c("categorical", "stick_breaking")) y <- factor(letters[y + 1])
  d$y <- y
  if (!is.null(of_trials[[name]])) d$y <- cbind(y, 8 - y)
  formulas <- c(list(y ~ x1 + x2), lapply(others, function(other) stats::reformulate("x1", other)))
  typed <- list(intercept = normal(0, 2), default = normal(0, 1))
  list(
    formula = if (length(others)) formulas else formulas[[1]], data = d, family = galvi_family(name), dpars = others,
    prior = if (length(others)) stats::setNames(rep(list(typed), length(others)), others)
  )
}

uncertainty_fit <- function(case, uncertainty = "auto", threads = 1, ...) {
  control <- uncertainty_control(uncertainty, threads)
  suppressWarnings(
    galvi(case$formula, case$data, case$family, prior = case$prior, verbose = FALSE, control = control, ...)
  )
}

# The fit of a case as uncertainty_case() draws it by default, which many tests look at, made once. The generator is
# where uncertainty_case() leaves it.
case_fit <- function(name, uncertainty = "auto") {
  case <- uncertainty_case(name)
  key <- paste("uncertainty", name, uncertainty)
  if (is.null(small_fits[[key]])) small_fits[[key]] <- uncertainty_fit(case, uncertainty)
  small_fits[[key]]
}

# The rows of a predictor's model matrix in the columns of vcov(fit): zero for those of the other predictors.
predictor_rows <- function(case, fit, dpar, newdata) {
  mean <- is.null(dpar)
  X <- stats::model.matrix(if (mean) ~ x1 + x2 else ~x1, newdata)
  W <- matrix(0, nrow(newdata), nrow(vcov(fit)), dimnames = list(NULL, rownames(vcov(fit))))
  of_predictor <- paste0(if (!mean) paste0(dpar, "_"), colnames(X))
  known <- of_predictor %in% colnames(W)  # cumulative() has no intercept
  W[, of_predictor[known]] <- X[, known]
  W
}

# Covariance matrices of draws are those they come from: in standard errors, taken from the draws themselves.
expect_draws_covariance <- function(draws, mean, covariance, limit = 5) {
  S <- nrow(draws)
  sd <- sqrt(diag(covariance))
  z <- sweep(sweep(draws, 2, mean), 2, sd, "/")
  testthat::expect_lt(max(abs(colMeans(z))) * sqrt(S), limit)
  r <- covariance / outer(sd, sd)
  for (i in seq_len(ncol(z))) {
    products <- z * z[, i]
    error <- abs(colMeans(products) - r[, i]) / pmax(apply(products, 2, sd), 1e-3) * sqrt(S)
    testthat::expect_lt(max(error), limit)
  }
}

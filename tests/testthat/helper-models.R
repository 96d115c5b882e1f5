# Border lists (R/model-design.R) by hand and at random, and the textbook's dense algebra of their priors.

# hyper: named start values, all learned; settings name -> list(learned, lower, upper, transform, prior).
hyper_table <- function(hyper, settings = list()) {
  pick <- function(field, default) {
    unlist(lapply(seq_along(hyper), function(h) {
      found <- settings[[names(hyper)[h]]][[field]]
      if (is.null(found)) default(hyper[[h]]) else found
    }))
  }
  list(
    name = names(hyper), value = unname(hyper),
    transform = as.character(pick("transform", function(x) "log")),
    learned = as.logical(pick("learned", function(x) is.finite(x))),
    lower = as.numeric(pick("lower", function(x) min(x * c(1e-8, 1e8)))),
    upper = as.numeric(pick("upper", function(x) max(x * c(1e-8, 1e8)))),
    prior = lapply(names(hyper), function(name) settings[[name]]$prior)
  )
}

new_model <- function(y, terms, hyper, likelihood = "binomial_logit", size = rep(1, length(y)),
                      weights = rep(1, length(y)), offset = numeric(length(y)), settings = list()) {
  if (is.null(names(hyper))) names(hyper) <- paste0("h", seq_along(hyper))
  solver <- choose_solver(vapply(terms, `[[`, "", "type"))
  spec <- list(type = likelihood, hyper = list(), constants = list())
  if (likelihood == "gaussian") spec$hyper <- list(variance = match("noise", names(hyper)))
  K <- NCOL(offset)
  with_terms(new_model_list(
    list(y = as.numeric(y), size = size, weights = weights), matrix(offset, length(y)), list(list()),
    list(list(terms = list(), solver = solver, design = 1L, latents = seq_len(K))), spec, hyper_table(hyper, settings)
  ), terms)
}

# The model that galvi() passes to the core, and what the fit keeps. held: hyperparameters are at their defaults, but
# marked as learned.
prepare_model <- function(formula, data, family = gaussian(), args = list(),
                          na.action = default_na_action(), prior = NULL, expectation = "auto", start = NULL,
                          control = galvi_control(), held = FALSE) {
  design <- read_design(formula, data, family, args, na.action)
  model <- build_model(design, as_prior_list(prior), start, expectation, if (held) "fixed" else "optimise",
                       as_control(control))
  list(design = model$design, model = core_model(model, "auto"), prior = model$prior, frame = model$data)
}

# Here a term has its rows beside its prior; the model list has them in its design.
row_parts <- c("inputs", "by", "group", "W", "node", "weight")

with_terms <- function(model, terms) {
  split <- function(keep) {
    lapply(terms, function(term) Filter(Negate(is.null), term[(names(term) %in% row_parts) == keep]))
  }
  model$designs <- list(split(TRUE))
  count <- function(term) if (!is.null(term$inputs)) list(input_count = ncol(term$inputs))
  specs <- Map(c, split(FALSE), lapply(terms, count))
  model$predictors <- list(list(
    terms = specs, solver = model$predictors[[1]]$solver, design = 1L,
    latents = seq_len(ncol(model$offset))
  ))
  check_model(model)
}

with_solver <- function(model, solver) {
  model$predictors[[1]]$solver <- solver
  model
}

solver_of <- function(model) predictor_of(model)$solver

terms_of <- function(model, k = 1L) Map(c, prior_terms(model, k), term_rows(model, k))

kernel_spec_of <- function(type, hyper, columns = 1L, constants = list(), parts = list()) {
  list(type = type, columns = columns, hyper = hyper, constants = constants, parts = parts)
}

kernel_term <- function(X, kernel, by = NULL, group = NULL) {
  list(type = "kernel", label = "gp(x)", inputs = X, by = by, group = group, kernel = kernel)
}

# factors: position in the table of every column's sd.
columns_term <- function(W, sd, mean = numeric(ncol(W))) {
  list(type = "columns", label = "fixed", W = W, mean = mean, factors = cbind(sd, sd, deparse.level = 0))
}

prior_kinds <- c("gp", "sum", "chain", "chains", "shared", "shared_chain", "columns", "flat", "field", "fields",
  "flat_field")
flat_kinds <- c("flat", "flat_field")

# One case of each kind of prior, from R's generator.
random_prior <- function(kind, n, variance = exp(rnorm(1))) {
  if (kind %in% c("field", "fields", "flat_field")) return(random_field_prior(kind, n, variance))
  if (kind %in% c("chain", "chains")) return(random_chain_prior(kind, n, variance))
  if (kind %in% c("shared", "shared_chain")) return(random_shared_prior(kind, n, variance))
  X <- matrix(rnorm(2 * n), n)
  W <- cbind(1, matrix(rnorm(n), n))
  stationary <- sample(c("se", "matern12", "matern32", "matern52"), 1)
  gp <- kernel_term(X, kernel_spec_of(stationary, list(variance = 1L, lengthscale = 2:3), 1:2))
  if (runif(1) < 0.3) gp$by <- rnorm(n)
  if (runif(1) < 0.3) gp$group <- sample(2L, n, replace = TRUE)
  lengthscales <- exp(rnorm(2, sd = 0.5))
  switch(kind,
    gp = list(terms = list(gp), hyper = c(variance = variance, l1 = lengthscales[1], l2 = lengthscales[2])),
    sum = list(
      terms = list(columns_term(W, 4:5, mean = c(0.3, -0.2)), gp),
      hyper = c(variance = variance, l1 = lengthscales[1], l2 = lengthscales[2], sd0 = 2, sd1 = 0.7)
    ),
    columns = list(
      terms = list(columns_term(W, 1:2, mean = c(-0.4, 0.1)), columns_term(X, c(3, 3))),
      hyper = c(sd0 = 3, sd1 = 0.8, sd = sqrt(variance))
    ),
    flat = list(
      terms = list(columns_term(W, 1:2), columns_term(X, c(3, 3))),
      hyper = c(sd0 = Inf, sd1 = Inf, sd = sqrt(variance))
    )
  )
}

# Markov processes of one input, some rows tied, with groups or a factor: "chain" alone, "chains" two beside columns.
random_chain_prior <- function(kind, n, variance, t = round(rnorm(n), sample(1:8, 1))) {
  chain <- function(t, type, at, ...) {
    constants <- list(origin = round(stats::median(t), 1))
    kernel <- kernel_spec_of(type, list(variance = at, lengthscale = at + 1L), 1L, constants)
    replace(kernel_term(cbind(t), kernel, ...), "type", "chain")
  }
  types <- sample(c("matern12", "matern32", "matern52", "integrated_wiener"), 2, replace = TRUE)
  group <- sample(2L, n, replace = TRUE)
  lengthscales <- exp(rnorm(2, sd = 0.5))
  if (kind == "chain") {
    term <- chain(t, types[1], 1L, by = if (runif(1) < 0.3) rnorm(n), group = if (runif(1) < 0.5) group)
    return(list(terms = list(term), hyper = c(variance = variance, l = lengthscales[1])))
  }
  list(
    terms = list(
      columns_term(cbind(1, rnorm(n)), 5:6, mean = c(0.3, -0.2)), chain(t, types[1], 1L),
      chain(t, types[2], 3L, group = if (runif(1) < 0.7) group)
    ),
    hyper = c(variance = variance, l1 = lengthscales[1], v2 = 0.5, l2 = lengthscales[2], sd0 = 2, sd1 = 0.7)
  )
}

# Sines and cosines of one input, with groups, a factor or a mean of zero: alone, or "waves beside" columns.
random_waves_prior <- function(kind, n, variance) {
  t <- rnorm(n, 5)
  group <- if (runif(1) < 0.4) sample(2L, n, replace = TRUE)
  by <- if (is.null(group) && runif(1) < 0.4) rnorm(n)
  series <- kernel_spec_of("periodic", list(variance = 1L, lengthscale = 2L, period = 3L), 1L, list(harmonics = 45))
  kernel <- if (runif(1) < 0.5) series else {
    one <- kernel_spec_of("cosine", list(variance = 1L, period = 4L), 1L)
    kernel_spec_of("sum", list(), integer(), parts = list(series, one))
  }
  term <- kernel_term(cbind(t), kernel, by, group)
  term$type <- "harmonics"
  term$waves <- list(groups = max(1L, group), origin = 4.7)
  if (is.null(by) && runif(1) < 0.4) term$centre <- list(inputs = cbind(t), group = group, weight = rexp(n))
  hyper <- c(variance = variance, l = runif(1, 0.3, 3), period = 1.7, other = 0.6)
  if (kind == "waves") return(list(terms = list(term), hyper = hyper))
  list(
    terms = list(columns_term(cbind(1, rnorm(n)), 5:6, mean = c(0.3, -0.2)), term), hyper = c(hyper, sd0 = 2, sd1 = 0.7)
  )
}

# Two processes that three groups share, with a kernel each or the same: of two inputs, or Markov processes of one beside
# columns and a process of each group.
random_shared_prior <- function(kind, n, variance) {
  group <- sample(3L, n, replace = TRUE)
  types <- sample(c("matern12", "matern32", "matern52"), 3, replace = TRUE)
  loadings <- matrix(1:6, 3)
  hyper <- c(a = sqrt(variance) * exp(rnorm(6)), v = c(1, 0.7), l = exp(rnorm(2, sd = 0.5)))
  kernel <- function(r, columns) kernel_spec_of(types[r], list(variance = 6L + r, lengthscale = 8L + r), columns)
  processes <- if (runif(1) < 0.3) 1L else 1:2
  shared <- function(X) {
    own <- kernel_term(X, NULL, group = group)
    c(replace(own[names(own) != "kernel"], "type", kind),
      list(kernels = lapply(processes, kernel, seq_len(ncol(X))), loadings = loadings))
  }
  if (kind == "shared") return(list(terms = list(shared(matrix(rnorm(2 * n), n))), hyper = hyper))
  t <- cbind(round(rnorm(n), sample(1:8, 1)))
  own <- kernel_term(t, kernel_spec_of(types[3], list(variance = 11L, lengthscale = 12L), 1L), group = group)
  list(
    terms = c(list(columns_term(cbind(1, rnorm(n)), 13:14, mean = c(0.3, -0.2)), shared(t)),
      if (runif(1) < 0.5) list(replace(own, "type", "chain"))),
    hyper = c(hyper, v3 = 0.5, l3 = 1.3, sd0 = 2, sd1 = 0.7)
  )
}

# ---- the same priors, written out ----

term_covariance <- function(term, hyper) {
  if (length(term$loadings)) {
    a <- matrix(hyper[term$loadings], nrow(term$loadings))[term$group, , drop = FALSE]
    return(Reduce(`+`, Map(function(kernel, r) {
      tcrossprod(a[, r]) * probe_kernel_value(kernel, hyper, term$inputs, term$inputs)
    }, rep_len(term$kernels, ncol(a)), seq_len(ncol(a)))))
  }
  if (term$type %in% c("columns", "field")) {
    columns <- term_columns(term, hyper)
    return(columns$W %*% (columns$variance * t(columns$W)))
  }
  K <- probe_kernel_value(term$kernel, hyper, term$inputs, term$inputs)
  if (length(term$by)) K <- K * outer(term$by, term$by)
  if (length(term$group)) K <- K * outer(term$group, term$group, "==")
  K
}

# Prior variances of a term's coefficients; 0 is no factor.
apply_factors <- function(term, hyper) apply(term$factors, 1, function(at) prod(hyper[at[at > 0]]))

prior_covariance <- function(model) {
  Reduce(`+`, lapply(terms_of(model), term_covariance, model$hyper$value))
}

prior_mean_of <- function(model) {
  means <- lapply(terms_of(model), function(term) {
    switch(term$type, columns = drop(term$W %*% term$mean), field = field_prior_mean(term), 0)
  })
  Reduce(`+`, means, numeric(length(model$y)))
}

# A term's columns and the prior variances (infinite where flat) of their coefficients.
term_columns <- function(term, hyper) {
  if (term$type == "field") return(field_columns(term, hyper))
  list(W = term$W, variance = apply_factors(term, hyper))
}

# The same of a prior that is finite.
prior_columns <- function(model) {
  columns <- lapply(terms_of(model), term_columns, model$hyper$value)
  list(W = do.call(cbind, lapply(columns, `[[`, "W")), variance = unlist(lapply(columns, `[[`, "variance")))
}

# V = (C^-1 + diag(lambda))^-1 without inverting C.
posterior_covariance <- function(C, lambda) solve(diag(nrow(C)) + C * rep(lambda, each = nrow(C)), C)

# ---- running them ----

quiet_control <- function(tol = 1e-9, cold = FALSE, ...) {
  settings <- utils::modifyList(list(tol = tol, threads = 1, backend = "eigen"), list(...))
  c(unclass(do.call(galvi_control, settings)), list(cold = cold))
}

fit_at <- function(model, method = "auto", control = quiet_control(), start = NULL) {
  fit_model(model, method, "fixed", control, start)
}

applicable_methods <- function(model) {
  refusals <- inference_refusals(model)
  # these do not look for the best Gaussian posterior: they have their own tests
  others <- c("ep", "mean_field", if (model$expectation != "taylor") "laplace")
  setdiff(names(refusals)[refusals == ""], others)
}

# `check(seed)` for every seed; messages of failures begin with the seed.
for_seeds <- function(seeds, check) {
  for (seed in seeds) {
    set.seed(seed)
    withCallingHandlers(check(seed),
      expectation_failure = function(e) {
        e$message <- paste0("Seed ", seed, ": ", e$message)
        testthat::exp_signal(e)
        invokeRestart("continue_test")
      },
      error = function(e) {
        if (!inherits(e, "expectation")) stop("Seed ", seed, ": ", conditionMessage(e), call. = FALSE)
      }
    )
  }
}

# Random data for a random prior.   likelihood: as the border names it.
random_model <- function(kind, n, likelihood, variance = 10^runif(1, -2, 4)) {
  prior <- random_prior(kind, n, variance)
  size <- if (startsWith(likelihood, "binomial")) sample(c(1, 1, 5), n, replace = TRUE) else rep(1, n)
  offset <- rnorm(n, sd = 0.3)
  weights <- sample(c(1, 1, 1, 2, 0.5, if (!kind %in% flat_kinds) 0), n, replace = TRUE)
  eta <- offset + rnorm(n)
  y <- switch(likelihood,
    gaussian = rnorm(n, eta), poisson = rpois(n, exp(eta)), rbinom(n, size, plogis(eta))
  )
  hyper <- prior$hyper
  if (likelihood == "gaussian") hyper <- c(hyper, noise = exp(rnorm(1)))
  new_model(y, prior$terms, hyper, likelihood, size, weights, offset)
}

# The seed's turn of x.
turn <- function(seed, x) x[seed %% length(x) + 1L]
inexact_likelihoods <- c("binomial_logit", "binomial_probit", "poisson")

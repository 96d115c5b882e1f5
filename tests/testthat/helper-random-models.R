# Random models of every likelihood, expectation and kind of prior, and the results of all methods.

# One case of the helpers' kernels (sums and products among them), its parameters moved; `after` other
# hyperparameters in the table.
random_kernel_term <- function(n, variance, after = 0) {
  case <- sample(kernel_cases(), 1)[[1]]
  hyper <- case[[2]] * exp(rnorm(length(case[[2]]), sd = 0.5))
  hyper[1] <- variance
  list(term = kernel_term(matrix(rnorm(2 * n), n), moved_positions(case[[1]], after)), hyper = hyper)
}

moved_positions <- function(spec, by) {
  spec$hyper <- lapply(spec$hyper, `+`, by)
  spec$parts <- lapply(spec$parts, moved_positions, by)
  spec
}

# Fewer inducing points than rows, for a kernel with one lengthscale per input. The prior variance that they do not
# explain stays in the posterior, and counts with an E exp(eta) of hundreds are not a sensible model.
random_sparse_prior <- function(n, variance) {
  X <- matrix(rnorm(2 * n), n)
  Z <- matrix(rnorm(2 * sample(3:8, 1)), ncol = 2)
  kernel <- kernel_spec_of(sample(c("se", "matern32"), 1), list(variance = 1L, lengthscale = 2:3), 1:2)
  hyper <- inducing_hyper(c(v = variance, l1 = exp(rnorm(1)), l2 = exp(rnorm(1))), Z, c(0, 0), c(1, 1))
  term <- inducing_term(X, kernel, Z, 4L, c(0, 0), c(1, 1))
  list(terms = list(term), hyper = hyper, settings = inducing_settings(hyper))
}

# A prior as random_prior() has it; for `latents` of them per class, where each has a kernel of its own.
random_any_prior <- function(n, latents, variance) {
  kinds <- c("gp", "sum", "columns", "kernel", "field", "fields", "inducing", if (latents > 1) "per_class")
  kind <- sample(kinds, 1)
  if (kind == "inducing") return(random_sparse_prior(n, min(variance, 10)))
  if (!kind %in% c("kernel", "per_class")) return(random_prior(kind, n, variance))
  hyper <- numeric()
  terms <- list()
  for (k in seq_len(if (kind == "kernel") 1 else latents)) {
    drawn <- random_kernel_term(n, variance, length(hyper))
    hyper <- c(hyper, drawn$hyper)
    terms[[k]] <- list(drawn$term)
  }
  names(hyper) <- paste0("h", seq_along(hyper))
  list(terms = terms[[1]], hyper = hyper, per_class = if (length(terms) > 1) terms)
}

# 8 to 60 rows of a likelihood and expectation, one row of `choices`, under any prior, narrow to wide, often
# with weights.
random_any_model <- function(choices) {
  choice <- choices[sample(nrow(choices), 1), ]
  n <- sample(8:60, 1)
  # a log sd whose prior sd is ten is a response without noise, or all noise, in every row
  widest <- if (choice$type %in% names(predictor_densities)) 0 else 3.5
  prior <- random_any_prior(n, latents_of(choice$type), variance = 10^runif(1, -2, widest))
  weights <- if (runif(1) < 0.4) sample(c(0, 0.5, 1, 2), n, replace = TRUE)
  likelihood_model(choice$type, n = n, expectation = choice$expectation, weights = weights, prior = prior)
}

# Every likelihood with every expectation that the bound has one optimum with, or may have several.
likelihood_choices <- function(one_optimum = TRUE) {
  types <- subset(likelihood_facts(), log_concave == one_optimum)$type
  do.call(rbind, lapply(types, function(type) {
    data.frame(type = type, expectation = setdiff(served_expectations(type), "taylor"))
  }))
}

# The applicable methods, "auto" first, on a model: what each reached, or how it failed.
methods_on <- function(model, start = NULL, methods = c("auto", applicable_methods(model))) {
  do.call(rbind, lapply(methods, function(method) {
    fit <- tryCatch(fit_at(model, method, quiet_control(tol = 1e-7), start), error = function(e) {
      list(elbo = NA, converged = FALSE, message = conditionMessage(e), trace = data.frame(),
           cost = list(factorisations = NA))
    })
    data.frame(method = method, elbo = fit$elbo, converged = fit$converged, steps = nrow(fit$trace),
               factorisations = fit$cost$factorisations, message = fit$message)
  }))
}

# The same where there may be several optima: methods whose own starts miss the best one start from there.
methods_from_best <- function(model) {
  found <- methods_on(model)
  below <- which(!found$elbo >= max(found$elbo, na.rm = TRUE) - 1e-6)
  if (!length(below)) return(found)
  best <- fit_at(model, found$method[which.max(found$elbo)], quiet_control(tol = 1e-7))
  again <- methods_on(model, best[c("lambda", "b")], found$method[below])
  better <- again$elbo > found$elbo[below] + 1e-6
  found[below[better], ] <- again[better, ]
  found
}

# One line that says what a model of random_any_model() is.
describe_model <- function(model) {
  kernels <- vapply(terms_of(model), function(term) {
    if (term$type == "kernel") term$kernel$type else term$type
  }, "")
  sprintf("%s, %s, %s%s, N = %d, variance %.2g", model$likelihood$type, model$expectation,
          paste(kernels, collapse = " + "), if (length(model$predictors) > 1) " per class" else "",
          length(model$y), model$hyper$value[match(TRUE, model$hyper$name %in% c("variance", "sd", "h1"))])
}

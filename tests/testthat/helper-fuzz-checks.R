# The fuzzer's check of one model, which ends with an outcome. The methods that users call on a fit must return finite
# numbers (fuzz_questions), and some of the invariants of all fits are checked (fuzz_invariants).

# What the user's own functions warn of in the models (helper-fuzz-recipes.R), and those of other packages
fuzz_words <- c("unsteady", "loud", "Stop time must be > start time, NA created")

# From the worst to the best; the first are failures.
fuzz_outcomes <- c("crash", "hang", "slow", "unclear error", "late error", "not finite", "broken invariant",
                   "unclear warning", "clear error", "ok with warning", "ok")
fuzz_failures <- utils::head(fuzz_outcomes, -3L)

# One seed -> list(outcome, where, detail, checked). `at(where)` is called before every step.
fuzz_seed <- function(seed, at = function(where) NULL, make = fuzz_model) {
  tryCatch({
    making <- new.env()
    making$at <- at
    examine(observe(making, "making", make(seed)), at)
  }, fuzz_finding = function(f) c(f[c("outcome", "where", "detail")], checked = ""))
}

# Without recipes.
fuzz_terms <- function(seed, at) fuzz_seed(seed, at, function(seed) fuzz_model(seed, "terms"))

# Ends the check. It is not an error, so that error handlers do not catch it.
found <- function(outcome, where, detail) {
  signalCondition(structure(
    list(message = detail, call = NULL, outcome = outcome, where = where, detail = detail),
    class = c("fuzz_finding", "condition")
  ))
  stop("A finding that nobody asked for: ", where, ": ", detail)
}

examine <- function(model, at, invariants = 3) {
  case <- new.env()
  case$at <- at
  case$model <- model
  case$warned <- character()
  case$told <- 0
  case$fit <- observe(case, "galvi", run_model(model))
  case$rows <- if (model$comparable) rows_of(case$fit, model$env$d) else new_rows_of(model)
  case$trusted <- is_trusted(case)
  for (question in c(fuzz_asked_always, sample(setdiff(names(fuzz_questions), fuzz_asked_always), 3L))) {
    ask(case, question)
  }
  checked <- character()
  for (name in sample(if (model$comparable) names(fuzz_invariants) else fuzz_invariants_of_any)) {
    if (length(checked) == invariants) break
    holds <- observe(case, name, fuzz_invariants[[name]](case))
    if (is.character(holds)) found("broken invariant", name, holds)
    if (!is.null(holds)) checked <- c(checked, name)
  }
  list(
    outcome = if (length(case$warned)) "ok with warning" else "ok", where = "",
    detail = paste(case$warned, collapse = "; "), checked = paste(checked, collapse = "; ")
  )
}

# The model's call, with other arguments or data perhaps.
run_model <- function(model, changes = list(), data = model$env$d) {
  call <- model$call
  call[names(changes)] <- changes
  env <- new.env(parent = model$env)
  env$d <- data
  eval(call, env)
}

# The rows of the data that a fit has used, as data for predictions.
rows_of <- function(fit, data) data[match(row.names(fit$data), row.names(data)), , drop = FALSE]

# The same where the fit has no row for each of the data's: a source's rows are those of `d`.
new_rows_of <- function(model) {
  data <- tryCatch(eval(model$call$data, model$env), error = function(e) NULL)
  utils::head(stats::na.omit(if (is.data.frame(data)) data else model$env$d), 200L)
}

# Evaluates; ends the check at an error, or at a warning that is not galvi's. Once there is a fit, an error about an
# argument is a refusal, as is one about data without a fold's rows or new to them, about rows that a fit does not keep,
# about priors with which it takes no more of them, or about numbers of a fit that warned; functions of the user may fail
# at any time. Any other error should have come before the fit.
observe <- function(case, where, expr) {
  case$at(where)
  withCallingHandlers(
    tryCatch(expr, error = function(e) {
      clear <- inherits(e, "galvi_error") && names_something(conditionMessage(e))
      refused <- inherits(e, c(
        "galvi_error_argument", "galvi_error_method", "galvi_error_family", "galvi_error_callback",
        if (where == "kfold") c("galvi_error_data", "galvi_error_newdata"),
        if (where == "added") "galvi_error_prior",
        # cuts the rows of newdata at places of their own, as in lm()
        if (has_word(case, "cut")) "galvi_error_newdata",
        if (lacks_rows(case$fit)) "galvi_error_data",
        if (length(case$warned)) "galvi_error_numeric"
      ))
      early <- where %in% c("galvi", "making")
      if (clear && !early && refused) return(NULL)
      outcome <- if (!clear) "unclear error" else if (early) "clear error" else "late error"
      found(outcome, where, sprintf("%s: %s", class(e)[1L], conditionMessage(e)))
    }),
    warning = function(w) {
      if (conditionMessage(w) %in% fuzz_words) invokeRestart("muffleWarning")
      if (!inherits(w, "galvi_warning")) found("unclear warning", where, conditionMessage(w))
      case$warned <- unique(c(case$warned, class(w)[1L]))
      case$told <- case$told + 1
      invokeRestart("muffleWarning")
    },
    message = function(m) {
      case$told <- case$told + 1
      invokeRestart("muffleMessage")
    }
  )
}

lacks_rows <- function(fit) !is.null(fit) && !galvi:::has_rows(fit)

# Is a message specific? It must quote its subject, or name a method, call or option.
names_something <- function(message) nchar(message) > 20 && grepl("[`\"(=]", message)

# Does the fit report that it has converged?
is_trusted <- function(case) {
  state <- case$fit$convergence
  isTRUE(state$converged && !nzchar(state$message) && state$jitter == 0) && !length(case$warned)
}

# ---- questions ----

# A log density of -Inf is legal: that of an impossible value.
or_impossible <- function(x) pmax(x, -.Machine$double.xmax)

# Responses that may be classes.
or_number <- function(x) if (is.numeric(x)) x else ifelse(is.na(x), NA, 1)

# Each returns numbers that must be finite, unless a message or warning explains why not: a mean may overflow, a row may
# have no prediction.
fuzz_questions <- list(
  elbo = function(fit, rows) fit$elbo,
  hyper = function(fit, rows) fit$hyper$estimate[fit$hyper$status != "fixed"],
  coef = function(fit, rows) stats::coef(fit),
  vcov = function(fit, rows) stats::vcov(fit),
  link = function(fit, rows) stats::predict(fit, type = "link", se.fit = TRUE),
  response = function(fit, rows) stats::predict(fit, se.fit = TRUE),
  summary = function(fit, rows) {
    utils::capture.output(print(fit), print(summary(fit)))
    numeric()
  },
  confint = function(fit, rows) stats::confint(fit),
  terms = function(fit, rows) stats::predict(fit, type = "terms"),
  new_rows = function(fit, rows) stats::predict(fit, rows, se.fit = TRUE),
  class = function(fit, rows) as.numeric(stats::predict(fit, type = "class")),
  quantile = function(fit, rows) stats::predict(fit, type = "quantile", probs = c(0.001, 0.5, 0.999)),
  interval = function(fit, rows) stats::predict(fit, interval = "prediction"),
  density = function(fit, rows) or_impossible(stats::predict(fit, rows, type = "density")),
  simulate = function(fit, rows) {
    or_number(unlist(stats::simulate(fit, nsim = 2, seed = 1)))
  },
  residuals = function(fit, rows) stats::residuals(fit, type = "quantile"),
  ranef = function(fit, rows) lapply(nlme::ranef(fit), unlist),
  loo = function(fit, rows) {
    if (!requireNamespace("loo", quietly = TRUE)) return(numeric())
    or_impossible(loo::loo(fit)$pointwise[, "elpd_loo"])
  },
  plot = function(fit, rows) {
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    plot(fit)
    numeric()
  },
  tidy = function(fit, rows) {
    if (!requireNamespace("generics", quietly = TRUE)) return(numeric())
    generics::tidy(fit, "fixed")$std.error
  },
  density_of_draws = function(fit, rows) or_impossible(rstantools::log_lik(fit, rows, ndraws = 5)),
  linpred = function(fit, rows) rstantools::posterior_linpred(fit, newdata = rows, ndraws = 5),
  epred = function(fit, rows) rstantools::posterior_epred(fit, ndraws = 5),
  predictive = function(fit, rows) or_number(rstantools::posterior_predict(fit, rows, ndraws = 5)),
  draws = function(fit, rows) unlist(posterior::as_draws_df(fit, ndraws = 10)),
  cdf = function(fit, rows) stats::predict(fit, rows, type = "cdf", q = 1),
  survival = function(fit, rows) stats::predict(fit, rows, type = "survival", times = c(0.1, 1, 10)),
  hazard = function(fit, rows) stats::predict(fit, rows, type = "cumhaz", times = c(0.1, 1), interval = "credible"),
  dpar = function(fit, rows) stats::predict(fit, rows, dpar = pick(c("sigma", "shape", "phi", "zi", "disc")),
    se.fit = TRUE),
  population = function(fit, rows) stats::predict(fit, rows, re_formula = NA, se.fit = TRUE),
  averaged = function(fit, rows) stats::predict(fit, rows[1L, , drop = FALSE], re_formula = "integrate"),
  total = function(fit, rows) stats::predict(fit, rows, aggregate = ~ 1, se.fit = TRUE)$fit,
  covariance = function(fit, rows) stats::predict(fit, rows, type = "link", covariance = TRUE),
  credible = function(fit, rows) stats::predict(fit, rows, interval = "credible"),
  effects = function(fit, rows) {
    shown <- conditional_effects(fit, resolution = 10, method = pick(c("posterior_epred", "posterior_linpred",
      "posterior_predict")))
    lapply(shown, function(one) one[c("estimate__", "se__", "lower__", "upper__")])
  },
  hypothesis = function(fit, rows) {
    names <- names(stats::coef(fit))
    if (!length(names)) return(numeric())
    hypothesis(fit, sprintf("`%s` > 0", pick(names)), class = NULL)$hypothesis$Estimate
  },
  kfold = function(fit, rows) or_impossible(kfold(fit, K = 2, hyper = "fixed")$pointwise[, "elpd_kfold"]),
  waic = function(fit, rows) or_impossible(loo::waic(fit)$pointwise[, "elpd_waic"]),
  check_fit = function(fit, rows) {
    utils::capture.output(print(check_fit(fit, draws = 100)))
    numeric()
  },
  variances = function(fit, rows) as.data.frame(nlme::VarCorr(fit))$vcov,
  priors = function(fit, rows) {
    utils::capture.output(print(prior_summary(fit)))
    numeric()
  },
  added = function(fit, rows) add_data(fit, rows)$elbo,
  full_vcov = function(fit, rows) {
    V <- stats::vcov(fit, full = TRUE)
    # those of hyperparameters are NA where nothing is known of them (?coef.galvi)
    V[rownames(V) %in% names(stats::coef(fit)), ]
  },
  deviance = function(fit, rows) c(stats::deviance(fit), stats::residuals(fit), stats::fitted(fit)),
  evidence = function(fit, rows) as.numeric(stats::logLik(fit)),
  influence = function(fit, rows) {
    leverage <- stats::hatvalues(fit)
    stats::cooks.distance(fit)[leverage != 1 & any(leverage != 0)]
  },
  augmented = function(fit, rows) generics::augment(fit)$.fitted,
  frame = function(fit, rows) {
    stats::model.frame(fit)
    stats::model.matrix(fit)
  }
)
fuzz_asked_always <- c("elbo", "hyper", "coef", "vcov", "link", "response", "summary")

# In the wide form NA is what does not exist: residuals of missing entries, predictions for units that lack a covariate
# or offset, sds of point estimates.
is_absent <- function(fit, numbers) inherits(fit, "galvi_wide") & is.na(numbers) & !is.nan(numbers)

ask <- function(case, question) {
  told <- case$told
  answer <- observe(case, question, fuzz_questions[[question]](case$fit, case$rows))
  numbers <- as.numeric(unlist(answer))
  bad <- if (case$told == told) which(!is.finite(numbers) & !is_absent(case$fit, numbers))
  if (!length(bad)) return(invisible())
  found("not finite", question, sprintf(
    "%d of %d, the first %s%s", length(bad), length(numbers), format(numbers[bad[1L]]),
    if (case$trusted) "" else " (the fit warned or has not converged)"
  ))
}

# ---- what invariants ask of a case ----

holds <- function(ok, ...) if (isTRUE(ok)) TRUE else sprintf(...)

# The largest difference relative to the tolerance, element by element.
worst_ratio <- function(a, b, allowed) max(0, abs(as.vector(a) - as.vector(b)) / as.vector(allowed))

# The tolerance for the same link prediction computed in two ways: a share of its sds, and rounding of its means.
prediction_tolerance <- function(p) tol$fuzz_prediction * p$se.fit + tol$fuzz_rounding * (1 + max(abs(p$fit)))

# The largest difference between means and sds of two link predictions, relative to the tolerance.
link_distance <- function(a, b) {
  allowed <- prediction_tolerance(a)
  c(mean = worst_ratio(a$fit, b$fit, allowed), sd = worst_ratio(a$se.fit, b$se.fit, allowed))
}

is_fixed <- function(fit) !any(fit$hyper$status != "fixed") && is.null(fit$inducing)
is_bound <- function(fit) galvi:::evidence_kind(fit) != "approximation"
is_log_concave <- function(fit) {
  facts <- galvi:::likelihood_facts()
  facts$log_concave[facts$type == fit$model$likelihood$type]
}

# Is a function or column of one of these names in the call?
has_word <- function(case, words) any(words %in% all.names(case$model$call))
has_flat_prior <- function(fit) any(is.infinite(fit$model$hyper$value))

# Points that clustering chooses depend on the order of rows.
has_chosen_points <- function(case) !is.null(case$fit$inducing)

# The same model with other arguments or data; NULL if galvi refuses that.
again <- function(case, changes = list(), data = case$model$env$d) {
  tryCatch(
    suppressMessages(withCallingHandlers(run_model(case$model, changes, data), galvi_warning = function(w) {
      invokeRestart("muffleWarning")
    })),
    galvi_error = function(e) NULL
  )
}

# Where learning would start: default priors and starts, without the optima that it may find after.
at_starts <- function(case, data) {
  control <- quote(galvi_control(hyper_iterations = 0, threads = 1))
  fit <- again(case, list(hyper = "optimise", control = control), data)
  if (!is.null(fit) && fit$convergence$converged) fit
}

# Have two fits the same bound, but for `shift`?
same_bound <- function(fit, other, shift = 0, tolerance = bound_tolerance(fit)) {
  if (is.null(fit) || is.null(other) || !other$convergence$converged) return(NULL)
  allowed <- tolerance * (1 + abs(fit$elbo))
  off <- other$elbo - fit$elbo - shift
  holds(abs(off) <= allowed, "bounds differ by %.3g (%.9g and %.9g), allowed %.2g", off, fit$elbo,
        other$elbo - shift, allowed)
}

bound_tolerance <- function(fit) {
  if (is_fixed(fit)) max(tol$fuzz_bound, 10 * fit$control$tol) else tol$fuzz_learned
}

# Does the model have one optimum, which does not depend on where learning ends? That of products of loadings and factors
# has several.
has_one_optimum <- function(case) {
  case$trusted && is_fixed(case$fit) && is_bound(case$fit) && is_log_concave(case$fit) && !has_word(case, "rr")
}

# Another method for the model with the same optimum; NULL if there is none.
other_method <- function(fit) {
  of_their_own <- c("ep", "laplace", "mean_field")
  refusals <- galvi:::inference_refusals(fit$model)
  choices <- setdiff(names(refusals)[refusals == ""], c(fit$method, of_their_own))
  if (length(choices) && !fit$method %in% of_their_own) pick(choices)
}

# A response in other units: the family has a scale for them, and no number was given in the old ones. One
# that is constant has no units.
scales_with_response <- function(case) {
  family <- case$fit$family
  case$model$plain && family$link == "identity" && length(galvi:::family_type(family)$parameters) > 0 &&
    is.numeric(case$model$env$d$y) && length(unique(case$fit$model$y)) > 1L
}

is_plain_double <- function(x) is.double(x) && !is.object(x)

# Numbers x1 and x2 in other units: every use of them has a coefficient or a lengthscale in their units.
scales_with_inputs <- function(case) {
  d <- case$model$env$d
  inputs <- intersect(c("x1", "x2"), all.vars(case$model$call$formula))
  mixed <- any(vapply(case$fit$design$specs, function(spec) {
    length(unique(vapply(spec$inputs, function(input) all(all.vars(input) %in% inputs), NA))) > 1L
  }, NA))
  # a thin plate spline of few columns is another one in other units, as in mgcv
  plates <- any(vapply(case$fit$design$specs, function(spec) spec$type == "s" && length(spec$inputs) > 1L, NA))
  case$model$plain && length(inputs) > 0 && !mixed && !plates && all(vapply(d[inputs], is_plain_double, NA)) &&
    !has_word(case, "log")
}

# sup over eta of log p(y_n | eta), row by row, by grids that close in.
highest_density <- function(fit) {
  y <- fit$model$y
  log_density <- function(eta) {
    rows <- rep_len(seq_along(y), length(eta))
    of_rows <- function(name) galvi:::take_rows_of(fit$model[[name]], rows)
    given <- list(mean = matrix(eta), variance = matrix(0, length(eta), 1L), known = of_rows("known"))
    galvi:::response_moment(fit, given, "log_density", size = fit$model$size[rows], y = y[rows],
                            censoring = of_rows("censoring"))
  }
  centre <- fit$posterior$mean[, 1L]
  width <- 50 + abs(y - centre)
  best <- rep(-Inf, length(y))
  for (round in 1:12) {
    grid <- outer(width, seq(-1, 1, length.out = 41L)) + centre
    values <- matrix(log_density(as.vector(grid)), nrow(grid))
    values[is.na(values)] <- -Inf
    at <- cbind(seq_along(y), max.col(values, ties.method = "first"))
    best <- pmax(best, values[at])
    centre <- grid[at]
    width <- width / 10
  }
  best
}

# ---- invariants ----

# Each gives TRUE where it holds, a sentence where it is broken and NULL where it does not apply.
fuzz_invariants <- list(
  `a prediction at the data is the fit` = function(case) {
    if (!case$trusted || has_word(case, "white")) return(NULL)
    own <- stats::predict(case$fit, type = "link", se.fit = TRUE)
    off <- link_distance(own, stats::predict(case$fit, case$rows, type = "link", se.fit = TRUE))
    holds(all(off <= 1), "off by %.3g (mean) and %.3g (sd) times what is allowed", off[["mean"]], off[["sd"]])
  },
  `rows predict alone as together` = function(case) {
    if (!case$trusted) return(NULL)
    at <- pick(seq_len(nrow(case$rows)))
    together <- stats::predict(case$fit, case$rows, type = "link", se.fit = TRUE)
    alone <- stats::predict(case$fit, case$rows[at, , drop = FALSE], type = "link", se.fit = TRUE)
    off <- link_distance(lapply(together, function(x) as.matrix(x)[at, ]), alone)
    holds(all(off <= 1), "row %d is off by %.3g times what is allowed", at, max(off))
  },
  `terms add up` = function(case) {
    # thresholds at the means of columns are in the model's offset
    if (!case$trusted || !is.null(case$fit$design$level)) return(NULL)
    terms <- stats::predict(case$fit, type = "terms")
    sums <- apply(terms, if (is.matrix(terms)) 1L else c(1L, 3L), sum)
    eta <- stats::predict(case$fit, type = "link")
    constant <- rep(attr(terms, "constant"), each = NROW(eta))
    # of two different predictors these are the main one's
    main <- function(x) as.vector(as.matrix(x)[, seq_len(NCOL(eta))])
    off <- abs(as.vector(sums) + constant + main(case$fit$model$offset) - as.vector(eta))
    sd <- sqrt(main(case$fit$posterior$variance))
    # two solves, of noise down to 1e-12 of the terms' variances
    rounding <- 100 * tol$fuzz_rounding
    allowed <- tol$fuzz_prediction * sd + rounding * (1 + max(abs(eta), abs(terms)))
    holds(all(off <= allowed), "off by %.3g", max(off))
  },
  `a saved fit predicts the same` = function(case) {
    file <- tempfile(fileext = ".rds")
    on.exit(unlink(file))
    saveRDS(case$fit, file)
    same <- identical(stats::predict(readRDS(file), case$rows), stats::predict(case$fit, case$rows))
    holds(same, "readRDS(saveRDS()) predicts something else")
  },
  `probabilities are probabilities` = function(case) {
    p <- stats::predict(case$fit, type = "prob")
    holds(all(p >= 0 & p <= 1) && max(abs(rowSums(p) - 1)) <= tol$fuzz_sum,
          "between %.17g and %.17g, sums off by %.2g", min(p), max(p), max(abs(rowSums(p) - 1)))
  },
  `quantiles are in order` = function(case) {
    q <- stats::predict(case$fit, type = "quantile", probs = c(0.01, 0.25, 0.5, 0.75, 0.99))
    # not differences: two may be Inf
    fall <- which(!(q[, -1L] >= q[, -5L]))
    holds(!length(fall), "one of %.17g follows one of %.17g", q[, -1L][fall[1L]], q[, -5L][fall[1L]])
  },
  `limits are around the mean` = function(case) {
    p <- stats::predict(case$fit, type = "link", interval = "credible")
    holds(all(p[, "lwr"] <= p[, "fit"] & p[, "fit"] <= p[, "upr"]), "lwr <= fit <= upr does not hold")
  },
  `vcov is a covariance` = function(case) {
    V <- stats::vcov(case$fit)
    if (!length(V) || !case$trusted) return(NULL)
    sd <- sqrt(pmax(diag(V), .Machine$double.xmin))
    R <- V / outer(sd, sd)
    lowest <- min(eigen((R + t(R)) / 2, symmetric = TRUE, only.values = TRUE)$values)
    asymmetry <- max(abs(R - t(R)))
    holds(asymmetry <= tol$fuzz_covariance && all(diag(V) >= 0) && lowest >= -tol$fuzz_covariance,
          "smallest variance %.3g; correlations: asymmetry %.2g, smallest eigenvalue %.3g", min(diag(V)),
          asymmetry, lowest)
  },
  `no variance is negative` = function(case) {
    lowest <- min(case$fit$posterior$variance)
    holds(lowest >= 0, "a variance of eta is %.3g", lowest)
  },
  `the bound never falls` = function(case) {
    fit <- case$fit
    # learning mixes bounds at several hyperparameters, several optima those of several starts
    if (!is_fixed(fit) || !is_bound(fit) || !is_log_concave(fit)) return(NULL)
    # what it promises (galvi_methods()) is for fits that converge
    if (fit$method == "cholesky_gradient" && !fit$convergence$converged) return(NULL)
    # each start has a path of its own
    fall <- max(vapply(split(fit$trace$elbo, fit$trace$start), function(elbo) -min(0, diff(elbo)), 0))
    # a fit may say itself how many digits are lost
    allowed <- max(tol$fuzz_rounding * (1 + max(abs(fit$trace$elbo))), fit$convergence$rounding)
    holds(fall <= allowed, "%s fell by %.3g nats", fit$method, fall)
  },
  `the bound is the best of its path` = function(case) {
    fit <- case$fit
    if (!is_fixed(fit) || !is_bound(fit)) return(NULL)
    above <- max(fit$trace$elbo) - fit$elbo
    holds(above <= tol$fuzz_rounding * (1 + abs(fit$elbo)), "%s ended %.3g nats below", fit$method, above)
  },
  `the bound is possible` = function(case) {
    fit <- case$fit
    if (!is_bound(fit) || galvi:::n_latents(fit) > 1 || has_flat_prior(fit)) return(NULL)
    if (!is.null(case$model$call$sample_prior)) return(NULL)  # the bound is that of no rows
    highest <- sum((fit$model$weights * highest_density(fit))[fit$model$weights > 0])
    holds(fit$elbo <= highest + tol$fuzz_rounding * (1 + abs(highest)),
          "%.9g, but no eta has a log density above %.9g", fit$elbo, highest)
  },
  `the certificate is above the true gap` = function(case) {
    fit <- case$fit
    said <- fit$convergence$gap
    method <- other_method(fit)
    if (!is_fixed(fit) || !is_bound(fit) || is.na(said) || is.null(method)) return(NULL)
    other <- again(case, list(method = method))
    if (is.null(other)) return(NULL)
    gap <- other$elbo - fit$elbo
    holds(gap <= said + tol$fuzz_rounding * (1 + abs(fit$elbo)),
          "%s says %.3g, but %s is %.3g higher (%.9g)", fit$method, said, method, gap, other$elbo)
  },
  `every method has the same optimum` = function(case) {
    method <- other_method(case$fit)
    if (!has_one_optimum(case) || is.null(method)) return(NULL)
    verdict <- same_bound(case$fit, again(case, list(method = method)))
    if (is.character(verdict)) sprintf("%s and %s: %s", case$fit$method, method, verdict) else verdict
  },
  `rows may be permuted` = function(case) {
    if (!has_one_optimum(case) || has_chosen_points(case)) return(NULL)
    d <- case$model$env$d
    same_bound(case$fit, again(case, data = d[sample(nrow(d)), , drop = FALSE]))
  },
  `frequency(2) is two rows` = function(case) {
    # poly() makes columns of length one for any number of rows
    counts_rows <- !case$fit$method %in% c("ep", "mean_field") && !has_word(case, "size") &&
      !has_word(case, "poly")
    # other weights must not change anything else
    counts_rows <- counts_rows && !"w" %in% all.vars(case$model$call$formula)
    if (!has_one_optimum(case) || has_chosen_points(case) || !counts_rows) return(NULL)
    d <- case$model$env$d
    # weights that sum to one or less do not determine the number of rows (?galvi)
    if (!is.null(d$w) && 2 * sum(d$w, na.rm = TRUE) <= 1) return(NULL)
    weighted <- d
    weighted$w <- 2 * if (is.null(d$w)) rep(1, nrow(d)) else d$w
    twice <- d[rep(seq_len(nrow(d)), each = 2L), , drop = FALSE]
    counted <- list(weights = quote(frequency(w)))
    one <- again(case, counted, weighted)
    if (is.null(one) || !one$convergence$converged) return(NULL)
    same_bound(one, again(case, if (is.null(d$w)) list() else counted, twice))
  },
  `units of the response do not matter` = function(case) {
    if (!case$trusted || !scales_with_response(case)) return(NULL)
    d <- case$model$env$d
    d$y <- d$y * fuzz_unit
    if (!is.null(d$o)) d$o <- d$o * fuzz_unit
    shift <- -sum(case$fit$model$weights) * log(fuzz_unit)
    same_bound(at_starts(case, case$model$env$d), at_starts(case, d), shift, tol$fuzz_bound)
  },
  `units of the inputs do not matter` = function(case) {
    if (!case$trusted || !scales_with_inputs(case)) return(NULL)
    d <- case$model$env$d
    for (x in intersect(c("x1", "x2"), names(d))) d[[x]] <- d[[x]] * fuzz_unit
    same_bound(at_starts(case, case$model$env$d), at_starts(case, d), tolerance = tol$fuzz_bound)
  },
  `update() fits the same` = function(case) {
    if (!case$trusted || !is_fixed(case$fit) || !is_bound(case$fit) || has_chosen_points(case)) return(NULL)
    env <- list2env(list(fit = case$fit), parent = case$model$env)
    same_bound(case$fit, suppressMessages(eval(quote(stats::update(fit)), env)))
  },
  `a fit goes on from itself` = function(case) {
    if (!case$trusted || !is_bound(case$fit) || has_chosen_points(case)) return(NULL)
    same_bound(case$fit, again(case, list(start = case$fit, hyper = "fixed")))
  }
)

# Those that ask nothing of how the fit keeps its rows.
fuzz_invariants_of_any <- c(
  "a saved fit predicts the same", "vcov is a covariance"
)

# A power of two: the numbers change, their digits do not.
fuzz_unit <- 2^20

# Products of fields: ar1(t, by = spde(x, y)) and its relatives.

# Rows at some of the cells of times and places: time 4 has none, and places have different times.
product_data <- function(n = 24, seed = 1) {
  set.seed(seed)
  d <- data.frame(
    t = sample(c(1:3, 5:6), n, TRUE), x = runif(n), y = runif(n), v = rnorm(n), g = sample(letters[1:4], n, TRUE),
    f = factor(sample(c("p", "q"), n, TRUE))
  )
  d$t[1:5] <- c(1:3, 5:6)
  d$g[1:4] <- letters[1:4]
  d$z <- rnorm(n)
  d$count <- rpois(n, 3)
  d
}

ring <- local({
  A <- matrix(0, 4, 4, dimnames = list(letters[1:4], letters[1:4]))
  A[cbind(1:4, c(2:4, 1))] <- 1
  A + t(A)
})
product_mesh <- galvi_mesh(cbind(c(0, 1, 0.3, 1), c(0, 0.1, 1, 1)), 0.5, 0.3)

# Covariances of two times under the outer term.
outer_twins <- list(
  "ar1(t, correlation = fixed(0.6)" = function(s, t) 0.6^abs(s - t),
  "ar1(t, correlation = fixed(-0.3)" = function(s, t) (-0.3)^abs(s - t),
  "ar2(t, correlation = fixed(0.5), partial = fixed(-0.4)" = function(s, t) {
    rho <- stats::ARMAacf(c(0.5 * 1.4, -0.4), lag.max = 30)
    rho[abs(s - t) + 1]
  },
  # begins at time 1, and goes both ways from there
  "rw1(t" = function(s, t) 1 + ifelse((s - 1) * (t - 1) > 0, pmin(abs(s - 1), abs(t - 1)), 0),
  "iid(t" = function(s, t) 1 * (s == t)
)

inner_terms <- c(
  "spde(x, y, product_mesh, fixed(0.8), fixed(1.3))", "spde(x, y, product_mesh, fixed(0.8), fixed(1.3), by = v)",
  "spde(x, y, product_mesh, fixed(0.8), fixed(1.3), by = f)", "iid(g, fixed(0.7))", "iid(g, fixed(0.7), by = v)",
  "gmrf(g, ring, model = \"proper\", variance = fixed(1.4), dependence = fixed(0.8))",
  "gmrf(g, ring, variance = fixed(1.4))", "gmrf(g, ring, model = \"bym2\", variance = fixed(1.4), mixing = fixed(0.3))"
)

product_formula <- function(outer, inner, more = "") {
  stats::as.formula(sprintf("z ~ %s, by = %s)%s", outer, inner, more), env = environment(product_data))
}

# The covariance of rows: that of the inner term alone, times that of their times.
product_covariance <- function(d, outer, inner) {
  within <- if (startsWith(inner, "spde")) {
    found <- locate_in_mesh(product_mesh, as.matrix(d[c("x", "y")]))
    A <- matrix(0, nrow(d), nrow(product_mesh$nodes))
    for (h in 1:3) A[cbind(seq_len(nrow(d)), found$node[, h])] <- found$weight[, h]
    same <- base::outer(d$f, d$f, `==`)
    by <- if (grepl("by = v", inner)) tcrossprod(d$v) else if (grepl("by = f", inner)) same else 1
    A %*% solve(spde_precision(product_mesh, 0.8, 1.3), t(A)) * by
  } else {
    prior_of(stats::as.formula(paste("z ~", inner), env = environment(product_data)), d)
  }
  within * base::outer(d$t, d$t, outer_twins[[outer]])
}

log_evidence <- function(z, C) {
  V <- C + 100 + diag(0.25, length(z))
  -0.5 * (length(z) * log(2 * pi) + determinant(V)$modulus + sum(z * solve(V, z)))
}

at_fixed <- function(formula, d) {
  suppressWarnings(galvi(formula, d, galvi_family(gaussian(), variance = fixed(0.25)),
    prior = list(intercept = normal(0, 10)), hyper = "fixed", control = list(threads = 1)))
}

test_that("the prior is the Kronecker product of dense covariances, for every pair of terms", {
  d <- product_data()
  for (outer in names(outer_twins)) {
    for (inner in inner_terms) {
      C <- product_covariance(d, outer, inner)
      expect_close(as.vector(at_fixed(product_formula(outer, inner), d)$elbo), as.vector(log_evidence(d$z, C)), 1e-8)
    }
  }
})

test_that("beside a full process it has the same covariance", {
  d <- product_data()
  for (inner in inner_terms[c(1, 3, 7)]) {
    C <- product_covariance(d, "ar1(t, correlation = fixed(0.6)", inner) + exp(-0.5 * base::outer(d$v, d$v, `-`)^2)
    fit <- at_fixed(product_formula("ar1(t, correlation = fixed(0.6)", inner,
      " + gp(v, kernel = se(fixed(1), fixed(1)), center = FALSE)"), d)
    expect_close(as.vector(fit$elbo), as.vector(log_evidence(d$z, C)), 1e-8)
  }
})

test_that("predictions, forecasts and hindcasts are the dense ones", {
  d <- product_data(30)
  new <- product_data(14, seed = 2)
  new$t <- c(4, 0, -2, 7:9, 1:3, 9, 20, 8, 0, 5)
  for (outer in names(outer_twins)) {
    for (inner in inner_terms[c(1, 3, 4, 6:8)]) {
      fit <- at_fixed(product_formula(outer, inner), d)
      got <- predict(fit, new, type = "link", covariance = TRUE)
      all <- product_covariance(rbind(d, new), outer, inner) + 100
      old <- seq_len(nrow(d))
      gain <- all[-old, old] %*% solve(all[old, old] + diag(0.25, nrow(d)))
      expect_close(as.vector(got$fit), as.vector(gain %*% d$z), 1e-7)
      expect_close(unname(got$covariance), unname(all[-old, -old] - gain %*% all[old, -old]), 1e-7)
    }
  }
})

test_that("the variance of a forecast returns to that of the field, or grows by a step", {
  d <- product_data(30)
  at <- data.frame(t = 6 + 0:4, g = "a")
  of <- function(outer) {
    fit <- galvi(product_formula(outer, "iid(g, fixed(0.7))"), d, galvi_family(gaussian(), variance = fixed(0.25)),
      hyper = "fixed", prior = list(intercept = normal(0, 1e-6)))
    predict(fit, at, se.fit = TRUE)$se.fit^2
  }
  v <- of("ar1(t, correlation = fixed(0.6)")
  expect_close(v[-1], 0.7 + 0.36^(1:4) * (v[1] - 0.7), 1e-6)
  expect_close(diff(of("rw1(t")), rep(0.7, 4), 1e-6)
})

test_that("new groups at old and new times have their prior", {
  d <- product_data(40)
  fit <- galvi(z ~ 0 + ar1(t, by = iid(g)), d, control = galvi_control(uncertainty = "factorised"))
  hyper <- stats::setNames(fit$hyper$estimate, fit$hyper$name)
  new <- data.frame(t = c(2, 2, 9, 9, 9), g = c("new", "other", "new", "a", "other"))
  got <- predict(fit, new, type = "link", covariance = TRUE)
  expect_equal(as.vector(got$fit)[-4], rep(0, 4))
  v <- hyper[["ar1(t, by = iid(g)).variance"]]
  rho <- hyper[["ar1(t, by = iid(g)).correlation"]]
  expect_close(diag(got$covariance)[-4], rep(v, 4))
  expect_close(got$covariance[1, 3], v * rho^7)
  expect_close(got$covariance[1, 2], 0)
  # known groups are as they are without the new ones
  expect_close(got$covariance[4, 4], predict(fit, new[4, ], type = "link", se.fit = TRUE)$se.fit^2)
})

test_that("bounds and gradients agree with finite differences", {
  d <- product_data(40)
  formulas <- list(
    count ~ v + ar1(t, by = spde(x, y, product_mesh)), count ~ ar1(t, by = gmrf(g, ring, model = "proper")),
    count ~ ar1(t, by = gmrf(g, ring)), count ~ ar2(t, by = iid(g)), count ~ rw1(t, by = spde(x, y, product_mesh)),
    count ~ iid(t, by = spde(x, y, product_mesh)), count ~ rw1(t, by = iid(g)),
    count ~ ar1(t, by = gmrf(g, ring, model = "bym2")),
    count ~ ar1(t, by = spde(x, y, product_mesh, by = f, by_hyper = "each")),
    count ~ spde(x, y, product_mesh) + ar1(t) + ar1(t, by = spde(x, y, product_mesh))
  )
  for (formula in formulas) {
    for (family in list(poisson(), gaussian())) {
      model <- suppressWarnings(prepare_model(formula, d, family)$model)
      learned <- model$hyper$learned
      value <- model$hyper$value
      own <- grepl("correlation|partial", model$hyper$name)
      value[own] <- c(0.4, -0.3)[seq_len(sum(own))]
      model$hyper$value <- value
      got <- bound_at(model, value)
      expect_true(is.finite(got$elbo))
      differences <- central_gradient(function(x) bound_at(model, x)$elbo, value)
      expect_close(got$gradient[learned], differences[learned], 2e-5)
    }
  }
})

test_that("without correlation it is a field for each level, with shared hyperparameters", {
  d <- product_data(60)
  d$year <- factor(d$t)
  each <- galvi(count ~ spde(x, y, product_mesh, by = year), d, poisson())
  alone <- galvi(count ~ iid(t, by = spde(x, y, product_mesh)), d, poisson())
  zero <- galvi(count ~ ar1(year, correlation = fixed(0), by = spde(x, y, product_mesh)), d, poisson())
  for (fit in list(alone, zero)) {
    expect_equal(fit$elbo, each$elbo, tolerance = 1e-6)
    expect_equal(fitted(fit), fitted(each), tolerance = 1e-4)
  }
  expect_identical(alone$hyper$name, paste0("iid(t, by = spde(x, y)).", c("range", "sd")))
})

test_that("an ar1 of each group is that of a factor, and that of a dense computation", {
  set.seed(4)
  d <- expand.grid(t = 1:12, g = letters[1:8])
  d$z <- as.vector(replicate(8, stats::arima.sim(list(ar = 0.7), 12))) + rnorm(96, sd = 0.3)
  d <- d[-c(3, 20, 50, 51), ]
  factor_by <- galvi(z ~ ar1(t, by = g), d)
  group <- galvi(z ~ ar1(t, by = iid(g)), d)
  expect_equal(group$elbo, factor_by$elbo, tolerance = 1e-6)
  expect_equal(ranef(group)[[1]], ranef(factor_by)[[1]][row.names(ranef(group)[[1]]), ], tolerance = 1e-3)
  bar <- galvi(z ~ ar1(t, by = (1 | g)), d)
  expect_equal(bar$elbo, group$elbo)
  # the group's own effects beside it are other effects
  expect_length(ranef(galvi(z ~ (1 | g) + (1 | t) + iid(t, by = iid(g)), d)), 3)
  # the log likelihood, with the intercept's default prior, at its maximum
  prior <- group$prior[["(Intercept)"]]
  minus <- function(h) {
    C <- exp(h[1]) * base::outer(d$g, d$g, `==`) * tanh(h[2])^abs(base::outer(d$t, d$t, `-`)) + prior$sd^2
    V <- C + diag(exp(h[3]), nrow(d))
    r <- d$z - prior$mean
    0.5 * (nrow(d) * log(2 * pi) + as.vector(determinant(V)$modulus) + sum(r * solve(V, r)))
  }
  best <- stats::optim(c(0, 0.5, -1), minus, method = "BFGS")
  expect_equal(as.vector(group$elbo), -best$value, tolerance = 1e-5)
  own <- group$hyper$estimate[match(paste0("ar1(t, by = iid(g)).", c("variance", "correlation")), group$hyper$name)]
  expect_equal(own, c(exp(best$par[1]), tanh(best$par[2])), tolerance = 0.01)
  skip_if_not_installed("glmmTMB")
  d$time <- factor(d$t, 1:12)
  theirs <- glmmTMB::glmmTMB(z ~ 1 + ar1(0 + time | g), d, REML = TRUE)
  correlation <- attr(glmmTMB::VarCorr(theirs)$cond$g, "correlation")[1, 2]
  expect_equal(own[2], correlation, tolerance = 0.02)
})

test_that("all parts stand beside each other on one mesh", {
  set.seed(6)
  d <- data.frame(t = rep(1:5, each = 40), x = runif(200), y = runif(200))
  m <- galvi_mesh(as.matrix(d[c("x", "y")]), 0.2, 0.2)
  d$z <- sin(5 * d$x) + 0.3 * d$t + rnorm(200, sd = 0.3)
  fit <- galvi(z ~ spde(x, y, mesh = m) + ar1(t) + ar1(t, by = spde(x, y, mesh = m)), d)
  expect_true(fit$convergence$converged)
  label <- "ar1(t, by = spde(x, y))"
  expect_setequal(fit$hyper$name, c(
    paste0("spde(x, y).", c("range", "sd")), paste0("ar1(t).", c("variance", "correlation")),
    paste0(label, c(".correlation", ".range", ".sd")), "gaussian.variance"
  ))
  expect_named(fit$mesh, c("spde(x, y)", label))
  terms <- predict(fit, d[1:3, ], type = "terms")
  expect_identical(colnames(terms), c("spde(x, y)", "ar1(t)", label))
  without <- predict(fit, d[1:3, ], type = "link", exclude = "ar1(t, by = spde(x, y, mesh = m))")
  expect_equal(unname(without), unname(predict(fit, d[1:3, ], type = "link") - terms[, label]))
  # priors and fixed values by its name
  typed <- galvi(z ~ ar1(t, by = spde(x, y, mesh = m)), d,
    prior = stats::setNames(list(list(range = pc_range(0.4, 0.5), correlation = fixed(0.5))), label))
  own <- typed$hyper[typed$hyper$term == label, ]
  expect_identical(own$estimate[own$parameter == "correlation"], 0.5)
  expect_identical(own$status[own$parameter == "correlation"], "fixed")
})

test_that("a fit is saved, drawn from, simulated, updated and plotted", {
  d <- product_data(60)
  fit <- galvi(count ~ v + ar1(t, by = spde(x, y, product_mesh)), d, poisson())
  file <- tempfile()
  saveRDS(fit, file)
  again <- readRDS(file)
  new <- transform(product_data(5, seed = 3), t = c(1, 4, 7, 9, 0))
  expect_equal(predict(again, new, se.fit = TRUE), predict(fit, new, se.fit = TRUE))
  draws <- posterior_linpred.galvi(fit, newdata = new, ndraws = 4000, seed = 1)
  se <- predict(fit, new, type = "link", se.fit = TRUE)
  expect_lt(max(abs(apply(draws, 2, mean) - se$fit) / se$se.fit), 0.1)
  expect_lt(max(abs(apply(draws, 2, sd) / se$se.fit - 1)), 0.1)
  expect_identical(dim(simulate(fit, 3, seed = 1)), c(60L, 3L))
  effects <- ranef(fit)[["ar1(t, by = spde(x, y))"]]
  expect_identical(nrow(effects), 6L * nrow(product_mesh$nodes))
  expect_identical(row.names(effects)[1:2], c("1:1", "1:2"))
  expect_output(print(fit), "correlation")
  expect_true(is.finite(loo.galvi(fit)$estimates["elpd_loo", 1]))
})

test_that("there are panels for steps and places, maps, and curves of groups", {
  d <- product_data(60)
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit(grDevices::dev.off())
  fit <- galvi(count ~ ar1(t, by = spde(x, y, product_mesh)), d, poisson())
  expect_true(all(is.finite(plot(fit, terms = "x", n = 5)[[1]]$fit)))
  panels <- plot(fit, terms = "ar1(t, by = spde(x, y))", n = 9, max_inputs = 2)
  expect_identical(names(panels)[c(1, 3)], paste0("ar1(t, by = spde(x, y)), t = ", c(1, 6)))
  expect_length(panels, 4)
  groups <- plot(galvi(count ~ ar1(t, by = iid(g)), d, poisson()), terms = "ar1(t, by = iid(g))")
  expect_identical(levels(groups[[1]]$series), letters[1:4])
  squares <- lapply(stats::setNames(1:4, letters[1:4]), function(i) cbind(i + c(0, 1, 1, 0), c(0, 0, 1, 1)))
  regions <- galvi(count ~ ar1(t, by = gmrf(g, ring)), d, poisson())
  maps <- plot(regions, terms = "ar1(t, by = gmrf(g))", map = squares, max_inputs = 3)
  expect_length(maps, 3)
  expect_identical(maps[[1]]$g, letters[1:4])
  expect_equal(maps[[1]]$fit, ranef(regions)[[1]][1:4, "mean"])
})

test_that("effects of a constrained field sum to zero at every step, also in a forecast", {
  d <- product_data(40)
  fit <- galvi(count ~ ar1(t, by = gmrf(g, ring)), d, poisson())
  effects <- ranef(fit)[[1]]
  expect_lt(max(abs(rowsum(effects$mean, rep(1:6, each = 4)))), 1e-8)
  new <- expand.grid(g = letters[1:4], t = c(3, 8))
  terms <- predict(fit, new, type = "terms")
  expect_lt(max(abs(rowsum(terms[, 1], new$t))), 1e-8)
})

test_that("what cannot be a product is an error that says what to write", {
  d <- product_data()
  fails <- function(formula, message, class = "galvi_error_formula") {
    expect_error(galvi(formula, d), message, class = class)
  }
  fails(z ~ ar1(t, by = gp(x, y)), "gp\\(\\) has no nodes")
  fails(z ~ ar1(t, by = rr(g, v)), "has no nodes")
  fails(z ~ ar1(t, by = ar1(g)), "cannot be inside")
  fails(z ~ ar1(t, by = rw1(t)), "cannot be inside")
  fails(z ~ ar1(t, by = (v | g)), "cannot be in `by`")
  fails(z ~ gp(t, by = spde(x, y)), "in gp\\(\\) `by` is a number or a factor")
  fails(z ~ gmrf(g, ring, by = iid(t)), "in gmrf\\(\\) `by`")
  fails(z ~ rw2(t, by = spde(x, y)), "neither the level nor the slope")
  fails(z ~ ar1(t, by = spde(x)), "needs `y`")
  fails(z ~ ar1(t, by = spde(x, y), by_hyper = "each"), "`by_hyper`", "galvi_error_argument")
  fails(z ~ ar1(t, variance = 2, by = spde(x, y)), "the variance is that of spde", "galvi_error_argument")
  fails(z ~ rw1(t, cyclic = TRUE, by = spde(x, y)), "`cyclic`", "galvi_error_argument")
  fails(z ~ ar1(t, by = gmrf(g, ring, constrain = FALSE)), "constrain = TRUE", "galvi_error_argument")
  fails(z ~ ar1(v, by = spde(x, y)), "whole numbers", "galvi_error_data")
  fit <- galvi(z ~ ar1(t, by = spde(x, y, product_mesh)), d)
  expect_error(predict(fit, data.frame(t = 1, x = 50, y = 50)), "outside the mesh", class = "galvi_error_newdata")
  expect_error(predict(fit, data.frame(t = 0.5, x = 0.5, y = 0.5)), "whole numbers", class = "galvi_error_newdata")
  steps <- galvi(z ~ ar1(factor(t), by = iid(g)), d)
  expect_error(predict(steps, data.frame(t = 9, g = "a")), class = "galvi_error_newdata")
  many <- data.frame(t = c(1, 9e5), g = 1:20, z = rnorm(20))
  expect_error(galvi(z ~ ar1(t, by = iid(g)), many), "too many", class = "galvi_error_size")
})

test_that("the core refuses a product whose factors do not fit", {
  found <- field_of(z ~ ar1(t, by = iid(g)), product_data())
  spoil <- function(change) {
    model <- prepare_model(z ~ ar1(t, by = iid(g)), product_data())$model
    at <- which(vapply(terms_of(model), `[[`, "", "type") == "field")
    model$predictors[[1]]$terms[[at]]$field <- change(model$predictors[[1]]$terms[[at]]$field)
    bound_at(model, model$hyper$value)
  }
  expect_error(spoil(function(f) replace(f, "factors", list(f$factors[1]))), "two factors")
  expect_error(spoil(function(f) c(f, list(order = 1:3))), "number of them")
  expect_error(spoil(function(f) c(f, list(order = rep(1L, 24)))), "permutation")
  intrinsic <- field_term("rw1", field_parts("rw1", n = 6), list(variance = 1L), 1:6)$field
  expect_error(spoil(function(f) replace(f, "factors", list(list(intrinsic, f$factors[[2]])))), "proper outer field")
  expect_equal(field_nodes(found$term$field), 24)
})

# Structures of the covariance of a group's effects: cs(0 + f | g) and others, against nlme, glmmTMB and algebra.

flat <- list(intercept = normal(0, Inf), default = normal(0, Inf))
closely <- galvi_control(threads = 1, hyper_tol = 1e-8, uncertainty = "factorised")
no_noise <- function() galvi_family("gaussian", variance = fixed(0))

orthodont <- function() {
  d <- as.data.frame(nlme::Orthodont)
  transform(d, v = factor(age), Subject = factor(as.character(Subject)))
}

# a fit against REML: estimates in se, se relative, the restricted log likelihood
expect_reml <- function(fit, estimate, se, value, info) {
  V <- vcov(fit)
  expect_lt(max(abs(coef(fit) - estimate) / se), 1e-5, label = paste(info, "estimates"))
  expect_lt(max(abs(sqrt(diag(V)) / se - 1)), 1e-5, label = paste(info, "standard errors"))
  expect_close(fit$elbo, value, 1e-6)
}

some_visits <- function(n = 20, seed = 1) {
  set.seed(seed)
  d <- expand.grid(v = factor(letters[1:4]), id = factor(seq_len(n)))
  L <- t(chol(0.5^abs(outer(1:4, 1:4, "-"))))
  d$y <- as.vector(L %*% matrix(rnorm(4 * n), 4)) + rnorm(4 * n) / 2
  d$x <- rnorm(4 * n)
  d$f <- factor(ifelse(as.integer(d$id) %% 2, "odd", "even"))
  d$k <- rpois(4 * n, exp(d$y / 3))
  d[-c(3, 30), ]
}

# ---- against REML of gls(), without residual noise ----

test_that("structures of Orthodont are gls() with corSymm, corCompSymm, corAR1, corARMA(p = 3)", {
  d <- orthodont()
  gold <- list(
    "us(0 + v | Subject)" = list(
      c(15.8422892706, 0.82680329811, 1.5830792345, -0.35043859747),
      c(0.97230802706, 0.082217791865, 1.52331392, 0.12881052437), -212.2734000972,
      c(2.3292129678, 2.0470972355, 2.5026337284, 2.2329742282),
      c(0.56819489771, 0.65894888552, 0.58060334011, 0.5220358504, 0.72491742716, 0.73961824453)
    ),
    "cs(0 + v | Subject)" = list(
      c(16.1308725154, 0.79431302701, 1.2737609758, -0.3155597798),
      c(0.97855664862, 0.07701089811, 1.5331036285, 0.12065288963), -215.9861880713,
      c(2.3867771931, 2.0582715462, 2.4678186637, 2.1967296804), 0.63528941575
    ),
    "ar1(0 + v | Subject)" = list(
      c(16.5990770498, 0.76926297263, 0.72147587984, -0.28544340933),
      c(1.3591994442, 0.11695085486, 2.1294562791, 0.18322677608), -222.2937242878, 2.2835071489, 0.62448883295
    ),
    "toep(v + 0 | Subject, hom = TRUE)" = list(
      c(16.2703793957, 0.79729375864, 1.1385193893, -0.32140209442),
      c(1.063522116, 0.085989915894, 1.6662189331, 0.13472030695), -214.6957694444, 2.2983763504,
      c(0.63717985711, 0.69669653708, 0.47865809916)
    ),
    "toep(0 + v | Subject)" = list(
      c(15.9756922279, 0.81566680557, 1.4685532538, -0.34103940665),
      c(1.0520142727, 0.08463301478, 1.6481896076, 0.13259445146), -213.7060979758,
      c(2.4319474885, 2.0792482618, 2.4960586031, 2.1630357772), c(0.64051577638, 0.70179195814, 0.48332813832)
    )
  )
  for (term in names(gold)) {
    formula <- stats::as.formula(paste("distance ~ age * Sex +", term))
    fit <- galvi(formula, d, no_noise(), prior = flat, control = closely)
    own <- gold[[term]]
    expect_true(fit$convergence$converged, info = term)
    expect_reml(fit, own[[1]], own[[2]], own[[3]], term)
    hyper <- fit$hyper[grepl("|", fit$hyper$name, fixed = TRUE), ]
    expect_close(hyper$estimate, c(own[[4]], own[[5]]), tol$optimum)
  }
  # names are those of the bar
  expect_identical(galvi_model(galvi_design(distance ~ cs(0 + v | Subject), d))$hyper$name,
    c(paste0("(0 + v | Subject).sd.v", c(8, 10, 12, 14)), "(0 + v | Subject).cor", "gaussian.variance"))
})

test_that("ar1 and ou of BodyWeight are gls() with corAR1 and corExp", {
  d <- as.data.frame(nlme::BodyWeight)
  d <- transform(d, v = factor(Time), Rat = factor(as.character(Rat)))
  ar1 <- galvi(weight ~ Time * Diet + ar1(0 + v | Rat), d, no_noise(), prior = flat, control = closely)
  expect_reml(ar1, c(250.1106874262, 0.37351189622, 203.4656132074, 260.911508356, 0.62383557934, 0.18780394334),
    c(13.327525497, 0.090963792022, 23.0839513, 23.0839513, 0.15755390943, 0.15755390943), -568.1238770807, "ar1")
  expect_close(ar1$hyper$estimate[grep("|", ar1$hyper$name, fixed = TRUE)], c(37.7041267507, 0.98957460221),
    tol$optimum)
  ou <- galvi(weight ~ Time * Diet + ou(Time | Rat), d, no_noise(), prior = flat, control = closely)
  expect_reml(ou, c(250.3364321106, 0.36705013582, 202.2653798646, 257.4918656906, 0.6606475382, 0.29170690479),
    c(13.3425225972, 0.10426283562, 23.1099270395, 23.1099270395, 0.18058852864, 0.18058852864), -576.0440241766, "ou")
  own <- ou$hyper$estimate[match(c("lengthscale", "variance"), sub(".*[.]", "", ou$hyper$name))]
  expect_close(c(own[1], sqrt(own[2])), c(485.7120749345, 37.6660286608), tol$optimum)
})

test_that("Ovary is lme() with independent effects and corAR1", {
  d <- as.data.frame(nlme::Ovary)
  d$Mare <- factor(as.character(d$Mare))
  d$s <- sin(2 * pi * d$Time)
  d$c <- cos(2 * pi * d$Time)
  d$k <- factor(stats::ave(seq_len(nrow(d)), d$Mare, FUN = seq_along))
  peer <- nlme::lme(follicles ~ s + c, d, random = list(Mare = nlme::pdDiag(~s)),
    correlation = nlme::corAR1(form = ~ 1 | Mare), control = list(msTol = 1e-12, tolerance = 1e-12, msMaxIter = 500))
  fit <- galvi(follicles ~ s + c + (1 + s || Mare) + ar1(0 + k | Mare), d, no_noise(), prior = flat, control = closely)
  expect_close(fit$elbo, as.numeric(stats::logLik(peer)), 1e-6)
  expect_lt(max(abs(coef(fit) - nlme::fixef(peer)) / sqrt(diag(stats::vcov(peer)))), 1e-5)
})

# ---- algebra ----

test_that("a structure's prior covariance is D R D within groups", {
  d <- some_visits()
  sds <- c(1, 2, 0.5, 1.5)
  lag <- abs(outer(1:4, 1:4, "-"))
  toep <- c(0.5, 0.2, -0.1)
  cases <- list(
    "diag(0 + v | id)" = list(list(sd = sds), diag(4)), "homdiag(0 + v | id)" = list(list(sd = 2), diag(4)),
    "cs(0 + v | id)" = list(list(sd = sds, cor = -0.2), ifelse(lag == 0, 1, -0.2)),
    "homcs(0 + v | id)" = list(list(sd = 2, cor = 0.4), ifelse(lag == 0, 1, 0.4)),
    "ar1(0 + v | id)" = list(list(sd = 2, cor = -0.6), (-0.6)^lag),
    "hetar1(0 + v | id)" = list(list(sd = sds, cor = 0.7), 0.7^lag),
    "toep(0 + v | id)" = list(list(sd = sds, cor = toep), matrix(c(1, toep)[lag + 1], 4)),
    "homtoep(0 + v | id)" = list(list(sd = 2, cor = toep), matrix(c(1, toep)[lag + 1], 4))
  )
  for (term in names(cases)) {
    held <- cases[[term]][[1]]
    S <- outer(rep_len(held$sd, 4), rep_len(held$sd, 4)) * cases[[term]][[2]]
    V <- S[d$v, d$v] * outer(d$id, d$id, "==") + diag(0.5, nrow(d))
    formula <- stats::as.formula(paste("y ~ 0 +", term))
    fit <- galvi(formula, d, galvi_family("gaussian", variance = fixed(0.5)), prior = held)
    log_density <- -0.5 * (nrow(d) * log(2 * pi) + determinant(V)$modulus + sum(d$y * solve(V, d$y)))
    expect_close(fit$elbo, as.numeric(log_density), tol$elbo)
    expect_close(unclass(VarCorr(fit)$id)[1:4, 1:4], S)
    # without noise the variances are the structure's alone
    silent <- galvi(formula, d, no_noise(), prior = held)
    V <- V - diag(0.5, nrow(d))
    log_density <- -0.5 * (nrow(d) * log(2 * pi) + determinant(V)$modulus + sum(d$y * solve(V, d$y)))
    expect_close(silent$elbo, as.numeric(log_density), tol$elbo)
  }
})

test_that("gradients are those of the bound", {
  d <- some_visits()
  for (term in c("cs(0 + v | id)", "homcs(1 + x | id)", "ar1(0 + v | id)", "hetar1(0 + v | id)", "toep(0 + v | id)",
    "homtoep(0 + v | id)", "(0 + v | id)", "homdiag(0 + v | id)", "(1 + x | gr(id, by = f))")) {
    for (side in c("k", "silent")) {
      if (side == "silent" && !grepl("0 + v", term, fixed = TRUE)) next
      formula <- stats::as.formula(paste(if (side == "k") "k" else "y", "~ x +", term))
      family <- if (side == "k") poisson() else no_noise()
      model <- galvi_model(galvi_design(formula, d, family))
      fit <- fit_model(model, "auto", "optimise", quiet_control(hyper_iterations = 400, hyper_tol = 1e-8), NULL)
      at <- intersect(which(!fit$at_bound), grep("|", model$hyper$name, fixed = TRUE))
      relative <- model$hyper$transform[at] == "log"
      # away from the optimum, so that gradients are not zero
      h <- fit$hyper
      h[at] <- ifelse(relative, 1.2 * h[at], 0.8 * h[at])
      model$hyper$learned[] <- FALSE
      found <- bound_at(model, h)$gradient[at]
      wanted <- vapply(at, function(j) {
        step <- 1e-3 * h[j]
        move <- function(s) bound_at(model, replace(h, j, h[j] + s * step))$elbo
        (8 * (move(1) - move(-1)) - move(2) + move(-2)) / (12 * step)
      }, 0)
      expect_lt(max(abs(found - wanted) / pmax(1, abs(wanted))), 1e-4, label = paste(term, side))
    }
  }
})

test_that("partial autocorrelations go to autocorrelations and back", {
  p <- rbind(c(0.5, -0.3, 0.8), c(-0.9, 0.1, 0.2))
  r <- autocorrelations(p)
  expect_close(partial_autocorrelations(r), p)
  expect_close(apply(r, 1, function(r) det(toeplitz(c(1, r)))), (1 - p[, 1]^2)^3 * (1 - p[, 2]^2)^2 * (1 - p[, 3]^2))
  expect_true(anyNA(partial_autocorrelations(rbind(c(0.9, -0.9, 0.1)))))
  expect_close(effect_structures$cs$shown(-1, 4), -1 / 3)
})

# ---- what is asked of a fit ----

test_that("VarCorr(), print, tidy and hypothesis() have the parameters of structures", {
  d <- some_visits()
  fit <- galvi(y ~ x + ar1(0 + v | id), d)
  v <- VarCorr(fit)
  expect_output(print(v), "id +v +[0-9.]+ +0[.][0-9]+ \\(ar1\\)")
  table <- as.data.frame(v)
  expect_identical(table$var1, c("v", "ar1", NA))
  expect_identical(table$var2, c(NA, "cor", NA))
  at <- match(c("(0 + v | id).sd", "(0 + v | id).cor"), fit$hyper$name)
  expect_close(table$sdcor[1:2], fit$hyper$estimate[at])
  expect_close(table$lwr[1:2], fit$hyper$lwr[at])
  toep <- galvi(y ~ x + toep(0 + v | id), d)
  expect_output(print(VarCorr(toep)), "[(]toep[)]")
  expect_identical(sum(grepl("[.]cor[.]", toep$hyper$name)), 3L)
  # intervals of correlations are of what is printed
  own <- toep$hyper[grepl("cor", toep$hyper$name), ]
  expect_true(all(own$lwr < own$estimate & own$estimate < own$upr))
  expect_true(all(is.finite(hypothesis(fit, "cor_id > 0", class = NULL)$hypothesis$Estimate)))
  skip_if_not_installed("generics")
  terms <- generics::tidy(fit, effects = "ran_pars")$term
  expect_identical(terms, c("sd__v", "cor__ar1", "sd__Observation"))
})

test_that("effects, new groups, averages and draws follow the structure", {
  d <- some_visits()
  fit <- galvi(y ~ x + cs(0 + v | id), d, control = galvi_control(uncertainty = "factorised"))
  b <- ranef(fit, condVar = TRUE)$id
  expect_identical(names(b), paste0("v", letters[1:4]))
  expect_close(fitted(fit) - fitted(fit, re_formula = NA), as.matrix(b)[cbind(match(d$id, rownames(b)), d$v)],
    tol$solve)
  expect_close(predict(fit, re_formula = ~ cs(0 + v | id)), fitted(fit), tol$solve)
  new <- data.frame(v = factor(letters[1:4]), x = 0, id = "new")
  V <- predict(fit, new, type = "link", covariance = TRUE)$covariance
  S <- unclass(VarCorr(fit)$id)[1:4, 1:4]
  expect_close(V - vcov(fit)["(Intercept)", "(Intercept)"], S, tol$solve)
  # of a joint posterior too, whose new groups have the correlations of each state
  joint <- galvi(y ~ x + toep(0 + v | id, hom = TRUE), d)
  V <- predict(joint, new, type = "link", covariance = TRUE)$covariance
  S <- Reduce(`+`, Map(`*`, state_weights(joint), by_state(joint, function(view) unclass(VarCorr(view)$id)[1:4, 1:4])))
  fixed <- predict(joint, new, type = "link", covariance = TRUE, re_formula = NA)$covariance
  expect_close(V, S + fixed, tol$solve)
  expect_true(all(is.finite(predict(joint, new, re_formula = "integrate", interval = "credible"))))
  counts <- galvi(k ~ x + homcs(0 + v | id), d, poisson())
  expect_true(all(is.finite(as.matrix(simulate(counts, 3, seed = 1)))))
  expect_true(all(is.finite(loo::loo(counts)$pointwise[, 1])))
  expect_close(predict(unserialize(serialize(counts, NULL)), d), predict(counts, d))
})

test_that("gr(by =) has covariances of its own for each level", {
  d <- some_visits()
  fit <- galvi(y ~ x + (1 | gr(id, by = f)), d, prior = c(flat, list(sd = c(0.7, 1.2))),
    galvi_family("gaussian", variance = fixed(0.5)))
  V <- (c(even = 0.7, odd = 1.2)^2)[as.character(d$f)] * outer(d$id, d$id, "==") + diag(0.5, nrow(d))
  X <- cbind(1, d$x)
  expect_close(unname(coef(fit)), drop(solve(crossprod(X, solve(V, X)), crossprod(X, solve(V, d$y)))), tol$solve)
  slopes <- galvi(y ~ x + (1 + x | gr(id, by = f)), d)
  expect_true(all(c("(1 + x | gr(id, by = f)).sd.x:feven", "(1 + x | gr(id, by = f)).cor.(Intercept).x:fodd") %in%
    slopes$hyper$name))
  expect_true(all(is.finite(predict(slopes, data.frame(x = 1, id = "new", f = "odd"), interval = "prediction"))))
  expect_error(predict(slopes, data.frame(x = 1, id = "new", f = "none")), "has the level \"none\"",
    class = "galvi_error_newdata")
})

test_that("priors are given by name, and wrong structures are refused", {
  d <- some_visits()
  held <- galvi_model(galvi_design(y ~ ar1(0 + v | id), d),
    prior = list("ar1(0 + v | id)" = list(sd = pc(2), cor = fixed(0.3))))
  own <- held$hyper$name == "(0 + v | id).cor"
  expect_identical(held$hyper$value[own], 0.3)
  expect_false(held$hyper$learned[own])
  # lkj() is for unstructured correlations
  both <- galvi_model(galvi_design(y ~ cs(0 + v | id), d), prior = list(cor = lkj(2)))
  expect_null(both$hyper$prior[[match("(0 + v | id).cor", both$hyper$name)]])
  refused <- function(formula, message, what = "formula", ...) {
    expect_error(galvi(formula, d, ...), message, class = paste0("galvi_error_", what))
  }
  refused(y ~ cs(0 + v | id), "prior of unstructured", "prior", prior = list("(0 + v | id)" = list(cor = lkj(2))))
  refused(y ~ cs(0 + v | id), "do not make a correlation", "prior", prior = list(cor = fixed(-0.5)))
  refused(y ~ toep(0 + v | id), "do not make a correlation", "prior", prior = list(cor = fixed(c(0.9, -0.9, 0.1))))
  refused(y ~ ar1(x + 0 | id), "write factor\\(x\\)", "data")
  refused(y ~ ar1(1 + v | id), "levels of one factor in their order")
  refused(y ~ toep(v | id), "levels of one factor in their order")
  refused(y ~ us(0 + v | id, hom = TRUE), "hom", "argument")
  refused(y ~ cs(0 + v | id, hom = 2), "hom", "argument")
  refused(y ~ cs(0 + v || id), "write one bar")
  refused(y ~ ou(factor(x) | id), "one numeric time")
  refused(y ~ ou(v | id), "`v` must be numbers in `ou\\(v \\| id\\)`", "data")
  refused(y ~ cs(0 + v | id) + (0 + v | id), "the same effects")
  refused(y ~ log(cs(0 + v | id)), "cannot be inside")
  # noise-free rows need an effect each
  refused(y ~ (1 | id), "noise-free", "numeric", family = no_noise())
})

test_that("steps of an ordered factor that were not observed are steps", {
  d <- some_visits()
  d <- d[d$v != "b", ]
  fit <- galvi(y ~ 0 + ar1(0 + v | id), d, galvi_family("gaussian", variance = fixed(0.5)),
    prior = list(sd = 1, cor = 0.6))
  S <- 0.6^abs(outer(1:4, 1:4, "-"))
  V <- S[d$v, d$v] * outer(d$id, d$id, "==") + diag(0.5, nrow(d))
  expect_close(fit$elbo, as.numeric(-0.5 * (nrow(d) * log(2 * pi) + determinant(V)$modulus +
    sum(d$y * solve(V, d$y)))), tol$elbo)
})

test_that("noise that is fixed at zero is not a residual standard deviation", {
  d <- transform(sleepstudy, day = factor(Days))
  fit <- galvi(Reaction ~ Days + ar1(0 + day | Subject), d, no_noise())
  expect_false("Residual" %in% as.data.frame(VarCorr(fit))$grp)
  expect_no_match(capture.output(print(fit)), "Residual|gaussian.variance")
})

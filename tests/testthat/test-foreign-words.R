# Words of other packages: the error shows the user's call as it is written here, and that call runs.

stranger <- function() {
  set.seed(2)
  n <- 60L
  d <- data.frame(
    x = rnorm(n), z = runif(n), id = factor(rep(1:12, 5)), g = factor(rep(1:12, 5)), f = factor(rep(c("a", "b"), 30)),
    t = rep(1:5, each = 12), n = 10, time = rexp(n) + 0.1, status = rbinom(n, 1, 0.8), w = runif(n), s = runif(n,
      0.5, 1)
  )
  d$y <- rbinom(n, 10, 0.4)
  d$b <- rbinom(n, 1, 0.5)
  d
}

# What the formulas name besides columns.
stranger_objects <- function(d) {
  A <- diag(12) + 0.2
  dimnames(A) <- list(levels(d$g), levels(d$g))
  W <- 1 * (abs(outer(1:12, 1:12, "-")) == 1)
  dimnames(W) <- dimnames(A)
  list(d = d, A = A, W = W, easting = d$x, northing = d$z)
}

# The call that a message ends with.
advised_call <- function(said) str2lang(sub(".*(Write|In full:) (galvi\\(.*)[.]$", "\\2", said))

expect_runs <- function(call, env, info) {
  call$hyper <- "fixed"
  call[[1L]] <- galvi
  expect_error(suppressWarnings(suppressMessages(eval(call, env))), NA, info = info)
}

test_that("terms of other packages are shown as they are written here, and run", {
  env <- list2env(stranger_objects(stranger()), parent = globalenv())
  on_right <- alist(
    mgcv::s(x), lo(x), pb(x), ps(x), bbs(x), bols(x), brandom(g), frailty(id), frailty.gaussian(id), frailty.gamma(id), frailty.t(id),
    survival::frailty(id), cluster(id), strata(f), pspline(x, df = 4), tt(x), ridge(x, z, theta = 1), Error(g),
    f(g), f(g, model = "iid"), f(g, x, model = "iid"), f(t, model = "rw1", cyclic = TRUE), f(t, model = "rw2"),
    f(t, model = "ar1", replicate = g), f(g, model = "besag", graph = W, scale.model = TRUE), f(g, model = "bym2",
      graph = W),
    f(t, model = "seasonal", season.length = 3), seasonal(3), besag(g, W), bym(g, W), bym2(g, W), icar(g, W),
    f(g, model = "bym", graph = W), car(W, gr = g), car(W, gr = g, type = "icar"), car(W, gr = g, type = "bym2"),
    ar(time = t, gr = g), ar(t), arma(time = t, gr = g), ma(t), cosy(gr = g), unstr(t, g), unstr(time = t, gr = g),
      mo(t), me(x, 0.1), sar(W), fcor(A),
    mi(x), gr(g), mm(g, id), mrf(g), re(random = ~ x | g), random(~ 1 | g), random(g), cs(x),
    glmmTMB::us(1 + x | g), glmmTMB::ar1(factor(t) + 0 | g),
    rr(f + 0 | g, d = 1), exp(t + 0 | g), gau(t + 0 | g), mat(t + 0 | g), Matern(1 | x + z),
    adjacency(1 | g), AR1(1 | t), corrMatrix(1 | g), brms::gp(x), (1 | p | g), (x | p | g),
    gp(x, k = 20, c = 5 / 4), gp(x, period = 3), gp(x, by = "f"), gp(x, kernel = rbf()), gp(x, cov = "matern15"),
    gp(x, kernel = RBF(length_scale = 2) + lin()), gp(x, lengthscale = 2, sd = 3), gp(x, kernel = matern(nu = 2.5)),
    f(g, model = "generic0", Cmatrix = solve(A)), f(g, x, model = "generic0", Cmatrix = solve(A)),
    f(t, model = "ar", order = 2), f(t, x, model = "rw1"), f(t, x, model = "rw2", replicate = g),
    f(g, x, model = "besag", graph = W), f(t, x, model = "seasonal", season.length = 3), f(x, z, model = "linear"),
    f(t, model = "rw1", hyper = list(prec = list(prior = "pc.prec", param = c(1, 0.01)))), f(t, model = "wild"),
    f(s, model = spde), f(t, model = "ar1", group = f),
    f(g, model = "besag", graph = W, group = t, control.group = list(model = "ar1")),
    ar(time = t, gr = g, p = 2), mo(t) * x, x * mo(t), mo(t):x, mo(t) * g, mo(t) * log(w),
    gp(x, kernel = matern(5 / 2)), gp(x, kernel = RBF(2)), gp(x, nu = 5 / 2),
    gp(x, kernel = "exp_quad"), gp(x, z, ard = TRUE), gp(x, z, smoothness = 1.5)
  )
  # every entry of the table has an example
  expect_length(setdiff(names(foreign_terms), vapply(on_right, any_head, "")), 0L)
  for (term in on_right) {
    # of a product its foreign part
    shown <- deparse1(if (head_name(term) %in% formula_operators) Find(is.call, as.list(term)[-1L]) else term)
    formula <- stats::as.formula(call("~", quote(y), call("+", quote(z), term)), env)
    said <- message_of_error(eval(bquote(galvi(.(formula), data = d)), env))
    expect_match(said, shown, fixed = TRUE, info = shown)
    expect_match(said, "In full: galvi(y ~ z +", fixed = TRUE, info = shown)
    expect_runs(advised_call(said), env, said)
    # nothing of the formula is lost but what is foreign
    expect_null(check_foreign_formula(advised_call(said)[[2L]]))
  }
})

test_that("a lengthscale of each input is asked for outside the kernel by others", {
  own <- function(expr) deparse1(own_gp(expr))
  expect_identical(own(quote(gp(x, z, ard = TRUE))), "gp(x, z, kernel = se(ard = TRUE))")
  expect_identical(own(quote(gp(x, z, iso = FALSE, k = 9))), "gp(x, z, inducing = 9, kernel = se(ard = TRUE))")
  expect_identical(own(quote(gp(x, z, iso = TRUE))), "gp(x, z)")
  expect_identical(own(quote(gp(x, z, kernel = rbf(), ard = TRUE))), "gp(x, z, kernel = se(ard = TRUE))")
  expect_identical(own(quote(gp(x, z, cov = "matern15", iso = FALSE))), "gp(x, z, kernel = matern32(ard = TRUE))")
})

test_that("advice for a term keeps what it means, and names what it leaves out", {
  d <- stranger()
  env <- list2env(stranger_objects(d), parent = globalenv())
  advice <- function(term) {
    said <- message_of_error(eval(bquote(galvi(x ~ .(term), d)), env))
    list(said = said, term = advised_call(said)[[2L]][[3L]])
  }
  means <- function(theirs, ours, says = "") {
    own <- advice(substitute(theirs))
    expect_identical(own$term, substitute(ours))
    expect_match(own$said, says, fixed = TRUE)
  }
  # 5 / 2 is no variance
  means(gp(x, z, kernel = matern(5 / 2)), gp(x, z, kernel = matern52()))
  means(gp(x, kernel = matern(3 / 2)), gp(x, kernel = matern32()))
  means(gp(x, kernel = Matern(0.5)), gp(x, kernel = matern12()))
  means(gp(x, nu = Inf), gp(x, kernel = se()))
  means(gp(x, kernel = matern(nu = Inf)), gp(x, kernel = se()))
  means(gp(x, kernel = RBF(2)), gp(x, kernel = se()), "Left out is `2`")
  means(gp(x, kernel = per(12)), gp(x, kernel = periodic(period = 12)))
  means(f(g, model = "generic0", Cmatrix = solve(A)), (1 | gr(g, precision = solve(A))), "row names of the matrix")
  means(f(t, model = "ar", order = 2), ar2(t))
  means(f(t, model = "ar", order = 3), ar2(t), "The highest order here is two.")
  means(ar(time = t, gr = g, p = 2), homtoep(0 + factor(t) | g), "those of all stationary processes")
  means(arma(time = t, gr = g), ar1(0 + factor(t) | g), "is an ARMA(1, 1) process")
  means(arma(time = w), ar1(step), "a process with a moving average")
  means(ar(time = w, p = 3), ar2(step), "The highest order here is two.")
  means(f(t, x, model = "rw1"), rw1(t, by = x))
  means(f(t, x, model = "rw1", replicate = g), rw1(t, by = factor(g)), "`x`, which multiplies the effects")
  means(f(t, x, model = "linear"), t:x)
  means(f(g, model = "besag", graph = W, hyper = list(prec = list(prior = "pc.prec", param = c(1, 0.01)))),
    gmrf(g, graph = W), "prior = list(\"gmrf(g)\" = list(sd = pc(1, 0.01)))")
  means(f(g, hyper = list(prec = list(initial = log(4), fixed = TRUE))), iid(g), "list(sd = fixed(0.5))")
  means(f(t, model = "wild"), gp(t), "galvi has no model \"wild\"")
  means(f(s, model = spde), spde(easting, northing), "`model = spde` is an object")
  means(f(s, model = spde, group = t, control.group = list(model = "ar1")), ar1(t, by = spde(easting, northing)))
  means(f(g, model = "besag", graph = W, group = t, control.group = list(model = "rw1")), rw1(t, by = gmrf(g, graph = W)))
  means(f(t, model = "ar1", group = g, control.group = list(model = "iid")), ar1(t, by = iid(g)))
  means(f(t, model = "ar1", group = g), ar1(t), "`group = g` is left out")
  said <- message_of_error(galvi(x ~ f(g) + f(id, copy = "g"), d))
  expect_match(said, "(1 | mm(a, b))", fixed = TRUE)
  expect_no_match(said, "In full")
  means(mo(t) * z, rw1(t) + rw1(t, by = z) + z)
  means(mo(t):z, rw1(t, by = z))
  means(f(x, model = "linear", hyper = list(prec = list(initial = 1))), x, "prior = list(\"x\" = normal(0, 1))")
  means(f(t, x, model = "linear", hyper = list(prec = list(initial = 1))), t:x, "prior = list(\"t:x\" = normal(0, 1))")
  # what `by` cannot say has no formula
  for (term in alist(
    mo(t) * mo(id), mo(t) * x * z, x * (mo(t) + z), (mo(t) + z)^2, x / mo(t), mo(t) %in% g, mo(t) * 1,
    mo(t) * poly(x, 2), z - mo(t) * x, z - mo(t), frailty(g) * x
  )) {
    said <- message_of_error(eval(bquote(galvi(x ~ .(term), d)), env))
    expect_match(said, "Terms are added and have no products: a surface is te(a, b) or gp(a, b).", fixed = TRUE,
      info = deparse1(term))
    expect_no_match(said, "galvi(", fixed = TRUE)
  }
  # the intercept is left out of a sum
  means(mo(t) - 1, rw1(t) - 1)
  means((mo(t) + x), rw1(t) + x)
  # the prior that is named applies
  fit_advised <- function(term) {
    own <- advice(term)
    prior <- sub(".*as (prior = list[(].*[)])[.] In full.*", "\\1", own$said)
    formula <- call("~", quote(x), own$term)
    eval(as.call(c(quote(galvi), formula, quote(d), as.list(str2lang(sprintf("f(%s)", prior)))[-1L])), env)
  }
  fit <- fit_advised(quote(
    f(g, model = "besag", graph = W, hyper = list(prec = list(prior = "pc.prec", param = c(1, 0.01))))
  ))
  expect_identical(fit$prior[["gmrf(g).sd"]], pc(1, 0.01))
  fit <- fit_advised(quote(f(t, z, model = "linear", hyper = list(prec = list(initial = 1)))))
  expect_identical(fit$prior[["t:z"]], normal(0, 1))
})

test_that("processes of glmmTMB are told the numbers behind numFactor()", {
  d <- stranger()
  # as numFactor() names its levels
  d$at <- factor(sprintf("(%s)", d$t))
  d$place <- factor(sprintf("(%s,%s)", d$x, d$z))
  d$gone <- factor(sprintf("(%s,%s)", d$x + 1, d$z))
  d$one <- "a"
  env <- list2env(list(d = d), parent = globalenv())
  advised <- function(term) {
    said <- message_of_error(eval(bquote(galvi(b ~ .(term), d)), env))
    call <- advised_call(said)
    if (!grepl("stands? for", said)) expect_runs(call, env, said)
    structure(deparse1(call[[2L]][[3L]]), said = said)
  }
  expect_equal(advised(quote(exp(at + 0 | g))), "ou(t | g)", ignore_attr = TRUE)
  expect_equal(advised(quote(exp(glmmTMB::numFactor(t) + 0 | g))), "ou(t | g)", ignore_attr = TRUE)
  expect_equal(advised(quote(exp(0 + at | one))), "gp(t, center = FALSE, kernel = matern12())", ignore_attr = TRUE)
  expect_equal(advised(quote(mat(place + 0 | 1))), "gp(x, z, center = FALSE, kernel = matern32())",
    ignore_attr = TRUE)
  expect_equal(advised(quote(gau(place + 0 | f))), paste(
    "gp(x, z, by = factor(f), by_hyper = \"shared\", center = FALSE, kernel = se())"), ignore_attr = TRUE)
  unknown <- advised(quote(mat(gone + 0 | one)))
  expect_match(unknown, "gp(x1, z,", fixed = TRUE)
  expect_match(attr(unknown, "said"), "Here x1 stands for what numFactor() was made of", fixed = TRUE)
  expect_match(attr(advised(quote(exp(nowhere + 0 | g))), "said"), "Here .* stands? for what numFactor")
})

test_that("correlated residuals of brms keep their times and groups, and say what is not named", {
  env <- list2env(stranger_objects(stranger()), parent = globalenv())
  said <- function(term) message_of_error(eval(bquote(galvi(x ~ .(term), d)), env))
  expect_identical(advised_call(said(quote(unstr(t, g)))), quote(
    galvi(x ~ us(0 + factor(t) | g), data = d, family = galvi_family("gaussian", variance = fixed(0)))))
  expect_runs(advised_call(said(quote(unstr(t, g)))), env, "unstr")
  no_noise <- quote(galvi_family("gaussian", variance = fixed(0)))
  means <- function(term, ours, data = quote(d)) {
    advised <- advised_call(said(term))
    expect_identical(advised, bquote(galvi(x ~ .(ours), data = .(data), family = .(no_noise))))
    expect_runs(advised, env, deparse1(term))
  }
  # successive rows, whatever their times
  means(quote(ar(t, g)), quote(ar1(0 + factor(t) | g)))
  env$d$late <- env$d$t + (env$d$t > 3 & env$d$g %in% 1:4)
  means(quote(ar(late, g)), quote(ar1(0 + factor(step) | g)), quote(transform(d, step = ave(late, g, FUN = rank))))
  means(quote(ar(gr = g)), quote(ar1(0 + factor(step) | g)),
    quote(transform(d, step = ave(seq_along(x), g, FUN = seq_along))))
  means(quote(ar(w)), quote(gp(step, kernel = matern12(), center = FALSE)),
    quote(transform(d, step = rank(w, ties.method = "first"))))
  means(quote(ar(p = 1)), quote(gp(step, kernel = matern12(), center = FALSE)), quote(transform(d, step = seq_along(x))))
  # sigma^2 V and no other noise
  fixed_covariance <- advised_call(said(quote(fcor(A))))
  expect_identical(fixed_covariance[[2L]], quote(x ~ (1 | gr(g, cov = A))))
  expect_identical(fixed_covariance$family[[3L]][[2L]], signif(1e-6 * var(env$d$x), 1L))
  # the argument of brm() in older versions
  expect_identical(advised_call(message_of_error(galvi(x ~ z, env$d, autocor = ~ ar(t, g)))), bquote(
    galvi(x ~ z + ar1(0 + factor(t) | g), data = env$d, family = .(no_noise))))
  expect_match(said(quote(cosy())), "Here g is the grouping factor.", fixed = TRUE)
  # a family that is not gaussian is the user's
  kept <- message_of_error(eval(quote(galvi(x ~ unstr(t, g), d, family = student())), env))
  expect_match(kept, "family = student()", fixed = TRUE)
})

# brms::bf(), without brms
bf_like <- function(formula, ..., pforms = list(), pfix = list(), family = NULL) {
  attributes(formula) <- c(attributes(formula), list(...))
  structure(list(formula = formula, pforms = pforms, pfix = pfix, family = family), class = c("brmsformula", "bform"))
}

test_that("what a formula of brms has as an attribute is no less of the model", {
  d <- stranger()
  env <- list2env(c(stranger_objects(d), list(bf_like = bf_like)), parent = globalenv())
  advised <- function(formula) {
    call <- advised_call(message_of_error(eval(bquote(galvi(.(formula), data = d)), env)))
    expect_runs(call, env, deparse1(call))
    call
  }
  no_noise <- quote(galvi_family("gaussian", variance = fixed(0)))
  expect_identical(advised(quote(bf_like(x ~ z, autocor = ~ ar(t, g)))),
    bquote(galvi(x ~ z + ar1(0 + factor(t) | g), data = d, family = .(no_noise))))
  # cor_ar(~ t | g) is stored so
  expect_identical(advised(quote(bf_like(x ~ z, autocor = ~ arma(time = t, gr = g, p = 1, q = 0, cov = FALSE))))[[2L]],
    quote(x ~ z + ar1(0 + factor(t) | g)))
  expect_identical(advised(quote(bf_like(y ~ z, autocor = ~ car(W, gr = g), family = poisson()))),
    quote(galvi(y ~ z + gmrf(g, graph = W, model = "proper"), data = d, family = galvi_family("poisson"))))
  expect_identical(advised(quote(bf_like(x ~ mo(t), autocor = ~ car(W, gr = g), pforms = list(sigma = sigma ~ z))))[[2L]],
    quote(list(x ~ rw1(t) + gmrf(g, graph = W, model = "proper"), sigma ~ z)))
  # contrasts where there is no intercept
  contrasts <- advised(quote(bf_like(x ~ 0 + z + g, cmc = FALSE)))
  expect_identical(contrasts, quote(galvi(x ~ 0 + z + model.matrix(~g)[, -1], data = d)))
  expect_length(coef(eval(contrasts, env)), 12L)
  expect_identical(advised(quote(bf_like(x ~ 0 + factor(t), cmc = FALSE)))[[2L]], quote(x ~ 0 + model.matrix(~factor(t))[, -1]))
  kept <- list(
    bf_like(x ~ 0 + z, cmc = FALSE), bf_like(x ~ z + g, cmc = FALSE), bf_like(x ~ 0 + g),
    bf_like(x ~ 0 + z + (1 | g), cmc = FALSE), bf_like(x ~ 0 + z:g, cmc = FALSE)
  )
  for (plain in kept) expect_s3_class(galvi(plain, d, hyper = "fixed"), "galvi")
  # a family that comes with the formula
  for (formula in list(quote(bf_like(x ~ z, autocor = ~ ar(t, g), family = gaussian())),
                       quote(bf_like(x ~ z + ar(t, g), family = gaussian())))) {
    expect_identical(advised(formula)$family, no_noise)
  }
})

test_that("covariates of members of mm() are not slopes of each member", {
  d <- stranger()
  # as brms has it
  mmc <- function(...) cbind(...)
  said <- message_of_error(galvi(y ~ z + (1 + mmc(z, w) | mm(g, id)), d))
  expect_identical(advised_call(said), quote(galvi(y ~ z + (1 + I((z + w) / 2) | mm(g, id)), data = d)))
  expect_match(said, "the group's own covariate", fixed = TRUE)
  expect_runs(advised_call(said), environment(), said)
})

test_that("what a term loses is said beside arguments of other packages, too", {
  d <- stranger()
  for (call in expression(
    galvi(y ~ me(x, 0.1), d, chains = 2), galvi(y ~ mi(x), d, iter = 100), galvi(x ~ z + ma(t), d, save_pars = 1),
    galvi(y ~ z + (1 | p | g), d, chains = 2), galvi(y ~ me(x, 0.1), d, method = "REML"),
    galvi(y ~ me(x, 0.1), d, weights = varIdent(form = ~ 1 | f))
  )) {
    said <- message_of_error(eval(call))
    alone <- message_of_error(eval(call[1:3]))
    expect_match(said, sub(" In full: .*", "", alone), fixed = TRUE, info = deparse1(call))
  }
  said <- message_of_error(galvi(x ~ unstr(t, g), d, chains = 2))
  expect_match(said, "family = galvi_family(\"gaussian\", variance = fixed(0))", fixed = TRUE)
  # no call where a term has no counterpart
  expect_no_match(message_of_error(galvi(x ~ f(g, copy = "id"), d, chains = 2)), "Write galvi")
})

test_that("an intercept by its name in brms, and groups with %in%, are written as here", {
  env <- list2env(list(d = stranger()), parent = globalenv())
  said <- function(call) message_of_error(eval(call, env))
  expect_identical(advised_call(said(quote(galvi(y ~ 0 + Intercept + z, d)))), quote(galvi(y ~ z, data = d)))
  expect_identical(advised_call(said(quote(galvi(y ~ Intercept - 1, d)))), quote(galvi(y ~ 1, data = d)))
  expect_identical(advised_call(said(quote(galvi(y ~ (1 | t %in% g), d)))), quote(galvi(y ~ (1 | t:g), data = d)))
  expect_identical(names(coef(galvi(y ~ 0 + Intercept, transform(stranger(), Intercept = x)))), "Intercept")
})

test_that("a response without noise is glmmTMB's dispformula = ~ 0", {
  env <- list2env(stranger_objects(stranger()), parent = globalenv())
  said <- message_of_error(eval(quote(galvi(x ~ z + us(0 + factor(t) | g), d, dispformula = ~0)), env))
  expect_match(said, "family = galvi_family(\"gaussian\", variance = fixed(0))", fixed = TRUE)
  expect_runs(advised_call(said), env, said)
})

test_that("Surv() is found where survival is not attached", {
  env <- list2env(stranger_objects(stranger()), parent = globalenv())
  skip_if("survival" %in% loadedNamespaces() && exists("Surv", globalenv()))
  said <- message_of_error(eval(quote(galvi(Surv(time, status) ~ x, d, weibull())), env))
  expect_match(said, "survival::Surv(time, status)", fixed = TRUE)
})

test_that("arguments of other packages are shown as they are written here, and run", {
  env <- list2env(stranger_objects(stranger()), parent = globalenv())
  given <- alist(
    ziformula = ~ z, ziformula = ~ 0, zi = ~ 1, hu = ~ z, dispformula = ~ z, sigma.formula = ~ z, sigma.fo = ~ z,
      scale = ~ z,
    sigma = ~ z, shape = ~ z, phi = ~ z, phi.formula = ~ z, nu.formula = ~ z, nu.fo = ~ z,
    random = ~ 1 | g, random = list(g = ~ x), random = list(~ 1 | g), correlation = corAR1(form = ~ t | g),
    correlation = corCompSymm(form = ~ 1 | g), correlation = corCAR1(form = ~ t | g),
      correlation = corExp(form = ~ x + z),
    correlation = corSymm(form = ~ t | g), rho = 0.5, autocor = cor_ar(~ t | g), dist = "weibull", distribution = "t",
      link = "probit",
    Ntrials = n, E = n, id = g, cluster = g, prior_intercept = normal(0, 5), prior_intercept = student_t(3, 0, 2),
    random = ~ us(1 + x):g + f, random = ~ idh(1 + x):g, rcov = ~units, rcov = ~ idh(f):units,
    rcov = ~ us(trait):units, kernel = "matern", kernel = matern(5 / 2), covtype = "matern5_2",
    fixef.prior = normal(sd = 2), fixef.prior = t, type = "regression",
    prior_aux = exponential(1), prior_phi = exponential(1), prior_smooth = exponential(1), strata = f, prior_covariance = decov(), priors = NULL, control.fixed = list(prec = 0.001),
    cores = 2, trace = FALSE, maxit = 100, epsilon = 1e-6
  )
  without_call <- vapply(foreign_arguments, function(entry) is.null(entry$to), NA)
  drops <- setdiff(names(foreign_arguments)[!without_call], names(given))
  given <- c(given, stats::setNames(rep(list(TRUE), length(drops)), drops))
  families <- list(
    ziformula = quote(poisson()), zi = quote(poisson()), hu = quote(poisson()), E = quote(poisson()),
      shape = quote(negbinomial()),
    phi = quote(beta_binomial()), phi.formula = quote(beta_binomial()), prior_phi = quote(beta_binomial())
  )
  for (i in seq_along(given)) {
    name <- names(given)[i]
    value <- given[[i]]
    response <- switch(name, dist = quote(survival::Surv(time, status)), link = , phi = , phi.formula = , prior_phi = quote(b),
      quote(y))
    call <- as.call(c(list(quote(galvi), call("~", response, quote(x)), data = quote(d)),
      families[name][!vapply(families[name],
      is.null, NA)], stats::setNames(list(value), name)))
    names(call)[names(call) %in% names(families) & vapply(as.list(call), identical, NA, families[[name]])] <- "family"
    said <- message_of_error(eval(call, env))
    expect_match(said, sprintf("`%s`", name), fixed = TRUE)
    # nu has a formula in no family yet, and `dist` needs survival
    if (name %in% c("nu.formula", "nu.fo") || name == "dist" && !requireNamespace("survival", quietly = TRUE)) next
    expect_runs(advised_call(said), env, said)
  }
  # several at once, with a term to translate
  said <- message_of_error(eval(quote(galvi(y ~ lo(x), d, chains = 4, iter = 2000, cores = 2)), env))
  expect_identical(advised_call(said), quote(galvi(y ~ s(x), data = d, control = galvi_control(threads = 2))))
})

test_that("priors of rstanarm keep their numbers, and NULL is a flat prior", {
  d <- stranger()
  d$p <- plogis(d$x / 2)
  env <- environment()
  means <- function(theirs, ours) {
    said <- message_of_error(eval(substitute(theirs), env))
    expect_identical(advised_call(said), substitute(ours))
    expect_runs(substitute(ours), env, deparse1(substitute(ours)))
    said
  }
  means(galvi(y ~ x + (1 | g), d, family = poisson(), prior_covariance = decov(scale = 2)),
    galvi(y ~ x + (1 | g), data = d, family = poisson(), prior = list(sd = "exponential(0.5)")))
  said <- means(galvi(y ~ x + (z | g), d, family = poisson(), prior_covariance = rstanarm::decov(3, 1, 2, 4)),
    galvi(y ~ x + (z | g), data = d, family = poisson(), prior = list(sd = "gamma(2, 0.25)", cor = lkj(3))))
  expect_match(said, "share a scale")
  # in units of the noise, which are not known here
  said <- means(galvi(y ~ x + (z | g), d, prior_covariance = decov(2)),
    galvi(y ~ x + (z | g), data = d, prior = list(cor = lkj(2))))
  expect_match(said, "units of that of the noise.*exponential\\(1 / s\\)")
  means(galvi(y ~ x + (1 | g), d, prior_covariance = decov()), galvi(y ~ x + (1 | g), data = d))
  means(galvi(y ~ x, d, family = neg_binomial_2(), prior_aux = exponential(5)),
    galvi(y ~ x, data = d, family = negbinomial(), prior = list(shape = "exponential(5)")))
  means(galvi(p ~ x, d, family = beta_family(), prior_aux = rstanarm::exponential(2)),
    galvi(p ~ x, data = d, family = beta_family(), prior = list(phi = "exponential(2)")))
  means(galvi(y ~ x, d, prior = NULL, prior_intercept = NULL, prior_aux = NULL),
    galvi(y ~ x, data = d, prior = list(default = normal(0, Inf), at_means = normal(0, Inf))))
  means(galvi(y ~ x, d, prior_aux = NULL), galvi(y ~ x, data = d))
  # stan_betareg() and others
  means(galvi(p ~ x, d, link = "logit", prior_phi = exponential(1)),
    galvi(p ~ x, data = d, family = beta_family(), prior = list(phi = "exponential(1)")))
  means(galvi(p ~ x | z, d, link = "logit", link.phi = "log"),
    galvi(list(p ~ x, phi ~ z), data = d, family = beta_family()))
  means(galvi(y ~ s(x), d, prior_smooth = exponential(1)), galvi(y ~ s(x), data = d, prior = list(sds = "exponential(1)")))
  means(galvi(b ~ x, d, family = binomial(), strata = g), galvi(b ~ x + (1 | g), data = d, family = binomial()))
})

test_that("ziformula of glmmTMB beside truncated families is a hurdle, and its dot the formula of the mean", {
  d <- data.frame(count = 0:9, x = 1:10, g = gl(2, 5))
  advice <- function(call) {
    said <- message_of_error(eval(call))
    if (grepl("Write", said)) advised_call(said)
  }
  means <- function(theirs, ours) expect_identical(advice(substitute(theirs)), substitute(ours))
  means(galvi(count ~ x, d, family = truncated_nbinom2(link = "log"), ziformula = ~ g),
    galvi(list(count ~ x, hu ~ g), data = d, family = hurdle(negbinomial)))
  means(galvi(count ~ x, d, family = "truncated_poisson", zi = ~ 1, chains = 2),
    galvi(list(count ~ x, hu ~ 1), data = d, family = hurdle(poisson)))
  means(galvi(count ~ x, d, family = glmmTMB::truncated_nbinom1, dispformula = ~ g, ziformula = ~ x),
    galvi(list(count ~ x, phi ~ g, hu ~ x), data = d, family = hurdle(nbinom1)))
  means(galvi(count ~ x, d, family = ziGamma(link = "log"), ziformula = ~ x),
    galvi(list(count ~ x, hu ~ x), data = d, family = hurdle(Gamma(link = "log"))))
  means(galvi(count ~ x + offset(log(x)) + (1 | g), d, family = poisson, ziformula = ~ .),
    galvi(list(count ~ x + offset(log(x)) + (1 | g), zi ~ x + (1 | g)), data = d, family = zero_inflated(poisson)))
  means(galvi(count ~ x, d, family = poisson, ziformula = ~ . + g),
    galvi(list(count ~ x, zi ~ x + g), data = d, family = zero_inflated(poisson)))
  # not another family in silence
  for (family in list(quote(beta_family()), quote(tweedie()), quote(gaussian()))) {
    call <- substitute(galvi(count ~ x, d, family = family, ziformula = ~ x), list(family = family))
    expect_null(advice(call))
    expect_match(message_of_error(eval(call)), "no form with more zeros")
  }
})

test_that("effects of MCMCglmm, kernels beside a formula and priors of blme are advised as what they mean", {
  d <- stranger()
  advice <- function(call) {
    said <- message_of_error(eval(call))
    if (grepl("Write", said)) advised_call(said) else said
  }
  env <- environment()
  means <- function(theirs, ours) {
    expect_identical(advice(substitute(theirs)), substitute(ours))
    expect_runs(substitute(ours), env, deparse1(substitute(ours)))
  }
  means(galvi(y ~ x, random = ~ us(1 + x):g, rcov = ~units, data = d), galvi(y ~ x + (1 + x | g), data = d))
  means(galvi(y ~ x, random = ~ idh(1 + x):g + id, data = d), galvi(y ~ x + (1 + x || g) + (1 | id), data = d))
  means(galvi(y ~ x, random = ~ us(f):g, data = d), galvi(y ~ x + (0 + f | g), data = d))
  means(galvi(y ~ x, rcov = ~ idh(f):units, data = d), galvi(list(y ~ x, sigma ~ f), data = d))
  means(galvi(y ~ x + z, data = d, kernel = "matern"), galvi(y ~ gp(x, z, kernel = matern32()), data = d))
  means(galvi(y ~ gp(x) + f, data = d, kernel = matern(5 / 2)), galvi(y ~ gp(x, kernel = matern52()) + f, data = d))
  means(galvi(y ~ x + z + (1 | g), data = d, covtype = "matern5_2"),
    galvi(y ~ gp(x, z, kernel = matern52(ard = TRUE)) + (1 | g), data = d))
  means(galvi(y ~ x * z, d, kernel = "se"), galvi(y ~ gp(x, z, kernel = se()), data = d))
  means(galvi(y ~ log(w) + x:z - 1 + offset(t), d, kernel = "se"),
    galvi(y ~ gp(log(w), x, z, kernel = se()) - 1 + offset(t), data = d))
  means(galvi(y ~ ., d, kernel = "se"), galvi(y ~ gp(., kernel = se()), data = d))
  means(galvi(y ~ x, random = ~ us(1 + x):g:f, data = d), galvi(y ~ x + (1 + x | g:f), data = d))
  means(galvi(y ~ x, random = ~ idv(x):g, data = d), galvi(y ~ x + homdiag(0 + x | g), data = d))
  means(galvi(y ~ x, d, family = poisson(), resid.prior = wishart), galvi(y ~ x, data = d, family = poisson()))
  means(galvi(y ~ x, d, family = poisson(), prior_aux = exponential(1)), galvi(y ~ x, data = d, family = poisson()))
  means(galvi(y ~ x, d, family = poisson(), rcov = ~ idh(f):units), galvi(y ~ x, data = d, family = poisson()))
  # no call where there is none
  for (call in expression(
    galvi(y ~ s(x), d, kernel = "se"), galvi(y ~ 1, d, kernel = "se"), galvi(y ~ x, d, kernel = "wild"),
    galvi(y ~ gp(x, kernel = se()), d, kernel = "matern"), galvi(d["x"], d$y, covtype = "powexp"),
    galvi(y ~ x, d, random = ~ cor(f):g)
  )) {
    expect_no_match(advice(call), "Write")
  }
  expect_match(advice(quote(galvi(d["x"], d$y, kernel = "matern"))), "write kernel = matern32().", fixed = TRUE)
  means(galvi(d["x"], d$y, covtype = "matern3_2"), galvi(x = d["x"], y = d$y, kernel = matern32(ard = TRUE)))
  means(galvi(d["x"], d$y, type = "regression"), galvi(x = d["x"], y = d$y))
  means(galvi(y ~ x + (1 + x | g), data = d, cov.prior = wishart),
    galvi(y ~ x + (1 + x | g), data = d, prior = list(cor = lkj(1))))
  means(galvi(y ~ x, data = d, fixef.prior = normal(sd = 2)), galvi(y ~ x, data = d, prior = list(default = normal(0, 2))))
  expect_match(advice(quote(galvi(f ~ x, d, type = "classification"))), "binomial() one of two classes", fixed = TRUE)
  # a known slope
  row <- data.frame(prior = "constant(1)", class = "b", coef = "fb")
  expect_match(advice(quote(galvi(y ~ f, d, prior = row))), "A known slope is an offset in the formula, as in offset(1",
    fixed = TRUE)
  expect_match(advice(quote(galvi(y ~ x, d, prior = list(x = fixed(2))))), "offset(2 * x)", fixed = TRUE)
  expect_match(advice(quote(galvi(y ~ log(t), d, prior = list(`log(t)` = fixed(2))))), "offset(2 * log(t))",
    fixed = TRUE)
  # what no column has is no offset
  for (prior in list(
    list(intercept = fixed(2)), list(default = fixed(2)), list(fb = fixed(2)), list("x:t" = fixed(2)),
    data.frame(prior = "constant(1)", class = "Intercept", coef = "")
  )) {
    expect_no_match(advice(quote(galvi(y ~ f + x:t, d, prior = prior))), "offset")
  }
})

test_that("arguments that methods of other packages have are told what does it here", {
  d <- transform(mtcars, t = 1:32, f = factor(gear))
  fit <- galvi(mpg ~ wt + s(hp, by = f, k = 3), d, verbose = FALSE)
  said <- function(call, what) {
    call <- substitute(call)
    env <- parent.frame()
    expect_match(message_of_error(eval(call, env)), what, fixed = TRUE)
  }
  said(predict(fit, type = "iterms"), "`type = \"terms\"` has the same values")
  said(predict(fit, type = "lpmatrix"), "rstantools::posterior_linpred(fit, newdata)")
  said(predict(fit, type = "disp"), "list(y ~ x, sigma ~ x)")
  said(predict(galvi(list(mpg ~ wt, sigma ~ wt), d, verbose = FALSE), type = "disp"), "`dpar = \"sigma\"`")
  for (call in expression(predict(fit, summary = FALSE), predict(fit, ndraws = 5), fitted(fit, summary = FALSE))) {
    said(eval(call), "rstantools::posterior_epred(fit, newdata, ndraws = )")
  }
  said(fitted(fit, scale = "linear"), "type = \"link\"")
  said(fixef(fit, summary = FALSE), "as.matrix(fit)")
  for (call in expression(plot(fit, select = 1), plot(fit, pages = 1))) said(eval(call), "terms = \"s(x)\"")
  said(plot(fit, shade = TRUE), "drawn as a band")
  said(predict(fit, exclude = "s(hp):f3"), "The smooths of all levels of `by` are one term.")
  d$at <- as.POSIXlt(as.POSIXct("2026-01-01", tz = "UTC") + 1:32)
  said(galvi(mpg ~ at, d), "d$at <- as.POSIXct(d$at)")
  said(galvi(mpg ~ wt + (s(hp) | f), d), "s(hp, f, bs = \"fs\")")
  skip_if_not_installed("sp")
  said(galvi(mpg ~ wt, sp::SpatialPointsDataFrame(cbind(1:32, 1:32), mtcars)), "as.data.frame()")
})

test_that("probabilities of counts and cumulative ones are told how they are computed", {
  set.seed(1)
  d <- data.frame(x = rnorm(40))
  d$y <- rpois(40, exp(1 + 0.3 * d$x))
  d$o <- cut(d$x + rlogis(40), c(-Inf, -1, 1, Inf), ordered_result = TRUE)
  counts <- galvi(y ~ x, d, family = poisson(), verbose = FALSE)
  classes <- galvi(o ~ x, d, family = cumulative(), verbose = FALSE)
  newdata <- d[1:2, ]
  # what a message advises, as it stands there
  advised <- function(expr, fit, pattern) {
    said <- message_of_error(expr)
    expect_match(said, pattern)
    eval(str2lang(sub(paste0(".*(", pattern, ").*"), "\\1", said)))
  }
  # the eta of a row is nearly known: its sd is 0.1
  means <- predict(counts, newdata)
  found <- advised(predict(counts, newdata, type = "prob", at = 0:3), counts, "exp[(]sapply[(].*\"density\"[)]{3}")
  expect_equal(found, outer(means, 0:3, function(mean, y) dpois(y, mean)), tolerance = 0.05, ignore_attr = TRUE)
  expect_equal(advised(predict(counts, newdata, type = "prob"), counts, "exp[(]predict[(]fit, .*\"density\"[)]{2}"), found[, 3L])
  expect_no_match(message_of_error(predict(counts, newdata, type = "class")), "probability of a count")
  cumulative <- advised(predict(classes, newdata, type = "cum.prob"), classes, "t[(]apply[(].*cumsum[)][)]")
  probabilities <- predict(classes, newdata, type = "prob")
  expect_equal(cumulative[, 2L], probabilities[, 1L] + probabilities[, 2L])
  stages <- galvi(o ~ cs(x), d, family = sratio(), verbose = FALSE)
  expect_match(message_of_error(predict(stages, newdata, type = "cum.prob")), "cumsum")
  expect_match(message_of_error(predict(counts, newdata, type = "cum.prob")), "`type = \"cdf\"` with `q`")
})

test_that("advice for glmmTMB's mat() and brms' cs() says what differs, and makes no smooths of factors", {
  d <- data.frame(y = rpois(60, 3), x = rnorm(60), pos = rep(1:10, 6), f = gl(3, 20), g = gl(6, 10))
  said <- function(formula) message_of_error(galvi(formula, d, family = poisson()))
  expect_match(said(y ~ x + mat(pos + 0 | g)), "learns the smoothness, which is fixed at 3/2")
  expect_no_match(said(y ~ x + exp(pos + 0 | g)), "smoothness")
  expect_match(said(y ~ cs(x)), "As a smooth write s\\(x\\)")
  for (formula in list(y ~ cs(f), y ~ cs(x + f))) {
    expect_no_match(said(formula), "As a smooth")
    expect_match(said(formula), "family = sratio")
  }
})

test_that("words of other packages for `method` and `weights` are explained", {
  env <- list2env(stranger_objects(stranger()), parent = globalenv())
  for (method in names(foreign_methods)) {
    said <- message_of_error(eval(bquote(galvi(y ~ lo(x), d, method = .(method))), env))
    expect_match(said, method, fixed = TRUE)
    expect_runs(advised_call(said), env, said)
  }
  for (weights in alist(varIdent(form = ~ 1 | f), varPower(form = ~ z), nlme::varExp(form = ~ z))) {
    said <- message_of_error(eval(bquote(galvi(y ~ x, d, weights = .(weights))), env))
    expect_runs(advised_call(said), env, said)
  }
})

test_that("correlations and variance functions of nlme are advised as models that have gls()'s estimates", {
  d <- as.data.frame(nlme::Orthodont)
  advice <- function(argument, value) {
    call <- as.call(c(quote(galvi), quote(distance ~ age), data = quote(d), stats::setNames(list(value), argument)))
    said <- message_of_error(eval(call))
    call <- advised_call(said)
    call[[1L]] <- galvi
    call$verbose <- FALSE
    list(said = said, fit = suppressWarnings(eval(call)))
  }
  # flat priors and known hyperparameters move the coefficients by less than a twentieth of a standard error
  expect_peer <- function(argument, value, peer = value) {
    fit <- advice(argument, value)$fit
    theirs <- eval(as.call(c(quote(nlme::gls), quote(distance ~ age), data = quote(d),
      stats::setNames(list(peer), argument))))
    own <- coef(fit)[c("(Intercept)", "age")]
    expect_lt(max(abs(own - coef(theirs)) / sqrt(diag(vcov(theirs)))), 0.05, label = deparse1(value))
  }
  exact <- alist(
    corAR1(form = ~ 1 | Subject), corCompSymm(form = ~ 1 | Subject), corARMA(form = ~ 1 | Subject, p = 1, q = 1),
    corARMA(form = ~ 1 | Subject, p = 3), corCAR1(form = ~ age | Subject), corExp(form = ~ age | Subject),
    corExp(form = ~ age | Subject, nugget = TRUE), corExp(form = ~ 1 | Subject), corGaus(form = ~ age | Subject),
    corRatio(form = ~ age | Subject)
  )
  for (value in exact) {
    value[[1L]] <- call("::", quote(nlme), value[[1L]])
    expect_peer("correlation", value)
  }
  # steps of two years, of which gls() takes the square root of a correlation
  expect_peer("correlation", quote(nlme::corAR1(form = ~ age | Subject)), quote(nlme::corAR1(form = ~ 1 | Subject)))
  for (value in alist(corSymm(form = ~ 1 | Subject), corSpher(form = ~ age | Subject), corAR1())) {
    expect_s3_class(advice("correlation", value)$fit, "galvi")
  }
  expect_match(advice("correlation", quote(corSymm(form = ~ age | Subject)))$said, "standard deviation of its own")
  for (value in alist(varIdent(form = ~ 1 | Sex), varPower(form = ~age), varExp(form = ~age), varFixed(~age),
    varExp(form = ~ age | Sex))) {
    value[[1L]] <- call("::", quote(nlme), value[[1L]])
    expect_peer("weights", value)
  }
  for (value in alist(varPower(), varConstPower(form = ~ fitted(.)), varComb(varIdent(form = ~ 1 | Sex), varPower()))) {
    own <- advice("weights", value)
    expect_match(own$said, "fitted values")
    expect_true("sigma_age" %in% names(coef(own$fit)))
  }
  # series of one group, and no data
  d <- data.frame(t = 1:60, y = as.numeric(stats::filter(sin(1:60 * 5)^3, 0.6, "recursive")))
  y <- d$y
  for (data in list(NULL, quote(d))) {
    said <- message_of_error(eval(as.call(c(quote(galvi), quote(y ~ 1), data = data,
      correlation = quote(nlme::corAR1())))))
    call <- advised_call(said)
    call[[1L]] <- galvi
    theirs <- nlme::gls(y ~ 1, correlation = nlme::corAR1())
    expect_lt(abs(coef(eval(call)) - coef(theirs)) / sqrt(vcov(theirs)), 0.05)
  }
})

test_that("calls of lme() keep the groups, matrices and variances that they mean", {
  Orthodont <- nlme::Orthodont
  Oats <- nlme::Oats
  ungrouped <- transform(as.data.frame(Orthodont), age = age / 3)
  advice <- function(call) {
    said <- message_of_error(eval(call))
    if (grepl("Write", said)) advised_call(said) else said
  }
  env <- environment()
  means <- function(theirs, ours) {
    expect_identical(advice(substitute(theirs)), substitute(ours))
    expect_runs(substitute(ours), env, deparse1(substitute(ours)))
  }
  # a list is nested
  means(galvi(yield ~ nitro, Oats, random = list(Block = ~1, Variety = ~1)),
    galvi(yield ~ nitro + (1 | Block) + (1 | Block:Variety), data = Oats))
  means(galvi(yield ~ nitro, Oats, random = list(~ nitro | Block, ~ 1 | Variety)),
    galvi(yield ~ nitro + (nitro | Block) + (1 | Block:Variety), data = Oats))
  # groups are those of the data; without them they are not guessed
  means(galvi(distance ~ age, Orthodont, random = ~age), galvi(distance ~ age + (age | Subject), data = Orthodont))
  said <- message_of_error(galvi(distance ~ age, ungrouped, random = ~age))
  expect_identical(advised_call(said), quote(galvi(distance ~ age + (age | g), data = ungrouped)))
  expect_match(said, "g is the grouping factor", fixed = TRUE)
  expect_identical(advice(quote(galvi(distance ~ age, ungrouped, random = ~Subject))),
    quote(galvi(distance ~ age + (1 | Subject), data = ungrouped)))
  expect_match(message_of_error(galvi(distance ~ age, as.data.frame(Orthodont), random = ~age)), "is read as groups")
  # matrices
  means(galvi(distance ~ age, Orthodont, random = pdDiag(~age)),
    galvi(distance ~ age + (age || Subject), data = Orthodont))
  means(galvi(distance ~ age, ungrouped, random = list(Subject = pdDiag(~age))),
    galvi(distance ~ age + (age || Subject), data = ungrouped))
  means(galvi(yield ~ nitro, Oats, random = list(Block = pdIdent(~ Variety - 1))),
    galvi(yield ~ nitro + homdiag(Variety - 1 | Block), data = Oats))
  means(galvi(distance ~ age, ungrouped, random = list(Subject = pdBlocked(list(~1, ~ age - 1)))),
    galvi(distance ~ age + (1 | Subject) + (age - 1 | Subject), data = ungrouped))
  expect_no_match(advice(quote(galvi(distance ~ age, Orthodont,
    random = list(Subject = pdBlocked(list(~1, ~ age - 1), pdClass = "pdIdent"))))), "Write")
  # correlations within the groups of `random`, the innermost of several
  means(galvi(distance ~ age, Orthodont, random = ~ 1 | Subject, correlation = corAR1(form = ~age)),
    galvi(distance ~ age + (1 | Subject) + ar1(0 + factor(age) | Subject), data = Orthodont,
      family = galvi_family("gaussian", variance = fixed(0))))
  means(galvi(yield ~ nitro, Oats, random = ~ 1 | Block/Variety, correlation = corAR1()),
    galvi(yield ~ nitro + (1 | Block/Variety) + ar1(0 + factor(step) | Block:Variety),
      data = transform(Oats, step = ave(seq_along(Block), Block, Variety, FUN = seq_along)),
      family = galvi_family("gaussian", variance = fixed(0))))
  means(galvi(yield ~ nitro + (1 | Block/Variety), Oats, correlation = corGaus(form = ~nitro)),
    galvi(yield ~ nitro + (1 | Block/Variety) +
      gp(nitro, by = interaction(Block, Variety), by_hyper = "shared", kernel = se(), center = FALSE),
      data = Oats, family = galvi_family("gaussian", variance = fixed(0))))
  # variances by time are those of the correlated term, others have no formula beside it
  means(galvi(distance ~ age, Orthodont, correlation = corAR1(form = ~ 1 | Subject), weights = varIdent(form = ~ 1 | age)),
    galvi(distance ~ age + hetar1(0 + factor(step) | Subject),
      data = transform(Orthodont, step = ave(seq_along(Subject), Subject, FUN = seq_along)),
      family = galvi_family("gaussian", variance = fixed(0))))
  means(galvi(distance ~ age, Orthodont, weights = varIdent(form = ~ 1 | age), correlation = corSymm(form = ~ age | Subject)),
    galvi(distance ~ age + us(0 + factor(age) | Subject), data = Orthodont,
      family = galvi_family("gaussian", variance = fixed(0))))
  expect_no_match(advice(quote(galvi(distance ~ age, Orthodont, correlation = corAR1(form = ~ 1 | Subject),
    weights = varIdent(form = ~ 1 | Sex)))), "Write")
  expect_no_match(advice(quote(galvi(distance ~ age + us(0 + factor(age) | Subject), Orthodont,
    weights = varIdent(form = ~ 1 | age), family = galvi_family("gaussian", variance = fixed(0))))), "Write")
  # both at once
  means(galvi(distance ~ age, Orthodont, random = ~ 1 | Subject, weights = varIdent(form = ~ 1 | Sex),
    control = lmeControl()), galvi(list(distance ~ age + (1 | Subject), sigma ~ Sex), data = Orthodont))
  expect_match(message_of_error(galvi(distance ~ age, Orthodont, control = nlme::lmeControl())),
    "settings of another function")
})

test_that("a user's own function of such a name is left alone", {
  d <- stranger()
  env <- new.env(parent = globalenv())
  env$cluster <- eval(quote(function(x) as.numeric(x) %% 3), globalenv())
  environment(env$cluster) <- globalenv()
  formula <- y ~ cluster(id)
  environment(formula) <- env
  fit <- galvi(formula, d)
  expect_identical(names(coef(fit)), c("(Intercept)", "cluster(id)"))
})

test_that("lists of formulas, formulas in variables and pipes are shown in full", {
  d <- stranger()
  said <- message_of_error(galvi(list(y ~ lo(x), sigma ~ pb(x)), d))
  expect_identical(advised_call(said), quote(
    galvi(list(y ~ s(x), sigma ~ s(x)), data = d)
  ))
  both <- list(y ~ lo(x), sigma ~ z)
  expect_identical(advised_call(message_of_error(galvi(both, d))), quote(galvi(list(y ~ s(x), sigma ~ z), data = d)))
  f <- y ~ lo(x)
  expect_identical(advised_call(message_of_error(galvi(f, d))), quote(galvi(y ~ s(x), data = d)))
  expect_match(message_of_error(galvi_design(y ~ lo(x), d)), "y ~ s(x)", fixed = TRUE)
  expect_match(message_of_error(do.call(galvi, list(f, d))), "galvi(y ~ s(x), data = d)", fixed = TRUE)
})

test_that("a data frame that is not defined is said to be that", {
  said <- message_of_error(galvi(y ~ x, D))
  expect_match(said, "stats::D()", fixed = TRUE)
  expect_match(message_of_error(galvi(y ~ x, nowhere)), "`nowhere` is not found")
})

# ---- whose functions ----

test_that("functions typed in `family`, `prior` and `kernel` are galvi's, whatever masks them", {
  d <- stranger()
  masks <- c("hurdle", "poisson", "student", "laplace", "exponential", "normal", "fixed", "lkj", "se", "half_normal")
  env <- new.env(parent = globalenv())
  for (name in masks) assign(name, function(...) stop("masked"), env)
  env$d <- d
  env$galvi <- galvi
  run <- function(call) eval(call, env)
  expect_identical(run(quote(galvi(y ~ x, d, hurdle(poisson()))))$family$family, "hurdle_poisson")
  expect_identical(run(quote(galvi(y ~ x, d, student(df = fixed(4)))))$family$family, "student")
  expect_identical(run(quote(galvi(time ~ x, d, exponential)))$family$family, "exponential")
  expect_identical(run(quote(galvi(family = laplace(), formula = y ~ x, data = d)))$family$family, "laplace")
  fit <- run(quote(galvi(y ~ x, d, prior = list(x = normal(0, 1), sigma = half_normal(2)))))
  expect_identical(fit$prior$x, normal(0, 1))
  expect_identical(run(quote(galvi(d["x"], d$y, kernel = se())))$design$specs[[2]]$type, "gp")
  # through the dots of other functions, with a variable of the place where it was typed
  env$outer <- eval(quote(function(...) inner(...)), env)
  env$inner <- eval(quote(function(...) galvi(y ~ x, d, ...)), env)
  environment(env$outer) <- environment(env$inner) <- env
  env$here <- eval(quote(function() {
    scale <- 3
    outer(prior = normal(0, scale), family = hurdle(poisson()))
  }), env)
  fit <- run(quote(here()))
  expect_identical(fit$prior$x, normal(0, 3))
  expect_identical(run(quote(update(galvi(y ~ x, d, hurdle(poisson())), . ~ 1)))$family$family, "hurdle_poisson")
  # a function of the user's own under another name is theirs
  env$mine <- function() galvi_family("student", df = fixed(7))
  expect_identical(run(quote(galvi(y ~ x, d, mine())))$family$parameters$df, fixed(7))
})

test_that("update() of a fit needs galvi loaded, not attached", {
  skip_on_cran()
  path <- tempfile(fileext = ".rds")
  saveRDS(galvi(time ~ x, stranger(), weibull()), path)
  code <- sprintf("fit <- readRDS(%s); f <- galvi::galvi(time ~ 1, fit$data, family = weibull());
    cat(update(f, . ~ 1, prior = normal(0, 1))$family$family)", dQuote(path, FALSE))
  out <- suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(code)), stdout = TRUE,
    stderr = TRUE,
    env = paste0("R_LIBS=", paste(.libPaths(), collapse = ":"))))
  skip_if(any(grepl("no package called", out)), "galvi is not installed")
  expect_identical(utils::tail(out, 1L), "weibull")
})

test_that("families of other packages are translated or refused by name", {
  d <- stranger()
  skip_if_not_installed("rstanarm")
  expect_identical(as_galvi_family(rstanarm::neg_binomial_2())$family, "negbinomial")
  expect_identical(as_galvi_family("neg_binomial_2")$family, "negbinomial")
  expect_match(message_of_error(galvi(y ~ x, d, rstanarm::normal())), "prior normal() of rstanarm", fixed = TRUE)
  skip_if_not_installed("VGAM")
  expect_identical(as_galvi_family(VGAM::poissonff())$family, "poisson")
  expect_match(message_of_error(galvi(y ~ x, d, genpois())), "nbinom1")
  expect_match(message_of_error(galvi(y ~ x, d, genpois)), "nbinom1")
  expect_match(message_of_error(galvi(y ~ x, d, poisson("softplus"))), "galvi_family(\"poisson\", link = \"softplus\")", fixed = TRUE)
  expect_match(message_of_error(galvi(y ~ x, d, cox())), "survival object")
})

test_that("non-linear formulas and tests of hypotheses are refused with what there is", {
  d <- data.frame(x = 1:20, y = rnorm(20))
  expect_error(galvi(y ~ a * exp(b * x), d, nl = TRUE), "custom_family()", fixed = TRUE, class = "galvi_error_argument")
  brms <- structure(list(formula = structure(y ~ a * x, nl = TRUE), pforms = list(a ~ 1)), class = c("brmsformula", "bform"))
  expect_error(galvi(brms, d), "gp(x)", fixed = TRUE, class = "galvi_error_formula")
  fit <- galvi(y ~ x, d)
  expect_error(anova(fit, test = "Chisq"), "hypothesis(", fixed = TRUE, class = "galvi_error_argument")
})

test_that("effects by threshold of ordinal are cs() of a family that takes them", {
  d <- stranger()
  d$r <- factor(rep(1:4, 15), ordered = TRUE)
  env <- list2env(list(d = d), parent = globalenv())
  said <- function(call) message_of_error(eval(call, env))
  both <- said(quote(galvi(r ~ x, nominal = ~ f, data = d, family = cumulative("probit"))))
  expect_identical(advised_call(both), quote(galvi(r ~ x + cs(f), data = d, family = sratio("probit"))))
  expect_runs(advised_call(both), env, both)
  expect_identical(advised_call(said(quote(galvi(r ~ x + z, d, nominal = ~ x)))),
    quote(galvi(r ~ z + cs(x), data = d, family = sratio())))
  expect_identical(advised_call(said(quote(galvi(r ~ x, d, cratio(), nominal = ~ x)))),
    quote(galvi(r ~ cs(x), data = d, family = cratio())))
  expect_identical(advised_call(said(quote(galvi(r ~ x, d, cumulative(), nominal = ~ 1)))),
    quote(galvi(r ~ x, data = d, family = cumulative())))
})

test_that("terms that a family has itself stay in the call that is advised", {
  env <- list2env(list(d = stranger()), parent = globalenv())
  said <- function(call) message_of_error(eval(call, env))
  expect_identical(advised_call(said(quote(galvi(survival::Surv(time, status) ~ x + strata(f), d, cox(), chains = 4)))),
    quote(galvi(survival::Surv(time, status) ~ x + strata(f), data = d, family = cox())))
  expect_identical(advised_call(said(quote(galvi(t ~ cs(x), d, sratio(), chains = 4)))),
    quote(galvi(t ~ cs(x), data = d, family = sratio())))
  expect_identical(advised_call(said(quote(galvi(y ~ cs(x), d, chains = 4)))), quote(galvi(y ~ x, data = d)))
})

test_that("strata of a binary response are groups, or those of conditional logistic regression", {
  env <- list2env(list(d = stranger()), parent = globalenv())
  said <- function(call) message_of_error(eval(call, env))
  of_cases <- said(quote(galvi(b ~ x + strata(t), d, binomial())))
  expect_identical(advised_call(of_cases), quote(galvi(b ~ x + (1 | t), data = d, family = binomial())))
  expect_match(of_cases, "survival::Surv(rep(1, length(b)), b) ~ x + strata(t) with family = cox()", fixed = TRUE)
  expect_no_match(of_cases, "moves the times")
  expect_match(said(quote(galvi(time ~ x + strata(f, g), d, weibull()))), "~ x + (1 | f:g)", fixed = TRUE)
  expect_match(said(quote(galvi(time ~ x + strata(t), d, loglogistic()))), "shape ~ (1 | t)", fixed = TRUE)
  skip_if_not_installed("survival")
  ours <- galvi(survival::Surv(rep(1, length(case)), case) ~ spontaneous + induced + strata(stratum), infert, cox())
  # clogit()'s estimates and standard errors; ours are posterior means
  expect_lt(max(abs(coef(ours) - c(1.985876, 1.409012)) / c(0.3524435, 0.3607124)), 0.25)
})

test_that("select = TRUE is in the basis of each smooth", {
  env <- list2env(list(d = stranger()), parent = globalenv())
  said <- function(call) message_of_error(eval(call, env))
  all <- said(quote(galvi(time ~ s(x) + s(z, bs = "cr") + s(w, bs = "ps", k = 6) + te(x, s, k = 3), d, select = TRUE)))
  expect_identical(advised_call(all), quote(
    galvi(time ~ s(x, bs = "ts") + s(z, bs = "cs") + s(w, bs = "ps", k = 6) + te(x, s, k = 3, bs = "cs"), data = d)))
  expect_runs(advised_call(all), env, all)
  expect_identical(advised_call(said(quote(galvi(time ~ s(x), d, select = FALSE)))),
    quote(galvi(time ~ s(x), data = d)))
  expect_match(said(quote(galvi(b ~ x, d, nAGQ = 10))), "Gaussian that maximises a lower bound", fixed = TRUE)
})

test_that("a bar without parentheses is a group, or the formula of betareg and pscl", {
  d <- stranger()
  said <- message_of_error(galvi(w ~ x | z, d, beta_family()))
  expect_match(said, "(1 | g) or (x | g)", fixed = TRUE)
  expect_match(said, "list(w ~ x, phi ~ z)", fixed = TRUE)
  expect_no_error(galvi(list(w ~ x, phi ~ z), d, beta_family()))
  expect_match(message_of_error(galvi(y ~ x | 1, d, zero_inflated(negbinomial()))), "list(y ~ x, zi ~ 1)", fixed = TRUE)
  expect_no_error(suppressMessages(galvi(list(y ~ x, zi ~ 1), d, zero_inflated(negbinomial()))))
  expect_no_match(message_of_error(galvi(y ~ x | g, d, poisson())), "list(", fixed = TRUE)
})

test_that("calls of nlme, pscl, MASS, glmmTMB and rstanarm become calls that run", {
  env <- list2env(stranger_objects(stranger()), parent = globalenv())
  env$d$o <- cut(env$d$x, 3, ordered_result = TRUE)
  advised <- function(call, to) {
    said <- message_of_error(eval(call, env))
    expect_identical(advised_call(said), to)
    expect_runs(advised_call(said), env, said)
  }
  advised(quote(galvi(fixed = y ~ x, random = ~ 1 | g/f, data = d)), quote(galvi(y ~ x + (1 | g/f), data = d)))
  advised(quote(galvi(random = ~ 1 | g, fixed = y ~ x, data = d)), quote(galvi(y ~ x + (1 | g), data = d)))
  # gamm4
  advised(quote(galvi(y ~ x, data = d, random = ~ (1 | g))), quote(galvi(y ~ x + (1 | g), data = d)))
  advised(quote(galvi(y ~ x, data = d, random = ~ (1 | g) + (x || f))),
    quote(galvi(y ~ x + (1 | g) + (x || f), data = d)))
  expect_match(message_of_error(galvi(y ~ x + (1 | (1 | g)), env$d)),
    "`(1 | (1 | g))`: right of the bar must be a grouping factor", fixed = TRUE)
  advised(quote(galvi(y ~ x | z, data = d, dist = "negbin")),
    quote(galvi(list(y ~ x, zi ~ z), data = d, family = zero_inflated(negbinomial()))))
  advised(quote(galvi(o ~ z, data = d, method = "probit", Hess = TRUE)),
    quote(galvi(o ~ z, data = d, family = cumulative("probit"))))
  advised(quote(galvi(o ~ z, data = d, method = "logistic")), quote(galvi(o ~ z, data = d, family = cumulative("logit"))))
  advised(quote(galvi(o ~ z, data = d, link = "probit")), quote(galvi(o ~ z, data = d, family = cumulative("probit"))))
  advised(quote(galvi(b ~ z, data = d, link = "probit")), quote(galvi(b ~ z, data = d, family = binomial("probit"))))
  # as where glmmTMB is not attached
  advised(quote(galvi(y ~ x, data = d, dispformula = ~ z, family = nbinom2)),
    quote(galvi(list(y ~ x, shape ~ z), data = d, family = negbinomial())))
  advised(quote(galvi(y ~ x, data = d, iter = 100, control = list(adapt_delta = 0.9))), quote(galvi(y ~ x, data = d)))
  expect_match(message_of_error(galvi(y ~ x, data = env$d, x = TRUE)), "model.matrix(fit)", fixed = TRUE)
  # a formula that is not seen gives no call without what was asked for
  formula <- y ~ x
  expect_no_match(message_of_error(galvi(formula, data = env$d, random = ~ 1 | g)), "Write galvi")
  said <- message_of_error(galvi(y ~ x | z, env$d, negbinomial()))
  expect_match(said, "list(y ~ x, zi ~ z) with family = zero_inflated(negbinomial())", fixed = TRUE)
})

test_that("the variable that poly() cannot take is the one that has missing values there", {
  d <- stranger()
  d$y[2] <- NA
  d$x[5] <- NA
  said <- message_of_error(galvi(y ~ poly(x, 2), d))
  expect_match(said, "`x` has some, in row 5", fixed = TRUE)
  expect_no_error(galvi(y ~ poly(x, 2), subset(d, !is.na(x))))
})

test_that("advice for strata() is silent about a response that is not one", {
  d <- data.frame(y = 1:4, f = gl(2, 2))
  expect_no_warning(try(galvi((y | f) ~ 1 + strata(f), d), silent = TRUE))
})

test_that("numbers and links are those of the family in use", {
  lung <- survival::lung
  Surv <- survival::Surv
  say <- function(...) message_of_error(galvi(...))
  expect_match(say(Surv(time, status) ~ age, lung, family = weibull(), scale = 1), "exponential()", fixed = TRUE)
  expect_match(say(Surv(time, status) ~ age, lung, family = weibull(), scale = 0.5), "weibull(shape = fixed(2))", fixed = TRUE)
  expect_no_match(say(Surv(time, status) ~ age, lung, dist = "extreme"), "Write")
  expect_match(say(Surv(time, status) ~ age, lung, dist = "rayleigh"), "weibull(shape = fixed(2))", fixed = TRUE)
  expect_match(say(time | cens(2 - status) ~ age, lung, family = cox()), "survival::Surv(time, status)", fixed = TRUE)
  expect_match(say(mpg ~ wt, mtcars, link = "log"), "gaussian(\"log\")", fixed = TRUE)
  expect_match(say(am ~ wt, mtcars, link = "log"), "binomial(\"log\")", fixed = TRUE)
  expect_match(say(mpg ~ wt, mtcars, weights = ~hp), "weights = hp,", fixed = TRUE)
  expect_match(say(Surv(time, status) ~ age, lung, family = cox(), method = "breslow"), "continuous")
  expect_match(say(am ~ wt, mtcars, family = binomial(), control = glm.control()), "max_iterations")
  expect_match(say(carb ~ wt, mtcars, family = negbinomial(), init.theta = 2), "fixed(2)", fixed = TRUE)
  words <- c(
    probit = "use binomial() with it", polr = "use cumulative(), with", clm = "use cumulative(), with",
    betareg = "use beta_family()", survreg = "use weibull(), exponential()"
  )
  for (name in names(words)) expect_match(say(am ~ wt, mtcars, family = name), words[[name]], fixed = TRUE)
  expect_match(message_of_error(student(df = gamma_prior(2, 0.1))), "nu = \"gamma(2, 0.1)\"", fixed = TRUE)
  two <- galvi(list(mpg ~ wt, sigma ~ am + hp), mtcars, hyper = "fixed")
  expect_match(message_of_error(update(two, sigma ~ . - hp)), "list(mpg ~ wt, sigma ~ am)", fixed = TRUE)
  expect_match(message_of_error(predict(two, type = "lp")), "\"link\"")
})

test_that("responses with formulas of their own are told from parameters with formulas", {
  d <- stranger()
  for (call in expression(
    galvi(list(y ~ x, z ~ x), d), galvi(list(y ~ x, log(z) ~ x), d),
    galvi(list(y ~ x, z ~ x), d, family = list(gaussian(), poisson()))
  )) expect_match(message_of_error(eval(call)), "Responses with formulas of their own are fits of their own", fixed = TRUE)
  # a one-sided formula has no response
  expect_no_match(message_of_error(galvi(list(y ~ x, ~ z), d)), "Responses")
})

test_that("times without a family are said to be normal", {
  skip_if_not_installed("survival")
  d <- survival::aml
  d$place <- d$time - 20
  said <- function(...) {
    out <- NULL
    withCallingHandlers(galvi(..., data = d, hyper = "fixed"), galvi_message_family = function(m) {
      out <<- conditionMessage(m)
      invokeRestart("muffleMessage")
    })
    out
  }
  expect_match(said(survival::Surv(time, status) ~ x), "weibull(), the default of survreg()", fixed = TRUE)
  expect_null(said(survival::Surv(time, status) ~ x, family = gaussian()))
  expect_null(said(survival::Surv(place, status) ~ x))
  # as in brms
  expect_null(said(time | cens(1 - status) ~ x))
  expect_null(said(time ~ x))
})

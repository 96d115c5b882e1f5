# kfold(): refits of a fit from what it keeps, against fits of users to the same rows.

quietly <- function(expr) suppressMessages(suppressWarnings(expr))

by_hand <- function(fold, data, ...) {
  out <- numeric(nrow(data))
  for (k in unique(fold)) {
    refit <- quietly(galvi(data = data[fold != k, ], ...))
    out[fold == k] <- predict(refit, data[fold == k, ], type = "density")
  }
  out
}

saved <- function(x) {
  file <- tempfile(fileext = ".rds")
  saveRDS(x, file)
  file
}

elpd <- function(x) unname(x$pointwise[, "elpd_kfold"])

test_that("refits are those that users would make", {
  skip_if_not_installed("loo")
  set.seed(1)
  d <- sleepstudy
  d$w <- runif(180) + 0.5
  fold <- sample(rep_len(1:3, 180))
  # learning starts elsewhere: the bound is flat to 1e-6 at its maximum
  fit <- galvi(Reaction ~ poly(Days, 2) + log(Days + 1) + offset(Days) + (1 | Subject), data = d, weights = w)
  found <- loo::kfold(fit, folds = fold)
  expect_s3_class(found, c("kfold", "loo"), exact = TRUE)
  hand <- by_hand(fold, d, formula = Reaction ~ poly(Days, 2) + log(Days + 1) + offset(Days) + (1 | Subject),
    weights = w)
  expect_close(elpd(found), hand, 1e-4)
  expect_identical(unname(found$estimates["elpd_kfold", "Estimate"]), sum(found$pointwise[, 1]))
  expect_identical(dimnames(found$estimates), list(c("elpd_kfold", "p_kfold", "kfoldic"), c("Estimate", "SE")))
  held <- loo::kfold(fit, folds = fold, hyper = "fixed")
  expect_close(elpd(held), by_hand(fold, d, formula = fit$formula, weights = w, start = fit, hyper = "fixed"), 1e-8)
})

test_that("priors, families and other predictors are those of the fit", {
  skip_if_not_installed("loo")
  set.seed(2)
  d <- data.frame(x = runif(60), g = gl(6, 10), n = rpois(60, 4), s = sample(3:6, 60, TRUE))
  d$y <- d$x + rnorm(60, sd = exp(d$x - 1))
  d$k <- rbinom(60, d$s, 0.4)
  d$o <- cut(d$y, c(-Inf, 0, 1, Inf), labels = c("a", "b", "c"), ordered_result = TRUE)
  fold <- rep_len(1:2, 60)
  cases <- list(
    list(formula = n ~ x + (1 | g), family = poisson(), prior = list(x = normal(0, 0.3),
      "(1 | g)" = list(sd = half_normal(0.5)))),
    list(formula = list(y ~ x, sigma ~ x), prior = list(sigma = list(x = normal(0, 0.5)))),
    # two modes: where states are depends on where the search starts
    list(formula = cbind(k, s - k) ~ gp(x), family = binomial(), control = galvi_control(uncertainty = "factorised")),
    list(formula = o ~ x, family = cumulative()),
    list(formula = n ~ x, family = negbinomial(), weights = quote(s))
  )
  for (case in cases) {
    fit <- quietly(do.call(galvi, c(case, list(data = quote(d)))))
    expect_close(elpd(quietly(loo::kfold(fit, folds = fold))), {
      hand <- do.call(by_hand, c(list(fold, d), case))
      if (is.null(case$weights)) hand else hand * d$s
    }, 1e-3)
  }
})

test_that("nothing but the fit is needed", {
  skip_if_not_installed("loo")
  make <- function() {
    d <- transform(mtcars, wt = wt / 2)
    galvi(mpg ~ wt + factor(cyl), data = d)
  }
  fit <- make()
  file <- saved(fit)
  found <- elpd(loo::kfold(readRDS(file), folds = rep_len(1:4, 32)))
  expect_close(found, by_hand(rep_len(1:4, 32), transform(mtcars, wt = wt / 2), formula = mpg ~ wt + factor(cyl)), 1e-5)
})

test_that("folds are random, stratified, grouped, given, or groups", {
  skip_if_not_installed("loo")
  d <- data.frame(id = gl(9, 4), x = rnorm(36), class = factor(rep(c("a", "b", "b"), 12)), y = rnorm(36))
  fit <- galvi(y ~ x + (1 | id), d)
  folds <- function(...) attr(loo::kfold(fit, hyper = "fixed", ...), "folds")
  set.seed(1)
  expect_identical(as.vector(table(folds(K = 4))), rep(9L, 4))
  grouped <- folds(K = 3, folds = "grouped", group = "id")
  expect_true(all(table(d$id, grouped) %in% c(0, 4)))
  expect_identical(as.vector(table(grouped)), rep(12L, 3))
  # nine groups are fewer than ten folds
  expect_identical(as.vector(table(folds(folds = "grouped", group = "id"))), rep(4L, 9))
  expect_true(all(table(d$class, folds(K = 4, folds = "stratified", group = "class")) == c(3, 6)))
  expect_identical(folds(folds = "loo"), 1:36)
  expect_identical(folds(group = "id"), as.integer(d$id))
  expect_identical(folds(folds = factor(d$class)), as.integer(d$class))
  # strata of a response with classes
  of_classes <- quietly(galvi(class ~ x, d, binomial()))
  set.seed(1)
  found <- loo::kfold(of_classes, K = 3, folds = "stratified", hyper = "fixed")
  expect_true(all(table(d$class, attr(found, "folds")) == c(4, 8)))
  expect_identical(attr(found, "K"), 3L)
  # as many folds as rows are loo
  exact <- loo::kfold(fit, K = 36, hyper = "fixed")
  expect_close(sum(exact$pointwise[, 1]), sum(loo::kfold(fit, folds = "loo", hyper = "fixed")$pointwise[, 1]))
})

test_that("joint densities are those of folds, or of groups in them", {
  skip_if_not_installed("loo")
  family <- galvi_family("gaussian", variance = fixed(0.5))
  d <- data.frame(id = gl(6, 4), x = sin(1:24), y = cos(1:24))
  fit <- galvi(y ~ x + iid(id, fixed(1)), d, family, prior = list(intercept = normal(0, 1), x = normal(0, 1)))
  fold <- rep(1:3, 8)
  found <- loo::kfold(fit, folds = fold, joint = TRUE)
  V <- 1 + outer(d$x, d$x) + outer(d$id, d$id, `==`) + diag(0.5, 24)
  normal_density <- function(at, given) {
    K <- V[at, given] %*% solve(V[given, given])
    e <- d$y[at] - drop(K %*% d$y[given])
    S <- V[at, at] - K %*% V[given, at]
    -sum(e * solve(S, e)) / 2 - determinant(S)$modulus / 2 - length(at) / 2 * log(2 * pi)
  }
  expect_close(elpd(found), vapply(1:3, function(k) normal_density(which(fold == k), which(fold != k)), 0), 1e-7)
  groups <- loo::kfold(fit, folds = fold, joint = "group", group = "id")
  expect_identical(nrow(groups$pointwise), 18L)
  expect_close(groups$pointwise["4.2", 1], normal_density(which(fold == 2 & d$id == 4), which(fold != 2)), 1e-7)
  # p: the density with the rows, less that without
  expect_true(all(groups$pointwise[, "p_kfold"] > 0))
})

test_that("rows that only their fold informs are NA, and the others are not", {
  skip_if_not_installed("loo")
  d <- data.frame(x = rnorm(40), f = factor(rep(c("a", "b", "c"), c(19, 19, 2))), y = rnorm(40))
  fold <- c(rep_len(1:4, 38), 4, 4)
  for (prior in list(NULL, list(intercept = normal(0, Inf), default = normal(0, Inf)))) {
    fit <- galvi(y ~ x + f, d, prior = prior)
    expect_warning(found <- loo::kfold(fit, folds = fold), "fold 4 \\(`fc`\\)", class = "galvi_warning_cavity")
    expect_identical(which(is.na(elpd(found))), 39:40)
    expect_true(all(is.na(found$estimates)))
  }
  typed <- galvi(y ~ x + f, d, prior = normal(0, 1))
  expect_true(all(is.finite(elpd(loo::kfold(typed, folds = fold)))))
})

test_that("new levels of groups are predicted, and fits can be kept", {
  skip_if_not_installed("loo")
  fit <- galvi(Reaction ~ Days + (1 | Subject), sleepstudy)
  found <- loo::kfold(fit, K = 2, folds = "grouped", group = "Subject", hyper = "fixed", save_fits = TRUE)
  expect_identical(dim(found$fits), c(2L, 3L))
  first <- found$fits[[1, "fit"]]
  expect_s3_class(first, "galvi")
  omitted <- found$fits[[1, "omitted"]]
  expect_identical(found$fits[[1, "predicted"]], omitted)
  expect_identical(nobs(first), 180L - length(omitted))
  expect_close(unname(predict(first, sleepstudy[omitted, ], type = "density")), elpd(found)[omitted])
})

test_that("arguments are checked, and fits that cannot be refitted are refused", {
  skip_if_not_installed("loo")
  fit <- galvi(y ~ x + (1 | g), data.frame(x = 1:12, g = gl(4, 3), y = sin(1:12)))
  kfold <- function(...) loo::kfold(fit, ...)
  expect_error(kfold(K = 13), "`K` must be at most 12, the number of rows, not 13", class = "galvi_error_argument")
  expect_error(kfold(K = 5, folds = "grouped", group = "g"), "at most 4, the number of groups",
    class = "galvi_error_argument")
  expect_error(kfold(K = 1), "from 2|at least 2", class = "galvi_error_argument")
  expect_error(kfold(folds = 1:5), "each of the 12 rows", class = "galvi_error_argument")
  expect_error(kfold(folds = "groupd"), "Did you mean \"grouped\"", class = "galvi_error_argument")
  expect_error(kfold(folds = "grouped"), "needs `group`", class = "galvi_error_argument")
  expect_error(kfold(folds = "stratified"), "needs `group`", class = "galvi_error_argument")
  expect_error(kfold(folds = rep(NA, 12)), "must not be missing", class = "galvi_error_argument")
  expect_error(kfold(group = "h"), "`h` is not one of", class = "galvi_error_argument")
  expect_error(kfold(joint = "group"), "needs `group`", class = "galvi_error_argument")
  expect_error(kfold(hyper = "none"), "`hyper` must be", class = "galvi_error_argument")
  wide <- galvi(responses(USArrests) ~ factors(1), family = gaussian(), data = USArrests)
  expect_error(loo::kfold(wide), "responses\\(\\)", class = "galvi_error_argument")
})

test_that("loo_compare() and stacking take the results", {
  skip_if_not_installed("loo")
  fits <- list(line = galvi(dist ~ speed, cars), wave = galvi(dist ~ gp(speed), cars))
  folded <- lapply(fits, loo::kfold, folds = rep_len(1:5, 50))
  expect_identical(nrow(loo::loo_compare(folded)), 2L)
  weights <- loo_model_weights(fits)
  elpd <- vapply(fits, function(fit) loo.galvi(fit)$pointwise[, "elpd_loo"], numeric(50))
  expect_identical(names(weights), c("line", "wave"))
  expect_close(as.vector(weights), as.vector(loo::stacking_weights(elpd)))
  # either call, fits or their values, a list or not
  expect_identical(loo::loo_model_weights(fits), weights)
  line <- fits$line
  wave <- fits$wave
  expect_identical(loo::loo_model_weights(line, wave), weights)
  expect_identical(loo_model_weights(lapply(fits, loo)), weights)
  expect_close(sum(loo_model_weights(lapply(fits, loo), method = "pseudobma")), 1)
  # lists of other things go where they went
  draws <- list(matrix(rnorm(2000), 100), matrix(rnorm(2000), 100))
  expect_s3_class(suppressWarnings(loo::loo_model_weights(draws)), "stacking_weights")
  expect_error(loo_model_weights(fits[1]), "two models or more", class = "galvi_error_argument")
  expect_error(loo_model_weights(list(fits$line, galvi(speed ~ dist, cars))), "same response",
    class = "galvi_error_argument")
  expect_error(loo_model_weights(list(fits$line, 3)), "not 3", class = "galvi_error_argument")
})

test_that("the default mesh of spde() stays that of the fit, which contains the rows left out", {
  set.seed(3)
  d <- data.frame(x = c(0, runif(28), 40), y = c(0, runif(28), 40))
  d$z <- rnorm(30)
  fit <- galvi(list(z ~ spde(x, y), sigma ~ spde(x, y, range = fixed(5), sd = fixed(1))), d, hyper = "fixed")
  found <- kfold(fit, folds = rep(1:2, c(29, 1)), hyper = "fixed", save_fits = TRUE)
  expect_true(all(is.finite(elpd(found))))
  expect_identical(found$fits[[1, "fit"]]$mesh, fit$mesh)
})

test_that("refits have the contrasts of the fit, whatever the option is now", {
  set.seed(4)
  d <- data.frame(f = factor(rep(letters[1:3], 40)), h = rep(c("u", "v", "v", "u"), 30), g = gl(8, 15), u = gl(30, 4))
  d <- transform(d, x = rnorm(120), k = factor(rep(1:4, 30)))
  d$y <- rnorm(120, as.integer(d$f) * rep(rnorm(8), each = 15))
  d$class <- factor(rep(c("low", "mid", "high", "mid"), 30), c("low", "mid", "high"), ordered = TRUE)
  op <- options(contrasts = c("contr.sum", "contr.poly"))
  on.exit(options(op))
  fits <- list(
    galvi(list(y ~ f * h, sigma ~ h), d, prior = list(f1 = normal(0, 2), sigma = list(h1 = normal(0, 1)))),
    galvi(y ~ x + (f | g), d, galvi_family("gaussian", variance = fixed(1)), hyper = "fixed"),
    galvi(class ~ x + cs(f), d, sratio(), prior = list("f1[1]" = normal(0, 1))),
    galvi(y ~ 0 + k + rr(k | u, d = 1, columns = ~ f), d)
  )
  folds <- function() lapply(fits, kfold, folds = rep(1:2, 5, each = 12), hyper = "fixed")
  wanted <- folds()
  options(contrasts = c("contr.helmert", "contr.poly"))
  expect_equal(folds(), wanted)
})

test_that("text keeps the levels that a refit has no rows of, as a factor does", {
  set.seed(5)
  d <- data.frame(f = c(rep("rare", 3), rep(c("a", "b", "c"), 9)), y = rnorm(30))
  folds <- rep(1:3, c(3, 14, 13))
  found <- function(d, prior) kfold(galvi(y ~ f, d, prior = prior), folds = folds)$pointwise
  prior <- list(default = normal(0, 5))
  expect_equal(found(d, prior), found(transform(d, f = factor(f)), prior))
  expect_warning(lost <- found(d, NULL), "`frare`", class = "galvi_warning_cavity")
  expect_identical(which(is.na(lost[, "elpd_kfold"])), 1:3, ignore_attr = TRUE)
})

test_that("an input of gp() may be constant in the rows that a fold leaves", {
  set.seed(1)
  d <- data.frame(x = rnorm(60), g = gl(3, 20))
  d$dose <- as.numeric(d$g == "1")
  d$y <- d$x + d$dose + rnorm(60)
  fit <- galvi(y ~ x + gp(dose), d)
  found <- kfold(fit, folds = d$g, save_fits = TRUE)
  expect_true(all(is.finite(found$pointwise)))
  # without rows of dose 1 the process, which is zero at the mean of the dose, changes nothing there
  plain <- galvi(y ~ x, d[d$g != "1", ])
  expect_equal(coef(found$fits[[1L, "fit"]])["x"], coef(plain)["x"], tolerance = 1e-3)
})

test_that("a seed gives the same random folds, and leaves the random numbers as they were", {
  skip_if_not_installed("loo")
  fit <- galvi(mpg ~ wt, mtcars)
  folds <- function(...) attr(kfold(fit, K = 4, hyper = "fixed", ...), "folds")
  for (how in list(NULL, "stratified")) {
    groups <- if (!is.null(how)) "am"
    set.seed(8)
    first <- folds(folds = how, group = groups, seed = 1)
    after <- stats::runif(1)
    set.seed(8)
    expect_identical(stats::runif(1), after)
    expect_identical(folds(folds = how, group = groups, seed = 1), first)
    expect_false(identical(folds(folds = how, group = groups, seed = 2), first))
    set.seed(1)
    expect_identical(folds(folds = how, group = groups), first)
  }
  expect_error(folds(seed = "one"), "`seed`", class = "galvi_error_argument")
})

test_that("standard errors over groups of one row do not depend on the order of the rows", {
  skip_if_not_installed("loo")
  set.seed(1)
  d <- data.frame(y = rpois(30, 2), w = sample(1:3, 30, TRUE), id = sprintf("k%02d", sample(30)))
  of <- function(d) kfold(galvi(y ~ 1, d, poisson(), weights = frequency(w)), group = "id", hyper = "fixed")$estimates
  expect_equal(of(d[order(d$id), ]), of(d), tolerance = 1e-6)
})

test_that("copies of a row are divided among folds, as if each were a row", {
  skip_if_not_installed("loo")
  d <- as.data.frame(Titanic)
  fit <- galvi(Survived ~ Sex + Class, d, binomial(), weights = frequency(Freq))
  found <- kfold(fit, K = 3, hyper = "fixed", seed = 1, save_fits = TRUE)
  held <- attr(found, "folds")
  expect_identical(rowSums(held), pmax(d$Freq, 1))
  expect_lte(diff(range(colSums(held))), 1)
  # not each fold its share of a row
  expect_gt(max(abs(held[d$Freq > 100, ] - d$Freq[d$Freq > 100] / 3)), 5)
  hand <- numeric(32)
  for (k in 1:3) {
    d$left <- d$Freq - ifelse(d$Freq > 0, held[, k], 0)
    refit <- galvi(Survived ~ Sex + Class, d, binomial(), weights = left, prior = fit$prior)
    expect_close(coef(found$fits[[k, "fit"]]), coef(refit), 0.01)
    hand <- hand + (d$Freq - d$left) * predict(refit, transform(d, left = 1), type = "density")
  }
  expect_close(elpd(found), hand, 0.01)
  # the expanded rows have -1119.4 +- 2, and all copies of a row left out at once -5495
  expect_close(sum(elpd(found)), -1119.4, 5)
  one_copy <- kfold(fit, folds = "loo", hyper = "fixed")
  expect_close(one_copy$pointwise[, 1], loo(fit)$pointwise[, 1], 0.05)
  expect_close(kfold(fit, K = 3, hyper = "fixed", seed = 1, joint = TRUE)$estimates[1, 1], -1119.4, 5)
  expect_true(all(attr(kfold(fit, K = 2, folds = "stratified", hyper = "fixed"), "folds") >= 0))
  expect_error(kfold(fit, K = 3000), "at most 2,209, the number of rows and their copies", class = "galvi_error_argument")
  # rows that are given belong to their folds
  expect_identical(attr(quietly(kfold(fit, folds = rep(1:2, 16), hyper = "fixed")), "folds"), rep(1:2, 16))
})

test_that("copies of rows with pieces or decisions are divided, too, and a seed gives the same folds", {
  skip_if_not_installed("loo")
  set.seed(1)
  d <- data.frame(x = rnorm(30), n = rep(1:3, 10))
  d$k <- factor(cut(d$x + rlogis(30), c(-Inf, -1, 1, Inf), labels = FALSE), ordered = TRUE)
  d$time <- rexp(30, exp(d$x))
  d$event <- rep(c(1, 1, 0), 10)
  cases <- list(
    list(formula = k ~ cs(x), family = sratio()),
    list(formula = survival::Surv(time, event) ~ x, family = cox(breaks = 4))
  )
  for (case in cases) {
    fit <- quietly(do.call(galvi, c(case, list(data = d, weights = quote(frequency(n))))))
    all <- quietly(do.call(galvi, c(case, list(data = d[rep(1:30, d$n), ]))))
    one_copy <- quietly(kfold(fit, folds = "loo", hyper = "fixed"))$estimates
    one_row <- quietly(loo(all))$estimates
    expect_close(one_copy[1:2, 1], one_row[1:2, 1], 0.5)
    first <- quietly(kfold(fit, K = 2, hyper = "fixed", seed = 1))
    expect_identical(first, quietly(kfold(fit, K = 2, hyper = "fixed", seed = 1)))
    expect_identical(rowSums(attr(first, "folds")), as.numeric(d$n))
  }
})

# Known covariance and precision matrices of groups, and rows of several groups, against dense formulas.

flat <- list(intercept = normal(0, Inf), default = normal(0, Inf))
factorised <- galvi_control(threads = 1, hyper_tol = 1e-9, uncertainty = "factorised")

tree30 <- function() {
  path <- testthat::test_path("fixtures", "known_matrix_tree30.csv")
  read.csv(path)
}

tree_matrix <- function(d) {
  A <- as.matrix(d[grep("^A", names(d))])
  dimnames(A) <- list(d$sp, d$sp)
  A
}

# a coalescent tree's shared branches: covariances of its tips, of height one
tree_covariance <- function(n, seed) {
  set.seed(seed)
  A <- diag(0, n)
  lines <- as.list(seq_len(n))
  time <- 0
  times <- cumsum(rexp(n - 1, choose(n:2, 2)))
  times <- times / times[n - 1]
  for (time in times) {
    pair <- sample(length(lines), 2)
    for (a in lines[[pair[1]]]) for (b in lines[[pair[2]]]) A[a, b] <- A[b, a] <- 1 - time
    lines <- c(lines[-pair], list(unlist(lines[pair])))
  }
  diag(A) <- 1
  dimnames(A) <- list(paste0("s", seq_len(n)), paste0("s", seq_len(n)))
  A
}

# REML's value and estimates at a covariance of y
generalised <- function(y, X, V) {
  W <- solve(V, X)
  beta <- solve(crossprod(X, W), crossprod(W, y))
  r <- y - X %*% beta
  value <- -0.5 * ((length(y) - ncol(X)) * log(2 * pi) + determinant(V)$modulus + determinant(crossprod(X, W))$modulus +
    sum(r * solve(V, r)))
  list(beta = drop(beta), se = sqrt(diag(solve(crossprod(X, W)))), value = as.numeric(value), r = drop(r))
}

test_that("a tree of 30 species has the gold values, held and learned", {
  d <- tree30()
  A <- tree_matrix(d)
  gold <- d[c("effects", "held_effects")]
  held <- galvi(y ~ x + (1 | gr(sp, cov = A)), d, galvi_family("gaussian", variance = fixed(0.25)),
    prior = c(flat, list(sd = 1)), control = factorised)
  expect_close(unname(coef(held)), c(1.1278224245, 0.4827762253), 1e-8)
  expect_close(unname(sqrt(diag(vcov(held)))), c(0.5633688238, 0.15138831161), 1e-8)
  expect_close(held$elbo, -33.8415590129, 1e-8)
  expect_close(ranef(held)$sp$mean[match(d$sp, rownames(ranef(held)$sp))], gold$held_effects, 1e-8)
  fit <- galvi(y ~ x + (1 | gr(sp, cov = A)), d, prior = flat, control = factorised)
  expect_close(fit$hyper$estimate[grep("variance$", fit$hyper$name)], c(1.0982953603, 0.14249765595), 1e-3)
  expect_lt(max(abs(coef(fit) - c(1.1158007908, 0.47808118201)) / c(0.58113971473, 0.13253022233)), 1e-4)
  expect_close(fit$elbo, -33.4664069171, tol$elbo)
  # the same by other words, and by the inverse
  Q <- solve(A)
  for (formula in list(y ~ x + iid(sp, cov = A), y ~ x + propto(0 + sp | 1, A), y ~ x + (1 | gr(sp, precision = Q)))) {
    other <- galvi(formula, d, prior = flat, control = factorised)
    expect_close(other$elbo, fit$elbo, tol$elbo)
  }
})

test_that("a phylogeny of 200 species agrees with the dense formula, in any order of the levels", {
  A <- tree_covariance(200, 3)
  set.seed(4)
  d <- data.frame(sp = sample(rownames(A)), x = rnorm(200))
  b <- drop(t(chol(A)) %*% rnorm(200))
  d$y <- 1 + d$x + b[match(d$sp, rownames(A))] + rnorm(200) / 2
  fit <- galvi(y ~ x + (1 | gr(sp, cov = A)), d, galvi_family("gaussian", variance = fixed(0.25)),
    prior = c(flat, list(sd = 1.3)), control = factorised)
  V <- 1.69 * A[d$sp, d$sp] + diag(0.25, 200)
  wanted <- generalised(d$y, cbind(1, d$x), V)
  expect_close(fit$elbo, wanted$value, 1e-8)
  expect_close(unname(coef(fit)), wanted$beta, 1e-8)
  expect_close(unname(sqrt(diag(vcov(fit)))), wanted$se, 1e-8)
  b <- 1.69 * A[, d$sp] %*% solve(V, wanted$r)
  expect_close(ranef(fit)$sp$mean, drop(b), 1e-8)
  # sparse classes and shuffled rows are the same matrix
  skip_if_not_installed("Matrix")
  mixed <- sample(200)
  for (B in list(Matrix::Matrix(A[mixed, mixed], sparse = TRUE), methods::as(A, "dgCMatrix"))) {
    other <- galvi(y ~ x + iid(sp, variance = fixed(1.69), cov = B), d,
      galvi_family("gaussian", variance = fixed(0.25)), prior = flat, control = factorised)
    expect_close(other$elbo, wanted$value, 1e-8)
  }
})

test_that("levels without rows are predicted, and slopes have Omega (x) A", {
  A <- tree_covariance(12, 5)
  set.seed(6)
  d <- data.frame(sp = rep(rownames(A)[1:9], each = 4), x = rnorm(36), f = factor(rep(1:2, 18)))
  d$y <- 1 + rnorm(9)[match(d$sp, rownames(A))] + d$x + rnorm(36)
  d$k <- rpois(36, exp(d$y / 2))
  fit <- galvi(y ~ x + (1 + x | gr(sp, cov = A)), d, galvi_family("gaussian", variance = fixed(0.5)),
    prior = c(flat, list(sd = c(1.2, 0.7), cor = 0.4)), control = factorised)
  S <- matrix(c(1.44, 0.336, 0.336, 0.49), 2)
  Z <- cbind(1, d$x)
  between <- function(sp, Z, other, W) A[sp, other] * (Z %*% S %*% t(W))
  V <- between(d$sp, Z, d$sp, Z) + diag(0.5, 36)
  wanted <- generalised(d$y, Z, V)
  expect_close(fit$elbo, wanted$value, 1e-8)
  new <- data.frame(sp = rownames(A)[10:12], x = c(-1, 0, 2))
  W <- cbind(1, new$x)
  expected <- drop(W %*% wanted$beta + between(new$sp, W, d$sp, Z) %*% solve(V, wanted$r))
  expect_close(unname(predict(fit, new)), expected, tol$solve)
  expect_identical(rownames(ranef(fit)[[1]]), rownames(A))
  # averages over groups: the mean of the levels' variances
  B <- A * rep(c(1, 2), 6) ^ 0.5 * rep(rep(c(1, 2), 6) ^ 0.5, each = 12)
  counts <- galvi(k ~ x + (1 | gr(sp, cov = B)), d, poisson(), control = factorised, prior = list(sd = 0.5))
  mean <- predict(counts, d, type = "link", re_formula = NA, se.fit = TRUE)
  averaged <- predict(counts, d, re_formula = "integrate")
  expect_close(averaged, exp(mean$fit + mean$se.fit^2 / 2 + 0.125 * mean(diag(B))), 1e-6)
  joint <- galvi(k ~ x + (1 | gr(sp, cov = B)), d, poisson())
  expect_true(all(is.finite(predict(joint, data.frame(sp = "s12", x = 1), interval = "prediction"))))
  expect_true(all(is.finite(predict(joint, re_formula = ~ (1 | gr(sp, cov = B))))))
})

test_that("pedigrees have a sparse precision, and second predictors a known matrix", {
  skip_if_not_installed("Matrix")
  # half sibs: sires 1..6, then animals of a known sire; Henderson's rules
  sire <- rep(1:6, each = 5)
  n <- 36
  i <- c(1:6, 6 + seq_along(sire), 6 + seq_along(sire), sire, sire)
  j <- c(1:6, 6 + seq_along(sire), sire, 6 + seq_along(sire), sire)
  x <- c(rep(1, 6), rep(4 / 3, 30), rep(-2 / 3, 60), rep(1 / 3, 30))
  ids <- paste0("a", seq_len(n))
  Q <- Matrix::sparseMatrix(i = i, j = j, x = x, dims = c(n, n), dimnames = list(ids, ids))
  A <- as.matrix(solve(Q))
  expect_close(A["a7", "a8"], 0.25)
  set.seed(7)
  d <- data.frame(id = ids[-(1:6)], x = rnorm(30))
  d$y <- rnorm(30)
  fit <- galvi(y ~ x + (1 | gr(id, precision = Q)), d, galvi_family("gaussian", variance = fixed(0.5)),
    prior = c(flat, list(sd = 0.8)), control = factorised)
  wanted <- generalised(d$y, cbind(1, d$x), 0.64 * A[d$id, d$id] + diag(0.5, 30))
  expect_close(fit$elbo, wanted$value, 1e-8)
  expect_identical(nrow(ranef(fit)$id), 36L)
  both <- galvi(list(y ~ x, sigma ~ (1 | gr(id, precision = Q))), d, prior = list(sigma = list(sd = 0.3)))
  expect_true(is.finite(both$elbo))
  expect_named(VarCorr(both), "id")
})

test_that("equalto() is a known covariance: a meta-analysis", {
  set.seed(8)
  v <- runif(15, 0.05, 0.3)
  V <- diag(v)
  V[cbind(1:14, 2:15)] <- V[cbind(2:15, 1:14)] <- 0.2 * sqrt(v[-1] * v[-15])
  dimnames(V) <- list(1:15, 1:15)
  d <- data.frame(obs = factor(1:15), study = factor(rep(1:5, 3)), y = rnorm(15, 1))
  fit <- galvi(y ~ 1 + (1 | study) + equalto(0 + obs | 1, V), d, galvi_family("gaussian", variance = fixed(1e-4)),
    prior = c(flat, list("(1 | study)" = list(sd = 0.4))), control = factorised)
  wanted <- generalised(d$y, cbind(rep(1, 15)), V + 0.16 * outer(d$study, d$study, "==") + diag(1e-4, 15))
  expect_close(fit$elbo, wanted$value, tol$elbo)
  expect_close(unname(coef(fit)), wanted$beta, tol$solve)
})

# ---- several groups a row ----

test_that("mm() adds weighted effects of all groups of a row", {
  set.seed(9)
  d <- data.frame(g1 = sample(letters[1:6], 50, TRUE), g2 = sample(letters[3:8], 50, TRUE), x = rnorm(50),
    w1 = runif(50), w2 = runif(50))
  d$y <- rnorm(50)
  groups <- sort(unique(c(d$g1, d$g2)))
  membership <- function(w1, w2) w1 * outer(d$g1, groups, "==") + w2 * outer(d$g2, groups, "==")
  held <- function(formula, data = d) {
    galvi(formula, data, galvi_family("gaussian", variance = fixed(0.5)), prior = c(flat, list(sd = 1.3)),
      control = factorised)
  }
  value <- function(M) generalised(d$y, cbind(1, d$x), 1.69 * tcrossprod(M) + diag(0.5, 50))$value
  half <- held(y ~ x + (1 | mm(g1, g2)))
  expect_close(half$elbo, value(membership(0.5, 0.5)), 1e-8)
  scaled <- held(y ~ x + (1 | mm(g1, g2, weights = cbind(w1, w2))))
  expect_close(scaled$elbo, value(membership(d$w1 / (d$w1 + d$w2), d$w2 / (d$w1 + d$w2))), 1e-8)
  plain <- held(y ~ x + (1 | mm(g1, g2, weights = cbind(w1, w2), scale = FALSE)))
  expect_close(plain$elbo, value(membership(d$w1, d$w2)), 1e-8)
  # a missing group where the weight is zero
  alone <- transform(d, g2 = ifelse(seq_len(50) <= 5, NA, g2), w2 = ifelse(seq_len(50) <= 5, 0, w2))
  expect_close(predict(scaled, d[1:3, "x", drop = FALSE], re_formula = NA),
    drop(cbind(1, d$x[1:3]) %*% coef(scaled)), tol$solve)
  some <- held(y ~ x + (1 | mm(g1, g2, weights = cbind(w1, w2))), alone)
  expect_identical(nobs(some), 50L)
  M <- membership(ifelse(1:50 <= 5, 1, d$w1 / (d$w1 + d$w2)), ifelse(1:50 <= 5, 0, d$w2 / (d$w1 + d$w2)))
  expect_close(some$elbo, value(M), 1e-8)
  # elsewhere one leaves its row out, as any missing value does
  expect_close(held(y ~ x + (1 | mm(g1, g2)), alone)$elbo, held(y ~ x + (1 | mm(g1, g2)), alone[-(1:5), ])$elbo, tol$elbo)
  gap <- transform(alone, g1 = replace(g1, 50, NA))
  expect_identical(unclass(held(y ~ x + (1 | mm(g1, g2, weights = cbind(w1, w2))), gap)$na.action)[[1]], 50L)
  expect_identical(is.na(unname(predict(some, gap))), seq_len(50) == 50)
  # effects of new and known groups, and of two memberships of one
  b <- ranef(half, condVar = TRUE)[[1]]
  expect_setequal(rownames(b), groups)
  new <- data.frame(g1 = c("a", "z", "z"), g2 = c("b", "y", "z"), x = 0)
  p <- predict(half, new, type = "link", se.fit = TRUE)
  expect_close(unname(p$fit[1]), unname(coef(half)[1] + (b["a", 1] + b["b", 1]) / 2), tol$solve)
  expect_close(unname(p$se.fit[2:3])^2, vcov(half)[1, 1] + 1.69 * c(0.5, 1), tol$solve)
  expect_close(predict(half, new, re_formula = NA), rep(unname(coef(half)[1]), 3), tol$solve)
  slopes <- galvi(y ~ x + (1 + x | mm(g1, g2)), d)
  expect_true(all(is.finite(predict(slopes, new, interval = "prediction"))))
  expect_true(all(is.finite(predict(slopes, re_formula = ~ (0 + x | mm(g1, g2))))))
  refused <- function(formula, message, what, data = d) {
    expect_error(galvi(formula, data), message, class = paste0("galvi_error_", what))
  }
  refused(y ~ (1 | mm(g1)), "two groupings", "formula")
  refused(y ~ (1 | mm(g1, g2, weights = w1)), "must be 2 columns", "data")
  refused(y ~ (1 | mm(g1, g2, weights = cbind(w1, -w2))), "not negative", "data")
})

# ---- what is refused ----

test_that("matrices that are none are refused", {
  d <- data.frame(g = factor(rep(c("a", "b", "c"), 4)), y = rnorm(12), f = gl(2, 6))
  A <- matrix(0.3, 3, 3, dimnames = list(letters[1:3], letters[1:3]))
  diag(A) <- 1
  refused <- function(cov, message, what = "argument") {
    expect_error(galvi(y ~ (1 | gr(g, cov = cov)), d), message, class = paste0("galvi_error_", what))
  }
  refused(replace(A, 2, 0.5), "must be symmetric: the entries of \"b\" and \"a\"")
  refused(replace(A, c(2, 4), 2), "smallest eigenvalue is -1")
  refused(unname(A), "must have the levels of the group as row names")
  refused(A[1:2, 1:2], "has \"c\" \\(row 3\\), which is not among the levels", "data")
  refused(replace(A, A == 0.3, 1), "is singular.*\"a\" and \"b\" are the same")
  refused(replace(A, 1, -1), "diagonal positive")
  refused(replace(A, 2, NA), "finite entries")
  refused(A[, 1:2], "square matrix")
  refused("A", "must be a symmetric matrix")
  refused(`dimnames<-`(A, list(c("a", "a", "c"), c("a", "a", "c"))), "row 2 has \"a\" again")
  expect_error(galvi(y ~ (1 | gr(g, precision = B)), list2DF(d)), "`B` is not found", class = "galvi_error_argument")
  B <- replace(A, c(2, 4), 2)
  expect_error(galvi(y ~ (1 | gr(g, precision = B)), d), "must be positive definite", class = "galvi_error_argument")
  expect_error(galvi(y ~ (1 | gr(g, cov = A, precision = A)), d), "not both", class = "galvi_error_argument")
  expect_error(galvi(y ~ (1 | gr(g, by = f, cov = A)), d), "not both", class = "galvi_error_formula")
  expect_error(galvi(y ~ (1 | gr(g, cov = A, id = "p")), d), "ties effects", class = "galvi_error_formula")
  expect_error(galvi(y ~ propto(0 + g | 1), d), "one matrix", class = "galvi_error_formula")
  # two matrices for one group are two terms
  fit <- galvi(y ~ (1 | g) + (1 | gr(g, cov = A)), d, hyper = "fixed")
  expect_identical(fit$design$labels[-1], c("iid(g)", "iid(g, cov = A)"))
  expect_error(predict(galvi(y ~ iid(g, cov = A), d, hyper = "fixed"), data.frame(g = "z")), "not among the levels",
    class = "galvi_error_newdata")
})

test_that("a known covariance beside an effect of each row says what noise to give", {
  set.seed(6)
  d <- data.frame(study = gl(5, 4), id = gl(20, 1), y = rnorm(20))
  V <- diag(20) / 4 + 0.05
  dimnames(V) <- list(d$id, d$id)
  held <- function(variance) galvi_family("gaussian", variance = fixed(variance))
  formula <- y ~ 1 + (1 | study / id) + equalto(0 + id | 1, V)
  expect_error(galvi(formula, d, held(0)), "variance = fixed(1e-6)", fixed = TRUE, class = "galvi_error_numeric")
  # what is advised is the same model
  small <- galvi(formula, d, held(1e-6), verbose = FALSE)
  learned <- galvi(y ~ 1 + (1 | study) + equalto(0 + id | 1, V), d, verbose = FALSE)
  expect_equal(coef(small), coef(learned), tolerance = 0.01)
  expect_equal(vcov(small), vcov(learned), tolerance = 0.02)
})

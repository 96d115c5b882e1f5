# Rows are called what they are called in the user's data: in the names of results, as lm() has them, and in messages.

# Random data with missing values, row names of several kinds and weights of zero.
named_data <- function(kind, n = 16) {
  d <- data.frame(x = rnorm(n), z = rnorm(n), w = sample(c(0, 1, 2), n, TRUE, c(1, 4, 1)))
  d$y <- 1 + d$x + rnorm(n)
  d$x[sample(n, 2)] <- NA
  d$y[sample(n, 1)] <- NA
  switch(kind, text = `row.names<-`(d, paste0("unit ", sample(n))), part = d[sort(sample(n, n - 3)), ],
    resampled = d[sample(n, n, TRUE), ], d)
}

name_kinds <- c("automatic", "text", "part", "resampled")

test_that("names are those of lm() after NA, subset and weights of zero", {
  rows_of <- list(
    fitted, residuals, predict, hatvalues, cooks.distance, rstandard,
    function(fit) stats::setNames(model.frame(fit)[[1L]], row.names(model.frame(fit))),
    function(fit) stats::setNames(model.matrix(fit)[, 1L], rownames(model.matrix(fit))),
    function(fit) stats::setNames(simulate(fit, seed = 1)[[1L]], row.names(simulate(fit, seed = 1)))
  )
  set.seed(1)
  compared <- 0
  for (kind in name_kinds) for (action in c("na.omit", "na.exclude")) for (args in list(
    alist(), alist(subset = z > -0.5), alist(weights = w), alist(subset = z > -0.5, weights = w)
  )) {
    d <- named_data(kind)
    args <- c(list(quote(y ~ x), data = d, na.action = get(action)), args)
    reference <- do.call(stats::lm, args)
    fit <- do.call(galvi, args)
    for (rows in rows_of) {
      # simulate() of lm() draws nothing for weights of zero, and lm.influence() may end in an error with them
      expected <- tryCatch(names(suppressWarnings(rows(reference))), error = function(e) NULL)
      if (is.null(expected) && !is.null(args$weights) && action == "na.exclude") next
      if (action == "na.exclude" && !is.null(args$weights) && (anyNA(expected) || is.unsorted(
        match(expected, names(fitted(reference)))
      ))) next # lm.influence() puts the places of weights of zero and of missing values into each other's
      expect_identical(names(rows(fit)), expected, info = paste(kind, action))
      compared <- compared + 1
    }
    used <- row.names(model.frame(reference))
    expect_identical(rownames(loo.galvi(fit)$pointwise), used)
    expect_identical(row.names(model.frame(fit)), used)
  }
  expect_gt(compared, 200)
})

test_that("the other front ends name rows as lm() does", {
  set.seed(2)
  for (kind in name_kinds) {
    d <- named_data(kind)
    expected <- names(fitted(lm(y ~ x + z, d)))
    expect_identical(names(fitted(galvi(d[c("x", "z")], d$y))), expected)
    if (!anyDuplicated(row.names(d))) {
      x <- as.matrix(d[c("x", "z")])
      if (kind != "automatic") expect_identical(names(fitted(galvi(x, d$y))), expected)
    }
    small <- galvi(y ~ x + z, row_source(d))
    expect_identical(names(fitted(small)), as.character(match(expected, row.names(d))))
    Y <- as.matrix(d[c("x", "y")])
    wide <- galvi(responses(Y) ~ z + factors(1), d, hyper = "fixed")
    expect_identical(rownames(fitted(wide)), row.names(d))
    expect_identical(is.na(residuals(wide)), is.na(`dimnames<-`(Y, dimnames(residuals(wide)))))
    two <- galvi(list(y ~ x, sigma ~ z), d)
    expect_identical(names(fitted(two)), names(fitted(lm(y ~ x, d))))
  }
})

# Calls that meet a bad value of one column. In the planted row only this column is bad.
planted_calls <- function() {
  g4 <- list(2, c(1, 3), c(2, 4), 3)
  list(
    list("y", Inf, y ~ x + z), list("x", Inf, y ~ x + z), list("x", -Inf, y ~ gp(x)),
    list("x", Inf, y ~ gp(x, scale = TRUE)), list("x", Inf, y ~ spde(x, z)), list("x", Inf, y ~ scale(x)),
    list("z", Inf, y ~ iid(g, by = z)), list("z", Inf, y ~ (1 + z | g)), list("z", Inf, list(y ~ x, sigma ~ z)),
    list("z", Inf, y ~ x + offset(z)), list("z", Inf, y ~ x, offset = quote(z)),
    list("w", -1, y ~ x, weights = quote(w)), list("w", Inf, count ~ x, family = poisson(), weights = quote(w)),
    list("count", 1.5, count ~ x, family = poisson()), list("count", -1, count ~ x, family = negbinomial()),
    list("count", -2, count ~ x, family = zero_inflated(poisson())),
    list("count", 1.5, cbind(count, 20) ~ x, family = binomial()),
    list("count", 1.5, cbind(u = count, v = 3) ~ x, family = categorical()),
    list("share", 0.33, share ~ x, family = binomial(), weights = quote(5 * w)),
    list("u", 1, u ~ x, family = beta_family()), list("u", -1, u ~ x, family = exponential()),
    list("node", 9, y ~ gmrf(node, graph = g4)), list("node", 1.5, y ~ rw1(node)),
    list("y", Inf, responses(cbind(y, z)) ~ x + factors(1)), list("x", Inf, responses(cbind(y, z)) ~ x + factors(1)),
    list("w", -1, responses(cbind(y, z)) ~ x + factors(1), weights = quote(w)),
    list("count", -1, responses(cbind(y, count)) ~ x + factors(1), family = list(gaussian(), poisson()))
  )
}

planted_data <- function(n = 16) {
  d <- data.frame(
    x = rnorm(n), y = rnorm(n), z = runif(n), g = rep(c("a", "b"), n / 2), w = 1, count = rpois(n, 3) + 1,
    share = rep(1:4, n / 4) / 5, u = runif(n, 0.1, 0.9), node = rep(1:4, n / 4)
  )
  d$y[1] <- NA
  d$x[3] <- NA
  d$g[4] <- NA
  d
}

said_of <- function(expr) {
  tryCatch({
    suppressMessages(suppressWarnings(expr))
    "no error"
  }, galvi_error = conditionMessage)
}

test_that("a planted bad value is named by its row in the data", {
  set.seed(3)
  for (kind in name_kinds[1:3]) for (planted in planted_calls()) {
    d <- planted_data()
    at <- sample(5:16, 1)
    d[[planted[[1L]]]][at] <- planted[[2L]]
    row <- paste0("\\brow ", c(automatic = at, text = sprintf("\"r[.]%d\"", at), part = sprintf("\"?%d\\b", at))[[kind]])
    if (kind == "text") row.names(d) <- paste0("r.", 1:16)
    if (kind == "part") d <- d[-2, ]
    said <- said_of(do.call(galvi, c(list(planted[[3L]], d), planted[-(1:3)], list(subset = quote(z < 2 | z == Inf)))))
    expect_match(said, row, info = deparse1(planted[[3L]]))
  }
})

test_that("a bad value in new data is named by its row there", {
  set.seed(4)
  d <- planted_data()
  bad <- `row.names<-`(d, paste0("r.", 1:16))
  bad$x[9] <- Inf
  bad$g[10] <- "other"
  fit <- galvi(y ~ x, d)
  expect_match(said_of(predict(fit, bad)), "row \"r.9\" has Inf", fixed = TRUE)
  expect_match(said_of(add_data(fit, bad)), "row \"r.9\" has Inf", fixed = TRUE)
  expect_match(said_of(predict(fit, bad[-9, ], na.action = na.fail)), "row \"r.3\"", fixed = TRUE)
  expect_match(said_of(residuals(fit, newdata = transform(d, y = replace(y, 7, -Inf)))), "row 7 has -Inf", fixed = TRUE)
  by_group <- galvi(y ~ x + g, d)
  expect_match(said_of(predict(by_group, bad)), "row \"r.10\"", fixed = TRUE)
  wide <- galvi(responses(cbind(y, z)) ~ x + factors(1), d, hyper = "fixed")
  expect_match(said_of(predict(wide, bad)), "row \"r.9\" has Inf", fixed = TRUE)
  rows <- as.matrix(bad[c("y", "z")])
  rows[12, 2] <- Inf
  expect_match(said_of(predict(wide, d, responses = rows)), "column `z`", fixed = TRUE)
})

test_that("rows that the core speaks of are those of the data", {
  labels <- frame_labels(data.frame(x = 1:2, row.names = c("b", "a")))
  as_of_core <- function(text) stop(structure(class = c("std::range_error", "C++Error", "error", "condition"),
    list(message = text, call = NULL)))
  said <- said_of(naming_rows(labels, as_galvi_error(as_of_core("the response in row 2, 7, and row 1 at arrow 3"))))
  expect_match(said, "^the response in row \"a\", 7, and row \"b\" at arrow 3[.]")
  expect_identical(row_label(3L), "3")
})

test_that("rows of a source are counted from its first", {
  set.seed(5)
  d <- planted_data()
  d$count[14] <- -1
  at <- 0
  chunks <- split(d, rep(1:4, each = 4))
  rows <- function(reset) if (reset) at <<- 0 else if (at < 4) chunks[[at <<- at + 1]]
  expect_match(said_of(galvi(count ~ x, rows, poisson(), subset = z < 2)), "row 14 has -1", fixed = TRUE)
  fit <- galvi(y ~ x, d)
  d$x[11] <- Inf
  chunks <- split(d, rep(1:4, each = 4))
  expect_match(said_of(predict(fit, rows)), "row 11 has Inf", fixed = TRUE)
})

test_that("new data without rows, or with incomplete rows alone, give results of the right shape", {
  set.seed(6)
  d <- data.frame(x = c(NA, runif(39)), y = rnorm(40), z = rnorm(40))
  none <- d[0, ]
  fits <- list(galvi(y ~ x, d), galvi(list(y ~ x, sigma ~ z), d), galvi(y ~ splines::ns(x, 3), d))
  for (fit in fits) {
    for (type in c("response", "link")) expect_length(predict(fit, none, type = type), 0)
    for (type in c("survival", "cdf")) {
      at <- if (type == "cdf") list(q = 1:2) else list(times = 1:2)
      expect_identical(dim(do.call(predict, c(list(fit, none, type = type), at))), c(0L, 2L))
      limits <- do.call(predict, c(list(fit, none, type = type, interval = "credible"), at))
      expect_identical(dim(limits), c(0L, 2L, 3L))
    }
    expect_length(residuals(fit, newdata = none), 0)
    expect_identical(predict(fit, d[1, ]), c(`1` = NA_real_))
    expect_identical(is.na(predict(fit, d[1:3, ])), c(`1` = TRUE, `2` = FALSE, `3` = FALSE))
  }
  wide <- galvi(responses(cbind(y, z)) ~ x + factors(1), d, hyper = "fixed")
  expect_identical(dim(predict(wide, none, type = "cdf", q = 1:2)), c(0L, 2L, 2L))
  expect_match(said_of(galvi(y ~ splines::ns(x, 3), transform(d, x = replace(x, 3, Inf)))), "`x` must be finite; row 3")
  expect_match(said_of(galvi(y ~ poly(x, 2), d)), "`x` has some, in row 1", fixed = TRUE)
})

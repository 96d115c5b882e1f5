# plot(fit) of fixed effects: conditional effects are predictions at one value of the other variables.

cars_table <- function() {
  transform(mtcars, cyl = factor(cyl), am = am == 1, text = ifelse(gear == 3, "three", "more"),
    day = as.Date("2020-01-01") + seq_along(mpg))
}

# In the convention of package biglm
in_pieces <- function(d, size) {
  at <- 0
  function(reset = FALSE) {
    if (reset) {
      at <<- 0
      return(invisible())
    }
    rows <- at + seq_len(min(size, nrow(d) - at))
    at <<- at + length(rows)
    if (length(rows)) d[rows, ]
  }
}

# The panel's numbers are predict()'s with credible limits.
expect_predictions <- function(panel, fit, new, ...) {
  predicted <- predict(fit, new, interval = "credible", ...)
  expect_equal(as.matrix(panel[c("fit", "lwr", "upr")]), predicted, ignore_attr = TRUE, tolerance = 1e-7)
}

test_that("variables have conditional effects at means and first levels, interactions a curve for each level", {
  d <- cars_table()
  fit <- galvi(mpg ~ wt * cyl + log(hp) + am + text, d, hyper = "fixed")
  panels <- plot_away(fit, n = 5)
  expect_named(panels, c("wt", "cyl", "hp", "am", "text", "wt:cyl"))
  kept <- data.frame(wt = mean(d$wt), cyl = "4", hp = mean(d$hp), am = FALSE, text = "more")
  with <- function(...) {
    given <- list(...)
    cbind(as.data.frame(given), kept[setdiff(names(kept), names(given))])
  }
  expect_equal(range(panels$hp$hp), range(d$hp))
  expect_predictions(panels$wt, fit, with(wt = panels$wt$wt))
  expect_predictions(panels$hp, fit, with(hp = panels$hp$hp))
  expect_predictions(panels$cyl, fit, with(cyl = c("4", "6", "8")))
  expect_predictions(panels$am, fit, with(am = c(FALSE, TRUE)))
  expect_predictions(panels$text, fit, with(text = c("more", "three")))
  expect_identical(as.character(panels$cyl$cyl), c("4", "6", "8"))
  expect_identical(panels$text$text, c("more", "three"))
  both <- panels$`wt:cyl`
  expect_identical(as.character(both$series), rep(c("4", "6", "8"), each = 5))
  expect_predictions(both, fit, with(wt = both$wt, cyl = both$cyl))
  expect_identical(attr(panels$wt, "conditions"), list(
    cyl = factor("4", c("4", "6", "8")), hp = mean(d$hp), am = FALSE, text = "more"
  ))
})

test_that("calls of a variable are drawn along the variable; what cannot be computed again, along itself", {
  d <- transform(mtcars, day = as.Date("2020-01-01") + seq_along(mpg))
  knots <- c(2.5, 3.5)
  fit <- galvi(mpg ~ splines::ns(wt, knots = knots) + poly(hp, 2) + I(qsec^2) + qsec + factor(cyl) + ordered(gear) +
    (drat > 3.5) + day, d, hyper = "fixed")
  panels <- plot_away(fit, n = 5)
  expect_named(panels, c("wt", "hp", "qsec", "cyl", "gear", "drat", "day"))
  kept <- as.list(colMeans(d[c("wt", "hp", "qsec", "drat")]))
  kept <- as.data.frame(c(kept, list(cyl = 4, gear = 3, day = mean(d$day))))
  for (name in names(panels)) {
    new <- kept[rep(1, nrow(panels[[name]])), ]
    new[[name]] <- panels[[name]][[name]]
    expect_predictions(panels[[name]], fit, new)
  }
  expect_identical(panels$cyl$cyl, c(4, 6, 8))
  expect_s3_class(panels$day$day, "Date")
  own <- galvi(mpg ~ cut(wt, 3) + I(hp - mean(hp)), d, hyper = "fixed")
  panels <- plot_away(own, n = 5)
  expect_named(panels, c("cut(wt, 3)", "I(hp - mean(hp))"))
  expect_equal(range(panels[[2]][[1]]), range(d$hp - mean(d$hp)))
})

test_that("the variables of calls are kept with the fit: of a subset, without rows with missing values, without data", {
  d <- mtcars
  d$hp[3] <- NA
  fit <- galvi(mpg ~ log(hp) + wt, d, subset = cyl > 4, hyper = "fixed")
  used <- d[d$cyl > 4 & !is.na(d$hp), ]
  rm(d)
  panel <- plot_away(unserialize(serialize(fit, NULL)), n = 5)$hp
  expect_equal(range(panel$hp), range(used$hp))
  x <- c(1, 5, 2, 8, 9)
  y <- c(2, 3, 4, 7, 6)
  expect_equal(range(plot_away(galvi(y ~ sqrt(x), hyper = "fixed"), n = 5)$x$x), c(1, 9))
  old <- fit
  attr(old$data, "inner") <- NULL
  expect_named(plot_away(old, n = 5), c("log(hp)", "wt"))
})

test_that("interactions of two numbers have curves at the mean and one sd to either side, of three a panel each", {
  fit <- galvi(mpg ~ wt * hp, mtcars, hyper = "fixed")
  panel <- plot_away(fit, n = 5)$`wt:hp`
  values <- mean(mtcars$hp) + c(-1, 0, 1) * sd(mtcars$hp)
  expect_equal(unique(panel$hp), values)
  expect_predictions(panel, fit, panel[c("wt", "hp")])
  # a number of two values is a group
  three <- galvi(mpg ~ wt * hp * am, mtcars, hyper = "fixed")
  panels <- plot_away(three, terms = "wt:hp:am", n = 5)
  expect_named(panels, c("wt:hp:am, am = 0", "wt:hp:am, am = 1"))
  expect_predictions(panels[[2]], three, panels[[2]][c("wt", "hp", "am")])
  expect_true("wt:hp:am, am = 1" %in% names(plot_away(three, n = 5)))
})

test_that("`terms` names variables, several of them, terms and all fixed effects", {
  fit <- galvi(mpg ~ wt * am + poly(qsec, 2) + gp(hp), mtcars, hyper = "fixed")
  named <- function(terms) names(plot_away(fit, terms = terms, n = 5))
  expect_identical(named("wt"), "wt")
  expect_identical(named(c("wt", "am")), c("wt", "am"))
  expect_identical(named("wt:am"), "wt:am")
  # as it is typed, in the formula or not
  reversed <- plot_away(fit, terms = "am:wt", n = 5)
  expect_identical(unique(reversed[[1]]$am), c(0, 1))
  expect_identical(nlevels(reversed[[1]]$series), 3L)
  expect_identical(named("wt:qsec"), "wt:qsec")
  expect_identical(named("poly(qsec, 2)"), "qsec")
  expect_identical(named("hp"), "hp")
  expect_identical(named(c("gp(hp)", "wt")), c("wt", "gp(hp)"))
  expect_identical(named("fixed"), c("wt", "am", "qsec", "wt:am"))
  expect_identical(named(NULL), c("wt", "am", "qsec", "wt:am", "gp(hp)"))
  expect_error_snapshot({
    plot(fit, terms = "wtt")
    plot(fit, terms = "wt:amm")
    plot(fit, terms = 1)
    plot(fit, terms = c("wt", NA))
    plot(fit, terms = character())
    plot(fit, terms = "wt:am:hp:qsec")
  })
})

test_that("effects are those of the population, of rates per unit of exposure and of probabilities", {
  herds <- data.frame(period = gl(4, 1, 40), herd = gl(10, 4), size = 10, ill = c(5, 3, 2, 1, 2, 0, 1, 4))
  fit <- galvi(cbind(ill, size - ill) ~ period + (1 | herd), herds, binomial(), hyper = "fixed")
  panels <- plot_away(fit)
  expect_predictions(panels$period, fit, data.frame(period = levels(herds$period)), re_formula = NA)
  rates <- galvi(count ~ spray + offset(log(size)), transform(spray_table(), size = rep(1:6, length.out = 72)),
    poisson(), hyper = "fixed")
  panel <- plot_away(rates)$spray
  expect_predictions(panel, rates, data.frame(spray = panel$spray, size = 1))
  text <- drawn_text(drawn(rates))
  expect_true("mean of count per unit of exposure" %in% text)
  expect_true(any(grepl("rates per unit of exposure", text)))
  # regions too are left out
  graph <- lattice_of(4, letters[1:4])
  d <- data.frame(g = rep(letters[1:4], 5), x = sin(1:20), y = rep(1:4, 5) + cos(1:20))
  field <- galvi(y ~ x + gmrf(g, graph = graph), d, hyper = "fixed")
  panel <- plot_away(field, terms = "x", n = 3)$x
  contributions <- predict(field, data.frame(x = panel$x, g = "a"), type = "terms")
  expect_equal(panel$fit, contributions[, "x"] + attr(contributions, "constant"), ignore_attr = TRUE, tolerance = 1e-7)
})

test_that("classes have a curve each with its band, also where q couples them", {
  skip_if_not_installed("MASS")
  fit <- galvi(Sat ~ Infl + Cont, transform(MASS::housing, Sat = factor(Sat, ordered = FALSE)), categorical(),
    weights = Freq, hyper = "fixed")
  panel <- plot_away(fit)$Infl
  predicted <- predict(fit, data.frame(Infl = levels(MASS::housing$Infl), Cont = "Low"), se.fit = TRUE)
  expect_equal(matrix(panel$fit, 3), predicted$fit, ignore_attr = TRUE, tolerance = 1e-7)
  expect_equal(panel$upr, beta_limits(panel$fit, as.vector(predicted$se.fit), 0.95)[, 2], tolerance = 1e-6)
  both <- plot_away(fit, terms = "Infl:Cont")
  expect_named(both, c("Infl:Cont, Cont = Low", "Infl:Cont, Cont = High"))
  # thresholds are learned at the means of the columns and printed at zero
  learned <- galvi(factor(gear, ordered = TRUE) ~ wt + am, mtcars, cumulative())
  panel <- plot_away(learned, terms = "wt", n = 5)$wt
  new <- data.frame(wt = panel$wt[1:5], am = mean(mtcars$am))
  expect_equal(matrix(panel$fit, 5), predict(learned, new), ignore_attr = TRUE, tolerance = 1e-7)
  link <- plot_away(learned, terms = "wt", n = 5, scale = "link")$wt
  expect_equal(link$fit, predict(learned, new, type = "link"), ignore_attr = TRUE, tolerance = 1e-7)
  expect_false(any(grepl("offset", drawn_text(drawn(learned)))))
  ordinal <- picture_fit("ordinal_line")
  panel <- plot_away(ordinal, n = 5)$wt
  expect_equal(matrix(panel$fit, 5), predict(ordinal, data.frame(wt = panel$wt[1:5])), ignore_attr = TRUE,
    tolerance = 1e-7)
  expect_true(all(panel$lwr <= panel$fit & panel$fit <= panel$upr))
})

test_that("each of two predictors has its panels, on the scale of its parameter", {
  fit <- galvi(list(mpg ~ wt, sigma ~ wt + hp), mtcars, hyper = "fixed")
  panels <- plot_away(fit, n = 5)
  expect_named(panels, c("wt", "sigma.wt", "sigma.hp"))
  new <- data.frame(wt = mean(mtcars$wt), hp = panels$sigma.hp$hp)
  expect_predictions(panels$sigma.hp, fit, new, dpar = "sigma")
  expect_predictions(panels$wt, fit, data.frame(wt = panels$wt$wt, hp = 1))
  expect_named(plot_away(fit, terms = "hp", n = 5), "sigma.hp")
  expect_named(plot_away(fit, terms = "wt", n = 5), c("wt", "sigma.wt"))
  expect_named(plot_away(fit, terms = "sigma.wt", n = 5), "sigma.wt")
})

test_that("mixtures over hyperparameters, sources of rows and survival have conditional effects", {
  set.seed(1)
  d <- data.frame(x = 1:60 / 20, g = gl(6, 10))
  d$count <- rpois(60, exp(d$x / 2 + rnorm(6, 0, 0.5)[d$g]))
  fit <- galvi(count ~ log(x) + (1 | g), d, poisson(), hyper = "integrate")
  panel <- plot_away(fit, terms = "x", n = 4)$x
  expect_predictions(panel, fit, data.frame(x = panel$x), re_formula = NA)
  read <- galvi(count ~ log(x) + g, row_source(in_pieces(d, 25)), poisson(), hyper = "fixed")
  memory <- galvi(count ~ log(x) + g, d, poisson(), hyper = "fixed")
  expect_equal(plot_away(read, terms = "x", n = 4), plot_away(memory, terms = "x", n = 4), tolerance = 1e-6)
  skip_if_not_installed("survival")
  survival <- galvi(survival::Surv(time, status) ~ log(age), survival::lung, weibull(), hyper = "fixed")
  panel <- plot_away(survival, n = 4)$age
  expect_predictions(panel, survival, data.frame(age = panel$age))
})

test_that("partial residuals are the observations where one variable says all, else keep their residuals", {
  simple <- galvi(dist ~ speed, cars, hyper = "fixed")
  points <- function(fit, name, scale = "auto") {
    inputs <- data_inputs(fit)
    variable <- input_variables(inputs)[[name]]
    settings <- list(scale = conditional_scale(fit, list(scale = scale)))
    conditional_points(fit, inputs, list(variable = variable), list(), list(), settings, kept_others(fit, inputs, name))
  }
  expect_equal(points(simple, "speed")$y, cars$dist, tolerance = 1e-8)
  two <- galvi(mpg ~ wt + hp, mtcars, hyper = "fixed")
  line <- predict(two, data.frame(wt = mtcars$wt, hp = mean(mtcars$hp)))
  expect_equal(points(two, "wt")$y - line, residuals(two), ignore_attr = TRUE, tolerance = 1e-7)
  # columns of a matrix are variables of their own
  matrix <- galvi(mpg ~ X, transform(mtcars, X = I(as.matrix(mtcars[c("wt", "hp")]))), hyper = "fixed")
  expect_equal(points(matrix, "Xwt")$y, points(two, "wt")$y, tolerance = 1e-6)
  counts <- galvi(count ~ spray, spray_table(), poisson(), hyper = "fixed")
  expect_equal(points(counts, "spray")$y, as.numeric(spray_table()$count), tolerance = 1e-7)
})

test_that("of very many variables those with the largest effects are drawn", {
  set.seed(1)
  X <- matrix(rnorm(60 * 24), 60, dimnames = list(NULL, paste0("x", 1:24)))
  d <- data.frame(y = X %*% (24:1) + rnorm(60), X)
  fit <- galvi(y ~ ., d, hyper = "fixed", prior = normal(0, 100))
  drawn <- names(plot_away(fit, n = 3))
  expect_length(drawn, most_conditional)
  expect_true(all(paste0("x", 1:10) %in% drawn))
  expect_identical(names(plot_away(fit, terms = "x24", n = 3)), "x24")
})

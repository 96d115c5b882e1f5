# R's garbage collector takes what C++ holds without protection, at moments that a usual run does not meet.

test_that("a garbage collection at any moment of a fit leaves its results as they are", {
  skip_on_cran()
  set.seed(1)
  d <- data.frame(x = rnorm(12), g = factor(rep(1:4, 3)))
  d$z <- d$x + rnorm(12)
  d$k <- factor(rep(c("a", "b", "c"), 4))
  plain <- function(x) if (is.data.frame(x)) x[names(x) != "seconds"] else if (is.list(x)) lapply(x, plain) else x
  fitted_under <- function(formula, family, step) {
    model <- galvi_model(galvi_design(formula, d, family))
    core <- core_model(model, "auto")
    control <- as_control(model$control)
    control$uncertainty <- "auto"
    model <- c(core, list(checked = checked_rows(core)))
    gctorture2(step)
    on.exit(gctorture2(0))
    out <- fit_model(model, "auto", "optimise", control, NULL, NULL, NULL)
    gctorture2(0)
    plain(out)
  }
  for (model in list(list(z ~ x, gaussian()), list(z ~ s(x, k = 4), gaussian()), list(k ~ x, categorical(refcat = "a")))) {
    reference <- fitted_under(model[[1L]], model[[2L]], 0)
    # a collection at every so many allocations
    for (step in c(1, 5:24)) expect_identical(fitted_under(model[[1L]], model[[2L]], step), reference)
  }
})

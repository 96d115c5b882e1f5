# conditional_effects() and hypothesis() beside what brms says of the same models (bench/brms.R has the numbers).

# In posterior standard deviations. Of brms: an error of a mean is 1 / sqrt(draws), of a 2.5 % limit 2.7 / sqrt(draws),
# with 2,000 effective draws 0.02 and 0.06, and the largest of a hundred of them three times as much. Of galvi: what
# check_fit() says of these fits, means up to 0.08 and standard deviations within 8 %, so that limits move by up to
# 0.16; thresholds, of which the last is skewed, by as much; the sd of a sd of groups differs by 10 %. A probability changes by 0.4 for each standard deviation
# of the mean.
brms_tolerance <- list(mean = 0.15, limit = 0.35, spread = 0.12, probability = 0.06)

brms_fits <- local({
  fits <- list()
  function(name) {
    if (is.null(fits[[name]])) {
      model <- brms_models[[name]]
      fits[[name]] <<- galvi(model$formula, brms_data(name), model$family, prior = model$prior)
    }
    fits[[name]]
  }
})

# Where limits are those of a nearly normal distribution.
to_link <- function(name, x) switch(name, epilepsy = , kidney = log(x), inhaler = qlogis(x), x)

test_that("conditional effects are those of brms, with its columns", {
  known <- utils::read.csv(test_path("fixtures", "brms_effects.csv"),
    colClasses = c(at = "character", second = "character"))
  ends <- c("cond__", "effect1__", "estimate__", "se__", "lower__", "upper__")
  for (name in names(brms_models)) {
    theirs <- known[known$model == name, ]
    ours <- conditional_effects(brms_fits(name), resolution = 5)
    expect_identical(names(ours), unique(theirs$effect))
    for (effect in names(ours)) {
      x <- theirs[theirs$effect == effect, ]
      y <- ours[[effect]]
      info <- paste(name, effect)
      two <- any(nzchar(x$second))
      extra <- c(if (name == "inhaler") "cats__", if (two) "effect2__")
      expect_true(all(c(ends, extra) %in% names(y)), info = info)
      expect_identical(strsplit(effect, ":")[[1L]], names(y)[seq_along(strsplit(effect, ":")[[1L]])], info = info)
      # rows in the order of brms, classes slowest
      if (two) expect_identical(as.character(y$effect2__), x$second, info = info)
      at <- suppressWarnings(as.numeric(x$at))
      if (anyNA(at)) expect_identical(as.character(y$effect1__), x$at, info = info) else {
        expect_equal(as.numeric(as.character(y$effect1__)), at, tolerance = 1e-5, info = info) # six digits are stored
      }
      link <- function(v) to_link(name, v)
      sd <- (link(x$upper) - link(x$lower)) / (2 * qnorm(0.975))
      expect_lt(max(abs(link(y$estimate__) - link(x$estimate)) / sd), brms_tolerance$mean, label = info)
      expect_lt(max(abs(link(y$lower__) - link(x$lower)) / sd), brms_tolerance$limit, label = info)
      expect_lt(max(abs(link(y$upper__) - link(x$upper)) / sd), brms_tolerance$limit, label = info)
      expect_lt(max(abs(y$se__ / x$se - 1)), brms_tolerance$spread, label = info)
    }
  }
})

test_that("hypotheses are those of brms, by its names of parameters", {
  known <- utils::read.csv(test_path("fixtures", "brms_hypotheses.csv"), colClasses = c(level = "character"))
  for (name in names(brms_models)) for (question in brms_questions[[name]]) {
    asked <- c(question, list(seed = 1))
    y <- do.call(hypothesis, c(list(brms_fits(name)), asked))$hypothesis
    scope <- if (is.null(question$scope)) "standard" else question$scope
    x <- known[known$model == name & known$question == question[[1L]] & known$scope == scope, ]
    info <- paste(name, question[[1L]])
    expect_identical(names(y), c(if (scope != "standard") "Group", "Hypothesis", "Estimate", "Est.Error", "CI.Lower",
      "CI.Upper", "Evid.Ratio", "Post.Prob", "Star"), info = info)
    if (scope != "standard") {
      expect_identical(y$Group[seq_len(nrow(x))], x$level, info = info)
      y <- y[seq_len(nrow(x)), ]
    }
    expect_identical(y$Hypothesis, x$label, info = info)
    # brms' mean of a Weibull response is exp(eta): an intercept there is another number
    # mean and sd of an exponential's draws may be those of the largest of them
    steady <- x$error < x$upper - x$lower
    unit <- ifelse(steady, x$error, x$upper - x$lower)
    expect_lt(max(0, abs(y$Estimate - x$estimate)[steady] / unit[steady]), brms_tolerance$mean, label = info)
    expect_lt(max(0, abs(y$Est.Error / x$error - 1)[steady]), brms_tolerance$spread, label = info)
    expect_lt(max(abs(y$CI.Lower - x$lower) / unit), brms_tolerance$limit, label = info)
    expect_lt(max(abs(y$CI.Upper - x$upper) / unit), brms_tolerance$limit, label = info)
    # two-sided ones need draws of the prior in brms
    one <- !is.na(x$probability)
    if (any(one)) expect_lt(max(abs(y$Post.Prob - x$probability)[one]), brms_tolerance$probability, label = info)
  }
})

# Do conditional_effects() and hypothesis() say what brms says of the same models, under the same priors?
#
#   Rscript bench/brms.R [folder]     (ten minutes, most of it Stan's compiler; needs brms and rstan)
#
# Four models of tests/testthat/helper-brms.R are sampled by brms (4 chains of 3,000 draws) and what it says is written
# to the folder, tests/testthat/fixtures if none is given, where test-brms.R reads it. Distances are in the standard
# deviations of brms's posterior; limits are compared where brms has them, on the scale of the linear predictor. brms'
# mean of a Weibull response is exp(eta), galvi's is exp(eta) gamma(1 + 1 / shape): intercepts differ by that constant.
source("bench/_helper.R")
source("tests/testthat/helper-brms.R")
suppressPackageStartupMessages(library(brms))
folder <- c(commandArgs(TRUE), "tests/testthat/fixtures")[1]

priors <- list(
  mtcars = c(prior(normal(0, 10), class = "b"), prior(normal(20, 10), class = "Intercept"),
    prior(exponential(0.2), class = "sigma")),
  epilepsy = c(prior(normal(0, 2), class = "b"), prior(normal(2, 2), class = "Intercept"),
    prior(exponential(1), class = "sd")),
  kidney = c(prior(normal(0, 2), class = "b"), prior(normal(4, 3), class = "Intercept"),
    prior(exponential(1), class = "sd"), prior(exponential(1), class = "shape")),
  # galvi gives thresholds no prior
  inhaler = c(prior(normal(0, 2), class = "b"), prior(normal(0, 100), class = "Intercept"),
    prior(exponential(1), class = "sd"))
)

digits <- function(x) {
  numbers <- vapply(x, is.numeric, NA)
  x[numbers] <- lapply(x[numbers], signif, 6)
  x
}

effects <- list()
answers <- list()
for (name in names(brms_models)) {
  model <- brms_models[[name]]
  fit <- brm(model$formula, brms_data(name), family = model$family, prior = priors[[name]], chains = 4, iter = 4000,
    warmup = 1000, seed = 1, init = 0, refresh = 0, control = list(adapt_delta = 0.95))
  diagnostics <- rstan::summary(fit$fit)$summary
  cat(sprintf("%s: Rhat at most %.3f, effective draws at least %.0f\n", name, max(diagnostics[, "Rhat"], na.rm = TRUE),
    min(diagnostics[, "n_eff"], na.rm = TRUE)))
  own <- brms::conditional_effects(fit, resolution = 5, categorical = name == "inhaler")
  effects[[name]] <- do.call(rbind, lapply(names(own), function(effect) {
    x <- own[[effect]]
    text <- function(v) if (is.null(v)) "" else if (is.numeric(v)) format(signif(v, 10), digits = 10) else as.character(v)
    data.frame(model = name, effect = sub(":cats__", "", effect), at = trimws(text(x$effect1__)),
      second = text(x$effect2__), estimate = x$estimate__, se = x$se__, lower = x$lower__, upper = x$upper__)
  }))
  answers[[name]] <- do.call(rbind, lapply(brms_questions[[name]], function(question) {
    asked <- c(question, class = "b", group = "", scope = "standard")
    asked <- asked[!duplicated(names(asked))]
    x <- brms::hypothesis(fit, asked[[1]], class = asked$class, group = asked$group, scope = asked$scope)$hypothesis
    if (is.null(x$Group)) x$Group <- ""
    x <- utils::head(x, 6)
    data.frame(model = name, question = question[[1]], class = asked$class, scope = asked$scope, level = x$Group,
      label = x$Hypothesis, estimate = x$Estimate, error = x$Est.Error, lower = x$CI.Lower, upper = x$CI.Upper,
      probability = x$Post.Prob)
  }))
}
write_table <- function(x, file) {
  utils::write.csv(digits(do.call(rbind, x)), file.path(folder, file), row.names = FALSE, quote = TRUE)
}
write_table(effects, "brms_effects.csv")
write_table(answers, "brms_hypotheses.csv")

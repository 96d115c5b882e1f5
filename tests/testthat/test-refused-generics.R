# Generics of other packages without an answer say what to use: what they name runs.

test_that("every generic that is refused says what to use", {
  set.seed(1)
  d <- data.frame(x = rnorm(40), g = factor(rep(1:8, 5)), time = rexp(40), status = 1)
  d$y <- d$x + rnorm(8)[d$g] + rnorm(40)
  fit <- galvi(y ~ x + (1 | g), d)
  refused <- function(call, text) expect_error(call, text, fixed = TRUE, class = "galvi_error_argument")
  if (requireNamespace("lme4", quietly = TRUE)) {
    refused(lme4::refit(fit, d$y), "update(fit, data = )")
    for (ask in c("isSingular", "getME")) refused(getExportedValue("lme4", ask)(fit), "fit$hyper has the status")
  }
  for (ask in c("profile", "influence", "dummy.coef", "alias", "TukeyHSD", "model.tables", "effects", "proj", "qqnorm")) {
    refused(getExportedValue("stats", ask)(fit), paste0(ask, "() is not available"))
  }
  if (requireNamespace("brms", quietly = TRUE)) {
    refused(brms::conditional_smooths(fit), "use plot(fit)")
    expect_no_error(predict(galvi(y ~ s(x), d), d[1:2, ], type = "terms", se.fit = TRUE))
    refused(brms::add_criterion(fit, "loo"), "loo::loo_compare(")
    expect_no_error(suppressWarnings(loo::loo_compare(loo::loo(fit), loo::loo(fit))))
  }
  if (requireNamespace("posterior", quietly = TRUE)) {
    for (ask in c("rhat", "ess_bulk", "ess_tail")) refused(getExportedValue("posterior", ask)(fit), paste0(ask, "() is not"))
  }
  refused(nlme::intervals(fit), "confint(fit)")
  refused(nlme::getVarCov(fit), "VarCorr(fit)")
  refused(nlme::augPred(fit), "predict(fit, newdata)")
  expect_identical(dim(VarCorr(fit)[["g"]]), c(1L, 1L))
  expect_no_error(check_fit(fit))
  if (requireNamespace("sandwich", quietly = TRUE)) {
    refused(sandwich::sandwich(fit), "(1 | g)")
    refused(sandwich::vcovHC(fit), "sigma ~ x")
    expect_no_error(galvi(list(y ~ x, sigma ~ x), d))
  }
  for (ask in c("dfbeta", "dfbetas")) refused(getExportedValue("stats", ask)(fit), "cooks.distance(fit)")
  if (requireNamespace("car", quietly = TRUE)) {
    of_car <- list(
      "partial residuals" = c("crPlots", "avPlots", "ceresPlots", "residualPlots"),
      "cooks.distance(fit)" = c("influencePlot", "infIndexPlot", "dfbetaPlots", "dfbetasPlots"),
      "residuals(fit, \"quantile\")" = "outlierTest", "sigma ~ x" = "ncvTest",
      "acf(residuals(fit))" = "durbinWatsonTest", "as.matrix(fit)" = "Boot",
      "plot(fit, \"residuals\")" = c("spreadLevelPlot", "qqPlot"), "vcov(fit)" = "hccm", "lognormal()" = "boxCox"
    )
    for (text in names(of_car)) for (ask in of_car[[text]]) refused(getExportedValue("car", ask)(fit), text)
    expect_length(stats::acf(residuals(fit), plot = FALSE)$lag, 17)
    expect_s3_class(anova(galvi(y ~ x, d), galvi(list(y ~ x, sigma ~ x), d)), "data.frame")
  }
  if (requireNamespace("lattice", quietly = TRUE)) {
    for (ask in c("dotplot", "qqmath")) {
      for (condVar in c(TRUE, FALSE)) {
        refused(getExportedValue("lattice", ask)(ranef(fit, condVar = condVar)), "use plot(fit)")
      }
    }
  }
  if (requireNamespace("MASS", quietly = TRUE)) refused(MASS::boxcox(fit), "lognormal()")
  if (requireNamespace("multcomp", quietly = TRUE)) refused(multcomp::cld(fit), "emmeans::emmeans(fit, \"f\")")
  if (requireNamespace("emmeans", quietly = TRUE)) {
    of_levels <- pairs(emmeans::emmeans(galvi(count ~ spray, InsectSprays, family = poisson()), "spray"))
    expect_identical(dim(confint(of_levels)), c(15L, 6L))
  }
  if (requireNamespace("datawizard", quietly = TRUE)) refused(datawizard::standardize(fit), "method = \"posthoc\"")
  if (requireNamespace("effectsize", quietly = TRUE)) {
    refused(effectsize::standardize_parameters(fit), "method = \"posthoc\"")
    scaled <- effectsize::standardize_parameters(fit, method = "posthoc")
    expect_equal(scaled$Std_Coefficient[2], coef(fit)[["x"]] * sd(d$x) / sd(d$y), tolerance = 1e-6)
  }
  if (requireNamespace("bridgesampling", quietly = TRUE)) {
    refused(bridgesampling::bayes_factor(fit, fit), "exp(evidence_diff)")
    refused(bridgesampling::bridge_sampler(fit), "anova(fit1, fit2)")
  }
  for (view in list(confint, hatvalues, cooks.distance, coef, vcov)) expect_no_error(view(fit))
  expect_no_error(suppressWarnings(kfold(fit, group = "g", hyper = "fixed")))
  expect_identical(qr(stats::model.matrix(fit))$rank, 2L)
  expect_s3_class(update(fit, data = transform(d, y = y + 1)), "galvi")
  for (view in list(ranef, fixef, VarCorr, stats::model.matrix, as.matrix)) expect_no_error(view(fit))
  flat <- suppressMessages(galvi(y ~ x + (1 | g), transform(d, y = x + rep(c(1, -1, 2, -2, 0), each = 8))))
  expect_identical(flat$hyper$status[1L], "at bound")

  skip_if_not_installed("survival")
  times <- galvi(survival::Surv(time, status) ~ x, d, weibull())
  for (fit in list(fit, times)) {
    refused(survival::survfit(fit), "use predict(fit, newdata, type = \"survival\", times =)")
    expect_no_error(predict(fit, d[1:2, ], type = "survival", times = 1, interval = "credible"))
  }
  hazards <- galvi(survival::Surv(time, status) ~ x, d, cox())
  refused(survival::concordance(hazards), "predict(fit, type = \"link\")")
  peer <- survival::coxph(survival::Surv(time, status) ~ x, d)
  ours <- survival::concordance(survival::Surv(time, status) ~ predict(hazards, type = "link"), d, reverse = TRUE)
  expect_equal(ours$concordance, survival::concordance(peer)$concordance)
})

test_that("singular fits are known to performance, and ranges of practical equivalence say what to use", {
  singular <- suppressMessages(galvi(decrease ~ treatment + (rowpos | colpos), OrchardSprays))
  fit <- galvi(dist ~ speed, cars)
  if (requireNamespace("performance", quietly = TRUE)) {
    expect_true(performance::check_singularity(singular))
    expect_false(performance::check_singularity(fit))
    expect_false(performance::check_singularity(galvi(Reaction ~ Days + (Days | Subject), sleepstudy)))
  }
  skip_if_not_installed("bayestestR")
  expect_error(bayestestR::rope(fit), "as.data.frame(fit)", fixed = TRUE, class = "galvi_error_argument")
  expect_error(bayestestR::equivalence_test(fit), "as.data.frame(fit)", fixed = TRUE, class = "galvi_error_argument")
  expect_s3_class(bayestestR::rope(as.data.frame(fit), range = c(-0.1, 0.1)), "rope")
})

test_that("summaries of draws by bayestestR are those of as.data.frame()", {
  skip_if_not_installed("bayestestR")
  fit <- galvi(dist ~ speed, cars)
  refused <- function(ask, text) {
    expect_error(getExportedValue("bayestestR", ask)(fit), text, fixed = TRUE, class = "galvi_error_argument")
  }
  # spi() needs quadprog
  runs <- c("describe_posterior", "p_direction", "p_map", "p_significance", "hdi", "eti", "bci", "point_estimate",
    "map_estimate", "estimate_density")
  for (ask in c(runs, "spi")) refused(ask, "as.data.frame(fit)")
  draws <- as.data.frame(fit)
  for (ask in runs) expect_s3_class(getExportedValue("bayestestR", ask)(draws), "data.frame")
  for (ask in c("bayesfactor_parameters", "si")) refused(ask, "hypothesis(fit, \"x = 0\")")
  expect_true(is.finite(hypothesis(galvi(dist ~ speed, cars, prior = normal(0, 5)), "speed = 0")$hypothesis$Evid.Ratio))
  for (ask in c("describe_prior", "check_prior", "simulate_prior")) refused(ask, "prior_summary(fit)")
  for (ask in c("effective_sample", "mcse")) refused(ask, "independent")
})

test_that("Effect() of cox() says why there is none", {
  skip_if_not_installed("effects")
  skip_if_not_installed("survival")
  fit <- galvi(survival::Surv(time, status) ~ age, survival::lung, cox(5))
  expect_error(effects::allEffects(fit), "family is cox", class = "galvi_error_argument")
})

# Does each likelihood predict real data no worse than the model that a statistician would take instead?
#
# Data sets of R, MASS and boot; 20 random splits, a fifth of the rows held out. Score = mean log predictive
# density (or probability) of the held-out rows in nats. Standard models have their estimates plugged in, as
# their predict() does; lm() its predictive t. "better" is galvi's score minus theirs, mean over the splits;
# "se" its standard error with Nadeau and Bengio's (2003) correction for splits that share rows,
# sd sqrt(1 / splits + test rows / training rows). The Friedman data are simulated anew each time.
source("bench/_helper.R")
suppressPackageStartupMessages(library(MASS))

learn <- function(formula, data, family, ...) {
  suppressMessages(galvi(formula, data, family, ..., control = galvi_control(threads = 1)))
}

# ---- log density of the standard models at `test`; y is the response there ----

polr_score <- function(formula, weights = NULL) function(train, test, y) {
  if (!is.null(weights)) train$count <- train[[weights]]
  model <- if (is.null(weights)) polr(formula, train) else polr(formula, train, weights = count)
  log(predict(model, test, type = "probs")[cbind(seq_along(y), as.integer(y))])
}
poisson_score <- function(formula) function(train, test, y) {
  dpois(y, predict(glm(formula, poisson(), train), test, type = "response"), log = TRUE)
}
negbin_score <- function(formula) function(train, test, y) {
  model <- suppressWarnings(glm.nb(formula, train))
  dnbinom(y, size = model$theta, mu = predict(model, test, type = "response"), log = TRUE)
}
lm_score <- function(formula) function(train, test, y) {
  model <- lm(formula, train)
  p <- predict(model, test, se.fit = TRUE)
  scale <- sqrt(p$residual.scale^2 + p$se.fit^2)
  dt((y - p$fit) / scale, p$df, log = TRUE) - log(scale)
}
# rlm() has no density of its own. Its scale is a median absolute deviation: the t with 4 degrees of freedom
# and the same one is kinder to it than a normal.
rlm_score <- function(formula) function(train, test, y) {
  model <- suppressWarnings(rlm(formula, train, maxit = 100))
  scale <- model$s * qnorm(0.75) / qt(0.75, 4)
  dt((y - predict(model, test)) / scale, 4, log = TRUE) - log(scale)
}
gamma_score <- function(formula) function(train, test, y) {
  model <- glm(formula, Gamma("log"), train, control = glm.control(maxit = 100))
  shape <- gamma.shape(model)$alpha
  dgamma(y, shape, shape / predict(model, test, type = "response"), log = TRUE)
}
# a normal model of logit(y)
logit_score <- function(formula, response) function(train, test, y) {
  train$logit <- qlogis(train[[response]])
  lm_score(update(formula, logit ~ .))(train, test, qlogis(y)) - log(y * (1 - y))
}
constant_score <- function(response) function(train, test, y) {
  dnorm(y, 0, sqrt(mean(train[[response]]^2)), log = TRUE)
}
constant_t_score <- function(response) function(train, test, y) {
  t <- suppressWarnings(fitdistr(train[[response]], "t"))$estimate
  dt((y - t[["m"]]) / t[["s"]], t[["df"]], log = TRUE) - log(t[["s"]])
}

# ---- the cases ----
# ours: name = function(training data) -> fit. rivals: name = function(train, test, y) -> log densities.

tenths <- function(x, breaks) cut(x, quantile(x, breaks), include.lowest = TRUE, ordered_result = TRUE)
boston <- transform(Boston, rating = tenths(medv, 0:5 / 5), medv = NULL)
people <- housing[rep(seq_len(nrow(housing)), housing$Freq), c("Sat", "Infl", "Type", "Cont")]
cells <- function(people) {
  counts <- as.data.frame(table(people), responseName = "people")
  counts$Sat <- factor(counts$Sat, levels(housing$Sat), ordered = TRUE)
  counts[counts$people > 0, ]
}
computers <- cpus[setdiff(names(cpus), c("name", "estperf"))]
petrol$yield <- petrol$Y / 100
calls <- data.frame(year = phones$year, calls = phones$calls)
dax <- data.frame(day = 1:859, return = 100 * diff(log(EuStockMarkets[1001:1860, "DAX"])))
friedman <- function(n, outliers) {
  X <- matrix(runif(10 * n), n, dimnames = list(NULL, paste0("x", 1:10)))
  f <- 10 * sin(pi * X[, 1] * X[, 2]) + 20 * (X[, 3] - 0.5)^2 + 10 * X[, 4] + 5 * X[, 5]
  y <- f + rnorm(n)
  y[seq_len(outliers)] <- rnorm(outliers, 15, 3)
  data.frame(X, y = y)
}

cases <- list(
  "housing: satisfaction" = list(
    data = people, response = "Sat", prepare = cells, weights = "people",
    ours = list(
      "cumulative" = function(d) learn(Sat ~ Infl + Type + Cont, d, cumulative(), weights = people),
      "cumulative, gp" = function(d) learn(Sat ~ gp(Infl, Type, Cont), d, cumulative(), weights = people)
    ),
    rivals = list(polr = polr_score(Sat ~ Infl + Type + Cont, "people"))
  ),
  "Boston: fifths of medv" = list(
    data = boston, response = "rating",
    ours = list(
      "cumulative" = function(d) learn(rating ~ ., d, cumulative()),
      "cumulative, gp" = function(d) learn(rating ~ gp(., scale = TRUE), d, cumulative())
    ),
    rivals = list(polr = polr_score(rating ~ .))
  ),
  "quine: days absent" = list(
    data = quine, response = "Days",
    ours = list(
      "negbinomial" = function(d) learn(Days ~ ., d, negbinomial()),
      "negbinomial, gp" = function(d) learn(Days ~ gp(.), d, negbinomial())
    ),
    rivals = list(glm.nb = negbin_score(Days ~ .), "glm, poisson" = poisson_score(Days ~ .))
  ),
  "discoveries: per year" = list(
    data = data.frame(year = 1860:1959, count = as.numeric(discoveries)), response = "count",
    ours = list("negbinomial, gp" = function(d) learn(count ~ gp(year), d, negbinomial())),
    rivals = list(
      glm.nb = negbin_score(count ~ year + I(year^2)),
      "glm, poisson" = poisson_score(count ~ year + I(year^2))
    )
  ),
  "stackloss" = list(
    data = stackloss, response = "stack.loss",
    ours = list(
      "student" = function(d) learn(stack.loss ~ ., d, student()),
      "laplace" = function(d) learn(stack.loss ~ ., d, laplace()),
      "gaussian" = function(d) learn(stack.loss ~ ., d, gaussian())
    ),
    rivals = list(rlm = rlm_score(stack.loss ~ .), lm = lm_score(stack.loss ~ .))
  ),
  "phones: calls" = list(
    data = calls, response = "calls",
    ours = list(
      "student, gp" = function(d) learn(calls ~ gp(year), d, student()),
      "student" = function(d) learn(calls ~ year, d, student()),
      "laplace" = function(d) learn(calls ~ year, d, laplace()),
      "gaussian, gp" = function(d) learn(calls ~ gp(year), d, gaussian())
    ),
    rivals = list(rlm = rlm_score(calls ~ year), lm = lm_score(calls ~ year))
  ),
  "Friedman, 10% outliers" = list(
    simulate = function() list(train = friedman(100, 10), test = friedman(400, 0)), response = "y",
    ours = list(
      "student, gp" = function(d) learn(y ~ gp(., kernel = se(ard = TRUE)), d, student()),
      "laplace, gp" = function(d) learn(y ~ gp(., kernel = se(ard = TRUE)), d, laplace()),
      "gaussian, gp" = function(d) learn(y ~ gp(., kernel = se(ard = TRUE)), d, gaussian())
    ),
    rivals = list(rlm = rlm_score(y ~ .))
  ),
  "cpus: performance" = list(
    data = computers, response = "perf",
    ours = list(
      "Gamma" = function(d) learn(perf ~ ., d, Gamma("log")),
      "Gamma, gp" = function(d) learn(perf ~ gp(., scale = TRUE), d, Gamma("log"))
    ),
    rivals = list("glm, Gamma" = gamma_score(perf ~ .))
  ),
  "airquality: ozone" = list(
    data = na.omit(airquality), response = "Ozone",
    ours = list(
      "Gamma" = function(d) learn(Ozone ~ ., d, Gamma("log")),
      "Gamma, gp" = function(d) learn(Ozone ~ gp(., scale = TRUE), d, Gamma("log"))
    ),
    rivals = list("glm, Gamma" = gamma_score(Ozone ~ .))
  ),
  "DAX: daily returns" = list(
    data = dax, response = "return",
    ours = list(
      "volatility, gp" = function(d) learn(return ~ gp(day, kernel = matern12()), d, stochastic_volatility()),
      "volatility, gp + white" = function(d) {
        learn(return ~ gp(day, kernel = matern12() + white()), d, stochastic_volatility())
      }
    ),
    rivals = list("constant, normal" = constant_score("return"), "constant, t" = constant_t_score("return"))
  ),
  "petrol: yield" = list(
    data = petrol, response = "yield",
    ours = list(
      "beta" = function(d) learn(yield ~ SG + VP + V10 + EP, d, beta_family()),
      "beta, gp" = function(d) learn(yield ~ gp(SG, VP, V10, EP, scale = TRUE), d, beta_family())
    ),
    rivals = list("lm of the logit" = logit_score(yield ~ SG + VP + V10 + EP, "yield"))
  )
)

# ---- scores ----

split <- function(case) {
  if (!is.null(case$simulate)) return(case$simulate())
  held_out <- sample(nrow(case$data), round(nrow(case$data) / 5))
  lapply(list(train = case$data[-held_out, ], test = case$data[held_out, ]), function(rows) {
    if (is.null(case$prepare)) rows else case$prepare(rows)
  })
}

compare <- function(name, splits = 20) {
  case <- cases[[name]]
  seconds <- setNames(numeric(length(case$ours)), names(case$ours))
  trouble <- character()
  note <- function(w) {
    trouble <<- c(trouble, conditionMessage(w))
    invokeRestart("muffleWarning")
  }
  one_split <- function(seed) {
    set.seed(seed)
    rows <- split(case)
    y <- rows$test[[case$response]]
    weights <- if (is.null(case$weights)) rep(1, length(y)) else rows$test[[case$weights]]
    score <- function(log_density) sum(weights * log_density) / sum(weights)
    ours <- vapply(names(case$ours), function(model) withCallingHandlers({
      fit <- NULL
      seconds[model] <<- seconds[model] + cpu_seconds(function() fit <<- case$ours[[model]](rows$train))
      score(predict(fit, rows$test, type = "density"))
    }, warning = note), 0)
    c(ours, vapply(case$rivals, function(rival) score(rival(rows$train, rows$test, y)), 0))
  }
  scores <- vapply(seq_len(splits), one_split, numeric(length(case$ours) + length(case$rivals)))
  if (length(trouble)) cat(name, unique(trouble), sep = "\n  ")
  ratio <- if (is.null(case$simulate)) 1 / 4 else 0
  pairs <- expand.grid(rival = names(case$rivals), ours = names(case$ours), stringsAsFactors = FALSE)
  difference <- scores[pairs$ours, , drop = FALSE] - scores[pairs$rival, , drop = FALSE]
  data.frame(
    data = name, galvi = pairs$ours, standard = pairs$rival, splits = splits,
    score = rowMeans(scores[pairs$ours, , drop = FALSE]),
    theirs = rowMeans(scores[pairs$rival, , drop = FALSE]), better = rowMeans(difference),
    se = apply(difference, 1, sd) * sqrt(1 / splits + ratio), seconds = seconds[pairs$ours] / splits,
    warned = length(trouble), row.names = NULL
  )
}

machine()
options(width = 130)
table <- do.call(rbind, lapply(names(cases), compare))
show_table(table)
worse <- -table$better / table$se
target("largest loss against a standard model, in standard errors", max(worse), 2)

# Answer (2-core x86-64 machine, R 4.2.2, OpenBLAS 0.3.21, one thread), nats per held-out row, se in brackets:
#
#                          galvi                      against             better          fit, seconds
#   housing: satisfaction  cumulative                 polr                0.000 (0.000)   0.007
#                          cumulative, gp             polr                0.002 (0.002)   0.015
#   Boston: fifths         cumulative                 polr                0.005 (0.002)   0.037
#                          cumulative, gp             polr                0.158 (0.037)   0.36
#   quine                  negbinomial                glm.nb              0.018 (0.015)   0.007
#                          negbinomial, gp            glm.nb              0.071 (0.036)   0.022
#                          negbinomial                glm, poisson        5.2   (0.8)
#   discoveries            negbinomial, gp            glm.nb, quadratic  -0.010 (0.018)   0.013
#   stackloss              student, laplace           rlm                 0.12, 0.14 (0.11)
#                          student, laplace           lm                  0.01, 0.03 (0.10)
#   phones                 student, laplace           rlm                 0.80, 0.96 (0.56)
#                          student, laplace           lm                 -0.04, 0.13 (0.09, 0.14)
#                          student, gp                lm                  0.51  (0.38)
#   Friedman, outliers     student, laplace with gp   rlm                 0.56, 0.53 (0.08, 0.06)   0.10, 0.07
#                          gaussian, gp               rlm                 0.33  (0.05)    0.030
#   cpus                   Gamma                      glm, Gamma          0.011 (0.012)   0.006
#                          Gamma, gp                  glm, Gamma          0.088 (0.042)   0.030
#   airquality             Gamma                      glm, Gamma          0.006 (0.021)
#                          Gamma, gp                  glm, Gamma          0.013 (0.033)
#   DAX, last 859 days     volatility, gp             constant, normal    0.107 (0.030)   0.43
#                          volatility, gp             constant, t         0.053 (0.018)
#                          volatility, gp + white     constant, t         0.059 (0.016)   0.55
#   petrol                 beta                       lm of the logit     0.059 (0.077)   0.009
#                          beta, gp                   lm of the logit     0.097 (0.105)   0.013
#
# No fit warns or fails. galvi is behind in four places, never by more than its standard error: by 2e-5 on
# housing, where model and estimates are polr's; on discoveries, where a parabola in the year happens to be
# the shape and two lengthscales (8 and 57 years) have bounds within 0.3 nats of each other; on stackloss and
# phones, 21 and 24 rows, with gaussian or straight lines against lm(), whose t allows for the estimated
# variance, which galvi plugs in. On phones, six wrong counts of 24, a gaussian gp() loses 1.0 (2.9): it bends
# to the outliers. On the first 1000 days of DAX, when volatility changed less, the t of constant scale is as
# good as volatility, gp (-0.005 (0.037), 10 splits) and gp + white is ahead by 0.015 (0.021).

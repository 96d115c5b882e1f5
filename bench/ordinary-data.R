# Do the defaults, galvi(y ~ gp(.)), do as well as lm() and glm() on ordinary data in raw units?
#
# 20 data sets of `datasets` and MASS as they come (incomplete rows left out), one formula. Five folds, three
# times; score = mean log predictive density of held-out rows in nats per row. lm(): the predictive t; glm():
# dbinom and dpois at the fitted mean. "better" is galvi's score minus theirs, "se" its standard error over
# the rows (each row's scores averaged over the repeats), "at_bound" the share of fits with a hyperparameter
# there.
source("bench/_helper.R")
suppressPackageStartupMessages(library(MASS))

# ---- the data: response ~ predictors of the rival, an offset where there is one ----

case <- function(data, formula, family = gaussian(), offset = NULL) {
  list(data = data, formula = formula, family = family, offset = offset)
}
series <- function(x) data.frame(year = as.numeric(time(x)), y = as.numeric(x))
without <- function(data, ...) data[setdiff(names(data), c(...))]
trials <- function(data, success, failure, total = NULL) {
  failures <- if (is.null(total)) data[[failure]] else data[[total]] - data[[success]]
  rest <- without(data, success, failure, total)
  rest[] <- lapply(rest, function(x) if (is.factor(x)) factor(as.character(x)) else x)
  rest$y <- cbind(data[[success]], failures)
  rest
}
cases <- list(
  cars = case(cars, dist ~ .),
  airquality = case(na.omit(airquality), Ozone ~ .),
  mtcars = case(mtcars, mpg ~ .),
  swiss = case(swiss, Fertility ~ .),
  iris = case(iris, Sepal.Length ~ .),
  ToothGrowth = case(ToothGrowth, len ~ .),
  Boston = case(Boston, medv ~ .),
  whiteside = case(whiteside, Gas ~ .),
  cpus = case(without(cpus, "name", "estperf"), perf ~ .),
  mcycle = case(mcycle, accel ~ .),
  am = case(mtcars, am ~ ., binomial()),
  infert = case(without(infert, "stratum", "pooled.stratum"), case ~ ., binomial()),
  esoph = case(trials(esoph, "ncases", "ncontrols"), y ~ ., binomial()),
  Pima = case(rbind(Pima.tr, Pima.te), type ~ ., binomial()),
  birthwt = case(without(birthwt, "bwt"), low ~ ., binomial()),
  biopsy = case(na.omit(without(biopsy, "ID")), class ~ ., binomial()),
  InsectSprays = case(InsectSprays, count ~ ., poisson()),
  warpbreaks = case(warpbreaks, breaks ~ ., poisson()),
  discoveries = case(series(discoveries), y ~ ., poisson()),
  quine = case(quine, Days ~ ., poisson())
)

# ---- scores of held-out rows ----

rival_score <- function(case, train, test) {
  y <- model.response(model.frame(case$formula, test))
  if (case$family$family == "gaussian") {
    fit <- lm(case$formula, train)
    p <- predict(fit, test, se.fit = TRUE)
    scale <- sqrt(p$residual.scale^2 + p$se.fit^2)
    return(dt((y - p$fit) / scale, p$df, log = TRUE) - log(scale))
  }
  p <- predict(glm(case$formula, case$family, train), test, type = "response")
  if (case$family$family == "poisson") return(dpois(y, p, log = TRUE))
  if (is.matrix(y)) return(dbinom(y[, 1], rowSums(y), p, log = TRUE))
  if (is.factor(y)) y <- as.numeric(y) - 1
  dbinom(y, 1, p, log = TRUE)
}

galvi_fit <- function(case, train) {
  formula <- case$formula
  formula[[3]] <- quote(gp(.))
  suppressMessages(galvi(formula, train, case$family, control = galvi_control(threads = 1)))
}

compare <- function(name, folds = 5, repeats = 3) {
  case <- cases[[name]]
  n <- nrow(case$data)
  ours <- theirs <- matrix(NA_real_, n, repeats)
  seconds <- 0
  at_bound <- trouble <- character()
  note <- function(kind) function(condition) {
    trouble <<- c(trouble, paste0(kind, ": ", conditionMessage(condition)))
    if (kind == "warning") invokeRestart("muffleWarning")
  }
  for (r in seq_len(repeats)) {
    set.seed(r)
    fold <- sample(rep_len(seq_len(folds), n))
    for (k in seq_len(folds)) {
      train <- case$data[fold != k, , drop = FALSE]
      test <- case$data[fold == k, , drop = FALSE]
      # glm() warns of separated classes
      theirs[fold == k, r] <- suppressWarnings(rival_score(case, train, test))
      seconds <- seconds + cpu_seconds(function() try(withCallingHandlers({
        fit <- galvi_fit(case, train)
        ours[fold == k, r] <<- predict(fit, test, type = "density")
        bound <- fit$hyper$name[fit$hyper$status == "at bound"]
        if (length(bound)) at_bound <<- c(at_bound, paste(bound, collapse = " "))
      }, warning = note("warning"), error = note("error")), silent = TRUE))
    }
  }
  if (length(trouble)) cat(name, unique(trouble), sep = "\n  ")
  better <- rowMeans(ours - theirs)
  data.frame(
    data = name, family = case$family$family, n = n, seconds = seconds / (folds * repeats),
    galvi = mean(ours), glm = mean(theirs), better = mean(better), se = sd(better) / sqrt(n),
    at_bound = length(at_bound) / (folds * repeats), trouble = length(trouble)
  )
}

machine()
table <- do.call(rbind, lapply(names(cases), compare))
options(width = 110)
table[c("seconds", "galvi", "glm", "better", "se", "at_bound")] <-
  lapply(table[c("seconds", "galvi", "glm", "better", "se", "at_bound")], round, 3)
show_table(table)
worse <- -table$better / table$se
target("fits that fail or warn", sum(table$trouble), 0)
target("data sets with a hyperparameter at its bound", sum(table$at_bound > 0), 0)
target("data sets where glm is better by more than two standard errors", sum(worse > 2), 0)
target("largest loss against glm, in standard errors", max(worse), 2)
target("loss against glm, mean over the data sets", -mean(table$better), 0, "nats per row")
cat(sprintf("galvi's score is higher on %d of %d data sets, by more than two standard errors on %d\n",
            sum(table$better > 0), nrow(table), sum(worse < -2)))

# Answer (R 4.2.2, OpenBLAS 0.3.21): no fit fails or warns. galvi's score is higher on 14 of
# the 20, by more than two standard errors on 7 (mcycle, cpus, Boston, quine, biopsy, am, discoveries:
# curvature, separated classes), lower by more than that on one: swiss (47 rows, linear), -0.168 (0.082).
# There 37 rows choose a short lengthscale in one fold of three, no start finds a better bound, and a normal
# density with plugged-in noise meets lm()'s t; the scales of the inputs (scale = TRUE: -0.165) have no part
# in it. The next worst are Pima -0.015 (0.010), where scale = TRUE gives -0.003, and birthwt -0.029 (0.028).
# No hyperparameter ends at its bound.

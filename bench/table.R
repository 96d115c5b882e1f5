# How long does galvi take beside the packages that people come from, and beside what the mathematics needs at least?
#
#   make bench FILES=table.R               (ten minutes)
#   LARGE=yes make bench FILES=table.R     (the rows of minutes too; an hour)
#   Rscript bench/table.R multinom growth  (rows and sections whose names have one of these words)
#
# bench/README.md says what each row is and what was measured. One thread and CPU seconds unless a row says otherwise;
# galvi and its peers are timed in turn, and ratios are medians over the rounds. "limit" is the time that a row needs
# at least, at the rates that this machine has in the same run.
source("bench/_helper.R")
source("bench/_large.R")
source("bench/_growth.R")
options(galvi.threads = 1, width = 160)
large <- nzchar(Sys.getenv("LARGE"))
wanted <- function(name) !length(asked) || any(vapply(asked, grepl, NA, x = name, ignore.case = TRUE))
quiet <- function(f) suppressMessages(suppressWarnings(f()))

# ---- rates of the machine, and times at these rates ----

machine(281, 2000)
rates <- local({
  A <- matrix(rnorm(1e6), 1000)
  v <- rnorm(2^22)
  w <- v
  each <- replicate(5, c(
    flops = 2e9 / cpu_seconds(function() A %*% A, 2), bytes = 16 * 2^22 / cpu_seconds(function() w[] <<- v, 10),
    exps = 2^22 / cpu_seconds(function() exp(v))
  ))
  apply(each, 1, median)
})
cat(sprintf("%.1f GFlop/s of a product, %.1f GB/s of a copy, %.0f million exp() a second\n\n", rates[["flops"]] / 1e9,
            rates[["bytes"]] / 1e9, rates[["exps"]] / 1e6))
flops <- function(x) x / rates[["flops"]]
bytes <- function(x) x / rates[["bytes"]]
exps <- function(x) x / rates[["exps"]]

# Operations and sweeps are those that the fit took: the limit says how fast they can be, not how few.
sweeps <- function(fit) fit$cost$sweeps
# An expectation takes one exponential for each row at each of so many points.
expectations <- function(points) function(fit) flops(fit$cost$flops) + exps(points * fit$nobs * sweeps(fit))
counted <- expectations(1)
# What R itself needs for formula and data.
reading <- function(formula, data) {
  force(data)
  function(fit) counted(fit) + cpu_seconds(function() model.matrix(formula, model.frame(formula, data)), 20)
}
# Of a sparse process: a pass has a row of the kernel, a triangular product and the sum of squares.
# Rows of minibatches count too.
sparse_passes <- function(inputs, points) function(fit) {
  rows <- sweeps(fit) * fit$nobs + max(fit$trace$rows)
  rows * (flops(points * (2 * inputs + 2 * points)) + exps(points))
}

# ---- rows ----

# task; reach: at most so many times the first peer ("x"), or seconds ("s"); perhaps a function of the peer's seconds.
# peers: functions by their packages' names; those that are not installed are left out. limit: seconds, of a fit.
# note: what else the fits say. before: data or a fit that no clock counts
rows <- list()
row <- function(task, galvi, peers = list(), reach = NULL, limit = counted, note = NULL, minutes = FALSE,
                before = NULL) {
  package <- sub("::.*", "", names(peers))
  here <- !grepl("::", names(peers)) | vapply(package, requireNamespace, NA, quietly = TRUE)
  rows[[length(rows) + 1]] <<- list(
    task = task, jobs = c(list(galvi = galvi), peers[here]), first = names(peers)[1], reach = reach, limit = limit,
    note = note, minutes = minutes, before = before
  )
}

show_line <- function(...) cat(sprintf("%-56s%8s  %-22s%8s%8s  %8s %-4s%9s%8s\n", ...))
number <- function(x) if (is.na(x)) "" else format(signif(x, 3), scientific = FALSE)

# Times a row, a few seconds long, and prints a line for each peer.
time_row <- function(row) {
  if (!is.null(row$before)) quiet(row$before)
  results <- list()
  run <- function(name, repeats = 1) cpu_seconds(function() results[[name]] <<- quiet(row$jobs[[name]]), repeats)
  names <- names(row$jobs)
  seconds <- cbind(vapply(names, run, 0))  # the first call sets things up, and counts where calls are long
  if (sum(seconds) < 5) {
    repeats <- pmax(1, floor(0.05 / (seconds[, 1] + 1e-4)))
    rounds <- if (sum(seconds) < 1) 5 else 2
    seconds <- matrix(replicate(rounds, mapply(run, names, repeats)), length(names))
  }
  ours <- median(seconds[1, ])
  its <- apply(seconds, 1, median)
  ratio <- apply(sweep(1 / seconds, 2, seconds[1, ], "*"), 1, median)
  limit <- if (is.null(row$limit)) NA else row$limit(results$galvi)
  reach <- if (is.function(row$reach)) row$reach(its[2]) else row$reach
  unit <- if (is.null(reach)) "" else names(reach)
  # the first peer may not be installed
  measured <- switch(unit, x = if (row$first %in% names) ratio[match(row$first, names)] else NA, s = ours, NA)
  met <- if (is.na(measured)) "" else if (measured <= reach) "yes" else "no"
  said <- if (is.null(reach)) "" else trimws(paste(number(reach), unit))
  peers <- if (length(names) > 1) names[-1] else ""
  for (i in seq_along(peers)) {
    at <- match(peers[i], names)
    first <- function(x) if (i == 1) x else ""
    show_line(first(row$task), first(number(ours)), peers[i], number(its[at]), number(ratio[at]), first(said),
              first(met), first(number(limit)), first(number(ours / limit)))
  }
  if (!is.null(row$note)) cat("  ", row$note(results), "\n", sep = "")
}

# classes
data(list = c("fgl", "housing"), package = "MASS")
glass <- function(formula) {
  row(sprintf("multinomial, fgl, %s", deparse1(formula[[3]])), function() galvi(formula, fgl, categorical(NULL)),
      list("nnet::multinom" = function() nnet::multinom(formula, fgl, trace = FALSE)), c(x = 10),
      expectations(20 * 5))
}
glass(type ~ RI + Na + Mg + Al)
glass(type ~ .)
row("multinomial, housing with weights", function() {
  galvi(Sat ~ Infl + Type + Cont, housing, categorical(NULL), weights = Freq)
}, list("nnet::multinom" = function() {
  nnet::multinom(Sat ~ Infl + Type + Cont, housing, weights = Freq, trace = FALSE)
}), c(x = 10), expectations(20 * 2))

# zeros of another kind
biochemists <- read.csv("vignettes/biochemists.csv.gz", stringsAsFactors = TRUE)
if (requireNamespace("glmmTMB", quietly = TRUE)) {
  data("Salamanders", package = "glmmTMB")
  row("zero-inflated negbinomial, (1 | site), Salamanders", function() {
    galvi(list(count ~ mined + (1 | site), zi ~ mined), Salamanders, zero_inflated(negbinomial()))
  }, list("glmmTMB::glmmTMB" = function() {
    glmmTMB::glmmTMB(count ~ mined + (1 | site), Salamanders, glmmTMB::nbinom2(), ziformula = ~mined)
  }), c(x = 1), expectations(20))
}
row("zero-inflated negbinomial, bioChemists", function() {
  galvi(list(art ~ ., zi ~ .), biochemists, zero_inflated(negbinomial()))
}, list(
  "pscl::zeroinfl" = function() pscl::zeroinfl(art ~ . | ., biochemists, dist = "negbin"),
  "glmmTMB::glmmTMB" = function() glmmTMB::glmmTMB(
    art ~ fem + mar + kid5 + phd + ment, biochemists, glmmTMB::nbinom2(), ziformula = ~ fem + mar + kid5 + phd + ment
  )
), c(x = 1), expectations(20))

# a call of a few milliseconds
row("linear model, mtcars", function() galvi(mpg ~ wt + hp, mtcars),
    list("stats::lm" = function() lm(mpg ~ wt + hp, mtcars)), c(s = 0.005), reading(mpg ~ wt + hp, mtcars))
row("binomial, mtcars", function() galvi(am ~ wt, mtcars, binomial()),
    list("stats::glm" = function() glm(am ~ wt, binomial(), mtcars)), c(s = 0.005), reading(am ~ wt, mtcars))
row("binomial, 100,000 rows, 50 columns", function() galvi(y ~ ., many_columns, binomial()),
    list("stats::glm" = function() glm(y ~ ., binomial(), many_columns)), c(x = 1),
    function(fit) sweeps(fit) * (flops(1e5 * 51^2) + bytes(2 * 8 * 51 * 1e5)),
    before = function() many_columns)
delayedAssign("many_columns", regression(1e5, 1, 50)$train)

# processes of 400 rows
set.seed(1)
four <- mgcv::gamSim(1, n = 400, verbose = FALSE)
four <- transform(four, positive = exp(y / 10), count = rpois(400, exp(y / 10)), binary = rbinom(400, 1, plogis(y - 7)))
families <- list(
  list("y", gaussian(), gaussian()), list("binary", binomial(), binomial()), list("count", poisson(), poisson()),
  list("count", negbinomial(), mgcv::nb()), list("positive", Gamma("log"), Gamma("log"))
)
smooths <- list(
  "gp(x2)" = list("gp(x2)", "s(x2)", 1),
  "gp(x2), matern52 by a chain," = list("gp(x2, kernel = matern52())", "s(x2)", 1),
  "four gp()" = list("gp(x0) + gp(x1) + gp(x2) + gp(x3)", "s(x0) + s(x1) + s(x2) + s(x3)", 1),
  "gp(x1, x2)" = list("gp(x1, x2)", "s(x1, x2)", 4)
)
for (smooth in names(smooths)) for (family in families) local({
  it <- smooths[[smooth]]
  own <- family
  ours <- reformulate(it[[1]], own[[1]])
  theirs <- reformulate(it[[2]], own[[1]])
  row(sprintf("%s of 400 rows, %s", smooth, own[[2]]$family), function() galvi(ours, four, own[[2]]),
      list("mgcv::gam" = function() mgcv::gam(theirs, own[[3]], four, method = "REML")), c(x = it[[3]]),
      expectations(20))
})

# full processes
squared_distances <- function(A, B) pmax(outer(rowSums(A^2), rowSums(B^2), "+") - 2 * tcrossprod(A, B), 0)
# Laplace's approximation with a logit link in plain R, Newton's method: evidence and marginal variances
laplace <- function(K, y, tol = 1e-6) {
  f <- numeric(length(y))
  repeat {
    p <- plogis(f)
    s <- sqrt(p * (1 - p))
    L <- chol(diag(length(y)) + outer(s, s) * K)
    b <- s^2 * f + y - p
    a <- b - s * backsolve(L, backsolve(L, s * (K %*% b), transpose = TRUE))
    change <- max(abs(K %*% a - f))
    f <- drop(K %*% a)
    if (change < tol) break
  }
  list(log_evidence = -sum(a * f) / 2 + sum(plogis((2 * y - 1) * f, log.p = TRUE)) - sum(log(diag(L))), factor = L,
       scale = s)
}
laplace_variances <- function(K, fit) diag(K) - colSums(backsolve(fit$factor, fit$scale * K, transpose = TRUE)^2)
chol_of <- function(n) {
  A <- chol_case(n)
  function() chol(A)
}
full <- function(n, data, y, inputs, variance, lengthscale, reach) {
  formula <- as.formula(sprintf("%s ~ 0 + gp(%s, kernel = se(variance = fixed(%g), lengthscale = fixed(%g)))", y,
                                paste(inputs, collapse = ", "), variance, lengthscale), globalenv())
  X <- as.matrix(data[inputs])
  binary <- as.numeric(factor(data[[y]])) - 1
  peers <- list(chol_of(n), function() {
    K <- variance * exp(-squared_distances(X, X) / (2 * lengthscale^2))
    laplace_variances(K, laplace(K, binary))
  })
  names(peers) <- c(sprintf("chol(%d)", n), "Laplace in R")
  row(sprintf("one inference, full process, n = %d", n), function() {
    galvi(formula, data, binomial(), hyper = "fixed", control = galvi_control(tol = 1e-6))
  }, peers, reach, function(fit) counted(fit) + exps(n^2 / 2))
}
signal <- ionosphere
inputs <- setdiff(names(signal), "Class")
signal[inputs] <- scale(signal[inputs])
set.seed(1)
signal <- signal[sample(nrow(signal), 281), ]
full(281, signal, "Class", inputs, 9, 6, function(chol) c(x = 12 + 0.005 / chol))
full(2000, surface(2000, 1)$train, "y", c("x1", "x2"), 4, 0.7, c(x = 11))

row("two hyperparameters learned, ionosphere", function() galvi(Class ~ gp(.), signal, binomial()), list(
  "chol(281)" = chol_of(281), "Laplace in R, optim()" = function() {
    D <- squared_distances(as.matrix(signal[inputs]), as.matrix(signal[inputs]))
    y <- as.numeric(signal$Class) - 1
    optim(c(2, 2), function(theta) {
      -laplace(100 + exp(theta[1] - D / (2 * exp(2 * theta[2]))), y)$log_evidence
    }, method = "BFGS", control = list(reltol = 1e-7))
  }
), c(x = 60), expectations(20))

integrated <- function(hyper) galvi(count ~ gp(x1, x2, kernel = se(ard = TRUE)), four, poisson(), hyper = hyper)
row("integrate, 3 hyperparameters, 400 rows", function() integrated("integrate"), list(
  "one inference" = function() integrated("fixed"), "learned" = function() integrated("optimise")
), c(x = 15), NULL)

# predictions and draws
delayedAssign("wide", surface(5000, 1250))
infer_wide <- function(keep) {
  galvi(y ~ 0 + gp(x1, x2, kernel = se(variance = fixed(4), lengthscale = fixed(0.7))), wide$train, binomial(),
        hyper = "fixed", verbose = FALSE, control = galvi_control(tol = 1e-6, keep_factor = keep))
}
delayedAssign("wide_fit", infer_wide(TRUE))
delayedAssign("lean_fit", infer_wide(FALSE))
delayedAssign("five", chol_case(5000))
delayedAssign("triangle", t(chol(five)))
predict_limit <- function(fit) flops(1250 * 5000^2) + exps(1250 * 5000)
row("predict 1,250 rows with sds after n = 5,000, factor kept", function() {
  predict(wide_fit, wide$test, type = "link", se.fit = TRUE)
}, list("one triangular solve" = function() forwardsolve(triangle, matrix(1, 5000, 1250))), c(x = 1.5), predict_limit,
before = function() list(wide_fit, triangle))

row("the same, factor not kept", function() predict(lean_fit, wide$test, type = "link", se.fit = TRUE), list(
  "factor kept" = function() predict(wide_fit, wide$test, type = "link", se.fit = TRUE),
  "chol(5000)" = function() chol(five)
), NULL, function(fit) flops(1250 * 5000^2 + 5000^3 / 3) + exps(1250 * 5000 + 5000^2 / 2),
before = function() list(wide_fit, lean_fit, five))

delayedAssign("drawn", galvi(y ~ gp(x1, x2, inducing = 50), surface(1000, 1)$train, binomial(), hyper = "fixed"))
row("posterior draws, 4,000 of 1,000 rows, 50 points", function() {
  rstantools::posterior_linpred(drawn, ndraws = 4000)
}, list("rnorm() as many" = function() rnorm(4e6)), NULL, function(fit) flops(2 * 4e6 * 50) + bytes(16 * 4e6),
before = function() drawn)
delayedAssign("scored", galvi(y ~ ., regression(1e5, 1)$train, binomial()))
row("loo of 100,000 rows, 20 columns", function() loo::loo(scored), list(), NULL,
    function(fit) bytes(8 * 21 * 1e5) + exps(40 * 1e5), before = function() scored)

# sparse processes
loss_note <- function(test, y = "y") function(results) {
  loss <- vapply(results, function(fit) log_loss(predict(fit, test, type = "response"), test[[y]]), 0)
  paste("log loss", paste(sprintf("%.4f", loss), collapse = ", "))
}
delayedAssign("twenty", surface())
row("sparse, surface of 20,000, 100 points, learned", function() {
  galvi(y ~ gp(x1, x2, inducing = 100), twenty$train, binomial())
}, list("mgcv::bam" = function() {
  mgcv::bam(y ~ s(x1, x2, bs = "gp", k = 100), binomial(), twenty$train, discrete = TRUE, nthreads = 1)
}), c(x = 0.5), sparse_passes(2, 100), function(results) loss_note(twenty$test)(results),
before = function() twenty)
bananas <- read.csv("bench/data/banana5300.csv.gz")
bananas$y <- (bananas$y > 0) + 0
row("sparse, banana 5,300, 100 points, learned", function() {
  galvi(y ~ gp(x1, x2, inducing = 100), bananas[1:4300, ], binomial())
}, list("mgcv::bam" = function() {
  mgcv::bam(y ~ s(x1, x2, bs = "gp", k = 100), binomial(), bananas[1:4300, ], discrete = TRUE, nthreads = 1)
}), c(x = 0.5), sparse_passes(2, 100), loss_note(bananas[4301:5300, ]))
delayedAssign("odd", digits())
row("digits, 60,000 x 784, 200 points", function() galvi(y ~ gp(x, inducing = 200), odd$train, binomial()), list(),
    c(s = 120), sparse_passes(784, 200),
    function(results) paste(odd$name, loss_note(odd$test)(results)), minutes = TRUE, before = function() odd)
delayedAssign("late", flights())
row("flights, 179,100 x 6, 200 points, learned", function() {
  galvi(y ~ gp(month, dayofmonth, dayofweek, deptime, airtime, distance, inducing = 200,
               kernel = matern32(ard = TRUE) + linear(ard = TRUE)), late$train, binomial())
}, list("linear model" = function() galvi(y ~ ., late$train, binomial())), c(s = 110), sparse_passes(6, 200),
function(results) paste(late$name, loss_note(late$test)(results)), minutes = TRUE, before = function() late)

# maps
row("Besag + iid, 544 districts, learned", function() {
  galvi(Y ~ offset(log(E)) + iid(region) + gmrf(region, graph = germany_graph), oral, poisson())
}, list("chol(544)" = chol_of(544)), c(x = 10), expectations(1))
delayedAssign("map", counted_on_lattice(1e5))
delayedAssign("map_graph", lattice(316))
row("Besag + iid, 99,856 nodes, learned", function() {
  galvi(count ~ offset(log(E)) + iid(cell) + gmrf(cell, map_graph), map, poisson())
}, list(), c(s = 20), minutes = TRUE, before = function() list(map, map_graph))

# groups
grouped <- function(n, minutes = FALSE) {
  delayedAssign("d", in_groups(n))
  size <- format(n, big.mark = ",", scientific = FALSE)
  row(sprintf("(1 | g), gaussian, %s rows, groups of 10", size), function() galvi(y ~ x + (1 | g), d),
      list("lme4::lmer" = function() lme4::lmer(y ~ x + (1 | g), d)), c(x = 0.25),
      function(fit) sweeps(fit) * bytes(8 * 5 * n), minutes = minutes, before = function() d)
}
grouped(1e5)
grouped(1e6, minutes = TRUE)
counted_groups <- function(n, minutes = FALSE) {
  delayedAssign("d", in_groups(n))
  size <- format(n, big.mark = ",", scientific = FALSE)
  row(sprintf("(1 | g), poisson, %s rows, groups of 10", size), function() galvi(count ~ x + (1 | g), d, poisson()),
      list("glmmTMB::glmmTMB" = function() glmmTMB::glmmTMB(count ~ x + (1 | g), d, poisson())), c(x = 0.2),
      function(fit) sweeps(fit) * (bytes(8 * 5 * n) + exps(n)), minutes = minutes,
      before = function() d)
}
counted_groups(2e4)
counted_groups(2e5, minutes = TRUE)
if (requireNamespace("lme4", quietly = TRUE)) {
  data("InstEval", package = "lme4")
  row("InstEval, two crossed groups", function() galvi(y ~ service + (1 | s) + (1 | d), InstEval),
      list("lme4::lmer" = function() lme4::lmer(y ~ service + (1 | s) + (1 | d), InstEval)), c(x = 0.5))
}

# ordination
ordination <- function(n, species, minutes = FALSE) {
  delayedAssign("Y", abundances(n, species))
  row(sprintf("ordination, %d x %d, 2 factors, negbinomial", n, species), function() {
    galvi(responses(Y) ~ factors(2), family = negbinomial())
  }, list("gllvm::gllvm" = function() gllvm::gllvm(Y, family = "negative.binomial", num.lv = 2)), c(x = 0.1),
  expectations(20), minutes = minutes, before = function() Y)
}
ordination(200, 30)
ordination(1000, 100, minutes = TRUE)

# ---- the table ----

show_line("task", "galvi, s", "peer", "its s", "ratio", "reach", "", "limit, s", "times")
for (it in rows) if (wanted(it$task) && (large || !it$minutes)) time_row(it)

if (large && wanted("sparse, 1,000,000 rows, 100 points, learned, two threads")) {
  it <- alone("projected: 100 inducing points", 1e6, threads = 2, hyper = "optimise")
  cat("\nsparse, 1,000,000 rows, 100 points, learned\n")
  target("two threads", it$elapsed, 40, "s")
  target("peak above the data", it$MiB, 600, "MiB")
}

# ---- growth: exponents over a decade ----

if (wanted("growth")) {
  cat("\nGrowth over a decade of n, hyperparameters held, CPU seconds; exponents measured and of theory\n")
  line <- function(...) cat(sprintf("%-36s%9s%9s%7s%8s%8s%8s%8s  %s\n", ...))
  line("solver", "n", "seconds", "time", "theory", "MiB", "memory", "theory", "")
  for (name in names(growth_cases)) {
    case <- growth_cases[[name]]
    both <- lapply(case$sizes, function(n) alone(name, n))
    exponent <- function(what) log10(both[[2]][[what]] / both[[1]][[what]]) / log10(case$sizes[2] / case$sizes[1])
    time <- exponent("cpu")
    line(name, number(case$sizes[2]), number(both[[2]]$cpu), number(time), number(case$time), number(both[[2]]$MiB),
         number(exponent("MiB")), number(case$memory), if (time > case$time + 0.1) "grows too fast" else "")
  }
}

# ---- threads: the same bits, and never more than asked for ----

if (wanted("threads")) {
  cat("\n1 and 2 threads, elapsed seconds; cores: CPU by elapsed seconds where galvi may take one and BLAS two\n")
  line <- function(...) cat(sprintf("%-36s%9s%9s%9s%8s%7s  %s\n", ...))
  line("solver", "n", "one", "two", "ratio", "cores", "bits")
  for (name in names(growth_cases)) {
    n <- round(sqrt(prod(growth_cases[[name]]$sizes)))
    one <- alone(name, n, blas_threads = 2)
    two <- alone(name, n, threads = 2, blas_threads = 2)
    cores <- one$cpu / one$elapsed
    line(name, number(n), number(one$elapsed), number(two$elapsed), number(two$elapsed / one$elapsed),
         paste0(number(cores), if (cores > 1.05) "!"), if (identical(one$value, two$value)) "the same" else "DIFFER")
  }
}

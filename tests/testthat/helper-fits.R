# Small fits that several files look at, made once. Hyperparameters are held, so that they cost milliseconds.
small_fits <- new.env()

small_fit <- function(name) {
  if (is.null(small_fits[[name]])) small_fits[[name]] <- make_small_fit(name)
  small_fits[[name]]
}

make_small_fit <- function(name) {
  switch(name,
    gaussian = galvi(dist ~ gp(speed, kernel = se(variance = 600, lengthscale = 8), center = FALSE),
      data = cars, family = galvi_family("gaussian", variance = 230), hyper = "fixed"),
    binary = galvi(am ~ wt + gp(hp, qsec, kernel = se(variance = 1, lengthscale = 40)),
      data = mtcars, family = binomial(), hyper = "fixed"),
    trials = galvi(cbind(ncases, ncontrols) ~ agegp,
      data = esoph_table(), family = binomial(), hyper = "fixed"),
    counts = galvi(count ~ spray + offset(log(size)),
      data = spray_table(), family = poisson(), hyper = "fixed"),
    flat = galvi(am ~ wt + factor(gear),
      data = mtcars, family = binomial(), hyper = "fixed", prior = normal(0, 100))
  )
}

esoph_table <- function() {
  d <- datasets::esoph
  d$agegp <- factor(as.character(d$agegp))
  d$ncontrols <- pmax(d$ncontrols, 0)
  d
}

spray_table <- function() {
  d <- datasets::InsectSprays
  d$size <- rep(c(1, 2), length.out = nrow(d))
  d
}

small_data <- function(name) {
  switch(name,
    gaussian = cars, binary = mtcars, trials = esoph_table(), counts = spray_table(), flat = mtcars
  )
}

# Every family, on data drawn from it: n rows with eta = x, columns x and y.
family_data <- function(name, n = 60, seed = 1) {
  set.seed(seed)
  x <- seq(-1.5, 1.5, length.out = n)
  mu <- exp(x)
  level <- function(score) {
    cut(score, c(-Inf, -1, 0.5, Inf), c("low", "medium", "high"), ordered_result = TRUE)
  }
  gumbel <- function(k) -log(-log(matrix(runif(n * k), n)))
  stick <- ifelse(runif(n) < plogis(x), 1, ifelse(runif(n) < plogis(-x), 2, 3))
  # numbers above zero by inversion, and zeros in three of ten
  positive <- function(q, zero) q(runif(n, zero, 1))
  delayedAssign("counts", rbinom(n, 1, 0.7))  # drawn by the families that have them alone
  y <- switch(name,
    beta_binomial = rbinom(n, 1, plogis(x)),
    zero_inflated_poisson = counts * rpois(n, mu),
    zero_inflated_negbinomial = counts * as.integer(rnbinom(n, mu = mu, size = 2)),
    zero_inflated_binomial = counts * rbinom(n, 1, plogis(x)),
    hurdle_poisson = counts * positive(function(u) qpois(u, mu), dpois(0, mu)),
    hurdle_negbinomial = counts * positive(function(u) qnbinom(u, mu = mu, size = 2), dnbinom(0, mu = mu, size = 2)),
    hurdle_binomial = counts,
    zero_inflated_nbinom1 = counts * as.integer(rnbinom(n, mu = mu, size = mu / 2)),
    hurdle_nbinom1 = counts * positive(
      function(u) qnbinom(u, mu = mu, size = mu / 2), dnbinom(0, mu = mu, size = mu / 2)
    ),
    hurdle_gamma = counts * rgamma(n, 3, 3 / mu),
    hurdle_lognormal = counts * rlnorm(n, x, 0.5),
    gaussian = x + rnorm(n),
    binomial = rbinom(n, 1, plogis(x)),
    poisson = rpois(n, mu),
    Gamma = rgamma(n, 3, 3 / mu),
    inverse.gaussian = inverse_gaussian_quantile(runif(n), mu, 0.2),
    tweedie = likelihood_cases$tweedie$draw(x, 0.8),
    exponential = rexp(n, 1 / mu),
    weibull = rweibull(n, 2, mu),
    weibull_ph = rweibull(n, 2, exp(-x / 2)),
    loglogistic = exp(rlogis(n, x, 1 / 6)),
    lognormal = rlnorm(n, x, 0.5),
    negbinomial = rnbinom(n, mu = mu, size = 2),
    beta_family = rbeta(n, 8 * plogis(x), 8 * plogis(-x)),
    zero_one_inflated_beta = draw_inflated_beta(x, 8, rep(-1, n), rep(0.4, n)),
    student = x + rt(n, 4),
    laplace = x + rexp(n) - rexp(n),
    asymmetric_laplace = x + rexp(n) / 0.3 - rexp(n) / 0.7,
    stochastic_volatility = rnorm(n, 0, exp(x / 2)),
    cumulative = level(x + rlogis(n)),
    sratio = , cratio = , acat = {
      drawn <- draw_cell(x, c(-1, 0.5), default_twin(name)$log_density)
      factor(c("low", "medium", "high")[drawn + 1], c("low", "medium", "high"), ordered = TRUE)
    },
    categorical = factor(c("cat", "dog", "eel")[max.col(cbind(x, -x, 0) + gumbel(3))]),
    stick_breaking = factor(c("cat", "dog", "eel")[stick]),
    with(default_twin(name), draw(x, drawn_with))
  )
  data.frame(x = x, y = y)
}

# The twin of the likelihood of a family's default link.
default_twin <- function(name) likelihood_twins[[galvi:::family_types[[name]]$links[[1L]]]]

family_names <- function() names(galvi:::family_types)

ordinal_families <- c("cumulative", "sratio", "cratio", "acat")
class_families <- c(ordinal_families, "categorical", "stick_breaking")

# Held parameters, true ones where the family has any.
true_family <- function(name) {
  switch(name,
    gaussian = galvi_family(name, variance = fixed(1)),
    Gamma = galvi_family(name, shape = fixed(3)),
    negbinomial = , zero_inflated_negbinomial = , hurdle_negbinomial = galvi_family(name, size = fixed(2)),
    zero_inflated_nbinom1 = , hurdle_nbinom1 = galvi_family(name, phi = fixed(2)),
    hurdle_gamma = galvi_family(name, shape = fixed(3)),
    hurdle_lognormal = galvi_family(name, sigma = fixed(0.5)),
    weibull_ph = galvi_family(name, shape = fixed(2)),
    inverse.gaussian = galvi_family(name, dispersion = fixed(0.2)),
    tweedie = galvi_family(name, dispersion = fixed(0.8), power = 1.5),
    weibull = galvi_family(name, shape = fixed(2)),
    loglogistic = galvi_family(name, shape = fixed(6)),
    lognormal = galvi_family(name, sigma = fixed(0.5)),
    beta_family = galvi_family(name, precision = fixed(8)),
    ordbeta = galvi_family(name, cuts = fixed(c(-1, 1.5)), phi = fixed(5)),
    zero_one_inflated_beta = galvi_family(name, phi = fixed(8)),
    student = galvi_family(name, df = fixed(4), scale = fixed(1)),
    laplace = galvi_family(name, scale = fixed(1)),
    asymmetric_laplace = galvi_family(name, quantile = 0.3, scale = fixed(1)),
    cumulative = , sratio = , cratio = , acat = galvi_family(name, thresholds = fixed(c(-1, 0.5))),
    do.call(galvi_family, c(list(name), lapply(default_twin(name)$drawn_with, fixed)))
  )
}

family_fit <- function(name, n = 60, formula = y ~ x) {
  key <- paste("family", name, n, deparse1(formula))
  if (is.null(small_fits[[key]])) {
    data <- family_data(name, n)
    small_fits[[key]] <- galvi(formula, data = data, family = true_family(name), hyper = "fixed")
  }
  small_fits[[key]]
}

# Draws on a file that is thrown away; returns what plot() returns.
plot_away <- function(...) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  before <- graphics::par(no.readonly = TRUE)
  data <- plot(...)
  expect_identical(graphics::par("mar", "las", "mgp"), before[c("mar", "las", "mgp")])
  data
}

# What plot() drew, as R's graphics engine records it: a list of calls, each list(name, arguments). `size` in
# inches.
drawn <- function(..., size = c(7, 7), mfrow = c(1, 1)) {
  grDevices::pdf(NULL, width = size[1], height = size[2])
  on.exit(grDevices::dev.off())
  grDevices::dev.control("enable")
  graphics::par(mfrow = mfrow)
  plot(...)
  recorded_calls()
}

recorded_calls <- function() {
  lapply(grDevices::recordPlot()[[1]], function(entry) {
    call <- as.list(entry[[2]])
    routine <- call[[1]]
    list(name = if (is.list(routine)) routine$name else "", arguments = call[-1])
  })
}

calls_of <- function(calls, name) {
  lapply(Filter(function(call) identical(call$name, name), calls), `[[`, "arguments")
}

# All titles, notes and names of levels
drawn_text <- function(calls) {
  unlist(lapply(calls_of(calls, "C_mtext"), function(x) {
    text <- x[[1]]
    if (is.language(text)) vapply(as.expression(text), deparse1, "") else as.character(text)
  }))
}

# Squares side by side as a map, and the graph of which touch
squares <- function(n) lapply(seq_len(n), function(i) cbind(x = i + c(0, 1, 1, 0), y = c(0, 0, 1, 1)))

lattice_of <- function(n, names = NULL) {
  graph <- abs(outer(seq_len(n), seq_len(n), `-`)) == 1
  dimnames(graph) <- if (!is.null(names)) list(names, names)
  graph
}

# What fit_panels() is given where the user gives nothing
formals_of_plots <- function() {
  own <- plot_arguments()
  c(lapply(formals(plot.galvi)[own], eval), list(xlim = NULL, ylim = NULL))
}

# density() with its default bandwidth
density_at <- function(y, at) {
  fine <- stats::density(y, n = 4096, cut = 8)
  stats::approx(fine$x, fine$y, at)$y
}

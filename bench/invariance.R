# Do fits depend on the origin, the units or the coding of their columns?   make bench FILES=invariance.R
#
# Families x terms beside the columns: y ~ x + z + g with x in years, against the same model with x in days since 1970,
# with another reference level and with x + 1000. The largest relative difference of slopes (in units of their posterior
# sd), of the evidence in nats, of forecasts a year ahead in sds, and the ratio of times.
library(galvi)

set.seed(1)
n <- 120
d <- data.frame(x = runif(n, 1949, 1961), z = rexp(n), g = gl(3, 1, n, labels = c("a", "b", "c")), u = runif(n))
d$k <- gl(15, 8)
d$t <- rep(1:30, 4)
eta <- 0.1 * (d$x - 1955) - 0.3 * d$z + c(0, 0.4, -0.4)[d$g] + sin(4 * d$u) / 3
d$days <- (d$x - 1970) * 365.25
d$h <- relevel(d$g, "c")

families <- list(
  gaussian = list(gaussian(), eta + rnorm(n)), student = list(student(), eta + rt(n, 4)),
  binomial = list(binomial(), rbinom(n, 1, plogis(eta))), poisson = list(poisson(), rpois(n, exp(eta))),
  negbinomial = list(negbinomial(), rnbinom(n, 2, mu = exp(eta))),
  Gamma = list(Gamma("log"), rgamma(n, 3, 3 / exp(eta))), beta = list(beta_family(), rbeta(n, 5 * plogis(eta), 5 * plogis(-eta))),
  weibull = list(weibull(), rweibull(n, 2, exp(eta))),
  cumulative = list(cumulative(), cut(eta + rlogis(n), c(-Inf, -1, 1, Inf), ordered_result = TRUE)),
  categorical = list(categorical("u"), factor(sample(c("u", "v", "w"), n, TRUE)))
)
terms <- c(columns = "", gp = "+ gp(u)", inducing = "+ gp(u, inducing = 8)", groups = "+ (1 | k)", walk = "+ rw1(t)")
codings <- c(days = "days + z + g", shifted = "I(x + 1000) + z + g", relevelled = "x + z + h")

quiet <- function(expr) suppressMessages(suppressWarnings(expr))
future <- transform(d[1:6, ], x = x + 1, days = days + 365.25)
row <- function(family, term) {
  d$y <- families[[family]][[2]]
  fit <- function(right) {
    formula <- as.formula(paste("y ~", right, terms[[term]]))
    time <- system.time(out <- quiet(galvi(formula, d, families[[family]][[1]])))[["elapsed"]]
    list(fit = out, time = time)
  }
  first <- fit("x + z + g")
  slopes <- function(f) {
    V <- vcov(f)
    at <- grep("^([uvw]:)?z$", rownames(V))
    list(mean = as.vector(t(coef(f)))[at], sd = sqrt(diag(V))[at])
  }
  known <- slopes(first$fit)
  ahead <- function(f) predict(f, future, type = if (family %in% c("cumulative", "categorical")) "prob" else "link")
  scale <- sd(as.vector(ahead(first$fit)))
  out <- lapply(codings, function(right) {
    other <- fit(right)
    now <- slopes(other$fit)
    c(max(abs(now$mean - known$mean) / known$sd, abs(now$sd / known$sd - 1)), abs(other$fit$elbo - first$fit$elbo),
      max(abs(ahead(other$fit) - ahead(first$fit))) / scale, other$time / first$time)
  })
  out <- apply(do.call(rbind, out), 2, max)
  data.frame(family = family, term = term, slopes = signif(out[1], 2), nats = signif(out[2], 2),
    forecast = signif(out[3], 2), time = round(out[4], 1))
}

cases <- expand.grid(family = names(families), term = names(terms), stringsAsFactors = FALSE)
table <- do.call(rbind, Map(row, cases$family, cases$term))
print(table, row.names = FALSE)
cat(sprintf("largest: slopes %.1e sds, evidence %.1e nats, forecasts %.1e sds\n", max(table$slopes), max(table$nats),
  max(table$forecast)))

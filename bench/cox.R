# Exact posteriors of Breslow's partial likelihood with flat priors, by importance sampling: the numbers of
# tests/testthat/test-cox.R. Two runs of 120,000 antithetic draws from a t distribution at coxph()'s maximum; `error` is
# their difference in posterior standard deviations. A minute.
#
#   Rscript bench/cox.R

suppressPackageStartupMessages(library(survival))

partial <- function(start, stop, event, X) {
  times <- sort(unique(stop[event == 1]))
  risk <- vapply(times, function(t) start < t & stop >= t, logical(length(stop)))
  d <- vapply(times, function(t) sum(event == 1 & stop == t), 0)
  total <- colSums(X[event == 1, , drop = FALSE])
  function(B) drop(crossprod(B, total)) - colSums(d * log(crossprod(risk, exp(X %*% B))))
}
exact <- function(start, stop, event, X, draws = 6e4, df = 5) {
  f <- partial(start, stop, event, X)
  fit <- coxph(Surv(start, stop, event) ~ X, ties = "breslow")
  R <- chol(vcov(fit)) * 1.1
  q <- ncol(X)
  one <- function(seed) {
    set.seed(seed)
    Z <- matrix(rnorm(draws * q), draws)
    Z <- rbind(Z, -Z)
    s <- rep(sqrt(df / rchisq(draws, df)), 2)
    T <- Z * s
    lq <- -(df + q) / 2 * log1p(rowSums(T^2) / df)
    B <- coef(fit) + t(T %*% R)
    parts <- split(seq_len(ncol(B)), (seq_len(ncol(B)) - 1) %/% 20000)
    lw <- unlist(lapply(parts, function(i) f(B[, i, drop = FALSE]))) - lq
    w <- exp(lw - max(lw))
    w <- w / sum(w)
    m <- drop(B %*% w)
    rbind(mean = m, sd = sqrt(drop((B - m)^2 %*% w)), ess = 1 / sum(w^2))
  }
  a <- one(1)
  b <- one(2)
  out <- rbind(mean = (a[1, ] + b[1, ]) / 2, sd = (a[2, ] + b[2, ]) / 2, error = abs(a[1, ] - b[1, ]) / a[2, ],
    ess = a[3, ], coxph = coef(fit), se = sqrt(diag(vcov(fit))))
  `colnames<-`(out, colnames(X))
}
options(digits = 10, width = 150)
l <- na.omit(lung[c("time", "status", "age", "sex", "ph.karno")])
print(exact(rep(-1, nrow(l)), l$time, l$status - 1, as.matrix(l[c("age", "sex", "ph.karno")])))
v <- veteran
print(exact(rep(-1, nrow(v)), v$time, v$status, model.matrix(~ trt + karno + celltype, v)[, -1]))
k <- kidney
print(exact(rep(-1, nrow(k)), k$time, k$status, model.matrix(~ age + sex + disease, k)[, -1]))
o <- ovarian
print(exact(rep(-1, nrow(o)), o$futime, o$fustat, as.matrix(o[c("age", "rx", "ecog.ps")])))
h <- heart
print(exact(h$start, h$stop, h$event, model.matrix(~ age + year + surgery + transplant, h)[, -1]))

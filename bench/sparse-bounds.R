# Sparse classification: how good are the bounds and approximations of the literature, and how soon?
#
#   Rscript bench/sparse-bounds.R     (some five minutes)
#
# Held-out log density against seconds: the bound of Hensman, Matthews and Ghahramani (2015) with exact
# expectations ("KLSp"; "joint" moves all parameters together, as they do), their two-stage bound and mean
# field, Izmailov's Jaakkola-Jordan and Taylor methods, and generalised FITC with EP. Banana: 400 and 4900
# rows; USPS threes and fives: 1214 and 326 rows, 256 grey levels. Inducing points and hyperparameters
# start where galvi starts them and are learned; `hyper_iterations` stops each way along its path.
source("bench/_helper.R")
source("bench/_held-out.R")

logit <- function(...) list(family = binomial(), ...)
probit <- function(...) list(family = binomial("probit"), ...)
ways <- list(
  "KLSp, logit" = logit(), "KLSp, probit" = probit(), "KLSp, joint" = probit(joint = TRUE),
  "two-stage" = probit(expectation = "two_stage"), "mean field" = probit(method = "mean_field"),
  "jaakkola" = logit(expectation = "jaakkola"), "taylor" = logit(expectation = "taylor"),
  "FITC, EP" = probit(method = "ep", approximation = "fitc")
)

fit_way <- function(set, M, way, iterations) {
  approximation <- if (is.null(way$approximation)) "variational" else way$approximation
  formula <- eval(bquote(. ~ gp(., inducing = .(M), approximation = .(approximation))))
  formula[[2]] <- as.name(set$y)
  control <- galvi_control(hyper_iterations = iterations, joint = isTRUE(way$joint), threads = 1)
  set.seed(1)
  arguments <- list(formula, set$train, control = control)
  suppressWarnings(do.call(galvi, c(arguments, way[setdiff(names(way), c("joint", "approximation"))])))
}
path <- function(name, set, M, caps) {
  rows <- lapply(names(ways), function(way) {
    lapply(caps, function(iterations) {
      fit <- NULL
      seconds <- tryCatch(
        cpu_seconds(function() fit <<- fit_way(set, M, ways[[way]], iterations)), error = function(e) {
          cat(name, way, iterations, conditionMessage(e), "\n")
          NULL
        }
      )
      if (is.null(fit)) return(NULL)
      data.frame(
        data = name, M = M, way = way, iterations = iterations, seconds = seconds, elbo = fit$elbo,
        density = mean(predict(fit, set$test, type = "density")),
        error = mean(predict(fit, set$test, type = "class") != set$test[[set$y]])
      )
    })
  })
  do.call(rbind, unlist(rows, recursive = FALSE))
}

machine()
options(width = 110)
table <- rbind(
  path("banana", bananas, 16, c(5, 20, 80)), path("banana", bananas, 32, c(5, 20, 80)),
  path("usps", usps, 16, c(5, 20, 60))
)
show_table(table)
case <- paste(table$data, table$M)
last <- table[table$iterations == ave(table$iterations, case, FUN = max), ]
for (case in split(last, paste(last$data, last$M))) {
  ours <- max(case$density[startsWith(case$way, "KLSp")])
  best <- case[which.max(case$density), ]
  what <- sprintf("%s, M = %d: nats per row behind the best (%s)", case$data[1], case$M[1], best$way)
  target(what, best$density - ours, 0.005)
}

# Answer (2-core x86-64 machine, R 4.2.2, OpenBLAS 0.3.21, one thread): held-out log density at the end of
# the search (full processes: banana -0.251, USPS -0.142), CPU seconds to get there:
#
#                   banana, 16 points   banana, 32        USPS, 16
#   KLSp, logit      -0.251   0.09 s    -0.251   0.08 s   -0.178   2.3 s
#   KLSp, probit     -0.251   0.11      -0.249   0.09     -0.178   2.1
#   KLSp, joint      -0.250   0.30      -0.249   0.66     -0.185   8.3
#   two-stage        -0.273   0.08      -0.252   0.16     -0.206   3.4
#   mean field       -0.271   0.12      -0.249   0.17     -0.205   3.5
#   jaakkola         -0.259   0.15      -0.248   0.19     -0.190   6.7
#   taylor           -0.262   0.08      -0.257   0.07     -0.186   2.0
#   FITC, EP         -0.285   9.2       -0.288   5.8      -0.171   6.8
#
# Exact expectations lead among the bounds, at no price in time: looser bounds lose 0.01 to 0.03 nats a row
# where points are few. After five steps KLSp has banana within 0.012 nats, in less than 0.1 s. To move
# everything together takes 3 to 8 times as long. FITC is the slowest and over-confident on banana, the
# more so the longer it learns (-0.264 after 5 steps); on USPS with 16 points, where the variational bound
# wants long lengthscales (bench/sparse-against-full.R), it is ahead by 0.007.

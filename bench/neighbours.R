# gp(neighbours = 20) of Poisson counts at random places of the unit square, matern32(): CPU seconds and memory.
#
#   Rscript bench/neighbours.R [largest number of places, 1e4 by default]
#
# "order" is the maxmin order, "near" the neighbours of all places, "held" a fit at fixed hyperparameters, "learned" the
# whole call with learning and limits of hyperparameters, "predicted" means and standard deviations at 5,000 new places.
# Every size runs in a separate R process, for its peak memory. "steps" counts the factorisations of learning, those of
# the clusters that it starts on included. One thread of x86-64 that other processes shared, R 4.2.2:
#
#   places order  near held factorisations predicted learned steps  MiB
#     1000 0.009 0.003 0.26             10      0.27    0.89    67  129
#    10000 0.018 0.042  3.2             10      1.1     25.6   151  334
#
# At 1e5 places with lengthscale 10 / sqrt(n) a held fit takes 128 s and 2.9 GiB; with 10 neighbours the learned one
# takes 253 s and 1.3 GiB.
#
# These were measured before learning went on from the Hessian of its part of the places, with estimates of what each
# inference leaves and extrapolated sites. Since then "steps" at 10,000 places are 75 instead of 151, 23 of them of all
# places instead of 51, and 130 instead of 278 GFlop; bound and estimates are the same to 1e-5. "learned" took 18.5 s of
# CPU while many other builds shared the two cores, where a held fit took 4.1 to 4.5 s. bench/large-map.R has 1e5 places:
# 714 s and 3.2 GiB learned, with 20 neighbours.
# gpboost, of which a comparison was wanted, did not compile in 15 minutes of one shared core.
source("bench/_helper.R")

places <- function(n) {
  set.seed(1)
  d <- data.frame(x = runif(n), z = runif(n))
  # a sum of many waves, whose frequencies are those of the kernel
  lengthscale <- 0.05
  waves <- 2000
  w <- matrix(rnorm(2 * waves), waves) / sqrt(rgamma(waves, 1.5, 1.5)) / lengthscale
  phase <- runif(waves, 0, 2 * pi)
  f <- numeric(n)
  for (k in seq_len(waves)) f <- f + sqrt(2 / waves) * cos(d$x * w[k, 1] + d$z * w[k, 2] + phase[k])
  d$y <- rpois(n, exp(f))
  d
}

one_size <- function(n) {
  d <- places(n)
  X <- as.matrix(d[c("x", "z")])
  order <- fit <- NULL
  fit_at <- function(hyper) {
    kernel <- if (hyper == "fixed") matern32(1, 0.05) else matern32()
    fit <<- galvi(y ~ gp(x, z, kernel = kernel, neighbours = 20), d, poisson(), hyper = hyper,
      control = galvi_control(threads = 1))
  }
  row <- data.frame(places = n, order = cpu_seconds(function() order <<- galvi:::maxmin_order(X)))
  row$near <- cpu_seconds(function() galvi:::nearest_before(X[order, ], 20L, 1L))
  row$held <- cpu_seconds(function() fit_at("fixed"))
  row$factorisations <- fit$cost$factorisations
  new <- data.frame(x = runif(5000), z = runif(5000))
  row$predicted <- cpu_seconds(function() predict(fit, new, type = "link", se.fit = TRUE))
  row$learned <- cpu_seconds(function() fit_at("optimise"))
  row$steps <- fit$cost$factorisations
  status <- "/proc/self/status"
  row$MiB <- if (file.exists(status)) {
    as.numeric(gsub("\\D", "", grep("^VmHWM", readLines(status), value = TRUE))) / 1024
  } else NA
  row
}

at <- Sys.getenv("GALVI_PLACES")
if (nzchar(at)) {
  saveRDS(one_size(as.numeric(at)), Sys.getenv("GALVI_PLACES_FILE"))
  quit()
}
largest <- commandArgs(TRUE)
sizes <- 10^(3:5)
sizes <- sizes[sizes <= if (length(largest)) as.numeric(largest) else 1e4]
rows <- lapply(sizes, function(n) {
  file <- tempfile(fileext = ".rds")
  Sys.setenv(GALVI_PLACES = n, GALVI_PLACES_FILE = file)
  system2(file.path(R.home("bin"), "Rscript"), "bench/neighbours.R")
  readRDS(file)
})
print(do.call(rbind, rows), digits = 3, row.names = FALSE)

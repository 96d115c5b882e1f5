# The map of 100,000 places in vignette("long-series-and-large-maps"): counts of which the surface is known.
#
#   Rscript bench/large-map.R [places, 1e5 by default] [neighbours, 20 by default] [file to write the map to]
#
# CPU seconds of one thread of x86-64 that other processes shared, R 4.2.2, all 20 neighbours:
#
#   places learned 10,000 predictions with sds  GiB  truth within two sds
#     1e4       16                           1                      0.952
#     1e5      714                          40  3.2                 0.931
source("bench/_helper.R")
asked <- commandArgs(TRUE)
n <- if (length(asked)) as.numeric(asked[1L]) else 1e5
neighbours <- if (length(asked) > 1L) as.numeric(asked[2L]) else 20

# Waves with the frequencies of a matern32() of lengthscale 0.08
set.seed(1)
waves <- 1000
w <- matrix(rnorm(2 * waves), waves) / sqrt(rgamma(waves, 1.5, 1.5)) / 0.08
phase <- runif(waves, 0, 2 * pi)
surface <- function(x, y) {
  f <- numeric(length(x))
  for (k in seq_len(waves)) f <- f + sqrt(2 / waves) * cos(x * w[k, 1] + y * w[k, 2] + phase[k])
  0.5 + f
}
places <- data.frame(x = runif(n), y = runif(n))
places$count <- rpois(n, exp(surface(places$x, places$y)))
fit <- NULL
seconds <- cpu_seconds(function() {
  fit <<- galvi(count ~ gp(x, y, kernel = matern32(), neighbours = neighbours), places, poisson(),
    control = galvi_control(threads = 1))
})
print(fit)
cat(sprintf("%g places, %g neighbours: learned in %.0f s\n", n, neighbours, seconds))
map <- expand.grid(x = seq(0.005, 0.995, by = 0.01), y = seq(0.005, 0.995, by = 0.01))
seconds <- cpu_seconds(function() p <<- predict(fit, map, type = "link", se.fit = TRUE))
cat(sprintf("%d predictions with standard deviations: %.0f s\n", nrow(map), seconds))
map <- cbind(map, truth = surface(map$x, map$y), mean = p$fit, sd = p$se.fit)
cat(sprintf("within two standard deviations of the truth: %.3f\n", mean(abs(map$mean - map$truth) < 2 * map$sd)))
if (length(asked) > 2L) utils::write.csv(round(map, 3L), gzfile(asked[3L]), row.names = FALSE, quote = FALSE)

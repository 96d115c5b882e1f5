# Do clusters of every kind give the bits of one process, learned hyperparameters too, and survive a worker's
# death?
#
#   Rscript bench/cluster-kinds.R       (PSOCK and mirai, half a minute)
#   Rscript bench/cluster-kinds.R MPI   (by itself: a process that speaks MPI should start no others)
#
# PSOCK needs nothing, mirai its package of CRAN; MPI Debian's openmpi-bin, r-cran-rmpi, r-cran-snow and
# libopenmpi-dev (for the name libmpi.so). Open MPI refuses root, and more processes than cores, unless the
# variables below are 1. A dead MPI worker takes the others with it, so there none is killed.
Sys.setenv(OMPI_ALLOW_RUN_AS_ROOT = 1, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1, OMPI_MCA_rmaps_base_oversubscribe = 1)
source("bench/_helper.R")

set.seed(5)
d <- data.frame(x = runif(3000, -3, 3))
d$y <- rbinom(3000, 1, plogis(2 * sin(1.5 * d$x)))
fit <- function(...) {
  suppressWarnings(galvi(y ~ x + gp(x, inducing = 6), d, binomial(), method = "fixed_point",
    control = galvi_control(backend = "blas", hyper_iterations = 8, ...)))
}
same <- function(a, b) identical(a[c("elbo", "hyper", "posterior")], b[c("elbo", "hyper", "posterior")])
alone <- fit()

here <- function(package) nzchar(system.file(package = package))
kinds <- list(
  PSOCK = function() parallel::makePSOCKcluster(2),
  mirai = if (here("mirai")) function() mirai::make_cluster(2),
  MPI = if (here("Rmpi") && here("snow")) function() parallel::makeCluster(2, type = "MPI")
)
wanted <- commandArgs(TRUE)
for (kind in if (length(wanted)) wanted else c("PSOCK", "mirai")) {
  if (is.null(kinds[[kind]])) {
    cat(kind, "is not here\n")
    next
  }
  cluster <- kinds[[kind]]()
  invisible(parallel::clusterCall(cluster, .libPaths, .libPaths()))
  cat(kind, ": same bits", same(fit(cluster = cluster), alone))
  if (kind != "MPI") {
    tools::pskill(parallel::clusterCall(cluster, Sys.getpid)[[1]], tools::SIGKILL)
    cat(", with a dead worker", same(fit(cluster = cluster), alone))
  }
  cat("\n")
  try(parallel::stopCluster(cluster), silent = TRUE)
}
if (isNamespaceLoaded("Rmpi")) Rmpi::mpi.quit()

# All three give the same bits, PSOCK and mirai with a dead worker too (R 4.2.2, Open MPI 4.1.4, mirai 2.7).

# Workers, and the results of a fit that must be identical to the last bit wherever its rows are.

# Workers that stop when the test ends.
local_cluster <- function(workers = 2, env = parent.frame()) {
  skip_on_cran()
  cluster <- parallel::makePSOCKcluster(workers)
  stop <- function() for (j in seq_along(cluster)) {
    try(parallel::stopCluster(cluster[j]), silent = TRUE)
    try(close(cluster[[j]]$con), silent = TRUE)  # the process may have ended
  }
  do.call(on.exit, list(call("suppressWarnings", as.call(list(stop))), add = TRUE), envir = env)
  parallel::clusterCall(cluster, function(paths) .libPaths(paths), .libPaths())
  cluster
}

# The results that must be identical.
bits_of <- function(fit) {
  fit[c("elbo", "hyper", "posterior", "method", "convergence", "log_prior", "inducing", "nobs")]
}

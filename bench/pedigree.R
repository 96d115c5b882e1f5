# A half-sib pedigree of 1e5 animals: the sparse inverse of the relationship matrix by Henderson's rules, and the time
# that its variance takes to be learned.

library(galvi)

# Rules of Henderson (1976) without inbreeding: an animal of known sire alone adds 4/3 at itself, -2/3 beside its sire and
# 1/3 at the sire; one without parents adds 1 at itself.
half_sib_precision <- function(sires, per_sire) {
  sire <- rep(seq_len(sires), each = per_sire)
  child <- sires + seq_along(sire)
  n <- sires + length(sire)
  ids <- paste0("a", seq_len(n))
  Q <- Matrix::sparseMatrix(
    i = c(seq_len(sires), child, child, sire, sire), j = c(seq_len(sires), child, sire, child, sire),
    x = rep(c(1, 4 / 3, -2 / 3, -2 / 3, 1 / 3), c(sires, rep(length(sire), 4L))), dims = c(n, n),
    dimnames = list(ids, ids)
  )
  list(Q = Q, sire = sire, ids = ids)
}

set.seed(1)
pedigree <- half_sib_precision(1000L, 99L)
Q <- pedigree$Q
breeding <- rnorm(1000)
breeding <- c(breeding, breeding[pedigree$sire] / 2 + sqrt(3 / 4) * rnorm(length(pedigree$sire)))
animals <- data.frame(id = pedigree$ids, x = rnorm(length(breeding)))
animals$y <- 1 + animals$x / 2 + breeding + rnorm(length(breeding), 0, 1.5)

seconds <- system.time(
  fit <- galvi(y ~ x + (1 | gr(id, precision = Q)), data = animals)
)[["elapsed"]]
print(fit)
cat(sprintf("%d animals: %.1f s\n", nrow(animals), seconds))

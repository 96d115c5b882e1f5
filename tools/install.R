# Installs what galvi needs, then galvi.   Rscript tools/install.R [test] [bench]
source("tools/packages.R")

wanted <- described(c("Imports", "LinkingTo"))
suggested <- described("Suggests")
if ("test" %in% commandArgs(TRUE)) {
  tests <- c(
    "testthat", "numDeriv", "generics", "processx", "MASS", "mgcv", "DBI", "RSQLite", "nanoparquet", "loo"
  )
  wanted <- c(wanted, suggested[tests])
}
if ("bench" %in% commandArgs(TRUE)) wanted <- c(wanted, suggested["MASS"])
library <- install_missing(wanted)

# Objects of another R, Eigen or Rcpp must not be linked with new ones.
built_with <- c(R.version.string, vapply(names(described("LinkingTo")), function(package) {
  paste(package, utils::packageVersion(package))
}, ""))
stamp <- file.path("src", ".built-with")
if (!file.exists(stamp) || !identical(readLines(stamp), unname(built_with))) {
  unlink(list.files(c("src", "tests/probes"), "\\.(o|so|dll)$", recursive = TRUE, full.names = TRUE))
  writeLines(built_with, stamp)
}

message("Building galvi into ", library, " (one to two minutes on two cores the first time).")
r_cmd(c("INSTALL", "--no-multiarch", "--strip", paste0("--library=", shQuote(library)), "."),
      env = "MAKEFLAGS=-j2", quietly = TRUE)

# Builds and attaches the entry points into the core that only tests and measurements call: the package tests/probes,
# linked with the objects that the installation of galvi left in src/. Sourced by the other scripts; compiles only what
# has changed.
source("tools/packages.R")

local({
  if (!file.exists("src/build/border.o")) {
    stop("src/ has no objects: install galvi from this folder first, as tools/install.R does.", call. = FALSE)
  }
  folder <- file.path("tests", "probes")
  Rcpp::compileAttributes(folder)
  built <- file.path(tempdir(), "probes")
  dir.create(built)
  r_cmd(c("INSTALL", "--no-multiarch", "--no-test-load", paste0("--library=", built), folder),
        env = "MAKEFLAGS=-j2", quietly = TRUE)
  library(galviprobes, lib.loc = built)
  Sys.setenv(GALVI_PROBES = built)  # for the processes that share the test files
})

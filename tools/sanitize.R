# Builds galvi with Eigen's and the standard library's assertions on and undefined behaviour trapped, in a
# separate library, and runs the tests with it. About ten times slower than `make test`.
source("tools/packages.R")
suggested <- described("Suggests")
install_missing(c(described(c("Imports", "LinkingTo")),
                  suggested[c("testthat", "numDeriv", "generics", "processx")]))

copy <- file.path(tempdir(), "galvi")
dir.create(copy)
parts <- c("DESCRIPTION", "NAMESPACE", "README.md", "R", "src", "data", "man", "tests", "tools")
invisible(file.copy(parts, copy, recursive = TRUE))
unlink(list.files(copy, "\\.(o|so|dll)$", recursive = TRUE, full.names = TRUE))

flags <- paste("-O1 -g -UNDEBUG -D_GLIBCXX_ASSERTIONS -Wno-ignored-attributes -fsanitize=undefined",
               "-fno-sanitize-recover=undefined -include", normalizePath("tools/eigen_assert.h"))
makevars <- file.path(tempdir(), "Makevars")
writeLines(c(paste("CXX17FLAGS =", flags), "SHLIB_CXX17LDFLAGS = -shared -fsanitize=undefined"), makevars)
library <- file.path(tempdir(), "library")
dir.create(library)
message("Building galvi with assertions (some minutes).")
r_cmd(c("INSTALL", "--no-test-load", paste0("--library=", library), copy),
      env = c("MAKEFLAGS=-j2", paste0("R_MAKEVARS_USER=", makevars)), quietly = TRUE)

.libPaths(c(library, .libPaths()))
Sys.setenv(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
Sys.setenv(R_MAKEVARS_USER = makevars)  # for the entry points that only tests call
setwd(copy)
quit(status = system2(file.path(R.home("bin"), "Rscript"), "tools/test.R"))

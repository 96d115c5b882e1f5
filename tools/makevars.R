# Writes src/Makevars and src/Makevars.win: which objects the package is made of, and that every one of them
# depends on every header (make knows nothing else about included files).
#   Rscript tools/makevars.R          writes both
#   Rscript tools/makevars.R --check  exits 1 when a committed one is stale
# Run it from the top of the source tree after adding or removing a file under src/.

listed <- function(pattern) {
  files <- list.files("src", pattern = pattern, recursive = TRUE)
  sort(files, method = "radix")  # the same order in every locale
}

continued <- function(name, values) {
  paste0(name, " = \\\n", paste0("  ", values, collapse = " \\\n"), "\n")
}

makevars <- function() {
  objects <- sub("\\.cpp$", ".o", union(listed("\\.cpp$"), "RcppExports.cpp"))
  paste0(
    "# Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file.\n",
    "CXX_STD = CXX17\n",
    "# Rcpp without the parts that are not used here compiles faster.\n",
    "PKG_CPPFLAGS = -I. -DEIGEN_DONT_PARALLELIZE -DRCPP_NO_MODULES -DRCPP_NO_SUGAR\n",
    "# Nothing but the entry points is seen from outside: a smaller library, loaded sooner.\n",
    "PKG_CXXFLAGS = $(CXX_VISIBILITY) $(SHLIB_OPENMP_CXXFLAGS)\n",
    "PKG_LIBS = $(SHLIB_OPENMP_CXXFLAGS) $(LAPACK_LIBS) $(BLAS_LIBS) $(FLIBS)\n\n",
    continued("HEADERS", listed("\\.h$")), "\n",
    continued("OBJECTS", sort(objects, method = "radix")), "\n",
    "all: $(SHLIB)\n\n",
    "$(OBJECTS): $(HEADERS)\n"
  )
}

text <- makevars()
targets <- file.path("src", c("Makevars", "Makevars.win"))
if ("--check" %in% commandArgs(TRUE)) {
  stale <- targets[!vapply(targets, function(path) {
    file.exists(path) && identical(readChar(path, file.size(path), useBytes = TRUE), text)
  }, NA)]
  if (length(stale)) {
    message("stale: ", paste(stale, collapse = ", "), "; run `Rscript tools/makevars.R`")
    quit(status = 1)
  }
} else {
  for (path in targets) {
    connection <- file(path, "wb")  # the same line ends on every system
    writeLines(text, connection, sep = "")
    close(connection)
  }
}

# Writes Makevars, Makevars.win, and for each folder of src/ a file in src/build/ that includes all files of the folder,
# so that headers are read ten times instead of a hundred. Writes the same for tests/probes/src, which is linked with
# the same objects.
# The prerequisites of an object are the files that it includes: after a change of a header only what includes it is
# compiled.
#   Rscript tools/makevars.R          writes them
#   Rscript tools/makevars.R --check  exits 1 when a committed one is stale
# Run it from the top of the source tree after adding or removing a file or an #include
# under src/ or tests/probes/src/.

listed <- function(pattern, folder = "src") {
  files <- grep("^build/", list.files(folder, pattern = pattern, recursive = TRUE), value = TRUE, invert = TRUE)
  sorted(setdiff(files, "RcppExports.cpp"))
}

sorted <- function(files) sort(files, method = "radix")  # the same order in every locale

continued <- function(name, values) paste0(name, " =", wrapped(values), "\n")

# File names in lines of up to 110 characters, each but the last ending in a backslash.
wrapped <- function(values) {
  lines <- strwrap(paste(values, collapse = " "), width = 109, prefix = "  ")
  paste0(" \\\n", lines, collapse = "")
}

# `files` of `folder`, what they name in #include "...", what those name, and so on: in `folder`, else in src/.
closure <- function(files, folder = "src") {
  located <- function(names) {
    paths <- file.path(folder, names)
    paths[!file.exists(paths)] <- file.path("src", names[!file.exists(paths)])
    absent <- names[!file.exists(paths)]
    if (length(absent)) stop("an #include names what is not there: ", paste(absent, collapse = ", "), call. = FALSE)
    paths
  }
  named_by <- function(path) {
    pattern <- "^#include \"(.*)\".*"
    sub(pattern, "\\1", grep(pattern, readLines(path), value = TRUE))
  }
  found <- character()
  latest <- located(files)
  while (length(latest)) {
    found <- c(found, latest)
    latest <- setdiff(located(unlist(lapply(latest, named_by))), found)
  }
  sorted(found)
}

# Files that are compiled separately, because they use instructions that not every machine has.
alone <- function(files) grepl("_avx2\\.cpp$", files)

# Those that are compiled together, by folder; the entry points at the top of src/ are the border's.
together <- function() {
  files <- Filter(Negate(alone), listed("\\.cpp$"))
  split(files, ifelse(dirname(files) == ".", "border", dirname(files)))
}

header <- "Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.\n"

build_file <- function(files) {
  paste0("// ", header, paste0("#include \"", files, "\"\n", collapse = ""))
}

# What galvi and the probes are compiled with; `folders` have the headers.
flags <- function(folders) {
  paste0(
    "CXX_STD = CXX17\n",
    "# Rcpp without the parts that are not used here compiles faster.\n",
    "PKG_CPPFLAGS = ", paste0("-I", folders, collapse = " "),
    " -DEIGEN_DONT_PARALLELIZE -DRCPP_NO_MODULES -DRCPP_NO_SUGAR\n",
    "# Nothing but the entry points is seen from outside: a smaller library, loaded sooner.\n",
    "PKG_CXXFLAGS = $(CXX_VISIBILITY) -pthread\n"
  )
}
libraries <- "-pthread $(LAPACK_LIBS) $(BLAS_LIBS) $(FLIBS)\n"

object <- function(sources) sub("\\.cpp$", ".o", sources)

# Without the file of Rcpp, whose objects need it.
core_sources <- function() {
  sorted(c(file.path("build", paste0(names(together()), ".cpp")), Filter(alone, listed("\\.cpp$"))))
}

# The rule of the object of one source.
rule <- function(source) {
  members <- together()[[sub("^build/(.*)[.]cpp$", "\\1", source)]]  # NULL for a source that is not in build/
  files <- sub("^src/", "", closure(c(members, if (is.null(members)) source)))
  paste0(
    object(source), ":", wrapped(unique(c(source, files))), "\n",
    "\t$(CXX) $(ALL_CPPFLAGS) $(ALL_CXXFLAGS) $(GALVI_DEBUG) -c ", source, " -o ", object(source), "\n"
  )
}

# make starts with the objects that are first: with the longest to compile at the end, one core would wait.
longest_first <- function(sources) union(file.path("build", c("solver.cpp", "prior.cpp", "fit.cpp")), sources)

makevars <- function() {
  sources <- c("RcppExports.cpp", core_sources())
  paste0(
    "# ", header, flags("."),
    "PKG_LIBS = ", libraries,
    "# R's own flags ask for debug information, which would be 190 MB. To have it: GALVI_DEBUG = -g in ~/.R/Makevars.\n",
    "GALVI_DEBUG = -g0\n\n",
    continued("OBJECTS", object(longest_first(sources))), "\n",
    "all: $(SHLIB)\n\n",
    paste0(vapply(sources, rule, ""), collapse = "\n")
  )
}

probes <- "tests/probes/src"
probes_makevars <- function() {
  core <- "../../../src"
  included <- closure(listed("\\.cpp$", probes), probes)
  included <- sub("^src", core, sub(paste0("^", probes, "/"), "", included))
  paste0(
    "# ", header, flags(c(core, ".")),
    "PKG_LIBS = $(CORE) ", libraries, "\n",
    continued("CORE", file.path(core, object(core_sources()))), "\n",
    "OBJECTS = RcppExports.o build/probes.o\n\n",
    "all: $(SHLIB)\n\n",
    "$(SHLIB): $(CORE)\n\n",
    "build/probes.o:", wrapped(c("build/probes.cpp", included)), "\n"
  )
}

wanted <- function() {
  build <- vapply(together(), build_file, "")
  names(build) <- file.path("src", "build", paste0(names(build), ".cpp"))
  text <- makevars()
  own <- c(probes_makevars(), build_file(listed("\\.cpp$", probes)))
  names(own) <- file.path(probes, c("Makevars", "build/probes.cpp"))
  c("src/Makevars" = text, "src/Makevars.win" = text, build, own)
}

texts <- wanted()
same <- vapply(names(texts), function(path) {
  file.exists(path) && identical(readChar(path, file.size(path), useBytes = TRUE), texts[[path]])
}, NA)
left_over <- setdiff(list.files("src/build", "\\.cpp$", full.names = TRUE), names(texts))
if ("--check" %in% commandArgs(TRUE)) {
  stale <- c(names(texts)[!same], left_over)
  if (length(stale)) {
    message("stale: ", paste(stale, collapse = ", "), "; run `Rscript tools/makevars.R`")
    quit(status = 1)
  }
} else {
  unlink(left_over)
  for (path in names(texts)[!same]) {  # a file that is written again would be compiled again
    dir.create(dirname(path), showWarnings = FALSE)
    connection <- file(path, "wb")  # the same line ends on every system
    writeLines(texts[[path]], connection, sep = "")
    close(connection)
  }
}

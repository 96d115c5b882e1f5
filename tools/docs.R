# Rewrites what is generated and committed: RcppExports, Makevars, NAMESPACE and man/.
source("tools/packages.R")
install_missing(c(described(c("Imports", "LinkingTo")), roxygen2 = "7.2.3"))
Rcpp::compileAttributes(".")
source("tools/makevars.R")
system2(file.path(R.home("bin"), "Rscript"), "tools/install.R")
roxygen2::roxygenise(load_code = roxygen2::load_installed)

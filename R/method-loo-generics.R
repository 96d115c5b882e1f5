# The functions of package loo that have methods here, so that they are found without library(loo). They pass every
# object on to the generic of that package, whichever of the two functions is found first.

#' @rdname loo.galvi
#' @export
loo <- function(x, ...) of_package_loo("loo")(x, ...)

#' @rdname kfold.galvi
#' @export
kfold <- function(x, ...) of_package_loo("kfold")(x, ...)

of_package_loo <- function(name) {
  if (requireNamespace("loo", quietly = TRUE)) return(getExportedValue("loo", name))
  stop_galvi("argument", sprintf("%s() needs package loo: install.packages(\"loo\").", name))
}

# What combines: methods of inference, ways to take the expectation, likelihoods and priors.

# ---- names ----

# Every name that `method` accepts; those the core has come from its registry.
method_names <- function() {
  c("auto", "newton", "exact", "fixed_point", "fixed_point_batch", "coordinate_ascent", "dual", "opper_archambeau",
    "cholesky_gradient", "natural_gradient", "laplace", "ep", "mean_field", "stochastic")
}

available_methods <- function() {
  c("auto", "newton", "exact", "fixed_point", "fixed_point_batch", "natural_gradient", "opper_archambeau")
}

expectation_names <- function() {
  c("auto", "closed_form", "quadrature", "piecewise", "log", "jaakkola", "bouchard", "taylor", "two_stage")
}

available_expectations <- function() c("auto", "closed_form", "quadrature")

check_method <- function(method) check_available(method, "method", method_names(), available_methods())

check_expectation <- function(expectation) {
  check_available(expectation, "expectation", expectation_names(), available_expectations())
}

check_available <- function(x, arg, names, available) {
  x <- check_choice(x, names, arg, "method")
  if (x %in% available) return(x)
  stop_galvi("method", sprintf(
    "%s = \"%s\" is not available in this version: use one of %s.", arg, x, quote_names(available, "\"", 30L)
  ))
}

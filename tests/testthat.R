library(testthat)
library(galvi)

test_check("galvi")

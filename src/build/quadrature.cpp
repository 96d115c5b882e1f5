// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.
#include "quadrature/derivative_rule.cpp"
#include "quadrature/gaussian_rule.cpp"
#include "quadrature/log_integral.cpp"
#include "quadrature/log_normal_transform.cpp"
#include "quadrature/numeric_distribution.cpp"
#include "quadrature/sampled_function.cpp"
#include "quadrature/shifted_means.cpp"
#include "quadrature/softmax_lattice.cpp"

// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file.
#include "hyper/curvature.cpp"
#include "hyper/joint.cpp"
#include "hyper/optimise.cpp"
#include "hyper/posterior_numbers.cpp"
#include "hyper/prior_density.cpp"
#include "hyper/projected_newton.cpp"
#include "hyper/table.cpp"

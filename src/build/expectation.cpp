// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file.
#include "expectation/averaged.cpp"
#include "expectation/bouchard.cpp"
#include "expectation/by_row.cpp"
#include "expectation/composed.cpp"
#include "expectation/piecewise.cpp"
#include "expectation/quadrature.cpp"
#include "expectation/registry.cpp"
#include "expectation/softmax.cpp"

// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.
#include "coupled_response.cpp"
#include "dual.cpp"
#include "expectation.cpp"
#include "integrate.cpp"
#include "kernel.cpp"
#include "model.cpp"
#include "numeric.cpp"
#include "sparse.cpp"

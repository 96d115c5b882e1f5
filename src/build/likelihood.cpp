// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.
#include "likelihood/averaged.cpp"
#include "likelihood/compound_poisson.cpp"
#include "likelihood/counts.cpp"
#include "likelihood/custom.cpp"
#include "likelihood/log_densities.cpp"
#include "likelihood/plane_forms.cpp"
#include "likelihood/registry.cpp"
#include "likelihood/tilted.cpp"

// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.
#include "predictive/classes.cpp"
#include "predictive/distributional.cpp"
#include "predictive/moments.cpp"
#include "predictive/quantile.cpp"
#include "predictive/tails.cpp"

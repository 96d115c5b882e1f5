// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.
#include "predictive/classes.cpp"
#include "predictive/deviance.cpp"
#include "predictive/distributional.cpp"
#include "predictive/moments.cpp"
#include "predictive/monotone_mixture.cpp"
#include "predictive/quantile.cpp"
#include "predictive/tails.cpp"

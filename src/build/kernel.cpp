// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.
#include "kernel/arrays.cpp"
#include "kernel/gram.cpp"
#include "kernel/harmonics.cpp"
#include "kernel/integrated_wiener.cpp"
#include "kernel/matern.cpp"
#include "kernel/registry.cpp"
#include "kernel/state_space.cpp"
#include "kernel/stationary.cpp"

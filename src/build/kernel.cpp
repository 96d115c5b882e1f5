// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.
#include "kernel/arrays.cpp"
#include "kernel/gram.cpp"
#include "kernel/registry.cpp"
#include "kernel/stationary.cpp"

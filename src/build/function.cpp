// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.
#include "function/cauchy.cpp"
#include "function/elementwise.cpp"
#include "function/normal.cpp"
#include "function/normal_interval.cpp"
#include "function/standard_function.cpp"

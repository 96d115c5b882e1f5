// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file.
#include "border/model_from_list.cpp"
#include "border/monitor.cpp"
#include "bound.cpp"
#include "facts.cpp"
#include "fit.cpp"
#include "predict.cpp"
#include "response.cpp"
#include "variances.cpp"

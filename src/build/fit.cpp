// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.
#include "fit/choose.cpp"
#include "fit/couple.cpp"
#include "fit/curvature.cpp"
#include "fit/fit.cpp"
#include "fit/pilot.cpp"
#include "fit/scan.cpp"
#include "fit/state.cpp"
#include "fit/stop.cpp"

// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file.
#include "global/chunk.cpp"
#include "global/contribution.cpp"
#include "global/global_model.cpp"
#include "global/latent_posterior.cpp"
#include "global/numbers.cpp"
#include "global/row_source.cpp"
#include "global/site_visit.cpp"
#include "global/wire.cpp"

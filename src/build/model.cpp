// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file.
#include "numeric/types.h"
#include "model/latent_gaussian_model.cpp"

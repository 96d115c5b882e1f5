// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file.
#include "model/latent_gaussian_model.cpp"

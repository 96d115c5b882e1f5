// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file or an #include.
#include "model/latent_gaussian_model.cpp"
#include "model/start.cpp"

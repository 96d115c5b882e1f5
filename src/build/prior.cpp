// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file.
#include "prior/coefficients.cpp"
#include "prior/columns_term.cpp"
#include "prior/field.cpp"
#include "prior/field_models.cpp"
#include "prior/field_term.cpp"
#include "prior/inducing_term.cpp"
#include "prior/prior.cpp"
#include "prior/registry.cpp"

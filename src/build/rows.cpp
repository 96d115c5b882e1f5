// Written by tools/makevars.R: run `Rscript tools/makevars.R` after adding or removing a file.
#include "rows/row_block.cpp"

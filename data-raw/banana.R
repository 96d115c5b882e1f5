# Makes data/banana.rda from data-raw/banana.csv.   Run from the top of the source tree.
# The csv is the first training set of the banana data in G. Raetsch's collection of benchmarks, as the
# repository GPflow/GPflow (Apache 2.0) had it in banana_X_train and banana_Y_train.
banana <- read.csv("data-raw/banana.csv")
stopifnot(dim(banana) == c(400, 3), banana$y %in% 0:1, !anyNA(banana))

save(banana, file = "data/banana.rda", compress = "xz", version = 2)

# Makes data/ionosphere.rda from data-raw/ionosphere.csv.   Run from the top of the source tree.
# The csv is the UCI Machine Learning Repository's data (CC BY 4.0) as mlbench distributes it, V1 and V2 as numbers.
raw <- read.csv("data-raw/ionosphere.csv")
stopifnot(nrow(raw) == 351, all(raw$V2 == 0), !anyNA(raw))

ionosphere <- raw[setdiff(names(raw), c("V2", "class"))]
# The second level is what binomial() counts as a success.
ionosphere$Class <- factor(raw$class, levels = c("bad", "good"))

save(ionosphere, file = "data/ionosphere.rda", compress = "xz", version = 2)

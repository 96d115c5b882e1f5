# Makes data/sleepstudy.rda from data-raw/sleepstudy.csv.   Run from the top of the source tree.
# The csv is the data of Belenky et al. (2003) as lme4 (GPL >= 2) distributes it.
raw <- read.csv("data-raw/sleepstudy.csv")
stopifnot(nrow(raw) == 180, setequal(raw$Days, 0:9), !anyNA(raw))

sleepstudy <- transform(raw, Subject = factor(Subject))

save(sleepstudy, file = "data/sleepstudy.rda", compress = "xz", version = 2)

# Two classifications with rows to predict, each list(train, test, y). Not run by itself.

all_bananas <- read.csv("bench/data/banana5300.csv.gz")
key <- function(d) paste(round(d$x1, 5), round(d$x2, 5))
bananas <- list(train = banana, test = all_bananas[!key(all_bananas) %in% key(banana), ], y = "y")

digits <- transform(read.csv("bench/data/usps35.csv.gz"), digit = factor(digit))
usps <- list(
  train = subset(digits, set == "train", -set), test = subset(digits, set == "test", -set), y = "digit"
)

# Loops that pass over cases count those that they checked: a test of none could not fail.
expect_some <- function(checked, what) expect_gt(checked, 0, label = paste("the number checked of", what))

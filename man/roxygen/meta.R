# How "See Also" introduces the other pages of an @family.
list(rd_family_title = list(
  fitting = "Fitting models: ",
  likelihoods = "Likelihoods: ",
  terms = "Terms: ",
  `kernels and priors` = "Kernels and priors: ",
  `predictions and draws` = "Predictions and draws: ",
  `checks and comparisons` = "Checks and comparisons: ",
  `large data` = "Large data: ",
  extending = "Extending galvi: "
))

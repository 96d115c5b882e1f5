# One model, one optimum: whichever method is asked, it is found. bench/agreement.R does the same on 200
# seeds.

skip_on_cran()

# The quasi-Newton methods may need more than 500 steps under wide priors, and then say so.
expect_agreement <- function(model, found) {
  below <- max(found$elbo) - found$elbo
  label <- paste(describe_model(model), found$method)
  for (i in seq_len(nrow(found))) {
    if (!found$converged[i] && found$method[i] %in% c("cholesky_gradient", "opper_archambeau")) {
      expect_match(found$message[i], "stopped", label = label[i])
      next
    }
    expect_true(found$converged[i], label = label[i])
    expect_lte(below[i], 1e-6, label = label[i])
  }
}

test_that("all methods agree on random models with one optimum", {
  choices <- likelihood_choices()
  for_seeds(1:60, function(seed) {
    model <- random_any_model(choices)
    expect_agreement(model, methods_on(model))
  })
})

test_that("from several starts they do where there may be several optima", {
  choices <- likelihood_choices(one_optimum = FALSE)
  for_seeds(1:20, function(seed) {
    model <- random_any_model(choices)
    expect_agreement(model, methods_from_best(model))
  })
})

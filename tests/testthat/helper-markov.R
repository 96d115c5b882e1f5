# Series, and the same model by states and by the covariance of all rows.

gold_data <- function(name) utils::read.csv(test_path("fixtures", paste0(name, ".csv")))

# By states, and by the covariance of all rows.
both_ways <- function(formula, data, family, ..., method = "auto") {
  model <- galvi_model(galvi_design(formula, data, family), ...)
  lapply(list(chain = with_chains(model), dense = with_full_terms(model)), function(model) {
    suppressMessages(galvi_fit(model, galvi_infer(model, method = method, verbose = FALSE)))
  })
}
# A few rows are chains too.
with_chains <- function(model) {
  model <- change_terms(model, function(term, t) if (is_full_term(term)) replace(term, "type", "chain") else term)
  model$predictors[[1]]$solver <- "markov"
  model
}
solver_name <- function(fit) fit$model$predictors[[1]]$solver

series <- function(n = 60, seed = 1) {
  set.seed(seed)
  t <- c(runif(n - 3, 0, 10), 2, 2, 2 + 1e-9)
  d <- data.frame(t = t, z = rnorm(n), g = factor(sample(c("a", "b", "c"), n, TRUE)))
  d$count <- rpois(n, exp(0.5 + sin(t) + 0.3 * d$z))
  d$day <- sample(12, n, TRUE)
  d$y <- sin(t) + 0.3 * d$z + c(-0.5, 0, 0.5)[d$g] + sin(d$day) + rnorm(n, 0, 0.3)
  d
}

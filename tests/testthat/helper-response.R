# The best joint Gaussian of all coefficients and linear response at it (src/fit/coupled_response.h), in plain R and by
# the core, for models whose predictors are columns with normal priors.

# A border list. W: a design for each predictor; mean, sd: of all coefficients' priors, one predictor after the other.
# `values`: the likelihood's parameters.
column_model <- function(type, y, W, sd, mean = numeric(sum(vapply(W, ncol, 1L))), values = list(), ...) {
  spec <- likelihood_spec(type)
  held <- length(unlist(values))
  sds <- rep_len(sd, length(mean))
  hyper <- c(unlist(values), stats::setNames(sds, paste0("sd", seq_along(sds))))
  block <- rep(seq_along(W), vapply(W, ncol, 1L))
  term <- function(k) columns_term(W[[k]], held + which(block == k), mean = mean[block == k])
  of <- function(k) new_model(y, list(term(k)), hyper, type, ...)
  model <- of(1L)
  for (k in seq_along(W)[-1]) {
    other <- of(k)
    other$predictors[[1]][c("design", "latents")] <- list(k, k)
    model$designs <- c(model$designs, other$designs)
    model$predictors <- c(model$predictors, other$predictors)
  }
  model$offset <- matrix(0, length(y), length(W))
  at <- 0L
  model$likelihood$hyper <- lapply(values, function(value) (at <<- at + length(value)) - rev(seq_along(value)) + 1L)
  check_model(model)
}

coupled_at <- function(model, ..., control = quiet_control(tol = 1e-12)) {
  found <- probe_coupled_response(model, control, ...)
  found$factorised <- solve(found$factorised_precision)
  found
}

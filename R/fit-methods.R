# Compatible methods of inference, expectations, families and priors. The facts are the core's: each combination is
# put to it as a model of three rows.

check_method <- function(method, arg = "method") {
  check_choice(method, c("auto", core_facts$inference$name), arg, "method")
}

check_expectation <- function(expectation) {
  check_choice(expectation, c("auto", core_facts$expectation$name), "expectation", "method")
}

#' Compatible methods, likelihoods and expectations
#'
#' Lists which inference algorithms (`method =` of [galvi()]) and which expectations (`expectation =`) can be used with
#' each family and each kind of prior, and gives the reason where a combination is not available.
#'
#' @section Methods:
#' | method | algorithm |
#' |:--|:--|
#' | `exact` | the exact posterior; gaussian family only |
#' | `newton` | Newton's method with a first-order model of the variances |
#' | `fixed_point` | Newton steps of the mean and fixed-point steps of the covariance (Sheth and Khardon 2016) |
#' | `fixed_point_batch` | mean and covariance in turn, each to convergence (Sheth and Khardon 2016) |
#' | `natural_gradient` | natural-gradient ascent with line search and acceleration |
#' | `incremental` | blocks of rows update their own contributions, then full passes |
#' | `stochastic` | minibatches move posterior and hyperparameters, then full passes (Hensman et al. 2015) |
#' | `coordinate_ascent` | one variance at a time, then the mean by Newton's method (Khan et al. 2012) |
#' | `dual` | minimisation of the dual problem (Khan et al. 2013) |
#' | `opper_archambeau` | L-BFGS over 2N parameters (Opper and Archambeau 2009) |
#' | `cholesky_gradient` | L-BFGS over the mean and the Cholesky factor of the covariance (Challis and Barber 2013) |
#' | `mean_field` | probit by independent truncated Gaussians, with a bound of its own (Hensman et al. 2015) |
#' | `laplace` | Laplace approximation; not a bound |
#' | `ep` | expectation propagation; not a bound |
#'
#' All but the last three maximise the same bound. They give the same posterior if the bound has one maximum, and differ
#' in speed.
#'
#' `method = "auto"` uses
#' * `exact` for the gaussian family with constant variance;
#' * otherwise, with a full [gp()] in every linear predictor, `newton`, or `natural_gradient` if the likelihood is not
#'   log-concave (such as `student`, `beta_family` and `inverse.gaussian`) or the process is computed by its states
#'   (see "Long series" in [gp()]), unless predictors compete for one response or the expectation is not exact;
#' * otherwise `fixed_point`, or `incremental` for fixed effects and inducing points with one linear predictor and at
#'   least 100 rows for each coefficient;
#' * `stochastic` if more than 1,000 coordinates of inducing points are learned and their number times the number of
#'   rows exceeds 10^8.
#'
#' The column `prior` of the table has the kind of model: `"full gp"` if the formula has a [gp()] without `inducing` or
#' `neighbours`; otherwise `"fields"` if it has random effects, Markov fields ([iid()], [gmrf()], [rw1()], [rw2()],
#' [ar1()]) or a [gp()] with `neighbours`; otherwise `"sparse gp"` if a [gp()] has inducing points; and `"columns"` if all
#' terms are fixed effects or kernels with finitely many coefficients. The table for fields holds for a small number of
#' nodes.
#'
#' @section Expectations:
#' The bound contains E_q\[log p(y | eta)\], one integral for each observation:
#'
#' | expectation | |
#' |:--|:--|
#' | `auto` | exact: `closed_form` where there is one, otherwise `quadrature` |
#' | `closed_form` | a formula |
#' | `quadrature` | numerical integration, accurate to 1e-9 (`categorical`: 1e-8) |
#' | `piecewise` | bound: log(1 + exp(x)) by linear and quadratic pieces, see `pieces` of [galvi_control()] |
#' | `log` | bound: E log(1 + exp(x)) <= log(1 + E exp(x)) by Jensen's inequality, and the same for log-sum-exp |
#' | `jaakkola` | bound: log(1 + exp(x)) by a quadratic (Jaakkola and Jordan 2000) |
#' | `bouchard` | bound for `categorical`: log-sum-exp by a sum of log(1 + exp(x)), each exact (Bouchard 2007) |
#' | `bouchard_jaakkola`, `bouchard_piecewise` | the same with each of these bounded in turn |
#' | `two_stage` | bound for probit (Hensman et al. 2015) |
#' | `super_gaussian` | bound for `laplace` and `student`: a Gaussian of optimised width |
#' | `taylor` | second-order approximation, not a bound |
#'
#' @section Methods of the literature:
#' Each is one call, where `d` is the data frame. The 50 inducing points start at the centres of clusters.
#'
#' Sparse Gaussian processes:
#' * Titsias (2009), the collapsed bound of regression: `galvi(y ~ 0 + gp(x, inducing = 50), d)`. The vi-means method in
#'   Izmailov's review keeps the points fixed: `control = galvi_control(move_inducing = FALSE)`. Its variant
#'   `means-PN` uses projected Newton steps: `control = galvi_control(move_inducing = FALSE, hyper_method = "newton")`.
#' * KLSp of Hensman et al. (2015), any likelihood: `galvi(y ~ 0 + gp(x, inducing = 50), d, binomial("probit"))`. They
#'   optimise everything together: `control = galvi_control(joint = TRUE)`, with `freeze` steps of the posterior
#'   first. Their two-stage bound is `expectation = "two_stage"`, their mean field `method = "mean_field"`.
#' * Generalised FITC: `gp(x, inducing = 50, approximation = "fitc")` with `method = "ep"` or `method = "laplace"`.
#' * The Jaakkola-Jordan and Taylor methods in Izmailov's review: `galvi(y ~ 0 + gp(x, inducing = 50), d, binomial(),
#'   method = "fixed_point", expectation = "jaakkola")`, or `"taylor"`.
#'
#' Full Gaussian processes:
#' * Khan, Mohamed and Murphy (2012), coordinate ascent: `galvi(y ~ 0 + gp(x), d, binomial(),
#'   method = "coordinate_ascent", expectation = "piecewise")`.
#' * Khan et al. (2013), dual inference: `galvi(y ~ 0 + gp(x), d, poisson(), method = "dual")`. Their multi-class
#'   classifier mGPC uses `categorical()` and `expectation = "log"`.
#' * Sheth and Khardon (2016), fixed points: `method = "fixed_point"` and `"fixed_point_batch"`, also for fixed effects.
#' * Opper and Archambeau (2009): `method = "opper_archambeau"`. Challis and Barber (2013):
#'   `method = "cholesky_gradient"`.
#'
#' The mean-field method integrates out eta given latent y*, whose approximate distribution is a product. Its bound is
#' above that of `"two_stage"` and exact for a single observation; it is usually, but not always, below that of a
#' Gaussian posterior. Predictions use the Gaussian approximation that the paper offers beside Monte Carlo over y*.
#'
#' Izmailov alternates between steps of the posterior and of the hyperparameters. galvi runs inference to convergence
#' for every step of the hyperparameters, starting from the last posterior, so that the gradient is exact.
#' `bench/vi-means.R` in the sources compares the two and `joint = TRUE`.
#'
#' @param family NULL for all families, or a family as in [galvi()]: only the methods for this family and link are
#'   listed.
#' @return A data frame of class `galvi_methods` with one row per combination and columns `family`, `link`, `prior`,
#'   `expectation`, `method`, `runs` (logical: is it available?) and `reason` (if not, why; otherwise empty).
#' @references
#' Bouchard, G. (2007). Efficient bounds for the softmax function, applications to inference in hybrid models. *NIPS
#' Workshop for Approximate Bayesian Inference in Continuous/Hybrid Systems*.
#'
#' Challis, E. and Barber, D. (2013). Gaussian Kullback-Leibler approximate inference. *Journal of Machine Learning
#' Research* 14, 2239-2286.
#'
#' Hensman, J., Matthews, A. and Ghahramani, Z. (2015). Scalable variational Gaussian process classification.
#' *International Conference on Artificial Intelligence and Statistics*, PMLR 38, 351-360.
#'
#' Izmailov, P. Review of materials on Gaussian processes for machine learning. Lomonosov Moscow State University.
#'
#' Jaakkola, T. S. and Jordan, M. I. (2000). Bayesian parameter estimation via variational methods. *Statistics and
#' Computing* 10, 25-37.
#'
#' Khan, M. E., Mohamed, S. and Murphy, K. P. (2012). Fast Bayesian inference for non-conjugate Gaussian process
#' regression. *Advances in Neural Information Processing Systems* 25.
#'
#' Khan, M. E., Aravkin, A. Y., Friedlander, M. P. and Seeger, M. (2013). Fast dual variational inference for
#' non-conjugate latent Gaussian models. *International Conference on Machine Learning*, PMLR 28(3), 951-959.
#'
#' Opper, M. and Archambeau, C. (2009). The variational Gaussian approximation revisited. *Neural Computation* 21,
#' 786-792.
#'
#' Sheth, R. and Khardon, R. (2016). A fixed-point operator for inference in variational Bayesian latent Gaussian
#' models. *International Conference on Artificial Intelligence and Statistics*, PMLR 51, 761-769.
#'
#' Titsias, M. K. (2009). Variational learning of inducing variables in sparse Gaussian processes. *International
#' Conference on Artificial Intelligence and Statistics*, PMLR 5, 567-574.
#' @family fitting
#' @examples
#' methods <- galvi_methods(poisson())
#' methods
#'
#' # methods for a full Gaussian process
#' subset(methods, runs & prior == "full gp" & expectation == "closed_form")$method
#' @export
galvi_methods <- function(family = NULL) {
  cases <- method_cases(family)
  rows <- lapply(seq_len(nrow(cases)), function(i) {
    model <- case_model(cases[i, ])
    lapply(core_facts$expectation$name, function(expectation) {
      reasons <- case_refusals(model, expectation)
      data.frame(
        cases[i, c("family", "link", "prior")], expectation = expectation, method = names(reasons),
        runs = !nzchar(reasons), reason = unname(reasons), row.names = NULL
      )
    })
  })
  table <- do.call(rbind, unlist(rows, recursive = FALSE))
  structure(table, class = c("galvi_methods", "data.frame"))
}

case_formulas <- list(
  `full gp` = y ~ gp(x), columns = y ~ x, `sparse gp` = y ~ gp(x, inducing = 2), fields = y ~ iid(x)
)

# Families with their links, and every kind of prior for each.
method_cases <- function(family) {
  families <- names(family_types)
  links <- function(name) names(family_types[[name]]$links)
  if (!is.null(family)) {
    own <- as_galvi_family(family)
    if (is_custom(own)) {
      stop_galvi("family", "`family` must be one of galvi_family(), not a custom_family().")
    }
    families <- own$family
    links <- function(name) own$link
  }
  do.call(rbind, lapply(families, function(name) {
    expand.grid(prior = names(case_formulas), link = links(name), family = name, stringsAsFactors = FALSE)
  }))
}

# A model of three rows.
case_model <- function(case) {
  family <- galvi_family(case$family, link = case$link)
  data <- data.frame(x = c(0, 1, 3), y = family_types[[case$family]]$example)
  galvi_model(galvi_design(case_formulas[[case$prior]], data, family))
}

# Named by method: "" or why it cannot fit such a model. An expectation that the likelihood does not have is the reason
# for all methods.
case_refusals <- function(model, expectation) {
  model$expectation <- expectation
  tryCatch(inference_refusals(model), error = function(e) {
    methods <- core_facts$inference$name
    stats::setNames(rep(conditionMessage(e), length(methods)), methods)
  })
}

# Lines for one family and prior; expectations with the same methods share one.
case_lines <- function(x) {
  methods <- tapply(x$method, factor(x$expectation, unique(x$expectation)), paste, collapse = ", ")
  if (!length(methods)) return("  none")
  unlist(lapply(unique(methods), function(same) {
    text <- sprintf("%s: %s", paste(names(methods)[methods == same], collapse = ", "), same)
    strwrap(text, 100L, indent = 2L, exdent = 4L)
  }))
}

#' @export
print.galvi_methods <- function(x, ...) {
  refuse_dots(list(...), print.galvi_methods, "print()", setdiff(names(formals(print.data.frame)), "x"))
  columns <- c("family", "link", "prior", "expectation", "method", "runs", "reason")
  if (!all(columns %in% names(x))) return(NextMethod())
  families <- sprintf("%s(\"%s\")", x$family, x$link)
  for (family in unique(families)) {
    priors <- unique(x$prior[families == family])
    lines <- lapply(priors, function(prior) case_lines(x[families == family & x$prior == prior & x$runs, ]))
    for (same in unique(lines)) {
      which <- vapply(lines, identical, NA, same)
      cat(sprintf("%s, %s", family, paste(priors[which], collapse = " or ")), same, sep = "\n")
    }
  }
  not <- unique(x[!x$runs, c("method", "reason")])
  if (nrow(not)) cat("Why not:\n")
  for (reason in unique(not$reason)) {
    methods <- unique(not$method[not$reason == reason])
    all <- length(methods) == length(unique(x$method))
    text <- sprintf("%s: %s", if (all) "all" else paste(methods, collapse = ", "), reason)
    cat(strwrap(text, width = 100L, indent = 2L, exdent = 4L), sep = "\n")
  }
  invisible(x)
}

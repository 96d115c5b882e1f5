# Compatible methods: methods of inference, ways to take the expectation, families and priors. The facts are the
# core's: each combination is put to it as a model of three rows.

check_method <- function(method, arg = "method") {
  check_choice(method, c("auto", inference_facts()$name), arg, "method")
}

check_expectation <- function(expectation) {
  check_choice(expectation, c("auto", expectation_facts()$name), "expectation", "method")
}

#' Compatible methods, likelihoods and expectations
#'
#' Every method of inference with every family, kind of prior and way to take expectations: whether it runs
#' and, if not, why and what to use.
#'
#' `prior` is `"full gp"` where the formula has a [gp()] with a full covariance; else `"fields"` where it has
#' [iid()], [gmrf()], [rw1()], [rw2()] or [ar1()], whose precision is sparse; else `"sparse gp"` where a gp()
#' has inducing points, and `"columns"` where all terms are fixed effects or finite-dimensional kernels. What
#' fields have is listed for few nodes. `method = "auto"` takes `"exact"` for the gaussian family;
#' for full Gaussian processes `"newton"`, or `"natural_gradient"` where the likelihood is not log-concave
#' (`student`, `beta_family`, `inverse.gaussian`); `"fixed_point"` for columns, and where the others do not run;
#' `"incremental"` for columns and inducing points where there are a hundred rows or more for each. Where more
#' than 1,000 coordinates of inducing points are learned, and coordinates times rows are more than 10^8, it takes
#' `"stochastic"`.
#'
#' Expectations of log p(y | eta):
#'
#' | expectation | |
#' |:--|:--|
#' | `auto` | exact: `closed_form` where there is one, else `quadrature` |
#' | `quadrature` | exact to 1e-9; `categorical` to 1e-8 |
#' | `piecewise` | bound: log(1 + exp(x)) by lines and parabolas, `galvi_control(pieces = )` of them |
#' | `log` | bound: Jensen, E log(1 + exp(x)) <= log(1 + E exp(x)), and the same of log sum exp |
#' | `jaakkola` | bound: log(1 + exp(x)) by a parabola (Jaakkola and Jordan 2000) |
#' | `bouchard` | bound for `categorical`: log sum exp by a sum of log(1 + exp(x)), each exact |
#' | `bouchard_jaakkola`, `bouchard_piecewise` | the same with each bounded in turn |
#' | `two_stage` | bound for probit (Hensman, Matthews and Ghahramani 2015) |
#' | `super_gaussian` | bound for `laplace` and `student`: a Gaussian of optimised width |
#' | `taylor` | second-order approximation, no bound |
#'
#' @section The methods of the papers, each in one call:
#' Sparse Gaussian processes; `d` is the data, 50 points start at the centres of clusters:
#' \describe{
#'   \item{vi-means, Titsias (2009)}{the collapsed bound of regression, whose best posterior is one step away:
#'     `galvi(y ~ 0 + gp(x, inducing = 50), d)`. As Izmailov runs it, points that stay and projected Newton:
#'     `control = galvi_control(move_inducing = FALSE, hyper_method = "newton")`.}
#'   \item{KLSp, Hensman, Matthews and Ghahramani (2015)}{any likelihood:
#'     `galvi(y ~ 0 + gp(x, inducing = 50), d, binomial("probit"))`. As published, everything by one L-BFGS:
#'     `control = galvi_control(joint = TRUE)`, the posterior alone for `freeze` steps first.}
#'   \item{their two-stage bound}{KLSp's call with `expectation = "two_stage"`.}
#'   \item{their mean field}{KLSp's call with `method = "mean_field"`.}
#'   \item{generalised FITC}{KLSp's call with `gp(x, inducing = 50, approximation = "fitc")` and
#'     `method = "ep"` or `method = "laplace"`.}
#'   \item{Jaakkola-Jordan and Taylor methods, Izmailov}{`galvi(y ~ 0 + gp(x, inducing = 50), d, binomial(),
#'     method = "fixed_point", expectation = "jaakkola")`, or `"taylor"`.}
#' }
#' Full Gaussian processes:
#' \describe{
#'   \item{coordinate ascent, Khan, Mohamed and Murphy (2012)}{`galvi(y ~ 0 + gp(x), d, binomial(),
#'     method = "coordinate_ascent", expectation = "piecewise")`.}
#'   \item{dual inference, Khan et al. (2013)}{`galvi(y ~ 0 + gp(x), d, poisson(), method = "dual")`; mGPC,
#'     their classifier of several classes, has `categorical()` and `expectation = "log"`.}
#'   \item{fixed points, Sheth and Khardon (2016)}{`method = "fixed_point"` and `"fixed_point_batch"`, of
#'     columns (`y ~ x`) too.}
#'   \item{Opper and Archambeau (2009), Challis and Barber (2013)}{`method = "opper_archambeau"` and
#'     `"cholesky_gradient"`.}
#' }
#'
#' *Mean field.* f is integrated out given the latent y*, whose distribution is a product. The bound lies
#' above that of `"two_stage"` and is exact for a single observation; it is usually, not always, below that
#' of a Gaussian posterior. Predictions come from the Gaussian that the paper proposes beside Monte Carlo over
#' y*, which would leave the mean of f what it is and widen its variance; on the banana data the held-out log
#' density differs by 0.0008 nats per row.
#'
#' *Hyperparameters.* Izmailov alternates some steps of the posterior with some of the hyperparameters, the
#' bound's local parameters held. Here every step of the hyperparameters has a whole inference, which starts
#' at the sites of the last, so that the gradient is that of the bound at its best posterior. On 2000 rows
#' with 30 points that took 54 factorisations with the Jaakkola bound, where alternating needed 70 to 171 to
#' come within 0.01 nats (53 against 44 to 70 with exact expectations). Moving everything together,
#' `joint = TRUE`, finds the same bound in 10 to 70 times the time (`bench/vi-means.R`).
#'
#' @return A data frame of class `galvi_methods` with columns `family`, `link`, `prior`, `expectation`,
#'   `method`, `runs` (logical) and `reason` (why not, empty where it runs).
#' @examples
#' galvi_methods()
#' subset(galvi_methods(), family == "poisson" & !runs)
#' @export
galvi_methods <- function() {
  cases <- do.call(rbind, lapply(names(family_types()), function(family) {
    expand.grid(
      prior = names(case_formulas), link = names(family_types()[[family]]$links), family = family,
      stringsAsFactors = FALSE
    )
  }))
  rows <- lapply(seq_len(nrow(cases)), function(i) {
    model <- case_model(cases[i, ])
    lapply(expectation_facts()$name, function(expectation) {
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

# A model of three rows.
case_model <- function(case) {
  family <- galvi_family(case$family, link = case$link)
  data <- data.frame(x = c(0, 1, 3), y = family_types()[[case$family]]$example)
  galvi_model(galvi_design(case_formulas[[case$prior]], data, family))
}

# Named by method: "" or why it cannot fit such a model. An expectation that the likelihood does not have is
# the same reason for all.
case_refusals <- function(model, expectation) {
  model$expectation <- expectation
  tryCatch(inference_refusals(model), error = function(e) {
    methods <- inference_facts()$name
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

# The wide form: responses(Y) ~ x + factors(2), a response with a column for each item. It is the long form with a
# row for each observed entry of Y; methods of the fit return matrices (R/method-wide.R).

#' Multivariate responses: factor models and correlated residuals
#'
#' `responses(Y) ~ x + factors(2)` and `responses(cbind(y1, y2)) ~ x + rescor()` in [galvi()] model all columns of a
#' matrix or data frame Y together: species at sites, questions of a test, measurements of animals. Each column has its
#' own intercept and slopes. What the columns of a row have in common is either latent factors, with loadings of each
#' column (model-based ordination, factor analysis, probabilistic PCA), or residuals with an unrestricted covariance
#' matrix (multivariate regression, the multivariate Poisson log-normal model).
#'
#' @details
#' For row i (the unit) and column j (the item), eta_ij = offset_ij + b_j' x_i + w_j' z_i with `factors(d)`, with scores
#' z_i ~ N(0, I) of dimension d, and eta_ij = offset_ij + b_j' x_i + z_ij with `rescor()`, with residuals z_i ~ N(0, S).
#' Entries of Y may be missing. A fit is computed on the long form of Y, with a row for each observed entry, and its
#' methods return matrices (see [predict.galvi_wide()]).
#'
#' **Fixed effects** are for each column; `0 +` removes the intercepts. **Other terms**, such as `gp(x)` or `(1 |
#' block)`, are shared by all columns: `gp(x)` is one function, `(1 | unit)` an effect for each row. In such terms
#' `.item` is the column and `.unit` the row of an entry, both factors: `gp(x, by = .item)` is a function for each
#' column, `(0 + .item || g)` a random intercept for each column and group, and `(0 + .item | g)` the same with
#' correlations between the columns, which brms writes as `(1 | p | g)`.
#'
#' **Column effects.** With `factors()`, intercepts, slopes and loadings are point estimates, which maximise the
#' marginal likelihood or its bound. With `factors(2, columns = "random")`, and with `rescor()`, intercepts and slopes
#' have priors like the fixed effects of [galvi()] and are integrated over. Their names are `.itemy1` for the
#' intercept of the column y1 and `.itemy1:x` for a slope. With `rescor()` each column has the default priors that it
#' would have alone, and in `prior` the entry `intercept` is for all intercepts, `default` for all slopes.
#'
#' **Families.** `family` is one family, whose parameters are common to all columns, or a list with one family per
#' column (in the order of the columns, or with their names), each with parameters of its own. `rep(list(gaussian()),
#' ncol(Y))` is factor analysis; families of different kinds give factor analysis of mixed data.
#'
#' **Offsets and weights** may be vectors with an element per row of Y, or matrices of the shape of Y. For binomial
#' columns that are proportions, weights are the numbers of trials. What weights mean depends on the family of the
#' column, see [galvi()]; weights of gaussian columns with `rescor()` divide the covariance of the residuals.
#'
#' @section Correlated residuals:
#' Of gaussian columns the residuals are all the noise: with `rescor()` the model is multivariate regression, computed
#' exactly. With flat priors, `prior = list(intercept = normal(0, Inf), default = normal(0, Inf))`, estimates and
#' covariances are those of `lm(cbind(y1, y2) ~ x)`, with [stats::estVar()] as the covariance of the residuals, and the
#' log evidence is the restricted log likelihood. Columns may have any units. The posterior mean of a row,
#' `fitted()`, does not contain its residual; `predict(responses = )` predicts responses of a unit from others.
#'
#' Residuals of counts (`poisson()`, `negbinomial()`), of positive numbers (`"gamma"`) and of proportions with several
#' trials are part of the linear predictor, beside the noise of the family: overdispersion that is correlated between
#' the columns. The bound is that of a Gaussian with all correlations, and so at least that of independent variances.
#' Residuals of single trials, levels and of families with a scale of their own (`student()`) are not determined
#' beside the noise: use `factors(d)`. A list of families may have gaussian columns and others.
#'
#' `VarCorr()` and `summary()` show standard deviations and correlations; `sigma()` returns those of gaussian columns.
#' In `fit$hyper` they are `rescor().sd.y1` and `rescor().cor.y1.y2`; in [hypothesis()] also `sigma_y1`,
#' `rescor__y1__y2`, and `y1_x` for a coefficient, as in brms. Priors are `prior = list("rescor()" = list(sd =
#' half_normal(10), cor = lkj(2)))`, as in [random-slopes]; without one there is none. The entries `sd` and `cor` of
#' `prior` are for these and for random effects, `sigma` for the standard deviations of gaussian residuals alone.
#'
#' [loo()][loo.galvi] predicts an entry from all others, including those of its unit; `loo(fit, group = ".unit", joint =
#' TRUE)` predicts the responses of a unit together from the other units, as brms does. `log_lik()` of gaussian columns
#' has a column for each unit.
#'
#' **brms.** `mvbind(y1, y2) ~ x` is `responses(data.frame(y1, y2)) ~ x`. For gaussian responses it has `rescor()`
#' unless the formula has `set_rescor(FALSE)`, which gives responses that have nothing in common; for other families say
#' which. Terms that all responses would share are refused there, because in brms each response has its own. Objects of
#' `brms::bf(mvbind(y1, y2) ~ x) + set_rescor(TRUE)` are accepted. All responses have the same right side.
#'
#' @param Y A numeric matrix, or a data frame with columns as the family expects them; NA for missing entries.
#' @param d The number of factors: a whole number smaller than the number of columns; 2 by default.
#' @param columns `"points"` (the default) for intercepts and slopes that are point estimates, `"random"` for ones with
#'   priors.
#' @param loadings As in [rr()].
#' @return No value. All three are only valid inside a formula.
#' @section Errors:
#' `galvi_error_formula` if only one of `responses()` and `factors()` or `rescor()` is there, or there are two of
#' them, or a term is written as in brms and means something else here; `galvi_error_response` if Y is not a matrix, a
#' column does not suit its family, or the residuals of a gaussian column are zero or proportional to those of
#' another; `galvi_error_family` if a list of families does not have one for each column, or `rescor()` does not go
#' with a family; `galvi_error_argument` if `d` is too large, or `weights` of gaussian columns with `rescor()` are
#' `frequency()`.
#' @inherit rr references
#' @references
#' Aitchison, J. and Ho, C. H. (1989). The multivariate Poisson-log normal distribution. *Biometrika* 76, 643-653.
#' @seealso [predict.galvi_wide()] for predictions; [VarCorr.galvi()]; [galvi-factors] for `loadings()`, `scores()` and
#'   `biplot()`; `vignette("ordination")`.
#' @family terms
#' @examples
#' # one factor of four standardised crime rates, which need no intercepts
#' fit <- galvi(responses(scale(log(USArrests))) ~ 0 + factors(1), data = USArrests)
#' fit
#' loadings(fit)
#' predict(fit, type = "link")[1:3, ]
#'
#' # a factor model of counts, a negative binomial for each column
#' set.seed(1)
#' z <- rnorm(60)
#' Y <- sapply(c(a = 1, b = -0.5, c = 0.8), function(w) rnbinom(60, size = 3, mu = exp(1 + w * z)))
#' galvi(responses(Y) ~ factors(1), family = rep(list(negbinomial()), 3))
#'
#' # multivariate regression: are cars that are thirsty for their weight also fast?
#' fit <- galvi(responses(cbind(mpg, qsec)) ~ wt + hp + rescor(), data = mtcars)
#' fit
#' hypothesis(fit, "rescor__mpg__qsec > 0")
#' # the acceleration of a car whose consumption is known
#' predict(fit, data.frame(wt = 3, hp = 150), responses = c(15, NA), interval = "prediction")
#'
#' # counts with correlated residuals
#' galvi(responses(Y) ~ rescor(), family = poisson())
#' @name responses
NULL

#' @rdname responses
#' @export
responses <- function(Y) stop_term("responses", "responses(Y) ~ x + factors(2)")

#' @rdname responses
#' @export
factors <- function(d = 2, columns = c("points", "random"), loadings = NULL) {
  stop_term("factors", "responses(Y) ~ x + factors(2)")
}

#' @rdname responses
#' @export
rescor <- function() stop_term("rescor", "responses(cbind(y1, y2)) ~ x + rescor()")

# mvbind() is brms' word.
is_wide <- function(formula) length(formula) == 3L && any_head(formula[[2L]]) %in% c("responses", "mvbind")

# ---- formula, data -> long form ----

#' What galvi_design() returns, of the long form, with `wide`: how to come back
#' @noRd
design_of_wide <- function(formula, data, family, args, na.action) {
  parts <- wide_parts(formula, family)
  data <- check_data(data)
  env <- environment(formula)
  Y <- wide_response(formula[[2L]], data, env)
  if (parts$kind == "independent") family <- each_its_own(family, names(Y$columns))
  n <- nrow(Y$columns)
  rows <- wide_rows(parts, data, env, n)
  kept <- wide_subset(args$subset, data, env, n)
  units <- unit_labels(Y$rows, data, n)
  items <- names(Y$columns)
  known <- !vapply(Y$columns, is.na, logical(n)) & kept
  dim(known) <- c(n, length(items))
  if (!any(known)) stop_galvi("response", sprintf("All entries of `%s` are missing.", Y$name))
  bare <- items[!colSums(known)]
  if (length(bare)) {
    stop_galvi("response", sprintf(
      "`%s`: all entries of the column %s are missing: leave it out.", Y$name, quote_names(bare[1L])
    ))
  }
  cells <- which(known) # column after column
  at <- list(unit = (cells - 1L) %% n + 1L, item = (cells - 1L) %/% n + 1L)
  families <- wide_families(family, items)
  each <- if (is.null(families$part)) list(families$family) else families$family$parts
  for (j in seq_along(each)) {
    if (length(always_predicted(each[[j]]))) stop_several_predictors(each[[j]], names(each)[j])
  }
  weights <- entry_values(weight_numbers(args$weights), data, env, c(n, length(items)), "weights")
  read <- read_columns(Y, families, at, cells, weights, units, counted = counts_rows(args$weights))
  offset <- wide_offset(parts$offsets, args$offset, data, env, c(n, length(items)))
  frame <- long_frame(rows, at, units, items)
  frame[[wide_names[["response"]]]] <- read$y
  if (!is.null(offset)) frame[[wide_names[["offset"]]]] <- offset[cells]
  weighted <- parts$kind == "rescor" && !is.null(weights) && any(is_pure_noise(families$family))
  if (weighted) frame[[wide_names[["weights"]]]] <- divisors_of_residuals(weights[cells], args$weights)
  used <- list(offset = if (!is.null(offset)) as.name(wide_names[["offset"]]))
  # the columns have been read and are numbers now
  design <- design_of_parts(
    long_parts(parts, formula, frame, items, weighted), list(formula), frame, as_galvi_family("gaussian"),
    not_null(used), na.action
  )
  left <- attr(design$data, "na.action")
  keep <- if (length(left)) -as.integer(left) else seq_along(cells)
  design[c("y", "size", "weights")] <- lapply(read[c("y", "size", "weights")], `[`, keep)
  design$levels <- read$levels
  design["latents"] <- list(family_type(families$family)$latents(read$levels, families$family))
  if (length(design$latents) > 1L) stop_several_predictors(families$family)
  design$family <- families$family
  if (!is.null(families$part)) design[["part"]] <- families$part[at$item[keep]] # beside `parts`
  design$formula <- formula
  design$args <- not_null(used)
  design$wide <- list(
    formula = formula, items = items, units = units, parts = parts, data = rows, name = Y$name, offset = args$offset,
    offsets = offset, entries = cells[keep], integer = all(vapply(Y$columns, is.integer, NA)), levels = read$levels,
    weighted = weighted
  )
  if (parts$kind == "rescor") with_residuals(design, at$item[keep]) else design
}

# responses(Y) -> list(columns: a data frame, name)
wide_response <- function(call, data, env) {
  if (any_head(call) == "mvbind") return(bound_responses(call, data, env))
  if (length(call) != 2L) {
    stop_galvi("formula", sprintf("`%s`: responses() takes one matrix or data frame.", deparse_one(call)))
  }
  name <- deparse_one(call[[2L]])
  Y <- check_evaluates(eval(call[[2L]], as.list(data), env), name, "response")
  if (!is.matrix(Y) && !is.data.frame(Y)) {
    response_error(name, sprintf("must be a matrix or a data frame with a column for each item, not %s", describe(Y)))
  }
  if (is.matrix(Y) && !is.numeric(Y) && !is.logical(Y)) {
    response_error(name, sprintf("must be numbers, not %s", describe(Y)))
  }
  if (!length(Y)) response_error(name, "is empty")
  if (!is.null(data) && nrow(Y) != nrow(data)) {
    response_error(name, sprintf("must have a row for each of the %d rows of `data`, not %d", nrow(data), nrow(Y)))
  }
  if (ncol(Y) < 2L) {
    response_error(name, "has one column: responses() is for two or more. Write y ~ x for one")
  }
  names <- colnames(Y)
  if (is.null(names)) names <- paste0("y", seq_len(ncol(Y)))
  if (anyDuplicated(names) || anyNA(names)) response_error(name, "must have columns with names of their own")
  rows <- if (is.matrix(Y)) rownames(Y) else if (is.character(attr(Y, "row.names"))) row.names(Y)
  if (is.matrix(Y)) Y <- lapply(seq_along(names), function(j) as.vector(Y[, j]))
  list(columns = structure(unclass(Y), names = names, row.names = seq_along(Y[[1L]]), class = "data.frame"),
    rows = rows, name = name)
}

# mvbind(y1, b = y2)
bound_responses <- function(call, data, env) {
  columns <- as.list(call)[-1L]
  given <- or_else(names(columns), rep("", length(columns)))
  names(columns) <- ifelse(nzchar(given), given, vapply(columns, deparse_one, ""))
  values <- lapply(columns, function(x) check_evaluates(eval(x, as.list(data), env), deparse_one(x), "response"))
  n <- vapply(values, NROW, 1L)
  if (length(n) < 2L) stop_galvi("formula", sprintf("`%s` has one response: write y ~ x for one.", deparse_one(call)))
  if (length(unique(n)) > 1L || any(vapply(values, function(x) !is.null(dim(x)), NA))) {
    response_error("mvbind()", "takes columns of the same length")
  }
  env <- list2env(list(Y = structure(values, row.names = seq_len(n[1L]), class = "data.frame")), parent = env)
  out <- wide_response(quote(responses(Y)), data, env)
  out$name <- sprintf("mvbind(%s)", paste(names(columns), collapse = ", "))
  out
}

unit_labels <- function(rows, data, n) {
  if (!is.null(rows)) return(rows)
  if (is.data.frame(data)) row.names(data) else as.character(seq_len(n))
}

# The variables of each row of Y that the terms read, from `data` or where the formula was written.
wide_rows <- function(parts, data, env, n) {
  of_term <- function(spec) c(spec_names(spec), if (spec_has_dot(spec)) names(data))
  wanted <- unique(c(all.vars(parts$fixed), unlist(lapply(parts$specs, of_term))))
  # in terms `.item` and `.unit` are the column and the row of an entry
  own <- wide_names[c("item", "unit")]
  clash <- intersect(wanted, setdiff(wide_names, setdiff(own, names(data))))
  if (length(clash)) {
    stop_galvi("data", sprintf("`%s` is a name that galvi uses itself: rename the variable.", clash[1L]))
  }
  wanted <- setdiff(wanted, wide_names)
  values <- lapply(stats::setNames(nm = wanted), function(v) {
    x <- if (v %in% names(data)) data[[v]] else get0(v, envir = env)
    if (NROW(x) == n && !is.function(x)) x
  })
  values <- not_null(values)
  structure(values, row.names = seq_len(n), class = "data.frame")
}

wide_subset <- function(subset, data, env, n) {
  if (is.null(subset)) return(rep(TRUE, n))
  x <- check_evaluates(eval(subset, as.list(data), env), "subset")
  if (is.logical(x) && length(x) == n) return(!is.na(x) & x)
  if (is.numeric(x) && all(x %in% c(seq_len(n), -seq_len(n)))) return(seq_len(n) %in% seq_len(n)[x])
  stop_galvi("argument", sprintf("`subset` must select some of the %d rows.", n))
}

# A vector with an element for each row, or a matrix with one for each entry -> n x p, NULL for none.
entry_values <- function(expr, data, env, size, arg) {
  if (is.null(expr)) return(NULL)
  check_not_text(expr, arg)
  x <- check_evaluates(eval(expr, as.list(data), env), arg)
  if (is.null(x)) return(NULL)
  if (is.data.frame(x)) x <- as.matrix(x)
  right <- is.numeric(x) && (NCOL(x) == 1L && NROW(x) %in% c(1L, size[1L]) || identical(dim(x), as.integer(size)))
  if (!right) {
    stop_galvi("argument", sprintf(
      "`%s` must be numbers, one for each of the %d rows or a matrix of %d x %d, not %s.", arg, size[1L], size[1L],
      size[2L], describe(x)
    ))
  }
  matrix(as.numeric(x), size[1L], size[2L])
}

wide_offset <- function(offsets, argument, data, env, size) {
  all <- c(lapply(offsets, function(call) call[[2L]]), list(argument))
  values <- not_null(lapply(all, entry_values, data, env, size, "offset"))
  if (!length(values)) return(NULL)
  Reduce(`+`, values)
}

long_frame <- function(rows, at, units, items) {
  labelled <- function(codes, levels) structure(as.integer(codes), levels = levels, class = "factor")
  frame <- lapply(rows, function(x) if (is.matrix(x)) x[at$unit, , drop = FALSE] else x[at$unit])
  frame[[wide_names[["item"]]]] <- labelled(at$item, items)
  frame[[wide_names[["unit"]]]] <- labelled(at$unit, units)
  structure(frame, row.names = seq_along(at$unit), row_names_are = "units", class = "data.frame")
}

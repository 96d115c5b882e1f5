# The terms s(), te(), ti(), t2(): penalised regression splines of mgcv, which makes their columns and penalties.
#
# A smooth with columns X and penalties S_1 .. S_K has coefficients of precision P = sum_k S_k / variance_k. Directions
# that no penalty sees (its null space, such as a straight line) are columns with the prior of slopes; the others are
# turned and scaled so that P is diagonal where that is possible (R/term-smooth-basis.R).

#' Smooths of mgcv in formulas
#'
#' `s()`, `te()`, `ti()` and `t2()` in a formula of [galvi()] are the penalised regression splines of package mgcv
#' (Wood, 2017), written as in [mgcv::gam()]. mgcv makes their bases; it is installed with R and need not be attached.
#' Their smoothing parameters are variances that are learned with the other hyperparameters. They can be in every linear
#' predictor and beside every other term.
#'
#' @details
#' All arguments are those of [mgcv::s()], [mgcv::te()] and [mgcv::t2()]: `k`, `bs`, `m`, `by`, `fx`, `sp`, `pc`, `id`,
#' `xt`. All bases are possible, also those that users define ([mgcv::smooth.construct()]), smooths of a factor (`by =
#' f`, `bs = "fs"`, `"sz"`), on the sphere (`bs = "sos"`), of a region inside a boundary (`bs = "so"`), outside of which
#' predictions are NA, and of functions (`s(X, by = L)` with matrices X and L, which adds up a function over each row of
#' X with the weights L). A logical `by` is the numbers 0 and 1, as in [gp()]. Knots are in `xt`, as in
#' `s(x, bs = "cc", xt = list(knots = list(x = c(0, 24))))`.
#'
#' **The model.** The function is a sum of basis functions with coefficients b, which have the prior density
#' `exp(-b' P b / 2)` with `P = S_1 / variance_1 + ... + S_K / variance_K`, and the penalties S_k as mgcv scales them
#' ([mgcv::smoothCon()] with `scale.penalty = TRUE`). Functions that no penalty sees, such as straight lines, have
#' coefficients with the prior of slopes. Smooths are constrained as in `gam()`: they sum to zero over the rows (of
#' [cox()] over the intervals in which rows are at risk), and those that are part of others lose the columns that they
#' share ([mgcv::gam.side()]). Those with the same `id` do so too, each over its own values, so that the intercept is
#' the average level; in `gam()` it is not.
#'
#' With flat priors, `prior = list(default = normal(0, Inf), intercept = normal(0, Inf))`, and a gaussian response the
#' estimates are those of `gam(method = "REML")`: the smoothing parameter `sp` is sigma^2 / variance.
#'
#' **Names.** A term is named by its inputs and `by`: `s(x)`, `te(x, z)`, `s(x, by = f)`. Its variances are
#' `s(x).variance`, or with several penalties `te(x, z).variance[1]` and so on; each level of a factor `by` has its own,
#' `s(x, by = f)[a].variance`, unless `id` is given. Functions without penalty are a coefficient called `s(x).slope` in
#' `prior`; it is in units of the predictor's change by one standard deviation along each of them. `coef()` has the
#' parametric part alone. `summary()` lists smooths with the square roots of their variances and their effective degrees
#' of freedom.
#'
#' **Priors** of variances are typed as those of other hyperparameters, `prior = list("s(x)" = list(sd =
#' half_normal(1)))`, and `list(sds = half_normal(1))` is for all smooths, as class `"sds"` is in brms.
#'
#' **Fixed smoothing.** `fx = TRUE` leaves the penalty out. `sp` fixes `variance = dispersion / sp`, where the
#' dispersion is known: it is 1 for counts and classes, and `galvi_family(gaussian(), variance = fixed(1))` fixes it
#' elsewhere. A number in `prior`, as in `list("s(x)" = list(variance = 0.1))`, fixes a variance in all families.
#'
#' **Other forms.** `s(g, bs = "re")` is [`iid(g)`][iid()], with numbers beside the factor a random slope, and its
#' variance is that of the effects. `s(region, bs = "mrf", xt = list(polys = ))` of full rank is an intrinsic Gaussian
#' Markov random field, as [gmrf()] is, and `s(x, g, bs = "fs")` has a function for each level of `g`: both are sparse,
#' so that they take thousands of regions or levels. `gp()` is the alternative to all of them whose lengthscale is
#' learned too: `gp(x, by = g)` for `s(x, by = g)`.
#'
#' **Row sources.** Where rows are not in memory, bases come from the sample of rows that is kept, which has all levels
#' and the ends of the ranges. Sparse smooths need all rows in memory.
#'
#' @section Errors:
#' `galvi_error_formula` if a smooth has no variable, a dot, or is not in a formula by its own name;
#' `galvi_error_argument` if an argument or basis is unknown, `k` is above the number of distinct values, or `sp` cannot
#' be used; `galvi_error_data` if a variable has the wrong type; `galvi_error_size` if a smooth with many levels has too
#' many columns.
#' @references
#' Wood, S. N. (2017). *Generalized Additive Models: An Introduction with R* (2nd edition). Chapman and Hall/CRC.
#'
#' Wood, S. N. (2011). Fast stable restricted maximum likelihood and marginal likelihood estimation of semiparametric
#' generalized linear models. *Journal of the Royal Statistical Society B* 73, 3-36.
#' @seealso [derivatives()] and [difference_smooths()]; [predict.galvi()] with `type = "terms"`, `exclude`; [gp()].
#' @family terms
#' @examplesIf requireNamespace("mgcv", quietly = TRUE)
#' fit <- galvi(accel ~ s(times, k = 20), data = MASS::mcycle)
#' summary(fit)
#' plot(fit)
#'
#' # a surface, and a scale that changes along x
#' fit <- galvi(list(log(Volume) ~ te(Girth, Height, k = 4), sigma ~ s(Girth, k = 4)), data = trees)
#' predict(fit, data.frame(Girth = 12, Height = 75), interval = "prediction")
#' @name smooths
#' @aliases s te ti t2
NULL

# ---- parsing ----

# The call of a smooth is evaluated by mgcv, with its variables as they are written and the other arguments as values.
#' @export
parse_term.smooth_term <- function(spec, call, env) {
  check_has_mgcv(call)
  maker <- getExportedValue("mgcv", spec$type)
  arguments <- as.list(call)[-1L]
  given <- or_else(names(arguments), rep("", length(arguments)))
  known <- setdiff(names(formals(maker)), "...")
  check_no_dots(arguments[nzchar(given) & !given %in% known], known, paste0(spec$type, "()"))
  inputs <- unname(arguments[!nzchar(given)])
  check_smooth_inputs(inputs, call)
  by <- smooth_by(arguments[["by"]], call)
  options <- arguments[nzchar(given) & given != "by"]
  options <- Map(function(expr, name) {
    check_evaluates(eval(expr, env), sprintf("%s of %s", name, deparse_one(call)))
  }, options, names(options))
  check_basis_size(options[["k"]], call)
  spec <- complete_spec(spec, list(inputs = inputs, by = by, variables = c(inputs, by)))
  bases <- smooth_bases(options[["bs"]], call, env)
  if (identical(bases, "re") && spec$type == "s") return(random_smooth(spec, options, call))
  spec$basis_knots <- if (is.list(options$xt)) check_knots(options$xt$knots, inputs, call)
  options$xt <- without_knots(options$xt)
  written <- as.call(c(list(maker), inputs, lapply(options, function(x) if (is.language(x)) call("quote", x) else x)))
  if (!is.null(by)) written[["by"]] <- by
  spec$smooth <- tryCatch(eval(written, baseenv()), error = function(e) stop_smooth(e, call), warning = function(w) {
    stop_smooth(w, call)
  })
  spec$bases <- bases
  # regions of the map without observations can be predicted
  if (identical(bases, "mrf")) spec$can <- "open"
  spec
}

check_has_mgcv <- function(call) {
  if (requireNamespace("mgcv", quietly = TRUE)) return(invisible())
  stop_galvi("formula", sprintf(
    "`%s` needs package mgcv, which is part of R: install it, or write gp(%s).", deparse_one(call),
    paste(vapply(unnamed_arguments(call), deparse_one, ""), collapse = ", ")
  ))
}

unnamed_arguments <- function(call) {
  arguments <- as.list(call)[-1L]
  if (is.null(names(arguments))) arguments else unname(arguments[!nzchar(names(arguments))])
}

check_smooth_inputs <- function(inputs, call) {
  shown <- deparse_one(call)
  if (!length(inputs)) {
    stop_galvi("formula", sprintf("`%s` has no variable: write %s(x).", shown, head_name(call)))
  }
  for (input in inputs) {
    if (is_dot(input) || "." %in% all.vars(input)) {
      stop_galvi("formula", sprintf(
        "`%s`: a `.` cannot be in a smooth: name the variables. gp(.) is a function of all of them.", shown
      ))
    }
    if (!is.symbol(input) && !is.call(input)) {
      stop_galvi("formula", sprintf(
        "`%s`: variables must be columns or expressions in them, not %s. Arguments need their names, as in %s.", shown,
        describe(input), if (is.numeric(input)) sprintf("k = %s", code_number(input)) else "bs = \"cr\""
      ))
    }
    if (head_name(input) %in% c("+", "*", ":") && length(input) == 3L && length(all.vars(input)) > 1L) {
      stop_galvi("formula", sprintf("`%s`: separate variables by commas, %s(%s, %s).", shown, head_name(call),
        deparse_one(input[[2L]]), deparse_one(input[[3L]])))
    }
  }
  twice <- duplicated(vapply(inputs, variable_name, ""))
  if (any(twice)) {
    stop_galvi("formula", sprintf("`%s` has `%s` twice.", shown, variable_name(inputs[twice][[1L]])))
  }
}

# `by = NA` is none; brms and others write names in quotes.
smooth_by <- function(by, call) {
  if (is.null(by) || identical(by, NA)) return(NULL)
  if (is.character(by) && length(by) == 1L) by <- as.name(by)
  if ((is.symbol(by) || is.call(by)) && !is_dot(by) && !is_term_call(by)) return(by)
  stop_galvi("formula", sprintf(
    "`%s`: `by` must be a column or an expression in columns, not %s.", deparse_one(call),
    if (is_dot(by)) "a dot" else if (is.call(by)) deparse_one(by) else describe(by)
  ))
}

# -1 and NA are mgcv's defaults.
check_basis_size <- function(k, call) {
  if (head_name(call) == "s" && length(k) > 1L && is.numeric(k)) {
    stop_galvi("argument", sprintf("`%s`: `k` of s() must be one number, not %d: te() has one for each variable.",
      deparse_one(call), length(k)))
  }
  if (is.null(k) || is.numeric(k) && all(is.na(k) | k == -1 | k >= 1 & k == round(k))) return(invisible())
  stop_galvi("argument", sprintf("`%s`: `k` must be whole numbers, at least 1, not %s.", deparse_one(call),
    if (is.numeric(k) && length(k) == 1L) format(k) else describe(k)))
}

#' The bases that are named, checked: as mgcv they are found by the methods of smooth.construct()
#' @noRd
smooth_bases <- function(bs, call, env) {
  if (is.null(bs)) return(NULL)
  if (!is.character(bs) || !length(bs) || anyNA(bs)) {
    stop_galvi("argument", sprintf("`%s`: `bs` must be the name of a basis, such as \"cr\", not %s.",
      deparse_one(call), describe(bs)))
  }
  if (head_name(call) == "s" && length(bs) > 1L) {
    stop_galvi("argument", sprintf("`%s`: `bs` of s() must be one name, not %d: te() has one for each variable.",
      deparse_one(call), length(bs)))
  }
  # where mgcv dispatches: some versions do not register all their methods
  of_mgcv <- environment(mgcv::smooth.construct)
  for (one in bs) {
    class <- paste0(one, ".smooth.spec")
    method <- utils::getS3method("smooth.construct", class, optional = TRUE, envir = of_mgcv)
    if (!is.null(method) || exists(paste0("smooth.construct.", class), env, mode = "function")) next
    methods <- c(as.character(utils::.S3methods("smooth.construct", envir = of_mgcv)), ls(of_mgcv))
    pattern <- "^smooth\\.construct\\.(.*)\\.smooth\\.spec$"
    known <- sort(unique(sub(pattern, "\\1", grep(pattern, methods, value = TRUE))))
    known <- setdiff(known, c("tensor", "tensor0", "t2", "sf", "sw"))
    stop_galvi("argument", sprintf("`%s`: there is no basis `bs = \"%s\"`. Those of mgcv are %s.", deparse_one(call),
      one, quote_names(known, "\"", 30L)))
  }
  bs
}

# mgcv looks for knots by the names of variables, and passes over others.
check_knots <- function(knots, inputs, call) {
  names <- vapply(inputs, variable_name, "")
  if (is.null(knots) || is.list(knots) && any(names(knots) %in% names)) return(knots)
  stop_galvi("argument", sprintf(
    "`%s`: `knots` must be a list by the names of variables, as in `xt = list(knots = list(%s = c(0, 1)))`, not %s.",
    deparse_one(call), names[1L], if (is.list(knots)) paste("of", quote_names(names(knots))) else describe(knots)
  ))
}

without_knots <- function(xt) {
  if (!is.list(xt)) return(xt)
  xt$knots <- NULL
  if (length(xt)) xt
}

#' s(g, bs = "re") is iid(g), and numbers beside the factor make it a random slope
#' @noRd
random_smooth <- function(spec, options, call) {
  unused <- setdiff(names(options), c("bs", "k", "m", "xt", "id"))
  if (length(unused) || !is.null(options[["id"]])) {
    stop_galvi("argument", sprintf(
      "`%s`: random effects have no `%s` here. A variance is fixed by prior = list(\"%s\" = list(variance = 1)).",
      deparse_one(call), c(unused, "id")[1L], spec_label(spec)
    ))
  }
  spec <- complete_spec(spec, list(model = "iid", settings = list(), by_hyper = "shared", scale = FALSE))
  spec$can <- c("open", "grouped")
  # its inputs are sorted when their types are known
  spec$written <- spec_label(spec)
  structure(spec, class = c("re_term", "iid_term", "field_term", "term"))
}

#' An error of mgcv as one of ours
#' @noRd
stop_smooth <- function(e, call, what = "argument") {
  if (inherits(e, "galvi_error")) stop(e)
  stop_galvi(what, sprintf("`%s`: mgcv says \"%s\".", if (is.character(call)) call else deparse_one(call),
    sub("[.]$", "", trimws(conditionMessage(e)))))
}

# The coefficient of functions without penalty, in `prior`.
#' @export
field_basis.smooth_term <- function(spec) list(name = "slope", slope = TRUE)

# ---- design ----

#' @export
design_term.smooth_term <- function(spec, frame, context) {
  made <- context$smooths[[spec$label]]
  spec$by_levels <- made$by_levels
  spec$functional <- any(vapply(spec$inputs, function(input) NCOL(frame[[variable_name(input)]]) > 1L, NA))
  if (identical(made$layout, "columns")) dense_smooth(spec, made, frame, context) else
    sparse_smooth(spec, made, frame, context)
}

#' A smooth as columns: first those without penalty of all parts, then those of each part
#' @noRd
dense_smooth <- function(spec, made, frame, context) {
  parts <- lapply(made$smooths, penalised_basis, spec$label)
  X <- lapply(made$smooths, `[[`, "X")
  free <- unpenalised_columns(Map(function(X, part) X %*% part$null, X, parts), spec, context)
  at <- 0L
  for (i in seq_along(parts)) {
    own <- at + seq_len(ncol(parts[[i]]$null))
    # the columns of one part are mixed with those of others, where their rows are not orthogonal
    parts[[i]]$null <- parts[[i]]$null %*% free$basis[own, , drop = FALSE]
    parts[[i]]$smooth <- slim_smooth(made$smooths[[i]])
    at <- at + length(own)
  }
  spec$parts <- parts
  rows <- list(W = smooth_columns(spec, X))
  check_finite_columns(rows$W)
  hyper <- Map(function(part, X) {
    smooth_hyper(spec, part$level, part$count, unit_of_part(part, X, context), context)
  }, parts, X)
  for (i in seq_along(parts)) spec$parts[[i]]$hyper <- hyper[[i]]
  list(spec = spec, rows = rows, term = smooth_term(spec, free, hyper), priors = free$priors)
}

#' The term as the core reads it: where each part has one penalty, independent coefficients
#' @noRd
smooth_term <- function(spec, free, hyper) {
  single <- all(vapply(spec$parts, function(part) part$count <= 1L, NA))
  penalised <- which(vapply(spec$parts, function(part) part$count > 0L, NA))
  if (!single) {
    return(list(
      type = "penalised", label = spec$label, mean = free$mean, factors = free$factors,
      penalties = lapply(penalised, function(i) {
        c(list(hyper = hyper[[i]]), spec$parts[[i]][intersect(c("diagonal", "roots"), names(spec$parts[[i]]))])
      })
    ))
  }
  at <- unlist(Map(function(part, hyper) rep(hyper, ncol(part$range)), spec$parts[penalised], hyper[penalised]))
  list(
    type = "columns", label = spec$label, mean = c(free$mean, numeric(length(at))),
    factors = rbind(free$factors, cbind(as.integer(at), rep(0L, length(at))), deparse.level = 0)
  )
}

#' The columns of all parts from theirs as mgcv has them
#' @noRd
smooth_columns <- function(spec, X) {
  null <- Reduce(`+`, Map(function(X, part) X %*% part$null, X, spec$parts))
  W <- do.call(cbind, c(list(null), Map(function(X, part) X %*% part$range, X, spec$parts)))
  colnames(W) <- paste0(spec$label, ".", seq_len(ncol(W)), recycle0 = TRUE)
  W
}

#' Columns without penalty: orthonormal over the rows, with the prior of slopes of standardised columns
#' @return list(basis: what they are multiplied by; mean, factors: of their coefficients; priors).
#' @noRd
unpenalised_columns <- function(X, spec, context) {
  X <- do.call(cbind, X)
  q <- ncol(X)
  if (!q) return(list(basis = matrix(0, 0L, 0L), mean = numeric(), factors = matrix(0L, 0L, 2L)))
  weights <- as.numeric(context$weights) / sum(context$weights)
  moments <- moments_of_columns(unname(X), weights, context$threads)
  basis <- orthonormal_basis(X, moments$mean, moments$second, weights, context$threads)$basis
  name <- basis_name(spec)
  prior <- direction_prior(name, "default", NULL, context)
  if (is.null(prior) || isTRUE(attr(prior, "open"))) prior <- structure(normal(0, 10 * context$spread), open = TRUE)
  if (prior$mean != 0 && !is.null(context$prior[[name]])) {
    stop_galvi("prior", sprintf(
      "`prior$%s` must have mean 0, not %s: it is for all directions that `%s` does not penalise.", name,
      format(prior$mean), spec$label
    ))
  }
  prior$mean <- 0
  position <- prior_sd(prior$sd, name, context$registry, term = spec$label)
  list(
    basis = basis, mean = numeric(q), factors = matrix(position, q, 2L), priors = stats::setNames(list(prior), name)
  )
}

# ---- hyperparameters ----

#' Registers the variances of one part -> their positions
#'
#' @param unit The variance at which the term's prior varies over the rows as much as the response does.
#' @noRd
smooth_hyper <- function(spec, level, count, unit, context) {
  if (!count) return(integer())
  id <- spec$smooth$id
  shared <- if (!is.null(id)) context$smooths$positions[[id]]
  if (!is.null(shared)) {
    if (length(shared) == count) return(shared)
    stop_galvi("argument", sprintf("`%s`: smooths with `id = %s` must have the same penalties.", spec$label, id))
  }
  owner <- if (is.null(level) || !is.null(id)) spec$label else sprintf("%s[%s]", spec$label, level)
  held <- fixed_smoothing(spec, count, context)
  at <- vapply(seq_len(count), function(k) {
    entry <- if (!is.na(held[k])) list(value = held[k], learned = FALSE, prior = NULL) else {
      as_parameter(NULL, "variance", if (context$held) 1 else unit, what = "argument")
    }
    context$registry$add(owner, if (count > 1L) sprintf("variance[%d]", k) else "variance", entry,
      1e-10 * min(unit, entry$value), 1e10 * max(unit, entry$value), term = spec$label, limited = TRUE,
      weak = weak_of_sd(sqrt(unit), "root"))
  }, 1L)
  if (!is.null(id)) context$smooths$positions[[id]] <- at
  at
}

#' The variances that `sp` fixes, NA where it does not
#' @noRd
fixed_smoothing <- function(spec, count, context) {
  sp <- spec$smooth$sp
  if (is.null(sp)) return(rep(NA_real_, count))
  refuse <- function(...) stop_galvi("argument", sprintf("`%s`: %s", spec$label, sprintf(...)))
  if (!is.numeric(sp) || length(sp) != count || anyNA(sp)) {
    refuse("`sp` must be %d number%s, one for each penalty, not %s.", count, if (count > 1L) "s" else "", describe(sp))
  }
  if (any(sp == 0)) refuse("`sp = 0` is no penalty: write fx = TRUE.")
  # negative ones are learned, as in mgcv
  if (all(sp < 0)) return(rep(NA_real_, count))
  if (is.null(context$dispersion)) {
    refuse(paste(
      "`sp` is the dispersion over the variance of the smooth, and this family learns the dispersion. Fix the",
      "variance, prior = list(\"%s\" = list(variance = 1)), or the dispersion, as galvi_family(gaussian(), variance =",
      "fixed(1)) does."
    ), spec$label)
  }
  ifelse(sp > 0, context$dispersion / sp, NA_real_)
}

#' The default variance over the mean prior variance of the rows at variances of one, in rows where it is not zero
#' @noRd
unit_of_part <- function(part, X, context) {
  if (!part$count) return(1)
  own <- variances_of_part(part, X)
  used <- own > 0 & context$weights > 0
  context$default_variance / if (any(used)) mean(own[used]) else 1
}

variances_of_part <- function(part, X) {
  Z <- X %*% part$range
  if (!is.null(part$diagonal)) return(drop(Z^2 %*% (1 / rowSums(part$diagonal))))
  R <- chol(Reduce(`+`, lapply(part$roots, crossprod)))
  colSums(backsolve(R, t(Z), transpose = TRUE)^2)
}

# ---- rows ----

#' @export
spec_rows.smooth_term <- function(spec, frame) {
  if (!is.null(spec$sparse)) return(sparse_smooth_rows(spec, frame))
  data <- smooth_data(spec, frame)
  W <- smooth_columns(spec, lapply(spec$parts, function(part) {
    predicted_columns(part$smooth, data, nrow(frame), spec$label)
  }))
  # values that no observation has; see outside_rows()
  if (has_boundary(spec) && isTRUE(attr(frame, "anywhere"))) W[is.na(W)] <- 0
  check_finite_columns(W)
  list(W = W)
}

# Soap films have no value outside their boundary.
has_boundary <- function(spec) any(spec$bases %in% c("so", "sf", "sw"))

#' Is a row outside of the boundary of a smooth?
#' @param specs Terms. frame: complete rows.
#' @noRd
outside_rows <- function(specs, frame) {
  bounded <- Filter(function(spec) inherits(spec, "smooth_term") && is.null(spec$sparse) && has_boundary(spec), specs)
  Reduce(`|`, lapply(bounded, function(spec) {
    data <- smooth_data(spec, frame)
    is.na(rowSums(do.call(cbind, lapply(spec$parts, function(part) {
      predicted_columns(part$smooth, data, nrow(frame), spec$label)
    }))))
  }), logical(nrow(frame)))
}

#' The columns of one smooth of mgcv at new values
#' @noRd
predicted_columns <- function(smooth, data, n, label) {
  if (!n) return(matrix(0, 0L, smooth$columns))
  X <- tryCatch(suppressWarnings(mgcv::PredictMat(smooth, data, n = n)), error = function(e) {
    stop_smooth(e, label, "newdata")
  })
  attributes(X) <- attributes(X)["dim"]
  if (is.null(smooth$centre)) X else X - rep(smooth$centre, each = n)
}

# Smooths as mgcv makes them, and a basis of their coefficients in which penalties are simple.

# ---- the smooths of a predictor ----

#' All smooths of a predictor, constrained as in gam()
#'
#' @param fixed From design_fixed().
#' @return An environment with an entry for each term, by its label: list(layout: "columns", "levels" or "regions";
#'   smooths: objects of mgcv with their columns `X`; by_levels; nodes: of a sparse layout); and `positions`, of the
#'   hyperparameters that terms with the same `id` share. Terms are built one after the other.
#' @noRd
smooths_of <- function(specs, frame, fixed, context) {
  out <- new.env()
  out$positions <- list()
  specs <- Filter(function(spec) inherits(spec, "smooth_term"), specs)
  if (!length(specs)) return(out)
  specs <- linked_smooths(specs, frame)
  made <- lapply(specs, made_smooth, frame)
  dense <- which(vapply(made, function(one) one$layout == "columns", NA))
  owner <- rep(dense, vapply(made[dense], function(one) length(one$smooths), 1L))
  all <- side_constrained(unlist(lapply(made[dense], `[[`, "smooths"), recursive = FALSE), fixed, nrow(frame), context)
  for (i in dense) {
    made[[i]]$smooths <- all[owner == i]
    constrained <- is.null(specs[[i]]$by) && is.null(specs[[i]]$smooth$point.con)
    if (!is.null(specs[[i]]$linked) && constrained && context$intercept) {
      made[[i]]$smooths <- lapply(made[[i]]$smooths, centred_smooth)
    }
    for (smooth in made[[i]]$smooths) check_has_columns(smooth, specs[[i]]$label)
  }
  for (i in seq_along(specs)) out[[specs[[i]]$label]] <- made[[i]]
  out
}

# A smooth with the basis of the values of several variables averages to zero over those. Here it does over the rows, so
# that the intercept takes up the difference and is the average level, as its default prior has it.
centred_smooth <- function(smooth) {
  smooth$centre <- colMeans(smooth$X)
  smooth$X <- smooth$X - rep(smooth$centre, each = nrow(smooth$X))
  smooth
}

# Smooths that are sums of others, such as te(x, z) beside s(x), lose the columns that these have.
side_constrained <- function(smooths, fixed, n, context) {
  if (length(smooths) < 2L) return(smooths)
  parametric <- cbind(if (!context$intercept) rep(1, n), fixed$rows$W)
  if (is.null(parametric)) parametric <- matrix(0, n, 0L)
  # it knows no t2() beside other smooths of the same variables
  tryCatch(
    suppressWarnings(mgcv::gam.side(smooths, unname(parametric), tol = sqrt(.Machine$double.eps))),
    error = function(e) stop_galvi("formula", sprintf(
      "%s: mgcv::gam.side() cannot tell these smooths apart. Leave one of them out, or use te() and ti() in place of t2().",
      quote_names(vapply(smooths, `[[`, "", "label"))
    ))
  )
}

check_has_columns <- function(smooth, label) {
  if (NCOL(smooth$X) > 0L) return(invisible())
  stop_galvi("formula", sprintf("`%s` adds nothing to the other smooths of the same variables: leave one out.", label))
}

#' Smooths with the same `id` have the basis of the first, of the values of all
#' @noRd
linked_smooths <- function(specs, frame) {
  id <- vapply(specs, function(spec) or_else(spec$smooth$id, NA_character_), "")
  for (one in unique(id[!is.na(id)])) {
    at <- which(!is.na(id) & id == one)
    first <- specs[[at[1L]]]
    values <- lapply(specs[at], function(spec) unname(smooth_data(spec, frame)[spec$smooth$term]))
    for (i in at) {
      own <- specs[[i]]
      if (own$type != first$type || length(own$inputs) != length(first$inputs)) {
        stop_galvi("argument", sprintf("`%s` and `%s` have the same `id` but different variables.", first$label,
          own$label))
      }
      linked <- first$smooth
      linked[c("term", "by", "label")] <- own$smooth[c("term", "by", "label")]
      for (m in seq_along(linked$margin)) linked$margin[[m]]$term <- own$smooth$margin[[m]]$term
      specs[[i]]$smooth <- linked
      specs[[i]]$linked <- stats::setNames(lapply(seq_along(linked$term), function(j) {
        do.call(cbind, lapply(values, `[[`, j))
      }), linked$term)
    }
  }
  specs
}

#' One term's smooths: one, or one for each level of a factor `by`
#' @noRd
made_smooth <- function(spec, frame) {
  data <- smooth_data(spec, frame)
  n <- nrow(frame)
  by <- if (!is.null(spec$by)) data[[spec$smooth$by]]
  check_no_factors(spec, data)
  check_smooth_size(spec, data, n)
  sparse <- sparse_layout(spec, data, by, n)
  if (!is.null(sparse)) return(sparse)
  smooths <- mgcv_smooths(spec, data, n)
  list(layout = "columns", smooths = smooths, by_levels = if (is.factor(by)) {
    vapply(smooths, `[[`, "", "by.level")
  })
}

# Bases that are functions of numbers.
number_bases <- c("tp", "ts", "cr", "cs", "cc", "ps", "cp", "bs", "gp", "ds", "ad", "sos", "so", "sf", "sw")

check_no_factors <- function(spec, data) {
  if (!all(or_else(spec$bases, "tp") %in% number_bases)) return(invisible())
  name <- Find(function(name) is.factor(data[[name]]), spec$smooth$term)
  if (is.null(name)) return(invisible())
  others <- setdiff(spec$smooth$term, name)
  stop_galvi("data", sprintf("`%s`: `%s` is a factor, and smooths with this basis are functions of numbers. Write %s.",
    spec$label, name, if (length(others)) {
      x <- paste(others, collapse = ", ")
      sprintf("%s(%s, by = %s), or s(%s, %s, bs = \"fs\"), for a function for each level", spec$type, x, name, x, name)
    } else sprintf("%s for fixed effects, or s(%s, bs = \"re\") for random ones", name, name)))
}

#' What smoothCon() makes of a spec, with its errors as ours and its warnings as messages
#' @noRd
mgcv_smooths <- function(spec, data, n, absorb = TRUE) {
  told <- function(expr) withCallingHandlers(expr, warning = function(w) {
    inform_galvi("smooth", sprintf("`%s`: mgcv says \"%s\".", spec$label, sub("[.]$", "", trimws(conditionMessage(w)))))
    tryInvokeRestart("muffleWarning")
  })
  smooths <- tryCatch(told(if (is.null(spec$linked)) {
    mgcv::smoothCon(spec$smooth, data, knots = smooth_knots(spec, data), absorb.cons = absorb,
      scale.penalty = TRUE, n = n, modCon = one_constraint)
  } else {
    mgcv::smoothCon(spec$smooth, spec$linked, absorb.cons = absorb, scale.penalty = TRUE, n = n, dataX = data,
      modCon = one_constraint)
  }), error = function(e) stop_unmade(e, spec, data))
  for (smooth in smooths) check_made(smooth, spec$label)
  smooths
}

# smoothCon()'s word for a fit with the constraint of predictions: t2() has another one in gam(), which moves the
# coefficients afterwards, so that there too the intercept is the average level.
one_constraint <- 2L

# Regions of a map that no row has.
smooth_knots <- function(spec, data) {
  if (!is.null(spec$basis_knots)) return(spec$basis_knots)
  if (!identical(spec$bases, "mrf")) return(NULL)
  xt <- spec$smooth$xt
  names <- unique(unlist(c(names(xt$polys), names(xt$nb), colnames(xt$penalty))))
  if (!length(names)) return(NULL)
  unknown <- setdiff(levels(data[[1L]]), names)
  if (length(unknown)) {
    stop_galvi("data", sprintf("`%s` has the region %s, which is not in `xt`.%s", spec$label,
      quote_names(unknown[1L], "\""), did_you_mean(unknown[1L], names)))
  }
  stats::setNames(list(factor(names, sort(names))), spec$smooth$term)
}

# mgcv makes no smaller basis of one variable.
least_smooth_values <- 3L

stop_unmade <- function(e, spec, data) {
  if (inherits(e, "galvi_error")) stop(e)
  text <- conditionMessage(e)
  values <- data[spec$smooth$term]
  distinct <- if (all(vapply(values, function(x) is.null(dim(x)), NA))) nrow(unique(as.data.frame(values)))
  few <- grepl("fewer unique|unique values|too small|unique covariate|knots", text) && !is.null(distinct)
  k <- spec$smooth$bs.dim
  if (is.null(k)) k <- vapply(spec$smooth$margin, `[[`, 1, "bs.dim")
  if (few && length(values) == 1L && is.null(spec$basis_knots)) {
    x <- spec$smooth$term
    if (distinct < least_smooth_values) {
      stop_galvi("argument", sprintf(
        "`%s`: a smooth needs at least three distinct values, and `%s` has %d: use %s or factor(%s) by itself.",
        spec$label, x, distinct, x, x
      ))
    }
    stop_galvi("argument", sprintf(
      "`%s`: k = %s is more than the %d distinct values of `%s`: give a k of at most %d%s.", spec$label,
      if (k < 0) "10 (the default)" else format(k), distinct, x, distinct,
      if (distinct < 4L) ", or write it as a factor" else ""
    ))
  }
  said <- sprintf("mgcv says \"%s\"", sub("[.]$", "", trimws(text)))
  counts <- vapply(values, function(x) length(unique(c(x))), 1L)
  stop_galvi("argument", sprintf("`%s` cannot be made: %s.%s", spec$label, said, if (grepl("unique", text)) {
    sprintf(" Distinct values: %s.", paste(sprintf("`%s` %d", names(counts), counts), collapse = ", "))
  } else ""))
}

# Features of smooths that have no place in this model.
check_made <- function(smooth, label) {
  refuse <- function(what) stop_galvi("argument", sprintf("`%s`: %s.", label, what))
  if (any(attr(smooth$X, "offset") != 0)) {
    refuse("a smooth with given values at its boundary is not supported: its values there must be zero or free")
  }
  if (!is.null(smooth$updateS)) refuse("penalties that depend on smoothing parameters non-linearly are not supported")
  if (!is.null(smooth$L) && any(smooth$L != diag(nrow(smooth$L)))) {
    refuse("smoothing parameters that are functions of others are not supported")
  }
  # of user-defined bases
  if (!all(is.finite(smooth$X))) refuse("its basis is not finite at some rows")
}

# More columns than this are a mistake, or take hours.
most_smooth_columns <- 4000

#' Stops before a smooth with a set of columns for each of many levels is made
#' @noRd
check_smooth_size <- function(spec, data, n) {
  factors <- Filter(is.factor, data)
  width <- smooth_width(spec, sum(vapply(data[spec$smooth$term], is.factor, NA)))
  levels <- prod(vapply(factors, nlevels, 1L))
  sparse <- identical(spec$bases, "fs") || identical(spec$bases, "mrf")
  columns <- if (sparse) width else width * levels
  name <- if (length(factors)) names(factors)[length(factors)] else ""
  x <- setdiff(vapply(spec$inputs, variable_name, ""), name)
  advice <- if (length(factors)) sprintf(
    paste("A function for each level of `%s` is also s(%s, %s, bs = \"fs\") or gp(%s) + gp(%s, by = %s), whose",
      "matrices are sparse."), name, paste(x, collapse = ", "), name, x[1L], x[1L], name
  ) else "Give a smaller k."
  if (columns > most_smooth_columns) {
    stop_galvi("size", sprintf("`%s` has about %s columns%s, more than %s. %s", spec$label, whole_words(columns),
      if (levels > 1) sprintf(", %s for each of %s levels", whole_words(width), whole_words(levels)) else "",
      whole_words(most_smooth_columns), advice))
  }
  size <- new_size(8 * 4 * n * columns + column_bytes(columns), n, sprintf("`%s`", spec$label), advice)
  with_memory(size, NULL)
}

# Columns of the basis before factors, with mgcv's defaults.
smooth_width <- function(spec, factors) {
  if (length(spec$smooth$margin)) {
    return(prod(vapply(spec$smooth$margin, function(margin) {
      if (margin$bs.dim > 0) margin$bs.dim else 5 * 3^(length(margin$term) - 1)
    }, 1)))
  }
  k <- spec$smooth$bs.dim
  k <- k[!is.na(k) & k > 0]
  if (length(k)) prod(k) else 10 * 3^(max(1L, min(3L, length(spec$inputs) - factors)) - 1)
}

#' The variables of a smooth by the names that mgcv has for them
#' @noRd
smooth_data <- function(spec, frame) {
  own <- lapply(spec$inputs, function(input) {
    name <- variable_name(input)
    smooth_variable(frame[[name]], name, spec$label)
  })
  names(own) <- spec$smooth$term
  if (is.null(spec$by)) return(own)
  name <- variable_name(spec$by)
  c(own, stats::setNames(list(smooth_variable(frame[[name]], paste("by =", name), spec$label)),
    spec$smooth$by))
}

smooth_variable <- function(x, name, label) {
  if (is.factor(x)) return(x)
  if (is.character(x) && is.null(dim(x))) return(factor(x))
  if (is.matrix(x) && is.numeric(x)) {
    check_finite_inputs(x, rep(name, ncol(x)))
    return(unname(x))
  }
  if (!is_number_like(x) || !is.null(dim(x))) {
    stop_galvi("data", sprintf("`%s` must be numbers, a matrix of numbers or a factor to be in `%s`, not %s.", name,
      label, describe(x)))
  }
  x <- as.numeric(x)
  check_finite_inputs(matrix(x), name)
  x
}

# ---- the basis ----

#' A basis of a smooth's coefficients in which its penalties are simple
#'
#' The penalties are scaled to norm 1, and their null space is split off. In coordinates W in which their sum is the
#' identity, U has the eigenvectors of a combination of them. Where U makes all of them diagonal, which it always does
#' with two, P is diagonal; else they stay dense. For the tensor products of mgcv U does: a sum-to-zero constraint
#' destroys the products of the margins' eigenvectors, but not the joint diagonal form, as the constant is in all null
#' spaces.
#'
#' @param smooth From mgcv.
#' @return list(null: p x q, the coefficients of columns without penalty; range: p x r; diagonal: r x K, or roots: K
#'   matrices with S_k = root'root in these coordinates; count: K; level: of a factor `by`).
#' @noRd
penalised_basis <- function(smooth, label) {
  p <- ncol(smooth$X)
  S <- lapply(smooth$S, function(S) (S + t(S)) / 2)
  out <- list(null = diag(p), range = matrix(0, p, 0L), count = length(S), level = smooth$by.level)
  if (!length(S)) return(out)
  size <- vapply(S, norm, 0, "F")
  total <- eigen(Reduce(`+`, Map(`/`, S, size)), symmetric = TRUE)
  rank <- p - null_dimension(smooth, total$values)
  if (!rank) return(replace(out, "count", list(0L)))
  kept <- seq_len(rank)
  out$null <- total$vectors[, -kept, drop = FALSE]
  W <- total$vectors[, kept, drop = FALSE]
  if (length(S) == 1L) {
    out$range <- W / rep(sqrt(total$values[kept] * size), each = p)
    out$diagonal <- matrix(1, rank, 1L)
    return(out)
  }
  W <- W / rep(sqrt(total$values[kept]), each = p)
  parts <- Map(function(S, size) crossprod(W, S %*% W) / size, S, size)
  # no two penalties have the same share
  share <- 0.5 + (seq_along(parts) * 0.6180339887) %% 1
  U <- eigen(Reduce(`+`, Map(`*`, parts, share)), symmetric = TRUE)$vectors
  turned <- lapply(parts, function(part) crossprod(U, part %*% U))
  off <- max(vapply(turned, function(part) max(abs(part - diag(diag(part), rank))), 0))
  if (off < joint_tolerance) {
    out$range <- W %*% U
    diagonal <- vapply(turned, diag, numeric(rank))
    # in units in which the sum is one: smaller ones are rounding
    diagonal[diagonal < 1e-13] <- 0
    out$diagonal <- matrix(diagonal, rank) * rep(size, each = rank)
  } else {
    out$range <- W
    out$roots <- Map(function(part, size) sqrt(size) * symmetric_root(part), parts, size)
  }
  out
}

# What is left off the diagonals, in units of the sum.
joint_tolerance <- 1e-9

# B with B'B = S, without the directions in which S is zero
symmetric_root <- function(S) {
  e <- eigen(S, symmetric = TRUE)
  kept <- e$values > 1e-13 * max(e$values, 0)
  sqrt(e$values[kept]) * t(e$vectors[, kept, drop = FALSE])
}

#' The dimension of the null space: as mgcv states it, unless the eigenvalues say otherwise, as for some user-defined
#' bases
#' @noRd
null_dimension <- function(smooth, values) {
  p <- length(values)
  stated <- smooth$null.space.dim
  if (length(stated) == 1L && stated >= 0 && stated <= p) {
    seen <- if (stated > 0) values[p - stated + 1L] else 0
    least <- if (stated < p) values[p - stated] else values[1L]
    if (seen < 1e-11 * values[1L] && least > 1e-14 * values[1L]) return(stated)
  }
  sum(values < 1e-12 * values[1L])
}

#' A smooth of mgcv without what only its making needs
#' @noRd
slim_smooth <- function(smooth) {
  smooth$columns <- ncol(smooth$X)
  smooth[c("X", "S", "Xp", "Sp", "Xb", "fac", "C", "D")] <- NULL
  for (m in seq_along(smooth$margin)) smooth$margin[[m]][c("X", "S")] <- NULL
  smooth
}

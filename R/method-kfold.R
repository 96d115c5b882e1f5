#' K-fold cross-validation
#'
#' Fits the model again without each fold of the rows and predicts the rows of the fold: a method for the generic
#' `kfold()` of package loo, with the arguments of brms' method.
#'
#' @details
#' Refits take what they need from the fit: data and formula are not looked up again. Variables that the formula
#' computes from all rows, such as `poly(x, 2)` or `scale(x)`, keep their values. Default priors come from the rows of
#' each refit. Random effects of groups that are left out as a whole are predicted from their prior, as in
#' [predict()][predict.galvi].
#'
#' With `hyper = "refit"` hyperparameters are learned again, from where they are in `x`. `"fixed"` keeps them; only the
#' posterior is computed again, which is faster and leaves a little of each row's information in its own prediction.
#' [loo()][loo.galvi] needs no refits: `loo(fit, group = )` leaves out groups.
#' The default mesh of [spde()] stays that of `x`.
#'
#' If only rows of one fold inform a coefficient, as that of a level that no other fold has, there is no prediction of
#' the rows that it concerns. They and the sums are NA, with a warning that names the coefficients. A coefficient with a
#' typed prior is predicted from this prior.
#'
#' **Joint densities.** By default each row has its own density, so that sums are comparable to those of `loo()`. With
#' `joint = TRUE` (or `"fold"`) there is one for each fold, log p(y_fold | the others), which also asks how rows depend
#' on each other; with `joint = "group"` one for each group in each fold. They are computed by importance sampling with
#' the sites of `x`, which is nearly exact, or as the average over weighted points where a refit has these.
#'
#' @param x A fit of [galvi()]; for the function `kfold()`, any object for which package loo has a method.
#' @param K Number of folds, at least 2 and at most the number of rows (of groups, with `folds = "grouped"`). NULL, the
#'   default, is 10, or that number where it is less than 10.
#' @param folds How rows are divided.
#'   * NULL, the default: at random into K folds of equal size or, if `group` is given, one fold for each group.
#'   * `"stratified"`: at random, with the rows of each group spread evenly over the folds. Without `group`, the groups
#'     are the classes of the response.
#'   * `"grouped"`: all rows of a group are in the same fold; groups are divided at random.
#'   * `"loo"`: one row in each fold.
#'   * A vector with an element for each row: rows with the same value form a fold.
#'
#'   Random folds differ from call to call, as those of brms and rstanarm: `seed` or [set.seed()] makes them
#'   reproducible. To compare fits give each of them the same folds, by the same `seed` or by a vector.
#' @param group The name of a variable of the model or of a column of the data, or a vector with an element for each
#'   row.
#' @param joint FALSE (or `"obs"`), TRUE (or `"fold"`), or `"group"`, see Details.
#' @param hyper `"refit"` (the default) or `"fixed"`, see Details.
#' @param save_fits If TRUE, the result has the element `fits`: a matrix of lists with a row for each fold and the
#'   columns `fit`, `omitted` (the rows left out) and `predicted` (those of them with a prediction).
#' @param seed A whole number of at least 0, for the same random folds in every call; the state of R's random numbers
#'   stays what it was. NULL, the default, takes the next random numbers.
#' @param ... `newdata`, `re_formula`, `resp` and `Ksub`, words of brms, are errors; other arguments are passed over.
#' @return A list of classes `kfold` and `loo`, for use in `loo::loo_compare()`:
#' \describe{
#'   \item{`estimates`}{a matrix with columns `Estimate` and `SE` and rows `elpd_kfold`, the sum of the log predictive
#'     densities; `p_kfold`, by which the sum under the posterior of all rows is larger; and `kfoldic` = -2
#'     `elpd_kfold`. Where groups are left out, `SE` is that of a sum over groups, whose rows depend on each other.}
#'   \item{`pointwise`}{a matrix of the same three measures for each row, fold or group.}
#'   \item{`importance`}{with joint densities only, a list as in [loo()][loo.galvi].}
#'   \item{`fits`}{with `save_fits = TRUE` only.}
#' }
#' Attributes are `K`, `folds` (the number of the fold of each row), `fold_type`, `group` and `joint`.
#' @section Errors:
#' `galvi_error_argument` if `K` exceeds the number of rows or of groups, if `folds` or `group` do not have an element
#' for each row, if `group` is not a column, for fits of [responses()] and results of [add_data()]; `galvi_error_data`
#' for fits that do not contain their rows ([row_source()]). `galvi_warning_cavity` names folds that cannot be
#' predicted; `galvi_warning_convergence` says how many refits have not converged.
#' @references
#' Vehtari, A., Gelman, A. and Gabry, J. (2017). Practical Bayesian model evaluation using leave-one-out
#' cross-validation and WAIC. *Statistics and Computing* 27, 1413-1432.
#'
#' Roberts, D. R. et al. (2017). Cross-validation strategies for data with temporal, spatial, hierarchical, or
#' phylogenetic structure. *Ecography* 40, 913-929.
#' @seealso [loo()][loo.galvi] without refits, [loo_model_weights()] to weight models.
#' @family checks and comparisons
#' @examplesIf requireNamespace("loo", quietly = TRUE)
#' fit <- galvi(Reaction ~ Days + (1 | Subject), data = sleepstudy)
#' kfold(fit, K = 3, hyper = "fixed", seed = 1)
#' # new subjects
#' kfold(fit, K = 3, folds = "grouped", group = "Subject", hyper = "fixed")
#' @method kfold galvi
#' @rawNamespace S3method(loo::kfold,galvi)
kfold.galvi <- function(x, K = NULL, folds = NULL, group = NULL, joint = FALSE, hyper = c("refit", "fixed"),
                        save_fits = FALSE, seed = NULL, ...) {
  refuse_foreign(list(...), "kfold()")
  check_refittable(x)
  hyper <- first_choice(hyper, c("refit", "fixed"), "hyper")
  save_fits <- check_flag(save_fits, "save_fits")
  joint <- check_joint(joint, group)
  groups <- if (!is.null(group)) left_out_groups(x, group)
  if (!is.null(seed)) seed <- check_whole(seed, "seed", 0)
  divided <- with_seed(seed, fold_numbers(x, K, folds, groups))
  omitted <- split(seq_len(x$nobs), divided$fold)
  lost <- lost_coefficients(x, structure(omitted, names = divided$names))
  warn_lost_folds(lost, divided$names)
  units <- joint_units(joint, divided, groups)
  design <- kept_design(x)
  found <- each_once_warned(sprintf("fold %s", quote_row_names(divided$names)), "Without the rows of %s: ",
    function(k) {
    refit <- fit_to_rows(x, design, which(divided$fold != k), hyper, lost$names[[k]])
    own <- Filter(function(unit) divided$fold[unit[1L]] == k, units)
    c(held_out_densities(x, refit, omitted[[k]], own), list(fit = if (save_fits) refit))
  })
  out <- kfold_table(x, found, omitted, units, lost, divided, groups, joint)
  if (save_fits) {
    fits <- lapply(seq_along(omitted), function(k) {
      list(fit = found[[k]]$fit, omitted = omitted[[k]], predicted = omitted[[k]][!lost$rows[omitted[[k]]]])
    })
    out$fits <- do.call(rbind, fits)
    rownames(out$fits) <- divided$names
  }
  out
}

#' The value of kfold.galvi() from that of its folds
#' @noRd
kfold_table <- function(x, found, omitted, units, lost, divided, groups, joint) {
  weights <- x$model$weights
  if (is.null(units)) {
    elpd <- numeric(x$nobs)
    elpd[unlist(omitted)] <- unlist(lapply(found, `[[`, "rows"))
    elpd[lost$rows] <- NA_real_
    lpd <- weighted(row_log_density(x, fitted_marginals(x)), weights)
    names <- observation_names(x)
    sampled <- NULL
  } else {
    elpd <- lpd <- shape <- effective <- numeric(length(units))
    # units come back fold after fold
    order <- order(vapply(units, function(unit) divided$fold[unit[1L]], 1L))
    elpd[order] <- unlist(lapply(found, function(part) part$joint$density))
    shape[order] <- unlist(lapply(found, function(part) part$joint$shape))
    effective[order] <- unlist(lapply(found, function(part) part$joint$effective))
    lpd[order] <- unlist(lapply(found, function(part) part$with$density))
    elpd[vapply(units, function(unit) any(lost$rows[unit]), NA)] <- NA_real_
    names <- names(units)
    sampled <- list(pareto_k = stats::setNames(shape, names), n_eff = stats::setNames(effective, names))
  }
  pointwise <- cbind(elpd_kfold = elpd, p_kfold = lpd - elpd, kfoldic = -2 * elpd)
  rownames(pointwise) <- names
  together <- is.null(units) && !is.null(groups) && divided$type %in% c("group", "grouped")
  sums <- if (together) rowsum(pointwise, group_numbers(groups), reorder = TRUE) else pointwise
  out <- list(
    estimates = loo_estimates(sums, if (nrow(sums) == x$nobs && is.null(units)) weights else rep(1, nrow(sums))),
    pointwise = pointwise
  )
  out$importance <- sampled
  structure(out, K = length(omitted), folds = divided$fold, fold_type = divided$type, group = attr(groups, "label"),
    joint = joint, yhash = list(x$model$y, x$model$size, x$model$censoring, x$model$known, x$model$counts),
    class = c("kfold", "loo"))
}

# ---- folds ----

check_refittable <- function(x) {
  check_one_set(x, "kfold()")
  check_has_rows(x, "kfold() needs them all; give a data frame to galvi()")
  what <- if (inherits(x, "galvi_wide")) "responses(): loo() leaves out one entry at a time" else
    if (!is.null(x$seen)) "add_data(), of which earlier rows are gone"
  if (is.null(what)) return(invisible())
  stop_galvi("argument", sprintf("kfold() is not available for fits of %s.", what))
}

check_joint <- function(joint, group) {
  if (is.logical(joint)) return(if (check_flag(joint, "joint")) "fold" else "obs")
  joint <- check_choice(joint, c("obs", "fold", "group"), "joint")
  if (joint == "group" && is.null(group)) stop_galvi("argument", "`joint = \"group\"` needs `group`.")
  joint
}

#' The fold of each row
#' @return list(fold: N numbers from 1; names: of the folds; type).
#' @noRd
fold_numbers <- function(x, K, folds, groups) {
  n <- x$nobs
  word <- is.character(folds) && length(folds) == 1L && n > 1L
  if (!is.null(folds) && !word) return(given_folds(folds, n))
  type <- if (word) check_choice(folds, c("stratified", "grouped", "loo"), "folds") else {
    if (is.null(groups)) "random" else "group"
  }
  if (type == "grouped" && is.null(groups)) stop_galvi("argument", "`folds = \"grouped\"` needs `group`.")
  if (type == "loo") return(list(fold = seq_len(n), names = observation_names(x), type = type))
  if (type == "group") return(list(fold = group_numbers(groups), names = names(groups), type = type))
  most <- if (type == "grouped") length(groups) else n
  K <- if (is.null(K)) min(10, most) else check_whole(K, "K", 2)
  if (K > most) {
    stop_galvi("argument", sprintf(
      "`K` must be at most %s, the number of %s, not %s.", row_number(most),
        if (type == "grouped") "groups" else "rows",
      row_number(K)
    ))
  }
  fold <- switch(type,
    random = even_folds(n, K),
    grouped = even_folds(length(groups), K)[group_numbers(groups)],
    stratified = stratified_folds(if (is.null(groups)) classes_of_rows(x) else group_numbers(groups), K)
  )
  list(fold = fold, names = as.character(seq_len(K)), type = type)
}

given_folds <- function(folds, n) {
  if (!(is.atomic(folds) || is.factor(folds)) || length(folds) != n) {
    stop_galvi("argument", sprintf(
      paste(
        "`folds` must be NULL, \"stratified\", \"grouped\", \"loo\" or a vector with an element for each of the %s rows",
        "of the fit, not %s."
      ), row_number(n), describe(folds)
    ))
  }
  if (anyNA(folds)) stop_galvi("argument", "`folds` must not be missing in rows that were used for the fit.")
  folds <- droplevels(as.factor(folds))
  if (nlevels(folds) < 2L) stop_galvi("argument", "`folds` must have two folds or more.")
  list(fold = as.integer(folds), names = levels(folds), type = "custom")
}

# n things in random order, K folds of sizes that differ by one at most
even_folds <- function(n, K) rep_len(seq_len(K), n)[sample.int(n)]

# Within each stratum folds take turns, and the next stratum goes on where the last one ended.
stratified_folds <- function(stratum, K) {
  fold <- integer(length(stratum))
  order <- order(stratum, sample.int(length(stratum)))
  fold[order] <- sample.int(K)[rep_len(seq_len(K), length(stratum))]
  fold
}

classes_of_rows <- function(x) {
  if (is.null(response_levels(x)) || any(x$model$size != 1)) {
    stop_galvi("argument", paste(
      "`folds = \"stratified\"` needs `group`, as the response has no classes; group = cut(y, 5) has strata of a number."
    ))
  }
  x$model$y
}

#' The rows of each joint density, NULL where each row has its own
#' @noRd
joint_units <- function(joint, divided, groups) {
  if (joint == "obs") return(NULL)
  fold <- factor(divided$names[divided$fold], divided$names)
  if (joint == "fold") return(split(seq_along(fold), fold))
  group <- factor(names(groups)[group_numbers(groups)], names(groups))
  split(seq_along(fold), list(group, fold), drop = TRUE)
}

warn_lost_folds <- function(lost, names) {
  said <- lost_words(lost, paste("fold", quote_row_names(names)))
  if (is.null(said)) return(invisible())
  warn_galvi("cavity", sprintf(paste(
    "Only rows of one fold inform coefficients, in %s, so that these rows cannot be predicted from the others: their",
    "densities and the sums are NA. Give these coefficients a prior, or use other folds."
  ), said))
}

# ---- densities ----

#' Log densities of rows under a fit that has not seen them
#'
#' @param x The fit to all rows; omitted: those that `refit` has not seen; units: the rows of joint densities, NULL for
#'   none.
#' @return list(rows), or list(joint, with: list(density, shape)): without the rows, and under `x`.
#' @noRd
held_out_densities <- function(x, refit, omitted, units) {
  target <- target_of_frame(refit, frame_of_rows(x$data, omitted))
  if (is.null(units)) return(list(rows = weighted(predict_density(refit, target, NULL)$fit, target$weights)))
  own <- lapply(unname(units), match, omitted)
  sites <- lapply(at_estimates(factorised_view(x))$posterior[c("mean", "alpha", "lambda")], function(v) {
    v[omitted, , drop = FALSE]
  })
  all <- take_row_numbers(training_target(x), omitted)
  all[c("rows", "n")] <- list(lapply(all$rows, subset_rows, omitted), length(omitted))
  list(joint = posterior_joint_densities(refit, target, own, sites), with = posterior_joint_densities(x, all, own,
    sites))
}

#' log p(y of a block) for blocks of a target's rows, under the posterior of a fit
#' @noRd
posterior_joint_densities <- function(fit, target, blocks, sites) {
  if (has_points(fit)) return(joint_densities_at_points(fit, target, blocks))
  fit <- factorised_view(fit)
  each <- by_state(fit, function(view) {
    parts <- lapply(blocks, function(rows) {
      own <- latent_at(view, target_rows(target, rows)$rows, length(rows), covariance = TRUE)
      list(
        rows = rows, mean = own$mean + target$offset[rows, , drop = FALSE], roots = lapply(own$covariance,
          covariance_root)
      )
    })
    joint_densities(view, target, parts, sites)
  })
  weights <- state_weights(fit)
  list(
    density = log_sum_exp(rep(log(weights), each = length(blocks)) + column_of(each, "density")),
    shape = row_max(column_of(each[weights >= least_share], "shape")),
    effective = drop(column_of(each, "effective") %*% weights)
  )
}

joint_densities_at_points <- function(fit, target, blocks) {
  points <- affordable_points(fit, points_at(fit, target$rows, target$n))
  points$offset <- points$offset + target$offset
  density <- by_point_rows(points, function(own, at) densities_at_points(fit, target, own, at))
  density <- weighted_rows(density, target$weights)
  sums <- do.call(rbind, lapply(blocks, function(rows) colSums(density[rows, , drop = FALSE])))
  weighed <- rep(log(points$weight), each = nrow(sums)) + sums
  density <- log_sum_exp(weighed)
  list(
    density = density, shape = apply(sums, 1L, pareto_shape), effective = exp(2 * density - log_sum_exp(2 * weighed))
  )
}

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
#' **Weights.** Where weights multiply the log likelihood, as `frequency(n)` does, a row of weight w > 1 stands for w
#' observations, as in [loo()][loo.galvi]: random and stratified folds have some copies of a row each, and
#' `folds = "loo"` leaves out one copy. Folds that you give, and those of groups, have rows with all of their copies.
#'
#' **Joint densities.** By default each row has its own density, so that sums are comparable to those of `loo()`. With
#' `joint = TRUE` (or `"fold"`) there is one for each fold, log p(y_fold | the others), which also asks how rows depend
#' on each other; with `joint = "group"` one for each group in each fold. They are computed by importance sampling with
#' the sites of `x`, which is nearly exact, or as the average over weighted points where a refit has these.
#'
#' @param x A fit of [galvi()]; for the function `kfold()`, any object for which package loo has a method.
#' @param K Number of folds, at least 2 and at most the number of rows and their copies (of groups, with
#'   `folds = "grouped"`). NULL, the default, is 10, or that number where it is less than 10.
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
#'   columns `fit`, `omitted` (the rows left out, also those of which it left out some copies) and `predicted` (those of
#'   them with a prediction).
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
#' Attributes are `K`, `folds` (the number of the fold of each row; where folds divide its copies a matrix of their numbers,
#' with a row for each row and a column for each fold), `fold_type`, `group` and `joint`.
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
  divided <- fold_parts(x, K, folds, groups, seed)
  lost <- lost_in_folds(x, divided)
  units <- joint_units(joint, divided, groups)
  design <- kept_design(x)
  found <- each_once_warned(sprintf("fold %s", quote_row_names(divided$names)), "Without the rows of %s: ",
    function(k) {
    part <- divided$parts[[k]]
    refit <- fit_without(x, design, part, hyper, lost$names[[k]])
    c(held_out_densities(x, refit, part, units[[k]]), list(fit = if (save_fits) refit))
  })
  out <- kfold_table(x, found, units, lost, divided, groups, joint)
  if (save_fits) out$fits <- kept_fits(found, divided, lost$rows)
  out
}

#' The fit to what a fold leaves
#' @param part Of fold_parts().
#' @noRd
fit_without <- function(fit, design, part, hyper, loose) {
  some <- part$rows[!part$whole]
  design$weights[some] <- design$weights[some] - part$left[!part$whole]
  fit_to_rows(fit, design, setdiff(seq_along(design$y), part$rows[part$whole]), hyper, loose)
}

#' The element `fits` of the value
#' @noRd
kept_fits <- function(found, divided, lost) {
  fits <- Map(function(own, part) {
    list(fit = own$fit, omitted = part$rows, predicted = part$rows[!lost[part$rows]])
  }, found, divided$parts)
  `rownames<-`(do.call(rbind, unname(fits)), divided$names)
}

#' The value of kfold.galvi() from that of its folds
#' @noRd
kfold_table <- function(x, found, units, lost, divided, groups, joint) {
  weights <- x$model$weights
  if (is.null(units)) {
    elpd <- over_folds(found, divided)
    elpd[lost$rows] <- NA_real_
    lpd <- weighted(row_log_density(x, fitted_marginals(x)), weights)
    names <- observation_names(x)
    sampled <- NULL
  } else {
    of_units <- function(what, of) unlist(lapply(found, function(part) part[[what]][[of]]))
    elpd <- of_units("joint", "density")
    lpd <- of_units("with", "density")
    each <- unlist(unname(units), recursive = FALSE)
    elpd[vapply(each, function(unit) any(lost$rows[unit]), NA)] <- NA_real_
    names <- names(each)
    sampled <- lapply(list(pareto_k = of_units("joint", "shape"), n_eff = of_units("joint", "effective")),
      stats::setNames, names)
  }
  pointwise <- cbind(elpd_kfold = elpd, p_kfold = lpd - elpd, kfoldic = -2 * elpd)
  rownames(pointwise) <- names
  together <- is.null(units) && !is.null(groups) && divided$type %in% c("group", "grouped")
  sums <- if (together) rowsum(pointwise, group_numbers(groups), reorder = TRUE) else pointwise
  out <- list(
    estimates = loo_estimates(sums, if (together || !is.null(units)) rep(1, nrow(sums)) else weights),
    pointwise = pointwise
  )
  out$importance <- sampled
  structure(out, K = length(divided$parts), folds = divided$fold, fold_type = divided$type,
    group = attr(groups, "label"), joint = joint,
    yhash = response_hash(x),
    class = c("kfold", "loo"))
}

#' Log densities of rows: sums over the folds that hold their copies
#' @noRd
over_folds <- function(found, divided) {
  rows <- unlist(lapply(divided$parts, `[[`, "rows"))
  rowsum(unlist(lapply(found, `[[`, "rows")), rows, reorder = TRUE)[, 1L]
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

#' What each fold leaves out
#'
#' At random each fold takes some of a row's copies. With `folds = "loo"` the fold of a row leaves out one of them, and
#' stands for as many folds as there are copies. Given folds, and those of groups, have whole rows.
#' @param x A fit, whose weights multiply log likelihoods.
#' @return list(parts: for each fold list(rows; left: how much of their weights it leaves out; whole: of which of them
#'   nothing else is left; times: how many such folds there are, a number); fold: the number of each row's fold, or N x K
#'   numbers of copies; names: of the folds; type).
#' @noRd
fold_parts <- function(x, K, folds, groups, seed) {
  weights <- x$model$weights
  copies <- row_copies(weights)
  divided <- with_seed(seed, fold_numbers(x, K, folds, groups, copies))
  fold <- divided$fold
  part <- function(rows, held) {
    list(rows = rows, left = weights[rows] * held / copies[rows], whole = held == copies[rows], times = 1)
  }
  divided$parts <- if (divided$type == "loo") {
    lapply(fold, function(row) utils::modifyList(part(row, 1), list(times = copies[row])))
  } else if (is.matrix(fold)) {
    lapply(seq_len(ncol(fold)), function(k) {
      rows <- which(fold[, k] > 0)
      part(rows, fold[rows, k])
    })
  } else {
    lapply(unname(split(seq_along(fold), fold)), function(rows) part(rows, copies[rows]))
  }
  divided
}

#' What a fold leaves out, by the pieces or decisions of its rows
#' @param row Whose piece each is.
#' @noRd
part_of_pieces <- function(part, row) {
  pieces <- which(row %in% part$rows)
  own <- match(row[pieces], part$rows)
  list(rows = pieces, left = part$left[own], whole = part$whole[own])
}

# A row of weight w > 1 stands for w observations, and a part of one is spread over the others. With more than 1e6 of them
# one more or less changes nothing.
row_copies <- function(weights) pmin(pmax(1, floor(weights)), 1e6)

#' The fold of each row, or of its copies
#' @return list(fold: N numbers from 1, or where rows have copies N x K numbers of them; names: of the folds; type).
#' @noRd
fold_numbers <- function(x, K, folds, groups, copies) {
  n <- x$nobs
  word <- is.character(folds) && length(folds) == 1L && n > 1L
  if (!is.null(folds) && !word) return(given_folds(folds, n))
  type <- if (word) check_choice(folds, c("stratified", "grouped", "loo"), "folds") else {
    if (is.null(groups)) "random" else "group"
  }
  if (type == "grouped" && is.null(groups)) stop_galvi("argument", "`folds = \"grouped\"` needs `group`.")
  if (type == "loo") return(list(fold = seq_len(n), names = observation_names(x), type = type))
  if (type == "group") return(list(fold = group_numbers(groups), names = names(groups), type = type))
  most <- if (type == "grouped") length(groups) else sum(copies)
  K <- if (is.null(K)) min(10, most) else check_whole(K, "K", 2)
  if (K > most) {
    what <- if (type == "grouped") "groups" else if (most > n) "rows and their copies" else "rows"
    stop_galvi("argument", sprintf("`K` must be at most %s, the number of %s, not %s.", row_number(most), what,
      row_number(K)))
  }
  fold <- switch(type,
    random = if (all(copies == 1)) even_folds(n, K) else folds_of_copies(rep(1L, n), copies, K),
    grouped = even_folds(length(groups), K)[group_numbers(groups)],
    stratified = {
      stratum <- if (is.null(groups)) classes_of_rows(x) else group_numbers(groups)
      if (all(copies == 1)) stratified_folds(stratum, K) else folds_of_copies(stratum, copies, K)
    }
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

#' The same of rows with copies, each of which goes to a fold by itself
#'
#' Not as evenly as possible within a row: folds in each of which a row has its share would all look like the data, and
#' predict as if nothing had been left out.
#' @return N x K numbers of copies.
#' @noRd
folds_of_copies <- function(stratum, copies, K) {
  held <- matrix(0, length(copies), K)
  turns <- sample.int(K)
  first <- 0
  for (rows in split(seq_along(copies), stratum)) {
    total <- sum(copies[rows])
    room <- rep(total %/% K, K)
    one_more <- turns[(first + seq_len(total %% K) - 1) %% K + 1]
    room[one_more] <- room[one_more] + 1
    for (row in rows) {
      held[row, ] <- dealt_at_random(copies[row], room)
      room <- room - held[row, ]
    }
    first <- first + total
  }
  held
}

# How many of `count` things lie in each of some boxes with `room` places in all, of which any are as likely.
dealt_at_random <- function(count, room) {
  beyond <- sum(room) - cumsum(room)
  for (k in seq_along(room)) {
    room[k] <- stats::rhyper(1L, room[k], beyond[k], count)
    count <- count - room[k]
  }
  room
}

classes_of_rows <- function(x) {
  if (is.null(response_levels(x)) || any(x$model$size != 1)) {
    stop_galvi("argument", paste(
      "`folds = \"stratified\"` needs `group`, as the response has no classes; group = cut(y, 5) has strata of a number."
    ))
  }
  x$model$y
}

#' The rows of each joint density: for each fold a named list, NULL where each row has its own
#' @noRd
joint_units <- function(joint, divided, groups) {
  if (joint == "obs") return(NULL)
  Map(function(part, name) {
    if (joint == "fold") return(stats::setNames(list(part$rows), name))
    own <- Filter(length, lapply(groups, intersect, part$rows))
    stats::setNames(own, paste(names(own), name, sep = "."))
  }, divided$parts, divided$names)
}

#' What only a fold's rows inform, with a warning. A row with copies in other folds is not lost.
#' @param parts Of fold_parts(), as `x` numbers its rows.
#' @noRd
lost_in_folds <- function(x, divided, parts = divided$parts) {
  gone <- lapply(parts, function(part) part$rows[part$whole])
  lost <- lost_coefficients(x, stats::setNames(gone, divided$names))
  said <- lost_words(lost, paste("fold", quote_row_names(divided$names)))
  if (!is.null(said)) {
    warn_galvi("cavity", sprintf(paste(
      "Only rows of one fold inform coefficients, in %s, so that these rows cannot be predicted from the others: their",
      "densities and the sums are NA. Give these coefficients a prior, or use other folds."
    ), said))
  }
  lost
}

# ---- densities ----

#' Log densities of rows under a fit that has not seen them
#'
#' @param x The fit to all rows; part: of fold_parts(), what `refit` has not seen; units: the rows of joint densities,
#'   NULL for none.
#' @return list(rows), or list(joint, with: list(density, shape)): without the rows, and under `x`.
#' @noRd
held_out_densities <- function(x, refit, part, units) {
  rows <- part$rows
  target <- target_of_frame(refit, frame_of_rows(x$data, rows))
  target$weights <- part$left
  if (is.null(units)) {
    return(list(rows = part$times * weighted(predict_density(refit, target, NULL)$fit, part$left)))
  }
  own <- lapply(unname(units), match, rows)
  sites <- sites_of_part(at_estimates(factorised_view(x))$posterior, part, x$model$weights)
  all <- take_row_numbers(training_target(x), rows)
  all[c("rows", "n", "weights")] <- list(lapply(all$rows, subset_rows, rows), length(rows), part$left)
  of_all <- function(found) utils::modifyList(found, list(density = part$times * found$density))
  list(joint = of_all(posterior_joint_densities(refit, target, own, sites)),
    with = of_all(posterior_joint_densities(x, all, own, sites)))
}

#' The sites of what a fold leaves out: of some copies of a row that share of the row's
#' @param q A posterior. weights: of all rows.
#' @noRd
sites_of_part <- function(q, part, weights) {
  share <- ifelse(part$whole, 1, part$left / weights[part$rows])
  list(mean = q$mean[part$rows, , drop = FALSE], alpha = share * q$alpha[part$rows, , drop = FALSE],
    lambda = share * q$lambda[part$rows, , drop = FALSE])
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
  points <- points_at(fit, target$rows, target$n)
  points$offset <- points$offset + target$offset
  density <- by_density_rows(fit, points, function(own, at) densities_at_points(fit, target, own, at))
  density <- weighted_rows(density, target$weights)
  sums <- do.call(rbind, lapply(blocks, function(rows) colSums(density[rows, , drop = FALSE])))
  weighed <- rep(log(points$weight), each = nrow(sums)) + sums
  density <- log_sum_exp(weighed)
  list(
    density = density, shape = apply(sums, 1L, pareto_shape), effective = exp(2 * density - log_sum_exp(2 * weighed))
  )
}

# The terms (1 + x | g) and (x || g): intercepts and slopes that vary by group. (1 | g) is iid(g).

#' Random intercepts and slopes
#'
#' Random effects in the notation of lme4, glmmTMB and brms: `(effects | g)` in a formula of [galvi()] lets the
#' coefficients of the formula `effects` vary between the levels of the grouping factor `g`, with partial pooling
#' towards the population.
#'
#' @details
#' These terms are available:
#' * `(1 | g)`: a random intercept, the same as [`iid(g)`][iid()];
#' * `(1 + x | g)` or `(x | g)`: a random intercept and a random slope of `x`, correlated;
#' * `(x || g)`: the same, uncorrelated;
#' * `(0 + x | g)`: a random slope without a random intercept;
#' * `(0 + f | g)`: an effect for each level of the factor `f`, correlated;
#' * `(1 | a/b)`: nested groups, the same as `(1 | a) + (1 | a:b)`;
#' * `(1 | a:b)`: a group for each combination of `a` and `b`;
#' * `us()`, `diag()`, `cs()`, `ar1()`, `toep()` of `(0 + f | g)` and `ou(t | g)`: see Covariance structures;
#' * `(x | gr(g, cov = A))`, `(x | gr(g, by = f))` and `(1 | mm(g1, g2))`: see Groups.
#'
#' The q effects of a group are N(0, S), independent between groups. The standard deviations and correlations of S are
#' hyperparameters with names such as `(1 + x | g).sd.x` and `(1 + x | g).cor.(Intercept).x`. [VarCorr()][VarCorr.galvi]
#' prints them; [ranef()][ranef.galvi] returns the effects. With `||` all effects are uncorrelated, also those of the
#' levels of a factor, as in glmmTMB and brms.
#'
#' The effects of a level of `g` that was not observed are predicted from their prior, with mean zero and covariance
#' S. `re_formula` in [predict()][predict.galvi] excludes random effects from predictions.
#'
#' Without a prior of standard deviations or correlations the fit does not depend on where x is zero: the effects are
#' computed on orthogonal axes (an intercept at the mean of x), and reported for the columns as typed.
#'
#' With few or uninformative groups the marginal likelihood is often largest at a correlation of 1 or -1, or at a
#' standard deviation of zero: a singular fit, as in lme4. A message then says so, and the `status` in `fit$hyper` is
#' `"at bound"`. The weak priors of the joint posterior ([galvi()]) are those of the effects on the orthogonal axes. A
#' prior, such as `prior = list(cor = lkj(2))`, keeps correlations inside.
#'
#' @section Covariance structures:
#' A function around the bar gives S = D R D a structure, with D the diagonal matrix of standard deviations, in the
#' notation of glmmTMB and of lme4 since version 2.0:
#'
#' | term | R | `hom` |
#' |:--|:--|:--|
#' | `us(0 + f \| g)` | unstructured, the same as `(0 + f \| g)` | |
#' | `diag(0 + f \| g)` | no correlations, the same as `(0 + f \|\| g)` | FALSE |
#' | `cs(0 + f \| g)` | compound symmetry: one correlation, above -1 / (q - 1) | FALSE |
#' | `ar1(0 + f \| g)` | correlation^\|i - j\| of levels i and j of the factor f, in their order | TRUE |
#' | `toep(0 + f \| g)` | Toeplitz: a correlation for each distance \|i - j\| | FALSE |
#'
#' With `hom = TRUE` all effects of a group have one standard deviation, with `hom = FALSE` each its own; the table has
#' the defaults. `homdiag()`, `homcs()`, `hetar1()` and `homtoep()` are glmmTMB's names of the other choices. `ar1()` and
#' `toep()` need a factor, whose levels are equally spaced steps: levels without observations count as steps where
#' `hom = TRUE` and the factor is not a fixed effect too. Without a bar `ar1(t)` is the process of [ar1()].
#'
#' `ou(t | g)` is an Ornstein-Uhlenbeck process of the numeric time `t` for each group, with the covariance
#' `variance * exp(-distance / lengthscale)`. It is the same as `gp(t, by = factor(g), by_hyper = "shared", center =
#' FALSE, kernel = matern12())`, see [gp()], but that predictions for the population (`re_formula = NA`) leave it out.
#'
#' Standard deviations and correlations are named by the bar: `(0 + f | g).sd.f1`, or `(0 + f | g).sd` if they are all the
#' same; `(0 + f | g).cor`, or `(0 + f | g).cor.1`, `.cor.2`, .. at distances 1, 2, .. in `toep()`.
#'
#' **Repeated measures without residual noise.** With `family = galvi_family("gaussian", variance = fixed(0))` and one
#' observation of each level in a group, S is the covariance of the observations: `us(0 + visit | id)` is the model of
#' `nlme::gls()` with `corSymm` and `varIdent`, of package mmrm, and of glmmTMB with `dispformula = ~ 0`. The computations
#' need noise: 1e-5 of the variance of the response is taken out of S and shown as the (fixed) variance of the noise. The
#' model of the response is that without noise, as the sum of both is S. So the smallest eigenvalue of S must be larger
#' than this, which strongly correlated visits of a response with a large trend may violate: subtract the trend first.
#'
#' @section Groups:
#' Functions right of the bar say more about the groups, as in brms:
#'
#' * `gr(g, cov = A)`: the effects of groups have the known covariance A, such as one of species by their phylogeny or of
#'   animals by their relationship, and with several effects of a group the covariance of all is S (x) A. A is a
#'   symmetric positive definite matrix, of base R or of package Matrix, found in the environment of the formula; its
#'   row names are the levels of `g`. Levels of A without rows are predicted, and a level that A lacks is an error. A is
#'   used as given: `ape::vcv(tree)` has the height of the tree on its diagonal, which divides the variance. A singular
#'   matrix is refused: levels with the same rows can be merged, or the diagonal increased.
#' * `gr(g, precision = Q)`: the same by the inverse of A, which is sparse for pedigrees (MCMCglmm's `ginverse`). `cov` is
#'   for up to 2,000 levels that depend on one another, a sparse `precision` for 100,000 and more.
#' * `gr(g, by = f)`: standard deviations and correlations of their own for the groups of each level of the factor `f`.
#' * `mm(g1, g2, weights = cbind(w1, w2), scale = TRUE)`: multi-membership. A row has the weighted sum of the effects of
#'   several groups, which are levels of `g1`, `g2`, .. together. The weights are equal by default, and `scale = TRUE`
#'   scales those of a row to sum one. A group may be NA where its weight is zero; elsewhere NA leaves the row out.
#'
#' `propto(0 + g | 1, A)` is glmmTMB's way to write `(1 | gr(g, cov = A))`, and `equalto(0 + obs | 1, V)` fixes the
#' variance at 1, as in a meta-analysis with known covariances V of its estimates.
#'
#' @section Restricted likelihood:
#' With flat priors on the fixed effects, a gaussian response and no other prior, the log marginal likelihood
#' is the restricted log likelihood, and the estimates are the REML estimates of lme4.
#'
#' @section Priors:
#' The entries `sd` and `cor` of the argument `prior` of [galvi()] apply to all these terms, `(1 | g)` included. A list
#' with the name of a term applies to that term, as in `prior = list("(1 + x | g)" = list(sd = half_normal(1)))`; see
#' [priors].
#'
#' * `sd`: the prior of the standard deviations: [half_normal()], [log_normal()], [pc()] or [gamma_prior()]. A number or
#'   [fixed()] fixes them; it may have one element per effect. A list gives them by effect: `list(x = half_normal(1),
#'   default = pc(5, 0.05))`. By default, standard deviations are learned without a prior.
#' * `cor`: the prior of the correlation matrix R, none by default. `lkj(eta)` has density proportional to
#'   `det(R)^(eta - 1)` (Lewandowski, Kurowicka and Joe, 2009): uniform for eta = 1, shrinking correlations towards
#'   zero for eta > 1. NULL stands for no prior, and `fixed()` fixes all correlations, given row by row of the lower
#'   triangle of R. Those of `cs()`, `ar1()` and `toep()` have no prior, so that `cor = lkj(2)` for all terms passes them
#'   by; `fixed()` fixes them, one number or one for each distance.
#'
#' @section Errors:
#' `galvi_error_formula` if the term is not as in this list, or if two terms have the same effect of the same group;
#' `galvi_error_data` if a group has one level only (of `ar1()` it may), the effects are linearly dependent, `ar1()` or
#' `toep()` is not of a factor, a level is not in the known matrix, or weights are not as described;
#' `galvi_error_argument` if a known matrix is not square, symmetric, positive definite and named; `galvi_error_size` if it
#' has too many levels for a dense inverse; `galvi_error_prior` if a prior is not as described.
#' @references
#' Bates, D., Maechler, M., Bolker, B. and Walker, S. (2015). Fitting linear mixed-effects models using lme4. *Journal
#' of Statistical Software* 67(1), 1-48.
#'
#' Barndorff-Nielsen, O. and Schou, G. (1973). On the parametrization of autoregressive models by partial
#' autocorrelations. *Journal of Multivariate Analysis* 3, 408-419.
#'
#' Henderson, C. R. (1976). A simple method for computing the inverse of a numerator relationship matrix used in
#' prediction of breeding values. *Biometrics* 32, 69-83.
#'
#' Lewandowski, D., Kurowicka, D. and Joe, H. (2009). Generating random correlation matrices based on vines and extended
#' onion method. *Journal of Multivariate Analysis* 100, 1989-2001.
#' @seealso [VarCorr.galvi()] and [ranef()][ranef.galvi] for estimates, [priors].
#' @family terms
#' @examples
#' fit <- galvi(weight ~ Time + (1 + Time | Chick), data = ChickWeight)
#' fit
#' head(ranef(fit, condVar = TRUE)$Chick)
#' plot(fit, terms = "(1 + Time | Chick)")
#' # the growth of the population, and of a chick that was not observed
#' new <- data.frame(Time = c(0, 10, 20), Chick = "new")
#' predict(fit, new, re_formula = NA, interval = "credible")
#' predict(fit, new, interval = "credible")
#'
#' # repeated measures: autocorrelated visits beside residual noise
#' growth <- transform(as.data.frame(nlme::Orthodont), visit = factor(age))
#' fit <- galvi(distance ~ age * Sex + ar1(0 + visit | Subject), data = growth)
#' VarCorr(fit)
#'
#' # animals with a known relationship: two families of half sibs
#' A <- diag(6) + 0.25 * (outer(1:6, 1:6, function(i, j) (i > 3) == (j > 3)) - diag(6))
#' dimnames(A) <- list(letters[1:6], letters[1:6])
#' set.seed(1)
#' animals <- data.frame(id = rep(letters[1:5], each = 4))
#' animals$y <- rnorm(20, rnorm(5)[factor(animals$id)])
#' fit <- galvi(y ~ (1 | gr(id, cov = A)), data = animals)
#' # the last one was not observed
#' predict(fit, data.frame(id = c("a", "f")), interval = "credible")
#' @name random-slopes
#' @aliases random-effects us cs toep ou propto equalto mm homdiag homcs hetar1 homtoep
NULL

# ---- design ----

check_groups_differ <- function(spec, name) {
  if (length(spec$levels) > 1L) return(invisible())
  stop_galvi("data", sprintf(
    "`%s` has one level only (%s), so the groups of `%s` cannot differ: leave the term out.", name,
    dQuote(spec$levels, FALSE), spec$label
  ))
}

#' @export
keep_of_fit.slopes_term <- function(spec, fitted) keep_contrasts(spec, fitted)

#' @export
design_term.slopes_term <- function(spec, frame, context) {
  as_slope_error(check_fixed_variables(spec$effects, frame), spec)
  check_ordered_effects(spec, frame)
  built <- fixed_matrix(spec$effects, frame, spec$contrasts)
  spec[c("contrasts", "assign")] <- list(built$contrasts, built$assign)
  spec$own_columns <- colnames(built$W)
  check_finite_columns(built$W)
  spec <- learn_row_groups(spec, frame)
  if (!is_time_series(spec)) check_groups_differ(spec, spec$group)
  # levels that were not observed are steps of an ordered structure, whose common variance they have
  if (!has_steps(spec)) check_independent_slopes(built$W, spec)
  spec <- learn_split(spec, frame)
  if (length(spec$own_columns) == 1L) spec[c("structure", "hom")] <- list("diag", FALSE)
  if (is_open_covariance(spec, context)) spec$axes <- effect_axes(strip_matrix(built$W))
  rows <- slope_rows(spec, frame, built$W)
  if (takes_noise(spec, rows, context)) {
    spec$noise <- context$noise$variance
    context$noise$taken <- TRUE
  }
  # an effect of this size moves the linear predictor by as much as the response varies
  unit <- sqrt(context$default_variance) / sqrt(colMeans(on_axes(strip_matrix(built$W), spec)^2))
  spec$hyper <- slopes_hyper(spec, unit, context)
  field <- c(slopes_field(spec), if (!is.null(spec$axes)) list(axes = spec$axes))
  term <- list(type = "field", label = spec$label, field = field)
  list(spec = spec, rows = rows, term = term, priors = spec$hyper_priors)
}

# The effects of an ordered structure are levels.
check_ordered_effects <- function(spec, frame) {
  if (!isTRUE(effect_structures[[spec$structure]]$ordered)) return(invisible())
  variable <- attr(spec$effects, "term.labels")
  x <- frame[[variable_name(as.list(attr(spec$effects, "variables"))[[2L]])]]
  if (is.factor(x) || is.character(x)) return(invisible())
  stop_galvi("data", sprintf(
    "`%s` must be a factor in %s, whose effects are its levels in their order, not %s: write factor(%s).", variable,
    spec$written, describe(x), variable
  ))
}

# gr(g, by = f): effects for each level of f, of which a group has those of one.
learn_split <- function(spec, frame) {
  spec$columns <- spec$own_columns
  if (is.null(spec$split)) return(spec)
  name <- variable_name(spec$split)
  x <- frame[[name]]
  if (!is.factor(x) && !is.character(x) && !is.logical(x)) {
    stop_galvi("data", sprintf("`by = %s` of gr() must be a factor, not %s.", name, describe(x)))
  }
  spec$split_levels <- if (is.factor(x)) levels(x)[tabulate(x, nlevels(x)) > 0L] else as.character(sort(unique(x)))
  spec$columns <- paste0(spec$own_columns, ":", name, rep(spec$split_levels, each = length(spec$own_columns)))
  spec
}

#' Does the structure of a noise-free response contain all of its variance? Each row then has an effect of its own
#' (src/prior/effect_blocks.h).
#' @noRd
takes_noise <- function(spec, rows, context) {
  if (is.null(context$noise) || context$noise$taken || !is.null(spec$axes) || !is.null(spec$known)) return(FALSE)
  if (any(rows$weight != 0 & rows$weight != 1) || any(rowSums(rows$weight != 0) != 1)) return(FALSE)
  !anyDuplicated(rowSums(rows$node * (rows$weight != 0)))
}

as_slope_error <- function(expr, spec) {
  tryCatch(expr, galvi_error_data = function(e) {
    stop_galvi("data", sprintf("`%s`: %s", spec$label,
      gsub("a fixed effect", "a random slope", conditionMessage(e), fixed = TRUE)))
  })
}

check_grouping <- function(x, spec, name) {
  if (is.null(dim(x)) && (is_number_like(x) || is.factor(x) || is.character(x))) return(x)
  stop_galvi("data", sprintf(
    "`%s` must be a factor, text or numbers to be the grouping of %s, not %s.", name, spec$label, describe(x)
  ))
}

# Slopes of linearly dependent columns are not determined.
check_independent_slopes <- function(W, spec) {
  size <- sqrt(colSums(W^2))
  found <- qr(sweep(W, 2L, unit_if_zero(size), "/"), tol = 1e-9)
  if (found$rank == ncol(W)) return(invisible())
  bad <- spec$own_columns[found$pivot[-seq_len(found$rank)]]
  stop_galvi("data", sprintf(
    "`%s` has linearly dependent effects: %s %s a linear combination of the others. Leave %s out.",
    spec$label, quote_names(bad), if (length(bad) > 1L) "are" else "is", if (length(bad) > 1L) "them" else "it"
  ))
}

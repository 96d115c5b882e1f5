# The term iid(): independent effects of groups.

#' Random intercepts: independent effects of groups
#'
#' `iid(g)` in a formula of [galvi()] adds a random intercept for each level of the grouping factor `g`: independent
#' normal effects with mean zero and a common variance, which gives partial pooling (shrinkage) of the groups. `(1 | g)`
#' is the same term.
#'
#' @details
#' `iid(a:b)` has an effect for every combination of `a` and `b`; nested groups are `iid(a) + iid(a:b)`. `iid(g,
#' by = x)` is a random slope of `x`. Levels of `newdata` are matched to those of the data as text, so numbers, text and
#' factors can be mixed.
#'
#' The effect of a new level in `newdata` is predicted from its prior: mean zero and the estimated variance.
#' [ranef()][ranef.galvi] returns the posterior of the effects, [VarCorr()][VarCorr.galvi] their standard deviation, and
#' `predict(fit, type = "terms")` their contribution to each row.
#'
#' The variance is named `iid(g).variance` in `fit$hyper`. A grouping factor with a level for each observation accounts
#' for overdispersion of counts and proportions.
#'
#' @param g The grouping factor: a factor, text or numbers, or an expression in columns.
#' @param variance The variance of the effects, in squared units of the linear predictor. A number is the starting
#'   value, [fixed()] fixes it, and [pc()], [gamma_prior()], [half_normal()] or [log_normal()] is a prior. If not given,
#'   the variance is learned without a prior, starting from the variance of the response if the link is the identity and
#'   from 1 otherwise (with `hyper = "fixed"` it is 1).
#' @param by A numeric variable that multiplies the effects, so that they are slopes of this variable, or a factor: each
#'   level then has effects of its own, independent of those of the other levels.
#' @param by_hyper For a factor `by`: `"shared"` (the default) for common hyperparameters, or `"each"` for one set per
#'   level, with names such as `iid(g, by = f)[a].variance` for level a. A value or prior given to the term applies to
#'   all levels.
#' @return No value. The term is only valid inside a formula.
#' @section Errors:
#' `galvi_error_formula` if the term is called outside a formula or without its variable, `galvi_error_argument` if an
#' argument is not as described, `galvi_error_data` if the variable has the wrong type or only one level.
#' @seealso [random-slopes] for correlated intercepts and slopes.
#' @family terms
#' @examples
#' # growth of chicks, with a random intercept and an independent random slope
#' fit <- galvi(weight ~ Time + iid(Chick) + iid(Chick, by = Time), data = ChickWeight)
#' fit
#' head(ranef(fit)[["iid(Chick, by = Time)"]])
#' # a chick that was not observed
#' predict(fit, data.frame(Time = 10, Chick = "new"), interval = "prediction")
#'
#' # overdispersed counts: a random effect for each observation
#' galvi(count ~ spray + iid(id), data = transform(InsectSprays, id = 1:72), family = poisson())
#' @export
iid <- function(g, variance = 1, by = NULL, by_hyper = c("shared", "each")) {
  stop_term("iid", "y ~ x + iid(g)")
}

iid_type <- function() {
  field_type(
    iid, learn = learn_effects, find = find_groups, structure = group_structure, panels = group_panels,
    open = TRUE, grouped = TRUE, count = function(spec) length(spec$levels), names = function(spec) spec$levels
  )
}

learn_effects <- function(spec, x, name) {
  spec <- learn_groups(spec, x, name)
  check_groups_differ(spec, name)
  spec
}

learn_groups <- function(spec, x, name) {
  spec$levels <- if (is.factor(x)) levels(x)[tabulate(x, nlevels(x)) > 0L] else level_text(sort(unique(x)))
  spec
}

# New levels come after the known ones, each once.
find_groups <- function(spec, x, name) {
  x <- level_text(x)
  new <- setdiff(x, spec$levels)
  list(at = match(x, c(spec$levels, new)), more = length(new))
}

group_structure <- function(spec, more = 0L) iid_structure(length(spec$levels), more)

# Levels as text. The number 100000 is the level "100000" whether it came as a whole number or not:
# as.character() would write "1e+05".
level_text <- function(x) {
  text <- as.character(x)
  whole <- if (is.double(x) && is.null(attr(x, "class"))) which(abs(x) < 1e15 & x == round(x))
  text[whole] <- sprintf("%.0f", x[whole])
  text
}

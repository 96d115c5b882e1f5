# The term iid(): independent effects of groups.

#' Independent effects of groups
#'
#' `iid(g)` in a formula of [galvi()] adds an effect for every level of `g`, independent and normal with mean
#' zero and a common variance: a random intercept. `(1 | g)` is the same. It has a meaning in formulas only.
#'
#' * Levels are compared as text, so that numbers, text and factors all work. `iid(a:b)` has an effect for
#'   every combination of the two; nested groups are `iid(a) + iid(a:b)`.
#' * In predictions a new level, not among the observations, has its effect from the prior: mean zero and the
#'   estimated variance.
#' * `ranef(fit)` has the posterior of all effects, [predict()][predict.galvi] with `type = "terms"` their
#'   contributions to rows.
#'
#' @param g The groups: a factor, text or numbers; an expression in columns.
#' @param variance The variance of the effects: a number is where learning starts, [fixed()] fixes it, and
#'   [pc()], [gamma_prior()], [half_normal()] and [log_normal()] are priors. Without it learning starts at the
#'   variance of the response where the link is the identity, so that its units do not matter.
#' @param by A number that multiplies the effects (`iid(g, by = x)` is a random slope in x), or a factor: one
#'   copy of the effects per level, independent.
#' @param by_hyper Of a factor `by`: `"shared"` hyperparameters, or `"each"` level has its own, with names such as
#'   `rw1(t, by = g)[a].variance` for level a. What is given for a hyperparameter is for all levels.
#' @return Nothing: calling it outside a formula is an error.
#' @seealso [gmrf()], [rw1()], [ar1()], [gp()]
#' @examples
#' fit <- galvi(weight ~ Time + iid(Chick) + iid(Chick, by = Time), data = ChickWeight)
#' summary(fit)
#' head(ranef(fit)[["iid(Chick, by = Time)"]])
#' # a chick that was not seen
#' predict(fit, data.frame(Time = 10, Chick = "new"), interval = "prediction")
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

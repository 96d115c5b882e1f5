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
#' * `(1 | a:b)`: a group for each combination of `a` and `b`.
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
#'   triangle of R.
#'
#' @section Errors:
#' `galvi_error_formula` if the term is not as in this list, or if two terms have the same effect of the same group;
#' `galvi_error_data` if a group has one level only or the effects are linearly dependent; `galvi_error_prior` if a
#' prior is not as described.
#' @references
#' Bates, D., Maechler, M., Bolker, B. and Walker, S. (2015). Fitting linear mixed-effects models using lme4. *Journal
#' of Statistical Software* 67(1), 1-48.
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
#' @name random-slopes
#' @aliases random-effects
NULL

# The core's models of the effects of a group, by the bars that they are written with.
slope_models <- c("|" = "unstructured", "||" = "diagonal")
bars <- names(slope_models)

# ---- parsing ----

# (bar) -> calls of terms: iid() for intercepts alone, one for each grouping of nested ones.
random_terms <- function(bar) {
  effects <- bar[[2L]]
  alone <- is_intercept(effects)
  lapply(nested_groups(bar[[3L]]), function(group) {
    if (alone) as.call(list(quote(iid), group)) else as.call(list(bar[[1L]], effects, group))
  })
}

is_intercept <- function(effects) {
  if (identical(effects, 1)) return(TRUE)
  if (length(all.vars(effects))) return(FALSE)
  terms <- tryCatch(stats::terms(stats::as.formula(call("~", effects))), error = function(e) NULL)
  !is.null(terms) && !length(attr(terms, "term.labels")) && attr(terms, "intercept") == 1L
}

# a / b -> a, a:b
nested_groups <- function(group) {
  if (head_name(group) == "(") return(nested_groups(group[[2L]]))
  if (head_name(group) != "/") return(list(group))
  outer <- nested_groups(group[[2L]])
  c(outer, list(call(":", outer[[length(outer)]], group[[3L]])))
}

# Adds model, inputs: the grouping, effects: the terms object of the left side, variables, shown.
#' @export
parse_term.slopes_term <- function(spec, call, env) {
  shown <- sprintf("(%s)", deparse_one(call))
  refuse <- function(what) stop_galvi("formula", sprintf("`%s`: %s", shown, what))
  if (is_dot(call[[2L]]) || "." %in% all.vars(call[[2L]])) {
    refuse("a `.` left of the bar is not supported: name the variables.")
  }
  if (length(find_term(call[[2L]]))) refuse("a term cannot be left of the bar, only variables can.")
  effects <- tryCatch(stats::terms(stats::as.formula(call("~", call[[2L]]), env = env)), error = function(e) {
    refuse(sprintf("what is left of the bar is not a formula (%s).", conditionMessage(e)))
  })
  if (length(attr(effects, "offset"))) refuse("an offset has no coefficient and cannot vary by group.")
  if (!length(attr(effects, "term.labels")) && !attr(effects, "intercept")) {
    refuse("there is no effect left of the bar: write (1 | g) or (x | g).")
  }
  group <- call[[3L]]
  if (is_dot(group) || !length(all.vars(group))) refuse("right of the bar must be a grouping factor.")
  if (head_name(group) %in% c("+", "*")) {
    refuse(sprintf("write one term for each grouping, or (%s | a:b) for one of both together.",
      deparse_one(call[[2L]])))
  }
  spec <- complete_spec(spec, list(model = slope_models[[head_name(call)]], effects = effects))
  group <- field_input(group)
  spec$inputs <- group$inputs
  spec$variables <- c(spec$inputs, as.list(attr(effects, "variables"))[-1L])
  spec$group <- if (is.null(group$shown)) variable_name(group$inputs[[1L]]) else group$shown
  spec$shown <- shown
  spec[c("left", "right")] <- as.list(call)[2:3]
  spec
}

#' Each effect of a grouping once: (1 | g) and iid(g) are the same, and one of them is in (1 + x | g)
#' @noRd
check_groups_once <- function(specs) {
  effects <- lapply(specs, function(spec) {
    group <- if (spec$type == "|") spec$group else spec_group(spec)
    if (is.null(group)) return(NULL)
    terms <- if (spec$type == "|") {
      c(if (attr(spec$effects, "intercept")) "1", attr(spec$effects, "term.labels"))
    } else if (is.null(spec$by)) "1" else variable_name(spec$by)
    paste(terms, "|", group)
  })
  bar <- vapply(specs, function(spec) spec$type == "|" || isTRUE(spec$bar), NA)
  for (i in which(bar)) {
    for (j in setdiff(seq_along(specs), i)) {
      twice <- intersect(effects[[i]], effects[[j]])
      if (!length(twice)) next
      stop_galvi("formula", sprintf(
        "`%s` and `%s` have the same effects (%s): leave one out.", written_term(specs[[i]]),
        written_term(specs[[j]]), twice[1L]
      ))
    }
  }
  specs
}

# The grouping of independent effects.
spec_group <- function(spec) {
  if (!inherits(spec, "iid_term")) return(NULL)
  if (is.null(spec$shown)) variable_name(spec$inputs[[1L]]) else spec$shown
}

written_term <- function(spec) {
  if (isTRUE(spec$bar) && spec$type != "|") sprintf("(1 | %s)", spec_group(spec)) else spec_label(spec)
}

# ---- design ----

check_groups_differ <- function(spec, name) {
  if (length(spec$levels) > 1L) return(invisible())
  stop_galvi("data", sprintf(
    "`%s` has one level only (%s), so the groups of `%s` cannot differ: leave the term out.", name,
    dQuote(spec$levels, FALSE), spec$label
  ))
}

#' @export
design_term.slopes_term <- function(spec, frame, context) {
  name <- variable_name(spec$inputs[[1L]])
  as_slope_error(check_fixed_variables(spec$effects, frame), spec)
  built <- fixed_matrix(spec$effects, frame)
  spec[c("contrasts", "assign")] <- list(built$contrasts, built$assign)
  spec$columns <- colnames(built$W)
  check_finite_columns(built$W)
  spec <- learn_groups(spec, check_grouping(frame[[name]], spec, name), name)
  check_groups_differ(spec, name)
  check_independent_slopes(built$W, spec)
  if (length(spec$columns) == 1L) spec$model <- "diagonal"
  if (is_open_covariance(spec, context)) spec$axes <- effect_axes(strip_matrix(built$W))
  # an effect of this size moves the linear predictor by as much as the response varies
  unit <- sqrt(context$default_variance) / sqrt(colMeans(on_axes(strip_matrix(built$W), spec)^2))
  spec$hyper <- slopes_hyper(spec, unit, context)
  rows <- spec_rows(spec, frame)
  field <- c(field_list(field_structure(spec), spec$hyper), if (!is.null(spec$axes)) list(axes = spec$axes))
  term <- list(type = "field", label = spec$label, field = field)
  list(spec = spec, rows = rows, term = term, priors = spec$hyper_priors)
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
  bad <- spec$columns[found$pivot[-seq_len(found$rank)]]
  stop_galvi("data", sprintf(
    "`%s` has linearly dependent effects: %s %s a linear combination of the others. Leave %s out.",
    spec$label, quote_names(bad), if (length(bad) > 1L) "are" else "is", if (length(bad) > 1L) "them" else "it"
  ))
}

# Node (j - 1) q + k is effect k of group j.
#' @export
field_structure.slopes_term <- function(spec, more = 0L) {
  slope_blocks(length(spec$levels) + more, length(spec$columns), spec$model == "unstructured")
}

# All nodes of a row's group, with the effects' columns as weights.
#' @export
spec_rows.slopes_term <- function(spec, frame) {
  name <- variable_name(spec$inputs[[1L]])
  built <- fixed_matrix(spec$effects, frame, spec$contrasts)
  if (!identical(colnames(built$W), spec$columns)) {
    stop_galvi("newdata", sprintf(
      "The variables of %s must be what they were in the fit: they give the columns %s, not %s.", spec$label,
      quote_names(colnames(built$W)), quote_names(spec$columns)
    ))
  }
  check_finite_columns(built$W)
  found <- find_groups(spec, check_grouping(frame[[name]], spec, name))
  out <- list(node = group_nodes(spec, found$at), weight = on_axes(unname(strip_matrix(built$W)), spec))
  if (found$more) {
    out$extension <- list(field = field_list(field_structure(spec, found$more), spec$hyper))
  }
  out
}

group_nodes <- function(spec, group) {
  q <- length(spec$columns)
  matrix(as.integer(rep((group - 1L) * q, q) + rep(seq_len(q), each = length(group))), length(group), q)
}

#' @export
count_nodes.slopes_term <- function(spec) length(spec$levels)

# ---- the posterior ----

#' The grouping of a term's effects, as users wrote it
#' @noRd
effect_group <- function(spec) if (spec$type %in% bars) spec$group else spec_group(spec)

term_effects <- function(terms) {
  c(if (attr(terms, "intercept")) "(Intercept)", attr(terms, "term.labels"))
}

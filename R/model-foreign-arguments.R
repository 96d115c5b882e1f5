# Arguments of other packages' functions: what galvi() has in their place, shown in the user's own call.

# ---- pieces of the table ----

# An argument of what may be a call, by its name.
any_named <- function(expr, name) if (is.call(expr)) expr[[name]]

replace_in <- function(call, name, value) {
  call[[name]] <- value
  call
}

formula_of_call <- function(call) {
  if ("formula" %in% names(call)) call$formula else if (length(call) > 1L) call[[2L]]
}

with_formula <- function(call, formula) {
  if ("formula" %in% names(call)) call$formula <- formula else call[[2L]] <- formula
  call
}

# The formula of the response, if the call shows it.
first_formula <- function(call) {
  f <- formula_of_call(call)
  if (head_name(f) == "list") f <- f[[2L]]
  if (head_name(f) == "~" && length(f) == 3L) f
}

change_formula <- function(call, change) {
  f <- formula_of_call(call)
  first <- first_formula(call)
  if (is.null(first)) return(call)
  if (head_name(f) == "list") f[[2L]] <- change(first) else f <- change(first)
  with_formula(call, f)
}

with_summand <- function(call, term) change_formula(call, function(f) {
  f[[3L]] <- call("+", f[[3L]], term)
  f
})

with_response <- function(call, change, family = NULL) {
  call <- change_formula(call, function(f) {
    f[[2L]] <- change(f[[2L]])
    f
  })
  if (!is.null(family)) call$family <- family
  call
}

bar_call <- function(effects, group) {
  if (head_name(group) == "~") group <- group[[length(group)]]
  call("(", call("|", effects, group))
}

# ~ z -> list(y ~ x, zi ~ z); NULL where the family of the call has no such parameter
with_parameter_formula <- function(call, value, name, family) {
  known <- family_in_call(call)
  if (is.null(name)) name <- c(if (!is.null(known)) setdiff(known$dpars, c("mu", always_predicted(known))), "sigma")[1L]
  right <- if (head_name(value) == "~") value[[length(value)]] else quote(x)
  # ~ 0 is no such part
  if (identical(right, 0)) return(call)
  written <- formula_of_call(call)
  formulas <- if (head_name(written) == "list") as.list(written)[-1L] else list(first_formula(call))
  has_own <- vapply(formulas[-1L], function(f) length(f) == 3L && identical(f[[2L]], as.name(name)), NA)
  if (!is.null(formulas[[1L]]) && !any(has_own)) {
    call <- with_formula(call, as.call(c(quote(list), formulas, call("~", as.name(name), right))))
  }
  if (!is.null(family) && !(is.list(known) && name %in% known$dpars)) {
    # one that cannot be read here may have it
    if (!is.null(known) && !has_zeros_form(head_name(family), known$family)) return(NULL)
    call$family <- as.call(list(family[[1L]], call[["family"]]))
  }
  call
}

# ziformula = ~ . of glmmTMB has the formula of the mean, without offsets. A hurdle has `hu` in the place of `zi`.
with_zero_formula <- function(call, value) {
  first <- first_formula(call)
  if ("." %in% all.vars(value)) {
    if (is.null(first)) return(NULL)
    kept <- Filter(function(piece) any_head(piece$expr) != "offset", summands(first[[3L]]))
    mean <- if (length(kept)) sum_of(kept) else 1
    value <- do.call(substitute, list(value, list(. = mean)))
  }
  known <- family_in_call(call)
  with_parameter_formula(call, value, if ("hu" %in% known$dpars) "hu" else "zi", quote(zero_inflated()))
}

say_zero_formula <- function(call, value) c(
  if (!identical(value, quote(~0))) "Each parameter has a formula of its own, in a list.",
  if ("." %in% all.vars(value)) "The `.` of glmmTMB stands for the formula of the mean, without offsets.",
  if (is.null(with_zero_formula(call, value))) sprintf(
    "%s has no form with more zeros here: zero_inflated() and hurdle() say of which families there is one.",
    if (is.null(call[["family"]])) "gaussian" else deparse_one(call[["family"]])
  ) else if ("hu" %in% family_in_call(call)$dpars) "Without zeros of its own a response has these by hurdle(), whose `hu` is their probability."
)

# The smooths of the first formula, each changed by change(smooth, i).
with_smooths <- function(call, change) change_formula(call, function(f) {
  at <- 0L
  visit <- function(expr) {
    if (!is.call(expr)) return(expr)
    if (head_name(expr) %in% c("s", "te", "ti", "t2")) {
      at <<- at + 1L
      return(change(expr, at))
    }
    if (head_name(expr) %in% c("+", "-", "(")) expr[-1L] <- lapply(as.list(expr)[-1L], visit)
    expr
  }
  f[[3L]] <- visit(f[[3L]])
  f
})

# knots = list(x = c(0, 24)), of all smooths: each has those of its variables; what is no list is for all.
with_knots <- function(call, value) {
  listed <- head_name(value) == "list" && !is.null(names(value))
  with_smooths(call, function(smooth, i) {
    own <- if (listed) value[c(TRUE, names(value)[-1L] %in% vapply(unnamed_arguments(smooth), variable_name, ""))]
    if (listed && length(own) < 2L) return(smooth)
    knots <- if (listed) own else value
    xt <- smooth[["xt"]]
    if (is.null(xt)) xt <- quote(list())
    if (head_name(xt) != "list") return(smooth)
    xt[["knots"]] <- knots
    smooth[["xt"]] <- xt
    smooth
  })
}

# sp = c(1, 0.1), one for each smooth.
with_smoothing <- function(call, value) {
  values <- if (head_name(value) == "c") as.list(value)[-1L] else list(value)
  with_smooths(call, function(smooth, i) {
    if (i <= length(values)) smooth[["sp"]] <- values[[i]]
    smooth
  })
}

# s(x) -> s(x, bs = "ts"), for select = TRUE. Other bases than these have no such form, or one already.
shrunk_smooth <- function(smooth, i) {
  basis <- smooth[["bs"]]
  if (is.null(basis)) basis <- if (head_name(smooth) %in% c("te", "ti", "t2")) "cr" else "tp"
  if (is.character(basis) && basis %in% c("tp", "cr")) smooth$bs <- c(tp = "ts", cr = "cs")[[basis]]
  smooth
}

# nominal = ~ x of ordinal's clm(), whose x may also be in the formula: cs(x), in a family that takes it.
with_nominal <- function(call, value) {
  if (head_name(value) != "~" || identical(value[[length(value)]], 1)) return(call)
  own <- value[[length(value)]]
  both <- vapply(summands(own), function(piece) deparse_one(piece$expr), "")
  call <- change_formula(call, function(f) {
    shared <- Filter(function(piece) !deparse_one(piece$expr) %in% c(both, "1"), summands(f[[3L]]))
    specific <- list(list(expr = call("cs", own), sign = 1))
    f[[3L]] <- sum_of(c(shared, specific))
    f
  })
  known <- family_in_call(call)
  if (is.list(known) && known$family %in% c("sratio", "cratio")) return(call)
  family <- call[["family"]]
  # with the link that it has
  if (any_head(family) == "cumulative") family[[1L]] <- quote(sratio) else family <- quote(sratio())
  replace_in(call, "family", family)
}

# The family of a call, where it can be read; else NULL.
family_in_call <- function(call) {
  if (is.null(call[["family"]])) return(as_galvi_family("gaussian"))
  tryCatch(as_galvi_family(eval(with_own_words(call[["family"]], typed_family_words(), globalenv()), globalenv())),
    error = function(e) NULL)
}

# Has the family of a call a sigma, so far as is known?
has_noise <- function(call) {
  known <- family_in_call(call)
  if (is.null(known)) return(TRUE)
  parameters <- family_type(known)$parameters
  "sigma" %in% c(names(parameters), unlist(lapply(parameters, `[[`, "also")))
}

# The call with a family in place of `dist`; NULL: we have none such.
with_family <- function(call, value) {
  name <- if (is.character(value)) value else deparse_one(value)
  ours <- c(
    weibull = "weibull()", exponential = "exponential()", lognormal = "lognormal()", loglogistic = "loglogistic()",
    gaussian = "gaussian()", logistic = "student()", poisson = "poisson()", negbin = "negbinomial()",
      geometric = "geometric()",
    binomial = "binomial()", t = "student()", rayleigh = "weibull(shape = fixed(2))"
  )[name]
  if (is.na(ours)) {
    if (is.null(tryCatch(as_galvi_family(name), error = function(e) NULL))) return(NULL)
    ours <- sprintf("galvi_family(\"%s\")", name)
  }
  call$family <- str2lang(ours)
  call
}

# count ~ x | z of pscl, whose second part is that of zeros
with_zero_part <- function(call) {
  first <- first_formula(call)
  if (is.null(first) || head_name(first[[3L]]) != "|") return(call)
  call <- with_formula(call, call("list", call("~", first[[2L]], first[[3L]][[2L]]), call("~", quote(zi), first[[3L]][[3L]])))
  replace_in(call, "family", call("zero_inflated", call[["family"]]))
}

# The response of a call in the data; NULL where it is not seen.
response_in_data <- function(call, data) {
  f <- first_formula(call)
  env <- environment(f)
  tryCatch(eval(f[[2L]], as.list(data), if (is.null(env)) globalenv() else env), error = function(e) NULL)
}

# The family of a response of classes, where the data show it: that of two, of more, or NULL.
family_of_classes <- function(call, data) {
  y <- response_in_data(call, data)
  levels <- if (is.factor(y)) nlevels(y) else if (is.logical(y) || is.numeric(y) && all(y %in% c(0, 1, NA))) 2L else 0L
  if (levels > 2L) quote(cumulative) else if (levels == 2L) quote(binomial)
}

# binomial("logit") of proportions without trials, in a call of betareg(); another link is an error of that family.
with_beta_family <- function(call) {
  link <- call$family[[2L]]
  call$family <- if (identical(link, "logit")) quote(beta_family()) else call("galvi_family", "beta_family", link = link)
  with_precision_part(call)
}

# A link alone is of binomial() unless the response has more classes, or is of numbers.
with_classes <- function(call, new, data) {
  if (!is.null(call[["family"]]) || head_name(new[["family"]]) != "binomial") return(new)
  y <- response_in_data(new, data)
  shares <- is.numeric(y) && all(y > 0 & y < 1, na.rm = TRUE) && is.null(new[["weights"]])
  if (shares && identical(new$family[[2L]], "logit")) return(with_beta_family(new))
  own <- family_of_classes(new, data)
  counts <- head_name(first_formula(new)[[2L]]) == "cbind"
  if (is.null(own) && !counts && isTRUE(new$family[[2L]] %in% c("identity", "log", "inverse"))) own <- quote(gaussian)
  if (!is.null(own)) new$family[[1L]] <- own
  new
}

# nbinom2 of glmmTMB, where that is not attached, by our name
with_known_family <- function(call) {
  family <- call[["family"]]
  if (is.null(family) || !is.null(family_in_call(call))) return(call)
  name <- written_family(family)
  known <- if (nzchar(name)) translation(name)
  if (is.null(known)) return(call)
  arguments <- c(if (is.call(family)) as.list(family)[-1L], if (known$family == "Gamma" && is.symbol(family)) "log")
  replace_in(call, "family", as.call(c(as.name(known$family), arguments)))
}

# poisson, "poisson", poisson() and stats::poisson -> "poisson"
written_family <- function(expr) {
  if (is.character(expr)) return(expr[1L])
  if (is.symbol(expr)) return(as.character(expr))
  any_head(if (head_name(expr) %in% c("::", ":::")) as.call(list(expr)) else expr)
}

# truncated_nbinom2 and ziGamma of glmmTMB, which are hurdle models beside `ziformula`, as are other families of positive
# numbers: hurdle(negbinomial)
with_hurdle <- function(call) {
  family <- call[["family"]]
  name <- written_family(family)
  base <- sub("^truncated_|^zi(?=Gamma$)", "", name, perl = TRUE)
  if (base != name) {
    known <- translation(base)
    own <- as.name(if (is.null(known)) base else known$family)
    given <- if (any_head(family) == name) as.list(family)[-1L]
    # the only link of counts needs no name
    if (base != "Gamma" && identical(unname(given), list("log"))) given <- NULL
    family <- if (length(given)) as.call(c(own, given)) else own
  } else {
    known <- family_in_call(call)
    if (is.null(known) || !has_zeros_form("hurdle", known$family) ||
      has_zeros_form("zero_inflated", known$family)) return(call)
  }
  new <- replace_in(call, "family", as.call(list(quote(hurdle), family)))
  if (is.null(family_in_call(new))) call else new
}

# `control` without the settings of samplers that brms and rstanarm take there, and without another function's, as those
# of lmeControl().
without_foreign_control <- function(call) {
  control <- call[["control"]]
  if (is_foreign_control(control)) return(replace_in(call, "control", NULL))
  if (head_name(control) != "list" || is.null(names(control))) return(call)
  control <- control[!names(control) %in% c("adapt_delta", "max_treedepth", "stepsize", "metric")]
  call["control"] <- if (length(control) > 1L) list(control)
  call
}

is_foreign_control <- function(control) {
  grepl("[cC]ontrol$", any_head(control)) && any_head(control) != "galvi_control"
}

with_link <- function(call, value) {
  family <- if (is.null(call[["family"]])) quote(binomial()) else call[["family"]]
  head <- if (is.call(family)) family[[1L]] else family
  if (is.character(head)) head <- as.name(head)
  call$family <- as.call(list(head, value))
  call
}

# random = ~ x | g, list(g = ~ x), list(~ 1 | a, ~ 1 | b), after with_groups_of_lme(); the levels of a list are nested
with_random <- function(call, value) {
  # a formula that was made elsewhere
  if (is.null(first_formula(call))) return(NULL)
  right <- if (head_name(value) == "~") value[[length(value)]] else value
  terms <- if (head_name(value) %in% c("list", "c")) nested_effects(as.list(value)[-1L]) else {
    if (head_name(right) %in% bars) list(call("(", right)) else {
      lapply(summands(right), function(piece) effects_of_group(piece$expr))
    }
  }
  for (term in terms) {
    if (is.null(term)) return(NULL)
    call <- with_summand(call, term)
  }
  call
}

#' The terms of a list of lme(), outer groups first
#' @return A list of calls, with NULL for what galvi does not have or what names no group.
#' @noRd
nested_effects <- function(forms) {
  groups <- lapply(seq_along(forms), function(i) group_of_level(forms, i))
  unlist(lapply(seq_along(forms), function(i) {
    if (any(vapply(groups[seq_len(i)], is.null, NA))) return(list(NULL))
    form <- forms[[i]]
    right <- if (head_name(form) == "~") form[[length(form)]]
    if (head_name(right) %in% bars) form <- call("~", right[[2L]])
    effects_of_matrix(form, colon_of(groups[seq_len(i)]))
  }), recursive = FALSE)
}

# Of list(g = ~ x) and list(~ x | g), else NULL.
group_of_level <- function(forms, i) {
  name <- names(forms)[i]
  if (length(name) && nzchar(name)) return(as.name(name))
  right <- if (head_name(forms[[i]]) == "~") forms[[i]][[length(forms[[i]])]]
  if (head_name(right) %in% bars) innermost_of(right[[3L]])
}

colon_of <- function(groups) Reduce(function(a, b) call(":", a, b), groups)

# a / b -> a:b
innermost_of <- function(group) {
  if (head_name(group) == "/") call(":", innermost_of(group[[2L]]), innermost_of(group[[3L]])) else group
}

# Classes of covariance matrices of nlme.
matrix_classes <- c(
  pdSymm = "|", pdLogChol = "|", pdNatural = "|", pdDiag = "||", pdIdent = "homdiag", pdCompSymm = "homcs",
  pdBlocked = NA
)

#' ~ x or pdDiag(~ x) -> list((x || g)); NULL in it for what galvi does not have
#' @noRd
effects_of_matrix <- function(form, group) {
  if (head_name(form) == "~") return(list(bar_call(form[[length(form)]], group)))
  parts <- Find(function(x) head_name(x) == "list", as.list(form)[-1L])
  if (any_head(form) == "pdBlocked" && length(form) == 2L && !is.null(parts)) {
    return(unlist(lapply(as.list(parts)[-1L], effects_of_matrix, group), recursive = FALSE))
  }
  word <- matrix_classes[any_head(form)]
  own <- if (is.call(form)) Find(function(x) head_name(x) == "~", as.list(form)[-1L])
  if (is.na(word) || is.null(own)) return(list(NULL))
  effects <- own[[length(own)]]
  if (identical(effects, 1) || word == "|") return(list(bar_call(effects, group)))
  list(if (word == "||") call("(", call("||", effects, group)) else call(word, call("|", effects, group)))
}

say_random <- function(call, value) c(
  "Random effects stand in the formula.",
  if (head_name(value) %in% c("list", "c") && length(value) > 2L) {
    "In a list of lme() each group is nested in those before it."
  }
)

# ---- groups that lme() finds by itself ----

#' Arguments of lme() with the groups that it takes from elsewhere: those of `random` from groupedData, those of
#' `correlation` from `random`, or from the only groups of the formula
#' @param extra,call,data As check_foreign_arguments() has them.
#' @return list(arguments, say)
#' @noRd
with_groups_of_lme <- function(extra, call, data) {
  random <- if (!is.null(extra$random)) random_with_group(extra$random, data)
  if (!is.null(random)) extra$random <- random$value
  if (grepl("^cor[A-Z]", any_head(extra$correlation))) {
    group <- if (!is.null(random)) innermost_group(random$value) else {
      written <- unique(lapply(bars_in(or_else(extra$fixed, first_formula(call))), `[[`, 3L))
      if (length(written) == 1L) innermost_of(written[[1L]])
    }
    if (!is.null(group)) extra$correlation <- correlation_with_group(extra$correlation, group)
  }
  list(arguments = extra, say = random$say)
}

#' random = ~ x and pdDiag(~ x), which name no group. In MCMCglmm ~ g are effects of the levels of g: so it is read
#' unless the data are grouped, or values with fractions cannot be groups.
#' @return list(value, say)
#' @noRd
random_with_group <- function(value, data) {
  right <- if (head_name(value) == "~") value[[length(value)]]
  matrix <- any_head(value) %in% names(matrix_classes)
  structured <- any(vapply(summands(right), function(piece) {
    any_head(factors_of(piece$expr)[[1L]]) %in% names(variance_structures)
  }, NA))
  if (!matrix && (is.null(right) || structured || length(bars_in(right)))) return(list(value = value))
  group <- if (inherits(data, "groupedData")) bars_in(attr(data, "formula"))[[1L]][[3L]]
  say <- NULL
  if (is.null(group)) {
    columns <- as.list(data)[intersect(all.vars(right), names(data))]
    numbers <- Filter(is.numeric, columns)
    whole <- vapply(numbers, function(x) all(x == round(x), na.rm = TRUE), NA)
    if (!matrix && all(whole) && length(all.vars(right))) {
      return(list(value = value, say = if (length(numbers)) sprintf(
        "`%s` is read as groups, as in MCMCglmm; effects of lme() name theirs, as in %s | g.", deparse_one(value),
        deparse_one(value)
      )))
    }
    group <- quote(g)
    say <- "Here g is the grouping factor, which neither `random` nor the data name."
  }
  levels <- all.vars(group)
  list(say = say, value = if (!matrix) call("~", call("|", right, group)) else {
    as.call(c(quote(list), stats::setNames(rep(list(value), length(levels)), levels)))
  })
}

# The innermost group of `random`, a:b of a / b; NULL where it is not seen.
innermost_group <- function(random) {
  if (head_name(random) == "~") random <- call("list", random)
  if (!head_name(random) %in% c("list", "c")) return(NULL)
  forms <- as.list(random)[-1L]
  groups <- lapply(seq_along(forms), function(i) group_of_level(forms, i))
  if (!any(vapply(groups, is.null, NA))) colon_of(groups)
}

# corAR1(form = ~ t) -> corAR1(form = ~ t | g)
correlation_with_group <- function(value, group) {
  at <- which(vapply(as.list(value), head_name, "") == "~")
  if (!length(at)) {
    value$form <- call("~", call("|", 1, group))
    return(value)
  }
  right <- value[[at[1L]]][[length(value[[at[1L]]])]]
  if (!head_name(right) %in% bars) value[[at[1L]]] <- call("~", call("|", right, group))
  value
}

# Variance structures of MCMCglmm; NA: we have none such.
variance_structures <- c(
  us = "|", idh = "||", idv = "homdiag", cor = NA, corg = NA, corgh = NA, cors = NA, ante1 = NA, ante2 = NA, antec1 = NA
)

# A group, or us(1 + x):g of MCMCglmm, with an intercept only where it is written. NULL: we have no such term.
effects_of_group <- function(expr) {
  # ~ (1 | g) of gamm4 has terms as they are written here
  if (head_name(expr) == "(" && head_name(expr[[2L]]) %in% bars) return(expr)
  factors <- factors_of(expr)
  structure <- any_head(factors[[1L]])
  if (!structure %in% names(variance_structures)) return(bar_call(1, expr))
  word <- variance_structures[[structure]]
  if (is.na(word) || length(factors) < 2L) return(NULL)
  effects <- factors[[1L]][[2L]]
  constant <- any(vapply(summands(effects), function(piece) identical(piece$expr, 1), NA))
  if (!constant) effects <- call("+", 0, effects)
  group <- Reduce(function(a, b) call(":", a, b), factors[-1L])
  if (word %in% bars) call("(", call(word, effects, group)) else call(word, call("|", effects, group))
}

# a:b:c -> a, b, c
factors_of <- function(expr) {
  if (head_name(expr) == ":") c(factors_of(expr[[2L]]), factors_of(expr[[3L]])) else list(expr)
}

# rcov = ~ units of MCMCglmm is the noise of the family, idh(f):units one sigma for each level of f.
residual_levels <- function(value) {
  right <- if (head_name(value) == "~") value[[length(value)]]
  if (head_name(right) == ":" && any_head(right[[2L]]) %in% c("us", "idh")) right[[2L]][[2L]]
}

with_residual_levels <- function(call, value) {
  of <- residual_levels(value)
  if (is.null(of) || "trait" %in% all.vars(of) || !has_noise(call)) return(call)
  with_parameter_formula(call, call("~", of), "sigma", NULL)
}

say_residual_levels <- function(call, value) {
  of <- residual_levels(value)
  if (identical(value, quote(~units))) return("The residual variance is that of the family, so there is nothing to write.")
  if ("trait" %in% all.vars(value)) {
    return("Residuals of several responses are correlated by the term rescor(), see ?responses.")
  }
  if (is.null(of)) return("Correlated residuals are a term of the formula, such as ar1(t) or ou(t | g).")
  if (!has_noise(call)) return("This family has no `sigma`.")
  "Each parameter has a formula of its own, in a list."
}

#' kernel = "matern" beside a formula: of its processes, or of one in its variables; NULL where it is of none
#' @param ard Has each variable a lengthscale of its own?
#' @noRd
with_kernel <- function(call, value, ard = FALSE) {
  kernel <- typed_kernel(value)
  if (is.character(kernel)) return(NULL)
  if (ard && is.call(kernel)) kernel$ard <- TRUE
  # x and y
  if (is.null(formula_of_call(call)) || is.null(first_formula(call)) && !is.null(call[["x"]])) {
    return(replace_in(call, "kernel", kernel))
  }
  first <- first_formula(call)
  if (is.null(first)) return(NULL)
  pieces <- summands(first[[3L]])
  without <- vapply(pieces, function(piece) any_head(piece$expr) == "gp" && is.null(piece$expr[["kernel"]]), NA)
  if (any(without)) {
    pieces[without] <- lapply(pieces[without], function(piece) {
      piece$expr$kernel <- kernel
      piece
    })
  } else {
    inputs <- lapply(pieces, process_inputs)
    if (!any(lengths(inputs))) return(NULL)
    process <- as.call(c(quote(gp), unique(unlist(inputs, recursive = FALSE)), list(kernel = kernel)))
    pieces <- c(list(list(expr = process, sign = 1)), pieces[!lengths(inputs)])
  }
  change_formula(call, function(f) {
    f[[3L]] <- sum_of(pieces)
    f
  })
}

# The variables of a summand that is neither a term nor an offset.
process_inputs <- function(piece) {
  functions <- setdiff(all.names(piece$expr), all.vars(piece$expr))
  others <- c(term_words, names(bar_words), bars, names(foreign_terms), "offset", "-")
  if (piece$sign < 0 || any(functions %in% others)) return(list())
  as.list(attr(stats::terms(stats::as.formula(call("~", piece$expr)), allowDotAsName = TRUE), "variables"))[-1L]
}

say_kernel <- function(call, value) {
  unknown <- typed_kernel(value)
  if (!is.character(unknown)) return("A kernel belongs to its gp().")
  sprintf("A kernel belongs to its gp(), and there is none of the name \"%s\". Kernels are %s.", unknown,
    quote_names(kernel_words(), max = 20L))
}

# corAR1(form = ~ t | g) and others of nlme, cor_ar() of brms
with_correlation <- function(call, value) {
  # terms of brms, which are replaced as others of the formula
  if (head_name(value) == "~") return(if (!is.null(first_formula(call))) with_summand(call, value[[length(value)]]))
  own <- read_correlation(call, value)
  if (!is.null(own$data)) call$data <- own$data
  if (!own$noise && is_gaussian_call(call)) call$family <- without_noise
  with_summand(call, own$term)
}

say_correlation <- function(call, value) {
  if (head_name(value) == "~") return("Correlated residuals are a term of the formula.")
  own <- read_correlation(call, value)
  c(
    "Correlated residuals are a term of the formula.",
    if (!is.null(own$data)) sprintf("`%s` is the order of the rows%s, which no other column says here.",
      own$step, if (is.null(own$group)) "" else sprintf(" in each level of `%s`", deparse_one(own$group))),
    if (!own$noise && is_gaussian_call(call)) "It is all of the residuals, so the family has no noise of its own.",
    own$say
  )
}

#' A correlation of residuals as a term
#' @return list(term; noise: is there noise beside it? group: NULL for one series; times; step, data: the column of times
#'   that has to be made, and the data with it, where the order of rows is meant; say: what else there is to know)
#' @noRd
read_correlation <- function(call, value) {
  form <- if (is.call(value)) Find(function(x) head_name(x) == "~", as.list(value)[-1L])
  right <- if (is.null(form)) 1 else form[[length(form)]]
  group <- if (head_name(right) == "|") innermost_of(right[[3L]])
  at <- if (head_name(right) == "|") right[[2L]] else right
  out <- list(group = group, times = at)
  named <- any_head(value)
  # the order of rows is none in which all are alike
  if (identical(at, 1) && named != "corCompSymm") {
    first <- first_formula(call)
    within <- if (!is.null(group)) factors_of(group)
    of <- if (is.null(group)) first[[2L]] else within[[1L]]
    rows <- call("seq_along", if (is.null(of)) quote(y) else of)
    at <- if (is.null(group)) rows else as.call(c(quote(ave), rows, within, FUN = quote(seq_along)))
    out$times <- at
    if (!is.null(call[["data"]])) {
      out$step <- utils::tail(make.unique(c(all.vars(first), "step"), "_"), 1L)
      out$data <- as.call(c(quote(transform), call[["data"]], stats::setNames(list(at), out$step)))
      at <- as.name(out$step)
    }
  }
  c(out, correlation_term(named, value, at, group))
}

#' Its list(term, noise, say)
#' @noRd
correlation_term <- function(named, value, at, group) {
  of_times <- function(word) {
    effects <- call("|", call("+", 0, call("factor", at)), group)
    if (word == "(") call("(", effects) else call(word, effects)
  }
  process <- function(kernel, noise, say = NULL) {
    places <- lapply(summands(at), `[[`, "expr")
    if (identical(kernel, quote(matern12())) && length(places) == 1L && !is.null(group)) {
      return(list(term = call("ou", call("|", at, group)), noise = noise, say = say))
    }
    levels <- if (!is.null(group)) factors_of(group)
    by <- if (length(levels)) {
      list(by = as.call(c(if (length(levels) > 1L) quote(interaction) else quote(factor), levels)), by_hyper = "shared")
    }
    list(term = as.call(c(list(quote(gp)), places, by, list(kernel = kernel, center = FALSE))), noise = noise, say = say)
  }
  noise <- is.call(value) && identical(value[["nugget"]], TRUE)
  bounded <- "There is no kernel of bounded range: matern12() is the nearest."
  if (named == "corCompSymm") return(list(term = bar_call(1, if (is.null(group)) quote(g) else group), noise = TRUE))
  if (named == "corSymm" && !is.null(group)) {
    return(list(term = of_times("us"), noise = FALSE,
      say = "Each time has a standard deviation of its own, as with varIdent()."))
  }
  if (named %in% c("corSpher", "corLin")) return(process(quote(matern12()), noise, bounded))
  if (named %in% c("corCAR1", "corExp")) return(process(quote(matern12()), noise))
  if (named == "corGaus") return(process(quote(se()), noise))
  if (named == "corRatio") return(process(quote(rational_quadratic(alpha = fixed(1))), noise))
  order <- arma_order(named, value)
  if (identical(order, c(p = 1, q = 0))) {
    return(if (is.null(group)) process(quote(matern12()), FALSE) else list(term = of_times("ar1"), noise = FALSE))
  }
  if (max(order) > 1 && !is.null(group)) {
    return(list(term = of_times("homtoep"), noise = FALSE,
      say = "A correlation for each distance in time includes those of all stationary processes."))
  }
  if (!is.null(group)) return(list(term = of_times("ar1"), noise = TRUE,
    say = "An autoregression beside the noise of the family is an ARMA(1, 1) process."))
  list(term = call(if (max(order) > 1) "ar2" else "ar1", at), noise = TRUE,
    say = "An autoregression beside the noise of the family is a process with a moving average.")
}

# Of corARMA(p = 1, q = 1), and of brms' functions; all others are autoregressions of the first order.
arma_order <- function(named, value) {
  order <- list(corARMA = c(p = 0, q = 0), cor_arma = c(p = 1, q = 1), cor_ma = c(p = 0, q = 1))[[named]]
  if (is.null(order)) order <- c(p = 1, q = 0)
  for (name in names(order)) {
    given <- if (is.call(value)) value[[name]]
    if (is.numeric(given)) order[name] <- as.numeric(given)
  }
  order
}

# NULL, as rstanarm says it.
flat_prior <- quote(normal(0, Inf))

# The name of the parameter that rstanarm calls auxiliary; NULL where a family has none, "sigma" where it is not known.
auxiliary_parameter <- function(call) {
  if (has_noise(call)) return("sigma")
  parameters <- family_type(family_in_call(call))$parameters
  named <- c(names(parameters), unlist(lapply(parameters, `[[`, "also")))
  found <- intersect(c("shape", "phi", "size", "precision"), named)
  if (length(found)) found[[1L]]
}

with_auxiliary_prior <- function(call, value) {
  name <- auxiliary_parameter(call)
  if (is.null(name) || is.null(value)) call else with_prior(call, name, own_prior_call(value, "sd"))
}

say_auxiliary_prior <- function(call, value) {
  name <- auxiliary_parameter(call)
  if (is.null(name)) return("This family has no such parameter, so that its prior is left out.")
  c(
    sprintf("All priors are one list, in which %s is `%s`.", if (name == "sigma") "the noise" else "this parameter", name),
    if (is.null(value)) "Without a prior it has a weak one in standard deviations alone."
  )
}

#' decov() and lkj() of rstanarm, and the priors of blme
#' @return list(sd, of one effect, as text; cor, a number; unit: of the standard deviations beside gaussian noise, which
#'   galvi's priors do not have; sd_in_units: where that is s).
#' @noRd
covariance_prior <- function(value) {
  number <- function(x, default) {
    own <- if (!is.null(x)) signif(constant_number(x), 6L) else NA
    if (is.na(own)) default else own
  }
  read <- function(definition) as.list(match.call(definition, as.call(c(quote(prior), as.list(value)[-1L]))))
  if (any_head(value) == "lkj") {
    own <- read(function(regularization = 1, scale = 10, df = 1, autoscale = TRUE) NULL)
    form <- sprintf("student_t(%s, 0, %s%%s)", code_number(number(own$df, 1)), code_number(number(own$scale, 10)))
    return(list(sd = sprintf(form, ""), cor = number(own$regularization, 1),
      unit = "the response", sd_in_units = sprintf(form, " * s")))
  }
  if (any_head(value) != "decov") value <- quote(decov())
  own <- read(function(regularization = 1, concentration = 1, shape = 1, scale = 1) NULL)
  shape <- number(own$shape, 1)
  rate <- code_number(1 / number(own$scale, 1))
  form <- if (shape == 1) sprintf("exponential(%s%%s)", rate) else sprintf("gamma(%s, %s%%s)", code_number(shape), rate)
  list(sd = sprintf(form, ""), cor = number(own$regularization, 1), unit = "the noise", sd_in_units = sprintf(form, " / s"))
}

with_covariance_prior <- function(call, value) {
  terms <- bars_in(first_formula(call))
  slopes <- Filter(function(e) !is_intercept(e[[2L]]), terms)
  own <- covariance_prior(value)
  if (length(terms) && !is_gaussian_call(call)) call <- with_prior(call, "sd", own$sd)
  if (length(slopes)) with_prior(call, "cor", call("lkj", own$cor)) else call
}

say_covariance_prior <- function(call, value) {
  own <- covariance_prior(value)
  c(
    "All priors are one list, with those of groups by `sd` and `cor`.",
    if (is_gaussian_call(call)) sprintf(paste(
      "There the standard deviations of groups are in units of that of %s, and galvi has no such priors: the call leaves",
      "them out. The nearest is sd = \"%s\", with a number for s, which is about that unit."
    ), own$unit, own$sd_in_units),
    if (any_head(value) == "decov" && !is_gaussian_call(call)) {
      "In decov() effects of a group share a scale; here each has a prior of its own."
    }
  )
}

# Behind the bar of betareg's y ~ x | z is the formula of phi.
with_precision_part <- function(call) {
  first <- first_formula(call)
  if (is.null(first) || head_name(first[[3L]]) != "|") return(call)
  with_formula(call, call("list", call("~", first[[2L]], first[[3L]][[2L]]), call("~", quote(phi), first[[3L]][[3L]])))
}

# exponential(1) -> "exponential(1)", a prior that galvi does not have -> one that it has
own_prior_call <- function(value, kind) {
  if (!is.call(value) || any_head(value) %in% c(prior_names(), "fixed", "learn")) return(value)
  value[[1L]] <- as.name(any_head(value))
  if (any_head(value) %in% names(text_priors)) return(deparse_one(value))
  if (kind == "sd") "exponential(1)" else quote(student_t(3, 0, 2.5))
}

# normal(sd = 2) and t() of blme, by default with sd 10 for the intercept and 2.5 for slopes
blme_prior <- function(value) {
  sd <- if (is.call(value)) constant_number(or_else(value[["sd"]], value[["scale"]])) else NA
  if (is.na(sd)) sd <- 2.5
  if (any_head(value) == "t" || identical(value, quote(t))) call("student_t", 3, 0, sd) else call("normal", 0, sd)
}

bars_in <- function(expr) {
  if (!is.call(expr)) return(list())
  if (head_name(expr) %in% bars) return(list(expr))
  unlist(lapply(as.list(expr)[-1L], bars_in), recursive = FALSE)
}

with_prior <- function(call, name, value) {
  known <- call[["prior"]]
  if (is.null(known)) known <- if ("prior" %in% names(call)) call("list", default = flat_prior) else quote(list())
  if (head_name(known) != "list") known <- call("list", default = known)
  known[[name]] <- value
  call$prior <- known
  call
}

# ---- use ----

#' Stops at arguments of other packages: the error shows the user's call as it is written here
#'
#' @param extra The arguments that galvi() does not have, as expressions; call: the call.
#' @noRd
check_foreign_arguments <- function(extra, call, data = NULL) {
  table <- foreign_arguments
  # the formula first, which others change
  found <- intersect(union(intersect("fixed", names(extra)), names(extra)), names(table))
  if (!length(found)) return(invisible())
  new <- call
  for (name in found) new[[name]] <- NULL
  new <- with_known_family(new)
  zeros <- extra[intersect(c("ziformula", "zi"), found)]
  if (length(zeros) && !identical(zeros[[1L]], quote(~0)) && !is.null(new[["family"]])) new <- with_hurdle(new)
  weights <- if (any_head(call[["weights"]]) %in% variance_functions) call[["weights"]]
  if (!is.null(weights)) new$weights <- NULL
  completed <- with_groups_of_lme(extra, new, data)
  extra <- completed$arguments
  say <- character()
  own <- NULL
  for (name in found) {
    entry <- table[[name]]
    if (name == "correlation" && !is.null(new) && head_name(extra[[name]]) != "~") own <- read_correlation(new, extra[[name]])
    say <- c(say, if (is.function(entry$say)) entry$say(new, extra[[name]]) else entry$say)
    if (is.null(entry$to)) new <- NULL else if (!is.null(new)) new <- entry$to(new, extra[[name]])
  }
  say <- c(say, completed$say)
  if (!is.null(new) && !is.null(weights)) {
    advice <- variance_advice(new, weights, own, data)
    say <- c(say, advice$say)
    new <- advice$call
  }
  if (!is.null(new)) {
    method <- new[["method"]]
    if (is.character(method) && method %in% names(foreign_methods)) {
      say <- c(say, foreign_methods[[method]])
      new <- without_foreign_method(new, data)
    }
    if (is_foreign_control(new[["control"]])) {
      say <- c(say, sprintf("The settings of %s() are left out.", any_head(new[["control"]])))
    }
    new <- without_foreign_control(with_classes(call, new, data))
    say <- c(say, with_own_terms(new, data))
  }
  stop_galvi("argument", sprintf(
    "galvi() has no argument%s %s. %s", if (length(found) > 1L) "s" else "", quote_names(found),
    paste(unique(say), collapse = " ")
  ))
}

#' A call with the terms of other packages replaced, in sentences: what they do not share, and the call if there is one.
#' Words that the family has itself are left as they are.
#' @noRd
with_own_terms <- function(call, data) {
  family <- family_in_call(call)
  table <- if (is.null(family)) foreign_terms else terms_foreign_to(family)
  found <- NULL
  call <- change_formula(call, function(f) {
    found <<- own_formula(f, table, data)
    found$to
  })
  c(
    if (length(found$notes)) foreign_message(found$notes),
    if (!isTRUE(found$product) && !has_no_form(found)) sprintf("Write %s.", call_text(with_companions(call, found$notes)))
  )
}

# strata(g) is a term of cox(), cs(x) of the families of sequences.
terms_foreign_to <- function(family) {
  if (is_cox(family)) return(cox_foreign_terms())
  if (is.null(stages_family(family))) return(foreign_terms)
  foreign_terms[names(foreign_terms) != "cs"]
}

# Of polr() it is the link.
without_foreign_method <- function(call, data) {
  link <- c(logistic = "logit", probit = "probit")[call[["method"]]]
  call["method"] <- NULL
  own <- if (is.na(link)) NULL else if (is.null(call[["family"]])) family_of_classes(call, data) else call[["family"]]
  if (is.null(own)) call else with_link(replace_in(call, "family", own), unname(link))
}

check_foreign_method <- function(method, call, data = NULL) {
  say <- if (is.character(method) && length(method) == 1L) foreign_methods[method]
  if (is.null(say) || is.na(say)) return(invisible())
  call <- without_foreign_method(replace_in(call, "method", method), data)
  stop_galvi("method", sprintf("`method = \"%s\"` is no algorithm of galvi. %s %s", method, say,
    paste(with_own_terms(call, data), collapse = " ")))
}

# Variance functions of nlme, which gls() and lme() take as `weights`.
check_variance_function <- function(call) {
  weights <- call[["weights"]]
  if (!any_head(weights) %in% variance_functions) return(invisible())
  call$weights <- NULL
  advice <- variance_advice(call, weights)
  write <- if (!is.null(advice$call)) with_own_terms(advice$call, NULL)
  stop_galvi("argument", paste(c(advice$say, write), collapse = " "))
}

#' A variance function of nlme in a call without it
#' @param correlation From read_correlation(): a term that stands in the call, or NULL.
#' @return list(call: NULL where there is none; say)
#' @noRd
variance_advice <- function(call, weights, correlation = NULL, data = NULL) {
  out <- list(say = sprintf("`weights = %s` is a variance function of nlme.", deparse_one(weights)))
  if (!is.null(any_named(call[["family"]], "variance"))) {
    out$call <- with_sds_of_times(call, weights, correlation, data)
    out$say <- c(out$say, if (!is.null(out$call)) {
      "The correlated term has a standard deviation for each time."
    } else paste(
      "With a fixed variance there is no formula of sigma: standard deviations are those of the correlated term, one for",
      "each time in `us()`, `hetar1()` and `toep()`, one for all in `ar1()` and `ou()`. Galvi has no others beside a",
      "correlation."
    ))
    return(out)
  }
  parts <- variance_parts(weights)
  right <- Reduce(function(a, b) call("+", a, b), lapply(parts, variance_predictor, first_formula(call)[[3L]]))
  out$say <- c(
    out$say, "Here sigma has a formula of its own, of its logarithm.",
    if (any(vapply(parts, reads_means, NA))) paste(
      "It is not a function of the fitted values, but it may have their predictors; in families such as Gamma(\"log\")",
      "and tweedie() the variance grows with the mean."
    ),
    if (!is.null(correlation)) "It is that of the noise beside the correlated term; in nlme it is that of both."
  )
  out$call <- with_parameter_formula(call, call("~", right), "sigma", NULL)
  out
}

# Terms of times that have one standard deviation, and those that have one for each time.
words_with_sds <- c(us = "us", ar1 = "hetar1", homtoep = "toep")

# The call whose correlated term has the standard deviations of varIdent(form = ~ 1 | time); NULL where there is none.
with_sds_of_times <- function(call, weights, correlation, data) {
  form <- if (any_head(weights) == "varIdent") variance_form(weights)
  word <- words_with_sds[any_head(correlation$term)]
  if (head_name(form) != "|" || is.na(word) || !same_partition(form[[3L]], correlation$times, data)) return(NULL)
  change_formula(call, function(f) {
    pieces <- lapply(summands(f[[3L]]), function(piece) {
      if (identical(piece$expr, correlation$term)) piece$expr[[1L]] <- as.name(word)
      piece
    })
    f[[3L]] <- sum_of(pieces)
    f
  })
}

# Do two expressions tell the same rows apart?
same_partition <- function(a, b, data) {
  if (identical(a, b)) return(TRUE)
  values <- tryCatch(lapply(list(a, b), eval, as.list(data), globalenv()), error = function(e) NULL)
  if (is.null(values) || length(values[[1L]]) != length(values[[2L]])) return(FALSE)
  counts <- vapply(c(values, list(do.call(paste, values))), function(x) length(unique(x)), 0L)
  length(unique(counts)) == 1L
}

variance_functions <- c("varIdent", "varPower", "varExp", "varFixed", "varConstPower", "varComb")

# Those that varComb() multiplies.
variance_parts <- function(weights) {
  if (any_head(weights) != "varComb") return(list(weights))
  unlist(lapply(as.list(weights)[-1L], variance_parts), recursive = FALSE)
}

variance_form <- function(weights) {
  form <- Find(function(x) head_name(x) == "~", as.list(weights)[-1L])
  if (!is.null(form)) form[[length(form)]]
}

# nlme's default, also written ~fitted(.)
reads_means <- function(weights) {
  if (any_head(weights) == "varIdent") return(FALSE)
  form <- variance_form(weights)
  is.null(form) || "." %in% all.vars(form)
}

#' What adds to log sigma
#' @param mean The predictor of the response.
#' @noRd
variance_predictor <- function(weights, mean) {
  form <- variance_form(weights)
  stratum <- if (head_name(form) == "|") form[[3L]]
  x <- if (head_name(form) == "|") form[[2L]] else form
  named <- any_head(weights)
  if (named == "varIdent") return(if (is.null(stratum)) 1 else stratum)
  if (reads_means(weights)) {
    x <- if (is.null(mean)) quote(x) else mean
    return(if (is.null(stratum)) x else call("+", x, stratum))
  }
  if (named == "varFixed") return(call("offset", call("/", call("log", x), 2)))
  if (named != "varExp") x <- call("log", x)
  if (is.null(stratum)) x else call(":", stratum, x)
}

# The words of each argument.
typed_family_words <- function() {
  c(family_words, "galvi_family", "custom_family", "geometric", "fixed", "learn", prior_names())
}

non_linear_formula <- paste(
  "Predictors are sums of terms here: an unknown function of x is gp(x), and a likelihood of your own, with a curve of",
  "its predictor in it, is a custom_family()."
)

# ---- the tables ----

#' What other packages' arguments are here
#'
#' @return A list by argument: to(call, value), the user's call without the argument and with ours in its place, NULL if
#'   there is no such call; say, a sentence, or a function of the call and the value.
#' @noRd
foreign_arguments <- local({
  drop <- function(say) list(to = function(call, value) call, say = say)
  prior <- function(say, to) list(to = to, say = say)
  predicted <- function(name = NULL, family = NULL) {
    list(
      to = function(call, value) with_parameter_formula(call, value, name, family),
      say = function(call, value) {
        if (!identical(value, quote(~0))) "Each parameter has a formula of its own, in a list."
      }
    )
  }
  zeros <- list(to = with_zero_formula, say = say_zero_formula)
  # glmmTMB's ~0 is a gaussian response without noise
  dispersion <- list(
    to = function(call, value) {
      if (!identical(value, quote(~0))) return(with_parameter_formula(call, value, NULL, NULL))
      if (is_gaussian_call(call)) replace_in(call, "family", without_noise) else call
    },
    say = function(call, value) {
      if (identical(value, quote(~0))) "The variance of the noise is a parameter of the family, which may be fixed." else {
        "Each parameter has a formula of its own, in a list."
      }
    }
  )
  # survreg(scale = 1), of which a number is 1 / shape
  of_times <- function(call, value) {
    known <- family_in_call(call)
    is.list(known) && known$family == "weibull" && is.numeric(value) && isTRUE(value >= 0)
  }
  scale <- list(
    to = function(call, value) {
      if (!of_times(call, value)) return(predicted()$to(call, value))
      if (value == 0) return(call)  # survreg()'s word for one that is learned
      replace_in(call, "family", if (value == 1) quote(exponential()) else {
        call("weibull", shape = call("fixed", signif(1 / value, 6L)))
      })
    },
    say = function(call, value) {
      if (of_times(call, value)) "The scale of survreg() is 1 / shape, and the shape is a parameter of the family." else {
        predicted()$say(call, value)
      }
    }
  )
  sampler <- drop("Nothing is sampled while galvi fits, so there are no chains, iterations or seeds to set.")
  smoothness <- drop(paste(
    "How smooth a term is, is learned by the marginal likelihood; fixed() holds a lengthscale or variance."
  ))
  correlated <- list(to = with_correlation, say = say_correlation)
  covariance <- list(to = with_covariance_prior, say = say_covariance_prior)
  auxiliary <- list(to = with_auxiliary_prior, say = say_auxiliary_prior)
  of_noise <- function(to) list(
    to = function(call, value) if (has_noise(call)) to(call, value) else call,
    say = function(call, value) {
      if (has_noise(call)) "All priors are one list, in which the noise is `sigma`." else "This family has no `sigma`."
    }
  )
  stored <- drop("A fit keeps its data and model frame already.")
  families <- list(
    to = function(call, value) {
      call <- with_family(call, value)
      if (!is.null(call)) with_zero_part(call)
    },
    say = function(call, value) {
      own <- with_family(call, value)
      if (is.null(own)) return(sprintf("There is no family %s; `family` has those there are.", deparse_one(value)))
      if (!identical(with_zero_part(own), own)) paste(
        "The part behind the bar is that of zeros, `zi` of zero_inflated() as in zeroinfl() and `hu` of hurdle() as in",
        "hurdle()."
      )
    }
  )
  c(
    lapply(stats::setNames(nm = c(
      "chains", "iter", "warmup", "thin", "seed", "refresh", "init", "inits", "algorithm", "adapt_delta", "backend",
      "save_pars", "save_model", "file", "sampler", "nsamples", "mcmc", "burnin", "n.iter", "n.chains", "save_warmup",
      "nitt", "mean_PPD", "QR", "stanvars", "normalize", "threads", "threading", "opencl", "silent", "open_progress"
    )), function(name) sampler),
    list(
      cores = list(
        to = function(call, value) replace_in(call, "control", call("galvi_control", threads = value)),
        say = "Cores are threads here, and a setting of the control."
      ),
      REML = drop(paste(
        "Variances maximise the marginal likelihood, in which fixed effects are integrated out: that is REML, and",
        "there is no other choice."
      )),
      nAGQ = drop(paste(
        "Effects of groups are not integrated at nodes, whose number could be set: given the variances their posterior",
        "is approximated by the Gaussian that maximises a lower bound on the marginal likelihood, and values of the",
        "variances are weighted by an estimate of the log evidence."
      )),
      select = list(
        to = function(call, value) if (identical(value, FALSE)) call else with_smooths(call, shrunk_smooth),
        say = "A smooth that may vanish has a penalty on all of it, as s(x, bs = \"ts\") has."
      ),
      knots = list(to = with_knots,
        say = "Knots belong to their smooth, as in s(x, bs = \"cc\", xt = list(knots = list(x = c(0, 24))))."),
      sp = list(to = with_smoothing, say = "Smoothing parameters belong to their smooth, as in s(x, sp = 1)."),
      gamma = smoothness, min.sp = smoothness,
      paraPen = smoothness, discrete = drop("`inducing = ` of gp() makes fits of many rows fast."),
      nl = list(to = NULL, say = non_linear_formula), nlpars = list(to = NULL, say = non_linear_formula),
      model = stored, y = stored, Hess = stored, doFit = stored, se = stored, fit = stored,
      contrasts = drop("Set the contrasts of the factor itself: contrasts(d$f) <- contr.sum."),
      robust = drop("Standard deviations are those of the model; for clusters add a random intercept, (1 | g)."),
      ties = drop("Times are taken as continuous."),
      init.theta = drop("The size of negbinomial() is learned; negbinomial(size = fixed(2)) fixes it."),
      ziformula = zeros, dispformula = dispersion,
      sigma.formula = predicted("sigma"), sigma.fo = predicted("sigma"), nu.formula = predicted("nu"),
      nu.fo = predicted("nu"), phi.formula = predicted("phi"), zi = zeros,
      hu = predicted("hu", quote(hurdle())),
      sigma = predicted("sigma"), scale = scale, shape = predicted("shape"), phi = predicted("phi"),
      nominal = list(to = with_nominal, say = paste(
        "Effects that differ between thresholds are cs(x) with family = sratio() or cratio(), as thresholds of",
        "cumulative() could cross."
      )),
      threshold = drop("Thresholds are free."),
      random = list(to = with_random, say = say_random),
      rcov = list(to = with_residual_levels, say = say_residual_levels),
      kernel = list(to = with_kernel, say = say_kernel),
      covtype = list(to = function(call, value) with_kernel(call, value, ard = TRUE), say = function(call, value) {
        c(say_kernel(call, value), "A lengthscale for each input, as in DiceKriging, is ard = TRUE.")
      }),
      correlation = correlated, autocor = correlated, rho = correlated,
      fixed = list(
        to = function(call, value) {
          if (is.null(first_formula(call))) as.call(append(as.list(call), list(value), 1L)) else call
        },
        say = "The first argument is the formula."),
      dist = families, distribution = families, link = list(
        to = function(call, value) with_link(call, value), say = "The link is an argument of the family."
      ),
      Ntrials = list(
        to = function(call, value) with_response(call, function(y) call("cbind", y, call("-", value, y)),
          quote(binomial())),
        say = "Trials are given as counts of successes and failures."
      ),
      E = list(
        to = function(call, value) with_summand(call, call("offset", call("log", value))),
        say = "Exposures are an offset on the log scale."
      ),
      id = list(to = function(call, value) with_summand(call, bar_call(1, value)),
        say = "Rows of one cluster share a random intercept."),
      cluster = list(to = function(call, value) with_summand(call, bar_call(1, value)),
        say = "Rows of one cluster share a random intercept."),
      prior_intercept = prior("All priors are one list, in which `at_means` is that of the predictor at the means.",
        function(call, value) {
          with_prior(call, "at_means", if (is.null(value)) flat_prior else own_prior_call(value, "coefficient"))
        }),
      prior_PD = list(to = function(call, value) {
        if (isTRUE(value)) call$sample_prior <- "only"
        call
      }, say = "Data are left out by `sample_prior`."),
      prior_aux = auxiliary,
      prior_phi = prior("All priors are one list, in which the precision is `phi`.", function(call, value) {
        if (is.null(value)) call else with_prior(call, "phi", own_prior_call(value, "sd"))
      }),
      prior_smooth = prior("All priors are one list, in which those of smooths are `sds`.", function(call, value) {
        smooth <- any(c("s", "te", "ti", "t2") %in% all.names(first_formula(call)))
        if (is.null(value) || !smooth) call else with_prior(call, "sds", own_prior_call(value, "sd"))
      }),
      prior_counts = drop("Thresholds take no prior."),
      link.phi = list(to = function(call, value) with_precision_part(call), say = "The precision has the log link."),
      strata = list(to = function(call, value) with_summand(call, call("strata", value)),
        say = "Strata stand in the formula."),
      fixef.prior = prior("A prior of all slopes is `prior`; its sd is in units of the coefficients.",
        function(call, value) with_prior(call, "default", blme_prior(value))),
      resid.prior = of_noise(function(call, value) with_prior(call, "sigma", "exponential(1)")),
      cov.prior = covariance, prior_covariance = covariance,
      priors = prior("Such a table goes to `prior`.", function(call, value) {
        call$prior <- value
        call
      }),
      control.fixed = prior("Priors of fixed effects are normal(mean, sd).", function(call, value) {
        precision <- if (is.call(value)) value$prec
        sd <- if (is.numeric(precision)) signif(1 / sqrt(precision), 4L) else 31.6
        replace_in(call, "prior", call("normal", 0, sd))
      }),
      control.predictor = drop("Predictions are made by predict(fit, new)."),
      control.compute = drop("loo::loo(fit), loo::waic(fit) and logLik(fit) need no settings."),
      control.family = drop("Parameters of the family are priors: prior = list(sigma = half_normal(1)), see ?priors."),
      control.inla = drop("hyper = \"integrate\" integrates over the hyperparameters."),
      cov_ranef = drop("A known covariance A of groups is named in the formula: (1 | gr(g, cov = A))."),
      data2 = drop("Graphs and matrices are found where the formula was made."),
      newdata = drop("Predictions for new data are predict(fit, newdata)."),
      se.fit = drop("Standard deviations of predictions are predict(fit, se.fit = TRUE)."),
      allow.new.levels = drop("It is an argument of predict(fit, newdata), where new groups have their prior."),
      allow_new_levels = drop("It is an argument of predict(fit, newdata), where new groups have their prior."),
      sample_new_levels = drop("Effects of new groups have their normal distribution in predict(fit, newdata)."),
      re.form = drop("It is an argument of predict(fit, newdata), as is `re_formula`."),
      re_formula = drop("It is an argument of predict(fit, newdata)."),
      type = list(
        # the response says how many classes there are
        to = function(call, value) if (!identical(value, "classification")) call,
        say = function(call, value) {
          if (!isTRUE(value %in% c("regression", "classification"))) return("It is an argument of predict(fit, newdata).")
          paste(
            "`family` says what the response is: gaussian(), the default, numbers, binomial() one of two classes,",
            "categorical() one of more."
          )
        }
      ),
      trace = list(
        to = function(call, value) replace_in(call, "verbose", value), say = "Progress is shown by `verbose`."
      ),
      maxit = list(
        to = function(call, value) replace_in(call, "control", call("galvi_control", max_iterations = value)),
        say = "Settings of the search are those of galvi_control()."
      ),
      epsilon = list(
        to = function(call, value) replace_in(call, "control", call("galvi_control", tol = value)),
        say = "Settings of the search are those of galvi_control()."
      )
    )
  )
})

# Words of other packages for `method`.
foreign_methods <- local({
  marginal <- paste(
    "Variances maximise the marginal likelihood, in which fixed effects are integrated out, as by REML; there is no",
    "choice to make."
  )
  likelihood <- "Galvi's `method` is an algorithm, which \"auto\" chooses."
  sampling <- "Nothing is sampled: galvi approximates the posterior, and `method` is an algorithm for that."
  c(
    stats::setNames(rep(marginal, 9L), c("REML", "ML", "fREML", "GCV.Cp", "GCV", "UBRE", "P-REML", "P-ML", "NCV")),
    stats::setNames(rep(likelihood, 6L), c("glm.fit", "qr", "BFGS", "L-BFGS-B", "Nelder-Mead", "IRLS")),
    stats::setNames(rep(sampling, 5L), c("sampling", "mcmc", "MCMC", "NUTS", "hmc")),
    stats::setNames(rep("Times are taken as continuous.", 2L), c("breslow", "efron")),
    logistic = "The link is an argument of the family: cumulative(\"logit\") or binomial(\"logit\").",
    probit = "The link is an argument of the family: cumulative(\"probit\") or binomial(\"probit\")."
  )
})

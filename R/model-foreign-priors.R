# Priors of other packages: tables of brms, lists of rstanarm, text. They become ours where galvi has the prior, else
# the
# error shows the nearest that it has.

#' @param x What the user gave; shown: where, for messages.
#' @return x itself, or ours
#' @noRd
own_prior <- function(x, shown = "prior") {
  if (is.null(x) || is_value(x) || is.numeric(x)) return(x)
  if (is_prior_table(x)) return(prior_of_table(x))
  tables <- is.list(x) && !is.object(x) && length(x) && all(vapply(x, is_prior_table, NA))
  if (tables && is.null(names(x))) return(prior_of_table(do.call(rbind, lapply(x, prior_columns))))
  if (is_rstanarm_prior(x)) return(prior_of_rstanarm(x, shown))
  if (is.character(x) && length(x) == 1L) stop_text_prior(x, shown)
  if (inherits(x, "family") || is.list(x) && is.character(x$family) || isS4(x)) {
    stop_galvi("prior", sprintf(
      "`%s` must be a prior such as normal(0, 1), not the family %s.", shown,
      if (is.list(x)) dQuote(x$family[1L], FALSE) else describe(x)
    ))
  }
  x
}

# ---- distributions by name ----

#' A distribution of Stan, as brms and rstanarm call it
#'
#' @param call The call as it is written there; kind: what it is a prior of, "coefficient", "sd", "positive" or
#'   "correlation".
#' @return list(value: ours, NULL if galvi has none; near: ours to write instead, as text)
#' @noRd
translated_prior <- function(call, kind) {
  name <- head_name(call)
  x <- lapply(as.list(call)[-1L], function(a) tryCatch(eval(a, baseenv()), error = function(e) NA_real_))
  at <- function(i, default) if (length(x) >= i && is.numeric(x[[i]]) && !anyNA(x[[i]])) x[[i]] else default
  exact <- function(value) list(value = value, near = format(value, digits = 4L))
  near <- function(text) list(value = NULL, near = text)
  positive <- kind %in% c("sd", "positive")
  wide <- function(m, s) if (positive) sprintf("half_normal(%s)", format(s)) else {
    sprintf("normal(%s, %s)", format(m), format(s))
  }
  if (kind == "correlation") {
    if (name %in% c("lkj", "lkj_corr", "lkj_corr_cholesky")) return(exact(lkj(at(1L, 1))))
    return(near("lkj(2)"))
  }
  switch(name,
    normal = if (!positive) exact(normal(at(1L, 0), at(2L, 1))) else if (at(1L, 0) == 0) {
      exact(half_normal(at(2L, 1)))
    } else {
      near(sprintf("log_normal(%s, %s)", format(log(abs(at(1L, 1))), digits = 3L),
        format(at(2L, 1) / abs(at(1L, 1)), digits = 3L)))
    },
    std_normal = if (positive) exact(half_normal(1)) else exact(normal(0, 1)),
    half_normal = if (positive) exact(half_normal(at(1L, 1))) else near(wide(0, at(1L, 1))),
    lognormal = if (positive) exact(log_normal(at(1L, 0), at(2L, 1))) else near("normal(0, 1)"),
    exponential = if (kind == "sd") exact(pc(1, exp(-at(1L, 1)))) else near(wide(0, 1 / at(1L, 1))),
    constant = if (positive) exact(fixed(at(1L, 1))) else near(sprintf("normal(%s, 1e-6)", format(at(1L, 0)))),
    student_t = near(wide(at(2L, 0), at(3L, 1))),
    cauchy = , double_exponential = , laplace = , logistic = , gumbel = near(wide(at(1L, 0), at(2L, 1))),
    half_student_t = , half_t = near(wide(0, at(2L, 1))),
    half_cauchy = near(wide(0, at(1L, 1))),
    gamma = near(if (positive) sprintf("log_normal(%s, %s)", format(log(at(1L, 1) / at(2L, 1)), digits = 3L),
      format(1 / sqrt(at(1L, 1)), digits = 3L)) else "normal(0, 1)"),
    inv_gamma = near(if (positive) sprintf("log_normal(%s, 1)", format(log(at(2L, 1) / (at(1L, 1) + 1)), digits = 3L))
      else "normal(0, 1)"),
    horseshoe = , R2D2 = , lasso = , hs = , hs_plus = , product_normal = , R2 = near(
      if (positive) "half_normal(1)" else "normal(0, learn(1))"
    ),
    near(if (positive) "half_normal(1)" else "normal(0, 1)")
  )
}

# Distributions of Stan that are no functions of galvi, or are families or R's functions.
foreign_priors <- c(
  "std_normal", "lognormal", "exponential", "constant", "student_t", "cauchy", "double_exponential", "laplace",
  "logistic", "gumbel", "half_student_t", "half_t", "half_cauchy", "gamma", "inv_gamma", "horseshoe", "R2D2",
    "lasso", "hs",
  "hs_plus", "product_normal", "R2", "uniform", "beta", "lkj_corr", "lkj_corr_cholesky", "decov", "student"
)

prior_hint <- function(name) {
  if (!name %in% c(foreign_priors, "set_prior", "prior", "prior_string")) return(NULL)
  if (grepl("prior",
    name)) return("brms is not attached: write brms::set_prior(), or galvi's own prior = normal(0, 5).")
  "It is no prior of galvi: write normal(0, 2.5) for coefficients and half_normal(2.5) or pc(1, 0.01) for sds."
}

#' Stops at calls of such distributions, unless the package that has them is attached and makes an object
#' @noRd
check_prior_calls <- function(expr, env, name = "default") {
  head <- head_name(expr)
  if (!is.call(expr) || head %in% quoting_words) return(invisible())
  if (head %in% foreign_priors) {
    f <- get0(head, envir = env, mode = "function")
    theirs <- is.function(f) && !is.primitive(f) &&
      !environmentName(topenv(environment(f))) %in% c("galvi", "base", "stats")
    if (theirs) return(invisible())
    found <- translated_prior(expr, prior_kind(name))
    stop_galvi("prior", sprintf(
      "`prior`: %s is no prior of galvi: write %s%s.", deparse_one(expr), if (name == "default") "" else paste(name,
        "= "),
      found$near
    ))
  }
  parts <- as.list(expr)[-1L]
  for (i in seq_along(parts)) {
    own <- names(parts)[i]
    if (!missing(own) && length(own) && nzchar(own)) {
      check_prior_calls(parts[[i]], env, own)
    } else if (is.call(parts[[i]])) check_prior_calls(parts[[i]], env, name)
  }
  invisible()
}

# What the names of `prior` are priors of.
prior_kind <- function(name) {
  if (name %in% c("sd", "sds", "sdgp", "sigma", "scale")) return("sd")
  if (name %in% c("cor", "L")) return("correlation")
  if (name %in% c("variance", "shape", "phi", "nu", "df", "size", "precision", "dispersion", "lengthscale", "range")) {
    return("positive")
  }
  "coefficient"
}

# "normal(0, 1)"
stop_text_prior <- function(x, shown) {
  name <- sub(".*\\$", "", shown)
  call <- tryCatch(str2lang(x), error = function(e) NULL)
  if (!is.call(call)) {
    stop_galvi("prior", sprintf("`%s` must be a prior without quotes, as in %s = normal(0, 1), not %s.", shown, name,
      dQuote(x, FALSE)))
  }
  found <- translated_prior(call, prior_kind(name))
  stop_galvi("prior", sprintf(
    "`%s` is text, %s: write the prior without quotes, %s = %s%s.", shown, dQuote(x, FALSE), name, found$near,
    if (is.null(found$value)) sprintf(" (galvi has no %s())", head_name(call)) else ""
  ))
}

# ---- tables of brms ----

# brms::set_prior(), prior(), get_prior() and default_prior() return data frames with these columns.
is_prior_table <- function(x) is.data.frame(x) && all(c("prior", "class") %in% names(x))

prior_columns <- function(x) {
  text <- function(name) if (is.null(x[[name]])) rep("", nrow(x)) else ifelse(is.na(x[[name]]), "",
    as.character(x[[name]]))
  as.data.frame(lapply(stats::setNames(nm = c("prior", "class", "coef", "group", "dpar", "resp", "nlpar")), text),
    stringsAsFactors = FALSE)
}

prior_of_table <- function(x) {
  x <- prior_columns(x)
  # rows without a prior are brms' own defaults
  x <- x[nzchar(x$prior) & x$prior != "(flat)", ]
  out <- list()
  for (i in seq_len(nrow(x))) out <- with_table_row(out, x[i, ])
  out
}

with_table_row <- function(out, row) {
  written <- sprintf("set_prior(%s, class = %s%s)", dQuote(row$prior, FALSE), dQuote(row$class, FALSE), paste0(
    vapply(c("coef", "group", "dpar", "resp"), function(name) {
      if (nzchar(row[[name]])) sprintf(", %s = %s", name, dQuote(row[[name]], FALSE)) else ""
    }, ""), collapse = ""
  ))
  kind <- prior_classes[row$class]
  of_responses <- row$class %in% c("sigma", "rescor", "Lrescor")
  if (is.na(kind) || nzchar(row$resp) && !of_responses || nzchar(row$nlpar)) {
    stop_galvi("prior", sprintf("`prior`: %s has no counterpart here: %s.", written, other_class(row)))
  }
  call <- tryCatch(str2lang(row$prior), error = function(e) NULL)
  found <- translated_prior(call, kind)
  name <- table_name(row)
  if (is.null(found$value)) {
    stop_galvi("prior", sprintf(
      "`prior`: %s: galvi has no %s() prior. Write prior = %s.", written, head_name(call), nested_text(name, found$near)
    ))
  }
  set_nested(out, name, found$value)
}

# The names of a row's prior in our list, from the outside in.
table_name <- function(row) {
  own <- switch(row$class,
    b = if (!nzchar(row$coef)) "default" else if (row$coef == "Intercept") "intercept" else row$coef,
    Intercept = "at_means",
    L = , cor = "cor",
    rescor = , Lrescor = c("rescor()", "cor"),
    sigma = if (nzchar(row$resp)) c("rescor()", "sd", row$resp) else "sigma",
    row$class
  )
  if (row$class %in% c("sd", "cor", "L")) {
    coef <- if (row$coef == "Intercept") "(Intercept)" else row$coef
    own <- c(if (nzchar(row$group)) paste("|", row$group), own, if (nzchar(row$coef)) coef)
  }
  c(if (nzchar(row$dpar) && row$dpar != "mu") row$dpar, own)
}

set_nested <- function(x, names, value) {
  if (is.null(x)) x <- list()
  # a prior of all, and one of an effect
  if (is_value(x)) x <- list(default = x)
  own <- x[[names[1L]]]
  if (length(names) > 1L) {
    x[[names[1L]]] <- set_nested(own, names[-1L], value)
  } else if (is.list(own) && !is_value(own)) {
    x[[names[1L]]]$default <- value
  } else {
    x[[names[1L]]] <- value
  }
  x
}

# list(sigma = list(intercept = normal(0, 1))); a group's effects as a user would name their term.
nested_text <- function(names, text) {
  shown <- ifelse(startsWith(names, "|"), sprintf("\"(1 %s)\"", names), ifelse(make.names(names) == names, names,
    sprintf("`%s`", names)))
  for (name in rev(shown)) text <- sprintf("list(%s = %s)", name, text)
  text
}

other_class <- function(row) {
  of <- function(what, parameter) {
    sprintf("give it to the term, as in prior = list(\"%s\" = list(%s = log_normal(0, 1)))", what, parameter)
  }
  inputs <- sub("^(gp|s|t2)", "", row$coef)
  smooth <- sprintf("gp(%s)", if (nzchar(inputs)) inputs else "x")
  if (nzchar(row$resp)) return(sprintf(
    "coefficients of the response %s are named `.item%s` (the intercept) and `.item%s:x`, see ?responses", row$resp,
    row$resp, row$resp
  ))
  switch(row$class,
    lscale = of(smooth, "lengthscale"), sdgp = , sds = of(smooth, "sd"),
    sdcar = of("gmrf(g)", "sd"), car = "the dependence of gmrf(model = \"proper\") takes fixed() but no prior",
    ar = , sderr = of("ar1(t)", "sd"),
    zi = , hu = sprintf("it has a linear predictor, so write prior = list(%s = list(intercept = normal(0, 2)))",
      row$class),
    sprintf("priors are of the classes %s", quote_names(names(prior_classes), "\""))
  )
}

# ---- lists of rstanarm ----

prior_of_rstanarm <- function(x, shown) {
  name <- sub(".*\\$", "", shown)
  kind <- prior_kind(name)
  dist <- if (identical(x$dist, "t")) "student_t" else x$dist
  several <- max(lengths(x[c("location", "scale")])) > 1L
  if (dist %in% c("decov", "lkj", "dirichlet", "R2", "hs", "hs_plus", "product_normal", "lasso")) {
    advice <- switch(dist,
      decov = sprintf("prior = list(sd = pc(1, %s), cor = lkj(%s))",
        format(exp(-1 / number_or(x$scale, 1)), digits = 3L), format(number_or(x$regularization, 1))),
      lkj = sprintf("prior = list(cor = lkj(%s))", format(number_or(x$regularization, 1))),
      "prior = normal(0, learn(1)), which learns how small slopes are"
    )
    if (dist == "lkj" && kind == "correlation") return(lkj(number_or(x$regularization, 1)))
    stop_galvi("prior", sprintf("`%s` is %s() of rstanarm, which galvi does not have: write %s.", shown, dist, advice))
  }
  # of two arguments that shift and scale
  numbers <- if (dist == "exponential") list(1 / x$scale) else c(
    if (dist == "student_t") list(x$df), list(x$location, x$scale)
  )
  if (several) {
    stop_galvi("prior", sprintf(paste(
      "`%s` is %s() of rstanarm with a value for each coefficient: name the coefficients, as in",
      "prior = list(x1 = normal(%s, %s), x2 = normal(%s, %s))."
    ), shown, dist, format(x$location[1L]), format(x$scale[1L]), format(rep_len(x$location, 2L)[2L]),
      format(rep_len(x$scale, 2L)[2L])))
  }
  call <- as.call(c(as.name(dist), numbers))
  if (kind == "coefficient" && dist == "exponential") kind <- "sd"
  found <- translated_prior(call, kind)
  if (isTRUE(x$autoscale)) {
    stop_galvi("prior", sprintf(
      "`%s` is %s() of rstanarm with autoscale = TRUE: galvi takes priors as typed; write %s in units of the data.",
      shown, dist, found$near
    ))
  }
  if (!is.null(found$value)) return(found$value)
  stop_galvi("prior", sprintf(
    "`%s` is %s of rstanarm, which galvi does not have: write %s%s.", shown, deparse_one(call),
    if (grepl("\\$", shown)) paste(name, "= ") else "prior = ", found$near
  ))
}

number_or <- function(x, default) if (is.numeric(x) && length(x) == 1L && is.finite(x)) x else default

# Classes of brms: kind as in translated_prior(), and where the prior goes in ours.
prior_classes <- c(b = "coefficient", Intercept = "coefficient", sd = "sd", cor = "correlation", L = "correlation",
  sigma = "sd", rescor = "correlation", Lrescor = "correlation", shape = "positive", phi = "positive", nu = "positive")

# Priors of other packages: tables of brms and glmmTMB, lists of rstanarm, text. They become ours where galvi has the
# prior, else the error lists what there is.

#' @param x What the user gave; shown: where, for messages.
#' @return x itself, or ours
#' @noRd
own_prior <- function(x, shown = "prior") {
  if (is.null(x) || is_value(x) || is.numeric(x)) return(x)
  if (is_prior_table(x)) return(prior_of_table(x))
  tables <- is.list(x) && !is.object(x) && length(x) && all(vapply(x, is_prior_table, NA))
  if (tables && is.null(names(x))) return(prior_of_table(do.call(rbind, lapply(x, prior_columns))))
  if (is_rstanarm_prior(x)) return(prior_of_rstanarm(x, shown))
  if (is.character(x) && length(x) == 1L) return(prior_of_text(x, shown))
  if (inherits(x, "family") || is.list(x) && is.character(x$family) || isS4(x)) {
    stop_galvi("prior", sprintf(
      "`%s` must be a prior such as normal(0, 1), not the family %s.", shown,
      if (is.list(x)) dQuote(x$family[1L], FALSE) else describe(x)
    ))
  }
  x
}

# ---- calls of priors that are no functions of galvi ----

# Distributions that are text alone, because they are families or functions of R, or that galvi does not have.
foreign_priors <- c(setdiff(names(text_priors), prior_names()), shrinking_priors, "uniform", "beta", "decov", "student",
  "gumbel")

prior_hint <- function(name) {
  if (!name %in% c(foreign_priors, "set_prior", "prior", "prior_string")) return(NULL)
  if (grepl("prior", name)) {
    return("brms is not attached: write brms::set_prior(), or galvi's own prior = normal(0, 5).")
  }
  "Write such priors as text, as in prior = list(sd = \"exponential(1)\")."
}

#' Stops at calls of such distributions, unless the package that has them is attached and makes an object
#' @noRd
check_prior_calls <- function(expr, env, name = "default") {
  head <- head_name(expr)
  if (!is.call(expr) || is_quoting(expr)) return(invisible())
  if (head %in% foreign_priors) {
    f <- get0(head, envir = env, mode = "function")
    theirs <- is.function(f) && !is.primitive(f) &&
      !environmentName(topenv(environment(f))) %in% c("galvi", "base", "stats")
    if (theirs) return(invisible())
    shown <- if (name == "default") "prior" else sprintf("prior$%s", name)
    if (!head %in% names(text_priors)) stop_unknown_prior(head, deparse_one(expr), shown)
    stop_galvi("prior", sprintf(
      "`%s`: %s() is not a function of galvi that makes a prior. Write it as text: %s\"%s\".", shown, head,
      if (name == "default") "" else paste(name, "= "), deparse_one(expr)
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

# ---- tables of brms and glmmTMB ----

# brms::set_prior(), prior(), get_prior() and default_prior() return data frames with these columns, as glmmTMB's
# argument `priors` has them.
is_prior_table <- function(x) is.data.frame(x) && all(c("prior", "class") %in% names(x))

prior_columns <- function(x) {
  text <- function(name) {
    if (is.null(x[[name]])) return(rep("", nrow(x)))
    ifelse(is.na(x[[name]]), "", as.character(x[[name]]))
  }
  names <- c("prior", "class", "coef", "group", "dpar", "resp", "nlpar", "lb", "ub")
  out <- as.data.frame(lapply(stats::setNames(nm = names), text), stringsAsFactors = FALSE)
  out$of_brms <- rep(inherits(x, "brmsprior"), nrow(x))
  out
}

#' A table as our list, with an attribute `table`, the rows with their names in it
#' @noRd
prior_of_table <- function(x) {
  x <- prior_columns(x)
  check_bounds(x)
  # rows without a prior are defaults
  x <- x[nzchar(x$prior) & !startsWith(x$prior, "("), ]
  out <- list()
  rows <- list()
  for (i in seq_len(nrow(x))) {
    row <- table_row(x[i, ])
    out <- set_nested(out, row$name, row$value)
    rows[[i]] <- row[c("name", "written")]
  }
  if (length(out)) structure(out, table = rows)
}

# brms' bounds of what is positive anyway; elsewhere they would change the model.
check_bounds <- function(x) {
  own <- c(sd = "0", positive = "0", correlation = "")[prior_classes[x$class]]
  own[is.na(own)] <- ""
  own[x$class == "nu"] <- "1"
  bad <- which(!x$lb %in% "" & x$lb != own | nzchar(x$ub))
  if (!length(bad)) return(invisible())
  row <- x[bad[1L], ]
  stop_galvi("prior", sprintf(
    "`prior`: %s, %s: galvi has no bounds of coefficients and parameters, as posteriors are normal: leave %s out.",
    written_row(row), paste(c(if (nzchar(row$lb)) paste("lb =", row$lb), if (nzchar(row$ub)) paste("ub =", row$ub)),
      collapse = ", "), paste(c("lb", "ub")[c(nzchar(row$lb), nzchar(row$ub))], collapse = " and ")
  ))
}

# Classes of brms and of glmmTMB: what they are priors of.
prior_classes <- c(
  b = "coefficient", Intercept = "coefficient", sd = "sd", cor = "correlation", L = "correlation", sds = "sd",
  rescor = "correlation", Lrescor = "correlation",
  sdgp = "sd", lscale = "positive", sdcar = "sd", sderr = "sd", sigma = "sd", shape = "positive", phi = "positive",
  nu = "positive", kappa = "positive", alpha = "positive", beta = "positive", df = "positive", scale = "positive",
  size = "positive", precision = "positive", dispersion = "positive"
)
tmb_classes <- c(
  fixef = "fixef", beta = "fixef", fixef_zi = "fixef_zi", betazi = "fixef_zi", fixef_disp = "fixef_disp",
  betad = "fixef_disp", betadisp = "fixef_disp", ranef = "ranef", theta = "ranef", ranef_sd = "ranef_sd",
  ranef_cor = "ranef_cor", ranef_zi = "ranef_zi", ranef_zi_sd = "ranef_zi_sd", ranef_zi_cor = "ranef_zi_cor"
)

#' @return list(name: of the row's prior in our list, from the outside in; value; written: the row as its user wrote it)
#' @noRd
table_row <- function(row) {
  tmb <- row$class %in% setdiff(names(tmb_classes), "beta")
  written <- written_row(row, tmb)
  if (tmb) return(tmb_row(row, written))
  kind <- prior_classes[row$class]
  of_responses <- row$class %in% c("sigma", "rescor", "Lrescor")
  if (is.na(kind) || nzchar(row$resp) && !of_responses || nzchar(row$nlpar)) {
    stop_galvi("prior", sprintf("`prior`: %s has no counterpart here: %s.", written, other_class(row)))
  }
  value <- prior_of_text(row$prior, sprintf("prior`: `%s", written))
  check_prior_kind(value, kind, written, slope = row$class == "b" && row$coef != "Intercept")
  if (row$class == "lscale" && row$of_brms) value <- structure(value, of_distance = written)
  list(name = table_name(row), value = value, written = written)
}

# A row as its user wrote it.
written_row <- function(row, tmb = FALSE) {
  sprintf(if (tmb) "the row %s, class %s%s" else "set_prior(%s, class = %s%s)", dQuote(row$prior, FALSE),
    dQuote(row$class, FALSE), paste0(vapply(c("coef", "group", "dpar", "resp"), function(name) {
      if (nzchar(row[[name]])) sprintf(", %s = %s", name, dQuote(row[[name]], FALSE)) else ""
    }, ""), collapse = ""))
}

#' Stops where a prior cannot be one of such a parameter
#' @param kind "coefficient", "sd", "positive" or "correlation". slope: is it of coefficients that are slopes?
#' @noRd
check_prior_kind <- function(value, kind, written, slope = FALSE) {
  own <- switch(value$type, lkj = "correlation", fixed = kind, pc = , gamma_prior = "sd", pc_range = "positive",
    horseshoe = "slope", if (is_coefficient_prior(value)) "any" else "positive")
  fine <- switch(kind,
    correlation = value$type == "lkj", coefficient = is_coefficient_prior(value),
    sd = own %in% c("any", "sd", "positive"), positive = own %in% c("any", "positive")
  )
  if (fine) return(invisible())
  stop_galvi("prior", sprintf(
    "`prior`: %s: %s cannot be the prior of %s. It may be %s.%s", written, format(value),
    switch(kind, coefficient = "a coefficient", sd = "a standard deviation", correlation = "correlations",
      "a positive number"), switch(kind,
      coefficient = "normal(), student_t(), cauchy(), double_exponential(), horseshoe() or logistic()",
      correlation = "lkj()",
      "normal(), student_t() or cauchy() cut at 0, exponential(), gamma(), inv_gamma() or lognormal()"
    ), if (slope && is_fixed(value)) paste0(" ", known_slope(value)) else ""
  ))
}

# A slope that is fixed() is no coefficient. name: the variable, where it is known to be one.
known_slope <- function(value, name = NULL) {
  sprintf("A known slope is an offset in the formula%s offset(%s * %s).", if (is.null(name)) ", as in" else ":",
    code_number(value$value[1L]), or_else(name, "x"))
}

# The names of a row's prior in our list, from the outside in.
table_name <- function(row) {
  own <- switch(row$class,
    b = if (!nzchar(row$coef)) "default" else if (row$coef == "Intercept") "intercept" else row$coef,
    Intercept = "at_means",
    L = , cor = "cor",
    # of smooths and processes: see matches_term()
    sds = , sdgp = , lscale = , sdcar = , sderr = c(
      sprintf("@%s:%s", row$class, row$coef), if (row$class == "lscale") "lengthscale" else "sd"
    ),
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

#' A row of glmmTMB's `priors =`: t(mean, sd, df), gamma(mean, shape), and priors of its other classes
#' @noRd
tmb_row <- function(row, written) {
  class <- tmb_classes[[row$class]]
  dpar <- if (grepl("_zi", class)) "zi" else if (class == "fixef_disp") "sigma"
  call <- tryCatch(str2lang(row$prior), error = function(e) NULL)
  name <- head_name(call)
  x <- lapply(as.list(call)[-1L], function(part) tryCatch(eval(part, baseenv()), error = function(e) NULL))
  needs <- c(normal = 2L, t = 3L, cauchy = 2L, gamma = 2L, lkj = 1L)[name]
  if (is.na(needs) || length(x) != needs || !all(vapply(x, is.numeric, NA))) {
    stop_galvi("prior", sprintf(paste(
      "`prior`: %s: the priors of this class are normal(mean, sd), t(mean, sd, df), cauchy(location, scale),",
      "gamma(mean, shape) and lkj(eta)."
    ), written))
  }
  value <- switch(name,
    normal = normal(x[[1L]], x[[2L]]), t = student_t(x[[3L]], x[[1L]], x[[2L]]), cauchy = cauchy(x[[1L]], x[[2L]]),
    gamma = new_value("gamma", shape = prior_number(x[[2L]], "shape"), rate = prior_number(x[[2L]] / x[[1L]], "rate")),
    lkj = lkj(x[[1L]])
  )
  if (grepl("^fixef", class)) {
    check_prior_kind(value, "coefficient", written)
    if (grepl("^[0-9]+$", row$coef)) {
      stop_galvi("prior", sprintf("`prior`: %s: give the coefficient by its name, not by its number.", written))
    }
    own <- if (!nzchar(row$coef)) "default" else if (row$coef == "(Intercept)") "intercept" else row$coef
    return(list(name = c(dpar, own), value = value, written = written))
  }
  correlation <- endsWith(class, "_cor") || class == "ranef" && name == "lkj"
  check_prior_kind(value, if (correlation) "correlation" else "sd", written)
  if (!correlation && name != "gamma") {
    # these are priors of the logarithm there
    if (name != "normal") {
      stop_galvi("prior", sprintf(paste(
        "`prior`: %s is a prior of the logarithm of a standard deviation, of which normal() is the only one here. Of the",
        "standard deviation itself write prior = list(sd = \"student_t(3, 0, 2.5)\")."
      ), written))
    }
    value <- log_normal(x[[1L]], x[[2L]])
  }
  list(name = c(dpar, if (nzchar(row$coef)) paste("|", row$coef), if (correlation) "cor" else "sd"), value = value,
    written = written)
}

other_class <- function(row) {
  if (nzchar(row$resp)) return(sprintf(
    "coefficients of the response %s are named `.item%s` (the intercept) and `.item%s:x`, see ?responses", row$resp,
    row$resp, row$resp
  ))
  switch(row$class,
    car = "the dependence of gmrf(model = \"proper\") takes fixed() but no prior",
    ar = "the correlation of ar1(t) takes fixed() but no prior",
    zi = , hu = sprintf("it has a linear predictor, so write prior = list(%s = list(intercept = normal(0, 2)))",
      row$class),
    sprintf("priors are of the classes %s", quote_names(c(names(prior_classes)), "\""))
  )
}

#' Finds rows that are of coefficients which the model does not have; of other rows, terms say so
#'
#' @param rows The attribute `table`. built: of each predictor, from build_terms(); others: names of the predictors after
#'   the first; thresholds: does the first have these in place of an intercept?
#' @noRd
find_absent_rows <- function(rows, built, others, thresholds, absent) {
  for (row in rows) {
    name <- row$name
    k <- match(name[1L], others, 0L)
    if (k > 0L) name <- name[-1L]
    if (length(name) != 1L || !name %in% c("default", "intercept", "at_means")) next
    # with cs() thresholds are coefficients, whose priors have been read
    if (name == "intercept" && any(are_thresholds(built[[k + 1L]]$fixed$spec))) next
    of <- built[[k + 1L]]$known
    columns <- built[[k + 1L]]$fixed$spec$columns
    found <- if (name == "default") length(setdiff(of, "(Intercept)")) > 0L else "(Intercept)" %in% columns
    if (found) next
    absent$found(row$name, if (thresholds && k == 0L && name != "default") {
      sprintf("`prior`: %s: thresholds are estimated and take no prior: leave this row out.", row$written)
    } else sprintf(
      "`prior`: %s matches nothing: %s has %s. Its coefficients are %s.", row$written,
      if (k > 0L) sprintf("the linear predictor of %s", others[k]) else "this model",
      if (name == "default") "no slopes" else "no intercept", if (length(columns)) quote_names(columns) else "none"
    ))
  }
}

# ---- lists of rstanarm ----

prior_of_rstanarm <- function(x, shown) {
  name <- sub(".*\\$", "", shown)
  dist <- if (identical(x$dist, "t")) "student_t" else x$dist
  if (dist == "lkj" && name %in% c("cor", "L")) return(lkj(number_or(x$regularization, 1)))
  if (dist == "hs") return(horseshoe(x$df, x$global_scale, x$global_df, x$slab_scale, x$slab_df))
  known <- c("normal", "student_t", "cauchy", "laplace", "exponential")
  if (!dist %in% known) {
    advice <- switch(dist,
      decov = sprintf("prior = list(sd = \"exponential(%s)\", cor = lkj(%s))",
        code_number(1 / number_or(x$scale, 1)), code_number(number_or(x$regularization, 1))),
      lkj = sprintf("prior = list(cor = lkj(%s))", code_number(number_or(x$regularization, 1))),
      "prior = horseshoe(), or double_exponential(0, 0.5), or learn the sd, normal(0, learn(1))"
    )
    stop_galvi("prior", sprintf("`%s` is %s() of rstanarm, which galvi does not have: write %s.", shown, dist, advice))
  }
  if (max(lengths(x[c("location", "scale", "df")])) > 1L) {
    stop_galvi("prior", sprintf(paste(
      "`%s` is %s() of rstanarm with a value for each coefficient: name the coefficients, as in",
      "prior = list(x1 = normal(%s, %s), x2 = normal(%s, %s))."
    ), shown, dist, code_number(x$location[1L]), code_number(x$scale[1L]), code_number(rep_len(x$location, 2L)[2L]),
      code_number(rep_len(x$scale, 2L)[2L])))
  }
  # rstanarm's own default
  scale <- number_or(x$scale, 2.5)
  value <- switch(dist,
    normal = normal(x$location, scale),
    student_t = if (identical(x$df, 1)) cauchy(x$location, scale) else student_t(x$df, x$location, scale),
    cauchy = cauchy(x$location, scale), laplace = double_exponential(x$location, scale),
    exponential = new_value("exponential", rate = prior_number(1 / scale, "rate"))
  )
  if (isTRUE(x$autoscale)) {
    stop_galvi("prior", sprintf(paste(
      "`%s` is %s() of rstanarm with autoscale = TRUE: galvi takes priors as typed; write %s with numbers in units of",
      "the data."
    ), shown, dist, format(value, digits = 4L)))
  }
  value
}

number_or <- function(x, default) if (is.numeric(x) && length(x) == 1L && is.finite(x)) x else default

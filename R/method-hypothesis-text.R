# The text of a hypothesis: from "x - 2 * z > 0" to an expression in parameters, which have names of ours and of brms.

# ---- parameters ----

#' The parameters of a fit that hypotheses may be about
#'
#' @return A list of list(kind: "fixed" or "hyper"; at: its position among coefficients, or in the table; root: is it
#'   the square root of what the table has?; names: as brms has all of them, "b_x", the first that which messages
#'   show).
#' @noRd
known_parameters_of <- function(fit) {
  names <- rownames(vcov.galvi(fit))
  items <- if (inherits(fit, "galvi_wide")) fit$design$wide$items
  fixed <- lapply(seq_along(names), function(j) {
    aliases <- c(coefficient_aliases(names[j]), names_by_response(names[j], items))
    of_brms <- if (!is.null(fit$design$stages)) stage_names_of_brms(fit)[j]
    list(kind = "fixed", at = j, root = FALSE, names = c(paste0("b_", aliases), of_brms))
  })
  c(fixed, if (draws_hyper(fit)) c(spread_parameters(fit), residual_parameters(fit), other_parameters(fit)))
}

#' brms' names of the coefficients of several responses: y_Intercept, y_x
#' @noRd
names_by_response <- function(name, items) {
  own <- paste0(wide_names[["item"]], items)
  effect <- ifelse(own == name, "Intercept", substring(name, nchar(own) + 2L))
  at <- which(own == name | startsWith(rep(name, length(own)), paste0(own, ":")))
  unlist(lapply(at, function(j) paste(response_of_brms(items[j]), coefficient_aliases(effect[j]), sep = "_")))
}

#' brms' names of coefficients with cs(): b_Intercept[1], b_z, bcs_x[1]
#' @noRd
stage_names_of_brms <- function(fit) {
  spec <- fixed_spec(fit$design$specs)
  threshold <- are_thresholds(spec)
  specific <- !threshold & grepl("\\[[0-9]+\\]$", spec$columns)
  ifelse(threshold, sprintf("b_Intercept[%d]", cumsum(threshold)),
    paste0(ifelse(specific, "bcs_", "b_"), plain_text(spec$columns)))
}

# Without dots and underscores, as brms needs it in the names of parameters.
response_of_brms <- function(item) gsub("[._]", "", name_of_brms(item))

#' Those of residuals: sigma_y, rescor__y1__y2
#' @noRd
residual_parameters <- function(fit) {
  spec <- residual_spec(fit$design$specs)
  if (is.null(spec)) return(NULL)
  items <- response_of_brms(spec$columns)
  pairs <- correlation_pairs(length(items))
  named <- stats::setNames(
    c(spec$hyper$sd, spec$hyper$cor),
    c(paste0("sigma_", items), sprintf("rescor__%s__%s", items[pairs[, "column"]], items[pairs[, "row"]]))
  )
  lapply(names(named)[fit$model$hyper$learned[named]], function(name) {
    list(kind = "hyper", at = unname(named[name]), root = FALSE, names = name)
  })
}

# Where hyperparameters have a posterior.
draws_hyper <- function(fit) has_points(fit) || !is.null(fit$hyper_posterior) || states_are_draws(fit)

#' Names that a coefficient has: its own, that of brms, and an interaction the other way round
#' @noRd
coefficient_aliases <- function(name) {
  plain <- plain_text(name)
  short <- gsub("(Intercept)", "Intercept", plain, fixed = TRUE)
  # of classes: B:x is muB_x
  class <- sub("^([^:]+):(.*)$", "mu\\1_\\2", short)
  parts <- strsplit(plain, ":", fixed = TRUE)[[1L]]
  unique(c(plain, short, name_of_brms(c(short, class)), if (length(parts) == 2L) paste(rev(parts), collapse = ":")))
}

# As brms writes factor(cyl)6, I(x^2) and others.
name_of_brms <- function(x) {
  for (dropped in c(" ", "(", ")", "[", "]", ",", "\"", "'", "?", "`")) x <- gsub(dropped, "", x, fixed = TRUE)
  for (sign in names(signs_of_brms)) x <- gsub(sign, signs_of_brms[[sign]], x, fixed = TRUE)
  x
}

signs_of_brms <- c("+" = "P", "-" = "M", "*" = "MU", "/" = "D", "^" = "E", "=" = "EQ")

#' Standard deviations and correlations of groups: sd_g__x, cor_g__Intercept__x
#' @noRd
spread_parameters <- function(fit) {
  one <- function(kind, group, effects, at, root = FALSE) {
    if (!fit$model$hyper$learned[at]) return(NULL)
    names <- paste(c(paste0(kind, "_", plain_text(group)), effects), collapse = "__")
    list(kind = "hyper", at = at, root = root, names = unique(names))
  }
  views <- predictors(fit)
  found <- lapply(views, function(view) {
    prefix <- effect_prefix(view$parameter)
    lapply(Filter(function(spec) term_can(spec, "grouped"), view$design$specs), function(spec) {
      named <- function(columns) name_of_brms(gsub("(Intercept)", "Intercept", paste0(prefix, columns), fixed = TRUE))
      group <- effect_group(spec)
      if (!spec$type %in% bars) {
        effects <- named(iid_effects(spec))
        at <- rep_len(spec$hyper$variance, length(effects))
        return(Map(function(effect, at) one("sd", group, effect, at, TRUE), effects, at))
      }
      effects <- named(spec$columns)
      if (!is.null(structure_parameters(spec, numeric(), ""))) return(structured_parameters(spec, one, effects))
      # effects of different levels of gr(by = ) are independent
      size <- length(effects) %/% effect_sets(spec)
      pairs <- if (length(spec$hyper$cor)) do.call(rbind, lapply(seq_len(effect_sets(spec)), function(set) {
        correlation_pairs(size) + (set - 1L) * size
      }))
      c(
        Map(function(effect, at) one("sd", group, effect, at), effects, spec$hyper$sd),
        lapply(seq_len(NROW(pairs)), function(p) {
          one("cor", group, effects[pairs[p, c("column", "row")]], spec$hyper$cor[p])
        })
      )
    })
  })
  not_null(unlist(unlist(found, FALSE), FALSE))
}

# sd_g__x, or sd_g where all effects share it; cor_g, or cor_g__1 at lag one.
structured_parameters <- function(spec, one, effects) {
  m <- length(spec$hyper$cor)
  of_cor <- if (m > 1L) as.list(seq_len(m)) else vector("list", m)
  c(
    Map(function(effect, at) one("sd", spec$group, effect, at), if (spec$hom) list(NULL) else effects, spec$hyper$sd),
    Map(function(lag, at) one("cor", spec$group, lag, at), of_cor, spec$hyper$cor)
  )
}

#' Other hyperparameters, by their names in fit$hyper, and by that of the parameter where only one has it; sigma;
#' thresholds, which are intercepts in brms
#' @noRd
other_parameters <- function(fit) {
  table <- fit$model$hyper
  shown <- which(!in_array(table))
  at <- shown[table$learned[shown]]
  own <- fit$hyper$parameter[match(at, shown)]
  threshold <- match(at, fit$model$likelihood$hyper$thresholds)
  out <- lapply(seq_along(at), function(i) {
    alone <- !own[i] %in% c("variance", "sd") && sum(own == own[i]) == 1L
    names <- c(table$name[at[i]], if (alone) own[i], if (!is.na(threshold[i])) sprintf("b_Intercept[%d]", threshold[i]))
    list(kind = "hyper", at = at[i], root = FALSE, names = unique(plain_text(names)))
  })
  residual <- which(table$name[at] == "gaussian.variance")
  c(out, if (length(residual)) list(list(kind = "hyper", at = at[residual], root = TRUE, names = "sigma")))
}

#' What names stand for in hypotheses of a class and group: a vector of positions in `parameters`
#' @noRd
names_in_class <- function(parameters, class, group) {
  names <- lapply(parameters, `[[`, "names")
  all <- stats::setNames(rep(seq_along(names), lengths(names)), unlist(names))
  prefix <- if (nzchar(class)) paste0(class, "_", if (nzchar(group)) paste0(plain_text(group), "__")) else ""
  own <- all[startsWith(names(all), prefix)]
  names(own) <- substring(names(own), nchar(prefix) + 1L)
  # the full names are understood too, unless they say something else here
  all <- c(own, all)
  all[!duplicated(names(all))]
}

# ---- reading ----

#' A hypothesis as an expression that is compared with zero
#'
#' @param known From names_in_class(), or any vector by names.
#' @return list(label, sign: "<", ">" or "=", expr: in symbols .p1, .p2, .., at: elements of `known` that these stand
#'   for).
#' @noRd
read_hypothesis <- function(text, known) {
  wrong <- function(why) stop_galvi("argument", sprintf("`hypothesis`: \"%s\" cannot be read: it %s", text, why))
  read <- with_symbols(text, known, wrong)
  where <- gregexpr("[<>=]", read$text)[[1L]]
  if (length(where) != 1L || where < 0L) wrong("must have one of the signs >, < and =, as in \"x - 2 * z > 0\".")
  side <- function(from, to) {
    expr <- tryCatch(str2lang(substr(read$text, from, to)), error = function(e) NULL)
    if (is.null(expr)) wrong("is not an expression on both sides of its sign.")
    expr
  }
  expr <- call("-", side(1L, where - 1L), side(where + 1L, nchar(read$text)))
  used <- all.names(expr, functions = TRUE, unique = TRUE)
  unknown <- setdiff(used[!grepl("^[.]p[0-9]+$", used)], known_functions)
  if (length(unknown)) {
    wrong(sprintf("has %s, which is not a function that hypotheses may have; these are %s.", quote_names(unknown[1L]),
      quote_names(setdiff(known_functions, c("(", "pi")), max = 40L)))
  }
  if (!length(read$at)) wrong("has no parameter.")
  sign <- substr(read$text, where, where)
  sides <- strsplit(read$shown, sign, fixed = TRUE)[[1L]]
  label <- if (length(sides) != 2L) read$shown else {
    paste0("(", sides[1L], ")", if (sides[2L] != "0") paste0("-(", sides[2L], ")"), " ", sign, " 0")
  }
  list(label = label, sign = sign, expr = expr, at = read$at)
}

known_functions <- c(
  "+", "-", "*", "/", "^", "(", "pi", "exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "abs", "plogis",
  "qlogis", "pnorm", "qnorm", "sin", "cos", "tan", "tanh"
)

#' Names of parameters become symbols, the longest first; all that is not a name or a number stays
#' @return list(text, shown: without spaces and backticks, at).
#' @noRd
with_symbols <- function(text, known, wrong) {
  quoted <- gregexpr("`[^`]*`", text)
  regmatches(text, quoted) <- lapply(regmatches(text, quoted), plain_text)
  text <- plain_text(text)
  names <- names(known)[order(-nchar(names(known)))]
  word <- "^[A-Za-z0-9._]+(:[A-Za-z0-9._]+)*"
  number <- "^([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?"
  out <- shown <- character()
  at <- integer()
  add <- function(written, symbol = written) {
    out <<- c(out, symbol)
    shown <<- c(shown, written)
  }
  symbol_of <- function(name) {
    position <- known[[name]]
    if (!position %in% at) at <<- c(at, position)
    paste0(".p", match(position, at))
  }
  while (nzchar(text)) {
    name <- names[startsWith(text, names) & !grepl("^[A-Za-z0-9._:]", substring(text, nchar(names) + 1L))][1L]
    if (!is.na(name)) {
      add(name, symbol_of(name))
      text <- substring(text, nchar(name) + 1L)
      next
    }
    inside <- regmatches(text, regexpr("^`[^`]*`", text))
    if (length(inside)) {
      name <- without_backticks(inside)
      if (!name %in% names) stop_unknown_parameter(name, known, wrong)
      add(name, symbol_of(name))
      text <- substring(text, nchar(inside) + 1L)
      next
    }
    found <- regmatches(text, regexpr(number, text))
    run <- regmatches(text, regexpr(word, text))
    after <- if (length(run)) substring(text, nchar(run) + 1L, nchar(run) + 1L)
    plain <- length(found) && (!length(run) || nchar(found) >= nchar(run))
    if (!plain && length(run) && after != "(" && !run %in% known_functions) stop_unknown_parameter(run, known, wrong)
    taken <- if (plain) found else if (length(run)) run else substr(text, 1L, 1L)
    add(taken)
    text <- substring(text, nchar(taken) + 1L)
  }
  list(text = paste(out, collapse = ""), shown = paste(shown, collapse = ""), at = at)
}

stop_unknown_parameter <- function(name, known, wrong) {
  first <- names(known)[!duplicated(known)]
  level <- matched("^r_(.+)$", name)
  hint <- if (length(level)) {
    sprintf(" Effects of levels have scope = \"ranef\", group = \"%s\", or \"coef\" with the coefficient added.", level)
  } else {
    did_you_mean(name, names(known))
  }
  wrong(sprintf("has `%s`, which is not a parameter of this class; there %s %s.%s", name,
    if (length(first) == 1L) "is" else "are", quote_names(first, max = 40L), hint))
}

#' The coefficients of an expression that is linear in its symbols, and its constant; NULL if it is not linear
#' @return list(slopes, constant).
#' @noRd
as_linear <- function(expr, count) {
  symbols <- paste0(".p", seq_len(count))
  slopes <- tryCatch(vapply(symbols, function(symbol) {
    slope <- stats::D(expr, symbol)
    if (any(symbols %in% all.vars(slope))) NA_real_ else eval(slope, baseenv())
  }, 0), error = function(e) NA_real_)
  if (anyNA(slopes)) return(NULL)
  zero <- stats::setNames(as.list(rep(0, count)), symbols)
  list(slopes = unname(slopes), constant = eval(expr, zero, hypothesis_functions()))
}

# Functions of base and stats; `stats` may be detached, so the search path does not say where they are.
hypothesis_functions <- function() environment(stats::plogis)

# Priors as tables, with the columns and classes of brms.

#' Tables of priors
#'
#' `default_prior()` shows what a model has priors of, and what these are if none is given; `prior_summary()` shows those of
#' a fit. Both have the columns and classes of brms.
#'
#' A prior in parentheses is not part of the model as it was typed. Default priors of coefficients are joint
#' ([galvi()]), and the table has the margin of each. Hyperparameters without a prior have a weak one in standard
#' deviations and intervals, not in estimates. Rows in parentheses, and empty ones, are ignored where the table is given
#' to `prior =`; change the text of a row to set a prior: `b <- default_prior(y ~ x, d); b$prior[1] <- "normal(0, 1)"`.
#'
#' @param formula,data,family As in [galvi()].
#' @param object A fit.
#' @param ... Other arguments of [galvi_design()], such as `weights`.
#' @return A data frame with the columns
#' \describe{
#'   \item{`prior`}{text such as `normal(0, 1)`; in parentheses a default, `constant(1)` for a fixed value, empty
#'     where there is none.}
#'   \item{`class`}{`b` for coefficients, `Intercept` for the linear predictor at the means of the columns, `sd` and `cor`
#'     for groups, `sds` for smooths, `sdgp` and `lscale` for [gp()], else the name of the hyperparameter.}
#'   \item{`coef`, `group`}{the coefficient or term, and the grouping factor.}
#'   \item{`dpar`}{the parameter that has this linear predictor; empty for the first.}
#'   \item{`source`}{`"user"`, `"default"`, or `"weak"` for priors of the joint posterior alone.}
#' }
#' @section Errors:
#' Those of [galvi()].
#' @seealso [priors]
#' @family kernels and priors
#' @examples
#' default_prior(Reaction ~ Days + (1 + Days | Subject), sleepstudy)
#'
#' priors <- list(wt = "student_t(3, 0, 5)", sigma = "exponential(0.2)")
#' fit <- galvi(mpg ~ wt + hp, mtcars, prior = priors)
#' prior_summary(fit)
#' @name prior-tables
NULL

#' @rdname prior-tables
#' @export
default_prior <- function(formula, data = NULL, family = gaussian(), ...) {
  frame <- environment()
  known <- names(formals(galvi_design))
  unknown <- setdiff(...names(), c(known, ""))
  check_no_dots(stats::setNames(as.list(unknown), unknown), known, "default_prior()")
  design <- galvi_design(formula, data, family_argument(formula, frame), ...)
  model <- galvi_model(design)
  prior_table(model, model$design)
}

#' @rdname prior-tables
#' @export
prior_summary <- function(object, ...) UseMethod("prior_summary")

#' @rdname prior-tables
#' @export
#' @rawNamespace S3method(rstantools::prior_summary,galvi)
prior_summary.galvi <- function(object, ...) {
  refuse_dots(list(...), prior_summary.galvi, "prior_summary()")
  model <- object$model
  model$prior <- object$prior
  prior_table(model, object$design)
}

#' @param model A model list with `prior`, as `fit$prior`.
#' @noRd
prior_table <- function(model, design) {
  rows <- c(coefficient_prior_rows(model, design), hyper_prior_rows(model, design))
  columns <- c("prior", "class", "coef", "group", "dpar", "source")
  out <- as.data.frame(lapply(stats::setNames(nm = columns), function(name) vapply(rows, `[[`, "", name)))
  structure(out, class = c("galvi_prior_table", "data.frame"))
}

prior_table_row <- function(prior, class, coef = "", group = "", dpar = "", source = "user") {
  list(prior = prior, class = class, coef = coef, group = group, dpar = dpar, source = source)
}

coefficient_prior_rows <- function(model, design) {
  specs <- predictor_specs(design)
  dpars <- c("", names(design$others))
  unlist(lapply(seq_along(specs), function(k) {
    spec <- fixed_spec(specs[[k]])
    if (is.null(spec)) return(NULL)
    prefix <- if (is.null(spec$parameter)) "" else coefficient_prefix(spec$parameter)
    lapply(seq_along(spec$columns), function(j) {
      prior <- model$prior[[paste0(prefix, spec$columns[j])]]
      open <- isTRUE(attr(prior, "open"))
      intercept <- spec$assign[j] == 0L
      # what is typed is the printed intercept's unless it was typed for the means; the default is that of the means
      at_means <- intercept && (open || isTRUE(spec$at_means))
      if (open && intercept) {
        width <- spec$coding$B[j, j]
        prior <- normal(spec$coding$mean[j] * width, width)
      }
      text <- prior_text(prior)
      prior_table_row(
        if (open) sprintf("(%s)", text) else text, if (at_means) "Intercept" else "b",
        if (at_means) "" else if (intercept) "Intercept" else spec$columns[j], dpar = dpars[k],
        source = if (open) "default" else "user"
      )
    })
  }), recursive = FALSE)
}

hyper_prior_rows <- function(model, design) {
  hyper <- model$hyper
  specs <- all_specs(design)
  labels <- vapply(specs, `[[`, "", "label")
  dpars <- rep(c("", names(design$others)), lengths(predictor_specs(design)))
  shown <- which(!in_array(hyper) & hyper$term != fixed_label)
  seen <- character()
  out <- list()
  for (h in shown) {
    # the sd of a coefficient is part of its own prior
    if (hyper$parameter[h] == "sd" && !hyper$term[h] %in% labels) next
    # so is that of a direction which a term leaves open
    if (endsWith(hyper$name[h], ".slope.sd")) next
    t <- match(hyper$term[h], labels)
    place <- place_of_hyper(hyper, h, specs[t][[1L]], design)
    if (!is.na(t)) place$dpar <- dpars[t]
    key <- paste(unlist(place), collapse = "\r")
    if (place$class == "cor" && key %in% seen) next
    seen <- c(seen, key)
    typed <- hyper$prior[[h]]
    weak <- hyper$weak[[h]]
    text <- function(prior) {
      # the table has the priors of partial correlations
      if (identical(prior$type, "lkj")) return(prior_text(lkj(prior$eta)))
      # of a variance, shown as one of its root
      if (place$class %in% c("sd", "sdgp", "sds", "sigma") && grepl("variance", hyper$parameter[h]) && is.null(prior$quantity)) {
        if (prior$type == "log_normal") prior[c("meanlog", "sdlog")] <- list(prior$meanlog / 2, prior$sdlog / 2)
      }
      prior_text(do.call(new_value, prior[setdiff(names(prior), "quantity")]))
    }
    own <- if (!hyper$learned[h]) {
      list(sprintf("constant(%s)", code_number(hyper_shown(hyper, h, place), digits = 4L)), "user")
    } else if (!is.null(typed)) {
      list(text(typed), "user")
    } else if (is.null(weak) || identical(weak$type, "uniform")) {
      list("", "default")
    } else list(sprintf("(%s)", text(weak)), "weak")
    out[[length(out) + 1L]] <- do.call(prior_table_row, c(own[1L], place, list(source = own[[2L]])))
  }
  out
}

hyper_shown <- function(hyper, h, place) {
  root <- grepl("variance", hyper$parameter[h]) && place$class %in% c("sd", "sdgp", "sds", "sigma")
  if (root) sqrt(hyper$value[h]) else hyper$value[h]
}

#' Where a hyperparameter is in a table: list(class, coef, group)
#' @noRd
place_of_hyper <- function(hyper, h, spec, design) {
  parameter <- hyper$parameter[h]
  prior <- hyper$prior[[h]]
  # pc() and gamma_prior() are of the standard deviation as well
  of_root <- is.null(prior) || identical(prior$quantity, "root") || fact("hyper_prior", prior$type, "of") == "variance"
  if (is.null(spec)) {
    sigma <- parameter == "variance" && of_root && hyper$term[h] == "gaussian"
    return(list(class = if (sigma) "sigma" else parameter, coef = "", group = ""))
  }
  written <- written_term(spec)
  if (term_can(spec, "grouped")) {
    group <- if (spec$type %in% bars) spec$group else spec_group(spec)
    effect <- sub("^(sd|cor)\\.", "", parameter)
    if (startsWith(parameter, "cor.")) return(list(class = "cor", coef = "", group = group))
    if (startsWith(parameter, "sd.")) {
      return(list(class = "sd", coef = sub("^\\(Intercept\\)$", "Intercept", effect), group = group))
    }
    if (parameter == "variance" && of_root) {
      # the levels of a factor share theirs
      effects <- iid_effects(spec)
      coef <- if (length(effects) == 1L) sub("^\\(Intercept\\)$", "Intercept", effects) else ""
      return(list(class = "sd", coef = coef, group = group))
    }
    return(list(class = parameter, coef = "", group = group))
  }
  class <- if (of_root) sub("variance", "sd", parameter) else parameter
  short <- sub("\\[.*", "", sub(".*\\.", "", class))
  smooth <- inherits(spec, "smooth_term")
  list(class = switch(short, sd = if (smooth) "sds" else "sdgp", lengthscale = "lscale", class), coef = written, group = "")
}

#' @export
print.galvi_prior_table <- function(x, ...) {
  refuse_print_dots(list(...), print.galvi_prior_table)
  print(as.data.frame(unclass(x), row.names = seq_len(nrow(x))), right = FALSE)
  invisible(x)
}

# Typed priors of hyperparameters: each is looked up by the hyperparameter's own name while the table is built.

#' The typed entries while the table is built
#'
#' @param entries From sort_priors(), of all predictors. written: terms as users write them, named by their labels.
#' @return list(find, unused, names, record), functions: the entry for a hyperparameter or NULL; entries that none asked
#'   for; how hyperparameters are named in `prior`; and what was given, by these names.
#' @noRd
new_typed <- function(entries = list(), written = character()) {
  of_family <- "the family"
  used <- rep(FALSE, length(entries))
  names <- list()
  record <- list()
  # family: other names of a family's parameter, NULL for terms. standing: list(value, learned, prior) without `prior`.
  find <- function(owner, parameter, term, family, standing) {
    of_term <- is.null(family)
    # the sd of a coefficient is part of its normal()
    if (of_term && (term == fixed_label || owner != term && !startsWith(owner, paste0(term, "[")))) return(NULL)
    keys <- if (of_term) term_keys(parameter) else c(parameter, family, paste0(owner, ".", parameter))
    shown <- if (of_term) keys[length(keys)] else keys[1L + (length(family) > 0L)]
    here <- if (of_term) term else of_family
    names[[here]] <<- unique(c(names[[here]], shown))
    best <- Inf
    found <- NULL
    for (i in seq_along(entries)) {
      entry <- entries[[i]]
      own <- if (of_term) term %in% entry$labels else is.null(entry$labels)
      rank <- match(entry$key, keys)
      if (!own || is.na(rank) || !is.null(entry$owner) && entry$owner != owner) next
      used[i] <<- TRUE
      # what is typed in the formula is for this term
      if (entry$general && (!standing$learned || !is.null(standing$prior))) next
      rank <- rank + 100 * entry$general + 10 * is.null(entry$owner)
      if (rank >= best) next
      value <- entry_element(entry$value, parameter)
      if (is.null(value)) next
      best <- rank
      found <- list(value = value, key = entry$key, shown = entry$shown)
    }
    found
  }
  list(
    find = find, unused = function() entries[!used], record = function(name, value) {
      if (missing(name)) record else record[[name]] <<- value
    },
    names = function() {
      terms <- setdiff(base::names(names), of_family)
      shown <- ifelse(terms %in% base::names(written), written[terms], terms)
      c(names[[of_family]], sprintf("\"%s\" = list(%s)", shown, vapply(names[terms], function(keys) {
        paste(keys, "= ", collapse = ", ")
      }, "")))
    }
  )
}

# Names that a term's hyperparameter has in `prior`, from the most to the least specific: se.lengthscale[x1],
# se.lengthscale, lengthscale[x1], lengthscale; those of a variance also with `sd`.
term_keys <- function(parameter) {
  leader <- "^[^.\\[]+\\."
  forms <- c(parameter, sub("\\[.*", "", parameter), sub(leader, "", parameter),
    sub("\\[.*", "", sub(leader, "", parameter)))
  unique(as.vector(rbind(forms, sub("variance", "sd", forms, fixed = TRUE))))
}

# A list gives values by element: those of lengthscale[x1] and sd.x are x1 and x.
entry_element <- function(value, parameter) {
  if (!is.list(value) || is_value(value)) return(value)
  element <- sub("\\]$", "", sub("^[^\\[]*\\[", "", parameter))
  if (identical(element, parameter)) element <- "(Intercept)"
  if (element %in% names(value)) value[[element]] else value[["default"]]
}

# What was found, as the table has it.
typed_entry <- function(found, quantity, transform, standing) {
  shown <- sprintf("prior$%s", found$shown)
  value <- found$value
  if (transform != "log") {
    if (transform %in% c("logit", "atanh") && is.numeric(value)) value <- fixed(value)
    if (transform %in% c("logit", "atanh")) return(as_share(value, shown, transform))
    stop_galvi("prior", sprintf(paste(
      "`%s`: numbers in order, such as thresholds, take no prior. cumulative(thresholds = c(-1, 1)) gives starting",
      "values, and cumulative(thresholds = fixed(c(-1, 1))) holds them."
    ), shown))
  }
  root <- quantity == "variance" && !grepl("variance", found$key, fixed = TRUE)
  entry <- as_parameter(
    value, shown, number = "hold", zero_ok = quantity == "variance", variance = quantity == "variance",
    sd = root || quantity == "sd"
  )
  if (root) {
    entry$value <- entry$value^2
    if (!is.null(entry$prior)) {
      of_sd <- fact("hyper_prior", entry$prior$type, "of") == "variance"
      entry$prior["quantity"] <- if (of_sd) list(NULL) else "root"
    }
  }
  # a prior does not say where to start, the data do
  if (!is.null(entry$prior) && standing$learned && all(is.finite(standing$value))) entry$value <- standing$value
  entry
}

# A variance, a standard deviation or another positive number? Variances are called so; an sd may also be a scale.
quantity_of <- function(parameter, sd) {
  if (sd || grepl("^sd(\\.|$)", parameter)) "sd" else if (grepl("(^|\\.)variance(\\[|$)",
    parameter)) "variance" else "other"
}

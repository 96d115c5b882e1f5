# The hyperparameter table while terms are built, and `start =`.

# ---- weak priors ----
# Where none is typed, estimates have no prior, but the posterior of what is learned has: as the core knows them.

#' That of a standard deviation of effects
#'
#' @param unit A typical one. quantity: is its parameter the standard deviation, "sd", or the variance, "root"?
#' @noRd
weak_of_sd <- function(unit, quantity) list(type = "half_normal", sd = 10 * unit, quantity = quantity)

#' That of noise
#'
#' So wide on the logarithmic scale that limits agree with those of lm() for ten rows. Such a prior has no end at zero:
#' beside known variances of the rows, where the likelihood does not go to zero either, noise is an effect of each row.
#' @param start Half of the response's variance, or the standard deviation that belongs to it. quantity: as above.
#' @param beside_known Are there such variances?
#' @noRd
weak_of_noise <- function(start, quantity, beside_known) {
  root <- quantity == "root"
  if (beside_known) return(weak_of_sd(if (root) sqrt(2 * start) else sqrt(2) * start, quantity))
  unclass(log_normal(log(start), if (root) 10 else 5))
}

# ---- the table ----

#' The hyperparameter table, which terms fill while they are built
#'
#' A hyperparameter is a number or an array: one block with one name, whose shape tells how many numbers it has.
#' The registry is a closure, because kernels register by callback; the model keeps only its table.
#' @param typed What the argument `prior` says of hyperparameters, from new_typed().
#' @return list(add, for_term, table, typed)
#' @noRd
new_registry <- function(typed = new_typed()) {
  blocks <- list()
  count <- 0L
  # Adds a block -> the positions of its numbers, in its shape. owner: the first part of its name, such as `x1` in
  # x1.sd; term: the label of its term; value: list(value, learned, prior). The numbers of an array share the prior, and
  # may share `learned` and the range. guessed: is it a lengthscale, or what stands for one, whose start is a guess from
  # the inputs? The core then tries shorter ones first. limited: do ends of its range stand for limits of the model, such
  # as a variance of zero? family: other names of a family's parameter, NULL for terms; sd: is it a
  # standard deviation, although it is not called so? signed: may it have any sign? weak: the prior that its posterior
  # has where none is typed; NULL for that of weak_priors().
  add <- function(owner, parameter, value, lower, upper, transform = "log", term = owner, guessed = FALSE,
                  limited = FALSE, family = NULL, sd = FALSE, weak = NULL, signed = startsWith(parameter, "loading[")) {
    size <- length(value$value)
    if (size == 1L && is.null(dim(value$value))) {
      found <- typed$find(owner, parameter, term, family, value)
      if (!is.null(found)) {
        value <- typed_entry(found, quantity_of(parameter, sd, signed), transform, value)
        guessed <- guessed && value$learned
        own <- if (grepl("variance", found$key)) parameter else sub("variance", "sd", parameter, fixed = TRUE)
        typed$record(
          if (is.null(family)) paste0(owner, ".", own) else found$key,
          if (is_value(found$value)) found$value else fixed(found$value)
        )
      }
    }
    blocks[[length(blocks) + 1L]] <<- list(
      name = paste0(owner, ".", parameter), term = term, parameter = parameter,
      value = as.numeric(value$value), transform = transform, learned = rep_len(value$learned, size),
      lower = rep_len(lower, size), upper = rep_len(upper, size), prior = value$prior, size = size,
      guessed = if (guessed) value$value else NA_real_, limited = limited, shape = dim(value$value),
      weak = weak
    )
    positions <- count + seq_len(size)
    count <<- count + size
    if (is.null(dim(value$value))) positions else array(positions, dim(value$value))
  }
  # the argument `register` of kernel_spec(). owner: the term, and the class if each class has its own kernel
  for_term <- function(label, owner = label) {
    function(parameter, value, default, lower, upper, variance, learned, guessed, transform) {
      shown <- paste0(owner, ".", parameter)
      entry <- if (is.null(value) && !learned) {
        list(value = default, learned = FALSE, prior = NULL)
      } else {
        as_parameter(value, shown, default, variance = variance, zero_ok = TRUE, what = "kernel")
      }
      add(owner, parameter, entry, lower, upper, transform, label, guessed, limited = variance)
    }
  }
  list(add = add, for_term = for_term, table = function() expand_blocks(blocks), typed = typed)
}

#' Blocks -> a list of columns with an entry for each number: name, term and parameter (of its block), value,
#' transform, learned, lower, upper, prior, guessed (the start where it is a guess, else NA); and `shape`, the
#' dimensions
#' of blocks that are arrays, by name
#' @noRd
expand_blocks <- function(blocks) {
  sizes <- vapply(blocks, `[[`, 1L, "size")
  once <- function(column) rep(vapply(blocks, `[[`, "", column), sizes)
  each <- function(column, empty) c(empty, unlist(lapply(blocks, `[[`, column)))
  names <- vapply(blocks, `[[`, "", "name")
  arrays <- !vapply(blocks, function(block) is.null(block$shape), NA)
  widen_ranges(list(
    name = once("name"), term = once("term"), parameter = once("parameter"), value = each("value", numeric()),
    transform = once("transform"), learned = each("learned", logical()), lower = each("lower", numeric()),
    upper = each("upper", numeric()), prior = rep(lapply(blocks, `[[`, "prior"), sizes),
    weak = rep(lapply(blocks, `[[`, "weak"), sizes),
    guessed = rep(vapply(blocks, `[[`, 0, "guessed"), sizes),
    limited = rep(vapply(blocks, `[[`, NA, "limited"), sizes),
    shape = stats::setNames(lapply(blocks[arrays], `[[`, "shape"), names[arrays])
  ))
}

#' Which numbers of the table are parts of an array? Users see these elsewhere, for example as fit$inducing.
#' @noRd
in_array <- function(hyper) hyper$name %in% names(hyper$shape)

# Does the transform of a number depend on the numbers before it, as for ordered numbers and correlations of a matrix?
# Its range is then that of the transform's argument: the distance from the number before, or the partial correlation.
is_relative <- function(hyper) fact("transform", hyper$transform, "relative")

# Of the intervals in which these transforms act.
transform_ends <- function(transform) {
  facts <- core_facts$transform
  at <- match(transform, facts[[1L]])
  list(low = facts$lower[at], high = facts$upper[at])
}

# Widens ranges so that starting values are well inside. A range reaches at least half way to the ends of the
# transform's interval; if that has no upper end, a factor of ten from the start; if it has no ends, a distance of ten.
widen_ranges <- function(hyper) {
  x <- transform_arguments(hyper$transform, hyper$value)
  for (transform in unique(hyper$transform[hyper$learned])) {
    at <- which(hyper$learned & hyper$transform == transform)
    ends <- transform_ends(transform)
    around <- if (is.finite(ends$high)) {
      list((ends$low + x[at]) / 2, (x[at] + ends$high) / 2)
    } else if (is.finite(ends$low)) {
      list(ends$low + (x[at] - ends$low) / 10, ends$low + (x[at] - ends$low) * 10)
    } else {
      list(x[at] - 10, x[at] + 10)
    }
    hyper$lower[at] <- pmin(hyper$lower[at], around[[1L]])
    hyper$upper[at] <- pmax(hyper$upper[at], around[[2L]])
  }
  hyper
}

# Values must be inside the interval of their transform; fixed values may also be at its ends. arg: the argument that
# they come from.
check_values <- function(hyper, at, arg) {
  argument <- transform_arguments(hyper$transform, hyper$value)
  ends <- transform_ends(hyper$transform)
  low <- ends$low
  high <- ends$high
  relative <- is_relative(hyper)
  inside <- is.finite(hyper$value) & !is.na(argument) & argument > low & argument < high
  at_end <- !hyper$learned & !relative & !is.na(argument) & argument >= low & argument <= high
  bad <- intersect(at, which(!inside & !at_end & (!relative | !is.finite(hyper$value))))
  if (length(bad)) {
    bad <- bad[1L]
    must <- if (is.finite(high[bad])) {
      sprintf("between %g and %g", low[bad], high[bad])
    } else {
      paste0(if (is.finite(low[bad]) && !relative[bad]) "positive and ", "finite")
    }
    stop_galvi("argument", sprintf(
      "`%s` must be %s, not %s (`%s`).", arg, must, format(hyper$value[bad]), hyper$name[bad]
    ))
  }
  bad <- which(relative & !inside)[1L]
  if (is.na(bad)) return(invisible())
  # distances have no upper limit, partial correlations have one
  stop_galvi("argument", if (is.finite(high[bad])) {
    sprintf("`%s` must be a valid correlation matrix: `%s` = %s contradicts the correlations before it.", arg,
      hyper$name[bad], format(hyper$value[bad]))
  } else {
    sprintf("`%s` must be increasing: `%s` (%s) is not below `%s` (%s).", arg, hyper$name[bad - 1L],
      format(hyper$value[bad - 1L]), hyper$name[bad], format(hyper$value[bad]))
  })
}

check_start <- function(start) {
  if (is.list(start) && length(start) && all(lengths(start) == 1L)) start <- unlist(start)
  if (!is.numeric(start) || is.null(names(start)) || !all(nzchar(names(start)))) {
    stop_galvi("argument", sprintf(
      "`start` must be a fit or numbers named like hyperparameters, as c(\"gp(x).variance\" = 2), not %s.",
      describe(start)
    ))
  }
  start
}

# Those of intervals with two ends.
share_transforms <- c("logit", "one_to_two", "atanh")

#' A starting value in the interval of its transform, or fixed() -> list(value, learned, prior)
#' @noRd
as_share <- function(x, arg, transform) {
  if (is_value(x) && !is_fixed(x) && !is_learned(x)) {
    stop_galvi("argument", sprintf(
      "`%s` must be a number or fixed(), not %s: it takes no prior.", arg, format(x)
    ))
  }
  value <- if (is_value(x)) x$value else x
  ends <- transform_ends(transform)
  inside <- is.numeric(value) && length(value) == 1L && !is.na(value) && value > ends$low && value < ends$high
  if (!inside) {
    stop_galvi("argument", sprintf(
      "`%s` must be a number between %g and %g, both excluded, not %s.", arg, ends$low, ends$high,
      if (is_value(x)) format(x) else describe(x)
    ))
  }
  list(value = as.numeric(value), learned = !is_fixed(x), prior = NULL)
}

#' What to do with entries of `prior` for which a model has no parameter
#'
#' @param kept Are they those of an earlier fit? They are then left out; else they are errors.
#' @return list(found, paths), functions: to tell of one, with the names where it stands, from the outside in; and all of
#'   them.
#' @noRd
new_absent <- function(kept = FALSE) {
  force(kept)
  paths <- list()
  list(
    found = function(path, message) {
      if (!kept) stop_galvi("prior", message)
      paths <<- unique(c(paths, list(path)))
    },
    paths = function() paths
  )
}

# Typed priors of hyperparameters: each is looked up by the hyperparameter's own name while the table is built.

#' The typed entries while the table is built
#'
#' @param entries From sort_priors(), of all predictors. written: terms as users write them, named by their labels.
#' @param absent From new_absent().
#' @return list(find, unused, names, record), functions: the entry for a hyperparameter or NULL; entries that none asked
#'   for; how hyperparameters are named in `prior`; and what was given, by these names.
#' @noRd
new_typed <- function(entries = list(), written = character(), absent = new_absent()) {
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
      if (length(given_numbers(value)) > 1L) {
        absent$found(entry$path, sprintf("`prior$%s` must be one number, not %s.", entry$shown,
          if (is_value(value)) format(value) else describe(value)))
        next
      }
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

# The numbers of fixed(x) or x, NULL of anything else.
given_numbers <- function(x) if (is_fixed(x)) x$value else if (is.numeric(x)) x

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
  if (quantity == "signed") return(signed_entry(value, shown, standing))
  if (transform != "log") {
    if (transform %in% share_transforms && is.numeric(value)) value <- fixed(value)
    if (transform %in% share_transforms) return(as_share(value, shown, transform))
    stop_galvi("prior", sprintf(paste(
      "`%s`: numbers in order, such as thresholds, take no prior. cumulative(thresholds = c(-1, 1)) gives starting",
      "values, and cumulative(thresholds = fixed(c(-1, 1))) holds them."
    ), shown))
  }
  root <- quantity == "variance" && !grepl("variance", found$key, fixed = TRUE)
  entry <- as_parameter(
    cut_at_zero(value), shown, number = "hold", zero_ok = quantity == "variance", variance = quantity == "variance",
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

# Numbers of any sign, such as loadings.
signed_entry <- function(value, shown, standing) {
  if (is_normal(value) && is.numeric(value$sd) && is.finite(value$sd)) {
    return(list(value = standing$value, learned = standing$learned, prior = unclass(value)))
  }
  if (is_fixed(value)) value <- value$value
  if (is.numeric(value) && length(value) == 1L && is.finite(value)) {
    return(list(value = as.numeric(value), learned = FALSE, prior = NULL))
  }
  stop_galvi("prior", sprintf(
    "`%s` must be normal() with a number as sd, or a number at which it is fixed, not %s.", shown,
    if (is_value(value)) format(value) else describe(value)
  ))
}

# A number of any sign, a variance, a standard deviation or another positive number? Variances are called so; an sd may
# also be a scale.
quantity_of <- function(parameter, sd, signed) {
  if (signed) return("signed")
  if (sd || grepl("^sd(\\.|$)", parameter)) "sd" else if (grepl("(^|\\.)variance(\\[|$)",
    parameter)) "variance" else "other"
}

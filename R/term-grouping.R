# What is right of a bar: a grouping factor, gr() with a known matrix or variances by level of a factor, mm() for rows
# that belong to several groups.

#' @param group The expression. refuse: function(text) that stops.
#' @return list(inputs, group: as it is named; known; split: the factor whose levels have covariances of their own;
#'   members: does a row belong to several groups? weights, scale: of mm(); independent: are effects uncorrelated?)
#' @noRd
read_grouping <- function(group, env, refuse) {
  read <- list(gr = read_gr, mm = read_mm)[[head_name(group)]]
  if (!is.null(read)) return(read(group, env, refuse))
  if (is_dot(group) || !length(all.vars(group))) refuse("right of the bar must be a grouping factor.")
  if (head_name(group) %in% c("+", "*")) {
    refuse("write one term for each grouping, or one with a:b for both together.")
  }
  found <- field_input(group)
  c(found["inputs"], list(group = or_else(found$shown, variable_name(group))))
}

# The arguments of gr() and mm(), as brms has them; those that mean nothing here stop.
group_arguments <- function(call, known, refuse) {
  arguments <- as.list(call)[-1L]
  given <- or_else(names(arguments), rep("", length(arguments)))
  named <- arguments[nzchar(given)]
  check_no_dots(named[!names(named) %in% c(known, "id", "dist", "cor")], known, paste0(head_name(call), "()"))
  if (!is.null(named$id)) refuse("`id` ties effects of several formulas together, which are independent here.")
  if (!is.null(named$dist) && !identical(named$dist, "gaussian")) refuse("effects of groups are gaussian.")
  independent <- identical(named$cor, FALSE) || identical(named$cor, quote(F))
  c(list(groups = unname(arguments[!nzchar(given)]), independent = independent), named[names(named) %in% known])
}

read_gr <- function(call, env, refuse) {
  own <- group_arguments(call, c("by", "cov", "precision"), refuse)
  if (!length(own$groups)) refuse("gr() needs a grouping factor, as in (1 | gr(g, cov = A)).")
  found <- field_input(Reduce(function(a, b) call(":", a, b), own$groups))
  known <- read_known(own, env)
  if (!is.null(known) && !is.null(own$by)) refuse("gr() has `by`, or a known matrix, not both.")
  c(found["inputs"], list(
    group = or_else(found$shown, variable_name(found$inputs[[1L]])), known = known, split = own$by,
    independent = own$independent
  ))
}

read_mm <- function(call, env, refuse) {
  own <- group_arguments(call, c("weights", "scale", "cov", "precision"), refuse)
  if (length(own$groups) < 2L) refuse("mm() needs two groupings or more, as in (1 | mm(g1, g2)).")
  scale <- check_flag(check_evaluates(eval(or_else(own$scale, TRUE), env), "scale"), "scale")
  list(
    # a group may be missing where its weight is zero
    inputs = if (is.null(own$weights)) own$groups else lapply(own$groups, function(group) call("addNA", group)),
    group = sprintf("mm(%s)", paste(vapply(own$groups, deparse_one, ""), collapse = ", ")),
    known = read_known(own, env), members = TRUE, weights = own$weights, scale = scale, independent = own$independent
  )
}

#' The groups of rows: n x m, NA for a missing one
#' @noRd
row_groups <- function(spec, frame) {
  groups <- lapply(spec$inputs, function(input) {
    name <- variable_name(input)
    level_text(check_grouping(frame[[name]], spec, name))
  })
  matrix(as.character(unlist(groups)), nrow(frame), length(groups))
}

#' The weights of the groups of rows: n x m
#' @noRd
row_memberships <- function(spec, frame) {
  m <- length(spec$inputs)
  n <- nrow(frame)
  if (!isTRUE(spec$members)) return(matrix(1, n, 1L))
  weights <- if (is.null(spec$weights)) matrix(1 / m, n, m) else {
    name <- variable_name(spec$weights)
    given <- frame[[name]]
    if (!is.numeric(given) || NCOL(given) != m) {
      stop_galvi("data", sprintf("`weights = %s` of mm() must be %d columns of numbers, one for each grouping, not %s.",
        name, m, describe(given)))
    }
    matrix(as.numeric(given), n, m)
  }
  bad <- which(rowSums(!is.finite(weights) | weights < 0) > 0)
  if (length(bad)) {
    stop_galvi("data", sprintf("`weights` of mm() must be finite and not negative; %s.",
      found_in_rows(weights[, 1L], bad)))
  }
  if (spec$scale) {
    sums <- rowSums(weights)
    bad <- which(sums == 0)
    if (length(bad)) {
      stop_galvi("data", sprintf("`weights` of mm() must not all be zero in a row (row %s).", row_label(bad[1L])))
    }
    weights <- weights / sums
  }
  weights
}

#' Keeps the levels: those of the known matrix, or of all groupings of a row
#' @noRd
learn_row_groups <- function(spec, frame) {
  if (!is.null(spec$known)) {
    spec$levels <- spec$known$levels
    groups <- row_groups(spec, frame)
    for (m in seq_along(spec$inputs)) check_known_groups(spec, groups[, m], variable_name(spec$inputs[[m]]))
    return(spec)
  }
  each <- lapply(spec$inputs, function(input) {
    name <- variable_name(input)
    learn_groups(spec, check_grouping(frame[[name]], spec, name), name)$levels
  })
  spec$levels <- unique(unlist(each))
  spec$levels <- spec$levels[!is.na(spec$levels)]
  spec
}

#' list(at: n x m, 0 for none; more: how many new levels; weight: n x m)
#' @noRd
find_row_groups <- function(spec, frame) {
  groups <- row_groups(spec, frame)
  weight <- row_memberships(spec, frame)
  for (m in seq_along(spec$inputs)) {
    if (!is.null(spec$known)) check_known_groups(spec, groups[, m], variable_name(spec$inputs[[m]]))
  }
  new <- setdiff(groups[!is.na(groups)], spec$levels)
  at <- matrix(match(groups, c(spec$levels, new), 0L), nrow(groups))
  at[is.na(groups)] <- 0L
  list(at = at, more = length(new), weight = weight)
}

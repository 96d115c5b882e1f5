# Formula + data -> design: the parsed formula with the data. R/model.R makes a model of it.

design_of_data <- function(formulas, data, family, args, na.action) {
  parts <- parse_formulas(formulas, data, family, elsewhere = unlist(lapply(args, all.vars)))
  design_of_parts(parts, formulas, data, family, args, na.action)
}

design_of_parts <- function(parts, formulas, data, family, args, na.action) {
  frame <- model_frame(frame_terms(parts), data, args, na.action)
  # the mesh of a quadrature scheme
  attr(frame, "mesh") <- attr(data, "mesh")
  attr(frame, "inner") <- inner_variables(frame, data)
  naming_rows(frame_labels(frame), design_of_frame(formulas, family, parts, frame, args))
}

design_of_frame <- function(formulas, family, parts, frame, args) {
  response <- family_response(
    family, stats::model.response(frame), row_weights(frame, args$weights), response_typed(parts),
    counted = counts_rows(args$weights)
  )
  latents <- if (length(parts$others)) {
    c("mu", names(parts$others))
  } else {
    family_type(family)$latents(response$levels, family)
  }
  with_memory(latents_size(nrow(frame), length(latents), family), NULL)
  known <- args[intersect(names(known_words), names(args))]
  new_step("galvi_design", list(
    formula = formulas[[1L]], family = family, data = frame, y = response$y, size = response$size,
    weights = response$weights, offset = frame_offset(frame, latents),
    levels = response$levels,
    latents = latents, parts = parts, args = args, censoring = response$censoring, counts = response$counts,
    shares = response$shares,
    survival = response$survival, known = known_of_rows(frame, known, family, response$y),
    truncated = any(c("lb", "ub") %in% names(known))
  ))
}

# What messages call the response: a left side with a bar as it was typed.
response_typed <- function(parts) or_else(attr(parts$formula, "said")$typed, variable_name(parts$response))

# In other formulas the parameter has the place of the response; the response itself is in no right side.
parse_formulas <- function(formulas, data, family, elsewhere) {
  check_two_parts(formulas[[1L]], family)
  parts <- parse_formula(formulas[[1L]], data, elsewhere)
  parts$others <- lapply(parameter_formulas(formulas, family), function(formula) {
    own <- parse_formula(formula, data, c(elsewhere, all.vars(parts$response)))
    prefix <- parameter_prefix(as.character(formula[[2L]]))
    own$specs <- lapply(own$specs, function(spec) replace(spec, "label", paste0(prefix, spec$label)))
    own
  })
  parts
}

# y ~ x | w: a second parameter's formula is behind the bar in betareg and pscl, a group in lme4.
check_two_parts <- function(formula, family) {
  right <- formula[[length(formula)]]
  if (length(formula) != 3L || head_name(right) != "|") return(invisible())
  second <- setdiff(c(always_predicted(family), family$dpars), "mu")
  if (!length(second)) return(invisible())
  part <- function(left, right) deparse_one(call("~", left, right))
  if (family$family == "negbinomial") {
    stop_galvi("formula", sprintf(paste(
      "`%s`: groups are in parentheses, (1 | g) or (x | g); a formula of zeros, as in zeroinfl() of pscl, is",
      "list(%s, %s) with family = zero_inflated(negbinomial()), and as in hurdle() that of `hu` with",
      "hurdle(negbinomial())."
    ), deparse_one(right), part(formula[[2L]], right[[2L]]), part(quote(zi), right[[3L]])))
  }
  stop_galvi("formula", sprintf(
    "`%s`: groups are in parentheses, (1 | g) or (x | g); a formula of `%s`, as in betareg and pscl, is list(%s, %s).",
    deparse_one(right), second[1L], part(formula[[2L]], right[[2L]]), part(as.name(second[1L]), right[[3L]])
  ))
}

check_data <- function(data) {
  if (is.null(data)) return(NULL)
  if (is.list(data) && !is.data.frame(data)) data <- frame_of_list(data)
  # a table's counts become its column Freq, as in lm()
  if (is.matrix(data) || is.table(data)) data <- as.data.frame(data)
  if (!is.data.frame(data)) {
    stop_galvi("data", sprintf("`data` must be a data frame, not %s.%s", describe(data),
      if (isS4(data) && inherits(data, "Spatial")) " as.data.frame() of it has places as columns." else ""))
  }
  if (!nrow(data)) stop_galvi("data", "`data` is empty: it has no rows to fit.")
  without_integer64(data)
}

#' A list of variables as a data frame, in which matrices stay matrices, as s(X, by = L) needs them
#' @noRd
frame_of_list <- function(data) {
  wide <- vapply(data, is.matrix, NA)
  if (!any(wide)) return(as.data.frame(data))
  frame <- as.data.frame(data[!wide])
  if (!length(frame)) frame <- data.frame(row.names = seq_len(nrow(data[[1L]])))
  for (name in names(data)[wide]) {
    if (nrow(data[[name]]) != nrow(frame)) {
      stop_galvi("data", sprintf("`data` is a list in which `%s` has %d rows and other variables have %d.", name,
        nrow(data[[name]]), nrow(frame)))
    }
    frame[[name]] <- data[[name]]
  }
  frame
}

#' Checks the numbers of a design like the user's data, as the user may have changed them
#' @noRd
check_design <- function(design) {
  check_step(design, "galvi_design", "design")
  n <- nrow(design$data)
  for (name in c("y", "size")) {
    x <- design[[name]]
    right <- is.numeric(x) && length(x) == n && all(is.finite(x))
    if (right && (name != "size" || all(x > 0))) next
    stop_galvi("argument", sprintf(
      "`design$%s` must be %d finite%s numbers, one for each row, not %s.", name, n,
      if (name == "size") " positive" else "", describe(x)
    ))
  }
  if (length(design$weights) != n) {
    stop_galvi("argument", sprintf(
      "`design$weights` must be %d numbers, one for each row, not %s.", n, describe(design$weights)
    ))
  }
  design$weights <- check_weights(design$weights, n)
  if (NROW(design$offset) != n) {
    stop_galvi("argument", sprintf(
      "`design$offset` must have %d rows, not %d.", n, NROW(design$offset)
    ))
  }
  k <- max(1L, length(design$latents))
  design$offset <- matrix(offset_columns(design$offset, design$latents, k), n, k)
  design
}

#' What is needed to turn new data into rows of the model: the frame's terms, factor levels, each term's spec. Its size
#' does not depend on N.
#' @param built From build_terms(), for each predictor.
#' @noRd
row_design <- function(design, built) {
  parts <- design$parts
  out <- c(list(
    formula = parts$formula, columns = parts$columns, times = parts$times, frame_terms = attr(design$data, "terms"),
    xlevels = known_levels(design$data, parts)
  ), own_design(parts, built[[1L]]), list(
    offset = design$args$offset, weights = design$args$weights,
    known = design$args[intersect(names(known_words), names(design$args))], family = design$family,
    K = max(1L, length(design$latents)), response = list(
      name = variable_name(parts$response), levels = design$levels, latents = design$latents,
      survival = design$survival, counts = !is.null(design$counts)
    )
  ))
  if (!is.null(design$wide)) out$wide <- design$wide
  if (!is.null(design$intervals)) out$intervals <- design$intervals
  if (!is.null(design$stages)) out$stages <- design$stages
  links <- lapply(family_type(design$family)$dpars[names(parts$others)], `[[`, "link")
  out$others <- Map(function(part, link, built) {
    c(list(formula = part$formula, link = link), own_design(part, built))
  }, parts$others, links, built[-1L])
  out
}

# The part of it that belongs to one predictor.
own_design <- function(parts, built) {
  list(
    terms = parts$fixed, assign = built$fixed$spec$assign, contrasts = built$fixed$spec$contrasts,
    specs = built$specs, labels = vapply(built$specs, `[[`, "", "label")
  )
}

# Levels that are allowed in new data, by variable. Variables that only open terms use may have others.
known_levels <- function(frame, parsed) {
  if (!any(vapply(unclass(frame)[-1L], function(x) is.factor(x) || is.character(x), NA))) return(NULL)
  levels <- stats::.getXlevels(without_response(attr(frame, "terms")), frame)
  specs <- single_specs(all_specs(parsed))
  open <- which_can(specs, "open")
  by <- lapply(specs, function(spec) if (!is.null(spec$by)) variable_name(spec$by))
  closed <- c(input_names(specs[!open]), unlist(by), fixed_names(parsed))
  levels[setdiff(names(levels), setdiff(input_names(specs[open]), closed))]
}

# delete.response() needs the attribute `factors`, which our frame's terms do not have.
without_response <- function(terms) {
  drop_first <- function(x) if (is.null(x)) NULL else x[-2L]
  attr(terms, "variables") <- drop_first(attr(terms, "variables"))
  attr(terms, "predvars") <- drop_first(attr(terms, "predvars"))
  attr(terms, "offset") <- if (length(attr(terms, "offset"))) attr(terms, "offset") - 1L
  attr(terms, "other_offsets") <- lapply(attr(terms, "other_offsets"), `-`, 1L)
  attr(terms, "dataClasses") <- attr(terms, "dataClasses")[-1L]
  attr(terms, "response") <- 0L
  terms[[2L]] <- NULL
  terms
}

# maker: the step that returns the fields.
new_step <- function(maker, fields) structure(fields, maker = maker, class = "galvi_step")

check_step <- function(x, maker, arg) {
  if (inherits(x, "galvi_step") && identical(attr(x, "maker"), maker)) return(invisible())
  stop_galvi("argument", sprintf("`%s` must be what %s() returns, not %s.", arg, maker, describe(x)))
}

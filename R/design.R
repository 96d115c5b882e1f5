# Formula parts + data -> design (how rows of data become rows of the model) and the border's `model` list.

# ---- the model frame ----

# One frame with all variables: response, fixed effects, terms, offsets; weights and offset= as model.frame()
# has them. Variables go in as they are: terms() would read x^2 or x1:x2 in a gp() as formula algebra.
frame_terms <- function(parsed) {
  fixed <- as.list(attr(parsed$fixed, "variables"))[-1L]
  inputs <- unlist(lapply(parsed$specs, `[[`, "variables"), recursive = FALSE)
  variables <- c(list(parsed$response), fixed, inputs)
  variables <- variables[!duplicated(vapply(variables, variable_name, ""))]
  structure(
    parsed$formula,
    variables = as.call(c(quote(list), variables, parsed$offsets)),
    offset = if (length(parsed$offsets)) length(variables) + seq_along(parsed$offsets),
    all_levels = step_factors(parsed), response = 1L, .Environment = parsed$env, class = c("terms", "formula")
  )
}

# Variables that keep levels without observations: times of walks, where each level is a step.
step_factors <- function(parsed) {
  walks <- vapply(parsed$specs, function(spec) spec$type %in% c("rw1", "rw2", "ar1"), NA)
  setdiff(input_names(parsed$specs[walks]), c(input_names(parsed$specs[!walks]), fixed_names(parsed)))
}

input_names <- function(specs) {
  vapply(unlist(lapply(specs, `[[`, "inputs")), variable_name, "")
}

fixed_names <- function(parsed) {
  vapply(as.list(attr(parsed$fixed, "variables"))[-1L], variable_name, "")
}

# args: the user's expressions for weights, offset and subset. Missing values are dealt with here, once the
# frame is known to have any: na.omit() would copy every column.
model_frame <- function(terms, data, args, na.action) {
  check_variables(terms, data, args)
  call <- as.call(c(
    quote(stats::model.frame), list(formula = terms, data = data, na.action = quote(stats::na.pass)), args
  ))
  frame <- tryCatch(eval(call, environment(terms)), error = function(e) {
    if (inherits(e, "galvi_error")) stop(e)
    message <- conditionMessage(e)
    what <- if (length(unknown_function(message))) "formula" else "data"
    stop_galvi(what, unreadable(message, "data"))
  })
  frame <- drop_unused_levels(handle_missing(frame, na.action), keep = attr(terms, "all_levels"))
  if (!nrow(frame)) {
    stop_galvi("data", sprintf(
      "`data` is empty: no row is left%s.",
      if (length(attr(frame, "na.action"))) " without missing values" else ""
    ))
  }
  frame
}

# model.frame()'s own words, but for the case that users meet.
unreadable <- function(message, where) {
  unknown <- unknown_function(message)
  if (length(unknown)) {
    return(sprintf(
      "`%s()` in the formula is neither a term nor a function that R can find.%s", unknown,
      did_you_mean(unknown, c(names(term_types()), galvi_words(), "offset"))
    ))
  }
  variable <- sub(".*found for '(.*)'.*", "\\1", message)
  if (identical(variable, message)) {
    return(sprintf("The formula's variables cannot be read from `%s`: %s.", where, message))
  }
  sprintf("`%s` must have one value per row of `%s`.", gsub("^\\((.*)\\)$", "\\1", variable), where)
}

# The response keeps its levels: one row of a factor of two says which of them it is.
drop_unused_levels <- function(frame, keep = character()) {
  for (j in setdiff(which(vapply(unclass(frame), is.factor, NA) & !names(frame) %in% keep), 1L)) {
    x <- frame[[j]]
    if (!all(tabulate(x, nlevels(x)))) frame[[j]] <- x[, drop = TRUE]
  }
  frame
}

has_missing <- function(frame) vapply(unclass(frame), anyNA, NA)

handle_missing <- function(frame, na.action) {
  missing <- has_missing(frame)
  if (!any(missing)) return(frame)
  if (identical(na.action, stats::na.fail)) {
    stop_galvi("data", sprintf(
      "Missing values in %s, and `na.action` is na.fail; na.omit leaves their rows out.",
      quote_names(names(frame)[missing])
    ))
  }
  frame <- na.action(frame)
  missing <- has_missing(frame)
  if (any(missing)) {
    stop_galvi("data", sprintf(
      "Missing values in %s: the model needs every value. na.action = na.omit leaves their rows out.",
      quote_names(names(frame)[missing])
    ))
  }
  frame
}

check_variables <- function(terms, data, args) {
  env <- environment(terms)
  known <- names(data)
  uses <- function(expr, arg) {
    for (v in setdiff(looked_up(expr), known)) {
      if (exists(v, envir = env)) next
      stop_galvi("data", sprintf(
        "`%s`, used in %s, is not a column of `data` nor found where the formula was written.%s", v, arg,
        did_you_mean(v, known)
      ))
    }
  }
  uses(attr(terms, "variables"), "the formula")
  for (arg in names(args)) uses(args[[arg]], sprintf("`%s`", arg))
}

# The sum of all offsets, N x K: one column is added to every latent value. latents: their names, NULL for
# one.
frame_offset <- function(frame, latents = NULL) {
  k <- max(1L, length(latents))
  total <- matrix(0, nrow(frame), k)
  at <- c(attr(attr(frame, "terms"), "offset"), match("(offset)", names(frame), 0L))
  for (j in at[at > 0L]) total <- total + offset_columns(frame[[j]], latents, k)
  total
}

offset_columns <- function(offset, latents, k) {
  if (!is.numeric(offset)) stop_galvi("data", "`offset` must be numbers.")
  if (!NCOL(offset) %in% c(1L, k)) {
    stop_galvi("data", sprintf(
      "`offset` must be one column of numbers%s, not %s.",
      if (k > 1L) sprintf(" or a matrix of %d, for %s", k, quote_names(latents, max = 6L)) else "",
      describe(offset)
    ))
  }
  bad <- which(!is.finite(offset))
  if (length(bad)) {
    stop_galvi("data", sprintf(
      "`offset` must be finite; row %d has %s.", (bad[1L] - 1L) %% NROW(offset) + 1L, format(offset[bad[1L]])
    ))
  }
  # columns that are named like the latent values go where they belong
  if (NCOL(offset) > 1L && setequal(colnames(offset), latents)) offset <- offset[, latents, drop = FALSE]
  matrix(as.numeric(offset), NROW(offset), k)
}

# ---- hyperparameters ----

# Collects the hyperparameter table while the terms are built. A closure, because kernels register by
# callback; only its table leaves.
new_registry <- function() {
  rows <- list()
  # owner: whose parameter it is in its name, such as `x1` in x1.sd; term: the label of the term it belongs to
  add <- function(owner, parameter, value, lower, upper, transform = "log", term = owner) {
    rows[[length(rows) + 1L]] <<- list(
      name = paste0(owner, ".", parameter), term = term, parameter = parameter, value = value$value,
      transform = transform, learned = value$learned, lower = lower, upper = upper, prior = value$prior
    )
    length(rows)
  }
  # what kernel_spec() calls; see R/kernel.R. owner: the term, and the class where each has its own
  for_term <- function(label, owner = label) {
    function(parameter, value, default, lower, upper, learned = TRUE, transform = "log") {
      shown <- paste0(owner, ".", parameter)
      entry <- if (is.null(value) && !learned) {
        list(value = default, learned = FALSE, prior = NULL)
      } else {
        as_parameter(
          value, shown, default, variance = grepl("variance", parameter), zero_ok = TRUE, what = "kernel"
        )
      }
      add(owner, parameter, entry, lower, upper, transform, term = label)
    }
  }
  table <- function() {
    column <- function(field, type) vapply(rows, `[[`, type, field)
    widen_ranges(list(
      name = column("name", ""), term = column("term", ""), parameter = column("parameter", ""),
      value = column("value", 0), transform = column("transform", ""),
      learned = column("learned", NA), lower = column("lower", 0), upper = column("upper", 0),
      prior = lapply(rows, `[[`, "prior")
    ))
  }
  list(add = add, for_term = for_term, table = table)
}

# Ranges have the starts well inside. Numbers in order (transform "above") are ranged by their distances.
widen_ranges <- function(hyper) {
  above <- which(hyper$transform == "above")
  size <- replace(hyper$value, above, hyper$value[above] - hyper$value[above - 1L])
  free <- hyper$transform == "identity"
  low <- ifelse(free, size - 10, size / 10)
  high <- ifelse(free, size + 10, size * 10)
  # between 0 or -1 and 1: half way to the ends
  share <- hyper$transform %in% c("logit", "atanh")
  high[share] <- (size[share] + 1) / 2
  low[share] <- (size[share] + ifelse(hyper$transform[share] == "logit", 0, -1)) / 2
  hyper$lower <- ifelse(hyper$learned, pmin(hyper$lower, low), hyper$lower)
  hyper$upper <- ifelse(hyper$learned, pmax(hyper$upper, high), hyper$upper)
  hyper
}

# `start =`: a fit or named numbers. Held values stay held.
apply_start <- function(hyper, start) {
  if (is.null(start)) return(hyper)
  from_fit <- inherits(start, "galvi")
  values <- if (from_fit) stats::setNames(start$hyper$estimate, start$hyper$name) else check_start(start)
  # the points of a fit have been taken over as they were made (R/inducing.R)
  shown <- hyper$name[!is_point(hyper)]
  known <- names(values) %in% shown
  if (!all(known) && !from_fit) {
    name <- names(values)[!known][1L]
    stop_galvi("argument", sprintf(
      "`start` names `%s`, which is no hyperparameter of this model.%s The names are %s.", name,
      did_you_mean(name, shown), quote_names(shown)
    ))
  }
  if (from_fit && length(shown) && !any(known)) {
    stop_galvi("argument", sprintf(
      "`start`: the fit has no hyperparameter of this model. It has %s; the model has %s.",
      quote_names(names(values)), quote_names(shown)
    ))
  }
  at <- match(hyper$name, names(values))
  in_order <- hyper$transform %in% c("identity", "above") & !is_point(hyper)
  # thresholds between other classes than the fit's are of no use
  if (from_fit && anyNA(at[in_order])) at[in_order] <- NA
  set <- which(!is.na(at) & hyper$learned)
  given <- as.numeric(values[at[set]])
  legal <- start_limits(hyper$transform[set])
  bad <- which(!is.finite(given) | given <= legal$lower | given >= legal$upper)[1L]
  if (!is.na(bad)) {
    stop_galvi("argument", sprintf(
      "`start` must be %s, not %s (`%s`).", legal$words[bad], format(given[bad]), hyper$name[set[bad]]
    ))
  }
  hyper$value[set] <- given
  check_order(hyper)
  widen_ranges(hyper)
}

# What values of a transform's parameters may be, both ends excluded.
start_limits <- function(transform) {
  lower <- c(log = 0, logit = 0, atanh = -1, identity = -Inf, above = -Inf)
  upper <- c(log = Inf, logit = 1, atanh = 1, identity = Inf, above = Inf)
  words <- c(
    log = "positive and finite", logit = "between 0 and 1", atanh = "between -1 and 1", identity = "finite",
    above = "finite"
  )
  list(lower = lower[transform], upper = upper[transform], words = words[transform])
}

check_order <- function(hyper) {
  above <- which(hyper$transform == "above")
  bad <- above[hyper$value[above] <= hyper$value[above - 1L]]
  if (!length(bad)) return(invisible())
  stop_galvi("argument", sprintf(
    "`start` must leave `%s` (%s) below `%s` (%s).", hyper$name[bad[1L] - 1L],
    format(hyper$value[bad[1L] - 1L]), hyper$name[bad[1L]], format(hyper$value[bad[1L]])
  ))
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

# ---- design and model ----

#' Formula parts, frame and family -> list(design, model, prior)
#'
#' The design holds what new rows need: the frame's terms, factor levels, each term's facts. Nothing in it
#' grows with N.
#' @param settings list(expectation, control, start, held: are the hyperparameters held?), each with a
#'   default.
#' @noRd
build_model <- function(parsed, frame, family, prior = NULL, args = list(), settings = list()) {
  control <- if (is.null(settings$control)) galvi_control() else settings$control
  name <- variable_name(parsed$response)
  response <- family_response(family, stats::model.response(frame), stats::model.weights(frame), name)
  response$latents <- family_type(family)$latents(response$levels, family)
  offset <- frame_offset(frame, response$latents)
  identity <- family$link == "identity"
  response$modelled <- if (identity) response$y - offset[, 1L] else response$y / response$size
  registry <- new_registry()
  context <- c(
    model_context(family, response, registry),
    list(alone = !length(parsed$specs), start = settings$start, held = isTRUE(settings$held)),
    control[c("move_inducing", "inducing_jitter")]
  )
  context$has_intercept <- context$intercept && attr(parsed$fixed, "intercept") == 1L
  fixed <- design_fixed(parsed$fixed, frame, context, prior)
  built <- c(if (!is.null(fixed$term)) list(fixed), lapply(parsed$specs, function(spec) {
    term_types()[[spec$type]]$design(spec, frame, context)
  }))
  if (!length(built)) {
    stop_galvi("formula", sprintf(
      "`%s` has no term: add an intercept, a column or gp().", deparse_one(parsed$formula)
    ))
  }
  likelihood <- family_likelihood(family, response, registry, isTRUE(settings$held))
  solver <- choose_solver(built)
  full <- solver == "dense_kernel"
  if (full) check_dense_size(nrow(frame), built, k = ncol(offset))
  design <- new_design(parsed, frame, family, args, fixed, lapply(built, `[[`, "spec"), response)
  model <- list(
    y = response$y, size = response$size, weights = response$weights, offset = offset,
    likelihood = likelihood,
    expectation = if (is.null(settings$expectation)) "auto" else settings$expectation,
    pieces = control$pieces,
    solver = solver, priors = class_priors(built),
    hyper = apply_start(registry$table(), settings$start)
  )
  check_proper(fixed$priors, full, likelihood$constants)
  list(design = design, model = model, prior = fixed$priors)
}

# A full covariance makes the sum of all terms one; else Markov fields keep it sparse.
choose_solver <- function(built) {
  types <- vapply(built, function(b) b$term$type, "")
  if (all(c("kernel", "inducing") %in% types)) {
    label <- function(type) built[[match(type, types)]]$term$label
    stop_galvi("formula", sprintf(
      "`%s` has `inducing` and `%s` has not: a full Gaussian process is N x N whatever stands beside it. %s",
      label("inducing"), label("kernel"), "Give `inducing` to all of them or to none."
    ))
  }
  if ("kernel" %in% types) "dense_kernel" else if ("field" %in% types) "sparse" else "projected"
}

# One prior that all latent values share, or one for each where a kernel is per_class().
class_priors <- function(built) {
  count <- max(lengths(lapply(built, `[[`, "per_class")), 1L)
  lapply(seq_len(count), function(k) {
    list(terms = lapply(built, function(b) c(if (length(b$per_class)) b$per_class[[k]] else b$term, b$rows)))
  })
}

# What terms may know of the response: location and spread for default priors, default variance for kernels,
# the names of several latent values.
model_context <- function(family, response, registry) {
  identity <- family$link == "identity"
  variance <- if (identity) response_variance(response$modelled) else 1
  list(
    registry = registry, default_variance = variance,
    centre = if (identity) stats::median(response$modelled) else 0, spread = sqrt(variance),
    latents = if (length(response$latents) > 1L) response$latents,
    intercept = family_type(family)$intercept(family)
  )
}

new_design <- function(parsed, frame, family, args, fixed, specs, response) {
  terms <- attr(frame, "terms")
  structure(list(
    formula = parsed$formula, columns = parsed$columns,
    frame_terms = terms, xlevels = known_levels(frame, parsed),
    terms = parsed$fixed, assign = fixed$spec$assign, contrasts = fixed$spec$contrasts,
    specs = specs, labels = vapply(specs, `[[`, "", "label"), offset = args$offset, weights = args$weights,
    family = family, K = max(1L, length(response$latents)),
    response = list(
      name = variable_name(parsed$response), levels = response$levels, latents = response$latents
    )
  ), class = "galvi_design")
}

# Levels that new data must keep to, by variable. What iid() and gmrf() alone read may have others.
known_levels <- function(frame, parsed) {
  levels <- stats::.getXlevels(without_response(attr(frame, "terms")), frame)
  open <- vapply(parsed$specs, function(spec) spec$type %in% c("iid", "gmrf"), NA)
  by <- lapply(parsed$specs, function(spec) if (!is.null(spec$by)) variable_name(spec$by))
  closed <- c(input_names(parsed$specs[!open]), unlist(by), fixed_names(parsed))
  levels[setdiff(names(levels), setdiff(input_names(parsed$specs[open]), closed))]
}

# delete.response() wants the `factors` that our frame's terms do not have.
without_response <- function(terms) {
  drop_first <- function(x) if (is.null(x)) NULL else x[-2L]
  attr(terms, "variables") <- drop_first(attr(terms, "variables"))
  attr(terms, "predvars") <- drop_first(attr(terms, "predvars"))
  attr(terms, "offset") <- if (length(attr(terms, "offset"))) attr(terms, "offset") - 1L
  attr(terms, "dataClasses") <- attr(terms, "dataClasses")[-1L]
  attr(terms, "response") <- 0L
  terms[[2L]] <- NULL
  terms
}

check_proper <- function(priors, full, constants) {
  flat <- vapply(priors, function(p) identical(p$sd, Inf), NA)
  if (!any(flat)) return(invisible())
  what <- if (full) {
    "does not go with a full gp()"
  } else if (identical(constants$reference, -1)) {
    "does not go with one latent value per class, of which only differences count: name a `refcat`"
  }
  if (is.null(what)) return(invisible())
  stop_galvi("prior", sprintf(
    "%s: a flat prior (sd = Inf) %s. Give a large sd instead.", quote_names(names(priors)[flat]), what
  ))
}

# ---- size ----

gib <- function(bytes) format(round(bytes / 2^30, if (bytes < 2^33) 1L else 0L), nsmall = 0, big.mark = ",")

# Three N x N matrices of doubles is what a full GP needs at least, and two more for each further latent.
check_dense_size <- function(n, built, available = available_memory(), k = 1L) {
  need <- (1 + 2 * k) * 8 * n^2
  if (fits_memory(n, need, available)) return(invisible())
  label <- built[[which(vapply(built, function(b) b$term$type == "kernel", NA))[1L]]]$term$label
  call <- sub("\\)$", ", inducing = 200)", label)
  stop_galvi("size", sprintf(paste(
    "%s rows are too many for the full Gaussian process %s: it needs %s GiB%s.",
    "Use inducing points, %s, or fewer rows (`subset`)."
  ), format(n, big.mark = ",", scientific = FALSE), label, gib(need), free_words(available), call))
}

# The joint covariance of n rows, its cross covariances and its factor.
check_joint_size <- function(n, k, available = available_memory()) {
  need <- (2 + 2 * k) * 8 * n^2
  if (fits_memory(n, need, available)) return(invisible())
  stop_galvi("size", sprintf(
    "%s rows are too many for a joint covariance: it needs %s GiB%s. Take fewer rows at a time.",
    format(n, big.mark = ",", scientific = FALSE), gib(need), free_words(available)
  ))
}

fits_memory <- function(n, need, available) if (is.na(available)) n <= 20000 else need <= available

free_words <- function(available) {
  if (is.na(available)) "" else sprintf(" and %s GiB are free", gib(available))
}

# Bytes that can be had without swapping, NA where the system does not tell.
available_memory <- function(file = "/proc/meminfo") {
  if (!file.exists(file)) return(NA_real_)
  line <- grep("^MemAvailable:", readLines(file, warn = FALSE), value = TRUE)
  if (!length(line)) return(NA_real_)
  1024 * as.numeric(gsub("[^0-9]", "", line[1L]))
}

# ---- new data ----

# Rows of one term for any frame.
spec_rows <- function(spec, frame) {
  if (spec$type == fixed_label) newdata_fixed(spec, frame) else term_types()[[spec$type]]$newdata(spec, frame)
}

#' Rows of the model for new data
#'
#' @param na.action Rows with missing predictors are left out here and counted in `omitted`; with na.fail they
#'   are an error. What becomes of them in predictions is the caller's.
#' @param response Read the response too (for log densities).
#' @return list(rows: as predict_latent() wants them; offset: N* x K; frame; y, size, weights: NULL without
#'   `response`; omitted: positions in `newdata`, integer(0) if none; n: rows of `newdata`).
#' @noRd
design_rows <- function(design, newdata, na.action = stats::na.pass, response = FALSE) {
  newdata <- as_new_data(newdata)
  terms <- if (response) design$frame_terms else without_response(design$frame_terms)
  args <- new_data_args(design, newdata, response)
  check_new_columns(design, terms, newdata)
  frame <- new_frame(terms, newdata, args, design$xlevels)
  missing <- missing_rows(frame)
  if (length(missing) && identical(na.action, stats::na.fail)) {
    stop_galvi("newdata", sprintf(
      "`newdata` has missing values in %s (row %d).", quote_names(names(frame)[has_missing(frame)]),
      missing[1L]
    ))
  }
  if (length(missing)) {
    kept <- frame[-missing, , drop = FALSE]
    attr(kept, "terms") <- attr(frame, "terms")
    frame <- kept
  }
  rows <- lapply(design$specs, function(spec) as_newdata_error(
    spec_rows(spec, frame)
  ))
  out <- list(
    rows = list(terms = rows), offset = as_newdata_error(frame_offset(frame, design$response$latents)),
    frame = frame,
    omitted = missing, n = nrow(newdata)
  )
  if (response) {
    r <- as_newdata_error(family_response(
      design$family, stats::model.response(frame), stats::model.weights(frame), design$response$name,
      levels = if (is.null(design$response$levels)) character() else design$response$levels
    ))
    out[c("y", "size", "weights")] <- r[c("y", "size", "weights")]
  }
  out
}

as_new_data <- function(newdata) {
  if (is.matrix(newdata)) newdata <- as.data.frame(newdata)
  if (!is.data.frame(newdata)) {
    stop_galvi("newdata", sprintf("`newdata` must be a data frame, not %s.", describe(newdata)))
  }
  newdata
}

# What is wrong with new rows is an error about newdata.
as_newdata_error <- function(expr) {
  tryCatch(expr, galvi_error = function(e) {
    if (inherits(e, c("galvi_error_data", "galvi_error_response", "galvi_error_argument"))) {
      stop_galvi("newdata", paste0("In `newdata`: ", conditionMessage(e)))
    }
    stop(e)
  })
}

# A variable that came from `data` must be in `newdata`; others are looked up where the formula was written,
# as then.
check_new_columns <- function(design, terms, newdata) {
  needed <- intersect(looked_up(attr(terms, "variables")), design$columns)
  missing <- setdiff(needed, names(newdata))
  if (!length(missing)) return(invisible())
  stop_galvi("newdata", sprintf(
    "`newdata` has no column `%s`.%s", missing[1L], did_you_mean(missing[1L], names(newdata))
  ))
}

# offset = and (for densities) weights = again, now of newdata.
new_data_args <- function(design, newdata, response) {
  args <- list(offset = design$offset, weights = if (response) design$weights)
  args <- args[!vapply(args, is.null, NA)]
  for (arg in names(args)) {
    value <- tryCatch(eval(args[[arg]], newdata, environment(design$formula)), error = function(e) NULL)
    if (NROW(value) == nrow(newdata)) next
    if (arg == "weights") {
      args$weights <- NULL
      next
    }
    stop_galvi("newdata", sprintf(
      "The fit has `offset = %s`, which gives no value per row of `newdata`: it needs the columns %s.",
      deparse_one(args[[arg]]), quote_names(all.vars(args[[arg]]))
    ))
  }
  args
}

new_frame <- function(terms, newdata, args, xlevels) {
  # rows must be counted even where the formula has no variable
  if (length(attr(terms, "variables")) == 1L) {
    frame <- newdata[, 0L, drop = FALSE]
    attr(frame, "terms") <- terms
    return(frame)
  }
  call <- as.call(c(
    quote(stats::model.frame), list(formula = terms, data = newdata, na.action = quote(stats::na.pass)), args
  ))
  frame <- tryCatch(eval(call, environment(terms)), error = function(e) {
    stop_galvi("newdata", unreadable(conditionMessage(e), "newdata"))
  })
  if (nrow(frame) != nrow(newdata)) {
    stop_galvi("newdata", unreadable(sprintf("found for '%s'", names(frame)[1L]), "newdata"))
  }
  match_classes(frame, attr(terms, "dataClasses"), xlevels)
}

# Variables must be what they were in training, factors with the same levels.
match_classes <- function(frame, classes, xlevels) {
  for (v in intersect(names(frame), names(classes))) {
    x <- frame[[v]]
    check_width(x, v, classes[[v]])
    is_class <- is.factor(x) || is.character(x)
    if (v %in% names(xlevels)) {
      known <- xlevels[[v]]
      unknown <- setdiff(as.character(x), c(known, NA))
      if (length(unknown)) {
        stop_galvi("newdata", sprintf(
          "`%s` has the level %s in `newdata`, which the fit has not seen; its levels are %s.", v,
          quote_names(unknown[1L], "\""), quote_names(known, "\"")
        ))
      }
      frame[[v]] <- factor(as.character(x), known, ordered = classes[[v]] == "ordered")
    } else if (is_class && classes[[v]] %in% c("numeric", "logical")) {
      stop_galvi("newdata", sprintf(
        "`%s` must be numbers in `newdata`, as it was in the fit, not %s.", sub("^\\((.*)\\)$", "\\1", v),
        describe(x)
      ))
    } else if (is.numeric(x) && classes[[v]] == "logical") {
      stop_galvi("newdata", sprintf("`%s` must be TRUE or FALSE in `newdata`, as it was in the fit.", v))
    } else if (is.logical(x) && classes[[v]] == "numeric") {
      # a column of nothing but NA
      frame[[v]][] <- as.numeric(x)
    }
  }
  frame
}

# Class "nmatrix.2" is R's word for two columns of numbers.
check_width <- function(x, name, class) {
  width <- if (grepl("^nmatrix[.]", class)) as.integer(sub("^nmatrix[.]", "", class)) else 1L
  if (class == "other" || NCOL(x) == width) return(invisible())
  stop_galvi("newdata", sprintf(
    "`%s` must have %d column%s in `newdata`, as it had in the fit, not %d.", name, width,
    if (width > 1L) "s" else "", NCOL(x)
  ))
}

missing_rows <- function(frame) {
  if (!any(has_missing(frame))) return(integer())
  gone <- lapply(unclass(frame)[has_missing(frame)], function(x) {
    if (is.matrix(x)) rowSums(is.na(x)) > 0 else is.na(x)
  })
  which(Reduce(`|`, gone))
}

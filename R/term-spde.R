# The term spde(): a Matern field over the plane, on a triangulated mesh.

#' Matern random fields in the plane (SPDE)
#'
#' `spde(x, y)` in a formula of [galvi()] adds a smooth spatial random field: a Gaussian field with Matern covariance of
#' smoothness 1, approximated by a Gaussian Markov random field on a triangulated mesh (Lindgren, Rue and Lindstrom,
#' 2011). Use it for geostatistics (kriging) with many locations and for point patterns.
#'
#' @details
#' The covariance at distance h is `sd^2 (kappa h) K_1(kappa h)` with `kappa = sqrt(8) / range` and the modified Bessel
#' function K_1; at the distance `range` the correlation is about 0.14. On the mesh the field is piecewise linear, u(s)
#' = sum_k w_k(s) u_k with barycentric coordinates w_k, and u ~ N(0, Q^-1) with `Q = tau^2 (kappa^4 C + 2 kappa^2 G + G
#' C^-1 G)` and `tau = 1 / (sqrt(4 pi) kappa sd)`, where C and G are the mass and stiffness matrices of the finite
#' elements. Q is sparse, so meshes of 100,000 nodes are feasible.
#'
#' **Mesh.** By default the mesh is [galvi_mesh()] of the observed locations. It extends beyond them by the starting
#' value of the range. Its edges are a sixth of that range, but not shorter than 1/150 and not longer than 1/40 of the
#' diagonal of the bounding box of the locations. A warning is given if the estimated range is shorter than four edges.
#' The mesh is returned in `fit$mesh`.
#'
#' **Priors.** Range and sd are only weakly identified together, so both always have a prior. The defaults are penalised
#' complexity priors (Fuglstad et al., 2019): `pc_range(d / 10, 0.05)` with d the diagonal of the bounding box, that is
#' P(range < d / 10) = 0.05, and `pc(3 s, 0.05)`, that is P(sd > 3 s) = 0.05, with s the standard deviation of the
#' response if the link is the identity and 1 otherwise. A number is a starting value, under the same prior.
#'
#' **Coordinates** are coordinates of a plane. Longitude and latitude should be projected first, because away from the
#' equator a degree of longitude is shorter than a degree of latitude. A message is given if the names look like these.
#'
#' **Time.** `ar1(t, by = spde(x, y))` is a field that changes in time, `iid(t, by = spde(x, y))` an independent one at
#' each time: see [ar1()].
#'
#' **Predictions** can be made anywhere on the mesh. Locations outside it are an error; give `mesh` a larger extent.
#'
#' @param x,y Coordinates: numeric columns or expressions in columns, both in the same unit.
#' @param mesh The mesh: [galvi_mesh()], a `list(nodes, triangles)`, or a mesh of package fmesher or INLA (see
#'   [as_galvi_mesh()]). NULL, the default, makes one as described, or takes that of the [quadrature_scheme()] in
#'   `data`.
#' @param range The distance at which the correlation is about 0.14, in units of the coordinates: a starting value,
#'   [fixed()], [pc_range()] or another prior of a positive number.
#' @param sd The marginal standard deviation of the field (away from the boundary of the mesh), in units of the linear
#'   predictor: a starting value, [fixed()], [pc()] or another prior of a positive number.
#' @param by A numeric variable that multiplies the field (a spatially varying coefficient), or a factor: each level
#'   then has a field of its own, independent of the others.
#' @param by_hyper For a factor `by`: `"shared"` (the default) for a common range and sd, or `"each"` for one pair per
#'   level, with names such as `spde(x, y, by = f)[a].range` for level a. A value or prior given to the term applies to
#'   all levels, and so does the mesh.
#' @return No value. The term is only valid inside a formula.
#' @section Errors:
#' `galvi_error_formula` if the term is called outside a formula or without `x` and `y`; `galvi_error_argument` if
#' `mesh`, `range` or `sd` is not as described, or if `range` starts at more than 10,000 edges; `galvi_error_data` if a
#' coordinate is not numeric and finite or lies outside the mesh, and `galvi_error_newdata` for locations in `newdata`.
#'
#' `galvi_warning_mesh`: the mesh is too coarse for the estimated range. `galvi_message_coordinates`: coordinates look
#' like degrees.
#' @references
#' Lindgren, F., Rue, H. and Lindstrom, J. (2011). An explicit link between Gaussian fields and Gaussian Markov random
#' fields: the stochastic partial differential equation approach. *Journal of the Royal Statistical Society: Series B*
#' 73, 423-498.
#'
#' Fuglstad, G.-A., Simpson, D., Lindgren, F. and Rue, H. (2019). Constructing priors that penalize the complexity of
#' Gaussian random fields. *Journal of the American Statistical Association* 114, 445-452.
#' @seealso [galvi_mesh()] for meshes, [quadrature_scheme()] for point patterns (log-Gaussian Cox processes).
#' @family terms
#' @examples
#' # magnitudes of earthquakes near Fiji
#' d <- transform(quakes, x = long / 10, y = lat / 10)
#' fit <- galvi(mag ~ log(stations) + spde(x, y), data = d[1:300, ])
#' fit
#' plot(fit, terms = "spde(x, y)")
#' # kriging: the field at a place without observations
#' predict(fit, data.frame(stations = 30, x = 18.2, y = -2), interval = "credible")
#' @export
spde <- function(x, y, mesh = NULL, range = NULL, sd = NULL, by = NULL, by_hyper = c("shared", "each")) {
  stop_term("spde", "z ~ spde(x, y)")
}

#' @export
field_variables.spde_term <- function(spec) c("x", "y")

#' @export
finish_field.spde_term <- function(spec, env) {
  if (is.null(spec$arguments$mesh)) return(spec)
  spec$mesh <- as_mesh(check_evaluates(eval(spec$arguments$mesh, env), "mesh"), "mesh")
  spec
}

# The mesh contains all rows that may be predicted.
#' @export
keep_of_fit.spde_term <- function(spec, fitted) replace(spec, "mesh", list(fitted$mesh))

# Coordinates of the rows of a frame, N x 2; a quadrature scheme brings its mesh along.
#' @export
field_values.spde_term <- function(spec, frame) {
  names <- vapply(spec$inputs, variable_name, "")
  columns <- lapply(names, function(name) {
    x <- frame[[name]]
    if (!is.numeric(x) || !is.null(dim(x))) {
      stop_galvi("data", sprintf("`%s` must be numbers to be a coordinate in spde(), not %s.", name, describe(x)))
    }
    bad <- which(!is.finite(x))
    if (length(bad)) stop_galvi("data", sprintf("`%s` must be finite in spde(); %s.", name, found_in_rows(x, bad)))
    as.numeric(x)
  })
  structure(
    do.call(cbind, columns), variables = names, anywhere = isTRUE(attr(frame, "anywhere")), mesh = attr(frame, "mesh")
  )
}

#' @export
learn_field.spde_term <- function(spec, x, name) {
  at <- matrix(x, ncol = 2L)
  inform_degrees(at, attr(x, "variables"))
  spec$diagonal <- diagonal_of(at)
  if (is.null(spec$mesh)) spec$mesh <- attr(x, "mesh")
  if (!is.null(spec$mesh)) {
    if (spec$diagonal == 0) spec$diagonal <- diagonal_of(spec$mesh$nodes)
  } else {
    if (spec$diagonal == 0) {
      stop_galvi("data", sprintf(
        "%s has all observations at one place: give a `mesh`, or leave the term out.", spec$label
      ))
    }
    start <- spde_settings(spec, 1)$range$value
    edge <- min(max(start / 6, spec$diagonal / 150), spec$diagonal / 40)
    spec$mesh <- galvi_mesh(at, edge, min(start, 2 * spec$diagonal))
  }
  spec$edge <- typical_edge(spec$mesh, locate_in_mesh(spec$mesh, at)$node)
  spec
}

#' The mean length of the edges of a triangle, median over the triangles that contain places
#' @noRd
typical_edge <- function(mesh, node) {
  corner <- function(k) mesh$nodes[node[, k], , drop = FALSE]
  side <- function(a, b) sqrt(rowSums((corner(a) - corner(b))^2))
  stats::median((side(1L, 2L) + side(2L, 3L) + side(3L, 1L)) / 3, na.rm = TRUE)
}

inform_degrees <- function(at, names) {
  like <- function(name, words) grepl(paste0("^(", words, ")(itude)?$"), name, ignore.case = TRUE)
  degrees <- like(names[1L], "lon|long|lng") && like(names[2L], "lat") ||
    like(names[1L], "lat") && like(names[2L], "lon|long|lng")
  if (!degrees || max(abs(at)) > 360) return(invisible())
  inform_galvi("coordinates", sprintf(paste(
    "`%s` and `%s` look like degrees. spde() takes them for coordinates in a plane, where a degree east is as long as",
    "one north: project them first (package sf: st_transform())."
  ), names[1L], names[2L]))
}

#' @export
find_nodes.spde_term <- function(spec, x, name) {
  at <- matrix(x, ncol = 2L)
  found <- locate_in_mesh(spec$mesh, at)
  outside <- which(is.na(found$node[, 1L]))
  if (length(outside)) {
    if (!attr(x, "anywhere")) stop_outside_mesh(at, outside, spec$label)
    found$node[outside, ] <- 0L
    found$weight[outside, ] <- 0
  }
  # the design has no entries of weight zero
  found$node[found$weight == 0] <- 0L
  list(at = found$node, weight = found$weight)
}

stop_outside_mesh <- function(at, outside, label) {
  stop_galvi("data", sprintf(paste(
    "%s: %d of %s places %s outside the mesh; the first is (%s, %s) in row %s. Make the mesh of all of them with",
    "galvi_mesh(coords), or with a larger `extend`, and give it as `mesh`."
  ), label, length(outside), whole_words(nrow(at)), if (length(outside) == 1L) "is" else "are",
    format(at[outside[1L], 1L]), format(at[outside[1L], 2L]), row_label(outside[1L])))
}

# One copy of the field: the parts C, 2 G and G C^-1 G of the precision (src/prior/field.cpp).
#' @export
field_structure.spde_term <- function(spec, more) {
  found <- finite_elements(spec$mesh$nodes, spec$mesh$triangles)
  list(
    model = "spde", size = count_nodes(spec), more = 0L,
    precision = list(diagonal_triplets(found$mass), found$stiffness, found$squared)
  )
}

#' @export
count_nodes.spde_term <- function(spec) nrow(spec$mesh$nodes)
#' @export
node_names.spde_term <- function(spec) as.character(seq_len(count_nodes(spec)))

# ---- hyperparameters ----

#' Where learning starts, and the priors: list(range, sd), each list(value, learned, prior)
#' @noRd
spde_settings <- function(spec, spread) {
  read <- function(name, default, sd) {
    given <- spec$settings[[name]]
    by_default <- as_parameter(default, name, variance = sd, sd = sd, what = "argument")
    if (is.null(given)) return(by_default)
    entry <- as_parameter(given, name, variance = sd, sd = sd, what = "argument")
    if (entry$learned && is.null(entry$prior)) entry$prior <- by_default$prior
    entry
  }
  list(
    range = read("range", pc_range(spec$diagonal / 10, 0.05), FALSE),
    sd = read("sd", pc(3 * spread, 0.05), TRUE)
  )
}

#' @export
field_hyper.spde_term <- function(spec, context) {
  spread <- sqrt(context$default_variance)
  unit <- c(range = spec$diagonal, sd = spread)
  facts <- core_facts$field[[spec$model]]
  settings <- spde_settings(spec, spread)
  check_range(spec, settings$range$value)
  lapply(split(facts, factor(facts$name, facts$name)), function(parameter) {
    name <- parameter$name
    entry <- settings[[name]]
    add_field_parameter(spec, context$registry, parameter, entry, c(unit[[name]], entry$value))
  })
}

# In the precision, C is about (edge / range)^4 of G C^-1 G; below the rounding error the field is numerically improper.
longest_range <- 1e4

check_range <- function(spec, range) {
  if (range <= longest_range * spec$edge) return(invisible())
  stop_galvi("argument", sprintf(
    "%s: `range` must be at most %s edges of the mesh (%s near the data), %s, not %s: give it a coarser `mesh`.",
    spec$label, whole_words(longest_range), format(spec$edge, digits = 3L),
    format(longest_range * spec$edge, digits = 3L), format(range)
  ))
}

#' Warns of a mesh that is too coarse for the estimated range
#' @noRd
#' @export
say_of_term.spde_term <- function(spec, fit) {
  own <- fit$hyper[fit$hyper$term == spec$label & fit$hyper$parameter == "range", ]
  least <- own[which.min(own$estimate), ]
  if (least$estimate >= 4 * spec$edge) return(invisible())
  warn_galvi("mesh", sprintf(paste(
    "%s, %s, is less than four edges of the mesh (about %s near the data): the mesh is too coarse. Fit again with",
    "`mesh = galvi_mesh(coords, max_edge = %s)`."
  ), least$name, format(least$estimate, digits = 3L), format(spec$edge, digits = 3L),
    format(least$estimate / 8, digits = 2L)), call = fit$call)
}

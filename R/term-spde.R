# The term spde(): a Matern field over the plane, on a triangulated mesh.

#' A smooth field over the plane
#'
#' `spde(x, y)` in a formula of [galvi()] adds a function of the place (x, y) that is a Gaussian field with a Matern
#' covariance of smoothness 1. It is a Markov field on the nodes of a triangulated mesh, so that a fit costs seconds
#' where there are a hundred thousand nodes. It has a meaning in formulas only.
#'
#' The covariance of places at distance h is `sd^2 (kappa h) K_1(kappa h)` with `kappa = sqrt(8) / range`, K_1 the
#' modified Bessel function: the correlation is about 0.14 at the distance `range`. On the mesh the field is linear in
#' every triangle, u(s) = sum_k w_k(s) u_k with the barycentric coordinates w_k, and u ~ N(0, Q^-1),
#' `Q = tau^2 (kappa^4 C + 2 kappa^2 G + G C^-1 G)`, `tau = 1 / (sqrt(4 pi) kappa sd)`, with the finite element matrices
#' C and G.
#'
#' * **Mesh.** Without `mesh` it is [galvi_mesh()] of the observations' coordinates: it extends by the range where
#'   learning starts, and its edges are a sixth of that range, but not shorter than a hundred-and-fiftieth of the diagonal of the
#'   coordinates' bounding box nor longer than a 40th. A fit warns if its range is less than four edges. The mesh of a
#'   fit is in `fit$mesh`.
#' * **Priors.** The data tell little of range and sd apart, so both always have a prior. The defaults are penalised
#'   complexity priors: `pc_range(d / 10, 0.05)` with d the diagonal of the bounding box, P(range < d / 10) = 0.05; and
#'   `pc(3 s, 0.05)`, P(sd > 3 s) = 0.05, with s the standard deviation of the response where the link is the
#'   identity, else 1. A number is where learning starts, under the same prior; [fixed()] fixes it.
#' * **Coordinates** are those of a plane, in any units. Longitudes and latitudes are not: away from the equator a
#'   degree east is shorter than one north. A message says so where the names look like them.
#' * **Predictions** are for any place on the mesh. A place outside it is an error: give `mesh` a larger region.
#'
#' @param x,y Coordinates: columns of numbers or expressions in them.
#' @param mesh The mesh: [galvi_mesh()], a `list(nodes, triangles)`, or one of package fmesher or INLA (see
#'   [as_galvi_mesh()]). NULL for the default, or that of the [quadrature_scheme()] that is `data`.
#' @param range The distance at which the correlation has fallen to 0.14: a number, [fixed()], [pc_range()] or another
#'   prior of a positive number.
#' @param sd The standard deviation of the field, away from the mesh's boundary: a number, [fixed()], [pc()] or another
#'   prior.
#' @param by A number that multiplies the field, or a factor: one copy of it per level, independent.
#' @param by_hyper Of a factor `by`: `"shared"` range and sd, or `"each"` level has its own, with names such as
#'   `spde(x, y)[a].range` for level a. What is given for one is for all levels, and so is the mesh.
#' @return Nothing: calling it outside a formula is an error.
#' @references Lindgren, F., Rue, H. and Lindstrom, J. (2011). An explicit link between Gaussian fields and Gaussian
#'   Markov random fields: the stochastic partial differential equation approach. Journal of the Royal Statistical
#'   Society B 73, 423-498.
#'
#'   Fuglstad, G.-A., Simpson, D., Lindgren, F. and Rue, H. (2019). Constructing priors that penalize the complexity of
#'   Gaussian random fields. Journal of the American Statistical Association 114, 445-452.
#' @seealso [galvi_mesh()], [quadrature_scheme()] for point patterns, [gmrf()] for regions, [gp()]
#' @examples
#' # magnitudes of earthquakes near Fiji
#' d <- transform(quakes, x = long / 10, y = lat / 10)
#' fit <- galvi(mag ~ log(stations) + spde(x, y), data = d[1:300, ])
#' summary(fit)
#' plot(fit, terms = "spde(x, y)")
#' @export
spde <- function(x, y, mesh = NULL, range = NULL, sd = NULL, by = NULL, by_hyper = c("shared", "each")) {
  stop_term("spde", "z ~ spde(x, y)")
}

spde_type <- function() {
  field_type(
    spde, width = 2L, places = TRUE, finish = finish_spde, values = place_values, learn = learn_places,
    find = find_places, structure = function(spec, more = 0L) mesh_structure(spec$mesh), hyper = spde_hyper,
    count = function(spec) nrow(spec$mesh$nodes),
    names = function(spec) as.character(seq_len(nrow(spec$mesh$nodes))), panels = spde_panels, told = tell_coarse_mesh
  )
}

finish_spde <- function(spec, env) {
  if (is.null(spec$arguments$mesh)) return(spec)
  spec$mesh <- as_mesh(check_evaluates(eval(spec$arguments$mesh, env), "mesh"), "mesh")
  spec
}

# Coordinates of the rows of a frame, N x 2; a quadrature scheme brings its mesh along.
place_values <- function(spec, frame) {
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
    do.call(cbind, columns), names = names, anywhere = isTRUE(attr(frame, "anywhere")), mesh = attr(frame, "mesh")
  )
}

learn_places <- function(spec, x, name) {
  at <- matrix(x, ncol = 2L)
  inform_degrees(at, attr(x, "names"))
  spec$diagonal <- diagonal_of(at)
  if (is.null(spec$mesh)) spec$mesh <- attr(x, "mesh")
  if (!is.null(spec$mesh)) {
    if (spec$diagonal == 0) spec$diagonal <- diagonal_of(spec$mesh$nodes)
  } else {
    if (spec$diagonal == 0) {
      stop_galvi("data", sprintf(
        "%s has all observations in one place: give it a `mesh`, or leave it out.", spec$label
      ))
    }
    start <- spde_settings(spec, 1)$range$value
    edge <- min(max(start / 6, spec$diagonal / 150), spec$diagonal / 40)
    spec$mesh <- galvi_mesh(at, edge, min(start, 2 * spec$diagonal))
  }
  spec$edge <- typical_edge(spec$mesh, locate_in_mesh(spec$mesh, at)$node)
  spec
}

#' The mean length of the edges of triangles, the median of those that places are in
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

find_places <- function(spec, x, name) {
  at <- matrix(x, ncol = 2L)
  found <- locate_in_mesh(spec$mesh, at)
  outside <- which(is.na(found$node[, 1L]))
  if (length(outside)) {
    if (!attr(x, "anywhere")) stop_outside_mesh(at, outside, spec$label)
    found$node[outside, ] <- 0L
    found$weight[outside, ] <- 0
  }
  # the field's layout wants no entries of weight zero
  found$node[found$weight == 0] <- 0L
  list(at = found$node, weight = found$weight)
}

stop_outside_mesh <- function(at, outside, label) {
  stop_galvi("data", sprintf(paste(
    "%s: %d of %s places %s outside the mesh; the first is (%s, %s) in row %d. Make the mesh of all of them with",
    "galvi_mesh(coords), or with a larger `extend`, and give it as `mesh`."
  ), label, length(outside), whole_words(nrow(at)), if (length(outside) == 1L) "is" else "are",
    format(at[outside[1L], 1L]), format(at[outside[1L], 2L]), outside[1L]))
}

#' One copy of the field: the parts C, 2 G and G C^-1 G of the precision (src/prior/field.cpp)
#' @noRd
mesh_structure <- function(mesh) {
  found <- finite_elements(mesh$nodes, mesh$triangles)
  list(
    model = "spde", size = nrow(mesh$nodes), more = 0L,
    precision = list(diagonal_triplets(found$mass), found$stiffness, found$squared)
  )
}

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

spde_hyper <- function(spec, context) {
  spread <- sqrt(context$default_variance)
  unit <- c(range = spec$diagonal, sd = spread)
  facts <- field_facts()[[spec$model]]
  settings <- spde_settings(spec, spread)
  check_range(spec, settings$range$value)
  lapply(split(facts, factor(facts$name, facts$name)), function(parameter) {
    name <- parameter$name
    entry <- settings[[name]]
    add_field_parameter(spec, context$registry, parameter, entry, c(unit[[name]], entry$value))
  })
}

# C is (edge / range)^4 of G C^-1 G, about: where that is less than rounding the precision has no digits left.
longest_range <- 1e4

check_range <- function(spec, range) {
  if (range <= longest_range * spec$edge) return(invisible())
  stop_galvi("argument", sprintf(
    "%s: `range` must be at most %s edges of the mesh (%s near the data), %s, not %s: give it a coarser `mesh`.",
    spec$label, whole_words(longest_range), format(spec$edge, digits = 3L),
    format(longest_range * spec$edge, digits = 3L), format(range)
  ))
}

#' The field is coarser than its own structure where few edges make a range
#' @noRd
tell_coarse_mesh <- function(fit, spec) {
  own <- fit$hyper[fit$hyper$term == spec$label & fit$hyper$parameter == "range", ]
  least <- own[which.min(own$estimate), ]
  if (least$estimate >= 4 * spec$edge) return(invisible())
  warn_galvi("mesh", sprintf(paste(
    "%s, %s, is less than four edges of the mesh (about %s near the data), which is too coarse for it: fit again with",
    "`mesh = galvi_mesh(coords, max_edge = %s)`."
  ), least$name, format(least$estimate, digits = 3L), format(spec$edge, digits = 3L),
    format(least$estimate / 8, digits = 2L)), call = fit$call)
}

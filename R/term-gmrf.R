# The term gmrf(): effects of the nodes of a graph, alike among neighbours.

#' Effects of regions that resemble their neighbours
#'
#' `gmrf(g, graph)` in a formula of [galvi()] adds an effect for every node of a graph, a Gaussian Markov
#' random field in which neighbours are alike. It has a meaning in formulas only.
#'
#' With the edges i ~ j of the graph and their weights w (1 if the graph has none), D the diagonal matrix of
#' the sums of a node's weights and A the adjacency matrix, the models are
#'
#' | model | field |
#' |:--|:--|
#' | `"besag"` | precision (D - A) / variance: exp(-sum_ij w_ij (z_i - z_j)^2 / (2 variance)) |
#' | `"bym2"` | sqrt(variance) (sqrt(1 - mixing) v + sqrt(mixing) u): v independent, u scaled `besag` |
#' | `"proper"` | precision (D - dependence A) / variance |
#'
#' The precision of `besag` does not determine a constant that is added to all nodes of a connected component.
#' That constant is removed: the effects of each component add up to zero, and the prior is the proper
#' Gaussian on what is left. With `constrain = FALSE` every component has a constant with the prior of an
#' intercept. A node without neighbours has an independent effect with the given variance.
#'
#' A neighbour's weight of 1 says little about how large effects are: that depends on the graph. `scale =
#' TRUE` multiplies the precision of each component such that the geometric mean of the effects' variances is
#' `variance`; then priors and estimates compare between graphs.
#'
#' Nodes without observations are legal and are predicted from their neighbours.
#'
#' @section Graphs:
#' `graph` is looked up where the formula was written. It may be
#' * a square adjacency matrix, of base R or package Matrix, symmetric, with a zero diagonal; entries that are
#'   not zero are weights;
#' * a list of neighbours: for each node the numbers of those next to it, as class `nb` of package spdep;
#' * polygons, of class `sf` or `sfc`: those that share a point are neighbours. Plots are maps then (as they
#'   are of other graphs with [`plot(fit, map = )`][plot.galvi]);
#' * an edge list: two columns, a row per edge, each edge once or twice. It has no nodes without neighbours.
#'
#' The values of `g` are the names of nodes: row names of the matrix or of the `sf` table, attribute
#' `region.id` of the list, what is in the edge list; without names the numbers 1 to n.
#'
#' @inheritParams iid
#' @param g The node that each row belongs to: a factor, text or numbers.
#' @param graph Who neighbours whom, see below.
#' @param model `"besag"`, `"bym2"` or `"proper"`.
#' @param variance The variance in the formulas above.
#' @param scale Scale the precision? `bym2` always does, `proper` never.
#' @param constrain Remove the constant of each component?
#' @param mixing For `bym2`: the share of the variance that neighbours have in common, between 0 and 1.
#' @param dependence For `proper`: between 0, independence, and 1, where it would be `besag`.
#' @return Nothing: calling it outside a formula is an error.
#' @references Besag, J., York, J. and Mollie, A. (1991). Bayesian image restoration, with two applications in
#'   spatial statistics. Annals of the Institute of Statistical Mathematics 43, 1-59.
#'
#'   Riebler, A., Sorbye, S. H., Simpson, D. and Rue, H. (2016). An intuitive Bayesian spatial model for
#'   disease mapping that accounts for scaling. Statistical Methods in Medical Research 25, 1145-1165.
#' @seealso [iid()], [rw1()], [gp()]
#' @examples
#' # counts on a 6 x 6 lattice, whose neighbours share a side
#' place <- expand.grid(x = 1:6, y = 1:6)
#' lattice <- as.matrix(dist(place)) < 1.1
#' diag(lattice) <- FALSE
#' set.seed(1)
#' d <- data.frame(cell = 1:36, count = rpois(36, exp(1 + place$x / 4)))
#' fit <- galvi(count ~ gmrf(cell, lattice), data = d, family = poisson())
#' summary(fit)
#' head(ranef(fit)[[1]])
#' @export
gmrf <- function(g, graph, model = c("besag", "bym2", "proper"), variance = 1, scale = FALSE,
                 constrain = TRUE, mixing = 0.5, dependence = 0.9, by = NULL,
                 by_hyper = c("shared", "each")) {
  stop_term("gmrf", "y ~ x + gmrf(g, graph)")
}

gmrf_type <- function() {
  field_type(
    gmrf, c("scale", "constrain"), finish = finish_gmrf, learn = learn_regions, find = find_regions,
    structure = function(spec, more = 0L) graph_models()[[spec$model]]$structure(spec), panels = group_panels,
    open = TRUE, graph = TRUE, count = function(spec) length(spec$levels),
    names = function(spec) spec$levels,
    basis = function(spec) if (!spec$constrain) list(name = "constant", slope = FALSE),
    layers = function(spec) graph_models()[[spec$model]]$layers,
    scaling = function(spec) unit_scaling(neighbour_structure(spec$graph), spec$graph$component)
  )
}

# One entry per model. layers: nodes of the structure for each of the graph; scaled: is it always?
# intrinsic: does it leave the constant of each component open?
graph_models <- function() {
  list(
    besag = list(
      structure = function(spec) neighbour_structure(spec$graph, spec$scaling, spec$constrain),
      layers = 1L, scaled = FALSE, intrinsic = TRUE
    ),
    bym2 = list(
      structure = function(spec) bym2_structure(spec$graph, spec$scaling, spec$constrain), layers = 2L,
      scaled = TRUE, intrinsic = TRUE
    ),
    proper = list(
      structure = function(spec) proper_structure(spec$graph), layers = 1L, scaled = FALSE, intrinsic = FALSE
    )
  )
}

finish_gmrf <- function(spec, env) {
  arguments <- spec$arguments
  if (is.null(arguments$graph)) {
    stop_galvi("formula", sprintf(
      "`gmrf(%s)` needs `graph`: an adjacency matrix, a list of neighbours, polygons or an edge list.",
      deparse_one(arguments$g)
    ))
  }
  models <- names(graph_models())
  model <- if (is.null(arguments$model)) models[1L] else eval(arguments$model, env)
  spec$model <- check_choice(check_evaluates(model, "model"), models, "model")
  check_gmrf_options(spec)
  spec$scale <- spec$scale || graph_models()[[spec$model]]$scaled
  spec$graph <- as_graph(check_evaluates(eval(arguments$graph, env), "graph"))
  spec
}

# What the model does not have is not quietly left out.
check_gmrf_options <- function(spec) {
  models <- graph_models()
  refuse <- function(name, able) {
    stop_galvi("argument", sprintf(
      "`%s` belongs to model = %s, not \"%s\".", name, paste0("\"", able, "\"", collapse = " and "), spec$model
    ))
  }
  has <- lapply(field_facts()[names(models)], `[[`, "name")
  for (name in setdiff(names(spec$settings), has[[spec$model]])) {
    refuse(name, names(Filter(function(own) name %in% own, has)))
  }
  if (models[[spec$model]]$intrinsic) return(invisible())
  for (name in intersect(c("scale", "constrain"), names(spec$arguments))) {
    refuse(name, names(Filter(function(model) model$intrinsic, models)))
  }
}

learn_regions <- function(spec, x, name) {
  spec$levels <- spec$graph$names
  spec
}

find_regions <- function(spec, x, name) {
  x <- level_text(x)
  at <- match(x, spec$levels)
  bad <- which(is.na(at))
  if (length(bad)) {
    stop_galvi("data", sprintf(
      "`%s` has \"%s\" (row %d), which is no node of the graph of %s. It has %d nodes: %s.", name,
      x[bad[1L]], bad[1L], spec$label, length(spec$levels), quote_names(spec$levels, "\"", 6L)
    ))
  }
  list(at = at)
}

# Terms of effects for levels: iid(), independent groups; gmrf(), regions with neighbours.

#' Random intercepts: independent effects of groups
#'
#' `iid(g)` in a formula of [galvi()] adds a random intercept for each level of the grouping factor `g`: independent
#' normal effects with mean zero and a common variance, which gives partial pooling (shrinkage) of the groups. `(1 | g)`
#' is the same term.
#'
#' @details
#' `iid(a:b)` has an effect for every combination of `a` and `b`; nested groups are `iid(a) + iid(a:b)`. `iid(g,
#' by = x)` is a random slope of `x`. Levels of `newdata` are matched to those of the data as text, so numbers, text and
#' factors can be mixed.
#'
#' The effect of a new level in `newdata` is predicted from its prior: mean zero and the variance of the groups.
#' [ranef()][ranef.galvi] returns the posterior of the effects, [VarCorr()][VarCorr.galvi] their standard deviation, and
#' `predict(fit, type = "terms")` their contribution to each row.
#'
#' The variance is named `iid(g).variance` in `fit$hyper`. A grouping factor with a level for each observation accounts
#' for overdispersion of counts and proportions.
#'
#' @param g The grouping factor: a factor, text or numbers, or an expression in columns.
#' @param variance The variance of the effects, in squared units of the linear predictor. A number is the starting
#'   value, [fixed()] fixes it, and [pc()], [gamma_prior()], [half_normal()] or [log_normal()] is a prior. If not given,
#'   the variance is learned without a prior, starting from the variance of the response if the link is the identity and
#'   from 1 otherwise (with `hyper = "fixed"` it is 1).
#' @param by A numeric variable that multiplies the effects, so that they are slopes of this variable; a factor: each
#'   level then has effects of its own, independent of those of the other levels; or, in `iid()`, a field such as
#'   `spde(x, y)`, of which each level then has one (see [ar1()]).
#' @param by_hyper For a factor `by`: `"shared"` (the default) for common hyperparameters, or `"each"` for one set per
#'   level, with names such as `iid(g, by = f)[a].variance` for level a. A value or prior given to the term applies to
#'   all levels.
#' @param cov,precision A known covariance matrix of the levels of `g`, or its inverse, which the variance multiplies or
#'   divides: see Groups in [random-slopes]. `iid(g, cov = A)` is `(1 | gr(g, cov = A))`.
#' @return No value. The term is only valid inside a formula.
#' @section Errors:
#' `galvi_error_formula` if the term is called outside a formula or without its variable, `galvi_error_argument` if an
#' argument is not as described or a known matrix is not symmetric and positive definite, `galvi_error_data` if the variable has the wrong type or only one level.
#' @seealso [random-slopes] for correlated intercepts and slopes.
#' @family terms
#' @examples
#' # growth of chicks, with a random intercept and an independent random slope
#' fit <- galvi(weight ~ Time + iid(Chick) + iid(Chick, by = Time), data = ChickWeight)
#' fit
#' head(ranef(fit)[["iid(Chick, by = Time)"]])
#' # a chick that was not observed
#' predict(fit, data.frame(Time = 10, Chick = "new"), interval = "prediction")
#'
#' # overdispersed counts: a random effect for each observation
#' galvi(count ~ spray + iid(id), data = transform(InsectSprays, id = 1:72), family = poisson())
#' @export
iid <- function(g, variance = 1, by = NULL, by_hyper = c("shared", "each"), cov = NULL, precision = NULL) {
  stop_term("iid", "y ~ x + iid(g)")
}

#' @export
finish_field.iid_term <- function(spec, env) {
  spec$known <- read_known(spec$arguments, env)
  spec
}

#' @export
learn_field.iid_term <- function(spec, x, name) {
  if (!is.null(spec$known)) {
    check_known_groups(spec, x, name)
    spec$levels <- spec$known$levels
    return(spec)
  }
  spec <- learn_groups(spec, x, name)
  check_groups_differ(spec, name)
  spec
}

learn_groups <- function(spec, x, name) {
  spec$levels <- if (is.factor(x)) levels(x)[tabulate(x, nlevels(x)) > 0L] else level_text(sort(unique(x)))
  spec
}

#' @export
find_nodes.iid_term <- function(spec, x, name) {
  if (!is.null(spec$known)) check_known_groups(spec, x, name)
  find_groups(spec, x)
}

# New levels come after the known ones, each once. Text is made of each value once, not of each row.
find_groups <- function(spec, x) {
  values <- unique(x)
  text <- level_text(values)
  new <- setdiff(text, spec$levels)
  list(at = match(text, c(spec$levels, new))[match(x, values)], more = length(new))
}

#' @export
field_structure.iid_term <- function(spec, more = 0L) iid_structure(length(spec$levels), more, spec$known$precision)
#' @export
count_nodes.iid_term <- function(spec) length(spec$levels)
#' @export
node_names.iid_term <- function(spec) spec$levels

# The term gmrf(): effects of the nodes of a graph, alike among neighbours.

#' Spatial effects of regions (ICAR, BYM2, proper CAR)
#'
#' `gmrf(g, graph)` in a formula of [galvi()] adds a spatially structured random effect for each node of a graph: a
#' Gaussian Markov random field in which neighbouring regions have similar effects. It provides the intrinsic CAR (ICAR,
#' Besag), BYM2 and proper CAR (conditional autoregressive) models of disease mapping.
#'
#' @details
#' Let A be the (weighted) adjacency matrix with entries w_ij, which are 1 if the graph has no weights, and D the
#' diagonal matrix of its row sums. The models are
#'
#' | `model` | random effects |
#' |:--|:--|
#' | `"besag"` | ICAR: precision (D - A) / variance, density exp(-sum_(i ~ j) w_ij (z_i - z_j)^2 / (2 variance)) |
#' | `"bym2"` | sqrt(variance) (sqrt(1 - mixing) v + sqrt(mixing) u), v independent N(0, 1), u a scaled `besag` |
#' | `"proper"` | proper CAR: precision (D - dependence A) / variance |
#'
#' **Constraints.** The ICAR prior is improper: it does not determine a constant that is added to all nodes of a
#' connected component. By default that constant is removed, so the effects of each component sum to zero. With
#' `constrain = FALSE` each component has a constant with the prior of an intercept. A node without neighbours has an
#' independent effect with the given variance.
#'
#' **Scaling.** The marginal variances of an ICAR model depend on the graph as well as on `variance`. `scale = TRUE`
#' scales the precision of each component so that the geometric mean of the marginal variances is `variance` (Riebler et
#' al., 2016); priors and estimates can then be compared between graphs.
#'
#' Nodes without observations are allowed, and are predicted from their neighbours.
#'
#' @section Graphs:
#' `graph` is evaluated in the environment of the formula. It can be
#' * a square symmetric adjacency matrix with a zero diagonal, of base R or package Matrix; nonzero entries are weights
#'   and must be positive;
#' * a list of neighbours, such as class `nb` of package spdep: for each node the numbers or names of its neighbours;
#' * polygons of class `sf` or `sfc`: those that share a point are neighbours. [plot()][plot.galvi] then draws a map;
#'   for other graphs its argument `map` takes the polygons;
#' * an edge list: a matrix or data frame of two columns with a row per edge. It cannot have nodes without neighbours.
#'
#' The values of `g` are names of nodes: row names of the matrix or of the `sf` table, the attribute `region.id` of the
#' list, or the entries of the edge list. Without names, nodes are numbered from 1.
#'
#' @inheritParams iid
#' @param g The node of each row: a factor, text or numbers.
#' @param graph The neighbourhood structure, see Graphs.
#' @param model `"besag"` (the default), `"bym2"` or `"proper"`.
#' @param variance The variance in the formulas under Details, in squared units of the linear predictor. Accepts the
#'   same as `variance` in [iid()].
#' @param scale If TRUE, the precision is scaled so that `variance` is a typical marginal variance, see Details. FALSE
#'   by default; `"bym2"` is always scaled, `"proper"` never.
#' @param constrain If TRUE (the default), the effects of each connected component sum to zero. Not for `"proper"`.
#' @param mixing For `"bym2"`: the proportion of the variance that is spatially structured, between 0 and 1. A number is
#'   a starting value (0.5 by default), [fixed()] fixes it.
#' @param dependence For `"proper"`: spatial dependence, from 0 (independence) to 1 (where it would be `"besag"`). A
#'   number is a starting value (0.9 by default), [fixed()] fixes it.
#' @return No value. The term is only valid inside a formula.
#' @section Errors:
#' `galvi_error_formula` if the term is called outside a formula or without `graph`; `galvi_error_argument` if the graph
#' is not a graph as described (not symmetric, negative weights, a node that is its own neighbour) or an argument does
#' not belong to the model; `galvi_error_data`, and `galvi_error_newdata` in predictions, if `g` has a value that is not
#' a node.
#' @references
#' Besag, J., York, J. and Mollie, A. (1991). Bayesian image restoration, with two applications in spatial statistics.
#' *Annals of the Institute of Statistical Mathematics* 43, 1-20.
#'
#' Riebler, A., Sorbye, S. H., Simpson, D. and Rue, H. (2016). An intuitive Bayesian spatial model for disease mapping
#' that accounts for scaling. *Statistical Methods in Medical Research* 25, 1145-1165.
#' @seealso [oral] for a data set with its graph, [plot.galvi()] for maps.
#' @family terms
#' @examples
#' # disease mapping: a BYM2 model of deaths from oral cancer in the districts of Germany
#' germany_graph[1:2] # the neighbours of the first two districts
#' fit <- galvi(
#'   Y ~ offset(log(E)) + gmrf(region, germany_graph, model = "bym2", variance = pc(1, 0.01)),
#'   data = oral, family = poisson()
#' )
#' fit
#' head(ranef(fit)[["gmrf(region)"]])
#' # relative risks with credible intervals
#' head(predict(fit, transform(oral, E = 1), interval = "credible"), 3)
#' @export
gmrf <- function(g, graph, model = c("besag", "bym2", "proper"), variance = 1, scale = FALSE,
                 constrain = TRUE, mixing = 0.5, dependence = 0.9, by = NULL,
                 by_hyper = c("shared", "each")) {
  stop_term("gmrf", "y ~ x + gmrf(g, graph)")
}

#' @export
field_structure.gmrf_term <- function(spec, more) graph_models[[spec$model]]$structure(spec)
#' @export
count_nodes.gmrf_term <- function(spec) length(spec$levels)
#' @export
node_names.gmrf_term <- function(spec) spec$levels
#' @export
field_basis.gmrf_term <- function(spec) if (!spec$constrain) list(name = "constant", slope = FALSE)
#' @export
field_layers.gmrf_term <- function(spec) graph_models[[spec$model]]$layers
#' @export
field_scaling.gmrf_term <- function(spec) unit_scaling(neighbour_structure(spec$graph), spec$graph$component)

# One entry per model. layers: nodes of the structure for each of the graph; scaled: is it always?
# intrinsic: does it leave the constant of each component undetermined?
graph_models <- list(
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

#' @export
finish_field.gmrf_term <- function(spec, env) {
  arguments <- spec$arguments
  if (is.null(arguments$graph)) {
    stop_galvi("formula", sprintf(
      "`gmrf(%s)` needs `graph`: an adjacency matrix, a list of neighbours, polygons or an edge list.",
      deparse_one(arguments$g)
    ))
  }
  models <- names(graph_models)
  model <- if (is.null(arguments$model)) models[1L] else eval(arguments$model, env)
  spec$model <- check_choice(check_evaluates(model, "model"), models, "model")
  check_gmrf_options(spec)
  spec$scale <- spec$scale || graph_models[[spec$model]]$scaled
  graph <- check_evaluates(eval(arguments$graph, env), "graph")
  if (is_outline_list(graph)) {
    stop_galvi("argument", sprintf(paste(
      "`graph` is a list of polygons as mgcv has them, not of neighbours: write s(%s, bs = \"mrf\", xt = list(polys =",
      "%s)), or give gmrf() the regions as polygons of package sf."
    ), deparse_one(arguments$g), deparse_one(arguments$graph)))
  }
  spec$graph <- as_graph(graph)
  spec
}

# Arguments that belong to another model are an error.
check_gmrf_options <- function(spec) {
  models <- graph_models
  refuse <- function(name, able) {
    stop_galvi("argument", sprintf(
      "`%s` belongs to model = %s, not \"%s\".", name, paste0("\"", able, "\"", collapse = " and "), spec$model
    ))
  }
  has <- lapply(core_facts$field[names(models)], `[[`, "name")
  for (name in setdiff(names(spec$settings), has[[spec$model]])) {
    refuse(name, names(Filter(function(own) name %in% own, has)))
  }
  if (models[[spec$model]]$intrinsic) return(invisible())
  for (name in intersect(c("scale", "constrain"), names(spec$arguments))) {
    refuse(name, names(Filter(function(model) model$intrinsic, models)))
  }
}

#' @export
learn_field.gmrf_term <- function(spec, x, name) {
  spec$levels <- spec$graph$names
  spec
}

#' @export
find_nodes.gmrf_term <- function(spec, x, name) {
  x <- level_text(x)
  at <- match(x, spec$levels)
  bad <- which(is.na(at))
  if (length(bad)) {
    stop_galvi("data", sprintf(
      "`%s` has \"%s\" (row %s), which is not a node of the graph of %s. It has %d nodes: %s.", name,
      x[bad[1L]], row_label(bad[1L]), spec$label, length(spec$levels), quote_names(spec$levels, "\"", 6L)
    ))
  }
  list(at = at)
}

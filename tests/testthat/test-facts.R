# What R knows of the core's registries it reads from them; what users call is called as the core calls it.

test_that("facts have an entry per name, and no NA", {
  tables <- list(
    likelihood_facts(), expectation_facts(), inference_facts(), solver_facts(), term_facts(),
    transform_facts(), hyper_prior_facts(), hyper_method_facts()
  )
  for (table in tables) {
    expect_gt(nrow(table), 1L)
    expect_false(anyDuplicated(table[[1L]]) > 0L)
    expect_false(anyNA(table))
  }
  found <- fact(inference_facts(), c("ep", "newton", "none"), "evidence")
  expect_identical(found, c("approximation", "bound", NA))
  expect_setequal(inference_facts()$evidence, c("exact", "bound", "approximation"))
  expect_identical(with(expectation_facts(), name[!is_bound]), "taylor")
})

test_that("every kernel has a function with its parameters as arguments", {
  checked <- 0
  for (type in names(kernel_facts())) {
    facts <- kernel_facts()[[type]]
    if (facts$operation != "") next
    arguments <- names(formals(get(type, asNamespace("galvi"))))
    expect_true(all(c(facts$parameters$name, facts$constants) %in% arguments), info = type)
    expect_identical("columns" %in% arguments, facts$acts_on_columns, info = type)
    expect_identical("ard" %in% arguments, any(facts$parameters$per_column), info = type)
    expect_identical(sum(facts$parameters$role == "variance"), 1L, info = type)
    expect_true(all(facts$parameters$lower < facts$parameters$upper))
    checked <- checked + 1
  }
  expect_some(checked, "kernels")
})

test_that("a kernel's columns, metric and variances are what its covariances say", {
  set.seed(2)
  X <- matrix(rnorm(10), 5)
  for (type in kernel_words()) {
    facts <- kernel_facts()[[type]]
    names <- facts$parameters$name
    spec <- list(
      type = type, columns = if (facts$acts_on_columns) seq_len(if (facts$one_input) 1L else 2L) else integer(),
      hyper = stats::setNames(as.list(seq_along(names)), names),
      constants = c(formals(get(type, asNamespace("galvi")))[facts$constants], if (facts$origin) list(origin = 0.1))
    )
    value <- function(X, scale = 1) probe_kernel_value(spec, rep(1, length(names)), scale * X, scale * X)
    K <- value(X)
    expect_equal(kernel_variances(spec, rep(1, length(names)), X), diag(K), info = type)
    # units count where distances or sizes do
    expect_identical(facts$metric, !isTRUE(all.equal(K, value(X, 2))), info = type)
    rank <- qr(K + 0)$rank
    if (facts$features == "constant") expect_identical(rank, 1L, info = type)
    if (facts$features == "inputs") expect_identical(rank, 2L, info = type)
    if (facts$features == "none") expect_gt(rank, if (facts$one_input) 1L else 2L)
  }
})

test_that("every parameter of a field is an argument of a term, and of no term without it", {
  models <- field_facts()
  own <- names(graph_models)
  terms <- Filter(function(type) "field_term" %in% type$class, term_types[setdiff(term_words, "tve")])
  for (name in names(terms)) {
    of <- if (name == "gmrf") own else name
    parameters <- unique(unlist(lapply(models[of], `[[`, "name")))
    expect_true(all(parameters %in% names(formals(get(name)))), info = name)
  }
  structures <- c(vapply(effect_structures, `[[`, "", "model"), "independent")
  expect_setequal(names(models), c(setdiff(names(terms), "gmrf"), own, structures))
  transforms <- transform_facts()
  for (model in models) {
    shares <- model[!model$relative, ]
    expect_true(all(shares$lower > fact(transforms, shares$transform, "lower")))
    expect_true(all(shares$upper < fact(transforms, shares$transform, "upper")))
  }
})

test_that("a transform and its table agree on where it acts", {
  checked <- 0
  for (i in seq_len(nrow(transform_facts()))) {
    t <- transform_facts()[i, ]
    if (t$relative) next
    inside <- if (is.finite(t$upper)) (t$lower + t$upper) / 2 else max(t$lower, 0) + 1
    hyper <- list(
      name = "a", value = inside, transform = t$name, learned = TRUE, lower = inside, upper = inside
    )
    wide <- widen_ranges(hyper)
    expect_true(wide$lower > t$lower && wide$lower < inside && wide$upper > inside && wide$upper < t$upper)
    for (end in c(t$lower, t$upper)) {
      hyper$value <- end
      expect_error(check_values(hyper, 1L, "start"), class = "galvi_error_argument", info = t$name)
    }
    checked <- checked + 1
  }
  expect_some(checked, "transforms")
})

test_that("a prior's centre is that of its density, whatever it is a prior of", {
  expect_equal(prior_centre(log_normal(log(3), 2)), 3)
  expect_identical(prior_centre(half_normal(2)), 2)
  # the sd is exponential with P(sd > upper) = prob: its mean, and that squared
  rate <- -log(0.05) / 3
  expect_equal(prior_centre(pc(3, 0.05)), 1 / rate^2)
  expect_equal(prior_centre(c(unclass(pc(3, 0.05)), quantity = "sd")), 1 / rate)
  # 1 / range is exponential: where its density is e times lower than at 0
  expect_equal(prior_centre(pc_range(3, 0.05)), -3 * log(0.05))
  expect_equal(prior_centre(gamma_prior(2, 0.5)), 0.25)
  expect_equal(prior_centre(c(unclass(gamma_prior(2, 0.5)), quantity = "sd")), 0.5)
  # normal() is a prior of coefficients, refused by name; some are written as text alone
  made <- intersect(hyper_prior_facts()$type, setdiff(prior_names(), "normal"))
  expect_gt(length(made), 4L)
  for (type in made) {
    expect_true(is.function(get(type, asNamespace("galvi"))))
    refused <- tryCatch(as_parameter(do.call(type, list(1)), "x", variance = FALSE), error = conditionMessage)
    of <- fact(hyper_prior_facts(), type, "of")
    expect_identical(is.character(refused), !of %in% c("positive", "range"), info = type)
    refused <- tryCatch(as_parameter(do.call(type, list(1)), "x"), error = conditionMessage)
    expect_identical(is.character(refused), of %in% c("range", "correlation"), info = type)
  }
})

test_that("every family has the parameters that its likelihoods read, and sigma() from them", {
  for (name in names(family_types)) {
    type <- family_type(list(family = name))
    d <- data.frame(x = c(0, 1, 3), y = type$example)
    model <- galvi_model(galvi_design(y ~ x, d, galvi_family(name)))
    expect_identical(names(model$likelihood$hyper), names(type$parameters))
    expect_true(is.finite(type$sigma(lapply(type$parameters, function(parameter) 3))), info = name)
    expect_true(all(names(type$links) %in% names(link_types)), info = name)
  }
})

test_that("an array is one hyperparameter, registered in no time", {
  registry <- new_registry()
  first <- registry$add("a", "sd", list(value = 2, learned = TRUE, prior = NULL), 1, 3)
  points <- matrix(stats::rnorm(200 * 784), 200)
  free <- rep(c(TRUE, FALSE), each = length(points) / 2)
  entry <- list(value = points, learned = free, prior = NULL)
  seconds <- system.time({
    at <- registry$add("gp(x)", "inducing", entry, points - 10, points + 10, "identity")
    last <- registry$add("b", "sd", list(value = 2, learned = FALSE, prior = half_normal(1)), 1, 3)
    table <- registry$table()
  })[["elapsed"]]
  # measured 0.02 s; the limit is for what grows with the square of the size
  expect_lt(seconds, within_seconds(5))
  expect_identical(c(first, last), c(1L, length(points) + 2L))
  expect_identical(at, matrix(seq_along(points) + 1L, 200))
  expect_identical(table$shape, list("gp(x).inducing" = c(200L, 784L)))
  own <- table$name == "gp(x).inducing"
  expect_identical(own, in_array(table))
  expect_identical(table$value[at], as.numeric(points))
  expect_identical(table$learned[own], free)
  expect_identical(table$prior[[last]]$type, "half_normal")
  expect_true(all(lengths(table[names(table) != "shape"]) == length(points) + 2L))
  # users see the numbers
  shown <- galvi:::hyper_table(list(hyper = table), list(hyper = table$value, at_bound = rep(FALSE, length(own))))
  expect_identical(shown$name, c("a.sd", "b.sd"))
  expect_identical(shown$status, c("learned", "fixed"))
})

# Random models for the fuzzer (tools/fuzz.R, test-fuzz.R): a seed -> R code that makes data, and a call of
# galvi(). What can be drawn is read from galvi's own registries: families with links and parameters, terms
# and kernels with their arguments, methods and expectations. The tables here say what to put where: a line
# per argument, column, response and kind of hostile data.

# list(seed, code: lines that make the data, call, plain: is everything at its default, recipe: name in fuzz_recipes,
# comparable: see recipe(), env: where the code has run). A pure function of the seed (and of the registries); nothing
# of it is hidden from the code.
fuzz_model <- function(seed, name = draw_recipe()) {
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  force(name)
  plain <- chance(0.35)
  drawn <- if (name == "terms") recipe_terms(plain) else fuzz_recipes[[name]](plain)
  args <- c(list(formula = drawn$formula, data = "d", family = drawn$family), draw_arguments(plain, drawn$response))
  args[names(drawn$args)] <- drawn$args
  used <- unique(all.vars(str2lang(call_text("list", c(unname(args), drawn$response$name)))))
  code <- draw_data(seed, intersect(names(fuzz_columns), c(used, if (name == "points") "x1")), drawn$response)
  model <- list(
    seed = seed, code = c(code, if ("graph" %in% used && is.null(drawn$more)) draw_graph(), drawn$more),
    call = str2lang(call_text("galvi", args)), plain = plain && name == "terms", recipe = name,
    comparable = drawn$comparable
  )
  model$env <- run_code(model$code)
  if (name == "terms" && !plain) model$call <- draw_method(model)
  model
}

draw_recipe <- function() if (chance(0.5)) "terms" else pick(names(fuzz_recipes), fuzz_recipe_weights)

# Terms and a family in one formula.
recipe_terms <- function(plain) {
  family <- draw_family(plain)
  response <- draw_response(family$name)
  recipe(paste(response$name, "~", draw_predictor(plain)), family$text, response)
}

# The lines that show a model: paste them into R.
fuzz_code <- function(model) {
  c("library(galvi)", model$code, paste("fit <-", deparse1(model$call, collapse = "\n")))
}

# In an environment of its own, which is also that of the formula.
run_code <- function(code) {
  env <- new.env(parent = globalenv())
  suppressWarnings(eval(parse(text = code, keep.source = FALSE), env))
  env
}

# ---- chance ----

chance <- function(p) stats::runif(1) < p
pick <- function(x, prob = NULL) x[[sample.int(length(x), 1L, prob = prob)]]

# `f(a, b = c)` of texts, some with names.
call_text <- function(f, args) {
  names <- if (is.null(names(args))) rep("", length(args)) else names(args)
  sprintf("%s(%s)", f, paste0(ifelse(nzchar(names), paste(names, "= "), ""), unlist(args), collapse = ", "))
}

# ---- arguments of terms, kernels, families ----

# A positive number where learning starts, one that is fixed, or a prior.
draw_positive <- function(...) {
  pick(c("1", "1e-4", "1e4", "fixed(1)", "fixed(0.01)", "fixed(100)", "fixed(1e-8)", "fixed(1e8)",
         "log_normal(0, 1)", "half_normal(1)", "pc(1, 0.01)", "gamma_prior(1, 0.1)"),
       prob = c(4, 1, 1, 4, 2, 2, 0.5, 0.5, 1, 1, 0.5, 0.5))
}

# A graph's model with the parameter that is its own.
draw_graph_model <- function(formals) {
  pick(c("\"besag\"", "\"bym2\"", "\"bym2\", mixing = fixed(0.01)", "\"bym2\", mixing = fixed(0.99)",
         "\"proper\"", "\"proper\", dependence = fixed(0)", "\"proper\", dependence = fixed(0.999)"))
}

# Argument -> function(formals of the call that it is for), a text. Arguments that are not here are drawn by
# their default: a flag, or one of several words.
fuzz_arguments <- list(
  ... = function(formals) {
    pick(c("x1", "x2", "x1, x2", "f", "x1, f", "x1, x2, f", "log(abs(x1) + 1)", "time"))
  },
  kernel = function(formals) draw_kernel(),
  inducing = function(formals) pick(c("1", "2", "5", "20", "5, approximation = \"fitc\"")),
  neighbours = function(formals) pick(c("1", "3", "20")),
  share = function(formals) pick(c("1", "2", "3")),
  approximation = function(formals) NULL,  # see inducing
  mixing = function(formals) NULL,  # see model, like dependence
  dependence = function(formals) NULL,
  by = function(formals) pick(c("x2", "f")),
  g = function(formals) if ("graph" %in% names(formals)) "node" else pick(c("g", "f", "f:g")),
  t = function(formals) "time",
  x = function(formals) "x1",
  y = function(formals) "x2",
  mesh = function(formals) "galvi_mesh(cbind(c(-4, 4), c(-4, 4)), 2)",
  range = function(formals) pick(c("1", "fixed(0.5)", "fixed(1e4)", "fixed(1e-8)", "pc_range(0.1)",
    "log_normal(0, 1)")),
  sd = draw_positive,
  graph = function(formals) "graph",
  columns = function(formals) if ("bar" %in% names(formals)) pick(c("~ 1", "~ x1")) else pick(c("1", "1", "2")),
  bar = function(formals) pick(c("f | g", "f | time")),
  d = function(formals) pick(c("1", "2")),
  loadings = function(formals) pick(c("NULL", "normal(0, 1)")),
  variance = draw_positive,
  lengthscale = draw_positive,
  alpha = draw_positive,
  period = function(formals) pick(c("1", "fixed(12)", "fixed(0.1)")),
  constant = draw_positive,
  degree = function(formals) pick(c("1", "2", "3", "5")),
  correlation = function(formals) pick(c("0.5", "fixed(0.9)", "fixed(-0.5)", "fixed(0.9999)")),
  model = draw_graph_model
)

draw_argument <- function(name, formals) {
  if (name %in% names(fuzz_arguments)) return(fuzz_arguments[[name]](formals))
  default <- formals[[name]]
  if (is.logical(default)) return(pick(c("TRUE", "FALSE")))
  if (is.call(default)) return(dQuote(pick(eval(default)), FALSE))
  NULL
}

# A call of one of galvi's functions: arguments without a default always, others each with probability `p`.
draw_call <- function(name, p) {
  formals <- as.list(formals(get(name, asNamespace("galvi"))))
  needed <- vapply(formals, function(default) identical(default, quote(expr = )), NA)
  chosen <- names(formals)[needed | stats::runif(length(formals)) < p]
  args <- lapply(stats::setNames(nm = chosen), draw_argument, formals)
  names(args)[chosen == "..." | cumsum(needed[chosen]) == 1 & needed[chosen]] <- ""
  call_text(name, Filter(Negate(is.null), args))
}

draw_kernel <- function(depth = 0) {
  if (chance(0.15) && depth == 0) return(sprintf("per_class(%s)", draw_kernel(1)))
  if (!chance(0.3) || depth > 2) return(draw_call(pick(galvi:::kernel_words()), p = 0.25))
  parts <- c(draw_kernel(depth + 1), draw_kernel(depth + 1))
  if (chance(0.5)) paste(parts, collapse = " + ") else sprintf("(%s) * (%s)", parts[1], parts[2])
}

# ---- the linear predictor ----

draw_predictor <- function(plain) {
  common <- c("1", "1", "0", "x1", "x1", "x1 + x2", "f")
  rare <- c("x1 * f", "0 + f", "x1:x2", "f:x1", "I(x1^2)", "poly(x1, 2)", "log(abs(x2) + 1)", "0 + x1",
            "x1 + offset(o)")
  fixed <- if (chance(0.75)) pick(common) else pick(rare)
  count <- sample(0:2, 1, prob = c(0.2, 0.6, 0.2))
  if (fixed == "0") count <- max(1, count)
  paste(c(fixed, replicate(count, draw_term(plain))), collapse = " + ")
}

draw_term <- function(plain) {
  name <- pick(c("gp", "gp", setdiff(names(galvi:::term_types), c("tve", "baseline"))))
  if (name == "|") return(draw_bar())
  if (name %in% c("s", "te", "ti", "t2")) return(draw_smooth(name))
  if (name == "iid" && chance(0.3)) return("(1 | g)")
  draw_call(name, p = if (plain) 0 else 0.25)
}

# Small bases: most data sets have few rows.
draw_smooth <- function(name) {
  k <- if (name == "s") c("", ", k = 4", ", k = 4, bs = \"cr\"") else c(", k = 3", ", k = 4")
  sprintf("%s(%s%s%s)", name, if (name == "s") pick(c("x1", "x2", "x1, x2")) else "x1, x2", pick(k),
    pick(c("", ", by = f", ", by = x2"), prob = c(6, 1, 1)))
}

# Effects that vary by group.
draw_bar <- function() {
  sprintf("(%s %s %s)", pick(c("x1", "1 + x1", "0 + x1", "x1 + x2", "0 + f", "f", "poly(x1, 2)", "log(abs(x2) + 1)")),
    pick(galvi:::bars), pick(c("g", "g", "f", "g/f", "f:g")))
}

# ---- family and response ----

# Cox's model takes survival objects alone.
fuzz_families <- function() setdiff(names(galvi:::family_types), "cox")

# list(name, text).
draw_family <- function(plain) {
  types <- galvi:::family_types
  name <- pick(fuzz_families())
  links <- names(types[[name]]$links)
  link <- pick(links)
  parameters <- types[[name]]$parameters
  given <- Filter(function(x) !plain && chance(0.3), stats::setNames(nm = names(parameters)))
  args <- c(
    if (link != links[1]) list(link = dQuote(link, FALSE)),
    lapply(given, function(name) {
      if (!is.null(parameters[[name]]$transform)) return(pick(c("1.4", "fixed(1.6)", "learn(1.7)")))
      if (is.null(parameters[[name]]$range)) "fixed(c(-1, 1))" else draw_positive()
    })
  )
  name_text <- dQuote(name, FALSE)
  list(name = name, text = if (length(args)) call_text("galvi_family", c(name_text, args)) else name_text)
}

response_kind <- function(code, name = "y", weights = NULL, numeric = TRUE) {
  list(code = code, name = name, weights = weights, numeric = numeric)
}

# Responses of n rows that go with a predictor `eta`.
fuzz_responses <- list(
  numbers = response_kind("d$y <- eta + rnorm(n)"),
  counts = response_kind("d$y <- rpois(n, exp(pmin(eta, 10)))"),
  positive = response_kind("d$y <- rexp(n, exp(-pmin(abs(eta), 20)))"),
  angles = response_kind("d$y <- Arg(exp(1i * (eta + rnorm(n) / 2)))"),
  fractions = response_kind("d$y <- pmin(pmax(plogis(eta + rnorm(n)), 1e-9), 1 - 1e-9)"),
  zero_one = response_kind("d$y <- as.numeric(eta + rlogis(n) > 0)"),
  logical = response_kind("d$y <- eta + rlogis(n) > 0", numeric = FALSE),
  two_levels = response_kind(
    "d$y <- factor(ifelse(eta + rlogis(n) > 0, \"yes\", \"no\"))", numeric = FALSE
  ),
  text = response_kind(
    "d$y <- c(\"a\", \"b\", \"c\")[1 + (eta + rnorm(n) > -0.5) + (eta > 0.5)]", numeric = FALSE
  ),
  classes = response_kind(
    "d$y <- droplevels(cut(eta + rlogis(n), c(-Inf, -1, 1, Inf), c(\"a\", \"b\", \"c\")))", numeric = FALSE
  ),
  ordered = response_kind(
    "d$y <- factor(pmin(rpois(n, exp(pmin(eta, 1))), 3), ordered = TRUE)", numeric = FALSE
  ),
  trials = response_kind(c("d$size <- 1 + rpois(n, 4)", "d$y <- rbinom(n, d$size, plogis(eta))"),
                         "cbind(y, size - y)"),
  proportions = response_kind(
    c("d$size <- 1 + rpois(n, 4)", "d$y <- rbinom(n, d$size, plogis(eta)) / d$size"), weights = "size"
  )
)

# A response that the family accepts; sometimes any response.
draw_response <- function(family) {
  if (chance(0.02)) return(pick(fuzz_responses))
  accepted <- Filter(function(kind) accepts(family, kind), fuzz_responses)
  if (!is.null(accepted$numbers) && chance(0.6)) accepted$numbers else pick(accepted)
}

accepts <- function(family, kind) {
  env <- run_code(c("n <- 30", "d <- data.frame(row = 1:n)", "eta <- rnorm(n)", kind$code))
  read <- function(text) if (!is.null(text)) eval(str2lang(text), env$d)
  family <- galvi:::as_galvi_family(family)
  response <- tryCatch(
    galvi:::family_response(family, read(kind$name), read(kind$weights), "y"), galvi_error = function(e) NULL
  )
  # counts can be classes, but a fit with hundreds of classes takes longer than seconds
  !is.null(response) && length(response$levels) <= 4L
}

# ---- other arguments ----

draw_arguments <- function(plain, response) {
  weights <- if (is.null(response$weights)) if (chance(0.2)) "w" else NULL else response$weights
  c(
    if (!is.null(weights)) list(weights = weights),
    if (chance(0.1)) list(offset = "o"),
    if (chance(0.04)) list(subset = "keep"),
    if (!plain && chance(0.5)) list(prior = draw_prior()),
    if (chance(0.5)) list(hyper = "\"fixed\""),
    list(control = draw_control(plain))
  )
}

draw_prior <- function() {
  sds <- c("1e-6", "0.1", "1", "100", "1e8", "Inf", "learn(1)", "half_normal(1)", "log_normal(0, 1)",
           "pc(1, 0.01)", "gamma_prior(1, 0.1)")
  normal <- function() sprintf("normal(%s, %s)", pick(c("0", "1", "-10"), prob = c(8, 1, 1)), pick(sds))
  if (chance(0.5)) normal() else sprintf("list(intercept = %s, default = %s)", normal(), normal())
}

# Legal values of galvi_control() besides the default; flags are drawn without being here.
fuzz_control <- list(
  tol = c("1e-3", "1e-10"), max_iterations = c("1", "3"), hyper_tol = "1e-3",
  hyper_iterations = c("0", "1", "5"), starts = "2", freeze = "0", inducing_jitter = "1e-6",
  pieces = c("3", "8"), chunk_rows = c("1", "7"), hyper_method = "\"newton\""
)

# One thread and a chosen backend: a seed gives the same numbers again.
draw_control <- function(plain) {
  formals <- as.list(formals(galvi::galvi_control))
  chosen <- names(formals)[!plain & stats::runif(length(formals)) < 0.06]
  args <- lapply(stats::setNames(nm = chosen), function(name) {
    if (name %in% names(fuzz_control)) pick(fuzz_control[[name]]) else if (is.logical(formals[[name]])) {
      pick(c("TRUE", "FALSE"))
    }
  })
  backend <- pick(c("\"eigen\"", "\"blas\""))
  call_text("galvi_control", c(Filter(Negate(is.null), args), list(threads = "1", backend = backend)))
}

# The call with an expectation and a method that are possible for the model; a model that cannot be built is returned
# unchanged.
draw_method <- function(model) {
  call <- model$call
  built <- if (chance(0.7)) tryCatch(built_model(model), error = function(e) NULL)
  if (is.null(built)) return(call)
  expectations <- c("auto", galvi:::expectation_facts()$name)
  refusals <- lapply(stats::setNames(nm = expectations), galvi:::case_refusals, model = built)
  serving <- expectations[vapply(refusals, function(reasons) any(reasons == ""), NA)]
  if (!length(serving)) return(call)
  expectation <- pick(serving)
  methods <- names(refusals[[expectation]])[refusals[[expectation]] == "" | chance(0.02)]
  if (expectation != "auto") call$expectation <- expectation
  if (chance(0.8)) call$method <- pick(methods)
  call
}

# The model list that galvi() would pass to the core.
built_model <- function(model) {
  args <- as.list(model$call)[-1L]
  value <- function(name) eval(args[[name]], model$env)
  suppressWarnings(suppressMessages({
    design <- galvi:::read_design(
      eval(args$formula, model$env), value("data"), value("family"), args[c("weights", "offset", "subset")],
      galvi:::default_na_action()
    )
    galvi_model(
      design, prior = value("prior"), control = galvi:::or_else(value("control"), galvi_control()),
      hyper = galvi:::or_else(value("hyper"), "optimise")
    )
  }))
}

# ---- data ----

# Columns of n rows, each with its kind; a model makes those that it uses.
fuzz_columns <- list(
  x1 = list(kind = "number", code = "rnorm(n)"),
  x2 = list(kind = "number", code = "runif(n, -2, 2)"),
  f = list(kind = "factor", code = "factor(sample(c(\"a\", \"b\", \"c\"), n, TRUE))"),
  g = list(kind = "group", code = "sample(6, n, TRUE)"),
  time = list(kind = "time", code = "sample(12, n, TRUE)"),
  node = list(kind = "node", code = "sample(9, n, TRUE)"),
  w = list(kind = "weight", code = "sample(c(0.5, 1, 2), n, TRUE)"),
  o = list(kind = "offset", code = "rnorm(n)"),
  keep = list(kind = "flag", code = "runif(n) < 0.8")
)

# What may be wrong with a column X of each kind, and with the response.
fuzz_hostile <- list(
  number = c("X <- rep(3, n)", "X <- rep(0, n)", "X <- X * 1e-9", "X <- X * 1e9", "X <- X + 1e9",
             "X[1] <- 1e6", "X <- as.integer(round(3 * X))", "X <- X > 0",
             "X <- as.Date(\"2020-01-01\") + round(100 * X)", "X <- X[(seq_len(n) + 1) %/% 2]",
             "X <- round(X) + 1e-10 * X", "X[n] <- NA",
             "X <- ifelse(X > 0, \"high\", \"low\")", "X <- 1 - 3 * as.numeric(d[[1]])"),
  factor = c("X <- factor(rep(\"a\", n))", "X <- factor(X, c(levels(X), \"unused\"))", "X <- as.character(X)",
             "X <- X == \"a\"", "X <- factor(X, ordered = TRUE)", "X <- factor(seq_len(n))", "X[n] <- NA"),
  group = c("X <- rep(1L, n)", "X <- seq_len(n)", "X <- paste(\"group\", X)", "X <- X > 3", "X[n] <- NA",
            "X <- factor(X, 0:9)"),
  time = c("X <- rep(4L, n)", "X <- as.Date(\"2021-03-01\") + X", "X <- factor(X)", "X <- factor(X, 0:20)",
           "X <- seq_len(n)", "X <- X + 1e6", "X[n] <- 300", "X[n] <- NA", "X <- X / 2"),
  node = c("X <- rep(5L, n)", "X <- as.character(X)", "X <- factor(X)", "X[n] <- 99", "X[n] <- NA"),
  weight = c("X[-1] <- 0", "X[1] <- 1e6", "X[1] <- 0", "X <- X * 1e-6", "X <- 0 * X", "X <- rep(2L, n)",
             "X[n] <- NA"),
  offset = c("X <- X + 200", "X <- X - 200", "X <- 100 * X", "X <- rep(0, n)", "X[1] <- 1e6", "X[n] <- NA"),
  flag = c("X <- rep(FALSE, n)", "X[n] <- NA"),
  eta = c("X <- 100 * X", "X <- 0 * X", "X <- X + 10"),
  response = c("X[] <- X[1]", "X <- sort(X)", "X[n] <- NA"),
  numbers = c("X[1] <- 1e3", "X[1] <- 1e6", "X[1] <- 1e9", "X <- X * 1e-9", "X <- X * 1e9", "X <- X + 1e9",
              "X <- as.integer(X)")
)

# One to three things that go wrong, or none. The response is drawn before its predictors are spoilt.
draw_data <- function(seed, used, response) {
  n <- pick(c("1", "2", "3", "6", "12", "20", "30", "40", "200"), prob = c(1, 1, 1, 2, 4, 6, 6, 4, 0.7))
  eta <- if ("x1" %in% used) "eta <- d$x1 + rnorm(n, sd = 0.5)" else "eta <- rnorm(n)"
  columns <- vapply(used, function(name) sprintf("d$%s <- %s", name, fuzz_columns[[name]]$code), "")
  kinds <- c(vapply(fuzz_columns[used], `[[`, "", "kind"), eta = "eta", y = "response",
             y = if (response$numeric) "numbers")
  chosen <- if (chance(0.4)) integer() else sample(length(kinds), min(length(kinds), sample(3, 1)))
  spoil <- function(at) {
    name <- if (names(kinds)[at] == "eta") "eta" else paste0("d$", names(kinds)[at])
    gsub("X", name, pick(fuzz_hostile[[kinds[[at]]]]), fixed = TRUE)
  }
  early <- kinds[chosen] == "eta"
  c(
    sprintf("set.seed(%s)", format(seed, scientific = FALSE)), paste("n <-", n),
    "d <- data.frame(row.names = seq_len(n))", unname(columns),
    eta, vapply(chosen[early], spoil, ""), response$code, vapply(chosen[!early], spoil, "")
  )
}

# Nine nodes of a lattice: as they are, with an isolated one, in two parts, weighted, as a list of neighbours.
draw_graph <- function() {
  lattice <- "graph <- 1 * (as.matrix(dist(expand.grid(1:3, 1:3))) == 1)"
  c(lattice, pick(list(NULL, NULL, "graph[9, ] <- graph[, 9] <- 0", "graph[1:3, 4:9] <- graph[4:9, 1:3] <- 0",
                       "graph <- graph * outer(1:9, 1:9)",
                       "graph <- lapply(1:9, function(i) which(graph[i, ] > 0))")))
}

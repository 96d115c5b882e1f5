# Recipes of the fuzzer: models that are more than terms and a family in one formula. A recipe draws its own formula and
# family, and may say how the response is made, what else the call needs, and what may break half way.

# Each gives list(formula, family: texts; response: of fuzz_responses or response_kind(); more: lines of code after the
# data; args: of galvi(), texts; comparable: is the fit that of one data frame, a row for each observation? The
# invariants that compare fits need that).
recipe <- function(formula, family = "\"gaussian\"", response = fuzz_responses$numbers, more = NULL, args = list(),
                   comparable = TRUE) {
  list(formula = formula, family = family, response = response, more = more, args = args, comparable = comparable)
}

few_effects <- function() pick(c("1", "x1", "x1 + f", "x1 + (1 | g)", "f + gp(x1)", "s(x2, k = 4)", "iid(g)"))

# ---- several formulas ----

recipe_predictors <- function(plain) {
  types <- galvi:::family_types
  able <- Filter(function(name) length(types[[name]]$dpars) > 0, fuzz_families())
  name <- pick(able)
  dpars <- names(types[[name]]$dpars)
  chosen <- dpars[stats::runif(length(dpars)) < 0.7]
  if (!length(chosen)) chosen <- pick(dpars)
  if (chance(0.02)) chosen <- c(chosen, "nosuch")
  right <- function(dpar) {
    if (dpar == "disc") pick(c("0 + x1", "0 + f", "x1")) else pick(c("1", "x1", "f", few_effects()))
  }
  formulas <- c(paste("y ~", draw_predictor(plain)), sprintf("%s ~ %s", chosen, vapply(chosen, right, "")))
  link <- pick(names(types[[name]]$links))
  family <- if (link == names(types[[name]]$links)[1L]) dQuote(name, FALSE) else {
    sprintf("galvi_family(\"%s\", link = \"%s\")", name, link)
  }
  recipe(sprintf("list(%s)", paste(formulas, collapse = ", ")), family, draw_response(name))
}

# ---- survival ----

times_code <- c("d$y <- rexp(n, exp(-pmin(abs(eta), 20)))", "d$event <- rbinom(n, 1, 0.7)")
survival_responses <- list(
  right = response_kind(times_code, "survival::Surv(y, event)"),
  late = response_kind(c(times_code, "d$entry <- d$y * runif(n)"), "survival::Surv(pmin(entry, y / 2), y, event)"),
  interval = response_kind(c(times_code, "d$upper <- d$y * (1 + rexp(n))", "d$event <- sample(0:3, n, TRUE)"),
    "survival::Surv(y, pmax(upper, y), event, type = \"interval\")"),
  interval2 = response_kind(c(times_code, "d$upper <- ifelse(d$event == 1, d$y, Inf)"),
    "survival::Surv(y, pmax(upper, y), type = \"interval2\")"),
  left = response_kind(times_code, "survival::Surv(y, event, type = \"left\")"),
  bar = response_kind(c(times_code, "d$c <- sample(c(\"none\", \"left\", \"right\"), n, TRUE)"), "y | cens(c)"),
  bar2 = response_kind(c(times_code, "d$c <- sample(-1:2, n, TRUE)", "d$upper <- d$y + rexp(n)"), "y | cens(c, upper)")
)

recipe_survival <- function(plain) {
  response <- pick(survival_responses)
  family <- pick(c("\"weibull\"", "weibull(form = \"ph\")", "\"exponential\"", "\"loglogistic\"", "\"lognormal\"",
    "\"gaussian\""))
  formula <- paste(response$name, "~", draw_predictor(plain))
  if (chance(0.2)) formula <- sprintf("list(%s, %s ~ x1)", formula, pick(c("shape", "sigma")))
  recipe(formula, family, response)
}

recipe_cox <- function(plain) {
  response <- pick(survival_responses[c("right", "right", "late")])
  breaks <- pick(c("5", "20", "\"events\"", "c(0.1, 0.5, 2)", "1"))
  right <- paste(c(few_effects(), if (chance(0.3)) "strata(f)", if (chance(0.3)) "tve(x1)"), collapse = " + ")
  recipe(
    paste(response$name, "~", right), comparable = FALSE, response = response,
    family = sprintf("cox(breaks = %s, baseline = \"%s\"%s)", breaks, pick(c("rw1", "rw2", "iid")),
      pick(c("", ", variance = 1", ", variance = fixed(0.1)")))
  )
}

# ---- several responses ----

# Columns y, y2, y3 of one kind each, some with holes.
recipe_wide <- function(plain) {
  kinds <- c(
    numbers = "eta + rnorm(n)", counts = "rpois(n, exp(pmin(eta, 3)))", zero_one = "as.numeric(eta + rlogis(n) > 0)",
    positive = "rexp(n, exp(-pmin(abs(eta), 20)))"
  )
  families <- list(numbers = c("\"gaussian\"", "\"student\"", "\"laplace\""),
    counts = c("\"poisson\"", "\"negbinomial\""),
    zero_one = "\"binomial\"", positive = c("\"Gamma\"", "\"lognormal\""))
  columns <- sample(names(kinds), 3L, TRUE)
  if (chance(0.6)) columns[] <- columns[1L]
  family <- if (length(unique(columns)) == 1L && chance(0.8)) pick(families[[columns[1L]]]) else {
    sprintf("list(%s)", paste(vapply(families[columns], pick, ""), collapse = ", "))
  }
  code <- sprintf("d$%s <- %s", c("y", "y2", "y3"), kinds[columns])
  if (chance(0.4)) code <- c(code, "d$y2[seq_len(n %/% 3)] <- NA")
  left <- pick(c("responses(cbind(y, y2, y3))", "responses(d[c(\"y\", \"y2\", \"y3\")])", "mvbind(y, y2, y3)",
    "responses(cbind(y, y2))"))
  right <- paste(c(pick(c("1", "x1", "f", "x1 + f")), pick(c("factors(1)", "factors(2)",
    "factors(1, columns = \"random\")",
    "rescor()", "rescor()", "(0 + .item | g)", "gp(x1, by = .item)", "iid(.unit)"))), collapse = " + ")
  recipe(paste(left, "~", right), family, response_kind(code, numeric = FALSE), comparable = FALSE)
}

# ---- groups ----

known_matrix <- c(
  "A <- 0.5^abs(outer(0:99, 0:99, \"-\"))", "dimnames(A) <- list(0:99, 0:99)"
)

recipe_groups <- function(plain) {
  within <- pick(c("0 + f | g", "0 + f | g", "f | g", "0 + factor(time) | g", "x1 | g", "1 | g"))
  term <- pick(c(
    sprintf("%s(%s%s)", pick(names(galvi:::structure_words)), within, pick(c("", "", ", hom = TRUE", ", hom = FALSE"))),
    "ou(time | g)", "(1 | gr(g, cov = A))", "(x1 | gr(g, cov = A))", "(1 | gr(g, precision = A))",
    "(1 | gr(g, by = f))", "(x1 | gr(g, by = f))", "iid(g, cov = A)", "(1 | mm(g, time))", "(1 + x1 | mm(g, time))",
    "(1 | mm(g, time, weights = cbind(w, w)))", "(1 | mm(g, time, weights = cbind(w, w), scale = FALSE))",
    "propto(0 + factor(g) | 1, A[as.character(1:6), as.character(1:6)])", "(x1 || g)", "(1 | g/f)",
    "(1 + x1 | id1 | g)", "ar1(time, by = iid(g))", "rw1(time, by = iid(g))", "iid(f, by = spde(x1, x2))",
    "ar1(time, by = x1)", "ar2(time)"
  ))
  family <- draw_family(TRUE)
  recipe(
    paste("y ~", pick(c("1", "x1", "f")), "+", term), family$text, draw_response(family$name),
    more = if (grepl("\\bA\\b", term)) known_matrix,
    args = if (chance(0.2)) list(prior = pick(c("list(cor = lkj(2))", "list(sd = half_student_t(3, 2))",
      "list(sds = \"exponential(1)\")")))
  )
}

# ---- ordered classes ----

recipe_stages <- function(plain) {
  recipe(
    paste("y ~", pick(c("cs(x1)", "x2 + cs(x1)", "cs(x1 + f)", "cs(f) + (1 | g)", "x2 + cs(x1) + gp(x2)",
      "cs(x1) + cs(x2)"))),
    sprintf("%s(\"%s\")", pick(c("sratio", "cratio")), pick(c("logit", "probit", "cloglog", "loglog", "cauchit"))),
    pick(fuzz_responses[c("ordered", "classes")]), comparable = FALSE
  )
}

# ---- left of the bar ----

recipe_left <- function(plain) {
  numbers <- fuzz_responses$numbers
  counts <- fuzz_responses$counts
  choice <- pick(list(
    list("y | weights(w)", "\"gaussian\"", numbers), list("y | weights(w)", "\"poisson\"", counts),
    list("y | se(w)", "\"gaussian\"", numbers), list("y | se(w, sigma = TRUE)", "\"gaussian\"", numbers),
    list("y | se(w)", "\"student\"", numbers), list("y | rate(w)", "\"poisson\"", counts),
    list("y | rate(w) + weights(w)", "\"nbinom1\"", counts),
    list("y | trials(size)", "\"binomial\"", fuzz_responses$trials),
    list("y | trials(size)", "\"beta_binomial\"", fuzz_responses$trials),
    list("y | trunc(lb = 0)", "\"gaussian\"", fuzz_responses$positive),
    list("y | trunc(lb = -50, ub = 50)", "\"student\"", numbers), list("y | trunc(lb = -1)", "\"poisson\"", counts),
    list("y | trunc(ub = 1e5)", "\"negbinomial\"", counts),
    list("y | trunc(lb = y - w, ub = y + w)", "\"gaussian\"", numbers),
    list("y | trunc(lb = 0)", "\"Gamma\"", fuzz_responses$positive),
    list("y | trunc(ub = 1e9)", sprintf("\"%s\"", pick(names(galvi:::family_types))), fuzz_responses$positive)
  ))
  recipe(paste(choice[[1L]], "~", draw_predictor(plain)), choice[[2L]], response_kind(choice[[3L]]$code))
}

# ---- processes ----

recipe_processes <- function(plain) {
  markov <- function() pick(c("matern12()", "matern32()", "matern52()", "integrated_wiener()",
    "matern32() + periodic(3)", "matern12() * cosine(5)", "periodic(7)", "per_class(matern32())",
    "matern32() + constant()"))
  term <- pick(c(
    sprintf("gp(time, kernel = %s)", markov()), sprintf("gp(x1, kernel = %s)", markov()),
    sprintf("gp(time, by = g, by_hyper = \"shared\", kernel = %s)", markov()),
    sprintf("gp(x1, by = f, kernel = %s)", markov()), "gp(x1, x2, time = time)",
    "gp(x1, x2, time = time, inducing = 5)", "gp(x1, x2, neighbours = 5, kernel = matern32())",
    "gp(x1, x2, neighbours = 1)", "gp(x1, x2, by = f, neighbours = 3)",
    "gp(x1, share = 2, inducing = 5)", "gp(x1, inducing = 6, approximation = \"fitc\")", "gp(sphere(x1, x2))",
    "spde(x1, x2)", "spde(x1, x2, mesh = galvi_mesh(cbind(c(-3, 3), c(-3, 3)), max_edge = 1, extend = 0))",
    "ar1(time, by = spde(x1, x2, mesh = galvi_mesh(cbind(c(-4, 4), c(-4, 4)), 3)))", "gp(x1, scale = TRUE)",
    "gp(x1, kernel = custom)", "gp(x1, x2, kernel = custom, inducing = 4)", "s(x1, bs = \"gp\")", "s(f, bs = \"re\")",
    "s(x1, f, bs = \"fs\", k = 4)", "te(x1, time, k = 3)", "s(x1, by = f, k = 4)"
  ))
  family <- draw_family(TRUE)
  recipe(
    paste("y ~", pick(c("1", "x1", "0", "f")), "+", term), family$text, draw_response(family$name),
    more = if (grepl("custom", term)) draw_custom_kernel()
  )
}

# A kernel that is right, or wrong sooner or later.
draw_custom_kernel <- function() {
  value <- pick(c(
    "variance * exp(-as.matrix(dist(rbind(x, z)))[seq_len(nrow(x)), nrow(x) + seq_len(nrow(z)), drop = FALSE] / scale)",
    "matrix(variance, nrow(x), nrow(z))", "outer(x[, 1], z[, 1]) * variance / scale", "outer(x[, 1], z[, 1], `-`)",
    "{ calls <<- calls + 1; if (calls > 40) stop(\"enough\"); variance * outer(x[, 1], z[, 1]) }",
    "{ calls <<- calls + 1; variance * outer(x[, 1], z[, 1]) * (if (calls > 40) NaN else 1) }",
    "{ calls <<- calls + 1; if (calls > 30) 1 else variance * outer(x[, 1], z[, 1]) }",
    "variance * outer(x[, 1], z[, 1], function(a, b) 1 * (abs(a - b) < scale))"
  ), prob = c(4, 1, 2, 1, 1, 1, 1, 1))
  c("calls <- 0", sprintf("custom <- custom_kernel(function(x, z, variance, scale) %s, list(variance = 1, scale = 1))",
    value), "calls <- 0")
}

# ---- families from R functions ----

recipe_custom_family <- function(plain) {
  tail <- pick(c(
    "", "", "", " + ifelse(abs(y - MU) > 8, NaN, 0)", " + ifelse(abs(y - MU) > 20, -Inf, 0)",
    " + { calls <<- calls + 1; if (calls > 200) stop(\"enough\"); 0 }",
    " + { calls <<- calls + 1; if (calls > 300) NaN else 0 }",
    " + { calls <<- calls + 1; if (calls %% 50 == 0) warning(\"loud\"); 0 }", "[1]",
    " + 0 * log(pmax(4 - abs(MU), -1))"
  ))
  two <- chance(0.4)
  density <- sub("MU", if (two) "mu" else "eta", tail)
  make <- if (two) {
    sprintf(paste(
      "own <- custom_family(\"own\", function(y, mu, sigma) dnorm(y, mu, sigma, log = TRUE)%s,",
      "dpars = c(\"mu\", \"sigma\"), links = c(\"identity\", \"log\"))"
    ), density)
  } else {
    sprintf(paste(
      "own <- custom_family(\"own\", function(y, eta, scale) dt((y - eta) / scale, 5, log = TRUE) - log(scale)%s,",
      "parameters = list(scale = 1)%s)"
    ), density, pick(c("", ", log_concave = TRUE", ", simulate = function(eta, scale) eta + scale * rt(length(eta), 5)",
        ", simulate = function(eta, scale) \"a\"", ", derivatives = function(y, eta, scale) list(y, y)")))
  }
  formula <- paste("y ~", few_effects())
  if (two && chance(0.7)) formula <- sprintf("list(%s, sigma ~ %s)", formula, pick(c("1", "x1", "f")))
  recipe(formula, "own", more = c("calls <- 0", make, "calls <- 0"), comparable = FALSE)
}

# ---- rows that are read ----

# A source that is sound, changes, ends early or fails, at the pass and the block that the seed says.
source_code <- function() {
  what <- pick(c("NULL", "stop(\"the line is dead\")", "chunk <- chunk[-1, , drop = FALSE]",
    "chunk$x1 <- rev(chunk$x1)", "chunk <- NULL", "chunk$y[] <- NA", "chunk$x1 <- NULL",
    "chunk$f <- factor(\"new\")", "chunk <- as.list(chunk)", "chunk <- \"text\"", "chunk <- rbind(chunk, chunk)",
    "chunk$x1 <- as.character(chunk$x1)", "warning(\"unsteady\")"),
    prob = c(8, rep(1, 12)))
  c(
    sprintf("rows <- local({ pass <- 0; at <- 0; size <- max(1, ceiling(nrow(d) / %s))", pick(c("1", "3", "7"))),
    "function(reset = FALSE) {", "if (reset) { pass <<- pass + 1; at <<- 0; return(invisible()) }",
    "if (at >= nrow(d)) return(NULL)", "chunk <- d[seq(at + 1, min(nrow(d), at + size)), , drop = FALSE]",
    "at <<- at + size", sprintf("if (pass >= %s && at > %s) %s", pick(c("1", "2", "3", "4", "6", "10")),
      pick(c("0", "size")), what),
    "chunk", "} })"
  )
}

recipe_source <- function(plain) {
  formula <- paste("y ~", pick(c("x1", "x1 + f", "x1 + gp(x2, inducing = 5)", "f + (1 | g)", "iid(g)",
    "x1 + s(x2, k = 4)", "gp(x1)")))
  many <- chance(0.15)
  data <- pick(c("rows", "rows", "row_source(d)", "file"))
  response <- pick(fuzz_responses[c("numbers", "counts", "zero_one", "classes")])
  family <- c(numbers = "\"gaussian\"", counts = "\"poisson\"", zero_one = "\"binomial\"", classes = "\"categorical\"")
  recipe(
    formula, family[[match(list(response), fuzz_responses[names(family)])]], response, comparable = FALSE,
    more = c(
      # more rows than the sample has
      if (many) "d <- d[rep(seq_len(n), length.out = 50100), , drop = FALSE]",
      if (data == "rows") source_code(),
      if (data == "file") c("file <- tempfile(fileext = \".csv\")", "utils::write.csv(d, file, row.names = FALSE)")
    ),
    args = c(list(data = data), if (chance(0.4)) list(method = pick(c("\"natural_gradient\"", "\"fixed_point\"",
      "\"incremental\"", "\"stochastic\""))),
      if (many) list(hyper = "\"fixed\""), list(control = draw_steps(if (many) 1000 else 1)))
  )
}

# `least`: rows of a block, where a block for each few of many rows would take minutes
draw_steps <- function(least = 1) {
  rows <- function(choices) as.character(max(as.numeric(pick(choices)), least))
  args <- list(
    batch_rows = rows(c("1", "3", "10", "1000")), passes = pick(c("0.5", "1", "3")),
    step_rule = dQuote(pick(galvi:::step_rule_names()), FALSE), step_size = pick(c("1", "0.1", "1e-4", "100")),
    chunk_rows = rows(c("1", "7", "100")), joint = "TRUE", max_iterations = pick(c("1", "20")),
    hyper_iterations = pick(c("0", "5"))
  )
  args <- args[stats::runif(length(args)) < 0.35]
  call_text("galvi_control", c(args, list(threads = "1", backend = "\"eigen\"")))
}

# Minibatches, blocks and full passes of rows in memory.
recipe_steps <- function(plain) {
  family <- draw_family(TRUE)
  recipe(
    paste("y ~", pick(c("x1 + f", "x1 + gp(x2, inducing = 5)", "gp(x1, x2, inducing = 8)", "f + (1 | g)", "1"))),
    family$text, draw_response(family$name),
    args = list(method = pick(c("\"stochastic\"", "\"incremental\"", "\"natural_gradient\"", "\"fixed_point\"")),
      control = draw_steps())
  )
}

# Workers, of whom one may die or be alone.
recipe_cluster <- function(plain) {
  recipe(
    paste("y ~", pick(c("x1 + f", "x1 + gp(x2, inducing = 4)"))), pick(c("\"gaussian\"", "\"student\"")),
    comparable = FALSE,
    more = c(
      "cl <- parallel::makePSOCKcluster(2)",
      "reg.finalizer(environment(), function(env) suppressWarnings(try(parallel::stopCluster(env$cl), silent = TRUE)))",
      "parallel::clusterCall(cl, function(paths) .libPaths(paths), .libPaths())",
      pick(c("", "tools::pskill(parallel::clusterCall(cl[1], Sys.getpid)[[1]], 9)",
        "system(sprintf(\"(sleep 0.3; kill -9 %d) &\", parallel::clusterCall(cl[2], Sys.getpid)[[1]]))"))
    ),
    args = list(control = sprintf("galvi_control(cluster = cl, threads = 1, backend = \"blas\", hyper_iterations = %s)",
      pick(c("0", "2"))),
      method = pick(c("\"natural_gradient\"", "\"fixed_point\"", "\"auto\"")))
  )
}

# ---- priors and uncertainty ----

recipe_priors <- function(plain) {
  slopes <- function() pick(c("horseshoe()", "horseshoe(1, 0.1)", "student_t(3, 0, 2.5)", "student_t(1, 0, 1e-3)",
    "cauchy(0, 2.5)", "double_exponential(0, 1)", "\"normal(0, 1)\"", "\"student_t(3, 0, 2.5)\"", "\"exponential(1)\"",
    "normal(0, learn(1))", "normal(0, Inf)"))
  prior <- pick(c(
    slopes(), sprintf("list(default = %s, intercept = %s)", slopes(), slopes()), "list(at_means = normal(0, 5))",
    sprintf("list(x1 = %s)", slopes()), "data.frame(prior = \"normal(0, 1)\", class = \"b\")",
    "list(nosuch = normal(0, 1))",
    "data.frame(prior = \"cauchy(0, 1)\", class = \"sd\")", "list(sigma = \"half_normal(1)\")"
  ))
  family <- draw_family(plain)
  recipe(paste("y ~ x1 + x2 +", few_effects()), family$text, draw_response(family$name),
    args = c(list(prior = prior), if (chance(0.15)) list(sample_prior = "\"only\"")))
}

recipe_integrate <- function(plain) {
  family <- draw_family(TRUE)
  recipe(paste("y ~", pick(c("1", "x1", "f")), "+", draw_term(TRUE)), family$text, draw_response(family$name),
    args = list(hyper = "\"integrate\"",
      control = sprintf("galvi_control(hyper_design = \"%s\", threads = 1, backend = \"eigen\")",
        pick(c("auto", "grid", "ccd")))))
}

# ---- imputed data, places of points, words of other packages ----

recipe_imputed <- function(plain) {
  family <- draw_family(TRUE)
  recipe(
    paste("y ~", few_effects()), family$text, draw_response(family$name), comparable = FALSE,
    more = c("sets <- list(d, d, d)", pick(c("sets[[2]]$x1 <- rev(sets[[2]]$x1)",
      "sets[[3]] <- sets[[3]][-1, , drop = FALSE]",
      "sets[[2]]$y <- rev(sets[[2]]$y)", "sets[[2]] <- as.list(sets[[2]])", "sets <- sets[1]"),
      prob = c(6, 1, 1, 1, 1))),
    args = list(data = "sets", hyper = pick(c("\"optimise\"", "\"fixed\"", "\"integrate\"")))
  )
}

recipe_points <- function(plain) {
  recipe(
    "count ~ offset(log(exposure)) + spde(x1, x2)", "\"poisson\"", comparable = FALSE,
    more = c("d$x1 <- runif(n, -2, 2)", "d$x2 <- runif(n, -2, 2)", sprintf(
      "scheme <- quadrature_scheme(d[c(\"x1\", \"x2\")]%s)",
      pick(c(", list(xlim = c(-2, 2), ylim = c(-2, 2)), max_edge = 1",
        ", list(xlim = c(-2, 2), ylim = c(-2, 2)), max_edge = 2, extend = 0",
        ", cbind(c(-2, 2, 2, -2), c(-2, -2, 2, 2)), max_edge = 1")))),
    args = list(data = "scheme")
  )
}

recipe_foreign <- function(plain) {
  word <- pick(c("mi(x1)", "me(x1, w)", "mo(f)", "cs(x1)", "s(x1) + t2(x1, x2)", "car(graph)", "f(x1)", "nlf(x1)",
    "arma(time)", "ar(time, p = 1)", "lag(x1)", "frailty(g)", "strata(f)", "cluster(g)", "tve(x1)", "rescor()",
    "factors(2)", "sm(x1)", "splines::ns(x1, 3)", "splines::bs(x1, df = 4)", "scale(x1)", "cut(x1, 3)", "factor(g)",
    ".", "gp(.)", "log(gp(x1))", "gp(x1):f", "x1^2", "I(1 / x1)", "(x1 + x2)^2", "f:g", "f %in% g", "offset(w)",
    "nosuch", "gp(nosuch)", "(1 | nosuch)", "iid()", "(x1)", "-1", "rr(f | g, d = 1)", "exp(s(x1))", "1 | g",
    "(1 | g) - (1 | g)", "gp(x1) - gp(x1)", "poly(x1, 3)", "sin(x1) + cos(x1)", "NULL"))
  family <- draw_family(plain)
  recipe(paste(pick(c("y", "y", "y", "log(y)", "y | mi()", "y | subset(keep)", "I(y)", "(y | f)", "cbind(y, y)")), "~",
    pick(c("1 +", "x1 +", "")), word),
    family$text, draw_response(family$name), more = draw_graph())
}

fuzz_recipes <- list(
  predictors = recipe_predictors, survival = recipe_survival, cox = recipe_cox, wide = recipe_wide,
  groups = recipe_groups,
  stages = recipe_stages, left = recipe_left, processes = recipe_processes, custom_family = recipe_custom_family,
  source = recipe_source, steps = recipe_steps, priors = recipe_priors, integrate = recipe_integrate,
  imputed = recipe_imputed, points = recipe_points, foreign = recipe_foreign, cluster = recipe_cluster
)
# Clusters take seconds to start.
fuzz_recipe_weights <- ifelse(names(fuzz_recipes) == "cluster", 0.05, 1)

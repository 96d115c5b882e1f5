# No method of our own generics, or of R's, swallows an argument that it does not know. Those of other packages' generics
# pass over what methods for other models have (test-insight.R).

factor_example <- function() {
  set.seed(1)
  galvi(responses(matrix(rnorm(60), 20)) ~ factors(1), data = data.frame(row = 1:20), verbose = FALSE)
}

# An example of every class that has methods with `...`.
method_examples <- function() {
  fit <- small_fit("binary")
  compared <- galvi_compare(am ~ wt, mtcars, binomial(), methods = "newton")
  examples <- list(
    galvi = fit, summary.galvi = summary(fit), galvi_logLik = logLik(fit), galvi_priors = fit$prior,
    galvi_prior_table = prior_summary(fit),
    galvi_family = family(fit), galvi_control = galvi_control(), galvi_kernel = se(), galvi_value = fixed(1),
    galvi_compare = compared, summary.galvi_compare = summary(compared), galvi_plots = structure(list(), class = "galvi_plots"),
    galvi_mesh = galvi_mesh(cbind(x = c(0, 1, 0, 1), y = c(0, 0, 1, 1)), max_edge = 0.5),
    galvi_scheme = quadrature_scheme(data.frame(x = 0.5, y = 0.5), list(xlim = 0:1, ylim = 0:1)),
    galvi_cox = galvi(survival::Surv(futime, fustat) ~ age, survival::ovarian, cox(3)),
    galvi_wide = factor_example(), galvi_loadings = structure(loadings(factor_example()), class = c("galvi_loadings", "loadings")),
    galvi_stages = galvi(Sat ~ cs(Infl), MASS::housing, sratio(), weights = Freq, hyper = "fixed"),
    VarCorr.galvi = VarCorr.galvi(galvi(Reaction ~ (1 | Subject), sleepstudy, hyper = "fixed")),
    galvi_ranef = ranef(galvi(Reaction ~ (1 | Subject), sleepstudy, hyper = "fixed"), condVar = TRUE),
    galvi_estimable = estimable_coefficients(suppressMessages(galvi(dist ~ speed + I(2 * speed), cars))),
    galvi_step = galvi_design(am ~ wt, mtcars, binomial()),
    galvi_conditional_effects = conditional_effects(fit), galvi_hypothesis = hypothesis(fit, "wt > 0"),
    galvi_methods = structure(data.frame(method = "newton"), class = c("galvi_methods", "data.frame")),
    formula = y ~ x, list = list(y ~ x, sigma ~ x),
    brmsformula = structure(list(formula = y ~ x, pforms = list()), class = "brmsformula"), data.frame = cars["speed"], matrix = as.matrix(cars["speed"]),
    galvi_row_source = row_source(cars), `function` = function(reset) NULL, character = "rows.parquet",
    # whose methods refuse the argument before they look at them
    default = 3, DBIConnection = 3, tbl_lazy = 3, Dataset = 3
  )
  if (requireNamespace("loo", quietly = TRUE)) {
    set.seed(1)
    examples$galvi_loo <- loo.galvi(small_fit("gaussian"))
    examples$galvi_waic <- waic.galvi(small_fit("gaussian"))
    examples$check_fit <- check_fit(fit, 100)
  }
  examples
}

# Refuse whatever they are given; the arguments of the last are galvi()'s.
refusals <- c("drop1", "add1", "extractAIC", "rstudent", "screeplot")

# Hand their arguments on to the methods of numbers.
numbers <- "galvi_point_count"

# The registered methods with `...`: function, class and what to misspell.
registered_methods <- function() {
  table <- parseNamespaceFile("galvi", dirname(getNamespaceInfo("galvi", "path")))$S3methods
  rows <- lapply(seq_len(nrow(table)), function(i) {
    package <- if (ncol(table) >= 4L) table[i, 4L] else NA
    if (table[i, 1L] %in% refusals || table[i, 2L] %in% numbers) return(NULL)
    # autoplot() is plot() in ggplot2
    if (!is.na(package) && (package != "ggplot2" || !requireNamespace(package, quietly = TRUE))) return(NULL)
    name <- if (is.na(table[i, 3L])) paste(table[i, 1L], table[i, 2L], sep = ".") else table[i, 3L]
    method <- get(name, envir = asNamespace("galvi"))
    if (!"..." %in% names(formals(method))) return(NULL)
    # what is refused whatever its arguments
    if ("refuse_generic" %in% all.names(body(method))) return(NULL)
    known <- utils::tail(setdiff(names(formals(method)), "..."), 1L)
    # arguments that go on to others are theirs
    passed <- c(update.galvi = "method")
    if (name %in% names(passed)) known <- passed[[name]]
    list(name = name, method = method, class = table[i, 2L], known = known)
  })
  Filter(Negate(is.null), rows)
}

# Generics that other packages have too.
handed_over <- c("conditional_effects", "hypothesis", "derivatives", "difference_smooths", "loo", "kfold", "loo_model_weights")

test_that("every registered method refuses an argument that it does not know and names the nearest", {
  examples <- method_examples()
  # galvi() of something else has an error of its own; others hand over what is not ours
  methods <- Filter(function(one) !one$name %in% c("galvi.default", paste0(handed_over, ".default")), registered_methods())
  # none is missed by a registry that cannot be read
  expect_gt(length(methods), 40L)
  if (!requireNamespace("loo", quietly = TRUE)) {
    methods <- Filter(function(one) !one$class %in% c("galvi_loo", "galvi_waic", "check_fit"), methods)
  }
  for (one in methods) {
    expect_true(one$class %in% names(examples), label = paste("there is an example of", one$class))
    arguments <- c(list(examples[[one$class]]), stats::setNames(list(3), paste0(one$known, "q")))
    if (one$name %in% c("galvi.data.frame", "galvi.matrix")) arguments$y <- cars$dist
    error <- tryCatch(utils::capture.output(do.call(one$method, arguments)), error = function(e) e)
    expect_s3_class(error, "galvi_error_argument")
    if (!inherits(error, "error")) fail(paste(one$name, "swallows an argument"))
    expect_match(conditionMessage(error), sprintf("`%sq`.*`%s`", one$known, one$known), label = one$name)
  }
})

# Other packages' generics that are plot() or ours under another name: users call them, and arguments are checked.
# The `...` of lrtest() are models and changes to them, which lmtest reads.
checked_elsewhere <- c(
  "lrtest", "autoplot", "conditional_effects", "hypothesis", "derivatives", "difference_smooths", "prior_summary"
)

test_that("methods of other packages' generics pass over arguments that they do not know", {
  table <- parseNamespaceFile("galvi", dirname(getNamespaceInfo("galvi", "path")))$S3methods
  table <- table[!is.na(table[, 4L]) & table[, 2L] == "galvi" & !table[, 1L] %in% checked_elsewhere, , drop = FALSE]
  fit <- galvi(mpg ~ wt + cyl, mtcars)
  # what a generic needs besides a fit
  needed <- list(
    emm_basis = list(NULL, NULL, data.frame(wt = 2:3, cyl = 4)), set_coef = list(coefs = coef(fit)), kfold = list(K = 2),
    linearHypothesis = list("wt = 0"), get_parameters = list(effects = "fixed")
  )
  call_method <- function(method, arguments) {
    set.seed(1)
    tryCatch(suppressWarnings(do.call(method, c(list(fit), arguments))), error = identity)
  }
  answered <- 0
  for (i in seq_len(nrow(table))) {
    name <- paste(table[i, 1L], "galvi", sep = ".")
    method <- get(name, envir = asNamespace("galvi"))
    if (!"..." %in% names(formals(method)) || !requireNamespace(table[i, 4L], quietly = TRUE)) next
    arguments <- needed[[table[i, 1L]]]
    plain <- call_method(method, arguments)
    more <- call_method(method, c(arguments, list(of_a_later_version = 3)))
    if (inherits(more, "error")) expect_no_match(conditionMessage(more), "of_a_later_version", label = name)
    expect_identical(inherits(more, "error"), inherits(plain, "error"), label = name)
    answered <- answered + !inherits(plain, "error")
  }
  expect_some(answered, "methods of other packages' generics")
})

test_that("so does every exported function that takes `...`", {
  checked <- 0
  for (name in getNamespaceExports("galvi")) {
    f <- getExportedValue("galvi", name)
    if (!is.function(f) || !"..." %in% names(formals(f)) || name %in% c("galvi", "fixef", "ranef", "VarCorr", "scores", "prior_summary", handed_over)) next
    arguments <- switch(name,
      galvi_compare = list(dist ~ speed, cars), default_prior = list(dist ~ speed, cars), galvi_family = list("student"), gp = next, list()
    )
    expect_error(do.call(f, c(arguments, list(foo = 3))), "`foo`", class = "galvi_error", label = name)
    checked <- checked + 1
  }
  expect_some(checked, "exported functions")
})

test_that("a misspelt argument without a name is counted", {
  fit <- small_fit("flat")
  expect_error(coef(fit, TRUE, NULL, 3), "1 unnamed argument too many", class = "galvi_error_argument")
  expect_error(nobs(fit, FALSE, 3, 4), "2 unnamed arguments too many", class = "galvi_error_argument")
})

test_that("arguments that generics and their usual callers pass are honoured", {
  fit <- small_fit("flat")
  for (complete in c(TRUE, FALSE)) {
    expect_identical(vcov(fit, complete = complete), vcov(fit))
    expect_identical(coef(fit, complete = complete), coef(fit))
  }
  expect_error(vcov(fit, complete = "no"), "`complete`", class = "galvi_error_argument")
  expect_identical(nobs(fit, use.fallback = TRUE), 32L)
  expect_identical(sigma(fit, use.fallback = FALSE), sigma(fit))
  expect_identical(weights(fit, type = "prior"), weights(fit))
  expect_error(weights(fit, type = "working"), "`type`", class = "galvi_error_argument")
  # print() of a list hands its layout arguments on
  several <- list(fit, se(2), fixed(1), galvi_control(), fit$prior)
  expect_output(print(several, digits = 3, quote = FALSE), "am ~ wt")
  expect_identical(format(fixed(pi), digits = 3), "fixed(3.14)")
  expect_identical(
    format(se(pi) + se(learn(1 / 3)), digits = 2), "se(variance = 3.1) + se(variance = learn(0.33))"
  )
  expect_output(print(galvi_family("student", df = fixed(pi)), digits = 3), "3.14\\)")
  expect_output(print(logLik(fit), digits = 3), format(fit$elbo, digits = 3), fixed = TRUE)
})

test_that("plot() of a fit takes new data for calibration alone", {
  fit <- small_fit("flat")
  for (which in c("effects", "trace", "relevance")) {
    expect_error(plot(fit, which, newdata = mtcars), "calibration", class = "galvi_error_argument")
  }
})

test_that("names that differ by dots and underscores are near", {
  fit <- small_fit("flat")
  expect_error(predict(fit, reform = NA), "Did you mean `re.form`", class = "galvi_error_argument")
  expect_error(predict(fit, sefit = TRUE), "Did you mean `se.fit`", class = "galvi_error_argument")
})

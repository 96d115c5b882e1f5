# What messages suggest can be done: the calls in them run.

# Calls of the given functions in a text, what the user wrote (in backquotes) left out.
calls_in <- function(text, names) {
  text <- gsub("`[^`]*`", "", text)
  pattern <- sprintf("\\b(%s)(\\((?:[^()]++|(?2))*\\))", paste(names, collapse = "|"))
  unlist(regmatches(text, gregexpr(pattern, text, perl = TRUE)))
}

newcomer <- function() {
  set.seed(1)
  n <- 24
  d <- data.frame(
    x = rnorm(n), z = rnorm(n), n = rpois(n, 2), t = rep(1:8, 3), g = factor(rep(c("u", "v", "w"), 8)),
    h = factor(rep(c("p", "q"), 12)), time = rexp(n), status = rep(c(1, 1, 0), 8)
  )
  transform(d, x1 = x, x2 = z, y = x + rnorm(n))
}

test_that("terms that a refused formula is told to use are accepted", {
  d <- newcomer()
  wrong <- alist(
    y ~ mgcv::s(x, k = 4), y ~ s(g), y ~ lo(x), y ~ mo(t), y ~ f(x), y ~ f(g, model = "iid"), y ~ re(g), y ~ gr(g),
    y ~ random(~ 1 | g), y ~ ar(t),
    y ~ (1 | g + h), y ~ (1 | g) * x, y ~ x:(1 | g),
    y ~ gp(x):z, y ~ z:gp(x), y ~ gp(x) * g, y ~ gp(x, kernel = se()):g, y ~ iid(g):x, y ~ gp(x):(z + t),
    y ~ iid(g / h), y ~ iid(g + h), y ~ rw1(t):g, y ~ rw1(t) * x, y ~ gp("x"), y ~ gp(x, se()), y ~ gp(x + z)
  )
  wrong <- c(wrong, lapply(kernel_words(), function(kernel) call("~", quote(y), call(kernel, quote(x)))))
  for (formula in wrong) {
    formula <- stats::as.formula(formula)
    error <- tryCatch(galvi(formula, d), galvi_error = identity)
    said <- conditionMessage(error)
    # a whole call, or terms
    if (!is.null(error$found)) {
      call <- str2lang(sub("[.]$", "", sub(".* In full: ", "", said)))
      call$hyper <- "fixed"
      expect_error(suppressWarnings(suppressMessages(eval(call))), NA, info = said)
      next
    }
    terms <- Filter(function(term) !grepl("= )", term, fixed = TRUE), calls_in(said, names(term_types)))
    expect_gt(length(terms), 0, label = deparse1(formula))
    for (term in c(terms, paste(terms, collapse = " + "))) {
      one <- stats::as.formula(paste("y ~", term))
      expect_error(suppressWarnings(suppressMessages(galvi(one, d, hyper = "fixed"))), NA, info = said)
    }
  }
})

test_that("a term with a `by` of its own is told what goes with the types of both", {
  d <- newcomer()
  said <- message_of_error(galvi(y ~ gp(x, by = g):h, d))
  expect_error(galvi(y ~ gp(x, by = interaction(g, h)), d, hyper = "fixed"), NA)
  expect_identical(calls_in(said, "gp"), c("gp(x, by = interaction(g, h))", "gp(x, by = g * h)"))
  said <- message_of_error(galvi(y ~ iid(g, by = x):z, d))
  expect_match(said, "iid(g, by = x * z), if both are numbers", fixed = TRUE)
  expect_error(galvi(y ~ iid(g, by = x * z), d, hyper = "fixed"), NA)
  expect_match(message_of_error(galvi(y ~ log(gp(x)), d)), "Terms can only be added[.]$")
})

test_that("families that a refused one is told to use exist", {
  names <- gsub("[\\^$]", "", unlist(strsplit(names(refused_families), "|", fixed = TRUE)))
  checked <- 0
  # mgcv's Tweedie is refused, ours is not
  for (name in setdiff(gsub(".", "_", names, fixed = TRUE), names(family_types))) {
    said <- message_of_error(as_galvi_family(name))
    for (call in calls_in(said, names(family_types))) {
      expect_s3_class(as_galvi_family(eval(str2lang(call))), "galvi_family")
      checked <- checked + 1
    }
  }
  expect_some(checked, "families that refusals name")
  said <- message_of_error(as_galvi_family(binomial("log")))
  told <- calls_in(said, "binomial")
  expect_gt(length(told), 0)
  for (call in told) expect_s3_class(as_galvi_family(eval(str2lang(call))), "galvi_family")
})

test_that("what a survival object is told to be instead fits", {
  skip_if_not_installed("survival")
  d <- newcomer()
  Surv <- survival::Surv
  said <- message_of_error(galvi(Surv(time, status) ~ x, d, Gamma("log")))
  expect_match(said, "survival object")
  expect_match(said, "cox() for a hazard of any form", fixed = TRUE)
  families <- calls_in(said, names(family_types))
  expect_setequal(families, c("gaussian()", "exponential()", "weibull()", "loglogistic()", "lognormal()"))
  for (family in families) expect_error(galvi(Surv(time, status) ~ x, d, eval(str2lang(family))), NA)
  expect_true(galvi(Surv(time, status) ~ x, d, cox(2))$convergence$converged)
})

test_that("geometries of sf are told how to become coordinates", {
  skip_if_not_installed("sf")
  places <- lapply(1:6, function(i) sf::st_point(c(i, i %% 3)))
  d <- sf::st_sf(y = c(1, 3, 2, 4, 3, 5), geometry = sf::st_sfc(places))
  said <- message_of_error(galvi(y ~ gp(geometry), d))
  advised <- regmatches(said, regexpr("d <- cbind\\(.*\\(d\\$geometry\\)\\)\\)", said))
  eval(str2lang(advised))
  fit <- galvi(y ~ gp(X, Y), d)
  expect_identical(fit$nobs, 6L)
})

test_that("what R would say about a newcomer's call is said in galvi's words", {
  d <- newcomer()
  expect_error_snapshot({
    galvi(y ~ gp(x, kernel = function(x, z) exp(-(x - z)^2)), d)
    galvi(y ~ gp(x, kernel = se + linear()), d)
    galvi(y ~ gp(x, kernel = matern()), d)
    galvi(y ~ gp(list(1)), d)
    galvi(y ~ iid(mean), d)
    galvi(y ~ x, d, weights = "n")
    galvi(y ~ x, d, subset = "x > 2")
    galvi(y ~ x, d, method = "mcmc")
    predict(galvi(y ~ x, d), data = d)
    galvi(n ~ x, d, "zip")
  })
})

# ---- all messages ----

# The text of a call without what is computed: the literals in it, with words of eight letters for placeholders.
literal_text <- function(expr) {
  builds <- c("sprintf", "paste", "paste0", "if", "(", "{", "c", "ifelse", "switch", "f")
  text <- function(e) {
    if (is.character(e)) return(e)
    built <- is.call(e) && is.symbol(e[[1L]]) && as.character(e[[1L]]) %in% builds
    if (built) unlist(lapply(as.list(e)[-1L], function(x) if (!missing(x)) text(x)))
  }
  gsub("%[-+0-9.*]*[a-z]", "computed", paste(text(expr), collapse = " "))
}

# Calls of these functions in an expression.
calls_of <- function(expr, names) {
  out <- list()
  walk <- function(e) {
    if (is.call(e) && is.symbol(e[[1L]]) && as.character(e[[1L]]) %in% names) out[[length(out) + 1L]] <<- e
    if (is.call(e) || is.pairlist(e) || is.expression(e)) for (part in as.list(e)) if (!missing(part)) walk(part)
  }
  walk(expr)
  out
}

source_files <- function(folder, pattern) {
  path <- test_path("..", "..", folder)
  skip_if_not(dir.exists(path), "not in the source tree")
  list.files(path, pattern, recursive = TRUE, full.names = TRUE)
}

# A name in backquotes, a function, an argument with its value, or what to do.
says_what <- paste0(
  "`|[a-z0-9_]\\(| = |\\b([Mm]ust|[Ww]rite|[Uu]se|[Gg]ive|[Nn]eeds?|[Ll]eave|[Cc]hoose|[Cc]heck|[Mm]ake|[Rr]efit|",
  "report|Its arguments are|instead|not available|cluster|source|faster|[Rr]eading|too large)\\b"
)

# Words that say nothing to a user.
empty_words <- "is none that|was asked for what|the time is over|is had by|nothing but the"

test_that("every message that R code raises names an argument, a term or what to do, in thirty signs or more", {
  texts <- unlist(lapply(source_files("R", "[.]R$"), function(file) {
    raised <- calls_of(parse(file, keep.source = FALSE), c("stop_galvi", "warn_galvi", "inform_galvi",
      "response_error"))
    vapply(raised, function(call) {
      # a class, or the name of the response, comes first
      of_response <- identical(call[[1L]], quote(response_error))
      paste0(if (of_response) "The response `y` ", literal_text(as.call(c(quote(f), as.list(call)[-(1:2)]))))
    }, "")
  }))
  expect_gt(length(texts), 400)
  # what passes on a text that is made elsewhere, where its literals are
  texts <- texts[nchar(gsub("computed|[^A-Za-z]", "", sub("The response `y` ", "", texts))) > 8]
  # before a colon stands where, after it what
  short <- texts[nchar(texts) < 30 & !grepl(": (computed[.])?$", texts)]
  expect_identical(short, character())
  expect_identical(texts[!grepl(says_what, texts)], character())
  expect_identical(grep(empty_words, texts, value = TRUE), character())
})

test_that("every message of the core, as R shows it, names an argument, a term or what to do", {
  throws <- unlist(lapply(source_files("src", "[.](cpp|h)$"), function(file) {
    text <- paste(readLines(file, warn = FALSE), collapse = " ")
    found <- regmatches(text, gregexpr("throw std::[a-z_]+\\([^;]*;", text))[[1L]]
    type <- sub("throw (std::[a-z_]+).*", "\\1", found)
    literal <- vapply(regmatches(found, gregexpr("\"(\\\\.|[^\"\\\\])*\"", found)), function(parts) {
      paste(gsub("\\\\\"", "\"", substr(parts, 2L, nchar(parts) - 1L)), collapse = "")
    }, "")
    stats::setNames(literal, rep_len(type, length(literal)))
  }))
  expect_gt(length(throws), 80)
  # a reason that is made elsewhere
  throws <- throws[nchar(throws) > 3]
  for (i in seq_along(throws)) {
    shown <- core_letter(throws[[i]], c(names(throws)[i], "C++Error"))
    expect_gte(nchar(shown), 30, label = shown)
    expect_match(shown, says_what, info = shown)
  }
})

test_that("errors of every class, provoked, have a message that says what to do", {
  d <- newcomer()
  fit <- galvi(y ~ x + (1 | g), d)
  provoked <- alist(
    argument = galvi(y ~ x, d, foo = 1), argument = predict(fit, level = 2), argument = galvi_control(tol = "a"),
    data = galvi(y ~ nowhere, d), data = galvi(y ~ x, d[0, ]), family = galvi(y ~ x, d, "frobnicate"),
    formula = galvi(~ x, d), kernel = galvi(y ~ gp(x, kernel = 3), d), method = galvi(y ~ x, d, method = "fast"),
    newdata = predict(fit, data.frame(x = 1)), newdata = predict(fit, data.frame(g = "u")),
    prior = galvi(y ~ x, d, prior = list(zz = normal(0, 1))), response = galvi(g ~ x, d),
    response = galvi(y ~ x, d, poisson()), callback = galvi(y ~ x, d, custom_family("mine", function(y,
      eta) stop("no"))),
    size = galvi(y ~ gp(x), data.frame(x = seq_len(2e6), y = 0)), numeric = core_error()
  )
  core_error <- function() as_galvi_error(stop(structure(
    class = c("std::logic_error", "C++Error", "error", "condition"), list(message = "unexpected", call = NULL)
  )))
  for (i in seq_along(provoked)) {
    error <- tryCatch(suppressMessages(suppressWarnings(eval(provoked[[i]]))), error = identity)
    expect_s3_class(error, paste0("galvi_error_", names(provoked)[i]))
    said <- conditionMessage(error)
    expect_gte(nchar(said), 30, label = said)
    expect_match(said, says_what, info = said)
  }
  expect_match(message_of_error(predict(fit, data.frame(x = 1))), "re_formula = NA", fixed = TRUE)
  expect_match(message_of_error(galvi(cbind(n, n) ~ x, d)), "family = binomial()", fixed = TRUE)
})

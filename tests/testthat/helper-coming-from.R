# The tables of the vignette "Coming from ...": the code in their last column, and how to run it.

# The code between backticks in the last column of a markdown file's tables. Bars within code do not divide columns.
last_column_code <- function(lines) {
  rows <- lines[startsWith(lines, "|") & !startsWith(lines, "|:")]
  code <- regmatches(rows, gregexpr("`[^`]*`", rows))
  spans <- regmatches(rows, gregexpr("`[^`]*`", rows), invert = TRUE)
  # a span of code is in the last column if two bars came before it
  last <- lapply(spans, function(text) {
    bars <- cumsum(lengths(regmatches(text, gregexpr("|", text, fixed = TRUE))))
    head(bars, -1L) == 2L
  })
  gsub("`", "", unlist(Map(`[`, code, last)))
}

# All objects that the tables name.
table_data <- function() {
  set.seed(1)
  n <- 60L
  d <- data.frame(
    x = runif(n), z = runif(n), g = factor(rep(letters[1:6], 10L)), f = factor(rep(LETTERS[1:3], each = 20L)),
    a = factor(rep(1:5, each = 12L)), b = factor(rep(1:4, 15L)), t = rep(1:12, 5L), r = rep(1:5, each = 12L),
    lon = seq(-180, 180, length.out = n), lat = rep(c(-60, -20, 10, 45), 15L), E = runif(n, 1, 2),
    w = rep(1:2, 30L), n = 10, time = rexp(n) + 0.1, status = rep(c(1, 1, 0), 20L)
  )
  d$y <- rpois(n, exp(1 + d$x + rnorm(6, sd = 0.5)[d$g])) + 1
  d$s <- rbinom(n, 10, 0.4)
  d$y1 <- d$x + rnorm(n)
  d$y2 <- d$y1 + rnorm(n)
  d
}
table_names <- function() {
  ring <- matrix(0, 6L, 6L, dimnames = list(letters[1:6], letters[1:6]))
  ring[cbind(1:6, c(2:6, 1L))] <- ring[cbind(c(2:6, 1L), 1:6)] <- 1
  d <- table_data()
  fit <- galvi(y ~ x + (1 | g), d, poisson())
  neighbours <- function(name) unname(which(ring[name, ] > 0))
  list(
    d = d, new = transform(d[1:3, ], g = "new"), fit = fit, fit1 = fit, fit2 = galvi(y ~ x, d, poisson()),
    W = ring, G = ring, nb = lapply(setNames(nm = rownames(ring)), neighbours), Z = matrix(seq(0, 1, length.out = 8L)),
    mesh = galvi_mesh(as.matrix(d[c("x", "z")]), max_edge = 0.3)
  )
}

# Runs one span: a call as it is; an argument in a call of galvi(); a term, or some, in a formula; a kernel in a gp().
run_span <- function(code, env) {
  terms <- c(names(term_types), names(bar_words), "|", "||", "offset")
  kernels <- names(kernel_facts())
  expr <- str2expression(code)[[1L]]
  used <- setdiff(all.names(expr), c("+", "*", "(", "factor"))
  argument <- is.call(expr) && identical(expr[[1L]], as.name("="))
  if (argument && identical(expr[[2L]], as.name("family"))) {
    return(expect_s3_class(galvi_family(eval(expr[[3L]], env)), "family"))
  }
  call <- if (argument) {
    as.call(c(quote(galvi), quote(y ~ x + (1 + x | g)), quote(d), setNames(list(expr[[3L]]), as.character(expr[[2L]]))))
  } else if (used[1L] %in% terms || any(used[1L] == c("f", "x"))) {
    bquote(galvi(y ~ 1 + .(expr), d))
  } else if (used[1L] %in% kernels) {
    bquote(galvi(y ~ gp(x, kernel = .(expr)), d))
  } else {
    expr
  }
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  utils::capture.output(value <- suppressMessages(suppressWarnings(eval(call, env))))
  expect_false(is.null(value), info = code)
}

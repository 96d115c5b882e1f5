# Terms of other packages. Survival's are functions that R can call, so without this table frailty(id) would be a slope
# in id. The error shows the user's formula as galvi reads it.

# ---- pieces of the table ----

first_of <- function(v, default) if (length(v)) v[1L] else default

argument_text <- function(x, default) {
  if (is.null(x) || identical(x, NA)) return(default)
  if (is.character(x)) x else deparse_one(x)
}

smooth_text <- function(v, by) {
  sprintf("s(%s)", paste(c(if (length(v)) v else "x", if (!is.null(by)) sprintf("by = %s", argument_text(by, "g"))),
    collapse = ", "))
}

# seasonal(12) and f(t, model = "seasonal", season.length = 12): what comes again after so many steps
seasonal_kernel <- function(a) {
  sprintf("periodic(%s)", argument_text(or_else(a[["season.length"]], Find(is.numeric, unname(a))), "12"))
}
seasonal_text <- function(v, a) sprintf("gp(%s, kernel = %s)", first_of(v, "t"), seasonal_kernel(a))

# besag(g, W), bym2(g, W): models of INLA by their names
graph_term <- function(model) {
  function(v, a) {
    graph <- if (length(v) > 1L) v[2L] else argument_text(or_else(a[["graph"]], a[["W"]]), "W")
    inla_term(first_of(v, "g"), list(model = model, graph = str2lang(graph)))
  }
}

#' f(g, w, model = ) of INLA: effects of the levels of g, times w
#' @return Text; NULL where there is no such term.
#' @noRd
inla_term <- function(v, a) {
  if (!is.null(a[["copy"]])) return(NULL)
  g <- first_of(v, "g")
  model <- inla_model(a)
  weight <- inla_weight(v, a)
  by <- if (!is.null(a[["replicate"]])) sprintf("factor(%s)", deparse_one(a[["replicate"]])) else weight
  by <- if (!is.null(by)) sprintf("by = %s", by)
  extra <- c(
    by, if (isTRUE(a[["cyclic"]])) "cyclic = TRUE", if (isTRUE(a[["scale.model"]]) && model != "bym2") "scale = TRUE",
    if (identical(a[["constr"]], FALSE) && model == "besag") "constrain = FALSE"
  )
  graph <- argument_text(a[["graph"]], "W")
  own <- function(name, ...) sprintf("%s(%s)", name, paste(c(g, ..., extra), collapse = ", "))
  process <- function(kernel) sprintf("gp(%s)", paste(c(g, by, sprintf("kernel = %s", kernel)), collapse = ", "))
  to <- switch(model,
    iid = own("iid"), rw1 = own("rw1"), rw2 = own("rw2"), crw2 = own("rw2"), ar1 = own("ar1"),
    ar = own(autoregression(a[["order"]])),
    besag = own("gmrf", sprintf("graph = %s", graph)),
    bym2 = own("gmrf", sprintf("graph = %s", graph), "model = \"bym2\""),
    besagproper = own("gmrf", sprintf("graph = %s", graph), "model = \"proper\""),
    bym = paste(sprintf("iid(%s)", paste(c(g, by), collapse = ", ")), "+", own("gmrf", sprintf("graph = %s", graph))),
    generic = , generic0 = sprintf("(%s | gr(%s, precision = %s))",
      if (is.null(weight)) "1" else paste("0 +", weight), g, argument_text(a[["Cmatrix"]], "Q")),
    ou = process("matern12()"), linear = paste(c(g, weight), collapse = ":"),
    object = sprintf("spde(%s)", paste(c("easting", "northing", by), collapse = ", ")),
    seasonal = process(seasonal_kernel(a)), sprintf("gp(%s)", paste(c(g, by), collapse = ", "))
  )
  or_else(inla_product(to, a), to)
}

# "object": not a name in quotes, as that of inla.spde2.pcmatern()
inla_model <- function(a) {
  model <- a[["model"]]
  if (is.null(model)) "iid" else if (is.character(model)) model else "object"
}

#' group = t, control.group = list(model = "ar1"): a product of fields, ar1(t, by = spde(x, y)); NULL where there is none
#' @param inner The field of one group.
#' @noRd
inla_product <- function(inner, a) {
  if (is.null(a[["group"]])) return(NULL)
  control <- a[["control.group"]]
  steps <- inla_term(deparse_one(a[["group"]]), list(
    model = or_else(any_named(control, "model"), "exchangeable"), order = any_named(control, "order"),
    graph = any_named(control, "graph")
  ))
  word <- function(text) head_name(str2lang(text))
  for (pair in list(c(steps, inner), c(inner, steps))) {
    outer <- str2lang(pair[1L])
    if (!word(pair[1L]) %in% words_that("repeats") || !word(pair[2L]) %in% words_that("repeated")) next
    if (length(outer) > 2L) next  # arguments that a product does not have
    outer$by <- str2lang(pair[2L])
    return(deparse_one(outer))
  }
}

# What the effects are multiplied by, or NULL.
inla_weight <- function(v, a) {
  if (!is.null(a[["weights"]])) deparse_one(a[["weights"]]) else if (length(v) > 1L) v[2L]
}

#' What inla_term() does not carry
#' @noRd
inla_say <- function(v, a, env) {
  if (!is.null(a[["copy"]])) return(paste(
    "Effects that several variables share are those of a group with several members, (1 | mm(a, b)), and no other term",
    "is copied."
  ))
  model <- inla_model(a)
  weight <- inla_weight(v, a)
  known <- c("iid", "rw1", "rw2", "crw2", "ar1", "ar", "besag", "bym2", "besagproper", "bym", "generic", "generic0", "ou",
    "linear", "seasonal")
  generic <- model %in% c("generic", "generic0")
  c(
    if (model == "object") sprintf(paste(
      "`model = %s` is an object: in place of INLA's SPDE models the Matern field is spde(), of two coordinates,",
      "for which easting and northing stand here; other models have a name in quotes."
    ), deparse_one(a[["model"]])) else if (!model %in% known) {
      sprintf("galvi has no model \"%s\": this is a smooth function.", model)
    },
    if (!is.null(a[["group"]]) && is.null(inla_product(inla_term(v, replace(a, "group", list(NULL))), a))) sprintf(paste(
      "`group = %s` is left out: copies of effects that are related are products of two fields, as in",
      "ar1(t, by = gmrf(g, graph = W)), and galvi has none of these two."
    ), deparse_one(a[["group"]])),
    if (generic) sprintf("The row names of the matrix are the levels of `%s`.", first_of(v, "g")),
    if (generic && !is.null(a[["replicate"]])) "Such a term has no replicates.",
    if (model == "ar") order_say(a[["order"]]),
    if (!generic && model != "linear" && !is.null(weight) && !is.null(a[["replicate"]])) sprintf(paste(
      "`%s`, which multiplies the effects in INLA, is left out: `by` is a factor, with a copy for each level, or numbers",
      "that multiply."
    ), weight),
    if (!is.null(a[["hyper"]])) sprintf(
      "`hyper` is left out: priors are an argument of galvi(), as prior = list(\"%s\" = %s).",
      label_of_term(inla_term(v, a)),
      if (model == "linear") "normal(0, 1)" else sprintf("list(sd = %s)", inla_prior(a[["hyper"]]))
    )
  )
}

# The name that `prior` has for a term: its inputs and `by`.
label_of_term <- function(text) {
  expr <- summands(str2lang(text))[[1L]]$expr
  if (head_name(expr) %in% term_words) expr[!names(expr) %in% c("", "by")] <- NULL
  deparse_one(expr)
}

# list(prec = list(prior = "pc.prec", param = c(1, 0.01))) -> pc(1, 0.01), that of the standard deviation
inla_prior <- function(hyper) {
  own <- if (head_name(hyper) == "list" && length(hyper) > 1L) hyper[[2L]]
  if (head_name(own) != "list") return("half_normal(1)")
  param <- vapply(as.list(own[["param"]])[-1L], constant_number, 0)
  initial <- constant_number(own[["initial"]])
  if (isTRUE(own[["fixed"]]) && !is.na(initial)) return(sprintf("fixed(%s)", code_number(signif(exp(-initial / 2), 4L))))
  if (!identical(own[["prior"]], "pc.prec") || length(param) != 2L || anyNA(param)) return("half_normal(1)")
  sprintf("pc(%s, %s)", code_number(param[1L]), code_number(param[2L]))
}

# An expression without variables as a number, NA for another.
constant_number <- function(expr) {
  value <- if (!length(all.vars(expr))) tryCatch(eval(expr, baseenv()), error = function(e) NULL)
  if (is.numeric(value) && length(value) == 1L) as.numeric(value) else NA_real_
}

# The term of an autoregression of this order, and what it does not have.
autoregression <- function(order) if (isTRUE(constant_number(order) > 1)) "ar2" else "ar1"
order_say <- function(order) if (isTRUE(constant_number(order) > 2)) "The highest order here is two."

# car() of brms: its default is the proper model.
graph_text <- function(g, graph, type, default) {
  model <- if (is.null(type)) default else c(
    escar = "proper", esicar = "besag", icar = "besag", bym2 = "bym2")[argument_text(type, "escar")]
  sprintf("gmrf(%s, graph = %s%s)", g, graph, if (is.na(model) || model == "besag") "" else sprintf(
    ", model = \"%s\"", model))
}

# (time, gr) of brms, by name or by place -> text; NULL for what is not given
times_and_group <- function(v, a) {
  of <- lapply(a[intersect(c("time", "gr"), names(a))], argument_text, NULL)
  by_place <- setdiff(c("time", "gr"), names(a))
  given <- seq_len(min(length(v), length(by_place)))
  of[by_place[given]] <- v[given]
  list(time = of[["time"]], group = of[["gr"]])
}

# Orders of ar(), ma() and arma() of brms, by name or by place.
brms_orders <- function(name, a) {
  by_place <- Filter(is.numeric, unname(if (is.null(names(a))) a else a[!nzchar(names(a))]))
  of <- list(ar = "p", ma = "q", arma = c("p", "q"))[[name]]
  given <- seq_len(min(length(of), length(by_place)))
  orders <- c(p = 0, q = 0)
  orders[of] <- 1
  orders[of[given]] <- as.numeric(by_place[given])
  for (name in intersect(of, names(a))) orders[name] <- or_na(constant_number(a[[name]]), 1)
  orders
}

or_na <- function(x, default) if (is.na(x)) default else x

# Do rows of a group that follow each other in time have successive times? TRUE where the variables are not known.
are_successive <- function(time, group, env) {
  at <- tryCatch(eval(time, env), error = function(e) NULL)
  of <- if (!is.null(group)) tryCatch(eval(group, env), error = function(e) NULL)
  if (is.null(at) || is.null(group) != is.null(of)) return(TRUE)
  # without groups it is a process in time itself
  if (is.null(group) && !is.numeric(at)) return(FALSE)
  steps <- if (is.null(group)) at else match(at, sort(unique(at)))
  all(vapply(split(steps, or_else(of, rep(1L, length(steps)))), function(x) all(diff(sort(x)) == 1), NA))
}

#' ar(), ma() and arma() of brms: correlations of the residuals of successive rows, whatever their times
#'
#' @param entry Its entry of the table for this formula, see table_of_formula().
#' @return As foreign_term(), with column: a column of the data that has to be made, by its name.
#' @noRd
brms_series <- function(name, v, a, env, entry) {
  of <- lapply(times_and_group(v, a), function(text) if (!is.null(text)) str2lang(text))
  at <- of$time
  column <- NULL
  if (is.null(at) || !are_successive(at, of$group, env)) {
    in_group <- function(x, f) as.call(c(quote(ave), x, factors_of(of$group), FUN = f))
    at <- if (is.null(of$group)) {
      if (is.null(of$time)) entry$rows else call("rank", of$time, ties.method = "first")
    } else if (is.null(of$time)) in_group(entry$rows, quote(seq_along)) else in_group(of$time, quote(rank))
    if (length(entry$step)) {
      column <- stats::setNames(list(at), entry$step)
      at <- as.name(entry$step)
    }
  }
  orders <- brms_orders(name, a)
  own <- correlation_term("corARMA", call("corARMA", p = orders[["p"]], q = orders[["q"]]), at, of$group)
  list(
    from = "brms", to = deparse_one(own$term), family = if (!own$noise) without_noise, column = column,
    say = paste(c(
      if (length(column)) sprintf("`%s` is the order of the rows%s, as brms has it.", names(column),
        if (is.null(of$group)) "" else sprintf(" in each level of `%s`", deparse_one(of$group))),
      if (!own$noise) paste(
        "It is all of the residuals, so that the gaussian family has no noise of its own: its variance is that of the",
        "residuals, and brms' sigma^2 that of their innovations."
      ),
      own$say, if (is.null(of$group)) order_say(orders[["p"]]),
      if (head_name(own$term) == "gp") "Its correlations are positive."
    ), collapse = " ")
  )
}

# Names that advice has where the user gave none, and what they stand for.
stand_ins <- c(t = "the time of a row", g = "the grouping factor", W = "the matrix of neighbours")

stand_in_text <- function(expr, to, say) {
  new <- intersect(setdiff(all.vars(str2lang(to)), all.vars(expr)), names(stand_ins))
  new <- Filter(function(name) !grepl(sprintf("\\b%s\\b", name), say), new)
  if (length(new)) sprintf("Here %s.", paste(new, "is", stand_ins[new], collapse = ", "))
}

# random(~ 1 | g), re(random = ~ x | g), random(g)
group_of_formula <- function(v, a) {
  one_sided <- Find(function(x) head_name(x) == "~", a)
  if (is.null(one_sided)) return(sprintf("(1 | %s)", first_of(v, "g")))
  right <- one_sided[[length(one_sided)]]
  if (head_name(right) %in% bars) sprintf("(%s)", deparse_one(right)) else sprintf("(1 | %s)", deparse_one(right))
}

# Is it the name of a variable that is not known to be a factor or text?
may_be_smooth <- function(text, env) {
  if (!is.symbol(str2lang(text))) return(FALSE)
  value <- get0(text, env)
  !is.factor(value) && !is.character(value)
}

# ---- terms with a bar ----

has_bar <- function(a) !is.null(bar_among(a))

# The variable left of the bar, without `0 +` and factor(), and the group.
bar_sides <- function(a) {
  x <- bar_among(a)
  pieces <- lapply(summands(x[[2L]]), `[[`, "expr")
  pieces <- Filter(function(e) !is.numeric(e), pieces)
  variable <- if (length(pieces)) pieces[[1L]] else quote(t)
  while (head_name(variable) %in% c("factor", "as.factor", "ordered", "numFactor") && length(variable) == 2L) {
    variable <- variable[[2L]]
  }
  list(variable = deparse_one(variable), group = deparse_one(x[[3L]]))
}

#' What numFactor() of glmmTMB was made of: it names levels "(1,2)" by their numbers, which are those of columns
#' @param env Has the columns.
#' @return list(at: names as text; guessed: those of them that stand for what is not known)
#' @noRd
coordinates_of <- function(variable, env) {
  if (any_head(variable) == "numFactor") return(list(at = unnamed_text(as.list(variable)[-1L])))
  value <- get0(deparse_one(variable), env)
  if (is.numeric(value)) return(list(at = deparse_one(variable)))
  if (!is.factor(value) || !all(grepl("^[(].*[)]$", levels(value)))) return(list(at = "t", guessed = "t"))
  numbers <- strsplit(gsub("[()]", "", as.character(value)), ",", fixed = TRUE)
  count <- max(lengths(numbers))
  at <- vapply(seq_len(count), function(j) {
    text <- vapply(numbers, `[`, "", j)
    same <- Find(function(name) {
      column <- get0(name, env)
      is.numeric(column) && identical(as.character(column), text)
    }, ls(env))
    or_else(same, NA_character_)
  }, "")
  guessed <- which(is.na(at))
  at[guessed] <- if (count == 1L) "t" else paste0("x", guessed)
  list(at = at, guessed = at[guessed])
}

process_kernels <- c(exp = "matern12()", gau = "se()", mat = "matern32()")

# What they do not share with those of glmmTMB.
process_differences <- c(
  mat = "glmmTMB learns the smoothness, which is fixed at 3/2 here; matern12() and matern52() have 1/2 and 5/2."
)

# exp(numFactor(t) + 0 | g) and the like of glmmTMB: a process for each group, all with the same hyperparameters
bar_process <- function(expr, env) {
  bar <- bar_among(as.list(expr)[-1L])
  left <- Filter(function(e) !is.numeric(e), lapply(summands(bar[[2L]]), `[[`, "expr"))
  found <- coordinates_of(if (length(left)) left[[1L]] else quote(t), env)
  at <- found$at
  group <- deparse_one(bar[[3L]])
  alone <- length(unique(tryCatch(eval(bar[[3L]], env), error = function(e) 1:2))) == 1L
  word <- any_head(expr)
  kernel <- process_kernels[word]
  list(
    from = "glmmTMB",
    to = if (length(at) == 1L && kernel == "matern12()" && !alone) sprintf("ou(%s | %s)", at, group) else {
      sprintf("gp(%s%s, center = FALSE, kernel = %s)", paste(at, collapse = ", "),
        if (alone) "" else sprintf(", by = factor(%s), by_hyper = \"shared\"", group), kernel)
    },
    say = paste(c(process_differences[names(process_differences) == word], if (length(found$guessed)) {
      sprintf("Here %s stand%s for what numFactor() was made of.", paste(found$guessed, collapse = " and "),
        if (length(found$guessed) == 1L) "s" else "")
    }), collapse = " ")
  )
}

# (1 | p | g) -> list(to, say), NULL if it is ours
foreign_bar <- function(bar) {
  left <- bar[[2L]]
  right <- bar[[3L]]
  if (head_name(right) == "%in%" && is.symbol(right[[2L]]) && is.symbol(right[[3L]])) {
    right[[1L]] <- as.name(":")
    bar[[3L]] <- right
    return(list(how = "compares values, and nested groups have a colon", to = sprintf("(%s)", deparse_one(bar))))
  }
  if ("mmc" %in% all.names(left)) return(list(
    from = "brms", to = sprintf("(%s)", deparse_one(replace(bar, 2L, list(with_mean_covariates(left))))), say = paste(
      "In brms the effect of each group is multiplied by the group's own covariate. Here the groups of a row have one,",
      "which is their mean."
    )
  ))
  if (!head_name(left) %in% bars) return(NULL)
  right <- deparse_one(bar[[3L]])
  list(from = "brms", to = sprintf("(%s %s %s)", deparse_one(left[[2L]]), head_name(left), right), say = sprintf(
    "`%s` would tie effects of several formulas together, which are independent here.", deparse_one(left[[3L]])
  ))
}

# mmc(x1, x2) -> I((x1 + x2) / 2)
with_mean_covariates <- function(expr) {
  if (!is.call(expr)) return(expr)
  if (any_head(expr) == "mmc") {
    sum <- Reduce(function(a, b) call("+", a, b), as.list(expr)[-1L])
    return(call("I", call("/", call("(", sum), length(expr) - 1)))
  }
  expr[-1L] <- lapply(as.list(expr)[-1L], with_mean_covariates)
  expr
}

# ---- use ----

# The name of a function, with any package before it.
any_head <- function(expr) {
  if (!is.call(expr)) return("")
  head <- expr[[1L]]
  if (is.call(head) && length(head) == 3L && as.character(head[[1L]]) %in% c("::", ":::")) {
    return(as.character(head[[3L]]))
  }
  if (is.symbol(head)) as.character(head) else ""
}

package_of <- function(expr) {
  head <- if (is.call(expr)) expr[[1L]]
  if (is.call(head) && length(head) == 3L && as.character(head[[1L]]) %in% c("::", ":::")) as.character(head[[2L]])
}

unnamed_text <- function(arguments) {
  names <- names(arguments)
  plain <- if (is.null(names)) arguments else arguments[!nzchar(names)]
  plain <- Filter(function(x) is.symbol(x) || is.call(x) && head_name(x) != "~" && !head_name(x) %in% bars, plain)
  vapply(unname(plain), deparse_one, "")
}

# ---- gp() with arguments and kernels of other packages ----

# How smooth a Matern kernel is, by its name here.
matern_words <- c(matern12 = 0.5, matern32 = 1.5, matern52 = 2.5, se = Inf)
matern_word <- function(nu) names(matern_words)[which.min(abs(1 / nu - 1 / matern_words))]

#' matern(nu = 2.5), matern(5 / 2) -> matern52()
#' @param lost Called with each argument that is not carried: by its place it means something else here.
#' @noRd
own_kernel <- function(expr, env = globalenv(), lost = function(x) NULL) {
  if (!is.call(expr)) return(expr)
  name <- any_head(expr)
  ours <- foreign_kernels[name]
  if (name %in% c("+", "*", "(", "per_class")) {
    expr[-1L] <- lapply(as.list(expr)[-1L], own_kernel, env, lost)
    return(expr)
  }
  if (is.na(ours) || is_users_own(name, env)) return(expr)
  given <- as.list(expr)[-1L]
  names <- or_else(names(given), character(length(given)))
  names[names %in% c("lengthscales", "length_scale", "ls", "rho")] <- "lengthscale"
  names[names == "periodicity"] <- "period"
  at <- which(names == "nu")
  by_place <- which(!nzchar(names))
  first <- constant_number(given[by_place][1L][[1L]])
  if (!length(at) && name %in% c("matern", "Matern") && first %in% matern_words) at <- by_place[1L]
  nu <- if (length(at)) constant_number(given[[at]]) else NA_real_
  if (!is.na(nu)) ours <- matern_word(nu)
  own <- names(formals(own_function(ours)))
  # a period or a degree
  if (length(by_place) == 1L && own[1L] != "variance" && !length(at)) names[by_place] <- own[1L]
  kept <- names %in% own
  for (x in given[!kept & !(seq_along(given) %in% at & nu %in% matern_words)]) lost(x)
  as.call(c(as.name(ours), stats::setNames(given[kept], names[kept])))
}

# A kernel by a name in quotes, or by a call of another package.
typed_kernel <- function(x, lost = function(x) NULL) {
  if (!is.character(x) || length(x) != 1L) return(own_kernel(x, lost = lost))
  word <- if (x %in% kernel_words()) x else foreign_kernels[x]
  if (is.na(word)) x else as.call(list(as.name(word)))
}

# A name in quotes where x and y are given
check_kernel_word <- function(kernel) {
  own <- typed_kernel(kernel)
  if (!is.character(kernel) || !is.call(own)) return(invisible())
  stop_galvi("kernel", sprintf("`kernel = \"%s\"` is a name in quotes: write kernel = %s.", kernel, deparse_one(own)))
}

# gp(x, k = 20, c = 5 / 4) -> gp(x, inducing = 20); gp(x, period = 12) -> gp(x, kernel = periodic(12))
own_gp <- function(expr, lost = function(x) NULL) {
  expr[[1L]] <- if (package_of_is_foreign(expr)) quote(gp) else expr[[1L]]
  take <- function(words) {
    found <- intersect(words, names(expr))
    value <- if (length(found)) expr[[found[1L]]]
    for (name in found) expr[[name]] <<- NULL
    value
  }
  points <- take(c("k", "m", "M", "num_inducing", "knots"))
  take(c("c", "bs", "gr", "cmc"))
  of_each <- isFALSE(take("iso")) | isTRUE(take("ard"))  # a lengthscale of each input
  if (!is.null(points) && is.null(expr[["inducing"]])) expr$inducing <- points
  period <- take("period")
  cov <- take(c("cov", "model"))
  nu <- take(c("nu", "smoothness"))
  size <- take(c("lengthscale", "lengthscales", "range", "rho", "ls"))
  variance <- take("variance")
  sd <- take(c("sd", "sigma", "alpha"))
  if (is.numeric(sd)) variance <- sd^2 else if (!is.null(sd)) variance <- call("^", sd, 2)
  if (is.character(expr[["by"]])) expr$by <- as.name(expr[["by"]])
  typed <- not_null(list(lengthscale = size, variance = variance, ard = if (of_each) TRUE))
  if (is.null(expr[["kernel"]]) && (!is.null(period) || !is.null(cov) || !is.null(nu) || length(typed))) {
    word <- if (!is.null(period)) "periodic" else {
      own_word <- if (is.character(cov)) foreign_kernels[cov] else NA
      if (is.character(cov) && cov %in% kernel_words()) own_word <- cov
      smooth <- constant_number(nu)
      if (!is.na(smooth)) own_word <- matern_word(smooth) else if (!is.null(nu)) own_word <- "matern32"
      if (!is.null(nu) && !smooth %in% matern_words) lost(nu)
      if (is.na(own_word)) "se" else own_word
    }
    expr$kernel <- as.call(c(list(as.name(word)), period, typed))
  }
  if (!is.null(expr[["kernel"]])) expr$kernel <- typed_kernel(expr[["kernel"]], lost)
  if (of_each && any_head(expr[["kernel"]]) %in% kernel_words()) expr$kernel$ard <- TRUE
  expr
}

gp_difference <- function(expr, to) {
  if (is.character(expr[["by"]]) || is.character(expr[["kernel"]])) return("has a name in quotes")
  gone <- setdiff(names(expr), c(names(to), ""))
  if (length(gone)) return(sprintf("has %s, which gp() here does not", quote_names(gone)))
  if (package_of_is_foreign(expr)) return(sprintf("is of %s", package_of(expr)))
  "has a kernel by the name of another package"
}

package_of_is_foreign <- function(expr) {
  package <- package_of(expr)
  !is.null(package) && package != "galvi"
}

# Is it a function that the user wrote, not one of a package?
is_users_own <- function(name, env) {
  f <- get0(name, envir = env, mode = "function")
  is.function(f) && !is.primitive(f) && identical(topenv(environment(f)), globalenv())
}

#' One call of another package's term -> list(from, to: text, or NULL where galvi has none, say), NULL if it is none
#' @noRd
foreign_term <- function(expr, env, table) {
  name <- any_head(expr)
  package <- package_of(expr)
  other <- !is.null(package) && package != "galvi"
  a <- as.list(expr)[-1L]
  if (name == "gp" && (!other || !is.null(names(a)))) {
    lost <- character()
    to <- own_gp(expr, function(x) lost <<- c(lost, deparse_one(x)))
    say <- if (length(lost)) sprintf(paste(
      "Left out is %s: variances and lengthscales are given by name, and Matern kernels are matern12(), matern32(),",
      "matern52()."
    ), quote_names(lost))
    if (!identical(to, expr)) return(list(how = gp_difference(expr, to), to = deparse_one(to), say = say))
  }
  if (name == "rr" && has_bar(a)) {
    # ours takes item | unit; theirs has `0 +` or factors
    sides <- summands(bar_among(a)[[2L]])
    if (length(sides) < 2L && !other) return(NULL)
    d <- if (!is.null(a[["d"]])) deparse_one(a[["d"]]) else "2"
    return(list(from = "glmmTMB", to = sprintf("rr(%s | %s, d = %s)", bar_sides(a)$variable, bar_sides(a)$group, d)))
  }
  if (other && (name %in% term_words || name %in% names(bar_words) && has_bar(a))) {
    expr[[1L]] <- as.name(name)
    if (package == "mgcv") return(list(how = "has the name of a package before it", to = deparse_one(expr)))
    return(list(from = package, to = deparse_one(expr)))
  }
  if (name %in% names(bar_words) && has_bar(a)) return(NULL)
  if (name %in% names(process_kernels) && has_bar(a) && (other || !is_users_own(name, env))) {
    return(bar_process(expr, env))
  }
  entry <- table[[name]]
  if (is.null(entry) || entry$bar && !has_bar(a)) return(NULL)
  if (!entry$strict && !other && is_users_own(name, env)) return(NULL)
  v <- unnamed_text(a)
  if (isTRUE(entry$series)) return(brms_series(name, v, a, env, entry))
  say <- entry$say
  if (is.function(say)) say <- say(v, a, env)
  say <- gsub("%s", first_of(v, "x"), say, fixed = TRUE)
  to <- entry$to(v, a)
  if (!is.null(to)) say <- c(say, stand_in_text(expr, to, paste(say, collapse = "")))
  say <- paste(say, collapse = " ")
  list(from = if (other) package else entry$from, to = to, say = say, family = entry$family)
}

#' A summand with foreign terms replaced
#' @param note Called with list(old, from, to, say) for each.
#' @noRd
without_foreign <- function(expr, env, table, note) {
  if (!is.call(expr)) return(expr)
  found <- foreign_term(expr, env, table)
  if (is.null(found) && head_name(expr) == "(" && head_name(expr[[2L]]) %in% bars) found <- foreign_bar(expr[[2L]])
  if (!is.null(found)) {
    note(c(list(old = deparse_one(expr)), found))
    return(if (is.null(found$to)) expr else str2lang(found$to))
  }
  if (!head_name(expr) %in% formula_operators || head_name(expr) %in% bars) return(expr)
  expr[-1L] <- lapply(as.list(expr)[-1L], without_foreign, env, table, note)
  product_of_term(expr, env)
}

is_term <- function(expr) head_name(expr) %in% c(term_words, bars) || has_bar_word(expr)

#' Does a term stand below an operator that does not add it?
#' @param added Do those above add it?
#' @noRd
has_term_product <- function(expr, added = TRUE) {
  if (!is.call(expr)) return(FALSE)
  if (is_term(expr)) return(!added)
  head <- head_name(expr)
  if (!head %in% formula_operators) return(FALSE)
  parts <- as.list(expr)[-1L]
  # what stands before a minus is added
  adds <- head %in% c("+", "(") | head == "-" & seq_along(parts) < length(parts)
  any(mapply(has_term_product, parts, added & adds))
}

# rw1(t) * x -> rw1(t) + rw1(t, by = x) + x; a product of a term with more than one column as it is
product_of_term <- function(expr, env) {
  if (!head_name(expr) %in% c("*", ":")) return(expr)
  terms <- vapply(as.list(expr)[-1L], is_term, NA)
  if (sum(terms) != 1L) return(expr)
  term <- expr[[1L + which(terms)]]
  other <- expr[[1L + which(!terms)]]
  if (!head_name(term) %in% term_words || !is.null(term[["by"]]) || !is_one_column(other, env)) return(expr)
  copy <- replace(term, "by", list(other))
  if (head_name(expr) == ":") copy else call("+", call("+", term, copy), other)
}

# A variable that is not found may be one.
is_one_column <- function(expr, env) {
  value <- if (!head_name(expr) %in% formula_operators) tryCatch(eval(expr, env), error = function(e) NULL)
  if (is.null(value)) is.symbol(expr) else is.language(expr) && NCOL(value) == 1L
}

#' Stops if a formula has terms or left sides of other packages: the error shows the formula as it is written here
#' @param data Where its variables are looked for first; NULL: nowhere else.
#' @noRd
check_foreign_formula <- function(formula, table = foreign_terms, data = NULL) {
  found <- own_formula(formula, table, data)
  if (!length(found$notes)) return(invisible())
  if (found$product) {
    stop_galvi("formula", paste(
      foreign_message(found$notes), "Terms are added and have no products: a surface is te(a, b) or gp(a, b)."
    ))
  }
  if (has_no_form(found)) stop_galvi("formula", foreign_message(found$notes))
  stop_rewritten(foreign_message(found$notes), formula, found, data)
}

# Is there a term among what was replaced that galvi does not have?
has_no_form <- function(found) any(vapply(found$notes, function(one) is.null(one$to), NA))

#' A formula with all that is of other packages replaced -> list(to, notes: what was replaced; product: is a term among
#' it in a product? Then `to` is the formula as it was)
#' @noRd
own_formula <- function(formula, table = foreign_terms, data = NULL) {
  if (length(formula) != 3L) return(list(to = formula, product = FALSE))
  env <- environment(formula)
  if (is.null(env)) env <- globalenv()
  if (is.data.frame(data)) env <- list2env(as.list(data)[nzchar(names(data))], parent = env)
  table <- table_of_formula(table, formula, env, data)
  notes <- list()
  note <- function(found) notes[[length(notes) + 1L]] <<- found
  pieces <- summands(formula[[3L]])
  pieces <- lapply(pieces, function(piece) {
    if (!is.call(piece$expr)) return(list(piece))
    new <- without_foreign(piece$expr, env, table, note)
    if (identical(new, piece$expr)) list(piece) else summands(new, piece$sign)
  })
  pieces <- without_named_intercept(unlist(pieces, recursive = FALSE), env, data, note)
  surv <- unattached_surv(formula[[2L]], env)
  to <- formula
  attributes(to) <- NULL
  right <- sum_of(pieces)
  product <- length(notes) > 0L && has_term_product(right)
  if (length(notes) && !product) to[[3L]] <- right
  if (!is.null(surv)) {
    to[[2L]] <- surv
    note(list(old = deparse_one(formula[[2L]]), to = deparse_one(surv)))
  }
  list(to = to, notes = notes, product = product)
}

# The table with what some of its terms need to know of the response and the data.
table_of_formula <- function(table, formula, env, data) {
  used <- intersect(all.names(formula[[3L]]), names(table))
  if ("strata" %in% used && is_binary(formula[[2L]], env)) table$strata$say <- clogit_text(formula)
  if ("fcor" %in% used) table$fcor$family <- hardly_any_noise(formula[[2L]], env)
  for (name in Filter(function(name) isTRUE(table[[name]]$series), used)) {
    table[[name]]$rows <- call("seq_along", as.name(or_else(all.vars(formula[[2L]])[1L], "y")))
    if (is.data.frame(data)) table[[name]]$step <- utils::tail(make.unique(c(names(data), "step"), "_"), 1L)
  }
  table
}

# A millionth of the variance of the response.
hardly_any_noise <- function(response, env) {
  y <- suppressWarnings(tryCatch(eval(response, env), error = function(e) NULL))
  variance <- if (is.numeric(y)) 1e-6 * stats::var(c(y), na.rm = TRUE) else NA
  variance <- if (isTRUE(variance > 0)) signif(variance, 1L) else 1e-6
  bquote(galvi_family("gaussian", variance = fixed(.(variance))))
}

is_binary <- function(expr, env) {
  y <- suppressWarnings(tryCatch(eval(expr, env), error = function(e) NULL))
  is.logical(y) || is.numeric(y) && is.null(dim(y)) && all(y %in% c(0, 1, NA))
}

# survival's clogit() is Cox's model of equal times, in which each stratum compares its cases with its controls.
clogit_text <- function(formula) {
  case <- formula[[2L]]
  formula[[2L]] <- bquote(survival::Surv(rep(1, length(.(case))), .(case)))
  attributes(formula) <- NULL
  sprintf("Conditional logistic regression, as that of clogit(), is %s with family = cox().", deparse_one(formula))
}

# y ~ 0 + Intercept + x of brms -> y ~ x, where there is no such column
without_named_intercept <- function(pieces, env, data, note) {
  named <- vapply(pieces, function(piece) identical(piece$expr, quote(Intercept)) && piece$sign > 0, NA)
  if (!any(named) || is.null(data) || exists("Intercept", envir = env)) return(pieces)
  note(list(old = "Intercept", how = "is brms' name of the intercept, which any formula has", to = "1"))
  zero <- vapply(pieces, function(piece) identical(piece$expr, if (piece$sign > 0) 0 else 1), NA)
  left <- pieces[!named & !zero]
  if (length(left)) left else list(list(expr = 1, sign = 1))
}

# Surv() is found by its name only where survival is attached.
unattached_surv <- function(expr, env) {
  if (!identical(head_name(expr), "Surv") || exists("Surv", envir = env, mode = "function")) return(NULL)
  expr[[1L]] <- quote(survival::Surv)
  expr
}

sum_of <- function(pieces) {
  out <- NULL
  for (piece in pieces) {
    out <- if (is.null(out)) {
      if (piece$sign < 0) call("-", piece$expr) else piece$expr
    } else {
      call(if (piece$sign < 0) "-" else "+", out, piece$expr)
    }
  }
  out
}

foreign_message <- function(notes) {
  shown <- utils::head(notes, 3L)
  paste(vapply(shown, function(one) {
    paste0(
      if (is.null(one$to)) {
        sprintf("`%s` is of %s, and galvi has no such term.", one$old, one$from)
      } else if (!is.null(one$how)) {
        sprintf("`%s` %s: write %s.", one$old, one$how, one$to)
      } else if (is.null(one$from)) {
        sprintf("`%s` is not found: write %s.", one$old, one$to)
      } else {
        sprintf("`%s` is of %s, and galvi has no such term: write %s.", one$old, one$from, one$to)
      }, if (length(one$say) && nzchar(one$say)) paste0(" ", one$say) else ""
    )
  }, ""), collapse = " ")
}

# ---- calls rewritten ----

#' An error whose message ends with the user's formula, or call, as it should be
#'
#' @param from The user's formula; found: what own_formula() made of it.
#' @noRd
stop_rewritten <- function(message, from, found, data) {
  condition <- new_galvi_condition("error", "formula", message, NULL)
  condition[c("from", "found", "data", "plain")] <- list(from, found, data, message)
  condition$message <- paste0(message, " The formula is then ", deparse_one(found$to), ".")
  stop(condition)
}

#' The same with all formulas of a fit, and what goes with them
#'
#' @param family A call, or NULL for the user's; prior: expressions by their names in the argument.
#' @noRd
stop_whole <- function(message, formulas, family = NULL, prior = NULL) {
  found <- list(to = formulas_call(formulas), whole = TRUE, family = family, prior = prior)
  stop_rewritten(message, NULL, found, NULL)
}

formulas_call <- function(formulas) {
  formulas <- lapply(unname(formulas), function(f) {
    attributes(f) <- NULL
    f
  })
  if (length(formulas) > 1L) as.call(c(quote(list), formulas)) else formulas[[1L]]
}

#' Evaluates; an error of stop_rewritten() shows the whole call of galvi() as it should be
#' @noRd
with_call_rewritten <- function(expr, call, formula) {
  tryCatch(expr, galvi_error = function(e) {
    if (is.null(e$found) || is.null(call)) stop(e)
    e$message <- paste0(e$plain, " In full: ", call_text(rewritten_call(call, formula, e)), ".")
    stop(e)
  })
}

rewritten_call <- function(call, formula, e) {
  bare <- function(f) {
    attributes(f) <- NULL
    f
  }
  brought <- family_of_formula(formula)
  with_brought <- function(call) {
    if (is.null(brought) || !is.null(call[["family"]])) return(call)
    family <- family_as_call(as_galvi_family(brought))
    if (identical(family, quote(galvi_family("gaussian")))) call else replace_in(call, "family", family)
  }
  if (isTRUE(e$found$whole)) {
    call <- with_formula(call, e$found$to)
    for (name in names(e$found$prior)) call <- with_prior(call, name, e$found$prior[[name]])
    return(if (is.null(e$found$family)) with_brought(call) else replace_in(call, "family", e$found$family))
  }
  from <- bare(e$from)
  notes <- e$found$notes
  replace <- function(x) {
    if (!is.call(x)) return(x)
    if (head_name(x) == "~") {
      if (identical(bare(x), from)) return(e$found$to)
      own <- own_formula(x, data = e$data)
      notes <<- c(notes, own$notes)
      return(own$to)
    }
    x[-1L] <- lapply(as.list(x)[-1L], function(part) if (missing(part)) part else replace(part))
    x
  }
  old <- if ("formula" %in% names(call)) call$formula else call[[2L]]
  new <- if (is.call(old)) replace(old) else old
  # a formula that was made elsewhere, or one of brms whose terms stand apart from it
  if (identical(new, old) || has_autocor(formula)) {
    new <- formulas_call(lapply(as_formulas(formula), replace))
    call <- with_brought(call)
  } else if (!is.null(new[["family"]])) {
    new$family <- NULL
    call <- with_brought(call)
  }
  with_companions(with_formula(call, new), notes)
}

#' A family as a call of galvi_family()
#' @param parameters Expressions by name.
#' @noRd
family_as_call <- function(family, parameters = parameter_calls(family)) {
  link <- if (!identical(family$link, names(family_type(family)$links)[1L])) list(link = family$link)
  options <- Filter(function(x) is.atomic(x) && length(x) == 1L && !is.na(x), family$options)
  as.call(c(quote(galvi_family), family$family, parameters, options[setdiff(names(options), names(parameters))], link))
}

# Numbers and fixed numbers that a family was given.
parameter_calls <- function(family) {
  given <- Filter(function(x) is.numeric(x) || is_fixed(x), family$parameters)
  lapply(given, function(x) if (is_fixed(x)) call("fixed", x$value) else x)
}

# What replaced terms need beside the formula: a family in place of gaussian(), columns of the data.
with_companions <- function(call, notes) {
  family <- Find(Negate(is.null), lapply(notes, `[[`, "family"))
  # beside a formula of sigma the family keeps its noise
  if (!is.null(family) && is_gaussian_call(call) && head_name(formula_of_call(call)) != "list") call$family <- family
  columns <- unlist(lapply(notes, `[[`, "column"))
  columns <- columns[!duplicated(names(columns))]
  if (length(columns) && !is.null(call[["data"]])) {
    call$data <- as.call(c(quote(transform), call[["data"]], columns))
  }
  call
}

# Is the family of a call of galvi() gaussian(), as it is without one?
is_gaussian_call <- function(call) {
  family <- call[["family"]]
  is.null(family) || any(vapply(list("gaussian", quote(gaussian)), identical, NA, family)) ||
    any_head(family) == "gaussian"
}

without_noise <- quote(galvi_family("gaussian", variance = fixed(0)))

# A call on one line; objects that stand in it, as with do.call(), by a name.
call_text <- function(call) {
  call[[1L]] <- quote(galvi)
  for (i in seq_along(call)[-1L]) {
    x <- call[[i]]
    plain <- is.language(x) || is.null(x) || is.atomic(x) && length(x) == 1L
    if (!plain) call[[i]] <- if (is.data.frame(x)) quote(d) else quote(...)
  }
  names <- names(call)
  if (!is.null(names)) names(call)[names == "formula"] <- ""
  deparse_one(call)
}

# ---- the tables ----

#' What other packages write, and what to write here
#'
#' @return A list by the name of their function: from, the package; to(a, by), ours as text, from the unnamed arguments
#'   as text and all arguments as expressions, or NULL where we have none; say, what the two do not share, or
#'   say(a, by, env), or NULL; bar: only where one of the arguments is `x | g`; strict: also where the user has a function
#'   of this name; family: the call of a family that takes the place of gaussian(). series: is it brms_series()?
#' @noRd
foreign_terms <- local({
  term <- function(from, to, say = NULL, bar = FALSE, strict = FALSE, family = NULL) {
    list(from = from, to = to, say = say, bar = bar, strict = strict, family = family)
  }
  smooth <- function(v, a) smooth_text(v, a[["by"]])
  group <- function(v, a) sprintf("(1 | %s)", first_of(v, "g"))
  # a stratum may be a number, and strata(a, b) are the combinations
  strata_group <- function(v, a) sprintf("(1 | %s)", paste(if (length(v)) v else "g", collapse = ":"))
  as_it_is <- function(v, a) first_of(v, "x")
  frailty <- term("survival", group)
  series <- list(from = "brms", bar = FALSE, strict = FALSE, series = TRUE)
  list(
    lo = term("gam", smooth), pb = term("gamlss", smooth), ps = term("gamlss", smooth), bbs = term("mboost", smooth),
    bols = term("mboost", as_it_is), brandom = term("mboost", group),
    frailty = frailty, frailty.gaussian = frailty, frailty.gamma = frailty, frailty.t = frailty,
    cluster = term("survival", group, paste(
      "A random intercept takes the place of robust standard errors; without it rows count as independent."
    )),
    strata = term("survival", strata_group, paste(
      "Only cox() has baselines by stratum: here the effect moves the times of a stratum. With loglogistic() a second",
      "formula, shape ~ (1 | %s), gives each stratum its own shape, with lognormal() sigma ~ (1 | %s)."
    )),
    pspline = term("survival", smooth), tt = term("survival", as_it_is,
      "An effect that changes in time is tve(%s) with family = cox()."),
    ridge = term("survival", function(v, a) paste(v, collapse = " + "),
      function(v, a, env) sprintf("The penalty is the prior, as in prior = list(%s).",
        paste(list_names(if (length(v)) v else "x"), "= normal(0, 1)", collapse = ", "))),
    Error = term("stats::aov", group),
    f = term("INLA", inla_term, inla_say, strict = TRUE),
    besag = term("INLA", graph_term("besag")), bym = term("INLA", graph_term("bym")),
    bym2 = term("INLA", graph_term("bym2")), icar = term("brms", graph_term("besag")),
    seasonal = term("INLA", seasonal_text, paste(
      "That pattern is the same in every period; with kernel = periodic(12) * matern32() it changes slowly."
    )),
    car = term("brms", function(v, a) graph_text(argument_text(a[["gr"]], "g"), first_of(v, "W"), a[["type"]],
      "proper"),
      strict = TRUE),
    ar = series, arma = series, ma = series,
    cosy = term("brms", function(v, a) sprintf("(1 | %s)", argument_text(a[["gr"]], "g"))),
    unstr = term("brms", function(v, a) {
      of <- times_and_group(v, a)
      sprintf("us(0 + factor(%s) | %s)", or_else(of$time, "t"), or_else(of$group, "g"))
    }, "Its covariance is that of the residuals, so the family has no noise of its own.", family = without_noise),
    mo = term("brms", function(v, a) sprintf("rw1(%s)", first_of(v, "x")),
      paste(
        "A walk over the steps of the variable is smooth, but need not be monotonic: effects that all have one sign have",
        "no Gaussian posterior. An ordered factor %s itself has polynomial contrasts."
      )),
    me = term("brms", as_it_is, paste(
      "A variable with errors of measurement times an unknown slope is not Gaussian: impute its true values, as package",
      "mice does, and give the data sets together, data = imputed (?\"multiple-imputation\")."
    )),
    mi = term("brms", as_it_is, paste(
      "Missing values are not imputed in the fit, and their rows are dropped: impute them, as package mice does, and",
      "give the data sets together, data = imputed (?\"multiple-imputation\")."
    )),
    sar = term("brms", function(v, a) sprintf("gmrf(g, graph = %s, model = \"proper\")", first_of(v, "W")), paste(
      "A lag of the response is no prior of a latent field: neighbours are the proper model's, with rows numbered by g."
    )),
    fcor = term("brms", function(v, a) sprintf("(1 | gr(g, cov = %s))", first_of(v, "V")), paste(
      "g numbers the rows and columns of the matrix, which needs row names. Its multiple is the covariance of the",
      "residuals, so the family keeps hardly any noise of its own."
    )),
    gr = term("brms", group), mm = term("brms", function(v, a) sprintf("(1 | mm(%s))", paste(v, collapse = ", "))),
    mrf = term("mgcv", function(v, a) sprintf("gmrf(%s, graph = W)", first_of(v, "g"))),
    re = term("gamlss", group_of_formula), random = term("gamlss", group_of_formula),
    cs = term("brms or gamlss", as_it_is, function(v, a, env) paste(c(
      "Effects that differ between thresholds are those of family = sratio() and cratio(), which take cs(): thresholds of",
      "cumulative() could cross, and those of acat() are not decisions that are independent of each other.",
      if (may_be_smooth(first_of(v, "x"), env)) "As a smooth write s(%s)."
    ), collapse = " ")),
    Matern = term("spaMM", function(v, a) sprintf("spde(%s)", gsub(" \\+ ", ", ", bar_sides(a)$group)), bar = TRUE),
    adjacency = term("spaMM", function(v, a) sprintf("gmrf(%s, graph = W)", bar_sides(a)$group), bar = TRUE),
    AR1 = term("spaMM", function(v, a) sprintf("ar1(%s)", bar_sides(a)$group), bar = TRUE),
    corrMatrix = term("spaMM", function(v, a) sprintf("(1 | gr(%s, cov = A))", bar_sides(a)$group),
      "A is the matrix that spaMM has as corrMatrix, with the levels as row names.", bar = TRUE)
  )
})

# The names that brms, GPflow, scikit-learn and others have for our kernels.
foreign_kernels <- local({
  words <- list(
    se = c("rbf", "RBF", "exp_quad", "cov_exp_quad", "sq_exp", "squared_exponential", "SquaredExponential",
      "exponentiated_quadratic", "gaussian", "gauss", "rbfdot"),
    matern12 = c("exponential", "Exponential", "exp", "ou", "Matern12", "matern_1_2", "laplacedot"),
    matern32 = c("matern", "Matern", "Matern32", "matern15", "matern3", "matern_3_2", "matern3_2"),
    matern52 = c("Matern52", "matern25", "matern5", "matern_5_2", "matern5_2"),
    rational_quadratic = c("rq", "RationalQuadratic", "rat_quad"),
    periodic = c("per", "Periodic", "ExpSineSquared", "cov_periodic"), linear = c("Linear", "lin", "dot_product",
      "DotProduct", "vanilladot"),
    polynomial = c("Polynomial", "poly", "polydot"), constant = c("Constant", "ConstantKernel", "bias"), white = c("White",
      "WhiteKernel")
  )
  stats::setNames(rep(names(words), lengths(words)), unlist(words))
})

# (effects | g) in a formula -> specs of terms: iid() for intercepts alone, one for each grouping of nested ones, and what
# is left of the bar as R's terms. Nothing is evaluated in data here.

# How effects of groups are written without a function around them.
bars <- c("|", "||")

# (bar) -> calls of terms: iid() for intercepts alone, one for each grouping of nested ones.
random_terms <- function(bar) {
  effects <- bar[[2L]]
  alone <- is_intercept(effects)
  if (any(all.names(bar[[3L]]) %in% bars)) {
    stop_galvi("formula", sprintf("`(%s)`: right of the bar must be a grouping factor, as in (1 | g), not another bar.",
      deparse_one(bar)))
  }
  lapply(nested_groups(bar[[3L]]), function(group) {
    own <- if (alone) iid_call(group)
    if (is.null(own)) as.call(list(bar[[1L]], effects, group)) else own
  })
}

# iid(g, cov = A) for (1 | gr(g, cov = A)); NULL where the groups are not those of iid().
iid_call <- function(group) {
  head <- head_name(group)
  if (head == "mm") return(NULL)
  if (head != "gr") return(as.call(list(quote(iid), group)))
  arguments <- as.list(group)[-1L]
  given <- or_else(names(arguments), rep("", length(arguments)))
  if (sum(!nzchar(given)) != 1L || !all(given[nzchar(given)] %in% c("cov", "precision"))) return(NULL)
  as.call(c(list(quote(iid)), arguments))
}

is_intercept <- function(effects) {
  if (identical(effects, 1)) return(TRUE)
  if (length(all.vars(effects))) return(FALSE)
  terms <- tryCatch(stats::terms(stats::as.formula(call("~", effects))), error = function(e) NULL)
  !is.null(terms) && !length(attr(terms, "term.labels")) && attr(terms, "intercept") == 1L
}

# a / b -> a, a:b
nested_groups <- function(group) {
  if (head_name(group) == "(") return(nested_groups(group[[2L]]))
  if (head_name(group) != "/") return(list(group))
  outer <- nested_groups(group[[2L]])
  c(outer, list(call(":", outer[[length(outer)]], group[[3L]])))
}

# Adds structure, hom, inputs: the grouping and what read_grouping() has of it, effects: the terms object of the left
# side, variables, shown, written.
#' @export
parse_term.slopes_term <- function(spec, call, env) {
  found <- read_structure(call, env)
  bar <- found$bar
  shown <- sprintf("(%s)", deparse_one(bar))
  written <- if (head_name(call) %in% bars) shown else deparse_one(call)
  refuse <- function(what) stop_galvi("formula", sprintf("`%s`: %s", written, what))
  if (is_dot(bar[[2L]]) || "." %in% all.vars(bar[[2L]])) {
    refuse("a `.` left of the bar is not supported: name the variables.")
  }
  term <- find_term(bar[[2L]])
  if (length(term)) {
    smooth <- head_name(term) %in% c("s", "t2") && length(term) > 1L && is.symbol(bar[[3L]])
    refuse(paste0("a term cannot be left of the bar, only variables can.", if (smooth) sprintf(
      " A curve for each group is %s.", deparse_one(as.call(c(quote(s), term[[2L]], bar[[3L]], list(bs = "fs"))))
    )))
  }
  effects <- tryCatch(stats::terms(stats::as.formula(call("~", bar[[2L]]), env = env)), error = function(e) {
    refuse(sprintf("what is left of the bar is not a formula (%s).", conditionMessage(e)))
  })
  if (length(attr(effects, "offset"))) refuse("an offset has no coefficient and cannot vary by group.")
  if (!length(attr(effects, "term.labels")) && !attr(effects, "intercept")) {
    refuse("there is no effect left of the bar: write (1 | g) or (x | g).")
  }
  structure <- effect_structures[[found$structure]]
  if (isTRUE(structure$ordered) && (attr(effects, "intercept") || length(attr(effects, "term.labels")) != 1L ||
    attr(effects, "order") != 1L)) {
    refuse(sprintf("the effects are those of the levels of one factor in their order: write %s(0 + f | g).",
      head_name(call)))
  }
  group <- read_grouping(bar[[3L]], env, refuse)
  spec <- complete_spec(spec, c(found[c("structure", "hom")], list(effects = effects), group))
  if (isTRUE(group$independent) && spec$structure == "us") spec$structure <- "diag"
  spec$variables <- c(spec$inputs, as.list(attr(effects, "variables"))[-1L], spec$split, spec$weights)
  spec[c("shown", "written")] <- list(shown, written)
  spec[c("left", "right")] <- as.list(bar)[2:3]
  spec
}

#' Each effect of a grouping once: (1 | g) and iid(g) are the same, and one of them is in (1 + x | g)
#' @noRd
check_groups_once <- function(specs) {
  effects <- lapply(specs, function(spec) {
    group <- if (spec$type == "|") spec$group else spec_group(spec)
    if (is.null(group)) return(NULL)
    terms <- if (spec$type == "|") {
      c(if (attr(spec$effects, "intercept")) "1", attr(spec$effects, "term.labels"))
    } else if (is.null(spec$by)) "1" else variable_name(spec$by)
    # effects with a known matrix are others
    paste(terms, "|", paste(c(group, spec$known$text), collapse = ", "))
  })
  bar <- vapply(specs, function(spec) spec$type == "|" || isTRUE(spec$bar), NA)
  for (i in which(bar)) {
    for (j in setdiff(seq_along(specs), i)) {
      twice <- intersect(effects[[i]], effects[[j]])
      if (!length(twice)) next
      stop_galvi("formula", sprintf(
        "`%s` and `%s` have the same effects (%s): leave one out.", written_term(specs[[i]]),
        written_term(specs[[j]]), twice[1L]
      ))
    }
  }
  specs
}

# The grouping of independent effects.
spec_group <- function(spec) {
  if (!inherits(spec, "iid_term")) return(NULL)
  if (is.null(spec$shown)) variable_name(spec$inputs[[1L]]) else spec$shown
}

written_term <- function(spec) {
  if (spec$type == "|") return(spec$written)
  if (isTRUE(spec$bar) && is.null(spec$known)) sprintf("(1 | %s)", spec_group(spec)) else spec_label(spec)
}

#' The grouping of a term's effects, as users wrote it
#' @noRd
effect_group <- function(spec) if (spec$type %in% bars) spec$group else spec_group(spec)

term_effects <- function(terms) {
  c(if (attr(terms, "intercept")) "(Intercept)", attr(terms, "term.labels"))
}

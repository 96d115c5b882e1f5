# Rows distributed over the processes of a cluster: galvi_control(cluster = ). Each worker receives consecutive parts of
# the rows once and then computes their sums in every pass. It returns them as subtrees of the tree over the parts
# (src/rows/partition.h), so the totals are the same to the last bit however the parts are distributed.

# With a cluster a method must need only sums over all rows.
check_cluster_method <- function(method, cluster) {
  facts <- core_facts$inference
  if (is.null(cluster) || method == "auto" || fact(facts, method, "sums")) return(invisible())
  stop_galvi("method", sprintf(
    "method = \"%s\" needs all rows in one process: with a `cluster` use \"auto\" or %s.", method,
    paste0("\"", facts$name[facts$sums], "\"", collapse = ", ")
  ))
}

#' Stops if the model cannot be fitted from sums over rows. what: the argument that requires this, such as "`cluster`".
#' @noRd
check_sums <- function(model, what) {
  facts <- core_facts$solver
  for (predictor in model$predictors) {
    if (fact(facts, predictor$solver, "sums")) next
    term <- Find(needs_all_rows, predictor$terms)
    stop_galvi("method", sprintf(
      "%s is for models of fixed effects and sparse Gaussian processes; `%s` needs all rows at once. %s",
      what, term_of_user(term$label), if (!is.null(term[["factor"]])) {
        if (what == "add_data()") "Fit all rows again, with update(fit, data = )." else "Leave `cluster` out."
      } else if (is.null(term$field)) {
        sprintf("Give it inducing points: %s.", with_inducing(term$label))
      } else {
        "A gp() with `inducing` may replace it."
      }
    ))
  }
}

# The long form's rr(.item | .unit) is factors() in the user's formula.
term_of_user <- function(label) {
  if (grepl(wide_names[["unit"]], label, fixed = TRUE)) "factors()" else label
}

#' The result of fit_model(), with the rows distributed over workers. A last pass takes place in this process.
#' @noRd
fit_on_cluster <- function(model, checked, pilots, method, hyper, control, start, report) {
  check_sums(model, "`cluster`")
  method <- method_away(model, length(model$y), method)
  one_pass <- control
  one_pass$max_iterations <- 0
  if (!is.null(start)) start <- fit_model(model, method, "fixed", one_pass, start)["global"]
  rows <- list(number = length(model$y), of = function(from, to) {
    model_of_rows(model, seq.int(from, to))[c(intersect(row_numbers, names(model)), "designs")]
  })
  found <- fit_away(model, rows, pilots, method, hyper, control, start, report)
  model$hyper$value <- found$hyper
  model$checked <- checked
  out <- fit_model(model, method, "fixed", one_pass, found["global"], report)
  search <- intersect(
    c("log_prior", "at_bound", "trace", "cost", "converged", "message", "out_of_time", "starts", "hyper_posterior"),
    names(found)
  )
  out[search] <- found[search]
  out$states <- lapply(found$states, function(state) {
    model$hyper$value <- state$posterior$hyper
    model$checked <- NULL
    state$posterior <- fit_model(model, method, "fixed", one_pass, state$posterior["global"])
    state
  })
  out
}

#' The same for a row source: each worker reads its own rows
#' @noRd
fit_source_on_cluster <- function(model, stream, design, pilots, method, hyper, control, report) {
  check_sums(model, "`cluster`")
  if (!stream$source$travels) {
    stop_galvi("data", sprintf(paste(
      "Workers of `cluster` cannot read %s: a connection serves one process only. Give row_source() a function",
      "that makes the connection, `row_source(function() DBI::dbConnect(...), \"table\")`, or paths of files."
    ), stream$source$label))
  }
  rows <- list(number = stream$rows, of = function(from, to) {
    structure(
      list(stream = stream, design = design, chunk_rows = control$chunk_rows, from = from, to = to),
      class = "galvi_unread"
    )
  })
  fit_away(model, rows, pilots, method_away(model, stream$rows, method), hyper, control, NULL, report)
}

# What `method` stands for where workers have the rows.
method_away <- function(model, number, method) {
  away <- without_rows(model)
  away$source <- list(rows = number, ask = identity)
  chosen_method(away, method)
}

# rows: list(number; of: function(from, to) -> a block with rows from, .., to, or a description of how to read them).
fit_away <- function(model, rows, pilots, method, hyper, control, start, report) {
  team <- new_team(control$cluster, model, rows, galvi_backend(control$backend))
  on.exit(team$dismiss())
  away <- without_rows(model)
  away$pilots <- pilots
  away$source <- list(rows = rows$number, ask = team$ask)
  fit_model(away, method, hyper, control, start, report)
}

# ---- the workers' side ----

# The shares that this process keeps for fits of other processes: by fit, a list of an external pointer for each share.
held_shares <- new.env(parent = emptyenv())

# Keeps a share: the parts of the rows from part `first` on, of which part `first` itself has `least` rows. -> the sums
# of that part, which must be equal in all processes.
hold_share <- function(fit, share, model, block, rows, first, least, backend) {
  block <- rows_here(block)
  worker <- new_worker(model, block, rows, first, 1L, backend)
  held_shares[[fit]] <- c(held_shares[[fit]], stats::setNames(list(worker), share))
  first_answer(model, model_of_rows(block, seq_len(least)), rows, first, backend)
}

rows_here <- function(block) if (inherits(block, "galvi_unread")) read_share(block) else block

# The sums of part `first`, whose rows are `block`.
first_answer <- function(model, block, rows, first, backend) {
  ask_worker(new_worker(model, block, rows, first, 1L, backend), starting_question(model))
}

# The question at the start of inference; kind: Question::Kind (src/global/row_source.h)
starting_question <- function(model) {
  list(kind = 2L, hyper = model$hyper$value, joint = FALSE, gradient = FALSE)
}

# The answers of the shares in this process, among these, by share.
answer_shares <- function(fit, shares, question) {
  held <- held_shares[[fit]]
  lapply(held[intersect(shares, names(held))], ask_worker, question)
}

drop_shares <- function(fit) if (!is.null(held_shares[[fit]])) rm(list = fit, envir = held_shares)

# ---- the master's side ----

#' Workers that together have all rows of a model
#'
#' Only the workers know which shares they have: some clusters send a call to any free process. A share that
#' no worker answers for is sent again.
#' @param rows As in fit_away().
#' @return list(ask: question -> subtrees, in order; dismiss: releases the rows)
#' @noRd
new_team <- function(cluster, model, rows, backend) {
  fit <- basename(tempfile("fit"))
  bare <- without_rows(model)
  bounds <- partition_bounds(bare, rows$number)
  parts <- length(bounds) - 1
  lost <- greet(cluster)
  cuts <- round(seq(0, parts, length.out = min(parts, sum(!lost)) + 1))
  shares <- as.character(seq_along(cuts[-1L]))

  of_share <- function(share) {
    s <- as.integer(share)
    begin <- bounds[cuts[s] + 1]
    block <- rows$of(begin + 1, bounds[cuts[s + 1] + 1])
    list(fit, share, bare, block, rows$number, cuts[s], bounds[cuts[s] + 2] - begin, backend)
  }
  # The result of hold_share() for this share, computed in this process.
  own_answer <- function(share) {
    part <- cuts[as.integer(share)]
    block <- rows$of(bounds[part + 1] + 1, bounds[part + 2])
    first_answer(bare, rows_here(block), rows$number, part, backend)
  }
  # Calls all living workers, or the first of them.
  call_living <- function(f, arguments, at = which(!lost)) {
    out <- call_workers(cluster, at, f, arguments)
    for (j in at[vapply(out, is.null, NA)]) {
      lost[j] <<- TRUE
      warn_galvi("cluster", sprintf(paste(
        "Worker %d of `cluster` no longer answers. The other processes take over its rows; the result is",
        "the same."
      ), j))
    }
    out
  }
  # Sends shares, one to each living worker at a time. If no worker is left, this process keeps them.
  place <- function(wanted) {
    while (length(wanted)) {
      at <- utils::head(which(!lost), length(wanted))
      if (!length(at)) {
        for (share in wanted) do.call(hold_share, of_share(share))
        return(invisible())
      }
      given <- call_living(hold_share, function(i) of_share(wanted[i]), at)
      for (i in seq_along(at)) {
        if (!is.null(given[[i]])) compare_sums(given[[i]][[1L]], own_answer(wanted[i]), at[i])
      }
      wanted <- c(wanted[seq_along(at)][vapply(given, is.null, NA)], wanted[-seq_along(at)])
    }
  }
  ask <- function(question) {
    answers <- list()
    repeat {
      for (attempt in 1:2) {
        wanted <- setdiff(shares, names(answers))
        given <- call_living(answer_shares, function(i) list(fit, wanted, question))
        for (one in c(given, list(list(answer_shares(fit, wanted, question))))) {
          if (!is.null(one)) answers[names(one[[1L]])] <- one[[1L]]
        }
        wanted <- setdiff(shares, names(answers))
        if (!length(wanted)) return(do.call(c, unname(answers[shares])))
      }
      place(wanted)
    }
  }
  dismiss <- function() {
    drop_shares(fit)
    try(call_workers(cluster, which(!lost), drop_shares, function(i) list(fit)), silent = TRUE)
  }
  placed <- FALSE
  on.exit(if (!placed) dismiss())
  place(shares)
  placed <- TRUE
  list(ask = ask, dismiss = dismiss)
}

#' Which workers do not answer? Stops if none does, or if one has another version of galvi.
#' @noRd
greet <- function(cluster) {
  versions <- call_workers(cluster, seq_along(cluster), version_there, function(i) list())
  lost <- vapply(versions, is.null, NA)
  if (all(lost)) {
    stop_galvi("cluster", paste(
      "No worker of `cluster` answers: the cluster was stopped, or its processes have ended. Start a new one, for",
      "example with parallel::makeCluster()."
    ))
  }
  for (j in which(lost)) {
    warn_galvi("cluster", sprintf("Worker %d of `cluster` does not answer: the others take its rows.", j))
  }
  ours <- as.character(utils::packageVersion("galvi"))
  found <- vapply(versions[!lost], function(version) version[[1L]], "")
  other <- which(found != ours)[1L]
  if (is.na(other)) return(lost)
  stop_galvi("cluster", sprintf(paste(
    "Worker %d of `cluster` has %s, and this process has galvi %s. Install that version there, or set the worker's",
    "library: parallel::clusterCall(cluster, function(x) .libPaths(x), .libPaths())."
  ), which(!lost)[other], if (nzchar(found[other])) paste("galvi", found[other]) else "no galvi", ours))
}

version_there <- function() {
  if (requireNamespace("galvi", quietly = TRUE)) as.character(utils::packageVersion("galvi")) else ""
}
# is sent without galvi's namespace, which the worker may not have
environment(version_there) <- baseenv()

#' Compares the sums of a worker with those of this process: equal to the last bit if BLAS and processor are the same
#' @noRd
compare_sums <- function(theirs, ours, j) {
  if (identical(theirs, ours)) return(invisible())
  what <- "The sums of the same rows from worker %d of `cluster` and from this process differ"
  if (!isTRUE(all.equal(theirs, ours, tolerance = 1e-6))) {
    stop_galvi("cluster", sprintf(
      paste0(what, " by more than rounding errors. Check the worker's installation of galvi and BLAS."), j
    ))
  }
  warn_galvi("cluster", sprintf(paste0(what, paste(
    " in the last digits, because of another BLAS, another number of BLAS threads or another processor. The fit is",
    "as accurate, but not identical to the last bit to one without a cluster, or to one that loses a worker."
  )), j))
}

# ---- messages ----

#' Calls f on worker at[i] with the list arguments(i), on all of them at the same time -> list(value) of each,
#' NULL if it does not answer
#'
#' parallel's exported functions send calls to all workers and then receive the answers. Where a worker has died, or the
#' user interrupts, answers of others stay in their connections, and each later call would receive the one before. So an
#' answer repeats the `id` of its call, see own_reply().
#' @noRd
call_workers <- function(cluster, at, f, arguments) {
  id <- basename(tempfile("call"))
  calls <- lapply(seq_along(at), function(i) list(id = id, f = f, arguments = arguments(i)))
  first <- exchange(workers_of(cluster, at), calls)
  replies <- lapply(seq_along(at), function(i) own_reply(workers_of(cluster, at[i]), id, first[[i]]))
  missed <- which(vapply(replies, function(reply) !is.null(reply) && !is_reply(reply, id), NA))
  out <- lapply(seq_along(at), function(i) {
    if (is.null(replies[[i]]$error)) return(replies[[i]]$value)
    stop_galvi("cluster", sprintf("Worker %d of `cluster`: %s", at[i], trimws(replies[[i]]$error)))
  })
  if (length(missed)) out[missed] <- call_workers(cluster, at[missed], f, function(i) arguments(missed[i]))
  out
}

# Some workers, as a cluster: mirai's has no method of `[`.
workers_of <- function(cluster, at) structure(unclass(cluster)[at], class = class(cluster))

# What one worker replies to the call `id`, of which it has sent this. While that is the reply to something else it is sent
# empty calls; their own reply says that there is none to `id` any more. NULL if the worker does not answer.
own_reply <- function(worker, id, reply) {
  empty <- paste(id, "empty")
  while (!is_reply(reply, id)) {
    if (inherits(reply, "errorValue")) return(NULL)  # mirai's for a lost connection
    reply <- exchange(worker, list(list(id = empty)))[[1L]]
    if (is.null(reply) || is_reply(reply, empty)) break
  }
  reply
}

is_reply <- function(x, id) is.list(x) && identical(x$id, id)

# Sends a call to each worker -> what each replies; NULL for all where one of them does not.
exchange <- function(cluster, calls) {
  tryCatch(
    suppressWarnings(parallel::clusterApply(cluster, calls, carry_out)),
    error = function(e) vector("list", length(calls))
  )
}

# Runs in the worker -> list(id, list(value) or an error's message).
carry_out <- function(call) {
  if (is.null(call$f)) return(list(id = call$id))
  tryCatch(
    list(id = call$id, value = list(do.call(call$f, call$arguments, quote = TRUE))),
    error = function(e) list(id = call$id, error = conditionMessage(e))
  )
}
# is sent without galvi's namespace, which the worker may not have
environment(carry_out) <- baseenv()

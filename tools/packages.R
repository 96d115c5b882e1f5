# Installs R packages on any machine. Sourced by the other scripts here.
source("tools/libuv.R")

# The first writable library that is not R's own; the user's library, created, if there is none.
writable_library <- function() {
  candidates <- setdiff(.libPaths(), .Library)
  writable <- candidates[file.access(candidates, mode = 2) == 0]
  if (length(writable)) return(writable[1])
  user <- strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep, fixed = TRUE)[[1]][1]
  if (is.na(user) || user == "NULL") {
    stop("No library is writable: set R_LIBS_USER to a folder.", call. = FALSE)
  }
  user <- path.expand(user)
  if (!dir.create(user, recursive = TRUE, showWarnings = FALSE) && !dir.exists(user)) {
    stop("Cannot create the library ", user, ".", call. = FALSE)
  }
  .libPaths(c(user, .libPaths()))
  user
}

# The packages of DESCRIPTION's `fields` with the least version asked for ("0" where any will do).
described <- function(fields) {
  entries <- unlist(strsplit(stats::na.omit(read.dcf("DESCRIPTION", fields)[1, ]), ",[[:space:]]*"))
  names <- sub("[[:space:]]*\\(.*", "", trimws(entries))
  versions <- ifelse(grepl("(", entries, fixed = TRUE), gsub(".*>=[[:space:]]*|\\)", "", entries), "0")
  keep <- names != "R" & !duplicated(names)
  stats::setNames(versions[keep], names[keep])
}

# Which of c(name = least version) are not installed, or too old?
missing_packages <- function(wanted) {
  have <- vapply(names(wanted), function(package) {
    nzchar(system.file(package = package)) && utils::packageVersion(package) >= wanted[[package]]
  }, NA)
  names(wanted)[!have]
}

install_missing <- function(wanted) {
  library <- writable_library()
  absent <- missing_packages(wanted)
  if (!length(absent)) return(invisible(library))
  repos <- getOption("repos")
  repos[repos == "@CRAN@"] <- "https://cloud.r-project.org"
  message("Installing ", paste(absent, collapse = ", "), " and what they need into ", library,
          " (once; some minutes where they are compiled).")
  if ("testthat" %in% absent) provide_libuv(repos)
  utils::install.packages(absent, lib = library, repos = repos, Ncpus = 2, quiet = TRUE)
  absent <- missing_packages(wanted)
  if (length(absent)) {
    stop("Could not be installed: ", paste(absent, collapse = ", "), ". What is missing, a system library as a rule, ",
         "is printed by: install.packages(\"", absent[1], "\")", call. = FALSE)
  }
  invisible(library)
}

# Runs `R CMD ...` in this R; stops if it fails. With `quietly` its output is shown only then.
r_cmd <- function(arguments, env = character(), quietly = FALSE) {
  log <- if (quietly) tempfile() else ""
  status <- system2(file.path(R.home("bin"), "R"), c("CMD", arguments), env = env, stdout = log, stderr = log)
  if (status == 0) return(invisible())
  if (quietly) message(paste(readLines(log), collapse = "\n"))
  stop("R CMD ", arguments[1], " failed.", call. = FALSE)
}

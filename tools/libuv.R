# testthat needs the package fs, and fs needs the C library libuv, from the system or built by cmake. Neither
# comes with R and a compiler, so where both are missing the copy of libuv inside fs is compiled here.

# Makes it possible to install fs from source. Only Linux installs packages from source as a rule.
provide_libuv <- function(repos) {
  if (Sys.info()[["sysname"]] != "Linux" || nzchar(system.file(package = "fs"))) return(invisible())
  if (nzchar(Sys.which("cmake"))) {
    Sys.setenv(USE_BUNDLED_LIBUV = 1)
  } else if (!has_libuv()) {
    use_libuv(build_libuv(repos))
  }
}

has_libuv <- function() {
  source <- tempfile(fileext = ".c")
  writeLines("#include <uv.h>", source)
  status <- suppressWarnings(system2(compiler(), c("-E", source), stdout = FALSE, stderr = FALSE))
  status == 0
}

compiler <- function() {
  sub(" .*", "", system2(file.path(R.home("bin"), "R"), c("CMD", "config", "CC"), stdout = TRUE))
}

# The folder of a static libuv, compiled from the source of fs.
build_libuv <- function(repos) {
  folder <- tempfile("libuv")
  dir.create(folder)
  package <- utils::download.packages("fs", folder, repos = repos, type = "source", quiet = TRUE)[1, 2]
  utils::untar(package, exdir = folder)
  utils::untar(list.files(file.path(folder, "fs", "tools"), "^libuv.*gz$", full.names = TRUE), exdir = folder)
  source <- list.files(folder, "^libuv-", full.names = TRUE)

  linux <- c("async", "core", "dl", "fs", "getaddrinfo", "getnameinfo", "linux", "loop", "loop-watcher",
             "pipe", "poll", "process", "procfs-exepath", "proctitle", "random-devurandom",
             "random-getrandom", "random-sysctl-linux", "signal", "stream", "tcp", "thread", "tty", "udp")
  files <- c(list.files(file.path(source, "src"), "\\.c$", full.names = TRUE),
             file.path(source, "src", "unix", paste0(linux, ".c")))
  makefile <- c(
    paste("OBJECTS =", paste(sub("\\.c$", ".o", files), collapse = " ")),
    paste0("CFLAGS = -O2 -fPIC -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I", source, "/include -I", source,
           "/src"),
    paste0("CC = ", compiler()),
    "libuv.a: $(OBJECTS)", "\tar rcs $@ $(OBJECTS)"
  )
  writeLines(makefile, file.path(source, "Makefile"))
  if (system2("make", c("-s", "-j2", "-C", source)) != 0) {
    stop("libuv could not be compiled. Install libuv (libuv1-dev, libuv-devel) or cmake, then try again.",
         call. = FALSE)
  }
  source
}

# Compilers look in these folders beside their own.
use_libuv <- function(folder) {
  add <- function(path, variable) {
    old <- Sys.getenv(variable)
    paste(c(path, old[nzchar(old)]), collapse = ":")
  }
  Sys.setenv(CPATH = add(file.path(folder, "include"), "CPATH"), LIBRARY_PATH = add(folder, "LIBRARY_PATH"))
}

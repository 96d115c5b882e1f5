# No pointers and no environments anywhere in x.
is_plain <- function(x) {
  if (is.environment(x) || is.function(x) || typeof(x) %in% c("externalptr", "weakref", "S4")) return(FALSE)
  if (is.list(x)) return(all(vapply(x, is_plain, NA)))
  TRUE
}

local_file <- function(env = parent.frame(), ext = "") {
  file <- tempfile(fileext = ext)
  do.call(on.exit, list(bquote(unlink(.(file))), add = TRUE), envir = env)
  file
}

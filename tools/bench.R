# Runs the measurements in bench/, each in a separate R process, and writes their output to bench/output/.
#   Rscript tools/bench.R [file ...]
files <- commandArgs(TRUE)
if (!length(files)) files <- list.files("bench", pattern = "^[^_].*\\.R$")
dir.create("bench/output", showWarnings = FALSE)

status <- 0
for (file in basename(files)) {
  cat("\n== ", file, "\n", sep = "")
  printed <- system2(file.path(R.home("bin"), "Rscript"), file.path("bench", file), stdout = TRUE)
  cat(printed, sep = "\n")
  writeLines(printed, file.path("bench/output", sub("\\.R$", ".txt", file)))
  if (!is.null(attr(printed, "status"))) status <- 1
}
quit(status = status)

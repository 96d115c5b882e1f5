# Installs the packages that only some tests use ("Suggests" and "Enhances") as far as the system has them, and names
# those that are still missing: their tests are skipped. None is begun after ten minutes; none is compiled, nor is one
# replaced that is there.
source("tools/packages.R")
wanted <- described(c("Suggests", "Enhances"))
deadline <- Sys.time() + 600

apt_get <- function(...) {
  system2("apt-get", c("--quiet", "--yes", ...), stdout = FALSE, stderr = FALSE, env = "DEBIAN_FRONTEND=noninteractive")
}
if (nzchar(Sys.which("apt-get")) && Sys.info()[["effective_user"]] == "root" && length(missing_packages(wanted))) {
  apt_get("update")
  for (package in missing_packages(wanted)) {
    if (Sys.time() < deadline) apt_get("install", "--no-install-recommends", paste0("r-cran-", tolower(package)))
  }
}

left_out <- missing_packages(wanted)
if (length(left_out)) message("Without ", paste(left_out, collapse = ", "), ": their tests are skipped.")

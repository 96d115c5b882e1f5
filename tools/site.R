# The web site, in site/: home, help pages with the output of their examples, articles and news.   Rscript tools/site.R
#
# A page needs nothing but its folder: scripts and styles are in it and formulas are MathML. Building needs no network.
# Stops where a link is broken or a page is missing in _pkgdown.yml.
source("tools/packages.R")
# what examples and articles call
shown <- c(
  "boot", "DBI", "emmeans", "generics", "ggplot2", "knitr", "loo", "MASS", "mgcv", "nnet", "posterior", "rmarkdown",
  "rstantools", "RSQLite", "survival"
)
install_missing(c(described(c("Imports", "LinkingTo")), described(c("Suggests", "Enhances"))[shown], pkgdown = "2.0.7"))
# from 2.1 on pkgdown runs examples by this version, which it suggests but does not require
if (utils::packageVersion("pkgdown") >= "2.1") install_missing(c(evaluate = "0.24.0"))
if (Sys.which("pandoc") == "" && !rmarkdown::pandoc_available()) {
  stop("`make site` needs pandoc: install it with your system's package manager.", call. = FALSE)
}
site <- "site"

replace_in <- function(package, name, value) {
  if (exists(name, asNamespace(package), inherits = FALSE)) utils::assignInNamespace(name, value, package)
}

# From 2.1 on pkgdown downloads scripts for its own templates. These pages need none of them: see pkgdown/extra.js.
leave_scripts_out <- function() replace_in("pkgdown", "external_dependencies", function(...) list())

# Examples are drawn in one device and shown from another, which places keys and titles for the size of the first: so
# both must have the size of the pictures.
draw_in_size <- function() {
  size <- yaml::read_yaml("_pkgdown.yml")$figures
  evaluate <- evaluate::evaluate
  replace_in("evaluate", "evaluate", function(..., new_device) {
    grDevices::pdf(NULL, width = size$fig.width, height = size$fig.width * size$fig.asp)
    device <- grDevices::dev.cur()
    on.exit(grDevices::dev.off(device))
    grDevices::dev.control("enable")
    evaluate(..., new_device = FALSE)
  })
}

build <- function() {
  unlink(site, recursive = TRUE)
  leave_scripts_out()
  draw_in_size()
  pkgdown::build_site(devel = FALSE, preview = FALSE, install = FALSE, new_process = FALSE)
  # pkgdown puts NEWS.md into a folder and leaves README's link to it as it was
  home <- file.path(site, "index.html")
  writeLines(gsub("\"NEWS.html\"", "\"news/index.html\"", readLines(home, encoding = "UTF-8")), home, useBytes = TRUE)
  # a list of addresses needs the name of a host
  unlink(file.path(site, "sitemap.xml"))
}

# The index as a script: a page that is read from a disk may not fetch data.
index_as_script <- function() {
  json <- file.path(site, "search.json")
  writeLines(paste0("window.searchIndex = ", readLines(json, encoding = "UTF-8"), ";"),
             file.path(site, "search.js"), useBytes = TRUE)
  unlink(json)
}

# TeX in a page becomes MathML, which browsers show without a script.
set_formulas <- function(page) {
  html <- xml2::read_html(page, encoding = "UTF-8")
  formulas <- xml2::xml_find_all(html, "//span[starts-with(@class, 'math ')]")
  if (!length(formulas)) return()
  tex <- tempfile(fileext = ".md")
  mathml <- tempfile(fileext = ".html")
  writeLines(paste0(xml2::xml_text(formulas), "\n"), tex, useBytes = TRUE)
  rmarkdown::pandoc_convert(tex, from = "markdown+tex_math_single_backslash", to = "html", output = mathml,
                            options = "--mathml")
  set <- xml2::xml_find_all(xml2::read_html(mathml, encoding = "UTF-8"), "//math")
  if (length(set) != length(formulas)) stop("A formula in ", page, " cannot be shown.", call. = FALSE)
  # browsers read an upright letter from the letter itself
  xml2::xml_set_attr(xml2::xml_find_all(set, ".//mstyle[@mathvariant='normal']//mi"), "mathvariant", "normal")
  xml2::xml_replace(formulas, set)
  xml2::write_html(html, page, format = FALSE)
}

# ---- links ----

links_of <- function(html, page) {
  attribute <- function(path, kind) {
    address <- xml2::xml_text(xml2::xml_find_all(html, path))
    data.frame(page = rep(page, length(address)), kind = rep(kind, length(address)), address = address)
  }
  rbind(attribute("//a/@href", "link"), attribute("//img/@src | //script/@src | //link/@href", "part"))
}

# Where an address leads, seen from a page: a file of the site.
file_of <- function(page, address) {
  path <- utils::URLdecode(sub("[?#].*", "", address))
  if (path == "") return(page)
  path <- file.path(dirname(page), path)
  while (path != (shorter <- sub("(^|/)(?!\\.\\./)[^/]+/\\.\\./", "\\1", path, perl = TRUE))) path <- shorter
  path <- gsub("(^|/)(\\./)+", "\\1", path)
  if (grepl("(^|/)$", path)) paste0(path, "index.html") else path
}

check_links <- function() {
  files <- list.files(site, recursive = TRUE)
  pages <- grep("[.]html$", files, value = TRUE)
  parsed <- lapply(stats::setNames(file.path(site, pages), pages), xml2::read_html, encoding = "UTF-8")
  anchors <- lapply(parsed, function(html) xml2::xml_text(xml2::xml_find_all(html, "//@id | //a/@name")))
  links <- unique(do.call(rbind, Map(links_of, parsed, pages)))

  elsewhere <- grepl("^([a-z]+:|//)", links$address)
  well_formed <- grepl("^https?://[a-z0-9.-]+[.][a-z]+(/[^ ]*)?$", links$address)
  well_formed <- well_formed & (!grepl("doi[.]org", links$address) | grepl("doi[.]org/10[.][0-9]{4,}/", links$address))
  found <- mapply(function(page, address) {
    file <- file_of(page, address)
    anchor <- utils::URLdecode(sub("^[^#]*#?", "", address))
    file %in% files && (anchor == "" || anchor %in% anchors[[file]])
  }, links$page, links$address)
  broken <- links[ifelse(elsewhere, links$kind == "part" | !well_formed, !found), ]
  hosts <- sort(table(sub("^https?://([^/]+).*", "\\1", links$address[elsewhere])), decreasing = TRUE)
  message(length(pages), " pages, ", sum(!elsewhere), " links within the site, ", sum(elsewhere), " to ",
          length(hosts), " other sites (not followed): ", paste(names(hosts), collapse = ", "), ".")
  if (nrow(broken)) {
    pages <- tapply(broken$page, broken$address, function(page) paste(utils::head(page, 3L), collapse = ", "))
    stop("Broken links, and pages that have them:\n", paste0("  ", names(pages), ": ", pages, collapse = "\n"),
         call. = FALSE)
  }
}

build()
index_as_script()
for (page in list.files(site, "[.]html$", recursive = TRUE, full.names = TRUE)) set_formulas(page)
check_links()
message("The site is ", normalizePath(file.path(site, "index.html")), ".")

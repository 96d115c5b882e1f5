# Checks the text that users read: help pages, vignettes, README, NEWS and messages. Lists unknown words and awkward
# phrases; in comments of the sources, only the phrases.   Rscript tools/prose.R
#
# Words of the field, British spellings and names are in inst/WORDLIST, one a line.

# ---- phrases ----

# Pattern -> what to write.
phrases <- c(
  "\\b(is|are|was|were|be) had\\b" = "is computed, is available",
  "\\bhad by (differences|quadrature)" = "is taken by",
  "\\b(is|are) no (bound|function|number|distribution|density|density function|probability|variance)\\b" =
    "is not a ..., is not finite",
  "\\bholds (one|it)\\b|\\bto hold (it|one)\\b|\\bheld (at|fixed|constant)\\b" = "fixes it, fixed()",
  "\\bdear(er|est)?\\b" = "expensive",
  "\\bmoves that pay\\b|\\bdoes not pay\\b|\\bworth little\\b|\\bpays off\\b" = "improves the bound; negligible",
  "\\bsays? nothing (of|about|new)\\b|\\bsay nothing (of|about|new)\\b" = "does not determine; redundant",
  "\\bits optimum\\b|\\bfrom its optimum\\b" = "its maximum, the optimality gap",
  "\\bthat scatter\\b|\\bscatters? more\\b" = "overdispersed",
  "\\bWhat combines\\b|\\bWhat matters\\b" = "compatible methods; relative importance",
  "\\blittle for\\b" = "too few for",
  "\\b00[0-4]'s\\b" = "name the paper: Khan et al. (2012)",
  "\\bas they are had\\b|\\bof its own kind\\b" = "say it plainly",
  "\\bgives back\\b" = "returns",
  "\\bwhatever (it|they) (is|are)\\b" = "say it plainly"
)

# ---- the text of files ----

# Markdown without code, formulas, links and the header.
markdown_text <- function(file) {
  lines <- readLines(file, encoding = "UTF-8")
  fence <- grepl("^\\s*```", lines)
  inside <- cumsum(fence) %% 2 == 1 | fence
  if (length(lines) && lines[1L] == "---") inside[seq_len(which(lines == "---")[2L])] <- TRUE
  inside <- inside | grepl("^    ", lines) | grepl("^\\s*<", lines)
  text <- ifelse(inside, "", lines)
  whole <- paste(text, collapse = "\n")
  blank <- function(pattern, whole) {
    hits <- gregexpr(pattern, whole, perl = TRUE)
    regmatches(whole, hits) <- lapply(regmatches(whole, hits), function(x) gsub("[^\n]", " ", x))
    whole
  }
  for (pattern in c("(?s)\\$\\$.*?\\$\\$", "\\$[^$\n]+\\$", "(?s)`[^`]*`", "\\]\\([^)]*\\)", "https?://\\S+",
                    "<[^>\n]*>", "&[a-z]+;")) {
    whole <- blank(pattern, whole)
  }
  strsplit(whole, "\n", fixed = TRUE)[[1L]]
}

help_text <- function(file) {
  rd <- tools::RdTextFilter(file, drop = c("\\code", "\\link", "\\eqn", "\\deqn", "\\references", "\\usage",
                                           "\\examples", "\\url", "\\href", "\\pkg", "\\alias", "\\name", "\\format"))
  as.character(rd)
}

# Strings of several words, as messages have, at their lines of the source.
message_text <- function(strings, lines, n) {
  out <- rep("", n)
  prose <- grepl("[A-Za-z]+ [A-Za-z]+ [a-z]+", strings)
  strings <- gsub("`[^`]*`|\\\\?\"[^\"]*\\\\?\"|%[-+0-9.,]*[a-z]|\\\\n|[A-Za-z_.]+\\([^)]*\\)", " ", strings)
  for (i in which(prose)) out[lines[i]] <- paste(out[lines[i]], strings[i])
  out
}

r_text <- function(file) {
  parsed <- utils::getParseData(parse(file, keep.source = TRUE))
  own <- parsed[parsed$token == "STR_CONST", ]
  message_text(substr(own$text, 2L, nchar(own$text) - 1L), own$line1, length(readLines(file)))
}

cpp_text <- function(file) {
  lines <- readLines(file)
  code <- sub("//.*", "", lines)
  found <- regmatches(code, gregexpr("\"([^\"\\\\]|\\\\.)*\"", code))
  strings <- unlist(lapply(found, function(x) substr(x, 2L, nchar(x) - 1L)))
  message_text(strings, rep(seq_along(lines), lengths(found)), length(lines))
}

comment_text <- function(file) {
  lines <- readLines(file, encoding = "UTF-8")
  mark <- if (grepl("[.]R$", file)) "#" else "//"
  ifelse(grepl(mark, lines, fixed = TRUE), sub(paste0("^.*?", mark, "+"), "", lines, perl = TRUE), "")
}

sources <- function(folder, pattern) list.files(folder, pattern, recursive = TRUE, full.names = TRUE)

read_by <- function(read, files) stats::setNames(lapply(files, read), files)

r_files <- setdiff(sources("R", "[.]R$"), "R/RcppExports.R")
cpp_files <- setdiff(sources("src", "[.](h|cpp)$"), c("src/RcppExports.cpp", sources("src/build", "")))
read_by_users <- c(
  read_by(help_text, sources("man", "[.]Rd$")),
  read_by(markdown_text, c("README.md", "NEWS.md", sources("vignettes", "[.]Rmd$"))),
  read_by(r_text, r_files), read_by(cpp_text, cpp_files)
)
read_by_engineers <- c(
  read_by(markdown_text, c("ARCHITECTURE.md", "CONTRIBUTING.md")),
  read_by(comment_text, c(r_files, cpp_files))
)

# ---- findings ----

known <- readLines("inst/WORDLIST", encoding = "UTF-8")

unknown_words <- function(text) {
  found <- hunspell::hunspell(text, dict = hunspell::dictionary("en_US", add_words = known))
  data.frame(line = rep(seq_along(found), lengths(found)), word = as.character(unlist(found)))
}

found_phrases <- function(text) {
  # a phrase may run over the end of a line
  joined <- paste(text, c(text[-1L], ""))
  out <- lapply(names(phrases), function(pattern) {
    at <- regexpr(pattern, joined, perl = TRUE)
    hit <- which(at > 0 & at <= nchar(text))
    data.frame(line = hit, phrase = regmatches(joined, at)[match(hit, which(at > 0))],
               write = rep(phrases[[pattern]], length(hit)))
  })
  do.call(rbind, out)
}

complaints <- c(
  unlist(lapply(names(read_by_users), function(file) {
    words <- unknown_words(read_by_users[[file]])
    words <- words[!duplicated(words$word), ]
    if (nrow(words)) sprintf("%s:%d: unknown word \"%s\"", file, words$line, words$word)
  })),
  unlist(Map(function(text, file) {
    found <- found_phrases(text)
    if (nrow(found)) sprintf("%s:%d: \"%s\": %s", file, found$line, found$phrase, found$write)
  }, c(read_by_users, read_by_engineers), names(c(read_by_users, read_by_engineers))))
)

if (length(complaints)) {
  writeLines(complaints)
  stop(length(complaints), " words and phrases to look at.", call. = FALSE)
}
message("Words and phrases: nothing to look at.")

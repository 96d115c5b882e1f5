# Variances of zero and correlations of one: what lme4 calls a singular fit.

#' Notes of the variances and correlations of a term that are at the end of their range
#' @noRd
limit_notes <- function(spec, fit) {
  own <- fit$hyper[fit$hyper$term == spec$label & fit$hyper$status == "at bound", ]
  if (!nrow(own)) return(NULL)
  slopes <- spec$type %in% bars
  correlation <- grepl("^cor\\.", own$parameter) & slopes
  vanished <- own$parameter %in% c("variance", "sd") | slopes & !correlation
  low <- own$estimate < sqrt(own$lower * own$upper)
  vanished <- vanished & (is.na(low) | low)
  notes <- NULL
  if (any(vanished)) {
    what <- if (slopes) {
      sprintf("the standard deviation of %s is", quote_names(sub("^sd\\.", "", own$parameter[vanished])))
    } else if (spec$by_hyper == "each") {
      sprintf("%s is", quote_names(own$name[vanished]))
    } else "the variance is"
    notes <- new_note("singular", sprintf(paste(
      "%s: %s estimated as zero, a singular fit: these effects do not vary by more than chance. Leave them out, or give",
      "a prior, as in prior = list(sd = half_normal(1))."
    ), written_term(spec), what))
  }
  if (any(correlation)) {
    pairs <- correlation_pairs(length(spec$columns))
    names <- correlation_names(spec$columns)
    at <- match(sub("^cor\\.", "", own$parameter[correlation]), names)
    shown <- paste(sprintf(
      "the correlation of `%s` and `%s` is estimated as %s", spec$columns[pairs[at, 1L]], spec$columns[pairs[at, 2L]],
      ifelse(own$estimate[correlation] < 0, "-1", "1")
    ), collapse = ", and ")
    uncorrelated <- deparse_one(call("||", spec$left, spec$right))
    notes <- c(notes, new_note("singular", sprintf(paste(
      "%s: %s, a singular fit: the groups do not tell these effects apart. Write (%s) for",
      "uncorrelated effects, or give a prior, as in prior = list(cor = lkj(2))."
    ), written_term(spec), shown, uncorrelated)))
  }
  notes
}

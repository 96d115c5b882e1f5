# Zero-inflated and hurdle families: an entry for each base, and their constructors.

# Families with excess zeros (zero_inflated) or with all zeros modelled apart (hurdle), by base.
zero_families <- function() {
  bases <- list(
    poisson = list(link = "log", response = count_response, example = c(0, 1, 1)),
    negbinomial = list(
      link = "log", response = count_response, example = c(0, 1, 1),
      parameters = list(size = positive(positive_part(size_start), default = 1, also = "shape"))
    ),
    binomial = list(link = "logit", response = binomial_response, example = c(0, 1, 1)),
    Gamma = list(
      link = "log", response = non_negative_response, example = c(0, 1, 2),
      parameters = list(shape = positive(positive_part(shape_start))), point = 0
    ),
    lognormal = list(
      link = "log", response = non_negative_response, example = c(0, 1, 2),
      parameters = list(sigma = positive(positive_part(log_spread_start), default = 1, sd = TRUE)), point = 0
    )
  )
  entry <- function(kind, parameter) {
    function(base) {
      own <- bases[[base]]
      likelihood <- paste(kind, tolower(base), sep = "_")
      c(
        list(links = stats::setNames(likelihood, own$link), second = second_parameter(
          parameter, "logit", likelihood, always = TRUE
        )), own[setdiff(names(own), "link")]
      )
    }
  }
  inflated <- setdiff(names(bases), c("Gamma", "lognormal"))
  c(
    stats::setNames(lapply(inflated, entry("zero_inflated", "zi")), paste0("zero_inflated_", inflated)),
    stats::setNames(lapply(names(bases), entry("hurdle", "hu")), paste0("hurdle_", tolower(names(bases))))
  )
}

#' @rdname galvi_family
#' @export
zero_inflated <- function(base = "poisson") zero_family("zero_inflated", base)

#' @rdname galvi_family
#' @export
hurdle <- function(base = "poisson") zero_family("hurdle", base)

# The parameters of the base are kept.
zero_family <- function(kind, base) {
  base <- as_galvi_family(base, arg = "base")
  name <- paste(kind, tolower(base$family), sep = "_")
  known <- grep(paste0("^", kind), names(family_types()), value = TRUE)
  if (!name %in% known) {
    stop_galvi("family", sprintf(
      "`base` of %s() must be one of %s, not %s.", kind,
      quote_names(sub(paste0(kind, "_"), "", known, fixed = TRUE), "\""), base$family
    ))
  }
  set_parameters(family_by_name(name, base$link, "base"), base$parameters)
}

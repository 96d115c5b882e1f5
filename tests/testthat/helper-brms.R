# Models that brms has fitted by sampling (bench/brms.R): their data, here and there the same numbers.

brms_data <- function(name) {
  switch(name,
    mtcars = transform(datasets::mtcars, cyl = factor(cyl)),
    # the seizures of Thall and Vail (1990); brms::epilepsy scales ages and counts before the trial
    epilepsy = with(MASS::epil, data.frame(
      count = y, zAge = c(scale(age)), zBase = c(scale(base)), Trt = factor(as.integer(trt) - 1L), patient = subject
    )),
    # McGilchrist and Aisbett (1991)
    kidney = with(survival::kidney, data.frame(
      time = time, censored = 1 - status, age = age, sex = factor(sex, 1:2, c("male", "female")),
      disease = factor(disease, levels(disease), sub("Other", "other", levels(disease))), patient = id
    )),
    inhaler = inhaler_data()
  )
}

# The leaflets of two inhalers, rated by 286 patients (Ezzet and Whitehead 1991): how many gave these two ratings.
inhaler_data <- function() {
  tables <- list(
    c(59, 35, 3, 2, 11, 27, 2, 1, 0, 0, 0, 0, 1, 1, 0, 0), # the treatment first
    c(63, 13, 0, 0, 40, 15, 0, 0, 7, 2, 1, 0, 2, 0, 1, 0)
  )
  # columns: the rating of the period 0.5, rows: of -0.5
  pairs <- expand.grid(late = 1:4, early = 1:4)
  subjects <- do.call(rbind, Map(function(counts, first) {
    cbind(pairs[rep(seq_len(16L), counts), ], first = first)
  }, tables, c(0.5, -0.5)))
  n <- nrow(subjects)
  with(subjects, data.frame(
    subject = rep(seq_len(n), 2L), rating = c(early, late), treat = c(first, -first),
    period = rep(c(0.5, -0.5), each = n), carry = c(rep(0, n), -2 * first)
  ))
}

brms_models <- list(
  mtcars = list(
    formula = mpg ~ hp * cyl + wt, family = "gaussian",
    prior = list(default = "normal(0, 10)", at_means = "normal(20, 10)", sigma = "exponential(0.2)")
  ),
  epilepsy = list(
    formula = count ~ zAge + zBase * Trt + (1 | patient), family = "poisson",
    prior = list(default = "normal(0, 2)", at_means = "normal(2, 2)", sd = "exponential(1)")
  ),
  kidney = list(
    formula = time | cens(censored) ~ age * sex + disease + (1 | patient), family = "weibull",
    prior = list(default = "normal(0, 2)", at_means = "normal(4, 3)", sd = "exponential(1)", shape = "exponential(1)")
  ),
  inhaler = list(
    formula = rating ~ treat + period + carry + (1 | subject), family = "cumulative",
    prior = list(default = "normal(0, 2)", sd = "exponential(1)")
  )
)

# What is asked of each: hypothesis, class, group, scope.
brms_questions <- list(
  mtcars = list(list("wt < -2"), list("hp:cyl8 > hp:cyl6"), list("exp(cyl6) < 1"), list("Intercept = 30"),
    list("sigma > 2", class = "")),
  epilepsy = list(list("zBase > zAge"), list("Trt1 < 0"), list("zBase:Trt1 = 0.1"), list("abs(zAge) > 0.1"),
    list("Intercept > 0.5", class = "sd", group = "patient"),
    list("sd_patient__Intercept^2 / (sd_patient__Intercept^2 + 1) > 0.25", class = ""),
    list("Intercept > 1.5", group = "patient", scope = "coef"),
    list("Intercept > 0", group = "patient", scope = "ranef")),
  kidney = list(list("sexfemale > 0"), list("diseaseGN = diseaseAN"), list("age + age:sexfemale = 0"),
    list("Intercept > 0.5", class = "sd", group = "patient"), list("shape > 1", class = "")),
  inhaler = list(list("treat < 0"), list("treat + carry = 0"), list("Intercept[1] > 0.5"),
    list("Intercept[3] - Intercept[2] > 1"), list("Intercept > 1", class = "sd", group = "subject"))
)

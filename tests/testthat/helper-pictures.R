# Pictures as they were when somebody looked at them, as SVG: text has the sizes of a font that vdiffr brings, numbers
# have two digits.

# Pixels of images go by the compression library, and their numbers are tested elsewhere.
write_picture <- function(plot, file, title = "") {
  vdiffr::write_svg(plot, file, title)
  svg <- readLines(file, encoding = "UTF-8")
  writeLines(gsub("base64,[^']*'", "base64,'", svg), file, useBytes = TRUE)
}

# pictures: functions that draw, or ggplots, by names of small letters and hyphens
expect_pictures <- function(pictures) {
  # known before a skip, after which testthat would take their files for old ones
  for (name in names(pictures)) announce_snapshot_file(name = paste0(name, ".svg"))
  skip_if_not_installed("vdiffr")
  for (name in names(pictures)) {
    set.seed(1)
    vdiffr::expect_doppelganger(name, pictures[[name]], writer = write_picture)
  }
}

# Other versions of ggplot2 have other margins.
skip_if_other_ggplot2 <- function() {
  skip_if_not_installed("vdiffr")
  skip_if_not_installed("ggplot2")
  version <- utils::packageVersion("ggplot2")
  skip_if_not(version >= "3.4" && version < "3.5", "ggplot2 3.4")
}

# What every file of pictures draws. Hyperparameters are fixed, so that no digit hangs on a search.
picture_fits <- new.env()

picture_fit <- function(name) {
  if (is.null(picture_fits[[name]])) picture_fits[[name]] <- make_picture_fit(name)
  picture_fits[[name]]
}

make_picture_fit <- function(name) {
  d <- transform(mtcars, cyl = factor(cyl), gear = factor(gear), order = factor(gear, ordered = TRUE))
  fixed_fit <- function(formula, family = gaussian(), data = d, ...) galvi(formula, data, family, hyper = "fixed", ...)
  kernel <- se(variance = 1, lengthscale = 1)
  graph <- lattice_of(4, letters[1:4])
  Y <- scale(log(USArrests))[1:15, ]
  switch(name,
    ordinal = fixed_fit(order ~ gp(wt, kernel = kernel), cumulative(thresholds = fixed(c(-0.5, 1.5)))),
    classes = fixed_fit(gear ~ gp(wt, kernel = kernel), categorical()),
    regions = fixed_fit(gear ~ gp(wt, drat, kernel = kernel), categorical()),
    curves = fixed_fit(mpg ~ gp(wt, by = am, kernel = se(variance = 30, lengthscale = 1)),
      galvi_family("gaussian", variance = fixed(6)), transform(d, am = factor(am, labels = c("automatic", "manual")))),
    rates = fixed_fit(count ~ gp(size, kernel = kernel) + offset(log(size)), poisson(),
      transform(spray_table(), size = rep(1:6, length.out = 72))[1:24, ]),
    coefficients = fixed_fit(am ~ wt + cyl, binomial(), prior = normal(0, 2.5)),
    class_coefficients = fixed_fit(gear ~ wt + qsec, categorical(), prior = normal(0, 1)),
    interaction = fixed_fit(mpg ~ wt * gear + drat, galvi_family("gaussian", variance = fixed(6)),
      prior = list(intercept = normal(30, 30), default = normal(0, 10))),
    two = fixed_fit(list(mpg ~ wt, sigma ~ qsec)),
    surface = fixed_fit(mpg ~ gp(wt, drat, kernel = se(variance = 30, lengthscale = 2)),
      galvi_family("gaussian", variance = fixed(6)), d[1:16, ]),
    groups = fixed_fit(mpg ~ (1 | carb)),
    field = fixed_fit(y ~ gmrf(g, graph = graph),
      data = data.frame(g = rep(letters[1:4], 5), y = rep(1:4, 5) + 0.1 * sin(1:20))),
    blank = fixed_fit(y ~ iid(g),
      data = data.frame(g = rep(c("a", "b", "c"), 3), y = c(-1, 0, 2, -1.2, 0.1, 1.8, -0.9, 0, 2))),
    places = fixed_fit(qsec ~ spde(wt, drat, mesh = galvi_mesh(cbind(d$wt, d$drat), 2), range = 12)),
    survival = fixed_fit(survival::Surv(time, status) ~ sex + age, galvi_family("weibull", shape = fixed(1.3)),
      survival::lung[1:80, ]),
    factors = galvi(responses(Y) ~ factors(2)),
    # draws of a full gp() go by the last digits of a covariance, those of few coefficients do not
    line = fixed_fit(dist ~ speed, galvi_family("gaussian", variance = fixed(230)), cars),
    ordinal_line = fixed_fit(order ~ wt, cumulative(thresholds = fixed(c(-0.5, 1.5)))),
    few = fixed_fit(dist ~ gp(speed, kernel = se(variance = 600, lengthscale = 8)),
      galvi_family("gaussian", variance = fixed(230)), cars[seq(1, 50, 2), ]),
    small_fit(name)
  )
}

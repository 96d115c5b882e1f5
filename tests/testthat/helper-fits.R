# Small fits that several files look at, made once. Hyperparameters are held, so that they cost milliseconds.
small_fits <- new.env()

small_fit <- function(name) {
  if (is.null(small_fits[[name]])) small_fits[[name]] <- make_small_fit(name)
  small_fits[[name]]
}

make_small_fit <- function(name) {
  switch(name,
    gaussian = galvi(dist ~ gp(speed, kernel = se(variance = 600, lengthscale = 8)),
      data = cars, family = galvi_family("gaussian", variance = 230), hyper = "fixed"),
    binary = galvi(am ~ wt + gp(hp, qsec, kernel = se(variance = 1, lengthscale = 40)),
      data = mtcars, family = binomial(), hyper = "fixed"),
    trials = galvi(cbind(ncases, ncontrols) ~ agegp,
      data = esoph_table(), family = binomial(), hyper = "fixed"),
    counts = galvi(count ~ spray + offset(log(size)),
      data = spray_table(), family = poisson(), hyper = "fixed"),
    flat = galvi(am ~ wt + factor(gear),
      data = mtcars, family = binomial(), hyper = "fixed", prior = normal(0, 100))
  )
}

esoph_table <- function() {
  d <- datasets::esoph
  d$agegp <- factor(as.character(d$agegp))
  d$ncontrols <- pmax(d$ncontrols, 0)
  d
}

spray_table <- function() {
  d <- datasets::InsectSprays
  d$size <- rep(c(1, 2), length.out = nrow(d))
  d
}

small_data <- function(name) {
  switch(name,
    gaussian = cars, binary = mtcars, trials = esoph_table(), counts = spray_table(), flat = mtcars
  )
}

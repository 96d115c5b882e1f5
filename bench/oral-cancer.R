# Germany's oral cancer, both precisions learned: how long, in chol(544), and where do they end?
#
#   Rscript bench/oral-cancer.R       (half a minute)
#
# Y ~ offset(log(E)) + iid(region) + gmrf(region), 544 districts, poisson. A Laplace approximation written
# in C++ for this very model and differentiated automatically (TMB; after 23 s of compiling) takes 18
# chol(544) and ends at precisions of 17.0 (structured) and 153 (iid), sd of the log relative risks 0.202,
# with gamma(1, 0.01) priors on the precisions. galvi's priors are densities of the logarithm and so have
# the precision as a factor; a shape next to 0 is gamma(1, 0.01) without it.
source("bench/_helper.R")

learn <- function(prior, hyper = "optimise", start = NULL, method = "auto") {
  galvi(
    Y ~ offset(log(E)) + iid(region, variance = prior) +
      gmrf(region, graph = germany_graph, variance = prior),
    data = oral, family = poisson(), method = method, hyper = hyper, start = start,
    control = galvi_control(threads = 1)
  )
}
priors <- list(
  "none" = 1, "gamma(1, 0.01)" = gamma_prior(1, 0.01), "without the factor" = gamma_prior(1e-9, 0.01)
)
precision <- function(fit, term) 1 / fit$hyper$estimate[startsWith(fit$hyper$name, term)]
summarise <- function(name, method, fit) {
  data.frame(
    prior = name, method, structured = precision(fit, "gmrf"), iid = precision(fit, "iid"),
    sd_log_risk = sd(predict(fit, type = "link") - log(oral$E)), value = fit$elbo,
    factorisations = fit$cost$factorisations
  )
}
rows <- lapply(names(priors), function(name) {
  rbind(
    summarise(name, "bound", learn(priors[[name]])),
    summarise(name, "laplace", learn(priors[[name]], method = "laplace"))
  )
})
machine(544)
options(width = 110)
show_table(do.call(rbind, rows), digits = 5)

learned <- learn(1)
neighbours <- setNames(lapply(germany_graph, as.character), seq_along(germany_graph))
districts <- transform(oral, region = factor(region))
structured_only <- function() {
  mgcv::gam(
    Y ~ offset(log(E)) + s(region, bs = "mrf", k = 100, xt = list(nb = neighbours)), poisson(), districts,
    method = "REML"
  )
}
table <- measure(list(
  "learn" = function() learn(1), "learn, gamma(1, 0.01)" = function() learn(priors[[2]]),
  "precisions held" = function() learn(1, "fixed", learned), "gam(), mrf with k = 100" = structured_only
), nrow(oral))
show_table(table)
target("oral cancer, both precisions learned", table$chol[2], 18, "chol(544)")

# Answer (2-core x86-64 machine, R 4.2.2, OpenBLAS 0.3.21, one thread): 9.6 chol(544), 0.035 s and 39
# factorisations, with gamma(1, 0.01) priors, 13.9 without; at fixed precisions 3.0, most of which is the
# formula and the graph. gam() with the structured part alone and 100 coefficients takes 99.
#
#                                    structured    iid   sd
#   bound, no prior                     15.6     206.5   0.204
#   bound, gamma(1, 0.01)               17.00    153.2   0.203
#   laplace, gamma(1, 0.01)             16.98    153.3   0.202   (TMB: 17.0, 153, 0.202)
#   bound, without the factor           17.00    132.4   0.204
#
# So TMB's numbers have the factor in them, and the bound's precisions differ from Laplace's by 0.1 per cent.

# Do coefficients and their standard deviations agree with those of the packages that users come from, call by call on
# the examples of these packages' help pages?   make bench FILES=peers.R
#
# For each call: the largest |galvi - peer| / se of a coefficient and the range of the ratios sd / se. Calls with a
# difference over 0.3 or a ratio outside 0.9 to 1.1 are listed again, with the reason.

options(width = 220)
library(galvi)

# peer, package of the data, call of the peer, call of galvi. Data are found in the package named.
calls <- list(
  # ---- lm ----
  c("stats", "datasets", "lm(dist ~ speed, cars)", "galvi(dist ~ speed, cars)"),
  c("stats", "datasets", "lm(dist ~ poly(speed, 2), cars)", "galvi(dist ~ poly(speed, 2), cars)"),
  c("stats", "datasets", "lm(dist ~ speed + I(speed^2), cars)", "galvi(dist ~ speed + I(speed^2), cars)"),
  c("stats", "datasets", "lm(dist ~ speed, cars, weights = 1 / speed)", "galvi(dist ~ speed, cars, weights = 1 / speed)"),
  c("stats", "datasets", "lm(mpg ~ wt + hp + factor(cyl), mtcars)", "galvi(mpg ~ wt + hp + factor(cyl), mtcars)"),
  c("stats", "datasets", "lm(mpg ~ wt * am, mtcars)", "galvi(mpg ~ wt * am, mtcars)"),
  c("stats", "datasets", "lm(mpg ~ ., mtcars)", "galvi(mpg ~ ., mtcars)"),
  c("stats", "datasets", "lm(Employed ~ ., longley)", "galvi(Employed ~ ., longley)"),
  c("stats", "datasets", "lm(sr ~ ., LifeCycleSavings)", "galvi(sr ~ ., LifeCycleSavings)"),
  c("stats", "datasets", "lm(stack.loss ~ ., stackloss)", "galvi(stack.loss ~ ., stackloss)"),
  c("stats", "datasets", "lm(Fertility ~ ., swiss)", "galvi(Fertility ~ ., swiss)"),
  c("stats", "datasets", "lm(breaks ~ wool * tension, warpbreaks)", "galvi(breaks ~ wool * tension, warpbreaks)"),
  c("stats", "datasets", "lm(weight ~ group, PlantGrowth)", "galvi(weight ~ group, PlantGrowth)"),
  c("stats", "datasets", "lm(weight ~ group - 1, PlantGrowth)", "galvi(weight ~ group - 1, PlantGrowth)"),
  c("stats", "datasets", "lm(len ~ supp * dose, ToothGrowth)", "galvi(len ~ supp * dose, ToothGrowth)"),
  c("stats", "datasets", "lm(len ~ supp + factor(dose), ToothGrowth)", "galvi(len ~ supp + factor(dose), ToothGrowth)"),
  c("stats", "datasets", "lm(Volume ~ Girth + Height, trees)", "galvi(Volume ~ Girth + Height, trees)"),
  c("stats", "datasets", "lm(log(Volume) ~ log(Girth) + log(Height), trees)",
    "galvi(log(Volume) ~ log(Girth) + log(Height), trees)"),
  c("stats", "datasets", "lm(Ozone ~ Solar.R + Wind + Temp, airquality)", "galvi(Ozone ~ Solar.R + Wind + Temp, airquality)"),
  c("stats", "datasets", "lm(log(Ozone) ~ Wind * Temp, airquality)", "galvi(log(Ozone) ~ Wind * Temp, airquality)"),
  c("stats", "datasets", "lm(rating ~ ., attitude)", "galvi(rating ~ ., attitude)"),
  c("stats", "datasets", "lm(weight ~ height + I(height^2), women)", "galvi(weight ~ height + I(height^2), women)"),
  c("stats", "datasets", "lm(weight ~ Time * Diet, ChickWeight)", "galvi(weight ~ Time * Diet, ChickWeight)"),
  c("stats", "datasets", "lm(eruptions ~ waiting, faithful)", "galvi(eruptions ~ waiting, faithful)"),
  c("stats", "datasets", "lm(mag ~ depth + stations, quakes)", "galvi(mag ~ depth + stations, quakes)"),
  c("stats", "datasets", "lm(stations ~ lat + long + depth, quakes)", "galvi(stations ~ lat + long + depth, quakes)"),
  c("stats", "datasets", "lm(flow ~ year, data.frame(flow = c(Nile), year = 1871:1970))",
    "galvi(flow ~ year, data.frame(flow = c(Nile), year = 1871:1970))"),
  c("stats", "datasets", "lm(degrees ~ year, data.frame(degrees = c(nhtemp), year = 1912:1971))",
    "galvi(degrees ~ year, data.frame(degrees = c(nhtemp), year = 1912:1971))"),
  c("stats", "datasets", "lm(decrease ~ treatment, OrchardSprays)", "galvi(decrease ~ treatment, OrchardSprays)"),
  c("stats", "datasets", "lm(yield ~ block + N + P + K, npk)", "galvi(yield ~ block + N + P + K, npk)"),
  c("stats", "datasets", "lm(demand ~ Time, BOD)", "galvi(demand ~ Time, BOD)"),
  c("stats", "MASS", "lm(medv ~ ., Boston)", "galvi(medv ~ ., Boston)"),
  c("stats", "MASS", "lm(Gas ~ Insul / Temp - 1, whiteside)", "galvi(Gas ~ Insul / Temp - 1, whiteside)"),
  c("stats", "MASS", "lm(log(time) ~ log(dist) + log(climb), hills)", "galvi(log(time) ~ log(dist) + log(climb), hills)"),
  c("stats", "MASS", "lm(MPG.city ~ Weight + Type + Origin, Cars93)", "galvi(MPG.city ~ Weight + Type + Origin, Cars93)"),
  c("stats", "MASS", "lm(log(brain) ~ log(body), Animals)", "galvi(log(brain) ~ log(body), Animals)"),
  c("stats", "MASS", "lm(bwt ~ age + lwt + factor(race) + smoke + ptl + ht + ui + ftv, birthwt)",
    "galvi(bwt ~ age + lwt + factor(race) + smoke + ptl + ht + ui + ftv, birthwt)"),
  # ---- glm ----
  c("stats", "datasets", "glm(am ~ wt, binomial, mtcars)", "galvi(am ~ wt, mtcars, binomial())"),
  c("stats", "datasets", "glm(vs ~ wt + disp, binomial, mtcars)", "galvi(vs ~ wt + disp, mtcars, binomial())"),
  c("stats", "datasets", "glm(am ~ hp, binomial('probit'), mtcars)", "galvi(am ~ hp, mtcars, binomial('probit'))"),
  c("stats", "datasets", "glm(case ~ spontaneous + induced, binomial, infert)",
    "galvi(case ~ spontaneous + induced, infert, binomial())"),
  c("stats", "datasets", "glm(case ~ age + parity + education + spontaneous + induced, binomial, infert)",
    "galvi(case ~ age + parity + education + spontaneous + induced, infert, binomial())"),
  c("stats", "datasets", "glm(cbind(ncases, ncontrols) ~ agegp + unclass(tobgp) + unclass(alcgp), binomial, esoph)",
    "galvi(cbind(ncases, ncontrols) ~ agegp + unclass(tobgp) + unclass(alcgp), esoph, binomial())"),
  c("stats", "datasets", "glm(breaks ~ wool * tension, poisson, warpbreaks)", "galvi(breaks ~ wool * tension, warpbreaks, poisson())"),
  c("stats", "datasets", "glm(count ~ spray, poisson, InsectSprays)", "galvi(count ~ spray, InsectSprays, poisson())"),
  c("stats", "datasets", "glm(carb ~ hp + offset(log(wt)), poisson, mtcars)", "galvi(carb ~ hp + offset(log(wt)), mtcars, poisson())"),
  c("stats", "datasets", "glm(lot1 ~ log(u), Gamma('log'), data.frame(u = c(5, 10, 15, 20, 30, 40, 60, 80, 100),
    lot1 = c(118, 58, 42, 35, 27, 25, 21, 19, 18)))", "galvi(lot1 ~ log(u), data.frame(u = c(5, 10, 15, 20, 30, 40, 60, 80, 100),
    lot1 = c(118, 58, 42, 35, 27, 25, 21, 19, 18)), Gamma('log'))"),
  c("stats", "datasets", "glm(counts ~ outcome + treatment, poisson, data.frame(counts = c(18, 17, 15, 20, 10, 20, 25, 13, 12),
    outcome = gl(3, 1, 9), treatment = gl(3, 3)))", "galvi(counts ~ outcome + treatment, data.frame(counts = c(18, 17, 15, 20,
    10, 20, 25, 13, 12), outcome = gl(3, 1, 9), treatment = gl(3, 3)), poisson())"),
  c("stats", "MASS", "glm(low ~ age + lwt + factor(race) + smoke + ptl + ht + ui + ftv, binomial, birthwt)",
    "galvi(low ~ age + lwt + factor(race) + smoke + ptl + ht + ui + ftv, birthwt, binomial())"),
  c("stats", "MASS", "glm(type ~ ., binomial, Pima.tr)", "galvi(type ~ ., Pima.tr, binomial())"),
  c("stats", "MASS", "glm(Claims ~ District + Group + Age + offset(log(Holders)), poisson, Insurance)",
    "galvi(Claims ~ District + Group + Age + offset(log(Holders)), Insurance, poisson())"),
  c("stats", "MASS", "glm(class ~ V1 + V4 + V6, binomial, biopsy)", "galvi(class ~ V1 + V4 + V6, biopsy, binomial())"),
  c("stats", "MASS", "glm(y ~ trt, binomial, bacteria)", "galvi(y ~ trt, bacteria, binomial())"),
  c("stats", "MASS", "glm(Freq ~ Infl * Type * Cont + Sat, poisson, housing)",
    "galvi(Freq ~ Infl * Type * Cont + Sat, housing, poisson())"),
  c("stats", "MASS", "glm(cbind(Menarche, Total - Menarche) ~ Age, binomial, menarche)",
    "galvi(cbind(Menarche, Total - Menarche) ~ Age, menarche, binomial())"),
  c("stats", "MASS", "glm(Menarche / Total ~ Age, binomial, menarche, weights = Total)",
    "galvi(Menarche / Total ~ Age, menarche, binomial(), weights = Total)"),
  c("stats", "MASS", "glm(incidents ~ type + year + period + offset(log(service)), poisson, subset(ships, service > 0))",
    "galvi(incidents ~ type + year + period + offset(log(service)), subset(ships, service > 0), poisson())"),
  c("stats", "boot", "glm(r ~ stage + grade + xray + acid, binomial, nodal)",
    "galvi(r ~ stage + grade + xray + acid, nodal, binomial())"),
  c("stats", "boot", "glm(n1 ~ c1 * c2, poisson, data.frame(n1 = c(12, 7, 9, 20), c1 = gl(2, 2), c2 = gl(2, 1, 4)))",
    "galvi(n1 ~ c1 * c2, data.frame(n1 = c(12, 7, 9, 20), c1 = gl(2, 2), c2 = gl(2, 1, 4)), poisson())"),
  c("stats", "boot", "glm(cost ~ date + t1 + t2 + cap + pr + ne + ct + bw + cum.n + pt, Gamma('log'), nuclear)",
    "galvi(cost ~ date + t1 + t2 + cap + pr + ne + ct + bw + cum.n + pt, nuclear, Gamma('log'))"),
  # ---- MASS ----
  c("MASS", "MASS", "glm.nb(Days ~ Sex / (Age + Eth * Lrn), quine)", "galvi(Days ~ Sex / (Age + Eth * Lrn), quine, negbinomial())"),
  c("MASS", "MASS", "glm.nb(Days ~ Eth + Sex + Age + Lrn, quine)", "galvi(Days ~ Eth + Sex + Age + Lrn, quine, negbinomial())"),
  c("MASS", "MASS", "glm.nb(y ~ lbase * trt + lage + V4, transform(epil, lbase = log(base / 4), lage = log(age)))",
    "galvi(y ~ lbase * trt + lage + V4, transform(epil, lbase = log(base / 4), lage = log(age)), negbinomial())"),
  c("MASS", "MASS", "polr(Sat ~ Infl + Type + Cont, weights = Freq, housing, Hess = TRUE)",
    "galvi(Sat ~ Infl + Type + Cont, housing, cumulative(), weights = Freq)"),
  c("MASS", "MASS", "polr(Sat ~ Infl + Type + Cont, weights = Freq, housing, method = 'probit', Hess = TRUE)",
    "galvi(Sat ~ Infl + Type + Cont, housing, cumulative('probit'), weights = Freq)"),
  # ---- nnet ----
  c("nnet", "datasets", "nnet::multinom(cyl ~ qsec, transform(mtcars, cyl = factor(cyl)), trace = FALSE)",
    "galvi(cyl ~ qsec, transform(mtcars, cyl = factor(cyl)), categorical(NULL))"),
  c("nnet", "MASS", "nnet::multinom(Sat ~ Infl + Type + Cont, weights = Freq, housing, trace = FALSE)",
    "galvi(Sat ~ Infl + Type + Cont, housing, categorical(NULL), weights = Freq)"),
  c("nnet", "MASS", "nnet::multinom(race ~ lwt + age, transform(birthwt, race = factor(race)), trace = FALSE)",
    "galvi(race ~ lwt + age, transform(birthwt, race = factor(race)), categorical(NULL))"),
  c("nnet", "datasets", "nnet::multinom(gear ~ mpg, transform(mtcars, gear = factor(gear)), trace = FALSE)",
    "galvi(gear ~ mpg, transform(mtcars, gear = factor(gear)), categorical(NULL))"),
  # ---- lme4 ----
  c("lme4", "lme4", "lmer(Reaction ~ Days + (1 | Subject), sleepstudy)", "galvi(Reaction ~ Days + (1 | Subject), sleepstudy)"),
  c("lme4", "lme4", "lmer(Reaction ~ Days + (Days | Subject), sleepstudy)", "galvi(Reaction ~ Days + (Days | Subject), sleepstudy)"),
  c("lme4", "lme4", "lmer(Reaction ~ Days + (Days || Subject), sleepstudy)", "galvi(Reaction ~ Days + (Days || Subject), sleepstudy)"),
  c("lme4", "lme4", "lmer(Reaction ~ day + (day | Subject), transform(sleepstudy, day = Days + 2000))",
    "galvi(Reaction ~ day + (day | Subject), transform(sleepstudy, day = Days + 2000))"),
  c("lme4", "lme4", "lmer(Yield ~ 1 + (1 | Batch), Dyestuff)", "galvi(Yield ~ 1 + (1 | Batch), Dyestuff)"),
  c("lme4", "lme4", "lmer(diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin)",
    "galvi(diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin)"),
  c("lme4", "lme4", "lmer(strength ~ 1 + (1 | batch / cask), Pastes)", "galvi(strength ~ 1 + (1 | batch / cask), Pastes)"),
  c("lme4", "lme4", "lmer(angle ~ recipe * temperature + (1 | recipe:replicate), cake)",
    "galvi(angle ~ recipe * temperature + (1 | recipe:replicate), cake)"),
  c("lme4", "lme4", "lmer(y ~ service * dept + (1 | s) + (1 | d), InstEval[1:4000, ])",
    "galvi(y ~ service * dept + (1 | s) + (1 | d), InstEval[1:4000, ])"),
  c("lme4", "lme4", "glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, binomial)",
    "galvi(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, binomial())"),
  c("lme4", "lme4", "glmer(r2 ~ Anger + Gender + btype + situ + (1 | id) + (1 | item), VerbAgg, binomial, nAGQ = 0)",
    "galvi(r2 ~ Anger + Gender + btype + situ + (1 | id) + (1 | item), VerbAgg, binomial())"),
  c("lme4", "lme4", "glmer(TICKS ~ YEAR + cHEIGHT + (1 | BROOD) + (1 | INDEX) + (1 | LOCATION),
    transform(grouseticks, cHEIGHT = scale(HEIGHT)), poisson)", "galvi(TICKS ~ YEAR + cHEIGHT + (1 | BROOD) + (1 | INDEX) +
    (1 | LOCATION), transform(grouseticks, cHEIGHT = scale(HEIGHT)), poisson())"),
  c("lme4", "nlme", "lmer(distance ~ age * Sex + (age | Subject), Orthodont)", "galvi(distance ~ age * Sex + (age | Subject), Orthodont)"),
  c("lme4", "nlme", "lmer(distance ~ age + (1 | Subject), Orthodont)", "galvi(distance ~ age + (1 | Subject), Orthodont)"),
  c("lme4", "nlme", "lmer(travel ~ 1 + (1 | Rail), Rail)", "galvi(travel ~ 1 + (1 | Rail), Rail)"),
  c("lme4", "nlme", "lmer(effort ~ Type + (1 | Subject), ergoStool)", "galvi(effort ~ Type + (1 | Subject), ergoStool)"),
  c("lme4", "nlme", "lmer(score ~ Machine + (1 | Worker), Machines)", "galvi(score ~ Machine + (1 | Worker), Machines)"),
  c("lme4", "nlme", "lmer(yield ~ ordered(nitro) * Variety + (1 | Block / Variety), transform(Oats, nitro = factor(nitro)))",
    "galvi(yield ~ ordered(nitro) * Variety + (1 | Block / Variety), transform(Oats, nitro = factor(nitro)))"),
  c("lme4", "nlme", "lmer(pixel ~ day + I(day^2) + (day | Dog) + (1 | Dog:Side), Pixel)",
    "galvi(pixel ~ day + I(day^2) + (day | Dog) + (1 | Dog:Side), Pixel)"),
  c("lme4", "MASS", "glmer(y ~ trt + I(week > 2) + (1 | ID), bacteria, binomial)",
    "galvi(y ~ trt + I(week > 2) + (1 | ID), bacteria, binomial())"),
  c("lme4", "MASS", "lmer(Y ~ V + N + (1 | B), oats)", "galvi(Y ~ V + N + (1 | B), oats)"),
  # ---- nlme ----
  c("nlme", "datasets", "gls(level ~ year, data.frame(level = c(LakeHuron), year = 1875:1972), corAR1(form = ~ year))",
    "galvi(level ~ year + ar1(year), data.frame(level = c(LakeHuron), year = 1875:1972))"),
  c("nlme", "nlme", "lme(rate ~ (pressure + I(pressure^2)) * QB, Dialyzer, ~ 1 | Subject)",
    "galvi(rate ~ (pressure + I(pressure^2)) * QB + (1 | Subject), Dialyzer)"),
  # ---- mgcv ----
  c("mgcv", "MASS", "gam(accel ~ s(times), data = mcycle, method = 'REML')", "galvi(accel ~ gp(times), mcycle)"),
  c("mgcv", "datasets", "gam(mpg ~ am + s(wt), data = mtcars, method = 'REML')", "galvi(mpg ~ am + gp(wt), mtcars)"),
  c("mgcv", "datasets", "gam(Ozone ~ s(Temp) + Wind, data = airquality, method = 'REML')", "galvi(Ozone ~ gp(Temp) + Wind, airquality)"),
  c("mgcv", "datasets", "gam(Sepal.Length ~ Species + s(Petal.Length), data = iris, method = 'REML')",
    "galvi(Sepal.Length ~ Species + gp(Petal.Length), iris)"),
  c("mgcv", "MASS", "gam(medv ~ s(lstat) + rm, data = Boston, method = 'REML')", "galvi(medv ~ gp(lstat) + rm, Boston)"),
  c("mgcv", "datasets", "gam(count ~ spray, data = InsectSprays, family = nb(), method = 'REML')",
    "galvi(count ~ spray, InsectSprays, negbinomial())"),
  # ---- survival ----
  c("survival", "survival", "survreg(Surv(futime, fustat) ~ ecog.ps + rx, ovarian)",
    "galvi(Surv(futime, fustat) ~ ecog.ps + rx, ovarian, weibull())"),
  c("survival", "survival", "survreg(Surv(futime, fustat) ~ ecog.ps + rx, ovarian, dist = 'exponential')",
    "galvi(Surv(futime, fustat) ~ ecog.ps + rx, ovarian, exponential())"),
  c("survival", "survival", "survreg(Surv(time, status) ~ ph.ecog + age + sex, lung)",
    "galvi(Surv(time, status) ~ ph.ecog + age + sex, lung, weibull())"),
  c("survival", "survival", "survreg(Surv(time, status) ~ age + sex, lung, dist = 'lognormal')",
    "galvi(Surv(time, status) ~ age + sex, lung, lognormal())"),
  c("survival", "survival", "survreg(Surv(time, status) ~ age + sex, lung, dist = 'loglogistic')",
    "galvi(Surv(time, status) ~ age + sex, lung, loglogistic())"),
  c("survival", "survival", "survreg(Surv(time, status) ~ karno + age + trt, veteran, dist = 'loglogistic')",
    "galvi(Surv(time, status) ~ karno + age + trt, veteran, loglogistic())"),
  c("survival", "survival", "survreg(Surv(time, status) ~ x, aml)", "galvi(Surv(time, status) ~ x, aml, weibull())"),
  c("survival", "survival", "survreg(Surv(durable, durable > 0, type = 'left') ~ age + quant, tobin, dist = 'gaussian')",
    "galvi(Surv(durable, durable > 0, type = 'left') ~ age + quant, tobin, gaussian())"),
  c("survival", "survival", "survreg(Surv(time, status) ~ trt + celltype + karno, veteran)",
    "galvi(Surv(time, status) ~ trt + celltype + karno, veteran, weibull())"),
  # ---- ordinal ----
  c("ordinal", "ordinal", "clm(rating ~ temp * contact, data = wine)", "galvi(rating ~ temp * contact, wine, cumulative())"),
  c("ordinal", "ordinal", "clm(rating ~ temp + contact, data = wine, link = 'probit')",
    "galvi(rating ~ temp + contact, wine, cumulative('probit'))"),
  c("ordinal", "ordinal", "clmm(rating ~ temp + contact + (1 | judge), data = wine)",
    "galvi(rating ~ temp + contact + (1 | judge), wine, cumulative())"),
  c("ordinal", "ordinal", "clm(SURENESS ~ PROD, data = soup)", "galvi(SURENESS ~ PROD, soup, cumulative())"),
  # ---- glmmTMB ----
  c("glmmTMB", "glmmTMB", "glmmTMB(count ~ mined + (1 | site), Salamanders, poisson)",
    "galvi(count ~ mined + (1 | site), Salamanders, poisson())"),
  c("glmmTMB", "glmmTMB", "glmmTMB(count ~ mined + (1 | site), Salamanders, nbinom2)",
    "galvi(count ~ mined + (1 | site), Salamanders, negbinomial())"),
  c("glmmTMB", "glmmTMB", "glmmTMB(count ~ spp + mined + (1 | site), zi = ~ 1, Salamanders, nbinom2)",
    "galvi(list(count ~ spp + mined + (1 | site), zi ~ 1), Salamanders, zero_inflated(negbinomial()))"),
  c("glmmTMB", "glmmTMB", "glmmTMB(count ~ mined + (1 | site), zi = ~ mined, Salamanders, poisson)",
    "galvi(list(count ~ mined + (1 | site), zi ~ mined), Salamanders, zero_inflated(poisson()))"),
  c("glmmTMB", "glmmTMB", "glmmTMB(SiblingNegotiation ~ FoodTreatment * SexParent + (1 | Nest) + offset(log(BroodSize)), Owls, nbinom2)",
    "galvi(SiblingNegotiation ~ FoodTreatment * SexParent + (1 | Nest) + offset(log(BroodSize)), Owls, negbinomial())"),
  # ---- pscl ----
  c("pscl", "pscl", "zeroinfl(art ~ . | 1, bioChemists)", "galvi(list(art ~ ., zi ~ 1), bioChemists, zero_inflated(poisson()))"),
  c("pscl", "pscl", "zeroinfl(art ~ . | ., bioChemists)", "galvi(list(art ~ ., zi ~ .), bioChemists, zero_inflated(poisson()))"),
  c("pscl", "pscl", "pscl::hurdle(art ~ ., bioChemists)", "galvi(list(art ~ ., hu ~ .), bioChemists, galvi::hurdle(poisson()))"),
  c("pscl", "pscl", "pscl::hurdle(art ~ ., bioChemists, dist = 'negbin')",
    "galvi(list(art ~ ., hu ~ .), bioChemists, galvi::hurdle(negbinomial()))")
)

# ---- coefficients and standard errors, by the names that galvi gives them ----

named <- function(estimate, V) data.frame(name = names(estimate), estimate = unname(estimate), se = sqrt(diag(as.matrix(V))))

peer_table <- function(fit) {
  if (inherits(fit, "merMod")) return(named(lme4::fixef(fit), vcov(fit)))
  if (inherits(fit, "lme")) return(named(nlme::fixef(fit), vcov(fit)))
  if (inherits(fit, "glmmTMB")) {
    part <- function(of, prefix) {
      estimate <- glmmTMB::fixef(fit)[[of]]
      if (!length(estimate)) return(NULL)
      named(stats::setNames(estimate, paste0(prefix, names(estimate))), vcov(fit)[[of]])
    }
    return(rbind(part("cond", ""), part("zi", "zi_")))
  }
  if (inherits(fit, "gam")) {
    at <- seq_len(fit$nsdf)
    return(named(coef(fit)[at], vcov(fit)[at, at, drop = FALSE]))
  }
  if (inherits(fit, c("zeroinfl", "hurdle"))) {
    out <- named(coef(fit), vcov(fit))
    hurdle <- inherits(fit, "hurdle")
    # pscl models the probability of a count above zero, galvi that of a zero
    of_zero <- grepl("^zero_", out$name)
    if (hurdle) out$estimate[of_zero] <- -out$estimate[of_zero]
    out$name <- sub("^zero_", if (hurdle) "hu_" else "zi_", sub("^count_", "", out$name))
    return(out)
  }
  if (inherits(fit, "multinom")) {
    B <- coef(fit)
    if (is.null(dim(B))) B <- matrix(B, 1L, dimnames = list(fit$lev[2L], names(B)))
    estimate <- stats::setNames(as.vector(t(B)), paste(rep(rownames(B), each = ncol(B)), colnames(B), sep = ":"))
    return(named(estimate, vcov(fit)[names(estimate), names(estimate)]))
  }
  if (inherits(fit, c("polr", "clm", "clmm"))) {
    estimate <- if (inherits(fit, "polr")) coef(fit) else fit$beta
    return(named(estimate, vcov(fit)[names(estimate), names(estimate), drop = FALSE]))
  }
  estimate <- coef(fit)
  V <- vcov(fit)
  named(estimate, V[seq_along(estimate), seq_along(estimate), drop = FALSE])
}

galvi_table <- function(fit) {
  V <- vcov(fit)
  mean <- coef(fit)
  data.frame(name = rownames(V), estimate = if (is.matrix(mean)) as.vector(t(mean)) else unname(mean), se = sqrt(diag(V)))
}

# Why a call is over 0.3 or outside 0.9 to 1.1: part of its galvi call, and the reason.
mode <- "Few rows, a skewed likelihood: galvi gives posterior means, the peer modes."
zeros <- "The posterior of the zeros' coefficients is skewed: galvi gives its mean and sd, the peer mode and curvature."
reasons <- list(
  c("galvi(am ~ wt, mtcars, binomial())", mode), c("galvi(vs ~ wt", mode), c("am ~ hp", mode), c("esoph", mode),
  c("Pima.tr", mode), c("nodal", mode), c("galvi(cyl ~ qsec", mode), c("galvi(gear ~ mpg", mode),
  c("biopsy", mode), c("bacteria", paste(mode, "glmer() takes Laplace's approximation.")),
  c("Days ~ Sex / (Age", "A nearly empty cell: expected information in glm.nb(), observed here."),
  c("InstEval", "lmer() leaves out columns that depend on others; galvi keeps them, and a message names them."),
  c("Days + 2000", "lmer() stops at a singular fit where x is far from zero; galvi's fit is that of lmer() in Days."),
  c("gp(Petal.Length), iris", "Two smoothers share the effect with Species differently."),
  c("VerbAgg", "glmer(nAGQ = 0) is a rough approximation; with nAGQ = 1 it takes minutes."),
  c("ovarian", "12 deaths: the shape is uncertain and the posterior skewed, so sds are larger than curvature says."),
  c("tobin", "20 rows, 13 censored: sigma is uncertain and the posterior skewed, so sds are larger than curvature says."),
  c("spp + mined + (1 | site), zi ~ 1", "glmmTMB's zi runs to -17 with a standard error of thousands."),
  c("zi ~ mined", zeros), c("bioChemists, zero_inflated", zeros)
)

reason_of <- function(call) {
  found <- Find(function(r) grepl(r[1L], call, fixed = TRUE), reasons)
  if (is.null(found)) "" else found[2L]
}

compare <- function(entry) {
  if (!requireNamespace(entry[1L], quietly = TRUE) || !requireNamespace(entry[2L], quietly = TRUE)) return(NULL)
  # of the package of the data first, then of the peer, then of galvi
  env <- new.env(parent = globalenv())
  for (package in unique(entry[2:1])) {
    listed <- utils::data(package = package)$results[, "Item"]
    suppressWarnings(utils::data(list = sub(" .*", "", listed), package = package, envir = env))
    for (name in getNamespaceExports(package)) {
      if (!exists(name, env, inherits = FALSE) && !exists(name, asNamespace("galvi"), inherits = FALSE)) {
        assign(name, getExportedValue(package, name), env)
      }
    }
  }
  quiet <- function(text) suppressMessages(suppressWarnings(eval(str2lang(text), env)))
  seconds <- function(expr) {
    time <- system.time(fit <- expr)[["elapsed"]]
    list(fit = fit, time = time)
  }
  peer <- tryCatch(seconds(quiet(entry[3L])), error = function(e) e)
  own <- tryCatch(seconds(quiet(entry[4L])), error = function(e) e)
  row <- data.frame(peer = entry[1L], call = gsub("[[:space:]]+", " ", entry[4L]))
  if (inherits(peer, "error") || inherits(own, "error")) {
    row$difference <- row$low <- row$high <- row$time <- NA
    row$note <- conditionMessage(if (inherits(own, "error")) own else peer)
    return(row)
  }
  theirs <- peer_table(peer$fit)
  ours <- galvi_table(own$fit)
  at <- match(theirs$name, ours$name)
  ratio <- ours$se[at] / theirs$se
  row$difference <- max(abs(ours$estimate[at] - theirs$estimate) / theirs$se)
  row$low <- min(ratio)
  row$high <- max(ratio)
  row$time <- own$time / max(peer$time, 1e-3)
  row$note <- if (anyNA(at)) paste("not found:", paste(theirs$name[is.na(at)], collapse = ", ")) else ""
  row
}

table <- do.call(rbind, lapply(calls, compare))
shown <- table
shown$call <- ifelse(nchar(shown$call) > 90, paste0(substr(shown$call, 1, 87), "..."), shown$call)
print(format(shown, digits = 3), row.names = FALSE, right = FALSE)
kind <- sub("[(].*", "", sub("^[a-zA-Z]+::", "", vapply(calls, `[[`, "", 3L)))
cat("\nBy function of the peer: calls, median and largest difference, ratios\n")
for (name in unique(kind)) {
  own <- table[kind == name, ]
  cat(sprintf("%-10s %3d  %.4f %.2f  %.3f to %.3f\n", name, nrow(own), stats::median(own$difference), max(own$difference),
    min(own$low), max(own$high)))
}
far <- is.na(table$difference) | table$difference > 0.3 | table$low < 0.9 | table$high > 1.1
cat(sprintf("\n%d calls; %d within 0.3 standard errors and 0.9 to 1.1 of their size; %d not:\n", nrow(table), sum(!far), sum(far)))
for (i in which(far)) {
  cat(sprintf("  %s\n    difference %.2f, ratio %.2f to %.2f. %s\n", table$call[i], table$difference[i], table$low[i],
    table$high[i], reason_of(table$call[i])))
}

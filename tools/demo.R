# galvi at work: is a radar return from the ionosphere good or bad?   make demo
library(galvi)

# 281 rows to learn from, 70 to be tested on; inputs standardised by the mean and sd of the rows learned from.
set.seed(1)
test_rows <- sample(nrow(ionosphere), 70)
inputs <- setdiff(names(ionosphere), "Class")
centre <- colMeans(ionosphere[-test_rows, inputs])
spread <- apply(ionosphere[-test_rows, inputs], 2, sd)
data <- ionosphere
data[inputs] <- scale(data[inputs], centre, spread)
train <- data[-test_rows, ]
test <- data[test_rows, ]

cat("\n> fit <- galvi(Class ~ gp(.), data = train, family = binomial())\n\n")
seconds <- system.time(
  fit <- galvi(Class ~ gp(.), data = train, family = binomial(), verbose = TRUE)
)[["elapsed"]]
print(summary(fit))

error <- mean(predict(fit, test, type = "class") != test$Class)
log_loss <- -mean(predict(fit, test, type = "density"))
cat(sprintf("\nBound on the log evidence     %.4f nats, at most %.1g below its maximum (certificate)\n",
            fit$elbo, fit$convergence$gap))
cat(sprintf("Test error                    %.3f (%d of %d returns)\n", error, round(error * nrow(test)),
            nrow(test)))
guess <- prop.table(table(train$Class))[as.character(test$Class)]
cat(sprintf("Test log loss                 %.3f nats (%.3f for guessing the classes' frequencies)\n",
            log_loss, -mean(log(guess))))
cat(sprintf("Time to learn                 %.1f s\n", seconds))

picture <- function(name, panels = 1) {
  path <- file.path("demo-output", paste0(name, ".png"))
  dir.create("demo-output", showWarnings = FALSE)
  grDevices::png(path, width = 1000 * panels, height = 900, res = 160)
  graphics::par(mfrow = c(1, panels))
  plot(fit, which = name)
  grDevices::dev.off()
  cat(normalizePath(path), "\n", sep = "")
}
cat("\nWhich inputs matter, and how the bound was climbed:\n")
picture("relevance")
picture("trace", panels = 2)

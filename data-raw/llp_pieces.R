# Derives upper bounds B on llp(x) = log(1 + exp(x)) of R = 3, .., 20 linear and quadratic pieces with the
# least largest error that a continuous bound can have, and writes them to src/expectation/llp_pieces.h.
#   Rscript data-raw/llp_pieces.R [llp_bound.csv]     from the top of the source tree; takes seconds
# The argument names a table to compare with, columns c, b, a, lower, upper: a x^2 + b x + c between knots.
#
# B is linear on either side, 0 x + E and x + E, and quadratic between; B(x) - x / 2 is even. Its error B -
# llp swings between 0 and E. In terms of slopes: B' is a broken line that follows sigmoid = llp', crosses
# it where the error is 0 or E, and between neighbouring crossings p_1 < q_1 < p_2 < .. < q_K <= 0 encloses
# the area E with it:
#
#   -Inf to p_1       B' = 0, a knot, chord 1       the error falls from E to 0
#   p_j to q_j        chord j of the sigmoid        it rises to E
#   q_j to p_(j+1)    chord j, a knot, chord j + 1  it falls to 0
#   at 0              R = 2 K + 1: q_K = 0          the middle piece is even
#                     R = 2 K + 2: a knot           the error falls to 0 from q_K to 0
#
# That is the least error, and a bound without downward kinks costs nothing. Given E and the piece on its
# left, a piece reaches the further right the later it leaves its neighbour; their difference is a
# quadratic, which at the last moment at which it still has a root has a double one: there B' is continuous.
# So the best continuous bound is convex with a continuous slope by itself, but for an upward kink at 0
# where R is even. Continuity itself costs a factor that tends to (2 / sqrt 3)^3 = 1.54 (at 20 pieces 1.51),
# against pieces that jump from E to 0 at every knot.

sigmoid <- plogis
llp <- function(x) pmax(x, 0) + log1p(exp(-abs(x)))
root <- function(f, low, high) uniroot(f, c(low, high), tol = 1e-16, maxiter = 1000)$root

# The chord of the sigmoid through p < q: its slope, the area between them, and its integral from x to y.
slope <- function(p, q) (sigmoid(q) - sigmoid(p)) / (q - p)
area <- function(p, q) (q - p) * (sigmoid(p) + sigmoid(q)) / 2 - (llp(q) - llp(p))
integral <- function(p, slope, x, y) (y - x) * (sigmoid(p) + slope * ((x + y) / 2 - p))

# Where two chords meet; left of the first the slope of B is 0.
meet <- function(p, s, q, t) (sigmoid(p) - s * p - sigmoid(q) + t * q) / (t - s)

# Chains K chords for a given E. `miss` is positive if E is too large for them to end at 0, else negative.
chain <- function(E, K, odd) {
  last <- root(function(p) area(p, 0) - E, -60, -1e-3)  # no chord that begins further right encloses E
  p <- q <- s <- knot <- numeric()
  for (j in seq_len(K)) {
    end <- function(x) if (area(x, 0) <= E) 0 else root(function(q) area(x, q) - E, x, 0)
    joint <- function(x, t) if (j == 1) x - sigmoid(x) / t else meet(q[j - 1], s[j - 1], x, t)
    # the error at x if chord j begins there, which has to be 0
    error <- function(x) {
      t <- slope(x, end(x))
      if (j == 1) return(E + sigmoid(x)^2 / (2 * t) - llp(x))
      at <- joint(x, t)
      E + integral(q[j - 1], s[j - 1], q[j - 1], at) + integral(x, t, at, x) - (llp(x) - llp(q[j - 1]))
    }
    at_last <- if (j > 1 && q[j - 1] >= last) E else error(last)
    if (odd && j == K) {
      p[j] <- last
    } else {
      if (at_last >= 0) return(list(miss = at_last))
      p[j] <- root(error, if (j == 1) -60 else q[j - 1], last)
    }
    q[j] <- end(p[j])
    s[j] <- slope(p[j], q[j])
    knot[j] <- joint(p[j], s[j])
  }
  miss <- if (odd) at_last else E + integral(q[K], s[K], q[K], 0) - (llp(0) - llp(q[K]))
  list(miss = miss, knot = knot, curvature = s, zeros = p)
}

# As C++ takes it: B(x) = constant + sum_j (curvature_j - curvature_(j-1)) (x - knot_j)_+^2 / 2 for x <= 0,
# and B(x) = x + B(-x). The margin keeps B above llp whatever the rounding of the solution and of B: at the
# zeros of the error these are of the order of 1e-15.
margin <- 1e-12
evaluate <- function(b, x) {
  half <- function(x) {
    bends <- diff(c(0, b$curvature))
    b$constant + colSums(bends * outer(b$knot, x, function(t, x) pmax(x - t, 0)^2)) / 2
  }
  pmax(x, 0) + half(-abs(x))
}

minimax <- function(R) {
  K <- (R - 1) %/% 2
  E <- root(function(E) chain(E, K, R %% 2 == 1)$miss, 1e-5, 0.2)
  c(chain(E, K, R %% 2 == 1), list(pieces = R, constant = E + margin))
}

# Errors of B and the kink at 0 as the rounded numbers give them.
x <- c(0, exp(seq(log(1e-4), log(50), length.out = 1e5)))
check <- function(b) {
  error <- evaluate(b, -x) - llp(-x)
  at_zeros <- evaluate(b, b$zeros) - llp(b$zeros)
  least <- min(error, at_zeros)
  stopifnot(least > margin / 2, max(error) < b$constant + margin, b$curvature > 0, diff(b$knot) > 0)
  slope <- sum(b$curvature * diff(c(b$knot, 0)))  # of B left of 0
  stopifnot(if (b$pieces %% 2 == 1) abs(slope - 0.5) < 1e-14 else slope < 0.5)
  data.frame(pieces = b$pieces, max_error = b$constant, min_error = least, kink_at_0 = 1 - 2 * slope)
}

bounds <- lapply(3:20, minimax)
table <- do.call(rbind, lapply(bounds, check))
print(format(table, digits = 4), row.names = FALSE)

other <- commandArgs(TRUE)
if (length(other)) {
  pieces <- read.csv(other)
  x <- unique(c(-rev(x), x, pieces$upper[-nrow(pieces)]))
  row <- findInterval(x, pieces$lower)
  jump <- vapply(seq_len(nrow(pieces) - 1), function(k) {
    knot <- pieces$upper[k]
    with(pieces, abs((a[k] - a[k + 1]) * knot^2 + (b[k] - b[k + 1]) * knot + c[k] - c[k + 1]))
  }, 0)
  error <- with(pieces[row, ], a * x^2 + b * x + c) - llp(x)
  ours <- table[table$pieces == nrow(pieces), ]
  say <- "%s: error from %.2g to %.4g, jumps of up to %.2g\n"
  cat(sprintf(say, paste("our", nrow(pieces), "pieces"), ours$min_error, ours$max_error, 0))
  cat(sprintf(say, basename(other), min(error), max(error), max(jump)))
}

numbers <- function(x) {
  text <- strwrap(paste(sprintf("%.17g", x), collapse = ", "), 100, exdent = 6, initial = "     {")
  paste0(paste(text, collapse = "\n"), "}")
}
rows <- vapply(bounds, function(b) {
  sprintf("    {%d, %.17g,\n%s,\n%s},", b$pieces, b$constant, numbers(b$knot), numbers(b$curvature))
}, "")
writeLines(c(
  "// Generated by data-raw/llp_pieces.R, which says how and why.",
  "#pragma once",
  "",
  "namespace galvi {",
  "",
  "/// The left half of a bound on log(1 + exp(x)): `constant` up to the first knot, then from each knot on a",
  "/// piece with the second derivative `curvature`, value and slope continuous. (pieces - 1) / 2 knots.",
  "struct LlpPieces {",
  "  int pieces;",
  "  double constant;  // the largest error",
  "  double knot[9], curvature[9];",
  "};",
  "",
  "// clang-format off",
  sprintf("constexpr LlpPieces llp_pieces[%d] = {", length(bounds)),
  rows,
  "};",
  "// clang-format on",
  "",
  "}  // namespace galvi"
), "src/expectation/llp_pieces.h")

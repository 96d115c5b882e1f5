# Makes data/germany.rda from the csv files germany_*.   Run from the top of the source tree.
# They are `Oral`, germany.adjacency and `germany` of the R package spam 2.9-1 (LGPL-2 or BSD-3).
oral <- read.csv("data-raw/germany_oral.csv")
edges <- read.csv("data-raw/germany_edges.csv")
outlines <- read.csv("data-raw/germany_polygons.csv.gz")
stopifnot(nrow(oral) == 544, oral$region == 1:544, edges$i < edges$j, abs(sum(oral$Y) - sum(oral$E)) < 1e-3)

both <- rbind(edges, data.frame(i = edges$j, j = edges$i))
germany_graph <- unname(lapply(split(both$j, factor(both$i, 1:544)), sort))

# Outlines as polygon() draws them: parts are separated by NA.
parts <- split(outlines, outlines$region)
germany_map <- lapply(parts, function(region) {
  pieces <- lapply(split(region, region$part), function(p) rbind(as.matrix(p[c("x", "y")]), NA))
  all <- do.call(rbind, pieces)
  matrix(as.integer(all[-nrow(all), ]), ncol = 2L, dimnames = list(NULL, c("x", "y")))
})
names(germany_map) <- NULL

save(oral, germany_graph, germany_map, file = "data/germany.rda", compress = "xz", version = 2)

# Panels are data and marks: both back ends know every mark, and draw the numbers of every panel.

# The numbers of a mark along both axes, as both back ends should draw them
mark_numbers <- function(mark) {
  data <- lapply(mark$data, function(x) if (is.factor(x) || is.character(x)) NULL else as.numeric(x))
  switch(mark$kind,
    line = , points = data[c("x", "y")], segments = list(x = c(data$x, data$xend), y = c(data$y, data$yend)),
    band = list(x = c(data$x, data$x), y = c(data$lower, data$upper)),
    bars = list(x = c(data$from, data$to), y = c(data$low, data$high)),
    raster = , polygons = data[c("x", "y")], rug = data["x"], text = data[c("x", "y")],
    NULL
  )
}

same_numbers <- function(x, y) isTRUE(all.equal(sort(as.numeric(x)), sort(as.numeric(y)), tolerance = 1e-8))

# What base graphics drew of each kind of mark: list(x, y) for each call
base_numbers <- function(panel) {
  grDevices::pdf(NULL, width = 20, height = 20)
  on.exit(grDevices::dev.off())
  grDevices::dev.control("enable")
  # the keys would be points and segments too
  panel["key"] <- list(NULL)
  draw_panel(panel, list())
  calls <- recorded_calls()
  xy <- function(name) lapply(calls_of(calls, name), function(a) list(x = a[[1]]$x, y = a[[1]]$y))
  ends <- function(name) lapply(calls_of(calls, name), function(a) list(x = c(a[[1]], a[[3]]), y = c(a[[2]], a[[4]])))
  list(
    line = xy("C_plotXY"), points = xy("C_plotXY"), segments = c(ends("C_segments"), ends("C_arrows")),
    band = lapply(calls_of(calls, "C_polygon"), function(a) list(x = a[[1]], y = a[[2]])), bars = ends("C_rect")
  )
}

# Are the numbers of a mark those of one call of the kind, or of one for each line?
drawn_in_base <- function(mark, calls) {
  if (is.null(calls[[mark$kind]])) return(TRUE)
  rows <- if (mark$kind %in% c("line", "band")) line_rows(mark$data) else list(seq_len(nrow(mark$data)))
  all(vapply(rows, function(row) {
    own <- mark
    own$data <- mark$data[row, ]
    numbers <- mark_numbers(own)
    any(vapply(calls[[mark$kind]], function(call) {
      same_numbers(call$x, numbers$x) && same_numbers(call$y, numbers$y)
    }, NA))
  }, NA))
}

# Places with their colours, in any order
coloured_places <- function(x, y, colour) {
  rgb <- grDevices::col2rgb(rep_len(colour, length(x)))
  sort(paste(signif(as.numeric(x), 6), signif(as.numeric(y), 6), rgb[1, ], rgb[2, ], rgb[3, ]))
}

# Are they those of one layer of a ggplot, in the same colours?
drawn_in_ggplot <- function(mark, built, panel) {
  log <- panel$log
  if (mark$kind == "rule") {
    own <- c(horizontal = "yintercept", vertical = "xintercept", slope = "slope")[[names(mark$data)]]
    log <- own == "xintercept" && grepl("x", log)
    at <- if (log) log10(mark$data[[1L]]) else mark$data[[1L]]
    return(any(vapply(built, function(layer) same_numbers(layer[[own]], at), NA)))
  }
  numbers <- mark_numbers(mark)
  if (is.null(numbers)) return(TRUE)
  if (mark$kind %in% c("raster", "polygons") && any(is.na(mark$data$value))) numbers <- numbers["x"]
  paint <- if (mark$kind %in% c("band", "bars") || isTRUE(mark$filled)) "fill" else "colour"
  own <- mark_colours(mark, panel)
  numbers <- Map(function(x, axis) if (grepl(axis, log)) log10(x) else x, numbers, names(numbers))
  # those of values go by a scale
  known <- mark$kind %in% c("line", "points", "segments", "band", "bars") && is.null(mark$data$value)
  first <- lapply(numbers, utils::head, nrow(mark$data))
  places <- if (known) coloured_places(first$x, first$y, own)
  any(vapply(built, function(layer) {
    columns <- list(
      x = switch(mark$kind, segments = c("x", "xend"), band = c("x", "x"), bars = c("xmin", "xmax"), "x"),
      y = switch(mark$kind, segments = c("y", "yend"), band = c("ymin", "ymax"), bars = c("ymin", "ymax"), "y")
    )
    if (!all(c(unlist(columns[names(numbers)]), if (known) paint) %in% names(layer))) return(FALSE)
    first <- lapply(columns, function(names) layer[[names[1L]]])
    if (known && !identical(coloured_places(first$x, first$y, layer[[paint]]), places)) return(FALSE)
    all(vapply(names(numbers), function(axis) {
      own <- unlist(lapply(columns[[axis]], function(name) as.numeric(layer[[name]])))
      same_numbers(own, numbers[[axis]])
    }, NA))
  }, NA))
}

# Lines and points may be of the same places.
own_geoms <- list(line = c("GeomPath", "GeomLine", "GeomStep"), points = "GeomPoint")

# What there is to draw: every kind of plot, of fits whose panels have every mark
drawn_panels <- function() {
  map <- stats::setNames(squares(4), letters[1:4])
  own <- function(fit, which = "effects", ...) {
    settings <- utils::modifyList(formals_of_plots(), list(n = 11, ...))
    set.seed(1)
    fit_panels(fit, which, settings)$panels
  }
  effects <- lapply(c("few", "curves", "ordinal", "classes", "regions", "coefficients", "interaction", "two", "surface",
    "groups", "places", "factors", "ordinal_line"), function(name) own(picture_fit(name)))
  checks <- lapply(c("coefficients", "residuals", "worm", "predictive", "calibration", "relevance", "trace"),
    function(which) c(own(small_fit("flat"), which), own(picture_fit("class_coefficients"), which)))
  survival <- lapply(c("survival", "predictive", "calibration", "coefficients"), function(which) {
    own(picture_fit("survival"), which)
  })
  set.seed(1)
  searched <- galvi(dist ~ gp(speed), cars, control = galvi_control(starts = 3))
  maps <- c(own(searched, "trace"), own(picture_fit("blank"), map = map), own(picture_fit("ordinal"), scale = "response"))
  unlist(c(effects, checks, survival, list(maps)), recursive = FALSE)
}

test_that("both back ends know every mark", {
  expect_setequal(names(base_marks), names(gg_marks))
})

test_that("both back ends draw the numbers of every panel in the same colours, of every kind of plot", {
  skip_if_not_installed("ggplot2")
  skip_if_not_installed("survival")
  panels <- drawn_panels()
  kinds <- unlist(lapply(panels, function(panel) vapply(panel$marks, `[[`, "", "kind")))
  expect_setequal(kinds, names(base_marks))
  for (panel in panels) {
    base <- base_numbers(panel)
    plot <- gg_panel(panel)
    built <- ggplot2::ggplot_build(plot)$data
    geom <- vapply(plot$layers, function(layer) class(layer$geom)[1L], "")
    panel <- coloured(panel, NULL)
    for (mark in panel$marks) {
      label <- paste(mark$kind, "of", panel$name)
      expect_true(drawn_in_base(mark, base), label = paste(label, "in base graphics"))
      own <- if (mark$kind %in% names(own_geoms)) geom %in% own_geoms[[mark$kind]] else TRUE
      expect_true(drawn_in_ggplot(mark, built[own], panel), label = paste(label, "in ggplot2"))
    }
  }
})

test_that("a kind of plot is a line of the table: its arguments are those of plot() and autoplot()", {
  for (kind in plot_kinds) {
    expect_type(kind$panels, "closure")
    expect_true(all(kind$arguments %in% names(formals(plot.galvi))))
    expect_true(all(kind$arguments %in% names(formals(autoplot.galvi))))
  }
  expect_identical(eval(formals(plot.galvi)$which), names(plot_kinds))
  expect_identical(eval(formals(autoplot.galvi)$which), names(plot_kinds))
})

test_that("a ggplot is an ordinary one: layers, scales and themes can be added", {
  skip_if_not_installed("ggplot2")
  plot <- ggplot2::autoplot(picture_fit("few"), n = 11)
  expect_named(plot$data, c("speed", "fit", "lwr", "upr"))
  more <- plot + ggplot2::geom_point(ggplot2::aes(speed, dist), cars) + ggplot2::scale_y_sqrt() +
    ggplot2::theme_minimal() + ggplot2::labs(x = "mph")
  expect_no_error(suppressWarnings(suppressMessages(built <- ggplot2::ggplot_build(more))))
  expect_identical(nrow(built$data[[length(built$data)]]), 50L)
  expect_identical(built$plot$labels$x, "mph")
  coloured <- suppressMessages(ggplot2::autoplot(picture_fit("curves"), n = 11) +
    ggplot2::scale_colour_manual(values = c("black", "red"), aesthetics = c("colour", "fill")))
  expect_no_error(ggplot2::ggplot_build(coloured))
})

test_that("rows that there is no room for are left out with all their marks, and the panel says so", {
  data <- data.frame(g = sprintf("level %d", 1:90), fit = 1:90, lwr = 0:89, upr = 2:91)
  panel <- dots_panel(data, "iid(g)", "effect")
  few <- fewer_rows(coloured(panel, NULL), 10)
  expect_identical(few$rows$names, data$g[unique(round(seq(1, 90, length.out = 10)))])
  expect_identical(few$note, "10 of 90 levels, evenly through their order")
  points <- Find(function(mark) mark$kind == "points", few$marks)$data
  expect_equal(points$y, 1:10)
  expect_equal(sprintf("level %d", points$x), few$rows$names)
  expect_length(fewer_rows(coloured(panel, NULL))$rows$names, most_dots)
  # of those on top
  first <- relevance_panel(data.frame(kind = "input", name = letters[1:5], relevance = c(3, 1, 5, 2, 4)), "sd")
  expect_identical(fewer_rows(coloured(first, NULL), 2)$rows$names, c("e", "c"))
})

test_that("units of a biplot that are too many for names are points, and the items keep theirs", {
  units <- cbind(sin(1:80), cos(2 * 1:80))
  items <- rbind(first = c(2, 1), second = c(-1, 2))
  names <- function(units_names) {
    panel <- biplot_panel(units, items, units_names, "")
    Find(function(mark) mark$kind == "names", panel$marks)$data$text
  }
  expect_identical(names(NULL), c("first", "second"))
  expect_identical(names(sprintf("unit %d", 1:80)), c("first", "second", sprintf("unit %d", 1:80)))
})

test_that("the arrow of an item whose loadings are zero is not drawn, without a warning", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  plot(0:1, 0:1)
  heads <- data.frame(x = 0, y = 0, xend = c(0, 1), yend = c(0, 0.5))
  expect_silent(draw_segments(heads, "black", list(arrow = TRUE)))
})

test_that("ggplot2 breaks long titles and shortens long names of rows, whose ends stay", {
  skip_if_not_installed("ggplot2")
  d <- data.frame(t = 1:20, y = sin(1:20))
  fit <- galvi(y ~ gp(t, kernel = rational_quadratic() * periodic(5) + matern32() * periodic(7)) +
    gp(t, kernel = se() * linear() * periodic(3)), d, hyper = "fixed")
  effects <- ggplot2::autoplot(fit)
  title <- effects[[1L]]$labels$title
  expect_match(title, "\n")
  expect_identical(gsub("\n", " ", title), names(effects)[1L])
  relevance <- ggplot2::autoplot(fit, "relevance")
  shown <- ggplot2::layer_scales(relevance)$y$get_labels()
  expect_lte(max(nchar(shown)), 36L)
  expect_true("t" %in% shown)
  expect_true(any(grepl("[.][.][.].* [*] periodic$", shown)))
})

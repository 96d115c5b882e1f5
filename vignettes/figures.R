# Figures of the vignettes as PNG with 64 colours, which look the same and take a third of the space: png() writes
# three bytes a pixel where edges are smooth. They are drawn as bitmaps, and knitr calls palette_png() on each.

# The number 256^2 red + 256 green + blue for each pixel, a row of the picture in each column.
read_bitmap <- function(path) {
  bytes <- readBin(path, "raw", file.size(path))
  number <- function(at) readBin(bytes[at + 1:4], "integer", endian = "little")
  width <- number(18)
  pixel <- as.integer(bytes[29]) / 8  # bytes: a colour, or its place in the table
  stride <- 4 * ceiling(width * pixel / 4)
  height <- abs(number(22))
  body <- matrix(as.integer(bytes[number(10) + seq_len(stride * height)]), stride)[seq_len(width * pixel), ]
  colour <- function(x) x[1, ] + 256L * x[2, ] + 65536L * x[3, ]
  colours <- if (pixel == 1) {
    colour(matrix(as.integer(bytes[55:number(10)]), 4))[body + 1L]
  } else {
    colour(matrix(body, pixel))
  }
  matrix(colours, width)[, height:1]
}

channels <- function(colours) cbind(colours %/% 65536L, colours %/% 256L %% 256L, colours %% 256L)

# 64 of the colours: the commonest one of each of the commonest cells of 32^3.
choose_colours <- function(colours) {
  counts <- sort(table(colours), decreasing = TRUE)
  each <- as.integer(names(counts))
  cells <- drop((channels(each) %/% 8L) %*% 32^(2:0))
  weights <- sort(tapply(counts, cells, sum), decreasing = TRUE)
  each[match(utils::head(names(weights), 64), cells)]
}

# Place in `chosen` of the nearest of them.
nearest <- function(colours, chosen) {
  each <- unique(c(colours))
  distance <- outer(rowSums(channels(chosen)^2), rep(1, length(each))) - 2 * channels(chosen) %*% t(channels(each))
  apply(distance, 2, which.min)[match(colours, each)]
}

big_endian <- function(x) writeBin(as.integer(x), raw(), endian = "big")

gzipped <- function(bytes) {
  path <- tempfile()
  file <- gzfile(path, "wb", compression = 9)
  writeBin(bytes, file)
  close(file)
  readBin(path, "raw", file.size(path))
}

# A file of gzip ends with the checksum that PNG asks for, and the length.
checksum <- function(bytes) rev(utils::head(utils::tail(gzipped(bytes), 8), 4))

# The same in zlib's format, smaller than that of memCompress(): other bytes before what is compressed, and Adler's checksum
# after it.
compressed <- function(bytes) {
  own <- gzipped(bytes)
  x <- as.numeric(as.integer(bytes))
  first <- (1 + sum(x)) %% 65521
  second <- (length(x) + sum(rev(seq_along(x)) * x)) %% 65521
  c(as.raw(c(0x78, 0xda)), own[11:(length(own) - 8)], rev(writeBin(as.integer(c(first %% 256, first %/% 256, second %% 256, second %/% 256)), raw(), size = 1)))
}

palette_png <- function(path) {
  pixels <- read_bitmap(path)
  chosen <- choose_colours(pixels)
  chunk <- function(type, data) {
    data <- c(charToRaw(type), data)
    c(big_endian(length(data) - 4), data, checksum(data))
  }
  places <- rbind(0L, matrix(nearest(pixels, chosen) - 1L, nrow(pixels)))  # 0: a line without a filter
  target <- sub("bmp$", "png", path)
  writeBin(c(
    as.raw(c(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)),
    chunk("IHDR", c(big_endian(dim(pixels)), as.raw(c(8, 3, 0, 0, 0)))), chunk("PLTE", as.raw(t(channels(chosen)))),
    chunk("IDAT", compressed(as.raw(places))), chunk("IEND", raw())
  ), target)
  unlink(path)
  target
}

# The format of bitmaps is known of cairo's and of Windows' device.
if (capabilities("cairo") || .Platform$OS.type == "windows") {
  options(bitmapType = "cairo")
  knitr::opts_chunk$set(
    dev = "bmp", fig.process = function(path) if (endsWith(path, ".bmp")) palette_png(path) else path
  )
}

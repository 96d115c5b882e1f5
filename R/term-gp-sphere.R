# Places on a sphere as inputs of gp().

#' Places on a sphere
#'
#' `gp(sphere(lon, lat))` is a Gaussian process over places on the Earth, or on any sphere: distances are chords,
#' straight lines through it.
#'
#' @details
#' The function returns the places' coordinates in space, three columns with the origin in the middle of the sphere.
#' Every kernel of [gp()] is then a covariance function on the sphere, `inducing`, `neighbours` and the other arguments
#' work as for other inputs, and lengthscales are in units of `radius`, kilometres by default. Chords and great circles
#' differ by
#' 0.1 % at 1,000 km and 0.9 % at 3,000 km. Kernels of the great-circle distance are not an alternative: the Matern
#' covariance of it is positive definite only up to a smoothness of 1/2 (Gneiting, 2013).
#'
#' Longitudes may be from -180 to 180 or from 0 to 360 degrees: there is no seam at either end, nor at the poles.
#'
#' @param lon,lat Longitude and latitude in degrees, numbers.
#' @param radius Radius of the sphere, 6371 km for the Earth.
#' @return A matrix with a row for each place and the columns `x`, `y` and `z`.
#' @section Errors:
#' `galvi_error_data` if longitudes or latitudes are not numbers in their range, `galvi_error_argument` if `radius` is
#' not a positive number.
#' @references
#' Gneiting, T. (2013). Strictly and non-strictly positive definite functions on spheres. *Bernoulli* 19, 1327-1349.
#' @seealso `s(lat, lon, bs = "sos")` in [smooths], a spline on the sphere.
#' @family terms
#' @examples
#' sphere(lon = c(-0.1, 151.2), lat = c(51.5, -33.9))
#' formula <- mag ~ gp(sphere(long, lat), kernel = matern32(), inducing = 30)
#' fit <- galvi(formula, data = quakes[1:300, ])
#' predict(fit, data.frame(long = 180, lat = -20), se.fit = TRUE)
#' @export
sphere <- function(lon, lat, radius = 6371) {
  check_number(radius, "radius", 0, open_lower = TRUE, what = "argument")
  check_degrees(lon, "lon", 360)
  check_degrees(lat, "lat", 90)
  if (length(lon) != length(lat)) {
    stop_galvi("data", sprintf("`lon` and `lat` must have the same length, not %d and %d.", length(lon), length(lat)))
  }
  lon <- as.numeric(lon) * pi / 180
  lat <- as.numeric(lat) * pi / 180
  radius * cbind(x = cos(lat) * cos(lon), y = cos(lat) * sin(lon), z = sin(lat))
}

check_degrees <- function(x, name, most) {
  if (!is.numeric(x) || !is.null(dim(x))) {
    stop_galvi("data", sprintf("`%s` of sphere() must be numbers, degrees, not %s.", name, describe(x)))
  }
  bad <- which(!is.na(x) & abs(x) > most)
  if (!length(bad)) return(invisible())
  stop_galvi("data", sprintf("`%s` of sphere() must be degrees between -%d and %d; %s.%s", name, most, most,
    found_in_rows(x, bad), if (most == 90) " Longitude comes first: sphere(lon, lat)." else ""))
}

#' Longitude and latitude of what sphere() returned: list(lon, lat, radius)
#' @noRd
degrees_of <- function(x) {
  radius <- sqrt(rowSums(x^2))
  list(lon = atan2(x[, 2L], x[, 1L]) * 180 / pi, lat = asin(x[, 3L] / radius) * 180 / pi, radius = mean(radius))
}

is_on_sphere <- function(expr) identical(head_name(expr), "sphere") && length(expr) >= 3L

#' sphere() of galvi where the formula does not see it
#' @noRd
own_sphere <- function(input, env) {
  if (!is_on_sphere(input) || !is.symbol(input[[1L]]) || exists("sphere", envir = env, mode = "function")) return(input)
  input[[1L]] <- quote(galvi::sphere)
  input
}

// Reading R lists: every field is checked, because R's own checks are for users and Eigen's are off.
#pragma once

#include <Rcpp/Lightest>

#include <stdexcept>
#include <string>
#include <vector>

#include "numeric/types.h"

namespace galvi {

inline SEXP field(const Rcpp::List& list, const char* name) {
  if (!list.containsElementNamed(name))
    throw std::invalid_argument(std::string("the model list lacks \"") + name + "\"");
  return list[name];
}

inline bool has(const Rcpp::List& list, const char* name) {
  return list.containsElementNamed(name) && !Rf_isNull(list[name]);
}

template <class T>
T get(const Rcpp::List& list, const char* name) {
  return Rcpp::as<T>(field(list, name));
}

/// Copies the numbers: R's memory is not used beyond the call.
inline Vector from_r(const Rcpp::NumericVector& x) { return Eigen::Map<const Vector>(x.begin(), x.size()); }
inline Matrix from_r(const Rcpp::NumericMatrix& X) {
  return Eigen::Map<const Matrix>(X.begin(), X.nrow(), X.ncol());
}

inline Vector get_vector(const Rcpp::List& list, const char* name) {
  return from_r(get<Rcpp::NumericVector>(list, name));
}
inline Matrix get_matrix(const Rcpp::List& list, const char* name) {
  return from_r(get<Rcpp::NumericMatrix>(list, name));
}

/// 1-based positions from R, 0-based here; 0 ("none") becomes -1.
inline std::vector<Index> positions(SEXP x) {
  const Rcpp::IntegerVector from_r(x);
  std::vector<Index> out(from_r.size());
  for (R_xlen_t i = 0; i < from_r.size(); ++i) {
    if (from_r[i] == NA_INTEGER || from_r[i] < 0)
      throw std::invalid_argument("a position is not a whole number");
    out[i] = from_r[i] - 1;
  }
  return out;
}

/// 0-based positions as R's.
inline Rcpp::IntegerVector positions_to_r(const std::vector<Index>& x) {
  Rcpp::IntegerVector out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = static_cast<int>(x[i]) + 1;
  return out;
}

inline Rcpp::NumericVector to_r(const Vector& x) {
  return Rcpp::NumericVector(x.data(), x.data() + x.size());
}

inline Rcpp::NumericMatrix to_r(const Matrix& X) {
  Rcpp::NumericMatrix out(static_cast<int>(X.rows()), static_cast<int>(X.cols()));
  std::copy(X.data(), X.data() + X.size(), out.begin());
  return out;
}

}  // namespace galvi

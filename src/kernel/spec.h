// Reading a kernel's specification.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace galvi {

/// Table positions of a parameter: one, or one per column where `per_column` allows it.
inline std::vector<Index> positions(const KernelSpec& spec, const std::string& parameter, bool per_column) {
  const auto found = spec.hyper.find(parameter);
  if (found == spec.hyper.end()) {
    throw std::invalid_argument("kernel '" + spec.type + "' needs the parameter '" + parameter + "'");
  }
  const size_t count = found->second.size();
  if (count != 1 && !(per_column && count == spec.columns.size())) {
    throw std::invalid_argument("kernel '" + spec.type + "': '" + parameter + "' has " +
                                std::to_string(count) + " values for " + std::to_string(spec.columns.size()) +
                                " columns");
  }
  return found->second;
}

inline Index position(const KernelSpec& spec, const std::string& parameter) {
  return positions(spec, parameter, false)[0];
}

/// A positive value from the hyperparameter table.
inline double positive(const ConstVectorRef& hyper, Index at, const char* parameter) {
  const double value = hyper[at];
  if (!(value > 0) || !std::isfinite(value)) {
    throw std::domain_error(std::string(parameter) + " must be positive and finite, not " +
                            std::to_string(value));
  }
  return value;
}

/// A variance from the table; zero is legal.
inline double non_negative(const ConstVectorRef& hyper, Index at, const char* parameter) {
  const double value = hyper[at];
  if (!(value >= 0) || !std::isfinite(value)) {
    throw std::domain_error(std::string(parameter) + " must be finite and not negative, not " +
                            std::to_string(value));
  }
  return value;
}

/// The columns of X that a kernel acts on.   X: a x p, result: a x columns.
inline Matrix select_columns(const ConstMatrixRef& X, const std::vector<Index>& columns) {
  Matrix out(X.rows(), static_cast<Index>(columns.size()));
  for (size_t d = 0; d < columns.size(); ++d) out.col(d) = X.col(columns[d]);
  return out;
}

}  // namespace galvi

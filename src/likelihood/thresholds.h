// The thresholds between ordered classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "likelihood/likelihood.h"

namespace galvi {

/// Class c = 0..C - 1 lies between threshold c - 1 and threshold c; the outermost are infinite. The
/// thresholds are rows of the table of hyperparameters.
class Thresholds {
 public:
  explicit Thresholds(const LikelihoodSpec& spec, const char* name = "thresholds")
      : label_(spec.type + ": `" + name + "`") {
    const auto entry = spec.hyper.find(name);
    if (entry == spec.hyper.end() || entry->second.empty())
      throw std::invalid_argument(label_ + " must be named, one fewer than classes");
    positions_ = entry->second;
    for (std::size_t j = 0; j < positions_.size(); ++j) values_.push_back(static_cast<double>(j));
  }
  void update(const ConstVectorRef& hyper) {
    for (std::size_t j = 0; j < positions_.size(); ++j) {
      if (positions_[j] < 0 || positions_[j] >= hyper.size())
        throw std::invalid_argument(label_ + " point outside the table of hyperparameters");
      values_[j] = hyper[positions_[j]];
      if (!std::isfinite(values_[j]) || (j > 0 && !(values_[j] > values_[j - 1])))
        throw std::domain_error(label_ + " must be finite and in increasing order");
    }
  }

  Index classes() const { return static_cast<Index>(values_.size()) + 1; }
  const std::vector<double>& values() const { return values_; }
  bool first(const Datum& datum) const { return datum.y < 0.5; }
  bool last(const Datum& datum) const { return datum.y > static_cast<double>(values_.size()) - 0.5; }
  /// The threshold above the class, which must not be the last, and the one below it.
  double above(const Datum& datum) const { return values_[index(datum)]; }
  double below(const Datum& datum) const { return values_[index(datum) - 1]; }
  Index above_position(const Datum& datum) const { return positions_[index(datum)]; }
  Index below_position(const Datum& datum) const { return positions_[index(datum) - 1]; }

  /// A value inside the class, or not far beyond its only threshold.
  double inside(const Datum& datum) const {
    if (first(datum)) return above(datum) - 2.0;
    if (last(datum)) return below(datum) + 2.0;
    return below(datum) + 0.5 * (above(datum) - below(datum));
  }

 private:
  static std::size_t index(const Datum& datum) { return static_cast<std::size_t>(datum.y + 0.5); }

  std::string label_;
  std::vector<Index> positions_;
  std::vector<double> values_;
};

/// E Y and Var Y of the class number Y, from P(Y > j) of every threshold j: E Y = sum_j P(Y > j) and
/// E Y^2 = sum_j (2 j + 1) P(Y > j).
struct ClassMoments {
  double mean = 0.0, variance = 0.0;
};
template <class Probability>
ClassMoments class_moments(const Thresholds& thresholds, Probability above) {
  ClassMoments out;
  double square = 0.0;
  for (std::size_t j = 0; j < thresholds.values().size(); ++j) {
    const double p = above(thresholds.values()[j]);
    out.mean += p;
    square += (2.0 * static_cast<double>(j) + 1.0) * p;
  }
  out.variance = std::max(0.0, square - out.mean * out.mean);
  return out;
}

}  // namespace galvi

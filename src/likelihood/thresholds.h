// The thresholds between ordered classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "likelihood/likelihood.h"

namespace galvi {

/// Class c = 0..C - 1 has threshold c - 1 below and threshold c above it, which the first and the last class lack. They
/// are rows of the table of hyperparameters, and are read in units of 1 / scale.
class Thresholds {
 public:
  /// in_order: must they increase? name: of these hyperparameters.
  Thresholds(const LikelihoodSpec& spec, bool in_order, const char* name = "thresholds")
      : label_(spec.type + ": `" + name + "`"), in_order_(in_order) {
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
      if (!std::isfinite(values_[j]) || (in_order_ && j > 0 && !(values_[j] > values_[j - 1])))
        throw std::domain_error(label_ +
                                (in_order_ ? " must be finite and in increasing order" : " must be finite"));
    }
    scale_ = 1.0;
  }
  void multiply(double scale) {
    for (double& value : values_) value *= scale;
    scale_ *= scale;
  }

  Index classes() const { return static_cast<Index>(values_.size()) + 1; }
  const std::vector<double>& values() const { return values_; }
  double scale() const { return scale_; }
  static Index class_of(const Datum& datum) { return static_cast<Index>(datum.y + 0.5); }
  bool first(const Datum& datum) const { return datum.y < 0.5; }
  bool last(const Datum& datum) const { return datum.y > static_cast<double>(values_.size()) - 0.5; }
  /// The threshold above the class, infinite for the last, and the one below it.
  double above(const Datum& datum) const { return last(datum) ? infinity : values_[index(datum)]; }
  double below(const Datum& datum) const { return first(datum) ? -infinity : values_[index(datum) - 1]; }

  /// gradient[h] += the slope in threshold j, that of its value in these units.
  void add(Index j, double slope, VectorRef gradient) const {
    gradient[positions_[static_cast<std::size_t>(j)]] += scale_ * slope;
  }

  /// A value inside the class, or not far beyond its only threshold. Where thresholds have no order, beyond all of those
  /// that are to be passed.
  double inside(const Datum& datum) const {
    if (first(datum)) return above(datum) - 2.0;
    const auto passed = values_.begin() + class_of(datum);
    const double low = in_order_ ? below(datum) : *std::max_element(values_.begin(), passed);
    if (last(datum)) return low + 2.0;
    return low + 0.5 * (above(datum) - low);
  }

 private:
  static std::size_t index(const Datum& datum) { return static_cast<std::size_t>(class_of(datum)); }

  std::string label_;
  bool in_order_;
  std::vector<Index> positions_;
  std::vector<double> values_;
  double scale_ = 1.0;
};

}  // namespace galvi

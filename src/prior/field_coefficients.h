// The coefficients of the parts of a field's precision, as functions of the model's table of hyperparameters.
#pragma once

#include <vector>

#include "prior/effect_blocks.h"
#include "prior/field_models.h"
#include "prior/term.h"

namespace galvi {

/// A field may be several copies of one model side by side, each with hyperparameters and parts of its own. The
/// coefficients of a product of two fields are the products of theirs, in the order of the parts: those of the inner
/// field change fastest.
class FieldCoefficients {
 public:
  /// unit_variance: a `variance` that the spec does not name is one, as in the outer factor of a product, whose scale
  /// is the inner one's. Throws std::invalid_argument for an unknown model or hyperparameters that do not fit it.
  explicit FieldCoefficients(const FieldSpec& spec, bool unit_variance = false);

  void update(const ConstVectorRef& hyper);
  Index count() const { return count_; }
  const Vector& values() const { return values_; }  // empty before the first update()
  /// hyper[h] += sum_p d_values_p d value_p / dh.
  void chain(const Vector& d_values, VectorRef hyper) const;
  /// Does each copy have one part?
  bool one_each() const;

 private:
  /// The positions of a copy's hyperparameters (-1: none, it is one) and the first of its parts.
  struct Copy {
    std::vector<Index> hyper;
    Index first;
    Matrix slope;  // d coefficient_p / d hyper_h
  };
  void read_copies(const FieldSpec& spec, bool unit_variance);
  void read_blocks(const FieldSpec& spec);

  const FieldModel* model_ = nullptr;  // null: a product
  std::vector<Copy> copies_;
  std::vector<EffectBlock> blocks_;  // effects of groups, one for each copy
  std::vector<FieldCoefficients> factors_;  // outer, inner
  Index count_ = 0;
  Vector values_;
};

}  // namespace galvi

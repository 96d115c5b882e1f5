// The models of Markov fields: how hyperparameters make the coefficients of a precision's parts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "numeric/types.h"
#include "prior/effect_structure.h"

namespace galvi {

/// A hyperparameter of a field: its transform (hyper/table.h) and the range that is searched, for a scale
/// (`relative`) in units of its starting value.
struct FieldParameter {
  std::string name, transform;
  double lower, upper;
  bool relative = false;
  bool limited = false;  // ends of its range stand for limits of the model: no field, or one that is degenerate
};

/// The coefficients of the parts and their derivatives (part x hyperparameter).
struct Mixture {
  Vector coefficient;
  Matrix slope;
};

/// parts: of one copy. The effects of groups have a structure in place of `mix`, and as many parts as their precision
/// has entries (prior/effect_blocks.h); their hyperparameters are `sd` and, if there are correlations, `cor`.
struct FieldModel {
  std::string name;
  std::vector<FieldParameter> hyper;
  Index parts;
  Mixture (*mix)(const Vector& hyper);
  const EffectStructure* structure = nullptr;
};

const std::vector<FieldModel>& field_models();
/// Throws std::invalid_argument for an unknown name.
const FieldModel& find_field_model(const std::string& name);

/// What R reads: the hyperparameters of each model.
std::vector<std::pair<std::string, std::vector<FieldParameter>>> field_facts();

}  // namespace galvi

// The models of Markov fields: how hyperparameters make the coefficients of a precision's parts.
#pragma once

#include "prior/field.h"

namespace galvi {

/// The coefficients of the parts and their derivatives (part x hyperparameter).
struct Mixture {
  Vector coefficient;
  Matrix slope;
};

/// parts: of one copy; 0 where hyperparameters are arrays, of which there are as many numbers as parts.
struct FieldModel {
  std::string name;
  std::vector<FieldParameter> hyper;
  Index parts;
  Mixture (*mix)(const Vector& hyper);
};

const std::vector<FieldModel>& field_models();
/// Throws std::invalid_argument for an unknown name.
const FieldModel& find_field_model(const std::string& name);

}  // namespace galvi

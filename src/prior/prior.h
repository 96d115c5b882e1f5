// A Gaussian prior over linear predictors: the sum of its terms.
#pragma once

#include "prior/term.h"

namespace galvi {

class Prior {
 public:
  explicit Prior(std::vector<std::unique_ptr<Term>> terms) : terms_(std::move(terms)) {}

  auto begin() const { return terms_.begin(); }
  auto end() const { return terms_.end(); }
  Index size() const { return static_cast<Index>(terms_.size()); }
  const Term& operator[](Index t) const { return *terms_[t]; }

  /// Reads the hyperparameters from the model's table (natural scale).
  void update(const ConstVectorRef& hyper);
  void hold_basis(bool held);

  // Each of these is the sum of the terms' own: see Term.
  Vector mean(const DesignRows& rows) const;
  void add_covariance(Context& context, const DesignRows& rows, MatrixRef K) const;
  void add_variances(Context& context, const DesignRows& rows, VectorRef d) const;
  void add_cross(Context& context, const DesignRows& rows, const DesignRows& others, MatrixRef K) const;
  void add_covariance_gradient(Context& context, const DesignRows& rows, const Weights& G,
                               VectorRef hyper) const;

 private:
  std::vector<std::unique_ptr<Term>> terms_;
};

}  // namespace galvi

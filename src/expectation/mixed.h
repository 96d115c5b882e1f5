// Expectations of rows whose likelihoods differ (likelihood/mixed.h): one for each likelihood, asked for its rows.
#pragma once

#include "expectation/expectation.h"
#include "likelihood/mixed.h"

namespace galvi {

class MixedExpectation final : public Expectation {
 public:
  /// has_priors: as the likelihood's.
  MixedExpectation(std::vector<std::unique_ptr<Expectation>> parts, bool has_priors)
      : parts_(std::move(parts)), has_priors_(has_priors) {}
  /// That of the data where the others are priors; else the name that all share or, if they differ, that of the
  /// integrated ones.
  std::string name() const override;
  std::string refuses(const Likelihood& likelihood) const override;
  void evaluate(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                const Matrix& variance, int order, Expectations& out) const override;
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean, const double* variance,
                    int order, RowExpectation& out) const override;
  void add_gradient(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                    const Matrix& variance, VectorRef gradient) const override;
  bool exact() const override { return all(&Expectation::exact); }
  bool consistent() const override { return all(&Expectation::consistent); }
  bool is_bound() const override { return all(&Expectation::is_bound); }
  bool one_optimum(const Likelihood& likelihood) const override;

 private:
  bool all(bool (Expectation::*property)() const) const;
  std::vector<std::unique_ptr<Expectation>> parts_;
  bool has_priors_;
};

}  // namespace galvi

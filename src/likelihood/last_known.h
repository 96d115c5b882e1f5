// A user's density of several linear predictors, the last of which is known.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "likelihood/custom.h"

namespace galvi {

/// The functions of the other predictors that it leaves, which call the user's.
class LastKnown final : public DensityFunctions {
 public:
  LastKnown(std::shared_ptr<const DensityFunctions> all, double last) : all_(std::move(all)), last_(last) {
    starts_.assign(all_->starts().begin(), all_->starts().end() - 1);
  }
  Index latents() const override { return all_->latents() - 1; }
  const std::vector<double>& starts() const override { return starts_; }
  const std::string& owner() const override { return all_->owner(); }
  const std::vector<std::string>& parameters() const override { return all_->parameters(); }
  Vector log_density(const Vector& y, const ConstMatrixRef& eta, const Vector& parameters) const override {
    Matrix whole(eta.rows(), eta.cols() + 1);
    whole.leftCols(eta.cols()) = eta;
    whole.col(eta.cols()).setConstant(last_);
    return all_->log_density(y, whole, parameters);
  }
  void check(double y, const Vector& eta, const Vector& parameters) const override {
    Vector whole(eta.size() + 1);
    whole << eta, last_;
    all_->check(y, whole, parameters);
  }
  bool has_derivatives() const override { return false; }
  Matrix derivatives(const Vector&, const Vector&, const Vector&) const override { return {}; }
  const Vector& reference() const override { return all_->reference(); }

 private:
  std::shared_ptr<const DensityFunctions> all_;
  double last_;
  std::vector<double> starts_;
};

}  // namespace galvi

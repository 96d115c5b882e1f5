// Several likelihoods side by side: each row has one of them, as columns of different kinds do, and as rows of data and
// priors of coefficients do (likelihood/coefficient_priors.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "likelihood/likelihood.h"

namespace galvi {

/// A row has parts()[datum.part]. Columns of different kinds have K = 1 each. Or the first part is that of the data,
/// with any K, and each of the others is the prior of a coefficient of latent value latent(part) alone. What is asked
/// without a row, as predictions are, is to be asked of a part.
class Mixed final : public Likelihood {
 public:
  explicit Mixed(std::vector<std::unique_ptr<Likelihood>> parts) : parts_(std::move(parts)), latent_(parts_.size(), 0) {
    for (const auto& part : parts_)
      if (part->latents() != 1)
        throw std::invalid_argument("a list of families takes those with one linear predictor and no classes");
  }
  /// data: not mixed, or of several columns. priors: of K = 1, of latent value latent[i].
  Mixed(std::unique_ptr<Likelihood> data, std::vector<std::unique_ptr<Likelihood>> priors, std::vector<Index> latent)
      : latent_(std::move(latent)), has_priors_(true) {
    latent_.insert(latent_.begin(), 0);
    parts_.push_back(std::move(data));
    for (auto& prior : priors) parts_.push_back(std::move(prior));
    for (const Index k : latent_)
      if (k < 0 || k >= latents()) throw std::invalid_argument("a prior names a latent value that is not there");
  }
  const Mixed* mixed() const override { return this; }
  const std::vector<std::unique_ptr<Likelihood>>& parts() const { return parts_; }
  const Likelihood& part(const Datum& datum) const { return *parts_.at(datum.part); }
  /// Is the first part that of the data, and are the others priors of coefficients?
  bool has_priors() const { return has_priors_; }
  bool is_prior(const Datum& datum) const { return has_priors_ && datum.part > 0; }
  /// The latent value that a part of K = 1 sees.
  Index latent(Index part) const { return latent_[part]; }

  Index latents() const override { return parts_.front()->latents(); }
  const Distributional* distributional() const override { return of_data() ? of_data()->distributional() : nullptr; }
  bool separable() const override { return !of_data() || of_data()->separable(); }
  bool compete() const override { return of_data() && of_data()->compete(); }
  void update(const ConstVectorRef& hyper) override {
    for (const auto& part : parts_) part->update(hyper);
  }
  double log_density(const Datum& datum, const double* eta) const override {
    return part(datum).log_density(datum, eta + latent_[datum.part]);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    part(datum).derivatives(datum, eta, out);
  }
  /// In every respect that of the roughest part.
  Smoothness smoothness() const override {
    Smoothness out = parts_.front()->smoothness();
    for (const auto& part : parts_) {
      const Smoothness own = part->smoothness();
      out.width = std::min(out.width, own.width);
      out.growth = std::max(out.growth, own.growth);
      out.oscillation = std::max(out.oscillation, own.oscillation);
    }
    return out;
  }
  Smoothness smoothness(const Datum& datum) const override { return part(datum).smoothness(datum); }
  std::optional<TiltedMoments> tilted(const Datum& datum, double weight, double mean, double variance) const override {
    return part(datum).tilted(datum, weight, mean, variance);
  }
  bool log_concave() const override { return all(&Likelihood::log_concave); }
  bool concave_in_each() const override { return all(&Likelihood::concave_in_each); }
  double starting_eta(const Datum& datum) const override { return part(datum).starting_eta(datum); }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return part(datum).conditional_cdf(datum, eta);
  }
  double conditional_mean(const Datum&, const double*) const override { refuse(); }
  double conditional_variance(const Datum&, const double*) const override { refuse(); }
  bool discrete() const override { return all(&Likelihood::discrete); }
  Support support(const Datum&) const override { return {-infinity, infinity}; }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    part(datum).add_gradient(datum, eta + latent_[datum.part], weight, gradient);
  }
  bool has_hyper() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->has_hyper(); });
  }
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    for (std::size_t p = 0; p < parts_.size(); ++p)
      out.parts.push_back(parts_[p]->prepare(out.data.at(places_of(out.data, static_cast<Index>(p)))));
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const PreparedRows& own = rows.parts[p];
      if (own.size() == 0) continue;
      const std::vector<Index> places = places_of(rows.data, static_cast<Index>(p));
      const Index K = parts_[p]->latents();
      Matrix at(own.size(), K);
      for (Index i = 0; i < own.size(); ++i) at.row(i) = eta.row(places[i]).segment(latent_[p], K);
      RowArray each(own.size());
      parts_[p]->log_densities(own, at, each);
      for (Index i = 0; i < own.size(); ++i) out[places[i]] = each[i];
    }
  }
  /// The rows of a part.
  static std::vector<Index> places_of(const Data& data, Index part) {
    std::vector<Index> out;
    for (Index n = 0; n < data.y.size(); ++n)
      if (data[n].part == part) out.push_back(n);
    return out;
  }

 private:
  [[noreturn]] static void refuse() { throw std::logic_error("a mixed likelihood is asked without a row"); }
  const Likelihood* of_data() const { return has_priors_ ? parts_.front().get() : nullptr; }
  bool all(bool (Likelihood::*property)() const) const {
    return std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) { return (*part.*property)(); });
  }

  std::vector<std::unique_ptr<Likelihood>> parts_;
  std::vector<Index> latent_;
  bool has_priors_ = false;
};

}  // namespace galvi

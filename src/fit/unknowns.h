// A model as one vector of unknowns: the coefficients of all latent values and, after them, the hyperparameters that
// are learned. For models with few coefficients whose rows do not depend on hyperparameters.
#pragma once

#include <optional>
#include <vector>

#include "model/latent_gaussian_model.h"
#include "numeric/sparse_cholesky.h"

namespace galvi {

/// A Gaussian of all coefficients.
struct CoefficientGaussian {
  Vector mean;        // L
  Matrix covariance;  // L x L
};

/// How many coefficients a term with a plain design has: those of its columns and the nodes of its field.
Index coefficient_count(const Term& term);

/// The rows that differ from each other, each with the weight of all that are alike.
struct DistinctRows {
  Data data;
  Matrix offset;          // n x K
  std::vector<Matrix> W;  // of each latent value's prior.   n x L
};

class Unknowns {
 public:
  /// Empty where a term has no such coefficients, where rows are not all in memory, or where there are more than `most`
  /// coefficients or designs of more than ten million numbers. The model must outlive it.
  static std::optional<Unknowns> of(LatentGaussianModel& model, Index most);

  Index size() const { return size_; }  // L, of all latent values, one after the other
  Index latents() const { return static_cast<Index>(first_.size()); }  // K
  Index first(Index k) const { return first_[k]; }
  Index count(Index k) const { return W(k).cols(); }
  /// The rows as functions of the coefficients of latent value k.   N x count(k)
  const Matrix& W(Index k) const { return W_[which_[k]]; }
  const Matrix& offset() const { return model_->block().offset; }  // N x K
  DistinctRows distinct() const;
  /// The design of latent value k among those of `rows`.
  const Matrix& W(const DistinctRows& rows, Index k) const { return rows.W[which_[k]]; }
  LatentGaussianModel& model() const { return *model_; }

  /// Passes a table of hyperparameters to the priors alone.
  void update_priors(const ConstVectorRef& hyper) const {
    for (const auto& part : model_->priors()) part.prior->update(hyper);
  }

  // The prior at the model's hyperparameters.
  Vector prior_mean() const;       // L
  Matrix prior_precision() const;  // L x L, zero where the prior is flat
  /// Normalised, but for flat directions.   z: L
  double log_prior(const ConstVectorRef& z) const;

  /// q itself, with the joint curvature of all latent values at it in place of that of each: one step towards the best
  /// Gaussian in which they depend on each other. Empty where that curvature is not positive definite.
  std::optional<CoefficientGaussian> one_step(const Posterior& q) const;
  /// By what share of it the variance of a coefficient or contrast exceeds that of q, at most: what third derivatives of
  /// the log likelihood add, to first order in linear response (global/linear_response.h). For latent values that do not
  /// depend on each other.   step: one_step(q)
  double skew_share(const Posterior& q, const CoefficientGaussian& step) const;
  /// The mean of q alone.
  Vector mean(const Posterior& q) const;

 private:
  explicit Unknowns(LatentGaussianModel& model) : model_(&model) {}
  const Prior& prior(Index k) const { return *model_->predictor(k).prior; }
  /// sum_n W_jn' h_n W_kn
  Matrix between(Index j, Index k, const ConstVectorRef& h) const;

  LatentGaussianModel* model_;
  std::vector<Matrix> W_;     // of each distinct prior
  std::vector<SparseMatrix> sparse_;  // the same where most of them is zero, as with many groups; else empty
  std::vector<Index> which_;  // of them latent value k has.   K
  std::vector<Index> first_;  // K
  Index size_ = 0;
};

}  // namespace galvi

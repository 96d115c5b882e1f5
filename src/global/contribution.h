// What rows give to the bound and its derivatives at a posterior of short latent vectors: plain sums, so that
// threads, chunks, minibatches and workers add up to the same thing.
#pragma once

#include "global/latent_posterior.h"
#include "model/latent_gaussian_model.h"
#include "rows/partition.h"
#include "rows/row_block.h"

namespace galvi {

/// Sums over rows, with W the whitened columns of predictor k's prior.
struct Contribution {
  double rows = 0;                // how many
  double value = 0;               // sum of E log p, or of its bound
  double size = 0;                // of the terms that value is the sum of, for its rounding
  std::vector<Vector> slope;      // W' dE/dm.   K of length L
  std::vector<Matrix> curvature;  // W' diag(-2 dE/dv) W, lower triangle.   K of L x L
  /// W_k' diag(-d2E / dm_k dm_l) W_l in block (k, l), lower triangle: Newton's matrix for the means.
  Matrix joint;                 // (L_1 + .. + L_K)^2, on request
  Vector hyper;                 // d value / d hyper of the likelihood, natural scale, on request
  std::vector<Vector> columns;  // of each prior, Prior::add_gradient's sums; on request

  Contribution& operator+=(const Contribution& other);
};

/// Of each row, what a pass has seen.   N x K; N
struct RowValues {
  Matrix mean, variance;  // of eta
  Expectations expectations;

  void resize(Index rows, Index latents);
};

/// What a pass is to bring beside value, slope and curvature.
struct Wanted {
  bool joint = false;
  bool gradient = false;
  RowValues* values = nullptr;  // of all rows of the source, by row number
};

/// The contribution of rows begin, .., begin + count - 1 of a block, on the calling thread. Throws
/// std::invalid_argument where q does not belong to the model.
Contribution contribution(const LatentGaussianModel& model, const GlobalPosterior& q, const RowBlock& rows,
                          Index begin, Index count, const Wanted& wanted = {});

/// What is left of rows that are no longer there: exp(h'u - u'G u / 2) of each predictor's latent vector, with
/// a constant. It is added to sums of rows as if these rows were still among them.
struct Remembered {
  std::vector<Matrix> G;  // both triangles.   K
  std::vector<Vector> h;  // K
  double constant = 0;
  double penalty = 0;  // of the constant: what the present points cannot tell of the old ones, <= 0

  /// E_q[h'u - u'G u / 2] + constant, and its derivatives.
  void add(const GlobalPosterior& q, Contribution& sums) const;
  /// W'b = h and W' Lambda W = G.
  void add_sites(Contribution& sums) const;
};

// Sums W' b and W' Lambda W of sites (b, lambda), which come as slope and curvature:
/// of given sites, from row `sites_first` of all on;
Contribution site_sums(const LatentGaussianModel& model, const Sites& sites, Index sites_first,
                       const RowBlock& rows, Index begin, Index count);
/// of sites to start from: those at the prior, or where one row says too much those of the row alone.
Contribution starting_sums(const LatentGaussianModel& model, const RowBlock& rows, Index begin, Index count);

/// The sites that rows begin, .., begin + count - 1 of a block are asked for, into those rows of `sites`. The
/// model's hyperparameters must be asking.hyper.
void write_asked_sites(const LatentGaussianModel& model, const Asking& asking, const RowBlock& rows, Index begin,
                       Index count, Sites& sites);

/// d bound / d hyper (natural scale, `hypers` numbers) of a sum over all rows that has the gradient.
Vector hyper_gradient(const LatentGaussianModel& model, const Contribution& sums, Index hypers);

}  // namespace galvi

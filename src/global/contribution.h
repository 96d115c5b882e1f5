// The contribution of rows to the bound and its derivatives at a posterior of short latent vectors: plain
// sums, which are the same however rows are divided among threads, chunks, minibatches and workers.
#pragma once

#include "model/latent_gaussian_model.h"
#include "rows/partition.h"
#include "rows/row_block.h"
#include "solver/latent_posterior.h"

namespace galvi {

/// Sums over rows, with W the whitened columns of predictor k's prior.
struct Contribution {
  double rows = 0;                // number of rows
  double value = 0;               // sum of E log p, or of its bound
  double rounding = 0;            // rounding error of value
  std::vector<Vector> slope;      // W' dE/dm.   K of length L
  std::vector<Matrix> curvature;  // W' diag(-2 dE/dv) W, lower triangle.   K of L x L
  /// W_k' diag(-d2E / dm_k dm_l) W_l in block (k, l), lower triangle: Newton's matrix for the means.
  Matrix joint;                 // (L_1 + .. + L_K)^2, if requested
  Vector hyper;                 // d value / d hyper of the likelihood, natural scale, if requested
  std::vector<Vector> columns;  // of each prior, Prior::add_gradient's sums; if requested

  Contribution& operator+=(const Contribution& other);
};

/// Values of each row, recorded during a pass.   N x K; N
struct RowValues {
  Matrix mean, variance;  // of eta
  Expectations expectations;

  void resize(Index rows, Index latents);
};

/// What a pass computes besides value, slope and curvature.
struct Wanted {
  bool joint = false;
  bool gradient = false;
  RowValues* values = nullptr;  // for all rows of the source, by row number
};

/// The contribution of rows begin, .., begin + count - 1 of a block, on the calling thread. Throws
/// std::invalid_argument where q does not belong to the model.
Contribution contribution(const LatentGaussianModel& model, const GlobalPosterior& q, const RowBlock& rows,
                          Index begin, Index count, const Wanted& wanted = {});

/// What remains of rows that are no longer available: exp(h'u - u'G u / 2) of each predictor's latent vector,
/// times a constant. It is added to the sums as if these rows were still there.
struct Remembered {
  std::vector<Matrix> G;  // both triangles.   K
  std::vector<Vector> h;  // K
  double constant = 0;
  double penalty = 0;  // part of the constant: information lost as inducing points changed, <= 0

  /// E_q[h'u - u'G u / 2] + constant, and its derivatives.
  void add(const GlobalPosterior& q, Contribution& sums) const;
  /// W'b = h and W' Lambda W = G.
  void add_sites(Contribution& sums) const;
};
/// Of rows whose posterior under the priors `old` was q with this bound, in the coordinates of the model.   K each
Remembered remember(const LatentGaussianModel& model, const std::vector<std::shared_ptr<Prior>>& old,
                    const GlobalPosterior& q, double elbo);

// The sums W' b and W' Lambda W of sites (b, lambda), returned as slope and curvature:
/// for given sites, from row `sites_first` on;
Contribution site_sums(const LatentGaussianModel& model, const Sites& sites, Index sites_first,
                       const RowBlock& rows, Index begin, Index count);
/// for starting sites: those at the prior, or those of the row alone where one row is very informative.
Contribution starting_sums(const LatentGaussianModel& model, const RowBlock& rows, Index begin, Index count);

/// Writes the sites that given.q gives rows begin, .., begin + count - 1 of a block into those rows of
/// `sites`. The model's hyperparameters must be given.hyper.
void write_given_sites(const LatentGaussianModel& model, const GivenSites& given, const RowBlock& rows,
                       Index begin, Index count, Sites& sites);

/// d bound / d hyper (natural scale, `hypers` numbers) from a sum over all rows that contains the gradient.
Vector hyper_gradient(const LatentGaussianModel& model, const Contribution& sums, Index hypers);

}  // namespace galvi

#include "model/latent_gaussian_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "likelihood/averaged.h"
#include "numeric/parallel.h"
#include "solver/global_form.h"

namespace galvi {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

}  // namespace

LatentGaussianModel::LatentGaussianModel(Context& context, RowBlock rows,
                                         std::unique_ptr<Likelihood> likelihood,
                                         std::unique_ptr<Expectation> expectation,
                                         std::vector<Predictor> predictors)
    : context_(context),
      rows_(std::move(rows)),
      observations_(rows_.size()),
      likelihood_(std::move(likelihood)),
      expectation_(std::move(expectation)),
      predictors_(std::move(predictors)),
      averaged_(likelihood_->averaged()) {
  const Index N = rows_.size();
  if (data().y.size() != N || data().size.size() != N || data().weight.size() != N)
    throw std::invalid_argument("y, size, weights and offset differ in length");
  if (latents() != likelihood_->latents() || latents() != rows_.offset.cols())
    throw std::invalid_argument("the likelihood's latent vectors do not match the priors");
  for (const Predictor& predictor : predictors_) {
    if (!predictor.solver) throw std::invalid_argument("a latent vector has no predictor");
    if (predictor.solver->rows() != N)
      throw std::invalid_argument("a prior has another number of rows than y");
    std::size_t i = 0;
    while (i < priors_.size() && priors_[i].prior != predictor.prior) ++i;
    if (i == priors_.size()) priors_.push_back({predictor.prior, predictor.design});
    prior_index_.push_back(static_cast<Index>(i));
  }
}

Matrix LatentGaussianModel::product(Vector (Solver::*verb)(const Vector&) const, const Matrix& x) const {
  Matrix out(x.rows(), x.cols());
  for (Index k = 0; k < x.cols(); ++k) out.col(k) = (solver(k).*verb)(x.col(k));
  return out;
}

void LatentGaussianModel::update(const ConstVectorRef& hyper) {
  likelihood_->update(hyper);
  hyper_ = hyper;
  for (const PriorOfDesign& part : priors_) part.prior->update(hyper);
  prior_mean_ = rows_.offset;
  prior_variances_.resize(0, 0);
  for (Index k = 0; k < latents(); ++k) {
    solver(k).refresh();
    prior_mean_.col(k) += solver(k).prior_mean();
  }
  if (averaged_) averaged_->set_spread(solver(0).extra_variances());
  factorised_.resize(0, 0);
}

const Matrix& LatentGaussianModel::prior_variances() const {
  if (prior_variances_.size() == 0) {
    prior_variances_.resize(rows(), latents());
    for (Index k = 0; k < latents(); ++k) prior_variances_.col(k) = solver(k).prior_variances();
    if (averaged_) prior_variances_.col(0) -= averaged_->spread();
  }
  return prior_variances_;
}

bool LatentGaussianModel::all(bool (Solver::*ability)() const) const {
  return std::all_of(predictors_.begin(), predictors_.end(),
                     [&](const Predictor& predictor) { return (*predictor.solver.*ability)(); });
}

bool LatentGaussianModel::full() const {
  return std::all_of(predictors_.begin(), predictors_.end(), [&](const Predictor& predictor) {
    return predictor.solver->latent_dimension() == rows();
  });
}

Index LatentGaussianModel::latent_dimension() const {
  Index out = 0;
  for (const Predictor& predictor : predictors_) out = std::max(out, predictor.solver->latent_dimension());
  return out;
}

bool LatentGaussianModel::sums_suffice() const {
  return !averaged_ && expectation_->consistent() &&
         std::all_of(predictors_.begin(), predictors_.end(),
                     [](const Predictor& predictor) { return predictor.solver->global_form() != nullptr; });
}

Matrix LatentGaussianModel::lambda_floor() const {
  return 1e-12 * prior_variances().cwiseMax(1e-300).cwiseInverse();
}

Index LatentGaussianModel::null_dimension() const {
  Index dimension = 0;
  for (Index k = 0; k < latents(); ++k) dimension += solver(k).null_dimension();
  return dimension;
}

void LatentGaussianModel::expect(const Matrix& mean, const Matrix& variance, int order, Expectations& out) {
  expectation_->evaluate(context_, *likelihood_, data(), mean, variance, order, out);
}

bool LatentGaussianModel::factorise(const Matrix& lambda, const Matrix* b) {
  factorised_.resize(0, 0);
  if (!lambda.allFinite()) return false;
  for (Index k = 0; k < latents(); ++k)
    if (!(b ? solver(k).factorise_for(lambda.col(k), b->col(k)) : solver(k).factorise(lambda.col(k))))
      return false;
  factorised_ = lambda;
  return true;
}

Vector LatentGaussianModel::marginal_variances(Index k) const {
  Vector out = solver(k).marginal_variances();
  if (averaged_) out = (out - averaged_->spread()).cwiseMax(0.0);
  return out;
}

Matrix LatentGaussianModel::whole_variance(const Posterior& posterior) const {
  Matrix out = posterior->variance;
  if (averaged_) out.col(0) += averaged_->spread();
  return out;
}

std::optional<SitePosterior> LatentGaussianModel::finish(SitePosterior posterior, int order) {
  posterior.mean = prior_mean_ + posterior.centred;
  if (!std::isfinite(posterior.kl) || !posterior.mean.allFinite() || !posterior.variance.allFinite() ||
      posterior.variance.minCoeff() < 0)
    return std::nullopt;
  expect(posterior.mean, posterior.variance, order, posterior.expectations);
  const Expectations& e = posterior.expectations;
  posterior.elbo = posterior.merit = e.value.sum() - posterior.kl;
  if (!expectation_->consistent())
    posterior.merit = (e.value - posterior.variance.cwiseProduct(e.d_variance).rowwise().sum()).sum() -
                      posterior.kl_of_mean;
  if (!std::isfinite(posterior.elbo) || !e.d_mean.allFinite() || !e.d_variance.allFinite())
    return std::nullopt;
  posterior.rounding = rounding(posterior);
  if (!is_possible(posterior)) return std::nullopt;
  return posterior;
}

void LatentGaussianModel::add_covariance(Index k, SitePosterior& posterior) const {
  posterior.variance.col(k) = marginal_variances(k);
  posterior.kl += solver(k).covariance_kl();
}

void LatentGaussianModel::set_mean(Index k, const SiteMean& site_mean, SitePosterior& posterior) const {
  posterior.alpha.col(k) = site_mean.alpha;
  posterior.centred.col(k) = site_mean.mean;
  const double kl = site_mean.kl();
  posterior.kl_of_mean += kl;
  posterior.kl += kl;
  posterior.rounding_of_mean += site_mean.rounding;
}

// Each sum over rows is accurate to the last digits of its largest terms, and E log p to those of its
// argument. The solvers estimate their own rounding errors. Two ways of computing the bound differ by less than this
// estimate.
double LatentGaussianModel::rounding(const SitePosterior& posterior) const {
  const Expectations& e = posterior.expectations;
  const double others = posterior.kl + e.d_mean.cwiseProduct(posterior.mean).cwiseAbs().sum() +
                        e.d_mean.cwiseProduct(prior_mean_).cwiseAbs().sum() +
                        e.d_variance.cwiseProduct(posterior.variance).cwiseAbs().sum();
  double out = rounding_of_sums(1 + e.value.cwiseAbs().sum(), others) + posterior.rounding_of_mean;
  for (Index k = 0; k < latents(); ++k) out += solver(k).rounding();
  return out;
}

// A Kullback-Leibler divergence is never negative, so no bound exceeds the largest log density. A posterior
// that violates this has lost its digits, as happens where the precision is nearly singular.
bool LatentGaussianModel::is_possible(const SitePosterior& posterior) const {
  const double allowed = -std::min(posterior.rounding, 1e-6 * (1 + std::abs(posterior.merit)));
  return posterior.kl_of_mean >= allowed &&
         (null_dimension() > 0 || posterior.kl - posterior.kl_of_mean >= allowed);
}

std::optional<SitePosterior> LatentGaussianModel::at_sites(const Sites& sites, int order) {
  if (!sites.b.allFinite() || !factorise(sites.lambda, &sites.b)) return std::nullopt;
  SitePosterior out = blank();
  out.sites = sites;
  for (Index k = 0; k < latents(); ++k) {
    set_mean(k, solver(k).posterior_mean(sites.b.col(k)), out);
    add_covariance(k, out);
  }
  return finish(std::move(out), order);
}

// V (alpha + lambda C alpha) = C alpha
std::optional<SitePosterior> LatentGaussianModel::at_covariance(const Matrix& lambda,
                                                                const SitePosterior& current, int order) {
  if (!factorise(lambda)) return std::nullopt;
  SitePosterior out = current;
  out.sites = {lambda, current.alpha + lambda.cwiseProduct(current.centred)};
  out.kl = out.kl_of_mean;
  for (Index k = 0; k < latents(); ++k) add_covariance(k, out);
  return finish(std::move(out), order);
}

std::optional<SitePosterior> LatentGaussianModel::at_alpha(const Matrix& lambda, const Matrix& alpha,
                                                           int order) {
  if (!alpha.allFinite() || !factorise(lambda)) return std::nullopt;
  SitePosterior out = blank();
  const Matrix centred = product(&Solver::apply_prior, alpha);
  out.sites = {lambda, alpha + lambda.cwiseProduct(centred)};
  for (Index k = 0; k < latents(); ++k) {
    SiteMean site_mean{centred.col(k), alpha.col(k)};
    site_mean.squared_norm = site_mean.alpha.dot(site_mean.mean);
    // the rounding error of a product with C
    site_mean.rounding = epsilon * alpha.col(k).cwiseAbs2().dot(prior_variances().col(k));
    set_mean(k, site_mean, out);
    add_covariance(k, out);
  }
  return finish(std::move(out), order);
}

std::optional<SitePosterior> LatentGaussianModel::move_mean(const SitePosterior& current, const Matrix& b,
                                                            int order) {
  if (!b.allFinite()) return std::nullopt;
  SitePosterior out = current;
  out.sites.b = b;
  out.kl -= out.kl_of_mean;
  out.kl_of_mean = out.rounding_of_mean = 0;
  for (Index k = 0; k < latents(); ++k) set_mean(k, solver(k).posterior_mean(b.col(k)), out);
  return finish(std::move(out), order);
}

SitePosterior LatentGaussianModel::blank() const {
  SitePosterior out;
  for (Matrix* part : {&out.alpha, &out.centred, &out.variance}) part->resize(rows(), latents());
  return out;
}

void LatentGaussianModel::restore(const SumsPosterior& posterior) {
  factorised_.resize(0, 0);
  for (Index k = 0; k < latents(); ++k) solver(k).global_form()->adopt((*posterior.sites.q)[k]);
}

void LatentGaussianModel::restore(const SitePosterior& posterior) {
  if (factorised_.size() > 0 && factorised_ == posterior.sites.lambda) return;
  factorise(posterior.sites.lambda);
}

Sites LatentGaussianModel::natural_target(const SitePosterior& posterior) const {
  Sites target;
  target.lambda = -2.0 * posterior.expectations.d_variance;
  target.b = posterior.expectations.d_mean + target.lambda.cwiseProduct(posterior.centred);
  return target;
}

Stationarity LatentGaussianModel::stationarity(const SitePosterior& posterior, bool certified) {
  Stationarity out{std::numeric_limits<double>::quiet_NaN(), 0};
  const Matrix r = posterior.expectations.d_mean - posterior.alpha;
  const Matrix d = posterior.sites.lambda + 2 * posterior.expectations.d_variance;
  double bound = 0;
  for (Index k = 0; k < latents(); ++k) {
    const Distance distance = certified ? solver(k).distance(r.col(k), d.col(k))
                                        : solver(k).estimate_distance(r.col(k), d.col(k));
    // both are non-negative but for rounding errors, whose size is as good an estimate of the distance as any
    bound += std::abs(distance.gap_bound);
    out.norm += std::abs(distance.squared_norm);
  }
  // Near the optimum half the squared norm is what the bound can still rise; the certificate has C in place of one V, and
  // is as much larger.
  if (certified && one_optimum() && null_dimension() == 0) out.certificate = bound;
  out.rounding = posterior.rounding;
  out.norm = std::sqrt(out.norm);
  return out;
}

Vector LatentGaussianModel::gradient(const SitePosterior& posterior, Index hypers, bool optimal) {
  Vector out = Vector::Zero(hypers);
  const Expectations& e = posterior.expectations;
  // d value / dm where d_mean is something else; q is then not a stationary point of the bound.
  Matrix slope = e.d_mean;
  if (!expectation_->consistent()) {
    Expectations second;
    expect(posterior.mean, posterior.variance, 2, second);
    slope += posterior.variance.cwiseProduct(second.d_mv);
    optimal = false;
  }
  for (Index k = 0; k < latents(); ++k) {
    const Vector b = posterior.sites.b.col(k), alpha = posterior.alpha.col(k),
                 mean = posterior.centred.col(k);
    const Vector d_mean = slope.col(k), d_variance = e.d_variance.col(k);
    Vector d_extra = d_variance;
    if (averaged_) d_extra = slope_in_spread(posterior, d_mean - e.d_mean);
    solver(k).gradient({b, alpha, mean, d_mean, d_variance, optimal, &d_extra}, out);
    const Predictor& own = predictors_[k];
    own.prior->add_mean_gradient(*rows_.designs[own.design], e.d_mean.col(k), out);
  }
  if (!likelihood_->has_hyper()) return out;
  expectation_->add_gradient(context_, *likelihood_, data(), posterior.mean, posterior.variance, out);
  if (!expectation_->consistent()) out += gradient_through_mean(posterior, slope - e.d_mean, hypers);
  return out;
}

// The bound is the sum of l + v l'' / 2, and the mode moves by V dl'/dc.
Vector LatentGaussianModel::slope_in_spread(const SitePosterior& posterior, const Vector& slope) const {
  constexpr Index block_rows = 64;
  constexpr double row_work = 1e4;  // flops, roughly
  const Vector along = solver(0).apply_covariance(slope);
  Vector out(rows());
  parallel_for(context_, (rows() + block_rows - 1) / block_rows, row_work * rows(), [&](Index block) {
    for (Index n = block * block_rows; n < std::min(rows(), (block + 1) * block_rows); ++n)
      out[n] = data().weight[n] *
               averaged_->slope_in_spread(data()[n], posterior.mean(n), posterior.variance(n), along[n]);
  });
  return out;
}

// The mode m moves with a likelihood's parameter, dm = V d(l'(m)) / d hyper, and the bound with it by u' dm:
// the derivative of d l / d hyper along V u, by finite differences of fourth order.
Vector LatentGaussianModel::gradient_through_mean(const SitePosterior& posterior, const Matrix& u,
                                                  Index hypers) {
  const Vector direction = solver(0).apply_covariance(u.col(0));
  const double largest = direction.cwiseAbs().maxCoeff();
  Vector out = Vector::Zero(hypers);
  if (!(largest > 0)) return out;
  const double h = 0.01 / largest;
  const Matrix none = Matrix::Zero(rows(), 1);
  for (const auto& [steps, share] : {std::pair(-2, 1.0), {-1, -8.0}, {1, 8.0}, {2, -1.0}}) {
    Vector at = Vector::Zero(hypers);
    const Matrix mean = posterior.mean + steps * h * direction;
    expectation_->add_gradient(context_, *likelihood_, data(), mean, none, at);
    out += share / (12 * h) * at;
  }
  return out;
}

}  // namespace galvi

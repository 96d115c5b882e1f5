#include "fit/coupled_response.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "global/linear_response.h"
#include "likelihood/custom_several.h"
#include "likelihood/mixed.h"
#include "numeric/dense.h"
#include "numeric/parallel.h"
#include "quadrature/hermite_tensors.h"

namespace galvi {

namespace {

constexpr int most_steps = 30, usual_steps = 8;
constexpr double close_by = 1e-2;  // standard deviations within which the search may end

/// A Gaussian by its precision, and the bound and its derivatives there.
struct CoupledPoint {
  Vector mean;
  Matrix precision, root, covariance;  // precision = root root', lower
  double bound = 0;                    // up to a constant
  Vector slope;                        // sum_n W_n' E df_n
  Matrix curvature;                    // sum_n W_n' E d2f_n W_n
};

// A user's function, which takes many rows in one call; null for other likelihoods.
const CustomDensity* custom_density(const Likelihood& likelihood) {
  if (const Custom* custom = likelihood.custom()) return &custom->density();
  const Distributional* form = likelihood.distributional();
  return form && form->custom_several() ? &form->custom_several()->density() : nullptr;
}

/// Distinct rows as functions of coefficients, each in its own unit because their sds may differ by many orders of magnitude.
class DensityRows {
 public:
  DensityRows(const Unknowns& unknowns, const Vector& unit)
      : unknowns_(unknowns),
        model_(unknowns.model()),
        context_(model_.context()),
        K_(unknowns.latents()),
        distinct_(unknowns.distinct()),
        tensors_(K_, K_ == 1 ? 33 : K_ == 2 ? 17 : 11),
        prior_mean_(unknowns.prior_mean().cwiseQuotient(unit)),
        prior_precision_(unit.asDiagonal() * unknowns.prior_precision() * unit.asDiagonal()) {
    for (Index k = 0; k < K_; ++k)
      W_.push_back(unknowns.W(distinct_, k) * unit.segment(unknowns.first(k), unknowns.count(k)).asDiagonal());
    for (Index begin = 0; begin < size(); begin += block_rows)
      prepared_.push_back(model_.likelihood().prepare(
          distinct_.data.slice(begin, std::min(block_rows, size() - begin))));
  }

  Index size() const { return distinct_.offset.rows(); }  // N
  double evaluations() const { return static_cast<double>(size() * tensors_.size()); }
  const Matrix& prior_precision() const { return prior_precision_; }
  const Vector& prior_mean() const { return prior_mean_; }
  std::vector<LatentColumns> latents() const {
    std::vector<LatentColumns> out;
    for (Index k = 0; k < K_; ++k) out.push_back({&W_[k], unknowns_.first(k)});
    return out;
  }

  /// Empty where the precision is not positive definite or the bound is not finite.
  std::optional<CoupledPoint> at(const Vector& mean, const Matrix& precision) const {
    CoupledPoint out{mean, precision, precision, {}, 0, {}, {}};
    if (!mean.allFinite() || !precision.allFinite() || !cholesky(context_, out.root)) return std::nullopt;
    out.root.triangularView<Eigen::StrictlyUpper>().setZero();
    out.covariance = out.root;
    invert_from_cholesky(context_, out.covariance, mean.size());
    fill_upper(out.covariance);
    Matrix first, second;
    out.bound = expect(out.mean, out.covariance, {&first, &second});
    const Vector away = mean - prior_mean_;
    out.bound -= 0.5 * (prior_precision_.cwiseProduct(out.covariance).sum() + away.dot(prior_precision_ * away)) +
                 out.root.diagonal().array().log().sum();
    if (!std::isfinite(out.bound)) return std::nullopt;
    out.slope.resize(mean.size());
    out.curvature.resize(mean.size(), mean.size());
    for (Index k = 0; k < K_; ++k) {
      const Index at = unknowns_.first(k), count = unknowns_.count(k);
      out.slope.segment(at, count) = W_[k].transpose() * first.col(k);
      for (Index j = 0; j <= k; ++j) {
        const Index from = unknowns_.first(j);
        auto block = out.curvature.block(from, at, unknowns_.count(j), count);
        multiply(context_, true, false, 1, W_[j], second.col(j + K_ * k).asDiagonal() * W_[k], 0, block);
        if (j < k) out.curvature.block(at, from, count, unknowns_.count(j)) = block.transpose();
      }
    }
    return out;
  }

  /// Their expectations under this Gaussian.
  HigherDerivatives higher_derivatives(const Vector& mean, const Matrix& covariance) const {
    Matrix first, second;
    HigherDerivatives out;
    expect(mean, covariance, {&first, &second, &out.third, &out.fourth});
    return out;
  }

 private:
  static constexpr Index block_rows = 64;

  /// sum_n E f_n, and of each row the derivatives of f_n: of order o an N x K^o matrix.
  double expect(const Vector& mean, const Matrix& covariance, const std::vector<Matrix*>& derivatives) const {
    const Index N = size(), pairs = K_ * (K_ + 1) / 2;
    Matrix centre(N, K_), between(N, pairs);
    Index pair = 0;
    for (Index k = 0; k < K_; ++k) {
      const Index at = unknowns_.first(k), count = unknowns_.count(k);
      centre.col(k) = distinct_.offset.col(k) + W_[k] * mean.segment(at, count);
      for (Index j = 0; j <= k; ++j) {
        Matrix product(N, count);
        multiply(context_, false, false, 1, W_[j],
                 covariance.block(unknowns_.first(j), at, unknowns_.count(j), count), 0, product);
        between.col(pair++) = product.cwiseProduct(W_[k]).rowwise().sum();
      }
    }
    Index entries = 1;
    for (Matrix* derivative : derivatives) derivative->resize(N, entries *= K_);
    const Index blocks = (N + block_rows - 1) / block_rows;
    Vector values(blocks);
    constexpr double density_work = 50;  // approximate flops
    parallel_for(context_, blocks, density_work * evaluations(), [&](Index block) {
      values[block] = expect_rows(block * block_rows, std::min(block_rows, N - block * block_rows), centre, between,
                                  derivatives);
    });
    double sum = 0;
    for (const double value : values) sum += value;
    return sum;
  }

  /// A root T of a row's covariance and T^-1, whose rows are zero where a latent value depends on those before it.
  struct Roots {
    Matrix T, inverse;
    explicit Roots(Index K) : T(K, K), inverse(K, K) {}
    template <class Row>
    void place(const Row& between) {
      constexpr double none = 1e-14;
      T.setZero();
      inverse.setZero();
      Index pair = 0;
      for (Index a = 0; a < T.rows(); ++a) {
        for (Index b = 0; b <= a; ++b) {
          double rest = between[pair++];
          const double whole = rest;
          for (Index j = 0; j < b; ++j) rest -= T(a, j) * T(b, j);
          if (a == b)
            T(a, a) = rest > none * whole ? std::sqrt(rest) : 0;
          else
            T(a, b) = T(b, b) > 0 ? rest / T(b, b) : 0;
        }
        if (T(a, a) == 0) continue;
        inverse(a, a) = 1 / T(a, a);
        for (Index b = 0; b < a; ++b) {
          double sum = 0;
          for (Index j = b; j < a; ++j) sum += T(a, j) * inverse(j, b);
          inverse(a, b) = -sum / T(a, a);
        }
      }
    }
  };

  double expect_rows(Index begin, Index count, const Matrix& centre, const Matrix& between,
                     const std::vector<Matrix*>& derivatives) const {
    const Index nodes = tensors_.size();
    std::vector<Roots> roots(static_cast<std::size_t>(count), Roots(K_));
    for (Index i = 0; i < count; ++i) roots[i].place(between.row(begin + i));
    Matrix f(count, nodes);
    const Vector at_centre = densities(begin, centre, roots, f);
    f.colwise() -= at_centre;  // derivatives lose fewer digits
    const int orders = static_cast<int>(derivatives.size());
    Matrix moments = f * tensors_.weights(orders);
    double sum = 0;
    Vector own(moments.cols());
    std::vector<double> out(static_cast<std::size_t>(std::pow(K_, 4)));  // entries of the fourth derivative
    for (Index i = 0; i < count; ++i) {
      if (is_prior(begin + i)) {
        sum += expect_prior(begin + i, centre, between, derivatives);
        continue;
      }
      const double weight = distinct_.data.weight[begin + i];
      own = weight == 0 ? Vector::Zero(own.size()) : Vector(weight * moments.row(i).transpose());
      if (weight != 0) sum += own[0] + weight * at_centre[i];
      for (int order = 1; order <= orders; ++order) {
        Matrix& target = *derivatives[order - 1];
        tensors_.derivative(order, own.data(), roots[i].inverse, out.data());
        for (Index entry = 0; entry < target.cols(); ++entry) target(begin + i, entry) = out[entry];
      }
    }
    return sum;
  }

  bool is_prior(Index n) const {
    const Mixed* mixed = model_.likelihood().mixed();
    return mixed && mixed->is_prior(distinct_.data[n]);
  }

  /// Row n where it is the prior of a coefficient, a function of one latent value that may have a kink or a peak: by its
  /// own expectation, whose derivatives in the variance are half the second ones in the mean.
  double expect_prior(Index n, const Matrix& centre, const Matrix& between,
                      const std::vector<Matrix*>& derivatives) const {
    const Datum datum = distinct_.data[n];
    const Index k = model_.likelihood().mixed()->latent(datum.part), at = k * (K_ + 1);
    const Vector mean = centre.row(n);
    Vector variance = Vector::Zero(K_), d = Vector::Zero(2 * K_ + 3 * K_ * K_);
    variance[k] = between(n, k * (k + 3) / 2);
    double* second = d.data() + 2 * K_;
    RowExpectation row{0, d.data(), d.data() + K_, second, second + K_ * K_, second + 2 * K_ * K_};
    model_.expectation().evaluate_row(model_.likelihood(), datum, mean.data(), variance.data(), 2, row);
    const double of_order[] = {row.d_m[k], row.d_mm[at], 2 * row.d_mv[at], 4 * row.d_vv[at]};
    Index place = 0, stride = 1;
    for (std::size_t order = 0; order < derivatives.size(); ++order, stride *= K_) {
      place += k * stride;
      derivatives[order]->row(n).setZero();
      (*derivatives[order])(n, place) = of_order[order];
    }
    return row.value;
  }

  /// Log densities of some rows of data at all nodes, and at their means.
  Vector densities(Index begin, const Matrix& centre, const std::vector<Roots>& roots, Matrix& f) const {
    const Likelihood& likelihood = model_.likelihood();
    const Data& data = distinct_.data;
    const Matrix& z = tensors_.nodes();
    const Index count = f.rows(), nodes = f.cols();
    if (const CustomDensity* custom = custom_density(likelihood)) {
      Matrix eta(count * (nodes + 1), K_);  // node after node
      Vector y(count * (nodes + 1));
      for (Index i = 0; i < count; ++i)
        for (Index s = 0; s <= nodes; ++s) {
          const Index at = s * count + i;
          y[at] = data.y[begin + i];
          eta.row(at) = centre.row(begin + i);
          if (s == nodes) continue;
          for (Index a = 0; a < K_; ++a)
            for (Index b = 0; b <= a; ++b) eta(at, a) += roots[i].T(a, b) * z(s, b);
        }
      const Vector all = custom->log_densities(y, eta);
      f = Eigen::Map<const Matrix>(all.data(), count, nodes);
      return all.tail(count);
    }
    const PreparedRows& rows = prepared_[begin / block_rows];
    Matrix eta(count, K_);
    for (Index s = 0; s < nodes; ++s) {
      eta = centre.middleRows(begin, count);
      for (Index i = 0; i < count; ++i)
        for (Index a = 0; a < K_; ++a)
          for (Index b = 0; b <= a; ++b) eta(i, a) += roots[i].T(a, b) * z(s, b);
      likelihood.careful_log_densities(rows, eta, f.col(s).array());
    }
    eta = centre.middleRows(begin, count);
    Vector out(count);
    likelihood.careful_log_densities(rows, eta, out.array());
    return out;
  }

  const Unknowns& unknowns_;
  const LatentGaussianModel& model_;
  Context& context_;
  const Index K_;
  const DistinctRows distinct_;
  const HermiteTensors tensors_;
  std::vector<Matrix> W_;
  std::vector<PreparedRows> prepared_;  // blocks of rows
  const Vector prior_mean_;
  const Matrix prior_precision_;
};

/// How far a step moves mean and covariance, in standard deviations.
double length_of(const CoupledPoint& from, const CoupledPoint& to) {
  Matrix ratio = to.root.transpose() * from.covariance * to.root;
  ratio.diagonal().array() -= 1;
  return std::max((to.root.transpose() * (to.mean - from.mean)).norm(), 0.5 * ratio.norm());
}

struct CoupledSearch {
  CoupledPoint point;
  std::string refused;
};

/// What a full step would change of precision and mean, where the first point's covariance is the identity. The size of
/// a step follows from how much the last one left of it: where a step of size s leaves the share c of the way (c < 0
/// beyond the end), one of size s / (1 - c) ends there (Barzilai and Borwein 1988).
class StepSize {
 public:
  StepSize(Context& context, const Matrix& root) : context_(context), root_(root) {}
  /// From here.   way: the change of the precision; slope: of the bound in the mean.
  double next(const Matrix& way, const Vector& slope) {
    constexpr double largest = 1.5, smallest = 0.1;
    Matrix white = way;  // R^-1 (R^-1 way)', symmetric
    solve_lower(context_, root_, white);
    white.transposeInPlace();
    solve_lower(context_, root_, white);
    Vector own(white.size() + slope.size());
    own << M_SQRT1_2 * flat(white), root_.triangularView<Eigen::Lower>().solve(slope);
    if (last_.size() > 0) {
      const double left = own.dot(last_) / last_.squaredNorm();
      size_ = left < 1 ? size_ / (1 - left) : largest;
      size_ = std::clamp(size_, smallest, largest);
    }
    last_ = std::move(own);
    return size_;
  }
  void took(double size) { size_ = size; }
  /// What is left, in standard deviations.
  double way() const { return last_.norm(); }

 private:
  Context& context_;
  const Matrix root_;
  Vector last_;
  double size_ = 1;
};

/// Natural-gradient steps of the precision, and of the mean Newton's with the precision of each.
CoupledSearch best_coupled_point(const DensityRows& rows, CoupledPoint point, const CoupledControl& control,
                                 Context& context) {
  constexpr double shortest = 1e-6, rounding = 1e-9;
  constexpr const char* not_found = "the search for the best joint Gaussian of all coefficients did not converge";
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const int most = static_cast<int>(std::min<double>(most_steps, control.evaluations / rows.evaluations()));
  StepSize steps(context, point.root);
  double length = infinity;
  for (int step = 1; step <= most; ++step) {
    context.monitor.report({"Coupling the coefficients", step, none, none});
    const Matrix way = rows.prior_precision() - point.curvature - point.precision;
    const Vector slope = point.slope - rows.prior_precision() * (point.mean - rows.prior_mean());
    std::optional<CoupledPoint> next;
    double size = steps.next(way, slope);
    for (; size >= shortest; size /= 2) {
      const Matrix precision = point.precision + size * way;
      Matrix root = precision;
      if (!cholesky(context, root)) continue;
      Vector move = slope;
      solve_lower(context, root, move);
      solve_lower_transposed(context, root, move);
      next = rows.at(point.mean + size * move, precision);
      if (next && next->bound > point.bound - rounding * (1 + std::abs(point.bound))) break;
      next.reset();
    }
    if (!next && steps.way() < close_by) return {std::move(point), ""};  // the nodes' error is larger than what is left
    if (!next) return {std::move(point), not_found};
    steps.took(size);
    length = length_of(point, *next) / size;
    point = std::move(*next);
    if (length < control.optimum) break;
  }
  if (!(length < close_by)) return {std::move(point), not_found};
  return {std::move(point), ""};
}

constexpr const char* no_curvature = "the curvature at the posterior mean is not positive definite";

/// Units in which sds are of the order of one: those of the step from q or, where there is none, of each coefficient
/// given the others.
Vector units_of(const Unknowns& unknowns, const Posterior& q, const std::optional<CoefficientGaussian>& step) {
  if (step) return step->covariance.diagonal().cwiseSqrt();
  Vector precision = unknowns.prior_precision().diagonal();
  for (Index k = 0; k < unknowns.latents(); ++k)
    precision.segment(unknowns.first(k), unknowns.count(k)) +=
        unknowns.W(k).cwiseAbs2().transpose() * q.sites().lambda.col(k).cwiseAbs();
  return precision.cwiseSqrt().cwiseInverse();
}

/// The precision of q, in the units of the rows.
Matrix factorised_precision(const DensityRows& rows, const Posterior& q) {
  Matrix out = rows.prior_precision();
  Index k = 0;
  for (const LatentColumns& latent : rows.latents()) {
    const Matrix& W = *latent.W;
    out.block(latent.first, latent.first, W.cols(), W.cols()) +=
        W.transpose() * q.sites().lambda.col(k++).asDiagonal() * W;
  }
  return out;
}

/// From the step from q, where the bound has a value there, else from q.   covariance: of that step, or empty
std::optional<CoupledPoint> start_of(const DensityRows& rows, const Posterior& q, const Vector& mean,
                                     const Matrix& covariance, Context& context) {
  Matrix precision = covariance;
  if (covariance.size() > 0 && cholesky(context, precision)) {
    invert_from_cholesky(context, precision, mean.size());
    fill_upper(precision);
    if (auto found = rows.at(mean, precision)) return found;
  }
  return rows.at(mean, factorised_precision(rows, q));
}

/// What is found from a step from q, or from q itself.
CoupledResponse respond(const Unknowns& unknowns, const Posterior& q, const std::optional<CoefficientGaussian>& step,
                        const CoupledControl& control) {
  Context& context = unknowns.model().context();
  CoupledResponse out;
  if (step) out.gaussian = *step;
  const auto refuse = [&out](const std::string& why) {
    out.refused = why;
    return out;
  };
  const Vector unit = units_of(unknowns, q, step), inverse = unit.cwiseInverse();
  if (!unit.allFinite() || !inverse.allFinite()) return refuse(no_curvature);
  const DensityRows rows(unknowns, unit);
  const bool steps = usual_steps * rows.evaluations() <= control.evaluations;
  if (!steps && !step) return refuse(no_curvature);
  CoefficientGaussian best{unknowns.mean(q).cwiseProduct(inverse), Matrix()};
  if (step) best.covariance = inverse.asDiagonal() * step->covariance * inverse.asDiagonal();
  if (steps) {
    std::optional<CoupledPoint> start = start_of(rows, q, best.mean, best.covariance, context);
    if (!start) return refuse("the expected log likelihood is not finite at the posterior");
    CoupledSearch found = best_coupled_point(rows, std::move(*start), control, context);
    if (!found.refused.empty()) return refuse(found.refused);
    best = {std::move(found.point.mean), std::move(found.point.covariance)};
    out.best = true;
    out.gaussian = {unit.cwiseProduct(best.mean), unit.asDiagonal() * best.covariance * unit.asDiagonal()};
  }
  if (!control.responds || rows.evaluations() > control.evaluations ||
      linear_response_flops(rows.size(), unknowns.size(), unknowns.latents()) > control.flops)
    return out;
  const LinearResponse response =
      linear_response(context, rows.latents(), rows.higher_derivatives(best.mean, best.covariance), best.covariance,
                      control.response);
  out.worst = response.worst;
  if (!response.refused.empty()) return refuse(response.refused);
  out.radius = response.radius;
  out.gaussian.covariance = unit.asDiagonal() * response.covariance * unit.asDiagonal();
  return out;
}

}  // namespace

CoupledResponse coupled_response(const Unknowns& unknowns, const Posterior& q, const CoupledControl& control) {
  constexpr Index most_latents = 3;  // whose product of nodes is not too large
  constexpr Index most_coefficients = 300;  // whose steps are quick enough; with more of them one step is as good
  Context& context = unknowns.model().context();
  const Cost cost = context.cost;  // what a fit costs is what the search does
  const std::optional<CoefficientGaussian> step = unknowns.one_step(q);
  CoupledResponse out;
  const bool few = unknowns.size() <= most_coefficients && unknowns.latents() <= most_latents;
  if (few && unknowns.size() > 0)
    out = respond(unknowns, q, step, control);
  else if (step)
    out.gaussian = *step;
  else if (unknowns.size() > 0)
    out.refused = no_curvature;
  context.cost = cost;
  return out;
}

}  // namespace galvi

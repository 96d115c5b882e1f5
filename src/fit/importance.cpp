#include "fit/importance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "function/normal.h"
#include "numeric/even_points.h"
#include "numeric/pareto_tail.h"
#include "numeric/special_functions.h"

namespace galvi {

namespace {

constexpr double nu = 7, nu_scales = 3;  // degrees of freedom
constexpr double still = 0.02, least_efficiency = 0.2, heaviest_tail = 0.5;
constexpr double high_efficiency = 0.5, heaviest_of_many = 0.7;

// Rounds after which points that few weights dominate are given up. Others may need more: with ten rows and a predictor
// of the scale sds settle by half of what is missing in a round.
constexpr int usual_rounds = 4;

/// Points of a t distribution, of two independent ones where some of the numbers are scales, each followed by its mirror
/// image, and minus the log density there up to a constant. The first points of many are as evenly spread as fewer would
/// be.
struct Spread {
  Matrix z;                    // S x D, of the standard distribution
  Vector log_inverse_density;  // S

  Spread(Index S, Index D, Index scales) : z(S, D), log_inverse_density(Vector::Zero(S)) {
    const bool two = scales > 0 && scales < D;
    const Matrix u = even_points(S / 2, two ? D + 2 : D + 1);
    add(u, 0, two ? D - scales : D, D, nu);
    if (two) add(u, D - scales, scales, D + 1, nu_scales);
    weigh_as_normal();
  }

 private:
  /// Numbers first .. first + count - 1, whose common scale is by u's column `by`
  void add(const Matrix& u, Index first, Index count, Index by, double degrees) {
    for (Index s = 0; s < u.rows(); ++s) {
      const double scale = std::sqrt(degrees / (2 * lower_gamma_quantile(degrees / 2, u(s, by))));
      double square = 0;
      for (Index j = first; j < first + count; ++j) {
        z(2 * s, j) = scale * normal_quantile(u(s, j));
        z(2 * s + 1, j) = -z(2 * s, j);
        square += z(2 * s, j) * z(2 * s, j);
      }
      const double log_inverse = 0.5 * (degrees + static_cast<double>(count)) * std::log1p(square / degrees);
      log_inverse_density[2 * s] += log_inverse;
      log_inverse_density[2 * s + 1] += log_inverse;
    }
  }

  /// Weighs the points so that they give a normal target its own second moments, by a factor that is bounded, because far
  /// points have little to say of it: those of four thousand points in fifteen dimensions are off by 9 % of an sd along
  /// some directions, in every round alike.
  void weigh_as_normal() {
    constexpr int most = 12;
    constexpr double near = 1e-4;
    const auto D = static_cast<double>(z.cols());
    const Vector plain = log_inverse_density, square = z.rowwise().squaredNorm();
    const Vector bounded = (nu + D) / (nu + square.array());
    Matrix tilt = Matrix::Zero(z.cols(), z.cols());
    for (int i = 0; i < most; ++i) {
      const Vector log_weight = log_inverse_density - 0.5 * square;
      Vector weight = (log_weight.array() - log_weight.maxCoeff()).exp();
      weight /= weight.sum();
      Matrix missing = -(z.transpose() * (weight.asDiagonal() * z));
      missing.diagonal().array() += 1;
      if (missing.cwiseAbs().maxCoeff() < near) break;
      // by the derivative where points are even: half of it, and along the radius, where the factor is flat, more
      tilt += 0.5 * missing;
      tilt.diagonal().array() += 0.5 * missing.trace() / nu;
      log_inverse_density = plain + bounded.cwiseProduct((z * tilt).cwiseProduct(z).rowwise().sum());
    }
  }
};

/// Weights of sum one, and the moments that they give the points.   X: S x D
struct Weighing {
  Vector weight, mean;
  Matrix covariance;

  Weighing(const ConstMatrixRef& X, const ConstVectorRef& log_weight)
      : weight((log_weight.array() - log_weight.maxCoeff()).exp()) {
    weight /= weight.sum();
    mean = X.transpose() * weight;
    const Matrix away = X.rowwise() - mean.transpose();
    covariance.noalias() = away.transpose() * (weight.asDiagonal() * away);
  }
};

/// Another covariance in units of the columns of a root: R^-1 V R'^-1.
Matrix in_units(const Matrix& root, const Matrix& covariance) {
  const Eigen::PartialPivLU<Matrix> axes(root);
  const Matrix out = axes.solve(axes.solve(covariance).transpose());
  return 0.5 * (out + out.transpose());
}

/// The largest relative change of the sds along the columns, from one.
double largest_move(const Matrix& units) {
  return (units.diagonal().array().max(0.0).sqrt() - 1).abs().maxCoeff();
}

/// Its symmetric root, so that R times it is the root of the new covariance that is nearest to R: the same points move
/// little. Empty where it is not positive definite.
std::optional<Matrix> symmetric_root(const Matrix& units) {
  const Eigen::SelfAdjointEigenSolver<Matrix> parts(units);
  if (parts.info() != Eigen::Success || !(parts.eigenvalues().array() > 0).all()) return std::nullopt;
  return parts.operatorSqrt();
}

}  // namespace

bool PointsQuality::believed() const {
  // where nearly all points count a few heavy ones say less
  const double heaviest = efficiency > high_efficiency ? heaviest_of_many : heaviest_tail;
  return moved < still && efficiency > least_efficiency && tail < heaviest;
}

bool PointsQuality::hopeless() const { return !(moved < 0.3 && efficiency > 0.02); }

std::optional<ImportancePoints> importance_points(Context& context, ImportanceStart start,
                                                  const std::function<Vector(const Matrix& X)>& log_density,
                                                  const ImportanceControl& control) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const Index S = control.points, first_points = S / 4;  // the first only tell the others where to be
  const Spread spread(S, start.mean.size(), control.scales);
  ImportancePoints out;
  while (true) {
    ++out.rounds;
    context.monitor.report({"Weighing points of the posterior", out.rounds, none, none});
    const Index points = out.rounds == 1 ? first_points : S;
    out.X.noalias() = spread.z.topRows(points) * start.root.transpose();
    out.X.rowwise() += start.mean.transpose();
    const Vector log_weight = log_density(out.X) + spread.log_inverse_density.head(points);
    if (!std::isfinite(log_weight.maxCoeff())) return std::nullopt;
    Weighing all(out.X, log_weight);
    const Matrix units = in_units(start.root, all.covariance);
    out.moved = largest_move(units);
    // The first round is compared with as many points of the second, the same but for their centre and covariance.
    if (out.rounds == 2) {
      const auto few = log_weight.head(first_points);
      if (!std::isfinite(few.maxCoeff())) return std::nullopt;
      out.moved = largest_move(in_units(start.root, Weighing(out.X.topRows(first_points), few).covariance));
    }
    out.weight = std::move(all.weight);
    out.efficiency = 1 / (static_cast<double>(points) * out.weight.squaredNorm());
    const std::optional<Matrix> turn = symmetric_root(units);
    if (turn) start = {std::move(all.mean), start.root * *turn};
    if (out.rounds == control.rounds || (out.rounds > 1 && out.moved < control.enough) ||
        (out.rounds >= control.patience && out.hopeless()) ||
        (out.rounds >= usual_rounds && !(out.efficiency > least_efficiency)))
      break;
    if (!turn) return std::nullopt;
  }
  out.next = std::move(start);
  out.tail = pareto_tail(out.weight);
  return out;
}

}  // namespace galvi

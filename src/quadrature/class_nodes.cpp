#include "quadrature/class_nodes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "quadrature/normal_rule.h"

namespace galvi {

namespace {

constexpr Index hermite_nodes = 15;

NormalRule fifth_degree_rule(Index r) {
  const double d = static_cast<double>(r);
  NormalRule out{Matrix::Zero(2 * r * r + 1, r), Vector::Constant(2 * r * r + 1, 1 / ((d + 2) * (d + 2)))};
  out.weight[0] = 2 / (d + 2);
  Index at = 1;
  for (Index i = 0; i < r; ++i)
    for (const double sign : {1.0, -1.0}) {
      out.weight[at] = (4 - d) / (2 * (d + 2) * (d + 2));
      out.nodes(at++, i) = sign * std::sqrt(d + 2);
    }
  for (Index i = 0; i < r; ++i)
    for (Index j = 0; j < i; ++j)
      for (const double first : {1.0, -1.0})
        for (const double second : {1.0, -1.0}) {
          out.nodes(at, i) = first * std::sqrt(0.5 * (d + 2));
          out.nodes(at++, j) = second * std::sqrt(0.5 * (d + 2));
        }
  return out;
}

/// How many nodes the mean of a softmax takes along an axis of this variance. It is analytic in a strip around the axis, so
/// that the error of n nodes is about n! (sd / width)^2n. The most are given where that is not enough.
struct NodesAlong {
  explicit NodesAlong(double variance) {
    constexpr double squared_width = 0.5 * M_PI * M_PI;  // classes that differ by i pi cancel, at sqrt(2) a unit
    constexpr double enough = 1e-11;
    double error = 1;
    for (count = 1; count < hermite_nodes; ++count) {
      error *= static_cast<double>(count) * variance / squared_width;
      if (error <= enough) return;
    }
    accurate = false;
  }
  Index count;
  bool accurate = true;
};

/// For independent N(0, variances) variables.   r
class ProductOfRules {
 public:
  /// smooth: of a softmax itself, not of products of many of them.
  ProductOfRules(const Vector& variances, bool smooth) : sd_(variances.cwiseSqrt()) {
    for (const double v : variances) {
      const NodesAlong own(v);
      count_.push_back(smooth ? own.count : hermite_nodes);
      accurate_ = accurate_ && smooth && own.accurate;
    }
  }
  bool accurate() const { return accurate_; }
  double size() const {
    return std::accumulate(count_.begin(), count_.end(), 1.0, std::multiplies<double>());
  }
  NormalRule make() const {
    const auto all = static_cast<Index>(size()), r = static_cast<Index>(count_.size());
    NormalRule out{Matrix(all, r), Vector::Ones(all)};
    for (Index s = 0; s < all; ++s)
      for (Index i = 0, rest = s; i < r; rest /= count_[i++]) {
        const NormalRule& one = made_rule(count_[i]);
        out.nodes(s, i) = sd_[i] * one.nodes(rest % count_[i], 0);
        out.weight[s] *= one.weight[rest % count_[i]];
      }
    return out;
  }

 private:
  /// Gauss-Hermite's, made once.
  static const NormalRule& made_rule(Index nodes) {
    static const std::vector<NormalRule> all = [] {
      std::vector<NormalRule> out{{}};
      for (Index n = 1; n <= hermite_nodes; ++n) out.push_back(gauss_hermite(n));
      return out;
    }();
    return all[nodes];
  }

  Vector sd_;
  std::vector<Index> count_;
  bool accurate_ = true;
};

NormalRule normal_rule(const Vector& variances, bool smooth) {
  constexpr double most = 225;  // of nodes
  const ProductOfRules product(variances, smooth);
  if (product.size() <= most) return product.make();
  NormalRule out = fifth_degree_rule(variances.size());
  out.nodes = out.nodes * variances.cwiseSqrt().asDiagonal();
  return out;
}

}  // namespace

Matrix class_contrasts(Index C) {
  Matrix out = Matrix::Zero(C, C - 1);
  for (Index j = 1; j < C; ++j) {
    const double size = std::sqrt(static_cast<double>(j * (j + 1)));
    out.col(j - 1).head(j).setConstant(1 / size);
    out(j, j - 1) = -static_cast<double>(j) / size;
  }
  return out;
}

ClassNodes class_nodes(const Vector& mean, const Matrix& V, bool smooth) {
  const Index C = mean.size();
  const double c = static_cast<double>(C);
  if (!V.allFinite()) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    return {mean.transpose(), Matrix::Constant(1, C, unknown), Vector::Ones(1)};
  }
  const Vector off = V.rowwise().sum() - V.diagonal();
  // the off-diagonals of V + 1s' + s1' add up to zero in each row
  const Vector s = C == 2 ? Vector(Vector::Constant(2, -0.5 * V(0, 1)))
                          : Vector((off.sum() / (2 * (c - 1)) - off.array()) / (c - 2));
  // what matters: the covariance of contrasts
  const Matrix basis = class_contrasts(C);
  const Matrix whole = basis.transpose() * V * basis;
  const double scale = whole.diagonal().maxCoeff();
  if (scale <= 1e-14 * V.cwiseAbs().maxCoeff())
    return {mean.transpose(), Matrix::Zero(1, C), Vector::Ones(1)};
  // Known values cost so little that many of them are cheaper than few independent ones.
  constexpr double most_known = 512;
  const auto along = [&](const Eigen::SelfAdjointEigenSolver<Matrix>& axes, Index kept) {
    return Matrix(basis * axes.eigenvectors().rightCols(kept));
  };
  const auto kept_of = [&](const Eigen::SelfAdjointEigenSolver<Matrix>& axes) {
    return (axes.eigenvalues().array() > 1e-10 * scale).count();  // the last ones
  };
  const Eigen::SelfAdjointEigenSolver<Matrix> all(whole);
  const Index own = kept_of(all);
  const ProductOfRules known(all.eigenvalues().tail(own), smooth);
  if (known.accurate() && known.size() <= most_known) {
    const NormalRule rule = known.make();
    return {(rule.nodes * along(all, own).transpose()).rowwise() + mean.transpose(),
            Matrix::Zero(rule.weight.size(), C), rule.weight};
  }
  // Independent parts may not take more than there is: the largest t for which whole - t B'DB is a covariance
  // is the smallest eigenvalue of whole x = t B'DB x.
  Vector D = (V.diagonal() + 2 * s).cwiseMax(0.05 * scale);
  const Matrix independent = basis.transpose() * D.asDiagonal() * basis;
  const Eigen::GeneralizedSelfAdjointEigenSolver<Matrix> ratio(whole, independent, Eigen::EigenvaluesOnly);
  D *= std::clamp(ratio.eigenvalues()[0], 0.0, 1.0);
  const Eigen::SelfAdjointEigenSolver<Matrix> rest(whole - basis.transpose() * D.asDiagonal() * basis);
  const Index kept = kept_of(rest);
  const NormalRule rule = normal_rule(rest.eigenvalues().tail(kept), smooth);
  return {(rule.nodes * along(rest, kept).transpose()).rowwise() + mean.transpose(),
          D.transpose().replicate(rule.weight.size(), 1), rule.weight};
}

}  // namespace galvi

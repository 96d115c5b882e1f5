#include "fit/weighted_points.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "fit/conditional_axes.h"
#include "numeric/backend.h"
#include "numeric/dense.h"
#include "numeric/parallel.h"

namespace galvi {

namespace {

// Few rows have skew posteriors, and cost little.
Index points_for(Index unknowns, Index rows) {
  if (unknowns > 20) return 16000;
  if (unknowns > 8) return rows > 1000 ? 4000 : 8000;
  if (unknowns <= 3 || rows > 200) return 4000;
  return rows > 32 ? 8000 : 16000;
}

/// Where the coefficients are at hyperparameters x, which the table and the priors have afterwards; empty where a prior does
/// not exist, as with correlations that are 1 but for rounding.
std::optional<ConditionalPlace> place_at(const Unknowns& unknowns, const ConditionalAxes& axes, HyperTable& table,
                                         const Vector& x) {
  table.set_unconstrained(x);
  try {
    unknowns.update_priors(table.values());
    return axes.place();
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

/// The joint log density of coefficients, in the coordinates of these axes, and of hyperparameters, many points at a time.
class JointDensity {
 public:
  JointDensity(const Unknowns& unknowns, const ConditionalAxes& axes, HyperTable& table, std::vector<Index> free,
               const std::function<std::unique_ptr<Likelihood>()>& another)
      : unknowns_(unknowns),
        axes_(axes),
        table_(table),
        free_(std::move(free)),
        another_(another),
        distinct_(unknowns.distinct()),
        x0_(table.unconstrained()),
        values_(table.values()) {
    const Data& data = distinct_.data;
    const Index N = data.y.size(), blocks = (N + PreparedRows::most - 1) / PreparedRows::most;
    for (Index block = 0, begin = 0; block < blocks; ++block) {
      const Index end = N * (block + 1) / blocks;
      rows_.push_back(unknowns_.model().likelihood().prepare(data.slice(begin, end - begin)));
      begin = end;
    }
  }
  ~JointDensity() {
    table_.set_values(values_);
    unknowns_.model().update(values_);
  }
  JointDensity(const JointDensity&) = delete;
  JointDensity& operator=(const JointDensity&) = delete;

  /// All learned hyperparameters where the free ones are those of a point.
  Vector hyper(const ConstVectorRef& free) const {
    Vector x = x0_;
    for (std::size_t i = 0; i < free_.size(); ++i) x[free_[i]] = free[static_cast<Index>(i)];
    return x;
  }

  /// U: S x (L + m). -infinity where the density is zero.
  Vector operator()(const Matrix& U) {
    const Index S = U.rows(), L = unknowns_.size(), m = U.cols() - L;
    Vector out(S);
    Matrix X = Matrix::Zero(S, L), values(table_.size(), S);
    at_points(U, [&](Index s, const std::optional<ConditionalPlace>& place) {
      values.col(s) = table_.values();
      // a flat prior has an infinite sd
      const bool finite = (values.col(s).array().isFinite() || !values_.array().isFinite()).all();
      out[s] = -infinity;
      if (!place) return;
      const Vector z = place->at(U.row(s).head(L).transpose());
      X.row(s) = z.transpose();
      if (!finite) return;
      try {
        out[s] = unknowns_.log_prior(z) + table_.log_prior() + place->log_scale;
      } catch (const std::domain_error&) {  // its determinant is not that of a precision
      }
    });
    add_log_likelihoods(X, values, m > 0, out);
    return out.unaryExpr([](double x) { return std::isfinite(x) ? x : -infinity; });
  }

  /// The coefficients of points with a density.   S x L
  Matrix coefficients(const Matrix& U) {
    const Index L = unknowns_.size();
    Matrix X = Matrix::Zero(U.rows(), L);
    at_points(U, [&](Index s, const std::optional<ConditionalPlace>& place) {
      if (place) X.row(s) = place->at(U.row(s).head(L).transpose()).transpose();
    });
    return X;
  }

 private:
  /// f(s, place) with the table and the priors at the hyperparameters of each point
  template <class F>
  void at_points(const Matrix& U, const F& f) {
    const Index m = U.cols() - unknowns_.size();
    std::optional<ConditionalPlace> place;
    for (Index s = 0; s < U.rows(); ++s) {
      if (s % 256 == 0) unknowns_.model().context().monitor.poll();
      if (m > 0 || s == 0) place = place_at(unknowns_, axes_, table_, hyper(U.row(s).tail(m).transpose()));
      f(s, place);
    }
  }

  void add_log_likelihoods(const Matrix& X, const Matrix& values, bool moves, Vector& out) {
    LatentGaussianModel& model = unknowns_.model();
    const Index S = X.rows(), N = distinct_.offset.rows(), K = unknowns_.latents();
    constexpr Index most_at_once = 64, entries = 65536;
    constexpr double row_work = 50;  // approximate flops
    const Index at_once = std::clamp(entries / std::max<Index>(1, N * K), Index{4}, most_at_once);  // points
    const Backend& backend = model.context().backend;
    const Index blocks = (S + at_once - 1) / at_once;
    const bool own = moves && another_;
    const auto body = [&](Index block) {
      const Index begin = block * at_once, count = std::min(at_once, S - begin);
      Matrix eta(N, K * count);  // K columns for each point
      for (Index k = 0; k < K; ++k) {
        Eigen::Map<Matrix, 0, Eigen::OuterStride<>> to(eta.data() + k * N, N, count,
                                                       Eigen::OuterStride<>(K * N));
        to.colwise() = distinct_.offset.col(k);
        backend.multiply(false, true, 1.0, unknowns_.W(distinct_, k),
                         X.block(begin, unknowns_.first(k), count, unknowns_.count(k)), 1.0, to);
      }
      const std::unique_ptr<Likelihood> made = own ? another_() : nullptr;
      for (Index s = 0; s < count; ++s) {
        if (out[begin + s] == -infinity) continue;
        try {
          if (own)
            made->update(values.col(begin + s));
          else if (moves)
            model.update_likelihood(values.col(begin + s));
        } catch (const std::domain_error&) {  // the distribution does not exist with these parameters
          out[begin + s] = -infinity;
          continue;
        }
        const Likelihood& likelihood = own ? *made : model.likelihood();
        double sum = 0;
        Index first = 0;
        for (const PreparedRows& rows : rows_) {
          sum += likelihood.sum_log_density(rows, eta.block(first, K * s, rows.size(), K));
          first += rows.size();
        }
        out[begin + s] += sum;
      }
    };
    if (moves && !own) {
      const SerialLoops serial;
      parallel_for(model.context(), blocks, 0, body);
    } else {
      parallel_for(model.context(), blocks, row_work * static_cast<double>(N * S), body);
    }
  }

  const Unknowns& unknowns_;
  const ConditionalAxes& axes_;
  HyperTable& table_;
  std::vector<Index> free_;
  const std::function<std::unique_ptr<Likelihood>()>& another_;
  const DistinctRows distinct_;
  const Vector x0_, values_;
  std::vector<PreparedRows> rows_;  // all of them, one after the other
};

/// A root of covariances of coefficients, R R' = V, whose columns turn with the coefficients when these are those of other
/// columns with the same space: points, and all that follows from them, then do not depend on the coding of factors, on
/// units or on origins. They are the principal axes of V in the space of the rows that count, by G = sum_k W_k'W_k, each
/// with the sign that gives its rows a positive skewness.
class Root {
 public:
  explicit Root(const Unknowns& unknowns)
      : unknowns_(unknowns),
        counts_((unknowns.model().data().weight.array() != 0).cast<double>()),
        gram_(Matrix::Zero(unknowns.size(), unknowns.size())) {
    for (Index k = 0; k < unknowns.latents(); ++k)
      gram_.block(unknowns.first(k), unknowns.first(k), unknowns.count(k), unknowns.count(k)) =
          unknowns.W(k).transpose() * counts_.asDiagonal() * unknowns.W(k);
  }

  /// V: L x L. Empty where it is not positive definite.
  std::optional<Matrix> operator()(const Matrix& V) const {
    constexpr double ridge = 1e-6;  // of directions that the rows do not show
    const Index L = unknowns_.size();
    const Vector unit = V.diagonal().cwiseSqrt(), inverse = unit.cwiseInverse();
    if (!unit.allFinite() || !(unit.array() > 0).all()) return std::nullopt;
    const Eigen::LLT<Matrix> own(inverse.asDiagonal() * V * inverse.asDiagonal());
    if (own.info() != Eigen::Success) return std::nullopt;
    // in units of the sds: H = G + a share of V^-1, H = T T'
    Matrix H = unit.asDiagonal() * gram_ * unit.asDiagonal();
    const double share = ridge * (H.cwiseProduct(inverse.asDiagonal() * V * inverse.asDiagonal())).sum() /
                         static_cast<double>(L);
    H += (share > 0 ? share : 1.0) * own.solve(Matrix::Identity(L, L));
    const Eigen::LLT<Matrix> rows(H);
    if (rows.info() != Eigen::Success) return std::nullopt;
    // T'V T = E D E'  ->  R = T'^-1 E sqrt(D)
    const Matrix half = rows.matrixU() * Matrix(own.matrixL());
    const Eigen::SelfAdjointEigenSolver<Matrix> axes(half * half.transpose());
    if (axes.info() != Eigen::Success || !(axes.eigenvalues().array() > 0).all()) return std::nullopt;
    const Matrix R = rows.matrixU().solve(axes.eigenvectors() * axes.eigenvalues().cwiseSqrt().asDiagonal());
    Matrix out(L, L);
    for (Index j = 0; j < L; ++j) {
      const Vector column = unit.asDiagonal() * R.col(L - 1 - j);  // the longest first
      out.col(j) = sign_of(column, unit) * column;
    }
    return out;
  }

 private:
  /// unit: the sds of the coefficients
  double sign_of(const Vector& axis, const Vector& unit) const {
    constexpr double shown = 1e-3;  // of what each coefficient alone would do to a row
    std::vector<Vector> rows;
    double largest = 0, apart = 0;
    for (Index k = 0; k < unknowns_.latents(); ++k) {
      const auto own = axis.segment(unknowns_.first(k), unknowns_.count(k));
      rows.push_back(counts_.cwiseProduct(unknowns_.W(k) * own));
      largest = std::max(largest, rows.back().cwiseAbs().maxCoeff());
      apart = std::max(apart, counts_.cwiseProduct(unknowns_.W(k).cwiseAbs() * own.cwiseAbs()).maxCoeff());
    }
    // an intercept and all groups against each other: the rows have only rounding
    if (!(largest > shown * apart)) rows = {axis.cwiseQuotient(unit)};
    double sum = 0, size = 0;
    largest = 0;
    for (const Vector& of : rows) {
      const Vector cubes = of.array().cube();
      sum += cubes.sum();
      size += cubes.cwiseAbs().sum();
      for (Index n = 0; n < of.size(); ++n)
        if (std::abs(of[n]) > 1.001 * std::abs(largest)) largest = of[n];
    }
    return (std::abs(sum) > 1e-6 * size ? sum : largest) < 0 ? -1 : 1;
  }

  const Unknowns& unknowns_;
  Vector counts_;  // one for each row that does, else zero
  Matrix gram_;
};

struct JointStart {
  ConditionalAxes axes;
  ImportanceStart points;
  bool funnel;  // do coefficients' priors scale with hyperparameters?
};

/// From the joint Gaussian at the mode. Hyperparameters move the coefficients' means as there; how they do so by the priors
/// the axes know. Empty where it is not positive definite.
std::optional<JointStart> joint_start(const Unknowns& unknowns, HyperTable& table, const std::vector<Index>& free,
                                      const CoefficientGaussian& start) {
  constexpr double step = 0.01;  // sds
  const Index D = start.mean.size(), L = unknowns.size(), m = D - L;
  const Matrix& V = start.covariance;
  const Eigen::LLT<Matrix> hyper(V.bottomRightCorner(m, m));
  if (m > 0 && hyper.info() != Eigen::Success) return std::nullopt;
  const Matrix hyper_root = hyper.matrixL();
  // the means' change by one sd along each axis of the hyperparameters
  Matrix moves = hyper.matrixL().solve(V.bottomLeftCorner(m, L)).transpose();
  const std::optional<Matrix> root = Root(unknowns)(V.topLeftCorner(L, L) - moves * moves.transpose());
  if (!root) return std::nullopt;
  JointStart out{ConditionalAxes(unknowns, start.mean.head(L), *root),
                 {Vector::Zero(D), Matrix::Identity(D, D)},
                 false};
  if (m == 0) return out;
  out.points.mean.tail(m) = start.mean.tail(m);
  out.points.root.bottomRightCorner(m, m) = hyper_root;
  const Vector values = table.values(), x0 = table.unconstrained();
  const auto centre = [&](Index axis, double by) -> Vector {
    Vector x = x0;
    for (Index i = 0; i < m; ++i) x[free[static_cast<std::size_t>(i)]] += by * hyper_root(i, axis);
    const std::optional<ConditionalPlace> there = place_at(unknowns, out.axes, table, x);
    out.funnel = out.funnel || !there || there->log_scale != 0;
    return there ? there->centre : start.mean.head(L);
  };
  const bool known = !moves.isZero(0);
  for (Index axis = 0; axis < m; ++axis) {
    const Vector by_priors = (centre(axis, step) - centre(axis, -step)) / (2 * step);
    if (known) moves.col(axis) -= by_priors;
  }
  table.set_values(values);
  unknowns.update_priors(values);
  if (known) out.points.root.topRightCorner(L, m) = Eigen::PartialPivLU<Matrix>(*root).solve(moves);
  return out;
}

/// As many points as a fit can keep, where these are fewer: by systematic resampling, and then moved so that they have
/// the same mean and covariance.
void keep_few(Matrix& X, Vector& weight) {
  constexpr double most_bytes = 1e6;
  const auto most = static_cast<Index>(most_bytes / sizeof(double) / static_cast<double>(X.cols() + 1));
  if (X.rows() <= most) return;
  const Vector mean = X.transpose() * weight;
  const Matrix away = X.rowwise() - mean.transpose();
  Matrix few(most, X.cols());
  double below = 0;
  for (Index s = 0, kept = 0; s < X.rows() && kept < most; ++s) {
    below += weight[s];
    while (kept < most && (static_cast<double>(kept) + 0.5) / static_cast<double>(most) <= below)
      few.row(kept++) = away.row(s);
    if (s == X.rows() - 1)
      while (kept < most) few.row(kept++) = away.row(s);
  }
  few.rowwise() -= few.colwise().mean().eval();
  const Vector unit = (away.cwiseAbs2().transpose() * weight).cwiseSqrt().cwiseInverse();
  const auto root_of = [&](const Matrix& points, const Vector& share) {
    const Matrix scaled = points * unit.asDiagonal();
    return Eigen::LLT<Matrix>(scaled.transpose() * share.asDiagonal() * scaled);
  };
  const Vector equal = Vector::Constant(most, 1 / static_cast<double>(most));
  const Eigen::LLT<Matrix> wanted = root_of(away, weight), found = root_of(few, equal);
  if (wanted.info() != Eigen::Success || found.info() != Eigen::Success) return;
  const Matrix whitened = found.matrixL().solve((few * unit.asDiagonal()).transpose());
  const Matrix moved = Matrix(wanted.matrixL()) * whitened;
  X = moved.transpose() * unit.cwiseInverse().asDiagonal();
  X.rowwise() += mean.transpose();
  weight = equal;
}

}  // namespace

bool takes_points(Index unknowns, Index rows) {
  constexpr double most = 1e8;
  return unknowns > 0 && unknowns <= most_unknowns &&
         static_cast<double>(rows) * static_cast<double>(points_for(unknowns, rows)) <= most;
}

std::optional<WeightedPoints> weighted_points(const Unknowns& unknowns, HyperTable& table,
                                              const std::vector<Index>& free, CoefficientGaussian start,
                                              const std::function<std::unique_ptr<Likelihood>()>& another) {
  const Index D = start.mean.size(), L = unknowns.size(), S = points_for(D, unknowns.model().rows());
  const std::optional<JointStart> from = joint_start(unknowns, table, free, start);
  if (!from) return std::nullopt;
  JointDensity density(unknowns, from->axes, table, free, another);
  ImportanceControl control;
  control.points = S;
  if (from->funnel) control.scales = D - L;
  // few rows can afford to go on until sds stand still to the points' own noise
  if (static_cast<double>(S * unknowns.model().rows()) < 4e5) control.enough *= 0.5;
  std::optional<ImportancePoints> found = importance_points(
      unknowns.model().context(), from->points, [&](const Matrix& U) { return density(U); }, control);
  if (!found) return std::nullopt;
  WeightedPoints out;
  static_cast<PointsQuality&>(out) = *found;
  found->X.leftCols(L) = density.coefficients(found->X);
  keep_few(found->X, found->weight);
  const Matrix& X = found->X;
  out.coefficients = X.leftCols(L);
  out.hyper.resize(X.rows(), table.learned());
  for (Index s = 0; s < X.rows(); ++s)
    out.hyper.row(s) = density.hyper(X.row(s).tail(D - L).transpose()).transpose();
  out.weight = std::move(found->weight);
  return out;
}

}  // namespace galvi

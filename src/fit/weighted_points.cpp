#include "fit/weighted_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "function/normal.h"
#include "likelihood/custom.h"
#include "numeric/dense.h"
#include "numeric/even_points.h"
#include "numeric/parallel.h"
#include "numeric/pareto_tail.h"
#include "numeric/special_functions.h"

namespace galvi {

namespace {

constexpr double nu = 7;  // degrees of freedom
constexpr double still = 0.02, least_efficiency = 0.2, heaviest_tail = 0.5;

Index points_for(Index unknowns) { return unknowns > 20 ? 16000 : 4000; }

/// Points of a t distribution, each with its mirror image, and minus the log density there up to a constant.
struct Spread {
  Matrix z;         // S x D, of the standard distribution
  Vector log_inverse_density;  // S

  Spread(Index S, Index D) : z(S, D), log_inverse_density(S) {
    const Index half = S / 2;
    const Matrix u = even_points(half, D + 1);
    for (Index s = 0; s < half; ++s) {
      const double scale = std::sqrt(nu / (2 * lower_gamma_quantile(nu / 2, u(s, D))));
      for (Index j = 0; j < D; ++j) z(s, j) = scale * normal_quantile(u(s, j));
      z.row(half + s) = -z.row(s);
      log_inverse_density[s] = log_inverse_density[half + s] =
          0.5 * (nu + static_cast<double>(D)) * std::log1p(z.row(s).squaredNorm() / nu);
    }
  }
};

/// The joint log density of coefficients and hyperparameters, many points at a time.
class JointDensity {
 public:
  JointDensity(const Unknowns& unknowns, HyperTable& table, std::vector<Index> free,
               const std::function<std::unique_ptr<Likelihood>()>& another)
      : unknowns_(unknowns), table_(table), free_(std::move(free)), another_(another),
        x0_(table.unconstrained()), values_(table.values()) {}
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

  /// X: S x (L + m). -infinity where there is no density.
  Vector operator()(const Matrix& X) {
    const Index S = X.rows(), L = unknowns_.size(), m = X.cols() - L;
    Vector out(S);
    Matrix values(table_.size(), S);
    for (Index s = 0; s < S; ++s) {
      if (s % 256 == 0) unknowns_.model().context().monitor.poll();
      if (m > 0 || s == 0) {
        table_.set_unconstrained(hyper(X.row(s).tail(m).transpose()));
        if (m > 0) update_priors(table_.values());
      }
      values.col(s) = table_.values();
      out[s] = values.col(s).allFinite() ? unknowns_.log_prior(X.row(s).head(L).transpose()) + table_.log_prior()
                                         : -infinity;
    }
    if (const Custom* custom = unknowns_.model().likelihood().custom())
      add_custom(*custom, X, values, out);
    else
      add_log_likelihoods(X, values, m > 0, out);
    return out.unaryExpr([](double x) { return std::isfinite(x) ? x : -infinity; });
  }

 private:
  void update_priors(const Vector& values) {
    for (const auto& part : unknowns_.model().priors()) part.prior->update(values);
  }

  /// One call of the user's function for each point.
  void add_custom(const Custom& custom, const Matrix& X, const Matrix& values, Vector& out) {
    const Data& data = unknowns_.model().data();
    for (Index s = 0; s < X.rows(); ++s) {
      if (s % 16 == 0) unknowns_.model().context().monitor.poll();
      if (out[s] == -infinity) continue;
      const Vector eta = unknowns_.offset().col(0) + unknowns_.W(0) * X.row(s).head(unknowns_.size()).transpose();
      const Vector each = custom.log_densities(data.y, eta, values.col(s));
      double sum = 0;
      for (Index n = 0; n < eta.size(); ++n)
        if (data.weight[n] != 0) sum += data.weight[n] * each[n];
      out[s] += sum;
    }
  }

  void add_log_likelihoods(const Matrix& X, const Matrix& values, bool moves, Vector& out) {
    LatentGaussianModel& model = unknowns_.model();
    const Index S = X.rows(), N = model.rows(), K = unknowns_.latents();
    constexpr Index at_once = 64;  // points
    constexpr double row_work = 100;  // approximate flops
    const Index blocks = (S + at_once - 1) / at_once;
    const bool own = moves && another_;
    const auto body = [&](Index block) {
      const Index begin = block * at_once, count = std::min(at_once, S - begin);
      std::vector<Matrix> eta(static_cast<std::size_t>(K));  // N x count
      for (Index k = 0; k < K; ++k) {
        eta[k].noalias() =
            unknowns_.W(k) * X.block(begin, unknowns_.first(k), count, unknowns_.count(k)).transpose();
        eta[k].colwise() += unknowns_.offset().col(k);
      }
      const std::unique_ptr<Likelihood> made = own ? another_() : nullptr;
      const Data& data = model.data();
      Vector at(K);
      for (Index s = 0; s < count; ++s) {
        if (out[begin + s] == -infinity) continue;
        if (own)
          made->update(values.col(begin + s));
        else if (moves)
          model.update_likelihood(values.col(begin + s));
        const Likelihood& likelihood = own ? *made : model.likelihood();
        double sum = 0;
        for (Index n = 0; n < N; ++n) {
          if (data.weight[n] == 0) continue;
          for (Index k = 0; k < K; ++k) at[k] = eta[k](n, s);
          sum += data.weight[n] * likelihood.log_density(data[n], at.data());
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
  HyperTable& table_;
  std::vector<Index> free_;
  const std::function<std::unique_ptr<Likelihood>()>& another_;
  const Vector x0_, values_;
};

}  // namespace

bool WeightedPoints::believed() const {
  return moved < still && efficiency > least_efficiency && tail < heaviest_tail;
}

bool WeightedPoints::hopeless() const { return !(moved < 0.3 && efficiency > 0.02); }

bool takes_points(Index unknowns, Index rows) {
  constexpr double most = 1e8;
  return unknowns > 0 && unknowns <= most_unknowns &&
         static_cast<double>(rows) * static_cast<double>(points_for(unknowns)) <= most;
}

std::optional<WeightedPoints> weighted_points(const Unknowns& unknowns, HyperTable& table,
                                              const std::vector<Index>& free, PointsStart start,
                                              const std::function<std::unique_ptr<Likelihood>()>& another) {
  constexpr int most_rounds = 4;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  Context& context = unknowns.model().context();
  const Index D = start.mean.size(), L = unknowns.size(), S = points_for(D);
  const Spread spread(S, D);
  JointDensity density(unknowns, table, free, another);
  WeightedPoints out;
  Matrix X;
  Vector sd = start.covariance.diagonal().cwiseSqrt();
  while (out.rounds < most_rounds) {
    ++out.rounds;
    context.monitor.report({"Weighing points of the posterior", out.rounds, none, none});
    // in units of the sds, which may differ by many orders of magnitude
    const Vector unit = start.covariance.diagonal().cwiseSqrt();
    if (!unit.allFinite() || !(unit.array() > 0).all()) return std::nullopt;
    Matrix root = unit.cwiseInverse().asDiagonal() * start.covariance * unit.cwiseInverse().asDiagonal();
    if (!cholesky(context, root)) return std::nullopt;
    root.triangularView<Eigen::StrictlyUpper>().setZero();
    X.noalias() = spread.z * (unit.asDiagonal() * root).transpose();
    X.rowwise() += start.mean.transpose();
    Vector log_weight = density(X) + spread.log_inverse_density;
    const double top = log_weight.maxCoeff();
    if (!std::isfinite(top)) return std::nullopt;
    out.weight = (log_weight.array() - top).exp();
    out.weight /= out.weight.sum();
    start.mean = X.transpose() * out.weight;
    const Matrix away = X.rowwise() - start.mean.transpose();
    start.covariance.noalias() = away.transpose() * (out.weight.asDiagonal() * away);
    const Vector now = start.covariance.diagonal().cwiseSqrt();
    out.moved = (now.array() / sd.array() - 1).abs().maxCoeff();
    sd = now;
    if (out.rounds > 1 && out.moved < still) break;
  }
  out.efficiency = 1 / (static_cast<double>(S) * out.weight.squaredNorm());
  out.tail = pareto_tail(out.weight);
  out.coefficients = X.leftCols(L);
  out.hyper.resize(S, table.learned());
  for (Index s = 0; s < S; ++s) out.hyper.row(s) = density.hyper(X.row(s).tail(D - L).transpose()).transpose();
  return out;
}

}  // namespace galvi

#include "expectation/product_quadrature.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "likelihood/custom_several.h"
#include "quadrature/derivative_rule.h"

namespace galvi {
namespace {

// On lines beside the mean, a predictor's nodes are chosen by Hermite's coefficients of log p over N(mean, spread^2), in
// nats: it bends enough to be seen among rounding errors; it is resolved, so that no singularity is within three
// spreads; the coefficients that a rule of fewer nodes leaves out are next to nothing.
constexpr int line_nodes = 13, longer_line = 25;
constexpr double least_bend = 1e-4, resolved = 1e-6, resolved_of_two = 1e-8, nothing = 1e-10,
                 rounding = 1e-14;
constexpr double singularity_spreads = 3.0, growth = 2.0;
constexpr double change_of_spread = 3.0;
constexpr int most_wider = 12, most_narrower = 3;
constexpr double least_spread = 1e-6;  // relative to the mean, if the variance is zero
// Gaussians that are far wider than log p is smooth are those of trial steps. Where the nodes of a row would be more than
// so many, singularities are taken to be further away, up to this many sds, which needs about 50 nodes.
constexpr Index most_nodes_a_row = 100000;
constexpr double further = 1.5, furthest_singularity = 2.0;
constexpr double near_mean = 3.0;  // sds
constexpr Index rows_at_once = 256;
constexpr Index nodes_at_once = 200000;  // in one call

/// Rows and all nodes of each: node j of predictor k is the digit k of a node's number.
class Product {
 public:
  Product(const CustomSeveral& likelihood, Vector y, Matrix mean, Matrix variance)
      : l_(likelihood),
        K_(likelihood.latents()),
        y_(std::move(y)),
        mean_(std::move(mean)),
        variance_(std::move(variance)) {
    centre_ = l_.density().log_densities(y_, mean_);
    for (Index r = 0; r < y_.size(); ++r)
      if (!std::isfinite(centre_[r])) l_.density().check(y_[r], mean_.row(r).transpose());
    rules_.resize(static_cast<std::size_t>(y_.size() * K_));
    place_rules();
    first_.push_back(0);
    for (Index r = 0; r < y_.size(); ++r) {
      while (product_of(r) > most_nodes_a_row && coarsen(r)) {
      }
      first_.push_back(first_.back() + product_of(r));
    }
  }
  Index size() const { return y_.size(); }

  /// f(row, its values)
  template <class F>
  void for_rows(F f) const {
    for_calls([&](Index begin, Index end, const Vector& y, const Matrix& eta) {
      const Vector l = l_.density().log_densities(y, eta);
      for (Index r = begin; r < end; ++r) f(r, l.segment(first_[r] - first_[begin], nodes(r)));
    });
  }
  /// Adds the derivatives of row r, whose values these are -> its value.
  double add(Index r, const ConstVectorRef& values, int order, RowExpectation out) const {
    const Vector l = values.array() - centre_[r];
    if (!l.allFinite()) {
      check(r, l);
      return std::numeric_limits<double>::quiet_NaN();
    }
    const Index powers = order < 2 ? 3 : DerivativeRule::orders;
    const Vector means = derivatives(r, l, powers);
    Index stride_k = 1;
    for (Index k = 0; k < K_; ++k, stride_k *= powers) {
      out.d_m[k] += means[stride_k];
      out.d_v[k] += 0.5 * means[2 * stride_k];
      if (order < 2) continue;
      out.d_mm[k * (K_ + 1)] += means[2 * stride_k];
      out.d_mv[k * (K_ + 1)] += 0.5 * means[3 * stride_k];
      out.d_vv[k * (K_ + 1)] += 0.25 * means[4 * stride_k];
      Index stride_m = 1;
      for (Index m = 0; m < K_; ++m, stride_m *= powers) {
        if (m == k) continue;
        out.d_mm[k + K_ * m] += means[stride_k + stride_m];
        out.d_mv[k + K_ * m] += 0.5 * means[stride_k + 2 * stride_m];
        out.d_vv[k + K_ * m] += 0.25 * means[2 * (stride_k + stride_m)];
      }
    }
    return centre_[r] + means[0];
  }
  /// gradient += weight d E / d parameters of all rows
  void add_gradient(const Vector& weight, VectorRef gradient) const {
    const CustomDensity& density = l_.density();
    for_calls([&](Index begin, Index end, const Vector& y, const Matrix& eta) {
      Vector share(y.size());
      for (Index r = begin; r < end; ++r) {
        Index at = first_[r] - first_[begin];
        for_nodes(r, [&](const Index* j) {
          double w = weight[r];
          for (Index k = 0; k < K_; ++k) w *= rule(r, k).weight(0, static_cast<std::size_t>(j[k]));
          share[at++] = w;
        });
      }
      density.add_gradient(y, eta, share, gradient);
    });
  }

 private:
  /// The search for the spread of the nodes of row r in predictor k.
  struct Search {
    Index r, k;
    double sd;
    int nodes = line_nodes, wider = 0, narrower = 0;
  };

  // In rounds, each of which asks for the lines of all searches at once.
  void place_rules() {
    spread_ = variance_.cwiseSqrt().cwiseMax(least_spread * mean_.cwiseAbs().cwiseMax(1.0));
    singularity_ = Matrix::Constant(size(), K_, std::numeric_limits<double>::infinity());
    std::vector<Search> open;
    for (Index r = 0; r < size(); ++r)
      for (Index k = 0; k < K_; ++k) open.push_back({r, k, std::sqrt(variance_(r, k))});
    while (!open.empty()) {
      std::vector<Search> next;
      for (const int nodes : {line_nodes, longer_line}) {
        std::vector<Search> these;
        for (const Search& search : open)
          if (search.nodes == nodes) these.push_back(search);
        const Matrix lines = lines_of(these, nodes);
        for (std::size_t i = 0; i < these.size(); ++i)
          if (!place(these[i], lines.middleCols(static_cast<Index>(2 * i), 2))) next.push_back(these[i]);
      }
      open = std::move(next);
    }
  }
  /// log p on two lines for each search, along its predictor: the others one spread above and below their means, because
  /// log p may be flat at the mean alone.   nodes x 2 * searches
  Matrix lines_of(const std::vector<Search>& searches, int nodes) const {
    const Index count = 2 * nodes * static_cast<Index>(searches.size());
    const DerivativeRule& line = unit_line(nodes);
    Vector y(count);
    Matrix eta(count, K_);
    Index at = 0;
    for (const Search& search : searches)
      for (const double side : {-1.0, 1.0})
        for (const double z : line.nodes()) {
          y[at] = y_[search.r];
          eta.row(at) = mean_.row(search.r) + side * spread_.row(search.r);
          eta(at++, search.k) = mean_(search.r, search.k) + spread_(search.r, search.k) * z;
        }
    const Vector l = count > 0 ? l_.density().log_densities(y, eta) : Vector(0);
    return Eigen::Map<const Matrix>(l.data(), nodes, 2 * static_cast<Index>(searches.size()));
  }
  /// Whether the search has ended, with a rule; else it goes on with another spread.
  bool place(Search& search, const Matrix& lines) {
    const Vector size = sizes_of(lines);
    const Index degrees = size.size();
    const double bend = size.tail(degrees - 2).maxCoeff(), sd = search.sd;
    // nodes are cheap with two predictors
    const double left = search.nodes == longer_line && K_ == 2 ? resolved_of_two : resolved;
    const bool good = size[degrees - 1] + size[degrees - 2] <= std::max(left, rounding * size[0]);
    double& spread = spread_(search.r, search.k);
    DerivativeRule& out = rule(search.r, search.k);
    const double mean = mean_(search.r, search.k), variance = variance_(search.r, search.k);
    if (good && search.nodes == longer_line) {
      out.place_few(mean, variance, longer_line, sd);
      return true;
    }
    if (good && bend < least_bend && search.narrower == 0 && search.wider < most_wider) {
      ++search.wider;
      spread *= change_of_spread;
      return false;
    }
    if (!good && search.wider == 0 && search.narrower == 0 && search.nodes == line_nodes && spread == sd) {
      search.nodes = longer_line;
      return false;
    }
    if (!good && search.wider == 0 && search.narrower < most_narrower) {
      search.nodes = line_nodes;
      ++search.narrower;
      spread /= change_of_spread;
      return false;
    }
    if (spread < sd) {
      singularity_(search.r, search.k) = singularity_spreads * spread;
      out.place(mean, variance, {singularity_(search.r, search.k), growth});
      spread = sd;
    } else if (good) {
      out.place_few(mean, variance, fewest(size, bend, spread > sd), spread);
    } else {
      if (search.wider > 0) spread /= change_of_spread;  // the one before was good
      out.place_few(mean, variance, line_nodes, spread);
    }
    return true;
  }
  Index count(Index r, Index k) const { return static_cast<Index>(rule(r, k).nodes().size()); }
  Index product_of(Index r) const {
    Index out = 1;
    for (Index k = 0; k < K_; ++k) out *= count(r, k);
    return out;
  }
  /// Fewer nodes for the predictor that has most; false where that cannot be.
  bool coarsen(Index r) {
    Index most = -1;
    for (Index k = 0; k < K_; ++k) {
      const double furthest = furthest_singularity * std::sqrt(variance_(r, k));
      if (singularity_(r, k) < furthest && (most < 0 || count(r, k) > count(r, most))) most = k;
    }
    if (most < 0) return false;
    const double mean = mean_(r, most), variance = variance_(r, most);
    double& singularity = singularity_(r, most);
    singularity = std::min(further * singularity, furthest_singularity * std::sqrt(variance));
    rule(r, most).place(mean, variance, {singularity, growth});
    return true;
  }
  /// The larger size of each of Hermite's coefficients on two lines; first that of the values.
  static Vector sizes_of(const Matrix& lines) {
    const int nodes = static_cast<int>(lines.rows());
    if (!lines.allFinite()) return Vector::Constant(nodes, std::numeric_limits<double>::infinity());
    const DerivativeRule& line = unit_line(nodes);
    Matrix basis(nodes, nodes);  // nodes x degrees
    for (Index j = 0; j < nodes; ++j) {
      const double z = line.nodes()[static_cast<std::size_t>(j)],
                   mass = line.weight(0, static_cast<std::size_t>(j));
      double before = 0.0, now = 1.0;  // He_n / sqrt(n!)
      for (int n = 0; n < nodes; ++n) {
        basis(j, n) = mass * now;
        const double next = (z * now - std::sqrt(static_cast<double>(n)) * before) / std::sqrt(n + 1.0);
        before = now;
        now = next;
      }
    }
    Vector out = (basis.transpose() * lines).cwiseAbs().rowwise().maxCoeff();
    out[0] = lines.cwiseAbs().maxCoeff();
    return out;
  }
  // Nodes spread wider than the Gaussian are those of an interpolating polynomial; else n of them integrate products of
  // log p and He_2 up to degree 2 n - 1.
  static int fewest(const Vector& size, double bend, bool interpolates) {
    const double small = nothing * std::min(1.0, bend) + rounding * size[0];
    const auto from = [&](int degree) { return size.tail(line_nodes - degree).maxCoeff(); };
    for (const int n : {5, 7})
      if (from(interpolates ? n : std::min(2 * n - 2, line_nodes - 2)) <= small) return n;
    // the sixteenth coefficient is a tenth of the twelfth or less
    return from(interpolates ? 9 : line_nodes - 2) <= (interpolates ? 1.0 : 10.0) * small ? 9 : line_nodes;
  }
  static const DerivativeRule& unit_line(int nodes) {
    static const std::vector<DerivativeRule> lines = [] {
      std::vector<DerivativeRule> out(2);
      out[0].place_few(0.0, 1.0, line_nodes, 1.0);
      out[1].place_few(0.0, 1.0, longer_line, 1.0);
      return out;
    }();
    return lines[nodes == longer_line];
  }
  DerivativeRule& rule(Index r, Index k) { return rules_[static_cast<std::size_t>(r * K_ + k)]; }
  const DerivativeRule& rule(Index r, Index k) const { return rules_[static_cast<std::size_t>(r * K_ + k)]; }
  Index nodes(Index r) const { return first_[r + 1] - first_[r]; }

  /// f(digits) of each node of a row
  template <class F>
  void for_nodes(Index r, F f) const {
    std::vector<Index> j(static_cast<std::size_t>(K_), 0);
    for (Index i = 0; i < nodes(r); ++i) {
      f(j.data());
      for (Index k = 0; k < K_ && ++j[k] == static_cast<Index>(rule(r, k).nodes().size()); ++k) j[k] = 0;
    }
  }
  /// f(begin, end, y, eta) of as many rows as go into one call
  template <class F>
  void for_calls(F f) const {
    for (Index begin = 0, end = 0; begin < size(); begin = end) {
      for (end = begin + 1; end < size() && first_[end + 1] - first_[begin] <= nodes_at_once;) ++end;
      const Index count = first_[end] - first_[begin];
      Vector y(count);
      Matrix eta(count, K_);
      for (Index r = begin; r < end; ++r) {
        Index at = first_[r] - first_[begin];
        y.segment(at, nodes(r)).setConstant(y_[r]);
        for_nodes(r, [&](const Index* j) {
          for (Index k = 0; k < K_; ++k) eta(at, k) = rule(r, k).nodes()[static_cast<std::size_t>(j[k])];
          ++at;
        });
      }
      f(begin, end, y, eta);
    }
  }

  /// The means of the derivatives of order p_k < powers in each predictor k, at place sum_k p_k powers^k. One predictor
  /// after the other is summed over: nodes of the first x the rest -> the rest x its derivatives.
  Vector derivatives(Index r, const Vector& l, Index powers) const {
    Vector t = l;
    for (Index k = 0; k < K_; ++k) {
      const Index count = static_cast<Index>(rule(r, k).nodes().size());
      Matrix weights(count, powers);
      for (Index j = 0; j < count; ++j)
        for (Index p = 0; p < powers; ++p)
          weights(j, p) = rule(r, k).weight(static_cast<int>(p), static_cast<std::size_t>(j));
      const Matrix next = Eigen::Map<const Matrix>(t.data(), count, t.size() / count).transpose() * weights;
      t = Eigen::Map<const Vector>(next.data(), next.size());
    }
    return t;
  }

  // Far out a user's function may overflow; where q has its mass it must not.
  void check(Index r, const Vector& l) const {
    Index at = 0;
    for_nodes(r, [&](const Index* j) {
      const bool finite = std::isfinite(l[at++]);
      Vector eta(K_);
      bool inside = true;
      for (Index k = 0; k < K_; ++k) {
        eta[k] = rule(r, k).nodes()[static_cast<std::size_t>(j[k])];
        const double off = eta[k] - mean_(r, k);
        inside = inside && off * off <= near_mean * near_mean * variance_(r, k);
      }
      if (!finite && inside) l_.density().check(y_[r], eta);
    });
  }

  const CustomSeveral& l_;
  Index K_;
  Vector y_;
  Matrix mean_, variance_;
  Matrix spread_;       // of the nodes
  Matrix singularity_;  // its distance, where a rule depends on it
  Vector centre_;       // log p at the means, subtracted from all values
  std::vector<DerivativeRule> rules_;
  std::vector<Index> first_;  // the number of each row's first node
};

/// The rows of a block that have a weight and a proper Gaussian.
struct Block {
  std::vector<Index> rows;
  Vector y, weight;
  Matrix mean, variance;
};

Block block_of(const Data& data, const Matrix& mean, const Matrix& variance, Index begin, Index end) {
  Block out;
  for (Index n = begin; n < end; ++n) {
    const bool proper =
        mean.row(n).allFinite() && variance.row(n).allFinite() && (variance.row(n).array() >= 0.0).all();
    if (data.weight[n] != 0.0 && proper) out.rows.push_back(n);
  }
  out.y = data.y(out.rows);
  out.weight = data.weight(out.rows);
  out.mean = mean(out.rows, Eigen::all);
  out.variance = variance(out.rows, Eigen::all);
  return out;
}

template <class F>
void for_blocks(Context& context, const Data& data, const Matrix& mean, const Matrix& variance, F f) {
  for (Index begin = 0; begin < data.y.size(); begin += rows_at_once) {
    context.monitor.poll();
    const Block block = block_of(data, mean, variance, begin, std::min(data.y.size(), begin + rows_at_once));
    if (!block.rows.empty()) f(block);
  }
  ++context.cost.sweeps;
}

}  // namespace

std::string ProductQuadrature::refuses(const Likelihood& likelihood) const {
  const Distributional* form = likelihood.distributional();
  return form && form->custom_several()
             ? ""
             : "Product quadrature serves custom families with several predictors.";
}

void ProductQuadrature::evaluate(Context& context, const Likelihood& likelihood, const Data& data,
                                 const Matrix& mean, const Matrix& variance, int order,
                                 Expectations& out) const {
  const Index N = data.y.size(), K = likelihood.latents();
  if (mean.rows() != N || variance.rows() != N || mean.cols() != K || variance.cols() != K)
    throw std::invalid_argument("mean and variance must be N x K");
  out.value = Vector::Zero(N);
  for (Matrix* part : {&out.d_mean, &out.d_variance}) *part = Matrix::Zero(N, K);
  if (order > 1)
    for (Matrix* part : {&out.d_mm, &out.d_mv, &out.d_vv}) *part = Matrix::Zero(N, K * K);
  for (Index n = 0; n < N; ++n)
    if (data.weight[n] != 0.0) out.value[n] = std::numeric_limits<double>::quiet_NaN();
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> d(
      5, K * K);  // d_m, d_v, d_mm, d_mv, d_vv of a row
  for_blocks(context, data, mean, variance, [&](const Block& block) {
    const Product product(*likelihood.distributional()->custom_several(), block.y, block.mean,
                          block.variance);
    product.for_rows([&](Index r, const ConstVectorRef& values) {
      const Index n = block.rows[static_cast<std::size_t>(r)];
      d.setZero();
      const double value =
          product.add(r, values, order, {0.0, &d(0, 0), &d(1, 0), &d(2, 0), &d(3, 0), &d(4, 0)});
      out.value[n] = block.weight[r] * value;
      d *= block.weight[r];
      out.d_mean.row(n) = d.row(0).head(K);
      out.d_variance.row(n) = d.row(1).head(K);
      if (order < 2) return;
      out.d_mm.row(n) = d.row(2);
      out.d_mv.row(n) = d.row(3);
      out.d_vv.row(n) = d.row(4);
    });
  });
}

void ProductQuadrature::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                                     const double* variance, int order, RowExpectation& out) const {
  using Row = Eigen::Map<const Eigen::RowVectorXd>;
  const Index K = likelihood.latents();
  const Product product(*likelihood.distributional()->custom_several(), Vector::Constant(1, datum.y),
                        Row(mean, K), Row(variance, K));
  product.for_rows(
      [&](Index r, const ConstVectorRef& values) { out.value += product.add(r, values, order, out); });
}

void ProductQuadrature::add_gradient(Context& context, const Likelihood& likelihood, const Data& data,
                                     const Matrix& mean, const Matrix& variance, VectorRef gradient) const {
  if (!likelihood.has_hyper()) return;
  for_blocks(context, data, mean, variance, [&](const Block& block) {
    Product(*likelihood.distributional()->custom_several(), block.y, block.mean, block.variance)
        .add_gradient(block.weight, gradient);
  });
}

}  // namespace galvi

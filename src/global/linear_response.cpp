#include "global/linear_response.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "numeric/backend.h"
#include "numeric/dense.h"
#include "numeric/parallel.h"

namespace galvi {

namespace {

// Where numbers that belong to classes a <= b <= .., up to four, are kept: a place for each such list.
class ClassLists {
 public:
  explicit ClassLists(Index classes) : base_(classes + 1), place_(base_ * base_ * base_ * base_, 0) {}
  Index size() const { return size_; }
  void add(const std::vector<Index>& classes) { place_[code(classes)] = size_++; }
  Index operator()(const std::vector<Index>& classes) const { return place_[code(classes)]; }

 private:
  std::size_t code(const std::vector<Index>& classes) const {
    std::size_t out = 0;
    for (const Index c : classes)
      out = out * static_cast<std::size_t>(base_) + static_cast<std::size_t>(c + 1);
    return out;
  }
  Index base_, size_ = 0;
  std::vector<Index> place_;
};

// E of products of up to four probabilities, in a column each.
class ProbabilityMoments {
 public:
  explicit ProbabilityMoments(Index classes) : lists_(classes) {
    for (Index a = 0; a < classes; ++a) lists_.add({a});
    for (Index a = 0; a < classes; ++a)
      for (Index b = a; b < classes; ++b) {
        lists_.add({a, b});
        for (Index c = b; c < classes; ++c) {
          lists_.add({a, b, c});
          for (Index d = c; d < classes; ++d) lists_.add({a, b, c, d});
        }
      }
  }
  void resize(Index rows) { moments_.resize(rows, lists_.size()); }
  /// p: points x classes
  void take(Index n, const Matrix& p, const Vector& weight) {
    Index at = 0;
    for (Index a = 0; a < p.cols(); ++a) moments_(n, at++) = weight.dot(p.col(a));
    for (Index a = 0; a < p.cols(); ++a) {
      const Vector one = weight.cwiseProduct(p.col(a));
      for (Index b = a; b < p.cols(); ++b) {
        const Vector two = one.cwiseProduct(p.col(b));
        moments_(n, at++) = two.sum();
        for (Index c = b; c < p.cols(); ++c) {
          const Vector three = two.cwiseProduct(p.col(c));
          moments_(n, at++) = three.sum();
          for (Index d = c; d < p.cols(); ++d) moments_(n, at++) = three.dot(p.col(d));
        }
      }
    }
  }

  /// E of the joint cumulant of the indicators of classes a <= b <= .., in every row. It is the sum over partitions of
  /// this list of (-1)^(k - 1) (k - 1)! times the product of the k parts' means. A part has a mean where its classes
  /// are the same, p of this class, so that each class is partitioned by itself.
  Vector cumulant(const std::vector<Index>& classes) const {
    Vector out = Vector::Zero(moments_.rows());
    std::vector<Index> parts;
    add_partitions(classes, 0, 1, parts, out);
    return out;
  }

 private:
  void add_partitions(const std::vector<Index>& classes, std::size_t from, double ways,
                      std::vector<Index>& parts, Vector& out) const {
    // of n in k parts, Stirling's numbers of the second kind
    constexpr double partitions[5][5] = {{}, {0, 1}, {0, 1, 1}, {0, 1, 3, 1}, {0, 1, 7, 6, 1}};
    constexpr double factor[5] = {0, 1, -1, 2, -6};
    if (from == classes.size()) {
      out += ways * factor[parts.size()] * moments_.col(lists_(parts));
      return;
    }
    const Index own = classes[from];
    const std::size_t n = static_cast<std::size_t>(std::count(classes.begin(), classes.end(), own));
    for (std::size_t k = 1; k <= n; ++k) {
      parts.push_back(own);
      add_partitions(classes, from + n, ways * partitions[n][k], parts, out);
    }
    parts.resize(parts.size() - n);
  }

  ClassLists lists_;
  Matrix moments_;
};

// I - B / 2 - A'A / 2 for many X at once. Products with V are of pairs of latent values: C_ab = w_a' dV_ab w_b, whose
// rows are sums over features w_ai w_bj, which serve all X.
class ResponseMatrix {
 public:
  ResponseMatrix(Context& context, const std::vector<LatentColumns>& latents,
                 const HigherDerivatives& derivatives, const Matrix& root)
      : context_(context),
        latents_(latents),
        root_(root),
        N_(derivatives.third.rows()),
        L_(root.rows()),
        K_(static_cast<Index>(latents.size())) {
    constexpr Index most_blocks = 8;  // each has sums of its own
    block_rows_ = std::max(chunk_rows, (N_ + most_blocks - 1) / most_blocks);
    blocks_ = (N_ + block_rows_ - 1) / block_rows_;
    for (Index b = 0; b < K_; ++b)
      for (Index a = 0; a <= b; ++a) pairs_.push_back({a, b});
    const Index P = pairs();
    third_.resize(N_, K_ * P);
    fourth_.resize(N_, P * P);
    for (Index r = 0; r < P; ++r) {
      const Index c = pairs_[r].a, d = pairs_[r].b;
      for (Index a = 0; a < K_; ++a) third_.col(a + K_ * r) = derivatives.third.col(a + K_ * (c + K_ * d));
      for (Index p = 0; p < P; ++p)
        fourth_.col(p + P * r) = derivatives.fourth.col(pairs_[p].a + K_ * (pairs_[p].b + K_ * (c + K_ * d)));
    }
  }

  /// How many tilts at once keep memory within bounds.
  Index most_tilts() const {
    constexpr Index most_numbers = 1000000;
    return std::max<Index>(1, most_numbers / std::max(L_ * L_, N_ * pairs() / 4));
  }

  /// X: L^2 x J, symmetric matrices one after the other. x: A X / 2, L x J.
  Matrix product(const Matrix& X, Matrix& x) const {
    std::vector<Matrix> between(pairs_.size(), Matrix::Zero(N_, X.cols()));  // C, N x J
    x = 0.5 * (root_.transpose() * slopes(spread(X), between));
    return X - gather(x, &between);
  }

  /// A'x.   x: L x J
  Matrix transposed(const Matrix& x) const { return gather(x, nullptr); }

 private:
  struct Pair {
    Index a, b;  // a <= b
    double copies() const { return a == b ? 1 : 2; }
  };
  static constexpr Index chunk_rows = 128;  // whose features are in the cache

  Index pairs() const { return static_cast<Index>(pairs_.size()); }
  const Matrix& W(Index k) const { return *latents_[static_cast<std::size_t>(k)].W; }
  Index first(Index k) const { return latents_[static_cast<std::size_t>(k)].first; }

  double work(Index J) const { return 2 * static_cast<double>(N_ * J * (L_ * L_ + pairs() * pairs())); }

  /// R X R'
  Matrix spread(const Matrix& X) const {
    Matrix out(X.rows(), X.cols());
    parallel_for(context_, X.cols(), 4 * static_cast<double>(L_ * L_ * X.size()), [&](Index j) {
      const Eigen::Map<const Matrix> from(X.col(j).data(), L_, L_);
      Matrix half(L_, L_), whole(L_, L_);
      context_.backend.multiply(false, false, 1, root_, from, 0, half);
      context_.backend.multiply(false, true, 1, half, root_, 0, whole);
      out.col(j) = flat(whole);
    });
    return out;
  }

  /// body(j, begin, count, features, at) for the features of a pair of latent values in some rows: those with
  /// coefficient j of b, at + 0, 1, .. in X. Where a = b each product appears once, and the last is a square.
  template <class Body>
  void for_features(const Pair& pair, Index begin, Index count, Matrix& features, const Body& body) const {
    const Matrix &left = W(pair.a), &right = W(pair.b);
    for (Index j = 0; j < right.cols(); ++j) {
      const Index columns = pair.a == pair.b ? j + 1 : left.cols();
      auto some = features.topLeftCorner(count, columns);
      some =
          left.block(begin, 0, count, columns).array().colwise() * right.col(j).segment(begin, count).array();
      body(j, some, first(pair.a) + L_ * (first(pair.b) + j));
    }
  }

  Index most_columns() const {
    Index out = 1;
    for (Index k = 0; k < K_; ++k) out = std::max(out, W(k).cols());
    return out;
  }

  /// C of these dV, and sum_n W_n'(F3_n : C_n).
  Matrix slopes(const Matrix& dV, std::vector<Matrix>& between) const {
    const Index J = dV.cols();
    std::vector<Matrix> sums(static_cast<std::size_t>(blocks_), Matrix::Zero(L_, J));
    parallel_for(context_, blocks_, work(J), [&](Index block) {
      Matrix features(chunk_rows, most_columns()), C(chunk_rows, J), G(chunk_rows, J),
          some(most_columns(), J);
      for_chunks(block, [&](Index begin, Index count) {
        for (Index p = 0; p < pairs(); ++p) {
          auto target = C.topRows(count);
          target.setZero();
          for_features(pairs_[p], begin, count, features, [&](Index, auto& own, Index at) {
            if (pairs_[p].a == pairs_[p].b) own.leftCols(own.cols() - 1) *= 2;
            context_.backend.multiply(false, false, 1, own, dV.middleRows(at, own.cols()), 1, target);
          });
          between[p].middleRows(begin, count) = target;
        }
        for (Index a = 0; a < K_; ++a) {
          auto slope = G.topRows(count);
          slope.setZero();
          for (Index p = 0; p < pairs(); ++p)
            slope.array() += pairs_[p].copies() * (between[p].middleRows(begin, count).array().colwise() *
                                                   third_.col(a + K_ * p).segment(begin, count).array());
          context_.backend.multiply(true, false, 1, W(a).middleRows(begin, count), slope, 1,
                                    sums[block].middleRows(first(a), W(a).cols()));
        }
      });
    });
    return in_order(sums);
  }

  /// R' sum_n W_n'(F3_n . W_n R x + F4_n : C_n / 2) W_n R
  Matrix gather(const Matrix& x, const std::vector<Matrix>* between) const {
    const Index J = x.cols();
    const Matrix dm = root_ * x;
    std::vector<Matrix> sums(static_cast<std::size_t>(blocks_), Matrix::Zero(L_ * L_, J));
    parallel_for(context_, blocks_, work(J), [&](Index block) {
      Matrix features(chunk_rows, most_columns()), S(chunk_rows, J);
      std::vector<Matrix> eta(static_cast<std::size_t>(K_), Matrix(chunk_rows, J));
      for_chunks(block, [&](Index begin, Index count) {
        for (Index a = 0; a < K_; ++a)
          context_.backend.multiply(false, false, 1, W(a).middleRows(begin, count),
                                    dm.middleRows(first(a), W(a).cols()), 0, eta[a].topRows(count));
        for (Index p = 0; p < pairs(); ++p) {
          auto change = S.topRows(count);
          change.setZero();
          for (Index a = 0; a < K_; ++a)
            change.array() += eta[a].topRows(count).array().colwise() *
                              third_.col(a + K_ * p).segment(begin, count).array();
          for (Index r = 0; between && r < pairs(); ++r)
            change.array() += 0.5 * pairs_[r].copies() *
                              ((*between)[r].middleRows(begin, count).array().colwise() *
                               fourth_.col(p + pairs() * r).segment(begin, count).array());
          for_features(pairs_[p], begin, count, features, [&](Index, auto& own, Index at) {
            context_.backend.multiply(true, false, 1, own, change, 1, sums[block].middleRows(at, own.cols()));
          });
        }
      });
    });
    return whitened(in_order(sums));
  }

  template <class Body>
  void for_chunks(Index block, const Body& body) const {
    const Index end = std::min(N_, (block + 1) * block_rows_);
    for (Index begin = block * block_rows_; begin < end; begin += chunk_rows)
      body(begin, std::min(chunk_rows, end - begin));
  }

  static Matrix in_order(std::vector<Matrix>& sums) {
    for (std::size_t block = 1; block < sums.size(); ++block) sums[0] += sums[block];
    return sums.empty() ? Matrix() : std::move(sums[0]);
  }

  /// R'S R of sums over the pairs a <= b, of a = b their upper triangles.
  Matrix whitened(const Matrix& sums) const {
    Matrix out(sums.rows(), sums.cols());
    parallel_for(context_, sums.cols(), 4 * static_cast<double>(L_ * L_ * sums.size()), [&](Index j) {
      const Eigen::Map<const Matrix> upper(sums.col(j).data(), L_, L_);
      const Matrix S = upper.selfadjointView<Eigen::Upper>();
      Matrix half(L_, L_), whole(L_, L_);
      context_.backend.multiply(true, false, 1, root_, S, 0, half);
      context_.backend.multiply(false, false, 1, half, root_, 0, whole);
      out.col(j) = flat(whole);
    });
    return out;
  }

  Context& context_;
  const std::vector<LatentColumns>& latents_;
  const Matrix& root_;
  Index N_, L_, K_, block_rows_, blocks_;
  std::vector<Pair> pairs_;
  Matrix third_;   // N x (K pairs), latent value fastest
  Matrix fourth_;  // N x pairs^2
};

}  // namespace

HigherDerivatives softmax_derivatives(Context& context, const ClassRule& rule, const Matrix& mean,
                                      const Matrix& between, const Vector& copies, double exponent) {
  constexpr Index block_rows = 16;
  constexpr double row_work = 1e5;  // approximate flops
  const Index N = mean.rows(), J = mean.cols(), K = rule.classes().classes - 1;
  const Index left_out = rule.classes().reference < 0 ? K : rule.classes().reference;
  ProbabilityMoments moments(K);
  moments.resize(N);
  const Index blocks = (N + block_rows - 1) / block_rows;
  parallel_for(context, blocks, row_work * static_cast<double>(N), [&](Index block) {
    ClassPoints points;
    Matrix p;
    for (Index n = block * block_rows; n < std::min(N, (block + 1) * block_rows); ++n) {
      const Vector own = between.row(n);
      rule.place(mean.row(n), Eigen::Map<const Matrix>(own.data(), J, J), exponent, points);
      p.resize(points.weight.size(), K);
      p << points.probability.leftCols(left_out), points.probability.rightCols(K - left_out);
      moments.take(n, p, points.weight);
    }
  });
  HigherDerivatives out{Matrix(N, K * K * K), Matrix(N, K * K * K * K)};
  const auto fill = [&](const std::vector<Index>& classes, Matrix& derivative) {
    std::vector<Index> order = classes;  // first index fastest
    const Vector value = -copies.cwiseProduct(moments.cumulant(classes));
    do {
      Index column = 0;
      for (auto c = order.rbegin(); c != order.rend(); ++c) column = column * K + *c;
      derivative.col(column) = value;
    } while (std::next_permutation(order.begin(), order.end()));
  };
  for (Index a = 0; a < K; ++a)
    for (Index b = a; b < K; ++b)
      for (Index c = b; c < K; ++c) {
        fill({a, b, c}, out.third);
        for (Index d = c; d < K; ++d) fill({a, b, c, d}, out.fourth);
      }
  return out;
}

namespace {

/// The largest eigenvalue of I less the matrix of conjugate gradients, as far as their steps know: Lanczos'
/// tridiagonal matrix follows from their step lengths.
double radius_of(const std::vector<double>& length, const std::vector<double>& ratio) {
  const Index k = static_cast<Index>(length.size());
  if (k == 0) return 0;
  Vector diagonal(k), off(k - 1);
  for (Index i = 0; i < k; ++i) {
    diagonal[i] = 1 / length[i] + (i > 0 ? ratio[i - 1] / length[i - 1] : 0);
    if (i + 1 < k) off[i] = std::sqrt(ratio[i]) / length[i];
  }
  Eigen::SelfAdjointEigenSolver<Matrix> eigen;
  eigen.computeFromTridiagonal(diagonal, off, Eigen::EigenvaluesOnly);
  return 1 - eigen.eigenvalues()[0];
}

/// Solves for the tilts of some coefficients. Each ends when its residual is small, relative to the tilt: what that
/// leaves of a variance is of the order of its square.
class Tilts {
 public:
  /// start: R't of each.   L x J
  Tilts(const ResponseMatrix& matrix, const Matrix& start, double tolerance)
      : x(start),
        matrix_(matrix),
        residual_(matrix.transposed(start)),
        direction_(residual_),
        enough_(tolerance * tolerance * start.colwise().squaredNorm().transpose()) {
    for (Index j = 0; j < start.cols(); ++j) {
      all_.push_back({residual_.col(j).squaredNorm(), {}, {}});
      if (!(all_.back().size <= enough_[j])) active_.push_back(j);
    }
  }

  Matrix x;                          // responses, whitened.   L x J
  std::optional<Vector> no_maximum;  // an X along which the bound does not fall

  void solve() {
    constexpr int most = 100;
    for (int i = 0; i < most && !active_.empty() && !no_maximum; ++i) step();
  }

  bool solved() const { return active_.empty() && x.allFinite(); }
  double radius() const {
    double out = 0;
    for (const Tilt& tilt : all_) out = std::max(out, radius_of(tilt.length, tilt.ratio));
    return out;
  }

 private:
  struct Tilt {
    double size;                        // of the residual, squared
    std::vector<double> length, ratio;  // of the steps
  };

  void step() {
    const Index J = static_cast<Index>(active_.size());
    Matrix P(direction_.rows(), J), moves;
    for (Index i = 0; i < J; ++i) P.col(i) = direction_.col(active_[i]);
    const Matrix product = matrix_.product(P, moves);
    std::vector<Index> left;
    for (Index i = 0; i < J; ++i) {
      const Index j = active_[i];
      Tilt& tilt = all_[j];
      const double curvature = P.col(i).dot(product.col(i));
      if (!(curvature > 0)) {
        no_maximum = P.col(i);
        return;
      }
      const double length = tilt.size / curvature;
      x.col(j) += length * moves.col(i);
      residual_.col(j) -= length * product.col(i);
      const double size = residual_.col(j).squaredNorm(), ratio = size / tilt.size;
      tilt.length.push_back(length);
      tilt.ratio.push_back(ratio);
      tilt.size = size;
      direction_.col(j) = residual_.col(j) + ratio * P.col(i);
      if (!(size <= enough_[j])) left.push_back(j);
    }
    active_ = std::move(left);
  }

  const ResponseMatrix& matrix_;
  Matrix residual_, direction_;  // L^2 x J
  Vector enough_;
  std::vector<Tilt> all_;
  std::vector<Index> active_;
};

}  // namespace

LinearResponse linear_response(Context& context, const std::vector<LatentColumns>& latents,
                               const HigherDerivatives& derivatives, const Matrix& covariance,
                               double tolerance) {
  LinearResponse out;
  const Index L = covariance.rows();
  Matrix root = covariance;
  if (!cholesky(context, root)) {
    out.refused = "the covariance of the coefficients is not positive definite";
    return out;
  }
  root.triangularView<Eigen::StrictlyUpper>().setZero();
  const ResponseMatrix matrix(context, latents, derivatives, root);
  Matrix responses(L, L);
  const Index group = std::min(L, matrix.most_tilts());
  for (Index begin = 0; begin < L; begin += group) {
    const Index count = std::min(group, L - begin);
    Tilts tilts(matrix, root.middleRows(begin, count).transpose(), tolerance);
    tilts.solve();
    if (!tilts.solved()) {
      out.refused = tilts.no_maximum ? "the bound has no strict maximum in the covariance of the coefficients"
                                     : "the response to changes of the prior means was not found";
      if (tilts.no_maximum) {
        const Eigen::Map<const Matrix> X(tilts.no_maximum->data(), L, L);
        const Vector change = (root * X).cwiseProduct(root).rowwise().sum();
        change.cwiseAbs().cwiseQuotient(covariance.diagonal()).maxCoeff(&out.worst);
      }
      return out;
    }
    out.radius = std::max(out.radius, tilts.radius());
    responses.middleCols(begin, count).noalias() = root * tilts.x;
  }
  out.covariance = 0.5 * (responses + responses.transpose());
  out.covariance.diagonal().cwiseQuotient(covariance.diagonal()).maxCoeff(&out.worst);
  return out;
}

double linear_response_flops(Index N, Index L, Index K) {
  constexpr double steps = 6;
  const double n = static_cast<double>(N), l = static_cast<double>(L),
               pairs = static_cast<double>(K * (K + 1) / 2);
  return steps * l * (2 * n * (l * l + pairs * pairs) + 8 * l * l * l);
}

}  // namespace galvi

#include "prior/separable_rows.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace galvi {

namespace {

// Numbers rows by their values, in the order in which values first appear.
class Numbering {
 public:
  /// Rows of X and their groups (empty: none).
  Numbering(const ConstMatrixRef& X, const Eigen::VectorXi& group) : number(X.rows()), X_(X), group_(group) {
    std::size_t slots = 16;
    while (slots < 2 * static_cast<std::size_t>(X.rows())) slots *= 2;
    std::vector<int> table(slots, -1);
    for (Index n = 0; n < X.rows(); ++n) {
      std::size_t at = hash(n) & (slots - 1);
      while (table[at] >= 0 && !same(n, first[table[at]])) at = (at + 1) & (slots - 1);
      if (table[at] < 0) {
        table[at] = static_cast<int>(first.size());
        first.push_back(n);
      }
      number[n] = table[at];
    }
  }
  Eigen::VectorXi number;
  std::vector<Index> first;  // row with each number

 private:
  bool same(Index a, Index b) const { return X_.row(a) == X_.row(b) && (group_.size() == 0 || group_[a] == group_[b]); }
  std::size_t hash(Index n) const {
    std::uint64_t h = group_.size() > 0 ? static_cast<std::uint64_t>(group_[n]) : 0;
    for (Index j = 0; j < X_.cols(); ++j) {
      const double x = X_(n, j) + 0.0;  // one zero
      std::uint64_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      h = (h ^ bits) * 0x9E3779B97F4A7C15ull;
      h ^= h >> 29;
    }
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
  const ConstMatrixRef& X_;
  const Eigen::VectorXi& group_;
};

Eigen::VectorXi levels_of(const Numbering& numbering, const Eigen::VectorXi& group) {
  Eigen::VectorXi out = Eigen::VectorXi::Zero(static_cast<Index>(numbering.first.size()));
  if (group.size() > 0)
    for (Index i = 0; i < out.size(); ++i) out[i] = group[numbering.first[i]] - 1;
  return out;
}

}  // namespace

SeparableRows Term::separable_rows(const TermRows&) const {
  throw std::logic_error("the weights of term " + label() + " are not products");
}

void Term::add_separable_gradient(const SeparableRows&, SeparableGradient, const ConstVectorRef&, VectorRef) const {
  throw std::logic_error("the weights of term " + label() + " are not products");
}

Index SeparableRows::runs(Index t) const {
  Index count = 0;
  while (count < run.rows() && run(count, t) >= 0) ++count;
  return count;
}

void SeparableGradient::add_row(const SeparableRows& rows, Index n, Index t, const ConstVectorRef& d_weight) {
  const Index M = rows.width, s = rows.place[n];
  const double scale = rows.scale_of(n);
  for (Index j = 0; j < rows.runs(t); ++j) {
    const auto own = d_weight.segment(j * M, M);
    space.col(s) += scale * rows.time(j, t) * own;
    time(j, t) += scale * own.dot(rows.space.col(s));
  }
}

SeparableRows separable_rows_of(const KernelRows& rows) {
  SeparableRows out;
  const Index p = rows.inputs.cols() - 1;
  const ConstMatrixRef of_places = rows.inputs.leftCols(p), of_times = rows.inputs.rightCols(1);
  Numbering places(of_places, rows.group), times(of_times, rows.group);
  out.places.resize(static_cast<Index>(places.first.size()), p);
  for (Index s = 0; s < out.places.rows(); ++s) out.places.row(s) = of_places.row(places.first[s]);
  out.place_level = levels_of(places, rows.group);
  out.place = std::move(places.number);
  out.times.resize(static_cast<Index>(times.first.size()));
  for (Index t = 0; t < out.times.size(); ++t) out.times[t] = of_times(times.first[t], 0);
  out.time_level = levels_of(times, rows.group);
  // by level and time
  std::vector<int> order(out.times.size()), rank(out.times.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(out.time_level[a], out.times[a]) < std::pair(out.time_level[b], out.times[b]);
  });
  Vector sorted(out.times.size());
  Eigen::VectorXi levels(out.times.size());
  for (std::size_t t = 0; t < order.size(); ++t) {
    rank[order[t]] = static_cast<int>(t);
    sorted[t] = out.times[order[t]];
    levels[t] = out.time_level[order[t]];
  }
  out.times = std::move(sorted);
  out.time_level = std::move(levels);
  out.moment.resize(rows.inputs.rows());
  for (Index n = 0; n < out.moment.size(); ++n) out.moment[n] = rank[times.number[n]];
  out.scale = rows.by;
  return out;
}

void order_by_moment(SeparableRows& rows) {
  const Index T = rows.times.size();
  rows.first_row.assign(T + 1, 0);
  for (Index n = 0; n < rows.size(); ++n) ++rows.first_row[rows.moment[n] + 1];
  std::partial_sum(rows.first_row.begin(), rows.first_row.end(), rows.first_row.begin());
  std::vector<Index> next(rows.first_row.begin(), rows.first_row.end() - 1);
  rows.rows.resize(rows.size());
  for (Index n = 0; n < rows.size(); ++n) rows.rows[next[rows.moment[n]]++] = n;
}

SparseRows expanded(const SeparableRows& rows, Index L) {
  const Index N = rows.size(), M = rows.width;
  double entries = 0;
  for (Index n = 0; n < N; ++n) entries += static_cast<double>(rows.runs(rows.moment[n]) * M);
  if (entries > std::numeric_limits<int>::max())
    throw std::length_error("the rows of a process in space and time have more weights than can be stored: take fewer "
                            "`inducing` points or fewer rows");
  SparseRows out(N, L);
  out.resizeNonZeros(static_cast<Index>(entries));
  int* end = out.outerIndexPtr();
  int* node = out.innerIndexPtr();
  double* weight = out.valuePtr();
  int at = 0;
  end[0] = 0;
  for (Index n = 0; n < N; ++n) {
    const Index t = rows.moment[n], s = rows.place[n];
    for (Index j = 0; j < rows.runs(t); ++j) {
      const double a = rows.scale_of(n) * rows.time(j, t);
      for (Index m = 0; m < M; ++m, ++at) {
        node[at] = rows.run(j, t) + static_cast<int>(m);
        weight[at] = a * rows.space(m, s);
      }
    }
    end[n + 1] = at;
  }
  return out;
}

}  // namespace galvi

#include "expectation/quadrature.h"

#include "likelihood/classes.h"
#include "likelihood/counts.h"
#include "numeric/special_functions.h"
#include "quadrature/softmax_lattice.h"

namespace galvi {
namespace {

using Column = SoftmaxLattice::Column;
using Columns = SoftmaxLattice::Columns;

constexpr double negligible_probability = 1e-15;

/// The sums over u. Per class, r = F_1 / F_0 = -phi' / phi and b = (F_2 - F_1) / F_0 = phi'' / phi.
class Sums {
 public:
  double product;             // sum prod phi
  Vector chosen, spread;      // E p_c, E p_c (1 - p_c)
  Vector own_bend;            // minus d^4 E log S / dm_c^4
  Matrix pairs, bends, both;  // sums of r r', r b', b b'

  void take(SoftmaxLattice& lattice, int order) {
    clear(lattice.classes(), order);
    do {
      lattice.next(order > 1 ? 3 : 2);
      add(lattice);
      if (order > 1) add_second(lattice);
    } while (!finished(lattice));
    for (Index c = 0; c < lattice.classes(); ++c) chosen[c] += lattice.tail[c];
  }

 private:
  void clear(Index C, int order) {
    product = 0.0;
    chosen.setZero(C);
    spread.setZero(C);
    others_.resize(Eigen::NoChange, C);
    if (order < 2) return;
    own_bend.setZero(C);
    for (Matrix* part : {&pairs, &bends, &both}) part->setZero(C, C);
    bend_.resize(Eigen::NoChange, C);
    weighted_.resize(Eigen::NoChange, C);
  }
  void add(const SoftmaxLattice& lattice) {
    const Columns& rate = lattice.rate;
    product += lattice.weight.sum();
    // The sum of the other classes' rates without subtraction: from those before and those after.
    total_.setZero();
    for (Index c = 0; c < rate.cols(); ++c) {
      others_.col(c) = total_;
      total_ += rate.col(c);
    }
    Column after = Column::Zero();
    for (Index c = rate.cols() - 1; c >= 0; --c) {
      others_.col(c) += after;
      after += rate.col(c);
      const Column share = lattice.weight * rate.col(c);
      chosen[c] += share.sum();
      spread[c] += (share * others_.col(c)).sum();
    }
  }
  void add_second(const SoftmaxLattice& lattice) {
    const Columns& rate = lattice.rate;
    bend_ = (lattice.f[0] > 0.0).select((lattice.f[2] - lattice.f[1]) / lattice.f[0], 0.0);
    bend_ = (rate > 0.0).select(bend_, 0.0);
    weighted_ = rate.colwise() * lattice.weight;
    pairs.noalias() += weighted_.matrix().transpose() * rate.matrix();
    bends.noalias() += weighted_.matrix().transpose() * bend_.matrix();
    weighted_ = bend_.colwise() * lattice.weight;
    both.noalias() += weighted_.matrix().transpose() * bend_.matrix();
    // Q'' / Q of Q = prod_{j != c} phi_j: sum_j b_j + (sum_j r_j)^2 - sum_j r_j^2
    const Column all = (bend_ - rate.square()).rowwise().sum();
    for (Index c = 0; c < rate.cols(); ++c) {
      const Column rest = all - bend_.col(c) + rate.col(c).square() + others_.col(c).square();
      own_bend[c] += (weighted_.col(c) * rest).sum();
    }
  }
  // The product falls from 1 to 0; the derivatives multiply it by up to four rates.
  bool finished(const SoftmaxLattice& lattice) const {
    const Index last = SoftmaxLattice::block - 1;
    const double growth = 1.0 + total_[last];
    return lattice.weight[last] * growth * growth * growth * growth < negligible_probability;
  }

  Columns others_, bend_, weighted_;
  Column total_;
};

}  // namespace

std::string SoftmaxExpectation::refuses(const Likelihood& likelihood) const {
  return likelihood.softmax() ? "" : "The multinomial's quadrature is for categorical(); use \"auto\".";
}

void SoftmaxExpectation::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                                      const double* variance, int order, RowExpectation& out) const {
  const Softmax classes = *likelihood.softmax();
  const Index K = classes.latents(), C = classes.classes;
  const double n = trials_of(datum);
  SoftmaxLattice lattice;
  Sums sums;
  lattice.place(classes, mean, variance, false);
  sums.take(lattice, order);

  // The sum of prod phi - [u < first] over the lattice is that of prod phi minus a step half a node left of
  // `first`, and int [exp(-e^u) - [u < 0]] du = -gamma.
  double log_sum = 0.5 * lattice.step - euler_gamma - lattice.first - sums.product;
  for (Index c = 0; c < C; ++c) log_sum += lattice.tail[c];
  if (datum.counts) out.value = log_arrangements(datum.counts, static_cast<int>(C), datum.size);
  for_classes(datum, C, [&](Index y, double times) {
    const Index own = classes.latent_of(y);
    out.value += times * (((own < 0 ? 0.0 : mean[own]) - lattice.shift) - log_sum);
    for (Index c = 0; c < C; ++c) {
      if (c == y) continue;
      const Index k = classes.latent_of(c);
      if (k >= 0) out.d_m[k] -= times * sums.chosen[c];
      // 1 - E p_y, as accurate as the others
      if (own >= 0) out.d_m[own] += times * sums.chosen[c];
    }
  });
  for (Index c = 0; c < C; ++c)
    if (const Index k = classes.latent_of(c); k >= 0) out.d_v[k] = -0.5 * n * sums.spread[c];
  if (order < 2) return;
  for (Index d = 0; d < C; ++d) {
    const Index l = classes.latent_of(d);
    if (l < 0) continue;
    out.d_mm[l + K * l] = -n * sums.spread[d];
    out.d_vv[l + K * l] = 0.25 * n * sums.own_bend[d];
    for (Index c = 0; c < C; ++c) {
      const Index k = classes.latent_of(c);
      if (c == d) continue;
      // All means may be moved together: the blocks' columns, that of the reference included, sum to 0.
      out.d_mv[l + K * l] += 0.5 * n * sums.bends(c, d);
      if (k < 0) continue;
      out.d_mm[k + K * l] = n * sums.pairs(c, d);
      out.d_mv[k + K * l] = -0.5 * n * sums.bends(c, d);
      out.d_vv[k + K * l] = 0.25 * n * sums.both(c, d);
    }
  }
}

}  // namespace galvi

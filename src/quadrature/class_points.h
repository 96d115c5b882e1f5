// Points to average functions of a softmax over, where the latent values of a row depend on each other.
#pragma once

#include "function/softmax.h"
#include "numeric/types.h"

namespace galvi {

/// Points of the latent values, seen through their softmax.
struct ClassPoints {
  Matrix probability;  // of all classes.   points x C
  Vector weight;       // of sum one
};

/// Only differences between classes matter to a softmax, so there are r = C - 1 directions, of which eigenvectors are
/// taken. Along each nodes have equal distances 1 / k, such that the spectrum of a softmax times the density has fallen
/// to exp(-e) at the frequency k: sums over nodes, unlike rules for polynomials, are accurate however wide the latent
/// values vary. Those nodes are taken whose coordinates, in units of the distances, are all whole or all half numbers:
/// what they cannot tell from a constant has two such frequencies at least, so that each needs e / 2 alone. Where latent
/// values vary little, a softmax is nearly a polynomial, and distances are wider. Nodes end where the density has
/// fallen to exp(-0.8 e). They are some hundred with six classes; were they more than `most`, points that are scattered
/// evenly take their place.
class ClassRule {
 public:
  static constexpr Index most = 2000;

  explicit ClassRule(const Softmax& classes);
  const Softmax& classes() const { return classes_; }
  /// For latent values N(mean, V).   mean: K, V: K x K
  /// @param exponent e. With 10 the errors of the sums over all rows move a coupled posterior by some 0.01 of its sds,
  /// by 0.1 where the classes are separated and latent values vary so much that points are scattered.
  void place(const Vector& mean, const Matrix& V, double exponent, ClassPoints& out) const;

 private:
  Softmax classes_;
  Matrix contrasts_;   // C x r, orthonormal columns that add up to zero
  Matrix of_latents_;  // the rows that belong to latent values.   K x r
  Matrix even_;        // most x r
  double log_ball_;    // volume of the unit ball in r dimensions
};

}  // namespace galvi

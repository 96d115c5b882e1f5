// Softmaxes of latent values that depend on each other, as averages of those of independent ones.
#pragma once

#include "numeric/types.h"

namespace galvi {

/// Nodes at which the latent values of the C classes are independent, N(mean, variance).
struct ClassNodes {
  Matrix mean, variance;  // nodes x C
  Vector weight;          // of sum one
};

/// For latent values N(mean, V) of all classes (that of a reference class is zero, without a variance). A
/// softmax does not change when one variable is added to all of its arguments. So V may be replaced by V +
/// 1s' + s1', and s is taken to make it as diagonal as can be: with three classes it nearly always is, and
/// there is one node. What is left, as a rule little, is averaged over: by a product of Gauss-Hermite rules
/// where that takes few nodes, else by a rule of degree 5 with 2 r^2 + 1 nodes (Stroud and Secrest 1963). Where a
/// product takes few nodes for all of V nothing is left to the classes: the variances at the nodes are zero.
/// @param smooth For means of probabilities; those of counts are products of many of them, and need more nodes.
ClassNodes class_nodes(const Vector& mean, const Matrix& V, bool smooth);
/// C x (C - 1), orthonormal columns that add up to zero (Helmert's contrasts).
Matrix class_contrasts(Index C);

}  // namespace galvi

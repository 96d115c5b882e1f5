// The kernel axis: covariance functions k(x, z), evaluated on blocks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "numeric/types.h"

namespace galvi {

/// What R says about a kernel. `hyper` maps a parameter ("variance", "lengthscale", "alpha", "period", ...)
/// to positions in the model's hyperparameter table (one, or one per input column); `constants` holds numbers
/// that are never learned (the degree of a polynomial); `columns` are the input columns it acts on (0-based);
/// `parts` are the operands of "sum" and "product".
struct KernelSpec {
  std::string type;
  std::vector<Index> columns;
  std::map<std::string, std::vector<Index>> hyper;
  std::map<std::string, double> constants;
  std::vector<KernelSpec> parts;
};

/// A covariance function. Hyperparameters are read from the model's table (natural scale) by update() and
/// every gradient is added into a vector of that table's length, in the derivative of the natural scale.
/// Calls work on blocks of rows; they are const and may run on several threads at once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void update(const ConstVectorRef& hyper) = 0;
  /// out(i, j) = k(X_i, Z_j).   X: a x p, Z: b x p, out: a x b.
  virtual void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const = 0;
  /// out(i) = k(X_i, X_i).
  virtual void diagonal(const ConstMatrixRef& X, VectorRef out) const = 0;
  /// hyper[h] += sum_ij G_ij dk(X_i, Z_j)/dh and, if inputs is not null (b x p), inputs_j += sum_i G_ij
  /// dk/dZ_j.
  virtual void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G,
                        VectorRef hyper, Matrix* inputs) const = 0;
  /// hyper[h] += sum_i g_i dk(X_i, X_i)/dh.
  virtual void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const = 0;
};

/// Throws std::invalid_argument for an unknown type or a missing parameter.
std::unique_ptr<Kernel> make_kernel(const KernelSpec& spec);
std::vector<std::string> kernel_types();

}  // namespace galvi

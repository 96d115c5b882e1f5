// The kernel axis: covariance functions k(x, z), evaluated on blocks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "numeric/types.h"

namespace galvi {

class CovarianceFunctions;
class Spectrum;
class StateSpace;

/// What R says about a kernel. `hyper` maps a parameter ("variance", "lengthscale", "alpha", "period", ...)
/// to positions in the model's hyperparameter table (one, or one per input column); `constants` holds numbers
/// that are never learned (the degree of a polynomial, an origin); `columns` are the input columns it acts on (0-based);
/// `parts` are the operands of "sum" and "product"; `functions` are those of a custom kernel.
struct KernelSpec {
  std::string type;
  std::vector<Index> columns;
  std::map<std::string, std::vector<Index>> hyper;
  std::map<std::string, double> constants;
  std::vector<KernelSpec> parts;
  std::shared_ptr<const CovarianceFunctions> functions = nullptr;
};

/// A hyperparameter of a kernel, as R has to know it: to check it, to start it and to range it.
struct KernelParameter {
  /// variance: k is proportional to it. lengthscale: a distance. period: a length that only the user can
  /// name. shape: a number without units.
  enum class Role { variance, lengthscale, period, shape };
  std::string name;
  Role role;
  double lower, upper;      // the range that is searched: of a shape itself, else in units of where it starts
  bool per_column = false;  // whether columns may have values of their own (`ard`)

  static KernelParameter variance(bool per_column = false) {
    return {"variance", Role::variance, 1e-6, 1e7, per_column};
  }
  static KernelParameter lengthscale() { return {"lengthscale", Role::lengthscale, 1e-3, 1e3, true}; }
  static KernelParameter period() { return {"period", Role::period, 0.5, 2, true}; }
  static KernelParameter shape(const char* name, double lower, double upper) {
    return {name, Role::shape, lower, upper};
  }
};

/// What R asks of a kernel, never by its name.
struct KernelFacts {
  /// A finite set of columns with independent coefficients: the inputs, or a single one that is constant.
  enum class Features { none, constant, inputs };
  std::vector<KernelParameter> parameters;
  std::vector<std::string> constants = {};  // numbers that are never learned
  Features features = Features::none;
  bool acts_on_columns = true;
  bool one_input = false;      // it acts on a single column
  Index states = 0;            // dimension of its state space over one input; 0: none, and that of parts is not here
  /// Over one input a sum of cosines (kernel/harmonics.h): of one, or of a series, whose last is the constant
  /// `harmonics` that R chooses. The series then has states too, two for each harmonic and one.
  enum class Lines { none, one, series };
  Lines lines = Lines::none;
  bool origin = false;         // it needs the constant `origin`, the smallest of the fitted inputs
  bool metric = true;           // the size of differences between inputs counts, and so do their units
  std::string operation = "";  // of parts: "+" or "*"
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
  /// The same less a constant c, which makes no difference to a process that has mean zero over some rows. Where all rows
  /// are close and k is hardly less than c, the digits of k - c are the ones that matter.
  virtual double constant() const { return 0; }
  virtual void value_less_constant(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const {
    value(X, Z, out);
  }
  /// hyper[h] += sum_ij G_ij dk(X_i, Z_j)/dh and, if inputs is not null (b x p), inputs_j += sum_i G_ij
  /// dk/dZ_j.
  virtual void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G,
                        VectorRef hyper, Matrix* inputs) const = 0;
  /// hyper[h] += sum_i g_i dk(X_i, X_i)/dh.
  virtual void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const = 0;
  /// The process as a Markov process over its single input; null where it has none.
  virtual const StateSpace* state_space() const { return nullptr; }
  /// The kernel as a sum of cosines over its single input; null where it is none.
  virtual const Spectrum* spectrum() const { return nullptr; }
};

/// Throws std::invalid_argument for an unknown type or a missing parameter.
std::unique_ptr<Kernel> make_kernel(const KernelSpec& spec);
std::vector<std::unique_ptr<Kernel>> make_kernels(const std::vector<KernelSpec>& specs);
/// By type, in the registry's order.
std::vector<std::pair<std::string, KernelFacts>> kernel_facts();

}  // namespace galvi

// A covariance function from outside the core.
#pragma once

#include <algorithm>

#include "kernel/spec.h"
#include "numeric/parallel.h"

namespace galvi {

/// What the world outside provides. Called on the main thread only.
class CovarianceFunctions {
 public:
  virtual ~CovarianceFunctions() = default;
  /// In the order in which the functions take them.
  virtual const std::vector<std::string>& parameters() const = 0;
  /// k(X_i, Z_j): a x b.
  virtual Matrix value(const Matrix& X, const Matrix& Z, const Vector& parameters) const = 0;
  virtual bool has_gradient() const = 0;
  /// Its derivative in each parameter.
  virtual std::vector<Matrix> gradient(const Matrix& X, const Matrix& Z, const Vector& parameters) const = 0;
};

/// Derivatives in the inputs, and those in parameters that are not given, are taken by differences.
class CustomKernel final : public Kernel {
 public:
  explicit CustomKernel(const KernelSpec& spec)
      : functions_(spec.functions), columns_(spec.columns), values_(functions_->parameters().size()) {
    for (const std::string& name : functions_->parameters()) positions_.push_back(position(spec, name));
  }
  void update(const ConstVectorRef& hyper) override {
    for (std::size_t p = 0; p < positions_.size(); ++p) values_[p] = hyper[positions_[p]];
  }

  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    out = functions_->value(select_columns(X, columns_), select_columns(Z, columns_), values_);
  }
  void diagonal(const ConstMatrixRef& X, VectorRef out) const override {
    for_bands(X.rows(), [&](Index begin, Index count) {
      const Matrix x = select_columns(X.middleRows(begin, count), columns_);
      out.segment(begin, count) = functions_->value(x, x, values_).diagonal();
    });
  }
  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override {
    const Matrix x = select_columns(X, columns_), z = select_columns(Z, columns_);
    add_gradient(x, z, G, hyper);
    if (inputs) add_input_gradient(x, z, G, *inputs);
  }
  void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const override {
    for_bands(X.rows(), [&](Index begin, Index count) {
      const Matrix x = select_columns(X.middleRows(begin, count), columns_);
      add_gradient(x, x, g.segment(begin, count).asDiagonal().toDenseMatrix(), hyper);
    });
  }

 private:
  // Of a band only the diagonal is used.
  template <class Body>
  static void for_bands(Index rows, Body body) {
    constexpr Index band = 32;
    for (Index begin = 0; begin < rows; begin += band) body(begin, std::min(band, rows - begin));
  }
  /// f'(0) by central differences of fourth order.
  template <class Function>
  static double slope(Function f, double h) {
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h);
  }

  void add_gradient(const Matrix& x, const Matrix& z, const ConstMatrixRef& G, VectorRef hyper) const {
    if (functions_->has_gradient()) {
      const std::vector<Matrix> d = functions_->gradient(x, z, values_);
      for (std::size_t p = 0; p < d.size(); ++p) hyper[positions_[p]] += G.cwiseProduct(d[p]).sum();
      return;
    }
    constexpr double share = 1e-3;
    for (std::size_t p = 0; p < positions_.size(); ++p) {
      const double size = std::fabs(values_[p]);
      hyper[positions_[p]] += slope(
          [&](double by) {
            Vector moved = values_;
            moved[p] += by;
            return G.cwiseProduct(functions_->value(x, z, moved)).sum();
          },
          share * (size > 0.0 ? size : 1.0));
    }
  }

  // All rows of z move together, each entry of the covariance with its own.
  void add_input_gradient(const Matrix& x, const Matrix& z, const ConstMatrixRef& G, Matrix& inputs) const {
    constexpr double share = 1e-4;
    for (Index d = 0; d < z.cols(); ++d) {
      const double low = std::min(x.col(d).minCoeff(), z.col(d).minCoeff()),
                   high = std::max(x.col(d).maxCoeff(), z.col(d).maxCoeff());
      const double h = share * (high > low ? high - low : 1.0);
      const auto at = [&](double by) -> Matrix {
        Matrix moved = z;
        moved.col(d).array() += by;
        return functions_->value(x, moved, values_);
      };
      const Matrix slopes = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
      inputs.col(columns_[d]) += G.cwiseProduct(slopes).colwise().sum().transpose();
    }
  }

  std::shared_ptr<const CovarianceFunctions> functions_;
  SerialLoops serial_;
  std::vector<Index> columns_, positions_;
  Vector values_;
};

}  // namespace galvi

// The numeric types of the core. Everything below src/*.cpp is free of R.
#pragma once

#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE  // galvi uses its own threads, in a fixed order
#endif
#include "numeric/eigen.h"

#include <limits>

namespace galvi {

using Index = Eigen::Index;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
using IndexVector = Eigen::Matrix<Index, Eigen::Dynamic, 1>;
using ConstMatrixRef = Eigen::Ref<const Matrix>;
using ConstVectorRef = Eigen::Ref<const Vector>;
using MatrixRef = Eigen::Ref<Matrix>;
using VectorRef = Eigen::Ref<Vector>;
using ArrayRef = Eigen::Ref<Eigen::ArrayXd>;
using ConstArrayRef = Eigen::Ref<const Eigen::ArrayXd>;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The entries of A, column after column.
inline Vector flat(const Matrix& A) { return Eigen::Map<const Vector>(A.data(), A.size()); }

}  // namespace galvi

#include "prior/columns_term.h"

#include "numeric/dense.h"

namespace galvi {

void ColumnsTerm::add_product(Context& context, const Matrix& A, MatrixRef K) {
  add_crossproduct(context, 1.0, A.transpose(), 1.0, K);
}

void ColumnsTerm::add_cross(Context& context, const TermRows& others, MatrixRef K) const {
  multiply(context, false, true, 1.0, W_ * variance_.asDiagonal(), others.W, 1.0, K);
}

void ColumnsTerm::chain(const ConstVectorRef& d_variance, VectorRef hyper) const {
  for (Index j = 0; j < mean_.size(); ++j)
    for (Index r = 0; r < factors_.cols(); ++r) {
      const int h = factors_(j, r);
      if (h >= 0) hyper[h] += d_variance[j] * variance_[j] / hyper_[h];
    }
}

// W = sd times constant columns, so that d bound / d variance_j = sum_n G_nj W_nj / (2 variance_j).
class ColumnsTerm::Gradient final : public ColumnGradient {
 public:
  explicit Gradient(const ColumnsTerm& term) : term_(term), sums_(Vector::Zero(term.columns())) {}
  void add(Index, const ConstMatrixRef& W, const ConstMatrixRef& G, const ConstVectorRef&) override {
    sums_ += W.cwiseProduct(G).colwise().sum().transpose();
  }
  void merge(const ColumnGradient& other) override { sums_ += static_cast<const Gradient&>(other).sums_; }
  void finish(VectorRef hyper) const override {
    Vector d_variance = Vector::Zero(sums_.size());
    for (Index j = 0; j < sums_.size(); ++j)
      if (std::isfinite(term_.variance_[j]) && term_.variance_[j] > 0)
        d_variance[j] = sums_[j] / (2 * term_.variance_[j]);
    term_.chain(d_variance, hyper);
  }

 private:
  const ColumnsTerm& term_;
  Vector sums_;
};

std::unique_ptr<ColumnGradient> ColumnsTerm::column_gradient() const {
  return std::make_unique<Gradient>(*this);
}

}  // namespace galvi

// Sums and products of kernels.
#pragma once

#include "kernel/harmonics.h"
#include "kernel/spec.h"
#include "kernel/state_space.h"

namespace galvi {

class Composite : public Kernel {
 public:
  explicit Composite(const KernelSpec& spec) {
    if (spec.parts.empty()) throw std::invalid_argument("kernel '" + spec.type + "' needs parts");
    for (const KernelSpec& part : spec.parts) parts_.push_back(make_kernel(part));
  }
  void update(const ConstVectorRef& hyper) override {
    for (auto& part : parts_) part->update(hyper);
  }
  const StateSpace* state_space() const override { return space_; }

 protected:
  static KernelFacts composite(const char* operation) {
    KernelFacts facts;
    facts.operation = operation;
    return facts;
  }
  /// The parts' spaces, two by two, if all have one.
  template <class Pair>
  void join_spaces() {
    space_ = parts_[0]->state_space();
    for (size_t k = 1; k < parts_.size() && space_; ++k) {
      const StateSpace* next = parts_[k]->state_space();
      if (next) pairs_.push_back(std::make_unique<Pair>(*space_, *next));
      space_ = next ? pairs_.back().get() : nullptr;
    }
  }

  std::vector<std::unique_ptr<Kernel>> parts_;

 private:
  std::vector<std::unique_ptr<StateSpace>> pairs_;
  const StateSpace* space_ = nullptr;
};

class Sum final : public Composite, private Spectrum {
 public:
  explicit Sum(const KernelSpec& spec) : Composite(spec) { join_spaces<SumSpace>(); }
  const Spectrum* spectrum() const override {
    for (const auto& part : parts_)
      if (!part->spectrum()) return nullptr;
    return this;
  }
  static KernelFacts facts() { return composite("+"); }

  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    add_up(out, [&](const Kernel& part, MatrixRef own) { part.value(X, Z, own); });
  }
  double constant() const override {
    double sum = 0;
    for (const auto& part : parts_) sum += part->constant();
    return sum;
  }
  void value_less_constant(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    add_up(out, [&](const Kernel& part, MatrixRef own) { part.value_less_constant(X, Z, own); });
  }
  void diagonal(const ConstMatrixRef& X, VectorRef out) const override {
    add_up(out, [&](const Kernel& part, VectorRef own) { part.diagonal(X, own); });
  }
  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override {
    for (const auto& part : parts_) part->gradient(X, Z, G, hyper, inputs);
  }
  void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const override {
    for (const auto& part : parts_) part->diagonal_gradient(X, g, hyper);
  }

 private:
  // out = the sum of what `write` writes of each part
  template <class Out, class F>
  void add_up(Out& out, const F& write) const {
    write(*parts_[0], out);
    typename Out::PlainObject own(out.rows(), out.cols());
    for (size_t k = 1; k < parts_.size(); ++k) {
      write(*parts_[k], own);
      out += own;
    }
  }
  std::vector<Harmonics> harmonics() const override {
    std::vector<Harmonics> out;
    for (const auto& part : parts_)
      for (Harmonics& own : part->spectrum()->harmonics()) out.push_back(std::move(own));
    return out;
  }
  void add_harmonics_gradient(const std::vector<Harmonics>& by, VectorRef hyper) const override {
    auto at = by.begin();
    for (const auto& part : parts_) {
      const auto end = at + static_cast<std::ptrdiff_t>(part->spectrum()->harmonics().size());
      part->spectrum()->add_harmonics_gradient({at, end}, hyper);
      at = end;
    }
  }
};

class Product final : public Composite {
 public:
  explicit Product(const KernelSpec& spec) : Composite(spec) { join_spaces<ProductSpace>(); }
  static KernelFacts facts() { return composite("*"); }

  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    parts_[0]->value(X, Z, out);
    Matrix factor(out.rows(), out.cols());
    for (size_t k = 1; k < parts_.size(); ++k) {
      parts_[k]->value(X, Z, factor);
      out.array() *= factor.array();
    }
  }
  void diagonal(const ConstMatrixRef& X, VectorRef out) const override {
    parts_[0]->diagonal(X, out);
    Vector factor(out.size());
    for (size_t k = 1; k < parts_.size(); ++k) {
      parts_[k]->diagonal(X, factor);
      out.array() *= factor.array();
    }
  }
  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override {
    std::vector<Matrix> values(parts_.size(), Matrix(X.rows(), Z.rows()));
    for (size_t k = 0; k < parts_.size(); ++k) parts_[k]->value(X, Z, values[k]);
    for (size_t k = 0; k < parts_.size(); ++k)
      parts_[k]->gradient(X, Z, weighted(values, k, G), hyper, inputs);
  }
  void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const override {
    std::vector<Matrix> values(parts_.size(), Matrix(X.rows(), 1));
    for (size_t k = 0; k < parts_.size(); ++k) parts_[k]->diagonal(X, values[k].col(0));
    for (size_t k = 0; k < parts_.size(); ++k) {
      parts_[k]->diagonal_gradient(X, weighted(values, k, g).col(0), hyper);
    }
  }

 private:
  // G o (product of all values but the k-th): no division, since values may be zero.
  static Matrix weighted(const std::vector<Matrix>& values, size_t k, const ConstMatrixRef& G) {
    Matrix out = G;
    for (size_t l = 0; l < values.size(); ++l) {
      if (l != k) out.array() *= values[l].array();
    }
    return out;
  }
};

}  // namespace galvi

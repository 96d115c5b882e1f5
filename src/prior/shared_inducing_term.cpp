#include "prior/shared_inducing_term.h"

#include "prior/shared_term.h"

namespace galvi {

SharedInducingTerm::SharedInducingTerm(const TermSpec& spec, const Backend& backend)
    : LowRankTerm(spec.label), loadings_(spec.loadings), inputs_(spec.inducing.coordinates.cols()) {
  check_shared(spec);
  TermSpec own = spec;
  own.inducing.groups = 1;
  for (Index r = 0; r < loadings_.processes(); ++r) {
    own.kernels = {spec.kernels[spec.kernels.size() == 1 ? 0 : static_cast<std::size_t>(r)]};
    processes_.push_back(std::make_unique<InducingTerm>(own, backend));
  }
  coefficient_mean_ = Vector::Zero(loadings_.processes() * spec.inducing.coordinates.rows());
  coefficient_variance_ = Vector::Ones(coefficient_mean_.size());
}

void SharedInducingTerm::update(const ConstVectorRef& hyper) {
  hypers_ = hyper.size();
  loadings_.update(hyper);
  for (const auto& process : processes_) process->update(hyper);
}

void SharedInducingTerm::check(const TermRows& rows) const {
  check_width("inputs", rows.kernel.inputs.cols(), inputs_);
  check_groups(rows, loadings_.groups());
}

template <class F>
void SharedInducingTerm::for_processes(const TermRows& rows, Index begin, Index n, const F& visit) const {
  for (Index r = 0; r < loadings_.processes(); ++r) {
    TermRows own;
    own.kernel = loadings_.seen_by(rows.kernel, r, begin, n);
    visit(r, own);
  }
}

void SharedInducingTerm::add_variances(Context& context, const TermRows& rows, VectorRef d) const {
  for_processes(rows, 0, d.size(), [&](Index r, const TermRows& own) {
    processes_[r]->add_variances(context, own, d);
  });
}

void SharedInducingTerm::fill(const TermRows& rows, Index begin, MatrixRef W) const {
  for_processes(rows, begin, W.rows(), [&](Index r, const TermRows& own) {
    processes_[r]->fill(own, 0, W.middleCols(r * points(), points()));
  });
}

void SharedInducingTerm::add_extra_variances(const TermRows& rows, Index begin, const ConstMatrixRef& W,
                                             VectorRef c) const {
  for_processes(rows, begin, W.rows(), [&](Index r, const TermRows& own) {
    processes_[r]->add_extra_variances(own, 0, W.middleCols(r * points(), points()), c);
  });
}

// The sums of the processes, one after the other, then those of the loadings.
Index SharedInducingTerm::gradient_size() const {
  Index size = hypers_;
  for (const auto& process : processes_) size += process->gradient_size();
  return size;
}

// Row n has a w and a^2 c with w and c of the factor one: in a the bound has the derivative G_n'w + 2 g_n a c.
void SharedInducingTerm::add_gradient(const TermRows& rows, Index begin, const ConstMatrixRef& W,
                                      const ConstMatrixRef& G, const ConstVectorRef& g, VectorRef sums) const {
  const Index n = W.rows(), M = points();
  Index first = 0;
  for_processes(rows, begin, n, [&](Index r, const TermRows& own) {
    const InducingTerm& process = *processes_[r];
    const auto own_G = G.middleCols(r * M, M);
    process.add_gradient(own, 0, W.middleCols(r * M, M), own_G, g, sums.segment(first, process.gradient_size()));
    first += process.gradient_size();
    TermRows unscaled;
    unscaled.kernel.inputs = own.kernel.inputs;
    Matrix w(n, M);
    Vector c = Vector::Zero(n);
    process.fill(unscaled, 0, w);
    process.add_extra_variances(unscaled, 0, w, c);
    const Vector in_factor = own_G.cwiseProduct(w).rowwise().sum() + 2 * g.cwiseProduct(own.kernel.by).cwiseProduct(c);
    KernelRows part;
    part.group = rows.kernel.group.segment(begin, n);
    if (rows.kernel.by.size() > 0) part.by = rows.kernel.by.segment(begin, n);
    loadings_.add_gradient(part, r, in_factor, sums.tail(hypers_));
  });
}

void SharedInducingTerm::finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const {
  Index first = 0;
  for (const auto& process : processes_) {
    process->finish_gradient(sums.segment(first, process->gradient_size()), hyper);
    first += process->gradient_size();
  }
  hyper += sums.tail(hypers_);
}

bool SharedInducingTerm::recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const {
  const auto* before = dynamic_cast<const SharedInducingTerm*>(&old);
  if (!before || before->loadings_.processes() != loadings_.processes()) return false;
  B = Matrix::Zero(before->columns(), columns());
  left = Matrix::Zero(before->columns(), before->columns());
  shift = Vector::Zero(before->columns());
  const Index M = points(), M_old = before->points();
  for (Index r = 0; r < loadings_.processes(); ++r) {
    Matrix own_B, own_left;
    Vector own_shift;
    if (!processes_[r]->recall(*before->processes_[r], own_B, own_shift, own_left)) return false;
    B.block(r * M_old, r * M, M_old, M) = own_B;
    left.block(r * M_old, r * M_old, M_old, M_old) = own_left;
  }
  return true;
}

}  // namespace galvi

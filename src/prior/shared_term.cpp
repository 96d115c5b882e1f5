#include "prior/shared_term.h"

#include <stdexcept>

namespace galvi {

void check_shared(const TermSpec& spec) {
  const auto kernels = static_cast<Index>(spec.kernels.size());
  if (spec.loadings.size() == 0 || (kernels != 1 && kernels != spec.loadings.cols()))
    throw std::invalid_argument("term " + spec.label + ": needs loadings, and a kernel or one for each process");
  if (spec.centre.weight.size() > 0)
    throw std::invalid_argument("term " + spec.label + ": shared processes are not centred");
}

SharedTerm::SharedTerm(const TermSpec& spec)
    : Term(spec.label), kernels_(make_kernels(spec.kernels)), loadings_(spec.loadings), inputs_(spec.inputs) {
  check_shared(spec);
}

void SharedTerm::update(const ConstVectorRef& hyper) {
  for (const auto& kernel : kernels_) kernel->update(hyper);
  loadings_.update(hyper);
}

void SharedTerm::check(const TermRows& rows) const {
  check_width("inputs", rows.kernel.inputs.cols(), inputs_);
  check_groups(rows, loadings_.groups());
}

void SharedTerm::add_covariance(Context& context, const TermRows& rows, MatrixRef K) const {
  for (Index r = 0; r < loadings_.processes(); ++r) add_gram(context, kernel(r), loadings_.seen_by(rows.kernel, r), K);
}

void SharedTerm::add_variances(Context& context, const TermRows& rows, VectorRef d) const {
  for (Index r = 0; r < loadings_.processes(); ++r)
    add_diagonal(context, kernel(r), loadings_.seen_by(rows.kernel, r), d);
}

void SharedTerm::add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const {
  for (Index r = 0; r < loadings_.processes(); ++r)
    galvi::add_cross(context, kernel(r), loadings_.seen_by(rows.kernel, r), loadings_.seen_by(others.kernel, r), K);
}

void SharedTerm::add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                                         VectorRef hyper) const {
  for (Index r = 0; r < loadings_.processes(); ++r) {
    const KernelRows own = loadings_.seen_by(rows.kernel, r);
    add_gram_gradient(context, kernel(r), own, G.tile, hyper);
    loadings_.add_gradient(rows.kernel, r, by_gradient(context, kernel(r), own, G.tile), hyper);
  }
}

}  // namespace galvi

#include "expectation/mixed.h"

#include <algorithm>

namespace galvi {

namespace {

Matrix pick(const Matrix& x, const std::vector<Index>& places, Index first, Index columns) {
  Matrix out(static_cast<Index>(places.size()), columns);
  for (std::size_t i = 0; i < places.size(); ++i) out.row(i) = x.row(places[i]).segment(first, columns);
  return out;
}

}  // namespace

std::string MixedExpectation::name() const {
  const std::string first = parts_.front()->name();
  if (has_priors_) return first;
  for (const auto& part : parts_)
    if (part->name() != first) return "quadrature";
  return first;
}

std::string MixedExpectation::refuses(const Likelihood& likelihood) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::string reason = parts_[i]->refuses(*likelihood.mixed()->parts()[i]);
    if (!reason.empty()) return reason;
  }
  return "";
}

void MixedExpectation::evaluate(Context& context, const Likelihood& likelihood, const Data& data,
                                const Matrix& mean, const Matrix& variance, int order, Expectations& out) const {
  const Mixed& mixed = *likelihood.mixed();
  const Index N = data.y.size(), K = mixed.latents();
  out.value.resize(N);
  out.d_mean = out.d_variance = Matrix::Zero(N, K);
  if (order > 1) out.d_mm = out.d_mv = out.d_vv = Matrix::Zero(N, K * K);
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const std::vector<Index> places = Mixed::places_of(data, static_cast<Index>(p));
    if (places.empty()) continue;
    const Likelihood& part = *mixed.parts()[p];
    const Index first = mixed.latent(static_cast<Index>(p)), own_K = part.latents();
    Expectations own;
    parts_[p]->evaluate(context, part, data.at(places), pick(mean, places, first, own_K),
                        pick(variance, places, first, own_K), order, own);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Index n = places[i];
      out.value[n] = own.value[i];
      out.d_mean.row(n).segment(first, own_K) = own.d_mean.row(i);
      out.d_variance.row(n).segment(first, own_K) = own.d_variance.row(i);
      if (order < 2) continue;
      // the K x K blocks of a part that sees one latent value have one entry
      const Index at = first * (K + 1), size = own_K * own_K;
      out.d_mm.row(n).segment(at, size) = own.d_mm.row(i);
      out.d_mv.row(n).segment(at, size) = own.d_mv.row(i);
      out.d_vv.row(n).segment(at, size) = own.d_vv.row(i);
    }
  }
}

void MixedExpectation::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                                    const double* variance, int order, RowExpectation& out) const {
  const Mixed& mixed = *likelihood.mixed();
  const Index first = mixed.latent(datum.part), at = first * (mixed.latents() + 1);
  RowExpectation own{out.value,    out.d_m + first, out.d_v + first, out.d_mm ? out.d_mm + at : nullptr,
                     out.d_mv ? out.d_mv + at : nullptr, out.d_vv ? out.d_vv + at : nullptr};
  parts_.at(datum.part)->evaluate_row(mixed.part(datum), datum, mean + first, variance + first, order, own);
  out.value = own.value;
}

void MixedExpectation::add_gradient(Context& context, const Likelihood& likelihood, const Data& data,
                                    const Matrix& mean, const Matrix& variance, VectorRef gradient) const {
  const Mixed& mixed = *likelihood.mixed();
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const std::vector<Index> places = Mixed::places_of(data, static_cast<Index>(p));
    if (places.empty()) continue;
    const Likelihood& part = *mixed.parts()[p];
    const Index first = mixed.latent(static_cast<Index>(p));
    parts_[p]->add_gradient(context, part, data.at(places), pick(mean, places, first, part.latents()),
                            pick(variance, places, first, part.latents()), gradient);
  }
}

bool MixedExpectation::one_optimum(const Likelihood& likelihood) const {
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (!parts_[p]->one_optimum(*likelihood.mixed()->parts()[p])) return false;
  return true;
}

bool MixedExpectation::all(bool (Expectation::*property)() const) const {
  return std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) { return (*part.*property)(); });
}

}  // namespace galvi

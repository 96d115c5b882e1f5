#include "expectation/mixed.h"

#include <algorithm>

namespace galvi {

namespace {

/// The rows of each part.
std::vector<std::vector<Index>> places_of(const Data& data, std::size_t parts) {
  std::vector<std::vector<Index>> out(parts);
  for (Index n = 0; n < data.y.size(); ++n) out.at(data[n].part).push_back(n);
  return out;
}

Matrix pick(const Matrix& x, const std::vector<Index>& places) {
  Matrix out(static_cast<Index>(places.size()), x.cols());
  for (std::size_t i = 0; i < places.size(); ++i) out.row(i) = x.row(places[i]);
  return out;
}

}  // namespace

std::string MixedExpectation::name() const {
  const std::string first = parts_.front()->name();
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
  const Index N = data.y.size();
  out.value.resize(N);
  std::vector<Matrix*> all{&out.d_mean, &out.d_variance};
  if (order > 1) all.insert(all.end(), {&out.d_mm, &out.d_mv, &out.d_vv});
  for (Matrix* part : all) part->resize(N, 1);
  const auto places = places_of(data, parts_.size());
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (places[p].empty()) continue;
    Expectations own;
    parts_[p]->evaluate(context, *likelihood.mixed()->parts()[p], data.at(places[p]), pick(mean, places[p]),
                        pick(variance, places[p]), order, own);
    std::vector<Matrix*> from{&own.d_mean, &own.d_variance, &own.d_mm, &own.d_mv, &own.d_vv};
    for (std::size_t i = 0; i < places[p].size(); ++i) {
      out.value[places[p][i]] = own.value[i];
      for (std::size_t m = 0; m < all.size(); ++m) (*all[m])(places[p][i]) = (*from[m])(i);
    }
  }
}

void MixedExpectation::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                                    const double* variance, int order, RowExpectation& out) const {
  parts_.at(datum.part)->evaluate_row(likelihood.mixed()->part(datum), datum, mean, variance, order, out);
}

void MixedExpectation::add_gradient(Context& context, const Likelihood& likelihood, const Data& data,
                                    const Matrix& mean, const Matrix& variance, VectorRef gradient) const {
  const auto places = places_of(data, parts_.size());
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (!places[p].empty())
      parts_[p]->add_gradient(context, *likelihood.mixed()->parts()[p], data.at(places[p]), pick(mean, places[p]),
                              pick(variance, places[p]), gradient);
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

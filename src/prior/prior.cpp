#include "prior/prior.h"

#include <algorithm>

namespace galvi {

Index TermRows::size() const {
  Index n = 0;
  for_parts(*this, [&](const char*, const auto& part) { n = std::max<Index>(n, part.rows()); });
  return n;
}

Index DesignRows::size() const { return terms.empty() ? 0 : terms[0].size(); }

DesignRows DesignRows::slice(Index begin, Index count) const {
  DesignRows out = *this;
  for (TermRows& rows : out.terms)
    TermRows::for_parts(rows, [&](const char*, auto& part) {
      if (part.rows() > 0) part = part.middleRows(begin, count).eval();
    });
  return out;
}

void Prior::update(const ConstVectorRef& hyper) {
  for (auto& term : terms_) term->update(hyper);
}

void Prior::hold_basis(bool held) {
  for (auto& term : terms_) term->hold_basis(held);
}

Vector Prior::mean(const DesignRows& rows) const {
  Vector mean = Vector::Zero(rows.size());
  for (Index t = 0; t < size(); ++t) terms_[t]->add_prior_mean(rows[t], mean);
  return mean;
}

void Prior::add_covariance(Context& context, const DesignRows& rows, MatrixRef K) const {
  for (Index t = 0; t < size(); ++t) terms_[t]->add_covariance(context, rows[t], K);
}

void Prior::add_variances(Context& context, const DesignRows& rows, VectorRef d) const {
  for (Index t = 0; t < size(); ++t) terms_[t]->add_variances(context, rows[t], d);
}

void Prior::add_cross(Context& context, const DesignRows& rows, const DesignRows& others, MatrixRef K) const {
  for (Index t = 0; t < size(); ++t) terms_[t]->add_cross(context, rows[t], others[t], K);
}

void Prior::add_covariance_gradient(Context& context, const DesignRows& rows, const Weights& G,
                                    VectorRef hyper) const {
  for (Index t = 0; t < size(); ++t) terms_[t]->add_covariance_gradient(context, rows[t], G, hyper);
}

}  // namespace galvi

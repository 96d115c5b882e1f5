// One of several unordered classes: multinomial logit.
#pragma once

#include <algorithm>

#include "function/elementwise.h"
#include "function/standard_function.h"
#include "likelihood/classes.h"
#include "likelihood/counts.h"

namespace galvi {

/// log p(y | eta) = eta_y - log sum_c exp(eta_c).   y = 0, .., classes - 1
/// Every class has a latent value (K = classes), or that of the `reference` class is 0 (K = classes - 1).
/// Counts of classes have the sum over their trials plus the log number of their orders.
class Categorical final : public ClassResponse<Likelihood> {
 public:
  explicit Categorical(const LikelihoodSpec& spec) : ClassResponse<Likelihood>(spec) {
    const auto entry = spec.constants.find("reference");
    const double reference = entry == spec.constants.end() ? -1.0 : entry->second;
    if (!(reference >= -1.0 && reference < classes()) || reference != std::floor(reference))
      throw std::invalid_argument("categorical: `reference` must be a class, counted from 0, or -1 for none");
    softmax_ = {classes(), static_cast<Index>(reference)};
  }

  Index latents() const override { return softmax_.latents(); }
  std::optional<Softmax> softmax() const override { return softmax_; }

  double log_density(const Datum& datum, const double* eta) const override {
    if (!datum.counts) return log_probability(class_of(datum), eta);
    double sum = log_arrangements(datum.counts, static_cast<int>(classes()), datum.size);
    for (Index c = 0; c < classes(); ++c)
      if (datum.counts[c] > 0.0) sum += datum.counts[c] * log_probability(c, eta);
    return sum;
  }
  // constants: log number of the orders
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants = Matrix::Zero(out.size(), 1);
    if (out.data.counts.rows() > 0)
      for (Index n = 0; n < out.size(); ++n) {
        const Datum datum = out.data[n];
        out.constants(n, 0) = log_arrangements(datum.counts, static_cast<int>(classes()), datum.size);
      }
    return out;
  }
  // The logarithm of the sum is taken relative to the largest term, of which a class has the difference.
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray top = RowArray::Constant(rows.size(), softmax_.reference < 0 ? -infinity : 0.0);
    for (Index k = 0; k < latents(); ++k) top = top.max(eta.col(k).array());
    RowArray sum = RowArray::Zero(rows.size()), part(rows.size());
    for (Index c = 0; c < classes(); ++c) {
      const Index k = softmax_.latent_of(c);
      part = -top;
      if (k >= 0) part += eta.col(k).array();
      exp_each(part);
      sum += part;
    }
    log_each(sum);
    for (Index n = 0; n < rows.size(); ++n) {
      const Datum datum = rows.data[n];
      const auto log_probability = [&](Index c) {
        const Index k = softmax_.latent_of(c);
        return ((k < 0 ? 0.0 : eta(n, k)) - top[n]) - sum[n];
      };
      if (!datum.counts) {
        out[n] = log_probability(class_of(datum));
        continue;
      }
      out[n] = rows.constants(n, 0);
      for (Index c = 0; c < classes(); ++c)
        if (datum.counts[c] > 0.0) out[n] += datum.counts[c] * log_probability(c);
    }
  }
  // Two classes with a reference: log p = f(eta) or, for the reference, f(-eta), f = log sigmoid.
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    require_one_latent();
    std::fill(out, out + 5, 0.0);
    for (Index c = 0; c < classes(); ++c) {
      const double times = datum.counts ? datum.counts[c] : c == class_of(datum) ? 1.0 : 0.0;
      if (times == 0.0) continue;
      const double sign = c == softmax_.reference ? -1.0 : 1.0;
      double f[5];
      log_sigmoid().derivatives(sign * eta, f);
      for (int k = 0; k < 5; ++k) out[k] += times * (k % 2 == 0 ? f[k] : sign * f[k]);
    }
    if (datum.counts) out[0] += log_arrangements(datum.counts, static_cast<int>(classes()), datum.size);
  }
  Smoothness smoothness() const override { return log_sigmoid().smoothness(); }
  bool log_concave() const override { return true; }
  // The logit of the class's share with half a response added to each class.   K = 1
  double starting_eta(const Datum& datum) const override {
    const Index own = 1 - softmax_.reference;
    const double times = datum.counts ? datum.counts[own] : class_of(datum) == own ? 1.0 : 0.0;
    const double size = datum.counts ? datum.size : 1.0;
    return std::log((times + 0.5) / (size - times + 0.5));
  }

 private:
  double log_probability(Index y, const double* eta) const {
    const double own = value(eta, y);
    // log p = -log(1 + sum_{c != y} exp(eta_c - eta_y)), taken relative to the largest term
    double gap = 0.0, others = 0.0;
    for (Index c = 0; c < classes(); ++c) gap = std::max(gap, value(eta, c) - own);
    for (Index c = 0; c < classes(); ++c) {
      if (c != y) others += std::exp(value(eta, c) - own - gap);
    }
    return -gap - (gap == 0.0 ? std::log1p(others) : std::log(std::exp(-gap) + others));
  }
  double value(const double* eta, Index c) const {
    const Index k = softmax_.latent_of(c);
    return k < 0 ? 0.0 : eta[k];
  }

  Softmax softmax_;
};

}  // namespace galvi

// One of several classes, asked for one after another.
#pragma once

#include <algorithm>

#include "function/elementwise.h"
#include "likelihood/classes.h"
#include "likelihood/composed.h"

namespace galvi {

/// Class c is chosen with probability sigmoid(eta_c) if none before it was; the last class has what is left:
///   log p(y | eta) = f(eta_y) + sum_{j < y} f(-eta_j), f = log sigmoid, without f(eta_y) for the last class.
/// y = 0, .., classes - 1; K = classes - 1. The model depends on the order of the classes.
class StickBreaking final : public ClassResponse<Composed> {
 public:
  explicit StickBreaking(const LikelihoodSpec& spec) : ClassResponse<Composed>(spec, log_sigmoid()) {}

  Index latents() const override { return classes() - 1; }
  void compose(const Datum& datum, Composition& sum) const override {
    const Index y = class_of(datum);
    if (y < latents()) sum.add(y, 1.0, 1.0);
    for (Index j = 0; j < y; ++j) sum.add(j, 1.0, -1.0);
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    out.setZero();
    for (Index k = 0; k < latents(); ++k) {
      RowArray l = eta.col(k).array();
      log1p_exp_each(l);
      for (Index n = 0; n < rows.size(); ++n) {
        const Index y = class_of({rows.data.y[n], 1.0});
        if (k == y) out[n] += std::min(eta(n, k), 0.0) - l[n];
        if (k < y) out[n] -= std::max(eta(n, k), 0.0) + l[n];
      }
    }
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    require_one_latent();
    ClassResponse<Composed>::derivatives(datum, eta, out);
  }
  bool log_concave() const override { return true; }
  // The logit of the proportion with half a success and half a failure added.   K = 1
  double starting_eta(const Datum& datum) const override {
    return datum.y > 0.0 ? -std::log(3.0) : std::log(3.0);
  }
};

}  // namespace galvi

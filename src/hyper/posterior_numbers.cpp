#include "hyper/posterior_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "global/numbers.h"
#include "inference/coordinates.h"

namespace galvi {

namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

class OfSites final : public PosteriorNumbers {
 public:
  OfSites(LatentGaussianModel& model, const SitePosterior& start, Index hypers)
      : model_(model), hypers_(hypers), coordinates_(start, model.lambda_floor()), sites_(start.sites) {}

  Vector origin() const override { return coordinates_.origin(); }
  double bound(const Vector& x, VectorRef gradient, Vector& hyper_gradient) override {
    const auto q = coordinates_.at(model_, x);
    if (!q) return none;
    gradient = coordinates_.gradient(model_, *q);
    hyper_gradient = model_.gradient(*q, hypers_, false);
    sites_ = q->sites;
    return q->elbo;
  }
  Start start() const override { return sites_; }

 private:
  LatentGaussianModel& model_;
  Index hypers_;
  NaturalCoordinates coordinates_;
  Sites sites_;
};

class OfLatents final : public PosteriorNumbers {
 public:
  OfLatents(LatentGaussianModel& model, const GlobalPosterior& start) : model_(model), numbers_(start) {}

  Vector origin() const override { return Vector::Zero(numbers_.size()); }
  double bound(const Vector& x, VectorRef gradient, Vector& hyper_gradient) override {
    auto q = numbers_.read(model_.model().context(), x);
    if (!q) return none;
    auto point = model_.with_gradient(std::move(*q), hyper_gradient);
    if (!point) return none;
    numbers_.gradient(model_, *point, x, gradient);
    last_ = std::move(*point);
    return last_.elbo;
  }
  Start start() const override { return model_.sites_of(last_); }

 private:
  GlobalModel model_;
  LatentNumbers numbers_;
  GlobalPoint last_;
};

}  // namespace

std::unique_ptr<PosteriorNumbers> numbers_around(LatentGaussianModel& model, const Posterior& start,
                                                 Index hypers) {
  using Numbers = std::unique_ptr<PosteriorNumbers>;
  return start.visit(Overloaded{
      [&](const SitePosterior& q) -> Numbers { return std::make_unique<OfSites>(model, q, hypers); },
      [&](const SumsPosterior& q) -> Numbers { return std::make_unique<OfLatents>(model, *q.sites.q); }});
}

}  // namespace galvi

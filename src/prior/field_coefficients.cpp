#include "prior/field_coefficients.h"

#include <algorithm>
#include <stdexcept>

namespace galvi {

FieldCoefficients::FieldCoefficients(const FieldSpec& spec, bool unit_variance) {
  if (spec.factors.empty()) {
    read_copies(spec, unit_variance);
    return;
  }
  if (spec.factors.size() != 2) throw std::invalid_argument("a product of fields has two factors");
  factors_.emplace_back(spec.factors[0], true);
  factors_.emplace_back(spec.factors[1], unit_variance);
  count_ = factors_[0].count() * factors_[1].count();
}

void FieldCoefficients::read_copies(const FieldSpec& spec, bool unit_variance) {
  model_ = &find_field_model(spec.model);
  if (model_->structure) {
    read_blocks(spec);
    return;
  }
  static const std::vector<Index> one = {-1};
  std::vector<const std::vector<Index>*> found;
  for (const FieldParameter& parameter : model_->hyper) {
    const auto at = spec.hyper.find(parameter.name);
    if (at != spec.hyper.end())
      found.push_back(&at->second);
    else if (unit_variance && parameter.name == "variance")
      found.push_back(&one);
    else
      throw std::invalid_argument("field model \"" + spec.model + "\" needs the hyperparameter " + parameter.name);
  }
  for (const auto* positions : found)
    if (positions->empty() || positions->size() != found[0]->size())
      throw std::invalid_argument("field model \"" + spec.model + "\" needs as many of each hyperparameter");
  const std::size_t copies = found.empty() ? 1 : found[0]->size();  // one if there are no hyperparameters
  for (std::size_t copy = 0; copy < copies; ++copy, count_ += model_->parts) {
    copies_.push_back({{}, count_, {}});
    for (const auto* positions : found) copies_.back().hyper.push_back((*positions)[copy]);
  }
}

void FieldCoefficients::read_blocks(const FieldSpec& spec) {
  const auto positions = [&](const char* name) {
    const auto at = spec.hyper.find(name);
    return at == spec.hyper.end() ? std::vector<Index>() : at->second;
  };
  const std::vector<Index> sd = positions("sd"), cor = positions("cor");
  const Index copies = spec.copies, parts = static_cast<Index>(spec.precision.size()) / std::max<Index>(copies, 1);
  if (spec.effects < 1 || copies < 1 || sd.size() % copies != 0 || cor.size() % copies != 0)
    throw std::invalid_argument("effects of groups do not fit their covariance structure");
  const auto own = [&](const std::vector<Index>& all, Index copy) {
    const std::size_t size = all.size() / copies;
    return std::vector<Index>(all.begin() + copy * size, all.begin() + (copy + 1) * size);
  };
  for (Index copy = 0; copy < copies; ++copy, count_ += parts)
    blocks_.emplace_back(*model_->structure, spec.effects, parts, own(sd, copy), own(cor, copy), spec.noise);
}

void FieldCoefficients::update(const ConstVectorRef& hyper) {
  values_.resize(count_);
  if (!model_) {
    for (FieldCoefficients& factor : factors_) factor.update(hyper);
    Eigen::Map<Matrix>(values_.data(), factors_[1].count(), factors_[0].count()) =
        factors_[1].values() * factors_[0].values().transpose();
    return;
  }
  Index first = 0;
  for (EffectBlock& block : blocks_) {
    block.update(hyper, values_.segment(first, block.count()));
    first += block.count();
  }
  for (Copy& copy : copies_) {
    Vector own(static_cast<Index>(copy.hyper.size()));
    for (Index h = 0; h < own.size(); ++h) own[h] = copy.hyper[h] < 0 ? 1.0 : hyper[copy.hyper[h]];
    Mixture mixture = model_->mix(own);
    values_.segment(copy.first, mixture.coefficient.size()) = mixture.coefficient;
    copy.slope = std::move(mixture.slope);
  }
}

void FieldCoefficients::chain(const Vector& d_values, VectorRef hyper) const {
  if (!model_) {
    const FieldCoefficients &outer = factors_[0], &inner = factors_[1];
    const Eigen::Map<const Matrix> d(d_values.data(), inner.count(), outer.count());
    outer.chain(d.transpose() * inner.values(), hyper);
    inner.chain(d * outer.values(), hyper);
    return;
  }
  Index first = 0;
  for (const EffectBlock& block : blocks_) {
    block.chain(d_values.segment(first, block.count()), hyper);
    first += block.count();
  }
  for (const Copy& copy : copies_) {
    const Vector d_hyper = copy.slope.transpose() * d_values.segment(copy.first, copy.slope.rows());
    for (std::size_t h = 0; h < copy.hyper.size(); ++h)
      if (copy.hyper[h] >= 0) hyper[copy.hyper[h]] += d_hyper[h];
  }
}

bool FieldCoefficients::one_each() const {
  return model_ ? model_->parts == 1 : factors_[0].one_each() && factors_[1].one_each();
}

}  // namespace galvi

#include "prior/knot_term.h"

#include <stdexcept>

namespace galvi {

namespace {

std::vector<std::unique_ptr<InducingTerm>> spaces(const TermSpec& spec, const Backend& backend) {
  std::vector<std::unique_ptr<InducingTerm>> out;
  if (spec.inducing.coordinates.rows() == 0) return out;
  for (const KernelSpec& kernel : spec.kernels) {
    TermSpec own;
    own.type = "inducing";
    own.label = spec.label;
    own.kernels = {kernel};
    own.inputs = spec.inputs - 1;
    own.inducing = spec.inducing;
    own.inducing.groups = 1;
    out.push_back(std::make_unique<InducingTerm>(own, backend));
  }
  return out;
}

Index width_of(const TermSpec& spec) { return std::max<Index>(spec.inducing.coordinates.rows(), 1); }

}  // namespace

KnotTerm::KnotTerm(const TermSpec& spec, const Backend& backend)
    : NoisyFieldTerm(spec.label),
      space_(spaces(spec, backend)),
      time_(make_kernels(space_.empty() ? spec.kernels : spec.knots.kernels)),
      inputs_(space_.empty() ? 0 : spec.inducing.coordinates.cols()),
      field_(time_, spec.knots.times, spec.knots.levels, width_of(spec)) {
  const auto fits = [&](std::size_t kernels) {
    return kernels <= 1 || static_cast<Index>(kernels) == spec.knots.levels;
  };
  if (!fits(space_.size()) || !fits(time_.size()))
    throw std::invalid_argument("term " + label() + ": needs a kernel, or one for each level");
}

void KnotTerm::update(const ConstVectorRef& hyper) {
  for (const auto& space : space_) space->update(hyper);
  for (const auto& kernel : time_) kernel->update(hyper);
  field_.update(hyper);
}

void KnotTerm::hold_basis(bool held) {
  for (const auto& space : space_) space->hold_basis(held);
}

void KnotTerm::check(const TermRows& rows) const {
  check_width("inputs", rows.kernel.inputs.cols(), inputs_ + 1);
  if (!rows.kernel.inputs.allFinite()) throw std::invalid_argument("term " + label() + ": inputs must be finite");
  if (field_.levels() > 1) check_groups(rows, field_.levels());
}

SeparableRows KnotTerm::separable_rows(const TermRows& rows) const {
  SeparableRows out = separable_rows_of(rows.kernel);
  out.width = field_.width();
  out.run.resize(field_.most_runs(), out.times.size());
  for (Index t = 0; t < out.times.size(); ++t) out.run.col(t) = field_.runs_at(out.times[t], out.time_level[t]);
  order_by_moment(out);
  return out;
}

TermRows KnotTerm::places_of(const SeparableRows& rows, Index level, std::vector<Index>& at) const {
  at.clear();
  for (Index s = 0; s < rows.places.rows(); ++s)
    if (space_.size() == 1 || rows.place_level[s] == level) at.push_back(s);
  TermRows out;
  out.kernel.inputs.resize(static_cast<Index>(at.size()), inputs_);
  for (std::size_t i = 0; i < at.size(); ++i) out.kernel.inputs.row(i) = rows.places.row(at[i]);
  return out;
}

void KnotTerm::weigh(SeparableRows& rows) const {
  rows.space = Matrix::Ones(field_.width(), rows.places.rows());
  std::vector<Index> at;
  for (std::size_t level = 0; level < space_.size(); ++level) {
    const TermRows own = places_of(rows, static_cast<Index>(level), at);
    Matrix W(own.kernel.inputs.rows(), field_.width());
    space_[level]->fill(own, 0, W);
    for (std::size_t i = 0; i < at.size(); ++i) rows.space.col(at[i]) = W.row(i).transpose();
  }
  rows.time.resize(field_.most_runs(), rows.times.size());
  for (Index t = 0; t < rows.times.size(); ++t)
    field_.weights_at(rows.times[t], rows.time_level[t], rows.time.col(t));
}

SeparableRows KnotTerm::weighed(const KernelRows& rows) const {
  TermRows all;
  all.kernel = rows;
  SeparableRows out = separable_rows(all);
  weigh(out);
  return out;
}

KnotTerm::Left KnotTerm::left_at(const SeparableRows& rows) const {
  Left out{Vector::Zero(rows.places.rows()), rows.space.colwise().squaredNorm().transpose(),
           Vector(rows.times.size())};
  std::vector<Index> at;
  for (std::size_t level = 0; level < space_.size(); ++level) {
    const TermRows own = places_of(rows, static_cast<Index>(level), at);
    Matrix W(own.kernel.inputs.rows(), field_.width());
    for (std::size_t i = 0; i < at.size(); ++i) W.row(i) = rows.space.col(at[i]).transpose();
    Vector c = Vector::Zero(W.rows());
    space_[level]->add_extra_variances(own, 0, W, c);
    for (std::size_t i = 0; i < at.size(); ++i) out.space[at[i]] = c[i];
  }
  Vector a(field_.most_runs());
  for (Index t = 0; t < out.time.size(); ++t) out.time[t] = field_.weights_at(rows.times[t], rows.time_level[t], a);
  return out;
}

void KnotTerm::add_extra_variances(const TermRows& all, Index begin, const ConstMatrixRef&, VectorRef c) const {
  KernelRows part;
  part.inputs = all.kernel.inputs.middleRows(begin, c.size());
  if (all.kernel.by.size() > 0) part.by = all.kernel.by.segment(begin, c.size());
  if (all.kernel.group.size() > 0) part.group = all.kernel.group.segment(begin, c.size());
  const SeparableRows rows = weighed(part);
  const Left left = left_at(rows);
  for (Index n = 0; n < c.size(); ++n) {
    const Index s = rows.place[n], t = rows.moment[n];
    const double scale = rows.scale_of(n);
    c[n] += scale * scale *
            (left.space[s] * field_.variance(rows.time_level[t]) + left.explained[s] * left.time[t]);
  }
}

SparseRows KnotTerm::field_design(const TermRows& rows) const { return expanded(weighed(rows.kernel), field_.size()); }

// dc = scale^2 (k_time dc_space + c_space dk_time + c_time d|u|^2 + |u|^2 dc_time)
void KnotTerm::add_separable_gradient(const SeparableRows& rows, SeparableGradient sums, const ConstVectorRef& g,
                                      VectorRef hyper) const {
  const Left left = left_at(rows);
  Vector d_space = Vector::Zero(rows.places.rows()), d_time = Vector::Zero(rows.times.size()),
         d_variance = Vector::Zero(field_.levels());
  for (Index n = 0; n < rows.size(); ++n) {
    const Index s = rows.place[n], t = rows.moment[n], level = rows.time_level[t];
    const double own = rows.scale_of(n) * rows.scale_of(n) * g[n];
    d_space[s] += own * field_.variance(level);
    d_variance[level] += own * left.space[s];
    d_time[t] += own * left.explained[s];
    sums.space.col(s) += 2 * own * left.time[t] * rows.space.col(s);
  }
  for (Index t = 0; t < rows.times.size(); ++t)
    field_.add_weights_gradient(rows.times[t], rows.time_level[t], sums.time.col(t), d_time[t], hyper);
  for (Index level = 0; level < field_.levels(); ++level) field_.add_variance_gradient(level, d_variance[level], hyper);
  std::vector<Index> at;
  for (std::size_t level = 0; level < space_.size(); ++level) {
    const TermRows own = places_of(rows, static_cast<Index>(level), at);
    const auto count = static_cast<Index>(at.size());
    Matrix W(count, field_.width()), G(count, field_.width());
    Vector c(count);
    for (Index i = 0; i < count; ++i) {
      W.row(i) = rows.space.col(at[i]).transpose();
      G.row(i) = sums.space.col(at[i]).transpose();
      c[i] = d_space[at[i]];
    }
    Vector total = Vector::Zero(space_[level]->gradient_size());
    space_[level]->add_gradient(own, 0, W, G, c, total);
    space_[level]->finish_gradient(total, hyper);
  }
}

// The states of a knot and of the next: all that a row may touch at once.
std::vector<std::vector<Index>> KnotTerm::run_sets() const {
  std::vector<std::vector<Index>> out;
  for (Index level = 0; level < field_.levels(); ++level)
    for (Index k = 0; k < std::max<Index>(field_.knots() - 1, 1); ++k) {
      out.emplace_back();
      for (Index knot = k; knot < std::min(k + 2, field_.knots()); ++knot)
        for (Index i = 0; i < field_.dimension(); ++i) out.back().push_back(field_.run(level, knot, i));
    }
  return out;
}

// ---- as a covariance, W Q^-1 W' + diag(c) ----

void KnotTerm::add_variances(Context&, const TermRows& all, VectorRef d) const {
  const SeparableRows rows = weighed(all.kernel);
  const Left left = left_at(rows);
  for (Index n = 0; n < d.size(); ++n) {
    const Index s = rows.place[n];
    d[n] += rows.scale_of(n) * rows.scale_of(n) * (left.space[s] + left.explained[s]) *
            field_.variance(rows.time_level[rows.moment[n]]);
  }
}

void KnotTerm::add_rows_gradient(const TermRows& all, const Matrix& GS, const Vector& g, VectorRef hyper) const {
  const SeparableRows rows = weighed(all.kernel);
  SeparableGradient sums(rows);
  for (Index n = 0; n < GS.rows(); ++n) {
    const Index t = rows.moment[n], runs = rows.runs(t);
    Vector d_weight(runs * rows.width);
    for (Index j = 0; j < runs; ++j)
      d_weight.segment(j * rows.width, rows.width) = 2 * GS.row(n).segment(rows.run(j, t), rows.width).transpose();
    sums.add_row(rows, n, t, d_weight);
  }
  add_separable_gradient(rows, std::move(sums), g, hyper);
}

}  // namespace galvi

#include "hyper/minibatches.h"

#include "numeric/adaptive_steps.h"

namespace galvi {

namespace {

/// Adam on the unconstrained scale, within the limits of the table.
class TableMover final : public HyperMover {
 public:
  TableMover(HyperTable& table, const StochasticControl& control)
      : table_(table), x_(table.unconstrained()), lower_(table.lower()), upper_(table.upper()) {
    constexpr double of_logs = 0.02, of_places = 0.01;
    // step_size is that of q with these rules
    const bool of_q = control.rule == StepRule::adam || control.rule == StepRule::adadelta;
    const double given = of_q ? 0 : control.step_size;
    size_ = table.is_place().select(Vector::Constant(x_.size(), given > 0 ? given / 2 : of_places),
                                    Vector::Constant(x_.size(), given > 0 ? given : of_logs));
  }
  const Vector& values() const override { return table_.values(); }
  Index places() const override { return table_.is_place().count(); }
  bool step(const Vector& gradient, double share) override {
    const Vector slope = table_.chain(gradient);
    if (!slope.allFinite()) return false;
    before_ = table_.values();
    adam_.step(slope, share * size_, x_);
    x_ = x_.cwiseMax(lower_).cwiseMin(upper_);
    table_.set_unconstrained(x_);
    return true;
  }
  void undo() override {
    table_.set_values(before_);
    x_ = table_.unconstrained();
  }

 private:
  HyperTable& table_;
  Vector x_, lower_, upper_, size_, before_;
  Adam adam_;
};

}  // namespace

// The rows' sites are kept; q's own numbers lose their meaning when the points are reordered.
Start learn_by_minibatches(BlockModel model, const Algorithm& algorithm, HyperTable& table,
                           const InferenceControl& control, Trace& trace) {
  TableMover hyper(table, control.stochastic);
  const GlobalPosterior q = algorithm.learn(model, hyper, control, trace);
  if (const auto point = model.model().source() ? std::nullopt : model.at(q)) return model.sites_of(*point);
  const Matrix none = Matrix::Zero(model.model().rows(), model.model().latents());
  return Sites{none, none};
}

}  // namespace galvi

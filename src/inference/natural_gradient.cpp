#include "inference/natural_gradient.h"

#include "inference/ascent.h"

namespace galvi {

InferenceResult natural_gradient(LatentGaussianModel& model, const std::optional<Sites>& start,
                                 const InferenceControl& control, Trace& trace) {
  return climb(model, start, control, trace);
}

}  // namespace galvi

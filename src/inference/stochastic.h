#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Stochastic variational inference by minibatches (002, "Stochastic optimization"; 003, 2.1.2; Hoffman et
/// al. 2013). Each moves q by the control's step rule, with sums of the minibatch scaled to all rows:
///   natural    natural parameters by a decaying share of the step (Izmailov's svi-natural)
///   adam, adadelta   mean and log Cholesky factor by their gradient (002 has adadelta)
///   sag        the rows of the minibatch replace their own sites (what Izmailov's svi-SAG remembers)
///   svrg       natural, with the noise of the minibatch at an anchor taken off
/// Then incremental sweeps and full passes end at the optimum, with its certificate.
SumsResult stochastic(BlockModel model, const std::optional<Start>& start, const InferenceControl& control,
                      Trace& trace);

/// Minibatches that move hyperparameters (inducing points among them) and q in turn.
GlobalPosterior learn_stochastically(BlockModel& model, HyperMover& hyper, const InferenceControl& control,
                                     Trace& trace);

}  // namespace galvi

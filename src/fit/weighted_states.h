// Mixtures of states: the posterior at several values of the hyperparameters, weighted by the evidence of these.
#pragma once

#include <optional>

#include "fit/evidence.h"
#include "fit/mode.h"

namespace galvi {

/// Is the posterior Gaussian at every value of the hyperparameters?
bool gaussian_given_hyper(const LatentGaussianModel& model);

/// A state at other hyperparameters, from the sites of the mode; empty where there is no posterior. `evidence` may be null.
std::optional<WeightedState> state_at(LatentGaussianModel& model, HyperTable& table, const Plan& plan,
                                      const Vector& x, const Start& mode, const EvidenceAboveBound* evidence);

/// The mixture over the points of an integration, by weights of the log evidence as far as it is known, their centre first;
/// false where the mode proves to be none.
bool integrate_states(LatentGaussianModel& model, HyperTable& table, Plan plan, const Mode& mode,
                      FitResult& out);

/// Is a mixture of states over so many hyperparameters worth its time and memory?
enum class States { no, where_uncertain, yes };

/// Of few coefficients, yes, up to 20,000 rows: with more rows these have a joint Gaussian, which smooths do not ask for.
/// With more coefficients, or processes and fields beside groups, only where some hyperparameter is known so badly that
/// standard deviations show it, as the variance of a few groups is.
States takes_states(const LatentGaussianModel& model, Joint joint, Index parameters);

}  // namespace galvi

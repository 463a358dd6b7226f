#pragma once

#include "core/plan/plan.h"

namespace plimsoll {

/// Where a plan keeps which state, for whoever runs it.

bool is_weights(TensorKind kind);

/// Where the plan keeps that; null when it does not.
const StateBinding* find_state(const Plan& plan, TensorKind kind, GroupId group);

/// Of weights the copy that the optimizer updates, else the one that there is.
const StateBinding* find_kept(const Plan& plan, TensorKind kind, GroupId group);

/// The type of a state's elements.
DType dtype_of(const Plan& plan, const StateBinding& binding);

/// Whether there is more than one version of a state; which one is valid then depends on the step.
bool keeps_versions(const Plan& plan);

}  // namespace plimsoll

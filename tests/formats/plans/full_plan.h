#pragma once

#include "core/plan/plan.h"

namespace plimsoll::test {

/// A plan that makes sense to nobody but in which every field differs from its default.
Plan full_plan();

}  // namespace plimsoll::test

#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// The plan as JSON, folded as it is, one kernel, buffer, instruction or call a line (docs/plan-format.md). Equal plans
/// give equal bytes and reading gives the plan back exactly. The plan's indices must be in range.
std::string write_plan(const Plan& plan);

/// Reads a plan and checks that it can be expanded. An error names `where`, the path in the document (or the byte, when
/// it is not JSON) and what was expected there.
Result<Plan> read_plan(std::string_view text, const std::string& where);

/// Fingerprint of the written plan: traces and samples name the plan that they are of by it.
std::string plan_digest(const Plan& plan);

}  // namespace plimsoll

#pragma once

#include <vector>

#include "core/plan/expand.h"
#include "core/trace/trace.h"

namespace plimsoll {

/// For each event of the trace: was, during more than a twentieth of it, more asked of some resource that it uses than
/// the resource has? An event asks what its queue holds and, for a transfer, what its link's path needs at the link's
/// rate.
std::vector<bool> contended_events(const Plan& plan, const FlatBody& body, const Trace& trace);

/// The link that a transfer runs along, or nullptr when the platform has none.
const Link* link_of(const Plan& plan, const FlatBody& body, const Instruction& instruction);

}  // namespace plimsoll

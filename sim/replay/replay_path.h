#pragma once

#include "sim/replay/replay.h"

namespace plimsoll {

/// The chain that determines the end of a replay: from the node that ended last back through whatever ended last before each.
ReplayPath find_replay_path(const Replayed& replayed);

}  // namespace plimsoll

#pragma once

#include "core/graph/graph_builder.h"

namespace plimsoll {

/// Writes the end of the step: the global gradient norm's clip factor, then every group's update.
void optimizer_update(GraphBuilder& build);

}  // namespace plimsoll

#pragma once

#include "core/graph/graph.h"

namespace plimsoll {

/// The most bytes of activations, statistics and scratch that are held at once while a graph's ops run in their order: each
/// from the op that writes it first to the last that touches it.
Bytes peak_live_bytes(const Graph& graph);

}  // namespace plimsoll

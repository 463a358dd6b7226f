#pragma once

#include "core/graph/graph.h"

namespace plimsoll {

/// The forward pass of a decoder up to the logits of every row, which the last op writes; without a loss.
Graph build_logits_graph(const ModelSpec& spec, const Recipe& recipe, std::int64_t workers);

}  // namespace plimsoll

#pragma once

#include <string>

#include "core/base/result.h"
#include "formats/graphs/step_graph.h"

namespace plimsoll {

/// That the graph's memory comes and goes in order; the first operation at fault is named.
Result<void> check_step_graph(const StepGraph& graph, const std::string& where);

}  // namespace plimsoll

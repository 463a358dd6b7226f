#pragma once

#include <memory>

#include "formats/graphs/step_graph.h"
#include "sim/stack/stack_model_maker.h"

namespace plimsoll {

/// How the recorded model is made on a tape: it does in every step what was recorded.
StackModelMaker recorded_maker(std::shared_ptr<const StepGraph> graph);

}  // namespace plimsoll

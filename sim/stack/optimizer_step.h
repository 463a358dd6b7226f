#pragma once

#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// One optimizer step over the tape's trained parameters as the framework's loop makes it: states are created where they
/// are first needed, temporaries live as long as the loop holds them. Gradients are let go by `clear_gradients`.
void clip_gradients(Tape& tape);
void optimizer_step(Tape& tape, const Recipe& recipe, OptimizerLoop loop);
void clear_gradients(Tape& tape);

/// Bytes of an optimizer's states for one parameter tensor.
std::vector<std::pair<Shape, DType>> state_tensors(const Shape& parameter, DType dtype, OptimizerKind kind);

}  // namespace plimsoll

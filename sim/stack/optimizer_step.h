#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "core/model/recipe.h"
#include "sim/stack/stack_setup.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// The trained parameters of a tape that have a gradient.
std::vector<Parameter*> with_gradients(std::deque<Parameter>& parameters);

/// One optimizer step over `trained` as the framework's loop makes it: states are created where they are first needed,
/// temporaries live as long as the loop holds them.
void clip_gradients(Tape& tape, const std::vector<Parameter*>& trained);
void optimizer_step(Tape& tape, const std::vector<Parameter*>& trained, const Recipe& recipe, OptimizerLoop loop);
/// How often an update's tensors are read and written, over once each way: a loop over operations makes many passes, a fused kernel one.
double update_passes(OptimizerLoop loop);
/// From now on every parameter is updated when its gradient has been accumulated, and lets it go.
void update_in_backward(Tape& tape, const Recipe& recipe, OptimizerLoop loop);
/// Zeros in their place, or nothing at all.
void clear_gradients(Tape& tape, bool keep);

/// An optimizer's states for one parameter.
std::vector<std::pair<Shape, DType>> state_tensors(const Parameter& parameter, OptimizerKind kind, const OptimizerForm& form = {});
/// Their bytes.
Bytes state_bytes(const Parameter& parameter, OptimizerKind kind);

/// How a flat parameter of `elements` is made up that has an equal share of all `parts`.
std::int64_t hidden_share(std::int64_t elements, const std::deque<Parameter>& parts);

}  // namespace plimsoll

#include "sim/stack/optimizer_step.h"

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

/// Elements from which bitsandbytes and torchao keep states in 8 bits, and those of a block with a scale of its own.
constexpr std::int64_t kSmallestCompressed = 4096;
constexpr std::int64_t kScaledBlock = 256;

using StateList = std::vector<std::pair<Shape, DType>>;

StateList factored(const Shape& shape) {
  StateList states{{shape, DType::kFp32}};  // copied before the test: GCC 13 refuses the copy of a shape known to be short
  if (shape.size() >= 2) states = {{{shape[0]}, DType::kFp32}, {{elements_of(shape) / shape[0]}, DType::kFp32}};
  return states;
}

StateList in_eight_bits(const Shape& shape, DType dtype) {
  const std::int64_t count = elements_of(shape);
  if (count < kSmallestCompressed) return {{shape, dtype}, {shape, dtype}};
  const Shape scales{(count + kScaledBlock - 1) / kScaledBlock};
  return {{shape, kMaskType}, {scales, DType::kFp32}, {shape, kMaskType}, {scales, DType::kFp32}};
}

/// Rounds of whole-parameter temporaries that a foreach loop keeps at once.
std::int64_t foreach_copies(const Recipe& recipe) {
  switch (recipe.optimizer) {
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return 1;  // the list of roots of the second moments
    case OptimizerKind::kMomentum:
    case OptimizerKind::kSgd:
      return recipe.weight_decay > 0 ? 1 : 0;  // gradients with the decay in them
    default:
      return 0;
  }
}

bool walks_one_by_one(OptimizerKind kind) {
  return kind == OptimizerKind::kAdafactor || kind == OptimizerKind::kSm3 || kind == OptimizerKind::kLamb || kind == OptimizerKind::kLars ||
         kind == OptimizerKind::kLion;
}

void make_states(Tape& tape, Parameter& parameter, const Recipe& recipe) {
  if (!parameter.states.empty()) return;
  for (auto& [shape, type] : state_tensors(parameter.value.shape, parameter.value.dtype, recipe.optimizer)) {
    parameter.states.push_back(tape.empty(shape, type, Holding::kOptimizer));
  }
}

/// Reads and writes of one update, every tensor once each way.
double update_traffic(const Parameter& parameter) {
  double bytes = 2 * traffic(parameter.value) + traffic(parameter.gradient);
  for (const Tensor& state : parameter.states) bytes += 2 * traffic(state);
  return bytes;
}

/// AdamW as a chain of kernels: decay 2 passes over a parameter, first moment 3, second 2 + 3, root 2, quotient 2, sum 2, update
/// 4, where one fused kernel makes 7.
constexpr double kForeachTraffic = 20.0 / 7.0;

void launch_update(Tape& tape, double bytes) {
  tape.launch({.sort = StackKernelSort::kOptimizer, .dtype = DType::kFp32, .bytes = bytes});
}

void update_one(Tape& tape, Parameter& parameter, const Recipe& recipe) {
  make_states(tape, parameter, recipe);
  const Tensor temporary = tape.empty(parameter.value.shape, DType::kFp32);
  const bool two = recipe.optimizer == OptimizerKind::kAdafactor;
  const Tensor second = two ? tape.empty(parameter.value.shape, DType::kFp32) : Tensor{};
  launch_update(tape, kForeachTraffic * update_traffic(parameter));
}

void update_one_by_one(Tape& tape, const std::vector<Parameter*>& trained, const Recipe& recipe) {
  for (Parameter* parameter : trained) update_one(tape, *parameter, recipe);
}

void update_all_at_once(Tape& tape, const std::vector<Parameter*>& trained, const Recipe& recipe, bool fused) {
  for (Parameter* parameter : trained) make_states(tape, *parameter, recipe);
  Tensors temporaries;
  if (!fused) {
    for (std::int64_t copy = 0; copy < foreach_copies(recipe); ++copy) {
      for (Parameter* parameter : trained) temporaries.push_back(tape.empty(parameter->value.shape, parameter->value.dtype));
    }
  }
  double bytes = 0;
  for (Parameter* parameter : trained) bytes += update_traffic(*parameter);
  launch_update(tape, fused ? bytes : kForeachTraffic * bytes);
}

}  // namespace

StateList state_tensors(const Shape& shape, DType dtype, OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kSgd:
      return {};
    case OptimizerKind::kMomentum:
    case OptimizerKind::kLars:
    case OptimizerKind::kLion:
      return {{shape, dtype}};
    case OptimizerKind::kAdam8bit:
      return in_eight_bits(shape, dtype);
    case OptimizerKind::kAdafactor:
      return factored(shape);
    case OptimizerKind::kSm3: {
      StateList states = factored(shape);
      states.emplace_back(shape, DType::kFp32);
      return states;
    }
    default:
      return {{shape, dtype}, {shape, dtype}};
  }
}

std::vector<Parameter*> with_gradients(std::deque<Parameter>& parameters) {
  std::vector<Parameter*> trained;
  for (Parameter& parameter : parameters) {
    if (parameter.trained && parameter.gradient) trained.push_back(&parameter);
  }
  return trained;
}

void clip_gradients(Tape& tape, const std::vector<Parameter*>& trained) {
  Tensors norms;
  double bytes = 0;
  for (const Parameter* parameter : trained) {
    norms.push_back(tape.empty({1}, DType::kFp32));
    bytes += 3 * traffic(parameter->gradient);
  }
  tape.stream(bytes);
}

void optimizer_step(Tape& tape, const std::vector<Parameter*>& trained, const Recipe& recipe, OptimizerLoop loop) {
  if (loop == OptimizerLoop::kForLoop || walks_one_by_one(recipe.optimizer)) {
    update_one_by_one(tape, trained, recipe);
  } else {
    update_all_at_once(tape, trained, recipe, loop == OptimizerLoop::kFused || recipe.optimizer == OptimizerKind::kAdam8bit);
  }
}

void update_in_backward(Tape& tape, const Recipe& recipe) {
  for (Parameter& parameter : tape.parameters()) {
    parameter.after_gradient = [&tape, &recipe](Parameter& own) {
      make_states(tape, own, recipe);
      launch_update(tape, update_traffic(own));
      own.gradient = {};
    };
  }
}

void clear_gradients(Tape& tape, bool keep) {
  for (Parameter& parameter : tape.parameters()) {
    if (keep && parameter.gradient) tape.stream(traffic(parameter.gradient));
    if (!keep) parameter.gradient = {};
  }
}

}  // namespace plimsoll

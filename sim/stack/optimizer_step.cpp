#include "sim/stack/optimizer_step.h"

#include <algorithm>
#include <vector>

#include "sim/stack/projected_update.h"

namespace plimsoll {
namespace {

/// Elements from which bitsandbytes and torchao keep states in 8 bits, and those of a block with a scale of its own.
constexpr std::int64_t kSmallestCompressed = 4096;
constexpr std::int64_t kScaledBlock = 256;
constexpr int kNewtonSchulzSteps = 5;

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

bool is_embedding(const Parameter& parameter) {
  return parameter.name == "tokens" || parameter.name == "positions" || parameter.name == "token types";
}

/// torchao's 4-bit moments, of whole blocks alone: codes, scales and the table of values of each.
StateList in_four_bits(const Shape& shape, DType dtype) {
  constexpr std::int64_t kBlock = 128, kValues = 16;
  const std::int64_t count = elements_of(shape);
  if (count < kSmallestCompressed || count % kBlock != 0) return {{shape, dtype}, {shape, dtype}};
  StateList states;
  for (int moment = 0; moment < 2; ++moment) {
    states.insert(states.end(), {{{count / 2}, kMaskType}, {{count / kBlock}, DType::kFp32}, {{kValues}, DType::kFp32}});
  }
  return states;
}

/// A velocity of every element, and AdamW's second moment of those that Muon leaves to it.
StateList beside_muon(const Parameter& parameter) {
  StateList states{{parameter.value.shape, parameter.value.dtype}};
  const std::int64_t others = parameter.value.elements() - parameter.hidden_matrices;
  if (others > 0) states.emplace_back(Shape{others}, parameter.value.dtype);
  return states;
}

/// Rounds of whole-parameter temporaries that a foreach loop keeps at once.
std::int64_t foreach_copies(const Recipe& recipe) {
  switch (recipe.optimizer) {
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
    case OptimizerKind::kMuon:  // of what is AdamW's beside it
      return 1;  // the list of roots of the second moments
    case OptimizerKind::kMomentum:
    case OptimizerKind::kSgd:
      return recipe.weight_decay > 0 ? 1 : 0;  // gradients with the decay in them
    case OptimizerKind::kAdafactor:
      return 1;  // estimates of the second moments of all matrices (torch.optim.Adafactor)
    default:
      return 0;
  }
}

bool walks_one_by_one(OptimizerKind kind, OptimizerLoop loop) {
  if (kind == OptimizerKind::kAdafactor) return loop != OptimizerLoop::kForeach;
  return kind == OptimizerKind::kSm3 || kind == OptimizerKind::kLamb || kind == OptimizerKind::kLars ||
         kind == OptimizerKind::kLion;
}

/// Elements from which bitsandbytes' paged optimizers ask for managed memory.
constexpr std::int64_t kSmallestPaged = 100'000;

Tensor make_state(Tape& tape, const Parameter& parameter, const Shape& shape, DType type) {
  const bool paged = tape.options().optimizer_form.paged && parameter.value.elements() >= kSmallestPaged && shape == parameter.value.shape;
  if (!paged) return tape.empty(shape, type, Holding::kOptimizer);
  const Bytes bytes(elements_of(shape) * size_of(type));
  return {.storage = tape.log().make_absent(bytes, Holding::kOptimizer), .shape = shape, .dtype = type};
}

void add_states(Tape& tape, Parameter& parameter, const StateList& states) {
  for (const auto& [shape, type] : states) parameter.states.push_back(make_state(tape, parameter, shape, type));
}

void make_states(Tape& tape, Parameter& parameter, const Recipe& recipe) {
  if (!parameter.states.empty()) return;
  add_states(tape, parameter, state_tensors(parameter, recipe.optimizer, tape.options().optimizer_form));
}

/// Of a matrix whose gradient is projected; its projector is there already.
void update_by_projection(Tape& tape, Parameter& parameter, const Recipe& recipe) {
  update_projected(tape, parameter, recipe.optimizer, [&] {
    if (parameter.states.size() > 1) return;
    const OptimizerForm& form = tape.options().optimizer_form;
    const bool eight = recipe.optimizer == OptimizerKind::kAdam8bit;  // whose small tensors have 32 bits
    Parameter seen;
    seen.value.shape = projected_shape(parameter.value.shape, form);
    seen.value.dtype = eight ? DType::kFp32 : parameter.value.dtype;
    add_states(tape, parameter, state_tensors(seen, recipe.optimizer));
  });
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

}  // namespace

double update_passes(OptimizerLoop loop) { return loop == OptimizerLoop::kFused ? 1 : kForeachTraffic; }

namespace {

void launch_update(Tape& tape, double bytes) {
  tape.launch({.sort = StackKernelSort::kOptimizer, .dtype = DType::kFp32, .bytes = bytes});
}

/// Whole-parameter temporaries in fp32. transformers' Adafactor, a loop, also widens gradients and weights of two bytes.
int single_copies(const Parameter& parameter, const Recipe& recipe, OptimizerLoop loop) {
  if (recipe.optimizer != OptimizerKind::kAdafactor) return 1;
  return loop == OptimizerLoop::kForLoop && size_of(parameter.value.dtype) == 2 ? 4 : 2;
}

void update_one(Tape& tape, Parameter& parameter, const Recipe& recipe, OptimizerLoop loop) {
  make_states(tape, parameter, recipe);
  Tensors temporaries;
  for (int i = single_copies(parameter, recipe, loop); i > 0; --i) temporaries.push_back(tape.empty(parameter.value.shape, DType::kFp32));
  launch_update(tape, kForeachTraffic * update_traffic(parameter));
}

/// What torch.optim.Muon makes of one matrix: its velocity joined with the gradient, that in bf16, and five times the
/// gram matrix, a polynomial of it, and their product with what came before.
void orthogonalize(Tape& tape, Parameter& parameter) {
  const std::int64_t rows = parameter.value.shape[0], columns = parameter.value.shape[1];
  const std::int64_t m = std::min(rows, columns), n = std::max(rows, columns);
  const Tensor joined = tape.empty(parameter.value.shape, parameter.value.dtype);
  launch_update(tape, 3 * traffic(parameter.gradient) + 2 * traffic(joined));
  Tensor matrix = tape.empty({m, n}, DType::kBf16);
  tape.stream(traffic(joined) + 3 * traffic(matrix), DType::kBf16);
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    const Tensor gram = tape.empty({m, m}, DType::kBf16);
    tape.product(1, m, m, n, DType::kBf16);
    const Tensor polynomial = tape.empty({m, m}, DType::kBf16);
    tape.product(1, m, m, m, DType::kBf16);
    Tensor next = tape.empty({m, n}, DType::kBf16);
    tape.product(1, m, n, m, DType::kBf16);
    matrix = std::move(next);
  }
  tape.stream(4 * traffic(parameter.value) + traffic(matrix));
}

void update_one_by_one(Tape& tape, const std::vector<Parameter*>& trained, const Recipe& recipe, OptimizerLoop loop) {
  for (Parameter* parameter : trained) update_one(tape, *parameter, recipe, loop);
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
  launch_update(tape, update_passes(fused ? OptimizerLoop::kFused : OptimizerLoop::kForeach) * bytes);
}

}  // namespace

StateList state_tensors(const Parameter& parameter, OptimizerKind kind, const OptimizerForm& form) {
  const Shape& shape = parameter.value.shape;
  const DType dtype = form.paged ? DType::kFp32 : parameter.value.dtype;  // bitsandbytes' own 32 bits
  if (form.bits > 0) return in_four_bits(shape, dtype);
  switch (kind) {
    case OptimizerKind::kSgd:
      return {};
    case OptimizerKind::kMomentum:
    case OptimizerKind::kLars:
    case OptimizerKind::kLion:
      return {{shape, dtype}};
    case OptimizerKind::kAdam8bit:
      if (form.wide_embedding && is_embedding(parameter)) return {{shape, DType::kFp32}, {shape, DType::kFp32}};
      return in_eight_bits(shape, dtype);
    case OptimizerKind::kAdafactor:
    case OptimizerKind::kSm3:
      return factored(shape);
    case OptimizerKind::kMuon:
      return beside_muon(parameter);
    default:
      return {{shape, dtype}, {shape, dtype}};
  }
}

Bytes state_bytes(const Parameter& parameter, OptimizerKind kind) {
  Bytes sum;
  for (const auto& [shape, type] : state_tensors(parameter, kind)) sum += Bytes(elements_of(shape) * size_of(type));
  return sum;
}

std::int64_t hidden_share(std::int64_t elements, const std::deque<Parameter>& parts) {
  double all = 0, hidden = 0;
  for (const Parameter& part : parts) {
    if (!part.trained) continue;
    all += static_cast<double>(part.value.elements());
    hidden += static_cast<double>(part.hidden_matrices);
  }
  return all > 0 ? static_cast<std::int64_t>(static_cast<double>(elements) * hidden / all) : 0;
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

namespace {

bool is_matrix_of_muon(const Parameter& parameter, const Recipe& recipe) {
  return recipe.optimizer == OptimizerKind::kMuon && parameter.hidden_matrices > 0 && parameter.value.shape.size() == 2;
}

}  // namespace

namespace {

/// torchao compiles its own.
bool is_one_kernel(const Recipe& recipe, const OptimizerForm& form) { return form.bits > 0 || form.paged || recipe.optimizer == OptimizerKind::kAdam8bit; }

}  // namespace

void optimizer_step(Tape& tape, const std::vector<Parameter*>& all, const Recipe& recipe, OptimizerLoop loop) {
  std::vector<Parameter*> trained;
  for (Parameter* parameter : all) {
    if (is_projected(*parameter, tape.options().optimizer_form)) {
      update_by_projection(tape, *parameter, recipe);
      continue;
    }
    if (!is_matrix_of_muon(*parameter, recipe)) {
      trained.push_back(parameter);
      continue;
    }
    make_states(tape, *parameter, recipe);
    orthogonalize(tape, *parameter);
  }
  if (trained.empty()) return;
  const OptimizerForm& form = tape.options().optimizer_form;
  const bool one_kernel = is_one_kernel(recipe, form);
  if (!one_kernel && (loop == OptimizerLoop::kForLoop || walks_one_by_one(recipe.optimizer, loop) || form.projects())) {
    update_one_by_one(tape, trained, recipe, loop);
  } else {
    update_all_at_once(tape, trained, recipe, loop == OptimizerLoop::kFused || one_kernel);
  }
}

void update_in_backward(Tape& tape, const Recipe& recipe, OptimizerLoop loop) {
  for (Parameter& parameter : tape.parameters()) {
    parameter.after_gradient = [&tape, &recipe, loop](Parameter& own) {
      const OptimizerForm& form = tape.options().optimizer_form;
      if (is_projected(own, form)) {
        update_by_projection(tape, own, recipe);
        own.gradient = {};
        return;
      }
      make_states(tape, own, recipe);
      if (is_matrix_of_muon(own, recipe)) {
        orthogonalize(tape, own);
      } else {
        const bool copies = loop == OptimizerLoop::kForeach && !is_one_kernel(recipe, form) && foreach_copies(recipe) > 0;
        const Tensor roots = copies ? tape.empty(own.value.shape, own.value.dtype) : Tensor{};
        launch_update(tape, update_traffic(own));
      }
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

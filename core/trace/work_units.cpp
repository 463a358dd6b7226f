#include "core/trace/work_units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>

#include "core/plan/expand.h"
#include "core/trace/step_window.h"

namespace plimsoll {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool holds(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

UnitClass class_of_op(OpKind kind) {
  if (is_update(kind) || kind == OpKind::kClipFactor || kind == OpKind::kSquaredNorm) return UnitClass::kUpdate;
  if (attends_forward(kind) || attends_backward(kind)) return UnitClass::kAttention;
  switch (kind) {
    case OpKind::kLinear:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight:
    case OpKind::kExpertLinear:
    case OpKind::kExpertLinearBackwardInput:
    case OpKind::kExpertLinearBackwardWeight:
      return UnitClass::kProduct;
    case OpKind::kNorm:
    case OpKind::kHeadNorm:
    case OpKind::kNormBackward:
    case OpKind::kHeadNormBackward: return UnitClass::kNorm;
    case OpKind::kAdd:
    case OpKind::kActivation:
    case OpKind::kActivationBackward:
    case OpKind::kRope:
    case OpKind::kRopeBackward:
    case OpKind::kAccumulate: return UnitClass::kElementwise;
    case OpKind::kEmbedding:
    case OpKind::kEmbeddingBackward: return UnitClass::kEmbedding;
    case OpKind::kCrossEntropy:
    case OpKind::kLoss: return UnitClass::kLoss;
    default: return UnitClass::kOther;
  }
}

UnitPhase phase_of(Phase phase) {
  if (phase == Phase::kBackward) return UnitPhase::kBackward;
  return phase == Phase::kOptimizer ? UnitPhase::kOptimizer : UnitPhase::kForward;
}

WorkUnit unit_of(const Plan& plan, const Instruction& instruction, Nanoseconds time) {
  WorkUnit unit{.phase = phase_of(instruction.phase), .layer = instruction.layer, .time = time};
  switch (instruction.kind) {
    case InstructionKind::kLaunch:
      unit.sort = class_of_op(plan.at(instruction.kernel).kind);
      unit.name = to_text(plan.at(instruction.kernel).kind);
      break;
    case InstructionKind::kCopy:
    case InstructionKind::kRead:
    case InstructionKind::kWrite:
      unit.sort = UnitClass::kTransfer;
      unit.name = "transfer";
      break;
    case InstructionKind::kCollective:
      unit.sort = UnitClass::kCollective;
      unit.name = "collective";
      break;
    default: unit.name = "host work"; break;
  }
  return unit;
}

/// A linear layer's gradients of its input and its weight are one unit.
bool completes(const WorkUnit& before, const WorkUnit& unit) {
  return before.phase == UnitPhase::kBackward && unit.phase == UnitPhase::kBackward && before.sort == UnitClass::kProduct &&
         unit.sort == UnitClass::kProduct && before.layer == unit.layer && before.name != unit.name;
}

/// Of a product, by the name of what it writes, or of the gradient that its backward reads.
int parts_of(const Plan& plan, const FlatBody& flat, const Instruction& instruction, const OperatorShares& shares) {
  if (instruction.kind != InstructionKind::kLaunch) return 1;
  const OpKind kind = plan.at(instruction.kernel).kind;
  if (class_of_op(kind) != UnitClass::kProduct) return 1;
  for (const Use& use : flat.uses(instruction)) {
    const bool tells = kind == OpKind::kLinear ? writes(use.access) : reads(use.access);
    const std::string& name = plan.buffers[use.target].name;
    if (tells && name.starts_with("qkv ")) return shares.query_products;
    if (tells && name.starts_with("ffn in ")) return shares.inner_products;
  }
  return 1;
}

void divide(std::vector<WorkUnit>& units, const std::vector<int>& parts) {
  std::vector<WorkUnit> divided;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Nanoseconds share(units[i].time.count / parts[i]);
    for (int part = 1; part < parts[i]; ++part) {
      divided.push_back(units[i]);
      divided.back().time = share;
      units[i].time -= share;
    }
    divided.push_back(std::move(units[i]));
  }
  units = std::move(divided);
}

}  // namespace

UnitClass class_of_operator(std::string_view name) {
  std::string op = lower(name);
  if (op.starts_with("aten::")) op.erase(0, 6);
  if (holds(op, {"optimizer.step", "_fused_adam", "fused_sgd"})) return UnitClass::kUpdate;
  if (holds(op, {"nccl", "c10d::", "allreduce", "all_reduce", "allgather", "reduce_scatter"})) return UnitClass::kCollective;
  if (holds(op, {"scaled_dot_product", "flash_attn", "flashattn", "attention"})) return UnitClass::kAttention;
  if (holds(op,
            {"layer_norm", "layernorm", "rms_norm", "rmsnorm", "batch_norm", "batchnorm", "group_norm", "groupnorm"}))
    return UnitClass::kNorm;
  if (holds(op, {"cross_entropy", "nll_loss", "nllloss", "log_softmax", "logsoftmax"})) return UnitClass::kLoss;
  if (holds(op, {"embedding"})) return UnitClass::kEmbedding;
  if (holds(op, {"addmm", "linear", "conv"}) || is_one_of(op, {"mm", "bmm", "matmul", "baddbmm", "mmbackward0", "bmmbackward0"}))
    return UnitClass::kProduct;
  for (const std::string_view plain : {"add", "sub", "mul", "div", "pow", "tanh", "gelu", "silu", "relu", "sigmoid", "dropout",
                                       "native_dropout", "nativedropout", "softmax", "rsqrt", "mean", "neg", "exp", "sqrt"}) {
    const std::string_view rest = std::string_view(op).substr(std::min(plain.size(), op.size()));
    if (op.starts_with(plain) && (rest.empty() || rest == "_" || rest.starts_with("backward"))) return UnitClass::kElementwise;
  }
  return UnitClass::kOther;
}

UnitClass class_of_kernel(std::string_view name) {
  const std::string kernel = lower(name);
  if (holds(kernel, {"nccl", "rccl"})) return UnitClass::kCollective;
  if (holds(kernel, {"flash", "fmha", "attention"})) return UnitClass::kAttention;
  if (holds(kernel, {"layer_norm", "layernorm", "rmsnorm", "rms_norm", "batch_norm", "gammabeta"})) return UnitClass::kNorm;
  if (holds(kernel, {"nll_loss", "cross_entropy", "log_softmax", "logsoftmax"})) return UnitClass::kLoss;
  if (holds(kernel, {"embedding", "indexselect"})) return UnitClass::kEmbedding;
  if (holds(kernel, {"multi_tensor_apply", "adam"})) return UnitClass::kUpdate;
  if (holds(kernel, {"gemm", "cutlass", "xmma", "nvjet", "conv", "wgrad", "dgrad"})) return UnitClass::kProduct;
  if (holds(kernel, {"elementwise", "gelu", "silu", "dropout"})) return UnitClass::kElementwise;
  return UnitClass::kOther;
}

void merge_runs(std::vector<WorkUnit>& units) {
  std::vector<WorkUnit> merged;
  std::size_t last = 0;  // of those that are not of class other, one beyond
  for (WorkUnit& unit : units) {
    const bool runs = unit.sort == UnitClass::kElementwise || unit.sort == UnitClass::kUpdate;
    if (runs && last > 0 && merged[last - 1].sort == unit.sort && merged[last - 1].phase == unit.phase) {
      merged[last - 1].time += unit.time;
      continue;
    }
    merged.push_back(std::move(unit));
    if (merged.back().sort != UnitClass::kOther) last = merged.size();
  }
  units = std::move(merged);
}

UnitStep units_of_plan(const Plan& plan, const Trace& predicted, bool kernels, const OperatorShares& shares) {
  UnitStep result{.step = "the prediction", .on_device = true, .operators = !kernels};
  const Body* const body = plan.body("step");
  if (body == nullptr || predicted.events.empty()) return result;
  const FlatBody flat = expand(plan, *body);
  const std::uint32_t step = predicted.events.back().step;  // a prediction's last step is its steady one
  Nanoseconds first(INT64_MAX), last(INT64_MIN);
  std::vector<int> parts;
  for (const TraceEvent& event : predicted.events) {
    if (event.step != step || event.instruction >= flat.list.instructions.size()) continue;
    first = std::min(first, event.start);
    last = std::max(last, event.end);
    const Instruction& instruction = flat.list.instructions[event.instruction];
    if (instruction.kind == InstructionKind::kMarker) continue;
    WorkUnit unit = unit_of(plan, instruction, event.end - event.start);
    if (unit.sort == UnitClass::kNorm && !shares.fused_norms) unit.sort = UnitClass::kElementwise;
    if (!kernels && !result.units.empty() && completes(result.units.back(), unit)) {
      result.units.back().time += unit.time;
      result.units.back().name = "linear backward";
      continue;
    }
    result.units.push_back(std::move(unit));
    parts.push_back(parts_of(plan, flat, instruction, shares));
  }
  divide(result.units, parts);
  if (first < last) result.duration = last - first;
  for (const StepSummary& summary : predicted.steps) {
    if (summary.step == step) result.duration = summary.duration();
  }
  for (WorkUnit& unit : result.units) unit.phase = kernels ? UnitPhase::kUnknown : unit.phase;
  merge_runs(result.units);
  return result;
}

std::string_view to_text(UnitClass sort) {
  constexpr std::array<std::string_view, kUnitClasses> kTexts{"products", "attention", "norms",     "elementwise", "embeddings",
                                                              "loss",     "updates",   "transfers", "collectives", "other"};
  return kTexts[static_cast<std::size_t>(sort)];
}

std::string_view to_text(UnitPhase phase) {
  constexpr std::array<std::string_view, 4> kTexts{"forward", "backward", "optimizer", "step"};
  return kTexts[static_cast<std::size_t>(phase)];
}

}  // namespace plimsoll

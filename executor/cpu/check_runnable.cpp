#include "executor/cpu/check_runnable.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/attention_kind.h"
#include "core/graph/batch_parts.h"
#include "core/graph/buildable.h"
#include "core/graph/optimizer_state.h"
#include "core/plan/fill_body.h"
#include "core/plan/operand_sizes.h"
#include "core/plan/state_part.h"
#include "core/plan/transfers.h"
#include "executor/kernels/launch.h"
#include "executor/kernels/visible_keys.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what, std::string where, std::string remedy = {}) {
  return fail(
      {.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

Result<void> check_kernels(const Plan& plan) {
  for (const Kernel& kernel : plan.kernels) {
    if (supports(kernel)) continue;
    const auto attention = static_cast<AttentionKind>(kernel.shape.variant);
    if (is_attention(kernel.kind) && !kernels::is_computed(attention)) {
      return refuse(
          fmt::format("no backend computes attention of the kind '{}'", to_text(attention)), {},
          "fit and simulate know what it takes; run needs another model, or a plan made again with plimsoll plan");
    }
    return refuse(fmt::format("the CPU backend has no kernel '{}' in {}", to_text(kernel.kind), to_text(kernel.dtype)),
                  {}, "use --precision fp32");
  }
  return {};
}

/// What a model or a recipe asks for that only simulations know.
Result<void> check_arithmetic(const Plan& plan) {
  const ModelSpec& spec = plan.spec;
  const Recipe& recipe = plan.recipe;
  const std::pair<bool, std::string_view> missing[] = {
      {spec.positions == PositionKind::kAlibi, "attention with ALiBi positions"},
      {spec.rope_interleaved, "rotary positions of neighbouring pairs"},
      {spec.position_offset > 0, "a table of positions that does not begin with the first token's"},
      {spec.other_arithmetic, "factors, bounds or rotations of scores, sums or logits of the model's own"},
      {spec.norm == NormKind::kLayerNorm && !spec.norm_bias, "LayerNorms without biases"}};
  for (const auto& [asked, what] : missing) {
    if (!asked) continue;
    return refuse(fmt::format("the CPU backend has no kernel for {}, which {} asks for", what, spec.name),
                  {}, "fit, plan and simulate know it; run cannot");
  }
  if (recipe.precision != Precision::kTf32) return {};
  return refuse("tf32 is a format of a GPU's matrix units; the CPU backend multiplies fp32", {}, "use --precision fp32");
}

/// Only a read takes from a drive and only a write puts there.
Result<void> check_drives(const Plan& plan, const FlatBody& body, const Instruction& instruction,
                          const std::string& where) {
  const std::span<const Use> uses = body.uses(instruction);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const bool on_drive = plan.platform.at(plan.buffers[uses[i].target].space).kind == SpaceKind::kSsd;
    const bool may = (instruction.kind == InstructionKind::kRead && i == 0) ||
                     (instruction.kind == InstructionKind::kWrite && i == 1);
    if (on_drive == may) continue;
    return refuse(fmt::format("the CPU backend cannot {} with '{}' as operand {}", to_text(instruction.kind),
                              plan.buffers[uses[i].target].name, i),
                  where);
  }
  return {};
}

/// The uses of an instruction that are its operands: its guard's flag is none.
std::vector<Use> operands_of(const FlatBody& body, const Instruction& instruction) {
  const std::span<const Use> all = body.uses(instruction);
  std::vector<Use> operands(all.begin(), all.end());
  if (instruction.guard != kNoGuard) operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(instruction.guard));
  return operands;
}

Result<void> check_batch(const Plan& plan, const FlatBody& body, const Instruction& load, const std::string& where) {
  const std::vector<BatchPart> parts = batch_parts(plan.spec, plan.recipe);
  const std::vector<Use> uses = operands_of(body, load);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t bytes = i < uses.size() ? uses[i].bytes.count : 0;
    if (bytes == parts[i].bytes()) continue;
    return refuse(fmt::format("{} of a micro-batch take {} bytes, but the plan's buffer has {}", to_text(parts[i].kind),
                              parts[i].bytes(), bytes),
                  where);
  }
  return {};
}

Result<void> check_launch(const Plan& plan, const FlatBody& body, const Instruction& launch, bool on_gpu,
                          const std::string& where) {
  const ProcessorId processor = plan.platform.at(launch.queue).processor;
  const bool by_gpu = on_gpu && plan.platform.at(processor).kind == ProcessorKind::kGpu;
  const auto flaw = find_size_flaw(plan.at(launch.kernel), body.uses(launch), launch.guard,
                                   {.spec = plan.spec, .recipe = plan.recipe, .on_gpu = by_gpu});
  if (!flaw) return {};
  return refuse(*flaw, fmt::format("{} ({})", where, to_text(plan.at(launch.kernel).kind)),
                "make the plan again with plimsoll plan");
}

Result<void> check_instructions(const Plan& plan, const Body& named, bool on_gpu) {
  const FlatBody body = expand(plan, named);
  if (body.size() == 0) return refuse("the body has no instructions", named.name);
  for (std::size_t id = 0; id < body.size(); ++id) {
    const Instruction& instruction = body.list.instructions[id];
    const std::string where = fmt::format("{} instruction {}", named.name, id);
    if (auto sound = check_drives(plan, body, instruction, where); !sound) return sound;
    const bool reaches_on = plan.body(kFillBody) != nullptr;  // numbers from there on are of later steps
    if (!reaches_on && body.micro_batches[id] >= static_cast<std::uint64_t>(plan.recipe.accumulate)) {
      return refuse(fmt::format("is of micro-batch {}, and a step has {}", body.micro_batches[id], plan.recipe.accumulate),
                    where);
    }
    switch (instruction.kind) {
      case InstructionKind::kCollective:
        if (instruction.exchange.valid()) break;
        return refuse(fmt::format("the CPU backend cannot run a {} without an exchange", to_text(instruction.kind)), where);
      case InstructionKind::kHostWork:
        if (instruction.task != HostTask::kLoadTokens) break;
        if (auto fits = check_batch(plan, body, instruction, where); !fits) return fits;
        break;
      case InstructionKind::kLaunch:
        if (auto sized = check_launch(plan, body, instruction, on_gpu, where); !sized) return sized;
        break;
      case InstructionKind::kCopy:
      case InstructionKind::kRead:
      case InstructionKind::kWrite:
      case InstructionKind::kMarker:
        break;
    }
  }
  return {};
}

/// Whether some step reads the whole buffer from its drive, so that memory is set aside for it.
bool is_staged(const Plan& plan, const FlatBody& step, BufferId stored) {
  for (const Instruction& instruction : step.list.instructions) {
    if (instruction.kind != InstructionKind::kRead) continue;
    const Use& source = step.uses(instruction)[0];
    if (source.target == stored.index && source.bytes == plan.at(stored).bytes) return true;
  }
  return false;
}

/// Of layers or experts that ranks share a rank keeps the part that its exchanges say.
Result<void> check_slice(const Plan& plan, const StateBinding& binding) {
  const TensorShare share = share_of_group(plan, binding.group);
  const std::uint32_t slices = share.count, own = share.index;
  if (binding.part < binding.parts && binding.parts % slices == 0 && binding.part % slices == own) return {};
  return refuse(fmt::format("holds part {} of {}, and rank {} has slice {} of {}", binding.part, binding.parts, plan.rank, own,
                            slices),
                plan.at(binding.buffer).name);
}

Result<void> check_state(const Plan& plan) {
  const FlatBody step = expand(plan, *plan.body("step"));
  const ParameterLayout layout = lay_out_parameters(plan.spec, plan.recipe.adapter);
  for (const StateBinding& binding : plan.state) {
    if (binding.group.index >= layout.groups.size()) {
      return refuse(fmt::format("state of group {}, and the model has {}", binding.group.index, layout.groups.size()),
                    plan.at(binding.buffer).name);
    }
    const Buffer& buffer = plan.at(binding.buffer);
    const ParameterGroup& group = layout.at(binding.group);
    Bytes bytes = bytes_of_state(plan.recipe, group, binding.kind);
    if (const auto sound = check_slice(plan, binding); !sound) return sound;
    if (binding.parts > 1) bytes = Bytes(room_of_state(plan, binding) * (bytes.count / group.elements));
    const bool on_drive = plan.platform.at(buffer.space).kind == SpaceKind::kSsd;
    if (on_drive && !is_staged(plan, step, binding.buffer)) {
      return refuse("the CPU backend needs state on a drive to be read whole in a step", buffer.name);
    }
    if (buffer.bytes == bytes || buffer.bytes == align_up(bytes, kStorageAlignment)) continue;
    return refuse(fmt::format("state of group '{}' takes {} bytes, but its buffer has {}",
                              layout.at(binding.group).name, bytes.count, buffer.bytes.count),
                  buffer.name);
  }
  return {};
}

Result<void> check_covers(const Plan& migration, const Plan& plan) {
  const auto& spaces = plan.platform.spaces;
  const auto& own = migration.platform.spaces;
  const bool alike = std::equal(spaces.begin(), spaces.end(), own.begin(), own.end(),
                                [](const MemorySpace& a, const MemorySpace& b) { return a.kind == b.kind; });
  if (!alike) return refuse("the migration is for a machine of other memories", plan.platform.name);
  for (const Arena& arena : plan.arenas) {
    if (arena.bytes <= migration.arena_bytes(arena.space)) continue;
    return refuse("the migration's arena is shorter than a plan's", plan.platform.at(arena.space).name);
  }
  return {};
}

}  // namespace

Result<void> check_migration(const Plan& migration, const Plan& old, const Plan& next) {
  if (migration.body(kMigrateBody) == nullptr) return refuse("the plan has no body named 'migrate'", {});
  for (const Plan* plan : {&old, &next}) {
    if (auto covers = check_covers(migration, *plan); !covers) return covers;
  }
  for (const Block& block : migration.blocks) {
    for (const Instruction& instruction : block.list.instructions) {
      const InstructionKind kind = instruction.kind;
      if (is_transfer(kind)) continue;
      return refuse(fmt::format("a migration only copies, and this is a {}", to_text(kind)), block.name);
    }
  }
  return {};
}

Result<void> check_runnable(const Plan& plan, bool on_gpu) {
  if (plan.body("step") == nullptr) return refuse("the plan has no body named 'step'", {});
  if (auto sound = validate(plan.spec); !sound) return sound;
  if (auto sound = validate(plan.recipe, plan.spec); !sound) return sound;
  if (auto sound = check_buildable(plan.spec, plan.recipe); !sound) return sound;
  for (const auto check : {check_arithmetic, check_kernels, check_state}) {
    if (auto good = check(plan); !good) return good;
  }
  for (const Body& body : plan.bodies) {
    if (auto good = check_instructions(plan, body, on_gpu); !good) return good;
  }
  return {};
}

}  // namespace plimsoll

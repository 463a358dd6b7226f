#include "executor/cpu/loaded_plan.h"

#include <algorithm>

#include "core/plan/fill_body.h"

namespace plimsoll {
namespace {

std::optional<Program> program_of(const Plan& plan, const char* body, const ArenaSet& arenas) {
  const Body* named = plan.body(body);
  return named == nullptr ? std::nullopt : std::optional(make_program(plan, *named, arenas));
}

}  // namespace

LoadedPlan::LoadedPlan(const Plan& verified, const ArenaSet& arenas)
    : plan(verified),
      step(make_program(plan, *plan.body("step"), arenas)),
      evaluation(program_of(plan, "evaluation", arenas)),
      fill(program_of(plan, kFillBody, arenas)),
      states(plan, step, arenas) {}

std::vector<const Program*> LoadedPlan::programs() const {
  std::vector<const Program*> all{&step};
  if (evaluation) all.push_back(&*evaluation);
  if (fill) all.push_back(&*fill);
  return all;
}

std::vector<std::span<std::byte>> memory_beside(const Drive& drive, std::span<const Program* const> programs,
                                                const std::function<bool(const std::byte* begin)>& counts) {
  std::vector<std::pair<std::byte*, std::byte*>> ranges;
  for (const Program* program : programs) {
    for (const Instruction& instruction : program->body.list.instructions) {
      const auto uses = program->uses_of(instruction);
      const bool crosses = instruction.kind == InstructionKind::kRead || instruction.kind == InstructionKind::kWrite;
      if (!crosses || (uses[0].drive != &drive && uses[1].drive != &drive)) continue;
      const PlacedUse& memory = uses[0].drive == nullptr ? uses[0] : uses[1];
      if (counts && !counts(memory.base)) continue;
      const std::span<std::byte> slots = memory.all_slots();
      ranges.emplace_back(slots.data(), slots.data() + slots.size());
    }
  }
  std::sort(ranges.begin(), ranges.end());
  std::vector<std::span<std::byte>> merged;
  for (const auto& [begin, end] : ranges) {
    if (merged.empty() || begin > merged.back().data() + merged.back().size()) {
      merged.emplace_back(begin, end);
    } else if (end > merged.back().data() + merged.back().size()) {
      merged.back() = std::span(merged.back().data(), end);
    }
  }
  return merged;
}

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

/// A body written out: uses name buffers, dependencies name instruction ids of the body.
struct FlatBody {
  InstructionList list;
  std::vector<std::uint32_t> micro_batches;  ///< one per instruction

  [[nodiscard]] std::size_t size() const { return list.instructions.size(); }
  [[nodiscard]] std::span<const Use> uses(const Instruction& instruction) const {
    return std::span(list.uses).subspan(instruction.first_use, instruction.use_count);
  }
  [[nodiscard]] std::span<const Dependency> dependencies(const Instruction& instruction) const {
    return std::span(list.dependencies).subspan(instruction.first_dependency, instruction.dependency_count);
  }
  [[nodiscard]] std::span<const QueueId> members(const Instruction& instruction) const {
    return std::span(list.members).subspan(instruction.first_member, instruction.member_count);
  }
};

/// Number of instructions of a body without writing it out.
std::size_t instruction_count(const Plan& plan, const Body& body);

/// Writes a body out. Repetition r of a call binds buffer `base + stride · r`, and so for ports; an instruction whose
/// layer in the block is l ≥ 0 gets layer `call.layer + call.layer_stride · r + l`, any other keeps −1. Flat arrays
/// come out in the order of the instructions; what an instruction has none of begins at 0. The plan's indices must be
/// in range (check_indices of verify_plan.h says so for plans from files).
FlatBody expand(const Plan& plan, const Body& body);

/// Where a stretch of a flat body that may become one call begins. All its instructions are of its micro-batch; `layer`
/// is what the block's layers are counted from.
struct Segment {
  std::uint32_t first = 0;
  std::uint32_t micro_batch = 0;
  std::int32_t layer = -1;
  std::string name;
};

/// Folds a flat body: equal stretches become one Block, neighbouring calls of one block whose bindings, ports and
/// layers progress evenly become one repeated call. Expanding the result gives the flat body back. Adds to
/// `plan.blocks`, where equal stretches of other bodies are found, too. Segments stand in order and the first begins at
/// 0.
Body fold(Plan& plan, std::string name, const FlatBody& flat, std::span<const Segment> segments);

}  // namespace plimsoll

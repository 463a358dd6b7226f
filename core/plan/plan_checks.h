#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"

namespace plimsoll {

/// A body under verification, written out.
struct CheckedBody {
  const Plan& plan;
  const Body& body;
  const FlatBody& flat;
};

/// Each instruction of a block has the uses, queues and phase that its kind asks for.
Result<void> check_blocks(const Plan& plan);

/// Each exchange is with ranks of the job, and its instructions' uses are those of its kind (see ExchangeKind), of the sizes
/// that its members' parts have. Needs what check_indices establishes.
Result<void> check_exchanges(const Plan& plan);

/// Dependencies point backwards; uses lie inside their buffers, within reach of their processor; copies follow a link.
/// Needs what check_indices and check_blocks establish.
Result<void> check_bindings(const CheckedBody& checked);

/// Arenas fit their spaces, buffers their arenas, and nothing shares bytes with a persistent buffer.
Result<void> check_capacity(const Plan& plan);

/// Every two overlapping uses of which one writes are ordered. Needs what the other checks establish. Adds to `report`.
Result<void> check_conflicts(const CheckedBody& checked, VerifyReport& report);

/// A defect of one instruction, with its place in words: "body step, instruction 17 (launch linear)".
Error defect_at(const CheckedBody& checked, std::uint32_t id, std::string what, std::string remedy = {});

/// "instruction 17 (launch linear, layer 3)".
std::string name_of(const Plan& plan, const Instruction& instruction, std::size_t id);

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/expand.h"

namespace plimsoll {

/// An instruction of one rank. Those with an exchange come twice: when the rank has arrived there, and when all have.
struct JobInstruction {
  std::uint32_t rank = 0;
  std::uint32_t instruction = 0;
  bool arrives = false;

  bool operator==(const JobInstruction&) const = default;
};

/// One body of all plans of a job, in an order in which it can run.
struct JobOrder {
  std::vector<FlatBody> bodies;       ///< by rank
  std::vector<JobInstruction> order;  ///< topological
  std::vector<std::vector<std::vector<JobInstruction>>>
      others;  ///< by rank and instruction: who takes part in its exchange, itself too
};

/// Proves that the plans of a job's ranks go together in that body: they are of one training; each exchange's
/// instructions on its ranks match one to one, in their order, with equal bytes and micro-batches; and running all
/// ranks at once comes to the end though every exchange waits for all who take part in it (what waits for nothing
/// cannot deadlock, however small the room for messages on their way). As queues go on from step to step in the same
/// order, that holds for any number of steps. Plans must be verified. The first defect is returned, with its ranks and
/// instructions.
Result<JobOrder> order_ranks(std::span<const Plan> plans, std::string_view body = "step");

}  // namespace plimsoll

#pragma once

#include "core/plan/plan.h"
#include "formats/plans/name_table.h"

namespace plimsoll {

/// The names by which the parts of a plan's file refer to each other.
struct PlanTables {
  NameTable spaces;
  NameTable queues;
  NameTable buffers;
  NameTable blocks;

  explicit PlanTables(const Plan& plan)
      : spaces(name_table("space", plan.platform.spaces)),
        queues(name_table("queue", plan.platform.queues)),
        buffers(name_table("buffer", plan.buffers)),
        blocks(name_table("block", plan.blocks)) {}
};

}  // namespace plimsoll

#pragma once

#include "core/schedule/pipeline_schedule.h"
#include "sim/schedule/building_block.h"

namespace plimsoll {

/// Fills `schedule` with the orders that come of repeating `block` for every micro-batch and running it as a list: slot
/// by slot, each rank takes the first pass in the block's order whose data are there, and a weight gradient when there
/// is none or the block has it first. No rank holds more than the repeated block does. Where the block waits at its
/// turns, passes may overtake one another as long as the forwards that they overtake find room; a block without waits
/// interlocks as it is.
void order_by_block(const BuildingBlock& block, PipelineSchedule& schedule);

}  // namespace plimsoll

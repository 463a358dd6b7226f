#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/pipeline_schedule.h"

namespace plimsoll {

/// The entries of an order as PyTorch's pipeline schedules write them: "3B0", "(0F7;7B3)OVERLAP_F_B".
std::vector<std::string> action_texts(const std::vector<PipelineOp>& order);

/// Appends what `text` says to `order`: an op, an overlapped pair, or nothing for an idle step and for actions that are
/// no compute (SEND_F, UNSHARD, REDUCE_GRAD and their like), which follow from the order.
Result<void> append_action(std::string_view text, std::vector<PipelineOp>& order);

/// A schedule of these orders, with as many stages and micro-batches as they name.
PipelineSchedule schedule_of_orders(std::string name, std::vector<std::vector<PipelineOp>> orders);

}  // namespace plimsoll

#pragma once

#include "core/schedule/pipeline_schedule.h"
#include "sim/schedule/schedule_request.h"

namespace plimsoll {

/// A schedule without ops of the request's size, with `stages` stages.
inline PipelineSchedule empty_schedule(const ScheduleRequest& request, std::uint32_t stages) {
  PipelineSchedule schedule;
  schedule.name = request.name;
  schedule.stages = stages;
  schedule.micro_batches = request.micro_batches;
  schedule.orders.resize(request.ranks);
  return schedule;
}

/// Appends ops to one rank's order.
class OrderBuilder {
 public:
  explicit OrderBuilder(std::vector<PipelineOp>& order) : order_(order) {}

  void forward(std::uint32_t stage, std::uint32_t micro_batch) { add(PipelineWork::kForward, stage, micro_batch); }
  void backward(std::uint32_t stage, std::uint32_t micro_batch) { add(PipelineWork::kBackward, stage, micro_batch); }
  void input(std::uint32_t stage, std::uint32_t micro_batch) { add(PipelineWork::kInputGradient, stage, micro_batch); }
  void weight(std::uint32_t stage, std::uint32_t micro_batch) {
    add(PipelineWork::kWeightGradient, stage, micro_batch);
  }

 private:
  void add(PipelineWork work, std::uint32_t stage, std::uint32_t micro_batch) {
    order_.push_back({work, false, StageId(stage), MicroBatchId(micro_batch)});
  }

  std::vector<PipelineOp>& order_;
};

}  // namespace plimsoll

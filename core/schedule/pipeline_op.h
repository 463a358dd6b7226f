#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/strong_id.h"

namespace plimsoll {

using StageId = StrongId<struct StageTag>;            ///< a stretch of the model's layers
using MicroBatchId = StrongId<struct MicroBatchTag>;  ///< one of the parts into which a batch is cut

/// What one op of a pipeline does for one stage and one micro-batch. B is I and W in one.
enum class PipelineWork : std::uint8_t { kForward, kBackward, kInputGradient, kWeightGradient };

/// One entry of a rank's order.
struct PipelineOp {
  PipelineWork work = PipelineWork::kForward;
  bool with_next = false;  ///< a forward that runs as one with the backward after it; both results appear at their end
  StageId stage;
  MicroBatchId micro_batch;

  bool operator==(const PipelineOp&) const = default;
};

/// 'F', 'B', 'I' or 'W'.
char letter_of(PipelineWork work);

/// "3B0": stage, work, micro-batch.
std::string to_text(const PipelineOp& op);

/// Reads "3B0".
Result<PipelineOp> parse_pipeline_op(std::string_view text);

/// True for the works that send a gradient to the stage before: B and I.
constexpr bool sends_gradient(PipelineWork work) {
  return work == PipelineWork::kBackward || work == PipelineWork::kInputGradient;
}

/// True for the works after which nothing of the micro-batch's activations is needed any more: B and W.
constexpr bool ends_backward(PipelineWork work) {
  return work == PipelineWork::kBackward || work == PipelineWork::kWeightGradient;
}

}  // namespace plimsoll

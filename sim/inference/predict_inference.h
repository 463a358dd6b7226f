#pragma once

#include <string>
#include <vector>

#include "sim/cost/cost_model.h"
#include "sim/inference/inference_memory.h"

namespace plimsoll {

/// How long a queue is busy, of the whole time.
struct BusyQueue {
  std::string name;
  double seconds = 0;
};

/// What the simulator says of an inference under a policy.
struct InferenceTime {
  double prefill_seconds = 0;   ///< until every sequence has its first new token
  double first_token_step = 0;  ///< the step that writes the second token
  double last_token_step = 0;
  double decode_seconds = 0;      ///< all further tokens
  std::vector<BusyQueue> queues;  ///< busiest first
  CostOrigin origin = CostOrigin::kMeasured;

  [[nodiscard]] double seconds() const { return prefill_seconds + decode_seconds; }
};

/// Seconds of one pass of all batches; `cached` tokens of each sequence are there already, 0 before the prompt's pass.
Result<double> pass_seconds(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform,
                            const CostModel& costs, std::int64_t cached);

/// Simulates the prompt's pass and the steps behind it: the first, the middle and the last one, and between them what Simpson's
/// rule gives, since only the cache grows and it grows evenly.
Result<InferenceTime> predict_inference(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform,
                                        const CostModel& costs);

/// A time that no schedule of the policy beats: of each pass the longest of what its kernels' arithmetic and traffic take at the
/// nominal rates and what its bytes take on each link.
Result<double> inference_bound(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform);

}  // namespace plimsoll

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/inference/search_policy.h"

namespace plimsoll {

/// One memory in an answer.
struct InferenceSpace {
  std::string space;
  InferenceBytes needs;
  Bytes usable;

  [[nodiscard]] Bytes margin() const { return usable - needs.total(); }
};

/// Another policy that was weighed.
struct InferenceAlternative {
  OffloadPolicy policy;
  double tokens_per_second = 0;  ///< estimated from a few layers
  Bytes device;
};

/// What `fit --workload inference` answers. Times of a policy that does not fit are those that it would have.
struct InferenceAnswer {
  bool fits = false;
  InferenceTask task;
  OffloadPolicy policy;
  std::int64_t parameters = 0;
  Bytes weight_bytes;           ///< as they are kept
  Bytes cache_bytes_per_token;  ///< of one sequence
  std::vector<InferenceSpace> memory;
  InferenceTime time;
  double seconds_low = 0;
  double seconds_high = 0;
  double bound_seconds = 0;                        ///< the policy's; no schedule of it is faster
  std::optional<double> steady_tokens_per_second;  ///< with requests coming and going, where all is on the device
  std::vector<InferenceAlternative> alternatives;
  std::string source;  ///< of the costs

  /// New tokens of all sequences, the first ones included, by the whole time: what FlexGen calls generation throughput.
  [[nodiscard]] double tokens_per_second() const;
};

/// Searches, simulates the best policy layer by layer, and says what the others would give.
Result<InferenceAnswer> answer_inference(const InferenceTask& task, const PolicyWishes& wishes, const Platform& platform,
                                         const CostModel& costs);

}  // namespace plimsoll

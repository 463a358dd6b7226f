#pragma once

#include <optional>
#include <vector>

#include "sim/inference/predict_inference.h"

namespace plimsoll {

/// What a user leaves open of a policy; what is set is kept.
struct PolicyWishes {
  std::optional<OffloadPolicy> exact;  ///< shares and batches to the letter
  std::optional<std::int64_t> gpu_batch;
  std::optional<bool> cpu_attention;
  OffloadPolicy fixed;  ///< codes, pinning, overlap
};

/// A policy with what it takes and what it is estimated to take in time (from a few layers), or nothing of the latter.
struct WeighedPolicy {
  OffloadPolicy policy;
  InferenceMemory memory;
  double estimated_seconds = 0;
  bool fits = false;
};

/// Policies, fastest first; those that do not fit come last, the smallest first. At least one.
///
/// Tried are batches that divide the sequences (at most 32 of them), five shares of the cache on the device, attention on either
/// side, and who is first in host memory; then as many weights are on the device as fit, what is left goes to host memory and
/// then to the SSD. Bytes are affine in each share, so that the largest share that fits is solved for.
Result<std::vector<WeighedPolicy>> search_policies(const InferenceTask& task, const PolicyWishes& wishes,
                                                   const Platform& platform, const CostModel& costs);

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/inference/group_code.h"
#include "sim/inference/serving_program.h"

namespace plimsoll {

/// Shares of one kind of data in the device's and in host memory; the rest lies on the SSD.
struct TierShares {
  double gpu = 1;
  double cpu = 0;

  bool operator==(const TierShares&) const = default;
  [[nodiscard]] double ssd() const;
};

/// What a decoder's inference keeps where, and in which order it works (Sheng et al. 2023, FlexGen, section 4): a block of
/// `batches` batches of `gpu_batch` sequences goes through the model layer by layer, so that a layer's weights come once for all.
struct OffloadPolicy {
  std::int64_t gpu_batch = 1;
  std::int64_t batches = 1;
  TierShares weights;
  TierShares cache;            ///< keys and values
  TierShares activations;      ///< what goes from layer to layer
  bool cpu_attention = false;  ///< when decoding, the CPU attends to what of the cache is not on the device
  GroupCode weight_code;
  GroupCode cache_code;
  bool overlap = true;         ///< transfers beside computation
  bool pinned_weights = true;  ///< in host memory; what is not pinned passes through the hands of a CPU thread
  bool pinned_cache = true;
  bool eager_codes = false;  ///< codes are made and read by chains of elementwise kernels, not by one
  ServingProgram program = ServingProgram::kFlexGen;

  bool operator==(const OffloadPolicy&) const = default;
  [[nodiscard]] std::int64_t sequences() const { return gpu_batch * batches; }
  /// Hooks fetch the weights, from host memory; what comes from a drive is read ahead of them and limits them, so that the
  /// rounds of FlexGen's schedule stand for it.
  [[nodiscard]] bool is_hooked() const { return has_fetching_hooks(program) && weights.ssd() == 0; }
};

/// "20,80,0,100,0,100": percent of the weights on the GPU and on the CPU, of the cache, of the activations.
Result<OffloadPolicy> with_percentages(OffloadPolicy policy, std::string_view text, std::string_view option);

/// The policy as that program carries it out: under Accelerate weights wait in pageable memory, and nothing overlaps.
OffloadPolicy run_by(ServingProgram program, OffloadPolicy policy);

/// The policy in words.
std::string to_text(const OffloadPolicy& policy);

}  // namespace plimsoll

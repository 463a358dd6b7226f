#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/parallel/parallel_layout.h"

namespace plimsoll {

/// What a user says of a layout; what is left open is chosen.
struct LayoutRequest {
  std::optional<std::int64_t> data_ranks;
  std::optional<std::int64_t> tensor_ranks;
  std::optional<std::int64_t> stages;
  std::optional<std::int64_t> context_ranks;
  std::optional<std::int64_t> expert_ranks;
  std::optional<int> zero;
  std::optional<bool> sequence_parallel;
  std::optional<std::string> schedule;
  std::optional<std::int64_t> chunks;
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> global_batch;
  std::optional<Recomputation> recomputation;
  bool partitions_checkpoints = false;
  bool cuts_products = false;
  TensorLayout tensor_layout = TensorLayout::kLine;
  std::int64_t tensor_depth = 1;
  ContextKind context = ContextKind::kRing;
  bool overlaps_gradients = true;
  bool overlaps_tensor = true;
};

/// The layout that the request means where nothing is searched: degrees that are not said are 1, data ranks what the
/// others leave of `gpus`, and a global batch one micro-batch a data rank and stage.
ParallelLayout layout_as_said(const LayoutRequest& request, std::int64_t gpus);

}  // namespace plimsoll

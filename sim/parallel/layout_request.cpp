#include "sim/parallel/layout_request.h"

#include <algorithm>

namespace plimsoll {

ParallelLayout layout_as_said(const LayoutRequest& request, std::int64_t gpus) {
  ParallelLayout layout;
  layout.tensor_ranks = request.tensor_ranks.value_or(1);
  layout.stages = request.stages.value_or(1);
  layout.context_ranks = request.context_ranks.value_or(1);
  layout.expert_ranks = request.expert_ranks.value_or(1);
  const std::int64_t others = layout.tensor_ranks * layout.stages * layout.context_ranks;
  layout.data_ranks = request.data_ranks.value_or(std::max<std::int64_t>(1, gpus / others));
  layout.zero = request.zero.value_or(0);
  layout.sequence_parallel = request.sequence_parallel.value_or(false);
  layout.context = request.context;
  layout.tensor_layout = request.tensor_layout;
  layout.tensor_depth = request.tensor_depth;
  layout.chunks = request.chunks.value_or(1);
  layout.schedule = request.schedule.value_or(layout.chunks > 1 ? "interleaved" : "1f1b");
  layout.micro_batch = request.micro_batch.value_or(1);
  layout.global_batch = request.global_batch.value_or(layout.micro_batch * layout.data_ranks * layout.stages);
  layout.recomputation = request.recomputation.value_or(Recomputation::kNone);
  layout.partitions_checkpoints = request.partitions_checkpoints;
  layout.cuts_products = request.cuts_products;
  layout.overlaps_gradients = request.overlaps_gradients;
  layout.overlaps_tensor = request.overlaps_tensor;
  return layout;
}

}  // namespace plimsoll

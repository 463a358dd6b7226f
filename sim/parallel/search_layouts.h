#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/parallel/layout_request.h"
#include "sim/parallel/predict_parallel.h"

namespace plimsoll {

/// What a search found.
struct LayoutSearch {
  std::vector<ParallelAnswer> front;     ///< no other layout that fits is faster and needs less; fastest first
  std::vector<ParallelAnswer> smallest;  ///< where nothing fits: the one that needs least
  std::size_t tried = 0;
  std::size_t fitting = 0;
  std::int64_t global_batch = 0;
};

/// Layouts that keep to what the request says, in a fixed order: powers of two of tensor ranks within a node, divisors
/// of the layers as stages, powers of two of ranks that share a long sequence and of data ranks that share experts,
/// micro-batches, chunks, recomputation, ZeRO, schedules (1f1b, interleaved, zb-h1, zb-v).
std::vector<ParallelLayout> candidate_layouts(const ParallelQuestion& question, const LayoutRequest& request);

/// What each layout takes and needs, on all cores; nothing for one whose pieces cannot be told.
std::vector<std::optional<ParallelAnswer>> time_layouts(const ParallelQuestion& question, const std::vector<ParallelLayout>& layouts,
                                                        unsigned threads = 0);

/// Predicts all candidates on all cores and keeps the Pareto front of step time and memory of those that fit. The same
/// whatever the number of threads (0: one a core). Nothing to try is an error.
Result<LayoutSearch> search_layouts(const ParallelQuestion& question, const LayoutRequest& request,
                                    unsigned threads = 0);

}  // namespace plimsoll

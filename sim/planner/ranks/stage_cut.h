#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace plimsoll {

/// A tensor that one stage writes and another reads, once a micro-batch.
struct Crossing {
  TensorId tensor;         ///< as the reader names it: perhaps a part of a larger one
  std::uint32_t from = 0;  ///< stage
  std::uint32_t to = 0;
  bool from_backward =
      false;  ///< it goes when the writer's backward pass of that micro-batch has written it, else its forward pass
  bool to_backward = false;  ///< which of the reader's passes waits for it
};

/// What one stage does for a micro-batch: indices of the graph's ops, in its order.
struct StageOps {
  std::vector<std::size_t> forward;
  std::vector<std::size_t> backward;
};

/// A graph cut into stages of neighbouring blocks; the embedding belongs to the first, the head to the last.
struct StageCut {
  std::vector<StageOps> stages;
  std::vector<Crossing> crossings;
  std::vector<std::uint32_t> stage_of_group;  ///< which updates it
  std::vector<std::vector<GroupId>> reads;    ///< by stage: groups whose weights it reads
};

/// `stages` must divide the model's blocks, which are then equally many in each.
StageCut cut_into_stages(const Graph& graph, std::uint32_t stages);

/// The same with so many blocks in each stage, the model's in all.
StageCut cut_into_stages(const Graph& graph, const std::vector<std::uint32_t>& blocks);

/// Whether an op of the backward pass computes nothing but gradients of weights (or sums them up): it may wait.
bool is_weight_gradient(OpKind kind);

}  // namespace plimsoll

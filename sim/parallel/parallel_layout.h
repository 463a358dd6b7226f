#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "core/parallel/tensor_layout.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// How ranks that share a sequence get at the keys and values of the others.
enum class ContextKind : std::uint8_t {
  kRing,     ///< keys and values go round (ring attention; Megatron-LM's context parallelism)
  kUlysses,  ///< heads are exchanged for rows before attention, and back (DeepSpeed-Ulysses)
};

/// How many devices share a training in which way. Ranks lie tensor first, then context, data, stages: rank = tensor +
/// t · (context + c · (data + d · stage)), as Megatron-LM lays them.
struct ParallelLayout {
  std::int64_t data_ranks = 1;
  std::int64_t tensor_ranks = 1;
  TensorLayout tensor_layout = TensorLayout::kLine;  ///< how tensor ranks stand; else than in a line, what all hold is cut
  std::int64_t tensor_depth = 1;                     ///< of kDeep
  std::int64_t stages = 1;         ///< ranks of a pipeline
  std::int64_t context_ranks = 1;  ///< that share a sequence
  std::int64_t expert_ranks = 1;   ///< data ranks that share the experts
  int zero = 0;                    ///< what data ranks share out: 1 optimizer states, 2 and gradients, 3 and parameters
  bool sequence_parallel = false;
  ContextKind context = ContextKind::kRing;
  std::string schedule = "1f1b";
  std::int64_t chunks = 1;        ///< of layers, on each rank of a pipeline
  std::int64_t micro_batch = 1;   ///< sequences
  std::int64_t global_batch = 1;  ///< sequences of a step, of all data ranks
  Recomputation recomputation = Recomputation::kNone;
  bool partitions_checkpoints = false;  ///< each tensor rank keeps its part of what recomputation begins with (ZeRO-R's P_a)
  bool overlaps_gradients = true;  ///< data ranks' collectives run beside the last backward passes
  bool overlaps_tensor = true;  ///< tensor ranks' collectives of a backward pass run beside its products where they can

  bool cuts_products = false;  ///< products in as many pieces as there are tensor ranks, beside which their collectives run

  bool operator==(const ParallelLayout&) const = default;

  [[nodiscard]] DeviceGrid grid() const { return {tensor_layout, tensor_ranks, tensor_depth}; }
  [[nodiscard]] std::int64_t gpus() const { return data_ranks * tensor_ranks * stages * context_ranks; }
  [[nodiscard]] std::int64_t micro_batches() const { return global_batch / (data_ranks * micro_batch); }
};

/// Names the first degree that does not divide what it shares (GPUs, layers, heads, batch, sequence, experts), and what
/// would. `gpus`: how many there are.
Result<void> check_layout(const ModelSpec& spec, const Recipe& recipe, const ParallelLayout& layout, std::int64_t gpus);

/// Layers of one of `stages` equal stretches of the model. Where they do not divide, embedding and head count as a
/// layer each and the first and last stretch have one less, as zero-bubble pipelines are cut; 0 when that does not
/// divide either.
std::int64_t layers_of_stretch(std::int64_t layers, std::int64_t stages, std::int64_t stage);

/// "dp 8, tp 8, pp 16 x 2 chunks (interleaved), …": for people.
std::string describe(const ParallelLayout& layout);

}  // namespace plimsoll

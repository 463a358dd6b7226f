#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "sim/cost/cost_model.h"
#include "sim/parallel/parallel_layout.h"

namespace plimsoll {

/// Seconds of a step on one rank of the pipeline; they add up to the step.
struct RankSeconds {
  double forward = 0;  ///< kernels
  double backward = 0;
  double tensor_sends = 0;    ///< collectives of tensor and context ranks that nothing hides
  double expert_sends = 0;    ///< exchanges of tokens between expert ranks
  double shard_sends = 0;     ///< parameters and gradients that ZeRO-2 and 3 gather and scatter in every micro-batch
  double bubble = 0;          ///< waiting for other stages, hops included
  double gradient_sends = 0;  ///< of data ranks and tied embeddings, after the last backward pass
  double optimizer = 0;
  double wait = 0;  ///< for the slowest rank, before updates and at the end
};

/// What a device of one rank of the pipeline holds at its peak.
struct RankMemory {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;  ///< with what a pass works with
  Bytes workspace;    ///< libraries, gathered units, buckets

  [[nodiscard]] Bytes total() const { return parameters + gradients + optimizer + activations + workspace; }
};

struct RankAnswer {
  RankSeconds seconds;
  RankMemory memory;
  std::int64_t layers = 0;
};

/// What a layout would take and need.
struct ParallelAnswer {
  ParallelLayout layout;
  double step_seconds = 0;
  double step_low = 0;
  double step_high = 0;
  CostOrigin origin = CostOrigin::kExtrapolated;
  double bubble_fraction = 0;  ///< of the pipeline's forward and backward passes
  double samples_per_second = 0;
  double tokens_per_second = 0;
  double model_flops = 0;  ///< of a step, all devices together
  double hardware_flops = 0;
  std::vector<RankAnswer> ranks;  ///< of the pipeline
  std::size_t last = 0;           ///< the rank that works longest
  std::size_t fullest = 0;
  Bytes usable;        ///< of a device, for tensors
  bool exact = false;  ///< every rank was simulated; else one of each kind
  std::int64_t simulated_ranks = 0;
  std::string limit;  ///< what most of the step goes to, on the rank that works longest
  double limit_share = 0;
  std::vector<std::string> assumed;

  [[nodiscard]] Bytes peak() const { return ranks.empty() ? Bytes(0) : ranks[fullest].memory.total(); }
  [[nodiscard]] bool fits() const { return peak() <= usable; }
  [[nodiscard]] double model_tflops_per_gpu() const;
  [[nodiscard]] double hardware_tflops_per_gpu() const;
};

}  // namespace plimsoll

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "executor/generation/key_value_cache.h"
#include "executor/kernels/launch.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll {

/// Where the weights of each parameter group lie, in fp32.
using GroupWeights = std::vector<std::span<float>>;

/// The forward ops of a model for a fixed number of tokens that follow others: positions go on from those in the cache, and
/// attention reads their keys and values. Tensors that do not live together share memory.
class ForwardPass {
 public:
  /// `with_logits`: to the logits of every row; else to the last block's end, which fills the cache.
  ForwardPass(const ModelSpec& spec, std::int64_t rows, bool with_logits, std::int64_t workers);

  /// Runs on `rows` tokens; returns the logits [rows, logit_columns], or nothing. They are valid until the next call.
  std::span<const float> run(std::span<const std::int32_t> tokens, const GroupWeights& weights, KeyValueCache& cache,
                             LaunchContext context);

 private:
  void place_tensors();
  [[nodiscard]] OperandView view(TensorId id, Access access, const GroupWeights& weights);
  void run_op(const Op& op, const GroupWeights& weights, KeyValueCache& cache, const LaunchContext& context);

  Graph graph_;
  TensorId tokens_, logits_;
  std::vector<std::size_t> slot_of_;            ///< by tensor; of those that are neither views nor parameters
  std::vector<std::vector<double>> slots_;  ///< doubles, for their alignment
};

}  // namespace plimsoll

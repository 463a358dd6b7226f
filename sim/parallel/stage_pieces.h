#pragma once

#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/parallel/cluster.h"
#include "sim/parallel/parallel_layout.h"
#include "sim/parallel/two_level_exchange.h"

namespace plimsoll {

/// How Megatron-LM's layers are run where it leaves a choice.
struct BlockChoices {
  std::optional<AttentionKernel> attention;  ///< nothing: fused
  std::optional<double> dropout;             ///< nothing: the family's
  bool transformer_engine = true;
  bool reduces_in_half = false;  ///< gradients are summed and sent in the weights' two bytes, not in fp32
  std::optional<double>
      imbalance;  ///< of experts: the fullest rank's tokens, over the mean; nothing: what chance makes of even choices
  std::optional<GroupChoice> groups;  ///< of experts, a gate for which comes first; nothing: one gate
};

/// What a part of a model takes one tensor rank for one micro-batch.
struct PieceCost {
  double forward = 0;          ///< seconds of kernels, or of the host that launches them where that is slower
  double input_gradient = 0;   ///< the backward pass (and what is recomputed for it) without the next
  double weight_gradient = 0;  ///< products that only weights' gradients need
  double forward_sends = 0;    ///< seconds of collectives that nothing hides, part of neither of the above
  double backward_sends = 0;
  double hidden_sends = 0;  ///< of collectives that run beside products
  double model_flops = 0;
  double hardware_flops = 0;  ///< with recomputation
  double update = 0;          ///< seconds of the optimizer's kernels over all states
  double saved = 0;           ///< bytes of activations from forward to backward
  double working = 0;         ///< bytes beside them while a pass runs
  double parameters = 0;      ///< bytes
  double gradients = 0;
  double states = 0;             ///< of the optimizer, with the fp32 copy
  double elements = 0;           ///< parameters
  double expert_parameters = 0;  ///< bytes of those above that belong to experts, of whom other ranks have others
  double expert_gradients = 0;
  double expert_states = 0;
  double exchange_forward = 0;  ///< seconds in which tokens go to their experts and back
  double exchange_backward = 0;

  PieceCost& operator+=(const PieceCost& other);
  /// What both differ by; no field falls below 0.
  [[nodiscard]] PieceCost without(const PieceCost& other) const;
  [[nodiscard]] PieceCost times(double count) const;
  [[nodiscard]] double forward_seconds() const { return forward + forward_sends; }
  [[nodiscard]] double backward_seconds() const { return input_gradient + weight_gradient + backward_sends; }
};

/// The parts of which all stages are put together.
struct StagePieces {
  PieceCost block;
  PieceCost embedding;   ///< of the first stage
  PieceCost head;        ///< of the last: norm, output matrix, loss
  double workspace = 0;  ///< bytes of libraries
};

/// Tokens of the fullest of `ranks` that share experts, over the mean, where every token chooses `choices` experts
/// evenly and at random: the mean largest of that many Poisson counts, 1 + √(2 ln ranks ÷ (tokens · choices)).
double chance_imbalance(double tokens, double choices, double ranks);

/// Runs one block, the embedding and the head as Megatron-LM's code does on the tape, and takes times from the kernels'
/// rates (data/calibration) and collectives.h. Degrees of data parallelism and stages do not matter. Blocks with
/// experts count with their share of all blocks; routers are not counted.
Result<StagePieces> stage_pieces(const ModelSpec& spec, const Recipe& recipe, const ParallelLayout& layout,
                                 const BlockChoices& choices, const Cluster& cluster);

}  // namespace plimsoll

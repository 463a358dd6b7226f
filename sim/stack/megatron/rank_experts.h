#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "sim/stack/megatron/megatron_layers.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// How Megatron-LM's ranks share a block's experts, and how tokens reach them (megatron/core/transformer/moe).
struct ExpertCut {
  std::int64_t ranks = 1;         ///< that share the experts
  std::int64_t tensor_ranks = 1;  ///< that share each expert
  bool gathers = false;           ///< all tokens of the group come to each rank, which takes its own; otherwise they are sent to their experts
  bool grouped = true;            ///< one kernel multiplies all experts' rows, on streams with workspaces of their own
  bool adds_in_order = false;     ///< experts' rows are kept where they are added to their tokens
  DType gates = DType::kBf16;     ///< in which routers compute, and tokens' shares of their experts are

  /// Ranks among which tokens travel.
  [[nodiscard]] std::int64_t group() const { return ranks * tensor_ranks; }
};

/// A block's mixture on one rank: the router, which every rank has, and the experts that it holds.
struct RankExperts {
  Parameter* router = nullptr;
  std::vector<Weights> in, out;  ///< one an expert

  [[nodiscard]] bool exist() const { return router != nullptr; }
};

ExpertCut expert_cut(const StackSetup& setup, const MegatronCut& cut);

/// Rows of tokens, one for every choice of an expert, that come to this rank: experts are taken to be chosen evenly.
std::int64_t arriving_rows(const ModelSpec& spec, const MegatronCut& cut, const ExpertCut& experts);

RankExperts make_rank_experts(Tape& tape, const std::string& name, const ModelSpec& spec, const ExpertCut& cut, DType dtype);

/// The streams' cuBLAS workspaces of grouped products, and the buffer that every gathering of tokens fills; they stay.
Tensors expert_workspaces(Tape& tape, const ModelSpec& spec, const MegatronCut& cut, const ExpertCut& experts, Bytes workspace);

/// x [rows, hidden], a rank's part of the stream, through its tokens' experts and back: what each step allocates and keeps for
/// backward follows Megatron-LM's token dispatchers, experts and Transformer Engine's layers.
Tensor rank_experts(Tape& tape, const Tensor& x, const RankExperts& own, const ModelSpec& spec, const MegatronCut& cut,
                    const ExpertCut& experts);

/// Names what of a mixture, or of its ranks, Megatron-LM's layers are not taken to have.
Result<void> check_rank_experts(const ModelSpec& spec, const StackSetup& setup);

}  // namespace plimsoll

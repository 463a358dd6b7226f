#pragma once

#include "sim/stack/megatron/rank_experts.h"

namespace plimsoll {

/// What the ranks of one step of a mixture work on.
struct ExpertRows {
  std::int64_t own = 0;       ///< tokens of this rank's part of the stream
  std::int64_t all = 0;       ///< of the group
  std::int64_t chosen = 0;    ///< of this rank, one row for every choice
  std::int64_t arriving = 0;  ///< at this rank's experts
  std::int64_t held = 0;      ///< experts
};

ExpertRows expert_rows(const ModelSpec& spec, const MegatronCut& cut, const ExpertCut& experts);

/// Tokens [own, hidden] to the rank of their experts, sorted by expert: [arriving, hidden].
Tensor dispatch_tokens(Tape& tape, const Tensor& x, const ExpertRows& rows, const ExpertCut& cut);
/// Their shares [own, experts] the same way: [arriving].
Tensor dispatch_shares(Tape& tape, const Tensor& scores, const ExpertRows& rows, const ExpertCut& cut);
/// What experts made of them [arriving, hidden] back, a token's rows summed: [own, hidden].
Tensor combine_tokens(Tape& tape, const Tensor& made, const ExpertRows& rows, const ExpertCut& cut);

}  // namespace plimsoll

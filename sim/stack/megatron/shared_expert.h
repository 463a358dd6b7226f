#pragma once

#include <string>

#include "sim/stack/megatron/megatron_layers.h"

namespace plimsoll {

/// What every token of a mixture passes through beside its own experts (megatron/core/transformer/moe/shared_experts.py): a feed-forward
/// layer that tensor ranks cut as they cut dense ones, whatever experts' ranks are, and perhaps a number a token that weights its result.
struct SharedExpert {
  Weights in, out;
  Parameter* gate = nullptr;

  [[nodiscard]] bool exists() const { return in.weight != nullptr; }
};

/// Nothing where the mixture has none.
SharedExpert make_shared_expert(Tape& tape, const std::string& name, const ModelSpec& spec, const MegatronCut& cut);

/// x [rows, hidden], a rank's part of the stream.
Tensor shared_expert(Tape& tape, const Tensor& x, const SharedExpert& own, const ModelSpec& spec, const MegatronCut& cut);

}  // namespace plimsoll

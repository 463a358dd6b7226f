#pragma once

#include <cstdint>

#include "core/model/model_spec.h"
#include "core/model/recipe.h"

namespace plimsoll {

/// Tokens of a sequence that meet the loss: those of the decoder where it stands behind an encoder.
std::int64_t predicted_tokens(const ModelSpec& spec, const Recipe& recipe);

/// Tokens of a micro-batch whose logits exist at a time: of whole sequences, or an even part of one; 0: those of all. About
/// 256 MiB of logits, but no fewer than 1024 tokens, below which matrix products become slow.
///
/// It decides in which order the head's gradient and the loss are summed, and so numbers: it looks at the model, the type and the
/// sequence, never at a machine or a plan. Models that predict next tokens from a last norm with a head without bias are cut.
std::int64_t loss_tokens(const ModelSpec& spec, const Recipe& recipe);

}  // namespace plimsoll

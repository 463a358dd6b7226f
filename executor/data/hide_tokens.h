#pragma once

#include <cstdint>
#include <span>

#include "core/model/model_spec.h"

namespace plimsoll {

/// Of a row's key: other words than those that chose its data.
inline constexpr std::uint64_t kHidingStream = 0x6d61736b;  // "mask"

/// Hides tokens for a model to find (Devlin et al. 2019, section 3.1): each with a probability of 15 %, and at least one.
/// Of those 80 % become the mask token, 10 % a random one and 10 % stay as they are. `labels` gets what stood there, and −1
/// elsewhere. Depends on nothing but the arguments.
void hide_tokens(std::uint64_t key, const ModelSpec& spec, std::span<std::int32_t> tokens, std::span<std::int32_t> labels);

/// The token that stands for a hidden one.
std::int32_t mask_token_of(const ModelSpec& spec);

}  // namespace plimsoll

#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/model/model_spec.h"

namespace plimsoll {

/// True when `text` has the form of a shape in words: a word, a colon, and key=value pairs.
bool looks_like_shape_words(std::string_view text);

/// Reads "gpt:layers=24,hidden=2304,heads=24,vocab=51200[,ffn=…][,kv_heads=…][,head_dim=…][,positions=…][,tied=true|false]
/// [,epsilon=…][,rope_theta=…]" or "llama:…" into a valid ModelSpec named `text`. Left out: ffn is 4·hidden (llama:
/// 8·hidden/3 rounded up to a multiple of 256), kv_heads is heads, head_dim hidden/heads, positions 1024 (llama: 2048),
/// the rest is the family's. Errors name the key and the nearest one that exists.
Result<ModelSpec> parse_shape_words(std::string_view text);

}  // namespace plimsoll

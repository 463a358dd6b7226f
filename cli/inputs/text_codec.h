#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"

namespace plimsoll {

/// How a model's tokens are written.
struct TextCodec {
  std::function<Result<std::vector<std::int32_t>>(const std::string& text)> encode;
  std::function<std::string(std::span<const std::int32_t> tokens)> decode;
  std::set<std::int32_t> ends;  ///< tokens after which a text is over
};

/// The codec of `tokenizer`, else of tokenizer.json in the model's folder, else bytes for a model of 256 tokens. Errors: no
/// tokenizer, or one that cannot be read.
Result<TextCodec> find_text_codec(const ModelSpec& spec, const std::filesystem::path& folder, const std::string& tokenizer);

/// Tokens as their numbers, "17 3 250".
TextCodec number_codec();

}  // namespace plimsoll

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/tokenizers/regex.h"
#include "formats/tokenizers/tokenizer.h"

namespace plimsoll {

/// One document as a model learns from it.
struct Example {
  std::vector<TokenId> tokens;
  std::vector<bool> counts;  ///< of each token: whether predicting it counts
};

/// A text of which every token counts.
Result<Example> encode_text(const Tokenizer& tokenizer, std::string_view text);

/// A text of which only the tokens count that hold a byte of one of `answers` (in order, without overlap).
Result<Example> encode_answers(const Tokenizer& tokenizer, std::string_view text, const std::vector<TextSpan>& answers,
                               const EncodeOptions& options);

}  // namespace plimsoll

#pragma once

#include <vector>

#include "formats/text/json_node.h"
#include "formats/tokenizers/bpe_model.h"

namespace plimsoll {

/// The special tokens that a tokenizer puts around a text of its own accord.
struct PostProcessor {
  std::vector<TokenId> before;
  std::vector<TokenId> after;

  /// Reads "post_processor"; notes a kind that is not known.
  static PostProcessor read(const JsonNode& node);
};

}  // namespace plimsoll

#pragma once

#include <string>
#include <variant>
#include <vector>

#include "formats/tokenizers/normalizer.h"

namespace plimsoll {

/// How tokens become text again: the steps of "decoder", each turning the list of tokens into another.
class TokenDecoder {
 public:
  struct ByteLevel {};     ///< letters of the byte alphabet become bytes
  struct ByteFallback {};  ///< <0x0A> becomes a byte
  struct Fuse {};          ///< all in one
  struct Strip {           ///< cuts up to so many of a text off a token's ends
    std::string content;
    std::int64_t start = 0;
    std::int64_t stop = 0;
  };
  struct Metaspace {  ///< the mark becomes a space; of the first token it is dropped
    std::string mark;
    bool drop_first = true;
  };
  using Step = std::variant<ByteLevel, ByteFallback, Fuse, Strip, Metaspace, ReplaceText>;

  /// Reads "decoder"; notes a kind that is not known.
  static TokenDecoder read(const JsonNode& node);

  [[nodiscard]] std::string decode(std::vector<std::string> tokens) const;

 private:
  void add(const JsonNode& node);

  std::vector<Step> steps_;
  bool spaced_ = false;  ///< no decoder: tokens are words with spaces between them
};

}  // namespace plimsoll

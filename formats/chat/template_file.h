#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "formats/chat/chat_template.h"

namespace plimsoll {

/// What stands beside a tokenizer.json about special tokens and chats.
struct TokenizerConfig {
  ChatTokens tokens;                       ///< bos_token, eos_token, unk_token, pad_token, as far as they are given
  std::optional<ChatTemplate> chat;
};

/// Reads chat_template.jinja, or "chat_template" of tokenizer_config.json (of several the one named "default"), and the
/// special tokens, from `folder`. A folder without these files yields an empty answer.
Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder);

/// Reads a template from a file of its own.
Result<ChatTemplate> read_chat_template(const std::filesystem::path& file);

}  // namespace plimsoll

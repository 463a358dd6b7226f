#pragma once

#include <string>
#include <string_view>

#include "formats/chat/answered_chat.h"
#include "formats/corpus/example.h"

namespace plimsoll {

/// How a line of a JSONL file becomes an example.
struct LineRules {
  std::string field = "text";           ///< of a line that is neither a chat nor a prompt with its completion
  bool answers_only = true;             ///< of chats and prompts only the answers count
  TokenId end = 0;                      ///< stands behind every text and completion
  const ChatTemplate* chat = nullptr;   ///< writes chats as text; none: a chat is refused
  ChatTokens names;                     ///< the special tokens that a template may write
  std::time_t now = 0;                  ///< what a template is told of the time
};

/// A line is an object with "messages" (a chat; "tools" may stand beside), with "prompt" and "completion" (two texts, or two
/// lists of messages), or with a text in the field of the rules. Errors say what is wrong with the line; `where` names it.
Result<Example> read_line_example(const Tokenizer& tokenizer, std::string_view line, const std::string& where,
                                  const LineRules& rules);

/// A text of which everything counts, and the end behind it.
Result<Example> text_example(const Tokenizer& tokenizer, std::string_view text, TokenId end);

}  // namespace plimsoll
